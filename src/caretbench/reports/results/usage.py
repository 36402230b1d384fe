"""Usage of each model: requests, tokens, cost, time, and missing samples.

Answers from one request (n samples at once) share its tokens and its time: tokens are divided by the number of answers,
and the time of a request counts once.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import Field

from caretbench.problem import AnyCompletion, Latency, MissingSample
from caretbench.reports.estimates import ReportValue
from caretbench.reports.results.model_variants import model_order, variant_titles

TOKENS: Mapping[str, str] = {
    "input_tokens": "Input tokens",
    "cached_tokens": "of them cached",
    "output_tokens": "Output tokens",
    "reasoning_tokens": "of them reasoning",
}
"""Column heads of the kinds of tokens, by field name; cached tokens are part of the input."""


class RequestTimes(ReportValue):
    """Times of requests in seconds: the median and the 95th percentile (linear interpolation)."""

    median_s: float
    percentile_95_s: float
    requests: int


class ModelUsage(ReportValue):
    """Usage of one model with one set of parameters. None: the provider does not report it."""

    model: str
    parameters: str
    title: str
    answers: int
    requests: int
    """Number of answered requests; several answers may share one."""
    tries: int | None = None
    """Number of tries of the answered requests, retries included."""
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: float | None = None
    """Cost in US dollars of the answers whose price is known."""
    priced: int = 0
    """Number of answers whose price is known."""
    first_token: RequestTimes | None = None
    last_token: RequestTimes | None = None
    finished: int = 0
    """Number of answers with a known finish reason."""
    stopped_by_length: float | None = None
    """Share of finished answers that reached the token limit, from 0 to 1."""
    missing: Mapping[str, int] = Field(default_factory=dict)
    """Number of missing samples by kind of error."""


def model_usage(
    completions: Iterable[AnyCompletion],
    missing: Iterable[MissingSample] = (),
    manifest: Mapping[str, Any] | None = None,
) -> tuple[ModelUsage, ...]:
    """Return the usage of every model that was sampled in this run, by name; not of recorded answers and baselines.

    ``manifest`` is the run's, for the titles of models that were asked in several ways.
    """
    answered: dict[tuple[str, str], list[AnyCompletion]] = defaultdict(list)
    for row in completions:
        if _was_sampled(row):
            answered[row.model, row.parameters].append(row)
    absent: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for failure in missing:
        absent[failure.model, failure.parameters][failure.kind] += 1
    known = manifest or {}
    titles = variant_titles(known, (*answered, *absent))
    return tuple(
        _usage(
            model,
            parameters,
            titles[model, parameters],
            answered.get((model, parameters), []),
            dict(sorted(absent.get((model, parameters), Counter()).items())),
        )
        for model, parameters in sorted(titles, key=lambda key: (key[0].lower(), model_order(known, *key), key[1]))
    )


def _was_sampled(row: AnyCompletion) -> bool:
    return any(value is not None for value in (row.prompt, row.usage, row.latency, row.cost, row.finish_reason))


def _usage(
    model: str, parameters: str, title: str, rows: Sequence[AnyCompletion], missing: Mapping[str, int]
) -> ModelUsage:
    requests = list(_requests(rows))
    latencies = [latency for latency in requests if latency is not None]
    prices = [row.cost for row in rows if row.cost is not None]
    reasons = [row.finish_reason for row in rows if row.finish_reason is not None]
    return ModelUsage(
        model=model,
        parameters=parameters,
        title=title,
        answers=len(rows),
        requests=len(requests),
        tries=sum(latency.attempts for latency in latencies) if latencies else None,
        **{name: _total(rows, name) for name in TOKENS},
        cost=math.fsum(prices) if prices else None,
        priced=len(prices),
        first_token=_request_times([latency.first_s for latency in latencies if latency.first_s is not None]),
        last_token=_request_times([latency.last_s for latency in latencies]),
        finished=len(reasons),
        stopped_by_length=reasons.count("length") / len(reasons) if reasons else None,
        missing=missing,
    )


def _total(rows: Sequence[AnyCompletion], name: str) -> int | None:
    parts = [
        count / row.usage.answers
        for row in rows
        if row.usage is not None and (count := getattr(row.usage, name)) is not None
    ]
    return round(math.fsum(parts)) if parts else None


def _requests(rows: Sequence[AnyCompletion]) -> Iterator[Latency | None]:
    """Yield the time of every request.

    Rows of one problem with equal shared usage and equal time are one request, even if one of its samples is missing.
    """
    together = Counter((row.problem_id, row.usage, row.latency) for row in rows)
    for (_, usage, latency), count in together.items():
        yield from [latency] * math.ceil(count / (1 if usage is None else usage.answers))


def _request_times(seconds: Sequence[float]) -> RequestTimes | None:
    if not seconds:
        return None
    median, high = np.quantile(seconds, (0.5, 0.95))
    return RequestTimes(median_s=float(median), percentile_95_s=float(high), requests=len(seconds))
