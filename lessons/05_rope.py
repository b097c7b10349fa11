# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # 05 · RoPE
#
# **Question:** can a rotation carry position without adding anything?
#
# After this lesson you can
#
# - derive rotary position embedding (RoPE) from one pair of numbers, and write it in a few lines;
# - say when scores fall with distance and when they do not;
# - tell the two layouts of pairs apart, and convert weights from one to the other;
# - find where precision, caches and images make RoPE go wrong;
# - say what the pairs of a real language model are for.
#
# **Time:** 45 minutes. **Builds on:** lessons 02 and 04. **Doors:** 2, queries and keys.

# %% tags=["nbval-ignore-output"]
from course_utils import start

device = start(seed=0)

# %%
from course_utils import plots
from course_utils.encodings import Places, create

rope = create("rope", d_model=128, n_heads=4)
plots.show(
    plots.door_strip(rope.doors, "Lesson 05: RoPE opens door 2"),
    f"The strip of four doors; open: {', '.join(rope.doors)}.",
)

# %% [markdown]
# ## One pair of numbers
#
# So far something was always added: a vector to the word, or a term to the score. Here nothing
# is added. Take a query of two numbers only, an arrow in the plane. At position $m$ we **turn** it
# by $m\theta$ radians. A key at position $n$ is turned by $n\theta$. Then we take the dot product.

# %%
from course_utils import widgets

guess = widgets.predict(
    "Query and key both move 100 positions further. What does their dot product do?",
    ["it stays", "it changes", "it stays only if 100·θ is a whole number of turns"],
)

# %%
import math

import torch


def turn(pair, angle):
    a, b = pair
    c, s = math.cos(angle), math.sin(angle)
    return torch.stack([a * c - b * s, a * s + b * c])


q, k, theta = torch.tensor([1.0, 0.4]), torch.tensor([-0.2, 0.9]), 0.3
dots = {}
for m, n in ((12, 9), (112, 109), (1012, 1009), (12, 8), (9, 12)):
    dots[m, n] = (turn(q, m * theta) @ turn(k, n * theta)).item()
    print(f"query at {m:4}, key at {n:4}: q·k = {dots[m, n]:.4f}")
stays = abs(dots[12, 9] - dots[112, 109]) < 1e-5
guess.reveal("it stays" if stays else "it changes")

# %%
import matplotlib.pyplot as plt

fig, axes = plt.subplots(1, 3, figsize=(9.5, 3.4))
for ax, (m, n) in zip(axes, ((0, 0), (12, 9), (112, 109)), strict=True):
    for arrow, at, colour, name in ((q, m, "C0", "query"), (k, n, "C1", "key")):
        x, y = turn(arrow, at * theta)
        ax.add_patch(plt.Circle((0, 0), arrow.norm(), fill=False, color="0.85"))
        ax.plot([0, x], [0, y], color=colour, linewidth=3, label=name)
    dot = (turn(q, m * theta) @ turn(k, n * theta)).item()
    ax.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), aspect="equal", xlabel="first number")
    ax.set_title(f"at {m} and {n}: q·k = {dot:.3f}")
axes[0].set_ylabel("second number")
axes[0].legend(loc="lower left", fontsize=9, handlelength=1.2)
plots.show(
    fig,
    "Two arrows in a circle, three times: not turned, turned at positions 12 and 9, turned at 112 "
    f"and 109. Dot products {q @ k:.3f}, {dots[12, 9]:.3f}, {dots[112, 109]:.3f}. In the last two "
    "the angle between the arrows is the same.",
)

# %% [markdown]
# **Look:** in the last two pictures the arrows point elsewhere, but the angle *between* them is
# the same. The dot product knows lengths and the angle between, nothing else. As a formula, with
# $R(\alpha)$ for the turn by $\alpha$:
#
# $$R(m\theta)\,q \cdot R(n\theta)\,k \;=\; q \cdot R\big((n - m)\,\theta\big)\,k$$
#
# Turning both arrows back by $m\theta$ changes no angle between them. It leaves $q$ as it was, and
# $k$ turned by the rest.

# %%
m, n = 12, 9
assert torch.allclose(turn(q, m * theta) @ turn(k, n * theta), q @ turn(k, (n - m) * theta))
print("both turned = only the key turned, by the offset n − m")

# %% [markdown]
# Try it with your hands. Keep $m - n$ and move both. Then find a $\theta$ where $m - n = 6$ scores
# about as much as $m - n = 0$. What is wrong with such a $\theta$, if it is the only one?

# %%
from course_utils import explorers

explorers.turned_pair()

# %% [markdown]
# ## The same in complex numbers
#
# Read a pair $(a, b)$ as the number $a + ib$. A turn by $\alpha$ is a product with
# $e^{i\alpha}$, and $q \cdot k$ is the real part of $q\,\bar k$. The proof becomes one line:
#
# $$\mathrm{Re}\big(q\,e^{im\theta}\;\overline{k\,e^{in\theta}}\big)
# = \mathrm{Re}\big(q\,\bar k\;e^{i(m-n)\theta}\big)$$

# %%
import cmath

zq, zk = complex(*q.tolist()), complex(*k.tolist())
left = (zq * cmath.exp(1j * m * theta) * (zk * cmath.exp(1j * n * theta)).conjugate()).real
right = (zq * zk.conjugate() * cmath.exp(1j * (m - n) * theta)).real
print(f"left {left:.4f}, right {right:.4f}, with arrows {dots[m, n]:.4f}")

# %% [markdown]
# ## Many pairs, from scratch
#
# One pair forgets whole turns. So a head of width $d$ is cut into $d/2$ pairs, and each turns at
# its own speed. Su et al. (2021) take the speeds of lesson 02:
#
# $$\theta_m = b^{-2m/d}, \qquad
# \begin{pmatrix} a_m \\ b_m \end{pmatrix} \to
# \begin{pmatrix} a_m \cos p\theta_m - b_m \sin p\theta_m \\
# a_m \sin p\theta_m + b_m \cos p\theta_m \end{pmatrix}$$
#
# ($m$ now counts pairs, $p$ is the position, $b = 10000$ the base.)

