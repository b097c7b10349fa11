# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   order_matters:
#     edition: 2
#     lines: [1, 2]
# ---

# %% [markdown]
# # 00 · Start here
#
# **Question:** what does attention see of a sentence?
#
# *Man bites dog* is news, *dog bites man* is not: only places differ.
#
# After this lesson you can
#
# - take a lesson: guess, run, look, check;
# - name four doors by which the places of words come in.
#
# **Time:** {minutes}. **Builds on:** PyTorch tensors. **Doors:** all four.

# %% [markdown]
# Run cells from top to bottom with **Shift + Enter**.

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start()

# %% [markdown]
# ## First you predict
#
# Each word of *the cat sat on the mat* is a vector of 32 random numbers. "cat" gives each a *score*
# $s$, the dot product of both divided by 32. The *softmax*, $e^{s}$ over the sum of all $e^{s}$,
# makes *weights* of scores: how "cat" shares out its attention.

# %%
import torch

from course_lab.sentences import CAT_ON_MAT, word_vectors

words = word_vectors(CAT_ON_MAT, 32)  # (6, 32), a vector a word
# Most models divide by a root. By √32 “cat” would keep nearly all for itself here.
weights = (words @ words[1] / 32).softmax(0)
print(*[f"{word} {weight:.3f}" for word, weight in zip(CAT_ON_MAT, weights, strict=True)])

# %% [markdown]
# Both "the" are the same vector and get the same weight, wherever they stand. In *man bites dog*
# and in *dog bites man* each word gets the same from each. Now we add a *mark* to each of a word's
# numbers, its place $p$: 1 for "cat", 0 and 4 for the two "the".

# %%
from course_lab import explorers, widgets

options = ["the first, one place before it", "the second, three places after it", "both the same"]
guess = widgets.predict("Which “the” gets more attention from “cat” now?", options)

# %%
placed = words + torch.arange(6)[:, None]
weights_now = (placed @ placed[1] / 32).softmax(0)

# %% tags=["plumbing"]
# The answer
import math

import matplotlib.pyplot as plt

from course_utils import plots

fig, axes = plt.subplots(1, 2, figsize=(9, 2.6), sharey=True, layout="constrained")
titles = ("words alone: both “the” get the same", "with marks: the farther gets more, “mat” most")
colours = ["C1", "0.75", "0.75", "0.75", "C2", "C0"]
for ax, heights, title in zip(axes, (weights, weights_now), titles, strict=True):
    bars = ax.bar(range(6), heights, color=colours)
    for label, colour in zip(ax.bar_label(bars, fmt="%.3f", padding=2), colours, strict=True):
        asked = colour != "0.75"
        label.set(color=colour if asked else "0.35", weight="bold" if asked else "normal")
    ax.set(title=title, ylim=(0, 1), yticks=(0, 0.5, 1))
    ax.set_xticks(range(6), ["the\nnearer", "cat", "sat", "on", "the\nfarther", "mat"])
axes[0].set_ylabel("weight from “cat”")
described = "; ".join(
    f"{title}: {', '.join(f'{word} {w:.3f}' for word, w in zip(CAT_ON_MAT, heights, strict=True))}"
    for title, heights in zip(titles, (weights, weights_now), strict=True)
)
same = torch.isclose(weights_now[0], weights_now[4])
guess.reveal(options[2 if same else 0 if weights_now[0] > weights_now[4] else 1])
plots.show(fig, f"What “cat” gives each word. {described}.")

# %% tags=["plumbing"]
# The two scores, in four parts
parts = ("cat · the", "cat's mark · the", "cat · its mark", "mark · mark", "score")
print("each divided by 32, rounded (so a last digit may be off)")
print(" " * 13, *parts, sep="   ")
for name, p in [("nearer", 0), ("farther", 4)]:
    terms = [words[1] @ words[p] / 32, words[p].mean(), p * words[1].mean(), 1.0 * p]
    shown = zip(parts, [*terms, sum(terms)], strict=True)
    numbers = [f"{float(number):{len(part)}.2f}" for part, number in shown]
    print(f"{name:7} “the”", *numbers, sep="   ")

# %% [markdown]
# **Look:** the second "the" gets more, and "mat", the last word, gets most. A score now has four
# parts, as both vectors are sums. *mark · mark* is 1 times the other word's place, as "cat" stands
# at 1: it grows with that place. So does *cat · its mark*, as the numbers of "cat" are above 0 on
# the mean here. (For the first word, of mark 0, *mark · mark* stays 0.)

# %% [markdown]
# ## Four doors
#
# What we add to tell a model where words stand is a *positional encoding*. A mark in the vectors is
# one way in. Which others are there?
#
# Attention uses each word's vector three times. As a *query* $q$ it asks, here "cat". As a *key*
# $k$ it is compared with the query: the score. As a *value vector* $v$ it is multiplied by its
# weight and summed. (We leave out the learned matrices of models.)

# %% tags=["plumbing", "picture"]
# The four doors
from course_lab.door_strip import doors_in_attention
from course_utils.encodings.base import DOORS

