# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # 06 · ALiBi
#
# **Question:** what if distance were simply a cost?
#
# After this lesson you can
#
# - write ALiBi from memory, slopes included, for any number of heads;
# - say how far each head sees, and what becomes of its entropy in a long text;
# - tell what the bias cannot know, and when it may be shortened;
# - train a model on short texts, read a long one, and doubt the result in the right place.
#
# **Time:** {minutes}. **Builds on:** lessons 01, 02 and 04. **Doors:** 3, attention scores.

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start(doors=["bias"], title="Lesson 06: ALiBi opens door 3")

# %% [markdown]
# ## A price for each step
#
# T5 learns a number for each bucket of distances. Press et al. (2021) learn nothing at all. Each
# step away from the query costs $m_h$ points of score, the *slope* of head $h$:
#
# $$s_{ij} = \frac{q_i \cdot k_j}{\sqrt d} - m_h\,|j - i|, \qquad m_h = 2^{-8h/H}, \quad
# h = 1 \dots H$$
#
# The name is short for *Attention with Linear Biases*. The paper gives $m_h$ for any number of
# heads $H$; its code departs from it where $H$ is no power of two. More of that later. Here are
# both, line for line.

# %%
import torch


def alibi_from_scratch(n_heads, length):
    """What is added to the scores: (heads, query, key), for a power of two of heads."""
    h = torch.arange(1, n_heads + 1)  # (heads)
    m = 2 ** (-8 * h / n_heads)  # (heads), points per position
    place = torch.arange(length)
    distance = (place[None, :] - place[:, None]).abs()  # (query, key)
    return -m[:, None, None] * distance  # (heads, query, key)


# %%
from course_utils.encodings import Places, create
from course_utils.encodings.functional import alibi_bias, alibi_slopes, offset_matrix

places = torch.arange(48)
offsets = offset_matrix(places, places)
bias = alibi_bias(offsets, alibi_slopes(8))  # (8, 48, 48)
assert torch.allclose(alibi_from_scratch(8, 48), bias)
alibi = create("alibi", d_model=64, n_heads=8)
q = k = torch.zeros(1, 8, 48, 8)  # the bias does not look at them
assert torch.equal(alibi.bias(q, k, Places(places))[0], bias)
print("from scratch = reference; slopes:", [f"1/{1 / m:.0f}" for m in alibi_slopes(8).tolist()])

# %% [markdown]
# The softmax makes a factor of each cost: $e^{-m|j-i|}$. So with equal scores each step back
# multiplies the weight by $e^{-m}$.

# %%
from course_lab import widgets

guess = widgets.predict_number(
    "Slope 1/2, equal scores: a key 10 positions back has which share of the weight of the "
    "query's own place?",
    "%",
)

# %%
hidden = offsets > 0  # the causal mask
attention = bias.masked_fill(hidden, -torch.inf).softmax(-1)  # (8, 48, 48), all q · k equal
shares = 100 * attention[:, 47, 37] / attention[:, 47, 47]
print("ten back, by head:", [f"{share:.1f} %" for share in shares.tolist()])
guess.reveal(shares[0].item(), "%")

# %%
import matplotlib.pyplot as plt

from course_utils import plots

fig, axes = plt.subplots(2, 4, figsize=(11, 5.6), sharex=True, sharey=True)
style = {"signed": False, "equal": True}
for column, head in enumerate((0, 2, 4, 7)):
    upper, lower = axes[:, column]
    costs = plots.heatmap(upper, bias[head].clamp(min=-6), title=f"head {head}", limit=6, **style)
    weights = plots.heatmap(lower, attention[head], xlabel="key", limit=0.4, **style)
fig.supylabel("query")
fig.colorbar(costs, ax=axes[0], label="bias, cut at −6", shrink=0.8)
fig.colorbar(weights, ax=axes[1], label="weight, to 0.4", shrink=0.8)
described = ", ".join(f"head {h}: {bias[h].min():.1f}" for h in (0, 2, 4, 7))
plots.show(
    fig,
    "Upper row: the bias of four of eight heads on 48 tokens, pale on the diagonal and darker away "
    f"from it. Lowest values: {described}. Lower row: the causal attention that it makes of equal "
    "scores: a thin line along the diagonal in head 0, a band in head 2, a faint slope in head 4, "
    "nearly even rows in head 7.",
)

# %% [markdown]
# **Look:** all heads have the same picture at different strength. Head 0 pays half a point a step
# and sees little more than its neighbours. To head 7 all 48 tokens are near. The heads divide the
# work by distance before any training.
#
# Distance is a price, not a wall. A score that is higher by $s$ pays for $s/m$ steps: the key
# weighs as much as an equal one at the query's own place. So content can buy distance.

# %%
for head in (0, 2, 4, 7):
    m = alibi_slopes(8)[head].item()
    print(f"head {head}: 5 points of score pay for {5 / m:5.0f} positions")

# %% [markdown]
# ## How far does a head see?
#
# Count keys from the query back until they hold 95 % of the weight of equal scores. We call this
# the head's *effective window*.

# %%
guess = widgets.predict_number(
    "The flattest of 8 heads, slope 1/256, in a long text: how many keys hold 95 %?", "keys"
)

# %% [markdown]
# The weights are $1, r, r^2, \dots$ with $r = e^{-m}$, a geometric series. Of $n$ keys the nearest
# $D$ hold the share
#
# $$\frac{1 - r^D}{1 - r^n} \;\longrightarrow\; 1 - e^{-mD}\ \text{ for long texts, so }\
# D_{95} = \Big\lceil \frac{-\ln 0.05}{m} \Big\rceil \approx \frac{3}{m}.$$

# %%
import math


