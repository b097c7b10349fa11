"""Checks for lesson 01: entropy, the test of equivariance, the word before without an encoding."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lab.checks import probes
from course_lab.checks.core import Check, Mistake, numbers
from course_lab.checks.rules import Case, Without
from course_utils.measures import entropy

_causal = numbers(5, 5, seed=1).masked_fill(torch.ones(5, 5).triu(1).bool(), -torch.inf).softmax(-1)

check_entropy = Check(
    "entropy",
    lambda w: -torch.xlogy(w, w).sum(-1),
    cases=[
        (torch.full((3, 4), 0.25),),
        (numbers(4, 6).softmax(-1),),
        (numbers(2, 3, 5, seed=2).softmax(-1),),
        (_causal,),
        (torch.ones(2, 1),),
    ],
    mistakes=[
        Mistake(
            "the unit is bits, not nats",
            "Which logarithm turns 4 equal weights into 1.386?",
            lambda w: entropy(w) / torch.log(torch.tensor(2.0)),
        ),
        Mistake(
            "the sign is the wrong way round",
            "A weight is below 1, so what sign has its logarithm?",
            lambda w: -entropy(w),
        ),
        Mistake(
            "a weight of 0 gives nan",
            "What does w · log w tend to as w goes to 0, and what does the computer make of it?",
            lambda w: -(w * w.log()).sum(-1),
        ),
        Mistake(
            "the sum runs over the queries",
            "Which axis of the weights sums to 1?",
            lambda w: torch.special.entr(w).sum(-2),
        ),
        Mistake(
            "there is one number for the whole matrix",
            "Each query has an entropy of its own. What shape should come back?",
            lambda w: entropy(w).mean(),
        ),
        Mistake(
            "this is a mean over the keys, not a sum",
            "Should a key that gets no weight change the entropy of a query?",
            lambda w: torch.special.entr(w).mean(-1),
        ),
    ],
    hints=(
        "One number comes back for each query: the last axis disappears.",
        "Entropy is −Σ w·log w over the keys, with the natural logarithm.",
        "Where w is 0 the term must be 0. torch.special.entr and torch.xlogy know that.",
    ),
    rules=[Without((entropy,))],
)


_x, _few = numbers(40, 16, seed=3), numbers(7, 4, seed=4)
_few[:, 0] = torch.arange(7.0)
_cycle, _swap = torch.arange(7).roll(1), torch.tensor([0, 1, 2, 3, 4, 6, 5])
_mixed = torch.randperm(40, generator=torch.Generator().manual_seed(5))


def _judged(by: Callable[..., bool]) -> Callable[..., bool]:
    """An answer that compares the right two things, in its own way."""
    return lambda f, x, perm: bool(by(f(x[perm]), f(x)[perm]))


def _close(one: Tensor, other: Tensor) -> bool:
    return torch.allclose(one, other, atol=1e-5)


def _own_order(given: Case) -> bool:
    """Whether f was given rows in an order that neither perm nor its inverse makes."""
    f, x, perm = given
    known = (x, x[perm], x[perm.argsort()])
    return any(not any(torch.equal(one, other) for other in known) for one in f.seen)


def _never_shuffled(given: Case) -> bool:
    f, x, perm = given
    return bool(f.seen) and all(torch.equal(one, x) for one in f.seen)


check_is_equivariant = Check(
    "is_equivariant",
    _judged(_close),
    cases=[
        (probes.Noted(f), x, perm)
        for f, x, perm in [
            (probes.attend, _x, torch.arange(40).roll(1)),
            (probes.attend, _x, torch.arange(40).flip(0)),
            (probes.attend, _x, _mixed),
            (probes.attend_with_positions, _x, torch.arange(40).roll(1)),
            (probes.attend_with_positions, _x, torch.arange(40).flip(0)),
            (probes.reverse_rows, _few, _cycle),
            (probes.double, _few, _cycle),
            (probes.double, _few, torch.arange(7)),
            (probes.roll_rows, _few, _cycle),
            (probes.roll_rows, _few, _swap),
            (probes.double_row_5, _few, _swap),
            (probes.flip_signs, _few, _cycle),
            (probes.mark_last_feature, _few, _cycle),
            (probes.nudge, _few, _swap),
            (probes.add_first, _few, _cycle),
            (probes.add_first, _few, _cycle.flip(0)),
            (probes.add_first, -_few, _cycle),
        ]
    ],
    mistakes=[
        Mistake(
            "one side is shuffled by perm, the other by its inverse or once more",
            "Follow row 0 of x through both sides. For which shuffles is the inverse the shuffle "
            "itself?",
            lambda f, x, perm: _close(f(x), f(x[perm])[perm]),
        ),
        Mistake(
            "f is given rows in an order that perm does not make",
            "The question is about this perm. Where does your function use it?",
            lambda f, x, perm: _close(f(x.flip(0)), f(x).flip(0)),
            trace=_own_order,
        ),
        Mistake(
            "f never sees the shuffled rows",
            "Two things are compared: shuffle then f, and f then shuffle. Where is the first?",
            lambda f, x, perm: _close(f(x), f(x)[perm]),
            trace=_never_shuffled,
        ),
        Mistake(
            "this asks for invariance",
            "Should the output of a shuffled sentence be the same, or the same rows elsewhere?",
            lambda f, x, perm: _close(f(x), f(x[perm])),
        ),
        Mistake(
            "only the sum over the tokens is compared",
            "Which functions keep the sum but put the rows in the wrong places?",
            _judged(lambda one, other: torch.allclose(one.sum(0), other.sum(0), atol=1e-3)),
        ),
        Mistake(
            "not every row counts",
            "A function may treat all rows alike but one. Would your test notice that one?",
            _judged(lambda one, other: _close(one[0], other[0])),
        ),
        Mistake(
            "a single row that fits is enough",
            "How many rows have to be in their places, one or all?",
            _judged(lambda one, other: bool((one - other).abs().amax(1).min() < 1e-5)),
        ),
        Mistake(
            "not every feature counts",
            "A row is a whole vector. Which of its numbers does your test look at?",
            _judged(lambda one, other: _close(one[:, 0], other[:, 0])),
        ),
        Mistake(
            "only the lengths of the rows are compared",
            "Two vectors of one length may point anywhere. What else must agree?",
            _judged(lambda one, other: _close(one.norm(dim=1), other.norm(dim=1))),
        ),
        *(
            Mistake(
                "differences of one sign are overlooked",
                "What is the largest of −5, −3 and −4, and are they close to 0?",
                _judged(lambda one, other, sign=sign: bool((sign * (one - other)).max() < 1e-5)),
            )
            for sign in (1, -1)
        ),
        *(
            Mistake(
                "differences far above rounding pass",
                "Rounding changes numbers near 1 by about 1e-7. What does your tolerance let pass?",
                _judged(partial(torch.allclose, atol=tolerance)),
            )
            for tolerance in (0.1, 1.0)
        ),
        Mistake(
            "the comparison is exact",
            "Sums in another order round differently. How close is close enough in float32?",
            _judged(torch.equal),
        ),
        Mistake(
            "the answer is True whatever the function does",
            "What should a function get that adds to each row its place before it attends?",
            lambda f, x, perm: True,
        ),
        Mistake(
            "the answer is False whatever the function does",
            "What should a function get that doubles each row?",
            lambda f, x, perm: False,
        ),
    ],
    hints=(
        "Write down what happens to token 0 on each side of the comparison.",
        "Two orders of work: shuffle then f, or f then shuffle. They should give the same rows.",
        "Each side of the comparison is indexed by perm exactly once.",
    ),
)


def _place(attend: probes.CausalAttend, start: Tensor) -> Tensor:
    """The place of each row, (n, 1), as a word can find it: 1/(share of the first word) − 1."""
    nothing = torch.zeros(len(start), 1)
    return 1 / attend(nothing, nothing, start[:, None]) - 1


def _look(
    attend: probes.CausalAttend, x: Tensor, start: Tensor, *,
    own: float = 1.0, back: float = 1.0, sharp: float = 20.0, place: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Each row's word at own · place − back, with scores −sharp · (distance from there)²."""
    place = _place(attend, start) if place is None else place
    q = sharp * torch.cat([2 * (own * place - back), -torch.ones_like(place)], 1)
    return attend(q, torch.cat([place, place**2], 1), x)


