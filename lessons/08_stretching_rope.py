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
# - judge a claim of long context: against just cutting, training on, and by needles.
#
# **Time:** {minutes}. **Builds on:** RoPE (lesson 05); lesson 07 helps. **Doors:** 2, queries and
# keys. **Beyond:** a [closer look](closer/08_more_stretches.ipynb).

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start(doors=["rotate"], title="Lesson 08: door 2, at another speed")

# %% [markdown]
# ## A line in a file
#
# Llama 3.1's `config.json` says

# %%
rope_theta = 500_000.0  # the base b
rope_scaling = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}

# %% [markdown]
# The model first learned to read 8,192 tokens, and is offered for 131,072.
#
# RoPE turns pair $m$ of queries and keys by $p\,\theta_m$ at position $p$, with $\theta_m =
# b^{-2m/d}$: each pair is the **hand** of a clock. The course's small models have 16
# hands, and learned on pieces of 64 bytes. Let one read 512, eight times as far, with nothing
# changed: this is **direct**.

# %%
import math

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
ax.set_title("Blue: seen in training, at 64 bytes. Orange: new at 512")
ax.axis("off")
plots.show(
    fig,
    "Sixteen clocks, hands 0 to 15, each starting at twelve. Blue, what 64 positions showed: all "
    "round for hands 0 to 4, about half for hand 5, then ever thinner slices. Orange, what 512 "
    "positions add: the rest of the circle for hands 5 to 7, most of it for hand 8, then smaller "
    "slices.",
)

# %% [markdown]
# **Look:** five hands went round in training and have pointed everywhere. Eleven meet new angles at
# 512 bytes. On text of its own kind, *direct*'s loss rises by about 1.5 nats a byte or more,
# on average. ("At 512": with 257 to 512 bytes of context.)
#
# ## One hand
#
# Which does the harm? Slowed to an eighth, a hand turns as far in 512 bytes as it did in 64.
# You may slow **one**.

# %%
from course_lab import widgets

guess = widgets.predict(
    "Which one helps most at 512 bytes? (That is, in 3 of 3 models.)",
    [
        "hand 3, which meets no new angle",
        "hand 5, which made half a turn",
        "hand 7, to which most of its angles are new",
        "hand 15, the slowest",
    ],
)

# %% tags=["plumbing"]
# The answer: each hand alone, three models, six texts
from course_utils.texts import data

hands = data.results("stretching_hands").groupby(["way", "read", "seed"])["loss"].mean()
home = hands["direct", 64]  # by seed, as below
rise = {(way, n): hands[way, n] - home for way, n in hands.index.droplevel("seed").unique()}
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
print("only hands 8 to 15 slowed: a change below 0.1:", bool((together.abs() < 0.1).all()))
fig, ax = plt.subplots(figsize=(8.5, 3.2))
for m, changes in gain.items():
    ax.bar(m, changes.mean(), color="C3" if m in best else "C0", alpha=0.4)
    ax.plot([m] * len(changes), changes, "o", color="C3" if m in best else "C0", markersize=4)
ax.axhline(0, color="0.5", linewidth=1)
ax.set_xticks(range(16))
ax.set(xlabel="the hand that is slowed to an eighth", ylabel="change of loss, nats a byte")
ax.set_title("At 512 bytes hand 5 helps most (below 0 is better). Dots: three models")
plots.show(
    fig,
    "Change of the loss at 512 bytes when one hand is slowed to an eighth, means of three models: "
    + ", ".join(f"hand {m} {changes.mean():+.2f}" for m, changes in gain.items())
    + ".",
)

