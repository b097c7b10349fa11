"""Checks of the exercises: ``core`` says how one works, one module a lesson holds them."""

from course_lab.checks.core import Check, Mistake, Verdict

__all__ = ["Check", "Mistake", "Verdict"]
