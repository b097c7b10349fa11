"""Long trainings of lesson 06's prices: what they know of their own text, and of another."""

from course_experiments import memorising
from course_utils.texts import data

COLUMNS = ["encoding", "seed", "steps"]


def test_each_run_of_the_experiment_is_shipped():
    shipped = data.results("memorising")[COLUMNS].to_dict("records")
    assert shipped == memorising.settings()


def test_in_ten_times_the_steps_tents_learn_their_text_by_heart_and_read_others_worse():
    tents = data.results("memorising").query("encoding == 'tents'")
    early, late = (
        tents.query("steps == @steps").set_index("seed")[["learned", "held_out"]]
        for steps in memorising.STEPS
    )
    assert (late["learned"] < 0.6 * early["learned"]).all()
    assert (late["held_out"] > early["held_out"]).all()


def test_a_model_after_a_single_step_knows_neither_text():
    (row,) = memorising.measure("steep", seed=0, steps=1)
    assert min(row["learned"], row["held_out"]) > 4  # of log 256, which is 5.5
