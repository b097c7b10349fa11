"""The explorers that draw in the browser: how they are shown, what they say and draw."""

import re
import sys
from itertools import product
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from explorer_modules import ends, look, run_module
from pairwise import each_once
from test_widgets import instances

from course_lab import explorers
from course_lab.explorers.controls import Choice, Slider, Text
from course_lab.explorers.explorer import JAVASCRIPT, KIT, Explorer
from course_lab.widgets.output import WIDGET_VIEW
from course_utils import encodings
from course_utils.encodings.base import DOORS
from course_utils.texts import data

SPENT = [64, 80, 112, 128, 144, 160, 176, 192]  # eight tries of far bands
EVERY = pytest.mark.parametrize("explorer", explorers.ALL.values(), ids=explorers.ALL)


# -------------------------------------------------------------------------------- how it is shown


def test_an_explorer_is_a_widget_and_a_text_for_readers_without_it(shown, shown_metadata):
    explorers.frequencies()
    (bundle,) = shown
    assert bundle.keys() == {WIDGET_VIEW, "text/plain"}
    assert shown_metadata == [{}]
    assert bundle["text/plain"] == (
        "Explorer: the sinusoidal encoding, its clock hands and its table. Hand 0 and another hand "
        "on circles at two positions, and how far apart each hand holds the two; the table as "
        "colours, the hand's two columns as waves, and the wavelength of every hand. Controls: "
        "position: 10; and position: 20; hand: 3; base: 10,000; width: 64; length: 128. Run the "
        "cell to move them."
    )


def test_the_widget_renders_the_module_from_where_it_was_told_to_start(shown):
    explorers.frequencies(base=500_000, pair=0)
    widget = instances[shown[0][WIDGET_VIEW]["model_id"]]
    assert widget._esm == explorers.frequencies.module
    assert widget.start == {"base": 500_000, "pair": 0}
    assert "hand: 0; base: 500,000; width: 64; length: 128" in shown[0]["text/plain"]


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


@pytest.mark.usefixtures("shown")
def test_colab_is_told_once_to_allow_such_widgets(monkeypatch, shown_metadata):
    calls = []
    output: Any = ModuleType("google.colab.output")
    output.enable_custom_widget_manager = lambda: calls.append(1)
    output._widgets = SimpleNamespace(_installed_url="manager.js")
    monkeypatch.setitem(sys.modules, "google.colab.output", output)
    explorers.frequencies()
    explorers.turned_pair()
    assert calls == [1]
    assert shown_metadata[0][WIDGET_VIEW]["colab"]["custom_widget_manager"]["url"] == "manager.js"


@EVERY
def test_a_module_needs_nothing_else_and_no_network(explorer):
    assert not re.search(
        r"^\s*import\b|\bimport\(|\bfetch\(|https?:|@import", explorer.module, re.M
    )
    assert len(explorer.module) < (3_000_000 if "model" in explorer.parts else 200_000)


def test_the_same_call_shows_the_same_widget_so_that_what_is_set_survives_a_re_run(shown):
    explorers.frequencies(base=100)
    explorers.frequencies(base=1000)
    explorers.frequencies(base=100)
    first, other, again = (bundle[WIDGET_VIEW]["model_id"] for bundle in shown)
    assert first == again != other


def test_every_javascript_file_is_part_of_an_explorer_and_fits_the_line_length():
    files = {path.stem: path.read_text(encoding="utf-8") for path in JAVASCRIPT.glob("*")}
    every = explorers.ALL.values()
    parts = {part for explorer in every for part in explorer.parts}
    assert files.keys() == {*KIT, *parts, *(explorer.name for explorer in every)}
    for name, text in files.items():
        assert max(map(len, text.splitlines())) <= 100, name


def test_a_text_cannot_end_the_script_it_stands_in():
    explorer = Explorer("frequencies", "a </script> b", "", {"base": Slider(2, 9, 3)})
    assert "</script" not in explorer.module


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


