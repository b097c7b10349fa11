"""What a sentence encoder misses where clock hands are taken out of its position table.

    python -m course_experiments.position_hands results/hands

writes real_hands.csv there: all-MiniLM-L6-v2 reads texts of three kinds, cut to four lengths, with
its own table and with changed ones, and the cosine of both vectors is kept. About a quarter of an
hour on two cores.
"""

import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils import measures, pretrained
from course_utils.encodings import Learned
from course_utils.encodings.functional import decomposed_table, sinusoidal_table
from course_utils.measures.turns import Turn
from course_utils.texts import data

LENGTHS = (20, 60, 126, 480)  # tokens, [CLS] and [SEP] among them
TEXTS = 19  # of each kind
LIBRARY = Path(sysconfig.get_path("stdlib"))
KINDS = {
    "documentation": [data.CLONE / "documentation.txt"],
    "source code": [LIBRARY / name for name in ("argparse.py", "tarfile.py", "typing.py")],
    "licences": [data.CLONE / "LICENSE-Apache-2.0", data.CLONE / "LICENSE-PSF-2.0"],
}
KNOWN = 256  # rows that the ways to go on past the end may see
DRAWS = 3  # of each way that draws


def without(rows: Tensor, plane: Tensor, read: int | None = None) -> Tensor:
    """The rows with what lies in one plane replaced by its mean: of all rows, or those read."""
    complex_rows = (rows - rows[:read].mean(0)).to(plane.dtype)
    return rows - 2 * ((complex_rows @ plane)[:, None] * plane.conj()).real


def tables(table: Tensor) -> Iterator[tuple[str, Tensor]]:
    """Each way to change the table, and its rows. Row 0, which [CLS] reads, stays."""
    first, rows = table[:1], table[1:]
    mean, count = rows.mean(0), len(table)
    generator = torch.Generator().manual_seed(0)
    directions = measures.main_directions(rows, 11)
    ten, eleventh = directions[:10], directions[10]
    turned = (rows - mean) @ ten.T
    hands = measures.hands(measures.turn(turned))
    changed = {
        "mean row": mean.expand(count - 1, -1),
        "shuffled": rows[torch.randperm(count - 1, generator=generator)],
        "10 directions": mean + turned @ ten,
        "11 directions": mean + (rows - mean) @ directions.T @ directions,
        "without direction 11": rows - ((rows - mean) @ eleventh)[:, None] * eleventh,
    }
    sines = sinusoidal_table(torch.arange(1, count, dtype=table.dtype), table.shape[1])
    sines = sines - sines.mean(0)
    changed["sinusoids"] = mean + sines * (rows - mean).norm() / sines.norm()
    for number, plane in enumerate(hands.planes):
        changed[f"without hand {number}"] = without(rows, plane @ ten.to(plane.dtype))
    yield from ((way, torch.cat([first, other])) for way, other in changed.items())
    yield from ((f"{way} past {KNOWN}", other) for way, other in continued(table))


def stopped(table: Tensor, length: int) -> Iterator[tuple[str, Tensor]]:
    """Each hand held still at its mean in the rows that a text of this length reads."""
    first, rows = table[:1], table[1:]
    ten = measures.main_directions(rows, 10)
    hands = measures.hands(measures.turn((rows - rows.mean(0)) @ ten.T))
    for number, plane in enumerate(hands.planes):
        other = without(rows, plane @ ten.to(plane.dtype), length - 1)
        yield f"hand {number} still", torch.cat([first, other])


def continued(table: Tensor) -> Iterator[tuple[str, Tensor]]:
    """Ways to fill the rows from ``KNOWN`` on, from the rows before it alone."""
    known, count = table[:KNOWN], len(table)
    rows, missing = known[1:], count - KNOWN
    mean = rows.mean(0)
    directions = measures.main_directions(rows, 10)
    coordinates = (rows - mean) @ directions.T
    turn, later = measures.turn(coordinates), [coordinates[-1:]]
    for _ in range(missing):
        later.append(turn.onwards(later[-1]))
    yield "turned on", torch.cat([known, mean + torch.cat(later[1:]) @ directions])
    yield "clamped", torch.cat([known, known[-1:].expand(missing, -1)])
    yield "interpolated", squeezed(known, count)
    yield "decomposed", decomposed_table(known, count)
    yield "decomposed from row 1", torch.cat([known[:1], decomposed_table(rows, count - 1)])
    yield "mean row", torch.cat([known, mean.expand(missing, -1)])
    spare = 0.02 * torch.randn(
        missing, table.shape[1], dtype=table.dtype, generator=torch.Generator().manual_seed(1)
    )
    yield "untrained", torch.cat([known, spare])
    yield from controls(table, directions, turn, coordinates)


