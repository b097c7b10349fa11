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
# # 10 · Choosing
#
# **Question:** which one should I use?
#
# After this lesson you can
#
# - say why no table of results names one best encoding, and what a table is good for;
# - answer five questions about your own task, and find the measured rows that decide;
# - read what the models of 2026 have chosen: which layers turn, how fast, how far.
#
# **Time:** {minutes}. **Builds on:** lessons 02 to 08. **Doors:** all four.

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start(
    doors=["embed", "rotate", "bias", "values"], title="Lesson 10: every door is a choice"
)

# %% [markdown]
# ## A puzzle
#
# LLaMA, Mistral, Qwen, Gemma, SmolLM: most open language models of today turn queries and keys, as
# RoPE does, in all layers or in most. In lesson 07 we trained 17 encodings on texts of 64 bytes and
# read longer ones. Sort all 17 by how much the loss rises at 1024 bytes, the best first.

# %%
from course_lab import widgets

guess = widgets.predict(
    "Texts 16 times as long as in training, the smallest rise first: where does RoPE stand?",
    ["among the first five", "in the middle", "among the last five"],
)

# %%
from course_lab import chooser

facts = chooser.facts()  # a row an encoding; each loss is a mean over five seeds
facts["rise"] = [rise.mean for rise in facts.rise_16]
order = facts.sort_values("rise")
place = order.index.get_loc("rope") + 1
print(f"RoPE: place {place} of {len(order)}, {facts.rise_16['rope']} nats a byte")
late, early = place > len(order) - 5, place <= 5
guess.reveal(
    "among the last five" if late else "among the first five" if early else "in the middle"
)
order[["doors", "loss", "rise"]].round(3)

# %% [markdown]
# **Look:** `loss` is at 64 bytes, `rise` from there to 1024; after ± stands half of the 95 %
# interval over seeds. Are all who build large models wrong, or is this the wrong table?
#
# ## Strike out the beaten
#
# Add two prices: how many numbers an encoding learns, and how many bytes of tensors attention makes
# because of it. `passport` measures both.

# %%
from course_utils import measures

prices = {}
for name in facts.index:
    passport = measures.passport(name, length=64, batch=1, causal=True, device=device, max_len=64)
    prices[name] = {"learned": passport["parameters"], "bytes": passport["extra_bytes"]}

# %%
import pandas as pd

table = facts[["loss", "rise"]].join(pd.DataFrame(prices).T)  # lower is better, everywhere
table.sort_values("loss").round(3)  # sort by what you like

# %% [markdown]
# One encoding *beats* another if it is at most as high in every column, and lower in one. Who is
# beaten by nobody is *on the Pareto front*.


# %%
import torch


def undominated_from_scratch(costs):
    undominated = []
    for row in costs:
        at_most = (costs <= row).all(1)
        lower = (costs < row).any(1)
        undominated.append(not bool((at_most & lower).any()))
    return torch.tensor(undominated)


# %%
guess = widgets.predict(
    "By these four columns, how many of the 17 are beaten by nobody?",
    ["1 or 2", "3 to 6", "7 or more"],
)

# %%
costs = torch.tensor(table.to_numpy())
front = undominated_from_scratch(costs)
assert torch.equal(front, chooser.undominated(costs))
by_two = chooser.undominated(costs[:, :2])
print(f"by loss and rise alone {int(by_two.sum())}:", ", ".join(table.index[by_two.numpy()]))
print(f"by all four {int(front.sum())}; beaten:", ", ".join(table.index[~front.numpy()]))
guess.reveal("1 or 2" if front.sum() < 3 else "3 to 6" if front.sum() < 7 else "7 or more")

# %% [markdown]
# **Look:** each column that we add saves some. Even `none` stays: nothing is cheaper than nothing.
# And the beaten are beaten in *these* columns only. Here is another, from lesson 07's tasks: the
# share of symbols copied right, in rows of 256.

# %%
from course_utils.results import AS_TRAINED, change
from course_utils.texts import data

tasks = data.results("tasks")
copied = tasks[(tasks.task == "copy") & (tasks["read"] == 256)].groupby("encoding").accuracy.min()
print("above 0.99 in every seed:", ", ".join(copied.index[copied > 0.99]))

