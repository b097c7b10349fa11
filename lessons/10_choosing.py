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
# # 10 · Choosing
#
# **Question:** which one should I use?
#
# After this lesson you can
#
# - find who is beaten in a table of results;
# - say what a plain attention kernel lets an encoding add to the scores;
# - answer five questions about your task, and see who is left.
#
# **Time:** {minutes}. **Builds on:** lessons 02 to 08. **Doors:** all four.
# **Beyond:** [in practice](closer/10_in_practice.ipynb),
# [two texts](closer/10_two_texts.ipynb).

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start(
    doors=["embed", "rotate", "bias", "values"], title="Lesson 10: every door is a choice"
)

# %% [markdown]
# ## A puzzle
#
# LLaMA, Mistral, Qwen, Gemma and SmolLM use RoPE in all or in most of their attention layers.
# Lesson 07 trained small models with 17 encodings for 1,200 steps on texts of 64 bytes, from five
# random starts, or *seeds*, each. A *word* here is a byte. Losses are in *nats a byte*: minus the
# natural logarithm of the chance given to the right byte. The *rise* is the loss at 1024 bytes less
# that at 64, each judged on the second half. (Lesson 07 judged at 2,048; there Shaw fails, too.)
# Sort the 17 by their rise, the smallest first.

# %%
from course_lab import widgets

guess = widgets.predict(
    "Do you remember lesson 07? Texts 16 times as long as in training: where does RoPE stand?",
    ["among the first five", "in the middle", "among the last five"],
)

# %% [markdown]
# [Lesson 07](07_train_short_test_long.ipynb), "Seventeen points", says what each of the 17 does.
# Below, ± is half of the *95 % interval*, in which the mean of many seeds should lie.

# %%
from course_lab import chooser

facts = chooser.facts()  # a row an encoding; each loss is a mean over five seeds
facts["rise"] = [rise.mean for rise in facts.rise_16]
place = facts.rise.rank()["rope"]
print(f"RoPE: place {place:.0f} of {len(facts)}, {facts.rise_16['rope']} nats a byte")

# %% tags=["plumbing"]
# The answer, with loss and rise of the 17
import matplotlib.pyplot as plt

from course_utils import plots

late, early = place > len(facts) - 5, place <= 5
guess.reveal(
    "among the last five" if late else "among the first five" if early else "in the middle"
)

# Where a name stands from its dot, in points, where it does not stand on the right
BESIDE = {
    "deberta": (-6, -3, "right"),
    "transformer_xl": (9, 4, "left"),
    "sandwich": (0, -14, "center"),
    "t5": (8, 4, "left"),
    "rope": (9, 3, "left"),
    "xpos": (-8, 4, "right"),
    "cope": (-8, -9, "right"),
    "fire": (8, 1, "left"),
    "shaw": (8, 2, "left"),
    "learned": (6, 4, "left"),
    "sinusoidal": (-8, -10, "right"),
    "multiplicative": (-8, 5, "right"),
    "none": (-10, -9, "right"),
}
EDGE = 1.56  # nats; an encoding with a higher loss stands here

fig, ax = plt.subplots(figsize=(9, 4.6))
for name, row in facts.iterrows():
    is_in_title = name in ("rope", "alibi")
    colour = plots.identity(name).colour if is_in_title else "0.6"
    at = (min(row.loss, EDGE), row.rise)
    ax.plot(*at, "o", color=colour, markersize=11 if is_in_title else 6)
    x, y, side = BESIDE.get(name, (8, -3, "left"))
    label = name if row.loss < EDGE else f"{name}, at {row.loss:.2f} →"
    style = {"color": colour, "weight": "bold", "size": 11} if is_in_title else {"size": 9}
    ax.annotate(label, at, (x, y), textcoords="offset points", ha=side, **style)
ax.set(yscale="log", xlim=(1.175, 1.58), ylabel="rise to 1024 bytes (nats)")
ax.set_xlabel("loss at 64 bytes, as in training (nats a byte)")
ax.set_yticks([0.01, 0.1, 1], ["0.01", "0.1", "1"])
ax.annotate(
    "better",
    (0.015, 0.03),
    (0.075, 0.13),
    xycoords="axes fraction",
    arrowprops={"arrowstyle": "-|>", "color": "0.4"},
    color="0.4",
)
ax.set_title("RoPE: a low loss and a high rise. ALiBi: the other way round")
plots.show(
    fig,
    "The 17 encodings as points, the loss at 64 bytes to the right, the rise to 1024 bytes upwards "
    "on a logarithmic axis; none and multiplicative, whose loss is higher, at the right edge. "
    "deberta and transformer_xl are lowest on the left; rope has a low loss "
    "and a high rise; alibi a low rise and a higher loss. These two are coloured.",
)

# %% [markdown]
# **Look:** few have a lower loss than RoPE, and few a higher rise. (All 17 rise.) Are all who build
# large models wrong, or is this the wrong picture?
#
# ## Strike out the beaten
#
# Can we rule out some of the 17, whatever matters to us? One encoding *beats* another if it is at
# most as high in every column of a table, and lower in one. Those that nobody beats are the *Pareto
# front*.


