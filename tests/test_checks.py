"""Every exercise's check: the right answer passes, each known mistake gets its own diagnosis."""

import copy
import importlib
import pkgutil

import pytest
import torch

from course_lab import checks
from course_lab.checks import Check
from course_lab.checks.calls import STUB

CHECKS = {
    f"{module.name}.{name}": value
    for module in pkgutil.iter_modules(checks.__path__)
    if module.name.startswith("lesson")
    for name, value in vars(importlib.import_module(f"course_lab.checks.{module.name}")).items()
    if isinstance(value, Check)
}
every_check = pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS.keys())


@every_check
def test_the_reference_is_right(check):
    assert f"right, in all {len(check.cases)} cases." in str(check.verdict(check.reference))


@every_check
def test_a_known_mistake_gets_its_own_diagnosis(check):
    for mistake in check.mistakes:
        for answer in mistake.answers:
            verdict = check.verdict(answer)
            assert (verdict.kind, mistake.name in verdict.text) == ("mistake", True), verdict.text
            assert mistake.question in verdict.text and "explains" not in verdict.text


@every_check
def test_there_are_at_least_six_known_mistakes(check):
    assert len({mistake.name for mistake in check.mistakes}) >= 6


@every_check
def test_an_untouched_stub_is_not_attempted_yet(check):
    def stub(*args):
        raise NotImplementedError(STUB)

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
        assert verdict.kind in ("wrong", "mistake"), (name, verdict.text)
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
    for case_before, case in zip(before, check.cases, strict=True):
        for value_before, value in zip(case_before, case, strict=True):
            if isinstance(value, torch.Tensor):
                assert torch.equal(value_before, value)
