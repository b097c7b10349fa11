# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   order_matters:
#     edition: 2
#     lines: [1, 5]
# ---

# %% [markdown]
# # 04 · Relative
#
# **Question:** why not say "three to the left"?
#
# After this lesson you can
#
# - tell attention how far away a key is, by a number or by a vector;
# - say which places offsets can name, and whether training finds them;
# - write Shaw's scores without their large tensor.
#
# **Time:** {minutes}. **Builds on:** attention with a causal mask, which hides later tokens.
# **Doors:** 3, a number added to scores; 4, a vector added to what is summed. (Doors are where
# encodings enter.) **Beyond:** closer looks, [term by term](closer/04_term_by_term.ipynb) and
# [up the ladder](closer/04_up_the_ladder.ipynb).

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start(doors=["bias", "values"], title="Lesson 04: relative")

# %% [markdown]
# ## A number for each offset
#
# An **offset** is $j - i$: where key $j$ stands, seen from query $i$. So $-1$ is the token before,
# and $-3$ is three to the left. Without its sign it is a **distance**. The plainest way to tell
# attention an offset is a number. Each head learns one for each offset, and adds it to the score.

# %%
import torch
from torch import nn

from course_utils.encodings import PositionalEncoding


class NumberByOffset(PositionalEncoding):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.table = nn.Parameter(torch.zeros(n_heads, 17))  # offsets −8 to 8

    def bias_by_offset(self, offsets):  # (n,) → (heads, n), added to the scores
        return self.table[:, offsets + 8]


# %% [markdown]
# What can a model find with such numbers alone? A text is nine random tokens of five kinds. We
# train a small causal model, one layer with two heads, for 150 steps. It learns one of three tasks:
# to name
#
# - the token **three to the left** of each token, from place 3 on;
# - the token at **place 0**, from every token;
# - the token at **place 3**, from there on.
#
# A **place** counts from the text's first token, which is place 0. The numbers learn five times as
# fast as the rest. (Nine runs, three of each task, take about half a minute.)

# %%
from course_lab import widgets

guess = widgets.predict(
    "What does it learn? (That is: 98 % right in each of 3 seeds.)",
    ["nothing", "three to the left", "three to the left and place 0", "all three"],
)

# %%
from functools import partial

from course_utils.models import TinyTransformer
from course_utils.models.training import fit
from course_utils.texts import tasks


def learn(task, seed):
    torch.manual_seed(seed)
    rows = partial(task, length=9, vocab_size=5, generator=torch.Generator().manual_seed(seed))
    model = TinyTransformer(5, NumberByOffset, d_model=32, n_layers=1, n_heads=2).to(device)

    def loss():
        return tasks.loss(model, rows(batch=32).to(device))

    faster = {"encoding.table": 5.0}  # times the learning rate
    fit(model, loss, 150, lr=1e-2, bar=False, faster=faster)
    return model, tasks.accuracy(model, rows(batch=500).to(device))


# %%
TASKS = {
    "three to the left": partial(tasks.token_at_offset, -3),
    "place 0": partial(tasks.token_at_place, 0),
    "place 3": partial(tasks.token_at_place, 3),
}
trained = {name: [learn(task, seed) for seed in range(3)] for name, task in TASKS.items()}

# %% tags=["plumbing"]
# The answer, and what the heads learned
import matplotlib.pyplot as plt

from course_utils import plots

learned = [name for name, runs in trained.items() if min(right for _, right in runs) >= 0.98]
answers = {0: "nothing", 3: "all three"}
guess.reveal(answers.get(len(learned), " and ".join(learned)))
for name, runs in trained.items():
    solved = sum(right >= 0.98 for _, right in runs)
    print(f"{name:17} learned in {solved} of 3 seeds")


def by_distance(run):
    """What the heads add at distances 0 to 8, less the largest, (heads, 9)."""
    table = run[0].encoding.table.detach().cpu()[:, :9].flip(-1)
    return table - table.amax(-1, keepdim=True)


