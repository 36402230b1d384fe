"""Configuration of a run: suites × models, judges, budget. Schema of run files and target of options.

A run file in TOML, the options of ``run`` and ``score``, the parameters of Inspect's tasks and the Python API all
make a :class:`RunConfig`; :class:`caretbench.runs.plans.plan.ResolvedRun` resolves it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, ValidationError

from caretbench.errors import UsageError
from caretbench.files import DataError, describe_validation_error, read_toml
from caretbench.local.server_spec import canonical_spec
from caretbench.metrics.typing_sessions import Trigger
from caretbench.problem import Problem
from caretbench.prompts.instructions import InstructionMode
from caretbench.runs.plans.options import options_to_tables
from caretbench.runs.plans.prices import Price
from caretbench.runs.plans.roles import NamedModel
from caretbench.suites.selection import Selection

_WHOLE, _NUMBER, _TEXT = (f"{{input}} is not {kind}; give {kind}" for kind in ("a whole number", "a number", "a text"))
_WORDS = {
    "greater_than_equal": "{input} is too small; give {ge:g} or more",
    "greater_than": "{input} is too small; give more than {gt:g}",
    "less_than_equal": "{input} is too large; give {le:g} or less",
    "less_than": "{input} is too large; give less than {lt:g}",
    "finite_number": "{input} is not finite; give a number",
    "literal_error": "{input} is not known; give {expected}",
    "extra_forbidden": "there is no such key; correct its name, or remove it",
    "missing": "it is missing; add it",
    "too_short": "there is none; give at least {min_length}",
    "int_parsing": _WHOLE, "int_type": _WHOLE, "int_from_float": _WHOLE,
    "float_parsing": _NUMBER, "float_type": _NUMBER, "string_type": _TEXT,
}  # fmt: skip


def validation_message(error: ValidationError) -> str:
    """Return the errors of a configuration on one line: key, cause, remedy."""
    return describe_validation_error(error, _WORDS)


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())


def _model_name(spec: str) -> str:
    if "/" not in spec.strip("/"):
        raise UsageError(f"{spec!r} names no model; expected PROVIDER/MODEL, openai/gpt-4o-mini for example")
    return canonical_spec(spec)


def _modes(value: Any) -> Any:
    """Return the modes in a text with commas; other values as they are."""
    return tuple(mode.strip() for mode in value.split(",")) if isinstance(value, str) else value


def _distinct(modes: tuple[InstructionMode, ...]) -> tuple[InstructionMode, ...]:
    if len(set(modes)) < len(modes):
        raise UsageError(f"{', '.join(modes)}: a mode occurs twice; name each once")
    return modes


InstructionModes = Annotated[tuple[InstructionMode, ...], BeforeValidator(_modes), AfterValidator(_distinct)]
"""One or several modes: a list, or a text with commas."""

MetricFunction = Callable[[str, Problem], float]
"""Metric of a user: a function of the inserted text and the problem, with a result from 0 to 1."""

ALL_SUITES: Final = "all"
"""Name of an entry of ``suites`` that stands for every suite whose problems are on this machine."""

Spec = Annotated[str, AfterValidator(_model_name)]
"""PROVIDER/MODEL."""


class SamplingConfig(_Table):
    """Sampling settings; None: not set; ``none``: the field is not sent."""

    max_tokens: int | None = Field(default=None, ge=1)
    # Providers take 0 to 2: of 32 wrong command lines, a temperature of 7 was one of two that were accepted.
    temperature: Annotated[float, Field(ge=0, le=2)] | Literal["none"] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | Literal["none"] | None = None
    seed: int | None = None


class RequestConfig(_Table):
    """Request settings of a model. Those in ``[defaults]`` apply to every model without its own."""

    preset: str | None = None
    samples: int | None = Field(default=None, ge=1)
    sampling: SamplingConfig = SamplingConfig()
    prompt: str | None = None
    context: str | None = None
    instruction: InstructionModes | None = Field(default=None, min_length=1)
    blind: bool | None = None
    """True if questions are also asked without their text."""
    prompt_tokens: int | None = Field(default=None, ge=1)
    preprocess: tuple[str, ...] | None = None
    options: dict[str, JsonValue] = Field(default_factory=dict)
    """Fields of :class:`caretbench.models.ClientOptions`."""


class ModelConfig(RequestConfig):
    """One model under test: ``spec`` is PROVIDER/MODEL, ``name`` is its name in the rows."""

    spec: Spec
    name: str | None = None


class JudgeConfig(_Table):
    """One judge (the role ``judge``)."""

    spec: Spec
    name: str | None = None
    options: dict[str, JsonValue] = Field(default_factory=dict)


class SuiteConfig(_Table):
    """Problems of one suite, and the scoring of answers to them."""

    name: str
    data: str = "starter"
    select: str | None = None
    limit: int | None = Field(default=None, ge=1)
    """Number of problems in total: a seeded sample, spread over the suite's cells, without overlapping spans."""
    per_cell: int | None = Field(default=None, ge=1)
    """Number of problems of each cell, the first ones."""
    seed: int | None = None
    """Seed of the sample that ``limit`` draws; 0 by default."""
    policy: str | tuple[str, ...] | None = None
    profile: str = "default"
    variants: tuple[str, ...] = ()
    metrics: tuple[str | MetricFunction, ...] = ()
    """Plug-ins, or functions in Python, that measure each answer in addition to the suite."""
    prompt: str | None = None
    """Prompt strategy for all models on this suite; it goes before the models' own."""
    folder: str | None = Field(default=None, pattern=r"^[\w][\w.@+-]*$")

    @property
    def selection(self) -> Selection:
        """Selection of problems; ValueError if there is a seed without a limit."""
        return Selection.from_options(self.select, self.limit, self.per_cell, self.seed)


