"""Checks for lesson 10: a choice without knowing the length, and rows that suit some taste."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lab.checks.core import Check, Mistake
from course_lab.checks.rules import Case

# ★ The least regret


def _regrets(losses: Tensor) -> Tensor:
    return losses - losses.min(0).values


def _least_regret(losses: Tensor) -> int:
    return int(_regrets(losses).max(1).values.argmin())


def _last_of_equals(losses: Tensor) -> int:
    largest = _regrets(losses).max(1).values
    return int((largest == largest.min()).nonzero()[-1])


def _against_the_second_best(losses: Tensor) -> int:
    second_best = losses.sort(0).values[min(1, len(losses) - 1)]
    return int((losses - second_best).max(1).values.argmin())


def _searched_from(losses: Tensor, smallest: float) -> int:
    """Return what a loop says that looks for a regret below this number; row 0 if none is."""
    best = 0
    for row, largest in enumerate(_regrets(losses).amax(1).tolist()):
        if largest < smallest:
            best, smallest = row, largest
    return best


def _apart_from_the_mean(losses: Tensor) -> int:
    return int((losses - losses.mean(0)).abs().amax(1).argmin())


def _apart_from_the_median(losses: Tensor) -> int:
    return int((losses - losses.median(0).values).abs().amax(1).argmin())


def _apart_from_the_second_best(losses: Tensor) -> int:
    second_best = losses.sort(0).values[min(1, len(losses) - 1)]
    return int((losses - second_best).abs().amax(1).argmin())


def _ranks(losses: Tensor) -> int:
    return int(losses.argsort(0).argsort(0).max(1).values.argmin())


def _smallest_regret_above_zero(losses: Tensor) -> int:
    regrets = _regrets(losses)
    return int(torch.where(regrets > 0, regrets, torch.inf).min(1).values.argmin())


def _nearly_the_largest_regret(losses: Tensor) -> int:
    return int(_regrets(losses).quantile(0.9, dim=1).argmin())


def _equals_by_their_second_regret(losses: Tensor) -> int:
    ordered = _regrets(losses).sort(1, descending=True).values
    return min(range(len(losses)), key=lambda row: ordered[row].tolist())


def _share_of_the_range(losses: Tensor) -> int:
    spread = (losses.amax(0) - losses.amin(0)).clamp(min=1e-12)
    return int((_regrets(losses) / spread).amax(1).argmin())


def _best_at_the_hardest(losses: Tensor) -> int:
    hardest = int(losses.min(0).values.argmax())
    return int(losses[:, hardest].argmin())


def _smallest_soft_maximum(losses: Tensor, sharpness: int) -> int:
    return int((sharpness * _regrets(losses)).logsumexp(1).argmin())


def _smallest_norm(losses: Tensor, power: int) -> int:
    return int(_regrets(losses).norm(power, dim=1).argmin())


def _first_and_last(losses: Tensor) -> int:
    return _least_regret(losses[:, [0, -1]])


def _at_some_lengths(losses: Tensor, first: Callable[[int], int]) -> int:
    return _least_regret(losses[:, first(losses.shape[1]) :])


def _nearly_largest_twice(losses: Tensor) -> int:
    """Return the row whose second largest regret is the smallest; with one length, the largest."""
    ordered = _regrets(losses).sort(1, descending=True).values
    return int(ordered[:, min(1, losses.shape[1] - 1)].argmin())


def _last_row_not_asked(losses: Tensor) -> int:
    """Return what follows if the best of a length is looked for in all rows but the last."""
    asked = losses[: max(1, len(losses) - 1)]
    return int((losses - asked.amin(0)).amax(1).argmin())


def _all_but_the_last(losses: Tensor) -> Tensor:
    return losses[:, : max(1, losses.shape[1] - 1)]


def _best_somewhere(losses: Tensor) -> int:
    """Return the least regret among the rows that are best at some length."""
    largest = _regrets(losses).amax(1)
    is_best = (losses == losses.amin(0)).any(1)
    return int(torch.where(is_best, largest, torch.inf).argmin())


def _mean_regret_above_zero(losses: Tensor) -> int:
    regrets = _regrets(losses)
    return int((regrets.sum(1) / (regrets > 0).sum(1).clamp(min=1)).argmin())


def _all_of_the_least_regret(losses: Tensor) -> Tensor:
    """Return every row whose largest regret is the smallest."""
    largest = _regrets(losses).amax(1)
    return (largest == largest.min()).nonzero()[:, 0]


def _within(margin: float) -> Callable[[Tensor], int]:
    """Return an answer: the first row whose largest regret is within this of the least."""

    def answer(losses: Tensor) -> int:
        largest = _regrets(losses).amax(1)
        return int((largest <= largest.min() + margin).int().argmax())

    return answer


def _two_largest_regrets(losses: Tensor) -> int:
    return int(_regrets(losses).topk(min(2, losses.shape[1]), dim=1).values.sum(1).argmin())


def _over_the_spread(losses: Tensor, start: Tensor) -> int:
    """Return what follows if what is above the start of a length is divided by its deviation."""
    spread = losses.std(0, correction=0).clamp(min=1e-12)
    return int(((losses - start) / spread).amax(1).argmin())


def _at_kept_lengths(losses: Tensor, kept: Callable[[Tensor], Tensor]) -> int:
    return _least_regret(kept(losses))


def _front_of_any_width(costs: Tensor) -> Tensor:
    """Return which rows no other beats: at most as high everywhere, and lower somewhere."""
    at_most = (costs[None] <= costs[:, None]).all(-1)  # (row, rival)
    return ~(at_most & (costs[None] < costs[:, None]).any(-1)).any(1)


def _table(*rows: list[float]) -> Case:
    return (torch.tensor(rows, dtype=torch.float64),)


def _random(seed: int, *shape: int) -> Case:
    """Return losses that grow to the right, faster in some rows than in others."""
    generator = torch.Generator().manual_seed(seed)
    steps = torch.rand(*shape, generator=generator, dtype=torch.float64)
    return ((1 + steps).cumsum(-1),)


check_least_regret = Check(
    "least_regret",
    _least_regret,
    cases=[
        # Row 1 is best nowhere, and never far behind.
        _table([1.0, 2.0, 9.0], [1.5, 2.2, 4.3], [3.0, 2.4, 4.0]),
        # One length is hard for all, so the worst loss says nothing about the choice.
        _table([1.0, 9.0], [3.0, 8.8], [1.4, 9.5]),
        _table([2.0, 2.0, 2.0], [1.0, 1.0, 3.5], [1.9, 1.9, 2.9]),
        _table([0.1, 4.0], [0.3, 3.0], [0.9, 2.9]),
        _table([3.0, 1.0], [2.0, 1.4], [2.3, 1.2]),  # the last length is the easier one
        _table([7.0, 4.0, 1.0], [5.0, 6.0, 2.0], [5.5, 4.4, 1.7]),
        # Ranks, means and regrets name three rows.
        _table(
            *([1.2, 1.7, 5.7], [1.5, 4.7, 6.3], [2.1, 1.3, 1.0], [1.1, 1.6, 4.1]),
            *([8.3, 2.1, 2.5], [1.0, 3.3, 5.3], [1.7, 1.0, 2.4]),
        ),
        _table(
            *([5.3, 1.7, 6.7], [1.3, 3.2, 4.9], [4.4, 1.6, 1.5], [3.8, 1.2, 8.1]),
            *([5.0, 1.8, 4.7], [1.0, 1.3, 5.0], [1.1, 8.0, 4.0]),
        ),
        _table([5.0, 6.0, 7.0]),
        _table([2.0], [1.0], [3.0]),
        _table([1.0, 3.0], [2.0, 2.0], [1.0, 3.0]),  # equal regrets: the first
        _table([1.0] * 11 + [6.0], [2.0] * 11 + [1.0]),  # one bad length of twelve
        _table([1.0, 3.0, 1.5], [2.0, 2.0, 1.0]),  # the second has the smaller second regret
        _table([1.0] * 11 + [2.05], [2.0] * 11 + [1.0]),  # often 1.00 behind, or once 1.05
        _table([1.0, 3000.0], [2000.0, 1.0]),  # the least regret is far above any loss of a model
        # In exp(loss) row 1 would have the least regret; row 0 has the smallest worst loss.
        _table([4.9, 5.0], [4.3, 5.2], [4.0, 5.28]),
        _table([1.0, 2.004], [2.0, 1.0]),  # regrets of 1.004 and of 1.000
        _table([1.0, 2.0006], [2.0, 1.0], [3.0, 3.0]),  # of 1.0006 and of 1.0000
        _table([1.0, 2.0002], [2.0, 1.0], [3.0, 3.0]),  # of 1.0002 and of 1.0000
        # The least sum of squares, range, deviation, mean and sum with the mean: five other rows.
        _table(
            *([2.4, 4.1, 2.0, 3.9], [2.8, 4.1, 5.3, 1.3], [2.8, 4.7, 1.1, 2.3]),
            *([1.7, 2.5, 3.3, 4.0], [1.5, 5.0, 2.5, 3.1], [1.6, 3.8, 5.6, 2.0]),
            *([2.8, 1.8, 3.8, 3.0], [2.3, 2.5, 5.6, 3.7], [2.8, 4.8, 6.8, 2.8]),
        ),
        _random(0, 17, 6),
        _random(1, 5, 9),
        _random(2, 40, 3),
    ],
    mistakes=[
        *(
            Mistake(
                "min and max of a dimension give values and their places, two tensors in one",
                "Which of the two do you need here, and how do you ask for it?",
                forgotten,
                raises=r"return_types\.",
            )
            for forgotten in (
                lambda losses: int((losses - losses.min(0)).max(1).values.argmin()),
                lambda losses: int(_regrets(losses).max(1).argmin()),  # type: ignore[attr-defined]
            )
        ),
        Mistake(
            "min of a dimension gives values and their places, two tensors in one",
            "The exercise asks for one int. Which of the two is the row?",
            lambda losses: _regrets(losses).max(1).values.min(0),
        ),
        Mistake(
            "the search begins at a number that is below the least regret",
            "With which number does your search begin? What is returned if no regret is below it?",
            *(partial(_searched_from, smallest=smallest) for smallest in (1, 3, 5, 10, 100)),
        ),
        Mistake(
            "this row has the smallest of the worst losses",
            "A length that is hard for all is no row's fault. What would the best choice have "
            "lost there? If you search for it: may all losses lie above the number with which "
            "you begin?",
            lambda losses: int(losses.max(1).values.argmin()),
            lambda losses: int((losses - losses.amin(0).clamp(max=1)).amax(1).argmin()),
        ),
        Mistake(
            "only rows that are best at some length are asked",
            "May a row that is best nowhere be close to the best everywhere?",
            _best_somewhere,
        ),
        *(
            Mistake(
                f"regrets are differences of {what} here",
                "The exercise asks for nats. Which are in nats, the losses or what you made of "
                "them?",
                lambda losses, changed=changed: _least_regret(changed(losses)),
            )
            for what, changed in (("exp(loss)", torch.exp), ("squared losses", torch.square))
        ),
        Mistake(
            "the best of each row is taken away, (rows,), from losses of (rows, lengths)",
            "min(1) looks along a row. Whose best do you want at each length, and over which "
            "dimension is that?",
            lambda losses: int((losses - losses.min(1).values).amax(1).argmin()),
        ),
        *(
            Mistake(
                f"this row has the smallest {which} of its losses",
                "A length that is hard for all is no row's fault. What would the best choice have "
                "lost there, and how bad is the worst length?",
                smallest,
            )
            for which, smallest in (
                ("geometric mean", lambda losses: int(losses.log().mean(1).argmin())),
                ("median", lambda losses: int(losses.median(1).values.argmin())),
            )
        ),
        Mistake(
            "this is the first row that no other beats at every length",
            "Several rows are beaten by no other. Which of them has the smallest largest regret?",
            lambda losses: int(_front_of_any_width(losses).int().argmax()),
        ),
        Mistake(
            "the largest regrets are cut to whole numbers, so some that differ are equal here",
            "Which of two rows would you take whose largest regrets are 0.3 and 0.9?",
            lambda losses: int(_regrets(losses).amax(1).int().argmin()),
        ),
        Mistake(
            "this is True where the largest regret is the smallest, and not the number of a row",
            "The exercise asks for an int. Which function gives the place of the smallest?",
            lambda losses: _regrets(losses).amax(1) == _regrets(losses).amax(1).min(),
        ),
        Mistake(
            "to a row's largest regret another is added, the second, the mean or the median",
            "A user meets one length. Do the regrets at the other lengths make it any dearer?",
            _two_largest_regrets,
            lambda losses: int((_regrets(losses).amax(1) + _regrets(losses).mean(1)).argmin()),
            lambda losses: int(
                (_regrets(losses).amax(1) + _regrets(losses).median(1).values).argmin()
            ),
        ),
        Mistake(
            "each loss less the mean of its length is divided by the standard deviation there",
            "Regret looks at the best loss that you could have had, in nats. Is that the mean? And "
            "does a nat weigh less where losses differ more?",
            lambda losses: _over_the_spread(losses, losses.mean(0)),
        ),
        Mistake(
            "each regret is divided by the standard deviation of its length",
            "The exercise asks for nats lost. Does a nat weigh less where losses differ more?",
            lambda losses: _over_the_spread(losses, losses.amin(0)),
        ),
        Mistake(
            "the mean of the regrets above 0 is compared",
            "Does a mean protect the user who meets the worst length?",
            _mean_regret_above_zero,
        ),
        Mistake(
            "largest regrets that differ a little are equal here, by rounding or by a margin",
            "Which of two rows would you take whose largest regrets are 1.004 and 1.000?",
            *(_within(margin) for margin in (0.01, 0.005, 0.001)),
            *(
                lambda losses, n=n: int(_regrets(losses).amax(1).round(decimals=n).argmin())
                for n in (2, 3)
            ),
        ),
        Mistake(
            "this is the smallest of the largest regrets, cut to a whole number",
            "The exercise asks for a row. In which row does this regret stand?",
            lambda losses: int(_regrets(losses).amax(1).min()),
        ),
        Mistake(
            "these are all rows of the least regret",
            "The exercise asks for one row, as an int. Which one, if several are equal?",
            _all_of_the_least_regret,
        ),
        Mistake(
            "this is a list with the row in it",
            "The exercise asks for an int. How do you get the row out of the list?",
            lambda losses: [_least_regret(losses)],
        ),
        *(
            Mistake(
                f"the answer is {constant} in every case",
                "Does your answer depend on the losses? Which row has the smallest of the largest "
                "regrets?",
                lambda losses, constant=constant: constant,
            )
            for constant in (1, -1)
        ),
        Mistake(
            "this row has the smallest mean loss, which is also the smallest mean regret",
            "Does a mean protect the user who meets the worst length? And if you compare with one "
            "row: is that the best at every length?",
            lambda losses: int(losses.mean(1).argmin()),
        ),
        Mistake(
            "each loss is compared with the best of its own row",
            "That is how much a row rises. Which row would you rather have had at this length?",
            lambda losses: int(
                (losses - losses.min(1, keepdim=True).values).max(1).values.argmin()
            ),
        ),
        Mistake(
            "this row is best at the most lengths",
            "How much worse than the best is it at the others?",
            lambda losses: int((losses == losses.min(0).values).sum(1).argmax()),
        ),
        Mistake(
            "this row has the largest regret, not the smallest",
            "Of all the largest regrets, which would you like to have?",
            lambda losses: int(_regrets(losses).max(1).values.argmax()),
        ),
        Mistake(
            "each loss is compared with the mean of its length",
            "Regret looks at the best loss that you could have had. Is that the mean?",
            lambda losses: int((losses - losses.mean(0)).max(1).values.argmin()),
        ),
        Mistake(
            "each loss is compared with the median of its length",
            "Regret looks at the best loss that you could have had. Is that the median?",
            lambda losses: int((losses - losses.median(0).values).max(1).values.argmin()),
        ),
        Mistake(
            "each regret is divided by the range of its length",
            "The exercise asks for nats lost. Does a nat weigh less where losses differ more?",
            _share_of_the_range,
        ),
        *(
            Mistake(
                f"each loss is compared with the {name} of its length, on either side",
                f"Regret looks at the best loss that you could have had. Is that the {name}?",
                apart,
            )
            for name, apart in (
                ("mean", _apart_from_the_mean),
                ("median", _apart_from_the_median),
                ("second best", _apart_from_the_second_best),
            )
        ),
        Mistake(
            "this row has the smallest regret that is not 0",
            "That is each row at its second best. Who decides which length the text has?",
            _smallest_regret_above_zero,
        ),
        Mistake(
            "two rows have the same largest regret, and their other regrets have decided",
            "Only the largest regret of a row counts. Which of the two does the exercise ask for?",
            _equals_by_their_second_regret,
        ),
        Mistake(
            "a quantile of the regrets leaves out the very largest",
            "The user may meet just the length that is left out. What does it cost there?",
            _nearly_the_largest_regret,
        ),
        Mistake(
            "each loss is taken from the best, so each regret is negative or 0",
            "Whoever loses 3 nats more than the best: is the regret 3 or −3? And which of them is "
            "then the largest?",
            lambda losses: int((losses.min(0).values - losses).max(1).values.argmin()),
        ),
        Mistake(
            "each loss is compared with the second best of its length",
            "What if you had chosen the very best there?",
            _against_the_second_best,
        ),
        Mistake(
            "places are compared, not nats",
            "The third may be a hair behind the first, or miles. Which would you regret?",
            _ranks,
        ),
        Mistake(
            "of rows with the same largest regret this is the last",
            "Two rows are equally good here. Which of them does the exercise ask for?",
            _last_of_equals,
        ),
        Mistake(
            "regrets are ratios here",
            "The exercise asks for nats lost. Is 0.3 against 0.1 more than 9 against 4?",
            lambda losses: int((losses / losses.min(0).values).max(1).values.argmin()),
        ),
        Mistake(
            "this row has the smallest sum of squared regrets",
            "However you average, other lengths make up for a bad one. What does the user pay who "
            "meets the bad one?",
            lambda losses: int((_regrets(losses) ** 2).sum(1).argmin()),
        ),
        Mistake(
            "this row has the smallest single loss of the whole table",
            "That is one row at its best length. Who decides which length the text has?",
            lambda losses: int(losses.amin(1).argmin()),
        ),
        Mistake(
            "regrets are rounded, so some that differ are equal here",
            "Which of two rows would you take whose largest regrets are 0.31 and 0.34?",
            lambda losses: int((_regrets(losses).amax(1) * 10).round().argmin()),
        ),
        Mistake(
            "some lengths are left out",
            "You do not know how long your texts will be. May it be a length left out here?",
            partial(_at_some_lengths, first=lambda count: min(1, count - 1)),
            partial(_at_some_lengths, first=lambda count: count // 2),
        ),
        *(
            Mistake(
                name,
                "You do not know how long your texts will be. May it be a length left out here?",
                partial(_at_kept_lengths, kept=kept),
            )
            for name, kept in (
                ("the last length is left out", _all_but_the_last),
                ("every other length is left out", lambda losses: losses[:, ::2]),
                ("every other length is left out", lambda losses: losses[:, 1::2]),
            )
        ),
        Mistake(
            "this row's second largest regret is the smallest, and the largest does not count",
            "The user may meet just the length where it is largest. What does it cost there?",
            _nearly_largest_twice,
        ),
        Mistake(
            "the last row is left out where the best of a length is looked for",
            "May the last row be the best there? It is one of those that you could have chosen.",
            _last_row_not_asked,
        ),
        Mistake(
            "regrets of all lengths count here, the largest more than others",
            "A user meets one length. Do the regrets at the other lengths make it any dearer?",
            *(partial(_smallest_soft_maximum, sharpness=sharpness) for sharpness in (1, 50)),
            *(partial(_smallest_norm, power=power) for power in (4, 10, 30)),
        ),
        Mistake(
            "row 0 is the answer in every case",
            "Does the largest regret start anew for each row? And is each loss compared with the "
            "best of all rows, those further down too?",
            lambda losses: int(_regrets(losses).amax(1).cummax(0).values.argmin()),
        ),
        Mistake(
            "each row is compared with the one below it",
            "Is the row below the best one at every length?",
            lambda losses: int((losses - losses.roll(-1, 0)).amax(1).argmin()),
            lambda losses: int((-losses.diff(dim=0, append=losses[-1:])).amax(1).argmin()),
        ),
        Mistake(
            "each loss is compared with the mean of its own row",
            "Regret looks at the other rows: what is the best of them at this length?",
            lambda losses: int((losses - losses.mean(1, keepdim=True)).amax(1).argmin()),
        ),
        Mistake(
            "argsort was asked once, and says which row has a place, not which place a row has",
            "Are places what the exercise asks for? It asks for nats.",
            lambda losses: int(losses.argsort(0).amax(1).argmin()),
        ),
        Mistake(
            "each row is compared with the one above it",
            "Is the row above the best one at every length?",
            lambda losses: int((losses - losses.roll(1, 0)).amax(1).argmin()),
            lambda losses: int(losses.diff(dim=0, prepend=losses[:1]).amax(1).argmin()),
        ),
        Mistake(
            "places are added up, not nats",
            "The third may be a hair behind the first, or miles. Which would you regret?",
            lambda losses: int(losses.argsort(0).argsort(0).sum(1).argmin()),
        ),
        Mistake(
            "each loss is compared with that of the first row",
            "Is the first row the best one at every length?",
            lambda losses: int((losses - losses[0]).max(1).values.argmin()),
        ),
        Mistake(
            "only the first and the last length count here",
            "What if the text's length lies between them?",
            _first_and_last,
        ),
        Mistake(
            "this numbers the lengths, by their worst loss",
            "Rows are encodings. Over which dimension do you look for the largest?",
            lambda losses: int(losses.amax(0).argmax()),
        ),
        Mistake(
            "these are the largest regrets of all rows",
            "Each row has its largest regret now. Which row would you like to have?",
            lambda losses: _regrets(losses).max(1).values,
        ),
        Mistake(
            "rows are counted from 1 here",
            "What does row 0 of a tensor get?",
            lambda losses: _least_regret(losses) + 1,
        ),
        Mistake(
            "this row has the smallest median regret",
            "Half of the lengths may be worse than that. How bad is the worst?",
            lambda losses: int(_regrets(losses).median(1).values.argmin()),
        ),
        Mistake(
            "this row has the smallest of the smallest regrets",
            "That is each row at its best length. Who decides which length the text has?",
            lambda losses: int(_regrets(losses).min(1).values.argmin()),
        ),
        Mistake(
            "this numbers the cells of the whole table, and not the rows",
            "argmin without a dimension counts through all cells. Over which dimension do you take "
            "the largest regret first?",
            lambda losses: int(_regrets(losses).argmin()),
        ),
        Mistake(
            "this is where each row has its largest regret, and not how large it is",
            "`max` returns values and indices. Which of the two are nats?",
            lambda losses: int(_regrets(losses).max(1).indices.argmin()),
        ),
        Mistake(
            "this is a regret, not the row that has it",
            "You found how small the largest regret can be. Which row has it?",
            lambda losses: float(_regrets(losses).max(1).values.min()),
        ),
        Mistake(
            "this names a length, not an encoding",
            "Rows are encodings. Over which dimension do you take the largest regret?",
            lambda losses: int(_regrets(losses).max(0).values.argmin()),
        ),
        Mistake(
            "only the last length counts here",
            "What if the text turns out to be short?",
            lambda losses: int(losses[:, -1].argmin()),
        ),
        Mistake(
            "only the first length counts here",
            "What if the text turns out to be long?",
            lambda losses: int(losses[:, 0].argmin()),
        ),
        Mistake(
            "only the length that is hardest for all counts here",
            "What if the text has another length? You do not know it when you choose.",
            _best_at_the_hardest,
        ),
        Mistake(
            "each loss is compared with that of its row at the first length",
            "That is how much a row rises. Which row would you rather have had at this length?",
            lambda losses: int((losses - losses[:, :1]).max(1).values.argmin()),
        ),
        Mistake(
            "this is how much the last loss is above the first",
            "That is how much a row rises. Which row would you rather have had at each length?",
            lambda losses: int((losses[:, -1] - losses[:, 0]).argmin()),
        ),
        Mistake(
            "each loss is compared with the highest of its length",
            "That is what you gain over the worst choice. And what do you lose to the best one?",
            lambda losses: int((losses.max(0).values - losses).max(1).values.argmin()),
        ),
        Mistake(
            "this row gains most over the highest loss, where it gains least",
            "That is what you gain over the worst choice. And what do you lose to the best one?",
            lambda losses: int((losses.max(0).values - losses).min(1).values.argmax()),
        ),
        Mistake(
            "this row's regrets differ least",
            "A row may be far behind everywhere, and evenly so. Would you choose it?",
            lambda losses: int(_regrets(losses).std(1, correction=0).argmin()),
        ),
    ],
    hints=(
        "Suppose the text turns out to have the second length. How much does row i cost you there?",
        "Compare it with the best of that column. Do so for each column: a table of regrets.",
        "Of each row's regrets only the largest counts. Return the row where that is smallest.",
    ),
)

# ★★ Somebody's favourite


def _somebodys_favourite(costs: Tensor, above: bool = True, below: bool = True) -> Tensor:
    """Return which rows cost less than all others for some weight w of the first, 0 < w < 1.

    Each rival sets a bound of w from above or one from below: the flags leave out these two in
    turn. A rival that is as much cheaper or dearer in both costs decides alone; no case has one.
    """
    first, second = (costs[:, None] - costs[None]).double().unbind(-1)  # (row, rival), row's excess
    slope = first - second  # w · slope < −second must hold for some w
    bound = -second / torch.where(slope == 0, 1.0, slope)
    upper = torch.where((slope > 0) & above, bound, torch.inf).amin(1).clamp(max=1)
    lower = torch.where((slope < 0) & below, bound, -torch.inf).amax(1).clamp(min=0)
    allowed = ((slope != 0) | (second <= 0)).all(1)
    return allowed & (lower < upper)


def _by_formula(costs: Tensor, formula: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Return what follows from bounds by this formula of a and b, on the right sides."""
    first, second = (costs[:, None] - costs[None]).double().unbind(-1)
    return _between(costs, formula(first, second), first > second, first < second)


