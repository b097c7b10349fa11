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
# Each different word of *the cat sat on the mat* is a vector of 32 random numbers. "cat" scores
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
# Both "the" are one vector and get one weight. So we add to each of a word's 32 numbers its place
# $p$: 0 for the first "the", 1 for "cat", 4 for the second.

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
    bars = ax.bar(range(6), heights, color=["C1", "C0", "C0", "C0", "C1", "C0"])
    ax.bar_label(bars, [f"{height:.3f}" for height in heights], fontsize=10)
    ax.set(title=title, ylim=(0, 1), yticks=(0, 0.5, 1))
    ax.set_xticks(range(6), CAT_ON_MAT)
axes[0].set_ylabel("weight from “cat”")
described = "; ".join(
    f"{title}: {', '.join(f'{word} {w:.3f}' for word, w in zip(CAT_ON_MAT, heights, strict=True))}"
    for title, heights in zip(titles, (weights, weights_now), strict=True)
)
plots.show(fig, f"What “cat” gives each word. {described}.")

# %% [markdown]
# **Look:** the farther one gets more, and "mat", farthest of all, most. What we add multiplies.
# With "cat" $w$ (place 1), another word $w'$ (place $p$), and a bar for a mean of 32 numbers:
#
# $$(w + 1) \cdot (w' + p) / 32 = w \cdot w' / 32 + \overline{w'} + p\,\overline{w} + 1 \cdot p$$
#
# The last term is the product of two marks: 0 for the nearer, 4 for the farther, for all words.

# %% tags=["plumbing"]
# The four terms, in numbers
same = torch.isclose(weights_now[0], weights_now[4])
guess.reveal(options[2 if same else 0 if weights_now[0] > weights_now[4] else 1])
for name, p in [("nearer", 0), ("farther", 4)]:
    terms = [words[1] @ words[p] / 32, words[p].mean(), p * words[1].mean(), 1.0 * p]
    print(f"{name:7} “the”: {' + '.join(f'({term:.2f})' for term in terms)} ≈ {sum(terms):.2f}")

# %% [markdown]
# ## Four doors
#
# Attention compares a *query* $q$, of "cat", with the *key* $k$ of each word (or *token*, part of a
# word), and adds up *value vectors* $v$ by weight. Here all three are the word's own vector. We let
# position in by four doors, from 0 (shut) to 1:
#
# 1. **embed** adds a row of numbers, the place's *mark*, to the word: lesson 02's sines of $p$;
# 2. **rotate** turns pairs of numbers of $q$ and $k$, the fastest by 1 radian a place;
# 3. **bias** takes 1 from a score for each place of distance;
# 4. **values** adds to each $v$ its offset from "cat" (−1: one place before).
#
# Many models of today *rotate*.

# %%
options = ["in none", "in about half", "in about three quarters", "in all 20"]
guess = widgets.predict(
    "Rotate alone, at 1, new words: in how many of 20 drawings does the nearer “the” get more?",
    options,
)

# %% [markdown]
# Each dot is a drawing of the random words. Try each door alone: which lifts all dots above 0, and
# which moves only the middle panel? Then, with *rotate* at 1: how little *bias* is enough for 20 of
# 20 (the line below the panels counts)?

# %%
explorers.doors()

# %% tags=["plumbing"]
# Each door alone at 1, and the least bias
from course_lab.explorers.short_sentence import drawings, through_doors
from course_utils.encodings.functional import sinusoidal_table

drawn = drawings(20)
for door in ("embed", "rotate", "bias", "values"):
    through = through_doors(drawn, **{door: 1.0})[0]
    ahead = int((through[:, 0] > through[:, 4] + 1e-9).sum())
    same = int(torch.isclose(through[:, 0], through[:, 4]).sum())
    print(f"{door:6} alone: nearer “the” more in {ahead:2} of 20, as much in {same:2}")
    if door == "rotate":
        shares = {0: 0.0, 1: 0.5, 2: 0.75, 3: 1.0}
        guess.reveal(options[min(shares, key=lambda n: abs(shares[n] - ahead / 20))])
table = sinusoidal_table(torch.arange(6.0), 32).double()
by_marks = float(table[1] @ (table[0] - table[4])) / 32
by_words = drawn[:, 1] @ (table[0] - table[4]) / 32
print(
    f"embed: products of two marks lift the nearer’s score by {by_marks:.2f}; “cat” times marks "
    f"moves it by {by_words.min():.2f} to {by_words.max():.2f}, against it by more in "
    f"{int((by_words < -by_marks).sum())} of 20"
)
for bias in torch.arange(21) / 20:
    through = through_doors(drawings(200), rotate=1.0, bias=float(bias))[0]
    lifted = through[:, 0] > through[:, 4]
    if bool(lifted[:20].all()):
        print(f"rotate at 1 with bias at {bias:.2f}: in all 20, and in {lifted.sum()} of 200")
        break

