"""Files and rows of the released layout: ``data/v0.3/tasks/REPO/PREFIX_KIND.jsonl``.

A row is ``{"input": [system, user], "ideal": text}``; a message is ``{"role": …, "content": text}`` or its text alone.
Other fields of a row are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from caretbench.files import DataError, read_lines
from caretbench.problem import ReleasedMessage

KINDS: Final = ("mcq_easy", "mcq_hard", "mpr_gen", "reverse_qa")
"""Kinds of files, the ends of their names."""
LAYOUT: Final = f"data/v0.3/tasks/REPO/PREFIX_{{{','.join(KINDS)}}}.jsonl"
"""Layout of the release, for messages."""

_ROLES: Final = ("system", "user")
_REMEDY: Final = 'a row is {"input": [system, user], "ideal": text}; repair or remove this line'
_VERSION: Final = re.compile(r"v(\d+(?:\.\d+)*)")
# Positions of the tasks below a folder that contains or is a part of a clone of the release.
_PLACES: Final = ("", "tasks", "v*/tasks", "data/v*/tasks", "*/data/v*/tasks")


class ReleasedFile(NamedTuple):
    """A file of the release, with its repository and the kind of its rows."""

    path: Path
    repository: str
    kind: str
    version: str
    """Version of the release, ``v0.3``; empty if no folder above the file has its name."""


class ReleasedRow(NamedTuple):
    """A row: the two messages that a model is shown, the ideal answer, and the position in the file."""

    number: int
    where: str
    messages: tuple[ReleasedMessage, ReleasedMessage]
    ideal: str

    @property
    def user(self) -> str:
        """Text of the user message, with line feeds at the ends of its lines."""
        return self.messages[1].text.replace("\r\n", "\n")

    def fault(self, cause: str) -> DataError:
        """Return the error of a row that cannot be used."""
        return DataError(f"{self.where}: {cause}; {_REMEDY}")


def released_files(root: Path) -> list[ReleasedFile]:
    """Return the files of the release in a folder that contains it or is a part of it; empty if there are none.

    The folder of one repository is a part, too. Of several versions the newest is taken.
    """
    for place in _PLACES:
        folders = [root] if not place else sorted(root.glob(place), key=_version_order, reverse=True)
        for folder in folders:
            if found := [
                file for below in sorted(folder.iterdir()) if below.is_dir() for file in _repository_files(below)
            ]:
                return found
    return list(_repository_files(root))


def _repository_files(folder: Path) -> Iterator[ReleasedFile]:
    """Yield the files of a repository's folder; files directly below a version, as in v0.2, name their repositories."""
    resolved = folder.resolve()
    version = next((part for part in reversed(resolved.parts) if _VERSION.fullmatch(part)), "")
    for path in sorted(folder.glob("*.jsonl")):
        kind = next((kind for kind in KINDS if path.stem.endswith(f"_{kind}")), None)
        if kind is not None and path.is_file():
            repository = path.stem.removesuffix(f"_{kind}") if resolved.name == version else resolved.name
            yield ReleasedFile(path, repository, kind, version)


def _version_order(path: Path) -> tuple[tuple[int, ...], str]:
    found = [_VERSION.fullmatch(part) for part in path.parts]
    numbers = [tuple(map(int, version[1].split("."))) for version in found if version]
    return (numbers[-1] if numbers else (), str(path))


def read_released_rows(path: Path) -> Iterator[ReleasedRow]:
    """Yield the rows of a file; blank lines and a byte-order mark are skipped.

    Raises:
        DataError: a row is malformed; the message has file, line, cause and remedy.
    """
    for number, value in read_lines(path):
        where = f"{path}:{number}"
        try:
            yield ReleasedRow(number, where, _messages(value), _ideal(value))
        except (TypeError, ValueError) as error:
            raise DataError(f"{where}: {error}; {_REMEDY}") from None


def _messages(value: dict[str, Any]) -> tuple[ReleasedMessage, ReleasedMessage]:
    if "input" not in value:
        raise ValueError("the field 'input' is missing")
    found = value["input"]
    if not isinstance(found, list) or len(found) != len(_ROLES):
        size = f"a list of {len(found)}" if isinstance(found, list) else type(found).__name__
        raise ValueError(f"the field 'input' is {size}, expected a system and a user message")
    system, user = (_message(message, role) for message, role in zip(found, _ROLES, strict=True))
    if not user.text.strip():
        raise ValueError("the user message is empty")
    return system, user


def _message(value: Any, role: str) -> ReleasedMessage:
    if isinstance(value, dict) and value.get("role", role) != role:
        raise ValueError(f"a message has the role {value['role']!r}, expected {role!r}: the order is system, user")
    text = value.get("content") if isinstance(value, dict) else value
    if not isinstance(text, str):
        raise TypeError(f"the {role} message has no text in 'content'")
    return ReleasedMessage.model_validate({"role": role, "text": text})


def _ideal(value: dict[str, Any]) -> str:
    if "ideal" not in value:
        raise ValueError("the field 'ideal' is missing")
    if not isinstance(value["ideal"], str):
        raise TypeError(f"the field 'ideal' is {type(value['ideal']).__name__}, expected text")
    if not value["ideal"].strip():
        raise ValueError("the field 'ideal' is empty")
    return value["ideal"]