# %%
from course_utils.encodings.functional import apply_rope, rope_angles, rope_frequencies


def rope_from_scratch(x, positions, base=10000.0):
    """x: (…, seq, d), queries or keys of one head each → the same, turned."""
    d = x.shape[-1]
    speeds = base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)  # (pairs,)
    angles = positions[:, None] * speeds  # (seq, pairs), radians
    cos, sin = angles.cos().float(), angles.sin().float()
    a, b = x[..., 0::2], x[..., 1::2]  # (…, seq, pairs) each
    return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)


positions = torch.arange(100)
x = torch.randn(2, 4, 100, 64, generator=torch.Generator().manual_seed(0))
angles = rope_angles(positions, rope_frequencies(64))  # (100, 32)
assert torch.allclose(rope_from_scratch(x, positions), apply_rope(x, angles), atol=1e-5)
print("from scratch = reference, shape", tuple(x.shape))

# %% [markdown]
# ## The offset alone, and no change of length
#
# Let one query stand at every place, and one key too. Left: their scores under RoPE. In the middle
# the same query and key, but with a sinusoidal vector added to each. Right: how alike one vector
# is to itself at other places, once turned.

# %%
from course_utils import measures
from course_utils.encodings.functional import sinusoidal_table

places = torch.arange(64)
query, key = torch.randn(2, 1, 64, generator=torch.Generator().manual_seed(1)).expand(-1, 64, -1)
table = sinusoidal_table(places, 64)
turned = rope_from_scratch(torch.stack([query, key]), places)
rope_scores = turned[0] @ turned[1].T / 8  # (64, 64), divided by √64
added_scores = (query + table) @ (key + table).T / 8
uneven = [measures.toeplitz_error(scores) for scores in (rope_scores, added_scores)]

# %%
fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.5))
pictures = {"turned (RoPE)": rope_scores, "sinusoids added": added_scores}
for ax, (title, scores) in zip(axes[:2], pictures.items(), strict=True):
    plots.heatmap(ax, scores, title=title, xlabel="key", unit="score", signed=True, equal=True)
axes[0].set_ylabel("query")
alike = measures.similarity_matrix(turned[0])
plots.similarity(axes[2], alike, title="one vector turned")
plots.show(
    fig,
    "Three matrices of 64 by 64 places. Left: equal values along each diagonal (deviation below "
    f"1e-5: {uneven[0] < 1e-5}). Middle: deviation {uneven[1]:.2f}. Right: similarities, a dark "
    "diagonal with bands beside it.",
)


# %%
def small(gap):  # below 1e-5 the digits are rounding, and differ between processors
    return "less than 1e-5" if gap < 1e-5 else f"{gap:.0e}"


shift_gap, speeds = {}, rope_frequencies(64)
for moved in (100, 10_000, 1_000_000):
    later = rope_from_scratch(torch.stack([query, key]), places + moved)
    shift_gap[moved] = (later[0] @ later[1].T / 8 - rope_scores).abs().max().item()
    coarse = (places + moved).float()[:, None] * speeds.float()  # angles in float32
    a, b = apply_rope(query, coarse), apply_rope(key, coarse)
    coarse_gap = (a @ b.T / 8 - rope_scores).abs().max().item()
    print(
        f"moved by {moved:9,}: scores change by {small(shift_gap[moved])}, "
        f"with float32 angles by {small(coarse_gap)}"
    )
norm_gap = (turned.norm(dim=-1) - torch.stack([query, key]).norm(dim=-1)).abs().max().item()
print(f"norms change by {small(norm_gap)}")

# %% [markdown]
# **Look:** on the left every diagonal has one colour, in the middle not. On the right a vector is
# most like itself at the nearest places, and there are bands farther off. A turn changes no
# length, so all of position is in the directions. The formula has no place in it but the offset.
# Arithmetic has: angles grow with the place, and so does their rounding error. Hence float64 for
# angles here. We come back to it.
#
# ## Where to turn?
#
# Could we turn $x$ once, before $W_q$ and $W_k$, and save work? Or turn q and k before they are cut
# into heads?

# %%
guess = widgets.predict(
    "If x is turned before the projections, do the scores still depend on the offset alone?",
    ["yes", "no"],
)

# %%
torch.manual_seed(0)
W_q, W_k = torch.randn(2, 64, 64) / 8
word = torch.randn(1, 64).expand(100, -1)  # one word at all places


def cut(x):  # (seq, 64) → (4 heads, seq, 16)
    return x.unflatten(-1, (4, 16)).transpose(0, 1)


on_x = rope_from_scratch(word, positions)
ways = {
    "q and k, head by head": [rope_from_scratch(cut(word @ W), positions) for W in (W_q, W_k)],
    "q and k at full width": [cut(rope_from_scratch(word @ W, positions)) for W in (W_q, W_k)],
    "x before W_q and W_k": [cut(on_x @ W) for W in (W_q, W_k)],
}
deviation = {}
for name, (a, b) in ways.items():
    scores = a @ b.mT / 4  # (4, 100, 100)
    deviation[name] = measures.toeplitz_error(scores)
    spread = ", ".join(f"{s:.2f}" for s in scores.std((1, 2)).tolist())
    print(f"{name}: on a diagonal {deviation[name]:.2f} apart; spread by head {spread}")
guess.reveal("yes" if deviation["x before W_q and W_k"] < 1e-3 else "no")

# %% [markdown]
# **Look:** after a general matrix the turns no longer cancel. Turning at full width keeps the
# offset alone, but it is another scheme: head 0 gets the fast pairs, and to the last head all
# places look nearly the same.
#
# Does it matter to a trained model? The task of lesson 04: name the token three earlier. One model
# has RoPE. In the other what feeds $W_q$ and $W_k$ is turned before them, and nothing else: values
# stay as they were. After training we move all positions by 50.

# %%
from course_utils import tasks
from course_utils.models import TinyTransformer
from course_utils.training import fit


