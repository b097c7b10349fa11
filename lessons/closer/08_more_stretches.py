# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # 08 · Stretching RoPE: a closer look
#
# For those who read configuration files and write caches: each way as a formula and in a large
# head, a position as digits, two ramps of one name, a larger base and its factor, clamped hands,
# and keys that are cached under an old base. It builds on [lesson 08](../08_stretching_rope.ipynb).
# Each section can be read alone; run the cells from the top.
#
# **Time:** {minutes}.

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start()

# %%
import math

import torch

from course_lab import explorers, widgets
from course_utils.encodings.functional import rope_frequencies, scaled_frequencies

# %% [markdown]
# ## A counter with too few digits
#
# Take a counter with three wheels: ones, tens, hundreds. In training it ran from 0 to 99. Now it
# must count to 799, eight times as far.

# %%
guess = widgets.predict(
    "Just let it run on to 799. How many of the wheels show a digit that they never showed?",
    ["none", "one", "two", "three"],
)

# %% [markdown]
# Digit $m$ of position $p$ in base $\beta$ is $\lfloor p / \beta^m \rfloor \bmod \beta$. RoPE turns
# pair $m$ by the angle $p\,\theta_m = p / \beta^m$ with $\beta = b^{2/d}$: the same quotient (Su,
# kexue.fm 9675). This is an analogy. Hands glide where wheels click, and an angle counts modulo
# $2\pi$, not modulo $\beta$.

# %%
s = 8
counters = {  # positions in which a wheel moves on by 1: ones, tens, hundreds
    "direct": (1, 10, 100),
    "interpolation": (s, 10 * s, 100 * s),
    "NTK-aware": (1, 10 * s**0.5, 100 * s),
    "by parts": (1, 10 / ((1 + 1 / s) / 2), 100 * s),  # the tens: half of each speed
}

# %% tags=["plumbing"]
# The answer, and how each way counts
new_wheels = {}
print("637 on hundreds, tens, ones; neighbours apart on the ones; wheels with a new digit")
for name, units in counters.items():
    new_wheels[name] = sum(  # it had not shown all digits by 99, and now it gets further
        99 // trained_unit < 9 and 799 // unit > 99 // trained_unit
        for trained_unit, unit in zip(counters["direct"], units, strict=True)
    )
    shown = ", ".join(f"{637 / unit % 10:4.1f}" for unit in units[::-1])
    print(f"{name:14} {shown};  {1 / units[0]:.2f} apart;  {new_wheels[name]} new")
guess.reveal(["none", "one", "two", "three"][new_wheels["direct"]])

# %% [markdown]
# **Look:** the hundreds, which had stood at 0. Interpolation slows all wheels, so nothing is new,
# but neighbours are only 1/8 apart. NTK-aware leaves the ones alone and slows the others more and
# more. *By parts* decides wheel by wheel: keep, slow, or between, as Llama's ramp does. (The
# analogy has a limit: the lesson's hands 8 to 15 met new angles too, and slowing them changed
# hardly anything.)
#
# ## The ways as formulas
#
# Two claims that one can read. Guess before you see the formulas.

# %% tags=["plumbing"]
# Two claims
from course_lab.claims import Claim, Myths

myths = Myths(
    {
        "C46": Claim(
            "Position interpolation multiplies positions by L_test/L_train.",
            scope="interpolation as Chen et al. define it",
            evidence="exact",
        ),
        "C47": Claim(
            "NTK-aware scaling multiplies θ_m by s^(+2m/d).",
            scope="NTK-aware scaling as YaRN's paper defines it, heads of 32 and 128",
            evidence="exact",
        ),
    }
)

# %% tags=["plumbing"]
# The verdicts
from course_utils.encodings import NTK, Linear
from course_utils.models import shipped
from course_utils.texts import text

tokens = text.split(text.documentation()).held_out[:1, :256].to(device)
model = shipped.model("rope").to(device)
with torch.no_grad():
    stretched_out = shipped.model("rope", scaling=Linear(4)).to(device)(tokens)
    agrees = {
        name: bool((model(tokens, torch.arange(256) * by) - stretched_out).abs().max() < 1e-3)
        for name, by in {"L_test/L_train": 4.0, "L_train/L_test": 0.25}.items()
    }
