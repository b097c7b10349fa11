# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # 06 · ALiBi: a price in practice
#
# For those who build such models: a shortcut and where it ends, the bill, other numbers of heads,
# and a line that was published with the wrong sign. It builds on [lesson 06](../06_alibi.ipynb).
# Each section stands alone.
#
# **Time:** {minutes}.

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start()

# %%
import matplotlib.pyplot as plt
import torch

from course_lab import widgets
from course_utils import plots
from course_utils.encodings.functional import alibi_bias, alibi_slopes, offset_matrix

places = torch.arange(48)
offsets = offset_matrix(places, places)
slopes = alibi_slopes(8)
bias = alibi_bias(offsets, slopes)  # (8, 48, 48)
hidden = offsets > 0  # the causal mask

# %% [markdown]
# ## A shortcut, and where it ends
#
# Some implementations, BLOOM's among them, never build the matrix of distances. They add
# $m \cdot j$ to the score of key $j$, one row for all queries. Can that be right? For earlier keys
#
# $$-m\,(i - j) = m\,j - m\,i,$$
#
# and $m\,i$ is the same for all keys of a query. Softmax does not see it.

# %%
row = slopes[:, None, None] * places  # (8, 1, 48): the shortcut, no query in it
for name, mask in {"causal": hidden, "both ways": torch.zeros_like(hidden)}.items():
    exact = bias.masked_fill(mask, -torch.inf).softmax(-1)
    shortcut = row.expand_as(bias).masked_fill(mask, -torch.inf).softmax(-1)
    gap = (shortcut - exact).abs().max()
    last = int((shortcut.argmax(-1) == 47).sum())
    print(f"{name:9} largest difference {'rounding' if gap < 1e-5 else f'{gap:.2f}'};", end=" ")
    print(f"{last} of {8 * 48} queries like the last key best")

# %% [markdown]
# Without a mask every query looks at the end of the text. With one the shortcut is exact, on paper.

# %%
guess = widgets.predict(
    "Head 0 (slope 1/2), 4,096 keys of equal score. m · j is rounded to bfloat16 before the "
    "softmax. How much of the last query's weight is moved?",
    ["under 1 %", "1 to 10 %", "more than 10 %"],
)


# %%
def moved_weight(n, kind, m):
    """The weight that rounding moves, for the shortcut and for the price, one query a head."""
    j = torch.arange(n)
    forms = {"m · j": m[:, None] * j, "−m (i − j)": -m[:, None] * (n - 1 - j)}
    right = forms["−m (i − j)"].double().softmax(-1)
    rounded = {name: scores.to(kind).double().softmax(-1) for name, scores in forms.items()}
    return {name: (other - right).abs().sum(-1) / 2 for name, other in rounded.items()}


for n in (4096, 8192):
    for name, share in moved_weight(n, torch.bfloat16, slopes).items():
        print(f"{n} keys, {name:10} head 0: {share[0]:.2f}, mean of 8 heads: {share.mean():.2f}")

# %% tags=["plumbing"]
# The answer
moved = moved_weight(4096, torch.bfloat16, slopes)["m · j"][0].item()
guess.reveal("under 1 %" if moved < 0.01 else "1 to 10 %" if moved < 0.1 else "more than 10 %")
of_bloom = moved_weight(2048, torch.bfloat16, alibi_slopes(112))["m · j"]
print(f"112 heads, 2,048 keys: head 0 {of_bloom[0]:.2f}, mean of the heads {of_bloom.mean():.2f}")

# %% [markdown]
# Far from 0 few bits are left to tell neighbours apart, as in lesson 05's closer look. Distances
# are small where the weight is, so they hardly suffer. It happens: transformers 5.23
# (`modeling_bloom.py`) rounds BLOOM's product to the model's type. (These are equal scores; content
# adds to them.) The shortcut wants a causal mask *and* enough bits.
#
# ## The bill
#
# ALiBi has no parameters. But `scaled_dot_product_attention`, PyTorch's fused attention, wants its
# bias as a tensor.

