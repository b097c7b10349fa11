"""The course as pip gets it: the engineer's wheel, and the whole course's for first cells."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
from browser import write_notebook
from build_colab import build_wheel, settings
from notebook_source import Project, read_project, setup_source
from packaging.requirements import Requirement
from test_environment import PROJECT as SETTINGS
from test_environment import pins
from try_colab import entries_of

ROOT = Path(__file__).resolve().parents[1]
PROJECT = read_project(ROOT)
BUILT = ["pyproject.toml", "README.md", "LICENSE", "LICENSE-text", "course_utils"]
LARGEST_WHEEL, LARGEST_COURSE = 500_000, 25_000_000  # bytes

pytestmark = pytest.mark.skipif(os.name == "nt", reason="makes symbolic links")


def copied(names: list[str], folder: Path) -> Path:
    """A folder with these files and folders of the repository, without anything that was built."""
    folder.mkdir()
    for name in names:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, folder)
    return folder


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """The wheel and the source archive, built from a whole clone."""
    folder = tmp_path_factory.mktemp("archives")
    clone = copied([*BUILT, "course_lab", "data", "course_experiments"], folder / "clone")
    script = "import sys; from setuptools import build_meta as b; to = sys.argv[1]; "
    script += "b.build_sdist(to); b.build_wheel(to)"
    subprocess.run([sys.executable, "-c", script, folder], cwd=clone, check=True)
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


def required(names: list[str]) -> set[str]:
    """These distributions and all that they require, as far as that is installed here."""
    complete: set[str] = set()
    pending = [Requirement(name) for name in names]
    while pending:
        requirement = pending.pop()
        marker = requirement.marker
        if requirement.name in complete or (marker and not marker.evaluate({"extra": ""})):
            continue
        complete.add(requirement.name)
        pending += map(Requirement, distribution(requirement.name).requires or [])
    return complete


class Machine:
    """A computer with some packages installed, but not the course, and without a network."""

    def __init__(self, folder: Path, packages: set[str] | None = None) -> None:
        """``packages`` are distributions; None stands for all that are installed here."""
        self.folder, self.empty = folder, folder / "empty"
        self.empty.mkdir(parents=True)
        venv.create(folder / "env", symlinks=True)
        self.python = folder / "env" / "bin" / "python"
        self.site = Path(self.run("import sysconfig; print(sysconfig.get_path('purelib'))").strip())
        self.others, self.kernel = folder / "others", folder / "kernel.py"
        self.others.mkdir()
        if packages is None:
            here = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
            entries = [entry for name in here for entry in Path(name).iterdir()]
        else:
            entries = [entry for name in packages for entry in entries_of(name)]
        for entry in entries:
            if not re.search(r"order_matters|course_|\.pth$|__pycache__", entry.name):
                (self.others / entry.name).symlink_to(entry)
        (self.site / "others.pth").write_text(str(self.others))

    def run(self, *command: str | Path, **settings: str) -> str:
        """What the script or module prints; the environment is this process's without our paths.

        IPython would look for packages in the virtual environment that VIRTUAL_ENV names.
        """
        ours = ("PYTHON", "PIP_", "UV_", "VIRTUAL_ENV")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        options = ["-c"] if len(command) == 1 else []
        process = subprocess.run(
            [self.python, *options, *command],
            cwd=self.empty,
            env=kept | {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", **settings},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        assert process.returncode == 0, process.stdout
        return process.stdout

    def installed(self) -> set[str]:
        """What was put beside Python, without versions."""
        names = {path.name.partition("-")[0] for path in self.site.iterdir()}
        return names - {"others.pth", "__pycache__"}


# ------------------------------------------------------------------------- the engineer's wheel


def test_the_wheel_has_course_utils_and_nothing_else(archives):
    wheel = zipfile.ZipFile(archives[0])
    inside = {path: wheel.read(path) for path in wheel.namelist() if ".dist-info/" not in path}
    assert inside == {
        path.relative_to(ROOT).as_posix(): path.read_bytes()
        for path in (ROOT / "course_utils").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert archives[0].stat().st_size < LARGEST_WHEEL


def test_the_source_archive_has_all_that_a_wheel_needs(archives):
    with tarfile.open(archives[1]) as archive:
        inside = {Path(*Path(name).parts[1:]) for name in archive.getnames()}
    package = {path.relative_to(ROOT) for path in (ROOT / "course_utils").rglob("*.py")}
    assert package | {Path(name) for name in BUILT} <= inside
    assert not {path for path in inside if path.parts[:1] in (("course_lab",), ("data",))}


USE = """
import torch
from course_utils.attention import MultiHeadAttention
from course_utils.encodings import NAMES, create
from course_utils.models import TinyTransformer, from_file

