# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # 08 · Stretching RoPE
#
# **Question:** how do models trained at 4k read 128k? We try it on a small scale: 64 bytes to 512.
#
# After this lesson you can
#
# - see a position as digits, and each way to stretch as a way of counting;
# - write interpolation, NTK-aware scaling and YaRN's ramp from memory, the right way round;
# - say which pairs a longer text harms, and which pairs must be left alone;
# - judge a claim about "long context": by loss, after fine-tuning, and by a needle.
#
# **Time:** {minutes}. **Builds on:** lessons 05 and 07. **Doors:** 2, queries and keys.

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start(doors=["rotate"], title="Lesson 08: door 2, at another speed")

# %% [markdown]
# ## A counter with too few digits
#
# Take a counter with three wheels: ones, tens, hundreds. In training it ran from 0 to 99. Now it
# must count to 799, eight times as far.

# %%
from course_lab import figures, widgets

guess = widgets.predict(
    "Just let it run on to 799. How many of the wheels show a digit that they never showed?",
    ["none", "one", "two", "three"],
)

# %% [markdown]
# Digit $m$ of position $p$ in base $\beta$ is
#
# $$\Big\lfloor \frac{p}{\beta^m} \Big\rfloor \bmod \beta, \qquad m = 0, 1, 2, \dots$$
#
# RoPE turns pair $m$ by the angle $p\,\theta_m = p / \beta^m$ with $\beta = b^{2/d}$: the same
# quotient (Su, kexue.fm 9675). This is an analogy. Hands glide where wheels click, and an angle
# counts modulo $2\pi$, not modulo $\beta$. But a wheel that never went round is much like a slow
# pair that never finished its turn.

# %%
import math

import torch


def digits_from_scratch(p, units, beta=10):
    """What each wheel shows at position p, if wheel m moves on by 1 in units[m] positions."""
    return [p / unit % beta for unit in units]


assert [int(shown) for shown in digits_from_scratch(637, (1, 10, 100))] == [7, 3, 6]

# %%
s = 8
counters = {  # positions in which a wheel moves on by 1: ones, tens, hundreds
    "direct": (1, 10, 100),
    "interpolation": (s, 10 * s, 100 * s),
    "NTK-aware": (1, 10 * s**0.5, 100 * s),
    "by parts": (1, 10 * (1 + s) / 2, 100 * s),
}
new_wheels = {}
print("637 on hundreds, tens, ones; neighbours apart on the ones; wheels with a new digit")
for name, units in counters.items():
    new_wheels[name] = sum(  # it had not shown all digits by 99, and now it gets further
        99 // trained_unit < 9 and 799 // unit > 99 // trained_unit
        for trained_unit, unit in zip(counters["direct"], units, strict=True)
    )
    shown = ", ".join(f"{digit:4.1f}" for digit in digits_from_scratch(637, units)[::-1])
    print(f"{name:14} {shown};  {1 / units[0]:.2f} apart;  {new_wheels[name]} new")
guess.reveal(["none", "one", "two", "three"][new_wheels["direct"]])

# %% [markdown]
# **Look:** four ways to count.
#
# - **Direct:** count on. The hundreds show what training never showed.
# - **Interpolation:** slow all wheels by $s$. Nothing is new, but neighbours are only $1/s$ apart.
# - **NTK-aware:** a larger base. The ones keep their speed, the hundreds are slowed by $s$, and
#   wheels between by less.
# - **By parts:** decide wheel by wheel. Those that went round in training may keep their speed.
#
# ## The ways as formulas
#
# Let $L = L_\text{train}$ and $s = L_\text{test} / L_\text{train}$. In training, pair $m$ makes
# $L\theta_m / 2\pi$ turns. Each way has its own new speeds:
#
# $$\begin{aligned}
# \text{interpolation:}\quad & \theta_m / s && \text{the same as } p \to p \cdot L_\text{train} /
# L_\text{test} \\
# \text{NTK-aware:}\quad & b \to b \cdot s^{d/(d-2)} && \text{so } \theta_m \to \theta_m \cdot
# s^{-2m/(d-2)} \\
# \text{YaRN, by parts:}\quad & \gamma_m \theta_m + (1 - \gamma_m)\,\theta_m / s
# && \gamma_m: 1 \to 0 \text{ from 32 turns to 1}
# \end{aligned}$$
#
# YaRN's *ramp* $\gamma$ is straight in the index $m$, as in its released code. (The paper's is
# straight in the turns: github.com/jquesnelle/yarn, issue 60.)

# %%
from course_utils.encodings import NTK, Linear, YaRN
from course_utils.encodings.functional import rope_frequencies, scaled_frequencies


def stretch_from_scratch(way, theta, s, L, b=10_000.0):
    """The stretched speed of each pair: (pairs,)."""
    m, d = torch.arange(len(theta)), 2 * len(theta)
    if way == "interpolation":
        return theta / s
    if way == "NTK-aware":
        return theta * s ** (-2 * m / (d - 2))
    # The m, a fraction, of a pair that makes 32 turns within L, or one.
    fast, slow = (d / 2 * math.log(L / (2 * math.pi * turns), b) for turns in (32, 1))
    last_kept, first_slowed = max(math.floor(fast), 0), math.ceil(slow)
    gamma = 1 - ((m - last_kept) / (first_slowed - last_kept)).clamp(0, 1)
    return gamma * theta + (1 - gamma) * theta / s


# %%
theta = rope_frequencies(128)
for d, L in ((128, 4096), (32, 64)):  # Llama 2's heads, and ours
    scalings = {"interpolation": Linear(8), "NTK-aware": NTK(8), "YaRN": YaRN(8, L)}
    for way, scaling in scalings.items():
        ours = stretch_from_scratch(way, rope_frequencies(d), 8, L)
        assert torch.allclose(ours, scaled_frequencies(d, 10_000.0, scaling)[0])
print("from scratch = reference, three ways, two heads")

