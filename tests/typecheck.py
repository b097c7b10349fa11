"""The type checker that jaxtyping's import hook puts on every function of course_utils."""

from beartype import BeartypeConf, beartype

# The tower: an int is fine where a float is asked for, as PEP 484 says and every caller expects.
checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
