# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   order_matters:
#     edition: 2
#     lines: [1, 5]
# ---

# %% [markdown]
# # 05 · RoPE
#
# **Question:** can a rotation carry offsets, for a position's price?
#
# After this lesson you can
#
# - derive the turn of rotary position embedding (RoPE) from three wishes, and write it;
# - recognise it in libraries;
# - draw a score by distance, and see what it does past the distances it was made for.
#
# **Time:** {minutes}. **Builds on:** attention. Lessons 02 and 04 help, but are not needed.
# **Doors:** 2, queries and keys. **Beyond:** [in practice](closer/05_in_practice.ipynb),
# [under the X-ray](closer/05_under_the_x_ray.ipynb).

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start(doors=["rotate"], title="Lesson 05: RoPE opens door 2")

# %% [markdown]
# ## One pair of numbers
#
# Attention compares a *query* with every *key*. Their dot product is a **score**, and softmax makes
# weights of the scores. Both come from the vectors of words, $q = x W_q$ and $k = x' W_k$. In a
# first layer a word that comes twice has the same query twice: nothing says where it stands. (One
# set of such matrices is a *head*. A model has many.)
#
# With two numbers each, query and key are arrows. Now **turn** them: the query at position $p$ by
# $p\,\theta$ radians, the key at $r$ by $r\,\theta$. (A whole turn is $2\pi$, about 6.3.) Guess,
# then move both.

# %%
from course_lab import explorers, widgets

guess = widgets.predict(
    "The query stands at 12, the key at 9. Both move 10 positions on. What does their dot product "
    "do?",
    ["it stays", "it changes", "it stays only if 10·θ is a whole number of turns"],
)

# %%
explorers.turned_pair()

# %% tags=["plumbing"]
# The answer, and the arrows
import cmath

import matplotlib.pyplot as plt
from matplotlib.patches import Arc, FancyArrowPatch

from course_utils import plots

fig, axes = plt.subplots(1, 3, figsize=(9.5, 3.9), sharey=True)
tip = {"arrowstyle": "-|>", "mutation_scale": 18, "shrinkA": 0, "shrinkB": 0}
products = []
for ax, pair in zip(axes, ((0, 0), (12, 9), (22, 19)), strict=True):
    p, r = pair
    query, key = (1 + 0.4j) * cmath.exp(0.3j * p), (-0.2 + 0.9j) * cmath.exp(0.3j * r)
    products.append((query * key.conjugate()).real)
    for name, arrow, colour in (("query", query, "C0"), ("key", key, "C1")):
        ax.add_patch(plt.Circle((0, 0), abs(arrow), fill=False, color="0.85"))
        head = (arrow.real, arrow.imag)
        ax.add_patch(FancyArrowPatch((0, 0), head, color=colour, lw=3, **tip))
        label = 1.38 * arrow / abs(arrow)
        ax.text(label.real, label.imag, name, color=colour, ha="center", va="center")
    between = cmath.phase(key / query)
    start, end = sorted((cmath.phase(query), cmath.phase(query) + between))
    degrees = [180 / cmath.pi * radians for radians in (start, end)]
    ax.add_patch(Arc((0, 0), 0.9, 0.9, theta1=degrees[0], theta2=degrees[1], color="0.25", lw=2))
    angle = f"{-between:.2f}".replace("-", "−")
    ax.text(0, -1.95, f"from key to query: {angle}", fontsize=10, ha="center")
    ax.set(xlim=(-1.6, 1.6), ylim=(-2.2, 1.6), aspect="equal")
    ax.set(xticks=(-1, 0, 1), yticks=(-1, 0, 1))
    ax.set_title(f"query at {p}, key at {r}: q·k = {products[-1]:.2f}")
guess.reveal("it stays" if abs(products[1] - products[2]) < 1e-9 else "it changes")
plots.show(
    fig,
    "Three times a query and a key as arrows on circles: as they are, turned at positions 12 and "
    "9, and turned at 22 and 19. In the last two they point elsewhere, but the angle between them "
    f"and the dot product, {products[1]:.2f}, are the same.",
)

