"""Which part of the project may use which: arrows point one way."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Folders and modules of course_utils, each with those that it may use beside ``validation``.
REFERENCE = {
    "validation": set(),
    "devices": set(),
    "results": set(),
    "encodings": set(),
    "texts": {"encodings"},
    "plots": {"encodings"},
    "attention": {"encodings"},
    "pretrained": {"encodings", "attention"},
    "models": {"encodings", "attention", "texts", "devices"},
    "measures": {"encodings", "attention", "texts", "models", "devices"},
}
# Packages and folders of the project, each with those that it may use.
PROJECT = {
    "course_utils": set(),
    "course_lab": {"course_utils"},
    "course_experiments": {"course_utils"},
    "lessons": {"course_utils", "course_lab"},
}


def imported(path: Path) -> set[str]:
    """The modules that a file imports, anywhere in it, by their full names."""
    modules = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: a relative import"
            modules |= {f"{node.module}.{alias.name}" for alias in node.names}
    return modules


def used_by(folder: Path, place: int) -> dict[str, set[str]]:
    """Each file below a folder, with the names at a place of its imports from this project."""
    users = {}
    for path in sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]:
        names = [name.split(".") for name in imported(path)]
        inside = [name for name in names if name[0] in PROJECT and len(name) > place]
        users[path.as_posix()] = {name[place] for name in inside}
    return users


@pytest.mark.parametrize("part", PROJECT)
def test_packages_use_only_what_is_below_them(part):
    for path, used in used_by(ROOT / part, 0).items():
        assert used <= PROJECT[part] | {part}, path


@pytest.mark.parametrize("part", REFERENCE)
def test_the_parts_of_the_reference_use_only_what_is_below_them(part):
    place = ROOT / "course_utils" / part
    for path, used in used_by(place if place.is_dir() else place.with_suffix(".py"), 1).items():
        assert used <= REFERENCE[part] | {part, "validation", "__version__"}, path


def test_every_part_of_the_reference_is_listed():
    parts = {path.stem for path in (ROOT / "course_utils").iterdir() if path.stem[0] not in "_."}
    assert parts - {"py"} == set(REFERENCE)


def test_an_arrow_that_points_up_is_seen(tmp_path):
    module = tmp_path / "module.py"
    module.write_text("def late():\n    from course_lab import checks\n")
    assert used_by(module, 0) == {module.as_posix(): {"course_lab"}}
    assert used_by(module, 1) == {module.as_posix(): {"checks"}}
