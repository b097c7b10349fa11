# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # 10 · Choosing: two texts, and one table
#
# For those who build with it: attention from one text to another, the same encodings in other
# libraries, all of them on one page, and two claims about the choice. It builds on
# [lesson 10](../10_choosing.ipynb). Each section stands alone.
#
# **Time:** {minutes}.

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start()

# %% [markdown]
# ## Whose positions?
#
# To translate, to sum up, to answer from a passage: a model writes one text and looks at another.
# This is *cross-attention*: queries come from what is written, keys and values from what is read,
# the *memory*. Two texts have two first tokens. Whose positions count?
#
# Door 1 is each text's own affair: add sinusoids to both. Doors 2 to 4 compare a query's position
# with a key's. That needs both on one line: attention wants `memory_positions` for these doors.
#
# A toy: the memory is 12 random symbols. Output $i$ has to name symbol $i$ (*copy*),
# symbol $i - 3$ (*three back*), or symbol $11 - i$ (*reverse*). All outputs start as one
# vector: only position tells them apart.

# %%
from course_lab import widgets

learned = ["all three", "copy and three back", "copy alone"]
guess = widgets.predict(
    "RoPE across two texts, both numbered from 0, one layer: which tasks can be learned?", learned
)

# %%
import torch
from torch import nn

from course_utils.attention import MultiHeadAttention
from course_utils.encodings import create

SYMBOLS, WIDTH = 8, 32


def numbered(text, from_the_end):
    """Positions of a text, (seq,), from its first symbol or from its last."""
    numbers = torch.arange(text.shape[1], device=text.device)
    return numbers.flip(0) if from_the_end else numbers


# %%
class Reader(nn.Module):
    """One layer of cross-attention that writes a text as long as the memory."""

    def __init__(self, encoding, from_the_end=False):
        super().__init__()
        self.from_the_end = from_the_end
        self.symbols = nn.Embedding(SYMBOLS, WIDTH)
        self.start = nn.Parameter(torch.randn(WIDTH))  # of every output
        encoding = create(encoding, d_model=WIDTH, n_heads=1)
        self.attention = MultiHeadAttention(WIDTH, 1, encoding, projection_bias=True)
        self.head = nn.Linear(WIDTH, SYMBOLS)

    def forward(self, text):
        numbers = numbered(text, self.from_the_end)
        memory = self.attention.encoding.embed(self.symbols(text), numbers)  # its own door 1
        outputs = self.start.expand(*text.shape, -1)  # at positions 0, 1, 2, …
        return self.head(self.attention(outputs, memory=memory, memory_positions=numbers)[0])


# %%
TASKS = ("copy", "three back", "reverse")


def sources(task, length):
    """Which symbol each output has to name; below 0 for none."""
    outputs = torch.arange(length)
    return {"copy": outputs, "three back": outputs - 3, "reverse": outputs.flip(0)}[task]


# %%
def draw(task, length, batch, generator):
    """Random texts, and at each output the symbol that it has to name; −100 for none."""
    text = torch.randint(SYMBOLS, (batch, length), generator=generator)
    source = sources(task, length)
    targets = text[:, source.clamp(min=0)].masked_fill(source < 0, -100)
    return text.to(device), targets.to(device)


def share_right(logits, targets):
    return (logits.argmax(-1) == targets)[targets >= 0].float().mean().item()


# %%
from torch.nn.functional import cross_entropy

from course_utils.models.training import fit


def train(task, seed, **options):
    """Share of right outputs for texts of 12, as in training, and of 24."""
    torch.manual_seed(seed)
    reader, generator = Reader(**options).to(device), torch.Generator().manual_seed(seed)

    def loss():
        text, targets = draw(task, 12, 32, generator)
        return cross_entropy(reader(text).flatten(0, 1), targets.flatten())

    fit(reader, loss, 150, lr=0.02, bar=False)
    with torch.no_grad():
        tests = [draw(task, length, 300, generator) for length in (12, 24)]
        return [share_right(reader(text), targets) for text, targets in tests]


