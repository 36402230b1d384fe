"""What no problem could be made of, and why."""

from __future__ import annotations

from caretbench.problem import Row
from caretbench.sources.pull_request import PullRequest


class Rejected(Row):
    """A change of which a task (and a tier of it) has no problem; ``reason`` is one word of the task's."""

    task: str
    tier: str = ""
    repo: str
    merge_sha: str
    reason: str

    @classmethod
    def of(cls, pull: PullRequest, task: str, reason: str, tier: str = "") -> Rejected:
        """The change as rejected."""
        return cls(task=task, tier=tier, repo=pull.repo, merge_sha=pull.merge_sha, reason=reason)
