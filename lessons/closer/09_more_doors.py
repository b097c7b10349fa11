# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # 09 · Further doors: four more
#
# For those who build with it: a recurrent network below attention, ways to join word and place,
# places in a graph, and words that are waves. It builds on
# [lesson 09](../09_further_doors.ipynb), and on sinusoids and their shift matrix from lesson 02.
# Each section stands alone.
#
# **Time:** {minutes}.

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start()

# %% [markdown]
# ## A step, again and again
#
# A table has an end, and a formula has to be thought of. A *recursion* needs neither: take any
# first vector, and a step $f$ that leads from each position to the next,
#
# $$p_{k+1} = f(p_k).$$
#
# Recurrent networks work like this. A GRU carries a state from token to token. So it should know
# how far it has come.

# %%
from course_lab import widgets

settling = ["all equal", "different at first, then nearly equal", "different all the way"]
guess = widgets.predict(
    "An untrained GRU reads one word 64 times. Its 64 states are …",
    settling,
)

# %%
import torch
from torch import nn

from course_utils.encodings import create
from course_utils.encodings.functional import shift_matrix, sinusoidal_table

positions = torch.arange(64, device=device)
turn = shift_matrix(1, 64).to(device)  # lesson 02's matrix, one position on
turned = [sinusoidal_table(positions[:1], 64)[0]]
for _ in range(63):
    turned.append(turn @ turned[-1])
assert torch.allclose(torch.stack(turned), sinusoidal_table(positions, 64), atol=1e-4)
print("sinusoids = lesson 02's matrix, again and again")

# %%
gru = nn.GRU(64, 64, batch_first=True).to(device).requires_grad_(False)
one_word = torch.randn(64, device=device).expand(1, 64, -1)  # (batch, seq, width)
floater = create("floater", d_model=64, n_heads=4).to(device).requires_grad_(False)
paths = {
    "a turn: sinusoids": torch.stack(turned),
    "FLOATER, untrained": floater.path(positions),
    "a GRU, untrained": gru(one_word)[0][0],
}
steps = {name: path.diff(dim=0).norm(dim=1) for name, path in paths.items()}  # (63,) each

# %% tags=["plumbing"]
# The answer, and the three paths
import matplotlib.pyplot as plt

from course_lab import figures
from course_utils import plots

gru_steps = steps["a GRU, untrained"]
settles = bool(gru_steps[-1] < gru_steps[0] / 1000)
guess.reveal(settling[0] if gru_steps[0] < 1e-4 else settling[1] if settles else settling[2])
fig, ax = plt.subplots(figsize=(8, 3.2))
plots.lines(
    ax,
    steps,
    x=torch.arange(1, 64),
    title="three recursions",
    xlabel="position",
    ylabel="length of the step\nfrom the one before",
)
ax.set_yscale("log")
plots.show(
    fig,
    "How far each path moves from a position to the next, on a logarithmic axis. The turn: equally "
    "far at each step. FLOATER: short steps that grow. The GRU: shorter and shorter; its last "
    f"step is {'less' if settles else 'more'} than a thousandth of its first.",
)

# %% [markdown]
# **Look:** lesson 02's sinusoids are a recursion, whose step turns each pair. It never tires. The
# GRU comes to rest: far out, each state is nearly the one before. It counts no tokens. It forgets
# them.
#
# But texts are not blank, and a state holds *what came just before*. Is that enough for attention?
#
# ## A GRU below attention
#
# A GRU reads from left to right, and its states take the embeddings' place. One layer of attention
# follows, without positions and without a causal mask: it sees all states, in no order.
#
# The task: in rows of 16 random tokens, name the *next* one. For the GRU that is the future. For
# attention it is one in a bag.

# %%
answers = ["about as many as without the GRU", "nearly all"]
guess = widgets.predict(
    "Trained with the GRU, attention without positions names how many of the next tokens?",
    answers,
)

# %%
from course_utils.models import TinyTransformer


class States(nn.Module):
    """The states of a GRU that reads from left to right, in place of what it reads."""

    def __init__(self, width):
        super().__init__()
        self.gru = nn.GRU(width, width, batch_first=True)

    def forward(self, x):
        return self.gru(x)[0]


