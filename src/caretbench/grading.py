"""The judging stage: texts at the caret in, judgements out; only what is missing is asked.

A text is judged once for each problem, grader and repeat, whoever wrote it and however often. Judgements are appended
one by one, so the stage may be killed at any moment and the same command goes on. What did not come stands in
``judge_errors.jsonl``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from caretbench.asking import prompt_text
from caretbench.errors import DataError, MachineError
from caretbench.extraction.policies import Policy
from caretbench.files import Appender, sha256_json, write_rows
from caretbench.judging.controls import DEFAULT_CONTROL_PROBLEMS
from caretbench.judging.criteria import Criterion
from caretbench.judging.missing import JudgementKey, MissingJudgement, missing_judgements
from caretbench.judging.missing import errors_path as errors_path
from caretbench.judging.parsing import parse
from caretbench.judging.prompting import render, settings_of
from caretbench.judging.subjects import Subject, subjects
from caretbench.models import ChatPrompt, ModelAnswer, ModelClient, ModelFailure, ModelRequest, Sampling
from caretbench.prices import Price, Purse
from caretbench.problem import Judgement, Problem, Profile
from caretbench.runs import ModelInfo, RunFolder
from caretbench.secrets import redact

_CHAT_FRAME = 32

Report = Callable[[str, int, int | None], None]
"""Called with the name of the step, how many judgements were added, and the total where it is known."""


@dataclass
class GradingResult:
    """What one call of :func:`grade` did; ``cost`` is in US dollars, of the answers whose price is known."""

    subjects: int = 0
    """Distinct texts, over all problems; each is judged by every grader."""
    completions: int = 0
    """The completions that inserted them."""
    asked: int = 0
    """Answers that graders gave, those included that could not be read."""
    judged: int = 0
    unreadable: int = 0
    """Judgements whose answers could not be read after all tries."""
    failed: int = 0
    not_asked: int = 0
    """Judgements for which there was no money left."""
    cost: float = 0.0
    ended: str = ""
    """Why a grader could not be asked any more (a wrong key, nobody at the address), where that was so."""

    @property
    def complete(self) -> bool:
        """Whether every judgement that was wanted is there."""
        return not (self.unreadable or self.failed or self.not_asked or self.ended)

    def complaint(self, folder: RunFolder) -> str:
        """What is not there, and why, in one line."""
        numbers = (
            (self.unreadable, "could not be read"),
            (self.failed, "did not come"),
            (self.not_asked, "were not asked for want of money"),
        )
        said = ", ".join(f"{count} judgements {what}" for count, what in numbers if count)
        where = f"; see {errors_path(folder)}" if self.failed or self.not_asked else ""
        return "; ".join(filter(None, (said, self.ended))) + f"; the same command asks for them again{where}"


def grade(
    folder: RunFolder,
    problems: Sequence[Problem],
    policy: Policy,
    graders: Sequence[tuple[str, ModelClient]],
    *,
    criterion: Criterion,
    profile: Profile = "default",
    control_problems: int = DEFAULT_CONTROL_PROBLEMS,
    repeats: int = 1,
    baselines: bool = False,
    sampling: Sampling | None = None,
    prices: Mapping[str, Price | None] | None = None,
    purse: Purse | None = None,
    report: Report = lambda _step, _added, _total: None,
) -> GradingResult:
    """Judge every distinct text of a run by every grader, as far as that is not done yet.

    The graders are written to the manifest, which must exist; who holds a copy of it reads it again afterwards. The
    caller holds the folder's lock.

    Args:
        folder: The run.
        problems: The problems to judge; the run's or some of them.
        policy: The run's.
        graders: Names and clients; a name stands in every judgement.
        criterion: What is asked.
        profile: The run's.
        control_problems: Of so many problems the controls are judged too; 0 for none.
        repeats: How often every text is judged by every grader.
        baselines: Judge the completions of the baselines too.
        sampling: Instead of the criterion's.
        prices: By the grader's name.
        purse: Not more than it holds is spent; a grader without a price is refused then.
        report: Told of the progress.

    Raises:
        ValueError: a grader cannot take a conversation, is named twice, or has no price where money is limited.
        DataError: there is nothing to judge, or another process writes the judgements.
    """
    names = [name for name, _ in graders]
    if len(set(names)) < len(names):
        raise ValueError("a grader is named twice; use --repeats to have it judge more than once")
    for name, client in graders:
        if "chat" not in client.accepts:
            raise ValueError(f"{name} takes no conversations, so it cannot judge")
        if purse is not None and purse.limit is not None and (prices or {}).get(name) is None:
            raise ValueError(f"no price is known for {name}: a limit cannot be kept; give one with --prices")
    texts, count = subjects(
        folder, problems, policy, profile, control_problems=control_problems, baselines=baselines
    )
    if not count:
        raise DataError(
            f"{folder.path}: holds no completion to judge (baselines are judged where that is asked for)"
        )
    result = GradingResult(subjects=len(texts), completions=count)
    chosen = sampling or criterion.sampling
    for name, client in graders:
        settings = settings_of(criterion, client, chosen)
        parameters = sha256_json(settings)[:16]
        _record(folder, ModelInfo(model=name, source="model", parameters=parameters, settings=settings))
        grader = _Grader(
            folder, criterion, name, client, parameters, chosen, (prices or {}).get(name),
            purse or Purse(), result, report,
        )  # fmt: skip
        grader.run(texts, repeats)
    return result


def _record(folder: RunFolder, info: ModelInfo) -> None:
    manifest = folder.manifest()
    if (info.model, info.parameters) not in {(known.model, known.parameters) for known in manifest.graders}:
        manifest.graders.append(info)
        folder.write_manifest(manifest)


@dataclass
class _Wanted:
    """One judgement, or several repeats of it, on the way."""

    subject: Subject
    repeats: tuple[int, ...]
    attempt: int = 1
    cost: float | None = 0.0
    """What the tries before cost."""


@dataclass
class _Grader:
    """One grader at work."""

    folder: RunFolder
    criterion: Criterion
    name: str
    client: ModelClient
    parameters: str
    sampling: Sampling
    price: Price | None
    purse: Purse
    result: GradingResult
    report: Report
    _waiting: deque[_Wanted] = field(default_factory=deque)
    _under_way: dict[str, tuple[_Wanted, dict[int, None], float]] = field(default_factory=dict)
    """By the request's id: what was wanted, the repeats that are still open, and what is set aside."""
    _taken: int = 0

    def run(self, texts: Sequence[Subject], repeats: int) -> None:
        """Ask for everything that is missing, and again for what cannot be read."""
        paid = self._forget_faults({(text.problem.id, text.answer) for text in texts})
        step = f"judged by {self.name}"
        with Appender(self.folder.judgements_path) as appender, Appender(errors_path(self.folder)) as errors:
            done = {row.key for row in self.folder.judgements()}
            for subject in texts:
                wanted = {number: self._key(subject, number) for number in range(repeats)}
                wanted = {number: key for number, key in wanted.items() if key not in done}
                fresh = tuple(number for number, key in wanted.items() if key not in paid)
                if fresh:
                    self._waiting.append(_Wanted(subject, fresh))
                self._waiting.extend(
                    _Wanted(subject, (number,), cost=paid[key])
                    for number, key in wanted.items()
                    if key in paid
                )
            self.report(step, 0, sum(len(wanted.repeats) for wanted in self._waiting))
            taken, ended = -1, ""
            while self._waiting and self._taken > taken:  # until there is no money for even one more
                taken = self._taken
                try:
                    for outcome in self.client.submit(self._requests()):
                        for row in self._settled(outcome):
                            (errors if isinstance(row, MissingJudgement) else appender).append(row)
                            self.report(step, 1, None)
                except MachineError as error:
                    ended = redact(str(error))
                errors.append(*self._forgotten())
                if ended:
                    self.result.ended = ended
                    break
            errors.append(*self._not_asked(ended))
        self._tidy_errors()

    # --- asking -------------------------------------------------------------------------------------------------

    def _requests(self) -> Iterator[ModelRequest]:
        """What waits, as long as the worst case can be paid. Taken in the client's thread."""
        while self._waiting:
            wanted = self._waiting[0]
            prompt = render(self.criterion, wanted.subject.problem, wanted.subject.text)
            worst = self._worst(prompt, len(wanted.repeats))
            if not self.purse.set_aside(worst):
                return
            self._waiting.popleft()
            self._taken += 1
            identity = f"{wanted.subject.problem.id}#{wanted.subject.answer[:12]}#{self._taken}"
            self._under_way[identity] = (wanted, dict.fromkeys(wanted.repeats), worst)
            yield ModelRequest(
                id=identity, prompt=prompt, samples=wanted.repeats, sampling=self._drawn(wanted.attempt)
            )

    def _drawn(self, attempt: int) -> Sampling:
        """With a seed, another try would get the same answer again."""
        if self.sampling.seed is None or attempt == 1:
            return self.sampling
        return self.sampling.model_copy(update={"seed": self.sampling.seed + 1000 * (attempt - 1)})

    def _worst(self, prompt: ChatPrompt, answers: int) -> float:
        if self.price is None or self.price.free:
            return 0.0
        text = prompt_text(prompt)
        counted = self.client.count_tokens(text)
        # No token stands for less than a byte; and a chat template puts marks around the messages.
        tokens = (len(text.encode("utf-8", "replace")) if counted is None else counted) + _CHAT_FRAME
        dear = self.price.model_copy(update={"cached_input_per_million": None})
        return answers * dear.of_tokens(tokens, self.sampling.max_tokens)

    # --- what comes back ----------------------------------------------------------------------------------------

    def _settled(self, outcome: ModelAnswer | ModelFailure) -> Iterator[Judgement | MissingJudgement]:
        """The rows that an outcome makes; none where the text is asked for again."""
        wanted, open_repeats, worst = self._under_way[outcome.request_id]
        numbers = outcome.samples if isinstance(outcome, ModelFailure) else (outcome.sample,)
        numbers = tuple(number for number in numbers if number in open_repeats)
        for number in numbers:
            del open_repeats[number]
        cost = None
        if self.price is not None and isinstance(outcome, ModelAnswer) and numbers:
            cost = self.price.share(outcome.usage)
        kept = worst * len(numbers) / len(wanted.repeats)
        # What came without token counts, or ran into a timeout, may have cost all that was set aside.
        charged = isinstance(outcome, ModelAnswer) or outcome.kind == "timeout"
        self.purse.settle(kept, cost if cost is not None else kept if charged else 0.0)
        self.result.cost += cost or 0.0
        if not open_repeats:
            del self._under_way[outcome.request_id]
        if isinstance(outcome, ModelFailure):
            self.result.failed += len(numbers)
            for number in numbers:
                yield self._missing(wanted, number, outcome.kind, redact(outcome.message), outcome.attempts)
        elif numbers:
            row = self._judged(wanted, outcome, cost)
            if row is not None:
                yield row

    def _judged(self, wanted: _Wanted, answer: ModelAnswer, cost: float | None) -> Judgement | None:
        """The judgement; None where the answer cannot be read and a try is left."""
        self.result.asked += 1
        parsed = parse(self.criterion, answer.text)
        whole = None if cost is None or wanted.cost is None else cost + wanted.cost
        if parsed.fault is not None and wanted.attempt < self.criterion.tries:
            self._waiting.append(_Wanted(wanted.subject, (answer.sample,), wanted.attempt + 1, whole))
            return None
        self.result.judged += parsed.fault is None
        self.result.unreadable += parsed.fault is not None
        return Judgement(
            problem_id=wanted.subject.problem.id,
            answer=wanted.subject.answer,
            grader=self.name,
            parameters=self.parameters,
            criterion=self.criterion.key,
            repeat=answer.sample,
            values=parsed.values,
            fault=parsed.fault,
            text=answer.text,
            attempts=wanted.attempt,
            usage=answer.usage,
            cost=whole,
            latency=answer.latency,
        )

    # --- rows ---------------------------------------------------------------------------------------------------

    def _key(self, subject: Subject, repeat: int) -> JudgementKey:
        identity = (subject.problem.id, subject.answer)
        return (*identity, self.name, self.parameters, self.criterion.key, repeat)

    def _missing(
        self, wanted: _Wanted, repeat: int, kind: str, message: str, attempts: int
    ) -> MissingJudgement:
        return MissingJudgement(
            problem_id=wanted.subject.problem.id,
            answer=wanted.subject.answer,
            grader=self.name,
            parameters=self.parameters,
            criterion=self.criterion.key,
            repeat=repeat,
            kind=kind,
            message=message,
            attempts=attempts,
        )

    def _forgotten(self) -> list[MissingJudgement]:
        """What a client neither answered nor gave up."""
        rows = [
            self._missing(wanted, number, "provider", "the client gave no answer", 1)
            for wanted, open_repeats, _ in self._under_way.values()
            for number in open_repeats
        ]
        for wanted, open_repeats, worst in self._under_way.values():
            self.purse.settle(worst * len(open_repeats) / len(wanted.repeats), 0.0)
        self._under_way.clear()
        self.result.failed += len(rows)
        return rows

    def _not_asked(self, ended: str) -> list[MissingJudgement]:
        """What is still waiting when the money is spent, or the grader cannot be asked any more."""
        kind, why = ("provider", ended) if ended else ("budget", "the limit of the cost is reached")
        rows = [
            self._missing(wanted, number, kind, f"not asked: {why}", 0)
            for wanted in self._waiting
            for number in wanted.repeats
        ]
        self._waiting.clear()
        if ended:
            self.result.failed += len(rows)
        else:
            self.result.not_asked += len(rows)
        return rows

    def _forget_faults(self, texts: set[tuple[str, str]]) -> dict[JudgementKey, float | None]:
        """Take out the judgements that could not be read, since they are asked for again now; gives what they cost."""
        paid: dict[JudgementKey, float | None] = {}
        ours = (self.name, self.parameters, self.criterion.key)

        def again(row: Judgement) -> bool:
            whose = (row.grader, row.parameters, row.criterion)
            return not row.values and whose == ours and (row.problem_id, row.answer) in texts

        def kept() -> Iterator[Judgement]:
            for row in self.folder.judgements():
                if again(row):
                    paid[row.key] = row.cost
                else:
                    yield row

        with Appender(self.folder.judgements_path):  # holds the file, and repairs its end
            if any(again(row) for row in self.folder.judgements()):
                write_rows(self.folder.judgements_path, kept())
        return paid

    def _tidy_errors(self) -> None:
        """Keep of every judgement that is missing its last line, and none of those that are there now."""
        there = {row.key for row in self.folder.judgements()}
        rows = {row.key: row for row in missing_judgements(self.folder) if row.key not in there}
        if rows:
            write_rows(errors_path(self.folder), rows.values())
        else:
            errors_path(self.folder).unlink(missing_ok=True)
