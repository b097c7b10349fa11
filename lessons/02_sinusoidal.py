# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   order_matters:
#     edition: 2
# ---

# %% [markdown]
# # 02 · Sinusoidal
#
# **Question:** how can 128 numbers name any position and also say how far apart two positions
# are?
#
# After this lesson you can
#
# - lead from six wishes to clock hands, and from a seventh to their many speeds;
# - say why no two positions share a vector, and what the dot product of two tells;
# - build a head that looks $k$ tokens back, without training, and read a position from a noisy
#   row.
#
# **Time:** {minutes}. **Builds on:** lesson 01, sin and cos. **Doors:** 1, token embeddings.

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start(doors=["embed"], title="Lesson 02: sinusoidal opens door 1")

# %% [markdown]
# ## Six wishes
#
# Attention is blind to order. So let each position have a *code*, a row of numbers that we add to
# the word there. Five ideas, each from the positions `p` = 0, 1, …, n − 1 of a text to their rows:

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
# Six wishes, each with a yardstick:
#
# 1. **Small numbers.** None above 2, as the numbers of a word.
# 2. **Fixed width.** At most 128 numbers, the same in short texts and long ones.
# 3. **Told apart.** Add a word, apply LayerNorm: the closest two of 512 positions stay 0.1 apart.
# 4. **Distance alone.** The dot product of two codes depends on their distance, not on the place
#    (to 1 % of the largest).
# 5. **Nearer is more alike.** The mean dot product falls, by 1 % or more, at distance 1, 8, 64.
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
# **Look:** each row fails somewhere. Plain numbers grow, and LayerNorm squeezes late neighbours
# together. In $p/n$ the code of place 5 changes with the length. One-hot does best, but needs a
# column for each position, and to it 1 step is as far as 64. Binary 7 and 8, 0111 and 1000, are
# neighbours without a common 1.
#
# And *no code*, just zeros, is level with one-hot! Wishes 3 and 5 are what a code is *for*.
#
# ## Your turn
#
# Can you do better? Change `mine` and run the cell, as often as you like. (`torch.stack([a, b], 1)`
# makes two columns.) At first it is a number that dies away, and grants four. Can you get five?


# %%
def mine(p):
    return (-p[:, None] / 50).exp()


my_board = scoreboard({"mine": mine})
fig = draw_scoreboard(my_board, WISHES, "My code, six wishes")
plots.show(fig, scoreboard_text(my_board))

# %% [markdown]
# ## A clock hand
#
# Wish 6 says a lot: each step is the same matrix. Applied again and again, a matrix can stretch a
# vector, shear it, shrink it, flip it or turn it. What is stretched or sheared goes on growing.
# What is shrunk, as above, is soon forgotten. What is flipped goes to and fro. A turn goes on for
# ever, at one size.
#
# So take a clock hand that turns by $\theta$ radians a step. Its tip has two coordinates,
# $\sin p\theta$ and $\cos p\theta$. Both are needed: a sine alone takes most values twice a turn.

# %%
guess = widgets.predict(
    "A hand turns by 1 radian a step. When does it first stand exactly where it started?",
    ["after 44 steps", "after 710 steps", "never"],
)

# %%
steps = torch.arange(1, 10_001, dtype=torch.float64)
gap = 2 * (steps / 2).sin().abs()  # from the tip to where it started
for p in (6, 44, 710):
    print(f"after {p:3} steps: {p / (2 * torch.pi):9.5f} turns, {gap[p - 1]:.5f} from its start")
guess.reveal("never" if gap.min() > 0 else f"after {gap.argmin() + 1} steps")

# %% [markdown]
# **Look:** 710 steps are almost 113 turns. But if $p$ steps were ever exactly $n$ turns, $\pi$
# would be the fraction $p / 2n$, and $\pi$ is irrational. So no two positions ever share a code.
# Nearly the same is bad enough, though: noise would hide the difference.
#
# The repair: a second, slower hand, which has moved on where the first is back at its start. And a
# third, and so on.
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


