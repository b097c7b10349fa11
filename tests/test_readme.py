"""What README.md and docs/ promise: examples run, lessons and links exist."""

import ast
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import test_layers
import torch
from notebook_source import find_lessons, is_closer, lesson_name

from course_utils import pretrained
from course_utils.attention import MultiHeadAttention
from course_utils.encodings import NAMES, Places, YaRN, create, options_of

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LIBRARY = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "site/CONTRIBUTING.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]


ROW = Places(torch.arange(10))
EXAMPLES = re.findall(r"```python\n(.*?)```", LIBRARY, re.DOTALL)


def run(example, capsys):
    exec(compile(example, "library.md", "exec"), {})
    return capsys.readouterr().out


def test_the_example_of_attention_runs_and_prints_the_shapes_it_says(capsys):
    printed = run(EXAMPLES[0], capsys)
    assert "torch.Size([2, 10, 128]) torch.Size([2, 4, 10, 10])" in printed


def test_the_example_of_a_cache_prints_true_as_it_says(capsys):
    assert run(EXAMPLES[1], capsys) == "True\n"


def test_the_example_of_saving_runs_and_names_what_differs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    note, refusal = run(EXAMPLES[2], capsys).splitlines()
    assert note == "my_text.txt"
    assert "encoding.class: Rotary there, ALiBi here; " in refusal


