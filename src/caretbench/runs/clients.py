"""Clients of a run's models and judges, opened one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from caretbench.models import ClientOpener, ModelClient
from caretbench.problem import Question
from caretbench.prompts import choose, preprocessor
from caretbench.prompts.instructions import instruction_fault, instruction_placement
from caretbench.runs.model_under_test import ModelUnderTest
from caretbench.runs.plans.plan import JudgePlan, ModelPlan, ResolvedRun
from caretbench.runs.run_folder import ModelInfo
from caretbench.runs.session import check_resumable
from caretbench.suites.suite_contexts import suite_context


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

    @contextmanager
    def open_client(self, model_or_judge: ModelPlan | JudgePlan) -> Iterator[ModelClient]:
        """Provide an open client of a model or judge."""
        if len({model.name for model in self._plan.models}) + len(self._plan.judges) > 1:
            with self._opener(model_or_judge.spec, model_or_judge.options) as client:
                yield client
            return
        if model_or_judge.name not in self._held:
            self._held[model_or_judge.name] = self._stack.enter_context(
                self._opener(model_or_judge.spec, model_or_judge.options)
            )
        yield self._held[model_or_judge.name]

    @contextmanager
    def open_model(self, model: ModelPlan) -> Iterator[ModelUnderTest]:
        """Provide an open model with its settings.

        Raises:
            ValueError: client and settings do not fit together.
        """
        questions = self._questions()
        if questions:
            model = replace(model, options=model.options.model_copy(update={"uncut": True}))
        with self.open_client(model) as client:
            strategy = choose(client, model.prompt, questions=questions)
            problems = [problem for benchmark in self._plan.benchmarks for problem in benchmark.problems]
            if fault := instruction_fault(strategy, client, model.instruction, problems):
                raise ValueError(f"{model.name}: {fault}")
            yield ModelUnderTest(
                name=model.name,
                client=client,
                strategy=strategy,
                sampling=model.sampling,
                samples=model.samples,
                context=suite_context([benchmark.suite for benchmark in self._plan.benchmarks], model.context),
                preprocess=[preprocessor(name) for name in model.preprocess],
                instruction=instruction_placement(model.instruction),
                prompt_tokens=model.prompt_tokens,
                price=self._plan.price(model),
            )

    def _questions(self) -> bool:
        """Return whether the problems are questions.

        Raises:
            ValueError: some are, and others are places in programs.
        """
        kinds = {
            isinstance(problem.shown, Question) for benchmark in self._plan.benchmarks for problem in benchmark.problems
        }
        if len(kinds) > 1:
            raise ValueError(
                f"{' and '.join(benchmark.suite.name for benchmark in self._plan.benchmarks)}: questions and places in "
                "programs are asked by different prompts; make two runs of it"
            )
        return kinds == {True}

    def check(self) -> list[ModelInfo]:
        """Open every model and judge once; return the manifest entries of the models.

        Raises:
            ValueError: client and settings do not fit together, or a folder contains another run.
        """
        for benchmark in self._plan.benchmarks:
            check_resumable(benchmark.folder, benchmark.manifest())
        everybody: list[ModelPlan | JudgePlan] = [*self._plan.models, *self._plan.judges]
        for model_or_judge in everybody:
            self._plan.price(model_or_judge)
        infos = []
        for model in self._plan.models:
            with self.open_model(model) as tested_model:
                infos.append(tested_model.info)
        for judge in self._plan.judges:
            with self.open_client(judge) as client:
                if "chat" not in client.accepts:
                    raise ValueError(f"{judge.spec} takes no conversations, so it cannot judge")
        return infos
