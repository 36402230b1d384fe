"""Measures of every answer at a caret: its error kinds by the text, and how much of the reference it begins with."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from caretbench.files import DataError
from caretbench.metrics.error_kinds.compared_answer import CaretPlace
from caretbench.metrics.error_kinds.text_kinds import ERROR_KINDS_VERSION, text_kinds
from caretbench.metrics.typing_sessions import accepted_prefix
from caretbench.problem import Caret, FileSplice, InlineSplice, Problem
from caretbench.projects.answer_requests import original_file
from caretbench.suites.suite_types import Measurement

ERROR_KINDS_SCORER: Final = f"error-kinds@{ERROR_KINDS_VERSION}"
"""Name of the scorer of error kinds by the text."""

ACCEPTED_PREFIX: Final = "accepted_prefix"
"""Name of the value of :func:`measured_prefix`."""


def measured_prefix(problem: Problem, text: str | None) -> list[Measurement]:
    """Return the share of the reference with which an inserted text begins; nothing for questions."""
    if not isinstance(problem.shown, Caret):
        return []
    return [Measurement("accepted-prefix@1", {ACCEPTED_PREFIX: accepted_prefix(text or "", problem.reference)})]


def caret_place(problem: Problem) -> CaretPlace | None:
    """Return the place of an answer in the program or file in which it is spliced; None if a question is asked."""
    caret, splice = problem.shown, problem.splice
    if not isinstance(caret, Caret):
        return None
    around = caret.prefix, caret.suffix
    if isinstance(splice, InlineSplice):
        around = splice.before, splice.after
    elif isinstance(splice, FileSplice):
        around = _around(splice) or around
    return CaretPlace(*around, caret.language, caret.suffix)


@lru_cache(maxsize=1_024)
def _around(splice: FileSplice) -> tuple[str, str] | None:
    """Return the texts around a span; None if the project is not on this machine."""
    try:
        content = original_file(splice.snapshot, splice.path)
    except DataError:
        return None
    before, after = content[: splice.start], content[splice.end :]
    return before.decode("utf-8", "replace"), after.decode("utf-8", "replace")


def measured_kinds(answer: str, reference: str, place: CaretPlace) -> Measurement:
    """Return the error kinds of an inserted text as scores, 1 or 0 for each."""
    return Measurement(ERROR_KINDS_SCORER, text_kinds(answer, reference, place))
