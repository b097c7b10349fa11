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
# - invent the sinusoidal encoding, and write its formula from memory;
# - say why no two positions share a vector, and what the dot product of two tells;
# - build a head that looks $k$ tokens back, without training.
#
# **Time:** {minutes}. **Builds on:** lesson 01, sin and cos. **Doors:** 1, token embeddings.

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start(doors=["embed"], title="Lesson 02: sinusoidal opens door 1")

# %% [markdown]
# ## Six wishes
#
# Attention is blind to order. So let each position have a *code*, a row of numbers that we add to
# the word there. Here are five ideas. Each gets the positions `p` = 0, 1, …, n − 1 of a text and
# returns one row for each.

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
# 1. **Small numbers.** None above 2, or it drowns the word.
# 2. **Fixed width.** At most 128 numbers, the same in short texts and long ones.
# 3. **Told apart.** Add a word, apply LayerNorm: the closest two of 512 positions stay 0.1 apart.
# 4. **Distance alone.** The dot product of two codes depends on their distance, not on the place
#    (to 1 % of the largest).
# 5. **Nearer is more alike.** The mean dot product falls, by 1 % or more, at distance 1, 8, 64.
# 6. **A shift is one matrix.** It leads from the code of $p$ to that of $p + k$, for every $p$ (to
#    1 % of the step). Learn "three later" once.

# %%
from course_lab import widgets

guess = widgets.predict("Which of the five grants the most wishes?", list(codes))

# %%
from course_lab.scoreboards import WISHES, draw_scoreboard, granted, scoreboard, scoreboard_text
from course_utils import plots

board = scoreboard(codes)
wishes = granted(board)
guess.reveal(max(wishes, key=wishes.get))

# %% tags=["plumbing"]
# The board
fig = draw_scoreboard(board, WISHES, "Five codes, six wishes")
plots.show(fig, scoreboard_text(board))

# %% [markdown]
# **Look:** each row fails somewhere. Plain numbers grow, and LayerNorm squeezes late neighbours
# together. In $p/n$ the code of place 5 changes with the length of the text. One-hot does best, but
# needs a column for each position, and to it 1 step is as far as 64. Binary 7 and 8, 0111 and 1000,
# are neighbours and have no 1 in common.
#
# ## Your turn
#
# Can you do better? Change `mine` and run the cell, as often as you like. (`torch.stack([a, b], 1)`
# makes two columns.) At first it is a number that dies away, and level with one-hot. Can you get
# five?


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
# vector, shear it, shrink it, or turn it. What is stretched or sheared goes on growing. What is
# shrunk, as above, is soon forgotten. Only a turn goes on for ever at one size.
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
# would be the fraction $p / 2n$, and $\pi$ is irrational. By the formula, then, no two positions
# ever share a code. Nearly the same is bad enough, though: noise would hide the difference.
#
# The repair: a second, slower hand. Where the first is back at its start, the second has moved on.
# And a third, slower still, and so on.
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
    m = torch.arange(d_model // 2, dtype=torch.float64)  # (pairs,)
    angles = p[:, None] * base ** (-2 * m / d_model)  # (n, pairs), in radians
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

board = scoreboard(
    {
        "1 hand": lambda p: sinusoidal_from_scratch(p, 2),
        "3 hands": lambda p: sinusoidal_from_scratch(p, 6),
        "4 hands": lambda p: sinusoidal_from_scratch(p, 8),
        "64 hands": lambda p: sinusoidal_from_scratch(p, 128),
    }
)

# %% tags=["plumbing"]
# The board once more
fig = draw_scoreboard(board, WISHES, "Clock hands, six wishes")
plots.show(fig, scoreboard_text(board))

# %% [markdown]
# **Look:** 64 hands grant all six wishes, and so do three. Four miss one by bad luck: 64 steps are
# nearly a turn of hand 1. Why 64 hands, then? The end of the lesson asks for more than the wishes.
#
# Now play with the hands at two positions. Hand 0 and a hand of your choice are drawn.
#
# 1. Find two positions that hand 0 confuses (tips at most 0.05 apart) and hand 3 does not.
# 2. How long must a table be for hand 12 to finish a turn? And at half the width?
# 3. Set the base to 10. What becomes of the slow hands, and which wish will that cost?

# %%
from course_lab import explorers

explorers.frequencies()

# %% tags=["plumbing"]
# Three answers
from course_utils.encodings.functional import wavelengths

for k in (44, 710):
    start, later = sinusoidal_from_scratch(torch.tensor([0, k]), 64).view(2, 32, 2)
    tips = (later - start).norm(dim=1)  # (32,), one distance a hand
    print(f"{k:3} apart: tips of hand 0 {tips[0]:.2f}, of hand 3 {tips[3]:.2f}")
for width in (64, 32):
    print(f"width {width}: hand 12 takes {wavelengths(width)[12]:,.0f} positions for a turn")
fast = scoreboard({"64 hands, base 10": lambda p: sinusoidal_from_scratch(p, 128, base=10.0)})
print(scoreboard_text(fast))

# %% [markdown]
# **Look:** any two positions 44 apart will do, or 710. A narrow table has fewer hands for the same
# speeds, so each is slower. At base 10 no hand is slow, and 8 apart is no more alike than 64 apart:
# slow hands are for what is far.
#
# And all 64 hands of a table 128 wide:

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
    title="The sinusoidal encoding, 100 positions, 128 dimensions",
    fine=sinusoidal_table(torch.arange(1000) / 10, 128),
)
plots.show(
    fig,
    "Four panels. The table, sines left and cosines right: fast stripes at the left of each half, "
    "almost constant columns at the right. Waves of dimensions 0, 20 and 60, with dots at whole "
    "positions: from many turns to less than half a turn. Sines of positions 0, 10 and 50: they "
    "differ for the first pairs and agree for the last. Wavelengths: a straight line on a "
    f"logarithmic axis from {turns[0]:.1f} to {turns[-1]:,.0f} positions. {unfinished} of 64 hands "
    f"do not finish a turn, and {nearly_constant} of 128 columns change by less than 0.1.",
)
print(f"In 100 positions {unfinished} of 64 hands do not finish a turn. {in_first_half} do not")
print(f"finish half a turn, and {hardly_moving} move by less than 0.1 radians.")

