"""Ten claims of the ledger as cards: a tap is a guess, and the verdict is there at once.

The forms are those of lessons and ledger, under the same keys; ``site/static/cards.js`` makes a
deck of them.
"""

import site_ledger
from site_html import macros
from site_page import Page

from course_lab.recorded_claims import read_claims

HERE = "<!-- cards -->"
# Short claims that need no other sentence, in an order in which verdicts do not repeat for long.
# Three are false, three true and four depend: one answer to all is no strategy.
CHOSEN = ("C01", "C32", "C34", "C16", "C64", "C40", "C36", "C02", "C07", "C42")


def page(markdown: str) -> Page:
    """The page, with its cards.

    Raises:
        KeyError: with the id of a chosen claim that no lesson settles any more.
    """
    claims = {claim["id"]: claim for claim in read_claims()}
    entries = [site_ledger.entry(claims[key]) for key in CHOSEN]
    return Page("myths", "", markdown.replace(HERE, str(macros("myths.html").cards(entries))))
