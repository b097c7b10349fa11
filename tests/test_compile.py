"""Whole models as one graph, compiled or exported, give what the models give."""

import os
import shutil
import subprocess
import sys

import pytest
import torch

from course_utils import encodings

# In processes of their own: the shape checks of the other tests cannot be compiled, and where
# compiled code ends a process, that is to be seen.
START = """
import sys, torch
from course_utils.models import TinyTransformer

def gap(a, b):
    return float((a - b).detach().abs().max())

def model(name, **kind):
    torch.compiler.reset()
    torch.manual_seed(0)
    kind = {"d_model": 16, "n_layers": 1, "n_heads": 2} | kind
    return TinyTransformer(16, name, **kind).eval()

def compiled(made, backend):
    return torch.compile(made, backend=backend, fullgraph=True)

def ids(*shape):
    return torch.randint(16, shape)

def error(call, *given, **named):
    try:
        call(*given, **named)
    except Exception as raised:
        return raised
"""

CAPTURE = """
backend, gradients, n_layers, lengths, *names = sys.argv[1:]
torch.set_num_threads(1)
for name in names:
    made = model(name, n_layers=int(n_layers))
    parameters, graph = list(made.parameters()), torch.compile(
        made, backend=backend, fullgraph=True, dynamic=False
    )
    for length in map(int, lengths.split()):
        words = ids(2, length)
        with torch.set_grad_enabled(gradients == "gradients"):
            outs = [run(words) for run in (graph, made)]
        gaps = [gap(*outs)]
        if gradients == "gradients":
            both = [torch.autograd.grad(out.square().mean(), parameters) for out in outs]
            gaps += [gap(a, b) for a, b in zip(*both)]
        assert max(gaps) <= 1e-5, (name, length, gaps)
    print(name)
"""

EXPORT = """
kinds, *names = sys.argv[1:]
torch.set_num_threads(1)
batch = torch.export.Dim("batch", min=2, max=64)
length = torch.export.Dim("length", min=2, max=400)

def texts(count, masked, rows=2):
    words = ids(rows, count)
    seen = torch.ones(rows, count, dtype=torch.bool)
    seen[0, : count // 3], seen[1, count - count // 4 :] = False, False
    return ((words, None, None, False, seen) if masked else (words,)), seen

for name in names:
    for kind in kinds.split():
        masked, causal = kind == "padded", kind != "both-ways"
        if name in ("xpos", "cope") and not causal:
            continue
        made = model(name, causal=causal, max_len=300)
        varies = {0: batch, 1: length}
        shapes = (varies, None, None, None, varies) if masked else (varies,)
        with torch.no_grad():
            given = texts(10, masked)[0]
            program = torch.export.export(made, given, dynamic_shapes=shapes).module()
            for count, rows in ((2, 2), (5, 3), (127, 2), (128, 2), (129, 5), (300, 2)):
                given, seen = texts(count, masked, rows)
                out = program(*given)
                assert gap(out[seen], made(*given)[seen]) <= 1e-5, (name, kind, count)
                if masked and count > 2:  # each text alone, without its padding
                    for text in (0, 1):
                        alone = made(given[0][text, seen[text]][None])[0]
                        assert gap(out[text, seen[text]], alone) <= 1e-5, (name, count)
            if name == "learned" and not masked:
                assert "from 0 to 299" in str(error(program, *texts(301, masked)[0]))
    print(name)
"""

ANY_LENGTH = """
names = sys.argv[1:]
torch.set_num_threads(1)
for name in names:
    eager, graphs = model(name, max_len=300), []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph.forward

    anything = torch.compile(eager, backend=backend, fullgraph=True, dynamic=True)
    with torch.no_grad():
        for count in (5, 9, 127, 128, 129, 300):
            words = ids(2, count)
            assert gap(anything(words), eager(words)) <= 1e-5, (name, count)
    assert len(graphs) == 1, name
    print(name)
"""

DECODE = """
from torch._dynamo.utils import counters
backend, *names = sys.argv[1:]
torch.set_num_threads(1)
mask = torch.ones(2, 9, dtype=torch.bool)
mask[0, :3] = False
for name in names:
    for padded in (False, True):
        made, graphs = model(name), []
        step, words = compiled(made, backend), ids(2, 32)
        caches = [made.new_cache(32), made.new_cache(32)]
        with torch.no_grad():
            for cache in caches:
                made(words[:, :9], cache=cache, attention_mask=mask if padded else None)
            for one in words[:, 9:].split(1, dim=1):
                outs = [run(one, cache=cache) for run, cache in zip((step, made), caches)]
                assert gap(*outs) <= 1e-5, (name, padded)
                graphs.append(counters["stats"]["unique_graphs"])
            assert graphs[-1] == graphs[0], (name, padded, graphs)  # one for all steps
            before = [one.clone() for one in (caches[0][0].keys, caches[0][0].values)]
            refused = error(step, words[:, :1], cache=caches[0])
        assert "must have room for 1 more tokens, got 32" in str(refused), (name, refused)
        assert len(caches[0][0]) == 32
        assert all(map(torch.equal, before, (caches[0][0].keys, caches[0][0].values)))
    print(name)
"""

