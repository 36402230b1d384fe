"""Scores of judged texts at carets by model, language and category, with calibration and agreement of judges.

The score of an instance is the mean over samples, judges and repeats (:mod:`caretbench.judging.aggregation`). Other
numbers are means over instances, with a seeded bootstrap over the same instances. The overall score of the released
judge is computed as in its code: the unweighted mean over the means of its files (one for each language and category),
with the percentile bootstrap over all instances. Judged values of completions are a table, too, to be joined with
scores.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cache
from typing import Any

import polars as pl

from caretbench.extraction.policies import get_policy
from caretbench.judging.aggregation import (
    TOTAL,
    JudgeKey,
    TextKey,
    TextScores,
    instance_scores,
    judge_agreement,
    mean_over_judges,
    scores_by_judge,
)
from caretbench.judging.answers import JudgedText, inserted_texts
from caretbench.judging.controls import default_controls
from caretbench.judging.criteria import AnswerForm, criteria_for, instructed_problems
from caretbench.metrics.intervals import RESAMPLES
from caretbench.problem import Caret, CompletionKey, Judgement, Problem
from caretbench.profiles import PROFILES, profile_named
from caretbench.reports.frame import LoadedRun, baselines_in, missing_judgement_counts, model_titles
from caretbench.reports.judged.decisions import KnownDecisions, judge_decisions, people_decisions, refusal_lines
from caretbench.reports.judged.instance_means import Instances, MissingCounts, judge_human_agreement, judge_numbers
from caretbench.reports.judged.judged_answers import ALL_JUDGES, JudgedAnswers
from caretbench.reports.judged.scores import (
    CaretScoreColumn,
    CaretScores,
    JudgedCell,
    JudgeDecisions,
    JudgeHumanAgreement,
    JudgeNumbers,
    JudgePair,
)
from caretbench.reports.judged.trust import Acceptance, rejection_line, withheld_by_criterion
from caretbench.reports.results.run_settings import model_order, variant_titles
from caretbench.runs.judging.ratings import HumanRating, ratings_of_criterion, read_ratings
from caretbench.runs.run_folder import RunFolder
from caretbench.runs.verdict import passed_by_completion
from caretbench.suites import suite_of_run

STRATA: tuple[tuple[str, ...], ...] = (("language",), ("category",), ("language", "category"))

_STRATUM_RESAMPLES = 2000


def caret_scores_of(
    problems: Sequence[Problem],
    answers: Callable[[], Sequence[JudgedText]],
    judgements: Sequence[Judgement],
    manifest: Mapping[str, Any],
    *,
    missing: MissingCounts | None = None,
    ratings: Sequence[HumanRating] = (),
    passed: Callable[[], Set[CompletionKey]] = frozenset,
) -> tuple[CaretScores, ...]:
    """Return the scores of a run by criterion.

    ``answers`` returns the texts that the completions insert. The manifest contains the scales of each criterion
    (``judges``). ``passed`` returns the keys of completions that passed, for criteria that judge only those.
    """
    by_id = {problem.id: problem for problem in problems}
    # For judged answers to questions, see reports/judged/answers.py.
    questions = {problem.id for problem in problems if not isinstance(problem.shown, Caret)}
    criteria = sorted({row.criterion for row in judgements if row.problem_id not in questions})
    if not criteria:
        return ()
    inserted = answers()
    return tuple(
        _CriterionScores(name, by_id, inserted, passed, judgements, manifest, missing or {}, ratings).judged()
        for name in criteria
    )


def run_caret_scores(run: LoadedRun) -> tuple[CaretScores, ...]:
    """Return the scores of a loaded run by criterion."""
    return caret_scores_of(
        run.problems,
        lambda: run.inserted,
        run.judgements,
        run.manifest,
        missing=run.judgements_missing,
        ratings=run.ratings,
        passed=lambda: _passed(run),
    )


def _passed(run: LoadedRun) -> Set[CompletionKey]:
    rows = run.frame.filter(
        pl.col("passed") & (pl.col("policy") == run.manifest["policy"]) & (pl.col("profile") == run.manifest["profile"])
    )
    return set(rows.select("problem_id", "model", "parameters", "sample").iter_rows())


def folder_caret_scores(folder: RunFolder) -> tuple[CaretScores, ...]:
    """Return the scores of a run's folder by criterion; the run need not be scored."""
    problems, manifest = folder.problems(), folder.manifest()

    def passed() -> Set[CompletionKey]:
        known = {problem.id: problem for problem in problems}
        verdicts = passed_by_completion(folder.scores(), known, manifest.policy, manifest.profile)
        return {key for key, value in verdicts.items() if value}

    def answers() -> Sequence[JudgedText]:
        known = {problem.id: problem for problem in problems}
        return list(inserted_texts(folder.completions(), known, get_policy(manifest.policy), manifest.profile))

    return caret_scores_of(
        problems,
        answers,
        [row.model_copy(update={"text": None}) for row in folder.judgements()],
        manifest.model_dump(mode="json"),
        missing=missing_judgement_counts(folder),
        ratings=read_ratings(folder),
        passed=passed,
    )


