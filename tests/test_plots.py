"""Figures: every one draws without a warning, has its labels, and is shown with a description."""

import functools
import hashlib
import io
import math
from collections.abc import Callable

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from pairwise import each_once, some
from PIL import Image
from seaborn.utils import relative_luminance

from course_lab import chinese, figures
from course_utils import measures, plots
from course_utils.encodings import create
from course_utils.encodings.functional import sinusoidal_table, wavelengths
from course_utils.plots import style

pytestmark = pytest.mark.usefixtures("figures")

TABLE = sinusoidal_table(torch.arange(12), 8)
WEIGHTS = torch.tensor([[0.9, 0.1, 0.0], [0.2, 0.5, 0.3], [0.0, 0.0, 1.0]])
WORDS = ["the", "cat", "sleeps"]
CURVES = {"one": torch.tensor([0.0, 1.0, 0.5]), "two": torch.tensor([1.0, 0.2, 0.1])}


def on_axes(draw):
    fig, ax = plt.subplots()
    draw(ax)
    return fig


def panels():
    return figures.four_panel(
        TABLE, wavelengths(8), dimensions=[0, 5], positions=[1, 7], title="four panels"
    )


def prints():
    encoding = create("sinusoidal", d_model=8, n_heads=2)
    return figures.fingerprint(measures.fingerprint(encoding, 6), "sinusoidal")


ON_AXES = {
    "heatmap": lambda ax: plots.heatmap(ax, TABLE, title="t", xlabel="x", ylabel="y", unit="u"),
    "attention": lambda ax: figures.attention(ax, WEIGHTS, WORDS, title="t", unit="weight"),
    "similarity": lambda ax: figures.similarity(ax, measures.similarity_matrix(TABLE)),
    "lines": lambda ax: plots.lines(ax, CURVES, title="t", xlabel="x", ylabel="y"),
    "strips": lambda ax: figures.strips(ax, CURVES, title="t", xlabel="x", ylabel="y"),
    "entropy": lambda ax: figures.entropy(ax, CURVES, math.log(3), title="t"),
}
FIGURES: dict[str, Callable[[], Figure]] = {"four_panel": panels, "fingerprint": prints}
FIGURES |= {name: functools.partial(on_axes, draw) for name, draw in ON_AXES.items()}
each_figure = pytest.mark.parametrize("make", FIGURES.values(), ids=FIGURES.keys())


def axes_of(fig, colour_bars=False):
    bars = [ax for ax in fig.axes if ax.get_label() == "<colorbar>"]
    return bars if colour_bars else [ax for ax in fig.axes if ax not in bars]


def digest(picture):
    """A short stand-in for a picture: pytest would take minutes to compare long bytes."""
    return hashlib.sha256(picture).hexdigest()


# All figures


@each_figure
def test_every_figure_has_a_title_and_every_axes_labels(make):
    fig = make()
    first, *others = axes_of(fig)
    assert first.get_xlabel() and first.get_ylabel()
    for ax in others:
        assert ax.get_xlabel() and ax.get_title()
    for bar in axes_of(fig, colour_bars=True):
        assert bar.get_ylabel()
    assert fig.get_suptitle() or axes_of(fig)[0].get_title()


@each_once(name=tuple(FIGURES), styled=(False, True))
def test_every_figure_draws_without_a_warning(name, styled):
    if styled:
        plots.use_style()
    assert plots.png(FIGURES[name]()).startswith(b"\x89PNG")


@some("name", tuple(FIGURES), quick=("heatmap",))
def test_the_same_input_gives_the_same_bytes(name):
    make = FIGURES[name]
    plots.use_style()
    assert digest(plots.png(make())) == digest(plots.png(make()))
    assert digest(plots.quick_png(make())) == digest(plots.quick_png(make()))


# Heatmaps


