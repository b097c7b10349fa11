"""What a lesson does with a learner: predictions, claims, explorers, checks, the clinic."""

from course_lab.session import start

__all__ = ["start"]
