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
# # 00 · Start here
#
# **Question:** what does attention see of a sentence, and how does a lesson work?
#
# After this lesson you can
#
# - predict, run, look, move an explorer, check an exercise;
# - name four doors through which position enters attention.
#
# **Time:** {minutes}. **Builds on:** PyTorch tensors. **Doors:** all four.

# %% [markdown]
# Run cells from top to bottom with **Shift + Enter**.

# %% tags=["nbval-ignore-output", "picture"]
import course_lab

device = course_lab.start(
    doors=["embed", "rotate", "bias", "values"], title="Lesson 00: four doors for position"
)

# %% [markdown]
# ## First you predict
#
# Each different word of *the cat sat on the mat* is a vector of 32 random numbers. "cat" scores all
# six words by a dot product. The *softmax* turns scores into *weights*, which sum to 1: how "cat"
# shares out its attention. Guess first, however wildly: you notice what you believed.

# %%
from course_lab import widgets

options = ["the one just before it", "the one three words later", "both the same"]
guess = widgets.predict("Which “the” gets more attention from “cat”?", options)

# %%
from course_lab.sentences import CAT_ON_MAT, word_vectors

words = word_vectors(CAT_ON_MAT, 32)  # (6, 32), a vector a word
scores = words @ words[1] / 32  # (6,), "cat" with each; undivided, one word would get nearly all
weights = scores.softmax(0)

# %% tags=["plumbing"]
# The answer
import torch

for word, weight in zip(CAT_ON_MAT, weights, strict=True):
    print(f"{word:4} {weight:.3f}")
same = torch.isclose(weights[0], weights[4])
guess.reveal(options[2 if same else 0 if weights[0] > weights[4] else 1])

# %% [markdown]
# **Look:** both "the" are one vector, so they get one score. A dot product does not say where words
# stand.
#
# ## Four doors
#
# Attention compares a *query* $q$, here of "cat", with the *key* $k$ of each word (or *token*, part
# of a word), and adds up *value vectors* $v$ by weight. Position enters by four doors. (The mask of
# decoders is for lesson 01.)
#
# 1. **embed**: add something to each word's vector.
# 2. **rotate**: turn queries and keys, later ones further.
# 3. **bias**: add something to each score, $\operatorname{softmax}(q \cdot k + \text{bias})$.
# 4. **values**: add something, $r$, to what is summed, $\sum \text{weight} \cdot (v + r)$.
#
# Open one at a time. Left are weights, right the first number of weight × value. Which tells the
# two "the" apart and changes no weight?

# %%
from course_lab import explorers

explorers.doors()

# %%
doors = ["embed", "rotate", "bias", "values"]
guess = widgets.predict("Which door tells the two apart and changes no weight?", doors)

# %% tags=["plumbing"]
# Each door alone
from course_lab.explorers.short_sentence import through_doors

shut, fitting = through_doors()[0], []
for door in doors:
    through, brings = through_doors(**{door: 1.0})
    print(f"{door:6} weights of the two: {through[0]:.3f} and {through[4]:.3f};", end=" ")
    print(f"they bring {brings[0]:+.3f} and {brings[4]:+.3f}")
    if torch.allclose(through, shut) and not torch.isclose(brings[0], brings[4]):
        fitting.append(door)
guess.reveal(fitting[0])

# %% [markdown]
# **Look:** door 4. Each lesson begins with the strip of doors, and opens its own.
#
# ## Exercises
#
# **Exercise 1 ★ Weights.** Write `my_weights(scores)`, the softmax: $e^{s}$ over the sum of all
# $e^{s}$ along the last axis, for scores of 100 too. Replace the `raise` line, run the cell, then
# the check. It knows many mistakes, asks about yours, and has hints.


# %% tags=["stub"]
def my_weights(scores):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def my_weights(scores):
    shifted = scores - scores.amax(-1, keepdim=True)  # keeps exp from overflowing
    positive = shifted.exp()
    return positive / positive.sum(-1, keepdim=True)


# %%
from course_lab.checks.lesson00 import check_weights

check_weights(my_weights)

# %% [markdown]
# This answer forgets to divide:

# %%
check_weights(lambda scores: scores.exp())

# %% [markdown]
# ## In five lines
#
# - A dot product of two words does not say where they stand.
# - Position enters our models by four doors: embeddings, queries and keys, scores, values.
# - A lesson is a row of experiments: predict, run, look.
# - Checks know many mistakes and ask about yours; `notebooks/solutions/` has solutions.
# - A number has a cell that computes it, or a source.
#
# **Read next:** Vaswani et al. 2017, arXiv 1706.03762, section 3.2.
#
# **Next:** [lesson 01](01_attention_is_blind_to_order.ipynb): a bag of words, always?
