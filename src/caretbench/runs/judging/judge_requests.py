"""Two-step judging: extraction of an answer's statements, then a judgement of each.

Both steps leave rows of their own in ``judgements.jsonl``. The second one's ``answer`` is the hash of a statement, so
that equal statements about one problem are judged once, whoever made them, and its ``parameters`` cover those of the
first step. A repeat is a whole pass: the statements found in repeat 1 are judged in repeat 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from caretbench.extraction.policies import Policy
from caretbench.files import RowAppender, join_surrogates, replace_surrogates, write_rows
from caretbench.judging.answers import TextOf, answer_key, answer_texts, inserted_texts, plain_answer
from caretbench.judging.controls import (
    DEFAULT_CONTROL_PROBLEMS,
    ControlTexts,
    control_sample,
    default_controls,
    question_control_sample,
    question_controls,
)
from caretbench.judging.criteria import Criterion, CriterionProblems, instructed_problems, problems_by_criterion
from caretbench.judging.parsing import claims_in, parse
from caretbench.judging.prompting import render
from caretbench.models import ChatPrompt, FailureKind, ModelAnswer, ModelClient, Sampling
from caretbench.problem import AnyCompletion, Judgement, Problem, Profile
from caretbench.runs.generate import worst_cost
from caretbench.runs.plans.prices import CostBudget, Price
from caretbench.runs.request_stage import (
    ErrorFile,
    PendingRequest,
    ReportProgress,
    RequestStage,
    StageCounts,
    StageRequests,
)
from caretbench.runs.run_folder import JudgementKey, MissingJudgement, RunFolder
from caretbench.suites import baselines_of_run


class DistinctText(NamedTuple):
    """Text to judge: inserted at the caret of a problem, or an answer to its question; ``answer`` is its hash."""

    problem: Problem
    text: str
    answer: str


def distinct_texts(
    folder: RunFolder,
    batch: CriterionProblems,
    policy: Policy,
    profile: Profile,
    *,
    control_problems: int = DEFAULT_CONTROL_PROBLEMS,
    baselines: bool = False,
    is_judged: Callable[[AnyCompletion], bool] = lambda _completion: True,
    controls: ControlTexts = default_controls,
) -> tuple[list[DistinctText], int]:
    """Return the distinct texts to judge, and the number of completions with them.

    Args:
        folder: The run: its completions, and its problems, from which the controls are taken.
        batch: The problems to judge, and the criterion.
        policy: From raw text to inserted text: the run's.
        profile: The run's.
        control_problems: Number of the run's problems whose controls are judged too; 0 for none.
        baselines: Judge the completions of the baselines too.
        is_judged: Chooses completions, where a criterion asks only about some.
        controls: Makes the controls: the suite's.
    """
    chosen = {problem.id: problem for problem in batch.problems}
    omitted = () if baselines else baseline_names(folder)
    texts = inserted_texts(folder.completions(), chosen, policy, profile)
    judged = (row for row in texts if row[0].model not in omitted and is_judged(row[0]))
    if not control_problems:
        return _distinct(judged, chosen, (), {})
    # From all problems of the run: a selection must not change which text is the control of a problem.
    everything = folder.problems() if folder.problems_path.exists() else list(batch.problems)
    if batch.criterion.form == "decision":
        everything = instructed_problems(everything, profile)
    sample = control_sample(everything, control_problems)
    return _distinct(judged, chosen, sample, controls(everything, batch.criterion.form))


def _distinct(
    judged: Iterable[tuple[AnyCompletion, str, str]],
    chosen: Mapping[str, Problem],
    sample: Iterable[Problem],
    controls: Mapping[str, Mapping[str, str]],
) -> tuple[list[DistinctText], int]:
    """Return the distinct texts of completions and of the controls of a sample, and the number of completions."""
    first: dict[tuple[str, str], DistinctText] = {}
    count = 0
    for completion, text, answer in judged:
        count += 1
        first.setdefault((completion.problem_id, answer), DistinctText(chosen[completion.problem_id], text, answer))
    for problem in sample:
        for text in controls[problem.id].values() if problem.id in chosen else ():
            answer = answer_key(text)
            first.setdefault((problem.id, answer), DistinctText(problem, text, answer))
    return list(first.values()), count


def distinct_answers(
    folder: RunFolder,
    batch: CriterionProblems,
    profile: Profile,
    *,
    control_problems: int = DEFAULT_CONTROL_PROBLEMS,
    baselines: bool = False,
    text_of: TextOf = plain_answer,
) -> tuple[list[DistinctText], int]:
    """Return the distinct answers to a batch's questions, and the number of completions with them.

    ``text_of`` gives what the judge sees of a raw answer. The baselines are the suite's, and those of the manifest.
    """
    chosen = {problem.id: problem for problem in batch.problems}
    omitted = () if baselines else baseline_names(folder)
    texts = answer_texts(folder.completions(), chosen, profile, text_of)
    judged = (row for row in texts if row[0].model not in omitted)
    if not control_problems:
        return _distinct(judged, chosen, (), {})
    pool = control_pool(folder.problems() if folder.problems_path.exists() else batch.problems, batch, profile)
    sample = question_control_sample(pool, control_problems)
    return _distinct(judged, chosen, sample, question_controls(pool, batch.criterion))


def control_pool(problems: Sequence[Problem], batch: CriterionProblems, profile: Profile) -> list[Problem]:
    """Return the problems from which a batch's controls are taken: all of its criterion, selected or not."""
    problems_by_key = {entry.criterion.key: entry.problems for entry in problems_by_criterion(problems, profile)}
    return list(problems_by_key.get(batch.criterion.key, batch.problems))


