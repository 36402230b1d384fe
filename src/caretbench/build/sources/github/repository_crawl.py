"""Crawl of GitHub for young repositories with stars, tests, a licence and light needs.

The defaults are those of section 3.1 of the paper of Codev-Bench: created in the last four months, over 50 stars.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from pydantic import Field

from caretbench.build.sources.fetching.source_spec import SourceSpec
from caretbench.build.sources.github.client import GithubClient, UnavailableError
from caretbench.build.sources.github.light_needs import NEEDS_FILES, heavy_needs
from caretbench.build.sources.github.repository_contents import HostedRepository, RepositoryContents, RepositoryTree
from caretbench.build.sources.github.repository_search import RepositorySearch
from caretbench.languages import language as language_named
from caretbench.languages.path_languages import path_language
from caretbench.problem import Row
from caretbench.syntax.analysis import is_test_path

MONTHS: Final = 4


class CrawlSettings(Row):
    """Requirements of a crawl."""

    months: int = Field(default=MONTHS, ge=1)
    """Maximum age of a repository."""
    languages: tuple[str, ...] = ("python",)
    """Main languages of repositories."""
    more_stars_than: int = Field(default=50, ge=0)
    max_size_kb: int = Field(default=100_000, ge=1)
    """Maximum size of a repository with its history, as GitHub states it."""
    limit: int | None = Field(default=None, ge=1)
    """Maximum number of accepted repositories; None: all."""
    with_tests: bool = True
    """Require a test file in the language."""
    with_licence: bool = True
    """Require a licence that GitHub recognises."""
    licences: tuple[str, ...] = ()
    """SPDX names of accepted licences; empty: any."""
    light_needs: bool = True
    """Require that :func:`~caretbench.build.sources.github.light_needs.heavy_needs` finds no sign."""


class CrawledRepository(Row):
    """A repository that the search named: accepted, or refused for ``reasons``.

    ``named`` is its name in the search; ``repo`` the present one, which differs for a renamed repository.
    """

    named: str
    repo: str
    language: str
    stars: int = 0
    created_at: str = ""
    commit: str | None = None
    licence: str | None = None
    reasons: tuple[str, ...] = ()

    def source(self) -> SourceSpec:
        """Return an accepted repository at its commit as a source.

        Raises:
            ValueError: it was refused.
        """
        if self.commit is None or self.reasons:
            raise ValueError(f"{self.repo} was refused: {'; '.join(self.reasons)}")
        text = f"{self.repo}@{self.commit}"
        return SourceSpec(text=text, kind="github", location=self.repo, revision=self.commit)


def crawl(
    client: GithubClient,
    settings: CrawlSettings,
    until: datetime,
    *,
    known: Collection[CrawledRepository] = (),
    notify: Callable[[str], None] = lambda _line: None,
) -> Iterator[CrawledRepository]:
    """Yield each examined repository once, until ``settings.limit`` are accepted.

    Args:
        client: The client of GitHub's API.
        settings: The requirements.
        until: Latest time of creation.
        known: Repositories that an earlier, interrupted crawl yielded; they are not examined again.
        notify: Receiver of messages about results that GitHub does not show.

    Raises:
        DataError: GitHub fails, or the request limit of the client is reached.
    """
    contents, search = RepositoryContents(client), RepositorySearch(client, notify)
    names = {name for one in known for name in (one.named, one.repo)}
    accepted = sum(not one.reasons for one in known)
    since = months_before(until, settings.months)
    for language in settings.languages:
        if settings.limit is not None and accepted >= settings.limit:
            return
        words = f'language:"{language_named(language).title}" stars:>{settings.more_stars_than} archived:false'
        for row in search.find(words, since, until):
            if str(row.get("full_name")) in names:
                continue
            found = _examine(contents, row, language, settings)
            if found.repo not in names:
                accepted += not found.reasons
                yield found
            names |= {found.named, found.repo}
            if settings.limit is not None and accepted >= settings.limit:
                return


def months_before(moment: datetime, months: int) -> datetime:
    """Return the time so many months earlier, in UTC, on the last day of the month if it is shorter."""
    moment = moment.astimezone(UTC)
    year, month = divmod(moment.year * 12 + moment.month - 1 - months, 12)
    for day in range(moment.day, 27, -1):
        try:
            return moment.replace(year=year, month=month + 1, day=day)
        except ValueError:
            continue
    return moment.replace(year=year, month=month + 1)


def _examine(
    contents: RepositoryContents, row: Mapping[str, Any], language: str, settings: CrawlSettings
) -> CrawledRepository:
    """Return a result of the search with the reasons to refuse it; the search itself may be out of date."""
    named = str(row.get("full_name"))
    found = CrawledRepository(named=named, repo=named, language=language)
    try:
        facts = HostedRepository.parse(row)
        found = _with_facts(found, facts)
        if reasons := _refusals(facts, settings):  # without a request
            return found.model_copy(update={"reasons": reasons})
        facts = contents.facts(named)
        found = _with_facts(found, facts)
        if reasons := _refusals(facts, settings):
            return found.model_copy(update={"reasons": reasons})
        tree = contents.tree(facts)
        reasons = _refusals_of_tree(tree, language, settings)
        if not reasons and settings.light_needs:
            names: list[str] = [name for name in NEEDS_FILES if name in tree.paths]
            needs = {name: contents.text(facts.repo, tree.commit, name) for name in names}
            reasons = heavy_needs(contents.readme(facts.repo, tree.commit), tree.paths, needs)
        return found.model_copy(update={"commit": tree.commit, "reasons": reasons})
    except UnavailableError as reason:
        return found.model_copy(update={"reasons": (str(reason),)})


def _with_facts(found: CrawledRepository, facts: HostedRepository) -> CrawledRepository:
    stated = {"repo": facts.repo, "stars": facts.stars, "created_at": facts.created_at, "licence": facts.licence}
    return found.model_copy(update=stated)


def _refusals(facts: HostedRepository, settings: CrawlSettings) -> tuple[str, ...]:
    """Return the requirements that the facts do not meet."""
    faults = {
        "a fork": facts.fork,
        "archived": facts.archived,
        f"{facts.stars} stars": facts.stars <= settings.more_stars_than,
        f"larger than {settings.max_size_kb:,} KB": facts.size_kb > settings.max_size_kb,
        "no licence that GitHub recognises": settings.with_licence and facts.licence is None,
        f"the licence {facts.licence}": bool(
            settings.licences and facts.licence is not None and facts.licence not in settings.licences
        ),
    }
    return tuple(reason for reason, holds in faults.items() if holds)


def _refusals_of_tree(tree: RepositoryTree, language: str, settings: CrawlSettings) -> tuple[str, ...]:
    """Return the requirements that the paths do not meet."""
    tests = (path for path in tree.paths if path_language(path) == language and is_test_path(path, language))
    if not settings.with_tests or any(tests):
        return ()
    part = "" if tree.complete else " among the files that GitHub lists"
    return (f"no test file in {language_named(language).title}{part}",)