def _told(n: int, seed: int) -> Case:
    """attend, x and start of n words in a secret order."""
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    return probes.CausalAttend(order), numbers(n, 6, seed=seed), (order == 0).float()


check_previous = Check(
    "previous",
    _look,
    cases=[_told(2, 3), _told(1, 0), _told(5, 1), _told(16, 2), _told(64, 3)],
    mistakes=[
        Mistake(
            "each word gets the row that is stored before its own",
            "The rows lie in a secret order. Who alone knows which word came before?",
            lambda attend, x, start: x.roll(1, 0),
        ),
        *(
            Mistake(
                "places are counted in the order of storage",
                "The rows lie in a secret order. Who alone can tell a word how many came before?",
                lambda attend, x, start, at=at: _look(attend, x, start, place=at(start[:, None])),
            )
            for at in (
                lambda start: torch.ones_like(start).cumsum(0) - 1,
                lambda start: start.cumsum(0),
            )
        ),
        Mistake(
            "each word gets itself",
            "Your scores are largest at the query's own place. Where should their peak be?",
            lambda attend, x, start: _look(attend, x, start, back=0.0),
        ),
        Mistake(
            "each word gets the average of all words so far",
            "With equal scores attention counts. Which scores make it pick one?",
            lambda attend, x, start: _look(attend, x, start, sharp=0.0),
        ),
        Mistake(
            "each word gets the first word",
            "Your scores fall from the first key on. Do they know where the query stands?",
            lambda attend, x, start: _look(attend, x, start, own=0.0, back=0.0),
        ),
        Mistake(
            "it looks two words back",
            "What does the share of the first word say at place 0, and which place is that to you?",
            lambda attend, x, start: _look(attend, x, start, back=2.0),
        ),
        Mistake(
            "the word before is mixed with its neighbours",
            "Its score is ahead of theirs by a few points only. How far ahead is enough?",
            lambda attend, x, start: _look(attend, x, start, sharp=1.0),
        ),
    ],
    hints=(
        "First let each word find its place. Of what does an average over all words so far tell, "
        "if only the first word brings a 1?",
        "Then which function of a key's place j is largest at j = i − 1? A dot product can make a "
        "parabola: multiply out −(j − (i − 1))². One of its terms is no matter to softmax.",
        "Call attend with zeros for q and k and with start[:, None]: that is 1/(i + 1). Then with "
        "q = 20 · (2(i − 1), −1) and k = (j, j²), column by column.",
    ),
    tolerance=1e-3,
    rules=[probes.OutOfAttend()],
)
