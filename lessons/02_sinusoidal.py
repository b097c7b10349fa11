# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # 02 · Sinusoidal
#
# **Question:** how can 128 numbers name any position and also say how far apart two positions
# are?
#
# After this lesson you can
#
# - write the sinusoidal encoding from memory and explain each part of its formula;
# - predict what base and width change, and check it with sliders;
# - show that a shift by $k$ is one matrix, the same at every position;
# - tell which popular sentences about this encoding are true.
#
# **Time:** 43 minutes. **Builds on:** lesson 01, sin and cos. **Doors:** 1, token embeddings.

# %% tags=["nbval-ignore-output"]
from course_utils import start

device = start(seed=0)

# %%
from course_utils import plots
from course_utils.encodings import create

encoding = create("sinusoidal", d_model=128, n_heads=4)
plots.show(
    plots.door_strip(encoding.doors, "Lesson 02: sinusoidal opens door 1"),
    f"The strip of four doors; open: {', '.join(encoding.doors)}.",
)

# %% [markdown]
# ## From a binary counter to clock hands
#
# Lesson 01 left two wishes. The numbers must stay small, and their count must not grow with the
# text. Binary writing grants both, nearly: $p$ below 16 needs four digits, each 0 or 1. The
# last digit flips at every step, the one before it at every second step, and so on.
#
# But digits jump. From 7 (0111) to 8 (1000) all four flip. Let us replace each flipping digit
# by a clock hand that turns smoothly, each hand at half the speed of the one before.

# %%
import matplotlib.pyplot as plt
import torch

from course_utils.encodings.functional import sinusoidal_table

