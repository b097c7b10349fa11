# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # 10 · Choosing: a closer look
#
# For those who have to decide at work: what [lesson 10](../10_choosing.ipynb) left out. Each
# section can be read alone; run the cells from the top.
#
# - what models that people use have chosen since 2017, and ten since 2024 layer by layer;
# - the fingerprints of all encodings;
# - eight encodings in models that look both ways;
# - seven jobs: who is struck out, and by what;
# - memory against length, the time of a bias, ALiBi in bfloat16, and the tasks that tell encodings
#   apart;
# - five questions that come up at work, each answered by a cell;
# - ten times the training, and what a cache that forgets the first tokens costs;
# - the ledger of every claim in this course, to guess and to filter.
#
# **Time:** {minutes}. **Builds on:** lesson 10. **Doors:** all four.

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start()

# %% [markdown]
# ## What models have chosen
#
# Model, year, what it reads with, and where that is written. Most of the papers say it in their
# section on architecture.

# %% tags=["plumbing"]
# Models that people use, by the year of their report
import pandas as pd

MODELS = [
    ("Transformer", 2017, "translation", "sinusoidal", "Vaswani et al., arXiv 1706.03762"),
    ("BERT", 2018, "encoder", "learned", "Devlin et al., arXiv 1810.04805"),
    ("GPT-2", 2019, "language model", "learned", "Radford et al."),
    ("XLNet", 2019, "language model", "transformer_xl", "Yang et al., arXiv 1906.08237"),
    ("T5", 2019, "text to text", "t5", "Raffel et al., arXiv 1910.10683"),
    ("GPT-3", 2020, "language model", "learned", "Brown et al., arXiv 2005.14165"),
    ("DeBERTa", 2020, "encoder", "deberta", "He et al., arXiv 2006.03654"),
    ("ViT", 2020, "images", "learned", "Dosovitskiy et al., arXiv 2010.11929"),
    ("PaLM", 2022, "language model", "rope", "Chowdhery et al., arXiv 2204.02311"),
    ("GPT-NeoX", 2022, "language model", "rope", "Black et al., arXiv 2204.06745"),
    ("OPT", 2022, "language model", "learned", "Zhang et al., arXiv 2205.01068; its code"),
    ("BLOOM", 2022, "language model", "alibi", "BigScience, arXiv 2211.05100"),
    ("Whisper", 2022, "speech, encoder", "sinusoidal", "Radford et al., arXiv 2212.04356"),
    ("LLaMA", 2023, "language model", "rope", "Touvron et al., arXiv 2302.13971"),
    ("MPT", 2023, "language model", "alibi", "MosaicML; its config.json: alibi"),
    ("StarCoder", 2023, "language model", "learned", "Li et al., arXiv 2305.06161"),
    ("Mistral 7B", 2023, "language model", "rope", "Jiang et al., arXiv 2310.06825; its code"),
    ("Falcon", 2023, "language model", "rope", "Almazrouei et al., arXiv 2311.16867"),
    ("Gemma", 2024, "language model", "rope", "Gemma Team, arXiv 2403.08295"),
    ("Qwen2", 2024, "language model", "rope", "Yang et al., arXiv 2407.10671"),
    ("ModernBERT", 2024, "encoder", "rope", "Warner et al., arXiv 2412.13663"),
    ("SmolLM2", 2025, "language model", "rope", "Ben Allal et al., arXiv 2502.02737"),
]
models = pd.DataFrame(MODELS, columns=["model", "year", "reads", "encoding", "source"])
models.set_index("model")

# %%
late = models[(models.year >= 2022) & (models.reads == "language model")]
print("language models since 2022, by encoding:")
print(late.encoding.value_counts().to_string())

# %% [markdown]
# A list of names is no census: it has those that this course speaks of. SmolLM2 and a child of BERT
# come with the course, and lessons 03 and 05 look inside.
#
# ## What ten models chose, 2024 to 2026
#
# Twelve layers of each, in order: which turn, and how far each sees. The table under it has the
# bases and the sources.

