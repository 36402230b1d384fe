"""Cluster and provenance of a change's problems, and rejected changes."""

from __future__ import annotations

from caretbench.build.sources.pull_request import PullRequest
from caretbench.problem import Label, Provenance, Row
from caretbench.suites.efcb.patch_rendering import RenderedPatch
from caretbench.suites.efcb.problem_metadata import patch_labels


class RejectedChange(Row):
    """A change without a problem in a task (and tier), with the reason."""

    task: str
    tier: str = ""
    repo: str
    merge_sha: str
    reason: str

    @classmethod
    def from_pull_request(cls, pull: PullRequest, task: str, reason: str, tier: str = "") -> RejectedChange:
        """Return the rejection of a change."""
        return cls(task=task, tier=tier, repo=pull.repo, merge_sha=pull.merge_sha, reason=reason)


def cluster_id(pull: PullRequest) -> str:
    """Return ``repo@merge_sha``, the cluster of all problems that are made from one change."""
    return f"{pull.repo}@{pull.merge_sha}"


def common_labels(pull: PullRequest, rendered: RenderedPatch, task: str, tier: str) -> dict[str, Label]:
    """Return the labels of every task: ``task``, ``tier`` (if any), ``repository``, ``language``, sizes."""
    return patch_labels(pull.repo, rendered, task, tier)


def change_provenance(pull: PullRequest) -> Provenance:
    """Return repository, merge commit, licence and time of the merge."""
    return Provenance(source=pull.repo, revision=pull.merge_sha, licence=pull.license, date=pull.merged_at)
