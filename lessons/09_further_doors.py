# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   order_matters:
#     edition: 2
#     lines: [4, 5]
# ---

# %% [markdown]
# # 09 · Further doors
#
# **Question:** what should a position be?
#
# After this lesson you can
#
# - say where a network without positions gets one from;
# - give patches of a page two numbers, and mend what that leaves;
# - build a head that finds the second comma from the end, by counting.
#
# **Time:** {minutes}. **Builds on:** queries, keys and softmax; sinusoids (lesson 02); for an aside
# and the last picture RoPE (05), ALiBi (06) and the test of 07. **Doors:** 1, 2 and 3, or
# none. **Closer looks:** [paddings, FLOATER, CoPE's cache](closer/09_leaks.ipynb); [recurrence,
# factors, graphs, waves](closer/09_more_doors.ipynb).

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start(
    doors=["bias", "embed", "rotate"],
    title="Lesson 09: answers at doors 1, 2 and 3, and with all doors shut",
)

# %% [markdown]
# ## A leak
#
# So far most models got positions: vectors, angles, prices. Does one need them? Ask one that
# got none, on a *blank page*: all is equal there but the place.
#
# A convolution does the same to each pixel: it looks at the 3 × 3 pixels around it. Six layers
# shall *paint position*: for each pixel of a 24 × 24 page the number of its column, from −1 to 1,
# and of its row. They learn it from pages of noise.
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


def shade(padding):
    """The one shade of a painter's last column picture, if it has one only."""
    picture = films[padding][-1, 0]
    if picture.max() - picture.min() > 1e-4:
        return "more than one shade"
    return "one shade, near 0" if picture.mean().abs() < 0.1 else "one shade"


panels = {f"column, step {shot * every}": films["zeros"][shot, 0] for shot in (0, 3, 6, 20)}
panels["row, step 200"] = films["zeros"][-1, 1]
for padding in ("circular", "none"):
    panels[f"padding {padding}:\n{shade(padding)}"] = films[padding][-1, 0]
