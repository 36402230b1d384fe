"""Contents of a repository at GitHub, without a clone: facts, commit, paths, README, single files."""

from __future__ import annotations

from typing import Any, Self
from urllib.parse import quote

from pydantic import Field, ValidationError

from caretbench.build.sources.github.client import GithubClient, UnavailableError
from caretbench.problem import Row


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
        except UnavailableError:
            return ""


def _unknown_form(error: Exception) -> UnavailableError:
    return UnavailableError(f"GitHub's description has an unknown form ({error!r})")
