"""README's tables: which encoding they name, and that a number in them follows the data."""

import re
from pathlib import Path

import lesson_titles
import pytest
import readme_tables
from notebook_source import Project, find_lessons, read_project

from course_lab import chooser

ROOT = Path(__file__).parents[1]


def rows_of(table):
    """The cells of each row of a table in Markdown, without the head."""
    return [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]


def test_every_number_of_which_one_is_the_datas():
    for reads, texts, *cells in rows_of(readme_tables.which_one()):
        times = chooser.TIMES.get(texts, 1)
        rows = readme_tables.as_trained(chooser.TABLES[reads])
        rows = rows[rows["read"] == times * chooser.TRAINED]
        for cell in cells:
            if cell != "nobody":
                ((name, mean),) = re.findall(r"^`(\w+)` (\d\.\d{3}) ± \d\.\d{3}$", cell)
                assert abs(rows[rows["encoding"] == name]["loss"].mean() - float(mean)) < 6e-4


def test_a_stream_is_read_only_by_those_whose_weights_stay_when_positions_run_on(monkeypatch):
    both, causal = chooser.facts(chooser.BOTH_WAYS), chooser.facts()
    causal.loc[causal["shift"] <= chooser.ROUNDING, "measured"] = False
    known = {chooser.CAUSAL: causal, chooser.BOTH_WAYS: both}
    monkeypatch.setattr(chooser, "facts", lambda reads=chooser.CAUSAL: known[reads])
    rows = rows_of(readme_tables.which_one())
    (stream,) = (row for row in rows if row[1] in readme_tables.STREAM)
    assert stream[2:] == ["nobody"] * 3


@pytest.mark.parametrize(
    ("line", "doors"),
    [
        ("all four", "1–4"),
        ("all four, shut", "1–4"),
        ("none", "–"),
        ("2, queries and keys", "2"),
        ("3, attention scores, and for\nShaw also 4, what is summed", "3, 4"),
    ],
)
def test_doors_are_named_by_their_numbers(line, doors):
    assert lesson_titles.doors(line) == doors


def test_a_block_is_replaced_and_what_stands_around_it_stays():
    text = "before\n<!-- findings:start -->\nyesterday's\n<!-- findings:end -->\nafter\n"
    project = read_project(ROOT)
    filled = readme_tables.fill(text, project, find_lessons(ROOT))
    assert filled.startswith("before\n<!-- findings:start -->\n- [00 · Start here]")
    assert filled.endswith("<!-- findings:end -->\nafter\n") and "yesterday" not in filled
    assert readme_tables.fill(filled, project, find_lessons(ROOT)) == filled
    assert readme_tables.fill("no block", project, []) == "no block"


def test_the_install_command_names_the_version_or_takes_the_clone():
    published = Project(ROOT, "https://github.com/someone/tiny", "1.2.3")
    command = readme_tables.install(published).splitlines()[1]
    assert command == "pip install git+https://github.com/someone/tiny@v1.2.3"
    command = readme_tables.install(Project(ROOT, "", "1.2.3")).splitlines()[1]
    assert command == "pip install .    # in a clone"


def test_lessons_have_a_column_to_open_them_in_colab_once_there_is_an_address():
    paths = find_lessons(ROOT)
    published = Project(ROOT, "https://github.com/someone/tiny", "1.2.3")
    with_badges = readme_tables.lessons(published, paths).splitlines()
    without = readme_tables.lessons(Project(ROOT, "", "1.2.3"), paths).splitlines()
    badges = "/github/someone/tiny/blob/v1.2.3/notebooks/"
    assert all(badges in row for row in with_badges[2:]) and "colab" not in "".join(without)
    for row, shorter in zip(with_badges[2:], without[2:], strict=True):
        assert row.startswith(shorter) and row.endswith(".ipynb) |")
