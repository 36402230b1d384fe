"""Resumable stage that sends requests to a model and stores answers and errors as rows, within a budget.

Completions, judgements and what helps to build a suite are asked for by this stage alone. A row is appended as soon
as its answer is there, and a failure to a file of errors, so the stage may be killed at any moment: the same command
asks for the missing rows only. After a run the file of errors holds exactly what is missing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from caretbench.errors import MachineError
from caretbench.files import RowAppender, read_appended, replace_surrogates, write_rows
from caretbench.models import FailureKind, ModelAnswer, ModelClient, ModelFailure, ModelRequest, Prompt, Sampling
from caretbench.problem import Row
from caretbench.redaction import redact
from caretbench.runs.plans.prices import CostBudget, Price

# Each failure has had its retries, with waiting times between them: a wrong address would otherwise cost them for every
# problem.
MAX_FAILED_REQUESTS = 20
"""Number of failed requests in a row, before the first answer, after which no more are sent: a wrong key or address."""

Item = TypeVar("Item")
Errors = TypeVar("Errors", bound=Row)


@dataclass(frozen=True)
class PendingRequest(Generic[Item]):
    """Samples that one request asks for. ``prompt`` is None if there is no valid prompt; ``fault`` is the reason.

    ``id`` is unique among the requests in flight; ``item`` is what the rows are made of, ``at`` the number of typed
    characters. ``earlier_cost`` is the cost of the tries before this one in US dollars, None where it is not known.
    """

    id: str
    item: Item
    samples: tuple[int, ...]
    prompt: Prompt | None
    fault: str = ""
    at: int = 0
    attempt: int = 1
    earlier_cost: float | None = 0.0


@dataclass
class StageCounts:
    """Counts of one stage for one model. Tokens and US dollars cover this run only.

    ``received`` counts all answers, those asked for again included; ``unpriced`` those without a known cost;
    ``unreadable`` the stored ones that could not be read.
    """

    requested: int = 0
    stored: int = 0
    answered: int = 0
    received: int = 0
    unreadable: int = 0
    input_tokens: float = 0
    output_tokens: float = 0
    cost: float = 0.0
    unpriced: int = 0
    missing: Counter[str] = field(default_factory=Counter)
    messages: Counter[str] = field(default_factory=Counter)
    """Number of failed requests by message; 0 for reasons not to send one."""
    stop_reason: str = ""
    """Reason to stop sending requests (a wrong key, no server at the address); empty: none."""

    @property
    def usual_message(self) -> str:
        """The most frequent message of failed requests, of equally frequent ones the first; empty without one."""
        return next((message for message, _ in self.messages.most_common(1)), "")

    @property
    def share(self) -> float:
        """Share of the requested samples that are stored or answered, from 0 to 1."""
        return (self.stored + self.answered) / self.requested if self.requested else 1.0


ReportProgress = Callable[[int, StageCounts], None]
"""Called with the number of samples just answered or given up, and the counts so far."""


class StageRequests(ABC, Generic[Item]):
    """Base class for requests of one kind to one model, and the rows of their answers."""

    client: ModelClient
    price: Price | None

    @abstractmethod
    def sampling(self, pending: PendingRequest[Item]) -> Sampling:
        """Return the sampling settings of a request."""

    @abstractmethod
    def worst_cost(self, pending: PendingRequest[Item]) -> float:
        """Return the maximum cost of a request in US dollars."""

    @abstractmethod
    def row(self, pending: PendingRequest[Item], answer: ModelAnswer, cost: float | None) -> Row | None:
        """Return the row of an answer; None if it is unreadable and must be requested again."""

    @abstractmethod
    def missing(
        self, pending: PendingRequest[Item], sample: int, kind: FailureKind, message: str, attempts: int
    ) -> Row:
        """Return the error row of a missing sample."""

    def unreadable(self, row: Any) -> bool:  # noqa: ARG002  the default of a hook
        """Return whether a stored row contains an unreadable answer."""
        return False


class ErrorFile(Generic[Errors]):
    """File of error rows during a stage: new failures are appended at once, repeated ones replaced at the end.

    Every key is in the file at most once at any moment. A file that would be empty is removed.
    """

    def __init__(self, path: Path, kind: type[Errors]) -> None:
        self._path = path
        self._kind = kind
        self._failed: dict[Hashable, Errors] = {}

    def rows(self) -> Iterator[Errors]:
        """Return an iterator over the rows of the file."""
        return read_appended(self._path, self._kind)

    def __enter__(self) -> ErrorFile[Errors]:
        self._appender = RowAppender(self._path)
        self.stored_keys = {_key(row) for row in self.rows()}
        return self

    def __exit__(self, *_details: object) -> None:
        self._appender.close()

    def add(self, row: Errors) -> None:
        """Store the error row of a missing sample."""
        self._failed[_key(row)] = row
        # Twice the same key at any moment would count one missing sample as two, if the stage is killed before the end.
        if _key(row) not in self.stored_keys:
            self._appender.append(row)
            self.stored_keys.add(_key(row))

    def rewrite(self, resolved: set[Hashable]) -> None:
        """Rewrite the file to exactly the missing samples, each with its latest error."""
        old = list(self.rows())
        rows = {_key(row): row for row in old if _key(row) not in resolved} | self._failed
        # No file says "nothing is missing" to people and to `ls`.
        if not rows:
            self._path.unlink(missing_ok=True)
        elif list(rows.values()) != old:
            write_rows(self._path, rows.values())


def _key(row: Any) -> Hashable:
    key: Hashable = row.key
    return key


class _Reservation(Row):
    """US dollars reserved for a request; negative: the part of them whose end is known."""

    request: str
    cost: float


class _Reservations:
    """File of money that no stored row tells of: written before a request is sent, so that a kill does not lose it."""

    def __init__(self, rows_path: Path) -> None:
        self.path = rows_path.with_suffix(".reserved.jsonl")
        self._appender: RowAppender | None = None

    def open_amounts(self) -> dict[str, float]:
        """Return the amounts whose end is not known, by request."""
        amounts: Counter[str] = Counter()
        for row in read_appended(self.path, _Reservation):
            amounts[row.request] += row.cost  # type: ignore[assignment]
        # Sums of the same amounts in another order differ in their last digit.
        return {request: cost for request, cost in amounts.items() if cost > 1e-9}

    def change(self, request: str, cost: float) -> None:
        """Add to the amount of a request."""
        if cost:
            self._appender = self._appender or RowAppender(self.path)
            # A request for an unreadable answer is called `ID+SAMPLE`; its money belongs to the first one.
            self._appender.append(_Reservation(request=request.partition("+")[0], cost=cost))

    def close(self) -> None:
        """Shorten the file to what is not known; remove it if that is nothing."""
        if self._appender is None:
            return
        self._appender.close()
        self._appender = None
        if rows := [_Reservation(request=request, cost=cost) for request, cost in self.open_amounts().items()]:
            write_rows(self.path, rows)
        else:
            self.path.unlink()


def reserved_cost(rows_path: Path) -> float:
    """Return US dollars of requests whose end is not known, by a kill or a timeout; their rows would be in a file."""
    return sum(_Reservations(rows_path).open_amounts().values())


@dataclass(eq=False)  # one stage is no other, whatever its problems
class RequestStage(Generic[Item]):
    """Stage for one model and one kind of request: sends requests and stores rows.

    Requests and answers may be handled in different threads.
    """

    work: StageRequests[Item]
    budget: CostBudget
    rows: RowAppender
    errors: ErrorFile[Any]
    report: ReportProgress

    def __post_init__(self) -> None:
        """Begin without requests in flight."""
        self._reservations = _Reservations(self.rows.path)
        self._unstored: dict[str, float] = {}  # cost of unreadable answers, by the request that asks again
        self._again: deque[PendingRequest[Item]] = deque()  # unreadable answers, and what there was no money for
        self._unpromptable: deque[PendingRequest[Item]] = deque()
        self._in_flight: dict[str, tuple[PendingRequest[Item], set[int], float]] = {}  # worst cost of one sample
        self._sent = 0
        self._failed_requests = 0
        self.resolved: set[Hashable] = set()
        self.counts = StageCounts()

    def ask(self, pending: Iterator[PendingRequest[Item]]) -> None:
        """Send all pending requests, until each is answered or given up.

        If the budget is too small for the next request, wait for those in flight: they usually cost less than reserved.
        """
        sent = -1
        try:
            # A request that the budget could not pay waits for those in flight: answers mostly cost less than their
            # worst case.
            while self._sent > sent and not self._over:  # until not even one more request can be paid
                sent = self._sent
                self._submit(pending)
                if not self._again:
                    break
            self._give_up(pending)
        finally:
            self._reservations.close()

    def _submit(self, pending: Iterator[PendingRequest[Item]]) -> None:
        """Submit the requests to the client once."""
        stream = self.work.client.submit(self._requests(pending))
        try:
            for outcome in stream:
                if isinstance(outcome, ModelAnswer):
                    self._answer(outcome)
                else:
                    self._failure(outcome)
                self._note_unpromptable()
        # A wrong key or no server: all further requests would fail in the same way.
        except MachineError as error:
            self.counts.stop_reason = redact(str(error))
        finally:
            # A generator that is not closed keeps its threads and connections until it is collected.
            close = getattr(stream, "close", None)
            if close is not None:
                close()
        self._note_unpromptable()
        # A client that forgets a request would leave its samples neither answered nor missing.
        for request_id, (_, samples, _) in list(self._in_flight.items()):
            self._failure(
                ModelFailure(
                    request_id=request_id,
                    samples=tuple(sorted(samples)),
                    kind="provider",
                    message="the client gave neither an answer nor a failure",
                )
            )

    @property
    def _over(self) -> bool:
        """Return whether to stop sending requests."""
        return bool(self.counts.stop_reason) or (
            self.counts.received == 0 and self._failed_requests >= MAX_FAILED_REQUESTS
        )

    def _requests(self, pending: Iterator[PendingRequest[Item]]) -> Iterator[ModelRequest]:
        """Yield requests as long as the budget allows."""
        while not self._over:
            entry = self._again.popleft() if self._again else next(pending, None)
            if entry is None:
                return
            if entry.prompt is None:
                self._unpromptable.append(entry)
                continue
            worst = self.work.worst_cost(entry)
            # Reserved before it is sent, since requests in flight may all cost their worst case.
            if not self.budget.reserve(worst):
                # At the front: after the next answers it is asked first, and nothing overtakes it.
                self._again.appendleft(entry)
                return
            self._reservations.change(entry.id, worst)
            self._sent += 1
            self._in_flight[entry.id] = (entry, set(entry.samples), worst / len(entry.samples))
            yield ModelRequest(
                id=entry.id, prompt=entry.prompt, samples=entry.samples, sampling=self.work.sampling(entry)
            )

    def _answer(self, answer: ModelAnswer) -> None:
        entry, worst = self._take(answer.request_id, answer.sample)
        price = self.work.price
        cost = None if price is None else price.cost_per_answer(answer.usage)
        # Without usage the answer may have cost all of it.
        self.budget.commit(worst, worst if cost is None else cost)
        counts = self.counts
        counts.received += 1
        counts.cost += cost or 0.0
        counts.unpriced += cost is None
        if answer.usage is not None:
            counts.input_tokens += (answer.usage.input_tokens or 0) / answer.usage.answers
            counts.output_tokens += (answer.usage.output_tokens or 0) / answer.usage.answers
        whole = None if cost is None or entry.earlier_cost is None else cost + entry.earlier_cost
        row = self.work.row(entry, answer, whole)
        unstored = self._unstored.pop(entry.id, 0.0)
        # Without a known cost all of it stays reserved, as no row has it.
        settled = 0.0 if cost is None else worst
        if row is None:
            # Another id: the first one may still have samples in flight.
            again = PendingRequest(
                f"{entry.id}+{answer.sample}", entry.item, (answer.sample,), entry.prompt,
                attempt=entry.attempt + 1, earlier_cost=whole,
            )  # fmt: skip
            self._again.append(again)
            self._unstored[again.id] = unstored + (cost or 0.0)
            self._reservations.change(entry.id, (cost or 0.0) - settled)
            return
        self.rows.append(row)
        # After the row: a kill in between counts a cost twice, and never forgets it.
        self._reservations.change(entry.id, -settled - unstored)
        if _key(row) in self.errors.stored_keys:
            self.resolved.add(_key(row))
        counts.answered += 1
        counts.unreadable += self.work.unreadable(row)
        self.report(1, counts)

    def _failure(self, failure: ModelFailure) -> None:
        entry = self._in_flight[failure.request_id][0]
        for sample in failure.samples:
            _, worst = self._take(failure.request_id, sample)
            # What ran into a timeout may have been written, and charged, all the same.
            spent = worst if failure.kind == "timeout" else 0.0
            self.budget.commit(worst, spent)
            self._reservations.change(entry.id, spent - worst)
        self._failed_requests += 1
        self._miss(entry, failure.samples, failure.kind, failure.message, failure.attempts)

    def _take(self, request_id: str, sample: int) -> tuple[PendingRequest[Item], float]:
        """Remove a sample from those in flight; return its request and reserved amount."""
        entry, samples, worst = self._in_flight.get(request_id, (None, set[int](), 0.0))
        # A client's fault: counting it would charge and store an answer that nobody asked for.
        if entry is None or sample not in samples:
            raise RuntimeError(f"{self.work.client.name} gave sample {sample} of {request_id!r} unasked, or twice")
        samples.remove(sample)
        if not samples:
            del self._in_flight[request_id]
        return entry, worst

    def _note_unpromptable(self) -> None:
        while self._unpromptable:
            entry = self._unpromptable.popleft()
            self._miss(entry, entry.samples, "unpromptable", entry.fault)

    def _give_up(self, pending: Iterator[PendingRequest[Item]]) -> None:
        """Store error rows for the samples that are not requested any more, with the reason."""
        kind: FailureKind = "provider"
        if self.counts.stop_reason:
            message = f"not asked: {self.counts.stop_reason}"
        elif self._over:
            message = f"not asked: the first {self._failed_requests} requests all failed"
        else:
            kind = "budget"
            message = "not asked: what is left of --max-cost does not cover its worst case"
            if reserved := sum(self._reservations.open_amounts().values()):
                message += (
                    f" (${reserved:.4f} count as spent for requests without a known end: {self._reservations.path})"
                )
        for entry in (*self._again, *pending):
            if entry.prompt is None:
                self._miss(entry, entry.samples, "unpromptable", entry.fault)
            else:
                self._miss(entry, entry.samples, kind, message)
        self._again.clear()

    def _miss(
        self, entry: PendingRequest[Item], samples: tuple[int, ...], kind: FailureKind, message: str, attempts: int = 0
    ) -> None:
        # Providers repeat the key in messages about it, and files of errors are passed on.
        message = redact(replace_surrogates(message))
        self.counts.messages[message] += bool(attempts)
        self.counts.missing[kind] += len(samples)
        for sample in samples:
            self.errors.add(self.work.missing(entry, sample, kind, message, attempts))
        self.report(len(samples), self.counts)
