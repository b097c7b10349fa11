"""Numbers that stand in a long text and are asked for at its end, in nats a digit.

Four digits drawn at random have a guess of known cost, ln 10 = 2.30 nats a digit, and numbers that
do not stand in the text are asked for beside those that do.
"""

from __future__ import annotations

import copy
from functools import partial

import torch
from torch.nn import functional as F

from course_experiments.published_tables import Row, read_while_growing, stretched
from course_utils.models.transformer import Tokens
from course_utils.pretrained import SmolLM2

CITIES = (
    "Accra",
    "Cairo",
    "Delhi",
    "Dublin",
    "Hanoi",
    "Kyoto",
    "Lima",
    "Oslo",
    "Paris",
    "Quito",
    "Rome",
    "Sofia",
    "Tokyo",
    "Tunis",
    "Vienna",
    "Warsaw",
)
IN_TEXT = 8  # of the cities have a number in the text
DIGITS = 4
SHORTEST = 64 * IN_TEXT  # tokens: room for a sentence each
SENTENCE = "\n\nThe secret number of {} is"


@torch.no_grad()
def haystack(model: SmolLM2, tokens: Tokens, way: str) -> list[Row]:
    """A row a city: where its number stands, and how well it is known at the end.

    Eight sentences replace as many tokens of the text, at equal distances. Which cities they name
    and which numbers follows from the text. Each question is asked on its own, after the whole
    text, read by one of the ``STRETCHES``.
    """
    generator = torch.Generator().manual_seed(int(tokens.sum()))
    cities = [CITIES[i] for i in torch.randperm(len(CITIES), generator=generator).tolist()]
    digits = torch.randint(10, (len(CITIES), DIGITS), generator=generator).tolist()
    sentences = [
        f"{SENTENCE.format(city)} {''.join(map(str, number))}"
        for city, number in zip(cities, digits, strict=True)
    ]
    step = tokens.shape[1] // IN_TEXT
    places = [step // 4 + step * i for i in range(IN_TEXT)]
    text = tokens.clone()
    for place, sentence in zip(places, sentences, strict=False):
        inserted = model.encode(f"{sentence}.\n\n")
        text[:, place : place + inserted.shape[1]] = inserted
    reader, start, _ = stretched(model, way, tokens.shape[1])
    cache = reader.new_cache()
    read = reader.hidden if reader.encoding.static_keys else partial(read_while_growing, reader)
    read(text[:, start:], cache=cache)
    places += [-1] * (len(CITIES) - IN_TEXT)
    rows = []
    for place, city, sentence in zip(places, cities, sentences, strict=True):
        question = model.encode(sentence)
        copies = [copy.copy(layer_cache) for layer_cache in cache]
        hidden = reader.hidden(question[:, :-1], cache=copies)
        logits = reader.logits(hidden[0, -DIGITS:])
        answer = question[0, -DIGITS:]
        loss = round(float(F.cross_entropy(logits, answer)), 5)
        right = int((logits.argmax(-1) == answer).sum())
        rows.append({"city": city, "place": place, "loss": loss, "right": right})
    return rows
