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
# **Time:** {minutes}. **Builds on:** lesson 00, matrix products. **Doors:** none. That is the
# point.

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start(doors=[], title="Lesson 01: every door is shut")

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
from course_lab.sentences import word_vectors
from course_utils.attention import MultiHeadAttention

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
from course_lab import widgets

guess = widgets.predict(
    "John and Mary change places. The weight with which “loves” attends to “John” …",
    ["keeps its value", "takes the value that Mary had", "becomes some other number"],
)

# %%
from course_lab.sentences import reordering

first, second = "John loves Mary".split(), "Mary loves John".split()
perm = reordering(first, second)  # second[i] = first[perm[i]]


def weights_of(words):
    return attention(2 * word_vectors(words, 32)[None], need_weights=True)[1][0, 0]


before, after = weights_of(first), weights_of(second)
to_john = before[1, 0].item(), after[1, 2].item()
to_mary = before[1, 2].item()
print(f"loves → John: {to_john[0]:.3f} before, {to_john[1]:.3f} after")
print(f"loves → Mary: {to_mary:.3f} before")
unchanged = abs(to_john[0] - to_john[1]) < 1e-6
guess.reveal("keeps its value" if unchanged else "becomes some other number")

# %% [markdown]
# Now the whole matrix. If we shuffle the rows *and* the columns of the second one back, do we
# get the first?

# %%
import matplotlib.pyplot as plt

from course_lab import figures
from course_utils import plots

inverse = perm.argsort()  # the inverse permutation
fig, axes = plt.subplots(1, 3, figsize=(9.5, 3.3))
figures.attention(axes[0], before, first, title="John loves Mary")
figures.attention(axes[1], after, second, title="Mary loves John")
figures.attention(axes[2], after[inverse][:, inverse], first, title="the second, put back")
gap = (after[inverse][:, inverse] - before).abs().max().item()
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
from course_lab.chinese import PINYIN, labels

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
    original, shuffled = (sentence.split() for sentence in pair)
    order = reordering(original, shuffled)
    upper, lower = weights_of(original), weights_of(shuffled)
    gaps[pair[0]] = (lower - upper[order][:, order]).abs().max().item()
    figures.attention(column[0], upper, labels(original, PINYIN))
    figures.attention(column[1], lower, labels(shuffled, PINYIN))
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

original, shuffled = (sentence.split() for sentence in pairs[1])
y, y_shuffled = (
    attention(2 * word_vectors(words, 32)[None])[0][0] for words in (original, shuffled)
)
order = reordering(original, shuffled)
rows_moved = (y_shuffled - y[order]).abs().max().item()
rows_kept = (y_shuffled - y).abs().max().item()
pooled = (y_shuffled.mean(0) - y.mean(0)).abs().max().item()
row_of_sat = (y_shuffled[2] - y[2]).abs().max().item()  # in place 2 of both sentences
print(f"output against output, row by row : {rows_kept:.2f}")
print(f"output against output[order]      : {rows_moved:.0e}")
print(f"mean over tokens against the same : {pooled:.0e}")
print(f"the row of “sat” alone            : {row_of_sat:.0e}")

# %% [markdown]
# **Look:** the first number is large, the others are rounding. So the output is not unchanged. The
# rows moved. What is unchanged is anything that forgets which row is which, such as the mean. And
# a word that stayed where it was has the same row as before, although others moved around it. The
# package measures equivariance for any module, over several shuffles.

# %%
sentence = 2 * word_vectors("the cat sat on the mat".split(), 32)[None]
print(f"equivariance error: {measures.equivariance_error(attention, sentence):.0e}")

# %% [markdown]
# ## Eight times the same word
#
# What if all tokens are the same? *Buffalo buffalo Buffalo buffalo buffalo buffalo Buffalo
# buffalo* is a famous English sentence of eight (nearly) equal words. Attention sees eight
# equal vectors, so eight equal keys. *Entropy* says how widely weights are spread, in *nats*: 0
# when one token gets everything.

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
repeated = measures.entropy(weights_of(["buffalo"] * len(words)))
fig, ax = plt.subplots(figsize=(7, 3.4))
figures.entropy(
    ax,
    {"different words": content, "one word repeated": repeated},
    math.log(len(words)),
    title="entropy of attention, query by query",
)
for dots in ax.lines[:2]:  # words are no scale: no line from one to the next
    dots.set(linestyle="none", marker="o")
