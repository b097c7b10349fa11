"""What the explorers compute in the browser is what course_utils computes, at every end.

Run in Node. The twin of an explorer is the function here that has its name.
"""

import math
import re
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from explorer_modules import ends, look
from scipy import stats

from course_experiments.far_bands import STARTS
from course_lab import clinic, explorers
from course_lab import referee as runs_of
from course_lab.chooser import facts, remaining, steep, struck
from course_lab.explorers.far_bands import MODELS as BANDED
from course_lab.explorers.short_sentence import (
    DRAWINGS,
    FAR,
    NEAR,
    drawings,
    sentence_attention,
    through_doors,
)
from course_lab.explorers.stretch import RIVALS, factors_of, passage
from course_lab.position_table import largest_miss, miss
from course_lab.straight_heads import best_readout, keys_asked, share_right, straight_weights
from course_utils import measures
from course_utils.attention.kv_cache import KVCache
from course_utils.encodings import LongRoPE, Places, create
from course_utils.encodings.functional import (
    alibi_bias,
    alibi_slopes,
    apply_rope,
    contextual_counts,
    interpolated,
    offset_matrix,
    rope_angles,
    rope_frequencies,
    scaled_frequencies,
    shift_matrix,
    sinusoidal_table,
    t5_bucket,
    wavelengths,
)
from course_utils.measures.trained_models import sliding_loss
from course_utils.models import shipped
from course_utils.models.stretching import way_to_stretch
from course_utils.texts import data

pytestmark = pytest.mark.browser
Numbers = dict[str, Any]
CLOSE = 5e-7  # relative, and as much absolute
# A model reads in single precision; logarithms to three digits.
ROUNDED = {"stretch": 2e-5, "four_layers": 6e-4}
SLOPES = ("first", "second", "third", "fourth")


def places(count: int) -> torch.Tensor:
    return torch.arange(count, dtype=torch.float64)


def frequencies(
    base: float, d_model: int, length: int, pair: int, first: int, second: int
) -> Numbers:
    table = sinusoidal_table(places(length), d_model, base)
    turns = wavelengths(d_model, base)
    two_positions = torch.tensor([first, second], dtype=torch.float64)
    difference = sinusoidal_table(two_positions, d_model, base).diff(dim=0)[0]
    return {
        "table": table,
        "wavelengths": turns,
        "sine": table[:, 2 * pair],
        "cosine": table[:, 2 * pair + 1],
        "slow": int((turns > length).sum()),
        "gaps": difference.view(-1, 2).norm(dim=1),
        "distance": difference.norm(),
    }


def turned_pair(p: int, r: int, both: int, theta: float) -> Numbers:
    rows = torch.tensor([[1.0, 0.4], [-0.2, 0.9]], dtype=torch.float64)[:, None].expand(2, 41, 2)
    q, k = apply_rope(rows, rope_angles(places(41), torch.tensor([theta], dtype=torch.float64)))
    query, key = q[p + both], k[r + both]
    return {"query": query, "key": key, "products": q @ k.mT, "product": query @ key}


def previous_token(k: int, gain: float, query: int) -> Numbers:
    table, shift = sinusoidal_table(places(48), 128), shift_matrix(k, 128, dtype=torch.float64)
    scores = gain * table @ (table @ shift.T).T / 128**0.5  # W_q = I, W_k = shift
    later = torch.ones(48, 48, dtype=torch.bool).triu(1)
    weights = scores.masked_fill(later, -torch.inf).softmax(-1)
    return {
        "shift": shift[:12, :12],
        "weights": weights.masked_fill(later, math.nan),
        "row": weights[query, : query + 1],
        "exact": weights[query, query - k] if query >= k else math.nan,
        "favourite": int(weights[query].argmax()),
    }


@cache
def random_texts() -> torch.Tensor:
    """1,000 texts of nine tokens, from a congruential generator."""
    state, uniform = 4, []
    for _ in range(1000 * 9):
        state = (state * 1664525 + 1013904223) % 2**32
        uniform.append(state / 2**32)
    return (5 * torch.tensor(uniform, dtype=torch.float64)).long().view(1000, 9)


