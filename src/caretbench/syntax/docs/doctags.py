"""Tags of documentation: Javadoc, JSDoc, Doxygen, C# XML, and Python's Google, NumPy and Sphinx styles."""

from __future__ import annotations

import re
from typing import NamedTuple

_TYPE = r"(?:\{[^}\n]*\}\s*)?"
_LINES = r"(?:.*\n(?![ \t]*(?:[@\\]|$)))*.*"  # to the next tag or blank line


def _compiled(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.MULTILINE) for pattern in patterns)


# One table for all styles: a style's marks do not occur in another style's text.
_PARAMETERS = _compiled(
    r"[@\\]t?(?:param|arg|argument)(?:\[[^\]\n]*\])?\s+"
    rf"{_TYPE}<?\[?(?P<name>[\w$.]+)[^\s\]]*\]?>?[ \t]*[-:]?[ \t]*(?P<what>{_LINES})",
    r"<(?:type)?param\s+name\s*=\s*[\"'](?P<name>[^\"']+)[\"']\s*>(?P<what>[\s\S]*?)</(?:type)?param>",
    r"^[ \t]*:(?:param|parameter|arg|key)[ \t]+(?:[^:\n]*[ \t])?\*{0,2}(?P<name>\w+):[ \t]*"
    r"(?P<what>.*(?:\n(?![ \t]*:).*\S)*)",
)
_RETURNS = _compiled(
    rf"[@\\](?:returns?|retval|result)\b\s*{_TYPE}(?P<what>\S.*|(?<=\}})\s*)",
    r"<returns>(?P<what>[\s\S]*?)</returns>",
    r"^[ \t]*:returns?:[ \t]*(?P<what>\S.*)",
)
_THROWS = _compiled(
    r"[@\\](?:throws?|exception)\s+\{?(?P<name>[\w$.:]+)\}?",
    r"<exception\s+cref\s*=\s*[\"'](?:[A-Z]:)?(?P<name>[^\"']+)[\"']",
    r"^[ \t]*:(?:raises?|except|exception)[ \t]+(?P<name>[\w.]+):",
)

_TITLES = {
    "parameters": (
        "args",
        "arguments",
        "parameters",
        "params",
        "other parameters",
        "keyword args",
        "keyword arguments",
    ),
    "returns": ("returns", "return", "yields"),
    "throws": ("raises", "throws", "exceptions"),
}
_SECTIONS = {title: about for about, titles in _TITLES.items() for title in titles}
_ENTRY = re.compile(r"\*{0,2}(?P<names>[\w.]+(?:\s*,\s*\*{0,2}[\w.]+)*)\s*(?:\([^)]*\))?\s*(?::\s*(?P<what>.*))?$")
_XML = re.compile(r"</?[A-Za-z][^>\n]*>")


class DocumentationTags(NamedTuple):
    """Parameters, return value and exceptions that a documentation text describes; ``text`` is without XML tags."""

    text: str
    parameters: tuple[str, ...]
    returns: bool
    throws: tuple[str, ...]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_rule(line: str) -> bool:
    return set(line) == {"-"}


def _sections(text: str) -> dict[str, list[str]]:
    """Return the lines of Google's (``Args:``) and NumPy's (underlined) sections, by topic."""
    bodies: dict[str, list[str]] = {}
    lines = text.split("\n")
    current: list[str] | None = None
    margin = 0
    underlined = False
    for number, line in enumerate(lines):
        title = line.strip().rstrip(":").lower()
        next_line = lines[number + 1].strip() if number + 1 < len(lines) else ""
        is_numpy = len(next_line) >= 3 and _is_rule(next_line)
        if title in _SECTIONS and (line.strip().endswith(":") or is_numpy):
            current = bodies.setdefault(_SECTIONS[title], [])
            margin, underlined = _indent(line), is_numpy
        elif current is None or not line.strip() or _is_rule(line.strip()):
            continue
        elif is_numpy or (not underlined and _indent(line) <= margin):
            current = None
        else:
            is_typed = underlined and _indent(line) == margin  # NumPy's ``name : type`` describes nothing yet
            current.append(line.split(":")[0] if is_typed else line)
    return bodies


def _entries(body: list[str]) -> tuple[str, ...]:
    """Return the names of a section's entries that have a description, on their line or indented below it."""
    margin = min((_indent(line) for line in body), default=0)
    names: list[str] = []
    for number, line in enumerate(body):
        if _indent(line) > margin or (entry := _ENTRY.match(line.strip())) is None:
            continue
        below = number + 1 < len(body) and _indent(body[number + 1]) > margin
        if entry["what"] or below:
            names += [name.strip(" *") for name in entry["names"].split(",")]
    return tuple(names)


def _named(patterns: tuple[re.Pattern[str], ...], text: str) -> tuple[str, ...]:
    hits = [hit for pattern in patterns for hit in pattern.finditer(text)]
    described = [hit for hit in hits if "what" not in hit.groupdict() or hit["what"].strip()]
    return tuple(hit["name"] for hit in sorted(described, key=lambda hit: hit.start()))


def read_tags(text: str) -> DocumentationTags:
    """Return the tags of a documentation text without comment marks; names without a description do not count."""
    sections = _sections(text)
    parameters = _named(_PARAMETERS, text) + _entries(sections.get("parameters", []))
    throws = _named(_THROWS, text) + _entries(sections.get("throws", []))
    returns = bool(sections.get("returns")) or any(
        (hit := pattern.search(text)) is not None and bool(hit["what"].strip() or "{" in hit.group())
        for pattern in _RETURNS
    )
    plain = "\n".join(line.rstrip() for line in _XML.sub("", text).split("\n")).strip()
    return DocumentationTags(plain, tuple(dict.fromkeys(parameters)), returns, tuple(dict.fromkeys(throws)))