def _last_bounds(costs: Tensor, upper: bool = True, lower: bool = True) -> Tensor:
    """Return what follows if the last rival of a side decides, as in a loop that forgets."""
    slope, bound = _bounds(costs)
    marks = []
    for slopes, bounds in zip(slope.tolist(), bound.tolist(), strict=True):
        low, high = 0.0, 1.0
        for step, w in zip(slopes, bounds, strict=True):
            if step > 0:
                high = w if upper else min(high, w)
            elif step < 0:
                low = w if lower else max(low, w)
        marks.append(low < high)
    return torch.tensor(marks)


def _rivals_further_down(costs: Tensor) -> Tensor:
    """Return what follows if each row is compared with those below it in the table only."""
    slope, bound = _bounds(costs)
    below = torch.ones_like(slope, dtype=torch.bool).triu(1)
    return _between(costs, bound, below & (slope > 0), below & (slope < 0))


def _ends_and_equal_weights(costs: Tensor) -> Tensor:
    return _best_of_each_column(costs) | _best_for_weights(torch.tensor([0.5]))(costs)


def _weighted_products(costs: Tensor, steps: int) -> Tensor:
    """Return the rows of the smallest product of powers for a grid of weights."""
    w = torch.linspace(0, 1, steps).double()[:, None]
    first, second = costs.double().unbind(1)
    return _marked((first**w * second ** (1 - w)).argmin(1), len(costs))