def test_the_model_of_ones_own_takes_25_lines_and_reads_each_text_as_if_alone(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    example = next(one for one in EXAMPLES if "class Mine" in one)
    assert len(example.splitlines()) <= 25
    names: dict[str, Any] = {}
    exec(compile(example, "library.md", "exec"), names)
    for row, words in enumerate(([7, 8, 9], [1, 2, 3, 4, 5, 6])):
        alone = names["model"](torch.tensor([words]))
        assert (alone[0, -1] - names["out"][row, -1]).abs().max() <= 1e-6


def test_the_functions_turn_as_the_module_does():
    names: dict[str, Any] = {}
    torch.manual_seed(0)
    exec(compile(next(one for one in EXAMPLES if "apply_rope" in one), "library.md", "exec"), names)
    torch.manual_seed(0)
    x, yarn = torch.randn(2, 4, 10, 16), YaRN(factor=4, original_len=2048)
    rope = create("rope", d_model=64, n_heads=4, layout="half", scaling=yarn)
    for found, turned in zip((names["q"], names["k"]), rope.rotate(x, x, ROW), strict=True):
        assert (found - turned).abs().max() <= 1e-6


@pytest.mark.skipif(bool(pretrained.missing()), reason="needs the published models")
def test_the_published_models_are_what_their_section_says():
    names: dict[str, Any] = {}
    exec(compile(next(one for one in EXAMPLES if "smollm2" in one), "library.md", "exec"), names)
    vectors, model, longer = (names[name] for name in ("vectors", "model", "longer"))
    assert vectors.shape == (2, 384)
    assert (vectors.norm(dim=-1) - 1).abs().max() <= 1e-6
    assert longer.encoding.options["scaling"] == YaRN(2.0, 8192)
    assert model.encoding.options["scaling"] is None
    assert longer.words.weight.data_ptr() == model.words.weight.data_ptr()


@pytest.fixture(scope="module")
def own():
    """The encodings of one's own that the page shows, by name, and what showing them printed."""
    blocks = [one for one in EXAMPLES if "(PositionalEncoding)" in one]
    names: dict[str, Any] = {}
    printed = StringIO()
    with redirect_stdout(printed):
        for block in blocks:
            exec(compile(block, "library.md", "exec"), names)
    return names | {"printed": printed.getvalue(), "source": "".join(blocks)}


def weights_of(encoding, length=200, **kinds):
    attention = MultiHeadAttention(16, 2, encoding, **kinds)
    return attention(torch.randn(1, length, 16), need_weights=True)[1][0, 0]


def test_doors_of_ones_own_take_five_lines_at_most(own):
    tree = ast.parse(own["source"])
    doors = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert len(doors) == 3
    assert all((door.end_lineno or 0) - door.body[0].lineno < 5 for door in doors)


def test_alibi_of_ones_own_is_the_courses(own):
    own_one, ours = own["MyALiBi"](16, 2), create("alibi", d_model=16, n_heads=2)
    for length in (7, 300):
        torch.manual_seed(0)
        mine = MultiHeadAttention(16, 2, own_one, causal=True)
        theirs = MultiHeadAttention(16, 2, ours, causal=True)
        theirs.load_state_dict(mine.state_dict())
        x = torch.randn(1, length, 16)
        assert float((mine(x)[0] - theirs(x)[0]).detach().abs().max()) <= 1e-6


def test_a_window_of_ones_own_hides_what_is_further_away(own):
    window = own["Window"](16, 2)
    row = torch.arange(200)
    near = (row - row[:, None]).abs() < window.width
    assert torch.equal(weights_of(window) > 0, near)
    assert torch.equal(weights_of(window, causal=True) > 0, near.tril())


def test_every_third_token_is_seen_and_no_other(own):
    row = torch.arange(200)
    thirds = (row - row[:, None]) % 3 == 0
    assert torch.equal(weights_of(own["EveryThird"](16, 2)) > 0, thirds)
    assert "[8, 9, 10, 11]" in own["printed"] and "[2, 5, 8, 11]" in own["printed"]


@pytest.mark.parametrize("name", ["MyALiBi", "Window", "EveryThird"])
@pytest.mark.parametrize("kinds", [{"causal": True}, {}], ids=["causal", "both ways"])
@pytest.mark.parametrize("need_weights", [True, False])
def test_encodings_of_ones_own_know_nothing_of_padding_and_read_it_rightly(
    own, name, kinds, need_weights
):
    attention, n = MultiHeadAttention(16, 2, own[name](16, 2), **kinds), 12
    x, seen = torch.randn(2, n, 16), torch.ones(2, n, dtype=torch.bool)
    seen[0, :9] = False  # further than the window reaches
    found = attention(x, need_weights=need_weights, attention_mask=seen)[0]
    assert found.isfinite().all()
    for row, mask in enumerate(seen):
        alone = attention(x[row, mask][None])[0][0]
        assert (found[row, mask] - alone).detach().abs().max() <= 1e-6


def test_the_table_of_encodings_has_every_name_its_doors_and_its_options():
    rows = {}
    for names, doors, options in re.findall(
        r"^\| (`[a-z]\w*`(?:, `\w+`)*) \| ([^|]*) \|([^|]*)\|$", LIBRARY, re.MULTILINE
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


def test_the_table_names_every_lesson_there_is_and_no_other():
    listed = re.findall(r"^\| \[(\d\d) ", README, re.MULTILINE)
    assert listed == [path.name[:2] for path in sorted((ROOT / "lessons").glob("*.py"))]


def test_a_closer_look_is_linked_in_the_row_of_its_lesson():
    found = [lesson_name(path) for path in find_lessons(ROOT) if is_closer(path)]
    link = r"^\| \[(\d\d) .*\]\(notebooks/(closer/\w+)\.ipynb\)"
    listed = re.findall(link, README, re.MULTILINE)
    assert listed == [(name.split("/")[1][:2], name) for name in found]


def test_the_picture_of_the_house_names_every_part_that_the_layers_do():
    picture = (ROOT / "docs" / "house.svg").read_text(encoding="utf-8")
    names = re.findall('class="name"[^>]*>([a-z_]+)<', picture)
    assert set(names) == {*test_layers.PROJECT, "data"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_link_leads_to_a_file(page):
    links = re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text(encoding="utf-8"))
    assert links or page != ROOT / "README.md"
    assert [link for link in links if not (page.parent / link).is_file()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_file_it_names_exists(page):
    folders = "course_lab|course_utils|course_experiments|docs|site|tests|tools"
    names = re.findall(rf"`((?:{folders})/[\w./]*\.\w+)`", page.read_text(encoding="utf-8"))
    templates = ("NAME", "NN")  # stand for a name that an author chooses
    there = [name for name in names if not any(part in name for part in templates)]
    assert [name for name in there if not (ROOT / name).is_file()] == []


def test_every_make_command_it_names_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for page in PAGES:
        for command in re.findall(r"(?:^|`)make ([\w-]+)", page.read_text("utf-8"), re.MULTILINE):
            assert f"\n{command}:" in makefile, command
