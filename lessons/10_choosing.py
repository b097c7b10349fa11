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
# - say what a bias asks of a fast kernel, and prove what ALiBi's comes down to;
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
# LLaMA, Mistral, Qwen, Gemma, SmolLM: most open language models of today use RoPE in their
# attention layers, in all or in most. Lesson 07 trained 17 encodings on texts of 64 bytes and read
# longer ones. Sort them by how much the loss rises at 1024 bytes, the best first.

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
place = facts.rise.rank()["rope"]
print(f"RoPE: place {place:.0f} of {len(facts)}, {facts.rise_16['rope']} nats a byte")
late, early = place > len(facts) - 5, place <= 5
guess.reveal(
    "among the last five" if late else "among the first five" if early else "in the middle"
)

# %% tags=["plumbing"]
# Loss and rise of the 17
import matplotlib.pyplot as plt

from course_utils import plots

# Where a name stands from its dot, in points, where it does not stand on the right
BESIDE = {
    "deberta": (-7, -2, "right"),
    "transformer_xl": (7, -3, "left"),
    "sandwich": (1, -14, "left"),
    "t5": (6, 4, "left"),
    "rope": (7, 3, "left"),
    "xpos": (-6, 4, "right"),
    "cope": (-6, -9, "right"),
    "fire": (6, 1, "left"),
    "shaw": (-6, 2, "right"),
    "learned": (6, 4, "left"),
    "sinusoidal": (-6, -10, "right"),
    "multiplicative": (-6, 5, "right"),
    "none": (-6, 5, "right"),
}
fig, ax = plt.subplots(figsize=(9, 4.6))
for name, row in facts.iterrows():
    look = plots.identity(name)
    ax.plot(row.loss, row.rise, look.marker, color=look.colour, markersize=7)
    x, y, side = BESIDE.get(name, (6, -3, "left"))
    ax.annotate(name, (row.loss, row.rise), (x, y), textcoords="offset points", ha=side, size=9)
ax.set(yscale="log", xlabel="loss at 64 bytes, as in training (nats a byte)", xlim=(1.1, 2.15))
ax.set(ylabel="rise to 1024 bytes (nats)", title="further left and further down is better")
ax.set_yticks([0.01, 0.1, 1], ["0.01", "0.1", "1"])
plots.show(
    fig,
    "The 17 encodings as points, the loss at 64 bytes to the right, the rise to 1024 bytes upwards "
    "on a logarithmic axis. deberta and transformer_xl are lowest on the left; rope has a low loss "
    "and a high rise; alibi a low rise and a higher loss.",
)

# %% [markdown]
# **Look:** RoPE is far to the left, and far up. Are all who build large models wrong, or is this
# the wrong picture?
#
# ## Strike out the beaten
#
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
import pandas as pd

front = undominated_from_scratch(torch.tensor(facts[["loss", "rise"]].to_numpy()))
print("by loss and rise, beaten by nobody:", ", ".join(facts.index[front.numpy()]))

# %% [markdown]
# All others can go? Add two prices: how many numbers an encoding learns, and how many bytes of
# tensors attention makes because of it, in a layer 128 wide with 4 heads, over 64 words.

# %%
from course_utils import measures

prices = {}
for name in facts.index:
    card = measures.passport(name, length=64, batch=1, causal=True, device=device, max_len=64)
    prices[name] = {"learned": card["parameters"], "bytes": card["extra_bytes"]}
table = facts[["loss", "rise"]].join(pd.DataFrame(prices).T)

# %%
guess = widgets.predict(
    "By these four columns, how many of the 17 are beaten by nobody?",
    ["1 or 2", "3 to 6", "7 or more"],
)

# %%
costs = torch.tensor(table.to_numpy())
front = undominated_from_scratch(costs)
assert torch.equal(front, chooser.undominated(costs))
print(f"by all four {int(front.sum())}; beaten:", ", ".join(table.index[~front.numpy()]))
guess.reveal("1 or 2" if front.sum() < 3 else "3 to 6" if front.sum() < 7 else "7 or more")

# %% [markdown]
# Is that because of what the prices say? Two columns of random numbers in their place:

# %%
generator = torch.Generator().manual_seed(0)
counts = []
for _ in range(500):
    noise = torch.rand(17, 2, generator=generator, dtype=torch.float64)
    counts.append(chooser.undominated(torch.cat([costs[:, :2], noise], dim=1)).sum())