# %% [markdown]
# So a table of results cannot choose. It asks what *you* pay for.
#
# ## What a bias costs
#
# Fast attention is a *fused kernel*: one program makes scores, softmax and sum piece by piece, and
# never stores all weights. A *plain* one takes q, k, v, and hides later words. PyTorch's takes a
# *mask* too: ready-made numbers, added to the scores.
#
# ALiBi, KERPLE, T5 and Sandwich add a number for each offset, the same in every text. A mask will
# do. Shaw, Transformer-XL, DeBERTa and CoPE *ask the word*: for each pair of each text another
# number has to be computed first. RoPE adds nothing.

# %%
from torch.nn.functional import scaled_dot_product_attention as fused

from course_utils.encodings.functional import alibi_bias, alibi_slopes

q, k, v = torch.randn(3, 1, 4, 64, 32, device=device)  # 4 heads, 64 words
places = torch.arange(64, device=device)
offsets = places - places[:, None]  # key less query
numbers = alibi_bias(offsets, alibi_slopes(4).to(device)).masked_fill(offsets > 0, -torch.inf)
written_out = (q @ k.mT / 32**0.5 + numbers).softmax(-1) @ v
assert torch.allclose(fused(q, k, v, attn_mask=numbers), written_out, atol=1e-5)

# %% [markdown]
# ALiBi has a trick. What is the same for all keys of a query leaves softmax as it is. So slope ×
# key's place serves as well as slope × offset: one more number in q and k.

# %%
slope = alibi_slopes(4).to(device).view(4, 1, 1)  # one a head
wider_q = torch.cat([q, slope.expand(1, 4, 64, 1) * 32**0.5], dim=-1)
wider_k = torch.cat([k, places.expand(1, 4, 64)[..., None].float()], dim=-1)
by_trick = fused(wider_q, wider_k, v, is_causal=True, scale=32**-0.5)
assert torch.allclose(by_trick, written_out, atol=1e-4)

# %% [markdown]
# So a plain kernel can do it, in float32. In bfloat16 far places tie (lesson 11), so here ALiBi
# counts as a mask. Three times the same numbers. The same time? A whole layer:

# %% tags=["nbval-ignore-output", "plumbing"]
# Rounds in which all take turns; the fastest of each ten, so three ratios
from time import perf_counter

import matplotlib.pyplot as plt

from course_utils import plots
from course_utils.attention import MultiHeadAttention
from course_utils.encodings import ALiBi, create
from course_utils.plots.line_ends import LineEnds


class AsMask(ALiBi):
    """ALiBi as numbers for each pair, which attention hands to PyTorch's kernel as a mask."""

    def bias(self, q, k, at):
        return super().bias(q, k, at)


def seconds(layer, x, weights):
    begin = perf_counter()
    layer(x, need_weights=weights)
    if device.type == "cuda":
        torch.cuda.synchronize()
    return perf_counter() - begin


lengths = (128, 256, 512, 1024)
kinds = {
    "none": ("none", False),
    "none written out": ("none", True),
    "rope": ("rope", False),
    "alibi as a mask": (AsMask(128, 4), False),
    "alibi written out": ("alibi", True),
    "transformer_xl": ("transformer_xl", False),
    "deberta": ("deberta", False),
}
layers = {}
for kind, (encoding, weights) in kinds.items():
    if isinstance(encoding, str):
        encoding = create(encoding, d_model=128, n_heads=4, max_len=1024, causal=True)
    layers[kind] = MultiHeadAttention(128, 4, encoding, causal=True).to(device), weights
ratios = {}
for n in lengths:
    x = torch.randn(1, n, 128, device=device)
    with torch.no_grad():
        rounds = [
            [seconds(layer, x, weights) for layer, weights in layers.values()] for _ in range(31)
        ]
    fastest = torch.tensor(rounds[1:]).view(3, 10, len(layers)).amin(1)  # (three times, kinds)
    ratios[n] = fastest / fastest[:, :1]
fig, ax = plt.subplots(figsize=(8.5, 3.6))
curves = []
for number, kind in enumerate(kinds):
    times = torch.stack([ratios[n][:, number] for n in lengths])  # (lengths, three times)
    look = plots.identity(kind.split()[0])
    dash = {"linestyle": ":"} if kind.endswith("out") else {}
    curves += ax.plot(lengths, times.median(1).values, **look.line(len(lengths)) | dash)
    ax.fill_between(lengths, times.amin(1), times.amax(1), color=look.colour, alpha=0.25)
