# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # 02 · Word and place: another closer look
#
# [Lesson 02](../02_sinusoidal.ipynb) gave each position a code. Here it meets the words, and those
# who read the sum. Each section stands alone.
#
# - the hand-built head among words, and whether to add or to concatenate;
# - how large words are beside positions, and dropout on the sum;
# - what least squares and linear readers find in the table;
# - a real encoder that gets sinusoids in place of its own table.
#
# **Time:** {minutes}. **Builds on:** lesson 02. **Doors:** 1, token embeddings.

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start()

# %% [markdown]
# ## The head among words
#
# The head of the lesson saw empty tokens. Here are 48 different random words in them, of several
# lengths, six draws each. The position's own vector has length 8.

# %%
import torch

from course_utils.attention import MultiHeadAttention
from course_utils.encodings import create
from course_utils.encodings.functional import shift_matrix, sinusoidal_table

head = MultiHeadAttention(128, 1, create("sinusoidal", d_model=128, n_heads=1), causal=True)
head.requires_grad_(False)
head.W_k.weight.copy_(shift_matrix(3, 128))
draws = torch.randn(6, 48, 128, generator=torch.Generator().manual_seed(0))
draws = draws / draws.norm(dim=-1, keepdim=True)  # six times 48 words, each of length 1

# %%
for length in (0.0, 1.0, 4.0, 8.0):
    shares = {}
    for gain in (40, 10):
        head.W_q.weight.copy_(gain * torch.eye(128))
        weights = head(length * draws, need_weights=True)[1][:, 0]  # (6, 48, 48)
        shares[gain] = weights.diagonal(-3, 1, 2).mean()  # over queries that have a key 3 back
    print(f"words of length {length}: weight 3 back {shares[10]:.1f}, at gain 40 {shares[40]:.1f}")

# %%
concatenated = torch.zeros(1, 48, 256)  # words in the first 128 columns, positions in the others
concatenated[..., :128] = 8 * draws[0]
concatenated[..., 128:] = sinusoidal_table(torch.arange(48), 128)
reader = torch.eye(256)[128:]  # (128, 256), reads the positions only
q, k = 10 * concatenated @ reader.T, concatenated @ reader.T @ shift_matrix(3, 128).T
scores = (q @ k.mT / 128**0.5).masked_fill(torch.ones(48, 48).triu(1).bool(), -torch.inf)
print(f"concatenated, length  8.0: {scores.softmax(-1)[0].diagonal(-3).mean():.2f}")

# %% [markdown]
# **Look:** short words hardly disturb it. Half as long as the position's vector they take most of
# its weight, at either gain, and as long as it nearly all: the head compares words as well. If the
# two are concatenated, it leaves the words out. Must one concatenate, then?

# %% [markdown]
# ## Add or concatenate?
#
# We mix 100 random word vectors with 100 positions and let a *linear* reader find the position.


# %%
from course_lab.measures import linear_probe, nearest_pair


def reading_error(width, join):
    """Mean error of a linear reader of the position, on pairs it was not fitted on."""
    generator = torch.Generator().manual_seed(0)
    words = torch.randn(100, 1, width, generator=generator).expand(-1, 100, -1)
    places = sinusoidal_table(torch.arange(100), width).expand(100, -1, -1)
    goal = torch.arange(100.0).repeat(100)
    train = torch.rand(10_000, generator=generator) < 0.5
    estimates = linear_probe(join(words, places).flatten(0, 1), goal, train)
    return (estimates - goal)[~train].abs().mean().item()


# %%
def concatenate(words, places):
    return torch.cat([words, places], dim=-1)


for width in (16, 64, 256):
    added = reading_error(width, torch.add)
    beside = reading_error(width, concatenate)
    print(
        f"D = {width:3}: added {added:6.2f} positions off, "
        f"concatenated {beside:.2f} (and {2 * width} wide)"
    )
print(f"always answering the middle: {(torch.arange(100.0) - 49.5).abs().mean():.0f} off")

# %%
generator = torch.Generator().manual_seed(0)
words = torch.randn(100, 1, 16, generator=generator)
places = sinusoidal_table(torch.arange(100), 16)
closest_sums = nearest_pair((words + places).flatten(0, 1)).distance
print(f"D = 16: the closest two of the 10,000 sums are {closest_sums:.2f} apart,")
print(f"        the closest two of the 100 positions {nearest_pair(places).distance:.2f}")