def ladder(task: str, heads: int, factors: str, head_1_factor: float, **slopes: float) -> Numbers:
    weights = straight_weights(list(slopes.values())[:heads], 9)
    silence = torch.zeros(1000, 9, 5, dtype=torch.float64)
    answers: dict[str, dict[str, Any]] = {}
    for place in range(4):
        keys = keys_asked(place, 9)
        readout = best_readout(weights, keys)
        if heads == 2 and factors == "by hand":
            readout = torch.tensor([head_1_factor, 1.0], dtype=torch.float64)
        hidden = torch.ones(9, 9, dtype=torch.bool).triu(1) | (keys < 0)[:, None]
        answers[f"place {place}"] = {
            "readout": readout,
            "sum": torch.einsum("h,hqk->qk", readout, weights).masked_fill(hidden, math.nan),
            "accuracy": share_right(weights, readout, keys, random_texts(), silence),
        }
    return {
        **answers[task],
        "last": weights[:, 8],
        "parts": answers[task]["readout"][:, None] * weights[:, 8],
        "accuracies": [answer["accuracy"] for answer in answers.values()],
    }


@cache
def runs_of_row(name: str, mended: bool) -> list[runs_of.Run]:
    return runs_of.fair_runs(name) if mended else runs_of.flawed_runs(name)


def referee(order: str, cut: bool, **ticks: bool) -> Numbers:
    @cache
    def losses(name: str, mended: bool) -> list[float]:
        rows = pd.DataFrame(runs_of_row(name, mended))
        return rows.groupby("read")["loss"].mean().loc[[64, 1024]].to_list()

    def ranks(rows: list[list[float]]) -> list[int]:
        column = {"rise": [long - short for short, long in rows]}
        column["loss at 64"], column["loss at 1,024"] = map(list, zip(*rows, strict=True))
        return np.argsort(column[order], kind="stable").tolist()

    rows = [(name, ticks.get(name, False)) for name in runs_of.ENCODINGS]
    runs = [run for row in rows for run in runs_of_row(*row)]
    if cut:
        runs += runs_of.cut_runs()
    published = [losses(name, False) for name in runs_of.ENCODINGS]
    mended = [losses(*row) for row in rows]
    if cut:
        best = min(losses(name, True)[0] for name in runs_of.ENCODINGS)
        mended.append([best, best])
    return {
        "published": published,
        "mended": mended,
        "before": ranks(published),
        "after": ranks(mended),
        "objections": runs_of.objections(runs),
    }


def far_bands(model: str, first: int, whole: bool, turn: bool, tried: list[int]) -> Numbers:
    bands = [start for start in STARTS if start >= 32]
    shown = bands if whole else tried
    rows = data.results("far_bands").set_index(["encoding", "seed", "first", "text"])["loss"]
    rows = rows.sort_index()

    def costs(name: str, start: int) -> np.ndarray:
        of_model = rows.loc[BANDED[name]]
        return of_model[start].to_numpy() - of_model[32].to_numpy()

    curves = {name: [costs(name, start).mean() for start in shown] for name in BANDED}
    return {
        "shown": shown,
        "curve": curves.pop(model),
        "texts": costs(model, first).tolist(),
        "others": list(curves.values()) if whole else [],
    }


def four_layers(
    layer: str, start: int, in_pieces: bool, among_others: bool, seen: list[str]
) -> Numbers:
    tested = clinic.unnamed_layers()[layer].layer
    texts, positions = clinic.words(tested, texts=3, n=16), torch.arange(16)

    def read(texts: torch.Tensor, start: int, length: int) -> torch.Tensor:
        cache, parts = KVCache(), []
        for first in range(0, 16, length):
            words, at = texts[:, first : first + length], positions[first : first + length] + start
            parts.append(tested(words, at, cache=cache)[0][-1])
        return torch.cat(parts)

    out = read(texts if among_others else texts[2:], start, 5 if in_pieces else 16)
    logs = (out - read(texts[2:], 0, 16)).abs().amax(1).double().log10()
    broken = logs > -3
    return {
        "changes": logs.masked_fill(logs < -6, math.nan),
        "count": int(broken.sum()),
        "first": int(broken.int().argmax()) if broken.any() else -1,
    }


def wanted_distance(distance: int, base: float, d_head: int) -> Numbers:
    rope = create("rope", d_model=d_head, n_heads=1, base=base)
    q = torch.ones(1, 1, 1, d_head, dtype=torch.float64) / d_head**0.5
    turned_on = rope.rotate(q, q, Places(torch.tensor([distance])))[1]
    distances = torch.arange(301)
    at = Places(torch.tensor([300]), 300 - distances)

    def by_distance(key: torch.Tensor) -> torch.Tensor:
        turned, keys = rope.rotate(q, key.expand(-1, -1, 301, -1), at)
        return (turned @ keys.mT)[0, 0, 0]

    tuned = by_distance(turned_on)
    return {
        "same": by_distance(q),
        "tuned": tuned,
        "best": int(tuned.argmax()),
        "second": tuned[(distances - distance).abs() > 10].max(),
    }


