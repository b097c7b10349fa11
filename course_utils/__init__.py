"""Positional encodings: reference implementations, attention with four doors, small models.

Everything is in the submodules, loaded when imported: ``encodings``, ``attention``, ``models``,
``pretrained``, ``texts``, ``measures``, ``results`` and ``plots``.

Bad arguments raise TypeError or ValueError with a message that names the argument, its value and
what is valid.
"""

from course_utils.devices import pick_device as pick_device
from course_utils.devices import seed_everything as seed_everything

__version__ = "0.1.0"
