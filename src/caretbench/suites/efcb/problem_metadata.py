"""Cluster, labels and provenance of problems; rejected changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from caretbench.problem import Label, Provenance, Row
from caretbench.sources.path_languages import path_language as any_language_of
from caretbench.sources.pull_request import PullRequest
from caretbench.suites.efcb.efcb_score import EASY_TASK, HARD_TASK
from caretbench.suites.efcb.patch_rendering import RenderedPatch
from caretbench.syntax.source import language_of as house_language_of

SUITE_NAME: Final = "efcb"
OTHER_LANGUAGE: Final = "other"
PART_WORDS: Final[Mapping[str, str]] = {
    EASY_TASK: "GMCQ-Easy:",
    HARD_TASK: "GMCQ-Hard: edits of one patch",
    "random": "random patches",
    "matched": "similar patches (matched)",
    "adversarial": "misleading words (adversarial)",
    "resistant": "useless words (resistant)",
    "title_and_description": "by title and description",
    "description_only": "by description only",
}
"""Words for the labels of the parts that are never averaged; joined, they are the title of a part."""


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


def file_language(path: str) -> str:
    """Return the language of a file, by suffix; ``other`` if it is unknown."""
    return house_language_of(path) or any_language_of(path) or OTHER_LANGUAGE


def main_language(rendered: RenderedPatch) -> str:
    """Return the language with the most changed lines in the shown files; ``other`` if none is known."""
    changed: Counter[str] = Counter()
    for file in rendered.files:
        changed[file_language(file.path)] += file.additions + file.deletions
    known = {name: lines for name, lines in changed.items() if name != OTHER_LANGUAGE}
    return min(known, key=lambda name: (-known[name], name), default=OTHER_LANGUAGE)


def common_labels(pull: PullRequest, rendered: RenderedPatch, task: str, tier: str) -> dict[str, Label]:
    """Return the labels of every task: ``task``, ``tier`` (if any), ``repository``, ``language``, sizes."""
    return patch_labels(pull.repo, rendered, task, tier)


def patch_labels(repository: str, rendered: RenderedPatch, task: str, tier: str) -> dict[str, Label]:
    """Return the labels of a problem about a rendered patch of a repository."""
    labels: dict[str, Label] = {
        "task": task,
        "repository": repository,
        "language": main_language(rendered),
        "patch_lines": float(rendered.lines),
        "patch_characters": float(rendered.characters),
        "files": float(len(rendered.files)),
    }
    return labels | ({"tier": tier} if tier else {})


def change_provenance(pull: PullRequest) -> Provenance:
    """Return repository, merge commit, licence and time of the merge."""
    return Provenance(source=pull.repo, revision=pull.merge_sha, licence=pull.license, date=pull.merged_at)
