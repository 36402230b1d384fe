"""Scores by criterion, model, and part of the problems, with reliability and agreement of the judges.

The score of an instance is the mean over its samples that have a value. Other numbers are means over instances, with a
seeded bootstrap over clusters. The overall score of DevBench's released judge is computed as in its code: the
unweighted mean over the means of its files (one for each language and category), with the percentile bootstrap over all
instances.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple

from caretbench.grouping import grouped
from caretbench.judging.aggregation import JudgeKey, TextKey, judge_agreement
from caretbench.judging.answers import answer_key
from caretbench.judging.controls import (
    EMPTY,
    HALLUCINATIONS,
    INSTRUCTION_CONTROLS,
    OTHER,
    REFERENCE,
    control_names,
    default_controls,
)
from caretbench.judging.criteria import AnswerForm, instructed_problems
from caretbench.metrics.agreement import MINIMUM_ITEMS, alpha_of_people, item_estimate, replacement_test
from caretbench.metrics.correlation import mean_difference_statistic, pearson_statistic, spearman_statistic
from caretbench.metrics.intervals import RESAMPLES, bootstrap_mean
from caretbench.problem import Judgement, Problem
from caretbench.reports.estimates import ReportedNumber
from caretbench.reports.frame import baselines_in, model_titles
from caretbench.reports.judged.judged_texts import JudgedRun, JudgedTexts, RatedCompletion, mean_parts
from caretbench.reports.judged.scores import (
    DecisionAgreement,
    JudgeDecisions,
    JudgedScores,
    JudgeHumanAgreement,
    JudgePair,
    JudgeTrust,
    RoundDecisions,
    ScoreCell,
    ScoreColumn,
)
from caretbench.reports.judged.trust import (
    Acceptance,
    Calibration,
    acceptance_of,
    calibration,
    caret_calibration,
    consistency,
    decision_calibration,
    known_criterion,
)
from caretbench.reports.results.run_settings import display_order, variant_titles
from caretbench.runs.judging.ratings import HumanRating, ratings_of_criterion
from caretbench.suites.suite_types import FAILED_CONTROLS_MARK

STRATA: Final[Mapping[str, Sequence[tuple[str, ...]]]] = {
    "caret": (("language",), ("category",), ("language", "category")),
    "answer": (("task",), ("repository",)),
}
"""Labels of the breakdowns, by what is judged."""

_STRATUM_RESAMPLES: Final = {"caret": 2000, "answer": RESAMPLES}

ALL_JUDGES: Final = "all judges"


def judged_scores(run: JudgedRun) -> tuple[JudgedScores, ...]:
    """Return the scores of a run by criterion: those at carets, then those of answers to questions."""
    return tuple(_scores(run, judged) for judged in run.texts)


def _scores(run: JudgedRun, judged: JudgedTexts) -> JudgedScores:
    titles = model_titles(judged.keys)
    several = len(judged.judges) > 1
    judges = tuple(_trust(run, judged, key, titles[key]) for key in judged.keys)
    refused = {judge.title: judge.rejection(judged.criterion) for judge in judges if judge.state != "accepted"}
    values = [{text: value.value for text, value in texts.items()} for texts in judged.judges.values()]
    agreement = judge_agreement(values)
    named = [titles[key] for key in judged.judges]
    return JudgedScores(
        criterion=judged.criterion,
        subject=judged.subject,
        scores=judged.scores,
        maximum=judged.maximum,
        released=judged.released,
        only=judged.only,
        hallucinations=judged.form in HALLUCINATIONS,
        policy=str(run.manifest.get("policy")),
        profile=run.profile,
        columns=tuple(_columns(run, judged, None, ALL_JUDGES if several else named[0], refused)) if named else (),
        by_judge=tuple(
            column
            for key, title in zip(judged.judges, named, strict=True)
            if several
            for column in _columns(run, judged, key, title, refused)
        ),
        judges=judges,
        alpha=agreement.alpha,
        alpha_texts=agreement.texts,
        pairs=tuple(
            JudgePair(**pair._asdict() | {"first": named[pair.first], "second": named[pair.second]})
            for pair in agreement.pairs
        ),
        people=tuple(_people(run, judged, dict(zip(named, values, strict=True)))),
    )


# --- models -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Instances:
    """Problems of a run, over which scores are averaged.

    With ``released`` they count as independent, as in DevBench's released code; else they are resampled by cluster.
    """

    problems: Mapping[str, Problem]
    seed: int
    released: bool = False

    def estimate(self, scores: Mapping[str, float], maximum: float, resamples: int = RESAMPLES) -> ReportedNumber:
        """Return the mean over instances with its interval; the bootstrap uses scores divided by ``maximum``."""
        order = sorted(scores)
        problems = [self.problems[identity] for identity in order]
        interval = bootstrap_mean(
            [scores[identity] / maximum for identity in order],
            seed=self.seed,
            clusters=None if self.released else [problem.cluster for problem in problems],
            overlap_groups=None if self.released else [problem.overlap_group for problem in problems],
            method="percentile" if self.released else "bca",
            resamples=resamples,
        )
        return ReportedNumber.from_interval(interval, math.fsum(scores.values()) / len(scores), len(scores), maximum)

    def parts(
        self, scores: Mapping[str, float], names: Sequence[str]
    ) -> list[tuple[tuple[str, ...], dict[str, float]]]:
        """Return the scores by the values of some labels, sorted; problems without one of them are skipped."""
        parts: dict[tuple[str, ...], dict[str, float]] = defaultdict(dict)
        for identity, score in scores.items():
            problem = self.problems[identity]
            if all(name in problem.labels for name in names):
                parts[tuple(problem.label(name) for name in names)][identity] = score
        return sorted(parts.items())


def _columns(
    run: JudgedRun, judged: JudgedTexts, judge: JudgeKey | None, title: str, refused: Mapping[str, str]
) -> Iterator[ScoreColumn]:
    """Yield the scores of each model by one judge, or by all; models first, then baselines."""
    instances = Instances(run.problems, int(run.manifest.get("seed") or 0), judged.released)
    by_model = dict(run.model_rows(judged, judge))
    titles, baselines = variant_titles(run.manifest, by_model), baselines_in(run.manifest)
    for key in sorted(by_model, key=lambda key: display_order(run.manifest, *key)):
        rows = by_model[key]
        rated = [row for row in rows if row.value is not None]
        scores = _means((row.problem_id, row.value) for row in rated if row.value is not None)
        claims = math.fsum(row.parts.get("claims", 0.0) for row in rated)
        false = math.fsum((row.claim_rate or 0.0) * row.parts.get("claims", 0.0) for row in rated)
        yield ScoreColumn(
            model=key[0],
            parameters=key[1],
            title=titles[key],
            baseline=key[0] in baselines,
            judge=title,
            answers=len(rows),
            rated=len(rated),
            value=_overall(instances, scores, judged.maximum) if scores else None,
            parts=dict(_parts(instances, judged, rated)),
            strata=dict(_strata(instances, scores, judged)),
            says_nothing=sum(row.says_nothing for row in rated),
            claim_rate=false / claims if claims else None,
            refused="; ".join(reason for name, reason in refused.items() if title in (name, ALL_JUDGES)),
        )


def _means(values: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return the score of every instance: the mean over the samples that have a value."""
    return {identity: math.fsum(numbers) / len(numbers) for identity, numbers in grouped(values).items()}