# %% [markdown]
# **Look:** at 22 and 19 both arrows point elsewhere, but the angle *between* them stays. A
# dot product knows two lengths and that angle. It is $\varphi$ before any turn, from key to
# query: −1.41. The turns add $(p - r)\,\theta$, here 0.9:
#
# $$q_p \cdot k_r = |q|\,|k|\,\cos\big(\varphi + (p - r)\,\theta\big)$$
#
# Of the two positions only $p - r$ is left, how far back the key is: minus lesson 04's offset,
# $j - i$. RoPE is *relative*.
#
# ## What adding costs
#
# But why turn? Before, a vector $E_p$ was *added* to the word at position $p$, in 2017 lesson 02's
# sines and cosines. In the first layer a score has lesson 00's four parts:
#
# $$(x + E_p)\cdot(x' + E_r) = x\cdot x' + x\cdot E_r + E_p\cdot x' + E_p\cdot E_r$$
#
# ($W_q$ and $W_k$ are left out.) Here is one word a hundred times:

# %%
import torch

from course_utils.encodings.functional import sinusoidal_table

W_q, W_k = torch.randn(2, 64, 64) / 8  # 8 is √64
x = torch.randn(64).expand(100, -1)  # one word at 100 positions
E = sinusoidal_table(torch.arange(100), 64)  # the vectors of 2017, one a position
parts = {
    "word · word": (x @ W_q) @ (x @ W_k).T / 8,
    "word · position": (x @ W_q) @ (E @ W_k).T / 8,
    "position · word": (E @ W_q) @ (x @ W_k).T / 8,
    "position · position": (E @ W_q) @ (E @ W_k).T / 8,
}
score = sum(parts.values())  # (100, 100)

# %% tags=["plumbing"]
# The vectors and the four parts
fig, (table, *axes) = plt.subplots(1, 5, figsize=(14, 3.2), sharey=True, layout="constrained")
plots.heatmap(table, E, title="E, one row a position", xlabel="feature", signed=True, equal=True)
table.set_ylabel("position")
limit = max(part.abs().max().item() for part in parts.values())
for ax, name in zip(axes, parts, strict=True):
    plots.heatmap(ax, parts[name], title=name, xlabel="key", signed=True, limit=limit, equal=True)
axes[0].set_ylabel("query")
fig.colorbar(axes[-1].images[0], ax=axes, label="part of the score", shrink=0.8)
change = (score[50:, 50:] - score[:50, :50]).abs().max()
lengths = (torch.nn.functional.layer_norm(x + E, (64,)) @ W_q).norm(dim=1)
varies = bool(lengths.max() > 1.05 * lengths.min())
print("Both 50 positions on, a score changes by more than 1:", bool(change > 1))
print("The query's length varies by more than 5 %, even after a LayerNorm:", varies)
plots.show(
    fig,
    "Left, the vectors E: waves down the positions, fast in the first features and slow in the "
    "last. Then four squares of queries by keys. Word · word has one colour. Word · position has "
    "upright stripes, position · word level ones, position · position a pattern. In the last "
    "three the colour changes along each diagonal, which is one distance.",
)

# %% [markdown]
# **Look:** a diagonal is one distance, and would have one colour if only distance counted. But the
# second part sees where the *key* stands, the third where the *query* does. The fourth would be
# even, if $W_q$ and $W_k$ did not stand between. A text that moves gets other scores, and queries
# other lengths.
#
# ## What may we do instead?
#
# Three wishes, kin of lesson 02's:
#
# 1. **Lengths stay.** No word gets louder by where it stands.
# 2. **A shared move cancels.** Both $s$ positions on, and the score stays.
# 3. **Distances differ.** Doing nothing would grant the first two.
#
# Let one matrix do a step, and its $p$-th power $p$ steps. Here are six, and the last is yours.

# %%
import math

cos, sin = math.cos(0.3), math.sin(0.3)
steps = {
    "nothing": [[1, 0], [0, 1]],
    "stretch": [[1.1, 0], [0, 0.9]],
    "shear": [[1, 0.3], [0, 1]],
    "mirror": [[cos, sin], [sin, -cos]],
    "turn": [[cos, -sin], [sin, cos]],
    "yours": [[1, -0.3], [0.3, 1]],
}

# %%
guess = widgets.predict(
    "A mirror keeps lengths, as a turn does. Which of the other two wishes does it break?",
    ["neither", "a shared move cancels", "distances differ", "both"],
)

