"""The suite's own tables: the paper's in form, by repository, beside chance, words and coverage."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest

from caretbench.problem import Problem
from caretbench.reports.judged.judged_texts import EMPTY_ANSWER_VALUE, hallucination
from caretbench.suites.efcb.build.build_folder import EfcbFolder
from caretbench.suites.efcb.suite import Efcb
from caretbench.suites.efcb.tables.result_tables import result_tables
from caretbench.suites.selection import Selection
from caretbench.suites.suite_types import Table
from tests.support.efcb_changes import build_tasks

SUITE = Efcb()

CHOICES = ("gmcq-easy", "gmcq-hard")


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Problem]:
    found = EfcbFolder(build_tasks(tmp_path_factory.mktemp("tasks"))).read_problems()
    return {problem.id: problem for problem in found}


def lines(problems: dict[str, Problem], model: str, **judged: float) -> list[dict[str, object]]:
    """A model that answers ``A``, and whose open answers are judged as is said by task."""
    found = []
    for problem in problems.values():
        task = problem.label("task")
        values = {name: value for one in SUITE.measure(problem, "A", "default") for name, value in one.values.items()}
        passed = values.pop("passed", None)
        found.append(
            {
                "problem_id": problem.id, "model": model, "parameters": "p" * 16, "profile": "default", "sample": 0,
                "cluster": problem.cluster, "passed": None if passed is None else bool(passed),
                "judged": judged.get(task.replace("-", "_")),
            } | values
        )  # fmt: skip
    return found


def tables(rows: list[dict[str, object]], problems: dict[str, Problem]) -> dict[str, Table]:
    return {table.name: table for table in result_tables(pl.DataFrame(rows, infer_schema_length=None), problems, 0)}


def test_the_papers_tables_in_form_are_the_means_by_hand(problems: dict[str, Problem]) -> None:
    judged = {"mpr_gen": 4.0, "reverse_qa": 6.0, "reverse_qa_hallu": 0.25}
    rows = lines(problems, "m", **judged)
    found = tables(rows, problems)
    means: dict[str, dict[str, list[bool]]] = {}
    for row in rows:
        labels = problems[str(row["problem_id"])].labels
        if row["passed"] is not None and (labels["task"] == "gmcq-hard" or labels["tier"] == "matched"):
            of = means.setdefault(str(labels["task"]), {}).setdefault(str(labels["repository"]), [])
            of.append(bool(row["passed"]))
    macro = {task: sum(sum(one) / len(one) for one in by_one.values()) / len(by_one) for task, by_one in means.items()}
    first = dict(zip(found["efcb-score"].columns, found["efcb-score"].rows[0], strict=True))
    told = {name: float(text.split("\n")[0]) for name, text in first.items() if name not in ("Model", "Mean")}
    easy, hard = (macro[task] for task in CHOICES)
    assert told["GMCQ-Easy"] == pytest.approx(easy, abs=6e-4)
    assert told["GMCQ-Hard"] == pytest.approx(hard, abs=6e-4)
    assert (told["MPR-Gen"], told["Reverse-QA"], told["Reverse-QA-Hallu"]) == (4.0, 6.0, 0.25)
    assert told["EFCB score"] == pytest.approx((easy + hard + 0.4 + 0.6 + 0.75) / 5, abs=6e-4)
    assert "no judge was validated against people" in " ".join(found["efcb-score"].notes)
    for number, task in zip((5, 6, 7, 8, 9), ("mpr-gen", *CHOICES, "reverse-qa", "reverse-qa-hallu"), strict=True):
        table = found[f"efcb-{task}"]
        assert f"the paper's Table {number}, in form" in table.title
        assert table.columns == ("Model", "other/one", "owner/name", "Average")
        assert ("No judge was validated" in " ".join(table.notes)) is (task not in CHOICES)
    assert {"efcb-repositories", "efcb-questions"} <= set(found)


def test_per_cell_counts_within_each_repository(problems: dict[str, Problem]) -> None:
    chosen = Selection("task=reverse-qa", per_cell=2).apply(SUITE, list(problems.values()))
    assert Counter(problem.label("repository") for problem in chosen) == {"owner/name": 2, "other/one": 2}


def test_without_a_judge_there_is_no_score(problems: dict[str, Problem]) -> None:
    found = tables(lines(problems, "m"), problems)
    assert set(found["efcb-score"].rows[0][4:]) == {"-"}
    assert "efcb-mpr-gen" not in found
    assert "efcb-mpr-gen-measured" in found


def test_no_score_stands_where_a_judge_left_too_much_out(problems: dict[str, Problem]) -> None:
    rows = lines(problems, "m", mpr_gen=4.0, reverse_qa=6.0, reverse_qa_hallu=0.25)
    asked = [row for row in rows if problems[str(row["problem_id"])].label("task") == "reverse-qa"]
    asked[0]["judged"] = None
    score = tables(rows, problems)["efcb-score"].rows[0]
    share = 100 * (len(asked) - 1) / len(asked)
    assert score[-2:] == (f"-\n{share:.1f}% covered",) * 2
    assert score[5].startswith("6.00")


def test_who_is_not_asked_some_is_told_apart(problems: dict[str, Problem]) -> None:
    easy = [problem for problem in problems.values() if problem.labels.get("tier") == "matched"]
    easy.sort(key=lambda problem: -float(str(problem.labels["lexical_margin"])))
    half = {problem.id for problem in easy[: len(easy) // 2]}
    rows = [
        row
        for row in lines(problems, "m")
        if row["problem_id"] in half or problems[str(row["problem_id"])].label("task") == "mpr-gen"
    ]
    rows += [
        row | {"passed": row["problem_id"] in half} for row in lines(problems, "lexical") if row["passed"] is not None
    ]
    table = tables(rows, problems)["efcb-choices"]
    told = {row[:2]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    part = told["m", "GMCQ-Easy matched"]
    assert (part["Problems"], part["Coverage"]) == (str(len(half)), "50.0%")
    # The words find all of these, though only half of the tier: there is nothing above them.
    assert part["Above best floor"] == "-"
    assert part["Best floor"].endswith("\n1.000")
    assert part["Leak test"].startswith("too small to test (")
    accuracy, interval = told["lexical", "GMCQ-Easy matched"]["Accuracy"].split("\n")
    low, high = map(float, interval.split(" to "))
    assert (accuracy, low < 0.5 < high) == ("0.500", True)
    assert told["m", "GMCQ-Hard"]["Coverage"] == "0.0%"
    assert told["m", "GMCQ-Hard"]["Accuracy"] == "-"


def test_no_score_contains_what_a_refused_judge_gave(problems: dict[str, Problem]) -> None:
    rows = lines(problems, "m", mpr_gen=4.0, reverse_qa=6.0, reverse_qa_hallu=0.25)
    task_of = {identity: problem.label("task") for identity, problem in problems.items()}
    rows = [
        row | {"withheld": "g by c@1: fails its controls" if task_of[str(row["problem_id"])] == "reverse-qa" else None}
        for row in rows
    ]
    found = tables(rows, problems)
    score = dict(zip(found["efcb-score"].columns, found["efcb-score"].rows[0], strict=True))
    assert score["EFCB score"] == score["Above floors"] == "withheld"  # the reason is a line of its own
    assert score["Reverse-QA"].startswith("6.00 (!)")
    assert score["MPR-Gen"].startswith("4.00\n") or score["MPR-Gen"] == "4.00"
    assert found["efcb-score"].withheld == ("the EFCB score is withheld: g by c@1: fails its controls",)
    assert all("(!)" in cell for cell in found["efcb-reverse-qa"].rows[0][1:])
    assert not any("(!)" in cell for cell in found["efcb-mpr-gen"].rows[0])


def test_an_empty_answer_has_one_hallucination_rate(problems: dict[str, Problem]) -> None:
    # Table 9 shows what judges gave, as the judged table does: it has no rule of its own.
    rows = lines(problems, "m", mpr_gen=4.0, reverse_qa=6.0, reverse_qa_hallu=EMPTY_ANSWER_VALUE.value)
    found = tables([row | {"says_nothing": True} for row in rows], problems)
    assert found["efcb-reverse-qa-hallu"].rows[0][-1].startswith("1.000")
    assert EMPTY_ANSWER_VALUE.value == hallucination(EMPTY_ANSWER_VALUE.parts) == 1.0
