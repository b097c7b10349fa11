# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   order_matters:
#     edition: 2
#     lines: [2, 3]
# ---

# %% [markdown]
# # 01 · Attention is blind to order
#
# **Question:** can attention tell *John loves Mary* from *Mary loves John*?
#
# After this lesson you can
#
# - say what becomes of attention when words change places, whatever its matrices are;
# - tell, before any training, which classifiers must be right in exactly half of all cases;
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
# one in wide use. It cuts a text into *tokens*, words or pieces of words, and takes their vectors
# through six *layers*, each with attention. Somebody types *flights from London to Paris*.

# %%
from course_lab import widgets

query = "flights from London to Paris"
pages = [
    "flights from London to Rome",
    "cheap flights from London to Paris",
    "flights from Paris to London",
    "flights from London to Paris today",
]
guess = widgets.predict(f"“{query}”: which page is shown first?", pages)

# %% tags=["pretrained"]
from course_lab.session import if_installed
from course_utils import pretrained

encoder = if_installed(pretrained.minilm, device)


def cosine(model, text, other):
    vectors = model.embed([text, other])  # (2, 384), each of length 1
    return (vectors[0] @ vectors[1]).item()


# %% tags=["pretrained", "plumbing"]
# The answer, and more queries
import pandas as pd
from IPython.display import display

keep_order = """\
convert PDF to Word | turn PDF into Word | convert Word to PDF | turn Word into PDF
flights from London to Paris | plane tickets from London to Paris | flights from Paris to London \
| plane tickets from Paris to London
trains from Rome to Milan | railway tickets from Rome to Milan | trains from Milan to Rome \
| railway tickets from Milan to Rome
translate English to French | English put into French | translate French to English \
| French put into English
from Celsius to Fahrenheit | turn Celsius into Fahrenheit | from Fahrenheit to Celsius \
| turn Fahrenheit into Celsius
move files from phone to laptop | copy phone files onto a laptop | move files from laptop to phone \
| copy laptop files onto a phone
switch from Android to iPhone | replace my Android with an iPhone | switch from iPhone to Android \
| replace my iPhone with an Android"""
turn_it = """\
change dollars to euros | get euros for dollars | change euros to dollars | get dollars for euros
convert MP3 to WAV | make a WAV file from an MP3 | convert WAV to MP3 | make an MP3 file from a WAV
miles to kilometres | get kilometres from miles | kilometres to miles | get miles from kilometres
money from Anna to Paul | Paul gets money from Anna | money from Paul to Anna \
| Anna gets money from Paul
dog bites man | a man was bitten by a dog | man bites dog | a dog was bitten by a man
John loves Mary | Mary is loved by John | Mary loves John | John is loved by Mary
the cat chases the mouse | the mouse is being chased by the cat | the mouse chases the cat \
| the cat is being chased by the mouse
England beats Germany | Germany loses to England | Germany beats England \
| England loses to Germany"""


def leads(model, table):
    """By how much a page that fits, in other words, leads the opposite: of each query, the opposite
    in the query's own words; of each row, both in other words, summed over its two queries."""
    own_words, other_words = [], []
    for line in table.splitlines():
        typed, fits, opposite, reworded = line.split(" | ")
        own_words += [
            cosine(model, typed, fits) - cosine(model, typed, opposite),
            cosine(model, opposite, reworded) - cosine(model, opposite, typed),
        ]
        other_words += [
            cosine(model, typed, fits)
            - cosine(model, typed, reworded)
            + cosine(model, opposite, reworded)
            - cosine(model, opposite, fits)
        ]
    return own_words, other_words


