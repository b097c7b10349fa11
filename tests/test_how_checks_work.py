"""How a check works: comparison, one call, known mistakes, rules."""

import contextlib
import sys
import time
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from course_lab.checks import Check, Mistake, calls
from course_lab.checks.calls import STUB
from course_lab.checks.rules import LargestTensor, NoLoops, Without
from course_utils.encodings.functional import alibi_slopes

# How an answer is compared


THREE = [(torch.tensor([1.0, 2.0, 3.0]),)]


def toy(reference, cases=THREE, mistakes=(), **options):
    return Check("toy", reference, cases, mistakes, hints=("a", "b", "c"), **options)


def unsolved(x):
    raise NotImplementedError(STUB)


def in_a_line_of_its_own(x):
    return x @ torch.ones(7)


def refuse(x):
    raise ValueError


def stumble(x):
    raise IndexError("there")


SAME = toy(lambda x: x)
LARGE = toy(lambda x: x > 1)
DOUBLED = toy(lambda x: 2 * x)
PAIR = toy(lambda x: (x, 2 * x))
EXPLAINED = {
    "a wrong shape before wrong values": (SAME, lambda x: x[:2] * 5, ["shape (3,)", "(2,)"]),
    "right numbers in a wrong dtype": (
        LARGE,
        lambda x: (x > 1).int(),
        ["numbers are right", "torch.bool", "torch.int32"],
    ),
    "wrong numbers in a wrong dtype": (
        LARGE,
        lambda x: x,
        ["torch.bool", "yours[0] = 1, expected 0"],
    ),
    "the first differing value": (
        SAME,
        lambda x: x + torch.tensor([0.0, 0.5, 0.0]),
        ["yours[1] = 2.5, expected 2"],
    ),
    "a large number": (toy(lambda x: 4e4), lambda x: 4e4 + 5, ["expected 40000, got 40005"]),
    "as many digits as it takes": (SAME, lambda x: x * 1.0005, ["yours[0] = 1.0005, expected 1"]),
    "an error with its line": (SAME, in_a_line_of_its_own, ["RuntimeError", "x @ torch.ones(7)"]),
    "another error than the expected": (
        toy(refuse),
        stumble,
        ["expected ValueError, but your function raised IndexError: there"],
    ),
    "no error": (
        toy(refuse),
        lambda x: x,
        ["expected ValueError, but your function raised no error"],
    ),
    "a forgotten return": (SAME, lambda x: None, ["Is a `return` missing?"]),
    "one result for two": (PAIR, lambda x: x, ["2 results"]),
    "three results for two": (PAIR, lambda x: (x, x, x), ["got 3"]),
    "the second result": (PAIR, lambda x: (x, x), ["result 2 of 2", "yours[0] = 1, expected 2"]),
    "a float for a whole number": (
        toy(lambda x: 6),
        lambda x: 6.0,
        ["right number as a float", "whole number"],
    ),
    "1 for True": (toy(lambda x: True), lambda x: 1, ["expected True, got 1"]),
    "True for 1": (toy(lambda x: 1), lambda x: True, ["expected a number, got True"]),
    "a call of exit": (SAME, lambda x: exit(1), ["exit"]),
    "a number too large for a float": (toy(lambda x: 1.0), lambda x: 10**400, ["expected 1"]),
    "an error of PyTorch's that a stub has too": (
        SAME,
        lambda x: x.long().softmax(-1),
        ["NotImplementedError", "not implemented for"],
    ),
    "a module without forward": (SAME, torch.nn.Module(), ["forward"]),
    "an error that is returned": (SAME, lambda x: NotImplementedError("mine"), ["got str"]),
    "a list of text": (SAME, lambda x: ["a"], ["expected a torch tensor, got"]),
    "a dict": (SAME, lambda x: {"a": 1}, ["expected a torch tensor, got"]),
    "a list with a nan": (SAME, lambda x: [1.0, torch.nan], ["expected a torch tensor, got"]),
    "a list of tensors": (SAME, lambda x: [torch.ones(2)], ["expected a torch tensor, got"]),
    "a text": (SAME, lambda x: "text", ["expected a torch tensor, got"]),
    "random numbers": (SAME, lambda x: torch.rand(3), ["two different answers", "random numbers"]),
    "a wrong answer that changes its argument": (
        DOUBLED,
        lambda x: x.mul_(3),
        ["expected 2", "argument x in place"],
    ),
}