# %%
def build(kind):
    """A model with one layer of attention that looks both ways."""
    encoding = "rope" if kind == "RoPE" else "none"
    model = TinyTransformer(5, encoding, d_model=32, n_layers=1, n_heads=2, causal=False)
    if kind.startswith("GRU"):
        model.first_norm = States(32)  # stands between the embedding and the first layer
    if kind == "GRU alone":
        output = model.blocks[0].attention.W_o.weight
        nn.init.zeros_(output).requires_grad_(False)  # attention adds nothing, for good
    return model.to(device)


# %%
from course_utils.models.training import fit
from course_utils.texts import tasks


def train(kind, offset, seed):
    """Share of right answers in rows of 16, as trained, and of 64."""
    torch.manual_seed(seed)
    model, generator = build(kind), torch.Generator().manual_seed(seed)

    def draw(length, batch):
        size = {"length": length, "batch": batch, "vocab_size": 5}
        return tasks.token_at_offset(offset, **size, generator=generator).to(device)

    def loss():
        return tasks.loss(model, draw(16, 32))

    fit(model, loss, 200, lr=6e-3, bar=False)
    return [tasks.accuracy(model, draw(length, 300)) for length in (16, 64)]


# %%
kinds = ("nothing", "GRU alone", "RoPE", "GRU, then attention")
runs = {("the next token", 1): kinds, ("the token 12 back", -12): kinds[2:]}
right = {
    (question, kind): torch.tensor([train(kind, offset, seed) for seed in range(3)])
    for (question, offset), compared in runs.items()
    for kind in compared
}  # (seeds, 2) each: in rows of 16, and of 64

# %% tags=["plumbing"]
# The answer, and all runs
hybrid = kinds[-1]
guess.reveal(answers[1 if right["the next token", hybrid][:, 0].min() > 0.9 else 0])
fig, ax = plt.subplots(figsize=(8.5, 3.4))
rows = {f"{question}: {kind}": shares for (question, kind), shares in right.items()}
figures.shares(ax, rows, ("rows of 16, as in training", "rows of 64"), guessing=0.2)
ax.axhline(3.5, color="0.8", linewidth=1)
ax.set_xlabel("share of right answers")
fig.legend(loc="outside upper center")
described = "; ".join(
    f"{question}, {kind}: {shares[:, 0].mean():.1f} and {shares[:, 1].mean():.1f}"
    for (question, kind), shares in right.items()
)
plots.show(
    fig,
    "Shares of right answers, three seeds each; a grey line marks guessing, 0.2. Means in rows of "
    f"16, then of 64: {described}.",
)

# %%
for (question, _), compared in runs.items():
    solved = [kind for kind in compared if right[question, kind][:, 0].min() > 0.95]
    print(f"{question}, rows of 16: above 0.95 in each seed: {', '.join(solved)}")

# %% [markdown]
# **Look:** neither part can do it alone, together they can. The state of the next token has *my*
# token in its memory, one step old. So attention looks for a state that has just seen what I am. It
# finds its neighbour by content, and needs no position. Is that so in longer rows too?

# %%
longer = {kind: right["the next token", kind][:, 1] for kind in ("RoPE", hybrid)}
ahead = (longer[hybrid] > longer["RoPE"]).sum()
print(f"the next token, rows of 64: the GRU is ahead of RoPE in {ahead} of 3 seeds")

# %% [markdown]
# The memory is as old there as here. Twelve tokens back is another matter. Twelve tokens have to be
# carried in 32 numbers, and after equal training RoPE is ahead.
#
# So networks with recurrent layers may leave positions out. The R-Transformer (Wang et al. 2019,
# arXiv 1907.05572) does. Jamba (Lieber et al. 2024, 2403.19887) mixes attention with recurrent
# layers, and did about equally well with RoPE and without. The price: states wait for each other.
#
# ## Sum, product, bilinear
#
# At door 1 a row can be added to a word or multiplied with it, entry by entry. A linear map, as
# $W_q$ and $W_k$ are, shall say which of 64 rows it was. Words are random, with mean 0 or 1.


# %%
def read_off(x, p):
    """Share of held-out positions p (8000,) that a linear map names from x (8000, 128)."""
    target = nn.functional.one_hot(p[:6000], 64).float()
    reader = torch.linalg.lstsq(x[:6000], target).solution  # (128, 64)
    return ((x[6000:] @ reader).argmax(1) == p[6000:]).float().mean()


def as_words(share):
    return "above 90 %" if share > 0.9 else "below 10 %" if share < 0.1 else "in between"


