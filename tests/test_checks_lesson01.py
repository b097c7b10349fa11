"""Lesson 01's exercises: answers in other styles, and wrong ones that were once misjudged."""

import numpy as np
import torch
from exercise_answers import right_answers, wrong_answers
from torch.nn import functional as F

from course_lab.checks.lesson01 import check_entropy, check_is_equivariant, check_previous
from course_utils import measures


def close(a, b):
    return torch.allclose(a, b, atol=1e-5)


# Right answers


def entropy_of_a_distribution(weights):
    return torch.distributions.Categorical(probs=weights).entropy()


def entropy_with_a_small_number(weights):
    return -(weights * (weights + 1e-12).log()).sum(-1)


def equivariant_from_inverse(f, x, perm):
    inverse = perm.argsort()
    return bool((f(x[inverse])[perm] - f(x)).abs().max() < 1e-4)


def equivariant_with_tolerances(f, x, perm):
    return torch.allclose(f(x)[perm], f(x[perm]), rtol=1e-3, atol=1e-6)


def equivariant_in_numpy(f, x, perm):
    return np.allclose(f(x[perm]).numpy(), f(x).numpy()[perm.numpy()], atol=1e-5)


def position_of_each_row(attend, start):
    equal = torch.zeros(len(start), 1)
    return (1 / attend(equal, equal, start[:, None]) - 1)[:, 0]


def previous_with_rounded_positions(attend, x, start):
    share = attend(torch.zeros(len(x), 3), torch.zeros(len(x), 3), start[:, None].double().float())
    p = (1 / share[:, 0] - 1).round()
    constant = torch.ones_like(p)
    target = (p - 1).clamp(min=0)
    q = torch.stack([-(target**2), 2 * target, -constant], 1) * 50
    return attend(q, torch.stack([constant, p, p * p], 1), x)


def previous_without_a_parabola(attend, x, start):
    """A line over the keys, and the word itself out of reach."""
    p = position_of_each_row(attend, start)[:, None]
    out_of_reach = torch.where(start[:, None] > 0, 0.0, -1e4) * torch.eye(len(x))
    keys = torch.cat([p, torch.eye(len(x))], 1)
    return attend(torch.cat([50 * torch.ones_like(p), out_of_reach], 1), keys, x)


def previous_in_double_precision(attend, x, start):
    """Places in float64, the rows as they are."""
    p = position_of_each_row(attend, start.double())[:, None].double()
    q = 1e6 * torch.cat([2 * (p - 1), -torch.ones_like(p)], 1)
    return attend(q, torch.cat([p, p**2], 1), x)


def previous_by_one_hot(attend, x, start):
    position = position_of_each_row(attend, start).round().long()
    target = F.one_hot((position - 1).clamp(min=0), 64).float()
    return attend(100 * target, F.one_hot(position, 64).float(), x)


def previous_with_places_beside_the_rows(attend, x, start):
    """The values have a further column, which is cut off."""
    p = position_of_each_row(attend, start)[:, None]
    q = 20 * torch.cat([2 * (p - 1), -torch.ones_like(p)], 1)
    return attend(q, torch.cat([p, p**2], 1), torch.cat([x, p], 1))[:, : x.shape[1]]


def previous_by_logarithms(attend, x, start):
    """A scale that is not even, with the step that it has there."""
    p = position_of_each_row(attend, start)[:, None]
    q = 1e6 * torch.cat([2 * p.clamp(min=1).log(), -torch.ones_like(p)], 1)
    return attend(q, torch.cat([p.log1p(), p.log1p() ** 2], 1), x)


test_right_answers_pass = right_answers(
    {
        check_entropy: [entropy_of_a_distribution, entropy_with_a_small_number],
        check_is_equivariant: [
            equivariant_from_inverse,
            equivariant_with_tolerances,
            equivariant_in_numpy,
        ],
        check_previous: [
            previous_with_rounded_positions,
            previous_by_one_hot,
            previous_without_a_parabola,
            previous_in_double_precision,
            previous_with_places_beside_the_rows,
            previous_by_logarithms,
        ],
    }
)


# Wrong answers


def compared_by(agree):
    """An answer that compares the right two tensors."""
    return lambda f, x, perm: bool(agree(f(x[perm]), f(x)[perm]))


def with_a_shuffle_of_its_own(f, x, perm):
    other = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    return close(f(x[other]), f(x)[other])


def previous_by_positions(count):
    """An answer that looks for the word before by positions of its own."""

    def answer(attend, x, start):
        p = count(start).float()
        q = 20 * torch.stack([2 * (p - 1), -torch.ones_like(p)], 1)
        return attend(q, torch.stack([p, p * p], 1), x)

    return answer


