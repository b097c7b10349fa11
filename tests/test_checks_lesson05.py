"""Lesson 05's checks: right answers in several styles pass, wrong ones hear the right word."""

import math

import pytest
import torch

from course_lab.checks.lesson05 import check_closed, check_partners
from course_utils.encodings.functional import apply_rope, rope_angles, rope_frequencies


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
    found = []
    for feature in range(d):
        arrow = torch.zeros(d)
        arrow[feature] = 1
        others = [n for n in turn(arrow, 1).nonzero().flatten().tolist() if n != feature]
        found.append(others[0] if others else feature)
    return torch.tensor(found)


def partners_by_both_directions(turn, d):
    moved = turn(torch.eye(d, dtype=torch.float64), 0.5)
    spread = (moved - moved.diag().diag()) ** 2
    itself = torch.eye(d, dtype=torch.float64) * (spread.sum(1, keepdim=True) == 0)
    return (spread + itself).argmax(1)


def partners_far_out(turn, d):
    away = turn(torch.eye(d), 1000) - turn(torch.eye(d), 0)
    away.fill_diagonal_(0)
    return torch.where(away.any(1), away.abs().argmax(1), torch.arange(d))


@pytest.mark.parametrize(
    "answer",
    [
        closed_with_complex_numbers,
        closed_by_undoing_and_doing,
        closed_with_loops,
        closed_in_single_precision,
    ],
)
def test_a_gap_may_be_closed_in_any_style(answer):
    assert check_closed.verdict(answer).kind == "right"


@pytest.mark.parametrize(
    "answer", [partners_one_by_one, partners_by_both_directions, partners_far_out]
)
def test_partners_may_be_found_in_any_style(answer):
    assert check_partners.verdict(answer).kind == "right"


def turn_at_new_places(keys, kept, base):
    angles = rope_angles(torch.arange(len(kept)), rope_frequencies(keys.shape[-1], base))
    return apply_rope(keys[..., kept, :], angles)


def move_all_by_what_was_dropped(keys, kept, base):
    dropped = keys.shape[-2] - len(kept)
    angles = rope_angles(torch.tensor([-dropped]), rope_frequencies(keys.shape[-1], base))
    return apply_rope(keys[..., kept, :], angles.expand(len(kept), -1))


def first_large_neighbour(turn, d):
    moved = turn(torch.eye(d), 1).abs()
    moved.fill_diagonal_(0)
    return torch.where(moved.amax(1) > 1e-3, moved.argmax(1), torch.arange(d))


@pytest.mark.parametrize(
    ("check", "answer", "word"),
    [
        (check_closed, turn_at_new_places, "on top"),
        (check_closed, move_all_by_what_was_dropped, "all keys move by one distance"),
        (check_closed, lambda keys, kept, base: keys[..., kept, :], "still stands at its old"),
        (check_partners, first_large_neighbour, "slow pairs are taken for still"),
        (check_partners, lambda turn, d: torch.arange(d), "nothing has turned"),
        (check_partners, lambda turn, d: torch.arange(d) ^ 1, "neighbours are taken"),
    ],
)
def test_a_natural_mistake_hears_its_word(check, answer, word):
    verdict = check.verdict(answer)
    assert verdict.kind == "mistake" and word in verdict.text


def test_keys_may_not_be_overwritten():
    def closed(keys, kept, base):
        keys.copy_(keys.clone())
        keys[..., : len(kept), :] = closed_by_undoing_and_doing(keys.clone(), kept, base)
        return keys[..., : len(kept), :].clone()

    verdict = check_closed.verdict(closed)
    assert verdict.kind == "rule" and "changes its argument keys" in verdict.text