numbers = torch.arange(16)
bits = (numbers[:, None] // torch.tensor([1, 2, 4, 8])) % 2  # (16, 4), last digit first
timed = (numbers + 0.5) * torch.pi  # so that the hands turn as often as the digits flip
hands = -sinusoidal_table(timed, d_model=8, base=16)[:, 0::2]  # the sin of four clock hands
fig, axes = plt.subplots(1, 2, figsize=(8, 4.6), sharey=True)
plots.heatmap(axes[0], 2 * bits - 1.0, title="binary digits", xlabel="digit", ylabel="number")
plots.heatmap(axes[1], hands, title="clock hands (sin)", xlabel="hand", unit="value", limit=1)
for ax in axes:
    ax.set_xticks(range(4))
plots.show(
    fig,
    "Left: the binary digits of 0 to 15 as red (1) and blue (0), the last digit first. Digit 0 "
    "flips at every number, digit 3 after eight. Right: four sine waves that change sign at the "
    "same places. The two slow ones pass through values in between.",
)

# %% [markdown]
# **Look:** each column on the right changes sign where its digit on the left flips. The two fast
# hands still look like digits, because we read them at whole numbers only. Hands 2 and 3 show
# the smooth turn. (Each has half the speed of the one before. In real tables the steps are
# smaller.)
#
# A sine takes each value twice a turn. Sin and cos together fix the angle. So each hand fills two
# columns.

# %% [markdown]
# ## The formula
#
# With width $D$ and base $b$, pair $m$ turns by $\theta_m$ radians at each position:
#
# $$\theta_m = b^{-2m/D}, \qquad
# PE_{p,\,2m} = \sin(p\,\theta_m), \qquad PE_{p,\,2m+1} = \cos(p\,\theta_m).$$
#
# $m$ runs from 0 to $D/2 - 1$. Vaswani et al. (2017) take $b = 10000$. Here it is in code, line
# for line.


# %%
def sinusoidal_from_scratch(length, d_model, base=10000.0):
    p = torch.arange(length, dtype=torch.float64)[:, None]  # (length, 1)
    m = torch.arange(d_model // 2, dtype=torch.float64)  # (pairs,)
    angles = p * base ** (-2 * m / d_model)  # (length, pairs), in radians
    table = torch.empty(length, d_model)
    table[:, 0::2] = angles.sin()  # even columns
    table[:, 1::2] = angles.cos()  # odd columns
    return table


table = sinusoidal_table(torch.arange(100), d_model=128)
assert torch.allclose(sinusoidal_from_scratch(100, 128), table, atol=1e-6)
print("from scratch = reference, shape", tuple(table.shape))
print("position 0 starts", [f"{value:.4f}" for value in table[0, :4].tolist()])
print("position 1 starts", [f"{value:.4f}" for value in table[1, :4].tolist()])

# %% [markdown]
# Position 0 is 0, 1, 0, 1, …: every hand points to its start. If you meet 0.8415, 0.5403 as the
# output "for position 0", somebody started counting at 1.
#
# ## Four pictures of one table

# %%
from course_utils import widgets

guess = widgets.predict(
    "D = 128, base 10000: how many positions does the slowest hand need for one full turn?",
    ["about 10,000", "about 54,000", "about 63,000"],
)

# %%
from course_utils.encodings.functional import wavelengths

turns = wavelengths(d_model=128)  # (64,), positions a turn
print(f"fastest {turns[0]:.2f} positions a turn, slowest {turns[-1]:,.0f}")
options = {10_000: "about 10,000", 54_000: "about 54,000", 63_000: "about 63,000"}
guess.reveal(options[min(options, key=lambda value: abs(value - turns[-1].item()))])

# %% [markdown]
# The base is not the longest wavelength. The slowest pair has the exponent $-2m/D$ with
# $m = D/2 - 1$, a little less than 1, and a full turn is $2\pi$ radians:
# $2\pi \cdot 10000^{126/128}$.

# %% tags=["readme"]
fig = plots.four_panel(
    table,
    turns,
    dimensions=(0, 20, 60),
    positions=(0, 10, 50),
    title="The sinusoidal encoding, 100 positions, 128 dimensions",
)
unfinished = int((turns > 100).sum())
still = int((table.amax(0) - table.amin(0) < 0.1).sum())
plots.show(
    fig,
    "Four panels. The table: fast stripes on the left, slow ones on the right. Waves of "
    "dimensions 0, 20 and 60: from many turns to less than half a turn. Vectors of positions 0, "
    "10 and 50: they differ on the left and agree on the far right. Wavelengths: a line on a "
    f"logarithmic axis from {turns[0]:.1f} to {turns[-1]:,.0f} positions; {unfinished} of 64 pairs "
    "do not finish a turn within the table.",
)
print(f"{still} of 128 columns change by less than 0.1 over the 100 positions")

# %% [markdown]
# **Look:** in the table, the columns on the far right hardly change. Those hands are slow.
# In the fourth panel the wavelengths grow by the same *factor* from pair to pair, so they form a
# line on the logarithmic axis. Dots above the grey line belong to hands that do not finish one
# turn in 100 positions.

# %% [markdown]
# ## Turn the knobs
#
# Four sliders: base, width, length, and the pair to show. Try these.
#
# - Base 10: all hands become fast. Where do the wavelengths end?
# - Width 8: four hands only. (The pair shown is then the last one.)
# - Pair 20 at length 32, then at length 256.

# %%
from course_utils import explorers

explorers.frequencies()

# %% [markdown]
# The same as a still picture, for three bases:

# %%
bases = (10.0, 1_000.0, 1_000_000.0)
fig, axes = plt.subplots(1, 3, figsize=(10, 3.2), sharey=True)
longest = {base: wavelengths(64, base)[-1].item() for base in bases}
for ax, base in zip(axes, bases, strict=True):
    rows = sinusoidal_table(torch.arange(64), 64, base)
    plots.heatmap(ax, rows, title=f"base {base:,.0f}", xlabel="dimension", limit=1)
axes[0].set_ylabel("position")
described = ", ".join(f"{length:,.0f} at base {base:,.0f}" for base, length in longest.items())
plots.show(
    fig,
    "Tables of 64 positions by 64 dimensions at base 10, 1,000 and 1,000,000. The part that "
    f"changes shrinks to the left as the base grows. Longest wavelength: {described}.",
)

# %% [markdown]
# **Look:** a larger base leaves more columns nearly constant. They are idle on short texts, and
# in reserve for long ones.
#
# ## Clock hands, one position at a time
#
# Each circle below is one pair of columns of an encoding that is 32 wide. The slider moves the
# position. Watch how far pair 9
# has come when pair 0 has made ten turns.

# %%
explorers.clocks()

# %%
theta = 2 * torch.pi / wavelengths(32)[list(explorers.CLOCKS)]
fig, axes = plt.subplots(1, 4, figsize=(10, 3.1))
for ax, pair, speed in zip(axes, explorers.CLOCKS, theta.tolist(), strict=True):
    for p, style in ((0, ":"), (5, "--"), (10, "-")):
        angle = torch.tensor(p * speed)
        ax.plot([0, angle.cos()], [0, angle.sin()], style, linewidth=2.5, label=f"position {p}")
    ax.add_patch(plt.Circle((0, 0), 1, fill=False, color="0.7"))
    ax.set(xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), aspect="equal", title=f"pair {pair}", xlabel="cos")
axes[0].set_ylabel("sin")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
made = ", ".join(f"{10 * speed / (2 * torch.pi):.3f}" for speed in theta.tolist())
plots.show(
    fig,
    "Four circles with the hands of pairs 0, 3, 6 and 9 at positions 0, 5 and 10. Turns made by "
    f"position 10: {made}.",
)

# %% [markdown]
# **Look:** pair 0 is more than once round at position 10. Pair 9 has hardly left its start. Fast
# hands tell neighbours apart, slow hands tell chapters apart.

# %% [markdown]
# ## How alike are two positions?
#
# All rows have the same length: each pair adds $\sin^2 + \cos^2 = 1$, so the norm is
# $\sqrt{D/2}$. And the dot product of two rows is
#
# $$PE_p \cdot PE_r = \sum_m \sin p\theta_m \sin r\theta_m + \cos p\theta_m \cos r\theta_m
# = \sum_m \cos\big((p - r)\,\theta_m\big).$$
#
# Only the difference $p - r$ is left. So the similarity matrix must have equal values along
# each diagonal. Such a matrix is called *Toeplitz*.

# %%
guess = widgets.predict(
    "As two positions move apart, up to 511 steps at D = 128, their cosine similarity … "
    "(on average: over the second half of the distances against the first)",
    ["falls at every step", "falls on average, with ripples", "stays about the same"],
)

# %%
from course_utils import measures

rows = sinusoidal_table(torch.arange(512), 128)
norms = rows.norm(dim=1)
similarity = measures.similarity_matrix(rows)  # (512, 512)
profile = measures.similarity_by_offset(similarity)  # (512,), mean of each diagonal
uneven = measures.toeplitz_error(similarity)
print(f"norms {norms.min():.5f} to {norms.max():.5f}, √(D/2) = {64**0.5:.5f}")
print(f"largest deviation within a diagonal: {uneven:.0e}")
rises = (profile.diff() > 0).nonzero()[:, 0]
print(f"steps at which similarity rises: {len(rises)} of 511, the first from offset {rises[0]}")
falls_overall = bool(profile[256:].mean() < profile[:256].mean())
shape = "falls on average, with ripples" if falls_overall else "stays about the same"
guess.reveal(shape if len(rises) else "falls at every step")

far = sinusoidal_table(torch.arange(10_000), 128)
print(f"the first distance with a similarity below 0: {(far @ far[0] < 0).nonzero()[0].item():,}")

# %%
fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.9))
plots.similarity(axes[0], similarity[:100, :100], title="similarity of positions 0 to 99")
plots.lines(
    axes[1],
    {"D = 128": profile},
    title="similarity against distance",
    xlabel="distance (positions)",
    ylabel="cosine similarity",
    legend=False,
)
axes[1].set_ylim(0, 1.05)
plots.show(
    fig,
    "Left: a similarity matrix with bands along the diagonals, dark on the main one. Right: "
    f"similarity against distance, {profile[1]:.2f} at 1, {profile[10]:.2f} at 10, "
    f"{profile[100]:.2f} at 100 and {profile[400]:.2f} at 400, with ripples.",
)

