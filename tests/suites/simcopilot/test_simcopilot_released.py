"""The released spans and labels: counts of the paper, and what is said of files that are wrong."""

import json
from pathlib import Path

import pytest

from caretbench.build import load_builder
from caretbench.files import DataError
from caretbench.suites.simcopilot.build.builder import released_tables
from caretbench.suites.simcopilot.released.released_problems import comment_distance, released_labels
from caretbench.suites.simcopilot.released.spans import (
    ReleasedProgram,
    ReleasedReason,
    ReleasedReference,
    ReleasedSpan,
    load,
)
from caretbench.suites.suite_types import Table

_SPANS = [{"Task_Name": "one", "checkpoint_LN_infilling": [[2, 3]], "checkpoint_LN_Completion": []}]


@pytest.fixture(scope="module")
def programs(test_data: Path) -> tuple[ReleasedProgram, ...]:
    folder = test_data / "simcopilot"
    if not folder.is_dir():
        pytest.skip(f"no released SimCopilot data at {folder}")
    return load(folder)


def rows(found: tuple[Table, ...], name: str) -> list[list[str]]:
    [table] = [table for table in found if table.name == name]
    return [list(row[1:]) for row in table.rows]


def test_the_released_spans_load_and_give_table_1_exactly(programs: tuple[ReleasedProgram, ...]) -> None:
    found = released_tables(programs)
    assert [row[1:4] for row in rows(found, "tasks")] == [
        ["431.7", "382", "2.52"], ["431.7", "212", "3.89"], ["966.6", "283", "2.63"], ["966.6", "286", "3.31"],
    ]  # fmt: skip
    assert rows(found, "constructs") == [
        ["371", "-", "37", "15", "202", "19", "61", "72"],
        ["206", "-", "9", "19", "123", "14", "73", "49"],
        ["232", "157", "110", "54", "6", "56", "79", "102"],
        ["218", "184", "88", "32", "10", "33", "120", "102"],
    ]


def test_the_paper_s_bounds_give_its_ranges(programs: tuple[ReleasedProgram, ...]) -> None:
    assert [row[:4] for row in rows(released_tables(programs), "ranges")] == [
        ["167", "116", "91", "8"],
        ["96", "68", "43", "5"],
        ["89", "82", "107", "5"],
        ["123", "82", "73", "8"],
    ]


def test_released_ids_are_unique(programs: tuple[ReleasedProgram, ...]) -> None:
    ids = [span.id for program in programs for span in program.spans]
    assert len(set(ids)) == len(ids) == 1163


SOURCE = '"""About."""\n# sums\ndef total(items):\n    return sum(x for x in items)\n'


def test_labels_follow_the_joining_rules() -> None:
    span = ReleasedSpan("p", "python", "infill", 4, 4)
    references = (
        ReleasedReference("x", 4, 4, "generator_exp"), ReleasedReference("y", 4, 4, "local"),
        ReleasedReference("items", 4, 3, "local"),
        ReleasedReference("np", 4, 90, "library"), ReleasedReference("far", 2, 80, "local"),
    )  # fmt: skip
    program = ReleasedProgram(
        "p", "python", "", (span,), references, (ReleasedReason("Loop body", 4), ReleasedReason("If Body", 4)), SOURCE
    )
    assert released_labels(program, span) == {
        "language": "python", "mode": "infill", "constructs": ["local_variable", "library", "if_body"],
        "reference_distance": 1.0, "comment_distance": 2.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("source", "line", "distance"),
    [
        (SOURCE, 1, None),
        (SOURCE, 3, 1),
        (SOURCE.replace("\n", "\r\n"), 4, 2),
        ("# a \u2028 b \x0c c\nx = 1\ny = 2\n", 3, 2),  # line feeds alone end lines
        ("# one\n# two\nx = 1\ny = 2\n", 4, 2),
        ('"""\nAbout\n"""\nx = 1\n', 4, 1),
        ("/* About\n * it. */\nint x;\nint y;\n", 4, 2),
        # A docstring of one line is open up to the next line with a mark, as for the released scanner.
        ('"""One line."""\nx = 1\ny = 2\n', 3, None),
        ('"""One line."""\nx = 1\n"""Another."""\ny = 2\n', 4, 1),
        ('"""One line."""\nx = """text"""\ny = 2\n', 3, 1),
        ('"""One line."""\nx = 1\n"""Another."""\ny = """text"""\nz = 3\n', 5, 2),
    ],
)
def test_comments_are_found_as_the_released_scanner_does(source: str, line: int, distance: int | None) -> None:
    assert comment_distance(source, line) == distance


