"""What a provider of ours is asked: the fill prompt in a message's metadata, or the message's text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inspect_ai.model import ChatMessage
from pydantic import JsonValue

from caretbench.inspect.client.failures import ProviderError

FILL_FIELDS = ("prefix", "suffix", "language", "path", "instruction", "files", "stop")
"""Keys of the metadata of a message that is a fill prompt."""


def asked(messages: Sequence[ChatMessage], provider: str) -> Mapping[str, JsonValue]:
    """The fields of a fill prompt, or ``text`` alone where the message is plain text.

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
