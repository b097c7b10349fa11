"""Lesson 04's exercises: answers in other styles, and wrong ones that were once misjudged."""

import math

import numpy as np
import torch
from exercise_answers import right_answers, wrong_answers
from torch.nn import functional as F

from course_lab.checks.lesson04 import (
    check_causal_bucket,
    check_position_to_content,
    check_skew_new,
)
from course_utils.encodings.functional import t5_bucket

# Right answers


def bucket_by_a_loop(distance, n_buckets, r_max):
    e = n_buckets // 2
    buckets = []
    for d in distance.flatten().tolist():
        passed = (n_buckets - e) * math.log(max(d, e) / e) / math.log(r_max / e)
        buckets.append(min(n_buckets - 1, e + int(passed)))
    return torch.where(distance < e, distance, torch.tensor(buckets).reshape(distance.shape))


def skewed_by_strides(rows):
    m, n = rows.shape
    padded = torch.cat([rows.new_zeros(m, 1), rows], 1)
    return torch.as_strided(padded, (m, n), (n, 1), m).tril(n - m)


def skewed_by_padding_on_the_right(rows):
    m, n = rows.shape
    if m == 1:
        return rows
    line = F.pad(rows, (0, m - 1)).flatten()[m - 1 :]
    return F.pad(line, (0, m - 1))[: m * (n + m - 2)].reshape(m, -1)[:, :n]


def position_to_content_by_gather(keys, table):
    n, k = len(keys), len(table) // 2
    positions = torch.arange(n)
    rows = (positions[:, None] - positions + k).clamp(0, 2 * k - 1)  # [j, i]: j − i + k
    return (keys @ table.T).gather(1, rows).T


test_right_answers_pass = right_answers(
    {
        check_causal_bucket: [bucket_by_a_loop],
        check_skew_new: [skewed_by_strides, skewed_by_padding_on_the_right],
        check_position_to_content: [position_to_content_by_gather],
    }
)


# Wrong answers


def bucket(distance, n_buckets, e, passed):
    shared = (e + passed.long()).clamp(max=n_buckets - 1)
    return torch.where(distance < e, distance, shared)


def share(distance, e, r_max):
    return (distance.clamp(min=e) / e).log() / math.log(r_max / e)


def bucket_rounded(distance, n, r_max):
    return bucket(distance, n, n // 2, (share(distance, n // 2, r_max) * (n - n // 2)).round())


def bucket_rounded_up(distance, n, r_max):
    return bucket(distance, n, n // 2, (share(distance, n // 2, r_max) * (n - n // 2)).ceil())


def bucket_without_division_by_e(distance, n, r_max):
    passed = distance.clamp(min=1).log() / math.log(r_max / (n // 2)) * (n - n // 2)
    return bucket(distance, n, n // 2, passed)


def bucket_with_e_rounded_up(distance, n, r_max):
    e = n - n // 2
    return bucket(distance, n, e, share(distance, e, r_max) * (n // 2))


test_natural_mistakes_are_named = wrong_answers(
    "mistake",
    {
        check_causal_bucket: [
            (bucket_rounded, "rounded to the nearer"),
            (bucket_rounded_up, "rounded up"),
            (bucket_without_division_by_e, "not of its ratio to e"),
            (bucket_with_e_rounded_up, "e is rounded up"),
        ]
    },
)


def column_numbers(m, n):
    """The column of the input that each entry comes from, (m, n)."""
    return (torch.arange(n) + (m - 1 - torch.arange(m))[:, None]).clamp(max=n - 1)


def skewed_by_gather(rows):
    m, n = rows.shape
    return rows.gather(1, column_numbers(m, n)).tril(n - m)


def skewed_by_numpy(rows):
    m, n = rows.shape
    moved = rows.numpy()[np.arange(m)[:, None], column_numbers(m, n).numpy()]
    return torch.from_numpy(moved).tril(n - m)


def skewed_by_one_hot(rows):
    m, n = rows.shape
    one_hot = F.one_hot(column_numbers(m, n), n).float()
    return torch.einsum("ijk,ik->ij", one_hot, rows).tril(n - m)


def skewed_by_a_loop(rows):
    m, n = rows.shape
    out = torch.zeros(m, n)
    for i in range(m):
        out[i, : n - m + 1 + i] = rows[i, m - 1 - i :]
    return out


test_rules_are_kept = wrong_answers(
    "rule",
    {
        check_causal_bucket: [
            (lambda d, n, r_max: t5_bucket(-d, n, r_max, False), "comes from t5_bucket")
        ],
        check_skew_new: [
            (skewed_by_gather, "comes from gather"),
            (skewed_by_numpy, "comes from numpy"),
            (skewed_by_one_hot, "No index tables"),
            (skewed_by_a_loop, "for i in range(m):"),
        ],
    },
)
