# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # 06 · ALiBi: other prices
#
# What becomes of the price when it is learned, or never written down: the kin, the price that T5
# draws for itself, a pair of RoPE replaced by a price, and a model that has none. It builds on
# [lesson 06](../06_alibi.ipynb). Each section can be read alone; run the cells from the top.
#
# **Time:** {minutes}.

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start()

# %%
import math

import matplotlib.pyplot as plt
import torch

from course_lab import explorers, widgets
from course_utils import plots
from course_utils.encodings import Places, create
from course_utils.encodings.functional import alibi_bias, alibi_slopes, offset_matrix

places = torch.arange(48)
offsets = offset_matrix(places, places)
slopes = alibi_slopes(8)
bias = alibi_bias(offsets, slopes)  # (8, 48, 48)
hidden = offsets > 0  # the causal mask

# %% [markdown]
# ## Heads as pictures
#
# Heads are counted from 0 here.
#
# - 8 heads, head 0, then head 7. Which has an entropy near the largest possible?
# - 12 heads: go through heads 6 to 9. What happens to the slope?
# - Tick "symmetric": where is the other half of the weight?

# %%
explorers.distance_cost()

# %% [markdown]
# <details><summary>Answers</summary>
#
# Head 7. From head 8 on the slopes begin anew, at 0.71. On the later keys.
#
# </details>

# %% tags=["plumbing"]
# Bias and attention of four heads
attention = bias.masked_fill(hidden, -torch.inf).softmax(-1)  # all q · k equal
fig, axes = plt.subplots(2, 4, figsize=(11, 5.6), sharex=True, sharey=True)
style = {"signed": False, "equal": True}
for column, head in enumerate((0, 2, 4, 7)):
    upper, lower = axes[:, column]
    title = f"head {head}, slope 1/{1 / slopes[head]:.0f}"
    price = bias[head].clamp(min=-6).masked_fill(hidden, -torch.inf)
    costs = plots.heatmap(upper, price, title=title, limit=6, **style)
    seen = attention[head].masked_fill(hidden, -torch.inf)
    weights = plots.heatmap(lower, seen, xlabel="key", limit=0.4, **style)
fig.supylabel("query")
fig.colorbar(costs, ax=axes[0], label="price, cut at −6", shrink=0.8)
fig.colorbar(weights, ax=axes[1], label="weight, to 0.4", shrink=0.8)
described = ", ".join(f"head {h}: {bias[h].min():.1f}" for h in (0, 2, 4, 7))
plots.show(
    fig,
    "Upper row: the price of four of eight heads on 48 tokens, nothing on the diagonal and more "
    f"away from it. Highest prices: {described}. Lower row: the causal attention that it makes of "
    "equal scores: a thin line along the diagonal in head 0, a band in head 2, a faint slope in "
    "head 4, nearly even rows in head 7.",
)

# %% [markdown]
# With equal scores, how does a head's entropy grow with the text? In the flattest of eight heads:

# %%
for n in (64, 512, 768, 1536, 8192):
    weights = alibi_bias(-torch.arange(n), slopes).softmax(-1)  # (8, n)
    alike = torch.special.entr(weights[7]).sum().exp()  # keys of equal weight, same entropy
    print(f"slope 1/256, {n:5,} keys: the entropy of {alike:3.0f} equal keys")
print(f"e/m is {math.e / slopes[7]:.0f}, 3/m {3 / slopes[7]:.0f}")

# %% [markdown]
# At $3/m$ keys it still grows. At twice as many it is nearly at its limit, that of $e/m$ equal
# ones.
#
# ## Other formulas
#
# - **KERPLE** (Chi et al. 2022, 2205.09921): $-r_1 \log(1 + r_2 |j - i|)$, or
#   $-r_1 |j - i|^{r_2}$, with $r_1, r_2$ learned for each head.
# - **Sandwich** (Chi et al. 2022, 2212.10356):
#   $\frac{H}{8h} \big(\sum_m \cos((i - j)\omega_m) - \bar d/2\big)$, the product of two sinusoidal
#   vectors (width $\bar d$, speeds $\omega_m$) less its value at distance 0. Nothing is learned.
# - **FIRE** (Li et al. 2023, 2310.04418): a small network of $\psi(i - j)\,/\,\psi(\max(i, L_0))$,
#   with $\psi(x) = \log(cx + 1)$. Network, $c$ and $L_0$ are learned.