def previous_by_parabola(factor=20.0, scale=1.0, columns=None):
    """An answer with another factor, with places divided by a scale, or with other columns."""

    def answer(attend, x, start):
        p = position_of_each_row(attend, start)[:, None]
        if columns is not None:
            q, k = columns(p)
        else:
            p = p / scale
            q = torch.cat([2 * (p - 1 / scale), -torch.ones_like(p)], 1)
            k = torch.cat([p, p**2], 1)
        return attend(factor * q, k, x)

    return answer


def previous_with_places_by(place):
    """The parabola, with places made of the first word's share."""

    def answer(attend, x, start):
        zeros = torch.zeros(len(x), 1)
        p = place(attend(zeros, zeros, start[:, None])).float()
        q = 20 * torch.cat([2 * (p - 1), -torch.ones_like(p)], 1)
        return attend(q, torch.cat([p, p**2], 1), x)

    return answer


def previous_with_values(values):
    """The parabola, and other values than the rows of x."""

    def answer(attend, x, start):
        p = position_of_each_row(attend, start)[:, None]
        q = 20 * torch.cat([2 * (p - 1), -torch.ones_like(p)], 1)
        return attend(q, torch.cat([p, p**2], 1), values(x))

    return answer


def previous_by_cut_off_one_hot(attend, x, start):
    place = position_of_each_row(attend, start).long()
    target = F.one_hot((place - 1).clamp(min=0), 64).float()
    return attend(50 * target, F.one_hot(place, 64).float(), x)


def previous_by_one_hot_of_minus_one(attend, x, start):
    place = position_of_each_row(attend, start).round().long()
    return attend(F.one_hot(place - 1, 64).float(), F.one_hot(place, 64).float(), x)


def picked_by_stored_places(attend, x, start):
    return x[(position_of_each_row(attend, start).round().long() - 1).clamp(min=0)]


def mean_of_the_earlier(attend, x, start):
    p, zeros = position_of_each_row(attend, start)[:, None], torch.zeros(len(x), 1)
    return ((p + 1) * attend(zeros, zeros, x) - x) / p


def previous_with_two_columns(columns):
    """Two columns of the query and two of the key, made of each word's place."""

    def answer(attend, x, start):
        p = position_of_each_row(attend, start)[:, None]
        q1, q2, k1, k2 = (column * torch.ones_like(p) for column in columns(p))
        return attend(20 * torch.cat([q1, q2], 1), torch.cat([k1, k2], 1), x)

    return answer


def running_mean_without_the_word(attend, x, start):
    equal = torch.zeros(len(x), 1)
    return 2 * attend(equal, equal, x) - x


def sorted_by_place(attend, x, start):
    return x[position_of_each_row(attend, start).argsort()]


def previous_counting_with(queries):
    """The parabola, with places from weights that these queries and the rows as keys make."""

    def answer(attend, x, start):
        p = 1 / attend(queries(x), x, start[:, None]) - 1
        q = 20 * torch.cat([2 * (p - 1), -torch.ones_like(p)], 1)
        return attend(q, torch.cat([p, p**2], 1), x)

    return answer


