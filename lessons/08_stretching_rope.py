# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   order_matters:
#     edition: 2
#     lines: [1, 4]
# ---

# %% [markdown]
# # 08 · Stretching RoPE
#
# **Question:** how do models trained at 8k read 128k?
#
# After this lesson you can
#
# - say which of RoPE's hands fail on a longer text, and which must not be slowed;
# - write what Llama 3.1's `rope_scaling` line does, and read it hand by hand;
# - judge a claim of long context by its loss and by what the model can still find.
#
# **Time:** {minutes}. **Builds on:** RoPE (lesson 05); lesson 07 helps. **Doors:** 2, queries and
# keys. **Beyond:** [more stretches](closer/08_more_stretches.ipynb),
# [needles](closer/08_search_and_needles.ipynb).

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start(doors=["rotate"], title="Lesson 08: door 2, at another speed")

# %% [markdown]
# ## A line in a file
#
# Llama 3.1's `config.json` says

# %%
rope_theta = 500_000.0  # the base b; RoPE's paper has 10,000
rope_scaling = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}

# %% [markdown]
# The model first learned to read 8,192 tokens, and is offered for 131,072. What does this line do
# for that?
#
# RoPE turns pair $m$ of queries and keys by $p\,\theta_m$ at position $p$, with $\theta_m =
# b^{-2m/d}$: each pair is the **hand** of a clock. The course's small models have 16 hands, and
# learned on pieces of 64 bytes. Let one read 512, eight times as far, with nothing changed: this
# is **direct**. How much worse is it? Its **rise at** $n$, in nats a byte, is
#
# loss with up to $n$ bytes in sight, less that of the model as trained, with up to 64, on the
# *same* bytes. (To read no more than the last 64 is to **just cut** the text: rise 0.)

# %%
import math

import torch

from course_utils.encodings.functional import rope_frequencies

theta = rope_frequencies(32)  # (16,): radians a position
turns = 64 * theta / (2 * math.pi)
print("turns within 64 bytes:", ", ".join(f"{count:.2g}" for count in turns[:8].tolist()), "…")
print("hands that finish a turn:", int((turns >= 1).sum()), "of", len(turns))

# %% tags=["plumbing"]
# Sixteen clocks
import matplotlib.pyplot as plt
from matplotlib.patches import Circle, Wedge

from course_utils import plots
from course_utils.texts import data