# %%
KIN = ("alibi", "sandwich", "kerple", "fire")
torch.manual_seed(0)
kin = {name: create(name, d_model=64, n_heads=8).requires_grad_(False) for name in KIN}
q, k = torch.zeros(1, 8, 1, 8), torch.zeros(1, 8, 1024, 8)
curves = {}  # name → (8, 1024), by distance from a query at position 1023
for name, encoding in kin.items():
    costs = encoding.bias(q, k, Places(torch.tensor([1023]), torch.arange(1024)))[0, :, 0].flip(-1)
    curves[name] = costs - costs[:, :1]
    near, far = curves[name][3, 100].item(), (curves[name][3, 1000] - curves[name][3, 900]).item()
    print(f"{name:8} head 3, fresh: 100 steps change the score by {near:7.2f} near,", end=" ")
    print(f"{far:7.2f} far")

# %% tags=["plumbing"]
# Four prices
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
# ALiBi charges as much. A fresh FIRE has to learn its price.
#
# With $r_1 = m_h$ and $r_2 = 1$ KERPLE's power kind *is* ALiBi. And FIRE is the only one that asks
# where the query stands.

# %%
from course_utils.encodings.functional import fire_share, kerple_power

as_power = kerple_power(offsets, slopes, torch.ones(8))
print("KERPLE's power with r2 = 1 is ALiBi:", torch.allclose(as_power, bias))
for i in (600, 6000):
    share = fire_share(torch.tensor([i]), torch.tensor([i - 500]), 0.1, 512.0).item()
    print(f"FIRE, key 500 back, query at {i}: the network sees {share:.2f}")

# %% [markdown]
# ## Let training draw
#
# T5 has a free number for each near distance (lesson 04). So training may draw any price. We train
# a small model, as in the lesson's last exercise.

# %%
guess = widgets.predict(
    "Two layers, four heads, one table of numbers for both. Which distance do most heads come to "
    "like best?",
    ["0, their own byte, as ALiBi's do", "1", "2 or more"],
)

# %%
from course_utils.models.training import Recipe, train_on_text
from course_utils.texts import text

english = text.split(text.documentation())
recipes = [Recipe("t5", seed=seed, steps=300, d_model=64, n_layers=2) for seed in (0, 1)]
models = [train_on_text(recipe, english, device, bar=False) for recipe in recipes]
drawn = torch.stack([m.encoding.bias_by_offset(-torch.arange(13)) for m in models])
drawn = (drawn - drawn[..., :1]).detach().cpu()  # (seeds, heads, distances), less that at 0

# %% tags=["plumbing"]
# The answer, and the drawn prices
best = drawn.argmax(-1).flatten().tolist()
choices = ["0, their own byte, as ALiBi's do", "1", "2 or more"]
answers = [min(distance, 2) for distance in best]
guess.reveal(choices[max(range(3), key=answers.count)])
print("heads that like their own byte best:", best.count(0))
fig, axes = plt.subplots(1, 2, figsize=(9, 3.3), sharey=True)
for seed, ax in enumerate(axes):
    for head, line in enumerate(drawn[seed]):
        ax.plot(line, "os^D"[head] + "-", color=f"C{head}", label=f"head {head}")
    ax.set(title=f"what T5 drew, seed {seed}", xlabel="distance back (positions)")
axes[0].set_ylabel("learned number − that at 0")
axes[1].legend()
plots.show(
    fig,
    "T5's learned numbers at distances 0 to 12, less that at 0, four heads, two seeds. The "
    f"highest is at distances {', '.join(map(str, best))}.",
)

# %% [markdown]
# **Look:** training does not draw ALiBi. In neither seed does a head like its own byte best. (What
# that byte tells, a layer knows without attention.) Most look one back, as one of the lesson's
# tents does.
#
# ## Sharp, or near?
#
# The lesson's steep lines (slopes 2, 1, 1/2, 1/4) read better than ALiBi. Is it that they are
# sharp, or that each sees near keys alone? Small models, 300 steps, three seeds; and ALiBi's
# formula with eight heads, each half as wide, at full size, 1,200 steps, three to five seeds.

# %% tags=["plumbing"]
# Losses below ALiBi's
import pandas as pd

from course_utils.texts import data

