"""Middles of source files with their specifications: spans, runs of lines, and statement blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from caretbench.languages import language_of_grammar
from caretbench.suites.c3bench.scale.line_check import count_in_unit
from caretbench.suites.c3bench.scale.parsing.node_spans import node_spans
from caretbench.suites.c3bench.scale.parsing.python_statements import python_statements
from caretbench.suites.c3bench.scale.parsing.statements import CodeStatement, StatementView, column_at
from caretbench.suites.c3bench.scale.parsing.tree_statements import ParsedFile, tree_statements
from caretbench.suites.c3bench.scale.scale_types import NODE_CLASSES, ScaleSpecification
from caretbench.suites.c3bench.scale.verifier import verify
from caretbench.suites.c3bench.scale.wrong_answers import wrong_answers
from caretbench.syntax.parser import encode

_LINE_RUNS = (3, 4, 5)
_BLOCKS = frozenset({"for", "while", "if", "try", "with", "function"})


class ScaleMiddle(NamedTuple):
    """Span of a file that is a reference of its specification; ``type`` is the paper's type of problem."""

    start: int
    end: int
    type: str
    specification: ScaleSpecification


def scale_middles(text: str, language: str) -> list[ScaleMiddle]:
    """Return all middles of a file whose specifications hold for the reference and reject the six wrong answers.

    Empty if the file does not parse.
    """
    return [middle for middle in proposed_middles(text, language) if rejects_wrong_answers(text, middle)]


def proposed_middles(text: str, language: str) -> list[ScaleMiddle]:
    """Return all middles of a file with their specifications, before any is tried; empty if it does not parse."""
    parsed = ParsedFile.of("", text, "", language)
    is_python = language_of_grammar(language).name == "python"
    view = python_statements(text, 0, len(text)) if is_python else tree_statements(parsed)
    if not view.parse_ok:
        return []
    return [*_blocks(view, language), *_line_runs(view, parsed), *_spans(view, parsed)]


def rejects_wrong_answers(text: str, middle: ScaleMiddle) -> bool:
    """Return whether a specification holds for the reference and rejects the six wrong answers, even if lenient."""
    prefix, reference, suffix = text[: middle.start], text[middle.start : middle.end], text[middle.end :]
    if not verify(prefix, reference, suffix, middle.specification).ok:
        return False
    lenient = middle.specification.model_copy(update={"level": "lenient"})
    wrong = wrong_answers(prefix, reference, suffix, middle.specification).values()
    return not any(verify(prefix, answer, suffix, lenient).ok for answer in wrong)


def _whole_lines(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the span of the lines that contain a span; None if they contain something else."""
    first = start - column_at(text, start)
    last = text.find("\n", end)
    last = len(text) if last < 0 else last + 1
    if text[first:start].strip() or text[end:last].strip().strip(";"):
        return None
    return first, last


def _blocks(view: StatementView, language: str) -> Iterator[ScaleMiddle]:
    """Yield statements and bodies; a body has its number of lines too, since repeated it would be a body as well."""
    for one in view.statements:
        if one.kind not in _BLOCKS:
            continue
        block = ScaleSpecification.of({"language": language, "kind": "block", "node": one.kind})
        span = _whole_lines(view.text, one.start, one.end)
        if span is not None:
            column = column_at(view.text, one.keyword)
            yield ScaleMiddle(*span, "block", block.model_copy(update={"column": column}))
        inner = _body_lines(view, one)
        if inner is not None:
            body = block.model_copy(update={"header_in_prefix": True, "n": 1})
            count = _count(view.text, inner, body)
            if count is not None and count <= max(_LINE_RUNS):
                yield ScaleMiddle(*inner, "block", body.model_copy(update={"n": count}))


def _count(text: str, span: tuple[int, int], specification: ScaleSpecification) -> int | None:
    """Return the number of lines of a span in the unit of a specification."""
    return verify(text[: span[0]], text[span[0] : span[1]], text[span[1] :], specification).count


def _body_lines(view: StatementView, statement: CodeStatement) -> tuple[int, int] | None:
    if statement.body is None:
        return None
    start, end = statement.body
    text = view.text
    if text[start] == "{":
        start, end = start + 1, end - 1
        start, end = start + len(text[start:end]) - len(text[start:end].lstrip()), len(text[:end].rstrip())
    return _whole_lines(text, start, end) if start < end else None


def _line_runs(view: StatementView, parsed: ParsedFile) -> Iterator[ScaleMiddle]:
    """Yield runs of whole statements of one list that have three to five lines of code."""
    by_list: dict[tuple[int, str], list[CodeStatement]] = {}
    for one in view.statements:
        by_list.setdefault((one.parent, one.branch), []).append(one)
    for statements in by_list.values():
        for index, first in enumerate(statements):
            for last in statements[index:]:
                span = _whole_lines(view.text, first.start, last.end)
                if span is None or view.text.count("\n", *span) > 2 * max(_LINE_RUNS):
                    break
                yield from _run(view, span, statements[index : statements.index(last) + 1], parsed)


def _run(
    view: StatementView, span: tuple[int, int], statements: list[CodeStatement], parsed: ParsedFile
) -> Iterator[ScaleMiddle]:
    first, last = (len(encode(view.text[:position])) for position in span)
    for unit in ("code_line", "physical_line", "statement"):
        count = len(statements)
        if unit != "statement":
            count = count_in_unit(view, span, unit, lambda: parsed._replace(start=first, end=last))
        if count in _LINE_RUNS:
            lines = ScaleSpecification(language=parsed.language, kind="lines", n=count, unit=unit)
            yield ScaleMiddle(*span, "multi_line", lines)
            return


def _spans(view: StatementView, parsed: ParsedFile) -> Iterator[ScaleMiddle]:
    text = view.text
    for node in sorted(NODE_CLASSES):
        for start, end in node_spans(parsed, node):
            if "\n" in text[start:end] or not text[start - column_at(text, start) : start].strip():
                continue
            rest = text[end : text.find("\n", end)]
            if rest.strip(" ;,"):
                specification = ScaleSpecification.of({"language": parsed.language, "kind": "span_node", "node": node})
                yield ScaleMiddle(start, end, "span", specification)
            else:
                specification = ScaleSpecification(language=parsed.language, kind="span_rest_of_line")
                yield ScaleMiddle(start, end + len(rest.rstrip()), "span", specification)
