"""A transformer small enough to read in one sitting and to train in a minute."""

import copy
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, cast, overload

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils import validation
from course_utils.attention.attention import MultiHeadAttention, Weights
from course_utils.attention.kv_cache import FixedCache, KVCache, layer_caches, places_of
from course_utils.devices import isolated_rng
from course_utils.encodings import Maker, PositionalEncoding, by_layer, create, maker_of, options_of
from course_utils.encodings.positions import Places, Positions
from course_utils.models import saving

Tokens = Integer[Tensor, "batch seq"]
Mask = Bool[Tensor, "batch *queries keys"]
Hidden = Float[Tensor, "batch seq d_model"]
Logits = Float[Tensor, "batch seq vocab_size"]


class Block(nn.Module):
    """x + attention(norm(x)), then x + network(norm(x)); the network has two layers.

    Door 1 is not passed here: the model passes it before the block.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        encoding: PositionalEncoding,
        causal: bool,
        log_n: int | None = None,
    ) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(d_model)
        self.attention = MultiHeadAttention(d_model, n_heads, encoding, causal, log_n)
        self.mlp_norm = nn.LayerNorm(d_model)
        self.mlp = nn.Sequential(
            nn.Linear(d_model, 4 * d_model), nn.GELU(), nn.Linear(4 * d_model, d_model)
        )

    def forward(
        self, x: Hidden, at: Places, cache: KVCache | None = None, need_weights: bool = False
    ) -> tuple[Hidden, Weights | None]:
        """The block's output and, with ``need_weights``, its attention weights."""
        attended, weights = self.attention(
            self.attention_norm(x), need_weights=need_weights, cache=cache, at=at
        )
        x = x + attended
        return x + self.mlp(self.mlp_norm(x)), weights


