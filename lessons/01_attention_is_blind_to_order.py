# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # 01 · Attention is blind to order
#
# **Question:** can attention tell *John loves Mary* from *Mary loves John*?
#
# After this lesson you can
#
# - show by experiment what a shuffled sentence does to attention, and what it does not;
# - keep *equivariant* and *invariant* apart;
# - say what a causal mask reveals about position, and what it needs for that;
# - explain why the plain numbers 0, 1, 2, … are a poor way to tell the order.
#
# **Time:** 35 minutes. **Builds on:** lesson 00, matrix products. **Doors:** none. That is the
# point.

# %% tags=["nbval-ignore-output"]
from course_utils import start

device = start(seed=0)

# %%
from course_utils import plots

plots.show(
    plots.door_strip([], "Lesson 01: every door is shut"),
    "The four doors embed, rotate, bias and values, all shut.",
)

# %% [markdown]
# ## Attention in ten lines
#
# First we need attention that hides nothing. Each token $i$ has a vector $x_i$. Three matrices
# make a query, a key and a value of it. Then
#
# $$w_{ij} = \operatorname{softmax}_j\!\left(\frac{q_i \cdot k_j}{\sqrt d}\right), \qquad
# y_i = \sum_j w_{ij}\, v_j .$$
#
# The indices $i$ and $j$ only name tokens. No formula here uses them as numbers.

# %%
import torch


def attention_from_scratch(x, W_q, W_k, W_v):
    """x: (n, d) → output (n, d) and weights (n, n)."""
    q, k, v = x @ W_q.T, x @ W_k.T, x @ W_v.T  # each (n, d)
    scores = q @ k.T / q.shape[-1] ** 0.5  # (n, n), row = query, column = key
    weights = scores.softmax(dim=-1)  # each row sums to 1
    return weights @ v, weights


# %% [markdown]
# The course's own module does the same for many heads and a whole batch. With one head the two
# must agree. We let the computer say so.

# %%
from course_utils.attention import MultiHeadAttention
from course_utils.tasks import word_vectors

torch.manual_seed(0)
attention = MultiHeadAttention(d_model=32, n_heads=1).requires_grad_(False)
x = 2 * word_vectors("John loves Mary".split(), 32)  # (3, 32)

mine, my_weights = attention_from_scratch(
    x, attention.W_q.weight, attention.W_k.weight, attention.W_v.weight
)
reference, reference_weights = attention(x[None], need_weights=True)
assert torch.allclose(my_weights, reference_weights[0, 0], atol=1e-6)
assert torch.allclose(attention.W_o(mine), reference[0], atol=1e-6)
print("from scratch = reference")

# %% [markdown]
# ## Swap two words
#
# The matrices above are random, and so are the word vectors (doubled, for clearer preferences).
# This attention has learned nothing. What follows holds for every choice of matrices.

# %%
from course_utils import widgets

guess = widgets.predict(
    "John and Mary change places. The weight with which “loves” attends to “John” …",
    ["keeps its value", "takes the value that Mary had", "becomes some other number"],
)

# %%
from course_utils.tasks import reordering

first, second = "John loves Mary".split(), "Mary loves John".split()
perm = reordering(first, second)  # second[i] = first[perm[i]]


def weights_of(words):
    return attention(2 * word_vectors(words, 32)[None], need_weights=True)[1][0, 0]


before, after = weights_of(first), weights_of(second)
to_john = before[1, 0].item(), after[1, 2].item()
to_mary = before[1, 2].item()
print(f"loves → John: {to_john[0]:.3f} before, {to_john[1]:.3f} after")
print(f"loves → Mary: {to_mary:.3f} before")
kept = abs(to_john[0] - to_john[1]) < 1e-6
guess.reveal("keeps its value" if kept else "becomes some other number")

# %% [markdown]
# Now the whole matrix. If we shuffle the rows *and* the columns of the second one back, do we
# get the first?

# %%
import matplotlib.pyplot as plt