# %% [markdown]
# **Look:** similarity falls fast at first, then slowly and with ripples. So it does not rank all
# distances. Over 512 positions it stays above 0, because the slow hands agree. And since
# $\cos(-x) = \cos x$, five earlier and five later look the same to it.
#
# ## A shift is a matrix
#
# Vaswani et al. chose this encoding because a step of $k$ positions acts on it as one linear map.
# So, they hoped, a model would easily learn to attend by relative positions. Why linear? Turning a
# hand by $k\theta$ is a rotation:
#
# $$\begin{pmatrix} \sin((p+k)\theta) \\ \cos((p+k)\theta) \end{pmatrix} =
# \begin{pmatrix} \cos k\theta & \sin k\theta \\ -\sin k\theta & \cos k\theta \end{pmatrix}
# \begin{pmatrix} \sin p\theta \\ \cos p\theta \end{pmatrix}$$
#
# One such block a pair, and no $p$ in it. We check it twice: with the closed form, and by asking
# least squares for the best matrix.

# %%
from course_utils.encodings.functional import shift_matrix


def size(error):  # below 1e-11 the digits are float64 rounding, different in every run
    return "below 1e-11" if error < 1e-11 else "above 0.1" if error > 0.1 else f"{error:.0e}"


k, positions = 5, torch.arange(4000, dtype=torch.float64)
for width in (128, 16):
    here, there = (sinusoidal_table(row, width) for row in (positions, positions + k))
    closed = shift_matrix(k, width, dtype=torch.float64)
    found = torch.linalg.lstsq(here[:2000], there[:2000], driver="gelsd").solution.T
    rank = torch.linalg.matrix_rank(here[:2000]).item()
    print(f"D = {width}: of its {width} directions, float64 sees {rank} in the first 2000 rows")
    for name, matrix in (("closed form", closed), ("least squares", found)):
        error = (here @ matrix.T - there).abs().amax(1)  # at each position
        first, second = size(error[:2000].max()), size(error[2000:].max())
        print(f"    {name:13}: error {first} on 0 … 1999 (fitted), {second} on 2000 … 3999")
shift_gap = (closed - found).abs().max().item()  # of the last width, 16

# %%
fig, axes = plt.subplots(1, 2, figsize=(8.4, 3.7))
plots.heatmap(axes[0], closed, title=f"shift by {k}, closed form", limit=1, equal=True)
plots.heatmap(axes[1], found, title="least squares", unit="entry", limit=1, equal=True)
for ax in axes:
    ax.set(xlabel="column (dimension at p)", ylabel="row (dimension at p + k)")
plots.show(
    fig,
    f"Two 16 by 16 matrices, their difference {size(shift_gap)}: 2 by 2 rotation blocks along the "
    f"diagonal and zero elsewhere. The first block has cos(5) = {closed[0, 0]:.2f}, the last is "
    f"nearly the identity with {closed[-1, -1]:.4f}.",
)

# %% [markdown]
# **Look:** the closed form serves every $p$ at both widths. At D = 16 (drawn) least squares finds
# the same blocks by itself. At D = 128 it does not. In exact arithmetic only one matrix fits. But
# the slow hands barely move in 2000 positions, and all that float64 keeps of them there fits many
# matrices. The one it picks fails beyond. The map exists. Rounded data need not reveal it.

# %% [markdown]
# ## Can two positions collide?
#
# The fast hands come round every six or seven positions. With only those, positions would soon
# look alike. Let us search 10,000 positions for the closest two.

# %%
guess = widgets.predict(
    "Which two of 10,000 positions have the most similar vectors, at D = 128?",
    ["two that are far apart, where the fast hands meet again", "two neighbours"],
)


# %%
def closest(width):
    return measures.nearest_pair(sinusoidal_table(torch.arange(10_000), width))


nearest = {width: closest(width) for width in (2, 4, 8, 16, 128)}
for width, (distance, first, second) in nearest.items():
    print(
        f"D = {width:3}: the closest two are {second - first:4} apart, at distance {distance:.5f}"
    )
gap = nearest[128].second - nearest[128].first
guess.reveal(
    "two neighbours" if gap == 1 else "two that are far apart, where the fast hands meet again"
)

# %% [markdown]
# **Look:** with 16 or 128 dimensions nothing comes closer than neighbours do. With 2, 4 or 8 some
# far positions do. A single hand (D = 2) nearly repeats itself after 710 steps, almost exactly
# 113 turns: $710 \approx 113 \cdot 2\pi$. At D = 8 all four hands meet again after 6283 steps,
# which are nearly 1000, 100, 10 and 1 turns.
#
# Nearly, never exactly. Pair 0 turns 1 radian a step, and no whole number of radians is a whole
# number of turns, because $\pi$ is irrational. So by the formula no two positions are equal, at
# any width. Stored numbers are rounded:

# %%
distinct = {}
for width in (2, 128):
    rows = sinusoidal_table(torch.arange(10_000), width)
    for dtype in (torch.float32, torch.bfloat16):
        distinct[width, dtype] = len(rows.to(dtype).float().unique(dim=0))
        print(f"D = {width:3} in {str(dtype):14}: {distinct[width, dtype]:6,} different vectors")

