"""Mining of a repository at GitHub into ``pull_requests.jsonl``: appends missing records and may be interrupted.

The file ``github_cursor.json`` next to it has the next page of the list, and pull requests without a record. An
interrupted run continues from there without repeating requests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from caretbench.build.sources.changes.automated_changes import is_bot
from caretbench.build.sources.changes.descriptions import redact_emails, remove_trailers
from caretbench.build.sources.changes.generated_files import has_generated_marker, is_generated
from caretbench.build.sources.git.history import parse_period, parse_time
from caretbench.build.sources.git.patches import PatchLimits, parse_file_diff, parse_log
from caretbench.build.sources.git_mining import WHOLE_HISTORY, MiningPeriod
from caretbench.build.sources.github.client import GithubClient, UnavailableError
from caretbench.build.sources.pull_request import FileChange, FileStatus, PullRequest, to_utc
from caretbench.build.sources.repository import RepositoryFacts
from caretbench.errors import DataError
from caretbench.files import RowAppender, read_lines, sha256_text, write_atomically

_STATUS: Final[Mapping[str, FileStatus]] = {
    "added": "added", "removed": "removed", "modified": "modified", "renamed": "renamed", "copied": "copied",
    "changed": "changed", "unchanged": "changed",
}  # fmt: skip


def parse_repository(value: Mapping[str, Any], languages: Mapping[str, int]) -> RepositoryFacts:
    """Return the facts of a repository; ``languages`` are sizes in bytes by GitHub's language names."""
    whole = sum(languages.values())
    licence = (value.get("license") or {}).get("spdx_id")
    shares = {name.lower(): round(size / whole, 4) for name, size in languages.items()} if whole else {}
    return RepositoryFacts(
        repo=str(value["full_name"]),
        source="api",
        host="github.com",
        primary_language=max(shares, key=lambda name: (shares[name], name), default=None),
        language_stats=shares,
        # NOASSERTION: GitHub has found a licence file and does not know it.
        license=None if licence in (None, "NOASSERTION") else str(licence),
    )


def parse_pull_request(
    value: Mapping[str, Any], files: Iterable[FileChange], facts: RepositoryFacts, *, too_many_files: bool = False
) -> PullRequest:
    """Return the record of a merged pull request.

    ``too_many_files``: the pull request has more than the 3,000 files that GitHub lists.

    Raises:
        KeyError, TypeError, ValueError: GitHub's response does not have the documented form.
    """
    # GitHub's web form sends carriage returns, git's clones do not; one text must have one hash.
    raw = str(value.get("body") or "").replace("\r\n", "\n")
    body, removed = remove_trailers(raw)
    user = value.get("user") or {}
    changes = tuple(sorted(files, key=lambda change: change.path))
    shown = [change for change in changes if change.patch]
    return PullRequest(
        repo=facts.repo,
        number=int(value["number"]),
        kind="pull",
        source="api",
        title=redact_emails(str(value["title"] or "").strip()[:300]),
        description=redact_emails(body.strip()),
        description_raw_sha256=sha256_text(raw),
        trailers_removed=removed,
        labels=tuple(sorted(str(label["name"]) for label in value.get("labels") or ())),
        is_bot=user.get("type") == "Bot" or is_bot(str(user.get("login") or "")),
        base_sha=str(value["base"]["sha"]),
        merge_sha=str(value["merge_commit_sha"]),
        head_sha=str(value["head"]["sha"]),
        created_at=str(value["created_at"]),
        merged_at=str(value["merged_at"]),
        url=str(value["html_url"]),
        license=facts.license,
        language_stats=facts.language_stats,
        files=changes,
        patch_lines=sum(change.patch.count("\n") + 3 for change in shown),
        patch_chars=sum(len(change.patch) + len(change.path) + 7 for change in shown),
        reject_reasons=("too_many_files",) if too_many_files else (),
    )


