"""Checks of an answer's extent: whole lines or statements, the rest of a line, one node, a statement block."""

from __future__ import annotations

import re
from collections.abc import Sequence

import tree_sitter

from caretbench.languages.node_kinds import node_kinds
from caretbench.suites.c3bench.scale.scale_types import LineUnit, ScaleSpecification, ScaleVerdict
from caretbench.suites.c3bench.scale.statements import (
    CodeStatement,
    ParsedFile,
    StatementView,
    answer_nodes,
    code_line_count,
    column_at,
    first_reason,
)
from caretbench.syntax.parser import LINE_END, encode

_BRACKETS = {"(": ")", "[": "]", "{": "}"}


def is_one_node(parsed: ParsedFile, node_class: str) -> bool:
    """Return whether the answer, without spaces and tabs around it, is a node of a class; arguments: one or several."""
    answer = encode(parsed.text)[parsed.start : parsed.end]
    start = parsed.start + len(answer) - len(answer.lstrip(b" \t"))
    end = parsed.end - (len(answer) - len(answer.rstrip(b" \t")))
    if start >= end:
        return False
    places = parsed.table.nodes.get(node_class, ())
    path = _path(parsed.tree.root_node, (start, end))
    around = [node for node in path if (node.start_byte, node.end_byte) != (start, end)]
    within = path[len(around) :]
    if any(is_at([*around, *within[: index + 1]], places) for index in range(len(within))):
        return True
    if node_class != "argument" or not around:
        return False
    if _is_only_argument(around, (start, end)):
        return True
    if all(around[-1].type != parent for parent, _field in places):
        return False
    named = [child for child in around[-1].named_children if child.start_byte >= start and child.end_byte <= end]
    return bool(named) and (named[0].start_byte, named[-1].end_byte) == (start, end)


def _path(node: tree_sitter.Node, span: tuple[int, int]) -> list[tree_sitter.Node]:
    """Return the nodes that contain a span, the outermost first."""
    containing_nodes: list[tree_sitter.Node] = []
    inner: tree_sitter.Node | None = node
    while inner is not None:
        containing_nodes.append(inner)
        containing = (child for child in inner.children if child.start_byte <= span[0] and span[1] <= child.end_byte)
        inner = next((child for child in containing if child.end_byte > child.start_byte), None)
    return containing_nodes


def is_at(path: Sequence[tree_sitter.Node], places: tuple[tuple[str, str], ...]) -> bool:
    """Return whether the last node of a path is at one of the places; brackets around it count as the node."""
    node = path[-1]
    for parent in reversed(path[:-1]):
        if not node.is_named:
            return False
        if any(parent.type == kind and (not field or _is_field(parent, field, node)) for kind, field in places):
            return True
        if parent.type not in node_kinds().parentheses:
            return False
        node = parent
    return False


def _is_field(parent: tree_sitter.Node, field: str, node: tree_sitter.Node) -> bool:
    """Return whether a node is the field of its parent; a number names a place among the named children."""
    if field.isdecimal():
        named = [child for child in parent.named_children if "comment" not in child.type]
        return len(named) > int(field) and named[int(field)].id == node.id
    return any(child.id == node.id for child in parent.children_by_field_name(field))


def _is_only_argument(path: Sequence[tree_sitter.Node], span: tuple[int, int]) -> bool:
    """Return whether a span is a generator expression between the brackets of a call, which are its own."""
    kinds = node_kinds()
    is_argument = path[-1].type in kinds.generator_expressions and len(path) > 1 and path[-2].type in kinds.calls
    inner = [child for child in path[-1].children if child.type not in "()"]
    return is_argument and bool(inner) and (inner[0].start_byte, inner[-1].end_byte) == span


def has_open_line_end(parsed: ParsedFile) -> bool:
    """Return whether a line of the answer ends outside of brackets and strings."""
    ends = re.compile(b"\n").finditer(encode(parsed.text), parsed.start, parsed.end)
    return any(not _is_enclosed(parsed, end.start()) for end in ends)


def _is_enclosed(parsed: ParsedFile, position: int) -> bool:
    node: tree_sitter.Node | None = parsed.tree.root_node
    while node is not None:
        inner = None
        opened: list[str] = []
        for child in node.children:
            if child.end_byte <= position:
                if child.type in _BRACKETS:
                    opened.append(_BRACKETS[child.type])
                elif opened and child.type == opened[-1]:
                    opened.pop()
            elif child.start_byte <= position:
                inner = child
        if opened or (inner is not None and inner.type in parsed.table.opaque):
            return True
        node = inner
    return False