third, first = (
    torch.stack([by_distance(run) for run in trained[name]]) for name in TASKS if name != "place 3"
)
steps_up = (first.diff(dim=-1) > 0).all(-1).any(-1).sum().item()
tops = (third.argmax(-1) == 3).any(-1).sum().item()
fig, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharex=True, sharey=True)
for ax, bias, title in zip(
    axes,
    (third[0], first[0]),
    ("asked for three to the left: one peak", "asked for place 0: the farther, the better"),
    strict=True,
):
    at_work = bias.min(-1).values.argmin().item()  # the head that tells distances apart most
    ax.plot(bias[1 - at_work], "s-", color="0.8", linewidth=1, markersize=4, label="the other head")
    ax.plot(bias[at_work], "o-", color="C1", label="the head at work")
    ax.set(title=title, xlabel="distance to the key (0: the query itself)")
to_edge = first[0][first[0].min(-1).values.argmin()]
slope = to_edge.diff().mean().item()
line = to_edge.mean() + slope * (torch.arange(9.0) - 4)
axes[1].plot(line, "--", color="black", linewidth=1, label="a straight line")
axes[0].legend(loc="best")
axes[1].legend(loc="best")
axes[0].set_ylabel("learned number, added to the\nscore (less the head's largest)")
plots.show(
    fig,
    "What two heads add to the score at distances 0 to 8, less the largest, seed 0; orange, the "
    "head with the widest range. Three to the left: a head has its top at distance 3, in "
    f"{tops} of 3 seeds. Place 0: a head rises at every step, in {steps_up} of 3 seeds; dashed, a "
    "straight line beside it.",
)

# %% [markdown]
# **Look:** it learns three to the left, and place 0, too. For place 0 (right) a head likes each
# farther key more, and the farthest key *is* place 0. **The edge of the text is a place.** Place 3
# is at no edge, and this model misses it.
#
# ## Move the text
#
# Then why not name the places? Sinusoids do, and so does a learned table: they add a vector to the
# token at position $i$. Trained for as many steps, both learn all three tasks.
#
# But a text need not begin at position 0. Now each text stands 50 positions on, nothing before it.
# A token keeps its *place*; its **position**, the number that the model is given, is 50 higher.

# %%
guess = widgets.predict(
    "Three models were trained at positions 0 to 8: learned table, sinusoids, a number for each "
    "offset. Which still name the token three to the left, 50 positions on? (That is: 98 % right "
    "in each of 3 seeds.)",
    ["all: it is still three to the left", "sinusoids and numbers", "numbers alone"],
)


# %%
def moved_share(model, task):
    """The share right of 500 new texts that stand 50 positions on."""
    generator = torch.Generator().manual_seed(9)
    texts = TASKS[task](length=9, vocab_size=5, batch=500, generator=generator)
    return tasks.accuracy(model, texts.to(device), torch.arange(9, device=device) + 50)


# %% tags=["plumbing"]
# The answer: the grid
import itertools

from course_lab import figures
from course_utils.texts import data

runs = data.results("place_tasks")


def rows_of(encoding, layers=1, heads=4, steps=1500, task="place 3"):
    """The runs of one setting, one row a seed."""
    setting = {"encoding": encoding, "layers": layers, "heads": heads, "steps": steps, "task": task}
    setting["starts"] = 0  # every text of the training begins at position 0
    return runs[(runs[list(setting)] == list(setting.values())).all(axis=1)]


ROWS = {"learned table": "learned", "sinusoids": "sinusoidal"}  # as the table of runs has them
titles = {"accuracy": "at positions 0 to 8", "moved": "moved to positions 50 to 58"}


def worst(row, task, column):
    """The share right in the worst seed."""
    return rows_of(ROWS[row], heads=2, steps=150, task=task)[column].min()


of_numbers = {
    "accuracy": [min(right for _, right in trained[task]) for task in TASKS],
    "moved": [min(moved_share(model, task) for model, _ in trained[task]) for task in TASKS],
}
grids = {
    column: torch.tensor(
        [of_numbers[column], *([worst(row, task, column) for task in TASKS] for row in ROWS)]
    )
    for column in titles
}
names = ("a number for each offset", *ROWS)
third_moved = dict(zip(names, grids["moved"][:, 0].tolist(), strict=True))
keeps = [name for name in names if third_moved[name] >= 0.98]
guess.reveal(
    "all: it is still three to the left"
    if len(keeps) == 3
    else "sinusoids and numbers"
    if "sinusoids" in keeps
    else "numbers alone"
)
fig, axes = plt.subplots(1, 2, figsize=(11, 2.8), sharey=True)
for ax, (column, title) in zip(axes, titles.items(), strict=True):
    look = {"form": ".2f", "signed": False, "limit": 1, "title": title}
    image = figures.numbered(ax, grids[column], names, list(TASKS), **look)
    ax.axhline(1, color="white", linewidth=4)