tables = ("extrapolation_short", "extrapolation", "extrapolation_prices")
trained = pd.concat([data.results(name) for name in (*tables, "extrapolation_prices_apart")])
trained = trained.query("reading == 'as trained' and read == 64")
trained["name"] = trained["encoding"].where(trained["n_heads"] == 4, "alibi, eight heads")
at_64 = trained.pivot(index="seed", columns=["steps", "name"], values="loss")
for steps, name, label in (
    (300, "steep", "steep lines"),
    (300, "sharp", "slopes 2, 1, 1/64, 1/256"),
    (300, "near", "ALiBi's slopes, 12 keys in sight"),
    (300, "near_by_head", "the same, 2, 3, 6 and 12 keys"),
    (300, "windows", "no slope, 2, 3, 6 and 12 keys"),
    (300, "narrow", "no slope, 3 keys in each head"),
    (300, "steep_tents", "steep slopes, peaks 0 to 3"),
    (1200, "steep", "steep lines"),
    (1200, "near_by_head", "ALiBi's slopes, 2, 3, 6, 12 keys"),
    (1200, "windows", "no slope, 2, 3, 6 and 12 keys"),
    (1200, "narrow", "no slope, 3 keys in each head"),
    (1200, "alibi, eight heads", "ALiBi, eight heads"),
):
    gains = (at_64[steps, "alibi"] - at_64[steps, name]).dropna()
    print(
        f"{steps:5,} steps, {label:33} below ALiBi in {(gains > 0).sum()} of {len(gains)}", end=""
    )
    print(f" seeds, on the mean by {gains.mean():.2f}")

# %% [markdown]
# **Look:** two sharp heads beside two far ones win most of the gain. A cut at 12 wins little,
# at 2, 3, 6 and 12 keys all. Eight heads, the steepest twice as steep as any of four, win half.
#
# And models that were trained with all keys in sight?

# %% tags=["plumbing"]
# RoPE and NoPE cut to their nearest keys, one seed each
from course_utils.encodings import PositionalEncoding, Rotary
from course_utils.measures.trained_models import sliding_loss
from course_utils.models import shipped

blocks = text.spread(english.held_out, 3)


def cut(parent, keys):
    """The trained model of this encoding, each query seeing so many keys."""

    class Cut(parent):
        def bias_by_offset(self, offsets):
            hidden = torch.zeros(len(offsets)).masked_fill(offsets.abs() >= keys, -torch.inf)
            return hidden.expand(self.n_heads, -1)

    name = "rope" if parent is Rotary else "none"
    return shipped.model(name).changed(encoding=Cut)


for keys in (4, 8, 16, 64):
    loss = sliding_loss(cut(Rotary, keys), blocks, 64, 2048)[0]
    print(f"RoPE, {keys:2} keys in sight, at 64: {loss:.2f}")
short, long = (sliding_loss(cut(PositionalEncoding, 64), blocks, n, 2048)[0] for n in (64, 1024))
print(f"NoPE, 64 keys in sight: at 64 {short:.2f}, at 1,024 {long:.2f}")

# %% [markdown]
# **Look:** RoPE that sees 16 keys does nearly as well as with 64. NoPE, unlike RoPE, rises in a
# window of 64: nearness alone does not make it last.
#
# ## A pair out, a price in
#
# Would a trained model take a price? SmolLM2-135M-Instruct knows positions by RoPE (lesson 05), in
# 32 pairs. What the slow pair 23 adds to a score falls, on average, with distance in most of 270
# heads.
#
# So we *stop* its turning, and each head pays a straight **line** in its place: the one nearest to
# its own curve, measured at other places than the texts read (documentation, code, licences). The
# first token is free.

# %%
losses = data.results("real_prices").pivot(index=["length", "text"], columns="way", values="loss")
rises = losses.sub(losses["as trained"], axis=0)

# %%
guess = widgets.predict(
    "With 2,048 tokens of three texts, stopping the pair raises the loss by about 0.3 nats a "
    "token. How much of that do the lines take back?",
    ["less than a third", "a third to two thirds", "more than two thirds"],
)

# %% tags=["plumbing"]
# The answer: what pair 23 adds in each head, and what it costs to stop it or to replace it
rows = data.results("real_pairs")  # mean queries times mean keys, at eight places of a text
parts = ["real_23", "imaginary_23"]
product = torch.tensor(rows.groupby(["layer", "head"])[parts].mean().to_numpy())
distance = torch.arange(4096)
turn = 100_000 ** (-2 * 23 / 64)  # radians a token
added = (torch.complex(*product.T)[:, None] * torch.exp(1j * turn * distance.double())).real
centred = distance - distance.double().mean()
falls = added @ centred / centred.square().sum()  # of the nearest straight lines

