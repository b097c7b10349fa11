"""Measures that only lessons take, and an encoding's passport as text."""

import math
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from course_utils import validation
from course_utils.encodings import PositionalEncoding
from course_utils.measures import entropy
from course_utils.measures.encodings import scores_of_identical_tokens
from course_utils.measures.matrices import Table, Weights, probabilities
from course_utils.measures.passports import SHIFT
from course_utils.models import TinyTransformer


def similarity_by_offset(matrix: Float[Tensor, "n n"]) -> Float[Tensor, " n"]:
    """Mean of the matrix along each diagonal 0, 1, …, n − 1 above the main one."""
    square = validation.square("matrix", matrix)
    return torch.stack([square.diagonal(k, -2, -1).mean() for k in range(square.shape[-1])])


def diagonal_strength(weights: Weights) -> Float[Tensor, "*lead"]:
    """Mean weight that a query gives to the key at its own position; 1/n is no preference."""
    square = validation.square("weights", probabilities(weights))
    return square.diagonal(dim1=-2, dim2=-1).mean(-1)


class NearestPair(NamedTuple):
    """The two rows of a table that are closest, and their Euclidean distance."""

    distance: float
    first: int
    second: int


def nearest_pair(table: Table, chunk: int = 256) -> NearestPair:
    """The two closest rows of a table: what a collision of two positions would look like.

    Compares all pairs, ``chunk`` rows at a time, so memory grows with n · chunk.
    """
    table = validation.matrix("table", table)
    validation.integer("number of rows in table", len(table), minimum=2)
    validation.integer("chunk", chunk)
    rows = table.detach().cpu().double()  # float64: the subtraction below cancels digits
    squares = rows.square().sum(1)
    best = NearestPair(math.inf, 0, 0)
    for start in range(0, len(rows), chunk):
        these, others = rows[start : start + chunk], rows[start:]  # earlier rows had their turn
        # |a − b|² = |b|² − 2 a·b + |a|², the last of which is the same for all b.
        partial = torch.addmm(squares[start:], these, others.T, alpha=-2)
        partial.fill_diagonal_(math.inf)  # a row's distance to itself does not count
        square, place = (partial.min(1).values + squares[start : start + chunk]).min(0)
        if square < best.distance**2:
            first, second = int(place), int(partial[int(place)].argmin())
            distance = max(float(square), 0.0) ** 0.5
            best = NearestPair(distance, start + min(first, second), start + max(first, second))
    return best


def confused_ratio(similarity: Float[Tensor, " n"]) -> float:
    """How well similarity tells distances 1, 2, …, n apart: the smaller, the better.

    The largest ratio of two distances of which the farther is at least as similar. It is 1 where
    similarity falls from each distance to the next. Between distances of a larger ratio the
    farther is always less similar.
    """
    similarity = validation.tensor("similarity", similarity, "(n,)", ndim=1)
    distances = torch.arange(1, len(similarity) + 1, device=similarity.device)
    largest_from_here = similarity.flip(0).cummax(0).values.flip(0)  # falls, or stays
    last = torch.searchsorted(-largest_from_here, -similarity, right=True)
    return float((last / distances).max())


def linear_probe(
    features: Float[Tensor, "n width"], targets: Float[Tensor, " n"], train: Bool[Tensor, " n"]
) -> Float[Tensor, " n"]:
    """Fit targets as a linear function of features on some rows; return predictions for all.

    Least squares with an intercept and a tiny ridge (1e-6 of the mean square feature). ``train``
    is True for the rows to fit on: judge the probe on the others.
    """
    features = validation.matrix("features", features)
    validation.finite("targets", validation.floating("targets", targets, "(n,)", ndim=1))
    validation.tensor("train", train, "(n,), bool", ndim=1)
    if not len(features) == len(targets) == len(train):
        raise ValueError(
            "features, targets and train must have one row each per example, got "
            f"{len(features)}, {len(targets)} and {len(train)}"
        )
    if train.dtype != torch.bool or not bool(train.any()):
        raise ValueError(f"train must be a bool mask with at least one True, got {train}")
    inputs = features.detach().cpu().double()
    inputs = torch.cat([inputs, torch.ones_like(inputs[:, :1])], dim=1)  # intercept
    is_fitted = train.cpu()
    fitted_inputs, fitted_targets = inputs[is_fitted], targets.detach().cpu().double()[is_fitted]
    gram = fitted_inputs.T @ fitted_inputs
    ridge = 1e-6 * gram.diagonal().mean() * torch.eye(len(gram), dtype=gram.dtype)
    weights = torch.linalg.solve(gram + ridge, fitted_inputs.T @ fitted_targets)
    return (inputs @ weights).to(features)


@torch.no_grad()
def entropy_by_query(
    model: TinyTransformer, tokens: Int[Tensor, "batch seq"]
) -> Float[Tensor, "layers heads seq"]:
    """Entropy of the attention of each head, in nats, by the query's place; mean over the batch.

    The model is a causal one. It is read on its own device; the entropies are on the CPU.
    """
    _, weights = model(tokens.to(model.embedding.weight.device), need_weights=True)
    return torch.stack([entropy(of_layer).mean(0) for of_layer in weights]).cpu()


def content_spread(
    encoding: PositionalEncoding, length: int
) -> Float[Tensor, "heads length length"]:
    """How much the part of each score that position adds depends on the token.

    The root mean square, over the tokens of ``measures.fingerprint``, of what the encoding adds to
    the score beyond the fingerprint: 0 for a bias that is the same for every token (ALiBi, T5),
    large where it depends on the query (Shaw).
    """
    scores, plain = scores_of_identical_tokens(encoding, length)
    added = scores - plain
    return (added - added.mean(0)).square().mean(0).sqrt()


def passport_text(facts: dict[str, Any]) -> str:
    """A passport as lines with units, without the time, so that each run says the same."""
    change = "refused"
    if facts["shift_error"] is not None:
        change = f"{facts['shift_error']:.2g} of an attention weight"
    limit = f"no limit up to {facts['longest_tried']:,} tokens"
    if facts["longest"] is not None:
        limit = f"{facts['longest']:,} tokens"
    lines = {
        "encoding": facts["name"],
        "doors": ", ".join(facts["doors"]) or "none",
        "learned parameters": f"{facts['parameters']:,}",
        "stored constants": f"{facts['buffers']:,}",
        f"change under a shift by {SHIFT}": change,
        "extra arithmetic": f"{facts['extra_flops']:,} operations",
        "extra tensors made": f"{facts['extra_bytes']:,} bytes",
        "longest text": limit,
    }
    return "\n".join(f"{name:27} {value}" for name, value in lines.items())