axes[1].tick_params(left=False)
fig.colorbar(image, ax=axes, label="right answers, worst seed", shrink=0.8)
fig.suptitle("When a text moves, offsets answer as before")
some_texts, positions = torch.randint(5, (100, 9), device=device), torch.arange(9, device=device)
with torch.no_grad():  # a number for each offset: the same output 50 positions on
    for model, _ in itertools.chain.from_iterable(trained.values()):
        here, there = model(some_texts, positions), model(some_texts, positions + 50)
        assert torch.allclose(here, there, atol=1e-3)
described = "; ".join(
    f"{title}: "
    + ", ".join(
        f"{name} {' '.join(f'{right:.2f}' for right in row)}"
        for name, row in zip(names, grids[column].tolist(), strict=True)
    )
    for column, title in titles.items()
)
plots.show(
    fig,
    "Share of right answers in three tasks (three to the left, place 0, place 3), worst of "
    f"three seeds. {described}. Blind guessing has 0.20. The rows below the white line are "
    "recorded runs.",
)

# %% [markdown]
# **Look:** fifty positions on, the table and the sinusoids fall to 0.53 or less in the worst
# seed, in each task. (A table trained at all these positions: [up the
# ladder](closer/04_up_the_ladder.ipynb).) Numbers for offsets answer as before, since no offset has
# changed. A scheme that sees of positions only $j - i$ is **relative**.

# %%
moved = torch.arange(4) + 50
print(moved - moved[:, None])  # j − i: a row for each query, a column for each key

# %% [markdown]
# ## Straight lines
#
# So numbers keep what they have found, but they missed place 3. Can offsets name a place inside the
# text at all? One head of numbers cannot give key 3 the largest weight from each query: from query
# 4, offset $-1$ must beat $-2$; from query 5, $-2$ must beat $-1$. Can several heads together?
#
# The head that found place 0 has nearly a straight line (dashed above). Let a head add just that: a
# slope $m$ times the distance $i - j$. If its scores hold nothing else, its weights are
#
# $$\frac{e^{m(i-j)}}{\sum_{j' \le i} e^{m(i-j')}} = \frac{e^{-mj}}{\sum_{j' \le i} e^{-mj'}}$$
#
# $e^{mi}$ cancels! The query's place is gone from the top. The key's *place* $j$ is left.

# %%
distance = torch.arange(8, -1, -1.0)  # of the last query to keys 0 to 8
for slope in (2, 1):
    weights = (slope * distance).softmax(0)
    print(f"slope {slope}:", *(f"{weight:.2f}" for weight in weights[:5]), "…")

# %% [markdown]
# Slope 2 takes nearly key 0 alone. Slope 1 takes some of key 1, too. Say key 0 is a *b*, key 1 an
# *a*, and all later ones are *c*. Then both heads give *b* the most weight, and *a* less. The layer
# after gets these weights of *a*, *b*, *c*. It may multiply each head's by a factor of its own, and
# add them up: that is a **readout**. The kind of token with the largest sum is the answer.

# %%
guess = widgets.predict(
    "Two heads with straight lines, and a readout, both of your choice. How often can they name "
    "the token at place 1?",
    ["hardly above guessing: lines only know far and near", "half of the time", "always"],
)

# %% [markdown]
# The explorer finds the factors. At each query the heads' weights times their factors should add up
# to 1 at the key asked for, and to 0 at the others, as nearly as they can (least squares).
#
# All heads begin with slope 2, so one is wasted. Move a slope: how high does the gold bar get?
# Make it gentle: when does it break? Then ask for place 2. How many heads does it take?

# %%
from course_lab import explorers