@pytest.mark.parametrize(("check", "answer", "parts"), EXPLAINED.values(), ids=EXPLAINED)
def test_a_wrong_answer_is_explained(check, answer, parts):
    verdict = check.verdict(answer)
    assert verdict.kind == "wrong" and "not attempted" not in verdict.text
    assert [part for part in parts if part not in verdict.text] == []


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_an_answer_may_be_as_exact_as_its_own_dtype(dtype):
    check = toy(lambda x: (x / 7).exp())
    assert check.verdict(lambda x: (x / 7).exp().to(dtype)).kind == "right"
    assert check.verdict(lambda x: (x / 4).exp().to(dtype)).kind == "wrong"


def test_tolerances_go_by_the_size_of_the_number_and_small_entries_count_too():
    check = toy(lambda x: 41829.4321)
    assert check.verdict(lambda x: torch.tensor(41829.43, dtype=torch.float32)).kind == "right"
    assert check.verdict(lambda x: np.float32(41829.43)).kind == "right"
    assert check.verdict(lambda x: 41850.0).kind == "wrong"
    check = toy(lambda x: torch.tensor([1000.0, 1.0, 1e-3]))
    assert check.verdict(lambda x: torch.tensor([1000.05, 1.0, 1e-3])).kind == "right"
    assert check.verdict(lambda x: torch.tensor([1000.0, 1.1, 1e-3])).kind == "wrong"


def test_complex_answers_are_compared_whole():
    check = toy(lambda x: x * 1j)
    assert check.verdict(lambda x: x * -1j).kind == "wrong"
    assert check.verdict(lambda x: x * 1j).kind == "right"


def test_several_results_a_whole_number_and_true_may_be_right():
    assert PAIR.verdict(lambda x: (x, x + x)).kind == "right"
    assert toy(lambda x: 6).verdict(lambda x: torch.tensor(6)).kind == "right"
    assert toy(lambda x: True).verdict(lambda x: torch.tensor(True)).kind == "right"


def test_large_whole_numbers_must_be_equal():
    check = toy(lambda x: 123_456)
    assert check.verdict(lambda x: 123_456).kind == "right"
    assert check.verdict(lambda x: 123_457).kind == "wrong"
    assert check.verdict(lambda x: 123_456.5).kind == "wrong"
    check = toy(lambda x: torch.tensor([123_456, 1]))
    assert check.verdict(lambda x: torch.tensor([123_456, 1])).kind == "right"
    assert check.verdict(lambda x: torch.tensor([123_457, 1])).kind == "wrong"


# What a call does besides


def test_a_call_of_another_stub_names_it():
    verdict = toy(lambda x: x).verdict(lambda x: unsolved(x) + 1)
    assert verdict.kind == "blocked" and "calls unsolved, which is not solved" in verdict.text


def test_a_half_solved_stub_is_attempted():
    def half(x):
        if len(x) > 1:
            raise NotImplementedError("later")
        return x

    verdict = toy(lambda x: x, [(torch.ones(1),), (torch.ones(2),)]).verdict(half)
    assert verdict.kind == "wrong" and "NotImplementedError: later" in verdict.text


def test_arguments_that_are_changed_in_place_are_named():
    verdict = toy(lambda x: 2 * x).verdict(lambda x: x.mul_(2))
    assert verdict.kind == "rule" and "argument x in place" in verdict.text
    text = toy(lambda x: 0, [([1, 2],)]).verdict(lambda row: 0 * len(row.__iadd__([3]))).text
    assert "argument row in place" in text


@pytest.mark.parametrize(
    "change", [lambda layer: layer.double(), lambda layer: layer.weight.mul_(2), nn.Module.eval]
)
def test_a_layer_that_is_changed_in_place_is_named(change):
    def answer(layer):
        with torch.no_grad():
            change(layer)
        return 0

    verdict = toy(lambda layer: 0, [(nn.Linear(2, 2),)]).verdict(answer)
    assert verdict.kind == "rule" and "argument layer in place" in verdict.text


def test_a_memory_from_call_to_call_is_reported():
    calls_so_far = iter(range(9))
    verdict = toy(lambda x: True).verdict(lambda x: next(calls_so_far) % 2 == 0)
    assert verdict.kind == "wrong" and "two different answers" in verdict.text


def test_what_an_answer_prints_is_printed_once(capsys):
    rules = [NoLoops(THREE[0], THREE[0]), Without((alibi_slopes,))]
    assert toy(lambda x: x, rules=rules).verdict(lambda x: print("here") or x).kind == "right"
    assert capsys.readouterr().out == "here\n"


def endless(x):
    while True:
        x = x + 0


def stubborn(x):
    while True:
        try:
            endless(x)
        except:  # noqa: E722
            return x


def test_an_endless_loop_is_stopped_and_its_line_named():
    begin = time.perf_counter()
    text = toy(lambda x: x, seconds=0.1).verdict(endless).text
    assert "longer than 0.1 seconds" in text and "never ends" in text
    assert "x = x + 0" in text or "while True" in text
    assert time.perf_counter() - begin < 5