# %%
guess = widgets.predict_number(
    "32 heads, 8,192 tokens, two bytes a number: how large is the bias as one tensor?",
    "MB (of 2^20 bytes)",
)

# %%
for heads, n in ((4, 256), (12, 1024), (32, 8192)):
    whole, shortened = heads * n * n * 2 / 2**20, heads * n * 2 / 2**20
    print(
        f"{heads:2} heads, {n:4} tokens: bias {whole:7,.1f} MB, slopes {2 * heads:2} bytes, "
        f"the causal shortcut's row {shortened:.3f} MB"
    )
guess.reveal(whole, "MB")

# %% [markdown]
# And the time? Without a bias, fused attention can hide what is ahead by itself. With one, it has
# to read a matrix. (Run the cell for your machine's ratios; they are not saved.)

# %% tags=["volatile"]
import timeit

from torch.nn.functional import scaled_dot_product_attention as fused

q, k, v = torch.randn(3, 1, 8, 1024, 64)
far = offset_matrix(torch.arange(1024), torch.arange(1024))
kept = alibi_bias(far, slopes).masked_fill(far > 0, -torch.inf)
with_bias = min(timeit.repeat(lambda: fused(q, k, v, attn_mask=kept), number=1, repeat=6))
without = min(timeit.repeat(lambda: fused(q, k, v, is_causal=True), number=1, repeat=6))
print(f"with a bias {with_bias / without:.1f} times as long as without")

# %% [markdown]
# This library hands over the bias in blocks of queries. FlexAttention and FlashAttention compute
# each number where it is used. Cheap is possible. Free it is not.
#
# **Exercise 1 ★★★ ALiBi without the bill.** Write `blockwise(q, k, v, slopes, q_pos, k_pos, causal,
# block)`: the output of attention with ALiBi, (heads, queries, d), from q of that shape and k, v of
# (heads, keys, d), q · k divided by √d. Take `block` keys at a time: no tensor may be larger than
# the inputs or the scores of one block. Scores may be large, and keys stand in any order. If
# `causal`, a query sees no later key; one at least is left to it.


# %% tags=["stub"]
def blockwise(q, k, v, slopes, q_pos, k_pos, causal, block):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def blockwise(q, k, v, slopes, q_pos, k_pos, causal, block):
    top = torch.full((*q.shape[:2], 1), -1e30)  # finite, as a query may see nothing of a block
    total, out = torch.zeros_like(top), torch.zeros_like(q)
    for keys, values, at in zip(
        k.split(block, 1), v.split(block, 1), k_pos.split(block), strict=True
    ):
        steps = at[None, :] - q_pos[:, None]  # (queries, keys of this block)
        scores = q @ keys.mT / q.shape[-1] ** 0.5 - slopes[:, None, None] * steps.abs()
        if causal:
            scores = scores.masked_fill(steps > 0, -torch.inf)
        new_top = torch.maximum(top, scores.amax(-1, keepdim=True))
        shrink, weights = (top - new_top).exp(), (scores - new_top).exp()
        total = total * shrink + weights.sum(-1, keepdim=True)
        out, top = out * shrink + weights @ values, new_top
    return out / total


# %%
from course_lab.checks.lesson06 import check_any_slopes, check_blockwise

check_blockwise(blockwise)

# %% [markdown]
# ## Twelve heads
#
# The paper's text gives $m_h = 2^{-8h/H}$ for any number of heads. Its authors' *code* does
# something else for 12, which it calls a workaround, and BLOOM, with its 112 heads, follows the
# code. Either is ALiBi. But weights trained with one meet other slopes in the other.


# %%
def formula(n_heads):
    return 2 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)


# %% tags=["plumbing"]
# Formula and code
fig, axes = plt.subplots(1, 3, figsize=(10, 3.3), sharey=True)
for ax, H in zip(axes, (8, 12, 16), strict=True):
    ax.semilogy(formula(H), "x", label="formula")
    ax.semilogy(alibi_slopes(H), "o", fillstyle="none", markersize=9, label="authors' code")
    ax.set(title=f"{H} heads", xlabel="head", xticks=range(0, H, 4))
