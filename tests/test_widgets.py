"""Explorers and predictions, driven as a browser would: by setting the widgets' values."""

import hashlib
import io

import ipywidgets as w
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image

from course_lab import widgets
from course_lab.widgets import predictions
from course_lab.widgets.output import WIDGET_VIEW

try:
    from ipywidgets.widgets.widget import _instances as instances  # ipywidgets 8
except ImportError:
    instances = w.Widget.widgets  # ipywidgets 7

pytestmark = pytest.mark.usefixtures("figures")
QUESTION = "Which way is up?"


@pytest.fixture(autouse=True)
def no_answers(monkeypatch):
    monkeypatch.setattr(predictions, "_answers", {})


def children(bundle):
    """The widgets inside the box that a display bundle points to."""
    return instances[bundle[WIDGET_VIEW]["model_id"]].children


def pixels(data):
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), dtype=float)


class Explorer:
    """What the learner sees of an explorer that a test has shown."""

    def __init__(self, bundles, number=0):
        self.bundle = bundles[number]
        *self.controls, self.image, self.sentence = children(self.bundle)

    @property
    def picture(self):
        """A checksum of the picture: pytest would take minutes to compare long bytes."""
        return hashlib.sha256(self.image.value).hexdigest()


def draw_bar(fig, height=1.0, **others):
    """Draw a bar of this height, on artists made at the first call."""
    if not fig.axes:
        fig.add_subplot().bar([0], [1])
        fig.axes[0].set_ylim(0, 10)
    fig.axes[0].patches[0].set_height(height)
    if height < 0:
        raise ValueError("height must not be below 0")
    return f"The bar is {height:g} high."


# What is displayed


def test_an_explorer_is_a_widget_with_a_picture_and_a_text_for_those_without(shown):
    widgets.explore(draw_bar, height=(0.0, 9.0, 3.0))
    bundle = Explorer(shown).bundle
    assert bundle.keys() == {WIDGET_VIEW, "image/png", "text/plain"}
    assert bundle["image/png"].startswith(b"\x89PNG")
    assert bundle["text/plain"] == ("Explorer with sliders, at height = 3.0. The bar is 3 high.")


def test_the_first_picture_is_drawn_with_the_start_values(shown):
    calls = []
    widgets.explore(
        lambda fig, **values: calls.append(values), a=(0, 9, 4), b=True, c=["x", "y"], d=(0, 1, 0.5)
    )
    assert calls == [{"a": 4, "b": True, "c": "x", "d": 0.5}]


def test_the_widgets_picture_and_the_static_one_are_the_same_at_first(shown):
    widgets.explore(draw_bar, height=(0.0, 9.0, 3.0))
    explorer = Explorer(shown)
    live, static = pixels(explorer.image.value), pixels(explorer.bundle["image/png"])
    assert abs(live - static).mean() <= 0.01 * 255  # the static one has fewer colours


def test_the_picture_is_as_large_as_asked(shown):
    widgets.explore(draw_bar, size=(3.0, 2.0), height=(0.0, 9.0, 3.0))
    dpi = mpl.rcParams["figure.dpi"]
    assert pixels(Explorer(shown).image.value).shape == (2 * dpi, 3 * dpi, 3)


def test_two_explorers_do_not_share_a_figure(shown):
    widgets.explore(draw_bar, height=(0.0, 9.0, 3.0))
    widgets.explore(draw_bar, height=(0.0, 9.0, 3.0))
    first, second = Explorer(shown, 0), Explorer(shown, 1)
    before = first.picture
    second.controls[0].value = 8.0
    assert first.picture == before != second.picture


# What a change does


def test_moving_a_slider_replaces_picture_and_sentence(shown):
    widgets.explore(draw_bar, height=(0.0, 9.0, 3.0))
    explorer = Explorer(shown)
    before = explorer.picture
    explorer.controls[0].value = 8.0
    assert explorer.picture != before
    assert explorer.sentence.value == "The bar is 8 high."


def test_moving_a_slider_back_brings_the_same_picture_back(shown):
    widgets.explore(draw_bar, height=(0.0, 9.0, 3.0))
    explorer = Explorer(shown)
    explorer.controls[0].value = 8.0
    eight = explorer.picture
    explorer.controls[0].value = 1.0
    explorer.controls[0].value = 8.0
    assert explorer.picture == eight