# %%
ways = {
    "door 1: sinusoids on both": {"encoding": "sinusoidal"},
    "door 2: RoPE, both from 0": {"encoding": "rope"},
    "door 2: RoPE, memory from its end": {"encoding": "rope", "from_the_end": True},
}
right = {
    (way, task): torch.tensor([train(task, seed, **options) for seed in range(3)])
    for way, options in ways.items()
    for task in TASKS
}  # (seeds, 2) each: texts of 12, and of 24

# %% tags=["plumbing"]
# The answer, and all runs
import matplotlib.pyplot as plt

from course_lab import figures
from course_utils import plots

solved = {way: [task for task in TASKS if right[way, task][:, 0].min() > 0.95] for way in ways}
answers = {3: learned[0], 2: learned[1], 1: learned[2]}
guess.reveal(answers[len(solved["door 2: RoPE, both from 0"])])
fig, ax = plt.subplots(figsize=(8.5, 4))
rows = {f"{way}: {task}": shares for (way, task), shares in right.items()}
lengths = ("texts of 12, as in training", "texts of 24")
figures.shares(ax, rows, lengths, guessing=1 / SYMBOLS)
for border in (2.5, 5.5):
    ax.axhline(border, color="0.8", linewidth=1)
ax.set_xlabel("share of right outputs")
fig.legend(loc="outside upper center")
described = "; ".join(
    f"{way}, {task}: {shares[:, 0].mean():.1f} and {shares[:, 1].mean():.1f}"
    for (way, task), shares in right.items()
)
plots.show(
    fig,
    "Shares of right outputs, three seeds each; a grey line marks guessing. Means for texts of "
    f"12, then of 24: {described}.",
)

# %%
for way, tasks in solved.items():
    print(f"{way}: above 0.95 in each of 3 seeds: {', '.join(tasks)}")

# %% [markdown]
# **Look:** sinusoids on both texts learn all three. The layer's matrices may turn one text's
# sinusoids into the other's, by any shift (lesson 02), and mirrored too.
#
# RoPE sees key less query. In *copy* that is 0 at every output, in *three back* −3. In *reverse* it
# is $11 - 2i$, another number at each output, and one vector asks at all of them. Number the memory
# from its end, and the same layer reverses, and no longer copies. So the offset across two texts
# means what the numbering makes of it.
#
# And texts of 24?

# %%
absolute = right["door 1: sinusoids on both", "reverse"][:, 1]
turned = right["door 2: RoPE, memory from its end", "reverse"][:, 1]
print(f"reverse, texts of 24: RoPE from the end is ahead in {(turned > absolute).sum()} of 3 seeds")

# %% [markdown]
# The sinusoids have learned that the last symbol is number 11. From the end it is always 0.
#
# ## Nobody's positions
#
# Words of a translation stand where grammar wants them. No numbering fits. T5 has its bias in both
# self-attentions and nothing across (`EncDecAttention` in transformers' [T5
# code](https://github.com/huggingface/transformers/blob/main/src/transformers/models/t5/modeling_t5.py)
# is made with `has_relative_attention_bias=False`). Whisper (Radford et al. 2022, arXiv 2212.04356,
# section 2.2) adds sinusoids to the sound and a learned table to the words: door 1, on each side.
#
# How does the writer know where to read? Try *reverse* with 12 *different* symbols.
# Each output is asked by the symbol before it. The memory has passed one layer of
# self-attention, with T5's bias or without.

# %%
outcomes = ["both", "with the bias alone", "neither"]
guess = widgets.predict(
    "No position across the two texts: which of the two memories can be reversed?", outcomes
)


# %%
class ByContent(nn.Module):
    """Self-attention over the memory, then cross-attention without positions."""

    def __init__(self, encoding):
        super().__init__()
        self.symbols = nn.Embedding(30, 64)
        encoding = create(encoding, d_model=64, n_heads=2)
        self.reading, self.across = MultiHeadAttention(64, 2, encoding), MultiHeadAttention(64, 1)
        self.head = nn.Linear(64, 30)

    def forward(self, text, previous):
        x = self.symbols(text)
        memory = x + self.reading(x)[0]
        return self.head(self.across(self.symbols(previous), memory=memory)[0])


# %%
from course_utils.models.training import learning_rates


def different_symbols(batch, generator):
    text = torch.rand(batch, 30, generator=generator).argsort(1)[:, :12].to(device)
    return text, text.flip(1)


