"""The site's trained model as files in a folder, and its JavaScript run in Chromium."""

from pathlib import Path
from typing import Any

import build_site
import site_live

# For each request: what the model reads of `count` bytes from `first` on, in windows of n.
READ = """async ({ passage, requests }) => {
  const { readModel } = await import("/model.js");
  const model = readModel(await (await fetch("model.safetensors")).arrayBuffer());
  const text = Uint8Array.from(passage, (character) => character.charCodeAt(0));
  return requests.map(({ first, count, n, turning }) =>
    model.read(text, first, count, n, turning));
}"""


def write(folder: Path) -> None:
    """Put what the site has for its live models into a folder."""
    for path, content in site_live.files(site_live.PLACES).items():
        (folder / Path(path).name).write_bytes(content)


def read(
    browser: Any, folder: Path, requests: list[dict[str, Any]]
) -> list[list[dict[str, float]]]:
    """What model.js answers to each request: the loss of each byte, and the byte it expected."""
    write(folder)
    (folder / "index.html").write_text("<title>empty</title>", encoding="utf-8")
    with build_site.served(folder) as address:
        page = browser.new_page()
        page.goto(f"{address}/index.html")
        passage = site_live.passage()["text"]
        return page.evaluate(READ, {"passage": passage, "requests": requests})


def losses(browser: Any, folder: Path, requests: list[dict[str, Any]]) -> list[list[float]]:
    """The loss of each byte, for each request."""
    return [[byte["loss"] for byte in bytes_] for bytes_ in read(browser, folder, requests)]