back = perm.argsort()  # the inverse permutation
fig, axes = plt.subplots(1, 3, figsize=(9.5, 3.3))
plots.attention(axes[0], before, first, title="John loves Mary")
plots.attention(axes[1], after, second, title="Mary loves John")
plots.attention(axes[2], after[back][:, back], first, title="the second, put back")
gap = (after[back][:, back] - before).abs().max().item()
plots.show(
    fig,
    f"Three attention matrices of 3 by 3. The first and the last are the same: in both, loves "
    f"gives John {before[1, 0]:.2f} and Mary {before[1, 2]:.2f}. The middle one holds the same "
    f"nine numbers in other places.",
)
print(f"largest difference, first against last: {gap:.0e}")

# %% [markdown]
# **Look:** the left and the right matrix are the same, down to rounding. The middle one has the
# same nine numbers elsewhere. To attention the two sentences differ as two hands of the same
# cards do.
#
# With $\pi$ for the shuffle and $w$ for the weights:
#
# $$w^{\text{shuffled}}_{ij} = w_{\pi(i)\,\pi(j)}, \qquad
# y^{\text{shuffled}}_i = y_{\pi(i)} .$$
#
# In code that is `W[perm][:, perm]` and `y[perm]`. A function with the second property is
# called *equivariant* to permutations.

# %% [markdown]
# ## More sentences, one of them Chinese
#
# In these pairs the order carries the meaning. *The cat sat on the mat* turns into nonsense.
# *Not bad, good* turns into its opposite. 我爱你 (*wǒ ài nǐ*, I love you) turns into
# 你爱我 (you love me).

# %%
from course_utils.tasks import PINYIN

pairs = [
    ("John loves Mary", "Mary loves John"),
    ("the cat sat on the mat", "the mat sat on the cat"),
    ("not bad , good", "not good , bad"),
    ("我 爱 你", "你 爱 我"),
]

# %%
gaps = {}
fig, axes = plt.subplots(2, 4, figsize=(11, 6.2))
for column, pair in zip(axes.T, pairs, strict=True):
    one, other = (sentence.split() for sentence in pair)
    order = reordering(one, other)
    upper, lower = weights_of(one), weights_of(other)
    gaps[pair[0]] = (lower - upper[order][:, order]).abs().max().item()
    plots.attention(column[0], upper, plots.labels(one, PINYIN))
    plots.attention(column[1], lower, plots.labels(other, PINYIN))
described = "; ".join(f"{name}: {gap:.0e}" for name, gap in gaps.items())
plots.show(
    fig,
    "Attention matrices of four sentences, above, and of the same words in another order, below. "
    f"Largest difference between the lower matrix and the reordered upper one: {described}.",
)

# %%
for name, gap in gaps.items():
    print(f"{name:24} {gap:.0e}")
assert max(gaps.values()) < 1e-5

# %% [markdown]
# **Look:** in each column the lower matrix is the upper one with rows and columns moved. The
# differences are of the size of float32 rounding, about $10^{-7}$. Attention has no idea which
# of the two it reads.

# %% [markdown]
# ## Equivariant is not invariant
#
# People say "attention does not care about order", and mean two different things.
#
# *Equivariant*: shuffle the input, and the output is shuffled alike. *Invariant*: shuffle the
# input, and the output is the same. Attention is the first. Add an average over all tokens, as
# a classifier often does, and you get the second.

# %%
from course_utils import measures

one, other = (sentence.split() for sentence in pairs[1])
y, y_shuffled = (attention(2 * word_vectors(words, 32)[None])[0][0] for words in (one, other))
order = reordering(one, other)
rows_moved = (y_shuffled - y[order]).abs().max().item()
rows_kept = (y_shuffled - y).abs().max().item()
pooled = (y_shuffled.mean(0) - y.mean(0)).abs().max().item()
print(f"output against output, row by row : {rows_kept:.2f}")
print(f"output against output[order]      : {rows_moved:.0e}")
print(f"mean over tokens against the same : {pooled:.0e}")

