"""Heads whose bias is a straight line over the distance, and the best linear readout of them.

A head's output is its share of weight on each kind of token. A readout multiplies the outputs of
all heads with a factor each, adds them, and names the kind with the largest sum.
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from course_utils import validation
from course_utils.encodings.functional import offset_matrix

NEGLIGIBLE = 1e-13  # of the largest singular value: heads of equal slopes share one factor


def straight_weights(
    slopes: Sequence[float] | Tensor, length: int
) -> Float[Tensor, "heads query key"]:
    """Causal attention weights of heads with equal scores and bias slope · (i − j), in float64."""
    places = torch.arange(validation.integer("length", length))
    offsets = offset_matrix(places, places)
    scores = -torch.as_tensor(slopes, dtype=torch.float64)[:, None, None] * offsets
    return scores.masked_fill(offsets > 0, -math.inf).softmax(-1)


def keys_asked(place: int | None, length: int) -> Int[Tensor, " query"]:
    """The key that each query is asked for, −1 where it is not asked.

    ``place`` is asked for from itself on; None asks for the token before.
    """
    queries = torch.arange(length)
    if place is None:
        return queries - 1
    return torch.where(queries >= validation.below("place", place, length, "the length"), place, -1)


def best_readout(
    weights: Float[Tensor, "heads query key"], keys: Int[Tensor, " query"]
) -> Float[Tensor, " heads"]:
    """The factor of each head that is best over all texts, by least squares.

    Tokens are independent and each kind is as likely as the others.
    """
    asked = keys >= 0
    outputs = weights[:, asked].flatten(1).T  # (queries · keys, heads)
    wished = F.one_hot(keys[asked], weights.shape[-1]).double().flatten()
    fit = torch.linalg.lstsq(outputs, wished[:, None], rcond=NEGLIGIBLE, driver="gelsd")
    return fit.solution[:, 0]


def learned_readouts(
    weights: Float[Tensor, "heads query key"],
    keys: Int[Tensor, " query"],
    rates: Sequence[float],
    steps: int,
    generator: torch.Generator,
) -> Float[Tensor, "rates heads"]:
    """The factors that Adam finds from 0, at each learning rate, where nothing else is learned.

    The loss is the cross-entropy of the sums; a step reads 32 new texts of five kinds of tokens.
    """
    factors = [torch.zeros(len(weights), dtype=weights.dtype, requires_grad=True) for _ in rates]
    groups = [{"params": [of], "lr": rate} for of, rate in zip(factors, rates, strict=True)]
    optimizer = torch.optim.Adam(groups)
    asked = keys >= 0
    for _ in range(steps):
        texts = torch.randint(5, (32, weights.shape[-1]), generator=generator)
        outputs = torch.einsum("hqk,tks->htqs", weights[:, asked], F.one_hot(texts, 5).double())
        sums = torch.einsum("rh,htqs->rtqs", torch.stack(factors), outputs)
        answers = texts[:, keys[asked]].expand(len(rates), -1, -1)
        loss = F.cross_entropy(sums.flatten(0, 2), answers.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return torch.stack(factors).detach()


def newton_step(
    weights: Float[Tensor, "heads query key"],
    keys: Int[Tensor, " query"],
    texts: Int[Tensor, "texts key"],
) -> tuple[Float[Tensor, " heads"], Float[Tensor, " heads"]]:
    """The factors after one step of Newton's method from 0, and the loss's curvatures at 0.

    The loss is that of :func:`learned_readouts` on these texts. The curvatures are its second
    derivatives along the directions in which it curves least to most.
    """
    asked = keys >= 0
    outputs = torch.einsum("hqk,tks->tqsh", weights[:, asked], F.one_hot(texts, 5).double())
    answers = texts[:, keys[asked]].flatten()

    def loss(factors: Tensor) -> Tensor:
        return F.cross_entropy((outputs @ factors).flatten(0, 1), answers)

    start = torch.zeros(len(weights), dtype=weights.dtype, requires_grad=True)
    (slope,) = torch.autograd.grad(loss(start), start)
    curvature = torch.autograd.functional.hessian(loss, start)
    step = torch.linalg.solve(curvature, slope)
    return start.detach() - step, torch.linalg.eigvalsh(curvature)


def share_right(
    weights: Float[Tensor, "heads query key"],
    factors: Float[Tensor, " heads"],
    keys: Int[Tensor, " query"],
    texts: Int[Tensor, "texts key"],
    noise: Float[Tensor, "texts query symbols"],
) -> float:
    """The share of answers that are right, 0 to 1; tokens with equal sums share an answer.

    ``noise`` is that of each number of a head's output, as large as it is there.
    """
    asked = keys >= 0
    combined = torch.einsum("h,hqk->qk", factors, weights)[asked]
    one_hot = F.one_hot(texts, noise.shape[-1]).double()
    sums = combined @ one_hot + factors.norm() * noise[:, asked]
    equal = 1e-9 * combined.abs().max()
    best = sums >= sums.amax(-1, keepdim=True) - equal
    shares = best / best.sum(-1, keepdim=True)
    return shares.gather(-1, texts[:, keys[asked], None]).mean().item()


def counted(keys: Int[Tensor, " query"], texts: Int[Tensor, "texts key"]) -> float:
    """The share of right answers, 0 to 1, of who counts tokens and sees no order.

    It names the commonest token before the query, or the query's own where that is asked for;
    tokens that are equally common share an answer.
    """
    before = F.one_hot(texts).cumsum(1).roll(1, 1)  # at query 0 all tokens, where none is before
    best = before == before.amax(-1, keepdim=True)
    named = best / best.sum(-1, keepdim=True)
    asked = keys >= 0
    right = named[:, asked].gather(-1, texts[:, keys[asked], None])[..., 0]
    own = keys == torch.arange(len(keys))
    return right.masked_fill(own[asked], 1.0).mean().item()
