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
# - say what a bias asks of a fast kernel: nothing, one number more, a mask, or a look at each pair;
# - answer five questions about your own task, and find the measured rows that decide.
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
# LLaMA, Mistral, Qwen, Gemma, SmolLM: most open language models of today use RoPE, in all layers or
# in most. Lesson 07 trained 17 encodings on texts of 64 bytes and read longer ones. Sort them by
# how much the loss rises at 1024 bytes, the best first.

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
# because of it, in a layer 128 wide with 4 heads, over 64 words. Lower is better, everywhere.

# %%
import pandas as pd

from course_utils import measures

prices = {}
for name in facts.index:
    card = measures.passport(name, length=64, batch=1, causal=True, device=device, max_len=64)
    prices[name] = {"learned": card["parameters"], "bytes": card["extra_bytes"]}
table = facts[["loss", "rise"]].join(pd.DataFrame(prices).T)
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
# **Look:** the prices save ten. Even `none` stays: nothing is cheaper than nothing. And the beaten
# are beaten in *these* columns only, and in this course's code. It computes sinusoidal's waves anew
# at each call. Were they kept in a table, as `learned` keeps its own, the two would change places:

# %%
kept = table.copy()
kept.loc["sinusoidal", "bytes"] = kept.loc["learned", "bytes"]
front_of_kept = chooser.undominated(torch.tensor(kept.to_numpy()))
print("beaten, the waves kept:", ", ".join(kept.index[~front_of_kept.numpy()]))

# %% [markdown]
# So a table of results cannot choose. It asks what *you* pay for. (Other columns, such as tasks,
# are in the [closer look](closer/10_in_practice.ipynb).)
#
# ## What a bias costs
#
# Fast attention is a *fused kernel*: one program that never stores all weights. A *plain* one takes
# q, k, v, and hides later words. PyTorch's takes a *mask* too: ready-made numbers, added to the
# scores.
#
# RoPE adds nothing. ALiBi, KERPLE, FIRE, T5 and Sandwich add numbers that are the same in every
# text. For reading, a mask will do:

# %%
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import pad
from torch.nn.functional import scaled_dot_product_attention as attend

from course_utils.encodings.functional import alibi_bias, alibi_slopes

FUSED = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]
q, k, v = torch.randn(3, 1, 4, 64, 32, device=device)  # 4 heads, 64 words, 32 numbers
places = torch.arange(64, device=device)
offsets = places - places[:, None]  # key less query
mask = alibi_bias(offsets, alibi_slopes(4).to(device)).masked_fill(offsets > 0, -torch.inf)
written_out = (q @ k.mT / 32**0.5 + mask).softmax(-1) @ v
with sdpa_kernel(FUSED):  # an error if no fused kernel can do it
    assert torch.allclose(attend(q, k, v, attn_mask=mask[None]), written_out, atol=1e-4)

# %% [markdown]
# ALiBi has a trick. What all keys of a query share, softmax takes away. So slope × key's place
# serves as well as slope × offset: one more number in q and k. (Zeros fill up q, k and v to 40
# numbers, as a multiple of 8 suits fast kernels.)

# %%
slope = alibi_slopes(4).to(device).view(4, 1, 1) * 32**0.5  # one a head
wider_q = pad(torch.cat([q, slope.expand(1, 4, 64, 1)], dim=-1), (0, 7))
wider_k = pad(torch.cat([k, places.expand(1, 4, 64)[..., None].float()], dim=-1), (0, 7))
with sdpa_kernel(FUSED):
    wider = attend(wider_q, wider_k, pad(v, (0, 8)), is_causal=True, scale=32**-0.5)
assert torch.allclose(wider[..., :32], written_out, atol=1e-4)

# %% [markdown]
# So a plain kernel can do it, in float32 and with a causal mask. (In bfloat16 such a place is
# rounded; read both ways, the price falls to both sides, and is straight no more.) Shaw,
# Transformer-XL, DeBERTa and CoPE *ask the word*: what they add depends on the words, and is
# computed for each pair of each text. In the table above each of these four makes over five times
# RoPE's bytes. (Their time on your machine: the closer look.)
#
# ## Five questions
#
# So ask what the task needs:

# %%
for question, answers in chooser.QUESTIONS.items():
    print(f"{question + ':':10}", " / ".join(answers))

# %% [markdown]
# Each answer strikes out some. *Both ways*: nine of the 17 were not trained so here, and drop out.
# *Longer* texts: the loss must not rise clearly by more than 0.1 nats; a text that is cut does not
# rise. *Anywhere*: all positions move by 999, and no weight may change. *Plain fused*: q and k may
# get one number more, in float32. The fifth question is the loss, at the length that is read: not
# clearly further behind the best than so many nats.

