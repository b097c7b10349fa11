# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # 03 · Learned
#
# **Question:** what does a model learn when we let it choose its own position vectors?
#
# After this lesson you can
#
# - write a learned table and say which of its rows a batch can change;
# - read the similarity matrix and the main directions of a real trained table;
# - say what happens past the last row, for four ways to go there;
# - spot a test that reads rows which were never trained.
#
# **Time:** {minutes}. **Builds on:** lesson 02, gradient descent. **Doors:** 1, token embeddings.

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start(doors=["embed"], title="Lesson 03: learned opens door 1")

# %% [markdown]
# ## A table and nothing else
#
# Lesson 02 computed the vector of position $p$. Here it is a row of a matrix $E$ of weights,
# trained like all others:
#
# $$y_p = x_p + E_p, \qquad E \in \mathbb{R}^{L \times D}.$$
#
# $L$ is the number of rows, so the longest text. The rows start small and random.

# %%
import torch
from torch.nn import functional as F

from course_utils.encodings import create


class LearnedFromScratch(torch.nn.Module):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = torch.nn.Parameter(0.02 * torch.randn(max_len, d_model))

    def forward(self, x, positions):  # x: (batch, seq, d_model), positions: (seq,)
        return x + self.table[positions]  # a row for each position, the same in every sentence


learned = create("learned", d_model=32, n_heads=2, max_len=64)
mine = LearnedFromScratch(64, 32)
mine.load_state_dict(learned.state_dict())
x, positions = torch.randn(2, 10, 32), torch.arange(10)
learned_from_scratch = mine(x, positions)
assert torch.equal(learned_from_scratch, learned.embed(x, positions))
print("from scratch = reference, parameters:", sum(p.numel() for p in mine.parameters()))

# %% [markdown]
# Each row has its own weights. Nothing in the formula says that row 7 lies between rows 6 and 8.
# If the order of the rows has a meaning, training has put it there.

# %%
from course_lab import widgets

guess = widgets.predict_number(
    "A table of 64 rows, a batch of 2 sentences of 10 tokens: how many rows get a gradient?"
)

# %%
mine(x, positions).square().sum().backward()
touched = int((mine.table.grad.abs().sum(1) > 0).sum())
mine.zero_grad()
guess.reveal(touched, "rows")
for rows, width in ((512, 384), (512, 768), (1024, 768), (100_000, 768)):
    print(f"{rows:7,} rows × {width}: {rows * width:12,} parameters")

# %% [markdown]
# **Look:** only rows that were read can learn. And the count is $L \cdot D$: it grows with the
# longest text that we want to allow. The sinusoidal encoding has no weights and no last row.
#
# ## Train one
#
# BERT's table was trained by hiding words and guessing them. We do this in miniature. Our "text"
# knows 8 different tokens. The next token is often the same again. Some are hidden (token 0), and
# the model names them. The nearest visible token is the best clue, so the model must find out which
# tokens are *near*.

# %%
from course_lab.tasks import token_at_place
from course_utils.texts import tasks
from course_utils.texts.tasks import IGNORED_TARGET, Examples


def fill_in(length, batch, generator):
    starts_run = torch.rand(batch, length, generator=generator) < 0.3  # here another token begins
    choice = torch.randint(1, 9, (batch, length), generator=generator)
    run_start = torch.where(starts_run, torch.arange(length), 0).cummax(1).values
    text = choice.gather(1, run_start)
    hidden = torch.rand(batch, length, generator=generator) < 0.3
    return Examples(text.masked_fill(hidden, 0), text.masked_fill(~hidden, IGNORED_TARGET))


example = fill_in(24, 1, torch.Generator().manual_seed(0))
answers = torch.where(example.targets == IGNORED_TARGET, example.tokens, example.targets)
print("seen  ", *example.tokens[0].tolist())
print("text  ", *answers[0].tolist())

# %% [markdown]
# Two more tasks ask for places more directly: *name the token before you*, and *name the token at
# place 3*. For each task we train one small layer on texts of 32 tokens, with a learned and with a
# sinusoidal encoding. The learned rows start at 0.02, as in BERT, or at 0.7, as large as sinusoids.
# The table has 64 rows. Remember that.

# %%
from course_utils.models import TinyTransformer
from course_utils.models.training import fit


def before(length, batch, generator):
    return tasks.token_at_offset(-1, length=length, batch=batch, vocab_size=9, generator=generator)


def place_3(length, batch, generator):
    return token_at_place(3, length=length, batch=batch, vocab_size=9, generator=generator)


TASKS = {"fill in": fill_in, "token before": before, "token at place 3": place_3}


# %%
SMALL, LARGE, SINES = "learned from 0.02", "learned from 0.7", "sinusoidal"
STARTS = {SMALL: {"std": 0.02}, LARGE: {"std": 0.7}, SINES: {}}


def train(task, kind, steps=400):
    """Train on texts of 32 tokens; return the model, its losses, and the table at every step."""
    torch.manual_seed(2)
    sizes = {"d_model": 32, "n_layers": 1, "n_heads": 2, "max_len": 64, "causal": False}
    model = TinyTransformer(9, kind.split()[0], **sizes, **STARTS[kind]).to(device)
    generator, tables = torch.Generator().manual_seed(2), []

    def loss():
        if kind != SINES:
            tables.append(model.encoding.table.detach().cpu().clone())
        return tasks.loss(model, task(32, 32, generator).to(device))

    return model, torch.tensor(fit(model, loss, steps, lr=1e-2)), tables


def score(model, task, length, first=0):
    """Share of right answers on 256 fresh texts, at places from `first` on."""
    examples = task(length, 256, torch.Generator().manual_seed(1)).to(device)
    examples.targets[:, :first] = IGNORED_TARGET  # not asked
    return tasks.accuracy(model, examples)


# %%
guess = widgets.predict(
    "Token before, rows from 0.02: whose loss is halfway down at least 20 steps earlier?",
    ["learned, as it may take any shape", "sinusoidal", "neither"],
)

