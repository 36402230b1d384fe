"""Verifier of Scale-Control Completion: whether an answer writes as much as its specification says.

The published check is the paper's: the kind of node, and the number of lines, nothing else.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from typing import Any

from caretbench.extraction.caret_surroundings import (
    MAX_TEXT_CHARACTERS,
    Surroundings,
    in_shown_unit,
    possible_margins,
    reindent,
)
from caretbench.files import replace_surrogates
from caretbench.languages import language_of_grammar
from caretbench.suites.c3bench.scale.answer_checks import (
    check_block,
    check_lines,
    check_node,
    check_rest_of_line,
    count_in_unit,
)
from caretbench.suites.c3bench.scale.scale_types import ScaleSpecification, ScaleVerdict
from caretbench.suites.c3bench.scale.statements import ParsedFile, tree_statements
from caretbench.syntax.parser import LINE_END, LONG_TEXT, unparsed, walk


def verify(
    prefix: str, middle: str, suffix: str, specification: ScaleSpecification | Mapping[str, Any]
) -> ScaleVerdict:
    """Return the verdict about an answer, checked on the completed file ``prefix + middle + suffix``.

    At the level ``strict`` the text counts as it is. At ``lenient`` it also passes after these changes: the content of
    its first code fence, line feeds at line ends, one line end fewer before and after it, and the indentation of the
    caret.
    """
    if not isinstance(specification, ScaleSpecification):
        specification = ScaleSpecification.of(specification)
    prefix, middle, suffix = map(replace_surrogates, (prefix, middle, suffix))
    if reason := _refusal(prefix, middle, suffix, specification.language):
        return ScaleVerdict(reason)
    verdict = _verify(prefix, middle, suffix, specification)
    if verdict.ok or specification.level == "strict":
        return verdict
    within_line = specification.kind in {"span_rest_of_line", "span_node"}
    for changed in lenient_texts(
        prefix, middle, suffix, specification.language, column=specification.column, within_line=within_line
    ):
        if changed != middle and not verdict.ok:
            verdict = _verify(prefix, changed, suffix, specification)
    return verdict


def _refusal(prefix: str, middle: str, suffix: str, language: str) -> str | None:
    """Return the reason for which an answer is not even parsed; None if it is."""
    # The trees are those of the whole file, and no line or block of a program has that many characters.
    if len(middle) > MAX_TEXT_CHARACTERS:
        return f"the answer has {len(middle):,} characters, more than {MAX_TEXT_CHARACTERS:,}"
    # Nested brackets in Java take time with the square of their number: 57 kB kept a process busy for minutes.
    reason = unparsed((prefix + middle + suffix,), language) if len(middle) >= LONG_TEXT else None
    return f"the file is unparsed: {reason}" if reason else None


def _verify(prefix: str, middle: str, suffix: str, specification: ScaleSpecification) -> ScaleVerdict:
    if not middle.strip():
        return ScaleVerdict("the answer is empty")
    parsed = ParsedFile.of(prefix, middle, suffix, specification.language)
    view = tree_statements(parsed)
    span = (len(prefix), len(prefix) + len(middle))
    if not view.parse_ok:
        return ScaleVerdict("the completed file does not parse")
    if specification.kind == "block":
        return check_block(view, span, specification, parsed)
    if specification.kind == "lines":
        return check_lines(view, span, specification, parsed)
    if specification.kind == "span_node":
        return check_node(specification, parsed)
    return check_rest_of_line(view, span, parsed)


_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n(.*?)(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)


def lenient_texts(
    prefix: str, middle: str, suffix: str, language: str, *, column: int | None = None, within_line: bool = False
) -> list[str]:
    """Return the answer without its first fence, with line feeds and without one outer line end; also indented.

    Further texts are shifted to the column that is specified; in languages with indentation also to where the file is
    well formed, as truncation does it, and to each column that is possible. An answer ``within_line`` has none.
    """
    fence = _FENCE.search(middle.replace("\r\n", "\n"))
    # One fence is forgiven, the first; what a second one contains would be another answer.
    text = fence[2] if fence else middle.replace("\r\n", "\n")
    text = text.removeprefix("\n").removesuffix("\n")
    if within_line or len(text) > MAX_TEXT_CHARACTERS:
        return [text]
    # Without it the last line of the answer and the first of the suffix would be one line.
    if suffix and not suffix.startswith(("\n", "\r")) and not text.endswith("\n"):
        text += "\n"
    surroundings = Surroundings(prefix, suffix, language_of_grammar(language).name)
    # Tabs of its own before a column that is right: shifted to where it parses first, the answer leaves its block.
    texts = [text, in_shown_unit(text, surroundings), reindent(text, surroundings)]
    # Where braces nest, a column that is specified is layout alone: 7 of 43 right blocks were refused for it.
    if (surroundings.indented or column is not None) and not surroundings.caret_line:
        # At the end of a file an answer is well formed in column 0, too, and leaves its block. A body has no column,
        # since its header is in the prefix: none of the starter set's 86 was forgiven.
        margins = possible_margins(surroundings) if column is None else [" " * column]
        first, line_end, rest = text.partition("\n")
        # The first line may have another indentation than the rest: a model continues the caret's line with it.
        plain = dict.fromkeys([textwrap.dedent(text), first.lstrip(" \t") + line_end + textwrap.dedent(rest)])
        texts += [
            textwrap.indent(block, margin, lambda line: bool(line.strip())) for block in plain for margin in margins
        ]
    return list(dict.fromkeys(texts))


def verify_published(
    prefix: str, middle: str, suffix: str, specification: ScaleSpecification | Mapping[str, Any]
) -> ScaleVerdict:
    """Return the verdict of the paper's two checks, by tree-sitter: matching of node types, and length in lines.

    A block needs a node of its kind that begins in the answer (with ``header_in_prefix``: that begins in the prefix and
    contains the answer); a span has one line; lines have their number in their unit. The paper says nothing about text
    after the block, nesting, further statements, or whether the file parses, so none of that counts.
    """
    if not isinstance(specification, ScaleSpecification):
        specification = ScaleSpecification.of(specification)
    prefix, middle, suffix = map(replace_surrogates, (prefix, middle, suffix))
    if not middle.strip():
        return ScaleVerdict("the answer is empty")
    parsed = ParsedFile.of(prefix, middle, suffix, specification.language)
    # The paper counts lines of all answers; a span is what is left of one line.
    wanted = 1 if specification.kind.startswith("span") else specification.n
    count = None
    if specification.kind.startswith("span"):
        count = len(LINE_END.findall(middle.strip("\r\n"))) + 1
    elif wanted is not None:
        view = tree_statements(parsed, parse_required=False)
        count = count_in_unit(view, (len(prefix), len(prefix) + len(middle)), specification.unit, parsed)
    if specification.kind == "block" and not _has_kind(parsed, specification):
        return ScaleVerdict(f"no node of kind {specification.node}", count)
    return ScaleVerdict("" if count == wanted else f"{count} lines, not {wanted}", count)


def _has_kind(parsed: ParsedFile, specification: ScaleSpecification) -> bool:
    """Return whether a node of the kind begins in the answer, or, for a body, contains it."""
    kinds = parsed.table.kinds.get(str(specification.node), ())
    # Node types alone, as the paper words it: an answer that also writes the rest of the file is right.
    return any(
        node.type in kinds and (node.start_byte < parsed.start) is specification.header_in_prefix
        for node in walk(parsed.tree.root_node, parsed.start, parsed.end)
    )
