"""The site's trained model as files in a folder, and its JavaScript run in Chromium."""

import threading
from pathlib import Path
from typing import Any

import build_site
import pytest
import site_live
from browser import chromium, find_chromium

# For each request: the loss of each of `count` bytes from `first` on, in windows of n.
LOSSES = """async ({ passage, requests }) => {
  const { readModel } = await import("/model.js");
  const model = readModel(await (await fetch("model.safetensors")).arrayBuffer());
  const text = Uint8Array.from(passage, (character) => character.charCodeAt(0));
  return requests.map(({ first, count, n, turning }) =>
    model.losses(text, first, count, n, turning));
}"""


def write(folder: Path) -> None:
    """Put what the site has for its live models into a folder."""
    for path, content in site_live.files(site_live.PLACES).items():
        (folder / Path(path).name).write_bytes(content)


def losses(folder: Path, requests: list[dict[str, Any]]) -> list[list[float]]:
    """What model.js answers to each request."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not find_chromium():
        pytest.skip("no Chromium on PATH; ORDER_MATTERS_CHROMIUM can name one")
    write(folder)
    (folder / "index.html").write_text("<title>empty</title>", encoding="utf-8")
    with (
        build_site.server(folder) as server,
        playwright.sync_playwright() as play,
        chromium(play) as browser,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/index.html")
        passage = site_live.passage()["text"]
        answers = page.evaluate(LOSSES, {"passage": passage, "requests": requests})
        server.shutdown()
    return answers