# %% tags=["plumbing"]
# The answer, and which step grants which wish
import pandas as pd

from course_utils import measures

vectors = torch.tensor([[1.0, 0.4], [-0.2, 0.9], [0.9, 0.2]], dtype=torch.float64)  # q, two keys
columns = ("lengths stay", "a shared move cancels", "distances differ")
granted = {}
for name, step in steps.items():
    R = torch.tensor(step, dtype=torch.float64)
    powers = torch.stack([R.matrix_power(p) for p in range(12)])
    queries, *keys = (powers @ vector for vector in vectors)  # (12, 2) each
    scores = [queries @ key.T for key in keys]  # (12, 12) each
    by_distance = torch.stack([score[:, 0] for score in scores], dim=1)
    granted[name] = (
        all(bool(moved.norm(dim=1).std() < 1e-9) for moved in (queries, *keys)),
        all(measures.toeplitz_error(score) < 1e-9 for score in scores),  # 0: even diagonals
        bool(torch.pdist(by_distance).min() > 1e-9),  # of 12 distances, no two have equal scores
    )
broken = [wish for wish, kept in zip(columns[1:], granted["mirror"][1:], strict=True) if not kept]
guess.reveal("both" if len(broken) == 2 else broken[0] if broken else "neither")
ticks = [["✓" if mark else "✗" for mark in marks] for marks in granted.values()]
pd.DataFrame(ticks, index=list(granted), columns=list(columns))

# %% [markdown]
# **Look:** this turn has three ticks. (A quarter turn has two: it comes round.) A mirror twice is
# nothing: positions 0, 2, 4 are alike.
#
# Change `yours`. Three ticks without a turn?
#
# **No.** Say position $p$ applies one matrix $R_p$ to query or key, and position 0 none. Wish 2,
# from positions $(0, r)$ to $(s, s + r)$, says $R_r = R_s^\top R_{s+r}$. By wish 1 $R_s^\top$
# undoes $R_s$, so $R_{s+r} = R_s R_r$: many steps are one step, repeated. A step that keeps lengths
# in the plane is a turn or a mirror, and the table shows what a mirror breaks.
#
# ## Many pairs
#
# At $\theta = 0.3$, 21 positions are nearly a whole turn: one pair hardly tells 21 from 0. A head
# of width $d$ has $d/2$ pairs, lesson 02's clock hands, with their speeds (base $b = 10{,}000$):
#
# $$\theta_m = b^{-2m/d}, \qquad m = 0 \ldots d/2 - 1$$

# %%
for m in (0, 8, 16, 24, 31):  # of a head of width 64
    theta = 10_000.0 ** (-2 * m / 64)
    print(f"pair {m:2} takes {2 * math.pi / theta:8,.0f} positions for a turn")

# %% [markdown]
# Each is slower than the last by one factor. A larger base slows all but the first.
#
# Position $p$ multiplies by a matrix of blocks, here for $d = 4$:
#
# $$R_p = \begin{pmatrix} \cos p\theta_0 & -\sin p\theta_0 & & \\
# \sin p\theta_0 & \cos p\theta_0 & & \\ & & \cos p\theta_1 & -\sin p\theta_1 \\
# & & \sin p\theta_1 & \cos p\theta_1 \end{pmatrix}$$
#
# **Exercise 1 ★ Write it.** `x` (…, n, d) are queries or keys, `positions` (n,) where they stand.
# Features 0 and 1 are pair 0, features 2 and 3 pair 1. Return them turned.


# %% tags=["stub"]
def rope_from_scratch(x, positions, base):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def rope_from_scratch(x, positions, base):
    d = x.shape[-1]
    speeds = base ** (-torch.arange(0, d, 2) / d)  # (d/2,)
    angles = positions[:, None] * speeds  # (n, d/2)
    a, b = x[..., 0::2], x[..., 1::2]
    first = a * angles.cos() - b * angles.sin()
    second = a * angles.sin() + b * angles.cos()
    return torch.stack([first, second], dim=-1).flatten(-2)


# %%
from course_lab.checks.lesson05 import check_rope

check_rope(rope_from_scratch)

