"""Error kinds of an answer by its text next to the reference, as numbers. An answer may have several kinds.

Titles and order are in ``error_kinds.toml``, together with the kinds by outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from caretbench.metrics.error_kinds.code_kinds import wrong_block_kind, wrong_call
from caretbench.metrics.error_kinds.compared_answer import CaretPlace, ComparedAnswer
from caretbench.metrics.error_kinds.extent_kinds import (
    empty_when_due,
    incomplete,
    over_generation,
    several_blocks,
    text_when_nothing_due,
)
from caretbench.metrics.error_kinds.layout_kinds import wrong_indentation
from caretbench.metrics.error_kinds.repetition_kinds import repeats_surroundings

ERROR_KINDS_VERSION: Final = 2
"""Version of the rules; a change of a rule changes it."""

TEXT_KINDS: Final[Mapping[str, Callable[[ComparedAnswer], bool]]] = {
    "wrong_indentation": wrong_indentation,
    "several_blocks": several_blocks,
    "incomplete": incomplete,
    "over_generation": over_generation,
    "repeats_surroundings": repeats_surroundings,
    "wrong_call": wrong_call,
    "wrong_block_kind": wrong_block_kind,
    "given_when_nothing_due": text_when_nothing_due,
    "empty_when_due": empty_when_due,
}
"""Rules by error kind, in the order of the scores."""


def text_kinds(answer: str, reference: str, place: CaretPlace) -> dict[str, float]:
    """Return 1 for each error kind that an answer has, and 0 for the others, by name.

    Args:
        answer: Text that is inserted.
        reference: The known right answer.
        place: Place of both.
    """
    return dict.fromkeys(TEXT_KINDS, 0.0) | dict.fromkeys(_found_kinds(answer, reference, place), 1.0)


@lru_cache(maxsize=1_024)
def _found_kinds(answer: str, reference: str, place: CaretPlace) -> tuple[str, ...]:
    """Return the error kinds of an answer; cached, since samples of one problem are often equal."""
    if answer == reference:
        return ()
    compared = ComparedAnswer(answer, reference, place)
    return tuple(name for name, has_kind in TEXT_KINDS.items() if has_kind(compared))