if encoder is not None:
    cosines = {page: cosine(encoder, query, page) for page in pages}
    by_cosine = sorted(pages, key=cosines.get, reverse=True)
    shown = {"cosine": [f"{cosines[page]:.3f}" for page in by_cosine]}
    display(pd.DataFrame(shown, index=by_cosine))
    (own_kept, kept), (own_turned, turned) = (leads(encoder, t) for t in (keep_order, turn_it))
    behind = sum(lead < 0 for lead in own_kept + own_turned)
    print(
        f"The opposite beats a page that fits in other words in {behind} of "
        f"{len(own_kept + own_turned)} queries.\nWith both pages in other words, over both queries "
        f"of a row, the one that fits leads\nin {sum(lead > 0 for lead in kept)} of {len(kept)} "
        "rows where these keep the order of the two words,\n"
        f"in {sum(lead > 0 for lead in turned)} of {len(turned)} where they turn it."
    )
    guess.reveal(max(pages, key=cosines.get))

# %% [markdown]
# **Look:** the opposite comes first, before two pages that repeat the query. In our fifteen pairs
# the opposite always beats our page that fits in other words. With both in other words, the page
# that fits leads where these keep the order, and trails where they turn it (*Mary is loved by
# John*).
#
# Yet this encoder is *told* the order: a vector for each place is added to the word there. Why is
# that not enough? First, attention alone.
#
# ## Six lines, and your sentence
#
# Each word $i$ is a vector $x_i$. Three matrices make a query, a key and a value of it. One set of
# three is a *head*; models have many. The output has a row $y_i$ for each word:
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
# Below, each word has a random vector of 16 numbers, and the matrices are random too.
#
# 1. Move *Anna* to the front. What becomes of her row (framed), and of the others?
# 2. Type a sentence of your own, of up to nine words. Find an order in which some word gets another
#    row; *shuffle* tries many.
# 3. Tick *tell places*: a vector for each place is added to the word there. Then move a word: how
#    many rows change?

# %%
from course_lab import explorers

explorers.sentence()

# %% [markdown]
# <details><summary>Once you have tried</summary>
#
# Weights and rows travel with their words. No order of any sentence changes the row of a word,
# until places are told. Then one move changes all rows.
#
# So it is for all matrices. A score depends on its two words. A row adds up what one word makes of
# all words, and a sum does not care in which order it adds.
#
# </details>
#
# ## Equivariant, invariant
#
# So has nothing changed? "Attention does not care about order" can mean two things.

# %%
sentences = ("John loves Mary".split(), "Mary loves John".split())
inputs = [2 * word_vectors(words, 32) for words in sentences]  # each (3, 32)
y, y_shuffled = (attention_from_scratch(x, *matrices)[0] for x in inputs)
comparisons = {
    "row by row": y_shuffled - y,
    "reversed, row by row": y_shuffled - y.flip(0),
    "the mean of all rows": y_shuffled.mean(0) - y.mean(0),
}
for name, gap in comparisons.items():
    print(f"{name:21}", "the same" if gap.abs().max() < 1e-5 else "another")

# %% [markdown]
# **Look:** the output *has* changed: rows have moved with the words. That is *equivariant*.
# *Invariant* is what stays, such as the mean. If the word at place $i$ has come from place
# $\pi(i)$,
#
# $$y^{\text{shuffled}}_i = y_{\pi(i)}, \qquad
# w^{\text{shuffled}}_{ij} = w_{\pi(i)\,\pi(j)} .$$
#
# A whole transformer without positions and mask is equivariant too: its other layers work row by
# row.
#
# ## Can training help?
#
# Sentences like *John loves Mary*, in both orders. John, Paul … Sam are one group, Mary, Anna … Kim
# the other. Task: is the one who acts of the first group? *John loves Mary*: yes; *Mary loves
# John*: no. Test pairs are never trained.
#
# A transformer of one layer without positions is trained from three random starts (*seeds*), with a
# *reader*: a linear layer that gets one vector of the output.

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
# get one vector from both, so one answer, and one of the two is wrong. No training helps.
#
# The last word? There *you* tell the order: the row you read is Mary's in one sentence and
# John's in the other. So let each sentence end with a full stop, and read the full stop's row.
#
# ## The mask
#
# Most models that write text (*decoders*) hide the future: by a *causal mask* query $i$ sees keys
# $j \le i$ only. It is a bias of $-\infty$ on later words. We count it to no door, since decoders
# have it anyway. With it alone a model is called **NoPE**, no position encoding.

