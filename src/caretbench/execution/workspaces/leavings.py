"""What a command leaves in a project, taken over: the project with it is another snapshot.

Used where that saves time or fetches what is needed; the files that the command only read stay the same ones.
"""

from __future__ import annotations

import io
import shlex
import shutil
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from caretbench.errors import DataError
from caretbench.execution.types import ResultFile
from caretbench.execution.workspaces.snapshots import Snapshot, SnapshotStore

PART_MB: Final = 15
PART_BYTES: Final = (PART_MB + 1) << 20
MOST_PARTS: Final = 4
_PARTS: Final = ".caretbench-left."
RESULTS: Final = (f"{_PARTS}*",)
"""The files in which a packing command leaves it."""
_SCRIPT: Final = f"""
set -e
touch /tmp/.caretbench-begun
sleep 0.02  # a file that is made within the same tick of the kernel's clock is not newer
( {{command}}
)
find . -newer /tmp/.caretbench-begun \\( -type f -o -type l \\) ! -name '{_PARTS}*' -print0 > /tmp/.caretbench-left
tar --null -czf - -T /tmp/.caretbench-left | split -b {PART_MB}m - {_PARTS}
"""


def packing(command: str | Sequence[str], directory: str = ".") -> tuple[str, ...]:
    """The command, and after it all that it left packed into parts; it starts in the project's root.

    Args:
        command: A line for ``/bin/sh``, or a program with its arguments.
        directory: Where the command itself starts.
    """
    line = command if isinstance(command, str) else shlex.join(command)
    inside = line if directory == "." else f"cd {shlex.quote(directory)}\n{line}"
    return ("/bin/sh", "-c", _SCRIPT.format(command=inside))


def unpack(archive: bytes, place: Path, failed: str) -> None:
    """Unpack a compressed archive into a folder.

    Raises:
        DataError: it does not unpack, or leads out of the folder; ``failed`` says it first.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as packed:
            packed.extractall(place, filter="data")
    except (tarfile.TarError, OSError, EOFError) as error:
        raise DataError(f"{failed} ({error})") from None


def taken_over(store: SnapshotStore, snapshot: Snapshot, parts: Sequence[ResultFile]) -> Snapshot:
    """The project with what a packing command left in it.

    Raises:
        DataError: the parts do not unpack, or lead out of the project.
    """
    archive = b"".join(part.data for part in sorted(parts, key=lambda part: part.path))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "project"
        shutil.copytree(snapshot.tree, place, symlinks=True)
        unpack(archive, place, "what the command left cannot be taken over")
        return store.add(place, ignore=(".git", "__pycache__"))
