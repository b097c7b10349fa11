"""The names of encodings as readers see them."""

import re

import pytest
from explorer_modules import look

from course_lab import explorers
from course_lab.spelling import PRINTED, printed
from course_utils.encodings import NAMES
from course_utils.plots.identities import encoding_named


def test_no_name_that_is_printed_is_code():
    assert [name for name in NAMES if "_" in printed(name) or printed(name) == "none"] == []


@pytest.mark.parametrize("name", sorted(set(PRINTED) - {"none", "steep"}))
def test_a_printed_name_names_its_encoding(name):
    assert encoding_named(printed(name)) == name


@pytest.mark.parametrize("name", ["chooser", "lengths", "referee"])
def test_what_an_explorer_offers_and_tells_has_printed_names(name):
    (view,) = look(explorers.ALL[name], [{}])
    pictures = [re.sub("<[^>]*>", " ", picture["svg"]) for picture in view["pictures"]]
    shown = " ".join([view["sentence"], view["description"], *pictures])
    assert re.findall(r"\b(?:[a-z]+_[a-z_]+|rope|alibi|t5|deberta)\b", shown) == []
    assert re.search(r"RoPE|ALiBi|DeBERTa", shown)
