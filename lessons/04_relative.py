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
# **Time:** {minutes}. Allow some five minutes more. **Builds on:** attention with a causal mask,
# which hides later tokens; sinusoids and learned tables (lessons 02 and 03). **Doors:** 3, a number
# added to scores; 4, a vector added to what is summed. **Beyond:** closer looks,
# [term by term](closer/04_term_by_term.ipynb) and
# [up the ladder](closer/04_up_the_ladder.ipynb).

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start(doors=["bias", "values"], title="Lesson 04: relative")

# %% [markdown]
# ## A number for each offset
#
# An **offset** is $j - i$: where key $j$ stands, seen from query $i$. So $-3$ is three to the left.
# Without its sign it is a **distance**. The plainest way to tell attention an offset is a number.
# Each head learns one for each offset, and adds it to the score.

# %%
import torch
from torch import nn

from course_utils.encodings import PositionalEncoding


class NumberByOffset(PositionalEncoding):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.numbers = nn.Parameter(torch.zeros(n_heads, 17))  # offsets −8 to 8

    def bias_by_offset(self, offsets):  # (n,) → (heads, n), added to the scores
        return self.numbers[:, offsets.clamp(-8, 8) + 8]


# %% [markdown]
# What can a model do with such numbers alone? A text is nine random tokens of five kinds. We train
# a small causal model, one layer with two heads, for 120 steps. It gets one of three tasks: to name
#
# - the token **three to the left** of each token, from place 3 on;
# - the token at **place 0**, from every token;
# - the token at **place 3**, from there on.
#
# A **place** counts from the text's first token, which is place 0. The numbers' learning rate is
# five times that of the rest. Each task is trained three times, from other random numbers
# (**seeds**).

# %%
from course_lab import widgets

guess = widgets.predict(
    "Which tasks does it learn? (Learned: 98 % right in each of 3 seeds.)",
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

    faster = {"encoding.numbers": 5.0}  # times the learning rate
    fit(model, loss, 120, lr=1e-2, faster=faster)
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
from course_utils.texts import data

learned = [name for name, runs in trained.items() if min(right for _, right in runs) >= 0.98]
answers = {0: "nothing", 3: "all three"}
guess.reveal(answers.get(len(learned), " and ".join(learned)))
for name, runs in trained.items():
    solved = sum(right >= 0.98 for _, right in runs)
    print(f"{name:17} learned in {solved} of 3 seeds")
recorded = data.results("place_tasks")
slower = recorded.query("encoding == 'number by offset, same rate' and task == 'place 0'")
slower = slower["accuracy"]
assert slower.max() < 0.98
print(
    "Without the fivefold rate place 0 is not learned in 150 steps: "
    f"{slower.min():.2f} to {slower.max():.2f} right (recorded)"
)


NUMBERS = "0.15"  # no published scheme's colour
OFFSETS = range(-8, 1)  # of the keys that a causal mask leaves


def by_offset(run):
    """What the heads add at these offsets, less the largest, (heads, 9)."""
    table = run[0].encoding.numbers.detach().cpu()[:, :9]
    return table - table.amax(-1, keepdim=True)


third, first = (
    torch.stack([by_offset(run) for run in trained[name]]) for name in TASKS if name != "place 3"
)
steps_up = (first.diff(dim=-1) < 0).all(-1).any(-1).sum().item()
tops = (third.argmax(-1) == OFFSETS.index(-3)).any(-1).sum().item()
fig, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharex=True, sharey=True)
for ax, bias, title in zip(
    axes,
    (third[0], first[0]),
    ("asked for three to the left: one peak", "asked for place 0: the farther, the better"),
    strict=True,
):
    at_work = bias.min(-1).values.argmin().item()  # the head that tells distances apart most
    other = {"color": "0.8", "linewidth": 1, "markersize": 4, "label": "the other head"}
    ax.plot(OFFSETS, bias[1 - at_work], "s-", **other)
    ax.plot(OFFSETS, bias[at_work], "o-", color=NUMBERS, label="the head at work")
    ax.set(title=title, xlabel="offset of the key (0: the query itself)")
to_edge = first[0][first[0].min(-1).values.argmin()]
slope = to_edge.diff().mean().item()
line = to_edge.mean() + slope * (torch.arange(9.0) - 4)
axes[1].plot(OFFSETS, line, "--", color="0.6", linewidth=5, zorder=0, label="a straight line")
axes[1].legend(loc="best")  # for both
axes[0].set_ylabel("learned number, added to the\nscore (less the head's largest)")
plots.show(
    fig,
    "What two heads add to the score at offsets −8 to 0, less the largest, seed 0; dark, the "
    "head with the wider range. Three to the left: a head has its top at offset −3, in "
    f"{tops} of 3 seeds. Place 0: a head rises at every step to the left, in {steps_up} of 3 "
    "seeds; dashed, a straight line beside it.",
)