class _CriterionScores:
    """Computation of the scores of one criterion."""

    def __init__(
        self,
        criterion: str,
        problems: Mapping[str, Problem],
        answers: Sequence[JudgedText],
        passed: Callable[[], Set[CompletionKey]],
        judgements: Sequence[Judgement],
        manifest: Mapping[str, Any],
        missing: MissingCounts,
        ratings: Sequence[HumanRating],
    ) -> None:
        self.criterion = criterion
        self.problems = problems
        self.rows = [row for row in judgements if row.criterion == criterion]
        self.judges = scores_by_judge(self.rows, criterion)
        self.manifest = manifest
        self.missing = missing
        self.ratings = ratings_of_criterion(ratings, criterion)
        settings = self._settings()
        self.scales = {str(name): float(top) for name, top in settings.get("scores", {}).items()}
        self.released = settings.get("form") == "final-sum"
        self.only = settings.get("only")
        self.form: AnswerForm = settings.get("form", "scores")
        included = passed() if self.only else None
        self.samples: dict[tuple[str, str], list[TextKey]] = defaultdict(list)
        self.texts: dict[TextKey, str] = {}
        for completion, text, answer in answers:
            if included is None or completion.key in included:
                self.samples[completion.model, completion.parameters].append((completion.problem_id, answer))
                self.texts[completion.problem_id, answer] = text
        self.suite = suite_of_run(manifest.get("suite"))
        self.titles = model_titles(self._keys())
        self.instances = Instances(problems, int(manifest.get("seed") or 0), self.released)

    def _keys(self) -> list[JudgeKey]:
        return sorted({(row.judge, row.parameters) for row in self.rows})

    def _settings(self) -> Mapping[str, Any]:
        keys = set(self._keys())
        for info in self.manifest.get("judges") or ():
            if (info["model"], info["parameters"]) in keys:
                settings: Mapping[str, Any] = info["settings"]
                return settings
        values = next((row.values for row in self.rows if row.values), {})
        return {"scores": dict.fromkeys(values, 10.0 / max(1, len(values)))}

    def judged(self) -> CaretScores:
        """Return all numbers."""
        several = len(self.judges) > 1
        agreement = judge_agreement(list(self.judges.values())) if several else None
        titles = [self.titles[key] for key in self.judges]
        shared = mean_over_judges(list(self.judges.values())) if self.judges else {}
        judge = ALL_JUDGES if several else next(iter(titles), "")
        judges, decisions = tuple(map(self._judge, self._keys())), tuple(self._decisions())
        graded: list[JudgeNumbers | JudgeDecisions] = [*judges, *decisions]
        self.refused = {
            one.title: rejection_line(one.title, self.criterion, Acceptance(one.state, one.reason))
            for one in graded
            if one.state is not None and one.state != "accepted"
        }
        return CaretScores(
            criterion=self.criterion,
            scores=self.scales,
            released=self.released,
            only=self.only,
            policy=str(self.manifest["policy"]),
            profile=str(self.manifest.get("profile") or "default"),
            columns=tuple(self._columns(judge, shared)),
            by_judge=tuple(
                column
                for key, texts in self.judges.items()
                for column in self._columns(self.titles[key], texts)
                if several
            ),
            judges=judges,
            alpha=agreement.alpha if agreement else None,
            alpha_texts=agreement.texts if agreement else 0,
            pairs=tuple(
                JudgePair(
                    first=titles[pair.first], second=titles[pair.second], pearson=pair.pearson,
                    spearman=pair.spearman, texts=pair.texts,
                )
                for pair in (agreement.pairs if agreement else ())
            ),
            people=tuple(self._people()),
            decisions=decisions,
        )  # fmt: skip

    # --- models -------------------------------------------------------------------------------------------------

    def _columns(self, judge: str, texts: Mapping[TextKey, TextScores]) -> Iterator[CaretScoreColumn]:
        titles = variant_titles(self.manifest, self.samples)
        baselines = baselines_in(self.manifest)
        ranks = {name: place for place, name in enumerate(baselines, 1)}
        order = sorted(
            self.samples,
            key=lambda key: (ranks.get(key[0], 0), key[0].lower(), model_order(self.manifest, *key), key[1]),
        )
        for model, parameters in order:
            answers = self.samples[model, parameters]
            judged = sum(key in texts for key in answers)
            baseline = model in baselines
            if not judged or (baseline and judged < len(answers)):
                continue  # a baseline of which only texts that models share were judged
            scores = instance_scores(answers, texts)
            yield CaretScoreColumn(
                model=model,
                parameters=parameters,
                title=titles[model, parameters],
                baseline=baseline,
                judge=judge,
                samples=len(answers),
                judged=judged,
                overall=self._overall(scores, answers, texts),
                strata=dict(self._strata(scores)),
                refused="; ".join(line for title, line in self.refused.items() if judge in (title, ALL_JUDGES)),
            )

    def _overall(
        self, scores: Mapping[str, float], answers: Sequence[TextKey], texts: Mapping[TextKey, TextScores]
    ) -> JudgedCell:
        total = self.instances.estimate(scores, math.fsum(self.scales.values()), RESAMPLES)
        if self.released:
            files = [list(part.values()) for _, part in self.instances.parts(scores, ("language", "category"))]
            if files:
                mean = math.fsum(math.fsum(part) / len(part) for part in files) / len(files)
                total = total.model_copy(update={"value": mean})
        by_name = {TOTAL: total}
        for name, maximum in self.scales.items():
            if len(self.scales) > 1:
                part = instance_scores(answers, texts, name)
                by_name[name] = self.instances.estimate(part, maximum, RESAMPLES)
        return JudgedCell(scores=by_name)

    def _strata(self, scores: Mapping[str, float]) -> Iterator[tuple[str, tuple[JudgedCell, ...]]]:
        maximum = math.fsum(self.scales.values())
        for names in STRATA:
            cells = [
                JudgedCell(
                    labels=dict(zip(names, values, strict=True)),
                    scores={TOTAL: self.instances.estimate(part, maximum, _STRATUM_RESAMPLES)},
                )
                for values, part in self.instances.parts(scores, names)
            ]
            if cells:
                yield " / ".join(names), tuple(cells)

    def _judge(self, key: JudgeKey) -> JudgeNumbers:
        missing = self.missing.get((*key, self.criterion), 0)
        texts = self.judges.get(key, {})
        controls = {} if self.form == "decision" else self._controls(list(self.problems.values()))
        maximum = math.fsum(self.scales.values())
        return judge_numbers(key, self.titles[key], self.rows, texts, controls, missing, maximum)

    def _controls(self, problems: Sequence[Problem]) -> Mapping[str, Mapping[str, str]]:
        return (self.suite.caret_controls if self.suite else default_controls)(problems, self.form)

    def _decisions(self) -> Iterator[JudgeDecisions]:
        if self.form != "decision":
            return
        profile = profile_named(str(self.manifest.get("profile") or PROFILES[-1]))
        known = KnownDecisions(
            self._controls(instructed_problems(list(self.problems.values()), profile)),
            cache(self._predicate),
            people_decisions(self.ratings, self.scales),
        )
        for key in self._keys():
            yield judge_decisions(key, self.titles[key], self.rows, known, self.texts)

    def _predicate(self, key: TextKey) -> bool | None:
        """Return the decision of a problem's predicates about one of the models' texts; None if it has none."""
        problem = self.problems[key[0]]
        if self.suite is None or not self.suite.decides(problem):
            return None
        return not self.suite.failed_predicates(problem, self.texts[key])

    def _people(self) -> Iterator[JudgeHumanAgreement]:
        ratings = [row for row in self.ratings if set(row.values) == set(self.scales)]
        totals = {
            self.titles[key]: {text: scores.total for text, scores in texts.items()}
            for key, texts in self.judges.items()
        }
        return judge_human_agreement(ratings, totals)


