"""A built site and its readers in Chromium: what the tests of the site share."""

import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote, urlsplit

import build_site
import pytest
from browser import SECONDS
from bs4 import BeautifulSoup

ROOT = Path(__file__).resolve().parents[1]
DESKTOP = {"width": 1200, "height": 900}
PHONE = {"width": 390, "height": 844}

# What axe says of a page and why it stays: rule → (part of its HTML, reason).
UPSTREAM: dict[str, tuple[str, str]] = {}


def run_tool(tool: ModuleType, out: Path) -> None:
    """Run build_site or build_book, which write into ``out``."""
    command = [sys.executable, str(tool.__file__), "--out", str(out)]
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    settings = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(command, env=settings, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr


def built_site(factory: pytest.TempPathFactory) -> Path:
    """The folder with the site's pages; one build serves all tests of a process."""
    out = factory.getbasetemp() / "site"
    if not out.exists():
        run_tool(build_site, out)
    return out / "html"


def screenshot(page: Any, name: str) -> None:
    """A picture of the page, if somebody wants to see it."""
    if folder := os.environ.get("ORDER_MATTERS_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(folder) / f"{name.replace('/', '-')}.png")


def swipe(page: Any, place: dict[str, float], up: float = 0, right: float = 0) -> None:
    """A finger goes down at a place of the screen, moves so many pixels, and is lifted."""
    wire, touch, steps = page.context.new_cdp_session(page), "Input.dispatchTouchEvent", 7
    wire.send(touch, {"type": "touchStart", "touchPoints": [place]})
    for step in range(1, steps + 1):
        part = step / steps
        there = {"x": place["x"] + part * right, "y": place["y"] - part * up}
        wire.send(touch, {"type": "touchMove", "touchPoints": [there]})
    wire.send(touch, {"type": "touchEnd", "touchPoints": []})


# Waits until the page neither scrolls nor grows.
STILL = """() => new Promise((done) => {
    let before = null, frames = 0; // of stillness
    const look = () => {
        const now = scrollY + document.body.scrollHeight;
        frames = now === before ? frames + 1 : 0;
        before = now;
        frames > 40 ? done() : requestAnimationFrame(look);
    };
    look();
})"""


OF_THE_KERNEL = ".jp-OutputArea-child:has(img.widget-image)"  # explorers in JupyterLab


def moved_by_a_key(page: Any, box: Any) -> float:
    """Move an explorer of the kernel by an arrow key; milliseconds until its picture changes."""
    picture, handle = box.locator("img.widget-image").first, box.locator(".noUi-handle").first
    handle.scroll_into_view_if_needed()
    handle.focus()
    before, start = picture.get_attribute("src"), time.perf_counter()
    at_the_end = handle.evaluate("handle => handle.ariaValueNow === handle.ariaValueMax")
    page.keyboard.press("ArrowLeft" if at_the_end else "ArrowRight")
    page.wait_for_function(
        "([picture, before]) => picture.src !== before && picture.complete",
        arg=[picture.element_handle(), before],
        timeout=60 * SECONDS,
    )
    assert picture.evaluate("picture => picture.naturalWidth") > 0
    return 1000 * (time.perf_counter() - start)


class Reader:
    """A new reader of the site: what their pages complain of, and ask of other hosts."""

    def __init__(self, browser: Any, site: str, **options: Any) -> None:
        self.site, self.complaints = site, list[str]()
        self.context = browser.new_context(**{"viewport": DESKTOP, **options})
        self.page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._hear)
        self.page.on("request", self._note)

    def open(self, name: str) -> Any:
        self.page.goto(f"{self.site}/{name}.html")
        return self.page

    def _note(self, request: Any) -> None:
        if not request.url.startswith((self.site, "data:", "blob:")):
            self.complaints.append(f"asked for {request.url}")

    def _hear(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)


def read_all(page: Any) -> None:
    """Unfold everything and go through the page, so that all of it is loaded."""
    page.evaluate(
        "document.querySelectorAll('details:not([open]) > summary')"
        ".forEach((summary) => summary.click())"
    )
    page.evaluate(THROUGH)
    page.wait_for_load_state("networkidle")
    mounted = "!document.querySelector('.om-mount:not(:has(svg))')"
    page.wait_for_function(mounted, timeout=30 * SECONDS)


# A frame at each stop: an observer sees where the page is, not where it has been in between.
THROUGH = """async () => {
    for (const element of document.querySelectorAll("img, .om-mount")) {
        element.loading = "eager";
        element.scrollIntoView({ behavior: "instant" }); // furo scrolls smoothly
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    }
}"""


CUT = """() => [...document.querySelectorAll('article *')].filter((element) => {
    const { right, width } = element.getBoundingClientRect();
    if (!width || right <= innerWidth + 1) return false;
    for (let up = element.parentElement; up.tagName !== 'ARTICLE'; up = up.parentElement)
        if (getComputedStyle(up).overflowX !== 'visible') return false;
    return true;
}).map((element) => element.outerHTML.slice(0, 80))"""


def cut_off(page: Any) -> list[str]:
    """What is wider than the page, with nothing that scrolls to it; or the page itself."""
    wide = page.evaluate("document.documentElement.scrollWidth")
    sideways = [] if wide == page.viewport_size["width"] else [f"the page is {wide} wide"]
    return sideways + page.evaluate(CUT)


def axe(page: Any, *rules: str, code: bool = True) -> list[str]:
    """Moderate and serious findings of axe on a page as it is shown, but for the upstream ones.

    ``rules`` are those to try, in place of all. ``code=False`` leaves letters of code out: their
    colours are the same on every page and take four times as long as all the rest.
    """
    package = importlib.util.find_spec("axe_playwright_python")
    if package is None or package.origin is None:
        pytest.skip("axe-playwright-python is not installed")
    page.evaluate(Path(package.origin).with_name("axe.min.js").read_text(encoding="utf-8"))
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = list(rules)
    context = {"include": ["html"], "exclude": [] if code else [".highlight pre *"]}
    results = page.evaluate("([context, options]) => axe.run(context, options)", [context, options])
    findings = []
    for violation in results["violations"]:
        rule = violation["id"]
        for node in violation["nodes"]:
            upstream = rule in UPSTREAM and UPSTREAM[rule][0] in node["html"]
            if violation["impact"] != "minor" and not upstream:
                selector = " ".join(map(str, node["target"]))
                findings.append(f"{rule}: {violation['help']}: {node['html'][:200]} {selector}")
    return findings


def broken_links(folder: Path) -> list[str]:
    """Links of the built pages to files or anchors of the site that are not there."""
    pages = {
        path: BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
        for path in sorted(folder.rglob("*.html"))
    }
    anchors = {
        path: {element.get("id") or element.get("name") for element in page.select("[id], a[name]")}
        for path, page in pages.items()
    }
    broken = []
    for path, page in pages.items():
        for element in page.find_all(["a", "link", "img", "script", "source", "iframe"]):
            link = str(element.get("href") or element.get("src") or "")
            if not link or urlsplit(link).scheme or link.startswith("//"):
                continue
            target, anchor = urlsplit(link).path, unquote(urlsplit(link).fragment)
            file = (path.parent / unquote(target)).resolve() if target else path
            file = file / "index.html" if file.is_dir() else file
            exists = file.is_file() and file.is_relative_to(folder.resolve())
            if not exists or (anchor and file in anchors and anchor not in anchors[file]):
                broken.append(f"{path.relative_to(folder)}: {link}")
    return sorted(set(broken))
