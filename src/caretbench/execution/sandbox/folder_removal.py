"""Removal of a folder that a program wrote to, by descriptors: no path is resolved twice.

``landlock_monitor.py`` runs this file's text outside the package, so it needs the standard library alone.
"""

from __future__ import annotations

import os
import stat

_PATH_ONLY = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_folder(place: str, descriptor: int) -> None:
    """Remove the folder of descriptor ``descriptor`` as far as possible; targets of links are never touched.

    If ``place`` is another file by now, it stays. Each folder below is moved to the top before it is emptied, so that
    a few descriptors suffice at any depth.
    """
    above, name = os.path.split(place)
    try:
        parent_descriptor = os.open(above, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        top = open_folder(".", descriptor)
        try:
            _empty(top)
        finally:
            os.close(top)
        # A program may have put a link in the folder's place.
        if os.path.samestat(os.fstat(descriptor), os.stat(name, dir_fd=parent_descriptor, follow_symlinks=False)):
            os.rmdir(name, dir_fd=parent_descriptor)
    except OSError:
        return
    finally:
        os.close(parent_descriptor)


def open_folder(name: str, parent_descriptor: int) -> int:
    """Return a descriptor of a folder in ``parent_descriptor``, which is opened to its owner first if it was closed.

    Raises:
        OSError: it is gone, it is no folder (a link to one is none), or it is another user's and closed.
    """
    descriptor = os.open(name, _PATH_ONLY, dir_fd=parent_descriptor)
    try:
        mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
        if mode & 0o700 != 0o700:
            # Opens the folder that was found, whatever has its name now.
            os.chmod(f"/proc/self/fd/{descriptor}", mode | 0o700)  # noqa: PTH101
        return os.open(".", _LIST, dir_fd=descriptor)
    finally:
        os.close(descriptor)


def _empty(top: int) -> None:
    number = 0
    waiting = _clear(top)
    while waiting:
        name = waiting.pop()
        try:
            folder = open_folder(name, top)
        except OSError:
            continue
        try:
            for inner in _clear(folder):
                moved, number = number, number + 1
                try:
                    os.close(open_folder(inner, folder))  # what its owner may not write is not moved
                    while _is_there(f".removed-{moved}", top):
                        moved, number = number, number + 1
                    os.rename(inner, f".removed-{moved}", src_dir_fd=folder, dst_dir_fd=top)
                except OSError:
                    continue
                waiting.append(f".removed-{moved}")
        finally:
            os.close(folder)
        try:
            os.rmdir(name, dir_fd=top)
        except OSError:
            continue


def _clear(folder: int) -> list[str]:
    """Delete all in a folder but folders, and return their names."""
    folders = []
    for name in os.listdir(folder):
        try:
            if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                folders.append(name)
            else:
                os.unlink(name, dir_fd=folder)
        except OSError:
            continue
    return folders


def _is_there(name: str, folder: int) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True
