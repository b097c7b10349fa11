"""Lesson 07's exercises: answers in other styles, and wrong ones that were once misjudged."""

import numpy as np
import pandas as pd
import torch
from exercise_answers import right_answers, wrong_answers

from course_lab import referee
from course_lab.checks.lesson07 import check_objections, check_paired, check_sliding
from course_utils.texts import text

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


def objections_in_sets_of_text(runs):
    free = {"encoding", "seed", "read", "loss", "parameters", "seconds"}
    wrong = [key for key in runs[0] if key not in free and len({str(r[key]) for r in runs}) > 1]
    seeds: dict[tuple[str, int], set[int]] = {}
    for run in runs:
        seeds.setdefault((run["encoding"], run["read"]), set()).add(run["seed"])
    places = len({name for name, _ in seeds}) * len({n for _, n in seeds})
    sets = set(map(frozenset, seeds.values()))
    if len(sets) > 1 or len(seeds) < places or len(min(sets, key=len)) < 3:
        wrong.append("seed")
    return wrong + ["cut"] * all(run["encoding"] != "just cut to 64" for run in runs)


def objections_in_pandas(runs):
    table = pd.DataFrame(runs)
    free = {"encoding", "seed", "read", "loss", "parameters", "seconds"}
    settings = [key for key in table if key not in free]
    lacking = object()
    values_of = {key: [run.get(key, lacking) for run in runs] for key in settings}
    wrong = {key for key, (first, *others) in values_of.items() if any(x != first for x in others)}
    wrong |= {key for key, values in values_of.items() if lacking in values}
    counts = pd.crosstab([table["encoding"], table["read"]], table["seed"]) > 0
    places = table["encoding"].nunique() * table["read"].nunique()
    if len(counts) < places or counts.nunique().max() > 1 or counts.sum(axis=1).min() < 3:
        wrong.add("seed")
    if "just cut to 64" not in set(table["encoding"]):
        wrong.add("cut")
    return wrong


def objections_by_comparing_pairs(runs):
    free = ("encoding", "seed", "read", "loss", "parameters", "seconds")
    others = [{key: run[key] for key in run if key not in free} for run in runs]
    wrong = {
        key
        for first, second in zip(others, others[1:], strict=False)
        for key in {*first, *second}
        if (key in first, first.get(key)) != (key in second, second.get(key))
    }
    names, lengths = {run["encoding"] for run in runs}, {run["read"] for run in runs}
    seeds = [
        {run["seed"] for run in runs if (run["encoding"], run["read"]) == (name, n)}
        for name in names
        for n in lengths
    ]
    if any(row != seeds[0] for row in seeds) or len(seeds[0]) < 3:
        wrong.add("seed")
    return wrong if "just cut to 64" in names else wrong | {"cut"}


def objections_of_reordered_runs(runs):
    return objections_in_pandas(sorted(runs, key=lambda run: (-run["read"], -run["seed"])))


def paired_in_numpy(short, long):
    changes = (long - short).numpy()
    return float(changes.mean()), np.std(changes, ddof=1) / len(changes) ** 0.5


test_right_answers_pass = right_answers(
    {
        check_sliding: [sliding_by_unfold, sliding_by_ends],
        check_objections: [
            objections_in_sets_of_text,
            objections_in_pandas,
            objections_by_comparing_pairs,
            objections_of_reordered_runs,
        ],
        check_paired: [paired_in_numpy],
    }
)


# Wrong answers


