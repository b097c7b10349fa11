# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # 05 · RoPE under the X-ray
#
# What does a trained model do with its rotations? We stop pairs, leave them out, put a constant in
# their place, and look into 270 heads. It builds on [lesson 05](../05_rope.ipynb).
#
# The model is SmolLM2-135M-*Instruct*, its weights in 4 bits. It reads three texts: two stretches
# of Python's documentation, and source code, `argparse.py`. All sentences here are about this model
# and these texts.
#
# **Time:** {minutes}.

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start()

# %% [markdown]
# ## Stop them
#
# Each of its heads has 32 pairs of numbers, turned with base 100,000. How far, over a text?

# %%
import torch

from course_lab import widgets
from course_utils.encodings.functional import rope_frequencies
from course_utils.texts import data

speeds = rope_frequencies(64, 100_000)  # radians a token, (32,)
lengths = (512, 2048, 4096, 8000)
for m in (0, 16, 20, 24, 28, 31):
    degrees = [f"{length * speeds[m].rad2deg():9,.0f}°" for length in lengths]
    print(f"pair {m:2} turns in {lengths} tokens by", *degrees)

# %% [markdown]
# It was trained to read 8,192 tokens: pairs from 20 on never come round. Now we **stop** four
# neighbouring pairs, in all heads and layers: their angle is 0 at every token. All others turn as
# before.

# %%
answers = ["less than 0.05", "0.05 to 0.5", "more than 0.5"]
guess = widgets.predict(
    "With pairs 20 to 23 stopped, the first 512 tokens cost less than 0.05 nats a token more. What "
    "do tokens 3,584 to 4,095 cost more, their mean over the three texts?",
    answers,
)

# %%
table = data.results("real_groups")  # a row a text, way, and number of tokens read so far
losses = table.pivot(index=["text", "length"], columns="way", values="loss")
rises = losses.sub(losses["as trained"], axis=0)
slow = [f"pairs {first}-{first + 3}" for first in range(16, 32, 4)]
stopped = rises[[f"{group} still" for group in slow]].groupby("length").mean()

# %% tags=["plumbing"]
# The answer, and the rise by group and length
import matplotlib.pyplot as plt

from course_utils import plots
from course_utils.results import interval

at_4096 = stopped.loc[4096, "pairs 20-23 still"]
guess.reveal(answers[int(at_4096 > 0.05) + int(at_4096 > 0.5)])
looks = {"16-19": ("C1", "o"), "20-23": ("C3", "s"), "24-27": ("C0", "^"), "28-31": ("C2", "D")}


def named(group):
    return group.replace("-", "–")


fig, axes = plt.subplots(1, 2, figsize=(10.5, 4.1), sharey=True)
for n, (group, look) in enumerate(looks.items()):
    colour, marker = look
    rows = rises[f"pairs {group} still"].unstack("text")  # (length, text)
    means = rows.mean(axis=1)
    ends = rows.apply(lambda values: interval(values), axis=1, result_type="expand")
    x = [length * 1.06 ** (n - 1.5) for length in means.index]
    axes[0].errorbar(
        x, means, [means - ends[0], ends[1] - means], color=colour, marker=marker, capsize=3
    )
    axes[0].annotate(
        named(group),
        (x[-1], means.iloc[-1]),
        (8, 0),
        textcoords="offset points",
        color=colour,
        va="center",
    )
    fastest = speeds[int(group.split("-")[0])].rad2deg()
    degrees = [float(fastest) * length for length in means.index]
    axes[1].plot(degrees, means, color=colour, marker=marker, label=f"pairs {named(group)}")
axes[0].set(xscale="log", xlim=(440, 13_000), xlabel="tokens read", ylabel="rise of loss (nats)")
axes[0].set_xticks(lengths, [f"{length:,}" for length in lengths])
axes[0].minorticks_off()
axes[0].set_title("four pairs stopped; bars: 95 % over three texts")
axes[1].axvline(20, color="0.6", linestyle=(0, (4, 3)))
axes[1].set(xscale="log", xlabel="how far the group's fastest pair turns over the text")
axes[1].set_xticks([1, 5, 20, 90, 360, 1440], ["1°", "5°", "20°", "90°", "1 turn", "4 turns"])
axes[1].minorticks_off()
axes[1].set_title("the same, by how far they turn")
axes[1].legend(loc="upper left")
described = "; ".join(
    f"pairs {named(group)}: " + ", ".join(f"{rise:.2f}" for rise in stopped[f"pairs {group} still"])
    for group in looks
)
plots.show(
    fig,
    "Left, the rise of the loss in the last 512 tokens against the tokens read, 512, 2,048, 4,096 "
    f"and 8,000, for four groups of stopped pairs. {described}. Right, the same against the angle "
    "that the group's fastest pair turns; up to 20 degrees all stay near 0.",
)

