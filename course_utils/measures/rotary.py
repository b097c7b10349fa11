"""Measures of RoPE's pairs in a head: what each brings to the scores, and to which part of them."""

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from course_utils import validation
from course_utils.encodings.rope import rope_angles

Vectors = Float[Tensor, "heads seq d"]
Shares = Float[Tensor, "heads pairs"]

SINK = 1  # keys left out at the start: many heads rest on the first token, whatever it is
FIRST_QUERY = 16  # earlier queries see too few keys to count


def pair_shares(
    q: Vectors, k: Vectors, frequencies: Float[Tensor, " pairs"]
) -> tuple[Shares, Shares]:
    """Each pair's shares of the variance of a causal head's scores over keys.

    A score is a sum over pairs, and softmax sees how it differs from key to key. So each query's
    mean is taken off, and the variance of what is left is divided among the pairs: each gets its
    covariance with the whole. The first share is of the part that a function of distance alone
    predicts, by least squares; the second of the rest, which depends on what the tokens are.
    Together they add up to 1 in each head; a pair that works against the others has a negative
    share.

    Args:
        q, k: before they turn, interleaved, at positions 0, 1, …; more than 16 of them.
        frequencies: radians a position, as :func:`rope_frequencies` has them.

    The first token is no key here, and the first 16 are no queries.
    """
    n = validation.tensor("q", q, "(heads, seq, d)", ndim=3).shape[1]
    validation.integer("positions of q", n, minimum=FIRST_QUERY + 2)
    angles = rope_angles(torch.arange(n, device=q.device), frequencies)
    turns = torch.polar(torch.ones_like(angles), angles)
    turned_q = as_complex(q.to(angles.dtype)) * turns  # (heads, seq, pairs)
    turned_k = as_complex(k.to(angles.dtype)) * turns
    query, key = torch.arange(n)[:, None], torch.arange(n)
    visible = ((key <= query) & (key >= SINK) & (query >= FIRST_QUERY)).to(angles)
    scores = _centred((turned_q @ turned_k.mH).real, visible)
    distance = (query - key).clamp(min=0).to(q.device)
    predicted = _centred(_by_distance(scores, visible, distance)[:, distance], visible)

    def shares(part: Tensor) -> Tensor:
        covariances = (turned_q * (part.to(turned_k) @ turned_k).conj()).real.sum(1)
        return (covariances / scores.square().sum((1, 2))[:, None]).to(q)

    return shares(predicted), shares(scores - predicted)


def mean_products(q: Vectors, k: Vectors) -> Complex[Tensor, "heads pairs"]:
    """Mean query times conjugate mean key of each pair, before they turn.

    A head's mean score by distance Δ is about Σ_m Re(mean_products_m · exp(iΔθ_m)) / √d.
    The first token counts in neither mean.
    """
    return as_complex(q)[:, SINK:].mean(1) * as_complex(k)[:, SINK:].mean(1).conj()


def as_complex(x: Float[Tensor, "*lead d"]) -> Complex[Tensor, "*lead pairs"]:
    """Features 2m and 2m + 1 as the complex number a + ib."""
    return torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())


def _centred(scores: Tensor, visible: Tensor) -> Tensor:
    """Scores less each query's mean over its visible keys; 0 where there are none."""
    counts = visible.sum(-1, keepdim=True).clamp(min=1)
    means = (scores * visible).sum(-1, keepdim=True) / counts
    return (scores - means) * visible


def _by_distance(scores: Tensor, visible: Tensor, distance: Tensor) -> Tensor:
    """The function of distance, (heads, n), that comes nearest to scores without row means.

    Its own row means are taken off too before it is compared, so that rows may be of any length.
    """
    n = len(visible)
    sums = scores.new_zeros(len(scores), n).index_add(1, distance.flatten(), scores.flatten(1))
    counts = torch.zeros_like(visible).scatter_add(1, distance, visible)  # of distances, by row
    row_shares = counts / counts.sum(1, keepdim=True).clamp(min=1)
    normal = counts.sum(0).diag() - counts.T @ row_shares
    return sums @ torch.linalg.pinv(normal, hermitian=True)
