"""GGUF heads: what is read of good ones, and that bad ones are one line."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from caretbench.errors import DataError
from caretbench.files import sha256_file
from caretbench.local.gguf import read_gguf, weights_sha256
from tests.support.gguf_file import ARRAY, QWEN_LIKE, STRING, Entry, gguf


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "model.gguf"


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("version", [2, 3])
def test_what_a_head_tells(file: Path, order: str, version: int) -> None:
    file.write_bytes(gguf(QWEN_LIKE, order=order, version=version) + bytes(100))
    header = read_gguf(file)
    assert (header.architecture, header.name, header.context_length) == ("qwen2", "Small Coder", 32768)
    assert header.quantisation == "Q4_K_M"
    assert header.chat_template == "{{ messages }}"
    assert len(header.tokens) == 8
    assert header.special_tokens == {"<|endoftext|>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<table>"}
    assert header.control_tokens == {"<|endoftext|>", "<|fim_suffix|>", "<|fim_middle|>"}


def test_what_a_head_does_not_tell_is_none(file: Path) -> None:
    file.write_bytes(gguf([("general.file_type", 4, 9999)]))
    header = read_gguf(file)
    assert header.architecture is header.name is header.context_length is header.chat_template is None
    assert header.quantisation == "type 9999"
    assert header.tokens == ()
    assert header.special_tokens == frozenset()


def test_values_of_another_type_than_they_should_be_are_none(file: Path) -> None:
    file.write_bytes(
        gguf([
            ("general.architecture", 4, 1), ("general.name", 7, True), ("None.context_length", STRING, "many"),
            ("tokenizer.ggml.tokens", ARRAY, (5, [1, 2])), ("tokenizer.ggml.token_type", ARRAY, (STRING, ["x"])),
            ("tokenizer.ggml.bos_token_id", 5, -1),
        ])
    )  # fmt: skip
    header = read_gguf(file)
    assert header.architecture is header.name is header.context_length is None
    assert header.special_tokens == frozenset()


def huge(count: int, element: int) -> bytes:
    return gguf([("a", ARRAY, (element, []))])[:-8] + struct.pack("<Q", count)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "ends too early"),
        (b"PK\x03\x04 a zip", "not a GGUF file"),
        (b"GGUF", "ends too early"),
        (gguf([], version=1), "GGUF version 1"),
        (gguf([], version=99), "GGUF version 99"),
        (gguf([], count=2**63), "claims 9223372036854775808 entries"),
        (gguf([], count=5), "ends too early"),
        (gguf([("a", STRING, "b")])[:-1], "ends too early"),
        (gguf([("x" * 70_000, 4, 1)]), "a text of 70000 bytes"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**62), "a text of"),
        (huge(2**60, STRING), "an array of 1152921504606846976 texts"),
        (huge(2**60, 6), "an array of 1152921504606846976 numbers"),
        (huge(10, 6), "an array of 10 numbers"),
        (huge(1, ARRAY), "an array of type 9"),
        (gguf([("a", 4, 1)]).replace(struct.pack("<I", 4), struct.pack("<I", 77), 1), "an unknown type 77"),
    ],
)
def test_broken_files_are_one_line(file: Path, data: bytes, complaint: str) -> None:
    file.write_bytes(data)
    with pytest.raises(DataError, match=complaint) as caught:
        read_gguf(file)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_no_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"/none\.gguf: no such"):
        read_gguf(tmp_path / "none.gguf")
    with pytest.raises(DataError, match=f"{tmp_path}: not a"):
        read_gguf(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="/pipe: not a"):
        read_gguf(tmp_path / "pipe")


WHOLE = gguf(QWEN_LIKE)


def survives(path: Path, data: bytes) -> None:
    """Read everything; only a DataError of one line may come of it, and soon."""
    path.write_bytes(data)
    begin = time.process_time()
    complaint = ""
    try:
        header = read_gguf(path)
        _ = header.special_tokens, header.tokens, header.context_length, header.quantisation
    except DataError as error:
        complaint = str(error)
    assert "\n" not in complaint
    assert time.process_time() - begin < 2


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(position=st.integers(0, len(WHOLE) - 1), patch=st.binary(min_size=1, max_size=9), cut=st.booleans())
def test_a_damaged_head_is_read_or_refused(file: Path, position: int, patch: bytes, cut: bool) -> None:
    data = WHOLE[:position] + patch + (b"" if cut else WHOLE[position + len(patch) :])
    survives(file, data)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(version=st.sampled_from([2, 3]), count=st.integers(0, 2**64 - 1), rest=st.binary(max_size=200))
def test_noise_after_the_magic_is_read_or_refused(file: Path, version: int, count: int, rest: bytes) -> None:
    survives(file, b"GGUF" + struct.pack("<IQQ", version, 0, count) + rest)
    survives(file, b"GGUF" + struct.pack("<IQQ", version, 0, count % 4) + rest)


_ENTRIES = st.lists(
    st.one_of(
        st.tuples(st.text(max_size=8), st.just(STRING), st.text(max_size=20)),
        st.tuples(st.text(max_size=8), st.just(10), st.integers(0, 2**64 - 1)),
        st.tuples(st.text(max_size=8), st.just(ARRAY), st.tuples(st.just(STRING), st.lists(st.text(max_size=5)))),
    ),
    max_size=6,
    unique_by=lambda entry: entry[0],
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(entries=_ENTRIES, order=st.sampled_from("<>"))
def test_what_was_written_is_read(file: Path, entries: list[Entry], order: str) -> None:
    file.write_bytes(gguf(entries, order=order))
    header = read_gguf(file)
    for key, kind, value in entries:
        if kind != ARRAY:
            assert header.values[key] == value


def test_the_hash_is_remembered_until_the_file_changes(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path / "cache"))
    file.write_bytes(b"one")
    first = weights_sha256(file)
    assert first == sha256_file(file)
    state = file.stat()
    file.write_bytes(b"two")
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert weights_sha256(file) == first, "same path, size and time: taken from memory"
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns + 1))
    assert weights_sha256(file) == sha256_file(file)
    for memory in (tmp_path / "cache" / "models" / "hashes").iterdir():
        memory.write_text("[broken")
    assert weights_sha256(file) == sha256_file(file)


def test_a_cache_that_cannot_be_written_costs_only_time(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "blocked").write_text("a file, no folder")
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path / "blocked"))
    file.write_bytes(b"one")
    assert weights_sha256(file) == sha256_file(file)


def with_tensors(places: Sequence[int], size: int, count: int | None = None) -> bytes:
    """A file with tensors that begin at ``places`` of ``size`` bytes of data."""
    head = bytearray(gguf(QWEN_LIKE))
    head[8:16] = struct.pack("<Q", len(places) if count is None else count)
    infos = b"".join(struct.pack("<Q1sI2QIQ", 1, b"t", 2, 4, 4, 0, place) for place in places)
    return bytes(head) + infos + bytes(size)


def test_a_file_whose_tensors_are_not_all_there_is_refused(file: Path) -> None:
    file.write_bytes(with_tensors([0, 640], 1280))
    assert read_gguf(file).name == "Small Coder"
    for broken in (with_tensors([0, 640], 600), with_tensors([0, 640], 0, 3), with_tensors([], 0, 2**60)):
        file.write_bytes(broken)
        with pytest.raises(DataError, match=r"broken GGUF"):
            read_gguf(file)
