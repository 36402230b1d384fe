"""Verifier of Scale-Control Completion: whether an answer writes as much as its specification says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caretbench.languages import language_of_grammar
from caretbench.suites.c3bench.scale.block_check import check_block
from caretbench.suites.c3bench.scale.lenient_text import lenient_text
from caretbench.suites.c3bench.scale.line_check import check_lines, with_count
from caretbench.suites.c3bench.scale.python_statements import python_statements
from caretbench.suites.c3bench.scale.scale_types import ScaleSpecification, ScaleVerdict
from caretbench.suites.c3bench.scale.span_check import check_node, check_rest_of_line
from caretbench.suites.c3bench.scale.statements import StatementView
from caretbench.suites.c3bench.scale.tree_statements import ParsedFile, tree_statements


def verify(
    prefix: str, middle: str, suffix: str, specification: ScaleSpecification | Mapping[str, Any]
) -> ScaleVerdict:
    """Return the verdict about an answer, checked on the completed file ``prefix + middle + suffix``.

    At the level ``strict`` the text counts as it is. At ``lenient`` it also passes after these changes: the content of
    its first code fence, line feeds at line ends, one line end fewer before and after it, and the indentation of the
    caret.

    Raises:
        pydantic.ValidationError: a mapping is no specification.
        ValueError: the language has no table of statements.
        KeyError: there is no such language.
    """
    if not isinstance(specification, ScaleSpecification):
        specification = ScaleSpecification.model_validate(specification)
    verdict = _verify(prefix, middle, suffix, specification)
    if verdict.ok or specification.level == "strict":
        return verdict
    changed = lenient_text(prefix, middle, suffix, specification)
    return verdict if changed == middle else _verify(prefix, changed, suffix, specification)


class _File:
    """Completed file, parsed when needed."""

    def __init__(self, prefix: str, middle: str, suffix: str, language: str) -> None:
        self.parts = (prefix, middle, suffix, language)

    def parsed(self) -> ParsedFile:
        return ParsedFile.of(*self.parts)

    def statements(self) -> StatementView:
        prefix, middle, suffix, language = self.parts
        if language_of_grammar(language).name == "python":
            return python_statements(prefix + middle + suffix, len(prefix), len(prefix) + len(middle))
        return tree_statements(self.parsed())


def _verify(prefix: str, middle: str, suffix: str, specification: ScaleSpecification) -> ScaleVerdict:
    file = _File(prefix, middle, suffix, specification.language)
    view = file.statements()
    span = (len(prefix), len(prefix) + len(middle))
    if not middle.strip():
        return ScaleVerdict(ok=False, parse_ok=view.parse_ok, unfinished=True, reason="the answer is empty")
    if not specification.allow.trailing_newline and middle.endswith(("\n", "\r")):
        return ScaleVerdict(ok=False, parse_ok=view.parse_ok, leak_after=True, reason="the answer ends with a line end")
    if specification.parse_required and not view.parse_ok:
        return ScaleVerdict(ok=False, parse_ok=False, reason="the completed file does not parse")
    if specification.kind == "block":
        return with_count(check_block(view, span, specification), view, span, specification, file.parsed)
    if specification.kind == "lines":
        return check_lines(view, span, specification, file.parsed)
    if specification.kind == "span_node":
        return check_node(view, span, specification, file.parsed)
    return check_rest_of_line(view, span, specification)
