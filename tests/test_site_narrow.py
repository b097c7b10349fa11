"""Drawings for a phone: squeezed as far as their words allow, under a title of text."""

import re

import site_narrow
from matplotlib.figure import Figure

from course_utils.plots import vector

PLACED = re.compile(r'<text x="([\d.-]+)" y="([\d.-]+)"[^>]*>([^<]*)')
LINE = re.compile(r'<text transform="translate\(([\d.]+) [^"]*"[^>]*>([^<]*)')


def drawn(names: dict[str, float], title: str = "A title", box: bool = False) -> str:
    """A wide figure with words at these places of an axis from 0 to 10."""
    fig = Figure(figsize=(8, 3))
    fig.set_layout_engine("none")
    ax = fig.add_axes((0.1, 0.2, 0.85, 0.65))
    ax.set(xlim=(0, 10), ylim=(0, 1), xticks=[0, 5, 10])
    ax.set_title(title)
    ax.plot([0, 10], [0.1, 0.9])
    for name, x in names.items():
        ax.text(x, 0.5, name, ha="center")
    if box:
        ax.imshow([[0, 1], [1, 0]], extent=(0, 10, 0, 1), aspect="auto")
    return vector.svg(fig)


def places(svg: str) -> dict[str, float]:
    return {text: float(x) for x, _, text in PLACED.findall(svg)}


def test_a_panel_becomes_as_narrow_as_wanted_and_its_title_is_taken_out():
    drawing = site_narrow.narrow(drawn({"a": 2}, "Lines <rise>"), 360)
    assert drawing.title == "Lines <rise>" and "rise" not in drawing.svg
    assert 330 < drawing.width <= 360
    assert f'width="{drawing.width:.1f}pt"' in drawing.svg


def test_places_keep_their_proportions_and_words_their_size():
    svg = drawn({"left": 2, "right": 8})
    before, after = places(svg), places(site_narrow.narrow(svg, 360).svg)
    share = (after["10"] - after["0"]) / (before["10"] - before["0"])
    assert 0.5 < share < 0.7
    middle = (after["right"] - after["left"]) / (before["right"] - before["left"])
    assert abs(middle - share) < 0.01
    sizes = re.compile(r"font-size: [\d.]+px")
    assert set(sizes.findall(site_narrow.narrow(svg, 360).svg)) <= set(sizes.findall(svg))


def test_the_lines_of_one_text_move_together_though_one_of_them_alone_is_beside_a_mark():
    fig = Figure(figsize=(8, 3))
    fig.set_layout_engine("none")
    ax = fig.add_axes((0.1, 0.2, 0.85, 0.65))
    ax.set(xlim=(0, 10), ylim=(0, 1), xticks=[0, 10])
    for x in (2, 5, 8):
        ax.plot(x, 0.5, "o")
        ax.text(x + 0.12, 0.48, f"top {x}\nmiddle {x}\nbottom {x}")
    svg = vector.svg(fig)
    before, after = (
        {text: float(x) for x, text in LINE.findall(drawing)}
        for drawing in (svg, site_narrow.narrow(svg, 360).svg)
    )
    for x in (2, 5, 8):
        steps = [after[line] - before[line] for line in (f"top {x}", f"bottom {x}")]
        assert abs(steps[0] - steps[1]) < 0.2 and max(steps) < -20


def test_words_that_would_meet_keep_a_drawing_wide():
    crowded = {f"some words {n}": 1.0 + 1.6 * n for n in range(6)}
    drawing = site_narrow.narrow(drawn(crowded), 360)
    assert drawing.width > 480
    xs = sorted(x for text, x in places(drawing.svg).items() if text.startswith("some"))
    assert min(b - a for a, b in zip(xs, xs[1:], strict=False)) > 60


def test_a_picture_keeps_its_shape_and_loses_its_title():
    drawing = site_narrow.narrow(drawn({}, box=True), 360)
    assert drawing.width == 576 and drawing.title == "A title"


def test_a_line_that_was_drawn_stays_within_its_panel():
    path = re.compile(r'd="M ([\d.]+) [\d.]+ L ([\d.]+) [\d.]+" clip-path')
    before, after = (
        [float(x) for x in path.findall(svg)[0]]
        for svg in (drawn({}), site_narrow.narrow(drawn({}), 360).svg)
    )
    assert before[0] == after[0] and after[1] < 0.7 * before[1]
