# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # 00 · Start here
#
# **Question:** what is this course, and how does a lesson work?
#
# Attention, the heart of a transformer, sees a sentence as a bag of words unless somebody tells it
# the order. How to tell it is the subject of this course: *positional encodings*. You will not
# have to believe much. A claim is followed by a cell that measures it, or it names its source.
#
# After this lesson you can
#
# - run a lesson, answer its predictions and move its sliders;
# - check an exercise and ask for a hint;
# - name the four doors through which position can enter attention.
#
# **Time:** {minutes}. **Builds on:** nothing but basic Python. **Doors:** all four, shut.

# %% [markdown]
# The cell above finds the course's packages. The next one sets the seed of the random numbers, so
# that you draw the same ones again at the next run. It also picks a device: a GPU if you have one,
# else the CPU. Every lesson runs on either. The numbers printed here come from a CPU. On yours the
# last digits may differ, and on a GPU, which draws other random numbers, more.
#
# Run cells from top to bottom with **Shift + Enter**.

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start()

# %% [markdown]
# ## Four doors
#
# Attention compares a *query* vector $q$ of one token with a *key* vector $k$ of every token,
# turns the scores into weights that sum to 1, and adds up *value* vectors $v$ by these weights:
#
# $$\text{weights} = \operatorname{softmax}(\text{scale} \cdot q\,k^\top + \text{bias}),
# \qquad \text{out} = \text{weights} \cdot v + \text{values}$$
#
# Look for an index that says *where* a token stands. There is none in $q\,k^\top$. Position has
# to be let in, and there are four places to do it.

# %%
from course_lab.door_strip import door_strip
from course_utils import plots

plots.show(
    door_strip([], "Four doors for position, in the order a token passes them"),
    "Four shut doors in a row: 1 token embeddings, 2 queries and keys, 3 attention scores, "
    "4 what is summed.",
)

# %% [markdown]
# 1. **embed**: change the token's vector before attention sees it.
# 2. **rotate**: change queries and keys.
# 3. **bias**: add something to the scores.
# 4. **values**: add something to what is summed.
#
# Each lesson opens with this strip, with its own doors open. In code the doors are four methods.
# An encoding overrides the ones it uses, and the package can list them: here for all that
# lesson 07 compares.

# %%
from course_utils.encodings import create
from course_utils.texts import data

for name in data.results("extrapolation")["encoding"].unique():
    encoding = create(name, d_model=32, n_heads=2)
    print(f"{name:14} opens {', '.join(encoding.doors) or 'no door'}")

# %% [markdown]
# **Look:** `none` leaves every door shut, `sinusoidal` opens the first. These are the two
# encodings of lessons 01 and 02. `shaw` opens two.

# %% [markdown]
# ## How a lesson works: first you predict
#
# Before an experiment you are asked what will come out. Pick an answer, even a wild guess. To be
# wrong is useful: you notice what you believed.
#
# In this one the word "cat" looks at the six words of *the cat sat on the mat*. Each word has a
# random vector. Before the scores of "cat" become weights, we multiply them by a factor.
#
# *Entropy* says how widely the weights are spread, in *nats*: 0 when one word gets everything,
# $\log 6 \approx 1.79$ when all six get the same.

# %%
from course_lab import widgets

guess = widgets.predict(
    "The factor grows from 0 to 1. What does the entropy do?",
    ["it rises", "it falls", "it stays the same"],
)

# %%
import torch

from course_lab.sentences import CAT_ON_MAT, word_vectors
from course_utils import measures

vectors = word_vectors(CAT_ON_MAT, 32)  # (6, 32), one vector a word
scores = vectors @ vectors[1] / 32**0.5  # (6,), "cat" against every word
factors = torch.tensor([0.0, 0.3, 1.0])
weights = torch.stack([(factor * scores).softmax(-1) for factor in factors])  # (3, 6)
entropies = measures.entropy(weights)

for factor, nats in zip(factors, entropies, strict=True):
    print(f"factor {factor:.1f}: entropy {nats:.3f} nats")
guess.reveal("it falls" if bool((entropies.diff() < 0).all()) else "it does not only fall")

# %% [markdown]
# **Look:** at factor 0 the entropy is the largest possible, because all scores are equal. The
# larger the factor, the more the best match takes.

# %% [markdown]
# ## Explorers
#
# Below, the slider is yours. Drag it, or click it and use the arrow keys. The picture follows.
# Watch the bar of "cat", and read the sentence under the picture.

# %%
from course_lab import explorers

explorers.sharpness()

# %% [markdown]
# Sliders need a running kernel. For readers on a web page there is always a still picture too.
# Here are three positions of the slider side by side.

# %%
import matplotlib.pyplot as plt

fig, axes = plt.subplots(1, 3, figsize=(9, 2.8), sharey=True)
for ax, factor, row in zip(axes, factors, weights, strict=True):
    ax.bar(range(6), row.tolist())
    ax.set_xticks(range(6), CAT_ON_MAT)
    ax.set(title=f"factor {factor:.1f}", ylim=(0, 1.05))
axes[0].set_ylabel("attention weight")
plots.show(
    fig,
    f"Bars of the six weights at factor 0, 0.3 and 1. At 0 all are {weights[0, 0]:.2f}. "
    f"The weight of cat grows from {weights[0, 1]:.2f} over {weights[1, 1]:.2f} to "
    f"{weights[2, 1]:.2f}.",
)

# %% [markdown]
# **Look:** "cat" attends mostly to itself, since a vector matches itself best. Both words "the"
# get the same weight in every panel. They are the same vector, and attention has no other way to
# tell them apart. Lesson 01 starts from there.

# %% [markdown]
# ## Exercises, checks and hints
#
# An exercise gives you a stub to fill in. Its check does more than compare: it knows the usual
# mistakes and asks you a question about yours. Stars say how much effort to expect, from ★ to
# ★★★.
#
# **Exercise 0 ★** Write the softmax yourself: turn scores into positive weights that sum to 1
# along the last axis. Replace the `raise` line, run the cell, then run the check.


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
# Stuck? There are three hints to each exercise. The first gives little away, the third nearly
# all. Solutions stand in `notebooks/solutions/`.

# %%
check_weights.hint(1)

# %% [markdown]
# What does a check say to a wrong answer? Try one. This function forgets to divide.

# %%
check_weights(lambda scores: scores.exp())

# %% [markdown]
# ## This machine
#
# Speed and numbers differ a little between machines. Here is what yours has.

# %% tags=["nbval-ignore-output"]
import platform

print(f"Python {platform.python_version()} on {platform.system()} {platform.machine()}")
print(f"PyTorch {torch.__version__} with {torch.get_num_threads()} CPU threads, device {device}")

# %% [markdown]
# ## In five lines
#
# - Attention has no index that says where a token stands.
# - Position can enter at four doors: embeddings, queries and keys, scores, values.
# - A lesson is a row of experiments: predict, run, look, explain.
# - Checks name your mistake; hints come in three steps.
# - Numbers come from cells that you can run and change, or from a source that is named.
#
# **Read next:** Vaswani et al. 2017, *Attention Is All You Need*, arXiv 1706.03762, section 3.2,
# for attention itself.
#
# **Next lesson:** [01 · Attention is blind to order](01_attention_is_blind_to_order.ipynb)
