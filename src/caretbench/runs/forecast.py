"""Forecast of a run in tokens and US dollars; nothing is sent, nothing is written."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import NamedTuple

from caretbench.metrics.typing_sessions import Trigger
from caretbench.models import ClientOpener
from caretbench.problem import Problem
from caretbench.prompts.strategy import UnpromptableError
from caretbench.runs.generate import TYPED_TOKENS, GenerationStage, ModelUnderTest, prompt_text
from caretbench.runs.judge import JudgingSettings
from caretbench.runs.judging.judge_requests import DistinctText, requested_judgements
from caretbench.runs.judging.plan import JudgingForecast, judging_forecast
from caretbench.runs.plans.plan import ResolvedRun
from caretbench.runs.plans.suite_settings import ResolvedSuite
from caretbench.runs.run_folder import RunFolder
from caretbench.runs.runner import plan_budget
from caretbench.runs.session import Clients
from caretbench.runs.typing_stage import TypedModelAnswers, TypingStage


@dataclass
class ModelForecast:
    """Forecast for one model on one suite. Costs are in US dollars; None: no price is known.

    ``input_tokens`` counts every sample with its whole prompt: several may share one request, and then cost less.
    Expected are answers as long as the reference answers; the worst case is ``max_tokens`` for each, and where tokens
    are not counted, a token for each byte of the prompt.
    """

    model: str
    folder: str
    prompt: str
    problems: int
    samples_wanted: int
    samples_stored: int
    samples_to_ask: int = 0
    prompts: int = 0
    unpromptable: int = 0
    input_tokens: int = 0
    tokens_counted: bool = False
    expected_output_tokens: int = 0
    worst_output_tokens: int = 0
    expected_cost: float | None = None
    worst_cost: float | None = None
    first_fault: str = ""
    context: str | None = None
    """Name and version of the additional project context; None: problems as they are."""
    findings: str | None = None
    """Findings of a client about its server in one line, if it probed one."""
    instruction: str | None = None
    """Name and version of the placement of instructions; None: where the prompt has a place for them."""


class JudgeForecast(NamedTuple):
    """Forecast for one judge on one folder."""

    judge: str
    folder: str
    row: JudgingForecast


@dataclass(frozen=True)
class TypingForecast:
    """Requests to come behind typed text for one model on one suite: number, prompt tokens, US dollars, seconds.

    ``bound`` is ``at least`` for a model that is always right, ``at most`` for one that never is; ``expected`` is known
    once some sessions are complete (``finished``). Seconds are those of requests one after the other.
    """

    model: str
    folder: str
    sessions: int
    finished: int
    stored: int
    bound: str
    requests: int
    input_tokens: int
    cost: float | None
    seconds: float | None


class _Bounds(NamedTuple):
    """Requests of one session behind typed text: bounds, those that are stored; tokens of its longest prompt."""

    least: int
    most: int
    stored: int
    finished: bool
    tokens: int


def typing_forecast(
    tested_model: ModelUnderTest, problems: Sequence[Problem], folder: RunFolder, trigger: Trigger
) -> Iterator[TypingForecast]:
    """Yield a forecast of the sessions of a model for each bound. Problems without a valid prompt are not in it."""
    stage = TypingStage(problems, folder, trigger)
    stored_answers = stage.known(tested_model)
    bounds_of_problems = (_bounds(tested_model, problem, stage, stored_answers) for problem in stage.problems)
    rows = [row for row in bounds_of_problems if row is not None]
    finished = [row for row in rows if row.finished]
    room = max(1, sum(row.most - row.least for row in finished))
    needed = {"expected": sum(row.stored - row.least for row in finished) / room} if finished else {}
    others, price = [row for row in rows if not row.finished], tested_model.price
    for bound, share in ({"at least": 0.0} | needed | {"at most": 1.0}).items():
        coming = [max(0.0, row.least + share * (row.most - row.least) - row.stored) for row in others]
        number = sum(coming)
        tokens = round(sum(requests * row.tokens for requests, row in zip(coming, others, strict=True)))
        cost = None if price is None else price.token_cost(tokens, round(number * TYPED_TOKENS))
        # By what answers cost: those of a line had 7 tokens of 48 in a trial.
        cost = number * fmean(stored_answers.costs) if bound == "expected" and stored_answers.costs else cost
        yield TypingForecast(
            tested_model.name, str(folder.path), len(rows), len(finished), sum(row.stored for row in rows), bound,
            round(number), tokens, cost, number * fmean(stored_answers.seconds) if stored_answers.seconds else None,
        )  # fmt: skip


def _bounds(
    tested_model: ModelUnderTest, problem: Problem, stage: TypingStage, stored_answers: TypedModelAnswers
) -> _Bounds | None:
    text, reference = stage.texts[problem.id], problem.reference
    try:
        prompt = tested_model.typing_prompt(tested_model.typing_window(problem), reference)
    except UnpromptableError:
        return None
    answers = (lambda at: reference[at:], lambda _: "", stored_answers.answers[problem.id].get)
    sessions = (text.session(stage.trigger, answer) for answer in answers)
    least, most, stored = ([shown is not None for _, shown in session] for session in sessions)
    # The answer at the caret is not asked for here.
    counts = (len(least) - 1, len(most) - 1, max(0, sum(stored) - 1))
    return _Bounds(*counts, stored[-1], tested_model.count_tokens(prompt_text(prompt)))


@dataclass
class RunForecast:
    """Forecast of a whole run. ``spent``: US dollars already spent."""

    spent: float
    models: list[ModelForecast] = field(default_factory=list)
    judges: list[JudgeForecast] = field(default_factory=list)
    typing: list[TypingForecast] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    """Suites that cannot be run or asked about, with the reasons."""

    @property
    def worst_cost(self) -> float:
        """Maximum cost in US dollars, including the amount spent, as far as prices are known."""
        return self.spent + self._typed("at most") + sum(row.worst_cost or 0.0 for row in self._rows())

    @property
    def expected_cost(self) -> float:
        """Expected cost in US dollars, including the amount spent, as far as prices are known."""
        return self.spent + self._typed("expected") + sum(row.expected_cost or 0.0 for row in self._rows())

    def _typed(self, bound: str) -> float:
        return sum(row.cost or 0.0 for row in self.typing if row.bound == bound)

    def _rows(self) -> Iterator[ModelForecast | JudgingForecast]:
        yield from self.models
        yield from (judge.row for judge in self.judges)


def forecast_run(plan: ResolvedRun, opener: ClientOpener) -> RunForecast:
    """Return the forecast of a run.

    Raises:
        ValueError: the plan cannot work.
    """
    forecast = RunForecast(plan_budget(plan).spent)
    with Clients(plan, opener) as clients:
        clients.check()
        names = [resolved.suite.name for resolved in plan.suites]
        forecast.absent = [f"{name}: {reason}" for name, reason in plan.absent.items()]
        forecast.absent += [f"{names[index]}: {reason}" for (_, index), reason in clients.refused.items()]
        coming: list[list[Problem]] = [[] for _ in plan.suites]
        for part in (part for model in plan.models for part in clients.parts(model)):
            with clients.open_part(part) as tested_models:
                for settings, tested_model in zip(part.suites, tested_models, strict=True):
                    resolved, trigger = plan.suites[settings.place], plan.config.typing
                    forecast.models.append(_model_forecast(tested_model, resolved, coming[settings.place]))
                    if trigger and resolved.suite.typed_references:
                        forecast.typing += typing_forecast(tested_model, resolved.problems, resolved.folder, trigger)
        forecast.judges += _judged(plan, clients, coming)
    return forecast


def _model_forecast(tested_model: ModelUnderTest, resolved: ResolvedSuite, coming: list[Problem]) -> ModelForecast:
    """Return the forecast for a model; add the problem of every expected answer to ``coming``."""
    stored = GenerationStage(resolved.problems, resolved.folder).stored(tested_model)
    asked = tested_model.asked(resolved.problems)
    row = ModelForecast(
        model=tested_model.name,
        folder=str(resolved.folder.path),
        prompt=tested_model.strategy.key,
        problems=len(asked),
        samples_wanted=len(asked) * tested_model.samples,
        samples_stored=sum(sample < tested_model.samples for problem in asked for sample in stored.get(problem.id, ())),
        tokens_counted=tested_model.has_tokenizer,
        findings=getattr(tested_model.client, "findings", None),
        context=tested_model.context.key if tested_model.context else None,
        instruction=tested_model.instruction.key if tested_model.instruction else None,
    )
    worst, expected = [], []
    for entry in tested_model.pending_samples(resolved.problems, stored):
        count = len(entry.samples)
        if entry.prompt is None:
            row.unpromptable += count
            row.first_fault = row.first_fault or entry.fault
            continue
        tokens = tested_model.count_tokens(prompt_text(entry.prompt))
        most = tested_model.answer_tokens(entry.prompt)
        answer = min(most, tested_model.count_tokens(entry.item.reference))
        row.samples_to_ask += count
        coming += [entry.item] * count
        row.prompts += 1
        row.input_tokens += tokens * count
        row.expected_output_tokens += answer * count
        row.worst_output_tokens += most * count
        if tested_model.price is not None:
            expected.append(count * tested_model.price.token_cost(tokens, answer))
            worst.append(tested_model.worst_cost(entry.prompt, count))
    if tested_model.price is not None:
        row.expected_cost, row.worst_cost = math.fsum(expected), math.fsum(worst)
    return row


def _judged(plan: ResolvedRun, clients: Clients, coming: Sequence[Sequence[Problem]]) -> Iterator[JudgeForecast]:
    """Yield the forecast for each judge and folder.

    That is what is stored, and each answer that is still to come as if it were a text of its own, as long as the
    reference answer. Tries for answers that cannot be read are not in it.
    """
    for judge in plan.judges:
        with clients.open_client(judge) as client:
            for resolved, problems in zip(plan.suites, coming, strict=True):
                for batch in plan.criterion_batches(resolved):
                    settings = JudgingSettings(
                        resolved.policy,
                        resolved.profile,
                        text_of=resolved.suite.judged_text,
                        controls=resolved.suite.caret_controls,
                    )
                    texts = settings.texts(resolved.folder, batch, not_scored=True).texts
                    ours = {problem.id for problem in batch.problems}
                    texts += [
                        DistinctText(problem, problem.reference, f"to come {number}")
                        for number, problem in enumerate(problems)
                        if problem.id in ours
                    ]
                    row = judging_forecast(
                        resolved.folder, requested_judgements(batch.criterion, texts, None), client, judge.name,
                        batch.criterion, batch.criterion.sampling, plan.price(judge),
                    )  # fmt: skip
                    yield JudgeForecast(judge.name, str(resolved.folder.path), row)
