"""Baselines: answers without a model, for comparison with every score.

``reference`` is the known right answer, ``empty`` no text, ``stub`` the least valid code, and ``copy-context`` the
lines after the shown line that is most similar to the caret's. Suites of multiple-choice questions have others
(:attr:`caretbench.suites.base.Suite.baselines`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from rapidfuzz import fuzz

from caretbench.errors import UsageError, did_you_mean
from caretbench.languages import get_language
from caretbench.problem import Caret, Completion, InlineSplice, Problem
from caretbench.syntax.parser import is_well_formed_text

_COPIED_LINES = 6
_ENDS_WITH_COLON = re.compile(r":[ \t]*(?:#.*)?$")


def _copy_context(problem: Problem) -> str:
    """Return up to six lines after the line that is most similar to the last non-empty line before the caret.

    Similarity: normalised Indel similarity; among equal lines, the last one before the caret. Only the shown text is
    searched.
    """
    caret = problem.caret
    before = caret.prefix.splitlines()
    lines = before + caret.suffix.splitlines()
    anchor = max((index for index, line in enumerate(before) if line.strip()), default=None)
    if anchor is None:
        return ""
    best, best_score = None, 0.0
    for index, line in enumerate(lines[:-1]):
        if index == anchor or not line.strip():
            continue
        likeness = fuzz.ratio(line.strip(), before[anchor].strip())
        if likeness > best_score or (likeness == best_score and index < anchor):
            best, best_score = index, likeness
    if best is None:
        return ""
    copied = "\n".join(lines[best + 1 : best + 1 + _COPIED_LINES])
    return copied + "\n" if caret.prefix.endswith("\n") else copied.lstrip()


def stub(problem: Problem) -> str:
    """Return the least text that keeps a program well formed, the baseline ``stub``.

    It is ``pass`` in Python if a block must follow, else empty.

    Raises:
        TypeError: the problem asks a question.
    """
    caret = problem.caret
    if get_language(caret.language).name != "python":
        return ""
    texts = _stubs(caret)
    inline = problem.splice if isinstance(problem.splice, InlineSplice) else None
    before, after = (inline.before, inline.after) if inline is not None else (caret.prefix, caret.suffix)
    # The parser decides. Where it accepts nothing, as in a `try` whose handlers are hidden, the header above the caret.
    accepted = (text for text in ("", *texts) if is_well_formed_text(before + text + after, "python"))
    return next(accepted, texts[0])


def _stubs(caret: Caret) -> tuple[str, ...]:
    """Return the stubs by the line above the caret that is no comment: the likely one, then ``pass`` at the caret."""
    head, _, line = caret.prefix.rpartition("\n")
    if line.strip():
        return (" pass" if _ENDS_WITH_COLON.search(line) else "",)
    code = (above for above in reversed(head.split("\n")) if above.strip() and not above.lstrip().startswith("#"))
    opener = next(code, "")
    if not _ENDS_WITH_COLON.search(opener):
        return ("",)
    indentation = opener[: len(opener) - len(opener.lstrip())] + "    "
    missing = indentation.removeprefix(line) if indentation.startswith(line) else ""
    needs_newline = bool(caret.suffix.strip()) and not caret.suffix.startswith("\n")
    end = "\n" if needs_newline else ""
    return f"{missing}pass{end}", f"pass{end}"


BaselineFunction = Callable[[Problem], str | None]
"""Function that returns a baseline's answer to a problem; None if it has none."""

BASELINES: Mapping[str, BaselineFunction] = {
    "reference": lambda problem: problem.reference,
    "empty": lambda _problem: "",
    "stub": stub,
    "copy-context": _copy_context,
}


TRIVIAL_BASELINES = ("empty", "stub", "copy-context")
"""Names of the baselines that a problem must not be passed by: who passes it need not have understood it.

Guesses at choices are none of these: one of four is right by chance, and to leave it out would select against a guess.
"""

QUESTION_BASELINES = ("random", "always-a", "longest", "shortest", "consensus", "lexical", "copy")
"""Names of the baselines for multiple-choice questions."""

BASELINE_NAMES = (*BASELINES, *QUESTION_BASELINES)
"""Names of all baselines, in the order of reports."""


def baseline_completions(
    name: str, problems: Sequence[Problem], functions: Mapping[str, BaselineFunction] = BASELINES
) -> Iterator[Completion]:
    """Yield the completions of one baseline, for every problem to which it has an answer.

    Raises:
        UsageError: no such baseline; the message lists the known ones.
    """
    if name not in functions:
        raise UsageError(f"unknown baseline {name!r}{did_you_mean(name, functions)}; known: {', '.join(functions)}")
    for problem in problems:
        if functions is BASELINES and not isinstance(problem.shown, Caret):
            continue
        if (text := functions[name](problem)) is not None:
            yield Completion(problem_id=problem.id, model=name, text=text)
