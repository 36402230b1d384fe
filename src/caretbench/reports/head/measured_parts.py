"""Parts of a run's problems over which models are compared, each with its measure, for reports and `compare`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from caretbench.reports.estimates import similarity_metric
from caretbench.reports.frame import LoadedRun
from caretbench.reports.head.head_values import HeadMeasure
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.paired_models import (
    ALL_PARTS,
    MIN_TESTED,
    PASSED,
    ModelRates,
    PairedTest,
    model_rates,
    paired_tests,
)
from caretbench.reports.strata import Stratum, headline_parts
from caretbench.reports.summary import ModelResults
from caretbench.reports.tables import display_labels
from caretbench.suites.answer_kinds import ACCEPTED_PREFIX

PASS_AT_1 = HeadMeasure(title="pass@1", about="pass@1: the share of answers that pass all checks of their problem")
_SIMILARITY = "Similarity to the reference, from 0 to 1: an answer may be right and dissimilar, or similar and wrong"
_FIRST_SIMILARITY = "cosine"
"""Beginning of the similarities that rank models first, because they have values between 0 and 1."""


class MeasuredPart(NamedTuple):
    """Part of a run's problems with its measure. ``problems`` are their ids; None is all of them.

    ``run`` has the suite's own share in place of passes if ``own``; no column of the report has such a share.
    """

    run: LoadedRun
    measure: HeadMeasure
    labels: Mapping[str, str] = {}
    problems: frozenset[str] | None = None
    title: str = ""
    """Title of the part in words; empty if the suite keeps no parts apart."""
    own: bool = False

    @property
    def label(self) -> str:
        """Title of the part among others: in words, else the name of the suite's own share."""
        return self.title or (self.measure.title if self.own else "")

    def rates(
        self, models: Collection[str] = (), only: Collection[str] | None = None, *, needless: bool = False
    ) -> Iterator[ModelRates]:
        """Yield the rates of models by problem, over those that lead, or with ``needless`` over all.

        ``only`` are the ids of the problems that count.
        """
        name = self.measure.similarity
        chosen = self.problems if only is None or self.problems is None else self.problems & set(only)
        metric = PASSED if name is None else similarity_metric(name)
        yield from model_rates(self.run, models, metric, only if chosen is None else chosen, needless=needless)


def measured_parts(source: ReportSource, columns: Sequence[ModelResults]) -> list[MeasuredPart]:
    """Return the parts with verdicts; without any, all problems with a similarity; nothing without a number."""
    if source.headlines or any(1 in column.overall.pass_at for column in columns):
        return judged_parts(source)
    similarities = {name: title for column in columns for name, title in column.similarity_titles.items()}
    # The beginning of an answer alone is no likeness of the whole.
    similarities = {name: title for name, title in similarities.items() if ACCEPTED_PREFIX not in name}
    titles = {name: title for name, title in similarities.items() if any(name in c.overall.similarity for c in columns)}
    if not titles:
        return []
    name = min(titles, key=lambda name: not name.startswith(_FIRST_SIMILARITY))
    return [MeasuredPart(source.run, HeadMeasure(title=titles[name], about=_SIMILARITY, similarity=name))]


def judged_parts(source: ReportSource) -> list[MeasuredPart]:
    """Return shares of the suite's own; else pass@1 by the parts that the suite keeps apart; else pass@1 of all."""
    run = source.run
    if source.headlines:
        return [
            MeasuredPart(replace(run, frame=frame), HeadMeasure(title=headline.title, about=headline.about), own=True)
            for headline, frame in source.headlines
        ]
    parts = [
        MeasuredPart(run, PASS_AT_1, part.labels, part.problems, part.title or display_labels(part.labels))
        for part in headline_parts(run.problems, source.stratification)
    ]
    return parts or [MeasuredPart(run, PASS_AT_1)]


def all_parts(parts: Sequence[MeasuredPart]) -> MeasuredPart | None:
    """Return all problems of parts that the suite keeps apart; None if it keeps none apart.

    Only differences make sense over them: both models answer the same problems of each part, so what guessing gives
    there, which forbids averages of rates, cancels problem by problem.
    """
    problems = [part.problems for part in parts if part.problems is not None]
    if len(problems) < 2:
        return None
    return parts[0]._replace(problems=frozenset[str]().union(*problems), labels={}, title=ALL_PARTS)


def part_tests(
    part: MeasuredPart, pairs: Iterable[tuple[ModelRates, ModelRates]], strata: Sequence[Stratum] = ()
) -> Iterator[PairedTest]:
    """Yield the tests of pairs of models on a part, then by strata; pairs with too few common problems have none."""
    for first, second in pairs:
        common = first.rates.join(second.rates, on="problem_id", how="semi").height
        if common == 0 or (part.problems is not None and common < MIN_TESTED):
            continue
        for test in paired_tests(first, second, strata):
            names = [part.label, "" if part.label and test.scope == "all" else test.label]
            yield test._replace(label=": ".join(filter(None, names)))
