"""The scoring stage: completions in, scores out; only what is missing is computed.

The golden answer of every problem runs first, on this machine and under this profile: a model is not measured on a
problem whose golden answer does not pass here. Everything is appended row by row, so the stage may be killed at any
moment and the same command goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from caretbench import verdicts
from caretbench.execution.dispatch import AnyExecutor, AnyRequest
from caretbench.execution.types import ExecutionResult, Status
from caretbench.extraction.policies import Policy
from caretbench.files import Appender, DataError, sha256_text, write_rows
from caretbench.problem import Completion, Problem, Profile, Score, ScoreKey
from caretbench.runs import Manifest, RunFolder
from caretbench.suites.base import Suite

EXECUTION = "execution@1"
GOLDEN = "golden"

Report = Callable[[str, int, int | None], None]
"""Called with the name of the step, how many rows were added, and the total where it is known."""


@dataclass
class Scoring:
    """One scoring of one run. ``variants`` chooses a named build per language (``cpp=common_headers``)."""

    suite: Suite
    problems: Sequence[Problem]
    folder: RunFolder
    policy: Policy
    profile: Profile
    executor: AnyExecutor | None
    variants: dict[str, str] = field(default_factory=dict)
    report: Report = lambda _step, _added, _total: None

    def __post_init__(self) -> None:
        """Index the problems."""
        self._problems = {problem.id: problem for problem in self.problems}

    def add_completions(self, completions: Iterable[Completion]) -> int:
        """Append the completions that are not there yet; gives how many were new.

        Raises:
            DataError: another answer under the same key is there already.
        """
        added = 0
        with Appender(self.folder.completions_path) as appender:
            for completion in self._new(completions):
                appender.append(completion)
                added += 1
        return added

    def check_completions(self, completions: Iterable[Completion]) -> int:
        """What :meth:`add_completions` would append, as a number; nothing is written.

        Raises:
            DataError: another answer under the same key is there already.
        """
        return sum(1 for _ in self._new(completions))

    def _new(self, completions: Iterable[Completion]) -> Iterator[Completion]:
        """The completions that are not stored yet, each once.

        Verdicts are kept by key, so a changed answer under an old key would get the old answer's verdict.
        """
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
        """Score what is missing; gives the problems left out, by cause.

        Rows without a verdict are taken out first: what was missing then (a toolchain, a package, a free machine) may
        be there now.
        """
        self._forget_rows_without_verdict()
        with Appender(self.folder.scores_path) as appender:
            done = {row.key for row in self.folder.scores()}
            left_out: dict[str, str] = {}
            if self.executor is not None:
                self._run_goldens(appender, done)
                left_out = self._left_out()
            self._run_completions(appender, done, left_out)
        causes: dict[str, list[str]] = {}
        for identity, cause in sorted(left_out.items()):
            causes.setdefault(cause, []).append(identity)
        return causes

    def _forget_rows_without_verdict(self) -> None:
        with Appender(self.folder.scores_path):  # holds the file, and repairs its end
            kept = [
                row
                for row in self.folder.scores()
                if row.counted or row.problem_id not in self._problems or row.policy != self.policy.key
            ]
            if len(kept) < sum(1 for _ in self.folder.scores()):
                write_rows(self.folder.scores_path, kept)

    # --- the golden answers -------------------------------------------------------------------------------------

    def _run_goldens(self, appender: Appender, done: set[ScoreKey]) -> None:
        goldens = [
            Completion(problem_id=problem.id, model=GOLDEN, text=problem.reference)
            for problem in self.problems
        ]
        self.add_completions(goldens)
        missing = [golden for golden in goldens if self._key(golden, EXECUTION) not in done]
        known = self._goldens_of_other_policies()
        taken = [known[golden.problem_id] for golden in missing if golden.problem_id in known]
        appender.append(*taken)
        done.update(row.key for row in taken)
        missing = [golden for golden in missing if golden.problem_id not in known]
        self.report("golden answers", 0, len(missing))
        for completion, _, result in self._execute((golden, golden.text) for golden in missing):
            row = self._execution_row(completion, verdicts.of_golden(result))
            appender.append(row)
            done.add(row.key)
            self.report("golden answers", 1, None)

    def _goldens_of_other_policies(self) -> dict[str, Score]:
        """What is known of the golden answers: no policy cuts them, so a verdict holds under every one."""
        return {
            row.problem_id: row.model_copy(update={"policy": self.policy.key})
            for row in self.folder.scores()
            if row.model == GOLDEN and row.scorer == EXECUTION and row.profile == self.profile and row.counted
        }

    def _left_out(self) -> dict[str, str]:
        causes = {}
        for row in self.folder.scores():
            is_golden = row.model == GOLDEN and row.scorer == EXECUTION and row.profile == self.profile
            if is_golden and row.values.get("passed") != 1.0:
                causes[row.problem_id] = verdicts.left_out_cause(row.outcome, row.details)
        return causes

    # --- completions --------------------------------------------------------------------------------------------

    def _run_completions(self, appender: Appender, done: set[ScoreKey], left_out: dict[str, str]) -> None:
        total = sum(row.problem_id in self._problems for row in self.folder.completions())
        self.report("completions", 0, total)

        def to_run() -> Iterator[tuple[Completion, str | None]]:
            for completion in self.folder.completions():
                problem = self._problems.get(completion.problem_id)
                if problem is None:
                    continue
                text = self._text(completion, problem)
                rows = [row for row in self._measured(completion, problem, text) if row.key not in done]
                appender.append(*rows)
                done.update(row.key for row in rows)
                if self.executor is None or self._key(completion, EXECUTION) in done:
                    self.report("completions", 1, None)
                    continue
                outcome = self._without_run(completion, problem, left_out)
                if outcome is not None:
                    appender.append(outcome)
                    done.add(outcome.key)
                    self.report("completions", 1, None)
                    continue
                # `done` only grows by rows that stand in the file; a request under way is not asked for twice,
                # since completions are unique by key.
                yield completion, text

        for completion, text, result in self._execute(to_run()):
            found = verdicts.flags(text, self._problems[completion.problem_id], self.profile)
            row = self._execution_row(completion, verdicts.of_answer(result), found)
            appender.append(row)
            done.add(row.key)
            self.report("completions", 1, None)

    def _text(self, completion: Completion, problem: Problem) -> str | None:
        """The text to insert; the golden answer is never cut."""
        if completion.model == GOLDEN:
            return completion.text
        return verdicts.inserted(completion.text, problem, self.policy)

    def _measured(self, completion: Completion, problem: Problem, text: str | None) -> Iterator[Score]:
        if completion.error and self.profile == "default":
            return  # an error is no completion
        for measured in self.suite.measure(problem, text, self.profile):
            yield self._row(
                completion, measured.scorer, values=measured.values, details=dict(measured.details)
            )

    def _without_run(
        self, completion: Completion, problem: Problem, left_out: dict[str, str]
    ) -> Score | None:
        if completion.error and self.profile == "default":
            return self._row(completion, EXECUTION, counted=False, outcome="provider_error")
        if problem.id in left_out:
            return self._row(
                completion,
                EXECUTION,
                counted=False,
                outcome="left_out",
                details={"cause": left_out[problem.id]},
            )
        return None

    # --- running ------------------------------------------------------------------------------------------------

    def _execute(
        self, texts: Iterable[tuple[Completion, str | None]]
    ) -> Iterator[tuple[Completion, str | None, ExecutionResult]]:
        executor = self.executor
        if executor is None:
            for _ in texts:
                raise RuntimeError("nothing is to be executed in this run")
            return
        under_way: dict[str, tuple[Completion, str | None]] = {}
        finished: list[tuple[Completion, str | None, ExecutionResult]] = []

        def requests() -> Iterator[AnyRequest]:
            for completion, text in texts:
                problem = self._problems[completion.problem_id]
                request = verdicts.program_of(self.suite, problem, text, self.profile, self.variants)
                if request is None:
                    finished.append((completion, text, verdicts.without_program(problem)))
                    continue
                identity = sha256_text(*(str(part) for part in completion.key))
                under_way[identity] = (completion, text)
                yield request.model_copy(update={"id": identity})

        for result in executor.submit(requests()):
            yield (*under_way.pop(result.id), result)
        yield from finished

    # --- rows ---------------------------------------------------------------------------------------------------

    def _key(self, completion: Completion, scorer: str) -> ScoreKey:
        return (*completion.key, scorer, self.policy.key, self.profile)

    def _row(self, completion: Completion, scorer: str, **fields: object) -> Score:
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
        self, completion: Completion, judged: verdicts.Judged, found: tuple[str, ...] = ()
    ) -> Score:
        result, counted = judged
        return self._row(
            completion,
            EXECUTION,
            counted=counted,
            outcome=result.status.value,
            values={"passed": float(result.status is Status.PASSED)} if counted else {},
            details=verdicts.execution_details(result, found),
        )


def check_resumable(folder: RunFolder, manifest: Manifest) -> Manifest:
    """The manifest to go on with: the stored one, where the run was begun, with the new models added.

    Raises:
        ValueError: the folder holds a run of something else; the message says what differs.
    """
    if not folder.manifest_path.exists():
        return manifest
    stored = folder.manifest()
    theirs, ours = stored.identity(), manifest.identity()
    differing = [
        f"{name} ({theirs[name]} there, {ours[name]} now)" for name in ours if ours[name] != theirs[name]
    ]
    if differing:
        raise ValueError(
            f"{folder.path} holds another run: {', '.join(differing)}; choose another folder with -o, or remove it"
        )
    known = {(model.model, model.parameters) for model in stored.models}
    added = [model for model in manifest.models if (model.model, model.parameters) not in known]
    policies = dict.fromkeys((*stored.further_policies, *manifest.further_policies))
    return manifest.model_copy(update={"models": stored.models + added, "further_policies": [*policies]})
