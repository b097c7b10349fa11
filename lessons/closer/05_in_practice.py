# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # 05 · RoPE: a closer look
#
# For those who build with it: what goes wrong in code, in precision, in caches and on images, and
# what it does to a real model. It builds on [lesson 05](../05_rope.ipynb). Each section stands
# alone.
#
# **Time:** {minutes}.

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start()

# %%
import torch

from course_lab import explorers, widgets
from course_utils import measures, plots
from course_utils.encodings import Places, create
from course_utils.encodings.functional import apply_rope, rope_angles, rope_frequencies

rope = create("rope", d_model=128, n_heads=4)


def turned(x, places, base=10_000.0):
    """Queries or keys (…, seq, d), turned."""
    return apply_rope(x, rope_angles(places, rope_frequencies(x.shape[-1], base)))


# %% [markdown]
# ## Exact on paper, and in arithmetic
#
# The formula has no place in it but the offset. Arithmetic has: angles grow with the place, and so
# does their rounding error. We move a text by up to a million positions.


# %%
def size(gap):  # below 1e-5 the digits are rounding, and differ between processors
    return "less than 1e-5" if gap < 1e-5 else f"{gap:.0e}"


places = torch.arange(64)
query, key = torch.randn(2, 1, 64, generator=torch.Generator().manual_seed(1)).expand(-1, 64, -1)
unmoved = turned(query, places) @ turned(key, places).T / 8  # (64, 64)
deviation = measures.toeplitz_error(unmoved)
shift_gap, speeds = {}, rope_frequencies(64)
for moved in (100, 10_000, 1_000_000):
    fine = turned(query, places + moved) @ turned(key, places + moved).T / 8
    coarse = (places + moved).float()[:, None] * speeds.float()  # angles in float32
    rough = apply_rope(query, coarse) @ apply_rope(key, coarse).T / 8
    shift_gap[moved] = (fine - unmoved).abs().max().item()
    gap = (rough - unmoved).abs().max().item()
    print(f"moved by {moved:9,}: {size(shift_gap[moved])}, with float32 angles {size(gap)}")

# %% [markdown]
# **Look:** the second column grows with the place. Hence float64 for angles in this course.
#
# ## A model with x turned
#
# Lesson 05 turned $x$ before $W_q$ and $W_k$, and lost the offset. Does it matter to a trained
# model? The task of lesson 04: name the token three earlier. One model has RoPE. In the other, what
# feeds $W_q$ and $W_k$ is turned before them, and nothing else: values stay as they were. After
# training we move all positions by 50.

# %%
from course_utils.models import TinyTransformer
from course_utils.models.training import fit
from course_utils.texts import tasks


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
        x = block.attention_norm(model.embedding(examples.tokens) * 32**0.5)
        return block.attention.attend(x, places, need_weights=True)[1]


# %%
for name in ("RoPE", "x turned"):
    for seed in range(3):
        trained = three_back(seed, turn_x=name == "x turned")
        unmoved_weights, moved = (weights_from(*trained, first) for first in (0, 50))
        hits = [w.diagonal(-3, 2, 3).mean().item() for w in (unmoved_weights, moved)]
        largest = (unmoved_weights - moved).abs().max().item()
        change = "rounding" if largest < 1e-3 else f"{largest:.1f}"
        print(f"{name:8} seed {seed}: weight on three back {hits[0]:.1f}, moved by 50", end=" ")
        print(f"{hits[1]:.1f}; largest change of any weight: {change}")

# %% [markdown]
# **Look:** with $x$ turned the model learns the task too, and finds an offset on its own: moved, it
# still looks mostly three back. But only mostly, for nothing holds the matrices there. RoPE keeps
# the offset whatever is learned, and does not notice the move.
#
# ## Does the score fall with distance?
#
# In lesson 05 a head could like any distance. What do queries and keys do that nobody designed?

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