# %%
import torch


def undominated_from_scratch(costs):
    undominated = []
    for row in costs:
        at_most = (costs <= row).all(1)
        lower = (costs < row).any(1)
        undominated.append(not bool((at_most & lower).any()))
    return torch.tensor(undominated)


# %%
import pandas as pd

front_of_two = undominated_from_scratch(torch.tensor(facts[["loss", "rise"]].to_numpy()))
print("by loss and rise, beaten by nobody:", ", ".join(facts.index[front_of_two.numpy()]))

# %% [markdown]
# But an encoding has other costs. Let us add two columns: how many numbers it learns, in a layer
# 128 wide with 4 heads, and the *memory*, in KiB, of the tensors that this course's attention makes
# because of it over 64 words, on a CPU. (Other code may make fewer.)

# %%
from course_utils import measures

extra = {}
for name in facts.index:
    card = measures.passport(name, length=64, batch=1, causal=True, max_len=64)
    extra[name] = {"learned": card["parameters"], "memory": card["extra_bytes"] / 1024}  # KiB
table = facts[["loss", "rise"]].join(pd.DataFrame(extra).T)
table.loc[["deberta", "transformer_xl", "sandwich", "rope", "alibi"]].round(2)

# %%
guess = widgets.predict(
    "How can two more columns change how many are beaten by nobody? (No two losses are the same.)",
    ["it can only grow", "it can only shrink", "it can grow or shrink"],
)

# %%
costs = torch.tensor(table.to_numpy())
front = undominated_from_scratch(costs)
assert torch.equal(front, chooser.undominated(costs))

# %% tags=["plumbing"]
# The answer
print("by all four columns, beaten by nobody:", int(front.sum()))
guess.reveal("it can only grow" if front[front_of_two].all() else "it can grow or shrink")

# %% tags=["plumbing"]
# Who is beaten by nobody, by one column, by two, by three and by four
COLUMNS = ["loss", "and rise", "and numbers\nlearned", "and memory"]
on_front = [
    list(table.index[chooser.undominated(costs[:, :n]).numpy()]) for n in range(1, len(COLUMNS) + 1)
]
order = list(dict.fromkeys(name for names in on_front for name in names))  # the first to stand
fig, ax = plt.subplots(figsize=(9, 4.6))
for x, (column, names) in enumerate(zip(COLUMNS, on_front, strict=True)):
    for name in names:
        y = order.index(name)
        is_new = x > 0 and name not in on_front[x - 1]
        look = {"edgecolor": "tab:orange"} if is_new else {"facecolor": "0.92"}
        look |= {"fill": not is_new, "linewidth": 2 if is_new else 0}
        ax.add_patch(plt.Rectangle((x + 0.04, y + 0.06), 0.92, 0.88, **look))
        ax.text(x + 0.5, y + 0.5, name, ha="center", va="center", size=9.5)
    ax.text(x + 0.5, -0.25, column, ha="center", va="top", size=10.5)
    ax.text(x + 0.5, len(names) + 0.2, str(len(names)), ha="center", va="bottom", weight="bold")
ax.set(xlim=(0, len(COLUMNS)), ylim=(-1.6, len(order) + 1.1))
ax.set_axis_off()
ax.set_title("Beaten by nobody: each further column saves some (orange)")
plots.show(
    fig,
    "Four stacks of names, those beaten by nobody; orange, those whom the last column saves. "
    + ". ".join(
        f"By {' '.join(' '.join(COLUMNS[:n]).split())}, {len(names)}: {', '.join(names)}"
        for n, names in enumerate(on_front, 1)
    )
    + ".",
)
print("beaten, by all four columns:", ", ".join(table.index[~front.numpy()]))

# %% [markdown]
# **Look:** the number can only grow, since who beats you by four columns has beaten you by two.
# `sandwich` beats `rope` by three columns; less memory saves `rope`. By the means of all four
# only five are beaten. So the table does not choose. Which costs do *you* pay? Three follow, and
# each becomes a question.
#
# ## The first cost: length
#
# Who pays RoPE's rise? Only those whose queries see a long text whole (not through lesson 06's
# window). Or you *cut* it: read stretches of 64 bytes that overlap by half, each from position 0.
# The loss stays that at 64, but nothing older is seen. Or you train on with longer texts, as lesson
# 08 did. Which loses less?

# %% tags=["plumbing"]
# RoPE at 512 bytes less a cut text, as trained and trained on
from course_utils.results import AS_TRAINED, change
from course_utils.texts import data

rope = data.results("stretching").query("reading == @AS_TRAINED and way == 'direct'")
rope = rope[rope.encoding == "rope"]
as_trained = change(rope, {"tuned": 0, "read": 64}, {"tuned": 0, "read": 512})
tuned = {"tuned": 100, "tuned_at": 512, "read": 512}
control = {"tuned": 100, "tuned_at": 64, "read": 64}
alone_tuned = change(rope, {"tuned": 0, "read": 64}, tuned)
by_training_on = change(rope, {"tuned": 0, "read": 64}, control)
by_length = change(rope, control, tuned)
print("RoPE, trained on 64 bytes: 512 bytes at once, less the same text cut to 64, nats a byte")
print("(lesson 08's runs of *direct*; here 0 is the model before it was trained on)")
print(f"    as trained, {as_trained.repeats} seeds: {as_trained}")
print(f"    after 100 steps more at 512: {alone_tuned}")
print(f"        of this by training on, even at 64 and cut: {by_training_on}")
print(f"        and by the length: {by_length}")

