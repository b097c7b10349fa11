"""Checks for lesson 06: ALiBi from memory.

Of its closer look: slopes for any number of heads, attention in blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from course_lab.checks.compare import difference
from course_lab.checks.core import Check, Mistake, randn
from course_lab.checks.rules import Case, InParts, LargestTensor, Without
from course_utils.encodings.functional import alibi_bias, alibi_slopes, offset_matrix

HIDDEN = -100.0  # points of score: nothing at this price or below is seen


def _formula(n_heads: int) -> Tensor:
    """2^(−8h/H) for h = 1 … H, whatever H is."""
    return 2 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)


def _slopes_and_between(n_heads: int) -> tuple[Tensor, Tensor]:
    """Return the slopes for the next lower power of two c, and those of 2c that lie between."""
    lower = 2 ** (n_heads.bit_length() - 1)
    return _formula(lower), _formula(2 * lower)[0::2]


def _any_slopes(n_heads: int) -> Tensor:
    return torch.cat(_slopes_and_between(n_heads))[:n_heads]


def _of_the_next_power(n_heads: int) -> Tensor:
    is_power_of_two = n_heads & (n_heads - 1) == 0
    return _formula(n_heads if is_power_of_two else 2 ** n_heads.bit_length())[:n_heads]


def _extra_first(n_heads: int) -> Tensor:
    slopes, between = _slopes_and_between(n_heads)
    return torch.cat([between[: n_heads - len(slopes)], slopes])


def _extra_from_the_flat_end(n_heads: int) -> Tensor:
    slopes, between = _slopes_and_between(n_heads)
    return torch.cat([slopes, between.flip(0)])[:n_heads]


def _slopes_repeated(n_heads: int) -> Tensor:
    slopes, _ = _slopes_and_between(n_heads)
    return slopes.repeat(2)[:n_heads]


def _extra_from_the_front(n_heads: int) -> Tensor:
    slopes, _ = _slopes_and_between(n_heads)
    return torch.cat([slopes, _formula(2 * len(slopes))])[:n_heads]


check_any_slopes = Check(
    "any_slopes",
    _any_slopes,
    cases=[(12,), (3,), (8,), (20,), (1,), (71,)],
    mistakes=[
        Mistake(
            "this is the formula for every number of heads",
            "Print it for 12 heads beside alibi_slopes(12). Which head is the first to differ?",
            _formula,
        ),
        Mistake(
            "these are the first slopes of the next higher power of two",
            "How flat is your flattest head, for 12? And in a model with 8 heads?",
            _of_the_next_power,
        ),
        Mistake(
            "some slopes occur twice",
            "Every second slope of 2c is a slope of c too. Which ones are not?",
            _slopes_repeated,
            _extra_from_the_front,
        ),
        Mistake(
            "the extra slopes come first",
            "In alibi_slopes(12), are the slopes of an 8-head model the first or the last ones?",
            _extra_first,
        ),
        Mistake(
            "the extra slopes are taken from the flat end",
            "Of the slopes in between, which come first: the steep or the flat ones?",
            _extra_from_the_flat_end,
        ),
        Mistake(
            "these are the right slopes, but sorted",
            "A trained head has adapted to its slope. What if heads change places?",
            lambda n: _any_slopes(n).sort(descending=True).values,
        ),
    ],
    hints=(
        "Start with a power of two that is not larger than n_heads. How many heads are missing?",
        "Compare formula(8) and formula(16) by eye. Which entries of the second are new?",
        "With c = 2 ** (n_heads.bit_length() - 1): formula(c), followed by "
        "formula(2 * c)[0::2][: n_heads − c].",
    ),
    rules=[Without((alibi_slopes,))],
)


def _alibi(n_heads: int, q_pos: Tensor, k_pos: Tensor) -> Tensor:
    return -_formula(n_heads)[:, None, None] * offset_matrix(q_pos, k_pos).abs()


def _with_slopes(slopes: Callable[[int], Tensor]) -> Callable[[int, Tensor, Tensor], Tensor]:
    """Return an answer with other slopes."""

    def answer(n_heads: int, q_pos: Tensor, k_pos: Tensor) -> Tensor:
        return -slopes(n_heads)[:, None, None] * offset_matrix(q_pos, k_pos).abs()

    return answer


def _signed(n_heads: int, q_pos: Tensor, k_pos: Tensor) -> Tensor:
    """Return m · (j − i): right for earlier keys only."""
    return _formula(n_heads)[:, None, None] * offset_matrix(q_pos, k_pos)


def _without_the_query(n_heads: int, q_pos: Tensor, k_pos: Tensor) -> Tensor:
    return _formula(n_heads)[:, None, None] * k_pos.expand(len(q_pos), -1)


def _positions_counted(n_heads: int, q_pos: Tensor, k_pos: Tensor) -> Tensor:
    return _alibi(n_heads, torch.arange(len(q_pos)), torch.arange(len(k_pos)))


def _starts_moved_to_zero(n_heads: int, q_pos: Tensor, k_pos: Tensor) -> Tensor:
    return _alibi(n_heads, q_pos - q_pos.min(), k_pos - k_pos.min())


def _aligned_to_the_end(n_heads: int, q_pos: Tensor, k_pos: Tensor) -> Tensor:
    """Return the price where queries are taken for the last positions, and keys are counted."""
    rows, columns = len(q_pos), len(k_pos)
    return _alibi(n_heads, torch.arange(rows) + columns - rows, torch.arange(columns))


def _from_the_last_query(n_heads: int, q_pos: Tensor, k_pos: Tensor) -> Tensor:
    return _alibi(n_heads, q_pos[-1:], k_pos).expand(-1, len(q_pos), -1)


def _of_distance(
    function: Callable[[Tensor], Tensor],
) -> Callable[[int, Tensor, Tensor], Tensor]:
    """Return an answer that charges for another function of the distance."""

    def answer(n_heads: int, q_pos: Tensor, k_pos: Tensor) -> Tensor:
        return -_formula(n_heads)[:, None, None] * function(offset_matrix(q_pos, k_pos).abs())

    return answer


def _later_keys_cost(hidden: float) -> Callable[[int, Tensor, Tensor], Tensor]:
    """Return an answer with this number in place of the price of later keys."""

    def answer(n_heads: int, q_pos: Tensor, k_pos: Tensor) -> Tensor:
        bias = _alibi(n_heads, q_pos, k_pos)
        return bias.masked_fill(offset_matrix(q_pos, k_pos) > 0, hidden)

    return answer


def _unmasked(answer: object, *_: object) -> object:
    """Return the answer with any price that hides a key as −inf."""
    if not isinstance(answer, Tensor) or not answer.is_floating_point():
        return answer
    return answer.masked_fill(answer <= HIDDEN, -torch.inf)


def _what_alibi_lacks(answer: object, n_heads: int, q_pos: Tensor, k_pos: Tensor) -> str:
    """Say which part of a price is wrong, in the answer's own numbers; "" if none is."""
    right = _alibi(n_heads, q_pos, k_pos)
    if isinstance(answer, (np.ndarray, list)):
        kind = type(answer).__name__
        return f"the answer is of type {kind}. Which function of torch makes a tensor of it?"
    if isinstance(answer, Tensor) and answer.requires_grad:
        return "your prices could be trained (requires_grad). Which numbers does ALiBi learn?"
    text = difference(answer, right)
    if not text or not isinstance(answer, Tensor):
        return text
    if answer.shape != right.shape:
        return f"{text} It is (heads, queries, keys): what does each of your axes count?"
    if not answer.is_floating_point():
        return (
            f"the answer is of whole numbers, {answer.dtype}. What is 2 to the power −2 in those? "
            "Write 2.0 for 2, and / for //."
        )
    if answer.isnan().any():
        return "some prices are nan. Where is 0 times infinity, or a power of a negative number?"
    if torch.allclose(answer.double(), right.double(), rtol=5e-3, atol=1e-6):
        return (
            "each price is right to within half a percent. Which type of fewer digits did your "
            "numbers pass through?"
        )
    if len(k_pos) > 1 and torch.allclose(answer.softmax(-1), right.softmax(-1), atol=1e-6):
        return (
            "the softmax would make the right weights of it, but all keys of a query cost too much "
            "or too little alike. What should a key cost that is 0 steps away?"
        )
    offsets = offset_matrix(q_pos, k_pos)
    distance, price = offsets.abs().double(), -answer.double()
    slopes = price.flatten(1) @ distance.flatten() / distance.square().sum().clamp(min=1)
    if torch.allclose(slopes[:, None, None] * distance, price, rtol=1e-3, atol=1e-6):
        return _which_slopes(slopes, n_heads)
    if (answer <= HIDDEN).any():
        return (
            "some keys cost so much that they are hidden. Whose task is that: the price's or the "
            "mask's?"
        )
    charged = price / _formula(n_heads).double()[:, None, None]  # distances, if slopes are right
    of_slopes = torch.allclose(charged, charged[:1].expand_as(charged), rtol=1e-3, atol=1e-5)
    gaps = (price + right.double()).abs()
    wrong = gaps > min(1e-5, float(gaps.max()) / 2)
    for side, others, elsewhere in (
        (offsets > 0, "later", "earlier"),
        (offsets < 0, "earlier", "later"),
    ):
        if side.any() and (offsets * ~side).any() and not wrong[:, ~side].any():
            return (
                f"{elsewhere} keys cost what they should, {others} ones do not. How far is a key 3 "
                f"{others} than the query?"
            )
    head, query, key = map(int, wrong.nonzero()[0])
    where = f"the query at position {q_pos[query]} and the key at position {k_pos[key]}"
    if n_heads > 1 and of_slopes:
        return (
            f"the slopes are right, the distances are not: for {where} yours is "
            f"{charged[0, query, key]:.4g}. How far apart are the two?"
        )
    bent = _no_straight_line(price, distance)
    if bent:
        return bent
    return (
        f"for {where} head {head + 1} adds {answer[head, query, key]:.4g}. What does a step cost "
        "this head, and how many steps is it?"
    )


