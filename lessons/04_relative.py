# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   order_matters:
#     edition: 2
#     lines: [2, 4]
# ---

# %% [markdown]
# # 04 · Relative
#
# **Question:** why not say "three to the left"?
#
# After this lesson you can
#
# - tell attention how far away a key is, by a number or by a vector;
# - test what a model can find by distances alone, by hand and by training;
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
# Nine random tokens of five kinds. A small causal model, one layer with two heads, is asked to name
#
# - the token **before** each token;
# - the token at **place 0**, from every token;
# - the token at **place 3**, from there on.
#
# A **place** counts from the text's first token. Nobody tells it one. There are 150 steps; the
# offsets' numbers learn 30 times faster than the rest. (Nine runs, about half a minute.)

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

    faster = {"encoding.table": 30.0}
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
    ax.plot(bias[1 - at_work], "s-", color="0.7", label="the other head")
    ax.plot(bias[at_work], "o-", color="C0", label="the head at work")
    ax.set(title=title, xlabel="distance to an earlier key (positions)")
axes[0].legend(loc="best")
axes[0].set_ylabel("learned number, added to the\nscore (less the head's largest)")
plots.show(
    fig,
    "What two heads add to the score at distances 0 to 8, less the largest, seed 0; blue, the head "
    f"with the widest range. Before: a head has its top at distance 1, in {tops} of 3 seeds. Place "
    f"0: a head rises at every step, in {steps_up} of 3 seeds.",
)

# %% [markdown]
# **Look:** it does find place 0. On the right, a head likes each farther key more than the one
# before it. The farthest earlier key *is* place 0. **The edge of the text is a place**, and "as far
# back as you can" points at it.
#
# Place 3 is at no edge. Did training fail, or can it not be done?
#
# ## Straight lines
#
# Let a head's number be a straight line, slope $m$ times the distance $i - j$. If the scores hold
# nothing else, its weights are
#
# $$\frac{e^{m(i-j)}}{\sum_{j' \le i} e^{m(i-j')}} = \frac{e^{-mj}}{\sum_{j' \le i} e^{-mj'}}$$
#
# $e^{mi}$ cancels! The query's place is gone from the top, and the key's *place* $j$ is left.

# %%
distance = torch.arange(8, -1, -1.0)  # of the last query to keys 0 to 8
for slope in (5, 2, 1):
    weights = (slope * distance).softmax(0)
    print(f"slope {slope}:", *(f"{weight:.2f}" for weight in weights[:5]), "…")

# %% [markdown]
# A steep slope takes almost key 0 alone. A gentle one takes some of key 1 too, and less of key 2.
#
# The layer after may multiply heads' outputs by factors, negative ones too, and add them up. We
# call that a **readout**.

# %%
guess = widgets.predict(
    "Two heads with straight lines, and a readout, of your choice. How often can they name the "
    "token at place 1?",
    ["hardly above guessing: lines only know far and near", "half of the time", "always"],
)

# %% [markdown]
# Find out. Both heads have slope 2: one is wasted. Move its slope until all answers are right.
# Least squares sets the factors, for a sum near 1 at the key asked for, near 0 at the others. To
# heads' outputs, shares from 0 to 1, noise of 1 in 100 is added.

# %%
from course_lab import explorers

explorers.ladder()

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

# %% [markdown]
# Two slopes name place 1, in every answer. For the last query:

# %%
steep, gentle = (2 * distance).softmax(0), (1 * distance).softmax(0)
for name, weights in {
    "steep": steep,
    "gentle": gentle,
    "gentle − 0.73 × steep": gentle - 0.73 * steep,
}.items():
    print(f"{name:22}", *(f"{weight:5.2f}" for weight in weights[:5]), "…")
minus_steep, plus_gentle = by_hand((2, 1), 1)[0]
print(
    f"The explorer: {minus_steep:.1f} and {plus_gentle:.1f}, {-minus_steep / plus_gentle:.2f} to 1"
)