class Stack(nn.Module):
    """Token ids in, vectors out: the passage through an embedding and blocks, made by subclasses.

    Hooks on ``blocks`` show what comes before the end.
    """

    encoding: PositionalEncoding  # of the first block
    embedding: nn.Embedding
    blocks: nn.ModuleList  # each called as Block
    embedding_factor = 1.0  # on what the embedding gives, before door 1
    embedding_dropout = 0.0  # in training, of the vectors that enter the first block
    first_norm: nn.Module  # after door 1 of the first block
    norm: nn.Module  # after the last block

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse to exchange ``encoding``, which attention would not notice."""
        if name == "encoding" and hasattr(self, "encoding"):
            raise AttributeError(
                "encoding is set when the model is made, attention keeps its own; make another "
                "model by changed(encoding=…) or with_encoding(…), or set "
                f"blocks[n].attention.encoding, got {value!r}"
            )
        super().__setattr__(name, value)

    def hidden_and_weights(
        self,
        tokens: Tokens,
        positions: Positions | None = None,
        cache: Sequence[KVCache] | None = None,
        attention_mask: Mask | None = None,
        need_weights: bool = True,
    ) -> tuple[Hidden, tuple[Weights, ...]]:
        """The last vectors, and the weights of every block if needed; see :meth:`hidden`."""
        ids = validation.token_ids("tokens", tokens, self.embedding.num_embeddings)
        caches = layer_caches(cache, len(self.blocks))
        at = places_of(ids, positions, caches[0], attention_mask)  # one for all blocks
        x = self.embedding(ids) * self.embedding_factor
        all_weights = []
        blocks = cast("Iterable[Block]", self.blocks)
        for number, (block, block_cache) in enumerate(zip(blocks, caches, strict=True)):
            encoding = block.attention.encoding
            if number == 0 or encoding.every_layer:
                x = encoding.embed(x, at.embedding_positions, ids)
            if number == 0:
                x = self.first_norm(x)
                x = F.dropout(x, self.embedding_dropout, self.training)
            x, weights = block(x, at, block_cache, need_weights)
            if weights is not None:
                all_weights.append(weights)
        return self.norm(x), tuple(all_weights)

    def hidden(
        self,
        tokens: Tokens,
        positions: Positions | None = None,
        cache: Sequence[KVCache] | None = None,
        attention_mask: Mask | None = None,
    ) -> Hidden:
        """The last vectors; arguments as for :meth:`TinyTransformer.forward`."""
        return self.hidden_and_weights(tokens, positions, cache, attention_mask, False)[0]

    def new_cache(self, capacity: int | None = None) -> list[KVCache]:
        """An empty cache for each block, to read a text piece by piece.

        A ``capacity`` in tokens makes each a :class:`~course_utils.attention.kv_cache.FixedCache`.
        """
        return [KVCache() if capacity is None else FixedCache(capacity) for _ in self.blocks]


class TinyTransformer(Stack):
    """Token ids in, logits over the vocabulary out, with any encoding of the course.

    Embeddings start with standard deviation 1/√d_model and are multiplied by √d_model, so their
    entries have about the size of a sinusoidal encoding's. The output layer shares their
    matrix. Both as in Vaswani et al. 2017, section 3.4. Blocks normalise before attention.

    Args:
        vocab_size: number of token ids.
        encoding: the name of an encoding, see ``course_utils.encodings.NAMES``; or a class or
            function that makes one; or an encoding object that all layers share. A name or class
            is made once if it is ``shared``, else once a layer. A class or function that takes
            an argument ``layer`` is called for each layer with its number, from 0 on.
        d_model, n_layers, n_heads: width of the embeddings, blocks, attention heads of each.
        max_len: longest sequence for encodings that keep a table; the others ignore it.
        causal: True for a language model; False lets every token see every other.
        log_n: see :class:`course_utils.attention.MultiHeadAttention`.
        embedding_dropout: share of the entries set to 0 in training, after door 1 of the first
            block; those left are divided by what is kept. Vaswani et al. 2017, section 5.4, drop
            the sum of word and position so.
        **options: options of an encoding given by name or class.

    All arguments stay in ``settings``, by name.
    """

    def __init__(
        self,
        vocab_size: int,
        encoding: str | Maker | PositionalEncoding = "rope",
        d_model: int = 128,
        n_layers: int = 4,
        n_heads: int = 4,
        max_len: int = 512,
        causal: bool = True,
        log_n: int | None = None,
        embedding_dropout: float = 0.0,
        **options: Any,
    ) -> None:
        super().__init__()
        shape = {"d_model": d_model, "n_heads": n_heads, "max_len": max_len, "causal": causal}
        others = {
            "vocab_size": vocab_size,
            "n_layers": n_layers,
            "log_n": log_n,
            "embedding_dropout": embedding_dropout,
        }
        self.settings: dict[str, Any] = {"encoding": encoding, **shape, **others, **options}
        self.vocab_size = validation.integer("vocab_size", vocab_size)
        encodings = _encoding_of_each_layer(encoding, n_layers, vocab_size, shape, options)
        self.encoding = encodings[0]
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.embedding_factor, self.first_norm = d_model**0.5, nn.Identity()
        self.embedding_dropout = validation.share("embedding_dropout", embedding_dropout)
        nn.init.normal_(self.embedding.weight, std=d_model**-0.5)
        self.blocks = nn.ModuleList(
            Block(d_model, n_heads, layer_encoding, causal, log_n) for layer_encoding in encodings
        )
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        self.head.weight = self.embedding.weight

    @overload
    def forward(
        self,
        tokens: Tokens,
        positions: Positions | None = None,
        cache: Sequence[KVCache] | None = None,
        need_weights: Literal[False] = False,
        attention_mask: Mask | None = None,
    ) -> Logits: ...
    @overload
    def forward(
        self,
        tokens: Tokens,
        positions: Positions | None = None,
        cache: Sequence[KVCache] | None = None,
        *,
        need_weights: Literal[True],
        attention_mask: Mask | None = None,
    ) -> tuple[Logits, tuple[Weights, ...]]: ...
    def forward(
        self,
        tokens: Tokens,
        positions: Positions | None = None,
        cache: Sequence[KVCache] | None = None,
        need_weights: bool = False,
        attention_mask: Mask | None = None,
    ) -> Logits | tuple[Logits, tuple[Weights, ...]]:
        """Logits of the next token at each place.

        Args:
            tokens: integer ids below ``vocab_size``.
            positions: of the tokens, for all texts or for each; None counts on from the cache, or
                from 0, and leaves out padding.
            cache: from :meth:`new_cache`; ``tokens`` then follow those read with it before.
            need_weights: True returns the attention weights of every block too.
            attention_mask: True where a token may be seen, False where it is padding, those of the
                cache first; see :class:`course_utils.attention.MultiHeadAttention`. The logits of
                padding mean nothing.
        """
        x, weights = self.hidden_and_weights(tokens, positions, cache, attention_mask, need_weights)
        return (self.head(x), weights) if need_weights else self.head(x)

    def save(self, path: Path | str, dtype: torch.dtype | None = None, **notes: Any) -> None:
        """Write weights and ``settings``; arguments and errors as for ``saving.save``.

        :func:`from_file` makes the model again where its encoding was given by name.
        """
        settings = self.settings
        if not isinstance(settings["encoding"], str):
            settings = {**settings, "encoding": None}
        saving.save(self, path, dtype, TinyTransformer=settings, **notes)

    def load(self, path: Path | str) -> "TinyTransformer":
        """Fill this model with the weights of a file and return it; errors as ``saving.load``.

        To read the same weights another way, use :func:`from_file` or :meth:`changed`.
        """
        return saving.load(self, path)

    def changed(self, **changes: Any) -> "TinyTransformer":
        """A copy with other arguments of the constructor, such as ``scaling`` or ``log_n``.

        Same weights, dtype and device, in evaluation mode; it shares no trained tensor with the
        original. ValueError if the weights do not fit.
        """
        settings = copy.deepcopy({**self.settings, **changes})
        with isolated_rng():
            model = type(self)(**settings)
        model.to(self.embedding.weight)
        saving.fill(model, saving.weights(self), "the model without these changes")
        return model.eval()


def _encoding_of_each_layer(
    encoding: str | Maker | PositionalEncoding,
    n_layers: int,
    vocab_size: int,
    shape: dict[str, Any],
    options: dict[str, Any],
) -> list[PositionalEncoding]:
    """One encoding a layer, made by ``create`` with ``shape`` and ``options`` unless it is made."""
    validation.integer("n_layers", n_layers)
    if isinstance(encoding, PositionalEncoding):
        if options:
            raise TypeError(
                f"options go with an encoding's name or class, not an object, got {options}"
            )
        if not encoding.shared and n_layers != 1:
            raise ValueError(
                "encoding must be shared by all layers, or given by name or class, "
                f"got {encoding!r}"
            )
        return [encoding] * n_layers
    arguments = {**shape, **options}
    if "vocab_size" in options_of(maker_of(encoding, "encoding")):
        arguments["vocab_size"] = vocab_size
    if by_layer(encoding):
        encodings = [create(encoding, layer=n, **arguments) for n in range(n_layers)]
        for layer, other in enumerate(encodings):  # door 1 is passed before the first alone
            same = type(other) is type(encodings[0])
            if not same and "embed" in other.doors and not other.every_layer:
                raise ValueError(
                    "encoding must open door 1 in layer 0, or at every layer (every_layer), "
                    f"got {type(other).__name__} in layer {layer}"
                )
        return encodings
    first = create(encoding, **arguments)
    if first.shared:
        return [first] * n_layers
    return [first, *(create(encoding, **arguments) for _ in range(n_layers - 1))]


def from_file(path: Path | str, **changes: Any) -> TinyTransformer:
    """The model that :meth:`TinyTransformer.save` wrote, in float32 and evaluation mode.

    ``changes`` are arguments of TinyTransformer to set differently, such as ``scaling``, ``log_n``
    or ``beyond``; the weights must fit. Raises as ``saving.load``, and ValueError if the encoding
    was given as an object and not by name, or if the file holds another module.
    """
    description = saving.about(path)
    settings = description["notes"].get("TinyTransformer")
    if settings is None:
        raise ValueError(f"{path} holds no TinyTransformer: make its module, then saving.load")
    if settings["encoding"] is None:
        kind = description["parts"]["encoding"]["class"]
        raise ValueError(
            f"{path} was made with an encoding given as an object, of class {kind}: make it, then "
            "a TinyTransformer with it, then call the method load of that"
        )
    arguments = {name: saving.scaling_of(value) for name, value in settings.items()}
    with isolated_rng():
        model = TinyTransformer(**arguments)
    model.float().load(path).eval()
    return model.changed(**changes) if changes else model
