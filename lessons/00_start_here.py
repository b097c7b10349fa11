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
# and in *dog bites man* each word gives each other the same weight. Now we add a *mark* to each of
# a word's numbers, its place $p$: 1 for "cat", 0 and 4 for the two "the".

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
# **Look:** the second "the" gets more, and "mat", the last word, gets most. *mark · mark* is 1, the
# mark of "cat", times the other word's: it grows with the place. (If the first word, of mark 0,
# asked, it would be 0.)

# %% [markdown]
# ## Four doors
#
# What we add to tell a model where words stand is a *positional encoding*. Where can it come in?
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
# 1. **embed** adds a mark: sines and cosines of the place, which do not grow.
# 2. **rotate** turns $q$ and $k$ like clock hands, two numbers a hand: the fastest by $p$ radians.
# 3. **bias** takes up to 1 off a score for each place of distance.
# 4. **values** adds the steps from "cat" to each number of $v$: −1 for the nearer "the".
#
# We take 20 *draws* of random words. Only bias opens, to 1.

# %%
options = ["about 2", "about 3", "about 7", "in each draw another number"]
guess = widgets.predict(
    "What is the nearer “the”'s weight, divided by the farther's, in the 20 draws?", options
)

# %% [markdown]
# Left: the weights. Middle: each weight times the first number of its word's $v$. Right, a dot for
# each draw: the nearer's weight divided by the farther's. Above 1 the nearer is *ahead*.
#
# 1. Open *bias* slowly. What do the 20 dots do?
# 2. *bias* at 0, *rotate* at 1: how little *bias* puts the nearer ahead in all 20 then?
# 3. Only *embed* at 1: "cat" adds 0.40, and −0.06 before. Its weight rose by a third. What did the
#    rest?

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
fig, axes = plt.subplots(1, 4, figsize=(10, 2.9), layout="constrained")
described = []
for ax, door in zip(axes, ("bias", "embed", "rotate", "values"), strict=True):
    lines = torch.stack([ratios(many[:20], **{door: opening}) for opening in openings])
    ahead = int((lines[-1] > 1).sum())
    ax.axhline(1, color="0.6", linewidth=0.8)
    for line in lines.T:
        side = "C1" if line[-1] > 1 else "C2" if line[-1] < 1 else "0.4"
        ax.plot(openings, line, color=side, linewidth=1, alpha=0.8)
    behind = int((lines[-1] < 1).sum())
    title = f"{door} 1: {ahead} nearer, {behind} farther" if ahead + behind else f"{door} 1: alike"
    ax.set(xlabel=f"opening of {door}", xlim=(0, 1), yscale="log")
    ax.set_title(title, fontsize=10)
    ticks = (1, 2, 4, 8) if door == "bias" else (0.8, 1, 1.25)
    ax.minorticks_off()
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_ylim((0.8, 9) if door == "bias" else (0.75, 1.42))
    ax.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    described.append(f"{door} {lines[-1].min():.2f} to {lines[-1].max():.2f}, above 1 in {ahead}")
axes[0].set_ylabel("nearer ÷ farther “the”")
axes[1].set_ylabel("(another scale)")
fig.suptitle("Which “the” is ahead, in 20 draws: the nearer in all by bias, in most by embed")
axes[0].text(0.5, 1.7, "20 draws,\none line", fontsize=10, color="0.3")
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

# %% [markdown]
# **Look:** both "the" are the same word, so their scores differ by the bias alone. The nearer pays
# for one place, the farther for three. The difference is 2, and $e^2$ is over 7, whatever the words
# are. With marks and turns it depends on the words: of these, drawn at random, *embed* fully open
# mostly favours the nearer, *rotate* either about as often. (Task 3: *embed* stands before the
# fork, so the mark is summed, too.)
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
# ## Who sees the bite?
#
# Back to *man bites dog*. Three words have five other orders. Again each door opens alone, to 1,
# and each of the words asks.

# %%
options = ["none of the five", "“dog bites man” alone", "all five"]
guess = widgets.predict(
    "Only bias open: in which other orders does each word share out its attention as in “man bites "
    "dog”?",
    options,
)

