"""Error kinds of content: a wrong call or argument, and the wrong kind of block."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from caretbench.metrics.error_kinds.answer_structure import AnswerStructure, Call
from caretbench.metrics.error_kinds.compared_answer import ComparedAnswer

_NAME = re.compile(r"[^\W\d]\w*")
_BEFORE_CALLS = frozenset({"return", "await", "throw", "new", "in", "of", "not", "and", "or", "yield", "case", "else"})
"""Words before a call; another word before a name and a bracket declares a function."""


def wrong_call(compared: ComparedAnswer) -> bool:
    """Return whether the answer calls something else than the reference, or with other arguments.

    A call of the answer that the reference does not have is paired with one of the reference that the answer does not
    have: by what is called, by the arguments, or by the place among the calls. Calls that are only missing or only
    added are no such fault. Names that a text introduces itself count by their order.
    """
    if not compared.is_comparable or compared.same_code or compared.stops_early or compared.structures is None:
        return False
    calls = [_renamed(structure, compared) for structure in compared.structures]
    answered, expected = Counter(calls[0]), Counter(calls[1])
    added, missing = answered - expected, expected - answered
    if not added or not missing:
        return False
    if {call.callee for call in added} & {call.callee for call in missing}:
        return True
    if {call.arguments for call in added} & {call.arguments for call in missing}:
        return True
    return len(calls[0]) == len(calls[1])


def _renamed(structure: AnswerStructure, compared: ComparedAnswer) -> Sequence[Call]:
    """Return the calls with the text's own names, which are used in it more than once, replaced by numbers."""
    known = _surrounding_names(compared.prefix, compared.suffix)
    own = [name for name in introduced_names(structure.words) if name not in known]
    if own:
        other = next(one for one in compared.structures or () if one is not structure)
        elsewhere = _names(*other.words)
        own = [name for name in own if name not in elsewhere]
    if not own:
        return structure.calls
    numbers = {name: f"${number}" for number, name in enumerate(own)}

    def replaced(text: str) -> str:
        return _NAME.sub(lambda found: numbers.get(found[0], found[0]), text)

    return [Call(replaced(call.callee), replaced(call.arguments)) for call in structure.calls]


def introduced_names(words: Sequence[str]) -> list[str]:
    """Return the names that occur more than once and are not called where they first occur, in their order."""
    counts = Counter(filter(_NAME.fullmatch, words))
    found = []
    for name, before, after in zip(words, ["", *words], [*words[1:], ""], strict=False):
        if counts.pop(name, 0) > 1:
            declares = bool(_NAME.fullmatch(before)) and before not in _BEFORE_CALLS
            if after != "(" or declares:
                found.append(name)
    return found


@lru_cache(maxsize=16)
def _surrounding_names(prefix: str, suffix: str) -> set[str]:
    """Return the names around the caret; cached, since all answers to a problem share them."""
    return _names(prefix, suffix)


def _names(*texts: str) -> set[str]:
    return {name for text in texts for name in _NAME.findall(text)}


def wrong_block_kind(compared: ComparedAnswer) -> bool:
    """Return whether the answer is another kind of block than the reference: a loop for a condition, for example.

    Kinds are function, class, condition, loop, exception, choice, resource, import and statement. A block is also found
    behind other statements. Code in place of a comment is another kind, too, and a comment in place of code.
    """
    if not compared.is_comparable or compared.same_code or compared.structures is None:
        return False
    if compared.stops_early or compared.goes_on:
        return False
    answered, expected = compared.structures
    if bool(answered.tokens) != bool(expected.tokens):
        return bool(answered.comments or expected.comments)
    if not (answered.begins_statement and expected.begins_statement):
        return False
    due = expected.statements[0]
    given = [one.kind for one in answered.statements]
    while due.kind != "import" and len(given) > 1 and given[0] == "import":
        given.pop(0)
    return due.kind not in given if due.is_block else given[0] != due.kind
