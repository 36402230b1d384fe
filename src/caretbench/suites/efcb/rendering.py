"""The patch of a change as it is shown: file by file, its path, its hunks, and a line of three dashes.

Binary files, pure renames and generated files are not shown. What is counted is counted on the shown text.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

from caretbench.problem import Row
from caretbench.sources.changes.generated_files import is_generated
from caretbench.sources.pull_request import PullRequest

END_OF_FILE: Final = "\n---\n"


class ShownFile(Row):
    """One file as it is shown: ``title`` is its path, ``old => new`` where it moved.

    Lines of ``hunks`` end with a line feed, the last one with nothing. A lone carriage return stays: it ends no line of
    a patch.
    """

    path: str
    title: str
    hunks: str
    additions: int = 0
    deletions: int = 0

    @property
    def text(self) -> str:
        """Title, hunks and the dashes."""
        return f"{self.title}\n{self.hunks}{END_OF_FILE}"


class Rendered(Row):
    """A patch as it is shown, by file."""

    files: tuple[ShownFile, ...]

    @cached_property
    def text(self) -> str:
        """The whole patch."""
        return "".join(file.text for file in self.files)

    @cached_property
    def lines(self) -> int:
        """Lines of the text, those of paths and dashes included."""
        return self.text.count("\n")

    @property
    def characters(self) -> int:
        """Unicode code points of the text."""
        return len(self.text)

    def with_hunks(self, index: int, hunks: str) -> Rendered:
        """Return the same patch with other hunks in the file at ``index``: for masks and swaps."""
        changed = self.files[index].model_copy(update={"hunks": hunks})
        return Rendered(files=(*self.files[:index], changed, *self.files[index + 1 :]))


def render(pull: PullRequest, *, generated: bool = False) -> Rendered:
    """Return the patch of a change as it is shown; with ``generated`` files, as the released questions have them."""
    files = tuple(
        ShownFile(
            path=file.path,
            title=f"{file.old_path} => {file.path}"
            if file.old_path and file.old_path != file.path
            else file.path,
            hunks=file.patch.replace("\r\n", "\n").removesuffix("\n"),
            additions=file.additions,
            deletions=file.deletions,
        )
        for file in pull.files
        if file.patch.strip()
        and not file.binary
        # Foreign records may not say of a file that it is generated.
        and (generated or not (file.generated or is_generated(file.path)))
    )
    return Rendered(files=files)