@pytest.mark.parametrize("numbers", [[[-1.0, 3.0]], [[0.0, 0.0]]])
def test_zero_is_white_in_a_heatmap_of_both_signs_and_in_one_of_zeros(numbers):
    image = plots.heatmap(plt.gca(), torch.tensor(numbers))
    middle = to_hex(image.to_rgba(np.zeros(1))[0])
    assert middle == to_hex(plt.get_cmap(style.DIVERGING)([0.5])[0])


def test_a_heatmap_shows_a_learned_table_as_it_is_with_row_zero_on_top():
    image = plots.heatmap(plt.gca(), torch.nn.Parameter(TABLE))
    assert torch.equal(torch.from_numpy(np.asarray(image.get_array())), TABLE)
    assert plt.gca().yaxis_inverted()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64, torch.int64])
def test_a_heatmap_takes_any_numbers(dtype):
    image = plots.heatmap(plt.gca(), torch.arange(4).reshape(2, 2).to(dtype) - 1)
    assert image.get_clim() == (-2, 2)
    assert np.asarray(image.get_array()).tolist() == [[-1, 0], [1, 2]]


@pytest.mark.parametrize(
    ("numbers", "options", "bounds", "colours"),
    [
        ([1.0, 3.0], {}, (0, 3), style.SEQUENTIAL),
        ([-1.0, -3.0], {}, (-3, 0), f"{style.SEQUENTIAL}_r"),
        ([0.0, -3.0], {}, (-3, 0), f"{style.SEQUENTIAL}_r"),
        ([-1.0, 3.0], {}, (-3, 3), style.DIVERGING),
        ([1.0, 3.0], {"signed": False}, (0, 3), style.SEQUENTIAL),
        ([-1.0, 0.0], {"signed": False, "limit": 6}, (-6, 0), f"{style.SEQUENTIAL}_r"),
        # Heatmaps that share a limit share a map.
        ([1.0, 2.0], {"limit": 3}, (-3, 3), style.DIVERGING),
        ([-1.0, 2.0], {"limit": 3}, (-3, 3), style.DIVERGING),
    ],
)
def test_numbers_of_one_sign_take_a_sequential_map_that_starts_at_zero(
    numbers, options, bounds, colours
):
    image = plots.heatmap(plt.gca(), torch.tensor([numbers]), **options)
    assert image.get_clim() == bounds
    assert image.get_cmap().name == colours


# Masked cells

BELOW = torch.tensor([[1.0, 0.0, 0.0], [0.4, 0.6, 0.0], [0.2, 0.3, 0.5]])


def masked(ax):
    image = (*ax.images, *ax.collections)[0]
    return np.ma.getmaskarray(image.get_array()).tolist()


def test_the_zeros_of_a_causal_mask_are_hatched_and_carry_no_number():
    figures.attention(plt.gca(), BELOW, list("abc"))
    assert masked(plt.gca()) == torch.ones(3, 3).triu(1).bool().tolist()
    assert plt.gca().patch.get_hatch()
    assert len(plt.gca().texts) == 6


@pytest.mark.parametrize(
    ("weights", "signed"),
    [
        (WEIGHTS, False),  # a weight above the diagonal
        (torch.eye(3), False),  # zeros below it too: a head that looks at itself, mask or not
        (BELOW[:, :2], False),
        (torch.ones(1, 1), False),
        (torch.zeros(3, 3), False),
        (BELOW - 2 * torch.eye(3), True),  # signed scores
    ],
)
def test_zeros_that_are_no_causal_mask_are_drawn_as_zeros(weights, signed):
    plots.heatmap(plt.gca(), weights, signed=signed)
    assert not np.any(masked(plt.gca()))


@pytest.mark.parametrize("signed", [True, False, None])
def test_scores_of_minus_infinity_are_masked_and_do_not_set_the_colours(signed):
    image = plots.heatmap(plt.gca(), torch.tensor([[-torch.inf, 2.0]]), signed=signed)
    assert masked(plt.gca()) == [[True, False]]
    assert image.get_clim()[1] == 2
    opacity = image.to_rgba(np.ma.asarray(image.get_array()))[0, 0, 3]
    assert opacity == 0, "the hatched ground is hidden"