explorers.ladder()

# %% tags=["plumbing"]
# The answer
import pandas as pd

from course_lab.straight_heads import best_readout, keys_asked, share_right, straight_weights

texts = torch.randint(5, (1000, 9))
silence = torch.zeros(1000, 9, 5, dtype=torch.float64)


def by_hand(slopes, place):
    """The factors by least squares, and the share of right answers."""
    weights, keys = straight_weights(slopes, 9), keys_asked(place, 9)
    factors = best_readout(weights, keys)
    return factors, share_right(weights, factors, keys, texts, silence)


_, right = by_hand((2, 1), 1)
guess.reveal(
    "always"
    if right == 1
    else "half of the time"
    if right > 0.4
    else "hardly above guessing: lines only know far and near"
)
RUNGS = {1: (2, 1), 2: (3, 2, 1), 3: (5, 3.5, 2.5, 1.5)}
rows = []
tried = {1: ((2, 0.25), (2, 1)), 2: ((2, 1), (3, 2, 1)), 3: ((3, 2, 1), RUNGS[3])}
for place, slopes in ((place, slopes) for place, of in tried.items() for slopes in of):
    factors, right = by_hand(slopes, place)
    rows.append(
        {
            "asked for": f"place {place}",
            "slopes": ", ".join(f"{slope:g}" for slope in slopes),
            "98 % right": "yes" if right >= 0.98 else "no",
            "largest factor": f"{factors.abs().max():,.0f}",
        }
    )
pd.DataFrame(rows).set_index("asked for")

# %% [markdown]
# **Look:** slopes 2 and 1 name place 1, always. Both like key 0 best. Subtract enough of the steep
# one to cancel key 0: key 1 wins. (With 2 and 0.25 keys 2 and 3 outvote it.) Places are a
# **ladder**; here each takes a slope more.
#
# **Exercise 1 ★★★ Single out.** Take only the *last* query of n, and be exact. Each head's weight
# times its factor, added up: two heads make this sum 0 at key 0 and 1 at key 1; three, 0 at keys 0
# and 1, and 1 at key 2; and so on. Later keys are free. Write `single_out(slopes, n)`: from
# `slopes` (heads,), float64, all different, the factors (heads,).


# %% tags=["stub"]
def single_out(slopes, n):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def single_out(slopes, n):
    distance = torch.arange(n - 1, -1, -1)
    weights = (slopes[:, None] * distance).softmax(-1)  # (heads, n)
    heads = len(slopes)
    wished = torch.eye(heads, dtype=slopes.dtype)[-1]
    return torch.linalg.solve(weights[:, :heads].T, wished)


# %%
from course_lab.checks.lesson04 import check_shaw, check_single_out

check_single_out(single_out)

# %% [markdown]
# ## Will training climb?
#
# So four straight lines *can* name place 3. Will a model learn to? One layer is given the four
# slopes of the table's last row, fixed. It has to learn all else, in 1,500 steps of Adam, ten
# times as many as above.

# %%
guess = widgets.predict(
    "How many of its answers for place 3 are right then, in each of 5 seeds?",
    ["at most 60 %", "60 to 90 %", "at least 90 %"],
)


# %% tags=["plumbing"]
# The answer, beside numbers that are learned
from course_lab.straight_heads import counted


def shares_right(encoding, **setting):
    """The shares of right answers, one a seed."""
    return rows_of(encoding, **setting)["accuracy"].to_numpy()


given = shares_right("given slopes")
guess.reveal(
    "at most 60 %"
    if given.max() <= 0.6
    else "at least 90 %"
    if given.min() >= 0.9
    else "60 to 90 %"
)
many_texts = torch.randint(5, (100_000, 9), generator=torch.Generator().manual_seed(0))
counting = counted(keys_asked(3, 9), many_texts)
climbs = {
    "place 1: two slopes given": shares_right("given slopes", heads=2, task="place 1"),
    "place 2: three slopes given": shares_right("given slopes", heads=3, task="place 2"),
    "place 3: the four slopes given": given,
    "place 3: no encoding": shares_right("none"),
    "place 3: a number for each offset": shares_right("number by offset"),
    "place 3: two layers of numbers": shares_right("number by offset", layers=2, heads=2),
}
fig, ax = plt.subplots(figsize=(7.5, 3.3))
for row, right in enumerate(climbs.values()):
    heights = row + torch.linspace(-0.2, 0.2, len(right))
    ax.plot(right, heights, "o", color="C1" if row < 3 else "0.45")
