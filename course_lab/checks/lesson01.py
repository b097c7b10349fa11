"""Checks for lesson 01: entropy, a test of equivariance, the word before without an encoding."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import one_hot

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
_swap = probes.exchanged(7, 5, 6)
_many_rows = randn(200, 4, seed=6)
_crowd = randn(400, 4, seed=7)


def _judged_by(agree: Callable[[Tensor, Tensor], bool]) -> Callable[..., bool]:
    """Return an answer that compares the right two tensors, in its own way."""
    return lambda f, x, perm: bool(agree(f(x[perm]), f(x)[perm]))


def _close(a: Tensor, b: Tensor) -> bool:
    return torch.allclose(a, b, atol=1e-5)


def _judged_on(part: Callable[[Tensor], Tensor]) -> Callable[..., bool]:
    """Return an answer that compares only this of the right two tensors."""
    return _judged_by(lambda a, b: _close(part(a), part(b)))


def _mostly_close(share: float, a: Tensor, b: Tensor) -> bool:
    return torch.isclose(a, b, atol=1e-5).float().mean().item() > share


def _small(of_all: Callable[[Tensor], Tensor], a: Tensor, b: Tensor) -> bool:
    return bool(of_all(a - b) < 1e-3)


def _same_directions(of_all: Callable[[Tensor], Tensor], gap: float, a: Tensor, b: Tensor) -> bool:
    return bool(of_all(torch.cosine_similarity(a, b)) > 1 - gap)


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
            (probes.nudge, _crowd, probes.exchanged(400, 1, 2)),
            (probes.add_first, _few_rows, _cycle),
            (probes.add_first, _few_rows, _cycle.flip(0)),
            (probes.add_first, -_few_rows, _cycle),
            (probes.double_row_3, _few_rows, probes.exchanged(7, 1, 3)),
            (probes.double_row_2, _few_rows, probes.exchanged(7, 2, 4)),
            (probes.add_row_1_to(0), _few_rows, probes.exchanged(7, 1, 2)),
            (probes.add_row_1_to(1), _few_rows, probes.exchanged(7, 1, 2)),
            (probes.add_row_1_to(0.5), _many_rows, probes.exchanged(200, 1, 2)),
            (probes.mark_first_feature, _few_rows, _cycle),
            (probes.roll_features, _few_rows, _cycle),
            (probes.flip_by_ends, _few_rows, _cycle),
            (probes.sort_rows, _few_rows, _cycle),
            (probes.count_rows, _few_rows, _cycle),
            (probes.leave_rounding, _few_rows, torch.arange(7).flip(0)),
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
            "both sides are shuffled twice",
            "The question is about perm. Which shuffle do you test, if perm is a reversal?",
            lambda f, x, perm: _close(f(x[perm][perm]), f(x)[perm][perm]),
        ),
        Mistake(
            "either of two comparisons is enough",
            "One of your two is the right one. Which functions pass the other and should not?",
            lambda f, x, perm: _close(f(x), f(x[perm])[perm]) or _close(f(x[perm]), f(x)[perm]),
        ),
        Mistake(
            "either of two comparisons is enough",
            "A function may give the same rows for every order. Is it equivariant?",
            lambda f, x, perm: _close(f(x), f(x[perm])) or _close(f(x[perm]), f(x)[perm]),
        ),
        Mistake(
            "f is applied twice",
            "A function may undo itself, or change nothing the second time. How often should "
            "it see the rows?",
            lambda f, x, perm: _close(f(f(x[perm])), f(f(x))[perm]),
            lambda f, x, perm: _close(f(f(x[perm])), f(f(x)[perm])),
            lambda f, x, perm: _close(f(x[perm]), f(f(x)[perm])),
        ),
        Mistake(
            "True and False are exchanged",
            "What should the answer be for a function that doubles each row?",
            lambda f, x, perm: not _close(f(x[perm]), f(x)[perm]),
        ),
        Mistake(
            "the features are shuffled, not the words",
            "x has a row for each word and a column for each feature. Which of them does perm "
            "move?",
            lambda f, x, perm: _close(f(x[:, perm]), f(x)[:, perm]),
            raises="is out of bounds for dimension|out of DATA bounds",
        ),
        Mistake(
            "the comparison comes back, not a verdict",
            "Yours are many answers, or a number. The question is a yes or no to all of it: "
            "when is it yes?",
            lambda f, x, perm: f(x[perm]) - f(x)[perm],
            lambda f, x, perm: f(x)[perm] - f(x[perm]),
            lambda f, x, perm: (f(x[perm]) - f(x)[perm]).abs(),
            lambda f, x, perm: (f(x[perm]) - f(x)[perm]).abs().max(),
            lambda f, x, perm: (f(x[perm]) - f(x)[perm]).abs().sum(),
            lambda f, x, perm: (f(x[perm]) - f(x)[perm]).norm(),
            lambda f, x, perm: torch.isclose(f(x[perm]), f(x)[perm], atol=1e-5),
            lambda f, x, perm: torch.isclose(f(x[perm]), f(x)[perm], atol=1e-5).all(1),
            lambda f, x, perm: f(x[perm]) == f(x)[perm],
            lambda f, x, perm: [
                _close(row, other) for row, other in zip(f(x[perm]), f(x)[perm], strict=True)
            ],
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
            "one side is shuffled by perm, the other by its inverse or once more",
            "Follow row 0 of x through both sides. How often is it moved on each?",
            lambda f, x, perm: _close(f(x[perm]), f(x)[perm][perm]),
            lambda f, x, perm: _close(f(x[perm][perm]), f(x)[perm]),
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
        Mistake(
            "only which rows there are is compared, not where they are",
            "A function may reverse its rows, whatever it is given. Would your test notice?",
            _judged_by(lambda a, b: _close(a.sort(0).values, b.sort(0).values)),
            _judged_by(lambda a, b: bool(torch.cdist(a, b).amin(1).max() < 1e-2)),
            _judged_by(lambda a, b: torch.allclose(a.T @ a, b.T @ b, atol=1e-3)),
        ),
        Mistake(
            "not every row counts",
            "A function may treat all rows alike but one. Would your test notice that one?",
            _judged_by(lambda a, b: _close(a[0], b[0])),
        ),
        Mistake(
            "not every row counts",
            "A function may be wrong in a row that your test leaves out. Which rows are left out?",
            _judged_on(lambda rows: rows[-1]),
            _judged_on(lambda rows: rows[[0, -1]]),
            _judged_on(lambda rows: rows[::2]),
            _judged_on(lambda rows: rows[1::2]),
            _judged_on(lambda rows: rows[1:]),
            _judged_on(lambda rows: rows[:-1]),
            _judged_on(lambda rows: rows[1:-1]),
            _judged_on(lambda rows: rows[: len(rows) // 2]),
            _judged_on(lambda rows: rows[len(rows) // 2 :]),
            _judged_on(lambda rows: rows[len(rows) // 2]),
            _judged_on(lambda rows: rows[1]),
        ),
        Mistake(
            "only the diagonal is compared",
            "The diagonal has one number of each row. What of the others?",
            _judged_by(lambda a, b: _close(a.diag(), b.diag())),
        ),
        Mistake(
            "most of it is enough",
            "Of 200 rows one may be wrong in one number. Is such a function equivariant?",
            *(_judged_by(partial(_mostly_close, most)) for most in (0.5, 0.8, 0.9, 0.99)),
        ),
        Mistake(
            "of each row only one number is compared, such as its sum or its largest",
            "A function may shuffle the numbers within a row. Would your test notice?",
            _judged_on(lambda rows: rows.sum(1)),
            _judged_on(lambda rows: rows.mean(1)),
            _judged_on(lambda rows: rows.amax(1)),
            _judged_on(lambda rows: rows.amin(1)),
            _judged_on(lambda rows: rows.argmax(1)),
            _judged_on(lambda rows: rows.sort(1).values),
        ),
        Mistake(
            "only how the rows lie to one another is compared",
            "Change the signs of all numbers of an output. Would your test notice?",
            _judged_on(lambda rows: rows @ rows.T),
            _judged_on(lambda rows: (rows[:, None] - rows).norm(dim=2)),
        ),
        Mistake(
            "one number of the whole output is compared",
            "Rows in other places have the same length together, and the same largest number. "
            "What else must agree?",
            *(_judged_on(number) for number in (torch.norm, torch.max, torch.min)),
        ),
        Mistake(
            "differences cancel",
            "What is the mean of −5 and 5, and are they close to 0?",
            *(_judged_by(partial(_small, of_all)) for of_all in (torch.mean, torch.sum)),
        ),
        Mistake(
            "differences are averaged",
            "Two rows of 400 may be wrong, and only a little. What does your mean make of it?",
            _judged_by(lambda a, b: bool((a - b).abs().mean() < 1e-5)),
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
            "not every feature counts",
            "A row is a whole vector. Which of its numbers does your test leave out?",
            _judged_by(lambda a, b: _close(a[:, -1], b[:, -1])),
        ),
        Mistake(
            "only the directions of the rows are compared",
            "Two vectors may point the same way. What else must agree?",
            *(
                _judged_by(partial(_same_directions, of_all, gap))
                for of_all in (torch.min, torch.mean)
                for gap in (1e-5, 1e-4, 1e-3)
            ),
        ),
        Mistake(
            "only the lengths of the rows are compared",
            "Two vectors of the same length may point anywhere. What else must agree?",
            _judged_by(lambda a, b: _close(a.norm(dim=1), b.norm(dim=1))),
        ),
        Mistake(
            "the signs of the numbers do not count",
            "A function may change signs. Would your test notice?",
            _judged_by(lambda a, b: _close(a.abs(), b.abs())),
        ),
        Mistake(
            "differences of one sign are overlooked",
            "What is the largest of −5, −3 and −4, and are they close to 0?",
            *(_judged_by(partial(_no_larger, sign)) for sign in (1, -1)),
        ),
        Mistake(
            "differences far above rounding pass",
            "Rounding changes numbers near 1 by about 1e-7. What does your tolerance let pass?",
            *(_judged_by(partial(torch.allclose, atol=tolerance)) for tolerance in (0.1, 1.0)),
        ),
        Mistake(
            "the comparison is exact",
            "Sums in another order round differently. How close is close enough in float32?",
            _judged_by(torch.equal),
        ),
        Mistake(
            "the tolerance is only relative",
            "Where rows are nearly 0, their rounding is not. What does a share of nearly 0 allow?",
            _judged_by(torch.allclose),
        ),
        Mistake(
            "the answer is True in all cases",
            "What should the answer be for a function that adds to each row its position before it "
            "attends?",
            lambda f, x, perm: True,
        ),
        Mistake(
            "the answer is False in all cases",
            "What should the answer be for a function that doubles each row? Follow its row 0 "
            "through both sides.",
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


def _paired(
    attend: probes.CausalAttend,
    x: Tensor,
    start: Tensor,
    columns: Callable[[Tensor], tuple[Tensor, Tensor, Tensor, Tensor]],
) -> Tensor:
    """Return what attend gives for queries and keys of two columns each, made of the position."""
    q1, q2, k1, k2 = columns(_positions(attend, start))
    return attend(20 * torch.cat([q1, q2], 1), torch.cat([k1, k2], 1), x)


def _of_all(attend: probes.CausalAttend, x: Tensor, start: Tensor) -> Tensor:
    """Return the average of all words so far."""
    equal = torch.zeros(len(x), 1)
    return attend(equal, equal, x)


def _looked(where: Callable[[Tensor, Tensor, Tensor], bool]) -> Callable[[Case], bool]:
    """Return a trace from (place, place looked at most, weight there) of each word, in order."""

    def trace(arguments: Case) -> bool:
        look = probes.last_look(arguments[0])
        return look is not None and where(torch.arange(len(look[0])), *look)

    return trace


def _scored_highest(where: Callable[[Tensor], Tensor]) -> Callable[[Case], bool]:
    """Return a trace from the key of each word's highest score, of hidden keys too, in order."""

    def trace(arguments: Case) -> bool:
        last = probes.last_call(arguments[0])
        if last is None:
            return False
        places = torch.arange(len(last.scores))
        return torch.equal(last.scores.argmax(1), where(places))

    return trace


