"""What somebody who has not guessed gets of the cells behind a question, in a shell of IPython."""

import json

import pytest
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from course_lab.checks import core
from course_lab.widgets import predictions, running, seal

GUESS_FIRST = seal.GUESS_FIRST.format("“Which way is up?”")
GUESS_NEXT = seal.GUESS_FIRST.format("“And down?”")

ASK = "guess = widgets.predict('Which way is up?', ['left', 'up'])"
BETWEEN = "known = 7\nknown"
REVEAL = "print('early')\nguess.reveal('up')"
PICTURE = "#@title The picture\nprint('a picture')"
ASK_AGAIN = "#@title Code of the question\nother = widgets.predict('And down?', ['left', 'down'])"
TWO_MYTHS = """
from course_lab.claims import Claim, Myths
myths = Myths({key: Claim(key, scope='all', evidence='exact') for key in ('C01', 'C02')})
"""
VERDICTS = "#@title The verdicts\nfor key in myths.claims: myths.settle(key, {'a': False}, 'One.')"


class Screen(DisplayPublisher):
    """Keeps the texts that cells display, and those that replace them."""

    texts: list[str] = []

    def publish(self, data, *_, **others):
        """One bundle is shown."""
        self.texts.append(data.get("text/plain", ""))


class Notebook:
    """Cells that run one after the other."""

    def __init__(self, shell, capsys):
        self.shell, self.capsys = shell, capsys

    def run(self, *sources):
        """What the last of the cells shows, without the line that says that it runs."""
        for source in sources:
            self.capsys.readouterr()
            Screen.texts.clear()
            self.shell.run_cell(source, store_history=True).raise_error()
        texts = [text for text in Screen.texts if "running" not in text]
        return "\n".join([*texts, self.capsys.readouterr().out]).strip()

    def question(self, name="guess"):
        """A question that was asked, as seen by the learner."""
        return self.see(self.shell.user_ns[name])

    def see(self, prediction):
        """Have the learner see a question."""
        prediction._box.seen = True
        return prediction._box


@pytest.fixture
def notebook(monkeypatch, capsys):
    """A notebook in which the question has been asked and seen."""
    monkeypatch.setattr(predictions, "_answers", {})
    opened_seal = seal.Seal()
    for module in (predictions, running, core):
        monkeypatch.setattr(module, "seal", opened_seal)
    monkeypatch.setattr(running, "watch", running.Watch())
    config = Config({"HistoryManager": {"enabled": False}})
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(
        config=config, user_ns={"__name__": "lesson"}, display_pub_class=Screen
    )
    opened = Notebook(shell, capsys)
    opened.run("from course_lab import widgets", ASK)
    opened.question()
    yield opened
    InteractiveShell.clear_instance()


def test_answer_and_picture_wait_once_for_a_guess_and_what_follows_is_open(notebook):
    assert notebook.run(BETWEEN) == GUESS_FIRST
    assert notebook.run(REVEAL) == notebook.run(PICTURE) == "", "it is said once"
    assert notebook.run("print(known)") == "7"
    assert notebook.run("#@title Another\nprint('much later')") == "much later"
    assert notebook.run(BETWEEN).endswith(": 7")
    assert "Measured: up. (No prediction was made above.)" in notebook.run(REVEAL)
    assert notebook.run(PICTURE) == "a picture"


def test_a_question_that_is_asked_again_holds_its_answer_again(notebook):
    notebook.run(REVEAL, REVEAL)
    notebook.run(ASK)
    notebook.question()
    assert notebook.run(REVEAL) == GUESS_FIRST
    assert "No prediction was made above" in notebook.run(REVEAL)


def test_a_note_repeats_a_question_that_quotes_in_single_quotes(notebook):
    asks = "other = widgets.predict('“A to B”: which page?', ['one', 'two'])"
    notebook.run(asks)
    notebook.question("other")
    assert notebook.run(BETWEEN).startswith("Guess “‘A to B’: which page?” above")


def test_nothing_waits_after_a_guess(notebook):
    notebook.question().answer = "left"
    assert notebook.run(REVEAL) == "✗ You said: left. Measured: up.\nearly"
    assert notebook.run(PICTURE) == "a picture"


def test_a_cell_that_shows_nothing_asks_for_no_guess_and_one_that_fails_says_why(notebook):
    assert notebook.run("known = 7") == ""
    result = notebook.shell.run_cell("1 / 0", store_history=True)
    assert isinstance(result.error_in_exec, ZeroDivisionError)
    assert not predictions.seal.holds


def test_what_ran_before_the_question_is_shown_again(notebook):
    early = "print('of an earlier section')"
    notebook.question().answer = "up"
    notebook.run(early, REVEAL, ASK_AGAIN)
    notebook.question("other")
    assert notebook.run(early) == "of an earlier section"


def test_the_next_question_is_asked_although_the_last_has_no_guess(notebook):
    notebook.run(REVEAL)
    assert notebook.run(ASK_AGAIN).startswith("Predict: And down?")
    notebook.question("other")
    assert notebook.run("print('another section')") == GUESS_NEXT


def test_a_guess_opens_in_order_what_was_held_back_for_it(notebook):
    notebook.run("print('early')\ndisplay('drawn')\nguess.reveal('up')\n'last'", PICTURE)
    Screen.texts.clear()
    box = notebook.question()
    box.answer = "left"
    assert Screen.texts == [
        "early\n",
        "'drawn'",
        "✗ You said: left. Measured: up.",
        "'last'",
        "a picture\n",
    ]
    assert "✗ Not “left”." in box.note
    Screen.texts.clear()
    box.answer = "up"
    assert "✓ Right." in box.note and Screen.texts == [], "it was opened before"


