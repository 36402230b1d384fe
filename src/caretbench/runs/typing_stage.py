"""Stage of typing sessions: requests answers behind more and more typed characters of each reference.

Each answer tells where the next one is needed, the same under every rule of acceptance
(:mod:`caretbench.metrics.typing_sessions`), so that a good model is asked at a quarter of the positions. The answer at
the caret itself is that of the generation stage. Rows in ``completions.jsonl`` have the number of characters, ``at``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Final, NamedTuple

from caretbench.extraction.policies import get_policy
from caretbench.files import RowAppender
from caretbench.metrics.typing_sessions import Trigger, TypedText, suggestion
from caretbench.models import FailureKind, ModelAnswer, Sampling
from caretbench.problem import Caret, Completion, MissingSample, Problem
from caretbench.prompts.strategy import UnpromptableError
from caretbench.runs.generate import CompletionRequests, ModelUnderTest, prompt_text, worst_cost
from caretbench.runs.plans.prices import CostBudget, Price
from caretbench.runs.request_stage import ErrorFile, PendingRequest, ReportProgress, RequestStage, StageCounts
from caretbench.runs.run_folder import RunFolder

# A line of code has 10 to 20 tokens, and a chat model puts a fence around it.
TYPED_TOKENS: Final = 48
"""Maximum number of tokens of an answer behind typed text, where ``--max-tokens`` is not lower."""

WRITTEN_FOR_TESTS: Final = (
    "--typing: the references of starter sets were written for this package; numbers to compare models by come from "
    "--project or --data released"
)
"""Warning about starter sets."""

TypedAnswers = Mapping[int, str]
"""Texts to insert by the number of typed characters."""


class TypedPlace(NamedTuple):
    """Problem with the number of typed characters."""

    problem: Problem
    at: int


def typed_text(problem: Problem) -> TypedText:
    """Return the reference of a problem as it is typed."""
    return TypedText(problem.caret.prefix, problem.reference)


def typed_problems(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems with something to type at a caret."""
    return [problem for problem in problems if isinstance(problem.shown, Caret) and problem.reference.strip()]


@dataclass
class TypedModelAnswers:
    """Answers of one model at each position, without fences and prose, by problem; and its latencies in seconds."""

    answers: dict[str, dict[int, str]] = field(default_factory=lambda: defaultdict(dict))
    seconds: list[float] = field(default_factory=list)


def typed_answers(folder: RunFolder, problems: Iterable[Problem]) -> dict[tuple[str, str], TypedModelAnswers]:
    """Return the answers of each model, by name and parameters, that has some behind typed text."""
    # Quotes within texts are escaped. Most runs have no such row, and 80,000 others, which take 4 s to read as rows.
    if not folder.completions_path.exists() or b',"at":' not in folder.completions_path.read_bytes():
        return {}
    models = answers_of_models(folder, typed_problems(problems))
    return {key: model for key, model in models.items() if any(any(one) for one in model.answers.values())}


def answers_of_models(
    folder: RunFolder, problems: Iterable[Problem]
) -> defaultdict[tuple[str, str], TypedModelAnswers]:
    """Return the answers of each model by name and parameters, those at the caret among them."""
    known = {problem.id: problem for problem in problems}
    found: defaultdict[tuple[str, str], TypedModelAnswers] = defaultdict(TypedModelAnswers)
    for row in folder.all_completions():
        if row.sample == 0 and row.problem_id in known:
            model = found[row.model, row.parameters]
            model.answers[row.problem_id][row.at] = _cleaned(known[row.problem_id], row.at, row.text or "")
            model.seconds += [row.latency.last_s] if row.at and row.latency else []
    return found


def _cleaned(problem: Problem, at: int, text: str) -> str:
    """Return the text to insert behind typed characters: without fences and prose, and not cut."""
    caret = problem.caret
    typed = caret.model_copy(update={"prefix": caret.prefix + problem.reference[:at]})
    return get_policy("clean").apply(text, typed).text


