"""Checks of the exercises: ``core`` explains how they work, one module a lesson defines them."""

from course_lab.checks.core import Check, Mistake, Verdict

__all__ = ["Check", "Mistake", "Verdict"]