# %% [markdown]
# **Look:** hand 5. Slowed to an eighth, it takes away about half of the rise at 512. New angles are
# not the whole story: hands 8 to 15 meet some, and slowed they change hardly anything, on average.
# Hand 3 meets none, and helps more than hand 7. Hand 0 does harm.
#
# ## All hands
#
# One hand takes half. So slow them all? Divide each position by 8, and 512 bytes lie where 64 lay.
# Chen et al. (2023) call it **position interpolation**: $p \to p/s$, or $\theta_m \to \theta_m/s$.

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
# The answer, and some hands alone at 64 bytes
at_home = rise["interpolation", 64]
guess.reveal(
    "rises by more than 1: it is lost"
    if at_home.min() > 1
    else "stays (within 0.1): nothing is new"
    if at_home.max() < 0.1
    else "rises by 0.1 to 1: angles are closer"
)
missed = [m for m in range(16) if (rise[f"pair {m}", 64] > 0.1).all()]
print("slowed alone, more than 0.1 at 64 bytes, 3 of 3 models: hand", *missed)
print("rise at 64 bytes, nats a byte, of three models, if these are slowed to an eighth:")
for name, shown in (
    ("interpolation", "all sixteen hands"),
    ("pairs 0-4", "hands 0 to 4, which went round"),
    ("pairs 5-15", "hands 5 to 15"),
    ("pair 0", "hand 0"),
    ("pair 0, at most 4 back", "hand 0, for keys at most 4 back"),
    ("pair 0, at least 5 back", "hand 0, for keys at least 5 back"),
    ("pairs 1-4", "hands 1 to 4"),
    ("pairs 1-4, at most 4 back", "hands 1 to 4, for keys at most 4 back"),
    ("pairs 1-4, at least 5 back", "hands 1 to 4, for keys at least 5 back"),
):
    print(f"  {shown:40}{rise[name, 64].min():.1f} to {rise[name, 64].max():.1f}")

# %% [markdown]
# **Look:** alone, only hand 0 costs more than 0.1. Together the five that went round do nearly all
# of the harm, the slow eleven about 0.1. Hand 0 tells the last few bytes apart: nearly all of its
# harm is done at keys at most 4 back. Hands 1 to 4 do more, nearly all of it farther back.
#
# ## Llama's ramp
#
# So slow the slow, spare the fast. And those between? Count each hand's turns within the
# trained length $L$: $L\,\theta_m / 2\pi$.

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
# **Exercise 1 ★★ Write the line.** `theta` (pairs,) are the speeds in training. Return the new
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
import torch

from course_lab.checks.lesson08 import check_clamped_scores, check_ramp

check_ramp(ramp_from_scratch)

# %% [markdown]
# Yours is *Llama 3.1*. All:
#
# | way | fast hands | slow hands |
# |---|---|---|
# | direct | keep | keep |
# | interpolation | ÷ s | ÷ s |
# | NTK-aware (bloc97) | hand 0 keeps | last ÷ s: larger base |
# | step | keep | ÷ s: no whole turn |
# | Llama 3.1 | keep: over 4 turns | ÷ s: under 1; ramp |
# | YaRN (code) | keep: over 32 turns | ÷ s: under 1; ramp even in $m$ |
#
# YaRN also multiplies all scores by a number above 1. (Its paper's ramp is
# [another](closer/08_more_stretches.ipynb).)

# %%
from course_utils.encodings import NTK

slower = theta / NTK(8).frequencies(theta, 10_000.0)[0]
assert torch.allclose(slower[[0, -1]], torch.tensor([1, 8], dtype=slower.dtype))
print("NTK-aware, s = 8, slows hand 0 to 15 by", ", ".join(f"{x:.1f}" for x in slower.tolist()))

# %% [markdown]
# ## Tune your own
#
# Which reads best? Draw the bar of a hand up to slow it, and the model reads a text anew.
#
# 1. Set all as *Llama 3.1*, then as *step*. Which hands does only Llama slow?
# 2. Set *direct*, and slow hand 5 to an eighth. Then 6, 7, 8 and 9 too. When does it stop helping?
# 3. Move **one** of the five to come 0.1 below the dashed line, where both rises together are the
#    step's. Does its hand meet new angles then?
# 4. Put it back. Hand 3 at a quarter meets no new angle: better than the step?