# %% [markdown]
# ## The code that you will meet
#
# Meta's Llama writes one product. Read a pair $(a, b)$ as one *complex* number $a + b\,\mathrm{i}$,
# where $\mathrm{i}^2 = -1$. Times $\cos\alpha + \mathrm{i}\sin\alpha$ it becomes
# $(a\cos\alpha - b\sin\alpha) + (a\sin\alpha + b\cos\alpha)\,\mathrm{i}$: our turn.
# Libraries call the base `rope_theta` and the speeds `inv_freq`.


# %%
def angles_of(positions, d, rope_theta=10_000.0):
    """Radians, (n, d/2). In double precision, since angles grow with the position."""
    inv_freq = rope_theta ** (-torch.arange(0, d, 2).double() / d)
    return positions[:, None] * inv_freq


def turned(x, positions):
    angles = angles_of(positions, x.shape[-1])
    factors = torch.polar(torch.ones_like(angles), angles)  # cos + i sin
    pairs = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * factors).flatten(-2).to(x.dtype)


# %% [markdown]
# Hugging Face's Llama pairs feature $m$ with $m + d/2$, so that halves of a vector trade places.


# %%
def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat([-b, a], dim=-1)


def turned_by_halves(x, positions):
    angles = angles_of(positions, x.shape[-1]).repeat(1, 2)
    return x * angles.cos().float() + rotate_half(x) * angles.sin().float()


# %% tags=["plumbing"]
# Matrix, product, halves and the reference are one turn
from course_utils.encodings.functional import apply_rope, rope_angles, rope_frequencies

positions, x = torch.arange(100), torch.randn(2, 4, 100, 64)  # (batch, heads, n, d)
order = torch.cat([torch.arange(0, 64, 2), torch.arange(1, 64, 2)])  # firsts, then seconds
for start in (0, 100_000):
    halves = turned_by_halves(x[..., order], positions + start)
    assert torch.allclose(halves, turned(x, positions + start)[..., order], atol=1e-4)
angles = [9 * 10_000.0 ** (-2 * m / 64) for m in range(32)]  # at position 9
blocks = [
    [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]] for angle in angles
]
R_9 = torch.block_diag(*map(torch.tensor, blocks))
assert torch.allclose(x[..., 9, :] @ R_9.T, turned(x, positions)[..., 9, :], atol=1e-4)
reference = apply_rope(x, rope_angles(positions, rope_frequencies(64)))
assert torch.allclose(turned(x, positions), reference, atol=1e-5)
print("block matrix = complex product = halves, once the features are in order")

# %% [markdown]
# Weights of one order run in the other without an error, and the model reads badly
# ([closer look](closer/05_in_practice.ipynb)).
#
# ## Where to turn
#
# Queries and keys come from one $x$. Would one turn of $x$ do?

# %%
word, positions = torch.randn(64).expand(100, -1), torch.arange(100)
x_turned = turned(word, positions)
ways = {
    "q and k turned": (turned(word @ W_q, positions), turned(word @ W_k, positions)),
    "x turned": (x_turned @ W_q, x_turned @ W_k),
}
scores = {way: q @ k.T / 8 for way, (q, k) in ways.items()}

# %% tags=["plumbing"]
# The scores as pictures
uneven = {way: measures.toeplitz_error(score) for way, score in scores.items()}
v, weights = torch.randn(100, 64), scores["q and k turned"].softmax(-1)
change = (weights @ (turned(v, positions) - turned(v, positions + 5))).abs().max()
print("With v turned, a text 5 positions on gives another output:", bool(change > 0.1))
fig, axes = plt.subplots(1, 2, figsize=(8, 3.5), sharey=True)
limit = max(score.abs().max().item() for score in scores.values())
for ax, way in zip(axes, scores, strict=True):
    plots.heatmap(ax, scores[way], title=way, xlabel="key", signed=True, limit=limit, equal=True)
axes[0].set_ylabel("query")
fig.colorbar(axes[-1].images[0], ax=axes, label="score", shrink=0.8)
described = ", ".join(f"{way}: {'one' if gap < 1e-3 else 'many'}" for way, gap in uneven.items())
plots.show(
    fig,
    "Scores of one word at 100 positions with itself. Left, every diagonal has one colour; right, "
    f"colours change along it. Colours along a diagonal: {described}.",
)