# %% [markdown]
# **Look:** as trained, RoPE loses far more at once than cut. After 100 steps at 512, 0.06 are left,
# 0.03 by the length. So those who cut pay nothing of the rise (but read bytes twice), and training
# on takes most of it away. (Is far text *used*? Lesson 08.) We ask: how long are the *texts*, and
# may I cut?
#
# ## The second cost: training
#
# Lesson 06 trained six ten times as long, and `tents`, where each head prefers a small distance,
# fell behind. Here is one more, `transformer_xl`. (`steep`: ALiBi, slopes 2, 1, ½, ¼.)

# %% tags=["plumbing"]
# Losses after 1,200 and 12,000 steps
from course_utils.models.training import Recipe
from course_utils.texts.text import documentation, split

usual, larger, drawn = map(data.results, ("extrapolation", "larger", "extrapolation_prices"))
runs = pd.concat([usual, larger, drawn[(drawn.n_heads == 4) & (drawn.steps > 300)]])
runs = runs[(runs.reading == AS_TRAINED) & (runs.length == 64) & (runs.corpus == usual.corpus[0])]
trained_longer = runs[runs.steps > usual.steps.iloc[0]]
trained_shortly = runs[runs.steps == usual.steps.iloc[0]]
DRAWN_BY_US = {"steep": "#7a4b00", "tents": "#d6006c"}  # colours, those of lesson 06
seven = {}  # name → for both trainings the losses of all seeds at 64 bytes
for name in ("none", "rope", "t5", "transformer_xl", "alibi", "steep", "tents"):
    of_name = [rows[rows.encoding == name] for rows in (trained_shortly, trained_longer)]
    seven[name] = [rows[rows["read"] == 64].loss.to_numpy() for rows in of_name]
TOP, STEP = 1.46, 0.017  # nats: of the axis, and between two names

fig, ax = plt.subplots(figsize=(9, 5))
for x, at_edge in ((0, -0.14), (1, 1.14)):  # the names at both ends, each by its line
    lowest_label = -1.0
    for name in sorted(seven, key=lambda name: seven[name][x].mean()):
        mean = seven[name][x].mean()
        if mean > TOP:
            continue
        colour = DRAWN_BY_US.get(name) or plots.identity(name).colour
        weight = "bold" if name == "rope" else "normal"
        lowest_label = max(mean, lowest_label + STEP)
        near, far = (x + share * (at_edge - x) for share in (0.45, 0.92))
        ax.plot([near, far], [mean, lowest_label], color=colour, lw=0.8)
        side = "left" if x else "right"
        ax.text(at_edge, lowest_label, name, va="center", ha=side, weight=weight, color=colour)
for n, (name, (at_1_200, at_12_000)) in enumerate(seven.items()):
    colour = DRAWN_BY_US.get(name) or plots.identity(name).colour
    style = "--" if name in DRAWN_BY_US else "-"
    width = 3 if name == "rope" else 1.5
    aside = 0.018 * (n - 3)  # so that no dot hides another
    ends = [aside, 1 + aside]
    means = [at_1_200.mean(), at_12_000.mean()]
    ax.plot(ends, means, style, color=colour, linewidth=width, alpha=0.7)
    for x, losses in zip(ends, (at_1_200, at_12_000), strict=True):
        ax.plot([x] * len(losses), losses, "o", color=colour, markersize=4)
        ax.plot([x] * 2, [losses.min(), losses.max()], color=colour, linewidth=1)
no_early, no_late = (losses.mean() for losses in seven["none"])
at_top = (no_early - TOP) / (no_early - no_late)
ax.text(at_top + 0.02, TOP - 0.015, f"none, from {no_early:.2f}", size=10)
ax.set(xlim=(-0.42, 1.42), ylim=(1.13, TOP), ylabel="loss at 64 bytes (nats a byte)")
recipe, n_read = Recipe("rope"), len(split(documentation()).train)
readings = [recipe.batch * recipe.length * steps / n_read for steps in (1_200, 12_000)]
ax.set_xticks(
    [0, 1],
    [
        f"1,200 steps, {readings[0]:.0f} times the text\n(five seeds)",
        f"12,000 steps, {readings[1]:.0f} times\n(two seeds)",
    ],
)
ax.set_title("Ten times the steps, on the same text: tents ends highest, who is lowest is open")
plots.show(
    fig,
    "Lines from the mean loss at 64 bytes after 1,200 steps to that after 12,000; by their ends "
    "a dot a seed, and a thin bar from the lowest to the highest, longest for none. "
    + "; ".join(
        f"{name} {before.mean():.2f} to {after.mean():.2f}"
        for name, (before, after) in seven.items()
    )
    + ".",
)