WAYS = {  # way → label, colour, marker, height of the label
    "still": ("stopped", "0.35", "o", 1.09),
    "price of other heads": ("another head's line", "C1", "D", 0.64),
    "mean price": ("one mean line", "C2", "s", 0.3),
    "price": ("own line", "C0", "v", 0.035),
}
at_2048 = (1 - rises["price"] / rises["still"]).loc[2048].mean()
shares = ["less than a third", "a third to two thirds", "more than two thirds"]
guess.reveal(shares[int(at_2048 >= 1 / 3) + int(at_2048 > 2 / 3)])
print(f"one turn of pair 23: {2 * torch.pi / turn:,.0f} tokens; ", end="")
print(f"the nearest line falls in {(falls < 0).sum()} of {len(falls)} heads")
fig, axes = plt.subplots(1, 2, figsize=(11, 3.7))
drawn_at = torch.arange(0, 4096, 455)  # 0, 455 … 4,095
curves = (added - added[:, :1])[:, drawn_at].T
shown = int(falls.sort().indices[13])  # a head of the steep ones
low, middle_one, high = curves.quantile(torch.tensor([0.1, 0.5, 0.9]).double(), dim=1)
axes[0].fill_between(drawn_at, low, high, color="0.6", alpha=0.35, label="80 % of the heads")
axes[0].plot(drawn_at, middle_one, color="0.35", label="the middle one")
axes[0].plot(drawn_at, curves[:, shown], color="C0", linewidth=2.4, label="one head's curve")
middle = curves[:, shown].mean() - falls[shown] * drawn_at.double().mean()
line = middle + falls[shown] * drawn_at
axes[0].plot(drawn_at, line, "--", color="black", linewidth=1.4, label="its straight line")
axes[0].set(xlabel="distance (tokens)", ylabel="points of score, 0 at distance 0")
axes[0].set_title("What pair 23 adds, in 270 heads")
axes[0].legend(loc="lower left")
lengths = [512, 2048, 4096]
for way, (label, colour, marker, height) in WAYS.items():
    by_text = rises[way].unstack("text")
    axes[1].plot(lengths, by_text.mean(axis=1), marker + "-", color=colour)
    axes[1].plot(lengths, by_text, marker, color=colour, markersize=3, alpha=0.6)
    axes[1].text(4220, height, label, color=colour, va="center")
axes[1].set_xticks(lengths, [f"{length:,}" for length in lengths])
axes[1].set(xlim=(400, 5900), xlabel="tokens of the text", ylabel="rise of the loss (nats a token)")
axes[1].set_title("From 2,048 on, own lines take most back")
described = "; ".join(
    f"{label} {', '.join(f'{rise:.2f}' for rise in rises[way].groupby('length').mean())}"
    for way, (label, *_) in WAYS.items()
)
plots.show(
    fig,
    "Left: what pair 23 adds to the score at distances 0 to 4,095, less that at 0. Of 270 heads "
    f"the middle one, which ends at {middle_one[-1]:.1f}, and a band with 80 % of them, which ends "
    f"between {low[-1]:.1f} and {high[-1]:.1f}. One head's curve stands out, with the line "
    "nearest to it. Right: rise of the loss over the last "
    f"512 tokens of texts of 512, 2,048 and 4,096, means of three texts, small marks each: "
    f"{described}.",
)

# %% [markdown]
# **Look:** from 2,048 tokens on, own lines take most of the cost back.

# %% [markdown]
# Is it that each head has its own line? And what does the free first token do? Two ways are drawn
# above, two are new:
#
# - another head's line: slopes dealt out once by chance;
# - the mean line, the same in all heads;
# - no distance: all keys of a query but the first pay the same, the mean of what they paid;
# - own line, and the first token pays too.

# %% tags=["plumbing"]
# What each takes back of the rise when the pair is stopped
CONTROLS = {
    "price": "own line, first free",
    "mean price": "the mean line in all",
    "price of other heads": "another head's line",
    "price, first token pays": "own line, first pays",
    "price without distance": "no distance",
}
fig, axes = plt.subplots(1, 2, figsize=(10, 3.2), sharey=True, sharex=True)
for ax, n in zip(axes, (2048, 4096), strict=True):
    for row, (way, label) in enumerate(CONTROLS.items()):
        share = 100 * (1 - rises[way] / rises["still"]).loc[n]
        ax.plot(share, [row] * len(share), "o", color=f"C{row}", alpha=0.7)
        print(f"{label:22} {n:,} tokens: {share.min():3.0f} to {share.max():3.0f} %")
    ax.axvline(0, color="0.6", linewidth=1)
    ax.set(title=f"{n:,} tokens", xlabel="taken back (%)")
