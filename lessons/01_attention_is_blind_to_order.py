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
# one in wide use, six layers of attention. Somebody types *flights from London to Paris*.

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
# The answer, and more queries: a page that fits, the opposite, the opposite in other words
queries = """\
convert PDF to Word | turn PDF into Word | convert Word to PDF | turn Word into PDF
flights from London to Paris | plane tickets from London to Paris | flights from Paris to London \
| plane tickets from Paris to London
trains from Rome to Milan | railway tickets from Rome to Milan | trains from Milan to Rome \
| railway tickets from Milan to Rome
translate English to French | an English text, put into French | translate French to English \
| a French text, put into English
from Celsius to Fahrenheit | turn Celsius into Fahrenheit | from Fahrenheit to Celsius \
| turn Fahrenheit into Celsius
change dollars to euros | get euros for dollars | change euros to dollars | get dollars for euros
convert MP3 to WAV | make a WAV file from an MP3 | convert WAV to MP3 | make an MP3 file from a WAV
miles to kilometres | how many kilometres are in a mile | kilometres to miles \
| how many miles are in a kilometre
move files from phone to laptop | copy phone files onto a laptop | move files from laptop to phone \
| copy laptop files onto a phone
switch from Android to iPhone | replace my Android with an iPhone | switch from iPhone to Android \
| replace my iPhone with an Android
money from Anna to Paul | Paul gets money from Anna | money from Paul to Anna \
| Anna gets money from Paul
dog bites man | a man was bitten by a dog | man bites dog | a dog was bitten by a man
John loves Mary | Mary is loved by John | Mary loves John | John is loved by Mary
the cat chases the mouse | the mouse is being chased by the cat | the mouse chases the cat \
| the cat is being chased by the mouse
England beats Germany | Germany loses to England | Germany beats England \
| England loses to Germany"""
if encoder is not None:
    cosines = {page: cosine(encoder, query, page) for page in pages}
    for page in sorted(pages, key=cosines.get, reverse=True):
        print(f"{cosines[page]:.3f}  {page}")
    rows = [line.split(" | ") for line in queries.splitlines()]
    rows += [[opposite, reworded, typed, fits] for typed, fits, opposite, reworded in rows]
    near = [[cosine(encoder, typed, page) for page in others] for typed, *others in rows]
    same_words = sum(opposite > fitting for fitting, opposite, _ in near)
    other_words = sum(fitting > opposite for fitting, _, opposite in near)
    print(
        f"A page that fits, in other words, is behind the opposite in {same_words} of {len(near)}."
    )
    print(
        f"With both pages in other words the one that fits leads in {other_words} of {len(near)}."
    )
    guess.reveal(max(pages, key=cosines.get))

# %% [markdown]
# **Look:** the opposite comes first, before two pages that repeat the query. In fifteen pairs of
# queries the opposite always beats a page that fits in other words. With both in other words, a
# coin would do about as well.
#
# Yet this encoder is *told* the order, by a vector for each place that is added to each word. The
# end of this lesson takes them away. First, attention alone.
#
# ## Six lines, and your sentence
#
# Each word $i$ is a vector $x_i$. Three matrices make a query, a key and a value of it. One set of
# three is a *head*; models have many. Then
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
# 3. Tick *tell places*. Now each place has a vector too, added to the word there.

# %%
from course_lab import explorers

explorers.sentence()

# %% [markdown]
# <details><summary>Once you have tried</summary>
#
# Weights and rows travel with their words. No order of any sentence changes the row of a word,
# until places are told.
#
# </details>
#
# So it is for all matrices. A score depends on its two words. A row adds up what one word makes of
# all words, and a sum does not care in which order it adds.
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
# **Look:** the output *has* changed: its rows have moved with the words. That is *equivariant*.
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
# Sentences like *John loves Mary*, in both orders. John, Paul … Sam are one group of names,
# Mary, Anna … Kim the other. The task: does one of the first act? *John loves Mary*: yes; *Mary
# loves John*: no. Test pairs are never trained.
#
# A transformer of one layer without positions is trained from three random starts (*seeds*). A
# linear *reader* gets one vector of it:

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
# The last word? There *you* tell the order. The row that you read is Mary's in one sentence and
# John's in the other. So let each sentence end with a full stop, and read *its* row.
#
# ## The mask
#
# Most models that write text (*decoders*) hide the future: by a *causal mask* query $i$ sees keys
# $j \le i$ only. It is a bias of $-\infty$ on later words. We count it apart from the doors:
# decoders have it anyway. With the mask alone a model is called **NoPE**, no position encoding.

