"""Lesson 04's exercises: answers in other styles, and wrong ones that were once misjudged."""

import numpy as np
import torch
from exercise_answers import right_answers, wrong_answers
from torch.nn import functional as F

from course_lab.checks.lesson04 import (
    check_position_to_content,
    check_shaw,
    check_single_out,
    check_skew_new,
)
from course_lab.straight_heads import best_readout, keys_asked, straight_weights

# Right answers


def shaw_by_dealing_out(q, table):
    k = len(table) // 2
    places = torch.arange(len(q))
    rows = (places - places[:, None]).clamp(-k, k) + k
    return (q @ table.T).gather(1, rows)


def shaw_by_strides(q, table):
    n, k = len(q), len(table) // 2
    products = (q @ table[torch.arange(1 - n, n).clamp(-k, k) + k].T).contiguous()
    return products.as_strided((n, n), (2 * n - 2, 1), n - 1)


def shaw_by_padding(q, table):
    n, k = len(q), len(table) // 2
    products = q @ table[torch.arange(1 - n, n).clamp(-k, k) + k].T
    line = F.pad(products, (0, 1)).flatten()[: n * (2 * n - 1)]
    return line.reshape(n, 2 * n - 1)[:, n - 1 :]


def singled_out_by_the_inverse(slopes, n):
    heads = len(slopes)
    distance = n - 1 - torch.arange(n)
    weights = torch.softmax(torch.outer(slopes, distance.double()), dim=1)
    return torch.linalg.inv(weights[:, :heads])[-1]


def singled_out_from_powers(slopes, n):
    powers = (-slopes[:, None] * torch.arange(n)).exp()
    weights = powers / powers.sum(1, keepdim=True)
    wished = torch.zeros(len(slopes), 1, dtype=slopes.dtype)
    wished[-1] = 1
    return torch.linalg.lstsq(weights[:, : len(slopes)].T, wished).solution.squeeze(1)


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
        check_shaw: [shaw_by_dealing_out, shaw_by_strides, shaw_by_padding],
        check_single_out: [singled_out_by_the_inverse, singled_out_from_powers],
        check_skew_new: [skewed_by_strides, skewed_by_padding_on_the_right],
        check_position_to_content: [position_to_content_by_gather],
    }
)


# Wrong answers


def shaw_with_later_keys_first(q, table):
    n, k = len(q), len(table) // 2
    products = q @ table[torch.arange(n - 1, -n, -1).clamp(-k, k) + k].T
    return products.flatten()[n - 1 : n * (2 * n - 1) - 1].reshape(n, -1)[:, :n]


def singled_out_with_distances_reversed(slopes, n):
    weights = (slopes[:, None] * torch.arange(n)).softmax(-1)
    wished = torch.eye(len(slopes), dtype=slopes.dtype)[-1]
    return torch.linalg.solve(weights[:, : len(slopes)].T, wished)


def shaw_products(q, table):
    n, k = len(q), len(table) // 2
    return q @ table[torch.arange(1 - n, n).clamp(-k, k) + k].T


def shaw_causal(q, table):
    return shaw_by_strides(q, table).tril()


def shaw_by_skewing_as_huang_does(q, table):
    n = len(q)
    earlier = shaw_products(q, table)[:, :n]
    return F.pad(earlier, (1, 0)).reshape(n + 1, n)[1:]


def shaw_from_the_last_columns(q, table):
    n = len(q)
    return shaw_products(q, table).flatten()[n - 1 : -1].reshape(n, -1)[:, -n:]


def shaw_in_rows_of_n(q, table):
    n = len(q)
    return shaw_products(q, table).flatten()[n - 1 : n - 1 + n * n].reshape(n, n)


def singled_out_for_all_queries(slopes, n):
    weights = straight_weights(slopes.tolist(), n)
    return best_readout(weights, keys_asked(len(slopes) - 1, n))


def singled_out_from_shares_of_heads(slopes, n):
    shares = (slopes[:, None] * torch.arange(n - 1, -1, -1)).softmax(0)
    wished = torch.eye(len(slopes), dtype=slopes.dtype)[-1]
    return torch.linalg.solve(shares[:, : len(slopes)].T, wished)


def singled_out_by_the_largest(slopes, n):
    factors = singled_out_by_the_inverse(slopes, n)
    return factors / factors.abs().max()


def singled_out_from_key_1(slopes, n):
    weights = (slopes[:, None] * torch.arange(n - 1, -1, -1)).softmax(-1)
    return torch.linalg.inv(weights[:, 1 : len(slopes) + 1])[-1]


