"""Score rows with the keys of their completions: equal contents are validated once, odd rows by themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from caretbench.files import DataError, row_to_json
from caretbench.problem import CompletionKey, Score
from caretbench.runs.keyed_scores import keyed_scores
from caretbench.runs.run_folder import RunFolder


def score(problem: str = "p", sample: int = 0, model: str = "m", **fields: Any) -> Score:
    fields = {"scorer": "similarity@1", "policy": "syntax@4", "profile": "default"} | fields
    return Score(problem_id=problem, model=model, parameters="recorded", sample=sample, **fields)


def written(folder: Path, *lines: Score | bytes) -> Path:
    path = folder / "scores.jsonl"
    path.write_bytes(b"".join(row_to_json(one) + b"\n" if isinstance(one, Score) else one for one in lines))
    return path


def assert_as_read_singly(path: Path) -> list[tuple[CompletionKey, Score]]:
    rows = list(RunFolder(path.parent).scores())
    found = list(keyed_scores(path))
    assert [key for key, _ in found] == [row.completion_key for row in rows]
    content = {"scorer", "policy", "profile", "counted", "outcome", "values", "details"}
    assert [one.model_dump(include=content) for _, one in found] == [row.model_dump(include=content) for row in rows]
    return found


def test_rows_of_equal_content_share_a_score(tmp_path: Path) -> None:
    rows = [
        score(f"p{problem}", sample, f"m{model}", values={"cosine": problem / 3, "passed": float(sample % 2)})
        for model in range(9)
        for problem in range(4)
        for sample in range(5)
    ]
    found = assert_as_read_singly(written(tmp_path, *rows))
    assert len(found) == 180
    assert len({id(one) for _, one in found}) <= 8  # today 8; one for each row before


def test_rows_that_no_run_of_today_wrote_are_read_too(tmp_path: Path) -> None:
    plain, other = score(values={"cosine": 0.5}), score("q", 3, values={"cosine": 0.25})
    fields = json.loads(row_to_json(other))
    lines = (
        plain,
        json.dumps(dict(reversed(fields.items()))).encode() + b"\n",
        json.dumps(fields).encode() + b"\n",
        row_to_json(plain).replace(b'"sample":0,', b"") + b"\n",
        b"\n",
        score('a "name",\\', 1, details={"stderr": 'x","sample":7,"scorer":"y\n'}),
        score('a "name",\\', 2, details={"stderr": 'x","sample":7,"scorer":"y\n', "sample": 3, "scorer": "z"}),
        row_to_json(score("é", details={"stderr": "cut"})).replace(b"cut", b"\\ud83d") + b"\n",
        row_to_json(score("é", 1, details={"stderr": "cut"})).replace(b"cut", b"\\ud83d") + b"\n",
        plain,
        b'{"schema_version":1,"prob',
    )
    assert len(assert_as_read_singly(written(tmp_path, *lines))) == 9


def test_a_key_is_read_from_its_own_row_where_a_field_comes_twice(tmp_path: Path) -> None:
    twice = row_to_json(score())[:-1] + b',"model":"n"}\n'
    assert_as_read_singly(written(tmp_path, score(), twice, twice))


@pytest.mark.parametrize("sample", [b"-1", b"1.5", b'"x"', b""])
def test_a_damaged_row_is_named_by_its_line_although_its_parts_are_known(tmp_path: Path, sample: bytes) -> None:
    damaged = row_to_json(score()).replace(b'"sample":0', b'"sample":' + sample) + b"\n"
    with pytest.raises(DataError, match=r"scores\.jsonl:2: "):
        list(keyed_scores(written(tmp_path, score(), damaged)))
