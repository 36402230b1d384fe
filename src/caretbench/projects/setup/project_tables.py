"""Readers of a snapshot's TOML and INI files; a missing or malformed file is empty."""

from __future__ import annotations

import configparser
import tomllib
from collections.abc import Mapping

from caretbench.errors import DataError
from caretbench.execution.workspaces.snapshot_store import Snapshot


def read_text(snapshot: Snapshot, path: str) -> str | None:
    """Return the text of a file; None if there is none."""
    try:
        return snapshot.read(path).decode("utf-8", "replace") if path in snapshot.entries else None
    except DataError:
        return None


def read_toml(snapshot: Snapshot, path: str) -> Mapping[str, object]:
    """Return the tables of a TOML file."""
    try:
        return tomllib.loads(read_text(snapshot, path) or "")
    except tomllib.TOMLDecodeError:
        return {}


def read_ini(snapshot: Snapshot, path: str) -> configparser.ConfigParser:
    """Return the sections of an INI file."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(read_text(snapshot, path) or "")
    except configparser.Error:
        return configparser.ConfigParser()
    return parser


def sub_table(table: Mapping[str, object], name: str) -> Mapping[str, object]:
    """Return a table within a table; empty if there is none."""
    found = table.get(name)
    return found if isinstance(found, dict) else {}


def strings(value: object) -> list[str]:
    """Return the texts in a list; empty if it is none."""
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
