"""Names of people in what a change says of itself become ``<name>``. The data stand in ``people.toml``.

Three kinds are known: who is called by ``@login``, who is thanked or quoted by name, and who wrote a commit of the
history. Code spans and code blocks stay as they are.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache

from caretbench.files import packaged_table
from caretbench.problem import Row

NAME = "<name>"
VERSION = "people@3"
"""Of what is taken for a name. 2: a capitalised word behind @ is an annotation where the languages of the change have
some; logins behind "by:" are people. 3: "(by name)" speaks of people with @ alone, and no number is a login.
"""

_CODE = r"(?P<code>```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]{1,300}`)"
# Not behind what makes it a path, an address, a tag or a quotation; not before what makes it a package or a variable.
_MENTION = re.compile(
    _CODE + r"""|(?<![\w/.@\\{'"$-])@(?P<login>[A-Za-z\d](?:-?[A-Za-z\d]){0,38})"""
    r"(?![\w/(-]|\[(?!\d)|\.\w|:\w|\ ?=|\s(?:annotat|attribut|decorat|directive|extension|macro|rule|tag|variable))"
    r"(?:\ \([A-Z][^()\n\d]{1,60}\))?",
    re.DOTALL,
)
# Written like the name of a type: annotations are, and few logins.
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
_SHORTEST = 6


_GROUPS = ("several", "person", "credited", "named", "stated")


class PeopleTable(Row):
    """The table of ``people.toml``."""

    thanks: tuple[str, ...]
    deeds: tuple[str, ...]
    no_names: frozenset[str]
    products: frozenset[str]
    annotations: frozenset[str]
    before_people: tuple[str, ...]
    after_people: tuple[str, ...]


@cache
def table() -> PeopleTable:
    """Return the table as it stands in the file."""
    return PeopleTable.model_validate(packaged_table("caretbench.sources.changes", "people.toml"))


@cache
def _quoted() -> re.Pattern[str]:
    known = table()
    thanks, deeds = "|".join(known.thanks), "|".join(known.deeds)
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
def _about_people() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What is said before people and after them."""
    known = table()
    return (
        re.compile(rf"(?:{'|'.join(known.before_people)})\Z", re.IGNORECASE),
        re.compile(rf"(?:{'|'.join(known.after_people)})", re.IGNORECASE),
    )


def without_people(
    text: str, in_code: Callable[[str], bool] = lambda _: False, *, annotated: bool = True
) -> str:
    """Return the text with ``<name>`` for who is called by ``@login``, thanked or quoted by name.

    ``in_code`` says whether an ``@word`` is in the change's own code: an annotation, a decorator, a variable. Where
    the languages of the change are ``annotated``, ``@Word`` is an annotation, unless it is spoken of as of a person.
    """
    if "@" in text:
        text = _MENTION.sub(lambda found: _called(found, in_code, annotated), text)
    return _quoted().sub(_unnamed, text)


def _called(found: re.Match[str], in_code: Callable[[str], bool], annotated: bool) -> str:
    login = found["login"]
    kept = found["code"] or login in table().annotations or login.isdigit() or in_code(f"@{login}")
    if not kept and annotated and _LIKE_A_TYPE.fullmatch(login):
        kept = not _is_spoken_of(found.string, found.start(), found.end("login"))
    return found.group() if kept else NAME


def _is_spoken_of(text: str, start: int, end: int) -> bool:
    """Return whether the words around an ``@Word`` are those that are said of people."""
    before, after = _about_people()
    return before.search(text[max(0, start - 60) : start]) is not None or (
        after.match(text[end : end + 60]) is not None
    )


def _unnamed(found: re.Match[str]) -> str:
    group = next((name for name in _GROUPS if found[name]), "")
    if found["code"] or not group:
        return found.group()
    before = found.group()[: found.start(group) - found.start()]
    after = found.group()[found.end(group) - found.start() :]
    parts = _BETWEEN.split(found[group])
    # Behind "(by:" no products are written, but what something is sorted by may be.
    is_none = _is_no_login if group == "credited" else _is_none
    kept = [is_none(part.lstrip("@")) for part in parts[::2]]
    parts[::2] = [part if none else NAME for part, none in zip(parts[::2], kept, strict=True)]
    return before.removesuffix("@") + "".join(parts) + after


def _is_no_login(name: str) -> bool:
    return name[:1].isdigit() or name.lower() in table().no_names


def _is_none(name: str) -> bool:
    known = table()
    return name.lower() in known.no_names or not known.products.isdisjoint(name.split())


class Authors:
    """The names of those who wrote a history, to be taken out of texts; they are written nowhere."""

    def __init__(self, names: Iterable[str]) -> None:
        self._by_first: dict[str, list[str]] = defaultdict(list)
        for name in sorted({" ".join(name.split()) for name in names}, key=lambda name: (-len(name), name)):
            words = name.split(" ")
            # One word may be any word of a language; several that all begin with capitals are a name.
            if (
                len(words) > 1
                and len(name) >= _SHORTEST
                and re.fullmatch(_PERSON, name)
                and not _is_none(name)
            ):
                self._by_first[_FIRST_WORD.match(name)[0]].append(name)  # type: ignore[index]

    def taken_from(self, text: str) -> str:
        """Return the text with ``<name>`` for each of the names."""
        kept: list[str] = []
        end = 0
        for found in _FIRST_WORD.finditer(text):
            start = found.start()
            for name in self._by_first.get(found.group(), ()) if start >= end else ():
                stop = start + len(name)
                if text.startswith(name, start) and not text[stop : stop + 1].isalnum():
                    kept += (text[end:start], NAME)
                    end = stop
                    break
        return "".join((*kept, text[end:])) if kept else text