axes[0].set_yticks(range(len(CONTROLS)), list(CONTROLS.values()))
axes[0].invert_yaxis()
at_512 = rises.loc[512].mean()
print(f"512 tokens, rise: stopped {at_512['still']:.3f}, own line {at_512['price']:.3f}")
first = data.results("real_entropy").query("keys == 2048")
resting = (first.groupby(["layer", "head"])["first"].mean() > 0.5).sum()
print(f"heads with over half of their weight on the first of 2,048 tokens: {resting} of 270")
plots.show(
    fig,
    "What each way takes back of the loss that stopping pair 23 cost, a dot for each of three "
    "texts, at 2,048 and at 4,096 tokens. "
    + "; ".join(
        f"{label} {100 * (1 - rises[way] / rises['still']).loc[2048].mean():.0f} % and "
        f"{100 * (1 - rises[way] / rises['still']).loc[4096].mean():.0f} %"
        for way, label in CONTROLS.items()
    )
    + " on the mean.",
)

# %% [markdown]
# **Look:** one mean line in all heads takes back more than half in each text, another head's about
# half at most, and a price without distance nothing at 2,048. If the first token pays too, at 2,048
# hardly more than a quarter is taken back: many heads rest on it.
#
# ## A model without a price
#
# RoPE has no price on all distances. Has a model with RoPE made one? SmolLM2-135M-Instruct (30
# layers of 9 heads) read our documentation from three places, 8,192 tokens each, and we kept what
# its last 32 queries did at 64, 128 … 8,192 keys.

# %%
guess = widgets.predict_number(
    "8192 keys: which part of the weight do the nearest 64 hold, mean over heads? (All keys "
    "alike: 0.8 %)",
    "%",
)

# %%
real = data.results("real_entropy")
mean = real.groupby("keys")[["entropy", "near"]].mean()  # over texts, layers and heads
for n in (64, 512, 8192):
    entropy, share = mean.loc[n]
    print(f"{n:4} keys: entropy {entropy:.2f} nats of {math.log(n):.2f} at most;", end=" ")
    print(f"the nearest 64 hold {100 * share:.0f} %")
guess.reveal(round(100 * mean["near"][8192]), "%")

# %% tags=["plumbing"]
# Entropy by head, and the share of near keys
heads = real.groupby(["layer", "head", "keys"])[["entropy", "near", "first"]].mean().unstack()
grown = heads["entropy"][8192] - heads["entropy"][1024]  # log n grows by 2.08
level, near = heads[grown < 0.2], heads["near"][8192]
print(f"level, by less than 0.2 nats from 1024 to 8192 keys: {len(level)} of {len(heads)} heads")
print(f"    {(level['near'][8192] > 0.5).sum()} give more than half to the nearest 64 keys,")
print(f"    {(level['first'][8192] > 0.5).sum()} more than half to the first token of the text")
fig, axes = plt.subplots(1, 2, figsize=(10.5, 3.9))
axes[0].plot(mean.index, heads["entropy"].T, color="C0", linewidth=0.5, alpha=0.25)
axes[0].plot(mean["entropy"], color="0.1", linewidth=2, label="mean")
axes[0].plot(mean.index, [math.log(n) for n in mean.index], "--", color="0.4", label="log n")
axes[0].set(title="entropy of 270 heads", xlabel="keys", ylabel="entropy (nats)")
axes[0].set_xscale("log", base=2)
axes[0].set_xticks(mean.index, mean.index)
axes[0].legend()
alibi_shares = [1 - math.exp(-64 * m) for m in slopes.tolist()]
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
# **Look:** 128 times as many keys, and the mean entropy grows by a third of what $\log n$ does.
# Near keys weigh more here too: 39 % of the weight is on 0.8 % of the keys. Pair 23 charges for
# distance in most heads. But few heads are level
# *and* near. More of the level ones rest on one far key, the first token, which ALiBi would charge
# most of all. [More suspects](07_more_suspects.ipynb) looks at it.

# %% [markdown]
# **Back:** [lesson 06](../06_alibi.ipynb). **Next:**
# [lesson 07](../07_train_short_test_long.ipynb).