# %%
LEARNED = {"fill in": SMALL, "token before": SMALL, "token at place 3": LARGE}
pairs = [(name, kind) for name in TASKS for kind in (LEARNED[name], SINES)]
steps = {("token before", SMALL): 600}  # it waits longest; the others have 400
runs = {
    (name, kind): train(TASKS[name], kind, steps.get((name, kind), 400))
    for name, kind in [*pairs, ("token before", LARGE)]
}
accuracy, halfway = {}, {}
for name, kind in runs:
    model, losses, _ = runs[name, kind]
    accuracy[name, kind] = score(model, TASKS[name], 32)
    level = losses[:10].mean() + 0.5 * (losses[-50:].mean() - losses[:10].mean())
    smoothed = losses.unfold(0, 10, 1).mean(1)
    halfway[name, kind] = int((smoothed < level).nonzero()[0])
    print(f"{name:17} {kind:17} right {accuracy[name, kind]:.1f}")
small, large, sines = (halfway["token before", kind] for kind in STARTS)
faster = "sinusoidal" if small > sines else "learned, as it may take any shape"
guess.reveal(faster if abs(small - sines) >= 20 else "neither")
print("learned from 0.7 is at least 20 steps later than sinusoidal:", large - sines >= 20)

# %% [markdown]
# *Fill in* cannot be done perfectly: the best clue may be wrong. We know how the texts are made, so
# we can compute the best possible answers, by Bayes' rule, from the left and from the right.


# %%
def beliefs(tokens):
    """Probability of each of 8 tokens, from what was seen up to each place: (batch, seq, 8)."""
    evidence = F.one_hot(tokens, 9)[..., 1:].double()
    evidence[tokens == 0] = 1  # hidden: nothing seen
    transition = 0.7 * torch.eye(8).double() + 0.3 / 8
    posteriors = [evidence[:, 0]]
    for place in range(1, tokens.shape[1]):
        joint = (posteriors[-1] @ transition) * evidence[:, place]
        posteriors.append(joint / joint.sum(1, keepdim=True))
    return torch.stack(posteriors, 1)


examples = fill_in(32, 4000, torch.Generator().manual_seed(1))
both_sides = beliefs(examples.tokens) * beliefs(examples.tokens.flip(1)).flip(1)
hidden = examples.targets != IGNORED_TARGET
ceiling = (both_sides.argmax(-1) + 1 == examples.targets)[hidden].double().mean().item()
print(f"fill in, best possible: {ceiling:.2f} right")

# %%
import matplotlib.pyplot as plt

from course_utils import plots

fig, axes = plt.subplots(1, 3, figsize=(9.5, 3.1), sharey=True)
for ax, name in zip(axes, TASKS, strict=True):
    for kind, colour in zip(STARTS, ("C0", "C2", "C1"), strict=True):
        if (name, kind) in runs:
            curve = runs[name, kind][1].unfold(0, 10, 1).mean(1)
            ax.plot(curve, color=colour, linestyle="--" if kind == SINES else "-", label=kind)
    ax.set(title=name, xlabel="training step")
    ax.legend(loc="upper right")
axes[0].set(ylabel="loss (nats), mean of 10 steps", ylim=(0, 3.6))
final = {key: run[1][-50:].mean().item() for key, run in runs.items()}
described = "; ".join(f"{task}, {kind}: {final[task, kind]:.1f}" for task, kind in runs)
plots.show(
    fig,
    "Loss against training step for three tasks. For the token before, rows from 0.02 stay on a "
    f"plateau first. Mean of the last 50 steps: {described}.",
)

# %% [markdown]
# **Look:** for *token before*, rows from 0.02 wait on a plateau: beside words of size 1 they are
# hardly heard. Rows that start as large as sinusoids do not wait. So the handicap was the start,
# not the table. (BERT's words start at 0.02 too.) At the end all are at the ceiling of their task:
# right answers cannot tell them apart. (From 0.02, *token at place 3* sometimes gets stuck, so it
# starts from 0.7. One run each.)
#
# ## Structure emerges
#
# Here is the table of the fill-in model, before, during and after.

# %%
from course_lab import figures
from course_lab.measures import diagonal_strength, similarity_by_offset
from course_utils import measures

model, losses, tables = runs["fill in", SMALL]
trained = model.encoding.table.detach().cpu()  # (64, 32)
stages = {"before": tables[0], "step 150": tables[150], "after": trained}
alike = {name: measures.similarity_matrix(table[:32]) for name, table in stages.items()}
fig, axes = plt.subplots(1, 3, figsize=(9.5, 3.1))
for ax, name in zip(axes, alike, strict=True):
    figures.similarity(ax, alike[name], title=name)
profiles = {name: similarity_by_offset(matrix) for name, matrix in alike.items()}
plots.show(
    fig,
    "Similarity of rows 0 to 31 at three times. At first only the diagonal is dark. At the end "
    f"there is a broad band around it: neighbours are {profiles['after'][1]:.1f} alike on average.",
)

# %% [markdown]
# **Look:** nobody told the table that row 7 lies between rows 6 and 8. The band around the diagonal
# came out of the task, since near tokens give similar clues. Half a text away the rows even point
# the opposite way (blue). Is it the same for the other tasks?

# %%
fig, ax = plt.subplots(figsize=(7, 3.6))
shapes = {}
for name in TASKS:
    rows = runs[name, LEARNED[name]][0].encoding.table.detach().cpu()[:32]
    shapes[name] = similarity_by_offset(measures.similarity_matrix(rows))[:24]
plots.lines(
    ax,
    shapes,
    title="three tables, trained for three tasks",
    xlabel="distance (positions)",
    ylabel="mean cosine similarity",
)
smooth_tasks = [name for name, shape in shapes.items() if shape[1] > 0.7]
print("neighbours at least 0.7 alike:", *smooth_tasks)
plots.show(
    fig,
    f"Similarity against distance for three trained tables. High at 1: {', '.join(smooth_tasks)}.",
)

# %% [markdown]
# **Look:** each task leaves its own curve. *Fill in* falls slowly, far below zero, and comes back,
# much like one turn of a clock hand. For *token before* even neighbours are not alike: each row
# must be told from the next. For *token at place 3* distance does not count: this table only has to
# tell one row from the rest. A learned table holds what its task asked for.

# %% [markdown]
# ## Rows that were never trained
#
# Our texts had 32 tokens, the table has 64 rows. How far did each row move from where it started?

