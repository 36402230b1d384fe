"""Number of completions of each model, of those that its recording should have, and of those that were refused."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

import polars as pl

from caretbench.problem import AnyCompletion, MissingSample
from caretbench.reports.estimates import ReportValue
from caretbench.reports.frame import KEY, model_titles

MIN_EMPTY = 0.05
"""Minimum share of empty answers that is worth a warning."""


class Recording(ReportValue):
    """Completions of one model with one set of parameters.

    ``expected`` is ``all_problems`` times ``samples``, the number of different samples that the model has over all
    problems. Problems without any completion are not in ``with_fewer_samples``. ``refused`` completions are too long,
    or take too much to parse, under some policy of the run; ``refusal`` is the reason of the first.
    """

    model: str
    parameters: str
    title: str
    problems: int
    all_problems: int
    samples: int
    with_fewer_samples: int
    completions: int
    expected: int
    null: int = 0
    """Completions for which the provider answered with nothing at all."""
    empty: int = 0
    """Completions without any visible character where text was due, null ones not counted."""
    refused: int = 0
    refusal: str | None = None

    @property
    def complete(self) -> bool:
        """Return whether every problem has every sample."""
        return self.completions == self.expected


def refusals(frame: pl.DataFrame) -> dict[tuple[str, str], list[str]]:
    """Return the reasons for which completions were refused, one for each, by model and parameters."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    refused = frame.filter(pl.col("refusal").is_not_null()).unique(KEY[:4], keep="first", maintain_order=True)
    for model, parameters, reason in refused.select("model", "parameters", "refusal").iter_rows():
        found[model, parameters].append(reason)
    return found


def recordings(
    completions: Iterable[AnyCompletion],
    missing: Iterable[MissingSample],
    problems: Iterable[str],
    refused: Mapping[tuple[str, str], Sequence[str]] = MappingProxyType({}),
    nothing_due: Container[str] = frozenset(),
) -> tuple[Recording, ...]:
    """Return the completions of each model in numbers, over the problems with these ids.

    ``refused`` are the reasons of :func:`refusals`, ``nothing_due`` the problems whose right answer is empty.
    """
    known = set(problems)
    found: dict[tuple[str, str], dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    requested: dict[tuple[str, str], set[int]] = defaultdict(set)
    null: Counter[tuple[str, str]] = Counter()
    empty: Counter[tuple[str, str]] = Counter()
    for row in completions:
        if row.problem_id in known:
            found[row.model, row.parameters][row.problem_id].add(row.sample)
            requested[row.model, row.parameters].add(row.sample)
            null[row.model, row.parameters] += row.text is None
            empty[row.model, row.parameters] += (
                row.text is not None and not row.text.strip() and row.problem_id not in nothing_due
            )
    for absent in missing:
        requested[absent.model, absent.parameters].add(absent.sample)
    titles = model_titles(found)
    return tuple(
        Recording(
            model=key[0],
            parameters=key[1],
            title=titles[key],
            problems=len(by_problem),
            all_problems=len(known),
            samples=len(requested[key]),
            with_fewer_samples=sum(len(samples) < len(requested[key]) for samples in by_problem.values()),
            completions=sum(map(len, by_problem.values())),
            expected=len(known) * len(requested[key]),
            null=null[key],
            empty=empty[key],
            refused=len(refused.get(key, ())),
            refusal=next(iter(refused.get(key, ())), None),
        )
        for key, by_problem in sorted(found.items())
    )


def incomplete_warnings(found: Sequence[Recording]) -> Iterator[str]:
    """Yield a warning for each model that lacks completions."""
    for entry in found:
        if entry.complete:
            continue
        parts = []
        if entry.problems < entry.all_problems:
            parts.append(f"{entry.problems} of {entry.all_problems} problems have completions")
        if entry.with_fewer_samples:
            parts.append(f"{entry.with_fewer_samples} problems have fewer than {entry.samples} samples")
        yield (
            f"{entry.title}: the recording is incomplete, with {entry.completions} of {entry.expected} completions: "
            f"{'; '.join(parts)}. Its numbers are over the completions that are there."
        )


def blank_warnings(found: Sequence[Recording]) -> Iterator[str]:
    """Yield a warning for each model with null answers, or with a share of at least 5 % of empty ones."""
    for entry in found:
        if entry.null:
            yield (
                f"{entry.title}: {entry.null} of {entry.completions} answers are null: the provider sent no text. "
                "Look at the model's settings first."
            )
        if entry.empty >= MIN_EMPTY * entry.completions:
            yield f"{entry.title}: {entry.empty} of {entry.completions} answers are empty."


def refused_warnings(found: Sequence[Recording]) -> Iterator[str]:
    """Yield a warning for each model with refused completions."""
    for entry in found:
        if entry.refused:
            example = "" if entry.refused == 1 else ", for example"
            yield (
                f"{entry.title}: {entry.refused} of {entry.completions} completions were refused, and count as "
                f"failures ({entry.refusal}{example})."
            )
