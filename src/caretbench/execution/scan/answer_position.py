"""Lines of an answer in its program: an explicit exit behind them is the program's own end, not the answer's.

``main().then(() => process.exit(0))``, ``sys.exit(main())`` and ``unittest.main()`` behind the caret are honest. Where
an exit takes place is seen while the program runs, so only in languages whose harness sees the stack. TypeScript's
runtime turns the lines into those of the program's JavaScript.
"""

from __future__ import annotations

from caretbench.execution.toolchain_tables import toolchain_table


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
