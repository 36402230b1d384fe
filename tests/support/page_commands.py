"""Commands that pages show after ``$``, with the output that they show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^```[a-z]*\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL)
_OMITTED = "[…]"
_PROGRESS = re.compile(r"[\w ./=-]+: [\d,]+ of [\d,]+( \(.*\))?(, for \d+ s now)?")


@dataclass(frozen=True)
class PageCommand:
    """A command of a page: its line number, its text, and the lines of output below it."""

    page: str
    line: int
    text: str
    expected: tuple[str, ...]


def page_commands(page: Path, root: Path) -> Iterator[PageCommand]:
    """Yield the commands of a page in order; a line that ends with a backslash goes on in the next."""
    text = page.read_text("utf-8")
    for fence in _FENCE.finditer(text):
        if not re.search(r"^\$ ", fence["text"], re.MULTILINE):
            continue
        first = text.count("\n", 0, fence.start("text")) + 1
        number, command, expected = 0, "", list[str]()
        for offset, line in enumerate(fence["text"].splitlines()):
            if line.startswith("$ "):
                if command:
                    yield PageCommand(str(page.relative_to(root)), number, command, tuple(expected))
                number, command, expected = first + offset, line[2:], []
            elif command.endswith("\\"):
                command = f"{command[:-1]}{line.strip()}"
            elif command:
                expected.append(line.rstrip())
        yield PageCommand(str(page.relative_to(root)), number, command, tuple(expected))


def missing_line(expected: tuple[str, ...], output: str) -> str | None:
    """Return the first expected line that the output lacks at its place; None if it has them all.

    A line ``[…]`` stands for any number of lines, and ``[…]`` in a line for any text. Empty lines, lines of progress
    (which depend on the load of the machine), and the number of blanks in a row do not count.
    """
    found = [_plain(line) for line in output.splitlines() if _counts(line)]
    place, anywhere = 0, False
    for line in filter(_counts, expected):
        if line.strip() == _OMITTED:
            anywhere = True
            continue
        pattern = re.compile(".*".join(re.escape(part) for part in _plain(line).split(_OMITTED)))
        places = range(place, len(found)) if anywhere else range(place, min(place + 1, len(found)))
        match = next((one for one in places if pattern.fullmatch(found[one])), None)
        if match is None:
            return line
        place, anywhere = match + 1, False
    return None


def _plain(line: str) -> str:
    return re.sub(r"[ ─-]{2,}| +", " ", line.strip())


def _counts(line: str) -> bool:
    return bool(line.strip()) and not _PROGRESS.fullmatch(line.strip())