def measured_window(m, n, share=0.95):
    """Keys that hold the share, found by adding up the weights of a causal query."""
    weights = alibi_bias(-torch.arange(n), torch.tensor([m])).softmax(-1)[0]  # nearest first
    return int((weights.cumsum(0) < share).sum()) + 1


windows = {}
for head, m in enumerate(alibi_slopes(8).tolist()):
    closed = math.ceil(-math.log(0.05) / m)
    windows[head] = [measured_window(m, n) for n in (256, 4096)]
    print(
        f"head {head}: closed form {closed:4}, measured among 4096 keys {windows[head][1]:4}, "
        f"among 256 keys {windows[head][0]:4}"
    )
guess.reveal(float(windows[7][1]), "keys")

# %%
weights = alibi_bias(-torch.arange(4096), alibi_slopes(8)).softmax(-1)  # (8, 4096), nearest first
weight_held = {f"head {head}": weights[head].cumsum(0)[:1024] for head in (0, 2, 4, 6, 7)}
fig, ax = plt.subplots(figsize=(8, 3.8))
plots.lines(
    ax,
    weight_held,
    x=torch.arange(1, 1025),
    title="weight held by the nearest keys, equal scores",
    xlabel="keys counted from the query back",
    ylabel="share of the weight",
)
ax.axhline(0.95, color="0.5", linewidth=1)
ax.set_xscale("log")
described = ", ".join(f"{name} {100 * curve[63]:.0f} %" for name, curve in weight_held.items())
plots.show(
    fig,
    "Five rising S-curves on a logarithmic axis of 1 to 1024 keys, the same shape moved to the "
    f"right from head to head. Held by the nearest 64 keys: {described}.",
)

# %% [markdown]
# **Look:** one curve, moved. Each flatter head sees twice as far. These windows hold for *equal*
# scores. A trained model's scores differ, and can pay.
#
# ## Entropy in a growing text
#
# In lesson 01, attention over $n$ equal tokens had entropy $\log n$, which grows with the text.
# And here? A causal query at position $p$ sees $p + 1$ keys, so one picture over query positions
# shows all lengths.

# %%
guess = widgets.predict(
    "From 256 to 1024 keys of equal score, the entropy of head 4 (slope 1/32) …",
    ["grows by about log 4 = 1.39", "grows by less than 0.1", "falls"],
)

# %%
from course_lab import figures
from course_utils import measures

length = 1024
long_offsets = offset_matrix(torch.arange(length), torch.arange(length))
nats = {}
for head in (0, 2, 4, 7):
    scores = alibi_bias(long_offsets, alibi_slopes(8)[head : head + 1])[0]
    nats[head] = measures.entropy(scores.masked_fill(long_offsets > 0, -torch.inf).softmax(-1))
    m = alibi_slopes(8)[head].item()
    limit = -math.log(1 - math.exp(-m)) + m / (math.exp(m) - 1)
    print(
        f"head {head}: entropy {nats[head][63]:.2f} at 64 keys, {nats[head][255]:.2f} at 256, "
        f"{nats[head][1023]:.2f} at 1024; limit {limit:.2f}"
    )
growth = (nats[4][1023] - nats[4][255]).item()
guess.reveal(
    "falls" if growth < 0 else "grows by less than 0.1" if growth < 0.1 else "grows by about log 4"
)

# %%
fig, ax = plt.subplots(figsize=(8, 3.9))
curves = {"no position": (torch.arange(length) + 1.0).log()}
curves |= {f"head {head}": row for head, row in nats.items()}
figures.entropy(ax, curves, math.log(length), title="entropy of ALiBi's attention, equal scores")
ax.set_ylim(0, 8.6)
ax.legend(ncols=5, loc="upper left", fontsize=9, handlelength=1.8, columnspacing=1.0)
plots.show(
    fig,
    "Entropy of the query at positions 0 to 1023. Without position it follows log n up to "
    f"{math.log(length):.2f} nats. Heads 0, 2 and 4 bend off and stay level at "
    f"{nats[0][-1]:.2f}, {nats[2][-1]:.2f} and {nats[4][-1]:.2f}; head 7 still rises, "
    f"{nats[7][-1]:.2f} at the end.",
)

# %% [markdown]
# **Look:** the steeper the head, the sooner its curve is level. Far keys weigh next to nothing, so
# more of them change nothing. The limit is the entropy of an endless geometric series:
#
# $$-\ln(1 - e^{-m}) + \frac{m}{e^m - 1} \;\approx\; 1 - \ln m \ \text{ for small } m.$$
#
# Attention without this price spreads thinner and thinner over a growing text. Here it cannot, as
# long as scores stay in bounds.
#
# ## Turn the knobs
#
# - 8 heads, head 0, then head 7. Which has an entropy near the largest possible?
# - 12 heads: go through heads 6 to 9. What happens to the slope?
# - Tick "symmetric": where is the other half of the weight?

# %%
from course_lab import explorers

explorers.distance_cost()

# %% [markdown]
# The same as a still picture: one query in the middle of 97 tokens, three heads, with the causal
# mask and without.

# %%
fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.5), sharey=True)
offsets_of_keys = torch.arange(97) - 48  # offsets of all keys from query 48
for ax, title in zip(axes, ("causal", "symmetric"), strict=True):
    rows = alibi_bias(offsets_of_keys, alibi_slopes(8)[[1, 3, 5]])  # (3, 97)
    rows = rows.masked_fill(offsets_of_keys > 0, -torch.inf) if title == "causal" else rows
    rows = rows.softmax(-1)
    curves = {f"head {head}": row for head, row in zip((1, 3, 5), rows, strict=True)}
    plots.lines(ax, curves, x=offsets_of_keys, title=title, xlabel="offset j − i (positions)")
