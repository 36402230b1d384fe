"""Events of llama.cpp's server: text, counts and refusals within a stream."""

from __future__ import annotations

import json

import pytest

from caretbench.inspect.client.provider_errors import ProviderError
from caretbench.inspect.providers.gguf import GgufAnswer, response_error


def test_text_its_first_moment_and_the_counts() -> None:
    answer = GgufAnswer()
    for second, event in enumerate(
        [
            {"choices": [{"delta": {"role": "assistant"}}]},
            {"choices": [{"delta": {"content": "re"}}]},
            {"choices": [{"text": "turn", "finish_reason": "stop"}]},
            {"usage": {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}},
        ]
    ):
        answer.add_event(json.dumps(event).encode(), float(second))
    answer.add_event(b" [DONE] ", 9.0)
    assert (answer.text, answer.first_s, answer.finish, answer.ended) == ("return", 1.0, "stop", True)
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.input_tokens_cache_read, answer.usage.output_tokens) == (5, 4, 2)


@pytest.mark.parametrize(
    ("code", "status", "retryable"),
    [(400, 400, False), (429, 429, True), (503, 503, True), (599, 599, True), (600, None, True), (399, None, True),
     ("400", None, True), (None, None, True)],
)  # fmt: skip
def test_an_error_in_the_stream_counts_as_a_response_with_its_status(
    code: object, status: int | None, retryable: bool
) -> None:
    event = json.dumps({"error": {"code": code, "message": "no"}}).encode()
    with pytest.raises(ProviderError) as caught:
        GgufAnswer().add_event(event, 0.0)
    assert (caught.value.status_code, caught.value.retryable) == (status, retryable)
    if status is not None:
        assert response_error(status, b"no").retryable is retryable
