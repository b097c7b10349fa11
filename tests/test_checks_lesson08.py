"""Lesson 08's exercises: answers in other styles, and wrong ones that were once misjudged."""

import math

import torch
from exercise_answers import right_answers, wrong_answers

from course_lab.checks.lesson08 import (
    check_clamped_scores,
    check_factors,
    check_ntk_factor,
    check_ramp,
)
from course_utils.encodings import Llama3, Places, YaRN, scaling
from course_utils.encodings.functional import apply_rope, rope_angles, rope_frequencies
from course_utils.models.stretching import ClampedRotary


def ramp_as_a_library_writes_it(theta, factor, low, high, trained):
    wavelength = 2 * math.pi / theta
    smooth = (trained / wavelength - low) / (high - low)
    new = torch.where(wavelength > trained / low, theta / factor, theta)
    mixed = (1 - smooth) * theta / factor + smooth * theta
    between = (wavelength <= trained / low) & (wavelength >= trained / high)
    return torch.where(between, mixed, new)


def ramp_with_a_loop(theta, factor, low, high, trained):
    new = []
    for speed in theta.tolist():
        kept = min(1, max(0, (trained * speed / (2 * math.pi) - low) / (high - low)))
        new.append(kept * speed + (1 - kept) * speed / factor)
    return torch.tensor(new, dtype=theta.dtype)


def ramp_of_the_package(theta, factor, low, high, trained):
    return Llama3(factor, trained, low, high).frequencies(theta, 10_000.0)[0]


def ramp_of_yarns_paper(theta, factor, low, high, trained):
    return YaRN(factor, trained, high, low, released_code=False).frequencies(theta, 10_000.0)[0]


def ramp_of_helpers(theta, factor, low, high, trained):
    return scaling._blend(theta, factor, scaling._ramp_over_turns(theta, trained, low, high))


def ramp_of_the_check(theta, factor, low, high, trained):
    return check_ramp.reference(theta, factor, low, high, trained)


def kept(theta, low, high, trained):
    return ((trained * theta / (2 * math.pi) - low) / (high - low)).clamp(0, 1)


def ramp_mixed_by_powers(theta, factor, low, high, trained):
    return theta / factor ** (1 - kept(theta, low, high, trained))


def ramp_half_and_half(theta, factor, low, high, trained):
    turns = trained * theta / (2 * math.pi)
    mixed = torch.where(turns < low, theta / factor, (theta + theta / factor) / 2)
    return torch.where(turns > high, theta, mixed)


def ramp_with_both_ends(theta, factor, low, high, trained):
    turns = trained * theta / (2 * math.pi)
    share = (turns >= high).to(theta.dtype)
    between = (turns > low) & (turns < high)
    share[between] = torch.linspace(1, 0, int(between.sum()), dtype=theta.dtype)
    return share * theta + (1 - share) * theta / factor


def ramp_from_1_to_4(theta, factor, low, high, trained):
    share = kept(theta, 1, 4, trained)
    return share * theta + (1 - share) * theta / factor


def ramp_with_8(theta, factor, low, high, trained):
    share = kept(theta, low, high, trained)
    return share * theta + (1 - share) * theta / 8


def turns_of(theta, trained):
    return trained * theta / (2 * math.pi)


def mixed(share):
    """The ramp with a share kept of the turns and the two bounds."""

    def ramp(theta, factor, low, high, trained):
        kept = share(turns_of(theta, trained), low, high)
        return kept * theta + (1 - kept) * theta / factor

    return ramp


def counted(turns):
    def ramp(theta, factor, low, high, trained):
        kept = ((turns(theta, trained) - low) / (high - low)).clamp(0, 1)
        return kept * theta + (1 - kept) * theta / factor

    return ramp


def pieced(middle, fast=lambda theta, factor: theta, slow=lambda theta, factor: theta / factor):
    """Three cases, as the text has them, with ``middle`` between the bounds."""

    def ramp(theta, factor, low, high, trained):
        turns = turns_of(theta, trained)
        share = (turns - low) / (high - low)
        new = torch.where(turns < low, slow(theta, factor), middle(theta, factor, share, turns))
        return torch.where(turns > high, fast(theta, factor), new)

    return ramp


def ramp_without_the_rest(theta, factor, low, high, trained):
    return kept(theta, low, high, trained) * theta


def ramp_on_top(theta, factor, low, high, trained):
    return kept(theta, low, high, trained) * theta + theta / factor


def ramp_of_a_larger_base(theta, factor, low, high, trained):
    d = 2 * len(theta)
    return theta * factor ** (-2 * torch.arange(len(theta)) / max(d - 2, 1))


def ramp_of_other_speeds(theta, factor, low, high, trained):
    theta = rope_frequencies(2 * len(theta))
    share = kept(theta, low, high, trained)
    return share * theta + (1 - share) * theta / factor


