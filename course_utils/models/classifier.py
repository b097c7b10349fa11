"""A transformer that answers a question about a whole sentence."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_utils.encodings.base import Positions
from course_utils.models.transformer import TinyTransformer, Tokens


class SentenceClassifier(nn.Module):
    """A TinyTransformer whose hidden states are averaged over the tokens and classified.

    The average forgets the order of the tokens, so order can only come from the encoding.
    """

    def __init__(self, body: TinyTransformer, n_classes: int = 2) -> None:
        super().__init__()
        self.body = body
        self.head = nn.Linear(body.embedding.embedding_dim, n_classes)

    def forward(
        self, tokens: Tokens, positions: Positions | None = None
    ) -> Float[Tensor, "batch n_classes"]:
        """One score a class for each sentence; positions are 0, 1, … if none are given."""
        return self.head(self.body.hidden(tokens, positions).mean(dim=1))

    def accuracy(
        self, tokens: Tokens, labels: Int[Tensor, " batch"], positions: Positions | None = None
    ) -> float:
        """Share of sentences classified as their label says, between 0 and 1."""
        with torch.no_grad():
            return float((self(tokens, positions).argmax(-1) == labels).float().mean())
