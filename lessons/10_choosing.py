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
# - strike out of a table of results whoever is beaten, and say why that seldom leaves one;
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
# LLaMA, Mistral, Qwen, Gemma, SmolLM: these language models use RoPE in their attention layers, in
# all or in most. Lesson 07 trained 17 encodings on texts of 64 bytes and read longer ones, in
# windows that overlap by half; the second halves are judged. Sort them by how much the loss rises
# at 1024 bytes, the smallest rise first.

# %%
from course_lab import widgets

guess = widgets.predict(
    "Texts 16 times as long as in training: where does RoPE stand?",
    ["among the first five", "in the middle", "among the last five"],
)

# %% [markdown]
# <details><summary>The 17, a few words each</summary>
#
# *No door:* `none`.
#
# *Embeddings:* `sinusoidal` waves, added; `learned` a table's row, added; `multiplicative` one as a
# factor (our own experiment); `floater` a path whose slope a network learns, added in each layer;
# `complex_order` turns words, each at its own speeds.
#
# *Queries and keys:* `rope` turns them; `xpos` too, and scores fade with distance.
#
# *Scores, by position:* `alibi` a straight price; `kerple` a learned logarithm; `sandwich` a sum of
# cosines; `t5` a number for each bucket; `fire` a network of the share of the way back.
#
# *Scores, by word too:* `shaw` learned vectors, in values also; `transformer_xl` waves; `deberta` a
# table that query and key ask; `cope` counts keys that matter.
#
# </details>

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
    "sandwich": (2, -14, "left"),
    "t5": (6, 4, "left"),
    "rope": (9, 3, "left"),
    "xpos": (-6, 4, "right"),
    "cope": (-6, -9, "right"),
    "fire": (6, 1, "left"),
    "shaw": (-6, 2, "right"),
    "learned": (6, 4, "left"),
    "sinusoidal": (-6, -10, "right"),
    "multiplicative": (-8, 5, "right"),
    "none": (-8, -9, "right"),
}
EDGE = 1.56  # nats; whoever has a higher loss stands here
fig, ax = plt.subplots(figsize=(9, 4.6))
for name, row in facts.iterrows():
    look = plots.identity(name)
    size = 13 if name == "rope" else 7
    at = (min(row.loss, EDGE), row.rise)
    ax.plot(*at, look.marker, color=look.colour, markersize=size)
    x, y, side = BESIDE.get(name, (6, -3, "left"))
    label = name if row.loss < EDGE else f"{name}, at {row.loss:.2f} →"
    ax.annotate(label, at, (x, y), textcoords="offset points", ha=side, size=9)