# %% [markdown]
# **Look:** added in a narrow space, word and position cannot be parted by a linear reader. At width
# 256 there is room for the directions of 100 words beside those of the positions, and it can. But
# nothing is lost even at D = 16: no two sums come closer than two positions do, so a reader that
# knows the words can look the sum up. What adding costs depends on the reader. Real vocabularies
# are far larger than the width.

# %% [markdown]
# ## Why × √D?
#
# The paper multiplies word vectors by $\sqrt D$ before it adds. Look at their sizes.

# %%
from course_utils import measures

generator = torch.Generator().manual_seed(0)
small = torch.randn(200, 128, generator=generator) / 128**0.5  # a common initial size
place = sinusoidal_table(torch.tensor([7]), 128)  # (1, 128)
sizes = {"norm 1": small, "norm 1, times √D": 128**0.5 * small, "norm √D, times √D": 128 * small}
for name, words in sizes.items():
    share = words.square().sum(1).mean() / (words.square().sum(1).mean() + place.square().sum())
    cosines = measures.similarity_matrix(words + place)[~torch.eye(200, dtype=torch.bool)]
    print(
        f"{name:17} norm {words.norm(dim=1).mean():5.2f} against {place.norm():.2f}: "
        f"words are {100 * share:.0f} % of the squared norm, "
        f"two different words {cosines.mean():.2f} alike"
    )

# %% [markdown]
# **Look:** word vectors of norm 1 drown beside a position of norm 8. After the multiplication
# both have a say. But if the vectors start at norm $\sqrt D$, as PyTorch's `nn.Embedding` does,
# the factor drowns the position. It belongs with the small start.

# %% [markdown]
# ## How large beside each other?
#
# How large should words be, then? Take 1,000 words of norm 1 and 512 places, multiply the words by
# a factor, add, and read the sum back. The answer is the word, or the place, whose vector has the
# largest dot product with the sum.

# %%
generator = torch.Generator().manual_seed(0)
vocabulary = torch.nn.functional.normalize(torch.randn(1000, 128, generator=generator))
codes = sinusoidal_table(torch.arange(512), 128)
word_ids = torch.randint(1000, (4000,), generator=generator)
place_ids = torch.randint(512, (4000,), generator=generator)


def read_back(factor):
    """Shares of 4000 sums whose word, and whose place, is read rightly."""
    sums = factor * vocabulary[word_ids] + codes[place_ids]
    right_words = (sums @ vocabulary.T).argmax(1) == word_ids
    right_places = (sums @ codes.T).argmax(1) == place_ids
    return right_words.float().mean().item(), right_places.float().mean().item()


# %% tags=["plumbing"]
# Both shares, at a factor of your choice
import ipywidgets

from course_lab import widgets

factors = [2 ** (step / 4) for step in range(-8, 29)]  # 1/4 to 128
curves = torch.tensor([read_back(factor) for factor in factors])


def draw_shares(fig, factor):
    """Both curves, and a mark at the factor."""
    ax = fig.axes[0] if fig.axes else fig.add_subplot()
    ax.clear()
    word, place = read_back(factor)
    for shares, name, style in ((curves[:, 0], "words", "-"), (curves[:, 1], "places", "--")):
        ax.plot(factors, shares, style, label=name)
    ax.axvline(factor, color="0.5", linewidth=1)
    ax.plot([factor, factor], [word, place], "o", color="black")
    ax.set(xscale="log", xlabel="factor on words of norm 1", ylabel="share read", ylim=(0, 1.05))
    ax.legend(loc="center left")
    return f"Factor {factor:.2f}: {word:.2f} of the words are read, {place:.2f} of the places."


# %%
factor = ipywidgets.FloatLogSlider(value=1, base=2, min=-2, max=7, step=0.25)
widgets.explore(draw_shares, size=(6.0, 3.4), factor=factor)

# %%
for name, size_of_words in {"1": 1.0, "5": 5.0, "√D": 128**0.5, "D": 128.0}.items():
    word, place = read_back(size_of_words)
    print(f"factor {name:2}: {word:.2f} of the words, {place:.2f} of the places")

# %% [markdown]
# **Look:** each end loses one of them, and between them is a narrow range where both are read. √D
# keeps every word and costs some places. A model may also *learn* the factor. Both readers train
# it here, from three starts:

# %%
words, places = word_ids[:500], place_ids[:500]
for start in (1.0, 128**0.5, 128.0):
    log_factor = torch.tensor(start).log().requires_grad_()
    optimizer = torch.optim.Adam([log_factor], lr=0.05)
    for _ in range(300):
        sums = log_factor.exp() * vocabulary[words] + codes[places]
        word_loss = torch.nn.functional.cross_entropy(sums @ vocabulary.T, words)
        loss = word_loss + torch.nn.functional.cross_entropy(sums @ codes.T, places)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"from {start:5.1f} to {log_factor.exp():.0f}")

# %% [markdown]
# **Look:** all three end near 10, on the side of the words. That is this loss: a word of norm 1
# gives small logits, so the word's reader asks for more. Another reader would settle elsewhere.
#
# ## Dropout on the sum
#
# Vaswani et al. (2017, section 5.4) drop a tenth of the entries of the sums, in training only: each
# entry becomes 0 with probability 0.1, the others are divided by 0.9. What is left of a code, and
# of the shift by 3?

# %%
torch.manual_seed(0)
drop, shift = torch.nn.Dropout(0.1), shift_matrix(3, 128)
draws = torch.stack([drop(codes) for _ in range(200)])  # (200, 512, 128)
whole, dropped = codes.norm(dim=1).mean(), draws.norm(dim=2).mean()
print(f"length of a row: {whole:.2f}, with dropout {dropped:.2f}")
one_draw = draws[0, :-3] @ shift.T - draws[1, 3:]  # shifted, against another draw's target
average = (draws[:, :-3] @ shift.T).mean(0) - codes[3:]
step = (codes[1:] - codes[:-1]).norm(dim=1).mean()
for name, miss in (("one draw", one_draw), ("mean of 200", average)):
    print(f"{name:11} misses by {miss.norm(dim=1).mean() / whole:.2f} of a row's length")
print(f"a step to the neighbour is {step / whole:.2f} of it")

# %% tags=["plumbing"]
# The hand-built head under dropout
import matplotlib.pyplot as plt

from course_lab import figures
from course_utils import plots

shares = {}
for rate in (0.0, 0.1, 0.3):
    noisy_sums = (torch.nn.functional.dropout(codes[:48], rate) for _ in range(40))
    weights = [head.attend(sums[None], need_weights=True)[1][0, 0] for sums in noisy_sums]
    shares[f"dropout {rate}"] = torch.stack([row.diagonal(-3).mean() for row in weights])
fig, ax = plt.subplots(figsize=(7, 2.3))
figures.strips(
    ax, shares, title="the head of the lesson, 40 draws each", xlabel="mean weight exactly 3 back"
)
described = ", ".join(f"{name} {values.mean():.2f}" for name, values in shares.items())
plots.show(fig, f"A dot for each draw in three rows, with the mean of each: {described}.")

# %% [markdown]
# **Look:** a single draw misses by more than a step. Only the average is right, so no single
# training step shows the shift as it is. The head blurs too, and in evaluation it is back.
#
# In this package it is `TinyTransformer(…, embedding_dropout=0.1)`, 0 by default. Large models read
# their text about once and hardly overfit. For BERT and Pythia trained so, Liu, Bauer and Manning
# (2025, arXiv 2505.24788) report better results without any dropout.

# %% [markdown]
# ## Can least squares find the shift?
#
# There is one matrix that shifts every row by 5. Does it show in the data? We ask least squares for
# the best one on 2000 positions, and try it on 2000 more.


# %%
def size(error):  # below 1e-11 the digits are float64 rounding, different in every run
    return "below 1e-11" if error < 1e-11 else "above 0.1" if error > 0.1 else f"{error:.0e}"


k, positions = 5, torch.arange(4000, dtype=torch.float64)
fitted = {}

# %%
for width in (128, 16):
    codes, shifted = (sinusoidal_table(row, width) for row in (positions, positions + k))
    fitted[width] = torch.linalg.lstsq(codes[:2000], shifted[:2000], driver="gelsd").solution.T
    rank = torch.linalg.matrix_rank(codes[:2000]).item()
    print(f"D = {width}: of its {width} directions, float64 sees {rank} in the first 2000 rows")
    closed = shift_matrix(k, width, dtype=torch.float64)
    for name, matrix in (("closed form", closed), ("least squares", fitted[width])):
        error = (codes @ matrix.T - shifted).abs().amax(1)  # at each position
        first, second = size(error[:2000].max()), size(error[2000:].max())
        print(f"    {name:13}: error {first} on 0 … 1999 (fitted), {second} on 2000 … 3999")