def _no_straight_line(price: Tensor, distance: Tensor) -> str:
    """A question about a price that rises from 0 with the distance alone, not evenly; or ""."""
    steps, order = distance.flatten().sort(stable=True)
    by_distance = price.flatten(1)[:, order]
    grown, alike = by_distance.diff(dim=-1), steps.diff() == 0
    free = by_distance[:, steps == 0]
    if (grown[:, alike].abs() > 1e-6).any() or (grown < -1e-6).any() or (free.abs() > 1e-6).any():
        return ""
    if not (steps > 0).any():
        return ""
    first, last = int((steps > 0).nonzero()[0]), len(steps) - 1
    return (
        "each head's price rises with the distance, but in no straight line: head 1 charges "
        f"{by_distance[0, first]:.4g} at distance {steps[first]:.0f} and "
        f"{by_distance[0, last]:.4g} at {steps[last]:.0f}. What does each step cost it?"
    )


def _which_slopes(slopes: Tensor, n_heads: int) -> str:
    """Say what is wrong with slopes, where the distances are right."""
    own = (
        f"the distances are right. Your slopes of {n_heads} head{'s' * (n_heads > 1)} are "
        + ", ".join(f"{slope:.4g}" for slope in slopes[:4])
        + (" …. " if n_heads > 4 else ". ")
    )
    if (slopes < 0).all():
        return (
            own + "Should a key 10 positions away get a higher or a lower score than a neighbour?"
        )
    if n_heads > 1 and torch.allclose(slopes, slopes[:1].expand_as(slopes), rtol=1e-3, atol=0):
        return own + "What counts the heads in the formula, and where is it in yours?"
    if (slopes > 1).any() and (slopes.diff() > 0).all():
        return own + "Is the first of the formula's below 1? Which sign has its exponent?"
    factors = slopes / _formula(n_heads).double()
    if n_heads > 1 and torch.allclose(factors, factors[:1].expand_as(factors), rtol=1e-3):
        return (
            own + f"Each is {factors[0]:.4g} times the formula's. What do you multiply or divide "
            "by, and does the formula do so with its price?"
        )
    return (
        own + f"Put h = 1 and H = {n_heads} into the formula by hand: is that your first? And is "
        "the last one what h = H gives?"
    )


