"""What the two published models share: weights that stay, an encoding that can be exchanged."""

import copy
from collections.abc import Mapping
from typing import Any, Self

import torch
from torch import Tensor, nn

from course_utils import validation
from course_utils.encodings import PositionalEncoding


class Published(nn.Module):
    """A model with published weights, in float32 and evaluation mode; position is one object in it.

    Subclasses make their modules in ``_build``, every attention with what :meth:`_each` returns.

    Attributes:
        encoding: where position comes in.
        tokenizer: of the package ``tokenizers``, for ``encode`` and ``decode``.
    """

    encoding: PositionalEncoding

    def __init__(
        self, encoding: PositionalEncoding, weights: Mapping[str, Tensor], tokenizer: Any
    ) -> None:
        super().__init__()
        self.tokenizer = tokenizer
        what = "a PositionalEncoding, as create(…) makes it"
        validation.instance("encoding", encoding, PositionalEncoding, what)
        self.encoding = encoding
        with torch.device("meta"):  # no memory for weights that are replaced at once
            self._build()
        unknown = self.load_state_dict(weights, strict=False, assign=True)
        lacking = [name for name in unknown.missing_keys if "encoding." not in name]
        if lacking or unknown.unexpected_keys:
            raise ValueError(f"weights do not fit: {[*lacking, *unknown.unexpected_keys][:3]}")
        self.eval().requires_grad_(False)

    def _build(self) -> None:
        raise NotImplementedError

    def _each(self) -> PositionalEncoding:
        """The encoding for one more layer: the same for all, or a copy where each needs its own."""
        return self.encoding if self.encoding.shared else copy.deepcopy(self.encoding)

    def with_encoding(self, encoding: PositionalEncoding | None = None, **options: Any) -> Self:
        """The same weights, not copied, with another encoding, or with other options of its own.

        Args:
            encoding: in place of the present one; made for this model's d_model and n_heads.
            **options: of the present encoding, where none is given: ``base=10_000``,
                ``scaling=YaRN(2.0, 8192)``. What it has learned stays.
        """
        if (encoding is None) == (not options):
            raise TypeError(
                "with_encoding takes an encoding or options of the present one, got "
                f"{'both' if options else 'neither'}"
            )
        if encoding is None:
            old = self.encoding
            encoding = type(old)(old.d_model, old.n_heads, **{**old.options, **options})
            encoding.load_state_dict(old.state_dict())
        weights = {name: one for name, one in self.state_dict().items() if "encoding." not in name}
        device = next(iter(weights.values())).device
        return type(self)(encoding.to(device), weights, self.tokenizer)


def renamed(weights: Mapping[str, Tensor], pairs: Mapping[str, str]) -> dict[str, Tensor]:
    """The same tensors, each part of a name that is in ``pairs`` replaced, in their order."""
    found = {}
    for name, one in weights.items():
        for old, new in pairs.items():
            name = name.replace(old, new)
        found[name] = one
    return found