# %% tags=["plumbing"]
# What least squares finds
fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.6))
named = {
    "D = 16, closed form": closed,
    "D = 16, least squares": fitted[16],
    "D = 128, least squares": fitted[128],
}
for ax, name in zip(axes, named, strict=True):
    unit = "entry" if ax is axes[-1] else ""
    plots.heatmap(ax, named[name], title=name, unit=unit, limit=1, equal=True)
    ax.set(xlabel="dimension at p")
axes[0].set_ylabel("dimension at p + 5")
plots.show(
    fig,
    "Three matrices. At D = 16 closed form and least squares look the same: 2 by 2 rotation blocks "
    "along the diagonal and zero elsewhere. At D = 128 least squares finds the blocks of the fast "
    "hands, at the upper left; at the lower right its entries are spread over the slow hands.",
)

# %% [markdown]
# **Look:** the closed form serves every $p$ at both widths. At D = 16 least squares finds the same
# blocks by itself. At D = 128 it does not. In exact arithmetic only one matrix fits. But the slow
# hands barely move in 2000 positions, and all that float64 keeps of them there fits many matrices.
# The one it picks fails beyond. The map exists. Rounded data need not reveal it.

# %% [markdown]
# ## Read the position back
#
# The lesson's exercise reads the position exactly. A *linear* reader is simpler. We fit one on half
# of the positions below 512, test it on the other half, and then beyond.

# %%
all_positions = torch.arange(4096)
features, goal = sinusoidal_table(all_positions, 128), all_positions.float()
coin = torch.rand(4096, generator=torch.Generator().manual_seed(0)) < 0.5
train = coin & (all_positions < 512)
readers = {"all 128 columns": features, "the 8 slowest": features[:, -8:]}
estimates = {name: linear_probe(columns, goal, train) for name, columns in readers.items()}

# %%
regions = {
    "unseen, below 512": (all_positions < 512) & ~train,
    "512 to 1023": (all_positions >= 512) & (all_positions < 1024),
    "2048 to 4095": all_positions >= 2048,
}

# %%
for name, positions_read in estimates.items():
    for region, rows in regions.items():
        error = (positions_read - goal)[rows].abs().mean()
        print(f"{name:15} {region:17} mean error {error:7.2f} positions")
print(f"always answering 511, 512 to 1023: {(goal[512:1024] - 511).mean():.2f}")

# %% tags=["plumbing"]
# Errors of the two readers
fig, ax = plt.subplots(figsize=(7, 3.6))
smoothed = {
    name: (positions_read - goal).abs().view(-1, 16).mean(1)
    for name, positions_read in estimates.items()
}
plots.lines(
    ax,
    smoothed,
    x=torch.arange(0, 4096, 16) + 8.0,
    title="two linear readers, fitted below 512",
    xlabel="position",
    ylabel="error (positions)",
)
ax.set_yscale("log")
ax.axvline(512, color="0.5", linewidth=1)
ends = [f"{name}: {error[-1]:.0f}" for name, error in smoothed.items()]
plots.show(
    fig,
    "Mean error in groups of 16 positions, on a logarithmic axis. Below 512 (grey line) both "
    "readers are off by less than one position. Beyond, the reader of all columns jumps up at "
    "once; "
    f"that of the 8 slowest rises slowly. At the end: {', '.join(ends)} positions.",
)

# %% [markdown]
# **Look:** inside the fitted range both readers are right to within a token. Beyond, the one that
# uses all columns is lost, worse than a constant answer. The one that has only the slowest hands
# still works at twice the length, where their sines are almost straight lines. It did not learn to
# count: at 2048 to 4095 it is far off too. The position is in the vectors. What was fitted decides
# whether it is read.

# %% [markdown]
# ## In a real model
#
# Is a good code good for any reader? Lesson 01's sentence encoder has a learned one at door 1.

# %% tags=["pretrained"]
from course_lab.session import if_installed
from course_utils import pretrained
from course_utils.texts import data

encoder = if_installed(pretrained.minilm, device)

# %% [markdown]
# It adds rows of 512 positions by 384 numbers. We put other tables in their place, and leave all
# other weights as they are. The encoder then reads 60 paragraphs of Python's documentation. How far
# does the vector of each move? We take the cosine with its former vector.

