"""A notebook as a page of the site: Markdown, and the files that it needs."""

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

import lesson_titles
import site_exercises
import site_explorers
import site_live
import site_questions
from claims_table import claims_in
from nbformat import NotebookNode
from notebook_folds import OF_A_QUESTION, PLUMBING, TITLE, is_look, split_look
from notebook_source import BuildError
from site_exercises import SOLUTION, STUB
from site_html import code_block, escaped, folded, macros, opening, tag
from site_outputs import Outputs

from course_lab.checks import Check

BADGE = re.compile(r"^\[!\[Open in Colab\]\([^)]*\)\]\(([^)]*)\)$", re.MULTILINE)
TO_NOTEBOOK = re.compile(r"\]\(([\w./-]+)\.ipynb(#[^)]*)?\)")
NOTEBOOKS = "_static/notebooks"
AIMS = re.compile(r"\n\n(After this lesson you can)\n\n((?:- .*\n|  .*\n)+)")
FACTS = re.compile(r"^\*\*Time:\*\* .*(?:\n.+)*", re.MULTILINE)
ALL_CODE = "Show the code of pictures and questions too"  # what site.js hides until then
NO_SEARCH = "no-search"  # Sphinx's class for what the search leaves out
OF_AN_EXPLORER = "Code: show the explorer"
OF_AN_ANSWER = "The code"  # which a guess would have to scroll past
SUMMARY = re.compile(r"(?<=^## In five lines\n).*?(?=^\*\*Next:|\Z)", re.MULTILINE | re.DOTALL)
WORDS = {  # of notebooks → of pages, where nothing runs
    "; run the cells from the top.": ".",
    "Now it and two others judge your setting and your ramp,": "In a notebook it and two others "
    "judge your setting and your ramp; here those of the course,",
    "Change `mine` and run the cell.": "In the notebook you can change `mine` and run the cell.",
    "A button gives hints.": "Write it in the notebook.",
    "You run the first of these trainings.": "",
    "Then run again `Mine`": "In the notebook, run again `Mine`",
    "Press ▶, and the picture paints itself. Then take another padding.": "In the notebook a "
    "picture paints itself, step by step, with each padding.",
}
HOW_TO_RUN = "Run cells from top to bottom"  # how a paragraph for notebooks alone starts
START = "course_lab.start("  # in the cell that each lesson starts with
SECTION = re.compile(r"^(?=#+ )", re.MULTILINE)  # where a heading starts


@dataclass(frozen=True)
class Page:
    """A page of the site."""

    name: str  # its path without suffix: 02_sinusoidal, closer/02_in_practice
    opening: str  # its first cell
    markdown: str
    files: dict[str, bytes] = field(default_factory=dict)  # by their paths on the site
    explorers: frozenset[str] = frozenset()


def page(
    name: str,
    notebook: NotebookNode,
    learners: NotebookNode,
    link_terms: Callable[[str], str] = str,
) -> Page:
    """The page of a notebook that was run with its solutions.

    Args:
        name: of the page.
        notebook: with solutions and outputs.
        learners: the same as learners get it, which has the stubs.
        link_terms: links the glossary's terms in a text, each at its first use on the page.

    Raises:
        BuildError: naming the cell that cannot be shown.
    """
    return _Writer(name, notebook, learners, link_terms).page()