# %% [markdown]
# | formula | code | shape |
# |---|---|---|
# | $p$ | `p[:, None]` | (n, 1) |
# | $m$ | `m` | (D/2,) |
# | $\theta_m = b^{-2m/D}$ | `base ** (-2 * m / d_model)` | (D/2,) |
# | $p\,\theta_m$ | `angles` | (n, D/2) |
# | $PE_{p,\,2m}$ | `table[:, 0::2]` | (n, D/2) |
# | $PE_{p,\,2m+1}$ | `table[:, 1::2]` | (n, D/2) |

# %%
from course_utils.encodings.functional import sinusoidal_table

p = torch.arange(100, dtype=torch.float64)
assert torch.allclose(sinusoidal_from_scratch(p, 128), sinusoidal_table(p, 128))


def with_hands(n):
    return lambda p: sinusoidal_from_scratch(p, 2 * n)


def at_even_speeds(p):  # 64 hands: 1/64, 2/64, … 1 radian a step
    angles = p[:, None] * torch.arange(1, 65) / 64
    return torch.cat([angles.sin(), angles.cos()], dim=1)


hands = {f"hands: {n}": with_hands(n) for n in (1, 2, 3, 4, 8, 64)}
board = scoreboard(hands | {"64, even speeds": at_even_speeds})

# %% tags=["plumbing"]
# The board once more
from course_utils.encodings.functional import wavelengths

fig = draw_scoreboard(board, WISHES, "Clock hands, six wishes")
plots.show(fig, scoreboard_text(board))
numbers = {str(n): with_hands(n) for n in range(1, 65)}
unlucky = [n for n, wishes in granted(scoreboard(numbers)).items() if wishes < 6]
print("Of all numbers of hands from 1 to 64 these fail a wish:", ", ".join(unlucky))
for n, hand in ((4, 1), (8, 2)):
    print(f"{n} hands: hand {hand} takes {wavelengths(2 * n)[hand]:.1f} steps for a turn")

# %% [markdown]
# **Look:** nearly any number of hands grants all six. Four and eight miss one by bad luck: at 64
# steps one of their hands is nearly back. Even speeds do as well as equal factors! So why factors?
# Wish 5 looks at three distances only. The end of the lesson adds a seventh wish: *all*.
#
# Now play:
#
# 1. Find two positions that hand 0 confuses (tips at most 0.05 apart) and hand 3 does not.
# 2. How long must a table be for hand 12 to finish a turn? And at half the width?
# 3. Set the base to 10. What becomes of the slow hands, and which wish will that cost?

# %%
from course_lab import explorers

explorers.frequencies()

# %% tags=["plumbing"]
# Three answers
for k in (44, 710):
    start, later = sinusoidal_from_scratch(torch.tensor([0, k]), 64).view(2, 32, 2)
    tips = (later - start).norm(dim=1)  # (32,), one distance a hand
    print(f"{k:3} apart: tips of hand 0 {tips[0]:.2f}, of hand 3 {tips[3]:.2f}")
for width in (64, 32):
    print(f"width {width}: hand 12 takes {wavelengths(width)[12]:,.0f} positions for a turn")
fast = scoreboard({"base 10": lambda p: sinusoidal_from_scratch(p, 128, 10.0)})
alike = fast["base 10"]["nearer is more alike"].shown
print(f"64 hands, base 10: {granted(fast)['base 10']} wishes; at 1, 8, 64: {alike} alike")

# %% [markdown]
# **Look:** any two positions 44 apart will do, or 710. A narrow table has fewer hands for the same
# speeds. At base 10 no hand is slow, and 8 apart is no more alike than 64 apart.
#
# All 64 hands of a table 128 wide (first picture: sines left, cosines right):

# %% tags=["plumbing"]
# Four pictures of the table
from course_lab import figures