# %%
guess = widgets.predict(
    "One layer with a causal mask; the reader gets the full stop's row. It is right in",
    ["exactly half", "a little more than half", "nearly all"],
)

# %%
stopped = who_loves_whom(full_stop=True).to(device)
full_stop, mean = "the row of the full stop", "the mean of all rows"
readers[full_stop] = lambda rows: rows[:, 3]
settings = {
    "full stop, no mask": (full_stop, one_layer),
    "full stop, no mask, two layers": (full_stop, {"n_layers": 2, "causal": False}),
    "full stop, mask, one layer": (full_stop, {"n_layers": 1, "causal": True}),
    "full stop, mask, two layers": (full_stop, {"n_layers": 2, "causal": True}),
    "mean, mask, one layer": (mean, {"n_layers": 1, "causal": True}),
}
for name, (reader, options) in settings.items():
    right[name] = [share_right(stopped, readers[reader], seed, **options) for seed in SEEDS]

# %% tags=["plumbing"]
# The answer
for name in settings:
    print(f"{name:30} right in three seeds: {min(right[name]):.3f} to {max(right[name]):.3f}")
shares = right["full stop, mask, one layer"]
more = "nearly all" if min(shares) > 0.9 else "a little more than half"
guess.reveal("exactly half" if max(shares) < 0.51 else more)

# %% tags=["plumbing"]
# Who sees whom: the same words in both orders, through two random layers with a mask
import matplotlib.pyplot as plt

from course_utils import plots

both = ["John loves Mary .".split(), "Mary loves John .".split()]
layers = [MultiHeadAttention(32, 1, causal=True).requires_grad_(False) for _ in range(6)]
inputs = [2 * word_vectors(words, 32)[None] for words in both]  # each (1, 4, 32)
same_rows = [set(both[0])]  # the words whose row is the same in both, before and after each layer
for layer in layers[:2]:
    inputs = [x + layer(x)[0] for x in inputs]
    first, second = (
        dict(zip(words, x[0], strict=True)) for words, x in zip(both, inputs, strict=True)
    )
    alike = {word: torch.allclose(first[word], second[word], atol=1e-5) for word in first}
    same_rows.append({word for word in alike if alike[word]})
fig, axes = plt.subplots(1, 2, figsize=(7.2, 2.9))
for ax, words in zip(axes, both, strict=True):
    for depth, same in enumerate(same_rows):
        for i, word in enumerate(words):
            for j in range(i + 1) if depth else ():
                reads = {"color": "0.25", "linewidth": 1.6} if word == "." else {"color": "0.7"}
                ax.plot([j, i], [depth - 1, depth], zorder=1, **{"linewidth": 1} | reads)
            marker, colour = ("o", "C0") if word in same else ("s", "C1")
            ax.plot(i, depth, marker, color=colour, markersize=9)
        ax.text(3.25, depth, "the same" if "." in same else "another", va="center")
    ax.set(xlim=(-0.4, 4.8), ylim=(-0.3, 2.3), title=" ".join(words))
    ax.set_xticks(range(4), [*words[:3], "full\nstop"])
    ax.set_yticks(range(3), ["words", "one layer", "two layers"])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
fig.suptitle("With a mask, the full stop's row is the same after one layer, not after two")
after = ["that of the full stop" if "." in same else "none" for same in same_rows]
plots.show(
    fig,
    "Each panel: a sentence's words, their rows after one layer with a mask, and after two. Lines "
    "say who sees whom: each word sees itself and those before it. Round: the row is the same in "
    f"both sentences. Square: it is another. The same after one layer: {after[1]}; after two: "
    f"{after[2]}.",
)

# %% [markdown]
# **Look:** still half. The mask hides nothing from the full stop, so after one layer its row is the
# same in both (blue). Rows before it are not (orange): where John comes first he sees only himself,
# where he comes last all three. A second layer reads *those* rows, and so does the mean: all are
# right.
#
# ## What do the other rows know?
#
# *Buffalo buffalo Buffalo buffalo buffalo buffalo Buffalo buffalo* is a famous English sentence.
# (With a capital it is the city.) One random layer with a mask reads it.

