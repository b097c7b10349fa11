"""The page "The course in twelve pictures"."""

from pathlib import Path

from site_outputs import Outputs
from site_page import Page
from twelve_pictures import HERE, lessons, picture_cell

# The panels that the two sentences are about, which a phone shows alone; with none, the whole.
ON_PHONES: dict[str, list[int]] = {
    "02_sinusoidal": [],
    "03_learned": [6],
    "04_relative": [],
    "06_alibi": [1],
    "07_train_short_test_long": [2],
    "08_stretching_rope": [2],
    "11_capstone": [15, 16],
}


def page(text: str, root: Path) -> Page:
    """The page, from what is written by hand on it."""
    files: dict[str, bytes] = {}
    entries = []
    for lesson in lessons(root):
        outputs = Outputs(lesson.name, "", ON_PHONES.get(lesson.name))
        cell = picture_cell(root, lesson.name)
        cell.outputs = [part for part in cell.outputs if "image/png" in part.get("data", {})]
        pictures = outputs.blocks(cell)
        files |= outputs.files
        heading = f"## [{lesson.title.heading}]({lesson.name}.md)"
        entries += [heading, f"*{lesson.title.question}*", *pictures, " ".join(lesson.sentences)]
    return Page("pictures", "", text.replace(HERE, "\n\n".join(entries)), files)