class _Writer:
    """Walks through the cells of one notebook."""

    def __init__(
        self,
        name: str,
        notebook: NotebookNode,
        learners: NotebookNode,
        link_terms: Callable[[str], str],
    ) -> None:
        self.name, self.link_terms = name, link_terms
        self.root = "../" * name.count("/")
        cells = [cell for cell in notebook.cells if not cell.id.endswith("-setup")]
        self.cells = site_live.inserted(cells, name)
        self.code = [cell for cell in self.cells if cell.cell_type == "code"]
        self.outputs = Outputs(name, self.root)
        self.waiting = site_questions.waiting(self.cells, name)
        self.verdicts = site_questions.verdicts(self.code)
        self.checks = site_exercises.imported_checks(self.code)
        self.badge = BADGE.search(learners.cells[0].source)
        self.stubs = [cell.source for cell in learners.cells if _has(cell, STUB)]
        solutions = [cell.id for cell in self.code if _has(cell, SOLUTION)]
        if len(self.stubs) != len(solutions):
            raise BuildError(f"{name} has {len(self.stubs)} stubs, {len(solutions)} solutions")
        self.blocks: list[str] = []
        self.fold: tuple[str, ...] = ()  # the questions for which the last block is folded
        self.fold_start = 0  # the number of the block that opens it
        self.moving: list[tuple[str, str]] = []  # explorers: where a link to each leads, its title
        self.settled: set[str] = set()  # claims, by the cells so far
        self.code_below: list[str] = []  # code of an answer, which stands below what it shows
        self.keys_of_code: tuple[str, ...] = ()  # the questions that it answers
        self.stated: list[tuple[str, str]] = []  # exercises: titles and numbers

    def page(self) -> Page:
        title = self.cells[0].source
        head, about = self._opening(title)
        self._put(head)
        end_of_facts = len(self.blocks)
        self._put(about)
        drawn: list[NotebookNode] = []
        for number, cell in enumerate(self.cells[1:], start=1):
            if cell in drawn:
                continue
            if self.waiting.get(cell.id, ()) != self.keys_of_code:
                self._put_code_below()
            before = self.cells[number - 1]
            after = self.cells[number + 1] if number + 1 < len(self.cells) else None
            if cell.cell_type == "markdown":
                if not cell.source.startswith(HOW_TO_RUN):
                    self._text(cell)
            elif _has(cell, SOLUTION):
                drawn = self._drawn_from(cell, self.cells[number + 2 :])
                self._put(self._exercise(cell, after, drawn))
            elif not (_has(before, SOLUTION) and self._check(cell)):
                self._cell(cell)
        self._put_code_below()
        self._put([])
        self.blocks.insert(end_of_facts, self._explorers())
        text = "\n\n".join(self.blocks) + "\n"
        files, explorers = self.outputs.files, frozenset(self.outputs.explorers)
        return Page(self.name, title, text, files, explorers)

    def _put(self, blocks: Sequence[str], fold: tuple[str, ...] = ()) -> None:
        """Add blocks; what waits for the same questions shares a fold."""
        if fold != self.fold:
            self.blocks += [site_questions.END] if self.fold else []
            self.fold_start = len(self.blocks)
            self.blocks += [site_questions.HTML.fold(fold)] if fold else []
            self.fold = fold
        self.blocks += blocks
        found = [explorer for block in blocks for explorer in site_explorers.mounted(block)]
        if fold and found:  # a link leads to the fold: what is in it would open at once
            place = f"before-{found[0][0]}"
            opened = site_questions.HTML.fold(fold, site_questions.THEN_IT_MOVES, place)
            self.blocks[self.fold_start] = opened
            found = [(place, title) for _, title in found]
        self.moving += found

    def _put_code_below(self) -> None:
        """Put what is left of an answer's code: folded in the answer, or as it is without one."""
        if self.code_below and self.fold == self.keys_of_code:
            self._put(folded(OF_AN_ANSWER, self.code_below), self.fold)
        elif self.code_below:
            self._put(self.code_below)
        self.code_below, self.keys_of_code = [], ()

    def _explorers(self) -> str:
        """A line with links to what moves on the page."""
        links = [tag("a", escaped(title), href=f"#{place}") for place, title in self.moving]
        line = "Pictures that move: " if len(links) > 1 else "A picture that moves: "
        return tag("p", line + " · ".join(links), class_="om-moves") if links else ""

    def _text(self, cell: NotebookNode) -> None:
        """A cell of text. In a fold it stays up to a heading, or the end of a "Look"."""
        text = site_exercises.with_links(self._linked(cell.source), self.stated)
        text = SUMMARY.sub(self._until_all_are_guessed, text)
        text, fold = site_exercises.with_places(text), self._inside(cell)
        self.stated += site_exercises.STATED.findall(cell.source)
        if fold:
            inside, text = split_look(text) if is_look(cell) else _split_at_heading(text)
            self._put([inside], fold)
        self._put([text] if text.strip() else [], () if text.strip() else fold)

    def _until_all_are_guessed(self, summary: re.Match[str]) -> str:
        """The lines that sum up a lesson, folded: they answer its questions."""
        asked = [key for cell in self.code for key in site_questions.keys_of(cell, self.name)]
        if not asked:
            return summary[0]
        return "\n".join(["", site_questions.HTML.summary(asked), summary[0], "</details>", "", ""])

    def _inside(self, cell: NotebookNode) -> tuple[str, ...]:
        """The fold that the cell's input belongs to: one that an earlier output has opened."""
        keys = self.waiting.get(cell.id, ())
        return keys if keys == self.fold else ()

    def _opening(self, title: str) -> tuple[list[str], list[str]]:
        """The first cell: its question and a line of facts, then what is folded, and the rest.

        The first part ends where the links to what moves have their place.
        """
        questions = [
            question for cell in self.code for question in site_questions.questions(cell, self.name)
        ]
        score = [site_questions.HTML.score(len(questions))] if questions else []
        code = tag(
            "p", tag("button", ALL_CODE, type="button", class_="om-all-code", aria_pressed="false")
        )
        aims, text = AIMS.search(title), AIMS.sub("\n\n", BADGE.sub("", title))
        before, facts, rest = _around(FACTS, text)
        heading, _, question = before.partition("\n\n")
        minutes, glyph = lesson_titles.TIME.search(text), macros("glyphs.html").glyph
        brief = [tag("p", _minutes(minutes), class_="om-minutes")] if minutes else []
        brief += [*score, tag("p", " · ".join(self._links()), class_="om-links")]
        after = [aims[1], self._linked(aims[2])] if aims else []
        fold = folded("About this lesson", [*map(self._about, facts)], class_="om-about")
        return [
            heading,
            opening("div", class_="om-question")
            + str(glyph(lesson_titles.read(title).heading[:2])),
            self._linked(question),
            "</div>",
            tag("div", "".join(brief), class_="om-facts"),
            *fold[:-1],
        ], [*after, tag("p", code), fold[-1], *map(self._linked, rest)]

    def _links(self) -> list[str]:
        """Ways to run the notebook."""
        file = f"{self.root}{NOTEBOOKS}/{self.name}.ipynb"
        links = [tag("a", "Open in Colab", href=self.badge[1])] if self.badge else []
        return [*links, tag("a", "Notebook", href=file, download="")]

    def _about(self, facts: str) -> str:
        """What a lesson builds on, without the time that stands above."""
        return self._linked(lesson_titles.TIME.sub("", facts))

    def _linked(self, markdown: str) -> str:
        """Text in a page's words, with links to pages, not notebooks, and to the glossary."""
        for words, own in WORDS.items():
            markdown = re.sub(r"\s+".join(map(re.escape, words.split())), own, markdown)
        return self.link_terms(TO_NOTEBOOK.sub(r"](\1.md\2)", markdown).strip())

    def _cell(self, cell: NotebookNode) -> None:
        """A cell of code: its source, the questions it asks, what it has shown."""
        if START in cell.source:
            self._put(self._start(cell))
            return
        questions = site_questions.questions(cell, self.name)
        keys = self.waiting.get(cell.id, ())
        before: list[str] = []
        after: list[str] = []
        shown = self.outputs.blocks(cell, keys)
        shown = [*site_exercises.whose(cell), *shown] if shown else []
        if questions or _has(cell, PLUMBING) or _only_explores(cell):
            after = _folded_source(cell)  # quietly, below what it is the code of
        elif keys:
            self.code_below, self.keys_of_code = [*self.code_below, code_block(cell.source)], keys
        else:
            before = [code_block(cell.source)]
            shown = site_exercises.behind_the_exercise(cell, shown)
        inside = self._inside(cell)
        self._put([*before, *self._settled(cell)], inside)
        for question in questions:
            self._put([site_questions.asks(question, self.verdicts.get(question.key, []))])
        if shown:
            self._put(shown, keys)
            if keys and self.code_below:
                self._put_code_below()
        self._put(after, keys if shown else () if questions else inside)

    def _start(self, cell: NotebookNode) -> list[str]:
        """The cell that starts a lesson: its picture, and a fold with the code and the settings."""
        drawn, printed = NotebookNode(cell), NotebookNode(cell)
        drawn.outputs = [out for out in cell.outputs if out.output_type != "stream"]
        printed.outputs = [out for out in cell.outputs if out.output_type == "stream"]
        settings = [code_block(cell.source, kind=NO_SEARCH), *self.outputs.blocks(printed)]
        doors = self.outputs.blocks(drawn)
        return [*doors, *folded("Code: the start", settings, class_="om-code")]

    def _settled(self, cell: NotebookNode) -> list[str]:
        """Where a cell settles claims, which links lead to; their verdicts stand with the claims.

        It says so if it settles what an earlier cell has settled, as in a published model.
        """
        keys = list(dict.fromkeys(verdict["id"] for verdict in claims_in(cell)))
        links = ", ".join(tag("a", key, href=f"#claim-{key}") for key in keys)
        note = f"The verdicts stand above: {links}." if self.settled.issuperset(keys) else ""
        self.settled.update(keys)
        return [tag("p", note, class_="om-note om-settled", id=cell.id)] if keys else []

    def _drawn_from(
        self, solution: NotebookNode, after: Sequence[NotebookNode]
    ) -> list[NotebookNode]:
        """The cells that draw, after the check, what the solution makes: they are part of it."""
        defined = [part.name for part in ast.parse(solution.source).body if hasattr(part, "name")]
        return list(
            takewhile(
                lambda cell: (
                    _has(cell, PLUMBING)
                    and cell.id not in self.waiting
                    and any(name in cell.source for name in defined)
                ),
                after,
            )
        )

    def _exercise(
        self,
        solution: NotebookNode,
        after: NotebookNode | None,
        drawn: Sequence[NotebookNode],
    ) -> list[str]:
        check = self._check(after)
        hints = check.hints if check else ()
        answer = [code_block(solution.source)]
        if after is not None and check:
            answer += [code_block(after.source), *self.outputs.blocks(after)]
        answer += [block for cell in drawn for block in self.outputs.blocks(cell)]
        return site_exercises.exercise(code_block(self.stubs.pop(0)), hints, answer)

    def _check(self, cell: NotebookNode | None) -> Check | None:
        """The check that a cell calls, if it does."""
        if cell is None or cell.cell_type != "code":
            return None
        return site_exercises.checked(cell, self.checks)