table, turns = sinusoidal_table(torch.arange(100), 128), wavelengths(128)
unfinished = int((turns > 100).sum())
nearly_constant = int((table.amax(0) - table.amin(0) < 0.1).sum())
in_first_half = int((turns > 2 * 99).sum())
hardly_moving = int((2 * torch.pi * 99 / turns < 0.1).sum())
fig = figures.four_panel(
    table,
    turns,
    dimensions=(0, 20, 60),
    positions=(0, 10, 50),
    title="The sinusoidal encoding, 100 positions, 128 columns",
    fine=sinusoidal_table(torch.arange(1000) / 10, 128),
)
plots.show(
    fig,
    "Four panels. The table, sines left and cosines right: fast stripes at the left of each half, "
    "almost constant columns at the right. Waves of columns 0, 20 and 60, with dots at whole "
    "positions: from many turns to less than half a turn. Sines of positions 0, 10 and 50: they "
    "differ for the first hands and agree for the last. Wavelengths: a straight line on a "
    f"logarithmic axis from {turns[0]:.1f} to {turns[-1]:,.0f} positions. {unfinished} of 64 hands "
    f"do not finish a turn, and {nearly_constant} of 128 columns change by less than 0.1.",
)
print(f"In 100 positions {unfinished} of 64 hands do not finish a turn. {in_first_half} do not")
print(f"finish half a turn, and {hardly_moving} move by less than 0.1 radians.")

# %% [markdown]
# **Look:** fast hands tell neighbours apart, slow hands tell chapters apart. And a hand in its
# first half turn says which of two positions comes later. A larger base makes all but hand 0
# slower.
#
# ## How far, but which way?
#
# The dot product of two rows, hand by hand:
#
# $$PE_p \cdot PE_r = \sum_m \sin p\theta_m \sin r\theta_m + \cos p\theta_m \cos r\theta_m
# = \sum_m \cos\big((p - r)\,\theta_m\big).$$
#
# Only $p - r$ is left: wish 4, with proof.

# %% tags=["plumbing"]
# The dot product, as a matrix and by distance
import itertools

import matplotlib.pyplot as plt

dots = table @ table.T
offsets = torch.arange(-100, 101)
product = sinusoidal_table(offsets, 128) @ sinusoidal_table(torch.tensor([0]), 128)[0]
fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.7))
plots.heatmap(
    axes[0],
    dots,
    title="positions 0 to 99",
    xlabel="position",
    ylabel="position",
    unit="dot product",
    limit=64,
    signed=False,
    equal=True,
)
plots.lines(
    axes[1],
    {"D = 128": product},
    x=offsets,
    title="by distance",
    xlabel="p − r",
    ylabel="dot product",
    legend=False,
)
axes[1].set_ylim(0, 68)
plots.show(
    fig,
    "Left: a matrix with bands along the diagonals, dark on the main one. Right: the dot product "
    f"by p − r, the same to both sides: {product[100]:.0f} at 0, {product[101]:.1f} at 1, "
    f"{product[103]:.1f} at 3, {product[200]:.1f} at 100, with ripples.",
)
by_distance = sinusoidal_table(torch.arange(10_000, dtype=torch.float64), 128)
by_distance = by_distance @ by_distance[0]
for k in (10, 30, 100):
    first = int((by_distance <= by_distance[k]).nonzero()[0])
    last = int((by_distance >= by_distance[k]).nonzero()[-1])
    print(f"distance {k:3}: a product like that means a distance of {first} to {last}")

# %% [markdown]
# **Look:** it falls fast at first, then slowly and in ripples. So it says *how far*: sharply up
# to some 30 positions, roughly beyond. And it is the same on both sides, for
# $\cos(-x) = \cos x$: it does not say *which way*. "The word before me" cannot be asked like this.
#
# ## A shift is a rotation
#
# But wish 6 has come true. To step by $k$ is to turn each hand by $k\theta$:
#
# $$\begin{pmatrix} \sin((p+k)\theta) \\ \cos((p+k)\theta) \end{pmatrix} =
# \begin{pmatrix} \cos k\theta & \sin k\theta \\ -\sin k\theta & \cos k\theta \end{pmatrix}
# \begin{pmatrix} \sin p\theta \\ \cos p\theta \end{pmatrix}$$
#
# One such block a hand, and no $p$ in it: one matrix shifts every position.

