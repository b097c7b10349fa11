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
# # 01 · Attention is blind to order
#
# **Question:** can attention tell *John loves Mary* from *Mary loves John*?
#
# After this lesson you can
#
# - say what becomes of attention when words change places, whatever its matrices are;
# - find the readers that are right in exactly half of all cases, before you train them;
# - say what a causal mask tells of the order, and what it does not.
#
# **Time:** {minutes}. **Builds on:** matrix products, softmax. **Doors:** none. That is the point.
# **Beyond:** a [closer look](closer/01_counting_and_numbers.ipynb).

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start(doors=[], title="Lesson 01: every door is shut")

# %% [markdown]
# ## A search
#
# A *sentence encoder* makes one vector of a text. A search shows the page first whose vector is
# nearest to the query's, by the *cosine*: 1 if both point the same way. all-MiniLM-L6-v2 is a small
# one in wide use, six layers of attention. Somebody types *convert PDF to Word*.

# %%
from course_lab import widgets

pages = [
    "convert PDF to Excel",
    "how to turn PDF into Word",
    "convert Word to PDF",
    "make a Word file from a PDF",
]
guess = widgets.predict("“convert PDF to Word”: which page is shown first?", pages)

# %% tags=["pretrained"]
from course_lab.session import if_installed
from course_utils import pretrained

encoder = if_installed(pretrained.minilm, device)


def cosine(model, text, other):
    vectors = model.embed([text, other])  # (2, 384), each of length 1
    return (vectors[0] @ vectors[1]).item()


# %% tags=["pretrained", "plumbing"]
# The answer, and fourteen more queries, each with a page that fits and one that is the opposite
queries = """\
flights from London to Paris | plane tickets from London to Paris | flights from Paris to London
trains from Rome to Milan | railway tickets from Rome to Milan | trains from Milan to Rome
translate English to French | an English text, put into French | translate French to English
from Celsius to Fahrenheit | turn Celsius into Fahrenheit | from Fahrenheit to Celsius
change dollars to euros | get euros for dollars | change euros to dollars
convert MP3 to WAV | make a WAV file from an MP3 | convert WAV to MP3
miles to kilometres | how many kilometres are in a mile | kilometres to miles
move files from phone to laptop | copy phone files onto a laptop | move files from laptop to phone
switch from Android to iPhone | replace my Android with an iPhone | switch from iPhone to Android
money from Anna to Paul | Paul gets money from Anna | money from Paul to Anna
dog bites man | a man was bitten by a dog | man bites dog
John loves Mary | Mary is loved by John | Mary loves John
the cat chases the mouse | the mouse is being chased by the cat | the mouse chases the cat
England beats Germany | Germany loses to England | Germany beats England"""
if encoder is not None:
    cosines = {page: cosine(encoder, "convert PDF to Word", page) for page in pages}
    for page in sorted(pages, key=cosines.get, reverse=True):
        print(f"{cosines[page]:.2f}  {page}")
    triples = [line.split(" | ") for line in queries.splitlines()]
    wrong = sum(
        cosine(encoder, query, opposite) > cosine(encoder, query, fitting)
        for query, fitting, opposite in triples
    )
    print(f"In {wrong} of {len(triples)} other queries the opposite is ahead of a page that fits.")
    guess.reveal(max(pages, key=cosines.get))

# %% [markdown]
# **Look:** the page that does the opposite comes first, and so it goes for *dollars to euros* and
# *dog bites man*. (The queries and pages are ours. Pages that repeat the query's words in its order
# do better.)
#
# Has attention no idea of order, then? This encoder is *told*: a vector for each place is added to
# each word. The end of this lesson takes that away. First, attention alone.
#
# ## Ten lines, and your sentence
#
# Each word $i$ is a vector $x_i$. Three matrices make a query, a key and a value of it. Then
#
# $$w_{ij} = \operatorname{softmax}_j\!\left(\frac{q_i \cdot k_j}{\sqrt d}\right), \qquad
# y_i = \sum_j w_{ij}\, v_j .$$

# %%
import torch


