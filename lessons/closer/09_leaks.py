# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # 09 · Further doors: a closer look
#
# For those who build with it: other borders, FLOATER's path, and what CoPE asks of a cache.
# It builds on [lesson 09](../09_further_doors.ipynb). Each section stands alone.
#
# **Time:** {minutes}.

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start()

# %%
import torch
from torch import nn
from torch.nn import functional as F

from course_lab import widgets
from course_utils import plots
from course_utils.models.training import fit


def painter(padding, layers=6, width=12):
    """As in the lesson: a page in, column and row of each pixel out."""
    pad = {"padding": 0} if padding == "none" else {"padding": 1, "padding_mode": padding}
    parts = []
    for n in range(layers):
        parts += [nn.Conv2d(width if n else 1, width, 3, **pad), nn.ReLU()]
    return nn.Sequential(*parts, nn.Conv2d(width, 2, 1))


# %% [markdown]
# ## Other borders
#
# Two more ways to fill the border need no zeros. *Reflect* puts the page's mirror image there,
# *replicate* goes on with the last pixel. On a blank page nothing in them is unlike the page. So
# they should be safe.

# %%
guess = widgets.predict(
    "Painters with reflect and replicate learn from pages of noise. Then they get new noise, and a "
    "blank page. On which page do they know where the border is? They know: their error is below "
    "three quarters of that of the best single shade.",
    ["on both", "on noise only", "on neither"],
)

# %%
side = 24
line = torch.linspace(-1, 1, side, device=device)
position = torch.stack(torch.meshgrid(line, line, indexing="xy"))  # (2, side, side)
pages = {
    "noise": torch.randn(32, 1, side, side, device=device),
    "blank": torch.full((1, 1, side, side), 0.5, device=device),
}


# %%
def learn(padding):
    """A painter, trained on noise for 200 steps."""
    net = painter(padding).to(device)

    def loss():
        return error(net, torch.randn(4, 1, side, side, device=device))

    fit(net, loss, 200, name=padding)
    return net.requires_grad_(False)


def error(net, page):
    painted = net(page)
    return F.mse_loss(painted, position.expand_as(painted))


# %%
one_shade = position.square().mean()  # the error of one shade, 0, everywhere
nets = {padding: learn(padding) for padding in ("zeros", "circular", "reflect", "replicate")}
shares = {
    padding: {page: (error(net, pages[page]) / one_shade).item() for page in pages}
    for padding, net in nets.items()
}

# %% tags=["plumbing"]
# The answer, and all four
knows = {
    page: all(shares[padding][page] < 0.75 for padding in ("reflect", "replicate"))
    for page in pages
}
guess.reveal(
    "on both" if all(knows.values()) else "on noise only" if knows["noise"] else "on neither"
)
import matplotlib.pyplot as plt

fig, axes = plt.subplots(2, 4, figsize=(9, 4.6))
for number, padding in enumerate(nets):
    net = nets[padding]
    for row, page in enumerate(pages):
        ax, picture = axes[row, number], net(pages[page])[:, 0].mean(0)
        image = plots.heatmap(ax, picture, limit=1, signed=True, equal=True)
        ax.set(xticks=[], yticks=[], title="" if row else padding)
        if not number:
            ax.set_ylabel(("32 pages of noise,\nthe mean", "a blank page")[row])
fig.colorbar(image, ax=axes, label="painted column", shrink=0.8)
plots.show(
    fig,
    "Columns painted with four paddings. Upper row, the mean over 32 pages of noise: the borders "
    "appear with zeros, reflect and replicate, and not with circular. Lower row, a blank page: "
    "they appear with zeros only.",
)

# %%
for padding, row in shares.items():
    described = ", ".join(
        f"{page} {'below' if share < 0.75 else 'above'} 3/4" for page, share in row.items()
    )
    print(f"{padding:9}: error, as a share of that of one shade: {described}")

# %% [markdown]
# **Look:** a mirror is a mark too. With reflect, a border pixel has the same neighbour on both
# sides; with replicate, its neighbour is itself. In noise that is rare, and on a blank page it is
# nothing new. (Lin et al. 2022, arXiv 2206.01202, find patterns that come from the padding with
# all padding schemes that they try.)
#
# ## No padding at all
#
# The last way out is to do without. Guess first.

# %% tags=["plumbing"]
# A claim
from course_lab.claims import Claim, Myths

myths = Myths(
    {
        "C51": Claim(
            "A CNN without padding knows where it is.",
            scope="convolutions, ReLU, stride 1; knows: two windows on one scene, three pixels "
            "apart, get other numbers for the same spot (by more than rounding)",
            evidence="exact",
        )
    }
)

# %%
exact = torch.device("cpu") if device.type == "mps" else device  # has float64, unlike Apple's GPUs
scene = torch.randn(1, 1, 40, 40, device=exact).double()
left, right = scene[..., :37], scene[..., 3:]  # two windows, 37 wide
gaps = {}
for padding in ("none", "zeros"):
    net = painter(padding).to(exact).double()
    gaps[padding] = (net(left)[..., 3:] - net(right)[..., :-3]).abs().max().item()

