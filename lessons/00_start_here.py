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
# **Question:** what does attention see of a sentence, and how does a lesson work?
#
# After this lesson you can
#
# - predict, run, look, check an exercise;
# - name four doors for position.
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
# Each word of *the cat sat on the mat* is a vector of 32 random numbers. "cat" scores
# all words by a dot product. The *softmax*, $e^{s}$ over the sum of all $e^{s}$, turns scores into
# *weights*: how "cat" shares out its attention.

# %%
import torch

from course_lab.sentences import CAT_ON_MAT, word_vectors

words = word_vectors(CAT_ON_MAT, 32)  # (6, 32), a vector a word
# Attention divides by √32: “cat” would then keep 0.997 for itself. We divide by 32.
weights = (words @ words[1] / 32).softmax(0)
print(*[f"{word} {weight:.3f}" for word, weight in zip(CAT_ON_MAT, weights, strict=True)])

# %% [markdown]
# Both "the" are one vector and get one weight. So we add a *mark* to each word, a row of numbers
# for its place $p$: here $p$, 32 times. "cat" has 1, the first "the" 0, the second 4.

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

fig, axes = plt.subplots(1, 2, figsize=(9, 2.4), sharey=True, layout="constrained")
titles = ("the words alone: both “the” alike", "with p added: “mat” takes most")
for ax, heights, title in zip(axes, (weights, weights_now), titles, strict=True):
    bars = ax.bar(range(6), heights, color=["C1", "C0", "C0", "C0", "C2", "C0"])
    ax.bar_label(bars, [f"{height:.3f}" for height in heights], fontsize=10)
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

# %% [markdown]
# **Look:** the second one gets more, and "mat", last of all, most. What we add multiplies.
# With "cat" $w$ (mark 1), another word $w'$ (mark $p$), and a bar for a mean:
#
# $$(w + 1) \cdot (w' + p) / 32 = w \cdot w' / 32 + \overline{w'} + p\,\overline{w} + 1 \cdot p$$
#
# The last term, mark times mark, is 0 or 4, whatever the words are.

# %% tags=["plumbing"]
# The four terms, in numbers
for name, p in [("nearer", 0), ("farther", 4)]:
    terms = [words[1] @ words[p] / 32, words[p].mean(), p * words[1].mean(), 1.0 * p]
    print(f"{name:7} “the”: {' + '.join(f'({term:.2f})' for term in terms)} ≈ {sum(terms):.2f}")

# %% [markdown]
# ## Four doors
#
# Attention uses a word's vector three times (through learned matrices, which we leave out):
#
# - as a *query* $q$ it asks (here "cat");
# - as a *key* $k$ it is compared with the query, which gives a *score*;
# - as a *value vector* $v$ it is added up by weight.

# %% tags=["plumbing", "picture"]
# The four doors
from course_lab.door_strip import describe_doors, door_strip
from course_utils.encodings.base import DOORS

plots.show(
    door_strip(DOORS, "What a word passes on its way through attention"), describe_doors(DOORS)
)

# %% [markdown]
# Four doors let position in, from 0 (shut) to 1:
#
# 1. **embed** adds a mark: sines and cosines of the place (lesson 02);
# 2. **rotate** turns $q$ and $k$, pair of numbers by pair, by angles that grow with the place
#    (lesson 05);
# 3. **bias** lowers a score by so much a place of distance (lesson 06);
# 4. **values** adds to $v$ its offset from "cat": −1 one place before (lesson 04).
#
# A *drawing* is new random words.

# %%
options = ["in none", "in about half", "in about three quarters", "in all 20"]
guess = widgets.predict("Rotate alone, at 1: nearer “the” ahead in how many drawings?", options)

# %% [markdown]
# Each dot is a drawing; *embed* stands at 0.5. Which door, alone at 1, lifts all dots above 1?
# Which moves only the middle panel? Then *rotate* at 1 and *embed* shut: how little *bias* is
# enough for 20 of 20?

# %%
explorers.doors(embed=0.5)

# %% tags=["plumbing"]
# Each door alone at 1, and the least bias
from course_lab.explorers.short_sentence import drawings, through_doors

