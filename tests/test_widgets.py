"""Explorers and predictions, driven as a browser would: by setting the widgets' values."""

import hashlib
import io
import re

import ipywidgets as w
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image

from course_lab import widgets
from course_lab.widgets import card, predictions
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


def box_of(bundle):
    """The widget that a display bundle points to."""
    return instances[bundle[WIDGET_VIEW]["model_id"]]


def pixels(data):
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), dtype=float)


class Explorer:
    """What the learner sees of an explorer that a test has shown."""

    def __init__(self, bundles, number=0):
        self.bundle = bundles[number]
        *self.controls, self.image, self.sentence = box_of(self.bundle).children

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


@pytest.fixture
def bar(shown):
    """An explorer of a bar, whose height starts at 3 and may be negative, which it refuses."""
    widgets.explore(draw_bar, height=(-5.0, 9.0, 3.0))
    return Explorer(shown)


# What is displayed


def test_an_explorer_is_a_widget_with_a_picture_and_a_text_for_those_without(bar):
    assert bar.bundle.keys() == {WIDGET_VIEW, "image/png", "text/plain"}
    assert bar.bundle["image/png"].startswith(b"\x89PNG")
    text = "Explorer with sliders, at height = 3.0. The bar is 3 high."
    assert bar.bundle["text/plain"] == text
    live, static = pixels(bar.image.value), pixels(bar.bundle["image/png"])
    assert abs(live - static).mean() <= 0.01 * 255  # the static one has fewer colours


def test_the_picture_is_as_large_as_asked(shown):
    widgets.explore(draw_bar, size=(3.0, 2.0), height=(0.0, 9.0, 3.0))
    dpi = mpl.rcParams["figure.dpi"]
    assert pixels(Explorer(shown).image.value).shape == (2 * dpi, 3 * dpi, 3)


def test_two_explorers_do_not_share_a_figure(bar, shown):
    widgets.explore(draw_bar, height=(0.0, 9.0, 3.0))
    before, second = bar.picture, Explorer(shown, 1)
    second.controls[0].value = 8.0
    assert bar.picture == before != second.picture


# What a change does


def test_moving_a_slider_replaces_picture_and_sentence_and_moving_it_back_brings_them_back(bar):
    start = bar.picture
    bar.controls[0].value = 8.0
    eight = bar.picture
    assert eight != start and bar.sentence.value == "The bar is 8 high."
    bar.controls[0].value = 1.0
    assert bar.picture != eight
    bar.controls[0].value = 8.0
    assert bar.picture == eight and bar.sentence.value == "The bar is 8 high."


def test_the_first_picture_has_the_start_values_and_each_control_reaches_its_own_argument(shown):
    calls, figures = [], []

    def draw(fig, **values):
        figures.append(fig)
        calls.append(values)

    widgets.explore(draw, a=(0, 9, 4), b=False, c=["x", "y"], d=(0, 1, 0.5))
    a, b, c, _ = Explorer(shown).controls
    a.value, b.value, c.value = 5, True, "y"
    assert calls == [
        {"a": 4, "b": False, "c": "x", "d": 0.5},
        {"a": 5, "b": False, "c": "x", "d": 0.5},
        {"a": 5, "b": True, "c": "x", "d": 0.5},
        {"a": 5, "b": True, "c": "y", "d": 0.5},
    ]
    assert all(fig is figures[0] for fig in figures), "all is drawn on one persistent figure"
    assert Explorer(shown).sentence.value == "", "it has said nothing"


def test_a_value_error_keeps_the_last_picture_shows_its_message_and_the_next_draws_again(bar):
    before = bar.picture
    bar.controls[0].value = -1.0
    assert bar.picture == before
    assert "height must not be below 0" in bar.sentence.value
    bar.controls[0].value = 5.0
    assert bar.picture != before and bar.sentence.value == "The bar is 5 high."