@each_once(name=list(explorers.ALL), screen=[(900, False), (330, True)])
def test_an_explorer_draws_and_speaks_at_every_end_of_its_controls(name, screen):
    explorer = explorers.ALL[name]
    width, dark = screen
    for view in look(explorer, ends(explorer), width=width, dark=dark):
        pictures = view["pictures"]
        texts = [view["sentence"], view["description"], *(picture["svg"] for picture in pictures)]
        assert not re.search(r"NaN|undefined|Infinity|null", "".join(texts)), view["state"]
        assert re.search(r"\d|noise", view["sentence"])
        assert len(view["description"].split()) >= 20
        assert all(picture["width"] <= width for picture in pictures)


@EVERY
def test_each_control_changes_what_is_seen(explorer):
    starts: list[dict[str, Any]] = [{}]
    if explorer is explorers.ladder:  # no start uses all heads and factors by hand
        starts += [{"heads": 4}, {"factors": "by hand"}]
    changes = list(moved(explorer))
    differ = []
    for start in starts:
        before, *others = look(explorer, [start, *(start | change for change in changes)])
        differ.append([view["pictures"] != before["pictures"] for view in others])
    for change, *seen in zip(changes, *differ, strict=True):
        assert any(seen), change


def moved(explorer):
    """One start for each control: that control alone is elsewhere."""
    for name, control in explorer.controls.items():
        if isinstance(control, Slider):
            yield {name: control.low if control.start != control.low else control.high}
        elif isinstance(control, Choice):
            yield {name: control.options[1]}
        elif isinstance(control, Text):
            yield {name: "a"}
        else:
            yield {name: not control.start}


def test_a_start_between_two_steps_gets_a_step_of_its_own_and_a_pair_past_the_last_is_the_last():
    between, past = look(explorers.frequencies, [{"base": 123.4}, {"d_model": 8, "pair": 31}])
    assert between["state"]["base"] == 123.4
    assert past["state"]["pair"] == 3
    assert past["sentence"].startswith("Hand 3 takes")


def test_a_position_past_the_sinusoidal_table_is_said_to_have_no_line_there():
    starts = [{"first": 550}, {"first": 127}, {"first": 128, "second": 550}]
    sentences = [view["sentence"] for view in look(explorers.frequencies, starts)]
    ends = [re.search("No line in table and waves for (.*)", text) for text in sentences]
    assert [end and end[1] for end in ends] == [
        "550: they end at 127.",
        None,
        "128 and 550: they end at 127.",
    ]


def test_the_slope_of_a_head_that_is_not_used_cannot_be_moved():
    before, after = look(explorers.ladder, [{}, {"third": 6.0}])
    assert before["pictures"] == after["pictures"]


@pytest.mark.parametrize(
    "start",
    [
        {"second": 1.0},
        {"task": "place 2", "second": 1.0, "factors": "by hand", "head_1_factor": -2.0},
        {"task": "place 3", "heads": 4, "first": 3.5, "second": 2.5, "third": 1.5},
    ],
)
def test_the_bar_of_the_key_asked_for_is_seen_beside_parts_of_any_size(start):
    (view,) = look(explorers.ladder, [start])
    bar = r'd="M[\d.]+,([\d.]+)V([\d.]+)H[^"]*" style="fill:var\(--om-2\)'
    ((zero, top),) = re.findall(bar, view["pictures"][1]["svg"])
    assert float(zero) - float(top) > 10


def written(picture):
    """The texts of a picture."""
    return re.findall(r"<text [^>]*>([^<]*)</text>", picture["svg"])


def test_the_ladder_writes_the_parts_at_key_0_where_they_leave_its_panel_and_nowhere_else():
    steep = {"task": "place 3", "heads": 4, "first": 5.0, "second": 3.5, "third": 2.5}
    inside, outside = look(explorers.ladder, [{}, {**steep, "fourth": 1.5}])
    assert not [text for text in written(inside["pictures"][1]) if "at key 0" in text]
    texts = written(outside["pictures"][1])
    numbers = texts[texts.index("parts at key 0:") + 1 :][:4]
    assert re.fullmatch(r"head 1: −\d,\d{3}", numbers[0]) and numbers[3].startswith("head 4: 1")


def test_the_ladders_shares_are_rounded_down_so_that_1_is_all_and_98_percent_is_passed():
    (below, there) = look(explorers.ladder, [{"second": 0.75}, {"second": 1.0}])
    shares = [written(view["pictures"][0]) for view in (below, there)]
    assert "0.97" in shares[0] and "0.98" not in shares[0]
    assert shares[1].count("1.00") == 2


