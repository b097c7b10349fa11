"""Every exercise's check: right answers pass, each known mistake gets its own diagnosis."""

import contextlib
import copy
import importlib
import math
import pkgutil
import sys
import time
from itertools import compress
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from course_lab import checks
from course_lab.checks import Check, Mistake, calls, lesson00, lesson01, lesson04, lesson06
from course_lab.checks.lesson03 import check_pieces
from course_lab.checks.lesson07 import check_long_enough, check_paired
from course_lab.checks.lesson08 import check_factors, check_ntk_factor
from course_lab.checks.rules import AtMost, NoLoops, Without
from course_utils import measures
from course_utils.encodings import Places, create
from course_utils.encodings.functional import alibi_slopes, t5_bucket

CHECKS = {
    f"{module.name}.{name}": found
    for module in pkgutil.iter_modules(checks.__path__)
    if module.name.startswith("lesson")
    for name, found in vars(importlib.import_module(f"course_lab.checks.{module.name}")).items()
    if isinstance(found, Check)
}
every_check = pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS.keys())


@every_check
def test_the_reference_is_right(check):
    assert str(check.verdict(check.reference)).endswith(f"right, in all {len(check.cases)} cases.")


@every_check
def test_a_known_mistake_gets_its_own_diagnosis(check):
    for mistake in check.mistakes:
        verdict = check.verdict(mistake.answer)
        assert (verdict.kind, mistake.name in verdict.text) == ("mistake", True), verdict.text
        assert mistake.question in verdict.text and "explains" not in verdict.text


@every_check
def test_there_are_at_least_six_known_mistakes(check):
    assert len({mistake.name for mistake in check.mistakes}) >= 6


@every_check
def test_an_untouched_stub_is_not_attempted_yet(check):
    def stub(*args):
        raise NotImplementedError

    assert check.verdict(stub).kind == "untouched"


NONSENSE = {
    "None": lambda *args: None,
    "KeyError": lambda *args: dict(args)["missing"],
    "nan": lambda *args: torch.tensor(torch.nan),
    "not given": None,
}
MORE_NONSENSE = {
    "string": lambda *args: "text",
    "empty": lambda *args: torch.zeros(0),
    "shape": lambda *args: torch.zeros(1, 2, 3, 4),
    "no argument": lambda: 1,
    "int": 3,
}


@every_check
@pytest.mark.parametrize(
    "answers", [NONSENSE, pytest.param(MORE_NONSENSE, marks=pytest.mark.thorough)]
)
def test_nonsense_is_explained_and_never_raises(check, answers):
    for name, answer in answers.items():
        verdict = check.verdict(answer)
        assert verdict.kind == "wrong", (name, verdict.text)
        assert check.name in verdict.text


@every_check
def test_there_are_three_different_hints(check, capsys):
    for number in (1, 2, 3, 4):
        check.hint(number)
    printed = capsys.readouterr().out.splitlines()
    assert len(set(printed)) == 4
    assert "hints 1, 2 and 3" in printed[3]


@every_check
def test_checking_does_not_change_the_cases(check):
    def vandal(*args):
        for value in args:
            if isinstance(value, torch.Tensor):
                value.zero_()
        return 0.0

    before = copy.deepcopy(check.cases)
    check.verdict(vandal)
    for was, now in zip(before, check.cases, strict=True):
        tensors = [isinstance(value, torch.Tensor) for value in was]
        for one, other in zip(compress(was, tensors), compress(now, tensors), strict=True):
            assert torch.equal(one, other)


# How an answer is compared


THREE = [(torch.tensor([1.0, 2.0, 3.0]),)]


def toy(reference, cases=THREE, mistakes=(), **options):
    return Check("toy", reference, cases, mistakes, hints=("a", "b", "c"), **options)


def test_a_wrong_shape_is_named_before_wrong_values():
    text = toy(lambda x: x).verdict(lambda x: x[:2] * 5).text
    assert "shape (3,)" in text and "(2,)" in text


def test_right_numbers_in_a_wrong_dtype_are_told_as_that():
    text = toy(lambda x: x > 1).verdict(lambda x: (x > 1).int()).text
    assert "numbers are right" in text and "torch.bool" in text and "torch.int32" in text


def test_wrong_numbers_in_a_wrong_dtype_show_both():
    text = toy(lambda x: x > 1).verdict(lambda x: x).text
    assert "torch.bool" in text and "yours[0] = 1, expected 0" in text