def _strictly_cheapest_at_its_bounds(costs: Tensor) -> Tensor:
    """Return which rows cost less than all others at a bound of theirs, where one is equal."""
    rows = costs.double()
    w = _bounds(costs)[1][:, :, None]  # (row, weight, 1)
    sums = w * rows[:, 0] + (1 - w) * rows[:, 1]  # (row, weight, rival)
    own = w[..., 0] * rows[:, :1] + (1 - w[..., 0]) * rows[:, 1:]
    others = ~torch.eye(len(costs), dtype=torch.bool)[:, None]
    is_weight = (w[..., 0] > 0) & (w[..., 0] < 1)
    return ((own[..., None] < sums) | ~others).all(2).logical_and(is_weight).any(1)


def _below_the_middle_of_neighbours(costs: Tensor) -> Tensor:
    """Return the ends of the front, and rows whose sum is below the mean of their neighbours'."""
    front = _undominated_in_order(costs)
    sums = costs.double().sum(1)[front]
    below = front[1:-1][sums[1:-1] < (sums[:-2] + sums[2:]) / 2]
    return _marked(torch.cat([front[:1], below, front[-1:]]), len(costs))


def _undominated(costs: Tensor) -> Tensor:
    is_lower = (costs[None] < costs[:, None]).all(-1)  # (row, rival)
    return ~is_lower.any(1)


