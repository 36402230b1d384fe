"""Readers of a snapshot's TOML, INI and requirements files; a missing or malformed file is empty."""

from __future__ import annotations

import configparser
import posixpath
import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Final
from xml.etree import ElementTree

from packaging.requirements import InvalidRequirement, Requirement

from caretbench.errors import DataError
from caretbench.execution.workspaces.snapshot_store import Snapshot

_FOLDER: Final = r"(?:(?:requirements|requires|reqs?|tests?|ci)/)?"
_TESTS: Final = r"(?:unit[-_]?)?(?:tests?|testing|unittests?|pytest)"
_DEVELOPERS: Final = r"(?:dev|develop|development|devel|ci)"
_KIND: Final = r"(?:requirements|reqs?|requires)"
_FILES: Final = re.compile(
    rf"{_FOLDER}(?:{_KIND}|{_KIND}[-_.]?{_TESTS}|{_TESTS}[-_.]?{_KIND})\.(?:txt|in)"
    rf"|(?:(?:requirements|requires|reqs?)/)?{_TESTS}\.(?:txt|in)"
)
_ELSE_FILES: Final = re.compile(
    rf"{_FOLDER}(?:{_KIND}[-_.]?{_DEVELOPERS}|{_DEVELOPERS}[-_.]?{_KIND})\.(?:txt|in)"
    rf"|(?:(?:requirements|requires|reqs?)/)?{_DEVELOPERS}\.(?:txt|in)"
)
"""Requirements files that are used if none is named after tests."""
_DEPTH: Final = 20
"""Maximum depth of requirements files that refer to others."""
_REQUIREMENT: Final = re.compile(r"[A-Za-z0-9][\w.-]*\s*(?:\[[^\]]*\])?[^@\\-]*(?:;.*)?")
"""Line of a requirements file without options, addresses and continuation."""


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
    return ini_sections(read_text(snapshot, path) or "")


def ini_sections(text: str) -> configparser.ConfigParser:
    """Return the sections of a text in the form of an INI file."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return configparser.ConfigParser()
    return parser


def sub_table(table: Mapping[str, object], name: str) -> Mapping[str, object]:
    """Return a table within a table; empty if there is none."""
    inner = table.get(name)
    return inner if isinstance(inner, dict) else {}


def strings(value: object) -> list[str]:
    """Return the texts in a list; empty if it is none."""
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def requirement_files(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the requirements files of a project's tests; those for developers if none is named after tests."""
    files = [path for path, entry in sorted(snapshot.entries.items()) if entry.kind == "file"]
    listed = [path for path in files if _FILES.fullmatch(path)]
    if not any("test" in path.rpartition("/")[2] or path.startswith("test") for path in listed):
        listed += [path for path in files if _ELSE_FILES.fullmatch(path)]
    return tuple(listed)


def expanded_requirements(snapshot: Snapshot, requirements: Iterable[str]) -> tuple[str, ...]:
    """Return requirements with the contents of requirements files (``-r PATH``), without references to tox's settings.

    Files with options that only pip understands remain; missing ones do not.
    """
    expanded: list[str] = []
    for requirement in requirements:
        path = requirement.removeprefix("-r ").replace("{toxinidir}/", "")
        if requirement.startswith("-r "):
            expanded += _in_file(snapshot, path, set()) if path in snapshot.entries else []
        elif "{" not in requirement:
            expanded.append(requirement)
    return tuple(expanded)


def plain_requirements(snapshot: Snapshot, requirements: Iterable[str]) -> tuple[str, ...]:
    """Return the requirements that name a package of an index, with those in requirements files; no other lines."""
    listed: list[str] = []
    for entry in requirements:
        text = read_text(snapshot, entry.removeprefix("-r ")) or "" if entry.startswith("-r ") else entry
        listed += (re.sub(r"(?:^|\s)#.*", "", line).strip() for line in text.splitlines())
    return tuple(dict.fromkeys(line for line in listed if _REQUIREMENT.fullmatch(line)))


def _in_file(snapshot: Snapshot, path: str, seen: set[str], depth: int = 0) -> list[str]:
    """Return the packages in a requirements file; ``-r PATH`` if it contains options that only pip understands.

    Files in ``seen`` are skipped, and those that are read are added to it.
    """
    seen.add(path)
    text = read_text(snapshot, path) or ""
    lines = [line for line in (re.sub(r"(?:^|\s)#.*", "", line).strip() for line in text.splitlines()) if line]
    packages: list[str] = []
    for line in lines:
        other = re.fullmatch(r"(?:-r|--requirement)[\s=]*(\S+)", line)
        inner = posixpath.normpath(posixpath.join(posixpath.dirname(path), other[1])) if other else ""
        if inner in snapshot.entries:
            done = inner in seen or depth > _DEPTH
            packages += [] if done else _in_file(snapshot, inner, seen, depth + 1)
        elif _REQUIREMENT.fullmatch(line):
            packages.append(line)
        elif _is_pips(line, snapshot):
            return [f"-r {path}"]
    return packages


def _is_pips(line: str, snapshot: Snapshot) -> bool:
    """Return whether pip reads a line: other tools (cget, Conan, cpm) have files of the same name."""
    if line.startswith(("-", ".", "/")) or line.endswith("\\") or "://" in line or line in snapshot.entries:
        return True
    try:
        Requirement(line)
    except InvalidRequirement:
        return any(path.startswith(f"{line.rstrip('/')}/") for path in snapshot.entries)
    return True


def parsed_xml(text: str) -> ElementTree.Element | None:
    """Return the root of an XML text, with tags without namespaces; None if it is malformed or declares entities."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:  # entities could grow without bound
        return None
    try:
        root = ElementTree.fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", text))  # noqa: S314  no entities
    except ElementTree.ParseError:
        return None
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
    return root


def child_text(element: ElementTree.Element, path: str) -> str:
    """Return the text of the first child at a path, without white space around it; "" if there is none."""
    return (element.findtext(path) or "").strip()
