from __future__ import annotations

import gzip
import json
import multiprocessing
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, ValidationError

from caretbench.build.projects.toml_files import toml_text
from caretbench.file_locks import OpenFile, lock_file
from caretbench.files import (
    DataError,
    RowAppender,
    cache_folder,
    describe_validation_error,
    read_appended,
    read_document,
    read_lines,
    read_rows,
    read_toml,
    row_to_json,
    sha256_text,
    validated,
    write_atomically,
    write_document,
    write_rows,
)
from caretbench.problem import Completion


def row(sample: int, text: str = "x") -> Completion:
    return Completion(problem_id="p", model="m", sample=sample, text=text)


def test_appended_rows_come_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "rows.jsonl"
    with RowAppender(path) as appender:
        appender.append(row(0), row(1))
        appender.append(row(2))
    assert [entry.sample for entry in read_rows(path, Completion)] == [0, 1, 2]


def test_compressed_rows_are_read_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(gzip.compress(b"".join(f"{row(n).model_dump_json()}\n".encode() for n in range(300))))
    assert [entry.sample for entry in read_rows(path, Completion)] == list(range(300))


@pytest.mark.parametrize("change", ["cut", "damaged", "plain"])
def test_a_broken_compressed_file_is_named(tmp_path: Path, change: str) -> None:
    path = tmp_path / "rows.jsonl.gz"
    whole = gzip.compress(f"{row(0).model_dump_json()}\n".encode())
    middle = len(whole) // 2
    path.write_bytes(
        {"cut": whole[:middle], "damaged": whole[:middle] + b"\xff" * 8 + whole[middle + 8 :], "plain": b"{}\n"}[change]
    )
    with pytest.raises(DataError, match=r"/rows\.jsonl\.gz: cannot be"):
        list(read_lines(path))


@given(cut=st.integers(min_value=0, max_value=400))
def test_whatever_is_torn_off_only_whole_rows_remain(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    path = tmp_path_factory.mktemp("torn") / "rows.jsonl"
    write_rows(path, [row(sample) for sample in range(3)])
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) - min(cut, len(whole))])
    there = [entry.sample for entry in read_rows(path, Completion, allow_partial_last_line=True)]
    with RowAppender(path) as appender:
        repaired = [entry.sample for entry in read_rows(path, Completion)]
        appender.append(row(9))
    # A last line that lacks only its newline reads as a row but is written again, so it may be dropped.
    assert there[: len(repaired)] == repaired
    assert [entry.sample for entry in read_rows(path, Completion)] == [*repaired, 9]


def _hold(path: str, ready: object, release: object) -> None:
    with RowAppender(Path(path)):
        ready.set()  # type: ignore[attr-defined]
        release.wait()  # type: ignore[attr-defined]


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready, release = context.Event(), context.Event()
    path = tmp_path / "rows.jsonl"
    holder = context.Process(target=_hold, args=(str(path), ready, release))
    holder.start()
    try:
        assert ready.wait(30)
        with pytest.raises(DataError, match="another caretbench is writing"):
            RowAppender(path)
    finally:
        release.set()
        holder.join(30)
    RowAppender(path).close()


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "not JSON"),
        ("[1]", "expected a JSON object"),
        ('{"problem_id": "p"}', "model"),
        ("\xff", "not JSON .*; save the file as UTF-8"),
        ('{"a": ' * 100_000, "not JSON"),
        ("9" * 5000, "not JSON"),
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, line: str, complaint: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(row(0).model_dump_json().encode() + b"\n" + line.encode("latin-1") + b"\n")
    with pytest.raises(DataError, match=complaint) as caught:
        list(read_rows(path, Completion))
    assert f"{path}:2:" in str(caught.value)


@pytest.mark.parametrize("half", [rb"\ud83d", rb"\uDE00", b"\xed\xa0\xbd"])
def test_half_a_surrogate_pair_is_kept_where_texts_are_stored(tmp_path: Path, half: bytes) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"problem_id": "p", "model": "m", "text": "\\ud83d\\ude00 a' + half + b'b"}\r\n')
    [replaced] = read_rows(path, Completion)
    assert replaced.text == "\U0001f600 a\ufffdb"
    [entry] = read_rows(path, Completion, keep_surrogates=True)
    assert entry.text is not None
    assert entry.text.startswith("\U0001f600 a")
    assert len(entry.text) == 5
    assert 0xD800 <= ord(entry.text[3]) < 0xE000
    for row in (entry, replaced):
        write_rows(path, [row])
        with RowAppender(path) as appender:
            appender.append(row)
        path.read_bytes().decode()
        assert list(read_rows(path, Completion, keep_surrogates=True)) == [row, row]


