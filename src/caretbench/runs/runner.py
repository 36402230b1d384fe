"""Whole run: checks, then generation, judging and scoring."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from caretbench.errors import CaretBenchError, DataError, UsageError, check_folder_is_writable
from caretbench.execution.cache.cache_folders import check_cache_is_writable
from caretbench.execution.dispatcher import Dispatcher, open_executor
from caretbench.judging.criteria import CriterionProblems
from caretbench.metrics.intervals import units_of
from caretbench.metrics.power import planned_problems
from caretbench.metrics.typing_sessions import Trigger
from caretbench.models import ClientOpener
from caretbench.problem import Problem
from caretbench.progress import FolderProgress, Progress
from caretbench.prompts.registry import family_warning
from caretbench.runs.generate import GenerationStage, ModelUnderTest, stored_cost
from caretbench.runs.judge import JudgingSettings, NothingToJudgeError, judge_batches
from caretbench.runs.judging.ratings import REQUIRED_COVERAGE
from caretbench.runs.plans.model_plan import ModelPlan
from caretbench.runs.plans.plan import ResolvedRun
from caretbench.runs.plans.prices import CostBudget
from caretbench.runs.plans.suite_settings import ResolvedSuite
from caretbench.runs.request_stage import StageCounts
from caretbench.runs.run_folder import Manifest, ModelInfo, RunFolder, write_absent
from caretbench.runs.session import Clients, RunSession
from caretbench.runs.typing_stage import TypingStage
from caretbench.runs.verdict import has_verdicts

Probe = Callable[[ModelUnderTest], None]
"""Asks a model some short things before the run, and refuses one that does not answer."""


@dataclass
class RunResult:
    """Folders of a run, and complaints: missing answers, failed judges."""

    folders: list[RunFolder] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    seconds: dict[Path, float] = field(default_factory=dict)
    """Time of each folder's answers, judgements and scores in this command, by the clock."""


def run(
    plan: ResolvedRun, opener: ClientOpener, progress: Progress | None = None, probe: Probe | None = None
) -> RunResult:
    """Run all stages, as :func:`caretbench.api.run` does; check everything possible before the first request.

    ``probe`` asks each model some short things before the run, where the configuration wants that.

    Raises:
        UsageError: the plan cannot work.
    """
    if not plan.models:
        raise UsageError(
            "no model; name one with -m PROVIDER/MODEL, such as openai/gpt-4o-mini; "
            "baselines alone need none: caretbench score SUITE"
        )
    progress = progress or Progress()
    begun = undivided(plan)
    if not begun or all((limit or 0) > MEASURED for limit in begun.values()):
        return _run(with_limits(plan, {index: limit or 0 for index, limit in begun.items()}), opener, progress, probe)
    return _run_within_budget(plan, begun, (opener, progress, probe))


def _run_within_budget(
    plan: ResolvedRun, begun: Mapping[int, int | None], tools: tuple[ClientOpener, Progress, Probe | None]
) -> RunResult:
    """Run some problems of each suite, divide what is left of time and money by their rate, and run the others."""
    opener, progress, probe = tools
    start = time.monotonic()
    # After a stop the stored problems cost no time: further ones are measured.
    tried = {index: (limit or 0) + MEASURED for index, limit in begun.items()}
    result = _run(with_limits(plan, tried), opener, FolderProgress(progress, "measured"), probe)
    folders = {resolved.folder.path: index for index, resolved in enumerate(plan.suites)}
    costs = {
        folders[folder.path]: SuiteCost(result.seconds[folder.path] / MEASURED, stored_cost(folder) / tried[index])
        for folder in result.folders
        if (index := folders[folder.path]) in tried
    }
    config = plan.config
    used = time.monotonic() - start - sum(result.seconds.values())  # what comes once
    seconds = math.inf if config.minutes is None else config.minutes * 60 - used
    dollars = math.inf if config.max_cost is None else config.max_cost
    limits, difference = divided(plan, costs, seconds, dollars)
    precision = (
        "all problems" if difference is None else f"a difference of {difference:.0%} is found in 8 of 10 comparisons"
    )
    for index, limit in limits.items():
        name, count = plan.suites[index].suite.name, len(plan.suites[index].problems)
        progress.note(f"{name}: {limit:,} of {count:,} problems, {costs[index].seconds:.2f} s each; {precision}")
    return _run(with_limits(plan, {**tried, **limits}), opener, progress, None)