def test_the_first_differing_value_is_shown_with_as_many_digits_as_it_takes():
    text = toy(lambda x: x).verdict(lambda x: x + torch.tensor([0.0, 0.5, 0.0])).text
    assert "yours[1] = 2.5, expected 2" in text
    text = toy(lambda x: 4e4).verdict(lambda x: 4e4 + 5).text
    assert "expected 40000, got 40005" in text
    text = toy(lambda x: x).verdict(lambda x: x * 1.0005).text
    assert "yours[0] = 1.0005, expected 1" in text


def test_an_error_shows_its_message_and_the_learners_line():
    def mine(x):
        return x @ torch.ones(7)

    text = toy(lambda x: x).verdict(mine).text
    assert "RuntimeError" in text and "x @ torch.ones(7)" in text


def test_another_error_than_the_one_asked_for_says_which():
    def refuse(x):
        raise ValueError

    def stumble(x):
        raise IndexError("there")

    text = toy(refuse).verdict(stumble).text
    assert "IndexError: there" in text and "ValueError is asked for" in text
    assert "ValueError is asked for" in toy(refuse).verdict(lambda x: x).text


@pytest.mark.parametrize("kind", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_an_answer_may_be_as_exact_as_its_own_dtype(kind):
    check = toy(lambda x: (x / 7).exp())
    assert check.verdict(lambda x: (x / 7).exp().to(kind)).kind == "right"
    assert check.verdict(lambda x: (x / 4).exp().to(kind)).kind == "wrong"


def test_tolerances_go_by_the_size_of_the_number_and_leave_small_entries_their_say():
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


def test_a_forgotten_return_is_told():
    assert "Is a `return` missing?" in toy(lambda x: x).verdict(lambda x: None).text


def test_several_results_are_compared_one_by_one():
    check = toy(lambda x: (x, 2 * x))
    assert check.verdict(lambda x: (x, x + x)).kind == "right"
    assert "2 results" in check.verdict(lambda x: x).text
    assert "got 3" in check.verdict(lambda x: (x, x, x)).text
    text = check.verdict(lambda x: (x, x)).text
    assert "number 1" in text and "yours[0] = 1, expected 2" in text


def test_a_whole_number_must_be_one():
    check = toy(lambda x: 6)
    assert check.verdict(lambda x: torch.tensor(6)).kind == "right"
    text = check.verdict(lambda x: 6.0).text
    assert "right number as a float" in text and "whole number" in text


def test_large_whole_numbers_must_be_equal():
    check = toy(lambda x: 123_456)
    assert check.verdict(lambda x: 123_456).kind == "right"
    assert check.verdict(lambda x: 123_457).kind == "wrong"
    assert check.verdict(lambda x: 123_456.5).kind == "wrong"
    check = toy(lambda x: torch.tensor([123_456, 1]))
    assert check.verdict(lambda x: torch.tensor([123_456, 1])).kind == "right"
    assert check.verdict(lambda x: torch.tensor([123_457, 1])).kind == "wrong"


def test_true_is_no_number_and_1_is_not_true():
    assert toy(lambda x: True).verdict(lambda x: torch.tensor(True)).kind == "right"
    assert "expected True, got 1" in toy(lambda x: True).verdict(lambda x: 1).text
    assert "expected a number, got True" in toy(lambda x: 1).verdict(lambda x: True).text


def test_an_answer_that_calls_exit_is_explained():
    assert "exit" in toy(lambda x: x).verdict(lambda x: exit(1)).text


def test_a_number_too_large_for_a_float_is_explained():
    assert toy(lambda x: 1.0).verdict(lambda x: 10**400).kind == "wrong"


# What a call does besides


def solved_later(x):
    raise NotImplementedError("your turn")


def test_pytorchs_own_not_implemented_error_is_no_stub():
    text = toy(lambda x: x).verdict(lambda x: x.long().softmax(-1)).text
    assert "NotImplementedError" in text and "not implemented for" in text
    assert "not attempted" not in text
    assert "forward" in toy(lambda x: x).verdict(torch.nn.Module()).text


def test_an_error_that_is_returned_is_not_taken_for_one_that_came():
    assert "got str" in toy(lambda x: x).verdict(lambda x: NotImplementedError("mine")).text


def test_a_call_of_another_stub_names_it():
    verdict = toy(lambda x: x).verdict(lambda x: solved_later(x) + 1)
    assert verdict.kind == "blocked" and "calls solved_later, which is not solved" in verdict.text


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
    text = toy(lambda x: 2 * x).verdict(lambda x: x.mul_(3)).text
    assert "expected 2" in text and "argument x in place" in text
    grow = toy(lambda x: 0, [([1, 2],)]).verdict(lambda row: 0 * len(row.__iadd__([3])))
    assert "argument row in place" in grow.text


def test_random_answers_and_a_memory_from_call_to_call_are_told():
    calls_so_far = iter(range(9))
    luck = toy(lambda x: True).verdict(lambda x: next(calls_so_far) % 2 == 0)
    assert luck.kind == "wrong" and "two answers" in luck.text
    assert "random numbers" in toy(lambda x: x).verdict(lambda x: torch.rand(3)).text


@pytest.mark.parametrize("answer", [["a"], {"a": 1}, [1.0, torch.nan], [torch.ones(2)], "text"])
def test_an_answer_of_another_type_is_not_taken_for_a_random_one(answer):
    text = toy(lambda x: x).verdict(lambda x: answer).text
    assert "expected a torch tensor, got" in text


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


def test_code_that_swallows_the_stop_is_too_slow_all_the_same_and_nothing_comes_after():
    assert "longer than 0.1 seconds" in toy(lambda x: x, seconds=0.1).verdict(stubborn).text
    begin = time.perf_counter()
    while time.perf_counter() - begin < 1.2:  # a stop on its way would come in here
        pass


def test_a_deadline_that_passes_before_the_call_begins_leaves_nothing_behind():
    for _ in range(5):
        with pytest.raises(calls.OutOfTime):
            calls.within(0.0, lambda: sum(number for number in range(10**7)))
    begin = time.perf_counter()
    while time.perf_counter() - begin < 1.2:
        pass


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
        calls.within(60.0, lambda: 1)
    time.sleep(0.05)
    assert len(sys._current_frames()) <= before + 1


def busy_until(end):
    while time.perf_counter() < end:
        pass


def test_answers_that_come_at_the_deadline_leave_no_stop_and_no_thread_behind():
    before = len(sys._current_frames())
    for number in range(100):
        with contextlib.suppress(calls.OutOfTime):  # which of them are late is chance
            calls.within(0.01, busy_until, time.perf_counter() + 0.0002 * number)
    busy_until(time.perf_counter() + 1.2)
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
    assert "half of it. Half?" in text and "2 of the 3 answers" in text
    assert "half of it" not in doubled.verdict(lambda x: x / 2 if x[0] > 3 else x + 7).text


def test_a_mistake_that_would_spoil_more_than_it_explains_is_not_named():
    check = toy(lambda x: 2 * x, ROWS, [Mistake("squared", "Squared?", lambda x: x * x)])
    assert "squared" not in check.verdict(lambda x: x * x if x[0] == 4 else 2 * x).text
    assert "squared" in check.verdict(lambda x: 2 * x if x[0] == 4 else x * x).text


def test_a_mistake_is_recognised_by_its_shape():
    assert "one number. How many?" in doubled.verdict(lambda x: x.sum()).text


def test_a_mistake_is_recognised_in_another_dtype():
    mask = toy(lambda x: x > 2, ROWS, NAMED)
    assert "a mask of −inf" in mask.verdict(NAMED[2].answer).text
    small = toy(lambda x: x.long(), ROWS, [Mistake("one more", "More?", lambda x: x.long() + 1)])
    assert "one more" in small.verdict(lambda x: x + 1.0).text


def test_right_numbers_do_not_count_as_a_mistake_for_their_dtype():
    late = [Mistake("wrong at 6", "6?", lambda x: (x > 2) & (x != 6))]
    text = toy(lambda x: x > 2, ROWS, late).verdict(lambda x: (x > 2).float()).text
    assert "wrong at 6" not in text and "numbers are right" in text


def test_one_wrong_yes_is_not_taken_for_always_yes():
    always = [Mistake("always True", "Always?", lambda n: True)]
    check = toy(lambda n: n > 5, [(n,) for n in range(10)], always)
    assert check.verdict(lambda n: True).kind == "mistake"
    assert check.verdict(lambda n: n > 4).kind == "wrong"


def test_the_same_error_everywhere_is_shown_and_not_taken_for_a_mistake():
    breaks = [Mistake("odd ones break", "Odd?", lambda x: x[7] if x[0] == 1 else 2 * x)]
    check = toy(lambda x: 2 * x, ROWS, breaks)
    assert "odd ones break" in check.verdict(breaks[0].answer).text
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


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (lambda x: 2 * x, ""),
        (counted, "while place < len(x):"),
        (lambda x: torch.stack([2 * value for value in x]), "loop"),
        (lambda x: helper(x), "value * 2 for value in x"),
        (lambda x: torch.stack(list(map(torch.Tensor.double, x)))[:] * 2.0, "a large one"),
        (with_blocks_that_jump_back, ""),
        (lambda x: sum(factor * x for factor in (0.5, 1.5)), ""),
        (lambda x: recursive(x, len(x)), "x if n == 0 else"),
    ],
)
def test_loops_are_found_in_the_function_and_in_what_it_calls(answer, found):
    check = toy(lambda x: 2 * x, rules=[NoLoops((torch.ones(2),), (torch.ones(30),))])
    verdict = check.verdict(answer)
    assert (verdict.kind == "right") == (found == "") and found in verdict.text


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


