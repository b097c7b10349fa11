"""Which part of the project uses which: as README's list says, and without a cycle."""

import ast
import functools
import re
from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("lessons", "tools", "benchmarks", "tests")
ANYWHERE = "validation"  # every part of course_utils may use it


def allowed(readme: str) -> dict[str, set[str]]:
    """README's list: a part → the parts that it uses."""
    found = re.search(
        r"<!-- arrows:start -->\n```\n(.*?)```\n<!-- arrows:end -->", readme, re.DOTALL
    )
    assert found, "README has no list of arrows"
    text = re.sub(r",\n +", ", ", found[1])
    rows = (re.split(r"  +", line, maxsplit=1) for line in text.splitlines() if line)
    return {part: set(used.split(", ")) - {"–"} for part, used in rows}


@functools.cache
def nodes(path: Path) -> list[ast.Import | ast.ImportFrom]:
    """The imports in a file, wherever they stand."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]


def imports(path: Path, modules: Iterable[str]) -> set[str]:
    """The modules of the project that a file imports, anywhere in it."""
    known, found = set(modules), set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: a relative import"
            base = str(node.module)
            inside = {f"{base}.{alias.name}" for alias in node.names}
            found |= inside & known
            if inside - known:  # a name of the module itself
                found.add(base)
    return found & known


def all_modules(root: Path) -> dict[str, Path]:
    """Name → file: course_utils by dotted names, the other folders' files by their own."""
    found = {}
    for path in sorted((root / "course_utils").rglob("*.py")):
        name = ".".join(path.relative_to(root).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    for folder in FOLDERS:
        for path in sorted((root / folder).glob("*.py")):
            found[path.stem] = path
    return found


def part_of(module: str, modules: dict[str, Path], root: Path) -> str:
    """The part of the project that a module belongs to, as README calls it."""
    inside, *rest = modules[module].relative_to(root).with_suffix("").parts
    if inside != "course_utils":
        return inside
    if rest[0] == "__init__":
        return "course_utils"
    return rest[0]


def arrows(root: Path) -> dict[str, set[str]]:
    """The arrows that the code has, by part; outside of course_utils it counts as one part."""
    modules = all_modules(root)
    found: dict[str, set[str]] = {}
    for module, path in modules.items():
        own = part_of(module, modules, root)
        used = {part_of(other, modules, root) for other in imports(path, modules)}
        if own in FOLDERS:
            used = {part if part in FOLDERS else "course_utils" for part in used}
        found.setdefault(own, set()).update(used - {own})
    return found


def problems(root: Path) -> list[str]:
    """Where code and list differ, a line each."""
    listed, real = allowed((root / "README.md").read_text(encoding="utf-8")), arrows(root)
    real.pop("course_utils", None)  # its __init__ gathers names; nothing inside may need it, below
    assert not real.pop(ANYWHERE, None), f"{ANYWHERE} uses nothing"
    for used in (found for part, found in real.items() if part not in FOLDERS):
        used -= {ANYWHERE, "course_utils"}
    lines = [f"{part}: not in README's list" for part in real.keys() - listed.keys()]
    lines += [
        f"{part}: in README's list, not in the project" for part in listed.keys() - real.keys()
    ]
    for part in listed.keys() & real.keys():
        lines += [f"{part} → {other}: not allowed" for other in real[part] - listed[part]]
        lines += [f"{part} → {other}: not used" for other in listed[part] - real[part]]
    return sorted(lines)


def shared_names(root: Path) -> dict[str, list[str]]:
    """The names that several modules of course_utils have, with their files."""
    found: dict[str, list[str]] = {}
    for path in sorted((root / "course_utils").rglob("*.py")):
        if path.stem != "__init__":
            found.setdefault(path.stem, []).append(path.relative_to(root).as_posix())
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def cycles(graph: dict[str, set[str]]) -> list[str]:
    """The names along a cycle; none where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_the_arrows_in_the_code_are_those_of_readmes_list():
    assert problems(ROOT) == []


def test_no_part_and_no_module_uses_itself_through_others():
    modules = all_modules(ROOT)
    assert cycles(allowed((ROOT / "README.md").read_text(encoding="utf-8"))) == []
    graph = {name: imports(path, modules) - {"course_utils"} for name, path in modules.items()}
    assert cycles(graph) == []


def test_nothing_in_course_utils_needs_more_of_the_package_itself_than_its_version():
    for path in (ROOT / "course_utils").rglob("*.py"):
        for node in nodes(path):
            if isinstance(node, ast.ImportFrom) and node.module == "course_utils":
                own = {alias.name for alias in node.names}
                assert not own & {"start", "pick_device", "seed_everything"}, path.name


def test_lessons_use_the_experiments_only_to_train():
    for path in (ROOT / "lessons").rglob("*.py"):
        for node in nodes(path):
            names = {alias.name for alias in node.names}
            if isinstance(node, ast.ImportFrom) and "experiments" in str(node.module):
                assert names <= {"Recipe", "on_text", "fine_tune"}, path.name
            else:
                assert "experiments" not in " ".join(names), path.name


def test_no_two_modules_of_course_utils_have_the_same_name():
    names = shared_names(ROOT)
    assert names == {}


def test_a_name_of_two_modules_is_found(tmp_path):
    for name in ("a", "plots/a", "plots/b", "__init__", "plots/__init__"):
        path = tmp_path / "course_utils" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert shared_names(tmp_path) == {"a": ["course_utils/a.py", "course_utils/plots/a.py"]}


README = """\
<!-- arrows:start -->
```
plots  –
checks  data,
        plots
data  –

lessons  course_utils
```
<!-- arrows:end -->
"""
FILES = {
    "README.md": README,
    "course_utils/__init__.py": "",
    "course_utils/validation.py": "",
    "course_utils/plots/__init__.py": "import math\n",
    "course_utils/plots/style.py": "from course_utils.validation import positive\n",
    "course_utils/checks.py": "from course_utils import data\nfrom course_utils import plots\n",
    "course_utils/data.py": "def load():\n    import json\n",
    "lessons/01_a.py": "from course_utils.checks import Check\n",
}


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, []),
        ({"course_utils/data.py": "def f():\n    import course_utils.checks\n"},
         ["data → checks: not allowed"]),
        ({"course_utils/plots/style.py": "from course_utils import data\n"},
         ["plots → data: not allowed"]),
        ({"course_utils/checks.py": "from course_utils import data\n"},
         ["checks → plots: not used"]),
        ({"course_utils/data.py": "import helper\n", "tools/helper.py": ""},
         ["data → tools: not allowed", "tools: not in README's list"]),
        ({"course_utils/new.py": ""}, ["new: not in README's list"]),
    ],
)  # fmt: skip
def test_an_arrow_too_many_and_one_too_few_are_found(tmp_path, changes, found):
    for name, text in (FILES | changes).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert problems(tmp_path) == found


def test_a_cycle_is_found():
    assert cycles({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert set(cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}})) == {"a", "b", "c"}
