"""How Sphinx makes HTML of the pages that tools/build_site.py has written. Nothing is fetched."""

import posixpath
import re
from pathlib import Path

from sphinx.search.en import SearchEnglish

project = "Order Matters"
author = "The Order Matters authors"
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # MathJax itself
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
]
# A lesson's Markdown is Jupyter's: what only MyST knows is switched off.
myst_enable_extensions = ["dollarmath"]
myst_disable_syntax = ["myst_line_comment", "myst_block_break", "myst_target", "myst_role"]
myst_dmath_allow_labels = False
myst_dmath_double_inline = True
myst_heading_anchors = 3
smartquotes_action = "D"  # dashes only: the lessons have their own quotes

html_theme = "furo"
html_title = "Order Matters"
html_static_path = ["static", "build/source/_static"]
html_css_files = ["site.css"]
html_favicon = "static/favicon.svg"
html_js_files = [
    (file, {"defer": "defer"})
    for file in ("questions.js", "site.js", "filters.js", "cards.js", "terms.js")
]
html_search_scorer = str(Path(__file__).parent / "search.js")
html_use_index = True
html_domain_indices = False  # of modules: the reference lists them
html_copy_source = html_show_sourcelink = False
html_show_sphinx = html_show_copyright = False
html_theme_options = {
    "navigation_with_keys": False,
    "light_logo": "mark.svg",
    "dark_logo": "mark-dark.svg",
    "light_css_variables": {
        "color-brand-primary": "#8a1a5e",
        "color-brand-content": "#8a1a5e",
        "color-brand-visited": "#8a1a5e",
        "color-highlight-on-target": "#f8e6f0",
        "font-stack": "system-ui, 'Segoe UI', Roboto, sans-serif",
    },
    "dark_css_variables": {
        "color-brand-primary": "#f49ac8",
        "color-brand-content": "#f49ac8",
        "color-brand-visited": "#f49ac8",
        "color-highlight-on-target": "#3a1f2f",
        "color-background-primary": "#111111",  # as the paper of figures in the dark
    },
}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

# MathJax 3.2 takes what Sphinx writes for version 4. Formulas need no menu, and no tab stop each.
mathjax_options = {"defer": "defer"}
mathjax4_config = {"options": {"enableMenu": False}}

LESSON = re.compile(r"\d\d_\w+")
CLOSER = re.compile(r"closer/(\d\d)_\w+")
NUMBERED = re.compile(r"(?<=<h1>)(\d\d) · ")  # the heading of a lesson
PER_CENT = re.compile(r"(?<=\d) %(?! ?\d)")
EMPTY_HEADING = '<th class="head"><p></p></th>'
NEXT_LINK = re.compile(r"\]\(([\w./]+)\.md")

# The reference: types as they are written, a long signature with an argument a line.
templates_path = [str(Path(__file__).parent / "templates")]  # of autosummary
add_module_names = False
maximum_signature_line_length = 80
autodoc_member_order = "bysource"
napoleon_numpy_docstring = False


class SearchWords(SearchEnglish):
    """English words, and numbers of three digits and more, in which 10,000 is 10000."""

    def split(self, input):
        return super().split(re.sub(r"(?<=\d),(?=\d{3})", "", input))

    def word_filter(self, word):
        return super().word_filter(word) or (word.isdigit() and len(word) >= 3)


def setup(app):
    """Connect what this file adds to Sphinx."""
    app.add_search_language(SearchWords)
    app.connect("autodoc-process-docstring", escape_bars)
    app.connect("html-page-context", lead_to_the_next_lesson)
    app.connect("html-page-context", head_nothing_without_words)
    app.connect("html-page-context", set_off_the_number)


def escape_bars(app, what, name, obj, options, lines):
    """Escape bars outside of code, in place: in a docstring |j - i| is an absolute value."""
    for number, line in enumerate(lines):
        parts = line.split("``")
        parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
        lines[number] = "``".join(parts)


def head_nothing_without_words(app, pagename, templatename, context, doctree):
    """The corner of a table that has no words is a cell, not a heading."""
    if "body" in context:
        context["body"] = context["body"].replace(EMPTY_HEADING, "<td></td>")


def set_off_the_number(app, pagename, templatename, context, doctree):
    """The number of a lesson has a look of its own; no line breaks before a per cent sign."""
    if "body" in context:
        context["body"] = PER_CENT.sub("\u00a0%", context["body"])
        numbered = r'<span class="om-h1-number">\1</span> '
        context["body"] = NUMBERED.sub(numbered, context["body"])


def lead_to_the_next_lesson(app, pagename, templatename, context, doctree):
    """Next and Previous go from lesson to lesson; the order of pages has closer looks between.

    A closer look leads back to its lesson, and on to where its last lines say, else to the next.
    """
    lessons = sorted(name for name in app.env.found_docs if LESSON.fullmatch(name))
    thread = [*lessons, "pictures"]  # which the book leaves out
    own = CLOSER.match(pagename)
    if own:
        back = next(name for name in lessons if name.startswith(own[1]))
        text = Path(app.env.doc2path(pagename)).read_text("utf-8").rpartition("**Next:**")[2]
        named = [posixpath.normpath(f"{pagename}/../{link}") for link in NEXT_LINK.findall(text)]
        on = thread[thread.index(back) + 1]
        others = {"prev": back, "next": next((name for name in named if name != back), on)}
    elif pagename in lessons:
        place = lessons.index(pagename)
        others = {"next": thread[place + 1]} | ({"prev": lessons[place - 1]} if place else {})
    elif pagename == "pictures":
        others = {"prev": lessons[-1]}
    else:
        return
    for key, name in others.items():
        if name not in app.env.found_docs:
            continue
        link = app.builder.get_relative_uri(pagename, name)
        context[key] = {"link": link, "title": app.env.titles[name].astext()}
