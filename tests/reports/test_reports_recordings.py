"""Incomplete recordings: counted by hand, shown on every way out, and told apart from complete ones."""

import csv
import io
import json
import re
from dataclasses import replace

import pytest

from caretbench.problem import Completion, MissingSample
from caretbench.reports.frame import LoadedRun, build_frame
from caretbench.reports.output.text_output import print_summary, summary_tables, to_csv, to_json, to_markdown
from caretbench.reports.results.answer_counts import recordings
from caretbench.reports.results.errors import error_columns
from caretbench.reports.run_summary import summarise
from caretbench.reports.tables import rate_field, table_of
from tests.support.report_runs import make_problem, score

PROBLEMS = [make_problem("python", "api_usage", number) for number in range(1, 51)]
IDS = [problem.id for problem in PROBLEMS]


def completion(problem: str, sample: int = 0, model: str = "m") -> Completion:
    return Completion(problem_id=problem, model=model, sample=sample, text="x")


def run_of(completions: list[Completion]) -> LoadedRun:
    by_id = {problem.id: problem for problem in PROBLEMS}
    scores = [
        row
        for found in completions
        for row in score(by_id[found.problem_id], found.model, found.sample, "passed", "default", 0.5, 0.0)
    ]
    manifest = {"suite": "devbench", "policy": "syntax", "profile": "default", "executed": True}
    return LoadedRun("demo", manifest, PROBLEMS, completions, build_frame(PROBLEMS, scores))


TWENTY = [completion(identity) for identity in IDS[:20]]
TWO_OF_FIVE = [
    completion(identity, sample) for place, identity in enumerate(IDS) for sample in range(2 if place < 30 else 5)
]
WHOLE = [completion(identity, sample, "whole") for identity in IDS for sample in range(2)]


@pytest.mark.parametrize(
    ("completions", "expected"),
    [(TWENTY, (20, 1, 0, 20, 50)), (TWO_OF_FIVE, (50, 5, 30, 160, 250)), (WHOLE, (50, 2, 0, 100, 100))],
)
def test_completions_are_counted(completions: list[Completion], expected: tuple[int, ...]) -> None:
    (found,) = recordings(completions, (), PROBLEMS)
    counts = (found.problems, found.samples, found.with_fewer_samples, found.completions, found.expected)
    assert counts == expected
    assert found.complete is (completions is WHOLE)


def test_empty_answers_count_where_text_was_due() -> None:
    answers = [completion(identity).model_copy(update={"text": " \n"}) for identity in IDS[:4]]
    (found,) = recordings(answers, (), PROBLEMS[:4], nothing_due={IDS[0], IDS[1]})
    assert found.empty == 2


def test_answers_with_marks_of_a_server_or_a_model_are_counted_in_one_line() -> None:
    prefix = PROBLEMS[0].shown.prefix
    assert len(prefix.strip()) >= 20
    texts = [f"{prefix}x", "x<|im_end|>", "<think>x", "It.</think>x", 'x = "<|im_end|>"; y', "x"]
    answers = [completion(IDS[0], sample).model_copy(update={"text": text}) for sample, text in enumerate(texts)]
    (found,) = recordings(answers, (), PROBLEMS[:1])
    assert found.marked == 4
    assert any("m: 4 of 6 answers begin with the prompt" in line for line in summarise(run_of(answers)).warnings)
    assert any("0 of 20 answers" in line for line in summarise(run_of(TWENTY)).notes)


def test_requested_samples_that_failed_are_expected_and_other_problems_are_not() -> None:
    missing = [MissingSample(problem_id=IDS[0], model="m", parameters="none", sample=1, kind="timeout", message="no")]
    (found,) = recordings([*TWENTY, completion("another")], missing, PROBLEMS[:20])
    assert (found.completions, found.expected, found.with_fewer_samples) == (20, 40, 20)


@pytest.mark.parametrize(
    ("completions", "told"),
    [
        (TWENTY, "20 of 50 completions: 20 of 50 problems have completions."),
        (TWO_OF_FIVE, "160 of 250 completions: 30 problems have fewer than 5 samples."),
    ],
)
def test_an_incomplete_recording_is_shown_everywhere(completions: list[Completion], told: str) -> None:
    summary = summarise(run_of([*completions, *WHOLE]))
    (line,) = (warning for warning in summary.warnings if "recording is incomplete" in warning)
    assert line.startswith("m: ")
    assert told in line
    stream = io.StringIO()
    print_summary(summary, stream)
    assert told in stream.getvalue()
    assert "Completions by model" in stream.getvalue()
    assert told in to_markdown(summary)
    entries = {entry["title"]: entry for entry in json.loads(to_json(summary))["recordings"]}
    assert entries["whole"]["completions"] == entries["whole"]["expected"] == 100
    lines = [row for row in csv.DictReader(io.StringIO(to_csv(summary))) if row["scope"] == "recording"]
    assert {row["value"] for row in lines if row["model"] == "whole" and "marked" not in row["metric"]} == {"100"}


def test_a_complete_recording_has_neither_warning_nor_table() -> None:
    summary = summarise(run_of(WHOLE))
    assert not any("incomplete" in warning for warning in summary.warnings)
    assert "Completions by model" not in {table.title for table in summary_tables(summary)}


def test_refused_answers_are_counted_once_and_shown_with_their_reason() -> None:
    run = run_of(TWENTY)
    scores = [
        row.model_copy(update={"policy": policy, "details": {"reason": f"refused: {reason}"}})
        for identity, reason in ((IDS[0], "too long"), (IDS[1], "too costly"))
        for policy in ("raw", "syntax")
        for row in score(PROBLEMS[IDS.index(identity)], "m", 0, "failed", "default", 0.0, 0.0)
    ]
    summary = summarise(replace(run, frame=build_frame(PROBLEMS, scores)))
    (entry,) = summary.recordings
    assert entry.refused == 2
    (line,) = (warning for warning in summary.warnings if "refused" in warning)
    assert line.startswith("m: 2 of 20 completions were refused, and count as failures (too ")
    assert not any("refused" in warning for warning in summarise(run).warnings)
    kinds = [part.counts for column in error_columns(build_frame(PROBLEMS, scores), TWENTY) for part in column.parts]
    assert kinds == [{"empty_when_due": 2}] * 2  # both policies
    lines = csv.DictReader(io.StringIO(to_csv(summary)))
    assert [row["value"] for row in lines if row["metric"] == "refused_completions"] == ["2"]


def test_every_table_with_rates_tells_over_how_many_problems_they_are() -> None:
    summary = summarise(run_of([*TWENTY, *WHOLE]))
    shown = 0
    for table in summary_tables(summary):
        for row in table.rows:
            texts = " ".join(f"{field.text} {field.note}" for field in row)
            for number in {field.problems for field in row if field.problems is not None}:
                shown += 1
                assert re.search(rf"\b{number}\b", texts), (table.title, texts)
    assert shown >= 6
    by_language = next(table for table in summary_tables(summary) if table.title.startswith("pass@1 by language"))
    assert by_language.rows[0][1].text == "50"
    assert [field.note.endswith("n = 20") for field in by_language.rows[0][2:]] == [True, False]


def test_a_number_is_not_repeated_where_the_row_has_it() -> None:
    rate = summarise(run_of(TWENTY)).columns[0].overall.pass_at[1]
    with_column = table_of("t", ("Model", "Problems", "Rate"), [("m", 20, rate_field(rate))])
    without = table_of("t", ("Model", "Rate"), [("m", rate_field(rate))])
    assert "n =" not in with_column.rows[0][2].note
    assert without.rows[0][1].note.endswith(", n = 20")