# %% [markdown]
# **Look:** over 512 tokens, the slow pairs seem to be idle. Over 4,096, stopping pairs 20 to 23
# wrecks the model, and 24 to 27 matter too. On the right, no group that turns less than 20° loses
# much. **A pair tells place once the text is long enough to turn it.** How slow is slow depends on
# how long you read.
#
# To turn is not enough: pairs 16 to 19 turn most of these, and cost far less than 20 to 23.

# %% [markdown]
# ## Leave them out, or give them a constant
#
# Over 512 tokens, slow pairs may stop. Then they tell there what the words *mean*? Another surgery
# seems to prove it: **leave them out** of $q \cdot k$.

# %%
at_512 = rises.xs(512, level="length").mean()
for group in slow[1:]:
    print(f"{named(group)}: stopped {at_512[f'{group} still']:+.2f}", end=", ")
    print(f"left out {at_512[f'{group} left out']:+.2f} nats a token, at 512 tokens")

# %% [markdown]
# **Look:** the model falls apart. But any surgery takes it out of its training. So a rise proves
# that the model *relies* on what was cut. It does not say what for. A good experiment has a
# control. So a third way: in these pairs, each key but the first token's becomes the **mean key**
# of its head, taken over another text. It turns as ever, and queries stay. Such a key cannot say
# what its token is.

# %%
answers = ["less than a third", "one to two thirds", "more than two thirds"]
guess = widgets.predict(
    "At 2,048 tokens: leave out pairs 20 to 23, and the loss rises. How much of that rise is gone "
    "when they have their mean keys instead?",
    answers,
)

# %%
at_2048 = rises.xs(2048, level="length")  # (text, way)
left_out, mean_key = at_2048["pairs 20-23 left out"], at_2048["pairs 20-23 mean key"]
regained = 1 - mean_key.mean() / left_out.mean()

# %% tags=["plumbing"]
# The answer, and the three ways side by side
guess.reveal(answers[int(regained > 1 / 3) + int(regained > 2 / 3)])
ways = {"still": "stopped", "left out": "left out", "mean key": "mean key"}
colours = {"still": "C1", "left out": "0.55", "mean key": "C0"}
fig, axes = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True)
for ax, length in zip(axes, (512, 2048), strict=True):
    here = rises.xs(length, level="length")  # (text, way)
    for n, way in enumerate(ways):
        for place, group in enumerate(slow[1:]):
            values = here[f"{group} {way}"]
            label = ways[way] if place == 0 else None
            x = place + 0.27 * (n - 1)
            ax.bar(x, values.mean(), 0.25, color=colours[way], label=label)
            ax.plot([x] * len(values), values, ".", color="0.2", markersize=5)
    ax.set_xticks(range(3), [named(group).removeprefix("pairs ") for group in slow[1:]])
    ax.set(title=f"the last 512 of {length:,} tokens".replace("last 512 of 512", "first 512"))
    ax.set_xlabel("pairs")
axes[0].set_ylabel("rise of loss (nats)")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
means = rises.xs(2048, level="length").mean()
described = "; ".join(
    f"{named(group)}: " + ", ".join(f"{ways[way]} {means[f'{group} {way}']:.1f}" for way in ways)
    for group in slow[1:]
)
plots.show(
    fig,
    "Bars for three groups of pairs and three ways, at 512 and at 2,048 tokens; dots are texts. "
    f"Rises at 2,048: {described}.",
)

# %% [markdown]
# **Look:** with keys that know no words, more than half of the damage in pairs 20 to 27 is gone. In
# pairs 28 to 31 less comes back: there the words count most. So "left out, therefore content" is
# wrong. Something else was deleted too. Here is one head's key, before it turns:

# %% tags=["pretrained"]
from course_lab.session import if_installed
from course_utils import pretrained
from course_utils.pretrained.ablation import MeanKeyPairs, mean_keys, recorded

model = if_installed(pretrained.smollm2, device)
if model:
    page = data.verified("documentation.txt").read_text(encoding="utf-8")
    ids = model.encode(page[200_000:212_000])[:, :2048]
    queries_and_keys = recorded(model, ids)  # of 30 layers
    arrows = queries_and_keys[19][1][2, :, 46:48]  # layer 19, head 2, pair 23: (2048, 2)
    for token in (0, 1, 2, 500, 2000):
        a, b = arrows[token].tolist()
        print(f"token {token:4}: key ({a:5.1f}, {b:5.1f})")