def _marked(rows: Tensor, count: int) -> Tensor:
    """Return (count,) bools, True for these rows."""
    marks = torch.zeros(count, dtype=torch.bool)
    marks[rows] = True
    return marks


def _best_of_each_column(costs: Tensor) -> Tensor:
    return _marked(costs.argmin(0), len(costs))


def _best_for_weights(weights: Tensor) -> Callable[[Tensor], Tensor]:
    """Return an answer that tries these weights of the first cost alone."""
    both_weights = torch.stack([weights.double(), 1 - weights.double()])

    def answer(costs: Tensor) -> Tensor:
        sums = costs.double() @ both_weights  # (rows, weights)
        return _marked(sums.argmin(0), len(costs))

    return answer


def _nearly_best_on_a_grid(costs: Tensor, steps: int, tolerance: float) -> Tensor:
    """Return which rows cost at most so much more than the cheapest, for a grid of weights."""
    w = torch.linspace(0, 1, steps, dtype=torch.float64)
    sums = costs.double() @ torch.stack([w, 1 - w])  # (rows, weights)
    return (sums <= sums.amin(0) + tolerance).any(1)


def _bounds(costs: Tensor) -> tuple[Tensor, Tensor]:
    """Return (row, rival): the excess w · slope of a row must not exceed, and where it turns."""
    first, second = (costs[:, None] - costs[None]).double().unbind(-1)
    slope = first - second
    return slope, -second / torch.where(slope == 0, 1.0, slope)


def _any_weight(costs: Tensor) -> Tensor:
    """Return which rows cost least for some weight, whether between 0 and 1 or not."""
    slope, bound = _bounds(costs)
    upper = torch.where(slope > 0, bound, torch.inf).amin(1)
    return torch.where(slope < 0, bound, -torch.inf).amax(1) <= upper


def _signs_ignored(costs: Tensor) -> Tensor:
    """Return what follows if every rival sets an upper bound."""
    slope, bound = _bounds(costs)
    upper = torch.where(slope != 0, bound, torch.inf).amin(1)
    return upper > 0


def _between(costs: Tensor, bound: Tensor, is_upper: Tensor, is_lower: Tensor) -> Tensor:
    """Return what follows if these rivals set upper bounds and those set lower ones."""
    most = torch.where(is_upper, bound, torch.inf).amin(1).clamp(max=1)
    return torch.where(is_lower, bound, -torch.inf).amax(1).clamp(min=0) < most


def _limits(costs: Tensor) -> tuple[Tensor, Tensor]:
    """Return each row's lowest upper bound and its highest lower one, not yet within 0 and 1."""
    slope, bound = _bounds(costs)
    return (
        torch.where(slope > 0, bound, torch.inf).amin(1),
        torch.where(slope < 0, bound, -torch.inf).amax(1),
    )


def _some_weight_between(costs: Tensor, least: float, most: float) -> Tensor:
    """Return which rows cost least for some weight between these two."""
    upper, lower = _limits(costs)
    return lower.clamp(min=least) < upper.clamp(max=most)


def _upper_bounds_below_zero_dropped(costs: Tensor) -> Tensor:
    slope, bound = _bounds(costs)
    return _between(costs, bound, (slope > 0) & (bound > 0), slope < 0)


def _every_rival_on_both_sides(costs: Tensor) -> Tensor:
    """Return what follows if signs are ignored, and nan is filled with ∞ and −∞."""
    bound = _own_bounds(costs)
    upper, lower = bound.nan_to_num(torch.inf).amin(1), bound.nan_to_num(-torch.inf).amax(1)
    return lower.clamp(min=0) < upper.clamp(max=1)


def _both_bounds_inside(costs: Tensor) -> Tensor:
    upper, lower = _limits(costs)
    return (lower > 0) & (upper < 1) & (lower < upper)


def _one_bound_inside(costs: Tensor, which: str) -> Tensor:
    """Return what follows if the upper bound, or the lower one, has to lie between 0 and 1."""
    upper, lower = _limits(costs)
    bound = upper if which == "upper" else lower
    return (bound > 0) & (bound < 1) & (lower < upper)


def _loosest_bounds(costs: Tensor) -> Tensor:
    """Return what follows if of upper bounds the highest counts and of lower ones the lowest."""
    slope, bound = _bounds(costs)
    upper = torch.where(slope > 0, bound, -torch.inf).amax(1)
    lower = torch.where(slope < 0, bound, torch.inf).amin(1)
    return lower.clamp(min=0) < upper.clamp(max=1)


def _cut_before_the_filling(costs: Tensor) -> Tensor:
    """Return what follows if bounds are cut to 0 … 1 first, and then filled with ±inf."""
    slope, bound = _bounds(costs)
    bound = bound.clamp(0, 1)
    upper = torch.where(slope > 0, bound, torch.inf).amin(1)
    return torch.where(slope < 0, bound, -torch.inf).amax(1) < upper


def _same_end_of_both(costs: Tensor, lowest: bool) -> Tensor:
    """Return what follows if both sides take their lowest bound, or both their highest."""
    slope, bound = _bounds(costs)
    fill = torch.inf if lowest else -torch.inf
    upper, lower = (torch.where(side, bound, fill) for side in (slope > 0, slope < 0))
    if lowest:
        return lower.amin(1).clamp(min=0) < upper.amin(1).clamp(max=1)
    return lower.amax(1).clamp(min=0) < upper.amax(1).clamp(max=1)


def _divided_by_the_second_cost(costs: Tensor) -> Tensor:
    """Return what follows from w = a / b."""
    first, second = (costs[:, None] - costs[None]).double().unbind(-1)
    bound = first / torch.where(second == 0, 1.0, second)
    return _between(costs, bound, first > second, first < second)


def _extremes_of_all_rows(costs: Tensor) -> Tensor:
    """Return what follows if the lowest and the highest bound of the whole table count."""
    slope, bound = _bounds(costs)
    one_upper = torch.where(slope > 0, bound, torch.inf).amin()
    one_lower = torch.where(slope < 0, bound, -torch.inf).amax()
    return (one_lower.clamp(min=0) < one_upper.clamp(max=1)).expand(len(costs))


def _one_side_of_all_rows(costs: Tensor, side: str) -> Tensor:
    """Return what follows if one of the two sides takes its extreme over the whole table."""
    upper, lower = _limits(costs)
    upper = upper.amin() if side == "upper" else upper
    lower = lower.amax() if side == "lower" else lower
    return torch.as_tensor(lower.clamp(min=0) < upper.clamp(max=1)).expand(len(costs))


def _middle_between_all_bounds(costs: Tensor) -> Tensor:
    """Return which rows have bounds on either side of one half, whichever side they are for."""
    bound = _own_bounds(costs)
    bound = torch.where(bound.isnan(), 0.5, bound)
    return (bound.amin(1) < 0.5) & (bound.amax(1) > 0.5)


def _middle_bounds(costs: Tensor) -> Tensor:
    """Return what follows if of each side the middle bound counts."""
    slope, bound = _bounds(costs)
    upper, lower = (
        torch.where(side, bound, torch.nan).nanmedian(1).values for side in (slope > 0, slope < 0)
    )
    return lower < upper