def attention_from_scratch(x, W_q, W_k, W_v):
    """x: (n, d) → a row for each word, (n, d), and weights (n, n)."""
    q, k, v = x @ W_q.T, x @ W_k.T, x @ W_v.T  # each (n, d)
    scores = q @ k.T / q.shape[-1] ** 0.5  # a row for each query, a column for each key
    weights = scores.softmax(dim=-1)  # each row sums to 1
    return weights @ v, weights


# %% tags=["plumbing"]
# The same as the reference, with one head
from course_lab.sentences import word_vectors
from course_utils.attention import MultiHeadAttention

torch.manual_seed(4)
reference = MultiHeadAttention(d_model=32, n_heads=1).requires_grad_(False)
matrices = [W.weight for W in (reference.W_q, reference.W_k, reference.W_v)]
x = 2 * word_vectors("John loves Mary".split(), 32)  # (3, 32)
rows, weights = attention_from_scratch(x, *matrices)
reference_rows, reference_weights = reference(x[None], need_weights=True)
assert torch.allclose(weights, reference_weights[0, 0], atol=1e-6)
assert torch.allclose(reference.W_o(rows), reference_rows[0], atol=1e-5)
print("from scratch = reference")

# %% [markdown]
# Below, each word has a random vector of 16 numbers, and the matrices are random too. Drag the
# words, or move them with the arrow keys.
#
# 1. Make Anna love Mary more than John does. What becomes of the row of *loves*?
# 2. Type a sentence of your own, of up to nine words. Find an order in which some word gets another
#    row.
# 3. Tick *tell places*. Now each place has a vector too, added to the word there. Look again.

# %%
from course_lab import explorers

explorers.sentence()

# %% tags=["plumbing"]
# Two orders, as pictures
import matplotlib.pyplot as plt

from course_lab import figures
from course_utils import plots

orders = ["John loves Mary".split(), "Mary loves John".split()]
fig, axes = plt.subplots(1, 4, figsize=(12, 2.9), width_ratios=[1, 1.2, 1, 1.2])
results = []
for words, pair in zip(orders, axes.reshape(2, 2), strict=True):
    rows, weights = attention_from_scratch(2 * word_vectors(words, 32), *matrices)
    results.append((rows, weights))
    figures.attention(pair[0], weights, words, title=f"{' '.join(words)}: weights")
    plots.heatmap(pair[1], rows[:, :12], title="output", signed=True, limit=2.5)
    pair[1].set_yticks(range(3), words)
    pair[1].set(xlabel="feature, the first 12", xticks=(0, 5, 10))
fig.suptitle("The same rows, elsewhere")
pairs = zip(orders, results, strict=True)
given = [weights[1, words.index("John")].item() for words, (_, weights) in pairs]
plots.show(
    fig,
    f"Weights and output rows of two orders. Loves gives John {given[0]:.2f} in one and "
    f"{given[1]:.2f} in the other. Each word has the same row of colours in both, elsewhere.",
)

# %% [markdown]
# **Look:** weights and rows travel with their words. *loves* gives John the same weight wherever he
# stands, and its row stays as it was. No order of any sentence changes a row, until places are
# told.
#
# Does that hold for all matrices? Yes. A score depends on its two words. A row adds up what one
# word makes of all words, and a sum does not care in which order it adds.
#
# ## Equivariant, invariant
#
# So has nothing changed? "Attention does not care about order" can mean two things.

# %%
perm = torch.tensor([2, 1, 0])  # word i of the second order is word perm[i] of the first
y, y_shuffled = results[0][0], results[1][0]
comparisons = {
    "row by row": y_shuffled - y,
    "y[perm], row by row": y_shuffled - y[perm],
    "the mean of all rows": y_shuffled.mean(0) - y.mean(0),
}
for name, gap in comparisons.items():
    print(f"{name:21}", "the same" if gap.abs().max() < 1e-5 else "another")

