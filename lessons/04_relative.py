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
# - find by algebra what offsets can name, and see whether training finds it;
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
# attention is a number: each head learns one for each offset, and adds it to the score before
# softmax.

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
# A text is nine random tokens of five kinds. A small causal model, one layer with two heads, is
# trained for 150 steps to name
#
# - the token **before** each token;
# - the token at **place 0**, from every token;
# - the token at **place 3**, from there on.
#
# A **place** counts from the text's first token. (Nine runs take about half a minute. The offsets'
# numbers learn 5 times as fast as the rest.)

# %%
from course_lab import widgets

guess = widgets.predict(
    "What does it learn? (That is: 98 % right in each of 3 seeds. Guessing: 20 %.)",
    ["nothing", "before", "before and place 0", "before, place 0 and place 3"],
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

    faster = {"encoding.table": 5.0}
    fit(model, loss, 150, lr=1e-2, bar=False, faster=faster)
    return model, tasks.accuracy(model, rows(batch=500).to(device))


# %%
TASKS = {
    "before": partial(tasks.token_at_offset, -1),
    "place 0": partial(tasks.token_at_place, 0),
    "place 3": partial(tasks.token_at_place, 3),
}
trained = {name: [learn(task, seed) for seed in range(3)] for name, task in TASKS.items()}

# %% tags=["plumbing"]
# The answer, and what the heads learned
import matplotlib.pyplot as plt

from course_utils import plots

learned = [name for name, runs in trained.items() if min(right for _, right in runs) >= 0.98]
answers = {0: "nothing", 3: "before, place 0 and place 3"}
guess.reveal(answers.get(len(learned), " and ".join(learned)))
for name, runs in trained.items():
    solved = sum(right >= 0.98 for _, right in runs)
    print(f"{name:8} learned in {solved} of 3 seeds")


def by_distance(run):
    """What the heads add at distances 0 to 8, less the largest, (heads, 9)."""
    table = run[0].encoding.table.detach().cpu()[:, :9].flip(-1)
    return table - table.amax(-1, keepdim=True)


previous, first = (
    torch.stack([by_distance(run) for run in trained[name]]) for name in TASKS if name != "place 3"
)
steps_up = (first.diff(dim=-1) > 0).all(-1).any(-1).sum().item()
tops = (previous.argmax(-1) == 1).any(-1).sum().item()
fig, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharex=True, sharey=True)
for ax, bias, title in zip(
    axes,
    (previous[0], first[0]),
    ("asked for the token before: one peak", "asked for place 0: the farther, the better"),
    strict=True,
):
    at_work = bias.min(-1).values.argmin().item()  # the head that tells distances apart most
    ax.plot(bias[1 - at_work], "s-", color="0.8", linewidth=1, markersize=4, label="the other head")
    ax.plot(bias[at_work], "o-", color="C1", label="the head at work")
    ax.set(title=title, xlabel="distance to an earlier key (positions)")
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
    f"head with the widest range. Before: a head has its top at distance 1, in {tops} of 3 seeds. "
    f"Place 0: a head rises at every step, in {steps_up} of 3 seeds; dashed, a straight line "
    "beside it.",
)

# %% [markdown]
# **Look:** it does find place 0. On the right, a head likes each farther key more, and the farthest
# earlier key *is* place 0. **The edge of the text is a place.** Place 3 is at no edge.
#
# ## Move the text
#
# Encodings so far add a vector $E_i$ to the word at position $i$: a row of a learned table, or
# sinusoids. Trained as above, both learn all three tasks. So why not name the places?
#
# Each model now reads such texts 50 positions on. A token keeps its *place* in the text. Its
# **position**, the number that the model is given, is 50 higher.

# %% tags=["plumbing", "picture"]
# The grid
import itertools

from course_lab import figures
from course_utils.texts import data

runs = data.results("place_tasks")


