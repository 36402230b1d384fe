"""A crawl in a folder, which goes on after a stop: its settings and start (``crawl.json``), its rows (``crawl.jsonl``).

A finished crawl is read from the folder without a request, so that the same command gives the same sources.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from pydantic import AwareDatetime, ValidationError

from caretbench.build.sources.github.client import GithubClient
from caretbench.build.sources.github.repository_crawl import CrawledRepository, CrawlSettings, crawl
from caretbench.errors import DataError
from caretbench.files import RowAppender, describe_validation_error, read_rows, write_atomically
from caretbench.problem import SCHEMA_VERSION, Row

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
            self._manifest = self._read()
            self._refuse_other(settings)
        else:
            self._manifest = CrawlManifest(settings=settings, until=now or datetime.now(UTC))
            folder.mkdir(parents=True, exist_ok=True)
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
        known: list[CrawledRepository] = []
        if self._rows_path.exists():
            known = list(read_rows(self._rows_path, CrawledRepository, allow_partial_last_line=True))
        yield from known
        if self._manifest.complete:
            return
        with client() as asked, RowAppender(self._rows_path) as appender:
            for found in crawl(asked, self._manifest.settings, self._manifest.until, known=known, notify=notify):
                appender.append(found)
                yield found
        self._manifest = self._manifest.model_copy(update={"complete": True})
        self._write()

    def _read(self) -> CrawlManifest:
        try:
            return CrawlManifest.model_validate_json(self._manifest_path.read_bytes())
        except OSError as error:
            raise DataError(f"{self._manifest_path}: cannot be read ({error.strerror})") from None
        except ValidationError as error:
            raise DataError(f"{self._manifest_path}: {describe_validation_error(error)}") from None

    def _refuse_other(self, settings: CrawlSettings) -> None:
        before, now = self._manifest.settings.model_dump(), settings.model_dump()
        changed = [name for name, value in now.items() if before[name] != value]
        if changed:
            raise DataError(
                f"{self._manifest_path}: a crawl with other settings ({', '.join(changed)} differ); give another "
                "folder, or remove this file"
            )

    def _write(self) -> None:
        write_atomically(self._manifest_path, self._manifest.model_dump_json(indent=2) + "\n")