def test_the_ladder_says_over_its_bars_where_all_have_the_same_factors():
    by_hand = {"second": 1.0, "factors": "by hand"}
    texts = [written(view["pictures"][0]) for view in look(explorers.ladder, [{}, by_hand])]
    assert ["right, same factors" in titles for titles in texts] == [False, True]


def test_the_ladders_colours_reach_as_far_as_its_keys_but_for_key_0():
    hand = {"task": "place 2", "second": 1.0, "factors": "by hand", "head_1_factor": -2.0}
    (view,) = look(explorers.ladder, [hand])
    assert {"0.059", "−0.059"} <= set(written(view["pictures"][2]))


def test_the_stretch_keeps_earlier_settings_in_its_right_picture_and_nowhere_else():
    step, yarn = {"set": "step"}, {"set": "YaRN"}
    (alone,) = look(explorers.stretch, [step])
    _, after = look(explorers.stretch, [yarn, step])
    differs = [a != b for a, b in zip(alone["pictures"], after["pictures"], strict=True)]
    assert differs == [False, True]
    assert alone["sentence"] == after["sentence"]


# --------------------------------------------------------------------------------- what it says


SENTENCES: dict[str, list[tuple[dict[str, Any], str]]] = {
    "buckets": [
        ({}, "8 distances have a bucket of their own; all from 91 on share one"),
        ({}, "31 of 32 buckets are used"),
        ({"direction": "behind only"}, "all from 113 on share one"),
        ({"n_buckets": 64, "max_distance": 8, "direction": "behind only"}, "all from 33"),
    ],
    "price": [
        ({}, "likes its own token best and gives it 86 % of its weight."),
        ({}, "Of 1024 keys the nearest 2 keys hold 95 %"),
        ({"head": 4, "slope": 0.2, "higher": 0}, "the nearest 15 keys hold 95 %"),
        ({"slope": 0.1, "higher": 0}, "likes its own token best"),
        # lesson 06: its start, its two tasks, and the key 10 back
        ({"head": 3, "higher": 5}, "its own token and the key 10 back alike best"),
        ({"head": 3, "higher": 5, "sight": "3 keys"}, "the nearest 3 keys hold 95"),
        ({"head": 3, "slope": 1.0, "higher": 5}, "the nearest 4 keys hold 95"),
        ({"head": 3, "slope": 1.1, "higher": 5}, "the nearest 3 keys hold 95"),
        ({"head": 3, "slope": 1.4, "higher": 5}, "the nearest 3 keys hold 95"),
        ({"head": 3, "slope": 1.6, "higher": 5}, "the nearest 2 keys hold 95"),
        ({"head": 3, "peak": 3, "slope": 2.8, "higher": 5}, "the key 3 back best and gives it 89"),
        ({"head": 3, "peak": 3, "slope": 3.2, "higher": 5}, "the key 3 back best and gives it 92"),
        ({"head": 4}, "whose score is higher by 2, gets 12 %. Of 1024 keys the nearest 12 keys"),
        ({"head": 4, "higher": 2.5}, "its own token and the key 10 back alike best"),
        ({"head": 4, "higher": 3}, "the key 10 back best and gives it 27 %"),
        ({"head": 4, "slope": 1 / 256, "higher": 5}, "the key 10 back best and gives it 36 %"),
        ({"head": 4, "slope": 0.1, "higher": 5}, "the key 10 back best and gives it 84 %"),
        ({"head": 4, "higher": 5}, "the key 10 back best and gives it 73 %"),
        ({"peak": 7, "higher": 5}, "the key 7 back best and gives it 60 %"),
        ({"peak": 8, "higher": 5}, "the key 10 back best and gives it 68 %"),
        ({"peak": 1}, "likes the key 1 back best"),
        ({"head": 2, "peak": 1, "slope": 2.8}, "the key 1 back best and gives it 89 % of"),
        ({"head": 2, "peak": 1, "slope": 3.2}, "the key 1 back best and gives it 92 % of"),
        (
            {"head": 4, "sight": "3 keys"},
            "Cut to the nearest 3 keys. Head 4 likes its own token best",
        ),
        ({"peak": 9, "slope": 2.8, "higher": 0}, "the key 9 back best and gives it 89 % of"),
        ({"peak": 9, "slope": 3.2, "higher": 0}, "the key 9 back best and gives it 92 % of"),
        ({"head": 3, "peak": 2, "slope": 2.0}, "Head 3 likes the key 2 back best"),
        ({"head": 3, "peak": 2, "slope": 2.0}, "peaks = (0, 0, 2, 0); slopes = (2, 1, 2,"),
    ],
    "distance_cost": [
        ({"head": 0}, "Slope 0.5000"),
        ({"head": 0}, "at most 5 positions away"),  # six keys with its own place
        ({"heads": 12, "head": 8}, "Slope 0.7071"),  # steep again
        ({"length": 192}, "Query 191"),
        ({"length": 192, "symmetric": True}, "Query 96"),
        ({"head": 7, "length": 16}, "entropy 2.77 of at most 2.77"),
        ({"heads": 4, "head": 31}, "Slope 0.0039"),  # the last of four
    ],
    "far_bands": [
        ({}, "RoPE, seed 0, 32 near keys and those 96 to 127 back: 0.81 above keys 32 to 63"),
        ({}, "No try of 8 yet; the dearest so far begins 96 back, and a dearer one"),
        ({"first": 304, "tried": [64, 96]}, "in the texts 0.68 to 1.69. Try 2 of 8"),
        ({"first": 304}, "the dearest so far begins 304 back. Found: none is dearer."),
        ({"first": 304, "tried": [32, 96, *SPENT]}, "not tried. Eight tries are spent: tick"),
        ({"first": 64, "tried": [32, 96, *SPENT]}, "Try 8 of 8; the dearest so far begins 176"),
        ({"first": 64, "tried": [32, 96, *SPENT]}, "a dearer one is left. Eight tries are spent"),
        ({"whole": True}, "The dearest begins 304 back."),
        ({"first": 304, "model": "Transformer-XL"}, "335 back: 0.01 above"),
    ],
    "four_layers": [
        ({}, "Layer P: 0 of 16 outputs change by more than 0.001."),
        ({"start": 240}, "Layer P: 0 of 16"),
        ({"start": 250}, "Layer P: 9 of 16 outputs change by more than 0.001, first that of"),
        ({"start": 250}, "of word 7, at position 257. Seen to change so far: P by its start."),
        ({"start": 250, "seen": ["S by pieces"]}, "so far: P by its start; S by pieces."),
        ({"layer": "Q", "among_others": True}, "0.001, first that of word 0, at position 0."),
        ({"layer": "R", "start": 400, "in_pieces": True, "among_others": True}, "R: 0 of 16"),
        ({"layer": "S", "start": 10, "in_pieces": True}, "of word 5, at position 15."),  # two ways
    ],
    "stretched_waves": [
        ({"way": "direct"}, "8 × 4,096 = 32,768 positions"),
        ({"way": "direct"}, "18 of 64 pairs reach angles"),
        ({"way": "interpolation"}, "0.13 of its speed, the slowest 0.13. 0 of"),
        ({"way": "YaRN"}, "fastest pair keeps 1.00 of its speed"),
    ],
    "wanted_distance": [
        ({"distance": 7}, "largest at distance 7."),
        ({"d_head": 4, "base": 10}, "it reaches 0.98 at most"),  # it comes round
    ],
    "previous_token": [
        ({"k": 3}, "Query 47 gives 0.73 of its weight to the key exactly 3 back, and 0.13 and"),
        ({"gain": 40}, "gives 1.00 of its weight to the key exactly 5 back"),
        ({"k": 16, "query": 5}, "Query 5 has no key 16 back. Its largest weight, 0.28, goes"),
        ({"k": 16, "query": 14}, "to key 0."),
        ({"k": 0, "query": 0}, "Query 0 gives 1.00 of its weight to the key exactly 0 back."),
    ],
    "sentence": [
        ({}, "Anna does: 7 words, as typed. Move one."),
        ({"text": "a b c", "order": [2, 1, 0]}, "c b a: 0 of 3 rows differ from what they"),
        ({"text": "a b c", "order": [2, 1, 0]}, "the mean differs by rounding noise."),
        (
            {"text": "a b", "order": [1, 0], "places": True},
            "2 of 2 rows differ from what they were as typed, by up to ",
        ),
    ],
    "masked_sentence": [
        ({}, "the same row at places 1 and 3."),
        ({"layers": 2}, "no two rows are the same"),
        ({"mask": False}, "the same row at places 0, 2 and 6; and at 1, 3, 4, 5 and 7."),
        ({"text": "a b a b a b"}, "the same row at places 1, 3 and 5."),
        ({"text": "a b a b a b", "layers": 2}, "no two rows are the same"),
        ({"text": "a a a b b b", "layers": 2}, "the same row at places 0, 1 and 2."),
        (
            {"text": "a b", "order": [1, 0]},
            "b a: no two rows are the same. 2 of 2 rows differ",
        ),
    ],
    "doors": [
        ({}, "“cat” cannot tell them apart"),
        ({}, "The nearer gets more in 0 of 20 draws, the farther in 0."),
        *(({name: 0.05}, "“cat” can tell them apart") for name in DOORS[:3]),
        ({"values": 0.05}, "“cat” looks at both alike, only what they add differs."),
        ({"rotate": 1}, "The nearer gets more in 10 of 20 draws, the farther in 10."),
        ({"rotate": 1, "bias": 0.05}, "more in 15 of 20"),
        ({"rotate": 1, "bias": 0.1}, "more in 20 of 20"),
        ({"values": 1, "drawing": 3}, "The nearer gets more in 0 of 20 draws, the farther in 0"),
    ],
    "turned_pair": [
        ({"p": 0, "r": 0}, "Distance 0, q·k = 0.160"),
        ({"p": 3, "r": 9}, "Distance −6"),
        ({"p": 12, "r": 9, "both": 10}, "From key to query it is −0.51 radians."),
        ({"p": 0, "r": 0, "both": 20}, "at 20 and has turned by 6.00 radians, the key at 20"),
        ({"p": 0, "r": 0, "both": 20}, "Distance 0, q·k = 0.160"),
    ],
    "profile": [
        ({"wish": "12 back", "d_head": 8}, "the score is highest at 12, with 0.21."),
        ({"wish": "12 back", "d_head": 128}, "the score is highest at 12, with 0.87."),
    ],
    "xray": [
        ({"place": 0}, "Layer 16, head 0: distance alone explains 92 %"),
        ({"place": 0}, "77 % of its attention to the token before"),
        ({"first": 9, "last": 3}, "With pairs 9 to 9,"),
    ],
    "counting": [
        ({}, "Most weight, 1.00, goes to “.”, 7 back, at a count of 3.04. That is number 3"),
        ({"gain": 1}, "number 3 from the end stands 7 back"),
        ({"wanted": 8}, "There is no number 8 from the end"),
        ({"text": "one, two, three"}, "There is no number 3"),
        ({"text": "one, two, three", "counted": ",", "wanted": 2}, "goes to “,”, 3 back"),
        ({"text": ""}, "goes to “”, 0 back"),
    ],
    "clock_hands": [
        ({"table": "C"}, "the table's own row 0.50 turns before, to whole rows."),
        ({"table": "C", "ahead": 3}, "the most, for hand 3 1.36 turns, hand 4 0.54 turns."),
        ({"table": "B"}, "200 rows are the most, for hand 4 0.09 turns."),
        ({"show": "one hand of five tables", "hand": 0}, "Hand 0 of five tables: each dashed"),
        (
            {"show": "one hand of five tables", "hand": 3, "ahead": 3},
            "table C 1.36 turns, table D 1.40 turns, table E 1.29 turns. Faint",
        ),
    ],
    "stretch": [
        ({}, "You are 1.19 above the line. The loss rises by +0.00 at 64 bytes, +1.78 at 512, "),
        ({}, "together 1.78; the step's by 0.60. 11 hands reach new angles."),
        ({"set": "step"}, "level with the line."),
        ({"set": "step"}, "together 0.596; the step's by 0.596. 0 hands"),
        ({"factors": [1.0] * 5 + [8.0] * 4 + [1.0] * 7}, "You are just above the line."),
        ({"factors": [1.0] * 5 + [8.0] * 2 + [1.0] * 9}, " 9 hands"),
        (
            {"factors": [1.0] * 5 + [6.0] + [8.0] * 4 + [1.0] * 6},
            "You are 0.10 below the line. ",
        ),
        (
            {"factors": [1.0] * 5 + [5.5, 8.0] + [1.0] * 9},
            "Your hands as Python: “In words”.",
        ),
        ({"set": "YaRN"}, "+0.22 at 64 bytes, +0.45 at 512"),
        ({"set": "Llama 3.1"}, "+0.24 at 64 bytes, +0.60 at 512"),
        ({"factors": [1.0] * 5 + [8.0] * 10 + [1.0]}, " 1 hand reaches new angles."),
        ({"hand": 5, "slowed": 8.0}, "+0.06 at 64 bytes, +0.90 at 512"),
    ],
    "frequencies": [
        ({"first": 0, "second": 710}, "for hand 0 they are 0.00 apart, for hand 3 1.78"),
        ({"first": 9, "second": 9}, "for all hands together 0.00"),
        ({"base": 10}, "0 of 32 hands do not finish a turn"),
        ({"pair": 0}, "Hand 0 takes 6.3 positions for one turn. 21 of 32 hands"),
    ],
}


