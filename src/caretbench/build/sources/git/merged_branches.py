"""Authors and descriptions of merged branches, from their last commits.

The author of a merge is not the author of the branch, and hosts leave the description out of the merge message. The
message of a branch's only commit describes the whole change; hosts suggest it as the pull request's description, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace

from caretbench.build.sources.changes.bots import is_bot
from caretbench.build.sources.changes.commit_message import CommitMessage, parse_commit_message
from caretbench.build.sources.git.diffs import GIT_SETTINGS, object_names_input, stream_lines
from caretbench.build.sources.git.git_repository import GitError, GitRepository

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
        own = self.message
        if own is None or merge.description:
            return merge
        named = merge.format_name is not None or not merge.title.startswith(_DEFAULT_MERGE_PREFIX)
        return replace(
            merge,
            title=merge.title if named else own.title,
            description=own.description,
            trailers_removed=merge.trailers_removed + own.trailers_removed,
        )


def read_merged_branches(repository: GitRepository, heads: Sequence[str], history: Set[str]) -> dict[str, MergedBranch]:
    """Return the branches by the hash of their last commit; unreadable ones are missing.

    ``history`` is the first-parent history: the parent of a branch's only commit is in it.
    """
    found: dict[str, MergedBranch] = {}
    for sha, parents, name, email, text in _read_commits(repository, heads) if heads else ():
        alone = parents in history  # a single parent, in the history
        found[sha] = MergedBranch(is_bot(name, email), parse_commit_message(text, 1) if alone else None)
    return found


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
            for start in range(0, whole, _FIELDS):  # the first field is the end of the previous line
                yield [field.decode("utf-8", "replace") for field in fields[start + 1 : start + _FIELDS]]
            rest = b"\0".join((*fields[whole:], rest))
    except GitError:
        return
