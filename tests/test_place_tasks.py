"""The small tasks of lesson 04, as its shipped table has them, and its straight heads."""

import itertools
from typing import Any

import pytest
import torch

from course_experiments import place_tasks
from course_lab.straight_heads import (
    best_readout,
    counted,
    keys_asked,
    learned_readouts,
    newton_step,
    share_right,
    straight_weights,
)
from course_utils.texts import data


def test_the_shipped_table_has_the_settings_of_the_experiment():
    table = data.results("place_tasks")
    names = ["encoding", "task", "layers", "heads", "steps", "seed", "starts", "rate"]
    shipped = table[names].to_dict("records")
    assert shipped == list(place_tasks.runs())


def test_relative_schemes_answer_alike_wherever_the_text_stands():
    table = data.results("place_tasks")
    absolute = table["encoding"].isin(["learned", "sinusoidal"])
    from_0 = absolute & (table["starts"] == 0)
    gaps = (table["accuracy"] - table["moved"]).abs()
    assert gaps[~absolute].max() < 0.005 and gaps[from_0].min() > 0.1


def test_models_trained_at_any_start_name_the_token_before_where_the_text_is_moved():
    table = data.results("place_tasks")
    trained_there = table["starts"] == place_tasks.STARTS[1]
    assert table.loc[trained_there & (table["task"] == "the token before"), "moved"].min() > 0.98


def test_shaws_second_layer_finds_key_3_by_what_its_keys_know_of_their_places():
    usual = data.results("place_tasks").query("rate == 0.01")
    measured = usual[list(place_tasks.WITHOUT)].dropna()
    weights = {
        name: [float(weight) for row in measured[name] for weight in row.split()]
        for name in measured
    }
    assert len(measured) == 3 and min(weights["no_offsets"] + weights["queries_alike"]) > 0.99
    assert max(weights["keys_alike"]) < 0.5


def test_shaws_first_layer_writes_the_places_through_door_4():
    measured = data.results("place_tasks").query("rate == 0.01").dropna(subset="no_first_values")
    scores, sums = (
        [float(weight) for row in measured[name] for weight in row.split()]
        for name in ("no_first_keys", "no_first_values")
    )
    assert len(measured) == 3 and min(scores) > 0.8 and max(sums) < 0.4


def test_in_one_layer_of_shaws_values_four_heads_favour_four_kinds_of_token():
    measured = data.results("place_tasks").dropna(subset="leans")
    assert list(measured["seed"]) == [0, 1, 2] and measured["accuracy"].min() > 0.98
    assert all(len(set(kinds.split())) == 4 for kinds in measured["leans"])
    leans, equal, without_values = (
        [float(number) for row in measured[column] for number in row.split()]
        for column in ("lean", "equal_weights", "no_values")
    )
    assert min(leans) > 1.4 and len(leans) == 12
    assert max(equal) < 0.6 and max(without_values) < 0.35


def test_what_a_head_favours_is_read_from_its_weights():
    torch.manual_seed(0)
    model = place_tasks.TinyTransformer(5, place_tasks.ShawValues, 32, 1, 4)
    generator = torch.Generator().manual_seed(0)
    test = place_tasks.TASKS["place 3"](length=9, vocab_size=5, batch=20, generator=generator)
    kinds = [4, 0, 2, 1]
    bias = torch.zeros(5, 4)  # for each kind of token and head
    bias[kinds, range(4)] = torch.tensor(3.0).log()
    scores = bias[test.tokens].transpose(1, 2)[:, :, None].expand(-1, -1, 9, -1)
    weights = scores.masked_fill(torch.ones(9, 9, dtype=torch.bool).triu(1), -torch.inf).softmax(-1)
    model.forward = lambda tokens, need_weights: (None, [weights])  # type: ignore[assignment]
    favoured = place_tasks._leans(model, test)
    assert favoured["leans"] == "4 0 2 1"
    assert [float(times) for times in favoured["lean"].split()] == pytest.approx([3] * 4, rel=0.25)


@pytest.mark.parametrize(("place", "share"), [(None, 0.54), (0, 0.59), (3, 0.53)])
def test_counting_alone_names_more_than_a_blind_guess(place, share):
    texts = torch.randint(5, (20_000, 9), generator=torch.Generator().manual_seed(0))
    assert counted(keys_asked(place, 9), texts) == pytest.approx(share, abs=0.006)


