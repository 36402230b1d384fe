"""The table of languages: names, suffixes, comment marks, grammars. The data stand in ``languages.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources

from pydantic import BaseModel, ConfigDict


class Language(BaseModel):
    """One language: ``name`` is the word used everywhere else in the house."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    title: str
    suffix: str
    aliases: tuple[str, ...]
    fence: str
    line_comment: str
    block_comment: tuple[str, ...]
    grammar: str
    grammar_function: str = "language"
    plain_documentation: bool = False
    """Any comment right before a declaration documents it, whatever its marks."""


@cache
def languages() -> Mapping[str, Language]:
    """All languages by name, in the order of the table."""
    table = tomllib.loads(
        resources.files("caretbench.languages").joinpath("languages.toml").read_text("utf-8")
    )
    return {name: Language(name=name, **entry) for name, entry in table.items()}


@cache
def _names() -> Mapping[str, str]:
    names = {name: name for name in languages()}
    names |= {alias: language.name for language in languages().values() for alias in language.aliases}
    return names


def language(name: str) -> Language:
    """The language with this name or alias, whatever its case.

    Raises:
        KeyError: no such language; the message lists the known ones.
    """
    try:
        return languages()[_names()[name.strip().lower()]]
    except KeyError:
        raise KeyError(f"unknown language {name!r}; known: {', '.join(languages())}") from None