# %%
guess = widgets.predict(
    "Which two places (from 0 on) get the same row?",
    ["none", "0 and 2", "1 and 3", "3 and 4", "5 and 7"],
)

# %%
explorers.masked_sentence()

# %% tags=["plumbing"]
# The answer
from course_lab.sentences import BUFFALO

torch.manual_seed(0)
causal = MultiHeadAttention(d_model=32, n_heads=1, causal=True).requires_grad_(False)
rows = causal(2 * word_vectors(BUFFALO, 32)[None])[0][0]
gaps = torch.cdist(rows, rows)
pairs = [f"{i} and {j}" for i in range(8) for j in range(i + 1, 8) if gaps[i, j] < 1e-4]
print("the same row:", ", ".join(pairs) or "none")
guess.reveal(pairs[0] if pairs else "none")

# %% [markdown]
# **Look:** places 1 and 3 hold the same word, so they ask the same. Half of what they see is
# *Buffalo*: one of two, two of four. A mean sees only such *shares*.
#
# Type six words above, so that exactly three places get the same row, and no two are neighbours.
# Does a second layer tell them apart?
#
# <details><summary>Once you have tried</summary>
#
# *a b a b a b*: places 1, 3 and 5 see as many a as b. With two layers all rows differ: the second
# reads rows that had seen other shares.
#
# </details>
#
# ## A start token
#
# So shares are not places. But let a text begin with a token that occurs once:

# %%
marked = ["<start>", *["buffalo"] * 7]
weights = causal(2 * word_vectors(marked, 32)[None], need_weights=True)[1][0, 0]  # (8, 8)
others = 1 / weights[1:, 0] - 1  # what all buffaloes get, against the start
print([f"{value:.0f}" for value in (others / others[0]).tolist()])

# %% [markdown]
# **Look:** an untrained head *counts* buffaloes. They are one word, so each gets the same weight:
# $c$ times the start token's. At place $p$ there are $p$ of them, and its share is $1/(1 + c\,p)$.
# Different words count as well, if all score alike. Trained NoPE models know roughly where they are
# (Haviv et al. 2022); the closer look trains one.
#
# ## Back to the search
#
# The encoder has no mask. Only its vectors for places can tell it the order. We replace all 512 by
# their mean, so that no word knows where it stands:

# %% tags=["pretrained"]
if encoder is not None:
    table = encoder.encoding.table  # (512, 384), a row for each place
    blind = encoder.with_table(table.mean(0).expand(512, -1))
    pairs = [(query, "flights from Paris to London"), ("John loves Mary", "Mary loves John")]
    pairs.append((query, "flights from London to Rome"))
    columns = {}
    for model, name in ((blind, "places taken away"), (encoder, "as published")):
        vectors = [model.embed(list(pair)) for pair in pairs]  # (2, 384) each, of length 1
        columns[f"cosine, {name}"] = [f"{a @ b:.3f}" for a, b in vectors]
    columns["so apart"] = [f"{(a - b).norm():.2f}" for a, b in vectors]  # as published
    display(pd.DataFrame(columns, index=[f"{text} | {other}" for text, other in pairs]))

# %% [markdown]
# Without places both orders have one vector. With places they have two, but the cosine hardly
# notices. Could a reader? A linear one is trained on this lesson's question, five times, each time
# with other pairs of names for the test.


# %% tags=["pretrained", "plumbing"]
# The encoder's sentences, read
splits = [who_loves_whom(seed) for seed in range(5)]
sentences = [tuple(row) for row in torch.cat([splits[0].train, splits[0].test]).tolist()]
texts = [" ".join(task.words[i] for i in sentence) for sentence in sentences]


def read_encoder(vectors, split):
    """The share right of a linear reader of the encoder's vectors."""
    train, test = (
        torch.stack([vectors[tuple(row)] for row in rows.tolist()])
        for rows in (split.train, split.test)
    )
    torch.manual_seed(0)
    reader, labels = torch.nn.Linear(384, 2).to(device), split.train_labels.to(device)
    fit(reader, lambda: F.cross_entropy(reader(train), labels), steps=200, lr=0.1)
    return (reader(test).argmax(1).cpu() == split.test_labels).float().mean().item()