def _overall(instances: Instances, scores: Mapping[str, float], maximum: float) -> ReportedNumber:
    total = instances.estimate(scores, maximum)
    files = [list(part.values()) for _, part in instances.parts(scores, ("language", "category"))]
    if not instances.released or not files:
        return total
    return total.model_copy(update={"value": math.fsum(math.fsum(part) / len(part) for part in files) / len(files)})


def _parts(
    instances: Instances, judged: JudgedTexts, rated: Sequence[RatedCompletion]
) -> Iterator[tuple[str, ReportedNumber]]:
    """Yield the means of the sub-scores: at carets over instances, of answers and statements over answers."""
    if judged.subject == "answer":
        for name, value in mean_parts([row.parts for row in rated]).items() if rated else ():
            yield name, ReportedNumber(value=value, problems=len({row.problem_id for row in rated}))
    elif len(judged.scores) > 1:
        for name, top in judged.scores.items():
            yield name, instances.estimate(_means((row.problem_id, row.parts[name]) for row in rated), top)


def _strata(
    instances: Instances, scores: Mapping[str, float], judged: JudgedTexts
) -> Iterator[tuple[str, tuple[ScoreCell, ...]]]:
    for names in STRATA[judged.subject]:
        cells = [
            ScoreCell(
                labels=dict(zip(names, values, strict=True)),
                value=instances.estimate(part, judged.maximum, _STRATUM_RESAMPLES[judged.subject]),
            )
            for values, part in instances.parts(scores, names)
        ]
        if cells:
            yield " / ".join(names), tuple(cells)


