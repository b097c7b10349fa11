"""Checks of lesson 10: choosing without knowing how long, and who is best for some taste."""

from __future__ import annotations

import torch
from torch import Tensor

from course_lab.checks.core import Check
from course_lab.checks.mistakes import Mistake
from course_lab.checks.rules import Case

# ★★ The least regret


def _least_regret(losses: Tensor) -> int:
    regret = losses - losses.min(0).values
    return int(regret.max(1).values.argmin())


def _table(*rows: list[float]) -> Case:
    return (torch.tensor(rows, dtype=torch.float64),)


def _random(seed: int, *shape: int) -> Case:
    """Losses that grow to the right, faster in some rows than in others."""
    generator = torch.Generator().manual_seed(seed)
    steps = torch.rand(*shape, generator=generator, dtype=torch.float64)
    return ((1 + steps).cumsum(-1),)


check_least_regret = Check(
    "least_regret",
    _least_regret,
    cases=[
        # Best nowhere, never far behind.
        _table([1.0, 2.0, 9.0], [1.5, 2.2, 4.3], [3.0, 2.4, 4.0]),
        # One length is hard for all; the worst loss says nothing of the choice.
        _table([1.0, 9.0], [3.0, 8.8], [1.4, 9.5]),
        _table([2.0, 2.0, 2.0], [1.0, 1.0, 3.5], [1.9, 1.9, 2.9]),
        _table([0.1, 4.0], [0.3, 3.0], [0.9, 2.9]),
        _table([3.0, 1.0], [2.0, 1.4], [2.3, 1.2]),  # the last length is the easier one
        _table([7.0, 4.0, 1.0], [5.0, 6.0, 2.0], [5.5, 4.4, 1.7]),
        _table([5.0, 6.0, 7.0]),
        _table([2.0], [1.0], [3.0]),
        _table([1.0, 3.0], [2.0, 2.0], [1.0, 3.0]),  # equal regrets: the first
        _random(0, 17, 6),
        _random(1, 5, 9),
        _random(2, 40, 3),
    ],
    mistakes=[
        Mistake(
            "this row has the smallest of the worst losses",
            "A length that is hard for all is nobody's fault. What would you have had there with "
            "the best choice?",
            lambda losses: int(losses.max(1).values.argmin()),
        ),
        Mistake(
            "this row has the smallest mean loss, which is also the smallest mean regret",
            "Whom does a mean protect: the one who meets the worst length, or all taken together?",
            lambda losses: int(losses.mean(1).argmin()),
        ),
        Mistake(
            "each loss is compared with the best of its own row",
            "That is how much a row rises. Whom would you envy at this length: itself?",
            lambda losses: int(
                (losses - losses.min(1, keepdim=True).values).max(1).values.argmin()
            ),
        ),
        Mistake(
            "this row is best at the most lengths",
            "How much does it lose at the others?",
            lambda losses: int((losses == losses.min(0).values).sum(1).argmax()),
        ),
        Mistake(
            "this row has the largest regret, not the smallest",
            "Of all the largest regrets, which one do you want to be yours?",
            lambda losses: int((losses - losses.min(0).values).max(1).values.argmax()),
        ),
        Mistake(
            "each loss is compared with the mean of its length",
            "Regret looks at the best that you could have had. Is that the mean?",
            lambda losses: int((losses - losses.mean(0)).max(1).values.argmin()),
        ),
        Mistake(
            "regrets are ratios here",
            "The exercise asks for nats lost. Is 0.3 against 0.1 more than 9 against 4?",
            lambda losses: int((losses / losses.min(0).values).max(1).values.argmin()),
        ),
        Mistake(
            "this is a regret, not the row that has it",
            "You found how small the largest regret can be. Whose is it?",
            lambda losses: float((losses - losses.min(0).values).max(1).values.min()),
        ),
        Mistake(
            "this names a length, not an encoding",
            "Rows are encodings. Over which dimension do you take the largest regret?",
            lambda losses: int((losses - losses.min(0).values).max(0).values.argmin()),
        ),
        Mistake(
            "only the last length counts here",
            "What if the text turns out to be short?",
            lambda losses: int(losses[:, -1].argmin()),
        ),
    ],
    hints=(
        "Say the text turns out to have the second length. How much do you lose by row i there?",
        "Against the best of that column. Do so for each column: a table of regrets.",
        "Of each row's regrets only the largest counts. Return the row where that is smallest.",
    ),
)

# ★★★ Somebody's favourite


