"""Merged changes of a clone, newest first, from one streaming ``git log -p`` over the first parents.

A merge is one change against its first parent. Commits that git cannot read (missing blobs of a partial clone) are
skipped with the reason.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from caretbench.build.sources.changes.automated_changes import is_bot
from caretbench.build.sources.changes.commit_message import CommitMessage, parse_commit_message
from caretbench.build.sources.changes.name_redaction import AuthorNames
from caretbench.build.sources.git.git_repository import GitError, GitRepository
from caretbench.build.sources.git.patches import (
    GIT_SETTINGS,
    CommitDiff,
    PatchLimits,
    SkippedCommit,
    SkipReason,
    merge_type_changes,
    object_names_input,
    parse_file_diff,
    read_diffs,
    stream_lines,
)
from caretbench.build.sources.pull_request import PullRequest
from caretbench.build.sources.repository import RepositoryFacts
from caretbench.errors import DataError
from caretbench.files import sha256_text

_FORMAT = "%x00%H%x00%P%x00%an%x00%ae%x00%B%x00"
_FIELDS = 6
_DEFAULT_MERGE_PREFIX = "Merge "


@dataclass(frozen=True, slots=True)
class MergedBranch:
    """The last commit of a merged branch; ``message`` is set if it is the only commit."""

    is_bot: bool
    message: CommitMessage | None = None

    def complete_message(self, merge: CommitMessage) -> CommitMessage:
        """Return the merge's message, completed by the message of the branch's only commit."""
        message = self.message
        if message is None or merge.description:
            return merge
        named = merge.format_name is not None or not merge.title.startswith(_DEFAULT_MERGE_PREFIX)
        return replace(
            merge,
            title=merge.title if named else message.title,
            description=message.description,
            trailers_removed=merge.trailers_removed + message.trailers_removed,
        )


def read_merged_branches(repository: GitRepository, heads: Sequence[str], history: Set[str]) -> dict[str, MergedBranch]:
    """Return the branches by the hash of their last commit; unreadable ones are missing.

    ``history`` is the first-parent history: the parent of a branch's only commit is in it.
    """
    branches: dict[str, MergedBranch] = {}
    for sha, parents, name, email, text in _read_commits(repository, heads) if heads else ():
        # A branch of several commits has no message of its own; only the author of the last one is used.
        alone = parents in history  # a single parent, in the history
        branches[sha] = MergedBranch(is_bot(name, email), parse_commit_message(text, 1) if alone else None)
    return branches


def read_author_names(repository: GitRepository) -> Iterator[str]:
    """Yield author names of the whole history, up to the first damaged commit."""
    last = b""
    arguments = ("log", "--format=%an", "--encoding=UTF-8", "--no-show-signature", repository.head)
    try:
        for name in stream_lines(repository.stream(*GIT_SETTINGS, *arguments)):
            if name != last:
                yield name.decode("utf-8", "replace")
            last = name
    except GitError:
        return


def _read_commits(repository: GitRepository, shas: Sequence[str]) -> Iterator[list[str]]:
    """Yield the format's fields of each commit that exists."""
    arguments = ("log", "--no-walk=unsorted", "--stdin", "--ignore-missing", "--encoding=UTF-8")
    rest = b""
    try:
        for chunk in repository.stream(
            *GIT_SETTINGS, *arguments, f"--format={_FORMAT}", "--no-show-signature", stdin=object_names_input(shas)
        ):
            *fields, rest = (rest + chunk).split(b"\0")
            whole = len(fields) // _FIELDS * _FIELDS
            # NULs separate the fields, as messages contain any other character.
            for start in range(0, whole, _FIELDS):  # the first field is the end of the previous line
                yield [field.decode("utf-8", "replace") for field in fields[start + 1 : start + _FIELDS]]
            rest = b"\0".join((*fields[whole:], rest))
    except GitError:
        return


