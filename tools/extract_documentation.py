"""Cut the course's text to read out of the Python that runs this: data/documentation.txt.

    python tools/extract_documentation.py

``pydoc_data.topics`` holds chapters of Python's language reference, which differ from version to
version; so the course ships one version. Many paragraphs stand in several chapters. Each is kept
once, or a model could be tested on what it was trained on. The file's line in data/sha256.txt is
written anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from pydoc_data.topics import topics

from extract_position_table import DATA, record


def once(chapters: Iterable[str]) -> str:
    """The paragraphs of all chapters in order, each the first time that it comes."""
    kept: dict[str, str] = {}
    for chapter in chapters:
        for paragraph in chapter.split("\n\n"):
            words = " ".join(paragraph.split())
            if words:
                kept.setdefault(words, paragraph.strip("\n"))
    return "\n\n".join(kept.values()) + "\n"


def extract(data: Path = DATA) -> Path:
    target = data / "documentation.txt"
    target.write_bytes(once(topics[name] for name in sorted(topics)).encode())
    record(target)
    return target


if __name__ == "__main__":
    print(extract())
