"""Clients of a run's models and judges, opened one at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from typing import NamedTuple, Self

from caretbench.errors import DataError, MachineError, UsageError
from caretbench.execution.costs import CostMeter
from caretbench.execution.dispatcher import AnyExecutor, Dispatcher
from caretbench.execution.execution_types import RunCosts
from caretbench.execution.toolchain_tables import toolchain_tables
from caretbench.execution.toolchains import load_runtime
from caretbench.extraction.policies import Policy, get_policy
from caretbench.files import write_atomically
from caretbench.local.llama_server import shared_servers
from caretbench.models import ClientOpener, ModelClient
from caretbench.problem import Problem
from caretbench.progress import Progress
from caretbench.prompts import AUTO, choose, preprocessor
from caretbench.prompts.instructions import BLIND, instruction_fault, instruction_placement
from caretbench.runs.generate import ModelUnderTest
from caretbench.runs.plans.model_plan import JudgePlan, ModelPlan
from caretbench.runs.plans.plan import ResolvedRun
from caretbench.runs.plans.suite_settings import ResolvedSuite, SuiteSettings, suite_settings
from caretbench.runs.run_folder import Manifest, ModelInfo, RunFolder, ToolchainInfo
from caretbench.runs.score import ScoringStage
from caretbench.suites.baselines import baseline_completions
from caretbench.suites.validity import verdicts_path
from caretbench.text_tables import counted


class RunSession:
    """Exclusive session of one command in a run's folder. Use it as a context manager.

    Raises:
        DataError: another process is at work in it.
        UsageError: it holds a run of something else.
    """

    def __init__(self, resolved: ResolvedSuite, executor: AnyExecutor | None, progress: Progress) -> None:
        self.resolved = resolved
        self.folder = resolved.folder
        self._executor = executor
        self.progress = progress
        self.seconds = 0.0
        """Time of this command's answers, judgements and scores, by the clock."""

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Add the time of the block to :attr:`seconds`."""
        begin = time.monotonic()
        try:
            yield
        finally:
            self.seconds += time.monotonic() - begin

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self.folder.locked())
            self._earlier = self.folder.manifest() if self.folder.manifest_path.exists() else None
            self.manifest = manifest_of_session(self.resolved)
            self.scoring, *self._further = (
                ScoringStage(
                    self.resolved.suite, self.resolved.problems, self.folder, policy, self.resolved.profile,
                    self._executor, dict(self.manifest.variants), self.resolved.metrics, self._reporting(policy),
                )
                for policy in (self.resolved.policy, *map(get_policy, self.manifest.further_policies))
            )  # fmt: skip
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *details: object) -> None:
        self._stack.close()

    def _reporting(self, policy: Policy) -> Callable[[str, int, int | None], None]:
        """Return the progress callback; it names the policy, unless that is the run's own."""
        if policy == self.resolved.policy:
            return self.progress
        return lambda step, added, total: self.progress(f"{step}, {policy.key}", added, total)

    def begin(self, models: Iterable[ModelInfo]) -> None:
        """Write the manifest, with these models added to the stored ones, and the problems.

        Baselines that the suite does not have are not written.
        """
        baselines = self.resolved.suite.baselines
        manifest, folder = self.manifest, self.folder
        there = {(info.model, info.parameters) for info in manifest.models}
        date, added = datetime.now(UTC).date().isoformat(), list(models)
        asked = {info.model for info in added}
        others = {info.model: None for info in manifest.models if info.source != "baseline" and info.model not in asked}
        # A file of answers, scored without -o, came third in the report about two other models.
        if others:
            self.progress.note(
                f"{folder.path} holds {', '.join(others)}: the report is about all models; -o chooses another folder"
            )
        manifest.models += [
            info.model_copy(update={"date": date})
            for info in added
            if (info.source != "baseline" or info.model in baselines) and (info.model, info.parameters) not in there
        ]
        stored = folder.problems() if folder.problems_path.exists() else []
        together = {problem.id: problem for problem in (*stored, *self.resolved.problems)}
        manifest.data.selected = len(together)
        # A report over more problems than the command chose surprises, so it is said.
        if stored and len(together) != len(self.resolved.problems):
            self.progress.note(
                f"{folder.path} holds {counted(len(stored), 'problem')}, "
                f"and this command chooses {len(self.resolved.problems)}: "
                f"the report is about all {len(together)}; -o chooses another folder"
            )
        chosen, data = self.resolved.problems, self.resolved.data
        shortfall = self.resolved.selection.shortfall(self.resolved.suite, len(chosen), data.problems)
        for line in (*data.passed_over, *shortfall):
            self.progress.note(line)
        if self._earlier is not None:  # this command may be about some of the run's problems only
            manifest.toolchains, manifest.isolation = self._earlier.toolchains, self._earlier.isolation
            manifest.excluded, manifest.costs = self._earlier.excluded, self._earlier.costs
        if self._executor is not None:
            manifest.isolation = self._executor.isolation().model_dump()
            manifest.toolchains |= toolchains(self.resolved.problems, self._executor, self.progress.note)
        folder.write_manifest(manifest)
        folder.write_problems(together.values())

    def add_baselines(self, names: Iterable[str]) -> None:
        """Append the missing completions of these baselines."""
        writers = self.resolved.suite.baselines
        for name in names:
            # Suites have different baselines; a run over several asks each for its own.
            if name in writers:
                self.scoring.add_completions(baseline_completions(name, self.resolved.problems, writers))

    def score(self) -> None:
        """Compute the missing scores under all policies of the folder."""
        before = self.folder.scores_path.stat().st_size if self.folder.scores_path.exists() else 0
        with CostMeter() as meter:
            self.manifest.excluded = self.scoring.run()
            for scoring in self._further:
                scoring.run()
        if self.folder.scores_path.stat().st_size != before:  # a run that is complete keeps its manifest byte for byte
            self.manifest.costs = (self.manifest.costs or RunCosts()) + meter.costs
        self.folder.write_manifest(self.manifest)
        stored = verdicts_path(self.manifest.suite, self.manifest.data.hash)
        if stored.exists():  # so that the report can show the valid problems apart
            write_atomically(self.folder.validity_path, stored.read_bytes())


