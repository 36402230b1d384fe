"""Changes that bring out a version or bring dependencies up to date, by what they change. The data: ``releases.toml``.

A title alone is not believed unless it is of a form that nothing else has (``is_release``).
Here the files decide: nearly all that changes is in changelogs, or differs in the numbers of versions alone; or the
title may be about a version, and nearly all that changes is in the files that name versions.
"""

from __future__ import annotations

import fnmatch
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import PurePosixPath
from typing import Final

from caretbench.files import packaged_table
from caretbench.problem import Row
from caretbench.sources.path_languages import language_of
from caretbench.sources.pull_request import PROSE, FileChange

VERSION: Final = "releases@2"
"""Of the rules that find such changes. 2: programs are neither changelogs nor manifests because of their names."""

NEARLY_ALL: Final = 0.95

_NUMBER: Final = re.compile(
    r"(?<![\w.])v?\d+(?:\.(?:\d+|x|\*))+(?:[-+.]?[A-Za-z][\w.-]*)?(?![\w])|\b\d{4}-\d{2}-\d{2}\b|\b[0-9a-f]{40,64}\b"
)
_SAYS_VERSION: Final = re.compile(r"version|release|snapshot|\d+\.\d+\.\d+", re.IGNORECASE)


class ReleaseTable(Row):
    """The table of ``releases.toml``."""

    manifests: tuple[str, ...]
    changelogs: tuple[str, ...]
    changelog_folders: frozenset[str]
    repeats: tuple[str, ...]
    titles: tuple[str, ...]


@cache
def table() -> ReleaseTable:
    """Return the table of the file."""
    return ReleaseTable.model_validate(packaged_table("caretbench.sources.changes", "releases.toml"))


def changes_versions(title: str, files: Iterable[FileChange]) -> bool:
    """Return whether a change brings out a version or brings dependencies up to date, and does nothing else.

    Generated files (lock files) do not count.
    """
    whole = told = named = 0
    for file in files:
        if file.generated or file.binary or not file.patch:
            continue
        removed, added = _changed(file.patch)
        lines = len(removed) + len(added)
        numbers = _numbers_alone(file.path, removed, added)
        whole += lines
        told += lines if _is_changelog(file.path) else numbers
        named += lines if _is_changelog(file.path) or _is_manifest(file.path) else numbers
    if not whole:
        return False
    return told >= NEARLY_ALL * whole or (named >= NEARLY_ALL * whole and _maybe(title))


def _changed(patch: str) -> tuple[list[str], list[str]]:
    """Return the removed and the added lines of hunks, those without text aside."""
    lines = [line for line in patch.split("\n") if line[1:].strip()]
    return [line[1:] for line in lines if line[0] == "-"], [line[1:] for line in lines if line[0] == "+"]


def _numbers_alone(path: str, removed: list[str], added: list[str]) -> int:
    """Return how many lines differ from one on the other side in the numbers of versions alone."""
    trusted = _is_manifest(path) or _fits(path, table().repeats)

    def masked(lines: list[str]) -> Iterator[str]:
        for line in lines:
            found = _NUMBER.sub("\0", line)
            if found != line and (trusted or _SAYS_VERSION.search(line)):
                yield found

    return 2 * (Counter(masked(removed)) & Counter(masked(added))).total()


def _is_manifest(path: str) -> bool:
    return _fits(path, table().manifests)


def _is_changelog(path: str) -> bool:
    place = PurePosixPath(path)
    if language_of(path) is not None:  # news.kt and changelogs/reader.py are programs
        return False
    suffix = place.suffix.lower()
    prose = suffix in PROSE or suffix[1:].isdigit()  # CHANGES-1.2
    named = prose and _fits(path, table().changelogs)
    return named or not table().changelog_folders.isdisjoint(place.parts[:-1])


@cache
def _fits(path: str, names: tuple[str, ...]) -> bool:
    last = PurePosixPath(path).name.lower()
    return any(fnmatch.fnmatchcase(last, name.lower()) for name in names)


def _maybe(title: str) -> bool:
    return any(re.search(pattern, title[:300], re.IGNORECASE) for pattern in table().titles)