# %% [markdown]
# **Look:** for place 0 (right) a head likes each farther key more, and the farthest key *is* place
# 0. **The edge of the text is a place.** Place 3 is at no edge, and these 120 steps do not find it.
# It is the test from here on.
#
# ## Move the text
#
# Why not add a vector for each position, from sinusoids or a learned table? Both learn all three
# tasks. But a text need not begin at position 0. Now each stands 50 positions on, with nothing
# before it. A token keeps its *place*. Its **position**, the number that the model is given, is 50
# higher.

# %%
guess = widgets.predict(
    "Three models were trained at positions 0 to 8: learned table, sinusoids, a number for each "
    "offset. Which still name the token three to the left, 50 positions on? (98 % right in each "
    "of 3 seeds.)",
    ["all: it is still three to the left", "sinusoids and numbers", "numbers alone"],
)

# %% tags=["plumbing"]
# The answer: the grid
import itertools

from course_lab import figures

runs = data.results("place_tasks")


def rows_of(encoding, layers=1, heads=4, steps=1500, task="place 3", starts=0, rate=0.01):
    """The runs of one setting, one row a seed; texts of the training begin at 0 to ``starts``."""
    setting = {"encoding": encoding, "layers": layers, "heads": heads, "steps": steps, "task": task}
    setting |= {"starts": starts, "rate": rate}
    return runs[(runs[list(setting)] == list(setting.values())).all(axis=1)]


ROWS = {"learned table": "learned", "sinusoids": "sinusoidal"}  # as the recorded runs name them
titles = {"accuracy": "at positions 0 to 8", "moved": "moved to positions 50 to 58"}


def share(model, task, start=0):
    """The share right of 500 new texts, from position ``start`` on."""
    generator = torch.Generator().manual_seed(9)
    texts = TASKS[task](length=9, vocab_size=5, batch=500, generator=generator)
    positions = torch.arange(9, device=device) + start
    return tasks.accuracy(model, texts.to(device), positions)


def worst(row, task, column):
    """The share right in the worst seed."""
    return rows_of(ROWS[row], heads=2, steps=150, task=task)[column].min()


of_numbers = {
    "accuracy": [min(share(model, task) for model, _ in trained[task]) for task in TASKS],
    "moved": [min(share(model, task, start=50) for model, _ in trained[task]) for task in TASKS],
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
fig, axes = plt.subplots(1, 2, figsize=(11, 3.2), sharey=True)
for ax, (column, title) in zip(axes, titles.items(), strict=True):
    look = {"numbers": grids[column], "form": ".2f", "signed": False, "limit": 1, "title": title}
    above_guessing = ((grids[column] - 0.2) / 0.8).clamp(min=0)  # its colours: from 0.2 to 1
    rows = [
        f"{names[0]},\n120 steps",
        *(f"{name},\n150 steps (recorded)" for name in ROWS),
    ]
    image = figures.numbered(ax, above_guessing, rows, list(TASKS), **look)
axes[1].tick_params(left=False)
bar = fig.colorbar(image, ax=axes, label="right, worst seed\n(0.2: guessing)", shrink=0.9)
bar.set_ticks([0, 0.375, 1], labels=["0.2", "0.5", "1"])
fig.suptitle("When a text moves, offsets answer as before")
some_texts, positions = torch.randint(5, (100, 9), device=device), torch.arange(9, device=device)
with torch.no_grad():  # a number for each offset: the same output 50 positions on
    for model, _ in itertools.chain.from_iterable(trained.values()):
        here, there = model(some_texts, positions), model(some_texts, positions + 50)
        assert torch.allclose(here, there, atol=1e-3)
print("Control (recorded): trained 1,500 steps at other positions, three to the left when moved:")
for name, encoding, starts in (  # texts of the training start at 0 to so many
    ("sinusoids", "sinusoidal", 41),
    ("learned table", "learned", 41),
    ("learned table", "learned", 55),
):
    control = rows_of(encoding, heads=2, task="three to the left", starts=starts)["moved"]
    solved = f"98 % right in {(control >= 0.98).sum()} of {len(control)} seeds"
    print(f"  {name:13} at 0 to {starts + 8}: {solved}")
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
    f"three seeds. {described}. Blind guessing has 0.20. The last two rows are recorded "
    "runs.",
)

