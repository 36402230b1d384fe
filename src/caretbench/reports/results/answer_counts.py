"""Numbers of answers by model: usage, and completions that its recording lacks or that were refused."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl
from pydantic import Field

from caretbench.extraction.clean import holds_reasoning, holds_special_token
from caretbench.grouping import grouped
from caretbench.problem import AnyCompletion, Caret, Latency, MissingSample, Problem
from caretbench.reports.estimates import ReportValue
from caretbench.reports.frame import KEY, model_titles
from caretbench.reports.results.run_settings import display_order, variant_titles

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

    @property
    def mean_cost(self) -> float | None:
        """Mean cost of an answer whose price is known, in US dollars; None if all cost nothing."""
        return self.cost / self.priced if self.cost and self.priced else None


def model_usage(
    completions: Iterable[AnyCompletion],
    missing: Iterable[MissingSample] = (),
    manifest: Mapping[str, Any] | None = None,
) -> tuple[ModelUsage, ...]:
    """Return the usage of every model that was sampled in this run, by name; not of recorded answers and baselines.

    ``manifest`` is the run's, for the titles of models that were asked in several ways.
    """
    answered = grouped(((row.model, row.parameters), row) for row in completions if _was_sampled(row))
    absent = grouped(((failure.model, failure.parameters), failure.kind) for failure in missing)
    stored = manifest or {}
    titles = variant_titles(stored, (*answered, *absent))
    return tuple(
        _usage(
            model,
            parameters,
            titles[model, parameters],
            answered.get((model, parameters), []),
            dict(sorted(Counter(absent.get((model, parameters), ())).items())),
        )
        for model, parameters in sorted(titles, key=lambda key: display_order(stored, *key))
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
    # Each answer has a fraction of its request, and fractions such as three thirds must add up to a whole number.
    return round(math.fsum(parts)) if parts else None


def _requests(rows: Sequence[AnyCompletion]) -> Iterator[Latency | None]:
    """Yield the time of every request.

    Rows of one problem with equal shared usage and equal time are one request, even if one of its samples is missing.
    """
    # Rows have no id of their request: n samples asked at once carry the same usage and the same time.
    together = Counter((row.problem_id, row.usage, row.latency) for row in rows)
    for (_, usage, latency), count in together.items():
        yield from [latency] * math.ceil(count / (1 if usage is None else usage.answers))


def _request_times(seconds: Sequence[float]) -> RequestTimes | None:
    if not seconds:
        return None
    median, high = np.quantile(seconds, (0.5, 0.95))
    return RequestTimes(median_s=float(median), percentile_95_s=float(high), requests=len(seconds))


# A shorter prefix may be how an answer begins.
_MIN_ECHOED, _ECHOED = 20, 200

MIN_EMPTY = 0.05
"""Minimum share of empty answers that is worth a warning."""


class Recording(ReportValue):
    """Completions of one model with one set of parameters.

    ``expected`` is ``all_problems`` times ``samples``, the number of different samples that the model has over all
    problems. Problems without any completion are not in ``with_fewer_samples``. ``refused`` completions are too long,
    or take too much to parse, under some policy of the run; ``refusal`` is the reason of the first.
    """

    model: str
    parameters: str
    title: str
    problems: int
    all_problems: int
    samples: int
    with_fewer_samples: int
    completions: int
    expected: int
    null: int = 0
    """Completions for which the provider answered with nothing at all."""
    empty: int = 0
    """Completions without any visible character where text was due, null ones not counted."""
    marked: int = 0
    """Completions that begin with the prompt, or hold a special token or a reasoning mark."""
    refused: int = 0
    refusal: str | None = None

    @property
    def complete(self) -> bool:
        """Return whether every problem has every sample."""
        return self.completions == self.expected

    @property
    def empty_share(self) -> float:
        """Share of completions without any visible character where text was due, or with nothing at all."""
        return (self.empty + self.null) / self.completions


def refusals(frame: pl.DataFrame) -> dict[tuple[str, str], list[str]]:
    """Return the reasons for which completions were refused, one for each, by model and parameters."""
    reasons: dict[tuple[str, str], list[str]] = defaultdict(list)
    refused = frame.filter(pl.col("refusal").is_not_null()).unique(KEY[:4], keep="first", maintain_order=True)
    for model, parameters, reason in refused.select("model", "parameters", "refusal").iter_rows():
        reasons[model, parameters].append(reason)
    return reasons


def recordings(
    completions: Iterable[AnyCompletion],
    missing: Iterable[MissingSample],
    problems: Iterable[Problem],
    refused: Mapping[tuple[str, str], Sequence[str]] = MappingProxyType({}),
    nothing_due: Container[str] = frozenset(),
) -> tuple[Recording, ...]:
    """Return the completions of each model in numbers, over these problems.

    ``refused`` are the reasons of :func:`refusals`, ``nothing_due`` the problems whose right answer is empty.
    """
    by_id = {problem.id: problem for problem in problems}
    answered = grouped(((row.model, row.parameters), row) for row in completions if row.problem_id in by_id)
    absent = grouped(((row.model, row.parameters), row.sample) for row in missing)
    titles = model_titles(answered)
    entries = []
    for key in sorted(answered):
        rows, reasons = answered[key], refused.get(key, ())
        requested = {*(row.sample for row in rows), *absent.get(key, ())}
        samples = Counter(problem for problem, _ in {(row.problem_id, row.sample) for row in rows})
        entries.append(
            Recording(
                model=key[0],
                parameters=key[1],
                title=titles[key],
                problems=len(samples),
                all_problems=len(by_id),
                samples=len(requested),
                with_fewer_samples=sum(count < len(requested) for count in samples.values()),
                completions=samples.total(),
                expected=len(by_id) * len(requested),
                null=sum(row.text is None for row in rows),
                empty=sum(row.problem_id not in nothing_due for row in filter(_is_blank, rows)),
                marked=sum(_is_marked(row.text or "", by_id[row.problem_id]) for row in rows),
                refused=len(reasons),
                refusal=next(iter(reasons), None),
            )
        )
    return tuple(entries)


def _is_blank(row: AnyCompletion) -> bool:
    return row.text is not None and not row.text.strip()


def _is_marked(text: str, problem: Problem) -> bool:
    """Return whether a raw text begins with the prompt, or holds what only models, servers and tokenizers write."""
    prefix = problem.shown.prefix.strip()[:_ECHOED] if isinstance(problem.shown, Caret) else ""
    echoes = len(prefix) >= _MIN_ECHOED and text.lstrip().startswith(prefix)
    return echoes or holds_special_token(text) or holds_reasoning(text)


def incomplete_warnings(recordings: Sequence[Recording]) -> Iterator[str]:
    """Yield a warning for each model that lacks completions."""
    for entry in recordings:
        if entry.complete:
            continue
        parts = []
        if entry.problems < entry.all_problems:
            parts.append(f"{entry.problems} of {entry.all_problems} problems have completions")
        if entry.with_fewer_samples:
            parts.append(f"{entry.with_fewer_samples} problems have fewer than {entry.samples} samples")
        yield (
            f"{entry.title}: the recording is incomplete, with {entry.completions} of {entry.expected} completions: "
            f"{'; '.join(parts)}. Its numbers are over the completions that are there."
        )


def blank_warnings(recordings: Sequence[Recording]) -> Iterator[str]:
    """Yield a warning for each model with null answers, or with a share of at least 5 % of empty ones."""
    for entry in recordings:
        if entry.null:
            yield (
                f"{entry.title}: {entry.null} of {entry.completions} answers are null: the provider sent no text. "
                "Look at the model's settings first."
            )
        if entry.empty >= MIN_EMPTY * entry.completions:
            yield f"{entry.title}: {entry.empty} of {entry.completions} answers are empty."


_MARKS = "answers begin with the prompt, hold a special token, or hold a reasoning mark"


def mark_warnings(recordings: Sequence[Recording]) -> Iterator[str]:
    """Yield a line for each model with answers that hold marks: those of its server, its template or its tokenizer."""
    for entry in recordings:
        if entry.marked:
            yield f"{entry.title}: {entry.marked} of {entry.completions} {_MARKS}. Look at its prompt and its server."


def mark_notes(recordings: Sequence[Recording]) -> Iterator[str]:
    """Yield the same line with 0 where no answer holds a mark."""
    if recordings and not any(entry.marked for entry in recordings):
        yield f"0 of {sum(entry.completions for entry in recordings)} {_MARKS}."


def refused_warnings(recordings: Sequence[Recording]) -> Iterator[str]:
    """Yield a warning for each model with refused completions."""
    for entry in recordings:
        if entry.refused:
            example = "" if entry.refused == 1 else ", for example"
            yield (
                f"{entry.title}: {entry.refused} of {entry.completions} completions were refused, and count as "
                f"failures ({entry.refusal}{example})."
            )
