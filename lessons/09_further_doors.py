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
# # 09 · Further doors
#
# **Question:** what should a position be?
#
# After this lesson you can
#
# - say how a network that was given no position finds one, and how to plug that leak;
# - say what seven answers give, and what they lack;
# - build a head that finds the third sentence from the end, by counting full stops.
#
# **Time:** {minutes}. **Builds on:** lessons 02, 04 and 07. **Doors:** 1, 2 and 3, or none.
# **Left out:** other paddings, FLOATER's solver, CoPE and caches: the
# [closer look](closer/09_leaks.ipynb). Recurrent networks, matched joinings, graphs:
# [another](closer/09_more_doors.ipynb).

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start(
    doors=["bias", "embed", "rotate"],
    title="Lesson 09: answers at doors 1, 2 and 3, and with all doors shut",
)

# %% tags=["plumbing"]
# The answers for text
import torch

from course_utils.encodings import create

text_answers = ("none", "multiplicative", "floater", "complex_order", "cope")
torch.manual_seed(0)
text_encodings = {
    name: create(name, d_model=128, n_heads=4, causal=True).to(device) for name in text_answers
}

# %% [markdown]
# ## A leak
#
# A convolution does the same to each pixel: it looks at the 3 × 3 pixels around it. Nobody tells it
# where it is. We ask it all the same. Six layers shall *paint position*: for each pixel of a
# 24 × 24 page the number of its column, from −1 to 1, and of its row. The pages are noise, new ones
# at each step.
#
# At the border there are no neighbours. *Zero padding* puts zeros there. *Circular* padding takes
# the pixels of the opposite side. With *none*, each layer cuts a pixel off on each side.

# %%
import torch
from torch import nn


def painter(padding, layers=6, width=12):
    """A page (batch, 1, h, w) in; column and row (batch, 2, h, w) out."""
    pad = {"padding": 0} if padding == "none" else {"padding": 1, "padding_mode": padding}
    parts = []
    for n in range(layers):
        parts += [nn.Conv2d(width if n else 1, width, 3, **pad), nn.ReLU()]
    return nn.Sequential(*parts, nn.Conv2d(width, 2, 1))


# %%
from course_lab import widgets

paints = [
    "one shade: there is nothing to go by",
    "position near the border, and one shade in the middle",
    "position all over the page",
]
guess = widgets.predict(
    "Zero padding. Trained on noise, it then gets a blank page, all pixels equal. It paints …",
    paints,
)

# %%
from torch.nn import functional as F

from course_utils.models.training import fit

side, steps, every = 24, 200, 10
line = torch.linspace(-1, 1, side, device=device)
position = torch.stack(torch.meshgrid(line, line, indexing="xy"))  # (2, side, side)
blank = torch.full((1, 1, side, side), 0.5, device=device)


# %%
def learn(padding):
    """What a painter makes of a blank page, after every tenth step of its training."""
    torch.manual_seed(0)
    net, film = painter(padding).to(device), []

    def loss():
        film.append(net(blank)[0].detach())
        painted = net(torch.randn(4, 1, side, side, device=device))  # four pages of noise
        cut = (side - painted.shape[-1]) // 2
        target = position[:, cut : side - cut, cut : side - cut]
        return F.mse_loss(painted, target.expand_as(painted))

    fit(net, loss, steps, name=padding)
    return torch.stack([*film, net(blank)[0].detach()])[::every].cpu()  # (frames, 2, h, w)


films = {padding: learn(padding) for padding in ("zeros", "circular", "none")}

# %% tags=["plumbing"]
# The answer, and the paintings
import matplotlib.pyplot as plt

from course_utils import plots

