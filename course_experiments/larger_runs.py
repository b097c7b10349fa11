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
LENGTH_FACTOR = 4  # times the usual bytes a piece
STEPS_FACTOR = 10  # times the usual steps
MOST_SEEDS = 2  # of the runs with more steps
NOT_LONG = ("sinusoidal",)  # encodings without such runs
HELD_OUT_BLOCKS = 9  # of the second text, as many as the first one's documentation has
# Folders of the standard library without its own code: tests, tables, what is generated.
SKIPPED = {"test", "tests", "idlelib", "encodings", "pydoc_data", "site-packages", "dist-packages"}


def jobs(recipes: Iterable[Recipe], corpus: bytes, lengths: Sequence[int] = LENGTHS) -> list[Job]:
    """The jobs of a sweep over these recipes at the three other sizes; see ``extrapolation``."""
    recipes = list(recipes)
    longer_pieces = [
        dataclasses.replace(
            recipe,
            length=LENGTH_FACTOR * recipe.length,
            batch=max(1, recipe.batch // LENGTH_FACTOR),
        )
        for recipe in recipes
    ]
    seeds = sorted({recipe.seed for recipe in recipes})[:MOST_SEEDS]
    more_steps = [
        dataclasses.replace(recipe, steps=STEPS_FACTOR * recipe.steps)
        for recipe in recipes
        if recipe.seed in seeds and recipe.encoding not in NOT_LONG
    ]
    return [
        *extrapolation.jobs(recipes, standard_library(), lengths),
        *extrapolation.jobs(longer_pieces, corpus, lengths),
        *extrapolation.jobs(more_steps, corpus, lengths),
    ]


def standard_library() -> bytes:
    """Source code of this Python's standard library, in the order that :func:`text.split` expects.

    Every block that is held out is the middle of a file from which nothing is learned. Files come
    in the order of a digest of their names, each content once. Python Software Foundation License.
    """
    block = text.BLOCK
    learned_bytes = (text.EVERY - 1) * block  # of each group of blocks, the held-out one aside
    held_out: list[bytes] = []
    learned = b""
    for content in _files(Path(sysconfig.get_path("stdlib"))):
        if len(held_out) < HELD_OUT_BLOCKS and len(content) >= 2 * block:
            start = (len(content) - block) // 2
            held_out.append(content[start : start + block])
        elif len(learned) < HELD_OUT_BLOCKS * learned_bytes:
            learned += content
        elif len(held_out) == HELD_OUT_BLOCKS:
            break
    before = text.EVERY // 2 * block  # bytes of a group that stand before its held-out block
    groups = []
    for number, held_out_block in enumerate(held_out):
        part = learned[number * learned_bytes : (number + 1) * learned_bytes]
        groups.append(part[:before] + held_out_block + part[before:])
    return b"".join(groups)


def _files(folder: Path) -> Iterator[bytes]:
    """The content of each file of the library, in the order of a digest of its name."""
    paths = [path.relative_to(folder) for path in folder.rglob("*.py")]
    seen: set[bytes] = set()
    for path in sorted(paths, key=_name_digest):
        content = (folder / path).read_bytes()
        if not set(path.parts) & SKIPPED and content not in seen:
            seen.add(content)
            yield content


def _name_digest(path: Path) -> bytes:
    return hashlib.sha256(path.as_posix().encode()).digest()