def rows_of(encoding, layers=1, heads=4, steps=1500, task="place 3", starts=0):
    """The runs of one setting, one row a seed."""
    setting = {"encoding": encoding, "layers": layers, "heads": heads, "steps": steps, "task": task}
    setting["starts"] = starts
    return runs[(runs[list(setting)] == list(setting.values())).all(axis=1)]


def moved_share(model, task):
    """The share right of 500 new texts that stand 50 positions on."""
    generator = torch.Generator().manual_seed(9)
    rows = TASKS[task](length=9, vocab_size=5, batch=500, generator=generator)
    return tasks.accuracy(model, rows.to(device), torch.arange(9, device=device) + 50)


ROWS = {  # steps, and the last start of a training text
    "learned table": ("learned", 150, 0),
    "sinusoids": ("sinusoidal", 150, 0),
    "learned table, trained\nat all of these positions": ("learned", 1500, 55),
}
titles = {"accuracy": "at positions 0 to 8", "moved": "at 50 to 58: offsets answer as before"}


RECORDED = {  # the tasks, as the table of runs calls them
    "before": "the token before",
    "place 0": "place 0",
    "place 3": "place 3",
}


def worst(row, task, column):
    """The share right in the worst seed."""
    encoding, steps, starts = ROWS[row]
    recorded = rows_of(encoding, heads=2, steps=steps, task=RECORDED[task], starts=starts)
    return recorded[column].min()


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
fig, axes = plt.subplots(1, 2, figsize=(9.5, 3), sharey=True)
for ax, (column, title) in zip(axes, titles.items(), strict=True):
    look = {"form": ".2f", "signed": False, "limit": 1, "title": title}
    image = figures.numbered(ax, grids[column], names, list(TASKS), **look)
    ax.axhline(1, color="white", linewidth=4)
axes[1].tick_params(left=False)
fig.colorbar(image, ax=axes, label="right answers, worst seed\n(blind guessing: 0.2)", shrink=0.8)
some_texts, positions = torch.randint(5, (100, 9), device=device), torch.arange(9, device=device)
with torch.no_grad():  # a number for each offset: the same output 50 positions on
    for model, _ in itertools.chain.from_iterable(trained.values()):
        here, there = model(some_texts, positions), model(some_texts, positions + 50)
        assert torch.allclose(here, there, atol=1e-3)
described = "; ".join(
    f"{title}: "
    + ", ".join(
        f"{name} {' '.join(f'{right:.2f}' for right in row)}".replace("\n", " ")
        for name, row in zip(names, grids[column].tolist(), strict=True)
    )
    for column, title in titles.items()
)
plots.show(
    fig,
    "Share of right answers, worst of three seeds, of four models in three tasks (before, place 0, "
    f"place 3). {described}. The last was trained for 1,500 steps on texts that start anywhere "
    "from 0 to 55, so that all rows to 63 learned; the others for 150 steps at 0 to 8.",
)

# %% [markdown]
# **Look:** fifty positions on, a table and sinusoids trained at 0 to 8 lose even the token before.
# Another table (last row) was trained on texts that start at 0 to 55. It keeps the token before,
# and place 0, which has the edge. But it misses place 3 in both panels: a position no longer tells
# a place. Numbers for offsets answer as before, since no offset has changed:

# %%
moved = torch.arange(4) + 50
print(moved - moved[:, None])  # j − i: a row for each query, a column for each key

# %% [markdown]
# A scheme that sees of positions only $j - i$ is **relative**.
#
# ## Straight lines
#
# But ours missed place 3 from the start. Can a head point at it? Seen from query 4 it is at offset
# $-1$, which must beat $-2$. From query 5 it is at $-2$, which must beat $-1$. So one head cannot.
# Could several together?
#
# The head that finds place 0 has nearly a straight line (dashed above). Let a head's number be one:
# slope $m$ times the distance $i - j$. If scores hold nothing else, its weights are
#
# $$\frac{e^{m(i-j)}}{\sum_{j' \le i} e^{m(i-j')}} = \frac{e^{-mj}}{\sum_{j' \le i} e^{-mj'}}$$
#
# $e^{mi}$ cancels! The query's place is gone from the top; the key's *place* $j$ is left.

