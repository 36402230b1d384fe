from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from caretbench.execution.local_executor import LocalExecutor
from caretbench.extraction.policies import get_policy
from caretbench.files import DataError
from caretbench.problem import InlineSplice, PredicateCheck, Problem
from caretbench.suites import load_suite
from caretbench.suites.devbench import starter
from caretbench.suites.devbench.starter import DocumentationCheck, documentation_faults
from tests.support.compiled_programs import need_toolchain


@pytest.fixture(scope="module")
def problems() -> tuple[Problem, ...]:
    return load_suite("devbench").load("starter").problems


def test_every_cell_has_at_least_two_problems(problems: tuple[Problem, ...]) -> None:
    cells = Counter((problem.label("language"), problem.label("category")) for problem in problems)
    assert len(cells) == 36
    assert min(cells.values()) >= 2
    directions = Counter((p.label("language"), p.label("direction")) for p in problems if "direction" in p.labels)
    assert len(directions) == 12


def test_no_mark_is_left_in_a_program(problems: tuple[Problem, ...]) -> None:
    for problem in problems:
        assert isinstance(problem.splice, InlineSplice)
        program = problem.splice.program(problem.reference)
        assert not set("⟦⟧") & set(program), problem.id
        assert problem.splice.before == problem.caret.prefix
        assert problem.splice.after.startswith(problem.caret.suffix)


def test_extraction_leaves_the_references_unchanged(problems: tuple[Problem, ...]) -> None:
    default = get_policy()
    changed = [p.id for p in problems if default.apply(p.reference, p.caret).text != p.reference]
    assert changed == []


def test_references_satisfy_their_predicates_and_vague_comments_do_not(problems: tuple[Problem, ...]) -> None:
    documented = [problem for problem in problems if any(isinstance(c, PredicateCheck) for c in problem.checks)]
    assert len(documented) >= 6
    for problem in documented:
        assert load_suite("devbench").failed_predicates(problem, problem.reference) == [], problem.id
        assert load_suite("devbench").failed_predicates(problem, "") != [], problem.id


def test_a_file_is_split_at_its_marks() -> None:
    parts = starter.split_program("a = ⟦1⟧\nb = a\n⟦tests⟧\nassert b == 1\n", "here")
    assert parts == ("a = ", "1", "\nb = a\n", "assert b == 1\n")


@pytest.mark.parametrize("text", ["no marks", "⟦a⟧⟦b⟧", "⟧a⟦", "⟦a"])
def test_wrong_marks_are_refused(text: str) -> None:
    with pytest.raises(DataError, match="here: expected"):
        starter.split_program(text, "here")


def test_a_sidecar_that_asks_for_something_unknown_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "python" / "low_context"
    folder.mkdir(parents=True)
    (folder / "one.py").write_text("x = ⟦1⟧\n")
    (folder / "one.toml").write_text("[documentation]\ndocument = 'x'\n")
    with pytest.raises(DataError, match=r"one\.toml: .*document"):
        starter.load(tmp_path)


def test_a_file_in_another_encoding_is_named(tmp_path: Path) -> None:
    path = tmp_path / "python" / "low_context" / "one.py"
    path.parent.mkdir(parents=True)
    path.write_bytes("x = '\u00e9'\n\u27e6y\u27e7\n".encode("utf-16"))
    with pytest.raises(DataError, match=r"one\.py: .*'utf-8'"):
        starter.load(tmp_path)
    path.write_bytes(b"\xef\xbb\xbfx = 1\r\n\xe2\x9f\xa6y = 2\xe2\x9f\xa7\r\n")
    [problem] = starter.load(tmp_path)
    assert (problem.caret.prefix, problem.reference) == ("x = 1\n", "y = 2")


