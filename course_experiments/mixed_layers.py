"""A mixed model: RoPE in three layers of four, no position in the fourth.

SmolLM3 is built so (Bakouch et al. 2025), after Yang et al. 2025, *RoPE to NoPE and back again*,
arXiv 2501.18795.
"""

from course_utils.encodings import PositionalEncoding, create

NAME = "rope_mixed"
WITHOUT = 4  # every fourth layer has no position


def rope_mixed(d_model: int, n_heads: int, layer: int) -> PositionalEncoding:
    """The encoding of one layer; layers are counted from 0, and layer 3 is the first without."""
    name = "none" if layer % WITHOUT == WITHOUT - 1 else "rope"
    return create(name, d_model=d_model, n_heads=n_heads, causal=True)
