"""Generation stage: requests missing completions from models and stores them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from pydantic import JsonValue

from caretbench.errors import UsageError
from caretbench.files import RowAppender, join_surrogates, read_appended, replace_surrogates, sha256_json
from caretbench.models import (
    ChatPrompt,
    FailureKind,
    FillPrompt,
    ModelAnswer,
    ModelClient,
    Prompt,
    Sampling,
    TextPrompt,
)
from caretbench.problem import Caret, Completion, MissingSample, Problem, Question
from caretbench.prompts.instructions import InstructionPlacement
from caretbench.prompts.question import question_texts
from caretbench.prompts.strategy import (
    PromptBudget,
    PromptParts,
    PromptStrategy,
    QuestionStrategy,
    UnpromptableError,
    fit_to_budget,
    unreadable_reason,
)
from caretbench.prompts.templating import caret_texts
from caretbench.redaction import redact
from caretbench.runs.plans.prices import CostBudget, Price
from caretbench.runs.request_stage import (
    ErrorFile,
    PendingRequest,
    ReportProgress,
    RequestStage,
    StageCounts,
    StageRequests,
    reserved_cost,
)
from caretbench.runs.run_folder import ModelInfo, RunFolder

BYTES_PER_TOKEN = 3
"""Bytes of UTF-8 per token, for models without a known tokenizer: few vocabularies need more tokens for
code (most take 3.2 to 4.2 bytes), so that a prompt cut by the estimate fits."""

CHOSEN_SETTINGS = ("context", "instruction")
"""Settings that are in the hash only where something other than the default is chosen."""

# A line of code has 10 to 20 tokens, and a chat model puts a fence around it.
TYPED_TOKENS = 48
"""Maximum number of tokens of an answer behind typed text, where ``--max-tokens`` is not lower."""

# Templates put role names and end marks around each message; a prompt cut to the last token would be refused for them.
_CHAT_FRAME = 32
"""Tokens kept free for the marks that a chat template puts around the messages."""


class Preprocess(Protocol):
    """Preprocessing step that changes the caret before the prompt is rendered."""

    @property
    def key(self) -> str:
        """Name and version: part of the key of every completion."""

    def __call__(self, caret: Caret) -> Caret:
        """Return the changed caret."""


class Context(Protocol):
    """Additional project context in a prompt, defined by a suite."""

    @property
    def key(self) -> str:
        """Name and version: part of the key of every completion."""

    def __call__(self, problem: Problem) -> Caret:
        """Return the problem's caret with this context."""


