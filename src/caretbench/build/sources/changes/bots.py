"""Patterns for bot authors and for titles of bot changes, reverts, releases and backports; data: ``bots.toml``."""

from __future__ import annotations

import re
from functools import cache

from caretbench.files import read_packaged_toml
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


def _matches_start(title: str, patterns: tuple[str, ...]) -> bool:
    return _any_of(patterns).match(title.strip()[:_MAX_TITLE_CHARACTERS]) is not None


def is_bot(name: str, email: str = "") -> bool:
    """Return whether an author is a program; name and address are not stored."""
    authors = _any_of(bot_patterns().authors)
    return any(authors.search(text.strip()) for text in (name, email.replace("@users.noreply.github.com", "")))


def is_bot_title(title: str) -> bool:
    """Return whether a title is one that bots write: updates of dependencies or translations."""
    return _matches_start(title, bot_patterns().titles.bot)


def is_revert(title: str) -> bool:
    """Return whether a title is that of a revert."""
    return _matches_start(title, bot_patterns().titles.revert)


def is_release(title: str) -> bool:
    """Return whether a title is that of a release or version bump."""
    return _matches_start(title, bot_patterns().titles.release)


def is_backport(title: str) -> bool:
    """Return whether a title is that of a backport to another branch."""
    return _matches_start(title, bot_patterns().titles.backport)
