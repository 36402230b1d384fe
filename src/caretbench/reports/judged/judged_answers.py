"""Judged answers of a run: values by answer and judge, and one row for each completion and criterion.

A value is the mean over the repeats, and over judges if all of them judged the answer. For a criterion in two steps it
is the share of the repeats in which the answer contains a hallucination: a statement that neither patch nor author
supports, or that one of them contradicts. A repeat in which a statement was not judged is omitted. An answer without
statements counts as a hallucination (:func:`hallucination`), since it is no truthful description.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from caretbench.grouping import grouped
from caretbench.judging.aggregation import JudgeKey, TextKey
from caretbench.judging.answers import TextOf, answer_key, answer_texts, plain_answer
from caretbench.judging.criteria import criteria_for
from caretbench.judging.parsing import claims_in
from caretbench.problem import AnyCompletion, Judgement, Problem, Profile
from caretbench.reports.frame import model_titles
from caretbench.runs.judging.judge_requests import EMPTY_ANSWER, FIRST_STEP_FIELD
from caretbench.runs.run_folder import ModelInfo, RunFolder
from caretbench.suites import baselines_of_run

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
    """All answers that were judged by one criterion, with the criterion's settings."""

    criterion: str
    form: str
    maximum: float
    two_steps: bool
    judges: Mapping[JudgeKey, Mapping[TextKey, TextValue]]
    second: Mapping[JudgeKey, tuple[str, ...]]
    """Parameters of the second steps of a judge."""

    def value(self, judge: JudgeKey | None, text: TextKey) -> TextValue | None:
        """Return a judge's value of an answer; for judge None the mean of all judges, if all judged it."""
        if self.two_steps and text[1] == EMPTY_ANSWER:
            return EMPTY_ANSWER_VALUE
        if judge is not None:
            return self.judges[judge].get(text)
        by_judge = [texts[text] for texts in self.judges.values() if text in texts]
        # Where a strict judge is missing, the mean of the others is higher: models would differ by who judged them.
        return _mean_of_judges(by_judge) if by_judge and len(by_judge) == len(self.judges) else None


def read_judged_texts(judgements: Iterable[Judgement], judges: Sequence[ModelInfo]) -> tuple[JudgedTexts, ...]:
    """Return the judged answers by criterion; texts at carets are skipped.

    A criterion without any value is included, to make this visible. A judge without any value is ignored in means. The
    judges' settings contain the scales and the links between first and second steps.
    """
    rows = grouped(((row.judge, row.parameters), row) for row in judgements if row.values)
    second: dict[JudgeKey, tuple[str, ...]] = defaultdict(tuple)
    for info in judges:
        if FIRST_STEP_FIELD in info.settings:
            second[info.model, str(info.settings[FIRST_STEP_FIELD])] += (info.parameters,)
    values: dict[str, dict[JudgeKey, Mapping[TextKey, TextValue]]] = defaultdict(dict)
    silent: dict[str, dict[JudgeKey, Mapping[TextKey, TextValue]]] = defaultdict(dict)
    settings: dict[str, Mapping[str, Any]] = {}
    for info in judges:
        key = (info.model, info.parameters)
        if info.settings.get("subject") != "answer":
            continue
        name = str(info.settings["criterion"])
        if key not in rows:
            silent[name][key] = {}
            settings.setdefault(name, info.settings)
            continue
        settings[name] = info.settings
        if "then" in info.settings:
            # The last one, where the prompt of the second step has changed.
            verdicts = [row for after in second[key][-1:] for row in rows[info.model, after]]
            values[name][key] = _two_steps(rows[key], verdicts)
        else:
            values[name][key] = _one_step(rows[key], info.settings)
    values = silent | values
    return tuple(
        JudgedTexts(name, str(info["form"]), _maximum(info), "then" in info, dict(sorted(values[name].items())), second)
        for name, info in sorted(settings.items())
    )


def _maximum(settings: Mapping[str, Any]) -> float:
    tops: Mapping[str, float] = settings["scores"]
    if "then" in settings:
        return 1.0  # hallucination or none
    if overall := settings.get("overall"):
        return math.fsum(tops[name] for name in overall) / len(overall)
    return math.fsum(tops.values())


