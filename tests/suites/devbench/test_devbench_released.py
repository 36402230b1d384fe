from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from caretbench.errors import UsageError
from caretbench.extraction.policies import get_policy
from caretbench.files import DataError
from caretbench.problem import InlineSplice
from caretbench.suites import load_suite
from caretbench.suites.devbench import released_problems as released
from caretbench.suites.devbench.cells.cell_tables import canonical_category, caret_boundary

ROW = {
    "id": "1", "testsource": "devbench-low-context", "language": "python", "prefix": "def f():",
    "golden_completion": "    return 1", "suffix": "g = f", "LLM_justification": "", "assertions": "assert g() == 1",
}  # fmt: skip


def write(root: Path, *rows: object, language: str = "python") -> Path:
    path = root / "benchmark" / language / "low_context" / "low_context.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def test_joins_are_plain_concatenation_of_whole_lines(tmp_path: Path) -> None:
    write(tmp_path, ROW)
    [problem] = released.load(tmp_path)
    assert problem.id == "python/low_context/1"
    assert problem.caret.prefix == "def f():\n"
    assert problem.caret.suffix == "\ng = f"
    assert isinstance(problem.splice, InlineSplice)
    assert problem.splice.program(problem.reference) == "def f():\n    return 1\ng = f\nassert g() == 1\n"
    assert "assert" not in problem.caret.prefix + problem.caret.suffix
    assert problem.label("boundary") == "after_block_opening"
    assert problem.label("mode") == "suffix"


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ({key: value for key, value in ROW.items() if key != "suffix"}, "'suffix' is missing"),
        (ROW | {"prefix": None}, "'prefix' is NoneType"),
        (ROW | {"extra": "1"}, "unknown field 'extra'"),
        (ROW | {"language": "java"}, "'java' in a file of python"),
        (ROW, "is already used at"),
        ("{broken", "not JSON"),
    ],
)
def test_a_malformed_line_is_named_and_nothing_is_loaded(tmp_path: Path, row: object, complaint: str) -> None:
    path = write(tmp_path, ROW, row)
    with pytest.raises(DataError, match=complaint) as caught:
        released.load(tmp_path)
    assert f"{path}:2" in str(caught.value)


def test_a_folder_without_data_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"{tmp_path}: no DevBench"):
        released.load(tmp_path)


@pytest.mark.parametrize(
    ("prefix", "boundary"),
    [
        ("a\n", "line_start"), ("a\n    ", "indentation"), ("if x:", "after_block_opening"), ("", "line_start"),
        ("x = ", "after_operator"), ("x.", "after_member_access"), ("x;", "after_statement"), ("return ", "after_word"),
        ("f()", "after_closing_bracket"), ("f(", "after_opening_bracket"), ("#'", "after_other"),
    ],
)  # fmt: skip
def test_the_boundary_is_what_stands_before_the_caret(prefix: str, boundary: str) -> None:
    assert caret_boundary(prefix) == boundary


def test_every_spelling_of_a_category_is_known() -> None:
    assert canonical_category("code2NL_NL2code") == canonical_category("code2NL-NL2code") == "code2nl_nl2code"
    assert canonical_category("code_purpose_understanding") == "code_purpose"
    with pytest.raises(UsageError, match="known: api_usage"):
        canonical_category("nonsense")


def test_the_released_joins_force_newlines_or_strip_them() -> None:
    fields = {"prefix": "int x = 1; ", "suffix": "\n  int y;", "assertions": "ignored"}
    assert released.paper_program("java", fields, "x++; // note") == "int x = 1;\nx++; // noteint y;"
    assert released.paper_program("java", fields, "\nx++;") == "int x = 1; \nx++;\n  int y;"
    script = released.paper_program("javascript", fields, "f()")
    assert script == "int x = 1; \nf()\n\n  int y;\n\n// Run assertions\nignored\n"


def test_null_completions_of_the_paper_profile() -> None:
    fields = {"prefix": "", "suffix": "", "assertions": ""}
    assert released.paper_program("java", fields, None) is None
    assert "\nNone\n" in (released.paper_program("typescript", fields, None) or "")