def _run(plan: ResolvedRun, opener: ClientOpener, progress: Progress, probe: Probe | None) -> RunResult:
    config = plan.config
    with ExitStack() as stack:
        clients = stack.enter_context(Clients(plan, opener))
        for resolved in plan.suites:
            check_folder_is_writable(resolved.folder.path)
        executor = _executor(plan)
        # All clients are opened once before the first request: a typo in the ninth model must not cost the answers of
        # eight.
        infos = clients.check()
        for reason in dict.fromkeys(clients.stored.values()):
            progress.note(f"{reason}; all answers are stored, so that none is asked for")
        if config.probe and probe is not None:
            _probe(plan, clients, probe)
        sessions = _sessions(plan, clients, infos, stack, executor, progress)
        baselines = [ModelInfo(model=name, source="baseline") for name in plan.baselines if config.score]
        for place, session in sessions.items():
            session.begin([*infos[place], *baselines])
        budget = plan_budget(plan)
        result = RunResult(complaints=_generate(plan, clients, sessions, budget, progress))
        answered = {place: opened for place, opened in sessions.items() if _answered(opened, plan.models)}
        result.complaints += _judge_and_score(plan, clients, answered, budget)
        refused = {
            f"{plan.suites[place].folder.path.name}{f', {title}' if title else ''}": reason
            for (title, place), reason in clients.refused.items()
        }
        result.complaints += [f"{name}: {reason}" for name, reason in refused.items()]
        result.folders = [opened.folder for place, opened in answered.items() if ("", place) not in clients.refused]
        result.seconds = {opened.folder.path: opened.seconds for opened in sessions.values()}
        if plan.is_tolerant:
            write_absent(config.root, {**plan.absent, **refused})
    return result


def _sessions(
    plan: ResolvedRun, clients: Clients, infos: Sequence[Sequence[ModelInfo]], stack: ExitStack,
    executor: Dispatcher | None, progress: Progress,
) -> dict[int, RunSession]:  # fmt: skip
    """Return the sessions of the suites that some model is asked about, by place."""
    sessions = {}
    for place, resolved in enumerate(plan.suites):
        if infos[place]:
            with _tolerating(plan, clients.refused, place):
                suite_executor = executor if resolved.execute else None
                session = RunSession(resolved, suite_executor, _progress_of(plan, resolved, progress))
                sessions[place] = stack.enter_context(session)
    return sessions


@contextmanager
def _tolerating(plan: ResolvedRun, refused: dict[tuple[str, int], str], place: int) -> Iterator[None]:
    """Store an error about one of several suites; the others go on."""
    try:
        yield
    except (CaretBenchError, OSError) as error:
        if not plan.is_tolerant:
            raise
        refused["", place] = str(error)


def _progress_of(plan: ResolvedRun, resolved: ResolvedSuite, progress: Progress) -> Progress:
    """Return the progress of a suite's folder, with the folder's name if there are several."""
    return FolderProgress(progress, resolved.folder.path.name) if len(plan.suites) > 1 else progress


def _executor(plan: ResolvedRun) -> Dispatcher | None:
    config = plan.config
    if not (config.score and any(resolved.execute for resolved in plan.suites)):
        return None
    check_cache_is_writable()
    return open_executor(config.workers, use_cache=config.cache, engine=config.engine)


def _probe(plan: ResolvedRun, clients: Clients, probe: Probe) -> None:
    for model in plan.models:
        # The first part has the places in programs, if there are any: the probe is about a caret.
        for part in clients.parts(model)[:1]:
            with clients.open_part(part) as tested_models:
                probe(tested_models[0])


