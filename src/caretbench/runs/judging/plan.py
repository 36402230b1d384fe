"""Plan of judging a stored run: texts, criteria, judges and budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import JsonValue

from caretbench.errors import UsageError, check_folder_is_writable
from caretbench.extraction.policies import Policy, get_policy
from caretbench.files import sha256_json
from caretbench.judging.answers import TextOf
from caretbench.judging.controls import DEFAULT_CONTROL_PROBLEMS, ControlTexts
from caretbench.judging.criteria import Criterion, CriterionProblems, get_criterion, problems_by_criterion
from caretbench.judging.prompting import judge_settings, render
from caretbench.models import AccessCheck, ClientOpener, ClientOptions, ModelClient, Sampling, unchecked
from caretbench.problem import Judgement
from caretbench.progress import Progress
from caretbench.runs.generate import count_or_estimate_tokens, prompt_text, stored_cost
from caretbench.runs.judge import JudgingSettings, TextsToJudge, judge_batches
from caretbench.runs.judging.judge_requests import (
    FIRST_STEP_FIELD,
    DistinctText,
    RequestedJudgements,
    requested_judgements,
    second_step_judgements,
)
from caretbench.runs.judging.ratings import JudgingResult
from caretbench.runs.plans.prices import CostBudget, Price, Prices, unpriced_error
from caretbench.runs.plans.roles import refuse_remote
from caretbench.runs.run_folder import Manifest, RunFolder
from caretbench.suites import load_suite as find_suite
from caretbench.suites.selection import Selection

EXPECTED_TOKENS = 300
"""Expected tokens of an answer: a few sentences and the scores. Models that reason first need many more."""

EXPECTED_CLAIMS = 8
"""Statements of an answer that nobody has taken apart yet."""

_CLAIM_CHARACTERS = 120


class JudgingForecast(NamedTuple):
    """Forecast for one judge. Costs are in US dollars; None: no price is known.

    Tokens are counted by the judge's tokenizer where it is known, and estimated from bytes elsewhere.
    """

    judgements: int
    stored: int
    to_ask: int
    input_tokens: int
    worst_output_tokens: int
    expected_cost: float | None
    worst_cost: float | None


def judging_forecast(
    folder: RunFolder,
    requested: Sequence[RequestedJudgements],
    client: ModelClient,
    name: str,
    criterion: Criterion,
    sampling: Sampling,
    price: Price | None,
) -> JudgingForecast:
    """Return the forecast of :func:`caretbench.runs.judge.judge_batch` for one judge.

    Of answers that are judged statement by statement, those not yet taken apart count with :data:`EXPECTED_CLAIMS`.
    """
    parameters = _parameters(criterion, client, sampling)
    rows = _stored_judgements(folder, name, parameters, criterion)
    first = _step_forecast(requested, rows, client, criterion, sampling, price)
    if criterion.then is None:
        return first
    following = get_criterion(criterion.then)
    claims = second_step_judgements(rows, requested, {subject.problem.id: subject.problem for subject, _ in requested})
    # Without them the forecast of a fresh run would show the first step alone, a small part of its cost.
    claims += _to_come(requested, rows)
    after = _parameters(following, client, sampling, {FIRST_STEP_FIELD: parameters})
    stored = _stored_judgements(folder, name, after, following)
    return _together(first, _step_forecast(claims, stored, client, following, sampling, price))


def _stored_judgements(folder: RunFolder, name: str, parameters: str, criterion: Criterion) -> list[Judgement]:
    whose = (name, parameters, criterion.key)
    return [row for row in folder.judgements() if row.values and (row.judge, row.parameters, row.criterion) == whose]


def _parameters(
    criterion: Criterion, client: ModelClient, sampling: Sampling, more: Mapping[str, JsonValue] | None = None
) -> str:
    return sha256_json(judge_settings(criterion, client, sampling) | dict(more or {}))[:16]


def _to_come(requested: Sequence[RequestedJudgements], rows: Sequence[Judgement]) -> list[RequestedJudgements]:
    """Return the expected statements of the texts without a row, in the average length."""
    done = {(row.problem_id, row.answer, row.repeat) for row in rows}
    return [
        (DistinctText(subject.problem, "x" * _CLAIM_CHARACTERS, f"to come {subject.answer} {number}"), (repeat,))
        for subject, repeats in requested
        for repeat in repeats
        if (subject.problem.id, subject.answer, repeat) not in done
        for number in range(EXPECTED_CLAIMS)
    ]


def _step_forecast(
    requested: Sequence[RequestedJudgements],
    rows: Sequence[Judgement],
    client: ModelClient,
    criterion: Criterion,
    sampling: Sampling,
    price: Price | None,
) -> JudgingForecast:
    done = {(row.problem_id, row.answer, row.repeat) for row in rows}
    judgements = to_ask = tokens = 0
    for subject, repeats in requested:
        judgements += len(repeats)
        missing = sum((subject.problem.id, subject.answer, number) not in done for number in repeats)
        if missing:
            text = prompt_text(render(criterion, subject.problem, subject.text))
            tokens += missing * count_or_estimate_tokens(client, text)
            to_ask += missing
    worst, expected = to_ask * sampling.max_tokens, to_ask * min(EXPECTED_TOKENS, sampling.max_tokens)
    return JudgingForecast(
        judgements=judgements,
        stored=judgements - to_ask,
        to_ask=to_ask,
        input_tokens=tokens,
        worst_output_tokens=worst,
        expected_cost=None if price is None else price.token_cost(tokens, expected),
        worst_cost=None if price is None else price.token_cost(tokens, worst),
    )


def _together(first: JudgingForecast, second: JudgingForecast) -> JudgingForecast:
    pairs = zip(first, second, strict=True)
    return JudgingForecast(*(None if None in pair else sum(pair) for pair in pairs))  # type: ignore[arg-type]


@dataclass(frozen=True)
class JudgingConfig:
    """Configuration of judging a stored run.

    Args:
        judges: Specs by name.
        criterion: A criterion's name or file; None: what the problems' checks name, or the profile's.
        control_problems: Number of problems, for each criterion, whose controls are judged too; 0: none.
        baselines: Judge the baselines' answers too.
        repeats: Number of judgements of each text; None: as the criterion defines.
        sampling: Changes of each criterion's sampling.
        selection: The problems.
        options: Connection settings of the judges.
        prices: Prices of tokens.
        max_cost: US dollars over the whole run, answers included.
        local_only: Refuse every remote judge.
    """

    judges: Mapping[str, str] = field(default_factory=dict)
    criterion: str | None = None
    control_problems: int = DEFAULT_CONTROL_PROBLEMS
    baselines: bool = False
    repeats: int | None = None
    sampling: Mapping[str, float] = field(default_factory=dict)
    selection: Selection = field(default_factory=Selection)
    options: ClientOptions = field(default_factory=ClientOptions)
    prices: Prices = field(default_factory=Prices)
    max_cost: float | None = None
    local_only: bool = False


class JudgingPlan:
    """Resolved and checked plan of judging a stored run.

    ``check_access`` is called with spec and options of every judge, before any problems are loaded. ``chosen`` are
    texts to judge in place of those of the run.

    Raises:
        DataError: this is no run.
        UsageError: the criterion is not about its problems, or a limit cannot be kept; no such criterion.
    """

    def __init__(
        self,
        folder: RunFolder,
        config: JudgingConfig,
        check_access: AccessCheck = unchecked,
        *,
        chosen: Sequence[DistinctText] | None = None,
    ) -> None:
        self.folder = folder
        self.config = config
        self.chosen = chosen
        self.manifest: Manifest = folder.manifest()
        # Before anything is opened: opening may already send the key.
        if config.local_only:
            refuse_remote(config.judges.values(), [config.options.base_url])
        for spec in config.judges.values():
            check_access(spec, config.options)
        suite = find_suite(self.manifest.suite)
        criterion = get_criterion(config.criterion) if config.criterion else None
        problems = config.selection.apply(suite, folder.problems())
        self.batches: Sequence[CriterionProblems] = problems_by_criterion(problems, self.manifest.profile, criterion)
        if not self.batches:
            raise UsageError(
                f"{criterion.key} is not about the problems of this run"
                if criterion
                else "a judge is asked nothing about them"
            )
        self.policy: Policy = get_policy(self.manifest.policy)
        self.text_of: TextOf = suite.judged_text
        self.controls: ControlTexts = suite.caret_controls
        self.costs: dict[str, Price | None] = {name: config.prices.find(spec) for name, spec in config.judges.items()}
        unpriced = [config.judges[name] for name, price in self.costs.items() if price is None]
        if config.max_cost is not None and unpriced:
            raise unpriced_error(unpriced)

    def texts(self, batch: CriterionProblems) -> TextsToJudge:
        """Return the texts of a batch."""
        return self._settings().texts(self.folder, batch)

    def _settings(self, budget: CostBudget | None = None, progress: Progress | None = None) -> JudgingSettings:
        config = self.config
        return JudgingSettings(
            self.policy, self.manifest.profile, config.control_problems, config.repeats, config.baselines,
            self.costs, budget or CostBudget(), self.text_of, progress or Progress(), self.controls,
            self.chosen,
        )  # fmt: skip

    def forecast(self, opener: ClientOpener) -> list[dict[str, Any]]:
        """Return forecasts by judge and criterion; nothing is sent."""
        rows: list[dict[str, Any]] = []
        with ExitStack() as stack:
            clients: dict[str, ModelClient] = {
                name: stack.enter_context(opener(spec, self.config.options))
                for name, spec in self.config.judges.items()
            }
            for batch in self.batches:
                texts, count, unscored = self.texts(batch)
                requested = requested_judgements(batch.criterion, texts, self.config.repeats)
                drawn = batch.criterion.sampling.model_dump() | dict(self.config.sampling)
                for name, client in clients.items():
                    forecast = judging_forecast(
                        self.folder, requested, client, name, batch.criterion, Sampling.model_validate(drawn),
                        self.costs[name],
                    )  # fmt: skip
                    about = {"judge": name, "criterion": batch.criterion.key, "completions": count}
                    about |= {"unscored": unscored} if unscored else {}
                    rows.append(about | {"distinct_texts": len(texts)} | forecast._asdict())
        return rows

    def judge(self, opener: ClientOpener, progress: Progress | None = None) -> dict[str, dict[str, JudgingResult]]:
        """Run the judges, one at a time; return the results by judge and criterion."""
        config = self.config
        results = {}
        check_folder_is_writable(self.folder.path, "judge a copy of the run")
        # Stored costs are read under the lock, so that two judging commands cannot both spend the rest.
        with self.folder.locked():
            settings = self._settings(CostBudget(config.max_cost, stored_cost(self.folder)), progress)
            for name, spec in config.judges.items():
                # One at a time: two local judges may not fit into memory together.
                with opener(spec, config.options) as client:
                    results[name] = judge_batches(
                        self.folder, self.batches, [(name, client)], settings, config.sampling
                    )
        return results