@dataclass(frozen=True)
class ModelUnderTest:
    """Model under test in a run: its client and its settings.

    Args:
        name: The model's name in the rows.
        client: The model.
        strategy: Prompt strategy.
        sampling: Sampling settings.
        samples: Number of wanted answers per problem, numbered from 0.
        context: Context shown with a problem; None: its caret as it is.
        preprocess: Steps before the prompt, in order, behind the context.
        instruction: Placement of instructions, behind these steps; None: where the prompt has a place for them.
        blind: Returns a question without its text, None for those that are not asked so; None: questions as they are.
        prompt_tokens: Maximum number of prompt tokens; None: what the model's context leaves, if it is known.
        price: Price of tokens, if known.
        connections: Number of requests in flight.
    """

    name: str
    client: ModelClient
    strategy: PromptStrategy
    sampling: Sampling = field(default_factory=Sampling)
    samples: int = 1
    context: Context | None = None
    preprocess: Sequence[Preprocess] = ()
    instruction: InstructionPlacement | None = None
    blind: Callable[[Problem], Question | None] | None = None
    prompt_tokens: int | None = None
    price: Price | None = None
    connections: int = 8

    def __post_init__(self) -> None:
        """Check that client and settings fit together.

        Raises:
            UsageError: the client does not take such prompts, tells not what they need, or the context leaves no room.
        """
        if self.strategy.kind not in self.client.accepts:
            raise UsageError(
                f"{self.name}: {self.strategy.name} makes {self.strategy.kind} prompts; {self.client.name} takes "
                f"{', '.join(sorted(self.client.accepts))}"
            )
        if reason := unreadable_reason(self.strategy, self.client):
            raise UsageError(f"{self.name}: {reason}")
        room = self.budget.tokens
        if room is not None and room < 1:
            raise UsageError(
                f"{self.name}: no room for a prompt: the context of {self.client.context_tokens} tokens also holds "
                f"the answer of up to {self.sampling.max_tokens} tokens (--max-tokens)"
            )

    def answer_tokens(self, prompt: Prompt) -> int:
        """Return the maximum number of tokens of the answer to a prompt."""
        # Choices are read off the first token's probabilities.
        read_off = isinstance(prompt, TextPrompt) and prompt.letters
        return 1 if read_off else self.sampling.max_tokens

    @cached_property
    def has_tokenizer(self) -> bool:
        """Return whether the client counts tokens with the model's own tokenizer; otherwise they are estimated."""
        return self.client.count_tokens("def f():\n") is not None

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of ``text``, counted or estimated."""
        return count_or_estimate_tokens(self.client, text) if self.has_tokenizer else estimate_tokens(text)

    @cached_property
    def budget(self) -> PromptBudget:
        """Maximum size of a prompt: the configured number of tokens, or the context length minus the answer."""
        return self._room(1 if self.strategy.reads_first_token else self.sampling.max_tokens)

    def _room(self, answer_tokens: int) -> PromptBudget:
        limits = [] if self.prompt_tokens is None else [self.prompt_tokens]
        if self.client.context_tokens is not None:
            frame = _CHAT_FRAME if self.strategy.kind == "chat" else 0
            limits.append(self.client.context_tokens - answer_tokens - frame)
        return PromptBudget(min(limits) if limits else None, self.count_tokens)

    @cached_property
    def settings(self) -> dict[str, JsonValue]:
        """Settings that influence the answers, for the manifest; contain no API keys."""
        budget: JsonValue = None
        if self.budget.tokens is not None:
            budget = {"tokens": self.budget.tokens, "count": "tokenizer" if self.has_tokenizer else "estimate"}
        return {
            "sampling": self.sampling.model_dump(exclude_none=True),
            "prompt": self.strategy.key,
            "budget": budget,
            # Absent and not null: the hash of runs without it stays the one that is stored.
            **({} if self.context is None else {"context": self.context.key}),
            "preprocess": [step.key for step in self.preprocess],
            **({} if self.instruction is None else {"instruction": self.instruction.key}),
            "client": self._identity(),
        }

    def _identity(self) -> dict[str, JsonValue]:
        """Return the client's identity; with the model's name, unless a hash names the weights themselves."""
        identity = dict(self.client.identity)
        # The same weights under another path or name are the same model.
        return identity if "weights_sha256" in identity else {"model": redact(self.client.name), **identity}

    @cached_property
    def parameters(self) -> str:
        """Hash of :attr:`settings`, as stored in the rows."""
        return sha256_json(self.settings)[:16]

    @property
    def info(self) -> ModelInfo:
        """Manifest entry of the model."""
        return ModelInfo(model=self.name, source="model", parameters=self.parameters, settings=self.settings)

    def asked(self, problems: Sequence[Problem]) -> Sequence[Problem]:
        """Return the problems that the model is asked: without their text only those that can be shown so."""
        return problems if self.blind is None else [problem for problem in problems if self.blind(problem) is not None]

    def pending_samples(
        self, problems: Sequence[Problem], stored: Mapping[str, set[int]]
    ) -> Iterator[PendingRequest[Problem]]:
        """Yield the missing samples of each problem with its prompt, one problem at a time."""
        for problem in self.asked(problems):
            there = stored.get(problem.id, ())
            samples = tuple(sample for sample in range(self.samples) if sample not in there)
            if not samples:
                continue
            try:
                yield PendingRequest(problem.id, problem, samples, self._prompt(problem))
            except UnpromptableError as error:
                yield PendingRequest(problem.id, problem, samples, None, str(error))

    def _prompt(self, problem: Problem) -> Prompt:
        if isinstance(problem.shown, Question):
            return self._question((self.blind and self.blind(problem)) or problem.shown)
        return self._prompt_at(problem.shown if self.context is None else self.context(problem))

    def typing_window(self, problem: Problem) -> Caret:
        """Return the caret of a problem, cut so that its prompt has room for all of the reference.

        Raises:
            UnpromptableError: nothing of the text fits next to the reference.
        """
        caret = problem.caret if self.context is None else self.context(problem)
        if self.budget.tokens is None:
            return caret
        # A prompt whose beginning moves with each key has no use of the prompt cache: 8.2 CPU s a request, else 0.35.
        least = caret.model_copy(update={"prefix": caret.prefix[-1:], "suffix": "", "context": ()})
        frame = prompt_text(self._prompt_at(least))
        shown = PromptParts(caret.prefix, caret.suffix, caret.context)
        prefix, suffix, files = fit_to_budget(shown, self.budget, frame + problem.reference)
        return caret.model_copy(update={"prefix": prefix, "suffix": suffix, "context": files})

    def typing_prompt(self, window: Caret, typed: str) -> Prompt:
        """Return the prompt behind typed text, which asks for one line where the kind of prompt can.

        Raises:
            UnpromptableError: no valid prompt.
        """
        prompt = self._prompt_at(window.model_copy(update={"prefix": window.prefix + typed}))
        # An answer that begins with blanks left to the model may begin with a line end, and a conversation with a
        # fence.
        if isinstance(prompt, ChatPrompt) or (isinstance(prompt, TextPrompt) and "\n" in prompt.blanks):
            return prompt
        return prompt.model_copy(update={"stop": (*prompt.stop, "\n")})

    def _prompt_at(self, caret: Caret) -> Prompt:
        for step in self.preprocess:
            caret = step(caret)
        if self.instruction is not None:
            caret = self.instruction(caret)
        prompt = self.strategy.prompt(caret, self.budget)
        # After rendering, so that a prompt without room is refused for that; the check covers what a budget has cut,
        # too.
        self._refuse_control_tokens(caret_texts(caret))
        return prompt

    def _question(self, question: Question) -> Prompt:
        if not isinstance(self.strategy, QuestionStrategy):
            raise UnpromptableError(f"--prompt {self.strategy.name} needs a caret; this problem is a question")
        # A strategy that reads choices off the first token asks other questions as text.
        budget = self.budget if question.choices else self._room(self.sampling.max_tokens)
        prompt = self.strategy.render_question(question, budget)
        self._refuse_control_tokens(question_texts(question))
        return prompt

    @cached_property
    def _control(self) -> re.Pattern[str] | None:
        # Longest first: of `<|fim|>` and `<|fim|>_end` the regular expression takes the first that fits.
        tokens = sorted(self.client.control_tokens(), key=lambda token: (-len(token), token))
        return re.compile("|".join(map(re.escape, tokens))) if tokens else None

    def _refuse_control_tokens(self, texts: Sequence[str]) -> None:
        """Raise if the shown text contains a control token, even in a part that the budget would cut."""
        if self._control is None:
            return
        for text in texts:
            if token := self._control.search(text):
                raise UnpromptableError(f"the prompt contains the control token {token[0]!r} of {self.client.name}")

    def worst_cost(self, prompt: Prompt, samples: int) -> float:
        """Return the maximum cost of ``samples`` answers in US dollars: each with the whole prompt, and full length.

        Zero where no price is known.
        """
        return worst_cost(self.client, self.price, prompt, samples, self.answer_tokens(prompt))


def estimate_tokens(text: str) -> int:
    """Return the estimated number of tokens of a text, without a tokenizer."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def count_or_estimate_tokens(client: ModelClient, text: str) -> int:
    """Return the number of tokens of a text, counted by the model's own tokenizer, or estimated."""
    counted = client.count_tokens(text)
    return estimate_tokens(text) if counted is None else counted