@pytest.mark.parametrize("width", [760, 420])
def test_the_numbers_at_the_bars_of_the_doors_touch_neither_each_other_nor_the_edge(width):
    starts = [
        {"bias": bias, "values": values, "embed": embed, "drawing": drawing}
        for bias, values, embed, drawing in product((0, 1), (0, 1), (0, 1), range(20))
    ]
    number = re.compile(r'<text x="([\d.]+)" y="([\d.]+)" class="om-label">(−?\d\.\d\d)</text>')
    for start, view in zip(starts, look(explorers.doors, starts, width=width), strict=True):
        for picture in view["pictures"][:2]:
            labels = [(float(x), float(y), text) for x, y, text in number.findall(picture["svg"])]
            for n, (x, y, text) in enumerate(labels):
                assert 40 < y < picture["height"] - 24, (start, text)
                for other_x, other_y, other in labels[n + 1 :]:
                    halves = 3.5 * (len(text) + len(other))  # of the widths of both, in pixels
                    assert abs(x - other_x) >= halves or abs(y - other_y) >= 11, (start, text)


def test_the_line_up_says_no_period_and_no_miss_in_sight_but_the_misses_in_words():
    ghost, clock = look(explorers.clock_hands, [{"table": "A"}, {"table": "C", "hand": 0}])
    for view, misses in ((ghost, "1.93, 1.44, 1.78"), (clock, "0.04, 0.11, 0.06")):
        seen = view["sentence"] + "".join(picture["svg"] for picture in view["pictures"])
        assert not re.search("rows a turn|miss", seen)
        assert f"are off by {misses}" in view["description"]