ax.set(yscale="log", xlabel="loss at 64 bytes, as in training (nats a byte)", xlim=(1.19, 1.58))
ax.set(ylabel="rise to 1024 bytes (nats)")
ax.set_title("RoPE, drawn large: a low loss, a high rise. Lower left is better")
ax.set_yticks([0.01, 0.1, 1], ["0.01", "0.1", "1"])
plots.show(
    fig,
    "The 17 encodings as points, the loss at 64 bytes to the right, the rise to 1024 bytes upwards "
    "on a logarithmic axis; none and multiplicative, whose loss is higher, at the right edge. "
    "deberta and transformer_xl are lowest on the left; rope has a low loss "
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
# All others can go? Add two costs, of a layer 128 wide with 4 heads: how many numbers an encoding
# learns, and how many bytes of tensors attention makes because of it, over 64 words, as this course
# computes it.

# %%
from course_utils import measures

extra = {}
for name in facts.index:
    card = measures.passport(name, length=64, batch=1, causal=True, device=device, max_len=64)
    extra[name] = {"learned": card["parameters"], "bytes": card["extra_bytes"]}
table = facts[["loss", "rise"]].join(pd.DataFrame(extra).T)

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
# **Look:** the two costs save ten. Even `none` stays: nothing is cheaper than nothing. Is that
# because of what the costs say? Shuffle them among the 17:

# %%
generator = torch.Generator().manual_seed(0)
counts = []
for _ in range(500):
    shuffled = costs[torch.randperm(17, generator=generator), 2:]
    counts.append(int(chooser.undominated(torch.cat([costs[:, :2], shuffled], dim=1)).sum()))
as_many = sum(count >= front.sum() for count in counts)
print(f"beaten by nobody, shuffled: {sum(counts) / len(counts):.1f} on average; as many as")
print(f"unshuffled, or more, in {as_many} of {len(counts)} shuffles")

# %% [markdown]
# **Look:** columns save some whatever they say; in their own order these save more than shuffled.
# Among those left the table does not choose: that depends on what *you* pay for.
#
# ## What a rise costs
#
# RoPE's rise goes if you *cut*: windows of 64 bytes, each from position 0, that overlap by half.
# Each byte is read twice, and nothing further back is seen. Or train on (lesson 08):

# %%
from course_utils.results import AS_TRAINED, change
from course_utils.texts import data

rope = data.results("stretching").query("reading == @AS_TRAINED and way == 'direct'")
rope = rope[rope.encoding == "rope"]
untouched = {"tuned": 0, "read": 64}
at_64, at_512 = {"tuned": 100, "tuned_at": 64}, {"tuned": 100, "tuned_at": 512}
print("RoPE, less its loss at 64 bytes as trained; five seeds:")
print(
    "    as trained, read at 512             ", change(rope, untouched, {"tuned": 0, "read": 512})
)
print("    100 more steps at 64, read at 64    ", change(rope, untouched, {**at_64, "read": 64}))
print("    100 more steps at 512, read at 512  ", change(rope, untouched, {**at_512, "read": 512}))
print("    100 more steps at 512, read at 1024 ", change(rope, untouched, {**at_512, "read": 1024}))

# %% [markdown]
# RoPE's rise is nearly mended, as far as it trained on. And are losses settled? These are short
# trainings. Here are some with ten times the steps, the text read some 19 times over. (`steep` is
# ALiBi with the slopes 2, 1, ½, ¼; lesson 06 drew it, and `tents`.)

# %%
usual, larger, drawn = map(data.results, ("extrapolation", "larger", "extrapolation_prices"))
runs = pd.concat([usual, larger, drawn[(drawn.n_heads == 4) & (drawn.steps > 300)]])
runs = runs[(runs.reading == AS_TRAINED) & (runs.length == 64) & (runs.corpus == usual.corpus[0])]
for steps, rows in runs.groupby("steps"):
    print(f"{steps:,} steps: loss at 64 bytes, by seed; mean rise to 1024")
    for name in ("none", "rope", "t5", "transformer_xl", "alibi", "steep", "tents"):
        losses = rows[rows.encoding == name].pivot(index="seed", columns="read", values="loss")
        at_64, rise = losses[64], (losses[1024] - losses[64]).mean().round(2)
        print(f"    {name:14}", *(f"{loss:.2f}" for loss in at_64), f"   {rise + 0.0:+.2f}")

# %% [markdown]
# **Look:** after 1,200 steps `none` is far above RoPE at 64 bytes, and `tents` would beat all 17 in
# both columns, by the means. After 12,000 the order is another: T5's mean is the lowest, `none` is
# within 0.1 of RoPE in both runs, `tents` are worse. More training, or one text too often? We
# cannot tell. RoPE's rise stays.
#
# ## What a bias asks
#
# Fast attention is a *fused kernel*: one program that never stores all weights. PyTorch's
# `scaled_dot_product_attention` uses one where it can. A *plain* call gets q, k and v, and hides
# later words. RoPE needs no more: it turns both before. ALiBi adds a bias to each score, less by
# $m$ for each step back.

# %%
guess = widgets.predict(
    "ALiBi by a plain call: how many numbers more does each q and k need?",
    ["one", "as many as there are words", "no number will do: the bias has to be passed"],
)

# %% [markdown]
# Written out, and by a plain call:

# %%
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import pad
from torch.nn.functional import scaled_dot_product_attention as attend

from course_utils.encodings.functional import alibi_bias, alibi_slopes

q, k, v = torch.randn(3, 1, 4, 64, 32, device=device)  # 4 heads, 64 words, 32 numbers
m, positions = alibi_slopes(4).to(device), torch.arange(64, device=device)
offsets = positions - positions[:, None]  # key less query
bias = alibi_bias(offsets, m).masked_fill(offsets > 0, -torch.inf)
written_out = (q @ k.mT / 32**0.5 + bias).softmax(-1) @ v

# %%
more_of_q = (m * 32**0.5).view(4, 1, 1).expand(1, 4, 64, 1)
more_of_k = positions.float().view(64, 1).expand(1, 4, 64, 1)
wider_q = pad(torch.cat([q, more_of_q], dim=-1), (0, 7))  # zeros up to 40: kernels like eights
wider_k = pad(torch.cat([k, more_of_k], dim=-1), (0, 7))
with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]):  # fused, or error
    fused = attend(wider_q, wider_k, pad(v, (0, 8)), is_causal=True, scale=32**-0.5)[..., :32]
