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
# - say why no table of results names one best encoding, and which are never a good choice;
# - answer five questions about your own task, and find the measured rows that decide;
# - explain why most language models use an encoding that reads long texts badly.
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
# LLaMA, Mistral, Qwen, Gemma, SmolLM: nearly every open language model of today turns queries and
# keys, as RoPE does. (The [closer look](closer/10_in_practice.ipynb) has the list, with
# sources.) In lesson 07 we trained 17 encodings at 64 bytes and read 2048. Sort all 17 by how much
# the loss rises, the best first.

# %%
from course_lab import widgets

guess = widgets.predict(
    "Texts 32 times as long as in training, the smallest rise first: where does RoPE stand?",
    ["among the first five", "in the middle", "among the last five"],
)

# %%
from course_lab import chooser

facts = chooser.facts()  # a row an encoding; rises are means over seeds with 95 % intervals
facts["rise"] = [rise.mean for rise in facts.rise_32]
order = facts.sort_values("rise")
place = order.index.get_loc("rope") + 1
print(f"RoPE: place {place} of {len(order)}, {facts.rise_32['rope']} nats a byte")
late, early = place > len(order) - 5, place <= 5
guess.reveal(
    "among the last five" if late else "among the first five" if early else "in the middle"
)
order[["doors", "loss", "rise"]].round(3)

# %% [markdown]
# **Look:** `loss` is at 64 bytes, `rise` from there to 2048. Are all those who build large models
# wrong, or is this the wrong table to choose by?
#
# ## Seventeen at a glance
#
# Here are all of them before training: the scores among 32 identical words, one head each. What we
# see is what position alone contributes.

# %% tags=["plumbing", "readme"]
# The fingerprints
import matplotlib.pyplot as plt
import torch

from course_utils import measures, plots
from course_utils.encodings import create

fig, axes = plt.subplots(3, 6, figsize=(10.5, 5.6))
flat = []
for ax, name in zip(axes.flat, facts.index, strict=False):
    encoding = create(name, d_model=64, n_heads=4, max_len=64)
    scores = measures.fingerprint(encoding, 32)[1].detach()
    visible = torch.ones(32, 32).tril().bool() if encoding.causal else torch.ones(32, 32).bool()
    centred = (scores - scores[visible].mean()).masked_fill(~visible, -torch.inf)
    largest = centred[visible].abs().max().item()
    flat += [name] if largest < 1e-3 else []
    plots.heatmap(ax, centred, title=name, limit=max(largest, 1e-3), signed=True, equal=True)
    ax.set(xticks=[], yticks=[])
axes.flat[-1].axis("off")
plots.show(
    fig,
    "Seventeen small matrices, query by key, each coloured to its own largest score. Stripes "
    "along the diagonal for transformer_xl, t5, rope and xpos; a strong diagonal that fades to "
    "both sides for alibi, kerple, fire, sandwich, sinusoidal and complex_order; patterns without "
    f"such bands for learned, multiplicative and floater. All of one colour: {', '.join(flat)}.",
)

# %% [markdown]
# **Look:** bands along the diagonal mean that among identical words only the offset counts.
# `transformer_xl` and `rope` have them, and stand near opposite ends of the table above. Blank ones
# are not empty: what they add asks the word first, or starts at 0. So pictures tell families apart,
# and not who reads well. Choose by measurements, and by more than one.
#
# ## Strike out the beaten
#
# Add two prices to the table: how many numbers an encoding learns, and how many bytes of tensors
# attention makes because of it. Nothing here is typed in: `passport` runs each one.

# %%
prices = {}
for name in facts.index:
    passport = measures.passport(name, length=64, batch=1, causal=True, max_len=64)
    prices[name] = {"learned": passport["parameters"], "bytes": passport["extra_bytes"]}

# %%
import pandas as pd

table = facts[["loss", "rise"]].join(pd.DataFrame(prices).T)  # lower is better, everywhere
table.sort_values("loss").round(3)  # sort by what you like

# %% [markdown]
# One encoding *beats* another if it is at most as high in every column, and lower in one. Whoever
# is beaten need never be chosen. What is left are the minima of Pareto.


