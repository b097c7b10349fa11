"""The type checker that jaxtyping's import hook puts above functions: see tests/conftest.py.

An int is fine where a float is declared, as PEP 484 says and every caller expects.
"""

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