# %% [markdown]
# **Look:** fast hands tell neighbours apart, slow hands tell chapters apart. A hand in its first
# half turn is of use in a short text too: it always says which of two positions comes later. A
# larger base makes all but hand 0 slower.
#
# ## How far, but which way?
#
# The dot product of two rows, pair by pair:
#
# $$PE_p \cdot PE_r = \sum_m \sin p\theta_m \sin r\theta_m + \cos p\theta_m \cos r\theta_m
# = \sum_m \cos\big((p - r)\,\theta_m\big).$$
#
# Only $p - r$ is left. That is wish 4, with proof.

# %% tags=["plumbing"]
# The dot product, as a matrix and by distance
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

# %% [markdown]
# **Look:** it falls fast at first, then slowly and in ripples. And it is the same on both sides,
# for $\cos(-x) = \cos x$. It says *how far*, not *which way*. "The word before me" cannot be asked
# like this.
#
# ## A shift is a rotation
#
# But wish 6 has come true. To step by $k$ is to turn each hand by $k\theta$:
#
# $$\begin{pmatrix} \sin((p+k)\theta) \\ \cos((p+k)\theta) \end{pmatrix} =
# \begin{pmatrix} \cos k\theta & \sin k\theta \\ -\sin k\theta & \cos k\theta \end{pmatrix}
# \begin{pmatrix} \sin p\theta \\ \cos p\theta \end{pmatrix}$$
#
# One such block a hand, and no $p$ in it.

# %%
from course_utils.encodings.functional import shift_matrix

k, p = 3, torch.arange(10_000, dtype=torch.float64)
shift = shift_matrix(k, 128, dtype=torch.float64)  # (128, 128), 64 blocks along the diagonal
error = (sinusoidal_table(p, 128) @ shift.T - sinusoidal_table(p + k, 128)).abs().max()
assert error < 1e-9
print("one matrix shifts each of 10,000 positions by 3; error below 1e-9")

# %% [markdown]
# ## A head that looks back
#
# Now "3 back" can be asked. Move all keys 3 ahead, then compare. With $W_q$ = gain × $I$ and
# $W_k$ = the shift by $k$, query $i$ and key $j$ score
#
# $$\frac{\text{gain}}{\sqrt D}\, PE_i \cdot PE_{j+k}
# = \frac{\text{gain}}{\sqrt D} \sum_m \cos\big((i - j - k)\,\theta_m\big),$$
#
# which is largest at $j = i - k$. We write these two matrices into a real attention module. The
# tokens are empty, so only positions speak.

