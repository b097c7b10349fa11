"""How long each explorer takes from a control's new value to the new picture, in milliseconds.

Every control of every explorer is moved through its range, on a plain page and in JupyterLab.
Goals: 5 ms of work on a page, layout included; to the next frame in JupyterLab 25 ms at the median
and 50 ms for 95 of 100 changes.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from course_lab import explorers

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from browser import SECONDS, chromium, jupyterlab, open_and_run, write_notebook  # noqa: E402

MOVES = 20  # of each control
# Work is what the change itself takes, up to a finished layout. The next frame follows when the
# screen asks for it; a change may come at any time between two.
MOVE = """async (root, moves) => {
    const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
    const times = [];
    for (const input of root.querySelectorAll('input, select')) {
        for (let n = 0; n < moves; n++) {
            const low = Number(input.min), high = Number(input.max);
            if (input.type === 'range') input.value = Math.round(low + (high - low) * n / moves);
            else if (input.type === 'checkbox') input.checked = n % 2;
            else input.selectedIndex = n % input.options.length;
            await sleep(17 * Math.random());
            const start = performance.now();
            input.dispatchEvent(new Event('input', {bubbles: true}));
            root.getBoundingClientRect();
            const work = performance.now() - start;
            await new Promise(requestAnimationFrame);
            await new Promise((done) => {
                const channel = new MessageChannel();  // its message comes once the frame is made
                channel.port1.onmessage = done;
                channel.port2.postMessage(0);
            });
            times.push([work, performance.now() - start]);
        }
    }
    return times;
}"""


def on_a_page(browser: Any) -> dict[str, list[list[float]]]:
    """Work and time to the next frame of each change, by explorer."""
    changes = {}
    for name, explorer in explorers.ALL.items():
        page = browser.new_page(viewport={"width": 1000, "height": 800})
        page.set_content(f"<script type=module>{explorer.module}; mount(document.body)</script>")
        page.wait_for_selector(".om svg")
        changes[name] = page.locator(".om").evaluate(MOVE, MOVES)
        page.close()
    return changes


def in_jupyterlab(browser: Any) -> dict[str, list[list[float]]]:
    """The same in a notebook with all explorers."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as private:
        folder = Path(private) / "course"
        folder.mkdir()
        calls = [f"explorers.{name}()" for name in explorers.ALL]
        write_notebook(folder / "all.ipynb", ["from course_lab import explorers", *calls])
        with jupyterlab(folder, Path(private)) as (address, token):
            page = browser.new_page(viewport={"width": 1200, "height": 1000})
            open_and_run(page, address, token, "all.ipynb")
            all_drawn = f"document.querySelectorAll('.om:has(svg)').length === {len(explorers.ALL)}"
            page.wait_for_function(all_drawn, timeout=60 * SECONDS)
            changes = {}
            for name, root in zip(explorers.ALL, page.locator(".om").all(), strict=True):
                root.scroll_into_view_if_needed()
                changes[name] = root.evaluate(MOVE, MOVES)
            return changes


def quantile(values: list[float], share: float) -> float:
    """The value that this share of them does not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def main() -> None:
    with sync_playwright() as play, chromium(play) as browser:
        places = {"page": on_a_page(browser), "JupyterLab": in_jupyterlab(browser)}
    print(f"{'':16} {'':5}  work, ms: 50 %  95 %   to the next frame: 50 %  95 %")
    for place, by_explorer in places.items():
        by_explorer["all"] = [change for changes in by_explorer.values() for change in changes]
        for name, changes in by_explorer.items():
            work = [change[0] for change in changes]
            frame = [change[1] for change in changes]
            quantiles = "  ".join(
                f"{quantile(times, 0.5):6.1f} {quantile(times, 0.95):6.1f}"
                for times in (work, frame)
            )
            print(f"{name:16} {len(changes):5}  {quantiles}   {place}", flush=True)


if __name__ == "__main__":
    main()