def test_row_numbers_are_told_from_slices_and_masks():
    check = toy(lambda x: x[:2], rules=[Without(operations=("indexing",))])
    assert check.verdict(lambda x: x[x < 3]).kind == "right"
    assert check.verdict(lambda x: x[..., :2]).kind == "right"
    assert check.verdict(lambda x: x[torch.tensor([0, 1])]).kind == "rule"
    assert check.verdict(lambda x: x[[0, 1]]).kind == "rule"


def test_a_tensor_larger_than_allowed_is_measured():
    case = (torch.ones(10),)
    check = toy(lambda x: x.sum(), [case], rules=[AtMost(case, lambda x: 20)])
    assert check.verdict(lambda x: x.double().sum()).kind == "right"
    assert check.verdict(lambda x: x.expand(50, 10)[7].sum()).kind == "right"
    text = check.verdict(lambda x: (x[:, None] * x).sum() / 10).text
    assert "holds 100 numbers where 20 are enough" in text


def test_rules_are_for_right_answers():
    check = toy(lambda x: x.softmax(-1), rules=[Without(operations=("softmax",))])
    assert check.verdict(lambda x: x.softmax(-1) * 2).kind == "wrong"


# Wrong answers that once passed or were taken for something else


def shuffled(compare):
    """An answer that compares the right two things."""
    return lambda f, x, perm: bool(compare(f(x[perm]), f(x)[perm]))