class TurnFirst(torch.nn.Linear):
    """RoPE in the wrong place: turns its input, by places from ``first`` on, then projects it."""

    first = 0

    def forward(self, x):
        row = torch.arange(x.shape[-2], device=x.device) + self.first
        frequencies = rope_frequencies(x.shape[-1], device=x.device)
        return super().forward(apply_rope(x, rope_angles(row, frequencies)))


# %%
def three_back(seed, turn_x=False):
    torch.manual_seed(seed)
    task = {"length": 16, "vocab_size": 16, "generator": torch.Generator().manual_seed(seed)}
    model = TinyTransformer(16, "none" if turn_x else "rope", d_model=32, n_layers=1, n_heads=2)
    attention = model.to(device).blocks[0].attention
    if turn_x:
        for name in ("W_q", "W_k"):
            setattr(attention, name, TurnFirst(32, 32, bias=False).to(device))

    def draw(batch):
        return tasks.token_at_offset(-3, batch=batch, **task).to(device)

    fit(model, lambda: tasks.loss(model, draw(64)), 150, lr=1e-2)
    return model, draw(200)


# %%
def weights_from(model, examples, first):
    """Attention weights with positions from ``first`` on: (batch, heads, 16, 16)."""
    block, places = model.blocks[0], torch.arange(16, device=device) + first
    for W in (block.attention.W_q, block.attention.W_k):
        W.first = first  # read by TurnFirst only
    with torch.no_grad():
        seen = block.attention_norm(model.embedding(examples.tokens) * 32**0.5)
        return block.attention.attend(seen, places, need_weights=True)[1]


kept = {}
for name in ("RoPE", "x turned"):
    for seed in range(3):
        found = three_back(seed, turn_x=name == "x turned")
        here, moved = (weights_from(*found, first) for first in (0, 50))
        back = [w.diagonal(-3, 2, 3).mean().item() for w in (here, moved)]
        kept[name, seed], largest = here, (here - moved).abs().max().item()
        change = "rounding" if largest < 1e-3 else f"{largest:.1f}"
        print(f"{name:8} seed {seed}: weight on three back {back[0]:.1f}, moved by 50", end=" ")
        print(f"{back[1]:.1f}; largest change of any weight: {change}")

# %% [markdown]
# **Look:** with $x$ turned the model learns the task too, and finds an offset on its own: moved, it
# still looks mostly three back. But only mostly, for nothing holds the matrices there. RoPE keeps
# the offset whatever is learned, and does not notice the move.
#
# ## Does the score fall with distance?
#
# Su et al. give "long-term decay" as a merit of RoPE. It is often told as: attention falls with
# distance. Let us look at three kinds of queries and keys.

# %%
guess = widgets.predict(
    "Random, independent queries and keys: the typical size of their score at distances 200–299, "
    "against 0–49, …",
    ["is more than 10 % lower", "is the same within 10 %", "is more than 10 % higher"],
)


# %%
def by_distance(encoding, q, k, length=300):
    """Scores of a query with keys 0, 1, … earlier; q, k: (many, d) → (many, length)."""
    q_pos, k_pos = torch.tensor([length - 1]), torch.arange(length).flip(0)
    q, k = q[:, None, None], k[:, None, None].expand(-1, -1, length, -1)
    q, k = encoding.rotate(q, k, Places(q_pos, k_pos))
    return (q @ k.mT)[:, 0, 0]


one_head = create("rope", d_model=64, n_heads=1)
Q, K = torch.randn(2, 2000, 64, generator=torch.Generator().manual_seed(2))
equal = by_distance(one_head, Q, Q).mean(0)
random = by_distance(one_head, Q, K).square().mean(0).sqrt()
wish = torch.full((len(Q),), 50)
made = apply_rope(Q, rope_angles(wish, rope_frequencies(64)))  # each query, turned on by 50
peak = by_distance(one_head, Q, made).mean(0)
change = (random[200:].mean() / random[:50].mean()).item()
side = "lower" if change < 1 else "higher"
guess.reveal("is the same within 10 %" if abs(change - 1) < 0.1 else f"is more than 10 % {side}")

# %%
distance = torch.arange(300)
turns = distance[:, None] * rope_frequencies(64)  # (300, 32), radians
sums = torch.polar(torch.ones_like(turns), turns).cumsum(1).abs().sum(1)  # of the paper's |S_m|
lengths = torch.cat([Q.unflatten(-1, (-1, 2)).square().sum(-1), torch.zeros(len(Q), 1)], dim=1)
bound = lengths.diff(dim=1).abs().amax(1).mean() * sums / equal[0]  # for equal q and k
print(f"the paper's bound: {bound[0]:.0f} × the score at 0; at distance 299 {bound[299]:.0f} ×")
curves = {
    "equal q and k: mean": equal / equal[0],
    "random q and k: typical size": random / equal[0],
    "key made for 50: mean": peak / equal[0],
}
bases = {
    f"base {base:,.0f}": (distance[:, None] * rope_frequencies(64, base)).cos().mean(1)
    for base in (100.0, 10_000.0, 1_000_000.0)
}
far = {name: curve[200:].mean().item() for name, curve in bases.items()}

# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 3.5), sharey=True)
titles = ("base 10,000", "equal q and k, three bases")
for ax, some, title in zip(axes, (curves, bases), titles, strict=True):
    plots.lines(ax, some, title=title, xlabel="distance (positions)", legend=False)
    ax.legend(fontsize=9, loc="upper right")
axes[0].set(ylim=(-0.4, 1.6), ylabel="score (equal q and k at 0: 1)")
described = ", ".join(f"{name}: {value:.2f}" for name, value in far.items())
plots.show(
    fig,
    f"Left: for equal q and k the score falls from 1 to {curves['equal q and k: mean'][299]:.2f} "
    "at 299, with ripples; the typical size for random ones is flat near "
    f"{random.mean() / equal[0]:.2f}; a key made for 50 peaks at {int(peak.argmax())}. Right: mean "
    f"score at distances from 200 on, {described}.",
)

