# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # 03 · Learned: rows in training
#
# For those who train a table: how rows should start, what becomes of rows that are read rarely, and
# what texts teach that always begin at 0. It builds on [lesson 03](../03_learned.ipynb). Each
# section can be read alone; run the cells from the top.
#
# **Time:** {minutes}.

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start()

# %%
import matplotlib.pyplot as plt
import torch
from torch.nn import functional as F

from course_lab import widgets
from course_utils import plots
from course_utils.encodings import create
from course_utils.models import TinyTransformer
from course_utils.models.training import fit
from course_utils.texts import data, tasks

# %% [markdown]
# ## A start that is hardly heard
#
# BERT's rows start at a standard deviation of 0.02, and so do its words. In our small models words
# start near 1. The task is *name the token before you*, in texts of 32.


# %%
def learn_the_token_before(encoding, seed, steps=250, **options):
    """The model after training, and its losses."""
    torch.manual_seed(seed)
    sizes = {"d_model": 32, "n_layers": 1, "n_heads": 2, "max_len": 32, "causal": False}
    model = TinyTransformer(9, encoding, **sizes, **options).to(device)
    generator = torch.Generator().manual_seed(seed)

    def loss():
        recipe = {"length": 32, "batch": 32, "vocab_size": 9, "generator": generator}
        return tasks.loss(model, tasks.token_at_offset(-1, **recipe).to(device))

    return model, torch.tensor(fit(model, loss, steps, lr=1e-2))


# %%
starts = {
    "learned from 0.02": ("learned", {"std": 0.02}),
    "learned from 0.7": ("learned", {"std": 0.7}),
    "sinusoidal": ("sinusoidal", {}),
}
runs = {
    (name, seed): learn_the_token_before(encoding, seed, **options)
    for name, (encoding, options) in starts.items()
    for seed in (0, 1)
}

# %% tags=["plumbing"]
# The curves, and the step at which each has half of the way behind it
halfway = {}
fig, ax = plt.subplots(figsize=(7, 3.2))
for (name, seed), (_, losses) in runs.items():
    smoothed = losses.unfold(0, 10, 1).mean(1)
    below = (smoothed < smoothed[0] / 2).nonzero()
    halfway[name, seed] = int(below[0]) if len(below) else len(smoothed)
    colour = {"learned from 0.02": "C0", "learned from 0.7": "C2", "sinusoidal": "C1"}[name]
    ax.plot(smoothed, color=colour, label=name if seed == 0 else None)
ax.set(xlabel="training step", ylabel="loss (nats), mean of 10 steps", ylim=(0, None))
ax.set_title("Rows that start small wait longest")
ax.legend()
late = [halfway["learned from 0.02", seed] - halfway["learned from 0.7", seed] for seed in (0, 1)]
n_late = sum(gap >= 20 for gap in late)
print("from 0.02 is halfway at least 20 steps after from 0.7:", n_late, "of 2")
plots.show(
    fig,
    "Loss while the token before is learned, two seeds each. All wait on a plateau first; rows "
    "from 0.7 and sinusoids leave it within 250 steps, rows from 0.02 later.",
)

# %% [markdown]
# **Look:** beside words of size 1, rows of 0.02 are hardly heard. The handicap is the start, not
# the table: compare learned rows with sinusoids only at like sizes.
#
# ## Rows that are read rarely
#
# BERT trained nine tenths of its steps on 128 tokens, and its rows up to 511 in the last tenth only
# (Devlin et al. 2019, appendix A.2). Here texts have 9 to 32 tokens, mostly few; once with Adam and
# once with plain gradient descent.

# %%
guess = widgets.predict(
    "Rows read in 2 to 10 % of the steps move by more than their initial length …",
    ["with neither", "with Adam only", "with gradient descent only", "with both"],
)


# %%
def is_read(step):
    """Which of 40 rows a text reads; long texts are rare. The same in each training."""
    share = torch.rand((), generator=torch.Generator().manual_seed(1000 + step))
    return torch.arange(40) < 9 + int(24 * share**6)


def repeats(length, generator):
    """A batch in which the model names the token before."""
    recipe = {"batch": 16, "vocab_size": 9, "generator": generator}
    return tasks.token_at_offset(-1, length=length, **recipe)


# %%
def train_on_short(make_optimizer):
    """The table's rows before each of 201 steps: (201, 40, 32)."""
    torch.manual_seed(0)
    sizes = {"d_model": 32, "n_layers": 1, "n_heads": 2, "max_len": 40, "causal": False}
    model, generator = TinyTransformer(9, "learned", **sizes), torch.Generator().manual_seed(0)
    optimizer, history = make_optimizer(model.parameters()), []
    for step in range(200):
        history.append(model.encoding.table.detach().clone())
        optimizer.zero_grad()
        tasks.loss(model, repeats(int(is_read(step).sum()), generator)).backward()
        optimizer.step()
    return torch.stack([*history, model.encoding.table.detach()])


