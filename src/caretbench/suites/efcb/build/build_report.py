"""Report of a finished build: accepted and rejected changes, problems, missing questions, leaks."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from caretbench.build.sources.pull_request import PullRequest
from caretbench.build.sources.repository import RepositoryFacts
from caretbench.grouping import grouped
from caretbench.problem import Row
from caretbench.suites.efcb.build.build_folder import EfcbManifest
from caretbench.suites.efcb.build.changes import FILTER_TASK, cluster_id
from caretbench.suites.efcb.build.problem_building import BuiltProblems, task_and_tier
from caretbench.suites.efcb.built_folder import MAX_STANDARD_ERRORS, Leak
from caretbench.suites.efcb.problem_metadata import TASK_TITLES
from caretbench.suites.efcb.tables.score_basis import NO_VALUE
from caretbench.suites.suite_types import BuildResult, Table
from caretbench.text_tables import align_columns

_Part = tuple[str, str, str]
"""Task, tier and query."""


FEW_SHARE: Final = 0.25
"""Minimum share of a repository's accepted changes with questions; below it, a shortfall is reported."""
MAX_REASONS: Final = 3
"""Maximum number of reasons that a line names."""
UNDESCRIBED_SHARE: Final = 0.1
"""Minimum share of a repository's changes without a description for which a remedy is printed."""

_GITHUB: Final = "github.com"
_NO_DESCRIPTION: Final = "no_description"


def build_result(
    manifest: EfcbManifest, built: BuiltProblems, output: Path, wall_s: float, notes: Sequence[str]
) -> BuildResult:
    """Return the result of a build of ``wall_s`` seconds; ``notes`` are messages of mining."""
    lines = (*_lines(manifest), *_shortfall_lines(built), *_leak_lines(built.leaks), _final_line(built, output))
    return BuildResult(lines, _numbers(manifest, built, wall_s), (*notes, *_exceeded(built)), built.usable)


def _numbers(manifest: EfcbManifest, built: BuiltProblems, wall_s: float) -> dict[str, JsonValue]:
    return {
        "changes": dict(manifest.changes),
        "accepted": dict(manifest.accepted),
        "yields": [row.model_dump(mode="json") for row in manifest.yields],
        "problems": dict(manifest.problems),
        "shortfalls": [row.model_dump(mode="json") for row in shortfalls(built)],
        "leaks": [
            leak.model_dump(mode="json", exclude={"schema_version"}) | {"exceeded": leak.exceeds_limit}
            for leak in built.leaks
        ],
        "fit": built.usable,
        "wall_s": round(wall_s, 1),
    }


def _lines(manifest: EfcbManifest) -> Iterator[str]:
    rows = [
        (repository, str(count), str(manifest.accepted.get(repository, 0)))
        for repository, count in manifest.changes.items()
    ]
    yield from align_columns(rows, ("repository", "changes", "accepted"))
    filters = [
        (y.repository, y.filter.replace("_", " "), str(y.failing), str(y.only), str(y.left))
        for y in manifest.yields
        if y.failing
    ]
    if filters:
        yield "\nChanges that the filters refuse:"
        yield from align_columns(filters, ("repository", "filter", "fail", "only this filter", "left"))
    yield ""
    yield from align_columns([(kind, str(count)) for kind, count in manifest.problems.items()], ("task", "problems"))


def _exceeded(built: BuiltProblems) -> Iterator[str]:
    if built.exceeded_limits:
        names = ", ".join(f"{leak.attack} in {leak.task} {leak.tier}".strip() for leak in built.exceeded_limits)
        yield f"above chance by more than 3 standard errors: {names}"
        if not built.options.rules.refuses_leaks:
            yield "the paper profile keeps such questions, for comparison with published results"


def _final_line(built: BuiltProblems, output: Path) -> str:
    if built.usable:
        return f"\n{output}: {len(built.problems)} problems; caretbench run efcb --data {shlex.quote(str(output))} -m …"
    if not built.filter_result.pulls:
        return f"\n{output}: no problems: no change passes every filter"
    if not built.problems:
        return f"\n{output}: no problems: no task could be made of the accepted changes; see rejected.jsonl"
    return f"\n{output}: no problems.jsonl; see candidates.jsonl and leaks.jsonl"


def _shortfall_lines(built: BuiltProblems) -> Iterator[str]:
    """Yield a line for each task with few questions of a repository, with the most frequent reasons."""
    rows = [
        (row.repository, row.task, f"{row.asked} of {row.accepted}", row.frequent_reasons) for row in shortfalls(built)
    ]
    if rows:
        yield "\nTasks with few questions (reasons: docs/reference/efcb.md; changes: rejected.jsonl):"
        yield from align_columns(rows, ("repository", "task", "changes asked about", "reasons of the others"))


def _leak_lines(leaks: Sequence[Leak]) -> Iterator[str]:
    """Yield a line for each attack, with a column for each tier; "!" marks exceeded limits."""
    parts = list(dict.fromkeys((leak.task, leak.tier, leak.query) for leak in leaks))
    if not parts:
        return
    yield "\nAccuracy of attacks without understanding (chance 0.250):"
    *above, last = _stacked_headings(parts)
    first, *others = [*(("", "", *words) for words in above), ("", "attack", *last)]
    yield from align_columns([*others, *_leak_rows(leaks, parts)], first)
    small = {(leak.task, leak.tier): leak.problems for leak in leaks if leak.has_too_few_questions}
    for part, count in small.items():
        yield f"{' '.join(part).strip()}: too small to test ({count}); its questions are unverified"


