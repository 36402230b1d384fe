"""Files and rows of the released layout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from caretbench.files import DataError
from caretbench.suites.efcb.released_problems import read_released_rows, released_files
from caretbench.suites.efcb.suite import Efcb
from tests.support.released_efcb import patch, repository_rows, reverse_row, write_release, write_rows


@pytest.mark.parametrize("below", ["", "data", "data/v0.3", "data/v0.3/tasks"])
def test_any_folder_of_the_release_is_found(tmp_path: Path, below: str) -> None:
    root = write_release(tmp_path / "clone", pond=repository_rows(), quarry=repository_rows())
    found = released_files(root / below)
    assert {(file.repository, file.kind) for file in found} == {
        (name, kind) for name in ("pond", "quarry") for kind in repository_rows()
    }
    assert {file.version for file in found} == {"v0.3"}
    assert len(released_files(tmp_path)) == 8, "a folder that contains the clone"


def test_one_repository_is_a_part_and_the_newest_version_counts(tmp_path: Path) -> None:
    root = write_release(tmp_path, pond=repository_rows())
    (only,) = {file.repository for file in released_files(root / "data/v0.3/tasks/pond")}
    assert only == "pond"
    write_rows(tmp_path / "data/v0.10/tasks/moor/x_reverse_qa.jsonl", [reverse_row("area")])
    assert [file.repository for file in released_files(tmp_path)] == ["moor"]


def test_files_directly_below_a_version_name_their_repositories(tmp_path: Path) -> None:
    for name in ("moor", "pond"):
        write_rows(tmp_path / "v0.2" / f"{name}_reverse_qa.jsonl", [reverse_row("area")])
    found = released_files(tmp_path / "v0.2")
    assert {(file.repository, file.version) for file in found} == {("moor", "v0.2"), ("pond", "v0.2")}


def test_marks_blank_lines_and_other_fields_are_no_fault(tmp_path: Path) -> None:
    one, two = json.dumps({**reverse_row("area"), "id": 7}), json.dumps(reverse_row("edge"))
    path = tmp_path / "pond_reverse_qa.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + one.encode() + b"\r\n\r\n  \n" + two.encode())
    rows = list(read_released_rows(path))
    assert [row.number for row in rows] == [1, 4]
    assert rows[1].user == patch("edge", 8)


def test_messages_may_be_texts_alone(tmp_path: Path) -> None:
    plain = {"input": ["Write.", patch("area")], "ideal": "Title: a\n\nBody: b"}
    (row,) = read_released_rows(write_rows(tmp_path / "a_reverse_qa.jsonl", [plain]))
    assert [(message.role, message.text) for message in row.messages] == [("system", "Write."), ("user", patch("area"))]


SWAPPED = [{"role": "user", "content": "x"}, {"role": "system", "content": "y"}]


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"ideal": None}, "the field 'ideal' is NoneType, expected text"),
        ({"ideal": "  "}, "the field 'ideal' is empty"),
        ({"ideal": ...}, "the field 'ideal' is missing"),
        ({"input": ...}, "the field 'input' is missing"),
        ({"input": "text"}, "the field 'input' is str, expected a system and a user message"),
        ({"input": ["only one"]}, "the field 'input' is a list of 1"),
        ({"input": SWAPPED}, "a message has the role 'user', expected 'system'"),
        ({"input": ["s", {"role": "user", "content": 5}]}, "the user message has no text"),
        ({"input": ["s", " \n"]}, "the user message is empty"),
    ],
)
def test_a_malformed_row_is_named_with_cause_and_remedy(tmp_path: Path, change: dict[str, Any], cause: str) -> None:
    bad = {name: value for name, value in ({**reverse_row("edge"), **change}).items() if value is not ...}
    path = write_rows(tmp_path / "p" / "p_reverse_qa.jsonl", [reverse_row("area"), bad])
    with pytest.raises(DataError) as found:
        Efcb().load(str(tmp_path))
    assert str(found.value).startswith(f"{path}:2: {cause}")
    assert str(found.value).endswith("repair or remove this line")


def test_a_folder_without_data_says_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no data .*starter"):
        Efcb().load(str(tmp_path))
    with pytest.raises(DataError, match=r"data/v0\.3/tasks/REPO/PREFIX_"):
        Efcb().load(str(tmp_path / "none"))
    write_rows(tmp_path / "p" / "p_reverse_qa.jsonl", [])
    with pytest.raises(DataError, match="no row"):
        Efcb().load(str(tmp_path))