check_alibi = Check(
    "alibi_from_scratch",
    _alibi,
    cases=[
        (4, torch.arange(5), torch.arange(3)),
        (8, torch.tensor([5]), torch.arange(6)),
        (2, torch.arange(3) + 100, torch.arange(5) + 98),
        (4, torch.tensor([7, 2, 0]), torch.tensor([7, 2, 0, 3])),
        (1, torch.tensor([9]), torch.tensor([9])),
        (1, torch.tensor([700]), torch.tensor([0, 300, 690])),
        (2, torch.tensor([700, 3]), torch.tensor([0, 300, 690])),
        (16, torch.arange(3) + 4, torch.arange(9)),
    ],
    mistakes=[
        Mistake(
            "the farther key gets the higher score",
            "Which key gets the highest number in the last row of your first head: the nearest "
            "or the farthest?",
            lambda n_heads, q_pos, k_pos: -_signed(n_heads, q_pos, k_pos),
        ),
        Mistake(
            "the sign is that of a reward",
            "Should a key 10 positions away get a higher or a lower score than a neighbour?",
            lambda n_heads, q_pos, k_pos: -_alibi(n_heads, q_pos, k_pos),
        ),
        Mistake(
            "keys later than the query are rewarded",
            "This is right where a mask hides later keys. What does your row 0 look like?",
            _signed,
        ),
        Mistake(
            "the query is left out",
            "Under a causal mask this gives ALiBi's weights: softmax drops what a row shares. But "
            "what does a key 0 steps away cost here, and a key later than the query?",
            _without_the_query,
        ),
        Mistake(
            "the query is left out, and the farthest key is cheapest",
            "Does your answer know where the query stands? Is every query as far from key 0?",
            lambda n_heads, q_pos, k_pos: -_without_the_query(n_heads, q_pos, k_pos),
        ),
        Mistake(
            "the positions are counted, not read",
            "With a cache there may be a single query, at position 5. Which position do you use?",
            _positions_counted,
        ),
        Mistake(
            "queries and keys are each moved to begin at 0",
            "A query at 5 reads keys at 0 to 5. How far is it from key 0 after your two shifts?",
            _starts_moved_to_zero,
        ),
        Mistake(
            "queries and keys have changed places",
            "The result is (heads, queries, keys). What does your axis 1 count?",
            lambda n_heads, q_pos, k_pos: _alibi(n_heads, q_pos, k_pos).mT,
        ),
        Mistake(
            "heads are counted from 0",
            "What is the formula's slope of the first head: 1, or less?",
            _with_slopes(lambda n: 2 ** (-8 * torch.arange(n) / n)),
        ),
        Mistake(
            "the slopes do not know how many heads there are",
            "With 8 heads the first slope is 1/2. And with 4?",
            _with_slopes(lambda n: 2.0 ** -torch.arange(1, n + 1)),
        ),
        Mistake(
            "the exponent has lost its minus sign",
            "Is the formula's first slope below 1? Which sign has its exponent?",
            _with_slopes(lambda n: 2 ** (8 * torch.arange(1, n + 1) / n)),
        ),
        Mistake(
            "the slopes come in reverse order",
            "Which head is the steepest, by the formula: the first or the last?",
            _with_slopes(lambda n: _formula(n).flip(0)),
        ),
        Mistake(
            "the slopes are powers of e",
            "What is the base of the power in the formula?",
            _with_slopes(lambda n: torch.exp(-8 * torch.arange(1, n + 1) / n)),
        ),
        Mistake(
            "later keys are hidden",
            "Whose task is it to hide later keys: the price's or the mask's?",
            _later_keys_cost(-torch.inf),
        ),
        Mistake(
            "later keys cost nothing",
            "What does a key 3 later than the query cost? And one 3 earlier?",
            _later_keys_cost(0.0),
            lambda n_heads, q_pos, k_pos: _alibi(n_heads, q_pos, k_pos).tril(),
        ),
        Mistake(
            "earlier keys cost nothing",
            "What does a key 3 earlier than the query cost? Which sign has its offset j − i?",
            lambda n_heads, q_pos, k_pos: (
                -_formula(n_heads)[:, None, None] * offset_matrix(q_pos, k_pos).clamp(min=0)
            ),
        ),
        Mistake(
            "queries are taken for the last positions",
            "That is where they stand in many caches. Here q_pos tells it. Which do you read?",
            _aligned_to_the_end,
        ),
        Mistake(
            "all queries are taken for the last one",
            "Is a key as far from the first query as from the last? What differs in your rows?",
            _from_the_last_query,
        ),
        Mistake(
            "these slopes go from 1/2 to 1/256, however many heads there are",
            "These are the ends for 8 heads. What is the formula's first slope of 4 heads?",
            _with_slopes(lambda n: torch.linspace(1 / 2, 1 / 256, n)),
            _with_slopes(lambda n: torch.logspace(-1, -8, n, base=2)),
        ),
        Mistake(
            "the own key is charged for a step",
            "How far is a query from its own key?",
            _of_distance(lambda distance: distance + 1),
        ),
        Mistake(
            "the price is no straight line",
            "By how much does the score fall from 1 step away to 2, and from 2 to 3?",
            _of_distance(torch.log1p),
            _of_distance(torch.sqrt),
            _of_distance(lambda distance: torch.log2(1 + distance)),
        ),
        Mistake(
            "the price is divided by the number of keys",
            "Does a key 3 steps away cost less in a longer text?",
            lambda n_heads, q_pos, k_pos: _alibi(n_heads, q_pos, k_pos) / len(k_pos),
        ),
        Mistake(
            "these are weights, not what is added to the scores",
            "Who applies the softmax: the price, or attention, after adding it?",
            lambda n_heads, q_pos, k_pos: _alibi(n_heads, q_pos, k_pos).softmax(-1),
            lambda n_heads, q_pos, k_pos: (
                _alibi(n_heads, q_pos, k_pos)
                .masked_fill(offset_matrix(q_pos, k_pos) > 0, -torch.inf)
                .softmax(-1)
            ),
        ),
        *(
            Mistake(
                name,
                "The result is (heads, queries, keys). Which axis belongs to your slopes?",
                answer,
            )
            for name, answer in (
                (
                    "the axis of the heads comes last",
                    lambda n_heads, q_pos, k_pos: _alibi(n_heads, q_pos, k_pos).permute(1, 2, 0),
                ),
                (
                    "the axis of the heads is missing",
                    lambda n_heads, q_pos, k_pos: _alibi(n_heads, q_pos, k_pos)[0],
                ),
                (
                    "there is an axis too many",
                    lambda n_heads, q_pos, k_pos: _alibi(n_heads, q_pos, k_pos)[None],
                ),
            )
        ),
        Mistake(
            "a head is missing",
            "What are the first and the last number of your range? How many are there?",
            lambda n_heads, q_pos, k_pos: _alibi(n_heads, q_pos, k_pos)[:-1],
        ),
        Mistake(
            "the shapes do not fit",
            "How many axes have your slopes, and how many your distances? The result is (heads, "
            "queries, keys): which of the three does each of them lack?",
            lambda n_heads, q_pos, k_pos: _formula(n_heads + 1) * torch.ones(n_heads + 2),
            raises="must match the size",
        ),
        Mistake(
            "the exponents are rounded to whole numbers",
            "With 16 heads, are all your slopes different? What does // do to 8 · h / H?",
            _with_slopes(lambda n: 2.0 ** (-8 * torch.arange(1, n + 1) // n)),
            _with_slopes(lambda n: 2.0 ** -(8 * torch.arange(1, n + 1) // n)),
            _with_slopes(lambda n: 2.0 ** -(8 // n * torch.arange(1, n + 1))),
        ),
        Mistake(
            "the price is no straight line",
            "By how much does the score fall from 1 step away to 2, and from 2 to 3?",
            lambda n_heads, q_pos, k_pos: (
                _alibi(n_heads, q_pos, k_pos) * offset_matrix(q_pos, k_pos).abs()
            ),
        ),
        Mistake(
            "this is the factor on the weight, not the price",
            "It is added to the scores, before the softmax. What does the softmax do to it?",
            lambda n_heads, q_pos, k_pos: _alibi(n_heads, q_pos, k_pos).exp(),
        ),
    ],
    hints=(
        "Take a query at position 5 and keys 3, 5 and 7. Which three numbers should come out, for "
        "slope 1/2?",
        "Later keys cost as much as earlier ones. Which function forgets the sign of an offset?",
        "k_pos[None, :] − q_pos[:, None] is (queries, keys), slopes[:, None, None] is (heads, 1, "
        "1), with slopes = 2 ** (−8 · torch.arange(1, H + 1) / H). Mind the minus sign.",
    ),
    rules=[Without((alibi_bias, alibi_slopes))],
    judge=_what_alibi_lacks,
    effect=_unmasked,
)


_LOWEST = -1e30  # finite: −inf less −inf is nan


@dataclass(frozen=True)
class _Blockwise:
    """Attention in blocks: the right answer, or one with the mistakes that its fields name.

    Attributes:
        start: the largest score before the first block.
        subtracts_largest: whether the largest score is taken off before the exponential.
        largest_of_block: whether that is the largest of the block instead of all so far.
        rescales_total: whether the sum of weights so far is rescaled to a new largest score.
        rescales_output: whether the weighted sum of values is.
        counts_from_block: whether positions start at 0 in each block.
        leaves_out_query: whether the price is that of the key's position, not of the distance.
        hides_by_storage: whether later keys are those that are stored later.
    """

    start: float = _LOWEST
    subtracts_largest: bool = True
    largest_of_block: bool = False
    rescales_total: bool = True
    rescales_output: bool = True
    counts_from_block: bool = False
    leaves_out_query: bool = False
    hides_by_storage: bool = False

    def __call__(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        slopes: Tensor,
        q_pos: Tensor,
        k_pos: Tensor,
        causal: bool,
        block: int,
    ) -> Tensor:
        """Return the output, (heads, queries, width)."""
        largest = torch.full((*q.shape[:2], 1), self.start if self.subtracts_largest else 0.0)
        total, out = torch.zeros_like(largest), torch.zeros_like(q)
        for first in range(0, len(k_pos), block):
            keys = slice(first, first + block)
            positions = k_pos[keys]
            if self.counts_from_block:
                positions = torch.arange(len(positions))
            offsets = positions[None, :] - q_pos[:, None]
            price = -positions.expand_as(offsets) if self.leaves_out_query else offsets.abs()
            scores = q @ k[:, keys].mT / q.shape[-1] ** 0.5 - slopes[:, None, None] * price
            if causal:
                later = offsets > 0
                if self.hides_by_storage:
                    stored = torch.arange(first, first + len(positions))
                    later = stored[None, :] > torch.arange(len(q_pos))[:, None]
                scores = scores.masked_fill(later, -torch.inf)
            new = self._new_largest(largest, scores)
            weights, shrink = (scores - new).exp(), (largest - new).exp()
            total = total * (shrink if self.rescales_total else 1.0)
            total = total + weights.sum(-1, keepdim=True)
            out = out * (shrink if self.rescales_output else 1.0) + weights @ v[:, keys]
            largest = new
        return out / total

    def _new_largest(self, largest: Tensor, scores: Tensor) -> Tensor:
        if not self.subtracts_largest:
            return largest
        of_block = scores.amax(-1, keepdim=True)
        return of_block if self.largest_of_block else torch.maximum(largest, of_block)


def _mean_of_blocks(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    slopes: Tensor,
    q_pos: Tensor,
    k_pos: Tensor,
    causal: bool,
    block: int,
) -> Tensor:
    """Return the mean of the outputs of the blocks, each normalised on its own."""
    blocks = zip(k.split(block, 1), v.split(block, 1), k_pos.split(block), strict=True)
    outs = [
        _Blockwise()(q, keys, values, slopes, q_pos, positions, causal, block)
        for keys, values, positions in blocks
    ]
    return torch.stack(outs).mean(0)


def _case(q_pos: Tensor, k_pos: Tensor, causal: bool, block: int, size: float = 1.0) -> Case:
    """Return the arguments for two heads of width 4."""
    q = size * randn(2, len(q_pos), 4, seed=len(q_pos))
    k = size * randn(2, len(k_pos), 4, seed=len(k_pos))
    v = randn(2, len(k_pos), 4, seed=9)
    return q, k, v, alibi_slopes(2), q_pos, k_pos, causal, block


def _with_low_scores(case: Case) -> Case:
    """Return the case with all scores far below 0."""
    q, k, *others = case
    return -12 - q.abs(), 12 + k.abs(), *others


_six = torch.arange(6)
_unordered = torch.tensor([11, 3, 8, 6, 0, 1, 10, 4, 9, 2, 7, 5])
_long_case = _case(torch.arange(96, 160), torch.arange(160), True, 16)

check_blockwise = Check(
    "blockwise",
    _Blockwise(),
    cases=[
        _case(_six, _six, False, 3),
        _case(_six, _six, True, 2),
        _case(torch.tensor([9]), torch.arange(10), True, 4),
        _case(torch.tensor([0, 11, 5]), _unordered, True, 4),
        _case(_unordered, _unordered, False, 5),
        _case(_six + 40, torch.arange(46), True, 8, size=12.0),
        _case(_six, _six, True, 100),
        _with_low_scores(_case(_six, _six, True, 4)),
    ],
    mistakes=[
        Mistake(
            "what was added up before keeps another scale",
            "A later block subtracts another amount. Which factor are the old sums missing then?",
            _Blockwise(rescales_total=False, rescales_output=False),
            _Blockwise(rescales_total=False, rescales_output=False, largest_of_block=True),
            _Blockwise(rescales_output=False),
        ),
        Mistake(
            "a block of which a query sees nothing gives nan",
            "What is the largest of scores that are all −inf, and what is exp(−inf − (−inf))?",
            _Blockwise(start=-torch.inf),
        ),
        Mistake(
            "large scores give inf or nan",
            "exp(100) is too large for float32. By which amount may all scores of a query be "
            "reduced?",
            _Blockwise(subtracts_largest=False),
        ),
        Mistake(
            "the largest score so far starts at 0",
            "What is e^s when all scores of a query are near −300, and what do you divide by then?",
            _Blockwise(start=0.0),
        ),
        Mistake(
            "each block has a softmax of its own",
            "A key's weight is its share among all keys. What do you divide by?",
            _mean_of_blocks,
        ),
        Mistake(
            "positions start anew in each block",
            "How far is the first key of the second block from the query?",
            _Blockwise(counts_from_block=True),
        ),
        Mistake(
            "this is the shortcut that leaves the query out",
            "Softmax drops what a row shares. Do keys on both sides of a query share m · i?",
            _Blockwise(leaves_out_query=True),
        ),
        Mistake(
            "keys are hidden by where they are stored, not by their position",
            "Keys may come in any order. Which numbers say which is later?",
            _Blockwise(hides_by_storage=True),
        ),
    ],
    hints=(
        "The output is one sum over keys, divided by another: Σ e^s v and Σ e^s. Both can be added "
        "up a block at a time.",
        "e^s overflows. Subtract the largest score so far, for each query. When a later block "
        "brings a larger one, multiply both old sums by e^(old largest − new largest).",
        "Start with top = −1e30, not −inf: a query may see nothing of the first block. Per block: "
        "new = torch.maximum(top, scores.amax(-1, keepdim=True)), both sums times "
        "(top − new).exp(), plus (scores − new).exp() and its product with the block's values.",
    ),
    rules=[
        LargestTensor(
            _long_case,
            lambda q, k, *others: 2 * max(q.shape[1] * others[-1] * len(q), k.numel()),
            why="Which keys are needed at a time?",
        ),
        InParts(_long_case, 160, why="Keys come in blocks. What can be added up block by block?"),
    ],
)
