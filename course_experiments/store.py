"""Results on disk: each run a file that is there whole or not at all, and checked when read.

A file holds the run's key (everything that decides its result), the result, and a checksum. Weights
that a run has trained stand beside it, under the key of their training: their file's name ends in
its checksum. The runs of a sweep are gathered into CSV files.
"""

import errno
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from course_experiments.run_keys import digest

PARTIAL = ".partial"
DAMAGED = ".damaged"
OLD = 3600  # seconds after which a partial file has no writer any more
RUN_BYTES = 2**20  # more than any run's file takes
SPARE_BYTES = 2**24

Key = Mapping[str, Any]
Result = dict[str, Any]


class DamagedError(ValueError):
    """A result file whose content is not what was written."""


class Store:
    """The results of one folder, found by key; the folder is made if it is not there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise OSError(
                error.errno, f"results folder {folder} cannot be written: {error.strerror}"
            ) from error
        for left in folder.glob(f"*{PARTIAL}"):  # of a writer that was killed, not one at work
            if time.time() - left.stat().st_mtime > OLD:
                left.unlink(missing_ok=True)

    def path(self, key: Key) -> Path:
        """Where the result of a key is: the name says whose it is, its end tells recipes apart."""
        return self.folder / f"{self._stem(key, 10)}.json"

    def _stem(self, key: Key, digits: int) -> str:
        safe = re.sub(r"[^\w.-]", "_", str(key["encoding"]))
        return f"{safe}-{key['seed']}-{digest(dict(key))[:digits]}"

    def load(self, key: Key) -> Result | None:
        """The result of a key, or None if there is none; DamagedError names a damaged file."""
        path = self.path(key)
        if not path.exists():
            return None
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            result, told = content["result"], content["sha256"]
            if content["key"] != dict(key) or digest([content["key"], result]) != told:
                raise ValueError("its checksum does not fit")
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedError(f"result file {path} is damaged: {error}") from error
        return result

    def missing(self, keys: list[Key]) -> list[Key]:
        """The keys without a whole result. A damaged file is named, kept aside, and missing."""
        found = []
        for key in keys:
            try:
                if self.load(key) is not None:
                    continue
            except DamagedError as error:
                self._put_aside(self.path(key), error)
            found.append(key)
        return found

    def _put_aside(self, path: Path, why: object) -> None:
        aside = path.with_suffix(DAMAGED)
        os.replace(path, aside)
        print(f"{why}; kept as {aside.name}, its run is done again", file=sys.stderr)

    def weights(self, training: Key) -> bytes | None:
        """The weights of a training, or None. A damaged file is named and kept aside."""
        for path in self.folder.glob(f"{self._stem(training, 20)}-*.safetensors"):
            try:
                content = path.read_bytes()
                if path.stem.endswith(hashlib.sha256(content).hexdigest()[:20]):
                    return content
                self._put_aside(path, f"weights file {path} is damaged: its checksum does not fit")
            except OSError as error:
                print(f"weights file {path} is of no use: {error}", file=sys.stderr)
        return None

    def write_weights(self, training: Key, weights: bytes) -> Path:
        """Store the weights of a training, whole."""
        told = hashlib.sha256(weights).hexdigest()[:20]
        path = self.folder / f"{self._stem(training, 20)}-{told}.safetensors"
        return self._write(path, weights, "weights")

    def write(self, key: Key, result: Result) -> Path:
        """Store a result, whole: a reader sees the file finished or not at all."""
        told = {"key": dict(key), "result": result, "sha256": digest([dict(key), result])}
        return self._write(self.path(key), json.dumps(told).encode(), "result")

    def _write(self, path: Path, content: bytes, what: str) -> Path:
        partial = path.with_name(f"{path.name}.{os.getpid()}{PARTIAL}")
        try:
            with partial.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise OSError(
                error.errno, f"{what} file {path} cannot be written: {error.strerror}"
            ) from error
        return path

    def check_space(self, runs: int, weights: int = 0) -> None:
        """Raise OSError if the disk has too little room for so many runs and bytes of weights."""
        needed = runs * RUN_BYTES + weights + SPARE_BYTES
        free = shutil.disk_usage(self.folder).free
        if free < needed:
            raise OSError(
                errno.ENOSPC,
                f"results folder {self.folder} has {free / 2**20:.0f} MiB free, "
                f"{runs} runs need {needed / 2**20:.0f} MiB",
            )


def write_tables(
    keys: Sequence[Key], store: Store, stem: Path, *, partly: bool = False
) -> dict[str, Path]:
    """Write each table of the runs as a CSV file, runs in the order of their keys.

    The first table goes to ``<stem>.csv``, any other to ``<stem>_<table>.csv``. Returns path by
    table; ValueError names a run that is damaged, or missing: ``partly`` leaves those out.
    """
    import pandas as pd  # not needed where runs are done

    tables: dict[str, list[dict[str, object]]] = {}
    for key in keys:
        result = store.load(key)
        if result is None:
            if partly:
                continue
            raise ValueError(f"the run {store.path(key).name} is not there")
        for table, rows in result.items():
            tables.setdefault(table, []).extend(rows)
    written = {}
    for table, rows in tables.items():
        end = ".csv" if table == next(iter(tables)) else f"_{table}.csv"
        path = stem.with_name(stem.name + end)
        partial = path.with_name(path.name + PARTIAL)
        try:
            pd.DataFrame(rows).to_csv(partial, index=False, lineterminator="\n")
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)
        written[table] = path
    return written
