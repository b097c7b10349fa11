"""What a learner does not see at first: folded sources, answers that wait; and closer looks."""

import build_notebooks
import nbformat
import notebook_folds
import notebook_source
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from notebook_comparison import compare_outputs
from notebook_source import BuildError
from tiny_course import PNG, both, course, place

from course_lab.widgets import seal

LESSON = """\
# %% [markdown]
# # A tiny lesson
#
# **Time:** 40 minutes. **Builds on:** nothing.

# %%
class Guess:
    def reveal(self, answer):
        print("Measured:", answer)

def predict(question):
    print("Predict:", question)
    return Guess()

# %%
guess = predict("six times seven?")

# %%
product = 6 * 7
print("a hint:", product)

# %%
double = 2 * product

# %% tags=["plumbing", "readme"]
# The picture of the product
from IPython.display import display
display({"image/png": "iVBORw0KGgo=", "text/plain": "a picture of 42"}, raw=True)
guess.reveal(product)

# %%
print("as we saw:", product)

# %% tags=["stub"]
def yours():
    ...

# %% tags=["solution"]
def yours():
    return 42
"""
CLOSER = LESSON.replace("A tiny lesson", "Closer").replace("42", "43")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    root = course(tmp_path_factory.mktemp("folded"), LESSON)
    place(root, "lessons/closer/01_more.py", CLOSER)
    place(root, "lessons/closer/01_next.py", CLOSER)
    place(root, "data/x.csv", "1\n")
    assert build_notebooks.main(["--root", str(root)]) == 0
    return root


def by_end(root, name="01_tiny"):
    """The cells of the learners' notebook and of the one with solutions, by the ends of ids."""
    return [{key[4:]: cell for key, cell in cells.items()} for cells in both(root, name)]


def texts(cell: nbformat.NotebookNode) -> list[str]:
    return [out.get("text", "") or out.data["text/plain"] for out in cell.outputs]


# Folded sources


@pytest.mark.parametrize("number", ["setup", "c006"])
def test_plumbing_and_the_set_up_cell_are_folded_in_jupyterlab_and_colab(built, number):
    for cells in by_end(built):
        cell = cells[number]
        assert cell.metadata.jupyter == {"source_hidden": True}
        assert cell.metadata.cellView == "form"
        assert cell.source.startswith("#@title ")


def test_a_cell_that_only_asks_is_folded_since_its_box_has_the_question(built):
    for cells in by_end(built):
        cell = cells["c003"]
        assert cell.metadata.jupyter == {"source_hidden": True}
        assert cell.source.startswith("#@title Code of the question\nguess = predict(")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("guess = widgets.predict('?', ['a', 'b'])", True),
        ("from course_lab import widgets\nways = ['a', 'b']\ng = predict('?', ways)", True),
        ("table = load()\ng = predict('?', ['a', 'b'])", False),
        ("g = predict('?', ['a', 'b'])\nprint(1)", False),
        ("ways = ['a', 'b']", False),
    ],
)
def test_what_else_a_cell_does_is_not_folded_with_its_question(source, expected):
    assert notebook_folds.only_asks(new_code_cell(source)) == expected


def test_what_a_learner_should_read_is_not_folded(built):
    for cells in by_end(built):
        for number in ("c002", "c004", "c007"):
            assert "jupyter" not in cells[number].metadata
            assert not cells[number].source.startswith("#@title")


def test_the_comment_in_the_first_line_of_plumbing_becomes_its_title():
    cell = new_code_cell("# The bars\nx = 1\n# more")
    notebook_folds.fold(cell)
    assert cell.source == "#@title The bars\nx = 1\n# more"
    bare = new_code_cell("x = 1\ny = 2")
    notebook_folds.fold(bare)
    assert bare.source == "#@title Code behind this output\nx = 1\ny = 2"


def test_the_course_knows_a_folded_cell_by_the_title_that_the_build_writes():
    assert seal.TITLE == notebook_folds.TITLE  # twice, as pytest loads the tool and no torch