# %% [markdown]
# **Look:** once moved, a learned table and sinusoids fail in each task. Numbers do as before: no
# offset has changed. A scheme that sees of positions only $j - i$ is **relative**. (*Longer* texts
# have farther offsets, and late tokens lose place 0:
# [up the ladder](closer/04_up_the_ladder.ipynb).)
#
# The control: a table must meet positions 50 to 58, sinusoids need not.
#
# ## Straight lines
#
# Back to place 3. One head of numbers cannot favour key 3 from each query: from query 4, offset
# $-1$ must beat $-2$; from query 5, $-2$ must beat $-1$. Can several heads?
#
# Place 0 took nearly a straight line. So let a score be a **slope** $m$ times the distance $i - j$.
# The weights are
#
# $$\frac{e^{m(i-j)}}{\sum_{j' \le i} e^{m(i-j')}} = \frac{e^{-mj}}{\sum_{j' \le i} e^{-mj'}}$$
#
# $e^{mi}$ cancels! In the numerator the key's *place* $j$ is left.

# %%
distance = torch.arange(8, -1, -1, dtype=torch.float64)  # of the last query to keys 0 to 8
for slope in (2, 1):
    weights = (slope * distance).softmax(0)
    print(f"slope {slope}:", *(f"{weight:.2f}" for weight in weights[:5]), "…")

# %% [markdown]
# Both heads like key 0 best; slope 1 leaves some weight for key 1. After the heads comes a
# **readout**: it multiplies each head by a factor, adds up, and names the kind of token with the
# largest sum. A factor below 0 subtracts. So let us subtract a part of the steep head, until the
# last query's sum is 0 at key 0.

# %% tags=["plumbing"]
# The gentle head less a part of the steep one
steep, gentle = ((slope * distance).softmax(0) for slope in (2, 1))
part = gentle[0] / steep[0]
left = gentle - part * steep
kept = {}  # by key 0 and by key 1, from each query, with the same part
for query in range(1, 9):
    gentle_there, steep_there = ((slope * distance[-query - 1 :]).softmax(0) for slope in (1, 2))
    from_query = gentle_there - part * steep_there
    assert from_query.min() > -1e-6 and from_query[1] > from_query.sum() / 2
    kept[query] = from_query[:2].tolist()
later = left[2:].sum().item()
fig, axes = plt.subplots(1, 2, figsize=(10, 3.1), sharey=True)
before = {"slope 1": (-0.2, gentle, "0.6"), f"{part:.2f} × slope 2": (0.2, part * steep, "0.3")}
for label, (shift, weights, color) in before.items():
    axes[0].bar(torch.arange(9) + shift, weights, 0.4, color=color, label=label)
axes[0].legend()
axes[0].set(xticks=range(9), xlabel="key", ylabel="weight, from the last query")
axes[0].set_title("before: both as high at key 0")
axes[1].bar([0, 1], left[:2], 0.6, color=["0.6", "C2"])
bottoms = left[2:].cumsum(0) - left[2:]
axes[1].bar([2] * 7, left[2:], 0.6, bottom=bottoms, color="0.6", edgecolor="white")
for key, height in enumerate((left[0].abs().item(), left[1].item(), later)):
    axes[1].text(key, height + 0.01, f"{height:.2f}", ha="center", va="bottom", fontsize=10)
axes[1].set_xticks(range(3), ["key 0", "key 1", "keys 2 to 8, stacked"])
axes[1].set_title("after: key 1 outvotes all later keys")
query = max(kept, key=lambda query: kept[query][0])
key_0, key_1 = kept[query]
print(f"the same part from earlier queries: key 0 keeps at most {key_0:.2f} (from query {query},")
print(f"where key 1 has {key_1:.2f})")
plots.show(
    fig,
    "From the last query. Left: two bars a key, the weights of slope 1, and "
    f"{part:.2f} times those of slope 2; both {gentle[0]:.2f} at key 0, {gentle[1]:.2f} and "
    f"{part * steep[1]:.2f} at key 1. Right: what the subtraction leaves: key 0 "
    f"{left[0].abs():.2f}, key 1 {left[1]:.2f}, keys 2 to 8 stacked {later:.2f}.",
)

# %% [markdown]
# So key 1's token has the largest sum in any text. The same part does for every query: from early
# ones key 0 keeps a little, never as much as key 1.