ax.set_yticks(range(len(climbs)), list(climbs))
ax.axvline(0.98, color="0.5", linestyle=":")
ax.text(0.98, -0.55, "98 %", ha="center", va="bottom", fontsize=9, color="0.35")
ax.plot([counting] * 2, [1.6, 5.4], color="0.5", linestyle=":")
ax.text(counting + 0.01, 4.9, "counting alone", fontsize=9, color="0.35")
ax.set(ylim=(len(climbs) - 0.5, -0.5), xlim=(0.38, 1.03))
ax.set_xlabel("right answers after 1,500 steps, a dot a seed")
ax.set_title("Given the slopes, training climbs one rung of three", pad=20)
plots.show(
    fig,
    "Right answers after 1,500 steps, a dot a seed: "
    + "; ".join(f"{name} {right.min():.2f} to {right.max():.2f}" for name, right in climbs.items())
    + f". Dotted: counting alone at place 3, {counting:.2f}, and 98 %.",
)

# %% [markdown]
# **Look:** training climbs the first rung, and not the second. At the third it ends between *no
# encoding* and *counting alone*: the commonest earlier token, and the query's own if asked for
# that. (More steps: *up the ladder*.)
#
# Learned numbers get farther, in two layers farther still. Can more than a number be said of an
# offset?
#
# ## A vector for each offset
#
# A number favours an offset whatever the words are. Shaw et al. (2018) learn two *vectors* for each
# offset instead, $a^K$ and $a^V$:
#
# $$s_{ij} = \frac{q_i \cdot (k_j + a^K_c)}{\sqrt d}, \qquad
# y_i = \sum_j w_{ij}\,(v_j + a^V_c), \qquad c = \operatorname{clip}(j - i, -k, k)$$
#
# $q_i$, $k_j$, $v_j$ and the weights $w_{ij}$ are attention's own; $k$ alone is a number, the clip.
# In the score the query meets $a^K$ as it meets a key, so its word chooses offsets. This product,
# not yet divided:


# %%
def literal(q, table):  # (n, d) and (2k + 1, d) → (n, n), unscaled
    n, k = len(q), len(table) // 2
    c = (torch.arange(n) - torch.arange(n)[:, None]).clamp(-k, k)  # (n, n)
    vectors = table[c + k]  # (n, n, d): one for each query and key
    return (q[:, None] * vectors).sum(-1)


# %% [markdown]
# In the sum $y_i$ the vector $a^V$ tells *where* a value was found. That is door 4. By it a first
# layer can tell each token its place: with equal weights token $i$ gets the mean of $a^V$ over
# offsets 0 to $-i$, and each $i$ another. A second layer can look for that. Do two of Shaw's layers
# name place 3, then? And does it survive a move?

# %% tags=["plumbing"]
# What a move leaves; and whether `literal` and door 4 are the library's
from course_utils.encodings.functional import offset_matrix, shaw_scores, shaw_values

q, table = torch.randn(12, 16), torch.randn(9, 16)
offsets = offset_matrix(torch.arange(12), torch.arange(12))
w = literal(q, table).softmax(-1)
door_4 = (w[..., None] * table[offsets.clamp(-4, 4) + 4]).sum(1)  # (n, d)
assert torch.allclose(literal(q, table), shaw_scores(q, table, offsets), atol=1e-4)
assert torch.allclose(door_4, shaw_values(w, table, offsets), atol=1e-4)
SCHEMES = {  # of the table of runs; and the colour
    "learned table, one layer": (rows_of("learned", heads=2), "learned"),
    "sinusoids, one layer": (rows_of("sinusoidal", heads=2), "sinusoidal"),
    "numbers, two layers": (rows_of("number by offset", layers=2, heads=2), None),
    "Shaw without $a^V$, two layers": (rows_of("shaw, keys only", layers=2, heads=2), None),
    "no encoding, two layers": (rows_of("none", layers=2, heads=2), None),
    "Shaw, one layer": (rows_of("shaw", heads=2), "shaw"),
    "Shaw, two layers": (rows_of("shaw", layers=2, heads=2), "shaw"),
}
fig, ax = plt.subplots(figsize=(7.5, 3.4))
for row, (of_scheme, encoding) in enumerate(SCHEMES.values()):
    color = plots.identity(encoding).colour if encoding else "0.45"
    heights = row + torch.linspace(-0.2, 0.2, len(of_scheme))
    ax.plot(of_scheme["accuracy"], heights, "o", color=color, fillstyle="none", markersize=9)
    ax.plot(of_scheme["moved"], heights, "o", color=color, markersize=5)