x, tokens = torch.randn(1, 5, 16), torch.randint(256, (1, 5))
for name in NAMES:
    if name != "floater":
        encoding = create(name, d_model=16, n_heads=2, causal=True)
        attention = MultiHeadAttention(16, 2, encoding, causal=True)
        assert attention(x, tokens=tokens)[0].shape == x.shape
model = TinyTransformer(256, "alibi").eval()
model.save("model.safetensors")
assert torch.equal(from_file("model.safetensors")(tokens), model(tokens))

try:
    create("floater", d_model=16, n_heads=2).embed(x, torch.arange(5))
except ModuleNotFoundError as error:
    assert "pip install torchdiffeq" in str(error)
else:
    raise AssertionError("floater works without torchdiffeq")

import importlib.util, course_utils
for name in "course_lab course_experiments matplotlib seaborn pandas scipy IPython".split():
    assert not importlib.util.find_spec(name), name
print(course_utils.__version__, course_utils.__file__)

import importlib, pkgutil
for module in pkgutil.walk_packages(course_utils.__path__, "course_utils."):
    try:
        importlib.import_module(module.name)
    except ImportError as error:
        print(module.name, "|", error)
"""


def test_the_wheel_works_alone_and_says_what_needs_an_extra(archives, tmp_path):
    machine = Machine(tmp_path / "Rechner mit Ümlaut", required([*SETTINGS["dependencies"], "pip"]))
    machine.run("-m", "pip", "install", "-q", archives[0])
    assert machine.installed() == {"course_utils", "order_matters"}
    first, *others = machine.run(USE).splitlines()
    version, place = first.split(maxsplit=1)
    assert version == PROJECT.version
    assert place.startswith(str(machine.folder))
    failures = dict(line.split(" | ") for line in others)
    assert set(failures) == {"course_utils.plots", "course_utils.results"}
    assert "pip install matplotlib" in failures["course_utils.plots"]
    assert "pip install pandas scipy" in failures["course_utils.results"]


@pytest.mark.thorough
def test_the_source_archive_installs_as_the_wheel_does(archives, tmp_path):
    machine = Machine(tmp_path / "machine")
    machine.run("-m", "pip", "install", "-q", archives[1])
    assert machine.installed() == {"course_utils", "order_matters"}


# ------------------------------------------------------------------------- the course's wheel


@pytest.fixture(scope="module")
def course_wheel(tmp_path_factory):
    """The wheel with the whole course, which pip builds with the setuptools that is here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIP_NO_BUILD_ISOLATION", "0")
        return build_wheel(PROJECT, tmp_path_factory.mktemp("course"))


def test_the_courses_wheel_has_both_packages_and_the_data(course_wheel):
    wheel = zipfile.ZipFile(course_wheel)
    inside = {path: wheel.read(path) for path in wheel.namelist() if ".dist-info/" not in path}
    folders = {"course_utils": "course_utils", "course_lab": "course_lab", "course_data": "data"}
    assert inside == {
        (Path(name) / path.relative_to(ROOT / folder)).as_posix(): path.read_bytes()
        for name, folder in folders.items()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert course_wheel.name == PROJECT.wheel
    assert course_wheel.stat().st_size < LARGEST_COURSE


@pytest.mark.parametrize("line", ['include = ["course_utils*"]', 'version = "0.1.0"'])
def test_settings_without_a_line_that_the_courses_wheel_changes_are_refused(line):
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="pyproject.toml has to have one line " + re.escape(line)):
        settings(pyproject.replace(line, ""), "0.1.0")


