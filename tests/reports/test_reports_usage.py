"""Usage of models: numbers worked out by hand, and their positions in reports."""

import csv
import io
from pathlib import Path

import pytest

from caretbench.files import write_rows
from caretbench.problem import Completion, Latency, MissingSample, Score, Usage
from caretbench.reports.output.page import render_html
from caretbench.reports.output.text_output import summary_tables, to_csv, to_json, to_markdown
from caretbench.reports.results.answer_counts import model_usage
from caretbench.reports.run_summary import load_run_folder, summarise_run
from caretbench.reports.summary import Summary
from caretbench.runs.run_folder import DataInfo, Manifest, ModelInfo, RunFolder
from tests.support.report_runs import make_problem

SHARED = Usage(input_tokens=100, output_tokens=30, cached_tokens=40, answers=2)


def answer(problem: str, sample: int = 0, model: str = "m", **fields: object) -> Completion:
    row = {"problem_id": problem, "model": model, "parameters": "abc", "sample": sample, "text": "x"}
    return Completion.model_validate(row | {"prompt": "chat@1", "finish_reason": "stop"} | fields)


def absent(kind: str, sample: int, model: str = "m") -> MissingSample:
    return MissingSample(problem_id="p3", model=model, parameters="abc", sample=sample, kind=kind, message="no")


ROWS = [
    # Two samples by one request, which was tried twice: its tokens and its time count once.
    answer("p1", 0, usage=SHARED, cost=0.25, latency=Latency(first_s=1.0, last_s=2.0, attempts=2)),
    answer("p1", 1, usage=SHARED, cost=0.25, latency=Latency(first_s=1.0, last_s=2.0, attempts=2)),
    # Two requests of one sample each.
    answer("p2", 0, usage=Usage(input_tokens=10, output_tokens=800), cost=0.5,
           latency=Latency(first_s=3.0, last_s=10.0), finish_reason="length"),
    answer("p2", 1, usage=Usage(input_tokens=10, output_tokens=5), latency=Latency(last_s=4.0)),
]  # fmt: skip


def test_a_request_that_answers_share_counts_once() -> None:
    (usage,) = model_usage(ROWS, [absent("timeout", 0), absent("timeout", 1), absent("unpromptable", 2)])
    assert (usage.requests, usage.answers, usage.tries) == (3, 4, 4)
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (120, 835, 40)
    assert usage.reasoning_tokens is None
    assert (usage.cost, usage.priced) == (1.0, 3)
    assert (usage.stopped_by_length, usage.finished) == (0.25, 4)
    assert usage.missing == {"timeout": 2, "unpromptable": 1}


def test_latency_is_taken_over_requests_not_rows() -> None:
    (usage,) = model_usage(ROWS)
    # Last tokens 2, 4, 10: the 95th percentile lies 1.9 steps up, 4 + 0.9 * 6. First tokens 1 and 3: 1 + 0.95 * 2.
    assert usage.last_token.requests == 3
    assert usage.last_token.median_s == 4.0
    assert usage.last_token.percentile_95_s == pytest.approx(9.4)
    assert usage.first_token.requests == 2
    assert usage.first_token.median_s == 2.0
    assert usage.first_token.percentile_95_s == pytest.approx(2.9)


def test_equal_times_of_own_requests_stay_apart() -> None:
    rows = [answer("p1", sample, latency=Latency(last_s=1.0)) for sample in range(3)]
    (usage,) = model_usage(rows)
    assert (usage.requests, usage.tries, usage.last_token.requests) == (3, 3, 3)


def test_of_a_shared_request_one_row_may_be_missing() -> None:
    (usage,) = model_usage(ROWS[:1])
    assert (usage.requests, usage.answers, usage.tries, usage.last_token.requests) == (1, 1, 2, 1)


def test_recorded_answers_and_baselines_took_nothing() -> None:
    assert model_usage([Completion(problem_id="p", model="reference", text="x")]) == ()