ax.plot([], [], "o", color="0.4", fillstyle="none", markersize=9, label="where it was trained")
ax.plot([], [], "o", color="0.4", markersize=5, label="50 positions on")
ax.legend(loc="upper left", bbox_to_anchor=(0, -0.2), ncols=2, frameon=False, fontsize=9)
ax.axvline(0.98, color="0.5", linestyle=":")
ax.set_yticks(range(len(SCHEMES)), list(SCHEMES))
ax.set(ylim=(len(SCHEMES) - 0.5, -0.5), xlim=(0.15, 1.05))
ax.set_xlabel("right answers at place 3, a dot a seed; dotted, 98 %")
ax.set_title("Two of Shaw's layers name place 3, moved or not")
plots.show(
    fig,
    "Right answers at place 3 where the models were trained and 50 positions on, 1,500 steps, "
    "three seeds, two heads: "
    + "; ".join(
        f"{name} {of['accuracy'].min():.2f} to {of['accuracy'].max():.2f}, then "
        f"{of['moved'].min():.2f} to {of['moved'].max():.2f}"
        for name, (of, _) in SCHEMES.items()
    )
    + ".",
)

# %% [markdown]
# **Look:** two of Shaw's layers do both, in each of three seeds. The table and the sinusoids name
# place 3 only where they were trained. Without $a^V$ Shaw's layers pass in no seed. (How the two
# layers do it: *up the ladder*.)
#
# ## Why not, then? The price
#
# A position's vector is added once a token. An offset belongs to a query *and* a key, so it enters
# every score. Offsets are clipped, so that $2k + 1$ vectors do for any length:

# %%
print((torch.arange(6) - torch.arange(6)[:, None]).clamp(-2, 2))  # c for six tokens, k = 2
print(f"1,024 tokens, d = 64: `vectors` fills {4 * 1024**2 * 64 // 2**20} MiB")  # float32

# %% [markdown]
# From $k$ on all offsets of a side share a vector. T5 (Raffel et al. 2019) has numbers again, and
# its far offsets share them in **buckets**. (More of T5, Transformer-XL and DeBERTa: [term by
# term](closer/04_term_by_term.ipynb).)
#
# **Exercise 2 ★★ Without the large tensor.** `vectors` holds $n^2 d$ numbers. Write
# `shaw_from_scratch(q, table)`: what `literal` returns, in PyTorch, with no array of more than
# $4n^2$ numbers. (Measured with 40 queries and at most 33 rows of `table`.) No loops, and no
# `torch.vmap`.


# %% tags=["stub"]
def shaw_from_scratch(q, table):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def shaw_from_scratch(q, table):
    n, k = len(q), len(table) // 2
    c = (torch.arange(n) - torch.arange(n)[:, None]).clamp(-k, k)  # (n, n)
    products = q @ table.T  # (n, 2k + 1): each query meets each vector once
    return products.gather(1, c + k)


# %%
check_shaw(shaw_from_scratch)

# %% tags=["plumbing", "picture"]
# What positions and offsets are added to
n, width = 24, 8
by_offset = offset_matrix(torch.arange(n), torch.arange(n))
fig, axes = plt.subplots(1, 3, figsize=(9, 3.2), width_ratios=(width / n, 1, 1))
axes[0].imshow(torch.zeros(n, width), cmap="Greys", vmin=-1, vmax=1)
axes[0].set(title="positions", xlabel=f"d numbers\n(here {width})", ylabel=f"n tokens (here {n})")
for layer, ax in enumerate(axes[1:], 1):
    image = ax.imshow(by_offset, cmap="RdBu_r", vmin=-n, vmax=n)
    ax.set(title=f"offsets, layer {layer}", xlabel="n keys", ylabel="n queries")
