"""Conversion of prompts and samplings to Inspect's messages, and the likeliest letter of a model's first token."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from caretbench.extraction.clean import holds_special_token
from caretbench.models import ChatPrompt, FillPrompt, ModelRequest, Prompt, TextPrompt

if TYPE_CHECKING:
    from inspect_ai.model import ChatCompletionChoice, ChatMessage, GenerateConfig, ResponseSchema


MAX_FIRST_TOKENS = 20
"""Number of the likeliest first tokens requested; many servers refuse more (vLLM's own limit)."""

MIN_FIRST_TOKENS = 5
"""Number requested of a server that refuses the other one: OpenAI's limit at ``/completions``."""

UNTOLD = "the provider told no log-probabilities of the first token; give --prompt question-text"

# Some servers give a vocabulary's own marks of a blank, those of GPT-2 and SentencePiece.
_BLANKS = " \u0120\u2581"
# A log-probability above zero by more than rounding is none.
_ROUNDING = 1e-3


def letters_of(prompt: Prompt) -> tuple[str, ...]:
    """Return the letters to compare in the first token; empty if the whole text is the answer."""
    return prompt.letters if isinstance(prompt, TextPrompt) else ()


def first_token_settings(prompt: Prompt, tokens: int = MAX_FIRST_TOKENS) -> dict[str, Any]:
    """Return GenerateConfig fields that request first-token log-probabilities; empty for prompts without letters."""
    return {"max_tokens": 1, "logprobs": True, "top_logprobs": tokens} if letters_of(prompt) else {}


def letter_probabilities(
    choice: ChatCompletionChoice, letters: Sequence[str], raw: object = None
) -> dict[str, float] | None:
    """Return the known log-probabilities of ``letters`` as the first token; None if none is known.

    ``raw`` is the choice as the server sent it: llama.cpp's ``/completions`` answers in the form of conversations,
    which Inspect passes over there.
    """
    probabilities = choice.logprobs
    if probabilities is None and isinstance(raw, dict) and raw.get("logprobs") is not None:
        from inspect_ai.model import Logprobs
        from pydantic import ValidationError

        try:
            probabilities = Logprobs.model_validate(raw["logprobs"])
        except ValidationError:
            return None
    if probabilities is None or not probabilities.content:
        return None
    drawn = probabilities.content[0]
    tokens = [(other.token, other.logprob) for other in drawn.top_logprobs or ()]
    # Some servers list the likeliest tokens without the drawn one.
    if drawn.token not in dict(tokens):
        tokens.append((drawn.token, drawn.logprob))
    return log_probabilities(tokens, letters)


def log_probabilities(tokens: Iterable[tuple[str, float]], letters: Sequence[str]) -> dict[str, float]:
    """Return the log-probability of each of ``letters`` among ``tokens``, with and without leading blanks.

    What is too small for a probability (servers write -9999 for what they do not know) counts as not told.
    """
    parts: dict[str, list[float]] = {letter: [] for letter in letters}
    for token, value in tokens:
        letter = token.lstrip(_BLANKS)
        # `A` and ` A` are two tokens and one letter: their probabilities are added.
        if letter in parts and value <= _ROUNDING:
            parts[letter].append(math.exp(value))
    sums = {letter: math.fsum(values) for letter, values in parts.items()}
    return {letter: math.log(total) for letter, total in sums.items() if total > 0}


def likeliest_letter(probabilities: Mapping[str, float]) -> str:
    """Return the letter of the highest probability. Ties return all letters, which no parser accepts as an answer."""
    best = max(probabilities.values())
    letters = [letter for letter, value in probabilities.items() if value == best]
    # To take the first of equal ones would give position A the ties of all questions.
    return letters[0] if len(letters) == 1 else f"equally likely: {', '.join(letters)}"


PROMPT_KIND = "caretbench_prompt_kind"
"""Key of a message's metadata: ``text`` where the message is a text to go on with, and no turn of a conversation."""


def messages_of(prompt: Prompt) -> list[ChatMessage]:
    """Return the messages that carry ``prompt``.

    A text travels as one user message, marked in its metadata for providers that take conversations too. So does a
    caret: its prefix is the content, and the metadata hold ``prefix``, ``suffix``, ``language``, ``path``,
    ``instruction``, ``files`` (with ``path`` and ``text``) and ``stop`` for the providers that fill in themselves.
    """
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    if isinstance(prompt, TextPrompt):
        return [ChatMessageUser(content=prompt.text, metadata={PROMPT_KIND: "text"})]
    if isinstance(prompt, FillPrompt):
        return [ChatMessageUser(content=prompt.prefix, metadata=prompt.model_dump(mode="json", exclude={"kind"}))]
    makers = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
    return [makers[message.role](content=message.text) for message in prompt.messages]


def cut_at_stop(text: str, stop: Sequence[str]) -> str:
    """Return ``text`` up to the first of the ``stop`` texts; a special token stays, since reports count these."""
    hits = [(position, word) for word in stop if (position := text.find(word)) >= 0]
    position, word = min(hits, default=(len(text), ""))
    return text[:position] + (word if holds_special_token(word) else "")


def generate_config(
    request: ModelRequest,
    samples: tuple[int, ...],
    connections: int,
    stop_texts: int | None = None,
    first_tokens: int = MAX_FIRST_TOKENS,
    headers: Mapping[str, str] | None = None,
) -> GenerateConfig:
    """Return a GenerateConfig with every setting explicit. A single sample with a seed gets seed + its index.

    At most ``stop_texts`` stop texts are sent, the first ones. Where a letter is wanted, one token is asked for, with
    the probabilities of the likeliest ``first_tokens``.
    """
    from inspect_ai.model import GenerateConfig

    sampling = request.sampling
    alone = len(samples) == 1
    seed = sampling.seed
    if seed is not None and alone:
        # Each sample has its own seed, so that it does not depend on how the samples are divided into requests.
        seed += samples[0]
    return GenerateConfig(
        **{"max_tokens": sampling.max_tokens} | first_token_settings(request.prompt, first_tokens),
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        seed=seed,
        stop_seqs=list(request.prompt.stop[:stop_texts]) or None,
        num_choices=None if alone else len(samples),
        response_schema=_schema(request.prompt),
        # Inspect would try again in silence, and its tries would be in the latency.
        max_retries=0,
        max_connections=connections,
        extra_headers=dict(headers or {}) or None,
        adaptive_connections=False,
        batch=False,
        # The file of completions is the cache: an answer out of another one would have no latency and no usage of its
        # own.
        cache=False,
    )


def _schema(prompt: Prompt) -> ResponseSchema | None:
    if not isinstance(prompt, ChatPrompt) or prompt.json_schema is None:
        return None
    from inspect_ai.model import ResponseSchema
    from inspect_ai.util import JSONSchema

    return ResponseSchema(
        name=prompt.schema_name or "answer",
        json_schema=JSONSchema.model_validate(dict(prompt.json_schema)),
        strict=True,
    )
