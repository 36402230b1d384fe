"""Error kinds of an answer by its text next to the reference, as numbers. An answer may have several kinds.

Titles and order are in ``error_kinds.toml``, together with the kinds by outcome.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from caretbench.languages import language_of_grammar
from caretbench.languages.node_kinds import node_kinds
from caretbench.metrics.error_kinds.answer_structure import AnswerStructure, Call
from caretbench.metrics.error_kinds.compared_answer import CaretPlace, ComparedAnswer

# They parse and end where the reference ends, and do nothing of what is due.
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
    further statements after those of the reference or after a wrong one, or statements that never run after a jump.
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
    due = [(statement.type, statement.first_word) for statement in expected.statements]
    given = [(statement.type, statement.first_word) for statement in answered.statements]
    if not due:
        # The reference ends the caret's line; brackets that it leaves open may hold statements in both.
        return bool(expected.tokens and answered.statements_at(min(0, expected.final_depth)))
    return len(given) > len(due) and (given[: len(due)] == due or not _ends_alike(answered, expected))


def _ends_alike(answered: AnswerStructure, expected: AnswerStructure) -> bool:
    """Return whether both texts end with the same kind of block or exit, or with the same name assigned or called.

    More statements that end so are another way to the same end; else a wrong statement goes on.
    """
    last, due = answered.statements[-1], expected.statements[-1]
    if due.is_block or due.type in node_kinds().jumps:
        return last.kind == due.kind and (due.is_block or last.type == due.type)
    return not last.is_block and last.target == due.target


def _runs_dead(structure: AnswerStructure) -> bool:
    """Return whether a statement follows a jump of the same list."""
    pairs = zip(structure.statements, structure.statements[1:], strict=False)
    return any(
        before.type in node_kinds().jumps and before.column == other.column and other.kind not in ("choice", "function")
        for before, other in pairs
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
        return any(statement.is_block for statement in given)
    if len(due) != 1 or len(given) < 2 or given[0].type != due[0].type:
        return False
    return due[0].is_block or any(statement.is_block for statement in given[1:])


_OPENERS = (":", "{", "(", "[", "then", "do", "=>", "->", "begin")
_CLOSERS = ("}", ")", "]", "end")


def wrong_indentation(compared: ComparedAnswer) -> bool:
    """Return whether the answer begins in a wrong column, or its lines do not fit together.

    It does where its first line begins in a column of no block that is open at the caret, where its lines are those of
    the reference in other columns, and where more statements than in the reference are out of line with their list.
    """
    if not compared.is_comparable:
        return False
    return _begins_wrong(compared) or _shifted(compared) or _out_of_line(compared)


def _begins_wrong(compared: ComparedAnswer) -> bool:
    answered, expected = (_first_line(compared.caret_line, text) for text in (compared.answer, compared.reference))
    if answered is None or expected is None or answered[0] == expected[0]:
        return False
    column, line = answered
    levels, opens = _open_columns(compared.prefix)
    # A closing bracket may be in the column of any block that it ends.
    if line.startswith(_CLOSERS):
        return False
    return opens or column not in levels


def _first_line(caret_line: str, text: str) -> tuple[int, str] | None:
    """Return column and text of the first line that is not blank; None if it continues the caret's line."""
    for number, line in enumerate(text.split("\n")):
        if line.strip():
            before = caret_line if number == 0 else ""
            return None if before.strip() else (len(before) + _margin(line), line.strip())
    return None


def _open_columns(prefix: str) -> tuple[set[int], bool]:
    """Return the columns of the blocks that are open at the end of a text, and whether its last line opens one."""
    lines = [line for line in prefix.rpartition("\n")[0].split("\n") if line.strip()]
    columns: set[int] = set()
    least = None
    for line in reversed(lines):
        column = _margin(line)
        if least is None or column < least:
            columns.add(column)
            least = column
        if least == 0:
            break
    return columns, bool(lines) and lines[-1].rstrip().endswith(_OPENERS)


def _shifted(compared: ComparedAnswer) -> bool:
    answered, expected = (text.rstrip().split("\n") for text in (compared.answer, compared.reference))
    if len(answered) != len(expected) or any(
        line.strip() != other.strip() for line, other in zip(answered, expected, strict=True)
    ):
        return False
    begun = bool(compared.caret_line.strip())
    pairs = list(zip(answered, expected, strict=True))[begun:]
    return any(_margin(line) != _margin(other) for line, other in pairs if line.strip())


def _out_of_line(compared: ComparedAnswer) -> bool:
    if compared.structures is None:
        return False
    answered, expected = compared.structures
    if answered.misaligned > expected.misaligned:
        return True
    if compared.stops_early or not _has_misfit(compared):
        return False
    return answered.layout_faults > expected.layout_faults


def _has_misfit(compared: ComparedAnswer) -> bool:
    """Return whether a line of the answer is indented below a line that opens nothing."""
    before = next((line for line in reversed(compared.prefix.split("\n")[:-1]) if line.strip()), "")
    lines = [line for line in (compared.caret_line + compared.answer).split("\n") if line.strip()]
    for line, above in zip(lines, [before, *lines], strict=False):
        deeper = _margin(line) > _margin(above)
        if deeper and not above.rstrip().endswith((*_OPENERS, ",", "\\")):
            return True
    return False


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


_MAX_REPEATED_LINES: Final = 40
"""Maximum number of repeated lines that are compared."""
_MIN_REPEATED_CHARACTERS: Final = 4
"""Minimum number of letters and digits of the caret's line, or of its rest, that count as repeated."""


