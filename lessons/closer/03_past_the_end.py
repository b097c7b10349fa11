# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # 03 · Learned: past the end
#
# For those who must stretch a table: ways past its last row in two models, the gears of its clock,
# the line-up again, and one row that stands out. It builds on [lesson 03](../03_learned.ipynb).
# Each section can be read alone; run the cells from the top.
#
# **Time:** {minutes}.

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start()

# %%
import cmath
import math

import matplotlib.pyplot as plt
import torch

from course_lab import figures, widgets
from course_lab.position_table import position_table
from course_utils import plots
from course_utils.encodings import create
from course_utils.encodings.functional import decomposed_table

# %% [markdown]
# ## Two models
#
# First the course's own language model. It has 64 rows and reads bytes of documentation, in pieces
# of 128; the loss is that of the second half of a piece. Beside clamping and interpolating there is
# a third way, to **decompose**: Su (2020, kexue.fm/archives/7947) makes row $i n + j$ of two
# digits, $i$ and $j$, out of the $n$ rows that there are.
# %%
from course_utils.models import shipped
from course_utils.texts import data, tasks, text
from course_utils.texts.tasks import IGNORED_TARGET

model = shipped.model("learned").to(device)
known = model.encoding.table.detach()[:64]
held_out = text.spread(text.split(text.documentation()).held_out, 40)
pieces = text.pieces(held_out.to(device), length=128)
second_half = pieces.targets.clone()
second_half[:, :64] = IGNORED_TARGET


# %%
def loss_with(rows, beyond="error"):
    """Loss at bytes 64 to 127 with these rows."""
    options = {"d_model": 128, "n_heads": 4, "max_len": len(rows), "beyond": beyond}
    encoding = create("learned", **options).to(device)
    encoding.table.data.copy_(rows)
    model.blocks[0].attention.encoding = encoding
    return tasks.loss(model, tasks.Examples(pieces.tokens, second_half)).item()


# %%
with torch.no_grad():
    byte_losses = {
        "clamp": loss_with(known, "clamp"),
        "interpolate": loss_with(known, "interpolate"),
        "decompose": loss_with(decomposed_table(known, 128)),
        "mean row": loss_with(torch.cat([known, known.mean(0).expand(64, -1)])),
    }
    of_64_rows = create("learned", d_model=128, n_heads=4, max_len=64).to(device)
    of_64_rows.table.data.copy_(known)
    model.blocks[0].attention.encoding = of_64_rows
    cut = tasks.Examples(pieces.tokens[:, 64:], pieces.targets[:, 64:])
    byte_losses["just cut, from 0 again"] = tasks.loss(model, cut).item()
for name, value in byte_losses.items():
    print(f"{name:24} {value:.1f} nats a byte")

# %% [markdown]
# **Look:** nothing that stretches or repeats the table comes near to just starting again at row 0.
# Now the encoder. We hide its rows from 256 on, fill them again, and read texts of 480 tokens: the
# cosine with the vectors of the whole table (57 texts, see `data/README.md`).

# %%
guess = widgets.predict(
    "One way is far worse than even the mean row. Which?",
    ["untrained rows", "repeat the last row", "interpolate", "decompose, from row 0"],
)

