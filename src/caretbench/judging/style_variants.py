"""Style variants of an answer: the same content with other names, without comments, laid out anew, or longer.

A judge that gives a variant another score than the answer rates style. A variant of code changes no token but those
that it is about, and has no more syntax errors than the answer; otherwise there is no such variant.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count
from typing import Final, NamedTuple

import tree_sitter

from caretbench.problem import Caret, Problem
from caretbench.syntax.documentation import Comment, comment_marks, comments_in
from caretbench.syntax.faults import fault_count
from caretbench.syntax.parser import captures, encode, parse, text_of
from caretbench.syntax.uses.identifiers import naming_style

_OUTER_NAMES: Final = re.compile(
    r"function|method|class|interface|enum|struct|constructor|record|field|property|module|namespace|type|attribute"
    r"|package|parameter|label|macro|preproc|object_pattern"
)
"""Parts of the names of nodes that declare what other code may use by name."""

_SHARED: Final = re.compile(r"import|export|global|nonlocal|decorator|using")
"""Parts of the names of statements that share a name with other scopes or files."""

_WORD: Final = re.compile(r"[A-Za-z_]\w*")

_DECLARATION_DEPTH: Final = 2
"""Number of nodes around a name that are part of its declaration."""


class LocalNames:
    """Names of the variables that an answer declares.

    The outermost function around the answer is searched for each name. Without such a function the whole program is,
    and only the variables of functions in the answer count: others may be imported.

    Args:
        root: Syntax tree of the program.
        language: Its language.
        data: Its bytes.
        span: Bytes of the answer.
    """

    def __init__(self, root: tree_sitter.Node, language: str, data: bytes, span: tuple[int, int]) -> None:
        self._start, self._end = span
        nodes = captures(root, language, "identifiers")
        self._functions = {node.id for node in nodes.get("function", [])}
        self._declared = {one.id for node in nodes.get("declared", []) for one in _declared_names(node)}
        self._positions = {node.id for word in ("member", "key", "type", "called") for node in nodes.get(word, [])}
        around = [
            node for node in nodes.get("function", []) if node.start_byte < self._start and self._end <= node.end_byte
        ]
        self._is_in_function = bool(around)
        self._scope = min(around, key=lambda node: node.start_byte, default=root)
        self._uses: Mapping[str, list[tree_sitter.Node]] = defaultdict(list)
        for node in nodes.get("identifier", []):
            if self._scope.start_byte <= node.start_byte and node.end_byte <= self._scope.end_byte:
                self._uses[text_of(node)].append(node)
        text = data[self._scope.start_byte : self._scope.end_byte].decode("utf-8", "replace")
        self._words = Counter(_WORD.findall(text))
        self._known = set(_WORD.findall(data.decode("utf-8", "replace")))

    def edits(self) -> list[tuple[int, int, str]]:
        """Return the replacements of all uses of these variables: start, end and the new name."""
        ordered = sorted(self._uses.items(), key=lambda pair: pair[1][0].start_byte)
        return [
            (node.start_byte, node.end_byte, new)
            for name, uses in ordered
            if self._has_style_of_variables(name) and self._is_local(name, uses)
            for new in [self._new_name(name)]
            for node in uses
        ]

    @staticmethod
    def _has_style_of_variables(name: str) -> bool:
        return naming_style(name) in {"lower", "_"} and name != "_"

    def _is_local(self, name: str, uses: Sequence[tree_sitter.Node]) -> bool:
        """Return whether every mention of a name in the scope is a use in the answer of a variable that it declares."""
        # A mention in a text or comment (a format string, `eval`) would keep the old name.
        if self._words[name] != len(uses):
            return False
        if any(node.start_byte < self._start or node.end_byte > self._end for node in uses):
            return False
        # Members, keys and imports are named by other files.
        if any(node.id in self._positions or _is_shared(node) for node in uses):
            return False
        declarations = [node for node in uses if node.id in self._declared]
        return bool(declarations) and all(self._is_variable(node) for node in declarations)

    def _is_variable(self, node: tree_sitter.Node) -> bool:
        """Return whether a declared name is a variable's, which no code outside the scope can name."""
        # `{name}` is a variable and a key at once: renaming changes the object.
        if node.type.startswith("shorthand"):
            return False
        around = list(_ancestors(node, self._scope))
        if any(_OUTER_NAMES.search(one.type) for one in around[:_DECLARATION_DEPTH]):
            return False
        # Names in the body of a class are its attributes.
        if any("class" in one.type for one in around):
            return False
        return self._is_in_function or any(one.id in self._functions for one in around)

    def _new_name(self, name: str) -> str:
        """Return a name that does not occur in the program, and take it."""
        prefix = "_" if name.startswith("_") else ""
        new = next(found for number in count(1) if (found := f"{prefix}name{number}") not in self._known)
        self._known.add(new)
        return new


