from __future__ import annotations

from pathlib import Path

import pytest

from caretbench.build.sources.fetching.source_spec import parse_source, read_source_file
from caretbench.errors import DataError

COMMIT = "0123456789" * 4
HASH = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("text", "kind", "location", "revision", "folder"),
    [
        ("toolz==1.2.0", "distribution", "toolz", "1.2.0", ""),
        ("more-itertools==11.2.1rc1", "distribution", "more-itertools", "11.2.1rc1", ""),
        ("owner/some.name", "github", "owner/some.name", "", ""),
        ("owner/name.git", "github", "owner/name", "", ""),
        (f"owner/name@{COMMIT}", "github", "owner/name", COMMIT, ""),
        ("https://host.example/a/b.git", "git", "https://host.example/a/b.git", "", ""),
        (f"git+https://host.example/a/b@{COMMIT}#packages/x", "git", "https://host.example/a/b", COMMIT, "packages/x"),
        ("https://me:word@host.example/a.git", "git", "https://me:word@host.example/a.git", "", ""),
        ("https://me@host.example/a.git@v1.0", "git", "https://me@host.example/a.git", "v1.0", ""),
        ("git@host.example:a/b.git@main", "git", "git@host.example:a/b.git", "main", ""),
        ("ssh://git@host.example:22/a/b.git", "git", "ssh://git@host.example:22/a/b.git", "", ""),
        ("file:///srv/a.git", "git", "file:///srv/a.git", "", ""),
        (
            f"https://host.example/a-1.tar.gz#sha256={HASH}",
            "archive_address",
            "https://host.example/a-1.tar.gz",
            "",
            "",
        ),
    ],
)
def test_every_form_is_told_apart(text: str, kind: str, location: str, revision: str, folder: str) -> None:
    found = parse_source(text)
    assert (found.kind, found.location, found.revision, found.folder) == (kind, location, revision, folder)
    assert found.sha256 == (HASH if "sha256=" in text else None)


def test_what_exists_is_a_folder_or_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "owner/name").mkdir(parents=True)
    (tmp_path / "some-1.tar.gz").touch()
    (tmp_path / "text.txt").touch()
    assert parse_source("owner/name").kind == "folder"
    assert parse_source("some-1.tar.gz", sha256=HASH).sha256 == HASH
    with pytest.raises(DataError, match=r"text\.txt: not an archive"):
        parse_source("text.txt")


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("", "an empty source: no such file or folder; a source is a folder"),
        ("no/such/folder", "no such file or folder; a source is a folder"),
        ("missing.tar.gz", "no such file"),
        (f"http://host.example/a-1.tar.gz#sha256={HASH}", "https:// alone"),
        ("~nobody-of-this-name/a", "no user ~nobody-of-this-name"),
        ("some-1-py3-none-any.whl", "a wheel, which has no tests"),
        ("https://host.example/a-1.tar.gz", "needs its hash"),
        ("https://host.example/a-1.tar.gz#sha256=12", "sha256"),
        ("http://host.example/", "a source is"),
        ("ext::sh -c touch% /tmp/x", "a source is"),
        ("--upload-pack=touch", "a source is"),
        ("toolz", "a source is"),
        ("toolz>=1", "a source is"),
    ],
)
def test_other_texts_are_refused_with_the_cause(text: str, cause: str) -> None:
    with pytest.raises(DataError, match=cause):
        parse_source(text)


def test_a_repository_is_pinned_by_its_commit() -> None:
    with pytest.raises(DataError, match=r"only an .*sha256"):
        parse_source("owner/name", sha256=HASH)


def test_a_file_lists_sources_with_comments(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "sources.txt").write_text(
        "# ten\n\ntoolz==1.2.0  # small\nproject\nhttps://host.example/a.git#packages/x\n"
    )
    found = read_source_file(tmp_path / "sources.txt")
    assert [one.kind for one in found] == ["distribution", "folder", "git"]
    assert found[1].location == str(tmp_path / "project")
    assert found[2].folder == "packages/x"
    (tmp_path / "sources.txt").write_text("toolz==1.2.0\n\ntoolz\n")
    with pytest.raises(DataError, match=r"\.txt, line 3: toolz"):
        read_source_file(tmp_path / "sources.txt")


def test_a_toml_file_lists_sources_with_hashes(tmp_path: Path) -> None:
    path = tmp_path / "sources.toml"
    path.write_text(f'[[source]]\nsource = "toolz==1.2.0"\nsha256 = "{HASH}"\n\n[[source]]\nsource = "owner/name"\n')
    assert [(one.kind, one.sha256) for one in read_source_file(path)] == [("distribution", HASH), ("github", None)]
    path.write_text('[[source]]\nsource = "toolz==1.2.0"\nsha256 = "12"\n')
    with pytest.raises(DataError, match=r"1: toolz==1\.2\.0: sha256"):
        read_source_file(path)
    for wrong in ('[[source]]\nname = "x"\n', "[[source]\n"):
        path.write_text(wrong)
        with pytest.raises(DataError, match=r"sources\.toml: "):
            read_source_file(path)
    with pytest.raises(DataError, match=r"/none\.txt: cannot be"):
        read_source_file(tmp_path / "none.txt")


def test_a_path_below_a_folder_that_is_here_is_no_repository(tmp_path: Path) -> None:
    (tmp_path / "repos").mkdir()
    with pytest.raises(DataError, match=r"repos/humanize: .*repos/"):
        parse_source("repos/humanize", base=tmp_path)
    assert parse_source("https://github.com/repos/humanize", base=tmp_path).kind == "git"