test_natural_mistakes_are_named = wrong_answers(
    "mistake",
    {
        check_entropy: [
            (lambda w: -(w * w.log2()).sum(-1), "bits, not nats"),
            (lambda w: -torch.xlogy(w, w).sum(), "one number for the whole"),
        ],
        check_is_equivariant: [
            (with_a_shuffle_of_its_own, "order that perm does not make"),
            (
                lambda f, x, perm: close(f(x.roll(1, 0)), f(x).roll(1, 0)),
                "order that perm does not make",
            ),
            (compared_by(lambda a, b: (a - b).max() < 1e-4), "one sign"),
            (compared_by(lambda a, b: torch.allclose(a, b, atol=0.01)), "far above rounding"),
            (lambda f, x, perm: close(f(x[perm])[perm], f(x)), "its inverse or once more"),
            (lambda f, x, perm: close(f(x[perm]), f(x)[perm.argsort()]), "its inverse or once"),
            (lambda f, x, perm: close(f(x[perm]), x[perm]), "compared with the input"),
            (compared_by(lambda a, b: close(F.normalize(a), F.normalize(b))), "the directions"),
            (compared_by(lambda a, b: (a - b).abs().mean() < 1e-5), "differences are averaged"),
            (
                lambda f, x, perm: close(f(x.index_select(1, perm)), f(x).index_select(1, perm)),
                "the features are shuffled",
            ),
            (
                compared_by(lambda a, b: torch.cosine_similarity(a, b).mean() > 0.99999),
                "the directions",
            ),
            (compared_by(lambda a, b: close(a.sort(0)[0], b.sort(0)[0])), "which rows there are"),
            (compared_by(lambda a, b: torch.cdist(a, b).amin(1).max() < 0.01), "which rows there"),
            (compared_by(lambda a, b: torch.isclose(a, b, atol=1e-5).any()), "a single number"),
            *(
                (compared_by(lambda a, b, rows=rows: close(a[rows], b[rows])), "not every row")
                for rows in (
                    -1,
                    [0, -1],
                    slice(None, None, 2),
                    slice(1, None, 2),
                    slice(1, None),
                    slice(-1),
                    slice(3),
                )
            ),
            (compared_by(lambda a, b: close(a[:, -1], b[:, -1])), "not every feature"),
            (compared_by(lambda a, b: close(a.diag(), b.diag())), "only the diagonal"),
            (compared_by(lambda a, b: close(a.sum(1), b.sum(1))), "of each row only one number"),
            (compared_by(lambda a, b: close(a.amax(1), b.amax(1))), "of each row only one number"),
            (
                compared_by(lambda a, b: torch.equal(a.argmax(1), b.argmax(1))),
                "of each row only one number",
            ),
            (compared_by(lambda a, b: close(a @ a.T, b @ b.T)), "how the rows lie to one another"),
            (
                compared_by(lambda a, b: torch.isclose(a, b, atol=1e-5).float().mean() > 0.95),
                "most of it is enough",
            ),
            (compared_by(lambda a, b: close(a.norm(), b.norm())), "one number of the whole"),
            (lambda f, x, perm: close(f(f(x[perm])), f(f(x))[perm]), "applied twice"),
            (lambda f, x, perm: close(f(f(x[perm])), f(f(x)[perm])), "applied twice"),
            (
                lambda f, x, perm: close(f(x[perm]), f(x)[perm]) or close(f(x[perm])[perm], f(x)),
                "either of two",
            ),
            (
                lambda f, x, perm: close(f(x[perm]), f(x)[perm]) or close(f(x[perm]), f(x)),
                "either of two",
            ),
            (lambda f, x, perm: close(f(x[perm]), f(x)[perm[perm]]), "once more"),
            (lambda f, x, perm: close(f(x[perm][perm]), f(x)[perm][perm]), "shuffled twice"),
            (lambda f, x, perm: not close(f(x[perm]), f(x)[perm]), "are exchanged"),
            (lambda f, x, perm: close(f(x[:, perm]), f(x)[:, perm]), "the features are shuffled"),
            (lambda f, x, perm: f(x[perm]) - f(x)[perm], "not a verdict"),
            (lambda f, x, perm: torch.isclose(f(x[perm]), f(x)[perm], atol=1e-5), "not a verdict"),
        ],
        check_previous: [
            (previous_with_two_columns(lambda p: [2 * p - 1, -1, p, p**2]), "share the top"),
            (previous_with_two_columns(lambda p: [2, -1, p, p**2]), "all queries ask the same"),
            (previous_with_two_columns(lambda p: [2 * (p - 1), -1, p**2, p]), "do not fit"),
            (
                previous_with_two_columns(lambda p: [2 * (p / 64 - 1), -1, p / 64, (p / 64) ** 2]),
                "a step of one word has another size",
            ),
            (running_mean_without_the_word, "rows of x meet outside attend"),
            (sorted_by_place, "taken for a place in storage"),
            (
                previous_by_positions(lambda start: torch.arange(len(start)) * 1.0),
                "counted in the order of storage",
            ),
            (
                previous_by_positions(lambda start: start.cumsum(0)),
                "counted in the order of storage",
            ),
            *(
                (previous_by_parabola(factor), "mixed with its neighbours")
                for factor in (0.5, 1, 2, 3, 4, 5, 7, 8)
            ),
            *((previous_by_parabola(1, scale), "mixed with") for scale in (2, 64)),
            (
                previous_by_parabola(
                    columns=lambda p: (
                        torch.cat([p - 1, -torch.ones_like(p)], 1),
                        torch.cat([p, p**2], 1),
                    )
                ),
                "half-way back",
            ),
            (
                previous_by_parabola(
                    5.0,
                    columns=lambda p: (
                        torch.cat([2 * (p - 1), torch.ones_like(p)], 1),
                        torch.cat([-p, p**2], 1),
                    ),
                ),
                "lowest where they should be highest",
            ),
            (previous_by_parabola(columns=lambda p: (p - 1, p)), "rise all the way"),
            (previous_by_parabola(1.0, columns=lambda p: (p - 1, p)), "rise all the way"),
            (previous_with_two_columns(lambda p: [2 * (p - 1), 1, p, p**2]), "rise all the way"),
            (previous_with_two_columns(lambda p: [2 * (p + 1), -1, p, p**2]), "is hidden"),
            (previous_with_two_columns(lambda p: [2 * p, -1, p, p**2]), "gets itself"),
            (previous_with_places_by(lambda share: share), "the share itself"),
            (previous_with_places_by(lambda share: (1 / share - 1).long()), "cut off to whole"),
            (previous_counting_with(lambda x: x), "uneven weights"),
            (previous_counting_with(torch.ones_like), "uneven weights"),
            (lambda attend, x, start: attend(x.roll(1, 0), x, x), "stored before its own"),
            (lambda attend, x, start: attend(x, x, x), "made of words know"),
            (lambda attend, x, start: attend(100 * x, x, x), "made of words know"),
            (previous_with_places_by(lambda share: 1 - share), "the share itself"),
            (previous_with_places_by(lambda share: 100 * (1 - share)), "the share itself"),
            (previous_with_places_by(lambda share: len(share) * share), "the share itself"),
            (previous_with_places_by(lambda share: -share.log()), "not equally far apart"),
            (previous_with_places_by(lambda share: -100 * share.log2()), "not equally far apart"),
            (previous_by_parabola(columns=lambda p: (p.sqrt(), p.sqrt())), "not equally far"),
            (previous_by_cut_off_one_hot, "cut off to whole"),
            (previous_by_one_hot_of_minus_one, "a place below 0"),
            (mean_of_the_earlier, "of all earlier words"),
            (
                previous_by_parabola(1.0, columns=lambda p: ((p - 1).cos(), p.cos())),
                "one number each",
            ),
            (previous_by_parabola(columns=lambda p: (p - 1, 1 / p)), "not a finite number"),
            (previous_with_values(torch.ones_like), "added up are not the rows"),
            (picked_by_stored_places, "taken for a place in storage"),
            (
                lambda attend, x, start: position_of_each_row(attend, start)[:, None],
                "one number comes back",
            ),
        ],
    },
)