# %%
for mean in (0.0, 1.0):
    words, places = torch.randn(1000, 128) + mean, torch.randn(64, 128)
    w, p = (torch.randint(n, (8000,)) for n in (1000, 64))
    added = read_off(words[w] + places[p], p)
    multiplied = read_off(words[w] * (1 + places[p] / 2), p)
    print(
        f"mean {mean:g}: sum {as_words(added)} right, product {as_words(multiplied)}; chance: 2 %"
    )

# %% [markdown]
# A factor takes on the signs of the word. If these are as often − as +, a linear map that does not
# know the word hardly sees it. With a common part it does. What does training make of it? Lesson 07
# compares a sum with a product, whose tables start like this:

# %%
for name, options in (("learned", {"std": 1.0}), ("multiplicative", {})):  # as in lesson 07
    fresh = create(name, d_model=64, n_heads=4, max_len=64, **options).table
    print(f"{name:14}: mean {fresh.mean().abs():.1f}, standard deviation {fresh.std():.1g}")

# %% [markdown]
# The sum changes each number of a word by about 1, the product by a fiftieth of it. So let them
# start alike, and add a third way to join word $x$ and place $p$, with a control:
#
# | | | numbers beside the table |
# |---|---|---|
# | sum | $x + p$ | none |
# | product | $x + x \odot p$ | none |
# | bilinear | $x + C\,(Ax \odot Bp)$ | $3 D^2$ |
# | projected sum | $x + C\,(Ax + Bp)$ | $3 D^2$ |
#
# *Bilinear*: linear in $x$, and linear in $p$. A place chooses a matrix for the word. (A turn is of
# this kind too, if $p$ holds cosines and sines.)


# %%
def change(operation, x, p, A, B, C):
    """What joining adds to the word: x (n, D), p (n, D), matrices (D, D)."""
    if operation == "sum":
        return p
    if operation == "product":
        return x * p
    if operation == "bilinear":
        return (x @ A.T * (p @ B.T)) @ C.T
    return (x @ A.T + p @ B.T) @ C.T  # the projected sum


# %%
operations = ("sum", "product", "bilinear", "projected sum")
x, p = torch.randn(2, 1000, 64, device=device)  # words, and rows of a table of size 1
A, B, C = torch.randn(3, 64, 64, device=device) / 8  # 8 is √D
for operation in operations:
    first_A = torch.zeros_like(A) if operation == "projected sum" else A  # as training starts
    moved = change(operation, x, p / 2, first_A, B, C).square().mean().sqrt()
    print(f"{operation:13}: a table of size 0.5 changes the numbers of a word by {moved:.1f}")

# %% [markdown]
# So the starts are matched. Each was trained with tables that start at size 0.02, 0.5 and 1, at two
# learning rates, with five seeds: 600 steps on lesson 07's text, in a model 64 wide with two
# layers. (`data/joining.csv` has the results.)

# %%
contests = ["bilinear in all six", "the projected sum in all six", "now this one, now that one"]
guess = widgets.predict(
    "Bilinear and projected sum have equally many numbers. In six settings, three sizes by two "
    "learning rates: which has the lower mean loss?",
    contests,
)

# %%
from course_utils.results import interval
from course_utils.texts import data

joining = data.results("joining")
# A row a setting, a column a way of joining.
means = joining.groupby(["std", "lr", "operation"])["loss"].mean().unstack()

# %% tags=["plumbing"]
# The answer, and all means
import seaborn as sns

won = int((means["projected sum"] < means["bilinear"]).sum())
guess.reveal({6: contests[1], 0: contests[0]}.get(won, contests[2]))
fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.4), sharey=True)
for ax, lr in zip(axes, (0.002, 0.004), strict=True):
    sns.pointplot(
        joining[joining["lr"] == lr],
        x="std",
        y="loss",
        hue="operation",
        hue_order=operations,
        markers=list("osD^"),
        linewidth=1.5,
        dodge=0.3,
        errorbar=interval,
        ax=ax,
    )
    ax.set(title=f"learning rate {lr}", xlabel="size of the table at the start")
    ax.get_legend().remove()
axes[0].set_ylabel("loss (nats a byte)")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside right center")
lowest = ", ".join(f"{name} {means[name].min():.2f}" for name in operations)
plots.show(
    fig,
    "Loss against the size of the table at the start, at two learning rates: means of five seeds "
    f"with 95 % intervals. Lowest mean of each: {lowest}.",
)

