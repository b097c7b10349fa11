"""Choosing an encoding: measured facts about each one, and the encodings that an answer rules out.

The losses come from the results that the course ships. Everything else is measured by running each
encoding in a small attention layer. README, the site's page "Which encoding?", lesson 10 and its
explorer all ask here, so that a question has one answer.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from course_utils import validation
from course_utils.attention import MultiHeadAttention
from course_utils.devices import isolated_rng
from course_utils.encodings import NAMES, PositionalEncoding, create
from course_utils.encodings.positions import Places
from course_utils.results import AS_TRAINED, Change, change, summary
from course_utils.texts import data

if TYPE_CHECKING:
    import pandas as pd

TRAINED = 64  # bytes in a training text of the course's experiments
TOLERATED = 0.1  # nats a byte by which a loss may rise on texts longer than in training
SHIFT = 999  # positions; odd, so no power-of-two period can hide, and far past the trained length
ROUNDING = 1e-4  # of an attention weight or an output: smaller differences are rounding
WIDTH, HEADS, WORDS = 16, 2, 16  # of the small attention layer and its text

CAUSAL, BOTH_WAYS = "earlier words only", "both ways"
TABLES = {CAUSAL: "extrapolation", BOTH_WAYS: "both_ways"}  # what a model reads → its losses
MAY_CUT = "longer, but I may cut"
# The answers to "texts" → how many times the trained length the loss is judged at. A text that is
# cut to the trained length is read at its loss.
TIMES = {"as in training": 1, "4 times as long": 4, "16 times as long": 16, MAY_CUT: 1}
TAKES_BIAS, PLAIN = "takes a bias", "plain"
# Each question with its answers. The first answer rules out no encoding.
QUESTIONS: dict[str, tuple[str, ...]] = {
    "reads": (CAUSAL, BOTH_WAYS),
    "texts": tuple(TIMES),
    "starts": ("always at 0", "anywhere"),
    "attention": ("any", TAKES_BIAS, PLAIN),
}
STEEP = "steep"  # none of the encodings of facts(): see steep()
# Seven jobs, as lesson 10 reads them, and their answers. A piece of a text that is cut is read from
# position 0; in a cache that slides positions run on, so that what it holds starts anywhere.
JOBS: dict[str, dict[str, str]] = {
    "cut texts": {"texts": MAY_CUT, "attention": PLAIN},
    "a sliding cache": {"starts": "anywhere", "attention": PLAIN},
    "an encoder": {"reads": BOTH_WAYS, "attention": PLAIN},
    "long, uncut": {"texts": "16 times as long", "attention": PLAIN},
    "long, uncut, a bias": {"texts": "16 times as long", "attention": TAKES_BIAS},
    "long, uncut, any kernel": {"texts": "16 times as long"},
    "an encoder, any kernel": {"reads": BOTH_WAYS},
}
# The fifth question: by how many nats a loss may be above the lowest that the other answers leave.
BEHIND = "behind"
# What an encoding adds to scores and sums: nothing; a price that rises by the same step from key to
# key; other numbers that positions alone decide; or something that depends on the words.
NOTHING, STRAIGHT, NUMBERS, BY_WORD = "nothing", "a straight price", "numbers", "asks the word"
# Answers to "attention" → what such a kernel lets an encoding add. One that takes a bias takes a
# ready one, the same for every text. A plain one takes queries and keys with at most two numbers
# more a head, and they make a straight price: softmax takes away what all keys of a query share,
# as lesson 10 shows. (Sandwich and Transformer-XL take as many numbers more as their waves have.)
ALLOWED = {TAKES_BIAS: (NOTHING, STRAIGHT, NUMBERS), PLAIN: (NOTHING, STRAIGHT)}


class Default(NamedTuple):
    """What to take if nothing speaks against it, and the answers for which the chooser says so."""

    encoding: str
    sentence: str
    answers: dict[str, str]  # empty where this course has measured nothing
    caveat: str = ""  # what speaks against it


DEFAULTS = {
    "A language model": Default(
        "rope",
        "RoPE; cut longer texts. To read farther, stretch; large models train on, too.",
        {"texts": MAY_CUT, "attention": PLAIN},
    ),
    "An encoder of texts": Default(
        "rope",
        "RoPE too.",
        {"reads": BOTH_WAYS, "texts": MAY_CUT, "attention": PLAIN},
        "In this course's short training Transformer-XL's way, which asks the words, has the lower "
        "loss, but needs far wider queries and keys, or a bias for each text.",
    ),
    "Images": Default(
        "rope",
        "RoPE by row and by column, as in DINOv3.",
        {},
        "This course has not measured it; past the trained size Heo et al. 2024 found learned "
        "directions better.",
    ),
}


@cache
def _results(reads: str) -> pd.DataFrame:
    """The losses of the models that read so, as they were trained."""
    results = data.results(TABLES[reads])
    return results[results["reading"] == AS_TRAINED] if "reading" in results else results


@cache
def _facts(reads: str) -> pd.DataFrame:
    import pandas as pd

    results = _results(reads)
    means = summary(results, "encoding", "read")["mean"]
    measured = set(results["encoding"])
    lowest = {n: means.xs(times_read(n), level="read").idxmin() for n in set(TIMES.values())}
    rows = []
    for name in _encodings():
        row: dict[str, Any] = {"encoding": name, "measured": name in measured}
        for times in sorted(lowest) if name in measured else ():
            at_length = {"encoding": name, "read": times_read(times)}
            best = {"encoding": lowest[times], "read": times_read(times)}
            row[f"loss_{times}"] = means[name, times_read(times)]
            row[f"behind_{times}"] = change(results, best, at_length)
            row[f"rise_{times}"] = change(results, {**at_length, "read": TRAINED}, at_length)
        rows.append(row | _measured_in_a_layer(name, reads))
    return pd.DataFrame(rows).set_index("encoding").assign(loss=lambda table: table["loss_1"])


def _encodings() -> list[str]:
    """The encodings of the course's experiment, in its order."""
    return [name for name in data.results("extrapolation")["encoding"].unique() if name in NAMES]


