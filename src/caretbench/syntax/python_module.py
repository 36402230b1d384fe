"""Python programs as trees of Python's own parser, which detects errors that the grammar does not."""

from __future__ import annotations

import ast
import bisect
import re
import warnings
from itertools import accumulate

LINE_END = re.compile(r"\r\n|\r|\n")


def python_module(text: str) -> ast.Module | None:
    """Return the tree of a Python program; None if it does not parse."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes in strings are the program's business
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


class PythonPositions:
    """Conversion of lines and UTF-8 columns of Python's parser to positions of the text.

    ``shift`` is the length of a byte order mark, which the parser does not get.
    """

    def __init__(self, text: str, shift: int = 0) -> None:
        self.text = text
        self.starts = [shift, *(match.end() for match in LINE_END.finditer(text))]
        self._ascii = text.isascii()
        self._line = -1
        self._columns: list[int] = []

    def __call__(self, line: int, column: int) -> int:
        """Return the position of a line, from 1, and a column in UTF-8 bytes."""
        start = self.starts[min(line, len(self.starts)) - 1]
        if self._ascii:
            return start + column
        if line != self._line:
            end = self.starts[line] if line < len(self.starts) else len(self.text)
            widths = (len(character.encode("utf-8", "surrogatepass")) for character in self.text[start:end])
            self._line, self._columns = line, [0, *accumulate(widths)]
        return start + bisect.bisect_left(self._columns, column)

    def line(self, position: int) -> int:
        """Return the number of the line that contains a position, from 1."""
        return bisect.bisect_right(self.starts, position)
