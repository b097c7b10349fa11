"""The button under a verdict: hints come one by one, and none where the answer is right."""

import IPython
import pytest

from course_lab.checks import Check, hint_button
from course_lab.widgets.output import WIDGET_VIEW

HINTS = ("Look at <its> shape.", "Sum along an axis.", "The last one.")
CHECK = Check("total", lambda x: 2 * x, cases=[(1,), (3,)], mistakes=[], hints=HINTS)


def texts(box):
    return [child.value for child in box.children if hasattr(child, "value")]


def test_each_press_adds_the_next_hint_and_the_last_takes_the_button_away():
    box = hint_button.hint_button(HINTS)
    for count in range(3):
        button = box.children[-1]
        assert button.description == f"Hint {count + 1} of 3" and len(texts(box)) == count
        button.click()
    assert texts(box)[2] == "<b>Hint 3 of 3:</b> The last one."
    assert "&lt;its&gt;" in texts(box)[0], "a hint is text, not HTML"
    assert box.children[-1].layout.display == "none"


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
