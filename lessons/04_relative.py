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
# encodings enter.) **Beyond:** a [closer look](closer/04_term_by_term.ipynb).

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start(
    doors=["bias", "values"],
    title="Lesson 04: relative",
    description="The strip of four doors, bias and values open. By scheme: shaw: bias, values; "
    "transformer_xl: bias; t5: bias; deberta: bias.",
)

# %% [markdown]
# ## A number for each offset
#
# An **offset** is $j - i$: where key $j$ stands, seen from query $i$. Here $-1$ is the token before
# and $-3$ is three to the left. Without its sign it is a **distance**. The plainest way to tell
# attention: each head learns a number for each offset, added to the score before softmax.

# %%
import torch
from torch import nn

from course_utils.encodings import PositionalEncoding, create


class NumberByOffset(PositionalEncoding):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.table = nn.Parameter(torch.zeros(n_heads, 17))  # offsets −8 to 8

    def bias_by_offset(self, offsets):  # (n,) → (heads, n), added to the scores
        return self.table[:, offsets + 8]


# %% [markdown]
# Nine random tokens of five kinds. A small causal model, one layer with two heads, is trained
# for 150 steps to name
#
# - the token **before** each token;
# - the token at **place 0**, from every token;
# - the token at **place 3**, from there on.
#
# A **place** counts from the text's first token. The offsets' numbers learn 5 times faster than the
# rest: at the rest's 0.01 a step they would get to about 1.5, too little for place 0. (Nine runs,
# about half a minute.)

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
print(f"before: a head likes distance 1 most, in {tops} of 3 seeds")
print(f"place 0: a head likes each farther key more, in {steps_up} of 3 seeds")
fig, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharex=True, sharey=True)
for ax, bias, title in zip(
    axes,
    (previous[0], first[0]),
    ("asked for the token before: one peak", "asked for place 0: the farther, the better"),
    strict=True,
):
    at_work = bias.min(-1).values.argmin().item()  # the head that tells distances apart most
    ax.plot(bias[1 - at_work], "s-", color="0.8", linewidth=1, markersize=4, label="the other head")
    ax.plot(bias[at_work], "o-", color="C0", label="the head at work")
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
    "What two heads add to the score at distances 0 to 8, less the largest, seed 0; blue, the head "
    f"with the widest range. Before: a head has its top at distance 1, in {tops} of 3 seeds. Place "
    f"0: a head rises at every step, in {steps_up} of 3 seeds; dashed, a straight line beside it.",
)

# %% [markdown]
# **Look:** it does find place 0. On the right, a head likes each farther key more. The farthest
# earlier key *is* place 0. **The edge of the text is a place.** Place 3 is at no edge.
#
# ## Move the text
#
# Encodings so far add a vector $E_i$ to the word at position $i$. A learned table, or sinusoids,
# name all three. So why not name the places?
#
# Let each model read such texts 50 positions on. The places stay; the **positions**, the numbers
# that the model is given, do not. ("Starts 0 to 41": trained on texts that start anywhere there.)

# %%
guess = widgets.predict(
    "A learned table, trained at positions 0 to 8, reads at 50 to 58. What does it still name, in "
    "98 % of answers in each of 3 seeds?",
    ["nothing", "before", "before and place 0", "before, place 0 and place 3"],
)

# %% tags=["plumbing", "picture"]
# The answer: the grid
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
    "learned table, 150 steps": ("learned", 150, 0),
    "sinusoids, 150 steps": ("sinusoidal", 150, 0),
    "table, starts 0 to 41, 1,500 steps": ("learned", 1500, 41),
    "sinusoids, starts 0 to 41, 1,500 steps": ("sinusoidal", 1500, 41),
    "table, starts 0 to 55, 1,500 steps": ("learned", 1500, 55),
}
titles = {"accuracy": "where it was trained", "moved": "the same texts at 50 to 58"}


