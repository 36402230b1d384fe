"""Walk over the syntax tree that finds the structure of a text at its caret.

The walk visits only nodes that overlap the text, and ends at fixed limits, so that its time is bounded. Of the nodes
around the text it visits the children only where a call can be among them. Long texts are parsed only if the probe of a
process of its own parses them within its limits.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Final, NamedTuple

import tree_sitter

from caretbench.languages.node_kinds import node_kinds
from caretbench.metrics.error_kinds.answer_structure import CLOSING, COMMENT, AnswerStructure, Call, Statement, Token
from caretbench.metrics.error_kinds.kind_table import kind_by_type, kind_of
from caretbench.syntax.bounded_parsing import SplicedTree, spliced_tree
from caretbench.syntax.parser import encode

MAX_NODES: Final = 100_000
"""Maximum number of nodes that the walk visits."""
MAX_DEPTH: Final = 400
"""Maximum depth of the nodes that the walk visits."""

_LITERALS: Final = ("string", "heredoc", "regex")
_TARGET_END: Final = re.compile(r"[=({;\n]|<<")
_TARGET: Final = re.compile(r"\w+(?:(?:\.|->|::)\w+)*")
_MAX_INDENTATION: Final = 1_000


def structure_of(
    prefix: str, text: str, suffix: str, language: str, near: SplicedTree | None = None
) -> AnswerStructure | None:
    """Return the structure of ``text`` between prefix and suffix; None if it cannot be parsed within the limits.

    ``near`` is the tree of another text in the same place, from which this one's is parsed incrementally.
    """
    tree = spliced_tree(prefix, text, suffix, language, near)
    if tree is None:
        return None
    walk = _Walk(tree)
    return walk.structure(prefix) if walk.run() else None


# Trees take a hundred times the memory of their text; answers come problem by problem.
@lru_cache(maxsize=16)
def reference_structure(prefix: str, reference: str, suffix: str, language: str) -> AnswerStructure | None:
    """Return the structure of a reference; cached, since every answer to a problem is compared with it."""
    return structure_of(prefix, reference, suffix, language)


class _Traits(NamedTuple):
    """Traits of all nodes of one type."""

    is_list: bool
    is_comment: bool
    is_literal: bool
    """True for a literal that contains text of its own."""
    is_block: bool
    is_call: bool
    is_function: bool
    is_argument_list: bool


@cache
def _traits(name: str) -> _Traits:
    """Return the traits of a type of nodes; cached, since answers have millions of nodes of some hundred types."""
    kinds = node_kinds()
    return _Traits(
        is_list=name == "ERROR" or name in node_kinds().block_lists,
        is_comment="comment" in name,
        is_literal=any(word in name for word in _LITERALS) or name in kinds.literals["char"],
        is_block=name in kind_by_type(),
        is_call=name in kinds.calls,
        is_function=name in kinds.functions,
        is_argument_list=name in kinds.argument_lists,
    )


class _Visit(NamedTuple):
    """Node to be visited, and what is around it."""

    node: tree_sitter.Node
    traits: _Traits
    depth: int = 0
    in_statement: bool = False
    in_list: bool = False
    in_literal: bool = False


class _Walk:
    """Walk over the nodes that overlap a span."""

    def __init__(self, spliced: SplicedTree) -> None:
        self.spliced = spliced
        self.data = spliced.program
        self.start = spliced.start
        self.end = spliced.end
        self.tokens: list[Token] = []
        self.comments: list[int] = []
        self.statements: list[Statement] = []
        self.calls: list[tree_sitter.Node] = []
        self.bodies: list[tuple[int, int]] = []
        self.misaligned = 0

    def run(self) -> bool:
        """Visit the nodes; return False where there are too many, or too deep ones."""
        first = self._pass_around()
        stack = [first]
        visited = first.depth
        while stack:
            visit = stack.pop()
            visited += 1
            if visited > MAX_NODES or visit.depth > MAX_DEPTH:
                return False
            stack += reversed(self._visit(visit))
        return True

    def _pass_around(self) -> _Visit:
        """Record the nodes around the span, and return the visit of the innermost one.

        A node that begins before the span and ends after it is no statement of the span, and of its children only the
        next of these nodes overlaps the span or touches it.
        """
        around = [(node, _traits(node.type)) for node in self._around()]
        in_literal = False
        for node, traits in around[:-1]:
            if not in_literal and (node.child_count == 0 or traits.is_comment or traits.is_literal):
                self._add_token(node, traits)
                in_literal = True
            if traits.is_function:
                self._add_body(node)
        innermost = max((body[0] for body in self.bodies if body[0] < self.start and body[1] > self.end), default=0)
        for node, traits in around[:-1]:
            # A call around the body that holds the span is left out, see `structure`: there its children do not count.
            if node.start_byte >= innermost and (
                traits.is_call or any(_traits(child.type).is_argument_list for child in node.children)
            ):
                self.calls.append(node)
        in_list = len(around) > 1 and around[-2][1].is_list
        return _Visit(*around[-1], len(around) - 1, False, in_list, in_literal)

    def _around(self) -> list[tree_sitter.Node]:
        """Return the nodes that begin before the span and end after it, outermost first; at least the root."""
        root = self.spliced.tree.root_node
        node = root.descendant_for_byte_range(self.start, self.end)
        enclosing = []
        while node is not None:
            if node.start_byte < self.start and node.end_byte > self.end:
                enclosing.append(node)
            node = node.parent
        return enclosing[::-1] or [root]

    def _visit(self, visit: _Visit) -> list[_Visit]:
        """Record a node, and return its children that overlap the span."""
        node, traits, depth, in_statement, in_list, in_literal = visit
        is_list = traits.is_list
        outermost = not (in_statement or in_literal or is_list) and node.start_byte >= self.start
        if outermost and (in_list or traits.is_block):
            self._add_statement(node)
            in_statement = True
        children = [(child, _traits(child.type)) for child in node.children]
        if not in_literal and (not children or traits.is_comment or traits.is_literal):
            self._add_token(node, traits)
            in_literal = True  # a string may hold calls, but no tokens
        self._add_call_or_body(node, traits, children)
        if is_list and not node.is_error:
            self._align(node.children)
        overlapping = filter(self._overlaps, children)
        return [_Visit(*child, depth + 1, in_statement, is_list, in_literal) for child in overlapping]

    def _add_call_or_body(
        self, node: tree_sitter.Node, traits: _Traits, children: Sequence[tuple[tree_sitter.Node, _Traits]]
    ) -> None:
        if traits.is_call or any(of_child.is_argument_list for _, of_child in children):
            self.calls.append(node)
        if traits.is_function:
            self._add_body(node)

    def _overlaps(self, child: tuple[tree_sitter.Node, _Traits]) -> bool:
        return child[0].start_byte < self.end and child[0].end_byte > self.start

    def _add_body(self, node: tree_sitter.Node) -> None:
        if (body := node.child_by_field_name("body")) is not None:
            self.bodies.append((body.start_byte, body.end_byte))

    def _add_statement(self, node: tree_sitter.Node) -> None:
        kind = kind_of(node)
        if kind == COMMENT or (not node.is_named and node.type not in kind_by_type()):
            return
        # A statement's first line has its word and its target; a block's text would be decoded once at each level.
        line_end = self.data.find(b"\n", node.start_byte, node.end_byte)
        text = self._text(node.start_byte, node.end_byte if line_end < 0 else line_end)
        word = text.split(maxsplit=1)[:1]
        names = _TARGET.findall(_TARGET_END.split(text, maxsplit=1)[0])
        column = node.start_point.column
        self.statements.append(
            Statement(kind, node.type, node.start_byte, column, word[0] if word else "", names[-1] if names else "")
        )

    def _add_token(self, node: tree_sitter.Node, traits: _Traits) -> None:
        node_start, node_end = node.start_byte, node.end_byte
        start = max(node_start, self.start)
        text = self._text(start, min(node_end, self.end))
        if not text.strip():
            return  # a newline, an indentation, or a missing token that the parser inserted
        if traits.is_comment:
            self.comments.append(start)
            return
        column = node.start_point.column
        inside = node_start >= self.start
        starts_line = inside and self._starts_line(node_start, column)
        runs_over = inside and traits.is_literal and node_end > self.end
        self.tokens.append(Token(node.type, text, start, column, starts_line, runs_over))

    def _starts_line(self, start: int, column: int) -> bool:
        return column <= _MAX_INDENTATION and not self.data[start - column : start].strip()

    def _align(self, children: Sequence[tree_sitter.Node]) -> None:
        """Count the statements of a list that begin in the span and in another column than their list's first."""
        first: int | None = None
        unaligned = node_kinds().unaligned | {"ERROR"}
        for child in children:
            if not child.is_named or (kind := child.type) in unaligned or _traits(kind).is_comment:
                continue
            column = child.start_point.column
            if child.is_error or not self._starts_line(child.start_byte, column):
                continue
            if first is None:
                first = column
            elif column != first and (self.start <= child.start_byte < self.end or child.start_byte == self.end):
                self.misaligned += 1

    def _text(self, start: int, end: int) -> str:
        return self.data[start:end].decode("utf-8", "replace")

    def structure(self, prefix: str) -> AnswerStructure:
        """Return what was found."""
        self.bodies.sort(key=lambda body: (body[0], -body[1]))
        line = prefix.rpartition("\n")[2]
        margin = len(encode(line)) - len(encode(line.lstrip())) if line.strip() else None
        # A call around the span that holds it in a function's body is the same for answer and reference.
        around = [body for body in self.bodies if body[0] < self.start and body[1] > self.end]
        inner = max(around, default=(0, 0))[0]
        reader = _CallReader(self.spliced, [node for node in self.calls if node.start_byte >= inner])
        return AnswerStructure(
            self.spliced,
            tuple(self.tokens),
            self.comments,
            tuple(self.statements),
            reader.read(),
            reader.bound_names,
            self.misaligned,
            margin,
        )