# %% [markdown]
# **Look:** it would not. On the right two matrices stand between the turns, which no longer cancel.
# So RoPE comes last: on $q$ and $k$, in each head, and in *each* layer that has it. (Added vectors
# come once, before the first.) The values $v$ stay: turned, they would hand on something else when
# the text moves, unless the output is turned back.


# %%
def attention(x, W_q, W_k, W_v, positions, heads=4):
    q, k, v = (
        (x @ W).unflatten(-1, (heads, -1)).transpose(-3, -2)  # (…, heads, n, d)
        for W in (W_q, W_k, W_v)
    )
    q, k = turned(q, positions), turned(k, positions)  # RoPE
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    return out.transpose(-3, -2).flatten(-2)  # (…, n, heads · d)


# %% tags=["plumbing"]
# The same text elsewhere
text, matrices, places = torch.randn(2, 20, 64), torch.randn(3, 64, 64) / 8, torch.arange(20)
here, later, nowhere = (attention(text, *matrices, p) for p in (places, places + 1000, 0 * places))
print("1,000 positions on, the layer's output stays:", torch.allclose(here, later, atol=1e-3))
print("Without the turns it is another:", not torch.allclose(here, nowhere, atol=1e-3))

# %% [markdown]
# **That is RoPE**, if you came for it this evening:
#
# - An added position mixes with the word and changes lengths. A turn leaves lengths alone.
# - Turn query and key by their positions, and the dot product sees only the offset.
# - Many pairs, many speeds. Turn $q$ and $k$, after the matrices.
#
# ## A score is a sum of waves
#
# By our first formula each pair brings a wave. For a key $\Delta = p - r$ back
#
# $$\text{score}(\Delta) = \sum_m |q_m|\,|k_m|\,\cos(\varphi_m + \Delta\,\theta_m)$$

# %% tags=["plumbing"]
# The sum of waves is the score
q, k = torch.randn(2, 64)
arrows_q, arrows_k = (torch.view_as_complex(vector.view(32, 2)) for vector in (q, k))
height = arrows_q.abs() * arrows_k.abs()  # (32,), of each pair's wave
phase = arrows_q.angle() - arrows_k.angle()
distance = torch.arange(513)
waves = height * (phase + angles_of(distance, 64)).cos()  # (513, 32)
query, keys = turned(q[None], torch.tensor([512])), turned(k.expand(513, -1), 512 - distance)
assert torch.allclose(waves.sum(1).float(), (query @ keys.T)[0], atol=1e-3)
print("sum of 32 waves = q·k, turned, at distances 0 to 512")

# %% [markdown]
# So a head can *wish* for a score at each distance, and take the heights and phases that come
# nearest (least squares, with a small price on height).

# %%
guess = widgets.predict(
    "Wish, for a head of width 64: score 1 up to distance 16, and 0 from 20 to 64. Past 64 we wish "
    "for nothing. How high does the fitted score get at distances 65 to 256, at base 10,000?",
    ["it stays below 0.25", "0.25 to 0.5", "above 0.5"],
)

# %% tags=["plumbing"]
# The fit, the answer, and both wishes
near = distance[:65].double()
wishes = {
    "the nearest 16": ((20 - near) / 4).clamp(0, 1),
    "12 back": (1 - (near - 12).abs() / 4).clamp(min=0),
}


def fitted(wish, d=64, price=0.1):
    """The scores (513,) of the query and key of width d that come nearest to the wish."""
    angles = angles_of(distance, d)
    waves = torch.cat([angles.cos(), -angles.sin()], dim=1)  # (513, d)
    wished = waves[: len(wish)]
    square = wished.T @ wished + price * torch.eye(d)
    return waves @ torch.linalg.solve(square, wished.T @ wish)


profiles = {name: fitted(wish) for name, wish in wishes.items()}
levels = ["it stays below 0.25", "0.25 to 0.5", "above 0.5"]
highest = {name: profile[65:257].max().item() for name, profile in profiles.items()}
guess.reveal(levels[min(2, int(highest["the nearest 16"] / 0.25))])
to_256 = fitted(((20 - distance[:257].double()) / 4).clamp(0, 1))
for colour, profile in {"blue": profiles["the nearest 16"], "green": to_256}.items():
    miss = (profile[:65] - wishes["the nearest 16"]).abs().max()
    print(f"the nearest 16, largest miss of the wish up to 64, {colour}: {miss:.2f}")