def test_each_control_reaches_its_own_argument(shown):
    calls = []
    widgets.explore(lambda fig, **values: calls.append(values), a=(0, 9, 4), b=False, c=["x", "y"])
    a, b, c = Explorer(shown).controls
    a.value, b.value, c.value = 5, True, "y"
    assert calls[1:] == [
        {"a": 5, "b": False, "c": "x"},
        {"a": 5, "b": True, "c": "x"},
        {"a": 5, "b": True, "c": "y"},
    ]


def test_all_changes_are_drawn_on_one_persistent_figure(shown):
    figures = []
    widgets.explore(lambda fig, height: figures.append(fig), height=(0, 9, 3))
    Explorer(shown).controls[0].value = 4
    assert figures[0] is figures[1]


def test_a_value_error_keeps_the_last_picture_and_shows_its_message(shown):
    widgets.explore(draw_bar, height=(-5.0, 9.0, 3.0))
    explorer = Explorer(shown)
    before = explorer.picture
    explorer.controls[0].value = -1.0
    assert explorer.picture == before
    assert "height must not be below 0" in explorer.sentence.value


def test_after_a_value_error_the_next_good_value_draws_again(shown):
    widgets.explore(draw_bar, height=(-5.0, 9.0, 3.0))
    explorer = Explorer(shown)
    before = explorer.picture
    explorer.controls[0].value = -1.0
    explorer.controls[0].value = 5.0
    assert explorer.picture != before
    assert explorer.sentence.value == "The bar is 5 high."


def test_a_start_value_that_cannot_be_drawn_is_explained_too(shown):
    widgets.explore(draw_bar, height=(-5.0, 9.0, -2.0))
    assert "height must not be below 0" in Explorer(shown).bundle["text/plain"]


def test_other_errors_of_draw_are_not_swallowed(shown):
    def broken(fig, height):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        widgets.explore(broken, height=(0, 9, 3))


def test_a_draw_without_a_sentence_leaves_none(shown):
    widgets.explore(lambda fig, height: None, height=(0, 9, 3))
    assert Explorer(shown).sentence.value == ""


def test_an_explorer_leaves_no_figure_open_in_pyplot(shown):
    widgets.explore(draw_bar, height=(0.0, 9.0, 3.0))
    assert plt.get_fignums() == []


# The kinds of control


@pytest.mark.parametrize(
    ("spec", "kind", "value"),
    [
        ((0, 9, 4), w.IntSlider, 4),
        ((0, 9, 4, 2), w.IntSlider, 4),
        ((0.0, 9, 4), w.FloatSlider, 4.0),
        ((0, 9, 4, 0.5), w.FloatSlider, 4.0),
        (True, w.Checkbox, True),
        (False, w.Checkbox, False),
        (["x", "y"], w.Dropdown, "x"),
    ],
)
def test_what_a_control_looks_like_follows_from_its_value(spec, kind, value):
    control = widgets.control("base", spec)
    assert type(control) is kind
    assert control.value == value
    assert control.description == "base"


def test_a_slider_has_the_ends_and_the_step_it_was_given():
    for spec in [(2, 9, 4, 2), (2.0, 9.0, 4.0, 0.5)]:
        control = widgets.control("k", spec)
        assert (control.min, control.max, control.step) == (spec[0], spec[1], spec[3])


def test_a_slider_without_a_step_goes_by_ones_or_by_hundredths():
    assert widgets.control("k", (0, 9, 4)).step == 1
    assert widgets.control("k", (0.0, 10.0, 4.0)).step == pytest.approx(0.1)


def test_a_control_is_called_by_its_name_with_spaces():
    assert widgets.control("d_model", (2, 9, 4)).description == "d model"


def test_a_widget_is_taken_as_it_is():
    mine = w.IntText(value=3, description="mine")
    assert widgets.control("other", mine) is mine
    assert mine.description == "mine"
    assert widgets.control("other", w.IntText()).description == "other"


def test_a_logarithmic_slider_runs_over_its_range_in_equal_ratios():
    slider = widgets.log_slider(10, 10**6, 10**4)
    assert slider.base**slider.min == pytest.approx(10)
    assert slider.base**slider.max == pytest.approx(10**6)
    assert slider.value == pytest.approx(10**4)


# Predictions