def _rising(arguments: Case) -> bool:
    """Whether the scores of words from the third on rise with the key's place, to the last key."""
    last = probes.last_call(arguments[0])
    if last is None or len(last.scores) < 2:
        return False
    if len(last.scores) > 2 and last.q.shape[1] > 1 and _line_over_keys(arguments):
        return False  # a line of two columns has a question of its own
    return bool((last.scores[2:].diff(dim=1) > 0).all())


def _spaced(uneven_as: Callable[[Tensor], bool]) -> Callable[[Case], bool]:
    """Return a trace from the steps between neighbouring places on the scale of the keys.

    The scale must rise or fall all the way.
    """

    def trace(arguments: Case) -> bool:
        attend, x, _ = arguments
        scale = probes.scale_of_places(attend)
        if scale is None:
            return len(x) < 3 and probes.last_call(attend) is not None
        steps = scale.diff()
        monotone = bool((steps > 0).all() or (steps < 0).all())
        return monotone and bool(steps.isfinite().all()) and uneven_as(steps / steps[0])

    return trace


def _like_shares(steps: Tensor) -> bool:
    places = torch.arange(1.0, len(steps) + 2, dtype=torch.float64)
    of_shares = (1 / places).diff()
    return torch.allclose(steps, of_shares / of_shares[0], rtol=1e-2, atol=1e-4)


