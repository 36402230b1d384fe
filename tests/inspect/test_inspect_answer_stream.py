"""Events of completion servers: text, log-probabilities, counts and refusals within a stream."""

from __future__ import annotations

import json

import pytest

from caretbench.inspect.client.provider_errors import ProviderError, is_retryable_status
from caretbench.inspect.providers.answer_stream import AnswerAssembly, StreamReader, TokenCounts
from caretbench.inspect.providers.endpoint_shapes import endpoint_shape


def assembly_of(*events: object) -> AnswerAssembly:
    shape = endpoint_shape("openai")
    assembly = AnswerAssembly(shape, 1)
    reader = StreamReader(shape, assembly, shape.chat)
    for event in events:
        reader.feed(f"data: {json.dumps(event)}\n\n".encode())
    reader.feed(b"data:  [DONE] \n\n")
    return assembly


def test_text_its_first_tokens_and_the_counts() -> None:
    token = {"token": "re", "logprob": -0.5, "top_logprobs": []}
    assembly = assembly_of(
        {"choices": [{"delta": {"role": "assistant"}}]},
        {"choices": [{"delta": {"content": "re"}, "logprobs": {"content": [token]}}]},
        {"choices": [{"delta": {"content": "turn"}, "logprobs": None, "finish_reason": "stop"}]},
        {"usage": {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}},
    )
    [choice] = assembly.complete_choices(streamed=True)
    assert (choice.text, choice.finish, choice.tokens, assembly.ended) == ("return", "stop", [token], True)
    assert assembly.counts == TokenCounts(9, 2, 4)


@pytest.mark.parametrize(
    ("code", "status", "retryable"),
    [(400, 400, False), (429, 429, True), (503, 503, True), (599, 599, True), (600, None, True), (399, None, True),
     ("400", None, True), (None, None, True)],
)  # fmt: skip
def test_an_error_in_the_stream_counts_as_a_response_with_its_status(
    code: object, status: int | None, retryable: bool
) -> None:
    with pytest.raises(ProviderError) as caught:
        assembly_of({"error": {"code": code, "message": "no"}})
    assert (caught.value.status_code, caught.value.retryable) == (status, retryable)
    assert status is None or is_retryable_status(status) is retryable
