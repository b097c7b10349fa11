"""Cards of words: HTML beside plain text, with the colours of the theme, and wrapped at words.

Where the site has a colour of its own, that is taken.
"""

import html
import re

import IPython
import IPython.display

ASKS = "var(--jp-brand-color1, #0173b2)"
LINE = "#8c95a0"
CODE = re.compile(r"`([^`]+)`")
EMPHASIS = re.compile(r"(?<![\w*])\*(\w(?:[^*]*\w)?)\*(?![\w*])")  # and no product or power


def _readable(colour: str) -> str:
    """The colour mixed with that of text: darker in the light, lighter in the dark."""
    return f"color-mix(in srgb, {colour} 70%, currentColor)"


RIGHT = _readable("var(--om-right, var(--jp-success-color1, #2e8540))")
OTHER = _readable("var(--om-wrong, var(--jp-warn-color1, #c05600))")
TINT = f"color-mix(in srgb, {RIGHT} 14%, transparent)"  # behind what is right


def bold(text: str, colour: str = "") -> str:
    """A text as bold HTML, in the colour of its surroundings unless another is given."""
    style = f' style="color: {colour}"' if colour else ""
    return f"<b{style}>{inline(text)}</b>"


def small(text: str) -> str:
    """A text as small and pale HTML."""
    return f'<span style="font-size: 90%; opacity: 0.75">{escaped(text)}</span>'


def escaped(text: str) -> str:
    """A text as HTML."""
    return html.escape(text, quote=False)


def inline(text: str) -> str:
    """A text as HTML, in which `code` and *emphasis* are marked as in Markdown."""
    parts = CODE.split(text)  # every second one is code
    for place, part in enumerate(parts):
        marked = escaped(part)
        parts[place] = (
            f"<code>{marked}</code>" if place % 2 else EMPHASIS.sub(r"<em>\1</em>", marked)
        )
    return "".join(parts)


def card(*paragraphs: str, edge: str = LINE, background: str = "transparent") -> str:
    """HTML paragraphs in a box with a coloured left edge."""
    # JupyterLab shows a notebook that has not run yet without what names a variable or mixes.
    box = (
        f"border: 1px solid {LINE}; border-left: 4px solid {LINE}; border-left-color: {edge}; "
        f"border-radius: 6px; background: {background}; max-width: 46rem; margin: 4px 0; "
        "padding: 8px 16px"
    )
    text = "margin: 3px 0; white-space: pre-wrap"
    lines = "".join(f'<p style="{text}">{paragraph}</p>' for paragraph in paragraphs)
    return f'<div style="{box}">{lines}</div>'


def tell(text: str, as_html: str) -> None:
    """Print a text; in a notebook show it as HTML, where the front end can."""
    if IPython.get_ipython() is None:
        print(text)
    else:
        IPython.display.display({"text/plain": text, "text/html": as_html}, raw=True)