# %% tags=["plumbing"]
# The answer, and all ways
ways = {
    "turned on": "let the clock turn on",
    "interpolated": "interpolate",
    "decomposed from row 1": "decompose, from row 1",
    "clamped": "repeat the last row",
    "untrained": "untrained rows",
    "mean row": "the mean row",
    "decomposed": "decompose, from row 0",
    "shuffled 0": "real rows, shuffled",
    "out of phase 0": "the clock, out of phase",
}
filled = data.results("real_hands").query("length == 480 and way.str.contains(' past 256')")
cosines = {
    label: torch.tensor(filled.loc[filled["way"] == f"{way} past 256", "cosine"].to_numpy())
    for way, label in ways.items()
}
means = {label: values.mean().item() for label, values in cosines.items()}
guess.reveal(min(means, key=means.get))
kinds = filled.assign(way=filled["way"].str.removesuffix(" past 256"))
kinds = 1 - kinds.pivot_table("cosine", "way", "kind")
kinds.loc["three shuffles"] = kinds.filter(like="shuffled", axis=0).mean()
kinds.loc["three out of phase"] = kinds.filter(like="out of phase", axis=0).mean()
shown = ["turned on", "three out of phase", "three shuffles", "interpolated", "clamped", "mean row"]
print("1 − cosine, means of 19 texts of each kind:")
print(kinds.loc[shown].round(3).rename_axis(None).to_string(), "\n")
pairs = cosines["let the clock turn on"] - cosines["interpolate"]
print(
    "The clock is nearer than interpolation in", int((pairs > 0).sum()), "of", len(pairs), "texts"
)
fig, ax = plt.subplots(figsize=(8, 3.6))
figures.strips(
    ax, cosines, title="Rows 256 to 511, filled in", xlabel="cosine with the whole table"
)
described = ", ".join(f"{label} {mean:.3f}" for label, mean in means.items())
plots.show(fig, f"A dot for each of 57 texts of 480 tokens, by way. Means: {described}.")

# %% [markdown]
# **Look:** the clock is a little nearer than interpolation. But two controls cannot be right, and
# come near, too. The real rows in another order lose about as much as the clock, or less. A clock
# whose hands start anywhere loses little more, on the mean of three. So most of what is won here is
# rows that look like rows. Su's way has a trap: row 0 is for it a place like others, but this
# encoder's row 0 always meets [CLS].
#
# ## From a rotation to its hands
#
# The lesson fits a rotation $Q$ and a shift $s$ to the rows' coordinates $z_p$ along ten main
# directions. Ten, because in rows 1 to 255 the variance falls most after the tenth:

# %%
from course_utils.measures import main_directions, turn

rows = position_table()[1:].double()  # rows 1 to 511
first_255 = rows[:255]
axes_of_ten = main_directions(first_255, 10)
shares = torch.linalg.svdvals(first_255 - first_255.mean(0)).square()
fall = 1 + int((shares[:50] / shares[1:51]).argmax())
print(f"the steepest fall comes after direction {fall}")
for first, last in ((1, 255), (256, 511)):
    centred = rows[first - 1 : last] - first_255.mean(0)
    held = (centred @ axes_of_ten.T).square().sum() / centred.square().sum()
    print(f"ten directions hold {held:.0%} of the variance of rows {first} to {last}")

# %% [markdown]
# **Look:** what the later rows have outside these directions no hand can forecast.
#
# The eigenvalues of $Q$ come in five pairs, a plane each. Rows stand left of $Q$. So if
# $Q v = \lambda v$, and $c$ is the centre, the point that the turn leaves alone ($c\,Q + s = c$),
# then $h_p = (z_p - c)\,v$ turns by $\lambda$:
# $(z_{p+1} - c)\,v \approx (z_p - c)\,Q v = \lambda h_p$.

# %%
clock = turn(((rows - first_255.mean(0)) @ axes_of_ten.T)[:255])
eigenvalues, planes = torch.linalg.eig(clock.matrix)  # (10,), and a plane in each column
same = torch.eye(10, dtype=torch.float64)
centre = torch.linalg.solve(same - clock.matrix.T, clock.shift)
from_centre = (rows - first_255.mean(0)) @ axes_of_ten.T - centre
fastest = eigenvalues.angle().argmax()
h = from_centre.to(planes.dtype) @ planes[:, fastest]  # (511,): hand 0 in each row
steps = (h[1:] / h[:-1]).angle() * 180 / math.pi
print(f"hand 0 turns by {eigenvalues[fastest].angle() * 180 / math.pi:.0f}° a row;", end=" ")
print("in rows 1 to 7 by", ", ".join(f"{step:.0f}°" for step in steps[:6].tolist()))