def ramp_only_between(theta, factor, low, high, trained):
    """Slow hands are left as they were: a natural thing to forget."""
    turns = turns_of(theta, trained)
    share = (turns - low) / (high - low)
    new, between = theta.clone(), (turns > low) & (turns < high)
    new[between] = (share * theta + (1 - share) * theta / factor)[between]
    return new


def ramp_over_slowed_turns(theta, factor, low, high, trained):
    share = kept(theta / factor, low, high, trained)
    return share * theta + (1 - share) * theta / factor


def ramp_with_less_taken_off(theta, factor, low, high, trained):
    share = kept(theta, low, high, trained)
    return share * theta + (1 - share) * theta * (1 - 1 / factor)


def ramp_from_least_to_most(theta, factor, low, high, trained):
    turns = turns_of(theta, trained)
    share = (turns >= high).to(theta.dtype)
    between = (turns >= low) & (turns <= high)
    if between.sum() > 1:
        inside = turns[between]
        share[between] = (inside - inside.min()) / (inside.max() - inside.min())
    elif between.any():
        share[between] = ((turns - low) / (high - low))[between]
    return share * theta + (1 - share) * theta / factor


def ramp_reversed(theta, factor, low, high, trained):
    return mixed(straight)(theta, factor, low, high, trained).flip(0)


def periods_of_the_ramp(theta, factor, low, high, trained):
    return 2 * math.pi / mixed(straight)(theta, factor, low, high, trained)


def straight(turns, low, high):
    return ((turns - low) / (high - low)).clamp(0, 1)


def ramp_without_the_second_theta(theta, factor, low, high, trained):
    share = kept(theta, low, high, trained)
    return share * theta + (1 - share) / factor


def ramp_of_yarns_code(theta, factor, low, high, trained):
    base = float(theta[0] / theta[1]) ** len(theta)
    return YaRN(factor, trained, high, low).frequencies(theta, base)[0] * 1.0


def ramp_by_number_from_the_first_between(theta, factor, low, high, trained):
    turns = turns_of(theta, trained)
    first, last = int((turns > high).sum()), int((turns >= low).sum())
    new = torch.where(turns > high, theta, theta / factor)
    for m in range(first, last):
        share = 1 - (m - first) / (last - first)
        new[m] = share * theta[m] + (1 - share) * theta[m] / factor
    return new


def ramp_trained_at_64(theta, factor, low, high, trained):
    share = kept(theta, low, high, 64)
    return share * theta + (1 - share) * theta / factor


def ramp_over_root(theta, factor, low, high, trained):
    share = kept(theta, low, high, trained)
    return share * theta + (1 - share) * theta / factor**0.5


def ramp_with_an_if(theta, factor, low, high, trained):
    turns = turns_of(theta, trained)
    share = max(0, min(1, (turns - low) / (high - low)))
    return share * theta + (1 - share) * theta / factor


def ramp_as_a_list(theta, factor, low, high, trained):
    return mixed(straight)(theta, factor, low, high, trained).tolist()


def ramp_of_base_500_000(theta, factor, low, high, trained):
    theta = rope_frequencies(2 * len(theta), 500_000.0)
    return mixed(straight)(theta, factor, low, high, trained)


def ramp_over_all_hands(theta, factor, low, high, trained):
    share = torch.linspace(1, 0, len(theta))
    return share * theta + (1 - share) * theta / factor


def ramp_between_least_and_most(theta, factor, low, high, trained):
    turns = turns_of(theta, trained)
    share = (turns - turns.min()) / (turns.max() - turns.min())
    return share * theta + (1 - share) * theta / factor


def ramp_cut_off_at_the_slowed(theta, factor, low, high, trained):
    share = (turns_of(theta, trained) - low) / (high - low)
    return theta * share.clamp(1 / factor, 1)


def turned(x, positions):
    return apply_rope(x, rope_angles(positions, rope_frequencies(x.shape[-1])))


def clamped(q, k, farthest, far):
    places = torch.arange(len(q))
    near = turned(q, places) @ turned(k, places).T
    return torch.where(places[:, None] - places > farthest, far, near) / q.shape[-1] ** 0.5


def scaled_by_distance(q, k, farthest):
    places = torch.arange(len(q))
    back = (places[:, None] - places).clamp(min=1)
    return turned(q, places) @ turned(k, places).T * farthest / back


def clamped_in_one_column(q, k, farthest):
    places = torch.arange(len(q))
    scores = turned(q, places) @ turned(k, places).T / q.shape[-1] ** 0.5
    scores[farthest:, 0] = turned(q[farthest:], torch.full((len(q[farthest:]),), farthest)) @ k[0]
    scores[farthest:, 0] /= q.shape[-1] ** 0.5
    return scores