def worst(row, task, column):
    """The share right in the worst seed."""
    encoding, steps, starts = ROWS[row]
    name = {"before": "the token before"}.get(task, task)
    return rows_of(encoding, heads=2, steps=steps, task=name, starts=starts)[column].min()


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
moved_shares = dict(zip(TASKS, grids["moved"][1].tolist(), strict=True))
kept = [task for task, share in moved_shares.items() if share >= 0.98]
guess.reveal(answers.get(len(kept), " and ".join(kept)))
names = ("a number for each offset, 150 steps", *ROWS)
fig, axes = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True)
for ax, (column, title) in zip(axes, titles.items(), strict=True):
    look = {"form": ".2f", "signed": False, "limit": 1, "title": title}
    image = figures.numbered(ax, grids[column], names, list(TASKS), **look)
    for border in (1, 3):
        ax.axhline(border, color="white", linewidth=4)
fig.colorbar(image, ax=axes, label="right answers, worst seed\n(guessing: 0.2)", shrink=0.8)
some_texts, positions = torch.randint(5, (100, 9), device=device), torch.arange(9, device=device)
with torch.no_grad():
    alike = all(
        torch.allclose(model(some_texts, positions), model(some_texts, positions + 50), atol=1e-3)
        for name in TASKS
        for model, _ in trained[name]
    )
print("a number for each offset, 50 positions on: the same output, in all nine models:", alike)
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
    "Share of right answers, worst of three seeds, of six models in three tasks (before, place 0, "
    f"place 3). {described}.",
)

# %% [markdown]
# **Look:** trained at 0 to 8 alone, both lose even the token before. With starts from 0 to 41
# sinusoids keep it, a table does not. With starts up to 55 all its rows are trained, but place 3 is
# missed, on both sides: a position no longer tells a place. (Place 0 still has the edge.) Numbers
# for offsets answer as before:

# %%
from course_utils.encodings.functional import offset_matrix

at_start, moved = torch.arange(9), torch.arange(9) + 50
same = torch.equal(offset_matrix(at_start, at_start), offset_matrix(moved, moved))
print("50 positions on, every offset is the same:", same)

# %% [markdown]
# A scheme that sees of positions only $j - i$ is **relative**.
#
# ## Straight lines
#
# But ours missed place 3. Can a head point at it? Seen from query 4 it is at offset $-1$, which
# must beat $-2$. From query 5 it is at $-2$, which must beat $-1$. So no. Could several
# heads together?
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
# A steep slope takes almost key 0 alone. A gentle one takes some of key 1 too.
#
# The layer after may multiply each head's output by a factor and add them up. That is a
# **readout**.

# %%
guess = widgets.predict(
    "Two heads with straight lines, and a readout, of your choice. How often can they name the "
    "token at place 1?",
    ["hardly above guessing: lines only know far and near", "half of the time", "always"],
)

# %% [markdown]
# Both heads have slope 2: one is wasted. Move its slope until all answers are right.
# Least squares sets the factors: as near as they get to a sum of 1 at the key asked for and 0 at
# the others. Each bar on the right has its own. Noise of 1 in 100 is added to heads' outputs, which
# are shares from 0 to 1.

# %%
from course_lab import explorers

explorers.ladder()

# %% [markdown]
# From the edge, places are a **ladder**, a rung each. **Climb on** in the explorer.
#
# 1. Without noise, choose place 2, then 3. How many heads does each take? (Slopes between 1 and 6.)
#    How high are the bars that cancel at key 0?
# 2. Choose the token before. Which sign must both slopes have? Find a pair that survives noise of 1
#    in 100.