# %% [markdown]
# Are the speeds an accident of the number ten? Fit in other numbers of directions, again to rows 1
# to 255. A hand passes as in the lesson: its worst miss in later rows, up to half a turn ahead, is
# below 0.2.

# %%
from course_lab.explorers import hand_coordinates
from course_lab.position_table import largest_miss

for count in (8, 10, 12, 14, 16, 20):
    periods, pointing = hand_coordinates(rows, directions=count)
    misses = [
        largest_miss(hand[255:], period)
        for period, hand in zip(periods.tolist(), pointing, strict=True)
    ]
    print(f"{count:2} directions:", end=" ")
    print(
        *[f"{T:.0f}{' passes' if m < 0.2 else ''}," for T, m in zip(periods, misses, strict=True)]
    )

# %% [markdown]
# **Look:** the periods of hands, in rows. In 12 and in 14 directions the four hands of the lesson
# stay, and pass; in 14 the fifth does, too. In eight only three pass. In 16 the hand of 50 rows
# splits into two that fail, and in 20 that of about 150 fails.
#
# ## The gears of a clock
#
# The hands of the encoder's table turn unevenly. But how? Take each hand's phase, in turns, and
# compare three times the phase of one hand with that of the next faster one.

# %%
import numpy as np

periods, pointing = hand_coordinates(rows, learned=511)
phases = np.unwrap(pointing.angle().numpy(), axis=1) / (2 * math.pi)  # turns, (5, 511)
gears = 3 * phases[1:] - phases[:-1]  # (4, 511): a hand's with the next faster one's

# %% tags=["plumbing"]
# Gears beside hands
late_rows = slice(110, 480)
places = np.arange(511)


def unevenness(line):
    """Standard deviation from the best straight line in rows 110 to 480."""
    fitted = np.polyfit(places[late_rows], line[late_rows], 1)
    return float((line[late_rows] - np.polyval(fitted, places[late_rows])).std())


for number in range(4):
    fast, slow = periods[number].item(), periods[number + 1].item()
    alone, together = unevenness(phases[number]), float(gears[number][late_rows].std())
    print(
        f"hand {fast:3.0f} is uneven by {alone:.2f} turns; 3 × {slow:3.0f} less it: {together:.2f}"
    )
fig, axes = plt.subplots(1, 2, figsize=(10.5, 4), layout="constrained")
for number in range(5):
    line = np.polyval(np.polyfit(places, phases[number], 1), places)
    label = f"{periods[number]:.0f} positions"
    axes[0].plot(places + 1, phases[number] - line, color=f"C{number}", label=label)
axes[0].set(title="Each hand runs unevenly", xlabel="row", ylabel="turns ahead of a constant speed")
for number in range(4):
    gear = gears[number] - gears[number][late_rows].mean()
    name = f"3 × {periods[number + 1]:.0f} less {periods[number]:.0f}"
    axes[1].plot(places + 1, gear, color=f"C{number}", label=name)
axes[1].set(title="From row 110 on three are geared 3 to 1", xlabel="row", ylabel="turns")
axes[1].set(xlim=(70, 515), ylim=(-0.5, 0.5))
axes[1].axvline(110, color="0.6", linestyle=":", linewidth=1.2)
for ax in axes:
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, fontsize=9, frameon=False)
plots.show(
    fig,
    "Left: turns that each hand is ahead of a constant speed, up to more than one. Right, from row "
    "70: three times the phase of a hand less that of the next faster one. From row 110 on the "
    "lines of the three fastest hands are flat, but for a spike at 127; the last one drifts.",
)

