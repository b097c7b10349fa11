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
# - say which places offsets can name, and which of them training finds;
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
# attention an offset is a number: each head learns one for each offset, and adds it to the score.

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
# trained for 150 steps, its numbers five times as fast as the rest, to name
#
# - the token **before** each token;
# - the token at **place 0**, from every token;
# - the token at **place 3**, from there on.
#
# A **place** counts from the text's first token. (Nine runs take about half a minute.)

# %%
from course_lab import widgets

guess = widgets.predict(
    "What does it learn? (That is: 98 % right in each of 3 seeds.)",
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

    faster = {"encoding.table": 5.0}  # times the learning rate
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
    f"head with the widest range. Before: a head has its top at distance 1, in {tops} of 3 seeds. "
    f"Place 0: a head rises at every step, in {steps_up} of 3 seeds; dashed, a straight line "
    "beside it.",
)

# %% [markdown]
# **Look:** it does find place 0. On the right a head likes each farther key more, and the farthest
# *is* place 0. **The edge of the text is a place.** Place 3 is at no edge.
#
# ## Move the text
#
# Encodings so far add a vector to the word at position $i$: a row of a learned table, or sinusoids.
# Trained as above, both learn all three tasks. So why not name the places?
#
# Now each model reads such texts 50 positions on. A token keeps its *place*; its **position**, the
# number that the model is given, is 50 higher. (*Counting alone* sees no order: it names the
# commonest token before the query, or the query's own if asked for it.)

# %% tags=["plumbing", "picture"]
# The grid
import itertools

from course_lab import figures
from course_lab.straight_heads import counted, keys_asked
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
titles = {"accuracy": "at positions 0 to 8", "moved": "moved to positions 50 to 58"}


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


many_texts = torch.randint(5, (100_000, 9), generator=torch.Generator().manual_seed(0))
counting = [counted(keys_asked(place, 9), many_texts) for place in (None, 0, 3)]
of_numbers = {
    "accuracy": [min(right for _, right in trained[task]) for task in TASKS],
    "moved": [min(moved_share(model, task) for model, _ in trained[task]) for task in TASKS],
}
grids = {
    column: torch.tensor(
        [
            counting,
            of_numbers[column],
            *([worst(row, task, column) for task in TASKS] for row in ROWS),
        ]
    )
    for column in titles
}
names = ("counting alone", "a number for each offset", *ROWS)
fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.8), sharey=True)
for ax, (column, title) in zip(axes, titles.items(), strict=True):
    look = {"form": ".2f", "signed": False, "limit": 1, "title": title}
    image = figures.numbered(ax, grids[column], names, list(TASKS), **look)
    for edge in (1, 2):
        ax.axhline(edge, color="white", linewidth=4)
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
        f"{name} {' '.join(f'{right:.2f}' for right in row)}".replace("\n", " ")
        for name, row in zip(names, grids[column].tolist(), strict=True)
    )
    for column, title in titles.items()
)
plots.show(
    fig,
    "Share of right answers in three tasks (before, place 0, place 3): of who counts alone, and of "
    f"four models, worst of three seeds. {described}. The last was trained for 1,500 steps on "
    "texts that start anywhere from 0 to 55, so that all rows to 63 learned; the others for 150 "
    "steps at 0 to 8. The rows below the second white line are recorded runs.",
)

# %% [markdown]
# **Look:** fifty positions on, a table and sinusoids trained at 0 to 8 lose even the token before.
# The last row's table was trained at all positions. It keeps the token before, and place 0, which
# has the edge. But it misses place 3 in both panels: its positions no longer tell the place.
#
# Numbers for offsets answer as before, since no offset has changed:

# %%
moved = torch.arange(4) + 50
print(moved - moved[:, None])  # j − i: a row for each query, a column for each key

# %% [markdown]
# A scheme that sees of positions only $j - i$ is **relative**.
#
# ## Straight lines
#
# So why say anything else? The fear: offsets alone cannot name a place. Ours missed place 3. Can
# one head give key 3 the largest weight, from each query? By numbers it cannot: from query 4,
# offset $-1$ must beat $-2$; from query 5, $-2$ must beat $-1$. Could several heads do it, added
# up? (After one head an MLP could: *up the ladder*.)
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
# A steep slope takes almost key 0 alone. A gentle one takes some of key 1, too. The layer after may
# multiply each head's output by a factor and add the results up. That is a **readout**.

# %%
guess = widgets.predict(
    "Two heads with straight lines, and a readout, both of your choice. How often can they name "
    "the token at place 1?",
    ["hardly above guessing: lines only know far and near", "half of the time", "always"],
)

# %% [markdown]
# The explorer finds the factors, by least squares: at each query the heads' weights times their
# factors should add up to 1 at the key asked for, and to 0 at the others, as nearly as they can.
# Both heads have slope 2, so one is wasted. Move a slope: how high does the gold bar get? Make it
# gentle: when does it break? Then try place 2. How many heads does it take?

