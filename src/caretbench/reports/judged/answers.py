"""Scores of judged answers to questions, by task and repository, with coverage and reliability of the judges.

The score of an instance is the mean over its samples that have a value; other numbers are means over instances, with a
seeded bootstrap over pull requests (clusters). A missing value is in no mean and lowers coverage.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from caretbench.grouping import grouped
from caretbench.judging.aggregation import TOTAL, JudgeKey, TextScores, judge_agreement
from caretbench.judging.answers import TextOf, plain_answer
from caretbench.judging.controls import HALLUCINATIONS
from caretbench.profiles import PROFILES, profile_named
from caretbench.reports.frame import LoadedRun, missing_judgement_counts
from caretbench.reports.judged.instance_means import Instances, MissingCounts, judge_counts, judge_human_agreement
from caretbench.reports.judged.judged_answers import (
    ALL_JUDGES,
    JudgedAnswers,
    JudgedTexts,
    RatedAnswer,
    judge_title,
    mean_parts,
)
from caretbench.reports.judged.scores import AnswerScoreColumn, AnswerScores, JudgeHumanAgreement, JudgeTrust
from caretbench.reports.judged.trust import (
    Acceptance,
    State,
    calibration,
    consistency,
    known_criterion,
    rejection_line,
    run_acceptance,
)
from caretbench.runs.judging.ratings import (
    REQUIRED_COVERAGE,
    HumanRating,
    rated_score_names,
    ratings_of_criterion,
    read_ratings,
)
from caretbench.runs.run_folder import ModelInfo, RunFolder
from caretbench.suites.suite_types import FAILED_CONTROLS_MARK

STRATA = ("task", "repository")


def folder_answer_scores(folder: RunFolder, text_of: TextOf = plain_answer) -> tuple[AnswerScores, ...]:
    """Return the scores of answers in a run's folder, by criterion; the run need not be scored."""
    answers = JudgedAnswers.from_folder(folder, text_of)
    return answer_scores_of(answers, missing=missing_judgement_counts(folder), people=read_ratings(folder))


def run_judged_answers(run: LoadedRun, text_of: TextOf = plain_answer) -> JudgedAnswers:
    """Return the judged answers of a loaded run."""
    problems = {problem.id: problem for problem in run.problems}
    judges = [ModelInfo.model_validate(info) for info in run.manifest.get("judges") or ()]
    profile = profile_named(run.manifest.get("profile") or PROFILES[-1])
    seed = int(run.manifest.get("seed") or 0)
    return JudgedAnswers(problems, run.completions, run.judgements, judges, profile, seed, text_of)


def answer_scores_of(
    answers: JudgedAnswers, *, missing: MissingCounts | None = None, people: Sequence[HumanRating] = ()
) -> tuple[AnswerScores, ...]:
    """Return the scores of loaded answers, by criterion; ``people`` are ratings for validation."""
    return tuple(_judged(answers, judged, missing or {}, people) for judged in answers.texts())


def _judged(
    answers: JudgedAnswers, judged: JudgedTexts, missing: MissingCounts, people: Sequence[HumanRating]
) -> AnswerScores:
    several = len(judged.judges) > 1
    verdicts = {key: run_acceptance(answers, judged, key) for key in judged.judges}
    refused = {
        judge_title(key, judged): rejection_line(judge_title(key, judged), judged.criterion, verdict)
        for key, verdict in verdicts.items()
        if not verdict.accepted
    }
    combined = [row for row in answers.rows() if row.criterion == judged.criterion]
    by_judge = [row for row in answers.rows(by_judge=True) if row.criterion == judged.criterion]
    return AnswerScores(
        criterion=judged.criterion,
        maximum=judged.maximum,
        hallucinations=judged.form in HALLUCINATIONS,
        profile=answers.profile,
        columns=tuple(_columns(combined, answers, refused)),
        by_judge=tuple(_columns(by_judge, answers, refused)) if several else (),
        judges=tuple(_trust(answers, judged, key, missing, verdicts[key]) for key in judged.judges),
        alpha=_alpha(judged) if several else None,
        people=tuple(_people(judged, people)),
    )


def coverage_warnings(scores: Iterable[AnswerScores]) -> Iterator[str]:
    """Yield a warning for each model with too few judged answers."""
    for judged in scores:
        for column in judged.columns:
            if column.failed:
                yield (
                    f"{column.model}: {column.coverage:.1%} of the answers have a value by {judged.criterion}, below "
                    f"{REQUIRED_COVERAGE:.0%}; this run has failed"
                )