axes[0].set_ylabel("slope (score a position)")
axes[0].legend()
jump = alibi_slopes(12)[8].item()
plots.show(
    fig,
    "Slopes by head on a logarithmic axis, for 8, 12 and 16 heads. For 8 and 16 crosses and "
    "circles agree. For 12 the circles fall as for 8 heads, jump up at head 8 to "
    f"{jump:.2f}, and fall again; the crosses fall all the way.",
)

# %% [markdown]
# **Exercise 2 ★★ Any number.** Compare the circles of 12 heads with those of 8 and of 16. Then
# write `any_slopes(n_heads)`, the authors' rule for any number of heads. You may use `formula`, not
# `alibi_slopes`.


# %% tags=["stub"]
def any_slopes(n_heads):
    raise NotImplementedError("your turn")


# %% tags=["solution"]
def any_slopes(n_heads):
    lower = 2 ** (n_heads.bit_length() - 1)  # the next power of two below, or n_heads itself
    between = formula(2 * lower)[0::2]  # those of twice as many heads that are new
    return torch.cat([formula(lower), between])[:n_heads]


# %%
check_any_slopes(any_slopes)

# %% [markdown]
# ## The wrong sign
#
# This line stood in PyTorch's announcement of FlexAttention (August 2024), until pull request 1707
# of its site corrected it, and in an example of attention-gym, until pull request 86 did. Copies
# and translations of both still have it.


# %%
def published(slopes, q_pos, k_pos):
    return (q_pos[:, None] - k_pos[None, :]) * slopes[:, None, None]


weights = published(slopes, places, places).masked_fill(hidden, -torch.inf).softmax(-1)
print(f"causal, head 0, query 47: weight on key 0 {weights[0, 47, 0]:.2f}, on itself", end=" ")
print(f"{weights[0, 47, 47]:.0e}")

# %% [markdown]
# It pays for distance, and nothing raises an error. A test is one line: *of two keys with equal
# scores, the nearer one weighs more.*
#
# ## Myth check
#
# Guess first.

# %% tags=["plumbing"]
# A claim, settled by a source
from course_lab.claims import Claim, Myths
from course_utils.measures import passport

myths = Myths(
    {
        "C44": Claim(
            "arXiv 2211.05100 is the ALiBi paper.",
            scope="what stands on arXiv under this number",
            evidence="source",
        ),
        "C43": Claim(
            "ALiBi has no parameters and costs nothing.",
            scope="this library, one layer of 4 heads, one text of 256 tokens, no mask",
            evidence="exact",
        ),
    }
)

# %% tags=["plumbing"]
# The verdicts
myths.settle(
    "C44",
    {"arXiv": False},
    "By the source, not by a run: 2211.05100 is the report on BLOOM, a model that uses ALiBi. The "
    "ALiBi paper is 2108.12409.",
)
facts = passport("alibi", batch=1)
products = 2 * 2 * 256**2 * 128  # q · k and weights · v, of width 128 in all
of_attention = 100 * (facts["extra_flops"] + 4 * 256**2) / products
myths.settle(
    "C43",
    {
        "no learned parameters": facts["parameters"] == 0,
        "nothing stored": facts["buffers"] == 0,
        "no extra arithmetic": facts["extra_flops"] == 0,
        "no extra tensors": facts["extra_bytes"] == 0,
    },
    f"No parameters and nothing stored. But {facts['extra_flops']:,} operations build the price, "
    f"4 · 256² = {4 * 256**2:,} more add it to the scores, together {of_attention:.1f} % of what "
    f"scores and weighted values take, and one tensor of it takes {4 * 4 * 256**2:,} bytes.",
)

# %% [markdown]
# **Back:** [lesson 06](../06_alibi.ipynb). **Next:** [other prices](06_other_prices.ipynb).