# %% tags=["plumbing"]
# One matrix, 10,000 positions
from course_utils.encodings.functional import shift_matrix

p = torch.arange(10_000, dtype=torch.float64)
shifted = sinusoidal_table(p, 128) @ shift_matrix(3, 128, dtype=torch.float64).T
error = (shifted - sinusoidal_table(p + 3, 128)).abs().max().item()
print(f"one matrix shifts {len(p):,} positions by 3; error below 1e-9: {error < 1e-9}")

# %% [markdown]
# ## A head that looks back
#
# Now "3 back" can be asked. A head compares $W_q PE_i$ with $W_k PE_j$, and you choose both
# matrices.
#
# **Exercise 1 ★★ Look back.** Write `looking_back(k, gain, d_model)`: tensors $W_q$ and $W_k$, each
# (d_model, d_model), with which query $i$ and key $j$ score
#
# $$\frac{W_q PE_i \cdot W_k PE_j}{\sqrt D}
# = \frac{\text{gain}}{\sqrt D} \sum_m \cos\big((i - j - k)\,\theta_m\big).$$
#
# That is largest at $j = i - k$. The *gain* multiplies all scores: the larger, the sharper the
# softmax. The head itself divides by $\sqrt D$; the base is 10000. `torch.block_diag(*blocks)`
# puts blocks along a diagonal.


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
# We write such matrices into a real attention module. The tokens are empty, so only positions
# speak.

# %%
from course_utils.attention import MultiHeadAttention
from course_utils.encodings import create

encoding = create("sinusoidal", d_model=128, n_heads=1)
head = MultiHeadAttention(128, 1, encoding, causal=True).requires_grad_(False)


def weights_of_head(k, gain, words=None):
    W_q, W_k = check_looking_back.reference(k, gain, 128)  # or looking_back, once it is right
    head.W_q.weight.copy_(W_q)
    head.W_k.weight.copy_(W_k)
    words = torch.zeros(1, 48, 128) if words is None else words
    return head(words, need_weights=True)[1][0, 0]  # (query, key)


weights = weights_of_head(k=3, gain=10)

# %%
guess = widgets.predict(
    "At gain 10, how much of its weight does the last of 48 queries give to the key 3 back?",
    ["about 1/48, as to any key", "about a quarter", "about three quarters"],
)

# %%
peak = weights[47, 44].item()
print(f"3 back: {peak:.2f}, 2 back: {weights[47, 45]:.2f}, 4 back: {weights[47, 43]:.2f}")
print("largest weight exactly 3 back:", all(weights[3:].argmax(1) == torch.arange(45)))
size = "three quarters" if peak > 0.5 else "a quarter" if peak > 0.1 else "1/48, as to any key"
guess.reveal(f"about {size}")

# %% [markdown]
# **Look:** nothing was trained. What is a gain of 20 worth? And at $k$ = 16, where do queries 5 and
# 14 look, who have no key 16 back?

# %%
explorers.previous_token()

# %% tags=["plumbing"]
# Answers to both questions
far_back, stronger = weights_of_head(k=16, gain=10), weights_of_head(k=3, gain=20)
favourites = far_back.argmax(1)
print(f"gain 20: {stronger[47, 44]:.2f} of the weight 3 back")
print(f"k = 16: query 14 favours key {favourites[14]}, query 5 key {favourites[5]}")
noise = torch.randn(1, 48, 128, generator=torch.Generator().manual_seed(0))
for size in (0.0, 0.1, 1.0):
    of_words = weights_of_head(3, 10, size * noise)
    print(f"random words of size {size}: {of_words.diagonal(-3).mean():.1f} of the weight 3 back")