ax.set(xlabel="words", ylabel="time / time without", title="a layer of attention, on your machine")
ax.set_xscale("log", base=2)
ax.set_yscale("log", base=2)
ax.set_xticks(lengths, lengths)
ax.set_yticks([1, 2, 4, 8], [1, 2, 4, 8])
LineEnds(ax, curves, list(kinds))
plots.show(
    fig,
    "Time over that of a layer without an encoding, at 128 to 1024 words: the fastest of ten, "
    "three times over, with their range as bands. At 1024: "
    + ", ".join(
        f"{kind} {ratios[1024][:, number].median():.1f}" for number, kind in enumerate(kinds)
    )
    + ".",
)

# %% [markdown]
# **Look:** your machine, so your numbers. Dotted lines write all weights out: compare each with its
# fused twin. Then find what asks the word. Both are slow; a mask is less so. But not every kernel
# takes every mask: FlashAttention has ALiBi since 2.4 ([issue
# 661](https://github.com/Dao-AILab/flash-attention/issues/661), 2023), FlashAttention-3 had not
# ([issue 1666](https://github.com/Dao-AILab/flash-attention/issues/1666), 2025).
#
# ## Five questions
#
# So ask what the task needs:

# %%
for question, answers in chooser.QUESTIONS.items():
    print(f"{question + ':':10}", " / ".join(answers))

# %% [markdown]
# Each answer strikes out some:
#
# 1. **It reads** earlier words only, or both ways? The losses are of models that read so. Nine of
#    the 17 were not trained both ways here: not measured, so struck out.
# 2. **Texts** longer than in training: the rise must not be clearly above 0.1 nats. Or you may cut
#    them to the trained length: then nothing rises.
# 3. **They start** anywhere: all positions move by 999, and no weight may change.
# 4. **Attention** is any kernel, a fused one that takes a mask, or a plain fused one.
# 5. **Loss**, at the length that is read: not clearly further behind the best than so many nats.

# %%
guess = widgets.predict(
    "Plain fused attention, texts four times as long, any loss will do: how many are left?",
    ["nobody", "one or two", "three or more"],
)

# %%
left = chooser.remaining(texts="4 times as long", attention="plain fused")
print("left:", ", ".join(left) or "nobody")
guess.reveal("nobody" if not left else "one or two" if len(left) < 3 else "three or more")

# %% [markdown]
# **Look:** among these 17, reading on as if nothing were, with a plain kernel, cannot be had. But a
# long text can be cut. RoPE can be stretched, and trained a little more (lesson 08).

# %%
guess = widgets.predict(
    "Longer texts, but you may cut; starting anywhere, plain fused attention, at most 0.1 nats "
    "behind the best. Who is left?",
    [
        "sinusoidal",
        "those that turn: RoPE and its kin",
        "those that price distance: ALiBi and kin",
        "nobody",
    ],
)

# %%
left = chooser.remaining(0.1, texts=chooser.MAY_CUT, starts="anywhere", attention="plain fused")
print("left:", ", ".join(left))
options = {"rotate": "those that turn: RoPE and its kin", "embed": "sinusoidal"}
doors = set(facts.doors[left])
guess.reveal(options[doors.pop()] if len(doors) == 1 else ", ".join(left) or "nobody")

# %% [markdown]
# What does each way cost? Who cuts keeps the loss at 64. RoPE at 512 bytes, less that (lesson 08):

# %% tags=["plumbing"]
# Three ways to read 512 bytes
stretched = data.results("stretching").query("reading == @AS_TRAINED")
home = {"way": "direct", "read": 64, "tuned": 0}
as_if_nothing = {"way": "direct", "read": 512, "tuned": 0}
yarn = {"way": "YaRN", "factor": 8, "read": 512, "tuned": 0}
print("as if nothing were:  ", change(stretched, home, as_if_nothing))
print("YaRN:                ", change(stretched, home, yarn))
print("YaRN, and 100 steps: ", change(stretched, home, yarn | {"tuned": 100}))

# %% [markdown]
# The puzzle is solved: who trains at the length that is read, cuts, or stretches and trains on,
# hardly pays for RoPE's bad place. Now answer for a task of yours. Can you leave exactly one?

# %%
from course_lab import explorers

explorers.chooser()

# %% [markdown]
# ## Would more training say the same?
#
# 1,200 steps are few. Trained again were six on pieces of 256 bytes, three seeds; five of these for
# ten times the steps, two seeds. Does the order stay?