axes[0].set_ylabel("weight")
weight_ahead = rows[:, 49:].sum(1)
plots.show(
    fig,
    "Weights of one query against offset, −48 to 48, for heads 1, 3 and 5. Causal: peaks at 0 that "
    "fall off to the left. Symmetric: the same on both sides, and lower. Weight on keys ahead: "
    + ", ".join(f"{share:.2f}" for share in weight_ahead.tolist())
    + ".",
)

# %% [markdown]
# **Look:** without a mask the picture is a tent. Left and right are the same.
#
# ## Left or right?
#
# A causal mask leaves a query one side only. But many models read both ways.
#
# We give *dog bites man* and *man bites dog* to fresh two-layer models that read both ways, and
# average the outputs over the words, as a classifier would. Two of them come later in this lesson:
# KERPLE takes a logarithm of the distance off the score, Sandwich adds a sum of cosines of it.

# %%
guess = widgets.predict(
    "Whose average is the same for both sentences, whatever the weights?",
    ["nobody's", "ALiBi's only", "ALiBi's, KERPLE's and Sandwich's", "these and T5's", "all"],
)

# %%
from course_utils.models import TinyTransformer

SCHEMES = ("none", "alibi", "kerple", "sandwich", "t5", "rope", "sinusoidal")
sentence = torch.tensor([[0, 1, 2]])  # dog bites man
mean_gaps = {}
for name in SCHEMES:
    torch.manual_seed(0)
    model = TinyTransformer(3, name, d_model=32, n_layers=2, n_heads=4, causal=False)
    with torch.no_grad():
        outputs, mirrored_outputs = model.hidden(sentence)[0], model.hidden(sentence.flip(1))[0]
    mean_gaps[name] = (outputs.mean(0) - mirrored_outputs.mean(0)).abs().max().item()
    row_gap = (outputs - mirrored_outputs.flip(0)).abs().max().item()
    size = "rounding" if mean_gaps[name] < 1e-5 else f"{mean_gaps[name]:.3f}"
    row_verdict = "the same" if row_gap < 1e-5 else "not the same"
    print(f"{name:11} averages differ by {size:8}  each word's own output: {row_verdict}")

# %%
blind = {name for name, gap in mean_gaps.items() if gap < 1e-5} - {"none"}
mirror_schemes = {"alibi", "kerple", "sandwich"}
guess.reveal(
    "ALiBi's, KERPLE's and Sandwich's" if blind == mirror_schemes else ", ".join(sorted(blind))
)

# %% [markdown]
# **Look:** with ALiBi, KERPLE and Sandwich a sentence and its mirror image give each word the same
# output, as without any position. $|j - i|$ does not say which side, and these models have no
# other sign of order. No training can change that. T5, RoPE and sinusoids know left from right.
#
# Is ALiBi then blind to order? No. A mirror keeps all distances; another shuffle does not.

# %%
four_words = torch.tensor([[0, 1, 2, 3]])
torch.manual_seed(0)
readers = {
    causal: TinyTransformer(4, "alibi", d_model=32, n_layers=2, n_heads=4, causal=causal)
    for causal in (False, True)
}
for causal, model in readers.items():
    for name, order in {"mirror": [3, 2, 1, 0], "swap first two": [1, 0, 2, 3]}.items():
        with torch.no_grad():
            gap = (
                (model.hidden(four_words) - model.hidden(four_words[:, order])[:, order])
                .abs()
                .max()
                .item()
            )
        print(
            f"{'causal' if causal else 'both ways':9} {name:15}",
            "the same outputs" if gap < 1e-5 else "other outputs",
        )

# %% [markdown]
# So a bidirectional model needs another source of direction: a second slope for later keys, for
# example, or heads that look one way only.
#
# ## A shortcut, and where it ends
#
# Some implementations, BLOOM's among them, never build the matrix of distances. They add
# $m \cdot j$ to the score of key $j$, one row for all queries. Can that be right? For earlier keys
#
# $$-m\,(i - j) = m\,j - m\,i,$$
#
# and $m\,i$ is the same for all keys of a query. Softmax does not see it.

# %%
guess = widgets.predict(
    "A model without causal mask uses the shortcut m · j. Then …",
    ["it is right: softmax drops what a row shares", "all queries prefer the end of the text"],
)

# %%
slopes = alibi_slopes(8)
row = slopes[:, None, None] * places  # (8, 1, 48): the shortcut, no query in it
exact = {"causal": attention, "both ways": bias.softmax(-1)}
shortcut = {
    "causal": row.expand_as(bias).masked_fill(hidden, -torch.inf).softmax(-1),
    "both ways": row.expand_as(bias).softmax(-1),
}
gaps = {name: (shortcut[name] - exact[name]).abs().max().item() for name in exact}
for name, gap in gaps.items():
    print(f"{name:9} largest difference {'rounding' if gap < 1e-5 else f'{gap:.2f}'}")
n_last = int((shortcut["both ways"].argmax(-1) == 47).sum())
print(f"both ways: {n_last} of {8 * 48} queries give their largest weight to the last key")
guess.reveal(
    "all queries prefer the end of the text"
    if n_last == 8 * 48
    else "it is right: softmax drops what a row shares"
)

# %%
fig, axes = plt.subplots(1, 4, figsize=(11, 3.3), sharey=True)
panels = {}
for name in exact:
    panels |= {f"{name}, |j − i|": exact[name][3], f"{name}, m · j": shortcut[name][3]}
for ax, title in zip(axes, panels, strict=True):
    image = plots.heatmap(
        ax, panels[title], title=title, xlabel="key", signed=False, limit=0.1, equal=True
    )
axes[0].set_ylabel("query")
fig.colorbar(image, ax=axes, label="weight, to 0.1", shrink=0.8)
plots.show(
    fig,
    "Attention of head 3 for equal scores. Causal: two equal pictures, a band below the diagonal. "
    "Both ways: with |j − i| a band along the diagonal; with m · j the same row for every query, "
    "dark at the last keys.",
)

