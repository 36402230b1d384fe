"""Selection of a suite's problems by label, id, total number or number per cell."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from caretbench.errors import UsageError, did_you_mean
from caretbench.files import sha256_text
from caretbench.grouping import grouped
from caretbench.problem import FileSplice, Problem
from caretbench.suites.base import Suite


def parse_select(text: str | None) -> dict[str, tuple[str, ...]]:
    """Parse the value of ``--select``: ``language=python|java,category=api_usage`` to values by label.

    Raises:
        UsageError: a part is not of the form ``label=value``.
    """
    chosen: dict[str, tuple[str, ...]] = {}
    for criterion in (text or "").split(","):
        if not criterion.strip():
            continue
        name, equals, values = criterion.partition("=")
        if not equals or not values.strip():
            raise UsageError(f"--select {criterion!r}: expected label=value, language=python for example")
        chosen[name.strip()] = tuple(value.strip() for value in values.split("|"))
    return chosen


@dataclass(frozen=True)
class Selection:
    """Options that select the problems of a run.

    Args:
        select: Labels and ids: ``language=python|java,category=api_usage`` or ``id=python/low_context/1``.
        limit: Maximum number of problems: a seeded sample, spread evenly over the cells. It contains at most one of
            several problems with overlapping spans, so it may be smaller.
        per_cell: Maximum number of problems per cell; the first ones are selected.
        seed: Seed of the sample.

    A cell is a combination of values of the suite's ``cell_labels``, or else of its ``main_labels`` (DevBench:
    language × category; SimCopilot: language × mode).
    """

    select: str | None = None
    limit: int | None = None
    per_cell: int | None = None
    seed: int = 0

    @classmethod
    def from_options(
        cls, select: str | None, limit: int | None, per_cell: int | None, sample_seed: int | None
    ) -> Selection:
        """Return the selection of the options ``--select``, ``--limit``, ``--per-cell`` and ``--sample-seed``.

        Raises:
            UsageError: there is a seed, and no sample that it seeds.
        """
        if sample_seed is not None and limit is None:
            raise UsageError("--sample-seed seeds the sample of --limit, which is not given: add --limit N")
        return cls(select, limit, per_cell, sample_seed or 0)

    def apply(self, suite: Suite, problems: Sequence[Problem]) -> list[Problem]:
        """Return the selected problems, in their original order.

        Raises:
            UsageError: a label or id is unknown, or no problem is left.
        """
        criteria = self._criteria(suite)
        if unknown := criteria.get("id", set()) - {problem.id for problem in problems}:
            raise UsageError(
                f"--select: no problem has the id {', '.join(sorted(unknown))}; "
                f"see `caretbench list {suite.name} --ids`"
            )
        if not problems:
            raise UsageError(
                "there is no problem in these data; problems that the gate rejected are in validity.jsonl next to them"
            )
        chosen = [
            problem for problem in problems if all(_matches(problem, name, values) for name, values in criteria.items())
        ]
        if self.per_cell is not None:
            heads = [cell[: self.per_cell] for cell in _cells(suite, chosen).values()]
            chosen = _in_order(chosen, chain.from_iterable(heads))
        if self.limit is not None:
            chosen = _in_order(chosen, self._sample(_cells(suite, chosen)))
        if not chosen:
            raise UsageError("no problem is left; see the labels with `caretbench list`")
        return chosen

    def shortfall(self, suite: Suite, count: int, problems: Sequence[Problem]) -> Iterator[str]:
        """Yield a note with the reason if ``count``, the number of selected problems, is less than :attr:`limit`."""
        if self.limit is not None and count < self.limit:
            available = len(replace(self, limit=None).apply(suite, problems))
            chosen = " that --select and --per-cell leave" if self.select or self.per_cell else ""
            took = f"all {count}" if count == available else f"{count} of {available}"
            others = "" if count == available else "; the others overlap these"
            yield f"--limit {self.limit} took {took}{chosen}{others}"

    def _criteria(self, suite: Suite) -> dict[str, set[str]]:
        criteria: dict[str, set[str]] = {}
        for name, values in parse_select(self.select).items():
            if name != "id" and name not in suite.strata:
                raise UsageError(
                    f"--select: {suite.name} has no label {name!r}{did_you_mean(name, suite.strata)}; labels: id, "
                    f"{', '.join(suite.strata)}"
                )
            criteria[name] = {value if name == "id" else suite.canonical_label(name, value) for value in values}
        return criteria

    def _sample(self, cells: Mapping[tuple[str, ...], Sequence[Problem]]) -> Iterator[Problem]:
        """Yield ``limit`` problems, one of each cell in turn; seed and ids determine the order."""
        waiting = deque(
            iter(sorted(cells[key], key=lambda problem: sha256_text(str(self.seed), problem.id)))
            for key in self._spread(cells)
        )
        taken, count = _Spans(), 0
        while waiting and count < (self.limit or 0):
            cell = waiting.popleft()
            for problem in cell:
                if taken.take(problem):
                    count += 1
                    yield problem
                    waiting.append(cell)
                    break

    def _spread(self, cells: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
        """Return the cells, ordered so that the first ones have as many different label values as possible."""
        left = sorted(cells, key=lambda key: sha256_text(str(self.seed), *key))
        used: Counter[tuple[int, str]] = Counter()
        order = []
        while left:
            key = min(left, key=lambda key: sum(used[entry] for entry in enumerate(key)))
            left.remove(key)
            used.update(enumerate(key))
            order.append(key)
        return order


class _Spans:
    """Spans and overlap groups of the problems in a sample."""

    def __init__(self) -> None:
        self._spans: dict[tuple[str, str], list[tuple[int, int]]] = {}
        self._groups: set[str] = set()

    def take(self, problem: Problem) -> bool:
        """Add a problem's span; return False if it overlaps one in the sample."""
        splice = problem.splice
        if isinstance(splice, FileSplice):
            spans = self._spans.setdefault((splice.snapshot, splice.path), [])
            if any(start < splice.end and splice.start < end for start, end in spans):
                return False
            spans.append((splice.start, splice.end))
        elif problem.overlap_group:
            if problem.overlap_group in self._groups:
                return False
            self._groups.add(problem.overlap_group)
        return True


def _cells(suite: Suite, problems: Sequence[Problem]) -> dict[tuple[str, ...], list[Problem]]:
    named = suite.stratification.cell_labels or suite.stratification.main_labels
    present = {label for problem in problems for label in problem.labels}
    names = [name for name in named if name in present] or suite.strata[:1]
    return grouped((tuple(str(problem.labels.get(name, "")) for name in names), problem) for problem in problems)


def _in_order(problems: Sequence[Problem], chosen: Iterable[Problem]) -> list[Problem]:
    ids = {problem.id for problem in chosen}
    return [problem for problem in problems if problem.id in ids]


def _matches(problem: Problem, name: str, values: set[str]) -> bool:
    if name == "id":
        return problem.id in values
    value = problem.labels.get(name)
    return bool(values & set(value)) if isinstance(value, list) else str(value) in values
