"""Draw each explorer of the lessons as it starts: `python tools/stills.py`, or `make stills`.

The pictures, in docs/explorers, stand in the notebooks where an explorer was not run: in
JupyterLab, on GitHub, in previews. Each says that it is a still. In a notebook it has no paper, so
that it can be read on a dark page too. Chromium draws them.
"""

import ast
import base64
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from browser import SECONDS, chromium
from nbformat import NotebookNode
from notebook_budget import explorer_calls
from notebook_source import BuildError, find_lessons, read_lesson

from course_lab import explorers
from course_utils.plots.paper import without_paper
from course_utils.plots.style import shrink

ROOT = Path(__file__).resolve().parents[1]
INTRODUCTION = "Explorer: "  # how the text of an explorer starts
WIDTH = 820  # pixels, as wide as an output of JupyterLab on a laptop
NOTE = "A still. Run this cell, and it moves."
PAGE = """<meta name=viewport content='width=device-width'><style>
body {{ margin: 0; }}
main {{ padding: 8px 12px; background: #fff; border: 1px solid #8b929a; }}
main::before {{ content: "{note}"; color: #57606a; font: italic 14px system-ui, sans-serif; }}
.om .om-controls, .om > details, .om-view > :not(.om-picture) {{ display: none; }}
</style><main></main><script type=module>
{module}
mount(document.querySelector("main"), {start});
</script>"""


def path(root: Path, name: str) -> Path:
    """Where the picture of an explorer is kept."""
    return root / "docs" / "explorers" / f"{name}.png"


def calls(source: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The explorers that a cell shows, with the values at which their controls start."""
    for call in explorer_calls(source):
        name = ast.unparse(call.func).removeprefix("explorers.")
        yield name, {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}


def of_the_lessons(root: Path) -> dict[str, dict[str, Any]]:
    """The start of every explorer that a lesson shows, by name."""
    cells = [cell for lesson in find_lessons(root) for cell in read_lesson(lesson)]
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    return {name: start for source in code for name, start in calls(source)}


def drawn(browser: Any, name: str, start: dict[str, Any]) -> bytes:
    """A PNG of the explorer's panels under a note, without controls, which would do nothing."""
    page = browser.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme="light")
    module, values = explorers.ALL[name].module, json.dumps(start)
    page.set_content(PAGE.format(module=module, start=values, note=NOTE))
    page.locator(".om-picture svg").first.wait_for(timeout=10 * SECONDS)
    content = page.locator("main").screenshot()
    page.close()
    return shrink(content)


def put_into(cell: NotebookNode, root: Path) -> None:
    """Give each explorer that the cell's outputs show its picture, in place."""
    explorers_shown = [
        output
        for output in cell.outputs
        if output.get("data", {}).get("text/plain", "").startswith(INTRODUCTION)
    ]
    for output, (name, _) in zip(explorers_shown, calls(cell.source), strict=False):
        if not path(root, name).exists():
            raise BuildError(f"the explorer {name!r} has no picture yet: make stills draws it")
        still = without_paper(path(root, name).read_bytes())
        output.data["image/png"] = base64.b64encode(still).decode()


def main() -> int:
    """Draw all; the exit status is 0."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play, chromium(play) as browser:
        for name, start in of_the_lessons(ROOT).items():
            file = path(ROOT, name)
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(drawn(browser, name, start))
            print(f"{file.relative_to(ROOT)}: {file.stat().st_size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