# %% [markdown]
# **Look:** the first two pictures are one. The last has lost the query: every row is the same.
# Without a causal mask the shortcut is wrong. With one it is right, on paper. And in 16 bits?

# %%
for kind in (torch.bfloat16, torch.float16):
    for n in (4096, 8192):
        j, m = torch.arange(n), alibi_slopes(8)[0]  # head 0, the last query, equal scores
        forms = {"m · j": m * j, "−m (i − j)": -m * (n - 1 - j)}
        reference = forms["−m (i − j)"].double().softmax(-1)
        print(f"{str(kind)[6:]:8} {n} keys:", end=" ")
        for name, scores in forms.items():
            rounded = scores.to(kind).double()
            moved_weight = (rounded.softmax(-1) - reference).abs().sum() / 2
            tied = int((rounded == rounded[-1]).sum())
            print(f"{name} moves {moved_weight:.2f} of the weight, top keys tied {tied}", end="; ")
        print()

# %% [markdown]
# Far from 0 few bits are left to tell neighbours apart, as in lesson 05's closer look. Distances
# are small where the weight is, so they hardly suffer. It happens: transformers 5.23
# (`modeling_bloom.py`) rounds BLOOM's product to the model's type. The shortcut wants a causal mask
# *and* enough bits.
#
# ## The bill
#
# ALiBi has no parameters. But `scaled_dot_product_attention`, PyTorch's fused attention, wants its
# bias as a tensor.

# %%
guess = widgets.predict_number(
    "32 heads, 8192 tokens, two bytes a number: how large is the bias as one tensor?",
    "MB (of 2^20 bytes)",
)

# %%
from course_lab.measures import content_spread, passport_text

facts = measures.passport("alibi")
print(passport_text(facts), end="\n\n")
for heads, n in ((4, 256), (12, 1024), (32, 8192)):
    whole, shortened = heads * n * n * 2 / 2**20, heads * n * 2 / 2**20
    print(
        f"{heads:2} heads, {n:4} tokens: bias {whole:7,.1f} MB, slopes {2 * heads:2} bytes, "
        f"the causal shortcut's row {shortened:.3f} MB"
    )
guess.reveal(whole, "MB")

# %% [markdown]
# And the time? Without a bias, fused attention can hide what is ahead by itself. With one, it has
# to read a matrix.

# %% tags=["volatile"]
import statistics
import time

from torch.nn.functional import scaled_dot_product_attention as fused

q, k, v = torch.randn(3, 1, 8, 1024, 64)


def fresh_bias():  # (8, 1024, 1024)
    return alibi_bias(long_offsets, slopes).masked_fill(long_offsets > 0, -torch.inf)


stored_bias = fresh_bias()
ways = {
    "no bias": lambda: fused(q, k, v, is_causal=True),
    "bias kept": lambda: fused(q, k, v, attn_mask=stored_bias),
    "bias made anew": lambda: fused(q, k, v, attn_mask=fresh_bias()),
}
seconds = {name: [] for name in ways}
for name in list(ways) * 6:
    begin = time.perf_counter()
    ways[name]()
    seconds[name].append(time.perf_counter() - begin)
base = statistics.median(seconds["no bias"])
print({name: f"{statistics.median(times) / base:.1f} ×" for name, times in seconds.items()})

# %% [markdown]
# **Look:** run the cell for your machine's ratios; they are not saved. The bytes above do not
# depend on a machine. This library hands over the bias in blocks of queries, so that the large
# tensor never exists as a whole. FlexAttention and FlashAttention compute each number where it is
# used, from a formula or from the slopes. Cheap is possible. Free it is not.
#
# ## Train at 64, read at 1024
#
# The paper's title promises: *Train Short, Test Long*. We train two small models on real text, byte
# by byte, in pieces of 64. One has sinusoids, the other ALiBi. Then both read pieces of 1024 of
# text held out from training.

# %%
guess = widgets.predict(
    "The sinusoidal model's mean loss at positions 64–1023, against 0–63, …",
    ["rises by 0.02 nats at most", "rises by 0.02 to 0.2 nats", "rises by more than 0.2 nats"],
)

# %%
from course_utils.measures import trained_models
from course_utils.models.training import fit
from course_utils.texts import tasks, text

english = text.split(text.documentation())


def train(name):
    torch.manual_seed(0)
    model = TinyTransformer(256, name, d_model=64, n_layers=2, n_heads=4).to(device)
    pieces = {"length": 64, "batch": 16, "generator": torch.Generator().manual_seed(0)}

    def loss():
        return tasks.loss(model, text.draw(english.train, **pieces).to(device))

    fit(model, loss, steps=250, lr=1e-2)
    return model


models = {name: train(name) for name in ("sinusoidal", "alibi")}

# %%
blocks = english.held_out.to(device)
loss_by_place = {
    name: trained_models.loss_by_position(m, blocks, length=1024) for name, m in models.items()
}
near_loss = {name: row[:64].mean().item() for name, row in loss_by_place.items()}
far_loss = {name: row[64:].mean().item() for name, row in loss_by_place.items()}
for name in models:
    print(f"{name:10} positions 0–63: {near_loss[name]:.1f} nats a byte,", end=" ")
    print(f"64–1023: {far_loss[name]:.1f}")
rise = far_loss["sinusoidal"] - near_loss["sinusoidal"]
guess.reveal(
    "rises by more than 0.2 nats"
    if rise > 0.2
    else "rises by 0.02 to 0.2 nats"
    if rise > 0.02
    else "rises by 0.02 nats at most"
)

