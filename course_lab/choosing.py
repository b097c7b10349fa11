"""Choosing an encoding: what is known of each, and whom an answer strikes out.

The losses come from the results that the course ships, the rest from running each encoding.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from course_utils import validation
from course_utils.attention import MultiHeadAttention
from course_utils.encodings import create
from course_utils.results import AS_TRAINED, change, summary
from course_utils.texts import data

if TYPE_CHECKING:
    import pandas as pd

TRAINED = 64  # bytes, in the course's experiment
TOLERATED = 0.1  # nats a byte that a loss may rise where a text is longer than in training
SHIFT = 999  # positions; odd, so no power-of-two period can hide, and far past the trained length
ROUNDING = 1e-4  # of an attention weight, or of an output
WIDTH, HEADS, WORDS = 16, 2, 16  # of the small attention that is run

# Question → its answers; the first one of each strikes out nobody.
QUESTIONS: dict[str, tuple[str, ...]] = {
    "reads": ("earlier words only", "both ways"),
    "texts": ("as in training", "4 times as long", "32 times as long"),
    "starts": ("always at 0", "anywhere"),
    "attention": ("any", "plain fused"),
}
TIMES = {"4 times as long": 4, "32 times as long": 32}
BEHIND = "behind"  # the fifth question: nats that its loss may be above the best one


@cache
def _facts() -> pd.DataFrame:
    import pandas as pd

    results = data.results("extrapolation")
    trained = results[results["reading"] == AS_TRAINED]
    names = trained["encoding"].unique().tolist()
    losses = summary(trained, "encoding", "read")
    rows = [
        {"encoding": name, "loss": losses.loc[(name, TRAINED), "mean"]}
        | {
            f"rise_{times}": change(
                trained,
                {"encoding": name, "read": TRAINED},
                {"encoding": name, "read": times * TRAINED},
            )
            for times in TIMES.values()
        }
        | _run(name)
        for name in names
    ]
    return pd.DataFrame(rows).set_index("encoding")


def facts() -> pd.DataFrame:
    """What decides, a row an encoding of the course's experiment.

    - ``loss``: nats a byte at the trained length, mean over seeds;
    - ``rise_4``, ``rise_32``: how much it rises at 4 and 32 times that, a ``results.Change``;
    - ``mirror``: the largest difference between reading a mirrored text and mirroring what was
      read: 0 where before and after are the same to it, NaN where it is for causal masks only;
    - ``shift``: the largest change of an attention weight when all positions move by 999,
      infinite if the encoding refuses them;
    - ``plain``: whether it leaves the scores alone, so that any fused attention does;
    - ``doors``, and ``parameters``: how many numbers it learns.
    """
    return _facts().copy()


def _run(name: str) -> dict[str, Any]:
    """What shows when an untrained attention with it reads random words."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)  # torch.manual_seed would seed a GPU too
        encoding = create(name, d_model=WIDTH, n_heads=HEADS, max_len=TRAINED)
        for values in encoding.parameters():
            if values.ndim > 1:  # tables start small, some at 0, and would hide what they can do
                torch.nn.init.normal_(values)
        attention = MultiHeadAttention(WIDTH, HEADS, encoding, encoding.causal).eval()
    x = torch.randn(1, WORDS, WIDTH, generator=torch.Generator().manual_seed(0))
    words, places = torch.arange(WORDS)[None], torch.arange(WORDS)

    def read(x: Tensor, tokens: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        out, weights = attention(x, positions, need_weights=True, tokens=tokens)
        assert weights is not None
        return out, weights

    with torch.no_grad():
        here, weights = read(x, words, places)
        try:
            moved = read(x, words, places + SHIFT)[1]
        except ValueError:  # past the end of a table
            moved = torch.full_like(weights, torch.inf)
        mirrored = read(x.flip(1), words.flip(1), places)[0].flip(1)
    mirror = float("nan") if encoding.causal else float((mirrored - here).abs().max())
    return {
        "mirror": mirror,
        "shift": float((moved - weights).abs().max()),
        "plain": not {"bias", "values"} & set(encoding.doors),
        "doors": ", ".join(encoding.doors) or "none",
        "parameters": sum(values.numel() for values in encoding.parameters()),
    }


def struck(behind: float = 10.0, **answers: str) -> pd.DataFrame:
    """Which questions strike out which encodings: a row an encoding, a column of bools a question.

    ``answers`` name a question of ``QUESTIONS`` each; who is not asked strikes out nobody.
    ``behind`` is how far a loss at the trained length may be above the best one, in nats a byte. A
    loss rises too much if the whole 95 % interval of the rise is above ``TOLERATED``.
    """
    import pandas as pd

    for question, answer in answers.items():
        validation.choice("question", question, QUESTIONS)
        validation.choice(question, answer, QUESTIONS[question])
    validation.positive("behind", behind)
    asked = {question: first for question, (first, *_) in QUESTIONS.items()} | answers
    known = facts()
    nobody = pd.Series(False, known.index)
    both, anywhere, plain = (
        asked[question] != QUESTIONS[question][0] for question in ("reads", "starts", "attention")
    )
    times = TIMES.get(asked["texts"])
    rises = known[f"rise_{times}"].map(lambda rise: rise.above(TOLERATED)) if times else nobody
    return pd.DataFrame(
        {
            "reads": ~(known["mirror"] > ROUNDING) if both else nobody,
            "texts": rises,
            "starts": known["shift"] > ROUNDING if anywhere else nobody,
            "attention": ~known["plain"] if plain else nobody,
            BEHIND: known["loss"] - known["loss"].min() > behind,
        }
    )


def remaining(behind: float = 10.0, **answers: str) -> list[str]:
    """Who is left after five answers, those with the lowest loss first; as in :func:`struck`."""
    out = struck(behind, **answers).any(axis=1)
    return facts()["loss"][~out].sort_values().index.tolist()


def undominated(costs: Float[Tensor, "candidates columns"]) -> Bool[Tensor, " candidates"]:
    """Who is not beaten: True where no other row is at most as high everywhere and lower somewhere.

    The minima of Pareto, an entry a row; rows that are equal do not beat each other.
    """
    costs = validation.floating("costs", costs, "(candidates, columns)", ndim=2)
    at_most = (costs[None] <= costs[:, None]).all(-1)  # (candidate, rival)
    lower = (costs[None] < costs[:, None]).any(-1)
    return ~(at_most & lower).any(1)