same = torch.allclose(fused, written_out, atol=1e-4)
print("the same, but for rounding:", same)
guess.reveal("one" if same else "no number will do: the bias has to be passed")

# %% [markdown]
# **Look:** the bias is $-m(i - j)$. Its part $-m i$ is the same for all keys of a query, so softmax
# takes it away. What remains is $m j$, which goes on rising for later words: they must be hidden.
#
# $$\frac{q \cdot k}{\sqrt d} + m j = \frac{q \cdot k + (m \sqrt d)\, j}{\sqrt d}$$
#
# One number: $m \sqrt d$ in each query, $j$ in each key. But in bfloat16 $j$ is rounded past 256:

# %% tags=["plumbing"]
# The error in bfloat16, at 512 words
q_512, k_512, v_512 = torch.randn(3, 1, 4, 512, 32, device=device)
j = torch.arange(512.0, device=device)
exact = attend(
    q_512, k_512, v_512, alibi_bias(j - j[:, None], m).masked_fill(j > j[:, None], -torch.inf)
)
for numbers, parts in {
    "one, j": [j],
    "two, 256 ⌊j / 256⌋ and the rest": [j - j % 256, j % 256],
}.items():
    of_k = torch.stack(parts, dim=-1).expand(1, 4, -1, -1)
    of_q = (m * 32**0.5).view(1, 4, 1, 1).expand(of_k.shape)
    wide = [torch.cat(pair, dim=-1).bfloat16() for pair in ((q_512, of_q), (k_512, of_k))]
    out = attend(*wide, v_512.bfloat16(), is_causal=True, scale=32**-0.5)
    print(f"{numbers}: the output is off by up to {(out - exact).abs().max():.2f}")

# %% [markdown]
# So: one number; in bfloat16 two, up to 65,536 words. (Sandwich and Transformer-XL can be split
# too, into many more.)
#
# What the others add:

# %%
for kind, rows in facts.groupby("adds", sort=False):
    print(f"{kind + ':':18}", ", ".join(rows.index))

# %% [markdown]
# *Numbers* are the same for every text: once trained, a bias made once, which this function takes
# through its argument `attn_mask`. For what *asks the word* that would be a new bias for each text,
# and `shaw` adds to the sum too. (FlexAttention takes a rule instead; our questions are about this
# function.)
#
# ## Five questions
#
# So ask what the task needs:

# %%
for question, answers in chooser.QUESTIONS.items():
    print(f"{question + ':':10}", " / ".join(answers))
print("behind:    by how many nats may the loss lie above the best of those left so far?")

# %% [markdown]
# - *Both ways*: nine of the 17 were not trained so here, and drop out.
# - *Longer* texts: out if the loss rises clearly by more than 0.1 nats. If you cut, it does not.
# - *Anywhere*: all positions move by 999, and no weight may change. A cache asks that if it forgets
#   old words while positions run on.
# - *Plain fused*: at most one number more in q and k, two in bfloat16. *Takes a bias*: one for all
#   texts.
# - *Behind*: at the length that you read. *Clearly* is with the whole 95 % interval.
#
# Your turn. Nobody is left below: which answer would you give up? Six encodings can come out
# *first*, each by other answers. Can you find all six?