# %% [markdown]
# **Look:** for equal $q$ and $k$ the score falls, with ripples. At distance $\Delta$ it is, on
# average, the mean of $\cos(\Delta\,\theta_m)$ over all pairs, lesson 02's similarity again. Random
# $q$ and $k$ score as much far away as near. A key that is its query turned on by 50 positions
# peaks there. The last two are propositions 3.2 (for the mean) and 3.1 of Barbero et al. (2024).
#
# The paper's curve is an upper *bound*. In the figure's unit it never comes down to 1, so it
# forbids none of these scores. Decay belongs to like vectors, and the base sets how fast it goes.
# And a trained model?

# %%
weights = kept["RoPE", 0].mean((0, 1)).cpu()  # (16, 16), of the model above
looks = [weights.diagonal(-back)[7 - back :].mean().item() for back in range(8)]
print("mean weight at distance 0 to 7:", [f"{w:.1f}" for w in looks])

# %% [markdown]
# It looks three back, as it was taught, and not at the nearest. Decay, Barbero et al. argue, is
# unlikely to be the core reason for RoPE's use.
#
# In the explorer, the key is made for the distance `wanted`. Is there a setting where another
# distance scores nearly as much?

# %%
explorers.wanted_distance()

# %% [markdown]
# ## Wavelengths against the context
#
# Pair $m$ comes round after $2\pi / \theta_m$ positions, its wavelength. Pairs with a wavelength
# longer than the context never finish a turn there. Llama 2 has heads of 128, base 10,000 and
# 4,096 tokens; Llama 3 has base 500,000 and, in its first release, 8,192 tokens.

# %%
contexts = {"Llama 2": (10_000.0, 4096), "Llama 3": (500_000.0, 8192)}
fig, ax = plt.subplots(figsize=(7, 3.4))
unfinished = {}
for number, (name, (base, context)) in enumerate(contexts.items()):
    waves = 2 * torch.pi / rope_frequencies(128, base)  # (64,), positions a turn
    unfinished[name] = int((waves > context).sum())
    ax.semilogy(
        waves, "os"[number], markersize=3.5, color=f"C{number}", label=f"{name}, {base:,.0f}"
    )
    ax.axhline(context, color=f"C{number}", linestyle="-:"[number], linewidth=1.2)
    print(f"{name}: {unfinished[name]} of 64 pairs do not finish a turn in {context:,} tokens")
ax.set(title="wavelengths and trained contexts", xlabel="pair", ylabel="positions a turn")
ax.legend(title="model, base")
described = ", ".join(f"{name} {count}" for name, count in unfinished.items())
plots.show(
    fig,
    "Two rising lines of dots on a logarithmic axis, Llama 3's steeper, and two horizontal lines "
    f"at 4,096 and 8,192. Pairs above their line: {described} of 64.",
)

# %% [markdown]
# **Look:** dots above the line of their colour are pairs that such a model meets only on a part of
# their circle. On a longer text they would reach angles that were never trained. C34, "RoPE
# extrapolates by nature", hangs on this, and is left for lesson 07.
#
# ## Two layouts
#
# Which two features form pair $m$? The paper takes neighbours, $2m$ and $2m+1$: *interleaved*.
# GPT-NeoX and Hugging Face's Llama take $m$ and $m + d/2$: *half*. Meta's own Llama code is
# interleaved. The weights have the same shapes in both.

# %%
from course_utils.encodings.functional import layout_order

print("features of each pair, d = 8")
print("interleaved:", [(2 * m, 2 * m + 1) for m in range(4)])
print("half       :", [(m, m + 4) for m in range(4)])
order = layout_order(8, "interleaved", "half")
print("order that converts:", order.tolist())
vector, eight = torch.randn(1, 8), rope_angles(torch.tensor([5]), rope_frequencies(8))
same = torch.allclose(
    apply_rope(vector, eight)[:, order], apply_rope(vector[:, order], eight, "half"), atol=1e-6
)
print("turn, then reorder = reorder, then turn half:", same)

# %% [markdown]
# Now a model of four layers that the course has trained on real text, 64 bytes at a time. Beside it
# stands one without any position. Then we read the first one's weights as if they were for halves.

# %%
levels = ["none of it (0.05 nats at most)", "less than half of it", "more than half of it, or all"]
guess = widgets.predict(
    "Positions lower the loss. Read with the wrong layout, how much of that gain is lost?", levels
)

# %%
from course_utils import shipped, text
from course_utils.encodings.functional import convert_layout

held_out = text.split(text.documentation()).to(device).held_out
held_out = text.pieces(held_out[:1], length=64)  # 127 times 64 bytes, and each byte's successor
tiny, blind = (shipped.model(name).to(device) for name in ("rope", "none"))
half = tiny.changed(layout="half")  # the same weights


def nats(model):
    with torch.no_grad():
        return tasks.loss(model, held_out).item()


loss = {
    name: nats(one)
    for name, one in {"as trained": tiny, "no position": blind, "wrong layout": half}.items()
}
# %%
with torch.no_grad():
    for here, there in zip(tiny.blocks, half.blocks, strict=True):
        for name in ("W_q", "W_k"):
            weight = getattr(here.attention, name).weight
            reordered = convert_layout(weight, 4, "interleaved", "half")
            getattr(there.attention, name).weight.copy_(reordered)
loss["wrong layout, weights reordered"] = nats(half)
for name, value in loss.items():
    print(f"{name:32} {value:.1f} nats a byte")
lost, gain = (loss[name] - loss["as trained"] for name in ("wrong layout", "no position"))
guess.reveal(levels[0 if lost <= 0.05 else 1 if lost < gain / 2 else 2])

# %% [markdown]
# **Look:** no error came, and the loss went up to about that of no position, or above. Reordering
# the rows of $W_q$ and $W_k$ in each head repairs it: the score is a sum over pairs, and a sum does
# not mind where its pairs stand. $W_v$ and $W_o$ stay, as nothing turns there.
#
# ## Token by token
#
# A model that writes reads one token at a time, and keeps the keys it has (a *KV cache*). A key's
# turn depends on its own position only, so old keys stay right. But the new token must be told
# where it is.