def _wrong_step(arguments: Case) -> bool:
    """Whether scores are parabolas with their peaks n or 64 words before the query, or one nth."""
    attend, x, _ = arguments
    last, n = probes.last_call(attend), len(x)
    if last is None or n < 3:
        return last is not None
    first, second = last.scores.diff(dim=1), last.scores.diff(n=2, dim=1)
    if not bool((second < 0).all()) or not torch.allclose(second, second[:1, :1], rtol=1e-2):
        return False
    back = torch.arange(n) - (0.5 - first[:, 0] / second[0, 0])
    likely = (n, n - 1, 64, 63, 1 / n, 1 / (n - 1))
    return any(bool((back - distance).abs().max() < 0.02 * max(1, distance)) for distance in likely)


def _columns_exchanged(arguments: Case) -> bool:
    """Whether a query's constant meets the key's place, and its other number meets the square."""
    last = probes.last_call(arguments[0])
    if last is None or last.q.shape[1] != 2:
        return False
    if len(last.q) < 3:
        return True
    orders = ((0, 1), (1, 0))  # columns of the place and of its square
    return any(
        torch.allclose(last.k[:, square], last.k[:, place] ** 2, rtol=1e-3)
        and bool(last.q[:, place].std() < 1e-3 < last.q[:, square].std())
        for place, square in orders
    )


