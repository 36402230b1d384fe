"""Failures of a completion in an editor: error kinds next to the text that was there later, or by the text alone."""

from __future__ import annotations

from typing import Final

from caretbench.errors import UsageError
from caretbench.extraction.policies import policy
from caretbench.languages import language as language_named
from caretbench.metrics.error_kinds.compared_answer import CaretPlace
from caretbench.metrics.error_kinds.edit_kinds import edit_kinds
from caretbench.metrics.error_kinds.text_kinds import text_kinds
from caretbench.problem import Caret

_STEPS: Final = {
    "repetition of the prefix removed": "repeats_surroundings",
    "repetition of the suffix removed": "repeats_surroundings",
    "moved to the caret's indentation": "wrong_indentation",
    "cut at the end of the block": "over_generation",
    "cut where the program parses": "over_generation",
    "brackets closed": "incomplete",
}
"""Error kinds by the step of the policy ``block`` that changes a text."""
_ALONE: Final = frozenset({"repeats_surroundings", "broken_word"})
"""Kinds that are found without a text that was due."""


def failures_of(completion: str, due: str | None, place: CaretPlace, added_faults: int | None) -> tuple[str, ...]:
    """Return the error kinds of a completion, in the order of the table.

    Args:
        completion: The text that was shown.
        due: The text that was there later; None if it is not known. Then the text alone decides: by the steps of the
            policy ``block`` that change it, and by its repetitions.
        place: Place of the text.
        added_faults: Number of syntax faults that the text adds to its program.
    """
    reference = due or ""
    found = {name for name, value in text_kinds(completion, reference, place).items() if value}
    found |= {*edit_kinds(completion, reference, place)}
    if due is None:
        found = (found & _ALONE) | _changed_by_policy(completion, place)
    if added_faults is not None and added_faults > 0:
        found.add("syntax")
    return tuple(sorted(found))


def _changed_by_policy(completion: str, place: CaretPlace) -> set[str]:
    try:
        name = language_named(place.language).name
    except UsageError:
        return set()
    caret = Caret(language=name, prefix=place.prefix, suffix=place.suffix)
    steps = policy("block").apply(completion, caret).steps
    return {_STEPS[step] for step in steps if step in _STEPS}
