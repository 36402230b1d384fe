"""Checks within a line: the rest of the line at the caret, or one node."""

from __future__ import annotations

from collections.abc import Callable

from caretbench.suites.c3bench.scale.line_check import forbidden_part
from caretbench.suites.c3bench.scale.parsing.node_spans import has_open_line_end, is_one_node
from caretbench.suites.c3bench.scale.parsing.statements import StatementView, first_reason
from caretbench.suites.c3bench.scale.parsing.tree_statements import ParsedFile, comments_in
from caretbench.suites.c3bench.scale.scale_types import ScaleSpecification, ScaleVerdict
from caretbench.syntax.parser import LINE_END


def check_rest_of_line(
    view: StatementView, span: tuple[int, int], specification: ScaleSpecification, parsed: Callable[[], ParsedFile]
) -> ScaleVerdict:
    """Return the verdict about the rest of a line; ``span`` is the span of the answer in ``view.text``.

    Where the suffix begins within the line, the line ends in the suffix.
    """
    start, end = span
    middle = view.text[start:end]
    extra, missing = _statement_difference(view, span, specification.statements)
    more_lines = LINE_END.search(middle) is not None
    rest = LINE_END.split(view.text[end:], maxsplit=1)[0]
    hidden = bool(rest.strip()) and any(last > end for _, last in comments_in(parsed()))
    unfinished = not (specification.open_end or view.ends_line(end + len(rest)))
    forbidden = forbidden_part(view.text, span, specification.allow, parsed)
    reason = first_reason(
        (more_lines, "the answer has more than one line"),
        (hidden, "a comment of the answer contains the rest of the line, which is in the suffix"),
        (extra, f"{extra} more statements on the line"),
        (missing, f"{missing} fewer statements on the line"),
        (unfinished, "a bracket, a string or a statement is open at the end of the line"),
        (forbidden, f"the answer contains {forbidden}"),
    )
    return ScaleVerdict(
        ok=not reason, parse_ok=view.parse_ok, count_ok=not more_lines, unfinished=unfinished,
        leak_after=more_lines or hidden or extra > 0, extra_statements=extra, reason=reason,
    )  # fmt: skip


def _statement_difference(view: StatementView, span: tuple[int, int], statements: int | None) -> tuple[int, int]:
    """Return how many statements more, and how many fewer, begin in the answer than in the reference.

    Where their number is not specified, one may begin at the first character.
    """
    start, end = span
    roots = view.roots(start, end)
    if statements is not None:
        return max(len(roots) - statements, 0), max(statements - len(roots), 0)
    middle = view.text[start:end]
    first = start + len(middle) - len(middle.lstrip())
    return sum(one.keyword > first for one in roots), 0


def check_node(
    view: StatementView, span: tuple[int, int], specification: ScaleSpecification, parsed: Callable[[], ParsedFile]
) -> ScaleVerdict:
    """Return the verdict about one node; ``span`` is the span of the answer in ``view.text``."""
    start, end = span
    kind_ok = is_one_node(parsed(), str(specification.node))
    extra = len([one for one in view.roots(start, end) if one.keyword > start])
    open_line = kind_ok and has_open_line_end(parsed())
    reason = first_reason(
        (not kind_ok, f"the answer is not one node of class {specification.node}"),
        (open_line, "a line of the answer ends outside of brackets"),
    )
    return ScaleVerdict(
        ok=not reason, parse_ok=view.parse_ok, kind_ok=kind_ok, leak_after=extra > 0, extra_statements=extra,
        reason=reason,
    )  # fmt: skip
