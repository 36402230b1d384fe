"""Which problems of a suite: by label, by id, and so many of each cell."""

from __future__ import annotations

from collections.abc import Sequence

from caretbench.problem import Problem
from caretbench.suites.base import Suite, stratification_of


def parse_select(text: str | None) -> dict[str, tuple[str, ...]]:
    """``language=python|java,category=api_usage`` as label -> values.

    Raises:
        ValueError: a part is no ``label=value``.
    """
    chosen: dict[str, tuple[str, ...]] = {}
    for part in (text or "").split(","):
        if not part.strip():
            continue
        name, found, values = part.partition("=")
        if not found or not values.strip():
            raise ValueError(f"--select {part!r}: expected label=value, language=python for example")
        chosen[name.strip()] = tuple(value.strip() for value in values.split("|"))
    return chosen


def select(suite: Suite, problems: Sequence[Problem], text: str | None, limit: int | None) -> list[Problem]:
    """The problems that ``--select`` and ``--limit`` name, in their order.

    ``id=python/low_context/1`` selects by id; every other name is a label of the suite. The limit counts within each
    cell of the suite's main labels (language × category; in SimCopilot language × mode), or of those that it names for
    this (in EFCB also each repository and each way to ask), so that a small run still covers everything.

    Raises:
        ValueError: an unknown label, or nothing is left.
    """
    wanted: dict[str, set[str]] = {}
    for name, values in parse_select(text).items():
        if name != "id" and name not in suite.strata:
            raise ValueError(
                f"--select: {suite.name} has no label {name!r}; labels: id, {', '.join(suite.strata)}"
            )
        wanted[name] = {value if name == "id" else suite.canonical_label(name, value) for value in values}
    stratification = stratification_of(suite)
    counted_by = stratification.cells or stratification.main
    counts: dict[tuple[str, ...], int] = {}
    chosen = []
    for problem in problems:
        if not all(_matches(problem, name, values) for name, values in wanted.items()):
            continue
        cell = tuple(str(problem.labels.get(name, "")) for name in counted_by)
        counts[cell] = counts.get(cell, 0) + 1
        if limit is None or counts[cell] <= limit:
            chosen.append(problem)
    unknown = wanted.get("id", set()) - {problem.id for problem in problems}
    if unknown:
        raise ValueError(
            f"--select: no problem has the id {', '.join(sorted(unknown))}; see `caretbench list {suite.name} --ids`"
        )
    if not problems:
        raise ValueError(
            "there is no problem in these data; what a gate refused stands in validity.jsonl beside them"
        )
    if not chosen:
        raise ValueError("no problem is left; see the labels with `caretbench list`")
    return chosen


def _matches(problem: Problem, name: str, values: set[str]) -> bool:
    if name == "id":
        return problem.id in values
    value = problem.labels.get(name)
    return bool(values & set(value)) if isinstance(value, list) else str(value) in values
