"""Salted hashes of identities."""

from __future__ import annotations

import hashlib
import hmac
import os
from pathlib import Path

import pytest

from caretbench.errors import DataError
from caretbench.people.telemetry.event_privacy import salted_hashes


def test_a_new_salt_is_random_and_closed(tmp_path: Path) -> None:
    hashes, new = salted_hashes(tmp_path / "salt")
    assert new
    assert (tmp_path / "salt").stat().st_mode & 0o777 == 0o600
    again, known = salted_hashes(tmp_path / "salt")
    assert not known
    other, _ = salted_hashes(tmp_path / "other")
    assert hashes.of("user", "ann") == again.of("user", "ann") != other.of("user", "ann")
    assert hashes.of("user", "ann") != hashes.of("event", "ann")
    assert hashes.of("user", "ann") != hashes.of("user", "bob")


def test_the_hash_is_hmac_sha256(tmp_path: Path) -> None:
    (tmp_path / "salt").write_bytes(b"0123456789abcdef\n")
    (tmp_path / "salt").chmod(0o600)
    hashes, _ = salted_hashes(tmp_path / "salt")
    expected = hmac.new(b"0123456789abcdef", b"user\0ann", hashlib.sha256).hexdigest()
    assert hashes.of("user", "ann") == expected


def test_salts_that_protect_nobody_are_refused(tmp_path: Path) -> None:
    short = tmp_path / "short"
    short.write_text("secret\n")
    with pytest.raises(DataError, match="of 6 bytes"):
        salted_hashes(short)
    if os.name == "posix":
        open_to_all = tmp_path / "open"
        open_to_all.write_text("0123456789abcdef")
        open_to_all.chmod(0o644)
        with pytest.raises(DataError, match="chmod 600"):
            salted_hashes(open_to_all)
