"""Checks for lesson 01: entropy, a test of equivariance, the word before without an encoding."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lab.checks import probes
from course_lab.checks.core import Check, Mistake, randn
from course_lab.checks.rules import Case, Without
from course_utils.measures import entropy

_causal_weights = (
    randn(5, 5, seed=1).masked_fill(torch.ones(5, 5).triu(1).bool(), -torch.inf).softmax(-1)
)

check_entropy = Check(
    "entropy",
    lambda w: -torch.xlogy(w, w).sum(-1),
    cases=[
        (torch.full((3, 4), 0.25),),
        (randn(4, 6).softmax(-1),),
        (randn(2, 3, 5, seed=2).softmax(-1),),
        (_causal_weights,),
        (torch.ones(2, 1),),
    ],
    mistakes=[
        Mistake(
            "the unit is bits, not nats",
            "Which logarithm turns 4 equal weights into 1.386?",
            lambda w: entropy(w) / torch.log(torch.tensor(2.0)),
        ),
        Mistake(
            "the sign is wrong",
            "A weight is below 1. What is the sign of its logarithm?",
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


# Self-attention on 40 rows; functions whose faults are hard to see on 7.
_x = randn(40, 16, seed=3)
_few_rows = randn(7, 4, seed=4)
_few_rows[:, 0] = torch.arange(7.0)
_roll = torch.arange(40).roll(1)
_flip = torch.arange(40).flip(0)
_mixed = torch.randperm(40, generator=torch.Generator().manual_seed(5))
_cycle = torch.arange(7).roll(1)
_swap = torch.tensor([0, 1, 2, 3, 4, 6, 5])


def _judged_by(agree: Callable[[Tensor, Tensor], bool]) -> Callable[..., bool]:
    """Return an answer that compares the right two tensors, in its own way."""
    return lambda f, x, perm: bool(agree(f(x[perm]), f(x)[perm]))


def _close(a: Tensor, b: Tensor) -> bool:
    return torch.allclose(a, b, atol=1e-5)


def _no_larger(sign: int, a: Tensor, b: Tensor) -> bool:
    return bool((sign * (a - b)).max() < 1e-5)


def _saw_another_order(arguments: Case) -> bool:
    """Whether f was given rows in an order that neither perm nor its inverse makes."""
    f, x, perm = arguments
    known_orders = (x, x[perm], x[perm.argsort()])
    return any(not any(torch.equal(rows, known) for known in known_orders) for rows in f.inputs)


def _never_shuffled(arguments: Case) -> bool:
    f, x, _ = arguments
    return bool(f.inputs) and all(torch.equal(rows, x) for rows in f.inputs)


check_is_equivariant = Check(
    "is_equivariant",
    _judged_by(_close),
    cases=[
        (probes.Recorded(f), x, perm)
        for f, x, perm in [
            (probes.attend, _x, _roll),
            (probes.attend, _x, _flip),
            (probes.attend, _x, _mixed),
            (probes.attend_with_positions, _x, _roll),
            (probes.attend_with_positions, _x, _flip),
            (probes.reverse_rows, _few_rows, _cycle),
            (probes.double, _few_rows, _cycle),
            (probes.double, _few_rows, torch.arange(7)),
            (probes.keep, _few_rows, _cycle),
            (probes.roll_rows, _few_rows, _cycle),
            (probes.roll_rows, _few_rows, _swap),
            (probes.double_row_5, _few_rows, _swap),
            (probes.flip_signs, _few_rows, _cycle),
            (probes.mark_last_feature, _few_rows, _cycle),
            (probes.nudge, _few_rows, _swap),
            (probes.add_first, _few_rows, _cycle),
            (probes.add_first, _few_rows, _cycle.flip(0)),
            (probes.add_first, -_few_rows, _cycle),
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
            trace=_saw_another_order,
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
            _judged_by(lambda a, b: torch.allclose(a.sum(0), b.sum(0), atol=1e-3)),
        ),
        Mistake(
            "the output is compared with the input",
            "Two things are compared: shuffle then f, and f then shuffle. Where is the second?",
            lambda f, x, perm: _close(f(x[perm]), x[perm]),
        ),
        *(
            Mistake(
                "only which rows there are is compared, not where they are",
                "A function may reverse its rows, whatever it is given. Would your test notice?",
                _judged_by(same_rows),
            )
            for same_rows in (
                lambda a, b: _close(a.sort(0).values, b.sort(0).values),
                lambda a, b: bool(torch.cdist(a, b).amin(1).max() < 1e-2),
            )
        ),
        Mistake(
            "not every row counts",
            "A function may treat all rows alike but one. Would your test notice that one?",
            _judged_by(lambda a, b: _close(a[0], b[0])),
        ),
        Mistake(
            "a single row that fits is enough",
            "How many rows have to be in their places, one or all?",
            _judged_by(lambda a, b: bool((a - b).abs().amax(1).min() < 1e-5)),
        ),
        Mistake(
            "a single number that fits is enough",
            "How many numbers have to be in their places, one or all?",
            _judged_by(lambda a, b: bool(torch.isclose(a, b, atol=1e-5).any())),
        ),
        Mistake(
            "not every feature counts",
            "A row is a whole vector. Which of its numbers does your test look at?",
            _judged_by(lambda a, b: _close(a[:, 0], b[:, 0])),
        ),
        Mistake(
            "only the directions of the rows are compared",
            "Two vectors may point the same way. What else must agree?",
            _judged_by(lambda a, b: bool(torch.cosine_similarity(a, b).min() > 1 - 1e-5)),
        ),
        Mistake(
            "only the lengths of the rows are compared",
            "Two vectors of the same length may point anywhere. What else must agree?",
            _judged_by(lambda a, b: _close(a.norm(dim=1), b.norm(dim=1))),
        ),
        *(
            Mistake(
                "differences of one sign are overlooked",
                "What is the largest of −5, −3 and −4, and are they close to 0?",
                _judged_by(partial(_no_larger, sign)),
            )
            for sign in (1, -1)
        ),
        *(
            Mistake(
                "differences far above rounding pass",
                "Rounding changes numbers near 1 by about 1e-7. What does your tolerance let pass?",
                _judged_by(partial(torch.allclose, atol=tolerance)),
            )
            for tolerance in (0.1, 1.0)
        ),
        Mistake(
            "the comparison is exact",
            "Sums in another order round differently. How close is close enough in float32?",
            _judged_by(torch.equal),
        ),
        Mistake(
            "the answer is True whatever the function does",
            "What should the answer be for a function that adds to each row its position before it "
            "attends?",
            lambda f, x, perm: True,
        ),
        Mistake(
            "the answer is False whatever the function does",
            "What should the answer be for a function that doubles each row?",
            lambda f, x, perm: False,
        ),
    ],
    hints=(
        "Write down what happens to token 0 on each side of the comparison.",
        "Two orders of work: shuffle then f, or f then shuffle. They should give the same rows.",
        "On one side the rows are shuffled before f sees them, on the other after it. Is either "
        "shuffled twice?",
    ),
)


def _positions(attend: probes.CausalAttend, start: Tensor) -> Tensor:
    """Return the position of each row, (n, 1), as words can find it: 1/(share of the first) − 1."""
    equal = torch.zeros(len(start), 1)
    return 1 / attend(equal, equal, start[:, None]) - 1


def _look(
    attend: probes.CausalAttend,
    x: Tensor,
    start: Tensor,
    *,
    own_factor: float = 1.0,
    back: float = 1.0,
    sharpness: float = 20.0,
    positions: Tensor | None = None,
) -> Tensor:
    """Return for each row the word at own_factor · position − back.

    The score of a word falls with its squared distance from there, times ``sharpness``.
    """
    p = _positions(attend, start) if positions is None else positions
    q = sharpness * torch.cat([2 * (own_factor * p - back), -torch.ones_like(p)], 1)
    return attend(q, torch.cat([p, p**2], 1), x)


def _secret_order(n: int, seed: int) -> Case:
    """Return attend, x and start for n words in a secret order."""
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    return probes.CausalAttend(order), randn(n, 6, seed=seed), (order == 0).float()


def _scores(
    attend: probes.CausalAttend,
    x: Tensor,
    start: Tensor,
    pair: Callable[[Tensor], tuple[Tensor, Tensor]],
) -> Tensor:
    """Return what attend gives for the query and key, a number each, made of the position."""
    return attend(*pair(_positions(attend, start)), x)


def _looked(where: Callable[[Tensor, Tensor, Tensor], bool]) -> Callable[[Case], bool]:
    """Return a trace from (place, place looked at most, weight there) of each word, in order."""

    def trace(arguments: Case) -> bool:
        look = probes.last_look(arguments[0])
        return look is not None and where(torch.arange(len(look[0])), *look)

    return trace


def _uneven(attend: probes.CausalAttend, x: Tensor, start: Tensor) -> Tensor:
    share = attend(x, x, start[:, None])
    return _look(attend, x, start, positions=1 / share.clamp(min=1e-9) - 1)


def _from_storage(count: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """Return an answer whose positions are counted in the order of storage."""
    return lambda attend, x, start: _look(attend, x, start, positions=count(start[:, None]))


check_previous = Check(
    "previous",
    _look,
    cases=[
        _secret_order(2, 3),
        _secret_order(1, 0),
        _secret_order(5, 1),
        _secret_order(16, 2),
        _secret_order(64, 3),
    ],
    mistakes=[
        Mistake(
            "the share of the first word comes from uneven weights",
            "It is 1/(p + 1) only where a word looks at all words so far alike. Which q and k make "
            "it do so?",
            _uneven,
            trace=lambda arguments: probes.counts_unevenly(arguments[0], arguments[2]),
        ),
        *(
            Mistake(
                "each word gets the row that is stored before its own",
                "The rows lie in a secret order. Which function alone knows what came before?",
                answer,
            )
            for answer in (
                lambda attend, x, start: x.roll(1, 0),
                lambda attend, x, start: torch.cat([x[:1], x[:-1]]),
                lambda attend, x, start: attend(x.roll(1, 0), x, x),
                lambda attend, x, start: attend(20 * x.roll(1, 0), x, x),
            )
        ),
        *(
            Mistake(
                "positions are counted in the order of storage",
                "The rows lie in a secret order. Which function alone can tell a word how many "
                "came before it?",
                _from_storage(count),
            )
            for count in (
                lambda start: torch.ones_like(start).cumsum(0) - 1,
                lambda start: start.cumsum(0),
            )
        ),
        *(
            Mistake(
                "the share itself is taken for the place",
                "Shares of the places 0, 1, 2, 3 are 1, 1/2, 1/3, 1/4. How do you get 3 from 1/4?",
                answer,
            )
            for answer in (
                lambda attend, x, start: _scores(
                    attend, x, start, lambda p: (20 / (1 + p), 1 / (1 + p))
                ),
                lambda attend, x, start: _look(
                    attend, x, start, positions=1 / (1 + _positions(attend, start))
                ),
            )
        ),
        Mistake(
            "places are cut off to whole numbers",
            "What does .long() make of 6.9999995?",
            lambda attend, x, start: _look(
                attend, x, start, positions=_positions(attend, start).long().float()
            ),
        ),
        Mistake(
            "the first word gets zeros",
            "What should the first word get, as none comes before it?",
            lambda attend, x, start: _look(attend, x, start) * (1 - start[:, None]),
        ),
        Mistake(
            "each word gets itself",
            "Your scores are largest at the query's own position. Where should their peak be?",
            lambda attend, x, start: _look(attend, x, start, back=0.0),
            trace=_looked(lambda place, peak, _: torch.equal(peak, place)),
        ),
        Mistake(
            "each word gets the average of all words so far",
            "Equal scores give an average. Which scores make attention pick a single word?",
            lambda attend, x, start: _look(attend, x, start, sharpness=0.0),
        ),
        Mistake(
            "the scores rise all the way to the word itself",
            "A product of two positions is a line over the keys. Which curve has its peak before "
            "the end?",
            lambda attend, x, start: _scores(attend, x, start, lambda p: (20 * (p - 1), p)),
            trace=_looked(
                lambda place, peak, weight: (
                    torch.equal(peak[2:], place[2:])
                    and len(place) > 1
                    and abs(float(weight[1]) - 0.5) < 1e-3
                )
            ),
        ),
        Mistake(
            "the scores are lowest where they should be highest",
            "Does your parabola open upwards or downwards?",
            lambda attend, x, start: _look(attend, x, start, sharpness=-20.0),
            trace=_looked(
                lambda place, peak, _: bool((peak[:2] == place[:2]).all() and (peak[3:] == 0).all())
            ),
        ),
        Mistake(
            "it looks half-way back",
            "Multiply out −(j − (i − 1))². What stands before j?",
            lambda attend, x, start: _look(attend, x, start, own_factor=0.5, back=0.5),
            trace=_looked(
                lambda place, peak, _: bool(((2 * peak - place + 1)[1:].abs() <= 1).all())
            ),
        ),
        Mistake(
            "each word gets the first word",
            "Your scores fall from the first key on. Do they know where the query stands?",
            lambda attend, x, start: _look(attend, x, start, own_factor=0.0, back=0.0),
        ),
        Mistake(
            "it looks two words back",
            "What share has the first word at position 0, and which position do you make of that?",
            lambda attend, x, start: _look(attend, x, start, back=2.0),
        ),
        Mistake(
            "the word before is mixed with its neighbours",
            "Its score is only a few points higher than theirs. How much higher is enough?",
            lambda attend, x, start: _look(attend, x, start, sharpness=1.0),
            trace=_looked(
                lambda place, peak, weight: (
                    torch.equal(peak, (place - 1).clamp(min=0)) and bool(weight.min() < 0.9999)
                )
            ),
        ),
    ],
    hints=(
        "First let each word find its position. What does an average over all words so far tell, "
        "if only the first word contributes a 1?",
        "Then which function of a key's position j is largest at j = i − 1? A dot product can make "
        "a parabola: multiply out −(j − (i − 1))². One of its terms does not matter to softmax.",
        "Call attend with zeros for q and k and with start[:, None]: that is 1/(i + 1). For the "
        "second call give the key two columns, j and j². Which two numbers of the query make a "
        "parabola with its peak at i − 1? Then make all scores so large that one word gets all.",
    ),
    tolerance=1e-3,
    rules=[probes.ComesFromAttend()],
)
