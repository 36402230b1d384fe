"""Probes for memory of a benchmark: dates before and after a cut-off, changed names, recall of what is not shown."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from caretbench.errors import DataError, UsageError
from caretbench.files import sha256_text
from caretbench.grouping import grouped
from caretbench.metrics.intervals import Interval
from caretbench.metrics.paired import compare
from caretbench.people.study_statistics.contrasts import GroupedValue, compare_groups, holm
from caretbench.problem import Problem
from caretbench.reports.estimates import ReportValue
from caretbench.reports.frame import LoadedRun
from caretbench.reports.results.paired_models import model_rates
from caretbench.suites.record.build.siblings import SIBLING

Probe = Literal["dates", "names", "recall"]

MIN_PROJECTS: Final = 10
"""Projects on a side under which a probe decides nothing: two of three then may differ by their difficulty alone."""
_LEVEL: Final = 0.05
_WORD: Final = re.compile(r"[A-Za-z_]\w{3,}")
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")

ABOUT: Final[Mapping[Probe, str]] = {
    "dates": "pass rate before the cut-off minus that after it",
    "names": "pass rate with the original names minus that with changed names, before the cut-off",
    "recall": "share of words of the reference that are not shown, minus that of another problem's; before minus after",
}
"""Differences by probe; each is 0 for a model without memory."""


class ProbedAnswer(NamedTuple):
    """Result of one model on one problem: its pass rate, and its answers' text."""

    problem: Problem
    rate: float
    text: str

    @property
    def date(self) -> str:
        """Day of the release; empty if it is unknown."""
        return (self.problem.provenance.date or "")[:10]

    @property
    def is_renamed(self) -> bool:
        """True for a sibling with changed names."""
        return self.problem.id.endswith(SIBLING)


class MemoryRow(ReportValue):
    """Result of one probe of one model. ``difference`` runs from -1 to 1; ``p_value`` is adjusted (Holm)."""

    model: str
    probe: Probe
    projects: tuple[int, int]
    """Projects before and after the cut-off."""
    problems: int
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    verdict: str


class MemoryReport(ReportValue):
    """Results of all probes of the models of a run."""

    schema_version: int = 1
    cutoff: str
    rows: tuple[MemoryRow, ...]


class _Outcome(NamedTuple):
    problems: int
    difference: float
    interval: Interval
    p_value: float


def memory_report(run: LoadedRun, cutoff: str, *, seed: int = 0) -> MemoryReport:
    """Return the probes of all models of a run.

    Args:
        run: The run.
        cutoff: First day, YYYY-MM-DD, of releases that a model cannot have seen.
        seed: Random seed of permutations and resampling.

    Raises:
        UsageError: the cut-off is no date.
        DataError: the problems have no dates, or no model has verdicts.
    """
    if not _DATE.fullmatch(cutoff):
        raise UsageError(f"--cutoff {cutoff!r}: expected YYYY-MM-DD")
    problems = {problem.id: problem for problem in run.problems}
    if not any(problem.provenance.date for problem in run.problems):
        raise DataError(f"{run.name}: its problems have no dates; an edition of the record has some")
    texts = grouped(((answer.completion.model, answer.completion.problem_id), answer.text) for answer in run.inserted)
    answers = {
        entry.name: [
            ProbedAnswer(problems[row["problem_id"]], row["rate"], "\n".join(texts[entry.model, row["problem_id"]]))
            for row in entry.rates.sort("problem_id").iter_rows(named=True)
        ]
        for entry in model_rates(run)
    }
    if not answers:
        raise DataError(f"{run.name}: no model has verdicts; baselines remember nothing")
    return MemoryReport(cutoff=cutoff, rows=tuple(memory_rows(answers, cutoff, seed=seed)))


def memory_rows(answers: Mapping[str, Sequence[ProbedAnswer]], cutoff: str, *, seed: int) -> list[MemoryRow]:
    """Return the probes of some models, with p values for all that can be decided."""
    rows: list[MemoryRow] = []
    for model, probed in answers.items():
        dated = [answer for answer in probed if answer.date]
        for name in ABOUT:
            used = _used(dated, name)
            # A prompt may show all that its own and another problem hide: "12 and 12 projects, 10 a side are needed".
            values = list(_excess_recall(used)) if name == "recall" else [(answer, answer.rate) for answer in used]
            sides = _projects([answer for answer, _ in values], cutoff)
            outcome = None
            if sides[0] >= MIN_PROJECTS and (name == "names" or sides[1] >= MIN_PROJECTS):
                outcome = _names(used, cutoff, seed) if name == "names" else _groups(values, cutoff, seed)
            row = MemoryRow(
                model=model, probe=name, projects=sides, problems=len(used), verdict=_undecided(sides, name)
            )
            rows.append(row if outcome is None else _decided(row, outcome))
    return _with_holm(rows)