# %%
moved = (trained - tables[0]).norm(dim=1)  # (64,)
unread = moved[32:].max().item()
print(f"rows 32 to 63 moved by up to {unread:.1f}")
fig, ax = plt.subplots(figsize=(7, 3.2))
plots.lines(
    ax,
    {"trained": trained.norm(dim=1), "initial": tables[0].norm(dim=1)},
    title="length of each row",
    xlabel="position",
    ylabel="norm",
)
plots.show(
    fig,
    f"Norm of each row. Rows 0 to 31: {trained[:32].norm(dim=1).mean():.0f} on average; rows 32 "
    f"to 63 lie on the curve of the initial ones, near {trained[32:].norm(dim=1).mean():.1f}.",
)

# %% [markdown]
# **Look:** no gradient, no step. (AdamW is another matter: its decay shrinks unread rows too.) But
# what of rows that are read *rarely*? BERT trained nine tenths of its steps on 128 tokens, and read
# its rows up to 511 in the last tenth only (its appendix A.2). We train with random lengths, mostly
# short ones, once with Adam and once with plain gradient descent.

# %%
guess = widgets.predict(
    "Rows read in 2 to 10 % of the steps move by more than their initial length …",
    ["with neither", "with Adam only", "with gradient descent only", "with both"],
)


# %%
def train_on_short(optimizer):
    """How far 40 rows moved (in initial norms), how often read, share of the way made unread."""
    torch.manual_seed(0)
    sizes = {"d_model": 32, "n_layers": 1, "n_heads": 2, "max_len": 40, "causal": False}
    model = TinyTransformer(9, "learned", **sizes)
    table = model.encoding.table.detach()
    read_share, path = torch.zeros(40), torch.zeros(2, 40)
    initial, generator = table.clone(), torch.Generator().manual_seed(0)
    steps = optimizer(model.parameters())
    for _ in range(200):
        length = 9 + int(24 * torch.rand((), generator=generator) ** 6)  # 9 to 32
        is_read = torch.arange(40) < length
        read_share += is_read / 200
        steps.zero_grad()
        tasks.loss(model, fill_in(length, 16, generator)).backward()
        before_step = table.clone()
        steps.step()
        moved = (table - before_step).norm(dim=1)
        path += torch.stack([moved, moved * ~is_read])  # in all steps, in those without the row
    return (table - initial).norm(dim=1) / initial.norm(dim=1), read_share, path[1] / path[0]


# %%
from functools import partial

shifts, unread_shares = {}, {}
optimizers = {
    "Adam": partial(torch.optim.Adam, lr=1e-2),
    "gradient descent": partial(torch.optim.SGD, lr=0.3),
}
for name, optimizer in optimizers.items():
    shifts[name], read_share, unread_shares[name] = train_on_short(optimizer)
rare, often = (read_share > 0.02) & (read_share < 0.1), read_share > 0.9
rare_means = {name: shift[rare].mean().item() for name, shift in shifts.items()}
ratios = {name: rare_means[name] / shift[often].mean().item() for name, shift in shifts.items()}
for name, ratio in ratios.items():
    print(f"{name}: rare rows move {ratio:.1f} times as far as rows that nearly every step reads")
unread_share = unread_shares["Adam"][rare].mean().item()
print(f"Adam: share of that way made in steps that did not read the row: {unread_share:.1f}")
print(f"AdamW, rate 0.01, decay 0.1: 200 unread steps leave {(1 - 0.01 * 0.1) ** 200:.2f} of a row")

# %%
fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.4))
plots.lines(axes[0], {"read": read_share}, title="share of steps", legend=False)
plots.lines(axes[1], shifts, title="how far each row moved")
axes[0].set(xlabel="row", ylabel="share of steps that read it")
axes[1].set(xlabel="row", ylabel="distance / initial norm")
axes[1].set_yscale("symlog", linthresh=0.1)
plots.show(
    fig,
    "Left: rows past 8 are read ever more rarely. Right: how far each row moved. With Adam rare "
    "rows move far, with gradient descent hardly; rows that no step reads do not move.",
)
moved_far = [name for name, value in rare_means.items() if value > 1]
answers = ["with neither", f"with {' and '.join(moved_far)} only", "with both"]
guess.reveal(answers[len(moved_far)])

# %% [markdown]
# **Look:** plain gradient descent leaves rare rows nearly where they were. Adam moves them far, and
# most of the way while they are *not read*: it keeps the direction of the last gradient for some
# steps. (The two learning rates cannot be matched, so we compare rare rows with often read ones of
# the same run.) That says nothing of how *good* the new place is.
#
# ## Past the end
#
# A table has a last row. What about the token after it? Four answers are in use. *Error*: refuse.
# *Clamp*: all later tokens read the last row. *Interpolate*: squeeze the positions until they fit.
# *Spare rows*: make the table longer than the training texts. We measure each at twice the
# length.

# %%
guess = widgets.predict(
    "Trained on 32 tokens, read at 64, task “fill in”: which way loses least?",
    ["clamp", "interpolate", "spare rows", "all three lose about the same"],
)


# %%
def at_64(name, way, first=0):
    """Share of right answers at 64 tokens, the table continued in one of three ways."""
    if way == SINES:
        return score(runs[name, way][0], TASKS[name], 64, first)
    model = runs[name, LEARNED[name]][0]
    if way == "spare rows":
        return score(model, TASKS[name], 64, first)
    attention = model.blocks[0].attention
    trained_encoding = attention.encoding  # 64 rows, 32 of them trained
    continued = create("learned", d_model=32, n_heads=2, max_len=32, beyond=way).to(device)
    continued.table.data.copy_(trained_encoding.table.data[:32])
    attention.encoding = continued
    accuracy = score(model, TASKS[name], 64, first)
    attention.encoding = trained_encoding
    return accuracy


# %%
WAYS = ("clamp", "interpolate", "spare rows")
ways = (*WAYS, SINES)
accuracy_at_64 = {(name, way): at_64(name, way) for name in TASKS for way in ways}
late_accuracy = {(name, way): at_64(name, way, first=32) for name in TASKS for way in ways}
for name in TASKS:
    row = ", ".join(f"{way} {accuracy_at_64[name, way]:.1f}" for way in ways)
    print(f"{name:17} at 32: {accuracy[name, LEARNED[name]]:.1f}; at 64: {row}")
