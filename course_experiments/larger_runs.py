"""The question of ``extrapolation`` at other sizes: longer pieces, more steps, another text.

1. Pieces of 256 bytes in place of 64, two a step, so that a step has as many bytes.
2. Ten times the steps, two seeds.
3. A second text: source code of Python's standard library, its held-out blocks from files of which
   nothing is learned.
"""

import dataclasses
import hashlib
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from course_experiments import extrapolation
from course_experiments.extrapolation import LENGTHS
from course_experiments.sweep import Job
from course_utils.models.training import Recipe
from course_utils.texts import text

ENCODINGS = ("none", "sinusoidal", "rope", "alibi", "t5", "transformer_xl")
LONGER, TIMES, SEEDS = 4, 10, 2
HELD_OUT = 9  # blocks of the second text, as many as the first one's documentation has
# Tests, tables rather than code, what is generated or no part of the library itself.
LEFT_OUT = {"test", "tests", "idlelib", "encodings", "pydoc_data", "site-packages", "dist-packages"}


def jobs(recipes: Iterable[Recipe], corpus: bytes, lengths: Sequence[int] = LENGTHS) -> list[Job]:
    """What a sweep over these recipes has to do at the three other sizes; see ``extrapolation``."""
    recipes = list(recipes)
    longer = [
        dataclasses.replace(one, length=LONGER * one.length, batch=max(1, one.batch // LONGER))
        for one in recipes
    ]
    seeds = sorted({one.seed for one in recipes})[:SEEDS]
    more = [
        dataclasses.replace(one, steps=TIMES * one.steps)
        for one in recipes
        if one.seed in seeds and one.encoding != "sinusoidal"
    ]
    found = [(recipes, standard_library()), (longer, corpus), (more, corpus)]
    return [job for some, read in found for job in extrapolation.jobs(some, read, lengths)]


def standard_library() -> bytes:
    """Source code of this Python's standard library, in the order that :func:`text.split` expects.

    Every block that is held out is the middle of a file from which nothing is learned. Files come
    in the order of a digest of their names, each content once. Python Software Foundation License.
    """
    block, group = text.BLOCK, (text.EVERY - 1) * text.BLOCK  # of a held-out block, the learned
    held_out: list[bytes] = []
    learned = b""
    for content in _files(Path(sysconfig.get_path("stdlib"))):
        if len(held_out) < HELD_OUT and len(content) >= 2 * block:
            start = (len(content) - block) // 2
            held_out.append(content[start : start + block])
        elif len(learned) < HELD_OUT * group:
            learned += content
        elif len(held_out) == HELD_OUT:
            break
    before = text.EVERY // 2 * block
    groups = (learned[at : at + group] for at in range(0, HELD_OUT * group, group))
    return b"".join(
        part[:before] + out + part[before:] for part, out in zip(groups, held_out, strict=True)
    )


def _files(folder: Path) -> Iterator[bytes]:
    paths = [path.relative_to(folder) for path in folder.rglob("*.py")]
    seen: set[bytes] = set()
    for path in sorted(paths, key=lambda one: hashlib.sha256(one.as_posix().encode()).digest()):
        content = (folder / path).read_bytes()
        if not set(path.parts) & LEFT_OUT and content not in seen:
            seen.add(content)
            yield content
