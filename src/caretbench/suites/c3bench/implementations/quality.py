"""Quality of implementations: distance between their trees, and faults of style."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from string import Template
from typing import Any, NamedTuple

import tree_sitter
from rapidfuzz.distance import Indel

from caretbench.execution.execution_types import ExecutionResult
from caretbench.languages import language_of_grammar
from caretbench.languages.node_kinds import node_kinds
from caretbench.syntax.parser import LINE_END, parse, python_module

# One other name in a middle of 40 nodes is a distance of .0125, two are .025: such versions follow the same
# instruction.
MIN_TREE_DISTANCE = 0.03
"""Smallest distance between two implementations that are kept side by side."""

MAX_LINE = 99
"""Largest number of characters of a line; PEP 8 allows teams up to 99."""

_IGNORED = (
    "E121", "E123", "E126", "E133", "E226", "E24", "E704", "W503", "W504",  # not agreed on: pycodestyle's own default
    "W292", "W391",  # the end of the file
    "E9",  # faults of syntax are no faults of style
)  # fmt: skip
_BLANK_LINES = "E30"


class StyleFault(NamedTuple):
    """Fault of style: its line (from 1), its code, and what is wrong."""

    line: int
    code: str
    text: str


def tree_distance(first: str, second: str, language: str = "python") -> float:
    """Return the normalised distance of two implementations' trees: 0 for the same tree, 1 for nothing in common.

    It is the edit distance (insertions and deletions) of the trees' nodes in order of their text, each with an opening
    and a closing mark, divided by the number of marks of both. Layout, comments, texts that stand alone (docstrings)
    and brackets without effect do not count. The texts may be indented parts of a program; what does not parse is
    compared by the tokens that the grammar still finds.
    """
    marks = [list(_marks(text, language)) for text in (first, second)]
    return float(Indel.normalized_distance(*marks))


def _marks(text: str, language: str) -> Iterator[str]:
    if language_of_grammar(language).name == "python":
        module = python_module(textwrap.dedent(text.expandtabs()))
        if module is not None:
            return _python_marks(module)
    return _tree_marks(parse(text, language).root_node)


def _python_marks(module: ast.Module) -> Iterator[str]:
    waiting: list[ast.AST | str] = list(reversed(module.body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            yield node
            continue
        match node:
            # A docstring more is no other implementation.
            case ast.Expr(value=ast.Constant(value=str())):
                continue
        label, children = _python_node(node)
        yield label
        waiting.append(")")
        waiting.extend(reversed(children))


def _python_node(node: ast.AST) -> tuple[str, list[ast.AST | str]]:
    """Return the label of a node, and its children; marks tell the lists of statements apart."""
    words = [type(node).__name__]
    children: list[ast.AST | str] = []
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.expr_context) or name in {"kind", "type_comment"}:
            continue
        if isinstance(value, ast.AST):
            children.append(value)
        elif isinstance(value, list) and value and all(isinstance(item, ast.AST) for item in value):
            # Without the marks the bodies of `if` and `else` could be exchanged without a distance.
            children += [f"{name}:", *value]
        elif value is not None and value != []:
            words.append(f"{name}={value!r}")
    return " ".join(words), children


def _tree_marks(root: tree_sitter.Node) -> Iterator[str]:
    kinds = node_kinds()
    waiting: list[tree_sitter.Node | str] = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            yield node
        # `(a) + b` and `a + b` are one tree in Python and two in grammars.
        elif node.type in kinds.parentheses:
            waiting.extend(reversed(node.named_children))
        elif node.child_count == 0:
            yield f"{node.type} {(node.text or b'').decode('utf-8', 'replace')}" if node.is_named else node.type
        elif "comment" not in node.type:
            yield node.type
            waiting.append(")")
            waiting.extend(reversed([child for child in node.children if "comment" not in child.type]))


def style_faults(text: str, language: str = "python", span: tuple[int, int] | None = None) -> list[StyleFault]:
    """Return the faults of style of a program, or of the lines that a span of characters touches.

    Python is checked by PEP 8 (:mod:`pycodestyle`, lines of at most 99 characters). In other languages, layout alone
    is checked: long lines, spaces at the end, indentation that mixes spaces before tabs, and more than two blank lines.
    Blank lines before the first line of a span belong to what surrounds it. Files of settings change nothing.
    """
    is_python = language_of_grammar(language).name == "python"
    faults = _python_faults(text) if is_python else list(_layout_faults(text))
    if span is None:
        return faults
    first = len(LINE_END.findall(text[: span[0]])) + 1
    last = first + len(LINE_END.findall(text[span[0] : span[1]].rstrip()))
    # pycodestyle counts blank lines against the line that follows them, and those before a middle are the prefix's.
    lead = len(LINE_END.findall(text[span[0] : span[1]])) - len(LINE_END.findall(text[span[0] : span[1]].lstrip()))
    return [
        fault
        for fault in faults
        if first <= fault.line <= last and not (fault.code.startswith(_BLANK_LINES) and fault.line <= first + lead)
    ]


def _python_faults(text: str) -> list[StyleFault]:
    import pycodestyle

    lines = [f"{line}\n" for line in LINE_END.split(text)]
    faults: list[StyleFault] = []

    class _Report(pycodestyle.BaseReport):  # type: ignore[misc]
        def error(self, line_number: int, offset: int, text: str, check: object) -> str | None:
            code: str | None = super().error(line_number, offset, text, check)
            if code:
                faults.append(StyleFault(line_number, code, text[5:]))
            return code

    # Settings of the user's project would decide which problems a build keeps.
    options = _style_guide().options
    pycodestyle.Checker("<answer>", lines=lines, options=options, report=_Report(options)).check_all()
    return faults


@cache
def _style_guide() -> Any:
    import pycodestyle

    return pycodestyle.StyleGuide(
        select=(), ignore=_IGNORED, max_line_length=MAX_LINE, max_doc_length=None, indent_size=4, hang_closing=False,
        quiet=2, verbose=0, repeat=True,
    )  # fmt: skip


def _layout_faults(text: str) -> Iterator[StyleFault]:
    blank = 0
    for number, line in enumerate(LINE_END.split(text), 1):
        blank = 0 if line.strip() else blank + 1
        if len(line) > MAX_LINE:
            yield StyleFault(number, "E501", f"line too long ({len(line)} > {MAX_LINE} characters)")
        if line.strip() and line != line.rstrip():
            yield StyleFault(number, "W291", "trailing whitespace")
        if re.match(r"[ \t]* \t", line):
            yield StyleFault(number, "E101", "indentation contains spaces before tabs")
        if blank == 3:
            yield StyleFault(number, "E303", "too many blank lines")


def quality_reject(prefix: str, middle: str, suffix: str, others: Sequence[str], language: str = "python") -> str:
    """Return the reason why an implementation is not kept; empty if it is.

    The reason begins with its kind: ``too_similar`` (nearer than :data:`MIN_TREE_DISTANCE` to one of ``others``: the
    reference, and the implementations that are kept already) or ``style``.
    """
    for other in others:
        distance = tree_distance(middle, other, language)
        if distance < MIN_TREE_DISTANCE:
            return f"too_similar: tree distance {distance:.3f} to another implementation, below {MIN_TREE_DISTANCE}"
    span = (len(prefix), len(prefix) + len(middle))
    faults = style_faults(prefix + middle + suffix, language, span)
    if faults:
        return f"style: line {faults[0].line}: {faults[0].code} {faults[0].text}"
    return ""


class AgreementFault(NamedTuple):
    """Reason why implementations do not agree, with the program's own message."""

    reason: str
    detail: str


