"""Constant conditions: literals, comparisons of literals, a name compared with itself."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

_TRUE = frozenset({"true", "True", "1", "!0", "!!1", "!false", "not False", "not None", "not 0", "!null", "!undefined"})
_FALSE = frozenset(
    {
        "false", "False", "0", "None", "null", "nil", "nullptr", "undefined", '""', "''", "!1", "!true",
        "not True", "not 1",
    }
)  # fmt: skip
_COMPARED = re.compile(r"(.{1,80}?)\s*(===|!==|==|!=|<=|>=|<|>|\bis not\b|\bis\b)\s*(.{1,80})", re.DOTALL)
_EQUALS = re.compile(r"([\w.]{1,80})\s*\.\s*[eE]quals\s*\(\s*([\w.]{1,80})\s*\)")
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?")
_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "===": operator.eq, "==": operator.eq, "is": operator.eq, "!==": operator.ne, "!=": operator.ne,
    "is not": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def is_always_true(condition: str) -> bool:
    """Return whether a condition holds whatever the program does."""
    return _decided(condition) is True


def is_always_false(condition: str) -> bool:
    """Return whether a condition holds in no run."""
    return _decided(condition) is False


def _decided(condition: str) -> bool | None:
    text = _bare(condition)
    if text in _TRUE or (_NUMBER.fullmatch(text) and float(text) != 0):
        return True
    if text in _FALSE:
        return False
    if (found := _EQUALS.fullmatch(text)) and found[1] == found[2]:
        return True
    found = _COMPARED.fullmatch(text)
    if found is None or "&&" in text or "||" in text or " and " in text or " or " in text:
        return None
    left, right, compare = _bare(found[1]), _bare(found[3]), _OPERATORS[found[2]]
    if _NUMBER.fullmatch(left) and _NUMBER.fullmatch(right):
        return compare(float(left), float(right))
    # A call may give another value each time.
    return compare(0, 0) if left == right and "(" not in left else None


def _bare(text: str) -> str:
    """Return a condition without spaces and brackets around it."""
    text = text.strip()
    while text.startswith("(") and text.endswith(")") and _belong_together(text):
        text = text[1:-1].strip()
    return text


def _belong_together(text: str) -> bool:
    """Return whether the last bracket closes the first one."""
    depth = 0
    for place, mark in enumerate(text):
        depth += (mark == "(") - (mark == ")")
        if depth == 0:
            return place == len(text) - 1
    return False
