"""Features of an event from its texts: lengths, block, boundary, survival, failures; none of them is text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

import tree_sitter
from rapidfuzz.distance import LCSseq

from caretbench.errors import UsageError
from caretbench.extraction.policies import get_policy
from caretbench.languages import get_language
from caretbench.languages.node_kinds import node_kinds
from caretbench.metrics.error_kinds.answer_structure import COMMENT
from caretbench.metrics.error_kinds.compared_answer import CaretPlace
from caretbench.metrics.error_kinds.edit_kinds import edit_kinds
from caretbench.metrics.error_kinds.kind_table import kind_of
from caretbench.metrics.error_kinds.structure_walk import structure_of
from caretbench.metrics.error_kinds.text_kinds import text_kinds
from caretbench.metrics.text_overlap import dense_index, dense_text
from caretbench.metrics.typing_sessions import simulated_keys
from caretbench.people.telemetry.event_privacy import SaltedHashes, replaced_words, secret_words
from caretbench.people.telemetry.events import (
    CompletionEvent,
    CountedOutcome,
    EventBlock,
    EventCut,
    EventFeatures,
    EventTexts,
    outcome_by_survival,
    telemetry_rules,
)
from caretbench.problem import Caret
from caretbench.redaction import redact
from caretbench.syntax.caret_boundary import caret_boundary
from caretbench.syntax.parser import encode, grammar_name, parse, text_of, unparsed, upwards

_WORD: Final = re.compile(r"\w+")
_TOKEN: Final = re.compile(r"\w+|[^\w\s]")
_RUN: Final = 3
"""Number of words in a row from which they are the text's own: shorter runs are in other code too."""
# A window is aligned at every common word: words × words × places in all. `extract` takes 3.1 ms for an event with it.
_MAX_ALIGNED: Final = 60
"""Number of words up to which a text is searched as a whole, with changes."""
_SLACK: Final = 0.3
"""Share of its length by which a changed text may be longer."""
# Shorter ones, such as `)` or `i`, are typed by everybody whatever was shown.
_SHORTEST_TYPED: Final = 3
"""Minimum number of characters, without blanks, of a text that counts as typed by the user."""
# A later text of this length is a whole file, not what became of a completion.
_MAX_WORDS: Final = 5_000
"""Number of words from which the survival of a text is not computed."""


def kept_share(accepted: str | None, later: str | None) -> float | None:
    """Return the share of the words of an accepted text that are in the later text, from 0 to 1.

    Single words that are anywhere in the later text say nothing, since other code has them too. Words count in runs of
    three; where half of the text's words or more are together, in their order; and at the beginning and end of both
    texts. A text that the later one contains as it was, blanks apart, is kept. None: nothing was accepted, or the later
    text is not known, or one of them is too long.
    """
    if accepted is None or later is None:
        return None
    words, later_words = _WORD.findall(accepted), _WORD.findall(later)
    if max(len(words), len(later_words)) > _MAX_WORDS:
        return None
    # Signs count here: `a + b` that became `a - b` keeps all of its words.
    if _marked(_TOKEN.findall(accepted)) in _marked(_TOKEN.findall(later)):
        return 1.0
    if not words:
        return float(dense_text(accepted) in dense_text(later))
    # Single words would count other code: a deleted line with 60 lines of other code in its place counted as reverted
    # in 44 %, with runs in 92 %.
    kept = max(_in_runs(words, later_words), _together(words, later_words), _at_ends(words, later_words))
    return round(kept / len(words), 3)


def was_right(completion: str, later: str, prefix: str = "") -> bool:
    """Return whether the later text begins with a text, blanks apart, and ends there or goes on in a new line.

    Blanks count between the text and a word that it follows.
    """
    dense = dense_text(completion)
    if not dense or not dense_text(later).startswith(dense):
        return False
    # After `ret`, `urn x` continues the word and ` urn x` does not, though both are equal without blanks.
    if _continues_word(prefix, completion) is not _continues_word(prefix, later):
        return False
    # A longer word or line is another text: without this rule 96 % of references that were cut at any character counted
    # as typed, now 13 %.
    rest = later[dense_index(later, len(dense)) :].lstrip(" \t")
    return rest[:1] in ("", "\n", "\r")


