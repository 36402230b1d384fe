"""Wrong answers that a specification must reject: without these six, a verdict means nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping

from caretbench.languages import language_of_grammar
from caretbench.suites.c3bench.scale.parsing.statements import column_at
from caretbench.suites.c3bench.scale.scale_types import ScaleSpecification

_PROSE = "This completes the code as requested."
_OTHER_BLOCKS = {"python": "while False:\n{margin}    pass", "": "while (false) {{\n{margin}  break;\n{margin}}}"}
_OTHER_IF = {"python": "if False:\n{margin}    pass", "": "if (false) {{\n{margin}}}"}
_EMPTY_STATEMENT = {"python": "pass", "": "{ }"}


def wrong_answers(prefix: str, reference: str, suffix: str, specification: ScaleSpecification) -> Mapping[str, str]:
    """Return six answers by name that write too little, too much, or something else.

    They are ``empty``, ``next_sibling`` (the reference and what follows it), ``without_last_line``, ``twice``,
    ``other_kind`` and ``prose`` (the reference and a sentence).
    """
    caret = column_at(prefix, len(prefix))
    at_line_start = not prefix[len(prefix) - caret :].strip()
    own = re.match(r"[ \t]*", reference.lstrip("\n"))
    margin = prefix[len(prefix) - caret :] if caret and at_line_start else own[0] if own and at_line_start else ""
    outer = _line_margin(prefix) if specification.header_in_prefix else margin
    lead = "" if caret else outer
    ended = reference if reference.endswith("\n") else reference + "\n"
    return {
        "empty": "",
        "next_sibling": f"{ended}{outer}{_next_line(suffix, specification.language)}\n",
        "without_last_line": _without_last_line(reference),
        "twice": f"{ended}{margin if caret else ''}{reference}" if at_line_start else reference * 2,
        "other_kind": lead + _other_kind(specification, outer) + ("\n" if reference.endswith("\n") else ""),
        "prose": f"{ended}{margin}{_PROSE}\n",
    }


def _line_margin(prefix: str) -> str:
    """Return the indentation of the last line of a text that is not blank."""
    line = prefix.rstrip().rpartition("\n")[2]
    return line[: len(line) - len(line.lstrip())]


def _next_line(suffix: str, language: str) -> str:
    """Return the first line of the suffix that is one simple statement; an empty statement if none is."""
    found = (line.strip() for line in suffix.split("\n") if line.strip())
    text = next(found, "")
    simple = bool(re.match(r"[\w.]+ = |return\b|[\w.]+\(.*\)", text)) and text[-1] not in "([{,\\:"
    return text if simple else _of(_EMPTY_STATEMENT, language)


def _without_last_line(text: str) -> str:
    lines = text.rstrip().split("\n")
    return "\n".join(lines[:-1]) + "\n" if len(lines) > 1 else ""


def _other_kind(specification: ScaleSpecification, margin: str) -> str:
    templates = _OTHER_IF if specification.node == "while" else _OTHER_BLOCKS
    text = _of(templates, specification.language).format(margin=margin)
    if specification.kind == "lines" and specification.n == text.count("\n") + 1:
        empty = _of(_EMPTY_STATEMENT, specification.language)
        text += f"\n{margin}{empty}"
    return text


def _of(texts: Mapping[str, str], language: str) -> str:
    return texts.get(language_of_grammar(language).name, texts[""])