# %% tags=["plumbing"]
# The answer
from course_lab.straight_heads import (
    best_readout,
    keys_asked,
    learned_readouts,
    newton_step,
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
guess.reveal("always" if right == 1 else "half of the time" if right > 0.4 else "hardly …")
steep, gentle = (2 * distance).softmax(0), (1 * distance).softmax(0)
minus_steep, plus_gentle = by_hand((2, 1), 1)[0]
share = (gentle[0] / steep[0]).item()
print("Slopes 2 and 1. The last query's weights at keys 0 to 4:")
for name, weights in {
    "steep": steep,
    "gentle": gentle,
    f"gentle − {share:.2f} × steep": gentle - share * steep,
}.items():
    print(f"{name:22}", *(f"{weight:5.2f}" for weight in weights[:5]), "…")
ratio = -minus_steep / plus_gentle
print(f"The explorer: {minus_steep:.1f} and {plus_gentle:.1f}, {ratio:.2f} to 1, for all queries")
print()
RUNGS = {1: (2, 1), 2: (3, 2, 1), 3: (5, 3.5, 2.5, 1.5)}
SIZES = (100, 1_000, 10_000, 100_000)
NOISES = {f"1 in {size:,}": 1 / size for size in SIZES} | {"none": 0.0}
print("asked    slopes          largest factor   98 % with noise of")
for place, slopes in (*RUNGS.items(), (3, (5.5, 3, 2, 1)), (None, (-1, -2))):
    largest = by_hand(slopes, place)[0].abs().max()
    asked = "before" if place is None else f"place {place}"
    written = ", ".join(f"{slope:g}" for slope in slopes)
    borne = next(name for name, size in NOISES.items() if by_hand(slopes, place, size)[1] >= 0.98)
    print(f"{asked:7}  {written:14}  {largest:14,.0f}   {borne}")

# %% [markdown]
# **Look:** two slopes name place 1, always. Both heads like key 0 best. Take enough of the steep
# one away, and key 1 is on top. Each place further from the edge takes one slope more here, and
# larger factors, which multiply noise too. For the token before, slopes below 0 make the query
# itself the edge.
#
# **Exercise 1 ★★ Single out.** Two heads: make the *last* query's sum 0 at key 0 and 1 at key 1.
# Three heads: 0 at keys 0 and 1, 1 at key 2. Write `single_out(slopes, n)` for any number of heads
# and n keys: from `slopes` (heads,), float64, all different, the factors (heads,). (Beyond key
# heads − 1 the sum may be anything.)


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

# %% tags=["plumbing"]
# How the factors grow
import itertools

solved = check_single_out.verdict(single_out).kind == "right"
factors_of = single_out if solved else check_single_out.reference
counts = range(2, 9)
largest = [
    factors_of(torch.linspace(6, 1, count, dtype=torch.float64), 9).abs().max().item()
    for count in counts
]
print("largest factor, 2 to 8 slopes from 6 to 1:", *(f"{size:,.0f}" for size in largest))
growth = min(after / before for before, after in itertools.pairwise(largest))
print(f"each at least {growth:.0f} times the one before")
weights, keys = straight_weights(RUNGS[3], 9), keys_asked(3, 9)
moved_by = best_readout(weights, keys) @ (weights.float() - weights).flatten(1)
rounded_right = share_right(
    weights.float().double(), best_readout(weights, keys), keys, texts, 0 * unit_noise
)
print(f"place 3, slopes {', '.join(f'{slope:g}' for slope in RUNGS[3])}, weights in float32:")
print(f"each sum moves by under 0.001: {bool(moved_by.abs().max() < 1e-3)}; ", end="")
print(f"98 % right: {rounded_right >= 0.98}")
dtypes = {"bfloat16": torch.bfloat16, "float32": torch.float32}
fig, ax = plt.subplots(figsize=(6.5, 3.2))
places = [count - 1 for count in counts]
ax.semilogy(places, largest, "o-", color="C1")
for dtype in dtypes.values():
    passed = next((n for n, size in enumerate(largest) if size > 1 / torch.finfo(dtype).eps), None)
    if passed is not None:
        marked = {"markersize": 13, "markerfacecolor": "none", "color": "black"}
        ax.semilogy(places[passed], largest[passed], "o", **marked)
for dtype_name, dtype in dtypes.items():
    limit = 1 / torch.finfo(dtype).eps
    ax.axhline(limit, color="0.5", linestyle=":")
    x, side = (7, "right") if dtype_name == "bfloat16" else (1, "left")  # where the curve is not
    ax.text(x, 1.5 * limit, f"1 / rounding step of {dtype_name}", ha=side, fontsize=9, color="0.35")
ax.set(xlabel="place named (one head more each)", ylabel="largest factor", ylim=(1, 1e11))
ax.set_title("Ringed: first factors above 1 / rounding step")
plots.show(
    fig,
    "The largest factor for places 1 to 7, log axis; slopes evenly from 6 to 1, nine tokens: "
    + ", ".join(f"{size:.1e}" for size in largest)
    + ". Dotted, 1 / rounding step: "
    + ", ".join(
        f"{dtype_name} {1 / torch.finfo(dtype).eps:.1e}" for dtype_name, dtype in dtypes.items()
    )
    + ".",
)

# %% [markdown]
# **Look:** here each place multiplies the factor by at least 20. Numbers are rounded: near 1 to
# steps of about 1e-7 in float32, 0.01 in bfloat16. At a dotted line a step, times the factor, is as
# large as the answer.
#
# So four heads *can* name place 3, in float32 too. Will a model learn to?
#
# ## Will training climb?
#
# We give a model four winning slopes, 5, 3.5, 2.5, 1.5, fixed. It has to learn all else, in
# 1,500 steps of Adam, the usual optimizer.

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
    "Adam, factors alone": {
        place: [only_factors(slopes, place, seed) for seed in range(3)]
        for place, slopes in RUNGS.items()
    },
    "Adam, all but the slopes": {
        place: shares_right("given slopes", heads=place + 1, task=f"place {place}").tolist()
        for place in RUNGS
    },
}
contrasts, one_step = {1: [], 3: []}, []
for place, seed in itertools.product(contrasts, range(3)):
    drawn = torch.randint(5, (300, 9), generator=torch.Generator().manual_seed(seed))
    weights, keys = straight_weights(RUNGS[place], 9), keys_asked(place, 9)
    factors, curvatures = newton_step(weights, keys, drawn)
    contrasts[place].append(curvatures[-1] / curvatures[0])
    if place == 3:
        one_step.append(share_right(weights, factors, keys, texts, 0 * unit_noise))
