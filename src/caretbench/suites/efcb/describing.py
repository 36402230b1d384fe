"""Descriptions of changes: cluster, labels and provenance of their problems, and those that were rejected."""

from __future__ import annotations

from collections import Counter
from typing import Final

from caretbench.problem import Label, Provenance, Row
from caretbench.sources.path_languages import path_language as any_language_of
from caretbench.sources.pull_request import PullRequest
from caretbench.suites.efcb.rendering import Rendered
from caretbench.syntax.source import language_of as house_language_of

SUITE: Final = "efcb"
OTHER: Final = "other"


class Rejected(Row):
    """A change of which a task (and a tier of it) has no problem; ``reason`` is one word of the task's."""

    task: str
    tier: str = ""
    repo: str
    merge_sha: str
    reason: str

    @classmethod
    def of(cls, pull: PullRequest, task: str, reason: str, tier: str = "") -> Rejected:
        """Return the change as rejected."""
        return cls(task=task, tier=tier, repo=pull.repo, merge_sha=pull.merge_sha, reason=reason)


def cluster(pull: PullRequest) -> str:
    """``repo@merge_sha``: the tasks that are made from one change are resampled together."""
    return f"{pull.repo}@{pull.merge_sha}"


def language_of(path: str) -> str:
    """The language of a file: the house's name where it has one, else that of the table of suffixes; else ``other``."""
    return house_language_of(path) or any_language_of(path) or OTHER


def main_language(rendered: Rendered) -> str:
    """The language with the most changed lines among the shown files; ``other`` where no file has a known one."""
    changed: Counter[str] = Counter()
    for file in rendered.files:
        changed[language_of(file.path)] += file.additions + file.deletions
    known = {name: lines for name, lines in changed.items() if name != OTHER}
    return min(known, key=lambda name: (-known[name], name), default=OTHER)


def common_labels(pull: PullRequest, rendered: Rendered, task: str, tier: str) -> dict[str, Label]:
    """The labels of every task: ``task``, ``tier`` (where there is one), ``repository``, ``language``, raw sizes."""
    labels: dict[str, Label] = {
        "task": task,
        "repository": pull.repo,
        "language": main_language(rendered),
        "patch_lines": float(rendered.lines),
        "patch_characters": float(rendered.characters),
        "files": float(len(rendered.files)),
    }
    return labels | ({"tier": tier} if tier else {})


def provenance(pull: PullRequest) -> Provenance:
    """Repository, merge commit, licence and the moment of the merge."""
    return Provenance(source=pull.repo, revision=pull.merge_sha, licence=pull.license, date=pull.merged_at)