# With several threads PyTorch ends the process where a compiled kernel raises. Small models are
# left to one thread, so this one is larger.
OUTSIDE = """
torch.set_num_threads(2)
for name in sys.argv[1:]:
    made = model(name, d_model=128, max_len=300)
    with torch.no_grad():
        graph, words, row = compiled(made, "inductor"), ids(8, 256), torch.arange(256)
        assert gap(graph(words, row), made(words, row)) <= 1e-5
        wrong = [(words + 5, row, "tokens must be ids from 0 to 15")]
        wrong += [(words - 1, row, "tokens must be ids from 0 to 15")]
        if name in ("learned", "multiplicative"):
            wrong += [(words, row + shift, "positions must be from 0 to 299") for shift in (45, -1)]
        for *given, message in wrong:
            assert message in str(error(graph, *given)), (name, given)
            assert type(error(made, *given)) is ValueError, (name, given)
        if name == "cope":
            made.blocks[0].attention.W_q.weight[0, 0] = torch.nan
            assert "places must be numbers, got NaN" in str(error(graph, words, row))
    print(name)
"""

FULL = """
torch.set_num_threads(2)
with torch.no_grad():
    made, words = model("rope", d_model=256), ids(8, 344)
    cache, step = made.new_cache(300), compiled(made, "inductor")
    made(words[:, :256], cache=cache)
    step(words[:, 256:300], cache=cache)
    before = cache[0].keys.clone()
    refused = str(error(step, words[:, 300:], cache=cache))
assert "must have room for 44 more tokens, got 300" in refused, refused
assert len(cache[0]) == 300 and torch.equal(cache[0].keys, before)
"""


def run(script, *arguments, threads=1):
    # With ATEN_CPU_CAPABILITY set to "default" PyTorch 2.13 writes C++ that does not compile.
    settings = {k: v for k, v in os.environ.items() if k != "ATEN_CPU_CAPABILITY"}
    settings["OMP_NUM_THREADS"] = str(threads)
    command = [sys.executable, "-c", START + script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=settings)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.split()


# floater is left out: its integrator runs outside of the graph.
NAMES = [name for name in encodings.NAMES if name != "floater"]
KNOWN = ["sinusoidal", "rope", "alibi", "t5"]
READERS = ["multiplicative", "complex_order", "cope"]  # of tables, beside the learned positions
SHORT, PAST_A_BLOCK = "24", "130"


def inductor(test):
    compilers = any(map(shutil.which, ("g++", "c++", "clang++", "cl")))
    for mark in (
        pytest.mark.skipif(not compilers, reason="needs a C++ compiler"),
        pytest.mark.skipif(" " in torch.__file__, reason="torch cannot link in such a folder"),
    ):
        test = mark(test)
    return test


@pytest.mark.thorough
@pytest.mark.parametrize("lengths", [SHORT, PAST_A_BLOCK])
def test_every_model_but_floaters_is_captured_as_one_graph(lengths):
    assert run(CAPTURE, "eager", "no gradients", "1", lengths, *NAMES) == NAMES


@pytest.mark.thorough
def test_the_gradients_of_every_model_but_floaters_are_captured_too():
    assert run(CAPTURE, "aot_eager", "gradients", "2", f"{SHORT} {PAST_A_BLOCK}", *NAMES) == NAMES


@pytest.mark.thorough
@inductor
def test_the_default_compiler_builds_the_best_known():
    assert run(CAPTURE, "inductor", "no gradients", "2", SHORT, *KNOWN) == KNOWN


@pytest.mark.thorough
@pytest.mark.parametrize("names", [["learned"], ["rope", *READERS]])
@inductor
def test_the_default_compilers_code_raises_outside_of_a_table_and_ends_no_process(names):
    assert run(OUTSIDE, *names, threads=2) == names


def test_a_model_is_exported_for_any_length():
    assert run(EXPORT, "causal", "rope") == ["rope"]


@pytest.mark.thorough
def test_every_model_but_floaters_is_exported_for_any_batch_and_length_and_leaves_out_padding():
    assert run(EXPORT, "causal padded", *NAMES) == NAMES


@pytest.mark.thorough
def test_models_that_look_both_ways_are_exported_too():
    assert run(EXPORT, "both-ways", *NAMES) == NAMES


@pytest.mark.thorough
def test_one_graph_serves_every_length_where_lengths_are_said_to_vary():
    assert run(ANY_LENGTH, *NAMES) == NAMES


@pytest.mark.thorough
def test_one_graph_decodes_all_tokens_and_refuses_what_the_cache_has_no_room_for():
    assert run(DECODE, "eager", *NAMES) == NAMES


@pytest.mark.thorough
@inductor
def test_the_default_compiler_decodes_with_one_graph_too():
    assert run(DECODE, "inductor", "rope") == ["rope"]


@pytest.mark.thorough
@inductor
def test_the_default_compilers_code_writes_nothing_past_a_full_cache_and_ends_no_process():
    run(FULL, threads=2)
