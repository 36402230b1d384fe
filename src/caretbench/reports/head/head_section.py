"""Section of the report's head: ranked models, their differences, and warnings about the whole run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import polars as pl

from caretbench.judging.answers import REFERENCE
from caretbench.profiles import PROFILES, profile_named, rules_of
from caretbench.reports.compare import comparison_table
from caretbench.reports.estimates import ReportedNumber, pass_at_1
from caretbench.reports.frame import GROUP
from caretbench.reports.head.head_texts import leading_title
from caretbench.reports.head.head_values import HeadPart, RankedModel, ReportHead
from caretbench.reports.head.measured_parts import MeasuredPart, all_parts, measured_parts, part_tests
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.answer_counts import ModelUsage
from caretbench.reports.results.paired_models import (
    ComparisonRow,
    ModelRates,
    PairedTest,
    floors_above,
    tested_rows,
    with_power,
)
from caretbench.reports.results.problem_lists import (
    LEAD_MEANINGS,
    LEAD_TITLES,
    ExcludedProblems,
    LeadingProblems,
    excluded_ids,
    needed_problems,
)
from caretbench.reports.results.run_settings import identity_of
from caretbench.reports.section import PageBlock, PagePart, PageSource, Section
from caretbench.reports.summary import ModelResults, Summary, headline_columns
from caretbench.runs.judging.ratings import REQUIRED_COVERAGE

Rates = Mapping[str, ModelRates]
"""Rates of models and baselines by title."""


def report_head(source: ReportSource) -> ReportHead | None:
    """Return the head of a run's report; None if it has no number to rank models by."""
    identity = identity_of(source.run)
    columns = headline_columns(source.columns, identity["profile"], identity["policy"])
    parts = measured_parts(source, columns)
    if not parts:
        return None
    names = [column.model for column in columns]
    rates: list[Rates] = [{entry.name: entry for entry in part.rates(names, needless=True)} for part in parts]
    leading: list[Rates] = [{entry.name: entry for entry in part.rates(names)} for part in parts]
    needed = [_needed(source, part, identity["profile"]) for part in parts]
    rankings = [_ranking(source, columns, *values) for values in zip(parts, rates, needed, strict=True)]
    pairs = _pairs(source, parts, rankings, leading)
    values_by_part = zip(parts, rankings, pairs, rates, strict=True)
    shown = [_head_part(source, *values, several=len(parts) > 1) for values in values_by_part if values[1]]
    words = [_words(rule, identity["profile"]) for rule, ranking in zip(needed, rankings, strict=True) if ranking]
    return ReportHead(
        parts=tuple(part.model_copy(update=fields) for part, fields in zip(shown, words, strict=True)),
        overall=_overall(source, parts, names),
        without_score=source.missing_score,
        failed=tuple(
            f"{column.title} {column.coverage:.1%}"
            for column in columns
            if not column.baseline and column.coverage is not None and column.coverage < REQUIRED_COVERAGE
        ),
    )


def _needed(source: ReportSource, part: MeasuredPart, profile: str) -> LeadingProblems:
    """Return the problems of a part that need an answer; all for a similarity, which no answer has by chance."""
    run = part.run
    if part.measure.similarity is not None:
        return LeadingProblems(frozenset(), "all")
    return needed_problems(run.frame, run.problems, profile, excluded_ids(source.excluded, profile))


def _words(needed: LeadingProblems, profile: str) -> Mapping[str, str]:
    """Return the words for the problems of the ranked numbers, and for those beside them."""
    if needed.rule == "all":
        return {}
    title = LEAD_TITLES[needed.rule]
    places = {"counted": title, "beside": "all problems"} if _needed_lead(profile) else {"beside": title}
    return {**places, "counting": LEAD_MEANINGS[needed.rule]}


def _ranking(
    source: ReportSource, columns: Sequence[ModelResults], part: MeasuredPart, rates: Rates, needed: LeadingProblems
) -> tuple[RankedModel, ...]:
    """Return the models and baselines with a number, the best first; equal ones in the order of the columns."""
    empty = {(entry.model, entry.parameters): entry.empty_share for entry in source.recordings}
    models = [rates[column.title] for column in columns if not column.baseline and column.title in rates]
    shared = set[str]().union(*(model.rates["problem_id"] for model in models))
    both = (None,) if needed.rule == "all" else (None, needed.problems)
    ranked = []
    for column in columns:
        numbers = [_number(source, column, part, shared if column.baseline else set(), only) for only in both]
        first, *others = reversed(numbers) if _needed_lead(column.profile) else numbers
        if first is not None:
            spent = source.usage.get((column.model, column.parameters))
            first_token, last_token = (spent.first_token, spent.last_token) if spent else (None, None)
            ranked.append(
                RankedModel(
                    title=column.title,
                    baseline=column.baseline,
                    knows_answer=column.baseline and column.model == REFERENCE,
                    estimate=first,
                    beside=next(iter(others), None),
                    empty=empty.get((column.model, column.parameters)),
                    below=tuple(_above(column, columns, rates)),
                    first_token_s=first_token and first_token.median_s,
                    last_token_s=last_token and last_token.median_s,
                    cost=spent.mean_cost if spent else None,
                )
            )
    return tuple(sorted(ranked, key=_place))


