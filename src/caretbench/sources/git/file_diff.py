"""One file's part of git's output, read: its paths, what happened to it, its hunks as text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from caretbench.sources.changes.generated import is_generated, says_generated
from caretbench.sources.git.patch_stream import FileDiff
from caretbench.sources.pull_request import FileChange, FileStatus

_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_PLAIN = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
# The first line of a head that tells the status; a head without any of them says "modified".
_STATUS: dict[bytes, FileStatus] = {
    b"new file mode ": "added",
    b"deleted file mode ": "removed",
    b"rename from ": "renamed",
    b"copy from ": "copied",
}
_MODES = (b"old mode ", b"new mode ", b"new file mode ", b"deleted file mode ", b"index ")
_LINKED_REPOSITORY = b"160000"


class _Head:
    """The lines above the hunks of one file's part, read."""

    def __init__(self, lines: list[bytes]) -> None:
        self.status: FileStatus = "modified"
        self.named: dict[bytes, bytes] = {}
        self.binary = self.linked = self.moded = False
        for line in lines[1:]:
            self._read(line)
        named = self.named
        self.path = named.get(b"to") or named.get(b"+++") or named.get(b"---") or _path_of_both(lines[0])

    def _read(self, line: bytes) -> None:
        for beginning, meaning in _STATUS.items():
            if line.startswith(beginning):
                self.status = meaning
        if line.startswith((b"rename ", b"copy ")):
            _, end, side = line.split(b" ", 2)
            self.named[end] = _path(side)
        elif line.startswith((b"--- ", b"+++ ")):
            side = _path(line[4:].removesuffix(b"\t"))
            if side != b"/dev/null":
                self.named[line[:3]] = side[2:]
        elif line.startswith((b"Binary files ", b"GIT binary patch")):
            self.binary = True
        elif line.startswith(_MODES):
            self.linked = self.linked or line.endswith(_LINKED_REPOSITORY)
            self.moded = self.moded or line.startswith(b"old mode ")


def file_change(diff: FileDiff) -> FileChange:
    """Return the stored form of one file's part."""
    head = _Head(diff.head.split(b"\n"))
    status = head.status
    if head.moded and status == "modified" and not diff.lines and not head.binary:
        status = "changed"
    path = head.path.decode("utf-8", "replace")
    old = head.named.get(b"from")
    patch = diff.body.decode("utf-8", "replace")
    return FileChange(
        path=path,
        old_path=old.decode("utf-8", "replace") if old else None,
        status=status,
        binary=head.binary,
        generated=head.linked or is_generated(path) or says_generated(patch),
        truncated=diff.truncated,
        additions=diff.additions,
        deletions=diff.deletions,
        patch=patch,
    )


def with_changed_types(files: Sequence[FileChange]) -> tuple[FileChange, ...]:
    """Return the files, each path once: git shows a file that became a link as one that goes and one that comes."""
    found: list[FileChange] = []
    for file in files:
        before = found[-1] if found else None
        if before is None or before.path != file.path:
            found.append(file)
            continue
        found[-1] = before.model_copy(
            update={
                "status": "changed",
                "binary": before.binary or file.binary,
                "generated": before.generated or file.generated,
                "truncated": before.truncated or file.truncated,
                "additions": before.additions + file.additions,
                "deletions": before.deletions + file.deletions,
                "patch": "\n".join(patch for patch in (before.patch, file.patch) if patch),
            }
        )
    return tuple(found)


def _path(text: bytes) -> bytes:
    """Return a path as git writes it: in quotes, with escapes, where it holds a control character or a quote."""
    if len(text) < 2 or not text.startswith(b'"') or not text.endswith(b'"'):
        return text
    return _ESCAPE.sub(lambda found: _unescaped(found[1]), text[1:-1])


def _unescaped(code: bytes) -> bytes:
    return bytes([int(code, 8) & 255]) if len(code) == 3 else _PLAIN.get(code, code)


def _path_of_both(line: bytes) -> bytes:
    """Return the path of ``diff --git a/PATH b/PATH``: where no other line names it, both are the same."""
    both = line.removeprefix(b"diff --git ")
    return _path(both[: (len(both) - 1) // 2])[2:]
