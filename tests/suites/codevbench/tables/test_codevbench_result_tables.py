"""Result tables of Codev-Bench, on hand-made problems and results."""

from __future__ import annotations

from typing import Any

import pytest

from caretbench.problem import Problem
from caretbench.suites.codevbench.tables.result_tables import result_tables
from caretbench.suites.suite_types import Table
from tests.support.codev_problems import codev_frame, codev_problem, codev_row

BLOCKS = ("method", "if", "while", "try", "statement", "statement", "comment", "partial_line")


def problems_of(scenario: str, cuts: tuple[str, ...]) -> list[Problem]:
    return [
        codev_problem(
            f"{project}/{scenario}.{cut}/{place}", scenario=scenario, cut=cut, block=block, project=project,
            span=f"{place * 10}-{place * 10 + 5}", reference="" if cut == "empty" else "return 1\n",
        )
        for project in ("shop", "bank", "zoo")
        for cut in cuts
        for place, block in enumerate(BLOCKS)
    ]  # fmt: skip


FULL = problems_of("full_block", ("block",))
RAG = problems_of("rag", ("block",))
INNER = problems_of("inner_block", ("statement", "token", "operator", "empty"))
SUFFIX = problems_of("incomplete_suffix", ("file_emptied", "function_emptied"))
EVERYTHING = [*FULL, *INNER, *SUFFIX, *RAG]


def tables_of(rows: list[dict[str, Any]], problems: list[Problem]) -> dict[str, Table]:
    found = result_tables(codev_frame(rows), {one.id: one for one in problems}, 0)
    names = [table.name for table in found]
    assert len(set(names)) == len(names)
    assert all(len(row) == len(table.columns) for table in found for row in table.rows)
    return {table.name.removesuffix("-default-block@9"): table for table in found}


def cells(table: Table, *begin: str) -> dict[str, str]:
    [row] = [row for row in table.rows if row[: len(begin)] == begin]
    return {head: cell.partition("\n")[0] for head, cell in zip(table.columns, row, strict=True)}


def statements_alone(problem: Problem) -> bool:
    return problem.label("block") == "statement"


def test_each_scenario_has_its_rates_by_class_plain_and_weighted() -> None:
    tables = tables_of([codev_row(one, "m", statements_alone(one)) for one in EVERYTHING], EVERYTHING)
    by_class = cells(tables["codevbench-classes-full_block"], "m")
    assert (by_class["Function"], by_class["For"], by_class["Statement"]) == ("0.0", "0.0", "100.0")
    assert by_class["Average"] == "33.3"  # 6 of the 18 problems of the paper's classes
    assert by_class["usage"] == f"{100 * 68.51 / (68.51 + 9.06 + 6.53 + 5.71):.1f}"
    assert by_class["macro"] == "14.3"  # one of seven kinds
    averages = cells(tables["codevbench-scenarios"], "m", "average")
    assert [*averages.values()][2:] == ["33.3"] * 4
    assert "Problems: Function 3, If 3, For 3, Try 3, Statement 6." in tables["codevbench-classes-rag"].notes[0]
    other = cells(tables["codevbench-other"], "m", "1 full block")
    assert (other["Argument list"], other["Comment"]) == ("–", "0.0 (n = 3)")


def test_an_interval_is_below_each_rate_and_few_repositories_are_warned_of() -> None:
    tables = tables_of([codev_row(one, "m", place % 2 == 0) for place, one in enumerate(FULL)], FULL)
    scenarios = tables["codevbench-scenarios"]
    note = scenarios.rows[0][2].partition("\n")[2]
    low, high = (float(bound) for bound in note.split(" to "))
    assert 0 <= low < 50 < high <= 100
    assert "only 3 clusters" in scenarios.notes[1]
    assert scenarios.rows[0][3:] == ("–", "–", "–")


def test_scenario_2_tells_answers_where_nothing_was_due() -> None:
    rows = [
        codev_row(one, "m", passed := one.label("answer") == "code", empty_answer=float(passed and "bank" in one.id))
        for one in INNER
    ]
    line = cells(tables_of(rows, INNER)["codevbench-cuts"], "m")
    assert (line["At a token"], line["Nothing missing"]) == ("100.0", "0.0")
    assert line["Answered where nothing was due"] == "100.0"
    assert line["Empty where code was due"] == "33.3"


def test_the_cases_of_scenario_3_are_apart() -> None:
    rows = [codev_row(one, "m", one.label("cut") == "file_emptied") for one in SUFFIX]
    line = cells(tables_of(rows, SUFFIX)["codevbench-suffix"], "m")
    assert (line["File emptied"], line["Function emptied"], line["Both"]) == ("100.0", "0.0", "50.0")