# %%
for better, worse in (
    ("projected sum", "bilinear"),
    ("bilinear", "product"),
    ("sum", "product"),
):
    settings = (means[better] < means[worse]).sum()
    print(f"{better} has a lower loss than {worse} in {settings} of {len(means)} settings")

# %% [markdown]
# **Look:** at every start and both rates the product is behind the sum, and bilinear is ahead of
# the product. But bilinear's control, with a plus where it multiplies, is ahead of it each time,
# at the smallest start clearly. Nothing here speaks for multiplying: what bilinear gains, a plus
# gains too. (These are small models after a short training, and the product is an experiment of
# this course.)

# %%
for std, loss in means["sum"].xs(0.004, level="lr").items():
    print(f"the sum, learning rate 0.004, start {std:4}: {loss:.2f} nats a byte")

# %% [markdown]
# The start alone moves the sum that far. Who compares schemes from unlike starts may measure the
# starts.
#
# ## Places in a graph
#
# A text is a row and a page a grid. In a molecule, all that is known is *which atoms are
# neighbours*. Can places come from neighbours alone?
#
# Write the graph as a matrix, its *Laplacian* $L = D - A$: on the diagonal how many neighbours each
# node has, and −1 where two are neighbours. Its eigenvectors give each node a number. Those with
# small eigenvalues change slowly from neighbour to neighbour.
#
# Try it where the answer is known: 16 words were neighbours in a row, and somebody has shuffled
# them.

# %%
readings = ["no", "yes, from first to last", "yes, but not which end is the first"]
guess = widgets.predict(
    "Given only which pairs of the 16 were neighbours: can their order be found?",
    readings,
)

# %%
exact = torch.device("cpu") if device.type == "mps" else device  # has float64, unlike Apple's GPUs


def laplacian(edges, n):
    """L = D − A of n nodes, (n, n), from pairs of neighbours."""
    first, second = torch.tensor(edges, device=exact).T
    A = torch.zeros(n, n, dtype=torch.float64, device=exact)
    A[first, second] = A[second, first] = 1
    return A.sum(1).diag() - A


# %%
path = [(p, p + 1) for p in range(15)]
names = torch.randperm(16).tolist()  # by which name each word of the row goes now
L = laplacian([(names[p], names[q]) for p, q in path], 16)

# %%
values, vectors = torch.linalg.eigh(L)
slowest = vectors[:, 1]  # number 0 is the same at every node
orders = [slowest.argsort().tolist(), (-slowest).argsort().tolist()]
found_order = names in orders
for sign in (1, -1):
    assert torch.allclose(L @ (sign * slowest), values[1] * (sign * slowest), atol=1e-12)
print(f"sorted by it, the words stand in order, from one end or the other: {found_order}")
print("turned over, it is an eigenvector as well")
guess.reveal(readings[2] if found_order else readings[0])

# %% [markdown]
# All neighbours stay neighbours when a row is turned round. So no list of neighbours can say where
# it starts: the *sign* of an eigenvector is anybody's choice. What are these numbers?

# %%
n, p = 16, torch.arange(16, dtype=torch.float64, device=exact)
values, vectors = torch.linalg.eigh(laplacian(path, n))
cosines = torch.cos((p[:, None] + 0.5) * torch.pi * p / n)  # a column for each k = 0 … 15
cosines = cosines / cosines.norm(dim=0)
signs = (cosines * vectors).sum(0).sign()
assert torch.allclose(vectors * signs, cosines, atol=1e-9)
print("on a row, eigenvector k is cos((p + ½) π k / n)")

# %%
ring = laplacian([*path, (15, 0)], n)
ring_values, ring_vectors = torch.linalg.eigh(ring)
hand = ring_vectors[:, 1:3]  # two with one eigenvalue: (16, 2)
angle = torch.tensor(0.7, dtype=torch.float64, device=exact)
turn = torch.stack([angle.cos(), angle.sin(), -angle.sin(), angle.cos()]).view(2, 2)
for pair in (hand, hand @ turn):
    assert torch.allclose(ring @ pair, ring_values[1] * pair, atol=1e-9)
steps_round = (hand * hand.roll(-1, 0)).sum(1) / hand.norm(dim=1) ** 2  # cosine of each step
assert torch.allclose(steps_round, torch.cos(2 * torch.pi * p.new_tensor(1 / n)), atol=1e-9)
print("on a ring, a pair of eigenvectors is a clock hand: 1/16 of a turn at each node")

