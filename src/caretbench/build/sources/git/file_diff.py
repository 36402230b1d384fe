"""Parser of one file's part of ``git log -p``: paths, status and hunks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from caretbench.build.sources.changes.generated_files import has_generated_marker, is_generated
from caretbench.build.sources.git.patch_stream import FileDiff
from caretbench.build.sources.pull_request import FileChange, FileStatus

_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_PLAIN = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
# Header lines that give the status; without them it is "modified".
_STATUS: dict[bytes, FileStatus] = {
    b"new file mode ": "added",
    b"deleted file mode ": "removed",
    b"rename from ": "renamed",
    b"copy from ": "copied",
}
_MODES = (b"old mode ", b"new mode ", b"new file mode ", b"deleted file mode ", b"index ")
_LINKED_REPOSITORY = b"160000"


class _FileHeader:
    """Parsed lines above the hunks of one file."""

    def __init__(self, lines: list[bytes]) -> None:
        self.status: FileStatus = "modified"
        self.named: dict[bytes, bytes] = {}
        self.binary = self.linked = self.moded = False
        for line in lines[1:]:
            self._read(line)
        named = self.named
        self.path = named.get(b"to") or named.get(b"+++") or named.get(b"---") or _path_from_first_line(lines[0])

    def _read(self, line: bytes) -> None:
        for beginning, meaning in _STATUS.items():
            if line.startswith(beginning):
                self.status = meaning
        if line.startswith((b"rename ", b"copy ")):
            _, end, side = line.split(b" ", 2)
            self.named[end] = _unquote_path(side)
        elif line.startswith((b"--- ", b"+++ ")):
            side = _unquote_path(line[4:].removesuffix(b"\t"))
            if side != b"/dev/null":
                self.named[line[:3]] = side[2:]
        elif line.startswith((b"Binary files ", b"GIT binary patch")):
            self.binary = True
        elif line.startswith(_MODES):
            self.linked = self.linked or line.endswith(_LINKED_REPOSITORY)
            self.moded = self.moded or line.startswith(b"old mode ")


def parse_file_diff(diff: FileDiff) -> FileChange:
    """Return the record of one file."""
    head = _FileHeader(diff.header.split(b"\n"))
    status = head.status
    if head.moded and status == "modified" and not diff.lines and not head.binary:
        status = "changed"
    path = head.path.decode("utf-8", "replace")
    old = head.named.get(b"from")
    patch = diff.hunks.decode("utf-8", "replace")
    return FileChange(
        path=path,
        old_path=old.decode("utf-8", "replace") if old else None,
        status=status,
        binary=head.binary,
        generated=head.linked or is_generated(path) or has_generated_marker(patch),
        truncated=diff.truncated,
        additions=diff.additions,
        deletions=diff.deletions,
        patch=patch,
    )


def merge_type_changes(files: Sequence[FileChange]) -> tuple[FileChange, ...]:
    """Return the files with each path once: git lists a file that became a link as removed and as added."""
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


def _unquote_path(text: bytes) -> bytes:
    """Return a path without git's quotes and escapes, which it has for control characters and quotes."""
    if len(text) < 2 or not text.startswith(b'"') or not text.endswith(b'"'):
        return text
    return _ESCAPE.sub(lambda found: _unescape(found[1]), text[1:-1])


def _unescape(code: bytes) -> bytes:
    return bytes([int(code, 8) & 255]) if len(code) == 3 else _PLAIN.get(code, code)


def _path_from_first_line(line: bytes) -> bytes:
    """Return the path of ``diff --git a/PATH b/PATH``; used where both paths are the same."""
    both = line.removeprefix(b"diff --git ")
    return _unquote_path(both[: (len(both) - 1) // 2])[2:]
