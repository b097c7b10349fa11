"""The chooser: facts about encodings are measured, and answers strike out by these facts."""

import math
from itertools import product
from typing import Any

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import pad, scaled_dot_product_attention

from course_lab import chooser
from course_lab.chooser import (
    BOTH_WAYS,
    MAY_CUT,
    PLAIN,
    TAKES_BIAS,
    behind_best,
    facts,
    remaining,
    struck,
    undominated,
)
from course_lab.explorers.chooser import tops
from course_utils.encodings import Places, create
from course_utils.encodings.functional import alibi_slopes, sinusoidal_table
from course_utils.results import AS_TRAINED
from course_utils.texts import data


def undominated_by_pairs(costs):
    """Which rows no other dominates, one pair at a time."""
    rows = costs.tolist()

    def dominates(row, other):
        pairs = list(zip(row, other, strict=True))
        return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)

    return [not any(dominates(rival, row) for rival in rows) for row in rows]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("columns", [1, 2, 4])
def test_the_undominated_are_those_that_no_other_dominates(seed, columns):
    generator = torch.Generator().manual_seed(seed)
    costs = torch.randint(5, (30, columns), generator=generator).double()  # with equal numbers
    assert undominated(costs).tolist() == undominated_by_pairs(costs)


def test_equal_rows_do_not_dominate_each_other():
    costs = torch.tensor([[1.0, 2.0], [1.0, 2.0], [1.0, 3.0]])
    assert undominated(costs).tolist() == [True, True, False]


@pytest.mark.usefixtures("plain_arguments")
def test_costs_that_are_no_matrix_are_refused():
    with pytest.raises(ValueError, match="costs must"):
        undominated(torch.tensor([1.0, 2.0]))


def test_each_encoding_of_the_experiment_has_a_row_with_its_mean_loss():
    results = data.results("extrapolation")
    at_64 = results[(results.reading == AS_TRAINED) & (results["read"] == 64)]
    means = at_64.groupby("encoding").loss.mean()
    known = facts()
    assert set(known.index) == set(means.index)
    assert all(abs(known.loss[name] - means[name]) < 1e-9 for name in known.index)


def test_both_ways_is_judged_by_the_masked_models_and_the_others_are_not_measured():
    results = data.results("both_ways")
    known = facts(BOTH_WAYS)
    measured = set(known.index[known["measured"]])
    assert measured == set(results.encoding) and len(known) - len(measured) == 9
    for name in measured:
        at_64 = results[(results.encoding == name) & (results["read"] == 64)]
        assert abs(known.loss[name] - at_64.loss.mean()) < 1e-9
    assert set(remaining(reads=BOTH_WAYS)) == measured
    assert known.loss.isna().sum() == 9


def test_what_an_encoding_adds_is_nothing_a_price_numbers_or_something_that_asks_the_word():
    adds = facts()["adds"]
    kinds = {kind: set(adds.index[adds == kind]) for kind in adds.unique()}
    assert kinds["a straight price"] == {"alibi"}
    assert kinds["numbers"] == {"t5", "kerple", "fire", "sandwich"}
    assert kinds["asks the word"] == {"shaw", "transformer_xl", "deberta", "cope"}
    assert {"rope", "xpos", "none", "learned", "sinusoidal"} <= kinds["nothing"]


def test_a_price_of_the_distance_has_a_bend_where_a_model_reads_both_ways():
    assert facts(BOTH_WAYS)["adds"]["alibi"] == "numbers"
    assert "alibi" not in remaining(reads=BOTH_WAYS, attention=PLAIN)


@pytest.mark.parametrize("n", [64, 700])
def test_one_number_more_in_queries_and_keys_makes_a_straight_price(n):
    generator = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 1, 2, n, 8, generator=generator)
    alibi, positions = create("alibi", d_model=16, n_heads=2), torch.arange(n)
    bias = alibi.bias(q, k, Places(positions, positions))
    later = positions > positions[:, None]
    expected = (q @ k.mT / 8**0.5 + bias).masked_fill(later, -torch.inf).softmax(-1) @ v
    slopes = alibi_slopes(2).view(1, 2, 1, 1) * 8**0.5
    wider_q = torch.cat([q, slopes.expand(1, 2, n, 1)], -1)
    wider_k = torch.cat([k, positions.float().view(n, 1).expand(1, 2, n, 1)], -1)
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        out = scaled_dot_product_attention(
            wider_q, wider_k, pad(v, (0, 1)), is_causal=True, scale=8**-0.5
        )
    torch.testing.assert_close(out[..., :8], expected, atol=1e-4, rtol=0)