# --- judges -----------------------------------------------------------------------------------------------------


def _trust(run: JudgedRun, judged: JudgedTexts, key: JudgeKey, title: str) -> JudgeTrust:
    rows, missing = _judgements(run, judged, key)
    texts, criterion = judged.judges.get(key, {}), known_criterion(judged.criterion)
    known = _known_decisions(run, judged, rows) if judged.form == "decision" else None
    rated, verdict = _calibrated(run, judged, key, known)
    costs = [row.cost for row in rows if row.cost is not None]
    return JudgeTrust(
        judge=key[0],
        parameters=key[1],
        title=title,
        texts=len(texts),
        judgements=len(rows),
        unreadable=sum(not row.values for row in rows),
        tried_again=sum(row.attempts > 1 for row in rows),
        missing=missing,
        cost=math.fsum(costs) if costs else None,
        consistency=consistency(texts, orders=criterion.order_count if criterion else 1)._asdict(),
        controls={name: control._asdict() for name, control in rated.controls.items()},
        unjudged_controls=rated.unjudged,
        precision=rated.precision,
        recall=rated.recall,
        in_order=rated.in_order,
        state=verdict.state,
        reason=verdict.reason,
        decisions=None if known is None else judge_decisions(rows, known),
    )


def _judgements(run: JudgedRun, judged: JudgedTexts, key: JudgeKey) -> tuple[list[Judgement], int]:
    """Return a judge's judgements by a criterion, of both steps if it has two, and the number of missing ones."""
    keys = {key} | {(key[0], after) for after in judged.second.get(key, ())}

    def counts(judge: JudgeKey, criterion: str) -> bool:
        # The second step of a criterion about statements has another name.
        return judge in keys and (judged.subject == "answer" or criterion == judged.criterion)

    rows = [row for row in run.judgements if counts((row.judge, row.parameters), row.criterion)]
    return rows, sum(count for missed, count in run.missing.items() if counts(missed[:2], missed[2]))


def _calibrated(
    run: JudgedRun, judged: JudgedTexts, key: JudgeKey, known: KnownDecisions | None
) -> tuple[Calibration, Acceptance]:
    """Return the calibration of a judge by its controls, and the verdict on it."""
    texts = judged.judges.get(key, {})
    if known is not None:
        rated = decision_calibration(texts, known.controls)
        return rated, acceptance_of(rated, INSTRUCTION_CONTROLS)
    if judged.subject == "caret":
        rated = caret_calibration(texts, _control_texts(run, list(run.problems.values()), judged.form), judged.maximum)
        # The doubled reference is neither right nor wrong.
        return rated, acceptance_of(rated, (REFERENCE, OTHER, EMPTY))
    criterion = known_criterion(judged.criterion)
    if criterion is None:
        return Calibration({}, 0), Acceptance("unknown", "the controls of this criterion are not known")
    rated = calibration(judged, key, criterion, run.problems_of(judged.criterion))
    return rated, acceptance_of(rated, control_names(criterion))


def _control_texts(run: JudgedRun, problems: Sequence[Problem], form: AnswerForm) -> Mapping[str, Mapping[str, str]]:
    return (run.suite.caret_controls if run.suite else default_controls)(problems, form)