def typed_by_user(completion: str, later: str, prefix: str = "") -> bool:
    """Return whether a text that was not accepted is what the user then typed; more may follow in new lines."""
    return len(dense_text(completion)) >= _SHORTEST_TYPED and was_right(completion, later, prefix)


def _continues_word(prefix: str, text: str) -> bool:
    return bool(_WORD.match(prefix[-1:]) and _WORD.match(text[:1]))


def _in_runs(words: Sequence[str], later: Sequence[str]) -> int:
    """Return the number of words in runs of :data:`_RUN` that the later text has."""
    runs = {tuple(later[start : start + _RUN]) for start in range(len(later) - _RUN + 1)}
    starts = [start for start in range(len(words) - _RUN + 1) if tuple(words[start : start + _RUN]) in runs]
    return len({start + step for start in starts for step in range(_RUN)})


def _together(words: Sequence[str], later: Sequence[str]) -> int:
    """Return the number of words that are together, in their order, in a part of the later text; 0 if under a half."""
    if not _RUN <= len(words) <= _MAX_ALIGNED:
        return 0
    # Renamed or added words make a kept text longer; beyond 30 % the window takes in the code around it.
    length, searched = len(words) + max(1, int(_SLACK * len(words))), {*words}
    windows = (later[start : start + length] for start, word in enumerate(later) if word in searched)
    most = max((int(LCSseq.similarity(words, window)) for window in windows), default=0)
    return most if 2 * most >= len(words) else 0


def _at_ends(words: Sequence[str], later: Sequence[str]) -> int:
    """Return the number of words at the beginning and end of both texts."""
    shorter = min(len(words), len(later))
    begin = next((index for index in range(shorter) if words[index] != later[index]), shorter)
    rest = shorter - begin
    return begin + next((index for index in range(rest) if words[-1 - index] != later[-1 - index]), rest)


def _marked(tokens: Sequence[str]) -> str:
    """Return tokens as a text in which one sequence contains another only at the bounds of tokens."""
    return "\0" + "".join(f"{token}\0" for token in tokens)


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
    kinds = {name for name, value in text_kinds(completion, reference, place).items() if value}
    kinds |= {*edit_kinds(completion, reference, place)}
    # Without the later text nothing says what was right, so only kinds that a text shows by itself remain.
    if due is None:
        kinds = (kinds & _ALONE) | _changed_by_policy(completion, place)
    # The program may have had faults before the caret; only what the completion adds is its own.
    if added_faults is not None and added_faults > 0:
        kinds.add("syntax")
    return tuple(sorted(kinds))


def _changed_by_policy(completion: str, place: CaretPlace) -> set[str]:
    try:
        name = get_language(place.language).name
    # Editors send languages that CaretBench has no rules for; the steps of the policy are by language.
    except UsageError:
        return set()
    caret = Caret(language=name, prefix=place.prefix, suffix=place.suffix)
    steps = get_policy("block").apply(completion, caret).steps
    return {_STEPS[step] for step in steps if step in _STEPS}


# A process of its own costs more than parsing a short program. Of a long one it is worth it: 57 kB of nested brackets
# kept a parser busy for minutes.
_PROBED_PROMPT: Final = 5_000
"""Number of characters around a caret from which a process of its own tries whether they can be parsed."""
_NOT_PARSED: Final = "none"
"""Name of no language: lines decide."""


def extracted_event(event: CompletionEvent, hashes: SaltedHashes | None = None) -> CompletionEvent:
    """Return an event with features in place of its texts, and with hashed identities if ``hashes`` are given.

    Words that could be text of the code become ``other``, and a time its hour in UTC.

    An event that has features already is returned with other hashes only if ``hashes`` are given.
    """
    changes: dict[str, object] = {}
    if event.texts is not None or hashes is not None:
        changes |= replaced_words(event)
    if event.texts is not None:
        changes |= {"texts": None, "features": features_of(event, event.texts)}
    # The second hash under the receiver's own salt: two files that were extracted by one person cannot be joined by
    # others.
    if hashes is not None:
        names = {"id": hashes.of("event", event.id), "user": hashes.of("user", event.user)}
        names |= {"session": hashes.of("session", event.session)} if event.session is not None else {}
        changes |= names | {"time": _hour(event.time)}
    return event.model_copy(update=changes)