# %%
guess = widgets.predict(
    "Earlier words only, plain fused attention, texts four times as long, any loss will do: how "
    "many are left?",
    ["nobody", "one or two", "three or more"],
)

# %%
left = chooser.remaining(texts="4 times as long", attention="plain fused")
print("left:", ", ".join(left) or "nobody")
guess.reveal("nobody" if not left else "one or two" if len(left) < 3 else "three or more")

# %% [markdown]
# **Look:** ALiBi, by its trick. RoPE is out, as its loss rises.
#
# ## So why so rarely ALiBi?
#
# A long text can also be cut, and RoPE trained a little more, or stretched first (lesson 08). The
# loss, less that of RoPE at 64 bytes, which is what a cut text gets; five seeds:

# %% tags=["plumbing"]
# Ways to read 512 bytes, and a control
from course_utils.results import AS_TRAINED, change
from course_utils.texts import data

results = data.results("extrapolation")
trained = results[results.reading == AS_TRAINED]
stretched = data.results("stretching").query("reading == @AS_TRAINED and encoding == 'rope'")
home, tuned_on = {"way": "direct", "read": 64, "tuned": 0}, {"tuned": 100, "tuned_at": 512}
ways = {
    "RoPE at 512, as if nothing were": {"way": "direct", "read": 512, "tuned": 0},
    "RoPE at 512, 100 more steps there": {"way": "direct", "read": 512} | tuned_on,
    "RoPE at 512, YaRN and these steps": {"way": "YaRN", "factor": 8, "read": 512} | tuned_on,
    "RoPE at 64, 100 more steps there": {"way": "direct", "read": 64, "tuned": 100, "tuned_at": 64},
}
for way, case in ways.items():
    print(f"{way:34}", change(stretched, home, case))
rope = {"encoding": "rope", "read": 64}
for n in (64, 512):
    print(f"{f'ALiBi at {n}':34}", change(trained, rope, {"encoding": "alibi", "read": n}))

# %% [markdown]
# **Look:** 100 steps mend nearly all, with YaRN or without, and about half of the rest is what such
# steps cost at 64 too. ALiBi holds, but from a higher loss, after this short training. (It was not
# trained on.) Transformer-XL, T5 and Sandwich hold from losses about like RoPE's, but ask the
# word or want a mask. Why not xPos? That this table cannot say.
#
# ## What a cut costs
#
# To our small models a cut is free: none clearly gains from bytes beyond 64 (lesson 07). SmolLM2
# reads 2,048 tokens and sees the last 256, or the first four and the last 252 (arXiv 2309.17453).
# The loss from token 512 on, less that with all in sight:

# %%
streams = data.results("real_streams")
late = streams[streams["first"] >= 512].groupby(["way", "seed"]).loss.mean().reset_index()
for way in ("the last 256", "first 4 kept"):
    print(f"{way}: {change(late, {'way': 'as trained'}, {'way': way})} nats a token")

# %% [markdown]
# **Look:** here a bare window is clearly worse. Four first tokens mend most of it: many heads use
# them as a *sink* of attention. What is left is not clear over three texts; but it is no longer
# clear that a cut is free.
#
# Now you. These six come out first by some answers, with the slider at 0.2:

# %% tags=["plumbing"]
# Who comes out first, over all answers to the first four questions
from itertools import product

tops = set()
for case in product(*chooser.QUESTIONS.values()):
    tops |= set(chooser.remaining(0.2, **dict(zip(chooser.QUESTIONS, case, strict=True)))[:1])
assert len(tops) == 6
print(", ".join(sorted(tops)))

# %% [markdown]
# Can you bring each to the top?

# %%
from course_lab import explorers

explorers.chooser()

# %% [markdown]
# ## Would more training say the same?
#
# 1,200 steps are few. Five encodings were trained for ten times as many, two seeds, some 19 times
# through their text.

# %% tags=["plumbing"]
# Each seed a dot, lines through the means
import matplotlib.pyplot as plt

from course_utils import plots
from course_utils.plots.line_ends import LineEnds

larger = data.results("larger")
longer = larger[(larger.reading == AS_TRAINED) & (larger.corpus == results.corpus.iloc[0])]
trainings = {"1,200 steps": trained, "12,000 steps": longer[longer.length == 64]}
names = list(trainings["12,000 steps"].encoding.unique())
panels = {"loss at 64 bytes": {}, "its rise to 256 bytes": {}}
for title, rows in trainings.items():
    losses = rows.pivot(index=["encoding", "seed"], columns="read", values="loss").loc[names]
    panels["loss at 64 bytes"][title] = losses[64]
    panels["its rise to 256 bytes"][title] = losses[256] - losses[64]
