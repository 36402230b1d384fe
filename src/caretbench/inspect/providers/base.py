"""Base class of our providers: one try per request, and its prompt fields."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    GenerateConfig,
    ModelAPI,
    ModelCall,
    ModelOutput,
    RetryDecision,
)
from inspect_ai.tool import ToolChoice, ToolInfo
from pydantic import JsonValue

from caretbench.inspect.client.provider_errors import ProviderError
from caretbench.inspect.providers.endpoint_shapes import StopReason
from caretbench.models import Sampling

FIRST_S = "caretbench_first_s"
"""Key of an output's metadata: seconds to the first character of the answer."""

FINISH_REASONS = "caretbench_finish_reasons"
"""Key of an output's metadata: the server's own words, one per choice."""

FILL_FIELDS = ("prefix", "suffix", "language", "path", "instruction", "files", "stop")
"""Keys of the metadata of a message that is a fill prompt."""


class SingleTryAPI(ModelAPI):
    """Base class of providers that make one try per request; errors say whether to retry."""

    no_tools_message: ClassVar[str]
    """Message that refuses tools."""

    async def generate(
        self,
        input: list[ChatMessage],  # noqa: A002 (the base class's name)
        tools: list[ToolInfo],
        tool_choice: ToolChoice,  # noqa: ARG002
        config: GenerateConfig,
    ) -> tuple[ModelOutput, ModelCall]:
        """Send one request, with one try.

        Raises:
            ProviderError: it brought no whole answer.
            MachineError: a server on this machine cannot be started.
        """
        if tools:
            raise ProviderError(self.no_tools_message, kind="refused")
        return await self.complete_once(input, config)

    def current_key(self) -> str | None:
        """Return the key, or that of the first variable of the environment that has one, which may change meanwhile."""
        # Read at each request: a key in the environment may be renewed during a run of hours.
        stated = (self.api_key, *map(os.environ.get, self.api_key_vars))
        return next((key.strip() for key in stated if key and key.strip()), None)

    @abstractmethod
    async def complete_once(self, messages: list[ChatMessage], config: GenerateConfig) -> tuple[ModelOutput, ModelCall]:
        """Send one request once; return its outcome."""

    def should_retry(self, ex: Exception) -> bool | RetryDecision:
        """Return whether and when to retry."""
        if not isinstance(ex, ProviderError) or not ex.retryable:
            return RetryDecision.no()
        decide = RetryDecision.rate_limit if ex.status_code == 429 else RetryDecision.transient
        return decide(retry_after=ex.retry_after)

    def is_auth_failure(self, ex: Exception) -> bool:
        """Return whether the key is missing, wrong, or not allowed to do this."""
        return isinstance(ex, ProviderError) and ex.status_code in (401, 403)

    def max_tokens(self) -> int | None:
        """Return CaretBench's own default; a server's may be 1 or unlimited."""
        return Sampling().max_tokens


def chat_choice(text: str, model: str, stop_reason: StopReason) -> ChatCompletionChoice:
    """Return an answer as a choice of Inspect."""
    message = ChatMessageAssistant(content=text, model=model, source="generate")
    return ChatCompletionChoice(message=message, stop_reason=stop_reason)


def parse_prompt(messages: Sequence[ChatMessage], provider: str) -> Mapping[str, JsonValue]:
    """Return the fields of a fill prompt, or only ``text`` if the message is plain text.

    Raises:
        ProviderError: it is a conversation.
    """
    if len(messages) != 1 or messages[0].role != "user":
        raise ProviderError(f"{provider} takes one prompt, not a conversation", kind="refused")
    message = messages[0]
    metadata = message.metadata or {}
    if "prefix" in metadata:
        return {name: metadata[name] for name in FILL_FIELDS if metadata.get(name) is not None}
    return {"text": message.text}