# %% [markdown]
# The other ways in words:
#
# - **Dynamic NTK:** NTK-aware with $s = n/L$ for the $n$ tokens read so far: the speeds change as a
#   text grows. Up to $L$ nothing changes.
# - **YaRN:** the ramp, and all scores are multiplied by $(0.1 \ln s + 1)^2$, a *temperature* that
#   sharpens attention. "By parts" is the ramp alone.
# - **Llama 3.1:** another ramp, straight in the turns, from 4 to 1. No temperature.
# - **Step:** pairs that do not finish a turn are slowed by $s$, the others not at all. No
#   temperature. (LongRoPE *searches* a factor for each pair; we do not.)

# %%
from course_utils.models.stretching import WAYS, way_to_stretch

for way in WAYS:
    speed, factor = scaled_frequencies(128, 10_000.0, way_to_stretch(way, 8, 4096, 128), 8 * 4096)
    n_kept = int((speed > 0.99 * theta).sum())
    print(f"{way:14} {n_kept:2} of 64 pairs keep their speed; scores × {factor**2:.2f}")

# %% [markdown]
# ## Turn the knobs
#
# A head of Llama 2: 64 pairs, trained at 4,096 (the solid line; the dashed one is the new length).
# A cross marks *new angles*: the pair did not finish a turn in training, and now turns further
# than it did there.
#
# - "interpolation", factor 8: which pairs keep their speed?
# - "NTK-aware": are there crosses? Compare with "interpolation".
# - "YaRN", then "Llama 3.1": where does each begin to slow?

# %%
from course_lab import explorers

explorers.stretched_waves()

# %%
import matplotlib.pyplot as plt

drawn = [way for way in WAYS if way not in ("dynamic NTK", "by parts")]
speeds = {
    way: scaled_frequencies(128, 10_000.0, way_to_stretch(way, 8, 4096, 128), 8 * 4096)[0]
    for way in drawn
}
n_new = {way: int(explorers.unseen(theta, v, 4096, 8 * 4096).sum()) for way, v in speeds.items()}
print("pairs that reach new angles:", ", ".join(f"{way} {count}" for way, count in n_new.items()))

# %%
from course_utils import plots

fig, ax = plt.subplots(figsize=(8.5, 3.9))
plots.lines(
    ax,
    {way: speed / theta for way, speed in speeds.items()},
    title="Llama 2's head, stretched 8 times",
    xlabel="pair, fast to slow",
    ylabel="speed / trained speed",
)
ax.set_yscale("log", base=2)
ax.set_yticks([1, 1 / 2, 1 / 4, 1 / 8], ["1", "1/2", "1/4", "1/8"])
plots.show(
    fig,
    "Speed of each pair against the trained one. Direct: level at 1. Interpolation: level at 1/8. "
    "NTK-aware: a straight slope from 1 to 1/8. YaRN and Llama 3.1: level at 1, a fall, level at "
    "1/8; step: one jump from 1 to 1/8. Pair 32 keeps "
    + ", ".join(f"{way} {speed[32] / theta[32]:.2f}" for way, speed in speeds.items())
    + ".",
)

# %% [markdown]
# **Look:** all ways but direct agree on the slowest pair, 1/8. They differ in whom they spare.
# NTK-aware spares fast pairs, but in between it slows some too little: its slope leaves pairs with
# new angles. The YaRN paper says that its factor must be above the extension wanted. We test that
# below.
#
# ## The course's own model
#
# Now a real one: the RoPE model of lesson 07. Four layers, heads of 32 features, so 16 pairs,
# trained on pieces of 64 bytes.

# %%
from course_utils.models import shipped
from course_utils.texts import data, text

model, L = shipped.model("rope").to(device), shipped.length("rope")
own_speeds = rope_frequencies(32)  # (16,)
turns = L * own_speeds / (2 * torch.pi)
finished = int((turns >= 1).sum())
print("turns within 64 bytes:", ", ".join(f"{t:.2g}" for t in turns[:8].tolist()), "…")
print(f"{finished} of {len(own_speeds)} pairs finish a turn, {len(own_speeds) - finished} never do")
kept_shares = scaled_frequencies(32, 10_000.0, YaRN(8, L))[0] / own_speeds
print("YaRN leaves the first pairs", ", ".join(f"{k:.2f}" for k in kept_shares[:6].tolist()), "…")

# %% [markdown]
# No pair of ours makes 32 turns. So YaRN's ramp starts at the fastest pair, and spares only that
# one wholly.

# %%
from matplotlib.patches import Circle, Wedge


def clock(ax, x, y, trained_arc, angle, passes_it):
    """A hand at an angle; blue: the arc that training showed; orange: the rest that it passes."""
    ax.add_patch(Circle((x, y), 0.4, fill=False, color="0.6"))
    ax.add_patch(Wedge((x, y), 0.4, 0, math.degrees(trained_arc), color="C0", alpha=0.25))
    if passes_it:
        end = math.degrees(min(angle, 2 * math.pi))
        ax.add_patch(Wedge((x, y), 0.4, math.degrees(trained_arc), end, color="C3", alpha=0.5))
    tip = x + 0.4 * math.cos(angle), y + 0.4 * math.sin(angle)
    ax.plot([x, tip[0]], [y, tip[1]], color="0.1", linewidth=1.5)


# %%
pairs, four_ways, p = (0, 2, 4, 5, 7, 9), ("direct", "interpolation", "NTK-aware", "YaRN"), 511
fig, ax = plt.subplots(figsize=(8, 5.2))
beyond = {}
for down, way in enumerate(four_ways):
    new_speeds = scaled_frequencies(32, 10_000.0, way_to_stretch(way, 8, L, 32))[0]
    beyond[way] = explorers.unseen(own_speeds, new_speeds, L, p + 1)
    for across, m in enumerate(pairs):
        trained_arc = min(2 * math.pi, (L - 1) * own_speeds[m].item())
        clock(ax, across, -down, trained_arc, p * new_speeds[m].item(), beyond[way][m].item())
