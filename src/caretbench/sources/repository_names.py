"""Owner and name of a repository, from the remote of a clone or, without one, from the name of its folder.

A remote decides where there is one. Without one a folder tells the owner in a form that mirrors use (``owner+name``,
``owner__name``, ``owner%2Fname``) or below a folder that is called like the host (``github.com/owner/name``). No other
folder above a clone is taken for an owner: ``~/code/project`` is not a project of ``code``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote

UNKNOWN: Final = "unknown"
"""The organisation of a repository whose name has no owner, in tables and messages."""

_NO_NAME: Final = "repository"
# Names of folders that say nothing about what is in them: the folder above names the repository.
_ANY_CLONE: Final = ("repo", "repository", "clone", "checkout", "git", "source", "src", ".git")
# A remote as git takes it, without who logs in and with what: scheme://user:secret@host:port/path or user@host:path.
_REMOTE: Final = re.compile(
    r"(?:(?:https?|ssh|git)://(?:[^/@]*@)?(?P<host>[^/:@]+)(?::\d+)?/|(?:[^/@:]+@)?(?P<short>[^/@:]+):(?!/))(?P<path>[^?#]+?)(?:\.git)?/*"
)
_OWNER: Final = r"[A-Za-z0-9](?:[A-Za-z0-9]|-(?!-)){0,38}"
_PAIR: Final = re.compile(rf"(?P<owner>{_OWNER})(?:\+|__|/)(?P<name>[A-Za-z0-9._][\w.-]{{0,99}})")
_HOST: Final = re.compile(r"(?:[a-z0-9-]+\.)*(?:github|gitlab|bitbucket|codeberg|gitea)\.(?:com|org|io)")


class RepositoryName(NamedTuple):
    """``owner/name``, or ``name`` alone where nothing tells the owner; the host where it is known."""

    repo: str
    host: str | None = None


def parse_remote(url: str) -> tuple[str | None, str] | None:
    """Return host and ``owner/name`` of a remote, without user and password; None for a folder's path."""
    found = _REMOTE.fullmatch(url.strip())
    if found is None:
        return None
    path = found["path"].strip("/")
    return (found["host"] or found["short"] or "").lower() or None, path


def repository_name(folder: Path, remote: str | None) -> RepositoryName:
    """Return the name of a clone.

    Args:
        folder: The clone's folder, resolved.
        remote: The address of its remote, where it has one. A remote that is a folder names a clone as its own does.
    """
    if remote:
        found = parse_remote(remote)
        if found is not None:
            return RepositoryName(found[1], found[0])
        named = _of_folder(Path(remote.strip().removeprefix("file://")))
        if "/" in named.repo:
            return named
    return _of_folder(folder)


def organization_of(repo: str) -> str:
    """Return what precedes the last part of a name, or :data:`UNKNOWN`."""
    return repo.rpartition("/")[0] or UNKNOWN


def _of_folder(folder: Path) -> RepositoryName:
    parts = [part for part in folder.parts if part not in ("/", ".", "..")]
    while len(parts) > 1 and parts[-1].lower() in _ANY_CLONE:
        parts.pop()
    if not parts:
        return RepositoryName(_NO_NAME)
    own = unquote(parts[-1]).removesuffix(".git")
    pair = _PAIR.fullmatch(own)
    if pair is not None:
        return RepositoryName(f"{pair['owner']}/{pair['name']}")
    if len(parts) > 2 and _HOST.fullmatch(parts[-3].lower()) and re.fullmatch(_OWNER, parts[-2]):
        return RepositoryName(f"{parts[-2]}/{own}", parts[-3].lower())
    return RepositoryName(own or _NO_NAME)
