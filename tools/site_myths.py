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
# Of each the verdict in a sentence; the numbers are folded below it.
CHOSEN = {
    "C01": "Each word's output moves with the word: the outputs are the same, in another order.",
    "C32": "RoPE turns queries and keys. It learns nothing, and a turn changes no length.",
    "C34": "A small model's loss rises as soon as it reads past the length that it was trained on.",
    "C16": "Positions counted from 1 start so. Counted from 0 the first row is 0, 1.",
    "C64": "A key so far behind costs as much as one so far ahead: a mirrored text gives the "
    "mirrored output.",
    "C40": "It loses little, but it does lose: the loss past the trained length is clearly higher.",
    "C36": "Trained weights fit one layout. With the other they read wrongly, until they are "
    "reordered.",
    "C02": "Without a mask they are. Behind a causal mask a word has other words before it, and "
    "its weights change.",
    "C07": "Of all the positions compared, no two have the same vector.",
    "C42": "The formula is right for a power of two. For other numbers of heads the paper's code "
    "takes other slopes.",
}


def page(markdown: str) -> Page:
    """The page, with its cards.

    Raises:
        KeyError: with the id of a chosen claim that no lesson settles any more.
    """
    claims = {claim["id"]: claim for claim in read_claims()}
    entries = [site_ledger.entry(claims[key]) for key in CHOSEN]
    false_ones = sum(claim["verdict"] == "false" for claim in claims.values())
    deck = macros("myths.html").cards(entries, CHOSEN, f"{false_ones} of {len(claims)}")
    return Page("myths", "", markdown.replace(HERE, str(deck)))
