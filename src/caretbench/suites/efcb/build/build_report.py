"""Report of a finished build: accepted and rejected changes, problems, leaks."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from caretbench.build.sources.pull_request import PullRequest
from caretbench.build.sources.repository import RepositoryFacts
from caretbench.grouping import grouped
from caretbench.suites.efcb.build.build_folder import EfcbManifest
from caretbench.suites.efcb.build.problem_building import BuiltProblems
from caretbench.suites.efcb.problem_metadata import TASK_TITLES
from caretbench.suites.efcb.released_problems import MAX_STANDARD_ERRORS, Leak
from caretbench.suites.efcb.tables.choice_tables import NO_VALUE
from caretbench.suites.suite_types import BuildResult, Table
from caretbench.text_tables import align_columns

UNDESCRIBED_SHARE: Final = 0.1
"""Minimum share of a repository's changes without a description for which a remedy is printed."""

_GITHUB: Final = "github.com"
_NO_DESCRIPTION: Final = "no_description"


def build_result(
    manifest: EfcbManifest, built: BuiltProblems, output: Path, wall_s: float, notes: Sequence[str]
) -> BuildResult:
    """Return the result of a build of ``wall_s`` seconds; ``notes`` are messages of mining."""
    lines = (*_lines(manifest), *_leak_lines(built.leaks), _final_line(built, output))
    return BuildResult(lines, _numbers(manifest, built, wall_s), (*notes, *_exceeded(built)), built.usable)


def _numbers(manifest: EfcbManifest, built: BuiltProblems, wall_s: float) -> dict[str, JsonValue]:
    counts = manifest.model_dump(mode="json", include={"changes", "accepted", "problems", "rejected"})
    return {
        **counts,
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
    if manifest.rejected:
        yield "\nChanges without a question (reasons: docs/reference/efcb.md; changes: rejected.jsonl):"
        yield from align_columns(
            [(kind, str(count)) for kind, count in manifest.rejected.items()], ("reason", "changes")
        )
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


def _leak_lines(leaks: Sequence[Leak]) -> Iterator[str]:
    """Yield a line for each tier, with its best attacks; "!" marks exceeded limits."""
    by_part = grouped(((leak.task, leak.tier, leak.query), leak) for leak in leaks)
    if not by_part:
        return
    yield "\nBest attacks without understanding (chance 0.250; all attacks: leaks.jsonl):"
    rows = [
        (_part_title(part), str(own[0].problems), *(_best_attack(own, kind) for kind in ("limit", "floor")))
        for part, own in by_part.items()
    ]
    yield from align_columns(rows, ("questions", "number", "limit", "floor"))
    small = {(leak.task, leak.tier): leak.problems for leak in leaks if leak.has_too_few_questions}
    for part, count in small.items():
        yield f"{' '.join(part).strip()}: too small to test ({count}); its questions are unverified"


def _best_attack(leaks: Sequence[Leak], kind: str) -> str:
    best = max((leak for leak in leaks if leak.kind == kind), key=lambda leak: leak.accuracy)
    return f"{best.attack} {_format_leak(best)}"


def _part_title(part: tuple[str, str, str]) -> str:
    task, tier, query = part
    return " ".join(filter(None, (TASK_TITLES[task], tier, query.replace("_", " "))))


def missing_description_notes(
    built: BuiltProblems, pulls: Sequence[PullRequest], repositories: Sequence[RepositoryFacts]
) -> Iterator[str]:
    """Yield a line for each repository with many git changes that only lack a description."""
    failed = grouped(
        ((rejection.repo, rejection.merge_sha), rejection.reason) for rejection in built.filter_result.rejected
    )
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
    rows = [
        (attack, kind, *(_format_leak(by_part.get((kind, attack, part))) for part in parts)) for kind, attack in attacks
    ]
    yield Table(
        "efcb-leaks",
        f"Leak report: accuracy without understanding (!: above chance by more than {MAX_STANDARD_ERRORS:g} "
        "standard errors)",
        ("Attack", "Kind", *map(_part_title, parts)),
        (("questions", "", *(str(sizes[part]) for part in parts)), *rows),
        ("A limit reads the choices alone; a floor reads the words of the question, too.",),
    )


def _format_leak(leak: Leak | None) -> str:
    return NO_VALUE if leak is None else f"{leak.accuracy:.3f}{'!' if leak.exceeds_limit else ''}"
