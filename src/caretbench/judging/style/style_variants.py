"""Style variants of an answer: the same content with other names, without comments, laid out anew, or longer.

A judge that gives a variant another score than the answer rates style. A variant of code changes no token but those
that it is about, and has no more syntax errors than the answer; otherwise there is no such variant.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from typing import Final

from caretbench.judging.style.code_styles import CodeText
from caretbench.problem import Caret, Problem

RENAMED, WITHOUT_COMMENTS, LAID_OUT, HARMLESS_LINES = "renamed", "without-comments", "laid-out", "harmless-lines"

STYLES: Final = (RENAMED, WITHOUT_COMMENTS, LAID_OUT, HARMLESS_LINES)
"""Names of the styles. ``harmless-lines`` is the one that a judge which prefers long answers rates higher."""

STYLE_VERSION: Final = "style@1"
"""Version of the rules."""

_WIDTH: Final = 60
_SENTENCE: Final = "This is the answer to the question that was given above."
_NOT_PROSE: Final = re.compile(r"^\s*(?:[-*+#>|]|\d+[.)]|```|~~~|\{|\[)", re.MULTILINE)


def style_variants(problem: Problem, text: str) -> Mapping[str, str]:
    """Return the variants of an answer by style; those that cannot be made, or would change nothing, are missing.

    Args:
        problem: The problem.
        text: The text at the caret, or the answer to the question.
    """
    if not isinstance(problem.shown, Caret):
        found = {LAID_OUT: _wrapped(text), HARMLESS_LINES: _longer(text)}
    else:
        caret = problem.shown
        code = CodeText(caret.language, caret.prefix, text, caret.suffix)
        found = {
            RENAMED: code.renamed(),
            WITHOUT_COMMENTS: code.without_comments(),
            LAID_OUT: code.laid_out(),
            HARMLESS_LINES: code.with_harmless_lines(),
        }
    return {
        style: variant
        for style, variant in found.items()
        if variant is not None and variant.strip() and variant != text
    }


def _wrapped(text: str) -> str | None:
    """Return prose with other line ends; None for lists, tables, code and short texts."""
    if _NOT_PROSE.search(text) or not text.strip():
        return None
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n\s*\n", text.strip()))
    found = "\n\n".join(textwrap.fill(one, _WIDTH, break_long_words=False, break_on_hyphens=False)
                        for one in paragraphs)  # fmt: skip
    return found if found.split() == text.split() else None


def _longer(text: str) -> str | None:
    """Return prose with a sentence that says nothing; None for answers of one word, such as a letter or a label."""
    if len(text.split()) < 3 or text.lstrip().startswith(("{", "[", "```")):
        return None
    return f"{text.rstrip()} {_SENTENCE}" if text.rstrip()[-1:] in ".!?" else f"{text.rstrip()}. {_SENTENCE}"
