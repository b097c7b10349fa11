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
# # 05 · RoPE
#
# **Question:** can a rotation carry position without adding anything?
#
# After this lesson you can
#
# - write rotary position embedding (RoPE) in a few lines, and prove its promise;
# - make a head look wherever you wish, and say what it does past the context;
# - X-ray a real language model: which numbers see *where*, which see *what*;
# - say why RoPE fits fast attention and caches.
#
# **Time:** {minutes}. **Builds on:** lessons 02 and 04. **Doors:** 2, queries and keys.
# **Beyond:** a [closer look](closer/05_in_practice.ipynb).

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start(doors=["rotate"], title="Lesson 05: RoPE opens door 2")

# %% [markdown]
# ## One pair of numbers
#
# So far something was always added: a vector to the word, or a term to the score. Here is a wish:
# add *nothing*, and let a text that moves read as before. A query of two numbers is an arrow. At
# position 12 we **turn** it by $12\,\theta$ radians, and a key at position 9 by $9\,\theta$. Then
# we take the dot product, as ever.

# %%
from course_lab import explorers, widgets
from course_utils import measures
from course_utils.texts import data

guess = widgets.predict(
    "Query and key both move 100 positions further. What does their dot product do?",
    ["it stays", "it changes", "it stays only if 100·θ is a whole number of turns"],
)

# %%
import cmath

q, k, theta = 1.0 + 0.4j, -0.2 + 0.9j, 0.3  # the arrows (1, 0.4) and (−0.2, 0.9)


def turned(arrow, position):
    return arrow * cmath.exp(1j * position * theta)  # a product with e^(iα) turns by α


def dot(q, k):
    return (q * k.conjugate()).real


for i, j in ((12, 9), (112, 109), (12, 8), (9, 12), (33, 9)):
    print(f"query at {i:3}, key at {j:3}: q·k = {dot(turned(q, i), turned(k, j)):.3f}")

# %% tags=["plumbing"]
# The answer
products = [dot(turned(q, at), turned(k, at - 3)) for at in (12, 112)]
guess.reveal("it stays" if abs(products[0] - products[1]) < 1e-9 else "it changes")

# %% tags=["plumbing"]
# The arrows, turned
import matplotlib.pyplot as plt
from matplotlib.patches import Arc, FancyArrowPatch

from course_utils import plots

fig, axes = plt.subplots(1, 3, figsize=(9.5, 3.9), sharey=True)
tip = {"arrowstyle": "-|>", "mutation_scale": 18, "shrinkA": 0, "shrinkB": 0}
for ax, pair in zip(axes, ((0, 0), (12, 9), (112, 109)), strict=True):
    i, j = pair
    arrows = {"query": turned(q, i), "key": turned(k, j)}
    for name, colour in (("query", "C0"), ("key", "C1")):
        z = arrows[name]
        ax.add_patch(plt.Circle((0, 0), abs(z), fill=False, color="0.85"))
        ax.add_patch(FancyArrowPatch((0, 0), (z.real, z.imag), color=colour, lw=3, **tip))
        label = 1.3 * z / abs(z)
        ax.text(label.real, label.imag, name, color=colour, ha="center", va="center")
    between = cmath.phase(arrows["key"] / arrows["query"])
    start, end = sorted((cmath.phase(arrows["query"]), cmath.phase(arrows["query"]) + between))
    degrees = [180 / cmath.pi * radians for radians in (start, end)]
    ax.add_patch(Arc((0, 0), 0.9, 0.9, theta1=degrees[0], theta2=degrees[1], color="0.25", lw=2))
    middle = 0.74 * cmath.exp(0.5j * (start + end))
    angle = f"{abs(between):.2f}"
    ax.text(middle.real, middle.imag, angle, fontsize=9, ha="center", va="center")
    ax.set(xlim=(-1.55, 1.55), ylim=(-1.55, 1.55), aspect="equal", xticks=(-1, 0, 1))
    ax.set_title(f"at {i} and {j}: q·k = {dot(*arrows.values()):.3f}")
    ax.set_xlabel(f"offset j − i: {j - i}".replace(": -", ": −"))
