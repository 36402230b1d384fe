"""Requests for judgements of one judge under one criterion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from caretbench.files import RowAppender, join_surrogates, replace_surrogates, write_rows
from caretbench.judging.criteria import Criterion
from caretbench.judging.parsing import parse
from caretbench.judging.prompting import render
from caretbench.models import ChatPrompt, FailureKind, ModelAnswer, ModelClient, Sampling
from caretbench.problem import Judgement
from caretbench.runs.judging.texts_to_judge import DistinctText
from caretbench.runs.model_under_test import worst_cost
from caretbench.runs.plans.prices import CostBudget, Price
from caretbench.runs.request_stage import (
    ErrorFile,
    PendingRequest,
    ReportProgress,
    RequestStage,
    StageCounts,
    StageRequests,
)
from caretbench.runs.run_folder import JudgementKey, MissingJudgement, RunFolder

RequestedJudgements = tuple[DistinctText, Sequence[int]]
"""A text, and the numbers of the repeats in which it is to be judged."""


@dataclass
class JudgeRequests(StageRequests[DistinctText]):
    """Requests to one judge under one criterion."""

    folder: RunFolder
    criterion: Criterion
    name: str
    client: ModelClient
    parameters: str
    base_sampling: Sampling
    price: Price | None

    def run(self, requested: Sequence[RequestedJudgements], budget: CostBudget, report: ReportProgress) -> StageCounts:
        """Request all missing and all unreadable judgements."""
        earlier_cost = self._forget_faults({(subject.problem.id, subject.answer) for subject, _ in requested})
        with (
            RowAppender(self.folder.judgements_path) as rows,
            ErrorFile(self.folder.judge_errors_path, MissingJudgement) as errors,
        ):
            done = {row.key for row in self.folder.judgements()}
            missing = list(self._missing_parts(requested, done, earlier_cost))
            stage = RequestStage(self, budget, rows, errors, report)
            stage.tally.requested = sum(len(repeats) for _, repeats in requested)
            stage.tally.stored = stage.tally.requested - sum(len(repeats) for _, repeats, _ in missing)
            report(0, stage.tally)
            stage.ask(self._request(*part) for part in missing)
        errors.rewrite((done & errors.stored_keys) | stage.resolved)
        return stage.tally

    def _missing_parts(
        self,
        requested: Sequence[RequestedJudgements],
        done: set[JudgementKey],
        earlier_cost: Mapping[JudgementKey, float | None],
    ) -> Iterator[tuple[DistinctText, tuple[int, ...], float | None]]:
        """Yield the missing judgements. One request asks for all repeats that are shown in the same order."""
        for subject, repeats in requested:
            keys = {number: self._key(subject, number) for number in repeats}
            keys = {number: key for number, key in keys.items() if key not in done}
            orders = self.criterion.order_count
            for order in range(orders):
                fresh = tuple(
                    number for number, key in keys.items() if key not in earlier_cost and number % orders == order
                )
                if fresh:
                    yield subject, fresh, 0.0
            for number, key in keys.items():
                if key in earlier_cost:
                    yield subject, (number,), earlier_cost[key]

    def _request(
        self, subject: DistinctText, repeats: tuple[int, ...], earlier_cost: float | None
    ) -> PendingRequest[DistinctText]:
        prompt: ChatPrompt = render(self.criterion, subject.problem, replace_surrogates(subject.text), repeats[0])
        identity = f"{subject.problem.id}#{subject.answer[:12]}#{repeats[0]}"
        return PendingRequest(identity, subject, repeats, prompt, earlier_cost=earlier_cost)

    # --- the stage's questions ----------------------------------------------------------------------------------

    def sampling(self, pending: PendingRequest[DistinctText]) -> Sampling:
        """Return the sampling settings; a repeated request has another seed."""
        if self.base_sampling.seed is None or pending.attempt == 1:
            return self.base_sampling
        return self.base_sampling.model_copy(update={"seed": self.base_sampling.seed + 1000 * (pending.attempt - 1)})

    def worst_cost(self, pending: PendingRequest[DistinctText]) -> float:
        """Return the cost of answers in full length, each with the whole prompt."""
        if pending.prompt is None:
            return 0.0
        return worst_cost(self.client, self.price, pending.prompt, len(pending.samples), self.base_sampling.max_tokens)

    def row(self, pending: PendingRequest[DistinctText], answer: ModelAnswer, cost: float | None) -> Judgement | None:
        """Return a line of ``judgements.jsonl``; None if the answer is unreadable and a try is left."""
        parsed = parse(self.criterion, answer.text)
        if parsed.fault is not None and pending.attempt < self.criterion.tries:
            return None
        return Judgement(
            **self._identity(pending, answer.sample),
            values=parsed.values,
            fault=parsed.fault,
            text=join_surrogates(answer.text),
            attempts=pending.attempt,
            usage=answer.usage,
            cost=cost,
            latency=answer.latency,
        )

    def unreadable(self, row: Judgement) -> bool:
        """Return whether the answer is unreadable after all tries."""
        return row.fault is not None

    def missing(
        self, pending: PendingRequest[DistinctText], sample: int, kind: FailureKind, message: str, attempts: int
    ) -> MissingJudgement:
        """Return a line of ``judge_errors.jsonl``."""
        return MissingJudgement(**self._identity(pending, sample), kind=kind, message=message, attempts=attempts)

    # --- rows ---------------------------------------------------------------------------------------------------

    def _identity(self, pending: PendingRequest[DistinctText], repeat: int) -> dict[str, Any]:
        names = ("problem_id", "answer", "grader", "parameters", "criterion", "repeat")
        return dict(zip(names, self._key(pending.item, repeat), strict=True))

    def _key(self, subject: DistinctText, repeat: int) -> JudgementKey:
        identity = (subject.problem.id, subject.answer)
        return (*identity, self.name, self.parameters, self.criterion.key, repeat)

    def _forget_faults(self, texts: set[tuple[str, str]]) -> dict[JudgementKey, float | None]:
        """Remove unreadable judgements, to request them again; return their costs."""
        earlier_cost: dict[JudgementKey, float | None] = {}
        ours = (self.name, self.parameters, self.criterion.key)

        def again(row: Judgement) -> bool:
            whose = (row.grader, row.parameters, row.criterion)
            return not row.values and whose == ours and (row.problem_id, row.answer) in texts

        def kept() -> Iterator[Judgement]:
            for row in self.folder.judgements():
                if again(row):
                    earlier_cost[row.key] = row.cost
                else:
                    yield row

        with RowAppender(self.folder.judgements_path):  # holds the file, and repairs its end
            if any(again(row) for row in self.folder.judgements()):
                write_rows(self.folder.judgements_path, kept())
        return earlier_cost