def sliding_windows_filled_up(loss_of, block, n):
    losses = []
    for start in range(0, len(block), n // 2):
        window = block[start : start + n + 1]
        window = torch.nn.functional.pad(window, (0, n + 1 - len(window)))
        losses.append(loss_of(window[:-1], window[1:])[n // 2 :])
    return torch.cat(losses)


def sliding_to_a_list(loss_of, block, n):
    return sliding_by_unfold(loss_of, block, n).tolist()


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


def seeds_alike_but_runs_counted(runs):
    table = pd.DataFrame(runs)
    places = table.groupby(["encoding", "read"])["seed"]
    alike = places.agg(frozenset).unstack().stack(future_stack=True).nunique(dropna=False) == 1
    return not alike or places.size().min() < 3


def objections_by_another_rule_for_seeds(rule):
    def objections(runs):
        wrong = objections_in_pandas(runs) - {"seed"}
        rows: dict[tuple[str, int], list[int]] = {
            (row["encoding"], column["read"]): [] for row in runs for column in runs
        }
        for run in runs:
            rows[run["encoding"], run["read"]].append(run["seed"])
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


def objections_to_all_but(*keys):
    def answer(runs):
        return check_objections.reference(_without(keys, runs))

    return answer


def _values(runs):
    return [value for run in runs for value in run.values()]


def _without(keys, runs):
    return [{name: value for name, value in run.items() if name not in keys} for run in runs]


def objections_to_all_but_names(runs):
    keys = {key for run in runs for key in run} - {"encoding", "read"}
    return [key for key in keys if len({run.get(key) for run in runs}) > 1]


def objections_in_the_plural(runs):
    return [{"seed": "seeds"}.get(name, name) for name in objections_in_pandas(runs)]


def objections_by_rows(runs):
    usual = runs[0]
    return {run["encoding"] for run in runs if run["steps"] != usual["steps"]}


def objections_of_places_that_occur(runs):
    wrong = objections_by_comparing_pairs(runs) - {"seed"}
    seeds: dict[tuple[str, int], set[int]] = {}
    for run in runs:
        seeds.setdefault((run["encoding"], run["read"]), set()).add(run["seed"])
    first, *others = seeds.values()
    return wrong | ({"seed"} if len(first) < 3 or any(row != first for row in others) else set())


objections_to_copies = objections_by_another_rule_for_seeds(
    lambda rows: (
        len({tuple(sorted(row)) for row in rows.values()}) == 1
        and len(set(next(iter(rows.values())))) >= 3
    )
)


def objections_to_an_absent_prefix(runs):
    there = any(run["encoding"].startswith("just cut") for run in runs)
    wrong = objections_by_comparing_pairs(runs) - {"cut"}
    return wrong if there else wrong | {"cut"}


def objections_to_a_first_run_that_is_not_cut(runs):
    there = runs[0]["encoding"] == "just cut to 64"
    wrong = objections_by_comparing_pairs(runs) - {"cut"}
    return wrong if there else wrong | {"cut"}


def objections_to_encodings(runs):
    return objections_by_comparing_pairs(runs) | {"encoding"}


def objections_to_rows_and_columns(runs):
    return objections_by_comparing_pairs(runs) | {"encoding", "read"}


def three_objections(runs):
    return sorted(objections_by_comparing_pairs(runs))[:3]


def objections_between_sets_of_encodings(runs):
    wrong = objections_by_comparing_pairs(runs) & {"seed", "cut"}
    free = {"encoding", "seed", "read", "loss", "parameters", "seconds"}
    for key in {key for run in runs for key in run} - free:
        values: dict[str, set[str]] = {}
        for run in runs:
            values.setdefault(run["encoding"], set()).add(repr(run.get(key, "lacking")))
        if any(some != values[runs[0]["encoding"]] for some in values.values()):
            wrong.add(key)
    return wrong


def sliding_with_the_target_inside(loss_of, block, n):
    windows = block.unfold(0, n, n // 2)
    return torch.cat([loss_of(row[:-1], row[1:])[-(n // 2) :] for row in windows])


def sliding_by_one(loss_of, block, n):
    starts = range(len(block) - n)
    return torch.stack([loss_of(block[a : a + n], block[a + 1 : a + n + 1])[-1] for a in starts])


def sliding_in_one_pass(loss_of, block, n):
    return loss_of(block[:-1], block[1:])[n // 2 :]


def sliding_over_rolled_targets(loss_of, block, n):
    rows = zip(block.unfold(0, n, n // 2), block.roll(-1).unfold(0, n, n // 2), strict=True)
    return torch.cat([loss_of(tokens, targets)[n // 2 :] for tokens, targets in rows])


def sliding_with_one_loss_each(loss_of, block, n):
    half = n // 2
    windows = block.unfold(0, n + 1, half)
    return torch.cat([loss_of(row[:-1], row[1:])[half : half + 1] for row in windows])


def sliding_with_zeros_at_the_end(loss_of, block, n):
    judged, losses = sliding_by_unfold(loss_of, block, n), torch.zeros(len(block))
    losses[: len(judged)] = judged
    return losses


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


def sliding_written_in_place(loss_of, block, n):
    losses = torch.zeros(len(block) - 1)
    for start in range(0, len(block) - n, n // 2):
        tokens, targets = block[start : start + n], block[start + 1 : start + n + 1]
        losses[start : start + n] = loss_of(tokens, targets)
    return losses[n // 2 :]


def sliding_with_growing_context(loss_of, block, n):
    losses = []
    for end in range(n // 2 + 1, len(block)):
        start = max(0, end - n)
        losses.append(loss_of(block[start:end], block[start + 1 : end + 1])[-1:])
    return torch.cat(losses)


def sliding_with_targets_half_a_window_ahead(loss_of, block, n):
    half = n // 2
    starts = range(0, len(block) - n - half, half)
    pairs = [(block[a : a + n], block[a + half : a + n + half]) for a in starts]
    return torch.cat([loss_of(*pair)[half:] for pair in pairs])


def sliding_from_the_second_byte(loss_of, block, n):
    starts = range(1, len(block) - n, n // 2)
    pairs = [(block[a : a + n], block[a + 1 : a + n + 1]) for a in starts]
    return torch.cat([loss_of(*pair)[n // 2 :] for pair in pairs])


def sliding_in_batches(loss_of, block, n):
    rows = block.unfold(0, n + 1, n // 2)
    return loss_of(rows[:, :-1], rows[:, 1:])[:, n // 2 :].flatten()


def sliding_in_longer_windows(loss_of, block, n):
    half = n // 2
    starts = range(0, len(block) - n - half, half)
    pairs = [(block[a : a + n + half], block[a + 1 : a + n + half + 1]) for a in starts]
    return torch.cat([loss_of(*pair)[n:] for pair in pairs])


def sliding_of_judged_targets_only(loss_of, block, n):
    starts = range(0, len(block) - n, n // 2)
    return torch.cat([loss_of(block[a : a + n], block[a + n // 2 + 1 : a + n + 1]) for a in starts])


def sliding_of_a_token_too_few(loss_of, block, n):
    starts = range(0, len(block) - n, n // 2)
    pairs = [(block[a : a + n - 1], block[a + 1 : a + n + 1]) for a in starts]
    return torch.cat([loss_of(*pair)[n // 2 :] for pair in pairs])


def sliding_in_the_order_of_losses(loss_of, block, n):
    return sliding_by_unfold(loss_of, block, n).sort().values


def sliding_by_a_private_function(loss_of, block, n):
    rows = zip(*text._windows(block[None], length=n, step=n // 2), strict=True)
    return torch.cat([loss_of(*row)[n // 2 :] for row in rows])


def sliding_by_the_package(loss_of, block, n):
    windows = text.sliding(block[None], length=n, first=n // 2)
    starts = range(0, len(block) - n, n // 2)
    pairs = zip(windows.tokens, [block[a + 1 : a + n + 1] for a in starts], strict=True)
    return torch.cat([loss_of(*pair)[n // 2 :] for pair in pairs])


def objections_with(seeds=None, keys=None, cut=None):
    """The right answer with one of its rules in other words."""

    def objections(runs):
        wrong = set(objections_by_comparing_pairs(runs))
        rules = {"seed": seeds, "cut": cut}
        for name, rule in rules.items():
            if rule:
                wrong = wrong - {name} | ({name} if rule(runs) else set())
        return wrong if keys is None else wrong & {"seed", "cut"} | keys(runs)

    return objections


def seeds_in_a_set(runs):
    seeds: dict[tuple[str, int], set[int]] = {}
    for run in runs:
        seeds.setdefault((run["encoding"], run["read"]), set()).add(run["seed"])
    return len(set(seeds.values())) > 1


def seeds_by_place(runs):
    return [
        {row["seed"] for row in runs if row["encoding"] == name and row["read"] == n}
        for name in dict.fromkeys(row["encoding"] for row in runs)
        for n in dict.fromkeys(row["read"] for row in runs)
    ]


def seeds_not_three(runs):
    return any(len(seeds) != 3 for seeds in seeds_by_place(runs))


def seeds_of_the_first_and_last_place(runs):
    first, *_, last = seeds_by_place(runs)
    return first != last or len(first) < 3


def sliding_by_averaging(loss_of, block, n):
    sums, counts = torch.zeros(len(block)), torch.zeros(len(block))
    for a in range(0, len(block) - n, n // 2):
        sums[a : a + n] += loss_of(block[a : a + n], block[a + 1 : a + n + 1])
        counts[a : a + n] += 1
    return (sums / counts)[n // 2 :][counts[n // 2 :] > 0]


def sliding_from_the_middle_by_first_halves(loss_of, block, n):
    starts = range(n // 2, len(block) - n, n // 2)
    pairs = [(block[a : a + n], block[a + 1 : a + n + 1]) for a in starts]
    return torch.cat([loss_of(*pair)[: n // 2] for pair in pairs] or [torch.zeros(0)])


def seeds_at_64_and_1024(runs):
    names = {run["encoding"] for run in runs}
    rows = [
        {run["seed"] for run in runs if run["encoding"] == name and run["read"] == n}
        for name in names
        for n in (64, 1024)
    ]
    return len(rows[0]) < 3 or any(row != rows[0] for row in rows)


def seeds_at_the_ends(runs):
    lengths = [run["read"] for run in runs]
    ends = [run for run in runs if run["read"] in (min(lengths), max(lengths))]
    return "seed" in objections_by_comparing_pairs(ends)


def seeds_in_sorted_lists(runs):
    rows: dict[tuple[str, int], list[int]] = {}
    for run in runs:
        rows.setdefault((run["encoding"], run["read"]), []).append(run["seed"])
    lists = [sorted(row) for row in rows.values()]
    return len(lists[0]) < 3 or any(row != lists[0] for row in lists)


def seeds_within_the_first(runs):
    first, *others = (
        {row["seed"] for row in runs if row["encoding"] == name and row["read"] == n}
        for name in dict.fromkeys(row["encoding"] for row in runs)
        for n in dict.fromkeys(row["read"] for row in runs)
    )
    return any(len(seeds) < 3 for seeds in (first, *others)) or any(
        not seeds <= first for seeds in others
    )


def objections_of_last_runs(runs):
    last = list({run["encoding"]: run for run in runs}.values())
    wrong = set(objections_by_comparing_pairs(runs)) & {"seed", "cut"}
    return wrong | (set(objections_by_comparing_pairs(last)) - {"seed", "cut"})


def keys_by_identity(runs):
    free = {"encoding", "seed", "read", "loss", "parameters", "seconds"}
    names = {key for run in runs for key in run} - free
    return {
        key
        for key in names
        if any(key not in run or run[key] is not runs[0].get(key) for run in runs)
    }


def sliding_into_zeros_like_the_block(loss_of, block, n):
    losses = sliding_by_unfold(loss_of, block, n)
    places = torch.zeros_like(block)[: len(losses)]
    places[:] = losses
    return places


def sliding_by_place(spare):
    def sliding(loss_of, block, n):
        places = torch.zeros(len(block) - spare)
        for a in range(0, len(block) - n, n // 2):
            losses = loss_of(block[a : a + n], block[a + 1 : a + n + 1])
            places[a + n // 2 : a + n] = losses[n // 2 :]
        return places[n // 2 :]

    return sliding


def sliding_one_place_early(loss_of, block, n):
    losses = [
        loss_of(block[a : a + n], block[a + 1 : a + n + 1])[n // 2 - 1 : n - 1]
        for a in range(0, len(block) - n, n // 2)
    ]
    return torch.cat(losses)


def objections_once_for_each_run(runs):
    free = {"encoding", "seed", "read", "loss", "parameters", "seconds"}
    settings = [key for key in runs[0] if key not in free]
    wrong = [key for key in settings for run in runs if run[key] != runs[0][key]]
    return wrong + [name for name in objections_in_pandas(runs) if name in ("seed", "cut")]


def sliding_with_one_place_too_many(loss_of, block, n):
    return torch.cat([sliding_by_unfold(loss_of, block, n), torch.zeros(1)])


def sliding_in_a_matrix(loss_of, block, n):
    return sliding_by_unfold(loss_of, block, n)[None]


def sliding_to_the_last_whole_window(loss_of, block, n):
    losses = []
    for a in range(0, len(block) // n * n - n, n // 2):
        losses.append(loss_of(block[a : a + n], block[a + 1 : a + n + 1])[n // 2 :])
    return torch.cat(losses or [torch.zeros(0)])


def seeds_within(key):
    def rule(runs):
        for value in {run[key] for run in runs}:
            first, *others = seeds_by_place([run for run in runs if run[key] == value])
            if len(first) < 3 or any(other != first for other in others):
                return True
        return False

    return rule


def seeds_few_and_unlike(runs):
    first, *others = seeds_by_place(runs)
    return len(first) < 3 and any(other != first for other in others)


def seeds_all_few(runs):
    return not any(len(seeds) >= 3 for seeds in seeds_by_place(runs))


def seeds_beyond_the_first(runs):
    first, *others = seeds_by_place(runs)
    return len(first) < 3 or any(not other <= first for other in others)


def settings_of(runs):
    return set(runs[0]) - {"encoding", "seed", "read", "loss", "parameters", "seconds"}


def judged_within_each_length(runs):
    wrong = {key for key in settings_of(runs) if len({str(run[key]) for run in runs}) > 1}
    for n in {run["read"] for run in runs}:
        if len({run["judged"] for run in runs if run["read"] == n}) > 1:
            return wrong
    return wrong - {"judged"}


def unlike_in_all_runs(runs):
    return {key for key in settings_of(runs) if all(run[key] != runs[0][key] for run in runs[1:])}


def unlike_in_the_last_run(runs):
    return {key for key in settings_of(runs) if runs[-1][key] != runs[0][key]}


def objections_returned_in_the_loop(runs):
    right = objections_by_comparing_pairs(runs)
    for key in runs[0]:
        if key in right and key not in ("seed", "cut"):
            return [key]
    return right


def objections_with_elif(runs):
    right = objections_by_comparing_pairs(runs)
    return right - {"cut"} if "seed" in right else right


def some_other_name(runs):
    return any(run["encoding"] != "just cut to 64" for run in runs)


def the_name_is_there(runs):
    return any(run["encoding"] == "just cut to 64" for run in runs)


def test_a_wrong_answer_is_told_which_rule_it_breaks_and_where():
    text_of_verdict = str(check_objections.verdict(objections_with(seeds=lambda runs: False)))
    assert "seeds are not looked at" in text_of_verdict

    def one_table_wrong(runs):
        right = objections_by_comparing_pairs(runs)
        copies = len(runs) == 24 and runs[6]["seed"] == runs[7]["seed"] == runs[8]["seed"] == 1
        return right - {"seed"} if copies else right

    verdict = check_objections.verdict(one_table_wrong)
    assert verdict.kind == "wrong"
    assert "*check_objections.cases[3]: 24 runs of shaw, xpos" in verdict.text
    assert '"seed" (shaw at 64: 0, 1, 2; xpos at 64: 1, 1, 1)' in verdict.text
    assert len(*check_objections.cases[3]) == 24


test_names_may_be_the_keys_of_a_dictionary = right_answers(
    {check_objections: [lambda runs: dict.fromkeys(objections_in_pandas(runs)).keys()]}
)


def objections_by_the_package(runs):
    return list(referee.objections(runs))


test_nobody_else_solves_it = wrong_answers(
    "rule",
    {
        check_sliding: [
            (sliding_by_the_package, "it comes from sliding"),
            (sliding_by_a_private_function, "it comes from _windows"),
        ],
        check_objections: [
            (referee.objections, "it comes from objections"),
            (objections_by_the_package, "it comes from objections"),
        ],
    },
)

test_wrong_names_are_told = wrong_answers(
    "wrong",
    {
        check_sliding: [
            (sliding_written_in_place, "Which of the two losses is wanted?"),
            (sliding_with_growing_context, "a window of its own"),
            (sliding_with_targets_half_a_window_ahead, "its target is byte 8 of the block"),
            (sliding_from_the_second_byte, "does one start there?"),
            (sliding_in_longer_windows, "How many has a window?"),
            (sliding_in_the_order_of_losses, "the right ones in another order"),
            (sliding_into_zeros_like_the_block, "Which numbers can a loss be?"),
            (sliding_with_one_place_too_many, "a place that was not written to"),
            (sliding_in_a_matrix, "how many axes is that?"),
            (sliding_to_the_last_whole_window, "where does the last one start that fits?"),
        ],
        check_objections: [
            (objections_in_the_plural, '"seeds": no run has such a key'),
            (objections_by_rows, '"xpos": no run has such a key'),
            (lambda runs: [], "it misses a setting that is not equal in all"),
            (objections_to_known_keys, "not equal in all (any other key is one)"),
            (objections_to_all_but_names, 'it objects to "loss", which need not be equal'),
            (
                objections_to_all_but("optimizer", "batch"),
                "it misses 2 settings that are not equal in all (any other key is one)",
            ),
        ],
    },
)

test_natural_mistakes_are_named = wrong_answers(
    "mistake",
    {
        check_sliding: [
            (sliding_of_judged_targets_only, "in the first window too"),
            (sliding_of_a_token_too_few, "in the first window too"),
            (sliding_of_everything, "whole windows are judged"),
            (sliding_windows_filled_up, "zeros are put behind the block"),
            (sliding_to_a_list, "this is a list"),
            (sliding_without_a_last, "missing"),
            (sliding_beyond_the_end, "a window does not fit"),
            (sliding_from_the_middle, "starts too late"),
            (sliding_without_context, "without the half before it"),
            (sliding_returned_at_once, "only the first window"),
            (sliding_one_too_far, "one byte too far"),
            (sliding_with_the_target_inside, "n bytes with their last target"),
            (sliding_one_place_early, "one place too early"),
            (sliding_by_one, "a window of its own"),
            (sliding_in_one_pass, "read at once"),
            (sliding_over_rolled_targets, "the first byte of the block"),
            (sliding_with_one_loss_each, "one loss, the first that it judges"),
            (sliding_with_zeros_at_the_end, "places are left over"),
            (sliding_in_batches, "handed over at once"),
            *((sliding_by_place(spare), "places are left over") for spare in (0, 1)),
            (sliding_by_averaging, "in all windows are averaged"),
            (sliding_from_the_middle_by_first_halves, "their first halves are judged"),
        ],
        check_objections: [
            (objections_by_counting, "counts rows as seeds"),
            (three_and_no_more, "three seeds and no more"),
            (zero_one_two, "must be 0, 1 and 2"),
            (in_their_order, "the order of the runs counts"),
            (without_the_row_that_is_cut, "the row that is cut do not count"),
            (objections_once_for_each_run, "more than once"),
            (objections_to_unusual_values, "it objects to a fair table"),
            (the_first_objection, "one objection at most"),
            (objections_of_places_that_occur, "a column without a run"),
            (objections_to_copies, "a copy of a run"),
            (objections_to_an_absent_prefix, "another name is taken"),
            (objections_to_a_first_run_that_is_not_cut, "in one run only"),
            (objections_to_encodings, "objects to encodings"),
            (three_objections, "3 objections at most"),
            (objections_between_sets_of_encodings, "not run with run"),
            (lambda runs: ["cut", "judged", "protocol", "seed", "steps"], "same of every table"),
            (objections_with(seeds=seeds_at_64_and_1024), "knows beforehand"),
            (objections_with(seeds=seeds_at_the_ends), "seeds of some lengths only"),
            (objections_with(seeds=seeds_in_sorted_lists), "copies of a run count"),
            (objections_with(seeds=seeds_within_the_first), "fewer seeds than the first"),
            (objections_with(seeds=seeds_in_a_set), "sets are put into a set"),
            (objections_with(seeds=seeds_not_three), "only whether there are three"),
            (objections_with(seeds=seeds_of_the_first_and_last_place), "seeds of the rows between"),
            (objections_to_all_but("judged", "protocol"), "more than one setting is left free"),
            (objections_to_all_but("steps", "lr"), "more than one setting is left free"),
            (
                objections_with(cut=lambda runs: "just cut to 64" not in _values(runs)),
                "under every key",
            ),
            *(
                (objections_to_all_but(key), "free that the exercise does not name")
                for key in ("batch", "optimizer", "length", "d_model", "n_heads", "device", "torch")
            ),
            (objections_with(seeds=seeds_within("read")), "seeds are compared within each length"),
            (objections_with(seeds=seeds_within("encoding")), "with its own at other lengths only"),
            (objections_with(seeds=seeds_few_and_unlike), "few and unlike at once"),
            (objections_with(seeds=seeds_all_few), "one place with three seeds is enough"),
            (
                objections_with(seeds=lambda runs: len(seeds_by_place(runs)[0]) < 3),
                "the first place alone",
            ),
            (objections_with(seeds=seeds_beyond_the_first), "fewer seeds than the first"),
            (objections_with(keys=judged_within_each_length), "columns were made in two ways"),
            (objections_with(keys=unlike_in_all_runs), "another in all runs"),
            (objections_with(keys=unlike_in_the_last_run), "the first run with the last only"),
            (objections_with(keys=lambda runs: set()), "no setting is ever objected to"),
            (objections_returned_in_the_loop, "stops at the first setting"),
            (objections_with_elif, "does not look for the simplest row"),
            (objections_with(cut=some_other_name), "where some run has another name"),
            (objections_with(cut=the_name_is_there), "it objects to the simplest row"),
            (objections_of_last_runs, "one run of each encoding"),
            (objections_with(keys=keys_by_identity), "compared with `is`"),
            (objections_with(seeds=seeds_alike_but_runs_counted), "counts rows as seeds"),
            (objections_to_rows_and_columns, "the rows and the columns"),
        ],
    },
)