# %% [markdown]
# **Look:** the first number is large, the other two are rounding. So the output is not
# unchanged. The rows moved. What is unchanged is anything that forgets which row is which, such
# as the mean. The package measures this for any module, over several shuffles.

# %%
sentence = 2 * word_vectors("the cat sat on the mat".split(), 32)[None]
print(f"equivariance error: {measures.equivariance_error(attention, sentence):.0e}")

# %% [markdown]
# ## Eight times the same word
#
# What if all tokens are the same? *Buffalo buffalo Buffalo buffalo buffalo buffalo Buffalo
# buffalo* is a famous English sentence of eight (nearly) equal words. Attention sees eight
# equal vectors, so eight equal keys.

# %%
guess = widgets.predict_number(
    "Eight identical tokens: what is the entropy of each row of attention?", "nats"
)

# %%
import math

buffalo = weights_of(["buffalo"] * 8)
nats = measures.entropy(buffalo)
print(f"weights from {buffalo.min():.4f} to {buffalo.max():.4f}, so 1/8 = {1 / 8}")
print(f"entropy {nats.min():.6f} to {nats.max():.6f}, log 8 = {math.log(8):.6f}")
guess.reveal(nats.mean().item(), "nats")

# %% [markdown]
# **Look:** all weights are 1/8 and the entropy is $\log 8$, the most that eight keys allow. It
# could not be otherwise. The softmax of equal scores is uniform, whatever the matrices are. A
# token cannot attend to "the one before me", because nothing marks that one.
#
# Now a sentence with different words. How far below the ceiling does content alone bring it?

# %%
words = "the old cat sat on the mat".split()
content = measures.entropy(weights_of(words))
same = measures.entropy(weights_of(["buffalo"] * len(words)))
fig, ax = plt.subplots(figsize=(7, 3.4))
plots.entropy(
    ax,
    {"different words": content, "one word repeated": same},
    math.log(len(words)),
    title="entropy of attention, query by query",
)
plots.show(
    fig,
    f"Two curves over {len(words)} query positions. One word repeated: {same.mean():.2f} nats at "
    f"each, the largest possible. Different words: {content.min():.2f} to {content.max():.2f}.",
)

# %% [markdown]
# **Look:** repeated words lie on the ceiling. Different words lie below it, at heights set by
# the words. The two queries "the", at positions 0 and 5, have the same entropy:

# %%
print(f"query 0, the: {content[0]:.5f} nats    query 5, the: {content[5]:.5f} nats")

# %% [markdown]
# ## Does it matter? A test with a right answer
#
# Take sentences such as *John loves Mary* and *Mary loves John*, from two groups of eight names
# and four verbs. The task: does a name of the first group act? Both orders of each sentence are
# in the data. The test uses pairs of names that training never saw.
#
# The model is a one-layer transformer. Its outputs are averaged and classified. We train it
# twice: once with no encoding, once with the one of lesson 02.

# %%
guess = widgets.predict(
    "Without position, which share of the test sentences is classified right?",
    ["exactly half", "a little more than half", "nearly all"],
)

# %%
from torch.nn import functional as F

from course_utils.models import TinyTransformer
from course_utils.tasks import SentenceClassifier, who_loves_whom
from course_utils.training import fit

task = who_loves_whom().to(device)


def train(encoding, latest_start=0, steps=100):
    """Train from the same seed; each batch starts at a random position up to latest_start."""
    torch.manual_seed(0)
    body = TinyTransformer(
        len(task.words), encoding, d_model=64, n_layers=1, n_heads=2, causal=False
    )
    model = SentenceClassifier(body).to(device)

    def positions():
        return torch.randint(latest_start + 1, (1,)) + torch.arange(3)

    def loss():
        return F.cross_entropy(model(task.train, positions()), task.train_labels)

    losses = fit(model, loss, steps, lr=5e-3)
    tests = [model.accuracy(task.test, task.test_labels, positions()) for _ in range(20)]
    return torch.tensor(losses), sum(tests) / len(tests)