class RunConfig(_Table):
    """Configuration of one run. ``max_cost`` is in US dollars, over all models, judges and folders.

    ``minutes``, or ``max_cost`` with several suites, is divided over the suites that have no number of problems.
    Without ``output``, a run file writes below ``runs/STEM``, and other runs to ``runs/SUITE-DATA-PROFILE``. With one
    suite and no ``folder`` of its own, ``output`` is the run's folder unless ``together`` makes it hold folders.
    """

    suites: tuple[SuiteConfig, ...] = Field(min_length=1)
    models: tuple[ModelConfig, ...] = ()
    judges: tuple[JudgeConfig, ...] = ()
    defaults: RequestConfig = RequestConfig()
    baselines: tuple[str, ...] | None = None
    """Names of baselines; None: all of the suites'."""
    criterion: str | None = None
    prices: Path | dict[str, Price] | None = None
    max_cost: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    minutes: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    output: Path | None = None
    together: bool = False
    """True if ``output`` is a folder of run folders."""
    add: bool = False
    """True if problems may be added to a run of others; otherwise its folder is refused."""
    execute: bool = True
    score: bool = True
    fail_under: float | None = Field(default=None, ge=0, le=1)
    workers: int | None = None
    engine: str = "local"
    cache: bool = True
    probe: bool = False
    typing: Trigger | None = None
    """Places of additional requests while the reference is typed; None: the caret alone."""
    batch: bool = False
    """True if the models under test are asked by their providers' batch interfaces."""
    local_only: bool = False

    @property
    def root(self) -> Path:
        """Folder that contains the folders of several suites."""
        everything = any(entry.name == ALL_SUITES for entry in self.suites)
        return self.output or Path("runs", *([ALL_SUITES] if everything else []))

    @classmethod
    def load(cls, path: Path, **changes: Any) -> RunConfig:
        """Return the configuration of a run file, overridden by ``changes``.

        Relative paths are as on the command line: they begin at the working folder.

        Raises:
            DataError: the file cannot be read, or a key is wrong; the message names file and key.
        """
        # The file's own keys go before these defaults, and options of the command line before the file's.
        table = {"output": Path("runs") / path.stem, "together": True} | read_toml(path) | changes
        try:
            return cls.model_validate(table)
        except ValidationError as error:
            raise DataError(f"{path}: {validation_message(error)}") from None


TESTED_MODEL_OPTIONS = frozenset(
    {"base_url", "headers", "context_tokens", "tokenizer", "mode", "threads", "per_request"}
)
"""Client options of models under test that do not apply to judges (a judge's provider receives another key)."""


def config_from_options(
    suite: str,
    options: Mapping[str, Any],
    models: Iterable[NamedModel] = (),
    judges: Iterable[NamedModel] = (),
    judge_base_url: str | None = None,
) -> RunConfig:
    """Return the configuration of command-line options (:mod:`caretbench.runs.plans.options`).

    Raises:
        UsageError: an option is wrong.
    """
    tables = options_to_tables(options)
    client = tables["client"]
    # A judge at another provider must not get the address, and with it the key, of the model under test.
    judged = {name: value for name, value in client.items() if name not in TESTED_MODEL_OPTIONS}
    if judge_base_url is not None:
        judged["base_url"] = judge_base_url
    asked = tables["ask"] | {"sampling": tables["sampling"], "options": _plain(client)}
    try:
        return RunConfig.model_validate(
            tables["run"]
            | {
                "suites": [{"name": suite} | tables["suite"]],
                "models": [{"spec": model.spec, "name": model.name} | asked for model in models],
                "judges": [{"spec": judge.spec, "name": judge.name, "options": _plain(judged)} for judge in judges],
            }
        )
    except ValidationError as error:
        raise UsageError(f"--{validation_message(error)}") from None


def _plain(table: Mapping[str, Any]) -> dict[str, JsonValue]:
    return {name: str(value) if isinstance(value, Path) else value for name, value in table.items()}