# %%
distance = torch.arange(8, -1, -1.0)  # of the last query to keys 0 to 8
for slope in (5, 2, 1):
    weights = (slope * distance).softmax(0)
    print(f"slope {slope}:", *(f"{weight:.2f}" for weight in weights[:5]), "…")

# %% [markdown]
# A steep slope takes almost key 0 alone. A gentle one takes some of key 1 too. The layer after may
# multiply each head's output by a factor and add the results up. That is a **readout**.

# %%
guess = widgets.predict(
    "Two heads with straight lines, and a readout, of your choice, without noise. How often can "
    "they name the token at place 1?",
    ["hardly above guessing: lines only know far and near", "half of the time", "always"],
)

# %% [markdown]
# In the explorer both heads have slope 2, so one is wasted. Move a slope: how high does the gold
# bar get? Least squares sets the factors: from all queries, as near as they get to a sum of 1 at
# the key asked for and 0 at the others. Each head's outputs, shares from 0 to 1, get noise of 1 in
# 100.

# %%
from course_lab import explorers

explorers.ladder()

# %% [markdown]
# Then go on **without noise**: choose place 2, then place 3. With slopes from 1 to 6, how many
# heads does each take, and how large are their factors? Then add noise again.

# %% tags=["plumbing"]
# The answer
import pandas as pd

from course_lab.straight_heads import (
    best_readout,
    keys_asked,
    learned_readouts,
    share_right,
    straight_weights,
)

texts = torch.randint(5, (1000, 9))
unit_noise = torch.randn(1000, 9, 5, dtype=torch.float64)


def by_hand(slopes, place, noise=0.0):
    """The factors by least squares, and the share of right answers."""
    weights, keys = straight_weights(slopes, 9), keys_asked(place, 9)
    factors = best_readout(weights, keys)
    return factors, share_right(weights, factors, keys, texts, noise * unit_noise)


_, right = by_hand((2, 1), 1)
guess.reveal(
    "always"
    if right == 1
    else "half of the time"
    if right > 0.4
    else "hardly above guessing: lines only know far and near"
)
RUNGS = {1: (2, 1), 2: (3, 2, 1), 3: (5, 3.5, 2.5, 1.5)}
NOISES = {f"1 in {size:,}": 1 / size for size in (100, 1_000, 10_000, 100_000)}
rows = []
for place, slopes in RUNGS.items():
    rows.append(
        {
            "asked for": f"place {place}",
            "slopes": ", ".join(f"{slope:g}" for slope in slopes),
            "largest factor": f"{by_hand(slopes, place)[0].abs().max():,.0f}",
            "98 % right with noise of": next(
                noise for noise, size in NOISES.items() if by_hand(slopes, place, size)[1] >= 0.98
            ),
        }
    )
wider = by_hand((6, 3, 2, 1), 3)[0].abs().max()
print(f"place 3 with slopes 6, 3, 2, 1: largest factor {wider:,.0f}. And with yours?")
pd.DataFrame(rows).set_index("asked for")

# %% [markdown]
# **Look:** two slopes name place 1, always. Both heads like key 0 best. Subtract so much of the
# steep one that key 0 cancels, and key 1 is on top. Places are a **ladder**: each rung takes one
# slope more here, and larger factors, which multiply noise.
#
# **Exercise 1 ★★★ Single out.** The explorer fits all queries. Now make the *last* query's
# sum exact. With two heads it is 0 at key 0 and 1 at key 1; with three, 0 at keys 0 and 1, and 1 at
# key 2. Write `single_out(slopes, n)` for any number of heads and n keys: from `slopes` (heads,),
# float64, all different, the factors (heads,). (Beyond key heads − 1 the sum may be anything.)


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
# So four heads *can* name place 3. Will a model learn to? We give it the slopes of the table's last
# row, fixed. It has to learn all else, in 1,500 steps of Adam. (The answer takes up to a minute.)