_PARTS_OF_NAMES: Final = frozenset({"type", "value", "right", "default_value"})
"""Fields of a parameter that hold no name which it binds."""
_MAX_CALL_DEPTH: Final = 150
"""Depth below the outermost node from which code is compared as it is written: each level copies its text."""
_NAME: Final = re.compile(r"[^\W\d]\w*")
_STRING: Final = re.compile(r"""(?s)([A-Za-z@$]*)(#*)(\"{3}|'{3}|["'`])(.*)\3\2""")
_RAW_STRING: Final = re.compile(r"(?s)(\w*)\((.*)\)\1")


class _CallReader:
    """Reader of calls by their meaning: layout, quotes and the order of named arguments do not count.

    Bound names are followed by NUL and their level, the number of names that are bound around them within the text.
    Each node that overlaps the text is visited once; code around the text stays as it is.
    """

    def __init__(self, spliced: SplicedTree, nodes: Sequence[tree_sitter.Node]) -> None:
        self.data, self.start, self.end = spliced.program, spliced.start, spliced.end
        self.root = spliced.tree.root_node
        self.nodes = nodes
        self.places = sorted(node.start_byte for node in nodes)
        self.kinds = node_kinds(spliced.language)
        self.strings = node_kinds().literals["string"]
        self.calls: list[Call] = []
        self.levels: dict[str, list[int]] = {}
        self.level = 0
        self.binding: set[int] = set()
        self.members: set[int] = set()
        self.bound_names: set[str] = set()

    def read(self) -> Sequence[Call]:
        """Return the calls."""
        if self.nodes:
            outer = min(self.nodes[0].start_byte, self.start), max(self.nodes[0].end_byte, self.end)
            top = self.root.descendant_for_byte_range(*outer) or self.root
            self._meaning(top, within=False)
        return self.calls

    def _meaning(self, node: tree_sitter.Node, depth: int = 0, *, within: bool) -> str:
        """Return the code of a node in a call, and record the calls in it."""
        start, end = node.start_byte, node.end_byte
        if start >= self.end or end <= self.start or depth > _MAX_CALL_DEPTH:
            return "".join(self._slice(start, end).split()) if within else ""
        traits = _traits(node.type)
        index = bisect.bisect_left(self.places, start)
        if traits.is_comment or not (within or (index < len(self.places) and self.places[index] < end)):
            return ""
        children = node.children
        if not children:
            return self._leaf(node)
        names = self._bound(node, children)
        for name in names:
            self.levels.setdefault(name, []).append(self.level)
            self.level += 1
        is_string = node.type in self.strings and not any(child.type in self.strings for child in children)
        text = (self._string if is_string else self._joined)(node, children, depth + 1, within)
        for name in names:
            self.levels[name].pop()
            self.level -= 1
        return text

    def _slice(self, start: int, end: int) -> str:
        return self.data[start:end].decode("utf-8", "replace")

    def _leaf(self, node: tree_sitter.Node) -> str:
        text = self._slice(node.start_byte, node.end_byte)
        if node.type in self.strings:
            return _string_value(text, "")
        is_name = node.type in self.kinds.names and node.start_byte not in self.members
        if is_name or node.start_byte in self.binding:
            levels = self.levels.get(text)
            return f"{text}\0{levels[-1]}" if levels else text
        return text.strip()

    def _bound(self, node: tree_sitter.Node, children: Sequence[tree_sitter.Node]) -> Sequence[str]:
        """Return the names that a node of the text binds in itself, with those of its children that have no body."""
        if not (self.start <= node.start_byte and node.end_byte <= self.end):
            return []
        names: list[str] = []
        for part in (node, *children):
            fields = self.kinds.bound.get(part.type, ())
            if fields and (part.child_by_field_name("body") is None) is (part is not node):
                for field in fields:
                    names += self._names(part.child_by_field_name(field))
        self.bound_names.update(names)
        return names

    def _names(self, target: tree_sitter.Node | None) -> Iterator[str]:
        stack = [] if target is None else [target]
        while stack:
            node = stack.pop()
            text = "" if node.child_count else self._slice(node.start_byte, node.end_byte)
            if node.is_named and _NAME.fullmatch(text):
                self.binding.add(node.start_byte)
                yield text
            children = enumerate(node.children)
            stack += [child for at, child in children if node.field_name_for_child(at) not in _PARTS_OF_NAMES][::-1]

    def _string(self, node: tree_sitter.Node, children: Sequence[tree_sitter.Node], depth: int, within: bool) -> str:
        """Return a string by its value, with the code in it."""
        parts, codes, end = [], [], node.start_byte
        for child in children:
            if child.child_count > 1 and self.data[child.start_byte : child.start_byte + 1] in (b"{", b"$", b"#"):
                parts.append(self._slice(end, child.start_byte))
                codes.append(self._meaning(child, depth, within=within))
                end = child.end_byte
        parts.append(self._slice(end, node.end_byte))
        return _string_value("\1".join(parts), " ".join(codes))

    def _joined(self, node: tree_sitter.Node, children: Sequence[tree_sitter.Node], depth: int, within: bool) -> str:
        traits = _traits(node.type)
        arguments = next((child for child in children if _traits(child.type).is_argument_list), None)
        is_call = traits.is_call or arguments is not None
        self._note_members(node, children, listed=traits.is_argument_list)
        body = node.child_by_field_name("body") if traits.is_function else None
        parts: list[str] = []
        keyed: list[str] = []
        given = ""
        for child in children:
            # The body of a function in a call is no part of the call; calls in it count by themselves.
            inside = (within or is_call) and (body is None or child.start_byte != body.start_byte)
            text = self._meaning(child, depth, within=inside)
            if self._key(child) is not None:
                keyed.append(text)
                continue
            if child.type == "," and keyed:
                continue  # named arguments are a set
            parts += sorted(keyed)
            keyed = []
            if child == arguments:
                given, text = text, ""
            elif child.type in CLOSING and parts[-1:] == [","] and node.type not in self.kinds.tuples:
                parts.pop()  # a comma at the end of a list, but of `(a,)`
            parts.append(text)
        text = " ".join(filter(None, [*parts, *sorted(keyed)]))
        if not is_call:
            return text
        self.calls.append(Call(text, given))
        return f"{text} {given}"

    def _note_members(self, node: tree_sitter.Node, children: Sequence[tree_sitter.Node], *, listed: bool) -> None:
        """Note the places of names that are no variables: of members, and of named arguments."""
        field = self.kinds.member_fields.get(node.type)
        names = [node.child_by_field_name(field) if field else None, *(map(self._key, children) if listed else ())]
        self.members.update(name.start_byte for name in names if name is not None)

    def _key(self, node: tree_sitter.Node) -> tree_sitter.Node | None:
        field = self.kinds.keyed.get(node.type) or ("name" if node.type in self.kinds.arguments else None)
        return None if field is None else node.child_by_field_name(field)


def _string_value(text: str, code: str) -> str:
    """Return a string without its quotes, and the code in it; the quotes in it without backslashes."""
    match = _STRING.fullmatch(text)
    if match is None:
        return text
    prefix, _, _, content = match.groups()
    kept = "".join(sorted(letter for letter in prefix.lower() if letter not in "ru@"))
    if kept == prefix.lower():
        content = re.sub(r"""\\(["'`])""", r"\1", content)
    else:
        raw = _RAW_STRING.fullmatch(content) if "R" in prefix else None
        content = (content if raw is None else raw[2]).replace("\\", "\\\\")
    return f'{kept}"{content}"{code}'
