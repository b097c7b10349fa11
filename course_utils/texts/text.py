"""Real text to model, byte by byte: a part to learn from, and a part held out.

Tokens are bytes, so any text has ids from 0 to 255 and no vocabulary has to be learned first.
"""

from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from course_utils import validation
from course_utils.texts import data
from course_utils.texts.tasks import IGNORED_TARGET, Examples

VOCAB_SIZE = 256
BLOCK = 8192  # bytes
EVERY = 8  # one block of so many is held out

Bytes = Int[Tensor, " bytes"]
Blocks = Int[Tensor, "blocks block"]


class Text(NamedTuple):
    """A text, split into ids to learn from and held-out blocks, each one stretch of the text."""

    train: Bytes
    held_out: Blocks

    def to(self, device: torch.device) -> "Text":
        """The same text on another device."""
        return Text(self.train.to(device), self.held_out.to(device))


def documentation() -> Bytes:
    """The text that the course ships: chapters of Python's language reference."""
    return from_file(data.verified("documentation.txt"))


def from_file(path: str | Path) -> Bytes:
    """The bytes of any file as int64 ids from 0 to 255."""
    content = Path(path).read_bytes()
    if not content:
        raise ValueError(f"text file {path} is empty")
    return from_bytes(content)


def from_bytes(content: bytes) -> Bytes:
    """Bytes as int64 ids from 0 to 255."""
    if not isinstance(content, bytes):
        raise TypeError(f"content must be bytes, got {type(content).__name__} {content!r:.40}")
    if not content:
        raise ValueError("content must hold at least one byte, got none")
    return torch.frombuffer(bytearray(content), dtype=torch.uint8).long()


def split(ids: Bytes, *, block: int = BLOCK, every: int = EVERY) -> Text:
    """Cut a text into blocks and hold out the middle one of each ``every``: both parts are alike.

    The bytes after the last whole block are for learning.
    """
    _check_text(ids)
    validation.integer("block", block)
    validation.integer("every", every, minimum=2)
    count = len(ids) // block
    if count < every:
        raise ValueError(
            f"ids must have at least {every} blocks of {block} bytes = {every * block:,} bytes, "
            f"got {len(ids):,}"
        )
    blocks, rest = ids[: count * block].view(count, block), ids[count * block :]
    is_held_out = torch.arange(count) % every == every // 2
    return Text(torch.cat([blocks[~is_held_out].flatten(), rest]), blocks[is_held_out])


def draw(ids: Bytes, *, length: int, batch: int, generator: torch.Generator) -> Examples:
    """Pieces of ``length`` bytes from random places; the target of each byte is the next one."""
    _check_text(ids)
    validation.integer("length", length)
    validation.integer("batch", batch)
    validation.instance("generator", generator, torch.Generator, "a torch.Generator")
    if len(ids) <= length:
        raise ValueError(f"length must be below that of the text, {len(ids)}, got {length}")
    starts = torch.randint(len(ids) - length, (batch, 1), generator=generator)
    pieces = ids[(starts + torch.arange(length + 1)).to(ids.device)]  # (batch, length + 1)
    return Examples(pieces[:, :-1], pieces[:, 1:])


def pieces(blocks: Blocks, *, length: int) -> Examples:
    """Cut every block into pieces of ``length`` that do not overlap; a rest is dropped."""
    return _windows(blocks, length=validation.integer("length", length), step=length)


def sliding(blocks: Blocks, *, length: int, first: int | None = None) -> Examples:
    """Windows of ``length`` that advance by half of it; only their second halves have targets.

    So each byte with a target has between length/2 and length bytes of context, and none comes
    twice. ``length`` is even. ``first`` is the place in a block of the first byte with a target,
    which is its successor; length/2 if not given.
    """
    half = validation.integer("length", length, minimum=2) // 2
    if length % 2:
        raise ValueError(f"length must be even, its second half has targets, got {length}")
    start = half if first is None else validation.integer("first", first, minimum=half)
    tokens, targets = _windows(blocks, length=length, step=half, start=start - half)
    targets = targets.clone()
    targets[:, :half] = IGNORED_TARGET
    return Examples(tokens, targets)


def spread(blocks: Blocks, most: int) -> Int[Tensor, "fewer block"]:
    """At most so many of the blocks, evenly spread over the text."""
    rows = torch.linspace(0, len(blocks) - 1, min(most, len(blocks))).long()
    return blocks[rows.to(blocks.device)]


def _windows(blocks: Blocks, *, length: int, step: int, start: int = 0) -> Examples:
    if blocks.ndim != 2 or blocks.shape[1] <= start + length:
        raise ValueError(
            f"blocks must be (blocks, block) with more than {start + length} bytes a block, "
            f"got shape {tuple(blocks.shape)}"
        )
    windows = blocks[:, start:].unfold(1, length + 1, step).flatten(0, 1)  # (windows, length + 1)
    return Examples(windows[:, :-1], windows[:, 1:])


def _check_text(ids: Tensor) -> None:
    if not isinstance(ids, Tensor) or ids.ndim != 1 or ids.is_floating_point():
        got = f"shape {tuple(ids.shape)}" if isinstance(ids, Tensor) else type(ids).__name__
        raise TypeError(f"ids must be a (bytes,) tensor of whole numbers, got {got}")
