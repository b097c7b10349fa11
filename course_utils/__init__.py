"""Reference implementations, measures, plots and widgets of the course *Order Matters*.

``start()`` prepares a session. Everything else is in the submodules, loaded when imported:
``encodings``, ``attention``, ``models``, ``saving``, ``shipped``, ``measures``, ``plots``,
``widgets``, ``checks``, ``results`` and ``experiments``, which makes these.

Bad arguments raise TypeError or ValueError with a message that names the argument, its value and
what is valid.
"""

from course_utils.session import pick_device, seed_everything, start

__version__ = "0.1.0"