ax.set(xlim=(-0.6, 5.6), ylim=(-3.6, 0.6), aspect="equal", title="from position 0 to 511")
ax.set_xticks(range(6), [f"pair {m}" for m in pairs])
ax.set_yticks([0, -1, -2, -3], four_ways)
described = ", ".join(f"{way} {int(passed.sum())}" for way, passed in beyond.items())
plots.show(
    fig,
    "Four rows of six clocks, a hand each, at position 511. Blue: the arc that 64 positions "
    "showed, the whole circle for pairs 0 to 4, thin slices further right. Orange: what a hand "
    f"passes beyond it. Pairs of all 16 that pass beyond: {described}.",
)

# %% [markdown]
# **Look:** where the disc is all blue, training showed every angle. Where it is a slice, only a
# slow hand stays inside. Orange is what a hand passes on its way to 511, and never did in training.
# Interpolation and YaRN have none. But in interpolation the *fast* hands are slow as well, so
# neighbours may be harder to tell apart.
#
# ## Eight ways, no training
#
# As in lesson 07: the same recipe, sliding windows, the same bytes judged at every length, several
# seeds; behind the ± stands half of a 95 % interval. Each way gets the factor 8, made for 512
# bytes. The numbers are in `data/`, made by
#
# `make experiments EXPERIMENT=stretching`

# %%
guess = widgets.predict(
    "512 bytes, factor 8, not trained any further: which has the lowest loss?",
    ["direct", "interpolation", "NTK-aware", "YaRN"],
)

# %%
from course_utils.models.stretching import WITHOUT_FACTOR
from course_utils.results import AS_TRAINED, average, change, summary

results = data.results("stretching")
LENGTHS = sorted(results.read.unique().tolist())
FACTOR, STEPS = 8, int(results.tuned.max())  # of the stretching, of the fine-tuning
fixed = results[results.factor.isin([1, FACTOR])]  # 1: direct and dynamic NTK are told none
plain = fixed[(fixed.reading == AS_TRAINED) & (fixed.tuned == 0)]
untuned = summary(plain, "way", "read")


def cells(table):
    """Mean ± half of its 95 % interval, ways down and lengths across."""
    text = table["mean"].map("{:.3f}".format) + table["margin"].map(" ± {:.3f}".format)
    return text.unstack("read").loc[list(WAYS)]


# %%
four_ways = ("direct", "interpolation", "NTK-aware", "YaRN")
guess.reveal(min(four_ways, key=lambda way: untuned.loc[(way, 512), "mean"]))
print(f"{results.seed.nunique()} seeds; loss in nats a byte by bytes read")
own_rows = plain[(plain.way == "direct") & (plain["read"] == L)]
earlier = data.results("extrapolation").query("encoding == 'rope' and read == @L")
for name, rows in (("here", own_rows), ("in lesson 07", earlier)):
    print(f"direct at 64, {name}: {rows.loss.mean():.2f}, on {rows.judged.iloc[0]:,} bytes")
cells(untuned)

# %%
fig, ax = plt.subplots(figsize=(9, 4.2))
plots.seed_curves(
    ax,
    untuned,
    drawn,
    title="trained at 64, stretched 8 times, no fine-tuning",
    xlabel="bytes read",
    ylabel="loss (nats a byte)",
)
ax.axvline(L, color="0.5", linewidth=1)
ax.axvline(FACTOR * L, color="0.5", linewidth=1, linestyle=":")
plots.show(
    fig,
    "Loss against bytes read, 64 to 1024, six curves with bars of 95 % intervals; grey lines "
    "at 64 and 512. At 512: "
    + ", ".join(f"{way} {untuned.loc[(way, 512), 'mean']:.1f}" for way in WAYS)
    + ".",
)


# %%
def at(way, n, tuned=0, s=FACTOR, reading=AS_TRAINED, tuned_at=FACTOR * L):
    """What tells one row a seed apart in the table."""
    condition = {"way": way, "factor": 1 if way in WITHOUT_FACTOR else s, "reading": reading}
    return {**condition, "read": n, "tuned": tuned, "tuned_at": tuned_at if tuned else 0}


for label, n in (("made for 512, read at 64", 64), ("read at 512", 512), ("beyond, at 1024", 1024)):
    base = at("direct", L)
    gaps = {way: change(results, base, at(way, n)) for way in WAYS if (way, n) != ("direct", L)}
    order = sorted(gaps, key=lambda way: gaps[way].mean)
    print(f"{label}, above the unstretched model at 64:")
    print("   " + ", ".join(f"{way} {gaps[way]}" for way in order))

# %% [markdown]
# **Look:** at three places. (The figure draws six ways, the table and the list have all eight.)
#
# - **At 64** the unstretched model is at home. (Its loss is lower than in lesson 07, because fewer
#   and other bytes are judged.) A fixed factor costs something there, interpolation most. Dynamic
#   NTK is the only one that costs nothing: at 64 it changes nothing.
# - **At 512** compare the ways that spare the fast pairs with those that do not.
# - **At 1024** the factor 8 is used up. The hands leave their arcs again.
#
# A fairer test for small steps: the factor that fits, $s = n/64$.

# %%
guess = widgets.predict(
    "128 bytes, interpolation by 2, no fine-tuning. Against NTK-aware by 2 it reads …",
    ["better", "no clear difference (the 95 % interval holds 0)", "worse"],
)

