"""Stage of typing sessions: requests answers behind more and more typed characters of each reference.

Each answer tells where the next one is needed, the same under every rule of acceptance
(:mod:`caretbench.metrics.typing_sessions`), so that a good model is asked at a quarter of the positions. The answer at
the caret itself is that of the generation stage. Rows in ``completions.jsonl`` have the number of characters, ``at``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from caretbench.extraction.policies import get_policy
from caretbench.metrics.typing_sessions import Trigger, TypedText
from caretbench.problem import Caret, Completion, Problem, place_key
from caretbench.prompts.strategy import UnpromptableError
from caretbench.runs.generate import CompletionRequests, GenerationStage, ModelUnderTest
from caretbench.runs.request_stage import PendingRequest, RequestStage
from caretbench.runs.run_folder import RunFolder


def typed_problems(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems with something to type at a caret."""
    return [problem for problem in problems if isinstance(problem.shown, Caret) and problem.reference.strip()]


@dataclass
class TypedModelAnswers:
    """Answers of one model at each position, by problem; seconds and US dollars of each behind typed text."""

    answers: dict[str, dict[int, str]] = field(default_factory=lambda: defaultdict(dict))
    seconds: list[float] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)

    def add(self, problem: Problem, row: Completion) -> None:
        """Add the answer of a row, without fences and prose, and not cut."""
        caret = problem.caret
        typed = caret.model_copy(update={"prefix": caret.prefix + problem.reference[: row.at]})
        self.answers[problem.id][row.at] = get_policy("clean").apply(row.text or "", typed).text
        if row.at:
            self.seconds += [row.latency.last_s] if row.latency else []
            self.costs += [] if row.cost is None else [row.cost]


def typed_answers(folder: RunFolder, problems: Iterable[Problem]) -> dict[tuple[str, str], TypedModelAnswers]:
    """Return the answers of each model, by name and parameters, that has some behind typed text."""
    # Quotes within texts are escaped. Most runs have no such row, and 80,000 others, which take 4 s to read as rows.
    if not folder.completions_path.exists() or b',"at":' not in folder.completions_path.read_bytes():
        return {}
    models = _answers_of_models(folder, typed_problems(problems))
    return {key: model for key, model in models.items() if any(any(positions) for positions in model.answers.values())}


def _answers_of_models(
    folder: RunFolder, problems: Iterable[Problem]
) -> defaultdict[tuple[str, str], TypedModelAnswers]:
    by_id = {problem.id: problem for problem in problems}
    models: defaultdict[tuple[str, str], TypedModelAnswers] = defaultdict(TypedModelAnswers)
    for row in folder.all_completions():
        if row.sample == 0 and row.problem_id in by_id:
            models[row.model, row.parameters].add(by_id[row.problem_id], row)
    return models


class TypingStage(GenerationStage):
    """Typing sessions of the problems of one run, behind the answers at their carets."""

    def __init__(self, problems: Sequence[Problem], folder: RunFolder, trigger: Trigger) -> None:
        super().__init__(typed_problems(problems), folder)
        self.texts = {problem.id: TypedText(problem.caret.prefix, problem.reference) for problem in self.problems}
        self.trigger = trigger

    def ask(self, stage: RequestStage[Problem], requests: CompletionRequests, stored: Mapping[str, set[int]]) -> None:
        """Request the missing answers.

        As many problems as requests are in flight go on together: a server on this machine has the beginning of each
        of their prompts in its cache.
        """
        tested_model = requests.tested_model
        stored_answers = self.known(tested_model)
        requests.seen = stored_answers.add
        stored_positions = (at for answers in stored_answers.answers.values() for at in answers)
        stage.counts.stored = stage.counts.requested = sum(at > 0 for at in stored_positions)
        started = [problem for problem in self.problems if 0 in stored.get(problem.id, ())]
        for start in range(0, len(started), tested_model.connections):
            group = started[start : start + tested_model.connections]
            windows: dict[str, Caret] = {}
            while group and not stage.counts.stop_reason:
                missing = ((problem, self.missing_position(problem, stored_answers)) for problem in group)
                places = [(problem, at) for problem, at in missing if at is not None]
                stage.counts.requested += len(places)
                stage.ask(iter([_pending(tested_model, problem, at, windows) for problem, at in places]))
                # Without those whose request failed.
                group = [problem for problem, at in places if at in stored_answers.answers[problem.id]]

    def known(self, tested_model: ModelUnderTest) -> TypedModelAnswers:
        """Return the stored answers of a model."""
        return _answers_of_models(self.folder, self.problems)[tested_model.name, tested_model.parameters]

    def missing_position(self, problem: Problem, stored_answers: TypedModelAnswers) -> int | None:
        """Return the first position of a session without an answer; None if it is complete."""
        asked = self.texts[problem.id].session(self.trigger, stored_answers.answers[problem.id].get)
        return next((at for at, shown in asked if shown is None), None)


def _pending(
    tested_model: ModelUnderTest, problem: Problem, at: int, windows: dict[str, Caret]
) -> PendingRequest[Problem]:
    """Return the request at a position; ``windows`` are the carets of the prompts, which it completes."""
    identity = place_key(problem.id, at)
    try:
        if problem.id not in windows:
            windows[problem.id] = tested_model.typing_window(problem)
        prompt = tested_model.typing_prompt(windows[problem.id], problem.reference[:at])
    except UnpromptableError as error:
        return PendingRequest(identity, problem, (0,), None, str(error), at)
    return PendingRequest(identity, problem, (0,), prompt, at=at)