def close(one, other):
    return torch.allclose(one, other, atol=1e-5)


def own_shuffle(f, x, perm):
    mine = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    return close(f(x[mine]), f(x)[mine])


def bucket(distance, n_buckets, e, after):
    far = (e + after.long()).clamp(max=n_buckets - 1)
    return torch.where(distance < e, distance, far)


def ratio(distance, e, r_max):
    return (distance.clamp(min=e) / e).log() / math.log(r_max / e)


def skewed_by_gather(rows):
    m, n = rows.shape
    column = torch.arange(n) + (m - 1 - torch.arange(m))[:, None]
    return rows.gather(1, column.clamp(max=n - 1)).tril(n - m)


def skewed_by_numpy(rows):
    m, n = rows.shape
    column = np.arange(n) + (m - 1 - np.arange(m))[:, None]
    found = rows.numpy()[np.arange(m)[:, None], column.clip(max=n - 1)]
    return torch.from_numpy(found).tril(n - m)


def skewed_by_one_hot(rows):
    m, n = rows.shape
    column = torch.arange(n) + (m - 1 - torch.arange(m))[:, None]
    wanted = F.one_hot(column.clamp(max=n - 1), n).float()
    return torch.einsum("ijk,ik->ij", wanted, rows).tril(n - m)


def skewed_by_a_loop(rows):
    m, n = rows.shape
    out = torch.zeros(m, n)
    for i in range(m):
        out[i, : n - m + 1 + i] = rows[i, m - 1 - i :]
    return out


def previous_without_attend(attend, x, start):
    """The order, read off what attend shows, and then rows picked by it."""
    nothing = torch.zeros(len(x), 1)
    place = (1 / attend(nothing, nothing, start[:, None]) - 1).round().long()[:, 0]
    return x[place.argsort()][(place - 1).clamp(min=0)]


def slopes_of_the_encoding(n):
    """Read off the bias of two neighbours in n heads."""
    q = torch.zeros(1, n, 2, 4)
    bias = create("alibi", d_model=4 * n, n_heads=n).bias(q, q, Places(torch.arange(2)))
    assert bias is not None
    return -bias[0, :, 0, 1]


def by_place(count):
    """An answer that looks for the word before by places of its own."""

    def answer(attend, x, start):
        p = count(start)
        q = 20 * torch.stack([2 * (p - 1), -torch.ones_like(p)], 1)
        return attend(q, torch.stack([p, p * p], 1), x)

    return answer


