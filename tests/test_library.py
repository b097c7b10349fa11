"""What docs/library.md promises: its examples run, and its tables are complete."""

import ast
import inspect
import os
import re
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from course_lab import clinic
from course_utils import pretrained
from course_utils.attention import KVCache, MultiHeadAttention
from course_utils.encodings import (
    NAMES,
    Places,
    PositionalEncoding,
    Scaling,
    YaRN,
    create,
    options_of,
    scaling,
)
from course_utils.models import from_file

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
OF_MODELS = [example for example in EXAMPLES if "pretrained" in example]
OWN = ("MyALiBi", "Window", "OffsetTable", "Ramp", "OneSpeed", "Sink", "Lookback")
OUTPUT_TOLERANCE = 1e-6


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The names that the examples define, run in their order, and the lines they print."""
    names: dict = {}
    printed = StringIO()
    with chdir(tmp_path_factory.mktemp("examples")), redirect_stdout(printed):
        torch.manual_seed(0)
        for example in EXAMPLES:
            if example not in OF_MODELS:
                exec(compile(example, "library.md", "exec"), names)
        os.remove("rope.safetensors")
    return SimpleNamespace(**names, lines=printed.getvalue().splitlines())


def example_with(text: str) -> str:
    return next(example for example in EXAMPLES if text in example)


# ------------------------------------------------------------------------- attention and models


def test_the_examples_print_what_their_comments_say(page):
    names, shapes, offsets, hidden, stacked, window, same, note, refusal = page.lines
    assert names == str(NAMES)
    assert shapes == "torch.Size([2, 10, 128]) torch.Size([2, 4, 10, 10])"
    assert f"# {offsets}: a row a query" in PAGE and f"# {hidden}" in PAGE
    assert stacked == "torch.Size([2, 12, 64])"
    assert (window, same, note) == ("[9, 10, 11]", "True", "my_text.txt")
    assert "encoding.class: Rotary there, ALiBi here; " in refusal


def test_the_model_of_ones_own_takes_25_lines(page):
    assert len(example_with("class Mine").splitlines()) <= 25


def test_a_batch_with_padding_and_a_cache_is_read_as_each_text_alone(page):
    model, cache = page.Mine(), KVCache()
    ids = torch.tensor([[0, 0, 0, 7, 8], [1, 2, 3, 4, 5]])
    model(ids, cache, mask=ids > 0)
    together = model(torch.tensor([[9], [6]]), cache)
    for row, words in enumerate(([7, 8, 9], [1, 2, 3, 4, 5, 6])):
        alone = model(torch.tensor([words]))
        assert (alone[0, -1] - together[row, -1]).abs().max() <= OUTPUT_TOLERANCE


def test_a_stack_passes_door_1_once_and_reads_in_pieces_as_at_once(page):
    encoding = create("sinusoidal", d_model=64, n_heads=4)
    stack = page.Stack(encoding, n_layers=2)
    x = torch.randn(2, 12, 64)
    expected = encoding.embed(x, torch.arange(12))
    for layer in stack.layers:
        expected = expected + layer.attend(expected)[0]
    whole = stack(x)
    assert (whole - expected).abs().max() <= OUTPUT_TOLERANCE
    caches = [KVCache(), KVCache()]
    pieces = torch.cat([stack(x[:, :7], caches=caches), stack(x[:, 7:], caches=caches)], dim=1)
    assert (pieces - whole).abs().max() <= 1e-5
    mask = torch.ones(2, 12, dtype=torch.bool)
    mask[0, :5] = False
    padded = stack(x, mask=mask)
    assert (padded[0, 5:] - stack(x[:1, 5:])[0]).abs().max() <= OUTPUT_TOLERANCE


def test_the_functions_turn_as_the_module_does():
    names: dict = {}
    torch.manual_seed(0)
    exec(compile(example_with("apply_rope(q"), "library.md", "exec"), names)
    torch.manual_seed(0)
    x, yarn = torch.randn(2, 4, 10, 16), YaRN(factor=4, original_len=2048)
    rope = create("rope", d_model=64, n_heads=4, layout="half", scaling=yarn)
    q, k = rope.rotate(x, x, Places(torch.arange(10)))
    assert (names["q"] - q).abs().max() <= OUTPUT_TOLERANCE
    assert (names["k"] - k).abs().max() <= OUTPUT_TOLERANCE


@pytest.mark.skipif(bool(pretrained.missing()), reason="needs the published models")
def test_the_published_models_are_what_their_section_says():
    names: dict = {}
    for example in OF_MODELS:
        exec(compile(example, "library.md", "exec"), names)
    vectors, model, longer = names["vectors"], names["model"], names["longer"]
    assert vectors.shape == (2, 384)
    assert (vectors.norm(dim=-1) - 1).abs().max() <= 1e-6
    assert longer.encoding.options["scaling"] == YaRN(2.0, 8192)
    assert model.encoding.options["scaling"] is None
    assert longer.embedding.weight.data_ptr() == model.embedding.weight.data_ptr()


# ------------------------------------------------------------------------- encodings of one's own


def test_doors_of_ones_own_take_five_lines_at_most():
    tree = ast.parse("".join(example for example in EXAMPLES if "(PositionalEncoding)" in example))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    assert [node.name for node in classes] == list(OWN)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or 0) - node.body[0].lineno < 5, node.name


@pytest.mark.parametrize("name", [*OWN, "every_fourth_without"])
def test_an_encoding_of_ones_own_holds_every_property_that_is_asked_of_it(page, name):
    maker = getattr(page, name)
    faults = clinic.properties(maker)
    if name in ("Ramp", "Sink"):  # they see places, not offsets alone
        assert faults.pop("shift")
    assert set(faults.values()) == {""}


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("need_weights", [True, False])
def test_an_encoding_of_ones_own_knows_nothing_of_padding_and_reads_it_rightly(
    page, name, causal, need_weights
):
    attention = MultiHeadAttention(16, 2, getattr(page, name)(16, 2), causal=causal)
    x, visible = torch.randn(2, 12, 16), torch.ones(2, 12, dtype=torch.bool)
    visible[0, :9] = False  # further than the window reaches
    out = attention(x, need_weights=need_weights, attention_mask=visible)[0]
    assert out.isfinite().all()
    for row, mask in enumerate(visible):
        alone = attention(x[row, mask][None])[0][0]
        assert (out[row, mask] - alone).detach().abs().max() <= OUTPUT_TOLERANCE


@pytest.mark.parametrize("length", [7, 300])
def test_alibi_of_ones_own_is_the_courses(page, length):
    attention = MultiHeadAttention(16, 2, page.MyALiBi(16, 2), causal=True)
    course = MultiHeadAttention(16, 2, create("alibi", d_model=16, n_heads=2), causal=True)
    course.load_state_dict(attention.state_dict())
    x = torch.randn(1, length, 16)
    assert (attention(x)[0] - course(x)[0]).detach().abs().max() <= OUTPUT_TOLERANCE


@pytest.mark.parametrize("causal", [True, False])
def test_a_window_of_ones_own_hides_what_is_further_away(page, causal):
    window = page.Window(16, 2)
    row = torch.arange(200)
    near = (row - row[:, None]).abs() < window.width
    attention = MultiHeadAttention(16, 2, window, causal=causal)
    weights = attention(torch.randn(1, 200, 16), need_weights=True)[1]
    assert torch.equal(weights[0, 0] > 0, near.tril() if causal else near)


def test_an_encoding_by_layer_comes_back_from_a_file(page, tmp_path):
    kinds = [type(block.attention.encoding).__name__ for block in page.hybrid.blocks]
    assert kinds == ["Rotary", "Rotary", "Rotary", "NoEncoding"]
    page.hybrid.save(tmp_path / "hybrid.safetensors")
    again = from_file(tmp_path / "hybrid.safetensors")
    assert torch.equal(again(page.tokens), page.hybrid.eval()(page.tokens))


# ------------------------------------------------------------------------- tables


def test_the_table_of_doors_has_their_signatures():
    doors = re.findall(r"^\| \d, [a-z ]+ \| `(\w+)\(([^`]*)\)` \|", PAGE, re.MULTILINE)
    assert {name for name, _ in doors} == {"embed", "rotate", "bias_by_offset", "bias", "values"}
    for name, arguments in doors:
        signature = inspect.signature(getattr(PositionalEncoding, name)).parameters.values()
        parameters = [str(each.replace(annotation=each.empty)) for each in signature]
        assert parameters[1:] == arguments.split(", "), name


def test_the_table_of_places_has_what_they_have():
    section = PAGE.split("get: `at`")[1].split("\n## ")[0]
    at = Places(torch.arange(3), torch.arange(5), torch.ones(2, 5, dtype=torch.bool))
    names = re.findall(r"`at\.(\w+)", section)
    public = {name for name in dir(at) if not name.startswith("_")}
    inside = {"blocks", "diagonals", "diagonal_offsets", "own_diagonals", "unchecked", "whole"}
    inside |= {"embedding_positions", "queries_alone", "rising", "later", "padding"}
    assert public - inside <= set(names) and all(hasattr(at, name) for name in names)


def test_the_table_of_encodings_has_every_name_its_doors_and_its_options():
    rows = {}
    for names, doors, options in re.findall(
        r"^\| (`[a-z]\w*`(?:, `\w+`)*) \| ([^|]*) \|([^|]*)\|$", PAGE, re.MULTILINE
    ):
        for name in re.findall(r"`(\w+)`", names):
            rows[name] = (doors, options)
    assert list(rows) == [name for name in NAMES if name in rows] and set(rows) == set(NAMES)
    for name, (doors, options) in rows.items():
        opened = tuple(re.findall("embed|rotate|bias|values", doors))
        encoding = create(name, d_model=8, n_heads=2)
        assert opened == encoding.doors, name
        assert ("causal only" in doors) == encoding.causal, name
        for option in options_of(name):
            assert f"`{option}`" in options, name


def test_the_table_of_scalings_has_every_one_with_its_arguments():
    rows = re.findall(r"^\| `([A-Z]\w*)\(([^`]*)\)` \|", PAGE, re.MULTILINE)
    kinds = [kind for kind in Scaling.__subclasses__() if kind.__module__ == scaling.__name__]
    assert {name for name, _ in rows} == {kind.__name__ for kind in kinds}
    for name, arguments in rows:
        names = list(inspect.signature(getattr(scaling, name)).parameters)
        assert names[: len(arguments.split(", "))] == arguments.split(", "), name
