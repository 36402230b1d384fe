"""Reduction of an answer by its syntax tree, in languages with features: see :mod:`.reduction` for Python's.

Statements are deleted, blocks unwrapped, calls replaced by their arguments; a declaration without a use goes with its
last use, since Go compiles nothing with one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from typing import NamedTuple

import tree_sitter

from caretbench.languages.node_kinds import NodeKinds, node_kinds
from caretbench.suites.c3bench.implementations.features import TreeParts, is_in
from caretbench.suites.c3bench.implementations.reduction import PredicateWords
from caretbench.syntax.parser import encode, parse, text_of

_WORD = re.compile(r"\w+")
_MAX_TEXT = 6000
"""Maximum number of characters of an answer that is reduced."""


class _Edit(NamedTuple):
    """Span of bytes in a program, what takes its place, and whether it is an outer statement of the answer."""

    start: int
    end: int
    new: bytes = b""
    is_outer: bool = False


def reduced_tree_text(
    prefix: str, text: str, suffix: str, language: str, words: PredicateWords, holds: Callable[[str], bool]
) -> Generator[str, bool | None, str | None]:
    """Yield shorter answers; each is sent whether it passes, or None to end.

    Texts that do not parse, use a name that they no longer declare, or contain a new endless loop are not tried.
    Arguments as :func:`~.reduction.reduced_text` has them.

    Returns:
        The shortest answer that passed; None if it was ended, or if the text is too long.
    """
    # Each edit copies the answer: 700 lines `0` took 11 s, and 5,000 lines minutes.
    if len(text) > _MAX_TEXT:
        return None
    program = _Program(prefix, suffix, language)
    seen, place, more = {text}, 0, False
    # Loops that lost their step: 14 of the 19 s of CPU for Python's references of the starter set, since only a limit
    # ended them.
    endless = program.endless(text)
    while (edit := program.edit(text, place)) is not None or more:
        if edit is None:
            # Where the last use of a name has gone, its declaration may go, too.
            place, more = 0, False
            continue
        place += 1
        # Of 1,310 runs for the starter set's references 900 edited parts that no feature of the predicate needs.
        if not (edit.is_outer or words.touches(program.part(text, edit))):
            continue
        changed = program.changed(text, edit)
        if changed in seen or not program.is_sound(changed, endless):
            continue
        # A third of the runs ended with a name that nothing bound any more.
        if unbound := program.unbound(text, changed):
            # What uses the name must go first.
            more = (not holds(changed) and words.add(unbound)) or more
            continue
        seen.add(changed)
        passes = yield changed
        if passes is None:
            return None
        if passes:
            if not holds(changed):
                return changed
            text, more, endless = changed, True, program.endless(changed)
            place -= 1
    return text


class _Program:
    """Text around an answer, with the edits of the answer."""

    def __init__(self, prefix: str, suffix: str, language: str) -> None:
        self.prefix, self.suffix, self.language = prefix, suffix, language
        self.kinds: NodeKinds = node_kinds(language)
        self.start = len(encode(prefix))
        self._parts: tuple[str, TreeParts] | None = None

    def parts(self, text: str) -> TreeParts:
        """Return the captures of the program with a text."""
        if self._parts is None or self._parts[0] != text:
            self._parts = text, TreeParts.of(self.prefix, text, self.suffix, self.language)
        return self._parts[1]

    def root(self, text: str) -> tree_sitter.Node:
        """Return the tree of the program with a text."""
        return parse(self.prefix + text + self.suffix, self.language).root_node

    def is_sound(self, text: str, endless: int) -> bool:
        """Return whether a text contains something, parses in its place, and has no more endless loops."""
        return bool(text.strip()) and not self.root(text).has_error and self.endless(text) <= endless

    def edit(self, text: str, place: int) -> _Edit | None:
        """Return an edit by its number; None if there are not so many."""
        return next((one for number, one in enumerate(self._edits(text)) if number == place), None)

    def part(self, text: str, edit: _Edit) -> str:
        """Return what is edited."""
        return encode(text)[edit.start - self.start : edit.end - self.start].decode()

    def changed(self, text: str, edit: _Edit) -> str:
        """Return a text after an edit, without the declarations that it leaves unused."""
        own = encode(text)
        shorter = (own[: edit.start - self.start] + edit.new + own[edit.end - self.start :]).decode()
        declared = set(_counts(self.parts(text).span.get("name.name", ())))
        while (dead := self._dead_declaration(shorter, declared)) is not None:
            left = encode(shorter)
            shorter = (left[: dead[0] - self.start] + left[dead[1] - self.start :]).decode()
        return shorter

    def unbound(self, text: str, changed: str) -> set[str]:
        """Return the names that a text uses, and that only its earlier form declared."""
        names = "name.name", "function.name"
        before, after = (
            {text_of(node) for name in names for node in self.parts(one).whole.get(name, ())} for one in (text, changed)
        )
        return (before - after).intersection(_WORD.findall(changed + self.suffix))

    def endless(self, text: str) -> int:
        """Return the number of loops that change no name of their condition, and are not left."""
        parts = self.parts(text)
        count = 0
        for loop in parts.span.get("while", ()):
            conditions = [one for one in parts.span.get("condition", ()) if is_in(one, loop)]
            names = {name for one in conditions for name in _WORD.findall(text_of(one))}
            changed = {text_of(one) for one in parts.span.get("updated.name", ()) if is_in(one, loop)}
            count += not names & changed and not any(is_in(one, loop) for one in parts.span.get("exit", ()))
        return count

    def _dead_declaration(self, text: str, declared: set[str]) -> tuple[int, int] | None:
        """Return the span of a statement that declares names without a use; None if there is none."""
        words = Counter(_WORD.findall(text + self.suffix))
        for node in self.parts(text).span.get("name.name", ()):
            statement = self._statement(node)
            if statement is None or statement.type in self.kinds.loops | self.kinds.branches:
                continue
            names = _counts(one for one in self.parts(text).span["name.name"] if is_in(one, statement))
            if names.keys() <= declared and all(words[name] == count for name, count in names.items()):
                return statement.start_byte, statement.end_byte
        return None

    def _statement(self, node: tree_sitter.Node) -> tree_sitter.Node | None:
        """Return the innermost statement around a node."""
        current: tree_sitter.Node | None = node
        while current is not None and (current.parent is None or current.parent.type not in self.kinds.statement_lists):
            current = current.parent
        return current if current is not None and current.start_byte >= self.start else None

    def _edits(self, text: str) -> Iterator[_Edit]:
        """Yield the possible edits: outer statements first, since with one of them all in it goes."""
        kinds, end = self.kinds, self.start + len(encode(text))
        nodes = [
            node for node in _breadth_first(self.root(text)) if self.start <= node.start_byte < node.end_byte <= end
        ]
        # Without its `break` a search finds the same, and right answers would lose it.
        statements = [
            node for node in nodes
            if node.is_named and node.parent is not None and node.parent.type in kinds.statement_lists
            and node.type not in kinds.statement_lists | kinds.breaks | kinds.continues | kinds.comments
            and not self._steers(node, text)
        ]  # fmt: skip
        yield from (
            _Edit(
                node.start_byte, node.end_byte, is_outer=node.parent is not None and node.parent.start_byte < self.start
            )
            for node in statements
        )
        for node in statements:
            if node.type in kinds.conditional:
                yield from (_Edit(node.start_byte, node.end_byte, inner) for inner in self._bodies(node))
        yield from self._smaller(nodes)

    def _smaller(self, nodes: list[tree_sitter.Node]) -> Iterator[_Edit]:
        """Yield the edits that put an argument in the place of a call, or a value in that of a conditional."""
        kinds = self.kinds
        for node in nodes:
            if node.type in kinds.calls | kinds.creations:
                given = node.child_by_field_name("arguments")
                parts = given.named_children if given else []
            elif node.type in kinds.conditional_expressions:
                parts = node.named_children[1:]
            else:
                continue
            yield from (
                _Edit(node.start_byte, node.end_byte, part.text or b"")
                for part in parts
                if part.type not in kinds.comments
            )

    def _steers(self, statement: tree_sitter.Node, text: str) -> bool:
        """Return whether a loop with a condition ends by a statement in it: a test, or a change of what it tests."""
        parts = self.parts(text).span
        loops = [one for one in parts.get("while", ()) if is_in(statement, one)]
        conditions = [one for one in parts.get("condition", ()) if any(is_in(one, loop) for loop in loops)]
        names = {name for one in conditions for name in _WORD.findall(text_of(one))}
        changed = {text_of(one) for one in parts.get("updated.name", ()) if is_in(one, statement)}
        if statement.type in self.kinds.conditional:
            return bool(loops) and statement.type in self.kinds.branches
        return not names.isdisjoint(changed)

    def _bodies(self, statement: tree_sitter.Node) -> Iterator[bytes]:
        """Yield the statements of each block of a statement, without those that leave a loop."""
        kinds = self.kinds
        for child in statement.children:
            if child.type in kinds.else_clauses | kinds.handlers | kinds.finally_clauses:
                yield from self._bodies(child)
            elif child.type in kinds.statement_lists:
                inner = child.named_children
                while len(inner) == 1 and inner[0].type in kinds.statement_lists:
                    inner = inner[0].named_children
                left = kinds.breaks | kinds.continues if statement.type in kinds.loops else frozenset()
                yield b"\n".join(one.text or b"" for one in inner if one.type not in left)


def _counts(nodes: Iterator[tree_sitter.Node] | list[tree_sitter.Node] | tuple[()]) -> Counter[str]:
    return Counter(text_of(node) for node in nodes)


def _breadth_first(root: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    level = [root]
    while level:
        yield from level
        level = [child for one in level for child in one.children]
