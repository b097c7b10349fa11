"""Lesson 07's exercises: answers in other styles, and wrong ones that were once misjudged."""

import numpy as np
import pandas as pd
import torch
from exercise_answers import right_answers, wrong_answers

from course_lab.checks.lesson07 import check_objections, check_paired, check_sliding

# Right answers


def sliding_by_unfold(loss_of, block, n):
    windows = block.unfold(0, n + 1, n // 2)
    return torch.stack([loss_of(row[:-1], row[1:])[n // 2 :] for row in windows]).flatten()


def sliding_by_ends(loss_of, block, n):
    losses, end = [], n
    while end < len(block):
        losses += loss_of(block[end - n : end], block[end - n + 1 : end + 1]).tolist()[n // 2 :]
        end += n // 2
    return torch.tensor(losses)


def objections_in_pandas(runs):
    table = pd.DataFrame(runs)
    free = {"encoding", "seed", "read", "loss", "parameters", "seconds"}
    wrong = {key for key in table.columns if key not in free and table[key].nunique(False) > 1}
    seeds = table.groupby(["encoding", "read"])["seed"].agg(
        lambda row: " ".join(map(str, sorted(set(row))))
    )
    if seeds.nunique() > 1 or seeds.str.split().map(len).min() < 3:
        wrong.add("seed")
    if "just cut to 64" not in set(table["encoding"]):
        wrong.add("cut")
    return wrong


def objections_of_reordered_runs(runs):
    return objections_in_pandas(sorted(runs, key=lambda run: (-run["read"], -run["seed"])))


def paired_in_numpy(short, long):
    changes = (long - short).numpy()
    return float(changes.mean()), np.std(changes, ddof=1) / len(changes) ** 0.5


test_right_answers_pass = right_answers(
    {
        check_sliding: [sliding_by_unfold, sliding_by_ends],
        check_objections: [objections_in_pandas, objections_of_reordered_runs],
        check_paired: [paired_in_numpy],
    }
)


# Wrong answers


def sliding_of_everything(loss_of, block, n):
    rows = block.unfold(0, n + 1, n // 2)
    return torch.cat([loss_of(row[:-1], row[1:]) for row in rows])


def sliding_without_a_last(loss_of, block, n):
    losses = []
    for start in range(0, len(block) - n - n // 2, n // 2):
        losses.append(loss_of(block[start : start + n], block[start + 1 : start + n + 1])[n // 2 :])
    return torch.cat(losses)


def objections_to_known_keys(runs):
    wrong = [
        key for key in ("steps", "lr", "protocol", "judged") if len({run[key] for run in runs}) > 1
    ]
    seeds: dict[tuple[str, int], set[int]] = {}
    for run in runs:
        seeds.setdefault((run["encoding"], run["read"]), set()).add(run["seed"])
    if any(row != {0, 1, 2} for row in seeds.values()):
        wrong.append("seed")
    if all(run["encoding"] != "just cut to 64" for run in runs):
        wrong.append("cut")
    return wrong


def objections_by_counting(runs):
    table = pd.DataFrame(runs)
    free = ["encoding", "seed", "read", "loss", "parameters", "seconds"]
    wrong = [key for key in table if key not in free and table[key].nunique() > 1]
    if table.groupby(["encoding", "read"]).size().min() < 3:
        wrong.append("seed")
    if "just cut to 64" not in list(table["encoding"]):
        wrong.append("cut")
    return wrong


def objections_by_another_rule_for_seeds(rule):
    def objections(runs):
        wrong = objections_in_pandas(runs) - {"seed"}
        rows: dict[tuple[str, int], list[int]] = {}
        for run in runs:
            rows.setdefault((run["encoding"], run["read"]), []).append(run["seed"])
        return wrong if rule(rows) else wrong | {"seed"}

    return objections


three_and_no_more = objections_by_another_rule_for_seeds(
    lambda rows: (
        len({tuple(sorted(set(row))) for row in rows.values()}) == 1
        and all(len(set(row)) == 3 for row in rows.values())
    )
)
zero_one_two = objections_by_another_rule_for_seeds(
    lambda rows: all(set(row) == {0, 1, 2} for row in rows.values())
)
in_their_order = objections_by_another_rule_for_seeds(
    lambda rows: (
        all(row == next(iter(rows.values())) for row in rows.values())
        and len(set(next(iter(rows.values())))) >= 3
    )
)
without_the_row_that_is_cut = objections_by_another_rule_for_seeds(
    lambda rows: (
        len({frozenset(row) for (name, _), row in rows.items() if name != "just cut to 64"}) == 1
        and all(len(set(row)) >= 3 for (name, _), row in rows.items() if name != "just cut to 64")
    )
)


def objections_to_unusual_values(runs):
    usual = {"steps": 1200, "lr": 0.002, "protocol": "sliding windows", "judged": 18432}
    wrong = {key for run in runs for key, value in usual.items() if run[key] != value}
    return wrong | objections_in_pandas(runs)


def the_first_objection(runs):
    return sorted(objections_in_pandas(runs))[:1]


def objections_to_all_but_names(runs):
    keys = {key for run in runs for key in run} - {"encoding", "read"}
    return [key for key in keys if len({run.get(key) for run in runs}) > 1]


def objections_in_the_plural(runs):
    return [{"seed": "seeds"}.get(name, name) for name in objections_in_pandas(runs)]


def objections_by_rows(runs):
    usual = runs[0]
    return {run["encoding"] for run in runs if run["steps"] != usual["steps"]}


def sliding_beyond_the_end(loss_of, block, n):
    losses = []
    for start in range(0, len(block), n // 2):
        tokens, targets = block[start : start + n], block[start + 1 : start + n + 1]
        losses.append(loss_of(tokens, targets)[n // 2 :])
    return torch.cat(losses)


def sliding_from_the_middle(loss_of, block, n):
    starts = range(n // 2, len(block) - n, n // 2)
    return torch.cat(
        [loss_of(block[a : a + n], block[a + 1 : a + n + 1])[n // 2 :] for a in starts]
    )


def sliding_without_context(loss_of, block, n):
    middles = range(n // 2, len(block) - n // 2, n // 2)
    return torch.cat(
        [loss_of(block[a : a + n // 2], block[a + 1 : a + n // 2 + 1]) for a in middles]
    )


def sliding_returned_at_once(loss_of, block, n):
    for start in range(0, len(block) - n, n // 2):
        return loss_of(block[start : start + n], block[start + 1 : start + n + 1])[n // 2 :]


def sliding_one_too_far(loss_of, block, n):
    losses = []
    for start in range(0, len(block) - n + 1, n // 2):
        window = block[start : start + n + 1]
        losses.append(loss_of(window[:-1], window[1:])[n // 2 :])
    return torch.cat(losses)


test_wrong_names_are_told = wrong_answers(
    "wrong",
    {
        check_objections: [
            (objections_in_the_plural, '"seeds": no run has such a key'),
            (objections_by_rows, '"xpos": no run has such a key'),
            (objections_to_all_but_names, 'it objects to "loss", "parameters", "seconds", "seed"'),
        ]
    },
)

test_natural_mistakes_are_named = wrong_answers(
    "mistake",
    {
        check_sliding: [
            (sliding_of_everything, "whole windows are judged"),
            (sliding_without_a_last, "missing"),
            (sliding_beyond_the_end, "a window does not fit"),
            (sliding_from_the_middle, "starts too late"),
            (sliding_without_context, "without the half before it"),
            (sliding_returned_at_once, "only the first window"),
            (sliding_one_too_far, "one byte too far"),
        ],
        check_objections: [
            (objections_to_known_keys, "only knows the keys"),
            (objections_by_counting, "counts rows as seeds"),
            (three_and_no_more, "three seeds and no more"),
            (zero_one_two, "must be 0, 1 and 2"),
            (in_their_order, "the order of the runs counts"),
            (without_the_row_that_is_cut, "the row that is cut do not count"),
            (objections_to_unusual_values, "values of the first table"),
            (the_first_objection, "one objection at most"),
        ],
    },
)
