"""Source files as exact bytes, with their language and lines. Nothing is normalised."""

from __future__ import annotations

import bisect
from array import array
from collections.abc import Mapping
from functools import cache, cached_property
from itertools import accumulate
from pathlib import Path, PurePosixPath

from caretbench.errors import DataError
from caretbench.languages import languages
from caretbench.syntax.analysis_types import Span


@cache
def _by_suffix() -> Mapping[str, str]:
    known = {entry.suffix: name for name, entry in languages().items()}
    return known | {suffix: name for name, entry in languages().items() for suffix in entry.more_suffixes}


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
        starts = [0]
        data = self.data
        position = 0
        while (found := data.find(b"\n", position)) >= 0:
            starts.append(found + 1)
            position = found + 1
        if b"\r" in data:
            alone = [i + 1 for i, byte in enumerate(data) if byte == 13 and data[i + 1 : i + 2] != b"\n"]
            starts = sorted({*starts, *alone})
        return starts

    def line_at(self, position: int) -> int:
        """Return the number (from 1) of the line that contains byte ``position``."""
        return bisect.bisect_right(self.line_starts, position)

    @cached_property
    def _characters_before_lines(self) -> array[int] | None:
        """Return the number of characters before each line; None if the file is ASCII."""
        if self.data.isascii():
            return None
        ends = [*self.line_starts[1:], len(self.data)]
        lines = (self.text((start, end)) for start, end in zip(self.line_starts, ends, strict=True))
        return array("Q", accumulate((len(line) for line in lines), initial=0))

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
        part = self.data if span is None else self.data[span[0] : span[1]]
        return part.decode("utf-8", "surrogatepass")
