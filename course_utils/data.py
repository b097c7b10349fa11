"""The files that the course ships in its folder ``data``, each checked before it is read.

``data/README.md`` says where each comes from, ``data/sha256.txt`` what its bytes must be.
"""

from __future__ import annotations

import hashlib
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from course_utils import validation

if TYPE_CHECKING:
    import pandas as pd

CHECKSUMS = "sha256.txt"
# In a clone the folder stands beside the package; pip puts it where data of packages goes.
CLONE = Path(__file__).resolve().parents[1] / "data"
INSTALLED = Path(sysconfig.get_path("data")) / "share" / "order-matters" / "data"


def folder() -> Path:
    """The folder with the course's data; FileNotFoundError if there is none."""
    for place in (CLONE, INSTALLED):
        if (place / CHECKSUMS).is_file():
            return place
    raise FileNotFoundError(
        f"the course's data folder is missing: no {CHECKSUMS} in {CLONE} or {INSTALLED}; "
        "install the course again"
    )


def checksums() -> dict[str, str]:
    """SHA-256 of every data file, by name, as ``data/sha256.txt`` lists them."""
    lines = (folder() / CHECKSUMS).read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, name in (line.split(maxsplit=1) for line in lines)}


def verified(name: str) -> Path:
    """The path of a data file whose bytes are the ones that were shipped; else OSError."""
    listed = checksums()
    path = folder() / validation.choice("name", name, listed)
    if not path.is_file():
        raise FileNotFoundError(f"data file {path} is missing; restore it or install again")
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != listed[name]:
        raise OSError(
            f"data file {path} is damaged: its SHA-256 is {found}, it was shipped with "
            f"{listed[name]}; restore it (in a clone: git checkout {path.name}) or install again"
        )
    return path


def position_table() -> Float[Tensor, "positions width"]:
    """A real trained position table: (512, 384) float32, from a BERT-like sentence encoder.

    Row p was added to the word vectors at position p. Kept as float16, so rounded to 11 bits.
    """
    with np.load(verified("position_table.npz"), allow_pickle=False) as arrays:
        return torch.from_numpy(arrays["table"].astype(np.float32))


def results(name: str) -> pd.DataFrame:
    """A table of results that the course ships, such as ``"extrapolation"``: one row a measurement.

    ``data/README.md`` says what its columns are and which command makes it.
    """
    import pandas as pd

    return pd.read_csv(verified(f"{name}.csv"))