# %% tags=["plumbing"]
# The answer, by door
from itertools import permutations

from course_utils.encodings.base import DOORS

HEADLINE = ("man", "bites", "dog")
news = word_vectors(HEADLINE, 32)


def all_ask(order, **doors):
    """Weights (3, 3) and sums (3,) of the words in this order, put back as in the headline."""
    asked = [through_doors(news[list(order)], p, **doors) for p in range(3)]
    weights, parts = (torch.stack(each) for each in zip(*asked, strict=True))
    back = torch.tensor(order).argsort()
    return weights[back][:, back], parts.sum(-1)[back]


as_written, *others = permutations(range(3))
kept = {}
print("In how many of the five other orders do all words keep their …")
for door in DOORS:
    weights, sums = all_ask(as_written, **{door: 1.0})
    moved = [all_ask(order, **{door: 1.0}) for order in others]
    kept[door] = [order for order, (w, _) in zip(others, moved, strict=True) if w.allclose(weights)]
    same_sums = sum(bool(each.allclose(sums)) for _, each in moved)
    print(f"  {door:6} weights: {len(kept[door])}   sums of weight × v, first number: {same_sums}")
mirror = [order for order in kept["bias"] if order == (2, 1, 0)]
guess.reveal(options[2 if len(kept["bias"]) == 5 else 1 if kept["bias"] == mirror != [] else 0])

# %% tags=["plumbing"]
# The same by your function
import numpy as np


def by_yours(order):
    """The weights by `attention_weights` at strength 1, put back as in the headline, (3, 3)."""
    moved, back = news[list(order)], torch.tensor(order).argsort()
    rows = torch.stack([attention_weights(moved, p, 1.0) for p in range(3)])
    return rows.detach()[back][:, back]


if check_attention_weights.verdict(attention_weights).kind == "right":
    fig, axes = plt.subplots(1, 3, figsize=(9, 3.3), layout="constrained")
    moved_by = (by_yours((0, 2, 1)) - by_yours((0, 1, 2))).abs().max()
    titles = {(0, 1, 2): "", (2, 1, 0): ": the same", (0, 2, 1): f": up to {moved_by:.2f} off"}
    described = []
    for ax, (order, verdict) in zip(axes, titles.items(), strict=True):
        matrix = by_yours(order)
        written = " ".join(HEADLINE[p] for p in order)
        plots.heatmap(ax, matrix, signed=False, limit=1, equal=True)
        for (row, column), weight in np.ndenumerate(matrix.numpy()):
            ink = "white" if weight > 0.6 else "black"
            ax.text(column, row, f"{weight:.2f}", ha="center", va="center", color=ink)
        ax.set_title(f"{written}{verdict}", fontsize=10)
        ax.set(xlabel="who gets the weight", ylabel="who asks")
        ax.set_xticks(range(3), HEADLINE)
        ax.set_yticks(range(3), HEADLINE)
        rows = (", ".join(f"{weight:.2f}" for weight in row) for row in matrix)
        described.append(f"{written} {'; '.join(rows)}")
    plots.show(
        fig,
        "By your function at strength 1, in three orders, what man, bites and dog give man, bites "
        f"and dog, a row for each that asks. {'. '.join(described)}.",
    )
else:
    print("Your picture joins here, once your function is right: then run this cell again.")

# %% [markdown]
# **Look:** a mirror keeps each distance, and a distance has no sides. By *bias* alone *dog bites
# man* is no news, but the other four are. *values* changes sums alone.
#
# ## In five lines
#
# - Attention over a whole sentence sees words, not where they stand.
# - We sort encodings by four doors: embeddings, queries and keys, scores, values.
# - With $p$ as mark, "cat" looked most at the last word.
# - A price on distance favours the nearer of two equal words, and has no sides.
# - A lesson is experiments: guess, run, look.
#
# **Read next:** Vaswani et al. 2017, arXiv 1706.03762, sections 3.2 and 3.5.
#
# **Next:** you search for *flights from London to Paris*. Could attention offer the way back?
# [Lesson 01](01_attention_is_blind_to_order.ipynb).
