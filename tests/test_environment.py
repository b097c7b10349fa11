"""The set-up tool, tools/environment.py, and the files that it reads."""

import ast
import json
import os
import re
import subprocess
import sys
import time
import tomllib
import venv
from pathlib import Path
from textwrap import indent
from types import SimpleNamespace

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from course_utils.pretrained import wheel_files

ROOT = Path(__file__).resolve().parent.parent
TOOL = ROOT / "tools" / "environment.py"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
NO_DEPS = "tests/requirements-no-deps.txt"
MODELS = "requirements-models.txt"
PROMISED = [
    "torch",
    "numpy",
    "matplotlib",
    "seaborn",
    "pandas",
    "jupyterlab",
    "nbval",
    "ipywidgets",
]

# Programs in place of pip and uv: they log their arguments, and do what a test passes.
INSTALLER = """
import os, pathlib, sys, time
name = pathlib.Path(__file__).stem
if sys.argv[1] == "config":
    sys.exit(print(os.environ.get("MIRROR", "")))
if sys.argv[1] == "--version":
    sys.exit(os.environ.get("NO_PIP"))
with open(os.environ["LOG"], "a") as log:
    print(name, *sys.argv[1:], file=log)
exec(os.environ.get(name + "_does", ""))
"""
# In place of the system's locks: a disk without any.
NO_LOCKS = """
try:
    import fcntl as locks
except ImportError:
    import msvcrt as locks
def refuse(*arguments):
    raise OSError(37, "No locks available")
locks.flock = locks.locking = refuse
"""
# In place of venv: a real environment, without the seconds that pip in it takes.
VENV = """
if __name__ == "__main__":
    import os, pathlib, sys
    with open(os.environ["LOG"], "a") as log:
        print("venv", file=log)
    here = pathlib.Path(__file__).parent
    sys.path = [path for path in sys.path if path and pathlib.Path(path) != here]
    import venv
    venv.create(sys.argv[1], symlinks=os.name != "nt")
"""


class Course:
    """A small project with the tool in it, run as make runs it."""

    def __init__(self, folder):
        self.folder = folder / "Ordner mit Ümlaut"
        self.fakes = folder / "fakes"
        self.venv = self.folder / ".venv"
        self.stamp = self.venv / "order-matters.json"
        self.python = self.venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        files = {
            self.folder / "tools" / TOOL.name: TOOL.read_text("utf-8"),
            self.folder / "pyproject.toml": "[project]\nname = 'x'\nversion = '1'\n",
            self.folder / "requirements.txt": "torch==0.0.0\n",
            self.folder / NO_DEPS: "alone==1.0\n",
            self.folder / MODELS: "model==1.0\n",
            self.fakes / "pip.py": INSTALLER,
            self.fakes / "uv.py": INSTALLER,
            self.fakes / "venv.py": VENV,
        }
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def start(self, *arguments, **settings):
        """Start the tool; the settings are environment variables."""
        environment = dict(os.environ)
        for name in ["PYTHON", "TORCH", "MODELS", "CONSTRAINTS"]:
            environment.pop(name, None)
        environment.update(PATH=str(self.fakes), PYTHONPATH=str(self.fakes))
        environment.update(LOG=str(self.fakes / "log"), PYTHONIOENCODING="utf-8", **settings)
        return subprocess.Popen(
            [sys.executable, str(self.folder / "tools/environment.py"), *arguments],
            env=environment,
            cwd=self.fakes,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )

    def call(self, *arguments, **settings):
        """Run the tool; return its status, its output and the log of venv, pip and uv."""
        process = self.start(*arguments, **settings)
        printed = process.communicate(timeout=100)[0]
        assert "Traceback" not in printed, printed
        log = self.fakes / "log"
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return SimpleNamespace(status=process.returncode, printed=printed, log=lines)


@pytest.fixture
def fresh(tmp_path):
    """A course as it is cloned."""
    return Course(tmp_path)


