"""The models and graders of a run: opened, checked, and asked one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from caretbench.cli.common import note
from caretbench.cli.run_plan import GraderPlan, ModelPlan, Plan

if TYPE_CHECKING:
    from caretbench.inspect.client.options import ClientOptions
    from caretbench.models import ModelClient
    from caretbench.runs.asking import Asking
    from caretbench.runs.folder import ModelInfo
    from caretbench.runs.prices import Price


def open_client(spec: str, options: ClientOptions) -> ModelClient:
    """The client of a model (imports Inspect)."""
    from caretbench.inspect import open_client as opened

    return opened(spec, options=options)


class Clients:
    """The models and graders of a plan. A single one is held open; of several only one at a time is.

    Local servers hold their weights in memory, so that two of them may be too many.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._stack = ExitStack()
        self._held: dict[str, ModelClient] = {}

    def __enter__(self) -> Clients:
        return self

    def __exit__(self, *details: object) -> None:
        self._stack.close()

    @contextmanager
    def _opened(self, wanted: ModelPlan | GraderPlan) -> Iterator[ModelClient]:
        if len(self._plan.models) + len(self._plan.graders) > 1:
            with open_client(wanted.spec, wanted.options) as client:
                yield client
            return
        if wanted.name not in self._held:
            self._held[wanted.name] = self._stack.enter_context(open_client(wanted.spec, wanted.options))
        yield self._held[wanted.name]

    @contextmanager
    def asking(self, model: ModelPlan) -> Iterator[Asking]:
        """A model, open, and how it is asked.

        Raises:
            ValueError: it cannot be asked so.
        """
        from caretbench.prompts import choose, preprocessor
        from caretbench.runs.asking import Asking
        from caretbench.suites.showing import showing

        questions = self._questions()
        if questions:
            model = replace(model, options=model.options.model_copy(update={"uncut": True}))
        with self._opened(model) as client:
            yield Asking(
                name=model.name,
                client=client,
                strategy=choose(client, model.prompt, questions=questions),
                sampling=model.sampling,
                samples=model.samples,
                context=showing([subject.suite for subject in self._plan.subjects], model.context),
                preprocess=[preprocessor(name) for name in model.preprocess],
                prompt_tokens=model.prompt_tokens,
                price=self.price(model),
            )

    def _questions(self) -> bool:
        """Whether the problems are questions; either all of them are, or none.

        Raises:
            ValueError: some are, and others are places in programs.
        """
        from caretbench.problem import Question

        kinds = {
            isinstance(problem.shown, Question)
            for subject in self._plan.subjects
            for problem in subject.problems
        }
        if len(kinds) > 1:
            raise ValueError(
                "questions and places in programs are asked by different prompts: make two runs of it"
            )
        return kinds == {True}

    @contextmanager
    def grader(self, grader: GraderPlan) -> Iterator[ModelClient]:
        """A grader, open."""
        with self._opened(grader) as client:
            yield client

    def price(self, wanted: ModelPlan | GraderPlan) -> Price | None:
        """What a model's tokens cost.

        Raises:
            ValueError: money is limited, and no price is known.
        """
        price = self._plan.prices.find(wanted.spec)
        if price is None and self._plan.max_cost is not None:
            raise ValueError(
                f"no price is known for {wanted.spec}, so --max-cost cannot be kept; give one in a file: --prices FILE"
            )
        return price

    def check(self) -> list[ModelInfo]:
        """Open every model and grader once, and find out how each is asked; gives the models' manifest entries.

        Raises:
            ValueError: one cannot be asked so, or the folder of a subject holds another run.
        """
        from caretbench.runs.score import check_resumable

        for subject in self._plan.subjects:
            check_resumable(subject.folder, subject.manifest())
        everybody: list[ModelPlan | GraderPlan] = [*self._plan.models, *self._plan.graders]
        for wanted in everybody:
            self.price(wanted)
        infos = []
        for model in self._plan.models:
            with self.asking(model) as asking:
                infos.append(asking.info)
                if self._plan.probe and not self._plan.dry_run:
                    _probe(asking)
        for grader in self._plan.graders:
            with self.grader(grader) as client:
                if "chat" not in client.accepts:
                    raise ValueError(f"{grader.spec} takes no conversations, so it cannot judge")
        return infos


def _probe(asking: Asking) -> None:
    """Ask the model some short things, and say what is amiss.

    Raises:
        ValueError: it does not answer.
        MachineError: it cannot be asked.
    """
    from caretbench.inspect.probe import probe

    report = probe(asking.client, asking.strategy)
    if not report.answers:
        raise ValueError(report.warning or f"{asking.name} does not answer")
    note(f"{asking.name}: the probe got {report.answered} answers to {report.asked} requests")
    if report.warning:
        note(report.warning)