def test_a_start_value_that_cannot_be_drawn_is_explained_too(shown):
    widgets.explore(draw_bar, height=(-5.0, 9.0, -2.0))
    assert "height must not be below 0" in Explorer(shown).bundle["text/plain"]


def test_other_errors_of_draw_are_not_swallowed(shown):
    def broken(fig, height):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        widgets.explore(broken, height=(0, 9, 3))


def test_an_explorer_leaves_no_figure_open_in_pyplot(bar):
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
def test_what_a_control_looks_like_follows_from_its_value_and_its_label_from_its_name(
    spec, kind, value
):
    control = widgets.control("d_model", spec)
    assert type(control) is kind
    assert control.value == value
    assert control.description == "d model"


@pytest.mark.parametrize(
    ("spec", "step"),
    [((2, 9, 4, 2), 2), ((2.0, 9.0, 4.0, 0.5), 0.5), ((0, 9, 4), 1), ((0.0, 10.0, 4.0), 0.1)],
)
def test_a_slider_has_its_ends_and_goes_by_its_step_by_ones_or_by_hundredths(spec, step):
    control = widgets.control("k", spec)
    assert (control.min, control.max, control.step) == (spec[0], spec[1], pytest.approx(step))


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
    """A question with two answers: the prediction, and its box."""
    prediction = widgets.predict(*(args or (QUESTION, ["left", "right"])))
    return prediction, box_of(shown[-1])


def ask_number(shown, unit=""):
    """A question for a number, in the same parts."""
    prediction = widgets.predict_number("How many?", unit)
    return prediction, box_of(shown[-1])


def test_without_a_kernel_a_question_is_a_text_with_its_choices_or_its_unit(shown):
    widgets.predict(QUESTION, ["left", "right"])
    widgets.predict_number("How many?", "nats")
    assert all(bundle.keys() == {WIDGET_VIEW, "text/plain", "text/html"} for bundle in shown)
    assert [bundle["text/plain"] for bundle in shown] == [
        f"Predict: {QUESTION}\n  (1) left\n  (2) right",
        "Predict: How many?\n  (a number in nats)",
    ]
    words = [" ".join(re.sub("<.*?>", " ", bundle["text/html"]).split()) for bundle in shown]
    assert words == [
        f"Predict. {QUESTION} (1) left (2) right Run this cell to answer.",
        "Predict. How many? (a number in nats) Run this cell to answer.",
    ]


def test_a_pick_is_recorded_and_acknowledged_and_the_last_counts(shown):
    prediction, box = ask_choice(shown)
    assert (box.answer, prediction.answer) == ("", None)
    box.answer = "right"
    assert prediction.answer == "right" and "Recorded" in box.note
    box.answer = "left"
    assert prediction.answer == "left"


@pytest.mark.parametrize(
    ("ask", "answer", "typed"), [(ask_choice, "right", "right"), (ask_number, 2.5, "2.5")]
)
def test_an_answer_survives_running_the_cell_again(shown, ask, answer, typed):
    ask(shown)[1].answer = typed
    prediction, box = ask(shown)
    assert (prediction.answer, box.answer) == (answer, typed)


def test_an_answer_that_is_no_longer_a_choice_is_not_picked(shown):
    ask_choice(shown)[1].answer = "right"
    assert ask_choice(shown, QUESTION, ["up", "down"])[1].answer == ""


def test_two_questions_do_not_share_an_answer(shown):
    ask_choice(shown)[1].answer = "right"
    assert ask_choice(shown, "Another?", ["left", "right"])[0].answer is None


@pytest.mark.parametrize(
    ("typed", "answer"), [("3", 3.0), ("2.5", 2.5), ("2,5", 2.5), (" 1e3 ", 1000.0), ("-4", -4.0)]
)
def test_a_typed_number_is_recorded(shown, typed, answer):
    prediction, box = ask_number(shown, "nats")
    box.answer = typed
    assert prediction.answer == answer
    assert "Recorded" in box.note


