"""Text of an answer at the level ``lenient``."""

from __future__ import annotations

import re
import textwrap

from caretbench.languages import language_of_grammar
from caretbench.suites.c3bench.scale.scale_types import ScaleSpecification
from caretbench.suites.c3bench.scale.statements import column_at

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n(.*?)(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)


def lenient_text(prefix: str, middle: str, suffix: str, specification: ScaleSpecification) -> str:
    """Return the answer without its first fence, with line feeds, without one outer line end, indented as the caret.

    Nothing inside the text is changed.
    """
    fence = _FENCE.search(middle.replace("\r\n", "\n"))
    text = fence[2] if fence else middle.replace("\r\n", "\n")
    text = text.removeprefix("\n").removesuffix("\n")
    if specification.kind in {"span_rest_of_line", "span_node"}:
        return text
    if language_of_grammar(specification.language).indented:
        text = _indented(prefix, text, specification)
    needs_line_end = bool(suffix) and not suffix.startswith(("\n", "\r")) and not text.endswith("\n")
    return text + "\n" if needs_line_end else text


def _indented(prefix: str, text: str, specification: ScaleSpecification) -> str:
    """Return the text with its common indentation replaced by that of the caret, or of the specified column."""
    caret = column_at(prefix, len(prefix))
    line = prefix[len(prefix) - caret :]
    if line.strip():
        return text  # the caret is within a line of code
    if caret:
        margin = line
    elif specification.column is not None:
        margin = " " * specification.column
    else:
        return text
    first, newline, rest = text.partition("\n")
    whole = textwrap.dedent(first + newline + rest)
    if first[:1].strip() and rest and textwrap.dedent(rest) != rest:
        whole = _with_first_line(first, rest, margin)
    shifted = textwrap.indent(whole, margin, lambda line: bool(line.strip()))
    return shifted[caret:] if shifted.startswith(line) else shifted


def _with_first_line(first: str, rest: str, margin: str) -> str:
    """Return a dedented text whose first line began behind the caret, while the others have their whole indentation."""
    lines = rest.split("\n")
    if all(line.startswith(margin) or not line.strip() for line in lines):
        lines = [line[len(margin) :] for line in lines]
    return "\n".join([first, *lines])