# %%
one_head = create("rope", d_model=64, n_heads=1)
Q, K = torch.randn(2, 2000, 64, generator=torch.Generator().manual_seed(2))
equal = by_distance(one_head, Q, Q).mean(0)
random = by_distance(one_head, Q, K).square().mean(0).sqrt()
distances = torch.full((len(Q),), 50)
turned_keys = apply_rope(Q, rope_angles(distances, rope_frequencies(64)))  # queries turned on by 50
peak = by_distance(one_head, Q, turned_keys).mean(0)
change = (random[200:].mean() / random[:50].mean()).item()

# %% tags=["plumbing"]
# The answer
side = "lower" if change < 1 else "higher"
guess.reveal("is the same within 10 %" if abs(change - 1) < 0.1 else f"is more than 10 % {side}")

# %% tags=["plumbing"]
# The paper's bound for such queries and keys, and the curves
import matplotlib.pyplot as plt

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
fig, axes = plt.subplots(1, 2, figsize=(9, 3.5), sharey=True)
titles = ("base 10,000", "equal q and k, three bases")
for ax, lines, title in zip(axes, (curves, bases), titles, strict=True):
    plots.lines(ax, lines, title=title, xlabel="distance (positions)", legend=False)
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
#
# In the explorer the key is made for one distance. When does another score nearly as much?

# %%
explorers.wanted_distance()

# %% [markdown]
# ## Wavelengths against the context
#
# Pair $m$ comes round after $2\pi / \theta_m$ positions, its wavelength. Pairs with a wavelength
# longer than the context never finish a turn there. Llama 2 has heads of 128, base 10,000 and
# 4,096 tokens; Llama 3 has base 500,000 and, in its first release, 8,192 tokens.

# %% tags=["plumbing"]
# Two models' wavelengths
contexts = {"Llama 2": (10_000.0, 4096), "Llama 3": (500_000.0, 8192)}
fig, ax = plt.subplots(figsize=(7, 3.4))
unfinished = {}
for number, name in enumerate(contexts):
    base, context = contexts[name]
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
vector, angles = torch.randn(1, 8), rope_angles(torch.tensor([5]), rope_frequencies(8))
agree = torch.allclose(
    apply_rope(vector, angles)[:, order], apply_rope(vector[:, order], angles, "half"), atol=1e-6
)
print("turn, then reorder = reorder, then turn half:", agree)

# %% [markdown]
# Now a model of four layers that the course has trained on real text, 64 bytes at a time. Beside it
# stands one without any position. Then we read the first one's weights as if they were for halves.

# %%
levels = ["none of it (0.05 nats at most)", "less than half of it", "more than half of it, or all"]
guess = widgets.predict(
    "Positions lower the loss. Read with the wrong layout, how much of that gain is lost?", levels
)

# %%
from course_utils.encodings.functional import convert_layout
from course_utils.models import shipped
from course_utils.texts import text

held_out = text.split(text.documentation()).to(device).held_out
held_out = text.pieces(held_out[:1], length=64)  # 127 times 64 bytes, and each byte's successor
tiny, blind = (shipped.model(name).to(device) for name in ("rope", "none"))
half = tiny.changed(layout="half")  # the same weights


# %%
def nats(model):
    with torch.no_grad():
        return tasks.loss(model, held_out).item()


loss = {"as trained": nats(tiny), "no position": nats(blind), "wrong layout": nats(half)}
# %%
with torch.no_grad():
    for source, target in zip(tiny.blocks, half.blocks, strict=True):
        for name in ("W_q", "W_k"):
            weight = getattr(source.attention, name).weight
            reordered = convert_layout(weight, 4, "interleaved", "half")
            getattr(target.attention, name).weight.copy_(reordered)
loss["wrong layout, weights reordered"] = nats(half)

# %% tags=["plumbing"]
# The answer
for name, value in loss.items():
    print(f"{name:32} {value:.1f} nats a byte")
lost = loss["wrong layout"] - loss["as trained"]
gain = loss["no position"] - loss["as trained"]
guess.reveal(levels[0 if lost <= 0.05 else 1 if lost < gain / 2 else 2])

# %% [markdown]
# **Look:** no error came, and the loss went up to about that of no position, or above. Reordering
# the rows of $W_q$ and $W_k$ in each head repairs it: the score is a sum over pairs, and a sum does
# not mind where its pairs stand. $W_v$ and $W_o$ stay, as nothing turns there.
#
# ## Turning a part
#
# GPT-NeoX-20B turns a quarter of each head, and GPT-J 64 features of 256. That is two lines:


# %%
def partly_turned(x, places, width):
    return torch.cat([turned(x[..., :width], places), x[..., width:]], dim=-1)


heads = torch.randn(4, 64, 64)  # (heads, seq, d)
quarter = create("rope", d_model=256, n_heads=4, fraction=0.25)
expected = quarter.rotate(heads[None], heads[None], Places(places))[0][0]
print("two lines = the reference:", torch.allclose(partly_turned(heads, places, 16), expected))

# %% [markdown]
# Which speeds are left? Not the fast ones: the pairs that turn spread over the whole range, as in a
# head of width 16. Barbero et al. (2024) cut otherwise: their p-RoPE keeps all speeds but the
# slowest, which stand still.

# %% tags=["plumbing"]
# Speeds of three ways
kinds = {
    "all of 64 features": rope_frequencies(64),
    "a quarter, as in GPT-NeoX": rope_frequencies(16),
    "p-RoPE, p = 0.75": rope_frequencies(64)[:24],
}
fig, ax = plt.subplots(figsize=(8, 2.2))
for row, kept in enumerate(kinds.values()):
    ax.plot(2 * torch.pi / kept, torch.full_like(kept, -row), "o", color=f"C{row}", markersize=4)
ax.set(xscale="log", xlabel="tokens a turn", title="pairs that turn, in a head of 64 features")
ax.set_yticks([0, -1, -2], list(kinds))
ax.set_ylim(-2.6, 0.6)
counts = ", ".join(f"{kind}: {len(kept)}" for kind, kept in kinds.items())
plots.show(
    fig,
    f"Three rows of dots on a logarithmic axis, one dot a pair that turns. {counts}. The quarter's "
    "dots span nearly the range of all, with wide gaps; p-RoPE's stop before the slowest.",
)

# %% [markdown]
# **Look:** both leave features that hold content and never turn. Khan et al. (2026, arXiv
# 2603.11611) trained with fractions down to nothing: about a tenth of the features turned gave a
# loss comparable to all.
#
# ## Before attention
#
# RoPE is done when attention begins. So PyTorch's fused attention, which never stores all scores,
# needs to know nothing of it:

# %%
from torch.nn.functional import scaled_dot_product_attention as fused

q, k, v = torch.randn(3, 1, 4, 64, 32)  # (batch, heads, seq, d_head)
q, k = turned(q, places), turned(k, places)
later = torch.ones(64, 64, dtype=torch.bool).triu(1)
by_hand = (q @ k.mT / 32**0.5).masked_fill(later, -torch.inf).softmax(-1) @ v
print("fused = by hand:", torch.allclose(fused(q, k, v, is_causal=True), by_hand, atol=1e-5))

# %% [markdown]
# ## Token by token
#
# A model that writes reads one token at a time, and keeps the keys it has (a *KV cache*). A key's
# turn depends on its own position only, so old keys stay right. But the new token must be told
# where it is.

# %%
tokens, targets = held_out.tokens[:30], held_out.targets[:30]


def step_by_step(positions):
    """The logits of one token after the other, each read at its entry of ``positions``."""
    cache, logits = tiny.new_cache(), []
    with torch.no_grad():
        for token, position in zip(tokens.split(1, dim=1), positions.split(1), strict=True):
            logits.append(tiny(token, position, cache))
    return torch.cat(logits, dim=1)


# %%
with torch.no_grad():
    at_once = tiny(tokens)
own_place = torch.arange(tokens.shape[1], device=device)
cached = {"its place": step_by_step(own_place), "always 0": step_by_step(0 * own_place)}
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
positions = torch.arange(1024)
rounded = positions.to(torch.bfloat16)
distinct = len(rounded.unique())
first_changed = int((rounded.long() != positions).nonzero()[0])
print(
    f"first position that is not itself: {first_changed}, it becomes {int(rounded[first_changed])}"
)
guess.reveal(float(distinct), "numbers")