best = sorted(WAYS, key=lambda way: accuracy_at_64["fill in", way])[::-1]
lead = accuracy_at_64["fill in", best[0]] - accuracy_at_64["fill in", best[1]]
guess.reveal(best[0] if lead > 0.03 else "all three lose about the same")

# %%
fig, axes = plt.subplots(1, 3, figsize=(9.5, 3.1), sharey=True)
for ax, name in zip(axes, TASKS, strict=True):
    ax.bar(range(4), [accuracy_at_64[name, way] for way in ways], color=["C0", "C1", "C2", "0.6"])
    ax.plot(range(4), [late_accuracy[name, way] for way in ways], "kD", markeredgecolor="white")
    ax.axhline(accuracy[name, LEARNED[name]], color="black", linewidth=1, linestyle="--")
    ax.axhline(1 / 8 if name == "fill in" else 1 / 9, color="0.5", linewidth=1, linestyle=":")
    ax.set(title=name, ylim=(0, 1.08))
    ax.set_xticks(range(4), ways, rotation=25, ha="right")
axes[0].set_ylabel("share of right answers")
described = "; ".join(
    f"{name}, {way} {accuracy_at_64[name, way]:.1f} and {late_accuracy[name, way]:.1f}"
    for name, way in accuracy_at_64
)
plots.show(
    fig,
    "Bars of right answers at 64 tokens for three tasks and four ways, diamonds for places 32 to "
    "63 alone, a dashed line for the learned table at 32 tokens, a dotted one for guessing: "
    f"{described}.",
)

# %% [markdown]
# **Look:** the dashed line is the trained length, the dotted one guessing, grey the sinusoidal
# model. Half of the 64 tokens stand at trained places, so a bar near 0.5 may hide a failure. The
# diamonds are places 32 to 63 alone. No way wins everywhere. Interpolation keeps what is near near,
# so it suits *fill in* best. It moves place 3 and halves the step to the token before, so there it
# fails. For *token at place 3* the last row serves all later tokens well.
#
# And the first of the four answers:

# %% tags=["raises-exception", "nbval-ignore-output"]
create("learned", d_model=32, n_heads=2, max_len=32).embed(torch.zeros(1, 64, 32), torch.arange(64))

# %% [markdown]
# An error is the only one of the four that tells you. Clamping and interpolating are at least
# choices that somebody made. Spare rows happen: nothing fails, and the numbers look like a result.
# Exercise 4 comes back to this.
#
# ## A real trained table
#
# The course ships the position table of all-MiniLM-L6-v2, a BERT-like sentence encoder: 512
# positions, 384 dimensions (`data/README.md` has its source and licence). First its sizes.

# %%
from course_lab.position_table import position_table

real = position_table()  # (512, 384)
sizes = real.norm(dim=1)
print("norm of rows 0 to 4:", [f"{value:.2f}" for value in sizes[:5].tolist()])
print(f"norm of rows 1 to 510: {sizes[1:511].min():.2f} to {sizes[1:511].max():.2f}")
print(f"norm of row 511: {sizes[511]:.2f}")
ratio = sizes[0] / sizes[1:].median()
print(f"row 0 is {ratio:.1f} times as long as the median row")

# %% [markdown]
# **Look:** row 0 is odd. In this kind of model every text begins with the mark [CLS], so row 0
# never meets a word. Row 0 and that mark's embedding are only ever seen as a sum. We leave row 0
# out of what follows. The last row is odd as well, perhaps because few texts are that long, or
# because those that were cut to 512 tokens end there with another mark, [SEP]. (The model was
# fine-tuned on at most 128 word pieces; its later rows come from the model that it was made from.)

# %%
guess = widgets.predict(
    "In the real table, with growing distance the similarity of two rows …",
    ["falls at every step", "falls at first, then goes up and down", "stays about the same"],
)

# %%
real_alike = measures.similarity_matrix(real[1:])  # rows 1 to 511
real_profile = similarity_by_offset(real_alike)
fig, axes = plt.subplots(1, 2, figsize=(8.5, 3.5))
figures.similarity(axes[0], real_alike[:48, :48], title="real table, rows 1 to 48")
axes[0].set_xticks(range(0, 48, 15), range(1, 49, 15))
axes[0].set_yticks(range(0, 48, 15), range(1, 49, 15))
plots.lines(axes[1], {"real": real_profile[:60]}, title="similarity against distance", legend=False)
axes[1].set(xlabel="distance (positions)", ylabel="mean cosine similarity")
described = ", ".join(f"{real_profile[k]:.2f} at {k}" for k in (1, 3, 6, 9, 100))
plots.show(
    fig, f"A banded similarity matrix, and its mean against distance: {described}. The curve waves."
)
peak = 3 + int(real_profile[3:9].argmax())
print(f"similarity {described}")
print(f"after the first fall it is largest at distance {peak}")
spans = ((1, 30), (30, 60), (60, 100), (100, 200), (200, 300), (300, 400), (400, 510))
spans = {f"{a}–{b}": real_profile[a:b].mean().item() for a, b in spans}
print("mean at", ", ".join(f"{span}: {value:.2f}" for span, value in spans.items()))
ups = (torch.tensor(list(spans.values())).diff() > 0).any()
guess.reveal("falls at first, then goes up and down" if ups else "falls at every step")

# %% [markdown]
# **Look:** bands along the diagonal, as in our small table, and then stripes beside them. There
# is a rhythm of a few positions. Where in the table does it sit? We take its
# main directions (principal components): the direction in which the rows differ most, then the
# next one, and so on.

# %%
guess = widgets.predict_number(
    "How many of the 384 directions hold 90 % of the variance of the real table?", "directions"
)

# %%
from course_utils.encodings.functional import sinusoidal_table

computed = sinusoidal_table(torch.arange(512), 384)
noise = torch.randn(511, 384, generator=torch.Generator().manual_seed(0))
tables_of = {"real": real[1:], "sinusoidal": computed[1:], "random": noise}
tables_of["random walk"] = noise.cumsum(0)  # smooth, and no more than that
tables_of["straight line"] = torch.linspace(-1, 1, 511)[:, None] * noise[0]
variance_held, n_directions = {}, {}
for name, table in tables_of.items():
    variances = torch.linalg.svdvals(table - table.mean(0)).square()
    variance_held[name] = variances.cumsum(0) / variances.sum()
    n_directions[name] = int((variance_held[name] < 0.9).sum()) + 1
