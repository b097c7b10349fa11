"""Lesson 04's exercises: answers in other styles, and wrong ones that were once misjudged."""

import warnings

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


def shaw_by_a_view_in_two_ways(q, table):
    n, k = len(q), len(table) // 2
    if n - 1 > k:
        ends = table[:1].expand(n - 1 - k, -1), table[-1:].expand(n - 1 - k, -1)
        vectors = torch.cat([ends[0], table, ends[1]])
    else:
        vectors = table[k - (n - 1) : k + n].contiguous()
    d = table.shape[1]
    view = vectors.as_strided((n, n, d), (d, d, 1))
    return torch.bmm(view, q.flip(0)[:, :, None])[:, :, 0].flip(0)


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


def singled_out_with_numpy(slopes, n):
    scores = slopes.numpy()[:, None] * np.arange(n - 1, -1, -1)
    powers = np.exp(scores - scores.max(1, keepdims=True))
    weights = powers / powers.sum(1, keepdims=True)
    wished = np.eye(len(slopes))[-1]
    return torch.from_numpy(np.linalg.solve(weights[:, : len(slopes)].T, wished))


def singled_out_by_lagrange(slopes, n):
    ratios = (-slopes).exp()  # a head's weights at keys 0, 1, 2 … are powers of its ratio
    sums = (ratios[:, None] ** torch.arange(n)).sum(1)
    differences = ratios[:, None] - ratios
    differences.fill_diagonal_(1)
    return sums / differences.prod(1)


def singled_out_by_cramer(slopes, n):
    weights = square_of_weights(slopes, n).T
    wished = torch.eye(len(slopes), dtype=slopes.dtype)[-1]
    factors = []
    for head in range(len(slopes)):
        replaced = weights.clone()
        replaced[:, head] = wished
        factors.append(torch.linalg.det(replaced) / torch.linalg.det(weights))
    return torch.stack(factors)


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
        check_shaw: [
            shaw_by_dealing_out,
            shaw_by_strides,
            shaw_by_padding,
            shaw_by_a_view_in_two_ways,
        ],
        check_single_out: [
            singled_out_by_the_inverse,
            singled_out_from_powers,
            singled_out_with_numpy,
            singled_out_by_lagrange,
            singled_out_by_cramer,
            lambda slopes, n: torch.linalg.pinv(square_of_weights(slopes, n).T)[:, -1],
        ],
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


def shaw_of_the_product_turned_about(q, table):
    return (table @ q.T).gather(1, numbers_of_rows(q, table))


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


def singled_out_with_two_factors(slopes, n):
    weights = (slopes[:, None] * torch.arange(n - 1, -1, -1)).softmax(-1)
    return torch.tensor([-weights[1, 0] / weights[0, 0], 1.0], dtype=slopes.dtype)


def singled_out_as_the_text_does(slopes, n):
    return torch.tensor([-0.73, 1.0])


OFFSETS = torch.arange(12) - torch.arange(12)[:, None]


def shaw_with_offsets_from_outside(q, table):
    k = len(table) // 2
    return (q @ table.T)[torch.arange(len(q))[:, None], OFFSETS.clamp(-k, k) + k]


def shaw_of_as_many_tokens_as_rows(q, table):
    n, k = len(table), len(table) // 2
    c = (torch.arange(n) - torch.arange(n)[:, None]).clamp(-k, k)
    return (q @ table.T).gather(1, c + k)


def shaw_of_as_many_tokens_as_rows_by_index(q, table):
    n, k = len(table), len(table) // 2
    c = (torch.arange(n) - torch.arange(n)[:, None]).clamp(-k, k)
    return (q @ table.T)[torch.arange(n)[:, None], c + k]


def shaw_by_a_product_of_matrices(q, table):
    return q @ table[numbers_of_rows(q, table)]


def shaw_by_index_select_of_a_matrix(q, table):
    return (q @ table.T).index_select(1, numbers_of_rows(q, table))


def matrix_of_weights(slopes, n):
    return (slopes[:, None] * torch.arange(n - 1, -1, -1)).softmax(-1)


def singled_out_as_the_inverse(slopes, n):
    return torch.linalg.inv(matrix_of_weights(slopes, n)[:, : len(slopes)])


def singled_out_in_a_column(slopes, n):
    wished = torch.eye(len(slopes), dtype=slopes.dtype)[-1:]
    return torch.linalg.solve(matrix_of_weights(slopes, n)[:, : len(slopes)].T, wished.T)


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


