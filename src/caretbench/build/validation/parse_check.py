"""Check that an answer parses in its place."""

from __future__ import annotations

from collections.abc import Callable

from caretbench.problem import InlineSplice
from caretbench.syntax.faults import fault_count
from caretbench.syntax.parser import parse


def parses_as_reference(splice: InlineSplice, reference: str, language: str) -> Callable[[str], bool]:
    """Return the check that the program with an answer parses, if that with the reference does."""

    def parses(answer: str) -> bool:
        return fault_count(parse(splice.program(answer), language), language) == 0

    is_clean = parses(reference)
    return lambda answer: not is_clean or parses(answer)
