"""An encoding looks the same in every figure, and no other encoding looks like it."""

import itertools
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch
from bad_calls import bad_calls
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from course_utils import plots
from course_utils.encodings import NAMES, Look, PositionalEncoding, create
from course_utils.encodings.base import DOORS
from course_utils.plots import identities, line_ends

pytestmark = pytest.mark.usefixtures("figures")

# How colours in linear light are seen without one kind of cone: Machado et al. 2009, severity 1.
SIGHT = {
    "full": np.eye(3),
    "protanopia": [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]],
    "deuteranopia": [
        [0.3673, 0.8606, -0.2280],
        [0.2801, 0.6725, 0.0474],
        [-0.0118, 0.0429, 0.9689],
    ],
    "tritanopia": [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]],
}
# Björn Ottosson's Oklab, in which equal distances look about equal.
TO_CONES = [[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]]
TO_LAB = [[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]]


def light(colour):
    """A colour in linear light: red, green, blue."""
    rgb = np.array(to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def seen(colour, sight="full"):
    """A colour as seen: lightness from 0 to 1, and two axes of hue."""
    there = np.clip(np.array(SIGHT[sight]) @ light(colour), 0, 1)
    return np.array(TO_LAB) @ np.cbrt(np.array(TO_CONES) @ there)


def look_of(names=NAMES):
    return {name: plots.identity(name) for name in names}


def drawn(ax, names):
    plots.lines(ax, {name: torch.zeros(30) for name in names}, legend=False)
    return {line.get_label(): line for line in ax.lines}


# The course's encodings


def test_no_two_encodings_share_a_colour_or_a_marker():
    course = look_of().values()
    assert len({look.colour for look in course}) == len(NAMES)
    assert len({look.marker for look in course}) == len(NAMES)


@pytest.mark.parametrize(
    ("sight", "apart"),
    [("full", 0.1), ("protanopia", 0.07), ("deuteranopia", 0.07), ("tritanopia", 0.06)],
)
def test_any_two_encodings_differ_in_colour_as_each_eye_sees_it(sight, apart):
    points = {name: seen(look.colour, sight) for name, look in look_of().items()}
    for first, second in itertools.combinations(NAMES, 2):
        assert np.linalg.norm(points[first] - points[second]) >= apart, (first, second)


def test_any_two_encodings_differ_in_grey_by_lightness_or_dash():
    for (name, look), (other, beside) in itertools.combinations(look_of().items(), 2):
        gap = abs(seen(look.colour)[0] - seen(beside.colour)[0])
        assert look.dash != beside.dash or gap >= 0.09, (name, other)


def test_every_encoding_stands_out_from_white():
    for name, look in look_of().items():
        luminance = float(light(look.colour) @ [0.2126, 0.7152, 0.0722])
        assert 1.05 / (luminance + 0.05) > 2.5, name


def test_encodings_that_open_the_same_doors_share_a_hue():
    families: dict[tuple, list] = {}
    for name, look in look_of().items():
        doors = tuple(create(name, d_model=8, n_heads=2, causal=True).doors)
        _, a, b = seen(look.colour)
        families.setdefault(doors, []).append(np.degrees(np.arctan2(b, a)) % 360)
    ranges = {
        doors: (min(hues), max(hues)) for doors, hues in families.items() if len(hues) > 1 and doors
    }
    assert set(ranges) == {(door,) for door in DOORS[:3]}
    ordered = sorted(ranges.values())
    assert all(high - low < 95 for low, high in ordered)
    assert all(lower[1] + 25 < higher[0] for lower, higher in itertools.pairwise(ordered))


@pytest.mark.parametrize(
    ("spoken", "name"),
    [
        ("ALiBi", "alibi"),
        ("RoPE", "rope"),
        ("Transformer-XL", "transformer_xl"),
        ("T5", "t5"),
        ("no position", "none"),
        ("NoPE", "none"),
        ("complex order", "complex_order"),
    ],
)
def test_an_encoding_is_known_by_the_papers_spelling(spoken, name):
    assert plots.identity(spoken) == plots.identity(name)


# Encodings of one's own


@pytest.fixture(autouse=True)
def nobody(monkeypatch):
    """No encoding of one's own has been drawn yet."""
    monkeypatch.setattr(identities, "_own_places", {})


def test_twelve_encodings_of_ones_own_look_different_from_all_others_and_stay_so():
    names = [f"mine {n}" for n in range(12)]
    every = look_of((*names, *NAMES))
    assert len({(look.colour, look.marker) for look in every.values()}) == len(names) + len(NAMES)
    assert {look.colour for look in list(every.values())[:12]}.isdisjoint(
        look.colour for look in look_of().values()
    )
    assert look_of(names) == {name: every[name] for name in names}
    assert plots.identity("mine 12"), "a thirteenth still gets a look"


def test_an_encoding_of_ones_own_looks_the_same_in_each_run(monkeypatch):
    runs = []
    for before in ((), ("blocks",), ("decay", "cosine")):  # none of them wants the same place
        monkeypatch.setattr(identities, "_own_places", {})
        look_of(before)
        runs.append(plots.identity("window"))
    assert len(set(runs)) == 1


def test_a_registered_encoding_is_drawn_in_its_own_look(scheme):
    scheme("window", lambda d_model, n_heads: None)
    line = drawn(plt.gca(), ["window"])["window"]
    assert to_hex(line.get_color()) == plots.identity("window").colour
    assert line.get_marker() == plots.identity("window").marker


def test_the_look_of_a_registered_class_is_its_own_and_not_an_inherited_one(scheme):
    class Dotted(PositionalEncoding):
        look = Look("#123456", "o", (0, (9, 9)))  # a dash that no other encoding has

    class Heir(Dotted):
        pass

    scheme("dotted", Dotted)
    scheme("heir", Heir)
    assert plots.identity("dotted") == identities.Identity("#123456", "o", (0, (9, 9)))
    assert plots.identity("heir").colour != "#123456"
    first, second = drawn(plt.gca(), ["dotted, lr 1", "dotted, lr 2"]).values()
    assert first.get_color() == second.get_color() == "#123456"


# In figures


@pytest.mark.parametrize("names", [["alibi", "rope"], ["head 0", "rope", "alibi"], ["ALiBi"]])
def test_an_encoding_has_its_look_whatever_stands_beside_it(names):
    for name, line in drawn(plt.gca(), names).items():
        if name != "head 0":
            look = plots.identity(name)
            assert (line.get_color(), line.get_marker()) == (look.colour, look.marker)


def drawn_means(names, **options):
    """Axes with the curves of means over seeds of these encodings, each at two lengths."""
    at = pd.MultiIndex.from_product([sorted(names), [64, 32]], names=["encoding", "read"])
    summary = pd.DataFrame({"mean": 1.0, "margin": 0.1}, index=at)
    ax = Figure().subplots()
    plots.seed_curves(ax, summary, names, **options)
    return ax


def test_means_over_seeds_have_the_same_look_as_plain_curves():
    ax = drawn_means(["t5", "alibi"])
    for bars, name in zip(ax.containers, ("t5", "alibi"), strict=True):
        line, look = bars[0], plots.identity(name)
        assert (line.get_color(), line.get_marker()) == (look.colour, look.marker)


def test_what_is_no_encoding_gets_a_colour_unlike_those_beside_it():
    lines = drawn(plt.gca(), ["sinusoidal", "real", "alibi", "noise"])
    colours = [seen(line.get_color()) for line in lines.values()]
    gaps = [np.linalg.norm(a - b) for a, b in itertools.combinations(colours, 2)]
    assert min(gaps) > 0.1
    assert lines["real"].get_marker() == ""


def test_cases_of_one_encoding_share_its_colour_and_differ_in_dash():
    names = ["rope, lr 0.01", "rope, lr 0.1", "rope (seed 2)", "alibi, lr 0.01"]
    lines = drawn(plt.gca(), names)
    colours = [line.get_color() for line in lines.values()]
    assert colours == [plots.identity("rope").colour] * 3 + [plots.identity("alibi").colour]
    dashes = {str(line._dash_pattern) for line in list(lines.values())[:3]}
    assert len(dashes) == 3
    assert lines["rope, lr 0.01"].get_marker() == plots.identity("rope").marker


def test_a_long_curve_has_few_markers_and_a_short_one_all():
    assert "markevery" not in plots.identity("rope").line(8)
    assert plots.identity("rope").line(500)["markevery"]


# Names at the ends of curves


def named_at_ends(heights, **axes):
    fig, ax = plt.subplots(figsize=(6, 3), dpi=80, layout="constrained")
    plots.lines(ax, {f"head {n}": torch.tensor([0.0, height]) for n, height in enumerate(heights)})
    ax.set(**axes)
    plots.quick_png(fig)
    canvas: Any = fig.canvas
    renderer = canvas.get_renderer()
    boxes = {text.get_text(): text.get_window_extent(renderer) for text in ax.texts}
    return ax, boxes, renderer


def test_from_six_curves_on_names_stand_at_their_ends_in_place_of_a_legend():
    ax, boxes, _ = named_at_ends(range(6))
    assert ax.get_legend() is None and len(boxes) == 6
    ax, boxes, _ = named_at_ends(range(5))
    assert ax.get_legend() is not None and not boxes


@pytest.mark.parametrize(
    ("heights", "axes"),
    [
        ([3, 2, 5, 0, 4, 1], {}),
        ([1, 1, 1, 1, 1, 1, 1], {}),
        ([0, 0, 0, 9, 9, 9], {}),
        ([1, 10, 100, 1000, 10_000, 100_000], {"yscale": "log", "ylim": (1, 1e5)}),
        ([1, 2, 3, 4, 5, 60], {"ylim": (0, 6)}),
        ([1, 2, 3, float("nan"), 5, 6], {}),
    ],
)
def test_names_at_the_ends_stand_in_the_curves_order_inside_the_figure_and_apart(heights, axes):
    ax, boxes, renderer = named_at_ends(heights, **axes)
    order = sorted(boxes.values(), key=lambda box: box.y0)
    assert all(lower.y1 <= upper.y0 + 2.5 for lower, upper in itertools.pairwise(order))
    known = [n for n in range(len(heights)) if heights[n] == heights[n]]
    by_height = sorted(known, key=lambda n: heights[n])
    for lower, upper in itertools.pairwise(by_height):
        if heights[lower] < heights[upper]:
            assert boxes[f"head {lower}"].y0 < boxes[f"head {upper}"].y0
    inside = ax.get_window_extent(renderer)
    for each in (part for part in ax.artists if isinstance(part, line_ends.LineEnds)):
        starts = [np.asarray(leader.get_xydata())[0, 1] for leader in each.leaders]
        assert all(inside.y0 - 1 <= y <= inside.y1 + 1 for y in starts), "a line left the axes"
    figure, right = ax.figure.bbox, inside.x1
    for box in boxes.values():
        assert right < box.x0 and box.x1 <= figure.x1
        assert box.y0 >= -8 and box.y1 <= figure.y1 + 8


def test_a_name_stands_at_the_height_of_its_curve_where_there_is_room():
    ax, boxes, _ = named_at_ends(range(6))
    for n in range(6):
        _, y = ax.transData.transform((1, n))
        assert abs((boxes[f"head {n}"].y0 + boxes[f"head {n}"].y1) / 2 - y) < 3


@pytest.mark.parametrize("spacing", [0.95, 1.5])
def test_names_at_the_ends_stand_as_far_apart_as_is_asked(spacing):
    fig, ax = plt.subplots(figsize=(6, 3), dpi=80)
    curves = [ax.plot([0, 1], [0, height])[0] for height in (1.0, 1.001, 2.0)]
    names = line_ends.LineEnds(ax, curves, ["a", "b", "c"], spacing=spacing)
    canvas: Any = fig.canvas
    canvas.draw()
    low, high = (name.get_window_extent(canvas.get_renderer()) for name in names.names[:2])
    assert high.y0 - low.y0 == pytest.approx(spacing * low.height, abs=1.5)


def test_many_means_over_seeds_are_named_at_their_ends():
    names = list("abcdef")
    for legend, written in ((True, names), (False, [])):
        ax = drawn_means(names, legend=legend)
        assert [text.get_text() for text in ax.texts] == written
        assert ax.get_legend() is None


def test_places_are_moved_as_little_as_can_be():
    apart = line_ends._spaced(np.array([0.0, 1.0, 10.0]), 4.0, -100.0, 100.0)
    assert apart.tolist() == [-1.5, 2.5, 10.0]
    assert line_ends._spaced(np.zeros(3), 4.0, 0.0, 100.0).tolist() == [0.0, 4.0, 8.0]


test_bad_arguments = bad_calls(
    [
        (lambda: plots.identity(""), ValueError, "name", "must not be empty"),
        (lambda: plots.identity("  "), ValueError, "name", "'  '"),
    ]
)
