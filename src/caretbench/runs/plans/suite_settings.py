"""Settings of a model for each suite of a run: prompt, context and placement of instructions, where they fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from caretbench.errors import UsageError, did_you_mean
from caretbench.extraction.policies import Policy, get_policy
from caretbench.problem import Problem, Profile, Question
from caretbench.profiles import profile_named
from caretbench.prompts import AUTO, get_strategy
from caretbench.prompts.instructions import BLIND, AskingMode, has_instruction
from caretbench.prompts.strategy import QuestionStrategy
from caretbench.runs.plans.config import SuiteConfig
from caretbench.runs.plans.model_plan import ModelPlan
from caretbench.runs.run_folder import DataInfo, Manifest, RunFolder
from caretbench.runs.user_metrics import UserMetric, user_metrics
from caretbench.runs.verdict import needs_execution
from caretbench.suites import load_problems
from caretbench.suites import load_suite as find_suite
from caretbench.suites.base import Suite
from caretbench.suites.selection import Selection
from caretbench.suites.suite_contexts import SuiteContext, suite_context
from caretbench.suites.suite_types import ProblemSet
from caretbench.versions import versions


class ResolvedSuite(NamedTuple):
    """Selected problems of one suite, with all settings of a run's folder except models."""

    suite: Suite
    data: ProblemSet
    problems: list[Problem]
    policy: Policy
    profile: Profile
    execute: bool
    variants: dict[str, str]
    folder: RunFolder
    further_policies: tuple[Policy, ...] = ()
    """Policies under which the same answers are scored in addition to ``policy``."""
    selection: Selection = Selection()
    prompt: str | None = None
    """Prompt strategy for all models; None: that of each model."""
    metrics: tuple[UserMetric, ...] = ()
    """Metrics in addition to the suite's own."""
    adds: bool = False
    """True if the problems may be added to a run of others."""

    @classmethod
    def from_config(
        cls, config: SuiteConfig, *, execute: bool = True, output: Path | None = None, root: Path = Path("runs")
    ) -> ResolvedSuite:
        """Return the suite of a configuration; without ``output`` its folder is ``root/SUITE-DATA-PROFILE``.

        Raises:
            UsageError: an option is wrong; an unknown suite, policy or language.
            DataError: the data are wrong.
        """
        profile = profile_named(config.profile)
        suite = find_suite(config.name)
        loaded = load_problems(suite, config.data)
        problems = config.selection.apply(suite, loaded.problems)
        names = [config.policy] if isinstance(config.policy, str) else [*(config.policy or ())]
        policy, *further_policies = dict.fromkeys(map(get_policy, names or [suite.rules(profile).policy]))
        folder = RunFolder(output or root / f"{suite.name}-{loaded.name}-{profile}")
        # A suite of questions alone starts no sandbox and needs no toolchain.
        execute = execute and any(map(needs_execution, problems))
        return cls(
            suite, loaded, problems, policy, profile, execute, parse_variants(config.variants), folder,
            (*further_policies,), config.selection, config.prompt,
            metrics=user_metrics(config.metrics),
        )  # fmt: skip

    def manifest(self) -> Manifest:
        """Return the manifest of a run on this suite, without models."""
        return Manifest(
            suite=self.suite.name,
            data=DataInfo(
                name=self.data.name, hash=self.data.hash, problems=len(self.data.problems), selected=len(self.problems)
            ),
            policy=self.policy.key,
            further_policies=[entry.key for entry in self.further_policies],
            profile=self.profile,
            selections=[self.selection],
            executed=self.execute,
            variants=self.variants,
            versions=versions(),
        )


def parse_variants(options: Iterable[str]) -> dict[str, str]:
    """Return the named builds of ``language=name`` options, by language.

    Raises:
        UsageError: an option is wrong, or the language has no such build; an unknown language.
    """
    from caretbench.execution.toolchains import load_runtime
    from caretbench.languages import get_language

    chosen = {}
    for option in options:
        name, equals, value = option.partition("=")
        if not equals:
            raise UsageError(f"variant {option!r}: expected language=name, cpp=common_headers for example")
        spoken = get_language(name).name
        variants = load_runtime(spoken).variants
        if value not in variants:
            raise UsageError(f"variant {option!r}: {spoken} has {', '.join(variants) or 'no variants'}")
        chosen[spoken] = value
    return chosen


def baseline_names(names: Sequence[str] | None, suites: Iterable[Suite]) -> list[str]:
    """Return the names of baselines that a run writes; None: all baselines of the suites.

    Each suite gets those that it has.

    Raises:
        UsageError: no suite has such a baseline.
    """
    by_suite = {suite.name: suite.baselines for suite in suites}
    everything = dict.fromkeys(chain.from_iterable(by_suite.values()))
    if names is None:
        return [*everything]
    for name in names:
        if name not in everything:
            known = "; ".join(f"{suite} has {', '.join(writers)}" for suite, writers in by_suite.items())
            raise UsageError(f"unknown baseline {name!r}{did_you_mean(name, everything)}; {known}")
    return [*names]