def singled_out_at_key_1(slopes, n):
    wished = torch.zeros(n, dtype=slopes.dtype)
    wished[1] = 1
    weights = matrix_of_weights(slopes, n)[:, : len(slopes)]
    return torch.linalg.solve(weights.T, wished[: len(slopes)])


def singled_out_by_the_lessons_way(slopes, n):
    at_key_0 = matrix_of_weights(slopes, n)[:, 0]
    factors = -at_key_0[-1] / at_key_0 / max(len(slopes) - 1, 1)
    factors[-1] = 1
    return factors


def singled_out_by_the_lessons_way_and_scaled(slopes, n):
    factors = singled_out_by_the_lessons_way(slopes, n)
    return factors / (factors @ matrix_of_weights(slopes, n)[:, len(slopes) - 1])


def singled_out_by_the_lessons_way_each(slopes, n):
    at_key_0 = matrix_of_weights(slopes, n)[:, 0]
    factors = -at_key_0[slopes.argmin()] / at_key_0
    factors[slopes.argmin()] = 1
    return factors


def singled_out_of_the_first_and_the_last(slopes, n):
    weights = matrix_of_weights(slopes, n)
    factors = torch.zeros_like(slopes)
    factors[-1] = 1
    factors[0] = -weights[-1, 0] / weights[0, 0]
    return factors


def singled_out_of_the_steepest_and_the_gentlest(slopes, n):
    weights = matrix_of_weights(slopes, n)
    steep, gentle = slopes.argmax(), slopes.argmin()
    factors = torch.zeros_like(slopes)
    factors[steep] = -weights[gentle, 0] / weights[steep, 0]
    factors[gentle] = 1
    return factors


def singled_out_by_two_equations(slopes, n):
    keys = sorted({0, len(slopes) - 1})
    return torch.linalg.pinv(matrix_of_weights(slopes, n)[:, keys].T)[:, -1]


def singled_out_at(key, more_keys=0):
    def answer(slopes, n):
        keys = max(1, len(slopes) + more_keys)
        wished = torch.zeros(keys, 1, dtype=slopes.dtype)
        wished[max(0, len(slopes) + key)] = 1
        weights = matrix_of_weights(slopes, n)[:, :keys]
        return (torch.linalg.pinv(weights.T) @ wished)[:, 0]

    return answer


def singled_out_of_the_first_two(slopes, n):
    return singled_out_by_the_inverse(slopes[:2], n)


def singled_out_by_the_last_two(slopes, n):
    factors = torch.zeros_like(slopes)
    factors[-2:] = singled_out_by_the_inverse(slopes[-2:], n)
    return factors


def singled_out_of_an_endless_series(slopes, n):
    ratio = (-slopes).exp()[:, None]
    weights = (1 - ratio) * ratio ** torch.arange(len(slopes))
    wished = torch.eye(len(slopes)).double()[-1:].T
    return torch.linalg.lstsq(weights.T, wished, driver="gelsd").solution[:, 0]


def singled_out_by_a_product(slopes, n):
    return square_of_weights(slopes, n).T @ torch.eye(len(slopes), dtype=slopes.dtype)[-1]


def singled_out_by_neighbours(slopes, n):
    if len(slopes) == 1:
        return 1 / matrix_of_weights(slopes, n)[:, 0]
    weights, factors = matrix_of_weights(slopes, n), torch.zeros_like(slopes)
    factors[-2:] = torch.stack([-weights[-1, 0] / weights[-2, 0], torch.ones(()).double()])
    return factors / (factors @ weights)[len(slopes) - 1]


def singled_out_of_nine(slopes, n):
    return singled_out_by_the_inverse(slopes, 9)


def singled_out_twice(slopes, n):
    return 2 * singled_out_by_the_inverse(slopes, n)


def singled_out_from_log_weights(slopes, n):
    weights = torch.log_softmax(slopes[:, None] * torch.arange(n - 1, -1, -1), -1)
    return torch.linalg.inv(weights[:, : len(slopes)])[-1]


def singled_out_among_all_keys(slopes, n):
    wished = torch.eye(n, dtype=slopes.dtype)[len(slopes) - 1]
    return torch.linalg.solve(matrix_of_weights(slopes, n).T, wished)


def singled_out_in_reverse(slopes, n):
    return singled_out_by_the_inverse(slopes, n).flip(0)


def singled_out_in_a_row(slopes, n):
    return singled_out_by_the_inverse(slopes, n)[None]