fig, axes = plt.subplots(1, 2, figsize=(10, 3.3), sharey=True)
for ax, name in zip(axes, profiles, strict=True):
    ax.axvspan(64, 512, color="0.94", linewidth=0)
    ax.plot(near, wishes[name], color="C1", linestyle=(0, (5, 2)), label="wished")
    ax.plot(distance, profiles[name], color="C0", linewidth=1.8, label="q·k, turned")
    ax.set(title=name, xlabel="distance (positions)", xlim=(0, 512), xticks=range(0, 513, 64))
    ax.text(288, 1.62, "blue: nothing was wished here", ha="center", color="0.35", fontsize=10)
axes[0].plot(distance, to_256, color="C2", linewidth=1.2, label="wished 0 up to 256, too")
axes[0].axvline(256, color="C2", linewidth=1, linestyle=":")
axes[0].set(ylabel="score", ylim=(-1.3, 1.8))
for ax in axes:
    ax.legend(loc="lower right", ncols=3, fontsize=8)
top = {name: int(profile[:300].argmax()) for name, profile in profiles.items()}
plots.show(
    fig,
    "Two wished profiles over distances 0 to 64 and the fitted scores up to 512. The nearest 16: "
    "the score follows the wish with rounded corners, and up to 256 comes back to "
    f"{highest['the nearest 16']:.1f}; fitted to a wish of 0 up to 256, it reaches "
    f"{to_256[65:257].max():.1f} there, and {to_256[257:].max():.1f} past it. 12 back: a hill with "
    f"its top at {top['12 back']}, and others past 64, up to {highest['12 back']:.1f}.",
)

# %% [markdown]
# **Look:** past 64 nobody fixed the waves, and here they come back. Wish for 0 up to 256 (green),
# and they come back later, with a larger miss.
#
# **Draw your own:** a wish that is met, and one that is not. How high is the top of "12 back" at
# head width 8, and at 128?

# %%
explorers.profile()

# %% [markdown]
# ## Is it better?
#
# It grants what lesson 04 ended with: in a layer a turn is made once a token, not for a query *and*
# a key.
# Fast, *fused* attention never writes all $n \times n$ scores down: T5's bias must get in there,
# RoPE is done before. A model that writes can keep turned keys, in its *cache*. (RoPE is of Jianlin
# Su, 2021, kexue.fm/archives/8265.)
#
# And its *loss*: how surprised a model is by each next byte? The course's **small models** (four
# layers) differ in their encoding: 1,200 steps on pieces of 64 bytes of Python's
# documentation, five seeds, paired differences. (A *nat* is 1.44 bits; ± is half of a 95 %
# interval.)

# %% tags=["plumbing"]
# RoPE's loss and that of others
from course_utils import results
from course_utils.models import TinyTransformer
from course_utils.texts import data


def weights_of(name):
    model = TinyTransformer(256, name, d_model=128, n_layers=4, n_heads=4, max_len=64)
    return sum(parameter.numel() for parameter in model.parameters())


trained = data.results("extrapolation").query("reading == 'as trained'")
gains = pd.DataFrame(columns=["reading 64 bytes", "reading 256", "weights, of RoPE's"])
for name in ("none", "learned", "sinusoidal", "t5", "shaw", "transformer_xl", "deberta"):
    changes = [
        results.change(trained.query("read == @n"), {"encoding": name}, {"encoding": "rope"})
        for n in (64, 256)
    ]
    share = f"{100 * weights_of(name) / weights_of('rope'):.0f} %"
    gains.loc[name] = [*map(str, changes), share]
gains.rename_axis("RoPE's loss less that of …")

# %% [markdown]
# **Look:** at 64 bytes, as trained, it is well ahead of vectors that are added to words. T5 and
# Shaw (lesson 04) are about equal, two larger ones, Transformer-XL and DeBERTa (vectors of offsets,
# too), a little ahead. At 256 it is behind all four, and even behind `none`, lesson 01's NoPE:
# lesson 07.
#
# ## In a real model
#
# SmolLM2-135M-Instruct (in 4 bits) was trained to read 8,192 tokens, its *context*, at base
# 100,000. We *stop* four of its 32 pairs: their angle stays 0.

