"""Explorers in a real browser: JupyterLab in Chromium, a slider moved by keyboard, a new picture.

A lesson with an explorer needs one more line in EXPLORERS.
"""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
import pytest

pytestmark = pytest.mark.browser
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytest.importorskip("jupyterlab", reason="jupyterlab is not installed")

ROOT = Path(__file__).resolve().parents[1]
EXPLORERS = ["05_rope", pytest.param("02_sinusoidal", marks=pytest.mark.thorough)]

CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
LAB_SETTINGS = {  # every cell is in the page at once, and no news are fetched or offered
    "notebook-extension/tracker": {"windowingMode": "none"},
    "apputils-extension/notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    },
}
IDLE = """() => {
    const panel = window.jupyterapp?.shell.currentWidget;
    return panel?.sessionContext?.session?.kernel?.status === 'idle';
}"""
RUN_TO = """async cell => {
    const {commands, shell} = window.jupyterapp;
    shell.currentWidget.content.activeCellIndex = cell;
    await commands.execute('notebook:run-all-above');
    await commands.execute('notebook:run-cell');
}"""
PICTURE = "img.widget-image"
SECONDS = 1000  # playwright counts milliseconds


def find_chromium() -> str:
    """Chromium's path; skips the test where there is none."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    found = os.environ.get("ORDER_MATTERS_CHROMIUM") or next(
        filter(None, map(shutil.which, names)), None
    )
    if not found:
        pytest.skip(f"no {' or '.join(names)} on PATH; ORDER_MATTERS_CHROMIUM can name one")
    return found


@contextmanager
def jupyterlab(folder: Path, private: Path) -> Iterator[tuple[str, str]]:
    """A JupyterLab of our own on `folder`: address and token; it ends with all its kernels."""
    for name, settings in LAB_SETTINGS.items():
        path = private / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings), encoding="utf-8")
    names = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "IPYTHONDIR": "ipython",
    }
    environment = os.environ | {name: str(private / part) for name, part in names.items()}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token, log = secrets.token_hex(16), private / "jupyterlab.log"
    options = {
        "ip": "127.0.0.1",
        "port": port,
        "port_retries": 0,
        "root_dir": folder,
        "open_browser": False,
        "allow_root": True,
    }
    command = [sys.executable, "-m", "jupyterlab", "--LabApp.expose_app_in_browser=True"]
    command += [f"--ServerApp.{name}={value}" for name, value in options.items()]
    command += [f"--IdentityProvider.token={token}"]
    with log.open("wb") as output:
        server = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    address = f"http://127.0.0.1:{port}"

    def ask(path: str, method: str = "GET") -> None:
        headers = {"Authorization": f"token {token}"}
        request = urllib.request.Request(f"{address}{path}", headers=headers, method=method)
        urllib.request.urlopen(request, timeout=10).close()

    try:
        for _ in range(240):
            try:
                ask("/api/status")
                break
            except OSError:
                assert server.poll() is None, log.read_text(encoding="utf-8", errors="replace")
                time.sleep(0.25)
        else:
            pytest.fail("JupyterLab did not answer within a minute")
        yield address, token
    finally:
        try:
            ask("/api/shutdown", "POST")  # a killed server would leave its kernels behind
            server.wait(30)
        except (OSError, subprocess.TimeoutExpired):
            server.kill()
            server.wait()


@pytest.fixture(scope="module")
def open_notebook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Path], Any]]:
    """A function that copies a notebook and opens it: a page, its kernel idle, no cell run yet."""
    chromium, private = find_chromium(), tmp_path_factory.mktemp("jupyterlab")
    folder = private / "course"
    folder.mkdir()
    with jupyterlab(folder, private) as (address, token), playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)

        def opened(notebook: Path) -> Any:
            shutil.copy(notebook, folder)
            page = browser.new_page(viewport={"width": 1200, "height": 1000})
            page.goto(f"{address}/doc/tree/{notebook.name}?token={token}&reset")
            page.wait_for_function(IDLE, timeout=90 * SECONDS)
            return page

        yield opened
        browser.close()


@contextmanager
def pictured(page: Any, name: str) -> Iterator[None]:
    """On leaving, a picture of the page in the folder ORDER_MATTERS_SCREENSHOTS, if that is set."""
    try:
        yield
    finally:
        if shots := os.environ.get("ORDER_MATTERS_SCREENSHOTS"):
            Path(shots).mkdir(parents=True, exist_ok=True)
            page.screenshot(path=Path(shots) / f"{name}.png")


def first_explorer(notebook: Path) -> int:
    """The place of the first cell that calls widgets.explore."""
    cells = nbformat.read(notebook, as_version=4).cells
    return next(i for i, cell in enumerate(cells) if "widgets.explore(" in cell.source)


@pytest.mark.parametrize("name", EXPLORERS)
def test_arrow_key_on_a_slider_changes_the_picture(
    open_notebook: Callable[[Path], Any], name: str
) -> None:
    notebook = ROOT / "notebooks" / f"{name}.ipynb"
    page = open_notebook(notebook)
    with pictured(page, name):
        page.evaluate(RUN_TO, first_explorer(notebook))
        page.wait_for_function(IDLE, timeout=90 * SECONDS)
        explorer = page.locator(".jp-OutputArea-child", has=page.locator(PICTURE)).first
        picture, handle = (
            explorer.locator(PICTURE).first,
            explorer.locator(".noUi-handle").first,
        )
        picture.wait_for(timeout=30 * SECONDS)
        before = picture.get_attribute("src")
        handle.scroll_into_view_if_needed()
        handle.focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function(
            "([picture, before]) => picture.src !== before && picture.complete",
            arg=[picture.element_handle(), before],
            timeout=30 * SECONDS,
        )
        assert picture.evaluate("picture => picture.naturalWidth") > 0
        explorer.evaluate("part => part.scrollIntoView({block: 'center'})")  # for the screenshot