myths.settle(
    "C46",
    {"the model's outputs at 256": agrees["L_test/L_train"]},
    "The shipped model stretched by 4 gives the outputs of positions times L_train/L_test to "
    f"rounding: {agrees['L_train/L_test']}; those of positions times L_test/L_train: "
    f"{agrees['L_test/L_train']}.",
)
by_hand = rope_frequencies(32, 10_000.0 * 8 ** (32 / 30)) / rope_frequencies(32)
claimed = {}
for d in (32, 128):
    plain = rope_frequencies(d)
    ratio = NTK(8).frequencies(plain, 10_000.0)[0] / plain
    claimed[d] = torch.allclose(ratio, 8.0 ** (2 * torch.arange(d // 2, dtype=ratio.dtype) / d))
agrees_by_hand = torch.allclose(by_hand, 8.0 ** (-2 * torch.arange(16, dtype=by_hand.dtype) / 30))
myths.settle(
    "C47",
    {f"heads of {d}": correct for d, correct in claimed.items()},
    f"θ_m is multiplied by s^(−2m/(d−2)), from a base computed by hand: {agrees_by_hand}. "
    f"With s = 8 the slowest of 16 pairs has {by_hand[-1]:.3f} of its speed; the claim would make "
    f"it {8 ** (30 / 32):.1f} times as fast.",
)

# %% [markdown]
# $L$ is the trained length, $s$ the factor.
#
# $$\begin{aligned}
# \text{interpolation:}\quad & \theta_m / s \\
# \text{NTK-aware:}\quad & b \to b \cdot s^{d/(d-2)} && \text{so } \theta_m \to \theta_m \cdot
# s^{-2m/(d-2)} \\
# \text{by parts:}\quad & \gamma_m \theta_m + (1 - \gamma_m)\,\theta_m / s
# && \gamma_m: \text{YaRN's ramp (here and below), or Llama's}
# \end{aligned}$$
#
# Dynamic NTK is NTK-aware with $s = n/L$ for the $n$ tokens read so far. YaRN also multiplies all
# scores by $(0.1 \ln s + 1)^2$, a *temperature*. LongRoPE (Ding et al. 2024) searches a factor for
# each pair, and multiplies scores too.

# %%
from course_utils.models.stretching import WAYS, way_to_stretch

theta = rope_frequencies(128)  # a head of Llama 2, trained at 4,096
for way in WAYS:
    speed, factor = scaled_frequencies(128, 10_000.0, way_to_stretch(way, 8, 4096, 128), 8 * 4096)
    n_kept = int((speed > 0.99 * theta).sum())
    print(f"{way:14} {n_kept:2} of 64 pairs keep their speed; scores × {factor**2:.2f}")

# %% [markdown]
# That head, drawn. The solid line is the trained length, the dashed one the new one. A cross marks
# *new angles*: the pair did not finish a turn in training, and now turns further than it did there.
#
# - "interpolation", factor 8: which pairs keep their speed?
# - "NTK-aware": are there crosses? How far must the factor go until there are none?
# - "YaRN", then "Llama 3.1": where does each begin to slow?

# %%
explorers.stretched_waves()

# %% [markdown]
# ## Two ramps of one name
#
# YaRN's paper lets the share kept rise evenly with the *turns*, from 1 to 32. Its released code
# lets it fall evenly with the *index* $m$ between the two pairs that make 32 turns and one
# (github.com/jquesnelle/yarn, issue 60). Libraries follow the code. Does it matter?

# %%
from course_utils.encodings import LongRoPE, YaRN
from course_utils.measures.trained_models import sliding_loss

own = rope_frequencies(32)  # the course's model: 16 pairs, trained at 64
own_turns = 64 * own / (2 * math.pi)
kept = ((own_turns - 1) / (32 - 1)).clamp(0, 1)
of_paper = kept + (1 - kept) / 8  # the share of its speed that a pair gets
of_code = scaled_frequencies(32, 10_000.0, YaRN(8, 64))[0] / own
ramps = {"paper": of_paper, "code": of_code}
for name, ramp in ramps.items():
    print(f"{name:6}", " ".join(f"{share:.2f}" for share in ramp[:6].tolist()), "…")

# %%
blocks = text.split(text.documentation()).held_out[:3, :1537].to(device)


def rises(factors, seed=0):
    """Rise of the loss at 64 and at 512 bytes over the unstretched model at 64."""
    scaling = LongRoPE(list(factors), 1.0, 64)  # a factor for each pair, no temperature
    plain, new = (
        shipped.model("rope", seed=seed, scaling=way).to(device) for way in (None, scaling)
    )
    home = sliding_loss(plain, blocks, 64, 512)[0]
    return [sliding_loss(new, blocks, n, 512)[0] - home for n in (64, 512)]


# %% tags=["plumbing"]
# Both ramps
for seed in (0, 1, 2):
    for name, ramp in ramps.items():
        short, long = rises((1 / ramp).tolist(), seed)
        print(f"model {seed}, {name:5}: rise at 64 bytes {short:.1f}, at 512 {long:.1f}")

# %% [markdown]
# **Look:** for heads that make few turns the two are far apart. No pair of ours makes 32, so the
# paper's ramp slows nearly all of them to an eighth: interpolation. "YaRN" in a table of
# results may be either.
#
# ## How much NTK?
#
# NTK-aware spares the fast pairs, and it failed in the lesson. YaRN's paper says why: pairs between
# are slowed too little, so the factor has to be above the extension. Here it is swept.

# %% tags=["plumbing"]
# The sweep, from the shipped results
from course_utils.results import AS_TRAINED, change
from course_utils.texts import data

results = data.results("stretching")


def at(way, n, s):
    about = {"way": way, "factor": s, "reading": AS_TRAINED, "read": n}
    return {**about, "tuned": 0, "tuned_at": 0}


for n in (128, 256, 512, 1024):
    fit = at("NTK-aware", n, n / 64)
    gaps = {k: change(results, fit, at("NTK-aware", n, k * n / 64)) for k in (1.25, 1.5, 2, 3, 4)}
    best = min(gaps, key=lambda k: gaps[k].mean)
    rest = change(results, at("by parts", n, n / 64), at("NTK-aware", n, best * n / 64))
    print(f"{n} bytes, factor {n // 64} × k less factor {n // 64}:", end=" ")
    print(", ".join(f"k = {k:g} {gap}" for k, gap in gaps.items()))
    print(f"   k = {best:g} less by parts, which has the factor {n // 64}: {rest}")

# %% [markdown]
# **Look:** at every length some factor above the extension reads clearly better. Which one differs,
# and 1.5 times can do harm. From 256 on by parts, with the plain factor, is clearly better than the
# best of these five.
#
# **Exercise 1 ★★ The smallest factor.** Some pairs of a head of d features make no whole turn in
# `trained` positions. Write `ntk_factor(d, base, trained, target)`: the smallest factor of
# NTK-aware scaling, a float of at least 1, with which none of them turns further in `target`
# positions than in training. (The fastest pair always makes a turn.)


# %% tags=["stub"]
def ntk_factor(d, base, trained, target):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def ntk_factor(d, base, trained, target):
    for m in range(d // 2):
        if trained * base ** (-2 * m / d) < 2 * math.pi:  # the fastest of them is slowed least
            return (target / trained) ** ((d - 2) / (2 * m))
    return 1.0


# %%
from course_lab.checks.lesson08 import check_cached_scores, check_ntk_factor

check_ntk_factor(ntk_factor)

# %% [markdown]
# ## Clamp some hands
#
# Under the clamp of the lesson's last exercise no key seems farther away than 63. Now it is put on
# some hands only.

# %% tags=["plumbing"]
# Clamped hands, from the shipped results
hands = data.results("stretching_hands").groupby(["way", "read", "seed"])["loss"].mean()
direct = hands["direct", 512] - hands["direct", 64]
print(
    "rise at 512 over just cutting to 64, three models, six passages; share of direct's rise gone"
)
for name, way in {
    "none, direct": "direct",
    "hands 5 to 15 clamped": "clamped 63, pairs 5-15",
    "hands 0 to 4 clamped": "clamped 63, pairs 0-4",
    "all clamped": "clamped 63",
    "all clamped at 31": "clamped 31",
}.items():
    above_cut = hands[way, 512] - hands["direct", 64]
    gone = 1 - above_cut / direct
    values = "  ".join(f"{value:+.2f}" for value in above_cut)
    print(f"{name:22} {values}   gone: {gone.min():.2f} to {gone.max():.2f}")

# %% [markdown]
# **Look:** clamping the eleven that did not go round takes more than four fifths of the rise away.
# Clamping the five others takes more than two fifths, though each has pointed everywhere. Perhaps
# they meet *combinations* of angles that are new; perhaps it helps by itself that far keys look
# alike. No cell here tells the two apart.
#
# Turned the other way: which keys need the fast hands' speed? Here these are slowed to an eighth at
# home, for some keys only.

# %% tags=["plumbing"]
# Slowed for near or for far keys, from the shipped results
print("rise at 64 bytes over direct, three models, six passages")
for name, way in {
    "hand 0, keys up to 4 back": "pair 0, at most 4 back",
    "hand 0, keys farther back": "pair 0, at least 5 back",
    "hands 1 to 4, keys up to 4 back": "pairs 1-4, at most 4 back",
    "hands 1 to 4, keys 5 to 16 back": "pairs 1-4, 5 to 16 back",
    "hands 1 to 4, keys farther back": "pairs 1-4, at least 17 back",
}.items():
    above_direct = hands[way, 64] - hands["direct", 64]
    print(f"{name:32}", "  ".join(f"{value:+.2f}" for value in above_direct))

# %% [markdown]
# **Look:** hand 0 matters for the last few bytes, hands 1 to 4 together for those some 5 to 16
# back.
#
# ## Trained on, read twice as long
#
# The lesson trained on at 512 bytes with $s = 8$. Here three such models read 1,024, with the
# factor of training and with 16.

# %% tags=["plumbing"]
# Above a control that was trained on at 64 and reads 64, three models
refitted = data.results("stretching_refitted").set_index("seed")
control = refitted.query("read == 64 and tuned_at == 64")["loss"]
trained_on = refitted.query("tuned_at == 512").pivot(columns=["way", "factor", "read"])["loss"]
print("loss at 1,024 above the control, three models")
print("just cut, 512 ", "  ".join(f"{x:.3f}" for x in trained_on["direct", 1, 512] - control))
print("direct        ", "  ".join(f"{x:.3f}" for x in trained_on["direct", 1, 1024] - control))
for way in ("interpolation", "NTK-aware", "Llama 3.1", "step", "YaRN"):
    for factor in (8, 16):
        values = "  ".join(f"{x:.3f}" for x in trained_on[way, factor, 1024] - control)
        print(f"{way:14} {values}   s = {factor}")

# %% [markdown]
# **Look:** with $s = 8$ each way is behind *direct*. With $s = 16$ the step, Llama's ramp and YaRN
# are ahead of it in each model, NTK-aware in two of three. None is ahead of just cutting to 512.
#
# ## A cache under dynamic NTK
#
# The base changes with every token past $L$. Suppose someone turns each key when it comes and keeps
# it, as caches do. Here L is 8, and the newest of 24 tokens looks back. By the angle between it and
# a key, how far off does the key seem?

# %%
from course_utils.encodings import DynamicNTK
from course_utils.encodings.functional import apply_rope, rope_angles

slowest = {n: scaled_frequencies(8, 100.0, DynamicNTK(1.0, 8), n)[0][-1] for n in range(1, 25)}
for place in (0, 8, 16, 20, 23):
    angle = 23 * slowest[24] - place * slowest[place + 1]
    print(f"{23 - place:2} positions back: seems {angle / slowest[24]:5.1f} to the slowest pair")

# %% [markdown]
# **Exercise 2 ★★ Without the bug.** Write `cached_scores(q, keys, trained, base)`: the right
# scores, divided by $\sqrt d$, of the newest query with all $n$ keys. `q` is (d,), `keys` (n,
# d), both not
# turned yet; the last key is the query's own. Use `DynamicNTK(1.0, trained)`,
# `scaled_frequencies(d, base, scaling, n)`, which gives the speeds first, and
# `apply_rope(x, rope_angles(positions, speeds))`.


# %% tags=["stub"]
def cached_scores(q, keys, trained, base):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def cached_scores(q, keys, trained, base):
    n, d = keys.shape
    speeds = scaled_frequencies(d, base, DynamicNTK(1.0, trained), n)[0]
    turned = apply_rope(keys, rope_angles(torch.arange(n), speeds))
    query = apply_rope(q[None], rope_angles(torch.tensor([n - 1]), speeds))[0]
    return turned @ query / d**0.5


# %%
check_cached_scores(cached_scores)

# %% [markdown]
# **Next:** [a search, and needles](08_search_and_needles.ipynb), or back to
# [lesson 08](../08_stretching_rope.ipynb).