def controls(
    table: Tensor, directions: Tensor, turn: Turn, coordinates: Tensor
) -> Iterator[tuple[str, Tensor]]:
    """Rows from ``KNOWN`` on that cannot be right: the real ones shuffled, a clock out of phase."""
    known, later = table[:KNOWN], table[KNOWN:]
    mean = known[1:].mean(0)
    centre = torch.linalg.solve(torch.eye(len(turn.matrix)).to(table) - turn.matrix.T, turn.shift)
    planes = measures.hands(turn).planes
    for draw in range(DRAWS):
        generator = torch.Generator().manual_seed(draw)
        order = torch.randperm(len(later), generator=generator)
        yield f"shuffled {draw}", torch.cat([known, later[order]])
        phases = torch.polar(
            torch.ones(len(planes), dtype=table.dtype),
            2 * torch.pi * torch.rand(len(planes), generator=generator, dtype=table.dtype),
        )
        pointing = ((coordinates[-1] - centre).to(planes.dtype) @ planes.T) * phases
        here = centre + 2 * (pointing @ planes.conj()).real
        steps = [here[None]]
        for _ in range(len(later)):
            steps.append(turn.onwards(steps[-1]))
        yield f"out of phase {draw}", torch.cat([known, mean + torch.cat(steps[1:]) @ directions])


def squeezed(known: Tensor, count: int) -> Tensor:
    """``count`` rows read linearly between the known ones, the first and last kept."""
    encoding = Learned(known.shape[1], 1, max_len=len(known), beyond="interpolate").double()
    with torch.no_grad():
        encoding.table.copy_(known)
        return encoding.rows(torch.arange(count))


def tokens(encoder: pretrained.MiniLM, files: list[Path], length: int) -> Tensor:
    """Texts of exactly ``length`` tokens, evenly spread over the files: (TEXTS, length)."""
    whole = " ".join(" ".join(path.read_text("utf-8").split()) for path in files)
    ids = encoder.encode(whole)[0][0]
    start, inside, end = ids[:1], ids[1:-1], ids[-1:]
    places = torch.linspace(0, len(inside) - length + 2, TEXTS).long().tolist()
    cut = [torch.cat([start, inside[place : place + length - 2], end]) for place in places]
    return torch.stack(cut)


@torch.no_grad()
def vectors(encoder: pretrained.MiniLM, texts: Tensor) -> Tensor:
    """Their vectors as sentences, each of length 1."""
    return F.normalize(encoder(texts).mean(1), dim=-1)


def main(folder: Path) -> None:
    """Write the folder's table."""
    encoder = pretrained.minilm()
    table = torch.as_tensor(encoder.encoding.table).detach().double()
    changed = {way: encoder.with_table(other.float()) for way, other in tables(table)}
    rows = []
    for kind, files in KINDS.items():
        for length in LENGTHS:
            texts = tokens(encoder, files, length)
            own = vectors(encoder, texts)
            for way, other in changed.items():
                if "past" in way and length <= KNOWN:
                    continue  # it reads known rows alone
                cosines = (vectors(other, texts) * own).sum(1).tolist()
                rows += [(kind, n, length, way, cosine) for n, cosine in enumerate(cosines)]
            for way, stopped_table in stopped(table, length):
                other = encoder.with_table(stopped_table.float())
                cosines = (vectors(other, texts) * own).sum(1).tolist()
                rows += [(kind, n, length, way, cosine) for n, cosine in enumerate(cosines)]
            print(kind, length, flush=True)
    columns = ["kind", "text", "length", "way", "cosine"]
    folder.mkdir(parents=True, exist_ok=True)
    frame = pd.DataFrame(rows, columns=columns).round({"cosine": 5})
    frame.to_csv(folder / "real_hands.csv", index=False)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