for door in DOORS:
    through = through_doors(drawings(20), **{door: 1.0})[0]
    ahead = int((through[:, 0] > through[:, 4] + 1e-9).sum())
    same = int(torch.isclose(through[:, 0], through[:, 4]).sum())
    print(f"{door:6} alone: nearer “the” more in {ahead:2} of 20, as much in {same:2}")
    if door == "rotate":
        shares = {0: 0.0, 1: 0.5, 2: 0.75, 3: 1.0}
        guess.reveal(options[min(shares, key=lambda n: abs(shares[n] - ahead / 20))])
for bias in torch.arange(21) / 20:
    through = through_doors(drawings(220), rotate=1.0, bias=float(bias))[0]
    drawn, fresh = (through[:, 0] > through[:, 4]).split([20, 200])
    if drawn.all():
        print(f"rotate at 1, bias at {bias:.2f}: in all 20, and in {fresh.sum()} of 200 fresh ones")
        break

# %% [markdown]
# **Look:** *bias* always lifts the nearer, *embed* at 1 mostly; *values* moves no weight. Of random
# words *rotate* alone prefers neither: the opposite of "the" is as likely, and then the other wins.
# The least bias here fails some fresh drawings.
#
# ## Exercise
#
# **Exercise 1 ★ Open the bias door.** Write `attention_weights(words, place, strength)`:
# the weights with which the word at `place` looks at all `words`. Scores are dot products
# divided by the width, less `strength` times the distance; then softmax.
#
# Stuck? A button gives hints.


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
# Many wrong answers get a question. This one is wrong on purpose:

# %%
check_attention_weights(lambda words, place, strength: words @ words[place])

# %% [markdown]
# ## Every word asks
#
# Now each word asks in turn, by your function:

# %% tags=["plumbing"]
# Every word asks, at three strengths
strengths = (0.0, 0.2, 1.0)
solved = check_attention_weights.verdict(attention_weights).kind == "right"
if solved:
    rows = {
        strength: torch.stack([attention_weights(words, p, strength) for p in range(6)]).detach()
        for strength in strengths
    }
    fig, axes = plt.subplots(1, 3, figsize=(9, 3), sharey=True, layout="constrained")
    limit = float(torch.stack(list(rows.values())).max())
    for ax, (strength, matrix) in zip(axes, rows.items(), strict=True):
        image = plots.heatmap(ax, matrix, signed=False, limit=limit, equal=True)
        ax.set(title=f"strength {strength:g}")
        ax.set_xticks(range(6), CAT_ON_MAT)
        ax.set_yticks(range(6), CAT_ON_MAT)
    axes[0].set_ylabel("who asks")
    axes[1].set_xlabel("who gets the weight")
    fig.colorbar(image, ax=axes, label="weight", shrink=0.8)
    places = torch.arange(6)
    apart = (places - places[:, None]).abs()
    described = "; ".join(
        f"at {strength:g} the rows of both “the” differ by up to "
        f"{(matrix[0] - matrix[4]).abs().max():.2f}"
        for strength, matrix in rows.items()
    )
    for strength, matrix in rows.items():
        own, beside, far = (matrix[part].sum() / 6 for part in (apart == 0, apart == 1, apart > 1))
        print(
            f"strength {strength:g}: to itself {own:.2f}, to words beside it {beside:.2f}", end=""
        )
        print(f", to all farther ones {far:.2f} (means of six words)")
    plots.show(fig, f"The weights of each word, a row for each that asks: {described}.")
else:
    print("Your picture joins here, once your function is right: then run this cell again.")

# %% [markdown]
# **Look:** at strength 0 both rows of "the" are the same. At 1 little is left for far words: the
# corners are empty.
#
# ## In five lines
#
# - A dot product of two words does not say where they stand.
# - We let position in by four doors: embeddings, queries and keys, scores, values.
# - Marks multiply: with $p$ "mat", the last word, got most.
# - A bias on distance leaves little for far words.
# - A lesson is experiments: predict, run, look.
#
# **Read next:** Vaswani et al. 2017, arXiv 1706.03762, sections 3.2 and 3.5.
#
# **Next:** can attention tell *John loves Mary* from *Mary loves John*?
# [Lesson 01](01_attention_is_blind_to_order.ipynb).