def test_programs_that_are_passed_over_are_named(tmp_path: Path) -> None:
    for place in ("python/low_context/one.py", "python/helpers/two.py", "python/helpers/three.py", "perl/api/x.rb"):
        (tmp_path / "mine" / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mine" / place).write_text("x = ⟦1⟧\n")
    (tmp_path / "mine/python/low_context/notes.md").write_text("no program")
    suite = load_suite("devbench")
    loaded = suite.load(str(tmp_path / "mine"))
    assert len(loaded.problems) == 1
    perl, helpers = loaded.passed_over
    assert f"{tmp_path}/mine/perl/api: 1 file " in perl
    assert f"{tmp_path}/mine/python/helpers: 2 files " in helpers
    assert suite.load("starter").passed_over == ()


def test_what_a_comment_lacks_is_named() -> None:
    program = 'def mean(values):\n    """Does it."""\n    return sum(values) / len(values)\n'
    check = DocumentationCheck(
        documents="mean", minimum_words=4, parameters=("values",), returns=True, throws=("ZeroDivisionError",),
        mentions=(("average", "mean of"),),
    )  # fmt: skip
    faults = documentation_faults(program, "python", check, 0, 0)
    assert len(faults) == 5
    other = "def other(): pass\n"
    assert documentation_faults(other, "python", check, 0, len(other)) == ["mean has no documentation comment"]


@pytest.mark.parametrize(
    ("answer", "faults"),
    [
        ("# Trucks that are too heavy for the bridge wait.\n", []),
        ("# Trucks that are too heavy\n    # wait for the ferry.\n", []),
        ("", ["the answer has no comment"]),
        ("pass\n", ["the answer has no comment"]),
        ("# Trucks wait.\n", ["2 words, at least 4 required"]),
        ("# This is a comment of some length.\n", ["none of these words occurs: truck, heavy"]),
    ],
)
def test_a_comment_without_a_declaration_is_the_answers_own(answer: str, faults: list[str]) -> None:
    before, after = "def cross(trucks):\n    # Trucks are heavy, as all know.\n    ", "    return 1  # heavy trucks\n"
    check = DocumentationCheck(minimum_words=4, mentions=(("truck", "heavy"),))
    start = len(before.encode())
    found = documentation_faults(before + answer + after, "python", check, start, start + len(answer.encode()))
    assert found == faults


def test_problems_of_ones_own_claim_no_licence_of_ours(tmp_path: Path) -> None:
    place = tmp_path / "mine" / "python" / "low_context" / "one.py"
    place.parent.mkdir(parents=True)
    place.write_text("def one():\n    ⟦return 1⟧\n⟦tests⟧\nassert one() == 1\n")
    [problem] = load_suite("devbench").load(str(tmp_path / "mine")).problems
    assert problem.provenance.source == "mine"
    assert problem.provenance.licence is None


def test_a_program_of_ones_own_may_have_cases(tmp_path: Path) -> None:
    """The program reads standard input; the cases take the place of assertions."""
    folder = tmp_path / "python" / "low_context"
    folder.mkdir(parents=True)
    (folder / "square.py").write_text("n = int(input())\nprint(⟦n * n⟧)\n")
    (folder / "square.toml").write_text(
        '[[cases]]\nstdin = "3"\noutputs = ["9"]\n[[cases]]\nstdin = "-2"\noutputs = ["4"]\n'
    )
    suite = load_suite("devbench")
    (problem,) = suite.load(str(tmp_path)).problems
    assert [check.kind for check in problem.checks] == ["cases"]
    need_toolchain("python")
    requests = [suite.request(problem, text, "default", {}) for text in ("n ** 2", "n * 3")]
    results = [next(iter(LocalExecutor(2, use_cache=False).submit([request]))) for request in requests]  # type: ignore[list-item]
    assert [(str(result.status), result.tests and result.tests.failing) for result in results] == [
        ("passed", ()), ("failed", ("case 2",)),
    ]  # fmt: skip


@pytest.mark.parametrize("cases", ["cases = []", "[[cases]]\nstdin = 3", '[[cases]]\nstdin = "3"\noutputs = []'])
def test_malformed_cases_are_refused_with_their_file(cases: str, tmp_path: Path) -> None:
    folder = tmp_path / "python" / "low_context"
    folder.mkdir(parents=True)
    (folder / "square.py").write_text("print(⟦1⟧)\n")
    (folder / "square.toml").write_text(cases)
    with pytest.raises(DataError, match=r"square\.toml: "):
        load_suite("devbench").load(str(tmp_path))
