"""Lesson 06's exercises: answers in other styles, and wrong ones that were once misjudged."""

import math

import torch
from exercise_answers import right_answers, wrong_answers

from course_lab.checks.lesson06 import check_alibi, check_any_slopes, check_blockwise
from course_utils.encodings import Places, create
from course_utils.encodings.functional import alibi_slopes


def scores_of(q, k, slopes, q_pos, k_pos, causal):
    offsets = k_pos - q_pos[:, None]
    scores = q @ k.mT / q.shape[-1] ** 0.5 - slopes[:, None, None] * offsets.abs()
    return scores.masked_fill((offsets > 0) & causal, -torch.inf)


# Right answers


def in_two_passes(q, k, v, slopes, q_pos, k_pos, causal, block):
    """Largest scores first, then the sums."""
    blocks = [slice(start, start + block) for start in range(0, len(k_pos), block)]

    def scores(keys):
        return scores_of(q, k[:, keys], slopes, q_pos, k_pos[keys], causal)

    largest = torch.stack([scores(keys).amax(-1) for keys in blocks]).amax(0)[..., None]
    total = sum((scores(keys) - largest).exp().sum(-1, keepdim=True) for keys in blocks)
    return sum((scores(keys) - largest).exp() @ v[:, keys] for keys in blocks) / total


def by_logsumexp(q, k, v, slopes, q_pos, k_pos, causal, block):
    """Each block's own softmax, weighted by its share of all."""
    outs, sizes = [], []
    for start in range(0, len(k_pos), block):
        keys = slice(start, start + block)
        offsets = k_pos[keys] - q_pos[:, None]
        scores = torch.einsum("hqd,hkd->hqk", q, k[:, keys]) / math.sqrt(q.shape[-1])
        scores = scores - slopes[:, None, None] * offsets.abs()
        scores = torch.where((offsets > 0) & causal, -torch.inf, scores)
        sizes.append(scores.logsumexp(-1, keepdim=True))
        outs.append(scores.softmax(-1).nan_to_num() @ v[:, keys])
    shares = torch.stack(sizes).softmax(0)
    return sum(share * out for share, out in zip(shares, outs, strict=True))


def in_blocks(rescaled):
    """The right answer, with ``rescaled`` of the factor that the second sum is multiplied by."""

    def answer(q, k, v, slopes, q_pos, k_pos, causal, block):
        largest, total, out = torch.full((*q.shape[:2], 1), -1e30), 0.0, 0.0
        for start in range(0, len(k_pos), block):
            keys = slice(start, start + block)
            scores = scores_of(q, k[:, keys], slopes, q_pos, k_pos[keys], causal)
            new = torch.maximum(largest, scores.amax(-1, keepdim=True))
            shrink, weights = (largest - new).exp(), (scores - new).exp()
            total = total * shrink + weights.sum(-1, keepdim=True)
            out = out * rescaled(shrink) + weights @ v[:, keys]
            largest = new
        return out / total

    return answer


def price(n, q_pos, k_pos):
    slopes = [2 ** (-8 * (head + 1) / n) for head in range(n)]
    return torch.stack([-slope * (q_pos[:, None] - k_pos).abs() for slope in slopes])


def price_with_mask(lowest):
    """The price, and a large negative number added for later keys."""
    return lambda n, q_pos, k_pos: price(n, q_pos, k_pos) + lowest * (k_pos > q_pos[:, None])


