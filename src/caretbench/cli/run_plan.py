"""What a run is to do: models × subjects, graders, money. Made of options, or of a run file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from caretbench.cli.scoring import Subject
from caretbench.inspect.client.options import ClientOptions
from caretbench.models import Sampling
from caretbench.runs.prices import Prices
from caretbench.runs.sampling import preset as find_preset
from caretbench.secrets import redact

if TYPE_CHECKING:
    from caretbench.judging.choosing import Part

GRADER = "grader"
"""The role in ``-m grader=SPEC``: this model judges, and is not measured."""

OF_THE_MEASURED = ("base_url", "context_tokens", "tokenizer", "mode", "threads", "per_request")
"""Options of ``run`` that hold for the models that are measured, and not for graders."""

_NAMED = re.compile(r"(?P<name>[A-Za-z0-9][\w.@+-]*)=(?P<spec>.+)", re.DOTALL)


@dataclass(frozen=True)
class ModelPlan:
    """One model as it is wanted: ``name`` stands in the rows, ``spec`` is what Inspect knows it by."""

    name: str
    spec: str
    sampling: Sampling = field(default_factory=Sampling)
    samples: int = 1
    prompt: str | None = None
    context: str | None = None
    preprocess: tuple[str, ...] = ()
    prompt_tokens: int | None = None
    options: ClientOptions = field(default_factory=ClientOptions)


@dataclass(frozen=True)
class GraderPlan:
    """One grader as it is wanted."""

    name: str
    spec: str
    options: ClientOptions = field(default_factory=ClientOptions)


@dataclass(frozen=True)
class Plan:
    """Everything that one ``run`` is to do. ``max_cost`` is in US dollars, over all models, graders and folders."""

    models: Sequence[ModelPlan]
    subjects: Sequence[Subject]
    graders: Sequence[GraderPlan] = ()
    criterion: str | None = None
    """What graders are asked; None: what each problem's checks name, or the profile's criterion."""
    prices: Prices = field(default_factory=Prices)
    max_cost: float | None = None
    baselines: Sequence[str] = ()
    score: bool = True
    workers: int | None = None
    engine: str = "local"
    use_cache: bool = True
    probe: bool = False
    dry_run: bool = False
    fail_under: float | None = None
    html: bool = True
    as_json: bool = False

    def check(self) -> None:
        """Refuse what could not work, before anything is opened.

        Raises:
            ValueError: names that clash, no model, folders that clash.
        """
        from caretbench.suites.baselines import NAMES
        from caretbench.suites.showing import showing

        if not self.models:
            raise ValueError(
                "no model: say which with -m, openai/gpt-4o-mini for example; "
                "baselines alone need none: caretbench score SUITE"
            )
        for kind, names in (
            ("model", [model.name for model in self.models]),
            ("grader", [grader.name for grader in self.graders]),
        ):
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise ValueError(f"two {kind}s are called {twice!r}; give one another name: -m NAME=SPEC")
        for name in (*(model.name for model in self.models), *(grader.name for grader in self.graders)):
            if name in NAMES:
                raise ValueError(f"{name!r} is the name of a baseline; give the model another: -m NAME=SPEC")
            if not name.isprintable():
                raise ValueError(f"the model's name {name!r} holds control characters; use -m NAME=SPEC")
        for model in self.models:
            showing([subject.suite for subject in self.subjects], model.context)
        folders = [subject.folder.path for subject in self.subjects]
        if self.graders:
            for subject in self.subjects:
                self.judged_parts(subject)
        twice_folder = next((path for path in folders if folders.count(path) > 1), None)
        if twice_folder is not None:
            raise ValueError(f"two suites write to {twice_folder}; give one another folder")

    def judged_parts(self, subject: Subject) -> list[Part]:
        """What graders are asked of which of a subject's problems.

        Raises:
            KeyError: no such criterion.
        """
        from caretbench.judging.choosing import parts
        from caretbench.judging.criteria import criterion

        asked = criterion(self.criterion) if self.criterion else None
        return parts(subject.problems, subject.profile, asked)


def named_spec(option: str) -> tuple[str, str]:
    """Name and spec of ``-m NAME=SPEC`` or ``-m SPEC``, whose name is the spec itself.

    Raises:
        ValueError: there is no spec, or it is no model's name.
    """
    found = _NAMED.fullmatch(option)
    name, spec = (found["name"], found["spec"]) if found else (redact(option), option)
    if "/" not in spec.strip("/"):
        raise ValueError(
            f"-m {option!r}: expected PROVIDER/MODEL, openai/gpt-4o-mini or gguf/model.gguf for example"
        )
    return name, spec


NumberOrNone = float | Literal["none"] | None
"""A number; ``none``: do not send it; None: not said."""


def sampling(
    preset: str | None, samples: int | None, given: Mapping[str, NumberOrNone | int]
) -> tuple[Sampling, int]:
    """How answers are drawn, and how many: the preset, and over it what is given.

    Raises:
        KeyError: no such preset.
        ValidationError: a value is out of its range.
    """
    base = find_preset(preset) if preset is not None else None
    values: dict[str, Any] = base.sampling.model_dump() if base else {}
    values |= {name: None if value == "none" else value for name, value in given.items() if value is not None}
    number = samples if samples is not None else base.samples if base else 1
    return Sampling.model_validate(values), number


def client_options(given: Mapping[str, Any]) -> ClientOptions:
    """How a model is reached: what is given, the rest as it is by default.

    Raises:
        ValidationError: a value is out of its range.
    """
    return ClientOptions.model_validate({name: value for name, value in given.items() if value is not None})