@pytest.fixture
def impatient(monkeypatch):
    """A time limit that stops stubborn code again after a tenth of a second."""
    monkeypatch.setattr(calls, "PATIENCE", 0.1)


def busy_until(end):
    while time.perf_counter() < end:
        pass


def wait_for_a_stop():
    """A stop that is still on its way would come in here."""
    busy_until(time.perf_counter() + 2 * calls.PATIENCE)


def test_code_that_swallows_the_stop_is_too_slow_all_the_same_and_nothing_comes_after(impatient):
    assert "longer than 0.1 seconds" in toy(lambda x: x, seconds=0.1).verdict(stubborn).text
    wait_for_a_stop()


def test_a_deadline_that_passes_before_the_call_begins_leaves_nothing_behind(impatient):
    for _ in range(5):
        with pytest.raises(calls.OutOfTime):
            calls.call_within(0.0, lambda: sum(number for number in range(10**7)))
    wait_for_a_stop()


def test_a_debugger_at_its_prompt_is_not_stopped():
    pdb: dict[str, Any] = {"__name__": "pdb"}
    exec("def prompt(wait):\n    while wait(): pass", pdb)
    end = time.perf_counter() + 0.5

    def debugged(x):
        pdb["prompt"](lambda: time.perf_counter() < end)
        return x

    assert toy(lambda x: x, seconds=0.1).verdict(debugged).kind == "right"


def test_the_time_limit_leaves_no_thread_behind():
    before = len(sys._current_frames())
    for _ in range(20):
        calls.call_within(60.0, lambda: 1)
    time.sleep(0.05)
    assert len(sys._current_frames()) <= before + 1


def test_answers_that_come_at_the_deadline_leave_no_stop_and_no_thread_behind(impatient):
    before = len(sys._current_frames())
    for number in range(100):
        with contextlib.suppress(calls.OutOfTime):  # which of them are late is chance
            calls.call_within(0.01, busy_until, time.perf_counter() + 0.0002 * number)
    wait_for_a_stop()
    assert len(sys._current_frames()) <= before + 1


# Which mistake explains wrong answers best

ROWS = [(torch.tensor([4.0, 2.0]),), (torch.tensor([1.0, 0.0]),), (torch.tensor([3.0, 6.0]),)]
NAMED = [
    Mistake("half of it", "Half?", lambda x: x / 2),
    Mistake("one number", "How many?", lambda x: x.mean()),
    Mistake("a mask of −inf", "A mask?", lambda x: torch.where(x > 2, -torch.inf, 0.0)),
]
doubled = toy(lambda x: 2 * x, ROWS, NAMED)


def test_a_mistake_is_recognised_by_most_of_the_wrong_answers():
    text = doubled.verdict(lambda x: x / 2 if x[1] else x * torch.nan).text
    assert "half of it. Half?" in text and "2 of the 3 wrong answers" in text
    assert "half of it" not in doubled.verdict(lambda x: x / 2 if x[0] > 3 else x + 7).text


def test_a_mistake_that_would_spoil_more_than_it_explains_is_not_named():
    check = toy(lambda x: 2 * x, ROWS, [Mistake("squared", "Squared?", lambda x: x * x)])
    assert "squared" not in check.verdict(lambda x: x * x if x[0] == 4 else 2 * x).text
    assert "squared" in check.verdict(lambda x: 2 * x if x[0] == 4 else x * x).text


def test_a_mistake_is_recognised_by_its_shape():
    assert "one number. How many?" in doubled.verdict(lambda x: x.sum()).text


def test_a_mistake_is_recognised_in_another_dtype():
    mask = toy(lambda x: x > 2, ROWS, NAMED)
    assert "a mask of −inf" in mask.verdict(NAMED[2].answers[0]).text
    small = toy(lambda x: x.long(), ROWS, [Mistake("one more", "More?", lambda x: x.long() + 1)])
    assert "one more" in small.verdict(lambda x: x + 1.0).text


def test_right_numbers_do_not_count_as_a_mistake_for_their_dtype():
    at_6 = [Mistake("wrong at 6", "6?", lambda x: (x > 2) & (x != 6))]
    text = toy(lambda x: x > 2, ROWS, at_6).verdict(lambda x: (x > 2).float()).text
    assert "wrong at 6" not in text and "numbers are right" in text


def test_one_wrong_yes_is_not_taken_for_always_yes():
    always = [Mistake("always True", "Always?", lambda n: True)]
    check = toy(lambda n: n > 5, [(n,) for n in range(10)], always)
    assert check.verdict(lambda n: True).kind == "mistake"
    assert check.verdict(lambda n: n > 4).kind == "wrong"