def test_the_line_up_says_its_misses_in_the_titles_once_they_are_asked_for():
    (view,) = look(explorers.clock_hands, [{"table": "A", "misses": True}])
    seen = "".join(picture["svg"] for picture in view["pictures"])
    for hand, miss in enumerate(("1.93", "1.44", "1.78")):
        assert f"hand {hand}: miss {miss}" in seen


def test_the_line_up_says_a_hands_worst_miss_which_decides_beside_that_at_this_horizon():
    (view,) = look(explorers.clock_hands, [{"table": "C", "misses": True}])
    seen = "".join(picture["svg"] for picture in view["pictures"])
    assert "hand 4: miss 0.13, worst 0.32" in seen


@pytest.mark.parametrize("name", SENTENCES)
def test_the_sentence_says_the_number(name):
    views = look(explorers.ALL[name], [start for start, _ in SENTENCES[name]])
    for view, (_, part) in zip(views, SENTENCES[name], strict=True):
        assert part in view["sentence"]


def test_until_a_layer_has_been_moved_the_four_look_alike_and_nothing_is_said_of_any():
    views = look(explorers.four_layers, [{"layer": layer} for layer in "PQRS"])
    shapes = {re.sub("layer .", "", view["pictures"][0]["svg"]) for view in views}
    assert len(shapes) == 1
    assert not any("Seen" in view["sentence"] for view in views)