def test_sandwich_can_be_split_into_queries_and_keys_by_as_many_numbers_as_its_waves_have():
    positions = torch.arange(64)
    places, nothing = Places(positions, positions), torch.zeros(1, 2, 64, 8)
    bias = create("sandwich", d_model=16, n_heads=2).bias(nothing, nothing, places)
    assert bias is not None
    waves = sinusoidal_table(positions.double(), 128)
    for head in bias.double().flatten(0, -3):
        later = head - head[0, 0]  # what all scores share does not count
        expected = waves @ waves.T - 64
        ratio = later[0, 1] / expected[0, 1]
        torch.testing.assert_close(later, expected * ratio, atol=1e-4, rtol=0)


def test_six_encodings_come_out_first_by_some_answers():
    assert len(tops()) == 6


def test_behind_has_an_interval_and_strikes_out_only_what_clearly_is():
    known = facts(BOTH_WAYS)["behind_1"]["t5"]
    assert known.mean > 0.2 and not known.above(0.2)
    assert "t5" in remaining(0.2, reads=BOTH_WAYS)
    assert "t5" not in remaining(0.05, reads=BOTH_WAYS)


def test_behind_is_judged_among_those_that_the_other_answers_leave():
    answers = {"texts": "4 times as long", "attention": PLAIN}
    losses = facts()["loss_4"]
    assert losses["transformer_xl"] < losses["alibi"] - 0.1  # but such a kernel forbids it
    assert remaining(0.01, **answers) == ["alibi"]
    gaps = behind_best(**answers)
    assert gaps["alibi"].mean == 0 and gaps["transformer_xl"].mean < -0.1
    assert not struck(0.01, **answers)["behind"]["transformer_xl"]


def test_nobody_is_behind_where_the_other_answers_leave_nobody():
    answers = {"reads": BOTH_WAYS, "texts": "4 times as long", "attention": PLAIN}
    assert remaining(10.0, **answers) == []
    assert behind_best(**answers).isna().all() and not struck(0.01, **answers)["behind"].any()


@pytest.mark.parametrize("behind", [0.01, 0.1, 1.0])
def test_the_fifth_question_leaves_the_best_of_those_that_the_others_leave(behind):
    for case in product(*chooser.QUESTIONS.values()):
        answers = dict(zip(chooser.QUESTIONS, case, strict=True))
        assert remaining(behind, **answers)[:1] == remaining(10.0, **answers)[:1]


def test_those_left_are_sorted_by_the_loss_at_the_length_that_is_read():
    assert remaining()[0] == remaining(texts=MAY_CUT)[0] == "deberta"
    assert remaining(texts="16 times as long")[0] == "transformer_xl"


def test_a_text_that_may_be_cut_strikes_out_nobody():
    assert not struck(texts=MAY_CUT).any(axis=None)


@pytest.mark.parametrize("kind", [k for k, default in chooser.DEFAULTS.items() if default.answers])
def test_a_default_is_what_the_chooser_names_first(kind):
    default = chooser.DEFAULTS[kind]
    assert remaining(0.2, **default.answers)[0] == default.encoding
    assert default.sentence


def test_other_trainings_are_means_of_their_rows():
    sizes, larger = chooser.other_sizes(), data.results("larger")
    trained = larger[larger.reading == AS_TRAINED]
    steps = trained[(trained.steps > 1200) & (trained["read"] == 64)]
    pieces = trained[(trained.length == 256) & (trained["read"] == 256)]
    for column, rows in (("ten times the steps", steps), ("pieces of 256", pieces)):
        means = rows.groupby("encoding").loss.mean()
        assert set(means.index) == set(sizes[column].dropna().index)
        assert all(abs(sizes[column][name] - means[name]) < 1e-9 for name in means.index)