print(f"Newton's method, place 3, one step: 98 % in {sum(s >= 0.98 for s in one_step)} of 3 seeds")
below, above = max(contrasts[1]) < 100, min(contrasts[3]) > 1e7
print(
    f"these slopes' loss bends more one way than another, place 1 under 100 times: {bool(below)},"
)
print(f"place 3 over 10 million times: {bool(above)}")
more = {
    "place 2, 5,000 steps": shares_right("given slopes", heads=3, steps=5000, task="place 2"),
    "place 3, 5,000 steps": shares_right("given slopes", steps=5000),
    "place 3, slopes 5.5, 3, 2, 1": shares_right("other given slopes"),
}
for name, shares in more.items():
    named = (shares >= 0.98).sum()
    print(
        f"{name}: {shares.min():.2f} to {shares.max():.2f}, 98 % in {named} of {len(shares)} seeds"
    )
fig, ax = plt.subplots(figsize=(7, 3.4))
marks = zip(ways.items(), ("D", "s", "o"), ("black", "C0", "C1"), (-0.15, 0, 0.15), strict=True)
for (name, shares), marker, color, shift in marks:
    points = [(place + shift, share) for place, of in shares.items() for share in of]
    ax.plot(*zip(*points, strict=True), marker, color=color, alpha=0.7, label=name)
for share, what in ((0.2, "guessing"), (0.98, "98 %")):
    ax.axhline(share, color="0.5", linestyle=":")
    ax.text(3.45, share - 0.015, what, ha="right", va="top", fontsize=9, color="0.35")