# %%
results = {name: train(name) for name in ("none", "sinusoidal")}
for name, (losses, accuracy) in results.items():
    print(f"{name:12} last loss {losses[-1]:.3f}   test accuracy {accuracy:.3f}")
exactly_half = results["none"][1] == 0.5
guess.reveal("exactly half" if exactly_half else "a little more than half")

# %%
fig, ax = plt.subplots(figsize=(7, 3.2))
plots.lines(
    ax,
    {name: losses for name, (losses, _) in results.items()},
    title="learning who loves whom",
    xlabel="training step",
    ylabel="loss (nats)",
)
ax.axhline(math.log(2), color="0.5", linewidth=1)
plots.show(
    fig,
    f"Training loss over 100 steps. Without position it ends at {results['none'][0][-1]:.2f}, the "
    f"loss of a coin toss, log 2 = {math.log(2):.2f}. With sinusoidal positions it ends at "
    f"{results['sinusoidal'][0][-1]:.2f}.",
)

# %% [markdown]
# **Look:** without position the loss stays at $\log 2$ (grey line), and the accuracy is exactly
# one half. Not about one half: for each sentence its reversal gets the very same answer, and
# one of the two is wrong. No amount of training can change that. With position the task is easy.

# %% [markdown]
# ## The causal mask opens a crack
#
# Language models hide the future: query $i$ sees keys $j \le i$ only. The mask does use the
# order. (It works at the scores, as a bias of $-\infty$ would. We do not count it as an open door:
# it hides, it does not encode.) A causal model without any encoding is called **NoPE**, for "no
# positional encoding".

# %%
guess = widgets.predict(
    "Eight times “buffalo” behind a causal mask, no encoding: the eight outputs are",
    ["all different", "all the same"],
)

# %%
torch.manual_seed(0)
causal = MultiHeadAttention(d_model=32, n_heads=1, causal=True).requires_grad_(False)
print(f"equivariance error, no mask     : {measures.equivariance_error(attention, sentence):.0e}")
print(f"equivariance error, causal mask : {measures.equivariance_error(causal, sentence):.2f}")
buffaloes = causal(2 * word_vectors(["buffalo"] * 8, 32)[None])[0][0]  # (8, 32)
spread_of_buffaloes = (buffaloes - buffaloes[0]).abs().max().item()
print(f"eight buffaloes, causal mask    : outputs differ by {spread_of_buffaloes:.0e}")
guess.reveal("all the same" if spread_of_buffaloes < 1e-5 else "all different")

# %% [markdown]
# **Look:** the mask breaks the symmetry, but by itself it tells nothing: the average of one, two
# or eight equal values is the same value. It takes tokens that differ. The simplest case: all
# scores are equal, the first token has the value 1 and all others 0. Query $p$ sees $p + 1$
# tokens, so its average is $1/(p+1)$. The position is in the output, by counting.

# %%
n = 8
visible = torch.tril(torch.ones(n, n))  # row p sees columns 0 … p
uniform = visible / visible.sum(-1, keepdim=True)
marker = torch.zeros(n)
marker[0] = 1.0
print("average:", [f"{value:.3f}" for value in (uniform @ marker).tolist()])

# %% [markdown]
# Can a trained model find this trick? We train one causal layer on *random words*, with the
# goal to say the position of each token. The only fixed thing is the first token, a start
# mark. The words themselves tell nothing. The control is the same model without the mask.

# %%
length = 64
goal = torch.arange(float(length), device=device)


def random_words(batch=32):
    words = torch.randint(1, 50, (batch, length), device=device)
    words[:, 0] = 0  # the start mark
    return words


def read_position(causal):
    torch.manual_seed(0)
    model = TinyTransformer(50, "none", d_model=64, n_layers=1, n_heads=4, causal=causal)
    model.add_module("reader", torch.nn.Linear(64, 1))
    model.to(device)

    def read(words):
        return length * (model.reader(model.hidden(words))[..., 0] + 0.5)

    fit(model, lambda: F.mse_loss(read(random_words()), goal.expand(32, -1)), 120, lr=3e-3)
    with torch.no_grad():
        return read(random_words()).cpu()  # (32, 64)