# %%
from course_lab import explorers

explorers.stretch()

# %% [markdown]
# <details><summary>What came out</summary>Hand 8 still helped a little here, hand 9 no more. Lower
# still than 3: hands 3 and 4 to half speed, both. One alone makes it worse.</details>
#
# Now other texts and models judge your setting and your ramp (20 seconds).

# %%
mine = {5: 8, 6: 8, 7: 8, 8: 8, 9: 8}  # hand → how many times slower; put yours here
low, high = 1, 4  # turns, of your ramp; does another pair do better?

# %% tags=["plumbing"]
# The referees
from itertools import product

from course_lab.explorers.stretch import BLOCK, LONG, factors_of
from course_utils.encodings import LongRoPE
from course_utils.measures.trained_models import sliding_loss
from course_utils.models import shipped
from course_utils.texts import text

blocks = text.split(text.documentation()).held_out[:, : LONG + 1].to(device)
others = [n for n in range(len(blocks)) if n != BLOCK]


def losses(factors, seed, which, lengths=(64, LONG)):
    """Losses of some texts at 64 and at 512 bytes, each hand slowed by its factor."""
    reader = shipped.model("rope", seed=seed, scaling=LongRoPE(factors, 1.0, 64)).to(device)
    return [sliding_loss(reader, blocks[which], n, LONG)[0] for n in lengths]


one_bar = {5: 6, 6: 8, 7: 8, 8: 8, 9: 8}
hand_3 = {3: 4, **one_bar, 5: 8}
slowed = {"mine": mine, "one bar": one_bar, "hand 3": hand_3, "lower": {3: 2, 4: 2, **one_bar}}
settings = {name: [float(hands.get(m, 1)) for m in range(16)] for name, hands in slowed.items()} | {
    "step": factors_of("step")
}
if check_ramp.verdict(ramp_from_scratch).kind == "right":
    settings["your ramp"] = (theta / ramp_from_scratch(theta, 8, low, high, 64)).tolist()
texts = {"this text": [BLOCK], "five others": others}
print("rise at 64 + rise at 512" + "".join(f"{name:>10}" for name in settings))
for seed, (name, which) in product(shipped.SEEDS["rope"], texts.items()):
    (own,) = losses([1.0] * 16, seed, which, lengths=(64,))
    sums = [sum(losses(factors, seed, which)) - 2 * own for factors in settings.values()]
    print(f"model {seed}, {name:15}" + "".join(f"{value:10.2f}" for value in sums), flush=True)

# %% [markdown]
# **Look:** "one bar" is hand 5 slowed 6 times. It meets *new* angles, and reads better than the
# step in five of six rows. "Hand 3" helped this model, and is worse than the step in the other two.
# A ramp from 1 to 4 turns, which also slows hands 2 to 4, is worse in all six. A
# [closer look](closer/08_search_and_needles.ipynb) *searches* such numbers.
#
# ## Against just cutting
#
# Is the best good enough? The cruel yardstick: **just cut**, read the last 64 bytes only. And
# lesson 07's **clamp** slows nothing: no key *seems* farther away than 63 (ReRoPE, Su 2023).

# %% tags=["plumbing"]
# All ways against just cutting, by loss

names = ["interpolation", "direct", "NTK-aware", "Llama 3.1", "step", "YaRN"]
against = {name: rise[name, 512] for name in names}
for hands in ("0-4", "5-15"):
    against[f"clamp only hands {hands}"] = rise[f"clamped 63, pairs {hands}", 512]
against |= {f"clamp at {far}": rise[f"clamped {far}", 512] for far in (63, 31)}
fig, ax = plt.subplots(figsize=(8.5, 3.6))
for row, (name, values) in enumerate(against.items()):
    colour = "C2" if name.startswith("clamp") else "C0"
    ax.plot(values, [row] * len(values), "o", color=colour, alpha=0.7)
    ax.text(values.max() + 0.05, row, f"{values.mean():+.2f}", va="center", fontsize=9)