plots.show(
    doors_in_attention(),
    "From words to what attention returns, left to right. Words, door 1 embed, then two ways. "
    "Above: q and k, door 2 rotate, scores, door 3 bias, softmax, weights. Below: v, door 4 "
    "values. Both meet where each v is multiplied by its weight, and summed.",
)

# %% [markdown]
# Each door opens from 0 to 1:
#
# 1. **embed** adds a mark, now sines and cosines, which do not grow.
# 2. **rotate** turns $q$ and $k$ like clock hands, two numbers a hand, farther for later places.
# 3. **bias** takes up to 1 off a score for each place of distance.
# 4. **values** adds to $v$ the steps from "cat", −1 for the nearer "the".
#
# We take 20 *draws* of random words. Only bias opens, to 1.

# %%
options = ["about 2", "about 3", "about 7", "in each draw another number"]
guess = widgets.predict(
    "What is the nearer “the”'s weight, divided by the farther's, in the 20 draws?", options
)

# %% [markdown]
# Left are the weights. In the middle each multiplies the first number of $v$. Right is a dot for
# each draw: the nearer's weight divided by the farther's. Above 1 the nearer is *ahead*.
#
# 1. Open *bias* slowly. What do the 20 dots do?
# 2. *bias* at 0, *rotate* at 1: how little *bias* puts the nearer ahead in all 20 then?
# 3. Only *values* at 1: which picture changes, and which two do not?

# %%
explorers.doors()

# %% tags=["plumbing"]
# Nearer ÷ farther, as one door opens
from course_lab.explorers.short_sentence import drawings, through_doors

openings = torch.linspace(0, 1, 21).tolist()


def ratios(words, **doors):
    """In each draw the weight of the nearer “the”, divided by that of the farther."""
    weights = through_doors(words, **doors)[0]
    return weights[:, 0] / weights[:, 4]


many = drawings(2000)  # the first 20 are the explorer's
at_1 = ratios(many, bias=1.0)
alike_in_all = bool(at_1.max() - at_1.min() < 0.01)
about = f"about {at_1[0]:.0f}"
guess.reveal(about if alike_in_all and about in options else options[3])
fig, axes = plt.subplots(1, 3, figsize=(9, 3.1), layout="constrained")
described = []
for ax, door in zip(axes, ("bias", "embed", "rotate"), strict=True):
    lines = torch.stack([ratios(many[:20], **{door: opening}) for opening in openings])
    ahead = int((lines[-1] > 1).sum())
    ax.axhline(1, color="0.6", linewidth=0.8)
    for line in lines.T:
        ax.plot(openings, line, color="C1" if line[-1] > 1 else "C2", linewidth=1, alpha=0.8)
    ax.set(xlabel=door, xlim=(0, 1), yscale="log", title=f"{door}: {ahead} of 20")
    ticks = (1, 2, 4, 8) if door == "bias" else (0.8, 1, 1.25)
    ax.minorticks_off()
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_ylim((0.8, 9) if door == "bias" else (0.75, 1.42))
    ax.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    described.append(f"{door} {lines[-1].min():.2f} to {lines[-1].max():.2f}, above 1 in {ahead}")
    if door != "bias":
        ax.set_xlabel(f"{door} (axis stretched)")
axes[0].set_ylabel("nearer ÷ farther “the”")
fig.suptitle("Draws with the nearer “the” ahead")
axes[0].text(0.55, 1.9, "20 draws,\none line", fontsize=10, color="0.3")
plots.show(
    fig,
    "The nearer “the”'s weight divided by the farther's, as one door opens from 0 to 1, a line for "
    f"each of 20 draws. All begin at 1. They end at: {'; '.join(described)}.",
)
print(f"bias 1, 2,000 draws: {at_1.min():.2f} to {at_1.max():.2f}; e² is {math.e**2:.2f}")
for door in ("embed", "rotate"):
    share = 100 * (ratios(many, **{door: 1.0}) > 1).double().mean()
    print(f"{door} 1: nearer ahead in {share:.0f} % of 2,000 draws")
for bias in openings:
    if (ratios(many[:20], rotate=1.0, bias=bias) > 1).all():
        share = 100 * (ratios(many, rotate=1.0, bias=bias) > 1).double().mean()
        print(f"rotate 1 and bias {bias:.2f}: in each of the first 20, in {share:.0f} % of all")
        break


headline = word_vectors(["man", "bites", "dog"], 32)
turned_round = headline.flip(0)  # dog bites man


def all_ask(words, **doors):
    """The weights, (3, 3), a row for each word that asks, and the sums' first numbers, (3,)."""
    weights, parts = zip(*[through_doors(words, p, **doors) for p in range(3)], strict=True)
    return torch.stack(weights), torch.stack(parts).sum(-1)


print("Does a word's attention change from “man bites dog” to “dog bites man”?")
for door in DOORS:
    (weights, sums), (others, other_sums) = (
        all_ask(each, **{door: 1.0}) for each in (headline, turned_round)
    )
    change = (weights - others.flip(0, 1)).abs().max()
    sum_change = (sums - other_sums.flip(0)).abs().max()
    print(f"  {door:6} 1: weights by up to {change:.3f}, sums by up to {sum_change:.3f}")

