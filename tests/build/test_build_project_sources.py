from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from caretbench.build.project_sources import SOURCE_OPTIONS, NamedSources, find_sources, folder_names
from caretbench.build.sources.fetching.source_spec import parse_source
from caretbench.errors import DataError

DEFAULTS = {option.name: option.default for option in SOURCE_OPTIONS}


def found(*sources: str, **options: Any) -> NamedSources:
    return find_sources(sources, DEFAULTS | options)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("toolz==1.2.0", "toolz-1.2.0"), ("owner/name@main", "owner+name"), ("owner/.github", "owner+.github"),
        ("https://host/a/lib.git@v1", "lib"), ("https://host/a/lib#packages/core", "core"),
        ("git@host:a/lib.git", "lib"), ("ssh://git@host/lib", "lib"),
        ("https://host/x%20y-1.0.tar.gz#sha256=" + "0" * 64, "x-y-1.0"),
    ],
)  # fmt: skip
def test_folders_are_named_by_their_sources(source: str, name: str) -> None:
    assert list(folder_names([parse_source(source)])) == [name]


def test_folders_of_paths_and_archives(tmp_path: Path) -> None:
    (tmp_path / ".hidden näme").mkdir()
    (tmp_path / "lib-1.tgz").write_bytes(b"")
    specs = [parse_source(str(tmp_path / name)) for name in (".hidden näme", "lib-1.tgz")]
    assert list(folder_names(specs)) == ["hidden-n-me", "lib-1"]


def test_names_that_clash_get_a_number_and_a_source_comes_once() -> None:
    texts = ["a/lib", "https://a/lib", "https://b/LIB", "a/lib", "https://a/lib@v2", "https://a/sources.jsonl"]
    names = {name: spec.text for name, spec in folder_names([parse_source(text) for text in texts]).items()}
    assert names == {
        "a+lib": "a/lib", "lib": "https://a/lib", "LIB-2": "https://b/LIB", "lib-3": "https://a/lib@v2",
        "sources.jsonl-2": "https://a/sources.jsonl",
    }  # fmt: skip


def test_sources_come_from_arguments_and_a_file(tmp_path: Path) -> None:
    listed = tmp_path / "sources.txt"
    listed.write_text("# two\ntoolz==1.2.0\nowner/name\n")
    one = found("owner/name")
    assert (list(one.specs), one.several) == (["owner+name"], False)
    both = found("owner/name", source_file=listed)
    assert (list(both.specs), both.several) == (["owner+name", "toolz-1.2.0"], True)
    listed.write_text("owner/name\n")
    assert found(source_file=listed).several, "a file of one source is a list, too"


@pytest.mark.parametrize(
    ("options", "error", "cause"),
    [
        ({}, ValueError, "no project; name a folder"),
        ({"source_file": Path("none.txt")}, DataError, "none.txt: cannot be read"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], error: type[Exception], cause: str) -> None:
    with pytest.raises(error, match=re.escape(cause)):
        found(**options)