if encoder is not None:
    encoders = {"encoder, places taken away": blind, "encoder, as published": encoder}
    for name, model in encoders.items():
        vectors = dict(zip(sentences, model.embed(texts), strict=True))
        right[name] = [read_encoder(vectors, split) for split in splits]
        print(f"{name:26} right: {min(right[name]):.2f} to {max(right[name]):.2f}")

# %% tags=["plumbing", "picture"]
# The picture
groups = {
    "no mask": {
        "the mean of all rows": "mean of all rows",
        "the row of the verb": "verb",
        "the row of the last word": "last word",
        "full stop, no mask": "full stop",
        "full stop, no mask, two layers": "full stop, two layers",
    },
    "causal mask": {
        "full stop, mask, one layer": "full stop",
        "full stop, mask, two layers": "full stop, two layers",
        "mean, mask, one layer": "mean of all rows",
    },
    "sentence encoder": {
        "encoder, places taken away": "places taken away",
        "encoder, as published": "as published",
    },
}
tells = {
    "the row of the last word": "you chose a row by its place",
    "full stop, mask, two layers": "other rows, read by layer 2",
    "mean, mask, one layer": "other rows, in the mean",
    "encoder, as published": "a vector for each place",
}
fig, ax = plt.subplots(figsize=(6.7, 4.4))
labels = []  # one a line, from the top
for group, members in groups.items():
    shown = {name: label for name, label in members.items() if name in right}
    labels += [group] if shown else []
    for name, label in shown.items():
        height, shares = len(labels), right[name]
        ax.plot(shares, [height] * len(shares), "s" if name in tells else "o", markersize=6)
        ax.lines[-1].set_color("C1" if name in tells else "C0")
        if name in tells:
            ax.text(min(shares) - 0.02, height, tells[name], ha="right", va="center")
        labels.append(label)
ax.axvline(0.5, color="0.6", linewidth=1, zorder=0)
ax.set_yticks(range(len(labels)), labels)
for label in ax.get_yticklabels():
    label.set_fontweight("bold" if label.get_text() in groups else "normal")
ax.tick_params(axis="y", length=0)
ax.set(xlim=(0.45, 1.02), ylim=(len(labels) - 0.5, -0.7), xlabel="share of test sentences right")
fig.suptitle("Exactly half, unless what is read was told the order")
listed = "; ".join(f"{name}: {min(s):.2f} to {max(s):.2f}" for name, s in right.items())
plots.show(fig, f"A line for each reader, a mark for each training. {listed}.")

# %% [markdown]
# **Look:** *can attention tell?* By itself, no: the blue readers are right in exactly half. Each
# orange one has the order from somewhere.
#
# And the search? A reader trained on these names mostly finds the order. But large moves rule a
# cosine: *Rome* for *Paris* moves the vector by 0.82, the flight back by 0.07. The vectors for
# places tell the order; this search hardly uses it. What should be in such vectors?
#
# ## Exercises
#
# **Exercise 1 ★★ Find the bug.** Each shuffle in our code so far is its own inverse, and that
# hides a bug. The test should say whether `f` is equivariant under any shuffle `perm`. Plain
# attention is. See where it fails; write it right.


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
# **Exercise 2 ★★★ The word before.** Can each word find the word before it, without an encoding?
# Only `attend(q, k, v)` may bring rows together: causal attention, not scaled. It alone knows the
# order of the text; the rows are stored in a secret one.


# %%
from course_lab.checks.probes import CausalAttend

attend = CausalAttend(torch.tensor([2, 0, 3, 1]))  # stored: Mary John today loves
# In order: John loves Mary today. Wanted: loves John Mary John.


def places_of(attend, start):
    """start: (n,), 1 at the first word and 0 elsewhere → the place of each word, (n, 1)."""
    zeros = torch.zeros(len(start), 1)
    share = attend(zeros, zeros, start[:, None])  # equal scores: 1/(p + 1)
    return 1 / share - 1