# %% [markdown]
# **Look:** the output *has* changed: its rows have moved, as the words have. That is *equivariant*.
# *Invariant* is what stays, such as the mean, which forgets which row is which. With $\pi$ for the
# shuffle,
#
# $$y^{\text{shuffled}}_i = y_{\pi(i)}, \qquad
# w^{\text{shuffled}}_{ij} = w_{\pi(i)\,\pi(j)} .$$
#
# A whole transformer without positions and mask is equivariant too: its other layers work on each
# row alone.
#
# ## Can training help?
#
# Sentences such as *John loves Mary*, from two groups of eight names and four verbs, each in both
# orders. The task: does a name of the first group act? The test has pairs of names that training
# never saw.
#
# A transformer of one layer without positions is trained with a linear *reader*, which gets one
# vector. Three ways to make it:

# %%
readers = {
    "the mean of all rows": lambda rows: rows.mean(1),  # rows: (batch, words, d)
    "the row of the verb": lambda rows: rows[:, 1],
    "the row of the last word": lambda rows: rows[:, 2],
}
guess = widgets.predict(
    "Which reader gets at least 90 % of the test sentences right?", ["none", *readers]
)

# %%
from torch.nn import functional as F

from course_lab.sentences import SentenceClassifier, who_loves_whom
from course_utils.models import TinyTransformer
from course_utils.models.training import fit


def share_right(task, read, seed, **options):
    """Train from a random start, the seed; return the share of the test that is right."""
    torch.manual_seed(seed)
    body = TinyTransformer(len(task.words), "none", d_model=32, n_heads=2, **options)
    model = SentenceClassifier(body, read).to(device)
    fit(model, lambda: F.cross_entropy(model(task.train), task.train_labels), steps=60, lr=5e-3)
    return model.accuracy(task.test, task.test_labels)


# %%
SEEDS = (0, 1, 2)
task, one_layer = who_loves_whom().to(device), {"n_layers": 1, "causal": False}
right = {
    name: [share_right(task, read, seed, **one_layer) for seed in SEEDS]
    for name, read in readers.items()
}

# %% tags=["plumbing"]
# The answer
for name, shares in right.items():
    print(f"{name:24}  right in three seeds: {min(shares):.3f} to {max(shares):.3f}")
passing = [name for name, shares in right.items() if min(shares) >= 0.9]
guess.reveal(passing[0] if passing else "none")

# %% [markdown]
# **Look:** not about half: *exactly*. The test has each sentence and its reversal. Mean and verb
# get the same vector from both, so both get the same answer, and one of the two is wrong. No
# training helps.
#
# The last word? *You* told. Rows travel, so *which row you read* is a place: Mary's in one, John's
# in the other.
#
# End each sentence with a full stop and read *its* row. Without a mask it is one more verb: exactly
# half.
#
# ## The mask
#
# Language models hide the future: by a *causal mask* query $i$ sees keys $j \le i$ only. That uses
# the order, but opens no door. A model with the mask and no positions is called **NoPE**. The full
# stop sees everybody.

# %%
guess = widgets.predict(
    "One layer behind a causal mask, reader of the full stop's row: right in",
    ["exactly half", "a little more than half", "nearly all"],
)

# %%
stopped = who_loves_whom(full_stop=True).to(device)
settings = {
    "full stop, no mask": {"n_layers": 1, "causal": False},
    "full stop, mask, one layer": {"n_layers": 1, "causal": True},
    "full stop, mask, two layers": {"n_layers": 2, "causal": True},
}
for name, options in settings.items():
    right[name] = [share_right(stopped, lambda rows: rows[:, 3], s, **options) for s in SEEDS]

# %% tags=["plumbing"]
# The answer
for name in settings:
    print(f"{name:28} right in three seeds: {min(right[name]):.3f} to {max(right[name]):.3f}")
half, nearly_all = (max(right[name]) < 0.51 for name in list(settings)[1:])
lowest = min(right["full stop, mask, one layer"])
guess.reveal(
    "exactly half" if half else "nearly all" if lowest > 0.9 else "a little more than half"
)