# %% tags=["pretrained"]
if encoder is not None:
    paragraphs = data.verified("documentation.txt").read_text(encoding="utf-8").split("\n\n")
    paragraphs = [" ".join(text.split()) for text in paragraphs]
    prose = [text for text in paragraphs if text[:1].isupper() and text.endswith(".")]
    texts = [text for text in prose if 220 <= len(text) <= 280][::2]
    unchanged = encoder.embed(texts).cpu()  # (60, 384), each of length 1
    lengths = encoder.encode(texts)[1].sum(1)
    print(f"{len(texts)} paragraphs of {lengths.min()} to {lengths.max()} tokens")
    others = (unchanged @ unchanged.T)[~torch.eye(len(texts), dtype=torch.bool)]
    print(f"mean cosine of two different ones: {others.mean():.2f}")

# %% [markdown]
# One table is of sinusoids, each row as long as the one that it replaces. Three are made of the
# encoder's own rows: in random order; all turned by one random rotation of the 384 dimensions, so
# that every length and every similarity of two positions stays; and their mean in each place, which
# is no position at all. (Row 0 stays: it only ever meets the mark [CLS] that opens a text.)

# %%
TABLES = ("sinusoids", "own rows, shuffled", "own rows, turned", "no position")
guess = widgets.predict("Which table moves the vectors least, on average?", TABLES)

# %% tags=["pretrained"]
if encoder is not None:
    own_table, generator = encoder.encoding.table.cpu(), torch.Generator().manual_seed(0)
    waves = sinusoidal_table(torch.arange(512), 384)
    sized = waves * own_table.norm(dim=1, keepdim=True) / waves.norm(dim=1, keepdim=True)
    rotation = torch.linalg.qr(torch.randn(384, 384, generator=generator)).Q
    shuffled = own_table[1:][torch.randperm(511, generator=generator)]
    replacements = (
        sized[1:],
        shuffled,
        own_table[1:] @ rotation,
        own_table[1:].mean(0).expand(511, -1),
    )

# %% tags=["pretrained"]
if encoder is not None:
    cosines = {}
    print("                    mean cosine    lowest    nearest to its own former vector")
    for name, rows in zip(TABLES, replacements, strict=True):
        vectors = encoder.with_table(torch.cat([own_table[:1], rows])).embed(texts).cpu()
        cosines[name] = (vectors * unchanged).sum(1)  # (60,)
        is_nearest = (vectors @ unchanged.T).argmax(1) == torch.arange(len(texts))
        print(
            f"{name:19} {cosines[name].mean():11.2f} {cosines[name].min():9.2f}"
            f"{100 * is_nearest.float().mean():11.0f} %"
        )
    guess.reveal(max(TABLES, key=lambda name: cosines[name].mean()))

# %% tags=["pretrained", "plumbing"]
# Sixty paragraphs, four tables
if encoder is not None:
    fig, ax = plt.subplots(figsize=(7, 2.6))
    figures.strips(ax, cosines, title="60 paragraphs", xlabel="cosine with the former vector")
    described = ", ".join(f"{name} {values.mean():.2f}" for name, values in cosines.items())
    plots.show(fig, f"A dot for each paragraph in four rows, with the mean of each: {described}.")
    worse = int((cosines["sinusoids"] < cosines["no position"]).sum())
    print(f"worse with sinusoids than without position: {worse} of {len(texts)} paragraphs")

# %% [markdown]
# **Look:** no position at all moves them least. The words alone carry much: nearly every paragraph
# is still nearest to its own former vector. For this encoder, not trained again, a place told in a
# foreign code is worse than none. The sinusoids are such a code. So are the turned rows, in which
# all that lesson 02 drew of a table, lengths and similarities, is as it was. Queries and keys do
# not see how alike two rows are. They see the *directions* that their matrices have learned. A code
# is good for the reader that was trained with it.

# %% [markdown]
# ## Myth check
#
# Guess first. In brackets: what the claim speaks of, and by which yardstick it is judged.

# %%
from course_lab.claims import Claim, Myths

WIDTHS = (64, 128, 512)


def exact(text, scope):
    return Claim(text, scope=scope, evidence="exact")


