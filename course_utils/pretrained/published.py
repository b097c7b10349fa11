"""What two published models share: weights that stay, and an encoding that can be exchanged."""

import copy
import re
from collections.abc import Mapping
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from course_utils import validation
from course_utils.devices import isolated_rng
from course_utils.encodings import PositionalEncoding
from course_utils.models.transformer import Stack

Model = TypeVar("Model", bound="Published")


class Published(Stack):
    """Embedding, blocks with attention, published weights in float32, and one encoding.

    It is made in evaluation mode and takes no gradients, and neither does an encoding from the
    moment that it is in here. ``requires_grad_`` of what is to learn changes that.

    Args:
        encoding: for all layers; where each needs its own, the first's, and copies for the others.
        weights: by the names that they have in here.
        tokenizer: of the package ``tokenizers``.
    """

    def __init__(
        self, encoding: PositionalEncoding, weights: Mapping[str, Tensor], tokenizer: Any
    ) -> None:
        super().__init__()
        what = "a PositionalEncoding, as create(…) makes it"
        validation.instance("encoding", encoding, PositionalEncoding, what)
        self.encoding, self.tokenizer = encoding, tokenizer
        with torch.device("meta"):  # no memory for weights that are replaced at once
            self._build()
        state = self.state_dict(keep_vars=True)
        of_encoding = {name: state[name] for name in filter(_is_of_encoding, state)}
        self.load_state_dict({**of_encoding, **weights}, assign=True)
        self.to(self.embedding.weight.device).eval().requires_grad_(False)

    def _build(self) -> None:
        """Make all modules, with an encoding of :meth:`_for_each` in each block's attention."""
        raise NotImplementedError

    def _for_each(self, blocks: int) -> list[PositionalEncoding]:
        if self.encoding.shared:
            return [self.encoding] * blocks
        return [self.encoding, *(copy.deepcopy(self.encoding) for _ in range(blocks - 1))]

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
        arguments = {**present.options, **options}
        with isolated_rng():
            changed = type(present)(present.d_model, present.n_heads, **arguments)
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
    return "encoding." in name
