"""One grader at work: texts in, judgements out; only what is missing is asked, and again what cannot be read."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from caretbench.errors import MachineError
from caretbench.files import Appender, write_rows
from caretbench.judging.criteria import Criterion
from caretbench.judging.parsing import parse
from caretbench.judging.prompting import render
from caretbench.models import ChatPrompt, ModelAnswer, ModelClient, ModelFailure, ModelRequest, Sampling
from caretbench.problem import Judgement
from caretbench.runs.asking import prompt_text
from caretbench.runs.folder import RunFolder
from caretbench.runs.judging.missing import JudgementKey, MissingJudgement, errors_path, missing_judgements
from caretbench.runs.judging.result import GradingResult, Report
from caretbench.runs.judging.subjects import Subject
from caretbench.runs.prices import Price, Purse
from caretbench.secrets import redact

_CHAT_FRAME = 32

Wanted = tuple[Subject, Sequence[int]]
"""A text, and the numbers of the repeats in which it is to be judged."""


@dataclass
class _Wanted:
    """One judgement, or several repeats of it, on the way."""

    subject: Subject
    repeats: tuple[int, ...]
    attempt: int = 1
    cost: float | None = 0.0
    """What the tries before cost."""


@dataclass
class Grader:
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

    def run(self, wanted: Sequence[Wanted]) -> None:
        """Ask for everything that is missing, and again for what cannot be read."""
        paid = self._forget_faults({(subject.problem.id, subject.answer) for subject, _ in wanted})
        step = f"judged by {self.name}, {self.criterion.name}"
        self.result.wanted += sum(len(repeats) for _, repeats in wanted)
        with Appender(self.folder.judgements_path) as appender, Appender(errors_path(self.folder)) as errors:
            done = {row.key for row in self.folder.judgements()}
            for subject, repeats in wanted:
                keys = {number: self._key(subject, number) for number in repeats}
                keys = {number: key for number, key in keys.items() if key not in done}
                # One request asks for all repeats that are shown in the same order.
                for order in range(self.criterion.orders):
                    fresh = tuple(
                        number
                        for number, key in keys.items()
                        if key not in paid and number % self.criterion.orders == order
                    )
                    if fresh:
                        self._waiting.append(_Wanted(subject, fresh))
                self._waiting.extend(
                    _Wanted(subject, (number,), cost=paid[key]) for number, key in keys.items() if key in paid
                )
            self.report(step, 0, sum(len(waiting.repeats) for waiting in self._waiting))
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
            prompt = render(self.criterion, wanted.subject.problem, wanted.subject.text, wanted.repeats[0])
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