def toolchains(
    problems: Sequence[Problem], executor: AnyExecutor, note: Callable[[str], None]
) -> dict[str, ToolchainInfo]:
    """Return the installed toolchains for the problems' languages; write a note for each missing one."""
    from caretbench.execution.cluster.remote_executor import RemoteExecutor

    installed: dict[str, ToolchainInfo] = {}
    programs = executor.programs if isinstance(executor, Dispatcher) else executor
    for name in dict.fromkeys(problem.caret.language for problem in problems if problem.runs_as_program):
        if name not in toolchain_tables():
            note(f"{name} is skipped: programs in this language are not run")
            continue
        toolchain = programs.toolchain(name) if isinstance(programs, RemoteExecutor) else load_runtime(name).toolchain()
        if toolchain.available:
            installed[name] = ToolchainInfo(version=toolchain.version, fingerprint=toolchain.fingerprint)
        else:
            note(f"{name} is skipped: {toolchain.remedy}")
    return installed


def manifest_of_session(resolved: ResolvedSuite) -> Manifest:
    """Return the manifest of a command on a suite, with what its folder holds.

    More problems than the folder holds extend its run, and fewer are a part of it.

    Raises:
        UsageError: the folder holds a run of something else, or of other problems that these are not to be added to.
    """
    folder = resolved.folder
    manifest = check_resumable(folder, resolved.manifest())
    if resolved.adds or not folder.problems_path.exists():
        return manifest
    stored, chosen = ({problem.id for problem in problems} for problems in (folder.problems(), resolved.problems))
    if stored <= chosen or chosen <= stored:
        return manifest
    raise UsageError(
        f"{folder.path} holds a run of {len(stored)} problems; this command chooses {len(chosen & stored)} of them and "
        f"{len(chosen - stored)} others; choose another folder with -o, or add them to that run with --add"
    )


def check_resumable(folder: RunFolder, manifest: Manifest) -> Manifest:
    """Return the manifest of the resumed run: with the models, judges and selections of the stored one, if any.

    Raises:
        UsageError: the folder holds a run of something else; the message names the difference.
    """
    if not folder.manifest_path.exists():
        return manifest
    stored = folder.manifest()
    theirs, ours = stored.identity(), manifest.identity()
    differing = [f"{name} ({theirs[name]} there, {ours[name]} now)" for name in ours if ours[name] != theirs[name]]
    if differing:
        raise UsageError(
            f"{folder.path} holds another run: {', '.join(differing)}; choose another folder with -o, or remove it"
        )
    policies = dict.fromkeys((*stored.further_policies, *manifest.further_policies))
    return manifest.model_copy(
        update={
            "models": stored.models,
            "judges": stored.judges,
            "further_policies": [*policies],
            "selections": [*dict.fromkeys((*stored.selections, *manifest.selections))],
        }
    )