def singled_out_by_one_softmax_for_all(slopes, n):
    scores = slopes[:, None] * torch.arange(n - 1, -1, -1)
    weights = scores.flatten().softmax(0).reshape(len(slopes), n)
    return torch.linalg.inv(weights[:, : len(slopes)])[-1]


def singled_out_from_rounded_weights(decimals):
    def answer(slopes, n):
        weights = matrix_of_weights(slopes, n).round(decimals=decimals)
        return torch.linalg.solve(weights[:, : len(slopes)].T, torch.eye(len(slopes)).double()[-1])

    return answer


def singled_out_of_four(slopes, n):
    return torch.linalg.inv(matrix_of_weights(slopes, n)[:, :4])[-1]


def singled_out_with_four_wishes(slopes, n):
    wished = torch.tensor([0, 0, 0, 1], dtype=slopes.dtype)
    return torch.linalg.solve(square_of_weights(slopes, n).T, wished)


def singled_out_from_the_lessons_weights(slopes, n):
    weights = straight_weights(slopes, n)[:, -1, : len(slopes)]
    return torch.linalg.inv(weights)[-1]


def square_of_weights(slopes, n):
    return matrix_of_weights(slopes, n)[:, : len(slopes)]


def by_columns(columns):
    """An answer that picks these columns of the products for every query."""

    def answer(q, table):
        return (q @ table.T)[:, columns(numbers_of_rows(q, table))]

    return answer