ax.axvline(0, color="0.4")
ax.text(0.02, -0.75, "just cut: read the last 64 bytes", fontsize=9, color="0.35")
ax.set_yticks(range(len(against)), list(against))
ax.set(ylim=(len(against) - 0.4, -1.2), xlim=(-0.1, 2.5))
ax.set(xlabel="loss above just cut, nats a byte; dots: three models")
ax.set_title("Loss at 512: none of these beats just cutting")
worse = all(bool((values > 0).all()) for values in against.values())
print("every way is above just cut in 3 of 3 models:", worse)
beaten = all(bool((against["clamp at 63"] < 0.2 * against[name]).all()) for name in names)
print("clamped at 63, less than a fifth of any stretch's rise, in 3 of 3 models:", beaten)
for hands, share in (("0-4", 0.4), ("5-15", 0.8)):
    gone = 1 - against[f"clamp only hands {hands}"] / against["direct"]
    enough = bool((gone > share).all())
    print(f"only hands {hands} clamped, more than {share} of the rise is gone: {enough}")
plots.show(
    fig,
    "Loss at 512 bytes above just cutting to 64, three models as dots, means: "
    + ", ".join(f"{name} {values.mean():+.2f}" for name, values in against.items())
    + ".",
)

# %% [markdown]
# **Look:** by loss none of these beats just cutting. Clamp only the hands that did not go round,
# and more than four fifths of *direct*'s rise is gone. Clamp only the others, and more than two
# fifths is, though each has pointed everywhere. (Not together: is that why?)
#
# ## A real model
#
# Why stretch, then? To read what is far: so ask for it. SmolLM2-135M learned to read 8,192 tokens.
# It read 12,288, stretched by 1.5; just cut reads the last 8,192. Each text tells eight
# **needles**, such as "The secret number of Lima is 4829.", and asks for them at its end.

# %%
guess = widgets.predict(
    "How often does YaRN know a digit of the number told at token 384, right at the start?",
    ["as often as of later ones (half or more)", "sometimes (a quarter to a half)", "hardly ever"],
)

# %% tags=["plumbing", "picture"]
# The answer: loss, and needles by place, on texts of two kinds
import pandas as pd

CUT = "direct, cut off"
tables = {"documentation": data.results("real_needles"), "code": data.results("real_needles_code")}
tables["documentation"]["text"] = "text " + tables["documentation"]["seed"].astype(str)
asked = pd.concat(tables, names=["kind"]).reset_index("kind").query("place >= 0")
shares = asked.assign(share=asked["right"] / 4).set_index("way")
table = {
    way: shares.loc[way].pivot(index="place", columns="text", values="share")
    for way in (CUT, "YaRN")
}
first = table["YaRN"].loc[384].mean()
levels = {"as often as of later ones (half or more)": first >= 0.5, "hardly ever": first < 0.25}
guess.reveal(
    next((level for level, met in levels.items() if met), "sometimes (a quarter to a half)")
)
late = data.results("real_lengths").query("read == 12288 and first >= 8192")
losses = late.pivot(index=["seed", "first"], columns="way", values="loss")
fig, axes = plt.subplots(1, 2, figsize=(11, 3.8))
for _, rows in losses.groupby("seed"):
    middle = rows.index.get_level_values("first") + 512
    for way, colour in (("direct", "C3"), ("interpolation", "C4"), ("YaRN", "C0")):
        axes[0].plot(middle, rows[way] - rows[CUT], "o-", ms=3, color=colour, alpha=0.7)
