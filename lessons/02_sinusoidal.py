# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   order_matters:
#     edition: 2
#     lines: [2, 3]
# ---

# %% [markdown]
# # 02 · Sinusoidal
#
# **Question:** how can 128 numbers name any of 10,000 positions and also say how far apart two of
# them are?
#
# After this lesson you can
#
# - lead from wishes to clock hands, and to their many speeds;
# - say what the dot product of two positions tells, and what not;
# - build a head that looks $k$ tokens back, without training.
#
# **Time:** {minutes}. **Builds on:** lesson 01, sin and cos. **Doors:** 1, token embeddings.
# **Beyond:** [in practice](closer/02_in_practice.ipynb),
# [word and place](closer/02_word_and_place.ipynb).

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start(doors=["embed"], title="Lesson 02: sinusoidal opens door 1")

# %% [markdown]
# ## Six wishes
#
# Attention is blind to order. So let each position have a *code* (lesson 00's mark): a row of
# numbers, added to the word that stands there. Five ideas, from positions `p` = 0, 1, …, n − 1 to
# their rows:

# %%
import torch

codes = {
    "0, 1, 2, …": lambda p: p[:, None],
    "p / n": lambda p: p[:, None] / len(p),
    "one-hot": lambda p: torch.eye(len(p)),
    "binary": lambda p: p[:, None] // 2 ** torch.arange(9) % 2,
    "one sine": lambda p: p[:, None].sin(),
}

# %% [markdown]
# Six wishes, with yardsticks:
#
# 1. **Small numbers.** None is above 2.
# 2. **Fixed width.** At most 128 numbers, the same in short texts and long ones.
# 3. **Told apart.** Add a word, apply LayerNorm (mean off, all equally long):
#    any two of 512 positions stay 0.1 apart.
# 4. **Distance alone.** The dot product of two codes depends on their distance, not on the place
#    (to 1 % of the largest).
# 5. **Nearer is more alike.** From distance 0 to 1, to 8 and to 64 the mean dot product falls, each
#    time by 1 % of that at 0.
# 6. **A shift is one matrix.** It leads from the code of $p$ to that of $p + k$, for every $p$ (to
#    1 % of the step).

# %%
from course_lab import widgets

guess = widgets.predict("Which of the five grants the most wishes?", list(codes))

# %%
from course_lab.scoreboards import WISHES, draw_scoreboard, granted, scoreboard, scoreboard_text
from course_utils import plots

board = scoreboard(codes | {"no code": lambda p: torch.zeros(len(p), 1)})
wishes = granted(board)
guess.reveal(max(codes, key=wishes.get))

# %% tags=["plumbing"]
# The board
fig = draw_scoreboard(board, WISHES, "Five codes and none, six wishes")
plots.show(fig, scoreboard_text(board))

# %% [markdown]
# **Look:** one-hot does best. Yet it needs a column for each position, and all its positions are
# equally unlike. Plain numbers grow, and LayerNorm squeezes late neighbours together. In $p/n$ the
# code of place 5 changes with the length. And *no code*, just zeros, grants as many wishes as
# one-hot! But it fails 3 and 5, which are what a code is *for*.
#
# ## Your turn
#
# Can you do better? Change `mine` and run the cell. Its two sines grant three wishes. What could a
# third and a fourth column bring?


# %%
def mine(p):
    columns = [p.sin(), (p / 50).sin()]
    return torch.stack(columns, dim=1)


my_board = scoreboard({"mine": mine})
fig = draw_scoreboard(my_board, WISHES, "My code, six wishes")
plots.show(fig, scoreboard_text(my_board))

# %% [markdown]
# ## A clock hand
#
# By wish 6 each step is the same matrix. By wish 4 this matrix leaves all dot products as they are,
# and so all lengths. A *turn* does that.
#
# So take a clock hand that turns by $\theta$ radians a step. Its tip has two coordinates,
# $\sin p\theta$ and $\cos p\theta$. Both are needed. *One sine* fails wish 6: it leaves open
# whether the hand is rising or falling, so no matrix leads from it to the next sine.
#
# At 1 radian a step, is the hand ever back exactly where it started?

# %%
import math

for p in (6, 44, 710):
    gap = 2 * abs(math.sin(p / 2))  # from the tip to where it started
    print(f"after {p:3} steps: {p / (2 * math.pi):9.5f} turns, {gap:.5f} from its start")

