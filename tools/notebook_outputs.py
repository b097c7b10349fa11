"""Outputs of a run: cut to what is the same in every run, or refused."""

import json
import re
import tempfile
from pathlib import Path

import nbformat
from nbconvert.filters import strip_ansi
from nbformat import NotebookNode

SIZE_LIMIT = 400_000  # bytes of one notebook file
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
# A tqdm bar as text: "30%|██   | 3/10 [00:00<00:01, 9.1it/s]"; without total "3it [00:00, 9.1it/s]"
PROGRESS = re.compile(r"\d%\||\[(?:\d+:)?\d\d:\d\d[<,]")


def is_progress(output: NotebookNode) -> bool:
    """Whether the output is a tqdm bar that was shown as a widget; its text carries times."""
    return bool(PROGRESS.search(output.get("data", {}).get("text/plain", "")))


def warnings_in(text: str) -> str:
    """The text of stderr without progress bars."""
    lines = (strip_ansi(line).strip() for line in re.split(r"[\r\n]", text))
    return "\n".join(line for line in lines if line and not PROGRESS.search(line))


def clean(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Outputs without widgets, bars, stderr or tracebacks, and with neighbouring streams merged."""
    kept: list[NotebookNode] = []
    for output in outputs:
        if output.output_type == "stream":
            if output.name == "stderr":
                continue
            if kept and kept[-1].output_type == "stream":
                kept[-1].text += output.text
                continue
        elif output.output_type == "error":  # a traceback has the paths of this machine in it
            output.traceback = [f"{output.ename}: {output.evalue}"]
        else:
            output.data.pop(WIDGET_VIEW, None)
            output.metadata.pop(WIDGET_VIEW, None)
            if not output.data or is_progress(output):
                continue
        kept.append(output)
    return kept


def without_drawings(cell: NotebookNode) -> None:
    """Leave out each SVG that has a PNG beside it, in place."""
    for output in cell.get("outputs", []):
        if "image/png" in output.get("data", {}):
            output.data.pop("image/svg+xml", None)
            output.metadata.pop("image/svg+xml", None)


def complaint(cell: NotebookNode, root: Path) -> str | None:
    """The reason not to publish the outputs of a cell; None where there is none."""
    streams = [output for output in cell.outputs if output.output_type == "stream"]
    if warning := warnings_in("".join(out.text for out in streams if out.name == "stderr")):
        return f"wrote a warning, which learners would see:\n{warning}"
    shown = json.dumps(clean([nbformat.from_dict(out) for out in cell.outputs]))
    for folder in (str(root), str(Path.home()), tempfile.gettempdir()):
        if json.dumps(folder)[1:-1] + ("\\\\" if "\\" in folder else "/") in shown:
            return f"shows a path of this machine ({folder})"
    return None


def written(notebook: NotebookNode) -> bytes:
    """The notebook file's bytes, the same for the same notebook on every system."""
    nbformat.validate(notebook)
    return (nbformat.writes(notebook, sort_keys=True, indent=1) + "\n").encode()


def oversize(notebook: NotebookNode, size: int) -> str | None:
    """Size and largest cells of a notebook above the limit; None below it."""
    if size <= SIZE_LIMIT:
        return None
    sizes = sorted(((len(json.dumps(cell)), cell.id) for cell in notebook.cells), reverse=True)
    largest = ", ".join(f"{cell_id} {length / 1000:.0f} kB" for length, cell_id in sizes[:3])
    return f"{size / 1000:.0f} kB, more than {SIZE_LIMIT // 1000}; the largest cells: {largest}"
