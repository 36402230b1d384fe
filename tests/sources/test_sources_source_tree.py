"""Files of a commit, read from a clone: their text, what is refused, how much is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from caretbench.errors import DataError
from caretbench.sources import source_tree
from caretbench.sources.git.access import opened
from caretbench.sources.git.history import list_commits, read_changes
from caretbench.sources.pull_request import PullRequest
from caretbench.sources.repository import repository_facts
from caretbench.sources.source_tree import SourceTree, SourceTrees
from tests.support.git_repository import History


@pytest.fixture
def history(tmp_path: Path) -> History:
    found = History(tmp_path / "clone")
    first = found.commit("Begin", {"a.py": "a = 1\n", "é b.txt": "ä\n"})
    found.commit("Go on (#2)", {"a.py": "a = 2\n", "raw.bin": b"\xff\xfe\n"}, parents=[first])
    return found


def test_files_are_read_as_they_are_at_a_commit(history: History) -> None:
    first, second = history.write()
    with opened(history.folder) as repository:
        tree = SourceTree(repository)
        assert (tree.text(first, "a.py"), tree.text(second, "a.py")) == ("a = 1\n", "a = 2\n")
        assert tree.text(second, "é b.txt") == "ä\n"


@pytest.mark.parametrize("path", ["missing.py", "", "raw.bin", "a.py\nb.py", "--batch", "../a.py"])
def test_what_cannot_be_read_is_none(history: History, path: str) -> None:
    commit = history.write()[-1]
    with opened(history.folder) as repository:
        assert SourceTree(repository).text(commit, path) is None
        assert SourceTree(repository).text("--help", "a.py") is None
        assert SourceTree(repository).text("0" * 40, "a.py") is None


def test_large_files_are_not_read_and_few_are_kept(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = history.write()
    with opened(history.folder) as repository:
        monkeypatch.setattr(source_tree, "MOST_BYTES", 3)
        assert SourceTree(repository).text(first, "a.py") is None
        monkeypatch.setattr(source_tree, "MOST_BYTES", 100)
        monkeypatch.setattr(source_tree, "_KEPT_CHARACTERS", 8)
        tree = SourceTree(repository)
        for commit in (first, second, first):
            assert tree.text(commit, "a.py") is not None
        assert len(tree._known) == 1


def test_trees_are_found_by_the_name_of_the_repository(history: History) -> None:
    history.write()
    with opened(history.folder) as repository:
        facts = repository_facts(repository, "owner/name")
        pull = next(
            change
            for change in read_changes(repository, facts, list_commits(repository))
            if isinstance(change, PullRequest)
        )
    with SourceTrees({"owner/name": history.folder}) as trees:
        read = trees.of(pull)
        assert read is not None
        assert read("a.py") == "a = 2\n"
        assert trees.of(pull.model_copy(update={"repo": "owner/other"})) is None
    with SourceTrees({"owner/name": history.folder / "nowhere"}) as trees, pytest.raises(DataError):
        trees.of(pull)
