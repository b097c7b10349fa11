"""The button under a verdict: hints come one by one, and none where the answer is right."""

import IPython
import pytest

from course_lab.checks import Check, hint_button
from course_lab.widgets.output import WIDGET_VIEW

HINTS = ("Look at <its> shape.", "Sum along an axis.", "The last one.")
CHECK = Check("total", lambda x: 2 * x, cases=[(1,), (3,)], mistakes=[], hints=HINTS)


def test_each_press_adds_the_next_hint_and_one_more_hides_them():
    shown, button = hint_button.hint_button(HINTS).children
    for count in range(3):
        assert button.description == f"Hint {count + 1} of 3"
        assert shown.value.count("<b>") == count
        button.click()
    assert "<b>Hint 3 of 3:</b> The last one." in shown.value
    assert "&lt;its&gt;" in shown.value, "a hint is text, not HTML"
    button.click()
    assert (shown.value, button.description) == ("", "Hint 1 of 3")


@pytest.mark.parametrize(
    ("answer", "count"), [(lambda x: x + x, 0), (lambda x: x, 1), (NotImplemented, 1)]
)
def test_a_notebook_shows_it_where_the_answer_is_not_right(monkeypatch, capsys, answer, count):
    shown = []
    monkeypatch.setattr(IPython, "get_ipython", lambda: object())
    monkeypatch.setattr(IPython.display, "display", lambda bundle, raw: shown.append(bundle))
    CHECK(answer)
    assert [list(bundle) for bundle in shown] == [[WIDGET_VIEW]] * count, "no words are stored"
    printed = capsys.readouterr().out
    colour = 33 if count else 32
    assert printed.startswith(f"\x1b[1;{colour}m{'✗' if count else '✓'} total:\x1b[0m ")


def test_outside_a_notebook_a_check_only_prints(capsys):
    CHECK(lambda x: x)
    assert capsys.readouterr().out.count("\n") == 1