# %% [markdown]
# **Look:** `tents` goes from the lowest loss to the highest. Who is lowest now is open: T5 by the
# mean, `none` in the second seed. So a small lead after 1,200 steps should not decide. (No
# distance is safe: `none` was 0.8 behind.) We ask: how far *behind* the best may a loss be?
#
# ## The third cost: the kernel
#
# Fast attention is a *fused kernel*: one program that never stores the matrix of weights. A *plain
# kernel* takes q, k and v, can hide later words, and adds nothing to the scores. RoPE needs no
# more, since it turns q and k before. But ALiBi lowers each score by $m$ for each step of distance.

# %%
guess = widgets.predict(
    "ALiBi in a plain kernel: how many numbers more does each q and k need?",
    ["one", "as many as there are words", "no number will do: the bias has to be passed"],
)

# %%
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import pad
from torch.nn.functional import scaled_dot_product_attention as attend

from course_utils.encodings.functional import alibi_bias, alibi_slopes

q, k, v = torch.randn(3, 1, 4, 64, 32, device=device)  # 4 heads, 64 words, 32 numbers
m, positions = alibi_slopes(4).to(device), torch.arange(64, device=device)
offsets = positions - positions[:, None]  # key less query
bias = alibi_bias(offsets, m).masked_fill(offsets > 0, -torch.inf)
written_out = (q @ k.mT / 32**0.5 + bias).softmax(-1) @ v

# %%
more_of_q, more_of_k = torch.zeros(2, 1, 4, 64, 8, device=device)  # GPUs like eights
more_of_q[..., 0] = (m * 32**0.5).view(4, 1)
more_of_k[..., 0] = positions
wider_q, wider_k = torch.cat([q, more_of_q], dim=-1), torch.cat([k, more_of_k], dim=-1)
with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]):  # fused, or error
    fused = attend(wider_q, wider_k, pad(v, (0, 8)), is_causal=True, scale=32**-0.5)[..., :32]
same = torch.allclose(fused, written_out, atol=1e-4)
print("the same, but for rounding:", same)


# %% tags=["plumbing"]
# The answer, drawn
guess.reveal("one" if same else "no number will do: the bias has to be passed")
fig, ax = plt.subplots(figsize=(5.2, 3.1))
ax.set(xlim=(-2.1, 9.6), ylim=(-3.2, 2.2))
ax.set_axis_off()
rows = ((1.2, "query $i$", "$q_i$", "$m$√$d$"), (0, "key $j$", "$k_j$", "$j$"))
for y, name, numbers, more in rows:
    ax.text(-0.3, y + 0.4, name, ha="right", va="center", size=11)
    ax.add_patch(plt.Rectangle((0, y), 7.75, 0.85, facecolor="0.9"))
    box = {"edgecolor": "tab:orange", "linewidth": 2, "fill": False}
    ax.add_patch(plt.Rectangle((7.85, y), 1.6, 0.85, **box))
    ax.text(3.9, y + 0.42, f"{numbers}, $d$ = 32 numbers", ha="center", va="center", size=11)
    ax.text(8.65, y + 0.42, more, ha="center", va="center", size=11)
score = r"$q_i \cdot k_j\,/\,$√$d\;+\;m\,j$"
for y, name in ((-0.8, "dot product, over √$d$:"), (-1.8, "ALiBi asks for:")):
    ax.text(-2.1, y, name, va="center", size=11)
    ax.text(3.2, y, score, va="center", size=12)
ax.text(6.35, -1.8, r"$-\;m\,i$", va="center", size=12, color="0.35")
ax.plot([6.3, 7.8], [-2.05, -1.55], color="tab:red", linewidth=1.2)
ax.text(9.5, -2.7, "the same for all keys: softmax cancels it", ha="right", va="center", size=11)
ax.set_title("ALiBi in a plain kernel: one number more in q and k")
plots.show(
    fig,
    "Query i and key j as bars of 32 numbers, each with one orange cell more: m times the root of "
    "d in the query, j in the key. Their dot product over the root of d is q · k over the root of "
    "d, plus m j. ALiBi asks for minus m i besides, struck out: softmax cancels it.",
)

# %% [markdown]
# **Look:** as in lesson 04, softmax cancels what all keys of a query share; $m j$ is enough (lesson
# 04's lines rose to the left: $-m j$). It
# goes on rising for later words, so these must be hidden. No bias was stored: ALiBi's memory in our
# table is a matter of code. (In bfloat16, which rounds positions past 256, it takes [two
# numbers](closer/10_in_practice.ipynb).) We allow two, and no more.
#
# Which kernel does each of the 17 need? That depends on what it adds to the scores:

# %%
for kind, rows in facts.groupby("adds", sort=False):
    print(f"{kind + ':':18}", ", ".join(rows.index))