plots.show(
    fig,
    "Three times a query and a key as arrows on circles: as they are, turned at positions 12 and "
    "9, and turned at 112 and 109. In the last two they point elsewhere, but the angle between "
    "them and the dot product are the same.",
)

# %% [markdown]
# **Look:** in the last two pictures the arrows point elsewhere, but the angle *between* them is
# the same. A dot product knows two lengths and that angle, nothing else. Read a pair $(a, b)$ as
# the number $a + \mathrm{i}b$. Then a turn is a product with $e^{\mathrm{i}\alpha}$, the dot
# product is the real part of $q\,\bar k$, and the proof is one line:
#
# $$\mathrm{Re}\Big(q\,e^{\mathrm{i}p\theta}\;\overline{k\,e^{\mathrm{i}r\theta}}\Big)
# = \mathrm{Re}\Big(q\,\bar k\;e^{\mathrm{i}(p-r)\theta}\Big)$$
#
# The bar turns the key's angle round. Only the difference $p - r$ is left.

# %% [markdown]
# ## Many pairs
#
# The last line printed is a warning: 21 positions more, and nearly the same score. One pair
# forgets whole turns. So a head of width $d$ is cut into $d/2$ pairs, each with its own speed.
# Su et al. (2021) take those of lesson 02, with base $b = 10{,}000$:
#
# $$\theta_m = b^{-2m/d}$$
#
# That is all of RoPE:

# %%
import torch

from course_utils.encodings.functional import apply_rope, rope_angles, rope_frequencies


def rope_from_scratch(x, positions, base=10_000.0):
    """Queries or keys (…, seq, d), one head each → the same, turned."""
    d = x.shape[-1]
    speeds = base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)  # (pairs,)
    angles = positions[:, None] * speeds  # (seq, pairs), radians
    turns = torch.polar(torch.ones_like(angles), angles)  # e^(i·angle)
    pairs = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)))  # (…, seq, pairs)
    return torch.view_as_real(pairs * turns).flatten(-2).to(x.dtype)


# %%
places, x = torch.arange(100), torch.randn(2, 4, 100, 64)
reference = apply_rope(x, rope_angles(places, rope_frequencies(64)))
assert torch.allclose(rope_from_scratch(x, places), reference, atol=1e-5)
print("from scratch = reference, shape", tuple(x.shape))

# %% [markdown]
# ## Where to turn
#
# Queries and keys are made from the same vector $x$, by $W_q$ and $W_k$. One turn of $x$ would be
# cheaper than two.

# %%
guess = widgets.predict(
    "If x is turned before W_q and W_k, do the scores still depend on the offset alone?",
    ["yes", "no"],
)

# %%
from course_utils.encodings.functional import sinusoidal_table

W_q, W_k = torch.randn(2, 64, 64) / 8
word = torch.randn(64).expand(100, -1)  # one word at 100 places
x_turned, x_added = rope_from_scratch(word, places), word + sinusoidal_table(places, 64)
ways = {
    "q and k turned": [rope_from_scratch(word @ W, places) for W in (W_q, W_k)],
    "x turned": [x_turned @ W for W in (W_q, W_k)],
    "sinusoids added to x": [x_added @ W for W in (W_q, W_k)],
}
scores = {}
for name, vectors in ways.items():
    q, k = vectors
    scores[name] = q @ k.T / 8  # (100, 100)
uneven = {name: measures.toeplitz_error(score) for name, score in scores.items()}

# %% tags=["plumbing"]
# The answer, and the scores as pictures
guess.reveal("yes" if uneven["x turned"] < 1e-3 else "no")
fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.4), sharey=True)
for ax, name in zip(axes, scores, strict=True):
    plots.heatmap(ax, scores[name], title=name, xlabel="key", unit="score", signed=True, equal=True)
axes[0].set_ylabel("query")
described = ", ".join(f"{name}: {'one' if gap < 1e-3 else 'many'}" for name, gap in uneven.items())
plots.show(
    fig,
    "Scores of one word at 100 places with itself, in three ways. Left, every diagonal has one "
    f"colour; in the two others colours change along it. Colours along a diagonal: {described}.",
)