# %%
guess = widgets.predict(
    "Pairs 24 to 27 take 35,000 tokens and more for a turn. In texts of which length does stopping "
    "them cost 0.1 nats a token or more, over the last 512 tokens?",
    ["of none", "of 4,096 tokens, not of 512", "of 512 too"],
)

# %% tags=["plumbing", "picture"]
# The answer, and the rise by group and length
losses = data.results("real_groups").pivot(index=["text", "length"], columns="way", values="loss")
rises = losses.sub(losses["as trained"], axis=0)
groups = {f"{first}–{first + 3}": f"pairs {first}-{first + 3} still" for first in (16, 20, 24, 28)}
means = rises[list(groups.values())].groupby("length").mean()
costly = [bool(means.loc[length, groups["24–27"]] >= 0.1) for length in (512, 4096)]
guess.reveal(
    "of 512 too" if costly[0] else "of 4,096 tokens, not of 512" if costly[1] else "of none"
)
fig, ax = plt.subplots(figsize=(6.7, 4))
lengths = list(means.index)
alone = rises["pair 23 still"].div(rises[groups["20–23"]]).unstack("length")[4096]
print(f"pair 23 alone, of what 20–23 cost at 4,096: {100 * alone.min():.0f} % or more a text")
for number, (name, way) in enumerate(groups.items()):
    first, last = (2 * math.pi * 100_000 ** (2 * int(m) / 64) for m in name.split("–"))
    at = torch.tensor(lengths).log2() + 0.04 * (number - 1.5)
    look = {"color": f"C{number}", "marker": "os^D"[number]}
    ax.plot(at, means[way], label=f"{name}: {first:,.0f} to {last:,.0f}", **look)
    for rises_of_a_text in rises[way].unstack("length").to_numpy():
        ax.plot(at, rises_of_a_text, linestyle="", markersize=3, alpha=0.5, **look)
ax.axhline(0.1, color="0.5", linewidth=1, linestyle=":")
ax.set_xticks(torch.tensor(lengths).log2(), [f"{n:,}" for n in lengths])
ax.set(xlabel="tokens of the text", ylabel="rise of loss, last 512 tokens\n(nats a token)")
fig.suptitle("What stopping four pairs costs SmolLM2 (small marks: each text)")
ax.legend(title="pairs, and tokens for a turn")
described = "; ".join(
    f"{name}: {', '.join(f'{rise:.2f}' for rise in means[way])}" for name, way in groups.items()
)
plots.show(
    fig,
    "Rise of the loss over the last 512 tokens, in texts of 512, 2,048, 4,096 and 8,000 tokens, "
    "when four pairs are stopped. Means of three texts, argparse.py and two of Python's "
    f"documentation, {described}.",
)

# %% [markdown]
# **Look:** in 512 tokens these pairs hardly turn, and stopping them costs little. In 4,096 they
# make less than an eighth of a turn, and it costs more than 0.1. In these three texts of Python,
# **how slow is slow depends on how long you read.** But speed is not all: pairs 16 to 19, the
# fastest here, cost less there than 20 to 27, and pair 23 alone costs much
# ([under the X-ray](closer/05_under_the_x_ray.ipynb)).

# %%
losses = data.results("real_positions").groupby("way")["loss"].mean()  # eight texts of 512 tokens
ways = ["as trained", *(f"pairs {first}-{first + 3} still" for first in (0, 8))]
ways += ["moved by 5000", "moved by 5000, rounded", "no position"]
losses[ways].round(1).rename("loss").to_frame()

# %% [markdown]
# In 512 tokens fast pairs count. A turn can carry position. The text reads the
# same 5,000 positions on, unless those are rounded to bfloat16 (8 binary digits).
# Without the turns that this model was *trained with*, its loss nearly doubles.
#
# ## Exercises
#
# **Exercise 2 ★ Forget the middle.** A chat has filled the cache. StreamingLLM (Xiao et al. 2023)
# keeps the first tokens and the newest, numbered anew, without gaps. It stores keys unturned.
# Hugging Face's SinkCache had only turned ones, as here. Write `closed(keys, kept)`: from
# `keys` (…, n, d), which our `turned` has turned at 0, 1, 2, …, and the positions `kept` (c,),
# ascending, make keys (…, c, d) that stand at 0 … c − 1. You may use `turned`.