# %% [markdown]
# Both like key 0 best. Take enough of the steep one away, and key 0 is gone. Key 1 is on top.
# (0.73 is for the last query alone. The explorer's factors have to serve all.)
#
# **Go on climbing** in the explorer.
#
# 1. Without noise, choose place 2, then 3. How many heads does each take? (Slopes between 1 and 6.)
#    How high are the bars that cancel at key 0? Add noise.
# 2. Choose the token before. Which sign must both slopes have? Find a pair that survives noise of 1
#    in 100.

# %% tags=["plumbing"]
# The ladder
RUNGS = (
    (0, (2,)),
    (1, (2, 1)),
    (2, (3, 2, 1)),
    (3, (5, 3.5, 2.5, 1.5)),
    (3, (5.5, 3, 2, 1)),
    (None, (-1, -2)),
)
print("                                          98 % right with noise of 1 in")
print("asked    slopes          largest factor   none  10,000  1,000  100")
for place, slopes in RUNGS:
    largest = by_hand(slopes, place)[0].abs().max()
    asked = "before" if place is None else f"place {place}"
    written = ", ".join(f"{slope:g}" for slope in slopes)
    print(f"{asked:7}  {written:14}  {largest:14,.0f}", end="")
    for noise, width in ((0, 7), (1e-4, 8), (1e-3, 7), (1e-2, 5)):
        print(f"{'yes' if by_hand(slopes, place, noise)[1] >= 0.98 else 'no':>{width}}", end="")
    print()

# %% [markdown]
# A ladder: each place further from the edge has one slope more here, and larger factors, which
# multiply noise too. How large depends on the slopes: see place 3's two rows. The token before is
# place 1 in a mirror: with slopes below 0 the query itself is the edge.
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
dtypes = {"bfloat16": torch.bfloat16, "float32": torch.float32, "float64": torch.float64}
fig, ax = plt.subplots(figsize=(6.5, 3.2))
ax.semilogy([count - 1 for count in counts], largest, "o-", color="C1")
for dtype_name, dtype in dtypes.items():
    limit = 1 / torch.finfo(dtype).eps
    ax.axhline(limit, color="0.5", linestyle=":")
    x, side = (7, "right") if dtype_name == "bfloat16" else (1, "left")  # where the curve is not
    ax.text(x, 2 * limit, f"1 / rounding step of {dtype_name}", ha=side, fontsize=9, color="0.35")
ax.set(xlabel="place named (one head more each)", ylabel="largest factor", ylim=(1, 1e18))
ax.set_title("Factors soon pass what a number's precision bears")
plots.show(
    fig,
    "The largest factor for places 1 to 7, log axis; slopes evenly from 6 to 1, nine tokens: "
    + ", ".join(f"{size:.1e}" for size in largest)
    + ". Dotted, where a rounding error times the factor is as large as 1: "
    + ", ".join(
        f"{dtype_name} {1 / torch.finfo(dtype).eps:.1e}" for dtype_name, dtype in dtypes.items()
    )
    + ".",
)

# %% [markdown]
# **Look:** here each place multiplies the factor by at least 20. At a dotted line rounding, times
# the factor, can be as large as the answer.
#
# So four heads *can* name place 3, from offsets and an edge. Will a model learn to?
#
# ## Will training climb?
#
# We give a model four winning slopes, 5, 3.5, 2.5, 1.5, fixed. It has to learn all else, in
# 1,500 steps, ten times as many.

# %%
guess = widgets.predict(
    "How many of its answers for place 3 are right then?",
    ["at most 60 %, in 5 of 5 seeds", "60 to 90 %", "at least 90 %, in 5 of 5 seeds"],
)

# %% tags=["plumbing"]
# The answer, and three controls
from course_utils.texts import data

runs = data.results("place_tasks")


def rows_of(encoding, layers=1, heads=4, steps=1500, task="place 3", starts=0):
    """The runs of one setting, one row a seed."""
    setting = {"encoding": encoding, "layers": layers, "heads": heads, "steps": steps, "task": task}
    setting["starts"] = starts
    return runs[(runs[list(setting)] == list(setting.values())).all(axis=1)]