# %% tags=["plumbing"]
# Each row was compared with the file or report that it names
TEN = [
    (
        "ModernBERT, encoder",
        2024,
        "all layers; two of three see 128 tokens",
        "10,000; 160,000 where all is seen",
        "",
        "configuration_modernbert.py; arXiv 2412.13663",
    ),
    (
        "DeepSeek-V3",
        2024,
        "in all layers, 64 of a head's 192 numbers",
        "10,000",
        "trained at 4,096; YaRN, factor 40, to 128K",
        "inference/model.py of DeepSeek-V3; arXiv 2412.19437",
    ),
    (
        "Command A",
        2025,
        "three layers of four, which see a window",
        "",
        "the fourth sees all, without position",
        "modular_cohere2.py; arXiv 2504.00698",
    ),
    (
        "Llama 4",
        2025,
        "three layers of four, which see chunks of 8,192",
        "500,000",
        "the fourth sees all, without position; its scores grow with the length",
        "configuration_llama4.py",
    ),
    (
        "Qwen3",
        2025,
        "all layers",
        "1,000,000",
        "trained at 32,768; YaRN for four times that",
        "config.json of Qwen3-8B; arXiv 2505.09388",
    ),
    (
        "SmolLM3",
        2025,
        "three layers of four",
        "5,000,000",
        "trained at 65,536; YaRN for twice that",
        "layers: configuration_smollm3.py; base: its makers' blog",
    ),
    (
        "gpt-oss",
        2025,
        "all layers; every second sees 128 tokens",
        "150,000",
        "YaRN from 4,096 to 131,072; each head has a learned sink",
        "gpt_oss/torch/model.py; configuration_gpt_oss.py",
    ),
    (
        "DINOv3, images",
        2025,
        "all layers, by row and by column",
        "100",
        "places from −1 to 1, rescaled at random in training",
        "configuration_dinov3_vit.py; arXiv 2508.10104",
    ),
    (
        "Kimi Linear",
        2025,
        "none",
        "",
        "three layers of four are recurrent; the fourth attends without position",
        "the page on it in transformers' documentation; arXiv 2510.26692",
    ),
    (
        "Gemma 4",
        2026,
        "all layers; five of six see a window (E2B: four of five), in the last a quarter turns",
        "10,000; 1,000,000 where all is seen",
        "",
        "configuration_gemma4.py",
    ),
]
columns = ["model", "year", "what turns", "base", "for long texts", "source"]
ten = pd.DataFrame(TEN, columns=columns).set_index("model")

# %% tags=["plumbing"]
# Twelve layers of each; a pattern repeats from the first layer on
import matplotlib.pyplot as plt

from course_utils import plots

PATTERNS = {
    "ModernBERT, encoder": "aww",
    "DeepSeek-V3": "p",
    "Command A": "wwwn",
    "Llama 4": "wwwn",
    "Qwen3": "a",
    "SmolLM3": "aaan",
    "gpt-oss": "wa",
    "DINOv3, images": "a",
    "Kimi Linear": "rrrn",
    "Gemma 4": "wwwwwp",
}
KINDS = {
    "a": ("turns, sees all", "#0173b2"),
    "p": ("turns in part, sees all", "#56b4e9"),
    "w": ("turns, sees a window or chunk", "#cfe5f2"),
    "n": ("no position, sees all", "#de8f05"),
    "r": ("recurrent", "0.8"),
}
fig, ax = plt.subplots(figsize=(9, 4.2))
for row, pattern in enumerate(PATTERNS.values()):
    for layer in range(12):
        colour = KINDS[pattern[layer % len(pattern)]][1]
        ax.add_patch(plt.Rectangle((layer + 0.05, row - 0.4), 0.9, 0.8, color=colour))
for label, colour in KINDS.values():
    ax.scatter([], [], marker="s", s=80, color=colour, label=label)
ax.set(xlim=(0, 12), ylim=(9.6, -0.6), xticks=[0.5, 5.5, 11.5], xlabel="layer")
ax.set_xticklabels(["1", "6", "12"])
ax.set_yticks(range(10), [f"{name} ({ten.year[name]})" for name in PATTERNS])
ax.spines[:].set_visible(False)
ax.tick_params(length=0)
ax.set_title("Most layers turn; where all is seen, some have no position")
ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
patterns = "; ".join(
    f"{name}: {', then '.join(KINDS[kind][0] for kind in dict.fromkeys(pattern))}"
    for name, pattern in PATTERNS.items()
)
plots.show(
    fig,
    f"Twelve layers of ten models as squares in a row, coloured by what they do. {patterns}.",
)

# %% tags=["plumbing"]
# The sources, and who has layers without
language = ten.drop(["ModernBERT, encoder", "DINOv3, images"])
partly = language["what turns"].str.startswith(("three layers", "none"))
print(f"layers without RoPE in {partly.sum()} of {len(language)} language models:", end=" ")
print(", ".join(language.index[partly]))
pd.set_option("display.max_colwidth", None)
ten

# %% [markdown]
# **Look:** all attention here has RoPE or no position of its own. (Kimi Linear's recurrent layers
# decay, and so keep an order.) What differs is the *base*, *how much* of a head turns, *which
# layers*, and what each sees. Ten names are no census.
#
# What do layers without RoPE do to small models? Lesson 07's recipe, five seeds: RoPE in three
# layers of four, less RoPE in all four.