def _mean_bounds(costs: Tensor) -> Tensor:
    """Return what follows if of each side the mean of the bounds counts."""
    slope, bound = _bounds(costs)
    upper, lower = (
        torch.where(side, bound, torch.nan).nanmean(1) for side in (slope > 0, slope < 0)
    )
    return lower.nan_to_num(0.0) < upper.nan_to_num(1.0)


def _all_of_opposite_signs(costs: Tensor) -> Tensor:
    """Return which rows are cheaper than every other row in one cost and dearer in the other."""
    first, second = (costs[:, None] - costs[None]).double().unbind(-1)
    return ((first * second < 0) | torch.eye(len(costs), dtype=torch.bool)).all(1)


def _cheaper_than_most(costs: Tensor) -> Tensor:
    """Return which rows are cheaper in some cost than more than half of all."""
    cheaper = (costs[:, None] < costs[None]).any(-1)  # (row, rival)
    return cheaper.double().mean(1) > 0.5


def _sum_for_difference(costs: Tensor) -> Tensor:
    """Return what follows if w is divided by a + b."""
    first, second = (costs[:, None] - costs[None]).double().unbind(-1)
    total = first + second
    bound = -second / torch.where(total == 0, 1.0, total)
    return _between(costs, bound, total > 0, total < 0)


def _sum_with_the_sides_right(costs: Tensor) -> Tensor:
    """Return what follows if w is divided by a + b, and a > b says which side a bound is on."""
    first, second = (costs[:, None] - costs[None]).double().unbind(-1)
    total = first + second
    bound = -second / torch.where(total == 0, 1.0, total)
    return _between(costs, bound, first > second, first < second)


def _divided_by_the_first_cost(costs: Tensor) -> Tensor:
    """Return what follows from w · a + b ≤ 0, the −w · b forgotten."""
    first, second = (costs[:, None] - costs[None]).double().unbind(-1)
    bound = -second / torch.where(first == 0, 1.0, first)
    return _between(costs, bound, first > 0, first < 0)


def _sides_by_the_second_cost(costs: Tensor) -> Tensor:
    slope, bound = _bounds(costs)
    second = (costs[:, None] - costs[None]).double()[..., 1]
    return _between(costs, bound, (second < 0) & (slope != 0), (second > 0) & (slope != 0))


def _cheapest_at_the_bounds(costs: Tensor, step: float = 0.0) -> Tensor:
    """Return the cheapest row at each weight so far below and above a bound."""
    bounds = _bounds(costs)[1].flatten()
    weights = torch.cat([bounds - step, bounds + step]).unique()
    return _best_for_weights(weights[(weights > 0) & (weights < 1)])(costs)


def _opposite_signs_alone(costs: Tensor) -> Tensor:
    """Return what follows if rivals that are cheaper in both costs are passed over."""
    first, second = (costs[:, None] - costs[None]).double().unbind(-1)
    slope, bound = _bounds(costs)
    asked = first * second < 0
    return _between(costs, bound, asked & (slope > 0), asked & (slope < 0))


def _wide_ranges(margin: float) -> Callable[[Tensor], Tensor]:
    """Return an answer that asks for ranges of weights wider than this."""

    def answer(costs: Tensor) -> Tensor:
        upper, lower = _limits(costs)
        return upper.clamp(max=1) - lower.clamp(min=0) > margin

    return answer


def _at_its_own_bounds(costs: Tensor) -> Tensor:
    """Return which rows cost exactly least at one of their own bounds, without room for rounding.

    A row's excess over a rival is 0 at their bound, but in floating point a little more or less.
    """
    first, second = (costs[:, None] - costs[None]).double().unbind(-1)
    weights = _bounds(costs)[1]  # (row, rival)
    weights = torch.where((weights >= 0) & (weights <= 1), weights, 0.0)
    weights = torch.cat([weights, torch.ones_like(weights[:, :1])], dim=1)
    w = weights[:, :, None]  # (row, weight, rival)
    excess = w * first[:, None] + (1 - w) * second[:, None]
    return (excess <= 0).all(2).any(1)


def _inside_at_its_own_bounds(costs: Tensor) -> Tensor:
    """Return which rows cost at most as much as all at a bound of theirs between 0 and 1."""
    first, second = (costs[:, None] - costs[None]).double().unbind(-1)
    w = _bounds(costs)[1][:, :, None]  # (row, weight, rival)
    is_cheapest = (w * first[:, None] + (1 - w) * second[:, None] <= 0).all(2)
    is_weight = (w[..., 0] > 0) & (w[..., 0] < 1)
    return (is_cheapest & is_weight).any(1) | (len(costs) == 1)


def _sides_by_the_first_cost(costs: Tensor) -> Tensor:
    """Return what follows if the sign of a alone says which side a bound is on."""
    slope, bound = _bounds(costs)
    first = (costs[:, None] - costs[None]).double()[..., 0]
    return _between(costs, bound, (first > 0) & (slope != 0), (first < 0) & (slope != 0))


def _sides_by_both_signs(costs: Tensor) -> Tensor:
    """Return what follows if b < 0 makes a bound an upper one, and a < 0 a lower one."""
    first, second = (costs[:, None] - costs[None]).double().unbind(-1)
    slope, bound = _bounds(costs)
    return _between(costs, bound, (second < 0) & (slope != 0), (first < 0) & (slope != 0))


def _excess_at_the_own_bound(costs: Tensor, multiplied_out: bool) -> Tensor:
    """Return which rows cost at most as much as each rival where both cost the same.

    That is 0 but for rounding, so how the sum is written decides.
    """
    first, second = (costs[:, None] - costs[None]).double().unbind(-1)
    w = _bounds(costs)[1]
    excess = w * (first - second) + second if multiplied_out else w * first + (1 - w) * second
    return (excess <= 0).all(1)


def _sign_slip(costs: Tensor) -> Tensor:
    """Return what follows from bounds of the wrong sign."""
    slope, bound = _bounds(costs)
    return _between(costs, -bound, slope > 0, slope < 0)


def _lower_outline(costs: Tensor) -> Tensor:
    """Return the lower part of the hull, from the leftmost row to the rightmost."""
    mirrored = costs * torch.tensor([-1.0, 1.0], dtype=costs.dtype)
    return _somebodys_favourite(costs) | _somebodys_favourite(mirrored)


def _undominated_in_order(costs: Tensor) -> Tensor:
    """Return the rows that no other dominates, by ascending first cost."""
    rows = _undominated(costs).nonzero()[:, 0]
    return rows[costs[rows, 0].argsort()]