# %%
guess = widgets.predict(
    "One layer behind a causal mask, reader of the full stop's row: right in",
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

# %% [markdown]
# **Look:** still half. The mask hides nothing from the full stop, so its row is what it was
# without. *Other* rows have changed: John sees only himself if he comes first, and Mary too if he
# comes last. Read *those*, by a second layer or simply by the mean, and all are right.
#
# What *exactly* do those rows know of the order? *Buffalo buffalo Buffalo buffalo buffalo buffalo
# Buffalo buffalo* is a famous English sentence. (With a capital it is the city.) One random layer
# behind the mask reads it.

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

causal = MultiHeadAttention(d_model=32, n_heads=1, causal=True).requires_grad_(False)
rows = causal(2 * word_vectors(BUFFALO, 32)[None])[0][0]
gaps = torch.cdist(rows, rows)
pairs = [f"{i} and {j}" for i in range(8) for j in range(i + 1, 8) if gaps[i, j] < 1e-4]
for place, word in enumerate(BUFFALO):
    capitals = sum(seen == "Buffalo" for seen in BUFFALO[: place + 1])
    print(f"place {place}, {word}: sees {capitals} Buffalo of {place + 1}")
print("the same row:", ", ".join(pairs) or "none")
guess.reveal(pairs[0] if pairs else "none")

# %% [markdown]
# **Look:** places 1 and 3 hold the same word, and it sees the same *shares*: one of two, two of
# four. For one word a weighted mean sees only shares.
#
# Type six words above, so that exactly three places get the same row, and no two are neighbours.
# Does a second layer tell them apart?
#
# <details><summary>Once you have tried</summary>
#
# *a b a b a b*: places 1, 3 and 5 see as many a as b. Set *layers* to 2, and all rows differ: the
# second layer reads rows that had seen other shares.
#
# </details>
#
# So one layer's shares are not yet order: they come back. But let a text begin with a mark that
# occurs once:

# %%
marked = ["<start>", *["buffalo"] * 7]
weights = causal(2 * word_vectors(marked, 32)[None], need_weights=True)[1][0, 0]  # (8, 8)
others = 1 / weights[1:, 0] - 1  # what all buffaloes get, against the mark
print([f"{value:.0f}" for value in (others / others[0]).tolist()])

# %% [markdown]
# **Look:** an untrained head *counts* buffaloes. Say each gets $c$ times the mark's weight. Then
# the mark's share at place $p$ is $1/(1 + c\,p)$, and $1/\text{share} - 1 = c\,p$. For another word
# $c$ is another, unless all words score alike. Trained NoPE models know roughly where they are
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
    for model, name in ((blind, "places taken away"), (encoder, "as published")):
        flights = cosine(model, query, "flights from Paris to London")
        loves = cosine(model, "John loves Mary", "Mary loves John")
        print(f"{name:18} cosine {flights:.3f} and, for John and Mary, {loves:.3f}")

# %% [markdown]
# Now this lesson's question, to the encoder too. (Only a linear reader of it is trained, five
# times, each time with other pairs of names for the test.)


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
import matplotlib.pyplot as plt

from course_utils import plots

tells = {
    "the row of the last word": "you chose a row by its place",
    "full stop, mask, two layers": "a mask, and another layer",
    "mean, mask, one layer": "a mask, and other rows",
    "encoder, as published": "a vector for each place",
}
fig, ax = plt.subplots(figsize=(6.7, 4.2))
for row, (name, shares) in enumerate(right.items()):
    colour = "C1" if name in tells else "C0"
    heights = row + torch.linspace(-0.15, 0.15, len(shares))
    ax.plot(shares, heights, "o", color=colour, markersize=6)
    if name in tells:
        ax.text(min(shares) - 0.02, row, tells[name], color=colour, ha="right", va="center")
ax.axvline(0.5, color="0.6", linewidth=1, zorder=0)
ax.set_yticks(range(len(right)), right)
ax.set(xlim=(0.45, 1.02), ylim=(len(right) - 0.5, -0.5), xlabel="share of test sentences right")
fig.suptitle("Who loves whom? Exactly half, unless something tells the order")
listed = "; ".join(f"{name}: {min(s):.2f} to {max(s):.2f}" for name, s in right.items())
plots.show(fig, f"A row for each reader, a dot for each training. {listed}.")

# %% [markdown]
# **Look:** *can attention tell?* By itself, no: blue readers are right in exactly half. Each orange
# one has the order from somewhere.
#
# The encoder's vectors tell these sentences apart, though the cosine of John and Mary's two hardly
# does. So vectors for places work. What should be in them?
#
# ## Exercises
#
# **Exercise 1 ★★ Find the bug.** Each shuffle in our cells so far is its own inverse, and that
# hides a bug. The test below should say whether `f` is equivariant under any shuffle `perm`. Plain
# attention is. See where it fails, then write it right.


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
# word and 0 elsewhere. Rows of x may meet in `attend` only: return what one call of it gave. Two
# calls are enough: in the first each word learns its place. Up to 64 words must work. (Without
# hints this is half an hour.)


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
            scope="a start mark, then random words, float32; to know: within half a place of 1,000",
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
words[0, 0] = 1  # a feature that only the mark has
share = counter(words[None])[0][0, :, 0]  # of the output
miss = (1 / share - 1 - torch.arange(1001)).abs().max().item()
myths.settle(
    "C03",
    {"one layer whose queries are 0": miss > 0.5},
    "All weights even, a feature that only the mark has is 1/(p + 1) in the output at p. That "
    f"tells each of 1,000 places {'to less than' if miss < 0.01 else 'not to'} 0.01. Whether "
    "training finds it is in the closer look.",
)

# %% [markdown]
# The first two once more, in the encoder without its places.

# %% tags=["pretrained", "plumbing"]
# The encoder without places, with and without a mask
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
# - Without places and mask attention is *equivariant*: rows are shuffled as words are.
# - Where a reversal turns yes into no, a reader with one vector for both gets exactly half.
# - In one layer a causal mask leaves the last row as it was. Others may tell the order.
# - Where all words score alike, the share of a mark at the start counts places.
# - With places a reader of our encoder mostly tells who loves whom, for its training's
#   names and verbs.
#
# **Read next:** Haviv et al. 2022, *Transformer Language Models without Positional Encodings Still
# Learn Positional Information*, arXiv 2203.16634.
#
# **Next:** [lesson 02](02_sinusoidal.ipynb). How can 128 numbers name any place, and how far
# apart two are?