# %%
from course_utils.results import AS_TRAINED, change
from course_utils.texts import data

every_layer = data.results("extrapolation").query("encoding == 'rope'")
three_of_four = data.results("extrapolation_mixed").query("encoding == 'rope_mixed'")
both_kinds = pd.concat([every_layer, three_of_four]).query("reading == @AS_TRAINED")
for n in (64, 1024):
    as_usual, partly_turned = ({"encoding": name, "read": n} for name in ("rope", "rope_mixed"))
    print(f"read at {n}: {change(both_kinds, as_usual, partly_turned)} nats a byte")

# %% [markdown]
# **Look:** read as in training, the fourth layer does not miss its turns. At 1,024 bytes at once
# these models do worse ([lesson 07's other recipes](07_other_recipes.ipynb)).
#
# ## Seventeen at a glance
#
# All encodings of the course before training: the scores among 32 identical words, in one head. So
# what we see is what position alone contributes. Tables are drawn at random, as at the start of a
# training: their pattern is another for each seed.

# %% tags=["plumbing"]
# The fingerprints, each on a scale of its own
import torch

from course_lab import chooser
from course_utils import measures
from course_utils.encodings import create

names = chooser.facts().index
fig, axes = plt.subplots(3, 6, figsize=(10.5, 6.2))
flat = []
for ax, name in zip(axes.flat, names, strict=False):
    encoding = create(name, d_model=64, n_heads=4, max_len=64)
    scores = measures.fingerprint(encoding, 32)[1].detach()
    visible = torch.ones(32, 32).tril().bool() if encoding.causal else torch.ones(32, 32).bool()
    centred = (scores - scores[visible].mean()).masked_fill(~visible, -torch.inf)
    largest = centred[visible].abs().max().item()
    flat += [name] if largest < 1e-3 else []
    image = plots.heatmap(ax, centred, limit=max(largest, 1e-3), signed=True, equal=True)
    size = "all 0" if largest < 1e-3 else f"up to {largest:.2g}"
    ax.set_title(f"{name}\n{size}", fontsize=9)
    ax.set(xticks=[], yticks=[])
axes.flat[-1].axis("off")
place = axes.flat[-1].inset_axes((0.1, 0.1, 0.12, 0.8))
bar = fig.colorbar(image, cax=place, ticks=[-1e-3, 0, 1e-3])
bar.set_ticklabels(["− largest", "0", "largest"])
plots.show(
    fig,
    "Seventeen small matrices, query by key, each coloured up to its own largest score, which its "
    "title tells. Stripes along the diagonal for transformer_xl, t5, rope and xpos; a strong "
    "diagonal that fades to both sides for alibi, kerple, fire, sandwich, sinusoidal and "
    "complex_order; patterns without such bands for learned, multiplicative and floater. All of "
    f"one colour: {', '.join(flat)}.",
)

# %% [markdown]
# **Look:** bands along the diagonal mean that among identical words the offset alone counts. Those
# of one colour, `none` apart, are not empty: what they add asks the word first, or starts at 0.
# Hatched: keys that a causal mask hides. Pictures tell families apart, and not who reads well.
#
# ## Both ways
#
# For models that look both ways lesson 10's chooser asks this table: of 64 bytes of text 15 % are
# hidden, and the model names them. Then it reads windows of up to 1024, always judged on the same
# bytes. The mean over seeds, and half of its 95 % interval:

# %%
from course_utils.results import as_text, summary

both = data.results("both_ways")
means = summary(both, "encoding", "read")
best_first = means.xs(64, level="read")["mean"].sort_values().index
print(as_text(means.reindex(best_first, level="encoding"), "read"))

# %%
from course_utils.texts import text

known = text.split(text.documentation())
counts = torch.bincount(known.train.flatten(), minlength=text.VOCAB_SIZE) + 1.0
chance = (counts / counts.sum()).log()[known.held_out].mean()
print(f"who knows only how often each byte occurs: {-chance:.2f} nats")
for name in best_first:
    rise = change(both, {"encoding": name, "read": 64}, {"encoding": name, "read": 1024})
    word = "lower" if rise.below() else "higher" if rise.above() else "not clear"
    print(f"{name:14} at 1024, less that at 64: {rise} ({word})")

# %% [markdown]
# **Look:** the two that ask the words lead here too, and hold at 1024. RoPE is next at 64,
# and breaks as it did. T5 follows, and holds. So do `kerple` and `alibi`, to which both sides are
# the same, at a loss far above. A table and waves are hardly learned in so few steps, and at 1024
# read about as well as who knows only how often each byte occurs.
#
# ## Seven jobs, and what strikes out the others
#
# Lesson 10 shows who is left for seven jobs. Here are the others too, each with the first answer
# that strikes it out. Out is who is clearly more than 0.1 nats behind:

# %%
from course_lab import chooser

jobs = chooser.JOBS

# %% tags=["plumbing"]
# Who is left for which job, and if not, why not
from course_lab.scoreboards import UNCLEAR, draw_scoreboard

YARDSTICK = 0.1
SHORT = {
    chooser.MAY_CUT: "may cut",
    chooser.NUMBERS: "a bias",
    chooser.BY_WORD: "asks words",
    "16 times as long": "16 times",
    chooser.TAKES_BIAS: "takes a bias",
}


def why_not(name, job, struck, gaps):
    """Return the cell of an encoding: whether it is left for this job, and a number or reason."""
    answers = jobs[job]
    fact = chooser.facts(answers.get("reads", chooser.CAUSAL)).loc[name]
    if not fact["measured"]:
        return None, "causal only" if pd.isna(fact["mirror"]) else "not measured"
    times, gap = chooser.TIMES[answers.get("texts", "as in training")], gaps[name]
    in_words = {
        "texts": f"rises {fact[f'rise_{times}'].mean:.2f}",
        "starts": "moves",
        "attention": SHORT.get(fact["adds"]),
        "behind": f"{gap.mean:+.2f} ± {gap.margin:.2f}",
    }
    reasons = [in_words[question] for question in struck if struck.loc[name, question]]
    if reasons:
        return False, reasons[0]
    if gap.mean == 0:
        return True, "the best left"
    is_undecided = gap.mean + gap.margin > YARDSTICK
    return UNCLEAR if is_undecided else True, in_words["behind"]


board = {name: {} for name in chooser.facts().sort_values("loss").index}
steep = {}
for job, answers in jobs.items():
    struck, gaps = chooser.struck(YARDSTICK, **answers), chooser.behind_best(**answers)
    for name, row in board.items():
        row[job] = why_not(name, job, struck, gaps)
    drawn = chooser.steep(YARDSTICK, **answers)
    steep[job] = (None, "not measured")
    if drawn and drawn.behind:
        gap = drawn.behind
        in_words = f"{gap.mean:+.2f} ± {gap.margin:.2f}".replace("-", "−")
        if gap.below():
            in_words = f"{-gap.mean:.2f} below it"
        steep[job] = (not any(drawn.struck.values()), in_words)
often = {name: sum(bool(mark) for mark, _ in row.values()) for name, row in board.items()}
shown = {name: board[name] for name in sorted(board, key=often.get, reverse=True) if often[name]}
nowhere = [name for name in board if not often[name]]
rule = len(shown) - 0.5
shown[""] = "under the line: drawn by this course, not one of the 17"
asked = {
    job: ",\n".join(SHORT.get(answer, answer) for answer in answers.values())
    for job, answers in jobs.items()
}
title = f"Left for some job; {len(nowhere)} are left for none"
fig = draw_scoreboard(shown | {"steep": steep}, asked, title, totals=False)
fig.axes[0].axhline(rule, color="0.2", linewidth=1.5)
plots.show(
    fig,
    "A board of the encodings left for some of seven jobs, those left for the most on top. "
    "A tick, and how far the loss is behind the best left, with half of its 95 % interval, for "
    "those left; ≈ for those left whose interval crosses 0.1; else a cross and the "
    "first reason: a rise in nats; weights that move with the start; a bias, or a look at the "
    "words; or the loss. Grey: for causal masks only, or not measured both ways. Under a line "
    "steep, which this course drew, beside the best left: "
    + "; ".join(f"{job} {words}" for job, (_, words) in steep.items())
    + f". Left for no job: {', '.join(nowhere)}.",
)

# %% [markdown]
# **Look:** a cross says which answer to give up, ≈ that the interval crosses 0.1. `steep` is ALiBi
# with the slopes 2, 1, ½, ¼; it stands apart, since it has no paper and was trained for one
# setting. Where positions run on, a
# tick is not enough: [below](#a-cache-that-forgets-the-first-tokens).
#
# ## Memory against length
#
# How many bytes of tensors does attention make beyond those that it makes without an encoding? Each
# number is a count, over one forward pass, not the most alive at one time.

# %%
lengths, names = (64, 256, 1024), ("sinusoidal", "rope", "alibi", "transformer_xl", "cope")
extra = {
    name: [
        measures.passport(name, length=n, batch=1, causal=True, max_len=1024)["extra_bytes"]
        for n in lengths
    ]
    for name in names
}

