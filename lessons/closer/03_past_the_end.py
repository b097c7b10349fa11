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
# For those who must stretch a table: ways past its last row, in two models, the gears of its
# clock, the line-up again, and what may be behind row 127. It builds on
# [lesson 03](../03_learned.ipynb). Each section stands alone.
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
# First the course's own language model: 64 rows, bytes of documentation, and pieces of 128 bytes.
# The loss is that of the second half of a piece. Beside clamping and interpolating there is a
# third way, to **decompose**: Su (2020, kexue.fm/archives/7947) makes row $i n + j$ of two digits,
# $i$ and $j$, out of the $n$ rows that there are.
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
    model.blocks[0].attention.encoding = create("learned", d_model=128, n_heads=4, max_len=64)
    model.blocks[0].attention.encoding.table.data.copy_(known)
    cut = torch.cat([pieces.tokens[:, 64:]]), pieces.targets[:, 64:]
    byte_losses["just cut, from 0 again"] = tasks.loss(model, tasks.Examples(*cut)).item()
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
}
filled = data.results("real_hands").query("length == 480 and way.str.contains(' past 256')")
cosines = {
    label: torch.tensor(filled.loc[filled["way"] == f"{way} past 256", "cosine"].to_numpy())
    for way, label in ways.items()
}
means = {label: values.mean().item() for label, values in cosines.items()}
guess.reveal(min(means, key=means.get))
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
# **Look:** the clock is a little nearer than interpolation. Su's way has a trap here: it takes row
# 0 for a place like others, but this encoder's row 0 is huge, since it belongs to [CLS]. Started
# from row 1 it does as well as others.
#
# ## The gears of a clock
#
# Five hands, each uneven. But how? Take the phase of each hand in turns, and compare three times
# one hand's with the next faster one's.

# %%
import numpy as np

from course_lab.explorers import hand_coordinates

rows = position_table()[1:].double()
periods, pointing = hand_coordinates(rows, learned=511)
phases = np.unwrap(pointing.angle().numpy(), axis=1) / (2 * math.pi)  # turns, (5, 511)
gears = 3 * phases[1:] - phases[:-1]  # (4, 511): a hand's with the next faster one's

# %% tags=["plumbing"]
# Gears beside hands
late_rows = slice(110, 480)
places = np.arange(511)


def strays(line):
    """How far it strays from a straight line in rows 110 to 480: standard deviation."""
    fitted = np.polyfit(places[late_rows], line[late_rows], 1)
    return float((line[late_rows] - np.polyval(fitted, places[late_rows])).std())


for number in range(4):
    fast, slow = periods[number].item(), periods[number + 1].item()
    alone, together = strays(phases[number]), float(gears[number][late_rows].std())
    print(f"hand {fast:3.0f} strays by {alone:.2f} turns; 3 × {slow:3.0f} less it: {together:.2f}")
fig, axes = plt.subplots(1, 2, figsize=(10.5, 3.4))
for number in range(5):
    line = np.polyval(np.polyfit(places, phases[number], 1), places)
    axes[0].plot(
        places + 1, phases[number] - line, color=f"C{number}", label=f"{periods[number]:.0f}"
    )
axes[0].set(title="each hand runs unevenly", xlabel="row", ylabel="turns ahead of a constant speed")
axes[0].legend(title="positions a turn", fontsize=9)
for number in range(4):
    gear = gears[number] - gears[number][late_rows].mean()
    name = f"3 × {periods[number + 1]:.0f} less {periods[number]:.0f}"
    axes[1].plot(places + 1, gear, color=f"C{number}", label=name)
axes[1].set(
    title="yet from row 110 on some are geared 3 to 1", xlabel="row", ylabel="turns", ylim=(-1, 1)
)
axes[1].legend(fontsize=9)
plots.show(
    fig,
    "Left: turns that each hand is ahead of a constant speed, up to more than one. Right: three "
    "times the phase of a hand less that of the next faster one. From row 110 on the lines of the "
    "three fastest hands are flat.",
)

# %% [markdown]
# **Look:** flat lines are gears: where one hand runs late, the next faster one runs late by three
# times as much. So their speeds are not free numbers, three of them wobble *together*. Why three to
# one we do not know, and it is this table's: nothing here says that other encoders have it.

# ## The line-up again
#
# In the lesson the real table's hands were learned from 255 rows. Were they lucky rows? Learn them
# from other numbers of rows, forwards and backwards. A hand passes as there: it misses less than
# 0.2 up to half a turn ahead.


# %%
def passing(rows, known):
    """The numbers of the hands that pass in the rows after the known ones, 0 the fastest."""
    periods, pointing = hand_coordinates(rows, known)
    passed = []
    for number, (period, hand) in enumerate(zip(periods.tolist(), pointing, strict=True)):
        later = hand[known:]
        for ahead in range(1, min(round(period / 2), 200) + 1):
            foretold = later[:-ahead] * cmath.exp(2j * math.pi * ahead / period)
            missed = (later[ahead:] - foretold).abs().square().sum()
            lengths = later[ahead:].abs().square().sum() + foretold.abs().square().sum()
            if missed >= 0.2 * lengths:
                break
        else:
            passed.append(number)
    return passed


# %%
for count in (180, 200, 255, 300, 350):
    print(f"{count} rows: hands {passing(rows, count)}, backwards {passing(rows.flip(0), count)}")

# %% [markdown]
# **Look:** from 200, 255 or 300 rows hands 0 to 2 pass both ways; from 180 or 350 not. So the
# verdict of the lesson needs many rows to learn from, and many to judge by.
#
# Two more questions. The variance of all 511 rows falls most after direction *eleven*: what does
# the encoder lose without it? And how far does each hand's tip move within a text?

# %%
reads = data.results("real_hands").pivot_table("cosine", "way", "length")  # means of 57 texts
print(reads.loc[["10 directions", "11 directions"]].round(3).to_string())
print("How far each tip strays from its mean within a text, fastest first (root mean square):")
for length in (20, 60, 126, 480):
    inside = pointing[:, : length - 1]  # [CLS] reads row 0
    strays = (inside - inside.mean(1, keepdim=True)).abs().square().mean(1).sqrt()
    print(f"{length:4} tokens", *[f"{stray:.2f}" for stray in strays])

# %% [markdown]
# **Look:** the eleventh direction, which is no hand, brings the vectors nearer to their own at each
# of these lengths.

# %% [markdown]
# ## A scar at 127
#
# In lesson 03 one row of the real table stood out from its neighbours' mean: row 127, token 128. By
# its model card the encoder was tuned on texts *cut at 128* tokens, and a cut text ends with the
# mark [SEP]. Earlier training on texts of 128 would fit as well. If the mark of a text's end had
# made the scar, the table's last row, where the longest texts end, should bear a like one.

# %%
table = position_table().double()  # (512, 384)
scar = table[127] - (table[126] + table[128]) / 2
last = table[511] - (2 * table[509] - table[508])  # beside the line through rows 508 and 509
print(f"cosine of the two marks: {torch.cosine_similarity(scar, last, dim=0):.2f}")

# %% [markdown]
# **Look:** the two marks have nothing in common. So where the scar comes from stays open.

# %% [markdown]
# **Back:** [lesson 03](../03_learned.ipynb). **Next:** [lesson 04](../04_relative.ipynb).