# %% [markdown]
# **Look:** a flat line is a gear: where one hand runs late, the next faster one runs late by three
# times as much. From row 110 on three lines are flat, but for a spike at 127. So these speeds are
# not free numbers; the hands wobble *together*. Why three to one we do not know, nor whether other
# encoders have it.
#
# ## The line-up again
#
# In the lesson the real table's hands were learned from rows 1 to 255. Was that luck? Learn them
# from other numbers of rows, forwards and backwards. A hand passes as it does there: it misses less
# than 0.2 up to half a turn ahead. Three passing hands of five make a clock.


# %%
def passing_hands(rows, known):
    """The numbers of the hands that pass in the rows after the known ones, 0 the fastest."""
    periods, pointing = hand_coordinates(rows, known)
    passing = []
    for number, (period, hand) in enumerate(zip(periods.tolist(), pointing, strict=True)):
        later = hand[known:]
        for ahead in range(1, min(round(period / 2), 200) + 1):
            forecast = later[:-ahead] * cmath.exp(2j * math.pi * ahead / period)
            missed = (later[ahead:] - forecast).abs().square().sum()
            lengths = later[ahead:].abs().square().sum() + forecast.abs().square().sum()
            if missed >= 0.2 * lengths:
                break
        else:
            passing.append(number)
    return passing


# %%
for count in (180, 200, 255, 300, 350):
    forwards, backwards = passing_hands(rows, count), passing_hands(rows.flip(0), count)
    print(f"{count} rows: hands {forwards}, backwards {backwards}")

# %% [markdown]
# **Look:** by that rule the table is a clock from 200, 255, 300 and 350 rows, both ways; from 180
# only forwards. Which hands pass changes with the rows.
#
# Three more questions. The variance of all 511 rows falls most after direction *eleven*: what does
# the encoder lose without it? What does it lose with one hand held still, at the lengths between
# the lesson's two? And how far does each hand's tip move within a text?

# %%
reads = data.results("real_hands").pivot_table("cosine", "way", "length")  # means of 57 texts
print("cosine with the vectors of the whole table, means of 57 texts, by length:")
print(reads.filter(regex="directions$|still$|mean row$", axis=0).round(3).to_string())
print("How far each tip is from its mean within a text, fastest first (root mean square):")
for length in (20, 60, 126, 480):
    inside = pointing[:, : length - 1]  # [CLS] reads row 0
    moves = (inside - inside.mean(1, keepdim=True)).abs().square().mean(1).sqrt()
    print(f"{length:4} tokens", *[f"{move:.2f}" for move in moves])

# %% [markdown]
# **Look:** the eleventh direction, which is no hand, brings the vectors nearer to their own at each
# of these lengths. The longer the text, the slower the hand that is missed most: hand 1 in 20
# tokens (hand 0 nearly as much), 2 in 60 and 126, 4 in 480. The slowest tip hardly moves within 20
# or 60 tokens, and within 480 about as far as the others.

# %% [markdown]
# ## A scar at 127
#
# Rows that no text reads stay random, and random rows lie far from the mean of their two
# neighbours. How far do the real table's rows lie?

# %%
table = position_table().double()  # (512, 384)
beyond_mean = table[1:-1] - (table[:-2] + table[2:]) / 2  # of rows 1 to 510
misfit = beyond_mean.norm(dim=1)
print(f"row 1: {misfit[0]:.2f}, row 510: {misfit[509]:.2f}")

# %% [markdown]
# Both ends stand out. Row 1 is a neighbour of [CLS]'s row; why row 510 lies so far off we do not
# know. So the picture leaves out rows 0 to 3 and 508 to 511.

