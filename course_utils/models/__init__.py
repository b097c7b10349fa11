"""A small transformer, its training, saving and stretching, and the trained ones that ship."""

from course_utils.models.transformer import Block as Block
from course_utils.models.transformer import TinyTransformer as TinyTransformer
from course_utils.models.transformer import from_file as from_file
