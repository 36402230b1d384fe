"""Scores of judged answers to questions, by task and repository, with coverage and reliability of the graders.

The score of an instance is the mean over its samples that have a value; other numbers are means over instances, with a
seeded bootstrap over pull requests (clusters). A missing value is in no mean and lowers coverage.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from caretbench.judging.aggregation import TOTAL, GraderKey, TextScores, grader_agreement
from caretbench.judging.answers import TextOf, plain_answer
from caretbench.judging.controls import HALLUCINATIONS
from caretbench.profiles import PROFILES, profile_named
from caretbench.reports.frame import LoadedRun, missing_judgement_counts
from caretbench.reports.judged.instance_means import Instances, MissingCounts, grader_counts, grader_human_agreement
from caretbench.reports.judged.judged_answers import (
    ALL_GRADERS,
    JudgedAnswers,
    JudgedTexts,
    RatedAnswer,
    grader_title,
    mean_parts,
)
from caretbench.reports.judged.scores import AnswerScoreColumn, AnswerScores, GraderHumanAgreement, GraderTrust
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
    graders = [ModelInfo.model_validate(info) for info in run.manifest.get("graders") or ()]
    profile = profile_named(run.manifest.get("profile") or PROFILES[-1])
    seed = int(run.manifest.get("seed") or 0)
    return JudgedAnswers(problems, run.completions, run.judgements, graders, profile, seed, text_of)


def answer_scores_of(
    answers: JudgedAnswers, *, missing: MissingCounts | None = None, people: Sequence[HumanRating] = ()
) -> tuple[AnswerScores, ...]:
    """Return the scores of loaded answers, by criterion; ``people`` are ratings for validation."""
    return tuple(_judged(answers, judged, missing or {}, people) for judged in answers.texts())


def _judged(
    answers: JudgedAnswers, judged: JudgedTexts, missing: MissingCounts, people: Sequence[HumanRating]
) -> AnswerScores:
    several = len(judged.graders) > 1
    verdicts = {key: run_acceptance(answers, judged, key) for key in judged.graders}
    refused = {
        grader_title(key, judged): rejection_line(grader_title(key, judged), judged.criterion, verdict)
        for key, verdict in verdicts.items()
        if not verdict.accepted
    }
    combined = [row for row in answers.rows() if row.criterion == judged.criterion]
    by_grader = [row for row in answers.rows(by_grader=True) if row.criterion == judged.criterion]
    return AnswerScores(
        criterion=judged.criterion,
        maximum=judged.maximum,
        hallucinations=judged.form in HALLUCINATIONS,
        profile=answers.profile,
        columns=tuple(_columns(combined, answers, refused)),
        by_grader=tuple(_columns(by_grader, answers, refused)) if several else (),
        graders=tuple(_trust(answers, judged, key, missing, verdicts[key]) for key in judged.graders),
        alpha=_alpha(judged) if several else None,
        people=tuple(_people(judged, people)),
    )


def coverage_warnings(found: Iterable[AnswerScores]) -> Iterator[str]:
    """Yield a warning for each model with too few judged answers."""
    for judged in found:
        for column in judged.columns:
            if column.failed:
                yield (
                    f"{column.model}: {column.coverage:.1%} of the answers have a value by {judged.criterion}, below "
                    f"{REQUIRED_COVERAGE:.0%}; this run has failed"
                )


def control_warnings(found: Iterable[AnswerScores]) -> Iterator[str]:
    """Yield a line for each grader that did not pass its controls."""
    for line in _refusals(found, ("failed", "too_few", "unknown")):
        yield f"{line}; its scores are marked {FAILED_CONTROLS_MARK}, and no EFCB score contains them"


def control_failures(found: Iterable[AnswerScores]) -> Iterator[str]:
    """Yield a line for each grader that failed its controls."""
    for line in _refusals(found, ("failed",)):
        yield f"{line}; this run has failed"


def _refusals(found: Iterable[AnswerScores], states: Sequence[State]) -> Iterator[str]:
    for judged in found:
        for grader in judged.graders:
            if grader.state in states and grader.judgements:
                yield rejection_line(grader.title, judged.criterion, Acceptance(grader.state, grader.reason))


# --- models -----------------------------------------------------------------------------------------------------


def _columns(
    rows: Sequence[RatedAnswer], answers: JudgedAnswers, refused: Mapping[str, str]
) -> Iterator[AnswerScoreColumn]:
    instances = Instances(answers.problems, answers.seed)
    gathered: dict[tuple[str, str, str], list[RatedAnswer]] = defaultdict(list)
    for row in rows:
        gathered[row.grader, row.model, row.parameters].append(row)
    for (grader, model, parameters), group in sorted(gathered.items()):
        rated = [row for row in group if row.value is not None]
        claims = math.fsum(row.parts.get("claims", 0.0) for row in rated)
        false = math.fsum((row.claim_rate or 0.0) * row.parts.get("claims", 0.0) for row in rated)
        scores, maximum = _means(group), group[0].maximum
        yield AnswerScoreColumn(
            model=model,
            parameters=parameters,
            grader=grader,
            answers=len(group),
            rated=len(rated),
            value=instances.estimate(scores, maximum) if scores else None,
            parts=mean_parts([row.parts for row in rated]),
            strata={name: instances.by_label(scores, name, maximum) for name in STRATA},
            says_nothing=sum(row.says_nothing for row in rated),
            claim_rate=false / claims if claims else None,
            refused="; ".join(reason for title, reason in refused.items() if grader in (title, ALL_GRADERS)),
        )


def _means(rows: Sequence[RatedAnswer]) -> dict[str, float]:
    """Return the score of every instance: the mean over the samples that have a value."""
    values: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if row.value is not None:
            values[row.problem_id].append(row.value)
    return {identity: math.fsum(numbers) / len(numbers) for identity, numbers in values.items()}


# --- graders ----------------------------------------------------------------------------------------------------


def _trust(
    answers: JudgedAnswers, judged: JudgedTexts, key: GraderKey, missing: MissingCounts, verdict: Acceptance
) -> GraderTrust:
    keys = {key} | {(key[0], after) for after in judged.second.get(key, ())}
    rows = [row for row in answers.judgements if (row.grader, row.parameters) in keys]
    criterion = known_criterion(judged.criterion)
    agreed = consistency(judged.graders[key], orders=criterion.order_count if criterion else 1)
    problems = answers.problems_of(judged.criterion)
    rated = None if criterion is None else calibration(judged, key, criterion, problems)
    return GraderTrust(
        grader=key[0],
        parameters=key[1],
        title=grader_title(key, judged),
        texts=len(judged.graders[key]),
        **grader_counts(rows),
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
    graders = [
        {text: TextScores({TOTAL: value.value}, (value.value,)) for text, value in texts.items()}
        for texts in judged.graders.values()
    ]
    return grader_agreement(graders).alpha


def _people(judged: JudgedTexts, people: Sequence[HumanRating]) -> Iterator[GraderHumanAgreement]:
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
        grader_title(key, judged): {text: value.value for text, value in texts.items()}
        for key, texts in judged.graders.items()
    }
    yield from grader_human_agreement(rows, by_title)
