# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # 02 · Sinusoidal: a closer look
#
# What [lesson 02](../02_sinusoidal.ipynb) left out. Each section stands alone.
#
# - the table in four pictures, its base, narrow tables, odd widths;
# - stored tables, float32 and bfloat16; which axis is the text;
# - a power or exp, alternating or grouped columns; where sinusoids are in use;
# - what it does to attention, with its fingerprint and passport;
# - an exercise: before or after?
#
# Word and place in one sum, and other readers of the table, have
# [a closer look](02_word_and_place.ipynb) of their own.
#
# **Time:** {minutes}. **Builds on:** lesson 02. **Doors:** 1, token embeddings.

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start()

# %% [markdown]
# ## Where sinusoids are in use
#
# | where | what has a position | source |
# |---|---|---|
# | translation, the first Transformer | words | Vaswani et al. 2017, arXiv 1706.03762 |
# | diffusion models | the time step | Ho et al. 2020 (DDPM), arXiv 2006.11239 |
# | NeRF, views of a scene | coordinates; speeds double | Mildenhall et al. 2020, arXiv 2003.08934 |
# | Whisper's encoder | stretches of sound | Radford et al. 2022, arXiv 2212.04356 |
#
# So it need not be a place in a text.
#
# ## The table in pictures
#
# | formula | code in the lesson | shape |
# |---|---|---|
# | $p$ | `p[:, None]` | (n, 1) |
# | $m$ | `m` | (D/2,) |
# | $\theta_m = b^{-2m/D}$ | `base ** (-2 * m / d_model)` | (D/2,) |
# | $p\,\theta_m$ | `angles` | (n, D/2) |
# | $PE_{p,\,2m}$ | `table[:, 0::2]` | (n, D/2) |
# | $PE_{p,\,2m+1}$ | `table[:, 1::2]` | (n, D/2) |

# %% tags=["plumbing"]
# Four pictures of the table
import torch

from course_lab import figures
from course_utils import plots
from course_utils.encodings.functional import sinusoidal_table, wavelengths

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
# **Look:** a hand in its first half turn says which position comes later. Now three bases:

# %% tags=["plumbing"]
# Three bases, as still pictures
import matplotlib.pyplot as plt

bases = (10.0, 1_000.0, 1_000_000.0)
fig, axes = plt.subplots(1, 3, figsize=(10, 3.2), sharey=True)
longest = {base: wavelengths(64, base)[-1].item() for base in bases}
for ax, base in zip(axes, bases, strict=True):
    rows = sinusoidal_table(torch.arange(64), 64, base)
    grouped = torch.cat([rows[:, 0::2], rows[:, 1::2]], dim=1)
    plots.heatmap(ax, grouped, title=f"base {base:,.0f}", limit=1)
    ax.set_xticks([16, 48], ["32 sines", "32 cosines"])
    ax.axvline(31.5, color="black", linewidth=1)
axes[0].set_ylabel("position")
described = ", ".join(f"{length:,.0f} at base {base:,.0f}" for base, length in longest.items())
plots.show(
    fig,
    "Tables of 64 positions by 64 dimensions at base 10, 1,000 and 1,000,000, sines left, cosines "
    "right. The part that changes shrinks as the base grows. Longest wavelength: "
    f"{described}.",
)

# %% [markdown]
# **Look:** a larger base leaves more columns nearly constant.

# %% [markdown]
# ## Narrow and odd tables
#
# The lesson found the closest two of 10,000 positions for 4, 6 and 64 hands. Here are all even
# widths up to 16.

# %%
from course_lab.measures import nearest_pair
from course_utils import measures

for width in (2, 4, 6, 8, 10, 12, 14, 16):
    distance, first, second = nearest_pair(sinusoidal_table(torch.arange(10_000), width))
    print(f"D = {width:2}: the closest two are {second - first:4} apart, at {distance:.5f}")

# %% [markdown]
# **Look:** at D = 8 all four hands meet again after 6283 steps, which are nearly 1000, 100, 10 and
# 1 turns. From six hands on the closest are neighbours. At an odd width the last hand has its
# sine only:

# %%
wide = sinusoidal_table(torch.arange(512), 10)
for width in (8, 9):  # of 9 columns the last is a sine without its cosine
    norms, dots = wide[:, :width].norm(dim=1), wide[:, :width] @ wide[:, :width].T
    deviation = measures.toeplitz_error(dots)
    print(
        f"{width} columns: lengths {norms.min():.3f} to {norms.max():.3f}, "
        f"off within a diagonal {deviation:.0e}"
    )

# %% [markdown]
# **Look:** then lengths differ, and the dot product depends on the place too. (The usual code,
# `table[:, 1::2] = angles.cos()`, stops with an error there. Libraries that allow odd widths differ
# in which columns they keep.)

# %% [markdown]
# ## What max_len really limits
#
# Many modules store a table of, say, 5000 rows. The formula has no such limit. Only the buffer
# has.


# %%
from course_utils.encodings import create


class WithBuffer(torch.nn.Module):
    """How it is often written: a table made once, cut to the length of the text."""

    def __init__(self, d_model, max_len):
        super().__init__()
        self.register_buffer("table", sinusoidal_table(torch.arange(max_len), d_model))

    def forward(self, x):
        return x + self.table[: x.shape[1]]


# %%
long_text = torch.zeros(1, 6000, 128)
buffered = WithBuffer(128, max_len=5000)
buffer_rows = len(buffered.table[:6000])
print(f"6000 tokens want 6000 rows; the buffer gives {buffer_rows}")
encoding = create("sinusoidal", d_model=128, n_heads=4)
print("computed on demand:", tuple(encoding.embed(long_text, torch.arange(6000)).shape))

# %% tags=["raises-exception", "nbval-ignore-output"]
buffered(long_text)

# %% [markdown]
# What the formula hides is float32. The angle $p\,\theta_m$ grows with $p$, and its rounding error
# grows along.

# %%
from course_utils.encodings.functional import sinusoidal_frequencies

theta = sinusoidal_frequencies(128)
for p in (100, 10_000, 1_000_000):
    in_float32 = (p * theta.float()).sin()
    in_float64 = (p * theta).sin()
    error = (in_float32 - in_float64).abs().max()
    print(f"position {p:9,}: sines of float32 angles are off by up to {error:.0e}")

# %%
for width in (2, 128):
    rows = sinusoidal_table(torch.arange(10_000), width)
    for dtype in (torch.float32, torch.bfloat16):
        distinct = len(rows.to(dtype).float().unique(dim=0))
        print(f"D = {width:3} in {str(dtype):14}: {distinct:6,} different vectors of 10,000")

# %% [markdown]
# **Look:** the error grows with the position, to a few hundredths at a million. This package
# computes angles in float64 where the device can, and rounds the result. A table stored in bfloat16
# is another matter: one hand runs out of numbers. In 128 columns all 10,000 are still told apart.

# %% [markdown]
# ## Which axis is the text?
#
# Older code keeps the text on the first axis: (seq, batch, width). PyTorch's own layers still do,
# unless told otherwise.

# %%
from inspect import signature

batch_first = signature(torch.nn.Transformer).parameters["batch_first"].default
print("nn.Transformer, batch_first unless you say otherwise:", batch_first)


class SequenceFirst(torch.nn.Module):
    """A table (max_len, 1, d_model), cut to the size of the first axis."""

    def __init__(self, d_model, max_len):
        super().__init__()
        self.register_buffer("table", sinusoidal_table(torch.arange(max_len), d_model)[:, None])

    def forward(self, x):
        return x + self.table[: x.size(0)]


# %%
from course_lab import widgets

guess = widgets.predict(
    "SequenceFirst gets two texts of three tokens as (batch, seq, width). What happens?",
    ["an error", "each token gets its own position", "each text gets one position"],
)

# %%
added = SequenceFirst(8, max_len=5000)(torch.zeros(2, 3, 8))  # (batch, seq, width)
rows = torch.cdist(added, sinusoidal_table(torch.arange(3), 8)[None]).argmin(-1)  # (2, 3)
for text in range(2):
    print(f"text {text}: its three tokens got the rows", rows[text].tolist())
