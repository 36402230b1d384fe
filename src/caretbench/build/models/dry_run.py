"""Dry run of a build: the texts that it would send, their address and bounds of their cost. Nothing is sent."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from caretbench.build.build_models import AnswersMissingError, BuildJob, BuildModels, BuildRequest, ExpectedRequests
from caretbench.build.builder import Builder
from caretbench.build.models.config import BuildModelsConfig
from caretbench.build.models.stored_models import BuildModelRequest, BuildStageRequests, OpenModels, stored_answers
from caretbench.errors import UsageError
from caretbench.file_locks import temporary_folder
from caretbench.models import ClientOpener
from caretbench.progress import Progress
from caretbench.runs.generate import count_or_estimate_tokens, prompt_text
from caretbench.runs.plans.roles import is_local


class RequestText(NamedTuple):
    """One text that would be sent. ``row`` is the key of the forecast that counts it."""

    row: str
    role: str
    key: str
    about: str
    text: str


@dataclass
class RoleForecast:
    """Forecast of the requests of one role, as far as they are known.

    ``tokens_in`` are counted by the model's tokenizer, or estimated; ``tokens_out`` is a maximum. ``cost`` is the
    upper bound in US dollars, None where no price is known. ``address`` is empty where it is the provider's own.
    """

    role: str
    model: str
    spec: str
    place: Literal["local", "remote"]
    address: str
    requests: int = 0
    stored: int = 0
    characters: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = 0.0


@dataclass
class WholeForecast:
    """Numbers and costs of all requests that a build still needs, and what they assume.

    ``least_cost`` is that of the least number of requests with answers of full length; ``most_cost`` an upper bound.
    Costs are in US dollars, None where no price is known.
    """

    least_requests: int
    most_requests: int
    least_about: str
    most_about: str
    least_cost: float | None = None
    most_cost: float | None = None


@dataclass
class BuildForecast:
    """Forecast of a build's requests, up to the first answer that is missing.

    ``complete``: all answers are stored, so that the same build asks nothing. ``spent`` is the cost of all stored
    answers in US dollars. The keys of ``roles`` are roles, or ``ROLE=NAME`` where a role has several models. ``whole``
    counts all requests of the build, if the suite knows their number.
    """

    spent: float = 0.0
    max_cost: float | None = None
    complete: bool = False
    roles: dict[str, RoleForecast] = field(default_factory=dict)
    texts: list[RequestText] = field(default_factory=list)
    whole: WholeForecast | None = None


class _Rehearsal:
    """Models of a dry run (:class:`caretbench.build.build_models.BuildModels`): stored answers, and no others."""

    def __init__(self, models: OpenModels, folder: Path, forecast: BuildForecast) -> None:
        self._models = models
        self._answers = stored_answers(folder)
        self._forecast = forecast
        self.roles = frozenset(models.models_config.models)
        forecast.spent = sum(row.cost or 0.0 for row in self._answers.values())

    def names(self, role: str) -> tuple[str, ...]:
        """Return the names of a role's models."""
        return tuple(model.name for model in self._models.models_config.models.get(role, ()))

    def ask(self, role: str, requests: Iterable[BuildRequest]) -> Mapping[str, str]:
        """Return the answers if all are stored; record the requests.

        Raises:
            UsageError: the role has no model or several, or the requests cannot be asked so.
            AnswersMissingError: an answer is not stored.
        """
        name = self._models.models_config.model(role).name
        return self.ask_each(role, {name: requests})[name]

    def ask_each(self, role: str, requests: Mapping[str, Iterable[BuildRequest]]) -> Mapping[str, Mapping[str, str]]:
        """Return the answers of several models if all are stored; record the requests of all.

        Raises:
            ValueError, AnswersMissingError: as :meth:`ask`.
        """
        answers, missing = {}, 0
        # All models first: the list of texts would lack those of the second model otherwise.
        for name, asked in requests.items():
            work, questions = self._models.questions(role, name, asked)
            key = role if len(self.names(role)) == 1 else f"{role}={name}"
            row = self._forecast.roles.setdefault(key, _forecast_of(work))
            pending = [entry for entry in questions if entry.key not in self._answers]
            row.requests += len(questions)
            row.stored += len(questions) - len(pending)
            self._forecast.texts += [_add(key, row, work, entry) for entry in pending]
            missing += len(pending)
            answers[name] = {
                entry.request.key: self._answers[entry.key].text or "" for entry in questions if entry not in pending
            }
        if missing:
            raise AnswersMissingError(f"{role}: {missing} answers are not there yet")
        return answers

    def whole(self, expected: ExpectedRequests) -> WholeForecast:
        """Return the forecast of all requests, priced by those that are known; the models have equal shares."""
        rows = [row for row in self._forecast.roles.values() if row.role == expected.role and row.requests > row.stored]
        forecast = WholeForecast(expected.least, expected.most, expected.least_about, expected.most_about)
        prices = [self._models.models_config.price(model) for model in self._models.models_config.models[expected.role]]
        stated = [price for price in prices if price is not None]
        # One unknown price makes the whole bound false, so none is given.
        if not rows or len(stated) < len(prices):
            return forecast
        pending = sum(row.requests - row.stored for row in rows)
        tokens_in, tokens_out = (sum(row.tokens_in for row in rows), sum(row.tokens_out for row in rows))
        forecast.least_cost = sum(price.token_cost(tokens_in, tokens_out) for price in stated) / len(stated) / pending
        forecast.least_cost *= expected.least
        # A character is at most four bytes, and no token is less than a byte.
        longest = 4 * (expected.growth + max(len(text.text) for text in self._forecast.texts))
        # Rounded up, as it is a bound of money.
        full = -(-tokens_out // pending)
        forecast.most_cost = sum(price.token_cost(longest, full) for price in stated) / len(stated) * expected.most
        return forecast


def _forecast_of(work: BuildStageRequests) -> RoleForecast:
    named = work.named
    place: Literal["local", "remote"] = "local" if is_local(named.spec) else "remote"
    address = str(work.client.identity.get("address") or work.models_config.options.base_url or "")
    cost = None if work.price is None else 0.0
    return RoleForecast(work.role, named.name, named.spec, place, address, cost=cost)


def _add(key: str, row: RoleForecast, work: BuildStageRequests, question: BuildModelRequest) -> RequestText:
    """Count a request that would be sent; return its text."""
    text = prompt_text(question.prompt)
    row.characters += len(text)
    row.tokens_in += count_or_estimate_tokens(work.client, text)
    row.tokens_out += question.sampling.max_tokens
    if row.cost is not None:
        row.cost += work.max_answer_cost(question)
    return RequestText(key, work.role, question.request.key, question.request.about, text)


def dry_run(
    builder: Builder,
    sources: Sequence[str],
    output: Path,
    options: Mapping[str, Any],
    models_config: BuildModelsConfig,
    opener: ClientOpener,
    progress: Progress,
) -> BuildForecast:
    """Return all requests of a build; nothing is sent, and nothing is written to ``output``.

    The build works on a copy of the folder, and ends at the first answer that is not stored: later questions may depend
    on it.

    Raises:
        UsageError: no model is given, or the build is refused.
        DataError: a source cannot be used.
    """
    return rehearse(
        lambda copy, models: builder.build(BuildJob(sources, copy, options, progress, models)),
        output,
        models_config,
        opener,
    )


def rehearse(
    build: Callable[[Path, BuildModels], object], output: Path, models_config: BuildModelsConfig, opener: ClientOpener
) -> BuildForecast:
    """Return all requests of what ``build`` does with a copy of ``output`` and its models, as :func:`dry_run` does.

    Raises:
        UsageError: no model is given.
    """
    if not models_config.models:
        raise UsageError("--dry-run: no model is given, so nothing would be sent; say -m ROLE=PROVIDER/MODEL")
    forecast = BuildForecast(max_cost=models_config.max_cost)
    with temporary_folder("build") as folder, OpenModels(models_config, opener) as models:
        # Under the same name: builders put the folder's name into what they write.
        copy = folder / (output.resolve().name or "output")
        if output.exists():
            shutil.copytree(output, copy, symlinks=True)
        rehearsal = _Rehearsal(models, output, forecast)
        try:
            build(copy, rehearsal)
        except AnswersMissingError as error:
            if error.expected is not None:
                forecast.whole = rehearsal.whole(error.expected)
            return forecast
    forecast.complete = not forecast.texts  # of several sources, one that lacks an answer does not end the others
    return forecast
