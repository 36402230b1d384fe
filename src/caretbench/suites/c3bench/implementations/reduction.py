"""Reduction of an answer: what is left of it while its tests pass.

Statements are deleted, blocks unwrapped, and calls replaced by their arguments. An answer to another instruction, with
lines that only look like this one's, loses these lines. A declaration without a use goes with its last use, since Go
compiles nothing with one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import NamedTuple

import tree_sitter

from caretbench.languages import language_of_grammar
from caretbench.languages.node_kinds import NodeKinds, node_kinds
from caretbench.suites.c3bench.implementations.features import TreeParts, is_in
from caretbench.syntax.parser import encode, parse, python_module, text_of

_WORD = re.compile(r"\w+")
_LINE_BEGIN = re.compile(r"(?<![^\n])[ \t]+\Z|\Z")
_MAX_TEXT = 6000
"""Maximum number of characters of an answer that is reduced."""


# Words of features that are not named by one; of others, the name is the word: `call:sum`, `updated_in_loop:ways`.
_WORDS = {
    "loop_depth": ["for", "while"], "picks_smallest": ["for", "while"], "sorts": ["sort", "sorted"],
    "lambda_tuple": ["lambda"], "yield_from": ["yield"], "return_at_end": ["return"], "early_return": ["return"],
    "branches_return": ["return"], "returns": ["return"], "membership": ["in"],
}  # fmt: skip


_NO_HEAD = r"(?:return|yield|await|in|not|and|or|else|if|is|new|case|throw)\b"


class PredicateWords:
    """Words by which a predicate's features occur in an answer, and names that bind what they need.

    An edit of a part without such a word changes no verdict: of the 1,310 programs that the starter set's references
    were reduced to, 910 were run for nothing.
    """

    def __init__(self, requires: Sequence[str], prefix: str, text: str) -> None:
        self._words: set[str] = set()
        self._all = False
        for name in requires:
            own = {word for choice in name.split("|") for word in _words_of(choice, prefix, text) if _has(word, text)}
            self._words |= own
            # A feature without a word, a regular expression for example, may be shown by any part.
            self._all = self._all or not own

    def touches(self, part: str) -> bool:
        """Return whether an edit of a part may change the verdict."""
        return self._all or any(_has(word, part) for word in self._words)

    def add(self, names: set[str]) -> bool:
        """Add the names without which a part cannot be edited; return whether one is new."""
        is_new = not self._all and not names <= self._words
        self._words |= names
        return is_new


def _words_of(feature: str, prefix: str, text: str) -> Sequence[str]:
    kind = feature.partition(":")[0]
    if kind == "recursion":
        # A function's name follows another word where it is defined: `def find`, `int find`, `const find`.
        called = set(re.findall(r"(?<![\w.])([^\W\d]\w*)\s*\(", text))
        return [word for word in called if re.search(rf"\b(?!{_NO_HEAD})\w+[\])>*]*\s+{word}\b", prefix + text)]
    last = feature.rpartition(":")[2]
    if last.endswith("comprehension"):
        return [feature.split(":")[1], last] if kind == "bound" else ["for"]
    if kind == "bound":
        return [feature.split(":")[1], last]
    return _WORDS.get(last) or _WORDS.get(kind) or re.findall(r"[^\W\d]\w*", last) or [last]


def _has(word: str, text: str) -> bool:
    return re.search(rf"(?<!\w){word}(?!\w)", text) is not None if word.isidentifier() else word in text


class _Edit(NamedTuple):
    """Span of bytes in a program, what takes its place, and whether it is an outer statement of the answer."""

    start: int
    end: int
    new: bytes = b""
    is_outer: bool = False


def reduced_text(
    prefix: str, text: str, suffix: str, language: str, words: PredicateWords, holds: Callable[[str], bool]
) -> Generator[str, bool | None, str | None]:
    """Yield shorter answers; each is sent whether it passes, or None to end.

    Texts that do not parse, use a name that they no longer declare, or contain a new endless loop are not tried.

    Args:
        prefix: Text before the answer.
        text: Answer.
        suffix: Text after it.
        language: Language, which has features.
        words: Words of the predicate; other parts are not edited.
        holds: Return whether an answer satisfies the predicate; the first that does not, and passes, ends the search.

    Returns:
        The shortest answer that passed; None if it was ended, or if the text is too long.
    """
    # Each edit copies the answer: 700 lines `0` took 11 s, and 5,000 lines minutes.
    if len(text) > _MAX_TEXT:
        return None
    # Lines are whole: an answer may begin behind the indentation of its first one.
    line = _LINE_BEGIN.findall(prefix)[0]
    program, text = _Program(prefix.removesuffix(line), suffix, language), line + text
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
        if changed in seen or not changed.startswith(line) or not program.is_sound(changed, endless):
            continue
        shorter = changed.removeprefix(line)
        # A third of the runs ended with a name that nothing bound any more.
        if unbound := program.unbound(text, changed):
            # What uses the name must go first.
            more = (not holds(shorter) and words.add(unbound)) or more
            continue
        seen.add(changed)
        passes = yield shorter
        if passes is None:
            return None
        if passes:
            if not holds(shorter):
                return shorter
            text, more, endless = changed, True, program.endless(changed)
            # Earlier places failed; those after this one have moved up.
            place -= 1
    return text.removeprefix(line)


class _Program:
    """Text around an answer, with the edits of the answer."""

    def __init__(self, prefix: str, suffix: str, language: str) -> None:
        self.prefix, self.suffix, self.language = prefix, suffix, language
        self.kinds: NodeKinds = node_kinds(language)
        self.indented = language_of_grammar(language).indented
        self.start = len(encode(prefix))
        self._parts: dict[str, TreeParts] = {}
        self._edits: tuple[str, list[_Edit]] = ("", [])

    def parts(self, text: str) -> TreeParts:
        """Return the captures of the program with a text."""
        if text not in self._parts:
            # An edit is compared with the text before it, and with nothing else.
            self._parts = dict([*self._parts.items()][-1:])
            self._parts[text] = TreeParts.of(self.prefix, text, self.suffix, self.language)
        return self._parts[text]

    def is_sound(self, text: str, endless: int) -> bool:
        """Return whether a text contains something, parses in its place, and has no more endless loops."""
        whole = self.prefix + text + self.suffix
        # The grammar of Python accepts empty blocks.
        parses = (
            python_module(whole) is not None if self.indented else not parse(whole, self.language).root_node.has_error
        )
        return bool(text.strip()) and parses and self.endless(text) <= endless

    def edit(self, text: str, place: int) -> _Edit | None:
        """Return an edit by its number; None if there are not so many."""
        if self._edits[0] != text:
            self._edits = text, list(self._possible_edits(text))
        return next(iter(self._edits[1][place:]), None)

    def part(self, text: str, edit: _Edit) -> str:
        """Return what is edited."""
        return encode(text)[edit.start - self.start : edit.end - self.start].decode()

    def changed(self, text: str, edit: _Edit) -> str:
        """Return a text after an edit, without the declarations that it leaves unused."""
        shorter = self._spliced(text, edit)
        declared = set(_counts(self.parts(text).span.get("name.name", ())))
        while (dead := self._dead_declaration(shorter, declared)) is not None:
            shorter = self._spliced(shorter, dead)
        return shorter

    def _spliced(self, text: str, edit: _Edit) -> str:
        own = encode(text)
        before, after = own[: edit.start - self.start], own[edit.end - self.start :]
        line, rest = before.rpartition(b"\n")[2], after.partition(b"\n")
        if not edit.new and not line.strip() and not rest[0].strip():
            before, after = before.removesuffix(line), rest[2]  # the line goes with all that is in it
        return (before + edit.new + after).decode()

    def unbound(self, text: str, changed: str) -> set[str]:
        """Return the names that a text uses, and that only its earlier form declared."""
        names = "name.name", "function.name", "function.parameter", "import.name"
        before, after = (
            {text_of(node) for name in names for node in self.parts(version).whole.get(name, ())}
            for version in (text, changed)
        )
        return (before - after).intersection(_WORD.findall(changed + self.suffix))

    def endless(self, text: str) -> int:
        """Return the number of loops that change no name of their condition, and are not left."""
        parts = self.parts(text)
        return sum(
            self._conditions([loop], parts).isdisjoint(_changed_names(loop, parts))
            and not any(is_in(node, loop) for node in parts.span.get("exit", ()))
            for loop in parts.span.get("while", ())
        )

    def _conditions(self, loops: Sequence[tree_sitter.Node], parts: TreeParts) -> set[str]:
        """Return the names in the conditions of loops."""
        conditions = (node for node in parts.span.get("condition", ()) if any(is_in(node, loop) for loop in loops))
        return {name for node in conditions for name in _WORD.findall(text_of(node))}

    def _dead_declaration(self, text: str, declared: set[str]) -> _Edit | None:
        """Return the deletion of a statement that declares names without a use; None if there is none."""
        words = Counter(_WORD.findall(text + self.suffix))
        for node in self.parts(text).span.get("name.name", ()):
            statement = self._statement(node)
            if statement is None or statement.type in self.kinds.loops | self.kinds.branches:
                continue
            names = _counts(name for name in self.parts(text).span["name.name"] if is_in(name, statement))
            if names.keys() <= declared and all(words[name] == count for name, count in names.items()):
                return _Edit(statement.start_byte, statement.end_byte)
        return None

    def _statement(self, node: tree_sitter.Node) -> tree_sitter.Node | None:
        """Return the innermost statement around a node."""
        current: tree_sitter.Node | None = node
        while current is not None and (current.parent is None or current.parent.type not in self.kinds.statement_lists):
            current = current.parent
        return current if current is not None and current.start_byte >= self.start else None

    def _possible_edits(self, text: str) -> Iterator[_Edit]:
        """Yield the possible edits: outer statements first, since with one of them all in it goes."""
        kinds, end = self.kinds, self.start + len(encode(text))
        root = parse(self.prefix + text + self.suffix, self.language).root_node
        nodes = [node for node in _breadth_first(root) if self.start <= node.start_byte < node.end_byte <= end]
        # Without its `break` a search finds the same, and right answers would lose it.
        statements = [
            (node, node.parent) for node in nodes
            if node.is_named and node.parent is not None and node.parent.type in kinds.statement_lists
            and node.type not in kinds.statement_lists | kinds.breaks | kinds.continues | kinds.comments
            and not self._steers(node, text)
        ]  # fmt: skip
        for node, held in statements:
            # A body without braces begins with its first statement, which may be the answer's.
            is_outer = held.parent is None or held.parent.start_byte < self.start
            is_alone = self.indented and not is_outer and held.named_child_count == 1
            yield _Edit(node.start_byte, node.end_byte, b"pass" if is_alone else b"", is_outer)
        for node, _ in statements:
            if node.type in kinds.conditional | kinds.resources:
                yield from (_Edit(node.start_byte, node.end_byte, inner) for inner in self._bodies(node, node))
        yield from self._smaller(node for node in nodes if not self._steers(node, text))

    def _smaller(self, nodes: Iterable[tree_sitter.Node]) -> Iterator[_Edit]:
        """Yield the edits that put an argument in the place of a call, or a value in that of a conditional."""
        kinds = self.kinds
        for node in nodes:
            if node.type in kinds.calls | kinds.creations:
                given = node.child_by_field_name("arguments")
                is_value = given is not None and given.type in kinds.generator_expressions
                parts = [] if given is None else [given] if is_value else given.named_children
            elif node.type in kinds.conditional_expressions:
                parts = [child for child in node.named_children if child != node.named_children[int(self.indented)]]
            else:
                continue
            yield from (
                _Edit(node.start_byte, node.end_byte, part.text or b"")
                for part in parts
                if part.type not in kinds.comments and part.type not in kinds.keyed
            )

    def _steers(self, statement: tree_sitter.Node, text: str) -> bool:
        """Return whether a loop with a condition ends by a part of it: a test, or a change of what it tests."""
        parts = self.parts(text)
        loops = [node for node in parts.span.get("while", ()) if is_in(statement, node)]
        if statement.type in self.kinds.conditional:
            return bool(loops) and statement.type in self.kinds.branches
        return not self._conditions(loops, parts).isdisjoint(_changed_names(statement, parts))

    def _bodies(self, statement: tree_sitter.Node, block: tree_sitter.Node) -> Iterator[bytes]:
        """Yield the statements of each block of a statement, without those that leave a loop."""
        kinds = self.kinds
        for child in block.children:
            if child.type in kinds.elifs | kinds.else_clauses | kinds.handlers | kinds.finally_clauses:
                yield from self._bodies(statement, child)
            elif child.type in kinds.statement_lists:
                inner = child.named_children
                while len(inner) == 1 and inner[0].type in kinds.statement_lists:
                    inner = inner[0].named_children
                left = kinds.breaks | kinds.continues if block.type in kinds.loops else frozenset()
                if inner and inner[-1].type in kinds.returns | kinds.throws and statement.next_named_sibling:
                    continue  # nothing behind it would run
                deep, outer = (b"\n" + b" " * node.start_point.column for node in (child, statement))
                lines = deep.join(node.text or b"" for node in inner if node.type not in left)
                yield lines.replace(deep, outer) if self.indented else lines


def _changed_names(node: tree_sitter.Node, parts: TreeParts) -> set[str]:
    """Return the names whose values may change within a node; ``changed.call`` are those that a call may change."""
    captured = (name_node for name in ("updated.name", "changed.call") for name_node in parts.span.get(name, ()))
    return {text_of(name_node) for name_node in captured if is_in(name_node, node)}


def _counts(nodes: Iterable[tree_sitter.Node]) -> Counter[str]:
    return Counter(text_of(node) for node in nodes)


def _breadth_first(root: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    level = [root]
    while level:
        yield from level
        level = [child for node in level for child in node.children]