# %%
tokens, targets = held_out.tokens[:30], held_out.targets[:30]


def step_by_step(position_of):
    cache, logits = tiny.new_cache(), []
    with torch.no_grad():
        for place, token in enumerate(tokens.split(1, dim=1)):
            position = torch.tensor([position_of(place)], device=device)
            logits.append(tiny(token, position, cache))
    return torch.cat(logits, dim=1)


with torch.no_grad():
    at_once = tiny(tokens)
cached = {"its place": step_by_step(lambda p: p), "always 0": step_by_step(lambda p: 0)}
for name, logits in cached.items():
    cost = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten()).item()
    close = (logits - at_once).abs().max().item() < 1e-3
    print(f"position {name:10} loss {cost:.1f}, same logits as the full pass: {close}")
print(f"tokens read: {64 * 65 // 2} without a cache, 64 with")

# %% [markdown]
# **Look:** with the right positions the cache gives the full pass, to rounding. In the second row
# each new token arrives as if it were the first. No error came there either.
#
# ## Sixteen bits
#
# Many models run in bfloat16, which has 8 significant bits. Where is that too coarse?

# %%
guess = widgets.predict_number(
    "How many different numbers are left of positions 0 … 1023 in bfloat16?", "numbers"
)

# %%
many = torch.arange(1024)
rounded = many.to(torch.bfloat16)
distinct = len(rounded.unique())
first = int((rounded.long() != many).nonzero()[0])
print(f"first position that is not itself: {first}, it becomes {int(rounded[first])}")
guess.reveal(float(distinct), "numbers")


# %%
def rough_angles(positions, dtype, base=10_000.0):
    """Angles for heads of 64, with positions, speeds and their product in ``dtype``."""
    return positions.to(dtype)[:, None] * rope_frequencies(64, base).to(dtype)


def neighbours(dtype, base=10_000.0):
    """Score of equal q and k one position apart, at every place."""
    here, before = (rough_angles(row, dtype, base).double() for row in (many, many - 1))
    return (here - before).cos().mean(1)


# %%
drift = {str(t)[6:]: neighbours(t) for t in (torch.bfloat16, torch.float16, torch.float32)}
fig, ax = plt.subplots(figsize=(7, 3.3))
plots.lines(ax, drift, title="a query and its neighbour, at every place", ylabel="score")
ax.lines[0].set(linestyle="", marker=".", markersize=3)  # bfloat16 jumps from place to place
ax.set(xlabel="position of the query", ylim=(0.6, 1.1))
ax.legend(ncols=3, loc="lower left")
spread = {
    name: [(part.max() - part.min()).item() for part in (curve[:64], curve[64:256], curve[256:])]
    for name, curve in drift.items()
}
described = "; ".join(f"{n} {a:.3f}, {b:.3f}, {c:.3f}" for n, (a, b, c) in spread.items())
plots.show(
    fig,
    "Scores of neighbours against their place. They should be one flat line. float32 is flat; the "
    "dots of bfloat16 scatter ever wider, from 257 on many at 1. "
    f"Highest minus lowest at positions 0–63, 64–255 and 256–1023: {described}.",
)

# %% [markdown]
# **Look:** the score of two neighbours should be the same everywhere. In bfloat16 it drifts even
# before position 256, since the angle $p\,\theta_m$ is rounded as well as $p$. From there on
# neighbours may share a position (the dots at 1). What that does to a real model, we see below.
#
# ## Images: two rotations
#
# A patch has a row and a column. *Axial* RoPE lets half of the pairs turn by the row, and half by
# the column. What does the middle patch of a 12 × 12 image see, if all patches are equal?

# %%
from course_utils.encodings import AxialRotary

by_line = create("rope", d_model=64, n_heads=1, base=100.0)
by_grid = AxialRotary(64, 1, width=12, base=100.0)
views = {}
for name, encoding in (("1-D: patches numbered", by_line), ("2-D: row and column", by_grid)):
    views[name] = measures.fingerprint(encoding, 144)[0][66].reshape(12, 12)  # row 5, column 6
fig, axes = plt.subplots(1, 2, figsize=(9, 3.9))
top = max(view.max().item() for view in views.values())
for ax, (name, view) in zip(axes, views.items(), strict=True):
    plots.heatmap(ax, view, title=name, xlabel="column", limit=top, unit="score", equal=True)
    ax.plot(6, 5, "w+")
axes[0].set_ylabel("row")
beside, below = ([view[5, 7].item(), view[6, 6].item()] for view in views.values())
plots.show(
    fig,
    "Scores of the patch at row 5, column 6 with all others. Left, a horizontal streak: right "
    f"neighbour {beside[0]:.1f}, neighbour below {beside[1]:.1f}. Right, a cross: {below[0]:.1f} "
    f"and {below[1]:.1f}.",
)

# %% [markdown]
# **Look:** with numbered patches, the one below is 12 steps away, and a near neighbour looks far.
# On the grid both neighbours score alike. The shape is a cross because the score is a *sum* of a
# row part and a column part. One of them alone may be large.
#
# ## In a real model
#
# SmolLM2-135M-Instruct is a language model that people use: 30 layers of 9 heads, 32 pairs a head,
# base 100,000. It reads the start of our text, and we change nothing but its RoPE.

# %% tags=["pretrained"]
from course_utils import data, pretrained
from course_utils.encodings.rope import Rotary

model, real = pretrained.if_installed(pretrained.smollm2), {}
if model:
    page = data.verified("documentation.txt").read_text(encoding="utf-8")
    ids = model.encode(page[:1000])[:, :96]
    print(f"{ids.shape[1]} tokens: {model.decode(ids)[:85]!r} …")
    reordered = model.with_encoding(layout="half")
    for layer in reordered.layers:
        for W, heads in ((layer.attention.W_q, 9), (layer.attention.W_k, 3)):
            W.weight.data = convert_layout(W.weight, heads, "interleaved", "half")