# %%
guess = widgets.predict(
    "Two such heads and a readout name place 1. What does place 2 take, for 98 % right?",
    ["the same two slopes, other factors", "two other slopes", "a third head", "it cannot be done"],
)

# %% [markdown]
# In the explorer *least squares* chooses the factors: the sum comes as near as it can to 1 at the
# key asked for, and to 0 at the others. In the middle a line is a head's part, its weights times
# its factor; bars are the sum.
#
# 1. Raise head 2's slope. From where is the green bar on the left above 98 %? Where does it fall,
#    and why?
# 2. Set head 2's slope to 1, and ask for place 2. In the middle, which key has the tallest bar? Can
#    you do better *by hand*?
# 3. How high can you bring place 2?

# %%
from course_lab import explorers

explorers.ladder()

# %% tags=["plumbing"]
# The answer
from course_lab.straight_heads import best_readout, keys_asked, share_right, straight_weights

texts = torch.randint(5, (1000, 9))
silence = torch.zeros(1000, 9, 5, dtype=torch.float64)


def answered(slopes, place, factors=None):
    """The factors, by least squares if they are not given, and the share of right answers."""
    weights, keys = straight_weights(slopes, 9), keys_asked(place, 9)
    factors = best_readout(weights, keys) if factors is None else torch.tensor(factors).double()
    return factors, share_right(weights, factors, keys, texts, silence)


halves = [half / 2 for half in range(1, 13)]  # slopes 0.5, 1 … 6


def without_key_1(pair):
    """Factors of two heads whose sum is 0 at key 1, from the last query."""
    steep, gentle = straight_weights(pair, 9)[:, -1, 1].tolist()
    return -gentle / steep, 1


pairs = {}
for pair in itertools.combinations(halves, 2):
    steeper_first = pair[::-1]
    ways = (None, without_key_1(steeper_first))
    pairs[pair] = max(answered(steeper_first, 2, factors)[1] for factors in ways)
third_helps = answered((3, 2, 1), 2)[1] >= 0.98
guess.reveal(
    "the same two slopes, other factors"
    if pairs[1, 2] >= 0.98
    else "two other slopes"
    if max(pairs.values()) >= 0.98
    else "a third head"
    if third_helps
    else "it cannot be done"
)
by_squares, by_hand = (answered((2, 1), 2, factors)[1] for factors in (None, (-2, 1)))
print(f"place 2, slopes 2 and 1: least squares {by_squares:.2f} right, factor −2 {by_hand:.2f};")
print(f"the best of {len(pairs)} pairs of slopes, each with two choices of factors:", end=" ")
print(f"{max(pairs.values()):.2f}")
RUNGS = {1: (2, 1), 2: (3, 2, 1), 3: (5, 3.5, 2.5, 1.5)}
print("by least squares                     largest factor   right")
for place, slopes in RUNGS.items():
    factors, right = answered(slopes, place)
    label = f"place {place}, slopes {', '.join(f'{slope:g}' for slope in slopes)}"
    print(f"{label:36} {factors.abs().max():14,.0f}   {right:.2f}")

# %% [markdown]
# **Look:** a third head. For a readout that only adds, places are a **ladder**: in the table each
# rung has a slope more. Two slopes can empty one key, and place 2 must empty two, 0 and 1. (An MLP
# may do with less: [up the ladder](closer/04_up_the_ladder.ipynb).)
#
# Task 1: where both slopes are equal, two heads do no more than one. Task 2: least squares leaves
# key 1 the tallest. By hand, a factor near −2 empties key 1, but then key 0's token is never named.
#
# Does training climb? One layer is given the slopes, and learns all else.

# %% tags=["plumbing"]
# Slopes that are given, and what training makes of them (recorded)
print("slopes given, all else learned: 98 % right, and the lowest and highest share")
for place, steps in ((1, 1500), (2, 5000), (3, 5000)):
    given = {"heads": place + 1, "task": f"place {place}", "steps": steps}
    rights = rows_of("given slopes", **given)["accuracy"]
    slopes = RUNGS[place]
    label = f"place {place}, slopes {', '.join(f'{slope:g}' for slope in slopes)}"
    print(
        f"{label:36} {steps:,} steps   {(rights >= 0.98).sum()} of {len(rights)} seeds   "
        f"{rights.min():.2f} to {rights.max():.2f}"
    )

