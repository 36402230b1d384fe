from __future__ import annotations

import bz2
import gzip
import lzma
import os
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.build.sources.fetching.unpacking import SourceLimits, archive_suffix, unpack_archive
from caretbench.errors import DataError
from tests.support.archive_files import Entry, packed_zip, tar

PACKED: dict[str, Callable[[bytes], bytes]] = {
    ".tar": bytes,
    ".tar.gz": gzip.compress,
    ".tgz": gzip.compress,
    ".tar.bz2": bz2.compress,
    ".tar.xz": lzma.compress,
}
LINK, HARD, DEVICE, FIFO = tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE


def contents(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def refusal(tmp_path: Path, name: str, data: bytes, **limits: Any) -> str:
    """The message of a refused archive, of which nothing remains."""
    archive = tmp_path / name
    archive.write_bytes(data)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(DataError) as raised:
        unpack_archive(archive, tmp_path / "place", SourceLimits(**limits))
    assert sorted(tmp_path.iterdir()) == before
    return str(raised.value)


@pytest.mark.parametrize("suffix", PACKED)
def test_the_only_folder_of_a_tar_file_becomes_the_project(tmp_path: Path, suffix: str) -> None:
    data = tar(
        ("./some-1/", "", {"type": tarfile.DIRTYPE}),
        ("./some-1/lib.py", "a = 1\n", {"mode": 0o4600}),
        ("some-1/run.sh", "exit\n", {"mode": 0o750}),
        ("some-1/" + "long/" * 50 + "name.py", "b = 2\n", {}),
        ("some-1/tests/link.py", "", {"type": LINK, "linkname": "../lib.py"}),
    )
    archive = tmp_path / f"some-1{suffix}"
    archive.write_bytes(PACKED[suffix](data))
    unpack_archive(archive, tmp_path / "place")
    assert contents(tmp_path / "place") == {
        "lib.py": "a = 1\n", "run.sh": "exit\n", "long/" * 50 + "name.py": "b = 2\n", "tests/link.py": "a = 1\n",
    }  # fmt: skip
    assert (tmp_path / "place/tests/link.py").readlink() == Path("../lib.py")
    assert [(tmp_path / "place" / name).stat().st_mode & 0o7777 for name in ("lib.py", "run.sh")] == [0o644, 0o755]


def test_a_zip_file_with_several_entries_at_the_top_is_one_project(tmp_path: Path) -> None:
    archive = tmp_path / "some.zip"
    archive.write_bytes(
        packed_zip(
            ("lib.py", "a = 1\n", {}),
            ("bin/", "", {}),
            ("bin/run", "exit\n", {"mode": 0o100755}),
            ("naïve.txt", "n", {}),
            ("link", "bin/run", {"mode": 0o120777}),
        )
    )
    unpack_archive(archive, tmp_path / "place")
    assert contents(tmp_path / "place") == {
        "lib.py": "a = 1\n", "bin/run": "exit\n", "naïve.txt": "n", "link": "exit\n",
    }  # fmt: skip
    assert os.access(tmp_path / "place/bin/run", os.X_OK)


@pytest.mark.parametrize(
    ("entries", "cause"),
    [
        ([("/etc/passwd", "x", {})], "'/etc/passwd': an absolute path"),
        ([("C:/x", "x", {})], "'C:/x': an absolute path"),
        ([("a/../../out", "x", {})], "'a/../../out': leads outside the folder"),
        ([("a/x", "x", {}), ("a/../x", "x", {})], "leads outside"),
        ([("a\\..\\x", "x", {})], "a backslash or a control character"),
        ([("a/x\ny", "x", {})], "a backslash or a control character"),
        ([("a/" + "n" * 300, "x", {})], "the name is too long"),
        ([("./", "x", {})], "a file without a name"),
        ([("a/x", "", {"type": HARD, "linkname": "a/y"})], "'a/x': a hard link"),
        ([("a/null", "", {"type": DEVICE, "devmajor": 1, "devminor": 3})], "neither a file, a folder nor a link"),
        ([("a/pipe", "", {"type": FIFO})], "neither a file, a folder nor a link"),
        ([("a/x", "", {"type": LINK, "linkname": "/etc/passwd"})], "outside the folder"),
        ([("a/x", "", {"type": LINK, "linkname": "../../out"})], "outside the folder"),
        ([("a/x", "", {"type": LINK, "linkname": "y/../../../a"})], "outside the folder"),
        ([("a/d", "", {"type": LINK, "linkname": "."}), ("a/d/x", "x", {})], "'a/d': contained twice"),
        ([("a/x", "1", {}), ("a/x", "2", {})], "'a/x': contained twice"),
        ([("a/x", "1", {}), ("a/x/y", "2", {})], "'a/x': contained twice"),
        ([("a/Read", "1", {}), ("a/READ", "2", {})], "only by case or form"),
        ([("a/x", "1", {}), ("A/y", "2", {})], "'A': the name differs from 'a'"),
        ([("a/é", "1", {}), ("a/e\u0301", "2", {})], "only by case or form"),
        ([("a/straße", "1", {}), ("a/STRASSE", "2", {})], "only by case or form"),
        ([("a/\udcff.py", "1", {})], "\\udcff.py': the name is not UTF-8"),
        ([], "contains no files"),
    ],
)
def test_dangerous_tar_files_are_refused_with_member_and_cause(
    tmp_path: Path, entries: list[Entry], cause: str
) -> None:
    message = refusal(tmp_path, "bad.tar.gz", gzip.compress(tar(*entries)))
    assert message.startswith("bad.tar.gz: ")
    assert cause in message


def test_links_that_lead_outside_only_through_each_other_are_refused(tmp_path: Path) -> None:
    # By their words both stay inside: root/x/up is "root", so root/x/up/../out is next to it.
    data = tar(
        ("root/x/keep", "", {}),
        ("root/x/up", "", {"type": LINK, "linkname": "../"}),
        ("root/out", "", {"type": LINK, "linkname": "x/up/../../out"}),
    )
    assert "outside the" in refusal(tmp_path, "bad.tar.gz", gzip.compress(data))


def test_links_that_lead_outside_only_because_the_top_folder_becomes_the_project_are_refused(tmp_path: Path) -> None:
    data = tar(("a/link", "", {"type": LINK, "linkname": ".."}))
    assert "'link': a link to '..', outside the folder" in refusal(tmp_path, "bad.tar", data)


@pytest.mark.parametrize(
    ("entries", "cause"),
    [
        ([("../out", "x", {})], "leads outside"),
        ([("/out", "x", {})], "an absolute path"),
        ([("link", "/etc/passwd", {"mode": 0o120777})], "outside the folder"),
        ([("null", "", {"mode": 0o020666})], "neither a file"),
        ([("a", "1", {}), ("A", "2", {})], "only by case or form"),
    ],
)
def test_dangerous_zip_files_are_refused(tmp_path: Path, entries: list[Entry], cause: str) -> None:
    assert cause in refusal(tmp_path, "bad.zip", packed_zip(*entries))


def test_zip_names_that_are_not_utf8_and_encrypted_members_are_refused(tmp_path: Path) -> None:
    plain = packed_zip(("aX.py", "1", {}))
    assert "not UTF-8" in refusal(tmp_path, "names.zip", plain.replace(b"aX.py", b"a\xff.py"))
    header, central = bytearray(plain), plain.index(b"PK\x01\x02")
    header[6] |= 1
    header[central + 8] |= 1
    assert "encrypted" in refusal(tmp_path, "locked.zip", bytes(header))


@pytest.mark.parametrize("name", ["big.tar.gz", "big.tar.xz", "big.tar.bz2", "big.zip"])
def test_archives_that_swell_are_refused(tmp_path: Path, name: str) -> None:
    entry: Entry = ("a/zeros", bytes(20 << 20), {})
    data = packed_zip(entry) if name.endswith("zip") else PACKED[archive_suffix(name)](tar(entry))
    assert "200 times" in refusal(tmp_path, name, data)
    assert "than 8 MiB" in refusal(tmp_path, name, data, unpacked_bytes=8 << 20)


def test_small_files_that_sum_up_and_many_files_are_refused(tmp_path: Path) -> None:
    many = gzip.compress(tar(*((f"a/{number}", "x" * 100, {}) for number in range(60))))
    assert "50 files" in refusal(tmp_path, "many.tar.gz", many, files=50)
    assert "than 5,000 bytes" in refusal(tmp_path, "many.tar.gz", many, unpacked_bytes=5000)


def test_folders_that_no_member_names_count_and_a_large_directory_is_not_read(tmp_path: Path) -> None:
    deep = tar(*((f"{number}/" + "a/" * 60 + "x", "x", {}) for number in range(2)))
    assert "50 files" in refusal(tmp_path, "deep.tar", deep, files=50)
    # The size that the end of a zip file states for its directory; the entries may all be there.
    whole = packed_zip(*((f"{number}-{'long' * 50}", "", {}) for number in range(5000)))
    assert "long names" in refusal(tmp_path, "many.zip", whole, files=50)


def test_sizes_that_only_a_header_states_are_refused_before_anything_is_read(tmp_path: Path) -> None:
    member = tarfile.TarInfo("a/huge")
    member.size = 1 << 40
    assert "unpacks to" in refusal(tmp_path, "huge.tar.gz", gzip.compress(member.tobuf()))
    name = tarfile.TarInfo("././@LongLink")
    name.type, name.size = tarfile.GNUTYPE_LONGNAME, 1 << 33
    assert "8,589,934,592 bytes" in refusal(tmp_path, "name.tar.gz", gzip.compress(name.tobuf(tarfile.GNU_FORMAT)))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("cut.tar.gz", gzip.compress(tar(("a/x", os.urandom(5000), {})))[:3000]),
        ("cut.tar", tar(("a/x", os.urandom(5000), {}))[:3000]),
        ("text.tar.xz", b"no archive"),
        ("text.zip", b"no archive"),
        ("text.tar", b"no archive" * 100),
    ],
)
def test_damaged_archives_are_named(tmp_path: Path, name: str, data: bytes) -> None:
    assert f"{name}: " in refusal(tmp_path, name, data)