# %% tags=["plumbing"]
# The verdict
unchanged = {padding: gap < 1e-12 for padding, gap in gaps.items()}
myths.settle(
    "C51",
    {"a window moved by 3": not unchanged["none"]},
    "The same spot gets "
    + " and ".join(
        f"{'the same' if equal else 'other'} numbers with padding {padding}"
        for padding, equal in unchanged.items()
    )
    + ".",
)

# %% [markdown]
# Without padding a number is a function of the pixels that it sees, and of nothing else. It cannot
# tell where its window stands.
#
# But numbers are summed, as in a classifier that averages over its page. And a pixel at the border
# is seen by fewer of them. So let a bright spot move over a black page.

# %%
net = painter("none").to(exact).double().requires_grad_(False)


def total(column):
    """The sum over the page, with a spot in row 20 of this column."""
    page = torch.zeros(1, 1, 40, 40, device=exact).double()
    page[..., 20, column] = 1.0
    return net(page).sum((2, 3))


for column in (20, 16, 12, 6, 0):
    equal = torch.allclose(total(column), total(20), rtol=0, atol=1e-9)
    print(f"spot in column {column:2}: the sum is {'that of the middle' if equal else 'another'}")

# %% [markdown]
# **Look:** six layers see 13 pixels across, so a spot in columns 0 to 11 is seen by fewer outputs.
# The sum knows the border, without padding too (Kayhan and van Gemert 2020, arXiv 2003.07064). The
# verdict above is on each number, not on all of them.
#
# ## A time
#
# A table of position vectors ends. FLOATER (Liu et al. 2020, arXiv 2003.09229) has none: a position
# is a *time*, and its vector is where a particle has got to by then. A small network $f$ gives its
# velocity:
#
# $$p(t) = p(0) + \int_0^t f(\tau, p(\tau))\,\mathrm{d}\tau$$
#
# A solver goes there in steps, and each step calls $f$ four times (Runge and Kutta's method, order
# 4). The course takes steps of 4 positions.

# %%
strides = {8.0: "8 positions", 64.0: "64 positions", 512.0: "512 positions"}
guess = widgets.predict(
    "An untrained path. Which is the largest of these steps that still brings p for position 2,048 "
    "to within 1 % of where steps of 1 position bring it?",
    [*strides.values(), "none of them"],
)

# %%
from course_utils.encodings import create

places = torch.arange(2049, device=device)


def untrained(**options):
    """The path of a FLOATER with the same random weights each time, (2049, 128)."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        encoding = create("floater", d_model=128, n_heads=4, **options)
    return encoding.to(device).requires_grad_(False).path(places)


# %%
fine = untrained(step=1.0)[2048]
gaps = {step: (untrained(step=step)[2048] - fine).norm() / fine.norm() for step in strides}
close = [strides[step] for step, gap in gaps.items() if gap < 0.01]

# %% tags=["plumbing"]
# The answer
guess.reveal(close[-1] if close else "none of them")

# %%
for step, gap in gaps.items():
    print(f"steps of {step:3g}: {4 * 2048 / step:4g} calls of f, within 1 %: {bool(gap < 0.01)}")
for delta in (0.01, 0.1):
    sizes = untrained(delta=delta).square().mean(1).sqrt()
    print(f"delta {delta:4}: entries of size {sizes[64]:.2f} at 64, {sizes[2048]:.0f} at 2,048")

# %% [markdown]
# **Look:** far is not dear: steps of 64 positions bring it to 2,048 with 128 calls of $f$. But they
# wait for each other. (All this is for a path as it starts.)
#
# How large the path gets is a choice too. `delta` is the time from one position to the next. The
# course takes 0.1, and far out the untrained path drowns words, whose entries are about 1. The
# authors' code for RoBERTa takes 0.01.
#
# ## At every layer?
#
# FLOATER adds its vector before every layer, a learned table before the first only. Does that help
# it? Here it is added before the first layer only, too: small models, a short training on lesson
# 07's text, three seeds.

# %%
from course_utils.encodings import Floater
from course_utils.models.training import Recipe, train_on_text
from course_utils.texts import tasks, text

corpus = text.split(text.documentation())
held_out = text.pieces(corpus.held_out, length=64).to(device)


class FirstLayerOnly(Floater):
    """FLOATER, but added once."""

    every_layer = False


# %%
def loss_of(seed, options, **changes):
    """FLOATER's held-out loss after 150 steps, in nats a byte."""
    recipe = Recipe("floater", seed=seed, steps=150, d_model=64, n_layers=2, options=options)
    model = train_on_text(recipe, corpus, device, bar=False, **changes)
    with torch.no_grad():
        return tasks.loss(model, held_out)


# %%
coarse = {"step": 16.0}  # of the solver, in positions
differences = [
    loss_of(seed, coarse, encoding=FirstLayerOnly) - loss_of(seed, coarse) for seed in range(3)
]
near = sum(bool(difference.abs() < 0.03) for difference in differences)
print(f"first layer only: within 0.03 nats of every layer in {near} of 3 seeds")

