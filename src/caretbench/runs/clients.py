"""Clients of a run's models and judges, opened one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from caretbench.errors import UsageError
from caretbench.models import ClientOpener, ModelClient
from caretbench.prompts import choose, preprocessor
from caretbench.prompts.instructions import instruction_fault, instruction_placement
from caretbench.runs.model_under_test import ModelUnderTest
from caretbench.runs.plans.model_plan import JudgePlan, ModelPlan
from caretbench.runs.plans.plan import ResolvedRun
from caretbench.runs.plans.suite_settings import SuiteSettings, suite_settings
from caretbench.runs.run_folder import ModelInfo
from caretbench.runs.session import manifest_of_session


class ModelPart(NamedTuple):
    """Model with its settings for the suites whose problems are of one kind, for which one client is open.

    The client of questions has other options than that of places in programs, so that a model's settings are those of a
    run with one suite.
    """

    model: ModelPlan
    suites: tuple[SuiteSettings, ...]


class Clients:
    """Clients of the models and judges of a run. A single one stays open; of several, one is open at a time.

    Local servers hold their weights in memory, so that two of them may be too many.
    """

    def __init__(self, plan: ResolvedRun, opener: ClientOpener) -> None:
        self._plan = plan
        self._opener = opener
        self._stack = ExitStack()
        self._held: dict[str, ModelClient] = {}

    def __enter__(self) -> Clients:
        return self

    def __exit__(self, *details: object) -> None:
        self._stack.close()

    @cached_property
    def _is_sole(self) -> bool:
        """True if the run has one client: one judge, or one model whose problems are of one kind."""
        models = {(part.model.name, part.model.options.uncut) for one in self._plan.models for part in self.parts(one)}
        return len(models) + len(self._plan.judges) == 1

    @contextmanager
    def open_client(self, model_or_judge: ModelPlan | JudgePlan) -> Iterator[ModelClient]:
        """Provide an open client of a model or judge."""
        if not self._is_sole:
            with self._opener(model_or_judge.spec, model_or_judge.options) as client:
                yield client
            return
        if model_or_judge.name not in self._held:
            self._held[model_or_judge.name] = self._stack.enter_context(
                self._opener(model_or_judge.spec, model_or_judge.options)
            )
        yield self._held[model_or_judge.name]

    def parts(self, model: ModelPlan) -> list[ModelPart]:
        """Return a model's suites by kind of problems: places in programs, then questions.

        Raises:
            UsageError: some problems of a suite are questions, and others are not.
        """
        settings = [*suite_settings(model, self._plan.models, self._plan.benchmarks)]
        chosen = {kind: tuple(one for one in settings if one.questions is kind) for kind in (False, True)}
        uncut = replace(model, options=model.options.model_copy(update={"uncut": True}))
        return [ModelPart(uncut if kind else model, suites) for kind, suites in chosen.items() if suites]

    @contextmanager
    def open_part(self, part: ModelPart) -> Iterator[list[ModelUnderTest]]:
        """Provide an open model with its settings, one entry for each suite of the part.

        Raises:
            UsageError: client and settings do not fit together.
        """
        with self.open_client(part.model) as client:
            yield [self._model_under_test(part.model, client, settings) for settings in part.suites]

    def _model_under_test(self, model: ModelPlan, client: ModelClient, settings: SuiteSettings) -> ModelUnderTest:
        benchmark = self._plan.benchmarks[settings.place]
        where = f"{model.name}, {benchmark.folder.path.name}" if len(self._plan.benchmarks) > 1 else ""
        try:
            strategy = choose(client, settings.prompt, questions=settings.questions)
        except UsageError as error:
            raise UsageError(f"{where}: {error}" if where else str(error)) from None
        if fault := instruction_fault(strategy, client, settings.instruction, benchmark.problems):
            raise UsageError(f"{where or model.name}: {fault}")
        return ModelUnderTest(
            name=model.name,
            client=client,
            strategy=strategy,
            sampling=model.sampling,
            samples=model.samples,
            context=settings.context,
            preprocess=[preprocessor(name) for name in model.preprocess],
            instruction=instruction_placement(settings.instruction),
            prompt_tokens=model.prompt_tokens,
            price=self._plan.price(model),
        )

    def check(self) -> list[list[ModelInfo]]:
        """Open every model and judge once; return the manifest entries of the models, a list for each suite.

        Raises:
            UsageError: client and settings do not fit together, or a folder contains another run.
        """
        for benchmark in self._plan.benchmarks:
            manifest_of_session(benchmark)
        everybody: list[ModelPlan | JudgePlan] = [*self._plan.models, *self._plan.judges]
        for model_or_judge in everybody:
            self._plan.price(model_or_judge)
        infos: list[list[ModelInfo]] = [[] for _ in self._plan.benchmarks]
        for part in (part for model in self._plan.models for part in self.parts(model)):
            with self.open_part(part) as tested_models:
                for settings, tested_model in zip(part.suites, tested_models, strict=True):
                    infos[settings.place].append(tested_model.info)
        for judge in self._plan.judges:
            with self.open_client(judge) as client:
                if "chat" not in client.accepts:
                    raise UsageError(f"{judge.spec} takes no conversations, so it cannot judge")
        return infos
