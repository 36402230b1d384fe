"""Judged texts of a run, inserted at carets or answers to questions: values by judge, a row for each completion.

A value is the mean over the repeats, and over judges if all of them judged the text. For a criterion in two steps it
is the share of the repeats in which the answer contains a hallucination: a statement that neither patch nor author
supports, or that one of them contradicts. A repeat in which a statement was not judged is omitted. An answer without
statements counts as a hallucination (:func:`hallucination`), since it is no truthful description.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple

import polars as pl

from caretbench.extraction.policies import get_policy
from caretbench.grouping import grouped
from caretbench.judging.aggregation import JudgeKey, TextKey
from caretbench.judging.answers import JudgedText, TextOf, answer_key, answer_texts, inserted_texts, plain_answer
from caretbench.judging.criteria import AnswerForm, criteria_for
from caretbench.judging.parsing import claims_in
from caretbench.problem import AnyCompletion, Caret, CompletionKey, Judgement, Problem, Profile
from caretbench.profiles import PROFILES, profile_named
from caretbench.reports.frame import LoadedRun, baselines_in, missing_judgement_counts
from caretbench.runs.judging.judge_requests import EMPTY_ANSWER, FIRST_STEP_FIELD
from caretbench.runs.judging.ratings import HumanRating, read_ratings
from caretbench.runs.run_folder import ModelInfo, RunFolder
from caretbench.runs.verdict import passed_by_completion
from caretbench.suites import suite_of_run
from caretbench.suites.base import Suite

FALSE_LABELS: Final = ("unsupported", "contradicted")
"""Labels of statements that are hallucinations."""

VALUE_RULE_VERSION: Final = "judged-answers@2"
"""Version of the rule from judgements to values. 2: an answer without a statement has the value 1, not 0."""


def hallucination(counts: Mapping[str, float]) -> float:
    """Return 1 if an answer contains a hallucination, else 0; ``counts`` are the numbers of ``claims`` and of labels.

    An answer without a statement gets 1. With 0, a silent model would be the most truthful one; without a value, a
    model would be measured only on the patches that it chose to describe.
    """
    return float(not counts["claims"] or any(counts.get(label, 0.0) > 0 for label in FALSE_LABELS))


class TextValue(NamedTuple):
    """Values of one answer by one judge: one per repeat, and the mean of every part.

    ``parts`` are the sub-scores; for a criterion in two steps, the numbers of statements (``claims``) by label.
    """

    by_repeat: Mapping[int, float]
    parts: Mapping[str, float]

    @property
    def value(self) -> float:
        """Mean over the repeats."""
        return math.fsum(self.by_repeat.values()) / len(self.by_repeat)

    @property
    def says_nothing(self) -> bool:
        """Return whether no statement was found in the answer in any repeat."""
        return self.parts.get("claims") == 0.0

    @property
    def claim_rate(self) -> float | None:
        """Share of the statements that are hallucinations; None without statements."""
        if not self.parts.get("claims"):
            return None
        return math.fsum(self.parts.get(label, 0.0) for label in FALSE_LABELS) / self.parts["claims"]


_NO_CLAIMS: Final = {"claims": 0.0} | dict.fromkeys(FALSE_LABELS, 0.0)
EMPTY_ANSWER_VALUE: Final = TextValue({0: hallucination(_NO_CLAIMS)}, _NO_CLAIMS)
"""Value of the empty answer for criteria about statements, for which no judge is called."""


class JudgedTexts(NamedTuple):
    """All texts that were judged by one criterion, with the criterion's settings.

    ``scores`` are the maxima of the sub-scores, whose sum is the value, or the mean of those in ``overall``.
    ``keys`` are the judges, ``judges`` those with a value of some text.
    """

    criterion: str
    form: AnswerForm
    maximum: float
    two_steps: bool
    judges: Mapping[JudgeKey, Mapping[TextKey, TextValue]]
    second: Mapping[JudgeKey, Sequence[str]]
    """Parameters of the second steps of a judge."""
    scores: Mapping[str, float] = {}
    overall: Sequence[str] = ()
    only: str | None = None
    subject: Literal["caret", "answer"] = "answer"
    keys: tuple[JudgeKey, ...] = ()

    @property
    def released(self) -> bool:
        """True if judgements are parsed and aggregated as in DevBench's released code."""
        return self.form == "final-sum"

    def value(self, judge: JudgeKey | None, text: TextKey) -> TextValue | None:
        """Return a judge's value of a text; for judge None the mean of all judges, if all judged it."""
        if self.two_steps and text[1] == EMPTY_ANSWER:
            return EMPTY_ANSWER_VALUE
        if judge is not None:
            return self.judges[judge].get(text)
        by_judge = [texts[text] for texts in self.judges.values() if text in texts]
        # Where a strict judge is missing, the mean of the others is higher: models would differ by who judged them.
        return _mean_of_judges(by_judge) if by_judge and len(by_judge) == len(self.judges) else None

    def rated_total(self, rating: HumanRating) -> float | None:
        """Return the value of a person's rating on the scale of this criterion; None if it has other scores."""
        values = {name: value for name, value in rating.values.items() if value is not None}
        names = {"hallucination"} if self.two_steps else set(self.scores)
        return _total(values, self.overall) if set(values) == names == set(rating.values) else None


