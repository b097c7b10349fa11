"""A pair of RoPE in a published model, replaced by a straight price on distance, head for head.

    python -m course_experiments.pair_prices results/pair_prices

writes real_prices.csv there: the loss of SmolLM2 where pair 23 no longer turns, and where each
head gets a straight price in its place. The price is the line that comes nearest to what the
head's mean query and mean key score by distance in this pair, measured at places of
documentation.txt from which no text is read. About half an hour on one core; the same command goes
on where it was stopped.
"""

import itertools
import sys
import sysconfig
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from course_experiments.growing_table import GrowingTable
from course_experiments.published_groups import STOPPED, groups
from course_utils import pretrained
from course_utils.encodings import Places, Rotary
from course_utils.encodings.base import Bias, Keys, Queries
from course_utils.encodings.functional import rope_frequencies
from course_utils.models.transformer import Tokens
from course_utils.pretrained import SmolLM2
from course_utils.pretrained.ablation import StoppedPairs
from course_utils.results import AS_TRAINED
from course_utils.texts import data

PAIR = 23
READ = 4096  # tokens
PLACES = 8  # of real_pairs.csv, evenly spread over the documentation
LIBRARY = Path(sysconfig.get_path("stdlib"))
# A text → its files and the place where the reading begins.
TEXTS = {
    "documentation": ([data.CLONE / "documentation.txt"], 3),
    "argparse.py": ([LIBRARY / "argparse.py"], 0),
    "licences": ([data.CLONE / "LICENSE-Apache-2.0", data.CLONE.parent / "LICENSE-text"], 0),
}
PRICE, FIRST_PAYS, SHUFFLED = "price", "price, first token pays", "price of other heads"
MEAN = "mean price"  # of all heads, in each head
EVEN = "price without distance"  # every key but the first pays the same
WAYS = (AS_TRAINED, STOPPED, PRICE, SHUFFLED, MEAN, FIRST_PAYS, EVEN)


class PricedPair(Rotary):
    """RoPE whose pair of neighbours ``pair`` does not turn, with a price on distance in its place.

    Each head adds slope · (i − j) to the score of key j for query i: a price where its slope is
    below 0. The first token of a text is free of it, unless ``first_pays``. Texts are read from
    their first token on, without a cache.

    Args:
        slopes: in score per position, one a head.
        pair: its number, 0 the fastest. The others are as for ``Rotary``.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        base: float = 10000.0,
        *,
        slopes: Float[Tensor, " n_heads"],
        pair: int = 0,
        first_pays: bool = False,
    ) -> None:
        super().__init__(d_model, n_heads, base, "interleaved", scaling=StoppedPairs(pair, pair))
        self.slopes, self.pair, self.first_pays = slopes, pair, first_pays

    def bias(self, q: Queries, k: Keys, at: Places) -> Bias:
        """Return slope · (i − j), (1, heads, q_len, k_len)."""
        price = -self.slopes.to(q)[:, None, None] * at.offsets
        return price[None] if self.first_pays else price.masked_fill(at.k == 0, 0)[None]


class EvenPrice(PricedPair):
    """The mean of a query's prices for all its keys but the first: they pay alike, it is free."""

    def bias(self, q: Queries, k: Keys, at: Places) -> Bias:
        """Return slope · (i − 1) / 2 for each key but the first, (1, heads, q_len, k_len)."""
        price = self.slopes.to(q)[:, None, None] * ((at.q[:, None] - 1) / 2).clamp(min=0)
        return price.masked_fill(at.k == 0, 0)[None]


def slopes_of_pair(places: list[int]) -> Float[Tensor, "layers heads"]:
    """The straight price of pair 23 in each head, in score per position, below 0 for a price.

    The least-squares line through what the mean query and the mean key score by distance, from 0
    to ``READ`` − 1, their product a mean over these places.
    """
    rows = data.results("real_pairs").query("seed in @places")
    means = rows.groupby(["layer", "head"])[[f"real_{PAIR}", f"imaginary_{PAIR}"]].mean()
    product = torch.complex(*(torch.tensor(means[column].to_numpy()) for column in means))
    theta = rope_frequencies(64, base=100_000.0)[PAIR]
    distance = torch.arange(READ, dtype=torch.float64)
    scores = (product[:, None] * torch.exp(1j * theta * distance)).real  # (heads, distances)
    centred = distance - distance.mean()
    lines = scores @ centred / centred.square().sum()
    return lines.view(-1, len(means.loc[0]))  # means.loc[0] has the heads of layer 0


def reading(model: SmolLM2, text: str) -> tuple[Tokens, Float[Tensor, "layers heads"]]:
    """The tokens of a text, and the prices measured where it does not begin."""
    files, place = TEXTS[text]
    tokens = model.encode("\n".join(file.read_text(encoding="utf-8") for file in files))
    start = place * tokens.shape[1] // PLACES
    covered = [place] if text == "documentation" else []
    prices = slopes_of_pair([other for other in range(PLACES) if other not in covered])
    return tokens[:, start : start + READ], prices


def changed(model: SmolLM2, way: str, prices: Float[Tensor, "layers heads"]) -> SmolLM2:
    """The model with its pair as one of ``WAYS`` says."""
    rope = model.encoding
    if way == AS_TRAINED:
        return model
    if way == STOPPED:
        return model.with_encoding(scaling=StoppedPairs(PAIR, PAIR))
    if way == SHUFFLED:
        order = torch.randperm(prices.numel(), generator=torch.Generator().manual_seed(0))
        prices = prices.flatten()[order].view(prices.shape)
    elif way == MEAN:
        prices = prices.mean().expand_as(prices)
    sizes: Any = (rope.d_model, rope.n_heads, rope.options["base"])
    priced = model.with_encoding(scaling=StoppedPairs(PAIR, PAIR))
    blocks: Any = priced.blocks
    kind = EvenPrice if way == EVEN else PricedPair
    for block, slopes in zip(blocks, prices, strict=True):
        encoding = kind(*sizes, slopes=slopes, pair=PAIR, first_pays=way == FIRST_PAYS)
        block.attention.encoding = encoding
    return priced


def main(folder: Path) -> None:
    """Run what the table lacks, and write it after each reading."""
    table = GrowingTable(folder / "real_prices.csv")
    model = pretrained.smollm2()
    for way, text in itertools.product(WAYS, TEXTS):
        if not table.has(text=text, way=way):
            tokens, prices = reading(model, text)
            losses = groups(changed(model, way, prices), tokens, AS_TRAINED)
            about = {"model": "SmolLM2-135M", "text": text, "read": tokens.shape[1], "way": way}
            table.add({**about, **row} for row in losses)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    torch.set_num_threads(1)
    main(Path(sys.argv[1]))