def control_warnings(scores: Iterable[AnswerScores]) -> Iterator[str]:
    """Yield a line for each judge that did not pass its controls."""
    for line in _refusals(scores, ("failed", "too_few", "unknown")):
        yield f"{line}; its scores are marked {FAILED_CONTROLS_MARK}, and no EFCB score contains them"


def control_failures(scores: Iterable[AnswerScores]) -> Iterator[str]:
    """Yield a line for each judge that failed its controls."""
    for line in _refusals(scores, ("failed",)):
        yield f"{line}; this run has failed"


def _refusals(scores: Iterable[AnswerScores], states: Sequence[State]) -> Iterator[str]:
    for judged in scores:
        for judge in judged.judges:
            if judge.state in states and judge.judgements:
                yield rejection_line(judge.title, judged.criterion, Acceptance(judge.state, judge.reason))


# --- models -----------------------------------------------------------------------------------------------------


def _columns(
    rows: Sequence[RatedAnswer], answers: JudgedAnswers, refused: Mapping[str, str]
) -> Iterator[AnswerScoreColumn]:
    instances = Instances(answers.problems, answers.seed)
    gathered = grouped(((row.judge, row.model, row.parameters), row) for row in rows)
    for (judge, model, parameters), group in sorted(gathered.items()):
        rated = [row for row in group if row.value is not None]
        claims = math.fsum(row.parts.get("claims", 0.0) for row in rated)
        false = math.fsum((row.claim_rate or 0.0) * row.parts.get("claims", 0.0) for row in rated)
        scores, maximum = _means(group), group[0].maximum
        yield AnswerScoreColumn(
            model=model,
            parameters=parameters,
            judge=judge,
            answers=len(group),
            rated=len(rated),
            value=instances.estimate(scores, maximum) if scores else None,
            parts=mean_parts([row.parts for row in rated]),
            strata={name: instances.by_label(scores, name, maximum) for name in STRATA},
            says_nothing=sum(row.says_nothing for row in rated),
            claim_rate=false / claims if claims else None,
            refused="; ".join(reason for title, reason in refused.items() if judge in (title, ALL_JUDGES)),
        )


def _means(rows: Sequence[RatedAnswer]) -> dict[str, float]:
    """Return the score of every instance: the mean over the samples that have a value."""
    values = grouped((row.problem_id, row.value) for row in rows if row.value is not None)
    return {identity: math.fsum(numbers) / len(numbers) for identity, numbers in values.items()}


# --- judges ----------------------------------------------------------------------------------------------------


def _trust(
    answers: JudgedAnswers, judged: JudgedTexts, key: JudgeKey, missing: MissingCounts, verdict: Acceptance
) -> JudgeTrust:
    keys = {key} | {(key[0], after) for after in judged.second.get(key, ())}
    rows = [row for row in answers.judgements if (row.judge, row.parameters) in keys]
    criterion = known_criterion(judged.criterion)
    agreed = consistency(judged.judges[key], orders=criterion.order_count if criterion else 1)
    problems = answers.problems_of(judged.criterion)
    rated = None if criterion is None else calibration(judged, key, criterion, problems)
    return JudgeTrust(
        judge=key[0],
        parameters=key[1],
        title=judge_title(key, judged),
        texts=len(judged.judges[key]),
        **judge_counts(rows),
        missing=sum(count for missed, count in missing.items() if missed[:2] in keys),
        consistency=agreed._asdict(),
        controls={name: control._asdict() for name, control in rated.controls.items()} if rated else {},
        unjudged_controls=rated.unjudged if rated else 0,
        precision=rated.precision if rated else None,
        recall=rated.recall if rated else None,
        in_order=rated.in_order if rated else None,
        state=verdict.state,
        reason=verdict.reason,
    )


def _alpha(judged: JudgedTexts) -> float | None:
    judges = [
        {text: TextScores({TOTAL: value.value}, (value.value,)) for text, value in texts.items()}
        for texts in judged.judges.values()
    ]
    return judge_agreement(judges).alpha


def _people(judged: JudgedTexts, people: Sequence[HumanRating]) -> Iterator[JudgeHumanAgreement]:
    criterion = known_criterion(judged.criterion)
    if criterion is None:
        return
    names = set(rated_score_names(criterion))
    rows = []
    for row in ratings_of_criterion(people, judged.criterion):
        values = {name: value for name, value in row.values.items() if value is not None}
        if set(values) == names == set(row.values):
            total = values["hallucination"] if criterion.then else criterion.value(values)
            rows.append(row.model_copy(update={"values": {TOTAL: total}}))
    by_title = {
        judge_title(key, judged): {text: value.value for text, value in texts.items()}
        for key, texts in judged.judges.items()
    }
    yield from judge_human_agreement(rows, by_title)