# %% [markdown]
# **Look:** it climbs two rungs, the second in most seeds, and misses place 3. For the factors
# alone, Adam fails where Newton's method does not
# ([up the ladder](closer/04_up_the_ladder.ipynb)). Whether this stops the whole model is not known.
#
# **Exercise 1 ★★ Single out.** Take the *last* query of n. Each head's weight times its factor,
# added up, is to be 1 at key $H - 1$, with $H$ heads, and 0 at each key before it. Later keys are
# free. Write `single_out(slopes, n)`: from `slopes` (heads,), float64, all different, the factors
# (heads,). `torch.linalg.solve` solves systems of equations. Use nothing from `course_lab`.


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
from course_lab.checks.lesson04 import check_single_out

check_single_out(single_out)

# %% tags=["plumbing"]
# What your factors make of four slopes
if check_single_out.verdict(single_out).kind == "right":
    weights = straight_weights(RUNGS[3], 9)  # (heads, query, key)
    factors = single_out(torch.tensor(RUNGS[3], dtype=torch.float64), 9)
    everywhere = share_right(weights, factors, keys_asked(3, 9), texts, silence)
    print(f"From all queries of {len(texts):,} texts, your factors name place 3: {everywhere:.2f}")
    at_key_0, total = factors * weights[:, -1, 0], factors @ weights[:, -1]
    fig, axes = plt.subplots(1, 2, figsize=(9.5, 3), width_ratios=(1, 1.3))
    bars = axes[0].bar(range(4), at_key_0, 0.7, color="0.6")
    signed = [f"{height:+,.1f}".replace("-", "−") for height in at_key_0.tolist()]
    axes[0].bar_label(bars, signed, fontsize=10, padding=2)
    axes[0].set_xticks(range(4), [f"slope {slope:g}" for slope in RUNGS[3]], fontsize=10)
    axes[0].set_ylim(1.5 * at_key_0.min(), 1.3 * at_key_0.max())
    axes[0].axhline(0, color="0.5", linewidth=0.8)
    axes[0].set(title="at key 0 thousands add up to 0", ylabel="factor × weight")
    axes[1].bar(range(9), total, 0.7, color=["C2" if key == 3 else "0.6" for key in range(9)])
    axes[1].text(3.6, 0.95, "key 3: 1", color="C2", fontsize=10, va="center")
    later = f"all later keys together: {total[4:].sum():.2f}"
    axes[1].text(8.4, 0.55, later, fontsize=10, color="0.35", ha="right")
    axes[1].set(title="the sum: 1 at key 3, 0 before it", xlabel="key", xticks=range(9))
    plots.show(
        fig,
        "Left: each head's weight on key 0 from the last query times your factor, four slopes: "
        + ", ".join(signed)
        + f". Right: their sum: {', '.join(f'{number:.2f}' for number in total.abs()[:4])} at "
        f"keys 0 to 3, and {total[4:].sum():.2f} at all later keys together.",
    )

# %% [markdown]
# ## A vector for each offset
#
# On paper straight lines name place 3, by large parts that cancel. Training from given slopes
# misses it. Shaw et al. (2018) learn two *vectors* for each offset, $a^K$ and $a^V$:
#
# $$s_{ij} = \frac{q_i \cdot (k_j + a^K_c)}{\sqrt d}, \qquad
# y_i = \sum_j w_{ij}\,(v_j + a^V_c), \qquad c = \operatorname{clip}(j - i, -k, k)$$
#
# $q_i$, $k_j$, $v_j$ and the weights $w_{ij}$ are attention's own. The bare $k$ is a number:
# farther offsets share the vector of offset $\pm k$. Here is the product of $q$ and $a^K$, not yet
# divided:


# %%
def literal(q, table):  # (n, d) and (2k + 1, d) → (n, n), unscaled
    n, k = len(q), len(table) // 2
    c = (torch.arange(n) - torch.arange(n)[:, None]).clamp(-k, k)  # (n, n)
    vectors = table[c + k]  # (n, n, d): one for each query and key
    return (q[:, None] * vectors).sum(-1)


# %% [markdown]
# So Shaw's vectors come in by two doors: $a^K$ in the scores, $a^V$ in the sum. A score says where
# to look. $a^V$ is written into what is seen.
#
# Back to place 3, in one layer of four heads. All is learned, in 6,000 steps at a learning rate of
# 0.003; plain numbers have five times that rate. ($k$ is 16, so that nothing is clipped.)

# %%
options = [
    "the scores' vectors alone do",
    "the sum's vectors alone do",
    "either alone does",
    "only both together do",
    "not even both together do",
]
guess = widgets.predict(
    "Which of Shaw's vectors find place 3 in one layer? (98 % right in each of 3 seeds.)",
    options,
)