# %%
def rough_angles(positions, dtype, base=10_000.0):
    """Angles for heads of 64, with positions, speeds and their product in ``dtype``."""
    speeds = rope_frequencies(64, base, device=positions.device)
    return positions.to(dtype)[:, None] * speeds.to(dtype)


def neighbours(dtype, base=10_000.0):
    """Score of equal q and k one position apart, at every place."""
    angles = rough_angles(positions, dtype, base).double()
    angles_before = rough_angles(positions - 1, dtype, base).double()
    return (angles - angles_before).cos().mean(1)


# %% tags=["plumbing"]
# Neighbours' scores at every place
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
described = "; ".join(
    f"{name} {', '.join(f'{width:.3f}' for width in widths)}" for name, widths in spread.items()
)
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

# %% tags=["plumbing"]
# One patch's scores with all others
from course_utils.encodings import AxialRotary

by_line = create("rope", d_model=64, n_heads=1, base=100.0)
by_grid = AxialRotary(64, 1, width=12, base=100.0)
views = {}
for name, encoding in (("1-D: patches numbered", by_line), ("2-D: row and column", by_grid)):
    views[name] = measures.fingerprint(encoding, 144)[0][66].reshape(12, 12)  # row 5, column 6
fig, axes = plt.subplots(1, 2, figsize=(9, 3.9))
top = max(view.max().item() for view in views.values())
for ax, name in zip(axes, views, strict=True):
    plots.heatmap(ax, views[name], title=name, xlabel="column", limit=top, unit="score", equal=True)
    ax.plot(6, 5, "w+")
