"""Copy results of the experiments to data/, and their hashes to data/sha256.txt.

    python tools/publish_results.py results

copies the folder's tables (*.csv) and models (*.safetensors). data/README.md describes them.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from extract_position_table import DATA, record

LARGEST = 2_000_000  # bytes of one file


def publish(results: Path, data: Path = DATA) -> list[Path]:
    """Copy the folder's tables and models; return their paths in ``data``.

    Raises:
        ValueError: if there are none or one is too large to ship.
    """
    sources = sorted([*results.glob("*.csv"), *results.glob("*.safetensors")])
    if not sources:
        raise ValueError(f"{results} has no tables and no models; see make experiments")
    for path in sources:
        if path.stat().st_size > LARGEST:
            raise ValueError(f"{path} has {path.stat().st_size:,} bytes, more than {LARGEST:,}")
    copies = []
    for path in sources:
        copies.append(Path(shutil.copyfile(path, data / path.name)))
        record(copies[-1])
    return copies


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for path in publish(Path(sys.argv[1])):
        print(path)
