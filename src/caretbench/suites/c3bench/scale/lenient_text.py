"""Text of an answer at the level ``lenient``."""

from __future__ import annotations

import re
import textwrap

from caretbench.languages import language_of_grammar
from caretbench.suites.c3bench.scale.parsing.statements import column_at
from caretbench.suites.c3bench.scale.scale_types import ScaleSpecification

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n(.*?)(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)


def lenient_texts(prefix: str, middle: str, suffix: str, specification: ScaleSpecification) -> list[str]:
    """Return the answer without its first fence, with line feeds and without one outer line end; also indented.

    In languages with indentation, the second text has the indentation of the caret, or of the specified column, in the
    place of its common indentation. Nothing inside the text is changed.
    """
    fence = _FENCE.search(middle.replace("\r\n", "\n"))
    text = fence[2] if fence else middle.replace("\r\n", "\n")
    text = text.removeprefix("\n").removesuffix("\n")
    if specification.kind in {"span_rest_of_line", "span_node"}:
        return [text]
    found = [text]
    if language_of_grammar(specification.language).indented:
        found.append(_indented(prefix, text, specification))
    needs_line_end = bool(suffix) and not suffix.startswith(("\n", "\r"))
    return [one + "\n" if needs_line_end and not one.endswith("\n") else one for one in dict.fromkeys(found)]


def _indented(prefix: str, text: str, specification: ScaleSpecification) -> str:
    """Return the text with its common indentation replaced by that of the caret, or of the specified column."""
    caret = column_at(prefix, len(prefix))
    line = prefix[len(prefix) - caret :]
    if line.strip():
        return text  # the caret is within a line of code
    if not caret and specification.column is None:
        return text
    margin = line if caret else " " * (specification.column or 0)
    return textwrap.indent(textwrap.dedent(text), margin, lambda line: bool(line.strip())).removeprefix(line)