# %%
histories = {
    "Adam": train_on_short(lambda weights: torch.optim.Adam(weights, lr=1e-2)),
    "gradient descent": train_on_short(lambda weights: torch.optim.SGD(weights, lr=0.3)),
}

# %% tags=["plumbing"]
# How far each row moved
read = torch.stack([is_read(step) for step in range(200)])  # (200, 40)
share = read.float().mean(0)
rare = (share > 0.02) & (share < 0.1)
moved, coasting = {}, {}
for name, history in histories.items():
    moved[name] = (history[-1] - history[0]).norm(dim=1) / history[0].norm(dim=1)
    steps = history.diff(dim=0).norm(dim=2)  # (200, 40)
    coasting[name] = ((steps * ~read).sum(0) / steps.sum(0))[rare].mean().item()
rare_means = {name: values[rare].mean().item() for name, values in moved.items()}
far = [name for name, value in rare_means.items() if value > 1]
guess.reveal(["with neither", f"with {' and '.join(far)} only", "with both"][len(far)])
print(
    "Adam: of a rare row's way, more than half in steps that did not read it:",
    coasting["Adam"] > 0.5,
)
print(
    "AdamW, rate 0.01, decay 0.1: 200 steps leave", f"{0.999**200:.2f} of a row that is never read"
)
fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.2))
axes[0].plot(share, color="C0")
axes[0].set(title="long texts are rare", xlabel="row", ylabel="share of steps that read it")
plots.lines(axes[1], moved, title="Adam moves rare rows, plain descent hardly")
axes[1].set(xlabel="row", ylabel="way / initial length")
axes[1].set_yscale("symlog", linthresh=0.1)
plots.show(
    fig,
    "Left: rows from 9 on are read ever more rarely. Right: how far each row moved, in its initial "
    f"lengths; rare rows {rare_means['Adam']:.0f} with Adam, "
    f"{rare_means['gradient descent']:.1f} with gradient descent. Unread rows stay.",
)

# %% [markdown]
# **Look:** Adam keeps the direction of a row's last gradient for some steps, and goes on while
# nobody reads the row. That says how far a rare row has come, not how *good* it is there.
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
from course_lab.checks.lesson03 import check_safe_rows, check_table_gradient

check_table_gradient(table_gradient)

# %% [markdown]
# ## Places learned by heart
#
# Who loves whom? Sentences of three words, half of them "Mary loves John". All that a model sees in
# training begins at position 0. Then the same test sentences begin elsewhere. Their *order* is the
# same; only the places have changed.

# %%
from course_lab.sentences import SentenceClassifier, who_loves_whom

loves = who_loves_whom().to(device)


def train_sentences(encoding, latest, seed, **options):
    """Train with sentences that begin at 0 … latest."""
    torch.manual_seed(seed)
    sizes = {"d_model": 64, "n_layers": 1, "n_heads": 2, "max_len": 32, "causal": False}
    body = TinyTransformer(len(loves.words), encoding, **sizes, **options)
    model = SentenceClassifier(body).to(device)

    def loss():
        places = torch.randint(latest + 1, (1,)) + torch.arange(3)
        return F.cross_entropy(model(loves.train, places), loves.train_labels)

    fit(model, loss, 200 if latest else 100, lr=5e-3)
    return model


# %%
guess = widgets.predict(
    "Learned table, always trained from position 0. Test sentences that begin at 10 are classified",
    ["nearly as well as before, 0.8 at least", "clearly worse, below 0.8"],
)

# %%
settings = {
    "learned, from 0": ("learned", 0, {"std": 0.7}),
    "sinusoidal, from 0": ("sinusoidal", 0, {}),
    "learned, from 0 … 20": ("learned", 20, {"std": 0.7}),
}
BEGIN, right = (0, 1, 3, 10, 20), {}
for name, (encoding, latest, options) in settings.items():
    trained = [train_sentences(encoding, latest, seed, **options) for seed in (0, 1)]
    right[name] = [
        [model.accuracy(loves.test, loves.test_labels, s + torch.arange(3)) for s in BEGIN]
        for model in trained
    ]

# %% tags=["plumbing"]
# The answer, and training beside test
worst = {name: [min(row) for row in zip(*rows, strict=True)] for name, rows in right.items()}
best = {name: [max(row) for row in zip(*rows, strict=True)] for name, rows in right.items()}
at_10 = best["learned, from 0"][BEGIN.index(10)]
guess.reveal(
    "clearly worse, below 0.8" if at_10 < 0.8 else "nearly as well as before, 0.8 at least"
)
fig, ax = plt.subplots(figsize=(7.5, 3.2))
for number, (name, rows) in enumerate(right.items()):
    for seed, row in enumerate(rows):
        ax.plot(
            range(len(BEGIN)),
            row,
            marker="os^"[number],
            color=f"C{number}",
            label=name if seed == 0 else None,
        )