# %% [markdown]
# **Look:** *nothing* and *a straight price* fit a plain kernel. *Numbers* are a bias, the same for
# every text; PyTorch takes it as `attn_mask`. *Asks the word* means another bias
# for each text, and Shaw changes the sum, too. We ask: which *attention*?
#
# ## Five questions
#
# Two more. *reads*: an encoder sees later words too. Eight of the 17 were trained so, to name
# hidden bytes. *starts*: a long chat keeps the keys of its last words in a *cache*. Say 64 of
# 10,000: positions 9,936 to 9,999. Are the weights still those of 0 to 63? (A cut text's pieces are
# read from 0.)
#
# *Clearly* means: with the whole 95 % interval. A single answer strikes out:

# %% tags=["plumbing"]
# One answer to each question, whom it strikes out, and how many
rules = {
    "reads": ("both ways", "those that we did not train so"),
    "texts": ("16 times as long", "those that clearly rise by more than 0.1"),
    "starts": ("anywhere", "those whose weights change as positions move"),
    "attention": ("plain", "those that need more than two numbers more"),
    "behind": (0.1, "those clearly more above the best left"),
}
rows = [
    {
        "question": question,
        "an answer": answer,
        "strikes out": whom,
        "of 17": chooser.struck(**{question: answer})[question].sum(),
    }
    for question, (answer, whom) in rules.items()
]
pd.DataFrame(rows).set_index("question")

# %% [markdown]
# Those that no answer strikes out are *left*. Each answer leaves some, but three together can leave
# nobody:

# %%
from course_lab import explorers

explorers.chooser(reads="both ways", texts="16 times as long", attention="plain")

# %% [markdown]
# 1. Which *one* answer, changed, puts `alibi` first? Say it before you touch it.
# 2. From there set *texts* as in training and *behind* to 1, then *starts* to anywhere. Who goes,
#    and what do they share?
#
# <details><summary>Answers</summary>
#
# 1: *reads*. Both ways the price is no straight line. 2: Five, and all open door 1: they change
# the word's vector.
#
# </details>
#
# ## The answer in one picture
#
# So which one? First a long text in a plain kernel: `steep`, ALiBi with steeper slopes, reads 1,024
# bytes at once, RoPE the same text cut to 64.

# %%
guess = widgets.predict(
    "Do you remember lesson 06? After 1,200 steps at 64 bytes: whose loss is lower there?",
    ["steep's, by more than 0.1", "they are within 0.1", "RoPE's, by more than 0.1"],
)

# %% [markdown]
# Now seven jobs, by their kernel. You can add your own.

# %%
jobs = dict(chooser.JOBS)
# jobs["mine"] = {"reads": "both ways", "texts": "4 times as long", "behind": 0.2}

# %% tags=["plumbing", "readme", "picture"]
# Who is left for which job, in order
YARDSTICK, SHOWN = 0.1, 3  # nats; how many of those left get a box
SHORT = {
    chooser.MAY_CUT: "may cut",
    "4 times as long": "256 bytes",
    "16 times as long": "1024 bytes uncut",
    "any": "any kernel",
    "takes a bias": "a bias",
    "plain": "plain kernel",
    "anywhere": "any start",
}
BLUE, PALE, WIDTH = "#a9cfe6", "#d4e9f7", 1.18  # of a box and the gap after it
UNDER, BRACKET = 1.55, -0.1  # where what stands beside a job's name starts; the line of a kernel
CUT_ROPE, STEEP = 3.1, 4.1  # places of the boxes of two that are no candidates
asked = {job: dict(answers) for job, answers in jobs.items()}
within = {job: answers.pop(chooser.BEHIND, YARDSTICK) for job, answers in asked.items()}
left = {job: chooser.remaining(within[job], **answers) for job, answers in asked.items()}
kernels = [SHORT[answers.get("attention", "any")] for answers in asked.values()]
uncut = usual[usual.reading == AS_TRAINED]
cut = {"encoding": "rope", "read": 64}  # what RoPE loses on a text that it reads cut
with_steep = pd.concat([uncut, chooser.steep_rows()])
cut_less_steep = change(with_steep, {"encoding": "steep", "read": 1024}, cut)
whose = "steep's" if cut_less_steep.mean > 0 else "RoPE's"
far_apart = abs(cut_less_steep.mean) > 0.1
guess.reveal(f"{whose}, by more than 0.1" if far_apart else "they are within 0.1")
fig, ax = plt.subplots(figsize=(6.6, 0.84 * len(jobs) + 1.9))
ax.set(xlim=(-0.5, 6.05), ylim=(len(jobs) + 0.6, -0.9))
ax.set_axis_off()


def draw_box(x, y, name, number, **style):
    """Draw a name with a number under it in the box number x of a row."""
    middle = WIDTH * x + (WIDTH - 0.07) / 2
    ax.add_patch(plt.Rectangle((WIDTH * x, y - 0.19), WIDTH - 0.07, 0.58, **style))
    weight = "bold" if name == "rope" else "normal"
    size = 9 if len(name) > 11 else 10.5
    ax.text(middle, y - 0.01, name, ha="center", va="center", size=size, weight=weight)
    ax.text(middle, y + 0.24, number, ha="center", va="center", size=9, color="0.2")


def signed(gap):
    return f"{gap.mean:+.3f} ± {gap.margin:.3f}".replace("-", "−")


