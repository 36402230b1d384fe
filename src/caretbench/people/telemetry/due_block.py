"""Block of the text that was due at a caret: its kind, and the place of the caret in its block, as in Codev-Bench.

A text that is one whole statement, or a whole body of a function or handler, is a block. A text that runs from within
a block to its end is the rest of that block after a cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import tree_sitter

from caretbench.languages.node_kinds import node_kinds
from caretbench.metrics.error_kinds.answer_structure import COMMENT
from caretbench.metrics.error_kinds.node_table import kind_of
from caretbench.metrics.error_kinds.structure_walk import structure_of
from caretbench.people.telemetry.events import EventBlock, EventCut
from caretbench.syntax.parser import encode, grammar_name, parse, text_of

_KINDS: Final[dict[str, EventBlock]] = {"function": "method", "condition": "if", "loop": "for", "exception": "try"}
_WHILE: Final = ("while", "do", "until")


class DueBlock(NamedTuple):
    """Kind of block of a text, the place of the caret in its block, and whether the text goes on in a line."""

    kind: EventBlock
    cut: EventCut
    partial_line: bool


def due_block(prefix: str, due: str, suffix: str, language: str) -> DueBlock:
    """Return the block of the text that was due. Without a grammar, or beyond the limits of parsing, lines decide."""
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
        single = not any(statement.start_byte < one.start_byte < end for one in listed)
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
    found: tree_sitter.Node | None = node
    while found is not None and not (found.is_named and found.parent and found.parent.type in node_kinds().block_lists):
        found = found.parent
    return found


def _statements(body: tree_sitter.Node) -> list[tree_sitter.Node]:
    """Return the statements of a list, without comments and documentation."""
    return [one for one in body.named_children if not _is_documentation(one)]


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