# %%
readings = {"causal mask": read_position(True), "no mask": read_position(False)}
errors = {  # without position 0: every model recognises the start mark itself
    name: (reading - goal.cpu())[:, 1:].abs().mean().item() for name, reading in readings.items()
}
chance = (goal[1:] - goal[1:].mean()).abs().mean().item()

# %%
fig, ax = plt.subplots(figsize=(6.5, 4))
plots.lines(
    ax,
    {name: reading.mean(0) for name, reading in readings.items()},
    title="position read from a model without encoding",
    xlabel="true position",
    ylabel="position read (mean of 32 texts)",
)
ax.plot([0, length - 1], [0, length - 1], color="0.5", linewidth=1)
plots.show(
    fig,
    f"With a causal mask the positions read follow the diagonal, mean error "
    f"{errors['causal mask']:.1f} positions. Without a mask they are right for the start mark and "
    f"near the middle for all other tokens, mean error {errors['no mask']:.0f}; always "
    f"answering the middle gives {chance:.0f}.",
)
for name, error in errors.items():
    print(f"{name:12} mean error {error:4.1f} positions")
print(f"{'chance':12} mean error {chance:4.1f} positions")

# %% [markdown]
# **Look:** behind a mask, and with a start mark to count from, the model reads its position to
# within a token or so. Without a mask it recognises the start mark, which is a word like any
# other. For all other tokens it can only answer the middle. Haviv et al. (2022) found position
# in trained NoPE language models. How well such models *extrapolate* is for a later lesson.

# %% [markdown]
# ## Playground: shuffle it yourself
#
# Shuffle number 0 is the sentence as it was. Try some shuffles without encoding: the right
# panel stays white. Then switch the encoding to `sinusoidal`, or set the causal mask, and see
# where the white goes.

# %%
from course_utils import explorers

widgets.explore(
    explorers.shuffle,
    size=(9.5, 3.6),
    shuffle=(0, 24, 3),
    encoding=["none", "sinusoidal"],
    causal=False,
)

# %% [markdown]
# The same as still pictures, for one shuffle and all four settings. The number is the largest
# change of a weight.

# %%
from course_utils.tasks import CAT_ON_MAT

order = torch.tensor([4, 0, 3, 2, 1, 5])
back = order.argsort()
fig, axes = plt.subplots(1, 4, figsize=(11, 3.4), sharey=True)
found = []
settings = [(name, mask) for mask in (False, True) for name in ("none", "sinusoidal")]
for ax, (name, mask) in zip(axes, settings, strict=True):
    module = explorers.playground_attention(name, mask)
    x = 2 * word_vectors(CAT_ON_MAT, 32)[None]
    w, w_shuffled = (module(each, need_weights=True)[1][0, 0] for each in (x, x[:, order]))
    gap = (w_shuffled[back][:, back] - w).detach()
    title = f"{name}{', causal' if mask else ''}"
    found.append(f"{title}: {gap.abs().max():.2f}")
    plots.heatmap(ax, gap, title=found[-1], xlabel="key", limit=0.5, equal=True)
axes[0].set_ylabel("query")
plots.show(
    fig,
    "Change of each attention weight after shuffling and putting back, in four settings. "
    f"Largest change: {'; '.join(found)}.",
)

# %% [markdown]
# **Look:** only the first panel is 0. An encoding breaks the symmetry, and so does the mask. The
# mask's changes are larger because it also changes which keys a word sees at all.

# %% [markdown]
# ## Why not simply 0, 1, 2, …?
#
# If attention lacks a number, hand it the number. The class below opens door 1 and adds the
# position itself to the first feature. This is all it takes to make an encoding in this course.

# %%
from course_utils.encodings import PositionalEncoding


class PlainNumber(PositionalEncoding):
    unit = 1.0

    def embed(self, x, positions, tokens=None):
        number = torch.zeros_like(x)
        number[..., 0] = positions / self.unit
        return x + number