# %% [markdown]
# ## Read the position back
#
# If the vector names the position, a reader should be able to get it back. We take the simplest
# reader, a linear one, fit it on half of the positions below 512, and test it on the other
# half, and then beyond.

# %%
everywhere = torch.arange(4096)
features, goal = sinusoidal_table(everywhere, 128), everywhere.float()
generator = torch.Generator().manual_seed(0)
train = (torch.rand(4096, generator=generator) < 0.5) & (everywhere < 512)
inside = (everywhere < 512) & ~train
readers = {"all 128 columns": features, "the 8 slowest": features[:, -8:]}
reads = {name: measures.linear_probe(some, goal, train) for name, some in readers.items()}
errors = {
    (name, where): (read - goal)[rows].abs().mean().item()
    for name, read in reads.items()
    for where, rows in (
        ("unseen, below 512", inside),
        ("512 to 1023", (everywhere >= 512) & (everywhere < 1024)),
        ("2048 to 4095", everywhere >= 2048),
    )
}
for (name, where), error in errors.items():
    print(f"{name:15} {where:17} mean error {error:7.2f} positions")
print(f"always answering 511, 512 to 1023: {(goal[512:1024] - 511).mean():.2f}")

# %%
fig, ax = plt.subplots(figsize=(6.5, 3.8))
plots.lines(
    ax,
    {"true": goal[:1024], **{name: read[:1024] for name, read in reads.items()}},
    title="two linear readers, fitted below 512",
    xlabel="position",
    ylabel="position read",
)
ax.axvline(512, color="0.5", linewidth=1)
ax.set_ylim(0, 1100)
beyond = [errors[name, "512 to 1023"] for name in readers]
plots.show(
    fig,
    "Below position 512 (grey line) both readers lie on the true line. Beyond, the reader of all "
    f"columns leaves it, mean error {beyond[0]:.0f} positions; the reader of the 8 slowest stays "
    f"near it, mean error {beyond[1]:.1f}.",
)

# %% [markdown]
# **Look:** inside the fitted range both readers are right to within a token. Beyond, the one that
# uses all columns is lost, worse than a constant answer. The one that only has the slowest hands
# still works at twice the length, where their sines are still almost straight lines. It did not
# learn to count: at 2048 to 4095 it is far off too. The position is in the vectors. What was fitted
# decides whether it is read.

# %% [markdown]
# ## What it does to attention
#
# Back to the buffaloes of lesson 01, now 24 of them. The tokens are identical, so without
# position the attention is uniform. We choose $W_k = W_q$ (random), so that each query looks for
# its own kind.

# %%
import math

from course_utils.attention import MultiHeadAttention
from course_utils.sentences import word_vectors

torch.manual_seed(0)
heads = MultiHeadAttention(128, 4, encoding).requires_grad_(False)
heads.W_q.weight.copy_(torch.randn(128, 128) / 128**0.5)
heads.W_k.weight.copy_(heads.W_q.weight)
x = word_vectors(["buffalo"] * 24, 128)[None]
without = heads.attend(x, need_weights=True)[1][0]  # (4, 24, 24), door 1 left out
with_pe = heads(x, need_weights=True)[1][0]  # (4, 24, 24)
for name, weights in (("without", without), ("with", with_pe)):
    nats, own = measures.entropy(weights).mean(-1), measures.diagonal_strength(weights)
    print(f"{name:8} entropy", [f"{v:.2f}" for v in nats.tolist()], "nats")
    print(f"{'':8} weight on the own position", [f"{v:.3f}" for v in own.tolist()])
print(f"uniform: entropy {math.log(24):.2f}, weight {1 / 24:.3f}")

# %%
fig, axes = plt.subplots(1, 4, figsize=(10.5, 3.1), sharey=True)
top = with_pe.max().item()
for head, ax in enumerate(axes):
    plots.attention(
        ax, with_pe[head], title=f"head {head}", limit=top, unit="weight" if head == 3 else ""
    )
strength = measures.diagonal_strength(with_pe)
plots.show(
    fig,
    "Attention of 24 identical tokens with sinusoidal positions, four heads. All show a band "
    f"along the diagonal. Mean weight on the own position {strength.min():.2f} to "
    f"{strength.max():.2f}, against {1 / 24:.2f} for uniform attention.",
)

# %%
fig, ax = plt.subplots(figsize=(7, 3.4))
plots.entropy(
    ax,
    {f"head {head}": measures.entropy(with_pe)[head] for head in range(4)},
    math.log(24),
    title="entropy of attention, with sinusoidal positions",
    floor=2.5,
)
per_query = measures.entropy(with_pe)
plots.show(
    fig,
    f"Entropy of four heads over 24 query positions, between {per_query.min():.2f} and "
    f"{per_query.max():.2f} nats. Without position it is {math.log(24):.2f} everywhere.",
)

# %% [markdown]
# **Look:** the same token now gets different weights at different places. On the diagonal they
# are about twice the uniform ones, and the entropy falls a little below the line (mind the
# axis: it starts at 2.5). Does that need $W_k = W_q$? With two independent random matrices:

# %%
torch.manual_seed(1)
heads.W_k.weight.copy_(torch.randn(128, 128) / 128**0.5)
independent = heads(x, need_weights=True)[1][0]
print("entropy", [f"{v:.2f}" for v in measures.entropy(independent).mean(-1).tolist()], "nats")
print("diagonal", [f"{v:.3f}" for v in measures.diagonal_strength(independent).tolist()])

# %% [markdown]
# **Look:** the entropy falls here too. But the diagonal is no favourite. The encoding *offers*
# nearness. Queries and keys must be matched to take the offer, and that is what training is
# for.

