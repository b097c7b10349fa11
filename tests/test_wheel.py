"""The course as pip gets it: wheel, source archive, and a notebook's first cell as on Colab."""

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
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from notebook_source import read_project, setup_source
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
PROJECT = read_project(ROOT)
PARTS = ["pyproject.toml", "README.md", "LICENSE", "LICENSE-text", "course_utils", "data"]
LARGEST = 10_000_000  # bytes of the wheel, which Colab fetches

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(os.name == "nt", reason="makes symbolic links"),
]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a build needs, without anything that was built."""
    folder = tmp_path_factory.mktemp("source")
    for name in PARTS:
        there = ROOT / name
        if there.is_dir():
            shutil.copytree(there, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(there, folder)
    return folder


@pytest.fixture(scope="module")
def built(source: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel and the source archive."""
    folder = tmp_path_factory.mktemp("dist")
    script = "import sys; from setuptools import build_meta as b; to = sys.argv[1]; "
    script += "b.build_sdist(to); b.build_wheel(to)"
    copy = shutil.copytree(source, tmp_path_factory.mktemp("build") / "course")
    subprocess.run([sys.executable, "-c", script, folder], cwd=copy, check=True)
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


class Machine:
    """A computer on which everything is installed but the course, and no network reaches."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.empty = folder, folder / "empty"
        self.empty.mkdir(parents=True)
        venv.create(folder / "env", symlinks=True)
        self.python = folder / "env" / "bin" / "python"
        self.site = Path(self.run("import sysconfig; print(sysconfig.get_path('purelib'))").strip())
        self.others = folder / "others"
        self.others.mkdir()
        for name in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
            for path in Path(name).iterdir():
                if not re.search(r"order_matters|course_utils|\.pth$|__pycache__", path.name):
                    (self.others / path.name).symlink_to(path)
        (self.site / "others.pth").write_text(str(self.others))

    def run(self, *command: str | Path, **settings: str) -> str:
        """What the script or module prints; the environment is this process's without our paths.

        IPython would look for packages in the virtual environment that VIRTUAL_ENV names.
        """
        ours = ("PYTHON", "PIP_", "UV_", "VIRTUAL_ENV")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
        how = ["-c"] if len(command) == 1 else []
        done = subprocess.run(
            [self.python, *how, *command],
            cwd=self.empty,
            env=kept | {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", **settings},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def installed(self) -> set[str]:
        """What was put beside Python, without versions."""
        names = {path.name.partition("-")[0] for path in self.site.iterdir()}
        return names - {"others.pth", "__pycache__"}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "Rechner mit Ümlaut")


USE = """
import course_utils
from course_utils.texts import data, text
from course_lab import explorers
from course_utils.models import shipped
for name in data.checksums():
    data.verified(name)