# %%
guess = widgets.predict(
    "How many of its answers for place 3 are right then, in each of 5 seeds?",
    ["at most 60 %", "60 to 90 %", "at least 90 %"],
)


# %% tags=["plumbing"]
# The answer, and the rungs below
def shares_right(encoding, **setting):
    """The shares of right answers, one a seed."""
    return rows_of(encoding, **setting)["accuracy"].to_numpy()


def only_factors(slopes, place, seed):
    """The share right where nothing but the factors is learned, best of three learning rates."""
    weights, keys = straight_weights(slopes, 9), keys_asked(place, 9)
    generator = torch.Generator().manual_seed(seed)
    readouts = learned_readouts(weights, keys, (1.0, 10.0, 100.0), 1500, generator)
    return max(share_right(weights, factors, keys, texts, 0 * unit_noise) for factors in readouts)


given = shares_right("given slopes")
guess.reveal(
    "at most 60 %"
    if given.max() <= 0.6
    else "at least 90 %"
    if given.min() >= 0.9
    else "60 to 90 %"
)
ways = {
    "algebra": {place: [by_hand(slopes, place)[1]] for place, slopes in RUNGS.items()},
    "Adam, factors alone, 1,500 steps": {
        place: [only_factors(slopes, place, seed) for seed in range(3)]
        for place, slopes in RUNGS.items()
    },
    "Adam, all but the slopes, 1,500 steps": {
        place: shares_right("given slopes", heads=place + 1, task=f"place {place}").tolist()
        for place in RUNGS
    },
}
longer = {
    place: shares_right("given slopes", heads=place + 1, steps=5000, task=f"place {place}").tolist()
    for place in (2, 3)
}
ways["the same, 5,000 steps"] = longer
without = shares_right("none").mean()
fig, ax = plt.subplots(figsize=(7, 3.4))
looks = (("D", "black", "full"), ("s", "C0", "full"), ("o", "C1", "full"), ("o", "C1", "none"))
for shift, ((name, shares), (marker, color, fill)) in enumerate(
    zip(ways.items(), looks, strict=True)
):
    points = [(place + 0.12 * shift - 0.18, share) for place, of in shares.items() for share in of]
    style = {"color": color, "fillstyle": fill, "alpha": 0.8, "label": name}
    ax.plot(*zip(*points, strict=True), marker, **style)
ax.plot([2.7, 3.45], [without] * 2, ":", color="C3")
ax.text(3.45, without - 0.015, "no encoding", ha="right", va="top", fontsize=9, color="C3")
for share, what in ((0.2, "guessing"), (0.98, "98 %")):
    ax.axhline(share, color="0.5", linestyle=":")
    ax.text(3.45, share - 0.015, what, ha="right", va="top", fontsize=9, color="0.35")
ax.set(xticks=list(RUNGS), xlim=(0.5, 3.5), ylim=(0, 1.08))
ax.set_xticks(list(RUNGS), [f"place {place}\n{place + 1} slopes" for place in RUNGS])
ax.set_ylabel("right answers, a dot a seed")
ax.set_title("Algebra climbs to place 3, 5,000 steps of Adam do not")
ax.legend(loc="lower left", bbox_to_anchor=(0.01, 0.2), fontsize=9)
plots.show(
    fig,
    "Right answers at places 1, 2 and 3 with two, three and four given slopes, a dot a seed. "
    + "; ".join(
        f"{name}: "
        + ", ".join(f"place {place} {min(of):.2f} to {max(of):.2f}" for place, of in shares.items())
        for name, shares in ways.items()
    )
    + ". Dotted: guessing, 0.20, 98 %, and at place 3 the mean of three models of as many heads "
    f"and steps without encoding, {without:.2f}.",
)