# %%
fits = results[(results.reading == AS_TRAINED) & (results.tuned == 0)]
fits = fits[(fits.factor * L == fits["read"]) | (fits.factor == 1)]
fitted = summary(fits, "way", "read")
ntk_gaps = {
    n: change(results, at("interpolation", n, s=n // L), at("NTK-aware", n, s=n // L))
    for n in LENGTHS[1:]
}
for n, gap in ntk_gaps.items():
    print(f"{n:4} bytes, s = {n // L:2}: NTK-aware less interpolation {gap}")
guess.reveal(
    "worse"
    if ntk_gaps[128].below()
    else "better"
    if ntk_gaps[128].above()
    else "no clear difference (the 95 % interval holds 0)"
)
cells(fitted).fillna("")

# %% [markdown]
# Here dynamic NTK *is* NTK-aware: a window of $n$ read at once has $s = n/L$. They part when the
# factor is fixed, as above, or when a text grows token by token, as in exercise 2.
#
# Does NTK-aware need a factor above the extension? We sweep it.

# %%
for n in LENGTHS[1:]:
    fit = at("NTK-aware", n, s=n / L)
    gaps = {k: change(results, fit, at("NTK-aware", n, s=k * n / L)) for k in (1.25, 1.5, 2, 3, 4)}
    best = min(gaps, key=lambda k: gaps[k].mean)
    rest_gap = change(results, at("by parts", n, s=n / L), at("NTK-aware", n, s=best * n / L))
    print(f"{n} bytes, NTK-aware, factor {n // L} × k less factor {n // L}:")
    print("   " + ", ".join(f"k = {k:g}: {gap}" for k, gap in gaps.items()))
    print(f"   k = {best:g} less by parts, which has the factor {n // L}: {rest_gap}")

# %% [markdown]
# **Look:** it does here: at every length some factor above the extension reads clearly better.
# Which one, differs, and 1.5 times can do harm. At 128 the best of them even beats by parts.
# Further out by parts, with the plain factor, is clearly better than the best.
#
# ## Which hands must not be slowed?
#
# An experiment on the shipped model. We slow only the five pairs that finish a turn, or only the
# eleven that do not.

# %%
guess = widgets.predict(
    "64 bytes: which slowing by 8 does more damage?",
    ["of the 5 fast pairs", "of the 11 slow pairs", "about the same (within 0.3 nats)"],
)

# %%
from course_utils.encodings import LongRoPE
from course_utils.measures.trained_models import sliding_loss

corpus = text.split(text.documentation())
held_out = text.spread(corpus.held_out, 3)[:, : 3 * LENGTHS[-1] + 1]  # as for the table
passage = held_out[1:2]  # one of three, for speed
keep_all, slow_all = [1.0] * len(own_speeds), [8.0] * len(own_speeds)
slowings = {
    "none": keep_all,
    "fast pairs": slow_all[:finished] + keep_all[finished:],
    "slow pairs": keep_all[:finished] + slow_all[finished:],  # the step
    "all pairs": slow_all,
}


# %%
def loss_with(factors, n):
    """Loss of the shipped model at n bytes, pair m slowed by factors[m]."""
    scaling = LongRoPE(factors, 1.0, L)  # factor 1: no temperature
    slowed = shipped.model("rope", scaling=scaling).to(device)
    return sliding_loss(slowed, passage, n, LENGTHS[-1])[0]


slowed = {name: {n: loss_with(factors, n) for n in (64, 512)} for name, factors in slowings.items()}
for name, losses in slowed.items():
    print(f"slowed: {name:17}  64 bytes {losses[64]:.1f}   512 bytes {losses[512]:.1f}")
fast, slow = slowed["fast pairs"][64], slowed["slow pairs"][64]
guess.reveal(
    "about the same (within 0.3 nats)"
    if abs(fast - slow) < 0.3
    else "of the 5 fast pairs"
    if fast > slow
    else "of the 11 slow pairs"
)

# %% [markdown]
# **Look:** slow the slow pairs and the long text becomes readable, at a small price on the short
# one. Slow the fast pairs and even 64 bytes are lost. Interpolation is right for one part of the
# pairs only.
#
# A large model suffers less: LLaMA 7B, by the interpolation paper, has perplexity 7.20 on PG-19 at
# its own 2,048 tokens, and 16.10 at 8,192, interpolated by 4 and not trained further.
#
# ## A short fine-tuning
#
# Now each way is trained on for 100 steps on pieces of 512 bytes, one a step: training's bytes a
# step, a twelfth of its steps, half its learning rate.

# %%
guess = widgets.predict(
    "After 100 steps at 512, which is worst at 512?",
    ["direct", "interpolation", "NTK-aware", "YaRN"],
)

# %%
tuned_rows = fixed[(fixed.reading == AS_TRAINED) & (fixed.tuned_at == FACTOR * L)]
tuned = summary(tuned_rows, "way", "read")
guess.reveal(max(four_ways, key=lambda way: tuned.loc[(way, 512), "mean"]))
cells(tuned)

# %%
import pandas as pd

curves = pd.concat({"before": untuned, "after 100 steps at 512": tuned}, names=["when"])
grid = figures.facets(curves.reset_index(), "when", height=4.4, aspect=1.2)
for when, ax in grid.axes_dict.items():
    plots.seed_curves(ax, curves.loc[when], drawn, title=when, legend=when != "before")
    ax.axvline(FACTOR * L, color="0.5", linewidth=1, linestyle=":")
grid.set_axis_labels("bytes read", "loss (nats a byte)")
plots.show(
    grid.figure,
    "The curves of six ways, before and after. After, at 512: "
    + ", ".join(f"{way} {tuned.loc[(way, 512), 'mean']:.1f}" for way in WAYS)
    + "; at 1024: "
    + ", ".join(f"{way} {tuned.loc[(way, 1024), 'mean']:.1f}" for way in WAYS)
    + ".",
)

# %% [markdown]
# A control: the same 100 steps on the same bytes, but each 512 of them cut into eight pieces of 64.
# Nothing is stretched. What do the steps alone do?

# %%
control = at("direct", L, STEPS, tuned_at=L)
print("at 64, control less the model before:", change(results, at("direct", L), control))
for way in WAYS:
    gap = change(results, control, at(way, 512, STEPS))
    word = "above" if gap.above() else "below" if gap.below() else "no clear difference"
    rise = change(results, at(way, 512, STEPS), at(way, 1024, STEPS))
    scaling = way_to_stretch(way, 8, L, 32)
    speeds_512, speeds_1024 = (scaled_frequencies(32, 10_000.0, scaling, n)[0] for n in (512, 1024))
    n_new = int(explorers.unseen(speeds_512, speeds_1024, 512, 1024).sum())
    print(f"{way:14} at 512, less the control at 64: {gap}, {word}")
    print(f"{'':14} from 512 to 1024: {rise}; {n_new:2} pairs reach new angles")

# %% [markdown]
# **Look:** *direct*, which had failed, is now nearly level with ways that had not. A hundred steps
# that show the new angles can be enough, for a small model on this text. So a low loss after
# fine-tuning does not prove that a way was needed. And if they end above the loss at 64, that
# is mostly the steps' doing: the control, which stretches nothing, does too. (Adam starts anew, and
# each step sees one place of the text only.)
#
# Interpolation is last. In its paper it is the other way round: LLaMA 7B, fine-tuned *directly*,
# reached only 2,560 tokens after 10,000 steps, from 2,048, and interpolation was quick. What is
# different here?

# %%
for name, speed, length in (("ours", own_speeds, L), ("LLaMA 7B", rope_frequencies(128), 2048)):
    n_finished = {s: int((length / s * speed / (2 * math.pi) >= 1).sum()) for s in (1, 8)}
    print(
        f"{name}: {n_finished[1]} of {len(speed)} pairs finish a turn within {length:,},", end=" "
    )
    print(f"{n_finished[8]} if slowed by 8")

# %% [markdown]
# LLaMA keeps many fast hands even when all are slowed; ours keep one. And the paper measured
# *reach*, by a hidden passkey, and reach is not loss. Two likely reasons; we tested neither.
#
# At 1024 direct and the NTK ways lead. New angles explain that only in part: direct has many, and
# rises by little.
#
# Do it yourself: 30 steps for two ways, on the shipped model.

# %%
from course_utils.models.stretching import stretched
from course_utils.models.training import Recipe, fine_tune

for way in ("interpolation", "YaRN"):
    copy = stretched(model, way, FACTOR, L)
    before = sliding_loss(copy, held_out, 512, LENGTHS[-1])[0]
    fine_tune(copy, Recipe("rope"), corpus, length=512, steps=30)
    after = sliding_loss(copy, held_out, 512, LENGTHS[-1])[0]
    print(f"{way:14} {before:.1f} before, {after:.1f} after 30 steps")

# %% [markdown]
# ## Does log-n help?
#
# A longer text means more keys to share the weight. YaRN and LongRoPE sharpen all scores by one
# number; log-n sharpens by $\log n / \log L$, query by query (lesson 07). Here it is on top of each
# way, before fine-tuning.

# %%
log_n_gaps = {way: change(results, at(way, 512), at(way, 512, reading="log-n")) for way in WAYS}
for way, gap in log_n_gaps.items():
    word = "lower" if gap.below() else "higher" if gap.above() else "no clear change"
    print(f"{way:14} log-n changes the loss at 512 by {gap}: {word}")
temperature_gap = change(results, at("by parts", 512), at("YaRN", 512))
print(f"YaRN's own temperature, at the same ramp: {temperature_gap}")

# %%
from course_lab.measures import entropy_by_query

sample = held_out[:2, :1024]
shapes = {"direct": {}, "interpolation": {}, "YaRN": {}, "YaRN + log-n": {"log_n": L}}
nats = {
    name: entropy_by_query(stretched(model, name.split(" + ")[0], FACTOR, L, **options), sample)
    for name, options in shapes.items()
}  # name → (layers, heads, 1024)
fig, ax = plt.subplots(figsize=(8.5, 3.9))
smooth = {name: entropy.mean((0, 1)).unfold(0, 32, 8).mean(1) for name, entropy in nats.items()}
figures.entropy(ax, smooth, math.log(1024), title="entropy of attention, mean of layers and heads")
for line in ax.lines[: len(smooth)]:
    line.set_xdata(16 + 8 * torch.arange(len(line.get_xdata())))
ax.set_xlim(0, 1024)
ax.legend(loc="center right", bbox_to_anchor=(1.0, 0.6))
plots.show(
    fig,
    "Entropy against query position 0 to 1023. Near 64 and near 1000 keys: "
    + ", ".join(f"{name} {curve[6]:.1f} and {curve[-1]:.1f}" for name, curve in smooth.items())
    + ".",
)

# %% [markdown]
# **Look:** compare each curve's two ends. Direct climbs: far queries spread their weight over more
# keys. YaRN, ramp and temperature together, climbs less. But a sharper attention need not be a
# better one: log-n makes YaRN's curve the lowest, and the list above says what that does to the
# loss. (We only read with these factors. A model trained with one may gain.)
#
# ## A needle
#
# A low loss does not show that far text is *used*. Do our models use it? Compare the same bytes,
# read in windows of 512 bytes and of 64.

# %%
for way in ("direct", "YaRN"):
    gap = change(results, at(way, 64, STEPS), at(way, 512, STEPS))
    print(f"{way}, fine-tuned: windows of 512 instead of 64 change the loss by {gap}")

# %%
guess = widgets.predict_number(
    "The shipped model, at its own 64 bytes, reads 12 random letters twice. By how much is the "
    "second time cheaper?",
    "nats a letter",
)

# %%
letters = torch.Generator().manual_seed(0)
word, other_word = torch.randint(97, 123, (2, 128, 12), generator=letters)
filler = held_out[:, :3072].reshape(-1, 64)[:128].clone()
filler[:, 51:63] = word  # the last bytes; asked from the fourth letter on
losses = {}
for name, earlier_word in {"seen before": word, "new": other_word}.items():
    rows = filler.clone()
    rows[:, 10:22] = earlier_word
    with torch.no_grad():
        logits = model(rows.to(device))[:, 53:62].cpu()
    losses[name] = torch.nn.functional.cross_entropy(
        logits.transpose(1, 2), rows[:, 54:63], reduction="none"
    ).mean(1)
cheaper = losses["new"] - losses["seen before"]
print(f"less costly by {average(cheaper)} nats a letter, of {losses['new'].mean():.1f}")
guess.reveal(abs(round(cheaper.mean().item(), 1)), "nats a letter")

# %% [markdown]
# Far text does not lower the loss, and the second reading costs as much as the first. A model that
# cannot repeat twelve letters at home has no needle to lose. So we take models that can: small ones
# (two layers), trained on lesson 07's `find` task at up to 32 tokens. A row holds a marker, and at
# its end the question: *which symbol stood after the marker?* Now the row is up to 8 times as long,
# each way has the factor that fits, and the marker lies at a chosen depth. Chance is one in 16.

# %%

guess = widgets.predict(
    "256 tokens, 8 times the length, mean over depths: who finds most?",
    ["direct", "interpolation", "NTK-aware", "by parts"],
)

# %%
needles = data.results("stretching_needles")
ways = needles.way.unique().tolist()
accuracy = summary(needles, "way", "read", "depth", of="accuracy")
sizes, depths = sorted(needles.read.unique().tolist()), sorted(needles.depth.unique().tolist())
by_length = needles.groupby(["way", "read", "seed"], as_index=False).accuracy.mean()
overall = summary(by_length, "way", "read", of="accuracy")
fig, axes = plt.subplots(1, 5, figsize=(12, 3.2), sharey=True)
for ax, way in zip(axes, ways, strict=True):
    grid = torch.tensor(accuracy.loc[way, "mean"].unstack("read").loc[depths, sizes].to_numpy())
    figures.numbered(ax, grid, depths, sizes, limit=1.0, form=".1f", title=way, xlabel="tokens")
axes[0].set_ylabel("depth (1 = start of the row)")
longest = sizes[-1]
plots.show(
    fig,
    "Five tables of the share found, by depth and length; redder is more. The widest 95 % interval "
    f"of a cell is ± {accuracy.margin.max():.1f}. Mean over depths at {longest} tokens: "
    + ", ".join(f"{w} {overall.loc[(w, longest), 'mean']:.2f}" for w in ways)
    + ".",
)
guess.reveal(max(ways[:-1], key=lambda way: overall.loc[(way, longest), "mean"]))

# %%
shares = overall["mean"].map("{:.3f}".format) + overall["margin"].map(" ± {:.3f}".format)
pairs = [(other, "by parts") for other in four_ways[:-1]] + [("by parts", "YaRN")]
for other, way in pairs:
    ends = {"way": other, "read": longest}, {"way": way, "read": longest}
    gap = change(by_length, *ends, of="accuracy")
    verdict = "clear" if gap.above() or gap.below() else "not clear"
    print(f"{longest} tokens, share found, {way} less {other}: {gap}; {verdict}")
shares.unstack("read").loc[ways]

# %% [markdown]
# **Look:** direct loses nearly all but the nearest needles, NTK-aware the far ones, interpolation
# most but the nearest. By parts finds clearly more than each of them. YaRN's temperature on top
# makes no clear difference: it is the ramp that helps. One reading: a find takes two steps. A
# symbol must know its left neighbour, for which fast pairs are needed. And the question must reach
# far back without meeting new angles, a matter of slow pairs. The ramp spares both, and yet loses a
# part. At 8 times the length no way keeps all that the model could do at 32.
#
# ## Fingerprint and passports

# %%
from course_utils import measures
from course_utils.encodings import create

fingerprints = {
    way: measures.fingerprint(
        create("rope", d_model=128, n_heads=4, scaling=way_to_stretch(way, 8, L, 32)), 192
    )
    for way in four_ways
}

# %%
fig, axes = plt.subplots(1, 4, figsize=(11.5, 3.4), sharey=True)
top = max(scores[0].abs().max().item() for scores in fingerprints.values())
style = {"signed": False, "limit": top, "equal": True}
for ax, way in zip(axes, fingerprints, strict=True):
    image = plots.heatmap(ax, fingerprints[way][0], title=way, xlabel="key", **style)
fig.colorbar(image, ax=axes, label="score", shrink=0.8)
axes[0].set_ylabel("query")
width = {
    way: int((v[0, 0] > v[0, 0, 0] / 2).long().cumprod(0).sum()) for way, v in fingerprints.items()
}
plots.show(
    fig,
    "Fingerprint of head 0 on 192 tokens, four ways: bands along the diagonal. Positions until the "
    "score has fallen to half: " + ", ".join(f"{way} {n}" for way, n in width.items()) + ".",
)

# %%
passports = {way: measures.passport("rope", scaling=way_to_stretch(way, 8, L, 32)) for way in WAYS}
columns = ["parameters", "shift_error", "extra_flops", "extra_bytes", "longest"]
compared = pd.DataFrame(passports).T[columns]
compared["shift_error"] = [f"{value:.0e}" for value in compared.shift_error]
compared["longest"] = ["no limit found" if v is None else v for v in compared.longest]
compared

# %% [markdown]
# **Look:** interpolation zooms the whole print, so its diagonal is broad. NTK-aware and YaRN keep
# the narrow line, and their far field is higher than direct's. The passports are nearly the same
# but for one thing: dynamic NTK changes when all positions move, since it reads the length off
# them. No way adds parameters.
#
# ## In a real model
#
# SmolLM2-135M (RoPE, 32 pairs a head) was trained to read 8,192 tokens. It read texts of 12,288, by
# factors of 1.5 and without fine-tuning. A simple rival: **cut off** the first 4,096 and read the
# last 8,192 directly. No model is loaded here.

# %%
guess = widgets.predict(
    "Tokens 8192–12287: which ways read them clearly better than cutting off does?",
    ["none", "YaRN alone", "all but direct and interpolation", "all but direct"],
)

# %%
real, CUT = data.results("real_lengths"), "direct, cut off"


def gap_between(read, way, other, tokens):
    """Mean loss of some tokens by one way less that by the other, text by text."""
    rows = real[(real["read"] == read) & real["first"].isin(tokens)]
    rows = rows.groupby(["way", "seed"], as_index=False).loss.mean()
    return change(rows, {"way": other}, {"way": way})


others = [way for way in real.way.unique() if way != CUT]
late_gaps = {way: gap_between(12_288, way, CUT, range(8192, 12_288)) for way in others}
print(f"nats a token, {real[real['read'] == 12_288].seed.nunique()} texts of 12,288:")
for way in others:
    home = gap_between(12_288, way, "direct", range(8192))
    print(f"{way:16} up to 8191, less direct {home}; then, less cut off {late_gaps[way]}")
better = [way for way in others if late_gaps[way].below()]
answers = {(): "none", ("YaRN",): "YaRN alone"}
guess.reveal(answers.get(tuple(better), ", ".join(better)))

# %%
rows = real[real["read"] == 12_288].pivot(index=["first", "seed"], columns="way", values="loss")
within = rows.index.get_level_values("first") < 8192
gaps = rows.sub(rows["direct"].where(within, rows[CUT]), axis=0)[others]
curves = summary(gaps.stack().rename("loss").reset_index(), "way", "first")
six_ways = [way for way in drawn + ["dynamic NTK"] if way in others]
fig, ax = plt.subplots(figsize=(9, 4.2))
plots.seed_curves(
    ax, curves, six_ways, xlabel="first of 1,024 tokens", ylabel="nats above", doubling=False
)
ax.set_title("SmolLM2's loss above direct (to 8191) and cut off (from 8192)")
ax.axvline(8192, color="0.5", linewidth=1)
ax.set_ylim(-0.1, 2.0)
ends = ", ".join(f"{way} {curves.loc[(way, 11_264), 'mean']:.2f}" for way in six_ways)
plots.show(
    fig,
    "Six curves against the token, 0 to 12,287, a grey line at 8192. Interpolation is high all the "
    "way. Direct is at 0, and shoots up from about 10,000 on. The other four lie on each other, "
    f"close to 0. At the end: {ends}.",
)

# %%
print("twice the trained length, s = 2, not fine-tuned")
for way in ("direct", "interpolation", "NTK-aware", "dynamic NTK", "YaRN", "Llama 3.1"):
    our_gap = change(results, at("direct", L), at(way, 2 * L, s=2))
    real_gap = gap_between(16_384, way, CUT, range(12_288, 16_384))
    print(f"{way:14} ours, above the loss at 64: {our_gap};", end=" ")
    print(f"SmolLM2, last 4096 tokens, above cut off: {real_gap}")
wider_gap = gap_between(12_288, "NTK-aware, wider", "NTK-aware", range(8192, 12_288))
print(f"SmolLM2 at 12,288, NTK-aware by 2 less NTK-aware by 1.5: {wider_gap}")

# %% [markdown]
# **Look:** up to token 8,191 every way but interpolation reads about as direct does. After that
# direct holds for a thousand tokens or two, then it breaks. The others hold to the end. Yet none is
# clearly better than forgetting the first 4,096 tokens: they survive, as lesson 07's models did.
# (Four texts, and one of 16,384.)
#
# But equal loss is not equal use. Eight sentences were put into each text, such as "The secret
# number of Lima is 4829." At its end we ask for the numbers. Three were told in the part that is
# cut off. A guess gets one digit in ten.

# %%
needles = data.results("real_needles")
needles["told"] = needles["place"].lt(4096).map({True: "in the first 4096", False: "later"})
needles["loss"] = needles["right"] / 4
needles = (
    needles[needles["place"] >= 0].groupby(["told", "way", "seed"], as_index=False).loss.mean()
)
print(f"share of digits that are right; {needles.seed.nunique()} texts")
for way in real.way.unique():
    parts = []
    for place, rows in needles.groupby("told"):
        mean = rows[rows["way"] == way].loss.mean()
        gain = change(rows, {"way": CUT}, {"way": way})
        verdict = (
            "clearly more" if gain.above() else "clearly less" if gain.below() else "not clear"
        )
        parts.append(f"told {place}: {mean:.2f}" + (f" ({verdict})" if way != CUT else ""))
    print(f"{way:16} {', '.join(parts)}")
print("in brackets: against cutting off")

# %% [markdown]
# **Look:** of the numbers that it never read, cutting off gets no more than a guess. Every way that
# stretches, interpolation apart, gets clearly more. The loss had hidden it: few tokens hang
# on something that far back.
#
# Of the ways that change frequencies, interpolation costs most in both models. At twice the length
# ours read better directly, SmolLM2 far worse.
#
# ## Exercises
#
# **Exercise 1 ★★ How much NTK?** Some pairs of a head of d features make no whole turn in `trained`
# positions. Write `ntk_factor(d, base, trained, target)`: the smallest factor of NTK-aware scaling,
# a float of at least 1, with which none of them turns further in `target` positions than in
# training. (The fastest pair always makes a turn.)


# %% tags=["stub"]
def ntk_factor(d, base, trained, target):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def ntk_factor(d, base, trained, target):
    for m in range(d // 2):
        if trained * base ** (-2 * m / d) < 2 * math.pi:  # the fastest of them is slowed least
            return (target / trained) ** ((d - 2) / (2 * m))
    return 1.0


# %%
from course_lab.checks.lesson08 import check_cached_scores, check_factors, check_ntk_factor

check_ntk_factor(ntk_factor)

# %% [markdown]
# **Exercise 2 ★★ Find the bug: a cache under dynamic NTK.** The base changes with every token past
# $L$. Suppose someone turns each key when it comes and keeps it, as caches do. Here L is 8, and the
# newest of 24 tokens looks back. By the angle between it and a key, how far off does the key seem?

# %%
from course_utils.encodings import DynamicNTK
from course_utils.encodings.functional import apply_rope, rope_angles

slowest = {n: scaled_frequencies(8, 100.0, DynamicNTK(1.0, 8), n)[0][-1] for n in range(1, 25)}
for place in (0, 8, 16, 20, 23):
    angle = 23 * slowest[24] - place * slowest[place + 1]
    print(f"{23 - place:2} positions back: seems {angle / slowest[24]:5.1f} to the slowest pair")

# %% [markdown]
# Write `cached_scores(q, keys, trained, base)`: the right scores, divided by $\sqrt d$, of the
# newest query with all $n$ keys. `q` is (d,), `keys` (n, d), both not turned yet; the last key is
# the query's own. Use `DynamicNTK(1.0, trained)`, `scaled_frequencies(d, base, scaling, n)`, which
# gives the speeds first, and `apply_rope(x, rope_angles(positions, speeds))`.


# %% tags=["stub"]
def cached_scores(q, keys, trained, base):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def cached_scores(q, keys, trained, base):
    n, d = keys.shape
    speeds = scaled_frequencies(d, base, DynamicNTK(1.0, trained), n)[0]
    turned = apply_rope(keys, rope_angles(torch.arange(n), speeds))
    query = apply_rope(q[None], rope_angles(torch.tensor([n - 1]), speeds))[0]
    return turned @ query / d**0.5


# %%
check_cached_scores(cached_scores)

# %% [markdown]
# **Exercise 3 ★★★ Stretch it yourself.** Can you beat the step? Write `factors(turns, s)`: from the
# turns of each pair within the trained length, (pairs,), the factor by which each is slowed,
# (pairs,), to read s times as far. The check puts yours into the shipped model, with passages that
# this notebook does not show: at 64 bytes at most 0.15 nats above the unstretched model at 64, at
# 512 bytes at most 0.45. Then it asks for heads of 64 pairs. Try ideas with `loss_with`. The step,
# on this notebook's passage:

# %%
for name in ("none", "slow pairs"):
    gaps = {n: slowed[name][n] - slowed["none"][64] for n in (64, 512)}
    print(f"slowed: {name:10}  64 bytes {gaps[64]:+.2f}, 512 bytes {gaps[512]:+.2f}")


# %% tags=["stub"]
def factors(turns, s):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def factors(turns, s):
    kept = ((turns / 0.5).log() / math.log(5.7 / 0.5)).clamp(0, 1)  # a ramp, found by trying
    return 1 / (kept + (1 - kept) / s)


# %%
check_factors(factors)

# %% [markdown]
# ## Myth check
#
# Guess first. "Clear" means: the 95 % interval over seeds leaves out the yardstick.

# %%
from course_lab.claims import Claim, Myths

formulas = {
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
}

# %%
runs = {"evidence": "shipped results", "seeds": results.seed.nunique()}
losses = {
    "C48": Claim(
        "Interpolation needs no fine-tuning.",
        scope="64 bytes to 128 … 1024 (a real model: 8,192 tokens to 12,288): not clearly 0.1 nats "
        "above what it reads within its length",
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
myths = Myths({**formulas, **losses})

# %%
tokens = held_out[:1, :256].to(device)
with torch.no_grad():
    stretched_out = shipped.model("rope", scaling=Linear(4)).to(device)(tokens)
    gap = {
        name: (model(tokens, torch.arange(256) * by) - stretched_out).abs().max().item()
        for name, by in {"L_test/L_train": 4.0, "L_train/L_test": 0.25}.items()
    }
agrees = {name: value < 1e-3 for name, value in gap.items()}
myths.settle(
    "C46",
    {"the model's outputs at 256": agrees["L_test/L_train"]},
    "The shipped model stretched by 4 gives the outputs of positions times L_train/L_test to "
    f"rounding: {agrees['L_train/L_test']}; those of positions times L_test/L_train: "
    f"{agrees['L_test/L_train']}.",
)

# %%
by_hand = rope_frequencies(32, 10_000.0 * 8 ** (32 / 30)) / own_speeds
claimed = {}
for d in (32, 128):
    before = rope_frequencies(d)
    ratio = NTK(8).frequencies(before, 10_000.0)[0] / before
    claimed[d] = torch.allclose(ratio, 8.0 ** (2 * torch.arange(d // 2, dtype=ratio.dtype) / d))
agrees_by_hand = torch.allclose(
    by_hand, 8.0 ** (-2 * torch.arange(16, dtype=own_speeds.dtype) / 30)
)
myths.settle(
    "C47",
    {f"heads of {d}": correct for d, correct in claimed.items()},
    f"θ_m is multiplied by s^(−2m/(d−2)), from a base computed by hand: {agrees_by_hand}. "
    f"With s = 8 the slowest of 16 pairs has {by_hand[-1]:.3f} of its speed; the claim would make "
    f"it {8 ** (30 / 32):.1f} times as fast.",
)

# %%
own_loss = at("direct", L)
price = {n: change(results, own_loss, at("interpolation", n, s=n // L)) for n in LENGTHS[1:]}
myths.settle(
    "C48",
    {f"s = {n // L}": not gap.above(0.1) for n, gap in price.items()},
    "Without fine-tuning, each length with its own factor, above the model's loss at 64: "
    + ", ".join(f"{gap} at {n}" for n, gap in price.items())
    + f" (0.1 was allowed). After {STEPS} steps with s = 8, at 512: "
    f"{change(results, own_loss, at('interpolation', 512, STEPS))}.",
)

# %%
myths.settle(
    "C49",
    {f"s = {n // L}": gap.below() for n, gap in ntk_gaps.items()},
    "NTK-aware less interpolation, both with the fitting factor: "
    + ", ".join(f"{gap} at {n}" for n, gap in ntk_gaps.items())
    + " nats.",
)

# %%
model, far = "SmolLM2-135M", range(8192, 12_288)
gap = late_gaps["interpolation"]
myths.in_a_real_model(
    "C48",
    {"s = 1.5": not gap.above(0.1)},
    f"Tokens 8192 to 12,287, above what it reads of them within its context: {gap}.",
    model,
)
gap = gap_between(12_288, "NTK-aware", "interpolation", far)
myths.in_a_real_model(
    "C49",
    {"s = 1.5": gap.below()},
    f"NTK-aware less interpolation, tokens 8192 to 12,287: {gap} nats.",
    model,
)

# %%
myths.table()

# %% [markdown]
# ## In five lines
#
# - Think of digits: RoPE's hands are the wheels, and slow ones never went round.
# - Interpolation slows all hands, NTK-aware slow ones most, by parts those in need.
# - Slow the fast hands, and this model is lost.
# - From 4k to 128k (YaRN, Llama 2): slow the slow pairs, then fine-tune. Others raise the base and
#   train on (Code Llama; Xiong et al. 2023, arXiv 2309.16039).
# - Low loss on a long text is not use of it: hide a needle.
#
# **Read next:** Peng et al. 2023, *YaRN*, arXiv 2309.00071, sections 2 and 3. Then Chen et al.
# 2023, *Position Interpolation*, 2306.15595.
#
# **Next:** [lesson 09](09_further_doors.ipynb) opens further doors: what else has been tried?
