"""Output of ``caretbench build efcb``: tables of a finished build, and the same as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from caretbench.cli.common import aligned, note, say

if TYPE_CHECKING:
    from caretbench.suites.efcb.attacks.leaks import Leak
    from caretbench.suites.efcb.building import Built
    from caretbench.suites.efcb.output.folder import EfcbManifest


def numbers(manifest: EfcbManifest, built: Built, wall_s: float) -> dict[str, object]:
    """Return what ``--json`` prints."""
    from caretbench.suites.efcb.output.shortfalls import shortfalls

    return {
        "changes": dict(manifest.changes),
        "accepted": dict(manifest.accepted),
        "yields": [row.model_dump(mode="json") for row in manifest.yields],
        "problems": dict(manifest.problems),
        "shortfalls": [row.model_dump(mode="json") for row in shortfalls(built)],
        "leaks": [
            leak.model_dump(mode="json", exclude={"schema_version"}) | {"exceeded": leak.exceeded}
            for leak in built.leaks
        ],
        "fit": built.fit,
        "wall_s": round(wall_s, 1),
    }


def print_build(manifest: EfcbManifest, built: Built, output: Path) -> None:
    """Print what was read, what each filter refuses, which problems there are, and what gives answers away."""
    rows = [
        (repository, str(count), str(manifest.accepted.get(repository, 0)))
        for repository, count in manifest.changes.items()
    ]
    for line in aligned(rows, ("repository", "changes", "accepted")):
        say(line)
    filters = [
        (y.repository, y.filter.replace("_", " "), str(y.failing), str(y.only), str(y.left))
        for y in manifest.yields
        if y.failing
    ]
    if filters:
        say("\nChanges that the filters refuse:")
        for line in aligned(filters, ("repository", "filter", "fail", "only this filter", "left")):
            say(line)
    say()
    for line in aligned(
        [(kind, str(count)) for kind, count in manifest.problems.items()], ("task", "problems")
    ):
        say(line)
    _print_shortfalls(built)
    _print_leaks(built)
    if built.exceeded:
        names = ", ".join(f"{leak.attack} in {leak.task} {leak.tier}".strip() for leak in built.exceeded)
        note(f"beyond chance and 3 standard errors: {names}")
        if built.options.profile == "paper":
            note("the paper profile keeps such questions, to be compared with what was published")
    if built.fit:
        say(f"\n{output}: {len(built.problems)} problems; caretbench run efcb --data {output} -m …")
    elif not built.filtered.pulls:
        say(f"\n{output}: no problems: no change passes every filter")
    elif not built.problems:
        say(f"\n{output}: no problems: no task could be made of what passes; rejected.jsonl says why")
    else:
        say(f"\n{output}: no problems.jsonl; candidates.jsonl and leaks.jsonl show why")


def _print_shortfalls(built: Built) -> None:
    """Print a line for each task with few questions of a repository, with the most frequent reasons."""
    from caretbench.suites.efcb.output.shortfalls import shortfalls

    rows = [
        (row.repository, row.task, f"{row.asked} of {row.accepted}", row.frequent)
        for row in shortfalls(built)
    ]
    if not rows:
        return
    say("\nTasks with few questions (docs/efcb.md explains the reasons; rejected.jsonl names the changes):")
    for line in aligned(rows, ("repository", "task", "changes asked about", "reasons of the others")):
        say(line)


def _print_leaks(built: Built) -> None:
    """A line for each attack, a column for each tier; an exclamation mark where a hard limit is passed.

    Of the many features, those are printed that are highest somewhere; all of them are in the report's file.
    """
    parts = list(dict.fromkeys((leak.task, leak.tier, leak.query) for leak in built.leaks))
    if not parts:
        return
    several = {part[:2] for part in parts if sum(part[:2] == other[:2] for other in parts) > 1}
    heads = [" ".join(part if part[:2] in several else part[:2]).replace("_", " ").split() for part in parts]
    # A word a line, so that columns are narrow.
    height = max(map(len, heads))
    stacked = zip(*([""] * (height - len(words)) + words for words in heads), strict=True)
    sizes = {(leak.task, leak.tier, leak.query): leak for leak in built.leaks}
    found: dict[tuple[str, str], dict[tuple[str, str, str], str]] = {}
    high = _highest_features(built.leaks)
    for leak in built.leaks:
        if (
            leak.family == "feature"
            and leak.kind == "limit"
            and leak.attack not in high
            and not leak.exceeded
        ):
            continue
        mark = "!" if leak.exceeded else ""
        row = found.setdefault((leak.kind, leak.attack), {})
        row[leak.task, leak.tier, leak.query] = f"{leak.accuracy:.3f}{mark}"
    rows = [
        ("", "problems", *(str(sizes[part].problems) for part in parts)),
        ("", "standard error", *(f"{sizes[part].standard_error:.3f}" for part in parts)),
        *((kind, attack, *(row.get(part, "") for part in parts)) for (kind, attack), row in found.items()),
    ]
    say("\nWhat finds the right choice without understanding (chance 0.250):")
    *above, last = stacked
    first, *others = [*(("", "", *words) for words in above), ("", "attack", *last)]
    for line in aligned([*others, *rows], first):
        say(line)
    small = {(leak.task, leak.tier): leak.problems for leak in built.leaks if leak.too_small}
    for part, count in small.items():
        say(f"{' '.join(part).strip()}: too small to test ({count}); its questions are unverified")


def _highest_features(leaks: Sequence[Leak]) -> set[str]:
    """The feature that finds most in each tier."""
    best: dict[tuple[str, str, str], Leak] = {}
    for leak in leaks:
        if leak.family == "feature" and leak.kind == "limit":
            part = leak.task, leak.tier, leak.query
            if part not in best or leak.accuracy > best[part].accuracy:
                best[part] = leak
    return {leak.attack for leak in best.values()}
