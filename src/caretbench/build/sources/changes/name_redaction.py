"""Redaction of people's names in titles and descriptions, as ``<name>``; data: ``people.toml``.

Redacted are ``@login`` mentions, people who are thanked or credited by name, and authors of the history's commits.
Code spans and code blocks are kept.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache

from caretbench.files import read_packaged_toml
from caretbench.problem import Row

NAME_PLACEHOLDER = "<name>"
VERSION = "people@3"
"""Version of the redaction rules.

2: a capitalised word after @ is an annotation if the languages of the change have annotations; logins after "by:" are
people. 3: "(by name)" means a person only with @; numbers are no logins.
"""

_CODE = r"(?P<code>```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]{1,300}`)"
# Not after characters of a path, an address, a tag or a quotation; not before those of a package or a variable.
_MENTION = re.compile(
    _CODE + r"""|(?<![\w/.@\\{'"$-])@(?P<login>[A-Za-z\d](?:-?[A-Za-z\d]){0,38})"""
    r"(?![\w/(-]|\[(?!\d)|\.\w|:\w|\ ?=|\s(?:annotat|attribut|decorat|directive|extension|macro|rule|tag|variable))"
    r"(?:\ \([A-Z][^()\n\d]{1,60}\))?",
    re.DOTALL,
)
# Spelled like a type, as annotations are and few logins.
_LIKE_A_TYPE = re.compile(r"[A-Z][a-z]\w*|[A-Z]{1,3}")
_WORD = r"[^\W\d_a-z](?:[\w'\u2019-]*\w|(?:\.[A-Z])*\.)?"
_PERSON = rf"{_WORD}(?:\s(?:(?:van|von|de|der|den|del|da|di|la|le|bin)\s)?{_WORD}){{1,3}}"
_ALIAS = r"(?:\s\([\w.-]{2,40}\))?"
_LOGIN = r"\w(?:[\w.-]{0,38}\w)?(?=\s+(?:for|from|on|who)\b|\s*(?:[!,;).]|and\b|\Z)|\s*\n)"
_PAGE = r"https?://(?:www\.)?github\.com/[\w-]+/?(?![\w/-])"
_HANDLE = r"(?:<name>|\w(?:[\w.-]{0,38}\w)?)"
_HANDLES = rf"{_HANDLE}(?:(?:,|\s*&|\s+and)\s+@?{_HANDLE}){{0,5}}"
_ONE = rf"(?:{_PERSON}{_ALIAS}|{_PAGE}|{_LOGIN})"
_SEVERAL = rf"{_ONE}(?:(?:,|,?\s+and)\s+{_ONE}){{0,5}}"
_BETWEEN = re.compile(r"(,?\s+and\s+|,\s+|\s*&\s+)")
_FIRST_WORD = re.compile(r"(?<![\w@/.-])[^\W\d_]\w*")
_MIN_NAME_CHARACTERS = 6


_GROUPS = ("several", "person", "credited", "named", "stated")


class NamePatterns(Row):
    """Contents of ``people.toml``: phrases around names, and words that are no names."""

    thanks_phrases: tuple[str, ...]
    credit_phrases: tuple[str, ...]
    not_names: frozenset[str]
    product_words: frozenset[str]
    annotations: frozenset[str]
    words_before_names: tuple[str, ...]
    words_after_names: tuple[str, ...]


@cache
def name_patterns() -> NamePatterns:
    """Return the patterns of ``people.toml``."""
    return NamePatterns.model_validate(read_packaged_toml("caretbench.build.sources.changes", "people.toml"))


@cache
def _credit_pattern() -> re.Pattern[str]:
    thanks, deeds = "|".join(name_patterns().thanks_phrases), "|".join(name_patterns().credit_phrases)
    return re.compile(
        rf"{_CODE}|\b(?:{thanks})(?:\s+(?:goes\s+)?(?:to|of))?\s+(?P<several>{_SEVERAL})"
        rf"|\b(?i:{deeds})\s+(?P<person>{_PERSON}{_ALIAS})"
        # "(by: somebody)", "(by @somebody)", "Reviewed by: somebody" in a line
        rf"|\((?i:by|author|authors|credits?|thanks|from|via|patch by|reported by):\s*@?(?P<credited>{_HANDLES})\)"
        rf"|\((?i:by)\s+@(?P<named>{_HANDLE})\)"
        rf"|\b(?i:{deeds}):\s*@?(?P<stated>{_HANDLES})(?=\s*(?:[.)\]]|$))",
        re.DOTALL | re.MULTILINE,
    )


@cache
def _context_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns for the text before a mention of a person, and after it."""
    patterns = name_patterns()
    return (
        re.compile(rf"(?:{'|'.join(patterns.words_before_names)})\Z", re.IGNORECASE),
        re.compile(rf"(?:{'|'.join(patterns.words_after_names)})", re.IGNORECASE),
    )


def redact_names(text: str, is_code: Callable[[str], bool] = lambda _: False, *, has_annotations: bool = True) -> str:
    """Return the text with ``<name>`` for mentioned, thanked and credited people.

    ``is_code`` returns whether an ``@word`` occurs in the change's own code: an annotation, a decorator, a variable.
    With ``has_annotations``, ``@Word`` counts as an annotation, unless the words around it are typical for people.
    """
    if "@" in text:
        text = _MENTION.sub(lambda mention: _redact_mention(mention, is_code, has_annotations), text)
    return _credit_pattern().sub(_redact_credit, text)


def _redact_mention(match: re.Match[str], in_code: Callable[[str], bool], annotated: bool) -> str:
    login = match["login"]
    # Inside code a mention is a decorator, a variable or an address of a package; a redaction would change the program.
    kept = match["code"] or login in name_patterns().annotations or login.isdigit() or in_code(f"@{login}")
    if not kept and annotated and _LIKE_A_TYPE.fullmatch(login):
        kept = not _is_person_context(match.string, match.start(), match.end("login"))
    return match.group() if kept else NAME_PLACEHOLDER


def _is_person_context(text: str, start: int, end: int) -> bool:
    """Return whether the words around an ``@Word`` are typical for a person."""
    before, after = _context_patterns()
    return before.search(text[max(0, start - 60) : start]) is not None or (
        after.match(text[end : end + 60]) is not None
    )


def _redact_credit(match: re.Match[str]) -> str:
    group = next((name for name in _GROUPS if match[name]), "")
    if match["code"] or not group:
        return match.group()
    before = match.group()[: match.start(group) - match.start()]
    after = match.group()[match.end(group) - match.start() :]
    words = _BETWEEN.split(match[group])
    # "(by: …)" names no products, but it may name a sort key.
    is_none = _is_not_login if group == "credited" else _is_not_name
    words[::2] = [name if is_none(name.lstrip("@")) else NAME_PLACEHOLDER for name in words[::2]]
    return before.removesuffix("@") + "".join(words) + after


def _is_not_login(name: str) -> bool:
    return name[:1].isdigit() or name.lower() in name_patterns().not_names


def _is_not_name(name: str) -> bool:
    patterns = name_patterns()
    return name.lower() in patterns.not_names or not patterns.product_words.isdisjoint(name.split())


class AuthorNames:
    """Names of the authors of a history, to redact them in texts; they are not stored."""

    def __init__(self, names: Iterable[str]) -> None:
        self._by_first: dict[str, list[str]] = defaultdict(list)
        for name in sorted({" ".join(name.split()) for name in names}, key=lambda name: (-len(name), name)):
            words = name.split(" ")
            # A single word may be any word; several capitalised words are a name.
            is_long = len(words) > 1 and len(name) >= _MIN_NAME_CHARACTERS
            if is_long and re.fullmatch(_PERSON, name) and not _is_not_name(name):
                self._by_first[_FIRST_WORD.match(name)[0]].append(name)  # type: ignore[index]

    def redact(self, text: str) -> str:
        """Return the text with ``<name>`` for each of the names."""
        kept: list[str] = []
        end = 0
        for word in _FIRST_WORD.finditer(text):
            start = word.start()
            for name in self._by_first.get(word.group(), ()) if start >= end else ():
                stop = start + len(name)
                if text.startswith(name, start) and not text[stop : stop + 1].isalnum():
                    kept += (text[end:start], NAME_PLACEHOLDER)
                    end = stop
                    break
        return "".join((*kept, text[end:])) if kept else text
