"""Running a cell again, or a whole notebook again in the same kernel, changes no result."""

import time
from pathlib import Path

import nbformat
import pytest
from build_notebooks import ThisPython, kernel_client, kernel_environment
from jupyter_client import AsyncKernelManager
from nbformat.v4 import new_code_cell
from nbval.plugin import coalesce_streams
from notebook_comparison import compare_outputs

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks" / "solutions").rglob("*.ipynb"))
QUICK_SECONDS = 0.5  # slower cells, which train, run again only with the whole notebook


def name(path):
    return f"closer-{path.stem}" if path.parent.name == "closer" else path.stem


@pytest.mark.thorough
@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_running_cells_again_in_the_same_kernel_changes_no_result(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    kernel = AsyncKernelManager(kernel_spec_manager=ThisPython())
    client = kernel_client(notebook, path.parent, km=kernel)
    code = [(index, cell) for index, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    quick, first, changed = set(), {}, []

    def run(index, cell):
        start = time.perf_counter()
        client.execute_cell(cell, index)
        if time.perf_counter() - start < QUICK_SECONDS:
            quick.add(index)
        return coalesce_streams(list(cell.outputs))

    with client.setup_kernel(cleanup_kc=True, env=kernel_environment(ROOT, str(tmp_path))):
        for index, cell in code:
            first[index] = run(index, cell)
        for index, cell in code:
            tags = cell.metadata.get("tags", [])
            if "nbval-ignore-output" in tags:
                run(index, cell)
                continue
            # The last cell that needs a published model frees it, so it runs once in each round.
            for _ in range(2 if index in quick and "pretrained" not in tags else 1):
                report = new_code_cell()
                if not compare_outputs(report, run(index, cell), first[index]):
                    changed.append((cell.id, report.comparison_traceback))
    assert changed == []
    assert not kernel.has_kernel, "kernels that stay alive hold 5 GB together"