def previous_through_attend(attend, x, start):
    """The same, and then each row attends to itself."""
    found, one_hot = previous_without_attend(attend, x, start), torch.eye(len(x)) * 50
    return attend(one_hot, one_hot, found)


def whole_attention(q, k, v, slopes, q_pos, k_pos, causal, block):
    offsets = k_pos[None, :] - q_pos[:, None]
    scores = q @ k.mT / q.shape[-1] ** 0.5 - slopes[:, None, None] * offsets.abs()
    scores = scores.masked_fill(offsets > 0, -torch.inf) if causal else scores
    return scores.softmax(-1) @ v


def query_by_query(q, k, v, slopes, q_pos, k_pos, causal, block):
    ways = [slice(i, i + 1) for i in range(len(q_pos))]
    rest = (slopes, k_pos, causal, block)
    return torch.cat(
        [whole_attention(q[:, i], k, v, slopes, q_pos[i], *rest[1:]) for i in ways], dim=1
    )


def in_blocks(of_the_output):
    """The right answer, but for the factor by which its second sum shrinks."""

    def answer(q, k, v, slopes, q_pos, k_pos, causal, block):
        top, total, out = torch.full((*q.shape[:2], 1), -1e30), 0.0, 0.0
        for i in range(0, len(k_pos), block):
            some = slice(i, i + block)
            offsets = k_pos[some] - q_pos[:, None]
            scores = q @ k[:, some].mT / q.shape[-1] ** 0.5 - slopes[:, None, None] * abs(offsets)
            scores = scores.masked_fill((offsets > 0) & causal, -torch.inf)
            new = torch.maximum(top, scores.amax(-1, keepdim=True))
            shrink, weights = (top - new).exp(), (scores - new).exp()
            total = total * shrink + weights.sum(-1, keepdim=True)
            out, top = out * of_the_output(shrink) + weights @ v[:, some], new
        return out / total

    return answer


def overwriting(weights):
    return -weights.mul_(weights.clamp(min=1e-30).log()).sum(-1)


