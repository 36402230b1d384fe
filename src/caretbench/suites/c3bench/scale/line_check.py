"""Check of lines: the answer is a number of whole lines, or of statements."""

from __future__ import annotations

from collections.abc import Callable

from caretbench.suites.c3bench.scale.parsing.statements import StatementView, column_at, first_reason, has_blank_line
from caretbench.suites.c3bench.scale.parsing.tree_statements import ParsedFile, code_line_count, comments_in
from caretbench.suites.c3bench.scale.scale_types import Allowances, LineUnit, ScaleSpecification, ScaleVerdict
from caretbench.syntax.parser import LINE_END


def check_lines(
    view: StatementView, span: tuple[int, int], specification: ScaleSpecification, parsed: Callable[[], ParsedFile]
) -> ScaleVerdict:
    """Return the verdict about lines; ``span`` is the span of the answer in ``view.text``."""
    end = span[1]
    count = count_in_unit(view, span, specification.unit, parsed)
    line_fault = _whole_lines_fault(view, end, specification)
    before, after, open_statement = _outside(view, span, specification)
    level = _at_another_level(view, span, specification)
    forbidden = forbidden_part(view.text, span, specification.allow, parsed)
    reason = first_reason(
        (count != specification.n, _count_text(count, specification)),
        (line_fault, line_fault),
        (before or after, "the answer also writes outside of the statements at the caret"),
        (open_statement, "the last statement continues in the suffix"),
        (level, f"the first statement begins in another column than {specification.column}"),
        (forbidden, f"the answer contains {forbidden}"),
    )
    unfinished = bool(line_fault) or open_statement
    return ScaleVerdict(
        ok=not reason, parse_ok=view.parse_ok, count_ok=count == specification.n, count=count, unfinished=unfinished,
        leak_before=before or level, leak_after=after or count > (specification.n or 0),
        extra_statements=max(count - (specification.n or 0), 0) if specification.unit == "statement" else 0,
        reason=reason,
    )  # fmt: skip


def _outside(view: StatementView, span: tuple[int, int], specification: ScaleSpecification) -> tuple[bool, bool, bool]:
    """Return whether an answer of statements writes before them or after them, and whether the last one is open."""
    start, end = span
    roots = view.roots(start, end)
    if specification.unit != "statement" or not roots:
        return False, False, False
    first, last = roots[0], roots[-1]
    begun = view.text[start - column_at(view.text, start) : start].strip()  # a statement of the prefix
    before = "" if begun else view.without_comments(start, max(start, first.start)).strip()
    after = last.end <= end and view.without_comments(last.end, end).strip(" \t\r\n\f;")
    elsewhere = any((one.parent, one.branch) != (first.parent, first.branch) for one in roots)
    return bool(before), bool(after) or elsewhere, last.end > end


def _at_another_level(view: StatementView, span: tuple[int, int], specification: ScaleSpecification) -> bool:
    """Return whether the first statement begins its line in another column than the reference does."""
    roots = view.roots(*span)
    if specification.unit != "statement" or specification.column is None or not roots:
        return False
    column = column_at(view.text, roots[0].keyword)
    begins = not view.text[roots[0].keyword - column : roots[0].keyword].strip()
    return begins and column != specification.column


def forbidden_part(text: str, span: tuple[int, int], allow: Allowances, parsed: Callable[[], ParsedFile]) -> str:
    """Return the name of something in the answer that is not allowed there; empty if all is."""
    if not allow.comments and comments_in(parsed()):
        return "a comment"
    return "a blank line" if not allow.blank_lines and has_blank_line(text, span) else ""


def count_in_unit(view: StatementView, span: tuple[int, int], unit: LineUnit, parsed: Callable[[], ParsedFile]) -> int:
    """Return the number of lines or statements in the answer."""
    if unit == "physical_line":
        return len(LINE_END.findall(_without_final_line_end(view.text[span[0] : span[1]]))) + 1
    if unit == "code_line":
        return code_line_count(parsed())
    roots = view.roots(*span)
    return sum(one.branch == roots[0].branch and one.parent == roots[0].parent for one in roots)


def with_count(
    verdict: ScaleVerdict,
    view: StatementView,
    span: tuple[int, int],
    specification: ScaleSpecification,
    parsed: Callable[[], ParsedFile],
) -> ScaleVerdict:
    """Return the verdict about a block with the check of its number of lines, where the specification has one."""
    if specification.n is None or not verdict.ok:
        return verdict
    count = count_in_unit(view, span, specification.unit, parsed)
    is_right = count == specification.n
    reason = "" if is_right else _count_text(count, specification)
    return verdict.model_copy(update={"ok": is_right, "count": count, "count_ok": is_right, "reason": reason})


def _count_text(count: int, specification: ScaleSpecification) -> str:
    return f"{count} {specification.unit.replace('_', ' ')}s, not {specification.n}"


def _without_final_line_end(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r")


def _whole_lines_fault(view: StatementView, end: int, specification: ScaleSpecification) -> str:
    """Return why the last line of the answer is no whole line; empty if it is one."""
    text = view.text
    if specification.open_end:
        return ""
    if not (end == len(text) or text[end] in "\r\n" or text[end - 1] in "\r\n"):
        return "the last line continues in the suffix"
    if not view.ends_line(end):
        return "a bracket, a string or a statement is open after the last line"
    return ""
