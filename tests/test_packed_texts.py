"""Several texts in one row, kept apart by a mask: each gets what it gets alone."""

import pytest
import torch
from closeness import gap

from course_utils.attention import FixedCache, KVCache, MultiHeadAttention, document_mask
from course_utils.encodings import NAMES, DynamicNTK, create
from course_utils.models import TinyTransformer

LENGTHS = (3, 150, 7)  # in sum beyond a block of queries


def packed(lengths=LENGTHS):
    """Document of each token, and its position in its own text, (1, seq) each."""
    documents = torch.cat([torch.full((n,), number) for number, n in enumerate(lengths)])
    positions = torch.cat([torch.arange(n) for n in lengths])
    return documents[None], positions[None]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("causal", [True, False], ids=["causal", "both ways"])
def test_packed_texts_get_what_each_gets_alone(name, causal):
    if name in ("xpos", "cope") and not causal:
        pytest.skip(f"{name} is for causal attention only")
    model = TinyTransformer(11, name, 16, 2, 2, max_len=160, causal=causal).eval()
    texts = [torch.randint(11, (1, n)) for n in LENGTHS]
    documents, positions = packed()
    with torch.no_grad():
        alone = torch.cat([model(text) for text in texts], dim=1)
        together = model(torch.cat(texts, 1), positions, attention_mask=document_mask(documents))
    assert gap(together, alone) <= 1e-4


def test_without_the_mask_a_text_sees_the_texts_before_it():
    module = MultiHeadAttention(16, 2, create("rope", d_model=16, n_heads=2), causal=True)
    x, (documents, positions) = torch.randn(1, sum(LENGTHS), 16), packed()
    mask = document_mask(documents)
    leaking, apart = module(x, positions)[0], module(x, positions, attention_mask=mask)[0]
    assert gap(leaking[:, -7:], apart[:, -7:]) > 1e-2


def test_weights_of_another_text_are_zero():
    module, x = MultiHeadAttention(16, 2), torch.randn(1, 6, 16)
    documents, positions = packed((2, 4))
    _, weights = module(x, positions, need_weights=True, attention_mask=document_mask(documents))
    assert bool((weights[..., :2, 2:] == 0).all()) and bool((weights[..., 2:, :2] == 0).all())
    assert gap(weights.sum(-1), torch.ones(1, 2, 6)) <= 1e-6


@pytest.mark.parametrize("cache", [KVCache, lambda: FixedCache(12)], ids=["growing", "fixed"])
def test_a_mask_for_each_query_does_not_go_with_a_cache(cache):
    module = MultiHeadAttention(16, 2, causal=True)
    mask = document_mask(packed((2, 4))[0])
    with pytest.raises(ValueError, match=r"attention_mask must be \(batch, keys\) beside a cache"):
        module(torch.randn(1, 6, 16), cache=cache(), attention_mask=mask)


def test_a_scaling_that_looks_at_the_length_refuses_a_mask_for_each_query():
    encoding = create("rope", d_model=16, n_heads=2, scaling=DynamicNTK(2.0, 4))
    module = MultiHeadAttention(16, 2, encoding, causal=True)
    documents, positions = packed((2, 4))
    with pytest.raises(ValueError, match="no one length"):
        module(torch.randn(1, 6, 16), positions, attention_mask=document_mask(documents))


def test_a_mask_of_another_shape_is_refused(plain_arguments):
    module = MultiHeadAttention(16, 2)
    with pytest.raises(
        ValueError, match=r"attention_mask must have shape \(1, 6, 6\).*\(1, 5, 6\)"
    ):
        module(torch.randn(1, 6, 16), attention_mask=torch.ones(1, 5, 6, dtype=torch.bool))