# %% [markdown]
# **Look:** training climbs to place 1 in 1,500 steps, and to place 2 in 5,000, in most seeds. At
# place 3, 1,500 steps end little above no encoding, and 5,000 far from 98 %. There, in 1,500 steps
# at any of three rates, Adam does not find even the factors alone (blue, below no encoding).
# [Up the ladder](closer/04_up_the_ladder.ipynb) asks why.
#
# ## A vector for each offset
#
# An offset can have more than a number. Shaw et al. (2018) learn two *vectors* for each, one for
# keys and one for values:
#
# $$s_{ij} = \frac{q_i \cdot (k_j + a^K_c)}{\sqrt d}, \qquad
# y_i = \sum_j w_{ij}\,(v_j + a^V_c), \qquad c = \operatorname{clip}(j - i, -k, k)$$
#
# The query's word has a say in which offsets it looks at. And door 4, $a^V$, also says *where*
# something was found. The score's second part is:


# %%
def literal(q, table):  # (n, d) and (2k + 1, d) → (n, n), unscaled
    n, k = len(q), len(table) // 2
    c = (torch.arange(n) - torch.arange(n)[:, None]).clamp(-k, k)  # (n, n)
    vectors = table[c + k]  # (n, n, d): one for each query and key
    return (q[:, None] * vectors).sum(-1)


# %% tags=["plumbing"]
# It and door 4 are the library's; what shares a vector or a number
from course_utils.encodings.functional import offset_matrix, shaw_scores, shaw_values, t5_bucket

q, table = torch.randn(12, 16), torch.randn(9, 16)
offsets = offset_matrix(torch.arange(12), torch.arange(12))
w = literal(q, table).softmax(-1)
door_4 = (w[..., None] * table[offsets.clamp(-4, 4) + 4]).sum(1)  # (n, d)
assert torch.allclose(literal(q, table), shaw_scores(q, table, offsets), atol=1e-4)
assert torch.allclose(door_4, shaw_values(w, table, offsets), atol=1e-4)
size = f"{4 * 1024**2 * 64 // 2**20} MiB"  # float32
print(f"1,024 tokens, d = 64: `vectors` fills {size}, which all heads of a layer may share;")
print("its product with q fills as much again for each head")
clipped = offset_matrix(torch.arange(7), torch.arange(7)).clamp(-2, 2)
back = torch.arange(161)
bucket = t5_bucket(-back, 32, 128, False)  # 32 buckets, keys ahead are hidden
last = back[bucket == 31][0].item()
alone = int((bucket.bincount() == 1).int().argmin())  # the first bucket that holds several
fig, axes = plt.subplots(1, 2, figsize=(10, 3.4), width_ratios=(1, 1.5))
look = {"form": ".0f", "signed": True, "limit": 2, "equal": True}
figures.numbered(axes[0], clipped.float(), range(7), range(7), **look)
axes[0].set(title="Shaw, k = 2: which vector", xlabel="key", ylabel="query")
axes[1].step(back, bucket, where="post", color=plots.identity("t5").colour)
axes[1].axvline(last, color="0.5", linestyle=":")
axes[1].text(last - 2, 4, f"from {last} on\nall share one", ha="right", fontsize=9)
axes[1].set(xlabel="distance", ylabel="bucket", title="T5: near distances have a number each")
plots.show(
    fig,
    "Left, the number c of the vector for each of seven queries and keys, clipped at −2 and 2: a "
    "diagonal each, and the corners share. Right, T5's bucket by distance, 32 buckets, as a "
    f"staircase: the first {alone} distances have one each, then steps get longer, and all from "
    f"{last} on share the last.",
)

# %% [markdown]
# **Look:** offsets beyond $k$ share the last vector of their side (the corners on the left). T5
# (Raffel et al. 2019) has numbers again, one for each **bucket** (right). Two keys in its last
# bucket, or beyond Shaw's $k$, seem equally far. (Transformer-XL and DeBERTa have vectors too:
# [term by term](closer/04_term_by_term.ipynb).)
#
# **Exercise 2 ★★ Without the large tensor.** `vectors` grows with $n^2 d$. Write
# `shaw_from_scratch(q, table)`: what `literal` returns, in PyTorch, with no array of more than
# $4n^2$ numbers, and no loops.


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

