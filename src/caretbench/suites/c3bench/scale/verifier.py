"""Verifier of Scale-Control Completion: whether an answer writes as much as its specification says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caretbench.extraction.caret_surroundings import MAX_TEXT_CHARACTERS
from caretbench.files import replace_surrogates
from caretbench.languages import language_of_grammar
from caretbench.suites.c3bench.scale.block_check import check_block
from caretbench.suites.c3bench.scale.lenient_text import lenient_texts
from caretbench.suites.c3bench.scale.line_check import check_lines, with_count
from caretbench.suites.c3bench.scale.parsing.python_statements import python_statements
from caretbench.suites.c3bench.scale.parsing.statement_table import statement_table
from caretbench.suites.c3bench.scale.parsing.statements import StatementView
from caretbench.suites.c3bench.scale.parsing.tree_statements import ParsedFile, tree_statements
from caretbench.suites.c3bench.scale.scale_types import ScaleSpecification, ScaleVerdict, SpecificationError
from caretbench.suites.c3bench.scale.span_check import check_node, check_rest_of_line
from caretbench.syntax.bounded_parsing import PROBE_MB, PROBE_SECONDS, takes_too_much


def verify(
    prefix: str, middle: str, suffix: str, specification: ScaleSpecification | Mapping[str, Any]
) -> ScaleVerdict:
    """Return the verdict about an answer, checked on the completed file ``prefix + middle + suffix``.

    At the level ``strict`` the text counts as it is. At ``lenient`` it also passes after these changes: the content of
    its first code fence, line feeds at line ends, one line end fewer before and after it, and the indentation of the
    caret.

    Raises:
        SpecificationError: a mapping is no specification, or its language is not verified.
    """
    if not isinstance(specification, ScaleSpecification):
        specification = ScaleSpecification.of(specification)
    require_statements(specification.language)
    prefix, middle, suffix = map(replace_surrogates, (prefix, middle, suffix))
    if reason := _refusal(prefix, middle, suffix, specification.language):
        return ScaleVerdict(ok=False, parse_ok=False, reason=reason)
    verdict = _verify(prefix, middle, suffix, specification)
    if verdict.ok or specification.level == "strict":
        return verdict
    for changed in lenient_texts(prefix, middle, suffix, specification):
        if changed != middle and not verdict.ok:
            verdict = _verify(prefix, changed, suffix, specification)
    return verdict


def _refusal(prefix: str, middle: str, suffix: str, language: str) -> str | None:
    """Return the reason for which an answer is not even parsed; None if it is."""
    if len(middle) > MAX_TEXT_CHARACTERS:
        return f"the answer has {len(middle):,} characters, more than {MAX_TEXT_CHARACTERS:,}"
    if takes_too_much(middle, (prefix + middle + suffix,), language):
        return f"to parse the file takes more than {PROBE_MB:,} MB or {PROBE_SECONDS} s"
    return None


def require_statements(language: str) -> None:
    """Raise SpecificationError if a language has no table of statements."""
    try:
        statement_table(language)
    except (KeyError, ValueError) as error:
        raise SpecificationError(f"specification: language: {error.args[0]}") from None


class _File:
    """Completed file, parsed when needed."""

    def __init__(self, prefix: str, middle: str, suffix: str, language: str) -> None:
        self.parts = (prefix, middle, suffix, language)

    def parsed(self) -> ParsedFile:
        return ParsedFile.of(*self.parts)

    def statements(self, *, parse_required: bool) -> StatementView:
        """Return the statements: in Python those of its own parser, or of the grammar where the file need not parse."""
        prefix, middle, suffix, language = self.parts
        if language_of_grammar(language).name != "python":
            return tree_statements(self.parsed(), parse_required=parse_required)
        view = python_statements(prefix + middle + suffix, len(prefix), len(prefix) + len(middle))
        if view.parse_ok or parse_required:
            return view
        return tree_statements(self.parsed(), parse_required=False)._replace(parse_ok=False)


def _verify(prefix: str, middle: str, suffix: str, specification: ScaleSpecification) -> ScaleVerdict:
    file = _File(prefix, middle, suffix, specification.language)
    view = file.statements(parse_required=specification.parse_required)
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
    return check_rest_of_line(view, span, specification, file.parsed)
