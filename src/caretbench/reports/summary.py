"""Summary of a run: every number of the terminal, the exports and the page, in one JSON-serialisable value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import Field, JsonValue

from caretbench.reports.estimates import ReportedNumber, ReportValue, SimilarityCorrelation
from caretbench.reports.head.head_values import ReportHead
from caretbench.reports.judged.scores import JudgedScores
from caretbench.reports.results.answer_counts import ModelUsage, Recording
from caretbench.reports.results.errors import ErrorColumn
from caretbench.reports.results.paper_intervals import PaperTableLayout
from caretbench.reports.results.post_processing import BestOfThree
from caretbench.reports.results.problem_lists import LEAD_TITLES, DiscordantCase, ExcludedProblems, FlaggedAnswers, Lead
from caretbench.reports.results.published_numbers import ComparedPart
from caretbench.reports.results.strengths import GeneratorBias, ModelStrengths
from caretbench.reports.results.typing_results import TypingSummary
from caretbench.suites.answer_kinds import ACCEPTED_PREFIX
from caretbench.suites.suite_types import Table


class RateCell(ReportValue):
    """Numbers of one part of the problems: all of them, a language, a category in a language, ..."""

    labels: Mapping[str, str] = Field(default_factory=dict)
    order: tuple[int, ...] = ()
    """Sort key of the cell in its stratum, if its name does not decide the order."""
    problems: int
    excluded: int
    pass_at: Mapping[int, ReportedNumber]
    needed: Mapping[int, ReportedNumber] | None = None
    """pass@k over the problems that need an answer; None if these are all, or if the column does not lead by them."""
    if_excluded_failed: float | None = None
    if_excluded_passed: float | None = None
    similarity: Mapping[str, ReportedNumber] = Field(default_factory=dict)
    paper_intervals: Mapping[str, ReportedNumber] = Field(default_factory=dict)
    """pass@1 with the intervals of papers, by method, if the suite requests them."""

    @property
    def name(self) -> str:
        """Values of the labels in one text; ``all`` if there are none."""
        return " / ".join(self.labels.values()) or "all"


class PartResults(ReportValue):
    """Numbers of a part of the problems that the suite keeps apart."""

    title: str
    overall: RateCell


class ModelResults(ReportValue):
    """Numbers of one model with one set of parameters, under one policy and one profile."""

    model: str
    parameters: str
    policy: str
    profile: str
    title: str
    baseline: bool
    samples: int
    completions: int
    verdicts: int
    expected: int
    coverage: float | None
    overall: RateCell
    strata: Mapping[str, tuple[RateCell, ...]]
    strata_notes: Mapping[str, str] = Field(default_factory=dict)
    """Notes by stratum on bins of numbers and overlapping parts."""
    needed_rule: Lead = "all"
    """Rule that tells the problems that need an answer."""
    needed_lead: bool = False
    """True if these lead, as the profile says; then all stand beside, else these beside all."""
    parts: tuple[PartResults, ...] = ()
    """Parts of the problems that the suite keeps apart; empty if it averages over all."""
    measure: str = "pass@1"
    """Title of the rate; a suite may have shares of its own."""
    statuses: Mapping[str, int] = Field(default_factory=dict)
    similarity_titles: Mapping[str, str] = Field(default_factory=dict)
    correlation: SimilarityCorrelation | None = None

    @property
    def rate_title(self) -> str:
        """Title of the rate that leads, with the problems that it is over if these are not all."""
        return ", ".join(filter(None, (self.measure, LEAD_TITLES[self.needed_rule] if self.needed_lead else "")))

    def headline_of(self, cell: RateCell) -> ReportedNumber | None:
        """Return pass@1 of a cell of this column, over the problems that lead; without any verdict, a similarity."""
        if not self.overall.pass_at:
            # The beginning alone is no likeness of the whole.
            return next((number for name, number in cell.similarity.items() if ACCEPTED_PREFIX not in name), None)
        return self.leading_of(cell).get(1)

    def leading_of(self, cell: RateCell) -> Mapping[int, ReportedNumber]:
        """Return pass@k of a cell of this column, over the problems that lead."""
        return cell.needed if self.needed_lead and cell.needed is not None else cell.pass_at


def headline_columns(columns: Iterable[ModelResults], profile: object, policy: object) -> list[ModelResults]:
    """Return the columns under a run's own profile and policy, which its head is about."""
    return [column for column in columns if (column.profile, column.policy) == (profile, policy)]


