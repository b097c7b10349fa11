"""What holds for every encoding and option: create(), fingerprint and passport."""

from typing import Any

import pytest
from pairwise import each_once
from variants import DYNAMIC, VARIANTS, variants

from course_lab.measures import content_spread, passport_text
from course_utils import measures
from course_utils.encodings import NAMES, create, options_of

# create() and what it makes


def test_the_contracts_names_are_all_there():
    absolute = {"none", "sinusoidal", "learned", "multiplicative", "floater", "complex_order"}
    relative = {"shaw", "transformer_xl", "t5", "deberta", "rope", "xpos"}
    additive = {"alibi", "kerple", "fire", "sandwich", "cope"}
    assert set(NAMES) >= absolute | relative | additive


@pytest.mark.parametrize("name", NAMES)
def test_create_needs_nothing_but_the_sizes(name):
    encoding = create(name, d_model=32, n_heads=4)
    assert (encoding.d_model, encoding.n_heads, encoding.d_head) == (32, 4, 8)


@pytest.mark.parametrize("name", NAMES)
def test_every_encoding_but_none_opens_a_door(name):
    assert bool(create(name, d_model=32, n_heads=4).doors) == (name != "none")


@variants(DYNAMIC)
def test_printing_an_encoding_shows_its_sizes_and_options(variant):
    name, options = variant
    shown = repr(create(name, d_model=16, n_heads=2, **options))
    assert "d_model=16, n_heads=2" in shown
    for option in options_of(name):
        assert f"{option}=" in shown


@pytest.mark.parametrize("name", NAMES)
def test_every_option_can_be_passed(name):
    for option in options_of(name):
        nonsense: dict[str, Any] = {option: object()}
        with pytest.raises((TypeError, ValueError), match=option):
            create(name, d_model=16, n_heads=2, **nonsense)


# Measures of every encoding


@variants(DYNAMIC)
def test_a_fingerprint_has_a_finite_matrix_for_each_head(variant):
    name, options = variant
    encoding = create(name, d_model=16, n_heads=2, causal=True, **options)
    for measure in (measures.fingerprint, content_spread):
        scores = measure(encoding, 12)
        assert scores.shape == (2, 12, 12)
        assert bool(scores.isfinite().all())


@each_once(variant=VARIANTS, causal=(False, True))
def test_the_passport_tells_schemes_that_see_offsets_only_from_the_others(variant, causal):
    name, options = variant
    facts = measures.passport(
        name, d_model=16, n_heads=2, length=40, causal=causal, max_len=100, **options
    )
    assert facts["name"] == name
    encoding = create(name, d_model=16, n_heads=2, max_len=100, **options)
    if encoding.offsets_only or variant == ("fire", {}):  # up to its L₀, 512
        assert facts["shift_error"] <= 1e-5
    else:
        assert facts["shift_error"] > 1e-5
    assert f"{facts['parameters']:,}" in passport_text(facts)
    if name == "xpos":  # its factors leave the range of float32
        assert 30_000 < facts["longest"] < 40_000
    else:
        is_table = "beyond" in options_of(name) and not options
        assert facts["longest"] == (100 if is_table else None)
