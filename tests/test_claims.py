"""Claims: scope before the guess, verdicts by logic, structured outputs, and the ledger of them."""

import csv
import io
import re
from pathlib import Path
from typing import Any

import claims_table
import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from notebook_source import find_lessons, lesson_name

from course_lab import claims
from course_lab.claims import CLAIM_MIME, Claim
from course_lab.widgets import predictions

ROOT = Path(__file__).resolve().parents[1]
LEDGER = ROOT / "data" / "claims.csv"
SCOPE = "integers; equal or not"
WHITE = Claim("Snow is white. Mostly.", scope="fresh snow; share of light", evidence="exact")
VARIES = Claim("It melts.", scope="one hour outside", evidence="exact", choice="the season")
LEARNS = Claim("It learns.", scope="100 steps", evidence="trained here", seeds=3)
READS = Claim("It reads.", scope="at 64", evidence="shipped results", seeds=1)


@pytest.fixture(autouse=True)
def answers(monkeypatch):
    """The answers to questions, of which there are none yet."""
    monkeypatch.setattr(predictions, "_answers", {})
    return predictions._answers


@pytest.fixture
def myths(shown):
    """Two claims; the bundles shown so far (the two questions) are taken away."""
    two_claims = claims.Myths({"C01": WHITE, "C02": VARIES})
    shown.clear()
    return two_claims


# What is fixed before the guess


@pytest.mark.usefixtures("plain_arguments")
@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"text": " "}, "text must not be empty"),
        ({"scope": ""}, "scope must not be empty"),
        ({"scope": "\n"}, "scope must not be empty"),
        ({"evidence": "measured"}, "evidence must be one of exact, .*, got 'measured'"),
        ({"evidence": "trained here"}, "seeds must be at least 1 for 'trained here', got None"),
        ({"evidence": "shipped results", "seeds": 0}, "seeds must be at least 1 .* got 0"),
        ({"evidence": "exact", "seeds": 3}, "seeds must be None for 'exact', got 3"),
        ({"evidence": "source", "seeds": 1}, "seeds must be None for 'source', got 1"),
    ],
)
def test_a_claim_without_scope_or_with_other_evidence_is_refused(changes, named):
    given: dict[str, Any] = {"text": "One is two.", "scope": SCOPE, "evidence": "exact"} | changes
    with pytest.raises(ValueError, match=named):
        Claim(**given)


@pytest.mark.parametrize("missing", ["scope", "evidence"])
def test_scope_and_evidence_must_be_given(missing):
    given: dict[str, Any] = {"scope": SCOPE, "evidence": "exact"}
    del given[missing]
    with pytest.raises(TypeError, match=missing):
        Claim("One is two.", **given)


def test_grounds_say_the_evidence_and_its_seeds():
    grounds = [claim.grounds for claim in (WHITE, LEARNS, READS)]
    assert grounds == ["exact", "trained here, 3 seeds", "shipped results, 1 seed"]


def test_the_question_has_text_and_scope_before_anything_is_settled(shown):
    claims.Myths({"C01": WHITE, "C02": VARIES})
    questions = [bundle["text/plain"] for bundle in shown]
    assert len(questions) == 2
    for key, claim, text in zip(("C01", "C02"), (WHITE, VARIES), questions, strict=True):
        assert key in text and claim.text in text and claim.scope in text


# Verdicts


@pytest.mark.parametrize(
    ("claim", "cases", "verdict"),
    [
        (WHITE, {"a": True}, "true"),
        (WHITE, {"a": True, "b": True}, "true"),
        (WHITE, {"a": False}, "false"),
        (WHITE, {"a": True, "b": True, "c": False}, "false"),
        (VARIES, {"summer": True, "winter": True}, "true"),
        (VARIES, {"summer": False, "winter": False}, "false"),
        (VARIES, {"summer": True, "winter": False}, "depends"),
    ],
)
def test_one_counterexample_makes_a_claim_false_unless_it_turns_on_a_choice(claim, cases, verdict):
    assert claim.verdict(cases) == verdict