# %% [markdown]
# **Look:** on the left each diagonal has one colour. In the middle a matrix stands between the
# two turns, and they no longer cancel. So RoPE turns last: $q$ and $k$, in each head.
#
# ## A score is a sum of waves
#
# Over a distance of $\Delta$ tokens, a head's score is a sum over its pairs. Write $z_m$ for
# $q_m \bar k_m$:
#
# $$\text{score}(\Delta) = \sum_m \mathrm{Re}\big(z_m\,e^{\mathrm{i}\Delta\theta_m}\big)$$
#
# That is a **Fourier series**. Each pair brings a wave: $|z_m|$ is its height, and its phase says
# which distances it likes. So we can *wish* for scores by distance, and ask for the nearest $z$.

# %%
guess = widgets.predict(
    "Wish: score 1 up to distance 16, and 0 from 17 to 64. Past 64 we wish for nothing. How high "
    "does the fitted score get at distances 65 to 256?",
    ["below 0.25", "0.25 to 0.5", "0.5 to 0.75", "above 0.75: as high as near by"],
)

# %%
speeds, distances = rope_frequencies(64), torch.arange(257)
angles = distances[:, None] * speeds  # (257, 32)
waves = torch.cat([angles.cos(), -angles.sin()], dim=1)  # of Re z and of Im z


def fitted(wish, price=0.1):
    """The z (32,) whose score comes nearest to the wish; large z are dear."""
    near = waves[: len(wish)]
    z = torch.linalg.solve(near.T @ near + price * torch.eye(64), near.T @ wish)
    return torch.complex(*z.chunk(2))


near, wishes = distances[:65], {}
wishes["the nearest 16"] = (near <= 16).double()
wishes["12 back"] = (near == 12).double()
fits = {name: fitted(wish) for name, wish in wishes.items()}

# %% [markdown]
# From $z$ to a query and a key: each gets the size $\sqrt{|z_m|}$, and the key gets the phase. Then
# turn them, and see whether the wish comes true.

# %%
profiles = {}
for name, z in fits.items():
    size = z.abs().sqrt()
    q, k = (torch.view_as_real(arrows).flatten() for arrows in (size + 0j, z.conj() / size))
    query = rope_from_scratch(q[None], torch.tensor([256]))
    keys = rope_from_scratch(k.expand(257, -1), 256 - distances)
    profiles[name] = (query @ keys.T)[0]  # (257,), by distance
    assert torch.allclose(profiles[name], waves @ torch.cat([z.real, z.imag]))

# %% tags=["plumbing"]
# The answer, and both wishes
levels = ["below 0.25", "0.25 to 0.5", "0.5 to 0.75", "above 0.75: as high as near by"]
highest_far = profiles["the nearest 16"][65:].max().item()
guess.reveal(levels[min(3, int(highest_far / 0.25))])
fig, axes = plt.subplots(1, 2, figsize=(10, 3.3), sharey=True)
rope_colour = plots.identity("rope").colour
for ax, name in zip(axes, profiles, strict=True):
    ax.axvspan(64, 256, color="0.94", linewidth=0)
    ax.plot(near, wishes[name], color="C1", linestyle=(0, (5, 2)), label="wished")
    ax.plot(distances, profiles[name], color=rope_colour, linewidth=1.8, label="q·k, turned")
    ax.set(title=name, xlabel="distance (positions)", xlim=(0, 256))
    ax.text(160, 1.12, "nothing was wished here", ha="center", color="0.35", fontsize=10)
axes[0].set(ylabel="score", ylim=(-0.4, 1.25))
axes[1].legend(loc="center right")
top = {name: int(profile[:65].argmax()) for name, profile in profiles.items()}
plots.show(
    fig,
    "Two wished profiles over distances 0 to 64 and the fitted scores up to 256. The nearest 16: "
    "the score follows the wish with rounded corners, and past 64 comes back up to "
    f"{highest_far:.1f}. 12 back: a low wide hill with its top at {top['12 back']}, "
    f"{profiles['12 back'][12]:.2f} high where 1 was wished.",
)

