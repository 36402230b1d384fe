"""How a run is carried out: all is checked, then generated, judged, scored and shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from caretbench.cli import scoring as shared
from caretbench.cli.clients import Clients
from caretbench.cli.common import Steps, note, say, say_json
from caretbench.cli.run_plan import ModelPlan, Plan

if TYPE_CHECKING:
    from caretbench.runs.prices import CostBudget
    from caretbench.runs.stage import Tally


def carry_out(plan: Plan) -> None:
    """Do what the plan says; everything that can be checked is checked before the first request.

    Raises:
        Exit: done, but something is missing, or a wish failed.
        ValueError: the plan cannot work.
    """
    from caretbench.runs.folder import ModelInfo

    plan.check()
    clients = Clients(plan)
    with ExitStack() as stack, Steps(quiet=plan.as_json) as steps:
        stack.enter_context(clients)
        executor = None
        if plan.score and any(subject.execute for subject in plan.subjects):
            executor = shared.executor(plan.workers, use_cache=plan.use_cache, engine=plan.engine)
        infos = clients.check()
        sittings = [
            stack.enter_context(shared.Sitting(subject, executor if subject.execute else None, steps))
            for subject in plan.subjects
        ]
        if plan.score:
            infos += [ModelInfo(model=name, source="baseline") for name in plan.baselines]
        for sitting in sittings:
            sitting.begin(infos)
        spending = budget(plan)
        complaints = _generate(plan, clients, sittings, spending, steps)
        answered = [
            sitting for sitting in sittings if any(True for _ in _answers(sitting, plan.models))
        ]  # fmt: skip
        if plan.graders and answered:
            complaints += _judge(plan, clients, answered, spending, steps)
        if plan.score:
            for sitting in answered:
                _score(plan, sitting)
    if plan.score:
        complaints += _show(plan, answered)
    shared.end(complaints)


def _show(plan: Plan, sittings: Sequence[shared.Sitting]) -> list[str]:
    """Print the numbers of every folder; gives what is to be complained of. Several are one list in JSON."""
    together = plan.as_json and len(plan.subjects) > 1
    summaries = []
    for sitting in sittings:
        if len(sittings) > 1 and not plan.as_json:
            say(f"\n{sitting.folder.path}")
        summaries.append(shared.show(sitting.folder, html=plan.html, as_json=plan.as_json, quiet=together))
    if together:
        say_json([summary.model_dump(mode="json") for summary in summaries])
    return [line for summary in summaries for line in shared.failures(summary, plan.fail_under)]


# --- generating -------------------------------------------------------------------------------------------------


@dataclass
class _Outcome:
    sitting: shared.Sitting
    model: ModelPlan
    tally: Tally


def budget(plan: Plan) -> CostBudget:
    """What may be spent; what the stored rows of all folders cost is spent already."""
    from caretbench.runs.generate import spent
    from caretbench.runs.prices import CostBudget

    return CostBudget(plan.max_cost, sum(spent(subject.folder) for subject in plan.subjects))


def _generate(
    plan: Plan, clients: Clients, sittings: Sequence[shared.Sitting], spending: CostBudget, steps: Steps
) -> list[str]:
    """Each model in turn; gives what is to be complained of."""
    from caretbench.runs.generate import Generating

    outcomes = []
    for model in plan.models:
        with clients.asking(model) as asking:
            if not plan.as_json:
                shown = f", context {asking.context.key}" if asking.context else ""
                note(f"{model.name}: prompt {asking.strategy.key}{shown}, parameters {asking.parameters}")
            for sitting in sittings:
                where = f" to {sitting.folder.path.name}" if len(sittings) > 1 else ""
                progress = _Progress(steps, f"answers of {model.name}{where}")
                stage = Generating(sitting.subject.problems, sitting.folder, progress)
                outcomes.append(_Outcome(sitting, model, stage.run(asking, spending)))
            for line in getattr(asking.client, "notices", ()):
                note(f"{model.name}: {one_line(line)}")
    return [line for outcome in outcomes if (line := _missing(outcome))]


class _Progress:
    """From the stage's tally to a line of progress."""

    def __init__(self, steps: Steps, step: str) -> None:
        self._steps = steps
        self._step = step

    def __call__(self, added: int, tally: Tally) -> None:
        """Show that ``added`` more samples are settled."""
        self._steps(self._step, added, tally.wanted, spoken(tally))


def spoken(tally: Tally) -> str:
    """``1,234 tokens in, 56 out, $0.0123, 2 failed``."""
    parts = []
    if tally.input_tokens or tally.output_tokens:
        parts.append(f"{tally.input_tokens:,.0f} tokens in, {tally.output_tokens:,.0f} out")
    if tally.cost:
        parts.append(f"${tally.cost:.4f}")
    if tally.missing:
        parts.append(f"{tally.missing.total()} failed")
    return ", ".join(parts)


def _missing(outcome: _Outcome) -> str | None:
    """What did not come, in one line; a complaint where it is more than a run can bear, else a note."""
    from caretbench.reports.summary import COVERAGE_WANTED

    tally = outcome.tally
    if not tally.missing:
        return None
    kinds = ", ".join(f"{kind} {count}" for kind, count in tally.missing.most_common())
    path = outcome.sitting.folder.errors_path
    line = f"{outcome.model.name}: {tally.missing.total()} of {tally.wanted} answers are missing ({kinds})"
    if set(tally.missing) == {"budget"}:
        line += (
            ": what is left of --max-cost does not cover one more answer at its dearest; a higher one goes on"
        )
    else:
        line += f": {one_line(tally.ended or tally.first_message)}"
        if set(tally.missing) != {"unpromptable"}:
            line += "; the same command asks for them again"
    line += f"; see {path}"
    if tally.share < COVERAGE_WANTED or "budget" in tally.missing:
        return line
    note(line)
    return None


def one_line(text: str, most: int = 300) -> str:
    """The text in one line, not too long."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def _answers(sitting: shared.Sitting, models: Sequence[ModelPlan]) -> Iterator[object]:
    names = {model.name for model in models}
    return (row for row in sitting.folder.completions() if row.model in names)


# --- judging and scoring ----------------------------------------------------------------------------------------


def _judge(
    plan: Plan, clients: Clients, sittings: Sequence[shared.Sitting], spending: CostBudget, steps: Steps
) -> list[str]:
    """Each grader in turn; gives what is to be complained of."""
    from caretbench.runs.judge import NothingToJudgeError, grade_parts
    from caretbench.suites.base import judged_text_of

    complaints = []
    for grader in plan.graders:
        with clients.grader(grader) as client:
            for sitting in sittings:
                subject = sitting.subject
                try:
                    results = grade_parts(
                        sitting.folder, plan.judged_parts(subject), subject.policy, [(grader.name, client)],
                        profile=subject.profile, text_of=judged_text_of(subject.suite, subject.profile),
                        prices={grader.name: clients.price(grader)}, budget=spending, report=steps,
                    )  # fmt: skip
                except NothingToJudgeError as error:
                    note(f"{grader.name}: {error}")
                    continue
                sitting.manifest = sitting.folder.manifest()  # the graders were written to it
                complaints += [
                    f"{grader.name}, {key}: {result.complaint(sitting.folder)}"
                    for key, result in results.items()
                    if not result.sufficient
                ]
    return complaints


def _score(plan: Plan, sitting: shared.Sitting) -> None:
    from caretbench.suites.baselines import baseline, writers_of

    own = writers_of(sitting.subject.suite)
    for name in plan.baselines:
        if name in own:
            sitting.scoring.add_completions(baseline(name, sitting.subject.problems, own))
    sitting.score()