class RoughAngles(Rotary):
    """RoPE whose angles are bfloat16 numbers."""

    def rotate(self, q, k, at):
        q_angles, k_angles = (rough_angles(row, torch.bfloat16, self.base) for row in (at.q, at.k))
        return apply_rope(q, q_angles.float()), apply_rope(k, k_angles.float())


# %% tags=["pretrained"]
if model:
    nothing = create("none", d_model=576, n_heads=9, causal=True)
    rough = RoughAngles(d_model=576, n_heads=9, base=100_000)
    ways = {  # a model, and the position of the first token
        "as trained": (model, 0),
        "moved by 5,000": (model, 5000),
        "no position": (model.with_encoding(nothing), 0),
        "wrong layout": (model.with_encoding(layout="half"), 0),
        "weights reordered": (reordered, 0),
        "base 10,000": (model.with_encoding(base=10_000), 0),
        "rough angles": (model.with_encoding(rough), 0),
        "rough angles from 928": (model.with_encoding(rough), 928),
    }
    logits = {name: one(ids, torch.arange(96) + first)[0] for name, (one, first) in ways.items()}
    for name, row in logits.items():
        real[name] = torch.nn.functional.cross_entropy(row[:-1], ids[0, 1:]).item()
        print(f"{name:22} {real[name]:.1f} nats a token")
    apart = {name: (row - logits["as trained"]).abs().max().item() for name, row in logits.items()}

# %% [markdown]
# **Look:** moved, it reads as before. (No position is an encoding that does nothing. With all
# positions at 0 no key would be *later*, and tokens would see the future.) The wrong layout loses
# most of what positions give. The checkpoint was published for halves. This copy, a GGUF file, is
# for neighbours, and a library that turned such files back once left rows in a wrong order
# (huggingface/transformers, pull request 31788). Another base costs little here. Rough angles do
# harm before position 1,024. A published fix takes float32 (pull request 29285).
#
# Which pairs does the model need? A pair may stop turning, or be left out of $q \cdot k$.

# %%
answers = ["neither", "only that they stop", "only that they are left out", "both"]
guess = widgets.predict(
    "The slowest 8 of the 32 pairs take over 35,000 tokens for a turn. What raises the loss by 0.1 "
    "nats or more: that they stop turning, or that they are left out?",
    answers,
)

# %% tags=["pretrained"]
from dataclasses import dataclass

from course_utils.encodings.scaling import Scaling


def all_but(pairs):  # 1 for pairs that stay, else 0
    return torch.tensor([float(pair not in pairs) for pair in range(32)]).double()


@dataclass(frozen=True)
class Without(Scaling):
    pairs: range
    factor = 1.0  # the context does not grow


class Stopped(Without):
    def frequencies(self, plain, base, length=None):
        return plain * all_but(self.pairs), 1.0  # at frequency 0 a pair does not turn


class LeftOut(Without):
    def frequencies(self, plain, base, length=None):
        return plain, all_but(self.pairs)  # cos and sin × 0: a pair adds nothing to q·k


# %% tags=["pretrained"]
def rise(scaling):
    loss = model.with_encoding(scaling=scaling).loss(ids).mean().item()
    return round(loss - real["as trained"], 2)


if model:
    eights = [range(first, first + 8) for first in range(0, 32, 8)]
    rises = {
        "stopped": [rise(Stopped(eight)) for eight in eights],
        "left out": [rise(LeftOut(eight)) for eight in eights],
    }
    print(f"fast half stopped: + {rise(Stopped(range(16))):.1f} nats a token")
    print(f"no position:       + {real['no position'] - real['as trained']:.1f} nats a token")

# %% tags=["pretrained"]
if model:
    fig, ax = plt.subplots(figsize=(6.5, 3))
    for shift, (way, row) in zip((-0.2, 0.2), rises.items(), strict=True):
        bars = ax.bar(torch.arange(4) + shift, row, width=0.38, label=f"8 pairs {way}")
        ax.bar_label(bars, [f"{one:z.1f}" for one in row], fontsize=9)
    ax.set_xticks(range(4), [f"{eight[0]}–{eight[-1]}" for eight in eights])
    ax.set(xlabel="pairs, fast ones first", ylabel="rise of loss (nats a token)")
    ax.set_title("SmolLM2, eight of 32 pairs at a time")
    ax.set_ylim(top=1.3 * ax.get_ylim()[1])
    ax.legend(loc="upper center", ncols=2, fontsize=9)
    told = "; ".join(
        f"{way} {', '.join(f'{one:z.1f}' for one in row)}" for way, row in rises.items()
    )
    plots.show(fig, f"Bars for four groups of eight pairs, fast ones first. Rise of loss: {told}.")
    stop, out = (row[-1] >= 0.1 for row in rises.values())
    guess.reveal(answers[stop + 2 * out])

# %% [markdown]
# **Look:** stop slow pairs, and nothing changes: in 96 tokens pair 16 makes but a twentieth of a
# turn. (Long texts may need it.) Leave them out, and the model misses them about as badly as the
# fastest. So what they carry is not place. With the fast half stopped, it reads about as badly as
# without position. Barbero et al. see this split in Gemma 7B; slow pairs, they suspect, carry
# meaning. Their p-RoPE never turns the slowest. GPT-J and GPT-NeoX-20B turn only a quarter of each
# head.
#
# One measurement more for the myth check, then the model goes.

# %% tags=["pretrained"]
if model:
    layer = model.layers[0]
    x = layer.attention_norm(model.words(ids))[0]
    queries, keys = (W(x)[:, :64].double() for W in (layer.attention.W_q, layer.attention.W_k))

    def first_head(first):
        angles = rope_angles(torch.arange(96) + first, rope_frequencies(64, 100_000))
        return apply_rope(queries, angles) @ apply_rope(keys, angles).T / 8  # scores, (96, 96)

    real["scores moved"] = (first_head(0) - first_head(1_000_000)).abs().max().item()
    print(f"moved by 1,000,000: scores change by {small(real['scores moved'])}")
