from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from caretbench.build.sources.pull_request import FileChange, PullRequest, read_pull_requests, to_utc
from caretbench.files import DataError
from caretbench.suites.efcb.build.edits.patch_parts import parse_hunks


def record(**changes: Any) -> dict[str, Any]:
    return {
        "repo": "a/b",
        "kind": "commit",
        "source": "git",
        "title": "Fix it",
        "base_sha": "0" * 40,
        "merge_sha": "1" * 40,
        "merged_at": "2026-08-22T11:48:56-04:00",
    } | changes


def test_moments_are_kept_in_utc_and_sort_as_they_are() -> None:
    assert to_utc("2026-08-22T11:48:56-04:00") == "2026-08-22T15:48:56Z"
    assert PullRequest.model_validate(record()).merged_at == "2026-08-22T15:48:56Z"
    with pytest.raises(ValidationError, match="no offset"):
        PullRequest.model_validate(record(merged_at="2026-08-22T11:48:56"))


def test_what_is_null_is_not_there() -> None:
    change = PullRequest.model_validate(record(number=None, url=None, labels=None, patch_lines=None))
    assert (change.number, change.labels, change.patch_lines) == (None, (), None)


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(ValidationError, match="author"):
        PullRequest.model_validate(record(author="somebody"))


def test_the_same_record_counts_once_and_two_that_differ_are_an_error(tmp_path: Path) -> None:
    first, second, other = tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz", tmp_path / "c.jsonl"
    first.write_text(f"{json.dumps(record())}\n{json.dumps(record(repo='c/d'))}\n")
    second.write_bytes(gzip.compress(json.dumps(record()).encode()))
    other.write_text(json.dumps(record(title="Another")))
    assert [row.repo for row in read_pull_requests([first, second])] == ["a/b", "c/d"]
    with pytest.raises(DataError, match=r"c\.jsonl: a/b 1+ .*differences"):
        list(read_pull_requests([first, other]))


@pytest.mark.data
def test_given_records_are_read(test_data: Path) -> None:
    paths = sorted((test_data / "pull_requests").glob("*.jsonl.gz"))
    if not paths:
        pytest.skip("no records of pull requests among the real data")
    rows = list(read_pull_requests(paths))
    assert len(rows) == 420
    assert {row.repo: row.license for row in rows} == {
        "bluesky-social/indigo": "MIT OR Apache-2.0",
        "tailscale/tailscale": "BSD-3-Clause",
    }
    assert all(row.merged_at.endswith("Z") for row in rows)
    for row in rows:
        for file in row.files:
            assert lines_changed(file) == (file.additions, file.deletions)


def lines_changed(file: FileChange) -> tuple[int, int]:
    if file.truncated:
        return file.additions, file.deletions
    marks = [line.mark for hunk in parse_hunks(file.patch) for line in hunk.lines]
    return marks.count("+"), marks.count("-")