axes[0].axhline(0, color="0.4")
axes[0].text(11_100, 1.0, "direct", color="C3", ha="right")
axes[0].text(8700, 0.95, "interpolation", color="C4")
axes[0].text(11_800, 0.1, "YaRN", color="C0", ha="right")
axes[0].text(8700, -0.2, "just cut: 0", fontsize=9, color="0.35")
axes[0].set(xlabel="token", ylabel="loss above just cut, nats", ylim=(-0.4, None))
axes[0].set_title("Loss: YaRN is level with just cut")
for way, colour, name in ((CUT, "0.4", "just cut"), ("YaRN", "C0", "YaRN")):
    for number, name_of_text in enumerate(table[way]):  # side by side, to tell six texts apart
        beside = table[way].index + 75 * (number - 2.5) + (-25 if way == CUT else 25)
        axes[1].plot(beside, table[way][name_of_text], "o", color=colour, markersize=3, alpha=0.4)
    axes[1].plot(table[way].index, table[way].mean(axis=1), "-o", color=colour)
    axes[1].text(
        2300 if way == "YaRN" else 6900, 0.93 if way == "YaRN" else 0.35, name, color=colour
    )
axes[1].axhline(0.1, color="0.5", linestyle=":")
axes[1].text(12_200, 0.12, "guess", fontsize=9, color="0.35", ha="right")
axes[1].set(ylim=(-0.05, 1.05), ylabel="share of digits right")
axes[1].set_xlabel("token at which the number is told; dots: six texts, 4 digits each")
axes[1].axvspan(0, 4096, color="0.92", zorder=0)
axes[1].text(150, 0.6, "not read\nby just cut", fontsize=9, color="0.35")
axes[1].set_xlim(0, 12_288)
axes[1].set_title("Use: YaRN knows the number told at token 3,456")
away = losses.groupby("seed").mean().sub(losses[CUT].groupby("seed").mean(), axis=0).abs().max()
print(
    "loss within 0.05 of just cut, in each text:",
    ", ".join(away.index[away < 0.05].drop([CUT, "NTK-aware, wider"])),
)
kinds = asked.groupby("kind")["text"].nunique().to_dict()
print(f"loss: {late['seed'].nunique()} texts of documentation; needles by kind of text: {kinds}")
by_kind = asked.query("way == 'YaRN' and place == 3456").groupby("kind")["right"].mean() / 4
print("YaRN, right digits at token 3,456:", {kind: f"{s:.2f}" for kind, s in by_kind.items()})
for way, place in ((CUT, 4992), *(("YaRN", place) for place in (384, 1920, 3456))):
    start = 4096 if way == CUT else 0
    where = f"{place - start:,} after the start of what it reads, {12_288 - place:,} from the end"
    print(f"{way.replace(CUT, 'just cut'):8} {where}: {table[way].loc[place].mean():.1f}")
plots.show(
    fig,
    "Left: loss above just cutting, tokens 8192 to 12,287, by text. Direct rises from about 10,000 "
    "on and ends above interpolation, YaRN stays near 0. Right: share of right digits by the token "
    "at which the number is told: "
    + "; ".join(
        f"{place:,}: YaRN {table['YaRN'].loc[place].mean():.1f}, "
        f"just cut {table[CUT].loc[place].mean():.1f}"
        for place in table[CUT].index
    )
    + ".",
)

# %% [markdown]
# **Look:** by loss YaRN gains nothing over just cutting, nor do NTK-aware and Llama 3.1. But it
# knows the number told at token 3,456, which just cut never read. **Equal loss is not equal use.**
# It does not know the one at the start. But just cut *did* read token 4,992, unstretched, and
# hardly knows it. Two stories fit: the model's own reach is below 8,192 and was multiplied, or the
# start of whatever is read is lost.
#
# ## Train on
#
# Llama 3.1 was also trained on. What does that change? Here each way gets 100 more steps on 512
# bytes, with $s = 8$. The **control** gets as many on pieces of 64, not stretched.

# %%
guess = widgets.predict(
    "After these 100 steps, which is worst at 512 bytes?",
    ["direct", "interpolation", "NTK-aware", "YaRN"],
)

# %% tags=["plumbing"]
# The answer, with its control
from course_utils.results import AS_TRAINED, change