# Answers that wait


def test_learners_get_no_output_between_a_question_and_its_answer(built):
    learners, solutions = by_end(built)
    note = [notebook_folds.WAITING]
    assert texts(learners["c004"]) == texts(learners["c006"]) == note
    assert learners["c005"].outputs == []  # it shows nothing when it is run, so nothing waits
    assert texts(solutions["c004"]) == ["a hint: 42\n"]
    assert texts(solutions["c006"]) == ["a picture of 42", "Measured: 42\n"]
    for cells in (learners, solutions):
        assert texts(cells["c003"]) == ["Predict: six times seven?\n"]
        assert texts(cells["c007"]) == ["as we saw: 42\n"]
        assert "sealed" in cells["c006"].metadata.tags
        assert "sealed" not in cells["c007"].metadata.get("tags", [])
    assert learners["c004"].execution_count == solutions["c004"].execution_count


@pytest.mark.parametrize(
    ("sources", "waiting"),
    [
        (["g = widgets.predict(q)", "print(1)", "g.reveal(1)", "print(1)"], {1, 2}),
        (["g = predict_number(q)", "if x:\n    g.reveal(1)"], {1}),
        (["g = predict(q)", "g.reveal(1)", "2", "g = predict(q)", "g.reveal(1)"], {1, 4}),
        (["a = predict(q)", "b = predict(q)", "a.reveal(1)", "b.reveal(1)"], {1, 2, 3}),
        (["g = predict(q)", "print(1)"], set()),  # never answered
        (["g = other(q)", "g.reveal(1)"], set()),
        (["g = predict(q)", "model.reveal(1)", "frame.settle()"], set()),
        (["m = Myths(c)", "1", "m.settle('C1')", "2", "m.leave_open('C2')", "3"], {1, 2, 3, 4}),
        (["m = Myths(c)", "m.settle('C1')", "2", "m.in_a_real_model('C1')", "4"], {1, 2, 3}),
    ],
)
def test_outputs_wait_from_a_question_to_its_answer(sources, waiting):
    assert notebook_folds.sealed([new_code_cell(source) for source in sources]) == waiting


DRAWS = new_code_cell("draw()", metadata={"tags": ["plumbing"]})
LOOK = new_markdown_cell("**Look:** it is 42.\n\n## And then\n\nMore.")
ASK, ANSWER = new_code_cell("g = predict(q)"), new_code_cell("g.reveal(1)")


@pytest.mark.parametrize(
    ("cells", "waiting"),
    [
        ([ASK, ANSWER, DRAWS, LOOK, LOOK], {1, 2, 3}),
        ([ASK, ANSWER, LOOK, DRAWS], {1, 2}),
        ([ASK, ANSWER, DRAWS, DRAWS, LOOK], {1, 2, 3, 4}),
        ([ASK, ANSWER, new_markdown_cell("So it is."), DRAWS, LOOK], {1}),
        ([ASK, ANSWER, new_code_cell("print(1)"), LOOK], {1}),
        ([ASK, LOOK, ANSWER], {1, 2}),
        ([DRAWS, LOOK], set()),
        ([new_code_cell("m = Myths(c)"), new_code_cell("m.settle(1)"), DRAWS, LOOK], {1}),
    ],
)
def test_pictures_and_the_look_wait_that_follow_an_answer_at_once(cells, waiting):
    assert notebook_folds.sealed(cells) == waiting


@pytest.mark.parametrize("heading", ["## And then", "**Exercise 1 ★ Try.** Now you."])
def test_what_leads_from_a_look_to_the_next_heading_or_exercise_is_folded_with_it(heading):
    look, rest = notebook_folds.split_look(f"**Look:** it is 42.\n\nSo why?\n\n{heading}\n\nMore.")
    assert look == "**Look:** it is 42.\n\nSo why?"
    assert rest == f"{heading}\n\nMore."


