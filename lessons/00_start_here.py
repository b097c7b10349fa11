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
# - name four doors by which we put position into attention.
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
# six words by a dot product. The *softmax*, $e^{s}$ over the sum of all $e^{s}$, turns scores into
# *weights*: how "cat" shares out its attention.

# %%
from course_lab import widgets

options = ["the one just before it", "the one three words later", "both the same"]
guess = widgets.predict("Which “the” gets more attention from “cat”?", options)

# %%
from course_lab.sentences import CAT_ON_MAT, word_vectors

words = word_vectors(CAT_ON_MAT, 32)  # (6, 32), a vector a word
# "cat" is word 1. Undivided by 32, one word gets nearly all.
weights = (words @ words[1] / 32).softmax(0)

# %% tags=["plumbing"]
# The answer
import torch


def show(weights):
    for word, weight in zip(CAT_ON_MAT, weights, strict=True):
        print(f"{word:4} {weight:.3f}")


show(weights)
same = torch.isclose(weights[0], weights[4])
guess.reveal(options[2 if same else 0 if weights[0] > weights[4] else 1])

# %% [markdown]
# **Look:** both "the" are one vector, so they get one weight.
#
# ## Four doors
#
# Attention compares a *query* $q$, here of "cat", with the *key* $k$ of each word (or *token*, part
# of a word), and adds up *value vectors* $v$ by weight. (Here all are the word's vector.) In this
# course we put position in by four doors:
#
# 1. **embed**: add a row of numbers, another for each place, to the word's vector;
# 2. **rotate**: turn queries and keys, at place $p$ by $p$ times an angle;
# 3. **bias**: add a number to each score, here less for each step of distance;
# 4. **values**: add a number or vector $r$ for the distance to what is summed,
#    $\sum \text{weight} \cdot (v + r)$.

# %%
doors = ["embed", "rotate", "bias", "values"]
guess = widgets.predict("Which door tells the two apart and changes no weight?", doors)

# %% [markdown]
# Left are the weights, right the first number of what each word adds to the sum. Open one door at a
# time: which makes "cat" look at the second "the" more than at the first?

# %%
from course_lab import explorers

explorers.doors()

# %% tags=["plumbing"]
# Each door alone
from course_lab.explorers.short_sentence import through_doors

shut, fitting = through_doors()[0], []
for door in doors:
    through, brings = through_doors(**{door: 1.0})
    same = torch.allclose(through, shut)
    print(f"{door:6} weights {'the same' if same else 'changed ':8}", end="  ")
    print(f"the two bring {brings[0]:+.3f} and {brings[4]:+.3f}")
    if same and not torch.isclose(brings[0], brings[4]):
        fitting.append(door)
guess.reveal(fitting[0])

# %% [markdown]
# **Look:** values change what is summed, not the shares. (With these random words *rotate* alone
# gives the farther "the" more; with others it may be the nearer one.) Each lesson begins with the
# strip of doors, and opens its own, if any.
#
# ## Exercises
#
# **Exercise 1 ★ Your first encoding.** Write `my_marks(n, width)` for door 1: a tensor of shape
# `(n, width)`, for up to 40 words and any width, whose row $p$ is added to the word at place $p$.
# Any numbers will do, if no two rows are equal (to 0.0001) and no row changes when the sentence
# grows. Replace the `raise` line, run the cell, then the check.


# %% tags=["stub"]
def my_marks(n, width):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def my_marks(n, width):
    return torch.arange(n)[:, None] * torch.ones(width)  # place p adds p to every number


# %%
from course_lab.checks.lesson00 import check_marks

check_marks(my_marks)

# %% [markdown]
# Most wrong answers get a question, such as

# %%
check_marks(lambda n, width: torch.ones(n, width))

# %% tags=["plumbing"]
# What “cat” sees with your marks
from course_utils.encodings.functional import sinusoidal_table

solved = check_marks.verdict(my_marks).kind == "right"
mine = (my_marks if solved else torch.ones)(6, 32)
print("with your marks" if solved else "with 1 added everywhere, until your marks pass the check")


def seen(marks):
    """The weights of "cat" in the marked sentence."""
    marked = words + marks
    return (marked @ marked[1] / 32).softmax(0)


show(seen(mine))
apart, long = ((words + mine)[0] - (words + mine)[4]).norm(), words.norm(dim=1).mean()
print(f"the two “the”, as vectors: {apart:.2g} apart (a word is about {long:.1f} long)")
waves = sinusoidal_table(torch.arange(6), 32)
for name, marks in {"your marks": mine, "lesson 02's": waves}.items():
    weights = seen(marks)
    nearer = "yes" if weights[0] > weights[4] + 0.01 else "no"
    gentle = "yes" if weights.max() < 0.6 else "no"
    print(f"{name:11}  nearer “the” gets more: {nearer:3}  no word above 0.6: {gentle}")

# %% [markdown]
# **Look:** once your marks pass, the two "the" are two vectors. If one word gets nearly all, your
# marks drown the words: how long are they beside a word? Now change them until both answers are
# *yes*.
#
# ## In five lines
#
# - A dot product of two words does not say where they stand.
# - We put position in by four doors: embeddings, queries and keys, scores, values.
# - Marks that differ, added to equal words, make different vectors of them.
# - A lesson is a row of experiments: predict, run, look.
# - Checks ask; `notebooks/solutions/` answers.
#
# **Read next:** Vaswani et al. 2017, arXiv 1706.03762, section 3.2.
#
# **Next:** can attention tell *John loves Mary* from *Mary loves John*?
# [Lesson 01](01_attention_is_blind_to_order.ipynb).
