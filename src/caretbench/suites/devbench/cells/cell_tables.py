"""Cells: categories with their rules, languages with their adaptations, and labels of problems.

A cell is a language and a category. One file in ``cells/categories`` describes a category, one in ``cells/languages`` a
language: another language is another file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from string import Template
from typing import Annotated, Final, TypeVar

from pydantic import AfterValidator, Field, model_validator

from caretbench.errors import UsageError
from caretbench.files import read_packaged_toml, read_toml, validated
from caretbench.problem import Row

_PACKAGE: Final = "caretbench.suites.devbench.cells"
TableT = TypeVar("TableT", bound=Row)


def _in_order(bounds: tuple[int, int]) -> tuple[int, int]:
    if not 0 <= bounds[0] <= bounds[1]:
        raise ValueError(f"the bounds {list(bounds)} are not in order; expected [LOW, HIGH]")
    return bounds


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is no regular expression: {error}") from None
    return text


Bounds = Annotated[tuple[int, int], AfterValidator(_in_order)]
"""Lowest and highest value, both allowed."""
Pattern = Annotated[str, AfterValidator(_pattern)]
Rules = Mapping[str, Bounds]
"""Bounds by name of the measured number."""


class Rule(Row):
    """Sentence of a rule with places for its bounds; ``one`` and ``none`` are its sentences for exactly 1 and for 0."""

    text: str
    one: str = ""
    none: str = ""

    def sentence(self, bounds: tuple[int, int]) -> str:
        """Return the rule with its bounds; equal ones are one number."""
        # "exactly 1 lines" is read by generators and by people whose instance is refused.
        if bounds == (1, 1) and self.one:
            return self.one
        if bounds == (0, 0) and self.none:
            return self.none
        if bounds[0] == bounds[1]:
            return self.text.replace("$low to $high", f"exactly {bounds[0]}" if bounds[0] else "no")
        return Template(self.text).substitute(low=bounds[0], high=bounds[1])


class CellKind(Row):
    """Subtype of a category: a label with a share of the instances and rules of its own.

    ``bands`` are all by default. ``constructs`` and ``documentation`` are regular expressions of the language's entries
    that fit; a kind that none fits has none.
    """

    about: str
    share: float = Field(default=1.0, gt=0)
    bands: tuple[str, ...] = ()
    constructs: Pattern = ""
    documentation: Pattern = ""
    rules: Rules = Field(default_factory=dict)


class CellCategory(Row):
    """A category: title, folder in the release, tested ability, rules, bands of difficulty and kinds.

    ``bands`` bound the tokens of the reference; neighbouring bands may overlap.
    """

    order: int
    title: str
    released: str
    tests: str
    instructions: tuple[str, ...]
    rules: Rules
    bands: Mapping[str, Bounds]
    kinds: Mapping[str, CellKind]

    @model_validator(mode="after")
    def _known_rules(self) -> CellCategory:
        for bounds in (self.rules, *(kind.rules for kind in self.kinds.values())):
            # A mistyped rule would bound nothing: every instance would pass it without a word.
            if strange := sorted(bounds.keys() - rules().keys()):
                raise ValueError(f"unknown rule {strange[0]!r}; known: {', '.join(rules())}")
        for name, kind in self.kinds.items():
            if unknown := sorted({*kind.bands} - self.bands.keys()):
                raise ValueError(f"kinds.{name}: unknown band {unknown[0]!r}; known: {', '.join(self.bands)}")
        if not self.bands or not self.kinds:
            raise ValueError("a category has at least one band and one kind")
        return self


def cells_folder(name: str) -> Traversable:
    """Return a file or folder next to this module."""
    return resources.files(_PACKAGE).joinpath(name)


def read_cell_table(file: Traversable, schema: type[TableT]) -> TableT:
    """Return a table of a TOML file.

    Raises:
        DataError: the file is malformed; the message has its name and the field.
    """
    return validated(schema, read_toml(file), file)


def read_cell_tables(folder: str, schema: type[TableT]) -> dict[str, TableT]:
    """Return the tables of all TOML files of a folder, by name."""
    files = sorted(cells_folder(folder).iterdir(), key=lambda file: file.name)
    tables = [file for file in files if file.name.endswith(".toml")]
    return {file.name.removesuffix(".toml"): read_cell_table(file, schema) for file in tables}


@cache
def rules() -> Mapping[str, Rule]:
    """Return the sentences of all rules by name."""
    table = read_packaged_toml(_PACKAGE, "rules.toml")
    return {name: Rule.model_validate(entry) for name, entry in table.items()}


@cache
def cell_categories() -> Mapping[str, CellCategory]:
    """Return the categories by name, in the order of the paper."""
    categories = read_cell_tables("categories", CellCategory)
    return dict(sorted(categories.items(), key=lambda item: item[1].order))


# The order of the paper's tables.
LANGUAGE_ORDER = ("python", "javascript", "typescript", "java", "cpp", "csharp")
RELEASED_LANGUAGES = {"c_sharp": "csharp"} | {name: name for name in LANGUAGE_ORDER if name != "csharp"}


def canonical_category(value: str) -> str:
    """Return CaretBench's name of a category, from any spelling.

    Raises:
        UsageError: no such category.
    """
    spelling = value.strip().lower().replace("-", "_")
    for name, category in cell_categories().items():
        # The release calls its categories `code2NL_NL2code` and `code_purpose_understanding`, and people write hyphens.
        if spelling in (name, category.released.lower()):
            return name
    raise UsageError(f"unknown category {value!r}; known: {', '.join(cell_categories())}")


# Patterns of the text before the caret on its line; the first match is taken.
_BOUNDARIES = (
    ("line_start", re.compile(r"^$")),
    ("indentation", re.compile(r"^\s+$")),
    ("after_block_opening", re.compile(r"(\{|:|=>|->)\s*$")),
    ("after_member_access", re.compile(r"(\.|::)\s*$")),
    ("after_opening_bracket", re.compile(r"[(\[<,]\s*$")),
    ("after_statement", re.compile(r"[;}]\s*$")),
    ("after_closing_bracket", re.compile(r"[)\]>]\s*$")),
    ("after_operator", re.compile(r"[-+*/%=&|^!~?@]\s*$")),
    ("after_word", re.compile(r"\w\s*$")),
)


def caret_boundary(prefix: str) -> str:
    """Return the kind of text before the caret on its line, such as ``after_member_access``.

    ``prefix`` is the released text, without added newlines.
    """
    # Of the released prefixes 365 end within a line, so that the text before the caret decides how an answer begins.
    line = prefix.rpartition("\n")[2]
    return next((name for name, pattern in _BOUNDARIES if pattern.search(line)), "after_other")


def problem_labels(language_name: str, category: str, prefix: str, suffix: str) -> dict[str, str | float | list[str]]:
    """Return the labels of a problem: language, category, completion mode and caret boundary."""
    return {
        "language": language_name,
        "category": category,
        "mode": "suffix" if suffix.strip() else "no_suffix",
        "boundary": caret_boundary(prefix),
    }