def _place(entry: RankedModel) -> tuple[float, ...]:
    # Baselines have 0 % of the problems that need an answer: the others tell which is the strongest.
    return (-entry.estimate.value, entry.baseline, -entry.beside.value if entry.beside else 0.0)


def _needed_lead(profile: str) -> bool:
    return rules_of(profile_named(profile)).needs_answer


def _above(model: ModelResults, columns: Sequence[ModelResults], rates: Rates) -> Iterator[str]:
    """Yield the titles of baselines, but the reference, with a higher mean than a model on the problems of both."""
    baselines = (column for column in columns if column.baseline and column.model != REFERENCE)
    floors = [rates[column.title] for column in baselines if column.title in rates]
    if not model.baseline and model.title in rates:
        yield from (name for name, _ in floors_above(rates[model.title], floors))


def _number(
    source: ReportSource, column: ModelResults, part: MeasuredPart, shared: set[str], needed: frozenset[str] | None
) -> ReportedNumber | None:
    """Return the number of a column on a part, over all problems or the needed ones: the report's own where it has one.

    A baseline answers all problems. Where the models have fewer (a recording of a part, a run that goes on), its number
    is over those that some model has (``shared``), so that the list compares like with like.
    """
    if part.measure.similarity is not None:
        return column.overall.similarity.get(part.measure.similarity)
    judged = part.run.frame.filter(
        pl.col("passed").is_not_null(),
        ~pl.col("problem_id").is_in(list(excluded_ids(source.excluded, column.profile))),
        *(pl.col(name) == getattr(column, name) for name in GROUP),
    )
    is_whole = not shared or shared.issuperset(judged["problem_id"])
    if part.problems is None and not part.own and is_whole:
        return ((column.overall.needed or {}) if needed is not None else column.overall.pass_at).get(1)
    for chosen in (None if is_whole else shared, part.problems, needed):
        if chosen is not None:
            judged = judged.filter(pl.col("problem_id").is_in(list(chosen)))
    return None if judged.is_empty() else pass_at_1(judged, column.profile, source.seed)


def _pairs(
    source: ReportSource,
    parts: Sequence[MeasuredPart],
    rankings: Sequence[Sequence[RankedModel]],
    rates: Sequence[Rates],
) -> list[tuple[ComparisonRow, ...]]:
    """Return the tests of all pairs of models by part, the better one first: one table, one family."""
    by_part = []
    for part, ranking, by_title in zip(parts, rankings, rates, strict=True):
        models = [by_title[entry.title] for entry in ranking if not entry.baseline]
        # All pairs: neighbours of the ranking would be chosen after looking at it.
        by_part.append(list(part_tests(part, combinations(models, 2))))
    rows = iter(_comparison_rows(source, [test for tests in by_part for test in tests]))
    return [tuple(next(rows) for _ in tests) for tests in by_part]


def _comparison_rows(source: ReportSource, tests: Sequence[PairedTest]) -> Iterator[ComparisonRow]:
    """Yield the results of one family, with their power where sentences are about it: for the best model of a part."""
    best = {test.label: test.first for test in reversed(tests)}
    for test, row in zip(tests, tested_rows(tests, source.seed), strict=True):
        named = test.first == best[test.label]
        yield with_power(row, test.scores, source.run.manifest, source.seed) if named else row


def _overall(source: ReportSource, parts: Sequence[MeasuredPart], names: Sequence[str]) -> tuple[ComparisonRow, ...]:
    """Return the pairs of models over all parts of the problems together, the better one first: a family of its own."""
    whole = all_parts(parts)
    if whole is None:
        return ()
    models = [entry for entry in whole.rates(names) if entry.model not in source.run.baselines]
    models.sort(key=lambda entry: (-float(entry.rates["rate"].mean() or 0), entry.name))  # type: ignore[arg-type]
    return tuple(_comparison_rows(source, list(part_tests(whole, combinations(models, 2)))))


