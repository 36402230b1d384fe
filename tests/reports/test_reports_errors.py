"""How answers go wrong: messages of real compilers and runtimes, and what outcomes say alone."""

import json
from pathlib import Path

import pytest

from caretbench.problem import Completion, Score
from caretbench.reports.frame import LoadedRun, build_frame
from caretbench.reports.output.export import to_markdown
from caretbench.reports.output.page import render_html
from caretbench.reports.results.error_classes import AnswerEvidence as Evidence
from caretbench.reports.results.error_classes import class_of, class_title, error_classes
from caretbench.reports.results.errors import error_columns
from caretbench.reports.run_summary import summarise
from caretbench.reports.sections.answer_charts import error_shares
from caretbench.reports.sections.errors import error_tables, error_titles
from tests.support.report_runs import make_problem

MESSAGES = [json.loads(line) for line in (Path(__file__).parent / "error_messages.jsonl").read_text().splitlines()]
"""What compilers and runtimes said of small wrong programs, run in the sandbox."""

KINDS = {
    "unresolved_local": "unresolved_name", "unresolved_std": "unresolved_name", "unresolved_class": "unresolved_name",
    "link": "unresolved_name", "unresolved_member_null": "type_error", "import_name": "import",
    "type_args": "type_error", "type_call": "type_error", "uninit": "compile_other",
    "value_error": "runtime_exception:ValueError", "range": "runtime_exception:RangeError",
    "thrown": "runtime_exception:Error", "cpp/runtime": "runtime_exception:out_of_range",
    "java/runtime": "runtime_exception:ArrayIndexOutOfBoundsException",
    "csharp/runtime": "runtime_exception:IndexOutOfRangeException", "go/runtime": "runtime_exception:panic",
    "typescript/compile_other": "type_error",
}  # fmt: skip
"""What is expected where it is not the case's own name; a wrong number of arguments is a matter of types."""


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message["id"])
def test_what_tools_say_is_understood(message: dict[str, str]) -> None:
    language, kind = message["id"].split("/")
    expected = KINDS.get(message["id"], KINDS.get(kind, kind))
    evidence = Evidence(language, message["status"], "x", message["diagnostics"], message["stderr"])
    assert class_of(evidence) == expected


def test_every_language_has_its_messages() -> None:
    languages = {message["id"].split("/")[0] for message in MESSAGES}
    assert languages == {"python", "javascript", "typescript", "java", "cpp", "csharp", "go"}


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (Evidence("python", "passed", ""), "pass"),
        (Evidence("python", "sandbox_error", ""), "harness_error"),
        (Evidence("python", "left_out", "x"), "harness_error"),
        (Evidence("python", "failed", " \n"), "no_code"),
        (Evidence("java", "oom", "x"), "runtime_exception:out_of_memory"),
        (Evidence("java", "compile_error", "x", "line 1: reached end of file", "", "length"), "truncated"),
        (Evidence("java", "compile_error", "x", "line 1: cannot find symbol\n  symbol:   variable y", "", "length"),
         "unresolved_name"),
        (Evidence("python", "runtime_error", "x", "", "", None, False), "syntax"),
        (Evidence("python", "timeout", "x", "", "", None, False), "timeout"),
        (Evidence("python", "failed", "x", "", "E   NameError: name 'y' is not defined\n"), "unresolved_name"),
        (Evidence("python", "failed", "x", "", "E   assert 1 == 2"), "wrong_output"),
        (Evidence("java", "failed", "x", "", "org.opentest4j.AssertionFailedError: expected: <1>"), "wrong_output"),
        (Evidence("java", "failed", "x", "", "java.lang.NullPointerException: y\n\tat A.b(A.java:3)"),
         "runtime_exception:NullPointerException"),
        (Evidence("java", "compile_error", "x", "", "[ERROR] A.java:[3,5] cannot find symbol\n  symbol: variable y"),
         "unresolved_name"),
        (Evidence("python", "runtime_error", "x"), "runtime_exception:unknown"),
        (Evidence("cobol", "compile_error", "x", "?"), "compile_other"),
    ],
)  # fmt: skip
def test_outcomes_texts_and_parsers_have_their_say(evidence: Evidence, expected: str) -> None:
    assert class_of(evidence) == expected
    assert class_title(expected)


PROBLEMS = [make_problem("python", "c", number, labels={"language": "python", "mode": "infill"}) for number in range(5)]


def run():
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
    frame = build_frame(PROBLEMS, rows)
    return frame, completions


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
    assert "Outcomes by error class" in to_markdown(summary)
    spec = error_shares(summary.errors, error_titles(summary.columns))
    assert spec is not None
    assert spec["encoding"]["color"]["scale"]["domain"] == ["Wrong output", "Unresolved name", "Run-time exception"]


def test_without_failures_there_is_nothing_to_draw() -> None:
    assert error_tables((), {}) == ()
    assert error_shares((), {}) is None
    assert error_classes()[0] == "pass"


def test_the_page_shows_the_failures() -> None:
    from tests.support.report_runs import make_run

    frame, completions = run()
    summary = summarise(LoadedRun("r", {"suite": "s"}, PROBLEMS, completions, frame))
    page = render_html(summary, make_run(per_cell=1, samples=1), samples=0)
    assert "Failures by error class" in page
    assert "Run-time exceptions by type" in page
