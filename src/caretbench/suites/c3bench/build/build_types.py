"""Types of a build: sources, contexts, rejects."""

from __future__ import annotations

from typing import Literal, NamedTuple

from caretbench.files import sha256_text
from caretbench.problem import Provenance, Row
from caretbench.suites.c3bench.checked_functions import CheckedFunction
from caretbench.suites.c3bench.implementations.equivalents import Equivalent

Stage = Literal["source", "middle", "implementation", "tests", "variant", "gate", "choice", "people"]
Extraction = Literal["node", "lines"]


class SourceText(NamedTuple):
    """Text of a source file, or of a program; ``id`` names it in problems."""

    id: str
    language: str
    text: str
    provenance: Provenance


class BuildMaterial(NamedTuple):
    """Functions with tests, source files, and what could not be read: one row each, with file and line."""

    functions: tuple[CheckedFunction, ...]
    files: tuple[SourceText, ...]
    rejects: tuple[Reject, ...]

    @property
    def hash(self) -> str:
        """Hash of all texts."""
        functions = [f"{one.id}\0{one.text}\0{one.test}" for one in self.functions]
        return sha256_text(*functions, *(f"{one.id}\0{one.text}" for one in self.files))


class ImplementationContext(NamedTuple):
    """Middle of a function, with equivalent implementations.

    ``extraction`` tells a node of the syntax tree (a statement, a block, a function body) from a run of 3 to 5 lines.
    """

    function: CheckedFunction
    start: int
    end: int
    extraction: Extraction
    equivalents: tuple[Equivalent, ...]

    @property
    def prefix(self) -> str:
        """Text before the middle."""
        return self.function.text[: self.start]

    @property
    def suffix(self) -> str:
        """Text after the middle."""
        return self.function.text[self.end :]

    @property
    def original(self) -> str:
        """Implementation of the source."""
        return self.function.text[self.start : self.end]

    @property
    def place(self) -> str:
        """Source and span, for rejects and overlap groups."""
        return f"{self.function.id}/{self.start}-{self.end}"


class Reject(Row):
    """Something that a build does not use, and the reason.

    ``place`` is a file and line, a source, or a source with the span of a middle; ``count`` the number of middles where
    one row stands for several.
    """

    stage: Stage
    place: str
    reason: str
    detail: str = ""
    count: int = 1