# %% [markdown]
# **Look:** 710 steps are almost 113 turns, but never exactly: if $p$ steps were $n$ turns, $\pi$
# would be the fraction $p / 2n$, and it is irrational. So no two positions share a code. Nearly the
# same is bad enough, though: noise would hide the difference.
#
# ## A seventh wish
#
# Where the first hand is nearly back, a second, slower one has mostly moved on. Do two grant the
# wishes?


# %%
def two_hands(p):
    return torch.stack([p.sin(), p.cos(), (p / 50).sin(), (p / 50).cos()], dim=1)


print("two hands grant", granted(scoreboard({"two": two_hands}))["two"], "of six wishes")
rows = two_hands(torch.arange(315.0))
for k in (1, 6, 314):
    print(f"{k:3} positions apart: cosine similarity {rows[k] @ rows[0] / 2:.2f}")

# %% [markdown]
# They do. But wish 5 looked at three distances: 6 apart, two are more alike than neighbours. So:
#
# 7. **How far.** If two vectors 300 positions apart are no farther from each other than two 100
#    apart, the code is *out by 3* at least. Up to 10,000 it may be out by 100.
#
# A fast hand tells neighbours apart, a slow one chapters. So take hands between: from 1
# radian a step down to nearly 1/10,000, each slower than the last by the same factor.
#
# ## The formula
#
# With width $D$ and base $b$, hand $m$ turns by $\theta_m$ radians a step. Its tip fills one *pair*
# of columns:
#
# $$\theta_m = b^{-2m/D}, \qquad
# PE_{p,\,2m} = \sin(p\,\theta_m), \qquad PE_{p,\,2m+1} = \cos(p\,\theta_m).$$
#
# $m$ runs from 0 to $D/2 - 1$. Vaswani et al. (2017) take $b = 10000$.


# %%
def sinusoidal_from_scratch(p, d_model, base=10000.0):
    m = torch.arange(d_model // 2, dtype=torch.float64)  # (hands,)
    angles = p[:, None] * base ** (-2 * m / d_model)  # (n, hands), in radians
    table = torch.empty(len(p), d_model, dtype=torch.float64)
    table[:, 0::2] = angles.sin()  # even columns
    table[:, 1::2] = angles.cos()  # odd columns
    return table


# %%
from course_utils.encodings.functional import sinusoidal_table

p = torch.arange(100, dtype=torch.float64)
assert torch.allclose(sinusoidal_from_scratch(p, 128), sinusoidal_table(p, 128))

# %% [markdown]
# Here are 32 hands. At 0 and 44 the tips of hand 0 are nearly in one place: it confuses the two.
# Hand 1 does not. Find two positions that *both* confuse, to within 0.1. Then set the base to 10:
# how many positions is one turn of the last hand now?

# %%
from course_lab import explorers

explorers.frequencies(first=0, second=44, pair=1)

# %% [markdown]
# <details><summary>Answers</summary>
#
# 0 and 176, for one: four times 44. Hand 2 tells these apart. At base 10 it is 58 positions.
#
# </details>
#
# Back to the board, with 64 *even* speeds too: 1/64, 2/64, …, 1. Every code here grants wishes 1,
# 2, 4 and 6. Here are the others. (For wish 5 it has the mean dot products at distances 1, 8 and
# 64, as shares of that at 0.)

# %% tags=["plumbing"]
# Clock hands on the board
from course_lab.measures import confused_ratio
from course_lab.scoreboards import Score


def at_speeds(speeds):
    """A code of one hand for each speed, in radians a step."""

    def code(p):
        angles = p[:, None] * speeds
        return torch.cat([angles.sin(), angles.cos()], dim=1)

    return code


hands = {
    "1 hand: 1": at_speeds(torch.tensor([1.0])),
    "1 hand: 1/10,000": at_speeds(torch.tensor([1e-4])),
    "2 hands: 1, 1/50": at_speeds(torch.tensor([1.0, 0.02])),
    "64 even": at_speeds(torch.arange(1, 65) / 64),
}
for n in (32, 64):
    hands[f"{n} by factors"] = lambda p, n=n: sinusoidal_from_scratch(p, 2 * n)
hands["64, base 10"] = lambda p: sinusoidal_from_scratch(p, 128, base=10.0)
board = scoreboard(hands)
by_all = ["small numbers", "fixed width", "distance alone", "a shift is one matrix"]
assert all(scores[wish].granted for scores in board.values() for wish in by_all)
distances = torch.arange(10_000, dtype=torch.float64)
for name, code in hands.items():
    rows = code(distances)
    out_by = confused_ratio((rows @ rows[0])[1:])  # by wish 4, row 0 may stand for any
    board[name] = {wish: score for wish, score in board[name].items() if wish not in by_all}
    board[name]["how far"] = Score(out_by <= 100, f"out by {out_by:,.0f}")
columns = {wish: WISHES.get(wish, "out by ≤ 100") for wish in board[name]}
fig = draw_scoreboard(board, columns, "Clock hands, the three other wishes")
plots.show(fig, scoreboard_text(board))

# %% [markdown]
# **Look:** a fast hand loses count of its turns; a slow one says how far, but hardly tells
# neighbours apart. Even speeds are multiples of the slowest: once it has made a turn, all are
# nearly back. Equal factors reach from fast to slow: 32 such hands grant all seven wishes, and 64,
# our 128 numbers, are out by about 19. The base sets the slow end: at base 10 no hand is slow.
#
# ## How far, but which way?
#
# Why does the dot product depend on the distance *alone*? Take two rows, hand by hand:
#
# $$PE_p \cdot PE_r = \sum_m \sin p\theta_m \sin r\theta_m + \cos p\theta_m \cos r\theta_m
# = \sum_m \cos\big((p - r)\,\theta_m\big).$$
#
# Only $p - r$ is left.

# %% tags=["plumbing"]
# The dot product by distance, and the distances with a dot product
import matplotlib.pyplot as plt

offsets = torch.arange(-100, 101)
product = sinusoidal_table(offsets, 128) @ sinusoidal_table(torch.tensor([0]), 128)[0]
by_distance = sinusoidal_table(distances, 128)
by_distance = by_distance @ by_distance[0]


def look_alikes(k):
    """The nearest and the farthest distance whose dot product is that of distance k."""
    nearest = (by_distance <= by_distance[k]).nonzero()[0].item()
    return nearest, (by_distance >= by_distance[k]).nonzero()[-1].item()


fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.7), sharey=True)
axes[0].plot(offsets, product)
axes[0].set(
    title="Both sides look the same",
    xlabel="p − r",
    ylabel="dot product",
    ylim=(min(0, by_distance.min()) - 1, 68),
)
axes[1].plot(distances[1:], by_distance[1:], linewidth=0.8)
axes[1].set(title="Far distances share their products", xlabel="distance", xscale="log")
axes[1].xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
alike = [(k, *look_alikes(k)) for k in (10, 30, 110, 468)]
for k, first, last in alike[::2]:
    axes[1].plot([first, last], [by_distance[k]] * 2, "o-", color="C1", linewidth=3, markersize=5)
    same = f"{first} to {last}" if first < last else "only here"
    label = {"xytext": (8, 3), "textcoords": "offset points", "fontsize": 9.5}
    axes[1].annotate(f"product {by_distance[k]:.0f}: {same}", (last, by_distance[k]), **label)
