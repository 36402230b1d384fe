"""Tables in the layout of a paper, with its printed cells next to ours."""

from __future__ import annotations

from collections import Counter

import pytest

from caretbench.problem import Problem, Score
from caretbench.reports.frame import LoadedRun, build_frame
from caretbench.reports.run_summary import summarise_run
from caretbench.reports.sections.paper_layouts import paper_tables, printed_cells, printed_rates
from caretbench.suites import load_suite
from caretbench.suites.simcopilot.suite import RELEASED
from tests.support.make_problem import make_problem


def task(number: int, language: str, mode: str, identity: str = RELEASED) -> Problem:
    problem = make_problem(f"{identity}{language}/p:{number}:{mode}", language=language)
    labels = {
        "language": language, "mode": mode, "constructs": ["if_condition"], "reference_distance": float(number),
        "comment_distance": 3.0, "project": "p",
    }  # fmt: skip
    return problem.model_copy(update={"suite": "simcopilot", "labels": labels})


def run_of(problems: list[Problem]) -> LoadedRun:
    scores = [
        Score(
            problem_id=problem.id, model="m", scorer="execution@1", policy="block@2", profile="default",
            outcome="passed", values={"passed": 1.0},
        )
        for problem in problems
    ]  # fmt: skip
    manifest = {"suite": "simcopilot", "policy": "block@2", "profile": "default"}
    return LoadedRun("run", manifest, problems, (), build_frame(problems, scores))


def texts(run: LoadedRun) -> dict[str, dict[str, list[str]]]:
    """The first fields of each row with its others, by the title of the table."""
    summary = summarise_run(run)
    found = {}
    for table in paper_tables(summary.columns, summary.paper_tables):
        heads = table.heads
        found[table.title] = {
            " / ".join(field.text for field in row[:2]): [
                f"{head}: {field.text}" for head, field in zip(heads[1:], row[1:], strict=True)
            ]
            for row in table.rows
        }
    return found


def test_every_printed_rate_of_the_paper_has_labels_of_ours() -> None:
    rates = printed_rates("simcopilot")
    assert Counter(rate.table for rate in rates).keys() == {f"table_{number}" for number in range(2, 8)}
    modes = {rate.labels["mode"] for rate in rates}
    assert modes == {"infill", "suffix_hidden", "infill+completion"}  # small Python cells are printed together
    o3 = next(rate for rate in rates if rate.table == "table_2" and rate.model == "o3-mini (high)")
    assert (o3.labels, o3.text) == ({"language": "python", "mode": "infill"}, "83.3 ± 3.7")
    assert printed_rates("devbench") == ()


def test_printed_cells_are_next_to_ours_if_the_problems_are_the_paper_s() -> None:
    problems = [task(5, "python", "infill"), task(20, "java", "suffix_hidden")]
    found = texts(run_of(problems))
    [by_construct] = [rows for title, rows in found.items() if title.startswith("By construct")]
    assert by_construct["if condition / m"] == [
        "Model: m",
        "Java / suffix hidden: 100.0 ± 0.0",
        "Python / infill: 100.0 ± 0.0",
    ]
    assert by_construct["if condition / o3-mini (high), printed"][1].startswith("Java / suffix hidden: 54.5")
    [by_reference] = [rows for title, rows in found.items() if "referenced object" in title]
    [python] = [fields for name, fields in by_reference.items() if name.startswith("Python / infill / short")]
    assert "DeepSeek-R1 671B, printed: 70.7 ± 7.0" in python
    [overall] = [rows for title, rows in found.items() if title.startswith("Overall")]
    assert any(name.startswith("o3-mini (high), printed") for name in overall)


@pytest.mark.parametrize("identity", ["mined/", "released"])
def test_other_problems_have_no_printed_cells(identity: str) -> None:
    problems = [task(5, "python", "infill"), task(6, "python", "infill", identity)]
    tables = load_suite("simcopilot").stratification.paper_tables
    assert [printed_cells("simcopilot", problems, table) for table in tables] == [()] * len(tables)
    assert all(printed_cells("simcopilot", problems[:1], table) for table in tables)