def _hour(time: datetime) -> datetime:
    """Return the hour of a time in UTC: its zone says where in the world the user is."""
    try:
        time = time.astimezone(UTC)
    except OverflowError:  # the first or last day that there is
        time = time.replace(tzinfo=UTC)
    # Minutes and seconds would tell a user from others who worked in the same hour.
    return time.replace(minute=0, second=0, microsecond=0)


def features_of(event: CompletionEvent, texts: EventTexts) -> EventFeatures:
    """Return the features of the texts of an event."""
    after = texts.last_known
    due = after if after is not None and after.strip() else None
    text = texts.completion if due is None else due
    language = _parsed_language(event, texts, due)
    block = due_block(texts.prefix, "" if _nothing_was_due(event, after) else text, texts.suffix, language)
    place = CaretPlace(texts.prefix, texts.suffix, language)
    added = _added_faults(texts, due, language)
    typed = not event.was_accepted and after is not None and typed_by_user(texts.completion, after, texts.prefix)
    right = after is not None and was_right(texts.completion, after, texts.prefix)
    accepted = accepted_text(event, texts)
    return EventFeatures(
        block=block.kind,
        cut=block.cut,
        boundary=caret_boundary(texts.prefix, text, texts.suffix),
        partial_line=block.partial_line,
        has_suffix=bool(texts.suffix.strip()),
        lines=_lines(texts.completion),
        characters=len(texts.completion),
        prefix_lines=_lines(texts.prefix),
        prefix_characters=len(texts.prefix),
        suffix_characters=len(texts.suffix),
        added_faults=added,
        kept_30s=kept_share(accepted, texts.after_30s),
        kept_5min=kept_share(accepted, texts.after_5min),
        typed_anyway=typed,
        simulated_keys=None if after is None else simulated_keys(texts.prefix, after, texts.completion),
        # A text that the user typed all the same has no fault, however another measure calls it.
        failures=() if right else failures_of(texts.completion, after, place, added),
        secrets=secret_texts(texts) + secret_words(event),
    )


def outcome_of_texts(event: CompletionEvent, texts: EventTexts) -> CountedOutcome:
    """Return the outcome of an event with texts as it counts; nothing is parsed for it."""
    accepted, after = accepted_text(event, texts), texts.last_known
    shares = (kept_share(accepted, later) for later in (texts.after_30s, texts.after_5min))
    typed = not event.was_accepted and after is not None and typed_by_user(texts.completion, after, texts.prefix)
    return outcome_by_survival(event, [share for share in shares if share is not None], typed, telemetry_rules())


def accepted_text(event: CompletionEvent, texts: EventTexts) -> str | None:
    """Return the text that the user accepted; None if nothing was accepted."""
    if not event.was_accepted:
        return None
    return texts.completion[: event.accepted_characters] if event.outcome == "accepted_in_part" else texts.completion


def secret_texts(texts: EventTexts) -> int:
    """Return the number of texts with something in the shape of a key or a password."""
    checked = (texts.prefix, texts.suffix, texts.completion, texts.after_30s, texts.after_5min)
    return sum(text is not None and redact(text) != text for text in checked)


def _parsed_language(event: CompletionEvent, texts: EventTexts, due: str | None) -> str:
    """Return the language of an event; :data:`_NOT_PARSED` where its program takes too much memory or time to parse."""
    if len(texts.prefix) + len(texts.suffix) < _PROBED_PROMPT:
        return event.language
    programs = [texts.prefix + middle + texts.suffix for middle in (texts.completion, due or "")]
    return _NOT_PARSED if unparsed(programs, event.language) else event.language


def _nothing_was_due(event: CompletionEvent, after: str | None) -> bool:
    return not event.was_accepted and after is not None and not after.strip()


