"""Heuristic for repositories whose tests run with packages of an index alone; its rules: ``light_needs.toml``.

A sign is a word of the README, a path, or a package that the project needs. It errs in both directions: a project that
only mentions a service is refused, and one that needs a service without a word is not.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from caretbench.files import read_packaged_toml

NEEDS_FILES: Final = ("pyproject.toml", "requirements.txt", "package.json")
"""Files in the root from which packages are read."""
_MAX_CHARACTERS: Final = 1 << 18
_REQUIREMENT: Final = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)")
_ADDRESS: Final = re.compile(r"\s*[A-Za-z+]+://")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n[ \t]*(?=[-*#|\r\n])")


class _Rules(NamedTuple):
    negations: re.Pattern[str]
    words: Mapping[str, re.Pattern[str]]
    paths: Mapping[str, re.Pattern[str]]
    texts: Mapping[str, re.Pattern[str]]
    packages: frozenset[str]
    max_packages: int


class NeededPackages(NamedTuple):
    """Names of packages that a file lists: those of the project itself, and those for its development."""

    own: frozenset[str] = frozenset()
    development: frozenset[str] = frozenset()


@cache
def _rules() -> _Rules:
    table = read_packaged_toml("caretbench.build.sources.github", "light_needs.toml")

    def patterns(name: str) -> dict[str, re.Pattern[str]]:
        return {need: re.compile(pattern, re.IGNORECASE) for need, pattern in table[name].items()}

    return _Rules(
        re.compile(table["negations"], re.IGNORECASE), patterns("words"), patterns("paths"), patterns("texts"),
        frozenset(table["packages"]["names"]), table["max_packages"],
    )  # fmt: skip


def heavy_needs(readme: str, paths: Collection[str], needs: Mapping[str, str]) -> tuple[str, ...]:
    """Return the signs of heavy needs, each with the word, path or package that it is; empty: none found.

    Args:
        readme: Text of the README.
        paths: Paths of the repository.
        needs: Texts of :data:`NEEDS_FILES` by name.
    """
    rules = _rules()
    found: dict[str, str] = {}
    for need, sign in (*_signs(readme[:_MAX_CHARACTERS], rules), *_signs_of_files(paths, needs, rules)):
        found.setdefault(need, sign)
    listed = [needed_packages(name, text) for name, text in needs.items()]
    own = frozenset().union(*(one.own for one in listed))
    heavy = sorted(own.union(*(one.development for one in listed)) & rules.packages)
    if heavy:
        found["large packages"] = ", ".join(heavy)
    if len(own) > rules.max_packages:
        found["many packages"] = str(len(own))
    return tuple(f"needs {need} ({sign})" for need, sign in found.items())


def _signs(readme: str, rules: _Rules) -> Iterator[tuple[str, str]]:
    for sentence in _SENTENCE.split(readme):
        for need, pattern in rules.words.items():
            hit = pattern.search(sentence)
            if hit and not rules.negations.search(sentence[: hit.start()]):
                yield need, f"README: {hit[0]}"


def _signs_of_files(paths: Collection[str], needs: Mapping[str, str], rules: _Rules) -> Iterator[tuple[str, str]]:
    for need, pattern in rules.paths.items():
        path = next((path for path in sorted(paths) if pattern.search(path)), None)
        if path is not None:
            yield need, path
    for name, text in needs.items():
        for need, pattern in rules.texts.items():
            hit = pattern.search(text[:_MAX_CHARACTERS])
            if hit:
                yield need, f"{name}: {hit[0]}"


def needed_packages(name: str, text: str) -> NeededPackages:
    """Return the packages that a file of :data:`NEEDS_FILES` lists; none if it is malformed."""
    try:
        if name == "package.json":
            table = json.loads(text)
            own, development = (
                frozenset(map(str.lower, _table(table, key))) for key in ("dependencies", "devDependencies")
            )
            return NeededPackages(own, development)
        if name == "pyproject.toml":
            table = tomllib.loads(text)
            listed = _table(table, "project").get("dependencies", [])
            poetry = _table(_table(_table(table, "tool"), "poetry"), "dependencies")
            lines = [*(line for line in listed if isinstance(line, str)), *(set(poetry) - {"python"})]
        else:
            lines = text.splitlines()
    except (ValueError, RecursionError, TypeError):
        return NeededPackages()
    names = (_REQUIREMENT.match(line) for line in lines if not _ADDRESS.match(line))
    return NeededPackages(frozenset(re.sub(r"[-_.]+", "-", one[1]).lower() for one in names if one))


def _table(value: Any, name: str) -> Mapping[str, Any]:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}