# %%
def reverse_by_content(encoding, seed):
    torch.manual_seed(seed)
    model, generator = ByContent(encoding).to(device), torch.Generator().manual_seed(seed)

    def loss():
        text, output = different_symbols(32, generator)
        return cross_entropy(model(text, output[:, :-1]).flatten(0, 1), output[:, 1:].flatten())

    fit(model, loss, 250, lr=0.005, bar=False, faster=learning_rates(model))
    with torch.no_grad():
        text, output = different_symbols(300, generator)
        return share_right(model(text, output[:, :-1]), output[:, 1:])


# %%
with_bias = [reverse_by_content("t5", seed) for seed in range(3)]
without = [reverse_by_content("none", seed) for seed in range(3)]
print("the memory read with T5's bias: above 0.9 in", sum(x > 0.9 for x in with_bias), "of 3 seeds")
print("read without a position:        above 0.5 in", sum(x > 0.5 for x in without), "of 3 seeds")
guess.reveal(
    outcomes[0] if min(without) > 0.9 else outcomes[1] if min(with_bias) > 0.9 else outcomes[2]
)

# %% [markdown]
# **Look:** inside the memory each symbol can look at its neighbour. So a state of the memory says
# *who stands before me*, and the writer finds the one that its last symbol belongs to. It searches
# by content. The order came in earlier, inside one text, where it means something.
#
# So: positions inside each text, always. Across, only if the two texts run along one line.
#
# ## The same in other libraries

# %%
from inspect import signature

default = signature(nn.Transformer).parameters["batch_first"].default
print("nn.Transformer, batch_first unless you say otherwise:", default)

# %% [markdown]
# | library | where positions are | ours |
# |---|---|---|
# | PyTorch: `nn.Transformer` | nowhere, you add them yourself | `none` |
# | transformers 5: RoPE in a config | `rope_parameters`, below | `rope`, `layout="half"` |
# | Keras: `SinePositionEncoding` | returns what you add | `sinusoidal` |
# | Keras: `PositionEmbedding` | returns what you add | `learned` |
# | Keras: `RotaryEmbedding` | called on queries, and on keys | `rope` |
# | Keras: `AlibiBias` | takes scores, adds the bias | `alibi` |
#
# So `nn.Transformer` reads (seq, batch, width) unless it is made with `batch_first=True`. Keras'
# layers are in [keras_hub](https://keras.io/keras_hub/api/modeling_layers/): `max_wavelength` is
# our `base`, `sequence_length` our `max_len`. transformers [explains its
# names](https://huggingface.co/docs/transformers/internal/rope_utils), and these are ours:
#
# | `rope_parameters` | ours |
# |---|---|
# | `rope_theta` | `base` |
# | `partial_rotary_factor` | `fraction` |
# | `rope_type`: `default`, `linear`, `dynamic` | `scaling=None`, `Linear`, `DynamicNTK` |
# | `rope_type`: `yarn`, `longrope`, `llama3` | `YaRN`, `LongRoPE`, `Llama3` |
# | `factor`, `original_max_position_embeddings` | `factor`, `original_len` |

# %%
from course_utils.encodings import YaRN

rope_parameters = {  # as in a config.json
    "rope_type": "yarn",
    "rope_theta": 1_000_000.0,
    "factor": 4.0,
    "original_max_position_embeddings": 32_768,
}
yarn = YaRN(rope_parameters["factor"], rope_parameters["original_max_position_embeddings"])
base = rope_parameters["rope_theta"]
print(create("rope", d_model=512, n_heads=8, base=base, layout="half", scaling=yarn))

# %% [markdown]
# Older configs have `rope_theta` and `rope_scaling` apart. The layout stands in no config: it is in
# the model's code. Lesson 05's closer look shows what the wrong one does.
#
# ## All on one page
#
# What each adds, and what was measured of it. *Loss*: after training at 64 bytes. *Reads*: up to
# which length no loss is clearly 0.1 nats above that; 2048 is the longest that was tried. *Learns*
# and *KiB*: numbers, and tensors that are made because of it at 256 words, in a causal layer 128
# wide with 4 heads. *Good for*: what else holds in lesson 10's measurements.