# %% tags=["plumbing"]
# Bytes against length
fig, ax = plt.subplots(figsize=(8, 3.8))
for name, n_bytes in extra.items():
    ax.plot(lengths, n_bytes, label=name, **plots.identity(name).line(len(lengths)))
ax.set(xscale="log", yscale="log", xlabel="words", ylabel="extra bytes", title="tensors made")
ax.set_xticks(lengths, lengths)
ax.minorticks_off()
ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
described = ", ".join(f"{name} {n_bytes[-1] / 2**20:.1f}" for name, n_bytes in extra.items())
plots.show(
    fig,
    "Extra bytes of tensors against words, both axes logarithmic, 64 to 1024 words. All rise. In "
    f"MiB at 1024: {described}.",
)

# %% [markdown]
# **Look:** RoPE's bytes grow about as the text does. From 256 words on ALiBi's do as well: this
# course's attention makes one number for each offset, and the matrix is a view of these. What asks
# the words, as Transformer-XL and CoPE do,
# costs many times more in this course's code.
#
# ## The time of a bias
#
# Lesson 10's ways through a fused kernel, and four that ask the word: the time of attention over
# 1024 words, against plain attention without a position. All take turns, 40 times.

# %% tags=["nbval-ignore-output", "plumbing"]
# Rounds in which all take turns: the median of each way's ratios, and the middle half of them
from time import perf_counter

from torch.nn.functional import pad
from torch.nn.functional import scaled_dot_product_attention as attend

from course_utils.encodings import Places
from course_utils.encodings.functional import alibi_slopes

words = torch.arange(1024, device=device)
at = Places(words, words)
hidden = torch.zeros(1024, 1024, device=device).masked_fill(words > words[:, None], -torch.inf)
asking = ("shaw", "transformer_xl", "deberta", "cope")
encodings = {
    name: create(name, d_model=128, n_heads=4, max_len=1024, causal=True).to(device)
    for name in ("rope", "alibi", *asking)
}
blank = torch.zeros(1, 4, 1024, 32, device=device)
ready = encodings["alibi"].bias(blank, blank, at).detach().view(1, 4, 1024, 1024) + hidden
slope = alibi_slopes(4).to(device).view(4, 1, 1) * 32**0.5


def one_number_more(q, k, v):
    wider_q = pad(torch.cat([q, slope.expand(1, 4, 1024, 1)], dim=-1), (0, 7))
    wider_k = pad(torch.cat([k, words.expand(1, 4, 1024)[..., None].float()], dim=-1), (0, 7))
    return attend(wider_q, wider_k, pad(v, (0, 8)), is_causal=True, scale=32**-0.5)[..., :32]


def ask_the_word(name):
    return lambda q, k, v: attend(q, k, v, attn_mask=encodings[name].bias(q, k, at) + hidden)


kinds = {
    "none": ("none", lambda q, k, v: attend(q, k, v, is_causal=True)),
    "rope": (
        "rope",
        lambda q, k, v: attend(*encodings["rope"].rotate(q, k, at), v, is_causal=True),
    ),
    "alibi, one number more": ("alibi", one_number_more),
    "alibi, a ready bias": ("alibi", lambda q, k, v: attend(q, k, v, attn_mask=ready)),
} | {name: (name, ask_the_word(name)) for name in asking}


def seconds(function):
    vectors = torch.randn(3, 1, 4, 1024, 32, device=device)
    if device.type == "cuda":
        torch.cuda.synchronize()
    begin = perf_counter()
    function(*vectors)
    if device.type == "cuda":
        torch.cuda.synchronize()
    return perf_counter() - begin


with torch.no_grad():
    rounds = [[seconds(function) for _, function in kinds.values()] for _ in range(41)]
times = torch.tensor(rounds[1:])  # (rounds, kinds)
low, middle, high = (times / times[:, :1]).quantile(torch.tensor([0.25, 0.5, 0.75]), dim=0)
fig, ax = plt.subplots(figsize=(8, 3.2))
ax.axvspan(0.7, 2.5, color="0.95")
for row, (encoding, _) in enumerate(kinds.values()):
    look = plots.identity(encoding)
    ax.plot((low[row], high[row]), (row, row), color=look.colour, alpha=0.5)
    ax.plot(middle[row], row, color=look.colour, marker=look.marker)
ax.set(xscale="log", xlabel="time / time of plain attention", title="attention over 1024 words")
ax.set_xticks([1, 2, 4, 8, 16], ["1", "2", "4", "8", "16"])
ax.minorticks_off()
ax.set_yticks(range(len(kinds)), list(kinds))
ax.invert_yaxis()
ax.grid(axis="x", color="0.9")
plots.show(
    fig,
    "Eight ways, and the time of each over that of plain attention without a position, on a "
    "logarithmic axis: a marker at the median, a line over the middle half of 40 rounds. The grey "
    "band holds ways that this measurement does not tell apart. The medians: "
    + ", ".join(f"{kind} {ratio:.1f}" for kind, ratio in zip(kinds, middle, strict=True))
    + ".",
)

