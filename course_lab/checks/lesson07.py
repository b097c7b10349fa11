"""Checks for lesson 07: windows that slide, objections to a table of results.

Of its closer looks: paired seeds, log-n scaling.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence, Set
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from course_lab import referee
from course_lab.checks.compare import difference
from course_lab.checks.core import Check, Mistake, randn
from course_lab.checks.rules import Without
from course_lab.referee import CUT, FREE, Run
from course_utils.measures import trained_models
from course_utils.texts import text

LossOf = Callable[[Tensor, Tensor], Tensor]


WHOLE_NUMBERS = "Your result holds whole numbers. Which numbers can a loss be?"
CODES = 64  # bytes of a case are 1 … 63, and no two of a block are equal


def _ends_with(block: Tensor, tokens: Tensor) -> bool:
    """Whether tokens are the end of a block, and not all of it."""
    return bool(tokens[-1] == block[-1] and tokens[0] != block[0])


def telling_loss_of(block: Tensor) -> LossOf:
    """The ``loss_of`` of a block, whose losses and errors tell where they come from."""

    def telling_loss(tokens: Tensor, targets: Tensor) -> Tensor:
        """Losses (n,), each with its place in the window, the window's first byte and its target.

        The fraction has the window's length. So :func:`_origin` can say where a loss comes from.
        """
        if tokens.ndim != 1 or tokens.shape != targets.shape:
            is_last = tokens.ndim == 1 and len(tokens) > 0 and _ends_with(block, tokens)
            raise ValueError(
                "loss_of takes tokens (n,) and targets (n,), "
                f"got {tuple(tokens.shape)} and {tuple(targets.shape)}"
                + (", where tokens end with the block" if is_last else "")
            )
        places = torch.arange(len(tokens))
        whole = (places * CODES + tokens[:1]) * CODES + targets
        return whole.float() + len(tokens) / CODES  # exact: places are fewer than 64

    return telling_loss


def _case(count: int, seed: int, n: int) -> tuple[LossOf, Tensor, int]:
    block = _bytes(count, seed)
    return telling_loss_of(block), block, n


def _bytes(count: int, seed: int = 0) -> Tensor:
    """Different bytes, none of them 0, which padding is made of."""
    return torch.randperm(CODES - 1, generator=torch.Generator().manual_seed(seed))[:count] + 1


class Origin(NamedTuple):
    """Where a loss comes from: places in the block, but for ``place``, which is in the window."""

    start: int  # of the window
    place: int
    target: int
    length: int  # of the window

    @property
    def byte(self) -> int:
        """The last byte that was read for it."""
        return self.start + self.place


def _origin(loss: float, block: Tensor) -> Origin | None:
    """Return where a loss of :func:`telling_loss_of` comes from; None if from none."""
    index = {code: place for place, code in enumerate(block.tolist())}
    if not math.isfinite(loss) or loss < 0:
        return None
    length = (loss - int(loss)) * CODES
    rest, target = divmod(int(loss), CODES)
    place, first = divmod(rest, CODES)
    if first not in index or target not in index or length != int(length) or place >= length:
        return None
    return Origin(index[first], place, index[target], int(length))


def _windows(
    *,
    step: Callable[[int], int] = lambda n: n // 2,
    judged: Callable[[Tensor, int], Tensor] = lambda losses, n: losses[n // 2 :],
    last: Callable[[Tensor, int], int] = lambda block, n: len(block) - n,
    longer: int = 1,
    follow: Callable[[Tensor], tuple[Tensor, Tensor]] = lambda window: (window[:-1], window[1:]),
    joined: Callable[[list[Tensor]], Any] = torch.cat,
) -> Callable[[LossOf, Tensor, int], Any]:
    """Return an answer to the exercise; the arguments are what may go wrong in it."""

    def answer(loss_of: LossOf, block: Tensor, n: int) -> Any:
        losses = []
        for start in range(0, last(block, n), step(n)):
            window = block[start : start + n + longer]
            losses.append(judged(loss_of(*follow(window)), n))
        return joined(losses)

    return answer


def _first_window_whole(loss_of: LossOf, block: Tensor, n: int) -> Tensor:
    first = loss_of(block[:n], block[1 : n + 1])[: n // 2]
    return torch.cat([first, _windows()(loss_of, block, n)])


def _last_window_moved_back(loss_of: LossOf, block: Tensor, n: int) -> Tensor:
    rest = (len(block) - 1) % (n // 2)
    judged = _windows()(loss_of, block, n)
    end = block[len(block) - n - 1 :]
    return torch.cat([judged, loss_of(end[:-1], end[1:])[n // 2 :]]) if rest else judged


def _in_place(
    spare: int, kept: Callable[[Tensor, int], Tensor] = lambda places, n: places
) -> Callable[[LossOf, Tensor, int], Tensor]:
    """Return an answer that writes each loss to its byte's place in a row a little shorter."""

    def answer(loss_of: LossOf, block: Tensor, n: int) -> Tensor:
        judged, places = _windows()(loss_of, block, n), torch.zeros(len(block) - spare)
        places[n // 2 : n // 2 + len(judged)] = judged
        return kept(places, n)

    return answer


def _first_window_alone(loss_of: LossOf, block: Tensor, n: int) -> Tensor:
    return _windows()(loss_of, block, n)[: n // 2]


def _targets_beyond_the_end(loss_of: LossOf, block: Tensor, n: int) -> Tensor:
    starts = range(0, len(block), n // 2)
    pairs = [(block[start : start + n], block[start + 1 : start + n + 1]) for start in starts]
    return torch.cat([loss_of(*pair)[n // 2 :] for pair in pairs])


def _in_place_from_the_start(
    spare: Callable[[int], int],
) -> Callable[[LossOf, Tensor, int], Tensor]:
    """Return an answer whose result has places left over, zeros behind the losses."""

    def answer(loss_of: LossOf, block: Tensor, n: int) -> Tensor:
        judged = _windows()(loss_of, block, n)
        places = torch.zeros(max(spare(len(block)), len(judged)))
        places[: len(judged)] = judged
        return places

    return answer


def _targets_by_rolling(loss_of: LossOf, block: Tensor, n: int) -> Tensor:
    targets, starts = block.roll(-1), range(0, len(block) - n + 1, n // 2)
    return torch.cat([loss_of(block[a : a + n], targets[a : a + n])[n // 2 :] for a in starts])


def _one_pass(loss_of: LossOf, block: Tensor, n: int) -> Tensor:
    return loss_of(block[:-1], block[1:])[n // 2 :]


def _padded(spare: Callable[[int, int], int]) -> Callable[[LossOf, Tensor, int], Tensor]:
    """Return an answer that puts zeros behind the block, ``spare(length, n)`` of them."""

    def answer(loss_of: LossOf, block: Tensor, n: int) -> Tensor:
        zeros = torch.zeros(spare(len(block), n), dtype=block.dtype)
        return _windows()(loss_of, torch.cat([block, zeros]), n)

    return answer


def _blocks_after_each_other(loss_of: LossOf, block: Tensor, n: int) -> Tensor:
    losses = loss_of(block[:-1], block[1:])
    return losses[n // 2 : len(_windows()(loss_of, block, n)) + n // 2]


def _whole_windows_in_place(loss_of: LossOf, block: Tensor, n: int) -> Tensor:
    """Later windows write their first halves over what earlier ones judged."""
    places, end = torch.zeros(len(block)), 0
    for start in range(0, len(block) - n, n // 2):
        end = start + n
        places[start:end] = loss_of(block[start:end], block[start + 1 : end + 1])
    return places[n // 2 : end]


def _overlaps_averaged(
    kept: Callable[[Tensor, int], Tensor],
) -> Callable[[LossOf, Tensor, int], Tensor]:
    """Return an answer that averages all losses of a byte, over the windows that hold it."""

    def answer(loss_of: LossOf, block: Tensor, n: int) -> Tensor:
        sums, counts = torch.zeros(len(block)), torch.zeros(len(block))
        for start in range(0, len(block) - n, n // 2):
            sums[start : start + n] += loss_of(
                block[start : start + n], block[start + 1 : start + n + 1]
            )
            counts[start : start + n] += 1
        return kept((sums / counts)[counts > 0], n)

    return answer


def _window_of_each_byte(loss_of: LossOf, block: Tensor, n: int) -> Tensor:
    """From n/2 on, at first with fewer than n bytes."""
    last = n // 2 + len(_windows()(loss_of, block, n))
    losses = []
    for end in range(n // 2 + 1, last + 1):
        start = max(0, end - n)
        losses.append(loss_of(block[start:end], block[start + 1 : end + 1])[-1:])
    return torch.cat(losses)


def _from_the_end(order: int) -> Callable[[LossOf, Tensor, int], Tensor]:
    """Return an answer whose last window ends with the block, joined in an order, 1 or −1."""

    def answer(loss_of: LossOf, block: Tensor, n: int) -> Tensor:
        losses = []
        for end in range(len(block), n, -(n // 2)):
            window = block[end - n - 1 : end]
            losses.append(loss_of(window[:-1], window[1:])[n // 2 :])
        return torch.cat(losses[::order])

    return answer


def _targets_two_ahead(loss_of: LossOf, block: Tensor, n: int) -> Tensor:
    starts = range(0, len(block) - n, n // 2)
    pairs = [(block[start : start + n], block[start + 2 : start + n + 2]) for start in starts]
    return torch.cat([loss_of(*pair)[n // 2 :] for pair in pairs])


def _all_windows_at_once(loss_of: LossOf, block: Tensor, n: int) -> Tensor:
    rows = block.unfold(0, n + 1, n // 2)
    return loss_of(rows[:, :-1], rows[:, 1:])[:, n // 2 :].flatten()


def _what_differs(answer: Any, loss_of: LossOf, block: Tensor, n: int) -> str:
    """Say where the first wrong loss comes from, and ask where it should."""
    right = _windows()(loss_of, block, n)
    text = difference(answer, right)
    if not text or not isinstance(answer, Tensor):
        return text
    if answer.ndim > 1:
        return f"{text} The losses stand in one row: how many axes is that?"
    if answer.ndim == 0:
        return text
    half = n // 2
    rounded = right if answer.is_floating_point() else right.to(answer.dtype)
    if not difference(answer, rounded, any_dtype=True):
        return text if answer.is_floating_point() else f"{text} {WHOLE_NUMBERS}"
    if not len(answer):
        return f"your result is empty, expected {len(right)} losses. Which of a window's are left?"
    wanted = [_origin(loss, block) for loss in right.tolist()]
    origins = [_origin(loss, block) for loss in answer.tolist()]
    if origins == wanted[::-1]:
        return "your losses are right, and in reverse. Which byte of the block comes first?"
    if sorted(answer.tolist()) == sorted(right.tolist()):
        return "your losses are the right ones in another order. Which byte of the block is first?"
    starts = [origin.start for origin in origins if origin]
    if (
        sum(later - earlier == 1 for earlier, later in itertools.pairwise(starts))
        > len(origins) / 2
    ):
        return (
            "each byte has a window of its own, so that they move on by 1. By how much should they?"
        )
    for number, (own, other) in enumerate(itertools.zip_longest(origins, wanted)):
        if own == other and number < len(wanted):
            continue
        if number >= len(origins):
            return (
                f"{len(right) - len(origins)} losses are missing at the end. {text} How many bytes "
                "does a window take, and where does the last one start that fits?"
            )
        if own is None:
            value = answer[number].item()
            return (
                f"yours[{number}] = {value:g} is no loss of a byte of this block. Is it a sum, a "
                "mean, a place that was not written to, or made of bytes that you added?"
            )
        return f"yours[{number}] {_wrong_origin(own, half, n, other)}"
    return text


def _wrong_origin(own: Origin, half: int, n: int, wanted: Origin | None) -> str:
    """What is wrong with a loss that comes from ``own`` and not from ``wanted``."""
    window = f"byte {own.byte}, number {own.place} of a window that starts at byte {own.start}"
    if own.target != own.byte + 1:
        return (
            f"is the loss of {window}; its target is byte {own.target} of the block. Which byte "
            "follows it?"
        )
    if own.length != n:
        return f"is the loss of {window}, which has {own.length} bytes. How many has a window?"
    if own.start % half:
        return (
            f"is the loss of {window}. If they start at 0 and move on by {half}, does one start "
            "there?"
        )
    if own.place < half and wanted and own.byte == wanted.byte:
        return (
            f"is the loss of {window}. In the window before it has more bytes before it. Which of "
            "the two losses is wanted?"
        )
    if own.place < half:
        return f"is the loss of {window}. Which numbers of a window are judged: from which one on?"
    if wanted is None:
        return f"is the loss of {window}, and none more was expected. Which window starts last?"
    return f"is the loss of {window}; that of byte {wanted.byte} belongs here. Where is it?"


def _told_apart(answer: Any, loss_of: LossOf, block: Tensor, n: int) -> Any:
    """A row of losses as numbers, so that a mistake is not known by the row's length alone.

    After each loss comes the length of its window, which is lost in the tolerance of a comparison.
    """
    if isinstance(answer, Tensor) and answer.ndim == 1:
        numbers = [1.0]  # longer than the same losses in a list
        for loss in answer.tolist():
            origin = _origin(loss, block)
            numbers += [loss, float(origin.length) if origin else 0.0]
        return tuple(numbers)
    return answer


check_sliding = Check(
    "sliding_from_scratch",
    _windows(),
    cases=[
        _case(33, 0, 8),
        _case(20, 1, 4),
        _case(17, 2, 16),
        _case(47, 3, 6),
        _case(30, 4, 10),
    ],
    rules=[Without((text.sliding, text._windows, trained_models.sliding_loss))],
    judge=_what_differs,
    effect=_told_apart,
    mistakes=[
        Mistake(
            "a byte's losses in all windows are averaged",
            "A byte is in two windows. In which of them does half a window stand before it?",
            _overlaps_averaged(lambda losses, n: losses),
            _overlaps_averaged(lambda losses, n: losses[n // 2 :]),
        ),
        Mistake(
            "windows start at n/2, and their first halves are judged",
            "How many bytes stand before the first byte that your first window judges?",
            lambda loss_of, block, n: torch.cat(
                [
                    loss_of(block[a : a + n], block[a + 1 : a + n + 1])[: n // 2]
                    for a in range(n // 2, len(block) - n, n // 2)
                ]
                or [torch.zeros(0)]
            ),
        ),
        Mistake(
            "windows write over one another",
            "Which window wrote last to place n/2 of your result, and as what of its bytes?",
            _whole_windows_in_place,
        ),
        Mistake(
            "each byte has a window of its own",
            "That is the usual way, and a dear one. By how much are windows to move on here?",
            _window_of_each_byte,
        ),
        Mistake(
            "windows are counted from the end of the block",
            "Where does your first window start? Where should it, if not all bytes fit?",
            *(_from_the_end(order) for order in (1, -1)),
        ),
        Mistake(
            "the losses are in reverse",
            "Which byte of the block comes first in your result?",
            _windows(joined=lambda losses: torch.cat(losses).flip(0)),
        ),
        Mistake(
            "the windows are in reverse",
            "Which byte of the block comes first in your result?",
            _windows(joined=lambda losses: torch.cat(losses[::-1])),
        ),
        Mistake(
            "targets are two bytes ahead",
            "`loss_of` takes n bytes, and of each the byte after it. Which one follows byte 0?",
            _windows(longer=2, follow=lambda window: (window[:-2], window[2:])),
            _targets_two_ahead,
            _windows(
                longer=2,
                last=lambda block, n: len(block) - n - 1,
                follow=lambda window: (window[:-2], window[2:]),
            ),
        ),
        Mistake(
            "all windows are handed over at once",
            "`loss_of` takes one window. How do you come by each of the rows?",
            _all_windows_at_once,
            raises=r"got \(\d+, \d+\)",
        ),
        Mistake(
            "a window has twice its bytes",
            "How many bytes does `loss_of` see at once? And how many should it?",
            lambda loss_of, block, n: torch.cat(
                [
                    loss_of(block[a : a + 2 * n], block[a + 1 : a + 2 * n + 1])[n:]
                    for a in range(0, len(block) - 2 * n, n)
                ]
                or [torch.zeros(0)]
            ),
        ),
        Mistake(
            "windows do not move on by half of themselves",
            "How many bytes does a window judge? By how much must it move on, for none to be "
            "left out and none to come twice?",
            _windows(step=lambda n: n // 2 + 1),
            _windows(step=lambda n: max(1, n // 4)),
            _windows(step=lambda n: n // 2 - 1),
        ),
        Mistake(
            "a quarter of each window is judged",
            "How many bytes of a window are its second half?",
            _windows(judged=lambda losses, n: losses[3 * n // 4 :]),
        ),
        Mistake(
            "no loss of a window is left",
            "A window has n losses, numbered from 0. Which slice is their second half?",
            _windows(judged=lambda losses, n: losses[n:]),
        ),
        Mistake(
            "this is a NumPy array",
            "Which function of torch joins tensors?",
            _windows(joined=lambda losses: torch.cat(losses).numpy()),
        ),
        Mistake(
            "the first half of each window is judged",
            "Which half has at least n/2 bytes before it?",
            _windows(judged=lambda losses, n: losses[: n // 2]),
        ),
        Mistake(
            "whole windows are judged",
            "How often does a byte in the middle of the block come up in your result?",
            _windows(judged=lambda losses, n: losses),
        ),
        Mistake(
            "whole windows are judged, side by side",
            "What does the first byte of such a window have to go by?",
            _windows(step=lambda n: n, judged=lambda losses, n: losses),
        ),
        Mistake(
            "bytes are left out",
            "The first window judges n/2 … n − 1. Where must the next one start to go on at n?",
            _windows(step=lambda n: n),
        ),
        Mistake(
            "windows advance by less than half of themselves",
            "By how much do windows move on? How often is each byte judged then?",
            _windows(step=lambda n: 1),
        ),
        Mistake(
            "the first half of the first window is judged too",
            "How many bytes stand before the first prediction of the block?",
            _first_window_whole,
        ),
        Mistake(
            "a byte is to be named that the model has just read",
            "The target of each byte is the one after it. Which slice of the block is that?",
            _windows(longer=0, follow=lambda window: (window, window)),
        ),
        Mistake(
            "tokens and targets have changed places",
            "Which of the two stands one byte further on in the block?",
            _windows(follow=lambda window: (window[1:], window[:-1])),
        ),
        Mistake(
            "the windows are a byte too short",
            "n tokens and the byte after the last of them: how many bytes does that take?",
            _windows(longer=0),
        ),
        Mistake(
            "the windows have n bytes with their last target",
            "`loss_of` takes n tokens. With the byte that follows the last: how many is a window?",
            _windows(
                longer=0,
                last=lambda block, n: len(block) - n + 1,
                judged=lambda losses, n: losses[n // 2 - 1 :],
            ),
            _windows(longer=0, judged=lambda losses, n: losses[n // 2 - 1 :]),
        ),
        Mistake(
            "each byte has a window of its own",
            "That is the usual way, and a dear one. By how much are windows to move on here?",
            _windows(step=lambda n: 1, judged=lambda losses, n: losses[-1:]),
        ),
        Mistake(
            "the last target is the first byte of the block",
            "`roll` brings a byte round from the other end. Which window has that one as a target?",
            _targets_by_rolling,
        ),
        Mistake(
            "the last window is missing",
            "A block of n + 1 bytes has room for one window. What is your range then?",
            _windows(last=lambda block, n: len(block) - n - 1),
        ),
        Mistake(
            "the last windows are missing",
            "Where may the last window start, if it needs n + 1 bytes?",
            _windows(last=lambda block, n: max(1, len(block) - n - n // 2)),
        ),
        Mistake(
            "more than n bytes are read at once",
            "How many bytes does `loss_of` see at once? And how many should it?",
            _blocks_after_each_other,
        ),
        Mistake(
            "the block is read at once",
            "How many bytes does `loss_of` see at once? And how many should it?",
            _one_pass,
        ),
        Mistake(
            "a window that does not fit is kept",
            "The window that starts last: how many bytes has it? How many does a window take?",
            _windows(last=lambda block, n: len(block)),
        ),
        Mistake(
            "zeros are put behind the block, so that more windows fit",
            "What is the target of the block's last byte, in what `loss_of` is given?",
            *(
                _padded(spare)
                for spare in (
                    lambda size, n: n,
                    lambda size, n: n // 2,
                    lambda size, n: -(size - 1) % (n // 2),  # no more than the last window lacks
                    lambda size, n: -(size - 1) % n,
                    lambda size, n: -size % n,
                )
            ),
        ),
        Mistake(
            "the range goes one byte too far",
            "Let a block have n bytes, one too few for a window. What does your range give?",
            _windows(last=lambda block, n: len(block) - n + 1),
        ),
        Mistake(
            "a window does not fit, so its targets end before its tokens",
            "The targets reach one byte further than the tokens. Where may the last window start?",
            _targets_beyond_the_end,
            raises=r"got \((\d+),\) and \((?!\1,)\d+,\), where tokens end with the block",
        ),
        Mistake(
            "`loss_of` is given more tokens than targets, or fewer, in the first window too",
            "n tokens: how many targets is that? And at which of its n losses do you look "
            "afterwards?",
            _windows(follow=lambda window: (window[:-1], window[len(window) // 2 + 1 :])),
            _windows(follow=lambda window: (window[:-2], window[1:])),
            _windows(follow=lambda window: (window, window[1:])),
            raises=r"got \((\d+),\) and \((?!\1,)\d+,\)$",
        ),
        Mistake(
            "a window is moved back until it fits",
            "Which bytes does your last window judge that were judged before?",
            _last_window_moved_back,
        ),
        Mistake(
            "the first window starts too late",
            "Which byte of the block does your first window start at?",
            lambda loss_of, block, n: _windows()(loss_of, block[n // 2 :], n),
        ),
        Mistake(
            "a byte of each window is left out",
            "The first window judges n/2 … n − 1. How many bytes are that?",
            _windows(judged=lambda losses, n: losses[n // 2 + 1 :]),
        ),
        Mistake(
            "the judged losses stand one place too early",
            "Of a window's n losses, numbered from 0, which are the last n/2?",
            _windows(judged=lambda losses, n: losses[n // 2 - 1 : n - 1]),
        ),
        Mistake(
            "each window judges a byte too many",
            "How many bytes does a window judge, and by how many does it move on?",
            _windows(judged=lambda losses, n: losses[n // 2 - 1 :]),
        ),
        Mistake(
            "the second half is taken for the targets of the first",
            "`loss_of` takes n bytes, and of each the byte after it. Which one follows byte 0?",
            _windows(
                judged=lambda losses, n: losses,
                follow=lambda window: (window[: len(window) // 2], window[len(window) // 2 : -1]),
            ),
        ),
        Mistake(
            "the judged half is read without the half before it",
            "What stands before the first judged byte of a window, in what `loss_of` is given?",
            _windows(
                judged=lambda losses, n: losses,
                follow=lambda window: (
                    window[len(window) // 2 : -1],
                    window[len(window) // 2 + 1 :],
                ),
            ),
        ),
        Mistake(
            "windows have half of their bytes",
            "How many bytes does `loss_of` see at once? And how many should it?",
            lambda loss_of, block, n: torch.cat(
                [
                    loss_of(block[a : a + n // 2], block[a + 1 : a + n // 2 + 1])
                    for a in range(0, len(block) - n // 2, n // 2)
                ]
            ),
        ),
        Mistake(
            "only the first window is judged",
            "How often does your loop run before the function returns?",
            _first_window_alone,
        ),
        Mistake(
            "the windows slide by as much for every n",
            "A window slides on by half of its length. How far is that in each case?",
            _windows(step=lambda n: 32),
        ),
        Mistake(
            "each window gives one number, a mean",
            "A window judges n/2 bytes. How many losses should it give?",
            _windows(judged=lambda losses, n: losses[n // 2 :].mean()[None]),
        ),
        Mistake(
            "each window gives one loss, its last",
            "A window judges n/2 bytes. How many losses should it give?",
            _windows(judged=lambda losses, n: losses[-1:]),
        ),
        Mistake(
            "each window gives one loss, the first that it judges",
            "A window judges n/2 bytes. How many losses should it give?",
            _windows(judged=lambda losses, n: losses[n // 2 : n // 2 + 1]),
        ),
        Mistake(
            "places are left over at the end of the result",
            "Your result has more places than bytes were judged. What stands in the others?",
            _in_place_from_the_start(lambda size: size),
            _in_place_from_the_start(lambda size: size - 1),
            *(_in_place(spare, lambda places, n: places[n // 2 :]) for spare in (0, 1)),
        ),
        Mistake(
            "bytes that no window judged have a number too",
            "Your result has a place for each byte of the block. Which of them were judged?",
            *map(_in_place, (0, 1)),
        ),
        Mistake(
            "each window has a row of its own",
            "The result has one axis. How do you put pieces end to end?",
            _windows(joined=torch.stack),
        ),
        Mistake(
            "this is a list",
            "How does torch make one tensor of it?",
            _windows(joined=list),
            _windows(joined=lambda losses: torch.cat(losses).tolist()),
        ),
        Mistake(
            "this is the mean",
            "How many numbers does the result hold: one, or one for each judged byte?",
            _windows(joined=lambda losses: torch.cat(losses).mean()),
        ),
        Mistake(
            "this is the sum",
            "How many numbers does the result hold: one, or one for each judged byte?",
            _windows(joined=lambda losses: torch.cat(losses).sum()),
        ),
    ],
    hints=(
        "For n = 8 write down by hand where the first three windows start, and which of their "
        "predictions are judged.",
        "A window takes n + 1 bytes of the block. Its tokens are all but the last, its targets all "
        "but the first.",
        "Loop over range(0, len(block) - n, n // 2), keep loss_of(…)[n // 2 :] of each window, and "
        "join them with torch.cat.",
    ),
)


# Objections to a table

USUAL = {"steps": 1200, "lr": 0.002, "protocol": "sliding windows", "judged": 18432}


def _runs(
    encoding: str, seeds: Iterable[int] = (0, 1, 2), reads: Sequence[int] = (64, 1024), **other: Any
) -> list[Run]:
    number = sum(map(ord, encoding))
    return [
        {
            "encoding": encoding,
            "seed": seed,
            **USUAL,
            "parameters": 824064 if encoding == CUT else 824064 + number,
            "seconds": 60.0 + (number + 7 * seed) % 31,
            "read": read,
            "loss": round(1.2 + (number + 3 * seed + read) % 97 / 500, 3),
            **other,
        }
        for seed in seeds
        for read in reads
    ]


def _changed(runs: list[Run], **changes: Any) -> list[Run]:
    return [{**run, **changes} for run in runs]


class Pile(list[Run]):
    """A list of runs that messages call by an expression that prints it, and by its encodings."""

    def __init__(self, runs: Iterable[Run], number: int) -> None:
        super().__init__(runs)
        self.number = number

    @property
    def __name__(self) -> str:
        """What :func:`course_lab.checks.compare.describe` writes."""
        encodings = ", ".join(dict.fromkeys(run["encoding"] for run in self))
        return f"*check_objections.cases[{self.number}]: {len(self)} runs of {encodings}"


_SOUND = [*_runs("shaw"), *_runs("xpos"), *_runs("fire"), *_runs(CUT)]
# Settings that the exercise does not name: "any other key is one".
UNNAMED: dict[str, Any] = {
    "batch": 8,
    "length": 64,
    "d_model": 128,
    "n_heads": 4,
    "device": "cpu",
    "torch": "2.13.0",
    "optimizer": "Adam",
    "weight_decay": 0.0,
    "tokenizer": "bytes",
    "qzvtkxwpj": 1,  # one that nobody would list
}
PILES = [
    _SOUND,
    [*_runs("shaw"), *_runs("xpos", steps=2400), *_runs("fire"), *_runs(CUT)],
    [  # longer training behind one column only
        *_runs("shaw"),
        *_runs("fire", reads=[64]),
        *_runs("fire", reads=[1024], steps=12000),
        *_runs(CUT),
    ],
    [*_runs("shaw"), *_runs("xpos", seeds=(1, 1, 1)), *_runs("fire"), *_runs(CUT)],
    [*_runs("shaw", seeds=(0,)), *_runs("xpos", seeds=(0,)), *_runs(CUT, seeds=(0,))],
    [*_runs("shaw"), *_runs("xpos", seeds=(3, 4, 5)), *_runs(CUT)],
    [  # two seeds at the longer length
        *_runs("shaw"),
        *_runs("fire", reads=[64]),
        *_runs("fire", reads=[1024], seeds=(0, 1)),
        *_runs(CUT),
    ],
    _changed([*_runs("shaw"), *_runs("fire"), *_runs("xpos")], corpus="docs"),
    [
        *_changed([*_runs("shaw"), *_runs("fire"), *_runs(CUT)], corpus="docs"),
        *_runs("xpos", corpus="code"),
    ],
    [*_runs("shaw"), *_runs("fire", protocol="pieces", judged=21504), *_runs("xpos")],
    [  # the last run alone was read another way
        *_runs("shaw"),
        *_runs(CUT),
        *_runs("fire")[:-1],
        {**_runs("fire")[-1], "judged": 7680},
    ],
    [*_runs("shaw"), *_runs("xpos", lr=1e-3), *_runs("fire"), *_runs(CUT)],
    [*_runs("shaw", seeds=(0, 1)), *_runs("xpos", seeds=(0, 1)), *_runs(CUT, seeds=(0, 1))],
    [*_runs("shaw"), *_runs("xpos", seeds=(0, 1, 2, 3)), *_runs(CUT)],
    [  # each column fair in itself, and read in another way
        *(run for name in ("shaw", "fire", CUT) for run in _runs(name, reads=[64])),
        *_changed(
            [run for name in ("shaw", "fire", CUT) for run in _runs(name, reads=[1024])],
            protocol="pieces",
        ),
    ],
    [  # each column fair in itself, and a mean of other bytes
        *(run for name in ("shaw", "fire", CUT) for run in _runs(name, reads=[64])),
        *(run for name in ("shaw", "fire", CUT) for run in _runs(name, reads=[1024], judged=7680)),
    ],
    [  # each column fair in itself, and made of other models
        *(run for name in ("shaw", "fire", CUT) for run in _runs(name, reads=[64])),
        *(run for name in ("shaw", "fire", CUT) for run in _runs(name, (3, 4, 5), reads=[1024])),
    ],
    [*_runs("shaw"), *_runs("fire"), *_runs(CUT, steps=2400)],
    [*_runs("shaw", seeds=(0,)), *_runs("fire"), *_runs(CUT)],  # the first row alone has one seed
    [*_runs("shaw", seeds=(0, 1)), *_runs("fire", seeds=(2, 3)), *_runs(CUT, seeds=(0, 1))],
    [{**_runs("shaw")[0], "judged": 7680}, *_SOUND[1:]],  # the first run alone, read another way
    [*_runs("shaw"), *_runs("shortcut"), *_runs("fire")],
    _changed(_SOUND, steps=2400, lr=1e-3, protocol="pieces", judged=7680),  # sound
    [run for name in ("shaw", "fire", CUT) for run in _runs(name, seeds=range(5))],  # sound
    [run for name in ("shaw", "xpos", CUT) for run in _runs(name, seeds=(3, 4, 5))],  # sound
    [*_runs("shaw"), *reversed(_runs("xpos")), *_runs(CUT)],  # sound
    [*_runs("shaw"), *_runs("fire"), *_runs(CUT, seeds=(0,))],
    [*_runs("shaw"), *_runs("fire", seeds=(0, 1), steps=2400)],  # wrong in three ways
    [*_runs("shaw"), *_runs("fire", reads=[64]), *_runs(CUT)],  # no run at 1,024
    [*_runs("shaw"), *_runs("fire"), *_runs(CUT, reads=[64])],
    [*_runs("shaw"), *_runs("fire", seeds=(0, 1, 2, 2)), *_runs(CUT)],  # sound: a copy
    [*_runs("shaw"), *_runs("fire"), *_runs("just cut to 641")],
    [*_runs("shaw"), *_runs("xpos", (0,), steps=2400, lr=1e-3, protocol="pieces", judged=7680)],
    [*_runs("shaw", seeds=(1, 2, 3)), *_runs("fire", seeds=(0, 2, 3)), *_runs(CUT, (1, 2, 3))],
    [*_runs("shaw", seeds=(1, 2, 3)), *_runs("fire", seeds=(0, 1, 5)), *_runs(CUT, (1, 2, 3))],
    [{**run, "steps": 1200 * (1 + run["seed"])} for run in _SOUND],  # each row is a mixture
    [*_runs(CUT), *_runs("shaw"), *_runs("fire")],  # sound: the row that is cut comes first
    [run for name in ("shaw", "fire", CUT) for run in _runs(name, reads=(64, 2048))],  # sound
    [run for name in ("shaw", CUT) for run in _runs(name, reads=(64, 256, 2048))],  # sound
    [  # two seeds at the shorter length
        *_runs("shaw"),
        *_runs("fire", reads=[64], seeds=(0, 1)),
        *_runs("fire", reads=[1024]),
        *_runs(CUT),
    ],
    [  # one seed at the length between
        *_runs("shaw", reads=(64, 256, 2048)),
        *_runs("fire", reads=(64, 2048)),
        *_runs("fire", reads=(256,), seeds=(0,)),
        *_runs(CUT, reads=(64, 256, 2048)),
    ],
    [*_runs("shaw"), *_runs("fire", reads=(64, 512)), *_runs(CUT)],  # each has a column of its own
    [{**run, "steps": int("1200")} for run in _SOUND],  # sound, each its own
    [run for name in ("shaw", "fire", CUT) for run in _runs(name, seeds=range(11))],  # sound
    [*_runs("shaw", seeds=range(4)), *_runs("fire"), *_runs(CUT)],  # the first row has a seed more
    [*_runs("shaw"), *_runs("fire"), *_runs("just cut to 32")],
    _changed([*_runs("shaw"), *_runs("xpos"), *_runs("fire")], beside=CUT),  # no row, but a key
    [*_changed(_SOUND[6:], **UNNAMED), *_changed(_SOUND[:6], **dict.fromkeys(UNNAMED, "another"))],
    [  # the first run of an encoding alone was read another way
        *_runs("shaw"),
        *_runs(CUT),
        {**_runs("fire")[0], "judged": 7680},
        *_runs("fire")[1:],
    ],
    [run for name in ("shaw", "fire", CUT) for run in _runs(name, seeds=(0, 0, 0))],  # one seed
]


def _sets(runs: list[Run], *by: str) -> list[set[int]]:
    """The different seeds of each combination of these keys' values, empty where it has no run."""
    values = [dict.fromkeys(run[key] for run in runs) for key in by]
    seeds: dict[Any, set[int]] = {place: set() for place in itertools.product(*values)}
    for run in runs:
        seeds[tuple(run[key] for key in by)].add(run["seed"])
    return list(seeds.values())


def _differing(runs: list[Run], free: Iterable[str] = FREE) -> set[str]:
    """The keys that are not free and of which some runs have another value."""
    keys = set(runs[0]) - set(free)
    return {key for key in keys if any(run[key] != runs[0][key] for run in runs)}


def _too_few(sets: list[set[int]]) -> set[str]:
    return {"seed"} if any(len(seeds) < 3 or seeds != sets[0] for seeds in sets) else set()


def _ends(sets: list[set[int]]) -> list[set[int]]:
    """The first and the last of them."""
    return [sets[0], sets[-1]]


def _set_of_sets(runs: list[Run]) -> set[str]:
    different = set(_sets(runs, "encoding", "read"))  # it raises
    return {"seed"} if len(different) > 1 else set()


def _seeds_within(key: str) -> Callable[[list[Run]], set[str]]:
    """Return a rule for seeds that compares those of one length, or one encoding, at a time."""

    def rule(runs: list[Run]) -> set[str]:
        parts = [
            [run for run in runs if run[key] == value]
            for value in dict.fromkeys(run[key] for run in runs)
        ]
        return set().union(*(_too_few(_sets(part, "encoding", "read")) for part in parts))

    return rule


def _seeds_if(rule: Callable[[list[set[int]]], bool]) -> Callable[[list[Run]], list[str]]:
    """Return an answer that objects to seeds if a rule of the sets says so."""
    return _with_seeds(lambda runs: {"seed"} if rule(_sets(runs, "encoding", "read")) else set())


def _unlike_in_all(runs: list[Run]) -> set[str]:
    keys = set(runs[0]) - set(FREE)
    return {key for key in keys if all(run[key] != runs[0][key] for run in runs[1:])}


def _first_setting(runs: list[Run]) -> set[str]:
    differing = _differing(runs)
    return set([key for key in runs[0] if key in differing][:1])


def _return_at_a_setting(runs: list[Run]) -> list[str]:
    seeds = _too_few(_sets(runs, "encoding", "read"))
    return sorted(_first_setting(runs) or seeds | _no_cut(runs))


def _seeds_or_cut(runs: list[Run]) -> list[str]:
    seeds = _too_few(_sets(runs, "encoding", "read"))
    return sorted(_differing(runs) | (seeds or _no_cut(runs)))


def _all_alike(sets: list[set[int]]) -> bool:
    return all(seeds == sets[0] for seeds in sets)


def _no_cut(runs: list[Run]) -> set[str]:
    return set() if any(run["encoding"] == CUT for run in runs) else {"cut"}


def _with_seeds(rule: Callable[[list[Run]], set[str]]) -> Callable[[list[Run]], list[str]]:
    """Return an answer with another rule for seeds."""
    return lambda runs: sorted(_differing(runs) | rule(runs) | _no_cut(runs))


def _with_keys(rule: Callable[[list[Run]], set[str]]) -> Callable[[list[Run]], list[str]]:
    """Return an answer with another rule for the keys that must not differ."""

    def answer(runs: list[Run]) -> list[str]:
        seeds = _too_few(_sets(runs, "encoding", "read"))
        return sorted(rule(runs) | seeds | _no_cut(runs))

    return answer


def _rows_counted(runs: list[Run]) -> set[str]:
    rows: dict[Any, int] = {}
    for run in runs:
        place = run["encoding"], run["read"]
        rows[place] = rows.get(place, 0) + 1
    return {"seed"} if min(rows.values()) < 3 else set()


def _rows_counted_seeds_compared(runs: list[Run]) -> set[str]:
    unlike = not _all_alike(_sets(runs, "encoding", "read"))
    return {"seed"} if unlike or _rows_counted(runs) else set()


def _first_of_each(runs: list[Run]) -> set[str]:
    return _differing(list({run["encoding"]: run for run in reversed(runs)}.values()))


def _last_of_each(runs: list[Run]) -> set[str]:
    return _differing(list({run["encoding"]: run for run in runs}.values()))


def _in_each_column(runs: list[Run]) -> set[str]:
    lengths = {run["read"] for run in runs}
    return {key for n in lengths for key in _differing([run for run in runs if run["read"] == n])}


def _judged_in_each_column(runs: list[Run]) -> set[str]:
    return _differing(runs, {*FREE, "judged"}) | (_in_each_column(runs) & {"judged"})


def _within_each_encoding(runs: list[Run]) -> set[str]:
    names = {run["encoding"] for run in runs}
    return {key for name in names for key in _differing([r for r in runs if r["encoding"] == name])}


def _unlike_the_first_table(runs: list[Run]) -> set[str]:
    usual = {key for run in runs for key, value in USUAL.items() if run[key] != value}
    return usual | (_differing(runs) - set(USUAL))


def _seeds_in_order(runs: list[Run]) -> set[str]:
    rows: dict[Any, list[int]] = {
        (name, n): [] for name in {r["encoding"] for r in runs} for n in {r["read"] for r in runs}
    }
    for run in runs:
        rows[run["encoding"], run["read"]].append(run["seed"])
    first = rows[runs[0]["encoding"], runs[0]["read"]]
    return {"seed"} if len(set(first)) < 3 or any(row != first for row in rows.values()) else set()


def _without_cut(runs: list[Run]) -> list[Run]:
    return [run for run in runs if run["encoding"] != CUT]


def _first_kind(runs: list[Run]) -> list[str]:
    seeds = _too_few(_sets(runs, "encoding", "read"))
    return sorted(_differing(runs) or seeds or _no_cut(runs))


def _sets_of_rows(runs: list[Run]) -> set[str]:
    """The keys of which two encodings have different sets of values."""
    differing = set()
    for key in set(runs[0]) - set(FREE):
        values: dict[str, set[Any]] = {}
        for run in runs:
            values.setdefault(run["encoding"], set()).add(run[key])
        if len(set(map(frozenset, values.values()))) > 1:
            differing.add(key)
    return differing


def _another_object(runs: list[Run]) -> set[str]:
    keys = set(runs[0]) - set(FREE)
    return {key for key in keys if any(run[key] is not runs[0][key] for run in runs)}


def _seeds_at(chosen: Callable[[list[int]], Iterable[int]]) -> Callable[[list[Run]], set[str]]:
    """Return a rule for seeds that looks at some lengths only."""

    def rule(runs: list[Run]) -> set[str]:
        names = dict.fromkeys(run["encoding"] for run in runs)
        lengths = chosen(sorted({run["read"] for run in runs}))
        return _too_few(
            [
                {run["seed"] for run in runs if (run["encoding"], run["read"]) == (name, n)}
                for name in names
                for n in lengths
            ]
        )

    return rule


def _sorted_lists(runs: list[Run]) -> set[str]:
    rows: dict[Any, list[int]] = {}
    for run in runs:
        rows.setdefault((run["encoding"], run["read"]), []).append(run["seed"])
    first, *others = map(sorted, rows.values())
    return {"seed"} if len(first) < 3 or any(other != first for other in others) else set()


def _within_the_first(runs: list[Run]) -> set[str]:
    """A rule for seeds that lets a row have fewer than the first."""
    first, *others = _sets(runs, "encoding", "read")
    fewest = min(len(seeds) for seeds in [first, *others])
    return {"seed"} if fewest < 3 or any(not seeds <= first for seeds in others) else set()


def _at_most(count: int) -> Callable[[list[Run]], set[str]]:
    """Return a rule for seeds that objects to more than ``count``."""
    return lambda runs: (
        {"seed"}
        if _too_few(_sets(runs, "encoding", "read"))
        or any(len(seeds) > count for seeds in _sets(runs, "encoding", "read"))
        else set()
    )


def _pairs_that_occur(runs: list[Run]) -> set[str]:
    return _too_few([seeds for seeds in _sets(runs, "encoding", "read") if seeds])


def _copies_count(runs: list[Run]) -> set[str]:
    rows: dict[Any, list[int]] = {}
    for run in runs:
        rows.setdefault((run["encoding"], run["read"]), []).append(run["seed"])
    alike = len(set(map(tuple, map(sorted, rows.values())))) == 1
    return _too_few(_sets(runs, "encoding", "read")) | (set() if alike else {"seed"})


def _seeds_by(one_number: Callable[[set[int]], int]) -> Callable[[list[Run]], set[str]]:
    """Return a rule for seeds that compares one number of each set."""

    def rule(runs: list[Run]) -> set[str]:
        sets = _sets(runs, "encoding", "read")
        few = any(len(seeds) < 3 for seeds in sets)
        return {"seed"} if few or len(set(map(one_number, sets))) > 1 else set()

    return rule


def _once_for_each_run(runs: list[Run]) -> list[str]:
    settings = [key for key in _differing(runs) for run in runs if run[key] != runs[0][key]]
    return [*settings, *_too_few(_sets(runs, "encoding", "read")), *_no_cut(runs)]


def _with_cut(rule: Callable[[list[Run]], bool]) -> Callable[[list[Run]], list[str]]:
    """Return an answer with another rule for when the simplest row is there."""

    def answer(runs: list[Run]) -> list[str]:
        seeds = _too_few(_sets(runs, "encoding", "read"))
        return sorted(_differing(runs) | seeds | (set() if rule(runs) else {"cut"}))

    return answer


def _at_64(runs: list[Run]) -> list[str]:
    return _objections([run for run in runs if run["read"] == 64])


def _objections(runs: list[Run]) -> list[str]:
    """The package's answer; who calls the package's own function breaks the exercise's rule."""
    return referee.objections(runs)


def _names(answer: Any) -> list[str] | None:
    """The names that an answer holds; None if it is no list of names."""
    if not isinstance(answer, (list, tuple, Set)):
        return None
    names = [name for name in answer if isinstance(name, str)]
    return names if len(names) == len(answer) else None


def _flags(answer: Any, runs: list[Run]) -> Any:
    """How often an answer holds each name; the last one counts those that are none."""
    objections = _names(answer)
    if objections is None:
        return answer
    names = [*sorted(runs[0]), "cut"]
    unknown = sum(name not in names for name in objections)
    return torch.tensor([float(objections.count(name)) for name in names] + [float(unknown)])


REPEATED = "each name is wanted once, and yours come more than once"


def _judged(answer: Any, runs: list[Run]) -> str:
    objections = _names(answer)
    if objections is None:
        return f"return a list of names, got {answer!r:.60}."
    names = {*runs[0], "cut"}
    if unknown := sorted(set(objections) - names):
        return (
            f"{_listed(unknown)}: no run has such a key. A name is a key as the runs spell it, or "
            '"cut".'
        )
    right, named = set(_objections(runs)), set(objections)
    parts = [_missed(right - named, runs)] if right - named else []
    parts += [_unfounded(name, runs) for name in sorted(named - right)[:3]]
    if not parts and len(objections) > len(named):
        parts = [REPEATED]
    return f"{'. '.join(parts)}." if parts else ""


def _missed(names: set[str], runs: list[Run]) -> str:
    """What an answer overlooks, without the names of the settings."""
    parts = []
    if settings := names - {"seed", "cut"}:
        words = "a setting that is" if len(settings) == 1 else f"{len(settings)} settings that are"
        unnamed = " (any other key is one)" if settings - set(USUAL) else ""
        parts.append(f"{words} not equal in all{unnamed}")
    if "seed" in names:
        parts.append(f'"seed" ({_rows_of_seeds(runs)})')
    if "cut" in names:
        parts.append(f'"cut" (no run is called exactly "{CUT}")')
    return f"it misses {', and '.join(parts)}"


def _rows_of_seeds(runs: list[Run]) -> str:
    """The seeds of the first row, and of one that is unlike it or has too few."""
    names = list(dict.fromkeys(run["encoding"] for run in runs))
    lengths = list(dict.fromkeys(run["read"] for run in runs))
    rows = {
        f"{name} at {n}": [
            run["seed"] for run in runs if (run["encoding"], run["read"]) == (name, n)
        ]
        for name in names
        for n in lengths
    }
    (first, seeds), *_ = rows.items()
    unlike = [place for place, own in rows.items() if set(own) != set(seeds)]
    shown = [first, *unlike[:1]]
    return "; ".join(f"{place}: {', '.join(map(str, rows[place])) or 'no run'}" for place in shown)


def _unfounded(name: str, runs: list[Run]) -> str:
    """Why a name is no objection to these runs."""
    if name == "cut":
        return f'it objects to "cut", but a run is called "{CUT}"'
    if name == "seed":
        return 'it objects to "seed", but the same three or more stand at each place of the table'
    if name in FREE:
        return f'it objects to "{name}", which need not be equal in a fair table'
    values = list(dict.fromkeys(map(repr, (run[name] for run in runs))))
    return f'it objects to "{name:.40}", which is equal in all runs: {" == ".join(values[:3]):.60}'


def _listed(names: list[str]) -> str:
    quoted = [f'"{name:.40}"' for name in names[:4]]
    return ", ".join(quoted) + (" …" if len(names) > 4 else "")


check_objections = Check(
    "objections",
    _objections,
    cases=[(Pile(pile, number),) for number, pile in enumerate(PILES)],
    rules=[Without((referee.objections, referee.row_objections))],
    mistakes=[
        Mistake(
            "it looks at seeds at lengths that it knows beforehand",
            "The next table has columns of 64 and 2,048. Where do your lengths come from?",
            _with_seeds(_seeds_at(lambda lengths: (64, 1024))),
        ),
        Mistake(
            "it looks at the seeds of some lengths only",
            "A table may have three columns. May the mean in the middle be one run's?",
            _with_seeds(_seeds_at(lambda lengths: (lengths[0], lengths[-1]))),
            _with_seeds(_seeds_at(lambda lengths: lengths[:1])),
            _with_seeds(_seeds_at(lambda lengths: lengths[-1:])),
        ),
        Mistake(
            "a name comes more than once",
            "A difference is found. Where does your loop go on then?",
            _once_for_each_run,
        ),
        Mistake(
            "values are compared with `is`",
            "Two lists hold the same numbers. Are they one object? What does the task ask for?",
            _with_keys(_another_object),
        ),
        Mistake(
            "a row may have fewer seeds than the first",
            "Is a set that is part of another the *same* set? Which row has a seed more?",
            _with_seeds(_within_the_first),
            _seeds_if(lambda sets: any(not seeds <= sets[0] for seeds in sets)),
            _seeds_if(lambda sets: len(sets[0]) < 3 or any(not seeds <= sets[0] for seeds in sets)),
        ),
        Mistake(
            "a key is left free that the exercise does not name",
            "The exercise says of each key that it does not show: any other key is a setting. "
            "Which ones does your function leave free?",
            *(_with_keys(partial(_differing, free={*FREE, key})) for key in (*UNNAMED, "corpus")),
        ),
        Mistake(
            "it looks at one run of each encoding",
            "A row is a mean. Were all the runs behind it made alike?",
            _with_keys(_last_of_each),
        ),
        Mistake(
            "there may not be many seeds",
            "The rule asks for three seeds *or more*. How many are too many?",
            *(_with_seeds(_at_most(count)) for count in (5, 10)),
        ),
        Mistake(
            "copies of a run count, and a place without a run does not",
            "Seeds 0, 1, 2 and once more 2: which different seeds are these? And an encoding with "
            "no run at 1,024: does your loop come by that place?",
            _with_seeds(_sorted_lists),
        ),
        Mistake(
            "it raises a false alarm over what belongs to an encoding, or comes out of a run",
            "Must all encodings have as many parameters? Is a time set beforehand, or measured?",
            _with_keys(lambda runs: _differing(runs, ("encoding", "seed", "read", "loss"))),
        ),
        Mistake(
            "it raises a false alarm over a number of parameters",
            "A learned table has more of them than RoPE. Is that unfair, or is it the encoding?",
            _with_keys(lambda runs: _differing(runs, set(FREE) - {"parameters"})),
        ),
        Mistake(
            "it raises a false alarm over times",
            "Does a machine that is busy change what a model has learned?",
            _with_keys(lambda runs: _differing(runs, set(FREE) - {"seconds"})),
        ),
        Mistake(
            "it objects to losses",
            "Is a loss chosen before a run, or is it what the run is made for?",
            _with_keys(lambda runs: _differing(runs, set(FREE) - {"loss"})),
        ),
        Mistake(
            "it objects to the columns of a table",
            "Two columns of one row: which key must differ between them?",
            _with_keys(lambda runs: _differing(runs, set(FREE) - {"read"})),
        ),
        Mistake(
            "it objects to the rows and the columns of a table",
            "Which key names the rows, which the columns? What is a table in which both are equal?",
            _with_keys(lambda runs: _differing(runs, set(FREE) - {"encoding", "read"})),
        ),
        Mistake(
            "it objects to all that differs",
            "What would a table be in which nothing differs? Why does one look at a table at all?",
            _with_keys(lambda runs: _differing(runs, ())),
        ),
        Mistake(
            "it objects to a fair table",
            "Others train all of their models for 2,400 steps. Is their table unfair?",
            _with_keys(_unlike_the_first_table),
        ),
        Mistake(
            "it compares the runs of an encoding with one another only",
            "Two rows stand one above the other. Where does your function compare them?",
            _with_keys(_within_each_encoding),
        ),
        Mistake(
            "it objects to encodings that differ",
            "Which key names the rows? What would a table be in which that one is always equal?",
            _with_keys(lambda runs: _differing(runs, set(FREE) - {"encoding"})),
        ),
        Mistake(
            "it says the same of every table",
            "Which line of your function looks at `runs`?",
            *(
                lambda runs, names=names: list(names)
                for names in (
                    ("cut", "judged", "protocol", "seed", "steps"),
                    ("judged", "protocol", "seed", "steps"),
                )
            ),
        ),
        Mistake(
            "it stops at the first kind of objection",
            "A table may be wrong in three ways. How many of them does your function tell?",
            _first_kind,
        ),
        Mistake(
            "it returns one objection at most",
            "A table may be wrong in three ways. How many of them does your function tell?",
            lambda runs: _objections(runs)[:1],
        ),
        *(
            Mistake(
                f"it returns {count} objections at most",
                "Is there a limit to what may be wrong with one table?",
                lambda runs, count=count: _objections(runs)[:count],
            )
            for count in (2, 3, 4, 5)
        ),
        Mistake(
            "a setting of another table gets past it",
            "What if the next table's runs have a key of which yours never heard?",
            _with_keys(lambda runs: _differing(runs) & set(USUAL)),
        ),
        Mistake(
            "some unfair tables get past it",
            "A run belongs to an encoding and a length. Which lengths does your function look at?",
            _at_64,
        ),
        Mistake(
            "a table whose columns were made in two ways gets past it",
            "A rise is a difference of two columns. May they have been read in two ways?",
            _with_keys(_in_each_column),
            _with_keys(_judged_in_each_column),
        ),
        Mistake(
            "seeds are compared within each length only",
            "A rise is one model's change from 64 to 1,024. What if the two columns have other "
            "seeds?",
            _with_seeds(_seeds_within("read")),
        ),
        Mistake(
            "an encoding's seeds are compared with its own at other lengths only",
            "Two rows of the table are compared. Do both have the same seeds?",
            _with_seeds(_seeds_within("encoding")),
        ),
        Mistake(
            "it objects only to seeds that are few and unlike at once",
            "Seeds may be too few, or unlike. Is one of the two enough to object?",
            _seeds_if(lambda sets: len(sets[0]) < 3 and any(seeds != sets[0] for seeds in sets)),
            _seeds_if(lambda sets: any(len(seeds) < 3 for seeds in sets) and not _all_alike(sets)),
        ),
        Mistake(
            "the seeds of the first place alone are counted",
            "You count the seeds of one place of the table. How many have the others, and are "
            "they the same?",
            _seeds_if(lambda sets: len(sets[0]) < 3),
        ),
        Mistake(
            "one place with three seeds is enough",
            "One place has three seeds. Does that help the mean beside it, which has one?",
            _seeds_if(lambda sets: all(len(seeds) < 3 for seeds in sets)),
        ),
        Mistake(
            "a setting has to be another in all runs",
            "How many runs must be unlike the first for a setting not to be equal in all?",
            _with_keys(_unlike_in_all),
        ),
        Mistake(
            "no setting is ever objected to",
            "Is the first run unlike itself? How many runs must be unlike it for a setting not to "
            "be equal in all?",
            _with_keys(lambda runs: set()),
        ),
        Mistake(
            "it compares the first run with the last only",
            "What about the runs between?",
            _with_keys(lambda runs: _differing([runs[0], runs[-1]])),
        ),
        Mistake(
            "it stops at the first setting",
            "Two settings may be unlike at once. What does your function do after it found one?",
            _with_keys(_first_setting),
            _return_at_a_setting,
        ),
        Mistake(
            "where seeds are wrong, it does not look for the simplest row",
            "Seeds and the simplest row may both be wrong. Does the second question still come?",
            _seeds_or_cut,
        ),
        Mistake(
            "it objects to the simplest row",
            "Should a table have the row “just cut to 64”, or be without it?",
            _with_cut(lambda runs: all(run["encoding"] != CUT for run in runs)),
        ),
        Mistake(
            "it compares what values each encoding has, and not run with run",
            "Each encoding was read in the same two ways. Was each of its runs read in one?",
            _with_keys(_sets_of_rows),
        ),
        Mistake(
            "the learning rate may differ",
            "Is a learning rate a property of the encoding, or a choice of who trained it?",
            _with_keys(lambda runs: _differing(runs, {*FREE, "lr"})),
        ),
        Mistake(
            "a key is free that changes over what a mean is taken",
            "Of each key that you leave free: could two rows differ by it alone, and mislead?",
            _with_keys(lambda runs: _differing(runs, {*FREE, "judged"})),
        ),
        Mistake(
            "a key is free that decides what stands before a byte",
            "How did this lesson come by its first gain, the one that was none?",
            _with_keys(lambda runs: _differing(runs, {*FREE, "protocol"})),
        ),
        Mistake(
            "a key is free that somebody chose before training",
            "Of each key that you leave free: who decides on it, the encoding or its trainer?",
            _with_keys(lambda runs: _differing(runs, {*FREE, "steps"})),
        ),
        Mistake(
            "more than one setting is left free",
            "Who decides on each key that your function leaves free, and when: is it chosen "
            "before a run, or does it come out of it?",
            *(
                _with_keys(partial(_differing, free={*FREE, *keys}))
                for count in (2, 3, 4)
                for keys in itertools.combinations(USUAL, count)
            ),
        ),
        Mistake(
            "sets are put into a set",
            "Python cannot put a set into a set. How else do you ask whether all are equal to the "
            "first?",
            _with_seeds(_set_of_sets),
            raises="unhashable type: 'set'",
        ),
        Mistake(
            "the simplest row's name is looked for under every key",
            "Under which key does a run say of which row it is?",
            _with_cut(lambda runs: any(CUT in run.values() for run in runs)),
        ),
        Mistake(
            "the row that is cut need not be made like the others",
            "Which rows does your function compare?",
            _with_keys(lambda runs: _differing(_without_cut(runs))),
        ),
        Mistake(
            "the seeds of the row that is cut do not count",
            "How many seeds stand behind the row that all others are measured by?",
            _with_seeds(lambda runs: _too_few(_sets(_without_cut(runs), "encoding", "read"))),
        ),
        Mistake(
            "it looks at one run of each encoding",
            "A row is a mean. Were all the runs behind it made alike?",
            _with_keys(_first_of_each),
        ),
        Mistake(
            "it counts rows as seeds",
            "Three copies of one run: how many seeds are these?",
            _with_seeds(_rows_counted),
            _with_seeds(_rows_counted_seeds_compared),
        ),
        Mistake(
            "seeds may be other ones from row to row",
            "You count seeds. Does each encoding have the *same* ones?",
            _with_seeds(
                lambda runs: (
                    {"seed"} if min(map(len, _sets(runs, "encoding", "read"))) < 3 else set()
                )
            ),
        ),
        Mistake(
            "one seed is enough if it is the same for all",
            "A table where all rows have one seed, the same: what does the rule say of it?",
            _with_seeds(
                lambda runs: set() if _all_alike(_sets(runs, "encoding", "read")) else {"seed"}
            ),
        ),
        Mistake(
            "two seeds are enough if they are the same for all",
            "How many seeds does the rule ask for?",
            _with_seeds(
                lambda runs: (
                    {"seed"}
                    if any(
                        len(seeds) < 2 or seeds != _sets(runs, "encoding", "read")[0]
                        for seeds in _sets(runs, "encoding", "read")
                    )
                    else set()
                )
            ),
        ),
        Mistake(
            "there must be three seeds and no more",
            "The rule asks for three seeds *or more*. May all rows have five?",
            _with_seeds(
                lambda runs: (
                    set()
                    if {3} == set(map(len, _sets(runs, "encoding", "read")))
                    and _all_alike(_sets(runs, "encoding", "read"))
                    else {"seed"}
                )
            ),
        ),
        Mistake(
            "it asks only whether there are three seeds",
            "Seeds 0, 1, 2 in one row and 3, 4, 5 in another: are these the same? And may all have "
            "five?",
            _with_seeds(
                lambda runs: (
                    {"seed"} if {3} != set(map(len, _sets(runs, "encoding", "read"))) else set()
                )
            ),
        ),
        Mistake(
            "unlike seeds get past it",
            "What about the seeds of the rows between?",
            _with_seeds(lambda runs: _too_few(_ends(_sets(runs, "encoding", "read")))),
        ),
        Mistake(
            "it asks for more than three seeds",
            "What does your rule say of exactly three?",
            _with_seeds(
                lambda runs: (
                    {"seed"}
                    if min(map(len, _sets(runs, "encoding", "read"))) <= 3
                    or not _all_alike(_sets(runs, "encoding", "read"))
                    else set()
                )
            ),
        ),
        Mistake(
            "the seeds must be 0, 1 and 2",
            "A seed is a name of a random start. Does it matter which three these are?",
            _with_seeds(
                lambda runs: (
                    {"seed"}
                    if any(s != {0, 1, 2} for s in _sets(runs, "encoding", "read"))
                    else set()
                )
            ),
        ),
        Mistake(
            "the order of the runs counts",
            "Are 0, 1, 2 and 2, 1, 0 the same seeds?",
            _with_seeds(_seeds_in_order),
        ),
        Mistake(
            "a row with one seed gets past it",
            "A mean is one encoding's at one length. Which runs stand behind it?",
            _with_seeds(lambda runs: {"seed"} if len({r["seed"] for r in runs}) < 3 else set()),
        ),
        Mistake(
            "one row may have more seeds than another",
            "Three seeds in common: are these the *same* seeds, if one row has four?",
            _with_seeds(
                lambda runs: (
                    {"seed"}
                    if len(set.intersection(*_sets(runs, "encoding", "read"))) < 3
                    else set()
                )
            ),
        ),
        Mistake(
            "a mean of too few seeds gets past it, if the row has more elsewhere",
            "May a mean at 1,024 have fewer seeds than the one at 64?",
            _with_seeds(lambda runs: _too_few(_sets(runs, "encoding"))),
        ),
        Mistake(
            "a column without a run is passed over",
            "An encoding with no run at 1,024 at all: how many seeds has it there? Does your loop "
            "come by that place?",
            _with_seeds(_pairs_that_occur),
        ),
        Mistake(
            "a copy of a run makes it object",
            "Seeds 0, 1, 2 and once more 2: which different seeds are these?",
            _with_seeds(_copies_count),
        ),
        Mistake(
            "different seeds are taken for the same",
            "You compare one number of each row. Can two other sets of seeds share it?",
            *(_with_seeds(_seeds_by(number)) for number in (max, sum, len)),
        ),
        Mistake(
            "seeds are not looked at",
            "What stands behind a mean?",
            _with_seeds(lambda runs: set()),
        ),
        Mistake(
            "any two seeds make it object",
            "Should all runs of a table have one seed?",
            _with_seeds(lambda runs: {"seed"} if len({run["seed"] for run in runs}) > 1 else set()),
        ),
        Mistake(
            "it never misses the simplest row",
            "What would a table without the row “just cut to 64” hide?",
            lambda runs: sorted(_differing(runs) | _too_few(_sets(runs, "encoding", "read"))),
        ),
        Mistake(
            "another name is taken for that of the simplest row",
            "How exactly is the row called? Which other names would pass?",
            _with_cut(lambda runs: any("cut" in run["encoding"] for run in runs)),
            _with_cut(lambda runs: any(CUT in run["encoding"] for run in runs)),
            _with_cut(lambda runs: any("just cut" in run["encoding"] for run in runs)),
        ),
        Mistake(
            "the simplest row has to be at each length",
            "It is there, but not at each length. Which of the two rules is broken then?",
            _with_cut(
                lambda runs: all(
                    any(run["encoding"] == CUT and run["read"] == n for run in runs)
                    for n in {run["read"] for run in runs}
                )
            ),
        ),
        Mistake(
            "it looks for the simplest row in one run only",
            "Where may the row stand in the list? How many runs do you look at?",
            _with_cut(lambda runs: runs[0]["encoding"] == CUT),
            _with_cut(lambda runs: runs[-1]["encoding"] == CUT),
        ),
        Mistake(
            "it always misses the simplest row",
            "Under which key does a run's name stand? And is the row missing where some run has "
            "another name, or where all have?",
            lambda runs: sorted({*_objections(runs), "cut"}),
        ),
    ],
    hints=(
        "Write down which keys may vary in a fair table: those that name a row or a column, those "
        "that belong to the encoding, and those that are measured. All others must be equal.",
        "For each other key of the first run, compare each run with the first. Then compare the "
        "sets of seeds with one another, and count one.",
        "any(run[key] != runs[0][key] for run in runs) says whether a setting is wrong. After "
        "some, *others = seeds_of(runs).values() all others must be like some.",
    ),
    judge=_judged,
    effect=_flags,
)


# Closer looks


def _standard_error(changes: Tensor) -> Tensor:
    return changes.std() / len(changes) ** 0.5


def _paired(short: Tensor, long: Tensor) -> tuple[Tensor, Tensor]:
    return (long - short).mean(), _standard_error(long - short)


def _unpaired(short: Tensor, long: Tensor) -> tuple[Tensor, Tensor]:
    squares = _standard_error(short) ** 2 + _standard_error(long) ** 2
    return (long - short).mean(), squares.sqrt()


def _with_error(error: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Tensor], Any]:
    """Return an answer with the right mean and this error of the changes."""
    return lambda short, long: ((long - short).mean(), error(long - short))


check_paired = Check(
    "paired",
    _paired,
    cases=[
        (torch.tensor([1.2, 1.5, 1.1]), torch.tensor([1.3, 1.7, 1.2])),
        (torch.tensor([2.0, 1.0, 3.0, 2.5, 1.5]), torch.tensor([2.4, 1.1, 3.6, 2.6, 1.9])),
        (torch.tensor([1.4, 1.0]), torch.tensor([1.3, 0.8])),
    ],
    mistakes=[
        Mistake(
            "the spread is that of the models, not of their changes",
            "Does a model that is bad at both lengths change by more than the others?",
            _unpaired,
        ),
        Mistake(
            "the change has the wrong sign",
            "If a loss grows with the length, is the change above or below zero?",
            lambda short, long: ((short - long).mean(), _standard_error(long - short)),
        ),
        Mistake(
            "this is the spread of single seeds",
            "With a hundred seeds, would you know the mean no better than with two?",
            _with_error(lambda changes: changes.std()),
        ),
        Mistake(
            "it divides by the number of seeds",
            "With four times as many seeds, by what factor does the error of a mean shrink?",
            _with_error(lambda changes: changes.std() / len(changes)),
        ),
        Mistake(
            "the spread is divided by n, not by n − 1",
            "The mean was computed from the same few seeds. Does the spread around it come out "
            "too small? What does `correction` do in torch.std?",
            _with_error(lambda changes: changes.std(correction=0) / len(changes) ** 0.5),
        ),
        Mistake(
            "the error is that of the long reading alone",
            "Of which numbers do you take the spread: the losses at one length, or their changes?",
            lambda short, long: ((long - short).mean(), _standard_error(long)),
        ),
        Mistake(
            "the error is squared",
            "In which unit is a variance, if the losses are in nats?",
            _with_error(lambda changes: _standard_error(changes) ** 2),
        ),
    ],
    hints=(
        "Write the change of each model first. There is one for each seed.",
        "The standard error of a mean is the standard deviation of what was averaged, over √n.",
        "With change = long − short: its mean, and its std() over len(change) ** 0.5.",
    ),
)


def _log_ratio(n: int, trained: int) -> Tensor:
    """Return log-n's factor of each query, (n,), which may be below 1."""
    return (torch.arange(n) + 1.0).log() / math.log(trained)


def _factor(n: int, trained: int) -> Tensor:
    return _log_ratio(n, trained).clamp(min=1)


def _log_n(scores: Tensor, trained: int) -> Tensor:
    return scores * _factor(len(scores), trained)[:, None]


def _one_key_too_few(scores: Tensor, trained: int) -> Tensor:
    ratio = torch.arange(len(scores)).log() / math.log(trained)
    return scores * ratio.clamp(min=1)[:, None]


def _without_logarithms(scores: Tensor, trained: int) -> Tensor:
    ratio = (torch.arange(len(scores)) + 1) / trained
    return scores * ratio.clamp(min=1)[:, None]


check_log_n = Check(
    "log_n_scores",
    _log_n,
    cases=[(randn(9, 9), 3), (randn(12, 12), 4), (randn(5, 5), 8), (torch.ones(1, 1), 2)],
    mistakes=[
        Mistake(
            "early queries are flattened",
            "Query 0 sees one key. What is your factor for it? What should happen to short texts?",
            lambda scores, trained: scores * _log_ratio(len(scores), trained)[:, None],
        ),
        Mistake(
            "a key is missing",
            "Query 0 sees itself. How many keys does query i see?",
            _one_key_too_few,
        ),
        Mistake(
            "the factor belongs to the key",
            "Rows are queries. Along which axis does your factor change?",
            lambda scores, trained: scores * _factor(len(scores), trained),
        ),
        Mistake(
            "all queries have the same factor",
            "In a causal text, does the query in the middle see as many keys as the last one?",
            lambda scores, trained: scores * max(1.0, math.log(len(scores)) / math.log(trained)),
        ),
        Mistake(
            "this spreads attention even thinner",
            "When scores are divided by a number above 1, is their softmax sharper or flatter?",
            lambda scores, trained: scores / _factor(len(scores), trained)[:, None],
        ),
        Mistake(
            "the factor is added",
            "What does the softmax do with a number that all keys of a query share?",
            lambda scores, trained: scores + _factor(len(scores), trained)[:, None],
        ),
        Mistake(
            "this is n / L, without logarithms",
            "The entropy of n equal weights is log n. Which growth is to be undone?",
            _without_logarithms,
        ),
        Mistake(
            "the factor never gets above 1",
            "Which texts are to stay as they were: the short ones or the long ones?",
            lambda scores, trained: scores * _log_ratio(len(scores), trained).clamp(max=1)[:, None],
        ),
    ],
    hints=(
        "How many factors are there: one in all, one for each query, or one for each key?",
        "Make a tensor of how many keys each query sees. Divide its log by log(trained).",
        "factor.clamp(min=1)[:, None] has shape (n, 1) and multiplies row by row.",
    ),
)