# %% tags=["plumbing"]
# Each seed a dot, lines through the means
results, larger = data.results("extrapolation"), data.results("larger")
trained = results[results.reading == AS_TRAINED]
again = larger[(larger.reading == AS_TRAINED) & (larger.corpus == results.corpus.iloc[0])]
usual = trained[trained["read"] == 64]
others = {
    "pieces of 256, read at 256": again[(again.length == 256) & (again["read"] == 256)],
    "12,000 steps": again[(again.length == 64) & (again["read"] == 64)],
}
ranks = {}
fig, axes = plt.subplots(1, 2, figsize=(10, 3.8))
for ax, (title, rows) in zip(axes, others.items(), strict=True):
    names, curves = list(rows.encoding.unique()), []
    before, after = (part.groupby("encoding").loss.mean()[names] for part in (usual, rows))
    for name in names:
        look = plots.identity(name)
        curves += ax.plot((0, 1), (before[name], after[name]), **look.line(2))
        for place, part in enumerate((usual, rows)):
            seeds = part[part.encoding == name].loss
            ax.plot([place] * len(seeds), seeds, ".", color=look.colour, alpha=0.5)
    ax.set(title=title, xlim=(-0.1, 1.05))
    ax.set_xticks((0, 1), ("64 bytes, 1,200 steps", title), fontsize=9)
    LineEnds(ax, curves, names)
    ranks[title] = {name: (int(before.rank()[name]), int(after.rank()[name])) for name in names}
axes[0].set_ylabel("loss (nats a byte)")
plots.show(
    fig,
    "Loss of each encoding after the usual training, on the left of each panel, and after another "
    "one. Ranks before and after: "
    + "; ".join(
        f"{title}: "
        + ", ".join(f"{name} {first} to {second}" for name, (first, second) in rank.items())
        for title, rank in ranks.items()
    )
    + ".",
)

# %% tags=["plumbing"]
# The ranks, and what position is worth
for title, rank in ranks.items():
    moves = [f"{name} {first} → {second}" for name, (first, second) in rank.items()]
    print(f"{title}, ranks: {', '.join(moves)}")
tenfold = again[again.steps > trained.steps.iloc[0]]
rope, none = {"encoding": "rope", "read": 64}, {"encoding": "none", "read": 64}
print("none less RoPE, usual training:  ", change(trained, rope, none))
print("none less RoPE, 12,000 steps:    ", change(tenfold, rope, none))

# %% [markdown]
# **Look:** longer pieces keep the order. Ten times the steps do not: without any position a model
# catches up late. So these losses are evidence about short training.
#
# ## Why so rarely ALiBi?
#
# It reads 16 times its length, learns nothing, and costs little. Four differences, seed by seed,
# over the same bytes:

# %%
alibi, alibi_long = {"encoding": "alibi", "read": 64}, {"encoding": "alibi", "read": 2048}
print("at the trained length, ALiBi less RoPE:     ", change(trained, rope, alibi))
later = change(tenfold, rope, alibi)
print(f"the same after ten times the steps, {later.repeats} seeds:", later)
print("ALiBi at 2048, less RoPE cut to its last 64:", change(trained, rope, alibi_long))
print("ALiBi at 2048, less ALiBi at 64:            ", change(trained, alibi, alibi_long))

# %% [markdown]
# **Look:** where both are at home, ALiBi is behind; after ten times the steps, two seeds cannot
# tell. On long texts it holds but gains nothing, so whoever cuts RoPE's text reads better. Falcon's
# makers (arXiv 2311.16867) tried both and [took
# RoPE](https://huggingface.co/tiiuae/falcon-40b/discussions/17): a lower loss, a fast kernel of
# their own, and training on at longer texts "worked fine". BLOOM and MPT took ALiBi.
#
# ## What is chosen in 2026
#
# Ten models, each by its configuration or report: twelve of their layers, in order, and where the
# numbers are from.

