"""On a machine with a GPU everything is computed there: tried with a GPU that is played."""

from functools import partial
from pathlib import Path

import nbformat
import numpy as np
import pytest
import torch
from build_notebooks import ThisPython, kernel_client, kernel_environment
from jupyter_client import AsyncKernelManager
from nbformat.v4 import new_code_cell
from second_device import SecondDevice

import course_lab
from course_utils import measures
from course_utils.attention import MultiHeadAttention
from course_utils.encodings import NAMES, create
from course_utils.models import TinyTransformer

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks" / "solutions").rglob("*.ipynb"))
START = f"""
import sys
sys.path.insert(0, {str(ROOT / "tests")!r})
from second_device import SecondDevice
second_device = SecondDevice()
second_device.__enter__()
"""
END = "print(*second_device.read_on, '/', *second_device.trained_on)"


@pytest.fixture
def second_device():
    with SecondDevice() as device:
        yield device


MIXTURES = {
    "a sum": lambda here, there: here + there,
    "a product of matrices": lambda here, there: torch.stack([there, there]) @ here,
    "one row after another": lambda here, there: torch.cat([here, there]),
    "an index": lambda here, there: here[there.long()],
    "NumPy": lambda here, there: there.numpy(),
    "matplotlib's way to NumPy": lambda here, there: np.asarray(there),
    "a generator": lambda here, there: torch.rand(2, device="cuda", generator=torch.Generator()),
}


@pytest.mark.parametrize("mixture", MIXTURES.values(), ids=list(MIXTURES))
def test_what_a_gpu_refuses_is_refused(second_device, mixture):
    here, there = torch.ones(3), torch.ones(3, device="cuda")
    assert (here.device.type, there.device.type) == ("cpu", "cuda")
    with pytest.raises((RuntimeError, TypeError), match="cuda"):
        mixture(here, there)


def test_what_a_gpu_takes_is_taken(second_device):
    here, there = torch.arange(3), torch.zeros(4, device="cuda")
    assert there[here].device.type == "cuda"
    assert (there + torch.tensor(2.0)).device.type == "cuda"
    there[:3] = torch.ones(3)
    assert there.cpu().numpy().tolist() == [1, 1, 1, 0]
    assert here.to("cuda").device.type == "cuda" and here.device.type == "cpu"


@pytest.mark.parametrize("name", NAMES)
def test_models_train_and_are_read_where_they_stand(second_device, name):
    model = TinyTransformer(16, name, d_model=16, n_layers=2, n_heads=2).to("cuda")
    tokens = torch.randint(16, (2, 150), device="cuda")  # more than one block of queries
    logits, weights = model(tokens, need_weights=True)
    assert logits.device == weights[0].device == tokens.device
    model(tokens, attention_mask=tokens > 0).sum().backward()
    torch.optim.Adam(model.parameters()).step()
    cache = model.new_cache()
    with torch.no_grad():
        model(tokens[:, :5], cache=cache)
        model(tokens[:, 5:6], cache=cache)
    assert second_device.read_on == second_device.trained_on == {"cuda"}


@pytest.mark.parametrize("name", ["none", "learned", "shaw", "rope", "alibi"])
def test_an_encoding_is_measured_on_the_device_that_is_asked_for(second_device, name):
    measured = partial(
        measures.passport, name, d_model=16, n_heads=2, length=40, batch=1, max_len=40
    )
    on_gpu, on_cpu = measured(device="cuda"), measured(device="cpu")
    assert on_gpu["name"] == name
    assert on_gpu["shift_error"] == on_cpu["shift_error"]  # None past the end of a table


@pytest.mark.parametrize("name", ["none", "rope", "alibi", "shaw"])
def test_a_memory_is_read_where_it_stands(second_device, name):
    encoding = create(name, d_model=16, n_heads=2)
    attention = MultiHeadAttention(16, 2, encoding).to("cuda")
    x, memory = torch.randn(1, 3, 16, device="cuda"), torch.randn(1, 5, 16, device="cuda")
    out, _ = attention(x, memory=memory, memory_positions=torch.arange(5))
    assert out.device.type == "cuda"
    with pytest.raises(RuntimeError, match="same device"):
        attention(x, memory=memory.cpu(), memory_positions=torch.arange(5))


def test_a_lesson_starts_on_the_device(second_device, capsys):
    assert course_lab.start().type == "cuda"
    assert "device cuda" in capsys.readouterr().out


def name(path):
    return f"closer-{path.stem}" if path.parent.name == "closer" else path.stem


@pytest.mark.thorough
@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_a_lesson_trains_and_reads_its_models_on_the_device(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = [new_code_cell(START), *notebook.cells, new_code_cell(END)]
    kernel = AsyncKernelManager(kernel_spec_manager=ThisPython())
    client = kernel_client(notebook, path.parent, km=kernel)
    with client.setup_kernel(cleanup_kc=True, env=kernel_environment(ROOT, str(tmp_path))):
        for index, cell in enumerate(notebook.cells):
            if cell.cell_type == "code":
                client.execute_cell(cell, index)
    (output,) = notebook.cells[-1].outputs
    read_on, trained_on = output["text"].split("/")
    for devices in (read_on, trained_on):  # a check may use the CPU, where its threshold was found
        assert not devices.strip() or "cuda" in devices