def _somebodys(costs: Tensor) -> Tensor:
    """For each row, the weights of the first cost at which no other row costs less."""
    first, second = (costs[:, None] - costs[None]).double().unbind(-1)  # row less rival
    slope = first - second  # w · slope ≤ −second must hold for some w between 0 and 1
    bound = -second / torch.where(slope == 0, 1.0, slope)
    most = torch.where(slope > 0, bound, torch.inf).amin(1)
    least = torch.where(slope < 0, bound, -torch.inf).amax(1)
    possible = ((slope != 0) | (second <= 0)).all(1)
    return possible & (least <= most) & (most > 0) & (least < 1)


def _beaten(costs: Tensor) -> Tensor:
    lower = (costs[None] < costs[:, None]).all(-1)
    return lower.any(1)


def _by_weights(costs: Tensor, weights: Tensor) -> Tensor:
    sums = costs.double() @ torch.stack([weights, 1 - weights])  # (rows, weights)
    found = torch.zeros(len(costs), dtype=torch.bool)
    found[sums.argmin(0)] = True
    return found


def _extremes(costs: Tensor) -> Tensor:
    found = torch.zeros(len(costs), dtype=torch.bool)
    found[costs.argmin(0)] = True
    return found


def _any_signs(costs: Tensor) -> Tensor:
    """The whole convex hull: best for weights of any sign."""
    signs = [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)]
    return torch.stack([_somebodys(costs * torch.tensor(pair)) for pair in signs]).any(0)


def _cloud(seed: int, count: int) -> Case:
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(count, 2, generator=generator, dtype=torch.float64),)


def _ladder(powers: int) -> Case:
    """Each row is best for some weights, of all sizes; a row between two of them never is."""
    size = 10.0 ** torch.arange(-powers, powers + 1, dtype=torch.float64)
    best = torch.stack([size, 1 / size], 1)
    between = (best[:-1] + best[1:]) / 2 * 0.99 + 0.02 * best[1:].amin(1, keepdim=True)
    return (torch.cat([best, between]),)


check_somebodys_favourite = Check(
    "somebodys_favourite",
    _somebodys,
    cases=[
        # Row 1 is beaten by nobody, and yet nobody's favourite.
        (torch.tensor([[0.0, 10.0], [6.0, 7.0], [10.0, 0.0]]),),
        (torch.tensor([[0.0, 10.0], [4.0, 5.0], [10.0, 0.0], [5.0, 4.5]]),),
        (torch.tensor([[3.0, 4.0]]),),
        (torch.tensor([[1.0, 1.0], [2.0, 3.0], [3.0, 2.0]]),),  # one beats all
        (torch.tensor([[5.0, 1.0], [1.0, 5.5], [9.0, 9.5], [2.0, 2.5], [4.0, 3.0]]),),
        _cloud(0, 17),
        _cloud(1, 60),
        _cloud(2, 200),
        _ladder(4),
    ],
    mistakes=[
        Mistake(
            "these are all that nobody beats in both costs",
            "Take (0, 10), (6, 7) and (10, 0). At which weight is the middle one the cheapest?",
            lambda costs: ~_beaten(costs),
        ),
        Mistake(
            "these are the best of each column alone",
            "What of somebody to whom both costs matter?",
            _extremes,
        ),
        Mistake(
            "only equal weights are tried",
            "To somebody else the first cost may matter ten times as much. Who is best then?",
            lambda costs: _by_weights(costs, torch.tensor([0.5]).double()),
        ),
        Mistake(
            "a grid of weights misses those whose turn is short",
            "Between which two weights is a row the best? Who takes over at these weights?",
            lambda costs: _by_weights(costs, torch.linspace(0, 1, 101).double()),
        ),
        Mistake(
            "a finer grid of weights still misses those whose turn is short",
            "At which weight exactly do two rows cost the same?",
            lambda costs: _by_weights(costs, torch.linspace(0, 1, 10_001).double()),
        ),
        Mistake(
            "the outline goes all round, where dear rows are too",
            "A cost of weight below 0 would be a joy. Which part of the outline is left?",
            _any_signs,
        ),
        Mistake(
            "these are somebody's favourites if more is better",
            "Are these costs or scores?",
            lambda costs: _somebodys(-costs),
        ),
        Mistake(
            "these are the others",
            "True is for those who are somebody's favourite. What have you marked?",
            lambda costs: ~_somebodys(costs),
        ),
        Mistake(
            "these are places, not a bool for each row",
            "How long is your answer where one row beats all the others?",
            lambda costs: _somebodys(costs).nonzero()[:, 0],
        ),
    ],
    hints=(
        "Draw the rows as points. Weights that stay the same are lines of one slope. Where does "
        "such a line, moved up from below, first touch a point?",
        "For row i to cost no more than row j, w · (a − b) ≤ −b, with a and b its first and second "
        "cost less those of j. That is a bound on w, from above or from below.",
        "Collect the bounds over all j: the least upper one and the greatest lower one. Is there a "
        "w between them, above 0 and below 1?",
    ),
)