@pytest.mark.parametrize("wrong", [torch.inf, torch.nan])
def test_other_infinities_and_nan_are_refused(wrong):
    with pytest.raises(ValueError, match="matrix must be finite"):
        plots.heatmap(plt.gca(), torch.tensor([[wrong, 2.0]]))


# Similarity and colour bars


def test_similarities_without_a_negative_one_start_at_zero():
    matrix = torch.tensor([[1.0, 0.2], [0.2, 1.0]])
    assert figures.similarity(plt.gca(), matrix).get_clim() == (0, 1)
    assert figures.similarity(plt.gca(), matrix, signed=True).get_clim() == (-1, 1)
    assert figures.similarity(plt.gca(), matrix - 0.5).get_clim() == (-1, 1)


@pytest.mark.parametrize("inner_ticks", [False, True])
@pytest.mark.parametrize("limit", [1.0, 2.345, 0.0037, 6.0])
def test_a_colour_bar_has_a_tick_at_each_end(limit, inner_ticks):
    fig, ax = plt.subplots()
    image = plots.heatmap(ax, TABLE, unit="" if inner_ticks else "score", limit=limit)
    if inner_ticks:
        fig.colorbar(image, ax=ax)
    plots.png(fig)
    assert image.colorbar is not None
    ticks = list(image.colorbar.get_ticks())
    assert ticks[0] == pytest.approx(-limit) and ticks[-1] == pytest.approx(limit)
    assert ticks == sorted(ticks) and len(ticks) > 2
    gaps = np.diff(ticks)
    assert min(gaps) > 0.2 * limit  # no number is written over another


def test_a_logarithmic_colour_bar_keeps_its_ticks():
    image = plt.gca().imshow([[1.0, 90.0]], norm="log")
    bar = plt.gcf().colorbar(image)
    before = list(bar.get_ticks())
    plots.png(plt.gcf())
    assert list(bar.get_ticks()) == before


def test_a_colour_bar_does_not_come_out_in_bands():
    """Two maps, names and lines: more colours than a small picture has."""
    fig, axes = plt.subplots(1, 2)
    for ax, signed in zip(axes, (True, False), strict=True):
        plots.heatmap(ax, sinusoidal_table(torch.arange(64), 64), signed=signed, unit="u")
    quick = plots.quick_png(fig)
    assert colour_gap(quick, style.shrink(quick), np.max) <= 14 / 255


# Attention


def test_words_stand_on_both_axes_of_attention():
    figures.attention(plt.gca(), WEIGHTS, WORDS)
    for axis in (plt.gca().xaxis, plt.gca().yaxis):
        assert [text.get_text() for text in axis.get_ticklabels()] == WORDS


def test_a_small_attention_map_writes_each_weight_where_it_belongs():
    figures.attention(plt.gca(), WEIGHTS, ["a", "b", "c"])
    written = {text.get_position(): text.get_text() for text in plt.gca().texts}
    assert written == {
        (key + 0.5, query + 0.5): f"{WEIGHTS[query, key]:.2f}"
        for key in range(3)
        for query in range(3)
    }


def test_a_large_attention_map_writes_no_numbers():
    figures.attention(plt.gca(), torch.full((9, 9), 1 / 9), list("abcdefghi"))
    assert not plt.gca().texts


def test_attention_colours_reach_to_one_unless_told_otherwise():
    assert figures.attention(plt.gca(), WEIGHTS / 2).get_clim() == (0, 1)
    assert figures.attention(plt.gca(), WEIGHTS / 2, limit=None).get_clim() == (0, 0.5)


# Fingerprints


def test_a_fingerprint_has_one_square_a_head_on_one_colour_scale():
    scores = torch.stack([torch.eye(4), 5 * torch.eye(4), torch.zeros(4, 4)])
    squares = axes_of(figures.fingerprint(scores, "t"))
    assert [ax.get_title() for ax in squares] == ["head 0", "head 1", "head 2"]
    assert len({ax.images[0].get_clim() for ax in squares}) == 1