# %%
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
undominated = undominated_from_scratch(costs)
assert torch.equal(undominated, chooser.undominated(costs))
print(
    f"by four columns {int(undominated.sum())} of {len(table)}:",
    ", ".join(table.index[undominated.numpy()]),
)
by_two = chooser.undominated(costs[:, :2])
print(f"by loss and rise alone {int(by_two.sum())}:", ", ".join(table.index[by_two.numpy()]))
guess.reveal(
    "1 or 2" if undominated.sum() < 3 else "3 to 6" if undominated.sum() < 7 else "7 or more"
)

# %% [markdown]
# **Look:** each column that we add saves some. Even `none` stays: nothing is cheaper than nothing.
# A table of results thus cannot choose. It strikes out some, and then asks what *you* pay for.
#
# ## What a bias costs
#
# The two that win by loss alone open door 3: they add a term to each score. A text of $n$ words has
# $n^2$ scores, but only $n$ words to turn. So the price should show as texts grow. Time of the
# whole attention, over that of attention without any encoding, measured here and now:

# %%
from time import perf_counter

from course_utils.attention import MultiHeadAttention

timed = ("sinusoidal", "rope", "alibi", "transformer_xl", "deberta")
lengths = (128, 256, 512, 1024)


def seconds(attention, x):
    begin = perf_counter()
    attention(x)
    return perf_counter() - begin


# %% tags=["nbval-ignore-output", "plumbing"]
# Fifteen rounds in which all take turns; the fastest of each five, so three ratios
import seaborn as sns

ratios = []
for n in lengths:
    x = torch.randn(1, n, 128)
    layers = {
        name: MultiHeadAttention(
            128, 4, create(name, d_model=128, n_heads=4, max_len=n, causal=True), causal=True
        )
        for name in ("none", *timed)
    }
    with torch.no_grad():
        rounds = [[seconds(layer, x) for layer in layers.values()] for _ in range(16)][1:]
    fastest = torch.tensor(rounds).view(3, 5, len(layers)).amin(1)  # (three times, encodings)
    ratios.append(pd.DataFrame(fastest / fastest[:, :1], columns=list(layers)).assign(words=n))
ratios = pd.concat(ratios)  # a row for each of three times at each length
fig, ax = plt.subplots(figsize=(8.5, 3.8))
for name in timed:
    look = plots.identity(name)
    sns.lineplot(
        ratios,
        x="words",
        y=name,
        estimator="median",
        errorbar=("pi", 100),  # a band over all three times
        markeredgecolor=look.colour,
        **look.line(len(lengths)),
        label=name,
        legend=False,
        ax=ax,
    )
ax.axhline(1, color="0.5", linewidth=1)
ax.set(xlabel="words", ylabel="time / time without", title="attention with each encoding")
ax.set_xscale("log", base=2)
ax.set_xticks(lengths, lengths)
ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
plots.show(
    fig,
    "Time over that of attention without an encoding, at 128 to 1024 words: the fastest of five, "
    "three times over, with their range as bands. At 1024: "
    + ", ".join(f"{name} {ratios[ratios.words == 1024][name].median():.1f}" for name in timed)
    + ".",
)

# %% [markdown]
# **Look:** your machine, so your numbers; bands show the range of three measurements. What is done
# once a word matters less and less as texts grow. What is done for each pair stays. And there is a
# second price, of another kind: attention without a bias comes as one fused kernel, on every
# processor. For a bias somebody has to write it.
#
# ## Five questions
#
# So ask what the task needs: four questions with fixed answers, and one with a number.

# %%
for question, answers in chooser.QUESTIONS.items():
    print(f"{question + ':':10}", " / ".join(answers))

# %% [markdown]
# Each answer strikes out those whose measurements do not allow it:
#
# 1. **It reads** earlier words only, or both ways? Then before and after must differ to it.
# 2. **Texts** may be 4 or 32 times as long as in training: the rise must not be clearly above 0.1.
# 3. **They start** anywhere: all positions moved by 999, no weight may change.
# 4. **Attention** must be a plain fused kernel: no bias.
# 5. **Loss** at the trained length: how far behind the best?
#
# All losses are of models that see earlier words only. The
# [closer look](closer/10_in_practice.ipynb) has eight that look both ways.

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
# **Look:** long texts and a plain kernel cannot both be had, among these 17. One of the two wishes
# has to go. Which one would you give up, if you had to train a large language model, and who is
# left then?