# %%
from course_lab import explorers

explorers.ladder()

# %% tags=["plumbing"]
# The answer
import pandas as pd

from course_lab.straight_heads import best_readout, share_right, straight_weights

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
# **Look:** slopes 2 and 1 name place 1, always; 2 and 0.25 do not. Both like key 0 best. Subtract
# enough of the steep one to cancel key 0: key 1 is on top. Places are a **ladder**: each takes
# a fitting slope more here, and larger factors.
#
# **Exercise 1 ★★★ Single out.** The explorer fits all queries. Make the *last* query's sum exact.
# With two heads it is 0 at key 0 and 1 at key 1; with three, 0 at keys 0 and 1, 1 at key 2. Write
# `single_out(slopes, n)` for any number of heads and n keys: from `slopes` (heads,), float64, all
# different, the factors (heads,). (Beyond key heads − 1 the sum may be anything.)


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
# row, fixed. It has to learn all else, in 1,500 steps of Adam.

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


given = shares_right("given slopes")
guess.reveal(
    "at most 60 %"
    if given.max() <= 0.6
    else "at least 90 %"
    if given.min() >= 0.9
    else "60 to 90 %"
)
adam = {
    steps: {
        place: shares_right("given slopes", heads=place + 1, steps=steps, task=f"place {place}")
        for place in RUNGS
    }
    for steps in (1500, 5000)
}
ways = {"algebra": {place: [by_hand(slopes, place)[1]] for place, slopes in RUNGS.items()}} | {
    f"Adam, {steps:,} steps": {place: of for place, of in shares.items() if len(of)}
    for steps, shares in adam.items()
}
by_counting = {place: counted(keys_asked(place, 9), many_texts) for place in RUNGS}
fig, ax = plt.subplots(figsize=(7, 3.4))
looks = (("D", "black", "full"), ("o", "C1", "full"), ("o", "C1", "none"))
for shift, ((name, shares), (marker, color, fill)) in enumerate(
    zip(ways.items(), looks, strict=True)
):
    points = [(place + 0.15 * shift - 0.15, share) for place, of in shares.items() for share in of]
    style = {"color": color, "fillstyle": fill, "alpha": 0.8, "label": name}
    ax.plot(*zip(*points, strict=True), marker, **style)
for place, share in by_counting.items():
    ax.plot([place - 0.3, place + 0.3], [share] * 2, "--", color="0.4")
    if place == 1:
        ax.text(place, share - 0.02, "counting alone", ha="center", va="top", fontsize=9)
ax.axhline(0.98, color="0.5", linestyle=":")
ax.text(3.45, 0.965, "98 %", ha="right", va="top", fontsize=9, color="0.35")
ax.set(xticks=list(RUNGS), xlim=(0.5, 3.5), ylim=(0.3, 1.05))
ax.set_xticks(list(RUNGS), [f"place {place}\n{place + 1} slopes" for place in RUNGS])
ax.set_ylabel("right answers, a dot a seed")
ax.set_title("Algebra climbs to place 3, 5,000 steps of Adam do not")
ax.legend(loc="center left", bbox_to_anchor=(0.01, 0.65), fontsize=9)
plots.show(
    fig,
    "Right answers at places 1, 2 and 3 with two, three and four given slopes, a dot a seed. "
    + "; ".join(
        f"{name}: "
        + ", ".join(f"place {place} {min(of):.2f} to {max(of):.2f}" for place, of in shares.items())
        for name, shares in ways.items()
    )
    + ". Dotted: 98 %. Dashed: counting alone, "
    + ", ".join(f"{share:.2f}" for share in by_counting.values())
    + ".",
)

# %% [markdown]
# **Look:** training climbs to place 1 in 1,500 steps, and to place 2 in 5,000, in most seeds. At
# place 3 even 5,000 end near what counting alone gets. (In 1,500 steps Adam misses the four factors
# even where nothing else is learned: [up the ladder](closer/04_up_the_ladder.ipynb).)
#
# ## A vector for each offset
#
# One layer of numbers did not bring training to place 3, here in 1,500 steps. Would vectors? Shaw
# et al. (2018) learn two for each offset, one for keys and one for values:
#
# $$s_{ij} = \frac{q_i \cdot (k_j + a^K_c)}{\sqrt d}, \qquad
# y_i = \sum_j w_{ij}\,(v_j + a^V_c), \qquad c = \operatorname{clip}(j - i, -k, k)$$
#
# The query's word has a say in which offsets it looks at. And door 4, $a^V$, tells the sum *where*
# something was found. The score's second part is:


# %%
def literal(q, table):  # (n, d) and (2k + 1, d) → (n, n), unscaled
    n, k = len(q), len(table) // 2
    c = (torch.arange(n) - torch.arange(n)[:, None]).clamp(-k, k)  # (n, n)
    vectors = table[c + k]  # (n, n, d): one for each query and key
    return (q[:, None] * vectors).sum(-1)


# %% tags=["plumbing"]
# Its large tensor, and what shares a vector
size = f"{4 * 1024**2 * 64 // 2**20} MiB"  # float32
print(f"1,024 tokens, d = 64: `vectors` fills {size}")
clipped = (torch.arange(7) - torch.arange(7)[:, None]).clamp(-2, 2)
fig, ax = plt.subplots(figsize=(4.6, 3.6))
look = {"form": ".0f", "signed": True, "limit": 4, "equal": True}
figures.numbered(ax, clipped.float(), range(7), range(7), **look)
stairs = [(0, 2), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4), (3, 5), (4, 5), (4, 6), (5, 6), (5, 7)]
ax.plot(*zip(*stairs, strict=True), color="black", linewidth=2.5)
for query in range(7):  # later keys
    ax.axhspan(query, query + 1, (query + 1) / 7, 1, color="0.85", alpha=0.75, zorder=2)
ax.set(title="From k = 2 on earlier keys share a vector", xlabel="key", ylabel="query")
plots.show(
    fig,
    "The number c of the vector for each of seven queries and keys, clipped at −2 and 2: a "
    "diagonal each. Past the black steps, at the lower left, all share −2. Grey: later keys, "
    "which a causal mask hides; there all from 2 on share 2.",
)

# %% [markdown]
# **Look:** from $k$ on (the black steps) all offsets of a side share a vector. T5 (Raffel et al.
# 2019) has numbers again; its far offsets share them in **buckets**. (These, Transformer-XL and
# DeBERTa: [term by term](closer/04_term_by_term.ipynb).)
#
# **Exercise 2 ★★ Without the large tensor.** `vectors` grows with $n^2 d$. Write
# `shaw_from_scratch(q, table)`: what `literal` returns, in PyTorch, with no array of more than
# $4n^2$ numbers (for $2k + 1 \le 4n$), no loops, and no `torch.vmap`.


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
# Do Shaw's vectors climb to place 3? Or does it take a second layer? Each model has four heads, in
# one layer or in two. (Shaw's $k$ is 16: nothing is clipped.)

# %% tags=["plumbing"]
# Vectors, and a second layer; and whether `literal` and door 4 are the library's
from course_utils.encodings.functional import offset_matrix, shaw_scores, shaw_values

