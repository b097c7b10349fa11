"""Every exercise's check: right answers pass, each known mistake gets its own diagnosis."""

import importlib
import pkgutil

import pytest
import torch

from course_utils import checks
from course_utils.checks import Check

CHECKS = {
    f"{module.name}.{name}": found
    for module in pkgutil.iter_modules(checks.__path__)
    if module.name.startswith("lesson")
    for name, found in vars(importlib.import_module(f"course_utils.checks.{module.name}")).items()
    if isinstance(found, Check)
}
MISTAKES = [
    pytest.param(check, mistake, id=f"{name}: {mistake.name}")
    for name, check in CHECKS.items()
    for mistake in check.mistakes
]
every_check = pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS.keys())


@every_check
def test_the_reference_is_right(check):
    assert check.verdict(check.reference).kind == "right"


@pytest.mark.parametrize(("check", "mistake"), MISTAKES)
def test_a_known_mistake_gets_its_own_diagnosis(check, mistake):
    verdict = check.verdict(mistake.answer)
    assert verdict.kind == "mistake"
    assert mistake.name in verdict.text
    assert mistake.question in verdict.text


@every_check
def test_there_are_at_least_four_known_mistakes(check):
    assert len({mistake.name for mistake in check.mistakes}) >= 4


@every_check
def test_an_untouched_stub_is_not_attempted_yet(check):
    def stub(*args):
        raise NotImplementedError

    assert check.verdict(stub).kind == "untouched"


@every_check
@pytest.mark.parametrize(
    "answer",
    [
        lambda *args: None,
        lambda *args: "text",
        lambda *args: torch.zeros(0),
        lambda *args: torch.zeros(1, 2, 3, 4),
        lambda *args: dict(args)["missing"],
        lambda: 1,
        lambda *args: torch.tensor(torch.nan),
        3,
        None,
    ],
    ids=["None", "string", "empty", "shape", "KeyError", "no-argument", "nan", "int", "not-given"],
)
def test_nonsense_is_explained_and_never_raises(check, answer):
    verdict = check.verdict(answer)
    assert verdict.kind == "wrong"
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

    check.verdict(vandal)
    assert check.verdict(check.reference).kind == "right"


def toy(reference, **options):
    return Check(
        "toy", reference, cases=[(torch.tensor([1.0, 2.0, 3.0]),)], mistakes=[],
        hints=("a", "b", "c"), **options,
    )  # fmt: skip


def test_a_wrong_shape_is_named_before_wrong_values():
    text = toy(lambda x: x).verdict(lambda x: x[:2] * 5).text
    assert "shape (3,)" in text and "(2,)" in text


def test_a_wrong_dtype_is_named():
    assert "dtype" in toy(lambda x: x > 1).verdict(lambda x: (x > 1).int()).text


def test_the_first_differing_value_is_shown():
    text = toy(lambda x: x).verdict(lambda x: x + torch.tensor([0.0, 0.5, 0.0])).text
    assert "[1] = 2.5" in text and "expected 2" in text


def test_an_error_shows_its_message_and_the_learners_line():
    def mine(x):
        return x @ torch.ones(7)

    text = toy(lambda x: x).verdict(mine).text
    assert "RuntimeError" in text and "x @ torch.ones(7)" in text


def test_float64_answers_count_as_right():
    assert toy(lambda x: x).verdict(lambda x: x.double()).kind == "right"


def test_complex_answers_are_compared_whole():
    check = toy(lambda x: x * 1j)
    assert check.verdict(lambda x: x * -1j).kind == "wrong"
    assert check.verdict(lambda x: x * 1j).kind == "right"


def test_several_results_are_compared_one_by_one():
    check = toy(lambda x: (x, 2 * x))
    assert check.verdict(lambda x: (x, x + x)).kind == "right"
    assert "2 results" in check.verdict(lambda x: x).text
    assert "got 3" in check.verdict(lambda x: (x, x, x)).text
    text = check.verdict(lambda x: (x, x)).text
    assert "number 1" in text and "yours[0] = 1, expected 2" in text


def test_an_answer_that_calls_exit_is_explained():
    assert "exit" in toy(lambda x: x).verdict(lambda x: exit(1)).text


def test_a_number_too_large_for_a_float_is_explained():
    assert toy(lambda x: 1.0).verdict(lambda x: 10**400).kind == "wrong"