def _known_decisions(run: JudgedRun, judged: JudgedTexts, rows: Sequence[Judgement]) -> KnownDecisions:
    controls = _control_texts(run, instructed_problems(list(run.problems.values()), run.profile), "decision")
    texts = {(completion.problem_id, answer): text for completion, text, answer in run.shown(judged)}

    @cache
    def predicate(key: TextKey) -> bool | None:
        problem = run.problems[key[0]]
        if run.suite is None or not run.suite.decides(problem):
            return None
        return not run.suite.failed_predicates(problem, texts[key])

    people = people_decisions(ratings_of_criterion(run.ratings, judged.criterion), judged.scores)
    return KnownDecisions(judged_controls(controls, rows), texts.keys(), predicate, people)


def _people(
    run: JudgedRun, judged: JudgedTexts, judges: Mapping[str, Mapping[TextKey, float]]
) -> Iterator[JudgeHumanAgreement]:
    """Yield the agreement of each judge with people; judges with fewer than three common texts are skipped."""
    ratings = ratings_of_criterion(run.ratings, judged.criterion)
    totals = [(row, total) for row in ratings if (total := judged.rated_total(row)) is not None]
    for title, texts_of_judge in judges.items():
        by_text: dict[TextKey, dict[str, float]] = defaultdict(dict)
        by_person: dict[str, dict[TextKey, float]] = defaultdict(dict)
        for row, total in totals:
            if (text := (row.problem_id, row.answer)) in texts_of_judge:
                by_text[text][row.rater] = by_person[row.rater][text] = total
        if len(by_text) < MINIMUM_ITEMS:
            continue
        texts = sorted(by_text)
        people = [math.fsum(by_text[text].values()) / len(by_text[text]) for text in texts]
        judge = [texts_of_judge[text] for text in texts]
        spearman = item_estimate(spearman_statistic(judge, people))
        replacement = replacement_test({text: texts_of_judge[text] for text in texts}, by_person)
        yield JudgeHumanAgreement(
            judge=title, texts=len(texts), raters=len(by_person), pearson=pearson_statistic(judge, people).estimate,
            spearman=spearman.value, mean_difference=mean_difference_statistic(judge, people).estimate or 0.0,
            alpha=alpha_of_people(by_text),
            spearman_interval=None if spearman.low is None or spearman.high is None else (spearman.low, spearman.high),
            simulated=any(row.simulated for row, _ in totals), winning_rate=replacement.winning_rate,
            passes=replacement.passes, reason=replacement.reason,
        )  # fmt: skip


# --- decisions ----------------------------------------------------------------------------------------------------
# Yes (the instruction is followed) or no. A text that was judged in ten rounds counts ten times.


class KnownDecisions(NamedTuple):
    """Known decisions about the judged texts of a run.

    Args:
        controls: Names of the judged controls, by text.
        answers: The models' texts; predicates are compared on these.
        predicate: Returns the decision of a problem's predicates about a text; None where they do not decide.
        people: Shares of people who said yes, by text.
    """

    controls: Mapping[TextKey, str]
    answers: Set[TextKey]
    predicate: Callable[[TextKey], bool | None]
    people: Mapping[TextKey, float]


def decision_agreement(pairs: Sequence[tuple[bool, bool]]) -> DecisionAgreement:
    """Return agreement, precision and recall of a judge's yes, of its decisions with the known ones.

    None where nothing is divided by.
    """
    yes, known_yes = sum(said for said, _ in pairs), sum(known for _, known in pairs)
    both = sum(said and known for said, known in pairs)
    return DecisionAgreement(
        decisions=len(pairs),
        agreement=sum(said == known for said, known in pairs) / len(pairs) if pairs else None,
        precision=both / yes if yes else None,
        recall=both / known_yes if known_yes else None,
    )


def judge_decisions(judgements: Sequence[Judgement], known: KnownDecisions) -> JudgeDecisions:
    """Return the decisions of one judge, of its judgements by the criterion, compared with what is known."""
    by_repeat = grouped((row.repeat, row) for row in judgements)
    rounds = [_round(repeat, by_repeat[repeat], known) for repeat in sorted(by_repeat)]
    return JudgeDecisions(**_agreements(judgements, known), rounds=tuple(rounds) if len(rounds) > 1 else ())