# %% [markdown]
# **Look:** the score follows the wish, with rounded corners: few waves are short enough for sharp
# ones. A spike 12 back comes out low, but its top is at 12. So no head must decay. (Su et al. show
# a bound that does, above all these scores.) And past 64 the waves go on as they must: nobody fixed
# them there. That is the trouble with long texts, for lessons 07 and 08.
#
# **Draw your own.** Drag the points. Find a wish that fits perfectly, and one that cannot be
# fitted.

# %%
explorers.profile()

# %% [markdown]
# ## X-ray of a real language model
#
# We chose $z$ by hand. What does training choose? SmolLM2-135M has 270 heads, 9 in each layer, of
# 32 pairs at base 100,000. Pair 0 takes 6 tokens for a turn. Pairs from 20 on take more than the
# 8,192 tokens that it was trained to read: they never come round.
#
# We can stop pairs (they no longer turn), or leave them out of $q \cdot k$, and watch its loss.

# %%
answers = ["neither", "only that they stop", "only that they are left out", "both"]
guess = widgets.predict(
    "The slowest 4 pairs, 28 to 31: over 512 tokens they make less than a hundredth of a turn. "
    "What raises the loss by 0.1 nats a token or more: that they stop, or that they are left out?",
    answers,
)

# %%
readings = data.results("real_positions").pivot(index="seed", columns="way", values="loss")
rises = readings.sub(readings["as trained"], axis=0)  # 8 texts of 512 tokens each
fours = [f"pairs {first}-{first + 3}" for first in range(0, 32, 4)]
stopped = rises[[f"{group} still" for group in fours]]
left_out = rises[[f"{group} left out" for group in fours]]

# %% tags=["plumbing"]
# The answer, and all groups of four pairs
high = [float(rises[f"pairs 28-31 {way}"].mean()) >= 0.1 for way in ("still", "left out")]
guess.reveal(answers[high[0] + 2 * high[1]])
fig, ax = plt.subplots(figsize=(8, 3.3))
bars = (("stopped", stopped, -0.2, "C1"), ("left out of q·k", left_out, 0.2, "C0"))
for name, rows, shift, colour in bars:
    place = torch.arange(8) + shift
    ax.bar(place, rows.mean(), width=0.38, color=colour, label=name)
    ax.plot(place.repeat(8), rows.to_numpy().flatten(), ".", color="0.25", markersize=4)
ax.set_xticks(range(8), [group.removeprefix("pairs ").replace("-", "–") for group in fours])
ax.set(xlabel="pairs, fast ones first", ylabel="rise of loss (nats a token)")
ax.set_title("SmolLM2, four pairs at a time; dots are eight texts")
ax.legend(loc="upper center")
described = "; ".join(
    f"{name}: {', '.join(f'{rise:.1f}' for rise in rows.mean())}" for name, rows, _, _ in bars
)
plots.show(
    fig,
    f"Bars for eight groups of four pairs, fast ones first. Mean rise of loss: {described}. "
    "Stopping costs less and less and nothing from 16 on; leaving out costs most at 20–27.",
)

# %% [markdown]
# **Look:** stop the slow pairs, and nothing happens. Leave them out, and the model falls apart. So
# they matter, but what they carry cannot be place. Try your own pairs:

# %% tags=["pretrained"]
from course_lab.session import if_installed
from course_utils import pretrained
from course_utils.pretrained.ablation import LeftOutPairs

model = if_installed(pretrained.smollm2, device)
if model:
    page = data.verified("documentation.txt").read_text(encoding="utf-8")
    ids = model.encode(page[:1000])[:, :128]  # or a text of your own
    pairs = LeftOutPairs(576, 9, base=100_000, first=23, last=24)
    as_trained, without_pairs = model.loss(ids).mean(), model.with_encoding(pairs).loss(ids).mean()
    print(f"as trained {as_trained:.1f} nats a token, without pairs 23 and 24 {without_pairs:.1f}")

# %% [markdown]
# **The X-ray.** Softmax sees only how scores *differ* from key to key. What is that variance made
# of? Part of it follows from the distance alone. The rest depends on what the tokens are. And a
# score is a sum over pairs, so each part can be shared out: pair $m$ gets its covariance with the
# whole. (The first token does not count as a key: many heads rest on it, whatever it is.)