@pytest.mark.parametrize("claim", [WHITE, VARIES])
def test_no_case_is_no_verdict(claim):
    with pytest.raises(ValueError, match="cases must name at least one"):
        claim.verdict({})


# What is shown


def test_a_settled_claim_is_shown_with_verdict_measurement_scope_and_evidence(myths, shown):
    myths.settle("C01", {"fresh": True, "trodden": False}, "0.9 and 0.4.")
    (bundle,) = shown
    text = " ".join(bundle["text/plain"].split())
    assert text.startswith(f"C01 {WHITE.text} FALSE. 0.9 and 0.4.")
    assert "fresh: yes; trodden: no" in text
    assert text.endswith(f"Judged on: {WHITE.scope}. Evidence: exact.")


def test_equal_cases_are_not_listed(myths, shown):
    myths.settle("C02", {"summer": True, "winter": True}, "Seen.")
    text = shown[0]["text/plain"]
    assert "TRUE. Seen." in text and "yes" not in text


def test_the_output_names_the_choice_lists_the_cases_and_holds_every_part_by_name(myths, shown):
    myths.settle("C02", {"summer": True, "winter": False}, "Seen.")
    text = shown[0]["text/plain"]
    assert "DEPENDS on the season. Seen." in text and "summer: yes; winter: no" in text
    assert shown[0][CLAIM_MIME] == {
        "id": "C02",
        "claim": "It melts.",
        "scope": "one hour outside",
        "evidence": "exact",
        "choice": "the season",
        "verdict": "depends",
        "measured": "Seen.",
        "cases": {"summer": True, "winter": False},
    }


def test_a_claim_left_open_is_not_tested_and_says_why(myths, shown):
    myths.leave_open("C01", "It did not snow.")
    (bundle,) = shown
    assert bundle[CLAIM_MIME]["verdict"] == "not tested"
    assert "NOT TESTED. It did not snow." in bundle["text/plain"]


@pytest.mark.parametrize("settle", ["settle", "leave_open"])
def test_an_unknown_id_is_named(myths, settle):
    rest = ({"a": True}, "x") if settle == "settle" else ("x",)
    with pytest.raises(ValueError, match="key must be one of C01, C02, got 'C99'"):
        getattr(myths, settle)("C99", *rest)


# In a real model


def test_a_second_verdict_follows_the_same_logic_in_words_and_the_first_stays(myths, shown):
    myths.settle("C02", {"summer": True, "winter": True}, "Seen.")
    myths.in_a_real_model("C02", {"hot": True, "cold": False}, "0.3.", "Titan")
    assert myths.settled == {"C02": "true"}
    assert shown[1][CLAIM_MIME] == {
        "id": "C02",
        "model": "Titan",
        "verdict": "depends",
        "first_verdict": "true",
        "measured": "0.3.",
        "cases": {"hot": True, "cold": False},
    }
    assert "model" not in shown[0][CLAIM_MIME], "by this the two are told apart"
    text = shown[1]["text/plain"]
    assert "DEPENDS on the season, unlike above, where it is TRUE." in text
    assert "hot: yes; cold: no" in text


@pytest.mark.parametrize(
    ("first", "there", "words"),
    [
        (True, True, "TRUE, as above. 0.3."),
        (False, True, "TRUE, unlike above, where it is FALSE. 0.3."),
        (True, False, "FALSE, unlike above, where it is TRUE. 0.3."),
        (None, True, "TRUE, which is not tested above. 0.3."),
    ],
)
def test_the_text_says_whether_the_real_model_agrees(myths, shown, first, there, words):
    if first is None:
        myths.leave_open("C01", "It did not snow.")
    else:
        myths.settle("C01", {"a": first}, "Seen.")
    myths.in_a_real_model("C01", {"b": there}, "0.3.", "Titan")
    text = " ".join(shown[1]["text/plain"].split())
    assert text.startswith(f"C01 {WHITE.text} In a real model, Titan: {words}")


