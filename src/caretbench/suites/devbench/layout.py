"""Names of the released layout, the labels of a problem, and the caret's boundary."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import NamedTuple

# The order of the paper's tables.
LANGUAGE_ORDER = ("python", "javascript", "typescript", "java", "cpp", "csharp")
RELEASED_LANGUAGES = {"c_sharp": "csharp"} | {name: name for name in LANGUAGE_ORDER if name != "csharp"}


class Category(NamedTuple):
    """One category: ``name`` is the house's word, ``released`` the released folder's."""

    name: str
    title: str
    released: str


@cache
def categories() -> Mapping[str, Category]:
    """Return the six categories by name."""
    text = resources.files("caretbench.suites.devbench").joinpath("categories.toml").read_text("utf-8")
    return {name: Category(name=name, **entry) for name, entry in tomllib.loads(text).items()}


def canonical_category(value: str) -> str:
    """Return the house's name of a category, from any spelling that users know.

    Raises:
        KeyError: no such category.
    """
    wanted = value.strip().lower().replace("-", "_")
    for category in categories().values():
        if wanted in (category.name, category.released.lower()):
            return category.name
    raise KeyError(f"unknown category {value!r}; known: {', '.join(categories())}")


# What stands before the caret, tried in this order on the text of the caret's line.
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
    """What stands before the caret on its line, in the prefix as it was released or written."""
    line = prefix.rpartition("\n")[2]
    return next((name for name, pattern in _BOUNDARIES if pattern.search(line)), "after_other")


def problem_labels(
    language_name: str, category: str, prefix: str, suffix: str
) -> dict[str, str | float | list[str]]:
    """Return the labels of a problem: language, category, completion mode and caret boundary."""
    return {
        "language": language_name,
        "category": category,
        "mode": "suffix" if suffix.strip() else "no_suffix",
        "boundary": caret_boundary(prefix),
    }