def shares_right(encoding, **setting):
    """The shares of right answers, one a seed."""
    return rows_of(encoding, **setting)["accuracy"].to_numpy()


given = shares_right("given slopes")
levels = {"at most 60 %, in 5 of 5 seeds": given.max() <= 0.6}
levels["at least 90 %, in 5 of 5 seeds"] = given.min() >= 0.9
guess.reveal(next((level for level, holds in levels.items() if holds), "60 to 90 %"))
longer = shares_right("given slopes", steps=5000)
below = shares_right("given slopes", heads=2, task="place 1")
print(f"place 1, slopes 2 and 1 given: right in {(below >= 0.98).sum()} of {len(below)} seeds")
for name, shares in {
    "four slopes given": given,
    "four slopes given, 5,000 steps": longer,
    "no encoding": shares_right("none"),
    "learned table, 150 steps": shares_right("learned", steps=150),
}.items():
    print(f"place 3, {name:31}: {min(shares):.2f} to {max(shares):.2f}, {len(shares)} seeds")


def only_factors(slopes, place, seed):
    """The share right where nothing but the factors is learned, best of three learning rates."""
    weights, keys = straight_weights(slopes, 9), keys_asked(place, 9)
    generator = torch.Generator().manual_seed(seed)
    readouts = learned_readouts(weights, keys, (0.01, 0.1, 1.0), 1500, generator)
    return max(share_right(weights, factors, keys, texts, 0 * unit_noise) for factors in readouts)


print("only the factors to learn, Adam with 1,500 steps, best of three learning rates:")
for place, slopes in ((1, (2, 1)), (3, (5, 3.5, 2.5, 1.5))):
    shares = [only_factors(slopes, place, seed) for seed in range(3)]
    outcome = (
        "at least 0.98" if min(shares) >= 0.98 else "at most 0.5" if max(shares) <= 0.5 else "?"
    )
    print(f"Adam, place {place}: {outcome}, in 3 of 3 seeds")
weights, keys = straight_weights((5, 3.5, 2.5, 1.5), 9), keys_asked(3, 9)
shares, contrasts = [], []
for seed in range(3):
    drawn = torch.randint(5, (300, 9), generator=torch.Generator().manual_seed(seed))
    factors, curvatures = newton_step(weights, keys, drawn)
    shares.append(share_right(weights, factors, keys, texts, 0 * unit_noise))
    contrasts.append(curvatures[-1] / curvatures[0])
print("Newton's method, place 3, one step: at least 0.98 in", end=" ")
print(f"{sum(share >= 0.98 for share in shares)} of {len(shares)} seeds")
steeper = min(contrasts) > 1e7
print("the loss bends over 10 million times more one way than another:", bool(steeper))

# %% [markdown]
# Given two slopes, training climbed to place 1. Given these four, not to place 3, in 5,000 steps.
# Leave *only* the factors to learn: Adam finds place 1's two, not place 3's four. **One step of
# Newton's method finds them.** At the start the loss bends over ten million times more one way than
# another, and Newton's step allows for that. Whether that stops the whole model, we do not know.
#
# A learned table did it in 150 steps. So why not name the places?
#
# ## Move the text
#
# Encodings that named positions so far add a vector $E_i$ to the word at position $i$. Moved by
# 100, words have other vectors: what was learned need not hold. Offsets do not change:

# %%
from course_utils.encodings.functional import offset_matrix

at_start, moved = torch.arange(9), torch.arange(9) + 100
same = torch.equal(offset_matrix(at_start, at_start), offset_matrix(moved, moved))
print("100 positions on, every offset is the same:", same)