_REASONS = {"more than": "slow", "differs for": "differs", "only ": "few_inputs"}
"""Reasons by the beginnings of the messages of ``agreement_harness.txt``."""

_LIMITS = {
    "inputs": 100,  # on which both must agree
    "tries": 3000,  # most mutations
    "max_lines": 20_000,  # a reference that executes more for an input is not compared there
    "line_factor": 8,  # most lines of an implementation, as a multiple of the reference's; 500 more are allowed
}
"""Bounds of a comparison."""


@cache
def packaged_template(package: str, name: str) -> Template:
    """Return the template in a file of a package."""
    return Template(resources.files(package).joinpath(name).read_text("utf-8"))


def agreement_program(reference: str, variant: str, test: str, entry_point: str) -> str:
    """Return a program that ends normally if two implementations agree; all its parts are untrusted.

    Args:
        reference: Program with the reference implementation of the function.
        variant: Program with the other implementation.
        test: Program that defines ``check(candidate)``, as in HumanEval.
        entry_point: Name of the function.
    """
    texts = {"reference": reference, "variant": variant, "test": test, "entry_point": entry_point}
    template = packaged_template(__package__, "agreement_harness.txt")
    return template.substitute({name: repr(text) for name, text in texts.items()}, **_LIMITS)


def agreement_fault(result: ExecutionResult) -> AgreementFault:
    """Return the reason why a program of :func:`agreement_program` failed: ``error`` where a test or the code fails."""
    lines = [line for line in result.stderr.text.strip().split("\n") if line.strip()]
    detail = (lines[-1] if lines else "").removeprefix("AssertionError: ")[:160]
    reason = next((reason for start, reason in _REASONS.items() if detail.startswith(start)), "error")
    return AgreementFault(reason, detail)