# %% [markdown]
# **Look:** your machine, so your numbers. Do not rank what lies in the grey band: neighbours on the
# machine move it as much. In our run the four that ask the word lay right of it. (PyTorch's
# FlexAttention compiles a kernel for a rule that you write. FlashAttention has ALiBi since 2.4,
# [FlashAttention-3 had not](https://github.com/Dao-AILab/flash-attention/issues/1666) in 2025.)
#
# ## One number more in bfloat16
#
# ALiBi in a plain kernel has the position as one number more in k. bfloat16 has 8 binary digits and
# rounds it past 256. Here at 512 words, with one number and with two. And Sandwich's bias is a dot
# product of sinusoidal codes: with its 128 numbers a plain kernel would make it, too.

# %%
from course_utils.encodings.functional import alibi_bias, sandwich_bias, sinusoidal_table

m, j = alibi_slopes(4).to(device), torch.arange(512.0, device=device)
q_512, k_512, v_512 = torch.randn(3, 1, 4, 512, 32, device=device)
bias = alibi_bias(j - j[:, None], m).masked_fill(j > j[:, None], -torch.inf)
exact = attend(q_512, k_512, v_512, bias)
for numbers, parts in {"j": [j], "256 ⌊j / 256⌋ and the rest": [j - j % 256, j % 256]}.items():
    of_k = torch.stack(parts, dim=-1).expand(1, 4, -1, -1)
    of_q = (m * 32**0.5).view(1, 4, 1, 1).expand(of_k.shape)
    wide = [torch.cat(pair, dim=-1).bfloat16() for pair in ((q_512, of_q), (k_512, of_k))]
    out = attend(*wide, v_512.bfloat16(), is_causal=True, scale=32**-0.5)
    print(f"{numbers}: the output is off by up to {(out - exact).abs().max():.2f}")
codes = sinusoidal_table(j.double(), 128)
gap = (codes @ codes.T - 64 - 8 * sandwich_bias(j.double() - j[:, None], n_heads=1)).abs().max()
print(f"Sandwich's bias by 128 numbers: off by up to {gap:.0e}")

# %% [markdown]
# **Look:** two numbers reach 65,536 words. There 256 ⌊j / 256⌋ needs a ninth digit: take three.
# (Lesson 10 makes q, k and v 40 numbers wide in place of 33: PyTorch's flash kernel wants v as wide
# as q and k, and GPUs like eights.)
#
# ## Tasks that tell them apart
#
# The loss on text is one yardstick. Copying, reversing and finding are others. The mean over seeds,
# of what share is right, at 32 symbols, as in training, and at 256:

# %%
tasks = data.results("tasks")
at_two = tasks[tasks["read"].isin([32, 256])]
scores = at_two.pivot_table(index="encoding", columns=["task", "read"], values="accuracy")
scores.loc[chooser.facts()["loss"].sort_values().index].round(2)  # the lowest loss first

# %%
for task in ("copy", "find", "reverse"):
    learned = scores.index[scores[task, 32] > 0.9]
    kept = scores.index[scores[task, 256] > 0.9]
    print(f"{task}: above 0.9 at 32: {', '.join(learned)}")
    print(f"{'':{len(task)}}  above 0.9 at 256: {', '.join(kept) or 'nobody'}")

# %% [markdown]
# **Look:** two ways to fail. `alibi`, `kerple` and `sandwich` find well, and have hardly learned to
# copy: at 32 already they are far from 1. `fire`, `rope` and others copy at 32, and not at 256. If
# your task is like one of these, its columns are worth more to you than the loss.
#
# ## Why not simply integers?
#
# Add its position $p$ times a fixed vector to a word, then LayerNorm. ($p$ itself, the same in each
# column, LayerNorm takes away again.) How far apart are neighbours?

# %%
from torch.nn.functional import layer_norm

