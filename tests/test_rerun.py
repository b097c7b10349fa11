"""Running a cell again, or a whole notebook again in the same kernel, changes no result."""

import time
from pathlib import Path

import nbformat
import pytest
from build_notebooks import ThisPython, kernel_environment
from jupyter_client import AsyncKernelManager
from nbclient import NotebookClient
from nbval.plugin import coalesce_streams
from notebook_comparison import compare_outputs

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks" / "solutions").rglob("*.ipynb"))
QUICK = 0.5  # seconds; slower cells, which train, run again only with the whole notebook


def name(path):
    return f"closer-{path.stem}" if path.parent.name == "closer" else path.stem


class Report:
    """Takes what compare_outputs reports about a cell."""

    comparison_traceback: list[str]


@pytest.mark.thorough
@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_running_cells_again_in_the_same_kernel_changes_no_result(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    kernel = AsyncKernelManager(kernel_spec_manager=ThisPython())
    client = NotebookClient(
        notebook,
        km=kernel,
        timeout=120,
        extra_arguments=["--log-level=ERROR"],
        shutdown_kernel="immediate",
        resources={"metadata": {"path": str(path.parent)}},
    )
    code = [(place, cell) for place, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    changed = []
    with client.setup_kernel(cleanup_kc=True, env=kernel_environment(ROOT, str(tmp_path))):
        quick, first = set(), {}

        def run(place, cell):
            start = time.perf_counter()
            client.execute_cell(cell, place)
            if time.perf_counter() - start < QUICK:
                quick.add(place)
            return coalesce_streams(list(cell.outputs))

        for place, cell in code:
            first[place] = run(place, cell)
        for place, cell in code:
            tags = cell.metadata.get("tags", [])
            if "nbval-ignore-output" in tags:
                run(place, cell)
                continue
            # The last cell that needs a published model frees it, so it runs once a round.
            for _ in range(2 if place in quick and "pretrained" not in tags else 1):
                report = Report()
                if not compare_outputs(report, run(place, cell), first[place]):
                    changed.append((cell.id, report.comparison_traceback))
    assert not changed, "\n".join(f"{cell}: {told}" for cell, told in changed)
    assert not kernel.has_kernel, "it ended with its test; nine of them hold 5 GB"