def _agreements(rows: Iterable[Judgement], known: KnownDecisions) -> dict[str, DecisionAgreement]:
    """Return the agreement of judgements with controls, predicates and people."""
    by_source: dict[str, list[tuple[bool, bool]]] = {"known": [], "predicate": [], "people": []}
    for row in rows:
        text, said = (row.problem_id, row.answer), _said(row)
        if said is None:
            continue
        if text in known.controls:
            by_source["known"].append((said, known.controls[text] == REFERENCE))
        if text in known.answers and (decided := known.predicate(text)) is not None:
            by_source["predicate"].append((said, decided))
        if text in known.people and known.people[text] != 0.5:  # a tie decides nothing
            by_source["people"].append((said, known.people[text] > 0.5))
    return {name: decision_agreement(decisions) for name, decisions in by_source.items()}


def _said(row: Judgement) -> bool | None:
    """Return the decision of a judgement; None if it could not be read."""
    return next((value >= 0.5 for value in row.values.values()), None)


def _round(repeat: int, rows: Sequence[Judgement], known: KnownDecisions) -> RoundDecisions:
    said = [decision for row in rows if (decision := _said(row)) is not None]
    return RoundDecisions(
        number=repeat + 1,
        judged=len(said),
        unreadable=len(rows) - len(said),
        yes=sum(said) / len(said) if said else None,
        **_agreements(rows, known),
    )


def judged_controls(controls: Mapping[str, Mapping[str, str]], rows: Iterable[Judgement]) -> dict[TextKey, str]:
    """Return the names of the controls by text, of the problems whose controls were judged.

    A reference that a model wrote is a control only where another control was judged too.
    """
    judged = {(row.problem_id, row.answer) for row in rows}
    judged_names: dict[TextKey, str] = {}
    for problem, named in controls.items():
        texts = {(problem, answer_key(text)): name for name, text in named.items()}
        if any(text in judged for text, name in texts.items() if name != REFERENCE):
            judged_names |= texts
    return judged_names


def people_decisions(ratings: Iterable[HumanRating], names: Iterable[str]) -> dict[TextKey, float]:
    """Return the share of people who said yes about each text, of ratings by the criterion's score."""
    expected = set(names)
    by_text = grouped(
        ((row.problem_id, row.answer), row.total)
        for row in ratings
        if row.total is not None and set(row.values) == expected
    )
    return {text: sum(totals) / len(totals) for text, totals in by_text.items()}


# --- messages ---------------------------------------------------------------------------------------------------


def coverage_warnings(scores: Iterable[JudgedScores]) -> Iterator[str]:
    """Yield a warning for each model with too few judged answers."""
    for judged in scores:
        for column in judged.columns:
            if column.coverage < judged.required_coverage:
                yield (
                    f"{column.title}: {column.coverage:.1%} of the answers have a value by {judged.criterion}, below "
                    f"{judged.required_coverage:.0%}; this run has failed"
                )


def control_warnings(scores: Iterable[JudgedScores]) -> Iterator[str]:
    """Yield a line for each judge that did not pass its controls."""
    for judged in scores:
        what = f"scores are no accepted measure of quality, and are marked {FAILED_CONTROLS_MARK}"
        if judged.subject == "answer":
            what = f"scores are marked {FAILED_CONTROLS_MARK}, and no EFCB score contains them"
        elif any(judge.decisions for judge in judged.judges):
            what = "decisions do not measure whether instructions are followed"
        for line in _refusals(judged):
            yield f"{line}; its {what}"


def control_failures(scores: Iterable[JudgedScores]) -> Iterator[str]:
    """Yield a line for each judge that failed its controls."""
    for judged in scores:
        for line in _refusals(judged, only_failed=True):
            yield f"{line}; this run has failed"


def refused_criteria(scores: Iterable[JudgedScores]) -> dict[str, str]:
    """Return the reasons for which scores must not include the values of a criterion."""
    reasons = {judged.criterion: "; ".join(_refusals(judged)) for judged in scores}
    return {criterion: reason for criterion, reason in reasons.items() if reason}


def _refusals(judged: JudgedScores, *, only_failed: bool = False) -> Iterator[str]:
    for judge in judged.judges:
        if judge.judgements and (judge.state == "failed" if only_failed else judge.state != "accepted"):
            yield judge.rejection(judged.criterion)
