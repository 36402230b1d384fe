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
_LINKED_REPOSITORY = b"160000"


def file_change(diff: FileDiff) -> FileChange:
    """The stored form of one file's part."""
    lines = diff.head.split(b"\n")
    named: dict[bytes, bytes] = {}
    status: FileStatus = "modified"
    binary = linked = moded = False
    for line in lines[1:]:
        for beginning, meaning in _STATUS.items():
            if line.startswith(beginning):
                status = meaning
        if line.startswith((b"rename ", b"copy ")):
            _, end, side = line.split(b" ", 2)
            named[end] = _path(side)
        elif line.startswith((b"--- ", b"+++ ")):
            side = _path(line[4:].removesuffix(b"\t"))
            if side != b"/dev/null":
                named[line[:3]] = side[2:]
        elif line.startswith((b"Binary files ", b"GIT binary patch")):
            binary = True
        elif line.startswith(
            (b"old mode ", b"new mode ", b"new file mode ", b"deleted file mode ", b"index ")
        ):
            linked = linked or line.endswith(_LINKED_REPOSITORY)
            moded = moded or line.startswith(b"old mode ")
    if moded and status == "modified" and not diff.lines and not binary:
        status = "changed"
    raw = named.get(b"to") or named.get(b"+++") or named.get(b"---") or _path_of_both(lines[0])
    path = raw.decode("utf-8", "replace")
    old = named.get(b"from")
    patch = diff.body.decode("utf-8", "replace")
    return FileChange(
        path=path,
        old_path=old.decode("utf-8", "replace") if old else None,
        status=status,
        binary=binary,
        generated=linked or is_generated(path) or says_generated(patch),
        truncated=diff.truncated,
        additions=diff.additions,
        deletions=diff.deletions,
        patch=patch,
    )


def with_changed_types(files: Sequence[FileChange]) -> tuple[FileChange, ...]:
    """The files, each path once: git shows a file that became a link as one that goes and one that comes."""
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
    """A path as git writes it: in quotes, with escapes, where it holds a control character or a quote."""
    if len(text) < 2 or not text.startswith(b'"') or not text.endswith(b'"'):
        return text
    return _ESCAPE.sub(lambda found: _unescaped(found[1]), text[1:-1])


def _unescaped(code: bytes) -> bytes:
    return bytes([int(code, 8) & 255]) if len(code) == 3 else _PLAIN.get(code, code)


def _path_of_both(line: bytes) -> bytes:
    """The path of ``diff --git a/PATH b/PATH``: where no other line names it, both are the same."""
    both = line.removeprefix(b"diff --git ")
    return _path(both[: (len(both) - 1) // 2])[2:]