# %% [markdown]
# **Look:** *bias* alone always lifts the nearer. Over random words *rotate* alone prefers neither:
# the opposite of "the" is as likely, and then the other wins. *Embed*: two marks favour the
# nearer; a word and a mark, chance. *Values* moves only what words add.
#
# ## Exercise
#
# **Exercise 1 ★ Marks for the nearer "the".** Write `my_marks(n, width)`: up to 50 rows, any even
# width. Row $p$ is added to the word at place $p$.
#
# - No two rows are equal (to 0.0001), and none changes when the sentence grows.
# - At width 32, in at least 120 of 200 drawings the nearer "the" gets at least 5 % more; in at
#   least 150 no word gets more than 0.6.
#
# Stuck? A button gives hints.


# %% tags=["stub"]
def my_marks(n, width):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def my_marks(n, width):
    marks = 1 / (1 + torch.arange(n))  # 1, 1/2, 1/3, …: marks multiply, and place 0 has the largest
    return marks[:, None] * torch.ones(width)


# %%
from course_lab.checks.lesson00 import check_marks

check_marks(my_marks)

# %% [markdown]
# Most wrong answers get a question:

# %%
check_marks(lambda n, width: torch.ones(n, width))

# %% [markdown]
# ## Move the sentence
#
# Lesson 02's marks pass too. Now up to 40 random words stand in front of the sentence, and "cat"
# attends to them, too. No distance within the sentence has changed.

# %%
options = ["yours and lesson 02's", "only yours", "only lesson 02's", "neither"]
guess = widgets.predict(
    "Whose marks pass at all starts tried, with 0 to 40 words in front?", options
)

# %% tags=["plumbing"]
# The same 200 drawings, farther and farther down
from course_lab.checks.lesson00 import nearer_wins, no_glut, seen
from course_utils.plots.line_ends import LineEnds

solved = check_marks.verdict(my_marks).kind == "right"
kinds = {"lesson 02's": sinusoidal_table(torch.arange(50), 32)}
if solved:
    kinds["yours"] = my_marks(50, 32).detach().cpu()
    shrinking = (1 / (1 + torch.arange(50)))[:, None].expand(50, 32)
    if not torch.allclose(kinds["yours"].double(), shrinking.double(), atol=1e-4):
        kinds["1/(1 + p)"] = shrinking
looks = {"lesson 02's": "C0-o", "yours": "C2-s", "1/(1 + p)": "C4--^"}
starts = [*range(5), *range(5, 45, 5)]  # words in front
moved = {name: {start: seen(marks, start) for start in starts} for name, marks in kinds.items()}
wins = {name: [nearer_wins(each) for each in weights.values()] for name, weights in moved.items()}
fig, ax = plt.subplots(figsize=(7, 3.2))
ends = [ax.plot(starts, wins[name], looks[name], clip_on=False)[0] for name in kinds]
LineEnds(ax, ends, list(kinds))
ax.axhline(120, color="0.6", lw=1, ls=":")
ax.text(40, 114, "120: enough", color="0.35", ha="right", va="top")
ax.set(xlim=(0, 40), ylim=(0, 205), xlabel="words in front of the sentence")
ax.set(
    ylabel="of 200 drawings", title="In how many drawings the nearer “the” gets at least 5 % more"
)
if not solved:
    ax.text(1, 10, "Your line joins, once your marks pass.", color="0.35")
described = "; ".join(f"{name}: {', '.join(map(str, counts))}" for name, counts in wins.items())
plots.show(
    fig,
    "Drawings of 200 in which the nearer gets 5 % more, with 0, 1, 2, 3, 4, 5, 10, … 40 words in "
    f"front. {described}.",
)
passing = {
    name
    for name, weights in moved.items()
    if all(nearer_wins(each) >= 120 and no_glut(each) >= 150 for each in weights.values())
}
still = ["yours" in passing, "lesson 02's" in passing]
if solved:
    guess.reveal(options[0 if all(still) else 1 if still[0] else 2 if still[1] else 3])
else:
    print("Yours do not pass yet. Solve the exercise, then guess and run this cell again.")
for name, marks in kinds.items():
    mirrored = nearer_wins(seen(marks[:6].flip(0)))
    ahead = nearer_wins(moved[name][5], times=1.0)
    print(
        f"{name}: with 5 words in front, the nearer gets more in {ahead} of 200, 5 % more in",
        end=" ",
    )
    print(f"{wins[name][5]}; the sentence mirrored, 5 % more in {mirrored}")
near, far = (kinds["lesson 02's"][0] @ kinds["lesson 02's"][n] / 32 for n in (1, 3))
print(f"product of two of lesson 02's marks, over 32: {near:.2f} at distance 1, {far:.2f} at 3")

# %% [markdown]
# **Look:** products of lesson 02's marks depend on distance alone, and are larger at 1 than at 3.
#
# <details><summary>Once you have tried</summary>
#
# $1/(1 + p)$ fades: far down, marks are alike. And it favours the *earlier*: mirrored, the nearer
# "the" stands behind.
#
# </details>
#
# ## In five lines
#
# - A dot product of two words does not say where they stand.
# - We let position in by four doors: embeddings, queries and keys, scores, values.
# - Marks multiply in the score: with $p$ itself "mat" got most.
# - A lesson is experiments: predict, run, look.
# - Most wrong answers get a question.
#
# **Read next:** Vaswani et al. 2017, arXiv 1706.03762, section 3.2.
#
# **Next:** can attention tell *John loves Mary* from *Mary loves John*?
# [Lesson 01](01_attention_is_blind_to_order.ipynb).
