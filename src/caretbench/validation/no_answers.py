"""Answers that are none: nothing, a stub, closing brackets alone, a throw. No problem may be solved by one of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from caretbench.problem import InlineSplice, Problem
from caretbench.syntax.faults import fault_count
from caretbench.syntax.parser import parse
from caretbench.validation.mutants import Mutant, stub, throw_at_start

THROW: Final = "throw"
"""The answer that throws before it does anything, as a mutant of this name does."""
NOTHING: Final = frozenset({"empty", "stub", "closers"})
"""Answers that hold nothing at all."""

_CLOSERS = re.compile(r"[\s})\];]*\Z")
_MOST_CLOSERS = 8


class NoAnswers(NamedTuple):
    """The answers to a problem that are none.

    Args:
        nothing: Those that hold nothing, by their names in :data:`NOTHING`; only such as the file parses with.
        throw: The reference with a throw before its first statement; None where no statement begins with it. Its name
            is ``crash`` where every run passes there: that it fails then shows reach alone.
    """

    nothing: tuple[Mutant, ...]
    throw: Mutant | None


def no_answers(inline: Problem) -> NoAnswers:
    """The answers that are none, to a problem in a program.

    Raises:
        TypeError: the problem asks a question, or is not spliced into one program.
    """
    return NoAnswers(tuple(_nothing(inline)), throw_at_start(inline))


def _nothing(inline: Problem) -> Iterator[Mutant]:
    splice, language = inline.splice, inline.caret.language
    if not isinstance(splice, InlineSplice):
        return

    def parses(text: str) -> bool:
        return fault_count(parse(splice.program(text), language), language) == 0

    clean = parses(inline.reference)
    seen = {inline.reference.strip()}
    for name, text in (("empty", ""), ("stub", stub(inline)), *_closers(inline.reference)):
        if text.strip() in seen:
            continue
        if not clean or parses(text):
            seen.add(text.strip())
            yield Mutant(name, text)
            if name == "closers":
                return


def _closers(reference: str) -> Iterator[tuple[str, str]]:
    """Brackets and blanks at the end of a reference, the longest first: one of them closes what it leaves open."""
    found = _CLOSERS.search(reference)
    tail = found[0] if found else ""
    starts = [n for n, mark in enumerate(tail) if mark in "})]"]
    for start in starts[-_MOST_CLOSERS:]:
        yield "closers", tail[start:]