# %% [markdown]
# **Look:** gain sharpens the head. A query without a key $k$ back still has weights that sum to 1,
# and it favours some early key, not always the first.
#
# Our head compares words too: where they are as large as positions, it is lost. (More in a [closer
# look](closer/02_word_and_place.ipynb).) Trained models do have such *previous-token heads*; Olsson
# et al. (2022) show what they build with them.
#
# ## The answer in one picture
#
# Fast hands come round again every few steps. Might two positions far apart get nearly the same
# 128 numbers?

# %%
guess = widgets.predict(
    "Which two of 10,000 positions have the closest vectors, at D = 128?",
    ["two neighbours", "two far apart, where the fast hands meet again"],
)

# %%
distances = torch.arange(10_000, dtype=torch.float64)
gaps = {}
for n in (1, 2, 3, 4, 8, 64):
    rows = sinusoidal_from_scratch(distances, 2 * n)
    gaps[n] = (rows[1:] - rows[0]).norm(dim=1) / n**0.5  # by wish 4, row 0 may stand for any
    closest = gaps[n].argmin() + 1
    print(f"hands {n:2}: the closest two are {closest:4} apart, at {gaps[n].min():.4f}")
far = "two far apart, where the fast hands meet again"
guess.reveal("two neighbours" if closest == 1 else far)

