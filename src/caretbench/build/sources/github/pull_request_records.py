"""Conversion of GitHub's pull requests to records, without names of people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from caretbench.build.sources.changes.bots import is_bot
from caretbench.build.sources.changes.descriptions import redact_emails, remove_trailers
from caretbench.build.sources.changes.generated_files import has_generated_marker, is_generated
from caretbench.build.sources.git.file_diff import parse_file_diff
from caretbench.build.sources.git.patch_stream import PatchLimits, parse_log
from caretbench.build.sources.pull_request import FileChange, FileStatus, PullRequest
from caretbench.build.sources.repository import RepositoryFacts
from caretbench.files import sha256_text

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
        binary=not patch and not additions and not deletions and status in ("added", "modified", "removed"),
        generated=is_generated(path) or has_generated_marker(patch),
        truncated=too_long or (not patch and bool(additions or deletions)),
        additions=additions,
        deletions=deletions,
        patch=patch[: max(0, patch.rfind("\n", 0, limits.max_file_bytes))] if too_long else patch,
    )


def parse_diff_files(text: str, limits: PatchLimits) -> dict[str, FileChange]:
    """Return the files of a whole diff by path; it contains hunks that the list of files lacks."""
    stream = b"\0diff\0\n\n" + text.encode("utf-8", "surrogateescape")
    found = {}
    for commit in parse_log([stream], 1, limits):
        for part in commit.files:
            change = parse_file_diff(part)
            found[change.path] = change
    return found
