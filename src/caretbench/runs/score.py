"""Scoring stage: computes the missing scores of completions.

The reference of every problem runs first, on this machine and under this profile: a model is not measured on a problem
whose reference does not pass here, and the reference's CPU time bounds that of answers. If the policy changes a
reference, the changed text runs too, and is the baseline's answer. The answers to a problem run as soon as the verdict
on its reference is known, whatever other references still run.
Everything is appended row by row, so the stage may be killed at any moment and the same command goes on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import NamedTuple

from caretbench.execution.dispatcher import AnyExecutor, AnyRequest
from caretbench.execution.execution_types import ExecutionResult, Status
from caretbench.extraction.policies import Policy
from caretbench.files import DataError, RowAppender, row_to_json, sha256_text, write_rows
from caretbench.grouping import grouped
from caretbench.problem import AnyCompletion, Completion, Problem, Profile, Score, ScoreKey
from caretbench.profiles import rules_of
from caretbench.runs import verdict as verdicts
from caretbench.runs.keyed_scores import score_line
from caretbench.runs.reductions import ReducedAnswer, reduce_answers
from caretbench.runs.run_folder import RunFolder
from caretbench.runs.user_metrics import UserMetric
from caretbench.suites.answer_kinds import measured_prefix
from caretbench.suites.base import Suite

REFERENCE = "reference"

_Answer = tuple[AnyCompletion, str | None]
"""A completion and the text of it that is inserted."""

# One write for many rows, and not for all: the completions of nine models are 30 MB.
_ROWS_AT_ONCE = 256
"""Number of completions that are written together."""


class _MeasuredText(NamedTuple):
    """Inserted text of one raw text, and the rows of what is measured on it without running it, by scorer."""

    inserted: str | None
    rows: Mapping[str, bytes] = {}


ReportStep = Callable[[str, int, int | None], None]
"""Called with the name of the step, how many rows were added, and the total where it is known."""


@dataclass
class ScoringStage:
    """Scoring stage of one run. ``variants`` chooses a named build per language (``cpp=common_headers``)."""

    suite: Suite
    problems: Sequence[Problem]
    folder: RunFolder
    policy: Policy
    profile: Profile
    executor: AnyExecutor | None
    variants: dict[str, str] = field(default_factory=dict)
    metrics: Sequence[UserMetric] = ()
    report: ReportStep = lambda _step, _added, _total: None

    def __post_init__(self) -> None:
        """Index the problems, and name the scorer."""
        self._execution = verdicts.execution_scorer(self.suite.rules(self.profile))
        self._problems = {problem.id: problem for problem in self.problems}

    def add_completions(self, completions: Iterable[Completion]) -> int:
        """Append the completions that are not stored yet; return their number.

        Raises:
            DataError: another answer under the same key is there already.
        """
        return self.append_completions(map(row_to_json, self._new(completions)))

    def new_completions(self, completions: Iterable[Completion]) -> list[bytes]:
        """Return the rows that :meth:`add_completions` would append, as JSON for :meth:`append_completions`.

        Raises:
            DataError: another answer under the same key is there already.
        """
        return [row_to_json(row) for row in self._new(completions)]

    def append_completions(self, rows: Iterable[bytes]) -> int:
        """Append rows that are not stored yet; return their number."""
        added = 0
        rows = iter(rows)
        with RowAppender(self.folder.completions_path) as appender:
            while lines := [*islice(rows, _ROWS_AT_ONCE)]:
                appender.append_lines(lines)
                added += len(lines)
        return added

    def _new(self, completions: Iterable[Completion]) -> Iterator[Completion]:
        """Yield the completions that are not stored yet, each once.

        Verdicts are kept by key, so a changed answer under an old key would get the old answer's verdict.
        """
        # Hashes and not texts: the texts of nine models are 30 MB.
        there = {row.key: hash((row.text, row.error)) for row in self.folder.completions()}
        for completion in completions:
            answer = hash((completion.text, completion.error))
            if completion.key not in there:
                there[completion.key] = answer
                yield completion
            elif there[completion.key] != answer:
                raise DataError(
                    f"{self.folder.path}: another answer of {completion.model} to {completion.problem_id} (sample "
                    f"{completion.sample}) is there already; choose another folder with -o, or another name for the "
                    "model"
                )

    def run(self) -> dict[str, list[str]]:
        """Compute the missing scores; return the excluded problems by cause.

        Rows without a verdict are taken out first: what was missing then (a toolchain, a package, a free machine) may
        be there now. So are verdicts by other rules than today's, and failures of references that ran once.
        """
        self._forget_outdated_rows()
        with RowAppender(self.folder.scores_path) as appender:
            self._done = {row.key for row in self.folder.scores()}
            self._excluded: dict[str, str] = {}
            self._waiting_references: set[str] = set()
            self._reference_cpu_s: dict[str, float] = {}
            self._held: dict[str, list[_Answer]] = {}
            self._ready: deque[_Answer] = deque()
            self._changed: list[_Answer] = []
            references = self._missing_references(appender) if self.executor is not None else []
            completions = self._missing_completions(appender)
            if self.executor is None:
                for _ in completions:
                    raise RuntimeError("nothing is to be executed in this run")
            else:
                self._execute(self.executor, self._answers(references, completions), appender)
                self._run_changed_references(self.executor, appender)
                self._reduce(self.executor, appender)
        return grouped((cause, identity) for identity, cause in sorted(self._excluded.items()))

    def _forget_outdated_rows(self) -> None:
        with RowAppender(self.folder.scores_path):  # holds the file, and repairs its end
            kept = [
                row
                for row in self.folder.scores()
                if row.problem_id not in self._problems
                or row.policy != self.policy.key
                or (row.counted and not self._is_outdated(row))
            ]
            # A complete run is not written again, byte for byte the same or not.
            if len(kept) < sum(1 for _ in self.folder.scores()):
                write_rows(self.folder.scores_path, kept)

    def _is_outdated(self, row: Score) -> bool:
        """Return whether a row has another version of a metric or other rules, or an earlier verdict on a reference."""
        if any(metric.replaces(row.scorer) for metric in self.metrics):
            return True
        # Rows of another profile are another command's; those of measures have versions of their own.
        if row.profile != self.profile or not row.scorer.startswith(verdicts.EXECUTION_SCORER):
            return False
        return row.scorer != self._execution or self._is_unmeasured_change(row) or _may_be_unlucky(row)

    def _is_unmeasured_change(self, row: Score) -> bool:
        """Return whether a row gives the verdict on a reference to its changed text, as rows of earlier versions do."""
        return (
            (row.model, row.scorer, row.values.get("passed")) == (REFERENCE, self._execution, 1.0)
            and verdicts.REFERENCE_PASSED not in row.values
            and self._changes(self._problems[row.problem_id])
        )

    def _changes(self, problem: Problem) -> bool:
        return verdicts.inserted_text(problem.reference, problem, self.policy) != problem.reference

    # --- what is missing ----------------------------------------------------------------------------------------

    def _missing_references(self, appender: RowAppender) -> list[_Answer]:
        """Return the references without a verdict, and append the rows of those that are known."""
        references = [
            Completion(problem_id=problem.id, model=REFERENCE, text=problem.reference) for problem in self.problems
        ]
        self.add_completions(references)
        missing = [
            reference
            for reference in references
            if self._is_run(reference) and self._key(reference, self._execution) not in self._done
        ]
        for row in self.folder.scores():
            scored = (row.model, row.scorer, row.policy, row.profile)
            if scored == (REFERENCE, self._execution, self.policy.key, self.profile):
                self._settle(row)
        elsewhere = self._references_of_other_policies()
        for reference in missing:
            if reference.problem_id in elsewhere:
                self._write_reference(reference, elsewhere[reference.problem_id], appender)
        missing = [reference for reference in missing if reference.problem_id not in elsewhere]
        # Answers wait here for the verdict on their reference.
        self._held = {reference.problem_id: [] for reference in missing}
        self.report("references", 0, len(missing))
        return [(reference, reference.text) for reference in missing]

    def _references_of_other_policies(self) -> dict[str, Score]:
        """Return the verdicts on unchanged references under other policies."""
        return {
            row.problem_id: row.model_copy(update={"policy": self.policy.key})
            for row in self.folder.scores()
            if row.model == REFERENCE and row.scorer == self._execution and row.profile == self.profile and row.counted
            if verdicts.REFERENCE_PASSED not in row.values
        }

    def _write_reference(self, reference: AnyCompletion, row: Score, appender: RowAppender) -> None:
        """Append the verdict on an unchanged reference; if it passes and the policy changes it, the change runs too."""
        self._settle(row)
        problem = self._problems[reference.problem_id]
        if row.values.get("passed") == 1.0 and self._changes(problem):
            self._changed.append((reference, self._text(reference, problem)))
        else:
            self._write(appender, row)

    def _settle(self, reference: Score) -> None:
        """Record the verdict on an unchanged reference, and its CPU time where that bounds answers."""
        cpu_s = reference.details.get("cpu_s")
        # The reference's own CPU time on this machine bounds an answer: a fixed bound is generous here and strict
        # there.
        if rules_of(self.profile).bounded_by_reference and isinstance(cpu_s, float | int):
            self._reference_cpu_s[reference.problem_id] = cpu_s
        if reference.details.get("waits"):
            self._waiting_references.add(reference.problem_id)
        if reference.values.get(verdicts.REFERENCE_PASSED, reference.values.get("passed")) != 1.0:
            cause = verdicts.exclusion_cause(reference.outcome, reference.details)
            self._excluded[reference.problem_id] = cause

    def _missing_completions(self, appender: RowAppender) -> Iterator[_Answer]:
        """Yield the completions that must be run, problem by problem; append the rows of the others on the way."""
        # 12,860 of 80,952 completions of nine models are distinct: those of a problem are measured together, equal ones
        # once.
        stored = (row for row in self.folder.stored_completions() if row.problem_id in self._problems)
        by_problem = grouped((row.problem_id, row) for row in stored)
        self.report("completions", 0, sum(map(len, by_problem.values())))
        # Popped problem by problem, so that the texts of a large run leave memory as they are scored.
        for identity in [*by_problem]:
            yield from self._missing_of_problem(self._problems[identity], by_problem.pop(identity), appender)

    def _missing_of_problem(
        self, problem: Problem, completions: Sequence[AnyCompletion], appender: RowAppender
    ) -> Iterator[_Answer]:
        texts: dict[tuple[str | None, bool], _MeasuredText] = {}
        row_heads: dict[tuple[str, str], bytes] = {}
        lines: dict[ScoreKey, bytes] = {}
        for completion in completions:
            answer = completion.text, completion.error
            if answer not in texts:  # 70 % of DevBench's samples repeat a text
                texts[answer] = self._measured(completion, problem)
            for scorer, content in texts[answer].rows.items():
                key = self._key(completion, scorer)
                if key not in self._done:
                    model = completion.model, completion.parameters
                    if model not in row_heads:
                        row_heads[model] = row_to_json(self._row(completion, scorer))
                    lines[key] = score_line(row_heads[model], completion.sample, content)
        appender.append_lines([*lines.values()])
        self._done.update(lines)
        for completion in completions:
            if (
                completion.model == REFERENCE
                or not self._is_run(completion)
                or self._key(completion, self._execution) in self._done
            ):
                self.report("completions", 1, None)
            elif (outcome := self._without_run(completion)) is not None:
                self._write(appender, outcome)
                self.report("completions", 1, None)
            else:
                # `done` only grows by rows that are in the file; a request under way is not asked for twice,
                # since completions are unique by key.
                yield completion, texts[completion.text, completion.error].inserted

    def _is_run(self, completion: AnyCompletion) -> bool:
        return self.executor is not None and verdicts.needs_execution(self._problems[completion.problem_id])

    def _text(self, completion: AnyCompletion, problem: Problem) -> str | None:
        """Return the text to insert."""
        return verdicts.inserted_text(completion.text, problem, self.policy)

    def _measured(self, completion: AnyCompletion, problem: Problem) -> _MeasuredText:
        text = self._text(completion, problem)
        if self._is_no_answer(completion):
            return _MeasuredText(text)
        refusal = verdicts.refusal(completion.text, problem, self.policy)
        raw = [] if completion.text is None or refusal else self.suite.measure_raw(problem, completion.text)
        kinds = (*self.suite.measure_error_kinds(problem, text), *measured_prefix(problem, text))
        metrics = [metric.measure(problem, text) for metric in self.metrics]
        details = {"reason": refusal} if refusal else {}
        rows = {}
        for score in (*self.suite.measure(problem, text, self.profile), *kinds, *raw, *metrics):
            row = self._row(completion, score.scorer, values=score.values, details={**score.details, **details})
            rows[score.scorer] = row_to_json(row)
        return _MeasuredText(text, rows)

    def _is_no_answer(self, completion: AnyCompletion) -> bool:
        """Return whether a row with an error message is no completion."""
        return completion.error and not rules_of(self.profile).errors_are_answers

    def _without_run(self, completion: AnyCompletion) -> Score | None:
        if self._is_no_answer(completion):
            return self._row(completion, self._execution, counted=False, outcome="provider_error")
        cause = self._excluded.get(completion.problem_id)
        if cause is None:
            return None
        details = {"cause": cause}
        return self._row(completion, self._execution, counted=False, outcome="excluded", details=details)

    # --- running ------------------------------------------------------------------------------------------------

    def _answers(self, references: Iterable[_Answer], completions: Iterable[_Answer]) -> Iterator[_Answer | None]:
        """Yield the references and each answer after the verdict on its reference; None while no more has one.

        Answers come between the references, so that those that wait do so while other references still compute.
        """
        source = iter(completions)
        for reference in chain(references, [None]):
            if reference is not None:
                yield reference
            for completion, text in source:
                held = self._held.get(completion.problem_id)
                if held is None:
                    yield completion, text
                    continue
                held.append((completion, text))
                if reference is not None:
                    break
            while self._ready:
                yield self._ready.popleft()
        # None lets the executor collect results in place of waiting for a request that cannot come yet.
        while self._held or self._ready:
            yield self._ready.popleft() if self._ready else None

    def _execute(self, executor: AnyExecutor, answers: Iterable[_Answer | None], appender: RowAppender) -> None:
        """Run the answers and append their rows."""

        def record(completion: AnyCompletion, text: str | None, result: ExecutionResult) -> None:
            if completion.model != REFERENCE:
                self._conclude(completion, text, result, appender)
                return
            row = self._execution_row(completion, verdicts.reference_result(result))
            self._write_reference(completion, row, appender)
            self.report("references", 1, None)
            for answer in self._held.pop(completion.problem_id):
                if (outcome := self._without_run(answer[0])) is None:
                    self._ready.append(answer)
                else:
                    self._write(appender, outcome)
                    self.report("completions", 1, None)

        self._run(executor, answers, record)

    def _run_changed_references(self, executor: AnyExecutor, appender: RowAppender) -> None:
        """Run the references as the policy changes them, and append their rows."""

        def record(completion: AnyCompletion, _text: str | None, result: ExecutionResult) -> None:
            row = self._execution_row(completion, verdicts.answer_result(result))
            self._write(appender, row.model_copy(update={"values": {**row.values, verdicts.REFERENCE_PASSED: 1.0}}))
            self.report("references that the policy changes", 1, None)

        if self._changed:
            self.report("references that the policy changes", 0, len(self._changed))
        self._run(executor, self._changed, record)

    def _reduce(self, executor: AnyExecutor, appender: RowAppender) -> None:
        """Reduce the answers that pass, equal ones once, and append the scores of what is left."""
        scorer = self.suite.reduction_scorer
        if not scorer:
            return
        scorer_key = (self._execution, self.policy.key, self.profile)
        passed = (row for row in self.folder.scores() if row.values.get("passed") == 1.0)
        passing = {row.key[:4] for row in passed if (row.scorer, row.policy, row.profile) == scorer_key}
        answers: dict[str, ReducedAnswer | None] = {}
        completions: dict[str, list[AnyCompletion]] = {}
        texts: dict[str, str] = {}
        for completion in self.folder.stored_completions():
            if completion.key not in passing or self._key(completion, scorer) in self._done:
                continue
            problem = self._problems.get(completion.problem_id)
            if problem is None:
                continue
            text = self._text(completion, problem)
            key = sha256_text(problem.id, text or "")
            if key not in answers:
                steps = self.suite.reduction(problem, text, self.profile)
                answers[key] = None if steps is None else ReducedAnswer(steps)
                texts[key] = problem.id
            completions.setdefault(key, []).append(completion)

        def request(key: str, text: str) -> AnyRequest:
            problem = self._problems[texts[key]]
            made = self.suite.request(problem, text, self.profile, self.variants)
            assert made is not None  # noqa: S101  an answer of the problem has run
            return made.model_copy(update={"reference_cpu_s": self._reference_cpu_s.get(problem.id)})

        waiting = {key: answer for key, answer in answers.items() if answer is not None}
        self.report("reductions", 0, len(waiting))
        for key, measured in reduce_answers(waiting, request, executor.submit):
            content = {"values": measured.values, "details": measured.details}
            self._write(appender, *(self._row(equal, scorer, **content) for equal in completions[key]))
            self.report("reductions", 1, None)

    def _run(
        self,
        executor: AnyExecutor,
        answers: Iterable[_Answer | None],
        record: Callable[[AnyCompletion, str | None, ExecutionResult], None],
    ) -> None:
        """Run answers, and record each result as it ends."""
        under_way: dict[str, _Answer] = {}

        def requests() -> Iterator[AnyRequest | None]:
            for answer in answers:
                if answer is None:
                    yield None
                    continue
                completion, text = answer
                problem = self._problems[completion.problem_id]
                refusal = verdicts.refusal(completion.text, problem, self.policy) if text is None else None
                request = None if refusal else self.suite.request(problem, text, self.profile, self.variants)
                if request is None:
                    record(completion, text, verdicts.result_without_program(problem, refusal))
                    continue
                # Keys hold names of models with any characters; engines and clusters take the hash as a name.
                identity = sha256_text(*(str(field_value) for field_value in completion.key))
                under_way[identity] = answer
                is_reference = completion.model == REFERENCE and text == completion.text
                # A changed reference is an answer: it is bounded like one.
                bound = None if is_reference else self._reference_cpu_s.get(problem.id)
                yield request.model_copy(
                    update={"id": identity, "is_reference": is_reference, "reference_cpu_s": bound}
                )

        for result in executor.submit(requests()):
            record(*under_way.pop(result.id), result)

    def _conclude(
        self, completion: AnyCompletion, text: str | None, result: ExecutionResult, appender: RowAppender
    ) -> None:
        """Append the row of a completion whose reference passes."""
        flags = verdicts.answer_flags(text, self._problems[completion.problem_id], self.profile, result)
        waits = completion.problem_id in self._waiting_references
        self._write(appender, self._execution_row(completion, verdicts.answer_result(result, waits), flags))
        self.report("completions", 1, None)

    # --- rows ---------------------------------------------------------------------------------------------------

    def _write(self, appender: RowAppender, *rows: Score) -> None:
        appender.append(*rows)
        self._done.update(row.key for row in rows)

    def _key(self, completion: AnyCompletion, scorer: str) -> ScoreKey:
        return (*completion.key, scorer, self.policy.key, self.profile)

    def _row(self, completion: AnyCompletion, scorer: str, **fields: object) -> Score:
        return Score.model_validate(
            {
                "problem_id": completion.problem_id,
                "model": completion.model,
                "parameters": completion.parameters,
                "sample": completion.sample,
                "scorer": scorer,
                "policy": self.policy.key,
                "profile": self.profile,
            }
            | fields
        )

    def _execution_row(
        self, completion: AnyCompletion, counted_result: verdicts.CountedResult, flags: tuple[str, ...] = ()
    ) -> Score:
        result, counted = counted_result
        return self._row(
            completion,
            self._execution,
            counted=counted,
            outcome=result.status.value,
            values={"passed": float(result.status is Status.PASSED)} if counted else {},
            details=verdicts.execution_details(result, flags),
        )


def _may_be_unlucky(row: Score) -> bool:
    """Return whether a reference failed without further runs alone, as in rows of earlier versions."""
    # A busy machine fails a reference by time; earlier versions did not run it again alone.
    failed = row.model == REFERENCE and row.values.get("passed") == 0.0 and verdicts.REFERENCE_PASSED not in row.values
    confirmed = bool(row.details.get("runs_alone"))
    return (failed and not confirmed) and any(status.may_be_unlucky and row.outcome == status for status in Status)