results = data.results("stretching")
LENGTHS = (64, 128, 256, 512, 1024)


def at(way, n, tuned=0, s=8, tuned_at=512):
    """What tells one row a seed apart in the table."""
    about = {"way": way, "factor": 1 if way == "direct" else s, "reading": AS_TRAINED}
    return {**about, "read": n, "tuned": tuned, "tuned_at": tuned_at if tuned else 0}


control = at("direct", 64, 100, tuned_at=64)
kept_at_8 = ("interpolation", "NTK-aware", "Llama 3.1", "step", "YaRN")
ways = ("direct", *kept_at_8)
before = {way: change(results, control, at(way, 512)) for way in ways}
after = {way: change(results, control, at(way, 512, 100)) for way in ways}
guess.reveal(max(("direct", "interpolation", "NTK-aware", "YaRN"), key=lambda w: after[w].mean))
fig, ax = plt.subplots(figsize=(8.5, 3.2))
for row, way in enumerate(ways):
    ends = [before[way].mean, after[way].mean]
    arrow = {"arrowstyle": "->", "color": "0.6"}
    ax.annotate("", (ends[1], row), (ends[0], row), arrowprops=arrow)
    ax.plot(*ends[:1], row, "o", color="C0")
    ax.plot(*ends[1:], row, "o", color="C2")
ax.text(before["direct"].mean + 0.05, 0, "before", color="C0", fontsize=9, va="center")
ax.text(after["direct"].mean + 0.06, -0.35, "after 100 steps", color="C2", fontsize=9)
ax.axvline(0, color="0.4")
ax.text(0.02, -1.0, "control: as many steps, 64 bytes, not stretched", fontsize=9, color="0.35")
ax.set_yticks(range(len(ways)), ways)
ax.set(ylim=(len(ways) - 0.4, -1.5), xlabel="loss at 512 bytes above the control, nats a byte")
ax.set_title("Trained on at 512, all but interpolation come within 0.05 of the control")
level = [way for way in ways if way != "interpolation" and after[way].mean < 0.05]
print(f"within 0.05 nats of the control: {', '.join(level)}; {results.seed.nunique()} seeds")
plots.show(
    fig,
    "Loss at 512 bytes above a control that read 64 bytes for as many steps, before and after 100 "
    "steps at 512: "
    + ", ".join(f"{way} {before[way].mean:+.2f} to {after[way].mean:+.2f}" for way in ways)
    + ".",
)

# %% tags=["plumbing"]
# The same weights, read at 1,024
refitted = data.results("stretching_refitted").set_index("seed")
read_control = refitted.query("read == 64 and tuned_at == 64")["loss"]
trained_on = refitted.query("tuned_at == 512").pivot(columns=["way", "factor", "read"])["loss"]
readings = {"direct": ("direct", 1, 1024), "direct, just cut: the last 512": ("direct", 1, 512)}
readings |= {f"step, s = {s}": ("step", s, 1024) for s in (8, 16)}
readings |= {f"{way}, s = 16": (way, 16, 1024) for way in ("Llama 3.1", "YaRN")}
print("the same bytes, with up to 1,024 in sight, above the control; three models")
for name, reading in readings.items():
    above = trained_on[reading] - read_control
    print(f"{name:32}", "  ".join(f"{gap:+.2f}" for gap in above))
gaps = {way: change(results, at(way, 1024, 100), at("direct", 1024, 100)) for way in kept_at_8}
ahead = all(gap.below() for gap in gaps.values())
print("direct is clearly below each way whose s stays 8, five seeds:", ahead)

# %% [markdown]
# **Look:** at 512 *direct*, which had failed, is within 0.05 of the control, as are all but
# interpolation: a low loss after training on does not show that a stretch was needed. At 1,024
# *direct* beats each way whose $s$ stays 8. *Read* with $s = 16$, the step, Llama's ramp and YaRN
# are ahead of it, in 3 of 3 models. By loss just cutting still leads. Needles were not asked here;
# others did ask a larger model:

