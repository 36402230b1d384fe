"""The generating stage: from problems to completions; only what is missing is asked.

Each answer is appended as soon as it is there, and each failure to ``errors.jsonl``, so the stage may be killed at any
moment and the same command goes on: what is stored is never asked again. After a run ``errors.jsonl`` holds exactly
the samples that are not there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from caretbench.errors import MachineError
from caretbench.files import Appender, write_rows
from caretbench.models import FailureKind, ModelAnswer, ModelFailure, ModelRequest
from caretbench.problem import Completion, CompletionKey, Missing, Problem
from caretbench.runs.asking import Asking, Wanted
from caretbench.runs.folder import RunFolder
from caretbench.runs.prices import Purse
from caretbench.secrets import redact

HOPELESS = 20
"""So many requests in a row that fail before the first answer: a wrong key or address, not a bad moment."""


@dataclass
class Tally:
    """What a model's turn came to. Tokens and US dollars are of this turn; ``unpriced`` answers have no known cost."""

    wanted: int = 0
    stored: int = 0
    answered: int = 0
    input_tokens: float = 0
    output_tokens: float = 0
    cost: float = 0.0
    unpriced: int = 0
    missing: Counter[str] = field(default_factory=Counter)
    first_message: str = ""
    ended: str = ""
    """Why the model could not be asked any more (a wrong key, nobody at the address), where that was so."""

    @property
    def share(self) -> float:
        """The share of the wanted samples that are there, from 0 to 1."""
        return (self.stored + self.answered) / self.wanted if self.wanted else 1.0


Report = Callable[[int, Tally], None]
"""Called with the number of samples that were just settled, answered or not."""


class Generating:
    """The generating stage of one run."""

    def __init__(
        self, problems: Sequence[Problem], folder: RunFolder, report: Report = lambda _added, _tally: None
    ) -> None:
        self.problems = problems
        self.folder = folder
        self.report = report

    def stored(self, asking: Asking) -> dict[str, set[int]]:
        """The samples that are there, by problem."""
        return self._look(asking)[0]

    def _look(self, asking: Asking) -> tuple[dict[str, set[int]], set[CompletionKey]]:
        """The model's stored samples by problem, and the keys in ``errors.jsonl`` whose sample came meanwhile."""
        noted = {row.key for row in self.folder.missing()}
        stale = set()
        stored: dict[str, set[int]] = defaultdict(set)
        for row in self.folder.completions():
            if row.key in noted:
                stale.add(row.key)
            if row.model == asking.name and row.parameters == asking.parameters:
                stored[row.problem_id].add(row.sample)
        return stored, stale

    def run(self, asking: Asking, purse: Purse | None = None) -> Tally:
        """Ask for what is missing; gives what came of it.

        ``purse`` bounds what may be spent: what does not fit any more is not sent, and is missing for want of budget.
        """
        with Appender(self.folder.completions_path) as answers, _Errors(self.folder) as errors:
            stored, stale = self._look(asking)
            turn = _Turn(asking, purse or Purse(), answers, errors, self.report)
            turn.tally.wanted = len(self.problems) * asking.samples
            turn.tally.stored = sum(
                sample < asking.samples for problem in self.problems for sample in stored.get(problem.id, ())
            )
            self.report(turn.tally.stored, turn.tally)
            turn.ask(asking.wanted(self.problems, stored))
        errors.rewrite(stale | turn.came)
        return turn.tally


def spent(folder: RunFolder) -> float:
    """What the stored answers and judgements of a run cost, in US dollars, where it is known."""
    answers = sum(row.cost or 0.0 for row in folder.completions())
    return answers + sum(row.cost or 0.0 for row in folder.judgements())


class _Errors:
    """``errors.jsonl`` while a stage runs: a new failure is appended at once, a repeated one replaced at the end.

    So every key stands in the file at most once at any moment.
    """

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._failed: dict[CompletionKey, Missing] = {}

    def __enter__(self) -> _Errors:
        self._appender = Appender(self._folder.errors_path)
        self.noted = {row.key for row in self._folder.missing()}
        return self

    def __exit__(self, *_details: object) -> None:
        self._appender.close()

    def add(self, row: Missing) -> None:
        """Note that a sample did not come."""
        self._failed[row.key] = row
        if row.key not in self.noted:
            self._appender.append(row)
            self.noted.add(row.key)

    def rewrite(self, came: set[CompletionKey]) -> None:
        """Leave exactly what is missing: without the samples that came, and with the newest word on the others."""
        old = list(self._folder.missing())
        rows = {row.key: row for row in old if row.key not in came} | self._failed
        if list(rows.values()) != old:
            write_rows(self._folder.errors_path, rows.values())