def is_undecided(gap, job):
    """Whether the interval of a gap crosses the job's yardstick; that of the first is 0 wide."""
    return gap.mean + gap.margin > within[job]


def frame_of(x, gap, job):
    """Return the look of a box: the first in blue, dotted where it is undecided."""
    if x and is_undecided(gap, job):
        return {"facecolor": "white", "edgecolor": "0.4", "linestyle": ":"}
    return {"facecolor": PALE if x else BLUE}


beside = {}  # job → what others lose there, less the first
for y, (job, answers) in enumerate(asked.items()):
    if y == 0 or kernels[y] != kernels[y - 1]:  # a line beside the rows of one kernel
        same = next((n for n in range(y, len(jobs)) if kernels[n] != kernels[y]), len(jobs)) - y
        ax.plot([BRACKET] * 2, [y - 0.45, y + same - 0.62], color="0.5", linewidth=2)
        style = {"rotation": 90, "ha": "center", "va": "center", "size": 10.5}
        ax.text(BRACKET - 0.16, y + (same - 1.07) / 2, kernels[y], **style)
    others = [SHORT.get(answer, answer) for name, answer in answers.items() if name != "attention"]
    n_fit = len(chooser.remaining(**answers))
    fits = f"{n_fit} fit" if n_fit != 1 else "1 fits"
    n_behind = n_fit - len(left[job])
    fits += f", {n_behind} too far behind" if n_behind else ""
    gaps = chooser.behind_best(**answers)
    name = job.removesuffix(f", {kernels[y]}")
    ax.text(0, y - 0.33, name, size=10.5, weight="bold", va="center")
    words = f"{', '.join(others) or 'any'}: {fits}"
    if more := left[job][SHOWN:]:
        unsure = [name for name in more if is_undecided(gaps[name], job)]
        words += f"; {len(more)} more to +{gaps[more[-1]].mean:.3f}"
        words += f",\ndotted {', '.join(unsure)}" if unsure else ""
    read = 64 * chooser.TIMES[answers.get("texts", "as in training")]
    if read > 64 and "reads" not in answers and left[job]:
        compared = {"rope, cut": change(uncut, {"encoding": left[job][0], "read": read}, cut)}
        if steep := chooser.steep(within[job], **answers):
            compared["steep"] = steep.behind
        for x, (name, gap) in zip((CUT_ROPE, STEEP), compared.items(), strict=False):
            style = {"facecolor": "white", "edgecolor": "tab:orange"}
            draw_box(x, y, name, signed(gap), **style)
        beside[job] = ", ".join(f"{name} {signed(gap)}" for name, gap in compared.items())
    ax.text(UNDER, y - 0.24, words, size=9, color="0.15", va="bottom", linespacing=1.1)
    loss = chooser.facts(answers.get("reads", chooser.CAUSAL))
    loss = loss[f"loss_{chooser.TIMES[answers.get('texts', 'as in training')]}"]
    for x, name in enumerate(left[job][:SHOWN]):
        number = signed(gaps[name]) if x else f"first, at {loss[name]:.2f}"
        draw_box(x, y, name, number, **frame_of(x, gaps[name], job))
    if not left[job]:
        ax.text(0.07, y, "nobody", va="center", size=10.5)
ax.text(0, -0.7, "left: the first, others with how much more", va="center", size=9.5)
ax.text(WIDTH * CUT_ROPE, -0.7, "beside it, less the first", va="center", size=9.5)
hardly = chooser.facts(chooser.BOTH_WAYS)["loss"][["sinusoidal", "learned"]]
notes = [
    "Blue: the whole interval is within the job's behind, by default 0.1 nats, of the",
    "first. Dotted: it crosses that. Orange: no candidates. An encoder's losses are of",
    "hidden bytes, three seeds: compare them with each other. There",
    " and ".join(f"{name} ({mean:.1f})" for name, mean in hardly.items()) + " had hardly learned.",
    "A sliding cache: losses at 64 bytes from position 0.",
]
ax.text(0, len(jobs) - 0.4, "\n".join(notes), size=9, color="0.3", va="top")
ax.set_title(
    "A plain kernel leaves RoPE and xPos. For long texts\nat once it leaves ALiBi, but RoPE is "
    "lower on the\nsame texts cut. Other kernels leave several"
)
plots.show(
    fig,
    "A row a job: who is left, the lowest loss first, each with its distance from the first and "
    "half of the 95 % interval, in a dotted frame where that interval crosses the job's behind, "
    "0.1 if it names none. Left: "
    + "; ".join(f"{job}: {', '.join(names) or 'nobody'}" for job, names in left.items())
    + ". Beside a long text uncut, RoPE that reads it cut, and steep, which this course drew, less "
    "the first: " + "; ".join(f"{job}: {gaps}" for job, gaps in beside.items()) + ".",
)

# %% [markdown]
# **Look:** RoPE is not wrong. The first picture charged it for what need not be done: cut, it reads
# a long text better than ALiBi does uncut. xPos is level with it, and takes more memory. (A task
# that needs what was cut away cannot cut. Whether others use it, no loss here shows.) In a sliding
# cache that is not all: SmolLM2 needs its first tokens ([closer
# look](closer/10_in_practice.ipynb)).


