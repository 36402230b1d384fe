"""A small GitHub with a search for repositories, their trees, READMEs and files; at most 1,000 results of a search.

server = SearchServer([hosted("o/one", readme="# One"), hosted("o/two", stars=51)])
with server: ...
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from tests.support.github_server import GithubServer, Json

_SHOWN = 1000
_TIME = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True)
class Hosted:
    """A repository. ``listed`` is the name under which the search lists it, if that is an old one."""

    repo: str
    created: datetime
    stars: int = 100
    language: str = "Python"
    licence: str | None = "MIT"
    size_kb: int = 500
    fork: bool = False
    archived: bool = False
    listed: str = ""
    files: Mapping[str, str] = field(default_factory=lambda: {"lib.py": "", "tests/test_lib.py": ""})
    readme: str = "# A library\n"
    truncated: bool = False
    commit: str = ""
    """The newest commit; by default one that no repository has."""

    def row(self, number: int) -> Json:
        """Return the facts as GitHub shows them."""
        return {
            "id": number, "full_name": self.repo, "default_branch": "main", "stargazers_count": self.stars,
            "size": self.size_kb, "fork": self.fork, "archived": self.archived,
            "created_at": self.created.strftime(_TIME), "license": self.licence and {"spdx_id": self.licence},
        }  # fmt: skip


def hosted(repo: str, created: str = "2026-06-01T12:00:00Z", **changed: Any) -> Hosted:
    """Return a repository that meets all requirements but the changed ones."""
    return replace(Hosted(repo, datetime.strptime(created, _TIME).replace(tzinfo=UTC)), **changed)


class SearchServer(GithubServer):
    """See the module. ``incomplete`` marks all results as incomplete."""

    def __init__(self, repositories: Sequence[Hosted], *, page: int = 100) -> None:
        super().__init__("none/none", [], page=page)
        self.repositories = list(repositories)
        self.incomplete = False
        self.vanished: set[str] = set()
        """Repositories that the search lists and that are gone."""

    def answer(self, path: str, query: Mapping[str, str], accept: str) -> tuple[Any, bool] | None:
        """Return the content at a path, and whether another page follows."""
        if path == "/search/repositories":
            return self._search(query)
        found = re.fullmatch(r"/repos/([^/]+/[^/]+)(/.*)?", path) or re.fullmatch(r"/repositories/(\d+)(/.*)?", path)
        if found is None or found[1] in self.vanished:
            return None
        for number, one in enumerate(self.repositories):
            if found[1] in (one.repo, str(number)):
                value = self._content(one, number, found[2] or "", accept)
                return None if value is None else (value, False)
        return None

    def _search(self, query: Mapping[str, str]) -> tuple[Any, bool] | None:
        words = query["q"]
        begin, end = (
            datetime.strptime(text, _TIME).replace(tzinfo=UTC)
            for text in re.search(r"created:(\S+?)\.\.(\S+)", words).groups()  # type: ignore[union-attr]
        )
        language = re.search(r'language:"([^"]+)"', words)
        stars = re.search(r"stars:>(\d+)", words)
        rows = [
            one.row(number) | ({"full_name": one.listed} if one.listed else {})
            for number, one in enumerate(self.repositories)
            if begin <= one.created <= end
            and (language is None or one.language == language[1])
            and (stars is None or one.stars > int(stars[1]))
        ]
        rows.sort(key=lambda row: -row["stargazers_count"])
        page = int(query.get("page", "1"))
        if (page - 1) * self.page >= _SHOWN:
            return None  # GitHub refuses it
        shown, more = self._paged(rows[:_SHOWN], page)
        return {"total_count": len(rows), "incomplete_results": self.incomplete, "items": shown}, more

    def _content(self, one: Hosted, number: int, rest: str, accept: str) -> Any:
        commit = one.commit or f"{number:040x}"
        if rest == "":
            return one.row(number)
        if rest == "/commits/main":
            return {"sha": commit}
        if rest == f"/git/trees/{commit}":
            entries = [{"path": path, "type": "blob"} for path in one.files] + [{"path": "tests", "type": "tree"}]
            return {"sha": commit, "tree": entries, "truncated": one.truncated}
        if "raw" not in accept:
            return None
        if rest == "/readme":
            return one.readme or None
        return one.files.get(rest.removeprefix("/contents/"))
