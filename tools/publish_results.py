"""Put results of the experiments into data/, with their lines in data/sha256.txt.

    python tools/publish_results.py results

copies the folder's tables (*.csv) and models (*.safetensors). data/README.md says what each is.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from extract_position_table import DATA, record

LARGEST = 2_000_000  # bytes that one file may have


def publish(results: Path, data: Path = DATA) -> list[Path]:
    """Copy the folder's tables and models; returns where they are now.

    Raises:
        ValueError: if there are none or one is too large to ship.
    """
    found = sorted([*results.glob("*.csv"), *results.glob("*.safetensors")])
    if not found:
        raise ValueError(f"{results} has no tables and no models; see make experiments")
    for path in found:
        if path.stat().st_size > LARGEST:
            raise ValueError(f"{path} has {path.stat().st_size:,} bytes, more than {LARGEST:,}")
    there = []
    for path in found:
        there.append(Path(shutil.copyfile(path, data / path.name)))
        record(there[-1])
    return there


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for path in publish(Path(sys.argv[1])):
        print(path)