# %% tags=["plumbing"]
# Formulas as in the papers; i query, j key, o = j − i, p position
FORMULAS = {
    "none": "–",
    "sinusoidal": "x + [sin(pθₘ), cos(pθₘ)]",
    "learned": "x + table[p]",
    "multiplicative": "x ⊙ table[p]",
    "floater": "x + p(t),  dp/dt = f(t, p)",
    "complex_order": "r·exp(i(ωp + φ)) of each word",
    "shaw": "q·(k + aᴷ[o]),  v + aⱽ[o]; o clipped",
    "transformer_xl": "(q + u)·k + (q + v)·W R(−o)",
    "t5": "q·k + b[bucket(o)]",
    "deberta": "q·k + q·Kr[o] + k·Qr[−o]",
    "rope": "q and k turned by pθₘ",
    "xpos": "RoPE, q × ζᵖ, k × ζ⁻ᵖ",
    "alibi": "q·k − slope·|o|",
    "kerple": "q·k − r₁ log(1 + r₂|o|)",
    "fire": "q·k + f(ψ(|o|) / ψ(max(i, L₀)))",
    "sandwich": "q·k + c·Σ cos(oθₘ)",
    "cope": "q·k + q·e[count],  count = Σ σ(q·k)",
}
USED_BY = {
    "sinusoidal": "Transformer, Whisper (sound)",
    "learned": "BERT, GPT-2, ViT",
    "transformer_xl": "XLNet",
    "t5": "T5",
    "deberta": "DeBERTa",
    "rope": "LLaMA, Qwen, Gemma, ModernBERT",
    "alibi": "BLOOM, MPT",
}

# %%
from course_lab import chooser
from course_utils import measures
from course_utils.results import AS_TRAINED, change
from course_utils.texts import data

results = data.results("extrapolation")
trained = results[results.reading == AS_TRAINED]
facts = chooser.facts()


# %%
def longest_read(name):
    """The longest text up to which no loss is clearly 0.1 nats above that at 64."""
    at_64 = {"encoding": name, "read": 64}
    longest = 64
    for n in (128, 256, 512, 1024, 2048):
        if change(trained, at_64, {"encoding": name, "read": n}).above(0.1):
            break
        longest = n
    return longest


# %%
import pandas as pd


def good_for(name):
    """What holds of an encoding, as lesson 10 measured it."""
    fact = facts.loc[name]
    properties = {
        "telling sides": fact["mirror"] > chooser.ROUNDING,
        "any start": fact["shift"] <= chooser.ROUNDING,
        "plain kernel": fact["adds"] in chooser.ALLOWED[chooser.PLAIN],
        "a bias": fact["adds"] == chooser.NUMBERS,
    }
    return ", ".join(key for key, holds in properties.items() if holds)


def cost(name, n):
    """What one causal layer pays for an encoding at n words."""
    return measures.passport(name, length=n, batch=1, causal=True, max_len=n)


costs = {name: cost(name, 256) for name in facts.index}

# %%
pd.set_option("display.max_colwidth", None)
rows = {
    name: {
        "adds": FORMULAS[name],
        "learns": costs[name]["parameters"],
        "loss": f"{facts['loss'][name]:.2f}",
        "reads": longest_read(name),
        "KiB": round(costs[name]["extra_bytes"] / 1024),
        "good for": good_for(name),
        "used by": USED_BY.get(name, ""),
    }
    for name in facts.sort_values("loss").index
}
page = pd.DataFrame(rows).T
page

# %%
plain = page[page["good for"].str.contains("plain kernel")]
holds = page[page["reads"] == 2048]
print("lowest losses at 64:", ", ".join(page.index[:3]))
print("the same with a plain kernel:", ", ".join(plain.index[:2]))
print("hold up to 2048:", ", ".join(holds.index))
print("of these with a plain kernel:", ", ".join(holds.index.intersection(plain.index)) or "none")