column, middle = films["zeros"][-1, 0], films["zeros"][-1, 0, 6:18, 6:18]
flat = (middle.amax() - middle.amin()).item() < 1e-4
guess.reveal(paints[0] if column.amax() - column.amin() < 0.5 else paints[1] if flat else paints[2])
shots = (0, 3, 6, steps // every)
fig, axes = plt.subplots(3, 5, figsize=(9.5, 6.0))
for row, padding in zip(axes, films, strict=True):
    film = films[padding]
    pictures = [film[shot, 0] for shot in shots] + [film[-1, 1]]
    titles = [f"column, step {shot * every}" for shot in shots] + [f"row, step {steps}"]
    for ax, picture, title in zip(row, pictures, titles, strict=True):
        page = F.pad(picture, [(side - len(picture)) // 2] * 4, value=-torch.inf)
        image = plots.heatmap(ax, page, limit=1, signed=True, equal=True)
        ax.set(xticks=[], yticks=[], title=title if padding == "zeros" else "")
    row[0].set_ylabel(f"padding: {padding}")
fig.colorbar(image, ax=axes, label="painted", shrink=0.7)
plots.show(
    fig,
    "What the painters make of a blank page, at four steps of their training. Zero padding: the "
    "columns appear along the border, blue at the left and red at the right, and a square of 12 × "
    f"12 pixels in the middle {'keeps one shade' if flat else 'changes too'}. The rows likewise, "
    "from top to bottom. Circular padding and none: one "
    "shade at every step; with none, the picture is smaller by 6 pixels on each side.",
)

# %% [markdown]
# **Look:** the border is painted, and the middle does not know where it is. With the other two the
# page keeps one shade, trained or not. So the zeros are a *leak*: they are unlike the page, and
# each layer carries news of them one pixel inwards. Islam et al. (2020) found this leak in
# well-known image networks.
#
# Press ▶, and the picture paints itself. Then take another padding: on which number does its one
# shade settle, and why on that one?

# %% tags=["plumbing"]
# A picture that paints itself: play it, or drag the step
import ipywidgets
import traitlets

last = (len(films["zeros"]) - 1) * every


class Player(ipywidgets.HBox):
    """A slider for the step, and buttons that move it."""

    description, value = "step", traitlets.Int(last)

    def __init__(self):
        slider = ipywidgets.IntSlider(last, max=last, step=every, description="step")
        slider.style.description_width = "9em"  # as that of the menus below it
        buttons = ipywidgets.Play(value=last, max=last, step=every, interval=250)
        super().__init__([slider, buttons])
        ipywidgets.jslink((buttons, "value"), (slider, "value"))
        traitlets.link((slider, "value"), (self, "value"))


def ends(numbers):
    """The least and the largest number, to one decimal."""
    return [f"{round(number.item(), 1) + 0.0:.1f}" for number in (numbers.min(), numbers.max())]


def paint(fig, step, padding, shown):
    """One frame of a film."""
    picture = films[padding][step // every, int(shown == "row")]
    if not fig.axes:
        blank_page = torch.zeros(side, side)
        ax = plots.heatmap(fig.subplots(), blank_page, limit=1, equal=True, unit="painted").axes
        ax.set(xlabel="column", ylabel="row")
    ax, inset = fig.axes[0], (side - picture.shape[-1]) // 2
    ax.images[0].set_data(F.pad(picture, [inset] * 4, value=-torch.inf))
    ax.set_title(f"{shown} on a blank page, padding: {padding}, step {step}")
    painted, target = ends(picture), ends(line[inset : side - inset])
    one_shade = picture.max() - picture.min() < 1e-4
    shade = f"one shade, {painted[0]}" if one_shade else " to ".join(painted)
    return f"It paints {shade}; wanted: {' to '.join(target)}.".replace("-", "−")


widgets.explore(paint, size=(6.0, 4.4), step=Player(), padding=list(films), shown=["column", "row"])

# %% [markdown]
# Who knows nothing paints the mean of all columns: 0.
#
# How deep does the leak go? That needs no training:

# %%
exact = torch.device("cpu") if device.type == "mps" else device  # has float64, unlike Apple's GPUs
for layers in (2, 6, 11, 12):
    net = painter("zeros", layers, width=32).to(exact).double()
    painted = net(blank.to(exact).double())[0, 0]
    equal = (painted - painted[12, 12]).abs() < 1e-12
    print(f"{layers:2} layers: {int(equal.sum()):3} of {side * side} pixels equal the middle one")

# %% [markdown]
# The square of one shade loses a pixel on each side with each layer. At 12 layers the middle pixel
# equals only itself.
#
# ## Nothing
#
# A text has a border too: its start. Behind a causal mask a token sees only itself and what came
# before. Is that a leak? Lesson 07's table has a model with *no position* (NoPE), and it reads. So,
# a blank page again: one word, 64 times.

# %%
from course_utils.models import TinyTransformer

guess = widgets.predict(
    "One word 64 times, causal mask, no positions, random weights. The 64 outputs are …",
    ["all equal", "all different", "different near the start, then equal"],
)

# %%
model = TinyTransformer(32, "none", d_model=64, n_layers=2).to(device).eval().requires_grad_(False)
one_word = torch.full((1, 64), 7, device=device)
marked = one_word.clone()
marked[0, 0] = 0  # another word, at the start only
output_steps = [model.hidden(text)[0].diff(dim=0).norm(dim=1) for text in (one_word, marked)]

# %% tags=["plumbing"]
# The answer, and both texts
plain_steps, marked_steps = (
    steps_of_text.cpu() for steps_of_text in output_steps
)  # (63,) each: how far the output moves from a token to the next
guess.reveal("all equal" if plain_steps.max() < 1e-4 else "all different")
fig, ax = plt.subplots(figsize=(8, 2.9))
ax.plot(range(1, 64), marked_steps, "o-", markersize=4, color="C0")
ax.text(5, 0.4, "a start mark, then one word", color="C0")
ax.plot(range(1, 64), plain_steps.clamp(min=1e-4), "s-", markersize=3, color="C1")
ax.text(5, 1.8e-4, "one word only: nothing but rounding", color="C1")
ax.set(xscale="log", yscale="log", ylim=(7e-5, 40), xlabel="position")
ax.set_xticks([1, 2, 4, 8, 16, 32, 63], ["1", "2", "4", "8", "16", "32", "63"])
ax.minorticks_off()
ax.set_title("untrained, causal, no positions")
ax.set_ylabel("change of output\nfrom token to token")
fall = (
    "over a hundred times"
    if marked_steps[1] > 100 * marked_steps[-1]
    else "less than a hundred times"
)
plots.show(
    fig,
    "How far the output moves from one token to the next, by position, both axes logarithmic. One "
    f"word only: not at all. With a start mark: a straight line down, {fall} from 2 to 63.",
)

# %% [markdown]
# **Look:** the mean of equal words is that word, however many. On a blank page an edge
# leaks only if something there is *unlike* the rest, as the zeros were. A start mark will do: its
# share of a mean is $1/(p+1)$. But from $p$ to $p+1$ that changes by about $1/p^2$: a leak tells
# *roughly where*. So let us hand positions over.
#
# ## Two numbers
#
# A vision transformer cuts a page into patches and counts them row by row. We could feed that
# number to lesson 02's sinusoids. Or give half of the width to the row and half to the column (He
# et al. 2022). *Axial* RoPE (Heo et al. 2024) turns half of the pairs by the row, half by the
# column.

# %%
guess = widgets.predict(
    "Half for the row, half for the column, base 100. Which patch's code has the larger dot "
    "product with mine?",
    ["7 to the right", "3 to the right and 3 down, so 4.2 away"],
)

# %%
from course_utils.encodings.functional import sinusoidal_grid, sinusoidal_table

count = torch.arange(16, device=device)
rows, columns = (grid.flatten() for grid in torch.meshgrid(count, count, indexing="ij"))
numbered = sinusoidal_table(16 * rows + columns, 64, base=100)  # (256, 64)
halves = sinusoidal_grid(rows, columns, 64, base=100)  # (256, 64)
mine = 16 * 8 + 8  # the patch in row 8, column 8

# %% tags=["plumbing"]
# The answer, and the page as each code sees it
from course_utils.encodings import Places
from course_utils.encodings.grid import AxialRotary

one_patch, patches = torch.ones(1, 1, 256, 64, device=device), torch.arange(256, device=device)
axial = AxialRotary(64, 1, 16).to(device)
turned_q, turned_k = axial.rotate(one_patch, one_patch, Places(patches, patches))
pages = {
    "counted row by row": numbered @ numbered[mine] / 32,
    "half row, half column": halves @ halves[mine] / 32,
    "axial RoPE, equal q and k": turned_k[0, 0] @ turned_q[0, 0, mine] / 64,
}
cross = pages["half row, half column"].view(16, 16)
right_score, diagonal_score = cross[8, 15].item(), cross[11, 11].item()
guess.reveal(
    "7 to the right" if right_score > diagonal_score else "3 to the right and 3 down, so 4.2 away"
)
fig, axes = plt.subplots(1, 3, figsize=(10, 3.5), sharey=True)
for ax, name in zip(axes, pages, strict=True):
    image = plots.heatmap(
        ax, pages[name].view(16, 16), title=name, xlabel="column", limit=1, signed=True, equal=True
    )
    ax.plot(8, 8, "k+", markersize=9)
    ax.plot([15, 11], [8, 11], "o", markersize=9, markerfacecolor="none", color="0.1")
axes[0].set_ylabel("row")
fig.colorbar(image, ax=axes, label="dot product\n(1 = with itself)", shrink=0.8)
flat = pages["counted row by row"].view(16, 16)
plots.show(
    fig,
    "The dot product of the code in row 8, column 8 with those of all 256 patches. Counted row by "
    f"row: stripes along the row; 1 down {flat[9, 8]:.2f}, 1 to the right {flat[8, 9]:.2f}. Half "
    f"and half, and axial RoPE: a cross; 7 to the right {right_score:.2f}, 3 right and 3 down "
    f"{diagonal_score:.2f}.",
)

# %% [markdown]
# **Look:** counted row by row, the patch below is a stranger. Two numbers make a page of it, with a
# *cross*: the two halves are added, and along its own row a patch agrees fully in one of them.
# Axial RoPE adds nothing to words, and has the same cross. Exercise 2 mends that.
#
# ## A factor
#
# These codes are added, or turn something. Why not *multiply*, entry by entry? Sums get diluted
# when layer upon layer is added, it is said. So take random words and positions. A linear map,
# which is all that $W_q$ and $W_k$ are, shall say which of 64 positions it is.

# %%
torch.manual_seed(0)
words, places = torch.randn(1000, 128, device=device), torch.randn(64, 128, device=device)
w, p = (torch.randint(n, (8000,), device=device) for n in (1000, 64))
inputs = {"sum": words[w] + places[p], "product": words[w] * (1 + places[p] / 2)}
for name, x in inputs.items():
    target = F.one_hot(p[:6000], 64).float()
    reader = torch.linalg.lstsq(x[:6000].cpu(), target.cpu()).solution.to(device)  # (128, 64)
    accuracy = ((x[6000:] @ reader).argmax(1) == p[6000:]).float().mean()
    print(f"{name}: {accuracy:.0%} of held-out positions right; by chance {1 / 64:.0%}")

# %% [markdown]
# It reads the sum nearly always, the product hardly ever. The entries of words are as often below 0
# as above, and a factor takes on their signs. A linear map that does not know the word can hardly
# see it.
#
# ## A time
#
# So we add. But a table of vectors ends. FLOATER (Liu et al. 2020) has none: a position is a
# *time*, and its vector is where a particle has got to by then. A small network $f$ gives its
# velocity:
#
# $$p(t) = p(0) + \int_0^t f(\tau, p(\tau))\,\mathrm{d}\tau$$

# %%
calls_of_f = ["4: one step of the solver", "44: about log₂ 2048 steps", "2,048: the whole way"]
guess = widgets.predict(
    "How many calls of f does one vector take, p for position 2048, where nothing is stored?",
    calls_of_f,
)

# %%
floater, calls = text_encodings["floater"].requires_grad_(False), []


def f(t, p):
    calls.append(t)
    return floater.outer(floater.inner(torch.cat([p, p.new_tensor([t])])).tanh())


def travel(to, h=4 * floater.delta):
    """p at position `to`, a multiple of 4, by the Runge-Kutta method of order 4."""
    p = floater.start
    for t in (h * n for n in range(to // 4)):
        a = f(t, p)
        b = f(t + h / 2, p + h / 2 * a)
        c = f(t + h / 2, p + h / 2 * b)
        p = p + h / 6 * (a + 2 * b + 2 * c + f(t + h, p + h * c))
    return p


# %%
position_2048 = travel(2048)
path = floater.path(torch.arange(2049, device=device))  # the reference, all at once
assert torch.allclose(position_2048, path[2048], rtol=1e-2, atol=1e-2)
sizes = path.square().mean(1).sqrt()
for p in (1, 64, 2048):
    print(f"untrained, position {p:4}: entries of size {sizes[p]:.2f}, in words about 1")

# %% tags=["plumbing"]
# The answer
guess.reveal(calls_of_f[0 if len(calls) < 20 else 1 if len(calls) < 200 else 2])

# %% [markdown]
# Its *cost*: calls of $f$, one after another, all the way. (Larger steps take fewer.) Its *start*:
# near 0 this untrained path is a whisper beside the words, and far out it drowns them. The integral
# goes on for ever. Whether a model can *use* it there is the myth check's question.
#
# ## A phase of the word
#
# Until now all words at $p$ got the same. In complex order (Wang et al. 2020) each *word* has its
# own clock hands. Position turns its embedding, as RoPE turns queries, but at speeds that are the
# word's own and learned. Let word 5 be a twin of word 3: the same vector, and hands a tenth slower.

# %%
turning = text_encodings["complex_order"].requires_grad_(False)
turning.frequencies[5] = 0.9 * turning.frequencies[3]  # by hand; in a model, by training
spots = torch.arange(512, device=device)[None]


def everywhere(word):
    """A word's embedding at 512 positions, (512, 128); all words get the same vector here."""
    return turning.embed(words[0].expand(1, 512, -1), spots, torch.full_like(spots, word))[0]


def three_back(word, other):
    """Cosine of a word and another that stands 3 positions earlier, as both move on."""
    return F.cosine_similarity(everywhere(word)[3:], everywhere(other)[:-3])


meetings = {"it meets itself": three_back(3, 3), "it meets a twin": three_back(3, 5)}
print(f"{turning.frequencies.numel():,} speeds for {turning.vocab_size} words")

# %% tags=["plumbing"]
# Both move on
fig, ax = plt.subplots(figsize=(8, 2.9))
plots.lines(
    ax,
    meetings,
    x=torch.arange(3, 512),
    title="the same vector 3 positions earlier: itself, or a twin with slower hands",
    xlabel="position of the word",
    ylabel="cosine",
)
ax.set_ylim(-0.1, 1.05)
plots.show(
    fig,
    "Cosine of a word with another 3 positions earlier, while both move from 3 to 511. First and "
    "last: "
    + ", ".join(
        f"{name} {cosines[0]:.2f} and {cosines[-1]:.2f}" for name, cosines in meetings.items()
    )
    + ".",
)

# %% [markdown]
# **Look:** meeting itself, a word sees the offset alone, as with RoPE: a flat line. The twin drifts
# off: the same offset, and a score that depends on *where* they stand. That is rich and dear: half
# as many speeds as the embeddings have numbers.
#
# ## A count of content
#
# Every answer so far counts *tokens*. But who says "17 tokens ago"? We say "in the third sentence
# from the end". CoPE (Golovneva et al. 2024) counts what the query asks for. Each key has a *gate*,
# $\sigma(q_i \cdot k_t / \sqrt d)$, and its position is the number of open gates from it up to the
# query. A count of 2.3 lies between entries 2 and 3 of a table.


# %%
def cope_from_scratch(q, k, table):
    """Queries, keys (n, d) of a head, table (m, d) → (n, n), to be added to the scores."""
    gates = (q @ k.T / q.shape[1] ** 0.5).sigmoid().tril()  # (query, key), from 0 to 1
    counts = gates.flip(1).cumsum(1).flip(1)  # from each key up to the query
    counts = counts.clamp(max=len(table) - 1)
    low, high = counts.floor().long(), counts.ceil().long()
    share = counts - low
    scores = q @ table.T  # (query, whole count)
    return (1 - share) * scores.gather(1, low) + share * scores.gather(1, high)


# %%
cope = text_encodings["cope"].requires_grad_(False)
q, k = torch.randn(2, 1, 4, 50, 32, device=device)
first_50 = torch.arange(50, device=device)
reference = cope.bias(q, k, Places(first_50, first_50))[0, 1]
by_hand = cope_from_scratch(q[0, 1], k[0, 1], cope.table)
assert torch.allclose(by_hand, reference.tril() + by_hand.triu(1), atol=1e-5)
print("from scratch = reference, wherever a query may look")

# %% [markdown]
# Now a head by hand. Gates open at full stops. Entry 3 of the table is what the query likes.
# Nothing is trained.


# %%
def head(text, gain=4.0):
    """Weights of the last word on all words, (n,)."""
    stop = torch.tensor([word == "." for word in text.split()], device=device)
    q, k, table = (torch.zeros(n, 16, device=device) for n in (len(stop), len(stop), 8))
    q[:, 0], table[3, 0] = 4.0, 3.0
    k[:, 0] = torch.where(stop, gain, -gain)  # a gate is σ(gain) or σ(−gain)
    return (q @ k.T / 4 + cope_from_scratch(q, k, table))[-1].softmax(-1)


texts = (
    "It rained . We stayed in . I read . Then tea . Sam slept .",
    "He ran . The old dog ran with him . He fell . It sat by him . All was well .",
    "I saw a fox . It hid . Then two of its cubs came . We went . No one spoke .",
)

# %% tags=["plumbing"]
# Where the last word looks
fig, axes = plt.subplots(3, 1, figsize=(10.5, 3.0))
reached = []
for ax, text in zip(axes, texts, strict=True):
    tokens, weights = text.split(), head(text)
    plots.heatmap(ax, weights[None], limit=1, signed=False)
    ax.patch.set(hatch=None, facecolor="white")
    for place, token in enumerate(tokens):
        colour = "white" if weights[place] > 0.5 else "k"
        ax.text(place, 0, token, ha="center", va="center", color=colour)
    ax.plot(len(tokens) - 7, -0.62, "v", color="C1", clip_on=False)
    ax.set(xlim=(-0.5, 21.5), xticks=[], yticks=[], ylim=(0.5, -0.5))
    ax.spines[:].set_visible(False)
    reached.append(f"{len(tokens) - 1 - int(weights.argmax())} back")
fig.suptitle("The last full stop looks back (dark: weight 1; orange: always 6 back)")
plots.show(
    fig,
    "Three texts of five sentences as rows of words. One cell in each is dark, the full stop of "
    f"the third sentence from the end: {', '.join(reached)}. A mark 6 back stands on it in the "
    "first text only.",
)

# %% [markdown]
# **Look:** always the full stop of the third sentence from the end, at another distance each time.
# The last two texts are equally long, so a head that goes by places or offsets alone looks equally
# far back in both. But gates do not shut quite. A word's is still open by 1.8 %.

# %%
guess = widgets.predict(
    "The same head. Now each sentence has 30 words and a full stop. Which full stop gets most "
    "weight, counted from the end?",
    ["the third", "the second", "the fourth"],
)

# %%
long_text = ("word " * 30 + ". ") * 5
names, chosen = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth"}, {}
for gain in (4.0, 8.0):
    distance = len(long_text.split()) - 1 - int(head(long_text, gain).argmax())
    chosen[gain] = f"the {names[1 + distance // 31]}"
    gate = torch.tensor(-gain).sigmoid()
    print(f"word gates open by {gate:.2%}: {chosen[gain]} full stop from the end")
guess.reveal(chosen[4.0])

# %% [markdown]
# A leak once more: 60 words, each a little open, make a whole sentence too many.
#
# ## The answer in one picture
#
# The five that read text, in lesson 07's small model, with its text and training, five seeds.
# Beside them two old friends, a vector added (*learned*) and an offset (*RoPE*). Each starts from
# its usual size; the second closer look matches the starts of sum and product.

# %%
from course_utils.texts import data

losses = data.results("extrapolation").query("reading == 'as trained' and read == 64")
by_seed = losses.pivot(index="seed", columns="encoding", values="loss")

# %% tags=["plumbing"]
# Seven answers, one model
from course_lab.figures import strips

answers = {
    "none": "nothing",
    "multiplicative": "a factor",
    "complex_order": "a phase of the word",
    "learned": "a vector, added",
    "floater": "a time",
    "cope": "a count of content",
    "rope": "an offset",
}
fig, ax = plt.subplots(figsize=(8, 3.3))
losses_by_answer = {name: torch.tensor(by_seed[name].to_numpy()) for name in answers}
strips(
    ax,
    losses_by_answer,
    title="read at the trained length, 64 bytes; dots are five seeds",
    xlabel="loss (nats a byte), less is better",
)
ax.set_yticks(range(len(answers)), [f"{answer} ({name})" for name, answer in answers.items()])
described = "; ".join(
    f"{answer} {losses_by_answer[name].mean():.2f}" for name, answer in answers.items()
)
plots.show(fig, f"Rows of five dots with their means, in nats a byte: {described}.")

# %% [markdown]
# **Look:** anything beats nothing, a factor only just. A phase and a time get about as far as a
# plain vector. The best two of the seven enter the *comparison* of query and key: a count and an
# offset. On a page: two numbers, or a leak.
#
# ## Exercises
#
# **Exercise 1 ★★ A ruler made of padding.** No training, one channel, no ReLU. A page goes through
# `y = F.conv2d(y, kernel[None, None], padding=1) + bias` again and again. Write `ruler(unit)`: the
# `kernel` (3, 3) and the `bias`, a number, such that in the end each pixel holds `unit` times the
# number of its column, 1, 2, 3, … from the left, on pages of any size and brightness.


# %% tags=["stub"]
def ruler(unit):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def ruler(unit):
    kernel = torch.zeros(3, 3)
    kernel[1, 0] = 1.0  # what my left neighbour has, and 0 from the padding
    return kernel, unit  # and one more


# %%
from course_lab.checks.lesson09 import check_round_codes, check_ruler

check_ruler(ruler)  # stuck? check_ruler.hint(1), then 2 and 3

# %% [markdown]
# **Exercise 2 ★★ No cross.** Write `round_codes(rows, columns, d_model)`: codes (n, d_model) of
# patches, from whole numbers (n,), such that the dot product of two goes by how far apart they are,
# in whatever direction: 5 to the right as 3 right and 4 down. Yardsticks: for offsets up to 10 it
# is the same all over the page and in all directions, to 5 % of that of a patch with itself. At 4
# patches it is at most 0.8 of that. `d_model` is 64, 128 or 256.


# %% tags=["stub"]
def round_codes(rows, columns, d_model):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def round_codes(rows, columns, d_model):
    directions = torch.arange(8) * torch.pi / 8  # half a turn: a wave looks the same from behind
    speeds = 0.1 ** torch.linspace(0, 1, d_model // 16)
    along = rows[:, None] * directions.sin() + columns[:, None] * directions.cos()  # (n, 8)
    angles = (along[:, :, None] * speeds).flatten(1)  # (n, d_model / 2)
    return torch.cat([angles.cos(), angles.sin()], dim=1)


# %%
check_round_codes(round_codes)

# %% [markdown]
# ## Myth check
#
# Guess first. The closer look settles one more.

# %% tags=["plumbing"]
# Four claims
from course_lab.claims import Claim, Myths

myths = Myths(
    {
        "C52": Claim(
            "Multiplying by position is better than adding because residuals dilute sums.",
            scope="a learned factor against a learned summand, loss at 64 bytes, as lesson 07 "
            "starts them and from equal starts; better: clearly lower",
            evidence="shipped results",
            seeds=5,
        ),
        "C53": Claim(
            "FLOATER extrapolates because an ODE can be integrated to any time.",
            scope="trained at 64 bytes, read at 2048; extrapolates: its loss is not clearly above "
            "that of no position at all",
            evidence="shipped results",
            seeds=5,
        ),
        "C54": Claim(
            "Relative position matters more than absolute.",
            scope="the best scheme that sees offsets only against the best that gives each token a "
            "place, at door 1; more: a clearly lower loss, on text or in painting a blank page",
            evidence="shipped results",
            seeds=5,
            choice="what is asked",
        ),
        "C55": Claim(
            "Position encodings must have the width of the embedding.",
            scope="what this lesson and lesson 06 use, in a model 128 wide with 4 heads",
            evidence="exact",
        ),
    }
)

# %% tags=["plumbing"]
# From lesson 07's results
from course_utils.results import change

results = data.results("extrapolation").query("reading == 'as trained'")


def loss_gap(first, second, read):
    """Loss of the second encoding less that of the first, seed by seed."""
    return change(results, {"encoding": first, "read": read}, {"encoding": second, "read": read})


factor_gap, floater_gap = (
    loss_gap("learned", "multiplicative", 64),
    loss_gap("none", "floater", 2048),
)
joining = data.results("joining")
matched_gaps = [
    change(rows_of, {"operation": "sum"}, {"operation": "product"})
    for _, rows_of in joining.groupby(["std", "lr"])
]
mean_gaps = [gap.mean for gap in matched_gaps]
myths.settle(
    "C52",
    {
        "lesson 07's starts": factor_gap.below(0),
        "equal starts": any(gap.below(0) for gap in matched_gaps),
    },
    f"Factor less summand: {factor_gap} nats a byte. From equal starts, in {len(mean_gaps)} "
    f"settings of a smaller model: {min(mean_gaps):+.3f} to {max(mean_gaps):+.3f}.",
)
myths.settle(
    "C53",
    {"2048": not floater_gap.above(0)},
    f"At 2048 it has {floater_gap} nats a byte more than no position.",
)

# %% tags=["plumbing"]
# Offsets only, or not; and widths
means = results[results["read"] == 64].groupby("encoding")["loss"].mean()
encodings = {
    name: create(name, d_model=128, n_heads=4, causal=True).to(device) for name in means.index
}
relative = means[[name for name, encoding in encodings.items() if encoding.offsets_only]].idxmin()
absolute = means[
    [name for name, encoding in encodings.items() if "embed" in encoding.doors]
].idxmin()
text_gap = loss_gap(relative, absolute, 64)
contrast = {
    padding: (films[padding][-1] - films[padding][-1].mean((1, 2), True)).abs().max()
    for padding in films
}
myths.settle(
    "C54",
    {
        "text, 64 bytes": text_gap.above(0),
        "columns of a blank page": bool(contrast["circular"] > contrast["zeros"]),
    },
    f"On text {absolute} has {text_gap} nats a byte more than {relative}. On a blank page "
    "circular padding, which sees offsets only, paints one shade.",
)
alibi = create("alibi", d_model=128, n_heads=4).to(device)
alibi_bias = alibi.bias(q, k, Places(first_50, first_50))
widths = {
    "a vector, added": text_encodings["floater"].path(spots[0]).shape[1],
    "a row, of a patch": sinusoidal_grid(rows, columns, 128).shape[1] // 2,
    "a count (CoPE)": cope.table.shape[1],
    "a price (ALiBi)": alibi_bias[0, 0, 1, 0].numel(),
}
myths.settle(
    "C55",
    {name: width == 128 for name, width in widths.items()},
    "Numbers: " + ", ".join(f"{name} {width}" for name, width in widths.items()) + ".",
)
myths.table()

# %% [markdown]
# ## In five lines
#
# - Zero padding tells a CNN where the border is; circular padding tells nothing.
# - On a blank page an edge leaks only if something there is unlike the rest.
# - A patch has two numbers; half the width for each leaves a cross.
# - A factor hides behind the signs of words; a path to any time need not help.
# - CoPE counts content, and its gates must shut.
#
# **Read next:** Islam et al. 2020, *How Much Position Information Do Convolutional Neural Networks
# Encode?*, arXiv 2001.08248; Golovneva et al. 2024, *Contextual Position Encoding*, 2405.18719; Heo
# et al. 2024, 2403.13298, on waves in any direction.
#
# **Next:** [lesson 10](10_choosing.ipynb) chooses, or take the
# closer looks first: [leaks](closer/09_leaks.ipynb), [more doors](closer/09_more_doors.ipynb).