@pytest.fixture(scope="module")
def shared_course(tmp_path_factory):
    return Course(tmp_path_factory.mktemp("course"))


@pytest.fixture
def course(shared_course):
    """A course in which `make lab` has installed everything."""
    assert shared_course.call("lab").status == 0
    return shared_course


# ------------------------------------------------------------------------- what is installed when


def test_the_first_call_installs_and_the_second_installs_nothing(fresh):
    first, torch, uv, course = fresh.call("lab").log
    assert (first, torch.split()[0], uv.split()[0]) == ("venv", "pip", "pip")
    assert "--no-deps --retries=1 --extra-index-url" in torch
    assert torch.endswith("/whl/cpu -c requirements.txt torch")
    assert re.search(r" uv==[\d.]+$", uv)
    assert re.search(r"^uv pip install .*-c requirements\.txt -e \.\[lab\]$", course)
    assert "/whl/cpu" not in course
    again = fresh.call("lab")
    assert (again.status, again.printed, again.log) == (0, "", [])


def test_extras_add_up_and_changed_files_install_again(fresh):
    fresh.call("lab")
    course, alone = [line for line in fresh.call("test").log if line.startswith("uv")]
    assert course.endswith("-e .[lab,test]")
    assert alone.endswith(f"--no-deps -r {NO_DEPS}")
    assert fresh.call("lab").log == fresh.call("test", "lab").log == []
    for name in ["pyproject.toml", "requirements.txt", NO_DEPS]:
        with open(fresh.folder / name, "a", encoding="utf-8") as file:
            file.write("# changed\n")
        assert [line[:3] for line in fresh.call("lab").log] == ["pip", "pip", "uv ", "pip", "uv "]


def test_cuda_leaves_pytorchs_cpu_build_out_and_is_remembered(fresh):
    for answer in [fresh.call("lab", TORCH="cuda"), fresh.call("author")]:
        assert not [line for line in answer.log if line.endswith(" torch")]
    assert fresh.call("lab", TORCH="cpu").log[1].endswith(" torch")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("{", "", "interrupted"),
        ('"python": [', '"python": [2,', "gone"),
        ('"root": "', '"root": "/elsewhere', "another folder"),
        (None, None, "gone"),
    ],
    ids=["half a stamp", "other python", "moved", "no python"],
)
def test_a_venv_that_cannot_be_trusted_is_remade(course, old, new, reason):
    if old:
        course.stamp.write_text(course.stamp.read_text().replace(old, new))
    else:
        course.python.unlink()
    remade = course.call("lab")
    assert reason in remade.printed
    assert remade.log[0] == "venv"
    assert course.call("lab").log == []


def test_an_installation_that_was_killed_is_done_again_at_once(course):
    killed = course.call("author", pip_does="os.kill(os.getppid(), 9)")
    assert killed.status != 0
    again = course.call("lab")
    assert "interrupted" in again.printed and "Another make" not in again.printed
    assert again.status == 0 and "venv" in again.log


def test_a_venv_half_removed_keeps_its_stamp_so_that_make_still_knows_it(fresh):
    fresh.call("lab")
    stopping = "import shutil\nremove = shutil.rmtree\ndef stop(*what, **how):\n"
    stopping += "  remove(*what, **how)\n  raise KeyboardInterrupt\nshutil.rmtree = stop\n"
    (fresh.fakes / "sitecustomize.py").write_text(stopping)
    stopped = fresh.call("--clean")
    assert (stopped.status, fresh.stamp.exists()) == (1, True)
    (fresh.fakes / "sitecustomize.py").unlink()
    assert fresh.call("lab").status == 0


@pytest.mark.thorough
def test_a_second_make_waits_for_the_first(fresh):
    first = fresh.start("lab", pip_does="time.sleep(1.5)")
    while not fresh.stamp.exists() and first.poll() is None:
        time.sleep(0.02)
    second = fresh.call("lab")
    assert second.printed.startswith("Another make is at work on .venv."), second.printed
    assert second.status == first.wait() == 0
    first.stdout.close()
    assert len(second.log) == 4  # what the first did, and nothing more