# %% [markdown]
# **When, then?** As this table has it:
#
# - you train at the length that you read, and want a plain kernel: those that turn;
# - you read far longer texts, and cannot train on: a bias that holds, at its price;
# - the loss alone counts: what asks the words leads, at many times the bytes of a turn;
# - two texts: each as above, and mostly nothing across.
#
# A bias of the distance alone is not good for both ways, since before and after look alike to it;
# `xpos` and `cope` need a causal mask. These are small models after a short training.
#
# ## Two claims
#
# Guess first. In brackets: what the claim speaks of, and its yardstick.

# %% tags=["plumbing"]
# Two claims
from course_lab.claims import Claim, Myths

myths = Myths(
    {
        "C62": Claim(
            "Sinusoidal encodings are the choice for general tasks.",
            scope="this course's small models: loss on text at five settings, three made-up tasks "
            "at the trained length; the choice: no other encoding is clearly ahead",
            evidence="shipped results",
            seeds=3,
        ),
        "C63": Claim(
            "RoPE costs medium, ALiBi little.",
            scope="bytes of tensors that one causal layer, 128 wide with 4 heads, makes on a CPU "
            "because of it, 64 to 2048 words; little: fewer than for RoPE",
            evidence="exact",
            choice="how long the texts are",
        ),
    }
)

# %% tags=["plumbing"]
# The two verdicts
larger, both_ways, toys = (data.results(name) for name in ("larger", "both_ways", "tasks"))
larger = larger[larger.reading == AS_TRAINED]
settings = {
    "earlier words only, at 64": (trained, 64),
    "the same at 2048": (trained, 2048),
    "both ways, at 64": (both_ways, 64),
    "trained at 256": (larger[larger.length == 256], 256),
    "source code": (larger[larger.corpus == "11fac7920fef1d73"], 64),
}
settings |= {task: (toys[toys.task == task], 32) for task in ("copy", "reverse", "find")}
ahead = {}
for setting, (runs, read) in settings.items():
    waves = {"encoding": "sinusoidal", "read": read}
    rivals = [name for name in runs.encoding.unique() if name != "sinusoidal"]
    of = "loss" if "loss" in runs else "accuracy"
    gaps = [change(runs, waves, {"encoding": name, "read": read}, of=of) for name in rivals]
    better = [gap.below() if of == "loss" else gap.above() for gap in gaps]
    ahead[setting] = f"{sum(better)} of {len(rivals)}", not any(better)
waves, turning = {"encoding": "sinusoidal", "read": 64}, {"encoding": "rope", "read": 64}
long_waves = {"encoding": "sinusoidal", "read": 2048}
myths.settle(
    "C62",
    {setting: leads for setting, (_, leads) in ahead.items()},
    f"At 64 bytes {ahead['earlier words only, at 64'][0]} others are clearly ahead. RoPE's loss "
    f"less that of sinusoids: {change(trained, waves, turning)} nats. At 32 times the length that "
    f"of sinusoids changes by {change(trained, waves, long_waves)}.",
)
n_bytes = {
    n: {name: cost(name, n)["extra_bytes"] for name in ("rope", "alibi")}
    for n in (64, 256, 1024, 2048)
}
myths.settle(
    "C63",
    {f"{n} words": counted["alibi"] < counted["rope"] for n, counted in n_bytes.items()},
    "ALiBi's bytes over RoPE's: "
    + ", ".join(
        f"{counted['alibi'] / counted['rope']:.2f} at {n}" for n, counted in n_bytes.items()
    )
    + ". As a matrix for all pairs, without blocks: "
    + ", ".join(f"{4 * 4 * n * n / counted['rope']:.1f} at {n}" for n, counted in n_bytes.items())
    + ". A kernel that computes the bias itself, as FlashAttention since 2.4, makes none.",
)

# %% [markdown]
# Bytes are not time. Here is the time of a layer with each over that without a position, on your
# machine, so noisy:

# %% tags=["nbval-ignore-output"]
for name in ("rope", "alibi"):
    ratios = ", ".join(f"{cost(name, n)['time_ratio']:.2f} at {n}" for n in (256, 1024))
    print(f"{name:5}: {ratios}")

# %% [markdown]
# What RoPE does, it does once a word, and what ALiBi does, for each pair. On which side "little"
# falls is decided by length and kernel, and not by the formula's looks.
#
# **Back to:** [lesson 10](../10_choosing.ipynb), or its
# [other closer look](10_in_practice.ipynb).
