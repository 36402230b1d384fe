"""A change's patch as problems show it.

A rendered patch has for each file its path, its hunks, and a line of three dashes. Binary files, pure renames and
generated files are excluded. All counts are those of the rendered text.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

from caretbench.problem import Row

FILE_SEPARATOR: Final = "\n---\n"


class RenderedFile(Row):
    """One rendered file: ``title`` is its path, ``old => new`` if it moved.

    Lines of ``hunks`` end with a line feed, except the last one. A lone carriage return ends no line.
    """

    path: str
    title: str
    hunks: str
    additions: int = 0
    deletions: int = 0

    @property
    def text(self) -> str:
        """Title, hunks and separator."""
        return f"{self.title}\n{self.hunks}{FILE_SEPARATOR}"


class RenderedPatch(Row):
    """A rendered patch, by file."""

    files: tuple[RenderedFile, ...]

    @cached_property
    def text(self) -> str:
        """Text of the whole patch."""
        return "".join(file.text for file in self.files)

    @cached_property
    def lines(self) -> int:
        """Number of lines, with paths and separators."""
        return self.text.count("\n")

    @property
    def characters(self) -> int:
        """Number of Unicode code points."""
        return len(self.text)

    def replace_hunks(self, index: int, hunks: str) -> RenderedPatch:
        """Return the same patch with other hunks in the file at ``index``."""
        changed = self.files[index].model_copy(update={"hunks": hunks})
        return RenderedPatch(files=(*self.files[:index], changed, *self.files[index + 1 :]))
