"""Generation stage: requests missing completions from models and stores them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence

from caretbench.files import RowAppender, join_surrogates, replace_surrogates
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
)
from caretbench.runs.run_folder import RunFolder


class GenerationStage:
    """Generation stage of one run."""

    def __init__(
        self, problems: Sequence[Problem], folder: RunFolder, report: ReportProgress = lambda _added, _tally: None
    ) -> None:
        self.problems = problems
        self.folder = folder
        self.report = report

    def stored(self, tested_model: ModelUnderTest) -> dict[str, set[int]]:
        """Return the stored samples by problem."""
        return self._look(tested_model)[0]

    def _look(self, tested_model: ModelUnderTest) -> tuple[dict[str, set[int]], set[Hashable]]:
        """Return a model's stored samples by problem, and the keys of ``errors.jsonl`` whose sample is stored now."""
        stored_keys = {row.key for row in self.folder.missing()}
        stale: set[Hashable] = set()
        stored: dict[str, set[int]] = defaultdict(set)
        for row in self.folder.completions():
            if row.key in stored_keys:
                stale.add(row.key)
            if row.model == tested_model.name and row.parameters == tested_model.parameters:
                stored[row.problem_id].add(row.sample)
        return stored, stale

    def run(self, tested_model: ModelUnderTest, budget: CostBudget | None = None) -> StageCounts:
        """Request the missing completions; return the counts.

        Requests beyond ``budget`` are not sent; ``errors.jsonl`` lists their samples.
        """
        with (
            RowAppender(self.folder.completions_path) as answers,
            ErrorFile(self.folder.errors_path, MissingSample) as errors,
        ):
            stored, stale = self._look(tested_model)
            stage = RequestStage(_Completing(tested_model), budget or CostBudget(), answers, errors, self.report)
            stage.tally.requested = len(self.problems) * tested_model.samples
            stage.tally.stored = sum(
                sample < tested_model.samples for problem in self.problems for sample in stored.get(problem.id, ())
            )
            self.report(stage.tally.stored, stage.tally)
            stage.ask(_pending(tested_model, self.problems, stored))
        errors.rewrite(stale | stage.resolved)
        return stage.tally


def stored_cost(folder: RunFolder) -> float:
    """Return the cost of a run's stored answers and judgements in US dollars, as far as prices are known."""
    answers = sum(row.cost or 0.0 for row in folder.completions())
    return answers + sum(row.cost or 0.0 for row in folder.judgements())


def _pending(
    tested_model: ModelUnderTest, problems: Sequence[Problem], stored: Mapping[str, set[int]]
) -> Iterator[PendingRequest[Problem]]:
    for entry in tested_model.pending_samples(problems, stored):
        yield PendingRequest(entry.problem.id, entry.problem, entry.samples, entry.prompt, entry.fault)


class _Completing(StageRequests[Problem]):
    """Completions of one model."""

    def __init__(self, tested_model: ModelUnderTest) -> None:
        self._tested_model = tested_model
        self.client = tested_model.client
        self.price = tested_model.price

    def sampling(self, pending: PendingRequest[Problem]) -> Sampling:  # noqa: ARG002  the same for all
        """Return the sampling chosen for the model."""
        return self._tested_model.sampling

    def worst_cost(self, pending: PendingRequest[Problem]) -> float:
        """Return the maximum cost in US dollars: full-length answers, each with the whole prompt."""
        return self._tested_model.worst_cost(pending.prompt, len(pending.samples)) if pending.prompt else 0.0

    def row(self, pending: PendingRequest[Problem], answer: ModelAnswer, cost: float | None) -> Completion:
        """Return a line of ``completions.jsonl``."""
        return Completion(
            problem_id=pending.item.id,
            model=self._tested_model.name,
            parameters=self._tested_model.parameters,
            sample=answer.sample,
            text=join_surrogates(answer.text),
            finish_reason=replace_surrogates(answer.finish_reason),
            prompt=self._tested_model.strategy.key,
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
            problem_id=pending.item.id,
            model=self._tested_model.name,
            parameters=self._tested_model.parameters,
            sample=sample,
            kind=kind,
            message=message,
            attempts=attempts,
        )
