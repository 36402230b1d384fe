"""The merged changes of a clone, newest first: one streaming ``git log -p`` over the first parents.

A merge is one change, against its first parent. What git cannot read (blobs that a partial clone left out) is skipped
with its reason, and the rest is read.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from caretbench.errors import DataError
from caretbench.files import sha256_text
from caretbench.sources.changes.bots import is_bot
from caretbench.sources.changes.commit_message import read_message
from caretbench.sources.changes.people import Authors
from caretbench.sources.git.access import GitError, GitRepository
from caretbench.sources.git.diffs import SETTINGS, SkippedCommit, SkipReason, read_diffs, split_lines
from caretbench.sources.git.file_diff import file_change, with_changed_types
from caretbench.sources.git.merged_branches import Branch, author_names, merged_branches
from caretbench.sources.git.patch_stream import CommitDiff, PatchLimits
from caretbench.sources.pull_request import PullRequest
from caretbench.sources.repository import RepositoryFacts

TOO_MANY_FILES = "too_many_files"


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of the first-parent history, when it was committed (Unix time), and its parents, the base first.

    ``damage``: why nothing is known of it but its name.
    """

    sha: str
    time: int
    parents: tuple[str, ...]
    damage: str = ""


def moment(text: str) -> datetime:
    """Return a date (its midnight) or a moment in ISO 8601; without an offset it is in UTC.

    Raises:
        DataError: it is neither.
    """
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise DataError(f"{text!r} is no date (2026-01-31) and no moment (2026-01-31T12:00:00Z)") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def list_commits(repository: GitRepository) -> list[Commit]:
    """Return the first-parent history of the revision, newest first; where a commit is damaged, it is the last one.

    Raises:
        DataError: nothing of it can be read.
    """
    arguments = ("log", "--first-parent", "--format=%H %ct %P", "--no-show-signature", repository.head)
    found: list[Commit] = []
    try:
        for line in split_lines(repository.stream(*SETTINGS, *arguments)):
            sha, time, *parents = line.decode("ascii", "replace").split()
            found.append(Commit(sha, int(time), tuple(parents)))
    except GitError as error:
        if not found or not found[-1].parents:
            raise DataError(f"{repository.path}: the history cannot be read ({error})") from None
        found.append(Commit(found[-1].parents[0], found[-1].time, (), str(error)))
    return found


def bounds(since: str | None, until: str | None) -> tuple[datetime | None, datetime | None]:
    """Return both ends of a time, as :func:`moment` reads them.

    Raises:
        DataError: one is no date, or nothing lies between them.
    """
    first, end = (moment(text) if text else None for text in (since, until))
    if first and end and first >= end:
        raise DataError(
            f"nothing was merged from {since} on and before {until}: the end is not after the beginning"
        )
    return first, end


def within(commits: Sequence[Commit], since: str | None = None, until: str | None = None) -> list[Commit]:
    """Return the commits that were merged at ``since`` or later and before ``until``, in their order.

    Every commit is looked at: times of a first-parent history need not descend.
    """
    begin = moment(since).timestamp() if since else float("-inf")
    end = moment(until).timestamp() if until else float("inf")
    return [commit for commit in commits if begin <= commit.time < end]


def read_changes(
    repository: GitRepository,
    facts: RepositoryFacts,
    commits: Sequence[Commit],
    limits: PatchLimits | None = None,
    history: Sequence[Commit] | None = None,
) -> Generator[PullRequest | SkippedCommit]:
    """A record, or the reason why there is none, for each of the commits, in their order (the first one of all last).

    ``history`` is the whole first-parent history, where ``commits`` are a part of it.
    """
    readable = [commit.sha for commit in commits if commit.parents]
    heads = [commit.parents[1] for commit in commits if len(commit.parents) > 1]
    branches = merged_branches(repository, heads, {commit.sha for commit in history or commits})
    authors = Authors(author_names(repository) if readable else ())
    for diff in read_diffs(repository, readable, limits or PatchLimits()):
        yield diff if isinstance(diff, SkippedCommit) else _record(diff, facts, branches, authors)
    for commit in commits:  # at most one: the end of the history
        if not commit.parents:
            yield SkippedCommit(sha=commit.sha, reason=_end(commit, repository), detail=commit.damage)


def _end(commit: Commit, repository: GitRepository) -> SkipReason:
    if commit.damage:
        return "unreadable"
    return "shallow_boundary" if commit.sha in repository.shallow else "root"


def _record(
    diff: CommitDiff, facts: RepositoryFacts, branches: Mapping[str, Branch], authors: Authors
) -> PullRequest | SkippedCommit:
    sha, parents, committed, authored, name, email, text = (
        field.decode("utf-8", "replace") for field in diff.fields
    )
    before = parents.split()
    head = before[1] if len(before) > 1 else None
    if not diff.files:
        return SkippedCommit(sha=sha, reason="no_changes")
    message = read_message(text, len(before))
    branch = branches.get(head or "", Branch(is_bot(name, email)))
    message = branch.told(message)
    files = [file_change(part) for part in diff.files]
    shown = [
        (part, change)
        for part, change in zip(diff.files, files, strict=True)
        if part.lines and (change.patch or change.truncated)
    ]
    return PullRequest(
        repo=facts.repo,
        number=message.number,
        kind=message.kind,
        source="git",
        title=authors.taken_from(message.title),
        description=authors.taken_from(message.description),
        description_raw_sha256=sha256_text(text),
        trailers_removed=message.trailers_removed,
        is_bot=branch.is_bot,
        base_sha=before[0],
        merge_sha=sha,
        head_sha=head,
        merged_at=utc_moment(committed),
        authored_at=utc_moment(authored),
        url=facts.change_url(message.number, sha),
        license=facts.license,
        language_stats=facts.language_stats,
        files=with_changed_types(files),
        # The patch as the suite renders it: per file its path, its hunks and a separator (three marks, two ends).
        patch_lines=sum(part.lines + 2 for part, _ in shown),
        patch_chars=sum(part.characters + len(change.path) + 6 for part, change in shown),
        reject_reasons=(TOO_MANY_FILES,) if diff.left_out else (),
    )


def utc_moment(seconds: str | int) -> str:
    """Unix time as records write it; a time beyond all calendars is the epoch."""
    try:
        return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return "1970-01-01T00:00:00Z"