def test_a_claim_that_some_cases_of_a_real_model_bear_out_is_false_by_the_others(myths, shown):
    myths.settle("C01", {"a": False}, "Seen.")
    myths.in_a_real_model("C01", {"b": False, "c": True, "d": True}, "0.3.", "Titan")
    assert "In a real model, Titan: FALSE, by 1 of 3 cases. 0.3." in shown[1]["text/plain"]


def test_a_claim_must_be_settled_before_a_real_model_is_asked(myths, shown):
    with pytest.raises(ValueError, match="key must be settled before .*, got 'C01'"):
        myths.in_a_real_model("C01", {"a": True}, "0.3.", "Titan")
    assert shown == [] and myths.in_real_models == {}


@pytest.mark.usefixtures("plain_arguments")
@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"key": "C99"}, "key must be one of C01, C02, got 'C99'"),
        ({"cases": {}}, "cases must name at least one"),
        ({"measured": ""}, "measured must not be empty"),
        ({"model": " "}, "model must not be empty"),
    ],
)
def test_a_second_line_without_its_parts_is_refused_and_nothing_shown(myths, shown, changes, named):
    myths.settle("C01", {"a": True}, "Seen.")
    given = {"key": "C01", "cases": {"a": True}, "measured": "0.3.", "model": "Titan"} | changes
    with pytest.raises(ValueError, match=named):
        myths.in_a_real_model(**given)
    assert len(shown) == 1 and myths.in_real_models == {}


# The ledger


def notebook_of(*bundles):
    """A notebook whose one code cell printed a line before each of the bundles."""
    outputs = []
    for bundle in bundles:
        text = "C77  A claim as text settles nothing.\n     TRUE. 1.\n"
        outputs += [new_output("stream", text=text), new_output("display_data", bundle)]
    return new_notebook(cells=[new_code_cell("…", id="c07", outputs=outputs)])


NOT_ASKED = dict.fromkeys(("verdict_there", "measured_there", "model"), "")


def test_each_settled_claim_becomes_a_row(myths, shown):
    myths.settle("C01", {"a": True}, "It reflects 0.9.")
    myths.settle("C02", {"a": True, "b": False}, "Seen.")
    rows = list(claims_table.settled(notebook_of(*shown), "01_snow"))
    same = NOT_ASKED | {"evidence": "exact", "lesson": "01_snow", "cell": "c07"}
    white = {"id": "C01", "claim": WHITE.text, "scope": WHITE.scope, "verdict": "true"}
    varies = {"id": "C02", "claim": VARIES.text, "scope": VARIES.scope, "verdict": "depends"}
    assert rows == [
        white | same | {"measured": "It reflects 0.9."},
        varies | same | {"measured": "Seen. a: yes; b: no"},
    ]


def test_what_a_real_model_says_joins_the_row_of_its_claim(myths, shown):
    for key in myths.claims:
        myths.settle(key, {"a": True}, "Seen.")
    myths.in_a_real_model("C01", {"b": False, "c": True}, "0.3.", "Titan")
    rows = list(claims_table.settled(notebook_of(*shown), "x"))
    for row, key in zip(rows, myths.claims, strict=True):
        assert (row["id"], row["verdict"], row["measured"]) == (key, "true", "Seen.")
    there = {"verdict_there": "false", "measured_there": "0.3. b: no; c: yes", "model": "Titan"}
    assert [{name: row[name] for name in there} for row in rows] == [there, NOT_ASKED]


def test_a_real_model_out_of_turn_is_refused(myths, shown):
    myths.settle("C01", {"a": True}, "Seen.")
    for model in ("Titan", "Io"):
        myths.in_a_real_model("C01", {"b": False}, "0.3.", model)
    with pytest.raises(ValueError, match="C01: Io comes before the verdict, or twice"):
        claims_table.settled(notebook_of(*shown), "x")
    with pytest.raises(ValueError, match="C01: Titan comes before the verdict, or twice"):
        claims_table.settled(notebook_of(shown[1]), "x")