# %% [markdown]
# ## A second layer
#
# Back to place 3. Do Shaw's vectors climb where numbers did not, or does a second layer? Each model
# has four heads: four in one layer, or two in each of two. "Numbers" are the first section's.
# (T5's train worse; *up the ladder* says what differs.)

# %% tags=["plumbing"]
# Vectors, and a second layer
SCHEMES = {  # as the table of runs calls them
    "no encoding": "none",
    "numbers": "number by offset",
    "Shaw without door 4": "shaw, keys only",
    "Shaw": "shaw",
}
SIZES = {  # layers, steps; and how it is drawn
    "one layer": (1, 1500, {"marker": "o", "markerfacecolor": "none"}),
    "one layer, 6,000 steps at a smaller rate": (
        1,
        6000,
        {"marker": "s", "markerfacecolor": "none"},
    ),
    "two layers": (2, 1500, {"marker": "o"}),
}
dots = {}
for scheme, encoding in SCHEMES.items():
    for size, (layers, steps, _) in SIZES.items():
        right = shares_right(encoding, layers=layers, heads=4 // layers, steps=steps)
        if len(right):
            dots[scheme, size] = right
for task in ("place 0", "the token before"):
    right = shares_right("none", layers=2, heads=2, task=task)
    print(f"no encoding, two layers: {task} in {(right >= 0.98).sum()} of {len(right)} seeds")
fig, ax = plt.subplots(figsize=(8, 3.2))
shaw = plots.identity("shaw").colour
colors = dict(zip(SCHEMES, (plots.identity("none").colour, "C1", shaw, shaw), strict=True))
marks = {size: mark for size, (_, _, mark) in SIZES.items()}
figures.seeds_by_row(ax, dots, colors, marks, {"guessing": 0.2, "98 %": 0.98})
ax.set_xlim(0.15, 1.05)
ax.set_xlabel("right answers at place 3, a mark a seed; four heads in all")
ax.set_title("Place 3: two of Shaw's layers name it, one takes more and smaller steps")
described = ", ".join(
    f"{scheme}, {size} {min(s):.2f} to {max(s):.2f}" for (scheme, size), s in dots.items()
)
plots.show(
    fig,
    "Right answers at place 3, a mark a seed; one layer has four heads, two layers have two each: "
    f"{described}. Dotted: guessing, 0.20, and 98 %.",
)

# %% [markdown]
# **Look:** no single layer here names place 3 in 1,500 steps. In 6,000, at a smaller rate, Shaw's
# does in each of three seeds. Two of Shaw's layers do in 1,500; without door 4, or with numbers,
# they fall short in most seeds. (Two layers *without any encoding* name the token before and
# place 0: a mask tells places too, Haviv et al. 2022.)
#
# How do Shaw's two layers do it? In layer 2 a head gives key 3 almost all weight. After training we
# take the offsets out of layer 2's scores.

# %%
guess = widgets.predict(
    "What weight does that head still give key 3, from queries 3 to 8, in each of 3 seeds?",
    ["under 0.4: layer 2 has lost its way", "0.4 to 0.9", "over 0.9: it did not need them"],
)

# %% tags=["plumbing"]
# The answer: key 3's weight where layer 2 lacks something
changes = {
    "as trained": "key_weight",
    "no offsets in layer 2's scores": "no_offsets",
    "its queries: what places share": "queries_alike",
    "its keys: what places share": "keys_alike",
}
two_layers = rows_of("shaw", layers=2, heads=2)
key_3 = {
    name: [[float(weight) for weight in row.split()] for row in two_layers[column]]
    for name, column in changes.items()
}
left = [weight for row in key_3["no offsets in layer 2's scores"] for weight in row]
guess.reveal(
    "over 0.9: it did not need them"
    if min(left) > 0.9
    else "under 0.4: layer 2 has lost its way"
    if max(left) < 0.4
    else "0.4 to 0.9"
)
fig, ax = plt.subplots(figsize=(7, 2.4))
for row, of_seeds in enumerate(key_3.values()):
    shown = [weight for weights in of_seeds for weight in weights]
    ax.plot(shown, [row] * len(shown), "o", color=plots.identity("shaw").colour, alpha=0.4)
ax.set_yticks(range(len(key_3)), list(key_3))
ax.set(ylim=(len(key_3) - 0.5, -0.5), xlim=(0, 1.05))
ax.set_xlabel("weight of key 3 in layer 2, a dot a query and seed")
ax.set_title("Layer 2 knows key 3 by the key, not by its offset")
plots.show(
    fig,
    "Key 3's mean weight in layer 2 of Shaw's two layers, from queries 3 to 8, in the head where "
    "it is largest, three seeds: "
    + "; ".join(
        f"{name} {min(map(min, rows)):.2f} to {max(map(max, rows)):.2f}"
        for name, rows in key_3.items()
    )
    + ".",
)

# %% [markdown]
# **Look:** without offsets in its scores, layer 2 still finds key 3. It fails once its keys lack
# what tells their places apart. So layer 1 tells key 3 its place, and layer 2 looks for that key.
#
# ## The price
#
# So why not say "three to the left"? It survives a move. But a position is added once a token. An
# offset belongs to a query *and* a key, and enters each score.

# %% tags=["plumbing"]
# How many numbers each takes
n, d, k = 1024, 64, 16
sizes = {
    "a position, added to words: n × d": n * d,
    "a number for each offset: n²": n * n,
    "Shaw, exercise 2: n × (2k + 1), then n²": n * (2 * k + 1) + n * n,
    "Shaw, literally: 2n² × d, then n²": 2 * n * n * d + n * n,
}
fig, ax = plt.subplots(figsize=(8, 2.6))
colors = ["0.6", "C1", *2 * [plots.identity("shaw").colour]]
ax.barh(range(len(sizes)), sizes.values(), color=colors)
for row, size in enumerate(sizes.values()):
    ax.text(1.15 * size, row, f"{size:,}", va="center", fontsize=9)
ax.set_yticks(range(len(sizes)), list(sizes))
ax.set(xscale="log", xlim=(1e4, 1e9), ylim=(len(sizes) - 0.5, -0.5))
ax.set_xlabel(f"numbers made for one head; {n:,} tokens, d = {d}, k = {k}")
ax.set_title("An offset enters n² scores, a position n words")
plots.show(
    fig,
    f"Numbers made to tell one head positions, log axis: {n:,} tokens, head width {d}, Shaw's k = "
    f"{k}, no mask: " + "; ".join(f"{name}, {size:,}" for name, size in sizes.items()) + ".",
)

# %% [markdown]
# **Look:** exercise 2 (an idea of Huang et al. 2018, 1809.04281) takes the factor $d$ away, and
# $n^2$ stays. Yet among these scores only $2n - 1$ different offsets occur.
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
clipped = shares_right("shaw, k = 2", layers=2, heads=2)
myths.settle(
    "C65",
    {"place 3, k = 2": bool(clipped.min() < 0.98)},
    f"Place 3, k = 2: 98 % in {(clipped >= 0.98).sum()} of {len(clipped)} seeds. Layer 1 can tell "
    "a token its place, and layer 2 can read it from the key.",
)

# %% [markdown]
# ## In five lines
#
# - An offset is told by a number (T5) or a vector (Shaw, in the sum, too); it survives a move.
# - The farthest earlier key is place 0. The edge of the text is a place.
# - Straight slopes climb from there: here a head more for each place, and larger factors.
# - Four given slopes name place 3 by algebra, not by 5,000 steps of Adam. Two of Shaw's layers
#   learn it.
# - An offset belongs to a score: $n^2$ without a mask, though only $2n - 1$ offsets occur.
#
# **Read next:** Shaw et al. 2018, arXiv 1803.02155; Raffel et al. 2019, 1910.10683; Haviv et al.
# 2022, 2203.16634.
#
# **Next:** can an offset be had for a place's price? [Lesson 05](05_rope.ipynb).