def _added_faults(texts: EventTexts, due: str | None, language: str) -> int | None:
    """Return the number of faults with the completion minus those with the text that was due, or with nothing."""
    given = structure_of(texts.prefix, texts.completion, texts.suffix, language)
    other = structure_of(texts.prefix, due or "", texts.suffix, language)
    return None if given is None or other is None else given.errors - other.errors


def _lines(text: str) -> int:
    return len([line for line in text.splitlines() if line.strip()])


_KINDS: Final[dict[str, EventBlock]] = {"function": "method", "condition": "if", "loop": "for", "exception": "try"}
_WHILE: Final = ("while", "do", "until")


class DueBlock(NamedTuple):
    """Kind of block of a text, the place of the caret in its block, and whether the text goes on in a line."""

    kind: EventBlock
    cut: EventCut
    partial_line: bool


def due_block(prefix: str, due: str, suffix: str, language: str) -> DueBlock:
    """Return the block of the text that was due: its kind, and the place of the caret in it, as in Codev-Bench.

    A text that is one whole statement, or a whole body of a function or handler, is a block. A text that runs from
    within a block to its end is the rest of that block after a cut. Without a grammar, or beyond the limits of parsing,
    lines decide.
    """
    line = prefix.rpartition("\n")[2]
    partial = bool(line.strip())
    structure = structure_of(prefix, due, suffix, language)
    # Languages without a grammar, and programs beyond the bound of parsing: kinds of blocks are unknown, lines are not.
    if structure is None:
        return DueBlock("partial_line" if partial else "statement", "block" if due.strip() else "empty", partial)
    program = _Program(prefix + due + suffix, language)
    if not due.strip():
        return DueBlock(program.kind_before(len(encode(prefix))), "empty", partial)
    if not structure.tokens:
        return DueBlock(COMMENT if structure.comments else "partial_line", "block", partial)
    # The caret is within a comment that began before it: its text alone has the tokens of code.
    if partial and line.lstrip().startswith(("#", "//", "*", "/*")):
        return DueBlock(COMMENT, "block", partial_line=True)
    start, end = structure.tokens[0].start, len(encode(prefix + due.rstrip()))
    return program.block(start, end, _inner_cut(line) if partial else "statement", partial=partial)


def _inner_cut(line: str) -> EventCut:
    last = line.rstrip()[-1:]
    return "token" if last.isalnum() or last in "_()[]{},;:\"'" else "operator"


