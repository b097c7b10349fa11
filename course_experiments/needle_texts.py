"""Numbers that are told in a long text and asked for at its end, in nats a digit.

Four digits drawn at random have a guess of known cost, ln 10 = 2.30 nats a digit, and numbers that
the text never tells are asked for beside those that it does.
"""

from __future__ import annotations

import copy
from functools import partial

import torch
from torch.nn import functional as F

from course_experiments.model_readings import Row, read_while_growing, stretched
from course_utils.pretrained import SmolLM2
from course_utils.pretrained.published import Tokens

CITIES = (
    "Accra", "Cairo", "Delhi", "Dublin", "Hanoi", "Kyoto", "Lima", "Oslo",
    "Paris", "Quito", "Rome", "Sofia", "Tokyo", "Tunis", "Vienna", "Warsaw",
)  # fmt: skip
TOLD = 8  # of them
DIGITS = 4
SHORTEST = 64 * TOLD  # tokens: room for a sentence each
SENTENCE = "\n\nThe secret number of {} is"


@torch.no_grad()
def haystack(model: SmolLM2, tokens: Tokens, way: str) -> list[Row]:
    """A row for each city: where its number was told, and how well it is known at the end.

    Eight sentences replace as many tokens of the text, at equal distances. Which cities they name
    and which numbers follows from the text. Each question is asked on its own, after the whole
    text, read by one of the ``STRETCHES``.
    """
    draw = torch.Generator().manual_seed(int(tokens.sum()))
    cities = [CITIES[i] for i in torch.randperm(len(CITIES), generator=draw).tolist()]
    drawn = torch.randint(10, (len(CITIES), DIGITS), generator=draw).tolist()
    answers = ["".join(map(str, digits)) for digits in drawn]
    text, step = tokens.clone(), tokens.shape[1] // TOLD
    places = [step // 4 + step * i for i in range(TOLD)] + [-1] * (len(CITIES) - TOLD)
    for place, city, answer in list(zip(places, cities, answers, strict=True))[:TOLD]:
        sentence = model.encode(f"{SENTENCE.format(city)} {answer}.\n\n")
        text[:, place : place + sentence.shape[1]] = sentence
    reader, start, _ = stretched(model, way, tokens.shape[1])
    cache = reader.new_cache()
    read = reader.hidden if reader.encoding.static_keys else partial(read_while_growing, reader)
    read(text[:, start:], cache=cache)
    rows = []
    for place, city, answer in zip(places, cities, answers, strict=True):
        asked = model.encode(f"{SENTENCE.format(city)} {answer}")
        x = reader.hidden(asked[:, :-1], cache=[copy.copy(one) for one in cache])
        logits = F.linear(x[0, -DIGITS:], model.words.weight)
        wanted = asked[0, -DIGITS:]
        rows.append(
            {
                "city": city,
                "place": place,
                "loss": round(float(F.cross_entropy(logits, wanted)), 5),
                "right": int((logits.argmax(-1) == wanted).sum()),
            }
        )
    return rows
