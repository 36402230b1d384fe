"""Statements of Python programs, by Python's own parser."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from caretbench.suites.c3bench.scale.statements import CodeStatement, StatementView
from caretbench.syntax.parser import LINE_END, PythonPositions, python_module

_KINDS: dict[type[ast.stmt], str] = {
    ast.For: "for", ast.AsyncFor: "for", ast.While: "while", ast.If: "if", ast.Try: "try", ast.With: "with",
    ast.AsyncWith: "with", ast.Match: "match", ast.FunctionDef: "function", ast.AsyncFunctionDef: "function",
    ast.ClassDef: "class",
} | ({ast.TryStar: "try"} if hasattr(ast, "TryStar") else {})  # fmt: skip
_ASYNCHRONOUS = (ast.AsyncFor, ast.AsyncWith, ast.AsyncFunctionDef)
_HEADER_FIELDS = (
    "target", "iter", "test", "items", "subject", "args", "returns", "bases", "keywords",
    "type_params", "type", "pattern", "guard",
)  # fmt: skip
_COMMENT = re.compile(r"#[^\r\n]*")
_NO_COLON = re.compile(r"(?:[^#:]|#[^\r\n]*)*:")


def python_statements(text: str, start: int, end: int) -> StatementView:
    """Return the statements of a program that touch the characters from ``start`` to ``end``."""
    shift = int(text.startswith("\ufeff"))
    module = python_module(text[shift:])
    pieces: list[tuple[int, int]] = []
    statements = [] if module is None else _collect(module, PythonPositions(text, shift), (start, end), pieces)
    return StatementView(
        text,
        module is not None,
        statements,
        lambda first, last: _COMMENT.sub("", text[first:last]),
        lambda position: _ends_line(text, pieces, position),
    )


def _ends_line(text: str, pieces: Sequence[tuple[int, int]], position: int) -> bool:
    """Return whether no piece continues after a position at a line's end, and no backslash continues the line."""
    if any(start < position < end for start, end in pieces):
        return False
    closed = max((end for _, end in pieces if end <= position), default=0)
    lines = LINE_END.split(text[closed:position])
    line = lines[-2] if len(lines) > 1 and not lines[-1] else lines[-1]
    # A backslash in a comment continues nothing.
    return not line.endswith("\\") or "#" in line


def _collect(
    module: ast.Module, positions: PythonPositions, span: tuple[int, int], pieces: list[tuple[int, int]]
) -> list[CodeStatement]:
    """Return the statements that touch a span, and add their pieces: simple statements, headers and decorators."""
    first, last = map(positions.line, span)
    found: list[CodeStatement] = []
    waiting: list[tuple[ast.stmt, int, str]] = [(one, -1, "body") for one in reversed(module.body)]
    while waiting:
        node, parent, branch = waiting.pop()
        # `ast` numbers lines, so whole statements outside of the answer's lines are skipped without a look at
        # positions.
        if (node.end_lineno or node.lineno) < first or _first_line(node) > last:
            continue
        found.append(_statement(node, parent, branch, positions))
        pieces += _pieces(node, found[-1], positions)
        if found[-1].kind != "simple":
            index = len(found) - 1
            waiting.extend(reversed([(child, index, part) for child, part in _children(node)]))
    return found


def _children(node: ast.stmt) -> Iterator[tuple[ast.stmt, str]]:
    for field in ("body", "handlers", "cases", "orelse", "finalbody"):
        for child in getattr(node, field, ()):
            if isinstance(child, ast.stmt):
                yield child, field
            else:  # a handler, or a case: cases are the body of their statement
                yield from ((one, "body" if field == "cases" else field) for one in child.body)


def _pieces(node: ast.stmt, statement: CodeStatement, positions: PythonPositions) -> Iterator[tuple[int, int]]:
    """Yield the spans of logical lines: of a simple statement, or of headers and decorators of a compound one."""
    yield statement.keyword, statement.end if statement.header_end is None else statement.header_end
    for one in getattr(node, "decorator_list", ()):
        yield positions(one.lineno, one.col_offset), positions(one.end_lineno, one.end_col_offset)
    for one in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        place = one.pattern if isinstance(one, ast.match_case) else one
        start = positions(place.lineno, place.col_offset)
        yield start, _header_end(one, start, positions(one.body[0].lineno, one.body[0].col_offset), positions)


def _first_line(node: ast.stmt) -> int:
    return min((one.lineno for one in getattr(node, "decorator_list", ())), default=node.lineno)


def _statement(node: ast.stmt, parent: int, branch: str, positions: PythonPositions) -> CodeStatement:
    text = positions.text
    keyword = positions(node.lineno, node.col_offset)
    end = positions(node.end_lineno or node.lineno, node.end_col_offset or 0)
    decorators = getattr(node, "decorator_list", ())
    start = text.rfind("@", 0, positions(decorators[0].lineno, decorators[0].col_offset)) if decorators else keyword
    kind = _KINDS.get(type(node), "simple")
    if kind == "simple":
        return CodeStatement(start, end, keyword, kind, parent, branch)
    # For `ast` an `elif` is an `if` in the `else` of another; only the text tells them apart.
    if kind == "if" and branch == "orelse" and text.startswith("elif", keyword):
        kind = "elif"
    children = [child for child, part in _children(node) if part == "body"]
    body = (_position(children[0], positions), _end(children[-1], positions))
    return CodeStatement(
        start, end, keyword, kind, parent, branch,
        isinstance(node, _ASYNCHRONOUS), _header_end(node, keyword, body[0], positions), body,
    )  # fmt: skip


def _position(node: ast.stmt, positions: PythonPositions) -> int:
    return positions(_first_line(node), node.col_offset)


def _end(node: ast.stmt, positions: PythonPositions) -> int:
    return positions(node.end_lineno or node.lineno, node.end_col_offset or 0)


def _header_end(node: ast.AST, keyword: int, body: int, positions: PythonPositions) -> int:
    """Return the position after the colon of a compound statement's header."""
    after = keyword
    parts: list[ast.AST] = []
    for name in _HEADER_FIELDS:
        value = getattr(node, name, None)
        parts += value if isinstance(value, list) else [value] if value is not None else []
    for part in parts:
        inner = ast.iter_child_nodes(part) if isinstance(part, ast.arguments | ast.withitem) else [part]
        for one in inner:
            line = getattr(one, "end_lineno", None)
            if line is not None:
                after = max(after, positions(line, one.end_col_offset))  # type: ignore[attr-defined]
    # `ast` has no tokens: the colon is searched behind the last part of the header, since slices, lambdas and
    # annotations contain colons, too.
    colon = _NO_COLON.match(positions.text, after, body)
    return colon.end() if colon else body
