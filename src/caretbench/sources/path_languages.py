"""The programming language that a path's suffix says. The data stand in ``path_languages.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from pydantic import TypeAdapter

from caretbench.files import packaged_table
from caretbench.problem import Row


class PathLanguage(Row):
    """One language: how a table writes it, and how its files end."""

    title: str
    suffixes: tuple[str, ...]


@cache
def path_languages() -> Mapping[str, PathLanguage]:
    """Return all languages by name, in the order of the table."""
    return TypeAdapter(dict[str, PathLanguage]).validate_python(
        packaged_table("caretbench.sources", "path_languages.toml")
    )


@cache
def _by_suffix() -> Mapping[str, str]:
    return {suffix: name for name, entry in path_languages().items() for suffix in entry.suffixes}


def language_of(path: str) -> str | None:
    """The language's name, as in ``languages.toml`` where that has it; none for data, prose and unknown suffixes."""
    name = path.rpartition("/")[2]
    return _by_suffix().get(name[name.rfind(".") :]) if "." in name else None