print("directions for 90 % of the variance:", n_directions)
guess.reveal(n_directions["real"], "directions")


# %%
def directions(table):
    """Each row along each main direction, the strongest first: (rows, directions)."""
    u, strength, _ = torch.linalg.svd(table - table.mean(0), full_matrices=False)
    return u * strength * u[99].sign()  # a direction's sign is free


waves = directions(real[1:])
for name in ("real", "random walk"):
    spectrum = torch.fft.rfft(directions(tables_of[name])[:, :4], dim=0).abs()
    periods = (511 / (1 + spectrum[1:].argmax(0))).tolist()
    listed = ", ".join(f"{period:.1f}" for period in periods)
    print(f"{name}: periods of directions 1 to 4, in positions: {listed}")

# %%
fig, axes = plt.subplots(1, 3, figsize=(9.5, 3.1))
plots.lines(
    axes[0], {name: line[:40] for name, line in variance_held.items()}, x=torch.arange(1, 41)
)
axes[0].set(title="variance held", xlabel="directions", ylabel="share", ylim=(0, 1.05))
plots.lines(axes[1], {"1": waves[:40, 0], "2": waves[:40, 1]}, x=torch.arange(1, 41))
axes[1].set(title="directions 1, 2", xlabel="position", ylabel="value", ylim=(-0.2, 0.35))
plots.lines(axes[2], {"3": waves[:, 2], "4": waves[:, 3]}, x=torch.arange(1, 512))
axes[2].set(title="directions 3, 4", xlabel="position", ylim=(-0.35, 0.4))
plots.show(
    fig,
    f"Left: variance held by the first 40 directions of {', '.join(variance_held)}. Right: "
    "directions 1 to 4 of the real table: a fast wave and one ahead of it, and two slow waves.",
)

# %% [markdown]
# **Look:** few directions prove little: a random walk needs fewer, a straight line one. Nor do slow
# waves: the main directions of anything smooth look like them (Shinn 2023, *Phantom oscillations in
# principal component analysis*), and the random walk has them too. But directions 1 and 2 of the
# real table are a *fast* wave of one period, one ahead of the other. That is a clock hand, like a
# pair of lesson 02. The model was never shown a sine.
#
# The explorer rebuilds the table from its first directions only. Keep 2, then 3, then 10. Which
# positions become distinguishable?

# %%
from course_lab import explorers

explorers.components()

# %% [markdown]
# The same as still pictures, for position 100.

# %%
fig, axes = plt.subplots(1, 3, figsize=(9.5, 2.7), sharey=True)
alike_counts = {}
for ax, n_kept in zip(axes, (2, 4, 20), strict=True):
    cosines = measures.similarity_matrix(waves[:, :n_kept])[99]
    alike_counts[n_kept] = int((cosines > 0.9).sum())
    plots.lines(ax, {"": cosines}, x=torch.arange(1, 512), title=f"{n_kept} kept", legend=False)
    ax.axvline(100, color="0.5", linewidth=1)
    ax.set(xlabel="position", xlim=(60, 140))
axes[0].set(ylabel="cosine with position 100", ylim=(-1.05, 1.05))
described = ", ".join(f"{count} with {n_kept}" for n_kept, count in alike_counts.items())
print(f"positions more than 0.9 alike to position 100, itself included: {described} directions")
plots.show(
    fig,
    "Similarity of position 100 to positions 60 to 140, the real table rebuilt from 2, 4 and 20 "
    f"directions. Of all positions more than 0.9 alike: {described}.",
)

# %% [markdown]
# **Look:** two directions give one hand, which is at the same hour again and again. The slow
# directions say which turn it is. It is the same division of labour as between fast and slow
# hands in lesson 02.
#
# ## Sines, or only smooth?
#
# The power of a table at each period tells more. We sum it by octaves (256 to 512 positions, 128 to
# 256, …) and look for gaps: octaves with less than half of each neighbour's power.

# %%
octaves, peak_share, gaps = {}, {}, {}
period = 511 / torch.arange(1, 256)
for name, table in tables_of.items():
    power = torch.fft.rfft(table, dim=0).abs().square()[1:]  # without the mean
    peak_share[name] = (power.amax(0) / power.sum(0)).median().item()
    share = power.sum(1) / power.sum()
    octaves[name] = torch.stack([share[(period.log2().ceil() == k)].sum() for k in range(9, 1, -1)])
    inside = octaves[name][1:-1]
    gaps[name] = int((2 * inside < torch.minimum(octaves[name][:-2], octaves[name][2:])).sum())
    print(f"{name:13} {gaps[name]} gaps; strongest frequency of a column: {peak_share[name]:.2f}")
fig, ax = plt.subplots(figsize=(7.5, 3.6))
plots.lines(ax, octaves, title="power by octave", xlabel="period, up to (positions)")
ax.set_xticks(range(8), [2**k for k in range(9, 1, -1)])
ax.set_ylabel("share of the power")
described = ", ".join(f"{value:.2f}" for value in octaves["real"].tolist())
plots.show(
    fig,
    f"Power by octave of period for five tables. Real: {described} from 512 positions down. "
    "Random walk and straight line fall from the left, noise rises to the right.",
)

# %% [markdown]
# **Look:** smooth decoys have most of their power in the slowest octave and ever less after it. The
# real table has power in slow *and* fast octaves, with gaps between: separate rhythms. No decoy has
# that, and neither have the sinusoids, whose periods lie close together. But a single column of the
# real table is no sine: its strongest frequency (median column) has far less than half of its
# power, and by that measure even a straight line is "more like a sine".

# %% [markdown]
# ## In a real model
#
# Is all this only a picture, or does a model live on it? We ask the encoder that the table comes
# from.

# %% tags=["pretrained"]
from course_lab.session import if_installed
from course_utils import pretrained
from course_utils.texts import data

encoder = if_installed(pretrained.minilm)

# %% [markdown]
# It reads 20 paragraphs of Python's documentation, once with its own table and then with tables in
# which something is missing. Each time we take the cosine of a paragraph's vector with its former
# one.

