"""Wrong and hostile files of each benchmark: the message has file, line and field, and nothing else is raised."""

from __future__ import annotations

import copy
import gzip
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caretbench.conventional import conventional_names
from caretbench.conventional.descriptions import description, pull_files, released_folder
from caretbench.conventional.rows import read_problems, read_rows
from caretbench.download import download_file
from caretbench.files import DataError
from caretbench.suites import load_suite
from tests.support.conventional_layouts import LAYOUTS, SAFIM, Json

_MISSING = object()
_WRONG = (
    _MISSING, None, True, 7, 1.5, [], [1], {}, {"a": 1}, "", " ", "\0", "\ud800", "{task_id}", "x" * 100_000,
    "../..", "/etc", "a/../../..", [{"input": 1, "output": 2}], [["a.py"]], "\n".join("}" * 1000),
)  # fmt: skip


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all fields of a row."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield (*above, name)
        yield from places(part, (*above, name))


def changed(row: Json, place: tuple[Any, ...], value: object) -> Json:
    row = copy.deepcopy(row)
    part: Any = row
    for name in place[:-1]:
        part = part[name]
    if value is _MISSING:
        del part[place[-1]]
    else:
        part[place[-1]] = value
    return row


@pytest.mark.parametrize("name", LAYOUTS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_changed_row_is_read_or_refused_by_file_line_and_field(name: str, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("CARETBENCH_CACHE", f"{folder}/cache")
        source = LAYOUTS[name](Path(folder) / "data")
        path = min(Path(folder, "data").rglob("*.jsonl"))
        row = json.loads(path.read_text().splitlines()[0])
        place = data.draw(st.sampled_from(list(places(row))))
        path.write_text("\n" + json.dumps(changed(row, place, data.draw(st.sampled_from(_WRONG)))) + "\n")
        suite = load_suite(name)
        message, problems = "", []
        try:
            problems = [*suite.load(str(source)).problems]
        except DataError as error:
            message = str(error)
        if not problems:
            assert len(message) < 1000
            assert f"{path}:2: " in message
            words = [part for part in place if isinstance(part, str)]
            names = {*words, "case", "holes", "unknown language", "does not end with", "is not prefix", "no repository"}
            assert any(word in message.partition(":2: ")[2] for word in {*names, "has no file"}), message
        for problem in problems:
            problem.model_dump_json().encode()
            suite.measure(problem, problem.reference, "paper")
            suite.request(problem, "x", "default", {})


@pytest.mark.parametrize("field", ["prompt", "eval_prompt", "ground_truth"])
@pytest.mark.parametrize("value", [5, 1.5, True, ["a"]])
def test_a_text_that_is_none_is_refused(field: str, value: object, tmp_path: Path) -> None:
    path = tmp_path / "block_completion.jsonl"
    path.write_text(json.dumps(SAFIM | {field: value}))
    with pytest.raises(DataError, match=rf"{path}:1: .*'{field}' is {type(value).__name__}, "):
        load_suite("safim").load(str(path))


@pytest.mark.parametrize("repository", ["..", "/etc", "../data/repos/first", "first/../second", "", "."])
def test_a_repository_lies_below_the_archive(repository: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path / "cache"))
    source = LAYOUTS["execrepobench"](tmp_path / "data")
    row = json.loads(source.read_text().splitlines()[0])
    source.write_text(json.dumps(row | {"repo_name": repository}))
    with pytest.raises(DataError, match=rf"{source}:1: "):
        load_suite("execrepobench").load(str(source))
    assert not (tmp_path / "cache" / "snapshots").exists()


BROKEN: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda data: data[:-5],
    "gzip": lambda data: gzip.compress(data)[:-9],
    "zip": lambda data: b"PK\x03\x04" + data[4:],
    "list": lambda _data: b"[1]\n",
    "number": lambda _data: b'{"a": ' + b"9" * 5000 + b"}\n",
    "nested": lambda _data: b"[" * 100_000,
    "bytes": lambda data: b"\xff\xfe" + data,
    "empty": lambda _data: b"",
}


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_file_is_named(fault: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path / "cache"))
    source = LAYOUTS[name](tmp_path / "data")
    for path in sorted((tmp_path / "data").rglob("*.jsonl")):
        path.write_bytes(BROKEN[fault](path.read_bytes()))
    with pytest.raises(DataError, match=str(tmp_path / "data")):
        load_suite(name).load(str(source))


def test_a_broken_parquet_file_is_named(tmp_path: Path) -> None:
    """Costs 2 s: cut, and with changed bytes in 60 places."""
    import polars as pl

    path = tmp_path / "cross_file_first.parquet"
    pl.DataFrame({"prompt": ["a"] * 50, "level": [b"b"] * 50}).write_parquet(path)
    whole = path.read_bytes()
    chance = random.Random(0)  # noqa: S311  no secrets
    messages = []
    for number in range(60):
        damaged = bytearray(whole[: chance.randrange(len(whole))] if number % 2 else whole)
        for _ in range(4):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256) if damaged else 0
        path.write_bytes(damaged)
        try:
            rows = read_rows(path)
            read_problems("repobench", rows)
        except DataError as error:
            messages.append(str(error))
    assert len(messages) > 20
    assert all(str(path) in message for message in messages)


def test_a_long_row_of_blanks_is_searched_once(tmp_path: Path) -> None:
    """Patterns that try each split of the blanks took minutes for 200 kB."""
    row = {
        "name": "humaneval-HumanEval_1_one.json-L2", "language": "java", "prompt": "}" + " " * 200_000 + "x",
        "suffix": " " * 200_000 + "x", "canonical_solution": "}" + " " * 200_000, "tests": "}",
    }  # fmt: skip
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row))
    begin = time.process_time()
    assert len(load_suite("santacoder-fim").load(str(path)).problems) == 1
    assert time.process_time() - begin < 5


@pytest.mark.parametrize("name", [name for name in conventional_names() if description(name).url])
@pytest.mark.parametrize("content", [b"<html>not found</html>", b"", b"\x1f\x8b" + b"\0" * 10_000_000])
def test_a_server_with_other_files_gives_their_address(
    content: bytes, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.conventional.test_conventional_rows import serve_folder

    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path / "cache"))
    # The default is bound when the module is imported: with `time.sleep` replaced, each of nine cases waited 14 s.
    monkeypatch.setitem(download_file.__kwdefaults__, "pause", lambda _seconds: None)
    for file in description(name).files:
        path = tmp_path / "site" / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    with serve_folder(tmp_path / "site") as url, pytest.raises(DataError, match=r"SHA-256|404|Error") as raised:
        pull_files(name, None, lambda _count, _total: None, url)
    assert description(name).files[0].path in str(raised.value) or url in str(raised.value)
    assert not [path for path in released_folder(name).rglob("*") if path.is_file()]