# %% [markdown]
# A scheme that sees of positions only $j - i$ is **relative**. (So are Transformer-XL and
# DeBERTa: [closer look](closer/04_term_by_term.ipynb).)
#
# ## A vector for each offset
#
# Shaw et al. (2018) learn two vectors for each offset, one for keys, one for values:
#
# $$s_{ij} = \frac{q_i \cdot (k_j + a^K_c)}{\sqrt d}, \qquad
# y_i = \sum_j w_{ij}\,(v_j + a^V_c), \qquad c = \operatorname{clip}(j - i, -k, k)$$
#
# The score is door 3. The sum is door 4: it says also *where* something was found. Offsets beyond
# $k$ share the last vector of their side. The score's second part, as it stands:


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
print("1,024 tokens, d = 64, float32: `vectors` fills", 4 * 1024**2 * 64 // 2**20, "MB, each head")

# %% [markdown]
# ## A number for each bucket
#
# T5 (Raffel et al. 2019) went back to numbers, as in our first class. Near offsets have their own.
# Farther ones share **buckets**:

# %%
from course_utils.encodings.functional import t5_bucket

back = torch.arange(161)
bucket = t5_bucket(-back, 32, 128, False)  # 32 buckets, keys ahead are hidden
print("buckets of distances 14 to 24:", bucket[14:25].tolist())
print("in the last bucket: all distances from", back[bucket == 31][0].item(), "on")

# %% [markdown]
# Of two keys in T5's last bucket, or beyond Shaw's $k$, number and vector do not say which is
# nearer.
#
# Do the two climb to place 3? (T5's numbers learn 30 times faster, here and below; Shaw's vectors
# do not.)

# %%
guess = widgets.predict(
    "Place 3, four heads in all, 1,500 steps. Which are right in 98 % of answers, in 3 of 3 seeds?",
    ["none", "Shaw's with two layers alone", "Shaw's with one layer or two", "both, with two"],
)

# %% tags=["plumbing", "picture"]
# Shaw, T5, and a second layer
from course_lab import figures

settings = {
    "four straight lines, given": ("given slopes", 1),
    "no encoding": ("none", 1),
    "T5": ("t5", 1),
    "Shaw, scores alone": ("shaw, keys only", 1),
    "Shaw, scores and values": ("shaw", 1),
    "no encoding, two layers": ("none", 2),
    "T5, two layers": ("t5", 2),
    "Shaw, two layers": ("shaw", 2),
}
dots = {
    name: shares_right(encoding, layers=layers, heads=4 // layers)
    for name, (encoding, layers) in settings.items()
}
in_all_seeds = {name for name, shares in dots.items() if shares.min() >= 0.98}
guess.reveal(
    "both, with two"
    if "T5, two layers" in in_all_seeds
    else "Shaw's with one layer or two"
    if "Shaw, scores and values" in in_all_seeds
    else "Shaw's with two layers alone"
    if "Shaw, two layers" in in_all_seeds
    else "none"
)
alone, both = dots["Shaw, scores alone"], dots["Shaw, scores and values"]
print("Shaw, one layer: each seed with door 4 above each without:", both.min() > alone.max())
by_query = torch.tensor(
    [[float(share) for share in run.split()] for run in rows_of("shaw").by_query]
)
print("Shaw, one layer, queries 3 to 8:", *(f"{share:.2f}" for share in by_query.mean(0)))


def measured_column(column, layers):
    """A column of Shaw's runs, one number a query, (seeds, queries 3 to 8)."""
    rows = rows_of("shaw", layers=layers, heads=4 // layers)[column]
    return torch.tensor([[float(number) for number in row.split()] for row in rows])


for query in (5, 6):
    (key,) = set(measured_column("wrong_key", 1)[:, query - 3].int().tolist())
    share, gap = (
        measured_column("wrong_share", 1)[:, query - 3],
        measured_column("wrong_gap", 1)[:, query - 3],
    )
    print(
        f"query {query}: at least {share.min():.2f} of wrong answers name key {key}, offset "
        f"{key - query}; key 3 has offset {3 - query}. Weights differ by at most {gap.max():.2f}"
    )
_, frequent = by_hand((0,), 3)  # slope 0 weighs all tokens so far alike
fig, (ax, right_ax) = plt.subplots(1, 2, figsize=(10, 3.6), width_ratios=(2, 1))
looks = {"none": "none", "t5": "t5", "shaw": "shaw", "shaw, keys only": "shaw"}
for row, (name, right) in enumerate(dots.items()):
    scheme = looks.get(settings[name][0])
    color = plots.identity(scheme).colour if scheme else "C1"
    ax.plot(right, [row] * len(right), "o", color=color, alpha=0.6)
ax.axhline(4.5, color="0.8")
ax.set_yticks(range(len(dots)), list(dots))
ax.set(ylim=(len(dots) - 0.5, -0.5), xlim=(0, 1.05), xlabel="right answers, a dot a seed")
ax.set_title("place 3: four heads in all, 1,500 steps")
for share, what in ((0.2, "guessing"), (frequent, "most frequent\ntoken so far")):
    ax.axvline(share, color="0.5", linestyle=":")
    ax.text(share - 0.01, 6.5, what, ha="right", va="center", fontsize=9, color="0.35")
right_ax.plot(range(3, 9), by_query.T, "o-", color=plots.identity("shaw").colour, alpha=0.6)
right_ax.axhline(0.2, color="0.5", linestyle=":")
right_ax.set(ylim=(0, 1.05), xlabel="query (its place)", ylabel="right answers")
right_ax.set_title("Shaw, one layer, by query")
described = ", ".join(f"{name} {min(s):.2f} to {max(s):.2f}" for name, s in dots.items())
plots.show(
    fig,
    "Left: right answers at place 3, a dot a seed; one layer has four heads, two layers have two "
    f"each: {described}. Dotted: guessing, 0.20, and naming the most frequent token so far, about "
    f"{frequent:.1f}. Right: Shaw's one layer with scores and values, three seeds, queries 3 to 8, "
    f"means {', '.join(f'{share:.2f}' for share in by_query.mean(0))}.",
)

# %% [markdown]
# **Look:** no single layer did. Door 4 helped. Queries 5 and 6 mistake another key for key 3: the
# two are at offsets −3 and −2, and every head gives both nearly the same weight. Their sum does not
# say which is which. (Why these two offsets, we do not know.)

# %% tags=["plumbing"]
# The second layer
least = measured_column("key_weight", 2).min()
print("Shaw, two layers: from every query a head of layer 2 weighs key 3 over 0.99:", least > 0.99)

# %% [markdown]
# Two layers of Shaw's did: each query of layer 2 finds key 3. Query 4 has to prefer offset −1 to
# −2, query 5 the other way about. One head's vectors cannot do both, nor two heads' all six
# queries, and random tokens are no help. So layer 1 told more. (What, we did not measure.)

# %% tags=["plumbing"]
# A second layer without any encoding
for task in ("place 0", "the token before"):
    right = shares_right("none", layers=2, heads=2, task=task)
    right_in = (right >= 0.98).sum()
    print(f"no encoding, two layers: {task} named in {right_in} of {len(right)} seeds")

# %% [markdown]
# Two layers *without any encoding* named place 0 and the token before: a mask tells places too, if
# a second layer reads on (Haviv et al. 2022).
#
# ## Move the text, measured
#
# One layer, two heads, 150 steps, the worst of three seeds. Then each model reads the same texts,
# 50 positions on: the places stay, the **positions**, the numbers that the model is given, do not.
# Last, two controls: more steps, and training from anywhere, 0 to 55.

# %% tags=["plumbing"]
# The grid
ROWS = ("learned", "sinusoidal", "shaw", "t5")
COLUMNS = ("the token before", "place 0", "place 3")
CONTROLS = {  # the last start of a training text
    "learned, from 0,\n1,500 steps": 0,
    "learned, from anywhere,\n1,500 steps": 55,
}
titles = {
    "accuracy": "at positions 0 to 8",
    "moved": "the same texts at 50 to 58",
}


def worst(row, task, column):
    """The share right in the worst seed."""
    encoding, steps = ("learned", 1500) if row in CONTROLS else (row, 150)
    setting = {"steps": steps, "task": task, "starts": CONTROLS.get(row, 0)}
    return rows_of(encoding, heads=2, **setting)[column].min()


names = (*ROWS, *CONTROLS)
grids = {
    column: torch.tensor([[worst(row, task, column) for task in COLUMNS] for row in names])
    for column in titles
}
fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.6), sharey=True)
for ax, (column, title) in zip(axes, titles.items(), strict=True):
    short = [name.replace("the token ", "") for name in COLUMNS]
    look = {"form": ".2f", "signed": False, "limit": 1, "title": title}
    image = figures.numbered(ax, grids[column], names, short, **look)
    ax.axhline(len(ROWS), color="white", linewidth=4)
fig.colorbar(image, ax=axes, label="right answers, worst seed", shrink=0.8)
relative = [row for row, name in enumerate(ROWS) if name not in ("learned", "sinusoidal")]
unchanged = bool((grids["accuracy"] - grids["moved"])[relative].abs().max() < 0.005)
print("50 positions on, shaw and t5 answer as before:", unchanged)
described = "; ".join(
    f"{title}: "
    + ", ".join(
        f"{' '.join(name.split())} {' '.join(f'{right:.2f}' for right in row)}"
        for name, row in zip(names, grids[column].tolist(), strict=True)
    )
    for column, title in titles.items()
)
plots.show(
    fig,
    "Share of right answers, worst of three seeds, four encodings and two controls by three tasks "
    "(before, place 0, place 3), "
    f"place n is the text's token n wherever the text stands. {described}.",
)

# %% [markdown]
# **Look:** at 0 to 8 all four name the token before; only named positions find place 3. Moved, they
# lose even the token before. More steps do not help the learned table; training from
# anywhere does, but then place 3 is missed, on both sides. Shaw and T5 answer alike wherever they
# read.
#
# So why not say "three to the left"? It has a price. A position is added once a token. An offset
# belongs to a query *and* a key, and enters each score, each layer:

# %%
n = 1024
print(f"{n:,} tokens, {n:,} places")
print(f"every key seen: {n * n:,} scores, only {2 * n - 1:,} different offsets")
print(f"behind a causal mask: {n * (n + 1) // 2:,} scores, only {n:,} different offsets")

# %% [markdown]
# Can one have the offset for the price of the place?
#
# ## Exercises
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
        "C30": Claim(
            "A scheme that only sees offsets cannot solve a task that asks for the absolute place.",
            scope="causal attention, one layer, a text of 9 tokens; the task asks for the token at "
            "place 0, or at place 3, counted from the text's first token wherever the text stands, "
            "not by the position number that a model is given. Yardstick: solved is 98 % right, in "
            "each of 3 seeds if trained, on 1,000 texts if set by hand; one solved task refutes it",
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
_, place_3 = by_hand((5, 3.5, 2.5, 1.5), 3)
alone = shares_right("none", layers=2, heads=2, task="place 0")
myths.settle(
    "C30",
    {"place 0, trained": "place 0" not in learned, "place 3, by hand": place_3 < 0.98},
    f"Learned in 3 of 3 seeds: {', '.join(learned)}. Place 3, four straight lines: {place_3:.2f}. "
    "Outside the scope, a mask alone and two layers: place 0 in "
    f"{(alone >= 0.98).sum()} of {len(alone)} seeds.",
)
myths.table()

# %% [markdown]
# ## In five lines
#
# - An offset is told by a number (T5) or a vector (Shaw), in the score; it survives a move.
# - The farthest earlier key is place 0. The edge of the text is a place.
# - Straight slopes climb from there: here a head more for each place, and larger factors.
# - Algebra named place 3 from four given slopes. A model given these, trained by Adam, did not.
# - An offset belongs to a score: $n^2$ of them without a mask, though only $2n - 1$ offsets occur.
#
# **Read next:** Shaw et al. 2018, arXiv 1803.02155, section 3; Raffel et al. 2019, 1910.10683,
# section 2.1; Haviv et al. 2022, 2203.16634.
#
# **Next:** an offset for a place's price? [Lesson 05](05_rope.ipynb).
