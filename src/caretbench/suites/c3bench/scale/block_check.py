"""Check of a statement block: the answer is one statement of a kind, or the body of one."""

from __future__ import annotations

import re

from caretbench.suites.c3bench.scale.parsing.statements import (
    CodeStatement,
    StatementView,
    column_at,
    first_reason,
    has_blank_line,
)
from caretbench.suites.c3bench.scale.scale_types import Allowances, ScaleSpecification, ScaleVerdict

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
    words = set(re.findall(r"[^\W\d]\w*", headers[0])) - _WORDS_OF_HEADERS
    return bool(words) and headers[0].split() == headers[1].split()


def _after_clauses(view: StatementView, owner: CodeStatement, end: int) -> tuple[str, bool]:
    """Return the answer's text after a statement with clauses, and whether the last clause continues in the suffix."""
    if owner.end <= end:
        return _rest(view, owner.end, end, Allowances()), False
    open_end = view.without_comments(end, owner.end).strip()
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
    if text and view.without_comments(first, start).strip() not in {"", "{"}:
        return None  # the body began in the prefix
    return owner


def _continues(view: StatementView, owner: CodeStatement, last: CodeStatement, end: int) -> bool:
    """Return whether the body of a statement in braces has more statements behind the answer."""
    body_end = owner.body[1] if owner.body else end
    return bool(view.without_comments(max(last.end, end), body_end).strip().removesuffix("}").strip())


def _is_kind(statement: CodeStatement, specification: ScaleSpecification, *, elif_too: bool = False) -> bool:
    kind = "if" if elif_too and statement.kind == "elif" else statement.kind
    if kind != specification.node:
        return False
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
    is_semicolon = bare.startswith(";") and view.text[start:end].lstrip(" \t").startswith(";")
    return bare[1:].strip() if is_semicolon and view.semicolon_ends_statement else bare


def _fault(view: StatementView, *, kind_ok: bool, reason: str) -> ScaleVerdict:
    return ScaleVerdict(ok=False, parse_ok=view.parse_ok, kind_ok=kind_ok, reason=reason)