class _Turn:
    """One model's turn: requests out, rows in. Requests may be taken in another thread than answers are given."""

    def __init__(
        self, asking: Asking, purse: Purse, answers: Appender, errors: _Errors, report: Report
    ) -> None:
        self._asking = asking
        self._purse = purse
        self._answers = answers
        self._errors = errors
        self._report = report
        self._unpromptable: list[Wanted] = []
        self._under_way: dict[str, tuple[Wanted, set[int], float]] = {}  # and the worst cost of one sample
        self._held: Wanted | None = None  # taken, but there was no money for it
        self._failed_requests = 0
        self.came: set[CompletionKey] = set()
        self.tally = Tally()

    def ask(self, wanted: Iterator[Wanted]) -> None:
        """Ask until all is settled.

        Where money is short, what is under way is waited for: it mostly costs less than was set aside.
        """
        while True:
            settled = self._settled
            stream = self._asking.client.submit(self._requests(wanted))
            try:
                for outcome in stream:
                    if isinstance(outcome, ModelAnswer):
                        self._answer(outcome)
                    else:
                        self._failure(outcome)
                    self._note_unpromptable()
            except MachineError as error:
                self.tally.ended = redact(str(error))
            finally:
                close = getattr(stream, "close", None)
                if close is not None:
                    close()
            self._note_unpromptable()
            for request_id, (_, samples, _) in list(self._under_way.items()):
                self._failure(
                    ModelFailure(
                        request_id=request_id,
                        samples=tuple(sorted(samples)),
                        kind="provider",
                        message="the client gave neither an answer nor a failure",
                    )
                )
            if self._held is None or self._over or self._settled == settled:
                break
        self._give_up(wanted)

    @property
    def _settled(self) -> int:
        return self.tally.answered + self.tally.missing.total()

    @property
    def _over(self) -> bool:
        """Whether there is no use in asking on."""
        return bool(self.tally.ended) or (self.tally.answered == 0 and self._failed_requests >= HOPELESS)

    def _requests(self, wanted: Iterator[Wanted]) -> Iterator[ModelRequest]:
        """Requests as long as there is money for them."""
        while not self._over:
            entry = self._held or next(wanted, None)
            self._held = None
            if entry is None:
                return
            if entry.prompt is None:
                self._unpromptable.append(entry)
                continue
            worst = self._asking.worst_cost(entry.prompt, len(entry.samples))
            if not self._purse.set_aside(worst):
                self._held = entry
                return
            identity = entry.problem.id
            self._under_way[identity] = (entry, set(entry.samples), worst / len(entry.samples))
            yield ModelRequest(
                id=identity, prompt=entry.prompt, samples=entry.samples, sampling=self._asking.sampling
            )

    def _answer(self, answer: ModelAnswer) -> None:
        worst = self._take(answer.request_id, answer.sample)
        price = self._asking.price
        cost = None if price is None else price.share(answer.usage)
        row = Completion(
            problem_id=answer.request_id,
            model=self._asking.name,
            parameters=self._asking.parameters,
            sample=answer.sample,
            text=_storable(answer.text),
            finish_reason=_storable(answer.finish_reason),
            prompt=self._asking.strategy.key,
            usage=answer.usage,
            cost=cost,
            latency=answer.latency,
            log_probabilities=answer.log_probabilities,
        )
        self._answers.append(row)
        self._purse.settle(worst, worst if cost is None else cost)
        if row.key in self._errors.noted:
            self.came.add(row.key)
        tally = self.tally
        tally.answered += 1
        tally.cost += cost or 0.0
        tally.unpriced += cost is None
        if answer.usage is not None:
            tally.input_tokens += (answer.usage.input_tokens or 0) / answer.usage.answers
            tally.output_tokens += (answer.usage.output_tokens or 0) / answer.usage.answers
        self._report(1, tally)

    def _failure(self, failure: ModelFailure) -> None:
        entry = self._under_way[failure.request_id][0]
        for sample in failure.samples:
            worst = self._take(failure.request_id, sample)
            # What ran into a timeout may have been written, and charged, all the same.
            self._purse.settle(worst, worst if failure.kind == "timeout" else 0.0)
        self._failed_requests += 1
        self._miss(entry.problem.id, failure.samples, failure.kind, failure.message, failure.attempts)

    def _take(self, request_id: str, sample: int) -> float:
        """Strike a sample off what is under way; gives what was set aside for it."""
        _, samples, worst = self._under_way.get(request_id, (None, set[int](), 0.0))
        if sample not in samples:
            raise RuntimeError(
                f"{self._asking.client.name} gave sample {sample} of {request_id!r} unasked, or twice"
            )
        samples.remove(sample)
        if not samples:
            del self._under_way[request_id]
        return worst

    def _note_unpromptable(self) -> None:
        while self._unpromptable:
            entry = self._unpromptable.pop(0)
            self._miss(entry.problem.id, entry.samples, "unpromptable", entry.fault)

    def _give_up(self, wanted: Iterator[Wanted]) -> None:
        """What is not asked any more, and why."""
        kind: FailureKind = "provider"
        if self.tally.ended:
            message = f"not asked: {self.tally.ended}"
        elif self._over:
            message = f"not asked: the first {self._failed_requests} requests all failed"
        elif self._held is not None:
            kind = "budget"
            message = "not asked: what is left of --max-cost does not cover its worst case"
        else:
            return
        if self._held is not None:
            self._miss(self._held.problem.id, self._held.samples, kind, message)
        for entry in wanted:
            if entry.prompt is None:
                self._miss(entry.problem.id, entry.samples, "unpromptable", entry.fault)
            else:
                self._miss(entry.problem.id, entry.samples, kind, message)

    def _miss(
        self, problem_id: str, samples: Sequence[int], kind: FailureKind, message: str, attempts: int = 0
    ) -> None:
        message = redact(_storable(message) or "")
        self.tally.first_message = self.tally.first_message or message
        self.tally.missing[kind] += len(samples)
        for sample in samples:
            self._errors.add(
                Missing(
                    problem_id=problem_id,
                    model=self._asking.name,
                    parameters=self._asking.parameters,
                    sample=sample,
                    kind=kind,
                    message=message,
                    attempts=attempts,
                )
            )
        self._report(len(samples), self.tally)


def _storable(text: str | None) -> str | None:
    """The text with U+FFFD in the place of halves of characters, which no file in UTF-8 can hold."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