panels["wanted: column"] = position[0].cpu()
fig, axes = plt.subplots(2, 4, figsize=(9.5, 5.0))
for ax, (title, picture) in zip(axes.flat, panels.items(), strict=True):
    page = F.pad(picture, [(side - len(picture)) // 2] * 4, value=-torch.inf)
    image = plots.heatmap(ax, page, limit=1, signed=True, equal=True)
    ax.set(xticks=[], yticks=[], title=title)
    ax.spines[:].set_visible(True)
for ax in axes[:, 0]:
    ax.set_ylabel("padding: zeros")
fig.colorbar(image, ax=axes, label="painted", shrink=0.6)
plots.show(
    fig,
    "What the painters make of a blank page. Zero padding, at four steps of the training: the "
    "columns appear along the border, blue at the left and red at the right, and a square of 12 × "
    f"12 pixels in the middle {'keeps one shade' if flat else 'changes too'}. The rows likewise, "
    "from top to bottom. Circular padding and none, at the end: "
    + " and ".join(shade(padding) for padding in ("circular", "none"))
    + "; with none, the picture is smaller by 6 pixels on each side. Last, what is wanted.",
)

# %% [markdown]
# **Look:** the border is painted, the middle is not. With the other two the page keeps one shade.
# So the zeros are a *leak*: beside the border a pixel reads 0 where all others read 0.5, and each
# layer carries that difference one pixel inwards. (Islam et al. 2020 found it in well-known image
# networks. Borders may leak [in other ways](closer/09_leaks.ipynb), too.)
#
# Press ▶, and the picture paints itself. Then take another padding.

# %% tags=["plumbing"]
# A picture that paints itself: play it, or drag the step
import ipywidgets
import traitlets

last = (len(films["zeros"]) - 1) * every


class Player(ipywidgets.HBox):
    """A slider for the step, and buttons that move it."""

    description, value = "step", traitlets.Int(0)

    def __init__(self):
        slider = ipywidgets.IntSlider(0, max=last, step=every, description="step")
        slider.style.description_width = "9em"  # as that of the menus below it
        buttons = ipywidgets.Play(value=0, max=last, step=every, interval=250)
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
    shown_range = f"one shade, {painted[0]}" if one_shade else " to ".join(painted)
    shade = shown_range if step else "what random weights happen to paint"
    return f"It paints {shade}; wanted: {' to '.join(target)}.".replace("-", "−")


widgets.explore(paint, size=(6.0, 4.4), step=Player(), padding=list(films), shown=["column", "row"])

# %% [markdown]
# The shade of the other two settles near 0: the mean of all columns is the least wrong.
#
# How deep does the leak go? Give random weights both borders, and compare what they paint:

# %%
exact = torch.device("cpu") if device.type == "mps" else device  # has float64, unlike Apple's GPUs
page = blank.to(exact).double()
for layers in (2, 6, 11, 12):
    leaky = painter("zeros", layers, width=32).to(exact).double()
    tight = painter("circular", layers, width=32).to(exact).double()
    tight.load_state_dict(leaky.state_dict())  # the same weights
    same = (leaky(page) - tight(page))[0, 0].abs() < 1e-12
    print(f"{layers:2} layers: {int(same.sum()):3} of {side * side} pixels do not feel the zeros")

# %% [markdown]
# With each layer that square loses a pixel on each side. At 12 layers, half of the page's width,
# none is left.
#
# ## Nothing
#
# A text has a border too: its start. Behind a causal mask a token sees only itself and what came
# before. In lesson 01 an untrained head counted from a start token. Without one? Take an untrained
# transformer with *no position* (NoPE; Haviv et al. 2022), and a blank page again: one word, 64
# times.

# %%
from course_utils.models import TinyTransformer

guess = widgets.predict(
    "One word 64 times, causal mask, no positions, random weights. The 64 outputs are …",
    ["all equal", "all different", "different near the start, then equal"],
)

# %%
from course_utils.texts import text

model = TinyTransformer(32, "none", d_model=64, n_layers=2).to(device).eval().requires_grad_(False)
one_word = torch.full((1, 64), 7, device=device)
marked = one_word.clone()
marked[0, 0] = 0  # another word, at the start only
outputs = [model.hidden(words)[0] for words in (one_word, marked)]  # (64, 64) each
unlike = [(output - outputs[0][0]).norm(dim=1) for output in outputs]  # unlike the first of all

# %% tags=["plumbing"]
# Texts without a mark
held_out = text.split(text.documentation()).held_out  # lesson 07's text
words = torch.randn(256, 64, device=device)  # a random vector for each of 256 bytes
texts = {
    "drawn at random": torch.randint(256, (200, 64), device=device),
    "Python's documentation": held_out.view(-1, 64)[:200].to(device),
}
attention = model.blocks[0].attention
sizes = {name: attention(words[ids])[0].norm(dim=-1) for name, ids in texts.items()}  # (200, 64)

# %% tags=["plumbing"]
# The answer, and four texts
plain, with_mark = (distances.cpu() for distances in unlike)
guess.reveal("all equal" if plain.max() < 1e-4 else "all different")
fig, (ax, size_ax) = plt.subplots(1, 2, figsize=(9.5, 3.4))
places = torch.arange(1, 65)
ax.plot(places, with_mark, "o-", markersize=4, color="C0")
ax.text(5, 3.4, "a start token,\nthen one word", color="C0")
ax.plot(places, with_mark[3] * 4 / places, "--", color="0.5", linewidth=1, zorder=0)
ax.text(9, 0.12, "1 / tokens so far", color="0.4", ha="right")
ax.text(1.1, 0.013, "one word only: below $10^{-5}$, rounding", color="0.3")
ax.set(xscale="log", yscale="log", ylim=(0.01, 90), xlabel="tokens so far")
ax.set_title("how unlike a blank page\nthe output is")
labels = {"drawn at random": (1.1, 0.55), "Python's documentation": (4.5, 1.95)}
for colour, (name, row) in zip(("C1", "C2"), sizes.items(), strict=True):
    low, mean, high = row.cpu().quantile(0.1, 0), row.cpu().mean(0), row.cpu().quantile(0.9, 0)
    size_ax.plot(places, mean, "o-", markersize=3, color=colour)
    size_ax.fill_between(places, low, high, color=colour, alpha=0.2, linewidth=0)
    size_ax.text(*labels[name], name, color=colour)
size_ax.set(xscale="log", ylim=(0, None), xlabel="bytes so far")
size_ax.set_title("size of what attention puts out, no mark\n(mean of 200 texts, and 80 % of them)")
for each in (ax, size_ax):
    each.set_xticks([1, 2, 4, 8, 16, 32, 64], ["1", "2", "4", "8", "16", "32", "64"])
    each.minorticks_off()
fall = "over ten" if with_mark[1] > 10 * with_mark[-1] else "less than ten"
drawn, real = (float(row[:, -1].mean() / row[:, 0].mean()) for row in sizes.values())
plots.show(
    fig,
    "Left: how far each output is from that of a blank page, both axes logarithmic. "
    f"One word only: {'rounding, no more' if plain.max() < 1e-5 else 'more than rounding'}. With a "
    f"start token: nearly a straight line down, {fall} times less after 64 tokens than after 2, "
    "near the dashed line for one over the tokens so far. Right: the size of what attention puts "
    f"out. At 64 bytes {'less than a fifth' if drawn < 0.2 else 'a fifth or more'} of that at the "
    f"first is left if bytes are drawn at random, {'more' if real > 0.2 else 'less'} than a fifth "
    "in Python's documentation.",
)

# %% [markdown]
# **Look:** the mean of equal words is that word, so the mask tells nothing here. The *start token*
# leaks as in lesson 01: of $n$ tokens so far it is about one in $n$. Words that differ leak, too,
# on average: the mean of many is shorter than of few (Chi et al. 2023). Real text shrinks less:
# its bytes come again.
#
# Exercise 1 makes a leak exact. Handing positions over is simpler.
#
# ## Two numbers
#
# A vision transformer cuts a page into patches. Their number, row by row, could go into lesson 02's
# sinusoids. Or half of the width goes to the row, half to the column (Chen et al. 2021). Near
# patches should have the larger dot product.

# %%
guess = widgets.predict(
    "Half for the row, half for the column, base 100. Which patch's code has the larger dot "
    "product with mine?",
    ["7 to the right", "3 to the right and 3 down"],
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
pages = {
    "counted row by row": (numbered @ numbered[mine] / 32).view(16, 16).cpu(),
    "half row, half column": (halves @ halves[mine] / 32).view(16, 16).cpu(),
}
cross = pages["half row, half column"]
right_score, diagonal_score = cross[8, 15].item(), cross[11, 11].item()
guess.reveal("7 to the right" if right_score > diagonal_score else "3 to the right and 3 down")


def draw_page(ax, page, title):
    """Dot products with the patch in row 8, column 8; those of two others in numbers."""
    image = plots.heatmap(ax, page, title=title, xlabel="column", limit=1, signed=True, equal=True)
    ax.plot(8, 8, "w+", markersize=10, markeredgewidth=2)
    for row, column in ((8, 15), (11, 11)):
        ax.plot(column, row, "o", markersize=6, markerfacecolor="none", color="k")
        ax.annotate(
            f"{page[row, column]:.2f}",
            (column, row),
            xytext=(0, -7),
            textcoords="offset points",
            ha="right" if column == 15 else "center",
            va="top",
            fontweight="bold",
        )
    return image


fig, axes = plt.subplots(1, 2, figsize=(8.5, 3.9), sharey=True)
for ax, (name, page) in zip(axes, pages.items(), strict=True):
    image = draw_page(ax, page, name)
axes[0].set_ylabel("row")
fig.colorbar(image, ax=axes, label="dot product\n(1: with itself)", shrink=0.8)
flat = pages["counted row by row"]
plots.show(
    fig,
    "The dot product of the code in row 8, column 8 with those of all 256 patches. Counted row by "
    f"row: stripes along the row; 1 down {flat[9, 8]:.2f}, 1 to the right {flat[8, 9]:.2f}. Half "
    f"and half: a cross; 7 to the right {right_score:.2f}, 3 right and 3 down "
    f"{diagonal_score:.2f}.",
)

# %% [markdown]
# **Look:** counted row by row, the patch below seems much further away than the one to the right.
# Two numbers make a page of it, with a *cross*: the halves are added, and along its own row a patch
# agrees fully in one of them. Exercise 2 mends it. *Axial* RoPE, as in DINOv3, turns half of the
# pairs by the row, half by the column. Its scores are such sums, too:

# %% tags=["plumbing"]
# The page of axial RoPE
from course_utils.encodings import Places, create
from course_utils.encodings.grid import AxialRotary

q, k = torch.randn(2, 200, 1, 1, 64, device=device).expand(2, 200, 1, 256, 64)  # 200 pairs
patches = Places(torch.arange(256, device=device), torch.arange(256, device=device))
turned_q, turned_k = AxialRotary(64, 1, 16).to(device).rotate(q, k, patches)
scores = (turned_k[:, 0] @ turned_q[:, 0, mine, :, None]).view(200, 16, 16)
sums = scores[:, 8:9] + scores[:, :, 8:9] - scores[:, 8:9, 8:9]
assert torch.allclose(scores, sums, atol=1e-3)
print("axial RoPE, 200 queries and keys: a number for the row plus a number for the column")

# %% [markdown]
# ## A count of content
#
# But who says "17 tokens ago"? We say "in the third sentence from the end". CoPE (Golovneva et al.
# 2024) counts what the query asks for:
#
# - Each key has a *gate*, the sigmoid of its score $q \cdot k / \sqrt d$: near 1 if it counts, near
#   0 if not.
# - Its *count* is the sum of the gates from it to the query, here the last token. That is its
#   position.
# - The query has a *liking* for each count: its dot product with row 0, 1, 2, … of a learned table.
#   It is added to the score. A count of 2.3 lies between rows 2 and 3.


# %%
def cope_from_scratch(scores, liking):
    """Weights of the last token on all: scores (n,) of the keys, liking (c,) of counts 0, 1, …"""
    gates = scores.sigmoid()
    counts = gates.flip(0).cumsum(0).flip(0)  # from each key to the end
    counts = counts.clamp(max=len(liking) - 1)
    low, high = counts.floor().long(), counts.ceil().long()
    share = counts - low
    return (scores + (1 - share) * liking[low] + share * liking[high]).softmax(0)


# %% tags=["plumbing"]
# The reference
cope = create("cope", d_model=128, n_heads=4, causal=True).to(device).requires_grad_(False)
q, k = torch.randn(2, 1, 4, 50, 32, device=device)
first_50 = torch.arange(50, device=device)
scores = q @ k.mT / 32**0.5  # (1, heads, 50, 50)
reference = (scores + cope.bias(q, k, Places(first_50, first_50)))[0, 1, -1].softmax(0)
by_hand = cope_from_scratch(scores[0, 1, -1], cope.table @ q[0, 1, -1])
assert torch.allclose(by_hand, reference, atol=1e-5)
print("from scratch = the reference's last row")

# %% [markdown]
# Now a head by hand, with nothing trained. A full stop scores 4, any other token −4 (a *gain* of
# 4). The liking is 12 for a count of 3, and 0 for all others.


# %% tags=["plumbing"]
# Where the last word looks
def head(sentences, gain=4.0):
    """Weights of the last word on all, and their counts, (n,) each."""
    stop = torch.tensor([word == "." for word in sentences.split()], device=device)
    scores, liking = torch.where(stop, gain, -gain), torch.zeros(8, device=device)
    liking[3] = 12.0
    counts = scores.sigmoid().flip(0).cumsum(0).flip(0)
    return cope_from_scratch(scores, liking), counts


texts = (
    "It rained . We stayed in . I read . Then tea . Sam slept .",
    "He ran . The old dog ran with him . He fell . It sat by him . All was well .",
    "I saw a fox . It hid . Then two of its cubs ran . We went . No one left .",
)
fig, axes = plt.subplots(3, 1, figsize=(10.5, 3.6))
reached = []
for ax, sentences in zip(axes, texts, strict=True):
    tokens, (weights, counts) = sentences.split(), head(sentences)
    plots.heatmap(ax, weights[None], limit=1, signed=False)
    ax.patch.set(hatch=None, facecolor="white")
    for place, token in enumerate(tokens):
        colour = "white" if weights[place] > 0.5 else "k"
        ax.text(place, 0, token, ha="center", va="center", color=colour, fontsize=9.5)
        ax.text(place, 0.62, f"{counts[place]:.1f}", ha="center", va="top", color="0.4", fontsize=9)
    ax.text(21.6, 0.62, "count", va="top", color="0.4", fontsize=9)
    back = len(tokens) - 1 - int(weights.argmax())
    ax.text(21.6, 0, f"looks {back} back", va="center", fontweight="bold")
    ax.set(xlim=(-0.5, 24.5), xticks=[], yticks=[], ylim=(1.1, -0.5))
    ax.spines[:].set_visible(False)
    reached.append(f"{back} back")
fig.suptitle("The last full stop looks for the third from the end (dark: weight 1)")
plots.show(
    fig,
    "Three texts of five sentences as rows of words, and below each word its count to the end. One "
    "cell in each is dark, the full stop of the third sentence from the end, where the count comes "
    f"to 3: {', '.join(reached)}.",
)

# %% [markdown]
# **Look:** the third full stop from the end, each time at another distance. The last two texts are
# equally long: places or offsets alone would look equally far back in both. The word just before
# that full stop has nearly the same count. Its score keeps it out, for scores are weighed as well.
#
# But gates do not shut quite: at −4 they are open by 1.8 %.

# %%
guess = widgets.predict(
    "The same head. Now each sentence has 60 words and a full stop. Which full stop gets most "
    "weight, counted from the end?",
    ["the third", "the second", "the fourth"],
)

# %% tags=["plumbing"]
# The answer
long_text = ("word " * 60 + ". ") * 5
names, chosen = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth"}, {}
for gain in (4.0, 8.0):
    weights, counts = head(long_text, gain)
    chosen[gain] = f"the {names[1 + (len(weights) - 1 - int(weights.argmax())) // 61]}"
    listed = ", ".join(f"{counts[-1 - 61 * n]:.1f}" for n in range(3))
    print(
        f"scores ±{gain:g}: the last three full stops have the counts {listed}; most weight for "
        f"{chosen[gain]} from the end"
    )
guess.reveal(chosen[4.0])

# %% tags=["plumbing"]
# The head in your hands
from course_lab import explorers

explorers.counting(
    gain=2.0,
    text="A fox ran up to the old oak tree and hid. We sat on a log and did not say a word. Then "
    "two cubs came out and lay in the sun for an hour. At last it got so cold that we all went "
    "home for tea.",
)

# %% [markdown]
# **Look:** the 60 gates of words together count one more: the second full stop has the count 3.
#
# Above is that head in your hands. Here, too, it looks at the second: raise the gain until it finds
# the third. Then type a text of your own, and count something else.
#
# ## The answer in one picture
#
# The course's small model reads 2,048 bytes, as in lesson 07. (*A factor* is the word times a
# learned row, an experiment of this course.)

# %% tags=["plumbing", "picture"]
# Seven answers, one model, two lengths
from course_utils.texts import data

results = data.results("extrapolation").query("reading == 'as trained'")
by_seed = results.pivot(index="seed", columns=["read", "encoding"], values="loss")
answers = {
    "transformer_xl": "an offset, in the score (Transformer-XL)",
    "alibi": "a price (ALiBi)",
    "cope": "a count (CoPE)",
    "none": "no position (NoPE)",
    "multiplicative": "a factor",
    "rope": "an offset, by turning (RoPE)",
    "learned": "a vector (learned)",
}
fig, ax = plt.subplots(figsize=(6.7, 4.2))
described = []
for row, (name, answer) in enumerate(answers.items()):
    near, far = (by_seed[read][name].to_numpy() for read in (64, 2048))
    colour = plots.identity(name).colour
    ax.plot([near.mean(), far.mean()], [row, row], color=colour, linewidth=2, alpha=0.5)
    ax.plot(far, [row] * len(far), "o", color=colour, markersize=6)
    ax.plot(near, [row] * len(near), "o", color=colour, markerfacecolor="white", markersize=6)
    described.append(f"{answer} {near.mean():.2f} and {far.mean():.2f}")
for fill, read in (("white", "64"), ("0.3", "2,048")):
    ax.plot([], [], "o", color="0.3", markerfacecolor=fill, label=f"read at {read} bytes")
ax.legend(loc="upper right")
ax.set_yticks(range(len(answers)), [answer.replace(" (", "\n(") for answer in answers.values()])
ax.set(ylim=(len(answers) - 0.5, -0.5), xlabel="loss (nats a byte), less is better;\nfive seeds")
ax.set_title("trained on 64 bytes, read at 64 and at 2,048")
plots.show(
    fig,
    "For each answer five hollow dots, its loss at 64 bytes, and five full ones, at 2,048, joined "
    "by a line between the means. These are, in nats a byte: " + "; ".join(described) + ".",
)

# %% [markdown]
# **Look:** in this small model, after 1,200 steps, all six beat NoPE at 64 bytes; a factor only
# just. (After ten times the steps NoPE is level with RoPE: lesson 06. Larger models without
# positions compete, too: Haviv et al. 2022.) Two offsets and a count are best. At 2,048 one offset
# holds, and the other is worse than NoPE: one answer, put in two ways. (What RoPE fails by: lesson
# 07.) The price loses little.
#
# So a position should be what is asked for: an edge, a row and a column, so many tokens or
# sentences ago. How it is put decides, too: measure at the length that you will read.
#
# ## Exercises

# %%
from course_lab.checks.lesson09 import check_comma_head, check_round_codes, check_ruler

# %% [markdown]
# **Exercise 1 ★ A ruler made of padding.** A page goes through
# `y = F.conv2d(y, kernel[None, None], padding=1) + bias`, 500 times. Write `ruler(unit)`: the
# `kernel` (3, 3) and the `bias`, a number, such that in the end each pixel holds `unit` times the
# number of its column, 1, 2, 3, … from the left, on small pages of any shape and brightness.


# %% tags=["stub"]
def ruler(unit):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def ruler(unit):
    kernel = torch.zeros(3, 3)
    kernel[1, 0] = 1.0  # what my left neighbour has, and 0 from the padding
    return kernel, unit  # and one more


# %%
check_ruler(ruler)

# %% [markdown]
# **Exercise 2 ★★ No cross.** Write `round_codes(rows, columns, d_model)`: codes (n, d_model) of
# patches, from whole numbers (n,), such that the dot product of two goes by how far apart they are:
# 5 to the right as 3 right and 4 down, and nearer patches have more. Yardsticks, with 1 for a patch
# with itself: up to a distance of 10, to 0.05, equally far is equal, wherever and in whatever
# direction, and further is never more; at 4 patches at most 0.8. A patch's code depends on its own
# row and column only. `d_model` is 64, 128 or 256.


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

# %% tags=["plumbing"]
# Your page, beside the cross
from course_lab.checks.lesson09 import dots_with

page = dots_with(round_codes, rows.cpu(), columns.cpu(), mine)
if page is None:
    print("No codes yet.")
else:
    fig, axes = plt.subplots(1, 2, figsize=(8.5, 3.9), sharey=True)
    image = draw_page(axes[0], cross, "half row, half column")
    axes[0].set_ylabel("row")
    draw_page(axes[1], page.view(16, 16), "your codes")
    fig.colorbar(image, ax=axes, label="dot product\n(1: with itself)", shrink=0.8)
    plots.show(
        fig,
        "The page as the patch in row 8, column 8 sees it: with half and half, a cross; with your "
        "codes, at any direction the same if they are right.",
    )

# %% [markdown]
# If your codes are sines and cosines, their angles can turn RoPE's pairs as well (Heo et al. 2024,
# Xiong 2025).
#
# **Exercise 3 ★ The second comma from the end.** Write `comma_head(tokens)`: the `scores` (n,) and
# the `liking` (c,) of the counts 0 to c − 1 for `cope_from_scratch`, such that the last token gives
# at least 0.9 of its weight to the second comma from the end. `tokens` is a list of words and
# signs. Equal tokens get equal scores: a key knows no place. The liking is the same for every text.
# A hundred words may stand between two commas.


# %% tags=["stub"]
def comma_head(tokens):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def comma_head(tokens):
    comma = torch.tensor([token == "," for token in tokens])
    scores = torch.where(comma, 10.0, -10.0)  # a word's gate: open by 0.005 %
    liking = torch.zeros(4)
    liking[2] = 12.0
    return scores, liking


# %%
check_comma_head(comma_head)

# %% [markdown]
# ## Myth check
#
# Guess first.

# %% tags=["plumbing"]
# Two claims
from course_lab.claims import Claim, Myths

myths = Myths(
    {
        "C52": Claim(
            "At the length of training, multiplying by position is better than adding.",
            scope="length 64; a learned factor, from around 1 with deviation 0.02, against a "
            "learned summand, from around 0 with deviation 1; and from equal starts in a smaller "
            "model, there also between learned matrices; better: a clearly lower loss",
            evidence="shipped results",
            seeds=5,
        ),
        "C54": Claim(
            "On text, relative position matters more than absolute.",
            scope="text alone, in lesson 07's small model; the best scheme that sees offsets only "
            "against the best that gives each token a place, at door 1; more: a clearly lower loss "
            "at every length read, 32 to 2,048 bytes",
            evidence="shipped results",
            seeds=5,
        ),
    }
)

# %% tags=["plumbing"]
# From lesson 07's results, and from equal starts
from course_utils.results import change


def loss_gap(first, second, read):
    """Loss of the second encoding less that of the first at one length, seed by seed."""
    there = results[results["read"] == read]
    return change(there, {"encoding": first}, {"encoding": second})


factor_gap = loss_gap("learned", "multiplicative", 64)
joining = data.results("joining")


def matched_gaps(added, multiplied):
    """Loss of multiplying less that of adding, for each start and learning rate."""
    return [
        change(rows_of, {"operation": added}, {"operation": multiplied})
        for _, rows_of in joining.groupby(["std", "lr"])
    ]


plain_gaps, matrix_gaps = matched_gaps("sum", "product"), matched_gaps("projected sum", "bilinear")
ranges = [
    f"{min(gap.mean for gap in gaps):+.3f} to {max(gap.mean for gap in gaps):+.3f}"
    for gaps in (plain_gaps, matrix_gaps)
]
myths.settle(
    "C52",
    {
        "lesson 07's starts": factor_gap.below(0),
        "equal starts": any(gap.below(0) for gap in plain_gaps),
        "equal starts, between matrices": any(gap.below(0) for gap in matrix_gaps),
    },
    f"Factor less summand: {factor_gap} nats a byte. From equal starts, in {len(plain_gaps)} "
    f"settings of a smaller model: {ranges[0]}; between matrices {ranges[1]}. Not judged: read at "
    f"2,048 bytes, factor less summand {loss_gap('learned', 'multiplicative', 2048)}, factor less "
    f"nothing {loss_gap('none', 'multiplicative', 2048)}.",
)

# %% tags=["plumbing"]
# Offsets only, or not
encodings = {
    name: create(name, d_model=128, n_heads=4, causal=True) for name in results["encoding"].unique()
}
relative = [name for name, encoding in encodings.items() if encoding.offsets_only]
absolute = [name for name, encoding in encodings.items() if "embed" in encoding.doors]
gaps, best = {}, {}
for read, rows_of in results.groupby("read"):
    means = rows_of.groupby("encoding")["loss"].mean()
    best[read] = means[relative].idxmin(), means[absolute].idxmin()
    gaps[read] = loss_gap(*best[read], read)
myths.settle(
    "C54",
    {f"{read:,} bytes": gap.above(0) for read, gap in gaps.items()},
    "Best against best: "
    + "; ".join(
        f"at {read:,} bytes {best[read][1]} has {gaps[read]} nats a byte more than {best[read][0]}"
        for read in (64, 2048)
    )
    + ".",
)

# %% [markdown]
# ## In five lines
#
# - On a blank page zero padding tells a CNN where the border is, circular padding nothing.
# - A causal mask leaks the start of a text, by a mark or words that differ.
# - A patch has two numbers. Half the width for each leaves a cross.
# - CoPE counts what the query asks for. Its gates must shut, or long sentences count.
# - At 64 bytes two offsets and a count are best of seven, at 2,048 one offset.
#
# **Read next:** Islam et al. 2020, arXiv 2001.08248; Haviv et al. 2022, 2203.16634; Chi et al.
# 2023, 2305.13571; Heo et al. 2024, 2403.13298; [Xiong 2025](https://jerryxio.ng/posts/nd-rope);
# Golovneva et al. 2024, 2405.18719.
#
# **Next:** which one? [Lesson 10](10_choosing.ipynb).