plain = PlainNumber(d_model=64, n_heads=2)
print("doors:", plain.doors)

# %% [markdown]
# Look at what becomes of the words. Take the vectors of *cat* and *mat*, put both at the same
# position, and compare their directions.

# %%
from course_utils.encodings import create

two_words = word_vectors(["cat", "mat"], 64)[None]  # (1, 2, 64)
encodings = {"plain number": plain, "sinusoidal": create("sinusoidal", d_model=64, n_heads=2)}
print("position   " + "   ".join(f"{name:>12}" for name in encodings))
likeness = {name: [] for name in encodings}
for p in (0, 1, 10, 100, 1000):
    for name, encoding in encodings.items():
        placed = encoding.embed(two_words, torch.tensor([p, p]))[0]
        likeness[name].append(measures.similarity_matrix(placed)[0, 1].item())
    print(f"{p:8}   " + "   ".join(f"{values[-1]:12.2f}" for values in likeness.values()))

# %% [markdown]
# **Look:** the columns are cosine similarities of two *different* words. With plain numbers they
# go to 1. At position 100 the word has all but vanished behind its number. The sinusoidal
# encoding makes the words more alike too, but no more at 1000 than at 0.
#
# Does it hurt in training? The same task as before, with sentences that start anywhere between
# 0 and 1000. A third candidate divides the number by 1000, so that it stays below about 1.

# %%
guess = widgets.predict(
    "Plain numbers, sentences that start anywhere up to position 1000: the test accuracy is",
    ["as good as sinusoidal", "clearly worse than sinusoidal"],
)

# %%
encodings["number/1000"] = PlainNumber(d_model=64, n_heads=2)
encodings["number/1000"].unit = 1000.0
trials = [(name, latest) for latest in (0, 1000) for name in ("plain number", "sinusoidal")]
accuracies = {}
for name, latest in [*trials, ("number/1000", 1000)]:
    _, accuracies[name, latest] = train(encodings[name], latest_start=latest, steps=250)
    print(f"{name:13} starts at 0 … {latest:4}: accuracy {accuracies[name, latest]:.1f}")
worse = accuracies["plain number", 1000] < accuracies["sinusoidal", 1000] - 0.1
guess.reveal("clearly worse than sinusoidal" if worse else "as good as sinusoidal")

# %% [markdown]
# **Look:** near 0 plain numbers do as well. Far out the model does no better than a coin. The
# table above suggests why: at 1000 all words look alike. Divided by 1000, the numbers of two
# neighbours differ by 0.001, and the model learns nothing from them in 250 steps. Neither scale
# worked up to 1000. (This is one small model, one seed and one learning rate.)
#
# ## And one-hot?
#
# Give each position a feature of its own: bounded, and no two alike.


# %%
class OneHot(PositionalEncoding):
    def embed(self, x, positions, tokens=None):
        return x + F.one_hot(positions, self.d_model).to(x.dtype)


_, one_hot_accuracy = train(OneHot(d_model=64, n_heads=2))
print(f"accuracy at positions 0 … 2: {one_hot_accuracy:.2f}")
lengths = (64, 512, 2048)
widths = [F.one_hot(torch.tensor(length - 1)).shape[-1] for length in lengths]
for text, width in zip(lengths, widths, strict=True):
    attention_weights = sum(p.numel() for p in MultiHeadAttention(width, 2).parameters())
    print(f"texts of {text:4}: d_model at least {width:4}, {attention_weights:10,} weights a layer")
rows = measures.similarity_matrix(F.one_hot(torch.arange(64)).float())
print(f"similarity of neighbours {rows[10, 11]:.0f}, of strangers {rows[0, 63]:.0f}")

# %% tags=["raises-exception", "nbval-ignore-output"]
OneHot(d_model=64, n_heads=2).embed(torch.zeros(1, 65, 64), torch.arange(65))

