"""Sentences, vectors for their words, and a small task that needs word order."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_utils import validation
from course_utils.encodings.base import Positions
from course_utils.models import TinyTransformer
from course_utils.models.transformer import Tokens

FIRST_GROUP = ("John", "Paul", "Omar", "Wei", "Ivan", "Kofi", "Luis", "Sam")
SECOND_GROUP = ("Mary", "Anna", "Aisha", "Mei", "Olga", "Ama", "Rosa", "Kim")
VERBS = ("loves", "helps", "calls", "trusts")

CAT_ON_MAT = ("the", "cat", "sat", "on", "the", "mat")
BUFFALO = ("Buffalo", "buffalo", "Buffalo", *["buffalo"] * 3, "Buffalo", "buffalo")


def word_vectors(words: Sequence[str], d_model: int) -> Float[Tensor, "words d_model"]:
    """One random vector a word, the same wherever the word stands."""
    width = validation.integer("d_model", d_model)
    validation.integer("number of words", len(words))

    def vector(word: str) -> Tensor:
        seed = zlib.crc32(word.encode())
        return torch.randn(width, generator=torch.Generator().manual_seed(seed))

    return torch.stack([vector(word) for word in words])


def reordering(words: Sequence[str], other: Sequence[str]) -> Int[Tensor, " words"]:
    """The permutation that turns one order of words into another: other[i] = words[perm[i]].

    Both hold the same words. A word that occurs twice keeps its order.
    """
    if sorted(words) != sorted(other):
        raise ValueError(f"other must hold the words of {list(words)}, got {list(other)}")
    places: dict[str, list[int]] = {}  # word → where it stands and is not taken yet
    for place, word in enumerate(words):
        places.setdefault(word, []).append(place)
    return torch.tensor([places[word].pop(0) for word in other])


class WhoLovesWhom(NamedTuple):
    """Three-word sentences in both orders, and who acts in each.

    Every sentence stands beside its reversal, and no pair of names is in both sets.
    """

    words: tuple[str, ...]  # the vocabulary; a token id is a place in it
    train: Int[Tensor, "train words"]  # token ids, a sentence a row
    train_labels: Int[Tensor, " train"]  # 1 if a name of the first group acts, else 0
    test: Int[Tensor, "test words"]
    test_labels: Int[Tensor, " test"]

    def to(self, device: torch.device) -> WhoLovesWhom:
        """The same task with its tensors on another device."""
        return WhoLovesWhom(self.words, *(part.to(device) for part in self[1:]))


def who_loves_whom(seed: int = 0, full_stop: bool = False) -> WhoLovesWhom:
    """Sentences such as John loves Mary, both ways, for 8 × 8 names and 4 verbs, split 3 : 1.

    With ``full_stop`` each has a fourth token, which is always the same.
    """
    words = FIRST_GROUP + SECOND_GROUP + VERBS + (".",) * full_stop
    ids = {word: place for place, word in enumerate(words)}
    ending = [ids["."]] if full_stop else []
    pairs = [(ids[a], ids[b]) for a in FIRST_GROUP for b in SECOND_GROUP]
    order = torch.randperm(len(pairs), generator=torch.Generator().manual_seed(seed)).tolist()

    def sentences(numbers: list[int]) -> tuple[Tensor, Tensor]:
        rows, labels = [], []
        for number in numbers:
            first, second = pairs[number]
            for verb in VERBS:
                for actor, other in ((first, second), (second, first)):
                    rows.append([actor, ids[verb], other, *ending])
                labels += [1, 0]
        return torch.tensor(rows), torch.tensor(labels)

    cut = len(pairs) * 3 // 4
    return WhoLovesWhom(words, *sentences(order[:cut]), *sentences(order[cut:]))


def mean_row(rows: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch d_model"]:
    """The mean of a text's rows, which forgets their order."""
    return rows.mean(dim=1)


class SentenceClassifier(nn.Module):
    """A TinyTransformer and a linear layer that classifies what ``read`` takes of its rows.

    Args:
        read: from the hidden states, (batch, seq, d_model), to one vector a text.
    """

    def __init__(
        self,
        body: TinyTransformer,
        read: Callable[[Tensor], Tensor] = mean_row,
        n_classes: int = 2,
    ) -> None:
        super().__init__()
        self.body, self.read = body, read
        self.head = nn.Linear(body.embedding.embedding_dim, n_classes)

    def forward(
        self, tokens: Tokens, positions: Positions | None = None
    ) -> Float[Tensor, "batch n_classes"]:
        """One score a class for each sentence; positions are 0, 1, … if none are given."""
        return self.head(self.read(self.body.hidden(tokens, positions)))

    def accuracy(
        self, tokens: Tokens, labels: Int[Tensor, " batch"], positions: Positions | None = None
    ) -> float:
        """Share of sentences classified as their label says, between 0 and 1."""
        with torch.no_grad():
            return float((self(tokens, positions).argmax(-1) == labels).float().mean())