def _line_over_keys(arguments: Case) -> bool:
    """Whether scores are lines over the keys, and words from the third on look at themselves."""
    attend, _, _ = arguments
    last, look = probes.last_call(attend), probes.last_look(attend)
    if last is None or look is None:
        return False
    places = torch.arange(len(last.scores))
    steps = last.scores.diff(dim=1)
    lines = len(places) < 3 or torch.allclose(steps, steps[:, :1], rtol=1e-3, atol=1e-3)
    return lines and torch.equal(look[0][2:], places[2:])


def _words_ask(arguments: Case) -> bool:
    """Whether the last call's queries and keys are multiples of the words' own vectors."""
    attend, x, _ = arguments
    last = probes.last_call(attend)
    return last is not None and all(
        rows.shape == x.shape
        and bool(rows.any())
        and torch.allclose(rows * (x[0, 0] / rows[0, 0]), x, rtol=1e-3)
        for rows in (last.q, last.k)
    )


def _one_column(arguments: Case) -> bool:
    """Whether rows of x are summed by scores that are a product of two numbers."""
    attend, x, _ = arguments
    last = probes.last_call(attend)
    return last is not None and last.q.shape[1] == 1 and probes.columns_of(last.v, x) is not None


def _not_finite(arguments: Case) -> bool:
    last = probes.last_call(arguments[0])
    return last is not None and bool(last.weights.isnan().any())


def _other_values(arguments: Case) -> bool:
    """Whether no call summed rows of x, while the last one summed as many columns."""
    attend, x, _ = arguments
    last = probes.last_call(attend)
    called_with_x = any(probes.columns_of(v, x) is not None for _, _, v, _, _ in attend._calls)
    return last is not None and not called_with_x and last.v.shape[1] >= x.shape[1]


def _of_all_earlier(attend: probes.CausalAttend, x: Tensor, start: Tensor) -> tuple[Tensor, Tensor]:
    """Return the sum of all words before each, (n, d), and how many there are, (n, 1)."""
    p, equal = _positions(attend, start), torch.zeros(len(x), 1)
    return (p + 1) * attend(equal, equal, x) - x, p


def _by_one_hot(
    attend: probes.CausalAttend, x: Tensor, start: Tensor, *, n_classes: int = 64, lowest: int = 0
) -> Tensor:
    """Look for the word before by a column for each place, which is cut off."""
    place = _positions(attend, start)[:, 0].long()
    wanted = one_hot((place - 1).clamp(min=lowest), n_classes).float()
    return attend(100 * wanted, one_hot(place, n_classes).float(), x)


