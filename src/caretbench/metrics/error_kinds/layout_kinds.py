"""Error kind of layout: wrong indentation."""

from __future__ import annotations

from caretbench.metrics.error_kinds.compared_answer import ComparedAnswer

_OPENERS = (":", "{", "(", "[", "then", "do", "=>", "->", "begin")
_CLOSERS = ("}", ")", "]", "end")


def wrong_indentation(compared: ComparedAnswer) -> bool:
    """Return whether the answer begins in a wrong column, or its lines do not fit together.

    It does where its first line begins in a column of no block that is open at the caret, where its lines are those of
    the reference in other columns, and where more statements than in the reference are out of line with their list.
    """
    if not compared.is_comparable:
        return False
    return _begins_wrong(compared) or _shifted(compared) or _out_of_line(compared)


def _begins_wrong(compared: ComparedAnswer) -> bool:
    answered, expected = (_first_line(compared.caret_line, text) for text in (compared.answer, compared.reference))
    if answered is None or expected is None or answered[0] == expected[0]:
        return False
    column, line = answered
    levels, opens = _open_columns(compared.prefix)
    if line.startswith(_CLOSERS):
        return False
    return opens or column not in levels


def _first_line(caret_line: str, text: str) -> tuple[int, str] | None:
    """Return column and text of the first line that is not blank; None if it continues the caret's line."""
    for number, line in enumerate(text.split("\n")):
        if line.strip():
            before = caret_line if number == 0 else ""
            return None if before.strip() else (len(before) + _margin(line), line.strip())
    return None


def _open_columns(prefix: str) -> tuple[set[int], bool]:
    """Return the columns of the blocks that are open at the end of a text, and whether its last line opens one."""
    lines = [line for line in prefix.rpartition("\n")[0].split("\n") if line.strip()]
    columns: set[int] = set()
    least = None
    for line in reversed(lines):
        column = _margin(line)
        if least is None or column < least:
            columns.add(column)
            least = column
        if least == 0:
            break
    return columns, bool(lines) and lines[-1].rstrip().endswith(_OPENERS)


def _shifted(compared: ComparedAnswer) -> bool:
    answered, expected = (text.rstrip().split("\n") for text in (compared.answer, compared.reference))
    if len(answered) != len(expected) or any(
        one.strip() != other.strip() for one, other in zip(answered, expected, strict=True)
    ):
        return False
    begun = bool(compared.caret_line.strip())
    pairs = list(zip(answered, expected, strict=True))[begun:]
    return any(_margin(one) != _margin(other) for one, other in pairs if one.strip())


def _out_of_line(compared: ComparedAnswer) -> bool:
    if compared.structures is None:
        return False
    answered, expected = compared.structures
    if answered.misaligned > expected.misaligned:
        return True
    if compared.stops_early or not _has_misfit(compared):
        return False
    return answered.layout_faults > expected.layout_faults


def _has_misfit(compared: ComparedAnswer) -> bool:
    """Return whether a line of the answer is indented below a line that opens nothing."""
    before = next((line for line in reversed(compared.prefix.split("\n")[:-1]) if line.strip()), "")
    lines = [line for line in (compared.caret_line + compared.answer).split("\n") if line.strip()]
    for line, above in zip(lines, [before, *lines], strict=False):
        deeper = _margin(line) > _margin(above)
        if deeper and not above.rstrip().endswith((*_OPENERS, ",", "\\")):
            return True
    return False


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))
