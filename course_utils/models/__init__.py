"""A small transformer, its training, saving and stretching, and the trained ones that ship."""

from course_utils.models.transformer import Block, TinyTransformer, from_file

__all__ = ["Block", "TinyTransformer", "from_file"]
