"""What two published models share: weights that stay, and an encoding that can be exchanged."""

import copy
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn

from course_utils import validation
from course_utils.attention.attention import Weights
from course_utils.attention.kv_cache import KVCache, layer_caches, places_of
from course_utils.devices import isolated_rng
from course_utils.encodings import PositionalEncoding
from course_utils.encodings.positions import Positions

Tokens = Integer[Tensor, "batch seq"]
Mask = Bool[Tensor, "batch keys"]
Hidden = Float[Tensor, "batch seq d_model"]
Model = TypeVar("Model", bound="Published")


class Published(nn.Module):
    """Word embeddings, layers with attention, published weights in float32, and one encoding.

    It is made in evaluation mode and takes no gradients, and neither does an encoding from the
    moment that it is in here. ``requires_grad_`` of what is to learn changes that.

    Args:
        encoding: for all layers; where each needs its own, it is the first one's, the others get
            copies.
        weights: by the names that they have in here.
        tokenizer: of the package ``tokenizers``.
    """

    words: nn.Embedding
    layers: nn.ModuleList
    first_norm: nn.Module  # after door 1
    last_norm: nn.Module

    def __init__(
        self, encoding: PositionalEncoding, weights: Mapping[str, Tensor], tokenizer: Any
    ) -> None:
        super().__init__()
        what = "a PositionalEncoding, as create(…) makes it"
        validation.instance("encoding", encoding, PositionalEncoding, what)
        self.encoding, self.tokenizer = encoding, tokenizer
        with torch.device("meta"):  # no memory for weights that are replaced at once
            self._build()
        of_encoding = {
            name: weight
            for name, weight in self.state_dict(keep_vars=True).items()
            if _is_of_encoding(name)
        }
        self.load_state_dict({**of_encoding, **weights}, assign=True)
        self.to(self.words.weight.device).eval().requires_grad_(False)

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse to exchange ``encoding``, which attention would not notice."""
        if name == "encoding" and hasattr(self, "encoding"):
            raise AttributeError(
                "encoding is set when the model is made, attention keeps its own; make another "
                f"model by with_encoding(…), got {value!r}"
            )
        super().__setattr__(name, value)

    def _build(self) -> None:
        """Make all modules, with an encoding of :meth:`_for_each` in each layer's attention."""
        raise NotImplementedError

    def _for_each(self, layers: int) -> list[PositionalEncoding]:
        if self.encoding.shared:
            return [self.encoding] * layers
        copies = [copy.deepcopy(self.encoding) for _ in range(layers - 1)]
        return [self.encoding, *copies]

    def hidden(
        self,
        tokens: Tokens,
        positions: Positions | None = None,
        cache: Sequence[KVCache] | None = None,
        attention_mask: Mask | None = None,
    ) -> Hidden:
        """The last vectors. Hooks on ``layers`` show what comes before.

        Arguments as for :class:`course_utils.models.TinyTransformer`.
        """
        return self._read(tokens, positions, cache, attention_mask)[0]

    def hidden_and_weights(
        self,
        tokens: Tokens,
        positions: Positions | None = None,
        cache: Sequence[KVCache] | None = None,
        attention_mask: Mask | None = None,
    ) -> tuple[Hidden, tuple[Weights, ...]]:
        """The last vectors, and the attention weights of every layer."""
        return self._read(tokens, positions, cache, attention_mask, need_weights=True)

    def _read(
        self,
        tokens: Tensor,
        positions: Tensor | None = None,
        cache: Sequence[KVCache] | None = None,
        attention_mask: Tensor | None = None,
        need_weights: bool = False,
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        ids = validation.token_ids("tokens", tokens, self.words.num_embeddings)
        caches = layer_caches(cache, len(self.layers))
        at = places_of(ids, positions, caches[0], attention_mask)  # one for all layers
        x = self.words(ids)
        all_weights = []
        layers = cast("Iterable[Any]", self.layers)
        for number, (layer, layer_cache) in enumerate(zip(layers, caches, strict=True)):
            if number == 0 or self.encoding.every_layer:
                x = layer.attention.encoding.embed(x, at.embedding_positions, ids)
            if number == 0:
                x = self.first_norm(x)
            x, weights = layer(x, at, layer_cache, need_weights)
            if weights is not None:
                all_weights.append(weights)
        return self.last_norm(x), tuple(all_weights)

    def with_encoding(
        self: Model, encoding: PositionalEncoding | None = None, **options: Any
    ) -> Model:
        """The same weights, not copied, with another encoding, or with other options of its own.

        Args:
            encoding: in place of the present one; made for this model's d_model and n_heads.
            **options: of the present encoding, where none is given: ``base=10_000``,
                ``scaling=YaRN(2.0, 8192)``. What it has learned stays, and must fit.
        """
        if (encoding is None) == (not options):
            got = "both" if options else "neither"
            raise TypeError(f"with_encoding takes an encoding or options of its own, got {got}")
        weights = self.state_dict()
        if encoding is None:
            encoding = self._encoding_with(options)
        else:
            weights = {name: w for name, w in weights.items() if not _is_of_encoding(name)}
        return type(self)(encoding, weights, self.tokenizer)

    def _encoding_with(self, options: Mapping[str, Any]) -> PositionalEncoding:
        """The present encoding made anew with other options; its parameters keep their shapes."""
        present = self.encoding
        for name in options:
            validation.choice(f"option of {type(present).__name__}", name, present.options)
        with isolated_rng():
            changed = type(present)(
                present.d_model, present.n_heads, **{**present.options, **options}
            )
        shapes = [list(parameter.shape) for parameter in present.parameters()]
        new_shapes = [list(parameter.shape) for parameter in changed.parameters()]
        if shapes != new_shapes:
            raise ValueError(
                f"options must keep what is learned in shape, {shapes}, got {new_shapes}"
            )
        return changed


def blank(rows: int, width: int) -> nn.Embedding:
    """An embedding to be filled. Its own start, on no device, would import half of PyTorch."""
    return nn.Embedding.from_pretrained(torch.empty(rows, width))


def renamed(weights: Mapping[str, Tensor], pairs: Mapping[str, str]) -> dict[str, Tensor]:
    """The same tensors; parts of their names are replaced, by the first of ``pairs`` that fits."""
    pattern = re.compile("|".join(map(re.escape, pairs)))
    return {
        pattern.sub(lambda match: pairs[match[0]], name): weight for name, weight in weights.items()
    }


def _is_of_encoding(name: str) -> bool:
    """Whether a weight of this name belongs to an encoding."""
    return "encoding." in name