def test_on_a_disk_without_locks_no_make_waits(fresh):
    (fresh.fakes / "sitecustomize.py").write_text(NO_LOCKS)
    answer = fresh.call("lab")
    assert answer.status == 0 and "Another make" not in answer.printed


def test_where_uv_fails_pip_takes_over(fresh):
    answer = fresh.call("test", uv_does="sys.exit('error: certificate')")
    assert answer.status == 0
    tried = [line.split(" -c ")[-1] for line in answer.log if " -e " in line]
    assert tried == ["requirements.txt -e .[test]"] * 2
    nowhere = "if sys.argv[-1].startswith('uv'): sys.exit('ERROR: No matching distribution')"
    assert fresh.call("author", pip_does=nowhere).status == 0


def test_uv_uses_pips_mirror(fresh):
    show = "print('index', os.environ['UV_DEFAULT_INDEX'])"
    answer = fresh.call("lab", uv_does=show, MIRROR="https://mirror")
    assert "index https://mirror" in answer.printed
    answer = fresh.call("test", uv_does=show, PIP_INDEX_URL="https://other")
    assert "index https://other" in answer.printed


def test_clean_removes_what_make_has_made_and_nothing_else(fresh):
    fresh.call("lab")
    caches = ["tests/__pycache__", "lessons/.ipynb_checkpoints"]
    for name in ["build", "dist", "site/build", "x.egg-info", *caches]:
        (fresh.folder / name).mkdir(parents=True)
    assert fresh.call("--clean").status == 0
    left = {path.name for path in fresh.folder.rglob("*")}
    assert left == {
        *("pyproject.toml", "requirements.txt", "requirements-no-deps.txt", MODELS),
        *("environment.py", "tests", "tools", "lessons", "site"),
    }


def test_the_command_runs_in_the_repository_and_its_status_comes_back(course):
    script = "import os, sys; print(os.getcwd(), sys.prefix, os.environ['PATH']); sys.exit(7)"
    answer = course.call("lab", "--", "-c", script)
    assert answer.status == 7
    assert answer.printed.startswith(f"{course.folder} {course.venv} {course.python.parent}")


# ------------------------------------------------------------------------- the published models


def installs_models(line):
    return line.endswith(f" --no-deps -r {MODELS}")


def test_models_are_installed_once_without_their_requirements(fresh):
    first = fresh.call("lab", "models")
    commands = [line for line in first.log if installs_models(line)]
    assert len(commands) == 1 and commands[0].startswith("pip install ")
    assert "--only-binary=:all:" in commands[0], "nothing is compiled"
    assert " -qq " in commands[0], "warnings are not shown"
    assert [line for line in first.log if line.endswith(" -e .[lab]")], "models is no extra"
    assert "MODELS=no" in first.printed
    again = fresh.call("lab", "models")
    assert (again.status, again.printed, again.log) == (0, "", [])


def test_models_can_be_left_out_and_the_next_make_installs_only_them(fresh):
    without = fresh.call("lab", "models", MODELS="no")
    assert without.status == 0 and "models" not in without.printed
    assert not any(map(installs_models, without.log))
    assert fresh.call("lab", "models", MODELS="no").log == fresh.call("lab").log == []
    later = fresh.call("lab", "models")
    assert len(later.log) == 1 and installs_models(later.log[0])
    assert fresh.call("lab", "models").log == fresh.call("lab", "models", MODELS="no").log == []


def test_models_and_course_are_each_installed_again_when_their_own_files_change(fresh):
    fresh.call("lab", "models")
    for name, alone in [(MODELS, True), ("requirements.txt", False)]:
        with open(fresh.folder / name, "a", encoding="utf-8") as file:
            file.write("# changed\n")
        log = fresh.call("lab", "models").log
        assert [installs_models(line) for line in log] == ([True] if alone else [False] * 3)