# %% [markdown]
# **Look:** it works, and it stops at the width: position 64 has no feature left. So `d_model` must
# be at least the longest text. Also, neighbours are no more alike than strangers: one-hot says
# *which* position but not *how far*. Lesson 02 finds vectors of fixed width that say both.

# %% [markdown]
# ## Fingerprint and passport
#
# Two pictures close the tour of each encoding. The *fingerprint* shows the scores that a row
# of identical tokens gets. All that is left is position. The *passport* lists what the encoding
# costs and accepts, measured on this machine: one forward pass over 2 texts of 256 tokens.

# %%
none = create("none", d_model=128, n_heads=4)
scores = measures.fingerprint(none, 32)
spread = (scores - scores.mean((-1, -2), keepdim=True)).abs().max().item()
plots.show(
    plots.fingerprint(scores, "Fingerprint of no encoding"),
    f"Four blank squares, one a head: every score is the same. Largest deviation: {spread:.0e}.",
)

# %%
facts = measures.passport("none")
print(measures.passport_text(facts))

# %% tags=["volatile"]
print(f"time on this machine: {facts['time_ratio']:.2f} × attention without encoding")

# %% [markdown]
# **Look:** the fingerprint is blank, as it must be. In the passport everything extra is 0. The
# time, which you only see when you run the cell, compares two equal things. So its distance from
# 1 is noise. *Change under a shift by 37* moves all positions by 37 and reports the largest change
# of an attention weight.

# %% [markdown]
# ## Exercises
#
# **Exercise 1 ★ Entropy.** Write `my_entropy(weights)`. It takes weights of shape
# (…, queries, keys), each row summing to 1, and returns one entropy in nats for each query. A
# weight of 0 contributes 0.


# %% tags=["stub"]
def my_entropy(weights):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def my_entropy(weights):
    return -torch.xlogy(weights, weights).sum(-1)  # xlogy(0, 0) is 0


# %%
from course_utils.checks.lesson01 import (
    check_count,
    check_entropy,
    check_hidden_keys,
    check_is_equivariant,
)

check_entropy(my_entropy)

# %% [markdown]
# **Exercise 2 ★ The causal mask.** Write `hidden_keys(n)`. It returns a boolean (n, n) matrix,
# True where key $j$ is hidden from query $i$.


# %% tags=["stub"]
def hidden_keys(n):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def hidden_keys(n):
    return torch.arange(n)[None, :] > torch.arange(n)[:, None]


# %%
check_hidden_keys(hidden_keys)

# %% [markdown]
# **Exercise 3 ★★ Find the bug.** Tests of this shape are in circulation. They pass when they are
# tried with the reversed order. A test of equivariance should answer True for plain attention
# and *every* shuffle. First see where this one fails, then write it right.


# %%
def published(f, x, perm):
    y, y_shuffled = f(x), f(x[perm])
    return torch.allclose(y, y_shuffled[perm], atol=1e-5)


def plain_attention(x):
    return (x @ x.T / x.shape[-1] ** 0.5).softmax(-1) @ x


x = torch.randn(5, 16)
print("reversal:", published(plain_attention, x, torch.tensor([4, 3, 2, 1, 0])))
print("rotation:", published(plain_attention, x, torch.tensor([1, 2, 3, 4, 0])))


# %% tags=["stub"]
def is_equivariant(f, x, perm):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def is_equivariant(f, x, perm):
    return torch.allclose(f(x[perm]), f(x)[perm], atol=1e-5)  # one index by perm on each side


# %%
check_is_equivariant(is_equivariant)

# %% [markdown]
# **Exercise 4 ★★★ Count without an encoding.** Write `count(n)`. It returns the positions
# 0 … n − 1 as floats, but computed by causal attention alone: uniform causal weights, a marker
# on one token, and a function of the average. No `arange` of positions in the result, please.
# (The check cannot see how you did it. You can.)


# %% tags=["stub"]
def count(n):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def count(n):
    visible = torch.tril(torch.ones(n, n))
    uniform = visible / visible.sum(-1, keepdim=True)
    marker = torch.zeros(n)
    marker[0] = 1.0
    return 1 / (uniform @ marker) - 1  # the average at p is 1/(p + 1)


