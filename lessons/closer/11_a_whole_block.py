# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # 11 · Capstone: from attention to a model
#
# For those who read on: what stands round attention in a transformer, and where the four doors are
# in it. It builds on lesson 01 and on [lesson 11](../11_capstone.ipynb).
#
# **Time:** {minutes}.

# %% tags=["nbval-ignore-output"]
import course_lab

device = course_lab.start()

# %% [markdown]
# ## A block
#
# A transformer is one *block*, repeated. A block has two parts. Attention lets tokens look at each
# other. A small network of two layers, the *MLP*, then works on each token alone. Two more things
# make a deep stack of them trainable:
#
# - *Norm*: before each part every token's vector is brought to mean 0 and variance 1, then
#   stretched and moved by learned numbers. So a part reads the same sizes in block 1 and in block
#   40.
# - *Residual*: what a part returns is added to what came in. So a block changes the vector a
#   little, and the way from the last block back to the first stays open.
#
# $$x \leftarrow x + \mathrm{attention}(\mathrm{norm}(x)), \qquad
# x \leftarrow x + \mathrm{MLP}(\mathrm{norm}(x)).$$


# %%
def block_from_scratch(x, block, at):
    """One block: x (batch, seq, width), `at` the positions of this pass."""
    attended, _ = block.attention(block.attention_norm(x), at=at)  # doors 2 to 4
    x = x + attended
    hidden = block.mlp_norm(x)
    for layer in block.mlp:  # a matrix, GELU, a matrix
        hidden = layer(hidden)
    return x + hidden


# %%
from course_utils.attention.kv_cache import places_of


def model_from_scratch(model, tokens):
    """Logits of a TinyTransformer."""
    at = places_of(tokens)  # positions 0, 1, 2, … of queries and keys
    x = model.embedding(tokens) * model.embedding_factor
    x = model.encoding.embed(x, at.embedding_positions, tokens)  # door 1, once
    for block in model.blocks:
        x = block_from_scratch(x, block, at)
    return model.head(model.norm(x))


# %%
import torch

from course_utils.models import TinyTransformer

tokens = torch.randint(100, (2, 20), device=device)
for name in ("sinusoidal", "rope", "alibi", "shaw"):
    model = TinyTransformer(100, name, d_model=64, n_layers=3).to(device).eval()
    with torch.no_grad():
        assert torch.allclose(model_from_scratch(model, tokens), model(tokens), atol=1e-4)
    print(f"{name:10} doors: {', '.join(model.encoding.doors):12} the same logits")

# %% [markdown]
# GPT-2 is built on this plan. Newer models change parts, such as RMSNorm for the norm and a gated
# MLP, and keep it. Where is each door passed? Let us count the calls in three blocks.

# %%
from unittest.mock import patch

calls = {}
for name, door in (("sinusoidal", "embed"), ("rope", "rotate"), ("t5", "bias")):
    model = TinyTransformer(100, name, d_model=64, n_layers=3).to(device).eval()
    with patch.object(model.encoding, door, wraps=getattr(model.encoding, door)) as counted:
        model(tokens, need_weights=True)  # with weights, attention is computed step by step
    calls[name] = counted.call_count
    print(f"{name:10} {door:6}: {calls[name]} of 3 blocks")

# %% [markdown]
# **Look:** door 1 is passed once. The residual carries what was added through all blocks, beside
# the words. Doors 2 to 4 act on one attention's queries, scores and sums, so each block opens them
# again. (FLOATER, which adds anew before every block, is the exception in this course.)
#
# One encoding object serves all blocks here, and its numbers are learned together. T5 does so, too.
# Others keep numbers of their own in each block, such as Shaw's tables.
#
# **Read next:** `course_utils.models.transformer`, the same with caches and masks; Vaswani et al.
# 2017, arXiv 1706.03762, section 3; on the norm before each part, Xiong et al. 2020, arXiv
# 2002.04745.
#
# **Back to:** [lesson 11](../11_capstone.ipynb).
