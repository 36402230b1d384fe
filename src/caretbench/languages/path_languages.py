"""Programming language of a path, by its suffix; data: ``path_languages.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from pydantic import TypeAdapter

from caretbench.files import read_packaged_toml
from caretbench.problem import Row


class PathLanguage(Row):
    """One language: its title for tables, and the suffixes of its files."""

    title: str
    suffixes: tuple[str, ...]


@cache
def path_languages() -> Mapping[str, PathLanguage]:
    """Return all languages by name, in the order of ``path_languages.toml``."""
    table = read_packaged_toml("caretbench.languages", "path_languages.toml")
    return TypeAdapter(dict[str, PathLanguage]).validate_python(table)


@cache
def _by_suffix() -> Mapping[str, str]:
    return {suffix: name for name, entry in path_languages().items() for suffix in entry.suffixes}


def path_language(path: str) -> str | None:
    """Return the name of a path's language; None for data, prose and unknown suffixes."""
    name = path.rpartition("/")[2]
    return _by_suffix().get(name[name.rfind(".") :]) if "." in name else None
