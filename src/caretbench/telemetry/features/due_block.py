"""Block of the text that was due at a caret: its kind, and the place of the caret in its block."""

from __future__ import annotations

from typing import Final, NamedTuple

import tree_sitter

from caretbench.metrics.error_kinds.answer_structure import COMMENT, AnswerStructure, Statement
from caretbench.metrics.error_kinds.node_table import node_table
from caretbench.metrics.error_kinds.structure_walk import structure_of
from caretbench.syntax.parser import encode, grammar_name, parse
from caretbench.syntax.uses.expression_contexts import ARGUMENT_LIST_NODES, FUNCTION_NODES
from caretbench.telemetry.event_rows import EventBlock, EventCut

_KINDS: Final[dict[str, EventBlock]] = {"function": "method", "condition": "if", "loop": "for", "exception": "try"}
_WHILE: Final = ("while", "do", "until", "loop")
_HANDLERS: Final = frozenset({"catch_clause", "except_clause", "except_group_clause", "rescue"})
_HANDLER_WORDS: Final = ("catch", "except", "rescue")


class DueBlock(NamedTuple):
    """Kind of block of a text, the place of the caret in its block, and whether the text goes on in a line."""

    kind: EventBlock
    cut: EventCut
    partial_line: bool


def due_block(prefix: str, due: str, suffix: str, language: str) -> DueBlock:
    """Return the block of the text that was due. Without a grammar, or beyond the limits of parsing, lines decide."""
    line = prefix.rpartition("\n")[2]
    partial = bool(line.strip())
    if not due.strip():
        return DueBlock("partial_line" if partial else "statement", "empty", partial)
    structure = structure_of(prefix, due, suffix, language)
    if structure is None:
        return DueBlock("partial_line" if partial else "statement", "token" if partial else "block", partial)
    if not structure.tokens:
        return DueBlock(COMMENT if structure.comments else "partial_line", "block", partial)
    place = _caret_place(prefix, due, suffix, language, structure)
    if partial and not _begins_at_line(structure):
        return DueBlock(_inline_kind(line, place), _inline_cut(line), partial_line=True)
    if place.whole_body is not None:
        return DueBlock(place.whole_body, "block", partial)
    first = structure.statements[0] if structure.statements else None
    return DueBlock(_kind(first), "statement" if place.continues_list else "block", partial)


class _CaretPlace(NamedTuple):
    """Place of a caret in the tree.

    ``whole_body``: the text is the whole body of a function or handler. ``continues_list``: statements of the same
    list are before the caret. ``in_arguments``: the text begins in the arguments of a call.
    """

    whole_body: EventBlock | None = None
    continues_list: bool = False
    in_arguments: bool = False


def _caret_place(prefix: str, due: str, suffix: str, language: str, structure: AnswerStructure) -> _CaretPlace:
    tree = parse(prefix + due + suffix, grammar_name(language))
    start = structure.tokens[0].start
    node = tree.root_node.descendant_for_byte_range(start, start + 1)
    arguments = False
    around = node
    while around is not None and not arguments:
        arguments = around.type in ARGUMENT_LIST_NODES and around.start_byte < start
        around = around.parent if around.type not in node_table().lists else None
    while node is not None and node.parent is not None and node.parent.type not in node_table().lists:
        node = node.parent
    listed = node.parent if node is not None else None
    if node is None or listed is None:
        return _CaretPlace(in_arguments=arguments)
    first = next((one for one in listed.named_children if not _is_documentation(one)), node)
    if first.start_byte < node.start_byte:
        return _CaretPlace(None, listed.parent is not None, arguments)
    end = len(encode(prefix)) + len(encode(due))
    ends = listed.named_children[-1].end_byte <= end and node.start_byte == start
    return _CaretPlace(_body_of(listed) if ends else None, False, arguments)


def _is_documentation(node: tree_sitter.Node) -> bool:
    children = node.named_children
    return "comment" in node.type or (len(children) == 1 and children[0].type == "string")


def _body_of(listed: tree_sitter.Node) -> EventBlock | None:
    owner = listed.parent
    if owner is None:
        return None
    if owner.type in FUNCTION_NODES:
        return "method"
    return "catch" if owner.type in _HANDLERS else None


def _begins_at_line(structure: AnswerStructure) -> bool:
    """Return whether a text behind other text of its line begins with a statement of its own."""
    return structure.begins_statement and structure.statements[0].is_block


def _inline_kind(line: str, place: _CaretPlace) -> EventBlock:
    if line.lstrip().startswith(("#", "//", "*", "/*")):
        return "comment"
    return "argument_list" if place.in_arguments and line.rstrip().endswith(("(", ",")) else "partial_line"


def _inline_cut(line: str) -> EventCut:
    last = line.rstrip()[-1:]
    return "token" if last.isalnum() or last in "_()[]{},;:\"'" else "operator"


def _kind(first: Statement | None) -> EventBlock:
    if first is None:
        return "statement"
    if first.kind == "loop":
        return "while" if first.first_word.startswith(_WHILE) else "for"
    if first.kind == "exception" and first.first_word.lstrip("} ").startswith(_HANDLER_WORDS):
        return "catch"
    return _KINDS.get(first.kind, "statement")