ax.set_xticks(range(len(words)), words)
ax.set_xlabel("query")
ax.legend(loc="lower right")
plots.show(
    fig,
    f"Two rows of dots over {len(words)} queries. One word repeated: {repeated.mean():.2f} nats at "
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
# The model is a one-layer transformer. Its outputs are averaged and classified. We train it with
# no encoding and with the one of lesson 02, from three random starts (*seeds*) each.

# %%
guess = widgets.predict(
    "Without position, which share of the test sentences is classified right?",
    ["exactly half", "a little more than half", "nearly all"],
)

# %%
from torch.nn import functional as F

from course_lab.sentences import SentenceClassifier, who_loves_whom
from course_utils.models import TinyTransformer
from course_utils.models.training import fit

task = who_loves_whom().to(device)


def train(encoding, seed, first=0):
    """Train and test with every sentence at positions first, first + 1, first + 2."""
    torch.manual_seed(seed)
    body = TinyTransformer(
        len(task.words), encoding, d_model=64, n_layers=1, n_heads=2, causal=False
    )
    model = SentenceClassifier(body).to(device)
    positions = first + torch.arange(3)

    def loss():
        return F.cross_entropy(model(task.train, positions), task.train_labels)

    losses = fit(model, loss, steps=60, lr=5e-3)
    return torch.tensor(losses), model.accuracy(task.test, task.test_labels, positions)


# %%
SEEDS = (0, 1, 2)
results = {name: [train(name, seed) for seed in SEEDS] for name in ("none", "sinusoidal")}
test_accuracies = {name: [accuracy for _, accuracy in runs] for name, runs in results.items()}
for name, shares in test_accuracies.items():
    print(f"{name:12} test accuracy, three seeds: {min(shares):.3f} to {max(shares):.3f}")
exactly_half = all(abs(share - 0.5) < 0.01 for share in test_accuracies["none"])
guess.reveal("exactly half" if exactly_half else "a little more than half")

# %%
fig, ax = plt.subplots(figsize=(7, 3.2))
plots.lines(
    ax,
    {name: runs[0][0] for name, runs in results.items()},
    title="learning who loves whom, seed 0",
    xlabel="training step",
    ylabel="loss (nats)",
)
ax.axhline(math.log(2), color="0.5", linewidth=1)
plots.show(
    fig,
    f"Training loss over 60 steps. Without position it ends at {results['none'][0][0][-1]:.2f}, "
    f"the loss of a coin toss, log 2 = {math.log(2):.2f}. With sinusoidal positions it ends at "
    f"{results['sinusoidal'][0][0][-1]:.2f}.",
)

# %% [markdown]
# **Look:** without position the loss stays at $\log 2$ (grey line), and the accuracy is exactly
# one half. Not about one half: for each sentence its reversal gets the very same answer, and
# one of the two is wrong. No training can change that. The average is not to blame: the verb's row
# alone is the same in both, like that of “sat”. With position the task is easy.

# %% [markdown]
# ## The causal mask opens a crack
#
# Language models hide the future: query $i$ sees keys $j \le i$ only. The mask does use the
# order. (We do not count it as an open door: it hides, it does not encode.) A causal model without
# any encoding is called **NoPE**, for "no positional encoding".

# %%
guess = widgets.predict(
    "Eight times “buffalo” with a causal mask, no encoding: the eight outputs are",
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

john_weights = []
for sentence_words, john in ((first, 0), (second, 2)):
    vectors = 2 * word_vectors(sentence_words, 32)[None]
    john_weights.append(causal(vectors, need_weights=True)[1][0, 0][1, john].item())
before_swap, after_swap = john_weights
print(
    f"loves → John, causal mask       : {before_swap:.2f} before, {after_swap:.2f} after the swap"
)

# %% [markdown]
# **Look:** the mask breaks the symmetry: a John who comes later is hidden. But by itself it tells
# nothing: the average of one, two or eight equal values is the same value. It takes tokens that
# differ. The simplest case: all scores are equal, the first token has the value 1 and all others 0.
# Query $p$ sees $p + 1$ tokens, so its average is $1/(p+1)$. The position is in the output, by
# counting.

# %%
n = 8
visible = torch.tril(torch.ones(n, n))  # row p sees columns 0 … p
uniform = visible / visible.sum(-1, keepdim=True)
marker = torch.zeros(n)
marker[0] = 1.0
print("average:", [f"{value:.3f}" for value in (uniform @ marker).tolist()])

# %% [markdown]
# Does a trained model count like this? We train one causal layer on *random words* to say the
# position of each token. The only fixed thing is the first token, a start mark. We train it also
# without the mark, and without the mask.

# %%
length = 64
goal = torch.arange(float(length))


def random_words(mark):
    words = torch.randint(1, 50, (16, length), device=device)
    if mark:
        words[:, 0] = 0
    return words


def train_reader(causal, mark, seed):
    torch.manual_seed(seed)
    model = TinyTransformer(50, "none", d_model=64, n_layers=1, n_heads=2, causal=causal)
    model.add_module("reader", torch.nn.Linear(64, 1))
    model.to(device)
    target = goal.expand(16, -1).to(device)

    def read(words):
        return length * (model.reader(model.hidden(words))[..., 0] + 0.5)

    def loss():
        return F.mse_loss(read(random_words(mark)), target)

    fit(model, loss, 120, lr=5e-3)
    model.requires_grad_(False)
    return read  # (16, 64) words → (16, 64) positions


# %%
kinds = {"mask, start mark": (True, True), "mask only": (True, False), "mark only": (False, True)}
readers = {name: [train_reader(*kind, seed) for seed in SEEDS] for name, kind in kinds.items()}
readings, errors = {}, {}
for name, kind in kinds.items():
    marked = kind[1]
    outputs = [read(random_words(marked)).cpu() for read in readers[name]]
    readings[name] = torch.cat(outputs).mean(0)
    misses = [(output - goal)[:, 1:].abs() for output in outputs]  # place 0 is the mark
    errors[name] = [miss.mean().item() for miss in misses]
    print(f"{name:17} mean error {min(errors[name]):4.1f} to {max(errors[name]):4.1f} positions")
constant = (goal[1:] - goal[1:].mean()).abs().mean().item()
print(f"{'best constant':17} mean error {constant:4.1f} positions")

# %%
fig, ax = plt.subplots(figsize=(6.5, 4))
plots.lines(
    ax,
    readings,
    title="position read from a model without encoding",
    xlabel="true position",
    ylabel="position read (mean of 48 texts)",
)
ax.plot([0, length - 1], [0, length - 1], color="0.5", linewidth=1)
plots.show(
    fig,
    "With a causal mask and a start mark the positions read follow the diagonal. With the mask "
    f"only they rise too, but bend: {readings['mask only'][60]:.0f} at 60. Without a mask they are "
    "right for the start mark and near the middle for all other tokens.",
)

# %% [markdown]
# **Look:** with mask and mark the model is off by less than two tokens on average. A low error
# does not say *how*. So we play a trick on it, after training: a second start mark, at place 20.
# If it counts by the share of marks, now $2/(p+1)$ from there on, it must read half.

# %%
torch.manual_seed(0)
two_marks = random_words(mark=True)
two_marks[:, 20] = 0
mean_read = torch.cat([read(two_marks).cpu() for read in readers["mask, start mark"]]).mean(0)
for p in (10, 21, 41, 61):
    share = (1 + (p >= 20)) / (p + 1)
    print(
        f"place {p}: share of marks {share:.3f}, so {1 / share - 1:4.1f}; read {mean_read[p]:5.1f}"
    )

# %% [markdown]
# **Look:** it counts by the share. Without a start mark something is left to read: an average over
# more words varies less (Chi et al. 2023, arXiv 2305.13571). The readings rise, with a large error.
# Without a mask the words tell nothing, and the model answers the middle. Haviv et al. (2022) found
# position in trained NoPE language models. How such models *extrapolate* is for a later lesson.

# %% [markdown]
# ## Playground: shuffle it yourself
#
# Shuffle number 0 is the sentence as it was. Try some shuffles without encoding: the right
# panel stays white. Then switch the encoding to `sinusoidal`, or set the causal mask, and see
# where the white goes.

# %%
from course_lab import explorers

explorers.shuffle()

# %% [markdown]
# The same as still pictures, for one shuffle and all four settings. The number is the largest
# change of a weight.

# %%
from course_lab.sentences import CAT_ON_MAT

order = torch.tensor([4, 0, 3, 2, 1, 5])
inverse = order.argsort()
fig, axes = plt.subplots(1, 4, figsize=(11, 3.4), sharey=True)
captions = []
settings = [(name, mask) for mask in (False, True) for name in ("none", "sinusoidal")]
for ax, setting in zip(axes, settings, strict=True):
    name, mask = setting
    module = explorers.playground_attention(name, mask)
    x = 2 * word_vectors(CAT_ON_MAT, 32)[None]
    w, w_shuffled = (module(each, need_weights=True)[1][0, 0] for each in (x, x[:, order]))
    gap = (w_shuffled[inverse][:, inverse] - w).detach()
    captions.append(f"{name}{', causal' if mask else ''}: {gap.abs().max():.2f}")
    plots.heatmap(ax, gap, title=captions[-1], xlabel="key", limit=0.5, equal=True)
axes[0].set_ylabel("query")
plots.show(
    fig,
    "Change of each attention weight after shuffling and putting back, in four settings. "
    f"Largest change: {'; '.join(captions)}.",
)

# %% [markdown]
# **Look:** only the first panel is 0. An encoding breaks the symmetry, and so does the mask, which
# also changes which keys a word sees at all.

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
# Look at what becomes of the words. Take *cat* and *mat* at position $p$, and *cat* at $p + 1$. How
# far apart are their vectors? And how far after LayerNorm, the first step of a block, which brings
# each vector to the same size?

# %%
from course_utils.encodings import create

three_words = word_vectors(["cat", "mat", "cat"], 64)[None]  # (1, 3, 64)
encodings = {"plain number": plain, "sinusoidal": create("sinusoidal", d_model=64, n_heads=2)}
print("                          cat – mat    after LayerNorm: cat – mat    cat at p – at p + 1")
for name, encoding in encodings.items():
    for p in (0, 10, 100, 1000):
        placed = encoding.embed(three_words, torch.tensor([p, p, p + 1]))[0]
        cat, mat, later = F.layer_norm(placed, (64,))
        raw, words_apart, step = (placed[0] - placed[1], cat - mat, cat - later)
        print(
            f"{name:13} position {p:4} {raw.norm():6.1f} {words_apart.norm():25.2f}"
            f"{step.norm():25.5f}"
        )

# %% [markdown]
# **Look:** the plain number itself hides nothing: the words stay as far apart as they were. Then
# LayerNorm comes. It divides by the size of the vector, and a large number makes that large. At
# position 1000 two words are hardly apart any more, and two neighbours even less. With sinusoids
# both stay as they are at every position, nearly.
#
# Does it hurt in training? The same task, with sentences at 0 and at 1000. A third candidate
# divides the number by 1000, so that it stays near 1.

# %%
guess = widgets.predict(
    "Plain numbers, every sentence at position 1000: the test accuracy is "
    "(as good: at most 0.05 lower, for each of three seeds)",
    ["as good as sinusoidal", "worse than sinusoidal"],
)

# %%
encodings["number/1000"] = PlainNumber(d_model=64, n_heads=2)
encodings["number/1000"].unit = 1000.0
trials = [("plain number", 0), *((name, 1000) for name in encodings)]
accuracies = {("sinusoidal", 0): test_accuracies["sinusoidal"]}
for name, first in trials:
    accuracies[name, first] = [train(encodings[name], seed, first)[1] for seed in SEEDS]
keeps_up = {}
for name, first in sorted(accuracies, key=lambda trial: trial[1]):
    shares = accuracies[name, first]
    print(f"{name:13} at {first:4}: accuracy {min(shares):.2f} to {max(shares):.2f}")
    shortfalls = [a - b for a, b in zip(accuracies["sinusoidal", first], shares, strict=True)]
    keeps_up[name, first] = max(shortfalls) <= 0.05
as_good = keeps_up["plain number", 1000]
guess.reveal("as good as sinusoidal" if as_good else "worse than sinusoidal")

# %% [markdown]
# **Look:** at 0 plain numbers do as well. At 1000 the model is no better than a coin. Divided by
# 1000, the numbers of two neighbours differ by 0.001, and that is a coin too. The table above
# suggests why. (This is one small model, three seeds, one learning rate and 60 steps. Longer
# training is not tried here.)
#
# ## And one-hot?
#
# Give each position a feature of its own: bounded, and no two alike.


# %%
class OneHot(PositionalEncoding):
    def embed(self, x, positions, tokens=None):
        return x + F.one_hot(positions, self.d_model).to(x.dtype)


one_hot = [train(OneHot(d_model=64, n_heads=2), seed)[1] for seed in SEEDS]
print(f"accuracy at positions 0 … 2, three seeds: {min(one_hot):.2f} to {max(one_hot):.2f}")
lengths = (64, 512, 2048)
widths = [F.one_hot(torch.tensor(length - 1)).shape[-1] for length in lengths]
for tokens, width in zip(lengths, widths, strict=True):
    attention_weights = sum(p.numel() for p in MultiHeadAttention(width, 2).parameters())
    print(
        f"texts of {tokens:4}: d_model at least {width:4}, {attention_weights:10,} weights a layer"
    )
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
# Two pictures close the tour of each encoding. The *fingerprint* shows the scores of rows of
# identical tokens, averaged over 64 different tokens. What is left is what position does to all of
# them alike. The *passport* lists what the encoding costs and accepts, measured on this machine:
# one forward pass over 2 texts of 256 tokens.

# %%
none = create("none", d_model=128, n_heads=4)
scores = measures.fingerprint(none, 32)
spread = (scores - scores.mean((-1, -2), keepdim=True)).abs().max().item()
plots.show(
    figures.fingerprint(scores, "Fingerprint of no encoding"),
    f"Four blank squares, one a head: every score is the same. Largest deviation: {spread:.0e}.",
)

# %%
from course_lab.measures import passport_text

facts = measures.passport("none")
print(passport_text(facts))

# %% tags=["volatile"]
print(f"time on this machine: {facts['time_ratio']:.2f} × attention without encoding")

# %% [markdown]
# **Look:** the fingerprint is blank, as it must be. In the passport everything extra is 0. The
# time, which you only see when you run the cell, compares two equal things. So its distance from
# 1 is noise. *Change under a shift by 37* moves all positions by 37 and reports the largest change
# of an attention weight.

# %% [markdown]
# ## In a real model
#
# Does this matter in a model in use? all-MiniLM-L6-v2 is a *sentence encoder*, made for search: six
# layers of attention without a mask, then the average over tokens, as in our classifier. Position
# comes in by door 1, as learned vectors. Search compares what comes out for two sentences by the
# cosine: 1 is the same direction.

# %% tags=["pretrained"]
from course_lab.session import if_installed
from course_utils import pretrained

encoder = if_installed(pretrained.minilm, device)

# %% [markdown]
# Somebody asks for *flights from London to Paris*. There are five pages, and the one with the
# largest cosine is shown first.

# %%
query = "flights from London to Paris"
pages = [
    "flight from London to Paris",
    "flights to Paris from London",
    "plane tickets from London to Paris",
    "flights from Paris to London",
    "flights from London to Rome",
]
guess = widgets.predict(f"“{query}”: which page is shown first?", pages)


# %% tags=["pretrained"]
def similarity(model, sentence, other):
    vectors = model.embed([sentence, other])  # (2, 384), each of length 1
    return (vectors[0] @ vectors[1]).item()


if encoder is not None:
    cosines = {page: similarity(encoder, query, page) for page in pages}
    ranking = sorted(cosines, key=cosines.get, reverse=True)
    for page in ranking:
        print(f"{cosines[page]:.3f}  {page}")
    guess.reveal(ranking[0])

# %% [markdown]
# **Look:** the first page flies the wrong way, ahead of the same words in the right sense. The
# encoder knows which cities are meant: Rome is far away. But it takes London → Paris for
# Paris → London.
#
# What do its position vectors do, then? We give every place the same one, the mean of all 512, and
# compare. Now no token knows where it stands: six equivariant layers in a row are equivariant, and
# their average is invariant.

# %% tags=["pretrained"]
swaps = [
    (query, "flights from Paris to London"),
    ("John loves Mary", "Mary loves John"),
    ("the cat sat on the mat", "the mat sat on the cat"),
    ("dog bites man", "man bites dog"),
    ("not bad, good", "not good, bad"),
    ("John loves Mary", "John hates Mary"),
]
if encoder is not None:
    table = encoder.encoding.table  # (512, 384), a row for each place
    blind = encoder.with_table(table.mean(0).expand(512, -1))
    own_rows = [similarity(encoder, *pair) for pair in swaps]
    equal_rows = [similarity(blind, *pair) for pair in swaps]
    print(f"same words, equal rows: 1, up to {max(abs(1 - c) for c in equal_rows[:5]):.0e}")

# %% tags=["pretrained"]
if encoder is not None:
    fig, ax = plt.subplots(figsize=(8, 3.8))
    rows = range(len(swaps))
    ax.hlines(rows, own_rows, equal_rows, color="0.8", zorder=0)
    ax.plot(own_rows, rows, "o", label="its own position vectors")
    ax.plot(equal_rows, rows, "D", label="the same vector at every place")
    for row, cosine in enumerate(own_rows):
        ax.annotate(f"{cosine:.3f}", (cosine, row), (0, 5), textcoords="offset points", ha="right")
    ax.set_yticks(rows, ["\n".join(pair) for pair in swaps], fontsize=9)
    ax.set(ylim=(5.5, -0.7), xlim=(0.8, 1.005), xlabel="cosine of the two sentences")
    fig.legend(loc="outside upper center", ncols=2)
    described = "; ".join(
        f"{' / '.join(pair)}: {with_own:.3f} and {with_equal:.3f}"
        for pair, with_own, with_equal in zip(swaps, own_rows, equal_rows, strict=True)
    )
    plots.show(
        fig,
        f"Cosines of six pairs, with its own position vectors and with equal ones. {described}.",
    )

# %% [markdown]
# **Look:** with equal vectors the same words give 1, however well the layers were trained. With its
# own it is a little less: order is in the sentence vector, and little of it. One other word,
# *hates*, moves it further than any new order here.
#
# Is it enough to know who loves whom? The test from above, with the encoder as it is and a linear
# reader of its vectors:


# %% tags=["pretrained"]
def role_accuracy(model):
    """Share of test sentences that a linear reader of the sentence vectors gets right."""
    train, test = (
        model.embed([" ".join(task.words[i] for i in row) for row in rows.tolist()])
        for rows in (task.train, task.test)
    )
    torch.manual_seed(0)
    reader = torch.nn.Linear(384, 2).to(device)
    fit(reader, lambda: F.cross_entropy(reader(train), task.train_labels), steps=200, lr=0.1)
    return (reader(test).argmax(1) == task.test_labels).float().mean().item()


if encoder is not None:
    for name, model in {"its own position vectors": encoder, "equal ones": blind}.items():
        print(f"{name:25} test accuracy {role_accuracy(model):.2f}")

# %% [markdown]
# **Look:** that answers this lesson's question in a real model. Without position: exactly half, as
# it must be. With it: well above 0.8. The vector does say who loves whom, in a part of it so small
# that a cosine hardly sees it. A reader that was trained to look there finds it. A search by cosine
# books the flight home. (Perhaps the part is small because texts with the same words mostly do mean
# the same.)

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
from course_lab.checks.lesson01 import check_entropy, check_is_equivariant, check_previous

check_entropy(my_entropy)

# %% [markdown]
# **Exercise 2 ★★ Find the bug.** Suppose someone wrote the test below. It passes when it is tried
# with the reversed order. A test of equivariance should answer True for plain attention
# and *every* shuffle. First see where this one fails, then write it right.


# %%
def suggested(f, x, perm):
    y, y_shuffled = f(x), f(x[perm])
    return torch.allclose(y, y_shuffled[perm], atol=1e-5)


def plain_attention(x):
    return (x @ x.T / x.shape[-1] ** 0.5).softmax(-1) @ x


x = torch.randn(5, 16)
print("reversal:", suggested(plain_attention, x, torch.tensor([4, 3, 2, 1, 0])))
print("rotation:", suggested(plain_attention, x, torch.tensor([1, 2, 3, 4, 0])))


# %% tags=["stub"]
def is_equivariant(f, x, perm):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def is_equivariant(f, x, perm):
    return torch.allclose(f(x[perm]), f(x)[perm], atol=1e-5)  # one index by perm on each side


# %%
check_is_equivariant(is_equivariant)

# %% [markdown]
# **Exercise 3 ★★★ The word before.** No encoding, and the rows of a text are stored in a secret
# order. Only `attend` knows which word is later than which, and hides it:


# %%
def secret_order(places):
    """Causal attention, not scaled, over rows in any order: row r holds word places[r]."""

    def attend(q, k, v):  # (n, e), (n, e), (n, m) → (n, m)
        later = places[None, :] > places[:, None]
        return (q @ k.T).masked_fill(later, -torch.inf).softmax(-1) @ v

    return attend


stored, secret = "Mary John today loves".split(), torch.tensor([2, 0, 3, 1])
attend = secret_order(secret)  # John loves Mary today
row_of_word = secret.argsort()
previous_words = [stored[row] for row in row_of_word[(secret - 1).clamp(min=0)]]
print("stored :", *stored)
print("wanted :", *previous_words)

# %% [markdown]
# Can each word find the word before it? Write `previous(attend, x, start)`: for each row of x,
# (n, d), the row of the word before it. The first word gets itself. `start`, (n,), is 1 at the
# first word and 0 elsewhere. Rows may meet in `attend` only: return what one call of it gave. Call
# it as often as you like. Up to 64 words must work.


# %% tags=["stub"]
def previous(attend, x, start):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def previous(attend, x, start):
    zeros = torch.zeros(len(x), 1)
    share = attend(zeros, zeros, start[:, None])  # equal scores: 1/(p + 1)
    p = 1 / share - 1  # (n, 1), the place of each word
    q = 20 * torch.cat([2 * (p - 1), -torch.ones_like(p)], dim=1)
    k = torch.cat([p, p**2], dim=1)  # q · k = −20 (p_k − (p_q − 1))² + what all keys share
    return attend(q, k, x)


# %%
check_previous(previous)

# %% [markdown]
# Each check has three hints, for example `check_previous.hint(1)`.

# %% [markdown]
# ## Myth check
#
# Six sentences that you can read in tutorials. In brackets: what each speaks of, and by which
# yardstick it is judged. First your guess, then the verdict, computed from what this notebook
# measured. *Depends* is for a claim whose truth turns on a choice of yours, and names the choice.

# %%
from course_lab.claims import Claim, Myths

claims = {
    "C01": Claim(
        "Shuffling the input leaves self-attention's output unchanged.",
        scope="no encoding, no mask; unchanged: each row, to 1e-5",
        evidence="exact",
    ),
    "C02": Claim(
        "The attention weights of a shuffled sentence are the same numbers elsewhere.",
        scope="no encoding; the same to 1e-5",
        evidence="exact",
        choice="the causal mask",
    ),
    "C03": Claim(
        "A causal decoder without position encoding cannot know where it is.",
        scope="random words after a start mark; to know: a mean error of at most 2 of 64 positions",
        evidence="trained here",
        seeds=3,
    ),
}

# %%
claims |= {
    "C04": Claim(
        "Position indices 0, 1, 2, … fed as plain numbers would do as well.",
        scope="a small model, sentences at 0 and at 1000; at most 0.05 below sinusoidal",
        evidence="trained here",
        seeds=3,
    ),
    "C05": Claim(
        "One-hot positions work, but their width grows with the length.",
        scope="a small model, three tokens; work: at least 0.9 of the test sentences right",
        evidence="trained here",
        seeds=3,
    ),
    "C06": Claim(
        "Adding position encoding to identical tokens raises the attention's entropy.",
        scope="no mask, sinusoidal positions",
        evidence="exact",
    ),
}
myths = Myths(claims)

# %%
myths.settle(
    "C01",
    {"the output, row by row": rows_kept < 1e-5},
    f"Rows differ by up to {rows_kept:.2f}. Only their average is kept, to {pooled:.0e}.",
)
cases = {f"no mask, {name}": gap < 1e-5 for name, gap in gaps.items()}
cases["causal mask, John loves Mary"] = abs(john_weights[0] - john_weights[1]) < 1e-5
myths.settle(
    "C02",
    cases,
    f"Without a mask the largest difference is {max(gaps.values()):.0e}. With one, the weight of "
    f"John for loves goes from {john_weights[0]:.2f} to {john_weights[1]:.2f}.",
)
with_mark = errors["mask, start mark"]
myths.settle(
    "C03",
    {f"seed {seed}": error > 2 for seed, error in zip(SEEDS, with_mark, strict=True)},
    f"Mean error {min(with_mark):.1f} to {max(with_mark):.1f} positions; the best constant answer "
    f"has {constant:.0f}. (From one word repeated it learns nothing: equal outputs.)",
)

# %% [markdown]
# C01 and C02 can be put to the sentence encoder too: six trained layers, position left out. For the
# causal mask a bias of −∞ hides later tokens (door 3).


# %% tags=["pretrained"]
class HideLater(PositionalEncoding):
    def bias(self, q, k, at):
        return torch.where(at.offsets > 0, -torch.inf, 0.0)


if encoder is not None:
    tokens, _ = encoder.encode("John loves Mary")  # (1, 5), a mark at each end
    order = torch.tensor([0, 3, 2, 1, 4])
    encodings = {"no mask": create("none", d_model=384, n_heads=12), "mask": HideLater(384, 12)}
    row_changes, weight_changes = {}, {}  # largest differences, also of the mean row
    for name, encoding in encodings.items():
        model = encoder.with_encoding(encoding)
        y, weights = model(tokens, need_weights=True)  # weights of each layer
        y_shuffled, shuffled = model(tokens[:, order], need_weights=True)
        change = y_shuffled - y
        row_changes[name] = change.abs().max().item(), change.mean(1).abs().max().item()
        moved = [layer[..., order, :][..., order] for layer in weights]
        layers = zip(moved, shuffled, strict=True)
        weight_changes[name] = max((a - b).abs().max().item() for a, b in layers)

# %% tags=["pretrained"]
if encoder is not None:
    one_row, mean_row = row_changes["no mask"]
    myths.in_a_real_model(
        "C01",
        {"no mask": one_row < 1e-5},
        f"Rows differ by up to {one_row:.2f} after six layers, their average by {mean_row:.0e}.",
        "all-MiniLM-L6-v2",
    )
    unmasked, with_mask = weight_changes.values()
    myths.in_a_real_model(
        "C02",
        {name: gap < 1e-5 for name, gap in weight_changes.items()},
        f"In all layers and heads the largest difference is {unmasked:.0e}; with the mask "
        f"{with_mask:.2f}.",
        "all-MiniLM-L6-v2",
    )

# %%
myths.settle(
    "C04",
    {f"sentences at {first}": keeps_up["plain number", first] for first in (0, 1000)},
    f"Highest accuracy of plain numbers {max(accuracies['plain number', 0]):.2f} at 0, "
    f"{max(accuracies['plain number', 1000]):.2f} at 1000.",
)
myths.settle(
    "C05",
    {"they work": min(one_hot) >= 0.9, "width = length": widths == list(lengths)},
    f"Accuracy at least {min(one_hot):.2f}. One feature a position: texts of {lengths} tokens need "
    f"widths {widths}.",
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
    f"Without positions {math.log(8):.3f} nats, the most there can be: nothing can raise it. "
    f"With them {per_head.min():.3f} to {per_head.max():.3f}.",
)

# %% tags=["pretrained"]
myths.table()

# %% [markdown]
# ## In five lines
#
# - Shuffled input, shuffled output: attention is equivariant, and blind to order.
# - Identical tokens get uniform attention, with entropy $\log n$.
# - Averaged outputs cannot tell *John loves Mary* from *Mary loves John*: exactly half right. A
#   real encoder can, as position comes in, but its cosine hardly shows it.
# - A causal mask breaks the symmetry. With a start mark, a small model learns to count.
# - Plain numbers grow without bound. One-hot vectors grow in width. We want neither.
#
# **Read next:** Haviv et al. 2022, *Transformer Language Models without Positional Encodings
# Still Learn Positional Information*, arXiv 2203.16634.
#
# **Next lesson:** [02 · Sinusoidal](02_sinusoidal.ipynb). How can 128 numbers name any position
# and also say how far apart two positions are?
