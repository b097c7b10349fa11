"""Copy results of the experiments to data/, and their hashes to data/sha256.txt.

    python -m course_experiments.publish_results results

copies the folder's tables (*.csv) and models (*.safetensors). data/README.md describes them.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from pathlib import Path

from course_utils.texts import data

LARGEST = 2_000_000  # bytes of one file


def publish(results: Path, folder: Path = data.CLONE) -> list[Path]:
    """Copy the tables and models of ``results``; return their paths in ``folder``.

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
        copies.append(Path(shutil.copyfile(path, folder / path.name)))
        record(copies[-1])
    return copies


def record(path: Path) -> None:
    """Write the file's line in sha256.txt, in the order and form that sha256sum -c reads."""
    listing = path.parent / data.CHECKSUMS
    lines = listing.read_text(encoding="utf-8").splitlines() if listing.exists() else []
    by_name = {line.split(maxsplit=1)[1]: line for line in lines}
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    by_name[path.name] = f"{digest}  {path.name}"
    listing.write_text("".join(f"{by_name[name]}\n" for name in sorted(by_name)), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for path in publish(Path(sys.argv[1])):
        print(path)
