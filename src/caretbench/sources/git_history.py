"""The merged changes of a clone, newest first: one streaming ``git log -p`` over the first parents.

A merge is one change, against its first parent. What git cannot read (blobs that a partial clone left out) is skipped
with its reason, and the rest is read.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from caretbench.errors import DataError
from caretbench.files import sha256_text
from caretbench.problem import Row
from caretbench.sources.bots import is_bot
from caretbench.sources.commit_message import read_message
from caretbench.sources.file_diff import file_change, with_changed_types
from caretbench.sources.git_access import GitError, GitRepository
from caretbench.sources.patch_stream import CommitDiff, Limits, read_commits
from caretbench.sources.pull_request import PullRequest
from caretbench.sources.repository import RepositoryFacts

SkipReason = Literal["root", "shallow_boundary", "unreadable", "no_changes"]
"""No parent; the parent is left out of a shallow clone; git cannot read it; nothing differs from the parent."""

TOO_MANY_FILES = "too_many_files"

_FORMAT = "%x00%H%x00%P%x00%ct%x00%at%x00%an%x00%ae%x00%B%x00"
_FIELDS = 7
_AUTHOR = "%H%x00%an%x00%ae"
_BATCH = 2000
# So many commits in a row that cannot be read: the history beyond is not there.
_HOPELESS = 50
_ABSENT = "absent: "
_NO_BLOB = (b"000000", b"160000")  # no file on this side; a linked repository
_SETTINGS = ("-c", "core.quotePath=false", "-c", "diff.renames=true", "-c", "core.bigFileThreshold=32m")
_LOG = (
    *_SETTINGS, "log", "--no-walk=unsorted", "--stdin", "--diff-merges=first-parent", "--no-color", "--no-ext-diff",
    "--no-textconv", "--no-notes", "--encoding=UTF-8",
)  # fmt: skip
_PATCHES = (*_LOG, "-p", "-M", "--src-prefix=a/", "--dst-prefix=b/", f"--format={_FORMAT}")
_RAW = (*_LOG, "--raw", "--no-renames", "--no-abbrev", "--format=%x00%H")


class SkippedCommit(Row):
    """A commit that gave no record."""

    sha: str
    reason: SkipReason
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of the first-parent history, when it was committed (Unix time), and its parents, the base first."""

    sha: str
    time: int
    parents: tuple[str, ...]


def moment(text: str) -> datetime:
    """A date (its midnight) or a moment in ISO 8601; without an offset it is in UTC.

    Raises:
        DataError: it is neither.
    """
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise DataError(f"{text!r} is no date (2026-01-31) and no moment (2026-01-31T12:00:00Z)") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def list_commits(repository: GitRepository) -> list[Commit]:
    """The first-parent history of the revision, newest first."""
    arguments = ("log", "--first-parent", "--format=%H %ct %P", "--no-show-signature", repository.head)
    lines = repository.run(*_SETTINGS, *arguments).decode("ascii", "replace").split("\n")
    parted = (line.split(" ", 2) for line in lines if line)
    return [Commit(sha, int(time), tuple(parents.split())) for sha, time, parents in parted]


def within(commits: Sequence[Commit], since: str | None = None, until: str | None = None) -> list[Commit]:
    """The commits that were merged at ``since`` or later and before ``until``, in their order.

    Every commit is looked at: times of a first-parent history need not descend.
    """
    begin = moment(since).timestamp() if since else float("-inf")
    end = moment(until).timestamp() if until else float("inf")
    return [commit for commit in commits if begin <= commit.time < end]


def read_changes(
    repository: GitRepository, facts: RepositoryFacts, commits: Sequence[Commit], limits: Limits | None = None
) -> Generator[PullRequest | SkippedCommit]:
    """A record, or the reason why there is none, for each of the commits, in their order (the first one of all last).

    Args:
        repository: The opened clone.
        facts: What each record says about its repository.
        commits: What to read, from :func:`list_commits`.
        limits: How much of a patch is kept.
    """
    readable = [commit.sha for commit in commits if commit.parents]
    bots = _bots(repository, [commit.parents[1] for commit in commits if len(commit.parents) > 1])
    for diff in read_diffs(repository, readable, limits or Limits()):
        yield diff if isinstance(diff, SkippedCommit) else _record(diff, facts, bots)
    for commit in commits:  # at most one: the end of the history
        if not commit.parents:
            ends = commit.sha in repository.shallow
            yield SkippedCommit(sha=commit.sha, reason="shallow_boundary" if ends else "root")


def read_diffs(
    repository: GitRepository, shas: Sequence[str], limits: Limits
) -> Iterator[CommitDiff | SkippedCommit]:
    """Each commit with its patch as git gives it, or why it cannot be read."""
    failed = 0
    for start in range(0, len(shas), _BATCH):
        for diff in _read_batch(repository, shas[start : start + _BATCH], limits):
            failed = (
                failed + 1 if isinstance(diff, SkippedCommit) and not diff.detail.startswith(_ABSENT) else 0
            )
            yield diff
            if failed == _HOPELESS:
                rest = shas[shas.index(diff.sha) + 1 :] if isinstance(diff, SkippedCommit) else ()
                detail = f"not tried: the {_HOPELESS} commits before it cannot be read"
                yield from (SkippedCommit(sha=sha, reason="unreadable", detail=detail) for sha in rest)
                return