# %% tags=["plumbing"]
# The answer; and whether `literal` is the library's
from course_utils.encodings.functional import offset_matrix, shaw_scores

q, table = torch.randn(12, 16), torch.randn(9, 16)
offsets = offset_matrix(torch.arange(12), torch.arange(12))
assert torch.allclose(literal(q, table), shaw_scores(q, table, offsets), atol=1e-4)
SCHEMES = {  # as the recorded runs name them
    "plain numbers": "number by offset",
    "$a^K$ alone, in the scores": "shaw, keys only",
    "$a^V$ alone, in the sum": "shaw, values only",
    "both of Shaw's": "shaw",
}
in_one_layer = {
    name: rows_of(encoding, steps=6000, rate=0.003)["accuracy"].tolist()
    for name, encoding in SCHEMES.items()
}
_, by_scores, by_sum, by_both = (min(rights) >= 0.98 for rights in in_one_layer.values())
option_of = {  # the scores' vectors alone, the sum's alone
    (True, False): 0,
    (False, True): 1,
    (True, True): 2,
    (False, False): 3 if by_both else 4,
}
guess.reveal(options[option_of[by_scores, by_sum]])
fig, ax = plt.subplots(figsize=(8, 2.9), layout="constrained")
for row, (name, rights) in enumerate(in_one_layer.items()):
    heights = [row + 0.16 * (seed - 1) for seed in range(len(rights))]
    color = NUMBERS if name == "plain numbers" else plots.identity("shaw").colour
    ax.plot(rights, heights, "o", color=color)
ax.axvline(0.2, color="0.5", linestyle=":")
ax.axvline(0.98, color="0.5", linestyle=":")
ax.set_xticks([0.2, 0.4, 0.6, 0.8, 0.98], ["0.2\nguessing", "0.4", "0.6", "0.8", "0.98"])
ax.set_yticks(range(len(SCHEMES)), list(SCHEMES))
ax.set(xlim=(0.17, 1.03), ylim=(len(SCHEMES) - 0.5, -0.5))
ax.set_xlabel("right at place 3, a dot a seed (one layer, 6,000 steps, rate 0.003)")
ax.set_title("In one layer $a^V$ finds place 3")
plots.show(
    fig,
    "The share right at place 3 in one layer, recorded, a dot a seed; dotted, 0.98 and guessing. "
    + "; ".join(
        f"{name} {', '.join(f'{right:.2f}' for right in sorted(rights))}".replace("$", "")
        for name, rights in in_one_layer.items()
    )
    + ".",
)


def seeds_right(encoding, **setting):
    """In how many seeds 98 % are right."""
    rights = rows_of(encoding, **setting)["accuracy"]
    return f"{(rights >= 0.98).sum()} of {len(rights)}"


both = rows_of("shaw")["accuracy"]
print("98 % right, in how many seeds:")
print(f"one layer, rate 0.01, 1,500 steps: both of Shaw's {seeds_right('shaw')}", end=" ")
print(f"({both.min():.2f} to {both.max():.2f} right)")
two_layers = {"layers": 2, "heads": 2}
print("two layers, 1,500 steps:")
for rate in (0.003, 0.01):
    counts = (
        f"{name.partition(',')[0]} {seeds_right(encoding, rate=rate, **two_layers)}"
        for name, encoding in SCHEMES.items()
    )
    print(f"  rate {rate}:", "; ".join(counts).replace("$", ""))
without = rows_of("none", rate=0.003, **two_layers)["accuracy"]
slower = seeds_right("number by offset, same rate", rate=0.003, **two_layers)
print(f"  controls, rate 0.003: numbers no faster than the rest {slower};", end=" ")
print(f"no encoding {without.min():.2f} to {without.max():.2f} right")

# %% [markdown]
# **Look:** in this setting one layer finds place 3 with $a^V$, and not with $a^K$ alone. At a rate
# of 0.01, with fewer steps, even both miss it. Two layers can do with numbers. A training that
# fails says little of what a scheme cannot do.
#
# How does $a^V$ alone do it? Then the scores know tokens, and no places.

# %% tags=["plumbing"]
# What the heads of one layer favour, with a^V alone (recorded)
looked_into = rows_of("shaw, values only", steps=6000, rate=0.003)


def numbers_in(column):
    """The numbers that a column of texts holds, of all models."""
    return [float(number) for row in looked_into[column] for number in row.split()]


