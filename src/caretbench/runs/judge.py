"""Judging stage: requests missing judgements of texts from judge models.

A text is judged once for each problem, judge and repeat, whoever wrote it and however often. Judgements are appended
one by one, so the stage may be killed at any moment and the same command goes on. Missing judgements are in
``judge_errors.jsonl``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import JsonValue

from caretbench.errors import DataError, UsageError
from caretbench.extraction.policies import Policy
from caretbench.files import sha256_json
from caretbench.judging.answers import TextOf, plain_answer
from caretbench.judging.controls import DEFAULT_CONTROL_PROBLEMS, ControlTexts, default_controls
from caretbench.judging.criteria import Criterion, CriterionProblems, get_criterion
from caretbench.judging.prompting import judge_settings
from caretbench.models import ModelClient, Sampling
from caretbench.problem import AnyCompletion, CompletionKey, Profile
from caretbench.runs.judging.judge_requests import (
    FIRST_STEP_FIELD,
    DistinctText,
    JudgeRequests,
    RequestedJudgements,
    distinct_answers,
    distinct_texts,
    requested_judgements,
    second_step_judgements,
)
from caretbench.runs.judging.ratings import REQUIRED_COVERAGE, JudgingResult, ReportStep
from caretbench.runs.plans.prices import CostBudget, Price
from caretbench.runs.request_stage import StageCounts
from caretbench.runs.run_folder import ModelInfo, RunFolder
from caretbench.runs.verdict import passed_by_completion


class NothingToJudgeError(DataError):
    """Error: a run contains no text to judge."""


class TextsToJudge(NamedTuple):
    """Distinct texts to judge, and the number of completions that contain them.

    ``unscored`` counts the completions without a score, where only those that passed are judged.
    """

    texts: list[DistinctText]
    completions: int
    unscored: int = 0


@dataclass(frozen=True)
class JudgingSettings:
    """Settings of the judging stage, for all criteria and judges.

    Args:
        policy: The run's truncation policy.
        profile: The run's profile.
        control_problems: Number of problems whose controls are judged too; 0: none.
        repeats: Number of judgements of every text by every judge; None: as the criterion defines.
        baselines: Judge the completions of the baselines too.
        prices: By the judge's name.
        budget: Not more than it holds is spent; a judge without a price is refused then.
        text_of: From the raw answer to a question to what the judge sees of it.
        controls: Makes the controls at carets: the suite's.
        report: Told of the progress.
        chosen: Texts to judge in place of those of the run.
    """

    policy: Policy
    profile: Profile = "default"
    control_problems: int = DEFAULT_CONTROL_PROBLEMS
    repeats: int | None = None
    baselines: bool = False
    prices: Mapping[str, Price | None] = field(default_factory=dict)
    budget: CostBudget = field(default_factory=CostBudget)
    text_of: TextOf = plain_answer
    report: ReportStep = lambda _step, _added, _total: None
    controls: ControlTexts = default_controls
    chosen: Sequence[DistinctText] | None = None

    def texts(self, folder: RunFolder, batch: CriterionProblems, *, not_scored: bool = False) -> TextsToJudge:
        """Return the texts to judge in a batch.

        Args:
            folder: The run.
            batch: The problems and the criterion.
            not_scored: Include completions without a score, for a criterion that asks only about passes.
        """
        if self.chosen is not None:
            of_batch = {problem.id for problem in batch.problems}
            texts = [text for text in self.chosen if text.problem.id in of_batch]
            return TextsToJudge(texts, len(texts))
        common: dict[str, Any] = {"control_problems": self.control_problems, "baselines": self.baselines}
        if batch.criterion.subject != "caret":
            return TextsToJudge(*distinct_answers(folder, batch, self.profile, **common, text_of=self.text_of))
        common["controls"] = self.controls
        if batch.criterion.only is None:
            return TextsToJudge(*distinct_texts(folder, batch, self.policy, self.profile, **common))
        by_id = {problem.id: problem for problem in batch.problems}
        passed = passed_by_completion(folder.scores(), by_id, self.policy.key, self.profile)
        missing: set[CompletionKey] = set()

        def is_judged(completion: AnyCompletion) -> bool:
            if completion.key not in passed:
                missing.add(completion.key)
            return passed.get(completion.key, not_scored) is True

        distinct = distinct_texts(folder, batch, self.policy, self.profile, **common, is_judged=is_judged)
        return TextsToJudge(*distinct, 0 if not_scored else len(missing))

    def check(self, judges: Sequence[tuple[str, ModelClient]]) -> None:
        """Check that every judge can be used.

        Raises:
            UsageError: one cannot take a conversation, is named twice, or has no price where money is limited.
        """
        # Judgements are keyed by name: the second would find all of its own stored.
        names = [name for name, _ in judges]
        if len(set(names)) < len(names):
            raise UsageError("a judge occurs twice; use --repeats to judge a text several times")
        for name, client in judges:
            if "chat" not in client.accepts:
                raise UsageError(f"{name} takes no conversations, so it cannot judge")
            if self.budget.limit is not None and self.prices.get(name) is None:
                raise UsageError(f"no price is known for {name}: a limit cannot be kept; give one with --prices")


def judge_batch(
    folder: RunFolder,
    batch: CriterionProblems,
    judges: Sequence[tuple[str, ModelClient]],
    settings: JudgingSettings,
    sampling: Sampling | None = None,
) -> JudgingResult:
    """Judge every distinct text of one criterion by every judge; stored judgements are kept.

    The judges are written to the manifest, which must exist; who holds a copy of it reads it again afterwards. The
    caller holds the folder's lock. A criterion that finds statements is followed by the one that judges them, with the
    same sampling.

    Args:
        folder: The run.
        batch: The problems to judge, the run's or some of them, and the criterion.
        judges: Names and clients; a name is in every judgement.
        settings: Settings of the judging.
        sampling: Instead of the criterion's.

    Raises:
        UsageError: a judge cannot be asked.
        NothingToJudgeError: there is nothing to judge.
        DataError: another process writes the judgements.
    """
    settings.check(judges)
    criterion = batch.criterion
    texts, count, unscored = settings.texts(folder, batch)
    result = JudgingResult(texts=len(texts), completions=count, unscored=unscored)
    # Nothing passed yet because nothing is scored: that is no error, the next stage scores.
    if not count and unscored:
        return result
    if not count:
        which = " that passed" if criterion.only else ""
        raise NothingToJudgeError(
            f"{folder.path}: holds no completion{which} to judge (baselines are judged where that is asked for)"
        )
    if criterion.subject != "caret":
        result.required_coverage = REQUIRED_COVERAGE
    requested = requested_judgements(criterion, texts, settings.repeats)
    for name, client in judges:
        judging = _JudgeAsking(folder, name, client, sampling or criterion.sampling, settings, result)
        parameters = judging.judge(criterion, requested)
        # A judge that does not answer has no statements to judge.
        if criterion.then is not None and not result.stop_reason:
            first = (
                row
                for row in folder.judgements()
                if (row.judge, row.parameters, row.criterion) == (name, parameters, criterion.key)
            )
            claims = second_step_judgements(first, requested, {text.problem.id: text.problem for text in texts})
            judging.judge(get_criterion(criterion.then), claims, {FIRST_STEP_FIELD: parameters})
    return result


def judge_batches(
    folder: RunFolder,
    batches: Sequence[CriterionProblems],
    judges: Sequence[tuple[str, ModelClient]],
    settings: JudgingSettings,
    changed: Mapping[str, float] | None = None,
) -> dict[str, JudgingResult]:
    """Judge each batch of a run by its criterion, as :func:`judge_batch` does; return the results by criterion.

    ``changed`` are fields of each criterion's sampling that are otherwise, by the names of :class:`Sampling`.

    Raises:
        NothingToJudgeError: no batch holds a text to judge.
        UsageError: as :func:`judge_batch` does.
        DataError: as :func:`judge_batch` does.
    """
    results, nothing = {}, NothingToJudgeError(f"{folder.path}: holds nothing that a judge is asked about")
    for batch in batches:
        sampling = Sampling.model_validate(batch.criterion.sampling.model_dump() | dict(changed or {}))
        try:
            results[batch.criterion.key] = judge_batch(folder, batch, judges, settings, sampling)
        except NothingToJudgeError as error:  # of one task there may be no answers yet
            nothing = error
    if not results:
        raise nothing
    return results


@dataclass
class _JudgeAsking:
    """One judge with one sampling."""

    folder: RunFolder
    name: str
    client: ModelClient
    sampling: Sampling
    common: JudgingSettings
    result: JudgingResult

    def judge(
        self,
        criterion: Criterion,
        requested: Sequence[RequestedJudgements],
        more: Mapping[str, JsonValue] | None = None,
    ) -> str:
        """Judge the texts by one criterion; return the parameters of the judgements."""
        settings: dict[str, Any] = judge_settings(criterion, self.client, self.sampling) | dict(more or {})
        parameters = sha256_json(settings)[:16]
        _record(self.folder, ModelInfo(model=self.name, source="model", parameters=parameters, settings=settings))
        price = self.common.prices.get(self.name)
        judge = JudgeRequests(self.folder, criterion, self.name, self.client, parameters, self.sampling, price)
        step = f"judged by {self.name}, {criterion.name}"

        def report(added: int, counts: StageCounts) -> None:
            self.common.report(step, added, counts.requested - counts.stored)

        self.result.stage_counts.append(judge.run(requested, self.common.budget, report))
        return parameters


def _record(folder: RunFolder, info: ModelInfo) -> None:
    manifest = folder.manifest()
    # Parameters too: the same judge with another sampling is another one.
    if (info.model, info.parameters) not in {(judge.model, judge.parameters) for judge in manifest.judges}:
        manifest.judges.append(info)
        folder.write_manifest(manifest)
