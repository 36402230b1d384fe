"""How a run is carried out: all is checked, then generated, judged, scored and shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from caretbench.cli import scoring as shared
from caretbench.cli.common import Steps, note, say, say_json
from caretbench.cli.run_plan import GraderPlan, ModelPlan, Plan

if TYPE_CHECKING:
    from caretbench.asking import Asking
    from caretbench.generating import Tally
    from caretbench.inspect.options import ClientOptions
    from caretbench.models import ModelClient
    from caretbench.prices import Price, Purse
    from caretbench.runs import ModelInfo


def carry_out(plan: Plan) -> None:
    """Do what the plan says; everything that can be checked is checked before the first request.

    Raises:
        Exit: done, but something is missing, or a wish failed.
        ValueError: the plan cannot work.
    """
    from caretbench.runs import ModelInfo

    plan.check()
    clients = Clients(plan)
    with ExitStack() as stack, Steps(quiet=plan.as_json) as steps:
        stack.enter_context(clients)
        infos = clients.check()
        executor = None
        if plan.score and any(subject.execute for subject in plan.subjects):
            executor = shared.executor(plan.workers, use_cache=plan.use_cache)
        sittings = [
            stack.enter_context(shared.Sitting(subject, executor if subject.execute else None, steps))
            for subject in plan.subjects
        ]
        if plan.score:
            infos += [ModelInfo(model=name, source="baseline") for name in plan.baselines]
        for sitting in sittings:
            sitting.begin(infos)
        spending = purse(plan)
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


# --- clients ----------------------------------------------------------------------------------------------------


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
        from caretbench.asking import Asking
        from caretbench.prompts import choose, preprocessor

        with self._opened(model) as client:
            yield Asking(
                name=model.name,
                client=client,
                strategy=choose(client, model.prompt),
                sampling=model.sampling,
                samples=model.samples,
                preprocess=[preprocessor(name) for name in model.preprocess],
                prompt_tokens=model.prompt_tokens,
                price=self.price(model),
            )

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
        from caretbench.scoring import check_resumable

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


# --- generating -------------------------------------------------------------------------------------------------


@dataclass
class _Outcome:
    sitting: shared.Sitting
    model: ModelPlan
    tally: Tally


def purse(plan: Plan) -> Purse:
    """What may be spent; what the stored rows of all folders cost is spent already."""
    from caretbench.generating import spent
    from caretbench.prices import Purse

    return Purse(plan.max_cost, sum(spent(subject.folder) for subject in plan.subjects))


def _generate(
    plan: Plan, clients: Clients, sittings: Sequence[shared.Sitting], spending: Purse, steps: Steps
) -> list[str]:
    """Each model in turn; gives what is to be complained of."""
    from caretbench.generating import Generating

    outcomes = []
    for model in plan.models:
        with clients.asking(model) as asking:
            if not plan.as_json:
                note(f"{model.name}: prompt {asking.strategy.key}, parameters {asking.parameters}")
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
    from caretbench.report.summary import COVERAGE_WANTED

    tally = outcome.tally
    if not tally.missing:
        return None
    kinds = ", ".join(f"{kind} {count}" for kind, count in tally.missing.most_common())
    path = outcome.sitting.folder.errors_path
    line = f"{outcome.model.name}: {tally.missing.total()} of {tally.wanted} answers are missing ({kinds})"
    if set(tally.missing) == {"budget"}:
        line += ": --max-cost is spent; a higher one goes on"
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
    plan: Plan, clients: Clients, sittings: Sequence[shared.Sitting], spending: Purse, steps: Steps
) -> list[str]:
    """Each grader in turn; gives what is to be complained of."""
    from caretbench.grading import grade
    from caretbench.judging.missing import errors_path

    complaints = []
    for grader in plan.graders:
        with clients.grader(grader) as client:
            for sitting in sittings:
                subject = sitting.subject
                result = grade(
                    sitting.folder, subject.problems, subject.policy, [(grader.name, client)],
                    criterion=plan.criterion_for(subject), profile=subject.profile,
                    prices={grader.name: clients.price(grader)}, purse=spending, report=steps,
                )  # fmt: skip
                sitting.manifest = sitting.folder.manifest()  # the graders were written to it
                if not result.complete:
                    absent = result.unreadable + result.failed + result.not_asked
                    complaints.append(
                        f"{grader.name}: {absent} judgements are missing (unreadable {result.unreadable}, failed "
                        f"{result.failed}, no money {result.not_asked}); the same command asks for them again; see "
                        f"{errors_path(sitting.folder)}"
                    )
    return complaints


def _score(plan: Plan, sitting: shared.Sitting) -> None:
    from caretbench.suites.baselines import baseline

    for name in plan.baselines:
        sitting.scoring.add_completions(baseline(name, sitting.subject.problems))
    sitting.score()
