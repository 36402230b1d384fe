"""Files of a commit, read from a clone: their text, what is refused, how much is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from caretbench.build.sources import repository as repository_module
from caretbench.build.sources.git.git_repository import open_repository
from caretbench.build.sources.git.history import list_commits, read_changes
from caretbench.build.sources.pull_request import PullRequest
from caretbench.build.sources.repository import SourceFiles, SourceFilesByRepository, read_repository_facts
from caretbench.errors import DataError
from tests.support.git_repository import History


@pytest.fixture
def history(tmp_path: Path) -> History:
    found = History(tmp_path / "clone")
    first = found.commit("Begin", {"a.py": "a = 1\n", "é b.txt": "ä\n"})
    found.commit("Go on (#2)", {"a.py": "a = 2\n", "raw.bin": b"\xff\xfe\n"}, parents=[first])
    return found


def test_files_are_read_as_they_are_at_a_commit(history: History) -> None:
    first, second = history.write()
    with open_repository(history.folder) as repository:
        tree = SourceFiles(repository)
        assert (tree.read_text(first, "a.py"), tree.read_text(second, "a.py")) == ("a = 1\n", "a = 2\n")
        assert tree.read_text(second, "é b.txt") == "ä\n"


@pytest.mark.parametrize("path", ["missing.py", "", "raw.bin", "a.py\nb.py", "--batch", "../a.py"])
def test_what_cannot_be_read_is_none(history: History, path: str) -> None:
    commit = history.write()[-1]
    with open_repository(history.folder) as repository:
        assert SourceFiles(repository).read_text(commit, path) is None
        assert SourceFiles(repository).read_text("--help", "a.py") is None
        assert SourceFiles(repository).read_text("0" * 40, "a.py") is None


def test_large_files_are_not_read_and_few_are_kept(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = history.write()
    with open_repository(history.folder) as repository:
        monkeypatch.setattr(repository_module, "MAX_FILE_BYTES", 3)
        assert SourceFiles(repository).read_text(first, "a.py") is None
        monkeypatch.setattr(repository_module, "MAX_FILE_BYTES", 100)
        monkeypatch.setattr(repository_module, "_MAX_CACHED_CHARACTERS", 8)
        tree = SourceFiles(repository)
        for commit in (first, second, first):
            assert tree.read_text(commit, "a.py") is not None
        assert len(tree._texts) == 1


def test_trees_are_found_by_the_name_of_the_repository(history: History) -> None:
    history.write()
    with open_repository(history.folder) as repository:
        facts = read_repository_facts(repository, "owner/name")
        pull = next(
            change
            for change in read_changes(repository, facts, list_commits(repository))
            if isinstance(change, PullRequest)
        )
    with SourceFilesByRepository({"owner/name": history.folder}) as trees:
        read = trees.file_reader(pull)
        assert read is not None
        assert read("a.py") == "a = 2\n"
        assert trees.file_reader(pull.model_copy(update={"repo": "owner/other"})) is None
    with SourceFilesByRepository({"owner/name": history.folder / "nowhere"}) as trees, pytest.raises(DataError):
        trees.file_reader(pull)
