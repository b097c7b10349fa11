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
# - guess, run, look, and check;
# - name four ways to tell attention where words stand.
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
# Models have learned matrices here, which we leave out, and most divide by √32: “cat” would then
# keep nearly all for itself.
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
parts = ("word · word", "cat's mark · word", "cat · mark", "mark · mark", "score")
print("each divided by 32, the number of numbers in a vector")
print(" " * 13, *parts, sep="   ")
for name, p in [("nearer", 0), ("farther", 4)]:
    terms = [words[1] @ words[p] / 32, words[p].mean(), p * words[1].mean(), 1.0 * p]
    numbers = [f"{n:{len(part)}.2f}" for part, n in zip(parts, [*terms, sum(terms)], strict=True)]
    print(f"{name:7} “the”", *numbers, sep="   ")

# %% [markdown]
# **Look:** the second "the" gets more, and "mat", the last word, gets most. A score now has four
# parts. *mark · mark* grows with the place of the word looked at. So does *cat · mark*, as the
# numbers of "cat" are above 0 on the mean.

# %% [markdown]
# ## Four doors
#
# Attention uses each word's vector three times. As a *query* $q$ it asks, here "cat". As a *key*
# $k$ it is compared with the query: the score. As a *value vector* $v$ it is multiplied by its
# weight and summed.

# %% tags=["plumbing", "picture"]
# The four doors
from course_lab.door_strip import describe_doors, door_strip
from course_utils.encodings.base import DOORS

plots.show(
    door_strip(DOORS, "What a word passes on its way through attention"), describe_doors(DOORS)
)

# %% [markdown]
# What tells a model where words stand is a *positional encoding*. This course lets it in by four
# doors. Here each opens from 0 to 1:
#
# 1. **embed** adds a mark, now sines and cosines, which do not grow.
# 2. **rotate** turns $q$ and $k$ by angles that grow with the place.
# 3. **bias** takes up to 1 off a score for each place of distance.
# 4. **values** adds to $v$ the steps from "cat", −1 for the nearer "the".

# %%
options = ["it rises", "it rises, then falls", "it falls, then rises", "it falls"]
guess = widgets.predict(
    "Only bias opens, slowly to 1. What does the weight of the nearer “the” do?", options
)

# %% [markdown]
# Left are the weights. In the middle each multiplies the first number of $v$. Right, for 20
# *drawings* of random words, the nearer "the"'s weight is divided by the farther's: above 1, the
# nearer is *ahead*.
#
# 1. Open *bias* slowly. Watch the orange number (drawing 14 shows it best), then the dots.
# 2. *bias* at 0, *rotate* at 1: how little *bias* puts the nearer ahead in all 20 then?
# 3. Only *values* at 1: which picture changes, and which two do not?

# %%
explorers.doors()

# %% tags=["plumbing"]
# Bias as it opens, each door alone at 1, and the least bias
from course_lab.explorers.short_sentence import drawings, through_doors

openings = torch.linspace(0, 1, 101).tolist()
by_bias = torch.stack([through_doors(drawings(2000), bias=bias)[0] for bias in openings])
nearer, farther, cat = by_bias[..., 0], by_bias[..., 4], by_bias[:, 0, 1]  # (101, 2000), …, (101,)
rises, stays = ((nearer[n] > nearer[0]).double().mean().item() for n in (10, 100))
at_both_ends = {(True, True): 0, (True, False): 1, (False, True): 2, (False, False): 3}
guess.reveal(options[at_both_ends[rises > 0.5, stays > 0.5]])
top = nearer[:, 0].argmax().item()
distances = (torch.arange(6) - 1).abs().double()
fig, ax = plt.subplots(figsize=(7, 2.8), layout="constrained")
over_start = nearer[:, :20] / nearer[0, :20]
ax.axhline(1, color="0.6", linewidth=0.8)
ax.plot(openings, over_start, color="C1", linewidth=0.8, alpha=0.4)
ax.plot(openings, over_start[:, 0], color="C1", linewidth=2.5)
ax.plot(openings[top], over_start[top, 0], "o", color="C1", markersize=7)
ax.set(xlabel="bias", ylabel="weight of the nearer “the”\n÷ its weight at bias 0", xlim=(0, 1))
ax.set_title("The nearer “the” gains at first, then loses (thick: drawing 0)")
plots.show(
    fig,
    "The weight of the nearer “the” as bias opens from 0 to 1, a line for each of 20 drawings. In "
    f"drawing 0 it is {nearer[0, 0]:.3f} at 0, {nearer[top, 0]:.3f} at {openings[top]:.2f}, where "
    f"it is highest, and {nearer[-1, 0]:.3f} at 1.",
)
print(f"bias 0.1 lifts it in {100 * rises:.0f} % of 2,000 drawings; at 1 it is below its start in")
print(f"all but {2000 * stays:.0f}. Drawing 0: highest at {openings[top]:.2f}; there", end=" ")
print(f"“cat” looks {by_bias[top, 0] @ distances:.2f} places far on the mean.")
print(f"“cat” keeps {cat[0]:.2f}, {cat[top]:.2f} and {cat[-1]:.2f} for itself at 0, there and 1.")
by_root = drawings(2000) * 32**0.25  # so that scores are divided by √32
gains = 100 * (through_doors(by_root)[0] @ distances > 1).double().mean()
print(f"scores divided by √32: it gains at first in {gains:.2f} % of the drawings")
ratios = nearer[-1] / farther[-1]
print(f"bias 1, nearer ÷ farther: {ratios.min():.2f} to {ratios.max():.2f}", end="; ")
print(f"e² is {torch.e**2:.2f}")
for door in DOORS:
    nearer, farther = through_doors(drawings(2000), **{door: 1.0})[0][:, [0, 4]].unbind(1)
    level = torch.isclose(nearer, farther)
    ahead = (nearer > farther) & ~level
    ahead_in, level_in = (f"{100 * each.double().mean():3.0f} %" for each in (ahead, level))
    print(f"{door:6} alone at 1: nearer “the” ahead in {ahead_in}, level in {level_in}")