def test_rows_are_written_as_json_with_and_without_surrogates() -> None:
    plain = Completion(problem_id="p", model="m", text="é\n", cost=0.1)
    half = plain.model_copy(update={"text": "é\n\ud800"})
    assert row_to_json(half) == row_to_json(plain).replace(rb"\n", rb"\n\ud800")


def test_halves_that_meet_are_one_character(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"problem_id": "p", "model": "m", "text": "\xed\xa0\xbd\xed\xb8\x80"}\n')
    [entry] = read_rows(path, Completion, keep_surrogates=True)
    assert entry.text == "\U0001f600"


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + row(0).model_dump_json().encode() + b"\r\n\r\n")
    assert list(read_rows(path, Completion)) == [row(0)]


def test_a_writer_does_not_write_to_a_file_that_was_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rows.jsonl"
    write_rows(path, [row(0)])
    replaced: list[Path] = []

    def replace_first(stream: OpenFile | int, *, wait: bool) -> None:
        if not replaced:
            replaced.append(path)
            write_rows(path, [row(0), row(1)])
        lock_file(stream, wait=wait)

    monkeypatch.setattr("caretbench.files.lock_file", replace_first)
    with RowAppender(path) as appender:
        appender.append(row(2))
    assert [entry.sample for entry in read_rows(path, Completion)] == [0, 1, 2]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"/none\.jsonl: cannot be read"):
        list(read_lines(tmp_path / "none.jsonl"))


def test_an_atomic_write_leaves_the_old_file_where_it_fails(tmp_path: Path) -> None:
    path = tmp_path / "value.json"
    write_atomically(path, "old")

    class Bad(str):
        def encode(self, *_arguments: object) -> bytes:  # type: ignore[override]
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_atomically(path, Bad("new"))
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["value.json"]


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_different_parts_have_different_hashes(first: list[str], second: list[str]) -> None:
    assert (sha256_text(*first) == sha256_text(*second)) == (first == second)


def test_rows_are_plain_json(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    write_rows(path, [row(0, "tab\there\n“quoted”")])
    assert json.loads(path.read_text())["text"] == "tab\there\n“quoted”"


def test_the_cache_can_be_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path


def test_a_list_whose_entries_are_wrong_is_not_called_too_short() -> None:
    class Table(BaseModel):
        rows: tuple[Completion, ...] = Field(min_length=1)
        names: tuple[str, ...] = Field(min_length=1)

    with pytest.raises(ValidationError) as caught:
        Table.model_validate({"rows": [{"problem_id": "p", "model": "m", "sample": "x"}], "names": []})
    said = describe_validation_error(caught.value)
    assert said.count("at least 1 item") == 1
    assert said.startswith("rows.0.")


class _Setting(BaseModel):
    size: int


@pytest.mark.parametrize("content", [b"size = ", b"\xff", b"[" * 100_000])
def test_a_toml_file_that_is_none_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "own.toml"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"own\.toml: .*TOML"):
        read_toml(path)
    with pytest.raises(DataError, match=r"/absent\.toml: cannot be"):
        read_toml(tmp_path / "absent.toml")


def test_documents_and_appended_rows(tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    write_document(path, _Setting(size=3))
    assert read_document(path, _Setting) == _Setting(size=3)
    path.write_text('{"size": "x"}')
    with pytest.raises(DataError, match=r"own\.json: size: "):
        read_document(path, _Setting)
    with pytest.raises(DataError, match=r"/absent\.json: cannot be"):
        read_document(tmp_path / "absent.json", _Setting)
    with pytest.raises(DataError, match="table: size: "):
        validated(_Setting, {}, "table")
    rows = tmp_path / "rows.jsonl"
    assert list(read_appended(rows, _Setting)) == []
    rows.write_text('{"size": 1}\n{"siz')
    assert list(read_appended(rows, _Setting)) == [_Setting(size=1)]


_TOML_VALUES = st.recursive(
    st.text() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.dates() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), _TOML_VALUES, max_size=4))
def test_a_table_is_read_back_from_its_toml(table: dict[str, object]) -> None:
    assert tomllib.loads(toml_text(table)) == table
