"""Figures as SVG: the same picture in light and in dark, sharp, and panel by panel."""

import base64
import io
import re
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pytest
import seaborn as sns
import torch
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from PIL import Image

from course_utils import plots

BLUE = "#0173b2"  # 3.5 times as bright as the dark paper: too little for words


@pytest.fixture(autouse=True)
def _style():
    plots.use_style()
    yield
    plt.close("all")


def two_panels() -> Figure:
    fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3))
    left.plot([0.0, 1.0], [0.0, 2.0], color=BLUE)
    left.set(title="a line", ylabel="loss")
    plots.heatmap(right, torch.eye(3), title="a matrix", unit="weight")
    return fig


def counterparts(svg: str) -> dict[str, str]:
    """The colour in the dark of each colour."""
    _, dark = svg.split("@media")
    return {f"#{old}": new for old, new in re.findall(r"--c(\w{6}):(#\w{6})", dark)}


def test_the_same_figure_gives_the_same_svg_without_a_date():
    assert plots.svg(two_panels()) == plots.svg(two_panels())
    assert "date" not in plots.svg(two_panels()).lower()


def test_it_is_xml_with_the_size_of_the_figure_in_points_and_the_words_as_words():
    root = ElementTree.fromstring(plots.svg(two_panels()))
    assert (root.get("width"), root.get("height")) == ("576pt", "216pt")
    words = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"a line", "loss", "a matrix", "weight"} <= words


def test_it_says_what_it_shows_if_a_description_is_given():
    root = ElementTree.fromstring(plots.svg(two_panels(), 'a line & a "matrix"'))
    assert (root.get("role"), root.get("aria-label")) == ("img", 'a line & a "matrix"')
    assert ElementTree.fromstring(plots.svg(two_panels())).get("role") is None


def test_within_a_page_its_rules_touch_nothing_else():
    root = ElementTree.fromstring(plots.svg(two_panels()))
    (style,) = root.iter("{http://www.w3.org/2000/svg}style")
    selectors = re.findall(r"(?:^|[{}])([^{}@]+)\{", style.text or "")
    assert len(selectors) > 4
    assert all(selector.startswith(f"#{root.get('id')}") for selector in selectors)
    assert root.get("id") != ElementTree.fromstring(plots.svg(bright())).get("id")


def test_each_panel_has_a_view_with_its_colour_bar_and_no_view_shows_another_panels_axes():
    boxes = re.findall(
        r'<view id="(panel-\d)" viewBox="(\S+) (\S+) (\S+) (\S+)"', plots.svg(two_panels())
    )
    assert [name for name, *_ in boxes] == ["panel-1", "panel-2"]
    (left, right) = ([float(number) for number in numbers] for _, *numbers in boxes)
    assert left[0] + left[2] <= right[0] + 6  # the margins of both
    assert right[0] + right[2] == pytest.approx(576, abs=8)  # the bar stands at the far right


def test_in_the_dark_paper_and_ink_change_places_and_a_dark_colour_is_lightened():
    dark = counterparts(plots.svg(two_panels()))
    assert dark["#ffffff"] == "#111111" and dark["#000000"] == "#f0f0f0"
    assert sum(int(dark[BLUE][i : i + 2], 16) for i in (1, 3, 5)) > 0x01 + 0x73 + 0xB2
    assert counterparts(plots.svg(bright()))["#ffcc00"] == "#ffcc00"


def bright() -> Figure:
    fig, ax = plt.subplots()
    ax.plot([0, 1], color="#ffcc00")
    return fig


def test_cells_and_the_words_upon_them_keep_their_colours_in_the_dark():
    fig, ax = plt.subplots()
    sns.heatmap([[0.0, 1.0]], annot=True, ax=ax, cmap="Greys")
    drawing = plots.svg(fig)
    looks = re.findall(r'class="as-drawn">.*?(?:class|style)="(.*?)"', drawing)
    assert len(looks) >= 3  # the cells and two numbers
    for look in looks:
        rule = re.findall(rf"\.{look}\{{([^}}]*)\}}", drawing) if look[0] == "s" else [look]
        assert "#" in rule[0] and "var(" not in rule[0]