def ask_choice(shown, *args):
    prediction = widgets.predict(*(args or (QUESTION, ["left", "right"])))
    title, picker, note = children(shown[-1])
    return prediction, picker, note


def ask_number(shown, unit=""):
    prediction = widgets.predict_number("How many?", unit)
    title, picker, note = children(shown[-1])
    return prediction, picker, note


def test_a_question_without_a_kernel_is_a_text_with_its_choices(shown):
    widgets.predict(QUESTION, ["left", "right"])
    assert shown[0].keys() == {WIDGET_VIEW, "text/plain"}
    assert shown[0]["text/plain"] == f"Predict: {QUESTION}\n  (1) left\n  (2) right"


def test_a_number_question_without_a_kernel_says_its_unit(shown):
    widgets.predict_number("How many?", "nats")
    assert shown[0]["text/plain"] == "Predict: How many?\n  (a number in nats)"


def test_nothing_is_picked_before_the_learner_picks(shown):
    prediction, picker, _ = ask_choice(shown)
    assert picker.value is None
    assert prediction.answer is None


def test_a_pick_is_recorded_and_acknowledged(shown):
    prediction, picker, note = ask_choice(shown)
    picker.value = "right"
    assert prediction.answer == "right"
    assert "Recorded" in note.value


def test_the_last_pick_counts(shown):
    prediction, picker, _ = ask_choice(shown)
    picker.value = "right"
    picker.value = "left"
    assert prediction.answer == "left"


def test_an_answer_survives_running_the_cell_again(shown):
    ask_choice(shown)[1].value = "right"
    prediction, picker, _ = ask_choice(shown)
    assert prediction.answer == picker.value == "right"


def test_a_number_survives_running_the_cell_again(shown):
    ask_number(shown)[1].value = "2.5"
    prediction, picker, _ = ask_number(shown)
    assert (prediction.answer, picker.value) == (2.5, "2.5")


def test_an_answer_that_is_no_longer_a_choice_is_not_picked(shown):
    ask_choice(shown)[1].value = "right"
    assert ask_choice(shown, QUESTION, ["up", "down"])[1].value is None


def test_two_questions_do_not_share_an_answer(shown):
    ask_choice(shown)[1].value = "right"
    assert ask_choice(shown, "Another?", ["left", "right"])[0].answer is None


@pytest.mark.parametrize(
    ("typed", "number"), [("3", 3.0), ("2.5", 2.5), ("2,5", 2.5), (" 1e3 ", 1000.0), ("-4", -4.0)]
)
def test_a_typed_number_is_recorded(shown, typed, number):
    prediction, picker, note = ask_number(shown)
    picker.value = typed
    assert prediction.answer == number
    assert "Recorded" in note.value


@pytest.mark.parametrize("typed", ["many", "3 or 4", "--"])
def test_what_is_no_number_is_said_to_be_none_and_not_recorded(shown, typed):
    prediction, picker, note = ask_number(shown)
    picker.value = typed
    assert prediction.answer is None
    assert "is not a number yet" in note.value and typed in note.value


def test_reveal_says_that_the_prediction_was_right(shown, capsys):
    prediction, picker, _ = ask_choice(shown)
    picker.value = "right"
    prediction.reveal("right")
    assert capsys.readouterr().out == "Measured: right. (As you predicted.)\n"


def test_reveal_says_what_was_predicted_instead(shown, capsys):
    prediction, picker, _ = ask_choice(shown)
    picker.value = "left"
    prediction.reveal("right")
    assert capsys.readouterr().out == "Measured: right. (You predicted: left.)\n"


def test_reveal_shows_both_numbers(shown, capsys):
    prediction, picker, _ = ask_number(shown, "nats")
    picker.value = "2"
    prediction.reveal(1.23456, "nats")
    assert capsys.readouterr().out == "Measured: 1.235 nats. (You predicted 2.)\n"


@pytest.mark.parametrize("ask", [ask_choice, ask_number])
def test_reveal_works_when_nothing_was_predicted(shown, capsys, ask):
    ask(shown)[0].reveal("right")
    assert capsys.readouterr().out == "Measured: right. (No prediction was made above.)\n"


def test_revealing_twice_says_the_same(shown, capsys):
    prediction, picker, _ = ask_choice(shown)
    picker.value = "left"
    for _ in range(2):
        prediction.reveal("right")
    first, second = capsys.readouterr().out.splitlines()
    assert first == second