# %% [markdown]
# ## Exercises
#
# **Exercise 1 ★ The least regret.** You do not know your texts' length. Your *regret*, at a length,
# is how many nats you lose against the best encoding there. Write `least_regret(losses)`, losses
# (encodings, lengths). Return, as an int, the row of the smallest largest regret, the first of
# equals.


# %% tags=["stub"]
def least_regret(losses):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def least_regret(losses):
    regret = losses - losses.min(0).values
    return regret.max(1).values.argmin().item()


# %%
from course_lab.checks.lesson10 import check_least_regret, check_somebodys_favourite

check_least_regret(least_regret)

# %% tags=["plumbing"]
# Who has the least regret?
trained = usual[usual.reading == AS_TRAINED]
every_length = trained.groupby(["encoding", "read"]).loss.mean().unstack()  # 32 to 2048 bytes
if check_least_regret.verdict(least_regret).kind == "right":
    in_plain_kernel = every_length.loc[chooser.remaining(attention="plain")]
    cut_rope = every_length.loc["rope"].copy()
    cut_rope[cut_rope.index > 64] = cut_rope[64]
    among = {
        "of the 17": every_length,
        "in a plain kernel": in_plain_kernel,
        "in a plain kernel, with a row for RoPE, cut": pd.concat(
            [in_plain_kernel, pd.DataFrame({"rope, cut": cut_rope}).T]
        ),
    }
    for who, rows in among.items():
        losses = torch.tensor(rows.to_numpy())
        row = int(least_regret(losses))
        regret = (losses - losses.amin(0)).amax(1)[row]
        print(f"{who}: {rows.index[row]}, at most {regret:.3f} nats from the best of these")


# %% [markdown]
# **Exercise 2 ★★ Somebody's favourite.** Everybody adds up two costs with weights of their own,
# $w$ and $1 - w$, with $0 < w < 1$. Among (0, 10), (6, 7) and (10, 0) nobody beats (6, 7). Is it
# the cheapest for any $w$? Write `somebodys_favourite(costs)`: `costs` is a tensor (rows, 2).
# Return a tensor of bools, one a row: True if for some $w$ it costs less than all others.
#
# The stub has $a$ and $b$, how much *more* a row costs than each rival, and the $w$ at which
# $w a + (1 - w) b = 0$: both cost the same. On which side of it is the row cheaper? (No case has
# ties or three rows in line, and $a$ equals $b$ only for a row and itself.)


# %% tags=["stub"]
def somebodys_favourite(costs):
    a, b = (costs[:, None] - costs).double().unbind(-1)  # (row, rival); 0 for a row and itself
    equal = b / (b - a)  # the w at which both cost the same; nan for a row and itself
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def somebodys_favourite(costs):
    a, b = (costs[:, None] - costs).double().unbind(-1)  # (row, rival); 0 for a row and itself
    equal = b / (b - a)  # the w at which both cost the same; nan for a row and itself
    up_to = torch.where(a > b, equal, torch.inf).amin(1).clamp(max=1)
    from_there = torch.where(a < b, equal, -torch.inf).amax(1).clamp(min=0)
    return from_there < up_to


# %%
check_somebodys_favourite(somebodys_favourite)

# %% tags=["plumbing"]
# Whose favourite is RoPE?
if check_somebodys_favourite.verdict(somebodys_favourite).kind == "right":
    two_costs = torch.tensor(table[["loss", "memory"]].to_numpy())
    chosen, on_front = somebodys_favourite(two_costs), chooser.undominated(two_costs)
    by_seed = trained[trained["read"] == 64].pivot(index="encoding", columns="seed", values="loss")
    at_rope, n_seeds = table.index.get_loc("rope"), len(by_seed.columns)

    def n_wins(memory):
        """In how many seeds RoPE is a favourite, with these KiB for each encoding."""
        of_seeds = torch.stack(
            [
                torch.tensor(pd.DataFrame({"loss": losses, "memory": memory}).to_numpy())
                for _, losses in by_seed.loc[table.index].items()
            ]
        )
        return sum(bool(somebodys_favourite(costs)[at_rope]) for costs in of_seeds)

    wins = {}
    for words in (64, 256):
        prices = {"length": words, "max_len": words, "batch": 1, "causal": True}
        memory = pd.Series(
            {name: measures.passport(name, **prices)["extra_bytes"] / 1024 for name in table.index}
        )
        wins[words] = n_wins(memory)
        of_rope = f"{memory['rope']:.0f} KiB for RoPE"
        print(
            f"memory over {words} words, {of_rope}: a favourite in {wins[words]} of {n_seeds} seeds"
        )