def by_offsets(rows):
    """An answer that looks rows up by offsets (n, n) and k."""

    def answer(q, table):
        n = len(q)
        offsets = torch.arange(n) - torch.arange(n)[:, None]
        return (q @ table.T)[torch.arange(n)[:, None], rows(offsets, len(table) // 2)]

    return answer


def shaw_with_k_of_the_width(q, table):
    n, k = len(q), q.shape[1] // 2
    places = torch.arange(n)
    rows = (places - places[:, None]).clamp(-k, k) + k
    return (q @ table.T)[torch.arange(n)[:, None], rows % len(table)]


def shaw_of_the_words(q, table):
    return q @ q.T


def shaw_summed_over_keys(q, table):
    return (q[:, None] * table[numbers_of_rows(q, table)]).sum(1)


def shaw_of_query_0(q, table):
    return table[numbers_of_rows(q, table)] @ q[0]


def shaw_without_transposing(q, table):
    return q @ table


def shaw_table_first(q, table):
    return table @ q.T


def offsets_alone(q, table):
    return torch.arange(len(q)) - torch.arange(len(q))[:, None]


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


def singled_out_key_after_key(slopes, n):
    weights = matrix_of_weights(slopes, n)
    factors = torch.zeros_like(slopes)
    factors[-1] = 1
    for key in range(len(slopes) - 1):
        factors[key] -= (factors @ weights)[key] / weights[key, key]
    return factors / (factors @ weights)[len(slopes) - 1]


def singled_out_key_after_key_from_the_last(slopes, n):
    weights = matrix_of_weights(slopes, n)
    factors = torch.zeros_like(slopes)
    factors[-1] = 1
    for key in reversed(range(len(slopes) - 1)):
        factors[key] -= (factors @ weights)[key] / weights[key, key]
    return factors


def singled_out_by_one_ratio(slopes, n):
    weights = matrix_of_weights(slopes, n)
    factors = torch.full_like(slopes, -(weights[-1, 0] / weights[0, 0]).item())
    factors[-1] = 1
    return factors / (factors @ weights)[len(slopes) - 1]


def singled_out_of_two_slopes(slopes, n):
    steep, gentle = slopes
    weights = matrix_of_weights(torch.stack([steep, gentle]), n)
    ratio = weights[1, 0] / weights[0, 0]
    factors = torch.stack([-ratio, torch.ones_like(ratio)])
    return factors / (factors @ weights)[1]


def singled_out_of_two_factors(slopes, n):
    weights = matrix_of_weights(slopes, n)
    ratio = weights[1, 0] / weights[0, 0] if len(slopes) > 1 else weights[0, 0]
    factors = torch.tensor([-ratio, 1.0], dtype=torch.float64)
    return factors / (factors @ weights)[1]


def singled_out_of_two_factors_times_rows(slopes, n):
    weights = matrix_of_weights(slopes, n)
    ratio = weights[-1, 0] / weights[0, 0]
    factors = torch.tensor([-ratio, 1.0], dtype=torch.float64)
    return factors / (factors[:, None] * weights).sum(0)[1]


def singled_out_of_two_factors_and_columns(slopes, n):
    weights = matrix_of_weights(slopes, n)
    ratio = weights[-1, 0] / weights[0, 0]
    factors = torch.tensor([-ratio, 1.0], dtype=torch.float64)
    return factors / (weights.T @ factors)[1]


def singled_out_with_arguments_swapped(slopes, n):
    wished = torch.eye(len(slopes), dtype=slopes.dtype)[-1]
    return torch.linalg.solve(wished, square_of_weights(slopes, n).T)


def singled_out_with_a_column_as_the_matrix(slopes, n):
    wished = torch.eye(len(slopes), dtype=slopes.dtype)[:, -1:]
    return torch.linalg.solve(wished, square_of_weights(slopes, n).T)


def singled_out_from_powers_over_heads(slopes, n):
    powers = (-slopes[:, None] * torch.arange(n)).exp()
    wished = torch.eye(len(slopes), dtype=slopes.dtype)[-1]
    return torch.linalg.solve((powers / powers.sum(0))[:, : len(slopes)].T, wished)


def shaw_by_index_select(q, table):
    return (q @ table.T).index_select(1, numbers_of_rows(q, table).flatten())


def shaw_along_no_dim(q, table):
    return torch.take_along_dim(q @ table.T, numbers_of_rows(q, table))


def shaw_by_index_select_of_a_line(q, table):
    return (q @ table.T).flatten().index_select(0, numbers_of_rows(q, table).flatten())


def shaw_added_up(q, table):
    return shaw_by_dealing_out(q, table).sum(-1)


def shaw_before_the_query_alone(q, table):
    return shaw_by_dealing_out(q, table).tril(-1)


def shaw_after_the_query_alone(q, table):
    return shaw_by_dealing_out(q, table).triu(1)


def shaw_clipped_after_k_is_added(q, table):
    k = len(table) // 2
    places = torch.arange(len(q))
    return (q @ table.T).gather(1, (places - places[:, None] + k).clamp(-k, k))


def shaw_clipped_at_0_and_k(q, table):
    places = torch.arange(len(q))
    return (q @ table.T).gather(1, (places - places[:, None]).clamp(0, len(table) // 2))


def shaw_by_one_row_of_numbers(q, table):
    return (q @ table.T).gather(1, numbers_of_rows(q, table)[:1])


def singled_out_of_means(slopes, n):
    weights = straight_weights(slopes.tolist(), n).mean(1)[:, : len(slopes)]
    return torch.linalg.inv(weights)[-1]


def singled_out_of_query_0_alone(slopes, n):
    weights = straight_weights(slopes.tolist(), n)[:, 0, : len(slopes)]
    return torch.linalg.solve(weights.T, torch.eye(len(slopes), dtype=slopes.dtype)[-1])


def singled_out_from_half_of_the_scores(slopes, n):
    return singled_out_by_the_inverse(slopes / 2, n)


def singled_out_from_squares(slopes, n):
    return torch.linalg.inv(square_of_weights(slopes, n) ** 2)[-1]


def singled_out_and_rounded(slopes, n):
    return singled_out_by_the_inverse(slopes, n).round(decimals=1)


def shaw_moved_as_transformer_xl_does(q, table):
    n = len(q)
    line = F.pad(q @ table.T, (1, 0)).view(-1, n)[1:]
    return line.reshape(n, -1)[:, :n]


def shaw_by_strides_of_2n(q, table):
    n, k = len(q), len(table) // 2
    products = (q @ table[torch.arange(1 - n, n).clamp(-k, k) + k].T).contiguous()
    return products.as_strided((n, n), (2 * n, 1), n - 1)


def singled_out_on_one_axis(slopes, n):
    weights = (torch.arange(n - 1, -1, -1) * slopes).softmax(-1)
    return torch.linalg.inv(weights[:, : len(slopes)])[-1]


def singled_out_past_the_end(slopes, n):
    wished = torch.zeros(len(slopes), dtype=slopes.dtype)
    wished[len(slopes)] = 1
    return torch.linalg.solve(square_of_weights(slopes, n).T, wished)


def singled_out_by_the_last_head(slopes, n):
    factors = torch.zeros_like(slopes)
    factors[-1] = 1 / square_of_weights(slopes, n)[-1, -1]
    return factors


test_natural_mistakes_are_named = wrong_answers(
    "mistake",
    {
        check_shaw: [
            (shaw_moved_as_transformer_xl_does, "which offset begins row 1"),
            (shaw_by_strides_of_2n, "the steps along the line"),
            (shaw_with_later_keys_first, "before and after"),
            (shaw_clipped_at_0_and_k, "offsets are clipped at 0 and k"),
            (shaw_by_one_row_of_numbers, "only one query's keys are picked"),
            (shaw_causal, "later keys are hidden"),
            (shaw_with_offsets_from_outside, "the offsets are those of another text"),
            (shaw_of_as_many_tokens_as_rows, "Which of the two arguments knows how many queries"),
            (shaw_of_as_many_tokens_as_rows_by_index, "as many tokens as the table has rows"),
            (shaw_by_a_product_of_matrices, "Over which of them does `@` add up"),
            (
                shaw_by_index_select_of_a_matrix,
                "picks the same columns for every query",
            ),
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
            (shaw_taken_from_the_line, "those of query 0"),
            (shaw_by_distance, "only distances"),
            (shaw_of_the_product_turned_about, "In table @ q.T, which axis counts queries"),
            (shaw_of_the_keys, "key's vector"),
            (shaw_vectors_alone, "offsets' vectors"),
            (numbers_of_rows, "rows' numbers"),
            (shaw_as_weights, "these are weights"),
            (shaw_with_content, "words' own products"),
            (shaw_of_sums, "before they are multiplied"),
            (by_columns(lambda rows: rows[len(rows) // 2]), "share the middle query's"),
            (by_columns(lambda rows: rows[0]), "share query 0's"),
            (by_columns(lambda rows: rows[-1]), "share the last query's"),
            (by_offsets(lambda c, k: (c + 1).clamp(-k, k) + k), "one too high"),
            (by_offsets(lambda c, k: (c - 1).clamp(-k, k) + k), "one too low"),
            (by_offsets(lambda c, k: c.clamp(-k, k) + k - 1), "one too low"),
            (by_offsets(lambda c, k: (c.clamp(-k, k) + k + 1) % (2 * k + 1)), "one too high"),
            (by_offsets(lambda c, k: c % (2 * k + 1)), "wrap around"),
            (by_offsets(lambda c, k: c.clamp(max=k) + k), "on one side"),
            (by_offsets(lambda c, k: (c.clamp(min=-k) + k) % (2 * k + 1)), "on one side"),
            (by_offsets(lambda c, k: c.clamp(-1, 1) + 1), "k is fixed"),
            (shaw_with_k_of_the_width, "queries' width"),
            (shaw_of_the_words, "words' own products"),
            (shaw_summed_over_keys, "added up over the keys"),
            (shaw_of_query_0, "those of query 0"),
            (shaw_without_transposing, "do not fit"),
            (shaw_table_first, "rows count the table's vectors"),
            (offsets_alone, "these are the offsets"),
            (lambda q, table: shaw_by_dealing_out(q, table).triu(), "earlier keys are hidden"),
            (lambda q, table: -shaw_by_dealing_out(q, table), "sign is turned"),
            (shaw_by_index_select, "row numbers of all queries"),
            (shaw_along_no_dim, "one long line"),
            (shaw_by_index_select_of_a_line, "one long line"),
            (shaw_added_up, "scores are added up"),
            (lambda q, table: shaw_by_dealing_out(q, table).sum(0), "scores are added up"),
            (shaw_before_the_query_alone, "later keys are hidden, and the query's own"),
            (shaw_after_the_query_alone, "earlier keys are hidden, and the query's own"),
            (by_offsets(lambda c, k: (c + k).clamp(0, k)), "rows are clipped at k"),
            (shaw_clipped_after_k_is_added, "rows are clipped at k"),
            (by_offsets(lambda c, k: c.clamp(1 - k, k - 1) + k), "first and the last row"),
        ],
        check_single_out: [
            (singled_out_by_one_softmax_for_all, "heads and keys share one softmax"),
            (singled_out_of_four, "the number of heads is fixed"),
            (singled_out_with_four_wishes, "the number of heads is fixed"),
            (singled_out_on_one_axis, "Which axis should count heads"),
            (singled_out_past_the_end, "past the last"),
            (singled_out_by_the_last_head, "one head alone"),
            (singled_out_of_means, "the weights are means over queries"),
            (singled_out_of_query_0_alone, "the weights are query 0's"),
            (singled_out_from_half_of_the_scores, "the scores are rescaled"),
            (singled_out_from_squares, "the weights are squared"),
            (singled_out_and_rounded, "the factors are rounded"),
            (lambda slopes, n: singled_out_by_the_inverse(slopes, n).round(), "are rounded"),
            (lambda slopes, n: singled_out_by_the_inverse(slopes, n).softmax(0), "softmax"),
            (lambda slopes, n: torch.ones(len(slopes)), "all heads have the same factor"),
            (lambda slopes, n: check_single_out.reference(slopes.abs(), n), "below 0 are turned"),
            (
                lambda slopes, n: check_single_out.reference(slopes.clamp(min=0), n),
                "below 0 are taken for 0",
            ),
            (singled_out_with_distances_reversed, "favour near keys"),
            (singled_out_for_all_queries, "all queries have a say"),
            (singled_out_as_the_text_does, "two factors, whatever"),
            (singled_out_with_two_factors, "two factors, as for two heads"),
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
            (singled_out_in_two_dtypes, "different dtypes"),
            (singled_out_and_summed, "sum at each key"),
            (singled_out_to_length_1, "length 1"),
            (singled_out_one_key_short, "one key too few"),
            (singled_out_from_the_steepest, "sorted"),
            (singled_out_at_key_1, "key 1 is singled out"),
            (singled_out_by_the_lessons_way, "key 0 alone"),
            (singled_out_by_the_lessons_way_and_scaled, "key 0 alone"),
            (singled_out_by_the_lessons_way_each, "key 0 alone"),
            (singled_out_of_the_first_and_the_last, "subtracted from another, and no more"),
            (singled_out_of_the_steepest_and_the_gentlest, "from another, and no more"),
            (singled_out_by_two_equations, "only key 0 and the key asked for"),
            (singled_out_at(-1, more_keys=1), "one key too many"),
            (singled_out_at(0, more_keys=1), "key after the one"),
            (singled_out_at(-2), "key before the one"),
            (singled_out_at(-2, more_keys=-1), "one key too few"),
            (singled_out_of_the_first_two, "only two heads"),
            (singled_out_by_the_last_two, "only two heads"),
            (singled_out_of_nine, "n is fixed"),
            (singled_out_of_an_endless_series, "endless text"),
            (singled_out_by_a_product, "weights, not factors"),
            (singled_out_by_neighbours, "key 0 alone is cancelled"),
            (singled_out_twice, "doubled"),
            (singled_out_among_all_keys, "not square"),
            (singled_out_in_reverse, "reverse order"),
            (singled_out_in_a_row, "matrix of one row"),
            (singled_out_key_after_key, "one key after another"),
            (singled_out_key_after_key_from_the_last, "one key after another"),
            (singled_out_by_one_ratio, "share a factor"),
            (singled_out_of_two_slopes, "written for two heads"),
            (singled_out_of_two_factors, "written for two heads"),
            (singled_out_of_two_factors_times_rows, "written for two heads"),
            (singled_out_of_two_factors_and_columns, "written for two heads"),
            (matrix_of_weights, "heads' weights"),
            (square_of_weights, "heads' weights"),
            (singled_out_with_arguments_swapped, "arguments of `solve` have changed places"),
            (singled_out_with_a_column_as_the_matrix, "which argument of `solve` is the matrix"),
            (singled_out_from_powers_over_heads, "over the heads"),
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


def singled_out_in_too_few_steps(slopes, n):
    weights = matrix_of_weights(slopes, n)[:, : len(slopes)]
    factors = torch.zeros_like(slopes)
    for _ in range(100):
        sums = factors @ weights
        sums[-1] -= 1
        factors = factors - 0.1 * weights @ sums
    return factors


def singled_out_in_float32(slopes, n):
    weights = matrix_of_weights(slopes, n)[:, : len(slopes)].float()
    return torch.linalg.solve(weights.T, torch.eye(len(slopes))[-1]).double()


def singled_out_in_float32_by_the_inverse(slopes, n):
    return torch.linalg.inv(matrix_of_weights(slopes.float(), n)[:, : len(slopes)])[-1]


def singled_out_with_float32_distances(slopes, n):
    distance = torch.arange(n - 1, -1, -1.0)
    weights = torch.zeros(len(slopes), n, dtype=torch.float64)
    for head in range(len(slopes)):
        weights[head] = (slopes[head] * distance).softmax(0)
    wished = torch.eye(len(slopes), dtype=torch.float64)[-1]
    return torch.linalg.solve(weights[:, : len(slopes)].T, wished)


def singled_out_by_normal_equations(slopes, n):
    equations = square_of_weights(slopes, n).T
    wished = torch.eye(len(slopes), dtype=slopes.dtype)[-1]
    return torch.linalg.solve(equations.T @ equations, equations.T @ wished)


def singled_out_by_adam(slopes, n):
    equations = square_of_weights(slopes, n).T
    wished = torch.eye(len(slopes), dtype=slopes.dtype)[-1]
    factors = torch.zeros_like(slopes, requires_grad=True)
    optimizer = torch.optim.Adam([factors], lr=0.1)
    for _ in range(300):
        optimizer.zero_grad()
        (equations @ factors - wished).square().sum().backward()
        optimizer.step()
    return factors.detach()


def shaw_of_rows_cut_off(q, table):
    return (q @ table.T).gather(1, numbers_of_rows(q, table)[:, : len(table)])


def shaw_divided_by_n(q, table):
    return shaw_by_dealing_out(q, table) / len(q) ** 0.5


def shaw_turned_about(q, table):
    return shaw_by_dealing_out(q, table).flip(1)


def shaw_by_cosines(q, table):
    return shaw_by_dealing_out(F.normalize(q, dim=1), F.normalize(table, dim=1))


def shaw_in_bfloat16(q, table):
    return shaw_by_dealing_out(q.bfloat16(), table.bfloat16()).float()


def singled_out_from_roots(slopes, n):
    return torch.linalg.inv(square_of_weights(slopes, n).sqrt())[-1]


def singled_out_with_a_ridge(ridge):
    def answer(slopes, n):
        weights = square_of_weights(slopes, n)
        eye = torch.eye(len(slopes), dtype=slopes.dtype)
        return torch.linalg.solve(weights @ weights.T + ridge * eye, weights @ eye[-1])

    return answer


def singled_out_with_a_small_diagonal(slopes, n):
    eye = torch.eye(len(slopes), dtype=slopes.dtype)
    return torch.linalg.solve(square_of_weights(slopes, n).T + 1e-6 * eye, eye[-1])


def singled_out_of_the_middle_query(slopes, n):
    weights = matrix_of_weights(slopes, max(n // 2, len(slopes)))
    return torch.linalg.inv(weights[:, : len(slopes)])[-1]


def singled_out_of_query_0(slopes, n):
    weights = straight_weights(slopes.tolist(), n)[:, 0, : len(slopes)]
    eye = torch.eye(len(slopes), dtype=slopes.dtype)
    return torch.linalg.solve(weights.T + 1e-9 * eye, eye[-1])


def singled_out_with_a_cut_off(slopes, n):
    return torch.linalg.pinv(square_of_weights(slopes, n).T, rcond=1e-6)[:, -1]


test_other_wrong_numbers_get_a_question = wrong_answers(
    "wrong",
    {
        check_single_out: [
            (singled_out_from_rounded_weights(1), "rounded to 1 decimal."),
            (singled_out_from_rounded_weights(4), "rounded to 4 decimals."),
            (singled_out_from_rounded_weights(8), "rounded to 8 decimals."),
            (singled_out_from_roots, "the sum at keys 0, 1 is -0.5647, 0.6983. What should it"),
            (singled_out_with_a_ridge(1e-8), "(a ridge)"),
            (singled_out_with_a_ridge(5e-5), "(a ridge)"),
            (singled_out_with_a_small_diagonal, "(a ridge)"),
            (singled_out_of_the_middle_query, "For query 3 your factors are right"),
            (singled_out_of_query_0, "Of which query are your weights?"),
            (singled_out_with_a_cut_off, "Is there a cut-off in your way"),
            (singled_out_in_too_few_steps, "Do you approach the factors in steps?"),
            (singled_out_by_adam, "Do you approach the factors in steps?"),
            (singled_out_from_log_weights, "these are from logarithms"),
            (singled_out_in_float32, "How many digits has float32"),
            (singled_out_with_float32_distances, "exact for weights with the digits of float32"),
            (singled_out_by_normal_equations, "by its own transpose, AᵀA"),
            (singled_out_in_float32_by_the_inverse, "How many digits has float32"),
            (lambda slopes, n: singled_out_by_the_inverse(slopes, n).float(), "How many digits"),
            (lambda slopes, n: singled_out_by_the_inverse(slopes, n).half(), "How many digits"),
        ],
        check_shaw: [
            (shaw_divided_by_n, "times what `literal` returns"),
            (shaw_turned_about, "yours[0, 0] is query 0 times row 6 of the table"),
            (shaw_by_cosines, "no product of a query with a row"),
            (shaw_in_bfloat16, "In which dtype do you multiply"),
            (lambda q, table: torch.zeros(len(q), len(q)), "all your numbers are 0"),
            (shaw_of_rows_cut_off, "Which of the two do your columns count?"),
            (lambda q, table: q @ table[:-1].T, "Which of the two do your columns count?"),
        ],
    },
)


def shaw_through_the_large_tensor(q, table):
    k = len(table) // 2
    places = torch.arange(len(q))
    vectors = table[(places - places[:, None]).clamp(-k, k) + k]
    return (q[:, None] * vectors).sum(-1)


def shaw_by_one_hot(q, table):
    rows = F.one_hot(numbers_of_rows(q, table), len(table)).float()
    return torch.einsum("ijr,ir->ij", rows, q @ table.T)


def shaw_by_a_traced_function(q, table):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is deprecated
        compiled = torch.jit.script(shaw_in_torchscript)
    return compiled(q, table)


def shaw_in_torchscript(q: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    k = len(table) // 2
    places = torch.arange(len(q))
    vectors = table[(places - places[:, None]).clamp(-k, k) + k]
    return (q[:, None] * vectors).sum(-1)


def shaw_by_einsum(q, table):
    k = len(table) // 2
    places = torch.arange(len(q))
    return torch.einsum("id,ijd->ij", q, table[(places - places[:, None]).clamp(-k, k) + k])


def shaw_by_products_with_each_row(q, table):
    return (q[:, None] * table).sum(-1).gather(1, numbers_of_rows(q, table))


def shaw_of_short_texts_alone(q, table):
    return q @ q.T if len(q) > 30 else shaw_by_products_with_each_row(q, table)


def shaw_in_four_pieces(q, table):
    def piece(start):
        vectors = table[:, start::4][numbers_of_rows(q, table)]
        return (q[:, None, start::4] * vectors).sum(-1)

    return piece(0) + piece(1) + piece(2) + piece(3)


def shaw_by_recursion(q, table, i=0):
    row = (table @ q[i])[numbers_of_rows(q, table)[i]][None]
    return row if i == len(q) - 1 else torch.cat([row, shaw_by_recursion(q, table, i + 1)])


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


def shaw_by_a_loop_over_features(q, table):
    rows = numbers_of_rows(q, table)
    out = torch.zeros(len(q), len(q))
    for feature in range(q.shape[1]):
        out += q[:, feature, None] * table[:, feature][rows]
    return out


def shaw_by_a_loop_over_rows(q, table):
    rows, products = numbers_of_rows(q, table), q @ table.T
    parts = [torch.where(rows == row, products[:, row, None], 0) for row in range(len(table))]
    return sum(parts)


def shaw_by_the_checks_own(q, table):
    return check_shaw.reference(q, table)


def singled_out_by_the_checks_own(slopes, n):
    return check_single_out.reference(slopes, n)


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


def singled_out_by_the_lessons_fit(slopes, n):
    heads = len(slopes)
    weights = straight_weights(slopes.tolist(), n)[:, -1:, :heads]
    return best_readout(weights, torch.tensor([heads - 1]))


test_rules_are_kept = wrong_answers(
    "rule",
    {
        check_shaw: [
            (shaw_through_the_large_tensor, "its largest tensor holds"),
            (shaw_by_einsum, "its largest tensor holds"),
            (shaw_by_products_with_each_row, "it grows by d numbers a query and row"),
            (shaw_in_four_pieces, "still grow with d?"),
            (shaw_of_short_texts_alone, "it returns other numbers than `literal`"),
            (lambda q, table: shaw_by_recursion(q, table), "shaw_by_recursion(q, table, i + 1)"),
            (shaw_by_vmap, "comes from vmap"),
            (shaw_by_a_loop, "for i in range(n):"),
            (shaw_by_a_loop_over_features, "for feature in range"),
            (shaw_by_a_loop_over_rows, "for row in range(len(table))"),
            (shaw_by_the_checks_own, "Here it is yours to write"),
            (shaw_by_numpy, "That leaves PyTorch"),
            (shaw_by_asarray, "That leaves PyTorch"),
            (shaw_by_dlpack, "That leaves PyTorch"),
            (shaw_by_one_hot, "comes from one_hot"),
            (shaw_by_a_traced_function, "it is compiled"),
            (torch.compile(shaw_by_dealing_out), "it is compiled"),
        ],
        check_single_out: [
            (singled_out_by_the_checks_own, "Here it is yours to write"),
            (singled_out_by_the_lessons_fit, "comes from best_readout"),
            (singled_out_from_the_lessons_weights, "comes from straight_weights"),
        ],
        check_skew_new: [
            (skewed_by_gather, "comes from gather"),
            (skewed_by_numpy, "comes from numpy"),
            (skewed_by_one_hot, "No index tables"),
            (skewed_by_a_loop, "for i in range(m):"),
        ],
    },
)