def baseline_names(folder: RunFolder) -> tuple[str, ...]:
    """Return the names of the baselines of a run: the suite's, and those of the manifest."""
    if not folder.manifest_path.exists():
        return baselines_of_run(None)
    manifest = folder.manifest()
    return baselines_of_run(manifest.suite, (info.model for info in manifest.models if info.source == "baseline"))


RequestedJudgements = tuple[DistinctText, Sequence[int]]
"""A text, and the numbers of the repeats in which it is to be judged."""


@dataclass
class JudgeRequests(StageRequests[DistinctText]):
    """Requests to one judge under one criterion."""

    folder: RunFolder
    criterion: Criterion
    name: str
    client: ModelClient
    parameters: str
    base_sampling: Sampling
    price: Price | None

    def run(self, requested: Sequence[RequestedJudgements], budget: CostBudget, report: ReportProgress) -> StageCounts:
        """Request all missing and all unreadable judgements."""
        earlier_cost = self._forget_faults({(subject.problem.id, subject.answer) for subject, _ in requested})
        with (
            RowAppender(self.folder.judgements_path) as rows,
            ErrorFile(self.folder.judge_errors_path, MissingJudgement) as errors,
        ):
            # Read again after faults are out: they are asked for once more.
            done = {row.key for row in self.folder.judgements()}
            missing = list(self._missing_parts(requested, done, earlier_cost))
            stage = RequestStage(self, budget, rows, errors, report)
            stage.counts.requested = sum(len(repeats) for _, repeats in requested)
            stage.counts.stored = stage.counts.requested - sum(len(repeats) for _, repeats, _ in missing)
            report(0, stage.counts)
            stage.ask(self._request(*entry) for entry in missing)
        errors.rewrite((done & errors.stored_keys) | stage.resolved)
        return stage.counts

    def _missing_parts(
        self,
        requested: Sequence[RequestedJudgements],
        done: set[JudgementKey],
        earlier_cost: Mapping[JudgementKey, float | None],
    ) -> Iterator[tuple[DistinctText, tuple[int, ...], float | None]]:
        """Yield the missing judgements. One request asks for all repeats that are shown in the same order."""
        for subject, repeats in requested:
            keys = {number: self._key(subject, number) for number in repeats}
            keys = {number: key for number, key in keys.items() if key not in done}
            orders = self.criterion.order_count
            for order in range(orders):
                fresh = tuple(
                    # Repeats that cost something before go alone, since their row adds the earlier cost.
                    number
                    for number, key in keys.items()
                    if key not in earlier_cost and number % orders == order
                )
                if fresh:
                    yield subject, fresh, 0.0
            for number, key in keys.items():
                if key in earlier_cost:
                    yield subject, (number,), earlier_cost[key]

    def _request(
        self, subject: DistinctText, repeats: tuple[int, ...], earlier_cost: float | None
    ) -> PendingRequest[DistinctText]:
        prompt: ChatPrompt = render(self.criterion, subject.problem, replace_surrogates(subject.text), repeats[0])
        identity = f"{subject.problem.id}#{subject.answer[:12]}#{repeats[0]}"
        return PendingRequest(identity, subject, repeats, prompt, earlier_cost=earlier_cost)

    # --- the stage's questions ----------------------------------------------------------------------------------

    def sampling(self, pending: PendingRequest[DistinctText]) -> Sampling:
        """Return the sampling settings; a repeated request has another seed."""
        if self.base_sampling.seed is None or pending.attempt == 1:
            return self.base_sampling
        # With the same seed the same unreadable answer comes back. 1000 apart, so that repeats do not meet.
        return self.base_sampling.model_copy(update={"seed": self.base_sampling.seed + 1000 * (pending.attempt - 1)})

    def worst_cost(self, pending: PendingRequest[DistinctText]) -> float:
        """Return the cost of answers in full length, each with the whole prompt."""
        if pending.prompt is None:
            return 0.0
        return worst_cost(self.client, self.price, pending.prompt, len(pending.samples), self.base_sampling.max_tokens)

    def row(self, pending: PendingRequest[DistinctText], answer: ModelAnswer, cost: float | None) -> Judgement | None:
        """Return a line of ``judgements.jsonl``; None if the answer is unreadable and a try is left."""
        parsed = parse(self.criterion, answer.text)
        if parsed.fault is not None and pending.attempt < self.criterion.tries:
            return None
        return Judgement(
            **self._identity(pending, answer.sample),
            values=parsed.values,
            fault=parsed.fault,
            text=join_surrogates(answer.text),
            attempts=pending.attempt,
            usage=answer.usage,
            cost=cost,
            latency=answer.latency,
        )

    def unreadable(self, row: Judgement) -> bool:
        """Return whether the answer is unreadable after all tries."""
        return row.fault is not None

    def missing(
        self, pending: PendingRequest[DistinctText], sample: int, kind: FailureKind, message: str, attempts: int
    ) -> MissingJudgement:
        """Return a line of ``judge_errors.jsonl``."""
        return MissingJudgement(**self._identity(pending, sample), kind=kind, message=message, attempts=attempts)

    # --- rows ---------------------------------------------------------------------------------------------------

    def _identity(self, pending: PendingRequest[DistinctText], repeat: int) -> dict[str, Any]:
        names = ("problem_id", "answer", "judge", "parameters", "criterion", "repeat")
        return dict(zip(names, self._key(pending.item, repeat), strict=True))

    def _key(self, subject: DistinctText, repeat: int) -> JudgementKey:
        identity = (subject.problem.id, subject.answer)
        return (*identity, self.name, self.parameters, self.criterion.key, repeat)

    def _forget_faults(self, texts: set[tuple[str, str]]) -> dict[JudgementKey, float | None]:
        """Remove unreadable judgements, to request them again; return their costs."""
        earlier_cost: dict[JudgementKey, float | None] = {}
        ours = (self.name, self.parameters, self.criterion.key)

        def again(row: Judgement) -> bool:
            whose = (row.judge, row.parameters, row.criterion)
            return not row.values and whose == ours and (row.problem_id, row.answer) in texts

        def kept() -> Iterator[Judgement]:
            for row in self.folder.judgements():
                if again(row):
                    earlier_cost[row.key] = row.cost
                else:
                    yield row

        with RowAppender(self.folder.judgements_path):  # holds the file, and repairs its end
            if any(again(row) for row in self.folder.judgements()):
                write_rows(self.folder.judgements_path, kept())
        return earlier_cost


