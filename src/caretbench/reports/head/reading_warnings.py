"""Warnings that change how the numbers of a run are read, for the head of its report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from caretbench.profiles import PROFILES
from caretbench.reports.results.problem_lists import ExcludedProblems
from caretbench.reports.results.usage import ModelUsage
from caretbench.reports.summary import Summary

MIN_STOPPED = 0.2
"""Minimum share of answers stopped by the token limit that is worth a warning."""

_CAUSES = 3
"""Maximum number of causes in the warning about excluded problems."""


def reading_warnings(summary: Summary) -> Iterator[str]:
    """Yield the warnings about the whole run: not executed, scored as in a paper, excluded problems, token limit."""
    if summary.head is not None and any(part.measure.similarity for part in summary.head.parts):
        yield (
            "The programs were not run, so there is no pass rate: models are ranked by similarity to the reference. "
            "`caretbench score` without --no-execute runs them."
        )
    if summary.manifest.get("profile") == PROFILES[0]:
        yield (
            f"Scored under the profile {PROFILES[0]}: as the paper's released code scores, its mistakes included. "
            f"--profile {PROFILES[-1]} is the one to believe."
        )
    yield from _excluded(summary.excluded, str(summary.manifest.get("profile")), summary.problems)
    yield from _stopped(summary.usage)


def _excluded(excluded: Sequence[ExcludedProblems], profile: str, problems: int) -> Iterator[str]:
    found = [entry for entry in excluded if entry.profile == profile]
    if found:
        count = sum(len(entry.problems) for entry in found)
        yield f"{count} of {problems} problems are excluded from all rates: {_causes(found)}."


def _causes(found: Sequence[ExcludedProblems]) -> str:
    """Return the most frequent causes, without what they are about: ``missing dependency (9), no toolchain (2)``."""
    counts: Counter[str] = Counter()
    for entry in found:
        counts[entry.cause.partition(":")[0]] += len(entry.problems)
    shown = [f"{cause} ({count})" for cause, count in counts.most_common(_CAUSES)]
    more = len(counts) - len(shown)
    return ", ".join(shown) + (f" and {more} more {'cause' if more == 1 else 'causes'}" if more else "")


def _stopped(usage: Sequence[ModelUsage]) -> Iterator[str]:
    for entry in usage:
        if entry.stopped_by_length is not None and entry.stopped_by_length >= MIN_STOPPED:
            yield (
                f"{entry.title}: {entry.stopped_by_length:.0%} of the answers were stopped by the token limit, and may "
                "be cut off. --max-tokens raises it."
            )