# %% [markdown]
# **Look:** one arrow for all tokens, whatever the word, and nearly nothing at the first. This pair
# does not say *what* a token is. It says whether it is the *first*. And many heads put most of
# their attention there, on their **attention sink** (Xiao et al. 2023).
#
# If that mark is what was deleted, then giving the first token the mean key *too* must cost about
# as much as leaving out, and heads must lose their sink.

# %%
for group in slow[1:]:
    left_out, mean_key, everywhere = (
        at_2048[f"{group} {way}"].mean() for way in ("left out", "mean key", "mean key everywhere")
    )
    costs = f"left out +{left_out:.1f}, mean key +{mean_key:.1f}, first token too +{everywhere:.1f}"
    print(f"{named(group)}: {costs}")


# %% tags=["pretrained"]
def on_first(reader):
    """Each head's mean attention to the first of 256 tokens (of 1 in all), (270,)."""
    _, weights = reader.hidden_and_weights(ids[:, :256])
    return torch.cat([layer[0, :, 16:, 0].mean(-1) for layer in weights])


if model:
    keys, as_trained = mean_keys(model, model.encode(page[:4000])[:, :512]), on_first(model)
    for first in (20, 24, 28):
        for keep_first in (True, False):
            options = {"mean_keys": keys, "first": first, "last": first + 3}
            alike = MeanKeyPairs(576, 9, 100_000, **options, keep_first=keep_first)
            lost = as_trained - on_first(model.with_encoding(alike)) > 0.3
            which = "mean key" if keep_first else "first token too"
            count = int(lost.sum())
            print(f"pairs {first}–{first + 3}, {which:15}: {count:3} heads lose 0.3 of it or more")

# %% [markdown]
# **Look:** it does, and they do. So zeroing a part of a network deletes two things: what varied,
# and a *constant* on which the rest relies. Put a mean beside your zeros.

# %% [markdown]
# ## The X-ray
#
# Softmax sees only how scores *differ* from key to key. What is that variance made of? Part of it
# follows from the distance alone. The rest depends on what the tokens are. And a score is a sum
# over pairs, so both parts can be shared out among them: pair $m$ gets its covariance with the
# part. (The first token is no key here.)

# %%
guess = widgets.predict(
    "In how many of the 270 heads does distance alone explain more than half of the variance?",
    ["fewer than 90", "90 to 180", "more than 180"],
)

# %%
from course_lab import explorers

heads = explorers.xray_table()  # a row a head; means over three texts of 512 tokens


def numbers(name):  # (270, 32)
    return torch.tensor(heads.filter(like=f"{name}_").to_numpy())


by_distance, by_content = numbers("position"), numbers("content")  # add up to 1 in each head

# %% [markdown]
# A picture like this needs a baseline. In each head we deal its 32 pairs out anew, by chance: what
# pair 5 carried may now turn at the speed of pair 29. What a *speed* brings by itself is left.

# %%
shares = data.results("real_shares").groupby(["way", "pair"])[["position", "content"]].mean()
for way in ("as trained", "pairs shuffled"):
    place, rest = shares.loc[way, "position"], shares.loc[way, "content"]
    print(
        f"{way}: pairs 0–19 bring {place[:20].sum() / place.sum():.0%} of what distance explains, "
        f"pairs 20–31 {rest[20:].sum() / rest.sum():.0%} of the rest"
    )

# %% tags=["plumbing"]
# The answer, and the X-ray
from matplotlib.colors import to_rgb

many = int((by_distance.sum(1) > 0.5).sum())
print(f"In {many} of 270 heads distance explains more than half.")
guess.reveal("fewer than 90" if many < 90 else "90 to 180" if many <= 180 else "more than 180")
fig = plt.figure(figsize=(5.8, 7.5))
top_ax, ax = fig.subplots(2, 1, sharex=True, height_ratios=[1, 3])
orange, blue = (torch.tensor(to_rgb(ink)) for ink in ("#de6e00", "#005caa"))
parts = torch.stack([by_distance, by_content]).clamp(min=0).float()[..., None]  # (2, 270, 32, 1)
ink = (parts[0] * orange + parts[1] * blue) / parts.sum(0).clamp(min=1e-9)
image = 1 + (parts.sum(0) / 0.2).clamp(max=1) ** 0.7 * (ink - 1)
ax.imshow(image, aspect="auto", interpolation="none", extent=(-0.5, 31.5, 270, 0))
for name, column, shift, colour in (
    ("explained by distance", "position", -0.2, orange),
    ("the rest: content", "content", 0.2, blue),
):
    trained, dealt = (100 * shares.loc[way, column] for way in ("as trained", "pairs shuffled"))
    top_ax.bar(trained.index + shift, trained, 0.4, color=colour.tolist(), label=name)
    top_ax.plot(dealt.index + shift, dealt, ".", color="0.1", markersize=5)