ax.axhline(0.5, color="0.4", linestyle=":")
ax.set_xticks(range(len(BEGIN)), BEGIN)
ax.set(xlabel="test sentences begin at", ylabel="share right", ylim=(0, 1.05))
ax.set_title("Trained at one place, it knows the place and not the order")
ax.legend()
described = "; ".join(
    f"{name} {', '.join(f'{value:.1f}' for value in values)}" for name, values in worst.items()
)
plots.show(
    fig, f"Share of right answers by where test sentences begin, two seeds. Worse: {described}."
)

# %% [markdown]
# **Look:** this is a table's own way to **overfit**: right wherever it was trained, often wrong at
# rows that it never read. Random starts in training cure it. It is the data that taught the place
# instead of the order.
#
# **Exercise 2 ★★ Find the bug: a table sized to the test length.** Train short, test long, and make
# the table long enough that nothing crashes: a learned encoding then gets a number at every test
# length. (The author of a well-known tutorial warns of such rows on GitHub:
# bentrevett/pytorch-seq2seq, issue 32.) Write `safe_rows(table, positions, n_trained)`: the rows,
# or a `ValueError` if any of them was never trained.


# %%
def sized_to_the_test(train_len, test_lens, d_model):
    return torch.nn.Embedding(max(train_len, *test_lens), d_model)


position_rows = sized_to_the_test(32, [64, 128], 32)
print(f"rows {len(position_rows.weight)}, of which training at 32 tokens reaches 32")


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
# ## Two tables side by side
#
# The table that learned to name the token before, and the sinusoidal one of the same size.

# %%
learned = runs["learned from 0.7", 0][0].encoding.table.detach().cpu()  # (32, 32)
computed = create("sinusoidal", d_model=32, n_heads=2).embed(
    torch.zeros(1, 32, 32), torch.arange(32)
)
both = {"learned": learned, "sinusoidal": computed[0], "difference": learned - computed[0]}

# %% tags=["plumbing"]
# Heatmaps, and mean and spread by position
fig, axes = plt.subplots(1, 4, figsize=(13, 3.1), layout="constrained")
for ax, (name, table) in zip(axes, both.items(), strict=False):
    plots.heatmap(ax, table, title=name, xlabel="dimension", signed=True, limit=2.0, unit="value")
axes[0].set_ylabel("position")
for number, name in enumerate(("learned", "sinusoidal")):
    axes[3].plot(both[name].mean(1), color=f"C{number}", linestyle="--", label=f"{name}, mean")
    axes[3].plot(both[name].std(1), color=f"C{number}", label=f"{name}, spread")
axes[3].set(title="mean and spread of a row", xlabel="position", ylim=(-0.6, 2.2))
axes[3].legend(fontsize=8)
spread = {name: both[name].std(1).mean().item() for name in ("learned", "sinusoidal")}
plots.show(
    fig,
    "Three heatmaps of 32 positions by 32 dimensions: the learned table has no visible order, the "
    "sinusoidal one its waves, the difference both. Mean of a row's spread: learned "
    f"{spread['learned']:.1f}, sinusoidal {spread['sinusoidal']:.1f}.",
)

# %% [markdown]
# **Look:** numbers against numbers show little, since any rotation of the learned table would have
# done as well. That is why lesson 03 looked for main directions.
#
# ## Myth check

# %% tags=["plumbing"]
# Two claims
from course_lab.claims import Claim, Myths

myths = Myths(
    {
        "C20": Claim(
            "A learned table beats the sinusoidal one when test and training length are equal.",
            scope="lesson 07's models, rows not smaller than sinusoids; lower loss in each seed",
            evidence="shipped results",
            seeds=5,
        ),
        "C23": Claim(
            "Rows seen rarely in training stay near their initial values.",
            scope="rows read in 2 to 10 % of the steps; near: moved by less than their first norm",
            evidence="trained here",
            seeds=1,
            choice="the optimizer",
        ),
    }
)

# %% tags=["plumbing"]
# The verdicts
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
myths.settle(
    "C23",
    {name: value < 1 for name, value in rare_means.items()},
    "Further than its initial norm: "
    + ", ".join(f"{name} {'yes' if value > 1 else 'no'}" for name, value in rare_means.items())
    + ". A row that is never read stays put, except under weight decay.",
)

# %% [markdown]
# **Back:** [lesson 03](../03_learned.ipynb). **Next:** the second closer look,
# [past the end](03_past_the_end.ipynb).
