from __future__ import annotations

import json
from pathlib import Path

import pytest

from caretbench.files import DataError
from caretbench.suites.devbench.recorded import recorded
from tests.conftest import MakeProblem


def test_a_plain_file_needs_only_problem_and_text(tmp_path: Path, make_problem: MakeProblem) -> None:
    problem = make_problem()
    path = tmp_path / "my-model.jsonl"
    rows = [{"problem_id": problem.id, "text": "a"}, {"problem_id": problem.id, "text": None, "sample": 1},
            {"problem_id": "other/one", "text": "b"}]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = list(recorded(path, {problem.id: problem}))
    assert [(row.model, row.sample, row.text) for row in found] == [
        ("my-model", 0, "a"),
        ("my-model", 1, None),
    ]


def test_a_malformed_row_is_named(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text('{"problem_id": "p"}\n')
    with pytest.raises(DataError, match=r"m\.jsonl:1: not a completion \(text: Field required\)"):
        list(recorded(path, {}))


def test_a_path_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file or folder"):
        list(recorded(tmp_path / "none.jsonl", {}))


def test_a_folder_without_completions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no completions here"):
        list(recorded(tmp_path, {}))