def plan_budget(plan: ResolvedRun) -> CostBudget:
    """Return the budget of a run; the cost of stored rows counts as spent."""
    return CostBudget(plan.config.max_cost, sum(stored_cost(resolved.folder) for resolved in plan.suites))


def _answered(session: RunSession, models: Sequence[ModelPlan]) -> bool:
    names = {model.name for model in models}
    return any(row.model in names for row in session.folder.completions())


# --- generating -------------------------------------------------------------------------------------------------


def _generate(
    plan: ResolvedRun, clients: Clients, sessions: Mapping[int, RunSession], budget: CostBudget, progress: Progress
) -> list[str]:
    """Generate the completions of each model in turn; return complaints."""
    complaints: list[str] = []
    for part in (part for model in plan.models for part in clients.parts(model)):
        with clients.open_part(part) as tested_models:
            client = tested_models[0].client
            if findings := getattr(client, "findings", None):
                progress.note(f"{part.model.name}: {one_line(findings)}")
            for settings, tested_model in zip(part.suites, tested_models, strict=True):
                if settings.place not in sessions:
                    continue
                title = part.model.name if settings.instruction is None else part.model.title
                session = sessions[settings.place]
                complaints += _generate_suite(title, tested_model, session, budget, plan.config.typing)
            for line in getattr(client, "notices", ()):
                progress.note(f"{part.model.name}: {one_line(line)}")
    return complaints


def _generate_suite(
    title: str, tested_model: ModelUnderTest, session: RunSession, budget: CostBudget, trigger: Trigger | None
) -> list[str]:
    """Generate the completions of a model for one suite, and those of typing sessions; return complaints."""
    shown = f", context {tested_model.context.key}" if tested_model.context else ""
    shown += f", instruction {tested_model.instruction.key}" if tested_model.instruction else ""
    session.progress.note(
        f"{tested_model.name}: prompt {tested_model.strategy.key}{shown}, parameters {tested_model.parameters}"
    )

    if warning := family_warning(tested_model.strategy, tested_model.client):
        session.progress.note(f"{tested_model.name}: warning: {warning}")

    resolved = session.resolved
    complaints: list[str] = []

    def report(name: str, added: int, counts: StageCounts) -> None:
        session.progress(f"answers of {name}", added, counts.requested, format_counts(counts))

    stages = {title: GenerationStage(resolved.problems, session.folder)}
    if trigger and resolved.suite.typed_references:
        stages[f"{title}, typed"] = TypingStage(resolved.problems, session.folder, trigger)
        if resolved.data.name == "starter":
            session.progress.note(
                "--typing: the references of starter sets were written for this package; numbers to compare models by "
                "come from --project or --data released"
            )
    for name, stage in stages.items():
        stage.report = partial(report, name)
        with session.timed():
            counts = stage.run(tested_model, budget)
        complaints += _missing(session, name, counts)
    return complaints


def format_counts(counts: StageCounts) -> str:
    """Return ``1,234 tokens in, 56 out, $0.0123, 2 failed``."""
    parts = []
    if counts.input_tokens or counts.output_tokens:
        parts.append(f"{counts.input_tokens:,.0f} tokens in, {counts.output_tokens:,.0f} out")
    if counts.cost:
        parts.append(f"${counts.cost:.4f}")
    if counts.missing:
        parts.append(f"{counts.missing.total()} failed")
    return ", ".join(parts)