# %%
guess = widgets.predict(
    "Texts as long as in training, starting anywhere, plain fused attention, at most 0.1 nats "
    "behind the best. Who is left?",
    ["sinusoidal", "those that turn: RoPE and its kin", "those that price distance: ALiBi and kin"],
)

# %%
left = chooser.remaining(0.1, starts="anywhere", attention="plain fused")
print("left:", ", ".join(left))
turns = {"rotate": "those that turn: RoPE and its kin", "embed": "sinusoidal"}
doors = set(facts.doors[left])
guess.reveal(turns[doors.pop()] if len(doors) == 1 else ", ".join(left))

# %% [markdown]
# The puzzle is solved: give up the long reading. Train at the length that you will read, or stretch
# later and train a little more there, as in lesson 08. Then RoPE's bad place costs nothing. Now
# answer for a task of yours. Can you find answers that leave exactly one?

# %%
from course_lab import explorers

explorers.chooser()

# %% [markdown]
# ## Why so rarely ALiBi?
#
# It reads 32 times its length, learns nothing, and costs little. Four numbers, all at judged bytes
# that are the same:

# %%
from course_utils.results import AS_TRAINED, change
from course_utils.texts import data

results = data.results("extrapolation")
trained = results[results.reading == AS_TRAINED]
rope, alibi = {"encoding": "rope", "read": 64}, {"encoding": "alibi", "read": 64}
alibi_long = {"encoding": "alibi", "read": 2048}
larger = data.results("larger")
tenfold = larger[(larger.reading == AS_TRAINED) & (larger.steps > trained.steps.iloc[0])]
print("at the trained length, ALiBi less RoPE:     ", change(trained, rope, alibi))
later = change(tenfold, rope, alibi)
print(f"the same after ten times the steps, {later.repeats} seeds:", later)
print("ALiBi at 2048, less RoPE cut to its last 64:", change(trained, rope, alibi_long))
print("ALiBi at 2048, less ALiBi at 64:            ", change(trained, alibi, alibi_long))

# %% [markdown]
# **Look:** where both are at home, ALiBi is behind. After ten times the steps two seeds cannot tell
# the gap from none. On long texts ALiBi holds but gains nothing: whoever cuts loses nothing. The
# makers of Falcon report of larger models: rotary had the lower loss and better zero-shot results;
# it was slower, until a kernel of their own closed much of the gap; with a sliding window both read
# long texts alike; fine-tuning RoPE on longer texts "worked fine" ([discussion
# 17](https://huggingface.co/tiiuae/falcon-40b/discussions/17)). BLOOM and MPT chose ALiBi.
# FlashAttention has it [since 2.4](https://github.com/Dao-AILab/flash-attention/issues/661) (2023).

# %% [markdown]
# ## The answer in one picture
#
# Six jobs, and what each asks of position, as we read them. Put in yours.

# %%
jobs = {
    "translation: the encoder": {"reads": "both ways"},
    "passages to answer from": {"reads": "both ways", "starts": "anywhere"},
    "images, enlarged": {"reads": "both ways", "texts": "4 times as long"},
    "summaries of long texts": {"texts": "32 times as long"},
    "code, completed": {"starts": "anywhere", "attention": "plain fused"},
    "an endless stream": {"texts": "32 times as long", "attention": "plain fused"},
}
for job, answers in jobs.items():
    print(f"{job}: {', '.join(chooser.remaining(0.2, **answers)) or 'nobody'}")

# %% tags=["plumbing"]
# Who is left for which job, and if not, why not
from course_lab.scoreboards import draw_scoreboard

causal_only = facts.mirror.isna()
why = {"starts": "moves", "attention": "bias"}
board = {name: {} for name in facts.sort_values("loss").index}
for job, answers in jobs.items():
    struck = chooser.struck(0.2, **answers)
    for name, scores in board.items():
        reasons = [question for question in struck if struck.loc[name, question]]
        times = chooser.TIMES.get(answers.get("texts"), 32)
        numbers = {
            "texts": f"{facts.loc[name, f'rise_{times}'].mean:+.2f}",
            "behind": f"loss {facts.loss[name]:.2f}",
            "reads": "causal only" if causal_only[name] else "no sides",
        }
        entry = (numbers | why)[reasons[0]] if reasons else f"{facts.loss[name]:.2f}"
        scores[job] = (not reasons, entry)
