"""Indentation of an answer: the columns at which it may begin, and the text shifted to the right one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from caretbench.extraction.caret_surroundings import Surroundings

_USUAL_UNIT = 4
"""Columns of a level of indentation where the shown code has none, as PEP 8 has it."""


def margin_of(line: str) -> int:
    """Return the number of blanks and tabs at a line's beginning."""
    return len(line) - len(line.lstrip(" \t"))


def _unit(shown: str) -> str:
    """Return one step of the indentation of a program."""
    margins = [line[: margin_of(line)] for line in shown.split("\n") if line.strip()]
    if sum("\t" in margin for margin in margins) * 2 > sum(map(bool, margins)):
        return "\t"
    steps = Counter(after - before for before, after in pairwise(map(len, margins)) if after - before > 1)
    return " " * (steps.most_common(1)[0][0] if steps else _USUAL_UNIT)


def possible_margins(surroundings: Surroundings) -> list[str]:
    """Return the possible indentations of the first statement at a caret, the most likely first."""
    unit = _unit(surroundings.before + surroundings.after)
    return [unit[0] * column for column in _columns(surroundings, len(unit))]


def _columns(surroundings: Surroundings, unit: int) -> list[int]:
    """Return the possible columns of the first statement, the most likely first."""
    *whole, caret_line = surroundings.before.split("\n")
    if caret_line:
        return [margin_of(caret_line)]
    last = next((line for line in reversed(whole) if line.strip()), "")
    following = next((line for line in surroundings.after.split("\n")[1:] if line.strip()), "")
    columns = [margin_of(last) + unit if last.rstrip().endswith(":") else margin_of(last)]
    # A block may also go on at the column of the next line, or end one level further out.
    columns += [margin_of(following), margin_of(last) + unit, max(0, margin_of(last) - unit)]
    return list(dict.fromkeys(columns))


def _in_unit(line: str, unit: str) -> str:
    """Return a line whose indentation consists of blanks or tabs as ``unit`` does."""
    margin = line[: margin_of(line)]
    if unit == "\t":
        return margin.replace(" " * _USUAL_UNIT, "\t") + line[len(margin) :]
    return margin.replace("\t", unit) + line[len(margin) :]


def in_shown_unit(text: str, surroundings: Surroundings) -> str:
    """Return a text whose lines are indented by blanks or tabs as the shown program's are."""
    unit = _unit(surroundings.before + surroundings.after)
    return "\n".join(_in_unit(line, unit) for line in text.split("\n"))


def _shifted(line: str, by: int, unit: str) -> str:
    return line if not line.strip() else unit[0] * max(0, margin_of(line) + by) + line.lstrip(" \t")


def _is_dedented(lines: list[str], surroundings: Surroundings) -> bool:
    """Return whether the second line begins in column 0, as the first, and goes on with its block."""
    first, second = [*lines, ""][:2]
    goes_on = second.strip() and not second.startswith(
        (*" \t)]}@#", "def ", "class ", "import ", "from ", "if __name__")
    )
    is_open = surroundings.caret_line and not surroundings.caret_line.strip()
    return bool(is_open and goes_on and not margin_of(first) and surroundings.parses_with(first))


def reindent(text: str, surroundings: Surroundings) -> str:
    """Return Python text shifted to the right column, if the program is well formed only then; else the text."""
    lines = text.lstrip("\n").split("\n")
    if not surroundings.indented or not text.strip():
        return text
    parses = surroundings.parses_with(text)
    if parses and not _is_dedented(lines, surroundings):
        return text
    found = text
    for column, candidate in _shifts(lines, surroundings):
        if surroundings.parses_with(candidate):
            # A line further out than the caret leaves its block: right only if nothing else is.
            if all(margin_of(line) >= column for line in candidate.split("\n")[1:] if line.strip()):
                return candidate
            found = candidate if found == text and not parses else found
    return found


def _shifts(lines: list[str], surroundings: Surroundings) -> Iterator[tuple[int, str]]:
    """Yield columns of the first statement, and the text with its lines shifted to them, the most likely first."""
    unit = _unit(surroundings.before + surroundings.after)
    lines = [_in_unit(line, unit) for line in lines]
    caret_line, own = surroundings.caret_line, margin_of(lines[0])
    margins = [margin_of(line) for line in lines[1:] if line.strip()] or [own]
    for column in _columns(surroundings, len(unit)):
        inner = column + len(unit)
        head = lines[0] if caret_line.strip() else unit[0] * max(0, column - len(caret_line)) + lines[0].lstrip(" \t")
        steps = (0, column - own, column - min(margins), inner - margins[0], column - margins[0],
                 inner - min(margins), column - own - len(caret_line))  # fmt: skip
        for by in dict.fromkeys(steps):
            yield column, "\n".join([head, *(_shifted(line, by, unit) for line in lines[1:])])