# %%
from course_lab import explorers

explorers.chooser(reads="both ways", texts="4 times as long", attention="plain fused")

# %% [markdown]
# ## The answer in one picture
#
# Six jobs, as we read them; the loss not clearly more than 0.1 nats behind. Put in yours. (Losses
# both ways are of other models: 15 % of the bytes are hidden, and judged; half the learning rate.)

# %%
jobs = {
    "chat, code": {"texts": chooser.MAY_CUT, "attention": "plain fused"},
    "positions run on": {"texts": chooser.MAY_CUT, "starts": "anywhere"},
    "long, uncut": {"texts": "16 times as long", "attention": "fused, takes a bias"},
    "long, uncut, plain": {"texts": "16 times as long", "attention": "plain fused"},
    "translation: the encoder": {"reads": "both ways"},
    "search: the encoder": {"reads": "both ways", "attention": "plain fused"},
}

# %% tags=["plumbing", "readme", "picture"]
# Who is left for which job, and if not, why not
import textwrap

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
short = {chooser.MAY_CUT: "may cut", chooser.NUMBERS: "a bias", chooser.BY_WORD: "asks words"}
short |= {chooser.TAKES_BIAS: "takes a bias"}
for job, answers in jobs.items():
    struck = chooser.struck(YARDSTICK, **answers)
    known = chooser.facts(answers.get("reads", chooser.CAUSAL))
    times = chooser.TIMES[answers.get("texts", "as in training")]
    gaps = chooser.behind_best(**answers)
    for name, scores in board.items():
        fact = known.loc[name]
        causal_only = pd.isna(fact["mirror"])
        behind = gaps[name]
        reasons = {"reads": "causal only" if causal_only else "not measured", "starts": "moves"}
        if fact["measured"]:
            reasons["texts"] = f"rises {fact[f'rise_{times}'].mean:.2f}"
            reasons["behind"] = f"{behind.mean:+.2f} ± {behind.margin:.2f}"
            if name == left[job][0]:
                reasons["behind"] = "the best left"
        reasons["attention"] = short.get(fact["adds"])
        crosses = [reasons[question] for question in struck if struck.loc[name, question]]
        scores[job] = (not crosses, crosses[0] if crosses else reasons["behind"])
        if not crosses and behind.mean > YARDSTICK:  # not clearly, or it would have a cross
            scores[job] = (UNCLEAR, reasons["behind"])
        if not fact["measured"]:
            scores[job] = (None, reasons["reads"])
measured, seeds = {}, {}
for job, answers in jobs.items():
    known = chooser.facts(answers.get("reads", chooser.CAUSAL))
    measured[job] = int(known["measured"].sum())
    seeds[job] = max(known["behind_1"][known["measured"]], key=lambda gap: gap.repeats).repeats
requirements = {
    job: ",\n".join(short.get(text, text.replace(" as long", "")) for text in answers.values())
    + f")\n({measured[job]} measured,\n{seeds[job]} seeds"
    for job, answers in jobs.items()
}
nowhere = [name for name in board if name not in often]
shown = {name: board[name] for name in board if name in often}
short_runs = runs[runs.steps == usual.steps.iloc[0]]  # with the drawn prices
shown["steep"] = {}
for job, answers in jobs.items():
    if answers.get("reads", chooser.CAUSAL) != chooser.CAUSAL:
        shown["steep"][job] = (None, "not measured")
        continue
    read = chooser.times_read(chooser.TIMES[answers.get("texts", "as in training")])
    of_best, of_steep = ({"encoding": name, "read": read} for name in (left[job][0], "steep"))
    behind = change(short_runs, of_best, of_steep)
    shown["steep"][job] = (not behind.above(YARDSTICK), f"{behind.mean:+.2f} ± {behind.margin:.2f}")