axes[0].set_ylabel("row")
numbered, gridded = ([view[5, 7].item(), view[6, 6].item()] for view in views.values())
plots.show(
    fig,
    "Scores of the patch at row 5, column 6 with all others. Left, a horizontal streak: right "
    f"neighbour {numbered[0]:.1f}, neighbour below {numbered[1]:.1f}. Right, a cross: "
    f"{gridded[0]:.1f} and {gridded[1]:.1f}.",
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
from course_lab.session import if_installed
from course_utils import pretrained
from course_utils.encodings.rope import Rotary
from course_utils.texts import data

model, real = if_installed(pretrained.smollm2, device), {}
if model:
    page = data.verified("documentation.txt").read_text(encoding="utf-8")
    ids = model.encode(page[:1000])[:, :96]
    print(f"{ids.shape[1]} tokens: {model.decode(ids)[:85]!r} …")

# %% tags=["pretrained"]
if model:
    reordered = model.with_encoding(layout="half")
    for layer in reordered.blocks:
        for W, heads in ((layer.attention.W_q, 9), (layer.attention.W_k, 3)):
            W.weight.data = convert_layout(W.weight, heads, "interleaved", "half")


# %%
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

# %% tags=["pretrained"]
if model:
    logits = {}
    for name, way in ways.items():
        changed, first = way
        logits[name] = changed(ids, torch.arange(96) + first)[0]
    for name, rows in logits.items():
        real[name] = torch.nn.functional.cross_entropy(rows[:-1], ids[0, 1:]).item()
        print(f"{name:22} {real[name]:.1f} nats a token")
    logit_gaps = {
        name: (rows - logits["as trained"]).abs().max().item() for name, rows in logits.items()
    }

# %% [markdown]
# **Look:** moved, it reads as before. The wrong layout loses most of what positions give.
# The checkpoint was published for halves. This copy, a GGUF file, is for neighbours, and a library
# that turned such files back once left rows in a wrong order (huggingface/transformers, pull
# request 31788). Rough angles do harm before position 1,024. A published fix takes float32 (pull
# request 29285).
#
# One measurement more for the myth check, then the model goes.

# %% tags=["pretrained"]
if model:
    layer = model.blocks[0]
    x = layer.attention_norm(model.embedding(ids))[0]
    queries, keys = (W(x)[:, :64].double() for W in (layer.attention.W_q, layer.attention.W_k))

    def first_head(first):
        angles = rope_angles(torch.arange(96) + first, rope_frequencies(64, 100_000))
        return apply_rope(queries, angles) @ apply_rope(keys, angles).T / 8  # scores, (96, 96)

    real["scores moved"] = (first_head(0) - first_head(1_000_000)).abs().max().item()
    print(f"moved by 1,000,000: scores change by {size(real['scores moved'])}")
model = reordered = ways = logits = None  # frees half a gigabyte; the first cell loads it again

# %% [markdown]
# ## Myth check
#
# Guess first. The verdicts come from the measurements above.

# %% tags=["plumbing"]
# Five claims
from course_lab.claims import Claim, Myths

myths = Myths(
    {
        "C33": Claim(
            "q·k under RoPE depends on m − n only.",
            scope="the same q and k moved by up to a million, float64 angles; scores to 1e-5",
            evidence="exact",
        ),
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
        "C39": Claim(
            "bf16 is precise enough for RoPE angles.",
            scope="positions 0 to 1023 stay different; neighbours' score moves by 0.01 at most",
            evidence="exact",
        ),
        "C38": Claim("PaLM uses ALiBi.", scope="PaLM as its paper has it", evidence="source"),
    }
)

# %% tags=["plumbing"]
# The offset alone
myths.settle(
    "C33",
    {
        "within 64 places": deviation < 1e-5,
        **{f"moved by {moved:,}": gap < 1e-5 for moved, gap in shift_gap.items()},
    },
    f"Scores change by {size(max(deviation, *shift_gap.values()))}.",
)

# %% tags=["pretrained", "plumbing"]
# The same in SmolLM2
if real:
    gap = real["scores moved"]
    myths.in_a_real_model(
        "C33",
        {"moved by 1,000,000": gap < 1e-5},
        f"In its first head, scores of real words change by {size(gap)}.",
        "SmolLM2-135M-Instruct",
    )

# %% tags=["plumbing"]
# Layouts
mixed = tiny.changed(layout="half")
gaps = {}
with torch.no_grad():
    for name, other_model in {"weights reordered": half, "weights as they are": mixed}.items():
        gaps[name] = (other_model(tokens) - at_once).abs().max().item()
myths.settle(
    "C36",
    {name: gap < 1e-3 for name, gap in gaps.items()},
    f"Loss {loss['as trained']:.1f} as trained, {loss['wrong layout']:.1f} with the wrong layout, "
    f"{loss['wrong layout, weights reordered']:.1f} after reordering.",
)

# %% tags=["pretrained", "plumbing"]
# Layouts in SmolLM2
if real:
    myths.in_a_real_model(
        "C36",
        {name: logit_gaps[name] < 1e-3 for name in ("weights reordered", "wrong layout")},
        f"Loss {real['as trained']:.1f} as trained, {real['wrong layout']:.1f} with the wrong "
        f"layout, {real['weights reordered']:.1f} after reordering.",
        "SmolLM2-135M-Instruct",
    )

# %% tags=["plumbing"]
# Turned before the projections
W_q, W_k = torch.randn(2, 64, 64, generator=torch.Generator().manual_seed(3)) / 8
word = turned(torch.randn(64, generator=torch.Generator().manual_seed(4)).expand(64, -1), places)
word_deviation = measures.toeplitz_error((word @ W_q) @ (word @ W_k).T / 8)
myths.settle(
    "C37",
    {"scores keep to the offset": word_deviation < 1e-3},
    f"With random matrices scores within a diagonal are up to {word_deviation:.2f} apart.",
)

# %% tags=["plumbing"]
# Sixteen bits
moves = max(spread["bfloat16"])
myths.settle(
    "C39",
    {"positions stay different": distinct == 1024, "neighbours' score is even": moves <= 0.01},
    f"{distinct} of 1024 positions are left; neighbours' score moves by up to {moves:.1f}.",
)

# %% tags=["pretrained", "plumbing"]
# Sixteen bits in SmolLM2
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

# %% tags=["plumbing"]
# By the source
myths.settle(
    "C38",
    {"Chowdhery et al. 2022, arXiv 2204.02311, section 2": False},
    "By the source, not by a run: Chowdhery et al. 2022, arXiv 2204.02311, section 2, lists RoPE.",
)

# %% [markdown]
# **Back:** [lesson 05](../05_rope.ipynb). **Next:** [lesson 06](../06_alibi.ipynb).