plots.show(
    fig,
    "Left: the dot product by p − r, the same to both sides: "
    f"{product[100]:.0f} at 0, {product[101]:.1f} at 1, {product[103]:.1f} at 3, "
    f"{product[200]:.1f} at 100, with ripples. Right: the same up to distance 10,000, on a "
    "logarithmic axis: the ripples grow and the curve falls to around 0. The height at "
    "distance 10 comes there only; that at 110 comes many times, from "
    f"{alike[2][1]} to {alike[2][2]:,}.",
)
print(f"the dot product is {by_distance[11]:.2f} at distance 11, {by_distance[12]:.2f} at 12")
for k, first, last in alike:
    print(f"distance {k}: up to 10,000, such a dot product means a distance of {first} to {last:,}")

# %% [markdown]
# **Look:** the dot product says *how far*: to a few steps up to some 30 positions, then
# vaguely. (The last line is the board's 19.) *Which way* it does not say: $\cos(-x) = \cos x$.
#
# ## A head that looks back
#
# How could a head ask for "the word 3 back"? By wish 6 a matrix can move each key 3 steps on. You
# choose both matrices of a head.
#
# **Exercise 1 ★★ Look back.** Write `looking_back(k, gain, d_model)`: tensors $W_q$ and $W_k$, each
# (d_model, d_model), so that query $i$ scores highest at key $i - k$:
#
# $$\frac{W_q PE_i \cdot W_k PE_j}{\sqrt D}
# = \frac{\text{gain}}{\sqrt D} \sum_m \cos\big((i - j - k)\,\theta_m\big).$$
#
# The head itself divides by $\sqrt D$; the base is 10000. First write out $\sin(a + b)$ and
# $\cos(a + b)$: which 2 × 2 block leads from $(\sin p\theta, \cos p\theta)$ to the same hand at
# $p + k$, whatever $p$? `torch.block_diag(*blocks)` puts blocks along a diagonal.