class _TypingRequests(CompletionRequests):
    """Requests at typed positions; keeps the texts of the answers."""

    def __init__(self, tested_model: ModelUnderTest, answers: dict[str, dict[int, str]]) -> None:
        super().__init__(tested_model)
        self._places: dict[str, TypedPlace] = {}
        self._answers = answers

    def pending(self, place: TypedPlace, windows: dict[str, Caret]) -> PendingRequest[Problem]:
        """Return the request at a position; ``windows`` are the carets of the prompts, which it completes."""
        problem, at = place
        identity = f"{problem.id}@{at}"
        self._places[identity] = place
        try:
            if problem.id not in windows:
                windows[problem.id] = self.tested_model.typing_window(problem)
            prompt = self.tested_model.typing_prompt(windows[problem.id], problem.reference[:at])
        except UnpromptableError as error:
            return PendingRequest(identity, problem, (0,), None, str(error))
        return PendingRequest(identity, problem, (0,), prompt)

    def sampling(self, pending: PendingRequest[Problem]) -> Sampling:
        """Return the model's sampling, with the room of a line."""
        own = super().sampling(pending)
        return own.model_copy(update={"max_tokens": min(own.max_tokens, TYPED_TOKENS)})

    def worst_cost(self, pending: PendingRequest[Problem]) -> float:
        """Return the maximum cost in US dollars."""
        most = self.sampling(pending).max_tokens
        return worst_cost(self.client, self.price, pending.prompt, 1, most) if pending.prompt else 0.0

    def row(self, pending: PendingRequest[Problem], answer: ModelAnswer, cost: float | None) -> Completion:
        """Return a line of ``completions.jsonl``."""
        problem, at = self._places[pending.id]
        row = super().row(pending, answer, cost).model_copy(update={"at": at})
        self._answers[problem.id][at] = _cleaned(problem, at, row.text or "")
        return row

    def missing(
        self, pending: PendingRequest[Problem], sample: int, kind: FailureKind, message: str, attempts: int
    ) -> MissingSample:
        """Return a line of ``errors.jsonl``."""
        row = super().missing(pending, sample, kind, message, attempts)
        return row.model_copy(update={"at": self._places[pending.id].at})


class TypingStage:
    """Typing sessions of the problems of one run."""

    def __init__(
        self,
        problems: Sequence[Problem],
        folder: RunFolder,
        trigger: Trigger,
        report: ReportProgress = lambda _added, _tally: None,
    ) -> None:
        self.problems = typed_problems(problems)
        self.folder = folder
        self.trigger = trigger
        self.report = report

    def run(self, tested_model: ModelUnderTest, budget: CostBudget | None = None) -> StageCounts:
        """Request the missing answers of one model; return the counts.

        As many problems as requests are in flight go on together: a server on this machine has the beginning of each
        of their prompts in its cache.
        """
        with (
            RowAppender(self.folder.completions_path) as rows,
            ErrorFile(self.folder.errors_path, MissingSample) as errors,
        ):
            answers = self.stored(tested_model).answers
            failed = {row.key for row in errors.rows() if row.at}
            stale = {row.key for row in self.folder.all_completions()} & failed
            requests = _TypingRequests(tested_model, answers)
            stage = RequestStage(requests, budget or CostBudget(), rows, errors, self.report)
            stage.tally.stored = stage.tally.requested = sum(at > 0 for found in answers.values() for at in found)
            asked = [problem for problem in self.problems if problem.id in answers]
            for start in range(0, len(asked), tested_model.connections):
                self._ask_together(stage, requests, asked[start : start + tested_model.connections], answers)
        errors.rewrite(stale | stage.resolved)
        return stage.tally

    def stored(self, tested_model: ModelUnderTest) -> TypedModelAnswers:
        """Return the stored answers of a model to the problems with one at the caret."""
        found = answers_of_models(self.folder, self.problems)[tested_model.name, tested_model.parameters]
        return replace(found, answers={name: answers for name, answers in found.answers.items() if 0 in answers})

    def _ask_together(
        self, stage: RequestStage[Problem], requests: _TypingRequests, group: Sequence[Problem],
        answers: Mapping[str, TypedAnswers],
    ) -> None:  # fmt: skip
        """Ask at the next positions of some problems, until each is at its end or has failed."""
        texts = {problem.id: typed_text(problem) for problem in group}
        waiting = {problem.id: problem for problem in group}
        windows: dict[str, Caret] = {}
        while waiting and not stage.tally.stop_reason:
            places = []
            for name, problem in [*waiting.items()]:
                at = missing_position(texts[name], answers[name], self.trigger)
                if at is None:
                    del waiting[name]
                    continue
                places.append(TypedPlace(problem, at))
            stage.tally.requested += len(places)
            stage.ask(iter([requests.pending(place, windows) for place in places]))
            for problem, at in places:
                if at not in answers[problem.id]:
                    waiting.pop(problem.id)