def shaw_unclipped_by_gather(q, table):
    places = torch.arange(len(q))
    return (q @ table.T).gather(1, places - places[:, None] + len(table) // 2)


def shaw_unclipped_by_rows(q, table):
    i, j = torch.meshgrid(torch.arange(len(q)), torch.arange(len(q)), indexing="ij")
    return (q @ table.T)[i, j - i + len(table) // 2]


def shaw_with_nothing_beyond_k(q, table):
    k = len(table) // 2
    places = torch.arange(len(q))
    c = places - places[:, None]
    return torch.where(c.abs() > k, 0.0, shaw_by_dealing_out(q, table))


def shaw_product_with_the_table(q, table):
    return torch.einsum("id,rd->ir", q, table)


def singled_out_by_elimination(slopes, n):
    factors = singled_out_by_the_inverse(slopes, n)
    return factors / factors[-1]


def singled_out_from_numerators(slopes, n):
    powers = torch.exp(-torch.outer(slopes, torch.arange(n).double()))
    return torch.linalg.inv(powers[:, : len(slopes)])[-1]


def singled_out_with_ones(slopes, n):
    weights = (slopes[:, None] * torch.arange(n - 1, -1, -1)).softmax(-1)
    return torch.linalg.inv(weights[:, : len(slopes)]).sum(0)


def singled_out_with_the_sign_turned(slopes, n):
    return -singled_out_by_the_inverse(slopes, n)


def singled_out_in_sorted_order(slopes, n):
    return singled_out_by_the_inverse(slopes.sort(descending=False).values, n)


def singled_out_from_n_down_to_0(slopes, n):
    weights = (slopes[:, None] * torch.arange(n, -1, -1)).softmax(-1)
    return torch.linalg.inv(weights[:, : len(slopes)])[-1]


test_natural_mistakes_are_named = wrong_answers(
    "mistake",
    {
        check_shaw: [
            (shaw_with_later_keys_first, "before and after"),
            (shaw_causal, "later keys are hidden"),
            (shaw_by_skewing_as_huang_does, "leftovers"),
            (shaw_from_the_last_columns, "wrong columns"),
            (shaw_in_rows_of_n, "into rows of n"),
            (shaw_unclipped_by_gather, "not clipped"),
            (shaw_unclipped_by_rows, "not clipped"),
            (shaw_with_nothing_beyond_k, "count as nothing"),
            (shaw_product_with_the_table, "count the table's rows"),
            (shaw_products, "columns count offsets"),
        ],
        check_single_out: [
            (singled_out_with_distances_reversed, "favour near keys"),
            (singled_out_for_all_queries, "all queries have a say"),
            (singled_out_from_shares_of_heads, "over the heads"),
            (singled_out_by_the_largest, "scaled"),
            (singled_out_from_key_1, "counted from 1"),
            (singled_out_by_elimination, "scaled"),
            (singled_out_from_numerators, "numerators"),
            (singled_out_with_ones, "1 at each"),
            (singled_out_with_the_sign_turned, "sign"),
            (singled_out_in_sorted_order, "sorted"),
            (singled_out_from_n_down_to_0, "one key too many"),
        ],
    },
)


def shaw_through_the_large_tensor(q, table):
    k = len(table) // 2
    places = torch.arange(len(q))
    vectors = table[(places - places[:, None]).clamp(-k, k) + k]
    return (q[:, None] * vectors).sum(-1)


def shaw_by_einsum(q, table):
    k = len(table) // 2
    places = torch.arange(len(q))
    return torch.einsum("id,ijd->ij", q, table[(places - places[:, None]).clamp(-k, k) + k])


def shaw_by_vmap(q, table):
    n, k = len(q), len(table) // 2

    def row(query, i):
        return (table[(torch.arange(n) - i).clamp(-k, k) + k] * query).sum(-1)

    return torch.vmap(row)(q, torch.arange(n))


def shaw_by_a_loop(q, table):
    n, k = len(q), len(table) // 2
    rows = []
    for i in range(n):
        rows.append(table[(torch.arange(n) - i).clamp(-k, k) + k] @ q[i])
    return torch.stack(rows)


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
        check_shaw: [
            (shaw_through_the_large_tensor, "its largest tensor holds"),
            (shaw_by_einsum, "its largest tensor holds"),
            (shaw_by_vmap, "comes from vmap"),
            (shaw_by_a_loop, "for i in range(n):"),
        ],
        check_skew_new: [
            (skewed_by_gather, "comes from gather"),
            (skewed_by_numpy, "comes from numpy"),
            (skewed_by_one_hot, "No index tables"),
            (skewed_by_a_loop, "for i in range(m):"),
        ],
    },
)