# ------------------------------------------------------------------------- the first cell


@pytest.fixture
def colab(tmp_path):
    """A computer on which everything is installed but the course, with a kernel in little."""
    machine = Machine(tmp_path / "Rechner mit Ümlaut")
    machine.kernel.write_text(KERNEL, encoding="utf-8")
    return machine


@pytest.mark.thorough
def test_pip_would_change_nothing_of_what_colab_has(colab, course_wheel):
    """The files that say a package's version say Colab's."""
    for pin in pins(".github/colab.txt"):
        name, version = pin.name, str(pin.specifier).removeprefix("==")
        old = next(colab.others.glob(f"{name}-*.dist-info"))
        new = old.with_name(f"{name}-{version}.dist-info")
        metadata = (old / "METADATA").read_text(encoding="utf-8")
        old.unlink()
        new.mkdir()
        renamed = re.sub(r"(?m)^Version: .*", f"Version: {version}", metadata, count=1)
        (new / "METADATA").write_text(renamed, encoding="utf-8")
    plan = colab.folder / "plan.json"
    wheel = f"{course_wheel}[course]"
    colab.run("-m", "pip", "install", "-q", "--dry-run", "--report", plan, wheel)
    report = json.loads(plan.read_text(encoding="utf-8"))
    assert [package["metadata"]["name"] for package in report["install"]] == ["order-matters"]


# A kernel in little: IPython runs the cells of a notebook, and google.colab is there.
KERNEL = """
import os, sys, types
os.environ["MPLBACKEND"] = "Agg"
for name in ("google", "google.colab"):
    sys.modules[name] = types.ModuleType(name)
from IPython.core.interactiveshell import InteractiveShell
import json
shell = InteractiveShell.instance(colors="NoColor")
for cell in json.load(open(sys.argv[1], encoding="utf-8"))["cells"]:
    if cell["cell_type"] == "code" and not shell.run_cell("".join(cell["source"])).success:
        print("STOPPED IN", cell["id"])
        break
else:
    import course_lab
    print("RAN", course_lab.__file__)
"""


def state(folder: Path) -> dict[str, tuple[float, int]]:
    """Times and sizes of PyTorch's files."""
    torch = [*folder.glob("torch-*"), folder / "torch"]
    files = [path for part in torch for path in part.resolve().glob("*") if path.is_file()]
    return {path.as_posix(): (path.stat().st_mtime, path.stat().st_size) for path in files}


@pytest.mark.thorough
def test_the_first_cell_installs_the_wheel_beside_it_and_lesson_00_runs(colab, course_wheel):
    shutil.copy(course_wheel, colab.empty)
    lesson = ROOT / "notebooks" / "00_start_here.ipynb"
    before = state(colab.others)
    printed = colab.run(colab.kernel, lesson)
    assert f"RAN {colab.site / 'course_lab'}" in printed, printed
    assert colab.installed() == {"course_data", "course_lab", "course_utils", "order_matters"}
    assert len(before) > 10 and state(colab.others) == before
    use = "import course_lab, course_utils.texts.data as data; print(data.folder())"
    assert colab.run(use).strip() == str(colab.site / "course_data")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("", f"RuntimeError: The course is not installed, and {PROJECT.wheel} is not in this"),
        ("https://127.0.0.1:9/closed", "RuntimeError: Python cannot find course_lab. In a clone"),
    ],
    ids=["no address", "nothing at the address"],
)
def test_where_the_course_cannot_be_installed_the_first_cell_says_so_and_stops(
    colab, address, message
):
    project = Project(ROOT, address, PROJECT.version)
    stopping = colab.folder / "x.ipynb"
    write_notebook(stopping, [setup_source(project, []), "print('went on')"])
    printed = colab.run(colab.kernel, stopping)
    assert message in printed and "went on" not in printed
    assert printed.strip().splitlines()[-1] == "STOPPED IN c0"
    assert ("127.0.0.1" in printed) == bool(address), "pip says what it could not reach"
    assert colab.installed() == set()
