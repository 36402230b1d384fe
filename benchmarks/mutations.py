"""Small syntactic changes of single lines of Python."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

_OPPOSITES: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", ">="),
    ast.LtE: ("<=", ">"),
    ast.Gt: (">", "<="),
    ast.GtE: (">=", "<"),
    ast.In: (r"\bin\b", "not in"),
    ast.NotIn: (r"\bnot\s+in\b", "in"),
    ast.Is: (r"\bis\b", "is not"),
    ast.IsNot: (r"\bis\s+not\b", "is"),
}


@dataclass(frozen=True)
class Mutation:
    """A part of a line, in bytes, and what replaces it."""

    kind: str
    line: int
    start: int
    end: int
    text: str

    def apply(self, source: bytes) -> bytes:
        """Return the changed source."""
        lines = source.splitlines(keepends=True)
        line = lines[self.line - 1]
        lines[self.line - 1] = line[: self.start] + self.text.encode() + line[self.end :]
        return b"".join(lines)


class _Finder(ast.NodeVisitor):
    def __init__(self, source: bytes) -> None:
        self._lines = source.splitlines()
        self.found: list[Mutation] = []

    def _text(self, line: int, start: int, end: int) -> str:
        return self._lines[line - 1][start:end].decode()

    def _replace(self, kind: str, node: ast.expr | ast.stmt, text: str) -> None:
        if node.lineno == node.end_lineno and node.end_col_offset is not None:
            self.found.append(Mutation(kind, node.lineno, node.col_offset, node.end_col_offset, text))

    def _between(self, kind: str, left: ast.expr, right: ast.expr, old: str, new: str) -> None:
        """Replace what is written between two expressions, where both are on one line."""
        if left.end_lineno != right.lineno or left.end_col_offset is None:
            return
        written = self._text(right.lineno, left.end_col_offset, right.col_offset)
        changed = re.sub(old, new, written, count=1)
        if changed != written:
            self.found.append(Mutation(kind, right.lineno, left.end_col_offset, right.col_offset, changed))

    def _negate(self, test: ast.expr) -> None:
        if test.lineno == test.end_lineno and test.end_col_offset is not None:
            self._replace("not added", test, f"(not ({self._text(test.lineno, test.col_offset, test.end_col_offset)}))")

    def visit_Compare(self, node: ast.Compare) -> None:
        self._between("comparison flipped", node.left, node.comparators[0], *_OPPOSITES[type(node.ops[0])])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        self._between("and/or swapped", node.values[0], node.values[1], rf"\b{old}\b", new)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._replace("constant changed", node, str(not node.value))
        elif isinstance(node.value, int | float):
            self._replace("constant changed", node, str(node.value + 1))

    def visit_If(self, node: ast.If) -> None:
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self._negate(node.test)
            self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        if not isinstance(node.test, ast.Constant):
            self._negate(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._negate(test)
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            self._replace("return value replaced", node.value, "None")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self._delete(node)
        self.generic_visit(node)

    def _delete(self, node: ast.stmt) -> None:
        self._replace("statement deleted", node, "pass")

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._delete(node)
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        self._delete(node)
        self.generic_visit(node)

    def visit_Continue(self, node: ast.Continue) -> None:
        self._delete(node)

    def visit_Break(self, node: ast.Break) -> None:
        self._delete(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None:
        """Annotations of parameters hold no code that runs."""

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for part in (*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults), *node.body):
            self.visit(part)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)


def mutations(source: bytes) -> list[Mutation]:
    """Return the possible mutations of a module, in the order of its lines; some of them may not parse."""
    finder = _Finder(source)
    finder.visit(ast.parse(source))
    return sorted(finder.found, key=lambda one: (one.line, one.start))


def parses(source: bytes) -> bool:
    """Return whether this is Python."""
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True