def test_a_fingerprint_leaves_out_what_all_entries_of_a_head_share():
    scores = torch.randn(2, 4, 4)
    drawn, shifted = (
        np.asarray(figures.fingerprint(s, "t").axes[1].images[0].get_array())
        for s in (scores, scores + torch.tensor([0.0, 7.0])[:, None, None])
    )
    assert abs(drawn - shifted).max() <= 1e-5


def test_the_fingerprint_of_rounding_noise_stays_white():
    image = figures.fingerprint(1e-7 * torch.randn(1, 4, 4), "t").axes[0].images[0]
    assert image.get_clim()[1] >= 1e-3


# Curves


def test_curves_differ_in_dash_and_carry_their_names_unless_told_otherwise():
    curves = {f"head {n}": torch.zeros(3) for n in range(8)}
    many, few = plt.figure().subplots(1, 2)
    plots.lines(many, curves, legend=False)
    plots.lines(few, CURVES)
    assert len({str(line._dash_pattern) for line in many.lines}) == 8
    assert many.get_legend() is None
    legend = few.get_legend()
    assert legend is not None and [text.get_text() for text in legend.get_texts()] == ["one", "two"]


def test_curves_are_drawn_over_x_or_else_over_their_places():
    plots.lines(plt.gca(), CURVES)
    plots.lines(plt.gca(), {"three": torch.zeros(3)}, x=torch.tensor([2.0, 4.0, 8.0]))
    over = [list(np.asarray(line.get_xdata())) for line in plt.gca().lines]
    assert over == [[0, 1, 2], [0, 1, 2], [2, 4, 8]]


def test_curves_take_tensors_with_gradients_and_in_other_precisions():
    plots.lines(plt.gca(), {"a": torch.ones(2, requires_grad=True), "b": torch.ones(2).bfloat16()})


def test_strips_show_every_value_in_the_row_of_its_name_and_the_mean():
    ax = plt.gca()
    figures.strips(ax, CURVES)
    assert [label.get_text() for label in ax.get_yticklabels()] == list(CURVES)
    assert ax.yaxis_inverted(), "the first name is on top"
    plt.gcf().draw_without_rendering()  # moves the dots apart
    means = np.asarray(ax.lines[0].get_xydata())
    for row, (dots, values) in enumerate(zip(ax.collections, CURVES.values(), strict=True)):
        x, y = np.asarray(dots.get_offsets()).T
        assert x == pytest.approx(values.numpy())
        assert np.abs(y - row).max() <= 0.4
        assert means[row] == pytest.approx([float(values.mean()), row])


def test_equal_values_stay_visible_in_a_strip():
    figures.strips(plt.gca(), {"same": torch.zeros(9)})
    plt.gcf().draw_without_rendering()
    dots = plt.gca().collections[0].get_offsets()
    assert len({tuple(dot) for dot in np.asarray(dots).tolist()}) == 9


def test_a_strip_of_an_encodings_values_has_its_colour():
    figures.strips(plt.gca(), {"ALiBi": torch.zeros(2), "others": torch.ones(2)})
    colours = [to_hex(np.asarray(dots.get_facecolor())[0]) for dots in plt.gca().collections]
    assert colours == [plots.identity("alibi").colour, to_hex("C0")]


def test_facets_are_titled_panels_in_the_layout_of_the_other_figures():
    plots.use_style()
    table = pd.DataFrame({"task": ["copy", "find", "copy"]})
    grid = figures.facets(table, "task", height=3, aspect=1.0)
    assert {task: ax.get_title() for task, ax in grid.axes_dict.items()} == {
        "copy": "copy",
        "find": "find",
    }
    plots.png(grid.figure)  # would warn of another layout
    assert isinstance(grid.figure.get_layout_engine(), ConstrainedLayoutEngine)


def test_strips_of_nothing_are_refused():
    with pytest.raises(ValueError, match="rows must hold at least one row"):
        figures.strips(plt.subplots()[1], {})