def test_a_guess_that_comes_after_the_next_question_opens_what_was_held_back_too(notebook):
    box = notebook.question()
    notebook.run(REVEAL, ASK_AGAIN)
    other = notebook.question("other")
    notebook.run("print('another section')")
    Screen.texts.clear()
    box.answer = "left"
    assert Screen.texts == ["early\n", "✗ You said: left. Measured: up.", GUESS_NEXT]
    Screen.texts.clear()
    other.answer = "down"
    assert Screen.texts == ["another section\n"]


def test_each_claim_is_judged_at_its_guess_and_the_verdicts_wait_for_the_last(notebook):
    notebook.run(TWO_MYTHS)
    first, second = map(notebook.see, notebook.shell.user_ns["myths"]._guesses.values())
    first.answer = "false"
    assert first.note == "Recorded. Guess C02 too."
    assert notebook.run(VERDICTS) == seal.GUESS_FIRST.format("C02")
    assert "✓ Right." in first.note
    Screen.texts.clear()
    second.answer = "true"
    assert "".join(Screen.texts).count("FALSE") == 2
    assert "✗ Not “true”." in second.note


def test_the_last_guess_of_a_cell_says_in_every_box_that_the_answer_follows(notebook):
    notebook.run(TWO_MYTHS)
    boxes = [*map(notebook.see, notebook.shell.user_ns["myths"]._guesses.values())]
    for box in boxes:
        box.answer = "false"
    assert {box.note for box in boxes} == {"Recorded. Run on (Shift+Enter): the answer follows."}


def test_verdicts_come_without_a_guess_when_asked_again(notebook):
    notebook.run(TWO_MYTHS)
    for guess in notebook.shell.user_ns["myths"]._guesses.values():
        notebook.see(guess)
    assert notebook.run(VERDICTS) == seal.GUESS_FIRST.format("C01 and C02")
    assert notebook.run(VERDICTS).count("FALSE") == 2


CHECK = """from course_lab.checks import Check
hints = ('Look.', 'Think.', 'Add.')
Check('double', lambda x: 2 * x, cases=[(1,), (3,)], mistakes=[], hints=hints)(lambda x: x)"""


def test_a_check_speaks_although_a_question_above_it_has_no_guess(notebook):
    said = notebook.run(f"{CHECK}\n'last'")
    assert "✗ double" in said and said.endswith("'last'"), "the rest of its cell too"
    assert notebook.run(REVEAL) == GUESS_FIRST


@pytest.mark.parametrize(
    ("guess", "said"), [("up", "✓ You said: up."), ("left", "✗ You said: left.")]
)
def test_the_answer_says_what_was_guessed_and_a_later_guess_leaves_that(notebook, guess, said):
    notebook.run(REVEAL)
    Screen.texts.clear()
    notebook.question().answer = guess
    assert Screen.texts[-1] == f"{said} Measured: up."
    notebook.question().answer = "left" if guess == "up" else "up"
    assert Screen.texts[-1] == f"{said} Measured: up."


def test_an_answer_that_waits_gets_the_guess_of_the_question_asked_again(notebook):
    notebook.run(REVEAL, ASK)
    Screen.texts.clear()
    notebook.question().answer = "up"
    assert Screen.texts[-1] == "✓ You said: up. Measured: up."


def asked_by_a_front_end(monkeypatch, notebook, cell=""):
    """Have each cell asked for as JupyterLab does; the shell of a program says nothing of it."""
    request = {"metadata": {"deletedCells": [], "cellId": cell}}
    monkeypatch.setattr(notebook.shell, "get_parent", lambda: request, raising=False)


def test_a_cell_queued_before_the_box_is_drawn_waits_for_a_guess_at_a_front_end_alone(
    notebook, monkeypatch
):
    notebook.run(ASK_AGAIN)
    other = notebook.shell.user_ns["other"]
    assert not other._box.seen and not other.waits, "a program runs on to the answer"
    asked_by_a_front_end(monkeypatch, notebook)
    notebook.run(ASK_AGAIN)
    assert notebook.run("other.reveal('down')") == GUESS_NEXT
    assert "Measured: down. (No prediction" in notebook.run("other.reveal('down')")


@pytest.mark.parametrize(("cell", "shown"), [("answer", GUESS_FIRST), ("later", "7"), ("own", "7")])
def test_cells_without_the_tag_are_open_where_the_notebooks_file_says_which_have_it(
    notebook, monkeypatch, tmp_path, cell, shown
):
    cells = [
        {"id": name, "metadata": {"tags": tags}}
        for name, tags in (("answer", ["sealed"]), ("later", []))
    ]
    file = tmp_path / "lesson.ipynb"
    file.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    monkeypatch.setenv("JPY_SESSION_NAME", str(file))
    asked_by_a_front_end(monkeypatch, notebook, cell)
    assert notebook.run("print(7)") == shown


def test_a_file_that_is_gone_leaves_every_cell_before_the_answer_sealed(notebook, monkeypatch):
    monkeypatch.setenv("JPY_SESSION_NAME", "renamed.ipynb")
    asked_by_a_front_end(monkeypatch, notebook, "later")
    assert notebook.run("print(7)") == GUESS_FIRST
