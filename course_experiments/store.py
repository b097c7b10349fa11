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
ABANDONED_SECONDS = 3600  # after which a partial file has no writer any more
RUN_BYTES = 2**20  # more than any run's file takes
SPARE_BYTES = 2**24
KEY_DIGITS = 10  # of a key's digest, in the name of its result's file
WEIGHTS_DIGITS = 20  # of the digests in the name of a file of weights

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
        for path in folder.glob(f"*{PARTIAL}"):  # of a writer that was killed, not one at work
            if time.time() - path.stat().st_mtime > ABANDONED_SECONDS:
                path.unlink(missing_ok=True)

    def path(self, key: Key) -> Path:
        """Where the result of a key is; the name has encoding and seed for people to read."""
        return self.folder / f"{_stem(key, KEY_DIGITS)}.json"

    def load(self, key: Key) -> Result | None:
        """The result of a key, or None if there is none; DamagedError names a damaged file."""
        path = self.path(key)
        if not path.exists():
            return None
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            result, checksum = content["result"], content["sha256"]
            if content["key"] != dict(key) or digest([content["key"], result]) != checksum:
                raise ValueError("its checksum does not fit")
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedError(f"result file {path} is damaged: {error}") from error
        return result

    def missing(self, keys: list[Key]) -> list[Key]:
        """The keys without a whole result. A damaged file is named, set aside, and missing."""
        missing = []
        for key in keys:
            try:
                if self.load(key) is not None:
                    continue
            except DamagedError as error:
                _set_aside(self.path(key), error)
            missing.append(key)
        return missing

    def weights(self, training: Key) -> bytes | None:
        """The weights of a training, or None. A damaged file is named and set aside."""
        for path in self.folder.glob(f"{_stem(training, WEIGHTS_DIGITS)}-*.safetensors"):
            try:
                content = path.read_bytes()
                if path.stem.endswith(_weights_checksum(content)):
                    return content
                _set_aside(path, f"weights file {path} is damaged: its checksum does not fit")
            except OSError as error:
                print(f"weights file {path} is of no use: {error}", file=sys.stderr)
        return None

    def write_weights(self, training: Key, weights: bytes) -> Path:
        """Store the weights of a training, whole."""
        stem = f"{_stem(training, WEIGHTS_DIGITS)}-{_weights_checksum(weights)}"
        return _write(self.folder / f"{stem}.safetensors", weights, "weights")

    def write(self, key: Key, result: Result) -> Path:
        """Store a result, whole: a reader sees the file finished or not at all."""
        content = {"key": dict(key), "result": result, "sha256": digest([dict(key), result])}
        return _write(self.path(key), json.dumps(content).encode(), "result")

    def check_space(self, runs: int, weights_bytes: int = 0) -> None:
        """Raise OSError if the disk has too little room for so many runs and their weights."""
        needed = runs * RUN_BYTES + weights_bytes + SPARE_BYTES
        free = shutil.disk_usage(self.folder).free
        if free < needed:
            raise OSError(
                errno.ENOSPC,
                f"results folder {self.folder} has {free / 2**20:.0f} MiB free, "
                f"{runs} runs need {needed / 2**20:.0f} MiB",
            )


def _stem(key: Key, digits: int) -> str:
    safe = re.sub(r"[^\w.-]", "_", str(key["encoding"]))
    return f"{safe}-{key['seed']}-{digest(dict(key))[:digits]}"


def _weights_checksum(weights: bytes) -> str:
    return hashlib.sha256(weights).hexdigest()[:WEIGHTS_DIGITS]


def _set_aside(path: Path, reason: object) -> None:
    aside = path.with_suffix(DAMAGED)
    os.replace(path, aside)
    print(f"{reason}; kept as {aside.name}, its run is done again", file=sys.stderr)


def _write(path: Path, content: bytes, kind: str) -> Path:
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
            error.errno, f"{kind} file {path} cannot be written: {error.strerror}"
        ) from error
    return path


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
    paths = {}
    for number, (table, rows) in enumerate(tables.items()):
        ending = f"_{table}.csv" if number else ".csv"
        path = stem.with_name(stem.name + ending)
        partial = path.with_name(path.name + PARTIAL)
        try:
            pd.DataFrame(rows).to_csv(partial, index=False, lineterminator="\n")
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)
        paths[table] = path
    return paths