def test_entropy_is_drawn_under_a_line_at_its_ceiling():
    figures.entropy(plt.gca(), CURVES, ceiling=1.25)
    heights = [set(np.asarray(line.get_ydata())) for line in plt.gca().lines]
    assert {1.25} in heights
    assert plt.gca().get_ylim() == pytest.approx((0, 1.25 * 1.15))
    plt.gcf().canvas.draw()
    assert "uniform: 1.25" in [text.get_text() for text in plt.gcf().findobj(plt.Text)]


def test_a_floor_magnifies_what_lies_between_it_and_the_ceiling():
    figures.entropy(plt.gca(), CURVES, ceiling=2.0, floor=1.0)
    assert plt.gca().get_ylim() == pytest.approx((1, 2.15))


def test_four_panels_draw_what_they_were_given():
    table, waves, vectors, turns = axes_of(panels())
    sines_first = torch.cat([TABLE[:, ::2], TABLE[:, 1::2]], dim=1)
    assert torch.equal(torch.as_tensor(table.images[0].get_array()), sines_first)
    assert waves.lines[1].get_ydata().tolist() == pytest.approx(TABLE[:, 5].tolist())
    assert vectors.lines[1].get_ydata().tolist() == pytest.approx(TABLE[7, ::2].tolist())
    assert turns.lines[0].get_ydata().tolist() == pytest.approx(wavelengths(8).tolist())
    assert turns.get_yscale() == "log"


def test_four_panels_draw_waves_between_the_rows_of_the_table_and_these_as_dots():
    fine = sinusoidal_table(torch.arange(36) / 3, 8)
    fig = figures.four_panel(
        TABLE, wavelengths(8), dimensions=[5], positions=[1], title="waves", fine=fine
    )
    wave, dots = axes_of(fig)[1].lines
    assert wave.get_ydata().tolist() == pytest.approx(fine[:, 5].tolist())
    assert wave.get_xdata().tolist() == pytest.approx((torch.arange(36) / 3).tolist())
    assert dots.get_ydata().tolist() == pytest.approx(TABLE[:, 5].tolist())
    assert (dots.get_linestyle(), dots.get_color()) == ("None", wave.get_color())


# show() and png()


def test_show_displays_a_picture_and_its_description(shown):
    fig = on_axes(lambda ax: plots.lines(ax, CURVES))
    expected = digest(plots.png(fig))
    plots.show(fig, "Two curves\n   that cross at 0.4. ")
    bundle, words = shown
    assert digest(bundle.pop("image/png")) == expected
    assert bundle.pop("image/svg+xml").startswith("<svg ")
    assert bundle == {"text/plain": "Two curves that cross at 0.4."}
    folded = "<details><summary>In words</summary>Two curves that cross at 0.4.</details>"
    assert words == {"text/html": folded}


def test_a_description_may_hold_signs_that_html_reserves(shown):
    plots.show(plt.figure(), 'i < j & "q" > 2')
    assert shown[1]["text/html"].count("<") == 4
    assert 'i &lt; j &amp; "q" &gt; 2' in shown[1]["text/html"]


def test_show_gives_the_picture_its_alternative_text(shown, shown_metadata):
    plots.show(plt.figure(), "a line")
    words = {"alt": "a line"}
    assert shown_metadata[0] == {"image/png": words, "image/svg+xml": words}


def test_show_closes_its_figure_and_no_other(shown):
    other, fig = plt.figure(), plt.figure()
    plots.show(fig, "empty")
    assert plt.get_fignums() == [other.number]


def test_show_takes_a_figure_that_pyplot_does_not_know(shown):
    plots.show(Figure(), "empty")
    assert len(shown) == 2


@pytest.mark.parametrize("make", [plots.png, plots.quick_png])
def test_a_png_is_as_large_as_its_figure_and_silent_about_the_machine_that_made_it(make):
    picture = Image.open(io.BytesIO(make(Figure(figsize=(3, 2), dpi=50))))
    assert picture.size == (150, 100)
    assert "Software" not in picture.info


