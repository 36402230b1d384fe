"""Reasons why no sandbox, no warm sandbox or no overlay can be built on this machine, each with its remedy.

The attempt reports the failed step and the kernel's error. The kernel's release, configuration and file systems, and
the modes of the folders, explain the error.
"""

from __future__ import annotations

import errno
import gzip
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from caretbench.execution.sandbox.host.program_users import missing_capabilities
from caretbench.execution.sandbox.invocation import NO_OVERLAY

NO_BUBBLEWRAP = (
    "programs run only in a sandbox and bubblewrap is not here: `apt-get install bubblewrap` "
    "(`dnf install bubblewrap`), or `pip install 'caretbench[sandbox]'`"
)
NO_FILTER = "the system call numbers of this processor are not known, and a warm sandbox needs the filter"
NO_NESTING = "no namespaces can be made inside a sandbox here"
_COMPLAINTS = ("user namespace", "uid map", "Operation not permitted", "No space left", "_namespaces exceeded")
_ADVICE = (
    "this system forbids unprivileged user namespaces. Try `sysctl -w kernel.unprivileged_userns_clone=1` "
    "(Debian); `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0` or an AppArmor profile for bwrap "
    "(Ubuntu 24.04); `sysctl -w user.max_user_namespaces=15000`; "
    "in Docker, `--security-opt seccomp=unconfined`"
)
_EXHAUSTED = "_namespaces exceeded"
_EXHAUSTED_ADVICE = (
    "all namespaces that the kernel allows are in use: wait until other sandboxes end, or raise the limit, "
    "`sysctl -w user.max_user_namespaces=15000`"
)
_NESTING_ADVICE = (
    "a limit of the kernel or a rule of the system forbids them. Try `sysctl -w user.max_user_namespaces=15000`, or "
    "an AppArmor profile for bwrap that allows user namespaces to what it starts, too"
)
_TO_MAP = ("CAP_SYS_ADMIN", "CAP_DAC_OVERRIDE")
"""Capabilities without which root cannot write the maps of another user's namespace."""
ATTRIBUTES_SINCE = (6, 6)
"""First Linux version whose memory file system supports user attributes."""
OVERLAY_SINCE = (5, 11)
"""First Linux version that mounts overlays in user namespaces."""
_ATTRIBUTES = "CONFIG_TMPFS_XATTR"
_ATTEMPT = re.compile(r"(?P<step>memory|attributes|layers): (?:\[Errno (?P<number>\d+)\] )?(?P<said>.*)", re.DOTALL)


class KernelFacts(NamedTuple):
    """Facts of a kernel; ``config_options`` are the options it was built with, None if they cannot be read."""

    release: str
    filesystems: frozenset[str]
    config_options: frozenset[str] | None

    @property
    def version(self) -> tuple[int, int]:
        """First two numbers of the release."""
        numbers = re.match(r"(\d+)\.(\d+)", self.release)
        return (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)


def read_kernel_facts() -> KernelFacts:
    """Return the facts of this machine's kernel."""
    release = os.uname().release
    filesystems = Path("/proc/filesystems").read_text().split()
    configured = None
    # A kernel shows its options in one of these places, in a container often in none.
    for place in (Path("/proc/config.gz"), Path(f"/boot/config-{release}")):
        try:
            data = place.read_bytes()
        except OSError:
            continue
        text = (gzip.decompress(data) if place.suffix == ".gz" else data).decode()
        configured = frozenset(re.findall(r"^(CONFIG_\w+)=[ym]$", text, re.MULTILINE))
        break
    return KernelFacts(release, frozenset(filesystems), configured)


def overlay_failure(error: str, folder: Path, kernel: KernelFacts | None = None) -> str:
    """Return the reason why no overlay was mounted over ``folder``, from the error, with a remedy if there is one."""
    message = error.rpartition(f"{NO_OVERLAY}: ")[2].strip() or "no reason was given"
    if "another user" in message:
        return _of_owner(folder)
    if "it needs namespaces" in message:
        return "the isolation level in force has no mounts; an overlay needs the level `namespaces`"
    attempt = _ATTEMPT.match(message)
    if attempt is None:
        return message
    kernel = kernel or read_kernel_facts()
    number = int(attempt["number"] or 0)
    return {"memory": _of_memory, "attributes": _of_attributes, "layers": _of_layers}[attempt["step"]](
        number, attempt["said"].strip(), kernel
    )


