"""Places of statements around a middle: a middle must not move the statements behind it, nor leave its own list."""

from __future__ import annotations

import ast

from caretbench.syntax.faults import is_well_formed_text
from caretbench.syntax.parser import PythonPositions, python_module

_Place = tuple[int | str, str]
"""Position of a parent before the middle, or its part of the file, and the field of the parent."""


def misplaced(prefix: str, middle: str, suffix: str, reference: str, language: str) -> str:
    """Return the reason why a middle does not fit into its place; empty if it does.

    The program must parse where it does with the reference. In Python, the statements of the middle must belong to the
    same lists as the reference's, and the statements behind it to the same ones as before.
    """
    if language != "python":
        broken = not is_well_formed_text(prefix + middle + suffix, language)
        return "does not parse" if broken and is_well_formed_text(prefix + reference + suffix, language) else ""
    expected = _places(prefix, reference, suffix)
    if expected is None:
        return ""
    found = _places(prefix, middle, suffix)
    if found is None:
        return "does not parse"
    if not found[0] and expected[0]:
        return "has no statement"
    if found[0] - expected[0]:
        return "leaves its place: a statement belongs to another block"
    return "changes the place of what follows" if found[1] != expected[1] else ""


def _places(prefix: str, middle: str, suffix: str) -> tuple[set[_Place], list[_Place]] | None:
    """Return the places of the middle's outermost statements, and of the suffix's; None if the program is invalid."""
    text = prefix + middle + suffix
    module = python_module(text)
    if module is None:
        return None
    position = PythonPositions(text)
    start, end = len(prefix), len(prefix) + len(middle)
    own: set[_Place] = set()
    following: list[_Place] = []
    waiting: list[tuple[ast.AST, int | str]] = [(module, -1)]
    while waiting:
        parent, parent_place = waiting.pop()
        for field, value in ast.iter_fields(parent):
            for child in value if isinstance(value, list) else [value]:
                if not isinstance(child, ast.AST):
                    continue
                if not isinstance(child, ast.stmt):
                    waiting.append((child, parent_place))
                    continue
                begin = position(child.lineno, child.col_offset)
                part: int | str = begin if begin < start else "middle" if begin < end else "suffix"
                if part == "middle" and parent_place != "middle":
                    own.add((parent_place, field))
                elif part == "suffix":
                    following.append((parent_place, field))
                waiting.append((child, part))
    return own, sorted(following, key=str)
