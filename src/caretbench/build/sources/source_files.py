"""Files of a repository at a commit, read from a clone on demand."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from caretbench.build.sources.git.git_repository import GitError, GitRepository, open_repository
from caretbench.build.sources.pull_request import PullRequest

MAX_FILE_BYTES: Final = 1_000_000
"""Maximum size of a file; larger ones count as missing."""
_MAX_CACHED_CHARACTERS: Final = 32_000_000


class SourceFiles:
    """The files of one clone, by commit and path, with a cache of recently read files."""

    def __init__(self, repository: GitRepository) -> None:
        self._repository = repository
        self._known: OrderedDict[tuple[str, str], str | None] = OrderedDict()
        self._characters = 0

    def read_text(self, commit: str, path: str) -> str | None:
        """Return the text of a file at a commit; None if it is missing, too large or not UTF-8."""
        key = (commit, path)
        if key not in self._known:
            self._known[key] = self._read(commit, path)
            self._characters += len(self._known[key] or "")
            while self._characters > _MAX_CACHED_CHARACTERS and len(self._known) > 1:
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
            if len(said) != 3 or said[1] != b"blob" or int(said[2]) > MAX_FILE_BYTES:
                return None
            body = self._repository.run("cat-file", "--batch", stdin=name).partition(b"\n")[2]
            return body[: int(said[2])].decode("utf-8")
        except (GitError, UnicodeDecodeError):
            return None


class SourceFilesByRepository:
    """Source files of several repositories, opened on demand; a context manager that closes them.

    ``clones`` are folders by the repository names of changes.
    """

    def __init__(self, clones: Mapping[str, Path]) -> None:
        self._clones = dict(clones)
        self._opened: dict[str, SourceFiles] = {}
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> SourceFilesByRepository:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        self._opened.clear()

    def file_reader(self, pull: PullRequest) -> Callable[[str], str | None] | None:
        """Return a reader of a change's files after the merge; None without a clone.

        Raises:
            DataError: the clone cannot be opened.
        """
        path = self._clones.get(pull.repo)
        if path is None:
            return None
        tree = self._opened.get(pull.repo)
        if tree is None:
            repository = self._stack.enter_context(open_repository(path))
            tree = self._opened[pull.repo] = SourceFiles(repository)
        return lambda name: tree.read_text(pull.merge_sha, name)