def worst_cost(client: ModelClient, price: Price | None, prompt: Prompt, samples: int, answer_tokens: int) -> float:
    """Return the maximum cost of ``samples`` answers to a prompt in US dollars; zero if no price is known.

    No token is less than a byte, and a chat template puts marks around the messages.
    """
    if price is None or price.is_free:
        return 0.0
    text = prompt_text(prompt)
    counted = client.count_tokens(text)
    tokens = (len(text.encode("utf-8", "replace")) if counted is None else counted) + _CHAT_FRAME
    # Nobody knows before whether the provider has the prompt in its cache.
    uncached_price = price.model_copy(update={"cached_input_per_million": None})
    return samples * uncached_price.token_cost(tokens, answer_tokens)


def prompt_text(prompt: Prompt) -> str:
    """Return the whole text of a prompt."""
    if isinstance(prompt, ChatPrompt):
        return "\n".join(message.text for message in prompt.messages)
    if isinstance(prompt, FillPrompt):
        files = (text for file in prompt.files for text in (file.path, file.text))
        return "\n".join((prompt.instruction or "", prompt.prefix, prompt.suffix, *files))
    return prompt.text


@dataclass(eq=False)  # one stage is no other, whatever its problems
class GenerationStage:
    """Generation stage of one run."""

    problems: Sequence[Problem]
    folder: RunFolder
    report: ReportProgress = lambda _added, _tally: None

    def stored(self, tested_model: ModelUnderTest) -> dict[str, set[int]]:
        """Return the stored samples by problem."""
        return self._look(tested_model)[0]

    def _look(self, tested_model: ModelUnderTest) -> tuple[dict[str, set[int]], set[Hashable]]:
        """Return a model's stored samples by problem, and the keys of ``errors.jsonl`` whose sample is stored now."""
        # A stage that was killed leaves errors of samples that have come since.
        failed_keys = {row.key for row in read_appended(self.folder.errors_path, MissingSample)}
        stale: set[Hashable] = set()
        stored: dict[str, set[int]] = defaultdict(set)
        for row in self.folder.all_completions():
            if row.key in failed_keys:
                stale.add(row.key)
            if not row.at and (row.model, row.parameters) == (tested_model.name, tested_model.parameters):
                stored[row.problem_id].add(row.sample)
        return stored, stale

    def run(self, tested_model: ModelUnderTest, budget: CostBudget | None = None) -> StageCounts:
        """Request the missing completions; return the counts.

        Requests beyond ``budget`` are not sent; ``errors.jsonl`` lists their samples.
        """
        requests = CompletionRequests(tested_model)
        with (
            RowAppender(self.folder.completions_path) as answers,
            ErrorFile(self.folder.errors_path, MissingSample) as errors,
        ):
            stored, stale = self._look(tested_model)
            stage = RequestStage(requests, budget or CostBudget(), answers, errors, self.report)
            self.ask(stage, requests, stored)
        errors.rewrite(stale | stage.resolved)
        return stage.counts

    def ask(self, stage: RequestStage[Problem], requests: CompletionRequests, stored: Mapping[str, set[int]]) -> None:
        """Request what is missing next to the stored samples."""
        tested_model = requests.tested_model
        asked = tested_model.asked(self.problems)
        stage.counts.requested = len(asked) * tested_model.samples
        stage.counts.stored = sum(
            sample < tested_model.samples for problem in asked for sample in stored.get(problem.id, ())
        )
        self.report(stage.counts.stored, stage.counts)
        stage.ask(tested_model.pending_samples(self.problems, stored))


