"""Answers of GitHub's that are kept on this machine: asked again with their ETag, an unchanged one costs nothing.

A token sees what others do not, so the key holds a hash of it (never the token). Bodies are kept as they came.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import NamedTuple

from caretbench.files import sha256_text, write_atomically


class Kept(NamedTuple):
    """A stored answer: its ETag, its body, and the address of the next page."""

    etag: str
    body: str
    following: str | None


class AnswerStore:
    """Answers below one folder, one file each; what is damaged counts as absent.

    Args:
        folder: Where.
        token: The token that is used, if one is.
    """

    def __init__(self, folder: Path, token: str | None) -> None:
        self._folder = folder
        self._whose = hashlib.sha256((token or "").encode()).hexdigest()

    def _path(self, url: str, accept: str) -> Path:
        return self._folder / f"{sha256_text(url, accept, self._whose)}.json"

    def get(self, url: str, accept: str) -> Kept | None:
        """The stored answer to a request, if there is one."""
        try:
            value = json.loads(self._path(url, accept).read_text("utf-8"))
            kept = Kept(value["etag"], value["body"], value["following"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return kept if isinstance(kept.etag, str) and isinstance(kept.body, str) else None

    def put(self, url: str, accept: str, kept: Kept) -> None:
        """Store an answer; a full disk only costs the next request."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_atomically(self._path(url, accept), json.dumps(kept._asdict()))
        except OSError:
            pass