class SuiteTable(ReportValue):
    """Table of results that a suite computes itself.

    The first line of a cell is its text, further lines are shown below in small print. ``withheld`` are the reasons
    for which requested numbers are missing. ``raw`` is the same table over all problems; None if this one is.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    raw: SuiteTable | None = None


class Summary(ReportValue):
    """Summary of a run. Rates, similarities and coverage run from 0 to 1."""

    schema_version: int = 1
    suite: str
    run: str
    seed: int
    problems: int
    verdicts: Mapping[str, int] = Field(default_factory=dict)
    mutant_strengths: Mapping[str, int] = Field(default_factory=dict)
    """Valid problems by the strength of the mutant that the gate killed."""
    head: ReportHead | None = None
    """Ranked models and their differences; None if the run has no number to rank models by."""
    columns: tuple[ModelResults, ...]
    headline_columns: tuple[ModelResults, ...] = ()
    """Columns of the suite's own shares, which breakdowns show in place of pass@1; ``measure`` names the share."""
    excluded: tuple[ExcludedProblems, ...] = ()
    discordant: tuple[DiscordantCase, ...] = ()
    discordant_totals: Mapping[str, int] = Field(default_factory=dict)
    recordings: tuple[Recording, ...] = ()
    """Completions of each model, and those that its recording should have; without baselines."""
    usage: tuple[ModelUsage, ...] = ()
    """Usage of the models that were sampled in this run."""
    judged: tuple[JudgedScores, ...] = ()
    """Judge scores, by criterion."""
    best_of: tuple[BestOfThree, ...] = ()
    """Best of three steps of post-processing, of models that were scored under all three (SimCopilot)."""
    errors: tuple[ErrorColumn, ...] = ()
    """Error kinds by model; empty if there are none."""
    flagged: tuple[FlaggedAnswers, ...] = ()
    """Flagged passes, and the rates without them; empty if a run has no flags."""
    strengths: ModelStrengths | None = None
    """Strengths and weaknesses of the model that ``--strengths`` names."""
    generator_bias: GeneratorBias | None = None
    """Gain of models on problems of their own family; None where generators of one family wrote all."""
    typing: TypingSummary | None = None
    """Typing sessions; None if the run has none."""
    suite_tables: tuple[SuiteTable, ...] = ()
    """Tables of results that the suite computes itself."""
    warnings: tuple[str, ...] = ()
    """Warnings about unreliable numbers."""
    main: str = "language / category"
    """Stratum by which policies are compared."""
    heat_maps: tuple[str, ...] = ("language / category",)
    paper_tables: tuple[PaperTableLayout, ...] = ()
    """Layouts of the paper's tables."""
    compared_parts: tuple[ComparedPart, ...] = ()
    """Parts of the problems that the suite's paper has numbers for, by model."""
    notes: tuple[str, ...] = ()
    manifest: Mapping[str, JsonValue] = Field(default_factory=dict)

    @property
    def baselines(self) -> frozenset[str]:
        """Names of the baselines."""
        return frozenset(column.model for column in self.columns if column.baseline)


EVERY = ", all problems"
"""End of the title of a suite's table that is over all problems where others are over those that lead."""


def with_raw(every: Sequence[Table], leading: Sequence[Table], notes: Sequence[str]) -> Iterator[SuiteTable]:
    """Yield a suite's tables over all problems, or those over leading ones with them where both differ."""
    by_name = {table.name: table for table in leading if table.rows}
    for table in every:
        raw, lead = SuiteTable(**table._asdict()), by_name.get(table.name)
        if lead is None:
            yield raw.model_copy(update={"title": f"{table.title}{EVERY}"})
        elif lead.rows == table.rows:
            yield raw
        else:
            yield SuiteTable(**lead._replace(notes=(*lead.notes, *notes))._asdict(), raw=raw)