def test_wheels_and_other_files_are_no_archives(tmp_path: Path) -> None:
    assert archive_suffix("some-1-py3-none-any.whl") == ""
    assert archive_suffix("Some-1.TAR.GZ") == ".tar.gz"
    assert "ends with .tar.gz" in refusal(tmp_path, "some-1-py3-none-any.whl", b"")


PARTS = st.one_of(
    st.sampled_from(["..", ".", "", "a", "A", "b", "C:", "é", "e\u0301"]),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=6),
)
NAMES = st.lists(PARTS, min_size=1, max_size=4).map("/".join)


@given(st.lists(st.tuples(NAMES, st.booleans(), NAMES), min_size=1, max_size=6))
def test_whatever_the_names_nothing_is_written_outside(entries: list[tuple[str, bool, str]]) -> None:
    members = [
        (name, "", {"type": LINK, "linkname": target}) if is_link else (name, "x", {})
        for name, is_link, target in entries
    ]
    with tempfile.TemporaryDirectory() as folder:
        inner = Path(folder, "inner")
        inner.mkdir()
        archive = inner / "some.tar"
        archive.write_bytes(tar(*members))
        try:
            unpack_archive(archive, inner / "place")
        except DataError:
            assert [path.name for path in inner.iterdir()] == ["some.tar"]
        else:
            inside = os.path.realpath(inner / "place")
            for path in (inner / "place").rglob("*"):
                assert os.path.realpath(path).startswith(inside)
            assert {path.name for path in inner.iterdir()} == {"some.tar", "place"}
        assert [path.name for path in Path(folder).iterdir()] == ["inner"]