# %% tags=["plumbing"]
# Loss and memory as points, and the edge where favourites lie
if check_somebodys_favourite.verdict(somebodys_favourite).kind == "right":
    fig, ax = plt.subplots(figsize=(9, 5))
    edge = two_costs[chosen][two_costs[chosen][:, 1].argsort()]
    inset, zoomed = ax.inset_axes((0.5, 0.5, 0.48, 0.42)), ("t5", "rope", "xpos", "sandwich")
    for axes in (ax, inset):
        axes.plot(edge[:, 1], edge[:, 0], color="0.6", linewidth=1)
    for name, (loss, memory), is_chosen in zip(table.index, two_costs, chosen, strict=True):
        look = plots.identity(name)
        if memory < 1100 and loss < 1.5:
            face = look.colour if is_chosen else "none"
            beaten_now = not (is_chosen or on_front[table.index.get_loc(name)])
            painted = {"edgecolor": look.colour, "facecolor": face}
            style = {"marker": "x", "color": "0.6"} if beaten_now else painted
            ax.scatter(memory, loss, s=55, **style)
            if name in zoomed:
                inset.scatter(memory, loss, s=55, **style)
                inset.annotate(name, (memory, loss), (6, 6), textcoords="offset points", size=9)
            below = bool(is_chosen) and memory > 0
            place = {"xytext": (-6, -11), "ha": "right"} if below else {"xytext": (6, 4)}
            if name not in zoomed:  # those have their names in the inset
                ax.annotate(name, (memory, loss), textcoords="offset points", size=9, **place)
    inset.set(xlim=(70, 265), ylim=(1.24, 1.263))
    inset.tick_params(labelsize=8)
    of_seeds = f"a favourite in {wins[64]} of {n_seeds} seeds"
    inset.set_title("nearer", size=9)
    for line in ax.indicate_inset_zoom(inset, edgecolor="0.5").connectors:
        line.set_visible(False)  # they would cross a name
    cheapest = table.index[int(two_costs[:, 1].argmin())]
    ax.text(75, 1.485, f"↑ to {cheapest}", size=9)
    ax.set(
        xlabel="memory of this course's code over 64 words (KiB)",
        ylabel="loss (nats a byte)",
        xlim=(-30, 1100),
    )
    ax.set_ylim(1.2, 1.5)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.set_title(f"Full: somebody's favourite, by the means. RoPE is {of_seeds}")
    plots.show(
        fig,
        "Encodings as points, memory to the right, loss upwards; those with more of it or a loss "
        "above 1.5 are left out. A line from one favourite, a full point, to the next is the lower "
        "left edge of all points: "
        + ", ".join(table.index[chosen.numpy()])
        + ". Hollow, beaten by nobody and nobody's favourite: "
        + ", ".join(table.index[(on_front & ~chosen).numpy()])
        + ". ×: beaten. In an inset, nearer: t5, sandwich and, just above the line between "
        f"them, rope, {of_seeds}.",
    )

# %% [markdown]
# **Look:** a favourite is always on the front, but not every row of the front is a favourite. And
# memory is a matter of code and of length: with the memory of 256 words, and the loss still at 64,
# RoPE is a favourite in all seeds.

# %% [markdown]
# ## Myth check
#
# Guess first. One case against a claim, within its brackets, makes it false.

# %% tags=["plumbing"]
# A claim
from course_lab.claims import Claim, Myths

myths = Myths(
    {
        "C59": Claim(
            "What reads long texts well pays for it at the trained length.",
            scope="encodings whose loss rises by at most 0.1 nats from 64 bytes to 2048; pays: at "
            "64 bytes clearly more than 0.05 nats behind the best of all 17",
            evidence="shipped results",
            seeds=5,
        ),
    }
)

# %% tags=["plumbing"]
# The verdict
rises = {
    name: change(trained, {"encoding": name, "read": 64}, {"encoding": name, "read": 2048})
    for name in facts.index
}
holding = [name for name in facts.index if not rises[name].above(0.1)]
gaps_at_64 = {name: facts["behind_1"][name] for name in holding}

myths.settle(
    "C59",
    {name: gap.above(0.05) for name, gap in gaps_at_64.items()},
    "Behind the best at 64 bytes: "
    + ", ".join(f"{name} {gap if gap.mean else 'is the best'}" for name, gap in gaps_at_64.items())
    + ".",
)

# %% [markdown]
# ## In five lines
#
# - A language model: RoPE; cut longer texts. To read farther, stretch; large models train on, too.
#   (Ours: 64 bytes, 1,200 steps, plain kernel.) In any kernel: DeBERTa, 0.03 lower.
# - Long texts uncut: ALiBi, at 64 bytes 1.40 against RoPE's 1.25. RoPE on cut texts and steeper
#   slopes uncut were clearly lower (1024).
# - Uncut, where a kernel takes a bias: Sandwich, T5, behind these two (and lesson 06's tents);
#   else Transformer-XL, DeBERTa.
# - An encoder: RoPE; sinusoids and a table hardly learned. In any kernel: Transformer-XL, clearly
#   lower.
# - Not measured: large models, images. [Two texts](closer/10_two_texts.ipynb).
#
# **Read next:** [RoPE in some layers](https://arxiv.org/abs/2501.18795).
#
# **Next:** can you tell a broken encoding from a healthy one? [Lesson 11](11_capstone.ipynb).