print(places_of(attend, torch.tensor([0.0, 1.0, 0.0, 0.0]))[:, 0].round().tolist())

# %% [markdown]
# This call tells each word its place, as the start token above did. Write the next:
# `previous(attend, x, start)` returns for each row of x, (n, d), the row of the word before it. The
# first word gets itself. Up to 64 words must work. The check has hints.


# %% tags=["stub"]
def previous(attend, x, start):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def previous(attend, x, start):
    p = places_of(attend, start)  # (n, 1)
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
# Three claims
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
            scope="a start token with a feature of its own, then words random in the others, "
            "float32; to know: within half a place of 1,000",
            evidence="exact",
        ),
    }
)

# %% tags=["plumbing"]
# The first two
apart = comparisons["row by row"].abs().max().item()
myths.settle(
    "C01",
    {"the output, row by row": apart < 1e-5},
    f"The two rows of names change places, up to {apart:.1f} apart. That of the word between "
    "them stays, and so does the mean, up to rounding.",
)
changes, perm = {}, torch.tensor([1, 2, 0])  # John loves Mary → loves Mary John
x = 2 * word_vectors("John loves Mary".split(), 32)
for name, module in {"no mask": reference, "causal mask": causal}.items():
    weights, shuffled = (module(rows[None], need_weights=True)[1][0, 0] for rows in (x, x[perm]))
    changes[name] = (shuffled - weights[perm][:, perm]).abs().max().item()
myths.settle(
    "C02",
    {name: change < 1e-5 for name, change in changes.items()},
    "John loves Mary, and loves Mary John. Without a mask the largest difference is rounding; "
    "with one a word that came earlier is hidden now, and a weight changes by "
    f"{changes['causal mask']:.1f}.",
)

# %% tags=["plumbing"]
# A layer that counts: its queries are 0, so all weights are even, and it copies what it reads
counter = MultiHeadAttention(d_model=32, n_heads=1, causal=True).requires_grad_(False)
counter.W_q.weight.zero_()
for copying in (counter.W_v, counter.W_o):
    copying.weight.copy_(torch.eye(32))
words = torch.randn(1001, 32)
words[:, 0] = 0
words[0, 0] = 1  # a feature that only the start token has
share = counter(words[None])[0][0, :, 0]  # of the output
miss = (1 / share - 1 - torch.arange(1001)).abs().max().item()
myths.settle(
    "C03",
    {"one layer whose queries are 0": miss > 0.5},
    "All weights even, a feature of the start token alone is 1/(p + 1) in the output at p. That "
    f"tells each of 1,000 places {'to less than' if miss < 0.01 else 'not to'} 0.01. Whether "
    "training finds it is in the closer look.",
)

# %% tags=["pretrained", "plumbing"]
# The first two in a real model: the encoder without places, with and without a mask
from course_utils.encodings import PositionalEncoding, create


class HideLater(PositionalEncoding):
    def bias(self, q, k, at):
        return torch.where(at.offsets > 0, -torch.inf, 0.0)


if encoder is not None:
    tokens, _ = encoder.encode("John loves Mary")  # (1, 5), a mark at each end
    order = torch.tensor([0, 2, 3, 1, 4])  # loves Mary John
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

# %% [markdown]
# ## In five lines
#
# - Without places and mask attention is *equivariant*: rows move as words do.
# - Where a sentence and its reversal need different answers, one vector for both gets exactly half.
# - In one layer a causal mask leaves the last row as it was. Earlier rows may tell the order.
# - Where all words score alike, the share of a start token tells the place.
# - With places a reader of our encoder mostly tells which name stands first, for its training's
#   names and verbs.
#
# **Read next:** Haviv et al. 2022, *Transformer Language Models without Positional Encodings Still
# Learn Positional Information*, arXiv 2203.16634.
#
# **Next:** [lesson 02](02_sinusoidal.ipynb). How can 128 numbers name any place, and how far
# apart two are?
