"""A transformer small enough to read in one sitting and to train in a minute."""

import copy
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn

from course_utils import validation
from course_utils.attention import MultiHeadAttention
from course_utils.attention.attention import Weights
from course_utils.attention.kv_cache import FixedCache, KVCache, layer_caches, places
from course_utils.encodings import Maker, Places, PositionalEncoding, create, maker_of, options_of
from course_utils.encodings.positions import Positions
from course_utils.models import saving

Tokens = Integer[Tensor, "batch seq"]
Hidden = Float[Tensor, "batch seq d_model"]
Logits = Float[Tensor, "batch seq vocab_size"]


_building = threading.RLock()  # PyTorch's default generator is one for all threads


@contextmanager
def apart() -> Iterator[None]:
    """Models are built in here, by one thread at a time; random numbers outside go on as before."""
    with _building, torch.random.fork_rng(devices=[]):
        yield


class Block(nn.Module):
    """Attention, then a two-layer network, each on a normalised copy added back to x."""

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
        self,
        x: Hidden,
        at: Places | None = None,
        cache: KVCache | None = None,
        need_weights: bool = False,
    ) -> Hidden | tuple[Hidden, Weights]:
        """What comes out, with ``need_weights`` the weights too; door 1 is the model's business."""
        near = self.attention_norm(x)
        at = places(x, None, cache) if at is None else at
        added, weights = self.attention(near, need_weights=need_weights, cache=cache, at=at)
        x = x + added
        x = x + self.mlp(self.mlp_norm(x))
        return x if weights is None else (x, weights)


