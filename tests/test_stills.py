"""Pictures of explorers for those who have not run them: each has one, and it is what starts."""

import base64
import io

import numpy as np
import pytest
import stills
from browser import find_chromium
from nbformat.v4 import new_code_cell, new_output
from notebook_source import BuildError, find_lessons, lesson_name, read_notebook
from PIL import Image

STARTS = stills.of_the_lessons(stills.ROOT)
FAR = 12  # of 255; letters are drawn a little differently from one system to the next


def cell_that_shows(*texts: str, source: str):
    outputs = [new_output("display_data", {"text/plain": text}) for text in texts]
    return new_code_cell(source, outputs=outputs)


def brightness(png: bytes, size: tuple[int, int]) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png)).convert("L").resize(size), dtype=float)


def test_every_explorer_of_a_lesson_has_its_picture_and_no_other_is_kept():
    kept = {path.stem for path in stills.path(stills.ROOT, "any").parent.glob("*.png")}
    assert kept == set(STARTS)


def test_an_explorer_that_was_not_run_shows_its_picture_and_nothing_else_does(tmp_path):
    picture = stills.path(tmp_path, "ladder")
    picture.parent.mkdir(parents=True)
    Image.new("RGB", (3, 2), "white").save(picture)
    cell = cell_that_shows("Explorer: a ladder.", "a number", source="explorers.ladder()\nx")
    stills.put_into(cell, tmp_path)
    first, second = (output.data for output in cell.outputs)
    shown = Image.open(io.BytesIO(base64.b64decode(first["image/png"])))
    assert np.asarray(shown.convert("RGBA"))[..., 3].max() == 0, "no paper"
    assert "image/png" not in second


def test_an_explorer_without_a_picture_is_named_with_what_draws_it(tmp_path):
    cell = cell_that_shows("Explorer: a ladder.", source="explorers.ladder()")
    with pytest.raises(BuildError, match="'ladder'.*make stills"):
        stills.put_into(cell, tmp_path)


def test_the_notebooks_hold_them():
    shown = set()
    for path in find_lessons(stills.ROOT):
        notebook = read_notebook(
            stills.ROOT / "notebooks" / "solutions" / f"{lesson_name(path)}.ipynb"
        )
        for cell in notebook.cells if notebook else []:
            for output in cell.get("outputs", []):
                if output.get("data", {}).get("text/plain", "").startswith(stills.INTRODUCTION):
                    shown.add(output.data["image/png"])
    assert len(shown) == len(STARTS)


@pytest.mark.browser
def test_each_picture_is_what_the_explorer_draws_today(browser):
    for name, start in STARTS.items():
        kept, today = (
            stills.path(stills.ROOT, name).read_bytes(),
            stills.drawn(browser, name, start),
        )
        size = Image.open(io.BytesIO(kept)).size
        assert size == Image.open(io.BytesIO(today)).size, f"{name}: make stills"
        small = (size[0] // 8, size[1] // 8)
        difference = np.abs(brightness(kept, small) - brightness(today, small))
        assert difference.mean() < FAR, f"{name}: make stills"


@pytest.mark.browser
def test_a_picture_says_that_it_is_a_still_on_light_paper(browser):
    page = browser.new_page()
    page.set_content(
        stills.PAGE.format(note=stills.NOTE, module="const mount = () => {};", start=1)
    )
    main = page.locator("main")
    note = main.evaluate("main => getComputedStyle(main, '::before').content")
    assert "Run this cell" in note
    page.close()
    png = stills.drawn(browser, "ladder", STARTS["ladder"])
    pixels = np.asarray(Image.open(io.BytesIO(png)).convert("L"))
    assert np.median(pixels) > 240 and pixels[0].max() < 200, "white paper, in a frame"


@pytest.mark.skipif(find_chromium() is None, reason="Chromium is not installed")
@pytest.mark.browser
def test_a_picture_of_another_start_would_be_noticed(browser):
    size = (100, 40)
    three, nine = (
        brightness(stills.drawn(browser, "previous_token", {"k": k}), size) for k in (3, 16)
    )
    assert np.abs(three - nine).max() > 100