# %% [markdown]
# ## Add or concatenate? And why × √D?
#
# Adding mixes word and position in the same 128 numbers. Would it not be cleaner to concatenate?
# We mix 100 random word vectors with 100 positions and let a linear reader find the position.


# %%
def reading_error(width, join):
    """Mean error of a linear reader of the position, on pairs it was not fitted on."""
    generator = torch.Generator().manual_seed(0)
    words = torch.randn(100, 1, width, generator=generator).expand(-1, 100, -1)
    places = sinusoidal_table(torch.arange(100), width).expand(100, -1, -1)
    goal = torch.arange(100.0).repeat(100)
    train = torch.rand(10_000, generator=generator) < 0.5
    read = measures.linear_probe(join(words, places).flatten(0, 1), goal, train)
    return (read - goal)[~train].abs().mean().item()


mixing = {}
for width in (16, 64, 256):
    mixing[width, "add"] = reading_error(width, lambda w, p: w + p)
    mixing[width, "concatenate"] = reading_error(width, lambda w, p: torch.cat([w, p], dim=-1))
    print(
        f"D = {width:3}: added {mixing[width, 'add']:6.2f} positions off, "
        f"concatenated {mixing[width, 'concatenate']:.2f} (and {2 * width} wide)"
    )
print(f"always answering the middle: {(torch.arange(100.0) - 49.5).abs().mean():.0f} off")

# %%
generator = torch.Generator().manual_seed(0)
words, places = (
    torch.randn(100, 1, 16, generator=generator),
    sinusoidal_table(torch.arange(100), 16),
)
closest_sums = measures.nearest_pair((words + places).flatten(0, 1)).distance
print(f"D = 16: the closest two of the 10,000 sums are {closest_sums:.2f} apart,")
print(f"        the closest two of the 100 positions {measures.nearest_pair(places).distance:.2f}")

# %% [markdown]
# **Look:** concatenation keeps the two apart, at twice the width. Once added in a narrow space, a
# *linear* reader cannot part them. At width 256 there is room for the directions of all 100 words
# beside those of the positions, and it can. But nothing is lost even at D = 16: no two sums come
# closer than two positions do, so a reader that knows the words can look the sum up. What adding
# costs depends on the reader. Real vocabularies are far larger than the width.
#
# The same paper multiplies word vectors by $\sqrt D$ before adding. Look at their sizes.

# %%
generator = torch.Generator().manual_seed(0)
small = torch.randn(200, 128, generator=generator) / 128**0.5  # a common initial size
place = sinusoidal_table(torch.tensor([7]), 128)  # (1, 128)
likeness = {}
sizes = {"norm 1": small, "norm 1, times √D": 128**0.5 * small, "norm √D, times √D": 128 * small}
for name, words in sizes.items():
    share = words.square().sum(1).mean() / (words.square().sum(1).mean() + place.square().sum())
    between = measures.similarity_matrix(words + place)[~torch.eye(200, dtype=torch.bool)]
    likeness[name] = between.mean().item()
    print(
        f"{name:17} norm {words.norm(dim=1).mean():5.2f} against {place.norm():.2f}: "
        f"words are {100 * share:.0f} % of the squared norm, "
        f"two different words {likeness[name]:.2f} alike"
    )

# %% [markdown]
# **Look:** word vectors of norm 1 drown beside a position of norm 8. After the multiplication
# both have a say. But if the vectors start at norm $\sqrt D$, as PyTorch's `nn.Embedding` does,
# the factor drowns the position. It belongs with the small start.
#
# ## What max_len really limits
#
# Many modules store a table of, say, 5000 rows. The formula has no such limit. Only the buffer
# has.


# %%
class WithBuffer(torch.nn.Module):
    """How it is often written: a table made once, cut to the length of the text."""

    def __init__(self, d_model, max_len):
        super().__init__()
        self.register_buffer("table", sinusoidal_table(torch.arange(max_len), d_model))

    def forward(self, x):
        return x + self.table[: x.shape[1]]


long_text = torch.zeros(1, 6000, 128)
buffered = WithBuffer(128, max_len=5000)
buffer_rows = len(buffered.table[:6000])
print(f"6000 tokens want 6000 rows; the buffer gives {buffer_rows}")
print("computed on demand:", tuple(encoding.embed(long_text, torch.arange(6000)).shape))

# %% tags=["raises-exception", "nbval-ignore-output"]
buffered(long_text)

# %% [markdown]
# What the formula hides is float32. The angle $p\,\theta_m$ grows with $p$, and its rounding error
# grows along.

# %%
from course_utils.encodings.functional import sinusoidal_frequencies

theta = sinusoidal_frequencies(128)
drift = {}
for p in (100, 10_000, 1_000_000):
    in_float32 = (p * theta.float()).sin()
    in_float64 = (p * theta).sin()
    drift[p] = (in_float32 - in_float64).abs().max().item()
    print(f"position {p:9,}: sines of float32 angles are off by up to {drift[p]:.0e}")

# %% [markdown]
# **Look:** the error grows with the position, to a few hundredths at a million. This package
# computes angles in float64 where the device can, and rounds the result.
#
# ## Fingerprint and passport

# %%
scores = measures.fingerprint(encoding, 48)
centred = scores - scores.mean((-1, -2), keepdim=True)
ranges = [f"{(head.max() - head.min()).item():.2f}" for head in centred]
plots.show(
    plots.fingerprint(scores, "Fingerprint of sinusoidal"),
    "Four squares, one a head. Head 0 has a narrow band along the diagonal, head 1 a wide one, "
    f"heads 2 and 3 are almost blank. Spread of the scores: {', '.join(ranges)}.",
)
one_word = word_vectors(["buffalo"] * 48, 128)[None]  # (1, 48, 128)
alone = measures.position_scores(encoding, one_word, torch.arange(48))[0]
print(f"deviation within a diagonal: {measures.toeplitz_error(scores):.0e} in the fingerprint,")
print(f"                             {measures.toeplitz_error(alone):.1f} for one word alone")