def _missing(session: RunSession, title: str, counts: StageCounts) -> Iterator[str]:
    """Yield a complaint about missing answers if coverage is too low; otherwise print it as a note."""
    if not counts.missing:
        return
    kinds = ", ".join(f"{kind} {count}" for kind, count in counts.missing.most_common())
    line = f"{title}: {counts.missing.total()} of {counts.requested} answers are missing ({kinds})"
    if set(counts.missing) == {"budget"}:
        line += ": the rest of --max-cost does not cover one more answer; raise it to continue"
    else:
        line += f": {one_line(counts.stop_reason or counts.usual_message)}"
        if set(counts.missing) != {"unpromptable"}:
            line += "; the same command asks for them again"
    line += f"; see {session.folder.errors_path}"
    # A budget is the user's own limit, so that its end is always said.
    if counts.share < REQUIRED_COVERAGE or "budget" in counts.missing:
        yield line
    else:
        session.progress.note(line)


def one_line(text: str, max_length: int = 300) -> str:
    """Return the text on one line, cut to ``max_length`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= max_length else line[: max_length - 1] + "…"


# --- judging ----------------------------------------------------------------------------------------------------


def _judge_and_score(
    plan: ResolvedRun, clients: Clients, answered: Mapping[int, RunSession], budget: CostBudget
) -> list[str]:
    """Judge all answers, score, then judge by criteria that apply only to passed answers; return complaints."""
    sessions = answered.values()
    parts = {session: plan.criterion_batches(session.resolved) for session in sessions if plan.judges}
    last = {session: [batch for batch in batches if batch.criterion.only] for session, batches in parts.items()}
    first = {session: [batch for batch in parts[session] if batch not in last[session]] for session in parts}
    # A suite with criteria for passed answers alone has nothing to judge before it is scored.
    first = {session: batches for session, batches in first.items() if batches or not last[session]}
    last = {session: batches for session, batches in last.items() if batches}
    complaints = _judge(plan, clients, first, budget)
    for index, session in answered.items() if plan.config.score else ():
        with _tolerating(plan, clients.refused, index), session.timed():
            session.add_baselines(plan.baselines)
            session.score()
    failed = [answered[index] for _, index in clients.refused if index in answered]
    last = {session: batches for session, batches in last.items() if session not in failed}
    return complaints + _judge(plan, clients, last, budget)


def _judge(
    plan: ResolvedRun, clients: Clients, parts: Mapping[RunSession, list[CriterionProblems]], budget: CostBudget
) -> list[str]:
    """Run each judge in turn; return complaints."""
    complaints = []
    for judge in plan.judges if parts else ():
        with clients.open_client(judge) as client:
            for session, ours in parts.items():
                resolved = session.resolved
                try:
                    settings = JudgingSettings(
                        resolved.policy, resolved.profile, text_of=resolved.suite.judged_text,
                        prices={judge.name: plan.price(judge)}, budget=budget, report=session.progress,
                        controls=resolved.suite.caret_controls,
                    )  # fmt: skip
                    with session.timed():
                        results = judge_batches(session.folder, ours, [(judge.name, client)], settings)
                except NothingToJudgeError as error:
                    session.progress.note(f"{judge.name}: {error}")
                    continue
                session.manifest = session.folder.manifest()  # the judges were written to it
                complaints += [
                    f"{judge.name}, {key}: {result.complaint(session.folder)}"
                    for key, result in results.items()
                    if not result.sufficient
                ]
    return complaints


MEASURED: Final = 8
"""Number of problems of each suite that measure its time and cost: as many requests as are in flight by default."""

_USED: Final = 0.9
"""Part of the time that is planned with: the rate of 8 problems is not that of all."""


class SuiteCost(NamedTuple):
    """Cost of a problem of one suite, measured: seconds by the clock and US dollars, over all models."""

    seconds: float
    dollars: float


def undivided(plan: ResolvedRun) -> dict[int, int | None]:
    """Return the places of the suites over which time or money is to be divided, with the limits they were begun with.

    Empty if nothing is to be divided: a suite with a number of problems keeps it, and a run that was begun with a
    division goes on with it.
    """
    config = plan.config
    if config.minutes is None and (config.max_cost is None or not plan.is_tolerant):
        return {}
    return {
        place: begun_limit(resolved)
        for place, resolved in enumerate(plan.suites)
        if resolved.selection.limit is None
        and resolved.selection.per_cell is None
        and len(resolved.problems) > MEASURED
    }


def with_limits(plan: ResolvedRun, limits: Mapping[int, int]) -> ResolvedRun:
    """Return the plan with these numbers of problems by place of the suite."""
    return replace(
        plan,
        suites=[
            _limited(resolved, limits[place]) if place in limits else resolved
            for place, resolved in enumerate(plan.suites)
        ],
    )


def _limited(resolved: ResolvedSuite, limit: int) -> ResolvedSuite:
    selection = replace(resolved.selection, limit=limit)
    return resolved._replace(selection=selection, problems=selection.apply(resolved.suite, resolved.data.problems))


def divided(
    plan: ResolvedRun, costs: Mapping[int, SuiteCost], seconds: float, dollars: float
) -> tuple[dict[int, int], float | None]:
    """Return the number of problems of each measured suite, and the difference that these find; None: all problems.

    The smallest difference for which time and money suffice. A suite that has too few problems for it gives all.

    Args:
        plan: Resolved configuration, with all problems of these suites.
        costs: Measured costs by the place of the suite.
        seconds: Time for all problems, those that were measured among them.
        dollars: Money for all of them.
    """
    drawn = {index: _limited(plan.suites[index], len(plan.suites[index].problems)).problems for index in costs}
    sizes = {index: group_sizes(list(filter(has_verdicts, problems))) for index, problems in drawn.items()}

    def limits(difference: float) -> dict[int, int]:
        counts = {}
        for index, problems in drawn.items():
            needed = planned_problems(difference, sizes[index]) if sizes[index] else None
            # Problems that only a judge decides are drawn, too, and compared by no rate.
            share = len(problems) / max(1, sum(sizes[index]))
            # More than were measured, so that the manifest tells the division from its measurement.
            counts[index] = len(problems) if needed is None else max(MEASURED + 1, math.ceil(needed * share))
        return counts

    def is_affordable(counts: Mapping[int, int]) -> bool:
        return sum(costs[index].seconds * count for index, count in counts.items()) <= seconds * _USED and (
            sum(costs[index].dollars * count for index, count in counts.items()) <= dollars
        )

    everything = {index: max(MEASURED + 1, len(problems)) for index, problems in drawn.items()}
    if is_affordable(everything):
        return everything, None
    points = next((step for step in range(1, 100) if is_affordable(limits(step / 100))), 100)
    return limits(points / 100), points / 100


def begun_limit(resolved: ResolvedSuite) -> int | None:
    """Return the limit with which the suite's own folder was begun on these data; None if there is none.

    Raises:
        DataError: the folder's manifest cannot be read: the run would not go on with another limit.
    """
    wanted = resolved.selection.select, resolved.selection.seed
    exists = resolved.folder.manifest_path.exists()
    manifest = _of_same_data(resolved, resolved.folder.manifest()) if exists else None
    selections = manifest.selections if manifest is not None else []
    limits = [entry.limit for entry in selections if (entry.select, entry.seed) == wanted]
    return limits[-1] if limits else None


def group_sizes(problems: Sequence[Problem]) -> list[int]:
    """Return the numbers of problems of the independent groups, as comparisons form them."""
    clusters = [problem.cluster for problem in problems]
    overlaps = [problem.overlap_group or problem.id for problem in problems]
    return [round(size) for size in units_of([0.0] * len(problems), clusters, overlaps).sizes] if problems else []


def stored_manifest(resolved: ResolvedSuite, folder: Path) -> Manifest | None:
    """Return the manifest of a run on the same suite and data; None for others, and what cannot be read."""
    try:
        manifest = RunFolder(folder).manifest()
    except (DataError, OSError):
        return None
    return _of_same_data(resolved, manifest)


def _of_same_data(resolved: ResolvedSuite, manifest: Manifest) -> Manifest | None:
    is_same = (manifest.suite, manifest.data.hash) == (resolved.suite.name, resolved.data.hash)
    return manifest if is_same else None