_CARETS, _QUESTIONS = "places in programs", "questions"


class SuiteSettings(NamedTuple):
    """Settings of a model for one suite; ``place`` is the suite's index in the run."""

    place: int
    questions: bool
    """True if the problems are questions, false if they are places in programs."""
    prompt: str | None
    context: SuiteContext | None
    instruction: AskingMode | None


def suite_settings(
    model: ModelPlan, models: Sequence[ModelPlan], suites: Sequence[ResolvedSuite]
) -> Iterator[SuiteSettings]:
    """Yield the settings of a model for each suite that it is asked about.

    A setting of the model applies to the suites that it fits. A suite without instructions is asked once, whatever the
    number of the model's modes among ``models``.

    Raises:
        UsageError: some problems of a suite are questions, and others are not.
    """
    first = next(other for other in models if other.name == model.name)
    for index, resolved in enumerate(suites):
        instructed = model.instruction is not None and _fits_mode(resolved, model.instruction)
        # Every mode would ask the same prompt and pay for it.
        if not instructed and model.instruction != first.instruction:
            continue
        questions = asks_questions(resolved)
        yield SuiteSettings(
            place=index,
            questions=questions,
            prompt=resolved.prompt or _own_prompt(model, questions=questions, suites=suites),
            context=suite_context([resolved.suite], model.context) if _has_context(resolved, model) else None,
            instruction=model.instruction if instructed else None,
        )


def _own_prompt(model: ModelPlan, *, questions: bool, suites: Sequence[ResolvedSuite]) -> str | None:
    """Return the model's own prompt if it fits; else None, which is the automatic choice.

    A prompt that fits no suite is returned: the choice of the strategy refuses it.
    """
    if model.prompt is None or _fits(model.prompt, questions=questions):
        return model.prompt
    # A run of both kinds may have one prompt for one of them; the other kind gets its own.
    others = any(asks_questions(resolved) is not questions for resolved in suites)
    return None if others else model.prompt


def _fits(prompt: str, *, questions: bool) -> bool:
    return prompt == AUTO or isinstance(get_strategy(prompt), QuestionStrategy) is questions


def asks_questions(resolved: ResolvedSuite) -> bool:
    """Return whether the problems of a suite are questions.

    Raises:
        UsageError: some are, and others are places in programs.
    """
    kinds = {isinstance(problem.shown, Question) for problem in resolved.problems}
    if len(kinds) > 1:
        raise UsageError(
            f"{resolved.suite.name}: {_QUESTIONS} and {_CARETS} are asked by different prompts; choose one kind "
            "with --select"
        )
    return kinds == {True}


def _fits_mode(resolved: ResolvedSuite, mode: AskingMode) -> bool:
    """Return whether a suite has problems that this mode shows in another way."""
    if mode == BLIND:
        return any(resolved.suite.question_without_text(problem) is not None for problem in resolved.problems)
    return any(map(has_instruction, resolved.problems))


def _has_context(resolved: ResolvedSuite, model: ModelPlan) -> bool:
    return model.context is not None and model.context in resolved.suite.contexts


def check_model(model: ModelPlan, suites: Sequence[ResolvedSuite]) -> None:
    """Check that the context and the placement of instructions of a model fit a suite.

    Raises:
        UsageError: one of them fits none.
    """
    if not any(_has_context(resolved, model) for resolved in suites):
        suite_context([resolved.suite for resolved in suites], model.context)
    mode = model.instruction
    if mode is not None and not any(_fits_mode(resolved, mode) for resolved in suites):
        option = ("--blind", "text that can be hidden") if mode == BLIND else (f"--instruction {mode}", "instruction")
        raise UsageError(
            f"{option[0]}: the problems of "
            f"{' and '.join(dict.fromkeys(resolved.suite.name for resolved in suites))} have no {option[1]}; "
            "leave the option out"
        )


def check_suite_prompt(resolved: ResolvedSuite) -> None:
    """Check that the prompt of a suite fits its problems.

    Raises:
        UsageError: it does not; no such prompt.
    """
    if resolved.prompt is None:
        return
    questions = asks_questions(resolved)
    if not _fits(resolved.prompt, questions=questions):
        kinds = (_QUESTIONS, _CARETS) if questions else (_CARETS, _QUESTIONS)
        raise UsageError(
            f"the problems of {resolved.suite.name} are {kinds[0]}, and {resolved.prompt} is a prompt for {kinds[1]}"
        )