own = sum(len(set(kinds.split())) == 4 for kinds in looked_into["leans"])
times = numbers_in("lean")
print(f"four heads favour four different kinds of token: {own} of {len(looked_into)} models")
print(f"a key of that kind weighs {min(times):.1f} to {max(times):.1f} times as much as others")
print("right at queries 4 to 8:", end=" ")
for name, column in {"equal weights": "equal_weights", "without a^V": "no_values"}.items():
    rights = numbers_in(column)
    print(f"{name} {min(rights):.2f} to {max(rights):.2f}", end="; " if "eq" in column else "\n")

# %% [markdown]
# In all three models each head favours another kind of token. So its sum of $a^V$ tells something
# of where this kind stands. From these sums, beside those of $v$, the MLP can infer which kind is
# at place 3. Equal weights, or no $a^V$, undo it.
#
# Two layers have another way: layer 1 writes places into tokens, and layer 2 reads them
# ([up the ladder](closer/04_up_the_ladder.ipynb)).
#
# ## The price
#
# A position's vector is added once a token. A number for an offset joins a score that is there.
# But a vector enters every score. As far offsets are clipped, $2k + 1$ serve any text:

# %%
print((torch.arange(6) - torch.arange(6)[:, None]).clamp(-2, 2))  # c for six tokens, k = 2
print(f"1,024 tokens, d = 64: `vectors` fills {4 * 1024**2 * 64 // 2**20} MiB")  # float32

# %% [markdown]
# T5 (Raffel et al. 2019) has numbers, which far offsets share, in **buckets**
# ([term by term](closer/04_term_by_term.ipynb)).
#
# **Exercise 2 ★★ Without the large tensor.** `vectors` holds $n^2 d$ numbers. Write
# `shaw_from_scratch(q, table)`: what `literal` returns, in PyTorch, with no array of more than
# $4n^2$ numbers in memory ($k$ at most $n$; a view takes none). Row c + k of `table` is $a^K_c$. No
# loops, no `torch.vmap`.


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
from course_lab.checks.lesson04 import check_shaw

check_shaw(shaw_from_scratch)

# %% tags=["plumbing", "picture"]
# What positions and offsets are added to, to scale
n, d, k = 12, 8, 4
solved = check_shaw.verdict(shaw_from_scratch).kind == "right"
clipped_offsets = offset_matrix(torch.arange(n), torch.arange(n)).clamp(-k, k)
of_row = plt.get_cmap("RdBu_r")(torch.linspace(0.15, 0.85, 2 * k + 1))  # of `table`
colours = of_row[clipped_offsets + k]  # (n, n, 4)
later = torch.ones(n, n).triu(1).bool()
colours[later.numpy()] = (0.93, 0.93, 0.93, 1)  # keys after the query: a causal mask hides them
BLOCK, PRODUCTS, FETCHED = 17, 38, 54  # where they start
fig, ax = plt.subplots(figsize=(10.4 if solved else 6.6, 3.6))


def sheet(left, colours, top=0):
    """Draw colours (rows, columns, 4) from x = left on."""
    rows, columns, _ = colours.shape
    ax.imshow(colours, extent=(left, left + columns, top + rows, top), interpolation="none")
    ax.add_patch(plt.Rectangle((left, top), columns, rows, fill=False, color="0.6", linewidth=0.8))


def below(left, width, text):
    ax.text(left + width / 2, n + 0.6, text, ha="center", va="top", fontsize=9.5)


sheet(1.7, of_row[None], -2.6)  # what the colours mean
ax.text(1.4, -2.1, "−k", fontsize=9.5, ha="right", va="center")
ax.text(2 * k + 3, -2.1, "k", fontsize=9.5, va="center")
ax.text(k + 2.2, -2.8, "clipped offset", fontsize=9.5, ha="center", va="bottom")
ax.add_patch(plt.Rectangle((2.5, 0), d, n, color="0.75"))
below(2.5, d, f"positions\n$n × d$ = {n} × {d}")
sheet(BLOCK, colours)
back = 0.45 * d  # the block's third axis, drawn aslant
edge = BLOCK + n
for cell in range(n):
    x, y = BLOCK + cell, cell
    top = [(x, 0), (x + 1, 0), (x + 1 + back, -back), (x + back, -back)]
    side = [(edge, y), (edge, y + 1), (edge + back, y + 1 - back), (edge + back, y - back)]
    ax.add_patch(plt.Polygon(top, facecolor=colours[0, cell], edgecolor="0.6", linewidth=0.3))
    ax.add_patch(plt.Polygon(side, facecolor=colours[cell, -1], edgecolor="0.6", linewidth=0.3))