WRONG = [
    (
        "softmax along the first axis",
        lesson00.check_weights,
        lambda s: s.softmax(0),
        "along the wrong axis",
    ),
    ("softmax calls softmax", lesson00.check_weights, lambda s: s.softmax(-1), "yours to write"),
    (
        "entropy in bits, with nan",
        lesson01.check_entropy,
        lambda w: -(w * w.log2()).sum(-1),
        "bits, not nats",
    ),
    (
        "entropy summed over everything",
        lesson01.check_entropy,
        lambda w: -torch.xlogy(w, w).sum(),
        "one number for the whole",
    ),
    ("entropy from the library", lesson01.check_entropy, measures.entropy, "comes from entropy"),
    (
        "entropy that overwrites its input",
        lesson01.check_entropy,
        overwriting,
        "changes its argument weights in place",
    ),
    (
        "equivariance under a shuffle of its own",
        lesson01.check_is_equivariant,
        own_shuffle,
        "order that perm does not make",
    ),
    (
        "equivariance under a fixed roll",
        lesson01.check_is_equivariant,
        lambda f, x, perm: close(f(x.roll(1, 0)), f(x).roll(1, 0)),
        "order that perm does not make",
    ),
    (
        "equivariance that never shuffles x",
        lesson01.check_is_equivariant,
        lambda f, x, perm: close(f(x), f(x)[perm]),
        "never sees",
    ),
    (
        "equivariance of the first row only",
        lesson01.check_is_equivariant,
        shuffled(lambda a, b: close(a[0], b[0])),
        "not every row",
    ),
    (
        "equivariance of any row",
        lesson01.check_is_equivariant,
        shuffled(lambda a, b: (a - b).abs().amax(1).min() < 1e-5),
        "a single row that fits",
    ),
    (
        "equivariance of the norms",
        lesson01.check_is_equivariant,
        shuffled(lambda a, b: close(a.norm(dim=-1), b.norm(dim=-1))),
        "only the lengths",
    ),
    (
        "equivariance of the first feature",
        lesson01.check_is_equivariant,
        shuffled(lambda a, b: close(a[:, 0], b[:, 0])),
        "not every feature",
    ),
    (
        "equivariance by max without abs",
        lesson01.check_is_equivariant,
        shuffled(lambda a, b: (a - b).max() < 1e-4),
        "one sign",
    ),
    (
        "equivariance to within 1",
        lesson01.check_is_equivariant,
        shuffled(lambda a, b: torch.allclose(a, b, atol=1)),
        "far above rounding",
    ),
    (
        "equivariance to within 0.01",
        lesson01.check_is_equivariant,
        shuffled(lambda a, b: torch.allclose(a, b, atol=0.01)),
        "far above rounding",
    ),
    (
        "equivariance by luck",
        lesson01.check_is_equivariant,
        lambda f, x, perm: torch.rand(1).item() < 0.5,
        "two answers",
    ),
    (
        "equivariance, indexed by perm once more",
        lesson01.check_is_equivariant,
        lambda f, x, perm: close(f(x[perm])[perm], f(x)),
        "its inverse or once more",
    ),
    (
        "equivariance, indexed by argsort",
        lesson01.check_is_equivariant,
        lambda f, x, perm: close(f(x[perm]), f(x)[perm.argsort()]),
        "its inverse or once more",
    ),
    (
        "equivariance, always False",
        lesson01.check_is_equivariant,
        lambda f, x, perm: False,
        "False whatever",
    ),
    (
        "previous by storage",
        lesson01.check_previous,
        lambda attend, x, start: x.roll(1, 0),
        "stored before its own",
    ),
    (
        "previous without attend",
        lesson01.check_previous,
        previous_without_attend,
        "no call of attend gave them",
    ),
    (
        "pieces by one ceil",
        check_pieces,
        lambda n, w, o: math.ceil((n - o) / (w - o)),
        "shorter than the overlap",
    ),
    (
        "pieces by a loop",
        check_pieces,
        lambda n, w, o: len([s for s in range(0, max(n - o, 1), w - o)]),
        "there is a loop in it",
    ),
    (
        "pieces as 6.0",
        check_pieces,
        lambda n, w, o: 1 + np.ceil(max(n - w, 0) / (w - o)),
        "as a float",
    ),
    (
        "bucket rounded",
        lesson04.check_causal_bucket,
        lambda d, n, r: bucket(d, n, n // 2, (ratio(d, n // 2, r) * (n - n // 2)).round()),
        "rounded to the nearer",
    ),
    (
        "bucket without division by e",
        lesson04.check_causal_bucket,
        lambda d, n, r: bucket(
            d, n, n // 2, d.clamp(min=1).log() / math.log(r / (n // 2)) * (n - n // 2)
        ),
        "not of its ratio to e",
    ),
    (
        "bucket, B − e for e",
        lesson04.check_causal_bucket,
        lambda d, n, r: bucket(d, n, n - n // 2, ratio(d, n - n // 2, r) * (n // 2)),
        "e is rounded up",
    ),
    (
        "bucket from the library",
        lesson04.check_causal_bucket,
        lambda d, n, r: t5_bucket(-d, n, r, False),
        "comes from t5_bucket",
    ),
    ("skew by gather", lesson04.check_skew_new, skewed_by_gather, "comes from gather"),
    ("skew by a loop", lesson04.check_skew_new, skewed_by_a_loop, "for i in range(m):"),
    ("slopes from the library", lesson06.check_any_slopes, alibi_slopes, "comes from alibi_slopes"),
    (
        "slopes from the library, through the encoding",
        lesson06.check_any_slopes,
        slopes_of_the_encoding,
        "comes from alibi_slopes",
    ),
    (
        "blockwise with all scores",
        lesson06.check_blockwise,
        whole_attention,
        "its largest tensor holds",
    ),
    (
        "ntk factor of the slowest pair",
        check_ntk_factor,
        lambda d, base, trained, wanted: wanted / trained,
        "the slowest pair",
    ),
    (
        "ntk factor, whole division",
        check_ntk_factor,
        lambda d, base, trained, wanted: wanted // trained,
        "the slowest pair",
    ),
    ("factors by clamp", check_factors, lambda turns, s: turns.clamp(1, s), "nats at 64 bytes and"),
    (
        "factors for one model only",
        check_factors,
        lambda turns, s: torch.tensor([1.0] * 5 + [6.0] + [8.0] * 10),
        "each of 64 pairs",
    ),
    ("factors of zero", check_factors, lambda turns, s: torch.zeros_like(turns), "above 0"),
    (
        "equivariance, allclose of f(x) and its shuffle",
        lesson01.check_is_equivariant,
        lambda f, x, perm: close(f(x), f(x[perm])),
        "invariance",
    ),
    (
        "equivariance, always True",
        lesson01.check_is_equivariant,
        lambda f, x, perm: True,
        "True whatever",
    ),
    (
        "previous, places by arange",
        lesson01.check_previous,
        by_place(lambda start: torch.arange(len(start)) * 1.0),
        "counted in the order of storage",
    ),
    (
        "previous, places by cumsum",
        lesson01.check_previous,
        by_place(lambda start: start.cumsum(0)),
        "counted in the order of storage",
    ),
    (
        "previous, found outside and passed through attend",
        lesson01.check_previous,
        previous_through_attend,
        "no call of attend gave them",
    ),
    (
        "pieces, a list counted",
        check_pieces,
        lambda n, w, o: len(list(range(0, max(n - o, 1), w - o))),
        "MemoryError",
    ),
    (
        "bucket rounded up",
        lesson04.check_causal_bucket,
        lambda d, n, r: bucket(d, n, n // 2, (ratio(d, n // 2, r) * (n - n // 2)).ceil()),
        "rounded up",
    ),
    ("skew by NumPy's indices", lesson04.check_skew_new, skewed_by_numpy, "comes from numpy"),
    ("skew by a one-hot table", lesson04.check_skew_new, skewed_by_one_hot, "No index tables"),
    (
        "blockwise, queries one by one",
        lesson06.check_blockwise,
        query_by_query,
        "gets all 160 at once",
    ),
    (
        "blockwise, one sum not rescaled",
        lesson06.check_blockwise,
        in_blocks(lambda shrink: 1.0),
        "keeps another scale",
    ),
    (
        "ntk factor of a pair between two",
        check_ntk_factor,
        lambda d, b, n, m: (m / n) ** ((d - 2) / d * math.log(b, n / 2 / math.pi)),
        "between two pairs",
    ),
]


@pytest.mark.parametrize(
    ("check", "answer", "words"), [pytest.param(*row, id=name) for name, *row in WRONG]
)
def test_a_wrong_answer_fails_with_a_fitting_word(check, answer, words):
    verdict = check.verdict(answer)
    assert verdict.kind in ("mistake", "rule", "wrong") and words in verdict.text, verdict.text


# Right answers, written in other ways


def nice_entropy(weights):
    return torch.distributions.Categorical(probs=weights).entropy()


def from_inverse(f, x, perm):
    inverse = perm.argsort()
    return bool((f(x[inverse])[perm] - f(x)).abs().max() < 1e-4)


def rounded_places(attend, x, start):
    share = attend(torch.zeros(len(x), 3), torch.zeros(len(x), 3), start[:, None].double().float())
    p = (1 / share[:, 0] - 1).round()
    one = torch.ones_like(p)
    wanted = (p - 1).clamp(min=0)
    return attend(torch.stack([-(wanted**2), 2 * wanted, -one], 1) * 50,
                  torch.stack([one, p, p * p], 1), x)  # fmt: skip


def strided(rows):
    m, n = rows.shape
    wide = torch.cat([rows.new_zeros(m, 1), rows], 1)
    return torch.as_strided(wide, (m, n), (n, 1), m).tril(n - m)


def in_two_passes(q, k, v, slopes, q_pos, k_pos, causal, block):
    """Largest scores first, then the sums."""

    def scores(i):
        offsets = k_pos[i : i + block] - q_pos[:, None]
        found = torch.matmul(q, k[:, i : i + block].transpose(1, 2)) * q.shape[-1] ** -0.5
        found = found - slopes.view(-1, 1, 1) * abs(offsets)
        return found.masked_fill((offsets > 0) & causal, -torch.inf)

    starts = range(0, len(k_pos), block)
    top = torch.stack([scores(i).amax(-1) for i in starts]).amax(0)[..., None]
    weights = sum((scores(i) - top).exp().sum(-1, keepdim=True) for i in starts)
    return sum((scores(i) - top).exp() @ v[:, i : i + block] for i in starts) / weights


def factor_in_float32(d, base, trained, wanted):
    theta = base ** -(torch.arange(0, d, 2, dtype=torch.float32) / d)
    slow = (trained * theta < 2 * math.pi).nonzero()
    if not len(slow):
        return 1
    return torch.tensor(wanted / trained) ** ((d - 2) / (2 * slow[0, 0].float()))


def bucket_by_a_loop(distance, n_buckets, r_max):
    e = n_buckets // 2
    steps = [(n_buckets - e) * math.log(max(d, e) / e) / math.log(r_max / e)
             for d in distance.flatten().tolist()]  # fmt: skip
    far = torch.tensor([min(n_buckets - 1, e + int(step)) for step in steps])
    return torch.where(distance < e, distance, far.reshape(distance.shape))


def padded_on_the_right(rows):
    m, n = rows.shape
    line = F.pad(rows, (0, m - 1)).flatten()[m - 1 :]
    return F.pad(line, (0, m - 1))[: m * (n + m - 2)].reshape(m, -1)[:, :n] if m > 1 else rows


def by_gather(keys, table):
    n, k = len(keys), len(table) // 2
    place = torch.arange(n)
    row = (place[:, None] - place + k).clamp(0, 2 * k - 1)  # [j, i]: j − i + k
    return (keys @ table.T).gather(1, row).T


def by_logsumexp(q, k, v, slopes, q_pos, k_pos, causal, block):
    """Each block's own softmax, weighed by its share of all."""
    outs, sizes = [], []
    for i in range(0, len(k_pos), block):
        offsets = k_pos[i : i + block] - q_pos[:, None]
        scores = torch.einsum("hqd,hkd->hqk", q, k[:, i : i + block]) / math.sqrt(q.shape[-1])
        scores = scores - slopes[:, None, None] * offsets.abs()
        scores = torch.where((offsets > 0) & causal, -torch.inf, scores)
        sizes.append(scores.logsumexp(-1, keepdim=True))
        outs.append(scores.softmax(-1).nan_to_num() @ v[:, i : i + block])
    shares = torch.stack(sizes).softmax(0)
    return sum(share * out for share, out in zip(shares, outs, strict=True))


def by_bisection(d, base, trained, wanted):
    speeds = [base ** (-2 * m / d) for m in range(d // 2)]

    def enough(s):
        slowed = [speed * s ** (-2 * m / (d - 2)) for m, speed in enumerate(speeds)]
        return all(
            trained * speed >= 2 * math.pi or wanted * now <= trained * speed
            for speed, now in zip(speeds, slowed, strict=True)
        )

    low, high = 1.0, 1e9
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def by_one_hot(attend, x, start):
    nothing = torch.zeros(len(x), 1)
    place = (1 / attend(nothing, nothing, start[:, None]) - 1).round().long()[:, 0]
    wanted = F.one_hot((place - 1).clamp(min=0), 64).float()
    return attend(100 * wanted, F.one_hot(place, 64).float(), x)


RIGHT = [
    (lesson00.check_weights, lambda s: (s - s.logsumexp(-1, keepdim=True)).exp()),
    (lesson01.check_entropy, nice_entropy),
    (lesson01.check_entropy, lambda w: -(w * (w + 1e-12).log()).sum(-1)),
    (lesson01.check_is_equivariant, from_inverse),
    (
        lesson01.check_is_equivariant,
        lambda f, x, perm: torch.allclose(f(x)[perm], f(x[perm]), rtol=1e-3, atol=1e-6),
    ),
    (lesson01.check_previous, rounded_places),
    (check_pieces, lambda n, w, o: max(1, -(-(n - o) // (w - o)))),
    (lesson04.check_skew_new, strided),
    (lesson06.check_blockwise, in_two_passes),
    (check_long_enough, lambda losses, fewest: losses[:, fewest - 1 :].mean().item()),
    (
        check_paired,
        lambda a, b: (float((b - a).mean()), np.std((b - a).numpy(), ddof=1) / len(a) ** 0.5),
    ),
    (check_ntk_factor, factor_in_float32),
    (check_factors, lambda turns, s: torch.where(turns < 1, 0.75 * s, 1.0).where(
        (turns > 0.4) | (turns >= 1), torch.tensor(s))),
    (check_pieces, lambda n, w, o: len(range(0, max(n - o, 1), w - o))),
    (lesson04.check_causal_bucket, bucket_by_a_loop),
    (lesson04.check_skew_new, lambda rows: padded_on_the_right(rows)),
    (lesson04.check_position_to_content, by_gather),
    (lesson06.check_blockwise, in_blocks(lambda shrink: shrink)),
    (lesson06.check_blockwise, by_logsumexp),
    (check_ntk_factor, by_bisection),
    (lesson01.check_is_equivariant, lambda f, x, perm: np.allclose(
        f(x[perm]).numpy(), f(x).numpy()[perm.numpy()], atol=1e-5)),
    (lesson01.check_previous, by_one_hot),
]  # fmt: skip


@pytest.mark.parametrize(
    ("check", "answer"), RIGHT, ids=[f"{n} {row[0].name}" for n, row in enumerate(RIGHT)]
)
def test_a_right_answer_passes_however_it_is_written(check, answer):
    assert str(check.verdict(answer)).startswith(f"✓ {check.name}")