by_text = torch.equal(rows, torch.tensor([[0, 0, 0], [1, 1, 1]]))
guess.reveal("each text gets one position" if by_text else "each token gets its own position")

# %% [markdown]
# **Look:** no error, since the shapes fit. All tokens of a text stand at one place, and the model
# is as blind to order as in lesson 01. Texts differ instead, by where they stand in the batch. In
# lesson 11 you meet a patient with this fault. So write the test for it.
#
# **Exercise 1 ★ Its axes.** `module(x)` returns words with position in them, (batch, seq, 8), from
# words `x` of that shape. It may add, multiply or turn. Write `knows_its_axes(module)`: True if
# what a word gets depends on its place in its text, and not on the place of its text in the batch.


# %% tags=["stub"]
def knows_its_axes(module):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def knows_its_axes(module):
    texts = module(torch.ones(4, 5, 8))  # one word everywhere, so only places can differ
    same_texts = torch.allclose(texts[1:], texts[:-1])
    different_tokens = not torch.allclose(texts[:, 1:], texts[:, :-1])
    return same_texts and different_tokens


# %%
from course_lab.checks.lesson02 import check_before_after, check_knows_its_axes

check_knows_its_axes(knows_its_axes)

# %% [markdown]
# ## A power, or exp of a logarithm?
#
# Most code does not write $b^{-2m/D}$. It writes $\exp(-\ln b \cdot 2m/D)$, "against overflow". Is
# anything to be feared?

# %%
import math

exact = 10_000.0 ** -(torch.arange(0, 128, 2, dtype=torch.float64) / 128)
for dtype in (torch.float32, torch.bfloat16, torch.float16):
    share = torch.arange(0, 128, 2).to(dtype) / 128  # 2m/D
    speeds = {"power": 10_000.0**-share, "exp": (-share * math.log(10_000.0)).exp()}
    for name, speed in speeds.items():
        error = (speed.double() / exact - 1).abs().max()
        bound = 10.0 ** math.ceil(error.log10())  # the next power of ten
        print(f"{str(dtype):14} {name:5}: off by less than {bound:.0e} of the speed")

# %%
share = torch.arange(0, 128, 2).half() / 128
base = torch.tensor(1e6).half()
print(f"base 1,000,000 in float16 is {base:.0f}; the fastest speeds by power", (base**-share)[:3])

# %% [markdown]
# **Look:** at base 10,000 nothing overflows, at any of these precisions. In float32 both agree to
# a millionth, and the power is the nearer one. exp has a point where the base itself has no number:
# float16 ends at 65,504. Compute angles in float32 at least, and the choice is one of taste.
#
# ## Alternating or grouped?
#
# Sine and cosine alternate "so that neighbouring dimensions stay correlated", some tutorials say.
# Code for Whisper and others writes all sines, then all cosines.

# %%
from course_utils.encodings.functional import shift_matrix

codes = sinusoidal_table(torch.arange(512), 128)
grouped = torch.cat([torch.arange(0, 128, 2), torch.arange(1, 128, 2)])  # sines, then cosines
apart = codes[:, grouped]
torch.testing.assert_close(apart @ apart.T, codes @ codes.T)
shift = shift_matrix(3, 128)[grouped][:, grouped]  # the same matrix, its rows and columns moved
torch.testing.assert_close(apart[:-3] @ shift.T, apart[3:], atol=1e-4, rtol=0)
for name, table in {"alternating": codes, "grouped": apart}.items():
    neighbours = torch.corrcoef(table.double().T).diagonal(1).abs().mean()
    print(f"{name:11}: correlation of neighbouring columns, its size on average {neighbours:.2f}")

# %% [markdown]
# **Look:** dot products are the same, and so is the shift by one matrix. Neighbouring columns are
# even *more* correlated when grouped: two sines of nearly one speed, where a sine and its cosine
# differ by a quarter turn. A layer that multiplies by a learned matrix cannot tell the two orders
# apart. Only code that mixes them can (lesson 05's layouts).

# %% [markdown]
# ## What it does to attention
#
# Back to the buffaloes of lesson 01, now 24 of them. The tokens are identical, so without
# position the attention is uniform. We choose $W_k = W_q$ (random), so that each query looks for
# its own kind.