# %%
guess = widgets.predict(
    "In how many of the 270 heads does distance alone explain more than half of the variance?",
    ["fewer than 90", "90 to 180", "more than 180"],
)

# %%
heads = explorers.xray_table()  # a row a head; means over three texts of 512 tokens


def numbers(name):  # (270, 32)
    return torch.tensor(heads.filter(like=f"{name}_").to_numpy())


by_distance, by_content = numbers("position"), numbers("content")  # add up to 1 in each head
fast, slow = (
    by_distance[:, :20].sum() / by_distance.sum(),
    by_content[:, 20:].sum() / by_content.sum(),
)
print(f"pairs 0–19 carry {fast:.0%} of what distance explains; pairs 20–31 {slow:.0%} of the rest")

# %% tags=["plumbing"]
# The answer, and the X-ray
from matplotlib.colors import to_rgb

many = int((by_distance.sum(1) > 0.5).sum())
print(f"In {many} of 270 heads distance explains more than half.")
guess.reveal("fewer than 90" if many < 90 else "90 to 180" if many <= 180 else "more than 180")
fig = plt.figure(figsize=(9.5, 7.6))
top_ax, ax = fig.subplots(2, 1, sharex=True, height_ratios=[1, 4])
orange, blue = (torch.tensor(to_rgb(ink)) for ink in ("#de6e00", "#005caa"))
parts = torch.stack([by_distance, by_content]).clamp(min=0).float()[..., None]  # (2, 270, 32, 1)
ink = (parts[0] * orange + parts[1] * blue) / parts.sum(0).clamp(min=1e-9)
image = 1 + (parts.sum(0) / 0.2).clamp(max=1) ** 0.7 * (ink - 1)
image = image.repeat_interleave(20, dim=1)  # so that rows are blended, and pairs are not
ax.imshow(image, aspect="auto", interpolation="antialiased", extent=(-0.5, 31.5, 270, 0))
for name, shares, shift, colour in (
    ("explained by distance", by_distance, -0.2, orange),
    ("the rest: content", by_content, 0.2, blue),
):
    middle = torch.arange(32) + shift
    top_ax.bar(middle, 100 * shares.mean(0), 0.4, color=colour.tolist(), label=name)
for axis in (top_ax, ax):
    axis.axvline(19.5, color="0.3", linewidth=1.2, linestyle=(0, (4, 3)))
top_ax.text(19.7, 6.6, "a turn takes more than 8,192 tokens →", fontsize=10, color="0.3")
top_ax.set(ylabel="mean share (%)", ylim=(-0.5, 8), title="X-ray of SmolLM2: 270 heads, 32 pairs")
top_ax.legend(loc="upper left")
ax.set(ylabel="head, those that go by distance on top", xlabel="pair; below it, tokens a turn")
turn = 2 * torch.pi / rope_frequencies(64, 100_000)
ax.set_xticks(range(0, 32, 4), [f"{m}\n{turn[m]:,.0f}" for m in range(0, 32, 4)])
plots.show(
    fig,
    "A picture of 270 rows, one a head, and 32 columns, one a pair. Orange, what distance "
    "explains, lies on the fast pairs to the left, in the upper half; blue, content, on the slow "
    f"pairs to the right. Pairs 0 to 19 carry {fast:.0%} of the orange, pairs 20 to 31 {slow:.0%} "
    f"of the blue. In {many} heads distance explains more than half.",
)

# %% [markdown]
# **Look:** a division of labour that nobody programmed. Pairs that turn within the context say
# *where*. Pairs that hardly turn say *what*: for them RoPE does nearly nothing, and $q \cdot k$ is
# plain content. Barbero et al. (2024) found fast pairs for position and slow for content in Gemma
# 7B, and tried a RoPE whose slowest never turn. (Pair 23 does some of both; we cannot say why.)
#
# And the series of the last section? Read it backwards: take each head's *mean* query and *mean*
# key for $q$ and $k$.

