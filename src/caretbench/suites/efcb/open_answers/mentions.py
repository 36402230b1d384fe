"""Mentions in a description that can be checked: identifiers, paths, numbers and references.

A mention that is neither in the patch nor in the author's text is invented, or known from elsewhere: both are
hallucinations in a description of this patch. Statements in plain words are left to judges.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Final, Literal, NamedTuple

MentionKind = Literal["identifier", "path", "number", "reference"]

_SUFFIXES: Final = (
    "bash|bazel|c|cc|cfg|conf|cpp|cs|css|csv|go|gradle|h|hpp|html|ini|java|js|json|jsx|kt|lock|md|mod|mts|php|proto|py|rb|rs"
    "|scala|sh|sql|sum|swift|toml|ts|tsx|txt|xml|yaml|yml"
)
_URL: Final = re.compile(r"\bhttps?://[^\s)>\]\"'`]+")
_REFERENCE: Final = re.compile(r"(?<![\w&])(?:[\w.-]+/[\w.-]+)?#(\d+)\b|\bGH-(\d+)\b")
_PATH: Final = re.compile(
    rf"(?<![\w/@.-])(?:\.{{0,2}}/)?(?:[\w.@*+-]+/)+[\w.@*+-]*[\w*]|(?<![\w/.-])[\w+-]+(?:\.[\w-]+)*\.(?:{_SUFFIXES})\b(?![(\w])"
)
_CODE: Final = re.compile(r"`([^`\s]{2,120})`")
_DOTTED: Final = re.compile(r"(?<![\w./-])[^\W\d]\w*(?:(?:\.|::|->)[^\W\d]\w*)*(\(\))?")
_CODE_LIKE: Final = re.compile(r"\w_+\w|[a-z\d][A-Z]|[A-Z]{2,}[a-z]{2}|::|->|\(\)|[^\W\d]{3}\w*\.[^\W\d]{3}")
_NUMBER: Final = re.compile(r"(?<![\w.,/#:-])v?(\d+(?:[.,]\d+)*)(?=%|[a-zA-Zµ]{0,3}\b)")
_LIST_NUMBER: Final = re.compile(r"^[ \t]*\d+[.)][ \t]", re.MULTILINE)
_NAME: Final = re.compile(r"\w+")
_NO_PATH: Final = re.compile(r"[A-Za-z]+(?:/[A-Za-z]+)?|[A-Z]+/[\d.]+|[^A-Za-z]*")  # read/write, HTTP/2, 24/7
_SHORTEST_PART: Final = 4

_BRANDS: Final = frozenset(
    {
        "bluesky", "devops", "dockerhub", "github", "gitlab", "graphql", "ios", "ipados", "ipv4", "ipv6", "javascript",
        "json", "linkedin", "macos", "mongodb", "mysql", "nodejs", "oauth", "openapi", "openssl", "postgresql",
        "powershell", "sqlite", "systemd", "tvos", "typescript", "webassembly", "websocket", "wifi", "wireguard",
        "yaml", "youtube",
    }
)  # fmt: skip
"""Names of products that look like identifiers, also with an s at the end."""


class Mention(NamedTuple):
    """One mention, as it is written."""

    kind: MentionKind
    text: str


def find_mentions(text: str) -> tuple[Mention, ...]:
    """Return the different mentions of a text, by kind and in the order of the text.

    Paths have a slash or a file suffix; two plain words with a slash (``read/write``) are no path. Identifiers look
    like one (``snake_case``, ``camelCase``, ``call()``, ``a.member``) or are single words in code spans. Numbers of
    one digit are ignored: they may count parts of the patch.
    """
    taken = []
    for pattern in (_URL, _REFERENCE, _PATH):
        taken.append([match.group() for match in pattern.finditer(text)])
        text = pattern.sub(" ", text)
    urls, references, paths = taken
    found = [Mention("reference", url.rstrip(".,;:")) for url in urls]
    found += [Mention("reference", reference) for reference in references]
    found += [Mention("path", path) for path in paths if not _NO_PATH.fullmatch(path)]
    found += [Mention("identifier", name) for name in _identifiers(text)]
    numbers = (match[1] for match in _NUMBER.finditer(_LIST_NUMBER.sub(" ", text)))
    found += [Mention("number", number) for number in numbers if len(number) > 1]
    return tuple(dict.fromkeys(found))


def _identifiers(text: str) -> Iterable[str]:
    for span in _CODE.finditer(text):
        yield from (match.group() for match in _DOTTED.finditer(span[1]) if len(match.group()) > 1)
    for match in _DOTTED.finditer(_CODE.sub(" ", text)):
        name = match.group()
        if _CODE_LIKE.search(name) and name.lower().removesuffix("s") not in _BRANDS and not _is_acronym(name):
            yield name


def _is_acronym(name: str) -> bool:
    """Return whether a name is an acronym in the plural: ``APIs``, ``IDs``."""
    return name[:-1].isupper() and name.endswith("s")


class MentionSources:
    """Texts that support mentions: the patch, the title, the description."""

    def __init__(self, *texts: str) -> None:
        self._text = "\n".join(texts).casefold()

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(_NAME.findall(self._text))

    def supports(self, mention: Mention) -> bool:
        """Return whether a mention is in the texts, ignoring case.

        All names of an identifier must be; from four letters on, part of a longer name is enough. The number of a
        reference must follow ``#`` or ``/``, and a number must not be part of a longer one.
        """
        return _SUPPORTS[mention.kind](self, mention.text)

    def _identifier(self, text: str) -> bool:
        return all(map(self._name, _NAME.findall(text.casefold())))

    def _name(self, name: str) -> bool:
        if name in self._names:
            return True
        stem = name.removesuffix("s")
        return stem in self._names or (len(stem) >= _SHORTEST_PART and stem in self._text)

    def _path(self, text: str) -> bool:
        bare = text.removeprefix("./").strip("/*")
        if bare.casefold() in self._text:
            return True
        # Alternatives look like paths, too: AddSlice/AddSeq.
        return "." not in bare and not bare.islower() and self._identifier(bare)

    def _number(self, text: str) -> bool:
        plain = text.replace(",", "")
        return any(re.search(rf"(?<!\d){re.escape(form)}(?!\d)", self._text) for form in {text, plain})

    def _reference(self, text: str) -> bool:
        number = re.search(r"(?:#|GH-)(\d+)$", text)
        if number is None:
            return text.casefold() in self._text
        return bool(re.search(rf"(?:[#/]|gh-){number[1]}(?!\d)", self._text))


_SUPPORTS: Final = {
    "identifier": MentionSources._identifier,
    "path": MentionSources._path,
    "number": MentionSources._number,
    "reference": MentionSources._reference,
}
