"""A project on its way to another machine: a snapshot as bytes, and from bytes into a store there.

What arrives is hashed again: an archive that is not what its name says is refused.
"""

from __future__ import annotations

import io
import tarfile
import tempfile
from pathlib import Path

from caretbench.errors import DataError
from caretbench.execution.workspaces.leavings import unpack
from caretbench.execution.workspaces.snapshots import Snapshot, SnapshotStore

MOST_BYTES = 512 << 20
"""Of a project that is sent; an archive is held in memory, here and there."""

_KINDS = {"file": tarfile.REGTYPE, "link": tarfile.SYMTYPE, "folder": tarfile.DIRTYPE}


def packed(snapshot: Snapshot) -> bytes:
    """A snapshot as a compressed archive.

    Raises:
        DataError: it is too large to be sent.
    """
    if snapshot.size > MOST_BYTES:
        raise DataError(
            f"the project takes {snapshot.size >> 20} MB, and at most {MOST_BYTES >> 20} MB are sent to other "
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


def unpacked(store: SnapshotStore, identity: str, archive: bytes) -> Snapshot:
    """Take an archive into a store.

    Raises:
        DataError: it does not unpack, leads out of its folder, or is another project than its name says.
    """
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "project"
        place.mkdir()
        unpack(archive, place, f"the project {identity} did not arrive whole")
        taken = store.add(place, ignore=())
    if taken.id != identity:
        raise DataError(f"the project {identity} arrived as another one ({taken.id})")
    return taken
