"""A run file: models × suites in TOML, with graders, prices and a limit of the cost over all.

Relative paths are as on the command line: they begin at the working folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from caretbench.cli import run_plan as plans
from caretbench.cli import scoring as shared
from caretbench.files import DataError, describe
from caretbench.inspect.client.options import ClientOptions
from caretbench.runs.prices import Price, Prices, read_toml
from caretbench.secrets import redact


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())


class _Sampling(_Table):
    max_tokens: int | None = None
    temperature: float | Literal["none"] | None = None
    top_p: float | Literal["none"] | None = None
    seed: int | None = None


class _Model(_Table):
    """How a model is asked; of ``[defaults]`` everything but the name holds for all models that do not say it."""

    preset: str | None = None
    samples: int | None = Field(default=None, ge=1)
    sampling: _Sampling = _Sampling()
    prompt: str | None = None
    context: str | None = None
    prompt_tokens: int | None = Field(default=None, ge=1)
    preprocess: tuple[str, ...] | None = None
    options: dict[str, JsonValue] = Field(default_factory=dict)


class _NamedModel(_Model):
    spec: str
    name: str | None = None


class _Grader(_Table):
    spec: str
    name: str | None = None
    options: dict[str, JsonValue] = Field(default_factory=dict)


class _Suite(_Table):
    name: str
    data: str = "starter"
    select: str | None = None
    limit: int | None = Field(default=None, ge=1)
    policy: str | tuple[str, ...] | None = None
    profile: str = "default"
    variants: tuple[str, ...] = ()
    folder: str | None = Field(default=None, pattern=r"^[\w][\w.@+-]*$")


class _RunFile(_Table):
    output: Path | None = None
    max_cost: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    prices: Path | dict[str, Price] | None = None
    criterion: str | None = None
    baselines: tuple[str, ...] | None = None
    execute: bool = True
    score: bool = True
    fail_under: float | None = Field(default=None, ge=0, le=1)
    defaults: _Model = _Model()
    models: tuple[_NamedModel, ...] = Field(min_length=1)
    suites: tuple[_Suite, ...] = Field(min_length=1)
    graders: tuple[_Grader, ...] = ()


def load_run_file(
    path: Path,
    *,
    output: Path | None = None,
    max_cost: float | None = None,
    fail_under: float | None = None,
    score: bool = True,
    execute: bool = True,
    baseline: str | None = None,
    common: Mapping[str, Any] | None = None,
) -> plans.Plan:
    """The plan of a run file; what is given here wins over the file.

    Every suite × profile gets one folder below ``output`` that holds all models, so that its report compares them.

    Raises:
        DataError: the file cannot be read, or a key is wrong; the message names file and key.
    """
    try:
        file = _RunFile.model_validate(read_toml(path))
    except ValidationError as error:
        raise DataError(f"{path}: {describe(error)}") from None
    root = output or file.output or Path("runs") / path.stem
    subjects = [
        _subject(path, f"suites.{number}", entry, root, execute=execute and file.execute)
        for number, entry in enumerate(file.suites)
    ]
    if baseline is None:
        baseline = shared.ALL_BASELINES if file.baselines is None else ",".join(file.baselines) or "none"
    return plans.Plan(
        models=[
            _model(path, f"models.{number}", entry, file.defaults) for number, entry in enumerate(file.models)
        ],
        subjects=subjects,
        graders=[
            plans.GraderPlan(
                entry.name or redact(_spec(path, f"graders.{number}", entry.spec)), entry.spec,
                _options(path, f"graders.{number}", file.defaults.options | entry.options),
            )
            for number, entry in enumerate(file.graders)
        ],
        criterion=file.criterion,
        prices=_prices(file.prices),
        max_cost=file.max_cost if max_cost is None else max_cost,
        baselines=shared.baseline_names(baseline, [subject.suite for subject in subjects]),
        score=score and file.score,
        fail_under=file.fail_under if fail_under is None else fail_under,
        **(common or {}),
    )  # fmt: skip


def _model(path: Path, key: str, entry: _NamedModel, defaults: _Model) -> plans.ModelPlan:
    spec = _spec(path, key, entry.spec)
    given = defaults.sampling.model_dump() | entry.sampling.model_dump(exclude_none=True)
    try:
        sampling, samples = plans.sampling(
            entry.preset or defaults.preset, entry.samples or defaults.samples, given
        )
    except KeyError as error:
        raise DataError(f"{path}: {key}.preset: {error.args[0]}") from None
    except ValidationError as error:
        raise DataError(f"{path}: {key}.sampling.{describe(error)}") from None
    preprocess = defaults.preprocess if entry.preprocess is None else entry.preprocess
    return plans.ModelPlan(
        name=entry.name or redact(spec),
        spec=spec,
        sampling=sampling,
        samples=samples,
        prompt=entry.prompt or defaults.prompt,
        context=entry.context or defaults.context,
        preprocess=preprocess or (),
        prompt_tokens=entry.prompt_tokens or defaults.prompt_tokens,
        options=_options(path, key, defaults.options | entry.options),
    )


def _spec(path: Path, key: str, spec: str) -> str:
    if "/" not in spec.strip("/"):
        raise DataError(
            f"{path}: {key}.spec: {spec!r} names no model; expected PROVIDER/MODEL, openai/gpt-4o-mini for example"
        )
    return spec


def _options(path: Path, key: str, given: dict[str, JsonValue]) -> ClientOptions:
    try:
        return plans.client_options(given)
    except ValidationError as error:
        raise DataError(f"{path}: {key}.options.{describe(error)}") from None


def _subject(path: Path, key: str, entry: _Suite, root: Path, *, execute: bool) -> shared.Subject:
    try:
        return shared.Subject.of(
            entry.name, data=entry.data, chosen=entry.select, limit=entry.limit, policy=entry.policy,
            profile=entry.profile, variants=entry.variants, execute=execute, root=root,
            output=root / entry.folder if entry.folder else None,
        )  # fmt: skip
    except KeyError as error:
        raise DataError(f"{path}: {key}: {error.args[0]}") from None
    except ValueError as error:
        raise DataError(f"{path}: {key}: {error}") from None


def _prices(given: Path | dict[str, Price] | None) -> Prices:
    if given is None:
        return Prices()
    return Prices(given) if isinstance(given, dict) else Prices.load(given)