for bias in torch.arange(21) / 20:
    nearer, farther = through_doors(drawings(2000), rotate=1.0, bias=bias)[0][:, [0, 4]].unbind(1)
    if (nearer > farther)[:20].all():
        share = 100 * (nearer > farther).double().mean()
        print(f"rotate at 1: bias {bias:.2f} puts it ahead in the first 20, {share:.0f} % of all")
        break

# %% [markdown]
# **Look:** the nearer "the" pays for one place. It gains while "cat" looks farther than that on the
# mean. From then on the loss of all others goes to "cat" itself. (Divided by √32, scores keep "cat"
# at itself: it hardly ever gains.) Two places more cost 2: the farther "the" ends $e^2$ times
# lower. *embed* mostly favours the nearer: marks of near places are more alike. *rotate* alone
# favours either as often: random words are not alike.
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
# Every word asks, at three strengths
import numpy as np
from matplotlib.colors import PowerNorm
from matplotlib.patches import Rectangle

strengths = (0.0, 0.2, 1.0)
solved = check_attention_weights.verdict(attention_weights).kind == "right"
if solved:
    rows = {
        strength: torch.stack([attention_weights(words, p, strength) for p in range(6)]).detach()
        for strength in strengths
    }
    fig, axes = plt.subplots(1, 3, figsize=(9, 3.5), sharey=True, layout="constrained")
    limit = float(torch.stack(list(rows.values())).max())
    places = torch.arange(6)
    apart = (places - places[:, None]).abs()
    messages = ("both “the” alike", "far words lose some", "far words lose most")
    described = []
    for ax, (strength, matrix), message in zip(axes, rows.items(), messages, strict=True):
        image = plots.heatmap(ax, matrix, signed=False, limit=limit, equal=True)
        image.set_norm(PowerNorm(0.5, vmin=0, vmax=limit))  # the small ones are told apart, too
        for (row, column), weight in np.ndenumerate(matrix.numpy()):
            ink = "white" if weight > 0.3 else "black"
            ax.text(column, row, f"{weight:.2f}", ha="center", va="center", fontsize=8, color=ink)
        for row, colour in ((0, "C1"), (4, "C2")):
            frame = Rectangle((-0.48, row - 0.48), 5.96, 0.96, fill=False, ec=colour, lw=2.5)
            ax.add_patch(frame)
        own, beside, far = (matrix[part].sum() / 6 for part in (apart == 0, apart == 1, apart > 1))
        means = f"itself {own:.2f}, beside {beside:.2f}, farther {far:.2f}"
        ax.set_title(f"strength {strength:g}: {message}\n{means}", fontsize=10)
        ax.set_xticks(range(6), CAT_ON_MAT)
        ax.set_yticks(range(6), CAT_ON_MAT)
        difference = (matrix[0] - matrix[4]).abs().max()
        described.append(
            f"at {strength:g}, on average, {means}, and both “the” differ by up to {difference:.2f}"
        )
    axes[0].set_ylabel("who asks")
    axes[1].set_xlabel("who gets the weight")
    plots.show(fig, f"The weights of each word, a row for each that asks: {'; '.join(described)}.")
else:
    print("Your picture joins here, once your function is right: then run this cell again.")

# %% [markdown]
# **Look:** at strength 0 both "the" look alike. On average, farther words together get 0.34 at 0.2,
# and 0.07 at 1. Those beside first gain, then lose.
#
# ## In five lines
#
# - A dot product does not say where words stand.
# - We let position in by four doors: embeddings, queries and keys, scores, values.
# - With $p$ as mark, "cat" looked most at the last word.
# - The stronger a bias on distance, the less all far words get together.
# - A lesson is experiments: guess, run, look.
#
# **Read next:** Vaswani et al. 2017, arXiv 1706.03762, sections 3.2 and 3.5.
#
# **Next:** you search for *flights from London to Paris*. Could attention offer you the way back?
# [Lesson 01](01_attention_is_blind_to_order.ipynb).
