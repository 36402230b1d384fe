"""Recognition of licence texts (``licences.toml``), and terms for passing texts on (``redistribution.toml``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, Self

from pydantic import TypeAdapter, model_validator

from caretbench.errors import UsageError
from caretbench.files import read_packaged_toml
from caretbench.problem import Row

# MIT, BSD and Apache differ in their first sentences; later text quotes other licences (NOTICE files, bundled code).
_BEGINNING = 800
_LICENCE_BYTES: Final = 1 << 18
# Copies of one licence differ in the kind of quotes, and in line breaks.
_QUOTES = re.compile("[\"'`\u201c\u201d\u2018\u2019]")
_FILE = re.compile(
    r"(?:un)?licen[cs]e(?:[-._].*)?|copying(?:[-._].*)?|(?:mit|bsd|apache)-licen[cs]e(?:\.\w+)?", re.IGNORECASE
)


class LicenceRule(Row):
    """One licence: its SPDX name and the words by which it is recognised."""

    name: str
    words_at_start: tuple[str, ...] = ()
    words_anywhere: tuple[str, ...] = ()
    words_absent: tuple[str, ...] = ()

    def matches(self, text: str) -> bool:
        """Return whether a normalised text is that of the licence."""
        beginning = text[:_BEGINNING]
        return (
            all(words in beginning for words in self.words_at_start)
            and all(words in text for words in self.words_anywhere)
            and not any(words in text for words in self.words_absent)
        )


@cache
def _licences() -> tuple[LicenceRule, ...]:
    table = read_packaged_toml("caretbench.build.sources", "licences.toml")
    return TypeAdapter(tuple[LicenceRule, ...]).validate_python(table["licence"])


def is_licence_file(name: str) -> bool:
    """Return whether a file name is that of a licence file."""
    return _FILE.fullmatch(name) is not None


def identify_licence(text: str) -> str | None:
    """Return the SPDX name of a licence text; None if no rule matches."""
    normal = re.sub(r"\s+", " ", _QUOTES.sub("", text)).strip().lower()
    return next((licence.name for licence in _licences() if licence.matches(normal)), None)


def repository_licence(files: Mapping[str, str]) -> str | None:
    """Return the licence in some files, or None; several are joined by ``OR`` in alphabetical order."""
    licences = {identify_licence(text) for name, text in files.items() if is_licence_file(name)} - {None}
    return " OR ".join(sorted(name for name in licences if name)) or None


def folder_licence(folder: Path) -> str | None:
    """Return the licence of a folder by the licence files directly in it."""
    files = [path for path in sorted(folder.iterdir()) if is_licence_file(path.name) and path.is_file()]
    return repository_licence(
        {path.name: path.read_bytes()[:_LICENCE_BYTES].decode("utf-8", "replace") for path in files}
    )


# `GPL-3.0-only` and `GPL-3.0-or-later` have the same terms for passing on.
_SUFFIX: Final = re.compile(r"(?:-only|-or-later|\+)$")
_EXCEPTION: Final = re.compile(r"-exception(?:-[\d.]+)?$", re.IGNORECASE)
"""Names of SPDX's exceptions, such as ``Classpath-exception-2.0``."""


class RedistributionRule(Row):
    """Terms of one licence for passing on, or the reason for which a set with such texts is not released."""

    terms: str | None = None
    refused: str | None = None
    permissive: bool = True

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.terms is None) == (self.refused is None):
            raise ValueError("expected either terms or refused")
        return self


class RedistributionError(UsageError):
    """Error: texts may not be passed on; the message is the reason."""


@cache
def redistribution_rules() -> Mapping[str, RedistributionRule]:
    """Return the rules of all known licences by SPDX name, in lower case."""
    table = read_packaged_toml("caretbench.build.sources", "redistribution.toml")
    rules = TypeAdapter(dict[str, RedistributionRule]).validate_python(table)
    return {spdx.lower(): rule for spdx, rule in rules.items()}


def _rule(name: str) -> RedistributionRule | None:
    return redistribution_rules().get(_SUFFIX.sub("", name).lower())


def redistribution_terms(expression: str) -> str:
    """Return the terms under which texts with this SPDX expression may be passed on.

    Of alternatives (``OR``) the first that may be passed on holds; of joined licences (``AND``, or a comma) all do.
    Brackets come first, then ``WITH``, ``AND``, ``OR`` (SPDX 2.3, annex D).

    Raises:
        RedistributionError: they may not be passed on, or the expression is malformed.
    """
    return "; ".join(dict.fromkeys(_Expression(expression).terms()))


def is_permissive(expression: str) -> bool:
    """Return whether all licences of an SPDX expression bind nothing but copies of the text, alternatives too.

    Licence files of one folder are read as alternatives, though one may be that of a part alone.
    """
    names = [name for name in re.findall(r"[^\s(),]+", expression) if name.upper() not in ("OR", "AND", "WITH")]
    rules = [_rule(name) for name in names if not _EXCEPTION.search(name)]
    return bool(rules) and all(rule is not None and rule.terms is not None and rule.permissive for rule in rules)


class _Expression:
    """Reader of an SPDX expression, which yields the terms of its parts."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = re.findall(r"[(),]|[^\s(),]+", text)

    def terms(self) -> list[str]:
        terms = self._alternatives()
        if isinstance(terms, RedistributionError):
            raise terms
        if self._tokens:
            raise self._unknown(self._text)
        return terms

    def _alternatives(self) -> list[str] | RedistributionError:
        alternatives = [self._joined()]
        while self._takes("OR"):
            alternatives.append(self._joined())
        allowed = next((terms for terms in alternatives if not isinstance(terms, RedistributionError)), None)
        return RedistributionError("; ".join(dict.fromkeys(map(str, alternatives)))) if allowed is None else allowed

    def _joined(self) -> list[str] | RedistributionError:
        licences = [self._licence()]
        while self._takes("AND") or self._takes(","):
            licences.append(self._licence())
        terms: list[str] = []
        for licence in licences:
            if isinstance(licence, RedistributionError):
                return licence
            terms += licence
        return terms

    def _licence(self) -> list[str] | RedistributionError:
        if self._takes("("):
            terms = self._alternatives()
            if not self._takes(")"):
                raise self._unknown(self._text)
            return terms
        if not self._tokens or self._tokens[0] in {")", ",", "OR", "AND", "WITH"}:
            raise self._unknown(self._text)
        name = self._tokens.pop(0)
        exception = self._tokens.pop(0) if self._takes("WITH") and self._tokens else ""
        try:
            return [_terms(name, exception)]
        # Kept as a value, not raised: another alternative of an `OR` may still be allowed.
        except RedistributionError as error:
            return error

    def _takes(self, token: str) -> bool:
        if self._tokens and self._tokens[0].upper() == token:
            del self._tokens[0]
            return True
        return False

    @staticmethod
    def _unknown(name: str) -> RedistributionError:
        return RedistributionError(f"the licence {name!r} is not known to allow passing on")


def _terms(name: str, exception: str) -> str:
    """Return the terms of one licence; an exception may only add a permission, as those of SPDX's list do."""
    rule = _rule(name)
    whole = f"{name} WITH {exception}" if exception else name
    # An unknown name is refused: a wrong permission cannot be taken back once a set is released.
    if rule is None or (exception and not _EXCEPTION.search(exception)):
        raise RedistributionError(f"the licence {whole!r} is not known to allow passing on")
    if rule.terms is None:
        raise RedistributionError(f"{whole}: {rule.refused}")
    return rule.terms
