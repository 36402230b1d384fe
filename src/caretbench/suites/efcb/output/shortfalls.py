"""Causes of missing questions: tasks with few questions of a repository, and descriptions that git does not know."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from caretbench.problem import Row
from caretbench.sources.pull_request import PullRequest
from caretbench.sources.repository import RepositoryFacts
from caretbench.suites.efcb.construction import BuiltQuestions, kind_of
from caretbench.suites.efcb.describing import cluster
from caretbench.suites.efcb.filtering import TASK

FEW: Final = 0.25
"""Share of a repository's accepted changes below which a task has few questions."""
SHOWN_REASONS: Final = 3
"""Maximum number of reasons that a line names."""
UNDESCRIBED: Final = 0.1
"""Share of a repository's changes from which on their missing descriptions are worth a remedy."""

_GITHUB: Final = "github.com"
_NO_DESCRIPTION: Final = "no_description"


class Shortfall(Row):
    """A task and tier that asks about few changes of a repository.

    ``asked`` of the ``accepted`` changes have a question; ``reasons`` counts why the others have none, the most
    frequent reason first.
    """

    repository: str
    task: str
    asked: int
    accepted: int
    reasons: Mapping[str, int]

    @property
    def frequent(self) -> str:
        """The most frequent reasons with their counts: ``no_run 80, few_identifiers 4``."""
        shown = [f"{reason} {count}" for reason, count in self.reasons.items()]
        return ", ".join([*shown[:SHOWN_REASONS], *(["…"] if len(shown) > SHOWN_REASONS else [])])


def shortfalls(built: BuiltQuestions) -> list[Shortfall]:
    """Return the tasks and tiers with few questions, by repository; one without any accepted change has none."""
    accepted = Counter(pull.repo for pull in built.filtered.pulls)
    repositories = {cluster(pull): pull.repo for pull in built.filtered.pulls}
    asked: dict[tuple[str, str], set[str]] = defaultdict(set)
    for problem in built.problems:
        asked[repositories[problem.cluster], kind_of(problem)].add(problem.cluster)
    reasons: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for one in built.rejected:
        if one.task != TASK:
            reasons[one.repo, f"{one.task} {one.tier}".strip()][one.reason] += 1
    return [
        Shortfall(
            repository=repo, task=task, asked=len(asked[repo, task]), accepted=accepted[repo],
            reasons=dict(sorted(found.items(), key=lambda entry: (-entry[1], entry[0]))),
        )
        for (repo, task), found in sorted(reasons.items())
        if len(asked[repo, task]) < FEW * accepted[repo]
    ]  # fmt: skip


def undescribed(
    built: BuiltQuestions, pulls: Sequence[PullRequest], repositories: Sequence[RepositoryFacts]
) -> Iterator[str]:
    """Yield a line for each repository of which the filter ``no_description`` alone refuses many changes from git.

    Args:
        built: The build.
        pulls: All changes that were read.
        repositories: What is known of where they come from.
    """
    failed: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in built.filtered.rejected:
        failed[one.repo, one.merge_sha].append(one.reason)
    alone = [pull for pull in pulls if failed.get(pull.key) == [_NO_DESCRIPTION] and pull.source == "git"]
    hosts = {facts.repo: facts.host for facts in repositories}
    totals = Counter(pull.repo for pull in pulls)
    for repo, count in sorted(Counter(pull.repo for pull in alone).items()):
        if count <= UNDESCRIBED * totals[repo]:
            continue
        merged = sum(pull.repo == repo and pull.number is not None for pull in alone)
        line = f"{repo}: {count} of {totals[repo]} changes are refused for a missing description alone"
        if merged and hosts.get(repo) in (None, _GITHUB):
            name = repo if "/" in repo else "OWNER/NAME"
            line += f"; git does not know that of {merged} pull requests: --github {name} reads it"
        yield line