# %%
facts = measures.passport("sinusoidal")
print(measures.passport_text(facts))

# %% tags=["volatile"]
print(f"time on this machine: {facts['time_ratio']:.2f} × attention without encoding")

# %% [markdown]
# **Look:** here queries and keys are the tokens themselves, cut into four heads. Head 0 gets the
# fast hands and head 3 the slow ones, which stand still over 48 positions.
#
# The dot product of two *encodings* depends on their distance only. With a *word* in the sum it
# does not: terms of word times position remain, and the change under a shift is far from 0. The
# fingerprint averages over 64 words, half of them the negatives of the others, so that in it these
# terms cancel. (The time shows only when you run the cell.)

# %% [markdown]
# ## In a real model
#
# Is a good code good for any reader? Lesson 01's sentence encoder has a learned one at door 1.

# %% tags=["pretrained"]
from course_utils import data, pretrained

encoder = pretrained.if_installed(pretrained.minilm)

# %% [markdown]
# It adds rows of 512 positions by 384 numbers. We put other tables in their place, and leave all
# other weights as they are. The encoder then reads 60 paragraphs of Python's documentation. How far
# does the vector of each move? We take the cosine with its former vector.

# %% tags=["pretrained"]
if encoder is not None:
    parts = data.verified("documentation.txt").read_text(encoding="utf-8").split("\n\n")
    parts = [" ".join(part.split()) for part in parts]
    prose = [part for part in parts if part[:1].isupper() and part.endswith(".")]
    texts = [part for part in prose if 220 <= len(part) <= 280][::2]
    former = encoder.embed(texts)  # (60, 384), each of length 1
    lengths = encoder.encode(texts)[1].sum(1)
    print(f"{len(texts)} paragraphs of {lengths.min()} to {lengths.max()} tokens")
    others = (former @ former.T)[~torch.eye(len(texts), dtype=torch.bool)]
    print(f"mean cosine of two different ones: {others.mean():.2f}")

# %% [markdown]
# One table is of sinusoids, each row as long as the one that it replaces. Three are made of the
# encoder's own rows: in random order; all turned by one random rotation of the 384 dimensions, so
# that every length and every similarity of two positions stays; and their mean in each place, which
# is no position at all. (Row 0 stays: it only ever meets the mark [CLS] that opens a text.)

# %%
TABLES = ("sinusoids", "own rows, shuffled", "own rows, turned", "no position")
guess = widgets.predict("Which table moves the vectors least, on average?", TABLES)

# %% tags=["pretrained"]
if encoder is not None:
    own, generator = encoder.encoding.table, torch.Generator().manual_seed(0)
    waves = sinusoidal_table(torch.arange(512), 384)
    sized = waves * own.norm(dim=1, keepdim=True) / waves.norm(dim=1, keepdim=True)
    rotation = torch.linalg.qr(torch.randn(384, 384, generator=generator)).Q
    shuffled = own[1:][torch.randperm(511, generator=generator)]
    made = (sized[1:], shuffled, own[1:] @ rotation, own[1:].mean(0).expand(511, -1))
    stays = {}
    print("                    mean cosine    lowest    nearest to its own former vector")
    for name, rows in zip(TABLES, made, strict=True):
        vectors = encoder.with_table(torch.cat([own[:1], rows])).embed(texts)
        stays[name] = (vectors * former).sum(1)  # (60,)
        found = (vectors @ former.T).argmax(1) == torch.arange(len(texts))
        print(
            f"{name:19} {stays[name].mean():11.2f} {stays[name].min():9.2f}"
            f"{100 * found.float().mean():11.0f} %"
        )
    guess.reveal(max(TABLES, key=lambda name: stays[name].mean()))

# %% tags=["pretrained"]
if encoder is not None:
    fig, ax = plt.subplots(figsize=(7, 2.6))
    plots.strips(ax, stays, title="60 paragraphs", xlabel="cosine with the former vector")
    told = ", ".join(f"{name} {some.mean():.2f}" for name, some in stays.items())
    plots.show(fig, f"A dot for each paragraph in four rows, with the mean of each: {told}.")
    worse = int((stays["sinusoids"] < stays["no position"]).sum())
    print(f"worse with sinusoids than without position: {worse} of {len(texts)} paragraphs")

# %% [markdown]
# **Look:** no position at all moves them least. The words alone carry much: nearly every paragraph
# is still nearest to its own former vector. But a place told in a foreign code is worse than none.
# The sinusoids are such a code. So are the turned rows, in which all that this lesson drew of a
# table, lengths and similarities, is as it was. Queries and keys do not see how alike two rows are.
# They see the *directions* that their matrices have learned. A code is good for the reader that was
# trained with it.

# %% [markdown]
# ## Exercises
#
# **Exercise 1 ★ Wavelength.** Write `my_wavelength(m, d_model, base)`: how many positions does
# pair $m$ need for one full turn?


# %% tags=["stub"]
def my_wavelength(m, d_model, base):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def my_wavelength(m, d_model, base):
    return 2 * math.pi * base ** (2 * m / d_model)


# %%
from course_utils.checks.lesson02 import (
    check_add_positions,
    check_any_width,
    check_shift_block,
    check_similarity,
    check_wavelength,
)

check_wavelength(my_wavelength)

# %% [markdown]
# **Exercise 2 ★★ Find the bug: batch first.** Suppose someone wrote the function below for inputs
# of shape (seq, batch, d_model), and then feeds it (batch, seq, d_model). No error comes. See what
# it does to a batch of two equal sentences, then write `add_positions(x, table)` for x of shape
# (batch, seq, d_model).