# %%
check_count(count)

# %% [markdown]
# Each check has three hints, for example `check_count.hint(1)`.

# %% [markdown]
# ## Myth check
#
# Six sentences that you can read in tutorials. First your guess, then the verdict. It is
# computed from what this notebook measured. *Depends* means that it held in some cases and not
# in others, and the cases are listed.

# %%
from course_utils.claims import Myths

myths = Myths(
    {
        "C01": "Shuffling the input leaves self-attention's output unchanged.",
        "C02": "The attention weights of a shuffled sentence are the same numbers elsewhere.",
        "C03": "A causal decoder without position encoding cannot know where it is.",
        "C04": "Position indices 0, 1, 2, … fed as plain numbers would do as well.",
        "C05": "One-hot positions work, but their width grows with the length.",
        "C06": "Adding position encoding to identical tokens raises the attention's entropy.",
    }
)

# %%
myths.settle(
    "C01",
    {"the output, row by row": rows_kept < 1e-5},
    f"Rows differ by up to {rows_kept:.2f}. Only their average is kept, to {pooled:.0e}.",
)
myths.settle(
    "C02",
    {name: gap < 1e-5 for name, gap in gaps.items()},
    f"Largest difference over {len(gaps)} sentences: {max(gaps.values()):.0e}.",
)
myths.settle(
    "C03",
    {
        "random words after a start mark": errors["causal mask"] > 0.9 * chance,
        "one word repeated": spread_of_buffaloes < 1e-5,
    },
    f"Error {errors['causal mask']:.1f} positions in the first case (chance {chance:.0f}); in the "
    f"second all outputs are equal to {spread_of_buffaloes:.0e}.",
)

# %%
keeps_up = {
    f"starts up to {latest}": accuracies["plain number", latest]
    > accuracies["sinusoidal", latest] - 0.05
    for latest in (0, 1000)
}
myths.settle(
    "C04",
    keeps_up,
    f"Accuracy {accuracies['plain number', 0]:.1f} near 0, "
    f"{accuracies['plain number', 1000]:.1f} up to 1000.",
)
myths.settle(
    "C05",
    {"it works": one_hot_accuracy > 0.95, "width = length": widths == list(lengths)},
    f"Accuracy {one_hot_accuracy:.2f}; texts of {lengths} tokens need widths {widths}.",
)

# %% [markdown]
# C06 needs one more experiment: eight identical tokens, with and without sinusoidal positions,
# in four heads of random attention.

# %%
torch.manual_seed(0)
with_position = MultiHeadAttention(64, 4, create("sinusoidal", d_model=64, n_heads=4))
same_tokens = word_vectors(["buffalo"] * 8, 64)[None]
with torch.no_grad():
    per_head = measures.entropy(with_position(same_tokens, need_weights=True)[1])[0].mean(-1)
myths.settle(
    "C06",
    {f"head {head}": bool(nats > math.log(8)) for head, nats in enumerate(per_head)},
    f"Without positions {math.log(8):.3f} nats, the most there can be; "
    f"with them {per_head.min():.3f} to {per_head.max():.3f}.",
)

# %%
myths.table()

# %% [markdown]
# ## In five lines
#
# - Shuffled input, shuffled output: attention is equivariant, and blind to order.
# - Identical tokens get uniform attention, with entropy $\log n$.
# - Averaged outputs cannot tell *John loves Mary* from *Mary loves John*: exactly half right.
# - A causal mask breaks the symmetry. With a start mark, a small model learns to count.
# - Plain numbers grow without bound. One-hot vectors grow in width. We want neither.
#
# **Read next:** Haviv et al. 2022, *Transformer Language Models without Positional Encodings
# Still Learn Positional Information*, arXiv 2203.16634.
#
# **Next lesson:** [02 · Sinusoidal](02_sinusoidal.ipynb). How can 128 numbers name any position
# and also say how far apart two positions are?