# %% tags=["stub"]
def looking_back(k, gain, d_model):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def looking_back(k, gain, d_model):
    blocks = []
    for m in range(d_model // 2):
        angle = torch.tensor(k * 10000.0 ** (-2 * m / d_model))
        sin, cos = angle.sin(), angle.cos()
        blocks.append(torch.stack([cos, sin, -sin, cos]).view(2, 2))
    return gain * torch.eye(d_model), torch.block_diag(*blocks)  # the keys move k ahead


# %%
from course_lab.checks.lesson02 import check_looking_back, check_tell_time

check_looking_back(looking_back)

# %% [markdown]
# We write such matrices into an attention module. The larger the gain, the sharper the softmax. The
# tokens are empty, so only positions speak.

# %%
from course_utils.attention import MultiHeadAttention
from course_utils.encodings import create

encoding = create("sinusoidal", d_model=128, n_heads=1)
head = MultiHeadAttention(128, 1, encoding, causal=True).requires_grad_(False)
is_right = check_looking_back.verdict(looking_back).kind == "right"
W_q, W_k = (looking_back if is_right else check_looking_back.reference)(3, 10, 128)
head.W_q.weight.copy_(W_q)
head.W_k.weight.copy_(W_k)
weights = head(torch.zeros(1, 48, 128), need_weights=True)[1][0, 0]  # (query, key)
print("W_q and W_k of", "your answer" if is_right else "the course")
print(f"weight of the last query, 3 back: {weights[47, 44]:.2f}, 2 back: {weights[47, 45]:.2f}")
print("largest weight exactly 3 back:", all(weights[3:].argmax(1) == torch.arange(45)))

# %% [markdown]
# **Look:** nothing was trained. Try a gain of 20. And at $k$ = 16, where does query 14 look, which
# has no key 16 back?

# %%
explorers.previous_token(k=3)

# %% [markdown]
# **Look:** the left panel is a corner of $W_k$, a turn by $k\theta$ for each hand. A query without
# a key $k$ back still has weights that sum to 1. At gain 10 query 14 spends nearly all on key 0.
#
# Words in the tokens disturb this head: at $k$ = 3 random words half as long as a position's row
# take most of its weight ([closer look](closer/02_word_and_place.ipynb)). Trained models have
# *previous-token heads* too (Olsson et al. 2022).
#
# ## The answer in one picture
#
# What do many hands buy, then? Try four, with speeds 1, 1/10, 1/100 and 1/1,000.

# %%
guess = widgets.predict(
    "With these four, which two of 10,000 positions have the closest vectors?",
    ["two neighbours", "two far apart, where all hands meet again"],
)

# %%
gaps = {}
for n in (4, 6, 64):
    rows = sinusoidal_from_scratch(distances, 2 * n)
    gaps[n] = (rows[1:] - rows[0]).norm(dim=1) / n**0.5  # row 0 may stand for any
    closest = gaps[n].argmin() + 1
    print(f"hands {n:2}: the closest two are {closest:4} apart, at {gaps[n].min():.4f}")

# %% tags=["plumbing", "picture"]
# The answer: how far two vectors are, by the distance of their positions
import itertools

far = "two far apart, where all hands meet again"
guess.reveal("two neighbours" if gaps[4].argmin() == 0 else far)
edges = torch.logspace(2, 4, 61).round().long().tolist()
fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.3), sharey=True)
for ax, n in zip(axes, gaps, strict=True):
    gap = gaps[n]
    groups = [gap[low - 1 : high - 1] for low, high in itertools.pairwise(edges)]
    lows, highs = [group.min() for group in groups], [group.max() for group in groups]
    ax.plot(distances[1:101], gap[:100])
    ax.stairs(highs, edges, baseline=lows, fill=True, color=ax.lines[0].get_color(), alpha=0.5)
    ax.axhline(gap[0], color="0.5", linewidth=1, linestyle="--")
    ax.set(xscale="log", title=f"{n} hands", ylim=(0, 2.05))
    ax.set_xlabel("positions apart")
    label = {"textcoords": "offset points", "fontsize": 9}
    label["bbox"] = {"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 1}
    if n > 4:  # the first panel has no room
        ax.annotate("neighbours", (10_000, gap[0]), xytext=(0, -12), ha="right", **label)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    closest = int(gap.argmin()) + 1
    if closest > 1:
        lowest = (closest, gap.min())
        ax.plot(*lowest, "o", color="black", markersize=4, clip_on=False)
        ax.annotate(f"{closest:,}", lowest, xytext=(-5, 4), ha="right", **label)
axes[0].set_ylabel("distance of vectors\n(1 = their length)")
gap = gaps[64]
plots.show(
    fig,
    "Three panels, distance of two vectors against distance of their positions, on a logarithmic "
    "axis from 1 to 10,000; beyond 100 as a band. A dashed line at the distance of neighbours. "
    "Four hands: it wavers, and falls to a tenth at 6,283. Six hands: it wavers, above the dashed "
    "line. 64 hands: it climbs, "
    + ", ".join(f"{gap[d - 1]:.2f} at {d:,}" for d in (1, 10, 100, 1000, 9999))
    + ", and never comes back below its first value.",
)

# %% [markdown]
# **Look:** four hands meet again after 6,283 steps. With six the curve never returns to the dashed
# line of neighbours, 0.40 apart: 12 numbers *name* each of 10,000 positions. With 64 it also
# climbs: they say *how far*, if roughly.

# %% [markdown]
# ## Exercises
#
# **Exercise 2 ★★★ Tell the time.** Each number of a row of the table is off by up to 0.1. Write
# `tell_time(vector, base)`: its position, an int below half the base. So the slowest hand is in its
# first half turn; each takes less than six times as long for a turn as the one before. Do not
# search: the base may be a million. (`torch.atan2(sine, cosine)` is an angle from $-\pi$ to
# $\pi$.)


# %% tags=["stub"]
def tell_time(vector, base):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def tell_time(vector, base):
    angles = torch.atan2(vector[0::2], vector[1::2]).tolist()
    rough = 0.0
    for m in reversed(range(len(angles))):  # from the slowest hand to the fastest
        theta = base ** (-2 * m / len(vector))
        turns = round((rough * theta - angles[m]) / (2 * torch.pi))
        rough = (angles[m] + 2 * torch.pi * turns) / theta
    return round(rough)


# %%
check_tell_time(tell_time)

# %% [markdown]
# ## Myth check
#
# Guess first. In brackets: what the claim speaks of, and its yardstick.

# %% tags=["plumbing"]
# A claim
from course_lab.claims import Claim, Myths

myths = Myths(
    {
        "C19": Claim(
            "The base only matters for long contexts.",
            scope="base 100, 1,000 and 1,000,000 against 10,000, D = 128; matters: it changes the "
            "cosine similarity of positions at most 16 apart by more than 0.05",
            evidence="exact",
        ),
    }
)

# %% tags=["plumbing"]
# Its verdict
from course_utils.encodings.functional import sinusoidal_frequencies

near_distances = torch.arange(1, 17)[:, None]


def largest_change(base):
    """How much a base changes the cosine similarity of near positions, against base 10,000."""
    new, usual = (
        (near_distances * sinusoidal_frequencies(128, b)).cos().mean(1) for b in (base, 10_000.0)
    )
    return (new - usual).abs().max().item()


changes = {base: largest_change(base) for base in (100.0, 1_000.0, 1_000_000.0)}
near = max(largest_change(base) for base in (5_000.0, 20_000.0))
myths.settle(
    "C19",
    {f"base {base:,.0f}": change <= 0.05 for base, change in changes.items()},
    "Three bases were tried. Against base 10,000 the largest changes are "
    + ", ".join(f"{change:.2f} at base {base:,.0f}" for base, change in changes.items())
    + f". At base 5,000 and 20,000, which are nearer, the change is at most {near:.2f}.",
)

# %% [markdown]
# ## In five lines
#
# - Each pair of columns is a clock hand; speeds fall from 1 radian a step by equal factors.
# - With 6 such hands or 64, no two of 10,000 positions are closer than neighbours.
# - With 64, dot products tell the distance: well up to some 30, then vaguely.
# - A shift is one matrix, so two matrices make a head that looks back, if words are short vectors.
# - Closer looks: [in practice](closer/02_in_practice.ipynb),
#   [among words, in a real encoder](closer/02_word_and_place.ipynb).
#
# **Read next:** Vaswani et al. 2017, *Attention Is All You Need*, arXiv 1706.03762, section 3.5
# (wish 6); Olsson et al. 2022, *In-context Learning and Induction Heads*, arXiv 2209.11895.
#
# **Next:** what would a model choose? [Lesson 03](03_learned.ipynb).