# %%
from course_utils.attention import MultiHeadAttention
from course_utils.encodings import create

encoding = create("sinusoidal", d_model=128, n_heads=1)
head = MultiHeadAttention(128, 1, encoding, causal=True).requires_grad_(False)


def looking_back(k, gain):
    head.W_q.weight.copy_(gain * torch.eye(128))
    head.W_k.weight.copy_(shift_matrix(k, 128))
    return head(torch.zeros(1, 48, 128), need_weights=True)[1][0, 0]  # (query, key)


weights = looking_back(k=3, gain=10)

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
# **Look:** nothing was trained. Move both sliders. What is a gain of 20 worth? And where do the
# first queries look, who have no key $k$ back?

# %%
explorers.previous_token()

# %% tags=["plumbing"]
# Answers to both questions
far_back, stronger = looking_back(k=16, gain=10), looking_back(k=3, gain=20)
favourites = far_back.argmax(1)
fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.7))
figures.attention(axes[0], far_back, title="attention, k = 16, gain 10", unit="weight")
bars = {"gain 20": stronger[47, 38:], "gain 10": weights[47, 38:]}
for (name, row), width in zip(bars.items(), (0.8, 0.4), strict=True):
    axes[1].bar(range(38, 48), row, width=width, label=name)
axes[1].axhline(1 / 48, color="0.5", linewidth=1)
axes[1].annotate("uniform", (38, 1 / 48), xytext=(0, 4), textcoords="offset points", color="0.35")
axes[1].set(title="the last query, k = 3", xlabel="key", ylabel="weight", ylim=(0, 1))
axes[1].set_xticks(range(38, 48, 3))
axes[1].legend(loc="upper left")
plots.show(
    fig,
    "Left: attention of 48 empty tokens behind a causal mask, k = 16: a line 16 below the "
    f"diagonal. Above it, query 5 has most weight on key {favourites[5]}, query 14 on key "
    f"{favourites[14]}. Right: the last ten weights of the last query at k = 3: a peak at key 44 "
    f"of {peak:.2f} at gain 10 and of {stronger[47, 44]:.2f} at gain 20.",
)
print(f"gain 20: {stronger[47, 44]:.2f} of the weight 3 back")
print(f"k = 16: query 14 favours key {favourites[14]}, query 5 key {favourites[5]}")

# %% [markdown]
# **Look:** gain sharpens the head. A query without a key $k$ back still has weights that sum to 1.
# They go to some early key, and not always to the first.
#
# Trained models have such *previous-token heads*; Olsson et al. (2022) show what they build with
# them. With words in the tokens our head is disturbed, as $W_q = I$ compares the words too. The
# [closer look](closer/02_word_and_place.ipynb) measures that.
#
# ## The answer in one picture
#
# Back to the question. Fast hands come round again every few steps, so might two positions far
# apart get nearly the same 128 numbers?

# %%
guess = widgets.predict(
    "Which two of 10,000 positions have the closest vectors, at D = 128?",
    ["two neighbours", "two far apart, where the fast hands meet again"],
)

# %%
from course_lab.measures import nearest_pair

closest = {width: nearest_pair(sinusoidal_table(p, width)) for width in (2, 8, 128)}
for width, pair in closest.items():
    steps = pair.second - pair.first
    print(f"{width // 2:2} hands: the closest two are {steps:4} apart, at {pair.distance:.4f}")
far = closest[128].second - closest[128].first > 1
guess.reveal("two far apart, where the fast hands meet again" if far else "two neighbours")

# %% tags=["plumbing"]
# How far two vectors are, by the distance of their positions
distances = torch.arange(1, 10_001)
gaps = {}
for width, name in ((2, "1 hand"), (8, "4 hands"), (128, "64 hands")):
    start_row = sinusoidal_table(torch.zeros(1), width)
    gaps[name] = (sinusoidal_table(distances, width) - start_row).norm(dim=1) / (width / 2) ** 0.5
fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.3), sharey=True)
for ax, name in zip(axes, gaps, strict=True):
    gap = gaps[name]
    ax.plot(distances, gap, linewidth=0.8 if name != "64 hands" else 1.8)
    ax.axhline(gap[0], color="0.5", linewidth=1, linestyle="--")
    ax.set(xscale="log", title=name, xlabel="positions apart", ylim=(0, 2.05))
axes[0].set_ylabel("distance of vectors\n(1 = their length)")
axes[2].annotate(
    "neighbours",
    (1e4, gaps["64 hands"][0]),
    xytext=(0, -12),
    ha="right",
    textcoords="offset points",
    color="0.35",
    fontsize=10,
)
gap = gaps["64 hands"]
plots.show(
    fig,
    "Three panels, distance of two vectors against distance of their positions, on a logarithmic "
    "axis from 1 to 10,000. One hand: it jumps between 0 and 2 all along. Four hands: it wavers, "
    "and falls to a tenth at 6283. 64 hands: it climbs, "
    + ", ".join(f"{gap[d - 1]:.2f} at {d:,}" for d in (1, 10, 100, 1000, 10_000))
    + ", and never comes back below its first value.",
)

# %% [markdown]
# **Look:** with one hand the curve tells nothing, and all but touches 0. With 64 it never returns
# to the dashed line, the distance of neighbours: 128 numbers *name* the position. And it climbs,
# with ripples, through four powers of ten: they say *how far*. Slow hands do that.

# %% [markdown]
# ## Exercises
#
# **Exercise 1 ★★ Before or after?** The dot product does not know which way. A score may have any
# matrix between: $PE_p^\top W\, PE_r$. Write `before_after(d_model)`: a (d_model, d_model) tensor
# $W$ for which this score is above 0 whenever key $r$ is earlier than query $p$, and below 0
# whenever it is later, for all positions below 100 and every even width from 64 on.


# %% tags=["stub"]
def before_after(d_model):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def before_after(d_model):
    quarter_turn = torch.tensor([[0.0, 1.0], [-1.0, 0.0]])  # cos becomes sin, which is odd
    return torch.block_diag(*[quarter_turn] * (d_model // 2))


# %%
from course_lab.checks.lesson02 import check_before_after, check_tell_time

check_before_after(before_after)  # stuck? check_before_after.hint(1), then 2 and 3

# %% [markdown]
# **Exercise 2 ★★★ Tell the time.** A row of the table comes over a noisy line: each number is off
# by up to 0.1. Write `tell_time(vector, base)`: which position was it, as an int? The width is the
# length of `vector`. The slowest hand is in its first half turn, but $p$ may be half a million, so
# do not search among the positions. Read the clock.


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
# Guess first. In brackets: what the claim speaks of, and its yardstick. All is computed from the
# formula. The closer look settles nine more.

# %% tags=["plumbing"]
# Three claims
from course_lab.claims import Claim, Myths

myths = Myths(
    {
        "C12": Claim(
            "Dimension 0 has wavelength 1.", scope="in positions a turn", evidence="exact"
        ),
        "C16": Claim(
            "The first row of the table starts 0.8415, 0.5403.",
            scope="the row of position 0",
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

myths.settle("C12", {"D = 128": abs(turns[0].item() - 1) < 0.01}, f"It is {turns[0]:.3f}: 2π.")
first_rows = table[:2, :2]
myths.settle(
    "C16",
    {"row 0": torch.allclose(first_rows[0], torch.tensor([0.8415, 0.5403]), atol=1e-3)},
    "Rows 0 and 1 start " + " and ".join(f"{sin:.4f}, {cos:.4f}" for sin, cos in first_rows) + ".",
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
# - No two positions share a vector; with 64 hands, no two of 10,000 are closer than neighbours.
# - Dot products depend on the distance only, and do not know which way.
# - A shift by $k$ is one rotation, so two matrices make a head that looks $k$ back.
# - Closer looks: [in practice](closer/02_in_practice.ipynb),
#   [among words and in a real encoder](closer/02_word_and_place.ipynb).
#
# **Read next:** Vaswani et al. 2017, *Attention Is All You Need*, arXiv 1706.03762, section 3.5;
# Olsson et al. 2022, *In-context Learning and Induction Heads*, arXiv 2209.11895.
#
# **Next:** [lesson 03](03_learned.ipynb) lets the model choose its own vectors.
