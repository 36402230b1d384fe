"""Python programs as trees of Python's own parser, which detects errors that the grammar does not."""

from __future__ import annotations

import ast
import warnings


def python_module(text: str) -> ast.Module | None:
    """Return the tree of a Python program; None if it does not parse."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes in strings are the program's business
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
