"""Styles of code at a caret, by the tokens of its program. For every language that is parsed."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import count
from typing import Final, NamedTuple

import tree_sitter

from caretbench.syntax.docs.comments import Comment, comment_marks, comments_in
from caretbench.syntax.faults import fault_count
from caretbench.syntax.parser import encode, parse, text_of
from caretbench.syntax.queries import captures
from caretbench.syntax.uses.identifiers import naming_style

HARMLESS_TEXTS: Final = (
    "The code at this place is part of the program around it.",
    "It is called in the same way as before.",
    "Nothing else in the file depends on how it is written.",
)
"""Comments that say nothing about the code."""

_OUTER_NAMES: Final = re.compile(
    r"function|method|class|interface|enum|struct|constructor|record|field|property|module|namespace|type|attribute"
    r"|package|parameter|label|macro|preproc|object_pattern|decorator"
)
"""Parts of the names of nodes that declare what other code may use by name."""

_SHARED: Final = re.compile(r"import|export|global|nonlocal|decorator|using")
_TEXT_NODES: Final = re.compile(r"string|template|interpolation|char|regex|heredoc|preproc|raw_text")
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_DECLARATION_DEPTH: Final = 2
"""Number of nodes around a name that are part of its declaration."""

_INDENT: Final = " " * 8
_MOST_BYTES: Final = 400_000
"""Size of programs above which there are no variants."""


class _Token(NamedTuple):
    """Leaf of the syntax tree that is no comment."""

    start: int
    end: int
    text: str
    kind: str


class CodeText:
    """Answer at a caret with its program, and the answer in other styles. Positions count bytes.

    Each style returns the answer, or None where it cannot be made without another change.
    """

    def __init__(self, language: str, before: str, text: str, after: str) -> None:
        self._language = language
        self._before, self._text, self._after = before, text, after
        self._start = len(encode(before))
        self._end = self._start + len(encode(text))
        self._data = encode(before) + encode(text) + encode(after)

    @cached_property
    def _tree(self) -> tree_sitter.Tree:
        return parse(self._data, self._language)

    @property
    def _is_too_large(self) -> bool:
        return len(self._data) > _MOST_BYTES

    # --- styles ---

    def renamed(self) -> str | None:
        """Return the answer with other names of the variables that it declares and nothing else can name.

        The outermost function around the answer is searched for each name. Without such a function the whole program
        is, and only the variables of functions in the answer are renamed: others may be imported.
        """
        if self._is_too_large:
            return None
        root = self._tree.root_node
        nodes = captures(root, self._language, "identifiers")
        declared = {one.id for node in nodes.get("declared", []) for one in _declared_names(node)}
        refused = {node.id for word in ("member", "key", "type", "called") for node in nodes.get(word, [])}
        around = [
            node for node in nodes.get("function", []) if node.start_byte < self._start and self._end <= node.end_byte
        ]
        scope = min(around, key=lambda node: node.start_byte, default=root)
        functions = {node.id for node in nodes.get("function", [])}
        words = Counter(_WORD.findall(self._data[scope.start_byte : scope.end_byte].decode("utf-8", "replace")))
        uses: dict[str, list[tree_sitter.Node]] = defaultdict(list)
        for node in nodes.get("identifier", []):
            if scope.start_byte <= node.start_byte and node.end_byte <= scope.end_byte:
                uses[text_of(node)].append(node)
        known = set(_WORD.findall(self._data.decode("utf-8", "replace")))
        renames: dict[str, str] = {}
        for name, found in sorted(uses.items(), key=lambda pair: pair[1][0].start_byte):
            declarations = [node for node in found if node.id in declared]
            if (
                naming_style(name) in {"lower", "_"}
                and name != "_"
                and words[name] == len(found)
                and all(self._start <= node.start_byte and node.end_byte <= self._end for node in found)
                and not any(node.id in refused or _is_named_outside(node) for node in found)
                and declarations
                and (around or all(_is_within(node, functions) for node in declarations))
                and all(_is_variable(node, scope) for node in declarations)
            ):
                renames[name] = _new_name(name, known)
        edits = [(node.start_byte, node.end_byte, new) for name, new in renames.items() for node in uses[name]]
        changed = self._edited(edits)
        return changed if changed is not None and self._keeps_tokens(changed, edits) else None

    def without_comments(self) -> str | None:
        """Return the answer without its comments, and without docstrings where the program stays correct."""
        if self._is_too_large:
            return None
        own = [
            comment
            for comment in comments_in(self._tree, self._language)
            if self._start <= comment.start and comment.end <= self._end
        ]
        plain = [comment for comment in own if comment.kind != "docstring"]
        for chosen, docstrings in ((own, True), (plain, False)):
            changed = self._edited([self._removal(comment) for comment in chosen])
            if changed is not None and self._keeps_tokens(changed, without_docstrings=docstrings):
                return changed
        return None

    def laid_out(self) -> str | None:
        """Return the answer with lines broken after commas in brackets, else with blank lines between its lines."""
        if self._is_too_large:
            return None
        for edits in (list(self._broken_lines()), list(self._blank_lines())):
            changed = self._edited(edits)
            if changed is not None and self._keeps_tokens(changed):
                return changed
        return None

    def with_harmless_lines(self) -> str | None:
        """Return the answer with comments that say nothing, each on a line of its own."""
        marks = comment_marks(self._language)
        if self._is_too_large or not marks.line:
            return None
        for position in self._line_starts():
            line = self._data[position:].split(b"\n", 1)[0]
            indent = line[: len(line) - len(line.lstrip())].decode("utf-8", "replace")
            lines = "".join(f"{indent}{marks.line} {text}\n" for text in HARMLESS_TEXTS)
            changed = self._edited([(position, position, lines)])
            if changed is not None and self._keeps_tokens(changed):
                return changed
        if self._after.startswith("\n") and self._text.strip() and "\n" not in self._text[-1:]:
            changed = f"{self._text}  {marks.line} {' '.join(HARMLESS_TEXTS)}"
            return changed if self._keeps_tokens(changed) else None
        return None

    # --- edits ---

    def _edited(self, edits: Sequence[tuple[int, int, str]]) -> str | None:
        """Return the answer after replacements of bytes; None without one, or if one is not in the answer."""
        if not edits:
            return None
        data = bytearray(self._data)
        shift = 0
        for start, end, new in sorted(edits, reverse=True):
            if start < self._start or end > self._end:
                return None
            data[start:end] = encode(new)
            shift += len(encode(new)) - (end - start)
        return bytes(data[self._start : self._end + shift]).decode("utf-8", "surrogatepass")

    def _removal(self, comment: Comment) -> tuple[int, int, str]:
        """Return the removal of a comment: with its lines, if it has them alone, else with the blanks before it."""
        line_start = self._data.rfind(b"\n", 0, comment.start) + 1
        line_end = self._data.find(b"\n", comment.end)
        alone = not self._data[line_start : comment.start].strip() and (
            line_end >= 0 and not self._data[comment.end : line_end].strip()
        )
        if alone and line_start >= self._start and line_end < self._end:
            return line_start, line_end + 1, ""
        start = comment.start
        while start > self._start and self._data[start - 1 : start] in {b" ", b"\t"}:
            start -= 1
        return start, comment.end, ""

    def _broken_lines(self) -> Iterator[tuple[int, int, str]]:
        depth = 0
        for token in _tokens(self._tree.root_node):
            if token.text in {"(", "[", "{"}:
                depth += 1
            elif token.text in {")", "]", "}"}:
                depth -= 1
            elif token.text == "," and depth > 0 and self._start <= token.start < self._end:
                node = self._tree.root_node.descendant_for_byte_range(token.start, token.end)
                following = self._data[token.end : self._end]
                blanks = len(following) - len(following.lstrip(b" "))
                if following[blanks : blanks + 1] not in {b"\n", b"\r", b""} and not _is_in_text(node):
                    line = self._data[self._data.rfind(b"\n", 0, token.start) + 1 : token.start]
                    indent = line[: len(line) - len(line.lstrip())].decode("utf-8", "replace")
                    yield token.end, token.end + blanks, f"\n{indent}{_INDENT}"

    def _blank_lines(self) -> Iterator[tuple[int, int, str]]:
        for position in self._line_starts():
            if not self._data[:position].rstrip(b"\n").endswith(b"\\"):
                yield position, position, "\n"

    def _line_starts(self) -> Iterator[int]:
        """Yield the starts of the answer's own lines that are not within a text of several lines."""
        for found in re.finditer(rb"\n", self._data[self._start : self._end]):
            position = self._start + found.end()
            node = self._tree.root_node.descendant_for_byte_range(position, position)
            if position < self._end and not _is_in_text(node):
                yield position

    # --- checks ---

    def _keeps_tokens(
        self, changed: str, edits: Sequence[tuple[int, int, str]] = (), *, without_docstrings: bool = False
    ) -> bool:
        """Return whether the program with the changed answer has the same tokens and no more syntax errors.

        ``edits`` are tokens that were replaced by others.
        """
        data = encode(self._before) + encode(changed) + encode(self._after)
        tree = parse(data, self._language)
        if fault_count(tree, self._language) > fault_count(self._tree, self._language):
            return False
        dropped = set[tuple[int, int]]()
        if without_docstrings:
            dropped = {
                (comment.start, comment.end)
                for comment in comments_in(self._tree, self._language)
                if comment.kind == "docstring" and self._start <= comment.start and comment.end <= self._end
            }
        replaced = {(start, end): new for start, end, new in edits}
        before = [
            replaced.get((token.start, token.end), token.text)
            for token in _tokens(self._tree.root_node)
            if not any(start <= token.start and token.end <= end for start, end in dropped)
        ]
        return before == [token.text for token in _tokens(tree.root_node)]