@pytest.mark.parametrize("typed", ["many", "3 or 4", "--"])
def test_what_is_no_number_is_said_to_be_none_and_not_recorded(shown, typed):
    prediction, box = ask_number(shown, "nats")
    box.answer = typed
    assert prediction.answer is None
    assert "is not a number yet" in box.note and typed in box.note


@pytest.mark.parametrize(
    ("ask", "guess", "measured", "said"),
    [
        (ask_choice, "right", ["right"], "✓ You said: right. Measured: right."),
        (ask_choice, "left", ["right"], "✗ You said: left. Measured: right."),
        (ask_number, "2", [1.23456, "nats"], "You said: 2. Measured: 1.235 nats."),
    ],
)
def test_a_reveal_says_beside_what_was_measured_what_was_guessed(
    shown, capsys, ask, guess, measured, said
):
    prediction, box = ask(shown)
    box.answer = guess
    prediction.reveal(*measured)
    assert shown[-1]["text/plain"] == said and capsys.readouterr().out == ""
    assert "You said" not in shown[-1]["text/html"], "the box says it"
    is_right, is_wrong = (mark in shown[-1]["text/html"] for mark in (card.RIGHT, card.OTHER))
    assert (is_right, is_wrong) == (said.startswith("✓"), said.startswith("✗"))


@pytest.mark.parametrize("ask", [ask_choice, ask_number])
def test_a_reveal_without_a_guess_prints_what_was_measured_each_time(shown, capsys, ask):
    prediction, _ = ask(shown)
    prediction.reveal("right")
    prediction.reveal("right")
    assert capsys.readouterr().out == 2 * "Measured: right. (No prediction was made above.)\n"


def test_the_box_of_a_question_has_the_verdict_once_it_is_revealed(shown, capsys):
    prediction, box = ask_choice(shown)
    box.answer = "left"
    prediction.reveal("right")
    assert "✗ Not “left”." in box.note
    assert box.note.endswith("The answer is “right”."), "a long cell may follow the question"
    box.answer = "right"  # without running a cell again
    assert "✓ Right." in box.note and "✗" not in box.note


def test_who_has_guessed_is_told_the_answer_at_once(shown):
    prediction, box = ask_choice(shown)
    box.seen, box.answer = True, "left"
    prediction.reveal("right")
    assert shown[-1]["text/plain"] == "✗ You said: left. Measured: right."


def test_the_box_of_a_question_without_an_answer_waits_for_it_and_then_says_the_verdict(shown):
    prediction, box = ask_number(shown)
    prediction.reveal(1.23456, "nats")
    assert box.note == ""
    box.answer = "2"
    assert box.note == "You predicted 2."


@pytest.mark.parametrize(
    ("text", "as_html"),
    [
        ("*direct* was <far> above", "<em>direct</em> was &lt;far&gt; above"),
        ("within `trained` positions", "within <code>trained</code> positions"),
        ("`2 * a` is *not* `a * 2`", "<code>2 * a</code> is <em>not</em> <code>a * 2</code>"),
        ("x * base ** (2 * m), [*a, *b], f(*c)", "x * base ** (2 * m), [*a, *b], f(*c)"),
    ],
)
def test_code_and_emphasis_are_marked_and_products_are_not(text, as_html):
    assert card.inline(text) == as_html


def test_a_question_its_options_and_its_verdict_are_marked_as_in_markdown(shown, capsys):
    prediction, box = ask_choice(shown, "Is *direct* above?", ["`linear` is", "no"])
    assert box.as_html == ["Is <em>direct</em> above?", "<code>linear</code> is", "no"]
    assert "<em>direct</em>" in shown[-1]["text/html"]
    box.answer = "`linear` is"
    prediction.reveal("no")
    assert "✗ Not “<code>linear</code> is”." in box.note


def test_what_a_learner_types_is_shown_as_text(shown):
    _, box = ask_number(shown)
    box.answer = "<b>many</b>"
    assert "&lt;b&gt;many" in box.note