def write(root: Path, spans: object = _SPANS, dependencies: str = "", reasons: str = "") -> Path:
    (root / "labels" / "Python").mkdir(parents=True)
    (root / "Python_tasks_checkpoints.json").write_text(json.dumps(spans))
    (root / "labels" / "Python" / "one_dependency_verified.csv").write_text(
        dependencies or "var_name,usage_line,def_line,scope_type,range_type\nx,2,1,local,\n"
    )
    (root / "labels" / "Python" / "one_reason_verified.csv").write_text(reasons)
    return root


def test_with_the_programs_there_is_a_table_of_comments(tmp_path: Path) -> None:
    root = write(tmp_path)
    (root / "Python").mkdir()
    (root / "Python" / "one.py").write_text("# a comment\nx = 1\nprint(x)\n")
    tables = load_builder("simcopilot").data_tables(str(root))
    assert rows(tables, "comments") == [["1", "0", "0", "up to 10, above 10"]]
    for text, count in (("x", 1), ("x = 1\nprint(x)\n", 2), ("", 0)):
        (root / "Python" / "one.py").write_text(text)
        with pytest.raises(DataError, match=f"line 3, .* {count} lines"):
            load(root)
    (root / "Python" / "one.py").write_bytes(b"# caf\xe9\nx = 1\nprint(x)\n")
    with pytest.raises(DataError, match=r"one\.py: .*utf-8"):
        load(root)


def test_byte_order_marks_and_other_fields_are_no_fault(tmp_path: Path) -> None:
    root = write(tmp_path, [_SPANS[0] | {"note": "ours"}])
    spans = root / "Python_tasks_checkpoints.json"
    spans.write_bytes(b"\xef\xbb\xbf" + spans.read_bytes())
    (root / "Python").mkdir()
    (root / "Python" / "one.py").write_bytes("\ufeff# a comment\nx = 1\nprint(x)\n".encode())
    (program,) = load(root)
    assert program.source == "# a comment\nx = 1\nprint(x)\n"


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"spans": {}}, "expected a list"),
        ({"spans": [1]}, "a program is 1, expected an object with Task_Name and spans; copy the release again"),
        ({"spans": [_SPANS[0] | {"checkpoint_LN_infilling": [[3, 2]]}]}, "one has the impossible span 3 to 2; copy"),
        ({"spans": [_SPANS[0] | {"checkpoint_LN_infilling": [[2, 3], [2, 3]]}]}, "one has the span 2 to 3 twice"),
        ({"spans": [{"Task_Name": "../one", "checkpoint_LN_infilling": []}]}, "Task_Name"),
        ({"spans": [{"Task_Name": "one", "checkpoint_LN_infilling": []}]}, "one: checkpoint_LN_Completion is no list"),
        ({"dependencies": "a,b\n1,2\n"}, "csv:1: expected the fields"),
        ({"dependencies": "name,usage_line,def_line,scope_type\nx,2,1,local\nx,two,1,local\n"}, "csv:3: 'two'"),
        ({"reasons": "reason_category,usage_line\nIf Body,\n"}, "csv:2: '' is not a line"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, changes: dict[str, object], complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        load(write(tmp_path, **changes))


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="Python_tasks_checkpoints"):
        load(tmp_path)
    root = write(tmp_path)
    (root / "labels" / "Python" / "one_reason_verified.csv").unlink()
    with pytest.raises(DataError, match=r"one_reason_verified\.csv: cannot"):
        load(root)


def test_a_folder_without_labels_is_a_release_without_labels(tmp_path: Path) -> None:
    root = write(tmp_path)
    for path in (root / "labels" / "Python").iterdir():
        path.unlink()
    (root / "labels" / "Python" / ".DS_Store").write_bytes(b"")
    [program] = load(root)
    assert program.spans
    assert (program.references, program.reasons) == ((), ())