# %% tags=["pretrained"]
if encoder is not None:
    paragraphs = data.verified("documentation.txt").read_text(encoding="utf-8").split("\n\n")
    paragraphs = [" ".join(text.split()) for text in paragraphs]
    prose = [text for text in paragraphs if text[:1].isupper() and text.endswith(".")]
    texts = [text for text in prose if 220 <= len(text) <= 280][::6]
    unchanged = encoder.embed(texts)  # (20, 384), each of length 1
    lengths = encoder.encode(texts)[1].sum(1)
    print(f"{len(texts)} paragraphs of {lengths.min()} to {lengths.max()} tokens")


def notice(rows):
    """Cosine of each paragraph's vector with its former one, rows 1 to 511 exchanged: (20,)."""
    return (encoder.with_table(torch.cat([real[:1], rows])).embed(texts) * unchanged).sum(1)


# %%
guess = widgets.predict(
    "Only the first main directions of the table are kept. How many of the 384 does it take "
    "until the vectors are at least 0.99 alike to the former ones, on average?",
    ["4", "10", "20", "more than 20"],
)

# %% tags=["pretrained"]
if encoder is not None:
    mean = real[1:].mean(0)
    u, strength, v = torch.linalg.svd(real[1:] - mean, full_matrices=False)
    similarities, enough = {}, "more than 20"
    for n_kept in (20, 10, 4, 0):
        cosines = notice(mean + (u[:, :n_kept] * strength[:n_kept]) @ v[:n_kept])
        share = strength[:n_kept].square().sum() / strength.square().sum()
        similarities[f"{n_kept} directions"] = cosines
        enough = str(n_kept) if cosines.mean() >= 0.99 else enough
        print(
            f"{n_kept:2} directions, {100 * share:2.0f} % of the variance: {cosines.mean():.3f}, "
            f"from {cosines.min():.2f} to {cosines.max():.2f}"
        )
    guess.reveal(enough)

# %% [markdown]
# **Look:** with 20 directions no paragraph notices that 364 are gone. Ten hold most of the
# variance, and are not quite enough. (Without any, every row is the mean: no position at all.)
#
# And the rhythms? We cut the periods into five bands, each three times as fast as the one before,
# and take out one at a time.

# %% tags=["pretrained"]
if encoder is not None:
    spectrum = torch.fft.rfft(real[1:], dim=0)[1:]  # (255, 384), without the mean
    power = spectrum.abs().square().sum(1)
    for k in range(5):
        fastest = 511 / 3 ** (k + 0.5) if k < 4 else 0  # the last band takes what is left
        band = (period > fastest) & (period <= 511 / 3 ** (k - 0.5))
        rest = torch.cat([511 * mean[None], spectrum * ~band[:, None]])
        cosines = notice(torch.fft.irfft(rest, n=511, dim=0))
        strongest, share = period[(power * band).argmax()], power[band].sum() / power.sum()
        similarities[f"without period {strongest:.0f}"] = cosines
        print(
            f"strongest period {strongest:3.0f}, {100 * share:.0f} % of the power: without it "
            f"{cosines.mean():.3f}, from {cosines.min():.2f} to {cosines.max():.2f}"
        )

# %% tags=["pretrained"]
if encoder is not None:
    fig, ax = plt.subplots(figsize=(7, 3.6))
    figures.strips(ax, similarities, title="20 paragraphs", xlabel="cosine with the former vector")
    described = ", ".join(f"{name} {cosines.mean():.2f}" for name, cosines in similarities.items())
    plots.show(fig, f"A dot for each paragraph in nine rows, with the mean of each: {described}.")

# %% [markdown]
# **Look:** five rhythms, each about three times as fast as the one before, and ten strong
# directions: a sine and a cosine for each, it seems. The encoder reads all five. Whichever is
# missing, its vectors move, though never as far as without any position. It misses the two slow
# ones least, perhaps because these texts are shorter than one turn of theirs. So a model that
# people use tells the place of a word by five clock hands, and nobody told it how.

# %% [markdown]
# ## Places learned by heart
#
# Lesson 01 trained on sentences of three words that all began at position 0. What if the same
# sentence begins at 1? The *order* is the same. Only the places have changed.

# %%
from course_lab.sentences import SentenceClassifier, who_loves_whom

loves = who_loves_whom().to(device)
BEGIN = (0, 1, 2, 3, 10, 20)


def train_sentences(kind, latest):
    """Train with sentences that start at 0 … latest; accuracy at each start of BEGIN."""
    torch.manual_seed(0)
    sizes = {"d_model": 64, "n_layers": 1, "n_heads": 2, "max_len": 32, "causal": False}
    body = TinyTransformer(len(loves.words), kind.split()[0], **sizes, **STARTS[kind])
    model = SentenceClassifier(body).to(device)

    def loss():
        places = torch.randint(latest + 1, (1,)) + torch.arange(3)
        return F.cross_entropy(model(loves.train, places), loves.train_labels)

    fit(model, loss, 200 if latest else 100, lr=5e-3)
    return [model.accuracy(loves.test, loves.test_labels, s + torch.arange(3)) for s in BEGIN]


# %%
guess = widgets.predict(
    "Learned table, always trained from position 0. Sentences that start at 1 are classified",
    ["nearly as well as before, 0.8 at least", "no better than by a coin toss, 0.6 at most"],
)

# %%
settings = [(LARGE, 0), (SINES, 0), (LARGE, 20), (SINES, 20)]
accuracy_by_start = {setting: train_sentences(*setting) for setting in settings}
print(f"{'at least 0.8 right? starts in training':39} tested at", *[f"{s:4}" for s in BEGIN])
for name, latest in settings:
    shares = accuracy_by_start[name, latest]
    answers = ["yes" if share >= 0.8 else "no" for share in shares]
    print(f"{name:17} 0 … {latest:2} {'':25}", *[f"{answer:>4}" for answer in answers])
at_1 = accuracy_by_start[LARGE, 0][1]
stays_good, coin_toss = (
    "nearly as well as before, 0.8 at least",
    "no better than by a coin toss, 0.6 at most",
)
guess.reveal(stays_good if at_1 >= 0.8 else coin_toss if at_1 <= 0.6 else f"{at_1:.1f}")

# %% [markdown]
# **Look:** the table knows "row 0 acts", not "the first word acts". One step on, it is lost. The
# sinusoidal model survives one step, perhaps as its neighbours are alike, and is lost further out.
# Random starts in training cure both. So it is the data that taught the place instead of the order,
# whatever the encoding.