q, table = torch.randn(12, 16), torch.randn(9, 16)
offsets = offset_matrix(torch.arange(12), torch.arange(12))
w = literal(q, table).softmax(-1)
door_4 = (w[..., None] * table[offsets.clamp(-4, 4) + 4]).sum(1)  # (n, d)
assert torch.allclose(literal(q, table), shaw_scores(q, table, offsets), atol=1e-4)
assert torch.allclose(door_4, shaw_values(w, table, offsets), atol=1e-4)
SCHEMES = {  # as the table of runs calls them
    "a number for each offset": ("number by offset", "C1"),
    "Shaw": ("shaw", plots.identity("shaw").colour),
}
shares = {
    (scheme, layers): shares_right(encoding, layers=layers, heads=4 // layers)
    for scheme, (encoding, _) in SCHEMES.items()
    for layers in (1, 2)
}
names = [f"{scheme}, {('one layer', 'two layers')[layers - 1]}" for scheme, layers in shares]
fig, ax = plt.subplots(figsize=(7.5, 2.8))
for row, ((scheme, _), right) in enumerate(shares.items()):
    heights = row + torch.linspace(-0.2, 0.2, len(right))
    ax.plot(right, heights, "o", color=SCHEMES[scheme][1])
ax.set_yticks(range(len(names)), names)
for share, what in ((counting[-1], "counting alone"), (0.98, "98 %")):
    ax.axvline(share, color="0.5", linestyle=":")
    above = {"ha": "center", "va": "bottom", "fontsize": 9, "color": "0.35"}
    ax.text(share, -0.55, what, **above)
ax.set(ylim=(len(names) - 0.5, -0.5), xlim=(0.45, 1.03))
ax.set_xlabel("right answers at place 3 after 1,500 steps, a dot a seed")
ax.set_title("Two of Shaw's layers name place 3", pad=20)
plots.show(
    fig,
    "Right answers at place 3 after 1,500 steps of models with four heads, a dot a seed: "
    + "; ".join(
        f"{name} {right.min():.2f} to {right.max():.2f}"
        for name, right in zip(names, shares.values(), strict=True)
    )
    + f". Dotted: counting alone, {counting[-1]:.2f}, and 98 %.",
)

# %% [markdown]
# **Look:** two of Shaw's layers name place 3, in each of three seeds; with numbers two of three
# fall short. No single layer here does in 1,500 steps. (More steps: *up the ladder*.)
#
# How do Shaw's two layers do it? In layer 2 a head gives key 3 almost all its weight, from each
# query. By its offset? After training we take the offsets out of layer 2's scores.

# %%
guess = widgets.predict(
    "What weight does that head still give key 3, from queries 3 to 8, in each of 3 seeds?",
    ["under 0.4: layer 2 has lost its way", "0.4 to 0.9", "over 0.9: it did not need them"],
)

# %% tags=["plumbing"]
# The answer: key 3's weight where layer 2 lacks something
changes = {
    "as trained": "key_weight",
    "layer 2's scores without offsets": "no_offsets",
    "layer 1's scores without offsets": "no_first_keys",
    "layer 1 without door 4": "no_first_values",
}
two_layers = rows_of("shaw", layers=2, heads=2)
key_3 = {
    name: [[float(weight) for weight in row.split()] for row in two_layers[column]]
    for name, column in changes.items()
}
left = [weight for row in key_3["layer 2's scores without offsets"] for weight in row]
guess.reveal(
    "over 0.9: it did not need them"
    if min(left) > 0.9
    else "under 0.4: layer 2 has lost its way"
    if max(left) < 0.4
    else "0.4 to 0.9"
)
fig, ax = plt.subplots(figsize=(7.5, 3))
for row, of_seeds in enumerate(key_3.values()):
    shown = [weight for weights in of_seeds for weight in weights]
    heights = row + torch.linspace(-0.25, 0.25, len(shown))
    ax.plot(shown, heights, "o", color=plots.identity("shaw").colour, alpha=0.4, markersize=4)
ax.set_yticks(range(len(key_3)), list(key_3))
ax.set(ylim=(len(key_3) - 0.5, -0.5), xlim=(0, 1.05))
ax.set_xlabel("weight of key 3 in layer 2, a dot a query and seed")
ax.set_title("Layer 1's door 4 writes the place, layer 2 reads it")
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
# **Look:** without offsets in its scores, layer 2 still finds key 3. So it knows the key by what
# layer 1 wrote there, and that came through door 4: without it key 3 is lost. In layer 1 query $i$
# sums up the $a^V$ of offsets 0 to $-i$, so that each place gets another sum. The edge of the text
# again!
#
# ## The price
#
# So why not say "three to the left"? It survives a move, and two layers can name places with it.
# But a position is added once a token. An offset belongs to a query *and* a key, and enters each
# score.

# %% tags=["plumbing"]
# How many numbers tell positions
d = 64
n = torch.arange(1, 1025)
curves = {
    "products of q · k, needed anyway: n² × d": (n * n * d, "0.6", "--"),
    "scores that get an offset's number: n²": (n * n, "C1", "-"),
    "numbers of the added vectors: n × d": (n * d, "0.45", "-"),
    "different offsets: 2n − 1": (2 * n - 1, "black", "-"),
}
fig, ax = plt.subplots(figsize=(7, 3.6))
for name, (numbers, color, dashes) in curves.items():
    ax.loglog(n, numbers, dashes, color=color)
    ax.text(1150, numbers[-1], f"{name}\n{numbers[-1]:,}", color=color, va="center", fontsize=9)
ax.set(xlabel=f"tokens n (right: n = {len(n):,}, d = {d})", xlim=(1, 1024))
ax.set_ylabel("numbers added,\none head of one layer")
ax.set_title("An offset enters n² scores, a position n words")
plots.show(
    fig,
    f"What one head of one layer takes for 1 to {len(n):,} tokens, no mask, d = {d}, both axes "
    f"logarithmic; solid, numbers added. Below n = {d} the scores are fewer than the vectors' "
    f"numbers. At {len(n):,}: "
    + "; ".join(f"{name}, {numbers[-1]:,}" for name, (numbers, *_) in curves.items())
    + ".",
)

# %% [markdown]
# **Look:** beside the $d$ products of a score its number is little. Exercise 2 (an idea of Huang et
# al. 2018, 1809.04281) takes the factor $d$ from the memory of Shaw's scores; the products keep it.
# Yet only $2n - 1$ offsets differ.
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
# - Straight slopes climb from there, here with one head more for each place.
# - Four given slopes name place 3 by algebra, not by 5,000 steps of Adam here. Two of Shaw's
#   layers learn it: one writes places (door 4), one reads.
# - An offset belongs to a score: $n^2$ without a mask, though only $2n - 1$ offsets occur.
#
# **Read next:** Shaw et al. 2018, arXiv 1803.02155; Raffel et al. 2019, 1910.10683.
#
# **Next:** can an offset be had for a place's price? [Lesson 05](05_rope.ipynb).