def test_the_same_error_everywhere_is_shown_and_not_taken_for_a_mistake():
    breaks = [Mistake("odd ones break", "Odd?", lambda x: x[7] if x[0] == 1 else 2 * x)]
    check = toy(lambda x: 2 * x, ROWS, breaks)
    assert "odd ones break" in check.verdict(breaks[0].answers[0]).text
    assert "IndexError" in check.verdict(lambda x: x[9]).text


# Rules


def helper(x):
    return torch.stack([value * 2 for value in x])


def counted(x):
    place, out = 0, []
    while place < len(x):
        out.append(2 * x[place])
        place += 1
    return torch.stack(out)


def with_blocks_that_jump_back(x):
    """Python 3.12 compiles ``except`` and ``with`` to jumps backwards, as a loop's."""
    with torch.no_grad():
        try:
            return 2 * x.reshape(-1, 0, 1)
        except RuntimeError:
            y = 2 * x
    return y


def recursive(x, n):
    return 2 * x if n == 0 else recursive(x, n - 1)


def by_a_branch(x):
    if len(x) > 9:
        half = x[:1] * 0.0
        return x + x + half
    whole = x[:1] * 0.0
    return x + x + whole


def by_a_loop_in_text(x):
    return eval("lambda x: torch.stack(list(map(lambda value: 2 * value, x)))")(x)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda x: 2 * x, ""),
        (counted, "while place < len(x):"),
        (lambda x: torch.stack([2 * value for value in x]), "loop"),
        (lambda x: helper(x), "value * 2 for value in x"),
        (lambda x: torch.stack(list(map(torch.Tensor.double, x)))[:] * 2.0, "a large one"),
        (with_blocks_that_jump_back, ""),
        (lambda x: sum(factor * x for factor in (0.5, 1.5)), ""),
        (lambda x: recursive(x, len(x)), "x if n == 0 else"),
        (by_a_branch, ""),
        (by_a_loop_in_text, "runs some lines more often"),
    ],
)
def test_loops_are_found_in_the_function_and_in_what_it_calls(answer, words):
    check = toy(lambda x: 2 * x, rules=[NoLoops((torch.ones(2),), (torch.ones(30),))])
    verdict = check.verdict(answer)
    assert (verdict.kind == "right") == (words == "") and words in verdict.text


def test_a_forbidden_function_is_found_by_any_name_and_through_others():
    rule = Without((alibi_slopes,), why="Write it.")
    check = toy(lambda n: 2.0 ** -torch.arange(1.0, 9.0), [(8,)], rules=[rule])
    renamed = alibi_slopes
    for answer in (lambda n: renamed(n), lambda n: create_slopes(n)):
        verdict = check.verdict(answer)
        assert verdict.kind == "rule" and "comes from alibi_slopes. Write it." in verdict.text


def create_slopes(n):
    return alibi_slopes(n) * 1.0


def test_a_forbidden_operation_is_found_as_function_method_and_module():
    check = toy(lambda x: x.exp() / x.exp().sum(), rules=[Without(operations=("softmax",))])
    for answer in (
        lambda x: x.softmax(-1),
        lambda x: F.softmax(x, dim=-1),
        lambda x: torch.nn.Softmax(-1)(x),
    ):
        assert "comes from softmax" in check.verdict(answer).text


def test_row_numbers_are_distinguished_from_slices_and_masks():
    check = toy(lambda x: x[:2], rules=[Without(operations=("indexing",))])
    assert check.verdict(lambda x: x[x < 3]).kind == "right"
    assert check.verdict(lambda x: x[..., :2]).kind == "right"
    assert check.verdict(lambda x: x[torch.tensor([0, 1])]).kind == "rule"
    assert check.verdict(lambda x: x[[0, 1]]).kind == "rule"


def test_a_tensor_larger_than_allowed_is_measured():
    case = (torch.ones(10),)
    check = toy(lambda x: x.sum(), [case], rules=[LargestTensor(case, lambda x: 20)])
    assert check.verdict(lambda x: x.double().sum()).kind == "right"
    assert check.verdict(lambda x: x.expand(50, 10)[7].sum()).kind == "right"
    text = check.verdict(lambda x: (x[:, None] * x).sum() / 10).text
    assert "holds 100 numbers where 20 are enough" in text


def test_rules_are_for_right_answers():
    check = toy(lambda x: x.softmax(-1), rules=[Without(operations=("softmax",))])
    assert check.verdict(lambda x: x.softmax(-1) * 2).kind == "wrong"