def _tokens(root: tree_sitter.Node) -> Iterator[_Token]:
    """Yield the tokens of a tree in text order, without comments and without line ends."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type.endswith("comment"):
            continue
        if not node.child_count and node.end_byte > node.start_byte:
            text = text_of(node)
            if text.strip():
                yield _Token(node.start_byte, node.end_byte, text, node.type)
        waiting.extend(reversed(node.children))


def _declared_names(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """Yield a declared node, and the names of a pattern."""
    yield node
    if "pattern" in node.type:
        yield from node.named_children


def _is_variable(node: tree_sitter.Node, scope: tree_sitter.Node) -> bool:
    """Return whether a declared name is a variable's, which no code outside the scope can name."""
    if node.type.startswith("shorthand"):
        return False
    parent, distance = node.parent, 0
    while parent is not None and parent.id != scope.id:
        if (distance < _DECLARATION_DEPTH and _OUTER_NAMES.search(parent.type)) or "class" in parent.type:
            return False
        parent, distance = parent.parent, distance + 1
    return True


def _is_named_outside(node: tree_sitter.Node) -> bool:
    """Return whether a name is part of a statement that shares it with other scopes or files."""
    parent = node.parent
    for _ in range(_DECLARATION_DEPTH):
        if parent is not None:
            if _SHARED.search(parent.type):
                return True
            parent = parent.parent
    return False


def _is_within(node: tree_sitter.Node, others: set[int]) -> bool:
    parent = node.parent
    while parent is not None and parent.id not in others:
        parent = parent.parent
    return parent is not None


def _new_name(name: str, known: set[str]) -> str:
    """Return a name that does not occur in the program, and add it to ``known``."""
    prefix = "_" if name.startswith("_") else ""
    new = next(found for number in count(1) if (found := f"{prefix}name{number}") not in known)
    known.add(new)
    return new


def _is_in_text(node: tree_sitter.Node | None) -> bool:
    while node is not None:
        if _TEXT_NODES.search(node.type):
            return True
        node = node.parent
    return False