FIRST_STEP_FIELD: Final = "after"
"""Field of a second step's settings that contains the parameters of the first."""

EMPTY_ANSWER: Final = answer_key("")
"""Hash of the empty answer, which has no statements and is not sent to judges."""


def requested_judgements(
    criterion: Criterion, texts: Sequence[DistinctText], repeats: int | None
) -> list[RequestedJudgements]:
    """Return the judgements of texts to request first; ``repeats`` None: as the criterion defines.

    Nobody is asked which statements the empty answer makes.
    """
    count = criterion.repeats if repeats is None else repeats
    return [(text, range(count)) for text in texts if criterion.then is None or text.answer != EMPTY_ANSWER]


def second_step_judgements(
    first: Iterable[Judgement], requested: Sequence[RequestedJudgements], problems: Mapping[str, Problem]
) -> list[RequestedJudgements]:
    """Return the distinct statements that a judge extracted, with the repeats that contain them.

    Args:
        first: The judge's judgements by the criterion of the first step.
        requested: Texts of the first step: statements of other texts do not count.
        problems: By id.
    """
    repeats_by_text = {(subject.problem.id, subject.answer): set(repeats) for subject, repeats in requested}
    statements: dict[tuple[str, str], tuple[DistinctText, set[int]]] = {}
    for row in first:
        # A run with fewer repeats now must not pay for the statements of earlier ones.
        if row.repeat not in repeats_by_text.get((row.problem_id, row.answer), ()):
            continue
        for claim in claims_in(row.text) if row.values else ():
            key = (row.problem_id, answer_key(claim))
            subject = DistinctText(problems[row.problem_id], claim, key[1])
            statements.setdefault(key, (subject, set()))[1].add(row.repeat)
    return [(subject, sorted(repeats)) for subject, repeats in statements.values()]