def test_where_models_cannot_be_had_the_course_is_installed_and_the_next_make_tries_again(fresh):
    script = ("--", "-c", "print('JupyterLab')")
    complaint = "ERROR: No matching distribution for model==1.0"
    failing = f"if {MODELS!r} in sys.argv: sys.exit({complaint!r})"
    for calls in ["course and models", "models alone"]:
        answer = fresh.call("lab", "models", *script, pip_does=failing)
        assert (answer.status, answer.printed.splitlines()[-1]) == (0, "JupyterLab")
        assert "No matching distribution for model" in answer.printed
        assert "The lessons work without them" in answer.printed
        installed = any(line.endswith(" -e .[lab]") for line in answer.log)
        assert installed == (calls == "course and models")
        assert len([line for line in answer.log if installs_models(line)]) == 1
    assert len(fresh.call("lab", "models").log) == 1
    assert fresh.call("lab", "models").log == []


def test_models_that_were_interrupted_leave_the_course_as_it_was(fresh):
    kill = f"if {MODELS!r} in sys.argv: os.kill(os.getppid(), 9)"
    assert fresh.call("lab", "models", pip_does=kill).status != 0
    assert fresh.call("lab").log == []
    assert len(fresh.call("lab", "models").log) == 1


# ------------------------------------------------------------------------- messages


RETRYING = "WARNING: Retrying (Retry(total=0)) after NewConnectionError: {}\n"


@pytest.mark.parametrize(
    ("complaint", "answer"),
    [
        (RETRYING.format("/simple/numpy/"), "No network"),
        (RETRYING.format("/whl/cpu/torch/"), "pip could not install"),
        ("ERROR: No matching distribution found for torch==2.13.0", "no fitting version"),
        ("ERROR: ResolutionImpossible: for help visit …", "no fitting version"),
        ("ERROR: [Errno 28] No space left on device", "pip could not install"),
    ],
    ids=["no network", "only PyTorch's index is away", "no version", "no solution", "disk full"],
)
def test_a_failure_of_pip_is_explained_and_not_taken_for_success(course, complaint, answer):
    failed = course.call("author", pip_does=f"sys.exit({complaint!r})")
    assert failed.status == 1
    assert (complaint.strip() in failed.printed) == ("/whl/cpu/" not in complaint)
    assert answer in failed.printed.splitlines()[-1]
    assert json.loads(course.stamp.read_text()) == {}


def test_a_venv_without_pip_gets_it_before_anything_is_installed(fresh):
    only_run = "if __name__ == '__main__':\n" + indent(INSTALLER, "  ")
    (fresh.fakes / "ensurepip.py").write_text(only_run)
    answer = fresh.call("lab", NO_PIP="No module named pip")
    assert answer.status == 0 and ".venv has no pip" in answer.printed
    assert answer.log[1] == "ensurepip --upgrade" and answer.log[2].endswith(" torch")
    assert fresh.call("lab", NO_PIP="No module named pip").log == []


@pytest.mark.parametrize(
    ("name", "value", "answer"),
    [
        ("TORCH", "rocm", "TORCH=cpu, TORCH=cuda"),
        ("MODELS", "none", "MODELS=yes, MODELS=no"),
        ("CONSTRAINTS", "gone.txt", "No such file"),
        ("PYTHON", "python9", "PYTHON=python9 is: no Python that runs"),
    ],
)
def test_a_wrong_setting_is_refused(fresh, name, value, answer):
    refused = fresh.call("lab", **{name: value})
    assert refused.status == 1
    assert value in refused.printed
    assert answer in refused.printed
    assert not fresh.venv.exists()


def test_a_folder_that_make_has_not_made_is_left_alone(fresh):
    fresh.venv.mkdir()
    (fresh.venv / "mine.txt").write_text("mine")
    refused = fresh.call("lab")
    assert refused.status == 1
    assert "Rename it" in refused.printed
    assert (fresh.venv / "mine.txt").read_text() == "mine"


