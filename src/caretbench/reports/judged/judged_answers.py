"""Judged answers of a run: one row for each completion and criterion, for suites and reports."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from caretbench.judging.aggregation import GraderKey
from caretbench.judging.answers import TextOf, answer_texts, plain_answer
from caretbench.judging.criterion_choice import criteria_for
from caretbench.problem import AnyCompletion, Judgement, Problem, Profile
from caretbench.reports.frame import model_titles
from caretbench.reports.judged.answer_values import JudgedTexts, TextValue, read_judged_texts
from caretbench.runs.run_folder import ModelInfo, RunFolder
from caretbench.suites import baselines_of_run

ALL_GRADERS: Final = "all graders"


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
    grader: str
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
    graders: Sequence[ModelInfo]
    profile: Profile = "default"
    seed: int = 0
    text_of: TextOf = plain_answer

    @classmethod
    def from_folder(cls, folder: RunFolder, text_of: TextOf = plain_answer) -> JudgedAnswers:
        """Return the answers of a run's folder, scored or not."""
        problems = {problem.id: problem for problem in folder.problems()}
        manifest = folder.manifest()
        return cls(
            problems, list(folder.completions()), list(folder.judgements()), manifest.graders,
            manifest.profile, manifest.seed, text_of,
        )  # fmt: skip

    def texts(self) -> tuple[JudgedTexts, ...]:
        """Return the judged answers, controls included, by criterion."""
        return read_judged_texts(self.judgements, self.graders)

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

    def rows(self, *, by_grader: bool = False) -> Iterator[RatedAnswer]:
        """Yield a row for every completion and criterion, with the mean of all graders, or for each grader.

        A baseline is skipped if only some of its answers were judged (those that models gave too).
        """
        for judged in self.texts():
            problems = {problem.id: problem for problem in self.problems_of(judged.criterion)}
            graders: Sequence[GraderKey | None] = list(judged.graders)
            if not by_grader and len(graders) > 1:
                graders = [None]
            for grader in graders:
                yield from self._rows(judged, grader, problems)

    def _rows(
        self, judged: JudgedTexts, grader: GraderKey | None, problems: Mapping[str, Problem]
    ) -> Iterator[RatedAnswer]:
        found: dict[tuple[str, str], list[RatedAnswer]] = defaultdict(list)
        for completion, _, answer in answer_texts(self.completions, problems, self.profile, self.text_of):
            value = judged.value(grader, (completion.problem_id, answer))
            row = _row(completion, judged, ALL_GRADERS if grader is None else grader_title(grader, judged), value)
            found[completion.model, completion.parameters].append(row)
        baselines = baselines_of_run(next(iter(problems.values())).suite) if problems else ()
        for (model, _), rows in found.items():
            if model in baselines and any(row.value is None for row in rows):
                continue
            yield from rows


def grader_title(grader: GraderKey, judged: JudgedTexts) -> str:
    """Return the title of a grader: its name, with the start of the parameter hash if it has several parameters."""
    return model_titles(judged.graders)[grader]


def _row(completion: AnyCompletion, judged: JudgedTexts, grader: str, value: TextValue | None) -> RatedAnswer:
    return RatedAnswer(
        problem_id=completion.problem_id,
        model=completion.model,
        parameters=completion.parameters,
        sample=completion.sample,
        criterion=judged.criterion,
        grader=grader,
        maximum=judged.maximum,
        value=None if value is None else value.value,
        parts={} if value is None else value.parts,
        repeats=() if value is None else tuple(value.by_repeat.values()),
        says_nothing=value is not None and value.says_nothing,
        claim_rate=None if value is None else value.claim_rate,
    )