# %% [markdown]
# ## A window of 512
#
# A table of 512 rows reads 512 tokens. Longer texts are cut into pieces. What does a cut cost?
# Count the pairs of tokens at most 50 apart that never stand in the same piece.


# %%
def cut(n, window, overlap):
    """Start of each piece; the last one may be shorter."""
    return list(range(0, max(n - overlap, 1), window - overlap))


def lost_pairs(n, window, overlap, reach=50):
    """Share of pairs at most `reach` apart that no piece holds, and tokens read in all."""
    in_one_piece = torch.zeros(n, n, dtype=torch.bool)
    pieces = [slice(s, min(s + window, n)) for s in cut(n, window, overlap)]
    for piece in pieces:
        in_one_piece[piece, piece] = True
    distances = (torch.arange(n)[:, None] - torch.arange(n)).abs()
    near = (distances > 0) & (distances <= reach)
    n_read = sum(piece.stop - piece.start for piece in pieces)
    return (near & ~in_one_piece).sum().item() / near.sum().item(), n_read


costs = {overlap: lost_pairs(2000, 512, overlap) for overlap in (0, 25, 50, 128, 256)}
for overlap, cost in costs.items():
    lost, n_read = cost
    print(f"overlap {overlap:3}: {100 * lost:.2f} % of near pairs lost, {n_read:,} tokens read")

# %% [markdown]
# **Look:** an overlap as long as the reach loses no near pair, and every token in it is read
# twice. But a link between the first and the last page is lost with any overlap. A longer table
# would not lose it, but its rows want long texts to learn from.

# %% [markdown]
# ## What it does to attention
#
# Take 24 identical tokens and $W_k = W_q$ random. Without position the entropy is $\log 24$.

# %%
import math

from course_lab.sentences import word_vectors
from course_utils.attention import MultiHeadAttention

x = word_vectors(["buffalo"] * 24, 32)[None]
fresh = create("learned", d_model=32, n_heads=2, max_len=64)
fresh.table.data.copy_(tables[0])
after = create("learned", d_model=32, n_heads=2, max_len=64)
after.table.data.copy_(trained)
encodings = {"before training": fresh, "after training": after}
encodings["sinusoidal"] = create("sinusoidal", d_model=32, n_heads=2)

# %%
nats, own_weight = {}, {}
for name, encoding in encodings.items():
    torch.manual_seed(0)
    heads = MultiHeadAttention(32, 2, encoding).requires_grad_(False)
    heads.W_k.weight.copy_(heads.W_q.weight)
    weights = heads(x, need_weights=True)[1][0]
    nats[name] = measures.entropy(weights).mean(0)  # (24,), mean of the heads
    own_weight[name] = diagonal_strength(weights).mean().item()

# %%
fig, ax = plt.subplots(figsize=(7, 3.4))
figures.entropy(ax, nats, math.log(24), title="entropy of attention, two heads", floor=3)
described = "; ".join(f"{name}: {values.mean():.1f}" for name, values in nats.items())
plots.show(fig, f"Entropy over 24 query positions, mean in nats: {described}.")
print("weight on the own position:", {name: f"{value:.1f}" for name, value in own_weight.items()})

# %% [markdown]
# **Look:** mind the axis: it starts at 3. A fresh table is so small that attention does not notice
# it. After training the entropy lies a little below the ceiling, as with sinusoids. Queries and
# keys are random here, so they hardly use what the table offers.
#
# ## Fingerprint and passport

# %%
ranges = {}
for name, encoding in (("before training", fresh), ("after training", after)):
    scores = measures.fingerprint(encoding, 32)
    deviations = scores - scores.mean((-1, -2), keepdim=True)
    ranges[name] = (deviations.max() - deviations.min()).item()
    print(f"spread of the scores {name}: {'above' if ranges[name] > 1 else 'below'} 1")
plots.show(
    figures.fingerprint(scores, "Fingerprint of learned, after training"),
    "Two squares, one a head, with high scores in a band around the diagonal.",
)

# %%
from course_lab.measures import passport_text

facts = measures.passport("learned")
print(passport_text(facts))

# %% tags=["volatile"]
print(f"time on this machine: {facts['time_ratio']:.2f} × attention without encoding")

# %% [markdown]
# **Look:** before training the scores hardly differ. After it a band around the diagonal stands
# out, as rows near each other have become alike. The passport describes a fresh table. Its
# change under a shift is therefore small: there is hardly any position in it yet. Its longest text
# is its number of rows.

# %% [markdown]
# ## Exercises
#
# **Exercise 1 ★★ The gradient of a table.** In `out = x + table[:seq]` the gradient of the loss for
# `out` is known: `upstream`, of shape (batch, seq, d_model). Write `table_gradient(upstream,
# max_len)`: the gradient for the whole table, (max_len, d_model).


# %% tags=["stub"]
def table_gradient(upstream, max_len):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def table_gradient(upstream, max_len):
    gradient = torch.zeros(max_len, upstream.shape[-1])
    gradient[: upstream.shape[1]] = upstream.sum(0)  # a row serves every sentence of the batch
    return gradient


# %%
from course_lab.checks.lesson03 import (
    check_pieces,
    check_safe_rows,
    check_stretch,
    check_table_gradient,
)

check_table_gradient(table_gradient)

# %% [markdown]
# **Exercise 2 ★★ Stretch a table.** Write `stretch(table, n)`: n rows read linearly between the
# rows of the table, so that the first is row 0 and the last is the last row.


# %% tags=["stub"]
def stretch(table, n):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def stretch(table, n):
    place = torch.linspace(0, len(table) - 1, n)
    below = place.long()
    above = (below + 1).clamp(max=len(table) - 1)
    share = (place - below)[:, None]
    return (1 - share) * table[below] + share * table[above]


# %%
check_stretch(stretch)

# %% [markdown]
# **Exercise 3 ★ Pieces.** Write `pieces(n, window, overlap)`: how many pieces does a text of n
# tokens need? Two pieces in a row share `overlap` tokens, and no token is dropped. Find a
# formula: do not count the list that `cut` makes.


# %% tags=["stub"]
def pieces(n, window, overlap):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def pieces(n, window, overlap):
    return 1 + math.ceil(max(n - window, 0) / (window - overlap))


# %%
check_pieces(pieces)