def parse_file(value: Mapping[str, Any], limits: PatchLimits) -> FileChange:
    """Return the record of one file; without hunks if GitHub has none (a binary or very long file).

    Raises:
        KeyError, TypeError, ValueError: GitHub's response does not have the documented form.
    """
    path, patch = str(value["filename"]), str(value.get("patch") or "")
    old = value.get("previous_filename")
    additions, deletions = int(value.get("additions") or 0), int(value.get("deletions") or 0)
    status = _STATUS[str(value["status"])]
    too_long = len(patch) > limits.max_file_bytes
    return FileChange(
        path=path,
        old_path=str(old) if old and old != path else None,
        status=status,
        # GitHub says nothing of binary files: they have no patch and no counted lines.
        binary=not patch and not additions and not deletions and status in ("added", "modified", "removed"),
        generated=is_generated(path) or has_generated_marker(patch),
        # GitHub leaves out patches of long files, but counts their lines.
        truncated=too_long or (not patch and bool(additions or deletions)),
        additions=additions,
        deletions=deletions,
        patch=patch[: max(0, patch.rfind("\n", 0, limits.max_file_bytes))] if too_long else patch,
    )


def parse_diff_files(text: str, limits: PatchLimits) -> dict[str, FileChange]:
    """Return the files of a whole diff by path; it contains hunks that the list of files lacks."""
    # The header that the parser of `git log` expects before a commit's patch.
    stream = b"\0diff\0\n\n" + text.encode("utf-8", "surrogateescape")
    changes = (parse_file_diff(file) for commit in parse_log([stream], 1, limits) for file in commit.files)
    return {change.path: change for change in changes}


_NAME: Final = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
MAX_FILES: Final = 3000
"""Maximum number of files that GitHub lists for a pull request."""
CURSOR_FILE: Final = "github_cursor.json"

ProgressCallback = Callable[[str, int, int | None], None]


def mine_github(
    repository: str,
    out_file: Path,
    period: MiningPeriod = WHOLE_HISTORY,
    *,
    max_requests: int | None = None,
    progress: ProgressCallback = lambda _step, _added, _total: None,
    notify: Callable[[str], None] = lambda _line: None,
    client: GithubClient | None = None,
) -> RepositoryFacts:
    """Append the merged pull requests of a repository's default branch to a file, newest first.

    ``notify`` is called with messages about skipped pull requests and waiting times.

    Raises:
        DataError: no such repository, too many requests, or GitHub failed; records that were written stay.
    """
    if not _NAME.fullmatch(repository):
        raise DataError(f"{repository!r} is no repository: expected owner/name")
    with client or GithubClient(max_requests=max_requests, notify=notify) as asked, RowAppender(out_file) as appender:
        try:
            value = asked.get_json(f"/repos/{repository}")
            facts = parse_repository(value, asked.get_json(f"/repos/{repository}/languages"))
            branch = str(value["default_branch"])
        except UnavailableError as reason:
            raise DataError(
                f"{repository}: no such repository at GitHub, or not readable with this token: {reason}"
            ) from None
        except DataError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{repository}: GitHub's response has an unknown form ({error!r})") from None
        return _GithubMining(asked, appender, out_file, facts, branch, progress, notify).mine(repository, period)


