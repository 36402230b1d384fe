"""Readers for the tables of a language's folder: ``NAME/TABLE.toml`` as a typed value, and the folder's other files.

A file, or a table in it, with ``inherits = "OTHER"`` extends that language's file or table, and its own entries take
precedence. The types of tables are in the rooms that read them.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

_INHERITS = "inherits"


class LanguageTable(BaseModel):
    """Base of the types of tables."""

    # A misspelled field of a table would be ignored, and the language would silently lack what it says.
    model_config = ConfigDict(extra="forbid", frozen=True)


TableType = TypeVar("TableType", bound=LanguageTable)


@cache
def language_folders() -> tuple[str, ...]:
    """Return the names of all folders that hold a language, in alphabetical order."""
    root = resources.files("caretbench.languages")
    # `ecmascript` has queries that two languages share, and is no language: it has no such file.
    return tuple(sorted(entry.name for entry in root.iterdir() if entry.joinpath("language.toml").is_file()))


@cache
def language_file(folder: str, *path: str) -> str | None:
    """Return the text of a file in a folder; None where there is none."""
    file = resources.files("caretbench.languages").joinpath(folder, *path)
    return file.read_text("utf-8") if file.is_file() else None


def read_table(folder: str, table: str, table_type: type[TableType]) -> TableType | None:
    """Return the table of a folder as a value of its type; None where the folder has no such file.

    Raises:
        pydantic.ValidationError: the file does not fit the type.
    """
    content = _content(folder, table)
    return None if content is None else table_type.model_validate(content)


def _content(folder: str, table: str) -> dict[str, Any] | None:
    text = language_file(folder, f"{table}.toml")
    if text is None:
        return None
    content = tomllib.loads(text)
    for name, value in content.items():
        if isinstance(value, dict):
            content[name] = _inherited(value, table, name)
    return _inherited(content, table)


def _inherited(content: dict[str, Any], table: str, *path: str) -> dict[str, Any]:
    other = content.get(_INHERITS)
    if other is None:
        return content
    base = _content(other, table) or {}
    for name in path:
        base = base[name]
    return {name: value for name, value in {**base, **content}.items() if name != _INHERITS}
