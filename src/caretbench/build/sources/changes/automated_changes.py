"""Changes by bots, reverts, backports, releases and dependency updates; data: ``bots.toml``, ``releases.toml``."""

from __future__ import annotations

import fnmatch
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import PurePosixPath
from typing import Final, Literal

from caretbench.build.sources.pull_request import PROSE_SUFFIXES, FileChange
from caretbench.files import read_packaged_toml
from caretbench.languages.path_languages import path_language
from caretbench.problem import Row

_MAX_TITLE_CHARACTERS = 300


class BotTitlePatterns(Row):
    """Regular expressions for the start of a title, by kind of change."""

    bot: tuple[str, ...]
    revert: tuple[str, ...]
    release: tuple[str, ...]
    backport: tuple[str, ...]


class BotPatterns(Row):
    """Contents of ``bots.toml``: regular expressions for names of bots, and for titles."""

    authors: tuple[str, ...]
    titles: BotTitlePatterns


@cache
def bot_patterns() -> BotPatterns:
    """Return the patterns of ``bots.toml``."""
    return BotPatterns.model_validate(read_packaged_toml("caretbench.build.sources.changes", "bots.toml"))


@cache
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)


def is_bot(name: str, email: str = "") -> bool:
    """Return whether an author is a program; name and address are not stored."""
    # Both texts: `dependabot[bot]` is in the name, or only in the address that GitHub makes of it.
    authors = _any_of(bot_patterns().authors)
    return any(authors.search(text.strip()) for text in (name, email.replace("@users.noreply.github.com", "")))


def is_title_of(kind: Literal["bot", "revert", "release", "backport"], title: str) -> bool:
    """Return whether a title is that of a kind of change.

    ``bot``: bots write it for updates of dependencies or translations; ``release``: of a release or version bump;
    ``backport``: to another branch.
    """
    patterns = getattr(bot_patterns().titles, kind)
    return _any_of(patterns).match(title.strip()[:_MAX_TITLE_CHARACTERS]) is not None


VERSION: Final = "releases@3"
"""Version of these rules.

2: source files are no changelogs or manifests, whatever their names. 3: ``prepare ky 0.1.42`` and other titles.
"""

# Below 1: release commits touch a copyright year or a date in passing.
MIN_VERSION_LINE_SHARE: Final = 0.95

_NUMBER: Final = re.compile(
    r"(?<![\w.])v?\d+(?:\.(?:\d+|x|\*))+(?:[-+.]?[A-Za-z][\w.-]*)?(?![\w])|\b\d{4}-\d{2}-\d{2}\b|\b[0-9a-f]{40,64}\b"
)
_VERSION_WORD: Final = re.compile(r"version|release|snapshot|\d+\.\d+\.\d+", re.IGNORECASE)


class ReleasePatterns(Row):
    """Contents of ``releases.toml``: names of files, and patterns of titles."""

    manifests: tuple[str, ...]
    changelogs: tuple[str, ...]
    changelog_folders: frozenset[str]
    version_mentions: tuple[str, ...]
    titles: tuple[str, ...]


@cache
def release_patterns() -> ReleasePatterns:
    """Return the patterns of ``releases.toml``."""
    return ReleasePatterns.model_validate(read_packaged_toml("caretbench.build.sources.changes", "releases.toml"))


def is_version_change(title: str, files: Iterable[FileChange]) -> bool:
    """Return whether a change only releases a version or updates dependencies.

    Generated files (lock files) are ignored.
    """
    whole = told = named = 0
    for file in files:
        # Lock files change by thousands of lines, and would outweigh the change's own lines.
        if file.generated or file.binary or not file.patch:
            continue
        removed, added = _changed_lines(file.patch)
        lines = len(removed) + len(added)
        numbers = _count_version_lines(file.path, removed, added)
        whole += lines
        told += lines if _is_changelog(file.path) else numbers
        # A change of a manifest alone may be a real one (a new setting), so its title decides, too.
        named += lines if _is_changelog(file.path) or _is_manifest(file.path) else numbers
    if not whole:
        return False
    return told >= MIN_VERSION_LINE_SHARE * whole or (
        named >= MIN_VERSION_LINE_SHARE * whole and _may_be_release_title(title)
    )


def _changed_lines(patch: str) -> tuple[list[str], list[str]]:
    """Return the removed and the added lines of hunks, without blank lines."""
    lines = [line for line in patch.split("\n") if line[1:].strip()]
    return [line[1:] for line in lines if line[0] == "-"], [line[1:] for line in lines if line[0] == "+"]


def _count_version_lines(path: str, removed: list[str], added: list[str]) -> int:
    """Return the number of lines that differ from a line of the other side only in version numbers."""
    trusted = _is_manifest(path) or _matches_name(path, release_patterns().version_mentions)

    def masked(lines: list[str]) -> Iterator[str]:
        for line in lines:
            masked_line = _NUMBER.sub("\0", line)
            if masked_line != line and (trusted or _VERSION_WORD.search(line)):
                yield masked_line

    # Twice, since each line is counted as removed and as added.
    return 2 * (Counter(masked(removed)) & Counter(masked(added))).total()


def _is_manifest(path: str) -> bool:
    return _matches_name(path, release_patterns().manifests)


def _is_changelog(path: str) -> bool:
    if path_language(path) is not None:  # news.kt and changelogs/reader.py are source files
        return False
    suffix = PurePosixPath(path).suffix.lower()
    prose = suffix in PROSE_SUFFIXES or suffix[1:].isdigit()  # CHANGES-1.2
    named = prose and _matches_name(path, release_patterns().changelogs)
    return named or not release_patterns().changelog_folders.isdisjoint(PurePosixPath(path).parts[:-1])


@cache
def _matches_name(path: str, names: tuple[str, ...]) -> bool:
    last = PurePosixPath(path).name.lower()
    return any(fnmatch.fnmatchcase(last, name.lower()) for name in names)


def _may_be_release_title(title: str) -> bool:
    return any(re.search(pattern, title[:300], re.IGNORECASE) for pattern in release_patterns().titles)