def _answer_texts(judgements: Iterable[Judgement], judges: Sequence[ModelInfo]) -> Iterator[JudgedTexts]:
    """Yield the judged answers by criterion.

    A criterion without any value is included, to make this visible. A judge without any value is ignored in means. The
    judges' settings contain the scales and the links between first and second steps.
    """
    rows = grouped(((row.judge, row.parameters), row) for row in judgements if row.values)
    second = grouped(
        ((info.model, str(info.settings[FIRST_STEP_FIELD])), info.parameters)
        for info in judges
        if FIRST_STEP_FIELD in info.settings
    )
    answer_judges = [info for info in judges if info.settings.get("subject") == "answer"]
    for name, infos in sorted(grouped((str(info.settings["criterion"]), info) for info in answer_judges).items()):
        heard = [info for info in infos if (info.model, info.parameters) in rows][::-1] or infos
        settings: Mapping[str, Any] = heard[0].settings
        values: dict[JudgeKey, Mapping[TextKey, TextValue]] = {}
        for info in sorted(heard, key=lambda info: (info.model, info.parameters)):
            key = (info.model, info.parameters)
            # By the judge's own settings: a criterion's file may have been edited between two judges.
            if "then" in info.settings:
                # The last one, where the prompt of the second step has changed.
                verdicts = [row for after in second[key][-1:] for row in rows[key[0], after]]
                values[key] = _two_steps(rows[key], verdicts)
            else:
                overall: Any = info.settings.get("overall") or ()
                values[key] = _one_step(rows[key], overall)
        scores, parts = settings["scores"], settings.get("overall") or ()
        maximum = 1.0 if "then" in settings else _total(scores, parts)  # hallucination or none
        yield JudgedTexts(
            name, settings["form"], maximum, "then" in settings, values, second, scores, parts, keys=tuple(values)
        )


def _caret_texts(judgements: Iterable[Judgement], judges: Sequence[ModelInfo]) -> Iterator[JudgedTexts]:
    """Yield the judged texts at carets by criterion."""
    for name, rows in sorted(grouped((row.criterion, row) for row in judgements).items()):
        keys = tuple(sorted({(row.judge, row.parameters) for row in rows}))
        stated = [info.settings for info in judges if (info.model, info.parameters) in keys]
        values = next((row.values for row in rows if row.values), {})
        unstated = {"scores": dict.fromkeys(values, 10.0 / max(1, len(values)))}
        settings: Mapping[str, Any] = stated[-1] if stated else unstated
        scores = {str(part): float(top) for part, top in settings.get("scores", {}).items()}
        by_judge = grouped(((row.judge, row.parameters), row) for row in rows if row.values)
        yield JudgedTexts(
            name, settings.get("form", "scores"), math.fsum(scores.values()), False,
            {key: _one_step(texts) for key, texts in sorted(by_judge.items())}, {}, scores,
            only=settings.get("only"), subject="caret", keys=keys,
        )  # fmt: skip


def _total(values: Mapping[str, float], overall: Sequence[str]) -> float:
    """Return the mean of the scores ``overall``, or the sum of all. Rounded, so that equal sums have equal ranks."""
    if overall:
        return round(math.fsum(values[name] for name in overall) / len(overall), 9)
    return round(math.fsum(values.values()), 9)


def _one_step(rows: Iterable[Judgement], overall: Sequence[str] = ()) -> dict[TextKey, TextValue]:
    gathered: dict[TextKey, dict[int, Judgement]] = defaultdict(dict)
    for row in rows:
        gathered[row.problem_id, row.answer][row.repeat] = row
    return {
        text: TextValue(
            {repeat: _total(row.values, overall) for repeat, row in sorted(repeats.items())},
            mean_parts([row.values for row in repeats.values()]),
        )
        for text, repeats in gathered.items()
    }