# %% tags=["plumbing"]
# Each row was compared with the file or report that it names
MODELS = [
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
        "trained at 4,096; YaRN for 40 times that",
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
        "configuration_smollm3.py; its makers' blog",
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
        "all layers; five of six see a window, in the sixth a quarter turns",
        "10,000; 1,000,000 where all is seen",
        "",
        "configuration_gemma4.py",
    ),
]
columns = ["model", "year", "what turns", "base", "for long texts", "source"]
models = pd.DataFrame(MODELS, columns=columns).set_index("model")
# %% tags=["plumbing"]
# Twelve layers of each; a pattern repeats from the first layer on
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
ax.set_yticks(range(10), [f"{name} ({models.year[name]})" for name in PATTERNS])
ax.spines[:].set_visible(False)
ax.tick_params(length=0)
ax.set_title("most layers turn; where all is seen, some have no position")
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
language = models.drop(["ModernBERT, encoder", "DINOv3, images"])
partly = language["what turns"].str.startswith(("three layers", "none"))
print(f"layers without RoPE in {partly.sum()} of {len(language)} language models:", end=" ")
print(", ".join(language.index[partly]))
pd.set_option("display.max_colwidth", None)
models

# %% [markdown]
# **Look:** nobody here chose another encoding than RoPE or nothing. For long texts they raise the
# *base* or stretch by YaRN (lesson 08), or both; they choose *how much* of a head turns, *which
# layers*, and what each sees. Ten names are no census.
#
# ## Two of these choices, measured
#
# *Layers without.* Our models have four layers: RoPE in three, nothing in the fourth, five seeds.
# The loss, less that with RoPE in all four:

# %%
mixed = data.results("extrapolation_mixed")
either = pd.concat([trained, mixed[mixed.reading == AS_TRAINED]])
for n in (64, 256, 1024):
    all_layers, three_of_four = ({"encoding": name, "read": n} for name in ("rope", "rope_mixed"))
    print(f"read at {n:4}: {change(either, all_layers, three_of_four)}")

# %% [markdown]
# **Look:** at the trained length the fourth layer does not miss its turns. At 1024 the mix alone
# does not help. Those who mix also train on long texts.
#
# *A stream* never ends, so a cache has to forget. SmolLM2 reads 2,048 tokens and sees the last 256;
# or the first four and the last 252 (Xiao et al. 2023). The loss from token 512 on, less that with
# all in sight, three texts:

# %%
streams = data.results("real_streams")
late = streams[streams["first"] >= 512].groupby(["way", "seed"]).loss.mean().reset_index()
for way in ("the last 256", "first 4 kept"):
    print(f"{way}: {change(late, {'way': 'as trained'}, {'way': way})} nats a token")

# %% [markdown]
# **Look:** a bare window costs much. Many heads give the first token much of their attention, as a
# *sink*; four tokens repair most. Our small models need none (lesson 07).
#
# ## The answer in one picture
#
# Six jobs, and what each asks of position, as we read them; not clearly more than 0.2 nats behind.
# Put in yours.

# %%
jobs = {
    "chat, code": {"texts": chooser.MAY_CUT, "starts": "anywhere", "attention": "plain fused"},
    "a stream": {"texts": chooser.MAY_CUT, "starts": "anywhere"},
    "long, uncut": {"texts": "16 times as long", "attention": "fused, takes a mask"},
    "translation: the encoder": {"reads": "both ways"},
    "search: the encoder": {"reads": "both ways", "attention": "plain fused"},
    "long, uncut, both ways": {"reads": "both ways", "texts": "16 times as long"},
}
for job, answers in jobs.items():
    print(f"{job}: {', '.join(chooser.remaining(0.2, **answers)) or 'nobody'}")

# %% tags=["plumbing", "readme"]
# Who is left for which job, and if not, why not
from course_lab.scoreboards import draw_scoreboard

board = {name: {} for name in facts.sort_values("loss").index}
short = {chooser.MAY_CUT: "may cut", chooser.NUMBERS: "a mask", chooser.BY_WORD: "asks words"}
for job, answers in jobs.items():
    struck = chooser.struck(0.2, **answers)
    known = chooser.facts(answers.get("reads", chooser.CAUSAL))
    times = chooser.TIMES[answers.get("texts", "as in training")]
    for name, scores in board.items():
        fact = known.loc[name]
        causal_only = pd.isna(fact["mirror"])
        behind = fact[f"behind_{times}"]
        reasons = {"reads": "causal only" if causal_only else "not measured", "starts": "moves"}
        if fact["measured"]:
            reasons["texts"] = f"rises {fact[f'rise_{times}'].mean:.2f}"
            reasons["behind"] = f"{behind.mean:+.2f} ± {behind.margin:.2f}"
        reasons["attention"] = short.get(fact["adds"])
        crosses = [reasons[question] for question in struck if struck.loc[name, question]]
        more = f" +{len(crosses) - 1}" if len(crosses) > 1 else ""
        scores[job] = (not crosses, crosses[0] + more if crosses else reasons["behind"])
        if not fact["measured"]:
            scores[job] = (None, reasons["reads"])
