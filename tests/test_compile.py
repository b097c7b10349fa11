"""torch.compile of a whole model, as one graph, gives what the model gives."""

import os
import shutil
import subprocess
import sys

import pytest
import torch

from course_utils import encodings

# In a process of its own: the shape checks of the other tests cannot be compiled.
SCRIPT = """
import sys, torch
from course_utils.models import TinyTransformer
backend, gradients, n_layers, *names = sys.argv[1:]
torch.set_num_threads(1)
torch.manual_seed(0)
for name in names:
    torch.compiler.reset()
    model = TinyTransformer(16, name, d_model=16, n_layers=int(n_layers), n_heads=2)
    ids, parameters = torch.randint(16, (2, 24)), list(model.parameters())
    compiled = torch.compile(model, backend=backend, fullgraph=True)
    with torch.set_grad_enabled(gradients == "gradients"):
        outs = [run(ids) for run in (compiled, model)]
    gaps = [(outs[0] - outs[1]).abs().max()]
    if gradients == "gradients":
        both = [torch.autograd.grad(out.square().mean(), parameters) for out in outs]
        gaps += [(a - b).abs().max() for a, b in zip(*both)]
    assert max(gaps) <= 1e-5, (name, gaps)
    print(name)
"""


def compiled(backend, gradients, names, n_layers=2):
    run = [sys.executable, "-c", SCRIPT, backend, gradients, str(n_layers), *names]
    # With this set to "default" PyTorch 2.13 writes C++ that does not compile.
    settings = {k: v for k, v in os.environ.items() if k != "ATEN_CPU_CAPABILITY"}
    done = subprocess.run(run, capture_output=True, text=True, env=settings)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.split()


# floater is left out: its integrator runs outside of the graph.
NAMES = [name for name in encodings.NAMES if name != "floater"]
KNOWN = ["sinusoidal", "rope", "alibi", "t5"]


@pytest.mark.xdist_group("capture")
def test_every_model_but_floaters_is_captured_as_one_graph():
    assert compiled("eager", "no gradients", NAMES, n_layers=1) == NAMES


@pytest.mark.thorough
@pytest.mark.xdist_group("gradients-captured")
def test_the_gradients_of_every_model_but_floaters_are_captured_too():
    assert compiled("aot_eager", "gradients", NAMES) == NAMES


@pytest.mark.skipif(
    not any(map(shutil.which, ("g++", "c++", "clang++", "cl"))), reason="needs a C++ compiler"
)
@pytest.mark.skipif(" " in torch.__file__, reason="torch cannot link in a folder with a space")
@pytest.mark.xdist_group("inductor")
@pytest.mark.parametrize("names", [["rope"], pytest.param(KNOWN, marks=pytest.mark.thorough)])
def test_the_default_compiler_builds_the_best_known(names):
    assert compiled("inductor", "no gradients", names) == names
