"""Crawl of GitHub for young repositories with stars, tests, a licence and light needs; its folder survives a stop."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import quote_plus

from pydantic import AwareDatetime, Field

from caretbench.build.sources.fetching.source_spec import SourceSpec
from caretbench.build.sources.github.client import GithubClient, UnavailableError
from caretbench.build.sources.github.repository_contents import (
    NEEDS_FILES,
    HostedRepository,
    RepositoryContents,
    RepositoryTree,
    heavy_needs,
)
from caretbench.errors import DataError
from caretbench.files import RowAppender, read_appended, read_document, write_document
from caretbench.languages import language as language_named
from caretbench.languages.path_languages import path_language
from caretbench.problem import SCHEMA_VERSION, Row
from caretbench.syntax.analysis import is_test_path

MAX_RESULTS: Final = 1000
"""Maximum number of results that GitHub shows of one search."""
_SECOND: Final = timedelta(seconds=1)


class RepositorySearch:
    """Search with a client; ``notify`` receives messages about results that GitHub does not show."""

    def __init__(self, client: GithubClient, notify: Callable[[str], None] = lambda _line: None) -> None:
        self._client = client
        self._note = notify

    def find(self, words: str, first: datetime, last: datetime) -> Iterator[Mapping[str, Any]]:
        """Yield each repository that was created from ``first`` to ``last`` (both included, in seconds), once.

        Within a part of the period those with the most stars come first; earlier parts come first.

        Args:
            words: The search in GitHub's notation, without ``created:``.
            first: Time of the earliest creation.
            last: Time of the latest creation.

        Raises:
            DataError: GitHub refuses the search or fails, or the response has an unknown form.
        """
        known: set[int] = set()
        # By time of creation, since it never changes; stars do while a crawl runs, and many repositories have the same.
        periods = [(_whole_seconds(first), _whole_seconds(last))]
        while periods:
            begin, end = periods.pop()
            for row in self._rows(words, begin, end, periods):
                try:
                    number = int(row["id"])
                except (KeyError, TypeError, ValueError) as error:
                    raise DataError(f"GitHub's search: a result has an unknown form ({error!r})") from None
                if number not in known:  # pages shift while they are read
                    known.add(number)
                    yield row

    def _rows(
        self, words: str, begin: datetime, end: datetime, periods: list[tuple[datetime, datetime]]
    ) -> Iterator[Mapping[str, Any]]:
        """Yield the results of a period; if there are too many, add its halves to ``periods`` instead."""
        created = f"created:{_time(begin)}..{_time(end)}"
        query = quote_plus(f"{words} {created}".strip())
        shown = 0
        try:
            for page in self._client.get_values(f"/search/repositories?q={query}&sort=stars&order=desc&per_page=100"):
                total, rows = int(page["total_count"]), page["items"]
                # Halved until each part fits; a second with more than 1,000 repositories cannot be halved.
                if not shown and total > MAX_RESULTS:
                    if end > begin:
                        middle = (begin + (end - begin) / 2).replace(microsecond=0)
                        periods += [(middle + _SECOND, end), (begin, middle)]
                        return
                    self._note(f"GitHub's search, {created}: {total} results, of which it shows {MAX_RESULTS}")
                if page.get("incomplete_results"):
                    self._note(f"GitHub's search, {created}: GitHub has not searched everything")
                yield from rows[: MAX_RESULTS - shown]
                shown += len(rows)
                if shown >= MAX_RESULTS:
                    return
        except UnavailableError as reason:
            raise DataError(f"GitHub's search refuses {words!r}: {reason}") from None
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(f"GitHub's search: the response has an unknown form ({error!r})") from None


def _whole_seconds(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(microsecond=0)


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


# Young repositories, since a model cannot have seen what was written after its training.
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
    """Require that :func:`~caretbench.build.sources.github.repository_contents.heavy_needs` finds no sign."""


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
    # Under both names: a renamed repository would be examined again at each resumption.
    names = {name for one in known for name in (one.named, one.repo)}
    accepted = sum(not one.reasons for one in known)
    since = months_before(until, settings.months)
    for language in settings.languages:
        if settings.limit is not None and accepted >= settings.limit:
            return
        # `archived:false` saves requests; `_refusals` asks again, since the search index lags behind.
        words = f'language:"{language_named(language).title}" stars:>{settings.more_stars_than} archived:false'
        for row in search.find(words, since, until):
            if str(row.get("full_name")) in names:
                continue
            found = _examine(contents, row, language, settings)
            # Two names in the search can lead to one repository.
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
    # Four months before 30 June is no 30 February.
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
        # The search index may be days old: licence, stars and archival are asked anew.
        facts = contents.facts(named)
        found = _with_facts(found, facts)
        if reasons := _refusals(facts, settings):
            return found.model_copy(update={"reasons": reasons})
        tree = contents.tree(facts)
        reasons = _refusals_of_tree(tree, language, settings)
        if not reasons and settings.light_needs:
            # Only listed files are asked for: a request that ends in 404 counts against the limit, too.
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


CRAWL_FILES: Final = ("crawl.json", "crawl.jsonl")


class CrawlManifest(Row):
    """Settings of a crawl, the latest time of creation that it looks for, and whether it is complete."""

    schema_version: Literal[1] = SCHEMA_VERSION
    settings: CrawlSettings
    until: AwareDatetime
    complete: bool = False


class StoredCrawl:
    """A crawl in a folder.

    Args:
        folder: The folder; created if missing.
        settings: The requirements; those of a crawl in the folder must be the same.
        now: The end of the period of a new crawl.

    Raises:
        DataError: the folder contains a crawl with other settings, or a damaged one.
    """

    def __init__(self, folder: Path, settings: CrawlSettings, now: datetime | None = None) -> None:
        self._manifest_path, self._rows_path = (folder / name for name in CRAWL_FILES)
        if self._manifest_path.exists():
            self._manifest = read_document(self._manifest_path, CrawlManifest)
            self._refuse_other(settings)
        else:
            self._manifest = CrawlManifest(settings=settings, until=now or datetime.now(UTC))
            folder.mkdir(parents=True, exist_ok=True)
            # Rows without their manifest belong to another period.
            self._rows_path.unlink(missing_ok=True)
            self._write()

    def repositories(
        self, client: Callable[[], GithubClient], notify: Callable[[str], None] = lambda _line: None
    ) -> Iterator[CrawledRepository]:
        """Yield each examined repository once: the stored ones, then further ones, which are stored.

        Args:
            client: Opens the client; not called for a complete crawl.
            notify: Receiver of messages about results that GitHub does not show.

        Raises:
            DataError: GitHub fails, or the client's request limit is reached; a later call goes on.
        """
        known = list(read_appended(self._rows_path, CrawledRepository))
        yield from known
        if self._manifest.complete:
            return
        with client() as asked, RowAppender(self._rows_path) as appender:
            for found in crawl(asked, self._manifest.settings, self._manifest.until, known=known, notify=notify):
                appender.append(found)
                yield found
        self._manifest = self._manifest.model_copy(update={"complete": True})
        self._write()

    def _refuse_other(self, settings: CrawlSettings) -> None:
        before, now = self._manifest.settings.model_dump(), settings.model_dump()
        changed = [name for name, value in now.items() if before[name] != value]
        if changed:
            raise DataError(
                f"{self._manifest_path}: a crawl with other settings ({', '.join(changed)} differ); give another "
                "folder, or remove this file"
            )

    def _write(self) -> None:
        write_document(self._manifest_path, self._manifest)