class TinyTransformer(nn.Module):
    """Token ids in, logits over the vocabulary out, with any encoding of the course.

    Embeddings start with standard deviation 1/√d_model and are multiplied by √d_model, so their
    entries have about the size of a sinusoidal encoding's. The output layer shares their
    matrix. Both as in Vaswani et al. 2017, section 3.4. Blocks normalise before attention.

    Args:
        vocab_size: number of token ids.
        encoding: name of an encoding, see ``course_utils.encodings.NAMES``; or the class of one
            of your own, made once, or for each layer if not ``shared``; or an encoding that all
            layers share.
        d_model: width of the embeddings.
        n_layers: number of blocks.
        n_heads: attention heads a block.
        max_len: longest sequence for encodings that keep a table; the others ignore it.
        causal: True for a language model; False lets every token see every other.
        log_n: see :class:`course_utils.attention.MultiHeadAttention`.
        **options: options of an encoding given by name or class.

    Attributes:
        settings: what the constructor was given, by name.
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
        **options: Any,
    ) -> None:
        super().__init__()
        self.vocab_size = validation.integer("vocab_size", vocab_size)
        self.settings: dict[str, Any] = {
            "vocab_size": vocab_size, "encoding": encoding, "d_model": d_model,
            "n_layers": n_layers, "n_heads": n_heads, "max_len": max_len, "causal": causal,
            "log_n": log_n, **options,
        }  # fmt: skip
        if not isinstance(encoding, PositionalEncoding):
            if "vocab_size" in options_of(maker_of(encoding, "encoding")):
                options["vocab_size"] = self.vocab_size
        elif options:
            raise TypeError(
                f"options go with an encoding's name or class, not an object, got {options}"
            )
        elif not encoding.shared and n_layers != 1:
            raise ValueError(
                "encoding must be shared by all layers, or given by name or class, "
                f"got {encoding!r}"
            )
        validation.integer("n_layers", n_layers)

        def make() -> PositionalEncoding:
            if isinstance(encoding, PositionalEncoding):
                return encoding
            return create(
                encoding,
                d_model=d_model,
                n_heads=n_heads,
                max_len=max_len,
                causal=causal,
                **options,
            )

        first = make()
        own = [first] + [first if first.shared else make() for _ in range(n_layers - 1)]
        self.encoding = first
        self.embedding = nn.Embedding(vocab_size, d_model)
        nn.init.normal_(self.embedding.weight, std=d_model**-0.5)
        self.blocks = nn.ModuleList(Block(d_model, n_heads, one, causal, log_n) for one in own)
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        self.head.weight = self.embedding.weight

    def save(self, path: Path | str, dtype: torch.dtype | None = None, **notes: Any) -> None:
        """Write weights and ``settings``; arguments and errors as for ``saving.save``.

        :func:`from_file` makes the model again where its encoding was given by name.
        """
        named = isinstance(self.settings["encoding"], str)
        settings = self.settings if named else {**self.settings, "encoding": None}
        saving.save(self, path, dtype, TinyTransformer=settings, **notes)

    def load(self, path: Path | str) -> "TinyTransformer":
        """Take on the weights of a file, in place; refused as ``saving.load`` says. Returns self.

        Another way to read the same weights is asked of :func:`from_file` or :meth:`changed`.
        """
        return saving.load(self, path)

    def changed(self, **changes: Any) -> "TinyTransformer":
        """A copy with other arguments of the constructor, such as ``scaling`` or ``log_n``.

        Same weights, dtype and device, in evaluation mode; nothing that is trained is shared.
        ValueError if the weights do not fit.
        """
        settings = copy.deepcopy({**self.settings, **changes})
        with apart():
            made = type(self)(**settings)
        made.to(self.embedding.weight)
        saving.fill(made, saving.weights(self), "the model without these changes")
        return made.eval()

    def new_cache(self, capacity: int | None = None) -> list[KVCache]:
        """An empty cache for each block, to read a text piece by piece.

        With a ``capacity`` in tokens its tensors keep their shape, see
        :class:`course_utils.attention.kv_cache.FixedCache`.
        """
        return [KVCache() if capacity is None else FixedCache(capacity) for _ in self.blocks]

    def forward(
        self,
        tokens: Tokens,
        positions: Positions | None = None,
        cache: Sequence[KVCache] | None = None,
        need_weights: bool = False,
        attention_mask: Bool[Tensor, "batch keys"] | None = None,
    ) -> Logits | tuple[Logits, tuple[Weights, ...]]:
        """Logits of the next token at each place.

        Args:
            tokens: integer ids below ``vocab_size``.
            positions: of the tokens, for all texts or for each; None counts on from the cache, or
                from 0, and leaves out padding.
            cache: from :meth:`new_cache`; ``tokens`` then follow those read with it before.
            need_weights: True returns the attention weights of every block too.
            attention_mask: True where a token may be seen, False where it is padding, those of the
                cache first; see :class:`course_utils.attention.MultiHeadAttention`. What stands
                for padding in the logits means nothing.
        """
        x, weights = self._read(tokens, positions, cache, need_weights, attention_mask)
        return (self.head(x), weights) if need_weights else self.head(x)

    def hidden(
        self,
        tokens: Tokens,
        positions: Positions | None = None,
        cache: Sequence[KVCache] | None = None,
        attention_mask: Bool[Tensor, "batch keys"] | None = None,
    ) -> Hidden:
        """What the output layer sees."""
        return self._read(tokens, positions, cache, False, attention_mask)[0]

    def _read(
        self,
        tokens: Tensor,
        positions: Tensor | None,
        cache: Sequence[KVCache] | None,
        need_weights: bool,
        attention_mask: Tensor | None,
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        ids = validation.token_ids("tokens", tokens, self.vocab_size)
        caches = layer_caches(cache, len(self.blocks))
        at = places(ids, positions, caches[0], attention_mask)  # one for all layers
        x = self.embedding(ids) * self.embedding.embedding_dim**0.5
        if not self.encoding.every_layer:
            x = self.encoding.embed(x, at.words, ids)
        found = []
        for block, one in zip(cast("Iterable[Block]", self.blocks), caches, strict=True):
            if self.encoding.every_layer:
                x = block.attention.encoding.embed(x, at.words, ids)
            x = block(x, at, one, need_weights)
            if need_weights:
                x, weights = x
                found.append(weights)
        return self.norm(x), tuple(found)


def from_file(path: Path | str, **changes: Any) -> TinyTransformer:
    """The model that :meth:`TinyTransformer.save` wrote, in float32 and evaluation mode.

    Args:
        path: of the file.
        **changes: arguments of TinyTransformer that are to be others than those it was made with,
            such as ``scaling``, ``log_n`` or ``beyond``; the weights must fit.

    Raises:
        ValueError: if its encoding was given as an object and not by name, if the file holds
            another module or is of a newer version of the course, if the weights do not fit.
        OSError: as ``saving.load``.
    """
    found = saving.about(path)
    settings = found["notes"].get("TinyTransformer")
    if settings is None:
        raise ValueError(f"{path} holds no TinyTransformer: make its module, then saving.load")
    if settings["encoding"] is None:
        kind = found["parts"]["encoding"]["class"]
        raise ValueError(
            f"{path} was made with an encoding given as an object, of class {kind}: make it, then "
            "a TinyTransformer with it, then call the method load of that"
        )
    with apart():
        made = TinyTransformer(**{name: saving.scaling_of(one) for name, one in settings.items()})
    made.float().load(path).eval()
    return made.changed(**changes) if changes else made
