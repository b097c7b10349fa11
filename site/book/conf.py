"""How Sphinx makes the book of the pages that tools/build_book.py has written.

It reads Markdown as the site does, whose configuration this one starts from.
"""

import runpy
from pathlib import Path

globals().update(runpy.run_path(str(Path(__file__).parents[1] / "conf.py")))

extensions = [*globals()["extensions"], "book_page"]  # tools/book_page.py
suppress_warnings = ["myst.xref_missing"]  # a link to a page that the book lacks becomes text
html_theme = "basic"
html_theme_options = {}
html_css_files = ["book.css"]
html_js_files = []
html_favicon = None
html_sidebars = {"**": []}
html_use_index = html_domain_indices = False
pygments_style = "a11y-high-contrast-light"

epub_basename = "order-matters"
epub_theme = "epub"
epub_css_files = ["book.css"]
epub_title = "Order Matters: an interactive course on positional encodings"
epub_author = epub_publisher = author = "The Order Matters authors"
epub_copyright = "Text and figures: CC BY 4.0. Code: MIT."
epub_identifier = epub_uid = "order-matters"
epub_scheme = "name"
epub_description = "How a transformer learns where each word stands, by experiment"
epub_contributor = epub_author
epub_show_urls = "no"
epub_use_index = False
epub_tocdepth = 2
epub_tocscope = "includehidden"
