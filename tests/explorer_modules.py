"""Runs the explorers' JavaScript in Node, playwright's if there is no other; no page is drawn."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from course_lab.explorers.controls import Choice, Slider, Text
from course_lab.explorers.explorer import Explorer

# What the explorer says at each start, and its numbers or pictures; typed arrays become lists, NaN
# becomes null.
LOOK = """
(view, {starts, width, dark, wantsNumbers}) => starts.map((start) => {
  const { state, numbers, panels, sentence, description } = view(start, width, dark);
  if (wantsNumbers) {
    const plain = (value) => ArrayBuffer.isView(value) ? Array.from(value) : value;
    const lists = Object.entries(numbers).map(([name, value]) => [name, plain(value)]);
    return { state, sentence, description, numbers: Object.fromEntries(lists) };
  }
  const checksum = (pixels) => pixels?.reduce((sum, colour) => (7 * sum + colour) % 1e9, 0);
  const pictures = panels.map(({ width, height, layers, image }) =>
    ({ width, height, svg: layers.join(""), colours: checksum(image?.pixels) }));
  return { state, sentence, description, pictures };
})
"""
NODE = f"""
import {{ readFileSync }} from "node:fs";
import {{ view }} from "./module.mjs";
const request = JSON.parse(readFileSync("request.json", "utf-8"));
process.stdout.write(JSON.stringify(({LOOK})(view, request)));
"""


def look(
    explorer: Explorer,
    starts: Sequence[dict[str, Any]],
    *,
    width: int = 900,
    dark: bool = False,
    numbers: bool = False,
) -> list[dict[str, Any]]:
    """What the explorer says and draws, or computes, at each of these starts; width in pixels."""
    request = {"starts": starts, "width": width, "dark": dark, "wantsNumbers": numbers}
    return run_module(NODE, request, {"module.mjs": explorer.module})


def run_module(main: str, request: Any, others: dict[str, str] | None = None) -> Any:
    """What a module prints as JSON. Beside it lie request.json and the other files."""
    with tempfile.TemporaryDirectory() as folder:
        texts = {"main.mjs": main, "request.json": json.dumps(request), **(others or {})}
        for name, text in texts.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        command = [node(), "main.mjs"]
        done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def node() -> str:
    """Node's path."""
    if path := shutil.which("node"):
        return path
    playwright = pytest.importorskip("playwright", reason="there is no Node to run JavaScript")
    return str(Path(playwright.__file__).with_name("driver") / "node")


MANY = 8  # controls whose ends are still combined


def ends(explorer: Explorer) -> list[dict[str, Any]]:
    """The start, each choice alone, and all combinations of the controls' ends.

    Where there are many controls, only all their first and all their last ends are combined.
    """

    values: dict[str, tuple[Any, ...]] = {}
    for name, control in explorer.controls.items():
        if isinstance(control, Slider):
            values[name] = (control.low, control.high)
        elif isinstance(control, Text):
            values[name] = (control.start, "")
        else:
            values[name] = control.options if isinstance(control, Choice) else (False, True)
    alone = [{name: value} for name, options in values.items() for value in options]
    sides = [(options[0], options[-1]) for options in values.values()]
    corners = product(*sides) if len(sides) <= MANY else zip(*sides, strict=True)
    return [{}, *alone, *(dict(zip(values, corner, strict=True)) for corner in corners)]
