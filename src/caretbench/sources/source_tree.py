"""Files of a repository as they are at a commit, read from a clone when they are asked for."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from caretbench.sources.git.access import GitError, GitRepository, opened
from caretbench.sources.pull_request import PullRequest

MOST_BYTES: Final = 1_000_000
"""Of one file; a larger one is as if it were not there."""
_KEPT_CHARACTERS: Final = 32_000_000


class SourceTree:
    """The files of one clone, by commit and path; those read last are kept, up to a number of characters."""

    def __init__(self, repository: GitRepository) -> None:
        self._repository = repository
        self._known: OrderedDict[tuple[str, str], str | None] = OrderedDict()
        self._characters = 0

    def text(self, commit: str, path: str) -> str | None:
        """Return the text of a file at a commit; None where there is none that can be read as UTF-8."""
        key = (commit, path)
        if key not in self._known:
            self._known[key] = self._read(commit, path)
            self._characters += len(self._known[key] or "")
            while self._characters > _KEPT_CHARACTERS and len(self._known) > 1:
                _, dropped = self._known.popitem(last=False)
                self._characters -= len(dropped or "")
        self._known.move_to_end(key)
        return self._known[key]

    def _read(self, commit: str, path: str) -> str | None:
        if "\n" in path or "\n" in commit:
            return None
        name = f"{commit}:{path}\n".encode()
        try:
            said = self._repository.run("cat-file", "--batch-check", stdin=name).split()
            if len(said) != 3 or said[1] != b"blob" or int(said[2]) > MOST_BYTES:
                return None
            body = self._repository.run("cat-file", "--batch", stdin=name).partition(b"\n")[2]
            return body[: int(said[2])].decode("utf-8")
        except (GitError, UnicodeDecodeError):
            return None


class SourceTrees:
    """Clones of several repositories, opened when a file of theirs is asked for; closes them as a context manager.

    ``clones`` are their folders by the names that changes have.
    """

    def __init__(self, clones: Mapping[str, Path]) -> None:
        self._clones = dict(clones)
        self._opened: dict[str, SourceTree] = {}
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> SourceTrees:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        self._opened.clear()

    def of(self, pull: PullRequest) -> Callable[[str], str | None] | None:
        """Return the reader of a change's files as they are after it; None where its repository has no clone here.

        Raises:
            DataError: the clone cannot be opened.
        """
        path = self._clones.get(pull.repo)
        if path is None:
            return None
        tree = self._opened.get(pull.repo)
        if tree is None:
            repository = self._stack.enter_context(opened(path))
            tree = self._opened[pull.repo] = SourceTree(repository)
        return lambda name: tree.text(pull.merge_sha, name)