def test_scenario_4_is_paired_with_scenario_1_by_block() -> None:
    rows = [codev_row(one, "better", one in RAG) for one in [*FULL, *RAG]]
    rows += [codev_row(one, "same", place % 3 == 0) for side in (FULL, RAG) for place, one in enumerate(side)]
    table = tables_of(rows, [*FULL, *RAG])["codevbench-retrieval"]
    better, same = cells(table, "better"), cells(table, "same")
    assert (better["Blocks"], better["Difference (points)"], better["Verdict"]) == ("24", "+100.0", "scenario 4 higher")
    assert (same["Difference (points)"], same["Verdict"]) == ("+0.0", "not distinguishable")


def test_blocks_without_their_pair_are_not_compared() -> None:
    rows = [codev_row(one, "m", True) for one in [*FULL[:5], *RAG[3:]]]
    line = cells(tables_of(rows, [*FULL, *RAG])["codevbench-retrieval"], "m")
    assert line["Blocks"] == "2"
    alone = [codev_row(one, "m", True) for one in FULL]
    assert "codevbench-retrieval" not in tables_of(alone, FULL)


def test_similarity_and_lines_are_next_to_pass_at_1() -> None:
    rows = [codev_row(one, "m", True, indel_similarity=0.25, answer_lines=4.0) for one in FULL]
    line = cells(tables_of(rows, FULL)["codevbench-similarity"], "m", "1 full block")
    assert (line["Pass@1"], line["ES"], line["Lines"], line["Reference's lines"]) == ("100.0", "25.0", "4.0", "1.0")


def test_correlations_need_three_models_and_no_baseline_is_one() -> None:
    def rows(models: tuple[str, ...]) -> list[dict[str, Any]]:
        return [
            codev_row(one, name, place % (5 - number) == 0, indel_similarity=0.2 + 0.1 * number)
            for number, name in enumerate(models)
            for place, one in enumerate(FULL)
        ]

    few = cells(tables_of(rows(("a", "b")), FULL)["codevbench-correlation"], "1 full block")
    assert (few["Models"], few["Pearson"], few["Remark"]) == ("2", "–", "fewer than 3 models: no correlation")
    baseline = [codev_row(one, "reference", True, indel_similarity=1.0) for one in FULL]
    three = cells(tables_of([*rows(("a", "b", "c")), *baseline], FULL)["codevbench-correlation"], "1 full block")
    assert (three["Models"], three["Spearman"], three["Remark"]) == ("3", "1.000", "")
    assert 0.9 < float(three["Pearson"]) < 1


def test_table_2_counts_problems_by_repository() -> None:
    table = tables_of([codev_row(one, "m", True) for one in EVERYTHING], EVERYTHING)["codevbench-blocks"]
    assert cells(table, "Statement") | {"Block": ""} == {
        "Block": "", "1 full block": "2.0 (6)", "2 inner block": "8.0 (24)", "3 incomplete suffix": "4.0 (12)",
        "4 RAG": "2.0 (6)",
    }  # fmt: skip
    assert [*cells(table, "All").values()][1:] == ["8.0 (24)", "32.0 (96)", "16.0 (48)", "8.0 (24)"]


def test_policies_and_profiles_have_tables_of_their_own() -> None:
    rows = [codev_row(one, "m", True, profile=profile) for one in FULL for profile in ("paper", "default")]
    found = result_tables(codev_frame(rows), {one.id: one for one in FULL}, 0)
    assert sum(table.name.startswith("codevbench-scenarios-") for table in found) == 2


@pytest.mark.parametrize("problems", [FULL[:1], FULL[:8], INNER, [*SUFFIX[:3], *RAG[:1]]])
@pytest.mark.parametrize("passed", [None, True, False])
def test_parts_of_a_run_give_tables(problems: list[Problem], passed: bool | None) -> None:
    bare = ("indel_similarity", "answer_lines", "empty_answer")
    rows = [codev_row(one, "m", passed) for one in problems]
    assert tables_of(rows, problems)["codevbench-scenarios"].rows
    rows = [{name: value for name, value in row.items() if name not in bare} for row in rows]
    assert tables_of(rows, problems)["codevbench-scenarios"].rows


def test_nothing_scored_gives_no_result_tables() -> None:
    frame = codev_frame([codev_row(FULL[0], "m", None)]).clear()
    assert [table.name for table in result_tables(frame, {}, 0)] == ["codevbench-blocks"]


def test_problems_that_tests_of_a_model_decide_are_reported_apart() -> None:
    problems = [
        one.model_copy(update={"labels": {**one.labels, "tests_by": author}})
        for number, one in enumerate(FULL)
        for author in [("project", "project", "model", "user")[number % 4]]
    ]
    rows = [codev_row(one, "m", one.label("tests_by") == "project") for one in problems]
    tables = tables_of(rows, problems)
    found = cells(tables["codevbench-tests-by"], "m")
    assert (found["The project"], found["The user"], found["A model"]) == ("100.0", "0.0", "0.0")
    count = len(problems) // 4
    assert (
        f"Decided {count} by tests of the user, {count} by tests of a model alone." in tables["codevbench-blocks"].notes
    )
    of_projects = [one for one in problems if one.label("tests_by") == "project"]
    alone = tables_of([codev_row(one, "m", True) for one in of_projects], of_projects)
    assert "codevbench-tests-by" not in alone