def _two_steps(first: Iterable[Judgement], second: Iterable[Judgement]) -> dict[TextKey, TextValue]:
    labels = {(row.problem_id, row.answer, row.repeat): row.values for row in second}
    verdicts: dict[TextKey, dict[int, Mapping[str, float]]] = defaultdict(dict)
    for row in first:
        claims = claims_in(row.text)
        labelled = [labels.get((row.problem_id, answer_key(claim), row.repeat)) for claim in claims]
        judged = [label for label in labelled if label is not None]
        if len(judged) < len(claims):
            continue  # one that is missing may be the false one
        names = dict.fromkeys([*FALSE_LABELS, *(name for label in judged for name in label)])
        counts = {name: math.fsum(label.get(name, 0.0) for label in judged) for name in names}
        verdicts[row.problem_id, row.answer][row.repeat] = {"claims": float(len(claims))} | counts
    return {
        text: TextValue(
            {repeat: hallucination(counts) for repeat, counts in sorted(repeats.items())},
            mean_parts(list(repeats.values())),
        )
        for text, repeats in verdicts.items()
    }


def mean_parts(values: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of every part; a missing part counts as 0."""
    names = dict.fromkeys(name for entry in values for name in entry)
    return {name: math.fsum(entry.get(name, 0.0) for entry in values) / len(values) for name in names}


def _mean_of_judges(values: Sequence[TextValue]) -> TextValue:
    """Return the mean value of several judges, whose values take the place of repeats."""
    if len(values) == 1:
        return values[0]
    return TextValue(dict(enumerate(entry.value for entry in values)), mean_parts([entry.parts for entry in values]))


MissingCounts = Mapping[tuple[str, str, str], int]
"""Numbers of missing judgements by judge, parameters and criterion."""


class RatedCompletion(NamedTuple):
    """One completion under one criterion. ``value`` runs from 0 to the criterion's maximum.

    It is None if it is missing: such a row is in no mean, and lowers coverage. For criteria about hallucinations 1 is
    bad; ``says_nothing`` marks answers without statements, which have the value 1; ``claim_rate`` is the share of an
    answer's statements that are hallucinations. ``repeats`` are the values of the repeats.
    """

    problem_id: str
    model: str
    parameters: str
    sample: int
    value: float | None
    parts: Mapping[str, float]
    repeats: tuple[float, ...]
    says_nothing: bool
    claim_rate: float | None


@dataclass(frozen=True)
class JudgedRun:
    """Judged texts of a run, scored or not.

    Args:
        problems: Problems by id.
        completions: All completions.
        judgements: All judgements.
        manifest: The run's manifest, whose ``judges`` contain the scales of each criterion.
        missing: Numbers of missing judgements.
        ratings: Ratings by people.
        inserted: Returns the texts that the completions insert at carets.
        passed: Returns the keys of completions that passed, for criteria that judge only those.
        text_of: Returns the text that the judges saw of a raw answer to a question.
    """

    problems: Mapping[str, Problem]
    completions: Sequence[AnyCompletion]
    judgements: Sequence[Judgement]
    manifest: Mapping[str, Any]
    missing: MissingCounts = field(default_factory=dict)
    ratings: Sequence[HumanRating] = ()
    inserted: Callable[[], Sequence[JudgedText]] = tuple
    passed: Callable[[], Set[CompletionKey]] = frozenset
    text_of: TextOf = plain_answer

    @classmethod
    def of_folder(cls, folder: RunFolder, text_of: TextOf = plain_answer) -> JudgedRun:
        """Return the texts of a run's folder; the run need not be scored."""
        problems = {problem.id: problem for problem in folder.problems()}
        manifest, completions = folder.manifest(), list(folder.completions())
        policy, profile = manifest.policy, manifest.profile

        def passed() -> Set[CompletionKey]:
            verdicts = passed_by_completion(folder.scores(), problems, policy, profile)
            return {key for key, value in verdicts.items() if value}

        return cls(
            problems, completions, list(folder.judgements()), manifest.model_dump(mode="json"),
            missing_judgement_counts(folder), read_ratings(folder),
            lambda: tuple(inserted_texts(completions, problems, get_policy(policy), profile)), passed, text_of,
        )  # fmt: skip

    @classmethod
    def of_run(cls, run: LoadedRun, text_of: TextOf = plain_answer) -> JudgedRun:
        """Return the texts of a loaded run."""
        problems = {problem.id: problem for problem in run.problems}
        return cls(
            problems, run.completions, run.judgements, run.manifest, run.judgements_missing, run.ratings,
            lambda: run.inserted,
            lambda: set(run.own_rows.filter("passed").select(*KEY).iter_rows()),
            text_of,
        )  # fmt: skip

    @property
    def profile(self) -> Profile:
        """Profile of the run."""
        return profile_named(str(self.manifest.get("profile") or PROFILES[-1]))

    @cached_property
    def suite(self) -> Suite | None:
        """Suite of the run; None if it is not installed."""
        return suite_of_run(self.manifest.get("suite"))

    @cached_property
    def texts(self) -> tuple[JudgedTexts, ...]:
        """Judged texts, controls included, by criterion: those at carets, then answers to questions."""
        judges = [ModelInfo.model_validate(info) for info in self.manifest.get("judges") or ()]
        questions = {name for name, problem in self.problems.items() if not isinstance(problem.shown, Caret)}
        carets = (row for row in self.judgements if row.problem_id not in questions)
        return (*_caret_texts(carets, judges), *_answer_texts(self.judgements, judges))

    def problems_of(self, criterion: str) -> list[Problem]:
        """Return the problems whose checks name a criterion, or if there are none, those judged by it."""
        judged = {row.problem_id for row in self.judgements if row.criterion == criterion}
        return self.naming(criterion) or [problem for problem in self.problems.values() if problem.id in judged]

    def naming(self, criterion: str) -> list[Problem]:
        """Return the problems whose checks name a criterion (by its key)."""
        return [
            problem
            for problem in self.problems.values()
            if any(entry.key == criterion for entry in criteria_for(problem, self.profile))
        ]

    @cached_property
    def _inserted(self) -> Sequence[JudgedText]:
        return self.inserted()

    def shown(self, judged: JudgedTexts) -> Iterator[JudgedText]:
        """Yield the text of each completion that a criterion is about."""
        if judged.subject == "caret":
            passed = self.passed() if judged.only else None
            yield from (text for text in self._inserted if passed is None or text.completion.key in passed)
            return
        problems = {problem.id: problem for problem in self.problems_of(judged.criterion)}
        yield from answer_texts(self.completions, problems, self.profile, self.text_of)

    def rows(self, judged: JudgedTexts, judge: JudgeKey | None = None) -> Iterator[RatedCompletion]:
        """Yield a row for every completion, with the value of a judge, or the mean of all judges."""
        for completion, _, answer in self.shown(judged):
            value = judged.value(judge, (completion.problem_id, answer))
            yield RatedCompletion(
                completion.problem_id,
                completion.model,
                completion.parameters,
                completion.sample,
                value=None if value is None else value.value,
                parts={} if value is None else value.parts,
                repeats=() if value is None else tuple(value.by_repeat.values()),
                says_nothing=value is not None and value.says_nothing,
                claim_rate=None if value is None else value.claim_rate,
            )

    def model_rows(
        self, judged: JudgedTexts, judge: JudgeKey | None = None
    ) -> Iterator[tuple[tuple[str, str], list[RatedCompletion]]]:
        """Yield name and parameters of each model with its rows.

        A baseline is skipped if only some of its texts were judged (those that models gave too); at carets also a model
        of which none was.
        """
        baselines = baselines_in(self.manifest)
        for key, rows in grouped(((row.model, row.parameters), row) for row in self.rows(judged, judge)).items():
            rated = sum(row.value is not None for row in rows)
            if rated == len(rows) or (key[0] not in baselines and (rated or judged.subject == "answer")):
                yield key, rows


KEY = ("problem_id", "model", "parameters", "sample")
"""Key of a completion in tables."""

_VALUES = {
    "problem_id": pl.String, "model": pl.String, "parameters": pl.String, "sample": pl.Int64, "judged": pl.Float64,
    "says_nothing": pl.Boolean, "claim_rate": pl.Float64, "withheld": pl.String,
}  # fmt: skip


def judged_values(run: JudgedRun, refused: Mapping[str, str]) -> pl.DataFrame:
    """Return one row for every completion that was judged by a criterion of its problem.

    ``judged`` is the mean of all judges on the criterion's scale (for hallucinations 0 to 1, 1 is bad; for decisions
    the share of yes), or null. Answers without statements have the value 1 for hallucinations; ``says_nothing`` marks
    them. ``withheld`` is the reason for which scores must not include ``judged``, null if the judges passed their
    controls: ``refused`` has these reasons by criterion.
    """
    return pl.DataFrame(list(_value_lines(run, refused)), schema=_VALUES)


def _value_lines(run: JudgedRun, refused: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for judged in run.texts:
        named = {problem.id for problem in run.naming(judged.criterion)}
        at_carets = judged.subject == "caret"
        models = run.rows(judged) if at_carets else (row for _, rows in run.model_rows(judged) for row in rows)
        for row in models if judged.judges else ():
            if row.problem_id in named and (row.value is not None or not at_carets):
                fields = {name: getattr(row, name) for name in (*KEY, "says_nothing", "claim_rate")}
                yield fields | {"judged": row.value, "withheld": refused.get(judged.criterion)}
