from __future__ import annotations

from pathlib import Path

import pytest

from caretbench.build.sources.git.git_repository import open_repository
from caretbench.build.sources.licences import identify_licence, is_licence_file, repository_licence
from caretbench.build.sources.repository import (
    UNKNOWN_ORGANIZATION,
    parse_remote_url,
    read_repository_facts,
    repository_name,
)
from caretbench.languages.path_languages import path_language, path_languages
from tests.support.git_repository import History, git, take_away

MIT = (
    "MIT License\n\nPermission is hereby granted, free of charge, to any person\nobtaining a copy of this ...\n"
    "The above copyright notice and this permission notice shall be included ..."
)
APACHE = "                                 Apache License\n                           Version 2.0, January 2004\n"
BSD = "Redistribution and use in source and binary forms, with or without\nmodification, are permitted"


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://github.com/owner/name.git", ("owner/name", "github.com")),
        ("https://user:secret@github.com/owner/name", ("owner/name", "github.com")),
        ("git@github.com:owner/name.git", ("owner/name", "github.com")),
        ("ssh://git@gitlab.com:2222/group/deep/name.git/", ("group/deep/name", "gitlab.com")),
        ("HTTPS://example.org/x", None),
        ("https://Example.org/x", ("x", "example.org")),
        ("/srv/git/name.git", None),
        ("../name", None),
        ("file:///srv/name.git", None),
        ("", None),
    ],
)
def test_remotes_tell_host_and_name_and_no_secret(url: str, found: tuple[str, str] | None) -> None:
    assert parse_remote_url(url) == found


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (MIT, "MIT"),
        (APACHE, "Apache-2.0"),
        (BSD, "BSD-2-Clause"),
        (BSD + ' ... used to endorse or promote\nproducts derived from this software ("AS IS")', "BSD-3-Clause"),
        ("GNU AFFERO GENERAL PUBLIC LICENSE\nVersion 3, 19 November 2007", "AGPL-3.0"),
        ("GNU GENERAL PUBLIC LICENSE\nVersion 3\n" + "x " * 900 + "the GNU Affero General Public License", "GPL-3.0"),
        ("GNU LESSER GENERAL PUBLIC LICENSE\n Version 2.1, February 1999", "LGPL-2.1"),
        ("All rights reserved.", None),
        ("", None),
    ],
)
def test_licences_are_known_by_their_words(text: str, name: str | None) -> None:
    assert identify_licence(text) == name


def test_several_licence_files_are_a_choice() -> None:
    assert repository_licence({"LICENSE-MIT": MIT, "LICENSE-APACHE": APACHE, "NOTICE": BSD}) == "Apache-2.0 OR MIT"
    assert repository_licence({"LICENSE": "Ask us."}) is None
    names = ("LICENCE", "COPYING.LESSER", "UNLICENSE", "license.md", "licensed.py", "copy.c")
    assert [name for name in names if is_licence_file(name)] == list(names[:4])


def test_suffixes_stand_in_one_language_each() -> None:
    suffixes = [suffix for entry in path_languages().values() for suffix in entry.suffixes]
    assert len(suffixes) == len(set(suffixes))
    assert [path_language(path) for path in ("a/b.go", "b.min.js", "c.tar.gz", "Makefile", ".py", "d.e/f")] == [
        "go",
        "javascript",
        None,
        None,
        "python",
        None,
    ]


def test_facts_of_a_clone(tmp_path: Path) -> None:
    history = History(tmp_path / "clone.git")
    history.commit(
        "Begin",
        {
            "a.go": "x" * 600,
            "deep/b.py": "y" * 300,
            "c.py": "z" * 100,
            "vendor/d.rs": "v" * 5000,
            "e.md": "text",
            "LICENSE": MIT,
            "same.go": "x" * 600,
        },
    )
    history.write()
    git(history.folder, "remote", "add", "origin", "https://me:secret@github.com/owner/name.git")
    with open_repository(history.folder) as repository:
        facts = read_repository_facts(repository)
        renamed = read_repository_facts(repository, "other/fork")
    assert (facts.repo, facts.organization) == ("owner/name", "owner")
    assert facts.language_stats == {"go": 0.75, "python": 0.25}
    assert (facts.primary_language, facts.license, facts.shallow) == ("go", "MIT", False)
    assert facts.url == "https://github.com/owner/name"
    assert facts.change_url(7, "ab") == "https://github.com/owner/name/pull/7"
    assert facts.change_url(None, "ab") == "https://github.com/owner/name/commit/ab"
    assert "secret" not in facts.model_dump_json()
    assert (renamed.repo, renamed.organization) == ("other/fork", "other")


def test_a_clone_without_remote_and_with_missing_blobs(tmp_path: Path) -> None:
    history = History(tmp_path / "plain" / "repo")
    history.commit("Begin", {"a.go": "x" * 600, "b.py": "y", "LICENSE": MIT})
    history.write()
    for path in ("a.go", "LICENSE"):
        take_away(history.folder, git(history.folder, "rev-parse", f"main:{path}"))
    with open_repository(history.folder) as repository:
        facts = read_repository_facts(repository)
    assert (facts.repo, facts.organization, facts.url, facts.license) == ("plain", UNKNOWN_ORGANIZATION, None, None)
    assert facts.language_stats == {"python": 1.0}
    assert facts.change_url(1, "ab") is None


@pytest.mark.parametrize(
    ("folder", "remote", "repo", "host"),
    [
        ("/mirror/owner+name/repo", None, "owner/name", None),
        ("/mirror/owner+name.git", None, "owner/name", None),
        ("/mirror/some-owner__deep.name", None, "some-owner/deep.name", None),
        ("/mirror/owner%2Fname", None, "owner/name", None),
        ("/home/ann/go/src/github.com/owner/name", None, "owner/name", "github.com"),
        ("/home/ann/code/project", None, "project", None),
        ("/srv/git/project.git", None, "project", None),
        ("/code/c++", None, "c++", None),
        ("/code/__init__", None, "__init__", None),
        ("/code/-x+name", None, "-x+name", None),
        ("/code/repo/.git", None, "code", None),
        ("/code/own+er", "https://gitlab.com/a/b/c.git", "a/b/c", "gitlab.com"),
        ("/code/copy", "/srv/mirror/owner+name.git", "owner/name", None),
        ("/code/copy", "file:///srv/plain.git", "copy", None),
        ("/", None, "repository", None),
    ],
)
def test_the_name_of_a_clone(folder: str, remote: str | None, repo: str, host: str | None) -> None:
    assert repository_name(Path(folder), remote) == (repo, host)


def test_a_clone_whose_only_remote_has_another_name(tmp_path: Path) -> None:
    history = History(tmp_path / "copy")
    history.commit("Begin", {"a.go": "x"})
    history.write()
    git(history.folder, "remote", "add", "mine", "https://github.com/owner/name.git")
    with open_repository(history.folder) as repository:
        assert read_repository_facts(repository).repo == "owner/name"
    git(history.folder, "remote", "add", "theirs", "https://github.com/other/name.git")
    with open_repository(history.folder) as repository:
        assert read_repository_facts(repository).organization == UNKNOWN_ORGANIZATION  # nothing says which
    git(history.folder, "remote", "add", "upstream", "https://github.com/third/name.git")
    with open_repository(history.folder) as repository:
        assert read_repository_facts(repository).organization == "third"