requirements = {
    job: ",\n".join(short.get(text, text.replace(" as long", "")) for text in answers.values())
    for job, answers in jobs.items()
}
title = "Six jobs: who is left, and how far behind the best"
fig = draw_scoreboard(board, requirements, title, totals=False)
counts = {job: sum(bool(scores[job][0]) for scores in board.values()) for job in jobs}
plots.show(
    fig,
    "A board of 17 encodings and six jobs. A tick, and how far the loss is behind the best, with "
    "half of its 95 % interval, for those left; else a cross, the first reason and how many more "
    "there are: a rise in nats; weights that move with the start; a mask or a look at the words, "
    "where the kernel takes none; or the loss. Grey: for causal masks only, or not measured both "
    "ways. Left: " + "; ".join(f"{job} {count}" for job, count in counts.items()) + ".",
)

# %% [markdown]
# **Look:** read a column to choose, a cross to see which measurement decided; +1 is one more
# reason. No row has a tick everywhere. And if you want no board, one sentence each (by row and
# column: lesson 05's closer look):

# %%
for kind, default in chooser.DEFAULTS.items():
    print(f"{kind}: {default.sentence}")

# %% [markdown]
# ## Exercises
#
# **Exercise 1 ★★ The least regret.** You do not know how long your texts will be. Your *regret*, at
# a length, is how many nats you lose there against the encoding that is best there. Write
# `least_regret(losses)`: `losses` is a tensor (encodings, lengths). Return, as an int, the row
# whose largest regret is the smallest; of equal ones the first.


# %% tags=["stub"]
def least_regret(losses):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def least_regret(losses):
    regret = losses - losses.min(0).values
    return regret.max(1).values.argmin().item()


# %%
from course_lab.checks.lesson10 import check_least_regret, check_somebodys_favourite

check_least_regret(least_regret)

# %%
every_length = trained.groupby(["encoding", "read"]).loss.mean().unstack()  # 32 to 2048 bytes
if check_least_regret.verdict(least_regret).kind == "right":
    losses = torch.tensor(every_length.to_numpy())
    row = least_regret(losses)
    regret = (losses - losses.amin(0)).amax(1)[row]
    print(f"of the 17: {every_length.index[row]}, at most {regret:.3f} nats from the best")

# %% [markdown]
# **Exercise 2 ★★★ Somebody's favourite.** Say everybody adds up two costs with weights of their
# own, $w$ and $1 - w$, with $0 < w < 1$. Nobody beats (6, 7) among (0, 10), (6, 7) and (10, 0). Is
# it anybody's cheapest, for any $w$? Write `somebodys_favourite(costs)`: `costs` is a tensor (rows,
# 2). Return a tensor of bools, one a row: True if some $w$ makes it the cheapest. No two costs in a
# column are equal, and no three rows lie on a line. Some rows have their turn for very few $w$.


# %% tags=["stub"]
def somebodys_favourite(costs):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def somebodys_favourite(costs):
    first, second = (costs[:, None] - costs[None]).double().unbind(-1)  # row less rival
    slope = first - second  # the row costs no more while w · slope ≤ −second
    bound = -second / torch.where(slope == 0, 1.0, slope)
    most = torch.where(slope > 0, bound, torch.inf).amin(1).clamp(max=1)
    least = torch.where(slope < 0, bound, -torch.inf).amax(1).clamp(min=0)
    never = ((slope == 0) & (second > 0)).any(1)
    return (least < most) & ~never


# %%
check_somebodys_favourite(somebodys_favourite)

# %%
if check_somebodys_favourite.verdict(somebodys_favourite).kind == "right":
    costs = torch.tensor(table[["loss", "bytes"]].to_numpy())
    chosen, front = somebodys_favourite(costs), chooser.undominated(costs)
    print("by loss and bytes, somebody's favourite:", ", ".join(table.index[chosen.numpy()]))
    print("beaten by nobody, and nobody's:", ", ".join(table.index[(front & ~chosen).numpy()]))

# %% [markdown]
# ## Myth check
#
# Guess first. In brackets: what the claim speaks of, and its yardstick.