print(f"beaten by nobody, on average: {sum(counts) / len(counts):.1f}")

# %% [markdown]
# **Look:** the prices save ten. Even `none` stays: nothing is cheaper than nothing. But two columns
# of *random* numbers save six or seven. With enough columns nobody is beaten. So a table cannot
# choose: it asks what *you* pay for.
#
# ## What a rise costs
#
# How would you get rid of RoPE's rise? You can *cut*: read windows of 64 bytes, each from position
# 0. Then nothing rises, and nothing further back is seen. Or train a little more, on longer texts:

# %%
guess = widgets.predict(
    "RoPE had 1,200 steps at 64 bytes. After 100 more at 512, how much of its rise at 512 is left?",
    ["more than half", "a tenth to a half", "less than a tenth"],
)

# %%
from course_utils.results import AS_TRAINED, change
from course_utils.texts import data

stretched = data.results("stretching").query("reading == @AS_TRAINED and encoding == 'rope'")
home = {"way": "direct", "read": 64, "tuned": 0}
ways = {
    "RoPE at 512, as it is": home | {"read": 512},
    "after 100 more steps at 512": home | {"read": 512, "tuned": 100, "tuned_at": 512},
    "RoPE at 64, 100 more at 64": home | {"tuned": 100, "tuned_at": 64},
}
changes = {way: change(stretched, home, case) for way, case in ways.items()}

# %%
before, after, control = changes.values()
share = after.mean / before.mean
guess.reveal(
    "less than a tenth" if share < 0.1 else "more than half" if share > 0.5 else "a tenth to a half"
)
print("loss less that of RoPE at 64, five seeds; RoPE judged on 7,680 bytes:")
for way, difference in changes.items():
    print(f"    {way:28}", difference)

# %%
print("on 18,432 bytes, its own RoPE beside it:")
results = data.results("extrapolation")
trained = results[results.reading == AS_TRAINED]
for name, n in (("rope", 512), ("alibi", 64), ("alibi", 512)):
    less_rope = change(trained, {"encoding": "rope", "read": 64}, {"encoding": name, "read": n})
    print(f"    {f'{name} at {n}':28}", less_rope)

# %% [markdown]
# **Look:** of what is left, about half is what such steps cost at 64 too. ALiBi holds at 512
# without any of this, but from a higher loss. So the rise counts for those who read far past the
# training and do nothing about it. (After ten times the training two seeds no longer tell ALiBi's
# loss from RoPE's: [closer look](closer/10_in_practice.ipynb).)
#
# ## What a bias costs
#
# Fast attention is a *fused kernel*: one program that never stores all weights, in PyTorch
# `scaled_dot_product_attention`. A *plain* one gets q, k and v, and hides later words. RoPE needs
# no more: it turns q and k before.
#
# ALiBi adds a bias. Written out:

# %%
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import pad
from torch.nn.functional import scaled_dot_product_attention as attend

from course_utils.encodings.functional import alibi_bias, alibi_slopes

q, k, v = torch.randn(3, 1, 4, 64, 32, device=device)  # 4 heads, 64 words, 32 numbers
m, places = alibi_slopes(4).to(device), torch.arange(64, device=device)
offsets = places - places[:, None]  # key less query
bias = alibi_bias(offsets, m).masked_fill(offsets > 0, -torch.inf)
written_out = (q @ k.mT / 32**0.5 + bias).softmax(-1) @ v

# %% [markdown]
# A score gets $-m(i - j)$ more. Its part $-m i$ is the same for all keys of a query, so softmax
# takes it away. What remains is $m j$:
#
# $$\frac{q \cdot k}{\sqrt d} + m j = \frac{q \cdot k + (m \sqrt d)\, j}{\sqrt d}$$
#
# One number more: $m \sqrt d$ in each query, $j$ in each key. (Zeros fill up to 40, as a multiple
# of 8 suits fast kernels.)

# %%
more_of_q = (m * 32**0.5).view(4, 1, 1).expand(1, 4, 64, 1)
more_of_k = places.float().view(64, 1).expand(1, 4, 64, 1)
wider_q = pad(torch.cat([q, more_of_q], dim=-1), (0, 7))
wider_k = pad(torch.cat([k, more_of_k], dim=-1), (0, 7))
with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]):  # fused, or error
    fused = attend(wider_q, wider_k, pad(v, (0, 8)), is_causal=True, scale=32**-0.5)[..., :32]