def times_read(times: int) -> int:
    """The length in bytes of a text that is so many times as long as in training."""
    return times * TRAINED


def facts(reads: str = CAUSAL) -> pd.DataFrame:
    """Return the facts that decide, one row for each encoding of the course's experiment.

    ``reads`` says which models the losses are of: those that see earlier words only, or masked ones
    that see both ways.

    - ``measured``: whether there are such models with it; where not, the losses are NaN;
    - ``loss_1``, ``loss_4``, ``loss_16``: nats a byte on texts 1, 4 and 16 times as long as in
      training, means over seeds; ``loss`` is the first of them;
    - ``behind_1`` …: by how much that is above the lowest of all, each a ``results.Change``;
    - ``rise_1`` …: by how much it is above that at the trained length;
    - ``mirror``: the largest difference between the output for a mirrored text and the mirrored
      output. 0 means that the encoding cannot tell before from after, NaN that it is for causal
      attention only;
    - ``shift``: the largest change of an attention weight when all positions move by 999, infinite
      if the encoding refuses such positions;
    - ``adds``: what it adds to scores and sums: nothing, so that any fused attention kernel can be
      used; a straight price, which one or two more numbers in queries and keys make; other numbers
      that positions alone decide, so that a kernel has to take them as a bias; or something that
      asks the word. A price of the distance is straight only where earlier words alone are read;
    - ``doors``: the doors that it uses;
    - ``parameters``: how many numbers it learns.
    """
    return _facts(validation.choice("reads", reads, TABLES)).copy()


def other_sizes() -> pd.DataFrame:
    """Return the losses of the models whose training was another, a row for each of six encodings.

    Each column is a mean over seeds in nats a byte at the trained length, NaN where it was not run.
    """
    import pandas as pd

    results, usual = data.results("larger"), data.results("extrapolation")
    of_english = results[results["corpus"] == usual["corpus"].iloc[0]]
    more_steps = of_english["steps"] > usual["steps"].iloc[0]
    columns = {}
    for name, rows in (
        ("pieces of 256", of_english[of_english["length"] > TRAINED]),
        ("ten times the steps", of_english[more_steps]),
    ):
        trained = rows[(rows["reading"] == AS_TRAINED) & (rows["read"] == rows["length"])]
        columns[name] = trained.groupby("encoding", sort=False)["loss"].mean()
    return pd.DataFrame(columns)