def at_places(queries, keys, *, only_far=False):
    """Scores of queries and keys at these positions, for all keys or only for far ones."""

    def scores(q, k, farthest):
        places = torch.arange(len(q))
        far = turned(q, queries(places, farthest)) @ turned(k, keys(places, farthest)).T
        if not only_far:
            return far / q.shape[-1] ** 0.5
        return clamped(q, k, farthest, far)

    return scores


def everywhere(position):
    return lambda places, farthest: torch.full_like(places, position(places, farthest))


def own(places, farthest):
    return places


def clamped_where(condition):
    def scores(q, k, farthest):
        d, places = q.shape[-1], torch.arange(len(q))
        near = turned(q, places) @ turned(k, places).T
        far = turned(q, torch.full((len(q),), farthest)) @ k.T
        return torch.where(condition(places[:, None] - places, farthest), far, near) / math.sqrt(d)

    return scores


right_clamp = clamped_where(lambda back, farthest: back > farthest)


def hidden_where(is_hidden):
    def scores(q, k, farthest):
        places = torch.arange(len(q))
        hidden = is_hidden(places[:, None] - places)
        return right_clamp(q, k, farthest).masked_fill(hidden, -math.inf)

    return scores


def clamped_with_one_position(q, k, farthest):
    return clamped(q, k, farthest, turned(q, torch.tensor([farthest])) @ k.T)


def clamped_behind_a_wall(q, k, farthest):
    return clamped(q, k, farthest, torch.full((len(q), len(q)), -1e9))


def clamped_row(q, k, farthest):
    places = torch.arange(len(q))
    row = (turned(q, places) @ turned(k, places).T)[min(farthest, len(q) - 1)]
    return clamped(q, k, farthest, row.expand(len(q), -1))


def clamped_column(q, k, farthest):
    places = torch.arange(len(q))
    column = (turned(q, places) @ turned(k, places).T)[:, min(farthest, len(q) - 1)]
    return clamped(q, k, farthest, column[:, None].expand(-1, len(q)))


def clamped_from_one_nearer(q, k, farthest):
    """Two steps off that belong together: >= in place of >, and farthest - 1."""
    places = torch.arange(len(q))
    near = turned(q, places) @ turned(k, places).T
    far = turned(q, torch.full((len(q),), farthest - 1)) @ k.T
    return torch.where(places[:, None] - places >= farthest, far, near) / q.shape[-1] ** 0.5


def clamped_after_its_own_turn(q, k, farthest):
    far = turned(turned(q, torch.arange(len(q))), torch.full((len(q),), farthest)) @ k.T
    return clamped(q, k, farthest, far)


def clamped_near_unturned(q, k, farthest):
    places = torch.arange(len(q))
    far = turned(q, torch.full((len(q),), farthest)) @ k.T
    return torch.where(places[:, None] - places > farthest, far, q @ k.T) / q.shape[-1] ** 0.5


def clamped_around(near, q, k, farthest):
    """Right far scores, and these near ones."""
    places = torch.arange(len(q))
    far = turned(q, torch.full((len(q),), farthest)) @ k.T
    return torch.where(places[:, None] - places > farthest, far, near) / q.shape[-1] ** 0.5


def clamped_with_near_keys_unturned(q, k, farthest):
    return clamped_around(turned(q, torch.arange(len(q))) @ k.T, q, k, farthest)


def clamped_backwards_nearby(q, k, farthest):
    places = torch.arange(len(q))
    return clamped_around(turned(q, -places) @ turned(k, -places).T, q, k, farthest)


def clamped_with_keys_turned_twice(q, k, farthest):
    places = torch.arange(len(q))
    twice = turned(turned(k, places), torch.full((len(k),), farthest))
    return clamped(q, k, farthest, turned(q, places) @ twice.T)


def clamped_at(seeming, q, k, farthest):
    far = torch.zeros(len(q), len(q))
    for i in range(len(q)):
        for j in range(i + 1):
            there = torch.tensor([float(seeming(i - j, farthest))])
            far[i, j] = turned(q[i : i + 1], there)[0] @ k[j]
    return clamped(q, k, farthest, far)


def clamped_leaky(q, k, farthest):
    return clamped_at(lambda back, far: far + (back - far) / 8, q, k, farthest)


def clamped_modulo(q, k, farthest):
    return clamped_at(lambda back, far: back % far, q, k, farthest)


def clamped_halved_far(q, k, farthest):
    return clamped(q, k, farthest, 0.5 * turned(q, torch.full((len(q),), farthest)) @ k.T)


def clamped_of_the_package(q, k, farthest):
    places = Places(torch.arange(len(q)))
    bias = ClampedRotary(q.shape[-1], 1, farthest).bias(q[None, None], k[None, None], places)
    return q @ k.T / q.shape[-1] ** 0.5 + bias[0, 0]