class _Program:
    """Program with the text in its place, as a tree."""

    def __init__(self, text: str, language: str) -> None:
        self.data = encode(text)
        self.root = parse(text, grammar_name(language)).root_node

    def kind_before(self, position: int) -> EventBlock:
        """Return the kind of the statement that ends before a byte."""
        # Blank lines before the caret belong to no statement; the tree gives their place to the whole module.
        end = len(self.data[:position].rstrip())
        node = self.root.descendant_for_byte_range(max(end - 1, 0), end)
        statement = None if node is None else _statement_of(node)
        outer = statement
        # Several blocks may end at one byte: the outermost one within the function is what the user has just closed.
        while outer is not None and outer.end_byte == end and _kind(outer) != "method":
            statement, outer = outer, None if outer.parent is None else _statement_of(outer.parent)
        return "statement" if statement is None else _kind(statement)

    def block(self, start: int, end: int, cut: EventCut, *, partial: bool) -> DueBlock:
        """Return the block of the text from byte ``start`` to ``end``; ``cut`` is the one that an inner block has."""
        leaf = self.root.descendant_for_byte_range(start, start + 1)
        statement = self._statement_with_rest(leaf, end)
        if leaf is None or statement is None or statement.parent is None:
            return DueBlock("partial_line" if partial else "statement", "block", partial)
        listed = _statements(statement.parent)
        single = not any(statement.start_byte < other.start_byte < end for other in listed)
        reaches_end = _ends_by(listed, end)
        # The rest of a line is no block, even if the statement ends with it.
        if partial and (statement.end_byte > end or (single and _is_one_line(statement))):
            return DueBlock(self._inline_kind(leaf, start, end), "block", partial_line=True)
        # The statement began before the caret, so the text is the rest of a block after a cut.
        if statement.start_byte < start:
            kind = _kind(statement) if single or not reaches_end else _owner_kind(statement.parent)
            return DueBlock(kind, cut, partial)
        if not reaches_end or (single and listed[0].start_byte != start):
            return DueBlock(_kind(statement), "block", partial)
        return self._whole_rest(statement, listed, single=single, cut=cut, partial=partial)

    def _statement_with_rest(self, leaf: tree_sitter.Node | None, end: int) -> tree_sitter.Node | None:
        """Return the statement around a node in whose list a text up to byte ``end`` ends."""
        statement = None if leaf is None else _statement_of(leaf)
        while statement is not None and self._goes_beyond(statement, end):
            outer = None if statement.parent is None else _statement_of(statement.parent)
            if outer is None:
                break
            statement = outer
        return statement

    @staticmethod
    def _whole_rest(
        statement: tree_sitter.Node, listed: Sequence[tree_sitter.Node], *, single: bool, cut: EventCut, partial: bool
    ) -> DueBlock:
        """Return the block of a text that begins with a statement of a list and ends with the list."""
        body, kinds = statement.parent, node_kinds()
        owner = None if body is None else body.parent
        is_body = owner is not None and (owner.type in kinds.functions or owner.type in kinds.handlers)
        # One statement at the end of its list is itself, not "the rest of the list", unless it is a whole body.
        if body is None or owner is None or (single and not is_body):
            return DueBlock(_kind(statement), "block", partial)
        is_whole = is_body and listed[0].start_byte == statement.start_byte
        return DueBlock(_owner_kind(body), "block" if is_whole else cut, partial)

    def _goes_beyond(self, statement: tree_sitter.Node, end: int) -> bool:
        """Return whether a text has code behind the list of a statement."""
        body = statement.parent
        last = statement.end_byte if body is None else body.end_byte
        return last < end and bool(self.data[last:end].strip())

    def _inline_kind(self, leaf: tree_sitter.Node, start: int, end: int) -> EventBlock:
        """Return the kind of a text within a line: all arguments of a call, or another part of the line."""
        node: tree_sitter.Node | None = leaf
        while node is not None and node.type not in node_kinds().block_lists:
            # The exact bytes of all arguments: a text with one more token is no argument list.
            if node.type in node_kinds().argument_lists and node.named_children:
                first, last = node.named_children[0], node.named_children[-1]
                if (first.start_byte, last.end_byte) == (start, end):
                    return "argument_list"
            node = node.parent
        return "partial_line"


def _statement_of(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the statement of a list that a node is in or is; None outside of lists."""
    lists = node_kinds().block_lists
    statements = (outer for outer in upwards(node) if outer.is_named and outer.parent and outer.parent.type in lists)
    return next(statements, None)


def _statements(body: tree_sitter.Node) -> list[tree_sitter.Node]:
    """Return the statements of a list, without comments and documentation."""
    return [child for child in body.named_children if not _is_documentation(child)]


def _ends_by(statements: Sequence[tree_sitter.Node], end: int) -> bool:
    """Return whether a list of statements ends at a byte or before; False for an empty one."""
    return bool(statements) and statements[-1].end_byte <= end


def _is_documentation(node: tree_sitter.Node) -> bool:
    children = node.named_children
    # Python's grammar has a docstring as a statement with one string; JavaScript's directives look the same.
    return "comment" in node.type or (len(children) == 1 and children[0].type == "string")


def _is_one_line(node: tree_sitter.Node) -> bool:
    return node.start_point.row == node.end_point.row


def _owner_kind(body: tree_sitter.Node) -> EventBlock:
    return "statement" if body.parent is None else _kind(body.parent)


def _kind(node: tree_sitter.Node) -> EventBlock:
    """Return the kind of a statement, or of the owner of a list."""
    if node.type in node_kinds().handlers:
        return "catch"
    if node.type in node_kinds().functions:
        return "method"
    kind = kind_of(node)
    # The tables of error kinds know loops alone; Codev-Bench counts `for` and `while` apart, by the keyword.
    if kind == "loop" and text_of(node).startswith(_WHILE):
        return "while"
    return _KINDS.get(kind, "statement")
