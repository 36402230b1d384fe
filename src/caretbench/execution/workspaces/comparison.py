"""Whether what a command printed is what it had to print, as loosely as its check says."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import zip_longest

from caretbench.problem import ExpectedOutput

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?(?![\w.]*\w)")
_SHOWN = 120


def difference(expected: ExpectedOutput, printed: str) -> str:
    """What differs first, in words; empty where the output is as expected."""
    return _COMPARISONS[expected.comparison](expected, printed)


def _exact(expected: ExpectedOutput, printed: str) -> str:
    return "" if printed == expected.text else _first_line(expected.text, printed)


def _whitespace(expected: ExpectedOutput, printed: str) -> str:
    return "" if printed.split() == expected.text.split() else _first_line(expected.text, printed)


def _last_line(expected: ExpectedOutput, printed: str) -> str:
    wanted, found = _last(expected.text), _last(printed)
    return "" if wanted == found else f"the last line is {_shown(found)}, not {_shown(wanted)}"


def _numeric(expected: ExpectedOutput, printed: str) -> str:
    """Numbers are compared wherever they stand (``[0.25, 1e-3]``), and the text between them up to whitespace."""
    between = [part.split() for part in _NUMBER.split(expected.text)]
    if between != [part.split() for part in _NUMBER.split(printed)]:
        return _first_line(expected.text, printed)
    for wanted, found in zip(_NUMBER.findall(expected.text), _NUMBER.findall(printed), strict=True):
        allowed = expected.absolute + expected.relative * abs(float(wanted))
        if wanted != found and not abs(float(wanted) - float(found)) <= allowed:
            return f"it prints {found} in place of {wanted}"
    return ""


_COMPARISONS: Mapping[str, Callable[[ExpectedOutput, str], str]] = {
    "exact": _exact,
    "whitespace": _whitespace,
    "last_line": _last_line,
    "numeric": _numeric,
}


def _last(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else ""


def _first_line(wanted: str, found: str) -> str:
    pairs = zip_longest(wanted.splitlines(), found.splitlines())
    for number, (left, right) in enumerate(pairs, start=1):
        if left is None:
            return f"it prints more than expected: line {number} is {_shown(right)}"
        if right is None:
            return f"it prints less than expected: line {number}, {_shown(left)}, is missing"
        if left.split() != right.split():
            return f"line {number} of the output is {_shown(right)}, not {_shown(left)}"
    return "the output differs in blanks or line ends"


def _shown(line: str) -> str:
    return repr(line if len(line) <= _SHOWN else line[:_SHOWN] + "…")