# %%
fig, ax = plt.subplots(figsize=(8.5, 3.9))
smoothed = {name: row.cpu().unfold(0, 32, 8).mean(1) for name, row in loss_by_place.items()}
plots.lines(
    ax,
    smoothed,
    x=torch.arange(len(smoothed["alibi"])) * 8 + 16,
    title="loss by position, trained at 64, mean of 32 neighbours",
    xlabel="position",
    ylabel="loss (nats a byte)",
)
ax.axvline(64, color="0.5", linewidth=1)
ax.text(75, ax.get_ylim()[1], "trained up to here", color="0.35", va="top")
ax.legend(loc="center right")
plots.show(
    fig,
    "Loss against position, 0 to 1023, with a grey line at 64. The curves start together. Right of "
    f"the line the sinusoidal one is at about {far_loss['sinusoidal']:.1f}, ALiBi's stays at about "
    f"{far_loss['alibi']:.1f}. Small waves that both share come from the text.",
)

# %% [markdown]
# **Look:** up to 64 the two are nearly equal. Past the line the sinusoidal curve jumps, and stays
# up. ALiBi's stays about level. Each position has other bytes, so small differences mean nothing
# here. The paper's numbers, for a large model and words:

# %%
paper = {"sinusoidal": (20.05, 406.01), "alibi": (19.73, 18.31)}  # perplexity, WikiText-103
for name, perplexities in paper.items():
    short_read, long_read = perplexities
    print(f"{name:10} perplexity of a word: {short_read} at 512 words, {long_read} at 15,512")

# %% [markdown]
# The directions agree, no more: a word is no byte, and ours is one seed, two layers, 250 steps and
# one text. In the paper ALiBi even gets a little better with length.
#
# ## Why? Two suspects
#
# The sinusoidal model may fail because positions past 64 are new to it, or because it sees more
# keys than ever. And does ALiBi *use* the long text, or merely survive it?

# %%
guess = widgets.predict(
    "ALiBi, with all but the last 64 keys hidden, reads the long text …",
    ["worse by more than 0.1 nats", "as well within 0.1 nats", "better by more than 0.1 nats"],
)

# %% [markdown]
# We read the held-out text in three ways:
#
# - **whole:** 1024 bytes, all visible;
# - **window:** 1024 bytes, but each layer sees only the last 64;
# - **pieces:** 64 bytes, read afresh from position 0.

# %%
from course_utils.encodings import PositionalEncoding


class Window(PositionalEncoding):
    """The bias of another encoding, with all but the nearest ``width`` keys hidden."""

    def __init__(self, inner, width):
        super().__init__(inner.d_model, inner.n_heads)
        self.inner, self.width = inner, width

    def embed(self, x, positions, tokens=None):
        return self.inner.embed(x, positions, tokens)

    def bias(self, q, k, at):
        bias = self.inner.bias(q, k, at)
        bias = torch.zeros(at.offsets.shape, device=q.device) if bias is None else bias
        return bias.masked_fill(at.offsets.abs() >= self.width, -torch.inf)


def loss_in_window(model, width, blocks):
    for block in model.blocks:
        block.attention.encoding = Window(model.encoding, width)
    loss = trained_models.loss_by_position(model, blocks, length=1024)[64:].mean().item()
    for block in model.blocks:
        block.attention.encoding = model.encoding
    return loss


# %%
losses = {}
for name, model in models.items():
    pieces = trained_models.loss_by_position(model, blocks, length=64).mean().item()
    window = loss_in_window(model, 64, blocks)
    losses[name] = {"whole": far_loss[name], "window": window, "pieces": pieces}
    print(
        f"{name:10}", ", ".join(f"{reading} {value:.1f}" for reading, value in losses[name].items())
    )
change = losses["alibi"]["window"] - losses["alibi"]["whole"]
side = "worse" if change > 0 else "better"
guess.reveal(f"{side} by more than 0.1 nats" if abs(change) > 0.1 else "as well within 0.1 nats")

# %% [markdown]
# The window may have other widths. The narrower it is, the fewer keys each layer sees. The
# positions stay as large as they were.

# %%
widths = (1, 2, 4, 8, 16, 64, 1024)
half_the_blocks = blocks[::2]
curves = {
    name: torch.tensor([loss_in_window(model, width, half_the_blocks) for width in widths])
    for name, model in models.items()
}

# %%
fig, ax = plt.subplots(figsize=(8, 3.8))
plots.lines(
    ax,
    curves,
    x=torch.tensor(widths),
    title="the long text through a window",
    xlabel="keys that each layer may see",
    ylabel="loss (nats a byte)",
)
ax.set_xscale("log", base=2)
ax.set_xticks(widths, widths)
sinusoidal = curves["sinusoidal"]
plots.show(
    fig,
    "Loss beyond position 64 against the width of the window, 1 to 1024. ALiBi falls steeply up to "
    f"4 keys and is level from 8 on. Sinusoidal falls, then rises again from 4 or 8 keys to all; "
    f"at 1024 it is about {sinusoidal[-1] - sinusoidal.min():.1f} above its lowest.",
)
best_width = widths[sinusoidal.argmin()]
print(f"sinusoidal: lowest loss in any window {sinusoidal.min():.1f}, at {best_width} keys")

# %% [markdown]
# **Look:** through a window of 64 no query sees more keys than in training. Yet the sinusoidal loss
# hardly falls. So here the new positions do most of the damage. Reading from 0 again repairs it. A
# window of 4 keys at the same places nearly does: with few keys to pick from, wrong positions do
# less harm.

# %%
gap = (curves["alibi"][3] - curves["alibi"][-1]).item()
print("ALiBi: 8 visible keys differ from all by more than 0.1 nats:", abs(gap) > 0.1)