ax.set(xticks=list(RUNGS), xlim=(0.5, 3.5), ylim=(0, 1.08))
ax.set_xticks(list(RUNGS), [f"place {place}\n{place + 1} slopes" for place in RUNGS])
ax.set_ylabel("right answers, a dot a seed")
ax.set_title("Algebra climbs; in 1,500 steps training stays behind")
ax.legend(loc="center left", bbox_to_anchor=(0, 0.42))
plots.show(
    fig,
    "Right answers at places 1, 2 and 3 with two, three and four given slopes, a dot a seed. "
    + "; ".join(
        f"{name}: "
        + ", ".join(f"place {place} {min(of):.2f} to {max(of):.2f}" for place, of in shares.items())
        for name, shares in ways.items()
    )
    + ". Dotted: guessing, 0.20, and 98 %.",
)

# %% [markdown]
# **Look:** training climbs to place 1 in 1,500 steps, to place 2 in 5,000, in most seeds. At
# place 3 Adam does not even find the factors alone. Other slopes or 5,000 steps help little;
# float32 would bear it.
#
# <details><summary>Why does Adam not find the factors?</summary>
#
# One step of Newton's method does: it allows for a loss that bends, with these slopes, over ten
# million times more one way than another. Whether that stops the model is unknown.
#
# </details>
#
# ## A vector for each offset
#
# Shaw et al. (2018) learn two *vectors* for each offset, for keys and values:
#
# $$s_{ij} = \frac{q_i \cdot (k_j + a^K_c)}{\sqrt d}, \qquad
# y_i = \sum_j w_{ij}\,(v_j + a^V_c), \qquad c = \operatorname{clip}(j - i, -k, k)$$
#
# Door 4 says also *where* something was found. The score's second part:


# %%
def literal(q, table):  # (n, d) and (2k + 1, d) → (n, n), unscaled
    n, k = len(q), len(table) // 2
    c = (torch.arange(n) - torch.arange(n)[:, None]).clamp(-k, k)  # (n, n)
    vectors = table[c + k]  # (n, n, d): one for each query and key
    return (q[:, None] * vectors).sum(-1)


# %% tags=["plumbing"]
# It and door 4 are the library's
from course_utils.encodings.functional import shaw_scores, shaw_values

