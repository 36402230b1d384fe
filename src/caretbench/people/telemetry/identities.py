"""Salted hashes of identities: HMAC-SHA256 with a file of salt that its user keeps."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from pathlib import Path
from typing import Final

from caretbench.errors import DataError

SALT_BYTES: Final = 32
"""Number of bytes of a new salt."""
MINIMUM_SALT_BYTES: Final = 16


class SaltedHashes:
    """Hashes of identities by a salt. The same name gives the same hash, and nobody without the salt can tell whose."""

    def __init__(self, salt: bytes) -> None:
        self._salt = salt

    def of(self, kind: str, name: str) -> str:
        """Return the hash of a name, 64 hexadecimal digits; equal names of two kinds have different hashes."""
        text = f"{kind}\0{name}".encode("utf-8", "surrogatepass")
        return hmac.new(self._salt, text, hashlib.sha256).hexdigest()


def salted_hashes(path: Path) -> tuple[SaltedHashes, bool]:
    """Return hashes by the salt of a file, and whether the file was made: random, readable by its owner alone.

    Raises:
        DataError: the salt is too short, or other users can read it.
        OSError: the file cannot be read or made.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        salt = path.read_bytes().strip()
        if len(salt) < MINIMUM_SALT_BYTES:
            raise DataError(
                f"{path}: a salt of {len(salt)} bytes can be guessed; give at least {MINIMUM_SALT_BYTES}, or a path "
                "where there is no file yet"
            ) from None
        if os.name == "posix" and path.stat().st_mode & 0o077:
            raise DataError(f"{path}: other users can read this salt; close it: chmod 600 {path}") from None
        return SaltedHashes(salt), False
    with os.fdopen(descriptor, "wb") as stream:
        salt = secrets.token_hex(SALT_BYTES).encode()
        stream.write(salt)
    return SaltedHashes(salt), True