# %% [markdown]
# ALiBi reads as well with 8 visible keys a layer as with all. Its level curve is no proof that it
# uses a long text. It shows that far keys do little harm. (Two layers of 8 span 15 bytes. So small
# a model may have learned little beyond.)
#
# ## The kin
#
# Three other prices:
#
# - **KERPLE** (Chi et al. 2022, 2205.09921): $-r_1 \log(1 + r_2 |j - i|)$, or
#   $-r_1 |j - i|^{r_2}$, with $r_1, r_2$ learned for each head.
# - **Sandwich** (Chi et al. 2022, 2212.10356):
#   $\frac{H}{8h} \big(\sum_m \cos((i - j)\omega_m) - \bar d/2\big)$, the product of two sinusoidal
#   vectors (width $\bar d$, speeds $\omega_m$) less its value at distance 0. Nothing is learned.
# - **FIRE** (Li et al. 2023): a small network of $\psi(i - j)\,/\,\psi(\max(i, L_0))$, with
#   $\psi(x) = \log(cx + 1)$. Network, $c$ and $L_0$ are learned.

# %%
KIN = ("alibi", "sandwich", "kerple", "fire")
torch.manual_seed(0)
kin = {name: create(name, d_model=64, n_heads=8).requires_grad_(False) for name in KIN}
q, k = torch.zeros(1, 8, 1, 8), torch.zeros(1, 8, 1024, 8)
curves = {}  # name → (8, 1024), by distance from a query at position 1023
for name, encoding in kin.items():
    costs = encoding.bias(q, k, Places(torch.tensor([1023]), torch.arange(1024)))[0, :, 0].flip(-1)
    curves[name] = costs - costs[:, :1]
    near_cost, far_cost = costs[3, 0] - costs[3, 100], costs[3, 900] - costs[3, 1000]
    learned = ", ".join(f"{key} {tuple(p.shape)}" for key, p in encoding.named_parameters())
    print(f"{name:8} 100 steps cost head 3 {near_cost:6.2f} near, {far_cost:6.2f} far;", end=" ")
    print("learned:", learned or "nothing")

# %%
fig, axes = plt.subplots(1, 4, figsize=(10.5, 3.3))
for ax, name in zip(axes, KIN, strict=True):
    rows = {f"head {head}": curves[name][head, :1001:4] for head in (1, 3, 5)}
    plots.lines(ax, rows, x=torch.arange(0, 1001, 4), title=name, legend=False)
    ax.set_xlabel("distance (positions)")
axes[0].set_ylim(-60, 2)
axes[0].set_ylabel("bias − bias at 0")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
ends = {name: curves[name][3, 1000] for name in KIN}
plots.show(
    fig,
    "Bias against distance 0 to 1000 for heads 1, 3 and 5, fresh values. ALiBi: straight lines, "
    "cut at −60. Sandwich: a steep fall, then slow with ripples. KERPLE: a logarithm. FIRE, "
    "untrained: small bent curves. Head 3 at the end: "
    + ", ".join(f"{name} {value:.1f}" for name, value in ends.items())
    + ".",
)

# %% [markdown]
# **Look:** mind the different axes. Near the query all but FIRE charge for distance. Far away only
# ALiBi charges as much: KERPLE is nearly level, and Sandwich's ripples are larger than its fall. A
# fresh FIRE may even reward distance. It has to learn its price. KERPLE's heads start at random, so
# they stand in no order.
#
# With $r_1 = m_h$ and $r_2 = 1$ KERPLE's power kind *is* ALiBi. And FIRE is the only one that asks
# where the query stands.

# %%
from course_utils.encodings.functional import fire_share, kerple_power

as_power = kerple_power(offsets, alibi_slopes(8), torch.ones(8))
print("KERPLE's power with r2 = 1 is ALiBi:", torch.allclose(as_power, bias))
for i in (600, 6000):
    share = fire_share(torch.tensor([i]), torch.tensor([i - 500]), 0.1, 512.0).item()
    print(f"FIRE, key 500 back, query at {i}: the network sees {share:.2f}")

# %% [markdown]
# ## In a real model
#
# RoPE has no price. Has a model with RoPE made one of its own? SmolLM2-135M (30 layers of 9 heads)
# was trained to read 8,192 tokens. It read three texts of that length, and we kept what its last
# 32 queries did at 64, 128 … 8192 keys (`data/README.md` says how). No model is loaded here.

# %%
guess = widgets.predict_number(
    "8192 keys: which part of the weight do the nearest 64 hold, mean over heads? (All keys "
    "alike: 0.8 %)",
    "%",
)

# %%
from course_utils.texts import data

real = data.results("real_entropy")
mean = real.groupby("keys")[["entropy", "near"]].mean()  # over texts, layers and heads
for n in (64, 512, 8192):
    entropy, share = mean.loc[n]
    print(f"{n:4} keys: entropy {entropy:.2f} nats of {math.log(n):.2f} at most;", end=" ")
    print(f"the nearest 64 hold {100 * share:.0f} %")
guess.reveal(round(100 * mean["near"][8192]), "%")

# %%
heads = real.groupby(["layer", "head", "keys"])[["entropy", "near", "first"]].mean().unstack()
grown = heads["entropy"][8192] - heads["entropy"][1024]  # log n grows by 2.08
level, near = heads[grown < 0.2], heads["near"][8192]
n_growing = (heads["entropy"][8192] - heads["entropy"][64] > 0.9 * math.log(128)).sum()
print(
    f"entropy grows like log n (by 90 % of it, from 64 keys) in {n_growing} of {len(heads)} heads"
)
print(f"level, by less than 0.2 nats from 1024 to 8192 keys: {len(level)} heads; of these")
print(f"    {(level['near'][8192] > 0.5).sum()} give more than half to the nearest 64 keys,")
print(f"    {(level['first'][8192] > 0.5).sum()} more than half to the first token of the text")