# %%
rows, columns = 5, 8
grid = [(8 * r + c, 8 * r + c + 1) for r in range(rows) for c in range(columns - 1)]
grid += [(8 * r + c, 8 * r + c + 8) for r in range(rows - 1) for c in range(columns)]
grid_values, grid_vectors = torch.linalg.eigh(laplacian(grid, rows * columns))
down, across = (torch.arange(size, device=exact) + 0.5 for size in (rows, columns))
for k, m in ((0, 1), (1, 0), (1, 1), (0, 2)):
    wave = (torch.pi * k * down / rows).cos()[:, None] * (torch.pi * m * across / columns).cos()
    wave = (wave / wave.norm()).flatten().double()
    assert (grid_vectors.T @ wave).abs().max() > 1 - 1e-6  # one of the eigenvectors, in some sign
print("on a grid they are products: a wave down times a wave across")

# %% tags=["plumbing"]
# Row, ring, grid
fig = plt.figure(figsize=(10, 4.9))
upper, lower = fig.subfigures(2, 1, height_ratios=(2, 1))
row_ax, *ring_axes = upper.subplots(1, 3, width_ratios=(1.7, 1, 1))
for k in (1, 2, 3):
    row_ax.plot(cosines[:, k].cpu(), "-", color=f"C{k - 1}", linewidth=1)
    row_ax.plot((vectors * signs)[:, k].cpu(), "o", color=f"C{k - 1}", markersize=4, label=f"{k}")
row_ax.legend(title="eigenvector", ncols=3, loc="upper center", fontsize=9)
row_ax.set(title="a row of 16", xlabel="node", ylabel="number", ylim=(-0.4, 0.68))
for ax, first in zip(ring_axes, (1, 3), strict=True):
    points = ring_vectors[:, first : first + 2].cpu()
    ax.plot(*points[list(range(16)) + [0]].T, "-", color="0.8", linewidth=1)
    ax.plot(*points.T, ".", color="C0")
    for node, (across_value, up_value) in enumerate(points.tolist()):
        if first == 1 or node < 8:
            place = (1.18 * across_value, 1.18 * up_value)
            ax.text(*place, str(node), ha="center", va="center", fontsize=8)
    ax.set(title=f"a ring of 16: {first} and {first + 1}", aspect="equal")
    ax.set(xlim=(-0.48, 0.48), ylim=(-0.48, 0.48), xticks=[], yticks=[])
for number, ax in enumerate(lower.subplots(1, 5), start=1):
    wave = grid_vectors[:, number].view(rows, columns)
    image = plots.heatmap(ax, wave, limit=0.4, signed=True, equal=True)
    ax.set(title=f"a grid: {number}", xticks=[], yticks=[])
lower.colorbar(image, ax=lower.axes, label="number", shrink=0.9)
plots.show(
    fig,
    "Eigenvectors of three Laplacians. A row of 16 nodes: dots on half a wave, a wave, one and a "
    "half. A ring of 16: eigenvectors 1 and 2 as coordinates put the nodes on a circle in their "
    "order; 3 and 4 put them on a circle too, twice around (named: the first eight). A grid of 5 "
    "by 8: waves across, waves down, and products of both, each in some sign.",
)

# %% [markdown]
# **Look:** lesson 02's clock hands come back, and nobody chose them. On a ring a pair may be turned
# by any angle, since no node is the first. The speeds differ from lesson 02's: $\pi k/n$ on a row,
# evenly spaced, and set by its length.

# %%
for length in (16, 32):
    number = torch.linalg.eigh(laplacian([(p, p + 1) for p in range(length - 1)], length))[1][3, 1]
    print(f"eigenvector 1 of a row of {length}, node 3: {number.abs() * (length / 2) ** 0.5:.2f}")

# %% [markdown]
# So node 3 of 16 is not node 3 of 32.
#
# Dwivedi and Bresson (2020, arXiv 2012.09699) add such numbers to the nodes of a graph
# transformer. Against the signs, Dwivedi et al. (2020, 2003.00982) and Kreuzer et al. (2021,
# 2106.03893) flip them at random in training; SignNet (Lim et al. 2022, 2202.13013) is built so
# that they cannot matter.
#
# ## A word is a wave
#
# Lesson 09 turns real vectors. In the paper (Wang et al. 2020, 1912.12333) a word $w$ is a wave
# with an amplitude, a frequency and a phase of its own in each dimension:
#
# $$r_w \, e^{i (\omega_w p + \varphi_w)}.$$

