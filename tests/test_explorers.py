"""The explorers that draw in the browser: how they are shown, what they say and draw."""

import re
import sys
from types import ModuleType, SimpleNamespace

import pytest
from explorer_modules import ends, look

from course_utils import explorers
from course_utils.explorers.browser import JAVASCRIPT, Explorer, Slider
from course_utils.widgets import WIDGET_VIEW

try:
    from ipywidgets.widgets.widget import _instances as instances  # ipywidgets 8
except ImportError:
    import ipywidgets

    instances = ipywidgets.Widget.widgets  # ipywidgets 7

EVERY = pytest.mark.parametrize("explorer", explorers.ALL.values(), ids=explorers.ALL)


@pytest.fixture
def bundles(monkeypatch):
    """The bundles that are displayed, with their metadata, in order."""
    import IPython.display

    shown = []
    monkeypatch.setattr(
        IPython.display,
        "display",
        lambda bundle, metadata, raw: shown.append((bundle, metadata)) if raw else None,
    )
    return shown


# -------------------------------------------------------------------------------- how it is shown


def test_an_explorer_is_a_widget_and_a_text_for_readers_without_it(bundles):
    explorers.frequencies()
    ((bundle, metadata),) = bundles
    assert bundle.keys() == {WIDGET_VIEW, "text/plain"}
    assert metadata == {}
    assert bundle["text/plain"] == (
        "Explorer: the sinusoidal table. The table as colours, one pair of its columns as waves, "
        "and the wavelength of every pair. Controls: base: 10,000; width: 64; length: 128; pair: 4."
        " Run the cell to move them."
    )


def test_the_widget_renders_the_module_from_where_it_was_told_to_start(bundles):
    explorers.frequencies(base=500_000, pair=0)
    widget = instances[bundles[0][0][WIDGET_VIEW]["model_id"]]
    assert widget._esm == explorers.frequencies.module
    assert widget.start == {"base": 500_000, "pair": 0}
    assert "base: 500,000; width: 64; length: 128; pair: 0" in bundles[0][0]["text/plain"]


@pytest.mark.parametrize(
    ("start", "error", "message"),
    [
        ({"bace": 10}, ValueError, "control 'bace' is unknown; did you mean 'base'"),
        ({"base": 1}, ValueError, "base must be from 2 to 1,000,000, got 1"),
        ({"base": "10"}, TypeError, "base must be a finite number, got str '10'"),
        ({"base": True}, TypeError, "base must be a finite number, got bool True"),
        ({"pair": 1.5}, TypeError, "pair must be an integer of at least 0, got float 1.5"),
        ({"pair": 32}, ValueError, "pair must be from 0 to 31, got 32"),
    ],
)
def test_a_start_that_a_control_cannot_have_is_explained(start, error, message):
    with pytest.raises(error, match=re.escape(message)):
        explorers.frequencies(**start)


def test_colab_is_told_once_to_allow_such_widgets(monkeypatch, bundles):
    calls = []
    output = ModuleType("google.colab.output")
    output.enable_custom_widget_manager = lambda: calls.append(1)
    output._widgets = SimpleNamespace(_installed_url="manager.js")
    monkeypatch.setitem(sys.modules, "google.colab.output", output)
    explorers.frequencies()
    explorers.turned_pair()
    assert calls == [1]
    assert bundles[0][1][WIDGET_VIEW]["colab"]["custom_widget_manager"]["url"] == "manager.js"


@EVERY
def test_a_module_needs_nothing_else_and_no_network(explorer):
    assert not re.search(
        r"^\s*import\b|\bimport\(|\bfetch\(|https?:|@import", explorer.module, re.M
    )
    assert len(explorer.module) < 200_000


def test_every_javascript_file_is_part_of_an_explorer_and_at_most_300_lines_long():
    files = {path.stem: path.read_text(encoding="utf-8") for path in JAVASCRIPT.glob("*")}
    assert files.keys() == {"numbers", "drawing", "shell"} | {
        one.name for one in explorers.ALL.values()
    }
    for name, text in files.items():
        lines = text.splitlines()
        assert len(lines) <= 300 and max(map(len, lines)) <= 100, name


def test_a_text_cannot_end_the_script_it_stands_in():
    made = Explorer("frequencies", "a </script> b", "", {"base": Slider(2, 9, 3)})
    assert "</script" not in made.module


# ------------------------------------------------------------------------------------ the controls


def test_a_slider_of_ratios_has_its_ends_and_round_numbers_between():
    values = Slider(2, 1_000_000, 10_000, ratio=True).values()
    assert values[:4] == [2, 2.2, 2.5, 2.8]
    assert {10, 100, 1000, 10_000, 100_000, 1_000_000} <= set(values)
    assert values == sorted(set(values))
    assert max(b / a for a, b in zip(values, values[1:], strict=False)) < 1.2


def test_a_slider_of_steps_has_no_rounding_errors():
    assert Slider(0.05, 1.5, 0.3, step=0.05).values()[:4] == [0.05, 0.1, 0.15, 0.2]
    assert Slider(8, 13, 8, step=2).values() == [8, 10, 12]


@EVERY
def test_every_control_can_start_where_it_says(explorer):
    for name, control in explorer.controls.items():
        assert control.checked(name, control.start) == control.start
        if isinstance(control, Slider):
            assert control.start in control.values()
            assert control.values()[-1] == control.high


# -------------------------------------------------------------------------------- what it draws


@EVERY
@pytest.mark.parametrize(("width", "dark"), [(900, False), (330, True)])
def test_an_explorer_draws_and_speaks_at_every_end_of_its_controls(explorer, width, dark):
    for shown in look(explorer, ends(explorer), width=width, dark=dark):
        texts = [shown["sentence"], shown["words"], *(one["svg"] for one in shown["pictures"])]
        assert not re.search(r"NaN|undefined|Infinity|null", "".join(texts)), shown["state"]
        assert re.search(r"\d|noise", shown["sentence"])
        assert len(shown["words"].split()) >= 20
        assert all(one["width"] <= width for one in shown["pictures"])


@EVERY
def test_each_control_changes_what_is_seen(explorer):
    before, *others = look(explorer, [{}, *moved(explorer)])
    for shown in others:
        assert shown["pictures"] != before["pictures"], shown["state"]


def moved(explorer):
    """One start for each control: that control alone is elsewhere."""
    for name, control in explorer.controls.items():
        other = {
            "Slider": lambda c: c.low if c.start != c.low else c.high,
            "Choice": lambda c: c.options[1],
            "Tick": lambda c: not c.start,
        }[type(control).__name__](control)
        yield {name: other}


def test_a_start_between_two_steps_gets_a_step_of_its_own():
    (shown,) = look(explorers.frequencies, [{"base": 123.4}])
    assert shown["state"]["base"] == 123.4


def test_a_pair_past_the_last_is_the_last():
    (shown,) = look(explorers.frequencies, [{"d_model": 8, "pair": 31}])
    assert shown["state"]["pair"] == 3
    assert shown["sentence"].startswith("Pair 3 takes")