# %% tags=["stub"]
def closed(keys, kept):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def closed(keys, kept):
    moves = torch.arange(len(kept)) - kept  # two turns make one: by how far each is moved
    return turned(keys[..., kept, :], moves)


# %%
from course_lab.checks.lesson05 import check_closed, check_partners

check_closed(closed)

# %% [markdown]
# **Exercise 3 ★★ Whose pairs?** Ask code which features it pairs. `turn(x, p)` is somebody's RoPE
# for vectors `x` (…, d) at position `p`, a number. Write `partners(turn, d)`: a tensor (d,),
# for each feature the number of the one that it is turned with; its own if it never turns.


# %% tags=["stub"]
def partners(turn, d):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def partners(turn, d):
    moved = turn(torch.eye(d), 1).abs()  # row a: where feature a alone is turned to
    moved.fill_diagonal_(0)
    largest, partner = moved.max(-1)
    return torch.where(largest > 0, partner, torch.arange(d))


# %%
check_partners(partners)

# %% [markdown]
# ## Myth check
#
# Guess first.

# %% tags=["plumbing"]
# Two claims
from course_lab.claims import Claim, Myths

myths = Myths(
    {
        "C32": Claim(
            "RoPE adds no parameters and leaves norms alone.",
            scope="plain RoPE in float32; alone: to 1e-5 of the norm",
            evidence="exact",
        ),
        "C35": Claim(
            "Attention under RoPE always decays with distance.",
            scope="scores of any queries and keys at distances 0 to 299, base 10,000",
            evidence="exact",
        ),
    }
)

# %% tags=["plumbing"]
# The verdicts
from course_utils.encodings import create

rope = create("rope", d_model=128, n_heads=4)
count = sum(parameter.numel() for parameter in rope.parameters())
gap = (turned_by_halves(x, positions).norm(dim=-1) / x.norm(dim=-1) - 1).abs().max().item()
myths.settle(
    "C32",
    {"parameters": count == 0, "norms": gap < 1e-5},
    f"{count} parameters; norms change by {'less than 1e-5' if gap < 1e-5 else f'{gap:.0e}'}.",
)

# %% tags=["plumbing"]
# Three kinds of queries and keys
many_q, many_k = torch.randn(2, 500, 64, generator=torch.Generator().manual_seed(2))


def over_distance(q, k):
    """Scores of queries with their keys, both (many, 64), at distances 0 to 299."""
    query = turned(q[:, None], torch.tensor([299]))
    keys = turned(k[:, None].expand(-1, 300, -1), torch.arange(299, -1, -1))
    return (query * keys).sum(-1)


equal_scores = over_distance(many_q, many_q).mean(0)
random_size = over_distance(many_q, many_k).square().mean(0).sqrt()
equal_share, random_share = (
    (size[200:].mean() / size[:50].mean()).item() for size in (equal_scores, random_size)
)
myths.settle(
    "C35",
    {
        "equal q and k, on the whole": equal_share < 0.9,
        "equal q and k, at every step": bool((equal_scores.diff() < 0).all()),
        "random q and k": random_share < 0.9,
        "the q and k made for 12 back": top["12 back"] == 0,
    },
    f"Scores of 500 at 200 to 299 as a share of those at 0 to 49: {equal_share:.2f} for equal q "
    f"and k, {random_share:.2f} for random. The pair made for 12 back scores most at "
    f"{top['12 back']}.",
)

# %% [markdown]
# ## In five lines
#
# - Turned by position, query and key see in their dot product only the offset.
# - A turn is made once a token, not for each query and key.
# - A score by distance is a sum of waves.
# - Past the distances it was fitted to they go on.
# - In short texts SmolLM2 hardly used slow pairs' turns.
#
# **Read next:** Su et al. 2021, arXiv 2104.09864, section 3; Barbero et al. 2024, arXiv 2410.06205.
#
# **Next:** what if distance were simply a cost? [Lesson 06](06_alibi.ipynb).
