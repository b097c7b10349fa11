"""Every encoding with its defaults and with each of its options, and small models around them."""

from typing import Any

import pytest
import torch
from hypothesis import settings

from course_utils.attention import MultiHeadAttention
from course_utils.encodings import NAMES, DynamicNTK, Scaling, create, maker_of
from course_utils.models import TinyTransformer

DYNAMIC = ("rope", {"scaling": DynamicNTK(4, 8)})
VARIANTS: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in NAMES]
CLASSES: dict[str, Any] = {name: maker_of(name) for name in NAMES}
VARIANTS += [(name, dict(options)) for name in NAMES for options in CLASSES[name].examples]
# Interpolated rows of a table mean something else in a longer text.
SAME_AT_ANY_LENGTH = [variant for variant in VARIANTS if variant[1].get("beyond") != "interpolate"]
CAUSAL_ONLY = {name for name in NAMES if create(name, d_model=16, n_heads=2).causal}


def label(variant):
    name, options = variant
    words = [name]
    for option, value in options.items():
        is_scaling = isinstance(value, Scaling)
        words.append(type(value).__name__ if is_scaling else f"{option}={value}")
    return "-".join(words)


def variants(*more):
    return pytest.mark.parametrize("variant", [*VARIANTS, *more], ids=label)


# Examples of each of so many encodings: 2 in make test, 12 in make test-all.
few_examples = settings(max_examples=max(2, settings().max_examples // 8))

VOCABULARY = 16


def attention(variant, causal=True, **kind):
    """Attention of 2 heads of width 8 behind an encoding; causal where the encoding must be."""
    name, options = variant
    encoding = create(name, d_model=16, n_heads=2, max_len=512, causal=causal, **options)
    return MultiHeadAttention(16, 2, encoding, causal or encoding.causal, **kind)


class Reader:
    """Attention from token ids on, so that encodings that look at the words can take part."""

    def __init__(self, variant, causal=True, dtype=torch.float32, **kind):
        self.attention = attention(variant, causal, **kind).to(dtype).eval()
        self.words = torch.randn(VOCABULARY, 16).to(dtype)

    def __call__(self, ids, positions=None, **how):
        row = torch.arange(ids.shape[1]) if positions is None else positions
        x = self.attention.encoding.embed(self.words[ids], row, ids)
        return self.attention.attend(x, positions, **how)


def sentence(batch=2, seq=9):
    return torch.randint(VOCABULARY, (batch, seq))


def tiny(variant, causal=True, **kind):
    name, options = variant
    kind = {"d_model": 16, "n_layers": 2, "n_heads": 2, "max_len": 512} | kind
    return TinyTransformer(VOCABULARY, name, causal=causal, **kind, **options).eval()


def rough_model(encoding, n_layers=2, **options):
    """A small causal model whose attention is far from uniform."""
    model = TinyTransformer(32, encoding, 16, n_layers, n_heads=2, max_len=32, **options)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return model.eval()
