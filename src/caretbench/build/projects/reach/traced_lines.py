"""Statements that a tracer has seen: those of the executed lines, and the statements before them.

An interpreter traces lines; two statements on one line count as executed together. Statements without code of their
own, such as ``global x``, are never traced: where a later statement of the same list is executed, all before it are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import tree_sitter

from caretbench.build.projects.reach.execution_log import Mark
from caretbench.syntax.analysis_types import Span


class TracedFile:
    """The recorded statements of a file, in text order, and the lines that execute each of them."""

    def __init__(self, nodes: Sequence[tree_sitter.Node]) -> None:
        self.spans = tuple(Span(node.start_byte, node.end_byte) for node in nodes)
        self._owners = _statements_by_line(nodes)
        self._before: list[int | None] = []
        last: dict[int, int] = {}
        for n, node in enumerate(nodes):
            parent = node.parent.id if node.parent is not None else 0
            self._before.append(last.get(parent))
            last[parent] = n

    def statements(self, lines: Collection[int]) -> set[int]:
        """Return the numbers of the statements that run if these lines, from 1, are executed."""
        found: set[int] = set()
        for line in lines:
            for n in self._owners.get(line, ()):
                one: int | None = n
                while one is not None and one not in found:
                    found.add(one)
                    one = self._before[one]
        return found


def statement_marks(marks: frozenset[Mark], files: Mapping[int, TracedFile]) -> frozenset[Mark]:
    """Return marks of lines as marks of statements; ``files`` are the traced files by number, others are excluded."""
    lines: dict[int, list[int]] = {}
    for file, line in marks:
        lines.setdefault(file, []).append(line)
    return frozenset((file, n) for file, own in lines.items() if file in files for n in files[file].statements(own))


def _statements_by_line(nodes: Sequence[tree_sitter.Node]) -> dict[int, list[int]]:
    """Return the statements that own a line: those that begin on it, or the innermost one that goes on over it."""
    owners: dict[int, list[int]] = {}
    around: dict[int, int] = {}
    for n, node in enumerate(nodes):
        first, last = node.start_point.row + 1, node.end_point.row + 1
        owners.setdefault(first, []).append(n)
        around.update(dict.fromkeys(range(first + 1, last + 1), n))
    for line, n in around.items():
        begun = owners.setdefault(line, [])
        if not any(nodes[n].start_byte <= nodes[one].start_byte < nodes[n].end_byte for one in begun):
            begun.append(n)
    return owners