title = (
    "Left for which job, and how far behind the best left (nats). "
    f"Left for no job: {', '.join(nowhere)}"
)
fig = draw_scoreboard(shown, requirements, "\n".join(textwrap.wrap(title, 100)), totals=False)
plots.show(
    fig,
    "A board of the encodings that are left for some of six jobs, those left for the most on top. "
    "A tick, and how far the loss is behind the best left, with half of its 95 % interval, for "
    "those left; ≈ for those left whose mean is above 0.1, but not clearly; else a cross and the "
    "first reason: a rise in nats; weights that move with the start; a bias, or a look at the "
    "words; or the loss. Grey: for causal masks only, or not measured both ways. Last row: steep, "
    "which is none of the 17. Left, the lowest loss first: "
    + "; ".join(f"{job}: {', '.join(names) or 'nobody'}" for job, names in left.items())
    + ".",
)

# %% [markdown]
# **Look:** read a column to choose, a cross to see what decided. ≈ is a mean above 0.1, but not
# clearly. No row of the 17 has a tick everywhere.
#
# For chat RoPE and `xpos` are left: five seeds cannot tell them apart. Long, uncut, with a plain
# kernel: ALiBi alone of the 17. But `steep`, ALiBi with other slopes, is left for each of the four
# causal jobs, after this short training. Both ways `kerple`, `alibi` and the two of door 1 lie more
# than 0.5 nats behind. A published search encoder had ALiBi all the same, Jina Embeddings 2 (arXiv
# 2310.19923). The next one has RoPE (2409.10173).
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
trained = usual[usual.reading == AS_TRAINED]
every_length = trained.groupby(["encoding", "read"]).loss.mean().unstack()  # 32 to 2048 bytes
if check_least_regret.verdict(least_regret).kind == "right":
    among = {
        "of the 17": every_length.index,
        "plain fused": chooser.remaining(attention="plain fused"),
        "of two": ["kerple", "shaw"],
    }
    for who, names in among.items():
        losses = torch.tensor(every_length.loc[names].to_numpy())
        row, lowest_worst = least_regret(losses), int(losses.amax(1).argmin())
        regret = (losses - losses.amin(0)).amax(1)
        print(f"{who}: {names[row]}, at most {regret[row]:.3f} nats from the best of these")
    print(f"(the smallest worst loss: {names[lowest_worst]}, up to {regret[lowest_worst]:.3f})")

# %% [markdown]
# **Exercise 2 ★★★ Somebody's favourite.** Say everybody adds up two costs with weights of their
# own, $w$ and $1 - w$, with $0 < w < 1$. Nobody beats (6, 7) among (0, 10), (6, 7) and (10, 0). Is
# it the cheapest for any $w$? Write `somebodys_favourite(costs)`: `costs` is a tensor (rows, 2).
# Return a tensor of bools, one a row: True if some $w$ makes it the cheapest.
#
# The first line is there: how much *more* each row costs than each rival. A row is no dearer than
# a rival while $w a + (1 - w) b \le 0$. In the check some rows have their turn for very few $w$;
# no two costs in a column are equal, no three rows lie on a line.


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

# %% tags=["plumbing"]
# Whose favourite is RoPE?
if check_somebodys_favourite.verdict(somebodys_favourite).kind == "right":
    two_costs = torch.tensor(table[["loss", "bytes"]].to_numpy())
    chosen, on_front = somebodys_favourite(two_costs), chooser.undominated(two_costs)
    print("by loss and bytes, somebody's favourite:", ", ".join(table.index[chosen.numpy()]))
    print("beaten by nobody, and nobody's:", ", ".join(table.index[(on_front & ~chosen).numpy()]))
    by_seed = trained[trained.read == 64].pivot(index="encoding", columns="seed", values="loss")
    rows = [torch.tensor(by_seed[seed][table.index].to_numpy()) for seed in by_seed]
    wins = [somebodys_favourite(torch.stack([losses, two_costs[:, 1]], dim=1)) for losses in rows]
    rope_wins = sum(bool(win[table.index.get_loc("rope")]) for win in wins)
    print(f"with the losses of one seed, RoPE is a favourite in {rope_wins} of {len(wins)}")
    over_256 = [
        measures.passport(name, length=256, batch=1, causal=True, max_len=256)["extra_bytes"]
        for name in table.index
    ]
    for words, n_bytes in ((64, table["bytes"].to_list()), (256, over_256)):
        by_name = dict(zip(table.index, n_bytes, strict=True))
        print(f"{words} words: RoPE {by_name['rope']:,.0f} bytes, ALiBi {by_name['alibi']:,.0f}")
    at_256 = somebodys_favourite(torch.tensor([*zip(table["loss"], over_256, strict=True)]))
    print("by loss and the bytes of 256 words:", ", ".join(table.index[at_256.numpy()]))

