"""Languages and categories of the released layout, and labels of problems."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from caretbench.suites.devbench.cells.cell_tables import cell_categories

# The order of the paper's tables.
LANGUAGE_ORDER = ("python", "javascript", "typescript", "java", "cpp", "csharp")
RELEASED_LANGUAGES = {"c_sharp": "csharp"} | {name: name for name in LANGUAGE_ORDER if name != "csharp"}


class Category(NamedTuple):
    """One category: ``name`` in CaretBench, printed ``title``, and ``released``, its folder in the release."""

    name: str
    title: str
    released: str


@cache
def categories() -> Mapping[str, Category]:
    """Return the six categories by name."""
    return {name: Category(name, one.title, one.released) for name, one in cell_categories().items()}


def canonical_category(value: str) -> str:
    """Return CaretBench's name of a category, from any spelling.

    Raises:
        KeyError: no such category.
    """
    name = value.strip().lower().replace("-", "_")
    for category in categories().values():
        if name in (category.name, category.released.lower()):
            return category.name
    raise KeyError(f"unknown category {value!r}; known: {', '.join(categories())}")


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
