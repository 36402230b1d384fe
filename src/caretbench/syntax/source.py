"""Source files as exact bytes, with their language and lines, and their syntax trees.

Nothing is normalised. Preprocessor directives that confuse the grammar are replaced by blanks before parsing: positions
do not change, so the tree of the masked text is also valid for the file.
"""

from __future__ import annotations

import bisect
import re
from array import array
from collections.abc import Mapping
from functools import cache, cached_property
from itertools import accumulate, pairwise
from pathlib import Path, PurePosixPath
from typing import Final

import tree_sitter

from caretbench.errors import DataError
from caretbench.languages import get_language, languages
from caretbench.syntax.analysis_types import Span
from caretbench.syntax.parser import error_count, parse


@cache
def _by_suffix() -> Mapping[str, str]:
    entries = languages().items()
    return {suffix: name for name, entry in entries for suffix in (entry.suffix, *entry.more_suffixes)}


@cache
def _grammars_by_suffix() -> Mapping[str, str]:
    dialects = (dialect for entry in languages().values() for dialect in entry.dialects.items())
    return {suffix: name for name, dialect in dialects for suffix in dialect.suffixes}


def language_of(path: str) -> str | None:
    """Return the language of a file by its suffix, or None."""
    return _by_suffix().get(PurePosixPath(path).suffix.lower())


def grammar_of(path: str) -> str | None:
    """Return the name of the grammar of a file by its suffix, or None.

    It is the name of a language or of a dialect (``tsx``).
    """
    suffix = PurePosixPath(path).suffix.lower()
    return _grammars_by_suffix().get(suffix) or language_of(path)


class SourceFile:
    """Source file: ``path`` (relative, with ``/``), ``language``, ``data`` (its exact bytes).

    Raises:
        DataError: the bytes are not UTF-8 text, or no language has the suffix.
    """

    __slots__ = ("__dict__", "data", "language", "path")

    def __init__(self, path: str, data: bytes | str, language: str | None = None) -> None:
        self.path = path
        self.data = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
        named = language or language_of(path)
        if named is None:
            raise DataError(f"{path}: no language has the suffix {PurePosixPath(path).suffix!r}")
        self.language = named
        # UTF-16 text is full of NUL bytes, and is valid UTF-8 nevertheless where it is ASCII.
        if b"\0" in self.data:
            raise DataError(f"{path}: a binary file (or UTF-16 text), which is not analysed")
        try:
            self.data.decode("utf-8", "strict" if isinstance(data, bytes) else "surrogatepass")
        except UnicodeDecodeError as error:
            raise DataError(f"{path}: byte {error.start} is not UTF-8; convert the file or exclude it") from None

    @property
    def grammar(self) -> str:
        """Name of the grammar: that of the language or of its dialect (``tsx``)."""
        return "tsx" if self.path.lower().endswith(".tsx") else self.language

    @classmethod
    def read(cls, root: Path, path: str, language: str | None = None) -> SourceFile:
        """Return the file at ``root / path``.

        Raises:
            OSError: it cannot be read.
            DataError: it is not UTF-8 text of a known language.
        """
        return cls(path, (root / path).read_bytes(), language)

    @cached_property
    def line_starts(self) -> list[int]:
        """Start byte of every line; CR, LF and CRLF all end a line, as in an editor."""
        # A CR alone ends a line in editors, and so for the people who look up a line by its number.
        lines = self.data.splitlines(keepends=True)
        starts = list(accumulate(map(len, lines), initial=0))
        return starts if not lines or lines[-1].endswith((b"\n", b"\r")) else starts[:-1]

    def line_at(self, position: int) -> int:
        """Return the number (from 1) of the line that contains byte ``position``."""
        return bisect.bisect_right(self.line_starts, position)

    @cached_property
    def _characters_before_lines(self) -> array[int] | None:
        """Return the number of characters before each line; None if the file is ASCII."""
        if self.data.isascii():
            return None
        lines = map(self.text, pairwise([*self.line_starts, len(self.data)]))
        return array("Q", accumulate(map(len, lines), initial=0))

    def characters_before(self, position: int) -> int:
        """Return the number of characters before byte ``position``, which must be the first byte of a character."""
        counts = self._characters_before_lines
        if counts is None:
            return position
        line = self.line_at(position) - 1
        return counts[line] + len(self.text((self.line_starts[line], position)))

    def lines_of(self, first: int, last: int) -> Span:
        """Return the span of lines ``first`` to ``last`` (from 1, both included), line end included.

        Raises:
            ValueError: there are no such lines.
        """
        starts = self.line_starts
        if not 1 <= first <= last <= len(starts):
            raise ValueError(f"{self.path} has no lines {first} to {last}")
        return Span(starts[first - 1], starts[last] if last < len(starts) else len(self.data))

    def text(self, span: tuple[int, int] | None = None) -> str:
        """Return the text of a span, or of the whole file."""
        data = self.data if span is None else self.data[span[0] : span[1]]
        return data.decode("utf-8", "surrogatepass")


_DIRECTIVE: Final = re.compile(rb"^[ \t]*#[ \t]*(\w+)[^\r\n]*(?:\\\r?\n[^\r\n]*)*", re.MULTILINE)
_CONDITIONS: Final = frozenset({b"if", b"ifdef", b"ifndef"})
_OTHER: Final = frozenset({b"else", b"elif", b"elifdef", b"elifndef"})
# `class EXPORT_MACRO Name {`: the grammar takes the macro for the name.
_EXPORT: Final = re.compile(
    rb"\b((?:class|struct)\s+)([A-Z][A-Z0-9_]{2,}(?:\([^()]*\))?)(?=\s+[A-Za-z_]\w*\s*(?:final\s*)?[:{;<])"
)


def _blank(text: bytes) -> bytes:
    # Line ends stay, and each byte becomes one blank, so that positions and lines are those of the file.
    return re.sub(rb"[^\r\n]", b" ", text)


def mask_preprocessor(data: bytes) -> bytes:
    """Return the text with conditional directives, their later branches, and export macros replaced by blanks."""
    parts: list[bytes] = []
    # Per open condition, True once its first branch has ended.
    hidden: list[bool] = []
    position = 0
    for directive in _DIRECTIVE.finditer(data):
        text = data[position : directive.start()]
        parts.append(_blank(text) if any(hidden) else text)
        word = directive[1]
        if word in _CONDITIONS:
            hidden.append(False)
        elif word in _OTHER and hidden:
            hidden[-1] = True
        elif word == b"endif" and hidden:
            hidden.pop()
        is_condition = word in _CONDITIONS or word in _OTHER or word == b"endif"
        parts.append(_blank(directive[0]) if is_condition or any(hidden) else directive[0])
        position = directive.end()
    rest = data[position:]
    parts.append(_blank(rest) if any(hidden) else rest)
    return _EXPORT.sub(lambda directive: directive[1] + _blank(directive[2]), b"".join(parts))


def parse_file(source: SourceFile) -> tree_sitter.Tree:
    """Return the tree of a file, or of its masked text if that has fewer parse errors."""
    tree = parse(source.data, source.grammar)
    if not get_language(source.language).preprocessed or (
        not tree.root_node.has_error and not _EXPORT.search(source.data)
    ):
        return tree
    other = parse(mask_preprocessor(source.data), source.grammar)
    # The first branch of each condition may be the wrong one: the file as it is stays where it parses better.
    return other if error_count(other) < error_count(tree) or _EXPORT.search(source.data) else tree