def profile(heights: list[float], d_head: int, base: float, price: float, **_: Any) -> Numbers:
    points, near = torch.tensor(heights, dtype=torch.float64), torch.arange(65)
    left = (near // 4).clamp(max=15)
    wish = torch.lerp(points[left], points[left + 1], (near - 4 * left).double() / 4)
    angles = rope_angles(places(257), rope_frequencies(d_head, base))
    waves = torch.cat([angles.cos(), angles.sin()], -1)  # (257, d_head)
    priced = torch.cat([waves[:65], math.sqrt(price) * torch.eye(d_head, dtype=torch.float64)])
    padded = torch.cat([wish, torch.zeros(d_head, dtype=torch.float64)])
    share = torch.linalg.lstsq(priced, padded[:, None], driver="gelsd").solution[:, 0]
    cosines, sines = share.chunk(2)
    sizes = torch.hypot(cosines, sines)
    q = torch.stack([sizes.sqrt(), torch.zeros_like(sizes)], -1).flatten()
    k = (torch.stack([cosines, sines], -1) / sizes.sqrt()[:, None]).nan_to_num(0).flatten()
    # The score of this q and k, turned as RoPE turns them, by distance.
    query = apply_rope(q[None], rope_angles(places(257)[-1:], rope_frequencies(d_head, base)))
    keys = apply_rope(k.expand(257, -1), angles.flip(0))
    score = (query @ keys.mT)[0]
    return {
        "wish": wish,
        "score": score,
        "sizes": sizes,
        "q": q,
        "k": k,
        "miss": (score[:65] - wish).abs().max(),
    }


def xray(known: str, place: int, first: int, last: int) -> Numbers:
    table = data.results("real_pairs").groupby(["layer", "head"]).mean(numeric_only=True)
    explained = table.filter(like="position_").sum(axis=1)
    head = table.loc[explained.sort_values(ascending=False).index[place]]

    def row(name: str, decimals: int) -> torch.Tensor:
        values = [head[f"{name}_{m}"] for m in range(32)]
        return torch.tensor(values, dtype=torch.float64).round(decimals=decimals)

    products = torch.complex(row("real", 3), row("imaginary", 3))
    waves = torch.polar(
        torch.ones(513, 32).double(), rope_angles(places(513), rope_frequencies(64, 1e5))
    )
    parts = (products * waves).real
    parts = parts - parts.mean(0)
    kept = parts[:, first : last + 1].sum(1)
    return {
        "position": row("position", 4),
        "content": row("content", 4),
        "kept": kept,
        "whole": parts.sum(1),
        "peak": int((kept > kept.max() - 1e-9).nonzero()[0]),
    }


def counting(text: str, counted: str, wanted: int, gain: float) -> Numbers:
    tokens = re.findall(r"[\w'’-]+|\S", text) or [""]
    chosen = torch.tensor([token.lower() == counted.strip().lower() for token in tokens])
    scores, row = torch.where(chosen, gain, -gain).double(), torch.arange(len(tokens))
    counts = contextual_counts(scores[None], row[-1:], row)[0]
    liked = torch.zeros(250, dtype=torch.float64)
    liked[wanted] = 12
    weights = (scores + interpolated(liked, counts)).softmax(0)
    places = chosen.nonzero()[:, 0].tolist()
    return {
        "gates": scores.sigmoid(),
        "counts": counts,
        "weights": weights,
        "best": int((weights > weights.max() - 1e-12).nonzero()[0]),
        "right": places[-wanted] if len(places) >= wanted else -1,
    }


def buckets(n_buckets: int, max_distance: int, direction: str) -> Numbers:
    def bucket(offsets: torch.Tensor) -> torch.Tensor:
        return t5_bucket(offsets, n_buckets, max_distance, direction == "both")

    buckets = bucket(torch.arange(-200, 201))
    by_distance = buckets[:201].flip(0)
    return {
        "buckets": buckets,
        "matrix": bucket(offset_matrix(torch.arange(40), torch.arange(40))),
        "last": int((by_distance == by_distance.max()).nonzero()[0]),
        "alone": int((by_distance.bincount() == 1).sum()),
        "used": len(buckets.unique()),
    }


def distance_cost(heads: int, head: int, length: int, symmetric: bool) -> Numbers:
    slope = alibi_slopes(heads, dtype=torch.float64)[head : head + 1]
    offsets = offset_matrix(torch.arange(length), torch.arange(length))
    hidden = (offsets > 0) & (not symmetric)
    bias = alibi_bias(offsets.double(), slope)[0]
    weights = bias.masked_fill(hidden, -torch.inf).softmax(-1)
    query = length // 2 if symmetric else length - 1
    near = [weights[query][offsets[query].abs() <= reach].sum() for reach in range(length)]
    return {
        "slope": slope,
        "bias": bias.masked_fill(hidden, math.nan),
        "weights": weights.masked_fill(hidden, math.nan),
        "row": weights[query],
        "query": query,
        "reach": int((torch.stack(near) < 0.95).sum()),
        "entropy": measures.entropy(weights[query][None])[0],
        "most": math.log(length),
    }


def price(prices: list[list[float]], higher: float, sight: str, **_: Any) -> Numbers:
    peaks, slopes = torch.tensor(prices, dtype=torch.float64).T[..., None]
    costs = -slopes * (torch.arange(1024) - peaks).abs()
    scores = torch.zeros(1024).index_fill(0, torch.tensor(10), higher)  # of the key 10 back
    seen = {"all keys": 1024, "12 keys": 12, "3 keys": 3}[sight]
    scores[seen:] = -math.inf
    weights = (scores + costs).softmax(-1)
    return {
        "lines": costs[:, :17],
        "weights": weights[:, :17],
        "tops": weights.argmax(-1),
        "largest": weights.amax(-1),
        "reach": (weights.cumsum(-1) < 0.95).sum(-1) + 1,
    }


def stretched_waves(way: str, factor: int) -> Numbers:
    plain = rope_frequencies(128, 10_000.0)
    scaling = way_to_stretch(way, factor, 4096, 128)
    speeds, sharper = scaled_frequencies(128, 10_000.0, scaling, factor * 4096)
    new = explorers.unseen(plain, speeds, 4096, factor * 4096)
    return {"plain": plain, "speeds": speeds, "unseen": new, "sharper": sharper}


def clock_hands(show: str, table: str, hand: int, ahead: float, misses: bool) -> Numbers:
    tables = explorers.explorer_tables()
    periods, pointing = explorers.hand_coordinates(tables[table])
    if show == "one hand of five tables":
        each = [explorers.hand_coordinates(rows) for rows in tables.values()]
        periods = torch.stack([its_periods[hand] for its_periods, _ in each])
        pointing = torch.stack([its_hands[hand] for _, its_hands in each])
    rows, foretold, missed, worst = [], [], [], []
    for period, mine in zip(periods.tolist(), pointing, strict=True):
        rows.append(min(200, max(1, math.floor(ahead * period + 0.5))))
        angle = torch.tensor(2 * math.pi * rows[-1] / period, dtype=torch.float64)
        unknown = torch.full((rows[-1],), complex(math.nan, math.nan)).to(mine)
        turn = torch.polar(torch.ones_like(angle), angle)
        foretold.append(torch.cat([unknown, mine[: -rows[-1]] * turn]).real)
        missed.append(miss(mine[255:], period, rows[-1]))
        worst.append(largest_miss(mine[255:], period))
    return {
        "x": pointing.real,
        "y": pointing.imag,
        "foretoldX": torch.stack(foretold),
        "periods": periods,
        "rows": rows,
        "missed": missed,
        "worst": worst,
    }


def lengths(encoding: str, beside: str, view: str, doublings: int) -> Numbers:
    losses, positions = data.results("extrapolation"), data.results("extrapolation_positions")
    by_seed = losses.set_index(["encoding", "reading", "read", "seed"])["loss"].sort_index()
    loss, above, by_position, _ = explorers.VIEWS

    def drawn(name: str) -> dict[str, list[float | None]]:
        plain = by_seed[name]["as trained"]
        if view == by_position:
            rows = positions[positions["encoding"] == name]
            rows = rows.assign(at=(rows["first"] + rows["last"] + 1) / 2)
            seeds = rows.set_index(["at", "seed"])["loss"]
        elif view == loss:
            seeds = plain
        else:
            seeds = plain - plain[64] if view == above else by_seed[name]["log-n"] - plain
        each = seeds.dropna().unstack().loc[: 64 * 2**doublings]
        half = stats.t.ppf(0.975, each.count(axis=1) - 1) * each.sem(axis=1)
        table = {"at": each.index, "mean": each.mean(axis=1), "margin": half}
        table["seeds"] = each.count(axis=1)
        return {key: list(column) for key, column in table.items()}

    return {"first": drawn(encoding), "second": drawn(beside)}


def chooser(behind: float, reached: list[int], **answers: str) -> Numbers:
    known = facts().sort_values("loss")
    out = struck(behind, **answers).loc[known.index]
    names = remaining(behind, **answers)
    assert reached == [known.index.get_loc(name) for name in names[:1]]  # the first, remembered
    return {
        "out": torch.tensor(out.to_numpy()).flatten(),
        "left": [known.index.get_loc(name) for name in names],
        "alone": list(out.sum()),
        "drawn": list(drawn.struck.values()) if (drawn := steep(behind, **answers)) else [],
    }


def ledger(lesson: str, claim: int, guess: str, **_: Any) -> Numbers:
    rows = pd.read_csv(data.folder() / "claims.csv")
    rows = rows[rows["verdict"] != "not tested"]
    numbers = rows["lesson"].str.extract(r"(\d\d)_")[0]
    ordered = rows.assign(number=numbers).sort_values(["number", "id"])
    results = [-1] * len(rows)
    if guess != "not yet":
        results[claim - 1] = int(ordered["verdict"].iloc[claim - 1] == guess)
    assert lesson in ("all lessons", ordered["number"].iloc[claim - 1])
    return {"results": results, "right": results.count(1), "wrong": results.count(0)}


def stretch(**state: Any) -> Numbers:
    if (way := state.get("set")) == "YaRN":  # which sharpens scores as well
        factors, scaling = factors_of(way), way_to_stretch(way, 8, 64, 32)
    else:
        factors = state["factors"]
        scaling = LongRoPE(factors, 1.0, 64)
    model = shipped.model("rope", scaling=scaling)
    plain = rope_frequencies(32)
    seen = 64 * plain / (2 * math.pi)
    turns = 512 * plain / torch.tensor(factors) / (2 * math.pi)
    text = torch.tensor([passage()])
    return {
        "losses": [sliding_loss(model, text, n, 512)[0] for n in (64, 512)],
        "unseen": (seen < 1) & (turns > 1.01 * seen),
    }


def test_the_ways_in_the_picture_read_as_it_says():
    text = torch.tensor([passage()])
    for way, losses in RIVALS.items():
        model = shipped.model("rope", scaling=way_to_stretch(way, 8, 64, 32))
        read = [sliding_loss(model, text, n, 512)[0] for n in (64, 512)]
        assert read == pytest.approx(losses, abs=1e-4)


def doors(drawing: int, **opened: float) -> Numbers:
    weights, adds = through_doors(drawings(DRAWINGS), **opened)
    return {
        "weights": weights[drawing],
        "adds": adds[drawing],
        "ratios": weights[:, NEAR] / weights[:, FAR],
    }


def vector(word: str, width: int) -> torch.Tensor:
    """The random numbers that the explorer gives a word: a hash, then a xorshift generator."""
    seed = 2166136261
    for unit in np.frombuffer(word.encode("utf-16-le"), dtype="<u2").tolist():
        seed = (seed ^ unit) * 16777619 % 2**32
    uniform = []
    for _ in range(4 * width):
        seed ^= seed << 13 & 0xFFFFFFFF
        seed ^= seed >> 17
        seed ^= seed << 5 & 0xFFFFFFFF
        uniform.append(seed / 2**32)
    sums = torch.tensor(uniform, dtype=torch.float64).view(width, 4).sum(1)
    return math.sqrt(3) * (sums - 2)


def masked_sentence(
    text: str,
    order: list[int],
    mask: bool,
    layers: int,
    places: bool = False,
    scale: int = 1,
    **_: Any,
) -> Numbers:
    attention = sentence_attention(causal=mask).double()
    words = (text.split() or [""])[:9]

    def read(words: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
        x = scale * torch.stack([vector(word, 16) for word in words])[None]
        if places:
            x = x + sinusoidal_table(torch.arange(len(words), dtype=torch.float64), 16)
        with torch.no_grad():
            rows, weights = attention(x, need_weights=True)
            if layers == 2:
                rows, weights = attention(x + rows, need_weights=True)
        return rows[0], weights[0, 0]

    rows, weights = read([words[key] for key in order])
    typed = read(words)[0]
    apart = (rows - typed[order]).abs().amax(-1)
    gaps = (rows[:, None] - rows).abs().amax(-1)
    is_word = [[words[key] == word for key in order] for word in dict.fromkeys(words)]
    later = torch.ones_like(weights).triu(1).bool()
    return {
        "weights": weights.masked_fill(later, math.nan) if mask else weights,
        "rows": rows,
        "mean": rows.mean(0),
        "apart": apart.max(),
        "changed": (apart >= 1e-5).sum(),
        "shares": weights @ torch.tensor(is_word).double().T,
        "pooled": (rows.mean(0) - typed.mean(0)).abs().max(),
        "alike": [[j, i] for i in range(len(words)) for j in range(i) if gaps[i, j] < 1e-5],
    }


def sentence(**state: Any) -> Numbers:
    return masked_sentence(mask=False, layers=1, scale=2, **state)


MOVED = {"text": "one two three two", "order": [2, 1, 0, 3], "moved": 2}


# Beside the ends: where rounding in single precision decides on a bucket, and where heads are no
# power of two.
INSIDE: dict[str, list[Numbers]] = {
    "buckets": [
        {"n_buckets": 4, "max_distance": 18, "direction": "behind only"},
        {"n_buckets": 6, "max_distance": 196},
    ],
    "counting": [
        {"text": "  Ça va?  It's you – and you, and YOU ", "counted": " you", "gain": 2.0},
        {"text": "no, no, no, no", "counted": "NO", "wanted": 4},
    ],
    "ladder": [
        {"task": "place 3", "heads": 4, **dict(zip(SLOPES, (5.0, 3.5, 2.5, 1.5), strict=True))},
        {"task": "place 0", "second": 1.0},
        {"task": "place 2", "heads": 3, "first": 3.0, "second": 2.0, "third": 1.0},
        {"task": "place 2", "second": 1.0, "factors": "by hand", "head_1_factor": -2.0},
    ],
    "price": [
        {"prices": [[peak, 2.0] for peak in range(4)], "head": 3},
        {"head": 4, "peak": 9, "slope": 0.5, "higher": 3.0},
        {"head": 3, "peak": 2, "sight": "12 keys"},
        {"head": 4, "higher": 5.0, "sight": "3 keys"},
    ],
    "far_bands": [
        {"first": 304, "tried": [64, 96, 304], "model": "RoPE, seed 2"},
        {"first": 96, "model": "no encoding", "whole": True},
    ],
    "four_layers": [
        {"start": 250, "seen": ["S by pieces"]},
        {"start": 240},
        {"layer": "S", "start": 130, "in_pieces": True},
    ],
    "distance_cost": [{"heads": 12, "head": head} for head in (7, 8, 11)],
    "stretch": [
        {"hand": 4, "slowed": 2.0},
        {"factors": [1.0] * 4 + [2.0, 8.0, 8.0] + [1.0] * 9, "hand": 5},
        {"set": "YaRN"},
    ],
    "sentence": [MOVED, MOVED | {"places": True}, {"text": "我 爱 你 🦬"}],
    "masked_sentence": [MOVED | {"layers": layers, "mask": True} for layers in (1, 2)],
}


def numbers_in(value: Any) -> list[float]:
    """All numbers of a value; null, as JSON has NaN and infinities, as NaN; a text as its codes."""
    if isinstance(value, torch.Tensor):
        value = value.double().tolist()
    if isinstance(value, dict):
        value = [value[key] for key in sorted(value)]
    if isinstance(value, str):
        value = list(map(ord, value))
    if isinstance(value, list | tuple):
        return [number for part in value for number in numbers_in(part)]
    return [math.nan if value is None or math.isinf(value) else float(value)]


@pytest.mark.parametrize("name", explorers.ALL)
def test_the_browsers_numbers_are_those_of_course_utils(name):
    twin = globals()[name]
    starts = [*ends(explorers.ALL[name]), *INSIDE.get(name, [])]
    for view in look(explorers.ALL[name], starts, numbers=True):
        expected = twin(**view["state"])
        assert view["numbers"].keys() == expected.keys()
        for key, value in expected.items():
            computed = np.array(numbers_in(view["numbers"][key]))
            message = f"{key} in {view['state']}"
            close = ROUNDED.get(name, CLOSE)
            np.testing.assert_allclose(computed, numbers_in(value), close, close, err_msg=message)