TOO_MANY_FILES = "too_many_files"


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of the first-parent history: hash, commit time (Unix time) and parents, the base first.

    ``error``: git's message if the commit is damaged.
    """

    sha: str
    time: int
    parents: tuple[str, ...]
    error: str = ""


def parse_time(text: str) -> datetime:
    """Return an ISO 8601 date (as its midnight) or date and time; in UTC if it has no offset.

    Raises:
        DataError: the text is neither.
    """
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError:
        raise DataError(f"{text!r} is no date (2026-01-31) and no time (2026-01-31T12:00:00Z)") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def list_commits(repository: GitRepository) -> list[Commit]:
    """Return the first-parent history, newest first; a damaged commit ends it, and is its last element.

    Raises:
        DataError: no commit can be read.
    """
    arguments = ("log", "--first-parent", "--format=%H %ct %P", "--no-show-signature", repository.head)
    commits: list[Commit] = []
    try:
        for line in stream_lines(repository.stream(*GIT_SETTINGS, *arguments)):
            sha, time, *parents = line.decode("ascii", "replace").split()
            commits.append(Commit(sha, int(time), tuple(parents)))
    except GitError as error:
        if not commits or not commits[-1].parents:
            raise DataError(f"{repository.path}: the history cannot be read ({error})") from None
        # A damaged object in an old commit costs the history before it, not the newer part.
        commits.append(Commit(commits[-1].parents[0], commits[-1].time, (), str(error)))
    return commits


def parse_period(since: str | None, until: str | None) -> tuple[datetime | None, datetime | None]:
    """Return the start and the end of a period, as :func:`parse_time` parses them.

    Raises:
        DataError: one is no date, or the end is not after the start.
    """
    first, end = (parse_time(text) if text else None for text in (since, until))
    if first and end and first >= end:
        raise DataError(f"nothing was merged from {since} on and before {until}: the end is not after the beginning")
    return first, end


def commits_in_period(commits: Sequence[Commit], since: str | None = None, until: str | None = None) -> list[Commit]:
    """Return the commits that were merged at ``since`` or later and before ``until``, in their order.

    All commits are checked: times of a first-parent history need not descend.
    """
    begin = parse_time(since).timestamp() if since else float("-inf")
    end = parse_time(until).timestamp() if until else float("inf")
    return [commit for commit in commits if begin <= commit.time < end]


def read_changes(
    repository: GitRepository,
    facts: RepositoryFacts,
    commits: Sequence[Commit],
    limits: PatchLimits | None = None,
    history: Sequence[Commit] | None = None,
) -> Generator[PullRequest | SkippedCommit]:
    """Yield a record, or the reason why there is none, for each commit in order (a root commit last).

    ``history`` is the whole first-parent history if ``commits`` is a part of it.
    """
    readable = [commit.sha for commit in commits if commit.parents]
    heads = [commit.parents[1] for commit in commits if len(commit.parents) > 1]
    # Once for all commits: a `git log` for each merge would cost a start of git per pull request.
    branches = read_merged_branches(repository, heads, {commit.sha for commit in history or commits})
    authors = AuthorNames(read_author_names(repository) if readable else ())
    for diff in read_diffs(repository, readable, limits or PatchLimits()):
        yield diff if isinstance(diff, SkippedCommit) else _make_record(diff, facts, branches, authors)
    for commit in commits:  # at most one, the last of the history
        if not commit.parents:
            yield SkippedCommit(sha=commit.sha, reason=_skip_reason(commit, repository), detail=commit.error)


def _skip_reason(commit: Commit, repository: GitRepository) -> SkipReason:
    if commit.error:
        return "unreadable"
    return "shallow_boundary" if commit.sha in repository.shallow_commits else "root"


def _make_record(
    diff: CommitDiff, facts: RepositoryFacts, branches: Mapping[str, MergedBranch], authors: AuthorNames
) -> PullRequest | SkippedCommit:
    sha, parents, committed, authored, name, email, text = (field.decode("utf-8", "replace") for field in diff.fields)
    before = parents.split()
    head = before[1] if len(before) > 1 else None
    if not diff.files:
        return SkippedCommit(sha=sha, reason="no_changes")
    branch = branches.get(head or "", MergedBranch(is_bot(name, email)))
    message = branch.complete_message(parse_commit_message(text, len(before)))
    files = [parse_file_diff(file) for file in diff.files]
    shown = [
        (file, change)
        for file, change in zip(diff.files, files, strict=True)
        if file.lines and (change.patch or change.truncated)
    ]
    return PullRequest(
        repo=facts.repo,
        number=message.number,
        kind=message.kind,
        source="git",
        title=authors.redact(message.title),
        description=authors.redact(message.description),
        description_raw_sha256=sha256_text(text),
        trailers_removed=message.trailers_removed,
        is_bot=branch.is_bot,
        base_sha=before[0],
        merge_sha=sha,
        head_sha=head,
        merged_at=format_utc(committed),
        authored_at=format_utc(authored),
        url=facts.change_url(message.number, sha),
        license=facts.license,
        language_stats=facts.language_stats,
        files=merge_type_changes(files),
        # As the suite renders the patch: path, hunks and separator of each file (three dashes, two newlines).
        patch_lines=sum(file.lines + 2 for file, _ in shown),
        patch_chars=sum(file.characters + len(change.path) + 6 for file, change in shown),
        reject_reasons=(TOO_MANY_FILES,) if diff.excluded_file_count else (),
    )


def format_utc(seconds: str | int) -> str:
    """Return Unix time as an ISO 8601 text in UTC; the epoch for years that have no date."""
    try:
        return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    # Commits with times beyond the year 9999 exist: git stores any number.
    except (ValueError, OverflowError, OSError):
        return "1970-01-01T00:00:00Z"