def test_pictures_and_printed_claims_are_no_rows():
    picture = {"image/png": "", "text/plain": "C01  A claim.\n     TRUE. 1."}
    assert list(claims_table.settled(notebook_of(picture), "x")) == []


def test_the_table_is_in_the_order_of_ids_and_quotes_what_it_must(myths, shown):
    myths.settle("C02", {"a": True}, 'It said "yes", twice.')
    myths.leave_open("C01", "No snow.")
    rows = claims_table.settled(notebook_of(*shown), "x")
    written = list(csv.DictReader(io.StringIO(claims_table.table(rows).decode())))
    assert [row["id"] for row in written] == ["C01", "C02"]
    assert written[0]["verdict"] == "not tested"
    assert written[1]["measured"] == 'It said "yes", twice.'


def test_a_claim_settled_by_two_lessons_is_refused():
    row = dict.fromkeys(claims_table.COLUMNS, "C05")
    with pytest.raises(ValueError, match="settled by two lessons: C05"):
        claims_table.table([row, row])


# The ledger that ships


def faults(table):
    """What is wrong with a ledger, a line for each problem."""
    problems = []
    reader = csv.DictReader(io.StringIO(table))
    if tuple(reader.fieldnames or ()) != claims_table.COLUMNS:
        return [f"columns {reader.fieldnames}"]
    runs, others = claims.RUNS, [kind for kind in claims.EVIDENCE if kind not in claims.RUNS]
    known = rf"{'|'.join(others)}|(?:{'|'.join(runs)}), (?:1 seed|\d+ seeds)"
    for row in reader:
        if not row["scope"].strip():
            problems.append(f"{row['id']}: no scope")
        if not re.fullmatch(known, row["evidence"]):
            problems.append(f"{row['id']}: evidence {row['evidence']!r}")
        if row["verdict"] not in (*claims.GUESSES, claims.NOT_TESTED):
            problems.append(f"{row['id']}: verdict {row['verdict']!r}")
        there = (row["verdict_there"], row["measured_there"], row["model"])
        if any(there) and not (all(there) and there[0] in claims.GUESSES):
            problems.append(f"{row['id']}: in a real model {there}")
    return problems


def test_faults_of_a_ledger_are_found(shown):
    myths = claims.Myths({"C01": WHITE, "C02": LEARNS, "C03": READS})
    for key in myths.claims:
        myths.settle(key, {"a": True}, "1.")
    myths.in_a_real_model("C03", {"a": False}, "2.", "Titan")
    good = [bundle for bundle in shown if CLAIM_MIME in bundle]
    table = claims_table.table(claims_table.settled(notebook_of(*good), "x")).decode()
    assert table.count("\n") == 4 and faults(table) == []
    assert faults(table.replace(WHITE.scope, "")) == ["C01: no scope"]
    assert faults(table.replace("here, 3 seeds", "here")) == ["C02: evidence 'trained here'"]
    assert len(faults(table.replace(",true,", ",maybe,"))) == 3
    for hidden in (",2.,", ",Titan", ",false,"):
        assert faults(table.replace(hidden, "," * hidden.count(",")))[0].startswith("C03: in a")
    assert faults(table.replace(",scope,", ",yardstick,"))[0].startswith("columns")


def test_every_row_that_ships_has_its_parts_and_lessons_about_order_settle_their_claims():
    table = LEDGER.read_text(encoding="utf-8")
    assert faults(table) == []
    settled = {row["id"] for row in csv.DictReader(io.StringIO(table))}
    # C09 wants trained models at lengths they never saw.
    assert settled >= {f"C{number:02}" for number in range(1, 20)} - {"C09"}


def test_the_ledger_has_a_row_for_each_claim_that_the_notebooks_settle():
    rows = []
    for lesson in find_lessons(ROOT):
        path = ROOT / "notebooks" / "solutions" / f"{lesson_name(lesson)}.ipynb"
        rows += list(claims_table.settled(nbformat.read(path, 4), lesson_name(lesson)))
    assert LEDGER.read_text(encoding="utf-8") == claims_table.table(rows).decode()