@dataclass
class _GithubMining:
    """Mining of one repository in one run."""

    _client: GithubClient
    _appender: RowAppender
    _out_file: Path
    _facts: RepositoryFacts
    _branch: str
    _report: ProgressCallback
    _note: Callable[[str], None]
    _limits: PatchLimits = field(default_factory=PatchLimits)

    def __post_init__(self) -> None:
        self._cursor_path = self._out_file.parent / CURSOR_FILE
        # A file may hold the records of several repositories.
        rows = (row for _, row in read_lines(self._out_file) if row.get("repo") == self._facts.repo)
        self._there = {str(row.get("merge_sha")) for row in rows}

    def mine(self, name: str, period: MiningPeriod) -> RepositoryFacts:
        first, end = parse_period(period.since, period.until)
        # With a start date, the list ends at the first pull request that was not updated since.
        order = "updated" if first else "created"
        path = f"/repos/{name}/pulls?state=closed&sort={order}&direction=desc&per_page=100"
        cursor = self._read_cursor(path)
        skipped: dict[str, str] = dict(cursor.get("skipped", {}))
        begin = int(cursor.get("page", 1))
        number = begin
        step = f"pull requests of {self._facts.repo}"
        for number, page in enumerate(self._client.get_pages(f"{path}&page={begin}"), start=begin):
            self._report(step, 0, None)
            for value in page:
                if period.limit is not None and len(self._there) >= period.limit:
                    self._write_cursor(path, number, skipped)
                    return self._facts
                if not self._is_pending(value, first, end) or str(value.get("number")) in skipped:
                    continue
                reason = self._append_record(name, value)
                if reason:
                    skipped[str(value.get("number"))] = reason
                    self._note(f"{self._facts.repo}#{value.get('number')}: skipped: {reason}")
                else:
                    self._report(step, 1, None)
            # After each page: an interrupted run goes on here, and asks for no page twice.
            self._write_cursor(path, number + 1, skipped)
            # A pull request merged in the period was updated since its merge.
            if first is not None and page and parse_time(str(page[-1].get("updated_at"))) < first:
                break
        self._write_cursor(path, 1, skipped)  # complete: the next run looks for new pull requests
        return self._facts

    def _is_pending(self, value: Mapping[str, Any], first: Any, end: Any) -> bool:
        merged, sha = value.get("merged_at"), value.get("merge_commit_sha")
        base = (value.get("base") or {}).get("ref")
        if not merged or not sha or base != self._branch or sha in self._there:
            return False
        at = parse_time(to_utc(str(merged)))
        return (first is None or at >= first) and (end is None or at < end)

    def _append_record(self, name: str, value: Mapping[str, Any]) -> str:
        """Append one record; return the reason if there is none, else the empty text."""
        try:
            listed = [
                parse_file(row, self._limits)
                for page in self._client.get_pages(f"/repos/{name}/pulls/{int(value['number'])}/files?per_page=100")
                for row in page
            ]
            files = self._complete_hunks(name, int(value["number"]), listed)
            record = parse_pull_request(value, files, self._facts, too_many_files=len(listed) >= MAX_FILES)
        except UnavailableError as reason:
            return str(reason)
        except DataError:  # a ValueError too, but not about this pull request
            raise
        except (KeyError, TypeError, ValueError) as error:
            return f"GitHub's response has an unknown form ({error!r})"[:300]
        self._appender.append(record)
        self._there.add(record.merge_sha)
        return ""

    def _complete_hunks(self, name: str, number: int, listed: list[FileChange]) -> list[FileChange]:
        """Return the files; hunks that the list lacks are from the whole diff if GitHub shows it."""
        if not any(change.truncated and not change.patch for change in listed):
            return listed
        try:
            whole = parse_diff_files(self._client.get_diff(f"/repos/{name}/pulls/{number}"), self._limits)
        except UnavailableError:
            return listed
        return [change if change.patch or not change.truncated else whole.get(change.path, change) for change in listed]

    # --- the cursor ---------------------------------------------------------------------------------------------

    def _read_cursors(self) -> dict[str, Any]:
        try:
            cursors = json.loads(self._cursor_path.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return cursors if isinstance(cursors, dict) else {}

    def _read_cursor(self, path: str) -> Mapping[str, Any]:
        cursor = self._read_cursors().get(path)
        return cursor if isinstance(cursor, dict) else {}

    def _write_cursor(self, path: str, page: int, skipped: Mapping[str, str]) -> None:
        cursors = self._read_cursors() | {path: {"page": page, "skipped": dict(skipped)}}
        write_atomically(self._cursor_path, json.dumps(cursors, indent=1) + "\n")