q, table = torch.randn(12, 16), torch.randn(9, 16)
offsets = offset_matrix(torch.arange(12), torch.arange(12))
w = literal(q, table).softmax(-1)
door_4 = (w[..., None] * table[offsets.clamp(-4, 4) + 4]).sum(1)  # (n, d)
assert torch.allclose(literal(q, table), shaw_scores(q, table, offsets), atol=1e-4)
assert torch.allclose(door_4, shaw_values(w, table, offsets), atol=1e-4)
print("1,024 tokens, d = 64, float32: `vectors` fills", 4 * 1024**2 * 64 // 2**20, "MiB,")
print("and its product with the queries as much again, for each head")

# %% [markdown]
# Offsets beyond $k$ share the last vector of their side.
#
# **Exercise 2 ★★ Without the large tensor.** Write `shaw_from_scratch(q, table)`: what `literal`
# returns, in PyTorch, with no array of more than $4n^2$ numbers, and no loops.


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
# **Transformer-XL** (Dai et al. 2019) computes offsets' vectors from sinusoids, and clips none. Two
# learned vectors, the same for every query, meet the key's word and the offset.
#
# **DeBERTa** (He et al. 2020) clips as Shaw does. An offset's vectors meet the query *and* the key.
#
# ## A number for each bucket
#
# T5 (Raffel et al. 2019) has numbers again. Near offsets have their own, farther ones share
# **buckets**:

# %%
from course_utils.encodings.functional import t5_bucket

back = torch.arange(161)
bucket = t5_bucket(-back, 32, 128, False)  # 32 buckets, keys ahead are hidden
print("buckets of distances 14 to 24:", bucket[14:25].tolist())
print("in the last bucket: all distances from", back[bucket == 31][0].item(), "on")

# %% [markdown]
# Two keys in T5's last bucket, or beyond Shaw's $k$, seem equally far. T5 does not divide
# $q \cdot k$ by $\sqrt d$.
#
# ## A second layer
#
# Do vectors climb to place 3, or does a second layer? Four heads in all. "Numbers": ours, a table
# a layer. T5's layers share one, 30 times as fast.

# %% tags=["plumbing"]
# Shaw, numbers, and a second layer
SCHEMES = {  # as the table of runs calls them
    "no encoding": "none",
    "given slopes": "given slopes",
    "T5": "t5",
    "T5, divided by √d": "t5, divided",
    "numbers": "number by offset",
    "Shaw, scores alone": "shaw, keys only",
    "Shaw, scores and values": "shaw",
}
SIZES = {  # layers, steps; and how it is drawn
    "one layer": (1, 1500, {"marker": "o", "markerfacecolor": "none"}),
    "one layer, 6,000 steps at rate 0.003": (1, 6000, {"marker": "s", "markerfacecolor": "none"}),
    "two layers": (2, 1500, {"marker": "o"}),
}
dots = {}
for scheme, encoding in SCHEMES.items():
    for size, (layers, steps, _) in SIZES.items():
        right = shares_right(encoding, layers=layers, heads=4 // layers, steps=steps)
        if len(right):
            dots[scheme, size] = right
alone, both = dots["Shaw, scores alone", "one layer"], dots["Shaw, scores and values", "one layer"]
helped = bool(both.min() > alone.max())
print("Shaw, one layer: each seed with door 4 above each without:", helped)
in_all = [f"{scheme}, {size}" for (scheme, size), share in dots.items() if share.min() >= 0.98]
print("98 % in 3 of 3 seeds:", "; ".join(in_all))
as_it_is, divided = dots["T5", "two layers"], dots["T5, divided by √d", "two layers"]
above = bool(divided.min() > as_it_is.max())
print(f"T5, two layers, {len(divided)} seeds: each divided by √d above each without: {above}")
long_runs = {scheme: share for (scheme, size), share in dots.items() if "6,000" in size}
in_long = [f"{scheme} {(share >= 0.98).sum()}" for scheme, share in long_runs.items()]
print("one layer, 6,000 steps, 98 % in how many of three seeds:", "; ".join(in_long))
for task in ("place 0", "the token before"):
    right = shares_right("none", layers=2, heads=2, task=task)
    print(f"no encoding, two layers: {task} in {(right >= 0.98).sum()} of {len(right)} seeds")
fig, ax = plt.subplots(figsize=(8, 4.6))
looks = {"no encoding": "none", "T5": "t5", "T5, divided by √d": "t5"}
looks |= {"Shaw, scores alone": "shaw", "Shaw, scores and values": "shaw"}
for (scheme, size), right in dots.items():
    row = list(SCHEMES).index(scheme) + 0.22 * (list(SIZES).index(size) - 1)
    color = plots.identity(looks[scheme]).colour if scheme in looks else "C1"
    ax.plot(right, [row] * len(right), linestyle="none", color=color, **SIZES[size][2])
for size, (_, _, mark) in SIZES.items():
    ax.plot([], [], linestyle="none", color="0.3", label=size, **mark)
ax.legend(loc="lower center", bbox_to_anchor=(0.4, 1.08), ncols=3, frameon=False, fontsize=9)
ax.set_yticks(range(len(SCHEMES)), list(SCHEMES))
ax.set(ylim=(len(SCHEMES) - 0.5, -0.5), xlim=(0.15, 1.05))
ax.set_xlabel("right answers at place 3, a mark a seed; four heads in all")
ax.set_title("Place 3: no single layer passes 98 % in 1,500 steps; two of Shaw's do")
for share, what in ((0.2, "guessing"), (0.98, "98 %")):
    ax.axvline(share, color="0.5", linestyle=":")
    ax.text(share - 0.008, 3, what, ha="right", va="center", fontsize=9, color="0.35", rotation=90)
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
# does in each seed, T5 in one of three, numbers and given slopes in none. Two of Shaw's layers need
# 1,500. (T5 does better divided by $\sqrt d$; its authors start $W_q$ smaller instead.) Two layers
# *without any encoding* named the token before and place 0: a mask tells places too (Haviv et al.
# 2022).
#
# How does Shaw's second layer find key 3?

# %% tags=["plumbing"]
# Key 3's weight where layer 2 lacks something
changes = {
    "as trained": "key_weight",
    "no offsets in layer 2's scores": "no_offsets",
    "its queries: mean over places": "queries_alike",
    "its keys: mean over places": "keys_alike",
}
two_layers = rows_of("shaw", layers=2, heads=2)
key_3 = {
    name: [[float(weight) for weight in row.split()] for row in two_layers[column]]
    for name, column in changes.items()
}
for name, rows in key_3.items():
    print(f"{name:31} {sum(min(row) > 0.99 for row in rows)} of {len(rows)} seeds over 0.99")
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
# **Look:** without offsets in its scores, layer 2 still finds key 3. It fails once its keys are
# alike at all places. So layer 1 tells key 3 its place, and layer 2 looks for that key.
#
# ## The price
#
# So why not say "three to the left"? A position is added once a token. An offset belongs to a query
# *and* a key, and enters each score:

# %%
n = 1024
print(f"{n:,} tokens, {n:,} places")
print(f"every key seen: {n * n:,} scores, only {2 * n - 1:,} different offsets")
print(f"behind a causal mask: {n * (n + 1) // 2:,} scores, only {n:,} different offsets")

# %% [markdown]
# ## Exercises
#
# Both stand above.
#
# ## Myth check
#
# Guess first.

# %% tags=["plumbing"]
# Two claims
from course_lab.claims import Claim, Myths

RELATIVE = ("transformer_xl", "deberta", "shaw", "t5")
myths = Myths(
    {
        "C29": Claim(
            "Relative schemes have fewer parameters than a learned table.",
            scope="the four relative schemes of this lesson; 12 layers, width 768, 12 heads; Shaw "
            "with k = 16, its tables for each layer, or for each head of it; DeBERTa with k = 64, "
            "a table for each layer. Yardstick: all learned numbers that tell positions, matrices "
            "for offsets' vectors included, against one learned table of 512 positions for all "
            "layers",
            evidence="exact",
            choice="the scheme, and what its layers and heads share",
        ),
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
# The verdicts
counts = {}
for name in ("learned", *RELATIVE):
    encoding = create(name, d_model=768, n_heads=12, max_len=512)
    layers = 1 if encoding.shared else 12
    counts[name] = layers * sum(parameter.numel() for parameter in encoding.parameters())
per_head = 12 * counts["shaw"]
myths.settle(
    "C29",
    {name: counts[name] < counts["learned"] for name in RELATIVE}
    | {"shaw, tables for each head": per_head < counts["learned"]},
    ", ".join(f"{name} {count:,}" for name, count in counts.items())
    + f", shaw with tables for each head {per_head:,}.",
)
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
# - An offset is told by a number (T5) or a vector (Shaw), in the score; it survives a move.
# - The farthest earlier key is place 0. The edge of the text is a place.
# - Straight slopes climb from there: here a head more for each place, and larger factors.
# - Four given slopes name place 3 by algebra, not by 5,000 training steps. Two of Shaw's layers
#   learn it.
# - An offset belongs to a score: $n^2$ of them without a mask, though only $2n - 1$ offsets occur.
#
# **Read next:** Shaw et al. 2018, arXiv 1803.02155; Raffel et al. 2019, 1910.10683; Haviv et al.
# 2022, 2203.16634.
#
# **Next:** can an offset be had for a place's price? [Lesson 05](05_rope.ipynb).