model = reordered = ways = logits = None  # frees half a gigabyte; the first cell loads it again

# %% [markdown]
# ## Fingerprint, entropy, passport

# %%
scores = measures.fingerprint(rope, 48)
plots.show(
    plots.fingerprint(scores, "Fingerprint of RoPE"),
    "Four squares, one a head, much alike: a bright diagonal, bands beside it, paler far away. "
    "Equal values along each diagonal (deviation below 1e-4: "
    f"{measures.toeplitz_error(scores) < 1e-4}).",
)

# %%
from course_utils.attention import MultiHeadAttention
from course_utils.sentences import word_vectors

torch.manual_seed(0)
heads = MultiHeadAttention(128, 4, rope).requires_grad_(False)
heads.W_q.weight.copy_(torch.randn(128, 128) / 128**0.5)
heads.W_k.weight.copy_(heads.W_q.weight)  # each query looks for its own kind
herd = word_vectors(["buffalo"] * 24, 128)[None]
entropies = measures.entropy(heads(herd, need_weights=True)[1][0])  # (4, 24)
fig, ax = plt.subplots(figsize=(7, 3.2))
curves = {f"head {head}": row for head, row in enumerate(entropies)}
plots.entropy(ax, curves, math.log(24), title="entropy of attention, 24 identical tokens", floor=1)
plots.show(
    fig,
    f"Entropy of four heads over 24 queries, {entropies.min():.2f} to {entropies.max():.2f} nats, "
    f"all below uniform, {math.log(24):.2f}.",
)

# %%
facts = measures.passport("rope")
print(measures.passport_text(facts))

# %% tags=["volatile"]
print(f"time on this machine: {facts['time_ratio']:.2f} × attention without encoding")

# %% [markdown]
# **Look:** all heads have the same speeds, so their fingerprints are alike (the sinusoidal one
# gave head 0 the fast hands). The entropies differ more: each head has its own $q$, and a
# pair counts by how much of $q$ is in it. No parameters, and a change under a shift of rounding
# size only.
#
# ## Exercises
#
# **Exercise 1 ★ One pair.** Write `turn_pair(pair, p, theta)`: the tensor of two numbers, turned as
# RoPE does at position $p$.


# %% tags=["stub"]
def turn_pair(pair, p, theta):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def turn_pair(pair, p, theta):
    c, s = math.cos(p * theta), math.sin(p * theta)
    return torch.tensor([[c, -s], [s, c]]) @ pair


# %%
from course_utils.checks.lesson05 import (
    check_head_scores,
    check_key_for,
    check_to_half,
    check_turn_pair,
)

check_turn_pair(turn_pair)

# %% [markdown]
# **Exercise 2 ★★ Find the bug: mixed layouts.** A public notebook loaded Llama 2 as Meta
# publishes it, interleaved, into code that pairs by halves (rasbt/LLMs-from-scratch, pull request
# 747). No error came. Write `to_half(weight, n_heads)`: reorder $W_q$ or $W_k$, shape (d_model,
# d_model), for such code. Rows are outputs, head by head.


# %% tags=["stub"]
def to_half(weight, n_heads):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def to_half(weight, n_heads):
    rows = weight.unflatten(0, (n_heads, -1, 2))  # (heads, pairs, 2, d_model)
    return rows.transpose(1, 2).flatten(0, 2)


# %%
check_to_half(to_half)

# %% [markdown]
# **Exercise 3 ★★ Find the bug: what turns?** The RoPE of a public library counted positions along
# the last axis but one, while its fused attention takes (batch, seq, heads, d_head) (xFormers,
# issue 841). Models were trained with both together (open_lm, issue 4). See what comes of it.


# %%
def published(q, base=10000.0):  # q: (batch, seq, heads, d_head)
    places = torch.arange(q.shape[-2])
    return apply_rope(q, rope_angles(places, rope_frequencies(q.shape[-1], base)))


out = published(torch.ones(1, 6, 4, 8))
print("places 0 and 5 differ:", not torch.equal(out[0, 0], out[0, 5]))
print("heads 0 and 3 differ :", not torch.equal(out[0, :, 0], out[0, :, 3]))
a, b = torch.randn(2, 1, 6, 4, 8)
with_turns, plain = (
    one.transpose(1, 2) @ two.transpose(1, 2).mT
    for one, two in ((published(a), published(b)), (a, b))
)
print("scores are those without any position:", torch.allclose(with_turns, plain, atol=1e-5))

# %% [markdown]
# In one head, every query and every key turns by the same angle. Write
# `head_scores(x, W_q, W_k, n_heads)`: scores with RoPE (base 10000, interleaved, positions 0,
# 1, …), divided by √d_head. x is (seq, d_model), q = x @ W_q, k = x @ W_k; the result is (heads,
# seq, seq). Use `apply_rope`, `rope_angles` and `rope_frequencies`.


# %% tags=["stub"]
def head_scores(x, W_q, W_k, n_heads):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def head_scores(x, W_q, W_k, n_heads):
    q, k = ((x @ W).unflatten(-1, (n_heads, -1)).transpose(0, 1) for W in (W_q, W_k))
    d = q.shape[-1]
    angles = rope_angles(torch.arange(len(x)), rope_frequencies(d))
    return apply_rope(q, angles) @ apply_rope(k, angles).mT / d**0.5


# %%
check_head_scores(head_scores)

# %% [markdown]
# **Exercise 4 ★★★ The explorer's question.** Write `key_for(q, distance, base)`: from a query
# (d,), not yet turned, make the key (d,), not yet turned and of the same norm, whose score with
# $q$ is largest when the key stands `distance` positions *earlier*. Interleaved.


# %% tags=["stub"]
def key_for(q, distance, base):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def key_for(q, distance, base):
    angles = rope_angles(torch.tensor([distance]), rope_frequencies(len(q), base))
    return apply_rope(q[None], angles)[0]  # at its place the key then points where q points


# %%
check_key_for(key_for)

