"""Error kind of an answer by its outcome, the same in every language.

The outcome decides first, then the compiler's message, the type of the exception, and the parser. Rules are in
``error_kinds.toml``, patterns in ``errors.toml`` of a language's folder.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from caretbench.languages.table_reader import LanguageTable, read_table
from caretbench.metrics.error_kinds.kind_table import EXCEPTION, NO_ERROR, OURS, error_kind_table

_PARSED_FIRST = frozenset({"syntax", "wrong_indentation", "incomplete"})


class RuntimeErrors(LanguageTable):
    """Pattern of exception messages; its groups match the exception's type. ``last``: the last match decides."""

    pattern: str
    last: bool = False


class ErrorTable(LanguageTable):
    """Errors of one language: patterns of its compiler by error kind, and its runtime's exception messages."""

    compiler: Mapping[str, tuple[str, ...]] = {}
    runtime: RuntimeErrors | None = None


class AnswerEvidence(NamedTuple):
    """Evidence for the error kind of an executed answer; ``text`` and ``parses`` are None if not examined.

    ``outcome`` is a status of execution, or the reason for which there is no verdict; ``diagnostics`` is the text of
    the compiler or type checker, ``output`` standard error or messages of failed tests; ``fault`` is the kind of
    the parse error.
    """

    language: str
    outcome: str
    text: str | None = None
    diagnostics: str = ""
    output: str = ""
    finish_reason: str | None = None
    parses: bool | None = None
    fault: str = ""


@cache
def _errors(language: str) -> ErrorTable:
    return read_table(language, "errors", ErrorTable) or ErrorTable()


def outcome_kind(evidence: AnswerEvidence) -> str:
    """Return the error kind of an outcome: ``pass``, a name of the table, or ``runtime_exception:TYPE``."""
    table = error_kind_table()
    outcome = table.outcomes.get(evidence.outcome)
    if outcome in (NO_ERROR, OURS):
        return outcome
    if evidence.text is not None and not evidence.text.strip():
        return "empty_when_due"
    kind = outcome or _of_messages(evidence)
    if evidence.parses is False and outcome is None and (evidence.fault or kind not in _PARSED_FIRST):
        kind = table.faults.get(evidence.fault, "syntax")
    if evidence.finish_reason == "length" and kind in _PARSED_FIRST:
        return "incomplete"
    return kind


def _of_messages(evidence: AnswerEvidence) -> str:
    kind = _of_compiler(evidence.language, evidence.diagnostics) or _of_exception(evidence.language, evidence.output)
    if kind is None and evidence.outcome in ("compile_error", "type_error"):
        # A build's messages may be in its output.
        return _of_compiler(evidence.language, evidence.output) or "compile_other"
    return kind or ("wrong_output" if evidence.outcome == "failed" else f"{EXCEPTION}:unknown")


def _of_compiler(language: str, diagnostics: str) -> str | None:
    """Return the kind of the first error in a compiler's output; None if no pattern matches."""
    hits = ((pattern.search(diagnostics), name) for name, pattern in _compiler_patterns(language))
    starts = [(hit.start(), name) for hit, name in hits if hit is not None]
    # Of several patterns that begin there, the table's first.
    first = min(starts, key=lambda start: start[0], default=(0, "compile_other" if diagnostics.strip() else None))
    return first[1]


def _of_exception(language: str, output: str) -> str | None:
    runtime = _errors(language).runtime
    if runtime is None:
        return None
    hits = list(_compiled(runtime.pattern).finditer(output))
    if not hits:
        return None
    hit = hits[-1] if runtime.last else hits[0]
    kind = next(group for group in hit.groups() if group)
    short = re.split(r"[.:]+", kind)[-1]
    for meaning in error_kind_table().exceptions:
        if short in meaning.types and re.search(meaning.when, hit[0]):
            return meaning.kind
    return f"{EXCEPTION}:{short}"


@cache
def _compiler_patterns(language: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    patterns = _errors(language).compiler
    return tuple((name, _compiled(text)) for name, texts in patterns.items() for text in texts)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)
