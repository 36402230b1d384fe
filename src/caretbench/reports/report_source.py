"""Source data of the sections of a report: a loaded run, and its columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import polars as pl

from caretbench.judging.answers import plain_answer
from caretbench.problem import Problem
from caretbench.reports.columns import columns_of
from caretbench.reports.frame import LoadedRun
from caretbench.reports.judged.answers import run_judged_answers
from caretbench.reports.judged.carets import run_caret_scores
from caretbench.reports.judged.judged_answers import JudgedAnswers
from caretbench.reports.judged.scores import CaretScores
from caretbench.reports.judged.value_table import KEY, judged_caret_values, judged_values
from caretbench.reports.results.model_variants import model_variants
from caretbench.reports.results.problem_lists import ExcludedProblems, find_excluded_problems
from caretbench.reports.summary import Column, SuiteTable
from caretbench.suites import suite_errors
from caretbench.suites.base import Suite
from caretbench.suites.suite_types import DEFAULT_STRATIFICATION, Headline, Stratification, SuiteChart


@dataclass(frozen=True)
class ReportSource:
    """Loaded run with its stratification and its suite, if installed; computes values that several sections share.

    ``strengths`` is the title of the model whose strengths are requested.
    """

    run: LoadedRun
    stratification: Stratification = DEFAULT_STRATIFICATION
    suite: Suite | None = None
    strengths: str | None = None

    @property
    def seed(self) -> int:
        """Random seed of intervals."""
        return int(self.run.manifest.get("seed") or 0)

    @cached_property
    def answers(self) -> JudgedAnswers:
        """Judged answers to questions."""
        return run_judged_answers(self.run, self.suite.judged_text if self.suite else plain_answer)

    @cached_property
    def caret_scores(self) -> tuple[CaretScores, ...]:
        """Judge scores at carets, by criterion."""
        return run_caret_scores(self.run)

    @cached_property
    def suite_tables(self) -> tuple[SuiteTable, ...]:
        """Tables that the suite computes itself."""
        if self.suite is None:
            return ()
        with suite_errors(self.suite, "result_tables"):
            found = tuple(self.suite.result_tables(self._results, self._problems, self.seed))
        return tuple(SuiteTable(**table._asdict()) for table in found)

    @property
    def suite_charts(self) -> tuple[SuiteChart, ...]:
        """Charts that the suite computes itself."""
        if self.suite is None:
            return ()
        with suite_errors(self.suite, "result_charts"):
            return tuple(self.suite.result_charts(self._results, self._problems, self.seed))

    @cached_property
    def headlines(self) -> tuple[tuple[Headline, pl.DataFrame], ...]:
        """Shares of the suite's own by which models are ranked, each with a run's table of it in place of passes."""
        if self.suite is None:
            return ()
        with suite_errors(self.suite, "headline_results"):
            results, titles = self.suite.headline_results(self._results)
        return tuple(
            (headline, results.with_columns(passed=pl.col(name).cast(pl.Float64) == 1.0))
            for name, headline in titles.items()
            if results[name].count()
        )

    @cached_property
    def headline_columns(self) -> tuple[Column, ...]:
        """Columns of the suite's own shares, over the problems that have them; breakdowns show these, not pass@1."""
        run, found = self.run, list[Column]()
        for headline, frame in self.headlines:
            known = frame.filter(pl.col("passed").is_not_null())
            there = set(known["problem_id"])
            problems = [problem for problem in run.problems if problem.id in there]
            columns = columns_of(known, problems, run.manifest, self.excluded, self.stratification, rates_only=True)
            for column in columns:
                strata = {name: cells for name, cells in column.strata.items() if len(cells) > 1}
                found.append(column.model_copy(update={"measure": headline.title, "strata": strata}))
        return tuple(found)

    @cached_property
    def missing_score(self) -> tuple[str, ...]:
        """Reasons why the suite's own score is not known, each with its remedy."""
        if self.suite is None:
            return ()
        with suite_errors(self.suite, "missing_score"):
            return tuple(self.suite.missing_score(self._results, self._problems))

    @cached_property
    def _results(self) -> pl.DataFrame:
        frame = self.run.frame
        known = model_variants(self.run.manifest, frame.select("model", "parameters").unique().iter_rows())
        variants = pl.DataFrame(
            [(*key, *variant) for key, variant in known.items()],
            schema=dict.fromkeys(("model", "parameters", "model_title", "instruction", "prompt"), pl.String),
            orient="row",
        )
        values = pl.concat([judged_values(self.answers), judged_caret_values(self.run, self.caret_scores)])
        judged = frame.join(values, on=list(KEY), how="left")
        titled = judged.join(variants, on=["model", "parameters"], how="left").with_columns(
            pl.col("model_title").fill_null(pl.col("model"))
        )
        # Suites show models in the order of their rows: the best model first, baselines last.
        rank = pl.col("passed").cast(pl.Float64).mean().over("model", "parameters").fill_null(0.0)
        names = [*self.run.baselines]
        place = (
            pl.when(pl.col("model").is_in(names))
            .then(pl.col("model").replace_strict(names, range(1, len(names) + 1), default=0, return_dtype=pl.Int64))
            .otherwise(0)
        )
        score = pl.when(place == 0).then(-rank).otherwise(0.0)
        return titled.sort("profile", "policy", place, score, *KEY, maintain_order=True)

    @property
    def _problems(self) -> dict[str, Problem]:
        return {problem.id: problem for problem in self.run.problems}

    @cached_property
    def excluded(self) -> tuple[ExcludedProblems, ...]:
        """Excluded problems, by profile and cause."""
        return find_excluded_problems(self.run.frame, self.run.problems, self.run.manifest)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """One column per model, parameters, policy and profile."""
        run = self.run
        return columns_of(
            run.frame,
            run.problems,
            run.manifest,
            self.excluded,
            self.stratification,
            rates_only=bool(self.suite_tables),
        )