def missing_position(text: TypedText, answers: TypedAnswers, trigger: Trigger) -> int | None:
    """Return the first position of a session without an answer; None if it is complete."""
    at = text.next_position(trigger)
    while at is not None and at in answers:
        at = text.next_position(trigger, at, suggestion(answers[at]))
    return at


@dataclass(frozen=True)
class TypingForecast:
    """Requests behind typed text of one model on one benchmark: bounds, and what is expected.

    ``least`` are those of a model that is always right, ``most`` those of one that never is. What is expected is known
    once some sessions are complete (``finished``). Tokens and US dollars are of the requests to come.
    """

    model: str
    folder: str
    sessions: int
    finished: int
    stored: int
    least: int
    most: int
    most_input_tokens: int
    worst_cost: float | None
    expected: int | None = None
    expected_input_tokens: int | None = None
    expected_cost: float | None = None
    expected_seconds: float | None = None
    """Time of the requests to come, one after the other."""


def typing_forecast(
    tested_model: ModelUnderTest, problems: Sequence[Problem], folder: RunFolder, trigger: Trigger
) -> TypingForecast:
    """Return the forecast of the typing sessions of a model. Problems without a valid prompt are not in it."""
    stage = TypingStage(problems, folder, trigger)
    known = stage.stored(tested_model)
    bounds = (_bounds(tested_model, one, known.answers.get(one.id, {}), trigger) for one in stage.problems)
    rows = [row for row in bounds if row is not None]
    finished = [row for row in rows if row.finished]
    stored, price = sum(row.stored for row in rows), tested_model.price
    requests, tokens = _to_come(rows, 1.0)
    found = TypingForecast(
        model=tested_model.name,
        folder=str(folder.path),
        sessions=len(rows),
        finished=len(finished),
        stored=stored,
        least=sum(row.least for row in rows),
        most=sum(row.most for row in rows),
        most_input_tokens=round(tokens),
        worst_cost=_cost(price, tokens, requests * TYPED_TOKENS),
    )
    if not finished:
        return found
    room = sum(row.most - row.least for row in finished)
    requests, tokens = _to_come(rows, sum(row.stored - row.least for row in finished) / max(1, room))
    return replace(
        found,
        expected=round(requests) + stored,
        expected_input_tokens=round(tokens),
        expected_cost=_cost(price, tokens, requests * TYPED_TOKENS / 2),
        expected_seconds=requests * fmean(known.seconds) if known.seconds else None,
    )


def _cost(price: Price | None, tokens_in: float, tokens_out: float) -> float | None:
    return None if price is None else price.token_cost(round(tokens_in), round(tokens_out))


class _Bounds(NamedTuple):
    """Requests of one session behind typed text, and the tokens of the longest prompt."""

    least: int
    most: int
    stored: int
    finished: bool
    tokens: int


def _to_come(rows: Sequence[_Bounds], share: float) -> tuple[float, float]:
    """Return requests and prompt tokens to come, if each session needs this share of what is between its bounds."""
    counts = [
        0.0 if row.finished else max(0.0, row.least + share * (row.most - row.least) - row.stored) for row in rows
    ]
    return sum(counts), sum(count * row.tokens for count, row in zip(counts, rows, strict=True))


def _bounds(tested_model: ModelUnderTest, problem: Problem, answers: TypedAnswers, trigger: Trigger) -> _Bounds | None:
    text = typed_text(problem)
    at, least = text.next_position(trigger), -1
    while at is not None:
        least += 1
        at = text.next_position(trigger, at, suggestion(problem.reference[at:]))
    try:
        window = tested_model.typing_window(problem)
        tokens = tested_model.count_tokens(prompt_text(tested_model.typing_prompt(window, problem.reference)))
    except UnpromptableError:
        return None
    finished = missing_position(text, answers, trigger) is None
    places = {*text.triggers(trigger)} - {0}
    return _Bounds(least, len(places), len(places & answers.keys()), finished, tokens)