# %%
def seq_first(x, table):
    return x + table[: x.size(0)].unsqueeze(1)


out = seq_first(torch.zeros(2, 4, 128), table)
print("tokens 0 and 3 of sentence 0 are equal:", torch.equal(out[0, 0], out[0, 3]))
print("sentences 0 and 1 are equal           :", torch.equal(out[0], out[1]))


# %% tags=["stub"]
def add_positions(x, table):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def add_positions(x, table):
    return x + table[: x.shape[1]]  # (seq, d_model) lines up with the last two axes of x


# %%
check_add_positions(add_positions)

# %% [markdown]
# **Exercise 3 ★★ Find the bug: odd width.** The usual code stops with an error when the width
# is odd. Write `any_width(n, width)`: an (n, width) table, base 10000, that also works for odd
# widths. The exponent is −2m/width with the odd width itself (some libraries round it up), and
# the last column is a sine.

# %% tags=["raises-exception", "nbval-ignore-output"]
sinusoidal_from_scratch(6, 5)


# %% tags=["stub"]
def any_width(n, width):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def any_width(n, width):
    exponents = torch.arange(0, width, 2) / width
    angles = torch.arange(n)[:, None] * 10000.0**-exponents
    table = torch.empty(n, width)
    table[:, 0::2] = angles.sin()
    table[:, 1::2] = angles[:, : width // 2].cos()  # one cos fewer when the width is odd
    return table


# %%
check_any_width(any_width)

# %% [markdown]
# **Exercise 4 ★★ The shift.** Write `shift_block(k, theta)`: the 2 × 2 tensor that takes
# (sin pθ, cos pθ) to (sin (p+k)θ, cos (p+k)θ), for any p.


# %% tags=["stub"]
def shift_block(k, theta):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def shift_block(k, theta):
    c, s = math.cos(k * theta), math.sin(k * theta)
    return torch.tensor([[c, s], [-s, c]])


# %%
check_shift_block(shift_block)

# %% [markdown]
# **Exercise 5 ★★★ Similarity without a table.** Write `similarity_at(k, d_model, base)`: the
# cosine similarity of two positions that are $k$ apart, as a float, without computing any
# encoding.


# %% tags=["stub"]
def similarity_at(k, d_model, base):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def similarity_at(k, d_model, base):
    m = torch.arange(d_model // 2, dtype=torch.float64)
    return (k * base ** (-2 * m / d_model)).cos().mean().item()


# %%
check_similarity(similarity_at)

# %% [markdown]
# ## Myth check
#
# Guess first. In brackets: what the claim speaks of, and by which yardstick it is judged. All is
# computed from the formula.

# %%
from course_utils.claims import Claim, Myths

WIDTHS = (64, 128, 512)


def exact(text, scope):
    return Claim(text, scope=scope, evidence="exact")


claims = {
    "C07": exact("Every position gets its own vector.", "widths 64–512, 10,000 positions, float32"),
    "C08": exact(
        "PE(p + k) is a linear function of PE(p), the same for all p.",
        "widths 64–512; largest error below 1e-9 in float64",
    ),
    "C10": exact(
        "The dot product of two encodings depends on their distance only.",
        "widths 64–512, positions below 512; equal to 1e-5 of the largest",
    ),
}

# %%
claims |= {
    "C11": exact("Similarity falls steadily with distance.", "widths 64–512, each step up to 511"),
    "C12": exact("Dimension 0 has wavelength 1.", "in positions a turn"),
    "C13": exact(
        "At D = 512 the slowest pair has 10000^(510/512) ≈ 9540 in its denominator.",
        "≈: at most 5 off",
    ),
    "C14": exact(
        "A module with a 5000-row buffer reads 6000 tokens without change.",
        "a module that cuts its stored table to the length of the text",
    ),
    "C15": exact(
        "Neighbouring positions have nearly equal vectors.",
        "widths 64–512; nearly equal: cosine similarity of at least 0.95",
    ),
}

# %%
myths = Myths(
    claims
    | {
        "C16": exact("The first row of the table starts 0.8415, 0.5403.", "the row of position 0"),
        "C17": exact(
            "All encodings have the same length (norm).",
            "widths 64–512, positions below 512; equal to 1e-5 of it",
        ),
        "C18": exact(
            "In long sequences positions collide because high frequencies wrap around.",
            "widths 64–512, up to 100,000 apart; collide: closer than neighbours are",
        ),
        "C19": exact(
            "The base only matters for long contexts.",
            "base 1,000 to 100,000, D = 128; matters: it changes the similarity of positions at "
            "most 16 apart by more than 0.05",
        ),
    }
)

# %%
distinct = {}
steps = {}
products = {}
lengths = {}
for width in WIDTHS:
    rows = sinusoidal_table(torch.arange(10_000), width)
    distinct[width] = len(rows.unique(dim=0))
    dots = rows[:512] @ rows[:512].T
    products[width] = measures.toeplitz_error(dots) / dots.max().item()
    steps[width] = measures.similarity_by_offset(dots).diff()  # of the dot product, by distance
    lengths[width] = rows[:512].norm(dim=1)
linear = {
    f"D = {width}, k = {k}": torch.dist(
        sinusoidal_table(positions, width) @ shift_matrix(k, width, dtype=torch.float64).T,
        sinusoidal_table(positions + k, width),
        p=torch.inf,
    ).item()
    for width in WIDTHS
    for k in (1, 5, -300)
}

# %%
myths.settle(
    "C07",
    {f"D = {width}": count == 10_000 for width, count in distinct.items()},
    f"Of 10,000 positions {min(distinct.values()):,} are different, at each width.",
)
myths.settle(
    "C08",
    {case: error < 1e-9 for case, error in linear.items()},
    f"One matrix serves 4000 positions; largest error {size(max(linear.values()))}.",
)
myths.settle(
    "C10",
    {f"D = {width}": error < 1e-5 for width, error in products.items()},
    f"Largest deviation within a diagonal: {max(products.values()):.0e} of the largest product.",
)

# %%
rising = {width: int((change > 0).sum()) for width, change in steps.items()}
myths.settle(
    "C11",
    {f"D = {width}": count == 0 for width, count in rising.items()},
    "It rises at " + ", ".join(f"{n} of 511 steps at D = {d}" for d, n in rising.items()) + ".",
)
shortest = wavelengths(128)[0].item()
myths.settle("C12", {"D = 128": abs(shortest - 1) < 0.01}, f"It is {shortest:.3f}, that is 2π.")
denominator = 1 / sinusoidal_frequencies(512)[-1].item()
myths.settle(
    "C13", {"D = 512": abs(denominator - 9540) <= 5}, f"The denominator is {denominator:.1f}."
)
myths.settle(
    "C14",
    {"6000 tokens": buffer_rows == 6000},
    f"It has rows for {buffer_rows} of them, and stops.",
)

# %%
cosine = {width: sinusoidal_frequencies(width).cos().mean().item() for width in WIDTHS}
apart = {width: (2 - 2 * value) ** 0.5 for width, value in cosine.items()}  # share of the norm
myths.settle(
    "C15",
    {f"D = {width}": value >= 0.95 for width, value in cosine.items()},
    f"Similarity {min(cosine.values()):.3f} to {max(cosine.values()):.3f}. Still, their difference "
    f"is {100 * min(apart.values()):.0f} to {100 * max(apart.values()):.0f} % of their length.",
)
starts = table[:2, :2]
myths.settle(
    "C16",
    {"row 0": torch.allclose(starts[0], torch.tensor([0.8415, 0.5403]), atol=1e-3)},
    "Rows 0 and 1 start " + " and ".join(f"{sin:.4f}, {cos:.4f}" for sin, cos in starts) + ".",
)

# %%
uneven_norms = {d: ((n.max() - n.min()) / n.max()).item() for d, n in lengths.items()}
myths.settle(
    "C17",
    {f"D = {width}": gap < 1e-5 for width, gap in uneven_norms.items()},
    f"All norms are √(D/2), to {max(uneven_norms.values()):.0e}. (At an odd width a cosine is "
    "missing, and they differ.)",
)

# %%
apart = torch.arange(1, 100_001, dtype=torch.float64)
closer = {}
for width in WIDTHS:
    cosines = sum((apart * theta).cos() for theta in sinusoidal_frequencies(width))
    distances = (width - 2 * cosines).sqrt()  # |PE(p) − PE(p + k)|, for every p
    closer[width] = (distances.min() / distances[0]).item()  # distances[0]: of neighbours
myths.settle(
    "C18",
    {f"D = {width}": share < 1 for width, share in closer.items()},
    f"The closest two of 100,000 positions are neighbours, at each width: "
    f"{min(closer.values()):.3f} of the neighbours' distance.",
)

# %%
change = {}
for base in (1_000.0, 100_000.0):
    for k in (1, 4, 16):
        new, usual = ((k * sinusoidal_frequencies(128, b)).cos().mean() for b in (base, 10_000.0))
        change[f"base {base:,.0f}, distance {k}"] = abs(new - usual).item()
myths.settle(
    "C19",
    {case: value <= 0.05 for case, value in change.items()},
    f"Similarities change by {min(change.values()):.3f} to {max(change.values()):.3f}.",
)

# %% [markdown]
# Three of these can be asked of the encoder's own table as well, row 0 left out. It has width 384.

# %% tags=["pretrained"]
if encoder is not None:
    name, rows = "all-MiniLM-L6-v2", encoder.encoding.table[1:]
    dots, sizes = rows @ rows.T, rows.norm(dim=1)
    off = measures.toeplitz_error(dots) / dots.max().item()
    neighbours = measures.similarity_by_offset(measures.similarity_matrix(rows))[1].item()
    uneven = ((sizes.max() - sizes.min()) / sizes.max()).item()
    told = f"Largest deviation within a diagonal: {off:.2f} of the largest product."
    myths.in_a_real_model("C10", {"its table": off < 1e-5}, told, name)
    told = f"Similarity {neighbours:.2f} on average."
    myths.in_a_real_model("C15", {"its table": neighbours >= 0.95}, told, name)
    told = f"Norms from {sizes.min():.2f} to {sizes.max():.2f}. This table was learned."
    myths.in_a_real_model("C17", {"its table": uneven < 1e-5}, told, name)

# %% [markdown]
# C09, "because sin and cos are periodic, the model handles lengths it never saw", needs trained
# models. It is left for the lesson on long texts. The two linear readers above show why it is
# an open question.

# %% tags=["pretrained"]
myths.table()

# %% [markdown]
# ## In five lines
#
# - Each pair of columns is a clock hand; speeds fall from 1 radian a position by equal factors.
# - At even width all vectors are equally long, dot products depend on the distance only, and a
#   shift by $k$ is one rotation matrix.
# - At 16 and at 128 dimensions nothing comes closer than neighbours. Reading far ones can fail.
# - The formula has no longest length. A buffer has one, and float32 loses precision.
# - A code serves the reader trained with it. To a real encoder sinusoids are worse than nothing.
#
# **Read next:** Vaswani et al. 2017, *Attention Is All You Need*, arXiv 1706.03762, section 3.5.
#
# **Next:** [lesson 03](03_learned.ipynb) lets the model choose its own vectors.
