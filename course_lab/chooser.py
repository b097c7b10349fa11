"""Choosing an encoding: measured facts about each one, and the encodings that an answer rules out.

The losses come from the results that the course ships. Everything else is measured by running each
encoding in a small attention layer.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from course_utils import validation
from course_utils.attention import MultiHeadAttention
from course_utils.devices import isolated_rng
from course_utils.encodings import create
from course_utils.results import AS_TRAINED, change, summary
from course_utils.texts import data

if TYPE_CHECKING:
    import pandas as pd

TRAINED = 64  # bytes in a training text of the course's experiment
TOLERATED = 0.1  # nats a byte by which a loss may rise on texts longer than in training
SHIFT = 999  # positions; odd, so no power-of-two period can hide, and far past the trained length
ROUNDING = 1e-4  # of an attention weight or an output: smaller differences are rounding
WIDTH, HEADS, WORDS = 16, 2, 16  # of the small attention layer and its text

# Each question with its answers. The first answer rules out no encoding.
QUESTIONS: dict[str, tuple[str, ...]] = {
    "reads": ("earlier words only", "both ways"),
    "texts": ("as in training", "4 times as long", "32 times as long"),
    "starts": ("always at 0", "anywhere"),
    "attention": ("any", "plain fused"),
}
TIMES = {"4 times as long": 4, "32 times as long": 32}
BEHIND = "behind"  # the fifth question: by how many nats a loss may be above the lowest one


@cache
def _facts() -> pd.DataFrame:
    import pandas as pd

    results = data.results("extrapolation")
    as_trained = results[results["reading"] == AS_TRAINED]
    losses = summary(as_trained, "encoding", "read")
    rows = []
    for name in as_trained["encoding"].unique().tolist():
        at_trained_length = {"encoding": name, "read": TRAINED}
        row: dict[str, Any] = {"encoding": name, "loss": losses.loc[(name, TRAINED), "mean"]}
        for times in TIMES.values():
            longer = {"encoding": name, "read": times * TRAINED}
            row[f"rise_{times}"] = change(as_trained, at_trained_length, longer)
        rows.append(row | _measured_in_a_layer(name))
    return pd.DataFrame(rows).set_index("encoding")


def facts() -> pd.DataFrame:
    """Return the facts that decide, one row for each encoding of the course's experiment.

    - ``loss``: nats a byte at the trained length, mean over seeds;
    - ``rise_4``, ``rise_32``: by how much it rises on texts 4 and 32 times as long, each a
      ``results.Change``;
    - ``mirror``: the largest difference between the output for a mirrored text and the mirrored
      output. 0 means that the encoding cannot tell before from after, NaN that it is for causal
      attention only;
    - ``shift``: the largest change of an attention weight when all positions move by 999, infinite
      if the encoding refuses such positions;
    - ``plain``: whether it adds nothing to the scores or values, so that any fused attention kernel
      can be used;
    - ``doors``: the doors that it uses;
    - ``parameters``: how many numbers it learns.
    """
    return _facts().copy()


def _measured_in_a_layer(name: str) -> dict[str, Any]:
    """Measure an encoding in an untrained attention layer that reads random words."""
    with isolated_rng(0):
        encoding = create(name, d_model=WIDTH, n_heads=HEADS, max_len=TRAINED)
        for parameter in encoding.parameters():
            if parameter.ndim > 1:  # tables start small, some at 0, and would show no effect
                torch.nn.init.normal_(parameter)
        attention = MultiHeadAttention(WIDTH, HEADS, encoding, encoding.causal).eval()
    x = torch.randn(1, WORDS, WIDTH, generator=torch.Generator().manual_seed(0))
    words, positions = torch.arange(WORDS)[None], torch.arange(WORDS)

    def attend(x: Tensor, tokens: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        out, weights = attention(x, positions, need_weights=True, tokens=tokens)
        assert weights is not None
        return out, weights

    with torch.no_grad():
        out, weights = attend(x, words, positions)
        try:
            shifted_weights = attend(x, words, positions + SHIFT)[1]
        except ValueError:  # past the end of a table
            shifted_weights = torch.full_like(weights, torch.inf)
        mirrored_out = attend(x.flip(1), words.flip(1), positions)[0].flip(1)
    mirror = float("nan") if encoding.causal else float((mirrored_out - out).abs().max())
    return {
        "mirror": mirror,
        "shift": float((shifted_weights - weights).abs().max()),
        "plain": not {"bias", "values"} & set(encoding.doors),
        "doors": ", ".join(encoding.doors) or "none",
        "parameters": sum(parameter.numel() for parameter in encoding.parameters()),
    }


def struck(behind: float = 10.0, **answers: str) -> pd.DataFrame:
    """Return which question rules out which encoding.

    Args:
        behind: by how many nats a byte a loss at the trained length may be above the lowest one.
        **answers: questions of ``QUESTIONS`` with one of their answers each. A question without an
            answer rules out no encoding. The answer to ``texts`` rules out those whose loss rises
            too much: the whole 95 % interval of the rise lies above ``TOLERATED``.

    Returns:
        A row for each encoding and a column of bools for each question, True where it rules out.
    """
    import pandas as pd

    for question, answer in answers.items():
        validation.choice("question", question, QUESTIONS)
        validation.choice(question, answer, QUESTIONS[question])
    validation.positive("behind", behind)
    known = facts()
    columns = {name: pd.Series(False, known.index) for name in QUESTIONS}
    if answers.get("reads") == "both ways":
        columns["reads"] = ~(known["mirror"] > ROUNDING)
    if times := TIMES.get(answers.get("texts", "")):
        columns["texts"] = known[f"rise_{times}"].map(lambda rise: rise.above(TOLERATED))
    if answers.get("starts") == "anywhere":
        columns["starts"] = known["shift"] > ROUNDING
    if answers.get("attention") == "plain fused":
        columns["attention"] = ~known["plain"]
    columns[BEHIND] = known["loss"] - known["loss"].min() > behind
    return pd.DataFrame(columns)


def remaining(behind: float = 10.0, **answers: str) -> list[str]:
    """Return the encodings that five answers leave, lowest loss first; as in :func:`struck`."""
    ruled_out = struck(behind, **answers).any(axis=1)
    return facts()["loss"][~ruled_out].sort_values().index.tolist()


def undominated(costs: Float[Tensor, "candidates columns"]) -> Bool[Tensor, " candidates"]:
    """Return True for each candidate that no other dominates: the Pareto front.

    One row dominates another if it is at most as high in every column and lower in at least one.
    Equal rows do not dominate each other.
    """
    costs = validation.floating("costs", costs, "(candidates, columns)", ndim=2)
    at_most = (costs[None] <= costs[:, None]).all(-1)  # (candidate, rival)
    lower = (costs[None] < costs[:, None]).any(-1)
    return ~(at_most & lower).any(1)