for ax in axes:
    ax.set(xticks=[], yticks=[])
fig.colorbar(image, ax=axes, label="offset $j - i$", shrink=0.8)
fig.suptitle("Positions enter once; offsets enter every score of every layer")
tokens, d = 1024, 64
print(f"{tokens:,} tokens: vectors of {d} numbers hold {tokens * d:,};", end=" ")
print(f"a head of one layer has {tokens**2:,} scores, of {2 * tokens - 1:,} different offsets")
plots.show(
    fig,
    f"Left a strip of n by d numbers, added once for all layers, here {n} by {width}. Right a "
    f"square of n by n scores for each of two layers, of one head, no mask; each diagonal is one "
    f"offset j − i, from {1 - n} to {n - 1}.",
)

# %% [markdown]
# **Look:** so why not say "three to the left"? It survives other positions. But it has to be said
# for each query and key, in each head and layer. Yet each diagonal is one offset.
#
# To add a number to a score is little beside the $d$ products of $q \cdot k$. In `literal` Shaw's
# $q \cdot a^K$ takes $d$ products more for each score.
#
# <details><summary>Once you have solved exercise 2</summary>
#
# A query meets each vector once: $2k + 1$ times $d$ products, an idea of Huang et al. 2018 (arXiv
# 1809.04281). Each score still has to fetch its own.
#
# </details>
#
# ## Exercises
#
# Both stand above.
#
# ## Myth check
#
# Guess first.

# %% tags=["plumbing"]
# The claim
from course_lab.claims import Claim, Myths

myths = Myths(
    {
        "C65": Claim(
            "Beyond the offset at which Shaw clips, a model cannot tell two keys apart by order.",
            scope="Shaw with k = 2, scores and values, causal attention, two layers with two heads "
            "each, trained 1,500 steps on texts of 9 tokens of five kinds to name the token at "
            "place 3: from queries 5 to 8 it shares a vector with all tokens before it. Yardstick: "
            "98 % right in each of 3 seeds refutes it",
            evidence="trained here",
            seeds=3,
        ),
    }
)

# %% tags=["plumbing"]
# The verdict
from course_utils.encodings import Shaw

clipped = shares_right("shaw, k = 2", layers=2, heads=2)
one_layer = TinyTransformer(
    5, partial(Shaw, max_distance=2), d_model=32, n_layers=1, n_heads=2
).double()
two_texts = torch.tensor([[0, 1, 2, 3, 4, 0, 1, 2, 3], [3, 1, 2, 0, 4, 0, 1, 2, 3]])
with torch.no_grad():  # keys 0 and 3, more than two back from query 8, in either order
    assert one_layer(two_texts)[:, 8].diff(dim=0).abs().max() < 1e-12
myths.settle(
    "C65",
    {"place 3, k = 2": bool(clipped.min() < 0.98)},
    f"Place 3, k = 2: 98 % in {(clipped >= 0.98).sum()} of {len(clipped)} seeds. Layer 1 can tell "
    "a token its place, and layer 2 can read it from the key. In one layer the claim is true: two "
    "far keys change places, and the answer stays the same.",
)

# %% [markdown]
# ## In five lines
#
# - An offset is told by a number (T5) or a vector (Shaw, in the sum, too), at any
#   positions.
# - Places are named from the text's edge: the farthest earlier key is place 0.
# - From there straight slopes climb, by algebra: two name place 1, four place 3.
# - Given those four, 1,500 steps of Adam did not, in one layer. Two of Shaw's layers learned it.
# - An offset belongs to a query and a key: $n^2$ scores, though only $2n - 1$ offsets differ.
#
# **Read next:** Shaw et al. 2018, arXiv 1803.02155; Raffel et al. 2019, 1910.10683.
#
# **Next:** can an offset be had for a position's price? [Lesson 05](05_rope.ipynb).
