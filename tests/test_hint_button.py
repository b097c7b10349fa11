"""The button under a verdict: hints come one by one, and none where the answer is right."""

import IPython
import pytest

from course_lab.checks import Check, hint_button
from course_lab.checks.core import Verdict
from course_lab.widgets import card
from course_lab.widgets.output import WIDGET_VIEW

HINTS = ("Look at <its> shape.", "Sum along an `axis`.", "The last one.")
CHECK = Check("total", lambda x: 2 * x, cases=[(1,), (3,)], mistakes=[], hints=HINTS)


def test_each_press_adds_the_next_hint_and_one_more_hides_them():
    shown, button = hint_button.hint_button(HINTS).children
    for count in range(3):
        assert button.description == f"Hint {count + 1} of 3"
        assert shown.value.count("<b>") == count
        button.click()
    assert "<b>Hint 3 of 3:</b> The last one." in shown.value
    assert "an <code>axis</code>." in shown.value
    assert "&lt;its&gt;" in shown.value, "a hint is text, not HTML"
    button.click()
    assert (shown.value, button.description) == ("", "Hint 1 of 3")


@pytest.mark.parametrize(
    ("answer", "count"), [(lambda x: x + x, 0), (lambda x: x, 1), (NotImplemented, 1)]
)
def test_a_notebook_shows_it_under_a_card_where_the_answer_is_not_right(
    monkeypatch, shown, capsys, answer, count
):
    monkeypatch.setattr(IPython, "get_ipython", lambda: object())
    CHECK(answer)
    verdict, *button = shown
    assert [list(bundle) for bundle in button] == [[WIDGET_VIEW]] * count, "no words are stored"
    mark, colour = ("✗", card.OTHER) if count else ("✓", card.RIGHT)
    assert verdict["text/plain"].startswith(f"{mark} total: ")
    assert card.bold(f"{mark} total:", colour) in verdict["text/html"]
    assert (card.TINT in verdict["text/html"]) == (count == 0)
    assert capsys.readouterr().out == ""


def test_a_verdict_and_a_hint_are_text_in_their_cards(monkeypatch, shown):
    monkeypatch.setattr(IPython, "get_ipython", lambda: object())
    CHECK.hint(1)
    (hint,) = shown
    assert hint["text/plain"] == f"Hint 1 of 3: {HINTS[0]}"
    assert "Look at &lt;its&gt; shape." in hint["text/html"]
    assert "got &lt;b&gt;." in Verdict("wrong", "✗ total: got <b>.").as_html()


def test_outside_a_notebook_a_check_only_prints(capsys):
    CHECK(lambda x: x)
    assert capsys.readouterr().out.count("\n") == 1
