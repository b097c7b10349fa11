"""Lesson 05's exercises: answers in other styles, and wrong ones that get a fitting word."""

import math

import torch
from exercise_answers import right_answers, wrong_answers

from course_lab.checks.lesson05 import check_closed, check_partners, check_rope
from course_utils.encodings.functional import apply_rope, rope_angles, rope_frequencies


def rope_with_complex_numbers(x, positions, base):
    d = x.shape[-1]
    theta = 1 / base ** (torch.arange(0, d, 2) / d)
    factors = torch.exp(1j * positions[:, None] * theta)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * factors).flatten(-2)


def rope_with_matrices(x, positions, base):
    d = x.shape[-1]
    rows = []
    for row, position in zip(x.unbind(-2), positions.tolist(), strict=True):
        angles = [position * base ** (-2 * m / d) for m in range(d // 2)]
        blocks = [[[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]] for a in angles]
        rows.append(row @ torch.block_diag(*map(torch.tensor, blocks)).T)
    return torch.stack(rows, dim=-2)


def rope_with_each_angle_twice(x, positions, base):
    d = x.shape[-1]
    theta = torch.exp(-math.log(base) * torch.arange(0, d, 2) / d)
    angles = (positions[:, None] * theta).repeat_interleave(2, dim=-1)
    quarter = torch.empty_like(x)
    quarter[..., 0::2], quarter[..., 1::2] = -x[..., 1::2], x[..., 0::2]
    return x * angles.cos() + quarter * angles.sin()


def closed_with_complex_numbers(keys, kept):
    d = keys.shape[-1]
    theta = 10_000 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    turns = torch.exp(1j * (torch.arange(len(kept)) - kept)[:, None] * theta)
    pairs = torch.view_as_complex(keys[..., kept, :].double().unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * turns).flatten(-2).float()


def closed_by_undoing_and_doing(keys, kept):
    theta = rope_frequencies(keys.shape[-1], 10_000)
    plain = apply_rope(keys, -rope_angles(torch.arange(keys.shape[-2]), theta))
    return apply_rope(plain[..., kept, :], rope_angles(torch.arange(len(kept)), theta))


def closed_with_loops(keys, kept):
    out = torch.empty(*keys.shape[:-2], len(kept), keys.shape[-1])
    d = keys.shape[-1]
    for new, old in enumerate(kept.tolist()):
        for m in range(d // 2):
            angle = (new - old) * 10_000 ** (-2 * m / d)
            a, b = keys[..., old, 2 * m], keys[..., old, 2 * m + 1]
            out[..., new, 2 * m] = a * math.cos(angle) - b * math.sin(angle)
            out[..., new, 2 * m + 1] = a * math.sin(angle) + b * math.cos(angle)
    return out


def closed_in_single_precision(keys, kept):
    return closed_with_complex_numbers(keys.float(), kept)


def closed_one_by_one(keys, kept):
    rows = [
        rope_with_complex_numbers(keys[..., old : old + 1, :], torch.tensor([new - old]), 10_000.0)
        for new, old in enumerate(kept.tolist())
    ]
    return torch.cat(rows, dim=-2)


def partners_one_by_one(turn, d):
    partners = []
    for feature in range(d):
        arrow = torch.zeros(d)
        arrow[feature] = 1
        others = [n for n in turn(arrow, 1).nonzero().flatten().tolist() if n != feature]
        partners.append(others[0] if others else feature)
    return torch.tensor(partners)


def partners_by_both_directions(turn, d):
    moved = turn(torch.eye(d, dtype=torch.float64), 0.5)
    spread = (moved - moved.diag().diag()) ** 2
    itself = torch.eye(d, dtype=torch.float64) * (spread.sum(1, keepdim=True) == 0)
    return (spread + itself).argmax(1)


def partners_far_out(turn, d):
    away = turn(torch.eye(d), 1000) - turn(torch.eye(d), 0)
    away.fill_diagonal_(0)
    return torch.where(away.any(1), away.abs().argmax(1), torch.arange(d))


def partners_of_whole_numbers(turn, d):
    moved = turn(torch.nn.functional.one_hot(torch.arange(d), d), 1).abs().fill_diagonal_(0)
    largest, partner = moved.max(-1)
    return torch.where(largest > 0, partner, torch.arange(d))


def partners_by_probing_each_other_feature(turn, d):
    partners = torch.arange(d)
    for a in range(d):
        for b in range(d):
            if a != b and turn(torch.eye(d)[a], 3)[b] != 0:
                partners[a] = b
    return partners


test_right_answers_pass = right_answers(
    {
        check_rope: [
            rope_with_complex_numbers,
            rope_with_matrices,
            rope_with_each_angle_twice,
        ],
        check_closed: [
            closed_with_complex_numbers,
            closed_by_undoing_and_doing,
            closed_with_loops,
            closed_in_single_precision,
            closed_one_by_one,
        ],
        check_partners: [
            partners_one_by_one,
            partners_by_both_directions,
            partners_far_out,
            partners_of_whole_numbers,
            partners_by_probing_each_other_feature,
        ],
    }
)


def rope_by_halves(x, positions, base):
    d = x.shape[-1]
    angles = (positions[:, None] * base ** (-torch.arange(0, d, 2) / d)).repeat(1, 2)
    a, b = x.chunk(2, dim=-1)
    return x * angles.cos() + torch.cat([-b, a], dim=-1) * angles.sin()


def rope_by_halves_of_neighbours(x, positions, base):
    """A common slip: neighbours are split, turned, and put one after the other."""
    d = x.shape[-1]
    angles = positions[:, None] * base ** (-torch.arange(0, d, 2) / d)
    a, b = x[..., 0::2], x[..., 1::2]
    first, second = a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()
    return torch.cat([first, second], dim=-1)


def rope_clockwise(x, positions, base):
    d = x.shape[-1]
    angles = positions[:, None] * base ** (-torch.arange(0, d, 2) / d)
    a, b = x[..., 0::2], x[..., 1::2]
    first, second = a * angles.cos() + b * angles.sin(), b * angles.cos() - a * angles.sin()
    return torch.stack([first, second], dim=-1).flatten(-2)


def rope_without_the_two(x, positions, base):
    d = x.shape[-1]
    angles = positions[:, None] * base ** (-torch.arange(d // 2) / d)
    return torch.view_as_real(
        torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous()) * torch.exp(1j * angles)
    ).flatten(-2)


def rope_from_row_numbers(x, positions, base):
    return rope_with_complex_numbers(x, torch.arange(x.shape[-2]), base)


def rope_without_its_base(x, positions, base):
    return rope_with_complex_numbers(x, positions, 10_000.0)


def rope_with_the_librarys_angles_and_halves(x, positions, base):
    """The classic: angles of one layout, swapped features of the other."""
    d = x.shape[-1]
    theta = base ** (-torch.arange(0, d, 2) / d)
    angles = (positions[:, None] * theta).repeat_interleave(2, dim=-1)
    a, b = x.chunk(2, dim=-1)
    return x * angles.cos() + torch.cat([-b, a], dim=-1) * angles.sin()


def rope_from_halves_to_neighbours(x, positions, base):
    d = x.shape[-1]
    angles = positions[:, None] * base ** (-torch.arange(0, d, 2) / d)
    a, b = x.chunk(2, dim=-1)
    first, second = a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()
    return torch.stack([first, second], dim=-1).flatten(-2)


def rope_with_a_speed_for_each_feature(x, positions, base):
    d = x.shape[-1]
    angles = positions[:, None] * base ** (-torch.arange(d) / d)
    quarter = torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).flatten(-2)
    return x * angles.cos() + quarter * angles.sin()


def rope_by_halves_with_a_speed_for_each_feature(x, positions, base):
    d = x.shape[-1]
    angles = positions[:, None] * base ** (-torch.arange(d) / d)
    a, b = x.chunk(2, dim=-1)
    return x * angles.cos() + torch.cat([-b, a], dim=-1) * angles.sin()


def rope_with(angles):
    """An answer with other angles, made from positions, (n, 1), the base and d."""

    def rope(x, positions, base):
        turns = angles(positions[:, None], base, x.shape[-1])
        a, b = x[..., 0::2], x[..., 1::2]
        first = a * turns.cos() - b * turns.sin()
        return torch.stack([first, a * turns.sin() + b * turns.cos()], dim=-1).flatten(-2)

    return rope


def speeds(base, d):
    return base ** (-torch.arange(0, d, 2) / d)


def to_the_last_pair(positions, base, d):
    return positions * base ** (-torch.arange(d // 2) / (d // 2 - 1))


def with_whole_exponents(positions, base, d):
    return positions * base ** (-torch.arange(0, d, 2) // d)


def from_position_one(positions, base, d):
    return (positions + 1) * speeds(base, d)


def in_degrees(positions, base, d):
    return torch.deg2rad(positions * speeds(base, d))


def in_turns(positions, base, d):
    return 2 * math.pi * positions * speeds(base, d)


def rope_that_adds(x, positions, base):
    turns = positions[:, None] * speeds(base, x.shape[-1])
    return x + torch.stack([turns.cos(), turns.sin()], dim=-1).flatten(-2)


def rope_that_multiplies(x, positions, base):
    turns = positions[:, None] * speeds(base, x.shape[-1])
    return x * torch.stack([turns.cos(), turns.sin()], dim=-1).flatten(-2)


def twice_too_far(positions, base, d):
    return 2 * positions * speeds(base, d)


def rope_without_a_table(x, positions, base):
    return rope_with(lambda positions, base, d: positions[:, 0] * speeds(base, d))(
        x, positions, base
    )


def turned_as_in_the_lesson(x, positions, base):
    return rope_with_complex_numbers(x, positions, 10_000.0)


def turned(keys, moves):
    return rope_with_complex_numbers(keys, moves, 10_000.0)


def turned_at_new_positions(keys, kept):
    return turned(keys[..., kept, :], torch.arange(len(kept)))


def all_moved_by_what_was_dropped(keys, kept):
    dropped = keys.shape[-2] - len(kept)
    return turned(keys[..., kept, :], torch.full((len(kept),), -dropped))


def later_ones_moved_by_what_was_dropped(keys, kept):
    new = torch.arange(len(kept))
    return turned(keys[..., kept, :], (kept != new) * (len(kept) - keys.shape[-2]))


def later_ones_moved_by_the_first_gap(keys, kept):
    gap = 0
    moves = []
    for new, old in enumerate(kept.tolist()):
        if not gap:
            gap = old - new
        moves.append(-gap)
    return turned(keys[..., kept, :], torch.tensor(moves))


def closed_towards_the_end(keys, kept):
    new = torch.arange(keys.shape[-2] - len(kept), keys.shape[-2])
    return turned(keys[..., kept, :], new - kept)


def closed_from_position_one(keys, kept):
    return turned(keys[..., kept, :], torch.arange(1, len(kept) + 1) - kept)


def closed_without_picking(keys, kept):
    return turned(keys, torch.arange(len(kept)) - kept)


def closed_on_the_first_axis(keys, kept):
    return turned(keys[kept], torch.arange(len(kept)) - kept)


def closed_on_the_second_axis(keys, kept):
    return turned(keys[:, kept], torch.arange(len(kept)) - kept)


def turned_back_by_new_positions(keys, kept):
    return turned(keys[..., kept, :], -torch.arange(len(kept)))


def first_rows_by_the_right_moves(keys, kept):
    return turned(keys[..., : len(kept), :], torch.arange(len(kept)) - kept)


def first_large_neighbour(turn, d):
    moved = turn(torch.eye(d), 1).abs()
    moved.fill_diagonal_(0)
    return torch.where(moved.amax(1) > 1e-3, moved.argmax(1), torch.arange(d))


def first_neighbour_above(least):
    def partners(turn, d):
        moved = turn(torch.eye(d), 1).abs()
        moved.fill_diagonal_(0)
        return torch.where(moved.amax(1) > least, moved.argmax(1), torch.arange(d))

    return partners


def by_the_distance_of_feature_0(turn, d):
    moved = turn(torch.eye(d)[0], 1).abs()
    moved[0] = 0
    distance = moved.argmax().item()
    features = torch.arange(d)
    is_first = features // distance % 2 == 0
    return torch.where(is_first, features + distance, features - distance)


def second_largest(turn, d):
    return turn(torch.eye(d), 1).abs().topk(2, dim=-1).indices[:, 1]


def smallest_number(turn, d):
    return turn(torch.eye(d), 1).min(-1).indices


def largest_far_out(turn, d):
    return turn(torch.eye(d), 10_000).abs().argmax(-1)


test_natural_mistakes_are_named = wrong_answers(
    "mistake",
    {
        check_rope: [
            (rope_by_halves, "feature m is paired with m + d/2"),
            (rope_by_halves_of_neighbours, "come out in another order"),
            (rope_clockwise, "wrong way round"),
            (rope_without_the_two, "the slowest pair is too fast"),
            (rope_from_row_numbers, "the positions are not used"),
            (rope_without_its_base, "the base is not used"),
            (lambda x, positions, base: x, "nothing has turned"),
            (rope_with_the_librarys_angles_and_halves, "halves of a row are swapped"),
            (rope_from_halves_to_neighbours, "put back as neighbours"),
            (rope_with_a_speed_for_each_feature, "each feature turns at a speed of its own"),
            (rope_by_halves_with_a_speed_for_each_feature, "at a speed of its own"),
            (rope_with(to_the_last_pair), "the last pair turns at 1/base"),
            (rope_with(with_whole_exponents), "the division rounds"),
            (rope_with(from_position_one), "one position too many"),
            (rope_with(in_degrees), "pair 0 does not turn by 1 radian"),
            (rope_with(in_turns), "pair 0 does not turn by 1 radian"),
            (rope_that_adds, "cos and sin are added to x"),
            (rope_that_multiplies, "never meet"),
            (rope_with(twice_too_far), "pair 0 does not turn by 1 radian"),
            (rope_without_a_table, "not a table of positions by pairs"),
            (turned_as_in_the_lesson, "the base is not used"),
        ],
        check_closed: [
            (turned_at_new_positions, "on top"),
            (all_moved_by_what_was_dropped, "all keys move by one distance"),
            (lambda keys, kept: keys[..., kept, :], "still stands at its old"),
            (later_ones_moved_by_what_was_dropped, "after the first gap move by one distance"),
            (later_ones_moved_by_the_first_gap, "after the first gap move by one distance"),
            (closed_towards_the_end, "closed towards the end"),
            (closed_from_position_one, "the new positions begin at 1"),
            (closed_without_picking, "never picked"),
            (turned_back_by_new_positions, "turned back by its new position"),
            (first_rows_by_the_right_moves, "the first rows are kept"),
            (closed_on_the_first_axis, "on a fixed axis"),
            (closed_on_the_second_axis, "on a fixed axis"),
        ],
        check_partners: [
            (first_large_neighbour, "slow pairs are treated as if they stood still"),
            (first_neighbour_above(1e-4), "slow pairs are treated as if they stood still"),
            (first_neighbour_above(1e-5), "slow pairs are treated as if they stood still"),
            (first_neighbour_above(0.5), "slow pairs are treated as if they stood still"),
            (by_the_distance_of_feature_0, "asked of feature 0 alone"),
            (second_largest, "the second largest number"),
            (smallest_number, "one direction of each pair is missed"),
            (largest_far_out, "a feature's own number comes out"),
        ],
    },
)


def closed_in_place(keys, kept):
    keys.copy_(keys.clone())
    keys[..., : len(kept), :] = closed_by_undoing_and_doing(keys.clone(), kept)
    return keys[..., : len(kept), :].clone()


test_keys_may_not_be_overwritten = wrong_answers(
    "rule", {check_closed: [(closed_in_place, "changes its argument keys")]}
)


def rope_by_the_library(x, positions, base):
    return apply_rope(x, rope_angles(positions, rope_frequencies(x.shape[-1], base)))


test_rope_may_not_be_borrowed = wrong_answers(
    "rule", {check_rope: [(rope_by_the_library, "Here it is yours to write.")]}
)


def partners_by_asking_the_function(turn, d):
    partners = torch.arange(d)
    partners[turn.first], partners[turn.second] = turn.second, turn.first
    return partners


test_a_turn_gives_its_pairs_only_when_called = wrong_answers(
    "wrong", {check_partners: [(partners_by_asking_the_function, "AttributeError")]}
)