# %% [markdown]
# **Look:** added once, it does about as well, after this short training.
#
# ## How far does the path lead?
#
# The integral goes on for ever. Can a model use it there? Guess first.

# %% tags=["plumbing"]
# A claim
far = Myths(
    {
        "C53": Claim(
            "FLOATER extrapolates because an ODE can be integrated to any time.",
            scope="trained at 64 bytes, read at 128 to 2,048; extrapolates: its loss is not "
            "clearly above that of no position at all",
            evidence="shipped results",
            seeds=5,
            choice="how far one reads",
        )
    }
)

# %%
from course_utils.results import change, summary
from course_utils.texts import data

compared = ("floater", "none", "learned")
results = data.results("extrapolation").query("reading == 'as trained' and read >= 64")
means = summary(results[results["encoding"].isin(compared)], "encoding", "read")

# %% tags=["plumbing"]
# The verdict, and three curves
gaps = {
    read: change(rows, {"encoding": "none"}, {"encoding": "floater"})
    for read, rows in results[results["read"] > 64].groupby("read")
}
fig, ax = plt.subplots(figsize=(8, 3.4))
plots.seed_curves(
    ax,
    means,
    compared,
    title="trained on 64 bytes; five seeds with 95 % intervals",
    xlabel="bytes read at once",
    ylabel="loss (nats a byte)",
)
described = "; ".join(
    f"{name} {means.loc[name]['mean'].iloc[0]:.2f}, {means.loc[name]['mean'].iloc[1]:.2f} and "
    f"{means.loc[name]['mean'].iloc[-1]:.2f}"
    for name in compared
)
plots.show(
    fig,
    f"Loss against the bytes read at once, means of five seeds. At 64, 128 and 2,048: {described}.",
)
far.settle(
    "C53",
    {f"read at {read:,}": not gap.above(0) for read, gap in gaps.items()},
    f"FLOATER has {gaps[128]} nats a byte more than no position at 128, {gaps[256]} at 256, "
    f"{gaps[2048]} at 2,048.",
)

# %% [markdown]
# **Look:** twice as far the path is worth as much as no position, four times as far it does harm. A
# learned table does harm from the start: its rows past 64 were never trained. So a path that goes
# on is read a little way past its training, and no further, in this model. That it *can* be
# integrated to any time is true, and not enough.
#
# ## How wide?
#
# A vector that is added must have the width of what it is added to. So tutorials say that position
# encodings must have the width of the embedding. Of all of them?

# %% tags=["plumbing"]
# A claim
width_myths = Myths(
    {
        "C55": Claim(
            "Position encodings must have the width of the embedding.",
            scope="what four encodings of lessons 06 and 09 hand over, in a model 128 wide with 4 "
            "heads",
            evidence="exact",
        )
    }
)

# %% tags=["plumbing"]
# The verdict
from course_utils.encodings import Places
from course_utils.encodings.functional import sinusoidal_grid

alibi = create("alibi", d_model=128, n_heads=4).to(device)
q, k = torch.randn(2, 1, 4, 50, 32, device=device)
two_places = Places(places[:50], places[:50])
widths = {
    "a vector, added (FLOATER)": len(fine),
    "a row, of a patch": sinusoidal_grid(places[:9], places[:9], 128).shape[1] // 2,
    "a count (CoPE)": create("cope", d_model=128, n_heads=4, causal=True).table.shape[1],
    "a price (ALiBi)": alibi.bias(q, k, two_places)[0, 0, 1, 0].numel(),
}
width_myths.settle(
    "C55",
    {name: width == 128 for name, width in widths.items()},
    "Numbers: " + ", ".join(f"{name} {width}" for name, width in widths.items()) + ".",
)

# %% [markdown]
# ## CoPE and its cache
#
# Gates belong to the query. So when a token is written, its query counts anew over all keys: a
# cache keeps keys and values, and no count. And each word's gate leaks. The head of the lesson
# finds the third sentence as long as these leaks do not add up.


# %%
from course_utils.encodings.functional import contextual_counts


def nearest_stop(n_words, gain, sentences=5):
    """Which full stop from the end has the count nearest to 3."""
    logits = torch.full((sentences, n_words + 1), -gain, device=device)
    logits[:, -1] = gain
    row = torch.arange(logits.numel(), device=device)
    counts = contextual_counts(logits.view(1, -1), row[-1:], row)[0].view(sentences, -1)
    return sentences - int((counts[:, -1] - 3).abs().argmin())


# %%
for gain in (2.0, 4.0, 6.0):
    longest = next(n for n in range(1, 400) if nearest_stop(n + 1, gain) != 3)
    print(f"gates of σ(±{gain:g}): right up to sentences of {longest} words")

# %% [markdown]
# Each 2 more in the logit let sentences be several times as long. Golovneva et al. (2024) leave
# this to training, and let counts end at a largest one.