# %% tags=["plumbing"]
# Three claims
from course_lab.claims import Claim, Myths

myths = Myths(
    {
        "C59": Claim(
            "What reads long texts well pays for it at the trained length.",
            scope="encodings whose loss rises by at most 0.1 nats from 64 bytes to 2048; pays: at "
            "64 bytes clearly more than 0.05 nats behind the best of all 17",
            evidence="shipped results",
            seeds=5,
        ),
        "C60": Claim(
            "At the length it was trained at, no encoding reads better than RoPE.",
            scope="this course's models, five trainings: 64 bytes, both ways, pieces of 256, "
            "source code, ten times the steps; better: the paired 95 % interval is below 0",
            evidence="shipped results",
            seeds=2,
        ),
        "C61": Claim(
            "A relative encoding is at home wherever the text starts.",
            scope="those at doors 2 to 4, untrained, over random words; at home: no weight changes "
            "by more than 1e-4 when all positions move by 999",
            evidence="exact",
        ),
    }
)

# %% tags=["plumbing"]
# The three verdicts
at_64 = {name: {"encoding": name, "read": 64} for name in facts.index}
rises = {
    name: change(trained, at_64[name], {"encoding": name, "read": 2048}) for name in facts.index
}
holding = [name for name in facts.index if not rises[name].above(0.1)]
behind = {name: facts["behind_1"][name] for name in holding}


def rank_correlation(names):
    pairs = pd.DataFrame({"loss": facts.loss[names], "rise": [rises[name].mean for name in names]})
    return pairs.rank().corr().iloc[0, 1]


with_bias = [name for name in facts.index if "bias" in facts.doors[name]]
myths.settle(
    "C59",
    {name: gap.above(0.05) for name, gap in behind.items()},
    "Behind the best at 64 bytes: "
    + ", ".join(f"{name} {gap}" for name, gap in behind.items() if gap.mean > 0)
    + f". Over all {len(rises)} the rank correlation of loss and rise, 1 if both have one order, "
    f"is {rank_correlation(list(rises)):.2f}, and among the {len(with_bias)} with a bias "
    f"{rank_correlation(with_bias):.2f}: no rule either way.",
)
code = larger[(larger.reading == AS_TRAINED) & (larger.corpus != results.corpus.iloc[0])]
trainings = {
    "64 bytes": (trained, 64),
    "both ways": (data.results("both_ways"), 64),
    "pieces of 256": (again[again.length == 256], 256),
    "source code": (code, 64),
    "ten times the steps": (tenfold, 64),
}
better = {}
for training, (rows, read) in trainings.items():
    rivals = [name for name in rows.encoding.unique() if name != "rope"]
    turned = {"encoding": "rope", "read": read}
    gaps = {name: change(rows, turned, {"encoding": name, "read": read}) for name in rivals}
    better[training] = [name for name, gap in gaps.items() if gap.below()]
myths.settle(
    "C60",
    {training: not names for training, names in better.items()},
    "Clearly better than RoPE: "
    + "; ".join(f"{training}: {', '.join(names) or 'none'}" for training, names in better.items())
    + ".",
)
relative = [
    name for name in facts.index if "embed" not in facts.doors[name] and facts.doors[name] != "none"
]
myths.settle(
    "C61",
    {name: facts["shift"][name] <= chooser.ROUNDING for name in relative},
    "FIRE weighs the offset against the query's own place, once that is past a threshold: its "
    f"weights change by up to {facts['shift']['fire']:.3f}.",
)

# %%
myths.table()

# %% [markdown]
# ## In five lines
#
# - No encoding is best: each price that you add saves another.
# - Numbers for each offset ride on a fused kernel as a mask; what asks the word costs.
# - RoPE reads long texts badly; who trains there, cuts, or stretches and trains, hardly pays.
# - ALiBi holds on long texts, and gains nothing.
# - In 2026 one chooses a base, a part of each head, and layers.
#
# **Read next:** layers with RoPE and without, Yang et al. 2025, arXiv 2501.18795; dropping RoPE
# after training, Gelberg et al. 2025, 2512.12167; streams, Xiao et al. 2023, 2309.17453; images,
# Heo et al. 2024, 2403.13298.
#
# **Next:** [lesson 11](11_capstone.ipynb). Or stay: [tasks, the
# ledger](closer/10_in_practice.ipynb), [all 17 on one page](closer/10_two_texts.ipynb).
