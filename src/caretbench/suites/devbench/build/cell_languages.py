"""Adaptations of the categories to languages, and domains of scenarios, for building instances."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from pydantic import Field, model_validator

from caretbench.languages import languages
from caretbench.problem import Row
from caretbench.suites.devbench.cells.cell_tables import (
    Pattern,
    cell_categories,
    cells_folder,
    read_cell_table,
    read_cell_tables,
)


class CellLanguage(Row):
    """Adaptations of the categories to a language: the paper's Table 2.

    ``constructs`` are by category. ``handlers`` are regular expressions of places that handle or raise errors,
    ``control`` the node kinds of control structures, ``control_parts`` those of parts that are no deeper than their
    structure (``else``), ``features`` the node kinds of complex features. ``imports`` are regular expressions of names
    that show the use of an import that binds no name. ``standard`` is the version of the language that programs are
    compiled with on all machines, if there is one.
    """

    documentation_styles: tuple[str, ...] = Field(min_length=1)
    assertions: str
    has_assertions_in_suffix: bool = False
    """True if assertions stand in the suffix, as in the released Java, C++ and C#."""
    handlers: tuple[Pattern, ...] = Field(min_length=1)
    control: frozenset[str] = Field(min_length=1)
    control_parts: frozenset[str] = frozenset()
    features: tuple[str, ...] = Field(min_length=1)
    constructs: Mapping[str, tuple[str, ...]]
    imports: Mapping[str, Pattern] = Field(default_factory=dict)
    literals: Mapping[str, str] = Field(default_factory=dict)
    """Suffixes of literals that show the use of a header."""
    text_uses: tuple[str, ...] = ()
    """Regular expressions of uses of an imported name (``NAME``) in texts and comments."""
    standard: str = ""

    @model_validator(mode="after")
    def _all_categories(self) -> CellLanguage:
        # Scenarios draw a construct for each category; a language without some would fail in the middle of a paid
        # build.
        if self.constructs.keys() != cell_categories().keys() or not all(self.constructs.values()):
            raise ValueError(f"constructs: expected an entry for each of {', '.join(cell_categories())}")
        return self


class Domains(Row):
    """Fields of work of programs, and syllables of invented names."""

    domains: tuple[str, ...] = Field(min_length=1)
    syllables: tuple[str, ...] = Field(min_length=2)


@cache
def cell_languages() -> Mapping[str, CellLanguage]:
    """Return the languages in which instances can be built, by name, in the order of languages."""
    tables = read_cell_tables("languages", CellLanguage)
    return {name: tables[name] for name in languages() if name in tables}


@cache
def domains() -> Domains:
    """Return the domains of scenarios."""
    return read_cell_table(cells_folder("domains.toml"), Domains)