# %% tags=["plumbing"]
# Every row beside its neighbours' mean
inner = misfit[3:507]  # rows 4 to 507
farthest = 4 + int(inner.argmax())
untrained = 0.02 * math.sqrt(1.5 * table.shape[1])  # a row less half of each of two others
fig, ax = plt.subplots(figsize=(8, 2.7), layout="constrained")
ax.axhspan(0.96 * untrained, 1.04 * untrained, color="0.88", zorder=0)
ax.text(500, 1.06 * untrained, "as far as random rows", ha="right", va="bottom", fontsize=10)
ax.plot(range(4, 508), inner, linewidth=1.2)
ax.text(farthest + 8, inner.max(), f"row {farthest}", va="center", fontsize=11)
ax.set(xlabel="row", ylabel="distance to\nneighbours' mean", xlim=(0, 512), ylim=(0, 0.75))
ax.set_title(f"A scar at {farthest}")
plots.show(
    fig,
    f"How far rows 4 to 507 lie from the mean of their neighbours: {inner.median():.2f} at the "
    f"median, {inner.max():.2f} at row {farthest}. Rows of random numbers of size 0.02, as BERT "
    f"starts, would lie at about {untrained:.2f}, the grey band. Rows 0 to 3 and 508 to 511 are "
    "left out.",
)

# %% [markdown]
# **Look:** rows so near to their neighbours' mean are not random, so training has read them. (To be
# far off does *not* mean unread: the lesson's task *place 3* reads row 3, and sets it apart.) Row
# 127 stands out alone.
#
# By its model card the encoder was tuned on texts *cut at 128* tokens, and the last token of a cut
# text, at row 127, is [SEP]. Earlier training on texts of 128 would fit as well. If [SEP] had made
# the scar, then rows 510 and 511, where the longest texts end, should stand out in the same
# direction.

# %%
scar = beyond_mean[126]  # what row 127 has beyond its neighbours' mean
at_the_end = {
    "510": beyond_mean[509],
    "511": table[511] - (2 * table[509] - table[508]),  # beyond the line through rows 508 and 509
}
for row, difference in at_the_end.items():
    cosine = torch.cosine_similarity(scar, difference, dim=0)
    print(f"what rows 127 and {row} have of their own: cosine {cosine + 0.0:.2f}")

# %% [markdown]
# **Look:** the directions have nothing in common. So where the scar comes from stays open.
#
# ## Myth check

# %% tags=["plumbing"]
# The claim
from course_lab.claims import Claim, Myths

myths = Myths(
    {
        "C24": Claim(
            "Sine waves along a table's main directions show that it is a clock.",
            scope="511 rows, each of two main directions at least 90 % a sine wave; a clock: three "
            "of five hands pass",
            evidence="drawn here",
            seeds=3,
        ),
    }
)

# %% tags=["plumbing"]
# The verdict
from course_lab.position_table import decoys

cycles = torch.arange(0.5, 120, 0.25).double()
angles = 2 * math.pi * cycles[:, None] * torch.arange(511) / 511
waves = torch.stack([angles.cos(), angles.sin(), torch.ones_like(angles)], 2)
waves = torch.linalg.qr(waves)[0]  # (478, 511, 3): each wave's three columns, perpendicular


def explained_by_a_wave(rows):
    """Of each of two main directions, the share of the variance in the best single sine wave."""
    series = (rows - rows.mean(0)) @ main_directions(rows, 2).T  # (511, 2)
    fitted = (waves.mT @ series).square().sum(1)  # (478, 2): squared length of what a wave fits
    return (fitted.max(0).values / series.square().sum(0)).tolist()


walks = {f"random walk {seed}": decoys(rows, seed)["random walk"] for seed in range(3)}
as_waves = {name: min(explained_by_a_wave(walk)) for name, walk in walks.items()}
assert all(share >= 0.9 for share in as_waves.values())
myths.settle(
    "C24",
    {name: len(passing_hands(walk, 255)) >= 3 for name, walk in walks.items()},
    "Three random walks: a sine wave explains at least "
    f"{100 * min(as_waves.values()):.0f} % of each of their two main directions, and in none do "
    "three hands pass. In the real table it explains at most "
    f"{math.ceil(100 * max(explained_by_a_wave(rows)))} %. Such waves in main directions have "
    "fooled people (Shinn 2023).",
)

# %% [markdown]
# **Back:** [lesson 03](../03_learned.ipynb). **Next:** [lesson 04](../04_relative.ipynb).