def _one_step(rows: Iterable[Judgement], settings: Mapping[str, Any]) -> dict[TextKey, TextValue]:
    overall: Sequence[str] = settings.get("overall") or ()
    gathered: dict[TextKey, dict[int, Judgement]] = defaultdict(dict)
    for row in rows:
        gathered[row.problem_id, row.answer][row.repeat] = row

    def value(values: Mapping[str, float]) -> float:
        if overall:
            return math.fsum(values[name] for name in overall) / len(overall)
        return math.fsum(values.values())

    return {
        text: TextValue(
            {repeat: round(value(row.values), 9) for repeat, row in sorted(repeats.items())},
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
    return TextValue(
        {place: entry.value for place, entry in enumerate(values)}, mean_parts([entry.parts for entry in values])
    )


ALL_JUDGES: Final = "all judges"


class RatedAnswer(NamedTuple):
    """One completion under one criterion. ``value`` runs from 0 to the criterion's ``maximum``.

    It is None if it is missing: such a row is in no mean, and lowers coverage. For criteria about hallucinations 1 is
    bad; ``says_nothing`` marks answers without statements, which have the value 1; ``claim_rate`` is the share of an
    answer's statements that are hallucinations. ``repeats`` are the values of the repeats.
    """

    problem_id: str
    model: str
    parameters: str
    sample: int
    criterion: str
    judge: str
    maximum: float
    value: float | None
    parts: Mapping[str, float]
    repeats: tuple[float, ...]
    says_nothing: bool
    claim_rate: float | None


@dataclass(frozen=True)
class JudgedAnswers:
    """Judged answers of a run to questions.

    ``text_of`` returns the text that the judges saw of a raw answer.
    """

    problems: Mapping[str, Problem]
    completions: Sequence[AnyCompletion]
    judgements: Sequence[Judgement]
    judges: Sequence[ModelInfo]
    profile: Profile = "default"
    seed: int = 0
    text_of: TextOf = plain_answer

    @classmethod
    def from_folder(cls, folder: RunFolder, text_of: TextOf = plain_answer) -> JudgedAnswers:
        """Return the answers of a run's folder, scored or not."""
        problems = {problem.id: problem for problem in folder.problems()}
        manifest = folder.manifest()
        return cls(
            problems, list(folder.completions()), list(folder.judgements()), manifest.judges,
            manifest.profile, manifest.seed, text_of,
        )  # fmt: skip

    def texts(self) -> tuple[JudgedTexts, ...]:
        """Return the judged answers, controls included, by criterion."""
        return read_judged_texts(self.judgements, self.judges)

    def problems_of(self, criterion: str) -> list[Problem]:
        """Return the problems whose checks name a criterion (by its key), or if there are none, those judged by it."""
        named = [
            problem
            for problem in self.problems.values()
            if any(entry.key == criterion for entry in criteria_for(problem, self.profile))
        ]
        if named:
            return named
        judged = {row.problem_id for row in self.judgements if row.criterion == criterion}
        return [problem for problem in self.problems.values() if problem.id in judged]

    def rows(self, *, by_judge: bool = False) -> Iterator[RatedAnswer]:
        """Yield a row for every completion and criterion, with the mean of all judges, or for each judge.

        A baseline is skipped if only some of its answers were judged (those that models gave too).
        """
        for judged in self.texts():
            problems = {problem.id: problem for problem in self.problems_of(judged.criterion)}
            judges: Sequence[JudgeKey | None] = list(judged.judges)
            if not by_judge and len(judges) > 1:
                judges = [None]
            for judge in judges:
                yield from self._rows(judged, judge, problems)

    def _rows(
        self, judged: JudgedTexts, judge: JudgeKey | None, problems: Mapping[str, Problem]
    ) -> Iterator[RatedAnswer]:
        by_model: dict[tuple[str, str], list[RatedAnswer]] = defaultdict(list)
        for completion, _, answer in answer_texts(self.completions, problems, self.profile, self.text_of):
            value = judged.value(judge, (completion.problem_id, answer))
            row = _row(completion, judged, ALL_JUDGES if judge is None else judge_title(judge, judged), value)
            by_model[completion.model, completion.parameters].append(row)
        baselines = baselines_of_run(next(iter(problems.values())).suite) if problems else ()
        for (model, _), rows in by_model.items():
            if model in baselines and any(row.value is None for row in rows):
                continue
            yield from rows


def judge_title(judge: JudgeKey, judged: JudgedTexts) -> str:
    """Return the title of a judge: its name, with the start of the parameter hash if it has several parameters."""
    return model_titles(judged.judges)[judge]


def _row(completion: AnyCompletion, judged: JudgedTexts, judge: str, value: TextValue | None) -> RatedAnswer:
    return RatedAnswer(
        problem_id=completion.problem_id,
        model=completion.model,
        parameters=completion.parameters,
        sample=completion.sample,
        criterion=judged.criterion,
        judge=judge,
        maximum=judged.maximum,
        value=None if value is None else value.value,
        parts={} if value is None else value.parts,
        repeats=() if value is None else tuple(value.by_repeat.values()),
        says_nothing=value is not None and value.says_nothing,
        claim_rate=None if value is None else value.claim_rate,
    )