# %%
z = torch.complex(numbers("real"), numbers("imaginary"))  # mean q · conjugate of mean k
angles = torch.arange(97)[:, None] * rope_frequencies(64, 100_000)  # (97, 32)
series = (z @ torch.polar(torch.ones_like(angles), angles).T).real  # (270, 97), by distance
attends_previous = torch.tensor(heads["previous"].to_numpy() > 0.3)
print(f"{int(attends_previous.sum())} heads give over 30 % of their attention to the token before;")
print(
    "the series of their means is highest at distance",
    *set(series[attends_previous].argmax(1).tolist()),
)

# %% [markdown]
# **Explore.** On the right is that series for any head. Find one of those. Keep pairs 0 to 3 alone,
# then only pair 0: why does its peak get lost? Then look at the bottom rows.

# %%
explorers.xray()

# %% [markdown]
# ## Why it won
#
# LLaMA, Qwen, Mistral and PaLM all turn. What speaks for it can be shown. A bias needs a matrix of
# all queries and keys in each head. RoPE is done before attention begins, so any attention will do,
# also one that never writes that matrix down. And a key's turn asks for its own position only: text
# that follows leaves it as it is, so a cache keeps it.

# %%
from torch.nn.functional import scaled_dot_product_attention as fused

q, k, v = torch.randn(3, 1, 4, 100, 64)  # (batch, heads, seq, d_head)
q, k = rope_from_scratch(q, places), rope_from_scratch(k, places)
later = torch.ones(100, 100, dtype=torch.bool).triu(1)
by_hand = (q @ k.mT / 8).masked_fill(later, -torch.inf).softmax(-1) @ v
assert torch.allclose(fused(q, k, v, is_causal=True), by_hand, atol=1e-5)

n, n_heads, d_head = 8192, 32, 128
print(f"{n:,} tokens, {n_heads} heads: a bias has {n_heads * n * n:,} numbers,")
print(f"RoPE's cos and sin together have {n * d_head:,}, the same for all heads")
first_60, all_100 = rope_from_scratch(x[..., :60, :], places[:60]), rope_from_scratch(x, places)
print("40 tokens later the 60 keys are the same:", torch.equal(first_60, all_100[..., :60, :]))

# %% [markdown]
# (Some newer kernels, such as FlexAttention, compute a bias bit by bit and never store it whole.)
# Now the question of the title, in one picture.

# %% tags=["plumbing"]
# SmolLM2 with its rotation changed
from course_lab.figures import strips

changes = {
    "as trained": "as trained",
    "moved by 5000": "all positions + 5,000",
    "slow half still": "only pairs 0–15 turn",
    "fast half still": "only pairs 16–31 turn",
    "no position": "nothing turns",
}
fig, ax = plt.subplots(figsize=(8, 2.9))
strips(
    ax,
    {name: torch.tensor(readings[way].to_numpy()) for way, name in changes.items()},
    title="SmolLM2: what its rotation carries; dots are eight texts",
    xlabel="loss (nats a token)",
)
ax.set_xlim(2.5, 6.5)
described = "; ".join(f"{name}: {readings[way].mean():.2f}" for way, name in changes.items())
plots.show(fig, f"Rows of eight dots with their means, in nats a token. {described}.")

# %% [markdown]
# **Look:** it can. Nothing is added, and without the turn the model's loss almost
# doubles. Moved as a whole, the text reads the same. And nearly all of it is done by the faster
# half of the pairs.
#
# ## Exercises
#
# **Exercise 1 ★★ Forget the middle.** A chat has filled the cache. Its keys were turned at places
# 0, 1, 2, … and the keys before the turn are gone. StreamingLLM (Xiao et al. 2023) keeps the first
# tokens, on which many heads rest, and the newest. The others go, and the gap is *closed*. Write
# `closed(keys, kept, base)`: from turned `keys` (…, n, d), interleaved, and the places `kept` (m,),
# ascending, make keys (…, m, d) that stand at 0 … m − 1.


# %% tags=["stub"]
def closed(keys, kept, base):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def closed(keys, kept, base):
    moves = torch.arange(len(kept)) - kept  # two turns make one: by how far each is moved
    return apply_rope(
        keys[..., kept, :], rope_angles(moves, rope_frequencies(keys.shape[-1], base))
    )


# %%
from course_lab.checks.lesson05 import check_closed, check_partners