def test_words_beside_the_cells_turn_light_in_the_dark():
    fig, ax = plt.subplots()
    ax.imshow([[0.0, 1.0]])
    ax.set(xlim=(-0.5, 4.0))
    ax.text(0, 0, "upon")
    ax.text(3, 0, "beside")
    drawing = plots.svg(fig)
    kept = re.findall(r'class="as-drawn">(.*?)</g>', drawing)
    assert any(">upon<" in part for part in kept)
    assert not any(">beside<" in part for part in kept)


def test_a_pale_tint_becomes_a_dark_one_of_the_same_hue():
    fig, ax = plt.subplots()
    ax.bar([0, 1, 2], [1, 1, 1], color=["#c4dff0", "#fbe3c0", "#a9cfe6"])
    dark = counterparts(plots.svg(fig))
    for tint, brightest in (("#c4dff0", 2), ("#fbe3c0", 0), ("#a9cfe6", 2)):
        parts = [int(dark[tint][i : i + 2], 16) for i in (1, 3, 5)]
        assert max(parts) < 0x80 and parts.index(max(parts)) == brightest


def test_the_ground_of_a_hatched_patch_turns_dark_too():
    fig, ax = plt.subplots()
    ax.add_patch(Rectangle((0, 0), 1, 1, facecolor="#fbe3c0", edgecolor="0.7", hatch="//"))
    drawing = plots.svg(fig)
    assert 'fill="#' not in drawing
    assert "var(--cfbe3c0)" in drawing and counterparts(drawing)["#fbe3c0"] != "#fbe3c0"


def test_a_hatch_that_several_patches_share_keeps_its_name():
    fig, axes = plt.subplots(1, 2)
    for ax in axes:
        ax.patch.set(facecolor="0.96", hatch="//////", edgecolor="0.75")
    drawing = plots.svg(fig)
    (pattern,) = set(re.findall(r"fill: url\(#(\w+)\)", drawing))
    assert re.search(rf'<pattern id="{pattern}"|<pattern [^>]* id="{pattern}"', drawing)


def test_names_of_the_figures_own_parts_are_as_before():
    fig, ax = plt.subplots()
    sns.heatmap([[0.0, 1.0]], annot=True, ax=ax)
    ax.texts[0].set_gid("mine")
    plots.svg(fig)
    assert ax.texts[0].get_gid() == "mine" and ax.texts[1].get_gid() is None


def test_what_draws_nothing_is_left_out_and_a_look_is_written_once():
    fig, ax = plt.subplots()
    for _ in range(20):
        ax.plot([0, 1], [torch.nan, torch.nan], color=BLUE)
        ax.plot([0, 1], [0, 1], color=BLUE)
    drawing = plots.svg(fig)
    assert 'd=""' not in drawing and "<g />" not in drawing
    assert drawing.count(f"--c{BLUE[1:]})") == 1  # in the rule of all twenty lines


def test_a_matrix_is_held_with_a_pixel_for_each_cell_in_its_exact_colours():
    fig, ax = plt.subplots(figsize=(6, 6))
    matrix = torch.rand(24, 16).masked_fill(torch.eye(24, 16) > 0, -torch.inf)
    image = plots.heatmap(ax, matrix)
    (held,) = re.findall(r'"data:image/png;base64,\s*(\S+?)"', plots.svg(fig))
    pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(held))).convert("RGBA"))
    values = image.get_array()
    assert values is not None
    expected = image.to_rgba(values, bytes=True)
    assert pixels.shape == (24, 16, 4)
    seen = expected[..., 3] > 0  # the colour of a hidden cell is no one's
    assert (pixels[..., 3] == expected[..., 3]).all() and (pixels[seen] == expected[seen]).all()


def test_two_pictures_upon_one_pair_of_axes_are_held_each_by_its_cells():
    fig, ax = plt.subplots()
    for left in (0, 8):
        ax.imshow(np.eye(8), extent=(left, left + 8, 0, 8))
    ax.set(xlim=(0, 16))
    held = re.findall(r'"data:image/png;base64,\s*(\S+?)"', plots.svg(fig))
    sizes = [Image.open(io.BytesIO(base64.b64decode(picture))).size for picture in held]
    assert sizes == [(8, 8), (8, 8)]


def test_what_is_no_figure_is_refused():
    with pytest.raises(TypeError, match="fig"):
        plots.svg("fig")  # type: ignore[arg-type]