# %% [markdown]
# **Exercise 4 ★★ Find the bug: a table sized to the test length.** Train short, test long, and make
# the table long enough that nothing crashes: the learned encoding then gets a number at every test
# length. (The author of a well-known tutorial warns of such rows on GitHub:
# bentrevett/pytorch-seq2seq, issue 32.) See what it reads, and write
# `safe_rows(table, positions, n_trained)`: the rows, or a `ValueError` if any of them was never
# trained.


# %%
def sized_to_the_test(train_len, test_lens, d_model):
    return torch.nn.Embedding(max(train_len, *test_lens), d_model)


position_rows = sized_to_the_test(32, [64, 128], 32)
print(f"rows {len(position_rows.weight)}, of which training at 32 tokens reaches 32")
for name in ("token before", "fill in"):
    right, late = accuracy_at_64[name, "spare rows"], late_accuracy[name, "spare rows"]
    print(f"{name:16} at 64 tokens: {right:.1f}, past row 31 alone {late:.1f}")


# %% tags=["stub"]
def safe_rows(table, positions, n_trained):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def safe_rows(table, positions, n_trained):
    if (positions >= n_trained).any():
        raise ValueError(f"positions must be below {n_trained}, got {positions.max()}")
    return table[positions]


# %%
check_safe_rows(safe_rows)

# %% [markdown]
# ## Myth check
#
# Guess first. The verdicts come from the measurements above; C20's from the trained text models of
# lesson 07, as our small tasks end in a tie at the ceiling.

# %%
from course_lab.claims import Claim, Myths

claims = {
    "C20": Claim(
        "A learned table beats the sinusoidal one when test and training length are equal.",
        scope="lesson 07's models, rows not smaller than sinusoids; lower loss in each seed",
        evidence="shipped results",
        seeds=5,
    ),
    "C21": Claim(
        "A trained table ends up looking like sinusoids.",
        scope="the real table; half of a column's power in one frequency (median column), as in a "
        "sine, and neighbours alike in our three small ones",
        evidence="trained here",
        seeds=1,
    ),
}

# %%
myths = Myths(
    claims
    | {
        "C23": Claim(
            "Rows seen rarely in training stay near their initial values.",
            scope="rows read in 2 to 10 % of the steps; near: moved by less than their first norm",
            evidence="trained here",
            seeds=1,
            choice="the optimizer",
        ),
        "C24": Claim(
            "BERT, GPT-2, GPT-3 and ViT use learned absolute positions.",
            scope="the models as their papers describe them",
            evidence="source",
        ),
    }
)

# %%
results = data.results("extrapolation")
at_home = results[(results.reading == "as trained") & (results.read == 64)]
losses = at_home.pivot(index="seed", columns="encoding", values="loss")
deficits = (losses["learned"] - losses["sinusoidal"]).dropna()
myths.settle(
    "C20",
    {f"seed {seed}": value < 0 for seed, value in deficits.items()},
    f"At 64 bytes, the trained length, learned is behind in {int((deficits > 0).sum())} of "
    f"{len(deficits)} seeds, by {deficits.mean():.3f} nats on average (its sinusoidal twin: "
    f"{losses['sinusoidal'].mean():.3f}).",
)

# %%
myths.settle(
    "C21",
    {
        "the real table's columns": peak_share["real"] > 0.5,
        **{f"our table of {name}": name in smooth_tasks for name in TASKS},
    },
    "Power in a column's strongest frequency: "
    + ", ".join(f"{name} {peak_share[name]:.2f}" for name in tables_of)
    + f". But the whole real table has {gaps['real']} gaps between its rhythms; "
    + ", ".join(f"{name} {count}" for name, count in gaps.items() if name != "real")
    + ".",
)

# %% tags=["pretrained"]
if encoder is not None:
    columns = torch.fft.rfft(encoder.encoding.table[1:], dim=0).abs().square()[1:]
    strongest = (columns.amax(0) / columns.sum(0)).median().item()
    cosine = similarities["20 directions"].mean()
    myths.in_a_real_model(
        "C21",
        {"its columns": strongest > 0.5},
        f"Power in a column's strongest frequency: {strongest:.2f}, in full precision. Yet 20 "
        f"directions with a few rhythms do for the table: {cosine:.3f}.",
        "all-MiniLM-L6-v2",
    )

# %%
myths.settle(
    "C23",
    {name: value < 1 for name, value in rare_means.items()},
    "Further than its initial norm: "
    + ", ".join(f"{name} {'yes' if value > 1 else 'no'}" for name, value in rare_means.items())
    + ". A row that is never read stays put, except under weight decay.",
)

# %% [markdown]
# C24 is not for us to measure. It is in the papers: Devlin et al. 2019 (BERT, arXiv 1810.04805),
# Radford et al. 2019 (GPT-2, built like GPT of 2018, whose paper says it), Brown et al. 2020
# (GPT-3, arXiv 2005.14165, built like GPT-2) and Dosovitskiy et al. 2021 (ViT, arXiv 2010.11929).

# %%
sources = {
    "BERT": "Devlin et al. 2019",
    "GPT-2": "Radford et al. 2019",
    "GPT-3": "Brown et al. 2020",
    "ViT": "Dosovitskiy et al. 2021",
}
myths.settle("C24", dict.fromkeys(sources, True), f"By {'; '.join(sources.values())}.")

# %% [markdown]
# Two claims are left for lesson 07, which has real text and several seeds: C22, "positions past the
# table can be read by interpolating it", and C25, "learned positions are the right choice for long
# sequences".

# %% tags=["pretrained"]
myths.table()

# %% [markdown]
# ## In five lines
#
# - A learned table is $L \cdot D$ weights, one row a position; only rows that were read can learn.
# - Order among the rows is not built in. It emerges if the task asks for it.
# - A real table has separate rhythms, slow and fast, that our smooth decoys lack. Its model needs
#   20 of 384 directions, and misses each rhythm.
# - Past the end an error is honest. Spare rows are noise in disguise.
# - Texts that always start at 0 can teach the place instead of the order.
#
# **Read next:** Devlin et al. 2019, *BERT*, arXiv 1810.04805; Wang and Chen 2020, *What Do
# Position Embeddings Learn?*, arXiv 2010.04903.
#
# **Next:** [lesson 04](04_relative.ipynb) asks for distances instead of places.
