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


def numbers_of_rows(q, table):
    k = len(table) // 2
    places = torch.arange(len(q))
    return (places - places[:, None]).clamp(-k, k) + k


def shaw_picked_along_the_queries(q, table):
    return (q @ table.T).gather(0, numbers_of_rows(q, table))


def shaw_without_adding_k(q, table):
    k = len(table) // 2
    return (q @ table.T).gather(1, numbers_of_rows(q, table) - k)


def shaw_with_k_too_large(q, table):
    k = len(table) - 1
    places = torch.arange(len(q))
    return (q @ table.T).gather(1, (places - places[:, None]).clamp(-k, k) + k)


def shaw_indexed_by_all_rows(q, table):
    return (q @ table.T)[:, numbers_of_rows(q, table)]


def shaw_taken_from_the_line(q, table):
    return torch.take(q @ table.T, numbers_of_rows(q, table))


def shaw_by_distance(q, table):
    places = torch.arange(len(q))
    distance = (places - places[:, None]).abs().clamp(max=len(table) // 2)
    return (q @ table.T).gather(1, distance)


def shaw_of_the_keys(q, table):
    return (table @ q.T).gather(0, numbers_of_rows(q, table))


def shaw_vectors_alone(q, table):
    return table[numbers_of_rows(q, table)]


def shaw_as_weights(q, table):
    return torch.softmax(shaw_by_dealing_out(q, table), dim=-1)


def shaw_with_content(q, table):
    return q @ q.T + shaw_by_dealing_out(q, table)


def shaw_of_sums(q, table):
    return q.sum(1)[:, None] * table.sum(1)[numbers_of_rows(q, table)]


def shaw_indexed_by_rows_first(q, table):
    return (q @ table.T)[numbers_of_rows(q, table)]


def singled_out_as_the_text_does(slopes, n):
    return torch.tensor([-0.73, 1.0])


def matrix_of_weights(slopes, n):
    return (slopes[:, None] * torch.arange(n - 1, -1, -1)).softmax(-1)


def singled_out_as_the_inverse(slopes, n):
    return torch.linalg.inv(matrix_of_weights(slopes, n)[:, : len(slopes)])


def singled_out_in_a_column(slopes, n):
    wished = torch.eye(len(slopes), dtype=slopes.dtype)[-1:]
    return torch.linalg.solve(matrix_of_weights(slopes, n)[:, : len(slopes)].T, wished.T)


def singled_out_from_scores(slopes, n):
    scores = slopes[:, None] * torch.arange(n - 1, -1, -1)
    return torch.linalg.inv(scores[:, : len(slopes)])[-1]


def singled_out_in_two_dtypes(slopes, n):
    weights = matrix_of_weights(slopes, n)[:, : len(slopes)]
    wished = torch.zeros(len(slopes))
    wished[-1] = 1
    return torch.linalg.solve(weights.T, wished)


def singled_out_and_summed(slopes, n):
    return singled_out_by_the_inverse(slopes, n) @ matrix_of_weights(slopes, n)


def singled_out_to_length_1(slopes, n):
    factors = singled_out_by_the_inverse(slopes, n)
    return factors / factors.norm()


def singled_out_one_key_short(slopes, n):
    return singled_out_by_the_inverse(slopes, n - 1)


def singled_out_from_the_steepest(slopes, n):
    return singled_out_by_the_inverse(slopes.sort(descending=True).values, n)


def skewed_with_infinity(rows):
    m, n = rows.shape
    later = torch.ones(m, n, dtype=torch.bool).triu(n - m + 1)
    return skewed_by_strides(rows).masked_fill(later, -float("inf"))


def skewed_in_reverse(rows):
    return skewed_by_strides(rows).flip(0)


def skewed_with_the_mask_of_the_other_sign(rows):
    m, n = rows.shape
    return F.pad(rows, (1, 0)).flatten()[m:].reshape(m, n).tril(m - n)


def position_to_content_without_k(keys, table):
    n, k = len(keys), len(table) // 2
    positions = torch.arange(n)
    return (keys @ table.T).gather(1, (positions[:, None] - positions).clamp(0, 2 * k - 1)).T


def position_to_content_scaled(keys, table):
    return position_to_content_by_gather(keys, table) / (3 * keys.shape[1]) ** 0.5


def position_to_content_from_the_end(keys, table):
    return position_to_content_by_gather(keys, table.flip(0))


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
            (shaw_picked_along_the_queries, "along the wrong axis"),
            (shaw_indexed_by_rows_first, "along the wrong axis"),
            (shaw_without_adding_k, "row 0 of the table"),
            (shaw_with_k_too_large, "that the table lacks"),
            (shaw_indexed_by_all_rows, "row numbers of all queries"),
            (shaw_taken_from_the_line, "as one line"),
            (shaw_by_distance, "only distances"),
            (shaw_of_the_keys, "key's vector"),
            (shaw_vectors_alone, "offsets' vectors"),
            (numbers_of_rows, "rows' numbers"),
            (shaw_as_weights, "these are weights"),
            (shaw_with_content, "words' own products"),
            (shaw_of_sums, "before they are multiplied"),
        ],
        check_single_out: [
            (singled_out_with_distances_reversed, "favour near keys"),
            (singled_out_for_all_queries, "all queries have a say"),
            (singled_out_as_the_text_does, "lesson's two factors"),
            (singled_out_from_shares_of_heads, "over the heads"),
            (singled_out_by_the_largest, "scaled"),
            (singled_out_from_key_1, "counted from 1"),
            (singled_out_by_elimination, "scaled"),
            (singled_out_from_numerators, "numerators"),
            (singled_out_with_ones, "1 at each"),
            (singled_out_with_the_sign_turned, "sign"),
            (singled_out_in_sorted_order, "sorted"),
            (singled_out_from_n_down_to_0, "one key too many"),
            (singled_out_as_the_inverse, "whole inverse"),
            (singled_out_in_a_column, "in a column"),
            (singled_out_from_scores, "not weights"),
            (singled_out_in_two_dtypes, "different dtypes"),
            (singled_out_and_summed, "sum at each key"),
            (singled_out_to_length_1, "length 1"),
            (singled_out_one_key_short, "one key too few"),
            (singled_out_from_the_steepest, "sorted"),
        ],
        check_skew_new: [
            (skewed_with_infinity, "by −∞"),
            (skewed_in_reverse, "reverse order"),
            (skewed_with_the_mask_of_the_other_sign, "too much is hidden"),
        ],
        check_position_to_content: [
            (position_to_content_without_k, "k is not added"),
            (position_to_content_scaled, "scaled"),
            (position_to_content_from_the_end, "from its end"),
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


def shaw_by_numpy(q, table):
    rows = numbers_of_rows(q, table).numpy()
    return torch.from_numpy((q.numpy()[:, None] * table.numpy()[rows]).sum(-1))


def shaw_by_asarray(q, table):
    vectors = np.asarray(table)[np.asarray(numbers_of_rows(q, table))]
    return torch.as_tensor(np.einsum("id,ijd->ij", np.asarray(q), vectors))


def shaw_by_dlpack(q, table):
    vectors = np.from_dlpack(table)[np.from_dlpack(numbers_of_rows(q, table))]
    return torch.from_dlpack((np.from_dlpack(q)[:, None] * vectors).sum(-1))


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
            (shaw_by_numpy, "That leaves PyTorch"),
            (shaw_by_asarray, "That leaves PyTorch"),
            (shaw_by_dlpack, "That leaves PyTorch"),
        ],
        check_skew_new: [
            (skewed_by_gather, "comes from gather"),
            (skewed_by_numpy, "comes from numpy"),
            (skewed_by_one_hot, "No index tables"),
            (skewed_by_a_loop, "for i in range(m):"),
        ],
    },
)