top_ax.plot([], [], ".", color="0.1", label="the same, pairs shuffled")
for axis in (top_ax, ax):
    axis.axvline(19.5, color="0.3", linewidth=1.2, linestyle=(0, (4, 3)))
top_ax.text(19.9, 11.6, "no whole turn in\n8,192 tokens →", fontsize=9, color="0.3", va="top")
top_ax.set(ylim=(-0.6, 12), ylabel="mean share (%)", title="X-ray of SmolLM2: 270 heads, 32 pairs")
top_ax.legend(loc="upper left")
ax.set(ylabel="head, those that go by distance on top", xlabel="pair; below it, tokens a turn")
turn = 2 * torch.pi / speeds
ax.set_xticks(range(0, 32, 4), [f"{m}\n{turn[m]:,.0f}" for m in range(0, 32, 4)])
parts_0_19 = {
    way: shares.loc[way, "position"][:20].sum() / shares.loc[way, "position"].sum()
    for way in ("as trained", "pairs shuffled")
}
plots.show(
    fig,
    "A picture of 270 rows, one a head, and 32 columns, one a pair. Orange, what distance "
    "explains, lies on the fast pairs to the left, in the upper half; blue, the rest, mostly on "
    "the slow pairs to the right. Above, means by pair; dots are the baseline. Pairs 0 to 19 carry "
    f"{parts_0_19['as trained']:.0%} of the orange, with pairs shuffled "
    f"{parts_0_19['pairs shuffled']:.0%}. In {many} heads distance explains more than half.",
)

# %% [markdown]
# **Look:** the orange is on the left, and it looks learned. The baseline says no: with pairs dealt
# out by chance, even more of it lies there. A pair that hardly turns over 512 tokens can hardly
# tell their distances apart. What training did is in the blue: far more of the rest lies on slow
# pairs than chance puts there. Barbero et al. (2024) found the like in Gemma 7B. But slow is not
# the same as no place: these are the shares of 512 tokens.
#
# **Explore.** Choose *looks one token back*, and keep pairs 0 to 3, then pair 0 alone: what becomes
# of its peak? Then choose *charges by distance*, and keep pair 23 alone.

# %%
explorers.xray()

# %% [markdown]
# ## A pair that charges
#
# On the right of the explorer stands $\sum_m \mathrm{Re}(z_m e^{\mathrm{i}\Delta\theta_m})$: the
# score by distance $\Delta$ of a head's *mean* query and *mean* key. Here $z_m$ is the one times
# the conjugate of the other, in pair $m$. One pair is one wave. Pair 23 takes 25,000 tokens for a
# turn.

# %%
straight = "falls, nearly straight"
guess = widgets.predict(
    "In a head where z of pair 23 is 18 long and points at 90°, its score over the first 2,000 "
    "tokens …",
    ["stays, nearly flat", "makes a hill", straight, "rises, nearly straight"],
)

# %%
z = torch.complex(numbers("real"), numbers("imaginary"))  # (270, 32)
for m in (16, 20, 21, 22, 23, 24, 25, 28):
    strong = z[:, m].abs() > 5
    upright = (z[:, m].angle().rad2deg() - 90).abs() < 20
    turned = float(8192 * speeds[m].rad2deg())
    print(f"pair {m}, {turned:5,.0f}° in 8,192 tokens: z longer than 5 ", end="")
    print(f"in {int(strong.sum()):2} heads, in {int((strong & upright).sum()):2} near 90°")

# %% [markdown]
# $\mathrm{Re}(\mathrm{i}|z|e^{\mathrm{i}\Delta\theta}) = -|z|\sin(\Delta\theta)$: at 90° a wave
# starts where it is steepest, downwards. It is back at 0 after half a turn, and from there on it
# would *reward* distance. The model was made for 8,192 tokens. The fastest pair that stays below
# half a turn in them is pair 22, and from 22 on there are long ones.
#
# Jonasson (2025, arXiv 2503.01832) finds such large features in several models, in pairs that make
# only a part of a turn, and derives bounds on which pairs and which angles they have. Half a turn
# is our own bound, of one model, and seen after the fact.
#
# So much for means. What do real queries and keys do?

