"""Archives as tests need them: honest ones, and with members that no honest program writes."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Mapping
from typing import Any

Entry = tuple[str, str | bytes, Mapping[str, Any]]
"""Name, content, and fields of the header."""


def tar(*entries: Entry) -> bytes:
    """A tar file of members, not compressed."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", encoding="utf-8", errors="surrogateescape") as packed:
        for name, content, fields in entries:
            data = content.encode() if isinstance(content, str) else content
            member = tarfile.TarInfo(name)
            member.size = len(data)
            for field, value in fields.items():
                setattr(member, field, value)
            packed.addfile(member, io.BytesIO(data))
    return made.getvalue()


def packed_zip(*entries: Entry) -> bytes:
    """A zip file of members; the field ``mode`` is that of Unix."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content, fields in entries:
            member = zipfile.ZipInfo(name)
            member.external_attr = fields.get("mode", 0) << 16
            packed.writestr(member, content, zipfile.ZIP_DEFLATED)
    return made.getvalue()