print("the same, but for rounding:", torch.allclose(fused, written_out, atol=1e-4))

# %% [markdown]
# That needs later words hidden. In bfloat16 it takes two numbers, $j$ past 256 being rounded: the
# rest of $j$ by 256, and what remains. What the others add:

# %%
for kind, rows in facts.groupby("adds", sort=False):
    print(f"{kind + ':':18}", ", ".join(rows.index))

# %% [markdown]
# *Numbers* are the same for every text: one *mask* for all of them, which some kernels take. What
# *asks the word* depends on the words too: a mask for each text, which has to be stored. (Sandwich
# and Transformer-XL can be split like ALiBi, but into as many numbers more as their waves have.)
#
# ## Five questions
#
# So ask what the task needs:

# %%
for question, answers in chooser.QUESTIONS.items():
    print(f"{question + ':':10}", " / ".join(answers))
print("behind:    by how many nats may the loss lie above the lowest?")

# %% [markdown]
# - *Both ways*: nine of the 17 were not trained so here, and drop out.
# - *Longer* texts: out if the loss rises clearly by more than 0.1 nats. If you cut, it does not.
# - *Anywhere*: all positions move by 999, and no weight may change. A stream asks that. (SmolLM2
#   needs its first tokens kept, too: [closer look](closer/10_in_practice.ipynb).)
# - *Plain fused*: at most one number more, in q and k. *Takes a mask*: one for all texts.
# - *Behind*: at the length that you read. *Clearly* is with the whole 95 % interval.
#
# Your turn. Nobody is left below: which answer would you give up? Six encodings can come out
# *first*, each by other answers. Can you find all six?

# %%
from course_lab import explorers

explorers.chooser(texts="4 times as long", attention="plain fused")

# %% [markdown]
# ## The answer in one picture
#
# Six jobs, as we read them; the loss not clearly more than 0.1 nats behind. Put in yours.

# %%
jobs = {
    "chat, code": {"texts": chooser.MAY_CUT, "attention": "plain fused"},
    "a stream": {"texts": chooser.MAY_CUT, "starts": "anywhere"},
    "long, uncut": {"texts": "16 times as long", "attention": "fused, takes a mask"},
    "translation: the encoder": {"reads": "both ways"},
    "search: the encoder": {"reads": "both ways", "attention": "plain fused"},
    "long, uncut, both ways": {"reads": "both ways", "texts": "16 times as long"},
}

# %% tags=["plumbing", "readme", "picture"]
# Who is left for which job, and if not, why not
from course_lab.scoreboards import UNCLEAR, draw_scoreboard

YARDSTICK = 0.1
left = {job: chooser.remaining(YARDSTICK, **answers) for job, answers in jobs.items()}
often = pd.Series([name for names in left.values() for name in names]).value_counts()
order = (
    facts.assign(often=often)
    .fillna({"often": 0})
    .sort_values(["often", "loss"], ascending=[False, True])
)
board = {name: {} for name in order.index}
short = {chooser.MAY_CUT: "may cut", chooser.NUMBERS: "a mask", chooser.BY_WORD: "asks words"}
short |= {chooser.TAKES_MASK: "takes a mask"}
for job, answers in jobs.items():
    struck = chooser.struck(YARDSTICK, **answers)
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
        scores[job] = (not crosses, crosses[0] if crosses else reasons["behind"])
        if not crosses and behind.mean > YARDSTICK:  # not clearly, or it would have a cross
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
plots.show(
    fig,
    "A board of 17 encodings and six jobs, those left for the most jobs on top. A tick, and how "
    "far the loss is behind the best, with half of its 95 % interval, for those left; ≈ for those "
    "left whose mean is above 0.1, but not clearly; else a cross and the first reason: a rise in "
    "nats; weights that move with the start; a mask, or a look at the words; or the loss. Grey: "
    "for causal masks only, or not measured both ways. Left, the lowest loss first: "
    + "; ".join(f"{job}: {', '.join(names) or 'nobody'}" for job, names in left.items())
    + ".",
)