def test_without_a_heading_only_the_paragraph_of_a_look_is_folded():
    assert notebook_folds.split_look("**Look:** 42.\n\nPress it.") == ("**Look:** 42.", "Press it.")


def test_a_look_that_follows_no_answer_is_open_to_all():
    cells = [nbformat.from_dict(cell) for cell in (ASK, ANSWER, LOOK, LOOK)]
    notebook_folds.seal(cells)
    for cell in cells:
        notebook_folds.cover(cell)
    folded, open_to_all = cells[2].source, cells[3].source
    assert folded.startswith("<details>\n<summary>")
    assert folded.endswith("\n\n**Look:** it is 42.\n\n</details>\n\n## And then\n\nMore.")
    assert open_to_all == LOOK.source


def test_a_formula_that_goes_on_from_a_look_is_folded_with_what_follows():
    look = new_markdown_cell("**Look:** it is\n\n$$42$$\n\nas it was.\n\nMore.")
    look.metadata["tags"] = [notebook_folds.SEALED]
    notebook_folds.cover(look)
    assert look.source.endswith("it is\n\n$$42$$\n\nas it was.\n\n</details>\n\nMore.")


def test_a_withheld_answer_agrees_with_whatever_a_run_shows_and_nothing_else_does():
    cell = new_code_cell(metadata={"tags": ["sealed"]})
    cell.outputs = run = [new_output("stream", text="Measured: 42\n")]
    notebook_folds.withhold(cell)
    assert compare_outputs(new_code_cell(), run, cell.outputs)
    assert not compare_outputs(new_code_cell(), run, [])
    assert not compare_outputs(new_code_cell(), cell.outputs, run)


def test_readme_gets_the_picture_although_learners_have_to_guess_first(built):
    assert (built / "docs" / "01_tiny.png").read_bytes() == PNG


# Closer looks


def test_a_closer_look_is_built_like_a_lesson_beside_the_lessons(built):
    learners, solutions = by_end(built, "closer/01_more")
    assert texts(solutions["c006"]) == ["a picture of 43", "Measured: 42\n"]
    assert texts(learners["c006"]) == [notebook_folds.WAITING]
    assert "..." in learners["c008"].source and "return 43" in solutions["c009"].source
    link = "/github/someone/tiny/blob/v1.2.3/notebooks/closer/01_more.ipynb)"
    assert learners["c001"].source.endswith(link)


def test_no_two_of_a_lesson_and_its_closer_looks_share_an_id(built):
    ids = [both(built, name)[0].keys() for name in ("01_tiny", "closer/01_more", "closer/01_next")]
    assert [sorted(names)[0][:4] for names in ids] == ["l01-", "c01-", "c01b"]
    assert sum(map(len, ids)) == len(set().union(*ids))


def test_an_edited_closer_look_is_noticed_like_a_lesson(built):
    path = built / "lessons/closer/01_more.py"
    path.write_text(CLOSER.replace("a hint", "a help"), encoding="utf-8")
    problems = build_notebooks.check(built)
    path.write_text(CLOSER, encoding="utf-8")
    assert problems == [
        f"closer/01_more: notebooks/{name}closer/01_more.ipynb: cells changed: c01-c004"
        for name in ("", "solutions/")
    ]


def test_a_closer_look_is_found_by_its_name(built):
    lessons = notebook_source.find_lessons(built)
    names = [notebook_source.lesson_name(path) for path in lessons]
    assert names == ["01_tiny", "closer/01_more", "closer/01_next"]
    for name in ("closer/01_more", "closer/01_more.py"):
        assert build_notebooks.choose(lessons, [name]) == [lessons[1]]
    assert build_notebooks.choose(lessons, ["closer/01"]) == lessons[1:]
    assert build_notebooks.choose(lessons, ["01"]) == [lessons[0]]
    with pytest.raises(BuildError, match="there are: 01_tiny, closer/01_more, c"):
        build_notebooks.choose(lessons, ["closer/02"])
