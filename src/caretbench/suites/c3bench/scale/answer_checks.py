"""Checks of an answer's extent: whole lines or statements, the rest of a line, one node, a statement block."""

from __future__ import annotations

import re
from collections.abc import Callable

from caretbench.suites.c3bench.scale.node_spans import has_open_line_end, is_one_node
from caretbench.suites.c3bench.scale.scale_types import Allowances, LineUnit, ScaleSpecification, ScaleVerdict
from caretbench.suites.c3bench.scale.statements import (
    CodeStatement,
    ParsedFile,
    StatementView,
    code_line_count,
    column_at,
    comments_in,
    first_reason,
    has_blank_line,
)
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
    # A caret within a line completes a statement of the prefix first; what it writes before the next statement belongs
    # there.
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
    # Checked in the text: neither trees nor statements contain blank lines.
    return "a blank line" if not allow.blank_lines and has_blank_line(text, span) else ""


def count_in_unit(view: StatementView, span: tuple[int, int], unit: LineUnit, parsed: Callable[[], ParsedFile]) -> int:
    """Return the number of lines or statements in the answer."""
    if unit == "physical_line":
        # One line end after the last line ends it and begins none.
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
    # A body written twice is a body: only its number of lines refuses it.
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
    # An answer that ends within a line has written half of it, and the suffix writes the rest.
    if not (end == len(text) or text[end] in "\r\n" or text[end - 1] in "\r\n"):
        return "the last line continues in the suffix"
    if not view.ends_line(end):
        return "a bracket, a string or a statement is open after the last line"
    return ""


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
    # `# done` at the caret turns the rest of the line, closing brackets included, into a comment.
    hidden = bool(rest.strip()) and any(last > end for _, last in comments_in(parsed()))
    unfinished = not (specification.open_end or view.ends_line(end + len(rest)))
    # `total = total = a * b` computes the same, so that no test refuses it.
    line = view.text[start - column_at(view.text, start) : start].strip()
    again = line.endswith("=") and middle.lstrip().startswith(line)
    forbidden = forbidden_part(view.text, span, specification.allow, parsed)
    reason = first_reason(
        (more_lines, "the answer has more than one line"),
        (again, "the answer repeats the line, which is in the prefix"),
        (hidden, "a comment of the answer contains the rest of the line, which is in the suffix"),
        (extra, f"{extra} more statements on the line"),
        (missing, f"{missing} fewer statements on the line"),
        (unfinished, "a bracket, a string or a statement is open at the end of the line"),
        (forbidden, f"the answer contains {forbidden}"),
    )
    return ScaleVerdict(
        ok=not reason, parse_ok=view.parse_ok, count_ok=not more_lines, leak_before=again, unfinished=unfinished,
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


_WORDS_OF_HEADERS = frozenset({"try", "while", "if", "for", "true", "True", "async"})


def check_block(view: StatementView, span: tuple[int, int], specification: ScaleSpecification) -> ScaleVerdict:
    """Return the verdict about a block; ``span`` is the span of the answer in ``view.text``."""
    if specification.header_in_prefix:
        return _check_body(view, span, specification)
    return _check_statement(view, span, specification)


def _check_statement(view: StatementView, span: tuple[int, int], specification: ScaleSpecification) -> ScaleVerdict:
    start, end = span
    roots = view.roots(start, end)
    if not roots:
        return _fault(view, kind_ok=False, reason="no statement begins in the answer")
    first, last = roots[0], roots[-1]
    kind_ok = _is_kind(first, specification)
    extra = len(roots) - 1
    unfinished = last.end > end
    before = _rest(view, start, max(first.start, start), specification.allow)
    after = "" if unfinished else _rest(view, last.end, end, specification.allow)
    verdict = ScaleVerdict(
        ok=True, parse_ok=view.parse_ok, kind_ok=kind_ok, extra_statements=extra, unfinished=unfinished,
        leak_before=bool(before), leak_after=bool(after) or extra > 0,
    )  # fmt: skip
    column = column_at(view.text, first.keyword)
    # A loop that leaves its function at the end of a file cannot be told from one that stays, except by its column.
    level = specification.column is not None and _begins_line(view, first) and column != specification.column
    reason = first_reason(
        (before, f"text before the statement continues the prefix: {before[:40]!r}"),
        (not kind_ok, f"the statement is of kind {_kind_name(first)}, not {specification.node}"),
        (extra, f"{extra} more statements follow the first"),
        (unfinished, "the statement continues in the suffix"),
        (after, f"text follows the statement: {after[:40]!r}"),
        (level, f"the statement begins in column {column}, not {specification.column}: another nesting level"),
    )
    if level:
        verdict = verdict.model_copy(update={"leak_before": True})
    return verdict.model_copy(update={"ok": not reason, "reason": reason})


def _check_body(view: StatementView, span: tuple[int, int], specification: ScaleSpecification) -> ScaleVerdict:
    start, end = span
    roots = view.roots(start, end)
    owner = _owner(view, start, roots)
    if owner is None:
        return _fault(
            view, kind_ok=False, reason="no statement whose header ends the prefix has its body in the answer"
        )
    if not _is_kind(owner, specification, elif_too=True):
        return _fault(
            view, kind_ok=False, reason=f"the header is of kind {_kind_name(owner)}, not {specification.node}"
        )
    index = list(view.statements).index(owner)
    inside = [one for one in roots if one.parent == index and one.branch == "body"]
    clauses = [one for one in roots if one.parent == index and one.branch != "body"]
    outside = len(roots) - len(inside) - (len(clauses) if specification.allow.else_clauses else 0)
    before, after, unfinished = _around_body(view, span, owner, roots, specification)
    if clauses and specification.allow.else_clauses:
        after, unfinished = _after_clauses(view, owner, end)
    # An answer that writes the whole loop again parses as a loop in a loop.
    repeated = _repeats_header(view, owner, inside)
    reason = first_reason(
        (before, f"text before the body continues the header: {before[:40]!r}"),
        (repeated, "the answer repeats the header, which is in the prefix"),
        (outside > 0, f"{outside} statements of the answer are not in the body"),
        (not inside, "no statement of the body begins in the answer"),
        (unfinished, "the body continues in the suffix"),
        (after, f"text follows the body: {after[:40]!r}"),
    )
    return ScaleVerdict(
        ok=not reason, parse_ok=view.parse_ok, kind_ok=True, extra_statements=max(outside, 0), unfinished=unfinished,
        leak_before=bool(before) or repeated, leak_after=outside > 0 or bool(after), reason=reason,
    )  # fmt: skip


def _repeats_header(view: StatementView, owner: CodeStatement, inside: list[CodeStatement]) -> bool:
    """Return whether the first statement of a body has the same header as its owner.

    A header without names may be there twice: ``try``, or ``while True``.
    """
    if not inside or inside[0].kind != owner.kind:
        return False
    headers = [view.text[one.keyword : one.header_end] for one in (owner, inside[0])]
    # `try` within `try` and `while True` within `while True` are ordinary programs; a header with the same names twice
    # is a repetition.
    words = set(re.findall(r"[^\W\d]\w*", headers[0])) - _WORDS_OF_HEADERS
    return bool(words) and headers[0].split() == headers[1].split()


def _after_clauses(view: StatementView, owner: CodeStatement, end: int) -> tuple[str, bool]:
    """Return the answer's text after a statement with clauses, and whether the last clause continues in the suffix."""
    if owner.end <= end:
        return _rest(view, owner.end, end, Allowances()), False
    open_end = view.without_comments(end, owner.end).strip()
    # In a language with braces the suffix may hold the last closing one, which no answer can write twice.
    return "", view.text[owner.end - 1] != "}" or open_end != "}"


def _around_body(
    view: StatementView,
    span: tuple[int, int],
    owner: CodeStatement,
    roots: list[CodeStatement],
    specification: ScaleSpecification,
) -> tuple[str, str, bool]:
    """Return the answer's text before and after a body, and whether the body continues in the suffix."""
    start, end = span
    body_start, body_end = owner.body or (owner.start, owner.end)
    braces = view.text[body_start : body_start + 1] == "{"
    before = _rest(view, start, max(roots[0].start, start), specification.allow)
    # Labels of cases belong to the body, and the statement of the first case begins behind its label.
    if specification.node == "match" and before.startswith(("case", "default")):
        before = ""  # labels of cases belong to the body
    if braces and (body_start >= start or body_end <= end):
        after = _rest(view, body_end, end, specification.allow)
        return before.removeprefix("{").strip(), after, roots[-1].end > end or body_end > end
    unfinished = roots[-1].end > end or (_continues(view, owner, roots[-1], end) if braces else body_end > end)
    return before, "" if unfinished else _rest(view, roots[-1].end, end, specification.allow), unfinished


def _owner(view: StatementView, start: int, roots: list[CodeStatement]) -> CodeStatement | None:
    """Return the statement whose body is in the answer: its header ends the prefix."""
    if not roots or roots[0].parent < 0:
        return None
    owner = view.statements[roots[0].parent]
    if roots[0].branch != "body" or owner.body is None or owner.keyword >= start:
        return None
    first = owner.body[0]
    text = view.text[first:start] if first < start else ""
    # Statements of the body are already in the prefix: the answer would be a part of it, not all.
    if text and view.without_comments(first, start).strip() not in {"", "{"}:
        return None  # the body began in the prefix
    return owner


def _continues(view: StatementView, owner: CodeStatement, last: CodeStatement, end: int) -> bool:
    """Return whether the body of a statement in braces has more statements behind the answer."""
    # Braces tell where the body ends; without them the indentation of the suffix does.
    body_end = owner.body[1] if owner.body else end
    return bool(view.without_comments(max(last.end, end), body_end).strip().removesuffix("}").strip())


def _is_kind(statement: CodeStatement, specification: ScaleSpecification, *, elif_too: bool = False) -> bool:
    # The instruction about a body speaks of an if statement, whose `elif` in the prefix has the same kind of body.
    kind = "if" if elif_too and statement.kind == "elif" else statement.kind
    if kind != specification.node:
        return False
    # `async for` has another meaning than `for`; an `async def` is a function in every sense of an instruction.
    return not statement.asynchronous or specification.allow.asynchronous or kind == "function"


def _kind_name(statement: CodeStatement) -> str:
    return f"async {statement.kind}" if statement.asynchronous else statement.kind


def _begins_line(view: StatementView, statement: CodeStatement) -> bool:
    line_start = statement.keyword - column_at(view.text, statement.keyword)
    return not view.text[line_start : statement.keyword].strip()


def _rest(view: StatementView, start: int, end: int, allow: Allowances) -> str:
    """Return what stands in a span outside of statements, without what is allowed there.

    The semicolon after a last simple statement belongs to it.
    """
    text = view.text[start:end]
    bare = view.without_comments(start, end)
    if not allow.comments and bare != text:
        return text.strip()
    if not allow.blank_lines and has_blank_line(view.text, (start, end)):
        return "a blank line"
    bare = bare.strip()
    # Trees of C-like languages have the semicolon in the statement, `ast` has none.
    is_semicolon = bare.startswith(";") and view.text[start:end].lstrip(" \t").startswith(";")
    return bare[1:].strip() if is_semicolon and view.semicolon_ends_statement else bare


def _fault(view: StatementView, *, kind_ok: bool, reason: str) -> ScaleVerdict:
    return ScaleVerdict(ok=False, parse_ok=view.parse_ok, kind_ok=kind_ok, reason=reason)
