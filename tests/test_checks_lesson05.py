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


def closed_with_complex_numbers(keys, kept, base):
    d = keys.shape[-1]
    theta = base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    turns = torch.exp(1j * (torch.arange(len(kept)) - kept)[:, None] * theta)
    pairs = torch.view_as_complex(keys[..., kept, :].double().unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * turns).flatten(-2).float()


def closed_by_undoing_and_doing(keys, kept, base):
    theta = rope_frequencies(keys.shape[-1], base)
    plain = apply_rope(keys, -rope_angles(torch.arange(keys.shape[-2]), theta))
    return apply_rope(plain[..., kept, :], rope_angles(torch.arange(len(kept)), theta))


def closed_with_loops(keys, kept, base):
    out = torch.empty(*keys.shape[:-2], len(kept), keys.shape[-1])
    d = keys.shape[-1]
    for new, old in enumerate(kept.tolist()):
        for m in range(d // 2):
            angle = (new - old) * base ** (-2 * m / d)
            a, b = keys[..., old, 2 * m], keys[..., old, 2 * m + 1]
            out[..., new, 2 * m] = a * math.cos(angle) - b * math.sin(angle)
            out[..., new, 2 * m + 1] = a * math.sin(angle) + b * math.cos(angle)
    return out


def closed_in_single_precision(keys, kept, base):
    return closed_with_complex_numbers(keys.float(), kept, base)


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
        ],
        check_partners: [partners_one_by_one, partners_by_both_directions, partners_far_out],
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


def turned_at_new_positions(keys, kept, base):
    angles = rope_angles(torch.arange(len(kept)), rope_frequencies(keys.shape[-1], base))
    return apply_rope(keys[..., kept, :], angles)


def all_moved_by_what_was_dropped(keys, kept, base):
    dropped = keys.shape[-2] - len(kept)
    angles = rope_angles(torch.tensor([-dropped]), rope_frequencies(keys.shape[-1], base))
    return apply_rope(keys[..., kept, :], angles.expand(len(kept), -1))


def first_large_neighbour(turn, d):
    moved = turn(torch.eye(d), 1).abs()
    moved.fill_diagonal_(0)
    return torch.where(moved.amax(1) > 1e-3, moved.argmax(1), torch.arange(d))


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
        ],
        check_closed: [
            (turned_at_new_positions, "on top"),
            (all_moved_by_what_was_dropped, "all keys move by one distance"),
            (lambda keys, kept, base: keys[..., kept, :], "still stands at its old"),
        ],
        check_partners: [(first_large_neighbour, "slow pairs are treated as if they stood still")],
    },
)


def closed_in_place(keys, kept, base):
    keys.copy_(keys.clone())
    keys[..., : len(kept), :] = closed_by_undoing_and_doing(keys.clone(), kept, base)
    return keys[..., : len(kept), :].clone()


test_keys_may_not_be_overwritten = wrong_answers(
    "rule", {check_closed: [(closed_in_place, "changes its argument keys")]}
)


def rope_by_the_library(x, positions, base):
    return apply_rope(x, rope_angles(positions, rope_frequencies(x.shape[-1], base)))


test_rope_may_not_be_borrowed = wrong_answers(
    "rule", {check_rope: [(rope_by_the_library, "Here it is yours to write.")]}
)