# %%
amplitude, frequency, phase = torch.tensor([[1.0, 0.6], [0.2, 0.7], [0.0, 2.0]], device=device)
place = torch.arange(33, device=device)
waves = torch.polar(amplitude[:, None].expand(2, 33), frequency[:, None] * place + phase[:, None])

# %%
turning = create("complex_order", d_model=2, n_heads=1, vocab_size=2).to(device)
turning.requires_grad_(False).frequencies.copy_(frequency[:, None])
words = torch.view_as_real(torch.polar(amplitude, phase))  # (2, 2): each word at position 0
tokens = torch.tensor([[0], [1]], device=device).expand(2, 33)
embedded = turning.embed(words[:, None].expand(2, 33, 2), place, tokens)
assert torch.allclose(torch.view_as_complex(embedded), waves, atol=1e-5)
print("the wave = complex_order at door 1")

# %% tags=["plumbing"]
# Two words in one complex dimension
fig, (plane, real) = plt.subplots(1, 2, figsize=(9.5, 3.2), width_ratios=(1, 2))
for number, wave in enumerate(waves.cpu()):
    colour = f"C{number}"
    plane.plot(wave.real[:8], wave.imag[:8], ".-", color=colour, linewidth=1)
    plane.plot(wave.real[0], wave.imag[0], "o", color=colour, markersize=9, fillstyle="none")
    real.plot(wave.real, "o-", color=colour, markersize=3, label=f"word {number}")
plane.set(title="positions 0 (ringed) to 7", xlabel="real part", ylabel="imaginary part")
plane.set_aspect("equal")
plane.set(xlim=(-1.2, 1.2), ylim=(-1.2, 1.2))
real.set(title="real parts", xlabel="position", ylim=(-1.2, 1.5))
real.legend(loc="upper right", ncols=2)
plots.show(
    fig,
    "Two words in one complex dimension. Left: each goes round a circle of its own; its radius is "
    "the amplitude. Right: real parts against position, two waves that differ in height, in speed "
    "and in where they begin.",
)

# %% [markdown]
# **Look:** three numbers make a word here: how much, how fast, and from where. A word with
# frequency 0 does not care where it stands. In the paper the network behind it stays complex, too.
# The course's version reads real and imaginary parts as two ordinary columns, and its network is
# real.
#
# So the score of two words depends on their offset, and on *who* they are. Let word 5 be a twin of
# word 3: the same vector, and speeds a tenth slower.

# %%
words_of_text = create("complex_order", d_model=128, n_heads=4).to(device).requires_grad_(False)
words_of_text.frequencies[5] = 0.9 * words_of_text.frequencies[3]  # in a model, by training
spots, vector = torch.arange(512, device=device)[None], torch.randn(128, device=device)


def everywhere(word):
    """A word's embedding at 512 positions, (512, 128); all words get the same vector here."""
    return words_of_text.embed(vector.expand(1, 512, -1), spots, torch.full_like(spots, word))[0]


def three_back(word, other):
    """Cosine of a word and another that stands 3 positions earlier, as both move on."""
    return nn.functional.cosine_similarity(everywhere(word)[3:], everywhere(other)[:-3])


meetings = {"itself": three_back(3, 3), "its twin": three_back(3, 5)}

# %% tags=["plumbing"]
# Both move on
fig, ax = plt.subplots(figsize=(8, 2.9))
for (name, cosines), dash in zip(meetings.items(), ("-", "--"), strict=True):
    ax.plot(range(3, 512), cosines.cpu(), dash, label=f"{name}, 3 positions earlier")
ax.set(xlabel="position of the word", ylabel="cosine", ylim=(0, 1.05))
ax.set_title("a word meets itself, and a twin whose hands are a tenth slower")
ax.legend(loc="lower left")
plots.show(
    fig,
    "Cosine of a word with another 3 positions earlier, while both move from 3 to 511. First and "
    "last: "
    + ", ".join(
        f"{name} {cosines[0]:.2f} and {cosines[-1]:.2f}" for name, cosines in meetings.items()
    )
    + ".",
)

# %%
print(f"{words_of_text.frequencies.numel():,} speeds for {words_of_text.vocab_size} words")

# %% [markdown]
# **Look:** meeting itself, a word sees the offset alone, as with RoPE: a flat line. The twin drifts
# off: the same offset, and a score that depends on *where* they stand. That is dear: half as many
# speeds as the embeddings have numbers.