@some("name", tuple(FIGURES), quick=("attention", "lines", "four_panel"))
def test_a_png_shows_the_same_as_the_quick_one_in_fewer_bytes(name):
    fig = FIGURES[name]()
    quick, small = plots.quick_png(fig), plots.png(fig)
    assert len(small) < len(quick)
    assert colour_gap(quick, small) <= 0.02


def colour_gap(picture, other, of=np.mean):
    """The mean difference of two pictures on white, where black and white differ by 1."""
    a, b = (on_page(data, "white") for data in (picture, other))
    return of(abs(a - b)) / 255


def on_page(picture, colour):
    """The (height, width, 3) values of a PNG on a page of this colour, from 0 to 255."""
    image = Image.open(io.BytesIO(picture)).convert("RGBA")
    page = Image.new("RGBA", image.size, colour)
    page.alpha_composite(image)
    return np.asarray(page.convert("RGB"), dtype=float)


@pytest.mark.parametrize("page", ["#ffffff", "#111111"])
def test_a_stored_picture_has_the_page_as_its_paper_and_its_words_stand_out_on_it(page):
    fig = Figure(figsize=(3, 1))
    fig.text(0.5, 0.5, "███", ha="center")
    pixels = on_page(plots.png(fig), page) / 255
    height, width, _ = pixels.shape
    word = pixels[height // 2 - 3, width // 2]
    paper, ink = relative_luminance(pixels[0, 0]), relative_luminance(word)
    assert np.abs(pixels[0, 0] - to_rgb(page)).max() == 0
    light, dark = max(paper, ink), min(paper, ink)
    assert (light + 0.05) / (dark + 0.05) > 4.3


def test_cells_whose_colours_are_values_look_the_same_on_any_page():
    fig, (ax, _) = plt.subplots(1, 2)
    plots.heatmap(ax, torch.tensor([[0.0, -1.0], [1.0, 0.0]]), unit="u")
    picture = plots.png(fig)
    x, y = ax.transData.transform((0, 0)).astype(int)
    row = int(fig.bbox.height) - y
    light, dark = (on_page(picture, page)[row, x] for page in ("white", "#111111"))
    assert (light == dark).all() and light.min() > 200, "the middle of the colours is pale"


# Labels and style


@pytest.mark.parametrize(("font", "label"), [(None, "māo"), ("Noto Sans CJK SC", "猫")])
def test_only_chinese_with_pinyin_and_without_a_font_is_replaced(monkeypatch, font, label):
    monkeypatch.setattr(chinese, "chinese_font", lambda: font)
    assert chinese.label("猫", "māo") == label
    assert chinese.labels(["猫", "cat"], {"猫": "māo"}) == [label, "cat"]
    assert chinese.label("cat", "chat") == "cat"
    assert chinese.label("猫") == "猫"
    assert chinese.labels(["猫", "狗"], {"狗": "gǒu"})[0] == "猫"


def test_a_chinese_font_is_found_among_the_installed_ones(monkeypatch):
    installed = [type("Font", (), {"name": name}) for name in ("DejaVu Sans", "SimHei")]
    monkeypatch.setattr(chinese.font_manager.fontManager, "ttflist", installed)
    assert chinese.chinese_font.__wrapped__() == "SimHei"
    installed.pop()
    assert chinese.chinese_font.__wrapped__() is None


def test_setting_the_style_twice_is_setting_it_once():
    plots.use_style()
    once = dict(plt.rcParams)
    plots.use_style()
    assert dict(plt.rcParams) == once


def test_the_styles_colours_are_colour_blind_safe_and_its_pictures_small():
    plots.use_style()
    assert to_hex(plt.rcParams["axes.prop_cycle"].by_key()["color"][0]) == "#0173b2"
    assert plt.rcParams["savefig.dpi"] == plt.rcParams["figure.dpi"] <= 100