# %% [markdown]
# **Look:** still half. The mask hides nothing from the full stop, so its row is the old sum.
# *Other* rows have changed: John sees only himself if he comes first, and Mary too if he comes
# last. Something has to read *those*. A second layer does, and all are right.
#
# What do those rows know? *Buffalo buffalo Buffalo buffalo buffalo buffalo Buffalo buffalo* is a
# famous English sentence. (With a capital it is the city.) Were all eight the same, scores would be
# equal, and each weight 1/8.
#
# How widely weights are spread is their **entropy**, $-\sum_j w_{ij} \log w_{ij}$, in *nats*: 0 if
# one word gets all, and $\log n$, the most there is, if $n$ words get even shares.

# %%
import math

from course_lab.sentences import BUFFALO
from course_utils import measures

even = reference(word_vectors(["buffalo"] * 8, 32)[None], need_weights=True)[1][0, 0]
print(f"eight equal words: {measures.entropy(even)[0]:.3f} nats, log 8 = {math.log(8):.3f}")

# %%
guess = widgets.predict(
    "With the capitals, one random layer behind the mask: which two places (from 0 on) get the "
    "same row?",
    ["none", "0 and 2", "1 and 3", "3 and 4", "5 and 7"],
)

# %%
causal = MultiHeadAttention(d_model=32, n_heads=1, causal=True).requires_grad_(False)
rows = causal(2 * word_vectors(BUFFALO, 32)[None])[0][0]  # (8, 32)
gaps = torch.cdist(rows, rows)  # (8, 8), how far apart any two rows are

# %% tags=["plumbing"]
# The answer
pairs = [f"{i} and {j}" for i in range(8) for j in range(i + 1, 8) if gaps[i, j] < 1e-4]
for place, word in enumerate(BUFFALO):
    capitals = sum(seen == "Buffalo" for seen in BUFFALO[: place + 1])
    print(f"place {place}, {word}: sees {capitals} Buffalo of {place + 1}")
print("the same row:", ", ".join(pairs) or "none")
guess.reveal(pairs[0] if pairs else "none")

# %% [markdown]
# **Look:** places 1 and 3 hold the same word, and it sees the same *shares*: one of two, two of
# four. A weighted mean sees shares and nothing else.
#
# 1. Write six words so that three places get the same row.
# 2. Take two layers. Which sentence still has equal rows?
# 3. Untick the mask.

# %%
explorers.masked_sentence()

# %% tags=["plumbing"]
# Two answers
for text, layers in (("a b a b a b", 1), ("a b a b a b", 2), ("a a a b b b", 2)):
    rows = word_vectors(text.split(), 32)[None]
    for _ in range(layers):
        rows = rows + causal(rows)[0]
    near = torch.cdist(rows[0], rows[0]) < 1e-4
    alike = [str(place) for place in range(6) if near[place].sum() > 1]
    print(f"{text}, {layers} layer(s): alike are {', '.join(alike) or 'none'}")

# %% [markdown]
# With two layers, places that have seen one word over and over are still alike.
#
# Is that order? Not quite: shares come back. But let a text begin with a mark that occurs once:

# %%
marked = ["<start>"] + ["buffalo"] * 7
weights = causal(2 * word_vectors(marked, 32)[None], need_weights=True)[1][0, 0]
others = 1 / weights[1:, 0] - 1  # what all others get, against the mark
print([f"{value:.2f}" for value in (others / others[0]).tolist()])

# %% [markdown]
# **Look:** an untrained head *counts*. Say each buffalo gets $c$ times the mark's weight. Then the
# mark's share at place $p$ is $1/(1 + c\,p)$, and $1/\text{share} - 1 = c\,p$, whatever the
# matrices are. Trained NoPE models do know places (Haviv et al. 2022); the closer look trains one.
#
# ## Back to the search
#
# The encoder has no mask. Only its vectors for places can tell it the order. We replace all 512 by
# their mean, so that no word knows where it stands:

# %% tags=["pretrained"]
if encoder is not None:
    table = encoder.encoding.table  # (512, 384), a row for each place
    blind = encoder.with_table(table.mean(0).expand(512, -1))
    for model, name in ((blind, "places taken away"), (encoder, "as published")):
        to_word = cosine(model, "convert PDF to Word", "convert Word to PDF")
        loves = cosine(model, "John loves Mary", "Mary loves John")
        print(f"{name:18} cosine {to_word:.3f} and, for John and Mary, {loves:.3f}")