# %% [markdown]
# ## Myth check
#
# Guess first. The verdicts come from the measurements above. C38 is about what a paper says.

# %%
from course_utils.claims import Claim, Myths

claims = {
    "C32": Claim(
        "RoPE adds no parameters and leaves norms alone.",
        scope="plain RoPE in float32; a norm of about 8 may change by 1e-5",
        evidence="exact",
    ),
    "C33": Claim(
        "q·k under RoPE depends on m − n only.",
        scope="the same q and k moved by up to a million, float64 angles; scores to 1e-5",
        evidence="exact",
    ),
    "C35": Claim(
        "Attention under RoPE always decays with distance.",
        scope="scores of any queries and keys at distances 0 to 299, base 10,000",
        evidence="exact",
    ),
}

# %%
claims |= {
    "C36": Claim(
        "Interleaved and half-split RoPE are interchangeable.",
        scope="one set of trained weights, read with both; logits to 1e-3",
        evidence="exact",
        choice="whether the rows of W_q and W_k are reordered",
    ),
    "C37": Claim(
        "RoPE may be applied to x before the projections.",
        scope="it must keep RoPE's promise, scores by offset alone (to 1e-3), for any W_q, W_k",
        evidence="exact",
    ),
    "C38": Claim("PaLM uses ALiBi.", scope="PaLM as its paper has it", evidence="source"),
    "C39": Claim(
        "bf16 is precise enough for RoPE angles.",
        scope="positions 0 to 1023 stay different; neighbours' score moves by 0.01 at most",
        evidence="exact",
    ),
}
myths = Myths(claims)

# %%
count = sum(parameter.numel() for parameter in rope.parameters())
myths.settle(
    "C32",
    {"parameters": count == 0, "norms": norm_gap < 1e-5},
    f"{count} parameters; norms change by {small(norm_gap)}.",
)
myths.settle(
    "C33",
    {
        "within 64 places": uneven[0] < 1e-5,
        **{f"moved by {moved:,}": gap < 1e-5 for moved, gap in shift_gap.items()},
    },
    f"Scores change by {small(max(uneven[0], *shift_gap.values()))}.",
)

# %% tags=["pretrained"]
if real:
    gap = real["scores moved"]
    myths.in_a_real_model(
        "C33",
        {"moved by 1,000,000": gap < 1e-5},
        f"In its first head, scores of real words change by {small(gap)}.",
        "SmolLM2-135M-Instruct",
    )

# %%
falls = (equal[200:].mean() / equal[0]).item()
myths.settle(
    "C35",
    {
        "equal q and k, on the whole": falls < 0.5,
        "equal q and k, at every step": bool((equal.diff() < 0).all()),
        "random q and k": change < 0.9,
        "a key made for distance 50": int(peak.argmax()) == 0,
    },
    f"Far scores as a share of near ones: {falls:.2f} for equal q and k, {change:.2f} for random. "
    f"A key made for 50 scores most at {int(peak.argmax())}.",
)

# %%
mixed = tiny.changed(layout="half")
gaps = {}
with torch.no_grad():
    for name, one in {"weights reordered": half, "weights as they are": mixed}.items():
        gaps[name] = (one(tokens) - at_once).abs().max().item()
myths.settle(
    "C36",
    {name: gap < 1e-3 for name, gap in gaps.items()},
    f"Loss {loss['as trained']:.1f} as trained, {loss['wrong layout']:.1f} with the wrong layout, "
    f"{loss['wrong layout, weights reordered']:.1f} after reordering.",
)

# %% tags=["pretrained"]
if real:
    myths.in_a_real_model(
        "C36",
        {name: apart[name] < 1e-3 for name in ("weights reordered", "wrong layout")},
        f"Loss {real['as trained']:.1f} as trained, {real['wrong layout']:.1f} with the wrong "
        f"layout, {real['weights reordered']:.1f} after reordering.",
        "SmolLM2-135M-Instruct",
    )

# %%
myths.settle(
    "C37",
    {"scores keep to the offset": deviation["x before W_q and W_k"] < 1e-3},
    f"With random matrices scores within a diagonal are up to "
    f"{deviation['x before W_q and W_k']:.1f} apart.",
)
myths.settle(
    "C38",
    {"Chowdhery et al. 2022, arXiv 2204.02311, section 2": False},
    "By the source, not by a run: Chowdhery et al. 2022, arXiv 2204.02311, section 2, lists RoPE.",
)
moves = max(spread["bfloat16"])
myths.settle(
    "C39",
    {"positions stay different": distinct == 1024, "neighbours' score is even": moves <= 0.01},
    f"{distinct} of 1024 positions are left; neighbours' score moves by up to {moves:.1f}.",
)

# %% tags=["pretrained"]
if real:
    curve = neighbours(torch.bfloat16, base=100_000)
    moves, loss_far = (curve.max() - curve.min()).item(), real["rough angles from 928"]
    myths.in_a_real_model(
        "C39",
        {"positions stay different": distinct == 1024, "neighbours' score is even": moves <= 0.01},
        f"With base 100,000 neighbours' score moves by up to {moves:.1f}. From 928 on it reads at "
        f"{loss_far:.1f} nats a token, not {real['as trained']:.1f}.",
        "SmolLM2-135M-Instruct",
    )

# %% tags=["pretrained"]
myths.table()

# %% [markdown]
# ## In five lines
#
# - Turn query and key by their positions, and the dot product sees only the difference.
# - No parameters, no change of length. Turn q and k per head, not x.
# - Like vectors score less with distance; others need not. Fast pairs tell places, slow ones not.
# - Interleaved and half are one scheme in two orders. Weights must be reordered, or loss goes up.
# - Compute angles in float32 or better, and tell a cache each token's place.
#
# **Read next:** Su et al. 2021, *RoFormer*, arXiv 2104.09864, section 3. Then Barbero et al. 2024,
# *Round and Round We Go!*, arXiv 2410.06205.
#
# **Next:** [lesson 06](06_alibi.ipynb) makes distance a plain cost.
