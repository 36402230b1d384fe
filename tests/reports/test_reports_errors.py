"""Error kinds in reports: numbers of answers, the table of all kinds, and charts of outcomes."""

import polars as pl
import pytest

from caretbench.errors import DataError
from caretbench.metrics.error_kinds.text_kinds import TEXT_KINDS
from caretbench.problem import Completion, Score
from caretbench.reports.frame import LoadedRun, build_frame, metric_columns
from caretbench.reports.output.page import render_html
from caretbench.reports.output.text_output import to_markdown
from caretbench.reports.results.errors import error_columns
from caretbench.reports.run_summary import summarise
from caretbench.reports.sections.errors import error_tables, error_titles
from caretbench.reports.sections.section_charts import error_shares, outcome_shares
from tests.support.report_runs import make_problem

PROBLEMS = [make_problem("python", "c", number, labels={"language": "python", "mode": "infill"}) for number in range(5)]


def score_rows():
    outcomes = (
        ("passed", ""), ("runtime_error", "NameError: name 'x' is not defined"), ("sandbox_error", ""),
        ("runtime_error", "ValueError: no"), ("failed", "AssertionError"),
    )  # fmt: skip
    rows = [
        Score.model_validate(
            {
                "problem_id": problem.id, "model": "m", "scorer": "execution@1", "policy": "raw", "profile": "default",
                "outcome": outcome, "counted": outcome != "sandbox_error",
                "values": {} if outcome == "sandbox_error" else {"passed": float(outcome == "passed")},
                "details": {"stage": "run", "stderr": stderr},
            }
        )
        for problem, (outcome, stderr) in zip(PROBLEMS, outcomes, strict=True)
    ]  # fmt: skip
    completions = [Completion(problem_id=p.id, model="m", text="x" if n else "y") for n, p in enumerate(PROBLEMS)]
    return rows, completions


def run():
    rows, completions = score_rows()
    return build_frame(PROBLEMS, rows), completions


def test_shares_leave_the_infrastructure_out() -> None:
    frame, completions = run()
    errors = error_columns(frame, completions)
    [part] = errors[0].parts
    assert part.labels == {"language": "python", "mode": "infill"}
    assert part.counts == {"pass": 1, "unresolved_name": 1, "runtime_exception:ValueError": 1, "wrong_output": 1}
    assert (part.total, part.ours) == (4, 1)
    summary = summarise(LoadedRun("r", {"suite": "simcopilot"}, PROBLEMS, completions, frame))
    ended, exceptions = error_tables(summary.errors, error_titles(summary.columns))
    assert [head for head in ended.heads if "Unresolved" in head] == ["Unresolved name"]
    assert [field.text for field in ended.rows[0]][:5] == ["m", "Python / infill", "4", "25.0%", "25.0%"]
    assert [field.text for field in exceptions.rows[0]] == ["m", "1", "0"]
    assert "How answers went wrong" in to_markdown(summary)
    spec = error_shares(summary.errors, error_titles(summary.columns))
    assert spec is not None
    assert spec["encoding"]["color"]["scale"]["domain"] == ["Wrong output", "Unresolved name", "Run-time exception"]


def kinds_row(problem, *names: str) -> Score:
    return Score.model_validate(
        {
            "problem_id": problem.id, "model": "m", "scorer": "error-kinds@3", "policy": "raw", "profile": "default",
            "values": {**dict.fromkeys(TEXT_KINDS, 0.0), **dict.fromkeys(names, 1.0)},
        }
    )  # fmt: skip


def test_an_answer_has_all_its_kinds_and_a_passed_one_those_of_its_text() -> None:
    rows, completions = score_rows()
    kinds = [
        kinds_row(PROBLEMS[0], "over_generation"),  # passes all the same
        kinds_row(PROBLEMS[1], "wrong_call", "over_generation"),
        kinds_row(PROBLEMS[2], "incomplete"),  # a fault of the machine
        kinds_row(PROBLEMS[3]),
    ]
    frame = build_frame(PROBLEMS, [*rows, *kinds])
    assert frame.filter(pl.col("error_kinds").is_null()).height == 1
    assert metric_columns(frame) == []
    [part] = error_columns(frame, completions)[0].parts
    assert part.kinds == {
        "wrong_output": 1, "over_generation": 2, "wrong_call": 1, "unresolved_name": 1, "runtime_exception": 1,
    }  # fmt: skip
    assert (part.total, part.counts["pass"], part.unchecked, part.ours) == (4, 1, 0, 1)


def test_kinds_of_another_version_are_an_error_that_names_them() -> None:
    rows, completions = score_rows()
    frame = build_frame(PROBLEMS, [*rows, kinds_row(PROBLEMS[1], "kind_of_before")])
    with pytest.raises(DataError, match="kind_of_before; score the run again"):
        error_columns(frame, completions)


def test_answers_that_no_check_decides_have_kinds_by_text_alone() -> None:
    completions = [Completion(problem_id=p.id, model="m", text="x") for p in PROBLEMS]
    frame = build_frame(PROBLEMS, [kinds_row(p, *(["incomplete"] if n else [])) for n, p in enumerate(PROBLEMS)])
    assert error_columns(frame, completions) == ()
    run = LoadedRun("r", {"suite": "s", "executed": False}, PROBLEMS, completions, frame)
    summary = summarise(run)
    [part] = summary.errors[0].parts
    assert (part.kinds, part.counts, part.unchecked, part.total) == ({"incomplete": 4}, {}, 5, 5)
    [table] = error_tables(summary.errors, error_titles(summary.columns))
    assert table.heads == ("Model", "Part", "Answers", "Incomplete", "Infrastructure")  # no column without values
    assert [field.text for field in table.rows[0]] == ["m", "Python / infill", "5", "80.0%", "0"]
    assert "text alone" in table.caption
    assert outcome_shares(summary.errors, error_titles(summary.columns)) is None


def test_without_failures_there_is_nothing_to_draw() -> None:
    assert error_tables((), {}) == ()
    assert error_shares((), {}) is None


def test_the_page_shows_the_failures() -> None:
    from tests.support.report_runs import make_run

    frame, completions = run()
    summary = summarise(LoadedRun("r", {"suite": "s"}, PROBLEMS, completions, frame))
    page = render_html(summary, make_run(per_cell=1, samples=1), samples=0)
    assert "Failures by outcome" in page
    assert "Run-time exceptions by type" in page