def test_a_cpp_header_goes_first_only_where_its_bare_name_occurs_nowhere() -> None:
    fields = {"prefix": "#include <iostream>\nint main() { std::vector<int> v;", "suffix": "}", "assertions": ""}
    program = released.paper_program("cpp", fields, "// a string")
    assert program is not None
    assert program.startswith("#include <cassert>\n#include <algorithm>\n#include <iostream>\nint main() {")
    wrapped = released.paper_program("cpp", fields | {"prefix": "void main() {"}, "")
    assert wrapped is not None
    assert [wrapped.count(f"#include <{name}>") for name in ("iostream", "vector")] == [2, 2]
    assert "int main() {\n#include <iostream>" in wrapped


@pytest.mark.parametrize(
    ("program", "variant"),
    [
        ("using Newtonsoft.Json;", "release"), ("using Newtonsoft;", None), ("// on Azure", "release"),
        ("using Xunit;", None), ("using xunit;", "release"), ("using MongoDB.Bson;", None),
        ("namespace Company.App { }", "release"), ("namespace App.Tests { }", "release"),
        ("namespace App { } namespace AppTests { }", None), ("class Test { }", None),
    ],
)  # fmt: skip
def test_a_csharp_program_is_a_release_by_its_packages_or_its_first_namespace(
    program: str, variant: str | None
) -> None:
    assert released.csharp_variant(program) == variant


@pytest.mark.data
def test_the_released_runner_builds_49_references_as_a_release(devbench_data: Path) -> None:
    problems = load_suite("devbench").load(str(devbench_data)).problems
    variants = {
        problem.id: released.csharp_variant(released.paper_program("csharp", problem.released, problem.reference) or "")
        for problem in problems
        if problem.caret.language == "csharp"
    }
    assert sum(variant == "release" for variant in variants.values()) == 49
    # Only its second namespace, WorkflowOrchestration.Tests, has one of the names.
    assert variants["csharp/code2nl_nl2code/23"] is None


@pytest.mark.data
def test_53_cpp_references_miss_a_header_that_they_do_not_include(devbench_data: Path) -> None:
    problems = [one for one in load_suite("devbench").load(str(devbench_data)).problems if one.caret.language == "cpp"]
    missing = 0
    for problem in problems:
        program = released.paper_program("cpp", problem.released, problem.reference) or ""
        headers = ("iostream", "cassert", "string", "vector", "algorithm")
        missing += any(f"#include <{name}>" not in program for name in headers)
    assert missing == 53


@pytest.mark.data
def test_all_released_problems_load(devbench_data: Path) -> None:
    loaded = load_suite("devbench").load(str(devbench_data))
    assert len(loaded.problems) == 1800
    cells = Counter((problem.label("language"), problem.label("category")) for problem in loaded.problems)
    assert len(cells) == 36
    assert set(cells.values()) == {50}
    # devbench.md section 1: blank suffixes 16 JavaScript, 9 TypeScript, 3 Java, 3 Python.
    blank = Counter(problem.label("language") for problem in loaded.problems if problem.label("mode") == "no_suffix")
    assert blank == {"javascript": 16, "typescript": 9, "java": 3, "python": 3}


@pytest.mark.data
def test_the_default_policy_leaves_every_reference_answer_unchanged(devbench_data: Path) -> None:
    default = get_policy()
    changed = [
        problem.id
        for problem in load_suite("devbench").load(str(devbench_data)).problems
        if default.apply(problem.reference, problem.caret).text != problem.reference
    ]
    assert changed == []


@pytest.mark.data
def test_recorded_completions_of_the_released_layout(devbench_data: Path) -> None:
    problems = {problem.id: problem for problem in load_suite("devbench").load(str(devbench_data)).problems}
    counts: Counter[str] = Counter()
    errors = 0
    for completion in released.recorded_completions(devbench_data, problems):
        counts[completion.model] += 1
        errors += completion.error
    assert counts == {"gpt-4o": 9000, "Ministral-3B": 8988}
    assert errors == 3
    with pytest.raises(DataError, match=": Ministral-3B, gpt-4o"):
        list(released.recorded_completions(devbench_data, problems, ["gpt-5"]))
