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


def paired_in_numpy(short, long):
    changes = (long - short).numpy()
    return float(changes.mean()), np.std(changes, ddof=1) / len(changes) ** 0.5


test_right_answers_pass = right_answers(
    {
        check_sliding: [sliding_by_unfold, sliding_by_ends],
        check_objections: [objections_in_pandas],
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


test_natural_mistakes_are_named = wrong_answers(
    "mistake",
    {
        check_sliding: [
            (sliding_of_everything, "whole windows are judged"),
            (sliding_without_a_last, "missing"),
        ],
        check_objections: [
            (objections_to_known_keys, "only knows the keys"),
            (objections_by_counting, "counts rows as seeds"),
        ],
    },
)