def clamped_by_copies(q, k, farthest):
    places = torch.arange(len(q))
    scores = turned(q, places) @ turned(k, places).T
    for i in range(farthest + 1, len(q)):
        scores[i, : i - farthest] = scores[i, i - farthest].clone()
    return scores / q.shape[-1] ** 0.5


def clamped_with_keys_still_turned(q, k, farthest):
    far = turned(q, torch.full((len(q),), farthest)) @ turned(k, torch.arange(len(k))).T
    return clamped(q, k, farthest, far)


def clamped_with_keys_not_turned(q, k, farthest):
    return clamped(q, k, farthest, turned(q, torch.arange(len(q))) @ k.T)


def clamped_for_the_last_query(q, k, farthest):
    places = torch.arange(len(q))
    moved = torch.maximum(places, places[-1] - farthest)
    return turned(q, places) @ turned(k, moved).T / q.shape[-1] ** 0.5


def clamped_of_the_check(q, k, farthest):
    return check_clamped_scores.reference(q, k, farthest)


def clamped_pair_by_pair(q, k, farthest):
    n, d = q.shape
    speeds = rope_frequencies(d)
    scores = torch.full((n, n), -math.inf)
    for i in range(n):
        for j in range(i + 1):
            back = torch.tensor([min(i - j, farthest)])
            query = apply_rope(q[i : i + 1], rope_angles(back, speeds))[0]
            scores[i, j] = query @ k[j] / d**0.5
    return scores


def clamped_on_both_sides(q, k, farthest):
    """Keys ahead are clamped as well, which nobody asks."""
    n, d = q.shape
    offsets = (torch.arange(n) - torch.arange(n)[:, None]).clamp(-farthest, farthest)
    angles = -offsets[..., None] * rope_frequencies(d)
    turned = torch.stack([apply_rope(q[i].expand(n, d), angles[i]) for i in range(n)])
    return (turned * k).sum(-1) / d**0.5


def clamped_with_keys_turned_back(q, k, farthest):
    n, d = q.shape
    speeds, places = rope_frequencies(d), torch.arange(n)
    near = apply_rope(q, rope_angles(places, speeds)) @ apply_rope(k, rope_angles(places, speeds)).T
    back = apply_rope(k, rope_angles(torch.full((n,), -farthest), speeds))
    return torch.where(places[:, None] - places >= farthest, q @ back.T, near) / math.sqrt(d)


def clamped_without_a_transpose(q, k, farthest):
    return clamped(q, k, farthest, turned(q, torch.full((len(q),), farthest)) @ k)


def clamped_at_one_number(q, k, farthest):
    return clamped(q, k, farthest, turned(q, torch.tensor(farthest)) @ k.T)


def clamped_at_a_python_number(q, k, farthest):
    return clamped(q, k, farthest, turned(q, farthest) @ k.T)


def clamped_with_an_if(q, k, farthest):
    places = torch.arange(len(q))
    near = turned(q, places) @ turned(k, places).T
    far = turned(q, torch.full((len(q),), farthest)) @ k.T
    is_far = (places[:, None] - places).repeat(2, 2) > farthest
    return (far if is_far else near) / q.shape[-1] ** 0.5


def clamped_by_the_mean(q, k, farthest):
    places = torch.arange(len(q))
    near = turned(q, places) @ turned(k, places).T
    return clamped(q, k, farthest, near.mean(1, keepdim=True).expand_as(near))


def clamped_by(choose):
    """Both scores of each pair, of which ``choose`` takes one."""

    def scores(q, k, farthest):
        places = torch.arange(len(q))
        far = turned(q, torch.full((len(q),), farthest)) @ k.T
        return choose(turned(q, places) @ turned(k, places).T, far) / q.shape[-1] ** 0.5

    return scores


def clamped_by_rows(q, k, farthest):
    places = torch.arange(len(q))
    far = turned(q, torch.full((len(q),), farthest)) @ k.T
    near = turned(q, places) @ turned(k, places).T
    return torch.where((places > farthest)[:, None], far, near) / q.shape[-1] ** 0.5


def clamped_with_keys_away(q, k, farthest):
    places = torch.arange(len(q))
    rows = [
        turned(q, places)[i] @ turned(k, places.clamp(max=max(i - farthest, 0))).T
        for i in range(len(q))
    ]
    return torch.stack(rows) / q.shape[-1] ** 0.5


def clamped_by_distances(q, k, farthest, sign=-1):
    places = torch.arange(len(q))
    back = sign * (places[:, None] - places).clamp(max=farthest)
    rows = [
        torch.stack([turned(q[i : i + 1], back[i, j : j + 1])[0] @ k[j] for j in range(len(q))])
        for i in range(len(q))
    ]
    return torch.stack(rows) / q.shape[-1] ** 0.5