KEY = ("problem_id", "model", "parameters", "sample")

_SCHEMA = {
    "problem_id": pl.String,
    "model": pl.String,
    "parameters": pl.String,
    "sample": pl.Int64,
    "judged": pl.Float64,
    "says_nothing": pl.Boolean,
    "claim_rate": pl.Float64,
    "withheld": pl.String,
}


def judged_values(answers: JudgedAnswers) -> pl.DataFrame:
    """Return one row for every answer to a question that was judged by a criterion of its problem.

    ``judged`` is the mean of all judges on the criterion's scale (for hallucinations 0 to 1, 1 is bad), or null.
    Answers without statements have the value 1 for hallucinations; ``says_nothing`` marks them. ``withheld`` is the
    reason for which scores must not include ``judged``, null if the judges passed their controls.
    """
    return pl.DataFrame(list(_lines(answers)), schema=_SCHEMA)


def judged_caret_values(run: LoadedRun, carets: Sequence[CaretScores]) -> pl.DataFrame:
    """Return one row for every judged text at a caret, as :func:`judged_values` does; decisions are the share of yes.

    ``carets`` are the run's scores at carets, which tell whether judges of decisions passed their controls.
    """
    return pl.DataFrame(list(_caret_lines(run, carets)), schema=_SCHEMA)