def _uneven(attend: probes.CausalAttend, x: Tensor, start: Tensor) -> Tensor:
    share = attend(x, x, start[:, None])
    return _look(attend, x, start, positions=1 / share.clamp(min=1e-9) - 1)


def _placed_by(place: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """Return an answer that makes these numbers of the positions, and goes on with them."""
    return lambda attend, x, start: _look(
        attend, x, start, positions=place(_positions(attend, start))
    )


def _from_storage(count: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """Return an answer whose positions are counted in the order of storage."""
    return lambda attend, x, start: _look(attend, x, start, positions=count(start[:, None]))


check_previous = Check(
    "previous",
    _look,
    cases=[
        _secret_order(5, 1),
        _secret_order(2, 3),
        _secret_order(1, 0),
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
        Mistake(
            "each word gets the row that is stored before its own",
            "The rows lie in a secret order. Which function alone knows what came before?",
            lambda attend, x, start: x.roll(1, 0),
            lambda attend, x, start: torch.cat([x[:1], x[:-1]]),
            lambda attend, x, start: attend(x.roll(1, 0), x, x),
            lambda attend, x, start: attend(20 * x.roll(1, 0), x, x),
        ),
        Mistake(
            "positions are counted in the order of storage",
            "The rows lie in a secret order. Which function alone can tell a word how many "
            "came before it?",
            _from_storage(lambda start: torch.ones_like(start).cumsum(0) - 1),
            _from_storage(lambda start: start.cumsum(0)),
        ),
        Mistake(
            "one number comes back for each word",
            "What does that number tell a word, and what can it ask for in a next call?",
            lambda attend, x, start: attend(
                torch.zeros(len(x), 1), torch.zeros(len(x), 1), start[:, None]
            ),
        ),
        Mistake(
            "a place in the text is taken for a place in storage",
            "Is row 3 of x the fourth word of the text?",
            lambda attend, x, start: x[
                (_positions(attend, start)[:, 0].round().long() - 1).clamp(min=0)
            ],
            lambda attend, x, start: x[_positions(attend, start)[:, 0].argsort()],
            lambda attend, x, start: x[_positions(attend, start)[:, 0].argsort()].roll(1, 0),
        ),
        Mistake(
            "the words' own vectors make the weights",
            "Do q and k that are made of words know where a word stands?",
            lambda attend, x, start: attend(x, x, x),
            trace=_words_ask,
        ),
        Mistake(
            "each word gets the sum or the average of all earlier words",
            "Which scores leave only the last of them?",
            lambda attend, x, start: _of_all_earlier(attend, x, start)[0],
            lambda attend, x, start: _of_all_earlier(attend, x, start)[0] + x,
            lambda attend, x, start: torch.div(*_of_all_earlier(attend, x, start)),
            lambda attend, x, start: (
                _of_all_earlier(attend, x, start)[0]
                / _of_all_earlier(attend, x, start)[1].clamp(min=1)
            ),
        ),
        Mistake(
            "a word and the one before it share the top",
            "Where between j = i − 1 and j = i is the peak of your scores, and where should it be?",
            partial(_look, back=0.5),
        ),
        Mistake(
            "all queries ask the same",
            "Your parabola has one peak for all words. Which number of the query moves it?",
            lambda attend, x, start: _paired(
                attend, x, start, lambda p: (torch.full_like(p, 2), -torch.ones_like(p), p, p**2)
            ),
        ),
        Mistake(
            "the columns of query and key do not fit",
            "A dot product multiplies column by column. Which column of the query meets j, and "
            "which meets j²?",
            lambda attend, x, start: _paired(
                attend, x, start, lambda p: (2 * (p - 1), -torch.ones_like(p), p**2, p)
            ),
            lambda attend, x, start: _paired(
                attend, x, start, lambda p: (-torch.ones_like(p), 2 * (p - 1), p, p**2)
            ),
            trace=_columns_exchanged,
        ),
        Mistake(
            "rows of x meet outside attend",
            "You add or subtract rows after the call. Which scores make attend pick one row?",
            lambda attend, x, start: 2 * _of_all(attend, x, start) - x,
            lambda attend, x, start: _of_all(attend, x, start) - x,
        ),
        Mistake(
            "query and key have one number each",
            "For a given query such a score only rises or only falls with the key's number. Where "
            "is its peak?",
            lambda attend, x, start: _scores(
                attend, x, start, lambda p: (-20 * (p - 1) ** 2, p**2)
            ),
        ),
        Mistake(
            "places are cut off to whole numbers",
            "What does .long() make of 6.9999995?",
            _by_one_hot,
        ),
        Mistake(
            "a place below 0 is asked for",
            "The first word has no word before it. Which place does yours look for, and which "
            "should it?",
            partial(_by_one_hot, lowest=-1),
            raises="must be non-negative",
        ),
        Mistake(
            "there are more places than columns",
            "How many words must work?",
            partial(_by_one_hot, n_classes=1),
            raises="must be smaller than num_classes",
        ),
        Mistake(
            "a score is not a finite number",
            "What are 1/p and log p at the first word?",
            lambda attend, x, start: _scores(attend, x, start, lambda p: (p - 1, 1 / p)),
            trace=_not_finite,
        ),
        Mistake(
            "the share itself is taken for the place",
            "Shares of the places 0, 1, 2, 3 are 1, 1/2, 1/3, 1/4. How do you get 3 from 1/4?",
            _placed_by(lambda p: 1 - 1 / (1 + p)),
            _placed_by(lambda p: len(p) / (1 + p)),
            trace=_spaced(_like_shares),
        ),
        Mistake(
            "neighbours are not equally far apart on the scale of the places",
            "How far apart are the first two words on your scale, and how far the 60th and 61st?",
            _placed_by(torch.log1p),
            trace=_spaced(lambda steps: bool(steps.max() > 1.1 * steps.min())),
        ),
        Mistake(
            "a step of one word has another size on this scale",
            "You multiply or divide the places by a number. How far apart are two neighbours then?",
            *(_placed_by(place) for place in (lambda p: len(p) * p, lambda p: p / len(p))),
            trace=_wrong_step,
        ),
        Mistake(
            "the share itself is taken for the place",
            "Shares of the places 0, 1, 2, 3 are 1, 1/2, 1/3, 1/4. How do you get 3 from 1/4?",
            lambda attend, x, start: _scores(
                attend, x, start, lambda p: (20 / (1 + p), 1 / (1 + p))
            ),
            lambda attend, x, start: _look(
                attend, x, start, positions=1 / (1 + _positions(attend, start))
            ),
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
            trace=_scored_highest(lambda place: place),
        ),
        Mistake(
            "the peak is at the word after, which is hidden",
            "Your scores are largest one place after the query. To which side does your 1 move the "
            "peak?",
            partial(_look, back=-1.0),
            trace=_scored_highest(lambda place: (place + 1).clamp(max=len(place) - 1)),
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
            trace=_rising,
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
            "For the query at position 5, which key has the largest score in yours?",
            lambda attend, x, start: _look(attend, x, start, back=2.0),
        ),
        Mistake(
            "the scores rise all the way to the word itself",
            "Yours are a line over the keys. Which curve has its peak before the end?",
            lambda attend, x, start: _scores(
                attend,
                x,
                start,
                lambda p: (20 * torch.cat([2 * (p - 1), -(p**0)], 1), p.repeat(1, 2)),
            ),
            trace=_line_over_keys,
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
        Mistake(
            "no word has looked at another",
            "The rows lie in a secret order. Which function alone knows it?",
            lambda attend, x, start: x,
        ),
        Mistake(
            "query and key have one number each",
            "For a given query such a score only rises or only falls with the key's number. Where "
            "is its peak?",
            lambda attend, x, start: _scores(
                attend, x, start, lambda p: (100 * (p - 1).cos(), p.cos())
            ),
            trace=_one_column,
        ),
        Mistake(
            "what is added up are not the rows of x",
            "Which of attend's three arguments does it add up, and what have you put there?",
            lambda attend, x, start: _look(attend, torch.ones_like(x), start),
            trace=_other_values,
        ),
    ],
    hints=(
        "Each word knows its place now. Which function of a key's place j is largest at j = i − 1, "
        "for the query at place i?",
        "A dot product can make a parabola: multiply out −(j − (i − 1))². One of its terms does "
        "not matter to softmax.",
        "Give the key two columns, j and j². Which two numbers of the query make a parabola with "
        "its peak at i − 1? Then make all scores so large that one word gets all.",
    ),
    tolerance=1e-3,
    rules=[probes.ComesFromAttend(), probes.AsksByItsOwnRow()],
)