below(BLOCK, n, f"offsets: a vector a pair\n$n × n × d$ = {n} × {n} × {d}\n(grey: later keys)")
if solved:
    sheet(PRODUCTS, of_row[None].repeat(n, axis=0))
    below(PRODUCTS, 2 * k + 1, f"all products\n$n × (2k + 1)$ = {n} × {2 * k + 1}")
    sheet(FETCHED, colours)
    below(FETCHED, n, f"fetched\n$n × n$ = {n} × {n}")
    arrow = {"arrowstyle": "->", "linewidth": 1.4, "color": "0.35"}
    ax.annotate("", (FETCHED - 0.4, 5.5), (PRODUCTS + 2 * k + 1.4, 5.5), arrowprops=arrow)
    ax.text(FETCHED - 3.5, 5, "fetch", ha="center", fontsize=10)
    for left, width in ((PRODUCTS, 2 * k + 1), (FETCHED, n)):
        ax.add_patch(plt.Rectangle((left, 5), width, 1, fill=False, edgecolor="C1", linewidth=3))
ax.set(xlim=(-0.5, FETCHED + n + 0.5 if solved else 33), ylim=(n + 2.8, -4), aspect="equal")
ax.axis("off")
ax.set_title("A position is added once a token, an offset at each pair")
tokens, width = 1024, 64
print(f"{tokens:,} tokens, d = {width}: vectors of positions hold {tokens * width:,} numbers,")
print(f"the largest array of `literal` {tokens**2 * width:,}")
if solved:
    print(f"and that of all products first, then fetched, {tokens**2:,}", end=" ")
    print("(an idea of Huang et al. 2018, arXiv 1809.04281)")
plots.show(
    fig,
    f"To scale, {n} tokens, d = {d}, k = {k}. Positions: a strip of n by d numbers. Offsets in "
    "`literal`: a block of n by n by d, coloured by the clipped offset, −k to k, grey for later "
    "keys; a diagonal has one colour."
    + (
        f" Exercise 2: n by {2 * k + 1} products, from which n by n scores are fetched; row 5 is "
        "framed in both."
        if solved
        else ""
    ),
)

# %% [markdown]
# **Look:** so why not say "three to the left"? Say it: at position 50 it is as true as at 0. But
# each pair pays: it meets a vector or, as in Exercise 2, fetches a number.
#
# Unless it comes apart. A straight line does: $m(i - j) = mi - mj$, and $mi$ cancels. What is left
# is a number a *key*. Can more than a line come apart?
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
            scope="Shaw with k = 2, scores and values, causal, two layers of two heads, 1,500 "
            "steps: name the token at place 3 of nine. Yardstick: 98 % right in each of 3 seeds "
            "counts as telling apart",
            evidence="shipped results",
            seeds=3,
        ),
    }
)

# %% tags=["plumbing"]
# The verdict
from course_utils.encodings import Shaw

clipped = rows_of("shaw, k = 2", layers=2, heads=2)["accuracy"].to_numpy()
shallow = TinyTransformer(5, partial(Shaw, max_distance=2), d_model=32, n_layers=1, n_heads=2)
two_texts = torch.tensor([[0, 1, 2, 3, 4, 0, 1, 2, 3], [3, 1, 2, 0, 4, 0, 1, 2, 3]])
with torch.no_grad():  # keys 0 and 3, more than two back from query 8, in either order
    assert shallow.double()(two_texts)[:, 8].diff(dim=0).abs().max() < 1e-12
myths.settle(
    "C65",
    {"place 3, k = 2": bool(clipped.min() < 0.98)},
    f"Place 3, k = 2: 98 % in {(clipped >= 0.98).sum()} of {len(clipped)} seeds. Layer 1 can tell "
    "a token its place, and layer 2 can read it from the key. One layer could not: two far keys "
    "change places, and the answer stays the same.",
)

# %% [markdown]
# ## In five lines
#
# - A number or a vector for each offset tells it, wherever the text stands.
# - It names the text's edge, too: place 0 is the farthest key (at the length of the training).
# - From there slopes climb on paper, if a readout adds: two name place 1, three 2, four 3.
# - One layer learned place 3 by Shaw's $a^V$ (at a rate of 0.003, 6,000 steps, three seeds).
# - An offset belongs to a query and a key: $n^2$ scores, though only $2n - 1$ offsets differ.
#
# **Read next:** Shaw et al. 2018, arXiv 1803.02155; Raffel et al. 2019, 1910.10683.
#
# **Next:** can an offset be had for a position's price? [Lesson 05](05_rope.ipynb).