def test_a_working_venv_made_by_hand_is_installed_into(fresh):
    venv.create(fresh.venv, symlinks=os.name != "nt")
    (fresh.venv / "mine.txt").write_text("mine")
    answer = fresh.call("lab")
    assert (answer.status, [line.split()[0] for line in answer.log]) == (0, ["pip", "pip", "uv"])
    assert (fresh.venv / "mine.txt").exists()
    assert fresh.call("lab").log == []


# ------------------------------------------------------------------------- which Python


@pytest.fixture
def chosen(monkeypatch):
    """The tool's choice on a machine with these Pythons: (name, version, whether it has venv)."""
    import environment as tool

    def choose(*pythons, setting=""):
        machine = {
            name: SimpleNamespace(version=version, complete=complete, title=f"{name} {version}")
            for name, version, complete in pythons
        }
        monkeypatch.setattr(tool, "probe", machine.get)
        try:
            return tool.choose(setting).title.split()[0]
        except SystemExit as problem:
            return str(problem)

    return choose


OLD, FIT, BARE, NEW = [3, 8, 18], [3, 12, 1], [3, 11, 2], [3, 15, 0]


def test_the_first_tested_python_is_chosen_else_a_newer_one(chosen):
    assert chosen(("python3", FIT, True), ("python3.13", [3, 13, 0], True)) == "python3"
    assert chosen(("python3", OLD, True), ("python3.12", FIT, True)) == "python3.12"
    assert chosen(("python3", BARE, False), ("python3.12", FIT, True)) == "python3.12"
    assert chosen(("python3", NEW, True), ("python3.12", FIT, True)) == "python3.12"
    assert chosen(("python3", NEW, True), ("python", OLD, True)) == "python3"
    assert chosen(("python3", FIT, True), ("mine", BARE, True), setting="mine") == "mine"


def test_a_python_that_is_too_old_or_lacks_venv_is_named_with_the_remedy(chosen):
    message = chosen(("python3", OLD, True), ("python", [3, 10, 13], False))
    assert "3.11 or newer. Found: python [3, 10, 13], python3 [3, 8, 18]" in message
    assert "make lab PYTHON=" in message
    assert "PYTHON=mine is: mine [3, 8, 18]" in chosen(("mine", OLD, True), setting="mine")
    assert "python3.11-venv" in chosen(("python3", BARE, False), ("python", OLD, True))
    assert "python3.11-venv" in chosen(("python3", FIT, True), ("x", BARE, False), setting="x")


def test_the_tool_has_nothing_that_an_old_python_cannot_read():
    tree = ast.parse(TOOL.read_text(encoding="utf-8"), feature_version=(3, 6))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    arguments = [node for node in ast.walk(tree) if isinstance(node, ast.arg)]
    annotations = [node.returns for node in functions] + [node.annotation for node in arguments]
    assert all(isinstance(node, ast.Name | ast.Constant) for node in annotations if node)


# ------------------------------------------------------------------------- the set-up files