def _read_batch(
    repository: GitRepository, shas: Sequence[str], limits: Limits
) -> Iterator[CommitDiff | SkippedCommit]:
    pending = list(shas)
    absent: dict[str, str] | None = None
    while pending:
        readable = [sha for sha in pending if sha not in (absent or {})]
        position = 0
        complaint: GitError | None = None
        try:
            for diff in _stream(repository, readable, limits):
                sha = diff.fields[0].decode("ascii")
                ahead = pending.index(sha, position)
                yield from (_unreadable(other, absent) for other in pending[position:ahead])
                yield diff
                position = ahead + 1
        except GitError as error:
            complaint = error
        pending = pending[position:]
        if complaint is None:
            yield from (_unreadable(other, absent) for other in pending)
            return
        if absent is None:
            absent = _absent(repository, pending)
            if absent:
                continue
        # No object is missing that a look at the trees could tell: try the next ones one by one.
        while pending:
            sha = pending.pop(0)
            one = _single(repository, sha, limits) if sha not in absent else _unreadable(sha, absent)
            yield one
            if isinstance(one, SkippedCommit) and sha not in absent:
                break


def _stream(repository: GitRepository, shas: Sequence[str], limits: Limits) -> Iterator[CommitDiff]:
    if shas:
        yield from read_commits(repository.stream(*_PATCHES, stdin=_lines(shas)), _FIELDS, limits)


def _single(repository: GitRepository, sha: str, limits: Limits) -> CommitDiff | SkippedCommit:
    try:
        return next(_stream(repository, [sha], limits))
    except GitError as error:
        return SkippedCommit(sha=sha, reason="unreadable", detail=str(error))
    except StopIteration:
        return SkippedCommit(sha=sha, reason="unreadable", detail="git shows nothing of it")


def _unreadable(sha: str, absent: dict[str, str] | None) -> SkippedCommit:
    return SkippedCommit(
        sha=sha, reason="unreadable", detail=(absent or {}).get(sha, "git shows nothing of it")
    )


def _absent(repository: GitRepository, shas: Sequence[str]) -> dict[str, str]:
    """The commits that touch a blob that is not there, with its name: a look at trees, not at contents."""
    touched: dict[str, list[str]] = {}
    current = ""
    try:
        for line in _split(repository.stream(*_RAW, stdin=_lines(shas))):
            if line.startswith(b"\0"):
                current = line[1:].decode("ascii")
            elif line.startswith(b":"):
                old_mode, new_mode, old, new, _ = line[1:].split(b" ", 4)
                for mode, blob in ((old_mode, old), (new_mode, new)):
                    if mode not in _NO_BLOB:
                        touched.setdefault(blob.decode("ascii"), []).append(current)
    except GitError:
        pass  # a tree is missing too: what was seen until then is of use
    said = repository.run("cat-file", "--batch-check=%(objectname)", "--buffer", stdin=_lines(list(touched)))
    missing = [line.split()[0].decode("ascii") for line in said.split(b"\n") if line.endswith(b" missing")]
    return {sha: f"{_ABSENT}blob {blob}" for blob in missing for sha in touched.get(blob, ())}


def _split(chunks: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines


def _lines(words: Sequence[str]) -> bytes:
    return "".join(f"{word}\n" for word in words).encode("ascii")


def _bots(repository: GitRepository, heads: Sequence[str]) -> dict[str, bool]:
    """Whether a program wrote the last commit of a merged branch; who merged it wrote the merge only."""
    arguments = ("log", "--no-walk=unsorted", "--stdin", "--ignore-missing", f"--format={_AUTHOR}")
    said = (
        repository.run(*_SETTINGS, *arguments, "--no-show-signature", stdin=_lines(heads)) if heads else b""
    )
    parted = (line.decode("utf-8", "replace").split("\0") for line in said.split(b"\n") if line)
    return {sha: is_bot(name, email) for sha, name, email in parted}


def _record(
    diff: CommitDiff, facts: RepositoryFacts, bots: Mapping[str, bool]
) -> PullRequest | SkippedCommit:
    sha, parents, committed, authored, name, email, text = (
        field.decode("utf-8", "replace") for field in diff.fields
    )
    before = parents.split()
    head = before[1] if len(before) > 1 else None
    if not diff.files:
        return SkippedCommit(sha=sha, reason="no_changes")
    message = read_message(text, len(before))
    files = [file_change(part) for part in diff.files]
    shown = [(part, change) for part, change in zip(diff.files, files, strict=True) if part.lines]
    return PullRequest(
        repo=facts.repo,
        number=message.number,
        kind=message.kind,
        source="git",
        title=message.title,
        description=message.description,
        description_raw_sha256=sha256_text(text),
        trailers_removed=message.trailers_removed,
        is_bot=bots.get(head or "", is_bot(name, email)),
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