# %% [markdown]
# **Look:** both "the" are the same word, so their scores differ by the bias alone. The nearer pays
# for one place, the farther for three. The difference is 2, and $e^2$ is over 7, whatever the words
# are. (Twice as much it gets at $\frac12 \ln 2$, about 0.35.) With marks and turns it depends on
# the words: of these, drawn at random, *embed* mostly favours the nearer, *rotate* either about as
# often. *values* changes no weight.
#
# But a distance has no sides: by *bias* alone *man bites dog* is *dog bites man*.
#
# ## Exercise
#
# **Exercise 1 ★ Open the bias door.** Write `attention_weights(words, place, strength)`: the
# weights that the word at `place` gives all `words`. Divide dot products by the vectors' width,
# take off `strength` times the distance in places, then softmax.
#
# A button gives hints.


# %% tags=["stub"]
def attention_weights(words, place, strength):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def attention_weights(words, place, strength):
    scores = words @ words[place] / words.shape[1]
    distances = (torch.arange(len(words)) - place).abs()
    return (scores - strength * distances).softmax(0)


# %%
from course_lab.checks.lesson00 import check_attention_weights

check_attention_weights(attention_weights)

# %% [markdown]
# Wrong on purpose:

# %%
check_attention_weights(lambda words, place, strength: words @ words[place])

# %% [markdown]
# ## Every word asks
#
# By your function:

# %% tags=["plumbing"]
# Every word asks
import numpy as np
from matplotlib.colors import PowerNorm
from matplotlib.patches import Rectangle


def asked_by_each(strength):
    """The weights by `attention_weights`, a row for each word that asks."""
    return torch.stack([attention_weights(words, p, strength) for p in range(6)]).detach()


if check_attention_weights.verdict(attention_weights).kind == "right":
    strengths = torch.linspace(0, 1, 21).tolist()
    by_strength = torch.stack([asked_by_each(strength) for strength in strengths])
    fig, axes = plt.subplots(1, 3, figsize=(9.4, 3.3), layout="constrained")
    limit = float(by_strength.max())
    titles = ("strength 0: both “the” alike", "strength 1: far words get little")
    for ax, matrix, title in zip(axes, (by_strength[0], by_strength[-1]), titles, strict=False):
        image = plots.heatmap(ax, matrix, signed=False, limit=limit, equal=True)
        image.set_norm(PowerNorm(0.5, vmin=0, vmax=limit))  # the small ones are told apart, too
        for (row, column), weight in np.ndenumerate(matrix.numpy()):
            ink = "white" if weight > 0.38 else "black"
            ax.text(column, row, f"{weight:.2f}", ha="center", va="center", fontsize=8, color=ink)
        for row, colour in ((0, "C1"), (4, "C2")):
            frame = Rectangle((-0.48, row - 0.48), 5.96, 0.96, fill=False, ec=colour, lw=2.5)
            ax.add_patch(frame)
        ax.set_title(title, fontsize=10)
        ax.set_xticks(range(6), CAT_ON_MAT)
        ax.set_yticks(range(6), CAT_ON_MAT)
        ax.set(xlabel="who gets the weight", ylabel="who asks")
    places = torch.arange(6)
    apart = (places - places[:, None]).abs()
    described = []
    same = torch.tensor([[word == other for other in CAT_ON_MAT] for word in CAT_ON_MAT])
    groups = {"itself": apart == 0, "beside": apart == 1, "farther": (apart > 1) & ~same}
    for name, pairs in groups.items():
        means = by_strength[:, pairs].mean(-1)
        axes[2].plot(strengths, means, color="0.25", linewidth=2)
        axes[2].text(1.03, means[-1], name, va="center", fontsize=10)
        described.append(f"{name} {means[0]:.2f} and {means[-1]:.2f}")
    axes[2].set(xlabel="strength", xlim=(0, 1), ylim=(0, 1), ylabel="weight of a word, on the mean")
    axes[2].set_title("itself takes what far words lose", fontsize=10)
    axes[2].set_box_aspect(1)
    plots.show(
        fig,
        "The weights of each word, a row for each that asks, at strength 0 and 1. At 0 the rows of "
        "both “the” are the same. Right, the mean weight of the word itself, of one beside and of "
        f"another farther away, as the strength rises; at 0 and at 1: {'; '.join(described)}.",
    )
else:
    print("Your picture joins here, once your function is right: then run this cell again.")

# %% [markdown]
# **Look:** at strength 0 both "the" share out alike. Of vectors about equally long each is most
# alike to itself. With the strength far words lose most.
#
# ## In five lines
#
# - Attention without a mask sees words, not where they stand.
# - We let position in by four doors: embeddings, queries and keys, scores, values.
# - With $p$ as mark, "cat" looked most at the last word.
# - A price on distance favours the nearer of two equal words, but has no sides.
# - A lesson is experiments: guess, run, look.
#
# **Read next:** Vaswani et al. 2017, arXiv 1706.03762, sections 3.2 and 3.5.
#
# **Next:** you search for *flights from London to Paris*. Could attention offer the way back?
# [Lesson 01](01_attention_is_blind_to_order.ipynb).
