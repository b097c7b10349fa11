"""Lesson 02's exercises: answers in other styles, and wrong ones that get a fitting word."""

import cmath
import math

import numpy as np
import pytest
import torch
from exercise_answers import right_answers, wrong_answers

from course_lab.checks.lesson02 import (
    check_before_after,
    check_knows_its_axes,
    check_looking_back,
    check_tell_time,
)
from course_utils.encodings.functional import shift_matrix, sinusoidal_table

TURN = 2 * math.pi


def speeds_of(vector, base):
    return [base ** (-2 * m / len(vector)) for m in range(len(vector) // 2)]


# A head that looks back. Right answers


def turn_of(k, d_model):
    """A matrix that turns each hand on by k positions, written entry by entry."""
    W = torch.zeros(d_model, d_model, dtype=torch.float64)
    for m in range(d_model // 2):
        angle = k * 10000 ** (-2 * m / d_model)
        W[2 * m, 2 * m] = W[2 * m + 1, 2 * m + 1] = math.cos(angle)
        W[2 * m, 2 * m + 1] = math.sin(angle)
        W[2 * m + 1, 2 * m] = -math.sin(angle)
    return W


def keys_ahead(k, gain, d_model):
    return gain * torch.eye(d_model), turn_of(k, d_model).float()


def queries_back(k, gain, d_model):
    return [gain * turn_of(-k, d_model), torch.eye(d_model, dtype=torch.float64)]


def each_half_the_way(k, gain, d_model):
    return gain**0.5 * turn_of(-k / 2, d_model), gain**0.5 * turn_of(k / 2, d_model)


def turned_back_together(k, gain, d_model):
    """Both go through one more rotation, which a dot product does not see."""
    together = turn_of(11, d_model)
    return together, gain * together @ turn_of(k, d_model)


# A head that looks back. Wrong answers


def reflected(k, gain, d_model):
    W_k = turn_of(k, d_model)
    W_k[:, 1::2] *= -1
    return gain * torch.eye(d_model), W_k


def sines_and_cosines_exchanged(k, gain, d_model):
    swap = torch.eye(d_model).view(-1, 2, d_model).flip(1).flatten(0, 1)
    return gain * torch.eye(d_model), swap @ turn_of(k, d_model).float() @ swap


def by_blocks(block_of, exponent=lambda m, d: -2 * m / d):
    """An answer whose keys go through ``block_of(cos, sin)``, hand by hand."""

    def answer(k, gain, d_model):
        blocks = []
        for m in range(d_model // 2):
            angle = k * 10000 ** exponent(m, d_model)
            blocks.append(torch.tensor(block_of(math.cos(angle), math.sin(angle))))
        return gain * torch.eye(d_model), torch.block_diag(*blocks)

    return answer


def a_turn(cos, sin):
    return [[cos, sin], [-sin, cos]]


def a_turn_in_degrees(cos, sin):
    angle = math.radians(math.atan2(sin, cos) % TURN)
    return a_turn(math.cos(angle), math.sin(angle))


def fitted_to_rows(k, gain, d_model):
    """The shift by least squares on some rows of the table, without a sine."""
    table = sinusoidal_table(torch.arange(200 + k, dtype=torch.float64), d_model)
    shift = torch.linalg.lstsq(table[:200], table[k:], driver="gelsd").solution
    return gain * torch.eye(d_model), shift.T


def fitted_to_scores(k, gain, d_model):
    """Keys as they are, and queries that give the right scores at the first positions."""
    table = sinusoidal_table(torch.arange(64, dtype=torch.float64), d_model)
    wanted = gain * table @ (table @ turn_of(k, d_model).T).T
    return (torch.linalg.pinv(table) @ wanted @ torch.linalg.pinv(table).T).T, torch.eye(d_model)


def at_other_speeds(k, gain, d_model):
    angles = 1.003 * k * 10000.0 ** (-2 * torch.arange(d_model // 2) / d_model)
    blocks = [torch.tensor(a_turn(math.cos(a), math.sin(a))) for a in angles.tolist()]
    return gain * torch.eye(d_model), torch.block_diag(*blocks)


def in_steps_of_two(k, gain, d_model):
    W = torch.zeros(d_model, d_model)
    for m in range(0, d_model, 2):
        angle = k * 10000 ** (-2 * m / d_model)
        sin, cos = math.sin(angle), math.cos(angle)
        W[m : m + 2, m : m + 2] = torch.tensor([[cos, sin], [-sin, cos]])
    return gain * torch.eye(d_model), W


def only_hands(reached_of):
    """An answer that fills blocks of an identity matrix for the hands that a loop reaches."""

    def answer(k, gain, d_model):
        W_k = torch.eye(d_model)
        for m in reached_of(d_model):
            W_k[2 * m : 2 * m + 2, 2 * m : 2 * m + 2] = turn_of(k, d_model)[
                2 * m : 2 * m + 2, 2 * m : 2 * m + 2
            ]
        return gain * torch.eye(d_model), W_k

    return answer


# Before or after? Right answers


def slowest_hand_only(d_model):
    W = torch.zeros(d_model, d_model)
    W[-2, -1] = 1
    W[-1, -2] = -1
    return W


def a_faster_hand(d_model):
    """The fastest hand that stays below half a turn over 99 positions."""
    m = math.ceil(d_model * math.log(99 / math.pi) / math.log(10_000) / 2)
    rows = [[0.0] * d_model for _ in range(d_model)]
    rows[2 * m][2 * m + 1], rows[2 * m + 1][2 * m] = 5.0, -5.0
    return torch.tensor(rows, dtype=torch.float64)


def by_a_diagonal(d_model):
    last = (torch.arange(d_model - 1) == d_model - 2).float()
    return torch.diag(last, 1) - torch.diag(last, -1)


# Right signs by more than is needed


def by_kronecker_product(d_model):
    return torch.kron(torch.eye(d_model // 2), torch.tensor([[0.0, 1.0], [-1.0, 0.0]]))


def slow_hands(d_model):
    W = by_kronecker_product(d_model)
    W[: d_model // 2] = 0
    return W


def by_small_shifts(d_model):
    shifts = shift_matrix(1e-3, d_model) - shift_matrix(-1e-3, d_model)
    return shifts + 1e3 * slowest_hand_only(d_model)


# Tell the time. Right answers


def by_complex_numbers(vector, base):
    position = 0.0
    hands = zip(speeds_of(vector, base), vector[0::2].tolist(), vector[1::2].tolist(), strict=True)
    for speed, sin, cos in reversed(list(hands)):
        position += cmath.phase(complex(cos, sin) * cmath.exp(-1j * position * speed)) / speed
    return round(position)


def by_recursion(vector, base, m=0):
    theta = base ** (-2 * m / len(vector))
    angle = math.atan2(vector[2 * m], vector[2 * m + 1])
    coarse = by_recursion(vector, base, m + 1) * theta if 2 * m + 2 < len(vector) else 0.0
    position = (angle + TURN * round((coarse - angle) / TURN)) / theta
    return round(position) if m == 0 else position


def in_float32(vector, base):
    m = torch.arange(len(vector) // 2)
    theta = torch.as_tensor(float(base)) ** (-2 * m / len(vector))
    angles = torch.atan2(vector[::2], vector[1::2])
    rough = angles[-1] / theta[-1]
    for i in range(len(m) - 2, -1, -1):
        turns = torch.round((rough * theta[i] - angles[i]) / TURN)
        rough = (angles[i] + TURN * turns) / theta[i]
    return int(rough.round())


# Tell the time. Wrong answers


def refining(turns_of, step=1, exponent=-2, turn=TURN):
    """From slow to fast hands; ``turns_of(rough angle, measured angle)``."""

    def answer(vector, base):
        angles = torch.atan2(vector[0::2], vector[1::2]).tolist()
        rough = 0.0
        for m in reversed(range(0, len(angles), step)):
            theta = base ** (exponent * m / len(vector))
            rough = (angles[m] + turn * turns_of(rough * theta, angles[m])) / theta
        return round(rough)

    return answer


def nearest_turns(rough, angle):
    return round((rough - angle) / TURN)


def mean_of_the_slower_half(vector, base):
    angles = torch.atan2(vector[0::2], vector[1::2]).tolist()
    places = [angle / speed for angle, speed in zip(angles, speeds_of(vector, base), strict=True)]
    slow = places[len(places) // 2 :]
    return round(sum(slow) / len(slow))


def in_whole_wavelengths(vector, base):
    angles = torch.atan2(vector[0::2], vector[1::2]).tolist()
    rough = angles[-1] / speeds_of(vector, base)[-1]
    for angle, speed in list(zip(angles, speeds_of(vector, base), strict=True))[-2::-1]:
        wavelength = TURN / speed
        rough = rough // wavelength * wavelength + angle / speed
    return round(rough)


def with_two_angles(vector, base):
    rough = 0.0
    angles = torch.atan2(vector[0::2], vector[1::2]).tolist()
    for angle, speed in reversed(list(zip(angles, speeds_of(vector, base), strict=True))):
        rough = (angle % TURN + TURN * nearest_turns(rough * speed, angle)) / speed
    return round(rough)


def with_m_from_1(vector, base):
    angles = torch.atan2(vector[0::2], vector[1::2]).tolist()
    return refined(angles, [base ** (-2 * (m + 1) / len(vector)) for m in range(len(angles))])


def mean_of_refined(vector, base):
    angles = torch.atan2(vector[0::2], vector[1::2]).tolist()
    rough, values = 0.0, []
    for angle, speed in reversed(list(zip(angles, speeds_of(vector, base), strict=True))):
        rough = (angle + TURN * nearest_turns(rough * speed, angle)) / speed
        values.append(rough)
    return round(sum(values) / len(values))


def refined(angles, speeds):
    rough = angles[-1] / speeds[-1]
    for angle, speed in list(zip(angles, speeds, strict=True))[-2::-1]:
        rough = (angle + TURN * round((rough * speed - angle) / TURN)) / speed
    return round(rough)


def by_arcsine(vector, base):
    angles = [math.asin(max(-1, min(1, sine))) for sine in vector[0::2].tolist()]
    return refined(angles, speeds_of(vector, base))


def by_arccosine(vector, base):
    return refined(vector[1::2].clamp(-1, 1).acos().tolist(), speeds_of(vector, base))


def by_arctangent(vector, base):
    return refined((vector[0::2] / vector[1::2]).atan().tolist(), speeds_of(vector, base))


def with_half_the_exponent(vector, base):
    angles = torch.atan2(vector[0::2], vector[1::2]).tolist()
    return refined(angles, [base ** (-m / len(vector)) for m in range(len(vector) // 2)])


def slowest_angle_above_zero(vector, base):
    angles = torch.atan2(vector[0::2], vector[1::2]) % TURN
    return refined(angles.tolist(), speeds_of(vector, base))


# One more right answer


def nearest_of_few(vector, base):
    """The slower hands give a rough position; a few rows of the table the exact one."""
    rough = by_complex_numbers(vector, base)
    near = torch.arange(max(rough - 5, 0), rough + 6)
    return near[(sinusoidal_table(near, len(vector), base) @ vector).argmax()].item()


def one_random_word(module):
    """Equal texts of one random word; places are compared by the differences of neighbours."""
    out = module(torch.randn(8).expand(3, 6, 8).clone())
    texts_agree = bool((out - out[0]).abs().max() < 1e-6)
    return texts_agree and bool(out[0].diff(dim=0).abs().max() > 1e-6)


def alone_or_second(module):
    """A text alone, and as the second of a batch; then its words with one another."""
    text = torch.full((1, 7, 8), 0.5)
    alone, second = module(text)[0], module(torch.cat([text - 1, text]))[1]
    return torch.allclose(alone, second) and len(alone.unique(dim=0)) > 1


test_right_answers_pass = right_answers(
    {
        check_knows_its_axes: [one_random_word, alone_or_second],
        check_looking_back: [
            keys_ahead,
            queries_back,
            each_half_the_way,
            turned_back_together,
        ],
        check_before_after: [slowest_hand_only, a_faster_hand, by_a_diagonal],
        check_tell_time: [by_complex_numbers, by_recursion, in_float32, nearest_of_few],
    }
)


def from_the_fastest(vector, base):
    position = 0.0
    for m, theta in enumerate(speeds_of(vector, base)):
        angle = math.atan2(vector[2 * m], vector[2 * m + 1])
        position = (angle + TURN * round((position * theta - angle) / TURN)) / theta
    return round(position)


def fastest_angle(vector):
    return math.atan2(vector[0], vector[1])


def by_slowest_hand(vector, base):
    return int(math.atan2(vector[-2], vector[-1]) / speeds_of(vector, base)[-1])


def mean_of_all(vector, base):
    angles = torch.atan2(vector[0::2], vector[1::2]).double()
    return round(
        (angles / torch.tensor(speeds_of(vector, base), dtype=torch.float64)).mean().item()
    )


def angles_from_0(vector, base):
    position = 0.0
    angles = (torch.atan2(vector[0::2], vector[1::2]) % TURN).tolist()
    for angle, speed in reversed(list(zip(angles, speeds_of(vector, base), strict=True))):
        position = (angle + TURN * round(position * speed / TURN)) / speed
    return round(position)


def without_the_slowest(vector, base):
    position = 0.0
    angles = torch.atan2(vector[0::2], vector[1::2]).tolist()
    for angle, speed in list(zip(angles, speeds_of(vector, base), strict=True))[-2::-1]:
        position = (angle + TURN * nearest_turns(position * speed, angle)) / speed
    return round(position)


def without_hand_1(vector, base):
    position = 0.0
    angles = torch.atan2(vector[0::2], vector[1::2]).tolist()
    hands = list(zip(angles, speeds_of(vector, base), strict=True))
    for angle, speed in reversed(hands[:1] + hands[2:]):
        position = (angle + TURN * nearest_turns(position * speed, angle)) / speed
    return round(position)


test_wrong_answers_get_a_fitting_word = wrong_answers(
    "wrong",
    {
        check_looking_back: [
            (lambda k, gain, d: turn_of(k, d), "expected two tensors, W_q and W_k, got Tensor"),
            (lambda k, gain, d: (gain, turn_of(k, d)), "W_q is the number 10. Which matrix"),
            (lambda k, gain, d: (None, turn_of(k, d)), "W_q: expected a torch tensor, got NoneTyp"),
            (lambda k, gain, d: keys_ahead(k, gain, 128), "W_q: expected shape (64, 64)"),
            (lambda k, gain, d: (torch.eye(d), torch.eye(d) * torch.nan), "W_k must hold finite"),
            (lambda k, gain, d: keys_ahead(k + 2, gain, d), "largest score at key 27"),
            (lambda k, gain, d: keys_ahead(k, gain + 1, d), "at the right key, 29. But the score"),
            (fitted_to_rows, "0 to 63, but not from 5,000 on"),
            (fitted_to_scores, "0 to 63, but not from 5,000 on"),
            (at_other_speeds, "and has to score"),
            (reflected, "its largest score at key"),
            (by_blocks(lambda cos, sin: [[1, sin], [-sin, 1]]), "query 32 has its largest score"),
        ],
        check_before_after: [
            (slow_hands, "all signs are right, but 32 entries are not 0. 2 are enough"),
            (by_small_shifts, "all signs are right, but"),
            (lambda d: 3 * torch.eye(d), "query 0 and key 1 score"),
            (lambda d: torch.zeros(d, d), "clearly"),
            (lambda d: torch.full((d, d), torch.nan), "finite real"),
            (lambda d: -a_faster_hand(d), "The key is later, so it has to be clearly below 0"),
            (lambda d: slowest_hand_only(64), "expected shape (128, 128), got (64, 64)"),
            (lambda d: shift_matrix(5, d), "The sign is wrong for"),
            (lambda d: np.eye(d), "expected a torch tensor"),
            (lambda d: torch.eye(d) * 1j, "finite real"),
            (lambda d: torch.randn(d, d), "gives two different answers"),
        ],
        check_tell_time: [
            (lambda vector, base: float(by_recursion(vector, base)), "as a float"),
            (
                lambda vector, base: by_recursion(vector, base) + 1,
                "expected 123456, got 123457",
            ),
            (lambda vector, base: vector[0], "called with"),
            (without_hand_1, "expected 234567, got"),
        ],
    },
)


test_known_mistakes_are_named_however_they_are_written = wrong_answers(
    "mistake",
    {
        check_knows_its_axes: [
            (lambda module: alone_or_second(lambda x: 0 * x + module(0 * x)), "hide a factor"),
            (lambda module: torch.equal(*module(torch.ones(2, 3, 8))), "without any position"),
            (lambda module: bool(module(torch.ones(2, 3, 8))[0].var(0).any()), "both axes"),
        ],
        check_looking_back: [
            (sines_and_cosines_exchanged, "the best key is k ahead"),
            (lambda k, gain, d: (gain * turn_of(k, d), torch.eye(d)), "the best key is k ahead"),
            (lambda k, gain, d: turned_back_together(-k, gain, d), "the best key is k ahead"),
            (lambda k, gain, d: keys_ahead(k, gain * d**0.5, d), "are not divided by √D"),
            (lambda k, gain, d: keys_ahead(k, gain / d, d), "divide the scores by √D too"),
            (lambda k, gain, d: keys_ahead(0, gain, d), "looks at its own position"),
            (lambda k, gain, d: (torch.eye(d), turn_of(k, d)), "the gain is missing"),
            (lambda k, gain, d: keys_ahead(1, gain, d), "the shift is by 1, whatever k"),
            (in_steps_of_two, "your m goes up by 2 already"),
            (by_blocks(a_turn, lambda m, d: -2 * (m + 1) / d), "m runs from 1"),
            (by_blocks(a_turn, lambda m, d: -m / (d // 2 - 1)), "−m/(D/2 − 1)"),
            (by_blocks(a_turn_in_degrees), "taken for degrees"),
            (lambda k, gain, d: keys_ahead(k, gain**0.5, d), "√gain stands in one"),
            (by_blocks(lambda cos, sin: [[cos, sin], [-sin, cos]], lambda m, d: -2 * m // d), "//"),
            (by_blocks(lambda cos, sin: [[cos, sin], [sin, cos]]), "stretch the hands"),
            (by_blocks(lambda cos, sin: [[cos, -sin], [-sin, cos]]), "stretch the hands"),
            (by_blocks(lambda cos, sin: [[sin, cos], [cos, -sin]]), "have changed places"),
            (by_blocks(lambda cos, sin: [[sin, cos], [-cos, sin]]), "have changed places"),
            (
                lambda k, gain, d: (gain * turn_of(-k, d), turn_of(k, d)),
                "the best key is 2k away",
            ),
            (
                lambda k, gain, d: (gain * turn_of(k, d), turn_of(-k, d)),
                "the best key is 2k away",
            ),
            (by_blocks(lambda cos, sin: [[cos, sin], [sin, -cos]]), "reflect the hands"),
            (by_blocks(lambda cos, sin: [[-cos, sin], [sin, cos]]), "reflect the hands"),
            (by_blocks(a_turn, lambda m, d: 2 * m / d), "later hands are faster"),
            (by_blocks(a_turn, lambda m, d: -2 * (d // 2 - 1 - m) / d), "in the wrong order"),
            (only_hands(lambda d: range(d // 2 - 1)), "some hands stand still"),
            (only_hands(lambda d: range(1, d // 2)), "some hands stand still"),
            (only_hands(lambda d: range(d // 4)), "some hands stand still"),
            (lambda k, gain, d: (gain * torch.eye(d), k * turn_of(1, d)), "is multiplied by k"),
            (lambda k, gain, d: (torch.eye(d) + gain, turn_of(k, d)), "the gain is added"),
        ],
        check_before_after: [
            (lambda d: -slowest_hand_only(d), "the wrong way round"),
            (by_kronecker_product, "with all hands at work"),
        ],
        check_tell_time: [
            (by_arcsine, "from the sine alone"),
            (by_arccosine, "from the cosine alone"),
            (by_arctangent, "from sine / cosine alone"),
            (with_half_the_exponent, "the exponent −m/D"),
            (slowest_angle_above_zero, "between 0 and 2π"),
            (from_the_fastest, "from the fastest hand to the slowest"),
            (refining(nearest_turns, exponent=-4), "the exponent −4m/D"),
            (refining(nearest_turns, turn=1), "as if they were radians"),
            (refining(lambda rough, angle: round(rough / TURN)), "from the rough value alone"),
            (refining(lambda rough, angle: int(rough / TURN)), "from the rough value alone"),
            (refining(lambda rough, angle: int((rough - angle) / TURN)), "of a turn is cut off"),
            (refining(lambda rough, angle: rough // TURN), "from the rough value alone"),
            (in_whole_wavelengths, "from the rough value alone"),
            (refining(lambda rough, angle: (rough - angle) // TURN), "of a turn is cut off"),
            (refining(lambda rough, angle: math.ceil((rough - angle) / TURN)), "rounded up"),
            (refining(lambda rough, angle: nearest_turns(angle, rough)), "the wrong way round"),
            (with_two_angles, "and one between 0 and 2π is added"),
            (with_m_from_1, "the speeds start at m = 1"),
            (mean_of_refined, "rough and refined values are averaged"),
            (refining(nearest_turns, step=2), "every other hand"),
            (refining(lambda rough, angle: (rough - angle) / TURN), "the position stays at 0"),
            (without_the_slowest, "the slowest hand is left out"),
            (lambda vector, base: round(fastest_angle(vector)), "what the fastest hand alone says"),
            (lambda vector, base: int(fastest_angle(vector)), "what the fastest hand alone says"),
            (refining(lambda rough, angle: 0), "what the fastest hand alone says"),
            (by_slowest_hand, "what the slowest hand alone says"),
            (mean_of_all, "the mean of what all hands say"),
            (angles_from_0, "from the rough value alone"),
            (mean_of_the_slower_half, "what the slow hands say"),
        ],
    },
)


# Tell the time. A search breaks the rule


def search(vector, base):
    positions = torch.arange(int(base / 2) + 1)
    return int((sinusoidal_table(positions, len(vector), base) @ vector).argmax())


def search_with_numpy(vector, base):
    row, positions = vector.double().numpy(), np.arange(int(base / 2) + 1)
    scores = np.zeros(len(positions))
    for m, speed in enumerate(speeds_of(vector, base)):
        scores += row[2 * m] * np.sin(positions * speed)
        scores += row[2 * m + 1] * np.cos(positions * speed)
    return int(scores.argmax())


def search_by_a_loop(vector, base):
    """Only among those that the slow hands leave: some thousand, one after the other."""
    row, theta = vector.tolist(), speeds_of(vector, base)
    middle = by_recursion(vector, base, max(0, len(theta) - 3)) if len(theta) > 3 else 0
    reach = 0.15 / theta[-3] if len(theta) > 3 else base / 2
    low, high = middle - reach, middle + reach
    best = (-math.inf, 0)
    for p in range(max(0, math.floor(low)), math.ceil(high) + 1):
        score = 0.0
        for m, speed in enumerate(theta):
            score += row[2 * m] * math.sin(p * speed) + row[2 * m + 1] * math.cos(p * speed)
        best = max(best, (score, p))
    return best[1]


def search_by_turning_on(vector, base):
    """The same few thousand, in a loop that calls nothing: each step turns all hands on."""
    theta, row = speeds_of(vector, base), vector.view(-1, 2).tolist()
    pull = [complex(cos, -sin) for sin, cos in row]
    steps = [cmath.exp(1j * speed) for speed in theta]
    middle = by_recursion(vector, base, max(0, len(theta) - 3)) if len(theta) > 3 else 0
    reach = 0.15 / theta[-3] if len(theta) > 3 else base / 2
    low, high = max(0, math.floor(middle - reach)), math.ceil(middle + reach)
    hands = [cmath.exp(1j * speed * low) for speed in theta]
    places = range(len(theta))
    best, best_position = -math.inf, low
    for p in range(low, high + 1):
        score = 0.0
        for m in places:
            score += (pull[m] * hands[m]).real
            hands[m] *= steps[m]
        if score > best:
            best, best_position = score, p
    return best_position


def search_in_pieces(vector, base):
    """All positions, some hundred at a time: the hands of a piece are those before, turned on."""
    speeds = torch.tensor(speeds_of(vector, base), dtype=torch.float64)
    piece = 2048 // len(speeds)
    angles = torch.arange(piece)[:, None] * speeds
    turns = torch.polar(torch.ones_like(angles), angles)
    hands = torch.complex(vector[1::2].double(), -vector[0::2].double())
    onward = torch.polar(torch.ones_like(speeds), piece * speeds)
    best, best_position = -math.inf, 0
    for first in range(0, int(base / 2) + 1, piece):
        score, place = (turns @ hands).real[: int(base / 2) + 1 - first].max(0)
        if score > best:
            best, best_position = score.item(), first + int(place)
        hands = hands * onward
    return best_position


def search_in_arrays(size):
    """All positions, so many in a NumPy array at a time."""

    def answer(vector, base):
        row, speeds = vector.double().numpy(), np.array(speeds_of(vector, base))
        best, best_position = -math.inf, 0
        for first in range(0, int(base / 2) + 1, size):
            angles = np.arange(first, min(first + size, int(base / 2) + 1))[:, None] * speeds
            scores = np.sin(angles) @ row[0::2] + np.cos(angles) @ row[1::2]
            if scores.max() > best:
                best, best_position = scores.max(), first + int(scores.argmax())
        return best_position

    return answer


def from_the_check(vector, base):
    return check_tell_time.reference(vector, base)


def matrices_from_the_check(k, gain, d_model):
    return check_looking_back.reference(k, gain, d_model)


def from_the_library(k, gain, d_model):
    return gain * torch.eye(d_model), shift_matrix(k, d_model)


test_answers_by_forbidden_means_break_a_rule = wrong_answers(
    "rule",
    {
        check_looking_back: [
            (matrices_from_the_check, "it comes from _looking_back"),
            (from_the_library, "it comes from shift_matrix"),
        ],
        check_tell_time: [
            (from_the_check, "it comes from _tell_time"),
            (search_in_arrays(300), "calls"),
            (search_in_arrays(1500), "MB of memory"),
            (search_in_arrays(5000), "MB of memory"),
            (search, "its largest tensor holds"),
            (search_with_numpy, "MB of memory"),
            (search_by_a_loop, "calls"),
            (search_by_turning_on, "it runs"),
            (search_in_pieces, "its tensors hold"),
        ],
    },
)


@pytest.mark.parametrize("width", [2, 8, 16, 22, 64, 128])
def test_every_position_can_be_told_whatever_the_noise(width):
    """So the exercise asks nothing impossible: the corners of the noise, all positions or many."""
    base = {2: 6.0, 8: 1e3, 16: 1e6, 22: 5e5}.get(width, 1e4)
    generator = torch.Generator().manual_seed(width)
    for p in torch.randint(0, int(base / 2), (50,), generator=generator).tolist():
        noise = 0.2 * torch.randint(0, 2, (width,), generator=generator) - 0.1
        vector = sinusoidal_table(torch.tensor([p]), width, base)[0] + noise
        assert check_tell_time.reference(vector, base) == p