# %% tags=["plumbing"]
# Chen et al. 2023, table 4
print(
    "LLaMA 7B, 2,048 tokens stretched to 8,192: a needle is found, in at least one of five tries,"
)
print("up to so many tokens before the end:")
print("direct, 10,000 steps more        2,560")
print("interpolation, 200 steps more    8,192")

# %% [markdown]
# There 10,000 steps without a stretch did not suffice. That model is far larger, and $s$ is 4;
# which of these decides is not measured here.
#
# ## Read the line
#
# What does the line do in Llama 3.1? Its heads have 128 features, so 64 hands.

# %% tags=["plumbing"]
# The line, hand by hand
from course_utils.encodings import Llama3

slowed, _ = Llama3(8.0, 8192).frequencies(llama, rope_theta)
share = slowed / llama
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
    ax.axvspan(
        places[0] - 0.5, places[-1] + 0.5, color=colour, alpha=0.22 if name == "between" else 0.08
    )
    ax.text(places.double().mean(), 22, f"{len(places)} {name}", color=colour, ha="center")
for times, colour in ((16, "0.55"), (8, "0.1")):
    ax.plot(times * share, "o-", color=colour, markersize=3)
    ax.text(0, times * 0.82, f"at {times * 8192:,} tokens", color=colour, fontsize=9, va="top")
ax.axhline(1, color="C3", linestyle=":")
ax.text(0, 1.07, "as in training", fontsize=9, color="C3", va="bottom")
unfinished = int((llama_turns >= 1).sum())
ax.plot([0, 0, unfinished - 1, unfinished - 1], [2.5, 2.3, 2.3, 2.5], color="0.35", linewidth=1)
ax.text(17, 2.7, "went round within 8,192 tokens", ha="center", fontsize=9, color="0.35")
ax.set_yscale("log", base=2)
ax.set_yticks([1, 2, 4, 8, 16], ["1", "2", "4", "8", "16"])
ax.set(xlabel="hand, fast to slow", ylabel="× what it turned in training", ylim=(0.8, 32))
ax.set_title("Llama 3.1: slow hands keep to their arc at 65,536, turn twice as far at 131,072")
plots.show(
    fig,
    "How far each of 64 hands turns with the line, against 8,192 tokens without it. At 65,536 "
    "tokens: 8 times for the fast hands, once for the slow ones; at 131,072 twice as far, 16 times "
    "and 2 times. "
    + ", ".join(f"{int(which.sum())} {name}" for name, which in parts.items())
    + f". Hand {unfinished} is the first that did not finish a turn at 8,192.",
)

# %% [markdown]
# So Llama 3.1 is set up for 128k: **keep the fast hands, slow those that did not go round, mix
# between** (its config), **and train on** (Meta's paper, 2407.21783). At 65,536 the slow hands turn
# as far as in training, at 131,072 twice as far: the line alone does not explain "128k".
#
# ## Exercises

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
check_clamped_scores(clamped_scores)

# %% [markdown]
# ## Myth check
#
# Guess first. "Clear": the 95 % interval over seeds or texts leaves out the yardstick.

# %% tags=["plumbing"]
# Four claims
from course_lab.claims import Claim, Myths

runs = {"evidence": "shipped results", "seeds": results.seed.nunique()}
myths = Myths(
    {
        "C46": Claim(
            "Position interpolation multiplies positions by L_test/L_train.",
            scope="interpolation as Chen et al. define it",
            evidence="exact",
        ),
        "C47": Claim(
            "NTK-aware scaling multiplies θ_m by s^(+2m/d).",
            scope="NTK-aware scaling as YaRN's paper defines it, heads of 32 and 128",
            evidence="exact",
        ),
        "C48": Claim(
            "Interpolation needs no fine-tuning.",
            scope="64 bytes to 128 … 1024 (a real model: 8,192 tokens to 12,288): not clearly 0.1 "
            "nats above what it reads within its length",
            **runs,
        ),
        "C49": Claim(
            "NTK-aware scaling beats plain interpolation without fine-tuning.",
            scope="64 bytes to 128 … 1024 (a real model: 8,192 tokens to 12,288), both with s that "
            "fits: clearly lower loss",
            choice="the length",
            **runs,
        ),
    }
)

