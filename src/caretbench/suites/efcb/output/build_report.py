"""Report of a finished build: what was read and refused, which problems there are, what gives answers away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import JsonValue

from caretbench.suites.efcb.attacks.leaks import Leak
from caretbench.suites.efcb.construction import BuiltQuestions
from caretbench.suites.efcb.output.folder import EfcbManifest
from caretbench.suites.efcb.output.shortfalls import shortfalls
from caretbench.suites.values import BuildResult
from caretbench.text_tables import aligned

_Part = tuple[str, str, str]
"""Task, tier and query."""


def build_result(
    manifest: EfcbManifest, built: BuiltQuestions, output: Path, wall_s: float, notes: Sequence[str]
) -> BuildResult:
    """Return what a build of ``wall_s`` seconds gave; ``notes`` are those that mining left."""
    lines = (*_lines(manifest), *_shortfall_lines(built), *_leak_lines(built.leaks), _last(built, output))
    return BuildResult(lines, _numbers(manifest, built, wall_s), (*notes, *_exceeded(built)), built.fit)


def _numbers(manifest: EfcbManifest, built: BuiltQuestions, wall_s: float) -> dict[str, JsonValue]:
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


def _lines(manifest: EfcbManifest) -> Iterator[str]:
    rows = [
        (repository, str(count), str(manifest.accepted.get(repository, 0)))
        for repository, count in manifest.changes.items()
    ]
    yield from aligned(rows, ("repository", "changes", "accepted"))
    filters = [
        (y.repository, y.filter.replace("_", " "), str(y.failing), str(y.only), str(y.left))
        for y in manifest.yields
        if y.failing
    ]
    if filters:
        yield "\nChanges that the filters refuse:"
        yield from aligned(filters, ("repository", "filter", "fail", "only this filter", "left"))
    yield ""
    yield from aligned(
        [(kind, str(count)) for kind, count in manifest.problems.items()], ("task", "problems")
    )


def _exceeded(built: BuiltQuestions) -> Iterator[str]:
    if built.exceeded:
        names = ", ".join(f"{leak.attack} in {leak.task} {leak.tier}".strip() for leak in built.exceeded)
        yield f"beyond chance and 3 standard errors: {names}"
        if not built.options.rules.leaks_refuse:
            yield "the paper profile keeps such questions, to be compared with what was published"


def _last(built: BuiltQuestions, output: Path) -> str:
    if built.fit:
        return f"\n{output}: {len(built.problems)} problems; caretbench run efcb --data {output} -m …"
    if not built.filtered.pulls:
        return f"\n{output}: no problems: no change passes every filter"
    if not built.problems:
        return f"\n{output}: no problems: no task could be made of what passes; rejected.jsonl says why"
    return f"\n{output}: no problems.jsonl; candidates.jsonl and leaks.jsonl show why"


def _shortfall_lines(built: BuiltQuestions) -> Iterator[str]:
    """Yield a line for each task with few questions of a repository, with the most frequent reasons."""
    rows = [
        (row.repository, row.task, f"{row.asked} of {row.accepted}", row.frequent)
        for row in shortfalls(built)
    ]
    if rows:
        yield "\nTasks with few questions (docs/efcb.md explains the reasons; rejected.jsonl names the changes):"
        yield from aligned(rows, ("repository", "task", "changes asked about", "reasons of the others"))


def _leak_lines(leaks: Sequence[Leak]) -> Iterator[str]:
    """Yield a line for each attack, a column for each tier; an exclamation mark where a hard limit is passed.

    Of the many features, those are printed that are highest somewhere; all of them are in the report's file.
    """
    parts = list(dict.fromkeys((leak.task, leak.tier, leak.query) for leak in leaks))
    if not parts:
        return
    yield "\nWhat finds the right choice without understanding (chance 0.250):"
    *above, last = _stacked_heads(parts)
    first, *others = [*(("", "", *words) for words in above), ("", "attack", *last)]
    yield from aligned([*others, *_leak_rows(leaks, parts)], first)
    small = {(leak.task, leak.tier): leak.problems for leak in leaks if leak.too_small}
    for part, count in small.items():
        yield f"{' '.join(part).strip()}: too small to test ({count}); its questions are unverified"


def _leak_rows(leaks: Sequence[Leak], parts: Sequence[_Part]) -> Iterator[tuple[str, ...]]:
    sizes = {(leak.task, leak.tier, leak.query): leak for leak in leaks}
    found: dict[tuple[str, str], dict[_Part, str]] = {}
    high = _highest_features(leaks)
    for leak in leaks:
        feature = leak.family == "feature" and leak.kind == "limit"
        if feature and leak.attack not in high and not leak.exceeded:
            continue
        row = found.setdefault((leak.kind, leak.attack), {})
        row[leak.task, leak.tier, leak.query] = f"{leak.accuracy:.3f}{'!' if leak.exceeded else ''}"
    yield "", "problems", *(str(sizes[part].problems) for part in parts)
    yield "", "standard error", *(f"{sizes[part].standard_error:.3f}" for part in parts)
    for (kind, attack), row in found.items():
        yield kind, attack, *(row.get(part, "") for part in parts)


def _stacked_heads(parts: Sequence[_Part]) -> list[tuple[str, ...]]:
    """Return the columns' heads as lines with a word each, so that columns are narrow."""
    several = {part[:2] for part in parts if sum(part[:2] == other[:2] for other in parts) > 1}
    heads = [" ".join(part if part[:2] in several else part[:2]).replace("_", " ").split() for part in parts]
    height = max(map(len, heads))
    return list(zip(*([""] * (height - len(words)) + words for words in heads), strict=True))


def _highest_features(leaks: Sequence[Leak]) -> set[str]:
    """Return the feature that finds most in each tier."""
    best: dict[_Part, Leak] = {}
    for leak in leaks:
        if leak.family == "feature" and leak.kind == "limit":
            part = leak.task, leak.tier, leak.query
            if part not in best or leak.accuracy > best[part].accuracy:
                best[part] = leak
    return {leak.attack for leak in best.values()}