fig, ax = plt.subplots(figsize=(9, 3.1))
for m, speed in enumerate(theta.tolist()):
    x, y = m % 8, -1.25 * (m // 8)
    seen = math.degrees(min(2 * math.pi, 63 * speed))
    swept = math.degrees(min(2 * math.pi, 511 * speed))
    ax.add_patch(Circle((x, y), 0.4, fill=False, color="0.6"))
    ax.add_patch(Wedge((x, y), 0.4, 90 - seen, 90, color="C0", alpha=0.35))
    if seen < 360:
        ax.add_patch(Wedge((x, y), 0.4, 90 - swept, 90 - seen, color="C3", alpha=0.6))
    ax.text(x, y - 0.6, f"hand {m}", ha="center", fontsize=8)
ax.set(xlim=(-0.5, 7.5), ylim=(-2.0, 0.5), aspect="equal")
ax.set_title("Blue: seen at 64 bytes. Orange: new at 512 (hands 5 to 15). Empty: never reached")
ax.axis("off")
hands = data.results("stretching_hands").groupby(["way", "read", "seed"])["loss"].mean()
home = hands["direct", 64]  # by seed, as below
rise = {(way, n): hands[way, n] - home for way, n in hands.index.droplevel("seed").unique()}
worse = rise["direct", 512]
print(f"rise of direct at 512: {worse.min():+.1f} to {worse.max():+.1f}; three models, on six")
print("held-out passages of one manual, Python's, from the rest of which they learned")
plots.show(
    fig,
    "Sixteen clocks, hands 0 to 15, each starting at twelve. Blue, what 64 positions showed: all "
    "round for hands 0 to 4, about half for hand 5, then ever thinner slices. Orange, what 512 "
    "positions add: the rest of the circle for hands 5 to 7, most of it for hand 8, then smaller "
    "slices.",
)

# %% [markdown]
# **Look:** hands 0 to 4 went round in training, and have pointed everywhere. The other eleven meet
# new angles at 512 bytes, and *direct* reads far worse there. (Lesson 07's number differs: other
# passages. Compare within a picture.)
#
# ## One hand
#
# Which hand does the harm? Slowed to an eighth, a hand turns as far in 512 bytes as it did in 64.
# You may slow **one**.

# %%
from course_lab import widgets

guess = widgets.predict(
    "Which one helps most at 512 bytes, in each of three models?",
    [
        "hand 3, which meets no new angle",
        "hand 5, which made half a turn",
        "hand 7, to which most of its angles are new",
        "hand 15, the slowest",
    ],
)

# %% tags=["plumbing"]
# The answer: each hand alone, three models, six passages
gain = {m: rise[f"pair {m}", 512] - rise["direct", 512] for m in range(16)}
best = {min(gain, key=lambda m: gain[m][seed]) for seed in home.index}
labels = {
    3: "which meets no new angle",
    5: "which made half a turn",
    7: "to which most of its angles are new",
    15: "the slowest",
}
guess.reveal(", ".join(f"hand {m}, {labels.get(m, 'another')}" for m in sorted(best)))
taken = -gain[min(best)] / rise["direct", 512]
print(f"hand {min(best)} takes {taken.min():.1f} to {taken.max():.1f} of the rise at 512 away")
together = rise["pairs 8-15", 512] - rise["direct", 512]
print("hands 8 to 15 slowed together: a change below 0.1:", bool((together.abs() < 0.1).all()))
fig, ax = plt.subplots(figsize=(8.5, 3.2))
for m, changes in gain.items():
    colour = "C3" if turns[m] < 1 else "C0"
    ax.bar(m, changes.mean(), color=colour, alpha=0.4)
    ax.plot([m] * len(changes), changes, "o", color=colour, markersize=4)
ax.axhline(0, color="0.5", linewidth=1)
ax.axhline(-worse.mean(), color="0.4", linewidth=1, linestyle="--")
ax.text(15.4, 0.06 - worse.mean(), "all of direct's rise", color="0.35", ha="right", fontsize=9)
ax.text(1.0, -0.75, "meet no new angle", color="C0")
ax.text(9.5, -0.75, "meet new angles", color="C3")
ax.text(min(best) + 0.5, gain[min(best)].mean() - 0.1, "about half of direct's rise")
ax.set_xticks(range(16))
ax.set(xlabel="the hand that is slowed to an eighth", ylabel="change of the rise, nats a byte")
ax.set_title("Slowing hand 5 helps most at 512 bytes (below 0 is better). Dots: three models")
plots.show(
    fig,
    "Change of the rise at 512 bytes when one hand is slowed to an eighth, means of three models: "
    + ", ".join(f"hand {m} {changes.mean():+.2f}" for m, changes in gain.items())
    + ". Hands 0 to 4, which meet no new angle, are blue, the others orange.",
)

# %% [markdown]
# **Look:** slowing hand 5 (lesson 07's pair 5) takes about half of the rise away. New angles are
# not all that counts: slowed alone, hand 3, which meets none, helps more than hand 7. Hands 8 to 15
# meet new angles, and slowing all eight changes hardly anything.
#
# ## All hands
#
# One hand takes half, so why not slow all? Divide each position by 8, and 512 bytes lie where 64
# lay: **position interpolation** (Chen et al. 2023), $p \to p/s$, or $\theta_m \to \theta_m/s$.

# %%
guess = widgets.predict(
    "All sixteen hands at an eighth. Now the model reads its own 64 bytes. Its loss there …",
    [
        "stays (within 0.1): nothing is new",
        "rises by 0.1 to 1: angles are closer",
        "rises by more than 1: it is lost",
    ],
)

# %% tags=["plumbing"]
# The answer, and some hands alone, at 64 bytes
from course_utils.encodings import LongRoPE
from course_utils.encodings.functional import rope_angles
from course_utils.measures.trained_models import sliding_loss
from course_utils.models import shipped
from course_utils.texts import text

positions = torch.arange(64).double()  # dividing positions is dividing speeds
assert torch.allclose(rope_angles(positions / 8, theta), rope_angles(positions, theta / 8))
at_home = rise["interpolation", 64]
guess.reveal(
    "rises by more than 1: it is lost"
    if at_home.min() > 1
    else "stays (within 0.1): nothing is new"
    if at_home.max() < 0.1
    else "rises by 0.1 to 1: angles are closer"
)
held_out = text.split(text.documentation()).held_out.to(device)


def rise_of_two_at_home(seed):
    """Rise at 64 bytes with hands 0 and 1 slowed, on the passages of the table."""
    two = shipped.model("rope", seed=seed, scaling=LongRoPE([8.0] * 2 + [1.0] * 14, 1.0, 64))
    return sliding_loss(two.to(device), held_out[:, :1537], 64, 1024)[0] - home[seed]


rise["pairs 0-1", 64] = home.index.to_series().map(rise_of_two_at_home)
more = rise["pairs 0-1", 64] > rise["pair 0", 64] + rise["pair 1", 64]
print("hands 0 and 1 cost more than the sum of both alone, in 3 of 3 models:", bool(more.all()))
bars = {
    "all sixteen": ("interpolation", "0.5"),
    "hands 0 to 4, which went round": ("pairs 0-4", "C0"),
    "hands 0 and 1": ("pairs 0-1", "C0"),
    "hands 5 to 15": ("pairs 5-15", "C3"),
    **{f"hand {m} alone": (f"pair {m}", "C0") for m in range(5)},
}
fig, ax = plt.subplots(figsize=(8.5, 3.4))
for place, (name, colour) in enumerate(bars.values()):
    values = rise[name, 64]
    row = place + 0.6 * (place > 3)  # those alone stand apart
    ax.barh(row, values.mean(), color=colour, alpha=0.4)
    ax.plot(values, [row] * len(values), "o", color=colour, markersize=4)
    ax.text(values.max() + 0.04, row, f"{values.mean():.2f}", va="center", fontsize=9)
both_alone = (rise["pair 0", 64] + rise["pair 1", 64]).mean()
ax.plot([both_alone] * 2, [1.6, 2.4], color="black", linewidth=1.5)
ax.text(both_alone - 0.04, 2, f"both alone: {both_alone:.2f}", color="0.2", ha="right", va="center")
ax.set_yticks([place + 0.6 * (place > 3) for place in range(len(bars))], list(bars))
ax.set(ylim=(len(bars) + 0.1, -0.5), xlim=(0, 2.6), xlabel="rise at 64 bytes, nats a byte")
ax.set_title("At 64 bytes the fastest hands cost most. Dots: three models")
plots.show(
    fig,
    "Rise of the loss at 64 bytes if these hands are slowed to an eighth, means of three models: "
    + "; ".join(f"{label}: {rise[name, 64].mean():.2f}" for label, (name, _) in bars.items())
    + ".",
)

# %% [markdown]
# **Look:** nearly all of the harm comes from hands 0 to 4. One alone costs much, hand 0, and with
# hand 1 it costs more than the sum of both. The eleven slow ones cost 0.1.
#
# ## Llama's ramp
#
# Slow the slow hands, spare the fast ones. And those between? Count each hand's turns within
# the trained length $L$: $L\,\theta_m / 2\pi$.

# %%
llama = rope_frequencies(128, rope_theta)  # (64,): the hands of Llama 3.1
llama_turns = 8192 * llama / (2 * math.pi)
for m in (0, 28, 32, 35, 63):
    print(f"hand {m:2} of Llama 3.1: {llama_turns[m]:8.3f} turns in 8,192 tokens")

# %% [markdown]
# - More than 4 turns (`high_freq_factor`): keep the speed $\theta_m$.
# - Less than 1 turn (`low_freq_factor`): slow it to $\theta_m / s$, where $s$ is `factor`.
# - Between, a **ramp**: mix both. The share of $\theta_m$ rises evenly with the turns, from 0 at 1
#   to 1 at 4.
#
# **Exercise 1 ★ Write the line.** `theta` (pairs,) are the speeds in training. Return the new
# ones. `low` and `high` are in turns.


# %% tags=["stub"]
def ramp_from_scratch(theta, factor, low, high, trained):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def ramp_from_scratch(theta, factor, low, high, trained):
    turns = trained * theta / (2 * math.pi)
    kept = ((turns - low) / (high - low)).clamp(0, 1)
    return kept * theta + (1 - kept) * theta / factor


# %%
from course_lab.checks.lesson08 import check_ramp

check_ramp(ramp_from_scratch)

# %% [markdown]
# Yours is *Llama 3.1*. If both bounds are one turn, it is the **step**. All ways here, besides
# *direct*:
#
# | way | the hands | why |
# |---|---|---|
# | interpolation | all ÷ s | no angle out of range |
# | NTK-aware | $b \to b\,s^{d/(d-2)}$: from hand 0, kept, to the last, ÷ s | spares the fast |
# | step | one turn or more: keep; less: ÷ s | slows only those with new angles |
# | Llama 3.1 | the ramp from 1 to 4 turns | mixes those between |
# | YaRN (code) | a ramp over $m$: 0 keeps, from 5 on ÷ s; scores × 1.46 | sharper, for more keys |

# %% tags=["plumbing"]
# The ways, hand by hand
import pandas as pd

from course_lab.explorers.stretch import BLOCK, LONG, factors_of, score_factor_of

slowed_by = {
    way: [f"{factor:.2f}" for factor in factors_of(way)[:7]]
    for way in ("NTK-aware", "step", "Llama 3.1", "YaRN")
}
print(f"YaRN multiplies scores by {score_factor_of('YaRN'):.2f}; our hands 0 to 6 are slowed by")
pd.DataFrame(slowed_by, index=[f"hand {m}" for m in range(7)]).T

# %% [markdown]
# ## Tune your own
#
# Draw a hand's bar up to slow it, and the model reads anew. A good stretch rises little at 64 *and*
# at 512: on the dashed line the two add up to the step's.
#
# 1. From *direct*, slow hand 5 to an eighth. Then 6, 7, 8 and 9 too. When does it stop helping?
# 2. Draw **one** of your five bars down a little, to come at least 0.05 below the line. Which?

# %%
from course_lab import explorers

explorers.stretch()

# %% tags=["plumbing"]
# Passages for the referees, and what a model loses on them
START = 1536  # the explorer reads the first 512 bytes of one passage, the tables as far as this
blocks = held_out[:, START : START + LONG + 1]


def losses_of(factors, seed, passages, lengths=(64, LONG)):
    """Losses of some passages at 64 and at 512 bytes, each hand slowed by its factor."""
    reader = shipped.model("rope", seed=seed, scaling=LongRoPE(factors, 1.0, 64)).to(device)
    return [sliding_loss(reader, passages, n, LONG)[0] for n in lengths]


# %% [markdown]
# That was one passage and one model. Now it and two others judge your setting and your ramp, on six
# passages that the explorer did not read.

# %%
mine = {5: 8, 6: 8, 7: 8, 8: 8, 9: 8}  # hand → how many times slower; put yours here
low, high = 1, 4  # turns, of your ramp; does another pair do better?

# %% tags=["plumbing"]
# The referees
from itertools import product

from tqdm.auto import tqdm

rows = list(product(shipped.SEEDS["rope"], range(len(blocks))))
goals = {(seed, n): sum(losses_of(factors_of("step"), seed, blocks[[n]])) for seed, n in rows}
BELOW = f"below, of {len(rows)}"


def less_step(factors, seed, n):
    return sum(losses_of(factors, seed, blocks[[n]])) - goals[seed, n]


def verdict(name, factors):
    gaps = [less_step(factors, *row) for row in tqdm(rows, desc=name, leave=False)]
    mean, below = sum(gaps) / len(gaps), sum(gap < 0 for gap in gaps)
    return pd.Series({"less the step's": f"{mean:+.2f}", BELOW: str(below)}, name=name)


def slowed(by_hand):
    if strangers := [m for m in by_hand if m not in range(16)]:
        raise ValueError(f"`mine` has the hands {strangers}, and there are hands 0 to 15")
    if faster := {m: factor for m, factor in by_hand.items() if factor < 1}:
        raise ValueError(f"a factor of `mine` is how many times slower, at least 1, got {faster}")
    return [float(by_hand.get(m, 1)) for m in range(16)]


judged = [verdict("mine", slowed(mine))]
if low > high:
    raise ValueError(f"low must be at most high, got {low} and {high}")
if check_ramp.verdict(ramp_from_scratch).kind == "right":
    ramp = ramp_from_scratch(theta, 8, low, high, 64)
    judged.append(verdict(f"your ramp, {low:g} to {high:g} turns", (theta / ramp).tolist()))
else:
    print("your ramp: once exercise 1 is right")
print("Rises at 64 and 512 together, less the step's: mean of three models × six passages of one")
print("manual, so 18 that resemble each other; and how many of the 18 are below")
pd.DataFrame(judged)

# %% tags=["plumbing"]
# Settings that we prepared, folded: try your own first
from course_lab.widgets import card
from course_utils.encodings import Llama3

five = {5: 8, 6: 8, 7: 8, 8: 8, 9: 8}
ramp_of_llama = factors_of("Llama 3.1")
gentler, _ = Llama3(8.0, 64, 0.5, 4.0).frequencies(theta, 10_000.0)  # from 0.5 to 4 turns
prepared = {
    "hand 5 at 6, hands 6 to 9 at 8": slowed(five | {5: 6}),
    "Llama's ramp, 1 to 4 turns": ramp_of_llama,
    "the same, but hand 4 keeps its speed": [*ramp_of_llama[:4], 1.0, *ramp_of_llama[5:]],
    "the same, but hand 3 keeps its speed": [*ramp_of_llama[:3], 1.0, *ramp_of_llama[4:]],
    "a ramp from 0.5 to 4 turns": (theta / gentler).tolist(),
    "hands 3 and 4 at 2, hands 5 to 15 at 8": [1.0] * 3 + [2.0] * 2 + [8.0] * 11,
}
verdicts = [pd.DataFrame([verdict(*setting) for setting in prepared.items()]).to_string()]
on_its_text = {
    name: losses_of(slowed(by_hand), shipped.SEEDS["rope"][0], held_out[[BLOCK], : LONG + 1])
    for name, by_hand in {
        **{f"hands 5 to {m} at 8": {hand: 8 for hand in range(5, m + 1)} for m in range(7, 10)},
        "then hand 5 at 6": five | {5: 6},
    }.items()
}
unchanged = losses_of([1.0] * 16, 0, held_out[[BLOCK], : LONG + 1], lengths=(64,))[0]
verdicts.append("On the explorer's passage, rise at 64, rise at 512, both together:")
for name, (short, long) in on_its_text.items():
    rises = short - unchanged, long - unchanged
    verdicts.append(f"{name:44}{rises[0]:+.2f} {rises[1]:+.2f} {sum(rises):+.2f}")
words = card.escaped("\n".join(verdicts))
summary = "<summary>Settings that we prepared, once you have tried</summary>"
card.tell("\n".join(verdicts), f"<details>{summary}<pre>{words}</pre></details>")

# %% [markdown]
# <details><summary>Look, once you have tried</summary>
#
# On the explorer's passage it stops after hand 8. Hand 5 slowed 6 times, not 8, meets *new* angles
# and reads better; with the referees in 14 of 18.
#
# Llama's ramp is below in one. It slows hand 4, which made 1.02 turns, 7.7 times. Spared, it takes
# the ramp to 14; hand 3 spared, to none. From 0.5 to 4 turns, gentler to hands 2 to 5: 14.
#
# </details>
#
# ## Against just cutting
#
# From here 0 is **just cut** again: the last 32 to 64 bytes in sight. (The others see 256 to 512.)

# %% tags=["plumbing"]
# All ways against just cutting, by loss
names = ["direct", "interpolation", "NTK-aware", "step", "Llama 3.1", "YaRN"]  # as in the table
fig, ax = plt.subplots(figsize=(8.5, 2.9))
for row, name in enumerate(names):
    values = rise[name, 512]
    ax.plot(values, [row] * len(values), "o", color="C0", alpha=0.7)
    ax.text(values.max() + 0.05, row, f"{values.mean():+.2f}", va="center", fontsize=9)
ax.axvline(0, color="0.4")
ax.text(0.02, -0.75, "just cut: read the last 32 to 64 bytes", fontsize=9, color="0.35")
ax.set_yticks(range(len(names)), names)
ax.set(ylim=(len(names) - 0.4, -1.2), xlim=(-0.1, 2.4))
ax.set(xlabel="rise at 512, nats a byte; dots: three models")
ax.set_title("Loss at 512 bytes: none of these six beats just cutting")
all_above = all(bool((rise[name, 512] > 0).all()) for name in names)
print("each is above just cut, in 3 of 3 models, six passages:", all_above)


@torch.no_grad()
def loss_with(n, seed):
    """Loss of every eighth byte of those judged above, with exactly n bytes in sight."""
    pieces = held_out[:, 513 - n : 1537].unfold(1, n + 1, 8).reshape(-1, n + 1)
    logits = shipped.model("rope", seed=seed).to(device)(pieces[:, :-1])[:, -1]
    return torch.nn.functional.cross_entropy(logits, pieces[:, -1]).item()


fewer = [loss_with(16, seed) - loss_with(64, seed) for seed in shipped.SEEDS["rope"]]
print("16 bytes in sight in place of 64 cost:", ", ".join(f"{cost:+.2f}" for cost in fewer))
plots.show(
    fig,
    "Rise at 512 bytes, so loss above just cutting to 64, three models as dots, means: "
    + ", ".join(f"{name} {rise[name, 512].mean():+.2f}" for name in names)
    + ".",
)

# %% [markdown]
# **Look:** by loss none of these beats just cutting. Interpolation rises as much as at 64: it fails
# at every length. And these models take little from afar: 16 bytes in place of 64 cost hardly
# anything.
#
# ## A real model
#
# Why stretch, then? To use what is far. So ask a larger model: lesson 05's SmolLM2, trained to read
# 8,192 tokens. It read 12,288, stretched by 1.5; just cut, now the last 8,192. Each text tells
# eight **needles**, such as "The secret number of Lima is 4829.", and asks for them at its end.
# Three are told so early, at tokens 384, 1,920 and 3,456, that just cut never reads them.

# %%
guess = widgets.predict(
    "By mean loss YaRN is level with just cut (within 0.05). How many of the three does it know? "
    "(Half of the digits or more, mean of six texts; a guess: one in ten.)",
    ["none", "one, the last of them", "all three"],
)

# %% tags=["plumbing", "picture"]
# The answer: loss, and needles by place, on texts of two kinds
import pandas as pd

from course_utils.results import average

CUT = "direct, cut off"
tables = {"documentation": data.results("real_needles"), "code": data.results("real_needles_code")}
tables["documentation"]["text"] = "text " + tables["documentation"]["seed"].astype(str)
asked = pd.concat(tables, names=["kind"]).reset_index("kind").query("place >= 0")
shares = asked.assign(share=asked["right"] / 4).set_index("way")
table = {
    way: shares.loc[way].pivot(index="place", columns="text", values="share")
    for way in (CUT, "YaRN", "direct")
}
EARLY = [384, 1920, 3456]
known = table["YaRN"].mean(axis=1).loc[EARLY]
knows = [place for place in EARLY if known[place] >= 0.5]
answers = {(): "none", (3456,): "one, the last of them", (384, 1920, 3456): "all three"}
guess.reveal(answers.get(tuple(knows), f"those told at {knows}"))
late = data.results("real_lengths").query("read == 12288 and first >= 8192")
losses = late.pivot(index=["seed", "first"], columns="way", values="loss")
fig, axes = plt.subplots(1, 2, figsize=(11, 3.8))
for _, text_rows in losses.groupby("seed"):
    middle = text_rows.index.get_level_values("first") + 512
    for way, colour in (("direct", "C3"), ("interpolation", "C4"), ("YaRN", "C0")):
        axes[0].plot(middle, text_rows[way] - text_rows[CUT], "o-", ms=3, color=colour, alpha=0.7)
axes[0].axhline(0, color="0.4")
axes[0].text(11_150, 1.45, "direct", color="C3", ha="right")
axes[0].text(8700, 0.95, "interpolation", color="C4")
axes[0].text(11_800, 0.1, "YaRN", color="C0", ha="right")
axes[0].text(8700, -0.2, "just cut: 0", fontsize=9, color="0.35")
axes[0].set(
    xlabel="token (each line: one text)", ylabel="loss above just cut, nats", ylim=(-0.4, None)
)
axes[0].set_title("Loss: YaRN is level with just cut")
unstretched = table["direct"].mean(axis=1)
axes[1].plot(unstretched.index, unstretched, "--", color="C3", linewidth=1.2)
axes[1].text(8750, 0.42, "direct (4 texts)", color="C3")
for way, colour in ((CUT, "0.4"), ("YaRN", "C0")):
    axes[1].plot(table[way].index, table[way].mean(axis=1), "-o", color=colour)
    aside = 90 if way == "YaRN" else -90
    ends = table[way].min(axis=1), table[way].max(axis=1)
    axes[1].vlines(table[way].index + aside, *ends, color=colour, linewidth=2, alpha=0.3)
axes[1].text(3000, 0.84, "YaRN", color="C0", ha="right")
axes[1].text(11_136, 1.04, "just cut", color="0.35", ha="center")
axes[1].axhline(0.1, color="0.5", linestyle=":")
axes[1].text(12_200, 0.12, "guess", fontsize=9, color="0.35", ha="right")
axes[1].set(ylim=(-0.05, 1.14), ylabel="share of digits right")
axes[1].set_xlabel("token at which the number is told; bars: range of six texts")
axes[1].axvspan(0, 4096, color="0.9", zorder=0)
axes[1].text(2048, 1.12, "just cut never reads", fontsize=9, color="0.35", ha="center", va="top")
axes[1].plot(3456, known[3456], "o", color="C0", markersize=13, markerfacecolor="none")
axes[1].set_xlim(0, 12_288)
axes[1].set_title("Use: YaRN knows one of the three\nthat just cut never reads (mean)")
away = losses.groupby("seed").mean().sub(losses[CUT].groupby("seed").mean(), axis=0).abs().max()
level = [way for way in ("NTK-aware", "Llama 3.1", "YaRN") if away[way] < 0.05]
print("loss within 0.05 of just cut, in each text:", ", ".join(level))
by_text = (losses["YaRN"] - losses[CUT]).groupby("seed").mean()
print("YaRN less just cut, by text:", ", ".join(f"{gap:+.2f}" for gap in by_text))
kinds = asked.groupby("kind")["text"].nunique().to_dict()
print(f"loss: {late['seed'].nunique()} texts of documentation; needles by kind of text: {kinds}")
four = asked.query("kind == 'documentation' and place == 3456")
in_four = four.groupby("way")["right"].mean() / 4
print(f"those four alone, told at 3,456: YaRN {in_four['YaRN']:.2f}, just cut {in_four[CUT]:.2f}")
print("right, lines: means of six texts, 4 digits each (direct: the four of documentation)")
places = table[CUT].index
print(f"{'told at token':20}" + "".join(f"{place:8,}" for place in places))
print(f"{'tokens before the end':20}" + "".join(f"{12_288 - place:8,}" for place in places)[1:])
for way in ("YaRN", CUT, "direct"):
    of_way = table[way].mean(axis=1)
    print(
        f"{'just cut' if way == CUT else way:20}"
        + "".join(f"{of_way[place]:8.2f}" for place in places)
    )
better = (table["YaRN"] > table[CUT]).sum(axis=1)
print(f"YaRN knows more in {better[4992]} of {len(table[CUT].columns)} texts of the one at 4,992")
both = [table[way].loc[4992:].mean() for way in ("YaRN", CUT)]  # of each text
gap = average(torch.tensor((both[0] - both[1]).to_numpy()))
print(f"the five that both read, YaRN less just cut: {gap}, by text")
plots.show(
    fig,
    "Left: loss above just cutting, tokens 8192 to 12,287, by text. Direct rises from about 10,000 "
    "on and ends above interpolation, YaRN stays near 0. Right: share of right digits by the token "
    "at which the number is told: "
    + "; ".join(
        f"{place:,}: YaRN {table['YaRN'].loc[place].mean():.1f}, "
        f"just cut {table[CUT].loc[place].mean():.1f}, direct {unstretched[place]:.1f}"
        for place in table[CUT].index
    )
    + ".",
)

# %% [markdown]
# **Look:** by mean loss YaRN gains nothing clear over just cutting. But of the three numbers it
# knows one, told at token 3,456, in all six texts; *direct* read it too, and does not know it.
# **Equal loss is not equal use.** (Lesson 07 judged *use* by loss alone.) The next, told at 4,992,
# both read, and YaRN knows it far better. Over all five that both read neither is clearly ahead.
#
# ## Train on
#
# Llama 3.1 was also trained on. Five small models, other bytes: each way gets 100 more steps on
# 512, with $s = 8$. From here 0 is the **control**: as many steps on 64, unstretched, read at 64.

# %% tags=["plumbing"]
# Before and after, at 512
from course_utils.results import AS_TRAINED, change

results = data.results("stretching")
LENGTHS = (64, 128, 256, 512, 1024)


def at(way, n, tuned=0, s=8, tuned_at=512):
    """What tells one row a seed apart in the table."""
    about = {"way": way, "factor": 1 if way == "direct" else s, "reading": AS_TRAINED}
    return {**about, "read": n, "tuned": tuned, "tuned_at": tuned_at if tuned else 0}


control = at("direct", 64, 100, tuned_at=64)
ways = ("direct", "interpolation", "NTK-aware", "step", "Llama 3.1", "YaRN")
before = {way: change(results, control, at(way, 512)) for way in ways}
after = {way: change(results, control, at(way, 512, 100)) for way in ways}
left_over = after["direct"].mean
fig, ax = plt.subplots(figsize=(8.5, 3.2))
for row, way in enumerate(ways):
    first, then = before[way].mean, after[way].mean
    ax.plot([first, then], [row, row], color="0.75", zorder=1)
    ax.plot(first, row, "o", color="C0")
    ax.plot(then, row, "o", color="C2")
    ax.text(first + 0.04, row, f"{first:.2f}", color="C0", fontsize=9, va="center")
    ax.text(then + 0.04, row + 0.42, f"{then:.2f}", color="C2", fontsize=9, va="center")
ax.text(before["direct"].mean, -0.45, "before", color="C0", fontsize=9, ha="right")
ax.text(after["direct"].mean + 0.04, -0.45, "after 100 steps", color="C2", fontsize=9)
ax.axvline(0, color="0.4", zorder=0)
ax.text(0.02, -1.1, "control", fontsize=9, color="0.35")
ax.set_yticks(range(len(ways)), ways)
ax.set(ylim=(len(ways) - 0.4, -1.6), xlabel="loss at 512 above the control, nats a byte")
ax.set_title("Trained on, five of six end within 0.05 of the control. Dots: means of five")
level = [way for way in ways if way != "interpolation" and after[way].mean < 0.05]
print(f"at 512 within 0.05 nats of the control: {', '.join(level)}; {results.seed.nunique()} seeds")
print(f"direct at 512 above the control: {before['direct'].mean:.2f}, then {left_over:.2f}")
cost = change(results, at("direct", 64), control)
of_interpolation = change(results, control, at("interpolation", 64, 100))
print(f"interpolation, after 100 steps, at 64 above the control: {of_interpolation}")
print(f"the control itself, above the same models before these 100 steps: {cost}")
plots.show(
    fig,
    "Loss at 512 bytes above a control that read 64 bytes for as many steps, before and after 100 "
    "steps at 512, means of five: "
    + ", ".join(f"{way} {before[way].mean:+.2f} to {after[way].mean:+.2f}" for way in ways)
    + ".",
)

# %% [markdown]
# **Look:** *direct* has lost nearly all of its harm: 0.03 above the control, from 1.50. (The 100
# steps cost the control 0.04; interpolation's harm is at home.) So trained on, a low loss is no
# evidence for a stretch.
#
# Needles tell. LLaMA 7B (trained at 2,048 tokens, then on 8,192) found them up to 2,560 back with
# *direct* and 10,000 more steps, up to 8,192 with interpolation and 200 (two tries in ten, Chen et
# al. 2023, table 4).
#
# ## Read the line
#
# Llama 3.1's heads have 128 features, so 64 hands.

# %% tags=["plumbing"]
# The line, hand by hand
from course_utils.encodings import Llama3

speeds, _ = Llama3(8.0, 8192).frequencies(llama, rope_theta)
share = speeds / llama
parts = {
    "keep their speed": share > 0.999,
    "between": (share <= 0.999) & (share > 0.1251),
    "slowed by 8": share <= 0.1251,
}
print(", ".join(f"{int(which.sum())} {name}" for name, which in parts.items()))
print("hands that finish a turn in 8,192 tokens:", int((llama_turns >= 1).sum()))
fig, ax = plt.subplots(figsize=(9, 3.6))
for (name, which), colour in zip(parts.items(), ("C0", "C1", "C3"), strict=True):
    places = which.nonzero().flatten()
    ax.axvspan(places[0] - 0.5, places[-1] + 0.5, color=colour, alpha=0.2)
    words = f"{len(places)} {name}".replace(" between", "\nbetween")
    ax.text(places.double().mean(), 22, words, color="0.25", ha="center", va="center")
for times, colour in ((16, "0.55"), (8, "0.1")):
    ax.plot(times * share, "o-", color=colour, markersize=3)
    ax.text(0, times * 0.82, f"at {times * 8192:,} tokens", color=colour, fontsize=9, va="top")
ax.axhline(1, color="C3", linestyle=":")
ax.text(0, 1.07, "as in training", fontsize=9, color="C3", va="bottom")
n_round = int((llama_turns >= 1).sum())
ax.plot([0, 0, n_round - 1, n_round - 1], [1.42, 1.32, 1.32, 1.42], color="0.35", linewidth=1)
ax.text(17, 1.5, "went round within 8,192 tokens", ha="center", fontsize=9, color="0.35")
ax.set_yscale("log", base=2)
ax.set_yticks([1, 2, 4, 8, 16], ["1", "2", "4", "8", "16"])
ax.set(xlabel="hand, fast to slow", ylabel="turns, × those of training", ylim=(0.8, 32))
ax.set_title("Llama 3.1: slow hands keep to their arc at 65,536, turn twice as far at 131,072")
plots.show(
    fig,
    "How far each of 64 hands turns with the line, against 8,192 tokens without it. At 65,536 "
    "tokens: 8 times for the fast hands, once for the slow ones; at 131,072 twice as far, 16 times "
    "and 2 times. "
    + ", ".join(f"{int(which.sum())} {name}" for name, which in parts.items())
    + f". Hand {n_round} is the first that did not finish a turn at 8,192.",
)

# %% [markdown]
# Llama 3.1 is set up for 128k: **keep the fast hands, slow those that did not go round, mix
# between** (its config), **and train on** (Meta's paper, 2407.21783). At 65,536 the slow hands turn
# as far as in training, at 131,072 twice as far: the line alone does not explain "128k".
#
# ## Exercises
#
# Lesson 07's **clamp** slows no hand: no key *seems* farther away than `farthest` (ReRoPE, Su
# 2023).

# %%
from course_utils.encodings.functional import apply_rope, rope_angles


def turned(x, positions):  # (n, d), (n,) → (n, d)
    return apply_rope(x, rope_angles(positions, rope_frequencies(x.shape[-1])))


# %% [markdown]
# **Exercise 2 ★★ Clamp it.** `q` and `k` (n, d), not turned yet, stand at positions 0 to n − 1.
# Return scores (n, n), scaled by $1/\sqrt d$: RoPE's where the key is at most `farthest` back, and
# beyond, the score that the same key would have if it stood exactly `farthest` back. Keys ahead of
# a query do not matter. Turn with `turned(x, positions)`: a position for each row.


# %% tags=["stub"]
def clamped_scores(q, k, farthest):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def clamped_scores(q, k, farthest):
    n, d = q.shape
    positions = torch.arange(n)
    near = turned(q, positions) @ turned(k, positions).T
    far = turned(q, torch.full((n,), farthest)) @ k.T  # keys stay, so all are `farthest` back
    back = positions[:, None] - positions
    return torch.where(back > farthest, far, near) / d**0.5


# %%
from course_lab.checks.lesson08 import check_clamped_scores

check_clamped_scores(clamped_scores)

# %% tags=["plumbing"]
# Your scores in the three models, farthest = 63, on the referees' six passages
import time

from course_utils.models.stretching import ClampedRotary


class Clamped(ClampedRotary):
    """RoPE whose scores come from the exercise."""

    def bias(self, q, k, at):
        rows = torch.zeros_like(k)
        rows[..., at.q, :] = q  # attention may come in pieces of the queries
        pairs = zip(rows.flatten(0, 1).cpu(), k.flatten(0, 1).cpu(), strict=True)
        scores = torch.stack([clamped_scores(*pair, self.farthest) for pair in pairs]).to(q)
        plain = q @ k.mT * self.scale(self.d_head)
        return scores.view(*k.shape[:2], *scores.shape[1:])[..., at.q, :] - plain


def seconds_of_a_call(n):
    q, start = torch.zeros(n, 32), time.perf_counter()
    clamped_scores(q, q, 63)
    return time.perf_counter() - start


seconds = 0.0
if is_right := check_clamped_scores.verdict(clamped_scores).kind == "right":
    a_call = seconds_of_a_call(64)  # a loop over pairs takes 64 times as long for 512 tokens
    a_call = 64 * a_call if a_call > 0.1 else seconds_of_a_call(LONG)
    seconds = a_call * 3 * len(blocks) * 16  # models, passages, heads of all layers
if seconds > 90:
    print(
        f"Right, but skipped here: for 512 tokens a call takes some {a_call:.1f} seconds, and the"
    )
    print(f"three models need {48 * len(blocks)} calls. Does `turned` take all rows at once?")
elif is_right:
    print(
        "rise at 512, so loss over just cutting, 256 bytes of each of six passages, three models:"
    )
    for name, changes in {
        "direct": {},
        "step": {"scaling": LongRoPE(factors_of("step"), 1.0, 64)},
        "your clamp": {"encoding": Clamped, "farthest": 63},
    }.items():
        rises = []
        for seed in shipped.SEEDS["rope"]:
            reader = shipped.model("rope", seed=seed, **changes).to(device)
            (own,) = losses_of([1.0] * 16, seed, blocks, lengths=(64,))
            rises.append(sliding_loss(reader, blocks, LONG, LONG)[0] - own)
        print(f"{name:12}", "  ".join(f"{value:+.2f}" for value in rises), flush=True)

# %% [markdown]
# Clamped, the model hardly minds the far bytes. Does it use them? A
# [closer look](closer/08_search_and_needles.ipynb) asks by needles.
#
# ## Myth check
#
# Guess first. "Clear": the 95 % interval over seeds or texts leaves out the yardstick.

# %% tags=["plumbing"]
# Three claims
from course_lab.claims import Claim, Myths

runs = {"evidence": "shipped results", "seeds": results.seed.nunique()}
myths = Myths(
    {
        "C48": Claim(
            "Interpolation needs no fine-tuning.",
            scope="ours 2 to 16 times as long, SmolLM2 1.5 times: not clearly more than 0.1 nats "
            "above the loss at home",
            **runs,
        ),
        "C49": Claim(
            "Without fine-tuning NTK-aware scaling beats plain interpolation, by loss.",
            scope="ours 2 to 16 times as long, SmolLM2 1.5 times: clearly lower loss",
            choice="the length",
            **runs,
        ),
        "C68": Claim(
            "After 100 steps on 512 bytes our small models read better with more of them in sight.",
            scope="direct or s = 8: a clearly lower loss of the same bytes with up to 512 in sight "
            "than with up to 64",
            **runs,
        ),
    }
)

# %% tags=["plumbing"]
# The verdicts
own_loss = at("direct", 64)
price = {n: change(results, own_loss, at("interpolation", n, s=n // 64)) for n in LENGTHS[1:]}
myths.settle(
    "C48",
    {f"s = {n // 64}": not gap.above(0.1) for n, gap in price.items()},
    "Without fine-tuning, each length with its own factor, above the model's loss at 64: "
    + ", ".join(f"{gap} at {n}" for n, gap in price.items())
    + " (0.1 was allowed). After 100 steps with s = 8, at 512: "
    f"{change(results, own_loss, at('interpolation', 512, 100))}.",
)
ntk = {
    n: change(results, at("interpolation", n, s=n // 64), at("NTK-aware", n, s=n // 64))
    for n in LENGTHS[1:]
}
of_needles = data.results("stretching_needles").query("way in ('NTK-aware', 'interpolation')")
needle_shares = of_needles.groupby(["way", "read", "seed"], as_index=False)["accuracy"].mean()
needle_gaps = {
    n: change(
        needle_shares,
        {"way": "interpolation", "read": n},
        {"way": "NTK-aware", "read": n},
        of="accuracy",
    )
    for n in (64, 128, 256)
}
myths.settle(
    "C49",
    {f"s = {n // 64}": gap.below() for n, gap in ntk.items()},
    "NTK-aware less interpolation, both with the fitting factor: "
    + ", ".join(f"{gap} at {n}" for n, gap in ntk.items())
    + " nats. By needles, share found by small models that learned on rows of 32 (closer look, a "
    "search and needles): " + ", ".join(f"{gap} at {n}" for n, gap in needle_gaps.items()) + ".",
)
tuned_gaps = {way: change(results, at(way, 64, 100), at(way, 512, 100)) for way in ways}
myths.settle(
    "C68",
    {way: gap.below() for way, gap in tuned_gaps.items()},
    "With up to 512 bytes in sight less with up to 64, nats: "
    + ", ".join(f"{way} {gap}" for way, gap in tuned_gaps.items())
    + ".",
)
documents = data.results("real_lengths").query("read == 12288 and first >= 8192")
by_text = documents.groupby(["way", "seed"], as_index=False)["loss"].mean()
gap = change(by_text, {"way": CUT}, {"way": "interpolation"})
myths.in_a_real_model(
    "C48",
    {"s = 1.5": not gap.above(0.1)},
    f"Tokens 8192 to 12,287, above what it reads of them within its context: {gap}.",
    "SmolLM2-135M",
)
gap = change(by_text, {"way": "interpolation"}, {"way": "NTK-aware"})
late_needles = tables["documentation"].query("place >= 3456").groupby("way")["right"].mean() / 4
myths.in_a_real_model(
    "C49",
    {"s = 1.5": gap.below()},
    f"NTK-aware less interpolation, tokens 8192 to 12,287: {gap} nats. Of the numbers told from "
    f"token 3,456 on NTK-aware knows {late_needles['NTK-aware']:.2f} of the digits, interpolation "
    f"{late_needles['interpolation']:.2f}.",
    "SmolLM2-135M",
)

# %% [markdown]
# ## In five lines
#
# - On longer texts slow hands meet new angles; at 512, slowing the fastest of them, hand 5, took
#   about half of the rise.
# - Slow the fast too, and our models are lost at home.
# - Llama 3.1's `rope_scaling` line is a ramp: keep the fast, slow the slow, mix between.
# - By mean loss no stretch here clearly beat just cutting. Equal loss is not equal use: ask by
#   needles.
# - Trained on, *direct* gets a low loss too.
#
# **Read next:** Peng et al. 2023, *YaRN*, arXiv 2309.00071; Chen et al. 2023,
# *Position Interpolation*, 2306.15595.
#
# **Next:** all this bends one number, the token's. What should a position be?
# [Lesson 09](09_further_doors.ipynb).
