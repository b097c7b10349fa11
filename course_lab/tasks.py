"""The task about places under its earlier name; see ``course_utils.texts.tasks``."""

from course_utils.texts.tasks import token_at_place as token_at_place