def ntk_factor_in_float32(d, base, trained, target):
    speeds = base ** -(torch.arange(0, d, 2, dtype=torch.float32) / d)
    slow = (trained * speeds < 2 * math.pi).nonzero()
    if not len(slow):
        return 1
    return torch.tensor(target / trained) ** ((d - 2) / (2 * slow[0, 0].float()))


def ntk_factor_by_bisection(d, base, trained, target):
    speeds = [base ** (-2 * m / d) for m in range(d // 2)]

    def is_enough(s):
        slowed = [speed * s ** (-2 * m / (d - 2)) for m, speed in enumerate(speeds)]
        return all(
            trained * speed >= 2 * math.pi or target * new <= trained * speed
            for speed, new in zip(speeds, slowed, strict=True)
        )

    low, high = 1.0, 1e9
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def factors_in_three_steps(turns, s):
    factors = torch.full_like(turns, s)
    factors[turns > 0.4] = 0.75 * s
    factors[turns >= 1] = 1.0
    return factors


def ramp_with_the_slow_part_slowed_twice(theta, factor, low, high, trained):
    share, slow = kept(theta, low, high, trained), theta / factor
    return share * theta + (1 - share) * slow / factor


def ramp_from_speed_to_speed(theta, factor, low, high, trained):
    return torch.linspace(theta[0].item(), theta[-1].item() / factor, len(theta))


def ramp_stacked(theta, factor, low, high, trained):
    share = kept(theta, low, high, trained)
    return torch.stack([share * theta, (1 - share) * theta / factor])


def clamped_by_two_masks(near_mask, far_mask):
    def scores(q, k, farthest):
        places = torch.arange(len(q))
        back = places[:, None] - places
        near = turned(q, places) @ turned(k, places).T
        far = turned(q, torch.full((len(q),), farthest)) @ k.T
        both = near * near_mask(back, farthest) + far * far_mask(back, farthest)
        return both / q.shape[-1] ** 0.5

    return scores


def clamped_hidden_in_the_gap(q, k, farthest):
    places = torch.arange(len(q))
    back = places[:, None] - places
    return right_clamp(q, k, farthest).masked_fill(back == farthest, -1.0)


def clamped_from_the_query_after_the_key(q, k, farthest):
    places = torch.arange(len(q))
    scores = turned(q, places) @ turned(k, places).T
    for j in range(len(q) - farthest):
        scores[j + farthest :, j] = scores[j + farthest, j].clone()
    return scores / q.shape[-1] ** 0.5


def clamped_to_one_number(q, k, farthest):
    places = torch.arange(len(q))
    near = turned(q, places) @ turned(k, places).T
    return clamped(q, k, farthest, near[min(farthest, len(q) - 1), 0])


def clamped_at_clamped_positions_nearby(q, k, farthest):
    places = torch.arange(len(q)).clamp(max=farthest)
    return clamped_around(turned(q, places) @ turned(k, places).T, q, k, farthest)


def clamped_products(q, k, farthest):
    scores = torch.zeros(len(q), len(q))
    for i in range(len(q)):
        for j in range(i + 1):
            there = torch.tensor([min(i - j, farthest)])
            scores[i, j] = turned((q[i] * k[j])[None], there).sum() / q.shape[-1] ** 0.5
    return scores


def clamped_with_a_logarithm(q, k, farthest):
    return clamped_at(lambda back, far: far + math.log(1 + max(0, back - far)), q, k, farthest)


test_right_answers_pass = right_answers(
    {
        check_ramp: [
            ramp_as_a_library_writes_it,
            ramp_with_a_loop,
        ],
        check_clamped_scores: [
            clamped_pair_by_pair,
            clamped_on_both_sides,
            clamped_with_keys_turned_back,
        ],
        check_ntk_factor: [ntk_factor_in_float32, ntk_factor_by_bisection],
        check_factors: [factors_in_three_steps],
    }
)
test_natural_mistakes_are_named = wrong_answers(
    "mistake",
    {
        check_ramp: [
            (ramp_mixed_by_powers, "by multiplying"),
            (ramp_half_and_half, "the same mixture"),
            (ramp_with_both_ends, "down to 0 at the last"),
            (ramp_from_1_to_4, "1 and 4"),
            (ramp_with_8, "the factor, 8"),
            (lambda theta, *_: theta * 1.0, "this is *direct*"),
            (lambda theta, factor, *_: theta / factor, "this is interpolation"),
            (ramp_of_a_larger_base, "NTK-aware"),
            (counted(lambda theta, trained: theta / (2 * math.pi)), "`trained` does not come into"),
            (counted(lambda theta, trained: trained / theta), "upside down"),
            (counted(lambda theta, trained: trained / (2 * math.pi * theta)), "upside down"),
            (counted(lambda theta, trained: trained * theta / 6.28), "2π is rounded"),
            (counted(lambda theta, trained: turns_of(theta, trained / 2)), "another length"),
            (mixed(lambda t, low, high: t.clamp(low, high)), "are taken for the share"),
            (counted(lambda theta, trained: 2 * math.pi * trained * theta), "multiplied by 2π"),
            (counted(lambda theta, trained: 2 * math.pi / (trained * theta)), "upside down"),
            (counted(lambda theta, trained: trained * theta / 360), "360"),
            (counted(lambda theta, trained: turns_of(theta, trained - 1)), "another length"),
            (counted(lambda theta, trained: turns_of(theta, trained).floor()), "whole turns"),
            (
                counted(lambda theta, trained: trained * theta / 2 * math.pi),
                "π multiplies your count of turns",
            ),
            (counted(lambda theta, trained: trained * theta), "radians are taken for turns"),
            (mixed(lambda t, low, high: ((t - low) / (high - low)).clamp(max=1)), "falls below 0"),
            (mixed(lambda t, low, high: ((t - low) / (high - low)).clamp(min=0)), "grows above 1"),
            (mixed(lambda t, low, high: ((t - low) / high - low).clamp(0, 1)), "the order of"),
            (mixed(lambda t, low, high: (t - low / (high - low)).clamp(0, 1)), "the order of"),
            (mixed(lambda t, low, high: (t / (high - low)).clamp(0, 1)), "does not begin at `low`"),
            (mixed(lambda t, low, high: (t > (low + high) / 2).double()), "a step in the middle"),
            (mixed(lambda t, low, high: (t >= 1).double()), "this is the step"),
            (counted(lambda theta, trained: turns_of(theta, trained + 1)), "here 64 / 2π?"),
            (mixed(lambda t, low, high: (t - low).clamp(0, 1)), "does your share reach 1?"),
            (mixed(lambda t, low, high: t.clamp(low, high) / high), "divided by `high`"),
            (mixed(lambda t, low, high: t.clamp(low, high) - low), "their distance is missing"),
            (
                lambda theta, factor, *others: (1 + kept(theta, *others)) * theta / factor,
                "of the slowed speed on top",
            ),
            (ramp_with_the_slow_part_slowed_twice, "another number than `factor`"),
            (
                lambda theta, factor, *others: mixed(straight)(theta, 2 * factor, *others),
                "another number than `factor`",
            ),
            (
                lambda theta, factor, low, high, trained: (
                    theta * (turns_of(theta, trained) / high).clamp(1 / factor, 1)
                ),
                "a share that begins at no turn",
            ),
            (ramp_from_speed_to_speed, "run evenly from one hand to another"),
            (lambda *case: mixed(straight)(*case) / 2, "the mixture is halved"),
            (
                pieced(lambda theta, factor, share, _: share * theta / factor),
                "taken of the slowed speed",
            ),
            (
                pieced(
                    lambda theta, factor, share, _: (
                        share * theta + (1 - share) * theta / factor / factor
                    )
                ),
                "the slow part of the mixture is divided by another",
            ),
            (pieced(lambda theta, factor, share, _: (share + 1) * theta / factor), "on top"),
            (ramp_with_an_if, "to all hands at once"),
            (ramp_of_base_500_000, "from outside"),
            (ramp_over_all_hands, "the hand's number"),
            (ramp_between_least_and_most, "the slowest of all hands"),
            (ramp_cut_off_at_the_slowed, "held above 1/`factor`"),
            (mixed(lambda t, low, high: t.clamp(low, high) / (high - low)), "does not begin at"),
            (counted(lambda theta, trained: turns_of(theta, trained).ceil()), "whole turns"),
            (ramp_only_between, "less than `low` turns keep their speed"),
            (ramp_over_slowed_turns, "counted at the slowed speed"),
            (counted(lambda theta, trained: turns_of(theta, trained).round()), "are rounded"),
            (ramp_with_less_taken_off, "should be left with that"),
            (mixed(lambda t, low, high: ((t - 1) / (high - 1)).clamp(0, 1)), "is built in"),
            (mixed(lambda t, low, high: ((t - low) / 3).clamp(0, 1)), "is built in"),
            (mixed(lambda t, low, high: ((t - low) / (4 - low)).clamp(0, 1)), "is built in"),
            (mixed(lambda t, low, high: ((t - 1) / (high - low)).clamp(0, 1)), "is built in"),
            (ramp_from_least_to_most, "from the slowest hand between"),
            (mixed(lambda t, low, high: (t - (low + high) / 2).sigmoid()), "a sigmoid"),
            (pieced(lambda theta, factor, share, turns: share * theta), "of the rest?"),
            (ramp_without_the_second_theta, "is no speed"),
            (ramp_of_yarns_code, "from hand to hand"),
            (ramp_by_number_from_the_first_between, "the hand's number"),
            (ramp_trained_at_64, "64, is built in"),
            (ramp_over_root, "another number than `factor`"),
            (ramp_reversed, "in reverse order"),
            (periods_of_the_ramp, "lengths of a turn, not speeds"),
            (ramp_without_the_rest, "gets no speed at all"),
            (ramp_on_top, "on top"),
            (ramp_of_other_speeds, "from outside"),
            (
                pieced(
                    lambda theta, factor, share, _: share * theta / factor + (1 - share) * theta
                ),
                "the share falls",
            ),
            (
                pieced(lambda theta, factor, share, _: theta / factor ** (1 - share)),
                "by multiplying",
            ),
            (
                pieced(
                    lambda theta, factor, share, _: share * theta + (1 - share) * theta / factor,
                    fast=lambda theta, factor: theta / factor,
                    slow=lambda theta, factor: theta,
                ),
                "two sides of it are exchanged",
            ),
        ],
        check_clamped_scores: [
            (
                lambda q, k, far: clamped(q, k, far, scaled_by_distance(q, k, far)),
                "keep RoPE's own score",
            ),
            (lambda q, k, far: right_clamp(q, k, 4), "`farthest` is built in"),
            (
                lambda q, k, far: right_clamp(q, k, far) * (q.shape[-1] / 8) ** 0.5,
                "the number of features is built in",
            ),
            (lambda q, k, far: clamped_in_one_column(q, k, far), "only the first key is clamped"),
            (clamped_by_copies, "repeat the score"),
            (clamped_with_keys_still_turned, "by their own positions"),
            (clamped_with_keys_not_turned, "not at all"),
            (clamped_for_the_last_query, "the last query only"),
            (clamped_where(lambda back, farthest: back <= farthest), "near and far are exchanged"),
            (clamped_where(lambda back, farthest: back > farthest + 1), "too many counts as near"),
            (clamped_where(lambda back, farthest: back >= farthest - 1), "too many counts as far"),
            (clamped_where(lambda back, farthest: -back > farthest), "What does your code do"),
            (
                lambda q, k, farthest: right_clamp(q, k, 99).clamp(max=farthest),
                "score values are held",
            ),
            (lambda q, k, farthest: right_clamp(q, k, farthest) / len(q[0]) ** 0.5, "too often"),
            (lambda q, k, farthest: right_clamp(q, k, farthest) * len(q[0]), "multiplied where"),
            (
                lambda q, k, farthest: right_clamp(q, k, farthest) * (len(q[0]) / len(q)) ** 0.5,
                "the length of the text",
            ),
            (lambda q, k, farthest: right_clamp(k, q, farthest), "changed places"),
            (lambda q, k, farthest: right_clamp(q, k, farthest).T, "on their side"),
            (lambda q, k, farthest: right_clamp(q, k, farthest).softmax(-1), "these are weights"),
            (lambda q, k, farthest: q @ k.T / len(q[0]) ** 0.5, "no score knows"),
            (clamped_from_one_nearer, "one step nearer"),
            (lambda q, k, farthest: right_clamp(q, k, farthest) * 2**0.5, "or of pairs?"),
            (clamped_with_near_keys_unturned, "only one of the two is turned"),
            (clamped_backwards_nearby, "wrong sign"),
            (clamped_with_keys_turned_twice, "turned twice"),
            (clamped_leaky, "only more slowly"),
            (clamped_modulo, "begin anew"),
            (clamped_column, "the column of another key"),
            (lambda q, k, farthest: right_clamp(q, k, 63), "does `farthest` come into it"),
            (clamped_after_its_own_turn, "and `farthest` together"),
            (clamped_near_unturned, "near scores know no"),
            (clamped_with_one_position, "one position is given"),
            (clamped_at_one_number, "one position is given"),
            (clamped_at_a_python_number, "one position is given"),
            (clamped_without_a_transpose, "no feature meets its like"),
            (clamped_with_an_if, "at once, by `if`"),
            (clamped_by_the_mean, "their mean"),
            (clamped_by(torch.minimum), "the smaller of two scores"),
            (clamped_by(torch.maximum), "the larger of two scores"),
            (
                clamped_by_two_masks(lambda back, far: back <= far, lambda back, far: back >= far),
                "gets both scores",
            ),
            (
                clamped_by_two_masks(lambda back, far: back < far, lambda back, far: back > far),
                "gets no score",
            ),
            (clamped_from_the_query_after_the_key, "the one `farthest` after the key"),
            (clamped_to_one_number, "all far scores are one number"),
            (clamped_at_clamped_positions_nearby, "near scores come from clamped positions"),
            (clamped_products, "products of query and key are turned"),
            (clamped_with_a_logarithm, "only more slowly"),
            (clamped_by_rows, "decides what is far"),
            (clamped_with_keys_away, "no nearer than"),
            (clamped_by_distances, "wrong sign"),
            (clamped_behind_a_wall, "far keys are hidden"),
            (clamped_row, "the row of another query"),
            (at_places(lambda places, far: places.clamp(max=far), own), "queries stand at"),
            (at_places(own, lambda places, far: places.clamp(max=far)), "keys stand at"),
            (
                at_places(*[lambda places, far: places.clamp(max=far)] * 2, only_far=True),
                "in the far scores positions are clamped",
            ),
            (
                at_places(own, lambda places, far: places.clamp(max=far), only_far=True),
                "far keys stand at position `farthest`",
            ),
            (at_places(own, lambda places, far: places.clamp(min=far)), "the near ones too"),
            (at_places(own, lambda places, far: (places - far).clamp(0)), "the near ones too"),
            (at_places(*[lambda places, far: places % far] * 2), "begin anew"),
            (at_places(*[lambda places, far: places % (far + 1)] * 2), "begin anew"),
            (at_places(*[lambda places, far: places // far] * 2, only_far=True), "Self-Extend"),
            (
                at_places(
                    everywhere(lambda _, far: far), everywhere(lambda _, far: -far), only_far=True
                ),
                "one way and the far key the other",
            ),
            (
                at_places(
                    own, everywhere(lambda places, far: len(places) - 1 - far), only_far=True
                ),
                "at one place in the text",
            ),
            (
                at_places(own, lambda places, far: (places - far).clamp(0), only_far=True),
                "each from where it stands",
            ),
        ],
        check_ntk_factor: [
            (lambda d, base, trained, target: target // trained, "the slowest pair"),
            (
                lambda d, base, trained, target: (
                    (target / trained) ** ((d - 2) / d * math.log(base, trained / 2 / math.pi))
                ),
                "between two pairs",
            ),
        ],
    },
)
test_the_rule_is_kept = wrong_answers(
    "rule",
    {
        check_ramp: [
            (ramp_of_the_package, "frequencies"),
            (ramp_of_yarns_paper, "it comes from"),
            (ramp_of_helpers, "it comes from"),
            (ramp_of_the_check, "it comes from"),
        ],
        check_clamped_scores: [
            (clamped_of_the_check, "it comes from"),
            (clamped_of_the_package, "it comes from bias"),
        ],
    },
)
test_other_wrong_answers_are_explained = wrong_answers(
    "wrong",
    {
        check_ramp: [
            (mixed(lambda t, low, high: straight(t, low, high) ** 3), "And in yours?"),
            (ramp_as_a_list, "returns list, and one tensor is expected"),
            (lambda *case: mixed(straight)(*case).numpy(), "do you leave torch"),
            (ramp_stacked, "How many new speeds does each hand get"),
            (lambda theta, *_: theta[:8] / 8, "How many new speeds does each hand get"),
            (
                mixed(lambda t, low, high: 0.9 * straight(t, low, high)),
                "turns, more than 4. Expected 1, 1 of its old speed, got 0.9",
            ),
            (mixed(lambda t, low, high: straight(t, low, high).clamp(min=0.1)), "fewer than 1"),
            (counted(lambda theta, trained: trained * theta / 6.284), "of its old speed, got 0.2"),
        ],
        check_clamped_scores: [
            (lambda q, k, far: clamped(q, k, far, 0.5 * q @ k.T), "The near scores are right"),
            (lambda q, k, far: (right_clamp(q, k, far), q @ k.T), "returns tuple, and one"),
            (lambda q, k, far: right_clamp(q, k, far).numpy(), "do you leave torch"),
            (clamped_hidden_in_the_gap, "which of your conditions holds for it?"),
            (lambda q, k, far: q[:, None] * k, "Over which of your axes"),
            (
                lambda q, k, far: right_clamp(q, k, far).tril().softmax(-1) @ k,
                "before softmax and values",
            ),
            (lambda q, k, far: right_clamp(q, k, far)[-1], "How many scores does each query"),
            (lambda q, k, far: right_clamp(q, k, far).tril(-1), "the query's own among them?"),
            (lambda q, k, far: right_clamp(q, k, far).triu(1), "the query's own among them?"),
            (hidden_where(lambda back: back <= 0), "the query's own among them?"),
            (hidden_where(lambda back: back >= 0), "the query's own among them?"),
            (clamped_halved_far, "all your far scores are 0.5 times"),
            (lambda q, k, far: 0.5 * right_clamp(q, k, far), "0.5 times the right ones"),
            (lambda q, k, far: 1.0005 * right_clamp(q, k, far), "scores are 1.001 times"),
            (lambda q, k, far: (right_clamp(q, k, 99) + right_clamp(q, k, far)) / 2, "as it is?"),
        ],
        check_factors: [
            (lambda turns, s: turns.clamp(1, s), "nats at 64 bytes and"),
            (lambda turns, s: torch.tensor([1.0] * 5 + [6.0] + [8.0] * 10), "each of 64 pairs"),
            (lambda turns, s: torch.zeros_like(turns), "above 0"),
        ],
    },
)