# %% [markdown]
# Now the title's question, to all of them. (The encoder stays as it is. A linear reader of its
# vectors is trained from five seeds.)


# %% tags=["pretrained", "plumbing"]
# The encoder's sentences, read
def sentence_vectors(model):
    """Vectors of the sentences for training and test."""
    for sentences in (task.train, task.test):
        yield model.embed([" ".join(task.words[i] for i in row) for row in sentences.tolist()])


def read_encoder(train, test, seed):
    """Share of test sentences that a linear reader of the sentence vectors gets right."""
    torch.manual_seed(seed)
    reader = torch.nn.Linear(384, 2).to(device)
    fit(reader, lambda: F.cross_entropy(reader(train), task.train_labels), steps=200, lr=0.1)
    return (reader(test).argmax(1) == task.test_labels).float().mean().item()


if encoder is not None:
    encoders = {"encoder, places taken away": blind, "encoder, as published": encoder}
    for name, model in encoders.items():
        vectors = list(sentence_vectors(model))
        right[name] = [read_encoder(*vectors, seed) for seed in range(5)]

# %% tags=["plumbing"]
# The picture
tells = {
    "the row of the last word": "you chose a row by its place",
    "full stop, mask, two layers": "a mask, and a layer to read it",
    "encoder, as published": "a vector for each place",
}
fig, ax = plt.subplots(figsize=(9, 4))
for row, (name, shares) in enumerate(right.items()):
    colour = "C1" if name in tells else "C0"
    heights = row + torch.linspace(-0.15, 0.15, len(shares))
    ax.plot(shares, heights, "o", color=colour, markersize=6)
    if name in tells:
        ax.text(min(shares) - 0.02, row, tells[name], color=colour, ha="right", va="center")
ax.axvline(0.5, color="0.6", linewidth=1, zorder=0)
ax.set_yticks(range(len(right)), right)
ax.set(xlim=(0.45, 1.02), ylim=(len(right) - 0.5, -0.5), xlabel="share of test sentences right")
ax.set_title("Who loves whom? Exactly half, unless something tells a place")
listed = "; ".join(f"{name}: {min(s):.2f} to {max(s):.2f}" for name, s in right.items())
plots.show(fig, f"Dots are seeds, a row for each reader. {listed}.")

# %% [markdown]
# **Look:** *can attention tell?* By itself, no: blue readers are right in exactly half. Each orange
# one had a place from somewhere.
#
# The encoder can tell, and its search still shows the wrong page. The order is in its vectors, in a
# part so small that a cosine hardly sees it. (Perhaps as texts with the same words mostly do mean
# the same.) So vectors for places work. What should be in them?
#
# ## Exercises
#
# **Exercise 1 ★★ Find the bug.** Someone wrote the test below. It should say whether `f` is
# equivariant under the shuffle `perm`: True for plain attention, whatever the shuffle. See where it
# fails, then write it right.


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
from course_lab.checks.lesson01 import check_is_equivariant, check_previous

check_is_equivariant(is_equivariant)

# %% [markdown]
# **Exercise 2 ★★★ The word before.** No encoding, and the rows of a text are stored in a secret
# order. Only `attend(q, k, v)` knows it: causal attention, not scaled, that hides what comes later
# in the *text*.


# %%
from course_lab.checks.probes import CausalAttend

attend = CausalAttend(torch.tensor([2, 0, 3, 1]))  # stored: Mary John today loves
# In order: John loves Mary today. Wanted: loves John Mary John.

# %% [markdown]
# Can each word find the word before it? Write `previous(attend, x, start)`: for each row of x, (n,
# d), the row of the word before it. The first word gets itself. `start`, (n,), is 1 at the first
# word and 0 elsewhere. Rows may meet in `attend` only: return what one call of it gave. Call it as
# often as you like. Up to 64 words must work.


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
# ## Myth check
#
# Guess first.

# %% tags=["plumbing"]
# Four claims
from course_lab.claims import Claim, Myths

