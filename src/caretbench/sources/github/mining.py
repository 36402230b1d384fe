"""From a repository at GitHub to ``pull_requests.jsonl``: appends what is missing, and may be killed at any moment.

Beside the records stands ``github_cursor.json``: which page of the list comes next, and which pull requests gave no
record. A run that was stopped goes on there, and what it asked before is not asked again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from caretbench.errors import DataError
from caretbench.files import Appender, read_lines, write_atomically
from caretbench.sources.git.history import bounds, moment
from caretbench.sources.git.patch_stream import PatchLimits
from caretbench.sources.github.client import GithubClient, PassedOverError
from caretbench.sources.github.records import file_record, files_of_diff, pull_record, repository_record
from caretbench.sources.mining import WHOLE_HISTORY, Period
from caretbench.sources.pull_request import FileChange, in_utc
from caretbench.sources.repository import RepositoryFacts

_NAME: Final = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
MOST_FILES: Final = 3000
"""GitHub lists no more files of a pull request."""
CURSOR: Final = "github_cursor.json"

Report = Callable[[str, int, int | None], None]


def mine_github(
    name: str,
    out_file: Path,
    period: Period = WHOLE_HISTORY,
    *,
    max_requests: int | None = None,
    report: Report = lambda _step, _added, _total: None,
    note: Callable[[str], None] = lambda _line: None,
    client: GithubClient | None = None,
) -> RepositoryFacts:
    """Append the merged pull requests of a repository's default branch to a file, the newest first.

    ``report`` is told of progress, ``note`` what is passed over and why it waits.

    Raises:
        DataError: no such repository, no more requests, or GitHub cannot be asked; what was written stays.
    """
    if not _NAME.fullmatch(name):
        raise DataError(f"{name!r} is no repository: expected owner/name")
    with (
        client or GithubClient(max_requests=max_requests, note=note) as asked,
        Appender(out_file) as appender,
    ):
        try:
            value = asked.json(f"/repos/{name}")
            facts = repository_record(value, asked.json(f"/repos/{name}/languages"))
            branch = str(value["default_branch"])
        except PassedOverError as reason:
            raise DataError(f"{name}: no such repository at GitHub, or not shown to us: {reason}") from None
        except DataError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{name}: GitHub's answer is not understood ({error!r})") from None
        return _Mining(asked, appender, out_file, facts, branch, report, note).mine(name, period)


class _Mining:
    """One run over one repository."""

    def __init__(
        self,
        client: GithubClient,
        appender: Appender,
        out_file: Path,
        facts: RepositoryFacts,
        branch: str,
        report: Report,
        note: Callable[[str], None],
    ) -> None:
        self._client, self._appender, self._facts, self._branch = client, appender, facts, branch
        self._report, self._note = report, note
        self._limits = PatchLimits()
        self._cursor_path = out_file.parent / CURSOR
        rows = [row for _, row in read_lines(out_file) if row.get("repo") == facts.repo]
        self._there = {str(row.get("merge_sha")) for row in rows}

    def mine(self, name: str, period: Period) -> RepositoryFacts:
        first, end = bounds(period.since, period.until)
        order = (
            "updated" if first else "created"
        )  # with a first day, the list ends where nothing later was touched
        path = f"/repos/{name}/pulls?state=closed&sort={order}&direction=desc&per_page=100"
        cursor = self._cursor(path)
        skipped: dict[str, str] = dict(cursor.get("skipped", {}))
        begin = int(cursor.get("page", 1))
        number = begin
        step = f"pull requests of {self._facts.repo}"
        for number, page in enumerate(self._client.pages(f"{path}&page={begin}"), start=begin):
            self._report(step, 0, None)
            for value in page:
                if period.limit is not None and len(self._there) >= period.limit:
                    self._keep_cursor(path, number, skipped)
                    return self._facts
                if not self._wanted(value, first, end) or str(value.get("number")) in skipped:
                    continue
                reason = self._take(name, value)
                if reason:
                    skipped[str(value.get("number"))] = reason
                    self._note(f"{self._facts.repo}#{value.get('number')}: passed over: {reason}")
                else:
                    self._report(step, 1, None)
            self._keep_cursor(path, number + 1, skipped)
            if first is not None and page and moment(str(page[-1].get("updated_at"))) < first:
                break
        self._keep_cursor(path, 1, skipped)  # all was seen: the next run looks for what is new
        return self._facts

    def _wanted(self, value: Mapping[str, Any], first: Any, end: Any) -> bool:
        merged, sha = value.get("merged_at"), value.get("merge_commit_sha")
        base = (value.get("base") or {}).get("ref")
        if not merged or not sha or base != self._branch or sha in self._there:
            return False
        at = moment(in_utc(str(merged)))
        return (first is None or at >= first) and (end is None or at < end)

    def _take(self, name: str, value: Mapping[str, Any]) -> str:
        """Append one record; gives why there is none."""
        try:
            listed = [
                file_record(row, self._limits)
                for page in self._client.pages(
                    f"/repos/{name}/pulls/{int(value['number'])}/files?per_page=100"
                )
                for row in page
            ]
            files = self._completed(name, int(value["number"]), listed)
            record = pull_record(value, files, self._facts, left_out=len(listed) >= MOST_FILES)
        except PassedOverError as reason:
            return str(reason)
        except DataError:  # a ValueError too, but no fault of this pull request
            raise
        except (KeyError, TypeError, ValueError) as error:
            return f"GitHub's answer is not understood ({error!r})"[:300]
        self._appender.append(record)
        self._there.add(record.merge_sha)
        return ""

    def _completed(self, name: str, number: int, listed: list[FileChange]) -> list[FileChange]:
        """The files, with the hunks that the list leaves out taken from the whole diff, where GitHub shows it."""
        if not any(change.truncated and not change.patch for change in listed):
            return listed
        try:
            whole = files_of_diff(self._client.diff(f"/repos/{name}/pulls/{number}"), self._limits)
        except PassedOverError:
            return listed
        return [
            whole.get(change.path, change) if change.truncated and not change.patch else change
            for change in listed
        ]

    # --- the cursor ---------------------------------------------------------------------------------------------

    def _cursors(self) -> dict[str, Any]:
        try:
            found = json.loads(self._cursor_path.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _cursor(self, path: str) -> Mapping[str, Any]:
        found = self._cursors().get(path)
        return found if isinstance(found, dict) else {}

    def _keep_cursor(self, path: str, page: int, skipped: Mapping[str, str]) -> None:
        cursors = self._cursors() | {path: {"page": page, "skipped": dict(skipped)}}
        write_atomically(self._cursor_path, json.dumps(cursors, indent=1) + "\n")