# %% tags=["plumbing"]
# The verdicts on formulas
from course_utils.encodings import Linear

tokens, model = blocks[:1, :256], shipped.model("rope").to(device)
with torch.no_grad():
    stretched_out = shipped.model("rope", scaling=Linear(4)).to(device)(tokens)
    agrees = {
        name: bool((model(tokens, torch.arange(256) * by) - stretched_out).abs().max() < 1e-3)
        for name, by in {"L_test/L_train": 4.0, "L_train/L_test": 0.25}.items()
    }
myths.settle(
    "C46",
    {"the model's outputs at 256": agrees["L_test/L_train"]},
    "The shipped model stretched by 4 gives the outputs of positions times L_train/L_test to "
    f"rounding: {agrees['L_train/L_test']}; those of positions times L_test/L_train: "
    f"{agrees['L_test/L_train']}.",
)
by_hand = rope_frequencies(32, 10_000.0 * 8 ** (32 / 30)) / theta
claimed = {}
for d in (32, 128):
    plain = rope_frequencies(d)
    ratio = NTK(8).frequencies(plain, 10_000.0)[0] / plain
    claimed[d] = torch.allclose(ratio, 8.0 ** (2 * torch.arange(d // 2, dtype=ratio.dtype) / d))
agrees_by_hand = torch.allclose(by_hand, 8.0 ** (-2 * torch.arange(16, dtype=theta.dtype) / 30))
myths.settle(
    "C47",
    {f"heads of {d}": correct for d, correct in claimed.items()},
    f"θ_m is multiplied by s^(−2m/(d−2)), from a base computed by hand: {agrees_by_hand}. "
    f"With s = 8 the slowest of 16 pairs has {by_hand[-1]:.3f} of its speed; the claim would make "
    f"it {8 ** (30 / 32):.1f} times as fast.",
)

# %% tags=["plumbing"]
# The verdicts on losses
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
of_256 = data.results("stretching_needles").query(
    "read == 256 and way in ('NTK-aware', 'interpolation')"
)
by_needles = of_256.groupby("way")["accuracy"].mean()
myths.settle(
    "C49",
    {f"s = {n // 64}": gap.below() for n, gap in ntk.items()},
    "By loss. NTK-aware less interpolation, both with the fitting factor: "
    + ", ".join(f"{gap} at {n}" for n, gap in ntk.items())
    + " nats. By needles, in rows of 256 of small models (closer look): "
    + ", ".join(f"{way} {share:.2f}" for way, share in by_needles.items())
    + " found.",
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
myths.in_a_real_model(
    "C49",
    {"s = 1.5": gap.below()},
    f"NTK-aware less interpolation, tokens 8192 to 12,287: {gap} nats.",
    "SmolLM2-135M",
)

# %% [markdown]
# ## In five lines
#
# - On longer texts slow hands meet new angles; at 512, slowing one to an eighth took about half
#   of the rise.
# - Slow the fast ones too, and our models are lost at home.
# - Llama 3.1's `rope_scaling` line is a ramp: keep the fast, slow the slow, mix between.
# - Equal loss is not equal use. Ask by needles, by place, with a control.
# - Trained on, the step was level with *direct* at 512. At 1,024 it was behind with $s = 8$, ahead
#   with $s = 16$. Just cutting led.
#
# **Read next:** Peng et al. 2023, *YaRN*, arXiv 2309.00071; Chen et al. 2023,
# *Position Interpolation*, 2306.15595.
#
# **Next:** what could a position be, if not a number of tokens?
# [Lesson 09](09_further_doors.ipynb).
