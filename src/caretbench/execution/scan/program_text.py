"""Properties of a program's text that are known before it runs: the depth of its brackets, the lines of its answer.

Where a parser gives up depends on its stack, and with it on how hot its compiler is and what ran before: the same text
would be refused at one try and pass, crash or exhaust memory at another. No person nests a thousand brackets, so beyond
that a program is refused here, before any compiler reads it. What counts as a string or a comment is the language's
own: text that only another language would skip is counted.

An explicit exit behind the answer's lines is the program's own end, not the answer's: ``main().then(() =>
process.exit(0))``, ``sys.exit(main())`` and ``unittest.main()`` behind the caret are honest. Where an exit takes place
is seen while the program runs, so only in languages whose harness sees the stack. TypeScript's runtime turns the lines
into those of the program's JavaScript.
"""

from __future__ import annotations

import re
from functools import cache

from caretbench.execution.toolchain_tables import toolchain_table
from caretbench.languages import languages

MAX_BRACKET_DEPTH = 1000
"""Maximum depth of brackets within brackets that a program may have."""

_BRACKETS = re.compile(r"[()\[\]{}]")
_OF_OTHERS = (r'"(?:[^"\\\n]|\\.)*+"?', r"'(?:[^'\\\n]|\\.)*+'?", r"/\*.*?(?:\*/|\Z)", r"//[^\n]*")
"""Default patterns of strings and comments, for languages whose table has none."""


@cache
def _skipped(language: str) -> re.Pattern[str]:
    entry = languages().get(language)
    named = entry.strings_and_comments if entry is not None else ()
    return re.compile("|".join(named or _OF_OTHERS), re.DOTALL)


def exceeds_bracket_depth(source: str, language: str) -> bool:
    """Return whether brackets nest deeper than ``MAX_BRACKET_DEPTH``, not counting those of strings and comments."""
    # Counted first: nearly every program has fewer open brackets, and needs no search.
    if sum(map(source.count, "([{")) <= MAX_BRACKET_DEPTH or _depth(source) <= MAX_BRACKET_DEPTH:
        return False
    return _depth(_skipped(language).sub("", source)) > MAX_BRACKET_DEPTH


def _depth(text: str) -> int:
    deepest = depth = 0
    for bracket in _BRACKETS.findall(text):
        depth = depth + 1 if bracket in "([{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest


def answer_lines(before: str, answer: str, language: str) -> tuple[int, int] | None:
    """Return the first and the last line of an answer, counted from 1; None where no exit is the program's own.

    Args:
        before: Program text before the answer.
        answer: Inserted text; a line end that closes it begins no line of its own.
        language: CaretBench's name of the language.
    """
    table = toolchain_table(language)
    if table is None or table.exit_line_end is None:
        return None
    line_end = table.exit_line_end
    first = 1 + len(line_end.findall(before))
    ends = list(line_end.finditer(before + answer))
    closed = bool(answer) and bool(ends) and ends[-1].end() == len(before) + len(answer)
    return first, max(first, len(ends) + (0 if closed else 1))