check_closed(closed)

# %% [markdown]
# **Exercise 2 ★★ Whose pairs?** Pairs may be neighbours, as here, or feature $m$ and $m + d/2$, as
# in other libraries. Load weights of one kind into code of the other, and no error comes, only
# nonsense. So ask the code. `turn(x, p)` is somebody's RoPE for vectors `x` (…, d) that all stand
# at place `p`, a number. Write `partners(turn, d)`: whole numbers (d,), for each feature the one
# that it is turned with; its own number if it never turns.


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
# Three claims
from course_lab.claims import Claim, Myths

myths = Myths(
    {
        "C32": Claim(
            "RoPE adds no parameters and leaves norms alone.",
            scope="plain RoPE in float32; a norm of about 8 may change by 1e-5",
            evidence="exact",
        ),
        "C35": Claim(
            "Attention under RoPE always decays with distance.",
            scope="scores of any queries and keys at distances 0 to 299, base 10,000",
            evidence="exact",
        ),
        "C38": Claim("PaLM uses ALiBi.", scope="PaLM as its paper has it", evidence="source"),
    }
)

# %% tags=["plumbing"]
# The verdicts
from course_utils.encodings import create

rope = create("rope", d_model=128, n_heads=4)
count = sum(parameter.numel() for parameter in rope.parameters())
gap = (rope_from_scratch(x, places).norm(dim=-1) - x.norm(dim=-1)).abs().max().item()
myths.settle(
    "C32",
    {"parameters": count == 0, "norms": gap < 1e-5},
    f"{count} parameters; norms change by {'less than 1e-5' if gap < 1e-5 else f'{gap:.0e}'}.",
)

# %% tags=["plumbing"]
# Three kinds of queries and keys
many_q, many_k = torch.randn(2, 500, 64, generator=torch.Generator().manual_seed(2))
places_of_keys = torch.arange(299, -1, -1)


def over_distance(q, k):
    """Scores of queries with their keys, both (many, 64), at distances 0 to 299."""
    query = apply_rope(q[:, None], rope_angles(torch.tensor([299]), rope_frequencies(64)))
    angles_of_keys = rope_angles(places_of_keys, rope_frequencies(64))
    keys = apply_rope(k[:, None].expand(-1, 300, -1), angles_of_keys)
    return (query * keys).sum(-1)


equal_scores = over_distance(many_q, many_q).mean(0)
random_size = over_distance(many_q, many_k).square().mean(0).sqrt()
equal_share = (equal_scores[200:].mean() / equal_scores[0]).item()
random_share = (random_size[200:].mean() / random_size[:50].mean()).item()
myths.settle(
    "C35",
    {
        "equal q and k, on the whole": equal_share < 0.5,
        "equal q and k, at every step": bool((equal_scores.diff() < 0).all()),
        "random q and k": random_share < 0.9,
        "the q and k made for 12 back": top["12 back"] == 0,
    },
    f"Far scores as a share of near ones: {equal_share:.2f} for equal q and k, "
    f"{random_share:.2f} for random. The pair made for 12 back scores most at {top['12 back']}.",
)

# %% tags=["plumbing"]
# By the source
myths.settle(
    "C38",
    {"Chowdhery et al. 2022, arXiv 2204.02311, section 2": False},
    "By the source, not by a run: Chowdhery et al. 2022, arXiv 2204.02311, section 2, lists RoPE.",
)
myths.table()

# %% [markdown]
# ## In five lines
#
# - Turn query and key by their positions, and the dot product sees only the difference.
# - Nothing is added, nothing is learned, no length changes. Turn q and k, not x.
# - A score by distance is a Fourier series. A head can like any distance; past the context the
#   waves go on.
# - In a real model pairs that turn say where, pairs that hardly turn say what.
# - Fused attention and caches need nothing special.
#
# **Read next:** Su et al. 2021, *RoFormer*, arXiv 2104.09864, section 3. Then Barbero et al. 2024,
# *Round and Round We Go!*, arXiv 2410.06205.
#
# **Next:** [lesson 06](06_alibi.ipynb) makes distance a plain cost, or take the
# [closer look](closer/05_in_practice.ipynb) first.
