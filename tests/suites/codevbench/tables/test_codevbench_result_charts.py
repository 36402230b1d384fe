"""Charts of Codev-Bench, its distributions, and the printed tables."""

from __future__ import annotations

import json

from caretbench.suites.codevbench.tables.rate_tables import printed_tables
from caretbench.suites.codevbench.tables.result_charts import distributions, result_charts
from tests.support.codev_problems import codev_frame, codev_problem, codev_row

FULL = [codev_problem(f"p/{n}", block=block, span=f"{n}-{n + 1}") for n, block in enumerate(("if", "statement"))]
PROBLEMS = {one.id: one for one in FULL}
ROWS = [codev_row(one, model, one is FULL[0], indel_similarity=0.75) for one in FULL for model in ("m", "n")]


def shares_of(*problems_: object) -> dict[tuple[str, str], tuple[float, float | None]]:
    found = distributions(problems_)  # type: ignore[arg-type]
    return {(one.subject, one.value): (one.problems, one.usage) for one in found}


def test_problems_are_next_to_the_printed_shares() -> None:
    shares = shares_of(*FULL)
    assert shares["Kind of block", "statement"] == (50.0, 68.51)
    assert shares["Kind of block", "control logic"] == (50.0, 6.53)
    assert shares["Kind of block", "other"] == (0.0, None)
    assert shares["Answer", "whole line"] == (100.0, 49.31)
    assert shares["Typed before the caret in its line", "none"] == (100.0, 31.51)
    assert shares_of() == {}


def test_extent_of_answers_and_typed_text() -> None:
    problems = [
        codev_problem("a", prefix="x = ", reference="1\n"),
        codev_problem("b", prefix="    ", reference="f", suffix="(x)\n"),
        codev_problem("c", prefix="long_name_of = ", reference="1\n\ny = 2"),
        codev_problem("d", prefix="    ", reference=""),
    ]
    shares = shares_of(*problems)
    assert shares["Answer", "partial line"] == (50.0, 32.35)
    assert [shares["Answer", value][0] for value in ("several lines", "nothing", "whole line")] == [25.0, 25.0, 0.0]
    typed = [shares["Typed before the caret in its line", value][0] for value in
             ("none", "1 to 10 characters", "over 10 characters")]  # fmt: skip
    assert typed == [50.0, 25.0, 25.0]


def test_each_figure_is_a_chart_with_its_data() -> None:
    charts = result_charts(codev_frame(ROWS), PROBLEMS, 0)
    assert [chart.title.partition("(")[2] for chart in charts] == [f"Figure {n}, in form)" for n in (1, 5, 6)]
    usage, lines, points = (chart.spec["data"]["values"] for chart in charts)
    assert {row["of"] for row in usage} == {"problems", "usage, as printed"}
    assert {(row["model"], row["lines"]) for row in lines} == {("m", 2.0), ("n", 2.0), ("right answers", 1.0)}
    assert points[0] == {"model": "m", "scenario": "1 full block", "passed": 50.0, "similarity": 75.0}
    assert json.dumps([chart.spec for chart in charts])


def test_several_profiles_are_named_and_nothing_scored_gives_the_problems_alone() -> None:
    rows = [{**row, "profile": profile} for row in ROWS for profile in ("paper", "default")]
    points = result_charts(codev_frame(rows), PROBLEMS, 0)[2].spec["data"]["values"]
    assert {row["model"] for row in points} == {f"{m} ({p})" for m in "mn" for p in ("paper", "default")}
    bare = [codev_row(FULL[0], "m", None, indel_similarity=None, answer_lines=None)]
    assert len(result_charts(codev_frame(bare), PROBLEMS, 0)) == 2
    assert result_charts(codev_frame(ROWS).clear(), {}, 0) == ()


def test_printed_tables_are_those_of_the_paper() -> None:
    third, fourth, *_, seventh, correlations = printed_tables()
    assert all(len(row) == len(table.columns) for table in printed_tables() for row in table.rows)
    assert (third.title, third.rows[0]) == ("Table 3 as printed", ("GPT-4", "27.56", "15.47", "6.94", "25.32"))
    assert fourth.columns == ("Model", "Function", "If", "For", "Try", "Statement", "Average")
    assert fourth.rows[0] == ("GPT-4", "15.38", "22.08", "12.70", "15.22", "50.00", "27.56")
    assert (len(seventh.rows), seventh.title) == (16, "Table 7 as printed (scenario 4 RAG)")
    assert correlations.rows == (("Pearson's r", "0.793", "0.991", "0.529", "0.822"),)
