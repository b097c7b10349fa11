"""What the explorers compute in the browser is what course_utils computes, at every end.

Run in Node. The twin of an explorer is the function here that has its name.
"""

import math
import re
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from explorer_modules import ends, look
from scipy import stats

from course_lab import explorers
from course_lab.chooser import facts, remaining, struck
from course_lab.explorers.short_sentence import through_doors
from course_lab.position_table import position_table
from course_lab.sentences import CAT_ON_MAT, word_vectors
from course_utils import measures
from course_utils.encodings import Places, create
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
from course_utils.models.stretching import way_to_stretch
from course_utils.texts import data

pytestmark = pytest.mark.browser
Numbers = dict[str, Any]
CLOSE = 5e-7  # relative, and as much absolute


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


def stretched_waves(way: str, factor: int) -> Numbers:
    plain = rope_frequencies(128, 10_000.0)
    scaling = way_to_stretch(way, factor, 4096, 128)
    speeds, sharper = scaled_frequencies(128, 10_000.0, scaling, factor * 4096)
    new = explorers.unseen(plain, speeds, 4096, factor * 4096)
    return {"plain": plain, "speeds": speeds, "unseen": new, "sharper": sharper}


def components(position: int, kept: int) -> Numbers:
    table = position_table()[1:].double()
    centred = table - table.mean(0)
    values, axes = torch.linalg.eigh(centred.T @ centred)  # ascending
    rebuilt = centred @ axes[:, -kept:] @ axes[:, -kept:].T
    similarity = measures.similarity_matrix(rebuilt)[position - 1]
    component = centred @ axes[:, -kept]
    others = similarity.clone()
    others[position - 1] = -torch.inf
    return {
        "similarity": similarity,
        "component": component * component[99].sign(),
        "held": values[-kept:].sum() / values.sum(),
        "highest": others.max(),
        "nearest": int((others > others.max() - 1e-9).nonzero()[0]) + 1,
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


def chooser(behind: float, **answers: str) -> Numbers:
    known = facts().sort_values("loss")
    out = struck(behind, **answers).loc[known.index]
    names = remaining(behind, **answers)
    return {
        "out": torch.tensor(out.to_numpy()).flatten(),
        "left": [known.index.get_loc(name) for name in names],
        "alone": list(out.sum()),
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


def doors(**opened: float) -> Numbers:
    weights, brings = through_doors(**opened)
    return {"weights": weights, "brings": brings}


def shuffle(shuffle: int, encoding: str, causal: bool) -> Numbers:
    order = torch.tensor(list(permutations(range(6)))[307 * shuffle % 720])
    attention = explorers.playground_attention(encoding, causal).double()
    x = 2 * word_vectors(CAT_ON_MAT, 32)[None].double()
    with torch.no_grad():
        original = attention(x, places(6), need_weights=True)[1][0, 0]
        shuffled = attention(x[:, order], places(6), need_weights=True)[1][0, 0]
    put_back = shuffled[order.argsort()][:, order.argsort()]
    change = put_back - original
    return {
        "order": order,
        "shuffled": shuffled,
        "back": put_back,
        "change": change,
        "largest": change.abs().max(),
    }


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
    "distance_cost": [{"heads": 12, "head": head} for head in (7, 8, 11)],
}


def numbers_in(value: Any) -> list[float]:
    """All numbers of a value; null, as JSON has NaN and infinities, as NaN."""
    if isinstance(value, torch.Tensor):
        value = value.double().tolist()
    if isinstance(value, dict):
        value = [value[key] for key in sorted(value)]
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
            np.testing.assert_allclose(computed, numbers_in(value), CLOSE, CLOSE, err_msg=message)