def repeats_surroundings(compared: ComparedAnswer) -> bool:
    """Return whether the answer begins with the end of the prefix, or repeats the beginning of the suffix.

    Lines are compared without the blanks around them; what the reference repeats itself is no fault.
    """
    if compared.is_empty or (not compared.nothing_due and not compared.is_comparable):
        return False
    return _repeats_prefix(compared) or _repeats_suffix(compared)


def _repeats_prefix(compared: ComparedAnswer) -> bool:
    begun = compared.caret_line.strip()
    if _word_characters(begun) >= _MIN_REPEATED_CHARACTERS and all(
        text.lstrip().startswith(begun) is due for text, due in ((compared.answer, True), (compared.reference, False))
    ):
        return True
    before = _filled(compared.prefix)[-_MAX_REPEATED_LINES:]
    if begun:
        before[-1:] = []
    return _repeated_head(_filled(compared.answer), before) > _repeated_head(_filled(compared.reference), before)


def _repeated_head(lines: list[str], before: list[str]) -> int:
    """Return the largest number of first lines that are the last lines before, at least one with a word."""
    for count in range(min(len(lines), len(before)), 0, -1):
        if lines[:count] == before[-count:] and any(map(_word_characters, lines[:count])):
            return count
    return 0


def _repeats_suffix(compared: ComparedAnswer) -> bool:
    rest, _, after = compared.shown_suffix.partition("\n")
    rest = rest.strip()
    if _word_characters(rest) and not rest.startswith(("//", "#")):
        # The rest of the caret's line follows: repeated, it ends the answer or one of its lines.
        repeats = (_ends_line(text, rest) for text in (compared.answer, compared.reference))
        return next(repeats) > next(repeats)
    following = _filled(after if rest else compared.shown_suffix)[:_MAX_REPEATED_LINES]
    if rest:
        following = [rest, *following[: _MAX_REPEATED_LINES - 1]]
    return _repeats_lines(compared.answer, following) > _repeats_lines(compared.reference, following)


def _ends_line(text: str, rest: str) -> int:
    lines = _filled(text)
    return sum(line.endswith(rest) for line in lines)


def _repeats_lines(text: str, following: list[str]) -> int:
    """Return the largest number of lines of a text that are the first lines that follow.

    Two lines with a word each must repeat, or all lines to the end of the text.
    """
    lines = _filled(text)
    best = 0
    for start in range(len(lines)):
        most = min(len(lines) - start, len(following))
        count = next((n for n in range(most) if lines[start + n] != following[n]), most)
        words = sum(map(bool, map(_word_characters, lines[start : start + count])))
        if count > best and (words >= 2 or (words and start + count == len(lines))):
            best = count
    return best


def _filled(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


def _word_characters(text: str) -> int:
    return sum(character.isalnum() for character in text)


_NAME = re.compile(r"[^\W\d]\w*")
_CALL_NAME = re.compile(r"([^\W\d]\w*)(?:\0(\d+))?")
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
    return all(_differ(compared, by_level) for by_level in (False, True))


def _differ(compared: ComparedAnswer, by_level: bool) -> bool:
    calls = [_renamed(structure, compared, by_level) for structure in compared.structures or ()]
    answered, expected = map(Counter, calls)
    added, missing = answered - expected, expected - answered
    if not added or not missing:
        return False
    if {call.callee for call in added} & {call.callee for call in missing}:
        return True
    if {call.arguments for call in added} & {call.arguments for call in missing}:
        return True
    return len(calls[0]) == len(calls[1])


def _renamed(structure: AnswerStructure, compared: ComparedAnswer, by_level: bool) -> Sequence[Call]:
    """Return the calls with the text's own names replaced by numbers: those that it binds or uses more than once.

    A bound name that both texts have stays, unless ``by_level``: then all bound names are replaced.
    """
    surrounding = _surrounding_names(compared.prefix, compared.suffix)
    new_names = [name for name in introduced_names(structure.words) if name not in surrounding | structure.bound_names]
    if not new_names and not structure.bound_names:
        return structure.calls
    other = next(candidate for candidate in compared.structures or () if candidate is not structure)
    elsewhere = _names(*other.words)
    # Two right answers may call a loop variable `i` and `row`: the order of the names is compared, not the names.
    numbers = {name: f"${number}" for number, name in enumerate(name for name in new_names if name not in elsewhere)}

    def number(match: re.Match[str]) -> str:
        name, level = match.groups()
        if level is not None:
            return name if name in elsewhere and not by_level else f"${level}"
        return numbers.get(name, name)

    return [Call(*(_CALL_NAME.sub(number, text) for text in call)) for call in structure.calls]


def introduced_names(words: Sequence[str]) -> list[str]:
    """Return the names that occur more than once and are not called where they first occur, in their order."""
    counts = Counter(filter(_NAME.fullmatch, words))
    names = []
    for name, before, after in zip(words, ["", *words], [*words[1:], ""], strict=False):
        if counts.pop(name, 0) > 1:
            declares = bool(_NAME.fullmatch(before)) and before not in _BEFORE_CALLS
            if after != "(" or declares:
                names.append(name)
    return names


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
    given = [statement.kind for statement in answered.statements]
    while due.kind != "import" and len(given) > 1 and given[0] == "import":
        given.pop(0)
    return due.kind not in given if due.is_block else given[0] != due.kind


ERROR_KINDS_VERSION: Final = 3
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