word = torch.randn(64, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
direction = torch.randn(64, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
for p in (1, 10, 100, 1000):
    rows = torch.stack([word + p * direction, word + (p + 1) * direction])
    code, next_code = layer_norm(rows, (64,))
    print(f"positions {p} and {p + 1}: {(next_code - code).norm():.5f} apart after LayerNorm")

# %% [markdown]
# The number grows, LayerNorm shrinks it again, and with it the word and the difference of
# neighbours. Lesson 02's scoreboard has more.
#
# ## What does `max_len` limit?

# %%
for name in ("learned", "sinusoidal", "rope", "alibi"):
    passport = measures.passport(name, length=16, batch=1, causal=True, max_len=64)
    end = f"{passport['longest']} words" if passport["longest"] else "no end was found"
    print(f"{name:11} made with max_len=64: {end}")

# %% [markdown]
# A table has so many rows and no more. A formula has none, so there `max_len` limits nothing. What
# the *model* makes of positions that it never saw is another question: lesson 07.
#
# ## Must the width match?
#
# Whatever is *added* to the words must be as wide as they are. Nothing else must: rotations are as
# wide as a head, a bias has a number for each head.

# %%
for name in ("learned", "shaw", "t5", "kerple"):
    encoding = create(name, d_model=64, n_heads=4)
    shapes = {key: tuple(values.shape) for key, values in encoding.named_parameters()}
    print(f"{name:8} at width 64, 4 heads: {shapes}")
narrow = create("sinusoidal", d_model=16, n_heads=4)
widen = torch.nn.Linear(16, 64, bias=False)
codes = narrow.embed(torch.zeros(1, 10, 16), torch.arange(10))
print("16 numbers a position, through a matrix, fit words of", widen(codes).shape[-1])

# %% [markdown]
# ## Trainable or fixed?

# %%
results = data.results("extrapolation")
trained = results[results.reading == AS_TRAINED]
pairs = {"door 1": ("sinusoidal", "learned"), "door 3": ("alibi", "kerple")}
for door, pair in pairs.items():
    fixed, learning = pair
    for n in (64, 2048):
        baseline, candidate = ({"encoding": name, "read": n} for name in pair)
        print(f"{door}, {learning} less {fixed} at {n}: {change(trained, baseline, candidate)}")

# %% [markdown]
# It depends on what is learned. KERPLE learns the shape of a price, and has the lower mean at both
# lengths. A table learns a row for each place, and nothing of places that it has not seen.
#
# ## How do I read longer texts?
#
# RoPE models, trained at 64 bytes. First, how far the loss at 512 is above that with only the last
# 64 bytes in sight; then what a little more training at 512 makes of it.

# %%
stretched = data.results("stretching")
rows = stretched[(stretched.encoding == "rope") & (stretched.reading == AS_TRAINED)]
untrained = rows[rows.tuned == 0]
at_64 = {"way": "direct", "read": 64}
ways = {"direct": 1.0, "interpolation": 8.0, "by parts": 8.0}  # the last: YaRN's ramp alone
for way, factor in ways.items():
    at_512 = {"way": way, "factor": factor, "read": 512}
    print(f"{way:14} above cutting to 64: {change(untrained, at_64, at_512)}")
trained_on = rows[(rows.tuned > 0) & (rows.tuned_at == 512)]
for way, factor in ways.items():
    losses = trained_on[(trained_on.way == way) & (trained_on.factor == factor)]
    print(f"{way:14} after {losses.tuned.max()} more steps at 512:", end=" ")
    print(f"{losses[losses['read'] == 512].loss.mean():.3f} nats")

# %% [markdown]
# Without further training cutting is better than all of them here. Lesson 08 says what the extra
# steps are worth, with their control. But a cut is not free for every model. Transformer-XL,
# trained on 256 bytes, reads 256 at once or cut to 64:

# %%
larger = data.results("larger")
longer_pieces = larger[(larger.reading == AS_TRAINED) & (larger.length == 256)]
at_once, cut = ({"encoding": "transformer_xl", "read": n} for n in (256, 64))
loss_by_cut = change(longer_pieces, at_once, cut)
print(f"cut to 64, above its loss at once: {loss_by_cut}, {loss_by_cut.repeats} seeds")

# %% [markdown]
# ## Would more training say the same?
#
# 1,200 steps are few. Five encodings were trained for ten times as many, two seeds. The
# loss at 64 bytes less RoPE's, and the rise to 256 bytes:

# %%
is_usual = (larger.reading == AS_TRAINED) & (larger.corpus == results.corpus.iloc[0])
longer = larger[is_usual & (larger.length == 64)]
trainings = {"1,200 steps": trained, "12,000 steps": longer}
rope_at_64 = {"encoding": "rope", "read": 64}
for steps, rows in trainings.items():
    print(f"after {steps}, {rows.seed.nunique()} seeds:")
    for name in longer.encoding.unique():
        at_64, at_256 = ({"encoding": name, "read": n} for n in (64, 256))
        behind = change(rows, rope_at_64, at_64) if name != "rope" else ""
        print(f"    {name:14} {behind!s:15}   rises {change(rows, at_64, at_256)}")

# %% [markdown]
# **Look:** the surprise is `none`: it was far behind, and two seeds no longer tell it from RoPE.
# ALiBi's gap has a smaller mean, but they cannot tell whether it has closed, or shrunk at all. So
# the order of losses after 1,200 steps may be one of short training. The rises part: those of
# `rope` and `none` have grown, those of `alibi`, `t5` and `transformer_xl` are below a tenth.
#
# ALiBi has four heads in this course's models. How does it do with eight, and against `steep`,
# ALiBi with the slopes 2, 1, ½, ¼? Means in nats a byte, after 1,200 steps but for the last line:

# %% tags=["plumbing"]
# ALiBi by its heads, and steep at 1024 bytes
drawn = data.results("extrapolation_prices")
means = drawn.groupby(["encoding", "n_heads", "steps", "read"]).loss.mean()
alibi = trained[trained.encoding == "alibi"].groupby("read").loss.mean()
alibi_later = longer[longer.encoding == "alibi"].groupby("read").loss.mean()
with_8 = means["alibi", 8, 1200]
print(f"alibi at 64 bytes: {alibi[64]:.2f} with 4 heads, {with_8[64]:.2f} with 8")
steep_4, steep_later = means["steep", 4, 1200], means["steep", 4, 12_000]
print("at 1024 bytes, steep, with 4 heads:")
print(f"    less alibi with 4 heads {steep_4[1024] - alibi[1024]:+.2f}")
print(f"    less alibi with 8 heads {steep_4[1024] - with_8[1024]:+.2f}")
print(f"    after 12,000 steps, less alibi {steep_later[1024] - alibi_later[1024]:+.2f}, two seeds")

# %% [markdown]
# **Look:** `steep` is lower each time. It was trained and judged on one kind of text, and has not
# been tried on tasks that ask for far words.
#
# ## A cache that forgets the first tokens
#
# A cache may keep the last 64 bytes alone, while positions run on. Two of this course's models read
# so, from byte 64 on; and each time the same 64 bytes anew, from position 0:

# %%
small = data.results("streams").query("first >= 64").groupby(["encoding", "way", "seed"]).loss
small = small.mean().reset_index()
for name in ("rope", "alibi"):
    anew, sliding = ({"encoding": name, "way": f"the last 64{how}"} for how in (" anew", ""))
    print(f"{name:6} the cache, less the bytes anew: {change(small, anew, sliding)} nats a byte")

# %% [markdown]
# **Look:** it costs next to nothing. Now a published model.
#
# In each layer of SmolLM2 every token sees the last 256 alone, or the first four and the last 252,
# at their own positions. The loss from token 512 to 2,048 less that with all in sight, three texts:

# %%
streams = data.results("real_streams")
from_512 = streams[streams["first"] >= 512].groupby(["way", "seed"]).loss.mean().reset_index()
for way in ("the last 256", "first 4 kept"):
    print(f"{way}: {change(from_512, {'way': 'as trained'}, {'way': way})} nats a token")

# %% [markdown]
# **Look:** the bare window is clearly worse, and four first tokens mend most of it: many heads put
# their weight there, on a *sink*. So where positions run on it is not enough that weights stay the
# same wherever a text starts. StreamingLLM (arXiv 2309.17453, section 3.2) keeps the first tokens
# and numbers the cache afresh. This is not what a cut costs. A text that is cut is read anew, so
# each piece has a first token of its own.
#
# ## The ledger
#
# Every claim that the course has put to the test. Guess, and keep your score; only then look below.

# %%
from course_lab import explorers

explorers.ledger()

# %% tags=["nbval-ignore-output"]
rows = pd.DataFrame(explorers.ledger_rows()).set_index("id")
pd.crosstab(rows["evidence"].str.partition(",")[0].rename("rests on"), rows["verdict"])

# %% [markdown]
# And as a table, to filter as you like: by a word, a lesson, a verdict.

# %% tags=["nbval-ignore-output"]
rows[rows["claim"].str.contains("ALiBi") & (rows["verdict"] != "true")][["claim", "verdict"]]

# %% [markdown]
# `make notebooks` settles all of them again on your machine; `git diff data/claims.csv` then shows
# where a verdict or a case has become another one.
#
# ## In five lines
#
# - Most language models of this list since 2022 turn; those before them open door 1 or 3.
# - What a bias costs in memory depends on how it is computed.
# - Some find well and copy badly, some copy short rows only: look at the task that is yours.
# - `max_len` limits tables, and width binds only what is added.
# - To read longer, cut first, or train on; a stretch may help.
#
# **Back to:** [lesson 10](../10_choosing.ipynb). All encodings on one page, and attention between
# two texts: [another closer look](10_two_texts.ipynb).