def _of_owner(folder: Path) -> str:
    closed = next(_closed(folder), None)
    owner = "an overlay can only change what belongs to the sandbox's user, and snapshots belong to "
    if closed is None:
        uid = folder.stat().st_uid if folder.exists() else os.geteuid()
        return f"{owner}user {uid}; remove {folder}: projects are set up again then"
    return (
        f"{owner}user {os.geteuid()}, since others may not enter {closed}; "
        f"chmod o+x {closed}, or choose another folder with CARETBENCH_CACHE"
    )


def _closed(folder: Path) -> Iterator[Path]:
    for place in (*reversed(folder.resolve().parents), folder.resolve()):
        if place.exists() and not place.stat().st_mode & 0o001:
            yield place


def _of_memory(number: int, message: str, _kernel: KernelFacts) -> str:
    return f"no memory file system can be mounted in the sandbox ({_name(number, message)})"


def _of_attributes(number: int, message: str, kernel: KernelFacts) -> str:
    if number == errno.EOPNOTSUPP:
        lacking = "its memory file system keeps no user attributes"
        if kernel.version < ATTRIBUTES_SINCE:
            return f"Linux {kernel.release} is too old: {lacking}; it needs Linux {_since(ATTRIBUTES_SINCE)} or later"
        if kernel.config_options is not None and _ATTRIBUTES not in kernel.config_options:
            return f"Linux {kernel.release} was built without {_ATTRIBUTES}: {lacking}"
        return f"Linux {kernel.release}: {lacking}; {_ATTRIBUTES} gives it them"
    return f"an attribute that overlays need was refused ({_name(number, message)})"


def _of_layers(number: int, message: str, kernel: KernelFacts) -> str:
    # A module is loaded at its first use by root, which never comes inside a user namespace.
    if number == errno.ENODEV or "overlay" not in kernel.filesystems:
        return f"Linux {kernel.release} has no overlay file system loaded; sudo modprobe overlay"
    if number == errno.EPERM and kernel.version < OVERLAY_SINCE:
        return (
            f"Linux {kernel.release} is too old: it mounts no overlay in user namespaces; "
            f"it needs Linux {_since(OVERLAY_SINCE)} or later"
        )
    if number in (errno.EPERM, errno.EACCES):
        return f"the machine's security rules refuse an overlay in a user namespace ({_name(number, message)})"
    return f"the kernel lays no overlay over the cache's file system ({_name(number, message)})"


def _since(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def _name(number: int, message: str) -> str:
    return f"{errno.errorcode[number]}: {message}" if number in errno.errorcode else message


def sandbox_failure(message: str) -> str:
    """Return the reason why no sandbox can be built, from bubblewrap's message."""
    forbidden = any(complaint in message for complaint in _COMPLAINTS)
    advice = f"; {_ADVICE}" if forbidden else ""
    return f"no sandbox can be built here ({message.strip()[:400]}){advice}"


def exhausted_namespaces(message: str) -> str:
    """Return why a program was not started, with a remedy if the machine ran out of namespaces after the probe."""
    return f"{message}; {_EXHAUSTED_ADVICE}" if _EXHAUSTED in message else message


def nested_sandbox_failure(message: str) -> str:
    """Return the reason why a program was not started in a warm sandbox, from its first process's message."""
    if "were not built" not in message:
        return f"no program can be started in a warm sandbox ({message.strip()[:400]})"
    return f"{NO_NESTING} ({message.strip()[:400]}): {_NESTING_ADVICE}"


def user_map_failure(error: OSError) -> str:
    """Return the reason why root could not map the users of a warm sandbox."""
    missing = missing_capabilities(*_TO_MAP)
    if not missing:
        return f"root may not map the users of a warm sandbox ({error}): a security rule of the system refuses it"
    docker = " ".join(f"--cap-add {name.removeprefix('CAP_')}" for name in missing)
    return (
        f"root cannot map the users of a warm sandbox without {' and '.join(missing)}; give it that (in Docker, "
        f"`{docker}`), or start CaretBench as an ordinary user"
    )
