"""Error kinds of extent: the answer stops too early or too late, or is there where nothing was due."""

from __future__ import annotations

from caretbench.languages import language_of_grammar
from caretbench.languages.node_kinds import node_kinds
from caretbench.metrics.error_kinds.answer_structure import AnswerStructure
from caretbench.metrics.error_kinds.compared_answer import ComparedAnswer

_STUBS = (("pass",), ("...",), (";",), ("{", "}"))
_CLOSES_OR_ENDS = frozenset(")]}>;\"'`")


def empty_when_due(compared: ComparedAnswer) -> bool:
    """Return whether the answer is empty and the reference is not."""
    return compared.is_empty and not compared.nothing_due


def text_when_nothing_due(compared: ComparedAnswer) -> bool:
    """Return whether the answer has text and the reference is empty."""
    return compared.nothing_due and not compared.is_empty


def incomplete(compared: ComparedAnswer) -> bool:
    """Return whether the answer stops before the point at which the reference ends.

    It does where it is a beginning of the reference, leaves a bracket, string or expression open, is a stub, or never
    returns where the reference ends by returning a value or throwing.
    """
    if not compared.is_comparable or compared.same_code:
        return False
    if compared.stops_early:
        return True
    if compared.structures is None:
        return False
    answered, expected = compared.structures
    if not answered.tokens or not expected.tokens:
        return False
    if answered.words in _STUBS:
        return True
    if answered.final_depth > expected.final_depth or answered.tokens[-1].runs_over > expected.tokens[-1].runs_over:
        return True
    return _is_dangling(answered, expected) or _never_returns(answered, expected)


def _is_dangling(answered: AnswerStructure, expected: AnswerStructure) -> bool:
    """Return whether the answer ends with a token after which something must follow, and does not parse."""
    last, due = answered.words[-1], expected.words[-1]
    continues = not last[-1:].isalnum() and last[-1:] not in _CLOSES_OR_ENDS and last[-1:] != "_"
    return continues and last != due and answered.errors > expected.errors


def _never_returns(answered: AnswerStructure, expected: AnswerStructure) -> bool:
    ending = node_kinds().jump_words
    ends = bool(expected.statements) and expected.statements[-1].first_word.rstrip(";(") in ending
    return ends and answered.begins_statement and not ending & {*answered.words}


def over_generation(compared: ComparedAnswer) -> bool:
    """Return whether the answer goes on after the point at which the reference ends.

    It does where the reference is a beginning of it, where it closes more brackets, leaves the block of the caret, has
    further statements after those of the reference, or statements that never run after a jump.
    """
    if not compared.is_comparable or compared.same_code:
        return False
    if compared.goes_on:
        return True
    if compared.structures is None or compared.stops_early:
        return False
    answered, expected = compared.structures
    if answered.lowest_depth < expected.lowest_depth or _leaves_block(answered, expected):
        return True
    return _has_more_statements(answered, expected) or (_runs_dead(answered) and not _runs_dead(expected))


def _has_more_statements(answered: AnswerStructure, expected: AnswerStructure) -> bool:
    due = [(one.type, one.first_word) for one in expected.statements]
    given = [(one.type, one.first_word) for one in answered.statements]
    return bool(due) and len(given) > len(due) and given[: len(due)] == due


def _runs_dead(structure: AnswerStructure) -> bool:
    """Return whether a statement follows a jump of the same list."""
    pairs = zip(structure.statements, structure.statements[1:], strict=False)
    return any(
        one.type in node_kinds().jumps and one.column == other.column and other.kind not in ("choice", "function")
        for one, other in pairs
    )


def several_blocks(compared: ComparedAnswer) -> bool:
    """Return whether the answer spans several blocks where the reference does not.

    It does where it goes on in a block around that of the caret, and where the reference is one statement or block, and
    the answer goes on from one of that type to a further block.
    """
    if not compared.is_comparable or compared.same_code or compared.stops_early or compared.structures is None:
        return False
    answered, expected = compared.structures
    return _leaves_block(answered, expected) or _adds_block(answered, expected)


def _leaves_block(answered: AnswerStructure, expected: AnswerStructure) -> bool:
    if answered.lowest_depth < expected.lowest_depth and answered.goes_on_below(expected.lowest_depth):
        return True
    if not language_of_grammar(answered.language).indented:
        return False
    columns, due = answered.line_columns, expected.line_columns
    return bool(columns and due) and columns[0] >= min(due) and min(columns) < min(due)


def _adds_block(answered: AnswerStructure, expected: AnswerStructure) -> bool:
    given, due = answered.statements, expected.statements
    if not due:
        return any(one.is_block for one in given)
    if len(due) != 1 or len(given) < 2 or given[0].type != due[0].type:
        return False
    return due[0].is_block or any(one.is_block for one in given[1:])
