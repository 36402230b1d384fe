"""Conversion of our prompts and samplings to Inspect's messages and configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from caretbench.inspect.client.first_token import MOST_TOKENS, first_token_settings
from caretbench.models import ChatPrompt, FillPrompt, ModelRequest, Prompt, TextPrompt

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, GenerateConfig, ResponseSchema

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
    """Return ``text`` up to the first of the ``stop`` texts."""
    return text[: min((place for word in stop if (place := text.find(word)) >= 0), default=len(text))]


def generate_config(
    request: ModelRequest,
    samples: tuple[int, ...],
    connections: int,
    stop_texts: int | None = None,
    first_tokens: int = MOST_TOKENS,
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
        seed += samples[0]
    return GenerateConfig(
        **{"max_tokens": sampling.max_tokens} | first_token_settings(request.prompt, first_tokens),
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        seed=seed,
        stop_seqs=list(request.prompt.stop[:stop_texts]) or None,
        num_choices=None if alone else len(samples),
        response_schema=_schema(request.prompt),
        max_retries=0,
        max_connections=connections,
        adaptive_connections=False,
        batch=False,
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
