"""Resolved and checked configuration of a run: suites with their data, models, judges, prices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from pydantic import ValidationError

from caretbench.errors import CaretBenchError, DataError, MachineError, UsageError, did_you_mean
from caretbench.files import read_packaged_toml
from caretbench.judging.criteria import CriterionProblems, get_criterion, problems_by_criterion
from caretbench.models import AccessCheck, ClientOptions, Sampling, unchecked
from caretbench.prompts.instructions import BLIND, AskingMode
from caretbench.redaction import redact
from caretbench.runs.plans.config import (
    ALL_SUITES,
    TESTED_MODEL_OPTIONS,
    JudgeConfig,
    ModelConfig,
    RequestConfig,
    RunConfig,
    SamplingConfig,
    SuiteConfig,
    validation_message,
)
from caretbench.runs.plans.model_plan import JudgePlan, ModelPlan
from caretbench.runs.plans.prices import Price, Prices, unpriced_error
from caretbench.runs.plans.roles import RESERVED_ROLES, refuse_remote
from caretbench.runs.plans.suite_settings import ResolvedSuite, baseline_names, check_model, check_suite_prompt
from caretbench.suites import baselines_of_run, suite_names

Made = TypeVar("Made")

ALL_LIMIT: Final = 100
"""Number of problems of each suite in a run of all of them, where nothing else bounds it: SAFIM alone has 17,000."""


class SamplingPreset(NamedTuple):
    """Named sampling preset: number of samples per problem and sampling settings."""

    name: str
    about: str
    samples: int
    sampling: Sampling


@cache
def sampling_presets() -> Mapping[str, SamplingPreset]:
    """Return all presets by name."""
    presets = {}
    for name, entry in read_packaged_toml("caretbench.runs.plans", "sampling_presets.toml").items():
        about, samples = entry.pop("about"), entry.pop("samples")
        presets[name] = SamplingPreset(name, about, samples, Sampling.model_validate(entry))
    return presets


def sampling_preset(name: str) -> SamplingPreset:
    """Return the preset ``name``.

    Raises:
        UsageError: no such preset; the message lists the known ones.
    """
    presets = sampling_presets()
    if name not in presets:
        raise UsageError(f"unknown preset {name!r}{did_you_mean(name, presets)}; known: {', '.join(presets)}")
    return presets[name]


@dataclass(frozen=True)
class ResolvedRun:
    """Resolved and checked configuration of a run. No model is opened and nothing is written yet."""

    config: RunConfig
    suites: Sequence[ResolvedSuite]
    models: Sequence[ModelPlan]
    judges: Sequence[JudgePlan]
    prices: Prices
    baselines: Sequence[str]
    absent: Mapping[str, str] = field(default_factory=dict)
    """Suites that ``all`` names and that cannot run here, each with the reason and the command that helps."""

    @property
    def is_tolerant(self) -> bool:
        """Return whether the run goes on where one of its suites fails."""
        return len(self.suites) + len(self.absent) > 1

    @classmethod
    def from_config(
        cls, config: RunConfig, source: Path | None = None, check_access: AccessCheck = unchecked
    ) -> ResolvedRun:
        """Resolve a configuration. ``source`` is its run file, for messages.

        ``check_access`` is called with spec and options of every model and judge, once all else is right.

        Raises:
            DataError: a key of the run file is wrong, or the data are.
            UsageError: a value is wrong, a name is unknown, names or folders clash, or a remote model is not allowed.
        """
        models = model_plans(config, source)
        judges = [_judge(source, number, entry, config.defaults) for number, entry in enumerate(config.judges)]
        everybody: list[ModelPlan | JudgePlan] = [*models, *judges]
        if config.local_only:
            refuse_remote((asked.spec for asked in everybody), (asked.options.base_url for asked in everybody))
        everything = any(entry.name == ALL_SUITES for entry in config.suites)
        alone = len(config.suites) == 1 and not config.together and not everything
        suites: list[ResolvedSuite] = []
        absent: dict[str, str] = {}
        for number, entry in enumerate(config.suites):
            if entry.name == ALL_SUITES:
                runnable, absent = _every_suite(config, entry)
                suites += runnable
            else:
                suites.append(_made(source, f"suites.{number}", partial(_resolved_suite, config, entry, alone=alone)))
        for number, resolved in enumerate(suites):
            _made(source, f"suites.{number}.prompt", partial(check_suite_prompt, resolved))
        if config.batch:
            batches = (suites[0].folder.path if alone else config.root) / "batches.jsonl"
            models = [replace(model, options=model.options.model_copy(update={"batch": batches})) for model in models]
        plan = cls(
            config,
            suites,
            models,
            judges,
            _prices(config.prices),
            baseline_names(config.baselines, [resolved.suite for resolved in suites]),
            absent,
        )
        plan._check()
        # Last: of a wrong option and a server that is off, the option is named.
        for named in everybody:
            _check_access(check_access, named, config)
        return plan

    def _check(self) -> None:
        self._check_names()
        for model in self.models:
            check_model(model, self.suites)
        if self.judges:
            judged = [batch for resolved in self.suites for batch in self.criterion_batches(resolved)]
            only = next((batch.criterion.key for batch in judged if batch.criterion.only), None)
            if only and not self.config.score:
                raise UsageError(f"--no-score: {only} judges only answers that passed; score, or name no judge")
        if self.config.typing and not any(resolved.suite.typed_references for resolved in self.suites):
            names = ", ".join(resolved.suite.name for resolved in self.suites)
            raise UsageError(f"--typing: people typed no reference of {names}; choose codevbench or simcopilot")
        folders = [resolved.folder.path for resolved in self.suites]
        twice_folder = next((path for path in folders if folders.count(path) > 1), None)
        if twice_folder is not None:
            raise UsageError(f"two suites write to {twice_folder}; give one another folder")

    def _check_names(self) -> None:
        for kind, names in (
            ("model", [entry.name or redact(entry.spec) for entry in self.config.models]),
            ("judge", [judge.name for judge in self.judges]),
        ):
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise UsageError(f"two {kind}s are called {twice!r}; give one another name: -m NAME=SPEC")
        # Rows with the name of a role would look like those of a judge or generator.
        role = next((model.name for model in self.models if model.name in RESERVED_ROLES), None)
        if role is not None:
            raise UsageError(f"{role!r} is the name of a role; give the model that is measured another: -m NAME=SPEC")
        baselines = {name for resolved in self.suites for name in baselines_of_run(resolved.suite.name)}
        for name in (*(model.name for model in self.models), *(judge.name for judge in self.judges)):
            # Its rows would be taken for the baseline's, and count in no mean.
            if name in baselines:
                raise UsageError(f"{name!r} is the name of a baseline; give the model another: -m NAME=SPEC")
            # Names are printed in tables and terminals.
            if not name.isprintable():
                raise UsageError(f"the model's name {name!r} holds control characters; use -m NAME=SPEC")

    def criterion_batches(self, resolved: ResolvedSuite) -> list[CriterionProblems]:
        """Return the problems of a suite to judge, by criterion.

        Raises:
            UsageError: no such criterion.
        """
        criterion = get_criterion(self.config.criterion) if self.config.criterion else None
        return problems_by_criterion(resolved.problems, resolved.profile, criterion)

    def price(self, model_or_judge: ModelPlan | JudgePlan) -> Price | None:
        """Return the price of a model's tokens.

        Raises:
            UsageError: money is limited, and no price is known.
        """
        price = self.prices.find(model_or_judge.spec)
        if price is None and self.config.max_cost is not None:
            raise unpriced_error([model_or_judge.spec])
        batch = price is not None and self.config.batch and isinstance(model_or_judge, ModelPlan)
        return price.of_batches if price is not None and batch else price


def model_plans(config: RunConfig, source: Path | None = None) -> list[ModelPlan]:
    """Return the models under test with their settings, one for each mode of instructions; no problem is loaded.

    Raises:
        DataError: a key of the run file ``source`` is wrong.
        UsageError: a value is wrong; an unknown preset.
    """
    return [
        replace(_model(source, number, entry, config.defaults), instruction=mode)
        for number, entry in enumerate(config.models)
        for mode in _modes(entry, config.defaults)
    ]


def _modes(entry: ModelConfig, defaults: RequestConfig) -> tuple[AskingMode | None, ...]:
    blind = defaults.blind if entry.blind is None else entry.blind
    return (*(entry.instruction or defaults.instruction or (None,)), *((BLIND,) if blind else ()))


def _made(source: Path | None, key: str, make: Callable[[], Made]) -> Made:
    """Return ``make()``; an error names the key of the run file ``source``, if there is one.

    Raises:
        DataError: it raises UsageError, DataError or ValidationError, and there is a run file.
        UsageError: it raises ValidationError, and there is none.
    """
    try:
        return make()
    except ValidationError as error:
        if source is None:
            raise UsageError(f"--{validation_message(error)}") from None
        raise DataError(f"{source}: {key}.{validation_message(error)}") from None
    except (UsageError, DataError) as error:
        if source is None:
            raise
        raise DataError(f"{source}: {key}: {error}") from None


def _resolved_suite(config: RunConfig, entry: SuiteConfig, *, alone: bool) -> ResolvedSuite:
    root = Path("runs") if alone else config.root
    output = root / entry.folder if entry.folder else config.output if alone else None
    resolved = ResolvedSuite.from_config(entry, execute=config.execute, output=output, root=root)
    return resolved._replace(adds=config.add)


def _check_access(check_access: AccessCheck, model_or_judge: ModelPlan | JudgePlan, config: RunConfig) -> None:
    try:
        check_access(model_or_judge.spec, model_or_judge.options)
    except MachineError:
        # Where all of its answers are stored, the model need not be there; that is looked at later.
        if isinstance(model_or_judge, JudgePlan) or not _has_stored_runs(config):
            raise


def _has_stored_runs(config: RunConfig) -> bool:
    roots = {config.root, *([config.output.parent] if config.output else [])}
    return any(next(root.glob("*/manifest.json"), None) for root in roots)


def _every_suite(config: RunConfig, entry: SuiteConfig) -> tuple[list[ResolvedSuite], dict[str, str]]:
    """Return all suites with these settings, and the reasons of those that cannot run here.

    Raises:
        UsageError: none can.
    """
    bounded = entry.limit or entry.per_cell or config.minutes or config.max_cost is not None
    limit = entry.limit if bounded else ALL_LIMIT
    suites, absent = [], {}
    for name in suite_names():
        settings = entry.model_copy(update={"name": name, "limit": limit, "folder": None})
        try:
            suites.append(_resolved_suite(config, settings, alone=False))
        except CaretBenchError as error:
            absent[name] = str(error).removeprefix(f"{name}: ")
    if not suites:
        raise UsageError(f"no suite can run: {'; '.join(dict.fromkeys(absent.values()))}")
    return suites, absent


def _model(source: Path | None, number: int, entry: ModelConfig, defaults: RequestConfig) -> ModelPlan:
    key, named = f"models.{number}", entry.preset or defaults.preset
    common = RequestConfig() if entry.preset else defaults  # a preset of its own states all of the sampling
    settings = common.sampling.model_dump() | entry.sampling.model_dump(exclude_none=True)
    base = _made(source, f"{key}.preset", lambda: sampling_preset(named) if named else None)
    sampling = _made(
        source, f"{key}.sampling", lambda: override_sampling(SamplingConfig(**settings), base and base.sampling)
    )
    preprocess = defaults.preprocess if entry.preprocess is None else entry.preprocess
    return ModelPlan(
        name=entry.name or redact(entry.spec),
        spec=entry.spec,
        sampling=sampling,
        samples=entry.samples or defaults.samples or (base.samples if base else 1),
        prompt=entry.prompt or defaults.prompt,
        context=entry.context or defaults.context,
        preprocess=preprocess or (),
        prompt_tokens=entry.prompt_tokens or defaults.prompt_tokens,
        options=_options(source, key, defaults.options | entry.options),
    )


def _judge(source: Path | None, number: int, entry: JudgeConfig, defaults: RequestConfig) -> JudgePlan:
    # Defaults are about models under test: their address and tokenizer are not a judge's.
    common = {name: value for name, value in defaults.options.items() if name not in TESTED_MODEL_OPTIONS}
    options = _options(source, f"judges.{number}", common | entry.options)
    return JudgePlan(entry.name or redact(entry.spec), entry.spec, options)


def override_sampling(chosen: SamplingConfig, base: Sampling | None = None) -> Sampling:
    """Return ``base`` with the changes of ``chosen``.

    Raises:
        ValidationError: a value is out of its range.
    """
    values: dict[str, Any] = (base or Sampling()).model_dump()
    values |= {
        name: None if value == "none" else value for name, value in chosen.model_dump().items() if value is not None
    }
    return Sampling.model_validate(values)


def _options(source: Path | None, key: str, settings: Mapping[str, Any]) -> ClientOptions:
    return _made(source, f"{key}.options", lambda: ClientOptions.model_validate(settings))


def _prices(source: Path | Mapping[str, Price] | None) -> Prices:
    return Prices(source) if isinstance(source, Mapping) else Prices.load(source)