# %% tags=["pretrained"]
if model:
    q, k = (torch.cat(parts) for parts in zip(*queries_and_keys, strict=True))  # (270, 2048, 64)
    q, k = (torch.complex(part[..., 46], part[..., 47]) for part in (q, k))  # pair 23
    distances = torch.arange(0, 1025, 64)
    turns = torch.polar(torch.ones(17).double(), distances * speeds[23])
    measured = torch.stack(
        [
            (q[:, 1024:] * k[:, 1024 - back : 2048 - back].conj() * turn).real.mean(1) / 8
            for back, turn in zip(distances.tolist(), turns, strict=True)
        ]
    )  # (17, 270): means over the last 1,024 queries
    number = torch.tensor((9 * heads["layer"] + heads["head"]).to_list())
    fall = (measured[0] - measured[-1])[number][z[:, 23].abs() > 5]  # rows as in the X-ray
    print(f"longer than 5: {int((fall > 0).sum())} of {len(fall)} heads score less 1,024 back")

# %% tags=["plumbing"]
# The answer, the phases, and measured scores
wave = -18 * torch.sin(torch.arange(2001) * speeds[23])
guess.reveal(straight if bool((wave.diff() < 0).all()) and wave[-1] < -1 else "makes a hill")
fig = plt.figure(figsize=(10.5, 4.2))
dial = fig.add_subplot(1, 2, 1, projection="polar")
for m, colour in ((20, "0.6"), (23, "C3")):
    dial.plot(z[:, m].angle(), z[:, m].abs(), "o", color=colour, markersize=4, label=f"pair {m}")
dial.set_title("z of 270 heads", pad=24)
dial.legend(loc="lower left", bbox_to_anchor=(-0.2, -0.12))
ax = fig.add_subplot(1, 2, 2)
charging = [int(row) for row in z[:, 23].abs().argsort(descending=True)[:60:15]]
for n, row in enumerate(charging):
    price = -z[row, 23].abs() * torch.sin(torch.arange(1025) * speeds[23])
    name = f"layer {heads['layer'][row]}, head {heads['head'][row]}"
    ax.plot(range(1025), price, color=f"C{n}", linewidth=1, label=name)
    if model:
        scores = measured[:, number[row]]
        ax.plot(distances, scores - scores[0], "o", color=f"C{n}", markersize=4)
ax.legend(fontsize=9)
ax.set(xlabel="distance (tokens)", ylabel="score of pair 23, less that at 0")
ax.set_title("dots: measured; lines: −|z| sin Δθ" if model else "−|z| sin Δθ")
plots.show(
    fig,
    "Left, z of pairs 20 and 23 in all heads as points: those of pair 20 lie near 0, the long "
    "ones of pair 23 all point upwards, at 90 degrees. Right, the prices of four heads by distance "
    "up to 1,024, nearly straight lines down; dots, what was measured, lie a little above them.",
)

# %% [markdown]
# **Look:** where pair 23 is long, it points to 90°, in every such head. (The four on the right are
# the 1st, 16th, 31st and 46th by length; the dots are of another text than the lines.) So it is a
# price: a nearly straight line down, as a head of **ALiBi** charges
# ([lesson 06](../06_alibi.ipynb)). The wave is slow enough to stay straight for a thousand tokens,
# and fast enough to fall. Most long ones of pairs 22 and 24 do the same.
#
# Does the loss need the price? Stop pair 23 alone:

# %%
alone = rises["pair 23 still"].dropna().unstack("text")
print(alone.round(2).to_string())

# %% [markdown]
# **Look:** nothing at 512 tokens, something at 4,096. Stopped, it still marks the first token, but
# charges no more.
#
# **In short**
#
# - A pair tells place once the text is long enough to turn it.
# - Stopped, left out, mean key: three surgeries, three answers. Zeroing also deletes a constant.
# - The constant marks the first token, the sink.
# - That place lies on fast pairs is geometry; that content lies on slow ones was learned.
# - Pair 23 is a straight price by distance.
#
# **Read next:** Barbero et al. 2024, *Round and Round We Go!*, arXiv 2410.06205. **Back:**
# [lesson 05](../05_rope.ipynb). **Next:** [lesson 06](../06_alibi.ipynb).
