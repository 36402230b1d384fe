"""Streamed answers of llama.cpp's server: text, end, counts, probabilities, refusals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inspect_ai.model import Logprob, ModelUsage
from pydantic import ValidationError

from caretbench.inspect.client.provider_errors import BrokenAnswerError, ProviderError, is_retryable_status
from caretbench.inspect.providers.stream_parsing import error_message, parse_json


class GgufAnswer:
    """Answer of llama.cpp's server while it is streamed."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self.tokens: list[Logprob] = []
        self.finish: str | None = None
        self.first_s: float | None = None
        self.usage: ModelUsage | None = None
        self.ended = False

    @property
    def text(self) -> str:
        """Text received so far."""
        return "".join(self._parts)

    def add_event(self, data: bytes, now_s: float) -> None:
        """Process one event, ``now_s`` seconds after the request.

        Raises:
            ProviderError: it is an error or has another form.
        """
        if data.strip() == b"[DONE]":
            self.ended = True
            return
        event: Any = parse_json(data)
        try:
            if event.get("error"):
                raise _refusal_of(event["error"])
            for choice in event.get("choices") or []:
                delta = choice.get("delta")
                text = (delta.get("content") if delta is not None else choice.get("text")) or ""
                if text:
                    self.first_s = now_s if self.first_s is None else self.first_s
                    self._parts.append(str(text))
                for token in (choice.get("logprobs") or {}).get("content") or []:
                    self.tokens.append(Logprob.model_validate(token))
                self.finish = choice.get("finish_reason") or self.finish
            if event.get("usage"):
                self.usage = _usage(event["usage"])
        except (AttributeError, KeyError, TypeError, ValidationError) as error:
            raise BrokenAnswerError(f"the server's answer has another form ({error})") from None


def _usage(counts: Mapping[str, Any]) -> ModelUsage:
    """Return llama.cpp's counts as Inspect's, which has cached tokens apart."""
    cached = int((counts.get("prompt_tokens_details") or {}).get("cached_tokens") or 0)
    return ModelUsage(
        input_tokens=int(counts["prompt_tokens"]) - cached,
        output_tokens=int(counts["completion_tokens"]),
        total_tokens=int(counts["prompt_tokens"]) + int(counts["completion_tokens"]),
        input_tokens_cache_read=cached,
    )


def response_error(status: int, data: bytes) -> ProviderError:
    """Return the error of a response of another ``status`` than 200."""
    try:
        said = error_message(parse_json(data))
    except ProviderError:
        said = data[:400].decode("utf-8", "replace")
    return ProviderError(f"the model's server: {said[:400]}", status_code=status, retryable=is_retryable_status(status))


def _refusal_of(error: Any) -> ProviderError:
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else None
    return ProviderError(
        f"the model's server: {error_message(error)[:400]}",
        status_code=status, retryable=True if status is None else is_retryable_status(status),
    )  # fmt: skip
