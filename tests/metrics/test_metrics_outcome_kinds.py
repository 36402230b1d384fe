"""Error kinds by outcome: messages of real compilers and runtimes, and what outcomes say alone."""

import json
from pathlib import Path

import pytest

from caretbench.metrics.error_kinds.kind_table import error_kind_title
from caretbench.metrics.error_kinds.outcome_kinds import AnswerEvidence as Evidence
from caretbench.metrics.error_kinds.outcome_kinds import outcome_kind

MESSAGES = [json.loads(line) for line in (Path(__file__).parent / "error_messages.jsonl").read_text().splitlines()]
"""What compilers and runtimes said of small wrong programs, run in the sandbox."""

KINDS = {
    "indentation": "wrong_indentation",
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
    assert outcome_kind(evidence) == expected


def test_every_language_has_its_messages() -> None:
    languages = {message["id"].split("/")[0] for message in MESSAGES}
    assert languages == {"python", "javascript", "typescript", "java", "cpp", "csharp", "go"}


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (Evidence("python", "passed", ""), "pass"),
        (Evidence("python", "sandbox_error", ""), "harness_error"),
        (Evidence("python", "excluded", "x"), "harness_error"),
        (Evidence("python", "failed", " \n"), "empty_when_due"),
        (Evidence("java", "oom", "x"), "runtime_exception:out_of_memory"),
        (Evidence("java", "compile_error", "x", "line 1: reached end of file", "", "length"), "incomplete"),
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
    assert outcome_kind(evidence) == expected
    assert error_kind_title(expected)