def check_lines(
    view: StatementView, span: tuple[int, int], specification: ScaleSpecification, parsed: ParsedFile
) -> ScaleVerdict:
    """Return the verdict about lines; ``span`` is the span of the answer in ``view.text``."""
    count = count_in_unit(view, span, specification.unit, parsed)
    line_fault = _whole_lines_fault(view, span[1])
    outside, open_statement = _outside(view, span, specification)
    roots = view.roots(*span) if specification.unit == "statement" else []
    at_another_level = bool(roots) and _at_another_level(view, roots[0], specification)
    reason = first_reason(
        (count != specification.n, _count_text(count, specification)),
        (line_fault, line_fault),
        (outside, "the answer also writes outside of the statements at the caret"),
        (open_statement, "the last statement continues in the suffix"),
        (at_another_level, f"the first statement begins in another column than {specification.column}"),
    )
    return ScaleVerdict(reason, count)


def _outside(view: StatementView, span: tuple[int, int], specification: ScaleSpecification) -> tuple[bool, bool]:
    """Return whether an answer of statements writes before them or after them, and whether the last one is open."""
    start, end = span
    roots = view.roots(start, end)
    if specification.unit != "statement" or not roots:
        return False, False
    first, last = roots[0], roots[-1]
    # A caret within a line completes a statement of the prefix first; what it writes before the next statement belongs
    # there.
    begun = view.text[start - column_at(view.text, start) : start].strip()  # a statement of the prefix
    before = "" if begun else view.without_comments(start, max(start, first.start)).strip()
    after = last.end <= end and view.without_comments(last.end, end).strip(" \t\r\n\f;")
    elsewhere = any((statement.parent, statement.branch) != (first.parent, first.branch) for statement in roots)
    return bool(before or after) or elsewhere, last.end > end


def _at_another_level(view: StatementView, first: CodeStatement, specification: ScaleSpecification) -> bool:
    """Return whether the first statement begins its line in another column than the reference does."""
    column = column_at(view.text, first.keyword)
    begins = not view.text[first.keyword - column : first.keyword].strip()
    return specification.column is not None and begins and column != specification.column


def count_in_unit(view: StatementView, span: tuple[int, int], unit: LineUnit, parsed: ParsedFile) -> int:
    """Return the number of lines or statements in the answer."""
    if unit == "code_line":
        return code_line_count(parsed)
    roots = view.roots(*span)
    return sum(statement.branch == roots[0].branch and statement.parent == roots[0].parent for statement in roots)


def _count_text(count: int, specification: ScaleSpecification) -> str:
    return f"{count} {specification.unit.replace('_', ' ')}s, not {specification.n}"


def _whole_lines_fault(view: StatementView, end: int) -> str:
    """Return why the last line of the answer is no whole line; empty if it is one."""
    text = view.text
    # An answer that ends within a line has written half of it, and the suffix writes the rest.
    if not (end == len(text) or text[end] in "\r\n" or text[end - 1] in "\r\n"):
        return "the last line continues in the suffix"
    if not view.ends_line(end):
        return "a bracket, a string or a statement is open after the last line"
    return ""


def check_rest_of_line(view: StatementView, span: tuple[int, int], parsed: ParsedFile) -> ScaleVerdict:
    """Return the verdict about the rest of a line; ``span`` is the span of the answer in ``view.text``.

    Where the suffix begins within the line, the line ends in the suffix.
    """
    start, end = span
    middle = view.text[start:end]
    first = start + len(middle) - len(middle.lstrip())
    extra = sum(statement.keyword > first for statement in view.roots(start, end))
    rest = LINE_END.split(view.text[end:], maxsplit=1)[0]
    # `# done` at the caret turns the rest of the line, closing brackets included, into a comment.
    comments = (node for node in answer_nodes(parsed) if node.type in parsed.table.comments)
    hidden = bool(rest.strip()) and any(node.end_byte > parsed.end for node in comments)
    # `total = total = a * b` computes the same, so that no test refuses it.
    line = view.text[start - column_at(view.text, start) : start].strip()
    again = line.endswith("=") and middle.lstrip().startswith(line)
    reason = first_reason(
        (LINE_END.search(middle), "the answer has more than one line"),
        (again, "the answer repeats the line, which is in the prefix"),
        (hidden, "a comment of the answer contains the rest of the line, which is in the suffix"),
        (extra, f"{extra} more statements on the line"),
        (not view.ends_line(end + len(rest)), "a bracket, a string or a statement is open at the end of the line"),
    )
    return ScaleVerdict(reason)


def check_node(specification: ScaleSpecification, parsed: ParsedFile) -> ScaleVerdict:
    """Return the verdict about one node."""
    if not is_one_node(parsed, str(specification.node)):
        return ScaleVerdict(f"the answer is not one node of class {specification.node}")
    return ScaleVerdict("a line of the answer ends outside of brackets" if has_open_line_end(parsed) else "")


_WORDS_OF_HEADERS = frozenset({"try", "while", "if", "for", "true", "True", "async"})