def overwriting(weights):
    return -weights.mul_(weights.clamp(min=1e-30).log()).sum(-1)


def picked_by_positions(attend, x, start):
    """The order, read off what attend shows, and then rows picked by it."""
    position = position_of_each_row(attend, start).round().long()
    return x[position.argsort()][(position - 1).clamp(min=0)]


def picked_and_passed_through_attend(attend, x, start):
    """The same, and then each row attends to itself."""
    one_hot = torch.eye(len(x)) * 50
    return attend(one_hot, one_hot, picked_by_positions(attend, x, start))


def order_read_off(name):
    """The place of each row from an attribute of attend."""

    def answer(attend, x, start):
        p = getattr(attend, name)[:, None].float()
        q = 20 * torch.cat([2 * (p - 1), -torch.ones_like(p)], 1)
        return attend(q, torch.cat([p, p**2], 1), x)

    return answer


def overwritten(attend, x, start):
    """What attend gave for the rows, overwritten by rows picked by their place."""
    rows = picked_by_positions(attend, x, start)
    return attend(torch.zeros(len(x), 1), torch.zeros(len(x), 1), x).copy_(rows)


def sorted_outside(attend, x, start):
    """Places are sorted, and each word asks for the row of storage that came out before it."""
    places = position_of_each_row(attend, start).round()
    stored_before = places.argsort()[(places - 1).clamp(min=0).long()]
    one_hot = torch.eye(len(x))
    return attend(100 * one_hot[stored_before], one_hot, x)


def compared_outside(attend, x, start):
    """Each word's place is compared with all others', a column for each row of storage."""
    places = position_of_each_row(attend, start).round()
    wanted = ((places - 1).clamp(min=0)[:, None] == places).float()
    return attend(100 * wanted, torch.eye(len(x)), x)


def test_attend_shows_nothing_but_its_calls():
    attend = check_previous.cases[0][0]
    assert [name for name in dir(attend) if not name.startswith("_")] == []


test_rules_are_kept = wrong_answers(
    "rule",
    {
        check_entropy: [
            (measures.entropy, "comes from entropy"),
            (overwriting, "changes its argument weights in place"),
        ],
        check_previous: [
            (picked_by_positions, "no call of attend gave these rows"),
            (picked_and_passed_through_attend, "no call of attend gave these rows"),
            (overwritten, "no call of attend gave these rows"),
            (sorted_outside, "change places in storage"),
            (compared_outside, "change places in storage"),
            (order_read_off("_order"), "more of attend than what a call of it returns"),
        ],
    },
)
test_luck_is_noticed = wrong_answers(
    "wrong",
    {check_is_equivariant: [(lambda f, x, perm: torch.rand(1).item() < 0.5, "two different")]},
)
