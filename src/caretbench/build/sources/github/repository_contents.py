"""Contents of a repository at GitHub, without a clone, and the heuristic for light needs (``light_needs.toml``)."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Any, Final, NamedTuple, Self
from urllib.parse import quote

from pydantic import Field, ValidationError

from caretbench.build.sources.github.client import GithubClient, UnavailableError
from caretbench.files import read_packaged_toml
from caretbench.problem import Row

NEEDS_FILES: Final = ("pyproject.toml", "requirements.txt", "package.json")
"""Files in the root from which packages are read."""
# The rules are regular expressions over texts of strangers; longer READMEs are lists, whose needs stand at the start.
_MAX_CHARACTERS: Final = 1 << 18
_REQUIREMENT: Final = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)")
_ADDRESS: Final = re.compile(r"\s*[A-Za-z+]+://")
# A negation ("no GPU needed") counts within its sentence or list entry only.
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
            # Poetry lists the interpreter itself among the packages.
            lines = [*(line for line in listed if isinstance(line, str)), *(set(poetry) - {"python"})]
        else:
            lines = text.splitlines()
    # Nested TOML or JSON of a stranger ends its parser in RecursionError.
    except (ValueError, RecursionError, TypeError):
        return NeededPackages()
    # An address of a package has no name that a list of large packages could contain.
    names = (_REQUIREMENT.match(line) for line in lines if not _ADDRESS.match(line))
    return NeededPackages(frozenset(re.sub(r"[-_.]+", "-", one[1]).lower() for one in names if one))


def _table(value: Any, name: str) -> Mapping[str, Any]:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


class HostedRepository(Row):
    """Facts about a repository; ``repo`` is its present name."""

    repo: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9_.-]+$")
    branch: str
    """Its default branch."""
    licence: str | None
    """SPDX name; None if GitHub recognises none."""
    stars: int
    size_kb: int
    archived: bool
    fork: bool
    created_at: str

    @classmethod
    def parse(cls, value: Any) -> Self:
        """Return the facts in a result of a search, or in the description of one repository.

        Raises:
            UnavailableError: they are not there.
        """
        try:
            licence = (value.get("license") or {}).get("spdx_id")
            return cls(
                repo=str(value["full_name"]),
                branch=str(value["default_branch"]),
                licence=None if licence in (None, "NOASSERTION") else str(licence),
                stars=int(value["stargazers_count"]),
                size_kb=int(value["size"]),
                archived=bool(value.get("archived")),
                fork=bool(value.get("fork")),
                created_at=str(value["created_at"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _unknown_form(error) from None


class RepositoryTree(Row):
    """The paths of a repository's files at a commit."""

    commit: str = Field(pattern=r"^[0-9a-f]{40,64}$")
    paths: tuple[str, ...]
    complete: bool
    """False if GitHub lists only a part of the paths."""


class RepositoryContents:
    """Contents of repositories, requested with a client.

    Its methods raise UnavailableError if GitHub does not have or show the object, and DataError if the request failed.
    """

    def __init__(self, client: GithubClient) -> None:
        self._client = client

    def facts(self, name: str) -> HostedRepository:
        """Return the facts about ``owner/name``; a renamed repository is found under its new name."""
        return HostedRepository.parse(self._client.get_json(f"/repos/{name}"))

    def tree(self, facts: HostedRepository) -> RepositoryTree:
        """Return the paths at the newest commit of the default branch."""
        branch = quote(facts.branch, safe="")
        newest: Any = self._client.get_json(f"/repos/{facts.repo}/commits/{branch}")
        try:
            commit = str(newest["sha"])
            tree: Any = self._client.get_json(f"/repos/{facts.repo}/git/trees/{commit}?recursive=1")
            return RepositoryTree(
                commit=commit,
                paths=tuple(str(entry["path"]) for entry in tree["tree"] if entry["type"] == "blob"),
                complete=not tree.get("truncated"),
            )
        except (KeyError, TypeError, AttributeError, ValidationError) as error:
            raise _unknown_form(error) from None

    def readme(self, repo: str, commit: str) -> str:
        """Return the README at a commit; empty if there is none."""
        return self._text(f"/repos/{repo}/readme?ref={commit}")

    def text(self, repo: str, commit: str, path: str) -> str:
        """Return the text of a file at a commit; empty if GitHub does not show it."""
        return self._text(f"/repos/{repo}/contents/{quote(path)}?ref={commit}")

    def _text(self, path: str) -> str:
        try:
            return self._client.get_text(path)
        # No README is no reason to refuse a repository.
        except UnavailableError:
            return ""


def _unknown_form(error: Exception) -> UnavailableError:
    return UnavailableError(f"GitHub's description has an unknown form ({error!r})")