def whole_exponents(n, q_pos, k_pos):
    slopes = 2.0 ** -(8 * torch.arange(1, n + 1) // n)
    return -slopes[:, None, None] * (q_pos[:, None] - k_pos).abs()


def later_keys_free(n, q_pos, k_pos):
    slopes = 2 ** (-8 * torch.arange(1, n + 1) / n)
    return -slopes[:, None, None] * (q_pos[:, None] - k_pos).clamp(min=0)


def aligned_to_the_end(n, q_pos, k_pos):
    rows, columns = len(q_pos), len(k_pos)
    return price(n, torch.arange(columns - rows, columns), torch.arange(columns))


def with_eight_heads_ends(n, q_pos, k_pos):
    slopes = torch.linspace(1 / 2, 1 / 256, n)
    return -slopes[:, None, None] * (q_pos[:, None] - k_pos).abs()


def upside_down(n, q_pos, k_pos):
    slopes = 2 ** (-8 / torch.arange(1, n + 1))
    return -slopes[:, None, None] * (q_pos[:, None] - k_pos).abs()


def with_slopes(slopes):
    """The price with other slopes, ``slopes(h, H)``."""

    def answer(n, q_pos, k_pos):
        of_heads = slopes(torch.arange(1, n + 1), n) * torch.ones(n)
        return -of_heads[:, None, None] * (q_pos[:, None] - k_pos).abs()

    return answer


def with_distance(distance):
    """The price of another distance, ``distance(q_pos, k_pos)``, (queries, keys)."""

    def answer(n, q_pos, k_pos):
        slopes = 2 ** (-8 * torch.arange(1, n + 1) / n)
        return -slopes[:, None, None] * distance(q_pos, k_pos)

    return answer


def counted(positions):
    return torch.arange(len(positions))


def hidden_by_index(n, q_pos, k_pos):
    later = torch.ones(len(q_pos), len(k_pos)).triu(1).bool()
    return price(n, q_pos, k_pos).masked_fill(later, -torch.inf)


def mask_times_infinity(n, q_pos, k_pos):
    return price(n, q_pos, k_pos) + (k_pos > q_pos[:, None]) * -torch.inf


def whole_slopes(n, q_pos, k_pos):
    slopes = 2 ** (-8 * torch.arange(1, n + 1) // n)
    return -slopes[:, None, None] * (q_pos[:, None] - k_pos).abs()


def slopes_without_axes(n, q_pos, k_pos):
    return -(2 ** (-8 * torch.arange(1, n + 1) / n)) * (q_pos[:, None] - k_pos).abs()


def slopes_with_one_axis(n, q_pos, k_pos):
    return -(2 ** (-8 * torch.arange(1, n + 1) / n))[:, None] * (q_pos[:, None] - k_pos).abs()


def positions_without_axes(n, q_pos, k_pos):
    return -(2 ** (-8 * torch.arange(1, n + 1) / n))[:, None, None] * (q_pos - k_pos).abs()


def one_minus_shared(n, q_pos, k_pos):
    """Neither slope nor distance is right."""
    return price(n, q_pos, k_pos) ** 2 - 1.5


def as_parameter(n, q_pos, k_pos):
    return torch.nn.Parameter(price(n, q_pos, k_pos))


def through_bfloat16(n, q_pos, k_pos):
    return price(n, q_pos, k_pos).bfloat16().float()


def through_float16_slopes(n, q_pos, k_pos):
    return price(n, q_pos, k_pos) * 0.9999


def log_of_the_price(n, q_pos, k_pos):
    return -(1 - price(n, q_pos, k_pos)).log()


def less_the_mean(n, q_pos, k_pos):
    right = price(n, q_pos, k_pos)
    return right - right.mean(-1, keepdim=True)


def flatter_alone(n, q_pos, k_pos):
    """Right but for a single head."""
    return price(n, q_pos, k_pos) / (2 if n == 1 else 1)


def heads_last(n, q_pos, k_pos):
    return price(n, q_pos, k_pos).permute(1, 2, 0)


test_right_answers_pass = right_answers(
    {
        check_alibi: [price],
        check_blockwise: [in_two_passes, by_logsumexp, in_blocks(lambda shrink: shrink)],
    }
)
test_natural_mistakes_are_named = wrong_answers(
    "mistake",
    {
        check_alibi: [
            (whole_exponents, "rounded to whole numbers"),
            (later_keys_free, "later keys cost nothing"),
            (with_slopes(lambda h, n: 2 ** (8 * h / n)), "lost its minus sign"),
            (with_distance(lambda q, k: (1 + (q[:, None] - k).abs()).log2()), "no straight line"),
            (price_with_mask(-1e9), "later keys are hidden"),
            (price_with_mask(-1e10), "later keys are hidden"),
            (heads_last, "axis of the heads comes last"),
            (aligned_to_the_end, "queries are taken for the last positions"),
            (with_eight_heads_ends, "from 1/2 to 1/256"),
            (
                lambda n, q_pos, k_pos: price(n, q_pos - q_pos.min(), k_pos - k_pos.min()),
                "each moved to begin at 0",
            ),
            (price_with_mask(torch.finfo(torch.float32).min), "later keys are hidden"),
            (price_with_mask(-1e7), "later keys are hidden"),
            (price_with_mask(-1000), "later keys are hidden"),
            (slopes_without_axes, "the shapes do not fit"),
            (slopes_with_one_axis, "the shapes do not fit"),
            (positions_without_axes, "the shapes do not fit"),
        ],
        check_blockwise: [(in_blocks(lambda shrink: 1.0), "keeps another scale")],
    },
)
test_other_wrong_prices_are_asked_about_in_their_own_numbers = wrong_answers(
    "wrong",
    {
        check_alibi: [
            (upside_down, "Put h = 1 and H = 4 into the formula"),
            (with_slopes(lambda h, n: 2 ** (-h / n)), "slopes of 4 heads are 0.8409, 0.7071"),
            (with_slopes(lambda h, n: 2.0 ** -(h - 1)), "slopes of 4 heads are 1, 0.5, 0.25"),
            (
                with_slopes(lambda h, n: 2 ** (-8 * (h - 1) / max(1, n - 1))),
                "slopes of 4 heads are 1, 0.1575",
            ),
            (with_slopes(lambda h, n: 8 ** (-h / n)), "slopes of 4 heads are 0.5946"),
            (with_slopes(lambda h, n: 4 * h / n), "slopes of 4 heads are 1, 2"),
            (with_slopes(lambda h, n: 2 ** (-8 / n)), "What counts the heads"),
            (with_slopes(lambda h, n: 1.0 / h), "slopes of 4 heads are 1, 0.5, 0.3333"),
            (
                with_slopes(lambda h, n: torch.linspace(2 ** (-8 / n), 2**-8, n)),
                "slopes of 4 heads are 0.25, 0.168",
            ),
            (with_slopes(lambda h, n: 2 ** (-8 * h / n) / n**0.5), "Each is 0.5 times"),
            (
                lambda n, q_pos, k_pos: (
                    price(n, q_pos, k_pos) / (q_pos[:, None] - k_pos).abs().max().clamp(min=1)
                ),
                "Each is 0.25 times",
            ),
            (with_slopes(lambda h, n: 2.0**h), "Which sign has its exponent"),
            (lambda *case: price(*case).numpy(), "of type ndarray. Which function of torch"),
            (lambda *case: price(*case).tolist(), "of type list. Which function of torch"),
            (as_parameter, "Which numbers does ALiBi learn"),
            (through_bfloat16, "type of fewer digits"),
            (flatter_alone, "slopes of 1 head are 0.001953"),
            (
                with_distance(lambda q, k: (q[:, None] - k).abs().clamp(max=64)),
                "in no straight line: head 1 charges 0.03906 at distance 10 and 0.25 at 700",
            ),
            (log_of_the_price, "in no straight line: head 1 charges 0.2231 at distance 1"),
            (through_float16_slopes, "type of fewer digits"),
            (less_the_mean, "the softmax would make the right weights of it"),
            (hidden_by_index, "Whose task is that"),
            (mask_times_infinity, "0 times infinity"),
            (whole_slopes, "2 to the power −2"),
            (
                with_distance(lambda q, k: (q[:, None] - counted(k)).abs()),
                "position 100 and the key at position 98 yours is 100",
            ),
            (
                with_distance(lambda q, k: (counted(q)[:, None] - k).abs()),
                "position 5 and the key at position 0 yours is 0",
            ),
            (with_distance(lambda q, k: (k.max() - k).expand(len(q), -1)), "yours is 2. How far"),
            (
                with_distance(lambda q, k: ((q[:, None] - k).abs() - 1).clamp(min=0)),
                "position 0 and the key at position 1 yours is 0. How far",
            ),
            (one_minus_shared, "What does a step cost this head"),
            (price_with_mask(-50.0), "earlier keys cost what they should, later ones do not"),
            (with_slopes(lambda h, n: -(2.0**-h)), "a higher or a lower score"),
            (with_slopes(lambda h, n: 2 ** (-8.0 * h * n)), "slopes of 4 heads are 2.328e-10"),
            (with_slopes(lambda h, n: (-8.0) ** (h / n)), "power of a negative number"),
            (lambda n, q_pos, k_pos: 2 ** (-8 * torch.arange(1, n + 1) / n), "what does each of"),
        ],
    },
)


# Answers that break a rule


def slopes_of_the_encoding(n):
    """Read off the bias of two neighbours in n heads."""
    q = torch.zeros(1, n, 2, 4)
    bias = create("alibi", d_model=4 * n, n_heads=n).bias(q, q, Places(torch.arange(2)))
    assert bias is not None
    return -bias[0, :, 0, 1]


def whole_attention(q, k, v, slopes, q_pos, k_pos, causal, block):
    return scores_of(q, k, slopes, q_pos, k_pos, causal).softmax(-1) @ v


def query_by_query(q, k, v, slopes, q_pos, k_pos, causal, block):
    outs = [
        whole_attention(q[:, i : i + 1], k, v, slopes, q_pos[i : i + 1], k_pos, causal, block)
        for i in range(len(q_pos))
    ]
    return torch.cat(outs, dim=1)


test_rules_are_kept = wrong_answers(
    "rule",
    {
        check_any_slopes: [
            (alibi_slopes, "comes from alibi_slopes"),
            (slopes_of_the_encoding, "comes from alibi_slopes"),
        ],
        check_blockwise: [
            (whole_attention, "its largest tensor holds"),
            (query_by_query, "gets all 160 at once"),
        ],
    },
)