# %%
from course_lab.measures import diagonal_strength
from course_lab.sentences import word_vectors
from course_utils.attention import MultiHeadAttention

torch.manual_seed(0)
heads = MultiHeadAttention(128, 4, encoding).requires_grad_(False)
heads.W_q.weight.copy_(torch.randn(128, 128) / 128**0.5)
heads.W_k.weight.copy_(heads.W_q.weight)

# %%
x = word_vectors(["buffalo"] * 24, 128)[None]
without_pe = heads.attend(x, need_weights=True)[1][0]  # (4, 24, 24), door 1 left out
with_pe = heads(x, need_weights=True)[1][0]  # (4, 24, 24)
for name, weights in (("without", without_pe), ("with", with_pe)):
    nats, own_weight = measures.entropy(weights).mean(-1), diagonal_strength(weights)
    print(f"{name:8} entropy", [f"{v:.2f}" for v in nats.tolist()], "nats")
    print(f"{'':8} weight on the own position", [f"{v:.3f}" for v in own_weight.tolist()])
print(f"uniform: entropy {math.log(24):.2f}, weight {1 / 24:.3f}")

# %% tags=["plumbing"]
# Four heads
fig, axes = plt.subplots(1, 4, figsize=(10.5, 3.1), sharey=True)
top = with_pe.max().item()
for head, ax in enumerate(axes):
    figures.attention(
        ax, with_pe[head], title=f"head {head}", limit=top, unit="weight" if head == 3 else ""
    )
strength = diagonal_strength(with_pe)
plots.show(
    fig,
    "Attention of 24 identical tokens with sinusoidal positions, four heads. All show a band "
    f"along the diagonal. Mean weight on the own position {strength.min():.2f} to "
    f"{strength.max():.2f}, against {1 / 24:.2f} for uniform attention.",
)

# %% [markdown]
# **Look:** the same token now gets different weights at different places. On the diagonal they are
# about twice the uniform ones. Does that need $W_k = W_q$? With two independent matrices:

# %%
torch.manual_seed(1)
heads.W_k.weight.copy_(torch.randn(128, 128) / 128**0.5)
independent = heads(x, need_weights=True)[1][0]
print("entropy", [f"{v:.2f}" for v in measures.entropy(independent).mean(-1).tolist()], "nats")
print("diagonal", [f"{v:.3f}" for v in diagonal_strength(independent).tolist()])

# %% [markdown]
# **Look:** the entropy falls here too. But the diagonal is no favourite. The encoding *offers*
# nearness. Queries and keys must be matched to take the offer, and that is what training is
# for.

# %% [markdown]
# ## Fingerprint and passport

# %% tags=["plumbing"]
# The fingerprint: scores of identical tokens
scores = measures.fingerprint(encoding, 48)
centred = scores - scores.mean((-1, -2), keepdim=True)
ranges = [f"{(head.max() - head.min()).item():.2f}" for head in centred]
plots.show(
    figures.fingerprint(scores, "Fingerprint of sinusoidal"),
    "Four squares, one a head. Head 0 has a narrow band along the diagonal, head 1 a wide one, "
    f"heads 2 and 3 are almost blank. Spread of the scores: {', '.join(ranges)}.",
)
one_word = word_vectors(["buffalo"] * 48, 128)[None]  # (1, 48, 128)
word_scores = measures.position_scores(encoding, one_word, torch.arange(48))[0]
print(f"deviation within a diagonal: {measures.toeplitz_error(scores):.0e} in the fingerprint,")
print(f"                             {measures.toeplitz_error(word_scores):.1f} for one word alone")

# %%
from course_lab.measures import passport_text

facts = measures.passport("sinusoidal")
print(passport_text(facts))

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
# ## Myth check
#
# Guess first. In brackets: what the claim speaks of, and by which yardstick it is judged.

# %% tags=["plumbing"]
# Four claims
from course_lab.claims import Claim, Myths

WIDTHS = (64, 128, 512)


def exact(text, scope):
    return Claim(text, scope=scope, evidence="exact")


