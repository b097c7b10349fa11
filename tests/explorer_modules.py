"""Runs the explorers' JavaScript: in Node if there is one, else in Chromium; no page is drawn."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from browser import chromium, find_chromium

from course_lab.explorers.browser import Choice, Explorer, Slider

# State, words, and numbers or pictures of each start; typed arrays as lists, NaN as null.
LOOK = """
(view, {starts, width, dark, numbers}) => starts.map((start) => {
  const plain = (value) => ArrayBuffer.isView(value) ? Array.from(value) : value;
  const { state, found, panels, sentence, words } = view(start, width, dark);
  if (numbers) {
    const all = Object.entries(found).map(([name, value]) => [name, plain(value)]);
    return { state, sentence, words, found: Object.fromEntries(all) };
  }
  const sum = (pixels) => pixels?.reduce((sum, colour) => (7 * sum + colour) % 1e9, 0);
  const pictures = panels.map(({ width, height, layers, image }) =>
    ({ width, height, svg: layers.join(""), colours: sum(image?.pixels) }));
  return { state, sentence, words, pictures };
})
"""
NODE = f"""
import {{ readFileSync }} from "node:fs";
import {{ view }} from "./module.mjs";
const asked = JSON.parse(readFileSync("asked.json", "utf-8"));
process.stdout.write(JSON.stringify(({LOOK})(view, asked)));
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
    asked = {"starts": starts, "width": width, "dark": dark, "numbers": numbers}
    return (in_node if node() else in_chromium)(explorer.module, asked)


def node() -> str | None:
    """Node's path; ORDER_MATTERS_NODE can name another, or none."""
    return shutil.which(os.environ.get("ORDER_MATTERS_NODE", "node"))


def in_node(module: str, asked: dict[str, Any]) -> list[dict[str, Any]]:
    """Run LOOK in Node."""
    with tempfile.TemporaryDirectory() as folder:
        texts = {"module.mjs": module, "main.mjs": NODE, "asked.json": json.dumps(asked)}
        for name, text in texts.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        command = [str(node()), "main.mjs"]
        done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def in_chromium(module: str, asked: dict[str, Any]) -> list[dict[str, Any]]:
    """Run LOOK in Chromium."""
    reason = "neither Node nor playwright is there to run JavaScript"
    playwright = pytest.importorskip("playwright.sync_api", reason=reason)
    if not find_chromium():
        pytest.skip("neither Node nor Chromium is on PATH")
    with playwright.sync_playwright() as play, chromium(play) as browser:
        run = f"""async ([module, asked]) => {{
            const address = URL.createObjectURL(new Blob([module], {{type: "text/javascript"}}));
            return JSON.stringify(({LOOK})((await import(address)).view, asked));
        }}"""
        answer = browser.new_page().evaluate(run, [module, asked])
    return json.loads(answer)


def ends(explorer: Explorer) -> list[dict[str, Any]]:
    """The start, each choice alone, and all combinations of the controls' ends."""

    def every(control: Any) -> tuple[Any, ...]:
        if isinstance(control, Slider):
            return control.low, control.high
        return control.options if isinstance(control, Choice) else (False, True)

    controls = {name: every(control) for name, control in explorer.controls.items()}
    alone = [{name: value} for name, values in controls.items() for value in values]
    outer = product(*((values[0], values[-1]) for values in controls.values()))
    return [{}, *alone, *(dict(zip(controls, one, strict=True)) for one in outer)]
