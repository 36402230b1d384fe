"""Generation stage: asks models for the missing completions of problems."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence

from caretbench.files import RowAppender
from caretbench.models import FailureKind, ModelAnswer, Sampling
from caretbench.problem import Completion, MissingSample, Problem
from caretbench.runs.model_under_test import ModelUnderTest
from caretbench.runs.plans.prices import CostBudget
from caretbench.runs.request_stage import (
    ErrorFile,
    PendingRequest,
    ReportProgress,
    RequestStage,
    StageCounts,
    StageRequests,
    replace_surrogates,
)
from caretbench.runs.run_folder import RunFolder


class GenerationStage:
    """Generation stage of one run."""

    def __init__(
        self,
        problems: Sequence[Problem],
        folder: RunFolder,
        report: ReportProgress = lambda _added, _tally: None,
    ) -> None:
        self.problems = problems
        self.folder = folder
        self.report = report

    def stored(self, asking: ModelUnderTest) -> dict[str, set[int]]:
        """Return the stored samples by problem."""
        return self._look(asking)[0]

    def _look(self, asking: ModelUnderTest) -> tuple[dict[str, set[int]], set[Hashable]]:
        """Return a model's stored samples by problem, and the keys in ``errors.jsonl`` whose sample exists by now."""
        noted = {row.key for row in self.folder.missing()}
        stale: set[Hashable] = set()
        stored: dict[str, set[int]] = defaultdict(set)
        for row in self.folder.completions():
            if row.key in noted:
                stale.add(row.key)
            if row.model == asking.name and row.parameters == asking.parameters:
                stored[row.problem_id].add(row.sample)
        return stored, stale

    def run(self, asking: ModelUnderTest, budget: CostBudget | None = None) -> StageCounts:
        """Ask for what is missing and return the counts.

        Requests beyond ``budget`` are not sent; ``errors.jsonl`` lists their samples.
        """
        with (
            RowAppender(self.folder.completions_path) as answers,
            ErrorFile(self.folder.errors_path, MissingSample) as errors,
        ):
            stored, stale = self._look(asking)
            stage = RequestStage(_Completing(asking), budget or CostBudget(), answers, errors, self.report)
            stage.tally.wanted = len(self.problems) * asking.samples
            stage.tally.stored = sum(
                sample < asking.samples for problem in self.problems for sample in stored.get(problem.id, ())
            )
            self.report(stage.tally.stored, stage.tally)
            stage.ask(_pending(asking, self.problems, stored))
        errors.rewrite(stale | stage.came)
        return stage.tally


def stored_cost(folder: RunFolder) -> float:
    """Return the cost of a run's stored answers and judgements in US dollars, as far as it is known."""
    answers = sum(row.cost or 0.0 for row in folder.completions())
    return answers + sum(row.cost or 0.0 for row in folder.judgements())


def _pending(
    asking: ModelUnderTest, problems: Sequence[Problem], stored: Mapping[str, set[int]]
) -> Iterator[PendingRequest[Problem]]:
    for entry in asking.wanted(problems, stored):
        yield PendingRequest(entry.problem.id, entry.problem, entry.samples, entry.prompt, entry.fault)


class _Completing(StageRequests[Problem]):
    """Completions of one model."""

    def __init__(self, asking: ModelUnderTest) -> None:
        self._asking = asking
        self.client = asking.client
        self.price = asking.price

    def sampling(self, pending: PendingRequest[Problem]) -> Sampling:  # noqa: ARG002  the same for all
        """Return the sampling chosen for the model."""
        return self._asking.sampling

    def worst_cost(self, pending: PendingRequest[Problem]) -> float:
        """Return the cost of answers in full length, each with the whole prompt."""
        return self._asking.worst_cost(pending.prompt, len(pending.samples)) if pending.prompt else 0.0

    def row(self, pending: PendingRequest[Problem], answer: ModelAnswer, cost: float | None) -> Completion:
        """Return a line of ``completions.jsonl``."""
        return Completion(
            problem_id=pending.about.id,
            model=self._asking.name,
            parameters=self._asking.parameters,
            sample=answer.sample,
            text=replace_surrogates(answer.text),
            finish_reason=replace_surrogates(answer.finish_reason),
            prompt=self._asking.strategy.key,
            usage=answer.usage,
            cost=cost,
            latency=answer.latency,
            log_probabilities=answer.log_probabilities,
        )

    def missing(
        self, pending: PendingRequest[Problem], sample: int, kind: FailureKind, message: str, attempts: int
    ) -> MissingSample:
        """Return a line of ``errors.jsonl``."""
        return MissingSample(
            problem_id=pending.about.id,
            model=self._asking.name,
            parameters=self._asking.parameters,
            sample=sample,
            kind=kind,
            message=message,
            attempts=attempts,
        )