def _is_below(costs: Tensor, rows: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """Return whether each of these rows lies below the line from its left row to its right row."""
    start, end, point = costs[left].double(), costs[right].double(), costs[rows].double()
    step, way = end - start, point - start
    return step[:, 0] * way[:, 1] - step[:, 1] * way[:, 0] < 0


def _below_the_chord_of_neighbours(costs: Tensor) -> Tensor:
    front = _undominated_in_order(costs)
    inner = front[1:-1]
    below = inner[_is_below(costs, inner, front[:-2], front[2:])]
    return _marked(torch.cat([front[:1], below, front[-1:]]), len(costs))


def _below_the_chord_of_the_ends(costs: Tensor) -> Tensor:
    front = _undominated_in_order(costs)
    inner = front[1:-1]
    ends = front[:1].expand(len(inner)), front[-1:].expand(len(inner))
    below = inner[_is_below(costs, inner, *ends)]
    return _marked(torch.cat([front[:1], below, front[-1:]]), len(costs))


def _below_the_line_of_the_best(costs: Tensor) -> Tensor:
    """Return which rows lie on or below the line between the best of each column."""
    first, second = (costs[row].double() for row in costs.argmin(0))
    step = second - first
    away = costs.double() - first
    return away[:, 1] * step[0] - away[:, 0] * step[1] <= 0


def _front_and_outline(costs: Tensor) -> Tensor:
    """Return which rows are beaten by nobody and lie on the outline of all, on whichever side."""
    return _undominated(costs) & _whole_outline(costs)


def _sums_at_bounds(costs: Tensor, tolerance: float) -> Tensor:
    """Return which rows cost at most so much more than any rival, at 0, at 1 or at a bound."""
    rows = costs.double()
    _, bound = _bounds(costs)
    weights = torch.cat([torch.tensor([0.0, 1.0]).double(), bound.flatten()])
    weights = weights[(weights >= 0) & (weights <= 1)]
    sums = rows @ torch.stack([weights, 1 - weights])  # (rows, weights)
    return (sums <= sums.amin(0) + tolerance).any(1)


def _below_the_mean(costs: Tensor) -> Tensor:
    """Return which rows cost less than the mean of all for some weight."""
    return ((costs - costs.mean(0)) < 0).any(1)


def _on_a_grid(costs: Tensor, steps: int) -> Tensor:
    """Return which rows a grid of so many steps finds, by their bounds: the sums would be large."""
    upper, lower = _limits(costs)
    upper, lower = upper.clamp(max=1), lower.clamp(min=0)
    return (lower < upper) & ((lower * steps).ceil() <= upper * steps)


def _rescaled_grid(costs: Tensor, steps: int = 1001) -> Tensor:
    spread = (costs.amax(0) - costs.amin(0)).clamp(min=1e-12)
    return _best_for_weights(torch.linspace(0, 1, steps))((costs - costs.amin(0)) / spread)


def _a_step_above_the_lower_bound(rows: Tensor, step: float) -> Tensor:
    return _limits(rows)[1].clamp(min=0) + step


def _bounds_in_float32(costs: Tensor, from_the_start: bool) -> Tensor:
    """Return what follows if bounds, or the costs themselves, are in float32."""
    upper, lower = (side.float().clamp(0, 1) for side in _limits(costs))
    if not from_the_start:
        return lower < upper
    first, second = (costs[:, None] - costs[None]).float().unbind(-1)
    slope = first - second
    bound = -second / torch.where(slope == 0, 1.0, slope)
    return _between(costs, bound, slope > 0, slope < 0)


def _lowest_to_highest(costs: Tensor, fill: float) -> Tensor:
    """Return what follows if a row's lowest bound is below its highest, whichever sides they are.

    ``fill`` is what stands for a row beside itself.
    """
    bound = _own_bounds(costs)
    bound = torch.where(bound.isnan(), fill, bound)
    return bound.amin(1).clamp(min=0) < bound.amax(1).clamp(max=1)


def _whole_outline(costs: Tensor) -> Tensor:
    """Return which rows cost least for weights of any sign: the whole convex hull."""
    signs = torch.tensor([(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)])
    return torch.stack([_somebodys_favourite(costs * pair) for pair in signs]).any(0)


def _at_one_weight(weight_of: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Return an answer that tries one weight for each row, (rows,), and asks if it is cheapest."""

    def answer(costs: Tensor) -> Tensor:
        rows = costs.double()
        w = weight_of(rows)[:, None]
        sums = w * rows[:, 0] + (1 - w) * rows[:, 1]  # (row whose weight it is, rival)
        return sums.diagonal() <= sums.amin(1)

    return answer


def _own_bounds(rows: Tensor) -> Tensor:
    """Return (row, rival): the weight at which both cost the same, nan for a row and itself."""
    slope, bound = _bounds(rows)
    return bound.masked_fill(slope == 0, torch.nan)


def _mean_of_bounds(rows: Tensor) -> Tensor:
    return _own_bounds(rows).nanmean(1).nan_to_num(0.5).clamp(0, 1)


def _median_of_bounds(rows: Tensor) -> Tensor:
    return _own_bounds(rows).nanmedian(1).values.nan_to_num(0.5).clamp(0, 1)


def _nearest_to_the_best_of_both(costs: Tensor) -> Tensor:
    return _marked((costs - costs.amin(0)).norm(dim=1).argmin()[None], len(costs))


def _walk(costs: Tensor, steepest: bool) -> Tensor:
    """Return the rows of a walk along the front, on by the steepest or the flattest way down."""
    front = _undominated_in_order(costs).tolist()
    row, visited = front[0], [front[0]]
    while row != front[-1]:
        rest = front[front.index(row) + 1 :]
        across, down = (costs[rest] - costs[row]).double().unbind(1)
        slopes = down / across
        row = rest[int(slopes.argmin() if steepest else slopes.argmax())]
        visited.append(row)
    return _marked(torch.tensor(visited), len(costs))


def _chain_without_going_back(costs: Tensor) -> Tensor:
    """Return a lower hull in which a new row takes away one earlier row at most."""
    chain: list[int] = []
    for row in costs[:, 0].argsort().tolist():
        if len(chain) > 1:
            rows, left, right = (torch.tensor([n]) for n in (chain[-1], chain[-2], row))
            if not bool(_is_below(costs, rows, left, right)):
                chain.pop()
        chain.append(row)
    return _marked(torch.tensor(chain), len(costs))


def _chain_to_the_cheapest(costs: Tensor) -> Tensor:
    """Return that chain up to the row that is cheapest in the second cost."""
    return _chain_without_going_back(costs) & (costs[:, 0] <= costs[costs[:, 1].argmin(), 0])


def _one_row_between(costs: Tensor) -> Tensor:
    """Return the best of each column, and the row farthest below the line between them."""
    first, second = (costs[row].double() for row in costs.argmin(0))
    step = second - first
    away = costs.double() - first
    below = away[:, 0] * step[1] - away[:, 1] * step[0]
    return _best_of_each_column(costs) | (
        _marked(below.argmax()[None], len(costs)) if bool(below.max() > 0) else False
    )


def _edges_alone(costs: Tensor) -> Tensor:
    """Return the ends of the edges of the lower left outline; a single row is no edge's end."""
    favourites = _somebodys_favourite(costs)
    return favourites & (favourites.sum() > 1)


def _cloud(seed: int, count: int) -> Case:
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(count, 2, generator=generator, dtype=torch.float64),)


def _ladder(powers: int) -> Case:
    """Return rows best for some weights, of all sizes; and rows between them that never are."""
    size = 10.0 ** torch.arange(-powers, powers + 1, dtype=torch.float64)
    best = torch.stack([size, 1 / size], 1)
    between = (best[:-1] + best[1:]) / 2 * 0.99 + 0.02 * best[1:].amin(1, keepdim=True)
    return (torch.cat([best, between]),)


def _barely(first: float, last: float, place: float, above: float = -1e-6) -> Case:
    """Return three rows, the middle one so far above the line between the two others.

    At 1e-6 below it the middle one is best for a range of weights from 1e-10 to 1e-7 wide, and a
    thousandth as much below it for a thousandth of that.
    """
    second = (1 - place) * 10.0 + above
    middle = [first + place * (last - first), second]
    return _table([first, 10.0], middle, [last, 0.0])


check_somebodys_favourite = Check(
    "somebodys_favourite",
    _somebodys_favourite,
    cases=[
        # Row 1 is dominated by no other, and yet nobody's favourite.
        (torch.tensor([[0.0, 10.0], [6.0, 7.0], [10.0, 0.0]]),),
        (torch.tensor([[0.0, 10.0], [4.0, 5.0], [10.0, 0.0], [5.0, 4.5]]),),
        (torch.tensor([[3.0, 4.0]]),),
        (torch.tensor([[1.0, 3.0], [2.0, 5.0], [0.0, 9.0]]),),  # row 1 is dearer in both
        (torch.tensor([[1.0, 1.0], [2.0, 3.0], [3.0, 2.0]]),),  # row 0 beats all
        (torch.tensor([[5.0, 1.0], [1.0, 5.5], [9.0, 9.25], [2.0, 2.5], [4.0, 3.0]]),),
        _cloud(0, 17),
        _cloud(1, 60),
        _cloud(2, 80),
        _ladder(4),
        _barely(0.0, 7.0, 0.37),
        _barely(0.0, 0.03, 0.61),
        _barely(0.0, 9100.0, 0.23),
        _barely(0.0, 9100.0, 0.23, above=-1e-9),  # a range of about 1e-13
        _barely(0.0, 10.0, 0.5, above=1e-6),  # and these are nobody's, by as little
        _barely(0.0, 7.0, 0.41, above=1e-9),
    ],
    mistakes=[
        Mistake(
            "these are all rows that no other beats in both costs",
            "Take (0, 10), (6, 7) and (10, 0). At which weight is the middle row the cheapest?",
            _undominated,
        ),
        Mistake(
            "these are cheaper than every other row in one cost and dearer in the other",
            "A rival that is dearer in both costs: for which w is it the cheaper one? May it "
            "strike a row out?",
            _all_of_opposite_signs,
        ),
        Mistake(
            "only rivals that bound w from one side are asked",
            "A rival with a > b sets a largest w. What does one with a < b set?",
            partial(_somebodys_favourite, above=False),
            partial(_somebodys_favourite, below=False),
        ),
        Mistake(
            "these are the best of each column alone",
            "What about somebody to whom both costs matter?",
            _best_of_each_column,
        ),
        Mistake(
            "only equal weights are tried",
            "To somebody else the first cost may matter ten times as much. Which row is best then?",
            _best_for_weights(torch.tensor([0.5])),
        ),
        Mistake(
            "a grid of weights misses rows that are best for a short range only",
            "Between which two weights is a row the best? Which rows take over at these weights?",
            _best_for_weights(torch.linspace(0, 1, 101)),
        ),
        Mistake(
            "a finer grid of weights still misses rows that are best for a short range only",
            "At which weight exactly do two rows cost the same?",
            _best_for_weights(torch.linspace(0, 1, 10_001)),
        ),
        Mistake(
            "a grid of weights misses rows that are best for a short range only",
            "Between which two weights is a row the best? Which rows take over at these weights?",
            _best_for_weights(torch.arange(1, 100) / 100),
            _best_for_weights(torch.arange(1, 10) / 10),
            _best_for_weights(torch.linspace(0.05, 0.95, 19)),
            _best_for_weights(torch.arange(1, 1000) / 1000),
            _best_for_weights(torch.linspace(0, 1, 1001)),
        ),
        Mistake(
            "a grid of weights with a tolerance misses rows that are best for a short range "
            "only, and lets in rows that are never the cheapest",
            "How much dearer than the cheapest may a favourite be? And at which weight exactly "
            "do two rows cost the same?",
            *(
                partial(_nearly_best_on_a_grid, steps=steps, tolerance=tolerance)
                for steps in (101, 1001, 10_001)
                for tolerance in (1e-6, 1e-4, 0.001, 0.01, 0.1)
            ),
        ),
        Mistake(
            "a grid of weights, however fine, misses rows that are best for a short range only",
            "However fine: at which weight exactly do two rows cost the same?",
            _best_for_weights(torch.linspace(0, 1, 100_001)),
        ),
        Mistake(
            "weights by chance miss rows that are best for a short range only",
            "However many: at which weight exactly do two rows cost the same?",
            _best_for_weights(torch.rand(100, generator=torch.Generator().manual_seed(0))),
        ),
        Mistake(
            "a tolerance, a solver's or float32's too, lets in rows that are nearly the "
            "cheapest, and never quite",
            "How much dearer than the cheapest may a favourite be?",
            *(
                partial(_sums_at_bounds, tolerance=tolerance)
                for tolerance in (1e-8, 1e-6, 1e-5, 1e-4)
            ),
        ),
        Mistake(
            "the rows on the outline are the right ones, but only on one of its sides",
            "On which side of the outline does a row lie whose sum is the smallest? Take (0, 10), "
            "(6, 7) and (10, 0).",
            _front_and_outline,
        ),
        Mistake(
            "these are the rows on or below the line between the best of each column",
            "Several rows may lie below it, expensive ones too. Does each of them have its turn?",
            _below_the_line_of_the_best,
        ),
        Mistake(
            "these are two bounds a row, and not yet an answer",
            "Between a row's bounds: when is there a weight?",
            lambda costs: torch.stack(_limits(costs), dim=1),
            lambda costs: torch.stack(_limits(costs)),
            lambda costs: _limits(costs)[0].clamp(max=1) - _limits(costs)[1].clamp(min=0),
            lambda costs: _limits(costs)[0].clamp(max=1),
            lambda costs: _limits(costs)[1].clamp(min=0),
        ),
        Mistake(
            "one weight is tried for each row, from its own costs or the middle of its bounds",
            "A row's turn may lie elsewhere. From which weight on is it the cheapest, and up "
            "to which?",
            _at_one_weight(_mean_of_bounds),
            _at_one_weight(_median_of_bounds),
            _at_one_weight(lambda rows: rows[:, 1] / rows.sum(1)),
            _at_one_weight(lambda rows: rows[:, 0] / rows.sum(1)),
        ),
        Mistake(
            "this is the row nearest to the best of both columns",
            "Everybody adds up the two costs. Do all of them choose the same row?",
            _nearest_to_the_best_of_both,
        ),
        Mistake(
            "this walk along the front takes the flattest way down each time",
            "From the row that is cheapest in the first cost: who is the next to take over, the "
            "row that saves most of the second cost for a little of the first, or least?",
            partial(_walk, steepest=False),
        ),
        Mistake(
            "a new row takes away one earlier row at most",
            "After a row has gone, two others are neighbours. Is the one before still below "
            "the line between its new ones?",
            _chain_without_going_back,
            _chain_to_the_cheapest,
        ),
        Mistake(
            "one row is looked for between the best of each column, and then no other",
            "Between the new row and each of the ends: may there be more?",
            _one_row_between,
        ),
        Mistake(
            "only where one row is the best in both columns something is missing",
            "How many edges has an outline of one row? And is that row nobody's favourite?",
            _edges_alone,
        ),
        Mistake(
            "rows are compared with the mean of all",
            "Who is below the mean may still be above one rival. Is it then the cheapest?",
            _below_the_mean,
        ),
        Mistake(
            "a grid of weights, however fine, misses rows that are best for a short range only",
            "However fine: at which weight exactly do two rows cost the same?",
            _best_for_weights(torch.linspace(-14, 14, 40_001, dtype=torch.float64).sigmoid()),
        ),
        Mistake(
            "weights spaced by ratios are dense near 0 only, and miss rows elsewhere",
            "However fine: at which weight exactly do two rows cost the same?",
            _best_for_weights(torch.logspace(-6, 0, 200, dtype=torch.float64)),
        ),
        Mistake(
            "the outline goes all the way round, past expensive rows too",
            "A cost with a negative weight would be welcome. Which part of the outline is left?",
            _whole_outline,
        ),
        Mistake(
            "the outline goes on after the row that is cheapest in the second cost",
            "Both weights are above 0. Who would pay more of both?",
            _lower_outline,
        ),
        Mistake(
            "no row at all is marked",
            "Everybody has a cheapest row. If you divide: what do a row and itself give, and what "
            "does a comparison with that say?",
            lambda costs: torch.zeros(len(costs), dtype=torch.bool),
        ),
        Mistake(
            "whether a bound is an upper one is decided by the first cost alone",
            "Put w · a + (1 − w) · b as a multiple of w and a rest. By what do you divide?",
            _sides_by_the_first_cost,
        ),
        Mistake(
            "one side goes by the sign of a, the other by the sign of b",
            "A row with a = −1 and b = −3 is cheaper in both costs, whatever w. Which of a and b "
            "has to be larger, so that more w makes the row dearer than its rival?",
            _sides_by_both_signs,
        ),
        Mistake(
            "each rival is asked at the w at which both cost the same: there the sum is 0, "
            "and rounding decides",
            "The row is cheaper than this rival on one side of that w. On which, and is there "
            "a w that suits all rivals?",
            partial(_excess_at_the_own_bound, multiplied_out=False),
            partial(_excess_at_the_own_bound, multiplied_out=True),
        ),
        Mistake(
            "the bounds have the wrong sign",
            "Set your bound in for w. Is w · a + (1 − w) · b 0 there?",
            _sign_slip,
        ),
        Mistake(
            "weights above 1 are let in here",
            "An upper bound may lie above 1. Which weights are there at all?",
            partial(_some_weight_between, least=0, most=torch.inf),
            partial(_some_weight_between, least=0, most=2),
        ),
        Mistake(
            "weights below 0 are let in here",
            "A lower bound may lie below 0. Which weights are there at all?",
            partial(_some_weight_between, least=-torch.inf, most=1),
            partial(_some_weight_between, least=-1, most=1),
            partial(_some_weight_between, least=-1, most=2),
        ),
        Mistake(
            "weights near 0 and near 1 are left out",
            "A row may have its turn between 0.9999 and 1 only. Which weights are there at all?",
            *(
                partial(_some_weight_between, least=margin, most=1 - margin)
                for margin in (1e-6, 0.001, 0.01)
            ),
        ),
        Mistake(
            "upper bounds below 0 are dropped",
            "A rival wants w to be at most −1. Can the row be cheaper than it at any weight, and "
            "may you forget that?",
            _upper_bounds_below_zero_dropped,
        ),
        Mistake(
            "no row that has a rival is marked",
            "A rival says w ≤ 0.6. Does it say w ≥ 0.6 as well? On what does it depend which? And "
            "if you sort them: amin and amax without a dimension look at the whole table.",
            _every_rival_on_both_sides,
            _extremes_of_all_rows,
        ),
        Mistake(
            "both bounds have to lie between 0 and 1 here",
            "The cheapest row in the first cost: is there an upper bound for it at all?",
            _both_bounds_inside,
        ),
        *(
            Mistake(
                f"the {which} bound has to lie between 0 and 1 here",
                f"Has every row {article} {which} bound? What if none of its rivals sets one?",
                partial(_one_bound_inside, which=which),
            )
            for which, article in (("upper", "an"), ("lower", "a"))
        ),
        Mistake(
            "of the upper bounds the highest counts here, and of the lower ones the lowest",
            "Two rivals say w ≤ 0.3 and w ≤ 0.6. Which of them decides?",
            _loosest_bounds,
        ),
        Mistake(
            "all rows are marked",
            "In (0, 10), (6, 7) and (10, 0), for which weight is the middle row the cheapest? If "
            "you look for bounds: which of a row's upper bounds decides? And what does a "
            "comparison with nan say?",
            lambda costs: torch.ones(len(costs), dtype=torch.bool),
        ),
        Mistake(
            "w is divided by a + b here",
            "Put w · a + (1 − w) · b as a multiple of w and a rest. What multiplies w?",
            _sum_for_difference,
            _sum_with_the_sides_right,
        ),
        Mistake(
            "short ranges of weights are left out",
            "How short may a range be and still hold a weight?",
            *(_wide_ranges(margin) for margin in (1e-6, 1e-8)),
        ),
        Mistake(
            "whoever costs exactly the same at a bound is left out, or let in, by rounding",
            "At the bound itself two sums should be equal, and computed they differ in the last "
            "digit. Is a row that has a turn the cheapest at one weight only?",
            _at_its_own_bounds,
            _inside_at_its_own_bounds,
        ),
        Mistake(
            "at a bound two rows cost the same, and only one of them is marked",
            "Between two bounds one row is the cheapest. Which weights lie there?",
            _cheapest_at_the_bounds,
        ),
        Mistake(
            "so small a step from each bound still jumps over rows with a shorter range",
            "Do you need a step? What do a row's bounds say to each other?",
            *(
                stepped
                for step in (1e-4, 1e-6, 1e-9, 1e-12)
                for stepped in (
                    partial(_cheapest_at_the_bounds, step=step),
                    _at_one_weight(partial(_a_step_above_the_lower_bound, step=step)),
                )
            ),
        ),
        Mistake(
            "in float32 two bounds that differ may be the same number",
            "How short may a range be and still hold a weight? Which dtype do the costs have, "
            "and which do your bounds?",
            partial(_bounds_in_float32, from_the_start=False),
            partial(_bounds_in_float32, from_the_start=True),
        ),
        Mistake(
            "rivals that are cheaper in both costs set no bound here",
            "What does a row that is beaten in both have to wait for?",
            _opposite_signs_alone,
        ),
        Mistake(
            "w is divided by a alone",
            "Put w · a + (1 − w) · b as a multiple of w and a rest. Where does −w · b go?",
            _divided_by_the_first_cost,
        ),
        Mistake(
            "whether a bound is an upper one is decided by the second cost alone",
            "Put w · a + (1 − w) · b as a multiple of w and a rest. By what do you divide?",
            _sides_by_the_second_cost,
        ),
        Mistake(
            "these rows have the smallest product of costs",
            "Everybody adds up the two costs here. Which row has the smallest sum?",
            lambda costs: _marked(costs.prod(1).argmin()[None], len(costs)),
            lambda costs: costs.prod(1) == costs.prod(1).min(),
        ),
        Mistake(
            "some rows are let in that are beaten in both costs",
            "Such a row's bounds lie outside 0 and 1, or are 1 and 1 once they are cut. Which "
            "weights are between 0 and 1, and between these two?",
            _any_weight,
        ),
        Mistake(
            "each bound is taken as one from above and from below",
            "Dividing by a negative number turns ≤ round. On what does it depend whether a rival "
            "sets an upper bound or a lower one?",
            _signs_ignored,
        ),
        Mistake(
            "rows are compared with their neighbours only, and only once",
            "After a row has gone, two others are neighbours. Is each that is left still below the "
            "line between its new ones?",
            _below_the_chord_of_neighbours,
        ),
        Mistake(
            "these are the rows below the line between the best of each column",
            "Several rows may lie below it. Does each of them have its turn?",
            _below_the_chord_of_the_ends,
        ),
        Mistake(
            "a grid of weights over rescaled columns still misses rows",
            "However the columns are scaled: at which weight exactly do two rows cost the same?",
            *(partial(_rescaled_grid, steps=steps) for steps in (101, 1001, 10_001)),
        ),
        Mistake(
            "upper and lower bounds are exchanged: these would be favourites if more were better",
            "By hand: (6, 7) costs less than (10, 0) from w = 7/11 on. Does your code say 7/11 or "
            "4/11, from there on or up to there? Over the wrong dimension the same comes out: "
            "which dimension of a holds the rivals?",
            lambda costs: _somebodys_favourite(-costs),
        ),
        Mistake(
            "bounds are cut to 0 and 1 first, and ±inf is filled in afterwards",
            "A row that is beaten in both costs has its turn from w = 1 on, and perhaps no upper "
            "bound. May its w be as large as you like?",
            _cut_before_the_filling,
        ),
        *(
            Mistake(
                f"both sides take their {which} bound",
                "Two rivals say w ≤ 0.3 and w ≤ 0.6; two others w ≥ 0.1 and w ≥ 0.2. Which of each "
                "two decides?",
                partial(_same_end_of_both, lowest=which == "lowest"),
            )
            for which in ("lowest", "highest")
        ),
        Mistake(
            "w is not where both cost the same: it comes from another formula of a and b",
            "Set your w in. Is w · a + (1 − w) · b 0 there? Try a = −4 and b = 7.",
            partial(_by_formula, formula=lambda a, b: b / (a + b)),
            partial(_by_formula, formula=lambda a, b: a / (a + b)),
            partial(_by_formula, formula=lambda a, b: b / a),
            partial(_by_formula, formula=lambda a, b: -b / a),
            partial(_by_formula, formula=lambda a, b: -a / b),
            partial(_by_formula, formula=lambda a, b: a / (b - a)),
            partial(_by_formula, formula=lambda a, b: b - a),
            partial(_by_formula, formula=lambda a, b: (b - a) / b),
            partial(_by_formula, formula=lambda a, b: (b - a) / a),
            partial(_by_formula, formula=lambda a, b: b.abs() / (a.abs() + b.abs())),
            partial(_by_formula, formula=lambda a, b: a.abs() / (a.abs() + b.abs())),
        ),
        Mistake(
            "of the bounds on a side the last one counts",
            "Two rivals say w ≤ 0.3 and w ≤ 0.6, in this order. What does your loop keep, and "
            "which of the two decides?",
            _last_bounds,
            partial(_last_bounds, lower=False),
            partial(_last_bounds, upper=False),
        ),
        Mistake(
            "each row is compared with those further down only",
            "The last row has no rival then. May a row above it be cheaper?",
            _rivals_further_down,
        ),
        Mistake(
            "the best of each column and of equal weights are marked, and no others",
            "To somebody the first cost may matter ten times as much. Which row is best then?",
            _ends_and_equal_weights,
        ),
        Mistake(
            "weighted products are compared",
            "Everybody adds up the two costs here. Which row has the smallest weighted sum?",
            *(partial(_weighted_products, steps=steps) for steps in (101, 1001)),
        ),
        Mistake(
            "a row has to cost less than all others at a bound, and there one costs the same",
            "Between two bounds a row is the cheapest. Which weights lie there?",
            _strictly_cheapest_at_its_bounds,
        ),
        Mistake(
            "sums at equal weights are compared with those of the neighbours",
            "Other people weigh differently. Is a row below the line between two others if its "
            "sum is below the mean of their sums?",
            _below_the_middle_of_neighbours,
        ),
        Mistake(
            "sums at equal weights are compared with their mean",
            "Who is below the mean may still be above one rival. And who weighs equally?",
            lambda costs: costs.sum(1) < costs.sum(1).mean(),
        ),
        Mistake(
            "a row is marked as soon as one rival loses to it",
            "A favourite costs less than *all* others, at one and the same w. Which rivals "
            "have you asked?",
            lambda costs: (_bounds(costs)[0] < 0).any(1),
            lambda costs: (_bounds(costs)[0] > 0).any(1),
            lambda costs: (costs[:, None] < costs)[..., 0].any(1),
            lambda costs: (costs[:, None] < costs)[..., 1].any(1),
            lambda costs: (costs[:, None] < costs).any(-1).any(1),
        ),
        Mistake(
            "this is an answer for each pair of rows",
            "Which dimension holds a row's rivals? What has to hold for all of them at once?",
            lambda costs: _bounds(costs)[0] > 0,
        ),
        Mistake(
            "w is a / b here",
            "Set your w in. Is w · a + (1 − w) · b 0 there? Try a = −4 and b = 7.",
            _divided_by_the_second_cost,
        ),
        Mistake(
            "the rows have got lost: one bound is the same for all of them",
            "amin and amax without a dimension look at the whole table. Over which dimension "
            "are a row's rivals?",
            partial(_one_side_of_all_rows, side="upper"),
            partial(_one_side_of_all_rows, side="lower"),
        ),
        Mistake(
            "bounds from both sides are thrown together",
            "One rival says w ≤ 0.6, another w ≥ 0.2. May you take the lowest of both kinds?",
            partial(_middle_between_all_bounds),
            *(partial(_lowest_to_highest, fill=fill) for fill in (0.0, 0.5, 1.0)),
        ),
        Mistake(
            "of each side the mean of the bounds counts",
            "Two of three rivals are content with w = 0.5. Does the row cost less than all?",
            _mean_bounds,
        ),
        Mistake(
            "of each side the middle bound counts",
            "Two of three rivals are content with w = 0.5. Does the row cost less than all?",
            _middle_bounds,
        ),
        Mistake(
            "rivals are counted",
            "Is the row cheaper than all of them, and at one and the same w?",
            _cheaper_than_most,
        ),
        Mistake(
            "a grid of weights, however fine, misses rows that are best for a short range only",
            "However fine: at which weight exactly do two rows cost the same?",
            partial(_on_a_grid, steps=1_000_000),
        ),
        Mistake(
            "these are the other rows",
            "True is for rows that are somebody's favourite. Which rows have you marked?",
            lambda costs: ~_somebodys_favourite(costs),
        ),
        Mistake(
            "the rows have got lost: all of them share one answer",
            "w[a > b] is one long list. Which of its numbers belong to which row?",
            lambda costs: _bounds(costs)[1].amin() > 0,
        ),
        Mistake(
            "these are row numbers, not a bool for each row",
            "How long is your answer where one row beats all the others?",
            lambda costs: _somebodys_favourite(costs).nonzero()[:, 0],
        ),
    ],
    hints=(
        "Draw the rows as points. For given weights, equal sums lie on lines of one slope. Where "
        "does such a line, moved up from below, first touch a point?",
        "Beyond the w at which both cost the same: each rival with an a larger than b says at most "
        "this w. Each with a smaller one says at least this w. Which of each kind decides?",
        "A row has its turn if some w, above 0 and below 1, keeps all its bounds. Fill with ±inf "
        "where a rival sets none; a row and itself divide 0 by 0, which is nan, so leave it out.",
    ),
)