myths = Myths(
    {
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
            scope="a start mark, then random words; to know: within half a place, 1,000 places",
            evidence="exact",
        ),
        "C06": Claim(
            "Adding position encoding to identical tokens raises the attention's entropy.",
            scope="no mask, sinusoidal positions",
            evidence="exact",
        ),
    }
)

# %% tags=["plumbing"]
# The first two
rows_kept, rows_moved, pooled = (gap.abs().max().item() for gap in comparisons.values())
myths.settle(
    "C01",
    {"the output, row by row": rows_kept < 1e-5},
    f"Rows differ by up to {rows_kept:.1f}. Only their mean stays, up to rounding.",
)
changes = {}
for name, module in {"no mask": reference, "causal mask": causal}.items():
    weights, shuffled = (
        module(2 * word_vectors(words, 32)[None], need_weights=True)[1][0, 0] for words in orders
    )
    changes[name] = (shuffled - weights[perm][:, perm]).abs().max().item()
myths.settle(
    "C02",
    {name: change < 1e-5 for name, change in changes.items()},
    "John loves Mary, reversed. Without a mask the largest difference is rounding; with one a word "
    f"that came earlier is hidden now, and a weight changes by {changes['causal mask']:.1f}.",
)

# %% tags=["plumbing"]
# An untrained layer that counts: its queries are 0, so all weights are even
counter = MultiHeadAttention(d_model=32, n_heads=1, causal=True).requires_grad_(False)
counter.W_q.weight.zero_()
words = torch.cat([torch.zeros(1, 32), torch.randn(1000, 32)])  # the mark's vector does not matter
share = counter(words[None], need_weights=True)[1][0, 0, :, 0]
miss = (1 / share - 1 - torch.arange(1001)).abs().max().item()
myths.settle(
    "C03",
    {"one layer whose queries are 0": miss > 0.5},
    "All weights even, the mark's share at place p is 1/(p + 1): that tells each of 1,000 places "
    f"{'to less than' if miss < 0.01 else 'not to'} 0.01. Whether training finds it is in the "
    "closer look.",
)

# %% tags=["plumbing"]
# Four heads of random attention over eight equal tokens, with positions
from course_utils.encodings import create

with_position = MultiHeadAttention(64, 4, create("sinusoidal", d_model=64, n_heads=4))
same_tokens = word_vectors(["buffalo"] * 8, 64)[None]
with torch.no_grad():
    per_head = measures.entropy(with_position(same_tokens, need_weights=True)[1])[0].mean(-1)
myths.settle(
    "C06",
    {f"head {head}": bool(nats > math.log(8)) for head, nats in enumerate(per_head)},
    f"Without positions it is log 8 = {math.log(8):.2f} nats, the most that there is. Nothing can "
    f"raise it. With them it is lower in {int((per_head < math.log(8)).sum())} of 4 heads.",
)

# %% [markdown]
# The first two once more, in the encoder without its places. (A bias of −∞ makes the mask.)

# %% tags=["pretrained", "plumbing"]
# The encoder without places, with and without a mask
from course_utils.encodings import PositionalEncoding


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
    one_row, mean_row = row_changes["no mask"]
    myths.in_a_real_model(
        "C01",
        {"no mask": one_row < 1e-5},
        f"Rows differ by up to {one_row:.2f} after six layers, their mean by {mean_row:.0e}.",
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

# %% tags=["pretrained"]
myths.table()

# %% [markdown]
# ## In five lines
#
# - Shuffle the words, and attention's rows are shuffled alike: *equivariant*, for all weights.
# - So a reader that chooses no place is right in half of all sentences and their reversals,
#   exactly.
# - Behind a causal mask rows know shares, and a second layer can read them.
# - Let a mark occur once, at the start, and its share counts places.
# - A famous encoder is told its places. Its vectors know the order; their cosine hardly does.
#
# **Read next:** Haviv et al. 2022, *Transformer Language Models without Positional Encodings Still
# Learn Positional Information*, arXiv 2203.16634.
#
# **Next:** [lesson 02](02_sinusoidal.ipynb). A vector for each place: how can 128 numbers name any
# place and also say how far apart two places are?
