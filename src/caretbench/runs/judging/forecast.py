"""Forecast of a judging: requests, tokens and cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from caretbench.files import sha256_json
from caretbench.judging.criteria import Criterion
from caretbench.judging.criteria import criterion as find_criterion
from caretbench.judging.prompting import grader_settings, render
from caretbench.models import ModelClient, Sampling
from caretbench.problem import Judgement
from caretbench.runs.judging.judge_requests import RequestedJudgements
from caretbench.runs.judging.texts_to_judge import DistinctText
from caretbench.runs.judging.two_step_judging import FIRST_STEP_FIELD, second_step_judgements
from caretbench.runs.model_under_test import count_or_estimate_tokens, prompt_text
from caretbench.runs.plans.prices import Price
from caretbench.runs.run_folder import RunFolder

EXPECTED_TOKENS = 300
"""Expected tokens of an answer: a few sentences and the scores. Models that reason first need many more."""

EXPECTED_CLAIMS = 8
"""Statements of an answer that nobody has taken apart yet."""

_CLAIM_CHARACTERS = 120


class JudgingForecast(NamedTuple):
    """Forecast for one grader. Costs are in US dollars; None: no price is known.

    Tokens are counted by the grader's tokenizer where it is known, and estimated from bytes elsewhere.
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
    """Return the forecast of :func:`caretbench.runs.judge.judge_part` for one grader.

    Of answers that are judged statement by statement, those not yet taken apart count with :data:`EXPECTED_CLAIMS`.
    """
    parameters = _parameters(criterion, client, sampling)
    rows = _stored(folder, name, parameters, criterion)
    first = _step_forecast(requested, rows, client, criterion, sampling, price)
    if criterion.then is None:
        return first
    following = find_criterion(criterion.then)
    claims = second_step_judgements(rows, requested, {subject.problem.id: subject.problem for subject, _ in requested})
    claims += _to_come(requested, rows)
    after = _parameters(following, client, sampling, {FIRST_STEP_FIELD: parameters})
    stored = _stored(folder, name, after, following)
    return _together(first, _step_forecast(claims, stored, client, following, sampling, price))


def _stored(folder: RunFolder, name: str, parameters: str, criterion: Criterion) -> list[Judgement]:
    whose = (name, parameters, criterion.key)
    return [row for row in folder.judgements() if row.values and (row.grader, row.parameters, row.criterion) == whose]


def _parameters(
    criterion: Criterion, client: ModelClient, sampling: Sampling, more: Mapping[str, JsonValue] | None = None
) -> str:
    return sha256_json(grader_settings(criterion, client, sampling) | dict(more or {}))[:16]


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
    return JudgingForecast(
        *(None if one is None or two is None else one + two for one, two in zip(first, second, strict=True))  # type: ignore[arg-type]
    )