def stored_model(model: ModelPlan, settings: SuiteSettings, resolved: ResolvedSuite) -> ModelInfo | None:
    """Return the manifest entry under which a folder has all answers of a model; None if some are missing.

    The model is not there, so that its client's part of the settings is what the folder says, if that is one only.
    """
    folder = resolved.folder
    placement = instruction_placement(settings.instruction)
    wanted = {
        "sampling": model.sampling.model_dump(exclude_none=True),
        "context": settings.context.key if settings.context else None,
        "instruction": placement.key if placement else None,
        "preprocess": [preprocessor(name).key for name in model.preprocess],
    }
    entries = folder.manifest().models if folder.manifest_path.exists() else []
    candidates = [
        info
        for info in entries
        if (info.model, info.source) == (model.name, "model")
        and all(info.settings.get(name) == value for name, value in wanted.items())
        and (settings.prompt in (None, AUTO) or str(info.settings.get("prompt")).partition("@")[0] == settings.prompt)
    ]
    if len(candidates) != 1:
        return None
    stored = {row.key for row in folder.completions()}
    complete = all(
        (problem.id, model.name, candidates[0].parameters, sample) in stored
        for problem in resolved.problems
        for sample in range(model.samples)
    )
    return candidates[0] if complete else None


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
        self.refused: dict[tuple[str, int], str] = {}
        """Reasons of the suites, by place, that a model (by title; empty: any model) cannot be asked about."""
        self.stored: dict[tuple[str, int], str] = {}
        """Reasons for which a model is not asked: it cannot be opened, and all of its answers are stored."""

    def __enter__(self) -> Clients:
        # A model and what was tuned of it have one process in turn; it holds the weights once.
        self._stack.enter_context(
            shared_servers([*(model.spec for model in self._plan.models), *(judge.spec for judge in self._plan.judges)])
        )
        return self

    def __exit__(self, *details: object) -> None:
        self._stack.close()

    @cached_property
    def _is_sole(self) -> bool:
        """True if the run has one client: one judge, or one model whose problems are of one kind."""
        parts = (part for model in self._plan.models for part in self.parts(model))
        models = {(part.model.name, part.model.options.uncut) for part in parts}
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
        settings = [
            of_suite
            for of_suite in suite_settings(model, self._plan.models, self._plan.suites)
            if not {("", of_suite.place), (model.title, of_suite.place)} & (self.refused.keys() | self.stored.keys())
        ]
        chosen = {kind: tuple(entry for entry in settings if entry.questions is kind) for kind in (False, True)}
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
        resolved = self._plan.suites[settings.place]
        where = f"{model.name}, {resolved.folder.path.name}" if len(self._plan.suites) > 1 else ""
        try:
            strategy = choose(client, settings.prompt, questions=settings.questions)
        except UsageError as error:
            raise UsageError(f"{where}: {error}" if where else str(error)) from None
        fault = instruction_fault(strategy, client, settings.instruction, resolved.problems)
        if fault and settings.prompt in (None, AUTO) and "chat" in client.accepts:
            # The instruction is what such a suite is about, and only a conversation has a place for it.
            strategy, fault = choose(client, "chat"), None
        if fault:
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
            blind=resolved.suite.question_without_text if settings.instruction == BLIND else None,
            prompt_tokens=model.prompt_tokens,
            price=self._plan.price(model),
            connections=model.options.connections,
        )

    def _stored_only(self, part: ModelPart, infos: list[list[ModelInfo]], error: MachineError) -> None:
        """Take the answers of a model that cannot be asked from the folders.

        Raises:
            MachineError: some of them are not stored.
        """
        saved = [stored_model(part.model, settings, self._plan.suites[settings.place]) for settings in part.suites]
        if not all(saved):
            raise error
        for settings, info in zip(part.suites, saved, strict=True):
            infos[settings.place] += [info] if info else []
            self.stored[part.model.title, settings.place] = str(error)

    @contextmanager
    def _refusing(self, title: str, place: int) -> Iterator[None]:
        """Store an error about a suite of several in :attr:`refused`; a prompt that the suite names must be right."""
        try:
            yield
        except (UsageError, DataError) as error:
            if not self._plan.is_tolerant or self._plan.suites[place].prompt is not None:
                raise
            self.refused[title, place] = str(error)

    def check(self) -> list[list[ModelInfo]]:
        """Open every model and judge once; return the manifest entries of the models, a list for each suite.

        In a run of several suites, what does not fit is stored in :attr:`refused`.

        Raises:
            UsageError: client and settings do not fit together, or a folder contains another run.
        """
        for place, resolved in enumerate(self._plan.suites):
            with self._refusing("", place):
                manifest_of_session(resolved)
        everybody: list[ModelPlan | JudgePlan] = [*self._plan.models, *self._plan.judges]
        for model_or_judge in everybody:
            self._plan.price(model_or_judge)
        infos: list[list[ModelInfo]] = [[] for _ in self._plan.suites]
        for part in (part for model in self._plan.models for part in self.parts(model)):
            with ExitStack() as stack:
                try:
                    client = stack.enter_context(self.open_client(part.model))
                except MachineError as error:
                    self._stored_only(part, infos, error)
                    continue
                for settings in part.suites:
                    with self._refusing(part.model.title, settings.place):
                        infos[settings.place].append(self._model_under_test(part.model, client, settings).info)
        if self.refused and not any(infos):
            raise UsageError("; ".join(self.refused.values()))
        for judge in self._plan.judges:
            with self.open_client(judge) as client:
                if "chat" not in client.accepts:
                    raise UsageError(f"{judge.spec} takes no conversations, so it cannot judge")
        return infos
