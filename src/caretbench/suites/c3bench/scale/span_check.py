"""Checks within a line: the rest of the line at the caret, or one node."""

from __future__ import annotations

from collections.abc import Callable

from caretbench.suites.c3bench.scale.scale_types import ScaleSpecification, ScaleVerdict
from caretbench.suites.c3bench.scale.statements import StatementView, first_reason
from caretbench.suites.c3bench.scale.tree_statements import ParsedFile, is_one_node
from caretbench.syntax.python_module import LINE_END


def check_rest_of_line(view: StatementView, span: tuple[int, int], specification: ScaleSpecification) -> ScaleVerdict:
    """Return the verdict about the rest of a line; ``span`` is the span of the answer in ``view.text``."""
    start, end = span
    middle = view.text[start:end]
    roots = view.roots(start, end)
    first = start + len(middle) - len(middle.lstrip())
    if specification.statements is None:
        extra = sum(one.keyword > first for one in roots)
    else:
        extra = max(len(roots) - specification.statements, 0)
    comment = view.without_comments(start, end) != middle and not specification.allow.comments
    more_lines = LINE_END.search(middle) is not None
    rest = LINE_END.split(view.text[end:], maxsplit=1)[0]
    unfinished = bool(rest.strip()) or not (specification.open_end or view.ends_line(end))
    reason = first_reason(
        (more_lines, "the answer has more than one line"),
        (rest.strip(), "the line continues in the suffix"),
        (extra, f"{extra} more statements on the line"),
        (unfinished, "a bracket, a string or a statement is open at the end of the line"),
        (comment, "the answer contains a comment"),
    )
    return ScaleVerdict(
        ok=not reason, parse_ok=view.parse_ok, count_ok=not more_lines, unfinished=unfinished,
        leak_after=more_lines or extra > 0, extra_statements=extra, reason=reason,
    )  # fmt: skip


def check_node(
    view: StatementView, span: tuple[int, int], specification: ScaleSpecification, parsed: Callable[[], ParsedFile]
) -> ScaleVerdict:
    """Return the verdict about one node; ``span`` is the span of the answer in ``view.text``."""
    start, end = span
    kind_ok = is_one_node(parsed(), str(specification.node))
    extra = len([one for one in view.roots(start, end) if one.keyword > start])
    reason = "" if kind_ok else f"the answer is not one node of class {specification.node}"
    return ScaleVerdict(
        ok=kind_ok, parse_ok=view.parse_ok, kind_ok=kind_ok, leak_after=extra > 0, extra_statements=extra, reason=reason
    )