def _minutes(time: re.Match[str]) -> str:
    """How long a lesson takes, and its exercises."""
    minutes, exercises = time.groups()
    return f"{minutes} + {exercises} minutes" if exercises else f"{minutes} minutes"


def _split_at_heading(text: str) -> tuple[str, str]:
    """What stands before the first heading, and the rest."""
    before, *rest = SECTION.split(text, maxsplit=1)
    return before, "".join(rest)


def _around(pattern: re.Pattern[str], text: str) -> tuple[str, list[str], list[str]]:
    """What stands before the pattern's first match, the match, and what stands after it."""
    match = pattern.search(text)
    if match is None:
        return text, [], []
    after = text[match.end() :].strip()
    return text[: match.start()], [match[0]], [after] if after else []


def _only_explores(cell: NotebookNode) -> bool:
    """Whether a cell does nothing but show an explorer, which stands on the page itself."""
    statements = ast.parse(cell.source).body
    calls = [part for part in statements if not isinstance(part, ast.Import | ast.ImportFrom)]
    return bool(calls) and all(
        isinstance(part, ast.Expr) and ast.unparse(part).startswith("explorers.") for part in calls
    )


def _folded_source(cell: NotebookNode) -> list[str]:
    """A cell's code, to unfold; what notebooks fold has a title in its first line."""
    title, code = OF_AN_EXPLORER if _only_explores(cell) else OF_A_QUESTION, cell.source
    if code.startswith(TITLE):
        title, _, code = code.removeprefix(TITLE).partition("\n")
    summary = title if title.startswith("Code") else f"Code: {title}"
    return folded(escaped(summary), [code_block(code, kind=NO_SEARCH)], class_="om-code")


def _has(cell: NotebookNode, name: str) -> bool:
    return name in cell.metadata.get("tags", [])