fig, axes = plt.subplots(1, 2, figsize=(10, 3.8))
for ax, (title, columns) in zip(axes, panels.items(), strict=True):
    curves = []
    for name in names:
        look = plots.identity(name)
        means = [column[name].mean() for column in columns.values()]
        curves += ax.plot((0, 1), means, **look.line(2))
        for place, column in enumerate(columns.values()):
            seeds = column[name]
            ax.plot([place] * len(seeds), seeds, ".", color=look.colour, alpha=0.5)
    ax.set(title=title, xlim=(-0.1, 1.05))
    ax.set_xticks((0, 1), list(columns), fontsize=9)
    LineEnds(ax, curves, names)
axes[0].set_ylabel("nats a byte")
plots.show(
    fig,
    "Two panels, 1,200 steps on the left of each and 12,000 on the right, a line an encoding and a "
    "dot a seed. Left, the loss at 64 bytes: the lines meet within a tenth of a nat, and that of "
    "none comes down from far above. Right, the rise from 64 to 256 bytes: the lines of rope and "
    "none climb, and those of alibi, t5 and transformer_xl stay near 0.",
)

# %% tags=["plumbing"]
# Differences from RoPE, and the rises
last = trainings["12,000 steps"]
print("after 12,000 steps, the loss less RoPE's:")
for name in names:
    if name != "rope":
        print(f"    {name:14}", change(last, rope, {"encoding": name, "read": 64}))
print("the rise to 256 bytes, after 1,200 and after 12,000 steps:")
for name in names:
    at_64, at_256 = ({"encoding": name, "read": n} for n in (64, 256))
    rises = [str(change(rows, at_64, at_256)) for rows in trainings.values()]
    print(f"    {name:14}", "   ".join(rises))

# %% [markdown]
# **Look:** the losses meet, so their order is evidence about short training: after 12,000 steps two
# seeds tell nobody from RoPE. The rises part. What strikes RoPE out is larger than before, and
# `alibi`, `t5` and `transformer_xl` stay below a tenth in both seeds.
#
# ## The answer in one picture
#
# Six jobs, as we read them; the loss not clearly more than 0.2 nats behind. Put in yours.

