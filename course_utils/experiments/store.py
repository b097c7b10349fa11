"""Results on disk: each run a file that is there whole or not at all, and checked when read.

A file holds the run's key (everything that decides its result), the result, and a checksum.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from course_utils.experiments.recipe import digest

PARTIAL = ".partial"
DAMAGED = ".damaged"
OLD = 3600  # seconds after which a partial file has no writer any more
RUN_BYTES = 2**17  # more than any run's file takes
SPARE_BYTES = 2**24

Key = Mapping[str, Any]
Result = dict[str, Any]


class DamagedError(ValueError):
    """A result file whose content is not what was written."""


class Store:
    """The results of one folder, found by key.

    Args:
        folder: is made if it is not there.

    Raises:
        OSError: if nothing can be written there.
    """

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
        return self.folder / f"{key['encoding']}-{key['seed']}-{digest(dict(key))[:10]}.json"

    def load(self, key: Key) -> Result | None:
        """The result of a key, or None if there is none.

        Raises:
            DamagedError: if the file is not as it was written; it is named.
        """
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
                there = self.load(key) is not None
            except DamagedError as error:
                aside = self.path(key).with_suffix(DAMAGED)
                os.replace(self.path(key), aside)
                print(f"{error}; kept as {aside.name}, its run is done again", file=sys.stderr)
                there = False
            if not there:
                found.append(key)
        return found

    def write(self, key: Key, result: Result) -> Path:
        """Store a result, whole: a reader sees the file finished or not at all.

        Raises:
            OSError: if it cannot be written; no part of it stays.
        """
        path = self.path(key)
        partial = path.with_name(f"{path.name}.{os.getpid()}{PARTIAL}")
        told = {"key": dict(key), "result": result, "sha256": digest([dict(key), result])}
        try:
            with partial.open("w", encoding="utf-8") as file:
                json.dump(told, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise OSError(
                error.errno, f"result file {path} cannot be written: {error.strerror}"
            ) from error
        return path

    def check_space(self, runs: int) -> None:
        """Refuse to start what could not be stored.

        Raises:
            OSError: if the disk has too little room for so many runs.
        """
        needed = runs * RUN_BYTES + SPARE_BYTES
        free = shutil.disk_usage(self.folder).free
        if free < needed:
            raise OSError(
                errno.ENOSPC,
                f"results folder {self.folder} has {free / 2**20:.0f} MiB free, "
                f"{runs} runs need {needed / 2**20:.0f} MiB",
            )