# %% tags=["plumbing"]
# How far two vectors are, by the distance of their positions
edges = torch.logspace(2, 4, 61).round().long().tolist()
fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.3), sharey=True)
for ax, n in zip(axes, (1, 4, 64), strict=True):
    gap = gaps[n]
    groups = [gap[low - 1 : high - 1] for low, high in itertools.pairwise(edges)]
    lows, highs = [group.min() for group in groups], [group.max() for group in groups]
    ax.plot(distances[1:101], gap[:100])
    ax.stairs(highs, edges, baseline=lows, fill=True, color=ax.lines[0].get_color(), alpha=0.5)
    ax.axhline(gap[0], color="0.5", linewidth=1, linestyle="--")
    ax.set(xscale="log", title=f"{n} hands" if n > 1 else "1 hand", ylim=(0, 2.05))
    ax.set_xlabel("positions apart")
    label = {"textcoords": "offset points", "fontsize": 9}
    ax.annotate("neighbours", (1, gap[0]), xytext=(0, -12), **label)
    label["bbox"] = {"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 1}
    closest = int(gap.argmin()) + 1
    if closest > 1:
        lowest = (closest, gap.min())
        ax.plot(*lowest, "o", color="black", markersize=4, clip_on=False)
        ax.annotate(f"{closest}", lowest, xytext=(-5, 4), ha="right", **label)
axes[0].set_ylabel("distance of vectors\n(1 = their length)")
gap = gaps[64]
plots.show(
    fig,
    "Three panels, distance of two vectors against distance of their positions, on a logarithmic "
    "axis from 1 to 10,000; beyond 100 as a band. A dashed line at the distance of neighbours. One "
    "hand: it jumps between 0 and 2 all along, and all but touches 0 at 710. Four hands: it "
    "wavers, and falls to a tenth at 6283. 64 hands: it climbs, "
    + ", ".join(f"{gap[d - 1]:.2f} at {d:,}" for d in (1, 10, 100, 1000, 9999))
    + ", and never comes back below its first value.",
)

# %% [markdown]
# **Look:** with 64 hands the curve never returns to the dashed line, the distance of neighbours:
# 128 numbers *name* the position. But eight hands do that too. *How far* is the wish that takes
# many:

# %% tags=["plumbing"]
# How well the distance can be told
from course_lab.measures import confused_ratio

fast_rows = sinusoidal_from_scratch(distances, 128, base=10.0)
ratios = {f"hands {n:2}, base 10000": confused_ratio(-gap) for n, gap in gaps.items()}
ratios["hands 64, base    10"] = confused_ratio((fast_rows @ fast_rows[0])[1:])
even_rows = at_even_speeds(distances)
ratios["hands 64, even speeds"] = confused_ratio((even_rows @ even_rows[0])[1:])
for name, ratio in ratios.items():
    print(f"{name}: some distance looks no farther than one {ratio:,.0f} times smaller")

# %% [markdown]
# **Look:** with 64 hands, no distance up to 10,000 looks as near as one 20 times smaller. Many
# hands average the ripples down, and slow ones keep the curve climbing. At base 10 or at even
# speeds, 64 fail. This is what equal factors are for: hands for each scale.

# %% [markdown]
# ## Exercises
#
# **Exercise 2 ★★★ Tell the time.** A row of the table comes over a noisy line: each number is off
# by up to 0.1. Write `tell_time(vector, base)`: its position $p$, an int. It is below half the
# base, so the slowest hand is in its first half turn. But it may be half a million: do not search
# among the positions.


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
# Three claims
from course_lab.claims import Claim, Myths

WIDTHS = (64, 128, 512)
myths = Myths(
    {
        "C16": Claim(
            "The first row of the table starts 0.8415, 0.5403.",
            scope="the row that the first token gets, in code that alternates sines and cosines",
            evidence="exact",
            choice="the number of the first position",
        ),
        "C17": Claim(
            "All encodings have the same length (norm).",
            scope="widths 64–512, positions below 512; equal to 1e-5 of it",
            evidence="exact",
        ),
        "C19": Claim(
            "The base only matters for long contexts.",
            scope="base 1,000 to 100,000, D = 128; matters: it changes the cosine similarity of "
            "positions at most 16 apart by more than 0.05",
            evidence="exact",
        ),
    }
)

# %% tags=["plumbing"]
# The three verdicts
from course_utils.encodings.functional import sinusoidal_frequencies

first_rows = sinusoidal_table(torch.arange(2), 128)[:, :2]
starts = torch.tensor([0.8415, 0.5403])
myths.settle(
    "C16",
    {
        f"counted from {position}": torch.allclose(row, starts, atol=1e-3)
        for position, row in enumerate(first_rows)
    },
    "Rows 0 and 1 start " + " and ".join(f"{sin:.4f}, {cos:.4f}" for sin, cos in first_rows) + ".",
)
lengths = {width: sinusoidal_table(torch.arange(512), width).norm(dim=1) for width in WIDTHS}
uneven = {width: ((n.max() - n.min()) / n.max()).item() for width, n in lengths.items()}
myths.settle(
    "C17",
    {f"D = {width}": spread < 1e-5 for width, spread in uneven.items()},
    "Each hand adds sin² + cos² = 1, so the length is √(D/2): "
    + ", ".join(f"{n.mean():.2f} at D = {width}" for width, n in lengths.items())
    + ".",
)
changes = {}
for base in (1_000.0, 100_000.0):
    for k in (1, 4, 16):
        new = (k * sinusoidal_frequencies(128, base)).cos().mean()
        usual = (k * sinusoidal_frequencies(128, 10_000.0)).cos().mean()
        changes[f"base {base:,.0f}, distance {k}"] = abs(new - usual).item()
myths.settle(
    "C19",
    {case: value <= 0.05 for case, value in changes.items()},
    f"Similarities change by {min(changes.values()):.3f} to {max(changes.values()):.3f}.",
)

# %%
myths.table()

# %% [markdown]
# ## In five lines
#
# - Each pair of columns is a clock hand; speeds fall from 1 radian a step by equal factors.
# - No two positions share a vector. With 64 hands, no two of 10,000 are closer than neighbours.
# - Dot products depend on distance only: at $D$ = 128 sharp up to some 30, rough beyond.
# - A shift is one rotation, so two matrices make a head that looks back, if words are small.
# - Closer looks: [in practice, before or after](closer/02_in_practice.ipynb),
#   [among words, in a real encoder](closer/02_word_and_place.ipynb).
#
# **Read next:** Vaswani et al. 2017, *Attention Is All You Need*, arXiv 1706.03762, section 3.5;
# Olsson et al. 2022, *Induction Heads*, arXiv 2209.11895.
#
# **Next:** [lesson 03](03_learned.ipynb): vectors that are learned.
