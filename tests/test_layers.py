"""The parts of the project that each part may use: arrows point one way."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Folders and modules of course_utils, each with the parts that it may use besides ``validation``.
REFERENCE = {
    "validation": set(),
    "devices": set(),
    "results": set(),
    "encodings": set(),
    "texts": {"encodings"},
    "plots": {"encodings"},
    "attention": {"encodings"},
    "pretrained": {"encodings", "attention", "models", "devices"},
    "models": {"encodings", "attention", "texts", "devices"},
    "measures": {"encodings", "attention", "texts", "models", "devices"},
}
# Packages and folders of the project, each with the packages that it may use.
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


def modules(folder: Path) -> dict[str, Path]:
    """The modules of a package or the files of a folder, by their full names."""
    by_name = {}
    for path in sorted(folder.rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        by_name[name.removesuffix(".__init__")] = path
    return by_name


def parts(path: Path, depth: int) -> set[str]:
    """The packages that a file uses, for depth 0; the parts of course_utils, for depth 1."""
    names = [name.split(".") for name in imported(path)]
    return {name[depth] for name in names if name[0] in PROJECT and len(name) > depth}


@pytest.mark.parametrize("package", PROJECT)
def test_packages_use_only_what_is_below_them(package):
    for path in modules(ROOT / package).values():
        assert parts(path, 0) <= PROJECT[package] | {package}, path


def test_the_parts_of_the_reference_use_only_what_is_below_them():
    listed = set()
    for name, path in modules(ROOT / "course_utils").items():
        if name == "course_utils":
            continue
        part = name.split(".")[1]
        listed.add(part)
        assert parts(path, 1) <= REFERENCE[part] | {part, "validation", "__version__"}, path
    assert listed == set(REFERENCE)


def test_no_modules_import_each_other_not_even_inside_of_functions():
    known = {name: path for package in PROJECT for name, path in modules(ROOT / package).items()}
    graph = {}
    for module, path in known.items():
        names = {name if name in known else name.rpartition(".")[0] for name in imported(path)}
        graph[module] = (names & known.keys()) - {module}
    assert len(list(TopologicalSorter(graph).static_order())) == len(known)  # or a CycleError


def test_an_arrow_that_points_up_is_seen(tmp_path):
    module = tmp_path / "module.py"
    module.write_text("def late():\n    from course_lab import checks\n")
    assert parts(module, 0) == {"course_lab"}
    assert parts(module, 1) == {"checks"}
