"""Error kinds of completions in an editor, next to the text that was there later: a name, a literal, a broken word.

They are in addition to the kinds of :mod:`caretbench.metrics.error_kinds.text_kinds`; scores of runs do not have them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from rapidfuzz.distance import Indel

from caretbench.languages.node_kinds import node_kinds
from caretbench.metrics.error_kinds.answer_structure import AnswerStructure, Token
from caretbench.metrics.error_kinds.compared_answer import CaretPlace, ComparedAnswer
from caretbench.metrics.error_kinds.text_kinds import introduced_names

_NAME = re.compile(r"[^\W\d]\w*")
_WORD_END = re.compile(r"\w+\Z")
_WORD_BEGIN = re.compile(r"\w+")
_LITERALS: Final = ("string", "char", "number", "integer", "float", "real", "regex", "heredoc")
_WORDS: Final = ("bool", "null")
_LITERAL_WORD: Final = "literal word"
_NAME_NODES: Final = ("identifier", "constant")
_QUOTES: Final = "\"'`"
_ALIKE: Final = 0.7
"""Share of equal tokens in the same order from which two texts are alike."""
_MAX_TOKENS: Final = 2_000
"""Number of tokens from which two texts are not aligned."""


def wrong_name(compared: ComparedAnswer) -> bool:
    """Return whether the answer has another name than the reference in the same place; a called name is no such place.

    Names that the texts introduce themselves may differ; so may names that the program around them does not have. They
    may not if each text has both names: then one is in the place of the other.
    """
    if compared.structures is None:
        return False
    around = {*_NAME.findall(compared.prefix), *_NAME.findall(compared.suffix)}
    answered, expected = compared.structures
    new_names = [{*introduced_names(structure.words)} for structure in compared.structures]
    for ours, theirs in _replaced(compared):
        if not (_is_name(ours.type) and _is_name(theirs.type)):
            continue
        if theirs.text in answered.words and ours.text in expected.words:
            return True
        introduced = ours.text in new_names[0] and theirs.text in new_names[1]
        if {ours.text, theirs.text} & around and not introduced:
            return True
    return False


def wrong_literal(compared: ComparedAnswer) -> bool:
    """Return whether the answer has another string, number or constant than the reference in the same place.

    Other quotes around the same text, and another notation of the same number, are no fault.
    """
    return any(
        _is_literal(ours.type) and _is_literal(theirs.type) and _value(ours.text) != _value(theirs.text)
        for ours, theirs in _replaced(compared)
    )


def broken_word(compared: ComparedAnswer) -> bool:
    """Return whether the answer makes another word of the one that the caret is in or at the end of.

    It does where it repeats the beginning of the word, continues it in another way than the reference, or runs into a
    word that follows.
    """
    if compared.is_empty or compared.answer.rstrip() == compared.reference.rstrip():
        return False
    before, after = _WORD_END.search(compared.prefix), _WORD_BEGIN.match(compared.suffix)
    if before is not None and not before[0].isdigit():
        ours, theirs = (_WORD_BEGIN.match(text) for text in (compared.answer, compared.reference))
        if ours is not None and (theirs is None or theirs[0] != ours[0]):
            # A single letter before the caret is too often the first one of another word.
            repeats = len(before[0]) > 1 and ours[0].startswith(before[0])
            return repeats or theirs is not None or not compared.nothing_due
    runs_on = after is not None and _WORD_END.search(compared.answer) is not None
    return runs_on and _WORD_END.search(compared.reference) is None


EDIT_KINDS: Final[Mapping[str, Callable[[ComparedAnswer], bool]]] = {
    "wrong_name": wrong_name,
    "wrong_literal": wrong_literal,
    "broken_word": broken_word,
}
"""Rules by error kind."""


def edit_kinds(answer: str, reference: str, place: CaretPlace) -> tuple[str, ...]:
    """Return the error kinds that only completions in an editor have, of those that an answer has."""
    compared = ComparedAnswer(answer, reference, place)
    return tuple(name for name, has_kind in EDIT_KINDS.items() if has_kind(compared))


def _replaced(compared: ComparedAnswer) -> Iterator[tuple[Token, Token]]:
    """Yield the tokens of the answer that differ from the reference's in the same place, without called names.

    Places are the same by number if both texts have the same kinds of tokens: two names may be exchanged. Texts of
    other kinds of tokens, that have less than :data:`_ALIKE` in common too, have no same places.
    """
    if not compared.is_comparable or compared.same_code or compared.structures is None:
        return
    answered, expected = compared.structures
    if max(len(answered.tokens), len(expected.tokens)) > _MAX_TOKENS:
        return
    kinds = [[_kind(token) for token in structure.tokens] for structure in compared.structures]
    places: Iterable[tuple[int, int]]
    if kinds[0] == kinds[1]:
        places = ((index, index) for index in range(len(kinds[0])) if answered.words[index] != expected.words[index])
    elif Indel.normalized_similarity(answered.words, expected.words) >= _ALIKE:
        places = _aligned(answered.words, expected.words)
    else:
        return
    for ours, theirs in places:
        if not (_is_called(answered, ours) and _is_called(expected, theirs)):
            yield answered.tokens[ours], expected.tokens[theirs]


def _aligned(answered: Sequence[str], expected: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the places of the tokens that replace each other, one by one."""
    # difflib took minutes for 2,000 tokens of two kinds.
    for is_equal, steps in groupby(Indel.opcodes(answered, expected), key=lambda step: step.tag == "equal"):
        changed = [*steps]
        ours = range(changed[0].src_start, changed[-1].src_end)
        theirs = range(changed[0].dest_start, changed[-1].dest_end)
        if not is_equal and len(ours) == len(theirs):
            yield from zip(ours, theirs, strict=True)


def _kind(token: Token) -> str:
    """Return the kind of a token; ``true`` and ``false`` have one."""
    return _LITERAL_WORD if node_kinds().literal_kinds.get(token.type) in _WORDS else token.type


def _value(literal: str) -> object:
    """Return a literal without its quotes, and a number by its value."""
    try:
        return int(literal.replace("_", ""), 0)
    except ValueError:
        pass
    try:
        return float(literal.replace("_", ""))
    except ValueError:
        return literal.strip(_QUOTES)


def _is_called(structure: AnswerStructure, index: int) -> bool:
    return structure.words[index + 1 : index + 2] == ("(",)


def _is_name(kind: str) -> bool:
    return any(kind.endswith(name) for name in _NAME_NODES)


def _is_literal(kind: str) -> bool:
    return node_kinds().literal_kinds.get(kind) in (*_WORDS, "int") or any(name in kind for name in _LITERALS)
