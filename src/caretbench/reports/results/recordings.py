"""Number of completions of each model, and of those that its recording should have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from caretbench.problem import Completion, MissingSample
from caretbench.reports.estimates import ReportValue
from caretbench.reports.frame import model_titles


class Recording(ReportValue):
    """Completions of one model with one set of parameters.

    ``expected`` is ``all_problems`` times ``samples``, the number of different samples that the model has over all
    problems. Problems without any completion are not in ``with_fewer_samples``.
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

    @property
    def complete(self) -> bool:
        """Return whether every problem has every sample."""
        return self.completions == self.expected


def recordings(
    completions: Iterable[Completion], missing: Iterable[MissingSample], problems: Iterable[str]
) -> tuple[Recording, ...]:
    """Return the completions of each model in numbers, over the problems with these ids."""
    known = set(problems)
    found: dict[tuple[str, str], dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    requested: dict[tuple[str, str], set[int]] = defaultdict(set)
    for row in completions:
        if row.problem_id in known:
            found[row.model, row.parameters][row.problem_id].add(row.sample)
            requested[row.model, row.parameters].add(row.sample)
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
