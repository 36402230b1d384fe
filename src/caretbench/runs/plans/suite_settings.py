"""Settings of a model for each suite of a run: prompt, context and placement of instructions, where they fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from caretbench.errors import UsageError
from caretbench.problem import Question
from caretbench.prompts import AUTO, strategy
from caretbench.prompts.instructions import InstructionMode, has_instruction
from caretbench.prompts.strategy import QuestionStrategy
from caretbench.runs.plans.benchmark import Benchmark
from caretbench.runs.plans.model_plan import ModelPlan
from caretbench.suites.suite_contexts import SuiteContext, suite_context

_CARETS, _QUESTIONS = "places in programs", "questions"


class SuiteSettings(NamedTuple):
    """Settings of a model for one suite; ``place`` is the suite's index in the run."""

    place: int
    questions: bool
    """True if the problems are questions, false if they are places in programs."""
    prompt: str | None
    context: SuiteContext | None
    instruction: InstructionMode | None


def suite_settings(
    model: ModelPlan, models: Sequence[ModelPlan], benchmarks: Sequence[Benchmark]
) -> Iterator[SuiteSettings]:
    """Yield the settings of a model for each suite that it is asked about.

    A setting of the model applies to the suites that it fits. A suite without instructions is asked once, whatever the
    number of the model's modes among ``models``.

    Raises:
        UsageError: some problems of a suite are questions, and others are not.
    """
    first = next(other for other in models if other.name == model.name)
    for place, benchmark in enumerate(benchmarks):
        instructed = model.instruction is not None and _has_instructions(benchmark)
        if not instructed and model.instruction != first.instruction:
            continue
        questions = asks_questions(benchmark)
        yield SuiteSettings(
            place=place,
            questions=questions,
            prompt=benchmark.prompt or _own_prompt(model, questions=questions, benchmarks=benchmarks),
            context=suite_context([benchmark.suite], model.context) if _has_context(benchmark, model) else None,
            instruction=model.instruction if instructed else None,
        )


def _own_prompt(model: ModelPlan, *, questions: bool, benchmarks: Sequence[Benchmark]) -> str | None:
    """Return the model's own prompt if it fits; else None, which is the automatic choice.

    A prompt that fits no suite is returned: the choice of the strategy refuses it.
    """
    if model.prompt is None or _fits(model.prompt, questions=questions):
        return model.prompt
    others = any(asks_questions(benchmark) is not questions for benchmark in benchmarks)
    return None if others else model.prompt


def _fits(prompt: str, *, questions: bool) -> bool:
    return prompt == AUTO or isinstance(strategy(prompt), QuestionStrategy) is questions


def asks_questions(benchmark: Benchmark) -> bool:
    """Return whether the problems of a suite are questions.

    Raises:
        UsageError: some are, and others are places in programs.
    """
    kinds = {isinstance(problem.shown, Question) for problem in benchmark.problems}
    if len(kinds) > 1:
        raise UsageError(
            f"{benchmark.suite.name}: {_QUESTIONS} and {_CARETS} are asked by different prompts; choose one kind "
            "with --select"
        )
    return kinds == {True}


def _has_instructions(benchmark: Benchmark) -> bool:
    return any(map(has_instruction, benchmark.problems))


def _has_context(benchmark: Benchmark, model: ModelPlan) -> bool:
    return model.context is not None and model.context in benchmark.suite.contexts


def check_model(model: ModelPlan, benchmarks: Sequence[Benchmark]) -> None:
    """Check that the context and the placement of instructions of a model fit a suite.

    Raises:
        UsageError: one of them fits none.
    """
    if not any(_has_context(benchmark, model) for benchmark in benchmarks):
        suite_context([benchmark.suite for benchmark in benchmarks], model.context)
    if model.instruction is not None and not any(map(_has_instructions, benchmarks)):
        raise UsageError(
            f"--instruction {model.instruction}: the problems of "
            f"{' and '.join(dict.fromkeys(benchmark.suite.name for benchmark in benchmarks))} have no instruction; "
            "leave the option out"
        )


def check_suite_prompt(benchmark: Benchmark) -> None:
    """Check that the prompt of a suite fits its problems.

    Raises:
        UsageError: it does not; no such prompt.
    """
    if benchmark.prompt is None:
        return
    questions = asks_questions(benchmark)
    if not _fits(benchmark.prompt, questions=questions):
        kinds = (_QUESTIONS, _CARETS) if questions else (_CARETS, _QUESTIONS)
        raise UsageError(
            f"the problems of {benchmark.suite.name} are {kinds[0]}, and {benchmark.prompt} is a prompt for {kinds[1]}"
        )