# %%
jobs = {
    "chat, code": {"texts": chooser.MAY_CUT, "attention": "plain fused"},
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
from course_lab.scoreboards import UNCLEAR, draw_scoreboard

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
        if not crosses and behind.mean > 0.2:  # not clearly, or it would have a cross
            scores[job] = (UNCLEAR, reasons["behind"])
        if not fact["measured"]:
            scores[job] = (None, reasons["reads"])
measured = {
    job: int(chooser.facts(answers.get("reads", chooser.CAUSAL))["measured"].sum())
    for job, answers in jobs.items()
}
requirements = {
    job: ",\n".join(short.get(text, text.replace(" as long", "")) for text in answers.values())
    + f")\n(of {measured[job]}"
    for job, answers in jobs.items()
}
title = "Six jobs: who is left, and how far behind the best"
fig = draw_scoreboard(board, requirements, title, totals=False)
counts = {job: sum(scores[job][0] is True for scores in board.values()) for job in jobs}
plots.show(
    fig,
    "A board of 17 encodings and six jobs. A tick, and how far the loss is behind the best, with "
    "half of its 95 % interval, for those left; ≈ for those left whose mean is above 0.2, but not "
    "clearly; else a cross, the first reason and how many more there are: a rise in nats; weights "
    "that move with the start; a mask or a look at the words, where the kernel takes none; or the "
    "loss. Grey: for causal masks only, or not measured both ways. Ticks: "
    + "; ".join(f"{job} {count} of {measured[job]}" for job, count in counts.items())
    + ".",
)

# %% [markdown]
# **Look:** read a column to choose, a cross to see which measurement decided; +1 is one more
# reason, ≈ is not clear. No row has a tick everywhere. For search RoPE wins against two only, which
# in so few steps hardly learned. One sentence each, if you want no board:

# %%
for kind, default in chooser.DEFAULTS.items():
    print(f"{kind}: {default.sentence}")

# %% [markdown]
# ## Exercises
#
# **Exercise 1 ★ The least regret.** You do not know how long your texts will be. Your *regret*, at
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
    among = {
        "of the 17": every_length.index,
        "plain fused": chooser.remaining(attention="plain fused"),
    }
    for who, names in among.items():
        losses = torch.tensor(every_length.loc[names].to_numpy())
        row = least_regret(losses)
        regret = (losses - losses.amin(0)).amax(1)[row]
        print(f"{who}: {names[row]}, at most {regret:.3f} nats from the best of these")

# %% [markdown]
# **Exercise 2 ★★★ Somebody's favourite.** Say everybody adds up two costs with weights of their
# own, $w$ and $1 - w$, with $0 < w < 1$. Nobody beats (6, 7) among (0, 10), (6, 7) and (10, 0). Is
# it the cheapest for any $w$? Write `somebodys_favourite(costs)`: `costs` is a tensor (rows, 2).
# Return a tensor of bools, one a row: True if some $w$ makes it the cheapest.
#
# The first line is there: how much *more* each row costs than each rival. A row is no dearer than
# a rival while $w a + (1 - w) b \le 0$, so each rival sets a bound on $w$. In the check some rows
# have their turn for very few $w$; no two costs in a column are equal, no three rows lie on a line.


# %% tags=["stub"]
def somebodys_favourite(costs):
    a, b = (costs[:, None] - costs).double().unbind(-1)  # (row, rival); 0 for a row and itself
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def somebodys_favourite(costs):
    a, b = (costs[:, None] - costs).double().unbind(-1)  # (row, rival); 0 for a row and itself
    bound = -b / torch.where(a == b, 1.0, a - b)  # no dearer while w · (a − b) ≤ −b
    most = torch.where(a > b, bound, torch.inf).amin(1).clamp(max=1)
    least = torch.where(a < b, bound, -torch.inf).amax(1).clamp(min=0)
    never = ((a == b) & (b > 0)).any(1)
    return (least < most) & ~never


# %%
check_somebodys_favourite(somebodys_favourite)

# %%
if check_somebodys_favourite.verdict(somebodys_favourite).kind == "right":
    costs = torch.tensor(table[["loss", "bytes"]].to_numpy())
    chosen, front = somebodys_favourite(costs), chooser.undominated(costs)
    print("by loss and bytes, somebody's favourite:", ", ".join(table.index[chosen.numpy()]))
    print("beaten by nobody, and nobody's:", ", ".join(table.index[(front & ~chosen).numpy()]))

# %% tags=["plumbing"]
# Loss and bytes as points, and the edge where favourites lie
if check_somebodys_favourite.verdict(somebodys_favourite).kind == "right":
    fig, ax = plt.subplots(figsize=(8.5, 4.2))
    edge = costs[chosen][costs[chosen][:, 1].argsort()]
    ax.plot(edge[:, 1], edge[:, 0], color="0.6", linewidth=1)
    for name, (loss, n_bytes), is_chosen in zip(table.index, costs, chosen, strict=True):
        look = plots.identity(name)
        if n_bytes < 1.1e6:
            face = look.colour if is_chosen else "none"
            ax.scatter(n_bytes, loss, s=55, edgecolor=look.colour, facecolor=face)
            below = bool(is_chosen) and n_bytes > 0
            place = {"xytext": (-6, -11), "ha": "right"} if below else {"xytext": (6, 4)}
            ax.annotate(name, (n_bytes, loss), textcoords="offset points", size=9, **place)
    ax.set(xlabel="bytes made at 64 words", ylabel="loss (nats a byte)", xlim=(-3e4, 1.1e6))
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.set_title("full: somebody's favourite; all others lie above the edge")
    plots.show(
        fig,
        "Each encoding as a point, bytes to the right, loss upwards, three with more bytes left "
        "out. A line from one favourite to the next is the lower left edge of all points: "
        + ", ".join(table.index[chosen.numpy()])
        + ". Just above it, beaten by nobody and nobody's favourite: "
        + ", ".join(table.index[(front & ~chosen).numpy()])
        + ".",
    )

# %% [markdown]
# ## Myth check
#
# Guess first. In brackets: what the claim speaks of, and its yardstick. One case against it makes a
# claim false.

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
        "C64": Claim(
            "A bias by distance cannot tell what stands before a word from what stands after it.",
            scope="ALiBi, KERPLE and Sandwich, untrained, in a layer that looks both ways, 16 "
            "random words; cannot: a mirrored text gets the mirrored output, to 1e-4",
            evidence="exact",
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
mirror = facts["mirror"][["alibi", "kerple", "sandwich"]]
myths.settle(
    "C64",
    {name: largest <= chooser.ROUNDING for name, largest in mirror.items()},
    "Both sides get the same price, so the mirrored output differs by rounding only; with RoPE by "
    f"up to {facts['mirror']['rope']:.2f}. Behind a causal mask there is no after.",
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
# - No encoding is best: a table strikes out the beaten, and you say what you pay for.
# - In float32 ALiBi is one number more in q and k, T5 a mask.
# - RoPE reads long texts badly: cut them, or train at their length.
# - ALiBi holds on long texts, after short training from a higher loss.
# - What a cut costs depends on how much of its context a model uses.
#
# **Read next:** RoPE in some layers, Yang et al. 2025, arXiv 2501.18795; dropped after training,
# Gelberg et al. 2025, 2512.12167; images, Heo et al. 2024, 2403.13298.
#
# **Next:** [lesson 11](11_capstone.ipynb). Or: [ten models layer by layer, tasks,
# ledger](closer/10_in_practice.ipynb), [all 17 on one page](closer/10_two_texts.ipynb).