def _measured_in_a_layer(name: str, reads: str) -> dict[str, Any]:
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
        "adds": _adds(encoding, reads),
        "doors": ", ".join(encoding.doors) or "none",
        "parameters": sum(parameter.numel() for parameter in encoding.parameters()),
    }


def _adds(encoding: PositionalEncoding, reads: str) -> str:
    """What doors 3 and 4 add, judged by two draws of queries and keys."""
    if not {"bias", "values"} & set(encoding.doors):
        return NOTHING
    positions, generator = torch.arange(WORDS), torch.Generator().manual_seed(0)
    shape, at = (1, HEADS, WORDS, WIDTH // HEADS), Places(positions, positions)
    with torch.no_grad():
        first, second = (
            encoding.bias(
                torch.randn(shape, generator=generator), torch.randn(shape, generator=generator), at
            )
            for _ in range(2)
        )
    assert first is not None and second is not None
    same = bool((first - second).abs().max() <= ROUNDING)
    if not same or "values" in encoding.doors:
        return BY_WORD
    return STRAIGHT if _is_straight(first, reads) else NUMBERS


def _is_straight(bias: Float[Tensor, "... queries keys"], reads: str) -> bool:
    """Whether the bias rises by one step from key to key, for every query of a head."""
    steps = bias.diff(dim=-1)
    visible = torch.ones(bias.shape[-2:], dtype=torch.bool)
    if reads == CAUSAL:
        visible = visible.tril()
    of_visible_keys = steps[..., visible[:, 1:]]
    return bool((of_visible_keys - of_visible_keys[..., :1]).abs().max() <= ROUNDING)


def struck(behind: float = 10.0, **answers: str) -> pd.DataFrame:
    """Return which question rules out which encoding.

    Args:
        behind: by how many nats a byte a loss may be above the lowest of those that the other
            answers leave, at the length that is read. It rules out those of which the whole 95 %
            interval of the difference is above it.
        **answers: questions of ``QUESTIONS`` with one of their answers each. A question without an
            answer rules out no encoding, except that ``reads`` is then "earlier words only". "both
            ways" rules out those that were not measured so. The answer to ``texts`` rules out those
            whose loss rises too much: the whole 95 % interval of the rise lies above ``TOLERATED``.

    Returns:
        A row for each encoding and a column of bools for each question, True where it rules out.
    """
    validation.positive("behind", behind)
    table = _struck_by_answers(answers)
    table[BEHIND] = _above(behind_best(**answers), behind)
    return table


def behind_best(**answers: str) -> pd.Series[Any]:
    """Return by how much each loss is above the lowest of those that these answers leave.

    The loss is that at the length that is read. Those that the answers strike out may lie below 0.

    Args:
        **answers: as in :func:`struck`.

    Returns:
        For each encoding a ``results.Change``, or None where nothing was measured, or where the
        answers leave nobody.
    """
    import pandas as pd

    ruled_out = _struck_by_answers(answers).any(axis=1)
    reads, times = answers.get("reads", CAUSAL), _times(answers)
    losses = facts(reads)[f"loss_{times}"]
    left = losses[~ruled_out]
    if left.empty:
        return pd.Series([None] * len(losses), losses.index, dtype=object)
    return _behind(reads, times, str(left.idxmin())).copy()


@cache
def _behind(reads: str, times: int, best: str) -> pd.Series[Any]:
    """By how much each loss is above that of one encoding; None where it was not measured."""
    import pandas as pd

    results, known = _results(reads), facts(reads)
    of_best = {"encoding": best, "read": times_read(times)}
    changes = [
        change(results, of_best, {**of_best, "encoding": name}) if measured else None
        for name, measured in known["measured"].items()
    ]
    return pd.Series(changes, known.index, dtype=object)


def _struck_by_answers(answers: dict[str, str]) -> pd.DataFrame:
    """Which of the first four questions rules out which encoding."""
    import pandas as pd

    for question, answer in answers.items():
        validation.choice("question", question, QUESTIONS)
        validation.choice(question, answer, QUESTIONS[question])
    known, times = facts(answers.get("reads", CAUSAL)), _times(answers)
    columns = {name: pd.Series(False, known.index) for name in QUESTIONS}
    columns["reads"] = ~known["measured"]
    columns["texts"] = _above(known[f"rise_{times}"], TOLERATED)
    if answers.get("starts") == "anywhere":
        columns["starts"] = known["shift"] > ROUNDING
    if answers.get("attention") in ALLOWED:
        columns["attention"] = ~known["adds"].isin(ALLOWED[answers["attention"]])
    return pd.DataFrame(columns)


def _times(answers: dict[str, str]) -> int:
    """How many times the trained length the answers' losses are judged at."""
    return TIMES[answers.get("texts", QUESTIONS["texts"][0])]


def _above(changes: pd.Series[Any], yardstick: float) -> pd.Series[bool]:
    """Which changes lie above a yardstick with their whole interval; none that is not measured."""
    return changes.map(lambda each: isinstance(each, Change) and each.above(yardstick))


def remaining(behind: float = 10.0, **answers: str) -> list[str]:
    """Return the encodings that five answers leave, lowest loss first; as in :func:`struck`.

    The loss is that at the length that is read.
    """
    ruled_out = struck(behind, **answers).any(axis=1)
    losses = facts(answers.get("reads", CAUSAL))[f"loss_{_times(answers)}"]
    return losses[~ruled_out].sort_values().index.tolist()


class Steep(NamedTuple):
    """How ALiBi with the slopes 2, 1, ½, ¼ does by the same answers.

    This course drew it, so it is no row of :func:`facts`.
    """

    loss: float  # nats a byte at the length that is read, mean over seeds
    rise: Change  # by how much that is above its loss at the trained length
    behind: Change | None  # by how much it is above the lowest of those that the answers leave
    struck: dict[str, bool]  # question → whether its answer rules it out


def steep(behind: float = 10.0, **answers: str) -> Steep | None:
    """Return how ALiBi with the slopes 2, 1, ½, ¼ does; arguments as in :func:`struck`.

    None where no model was trained or read so: both ways, and on texts 4 times as long. It adds
    what ALiBi adds, so no answer to "starts" and "attention" rules it out.
    """
    validation.positive("behind", behind)
    left = remaining(10.0, **answers)
    read, results = times_read(_times(answers)), _results_with_steep()
    if answers.get("reads", CAUSAL) != CAUSAL or read not in set(steep_rows()["read"]):
        return None
    at_length = {"encoding": STEEP, "read": read}
    rise = change(results, {**at_length, "read": TRAINED}, at_length)
    gap = change(results, {**at_length, "encoding": left[0]}, at_length) if left else None
    ruled_out = dict.fromkeys([*QUESTIONS, BEHIND], False)
    ruled_out["texts"] = rise.above(TOLERATED)
    ruled_out[BEHIND] = gap is not None and gap.above(behind)
    rows = steep_rows()
    return Steep(float(rows[rows["read"] == read]["loss"].mean()), rise, gap, ruled_out)


@cache
def steep_rows() -> pd.DataFrame:
    """The losses of ``steep`` after as many steps as those of the other encodings."""
    drawn, usual = data.results("extrapolation_prices"), _results(CAUSAL)
    same = (drawn["steps"] == usual["steps"].iloc[0]) & (drawn["corpus"] == usual["corpus"].iloc[0])
    return drawn[same & (drawn["encoding"] == STEEP)]


@cache
def _results_with_steep() -> pd.DataFrame:
    import pandas as pd

    return pd.concat([_results(CAUSAL), steep_rows()])


def undominated(costs: Float[Tensor, "candidates columns"]) -> Bool[Tensor, " candidates"]:
    """Return True for each candidate that no other dominates: the Pareto front.

    One row dominates another if it is at most as high in every column and lower in at least one.
    Equal rows do not dominate each other.
    """
    costs = validation.floating("costs", costs, "(candidates, columns)", ndim=2)
    at_most = (costs[None] <= costs[:, None]).all(-1)  # (candidate, rival)
    lower = (costs[None] < costs[:, None]).any(-1)
    return ~(at_most & lower).any(1)