# %%
fig, axes = plt.subplots(1, 2, figsize=(10.5, 3.9))
axes[0].plot(mean.index, heads["entropy"].T, color="C0", linewidth=0.5, alpha=0.25)
axes[0].plot(mean["entropy"], color="0.1", linewidth=2, label="mean")
axes[0].plot(mean.index, [math.log(n) for n in mean.index], "--", color="0.4", label="log n")
axes[0].set(title="entropy of 270 heads", xlabel="keys", ylabel="entropy (nats)")
axes[0].set_xscale("log", base=2)
axes[0].set_xticks(mean.index, mean.index)
axes[0].legend()
alibi_shares = [1 - math.exp(-64 * m) for m in alibi_slopes(8).tolist()]
axes[1].hist(near, torch.linspace(0, 1, 21), label="SmolLM2's heads")
axes[1].plot(alibi_shares, [1] * 8, "^", color="C3", label="ALiBi's 8 slopes, equal scores")
axes[1].set(title="held by the nearest 64 of 8192 keys", xlabel="share", ylabel="heads")
axes[1].legend(fontsize=9)
plots.show(
    fig,
    "Left: entropy against keys, a thin line a head, spread out below the dashed log n; the mean "
    f"rises from {mean.entropy[64]:.1f} to {mean.entropy[8192]:.1f}. Right: heads by the share of "
    f"the nearest 64 keys, {near.min():.2f} to {near.max():.2f}, most below a half. ALiBi's "
    f"slopes: {', '.join(f'{share:.2f}' for share in alibi_shares)}.",
)

# %% [markdown]
# **Look:** 128 times as many keys, and the mean entropy grows by a third of what $\log n$ does. The
# nearest 64 keys keep two fifths of the weight. So near keys weigh more here, though no formula
# charges for distance. But it is not ALiBi's price: few heads are level *and* near. More are level
# because they rest on one far key, the first token. ALiBi charges that key most of all. Lesson 07
# looks at it.
#
# ## Fingerprint and passports

# %%
small = create("alibi", d_model=64, n_heads=4)
scores = measures.fingerprint(small, 48)
spread = [f"{(head.max() - head.min()).item():.2f}" for head in scores]
plots.show(
    figures.fingerprint(scores, "Fingerprint of ALiBi"),
    "Four squares, one a head: red along the diagonal, blue in the two far corners, in heads 0 and "
    f"1; the others nearly blank on the same scale. Spread of the scores: {', '.join(spread)}. "
    f"Content spread below 1e-5: {bool(content_spread(small, 48).max() < 1e-5)}.",
)

# %%
import pandas as pd

passports = {name: measures.passport(name) for name in ("none", "sinusoidal", "t5", *KIN)}
columns = ["parameters", "shift_error", "extra_flops", "extra_bytes", "longest"]
compared = pd.DataFrame(passports).T[columns]
compared["shift_error"] = [f"{value:.0e}" for value in compared.shift_error]
compared["longest"] = ["no limit found" if v is None else v for v in compared.longest]
compared

# %% [markdown]
# **Look:** the fingerprint is the bias, since ALiBi adds the same for every word. Under a shift
# only the sinusoids change. FIRE's 0 holds before its $L_0$ of 512 only: the passport moves 32
# tokens by 37. And no parameters does not mean little work: see the extra operations and bytes.
#
# ## Exercises
#
# **Exercise 1 ★★ Twelve heads.** attention-gym, a collection of score functions, computes the
# slopes by the formula for every number of heads, as the paper's text does. The authors' *code*
# does something else for 12, which it calls a workaround, and BLOOM, with its 112 heads, follows
# the code. Either is ALiBi. But weights trained with one meet other slopes in the other. What does
# the code do?


# %%
def formula(n_heads):
    return 2 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)


wrong = {H: not torch.allclose(formula(H), alibi_slopes(H)) for H in range(1, 33)}
print("right for", [H for H, differs in wrong.items() if not differs], "of 1 to 32 heads")
fig, axes = plt.subplots(1, 3, figsize=(10, 3.3), sharey=True)
for ax, H in zip(axes, (8, 12, 16), strict=True):
    ax.semilogy(formula(H), "x", label="formula")
    ax.semilogy(alibi_slopes(H), "o", fillstyle="none", markersize=9, label="authors' code")
    ax.set(title=f"{H} heads", xlabel="head", xticks=range(0, H, 4))
axes[0].set_ylabel("slope (score a position)")
axes[0].legend()
jump = alibi_slopes(12)[8].item()
plots.show(
    fig,
    "Slopes by head on a logarithmic axis, for 8, 12 and 16 heads. For 8 and 16 crosses and "
    "circles agree. For 12 the circles fall as for 8 heads, jump up at head 8 to "
    f"{jump:.2f}, and fall again; the crosses fall all the way.",
)

# %% [markdown]
# Compare the circles of 12 heads with those of 8 and of 16. Then write `any_slopes(n_heads)`, the
# authors' rule for any number of heads. You may use `formula`, not `alibi_slopes`.


# %% tags=["stub"]
def any_slopes(n_heads):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def any_slopes(n_heads):
    lower = 2 ** (n_heads.bit_length() - 1)  # the next power of two below, or n_heads itself
    between = formula(2 * lower)[0::2]  # those of twice as many heads that are new
    return torch.cat([formula(lower), between])[:n_heads]


# %%
from course_lab.checks.lesson06 import check_any_slopes, check_blockwise, check_cost

check_any_slopes(any_slopes)

# %% [markdown]
# **Exercise 2 ★★ Find the bug: the sign.** This line stood in PyTorch's announcement of
# FlexAttention (August 2024), until pull request 1707 of its site corrected it, and in an example
# of attention-gym, until pull request 86 did. Copies and translations of both still have it. See
# what it does to one head of equal scores.


# %%
def published(slopes, q_pos, k_pos):
    return (q_pos[:, None] - k_pos[None, :]) * slopes[:, None, None]