def _ancestors(node: tree_sitter.Node, scope: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """Yield the nodes around a node, within the scope."""
    parent = node.parent
    while parent is not None and parent.id != scope.id:
        yield parent
        parent = parent.parent


def _declared_names(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """Yield a declared node, and the names of a pattern."""
    yield node
    if "pattern" in node.type:
        yield from node.named_children


def _is_shared(node: tree_sitter.Node) -> bool:
    parent = node.parent
    for _ in range(_DECLARATION_DEPTH):
        if parent is not None:
            if _SHARED.search(parent.type):
                return True
            parent = parent.parent
    return False


HARMLESS_TEXTS: Final = (
    "The code at this place is part of the program around it.",
    "It is called in the same way as before.",
    "Nothing else in the file depends on how it is written.",
)
"""Comments that say nothing about the code."""

_TEXT_NODES: Final = re.compile(r"string|template|interpolation|char|regex|heredoc|preproc|raw_text")
_INDENT: Final = " " * 8
# Each variant parses the whole program again, some of them twice.
_MAX_BYTES: Final = 400_000
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
        return len(self._data) > _MAX_BYTES

    # --- styles ---

    def renamed(self) -> str | None:
        """Return the answer with other names of the variables that it declares and nothing else can name."""
        if self._is_too_large:
            return None
        edits = LocalNames(self._tree.root_node, self._language, self._data, (self._start, self._end)).edits()
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
        # A docstring that is the whole body of a function cannot go: then only the other comments do.
        for chosen, docstrings in ((own, True), (plain, False)):
            changed = self._edited([self._removal(comment) for comment in chosen])
            if changed is not None and self._keeps_tokens(changed, without_docstrings=docstrings):
                return changed
        return None

    def laid_out(self) -> str | None:
        """Return the answer with lines broken after commas in brackets, else with blank lines between its lines."""
        if self._is_too_large:
            return None
        # Line ends after commas in brackets mean nothing in any of the languages; a blank line is the second choice.
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
            # A blank line behind a backslash ends the statement.
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
        # The program may have had faults before: an answer need not parse.
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


def _is_in_text(node: tree_sitter.Node | None) -> bool:
    while node is not None:
        if _TEXT_NODES.search(node.type):
            return True
        node = node.parent
    return False


RENAMED, WITHOUT_COMMENTS, LAID_OUT, HARMLESS_LINES = "renamed", "without-comments", "laid-out", "harmless-lines"

STYLES: Final = (RENAMED, WITHOUT_COMMENTS, LAID_OUT, HARMLESS_LINES)
"""Names of the styles. ``harmless-lines`` is the one that a judge which prefers long answers rates higher."""

_WIDTH: Final = 60
_SENTENCE: Final = "This is the answer to the question that was given above."
_NOT_PROSE: Final = re.compile(r"^\s*(?:[-*+#>|]|\d+[.)]|```|~~~|\{|\[)", re.MULTILINE)


def style_variants(problem: Problem, text: str) -> Mapping[str, str]:
    """Return the variants of an answer by style; those that cannot be made, or would change nothing, are missing.

    Args:
        problem: The problem.
        text: The text at the caret, or the answer to the question.
    """
    if not isinstance(problem.shown, Caret):
        found = {LAID_OUT: _wrapped(text), HARMLESS_LINES: _longer(text)}
    else:
        caret = problem.shown
        code = CodeText(caret.language, caret.prefix, text, caret.suffix)
        found = {
            RENAMED: code.renamed(),
            WITHOUT_COMMENTS: code.without_comments(),
            LAID_OUT: code.laid_out(),
            HARMLESS_LINES: code.with_harmless_lines(),
        }
    return {
        style: variant
        for style, variant in found.items()
        if variant is not None and variant.strip() and variant != text
    }


def _wrapped(text: str) -> str | None:
    """Return prose with other line ends; None for lists, tables, code and short texts."""
    # Line ends mean something in lists, tables and code.
    if _NOT_PROSE.search(text) or not text.strip():
        return None
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n\s*\n", text.strip()))
    found = "\n\n".join(textwrap.fill(one, _WIDTH, break_long_words=False, break_on_hyphens=False)
                        for one in paragraphs)  # fmt: skip
    return found if found.split() == text.split() else None


def _longer(text: str) -> str | None:
    """Return prose with a sentence that says nothing; None for answers of one word, such as a letter or a label."""
    # A sentence behind a letter or label changes the answer.
    if len(text.split()) < 3 or text.lstrip().startswith(("{", "[", "```")):
        return None
    return f"{text.rstrip()} {_SENTENCE}" if text.rstrip()[-1:] in ".!?" else f"{text.rstrip()}. {_SENTENCE}"
