"""Drawings for a phone: squeezed as far as their words allow, under a title of text."""

import re
from xml.etree import ElementTree

import site_columns
import site_narrow
import site_outputs
import site_panels
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

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


def test_a_word_that_would_cover_a_bar_slides_aside():
    fig = Figure(figsize=(8, 3))
    fig.set_layout_engine("none")
    ax = fig.add_axes((0.1, 0.2, 0.85, 0.65))
    ax.set(xlim=(0, 10), ylim=(0, 1), xticks=[0, 10])
    ax.bar([4], [0.6], width=0.8, color="grey")
    ax.text(2.4, 0.5, "beside the bar", ha="center")
    ax.axvspan(6, 8)  # as high as the panel: words may go beyond it
    ax.text(7, 0.5, "on a tinted band", ha="center")
    drawing = site_narrow.narrow(vector.svg(fig), 360)
    assert drawing.width <= 360
    root = ElementTree.fromstring(drawing.svg)
    (word,) = (
        line.at()
        for text in site_narrow.texts_of(root, 0.0)[1]
        for line in text
        if line.text == "beside the bar"
    )
    boxes = [
        site_narrow.box_of(site_narrow.commands_of(path))
        for path in root.iter(f"{site_narrow.SVG}path")
    ]
    (bar,) = (box for box in boxes if 10 < box[2] - box[0] < 30)
    assert word[2] < bar[0]


def table(columns: int, ticks: bool = False) -> str:
    """A wide table of rectangles with a number in each, in two rows that have labels."""
    fig = Figure(figsize=(10, 3))
    fig.set_layout_engine("none")
    ax = fig.add_axes((0.1, 0.1, 0.88, 0.7))
    ax.set(xlim=(0, columns), ylim=(0, 2), title="Many columns")
    ax.set_xticks(range(columns if ticks else 0))
    ax.set_yticks([0.5, 1.5], ["below", "above"], ha="right")
    ax.tick_params(axis="y", length=0)
    ax.spines[:].set_visible(False)
    for column in range(columns):
        for row in (0, 1):
            ax.add_patch(Rectangle((column + 0.05, row + 0.05), 0.9, 0.9))
            ax.text(column + 0.5, row + 0.5, f"{row}{column}", ha="center")
    return vector.svg(fig)


def test_a_wide_table_has_a_few_of_its_columns_at_a_time_each_time_beside_the_labels():
    drawing = site_columns.cut(table(6), 380)
    assert drawing is not None and drawing.title == "Many columns"
    assert drawing.width <= 380
    views = re.findall(r'<svg x="([\d.]+)" y="([\d.]+)" viewBox="([\d.]+)', drawing.svg)
    assert len(views) == 4  # labels and columns, twice
    labels, first, again, second = ((float(x), float(y), float(left)) for x, y, left in views)
    assert labels[2] == again[2] < first[2] < second[2]
    assert labels[1] == first[1] < again[1] == second[1]
    assert drawing.svg.count(">05<") == 1, "the table itself is there once"


def test_rows_of_pictures_are_read_from_left_to_right():
    fig = Figure(figsize=(10, 3))
    fig.set_layout_engine("none")
    ax = fig.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, 8), ylim=(0, 2))
    ax.set_axis_off()
    for number in range(16):
        x, y = number % 8 + 0.5, 1.6 - number // 8
        ax.add_patch(Rectangle((x - 0.4, y - 0.2), 0.8, 0.5))
        ax.text(x, y - 0.35, f"hand {number}", ha="center", fontsize=8)
    drawing = site_columns.cut(vector.svg(fig), 380)
    assert drawing is not None
    boxes = [
        tuple(map(float, found))
        for found in re.findall(
            r'<svg x="[\d.]+" y="([\d.]+)" viewBox="([-\d.]+) ([-\d.]+)', drawing.svg
        )
    ]
    assert [(left > 300, top > 100) for _, left, top in sorted(boxes)] == [
        (False, False),
        (True, False),
        (False, True),
        (True, True),
    ]


def test_a_panel_has_the_numbers_of_the_axis_that_it_shares_and_no_others():
    fig = Figure(figsize=(10, 3))
    first, second = fig.subplots(1, 2, sharey=True)
    first.plot([0, 1], [3, 9])
    second.plot([0, 1], [4, 8])
    svg = vector.svg(fig)
    boxes = [site_outputs._box(window) for _, window in site_outputs._views(svg)]
    own, shared = site_panels.shared_numbers(svg, boxes)
    assert own is None and shared is not None
    assert shared[0] < shared[2] < boxes[1][0], "they stand at the left of the first panel"
    panel = site_panels.alone(svg, boxes[1])
    assert panel is not None
    alone = site_narrow.narrow(panel, 250)
    assert alone.width <= 250 < boxes[1][2] - boxes[1][0]


def test_a_panel_has_the_shapes_that_were_first_used_in_another():
    fig = Figure(figsize=(10, 3))
    for ax in fig.subplots(1, 2):
        ax.plot([0, 1], [3, 9], "s")
        ax.bar([0], [1], hatch="//")
    svg = vector.svg(fig)
    boxes = [site_outputs._box(window) for _, window in site_outputs._views(svg)]
    for panel in [site_panels.alone(svg, box, boxes) for box in boxes]:
        assert panel is not None and site_panels.lost_names(panel) == []
        assert panel.count("<use ") < svg.count("<use ")


def test_a_name_that_no_element_has_is_lost():
    use = '<use xmlns="http://www.w3.org/2000/svg" href="#mark" style="fill: url(#hatch)"/>'
    assert site_panels.lost_names(use) == ["hatch", "mark"]


def test_a_panel_whose_label_reaches_over_its_neighbours_is_shown_without_them():
    fig = Figure(figsize=(9, 6))
    panels = fig.subplots(3, 1, sharex=True)
    for ax, title in zip(panels, ("above", "between", "below"), strict=True):
        ax.plot([0, 1], [0, 1])
        ax.set_title(title)
    panels[1].set_ylabel("a label of all three that is as long as two of them together")
    svg = vector.svg(fig)
    views = site_outputs._views(svg)
    boxes = [site_outputs._box(window) for _, window in views]
    assert all(width > 500 for _, (_, _, width, _) in views), "no colour bar is shared"
    assert [site_panels.own(box, boxes) == box for box in boxes] == [True, False, True]
    panel = site_panels.alone(svg, boxes[1], boxes)
    assert panel is not None
    titles = ("above", "between", "below")
    assert [title in panel for title in titles] == [False, True, False]
    assert "a label of all three" in panel


def test_what_fits_or_has_an_axis_or_no_columns_is_not_cut():
    assert site_columns.cut(table(6), 900) is None
    assert site_columns.cut(table(6, ticks=True), 380) is None
    assert site_columns.cut(drawn({"a": 2}), 380) is None