weights = published(alibi_slopes(8), places, places).masked_fill(hidden, -torch.inf).softmax(-1)
print(f"causal, head 0, query 47: weight on key 0 {weights[0, 47, 0]:.2f}, on itself", end=" ")
print(f"{weights[0, 47, 47]:.0e}")

# %% [markdown]
# Write `cost(slopes, q_pos, k_pos)`: what ALiBi adds, (heads, queries, keys), right with and
# without a mask. With a cache, queries and keys have different positions: read them.


# %% tags=["stub"]
def cost(slopes, q_pos, k_pos):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def cost(slopes, q_pos, k_pos):
    return -slopes[:, None, None] * (k_pos[None, :] - q_pos[:, None]).abs()


# %%
check_cost(cost)

# %% [markdown]
# **Exercise 3 ★★★ ALiBi without the bill.** Neither scores nor bias need ever exist as a whole.
# Write `blockwise(q, k, v, slopes, q_pos, k_pos, causal, block)`: the output of attention with
# ALiBi, (heads, queries, d), from q of that shape and k, v of (heads, keys, d), with q · k divided
# by √d. Take `block` keys at a time: no tensor may be larger than the inputs or the scores of one
# block. Scores may be large, and keys are stored in any order. If `causal`, a query sees no later
# key; one key at least is left to it.


# %% tags=["stub"]
def blockwise(q, k, v, slopes, q_pos, k_pos, causal, block):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def blockwise(q, k, v, slopes, q_pos, k_pos, causal, block):
    top = torch.full((*q.shape[:2], 1), -1e30)  # finite, as a query may see nothing of a block
    total, out = torch.zeros_like(top), torch.zeros_like(q)
    for keys, values, at in zip(
        k.split(block, 1), v.split(block, 1), k_pos.split(block), strict=True
    ):
        steps = at[None, :] - q_pos[:, None]  # (queries, keys of this block)
        scores = q @ keys.mT / q.shape[-1] ** 0.5 - slopes[:, None, None] * steps.abs()
        if causal:
            scores = scores.masked_fill(steps > 0, -torch.inf)
        new_top = torch.maximum(top, scores.amax(-1, keepdim=True))
        shrink, weights = (top - new_top).exp(), (scores - new_top).exp()
        total = total * shrink + weights.sum(-1, keepdim=True)
        out, top = out * shrink + weights @ values, new_top
    return out / total


# %%
check_blockwise(blockwise)

# %% [markdown]
# ## Myth check
#
# Guess first. C42 and C43 are settled by the measurements above, C44 by a source.

# %%
from course_lab.claims import Claim, Myths

claims = {
    "C42": Claim(
        "ALiBi's slopes are 2^(−8h/H) for any number of heads H.",
        scope="the slopes of the authors' released code, which BLOOM follows; H from 1 to 32",
        evidence="exact",
    ),
    "C43": Claim(
        "ALiBi has no parameters and costs nothing.",
        scope="this library, one layer of 4 heads, 256 tokens; operations and tensors count",
        evidence="exact",
    ),
    "C44": Claim(
        "arXiv 2211.05100 is the ALiBi paper.",
        scope="what stands on arXiv under this number",
        evidence="source",
    ),
}
myths = Myths(claims)

# %%
powers = [H for H in wrong if H & (H - 1) == 0]
others = [H for H in wrong if H not in powers]
myths.settle(
    "C42",
    {
        "H a power of two, 1 to 32": not any(wrong[H] for H in powers),
        "any other H up to 32": not any(wrong[H] for H in others),
    },
    f"Right for {sum(not wrong[H] for H in powers)} of {len(powers)} powers of "
    f"two, wrong for {sum(wrong[H] for H in others)} of {len(others)} other head counts: of 12 "
    f"heads, head 8 has {alibi_slopes(12)[8]:.2f} instead of {formula(12)[8]:.3f}. The paper's "
    "text gives the formula for any number; its code does not keep to it.",
)

# %%
myths.settle(
    "C43",
    {
        "no learned parameters": facts["parameters"] == 0,
        "nothing stored": facts["buffers"] == 0,
        "no extra arithmetic": facts["extra_flops"] == 0,
        "no extra tensors": facts["extra_bytes"] == 0,
    },
    f"No parameters and nothing stored. But {facts['extra_flops']:,} operations and "
    f"{facts['extra_bytes']:,} bytes of tensors for one layer, 4 heads, 256 tokens.",
)
myths.settle(
    "C44",
    {"arXiv": False},
    "By the source, not by a run: 2211.05100 is the report on BLOOM, a model that uses ALiBi. The "
    "ALiBi paper is 2108.12409.",
)

# %% [markdown]
# Two claims are left for lesson 07, which has several seeds and trains for longer: C40, "trained
# short, ALiBi reads long at no loss", and C41, "its gain comes from looking only at near tokens".
# Our two runs bear on both and settle neither.

# %%
myths.table()

# %% [markdown]
# ## In five lines
#
# - ALiBi takes $m_h\,|j - i|$ off each score. Nothing is learned and no length is built in.
# - With equal scores a head sees about $3/m_h$ keys; its entropy stops near $1 - \ln m_h$.
# - Distance has no direction. Only a mask, or another scheme, tells left from right.
# - It reads 1024 after training at 64, here too. That it *uses* the far text is another claim.
# - No parameters, but a bias of $H n^2$ numbers, unless the code avoids building it.
#
# **Read next:** Press et al. 2021, *Train Short, Test Long*, arXiv 2108.12409, sections 3 and 4
# and appendix B. Then Chi et al. 2022, *KERPLE*, 2205.09921.
#
# **Next:** [lesson 07](07_train_short_test_long.ipynb) asks which of all these really extrapolate.