def test_curves_above_their_own_loss_start_at_zero_and_log_n_has_none_at_the_trained_length():
    _, above, _, log_n = explorers.VIEWS
    views = look(explorers.lengths, [{"view": above}, {"view": log_n}], numbers=True)
    curve_above, curve_log_n = (view["numbers"]["first"] for view in views)
    assert curve_above["mean"][curve_above["at"].index(64)] == 0
    assert 64 not in curve_log_n["at"]


def test_a_setting_of_hands_is_written_as_python_in_words_below_the_picture():
    [view] = look(explorers.stretch, [{"factors": [1.0] * 5 + [5.5, 8.0] + [1.0] * 9}])
    assert view["description"].endswith("In Python: mine = {5: 5.5, 6: 8}.")


def test_only_encodings_that_the_table_has_can_be_chosen_not_those_that_a_reader_adds(scheme):
    scheme("another", encodings.ALiBi)
    table = data.results("extrapolation")["encoding"].drop_duplicates().tolist()
    assert explorers.measured("alibi") == ["alibi", *(name for name in table if name != "alibi")]


def test_a_wider_head_misses_the_wished_scores_by_less_and_a_price_makes_products_smaller():
    starts = [{"d_head": 8}, {"d_head": 64}, {"d_head": 64, "price": 10}]
    views = look(explorers.profile, starts, numbers=True)
    narrow, wide, priced = (view["numbers"] for view in views)
    assert narrow["miss"] > wide["miss"]
    assert max(wide["sizes"]) > max(priced["sizes"])


