"""Authors that are no persons, and titles over no change of somebody's own. The data stand in ``bots.toml``."""

from __future__ import annotations

import re
from functools import cache

from caretbench.files import packaged_table
from caretbench.problem import Row

_TITLE = 300


class Titles(Row):
    """Regular expressions that a title begins with, by what such a title means."""

    bot: tuple[str, ...]
    revert: tuple[str, ...]
    release: tuple[str, ...]
    backport: tuple[str, ...]


class BotTable(Row):
    """The whole table."""

    authors: tuple[str, ...]
    titles: Titles


@cache
def table() -> BotTable:
    """Return the table as it stands in the file."""
    return BotTable.model_validate(packaged_table("caretbench.sources.changes", "bots.toml"))


@cache
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)


def _begins(title: str, patterns: tuple[str, ...]) -> bool:
    return _any_of(patterns).match(title.strip()[:_TITLE]) is not None


def is_bot(name: str, email: str = "") -> bool:
    """Return whether an author is a program. Neither argument is kept anywhere."""
    authors = _any_of(table().authors)
    return any(
        authors.search(text.strip()) for text in (name, email.replace("@users.noreply.github.com", ""))
    )


def is_bot_title(title: str) -> bool:
    """Return whether a program wrote the title: dependencies or translations brought up to date."""
    return _begins(title, table().titles.bot)


def is_revert(title: str) -> bool:
    """Return whether the change undoes an earlier one."""
    return _begins(title, table().titles.revert)


def is_release(title: str) -> bool:
    """Return whether the change gives a version its number."""
    return _begins(title, table().titles.release)


def is_backport(title: str) -> bool:
    """Return whether the change was made before, on another branch."""
    return _begins(title, table().titles.backport)
