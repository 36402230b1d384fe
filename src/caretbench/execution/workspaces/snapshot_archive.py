"""Archives of projects, for transfer to other machines and for files that a command leaves.

Where preparing a project saves time or fetches what is needed, the project with what the command left is another
snapshot. A project that arrives is hashed again: an archive that does not match its name is refused.
"""

from __future__ import annotations

import io
import os
import shlex
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from caretbench.errors import DataError
from caretbench.execution.execution_types import ResultFile
from caretbench.execution.workspaces.snapshot_store import MAX_BYTES, Snapshot, SnapshotStore

MAX_SENT_BYTES = 512 << 20
"""Maximum size of a project that is sent to another machine; the archive is in memory on both."""

_KINDS = {"file": tarfile.REGTYPE, "link": tarfile.SYMTYPE, "folder": tarfile.DIRTYPE}
# A result file has at most 16 MB.
PART_MB: Final = 15
MAX_PART_BYTES: Final = (PART_MB + 1) << 20
# 480 MB: numpy, SciPy, pandas, matplotlib and scikit-learn together fit, packed.
MAX_PARTS: Final = 32
MAX_ARCHIVE_BYTES: Final = MAX_PARTS * MAX_PART_BYTES
_PARTS: Final = ".caretbench-left."
PART_PATTERNS: Final = (f"{_PARTS}*",)
"""Patterns of the archive parts that a packing command writes."""
_SCRIPT: Final = f"""
set -e
touch /tmp/.caretbench-begun
sleep 0.02  # a file that is changed within the same tick of the kernel's clock is not newer
( {{command}}
)
# By change, not by modification: `cp -p`, `tar` and `unzip` write files with times of years ago.
find . -cnewer /tmp/.caretbench-begun \\( -type f -o -type l \\) ! -name '{_PARTS}*' -print0 > /tmp/.caretbench-left
tar --null -czf - -T /tmp/.caretbench-left | split -b {PART_MB}m - {_PARTS}
"""


def packing_command(command: str | Sequence[str], directory: str = ".") -> tuple[str, ...]:
    """Return a command that also packs all new files into archive parts; it starts in the project's root.

    ``command`` is a line for ``/bin/sh``, or a program with its arguments; it starts in ``directory`` itself.
    """
    line = command if isinstance(command, str) else shlex.join(command)
    inside = line if directory == "." else f"cd {shlex.quote(directory)}\n{line}"
    return ("/bin/sh", "-c", _SCRIPT.format(command=inside))


def unpack_archive(archive: bytes, target: Path, failed: str) -> None:
    """Unpack a compressed archive into a folder.

    Raises:
        DataError: it does not unpack, is too large, or leads out of the folder; ``failed`` comes first in the message.
    """
    size = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as packed:
            for member in packed:
                size += member.size
                # Zeros are packed a thousandfold: the disk would be full before the store counts what is there.
                if size > MAX_BYTES:
                    raise tarfile.TarError(f"more than {MAX_BYTES >> 30} GB")  # noqa: TRY301  as members raise
                _unpack_member(packed, member, target)
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise DataError(f"{failed} ({error})") from None


def _unpack_member(packed: tarfile.TarFile, member: tarfile.TarInfo, root: Path) -> None:
    """Write a member into a folder, over what is there; of its mode only the permission to execute is kept.

    Written out, since the filters of :mod:`tarfile` came with Python 3.11.4, and Debian 12 has 3.11.2.

    Raises:
        tarfile.TarError: the member leads outside, or is a device.
    """
    target = _inside(root, member.name)
    if member.isdir():
        target.mkdir(parents=True, exist_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    # Removed first: a write would go through a link, and to all names of a file with several.
    target.unlink(missing_ok=True)
    if member.issym():
        if not Path(os.path.realpath(target.parent / member.linkname)).is_relative_to(os.path.realpath(root)):
            raise tarfile.TarError(f"{member.name!r}: a link to {member.linkname!r}, outside the folder")
        target.symlink_to(member.linkname)
    elif member.islnk():
        target.hardlink_to(_inside(root, member.linkname))
    elif (content := packed.extractfile(member)) is not None:
        with content, target.open("xb") as stream:
            shutil.copyfileobj(content, stream)
        target.chmod(0o755 if member.mode & 0o100 else 0o644)
    else:
        raise tarfile.TarError(f"{member.name!r}: neither a file, a folder nor a link")


def _inside(root: Path, name: str) -> Path:
    """Return the path of a name in a folder.

    Raises:
        tarfile.TarError: it is not a relative path through folders that are no links.
    """
    path = PurePosixPath(name)
    around = [root / parent for parent in path.parents]
    if path.is_absolute() or ".." in path.parts or any(parent.is_symlink() for parent in around):
        raise tarfile.TarError(f"{name!r}: leads outside the folder, or through a link")
    return root / path


def add_command_outputs(store: SnapshotStore, snapshot: Snapshot, parts: Sequence[ResultFile]) -> Snapshot:
    """Return a snapshot of the project with the files that a packing command wrote.

    Raises:
        DataError: the parts do not unpack, or lead out of the project.
    """
    archive = b"".join(part.data for part in sorted(parts, key=lambda part: part.path))
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        shutil.copytree(snapshot.tree, project, symlinks=True)
        unpack_archive(archive, project, "what the command left cannot be taken over")
        return store.add(project, ignore=(".git", "__pycache__"))


def pack_snapshot(snapshot: Snapshot) -> bytes:
    """Return a snapshot as a compressed archive.

    Raises:
        DataError: it is too large to be sent.
    """
    if snapshot.size > MAX_SENT_BYTES:
        raise DataError(
            f"the project takes {snapshot.size >> 20} MB, and at most {MAX_SENT_BYTES >> 20} MB are sent to other "
            "machines; use --engine local"
        )
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz", compresslevel=1, format=tarfile.PAX_FORMAT) as archive:
        for path, entry in sorted(snapshot.entries.items()):
            member = tarfile.TarInfo(path)
            member.type = _KINDS[entry.kind]
            member.mode = 0o755 if entry.executable or entry.kind == "folder" else 0o644
            if entry.kind == "file":
                data = snapshot.read(path)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
            else:
                member.linkname = entry.content if entry.kind == "link" else ""
                archive.addfile(member)
    return stream.getvalue()


def unpack_snapshot(store: SnapshotStore, identity: str, archive: bytes) -> Snapshot:
    """Unpack an archive into a store.

    Raises:
        DataError: it does not unpack, leads out of its folder, or does not match its name.
    """
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        project.mkdir()
        unpack_archive(archive, project, f"the project {identity} did not arrive whole")
        taken = store.add(project, ignore=())
    if taken.id != identity:
        raise DataError(f"the project {identity} arrived as another one ({taken.id})")
    return taken
