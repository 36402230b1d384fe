"""Authors and descriptions of merged branches, from their last commits.

Who merges a branch writes the merge alone, and hosts leave the description out of it. Where a branch is one commit, its
message describes the whole change; hosts offer it as the pull request's description, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace

from caretbench.sources.changes.bots import is_bot
from caretbench.sources.changes.commit_message import CommitMessage, read_message
from caretbench.sources.git.access import GitError, GitRepository
from caretbench.sources.git.diffs import SETTINGS, as_lines, split_lines

_FORMAT = "%x00%H%x00%P%x00%an%x00%ae%x00%B%x00"
_FIELDS = 6
_BY_HAND = "Merge "


@dataclass(frozen=True, slots=True)
class Branch:
    """The last commit of a merged branch; its ``message`` where it is the only one."""

    is_bot: bool
    message: CommitMessage | None = None

    def told(self, merge: CommitMessage) -> CommitMessage:
        """What the merge says, and what it leaves out and its only commit says."""
        own = self.message
        if own is None or merge.description:
            return merge
        named = merge.style is not None or not merge.title.startswith(_BY_HAND)
        return replace(
            merge,
            title=merge.title if named else own.title,
            description=own.description,
            trailers_removed=merge.trailers_removed + own.trailers_removed,
        )


def merged_branches(repository: GitRepository, heads: Sequence[str], history: Set[str]) -> dict[str, Branch]:
    """Return the branches by their last commits; those that git cannot read are left out.

    ``history`` is the first-parent history: a branch of one commit begins there.
    """
    found: dict[str, Branch] = {}
    for sha, parents, name, email, text in _commits(repository, heads) if heads else ():
        alone = parents in history  # one parent, and of the history
        found[sha] = Branch(is_bot(name, email), read_message(text, 1) if alone else None)
    return found


def author_names(repository: GitRepository) -> Iterator[str]:
    """Who wrote the commits of the whole history; up to the first damaged one."""
    last = b""
    arguments = ("log", "--format=%an", "--encoding=UTF-8", "--no-show-signature", repository.head)
    try:
        for name in split_lines(repository.stream(*SETTINGS, *arguments)):
            if name != last:
                yield name.decode("utf-8", "replace")
            last = name
    except GitError:
        return


def _commits(repository: GitRepository, shas: Sequence[str]) -> Iterator[list[str]]:
    """Yield the fields of the format of each commit that is there."""
    arguments = ("log", "--no-walk=unsorted", "--stdin", "--ignore-missing", "--encoding=UTF-8")
    rest = b""
    try:
        for chunk in repository.stream(
            *SETTINGS, *arguments, f"--format={_FORMAT}", "--no-show-signature", stdin=as_lines(shas)
        ):
            *fields, rest = (rest + chunk).split(b"\0")
            whole = len(fields) // _FIELDS * _FIELDS
            for start in range(0, whole, _FIELDS):  # the first of them is the end of the line before
                yield [field.decode("utf-8", "replace") for field in fields[start + 1 : start + _FIELDS]]
            rest = b"\0".join((*fields[whole:], rest))
    except GitError:
        return
