"""A private JupyterLab, and Chromium on it: for tests and benchmarks of what learners touch."""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
from notebook_source import METADATA

ROOT = Path(__file__).resolve().parents[1]
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
# All cells were run, or one failed that was not meant to: the rest is left then.
DONE = """() => {
    const cells = window.jupyterapp.shell.currentWidget.content.model.toJSON().cells
        .filter(cell => cell.cell_type === 'code' && [cell.source].flat().join('').trim());
    const meant = cell => cell.metadata.tags?.includes('raises-exception');
    const raised = cell => cell.outputs.some(output => output.output_type === 'error');
    const failed = cell => raised(cell) && !meant(cell);
    return cells.some(failed) || cells.every(cell => cell.execution_count);
}"""
RUN_ALL = "() => window.jupyterapp.commands.execute('notebook:run-all-cells')"
SECONDS = 1000  # playwright counts milliseconds


def find_chromium() -> str | None:
    """Chromium's path, if there is one; ORDER_MATTERS_CHROMIUM can name it."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    named = os.environ.get("ORDER_MATTERS_CHROMIUM")
    return named or next(filter(None, map(shutil.which, names)), None)


@contextmanager
def chromium(play: Any) -> Iterator[Any]:
    """A headless Chromium, closed in the end; ``play`` is playwright's."""
    browser = play.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_FLAGS)
    try:
        yield browser
    finally:
        browser.close()


def write_notebook(path: Path, cells: list[str]) -> None:
    """Write a notebook with these cells of code, not run."""
    code = [nbformat.v4.new_code_cell(source, id=f"c{n}") for n, source in enumerate(cells)]
    nbformat.write(nbformat.v4.new_notebook(cells=code, metadata=METADATA), path)


def open_and_run(page: Any, address: str, token: str, notebook: str) -> None:
    """Open a notebook of the lab in the page, run its cells, and wait until they are done."""
    page.goto(f"{address}/doc/tree/{notebook}?token={token}&reset")
    page.wait_for_function(IDLE, timeout=90 * SECONDS)
    page.evaluate(RUN_ALL)  # it comes back early where a cell raises on purpose; the others go on
    page.wait_for_function(DONE, timeout=300 * SECONDS)
    page.wait_for_function(IDLE, timeout=90 * SECONDS)


@contextmanager
def jupyterlab(folder: Path, private: Path) -> Iterator[tuple[str, str]]:
    """A private JupyterLab on `folder`: address and token; it ends with all its kernels."""
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
                if server.poll() is not None:
                    raise RuntimeError(log.read_text("utf-8", errors="replace")) from None
                time.sleep(0.25)
        else:
            raise TimeoutError("JupyterLab did not answer within a minute")
        yield address, token
    finally:
        try:
            ask("/api/shutdown", "POST")  # a killed server would leave its kernels behind
            server.wait(30)
        except (OSError, subprocess.TimeoutExpired):
            server.kill()
            server.wait()