def test_counting_shares_an_answer_among_the_commonest():
    texts = torch.tensor([[0, 1, 1, 2]])
    # The query's own token, the only one before it, one of two, the commonest of three.
    assert counted(keys_asked(0, 4), texts) == pytest.approx((1 + 1 + 0.5 + 0) / 4)


def test_shares_by_query_have_the_mean_of_all_answers():
    table = data.results("place_tasks").query("heads == 4 and steps == 1500")
    for shares, accuracy in zip(table["by_query"], table["accuracy"], strict=True):
        by_query = [float(share) for share in shares.split()]
        assert sum(by_query) / len(by_query) == pytest.approx(accuracy, abs=1e-3)


def test_a_run_is_the_same_twice_and_given_slopes_stay():
    setting: dict[str, Any] = {"layers": 1, "heads": 2, "steps": 3, "seed": 0, "slopes": (2.0, 1.0)}
    first, second = (
        place_tasks.learn(place_tasks.GivenSlopes, "place 1", **setting) for _ in range(2)
    )
    assert first == second
    moved = place_tasks.learn("learned", "place 1", layers=1, heads=2, steps=3, seed=0, starts=5)
    assert moved.keys() == first.keys() and moved != first
    bias = place_tasks.GivenSlopes(8, 2, (2.0, 1.0)).bias_by_offset(torch.tensor([-3, 0]))
    assert bias.tolist() == [[6.0, 0.0], [3.0, 0.0]]


def test_the_command_goes_on_where_the_table_ends(tmp_path, monkeypatch):
    settings = list(itertools.islice(place_tasks.runs(), 2))
    short = [{**setting, "steps": 1} for setting in settings]
    for count in (1, 2):
        monkeypatch.setattr(place_tasks, "runs", lambda count=count: iter(short[:count]))
        place_tasks.main(tmp_path)
    assert len((tmp_path / "place_tasks.csv").read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("place", "slopes"), [(0, (2,)), (1, (2, 1)), (2, (3, 2, 1)), (3, (5, 3.5, 2.5, 1.5))]
)
def test_a_place_takes_one_slope_more_than_its_number(place, slopes):
    texts = torch.randint(5, (500, 9), generator=torch.Generator().manual_seed(0))
    silence, keys = torch.zeros(500, 9, 5, dtype=torch.float64), keys_asked(place, 9)

    def right(slopes):
        weights = straight_weights(slopes, 9)
        return share_right(weights, best_readout(weights, keys), keys, texts, silence)

    assert right(slopes) > 0.98
    assert place == 0 or right(slopes[1:]) < 0.6


def test_learning_finds_the_factors_of_place_1_and_not_those_of_place_3():
    texts = torch.randint(5, (500, 9), generator=torch.Generator().manual_seed(0))
    silence = torch.zeros(500, 9, 5, dtype=torch.float64)

    def right(slopes, place):
        weights, keys = straight_weights(slopes, 9), keys_asked(place, 9)
        seeded = torch.Generator().manual_seed(0)
        readouts = learned_readouts(weights, keys, (0.1, 1.0), 300, seeded)
        return max(share_right(weights, factors, keys, texts, silence) for factors in readouts)

    assert right((2, 1), 1) > 0.98
    assert right((5, 3.5, 2.5, 1.5), 3) < 0.5


def test_one_step_of_newtons_method_finds_the_factors_of_place_3():
    texts = torch.randint(5, (500, 9), generator=torch.Generator().manual_seed(0))
    silence = torch.zeros(500, 9, 5, dtype=torch.float64)
    weights, keys = straight_weights((5, 3.5, 2.5, 1.5), 9), keys_asked(3, 9)
    drawn = torch.randint(5, (300, 9), generator=torch.Generator().manual_seed(1))
    factors, curvatures = newton_step(weights, keys, drawn)
    assert share_right(weights, factors, keys, texts, silence) > 0.98
    assert 0 < 1e7 * curvatures[0] < curvatures[-1]


def test_heads_of_equal_slopes_share_a_factor():
    factors = best_readout(straight_weights((2, 2, 1), 9), keys_asked(1, 9))
    torch.testing.assert_close(factors[0], factors[1])
    alone = best_readout(straight_weights((2, 1), 9), keys_asked(1, 9))
    torch.testing.assert_close(factors[:2].sum(), alone[0])