def pins(name):
    """The exact versions in a file of pins; a name may have more than one, for other systems."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    requirements = [Requirement(line) for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"==[^*,]+", str(pin.specifier)) for pin in requirements)
    return requirements


def ranges(*extras):
    """The requirements of the course with these extras, and with the extras that those name."""
    requirements = [Requirement(line) for line in PROJECT["dependencies"]]
    for extra in extras:
        for requirement in map(Requirement, EXTRAS[extra]):
            if requirement.name == PROJECT["name"]:
                requirements += ranges(*requirement.extras)
            else:
                requirements.append(requirement)
    return requirements


@pytest.mark.parametrize("pin", pins(".github/colab.txt"), ids=lambda pin: pin.name)
def test_colabs_versions_are_within_the_ranges(pin):
    version = str(pin.specifier).removeprefix("==")
    matching = [requirement for requirement in ranges("course") if requirement.name == pin.name]
    assert matching, f"{pin.name} is no dependency of the lessons"
    assert matching[0].specifier.contains(version), f"{matching[0]} leaves out Colab's {version}"


@pytest.mark.parametrize(
    "requirement", sorted(set(ranges(*EXTRAS)), key=str), ids=lambda requirement: requirement.name
)
def test_every_requirement_is_pinned_within_its_range(requirement):
    name = canonicalize_name(requirement.name)
    matching = [pin for pin in pins("requirements.txt") if canonicalize_name(pin.name) == name]
    assert matching, f"{requirement.name} is not pinned"
    for pin in matching:
        assert requirement.specifier.contains(str(pin.specifier).removeprefix("=="))


@pytest.mark.parametrize("pin", pins(NO_DEPS), ids=lambda pin: pin.name)
def test_what_is_installed_without_its_requirements_stands_in_no_other_list(pin):
    """An extra or a pin would bring those requirements in."""
    assert pin.name not in {requirement.name for requirement in ranges(*EXTRAS)}
    assert pin.name not in {other.name for other in pins("requirements.txt")}


def test_models_are_installed_in_the_version_whose_files_the_course_knows():
    listed = {f"{pin.name}{pin.specifier}" for pin in pins(MODELS)}
    assert {package for package, _ in wheel_files.FILES.values()} <= listed
    assert {pin.name for pin in pins(MODELS)} >= set(wheel_files.READERS)


@pytest.mark.parametrize("pin", pins(MODELS), ids=lambda pin: pin.name)
def test_what_comes_with_the_models_and_is_pinned_elsewhere_has_one_version(pin):
    others = [other for other in pins("requirements.txt") if other.name == pin.name]
    assert all(other.specifier == pin.specifier for other in others)


def test_every_command_that_runs_lessons_or_tests_brings_the_models():
    assert re.search(r"^export .*\bMODELS\b", MAKEFILE, re.MULTILINE)
    commands = "lab test test-browser test-all rehearse notebooks experiments"
    for command in commands.split():
        recipe = re.search(rf"^{command}:\n\t\$\(IN_VENV\)(.*?) -- ", MAKEFILE, re.MULTILINE)
        assert recipe and recipe[1].split()[-1] == "models", command


def conda_names():
    """What environment.yml lists, each by its name on PyPI."""
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    names = {line.split()[0] for line in environment["dependencies"] if isinstance(line, str)}
    other_names = {"pytorch-cpu": "torch", "matplotlib-base": "matplotlib"}
    return {other_names.get(name, name) for name in names}


def test_conda_brings_all_that_the_course_needs():
    assert {requirement.name for requirement in ranges("lab")} <= conda_names()


def used_names():
    """Packages that the course imports, and modules that its commands run."""
    folders = (ROOT / name for name in ("course_utils", "course_lab", "lessons"))
    files = [path for folder in folders for path in folder.rglob("*.py")]
    texts = [path.read_text(encoding="utf-8") for path in (*files, ROOT / "conftest.py")]
    imports = re.findall(r"^ *(?:import|from) (\w+)", "\n".join(texts), re.MULTILINE)
    return {*imports, *re.findall(r" -m (\w+)", MAKEFILE)}


@pytest.mark.parametrize("package", PROMISED)
def test_a_promised_package_stands_in_every_list_and_is_used(package):
    assert package in {pin.name for pin in pins("requirements.txt")}
    assert package in {requirement.name for requirement in ranges(*EXTRAS)}
    assert package in conda_names()
    assert package in used_names()


def test_the_citation_agrees_with_the_project():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation.get("repository-code") == PROJECT["urls"].get("Repository")
    assert citation["version"] == PROJECT["version"]


def test_jupyter_keeps_its_token_and_stays_on_this_machine():
    assert "--ServerApp.ip=127.0.0.1" in MAKEFILE
    for weakening in ["token=", "password=", "disable_check_xsrf", "allow_origin", "0.0.0.0"]:
        assert weakening not in MAKEFILE