claims = {
    "C08": exact(
        "PE(p + k) is a linear function of PE(p), the same for all p.",
        "widths 64–512; largest error below 1e-9 in float64",
    ),
    "C10": exact(
        "The dot product of two encodings depends on their distance only.",
        "widths 64–512, positions below 512; equal to 1e-5 of the largest",
    ),
    "C11": exact("Similarity falls steadily with distance.", "widths 64–512, each step up to 511"),
}

# %%
claims |= {
    "C15": exact(
        "Neighbouring positions have nearly equal vectors.",
        "widths 64–512; nearly equal: cosine similarity of at least 0.95",
    ),
}
myths = Myths(claims)

# %% tags=["plumbing"]
# What is measured, at three widths
from course_lab.measures import similarity_by_offset
from course_utils.encodings.functional import sinusoidal_frequencies

steps = {}
products = {}
for width in WIDTHS:
    rows = sinusoidal_table(torch.arange(512), width)
    dots = rows @ rows.T
    products[width] = measures.toeplitz_error(dots) / dots.max().item()
    steps[width] = similarity_by_offset(dots).diff()  # of the dot product, by distance
linear = {
    f"D = {width}, k = {k}": torch.dist(
        sinusoidal_table(positions, width) @ shift_matrix(k, width, dtype=torch.float64).T,
        sinusoidal_table(positions + k, width),
        p=torch.inf,
    ).item()
    for width in WIDTHS
    for k in (1, 5, -300)
}

# %% tags=["plumbing"]
# C08, C10, C11
myths.settle(
    "C08",
    {case: error < 1e-9 for case, error in linear.items()},
    f"One matrix serves 4000 positions; largest error {size(max(linear.values()))}.",
)
myths.settle(
    "C10",
    {f"D = {width}": error < 1e-5 for width, error in products.items()},
    f"Largest deviation within a diagonal: {max(products.values()):.0e} of the largest product.",
)
rising = {width: int((change > 0).sum()) for width, change in steps.items()}
myths.settle(
    "C11",
    {f"D = {width}": count == 0 for width, count in rising.items()},
    "It rises at " + ", ".join(f"{n} of 511 steps at D = {d}" for d, n in rising.items()) + ".",
)

# %% tags=["plumbing"]
# C15
cosine = {width: sinusoidal_frequencies(width).cos().mean().item() for width in WIDTHS}
gaps = {width: (2 - 2 * value) ** 0.5 for width, value in cosine.items()}  # share of the norm
myths.settle(
    "C15",
    {f"D = {width}": value >= 0.95 for width, value in cosine.items()},
    f"Similarity {min(cosine.values()):.3f} to {max(cosine.values()):.3f}. Still, their difference "
    f"is {100 * min(gaps.values()):.0f} to {100 * max(gaps.values()):.0f} % of their length.",
)

# %% [markdown]
# Two of these can be asked of the encoder's own table as well, row 0 left out. It has width 384.
# (A third, in the lesson, was that all rows have the same length.)

# %% tags=["pretrained", "plumbing"]
# In the encoder's own table
if encoder is not None:
    name, rows = "all-MiniLM-L6-v2", encoder.encoding.table[1:].cpu()
    dots, sizes = rows @ rows.T, rows.norm(dim=1)
    deviation = measures.toeplitz_error(dots) / dots.max().item()
    neighbours = similarity_by_offset(measures.similarity_matrix(rows))[1].item()
    myths.in_a_real_model(
        "C10",
        {"its table": deviation < 1e-5},
        f"Largest deviation within a diagonal: {deviation:.2f} of the largest product.",
        name,
    )
    myths.in_a_real_model(
        "C15",
        {"its table": neighbours >= 0.95},
        f"Similarity {neighbours:.2f} on average.",
        name,
    )
    print(f"Its rows have norms from {sizes.min():.2f} to {sizes.max():.2f}. It was learned.")

# %% [markdown]
# C09, "because sin and cos are periodic, the model handles lengths it never saw", needs trained
# models. It is left for the lesson on long texts.

# %% [markdown]
# ## In five lines
#
# - A head built by hand works while words are short beside the positions, or stand elsewhere.
# - Adding loses nothing by itself; what is read depends on the reader.
# - The shift is one matrix, and rounded data need not reveal it.
# - A linear reader that is right where it was fitted may be lost beyond.
# - A code serves the reader trained with it: one encoder, given sinusoids in place of its own table
#   and not trained again, moves further than without any position.
#
# **Back to:** [lesson 02](../02_sinusoidal.ipynb). **Next:** [lesson 03](../03_learned.ipynb).