def _leak_rows(leaks: Sequence[Leak], parts: Sequence[_Part]) -> Iterator[tuple[str, ...]]:
    sizes = {(leak.task, leak.tier, leak.query): leak for leak in leaks}
    by_attack: dict[tuple[str, str], dict[_Part, str]] = {}
    for leak in leaks:
        row = by_attack.setdefault((leak.kind, leak.attack), {})
        row[leak.task, leak.tier, leak.query] = f"{leak.accuracy:.3f}{'!' if leak.exceeds_limit else ''}"
    yield "", "problems", *(str(sizes[part].problems) for part in parts)
    yield "", "standard error", *(f"{sizes[part].standard_error:.3f}" for part in parts)
    for (kind, attack), row in by_attack.items():
        yield kind, attack, *(row.get(part, "") for part in parts)


def _stacked_headings(parts: Sequence[_Part]) -> list[tuple[str, ...]]:
    """Return column headings as lines of one word each, to keep columns narrow."""
    # The query is a word of the heading only where a tier has two; the columns would not fit into a terminal otherwise.
    several = {part[:2] for part in parts if sum(part[:2] == other[:2] for other in parts) > 1}
    heads = [" ".join(part if part[:2] in several else part[:2]).replace("_", " ").split() for part in parts]
    height = max(map(len, heads))
    return list(zip(*([""] * (height - len(words)) + words for words in heads), strict=True))


class Shortfall(Row):
    """A task and tier with questions about few changes of a repository.

    ``asked`` of the ``accepted`` changes have a question; ``reasons`` counts the reasons of the others, most frequent
    first.
    """

    repository: str
    task: str
    asked: int
    accepted: int
    reasons: Mapping[str, int]

    @property
    def frequent_reasons(self) -> str:
        """Most frequent reasons for changes without a question, with counts: ``no_run 80, few_identifiers 4``."""
        shown = [f"{reason} {count}" for reason, count in self.reasons.items()]
        return ", ".join([*shown[:MAX_REASONS], *(["…"] if len(shown) > MAX_REASONS else [])])


def shortfalls(built: BuiltProblems) -> list[Shortfall]:
    """Return the tasks and tiers with few questions, by repository; repositories without accepted changes have none."""
    accepted = Counter(pull.repo for pull in built.filter_result.pulls)
    repositories = {cluster_id(pull): pull.repo for pull in built.filter_result.pulls}
    asked: dict[tuple[str, str], set[str]] = defaultdict(set)
    for problem in built.problems:
        asked[repositories[problem.cluster], task_and_tier(problem)].add(problem.cluster)
    reasons: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for reject in built.rejected:
        if reject.task != FILTER_TASK:
            reasons[reject.repo, f"{reject.task} {reject.tier}".strip()][reject.reason] += 1
    return [
        Shortfall(
            repository=repo, task=task, asked=len(asked[repo, task]), accepted=accepted[repo],
            reasons=dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))),
        )
        for (repo, task), counts in sorted(reasons.items())
        if len(asked[repo, task]) < FEW_SHARE * accepted[repo]
    ]  # fmt: skip


def missing_description_notes(
    built: BuiltProblems, pulls: Sequence[PullRequest], repositories: Sequence[RepositoryFacts]
) -> Iterator[str]:
    """Yield a line for each repository with many git changes that only lack a description."""
    failed = grouped(((one.repo, one.merge_sha), one.reason) for one in built.filter_result.rejected)
    # The description of a merged pull request is at GitHub, not in git: duckdb's 5,486 merge commits have its title
    # alone.
    alone = [pull for pull in pulls if failed.get(pull.key) == [_NO_DESCRIPTION] and pull.source == "git"]
    hosts = {facts.repo: facts.host for facts in repositories}
    totals = Counter(pull.repo for pull in pulls)
    for repo, count in sorted(Counter(pull.repo for pull in alone).items()):
        if count <= UNDESCRIBED_SHARE * totals[repo]:
            continue
        merged = sum(pull.repo == repo and pull.number is not None for pull in alone)
        line = f"{repo}: {count} of {totals[repo]} changes are rejected only for a missing description"
        if merged and hosts.get(repo) in (None, _GITHUB):
            name = repo if "/" in repo else "OWNER/NAME"
            line += f"; git histories lack those of {merged} pull requests: the source {name} reads them"
        yield line


def leak_tables(leaks: Sequence[Leak]) -> Iterator[Table]:
    """Yield the table of attacks by tier; nothing without multiple-choice questions."""
    parts = list(dict.fromkeys((leak.task, leak.tier, leak.query) for leak in leaks))
    if not parts:
        return
    by_part = {(leak.kind, leak.attack, (leak.task, leak.tier, leak.query)): leak for leak in leaks}
    attacks = dict.fromkeys((leak.kind, leak.attack) for leak in leaks)
    sizes = {(leak.task, leak.tier, leak.query): leak.problems for leak in leaks}
    heads = [" ".join(filter(None, (TASK_TITLES[task], tier, query.replace("_", " ")))) for task, tier, query in parts]
    rows = [
        (attack, kind, *(_format_leak(by_part.get((kind, attack, part))) for part in parts)) for kind, attack in attacks
    ]
    yield Table(
        "efcb-leaks",
        f"Leak report: accuracy without understanding (!: above chance by more than {MAX_STANDARD_ERRORS:g} "
        "standard errors)",
        ("Attack", "Kind", *heads),
        (("questions", "", *(str(sizes[part]) for part in parts)), *rows),
        ("A limit reads the choices alone; a floor reads the words of the question, too.",),
    )


def _format_leak(leak: Leak | None) -> str:
    return NO_VALUE if leak is None else f"{leak.accuracy:.3f}{'!' if leak.exceeds_limit else ''}"