def check_block(
    view: StatementView, span: tuple[int, int], specification: ScaleSpecification, parsed: ParsedFile
) -> ScaleVerdict:
    """Return the verdict about a block, with its number of lines where the specification has one.

    ``span`` is the span of the answer in ``view.text``.
    """
    fault = (_body_fault if specification.header_in_prefix else _statement_fault)(view, span, specification)
    if specification.n is None or fault:
        return ScaleVerdict(fault)
    # A body written twice is a body: only its number of lines refuses it.
    count = count_in_unit(view, span, specification.unit, parsed)
    return ScaleVerdict("" if count == specification.n else _count_text(count, specification), count)


def _statement_fault(view: StatementView, span: tuple[int, int], specification: ScaleSpecification) -> str:
    start, end = span
    roots = view.roots(start, end)
    if not roots:
        return "no statement begins in the answer"
    first, last = roots[0], roots[-1]
    extra = len(roots) - 1
    before = _rest(view, start, max(first.start, start))
    after = "" if last.end > end else _rest(view, last.end, end)
    column = column_at(view.text, first.keyword)
    # A loop that leaves its function at the end of a file cannot be told from one that stays, except by its column.
    level = _at_another_level(view, first, specification)
    return first_reason(
        (before, f"text before the statement continues the prefix: {before[:40]!r}"),
        (not _is_kind(first, specification), f"the statement is of kind {_kind_name(first)}, not {specification.node}"),
        (extra, f"{extra} more statements follow the first"),
        (last.end > end, "the statement continues in the suffix"),
        (after, f"text follows the statement: {after[:40]!r}"),
        (level, f"the statement begins in column {column}, not {specification.column}: another nesting level"),
    )


def _body_fault(view: StatementView, span: tuple[int, int], specification: ScaleSpecification) -> str:
    start, end = span
    roots = view.roots(start, end)
    owner = _owner(view, start, roots)
    if owner is None:
        return "no statement whose header ends the prefix has its body in the answer"
    if not _is_kind(owner, specification, elif_too=True):
        return f"the header is of kind {_kind_name(owner)}, not {specification.node}"
    index = list(view.statements).index(owner)
    inside = [statement for statement in roots if statement.parent == index and statement.branch == "body"]
    outside = len(roots) - len(inside)
    before, after, unfinished = _around_body(view, span, owner, roots, specification)
    return first_reason(
        (before, f"text before the body continues the header: {before[:40]!r}"),
        # An answer that writes the whole loop again parses as a loop in a loop.
        (_repeats_header(view, owner, inside), "the answer repeats the header, which is in the prefix"),
        (outside > 0, f"{outside} statements of the answer are not in the body"),
        (not inside, "no statement of the body begins in the answer"),
        (unfinished, "the body continues in the suffix"),
        (after, f"text follows the body: {after[:40]!r}"),
    )


def _repeats_header(view: StatementView, owner: CodeStatement, inside: list[CodeStatement]) -> bool:
    """Return whether the first statement of a body has the same header as its owner.

    A header without names may be there twice: ``try``, or ``while True``.
    """
    if not inside or inside[0].kind != owner.kind:
        return False
    headers = [view.text[statement.keyword : statement.header_end] for statement in (owner, inside[0])]
    # `try` within `try` and `while True` within `while True` are ordinary programs; a header with the same names twice
    # is a repetition.
    words = set(re.findall(r"[^\W\d]\w*", headers[0])) - _WORDS_OF_HEADERS
    return bool(words) and headers[0].split() == headers[1].split()


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
    before = _rest(view, start, max(roots[0].start, start))
    # Labels of cases belong to the body, and the statement of the first case begins behind its label.
    if specification.node == "match" and before.startswith(("case", "default")):
        before = ""  # labels of cases belong to the body
    if braces and (body_start >= start or body_end <= end):
        after = _rest(view, body_end, end)
        return before.removeprefix("{").strip(), after, roots[-1].end > end or body_end > end
    unfinished = roots[-1].end > end or (_continues(view, owner, roots[-1], end) if braces else body_end > end)
    return before, "" if unfinished else _rest(view, roots[-1].end, end), unfinished


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
    # `async for` has another meaning than `for`; an `async def` is a function in every sense of an instruction.
    return kind == specification.node and (not statement.asynchronous or kind == "function")


def _kind_name(statement: CodeStatement) -> str:
    return f"async {statement.kind}" if statement.asynchronous else statement.kind


def _rest(view: StatementView, start: int, end: int) -> str:
    """Return what is in a span outside of statements and comments.

    The semicolon after a last simple statement belongs to it.
    """
    bare = view.without_comments(start, end).strip()
    # Trees of C-like languages have the semicolon in the statement, `ast` has none.
    is_semicolon = bare.startswith(";") and view.text[start:end].lstrip(" \t").startswith(";")
    return bare[1:].strip() if is_semicolon and view.semicolon_ends_statement else bare