assert data.results("extrapolation").size and data.position_table().shape == (512, 384)
assert "export" in explorers.ALL["frequencies"].module
print(course_utils.__version__, course_utils.__file__)
"""


def test_the_wheel_has_the_package_and_the_data_and_nothing_else(
    source: Path, built: tuple[Path, Path]
) -> None:
    wheel = zipfile.ZipFile(built[0])
    name, version = "order_matters", PROJECT.version
    inside = {path: wheel.read(path) for path in wheel.namelist() if ".dist-info/" not in path}
    shared = f"{name}-{version}.data/data/share/order-matters/"
    wanted = {
        (shared if path.parts[len(source.parts)] == "data" else "")
        + path.relative_to(source).as_posix(): path.read_bytes()
        for folder in ("course_utils", "data")
        for path in (source / folder).rglob("*")
        if path.is_file()
    }
    assert inside == wanted
    assert built[0].stat().st_size < LARGEST


def test_the_source_archive_has_all_that_a_wheel_needs(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[1]) as archive:
        inside = {Path(*Path(name).parts[1:]) for name in archive.getnames()}
    wanted = {
        path.relative_to(ROOT)
        for part in PARTS
        for path in (ROOT / part).rglob("*") if (ROOT / part).is_dir()
        if path.is_file() and "__pycache__" not in path.parts
    }  # fmt: skip
    assert wanted | {Path("pyproject.toml")} <= inside


@pytest.mark.parametrize("kind", ["wheel", "source archive"])
def test_installed_in_an_empty_folder_the_course_finds_its_data(
    machine: Machine, built: tuple[Path, Path], kind: str
) -> None:
    machine.run("-m", "pip", "install", "-q", built[kind != "wheel"])
    version, place = machine.run(USE).split(maxsplit=1)
    assert version == PROJECT.version
    assert place.startswith(str(machine.folder))
    assert machine.installed() == {"course_utils", "order_matters"}


def colab() -> dict[str, str]:
    """What Colab has, by package."""
    lines = (ROOT / ".github" / "colab.txt").read_text(encoding="utf-8").splitlines()
    found = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {pin.name: str(pin.specifier).removeprefix("==") for pin in found}


def test_pip_would_change_nothing_of_what_colab_has(
    machine: Machine, built: tuple[Path, Path]
) -> None:
    """Colab's versions are made believe: the files that say a version say Colab's."""
    for name, version in colab().items():
        (old,) = machine.others.glob(f"{name}-*.dist-info")
        new = old.with_name(f"{name}-{version}.dist-info")
        metadata = (old / "METADATA").read_text(encoding="utf-8")
        old.unlink()
        new.mkdir()
        told = re.sub(r"(?m)^Version: .*", f"Version: {version}", metadata, count=1)
        (new / "METADATA").write_text(told, encoding="utf-8")
    plan = machine.folder / "plan.json"
    machine.run("-m", "pip", "install", "-q", "--dry-run", "--report", plan, built[0])
    report = json.loads(plan.read_text(encoding="utf-8"))
    assert [one["metadata"]["name"] for one in report["install"]] == ["order-matters"]


# ------------------------------------------------------------------------- the first cell

# A kernel in little: IPython runs the cells of a notebook, and google.colab is there.
NOTEBOOK = """
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
    import course_utils
    print("RAN", course_utils.__file__)
"""


@pytest.fixture
def github(source: Path, tmp_path: Path) -> Iterator[dict[str, str]]:
    """Settings under which git finds the repository, with its tag, on this machine."""
    here = shutil.copytree(source, tmp_path / "repository")
    for command in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qm", "x"],
        ["tag", PROJECT.tag],
    ):
        subprocess.run(["git", *command], cwd=here, check=True)
    yield redirected(here.as_uri())


def redirected(address: str) -> dict[str, str]:
    return {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{address}.insteadOf",
        "GIT_CONFIG_VALUE_0": PROJECT.address,
    }


def notebook(path: Path, *cells: str) -> Path:
    made = [nbformat.v4.new_code_cell(cell, id=f"c{place}") for place, cell in enumerate(cells)]
    nbformat.write(nbformat.v4.new_notebook(cells=made), path)
    return path


def state(folder: Path) -> dict[str, tuple[float, int]]:
    """Times and sizes of PyTorch's files."""
    torch = [*folder.glob("torch-*"), folder / "torch"]
    files = [path for part in torch for path in part.resolve().glob("*") if path.is_file()]
    return {path.as_posix(): (path.stat().st_mtime, path.stat().st_size) for path in files}


def test_the_first_cell_installs_the_course_on_colab_and_lesson_00_runs(
    machine: Machine, github: dict[str, str]
) -> None:
    lesson = ROOT / "notebooks" / "00_start_here.ipynb"
    before = state(machine.others)
    script = machine.folder / "kernel.py"
    script.write_text(NOTEBOOK, encoding="utf-8")
    told = machine.run(script, lesson, **github)
    assert "STOPPED" not in told, told
    assert f"RAN {machine.site}" in told, told
    assert machine.installed() == {"course_utils", "order_matters"}
    assert len(before) > 10 and state(machine.others) == before


def test_where_the_course_cannot_be_installed_the_first_cell_says_so_and_stops(
    machine: Machine,
) -> None:
    script = machine.folder / "kernel.py"
    script.write_text(NOTEBOOK, encoding="utf-8")
    cells = notebook(machine.folder / "x.ipynb", setup_source(PROJECT, []), "print('went on')")
    told = machine.run(script, cells, **redirected("https://127.0.0.1:9/closed"))
    *_, last, stopped = told.strip().splitlines()
    assert last.startswith("RuntimeError: The course could not be installed; pip says why above.")
    assert stopped == "STOPPED IN c0"
    assert "127.0.0.1" in told and "went on" not in told
    assert machine.installed() == set()