def _lines(answers: JudgedAnswers) -> Iterator[dict[str, Any]]:
    own = {
        identity: {entry.key for entry in criteria_for(problem, answers.profile)}
        for identity, problem in answers.problems.items()
    }
    refused = withheld_by_criterion(answers)
    for row in answers.rows():
        if row.criterion in own[row.problem_id]:
            yield {
                "problem_id": row.problem_id, "model": row.model, "parameters": row.parameters,
                "sample": row.sample, "judged": row.value, "says_nothing": row.says_nothing,
                "claim_rate": row.claim_rate, "withheld": refused.get(row.criterion),
            }  # fmt: skip


def _caret_lines(run: LoadedRun, carets: Sequence[CaretScores]) -> Iterator[dict[str, Any]]:
    problems = {problem.id: problem for problem in run.problems}
    for scores in carets:
        profile = profile_named(scores.profile)
        ids = {
            identity: problem
            for identity, problem in problems.items()
            if isinstance(problem.shown, Caret)
            and any(entry.key == scores.criterion for entry in criteria_for(problem, profile))
        }
        judges = scores_by_judge((row for row in run.judgements if row.problem_id in ids), scores.criterion)
        texts = mean_over_judges(list(judges.values())) if judges else {}
        refused = "; ".join(refusal_lines([scores], ("failed", "too_few", "unknown")))
        for completion, _, answer in run.inserted if texts else ():
            if scored := texts.get((completion.problem_id, answer)):
                yield {
                    "problem_id": completion.problem_id, "model": completion.model,
                    "parameters": completion.parameters, "sample": completion.sample, "judged": scored.total,
                    "says_nothing": False, "claim_rate": None, "withheld": refused or None,
                }  # fmt: skip