claims = {
    "C07": exact("Every position gets its own vector.", "widths 64–512, 10,000 positions, float32"),
    "C16": Claim(
        "The first row of the table starts 0.8415, 0.5403.",
        scope="the row that the first token gets, in code that alternates sines and cosines",
        evidence="exact",
        choice="the number of the first position",
    ),
    "C12": exact("Dimension 0 has wavelength 1.", "D = 128, in positions a turn"),
    "C13": exact(
        "At D = 512 the slowest pair has 10000^(510/512) ≈ 9540 in its denominator.",
        "≈: at most 5 off",
    ),
}

# %% tags=["plumbing"]
# Three more claims
claims |= {
    "C17": exact(
        "All encodings have the same length (norm).",
        "widths 64–512, positions below 512; equal to 1e-5 of it",
    ),
    "C14": exact(
        "A module with a 5000-row buffer reads 6000 tokens without change.",
        "a module that cuts its stored table to the length of the text",
    ),
    "C18": exact(
        "In long sequences positions collide because high frequencies wrap around.",
        "widths 64–512, up to 100,000 apart; collide: closer than neighbours are",
    ),
}
myths = Myths(claims)

# %% tags=["plumbing"]
# C07, C16, C12, C13, C14, C17
distinct = {}
for width in WIDTHS:
    rows = sinusoidal_table(torch.arange(10_000), width)
    distinct[width] = len(rows.unique(dim=0))
myths.settle(
    "C07",
    {f"D = {width}": count == 10_000 for width, count in distinct.items()},
    f"Of 10,000 positions {min(distinct.values()):,} are different, at each width.",
)
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
turn_of_hand_0 = wavelengths(128)[0].item()
myths.settle("C12", {"D = 128": abs(turn_of_hand_0 - 1) < 0.01}, f"It is {turn_of_hand_0:.3f}: 2π.")
denominator = 1 / sinusoidal_frequencies(512)[-1].item()
myths.settle(
    "C13", {"D = 512": abs(denominator - 9540) <= 5}, f"The denominator is {denominator:.1f}."
)
myths.settle(
    "C14",
    {"6000 tokens": buffer_rows == 6000},
    f"It has rows for {buffer_rows} of them, and stops.",
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

# %% tags=["plumbing"]
# C18
offsets = torch.arange(1, 100_001, dtype=torch.float64)
closer = {}
for width in WIDTHS:
    cosines = sum((offsets * theta).cos() for theta in sinusoidal_frequencies(width))
    distances = (width - 2 * cosines).sqrt()  # |PE(p) − PE(p + k)|, for every p
    closer[width] = (distances.min() / distances[0]).item()  # distances[0]: of neighbours
myths.settle(
    "C18",
    {f"D = {width}": share < 1 for width, share in closer.items()},
    f"The closest two of 100,000 positions are neighbours, at each width: "
    f"{min(closer.values()):.3f} of the neighbours' distance.",
)

# %% [markdown]
# ## Before or after?
#
# The dot product does not know which way. A score may have any matrix between:
# $PE_p^\top W\, PE_r$.
#
# **Exercise 2 ★★ Before or after?** Write `before_after(d_model)`: a (d_model, d_model) tensor $W$
# for which this score is above 0 whenever key $r$ is earlier than query $p$, and below 0 whenever
# it is later, for all positions below 100 and every even width from 64 on. At most two entries may
# differ from 0.


# %% tags=["stub"]
def before_after(d_model):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def before_after(d_model):
    W = torch.zeros(d_model, d_model)
    W[-2, -1] = 1  # sin a · cos b − cos a · sin b = sin(a − b), of the slowest hand
    W[-1, -2] = -1
    return W


# %%
check_before_after(before_after)

# %% [markdown]
# ## In five lines
#
# - The base sets how slow the slowest hands are; a narrow table has few hands, and an odd one a
#   lone sine.
# - The formula has no longest length. A buffer has one.
# - Float32 angles lose precision far out; in bfloat16 one hand runs out of numbers.
# - Sinusoids offer nearness to attention; queries and keys have to be matched to take it.
# - The dot product of two codes knows their distance only, that of two sums does not.
#
# **Back to:** [lesson 02](../02_sinusoidal.ipynb). **Next:**
# [word and place](02_word_and_place.ipynb).