def test_steep_is_measured_as_the_others_are_and_is_none_of_them():
    assert chooser.STEEP not in facts().index
    rows = data.results("extrapolation_prices").query("encoding == 'steep' and steps == 1200")
    for texts, read in (("as in training", 64), (MAY_CUT, 64), ("16 times as long", 1024)):
        known = chooser.steep(texts=texts, attention=PLAIN)
        assert known is not None and known.behind is not None
        assert abs(known.loss - rows[rows["read"] == read].loss.mean()) < 1e-9
        first = remaining(texts=texts, attention=PLAIN)[0]
        gap = known.loss - facts()[f"loss_{read // 64}"][first]
        assert abs(known.behind.mean - gap) < 1e-6


def test_steep_was_not_read_so_by_every_answer():
    assert chooser.steep(reads=BOTH_WAYS) is None
    assert chooser.steep(texts="4 times as long") is None


def test_steep_is_struck_out_by_how_far_it_is_behind():
    near, far = chooser.steep(1.0), chooser.steep(0.01)  # behind deberta, whatever the kernel
    assert near is not None and far is not None
    assert not any(near.struck.values()) and far.struck["behind"]


def test_facts_can_be_changed_without_changing_them_for_others():
    known = facts()
    known["loss"] = 0.0
    assert (facts()["loss"] > 1).all()


def test_what_is_the_same_to_both_sides_is_measured_so():
    mirror = facts()["mirror"]
    blind = {"none", "alibi", "kerple", "sandwich", "fire"}
    assert {name for name in mirror.index if mirror[name] <= chooser.ROUNDING} == blind
    causal = {name for name in mirror.index if create(name, d_model=8, n_heads=2).causal}
    assert {name for name in mirror.index if math.isnan(mirror[name])} == causal


def test_those_that_see_offsets_only_do_not_move():
    known = facts()
    for name in known.index:
        if create(name, d_model=8, n_heads=2).offsets_only:
            assert known["shift"][name] <= chooser.ROUNDING, name
    assert known["shift"]["learned"] == math.inf  # it has no rows so far out
    assert known["shift"]["sinusoidal"] > 0.01


def test_the_first_answers_strike_out_nobody():
    first: dict[str, Any] = {name: answers[0] for name, answers in chooser.QUESTIONS.items()}
    assert not struck(**first).any(axis=None)
    assert remaining(**first) == remaining() == facts().sort_values("loss").index.tolist()


@pytest.mark.parametrize(
    ("answers", "out", "kept"),
    [
        ({"reads": "both ways"}, {"none", "shaw", "xpos", "cope"}, {"rope", "t5", "alibi"}),
        ({"texts": "4 times as long"}, {"rope", "learned"}, {"alibi", "t5", "cope", "shaw"}),
        ({"texts": "16 times as long"}, {"rope", "learned", "cope", "fire"}, {"alibi", "t5"}),
        ({"starts": "anywhere"}, {"learned", "sinusoidal", "fire"}, {"rope", "none", "cope"}),
        ({"attention": TAKES_BIAS}, {"shaw", "deberta", "cope"}, {"rope", "alibi", "fire"}),
        ({"attention": PLAIN}, {"shaw", "kerple", "t5"}, {"rope", "learned", "alibi"}),
        ({"behind": 0.1}, {"none", "alibi"}, {"rope", "deberta"}),
    ],
)
def test_an_answer_strikes_out_those_whose_measurement_fails(answers, out, kept):
    ((question, answer),) = answers.items()
    by_question = struck(**{question: answer})
    struck_out = set(by_question.index[by_question[question]])
    assert out <= struck_out
    assert not kept & struck_out
    others = [column for column in by_question if column != question]
    assert not by_question[others].any(axis=None)
    assert set(remaining(**answers)) == set(by_question.index) - struck_out


def test_answers_add_up():
    left = remaining(0.1, starts="anywhere", attention="plain")
    assert left == ["rope", "xpos"]
    assert remaining(texts="4 times as long", attention="plain") == ["alibi"]
    assert remaining(reads=BOTH_WAYS, texts="4 times as long", attention="plain") == []


@pytest.mark.usefixtures("plain_arguments")
@pytest.mark.parametrize(
    ("answers", "named"),
    [
        ({"reads": "sideways"}, "reads 'sideways' is unknown"),
        ({"colour": "red"}, "question 'colour' is unknown"),
        ({"behind": 0.0}, "behind must be"),
    ],
)
def test_other_answers_are_refused(answers, named):
    with pytest.raises((ValueError, TypeError), match=named):
        struck(**answers)