# %% tags=["plumbing"]
# Loss and bytes as points, and the edge where favourites lie
if check_somebodys_favourite.verdict(somebodys_favourite).kind == "right":
    fig, ax = plt.subplots(figsize=(9, 5))
    edge = two_costs[chosen][two_costs[chosen][:, 1].argsort()]
    ax.plot(edge[:, 1], edge[:, 0], color="0.6", linewidth=1)
    for name, (loss, n_bytes), is_chosen in zip(table.index, two_costs, chosen, strict=True):
        look = plots.identity(name)
        if n_bytes < 1.1e6 and loss < 1.5:
            face = look.colour if is_chosen else "none"
            beaten = not (is_chosen or on_front[table.index.get_loc(name)])
            style = {"marker": "x", "color": "0.6"} if beaten else {"edgecolor": look.colour}
            ax.scatter(n_bytes, loss, s=55, **style, **({} if beaten else {"facecolor": face}))
            below = bool(is_chosen) and n_bytes > 0
            place = {"xytext": (-6, -11), "ha": "right"} if below else {"xytext": (6, 4)}
            ax.annotate(name, (n_bytes, loss), textcoords="offset points", size=9, **place)
    ax.set(xlabel="bytes made at 64 words", ylabel="loss (nats a byte)", xlim=(-3e4, 1.1e6))
    ax.set_ylim(1.2, 1.5)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.set_title("Full: somebody's favourite. Hollow: beaten by nobody, and nobody's. ×: beaten")
    plots.show(
        fig,
        "Encodings as points, bytes to the right, loss upwards; those with more bytes or a loss "
        "above 1.5 are left out. A line from one favourite to the next is the lower left edge of "
        "all points: "
        + ", ".join(table.index[chosen.numpy()])
        + ". Above it, beaten by nobody and nobody's favourite: "
        + ", ".join(table.index[(on_front & ~chosen).numpy()])
        + ".",
    )

# %% [markdown]
# **Look:** a favourite is always on the front, but not the other way round. RoPE lies close to the
# edge, at 64 words: which seed you ask decides. At 256 words ALiBi's price makes more bytes than
# RoPE's turns, as this course computes them.

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
            scope="those at doors 2 to 4, matrices drawn at random, over random words; at home: no "
            "weight changes by more than 1e-4 when all positions move by 999",
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
# - A table strikes out the beaten. By four columns 12 of 17 stayed: you say what counts.
# - Losses of short trainings: ten times the steps changed the order.
# - RoPE reads long texts badly: cut, or train at their length.
# - ALiBi's loss hardly rises; with its usual slopes it starts higher after short training.
# - A plain causal kernel: RoPE as it is, ALiBi with one number more (bfloat16: two).
#
# **Read next:** RoPE in some layers, Yang et al. 2025, arXiv 2501.18795; dropped after training,
# Gelberg et al. 2025, 2512.12167; images, Heo et al. 2024, 2403.13298.
#
# **Next:** is it sound? [Lesson 11](11_capstone.ipynb). Or: [ten models
# layer by layer, tasks, ledger](closer/10_in_practice.ipynb), [all 17 on one
# page](closer/10_two_texts.ipynb).