def stored_cost(folder: RunFolder) -> float:
    """Return the cost of a run's answers and judgements in US dollars, as far as prices are known.

    What was reserved for requests whose end is not known is included.
    """
    answers = sum(row.cost or 0.0 for row in folder.all_completions()) + reserved_cost(folder.completions_path)
    return answers + sum(row.cost or 0.0 for row in folder.judgements()) + reserved_cost(folder.judgements_path)


class CompletionRequests(StageRequests[Problem]):
    """Completions of one model."""

    def __init__(self, tested_model: ModelUnderTest) -> None:
        self.tested_model = tested_model
        self.seen: Callable[[Problem, Completion], None] = lambda _problem, _row: None
        self.client = tested_model.client
        self.price = tested_model.price

    def sampling(self, pending: PendingRequest[Problem]) -> Sampling:
        """Return the sampling chosen for the model; behind typed text with the room of a line."""
        chosen = self.tested_model.sampling
        return chosen.model_copy(update={"max_tokens": min(chosen.max_tokens, TYPED_TOKENS)}) if pending.at else chosen

    def worst_cost(self, pending: PendingRequest[Problem]) -> float:
        """Return the maximum cost in US dollars: full-length answers, each with the whole prompt."""
        if pending.prompt is None:
            return 0.0
        most = min(self.tested_model.answer_tokens(pending.prompt), self.sampling(pending).max_tokens)
        return worst_cost(self.client, self.price, pending.prompt, len(pending.samples), most)

    def row(self, pending: PendingRequest[Problem], answer: ModelAnswer, cost: float | None) -> Completion:
        """Return a line of ``completions.jsonl``."""
        # Some servers send a character beyond the basic plane as two halves.
        text = join_surrogates(answer.text)
        if text and isinstance(pending.prompt, TextPrompt):
            text = pending.prompt.at_caret(text)
        row = Completion(
            problem_id=pending.item.id,
            model=self.tested_model.name,
            parameters=self.tested_model.parameters,
            sample=answer.sample,
            at=pending.at,
            text=text,
            finish_reason=replace_surrogates(answer.finish_reason),
            prompt=self.tested_model.strategy.key,
            usage=answer.usage,
            cost=cost,
            latency=answer.latency,
            log_probabilities=answer.log_probabilities,
            block_hash=pending.item.block_hash,
        )
        self.seen(pending.item, row)
        return row

    def missing(
        self, pending: PendingRequest[Problem], sample: int, kind: FailureKind, message: str, attempts: int
    ) -> MissingSample:
        """Return a line of ``errors.jsonl``."""
        return MissingSample(
            problem_id=pending.item.id,
            model=self.tested_model.name,
            parameters=self.tested_model.parameters,
            sample=sample,
            at=pending.at,
            kind=kind,
            message=message,
            attempts=attempts,
        )
