"""Extract data/documentation.txt, the course's text to read, from the Python that runs this.

    python -m course_experiments.extract_documentation

``pydoc_data.topics`` holds chapters of Python's language reference, which change with Python's
version, so the course ships one version. Paragraphs in several chapters are kept once, lest a model
be tested on its training data. The file's line in data/sha256.txt is updated.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from pydoc_data.topics import topics

from course_experiments.publish_results import record
from course_utils.texts import data


def without_repetitions(chapters: Iterable[str]) -> str:
    """The paragraphs of all chapters in order, each where it first occurs."""
    kept: dict[str, str] = {}
    for chapter in chapters:
        for paragraph in chapter.split("\n\n"):
            words = " ".join(paragraph.split())
            if words:
                kept.setdefault(words, paragraph.strip("\n"))
    return "\n\n".join(kept.values()) + "\n"


def extract(folder: Path = data.CLONE) -> Path:
    """Write the text into the folder and return its path."""
    target = folder / "documentation.txt"
    target.write_bytes(without_repetitions(topics[name] for name in sorted(topics)).encode())
    record(target)
    return target


if __name__ == "__main__":
    print(extract())