def test_a_model_that_never_answered_is_there_too() -> None:
    (usage,) = model_usage([], [absent("provider", 0, model="silent")])
    assert (usage.title, usage.answers, usage.requests, usage.missing) == ("silent", 0, 0, {"provider": 1})
    assert usage.last_token is None


def test_one_model_with_two_sets_of_parameters_has_two_titles() -> None:
    rows = [answer("p", parameters="0123456789"), answer("p", parameters="abcdefghij")]
    assert [usage.title for usage in model_usage(rows)] == ["m (01234567)", "m (abcdefgh)"]


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    folder = RunFolder(tmp_path)
    problems = [make_problem("python", "api_usage", number) for number in (1, 2, 3)]
    rows = [row.model_copy(update={"problem_id": problems[int(row.problem_id[1]) - 1].id}) for row in ROWS]
    missing = absent("timeout", 0).model_copy(update={"problem_id": problems[2].id})
    settings = {"sampling": {"temperature": 0.2, "seed": None}, "strategy": "chat@1"}
    info = ModelInfo(model="m", source="model", parameters="abc", settings=settings)
    folder.write_manifest(
        Manifest(
            suite="devbench",
            data=DataInfo(name="d", hash="h", problems=3, selected=3),
            models=[info],
            policy="syntax@4",
            profile="default",
        )
    )
    folder.write_problems(problems)
    write_rows(folder.completions_path, rows)
    write_rows(folder.errors_path, [missing])
    write_rows(
        folder.scores_path,
        [
            Score(
                problem_id=row.problem_id, model="m", parameters="abc", sample=row.sample, scorer="execution@1",
                policy="syntax@4", profile="default", outcome="passed", values={"passed": 1.0},
            )
            for row in rows
        ],
    )  # fmt: skip
    return folder


def test_it_shows_in_every_form(folder: RunFolder) -> None:
    run = load_run_folder(folder.path)
    summary = summarise_run(run)
    tables = {table.title: table for table in summary_tables(summary)}
    requests = tables["Requests and answers"]
    assert requests.heads == ("Model", "Requests", "Answers", "Tries", "Stopped by length", "Missing: timeout")
    assert [field.text for field in requests.rows[0]] == ["m", "3", "4", "4", "25.0%", "1"]
    tokens = tables["Tokens, cost and latency"]
    assert [(field.text, field.note) for field in tokens.rows[0]][1:] == [
        ("120", ""), ("40", ""), ("835", ""), ("1.0000", "3 of 4 answers"), ("2.00", "p95 2.90"), ("4.00", "p95 9.40"),
    ]  # fmt: skip
    lines = [row for row in csv.DictReader(io.StringIO(to_csv(summary))) if row["scope"] == "usage"]
    numbers = {row["metric"]: float(row["value"]) for row in lines}
    assert numbers["output_tokens"] == 835
    assert numbers["last_token_percentile_95_s"] == pytest.approx(9.4)
    assert numbers["missing_timeout"] == 1
    assert Summary.model_validate_json(to_json(summary)).usage == summary.usage
    assert "## Tokens, cost and latency" in to_markdown(summary)
    page = render_html(summary, run)
    assert 'id="usage"' in page
    assert "p95 9.40" in page
    assert "models[0].settings.sampling.temperature" in page


def test_a_run_without_asked_models_has_no_such_part(folder: RunFolder) -> None:
    folder.errors_path.unlink()
    rows = [
        Completion(problem_id=row.problem_id, model="m", parameters="abc", sample=row.sample, text="x")
        for row in folder.completions()
    ]
    write_rows(folder.completions_path, rows)
    run = load_run_folder(folder.path)
    summary = summarise_run(run)
    assert summary.usage == ()
    assert not [table for table in summary_tables(summary) if "latency" in table.title]
    assert 'id="usage"' not in render_html(summary, run)