requirements = {job: ", ".join(answers.values()) for job, answers in jobs.items()}
wrapped = {
    job: text.replace(", ", ",\n").replace(" as long", "") for job, text in requirements.items()
}
fig = draw_scoreboard(board, wrapped, "Six jobs, at most 0.2 nats behind")
counts = {job: sum(scores[job][0] for scores in board.values()) for job in jobs}
plots.show(
    fig,
    "A board of 17 encodings and six jobs. A tick and the loss at 64 bytes for those left; else a "
    "cross and the first reason: no sides, since before and after are the same to it; causal masks "
    "only; a rise in nats; weights that move with the start; a bias; or the loss. Left: "
    + "; ".join(f"{job} {count}" for job, count in counts.items())
    + ".",
)

# %% [markdown]
# **Look:** read a column to choose, a cross to see which measurement decided. No row has a tick
# everywhere. For an endless stream nobody is left: real systems cut it to a window (Xiao et al.
# 2023), or pay for a bias. (A place in an image is two numbers. Lesson 05's closer look turns by
# both.)

# %% [markdown]
# ## Exercises
#
# **Exercise 1 ★★ The least regret.** You do not know how long your texts will be. Your *regret*,
# at a length, is how many nats you lose there against the encoding that is best there. Write
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

check_least_regret(least_regret)  # stuck? check_least_regret.hint(1), then 2 and 3

# %% [markdown]
# **Exercise 2 ★★★ Somebody's favourite.** Say everybody adds up two costs with weights of their
# own, $w$ and $1 - w$, with $0 < w < 1$. Nobody beats (6, 7) among (0, 10), (6, 7) and (10, 0). Is
# it anybody's cheapest, for any $w$? Write `somebodys_favourite(costs)`: `costs` is a tensor
# (rows, 2). Return a tensor of bools, one a row: True if some $w$ makes it the cheapest. No two
# costs in a column are equal, and no three rows lie on a line. Some rows have their turn for very
# few $w$.


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
            scope="17 encodings; pays: the rank correlation of the loss at 64 bytes with the rise "
            "to 2048 is below 0, in each seed",
            evidence="shipped results",
            seeds=5,
        ),
        "C60": Claim(
            "An encoding that learns its numbers beats one that has none to learn.",
            scope="each against each at 64 bytes, the trained length; beats: the paired 95 % "
            "interval is below 0",
            evidence="shipped results",
            seeds=5,
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
losses = trained.pivot(index=["seed", "encoding"], columns="read", values="loss")
ranks = {}
for seed, rows in losses.groupby("seed"):
    pair = pd.DataFrame({"loss": rows[64], "rise": rows[2048] - rows[64]})
    ranks[f"seed {seed}"] = pair.rank().corr().iloc[0, 1]
myths.settle(
    "C59",
    {seed: rank < 0 for seed, rank in ranks.items()},
    f"Rank correlations from {min(ranks.values()):.2f} to {max(ranks.values()):.2f}: who does well "
    "at 64 rather does well at 2048 too.",
)
learning = [name for name in facts.index if facts.parameters[name]]
fixed = [name for name in facts.index if not facts.parameters[name] and name != "none"]
wins = {}
for name in learning:
    for rival in fixed:
        pair = {"encoding": rival, "read": 64}, {"encoding": name, "read": 64}
        wins[name, rival] = change(trained, *pair).below()
best = facts.loss[fixed].idxmin()
myths.settle(
    "C60",
    {f"against {rival}": all(wins[name, rival] for name in learning) for rival in fixed},
    f"Of {len(wins)} pairs the learning one wins {sum(wins.values())}. Best without: {best}; it is "
    f"not clearly beaten by {sum(not wins[name, best] for name in learning)} of {len(learning)}.",
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
# - No encoding is best. By losses alone two are beaten by nobody; each price saves others.
# - Doors 1 and 2 leave the kernel plain. Door 3 can read far, and is paid for at each pair.
# - RoPE is chosen by those who train at the length they read.
# - ALiBi does not break on long texts, nor gain from them.
# - Choose by your task, and look at the row that decides.
#
# **Read next:** Xiao et al. 2023, *Efficient Streaming Language Models with Attention Sinks*, arXiv
# 2309.17453; Kazemnejad et al. 2023, on length generalization, arXiv 2305.19466.
#
# **Next:** [lesson 11](11_capstone.ipynb) heals and invents. Or play with the ledger of all claims
# in the [closer look](closer/10_in_practice.ipynb).
