"""The first cell of every lesson: what it loads, seeds, finds and prints."""

import random
import subprocess
import sys

import matplotlib
import numpy as np
import pytest
import torch
from matplotlib.text import Text

import course_utils
from course_lab import start
from course_lab.door_strip import door_strip, doors_in_attention
from course_utils import pick_device, plots, seed_everything
from course_utils.encodings.base import DOORS

HEAVY = {"torch._dynamo", "matplotlib", "seaborn", "pandas", "ipywidgets", "scipy"}


def three_numbers():
    return random.random(), np.random.rand(), torch.rand(1).item()


LOADS = f"""
import sys
import torch
from course_utils import encodings, measures, models

models.TinyTransformer(5, d_model=16, n_layers=1)(torch.zeros(1, 300).long())
print(*{HEAVY} & sys.modules.keys())
"""


def test_models_load_no_compiler_and_nothing_that_draws_or_reads_tables():
    command = [sys.executable, "-c", LOADS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


def test_the_package_says_its_version():
    assert course_utils.__version__.count(".") == 2


def test_the_same_seed_gives_the_same_random_numbers_everywhere():
    seed_everything(3)
    first = three_numbers()
    seed_everything(3)
    assert three_numbers() == first


def test_another_seed_gives_other_random_numbers_everywhere():
    seed_everything(3)
    first = three_numbers()
    seed_everything(4)
    assert all(a != b for a, b in zip(first, three_numbers(), strict=True))


@pytest.mark.parametrize(
    ("cuda", "mps", "picked"),
    [(True, True, "cuda"), (False, True, "mps"), (True, False, "cuda"), (False, False, "cpu")],
)
def test_auto_takes_cuda_then_mps_then_the_cpu(monkeypatch, cuda, mps, picked):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert pick_device("auto") == pick_device() == torch.device(picked)


def test_the_cpu_can_be_had_where_there_is_something_faster(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert pick_device("cpu") == torch.device("cpu")


def test_start_seeds_and_prints_what_it_chose(figures, capsys):
    seed_everything(7)
    expected = three_numbers()
    assert start(seed=7, device="cpu") == torch.device("cpu")
    assert three_numbers() == expected
    printed = capsys.readouterr().out
    for part in ("seed 7", "device cpu", f"torch {torch.__version__}"):
        assert part in printed


@pytest.mark.parametrize(("cores", "before", "after"), [(8, 6, 4), (8, 2, 2), (1, 1, 1)])
def test_start_leaves_half_of_the_cores_free(figures, monkeypatch, cores, before, after):
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    usual = torch.get_num_threads()
    torch.set_num_threads(before)
    start(device="cpu")
    threads = torch.get_num_threads()
    torch.set_num_threads(usual)
    assert threads == after


def test_starting_twice_changes_nothing(figures, capsys):
    start(device="cpu")
    once = (dict(matplotlib.rcParams), three_numbers(), capsys.readouterr().out)
    start(device="cpu")
    assert (dict(matplotlib.rcParams), three_numbers(), capsys.readouterr().out) == once


# The strip of doors


@pytest.mark.parametrize("doors", [(), *[(door,) for door in DOORS], DOORS])
def test_the_door_strip_says_which_doors_are_open(figures, doors):
    fig = door_strip(doors, title="of a lesson")
    fig.canvas.draw()
    texts = [text.get_text() for text in fig.findobj(Text)]
    assert "of a lesson" in texts
    for door in DOORS:
        assert (f"{door}()" in texts) == (door in doors), "a shut door has no word to use yet"
    assert fig.get_figheight() < 1, "a lesson's first question is what its first screen is for"


def test_the_door_strip_is_the_same_in_any_order_of_names(figures):
    strip = plots.png(door_strip(["bias", "embed"]))
    assert (strip == plots.png(door_strip(["embed", "bias"]))) is True


def test_each_door_stands_on_attentions_way_before_what_it_changes(figures):
    fig = doors_in_attention()
    fig.canvas.draw()
    across = {text.get_text(): text.get_position()[0] for text in fig.findobj(Text)}
    assert across["embed"] < min(across["q, k"], across["v"])
    assert across["q, k"] < across["rotate"] < across["scores"]
    assert across["scores"] < across["bias"] < across["softmax"]
    assert across["v"] < across["values"] < across["weight × v,\nsummed"]


@pytest.mark.parametrize(
    ("arguments", "description"),
    [
        ({"doors": []}, "The four doors embed, rotate, bias and values, all shut."),
        ({"doors": ["embed", "bias"]}, "The strip of four doors; open: embed, bias."),
        ({"doors": ["rotate"], "description": "Door 2 is open."}, "Door 2 is open."),
    ],
)
def test_start_shows_the_strip_with_its_description(figures, shown, arguments, description):
    start(device="cpu", title="Lesson 05", **arguments)
    assert shown[0]["text/plain"] == description
    assert shown[0]["image/png"] == plots.png(door_strip(arguments["doors"], "Lesson 05"))


def test_a_lesson_without_doors_has_no_strip(figures, shown):
    start(device="cpu")
    assert shown == []
