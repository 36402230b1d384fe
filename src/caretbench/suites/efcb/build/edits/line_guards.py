"""Line guards, which refuse edits by the text of lines: duplicates, unobservable changes, test data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from caretbench.suites.efcb.build.edits.patch_edit import collapse_whitespace

_LOGIC: Final = re.compile(r"\s(?:&&|\|\||and|or)\s")
_COMPARISONS: Final = re.compile(r"\s(?:===|!==|==|!=|<=|>=|<|>|is)\s")
# Text before the start of an operand, outside of brackets.
_BEFORE: Final = re.compile(r"(?:^|\s)(?:if|elif|while|until|return|unless|when|assert|=|:=|=>|\?|:)\s|!(?!=)|[,;{]\s")
_ASSERTED: Final = re.compile(r"assert|expect|require|should|must|verify|check|equal", re.IGNORECASE)
_TEST_PATH: Final = re.compile(r"(^|[/._-])(tests?|specs?|__tests__|testing)([/._-]|$)|Tests?\.\w+$", re.IGNORECASE)
_NEAR: Final = 4
_COPIED: Final = 3
_EMPTY_TEST: Final = re.compile(
    r"(?:len\(([\w.]+)\)|([\w.]+)\.(?:length|size|Count|len|count)\b(?:\(\))?)\s*(?:>=?|<=?)\s*[012]\b"
)
# Label of a switch, key or field at the start of a line.
_LABEL: Final = re.compile(r"\s*(case\s.+?|[\"']?[\w.$-]+[\"']?)\s*(?::(?![:=])|=>)")
_TYPE_TEST: Final = re.compile(
    r"\$Expect(?:Type|Error)|\bexpect(?:Type|Error|Assignable|NotAssignable)\b|\bassert_type\("
)
# End of a text that is followed by an initial capacity.
_ROOM: Final = re.compile(
    r"(?:\bmake\(\[\][^,()]*,[^,()]*,|\bmake\((?:map|chan)\b[^,()]*,|[wW]ith_?[cC]apacity\(|\breserve\("
    r"|\bensureCapacity\(|\b(?:StringBuilder|ArrayList<\w*>|HashMap<[\w, ]*>)\()\s*(?:len\(|[\w.]*)$"
)


def count_repeated_operands(line: str) -> int:
    """Return the number of operators in a line with the same operand on both sides."""
    found = 0
    for operators, others in ((_LOGIC, None), (_COMPARISONS, _LOGIC)):
        for part in others.split(line) if others else [line]:
            sides = operators.split(part)
            for left, right in pairwise(sides):
                operand = _last_operand(left)
                rest = right.strip().removeprefix(operand)
                same = (
                    bool(operand)
                    and right.strip().startswith(operand)
                    and not re.match(r"[\w.(\[]|->|::|\s*[-+*/%]", rest)
                )
                found += same and bool(re.match(r"!?[A-Za-z_$(]", operand))
    return found


def _last_operand(text: str) -> str:
    """Return the end of a text after the last open bracket, keyword or assignment."""
    depth = 0
    for position in range(len(text) - 1, -1, -1):
        depth += (text[position] in ")]") - (text[position] in "([")
        if depth < 0:
            text = text[position + 1 :]
            break
    return re.sub(r"^(?:if|elif|while|until|return|unless|when|assert)\s", "", _BEFORE.split(f" {text}")[-1].strip())


def is_reordering(before: Sequence[str], after: Sequence[str]) -> bool:
    """Return whether lines are the same in another order, ignoring white space and separators."""
    return list(before) != list(after) and sorted(map(_normalize, before)) == sorted(map(_normalize, after))


def count_copied_lines(lines: Sequence[str], positions: Iterable[int]) -> int:
    """Return the number of lines at ``positions`` that equal one of the three lines above or below."""
    found = 0
    for position in positions:
        own = _normalize(lines[position])
        around = [*lines[max(0, position - _COPIED) : position], *lines[position + 1 : position + 1 + _COPIED]]
        found += bool(re.search(r"\w", own)) and own in map(_normalize, around)
    return found


def repeats_label(lines: Sequence[str], position: int, after: str) -> bool:
    """Return whether an edited line gets the label, key or field of another line of the same block."""
    label = _LABEL.match(after)
    before = _LABEL.match(lines[position])
    if label is None or (before is not None and before[1] == label[1]):
        return False
    depth = _indentation(after)
    for step in (-1, 1):
        row = position + step
        while 0 <= row < len(lines) and (not lines[row].strip() or _indentation(lines[row]) >= depth):
            other = _LABEL.match(lines[row])
            if other is not None and other[1] == label[1] and _indentation(lines[row]) == depth:
                return True
            row += step
    return False


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def is_unobservable(line: str, start: int, old_text: str) -> bool:
    """Return whether the edit of ``old_text``, which begins at ``start``, has no observable effect.

    It changes an initial capacity, or a value of which only the type is tested.
    """
    return bool(_ROOM.search(line[:start])) or (
        _TYPE_TEST.search(line) is not None and re.match(r"[A-Za-z_$]", old_text) is None
    )


def are_asserted_together(lines: Sequence[str], position: int, one: str, other: str) -> bool:
    """Return whether an assertion near a line contains both names."""
    words = [re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)") for name in (one, other)]
    near = range(max(0, position - _NEAR), min(len(lines), position + _NEAR + 1))
    return any(
        row != position and _ASSERTED.search(lines[row]) and all(word.search(lines[row]) for word in words)
        for row in near
    )


def is_empty_loop_test(lines: Sequence[str], position: int) -> bool:
    """Return whether a line tests the length of the next loop's collection, which has no effect."""
    found = _EMPTY_TEST.search(lines[position])
    if found is None:
        return False
    name = re.escape(found[1] or found[2])
    loop = re.compile(rf"\bfor\b.*(?<![\w.]){name}(?![\w.(])|\b{name}\.(?:forEach|each|map|iter)\b")
    return any(loop.search(line) for line in lines[position + 1 : position + _NEAR])


def is_test_code(path: str, function: str) -> bool:
    """Return whether code is a test, by its path or the first line of its function."""
    return bool(
        _TEST_PATH.search(path)
        or re.search(r"\b(test|spec)_|\bTest[A-Z_]|@Test|#\[test\]", function.partition("\n")[0])
    )


def is_asserted(literal: str, function: str, own: str) -> bool:
    """Return whether a test's assertion depends on a literal; ``own`` is the edited line.

    The literal is in an assertion itself (``own`` is the edited line), or also in an assertion of the function, which
    may begin up to two lines before.
    """
    if _ASSERTED.search(own):
        return True
    word = re.compile(rf"(?<![\w.]){re.escape(literal)}(?![\w.])")
    lines = function.split("\n")
    return any(
        line != own and word.search(line) and any(map(_ASSERTED.search, lines[max(0, row - 2) : row + 1]))
        for row, line in enumerate(lines)
    )


def _normalize(line: str) -> str:
    return collapse_whitespace(line).rstrip(",; ")