@pytest.mark.parametrize("head", [1, 2, 3, 4])
def test_the_nearest_line_bends_when_pulled_and_only_the_circle_moves_a_top(head):
    follow = """
import { readFileSync } from "node:fs";
const { pulls } = JSON.parse(readFileSync("request.json", "utf-8"));
const state = { prices: steep(), head: 1 };
const steps = pulls.map((pointer) => {
  EXPLORER.follow(Object.assign(state, { pointer }), "pointer");
  return [...state.prices[state.head - 1], state.head];
});
process.stdout.write(JSON.stringify(steps));
"""
    on_line = [3, -12 / 2**head, True]  # where a pointer goes down
    down = [[8, price, False] for price in (-0.1, -0.5, -2.0, -6.0, 0.3)]
    on_circle = [[0.1, -0.1, True]]
    sideways = [[0.4 * step, -0.2, False] for step in range(11)]
    request = {"pulls": [on_line, *down, *on_circle, *sideways]}
    steps = run_module(explorers.ALL["price"].module + follow, request)
    assert {held for _, _, held in steps} == {head}
    assert {peak for peak, _, _ in steps[:6]} == {0}
    assert [slope for _, slope, _ in steps[2:5]] == pytest.approx([0.0625, 0.25, 0.75], rel=0.1)
    assert [slope for _, slope, _ in steps[2:4]] == [1 / 16, 1 / 4]  # powers of two, exactly
    assert {slope for _, slope, _ in steps[5:]} == {1 / 256}
    assert steps[-1][0] == 4


def test_the_square_is_pulled_to_a_higher_score_and_the_line_beside_it_bends():
    follow = """
import { readFileSync } from "node:fs";
const { pulls } = JSON.parse(readFileSync("request.json", "utf-8"));
const state = { prices: steep(), head: 4, higher: 2 };
const steps = pulls.map((pointer) => {
  EXPLORER.follow(Object.assign(state, { pointer }), "pointer");
  return [state.higher, state.head, ...state.prices[3]];
});
process.stdout.write(JSON.stringify(steps));
"""
    square = [[10.1, -0.4, True], [11, 0.6, False], [9, 9.0, False], [10, -7.0, False]]
    line = [[4, -1, True], [4, -2, False]]
    request = {"pulls": [*square, *line]}
    steps = run_module(explorers.ALL["price"].module + follow, request)
    assert [step[0] for step in steps] == [2, 3, 5, 0, 0, 0]
    assert {step[1] for step in steps} == {4} and {step[2] for step in steps} == {0}
    assert [step[3] for step in steps] == [0.25] * 5 + [0.5]