def _used(probed: Sequence[ProbedAnswer], probe: Probe) -> list[ProbedAnswer]:
    """Return the answers that a probe compares; of names, problems with their siblings."""
    if probe != "names":
        return [answer for answer in probed if not answer.is_renamed]
    ids = {answer.problem.id for answer in probed}
    originals = {name for name in ids if f"{name}{SIBLING}" in ids}
    return [answer for answer in probed if answer.problem.id.removesuffix(SIBLING) in originals]


def _projects(probed: Sequence[ProbedAnswer], cutoff: str) -> tuple[int, int]:
    before = {answer.problem.cluster for answer in probed if answer.date < cutoff}
    return len(before), len({answer.problem.cluster for answer in probed} - before)


def _undecided(sides: tuple[int, int], probe: Probe) -> str:
    shown = f"{sides[0]} projects" if probe == "names" else f"{sides[0]} and {sides[1]} projects"
    return f"cannot be decided: {shown}, {MIN_PROJECTS} a side are needed"


def _decided(row: MemoryRow, outcome: _Outcome) -> MemoryRow:
    has_interval = not math.isnan(outcome.interval.low)
    update = {
        "problems": outcome.problems,
        "difference": outcome.difference,
        "low": outcome.interval.low if has_interval else None,
        "high": outcome.interval.high if has_interval else None,
        "p_value": outcome.p_value,
        "verdict": "",
    }
    return row.model_copy(update=update)


def _with_holm(rows: Sequence[MemoryRow]) -> list[MemoryRow]:
    adjusted = iter(holm([row.p_value for row in rows if row.p_value is not None]))
    return [row if row.p_value is None else _judged(row, next(adjusted)) for row in rows]


def _judged(row: MemoryRow, p_value: float) -> MemoryRow:
    shown = p_value < _LEVEL and row.low is not None and row.low > 0
    return row.model_copy(update={"p_value": p_value, "verdict": "remembers" if shown else "no memory shown"})


def _groups(values: Sequence[tuple[ProbedAnswer, float]], cutoff: str, seed: int) -> _Outcome | None:
    """Return the difference of projects before and after a cut-off; each project counts once."""
    sides = [GroupedValue(value, answer.date < cutoff, "", answer.problem.cluster) for answer, value in values]
    try:
        difference = compare_groups(sides, seed=seed)
    except UsageError:
        return None
    return _Outcome(len(values), difference.difference, difference.interval, difference.p_value)


def _names(probed: Sequence[ProbedAnswer], cutoff: str, seed: int) -> _Outcome | None:
    early = {answer.problem.id: answer for answer in probed if answer.date < cutoff}
    pairs = [(early[name], early[f"{name}{SIBLING}"]) for name in sorted(early) if f"{name}{SIBLING}" in early]
    if not pairs:
        return None
    comparison = compare(
        [renamed.rate for _, renamed in pairs],
        [original.rate for original, _ in pairs],
        seed=seed,
        clusters=[original.problem.cluster for original, _ in pairs],
        overlap_groups=[original.problem.overlap_group for original, _ in pairs],
    )
    return _Outcome(len(pairs), comparison.difference, comparison.interval, comparison.p_value)


def _excess_recall(probed: Sequence[ProbedAnswer]) -> Iterator[tuple[ProbedAnswer, float]]:
    """Yield the share of hidden words in each answer minus the share of words that another problem hides."""
    hidden = {probe.problem.id: hidden_words(probe.problem) for probe in probed}
    drawn = sorted(probed, key=lambda answer: sha256_text(answer.problem.id))
    by_project = grouped((probe.problem.cluster, probe.problem.id) for probe in drawn if hidden[probe.problem.id])
    for probe in probed:
        words = hidden[probe.problem.id]
        names = by_project[probe.problem.cluster]
        if not words or len(names) < 2:
            continue
        other = names[(names.index(probe.problem.id) + 1) % len(names)]
        shown = _shown_words(probe.problem)
        control = hidden[other] - words - shown
        written = set(_WORD.findall(probe.text))
        if control:
            yield probe, len(words & written) / len(words) - len(control & written) / len(control)


def hidden_words(problem: Problem) -> set[str]:
    """Return the words of four characters and more in a reference that its prompt does not show."""
    return set(_WORD.findall(problem.reference)) - _shown_words(problem)


def _shown_words(problem: Problem) -> set[str]:
    caret = problem.caret
    return set(_WORD.findall(f"{caret.prefix}\n{caret.suffix}"))
