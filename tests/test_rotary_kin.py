"""xPos and RoPE on a grid: slow twins and properties; what all rotary encodings share."""

import math

import pytest
import torch
from closeness import gap
from hypothesis import given
from hypothesis import strategies as st
from pairwise import some
from rotary_twins import layouts, random, scores, slow_rope, toeplitz_gap

from course_utils.encodings import AxialRotary, DynamicNTK, Linear, Places, Rotary, XPos, YaRN
from course_utils.encodings.functional import (
    axial_angles,
    rope_angles,
    rope_frequencies,
    xpos_scale,
)

# xPos


def slow_xpos_scores(q, k, q_row, k_row):
    """Sun et al. 2022: Re(q_m · conj(k_m) · exp(i(p_q − p_k)θ_m)) · ζ_m^((p_q − p_k)/512), summed.

    For q and k (seq, d), interleaved.
    """
    d = q.shape[-1]
    out: list[list[float]] = []
    for query, i in zip(q.tolist(), q_row, strict=True):
        out.append([])
        for key, j in zip(k.tolist(), k_row, strict=True):
            score = 0.0
            for m in range(d // 2):
                angle = (i - j) * 10000 ** (-2 * m / d)
                fade = ((2 * m + 0.4 * d) / (1.4 * d)) ** ((i - j) / 512)
                product = complex(query[2 * m], query[2 * m + 1])
                product *= complex(key[2 * m], key[2 * m + 1]).conjugate()
                score += (product * complex(math.cos(angle), math.sin(angle))).real * fade
            out[-1].append(score / math.sqrt(d))
    return torch.tensor(out, dtype=torch.float64)


near = st.lists(st.integers(-300, 300), min_size=1, max_size=5)


@given(near, near, st.sampled_from([2, 6, 16]))
def test_xpos_scores_are_the_formula_to_1e_10(q_row, k_row, d):
    q, k = random(len(q_row), d), random(len(k_row), d)
    ours = scores(
        XPos(d, 1), q[None, None], k[None, None], torch.tensor(q_row), torch.tensor(k_row)
    )
    assert gap(ours[0, 0], slow_xpos_scores(q, k, q_row, k_row)) <= 1e-10


def test_xpos_scores_of_34_000_positions_stay_finite_and_fade():
    row = torch.tensor([0, 20_000, 33_999])
    same = torch.ones(1, 1, 3, 16)
    fading = scores(XPos(16, 1), same, same, row, row)[0, 0]
    assert bool(fading.isfinite().all())  # hidden ones too: inf − inf is no number
    assert gap(fading.diagonal(), torch.full((3,), 4.0)) <= 1e-5
    assert float(fading[1, 0].abs()) < 1
    assert float(fading[2, 0].abs()) < float(fading[1, 0].abs())


def test_xpos_without_fading_is_rope():
    q, k = random(2, 1, 2, 9, 16)
    row = torch.arange(9)
    for ours, rope in zip(
        XPos(32, 2, scale_base=1e15).rotate(q, k, Places(row)),
        Rotary(32, 2).rotate(q, k, Places(row)),
        strict=True,
    ):
        assert gap(ours, rope) <= 1e-10


@given(near, st.sampled_from([2, 8, 64]), st.floats(1, 1000), st.integers(-50, 50))
def test_xpos_scale_is_the_papers_formula(row, d, scale_base, reference):
    ours = xpos_scale(torch.tensor(row), d, scale_base, reference)
    slow = torch.tensor(
        [
            [((2 * m / d + 0.4) / 1.4) ** ((p - reference) / scale_base) for m in range(d // 2)]
            for p in row
        ],
        dtype=torch.float64,
    )
    assert torch.allclose(ours, slow, rtol=1e-10, atol=0)


def test_xpos_is_for_causal_attention():
    assert XPos(8, 2).causal
    assert not Rotary(8, 2).causal


# On a grid


@given(st.integers(1, 9), st.integers(1, 4), layouts)
def test_axial_rope_turns_half_the_pairs_by_row_and_half_by_column(width, quarter, layout):
    d = 4 * quarter
    row = [0, 3, 17, 40, -5]
    x = random(1, 1, 5, d)
    ours, _ = AxialRotary(d, 1, width, layout=layout).rotate(x, x, Places(torch.tensor(row)))
    angles = [
        [p // width * 100 ** (-2 * m / (d / 2)) for m in range(quarter)]
        + [p % width * 100 ** (-2 * m / (d / 2)) for m in range(quarter)]
        for p in row
    ]
    turned = slow_rope(x[0, 0], torch.tensor(angles, dtype=torch.float64), layout)
    assert gap(ours[0, 0], turned) <= 1e-10


@given(st.integers(-50, 50), st.integers(0, 4), layouts)
def test_axial_scores_depend_on_row_and_column_offsets_only(down, right, layout):
    encoding = AxialRotary(16, 1, 9, layout=layout)
    rows, columns = torch.tensor([0, 0, 1, 3, 4]), torch.tensor([0, 4, 2, 0, 3])
    q, k = random(2, 1, 1, 5, 16, dtype=torch.float32)
    here, there = (rows * 9 + columns, (rows + down) * 9 + columns + right)
    assert gap(scores(encoding, q, k, here, here), scores(encoding, q, k, there, there)) <= 1e-5


def test_axial_scores_do_not_depend_on_the_offset_in_the_row_of_patches():
    encoding, token = AxialRotary(16, 1, 4), random(1, 1, 1, 16).expand(1, 1, 8, 16)
    assert toeplitz_gap(scores(encoding, token, token, torch.arange(8), torch.arange(8))) > 0.1


def test_axial_angles_put_rows_before_columns():
    frequencies = rope_frequencies(4, 100.0)
    down, across = torch.tensor([1.0, 2.5]), torch.tensor([0.0, -1.0])
    both = axial_angles(down, across, frequencies)
    assert torch.equal(both[:, :2], rope_angles(down, frequencies))
    assert torch.equal(both[:, 2:], rope_angles(across, frequencies))


# All three


@pytest.mark.parametrize("encoding", [Rotary(16, 2), XPos(16, 2), AxialRotary(16, 2, 3)])
def test_turning_opens_the_second_door_only_and_has_nothing_to_learn(encoding):
    assert encoding.doors == ("rotate",)
    assert encoding.state_dict() == {}


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        (Rotary(8, 2, fraction=0.5, scaling=Linear(2.0)), "fraction=0.5, scaling=Linear(factor=2"),
        (XPos(8, 2, scale_base=64), "base=10000, scale_base=64, layout='interleaved'"),
        (AxialRotary(8, 2, 7, layout="half"), "width=7, base=100, layout='half'"),
    ],
)
def test_printing_shows_the_options(encoding, shown):
    assert shown in repr(encoding)


COMPILED = {
    "rope": Rotary(16, 2),
    "half of it": Rotary(16, 2, layout="half", fraction=0.5),
    "dynamic NTK": Rotary(16, 2, scaling=DynamicNTK(4, 4)),
    "YaRN": Rotary(16, 2, scaling=YaRN(4, 4)),
    "xPos": XPos(16, 2),
    "grid": AxialRotary(16, 2, 3),
}


@some("name", tuple(COMPILED), quick=("dynamic NTK", "xPos", "grid"))
def test_a_compiled_encoding_gives_the_same_in_one_graph(name, plain_arguments):
    encoding = COMPILED[name]
    torch.compiler.reset()  # else the encodings before it count against the limit of recompiling
    row = torch.arange(6)
    q, k = random(2, 1, 2, 6, 8, dtype=torch.float32)
    compiled = torch.compile(encoding.rotate, backend="aot_eager", fullgraph=True)
    for ours, plain in zip(
        compiled(q, k, Places(row)), encoding.rotate(q, k, Places(row)), strict=True
    ):
        assert gap(ours, plain) <= 1e-6


def test_a_setting_of_xpos_changed_by_hand_is_seen():
    encoding, row = XPos(16, 1), torch.arange(40)
    q = torch.ones(1, 1, 40, 16)
    before = encoding.rotate(q, q, Places(row))[0]
    encoding.scale_base = 50.0
    assert gap(encoding.rotate(q, q, Places(row))[0], before) > 0.1