# %%
for nats in (0.05, 0.1, 0.15, 0.2):
    print(f"chat, code, {nats} nats behind:", *chooser.remaining(nats, **jobs["chat, code"]))

# %% [markdown]
# **Look:** read a column to choose, a cross to see what decided; ≈ is a mean above 0.1, but not
# clearly. No row has a tick everywhere. For search RoPE wins against two only, which in so few
# steps hardly learned. And 0.1 is our choice: at 0.2 three more are left for chat. Who comes first
# there stays the same.
#
# One sentence each, if you want no board:

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
import numpy as np

if check_somebodys_favourite.verdict(somebodys_favourite).kind == "right":
    costs = torch.tensor(table[["loss", "bytes"]].to_numpy())
    chosen, front = somebodys_favourite(costs), chooser.undominated(costs)
    print("by loss and bytes, somebody's favourite:", ", ".join(table.index[chosen.numpy()]))
    print("beaten by nobody, and nobody's:", ", ".join(table.index[(front & ~chosen).numpy()]))
    losses, n_bytes = costs[chosen][costs[chosen][:, 1].argsort()].T.numpy()
    above = table.loss["rope"] - np.interp(table.bytes["rope"], n_bytes, losses)
    less_t5 = change(trained, {"encoding": "t5", "read": 64}, {"encoding": "rope", "read": 64})
    print(f"RoPE lies {above:.3f} nats above the edge below; its loss less T5's is {less_t5}")

# %% tags=["plumbing"]
# Loss and bytes as points, and the edge where favourites lie
if check_somebodys_favourite.verdict(somebodys_favourite).kind == "right":
    fig, ax = plt.subplots(figsize=(9, 5))
    edge = costs[chosen][costs[chosen][:, 1].argsort()]
    ax.plot(edge[:, 1], edge[:, 0], color="0.6", linewidth=1)
    for name, (loss, n_bytes), is_chosen in zip(table.index, costs, chosen, strict=True):
        look = plots.identity(name)
        if n_bytes < 1.1e6 and loss < 1.5:
            face = look.colour if is_chosen else "none"
            ax.scatter(n_bytes, loss, s=55, edgecolor=look.colour, facecolor=face)
            below = bool(is_chosen) and n_bytes > 0
            place = {"xytext": (-6, -11), "ha": "right"} if below else {"xytext": (6, 4)}
            ax.annotate(name, (n_bytes, loss), textcoords="offset points", size=9, **place)
    ax.set(xlabel="bytes made at 64 words", ylabel="loss (nats a byte)", xlim=(-3e4, 1.1e6))
    ax.set_ylim(1.2, 1.5)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.set_title("Full: somebody's favourite, at 64 words; all others lie above the edge")
    plots.show(
        fig,
        "Encodings as points, bytes to the right, loss upwards; those with more bytes or a loss "
        "above 1.5 are left out. A line from one favourite to the next is the lower left edge of "
        "all points: "
        + ", ".join(table.index[chosen.numpy()])
        + ". Above it, beaten by nobody and nobody's favourite: "
        + ", ".join(table.index[(front & ~chosen).numpy()])
        + ".",
    )

# %% [markdown]
# **Look:** a favourite is always on the front (why?), but not the other way round. Favourites
# depend on the unit, too: square both costs of the example, (0, 100), (36, 49) and (100, 0), and
# the middle one is the cheapest at equal weights. The front stays. And RoPE lies nearer to the edge
# than five seeds can tell. (The bytes are those of 64 words; at other lengths others are chosen.)

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
    f"{rank_correlation(with_bias):.2f}: too few to tell a rule.",
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
# - Columns save anybody: two random ones do so for six or seven of 15.
# - RoPE reads long texts badly: cut, or train at their length.
# - ALiBi holds on long texts, after short training from a higher loss.
# - To a kernel RoPE is nothing, ALiBi a number or two more, T5 a mask.
#
# **Read next:** RoPE in some layers, Yang et al. 2025, arXiv 2501.18795; dropped after training,
# Gelberg et al. 2025, 2512.12167; images, Heo et al. 2024, 2403.13298.
#
# **Next:** is it sound? [Lesson 11](11_capstone.ipynb). Or: [ten models
# layer by layer, tasks, ledger](closer/10_in_practice.ipynb), [all 17 on one
# page](closer/10_two_texts.ipynb).
