"""The page "The course in twelve pictures"."""

import re
from pathlib import Path

from site_html import tag
from site_outputs import Outputs, Window
from site_page import Page
from twelve_pictures import HERE, lessons, picture_cell

# What the two sentences are about, which a phone shows alone: panels, or windows in points.
ON_PHONES: dict[str, list[int | Window]] = {
    "03_learned": [(259, 19, 396, 370)],  # the slower three hands
    "04_relative": [(0, 24, 385, 222)],  # without the exercise, below the title
    "08_stretching_rope": [2],
    "11_capstone": [(0, 0, 390, 292)],  # patients A to D
}
WIDEST = 870  # pixels as drawn: of a wider figure the page shows these parts too
DRAWN = re.compile(r"--om-drawn: (\d+)")


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
        if lesson.name in ON_PHONES and int(DRAWN.findall(pictures[0])[0]) > WIDEST:
            pictures = [tag("div", "".join(pictures), class_="om-parts")]
        heading = f"## [{lesson.title.heading}]({lesson.name}.md)"
        entries += [heading, f"*{lesson.title.question}*", *pictures, " ".join(lesson.sentences)]
    return Page("pictures", "", text.replace(HERE, "\n\n".join(entries)), files)