def _head_part(
    source: ReportSource,
    part: MeasuredPart,
    ranking: Sequence[RankedModel],
    pairs: Sequence[ComparisonRow],
    rates: Rates,
    *,
    several: bool,
) -> HeadPart:
    models = [entry.title for entry in ranking if not entry.baseline]
    # All problems: those that need an answer were chosen by the baselines, which have 0 % of them.
    floors = sorted(
        (entry.title for entry in ranking if entry.baseline and not entry.knows_answer),
        key=lambda title: -math.fsum(rates[title].rates["rate"]) / rates[title].rates.height,
    )
    tests = list(part_tests(part, [(rates[models[0]], rates[floors[0]])])) if models and floors else []
    return HeadPart(
        measure=part.measure,
        labels=part.labels,
        title=part.title,
        heading=part.label if several else part.title,
        ranking=tuple(ranking),
        baseline=next(_comparison_rows(source, tests), None),
        pairs=tuple(pairs),
    )


MIN_STOPPED = 0.2
"""Minimum share of answers stopped by the token limit that is worth a warning."""

_CAUSES = 3
"""Maximum number of causes in the warning about excluded problems."""


def reading_warnings(summary: Summary) -> Iterator[str]:
    """Yield the warnings about the whole run: not executed, scored as in a paper, excluded problems, token limit."""
    if summary.head is not None and any(part.measure.similarity for part in summary.head.parts):
        yield (
            "The programs were not run, so there is no pass rate: models are ranked by similarity to the reference. "
            "`caretbench score` without --no-execute runs them."
        )
    if summary.manifest.get("profile") == PROFILES[0]:
        yield (
            f"Scored under the profile {PROFILES[0]}: as the paper's released code scores, its mistakes included. "
            f"--profile {PROFILES[-1]} is the one to believe."
        )
    yield from _excluded(summary.excluded, str(summary.manifest.get("profile")), summary.problems)
    yield from _stopped(summary.usage)


def _excluded(excluded: Sequence[ExcludedProblems], profile: str, problems: int) -> Iterator[str]:
    entries = [entry for entry in excluded if entry.profile == profile]
    if entries:
        count = sum(len(entry.problems) for entry in entries)
        yield f"{count} of {problems} problems are excluded from all rates: {_causes(entries)}."


def _causes(excluded: Sequence[ExcludedProblems]) -> str:
    """Return the most frequent causes, without what they are about: ``missing dependency (9), no toolchain (2)``."""
    counts: Counter[str] = Counter()
    for entry in excluded:
        counts[entry.cause.partition(":")[0]] += len(entry.problems)
    shown = [f"{cause} ({count})" for cause, count in counts.most_common(_CAUSES)]
    more = len(counts) - len(shown)
    return ", ".join(shown) + (f" and {more} more {'cause' if more == 1 else 'causes'}" if more else "")


def _stopped(usage: Sequence[ModelUsage]) -> Iterator[str]:
    for entry in usage:
        if entry.stopped_by_length is not None and entry.stopped_by_length >= MIN_STOPPED:
            yield (
                f"{entry.title}: {entry.stopped_by_length:.0%} of the answers were stopped by the token limit, and may "
                "be cut off. --max-tokens raises it."
            )


class HeadSection(Section):
    """Section of the head. The outputs show it first; its part of the page has the tests of all pairs of models."""

    part = PagePart("comparison", "Comparison", "Pairs of models", "paired tests, corrected for their number (max-T)")

    def compute(self, source: ReportSource) -> Mapping[str, Any]:
        """Return the head."""
        return {"head": report_head(source)}

    def warnings(self, summary: Summary) -> Iterable[str]:
        """Return the warnings that change how the numbers are read."""
        return reading_warnings(summary)

    def blocks(self, shown: PageSource) -> Sequence[PageBlock]:
        """Return the table of all pairs of models."""
        head = shown.summary.head
        rows = [row for part in head.parts for row in part.pairs] if head else []
        if head is None or not rows:
            return []
        note = (
            "Each row is over the problems that both models have. P values are adjusted for the number of tests in "
            "brackets (max-T); the 95% intervals are not."
        )
        return [PageBlock(notes=[note], tables=[comparison_table("Overall", rows, _title(head))])]


def _title(head: ReportHead) -> str:
    titles = {leading_title(part) for part in head.parts}
    return titles.pop() if len(titles) == 1 else "rate"
