"""Every shape over a real socket: what is sent, what is read, and every way to misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inspect_ai.model import (
    ChatMessage,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    ModelOutput,
    RetryDecision,
    get_model,
)

from caretbench.errors import MachineError
from caretbench.inspect.client.model_caller import ModelCaller
from caretbench.inspect.client.provider_errors import BrokenAnswerError, ProviderError
from caretbench.inspect.providers.answer_stream import AnswerAssembly, StreamReader, StreamSplitter
from caretbench.inspect.providers.base import FIRST_S
from caretbench.inspect.providers.completion_server import CompletionServer
from caretbench.inspect.providers.endpoint_api import UNSENT, FimEndpointAPI
from caretbench.inspect.providers.endpoint_shapes import EndpointShape, endpoint_shape, endpoint_shapes, value_at
from caretbench.models import ClientOptions
from tests.support import model_server
from tests.support.model_server import Behaviour, ModelServer

KEY = "sk-notakey-0123456789"
SHAPES = ("mistral", "deepseek", "openai", "ollama", "llama-cpp")
PATHS = {
    "mistral": "/v1/fim/completions",
    "deepseek": "/beta/completions",
    "openai": "/v1/completions",
    "ollama": "/api/generate",
    "llama-cpp": "/infill",
}
FILL: Mapping[str, Any] = {
    "prefix": "def f(",
    "suffix": "):\n    return x\n",
    "language": "python",
    "path": "f.py",
    "stop": ["\n\n"],
}


def fill(**changes: Any) -> list[ChatMessage]:
    return [ChatMessageUser(content="def f(", metadata={**FILL, **changes})]


def endpoint(server: ModelServer, name: str, **options: Any) -> FimEndpointAPI:
    base = server.url + ("/v1" if name == "openai" else "")
    return FimEndpointAPI(f"{name}/codestral", base_url=base, api_key=KEY, **options)


def ask(
    api: FimEndpointAPI, messages: list[ChatMessage] | None = None, timeout: float = 10, **config: Any
) -> ModelOutput:
    async def one() -> ModelOutput:
        try:
            async with asyncio.timeout(timeout):
                given = GenerateConfig(**{"max_tokens": 16, "temperature": 0.0, "seed": 7, **config})
                output, call = await api.generate(messages or fill(), [], "none", given)
                assert KEY not in call.model_dump_json()
                return output
        finally:
            await api.aclose()

    return asyncio.run(one())


def failing(api: FimEndpointAPI, messages: list[ChatMessage] | None = None, **config: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        ask(api, messages, **config)
    assert KEY not in str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for one in endpoint_shapes().values():
        for variable in (*one.key_variables, *one.base_url_variables):
            monkeypatch.delenv(variable, raising=False)


# --- the table ----------------------------------------------------------------------------------------------------


def test_the_shapes_are_those_of_the_documentation() -> None:
    assert tuple(endpoint_shapes()) == SHAPES


def test_a_misspelt_key_of_the_table_is_an_error() -> None:
    table = endpoint_shape("ollama").model_dump()
    with pytest.raises(ValueError, match="extra"):
        EndpointShape.model_validate(table | {"pth": "/x"})


def test_a_shape_must_place_prefix_and_suffix() -> None:
    table = endpoint_shape("mistral").model_dump()
    table["fill"]["body"] = {"prompt": "prefix"}
    with pytest.raises(ValueError, match="and suffix"):
        EndpointShape.model_validate(table)


def test_no_key_is_in_the_text_of_an_object() -> None:
    """Debuggers, logs and tracebacks with local variables print it."""
    server = CompletionServer(endpoint_shape("openai"), "http://127.0.0.1:1", lambda: KEY, {"X-Key": KEY})
    caller = ModelCaller(get_model("mockllm/m"), ClientOptions(headers={"X-Key": KEY}), together=False, secrets=(KEY,))
    assert KEY not in repr(server) + repr(caller)


def test_an_unknown_shape_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'vllm'.*mistral, deepseek, openai, ollama, llama-cpp"):
        FimEndpointAPI("vllm/model")


def test_a_place_that_is_not_there_holds_nothing() -> None:
    assert value_at({"a": [1]}, "a.b") is None
    assert value_at({"a": {"b": 0}}, "a.b") == 0


# --- what is sent -------------------------------------------------------------------------------------------------

BODIES: dict[str, dict[str, Any]] = {
    "mistral": {
        "model": "codestral", "prompt": "def f(", "suffix": "):\n    return x\n", "max_tokens": 16,
        "temperature": 0.0, "random_seed": 7, "stop": ["\n\n"], "stream": True,
    },
    "deepseek": {
        "model": "codestral", "prompt": "def f(", "suffix": "):\n    return x\n", "max_tokens": 16,
        "temperature": 0.0, "stop": ["\n\n"], "stream": True, "stream_options": {"include_usage": True},
    },
    "openai": {
        "model": "codestral", "prompt": "def f(", "suffix": "):\n    return x\n", "max_tokens": 16,
        "temperature": 0.0, "seed": 7, "stop": ["\n\n"], "stream": True,
        "stream_options": {"include_usage": True},
    },
    "ollama": {
        "model": "codestral", "prompt": "def f(", "suffix": "):\n    return x\n", "stream": True,
        "options": {"num_predict": 16, "temperature": 0.0, "seed": 7, "stop": ["\n\n"]},
    },
    "llama-cpp": {
        "model": "codestral", "input_prefix": "def f(", "input_suffix": "):\n    return x\n", "prompt": "",
        "n_predict": 16, "temperature": 0.0, "seed": 7, "stop": ["\n\n"], "stream": True,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_what_is_sent(name: str) -> None:
    with ModelServer(key=KEY) as server:
        ask(endpoint(server, name), stop_seqs=["\n\n"])  # given twice, sent once
    request = server.requests[0]
    assert request.path == PATHS[name]
    assert request.body == BODIES[name]
    assert request.headers["authorization"] == f"Bearer {KEY}"


def test_files_go_where_there_is_a_place_and_are_reported_where_there_is_none() -> None:
    files = [{"path": "lib/a.py", "text": "A = 1\n"}]
    with ModelServer() as server:
        output = ask(endpoint(server, "llama-cpp"), fill(files=files))
        other = ask(endpoint(server, "openai"), fill(files=files))
    assert server.requests[0].body["input_extra"] == [{"filename": "lib/a.py", "text": "A = 1\n"}]
    assert UNSENT not in (output.metadata or {})
    assert (other.metadata or {})[UNSENT] == ["files"]


@pytest.mark.parametrize("name", SHAPES)
def test_an_instruction_is_never_dropped_in_silence(name: str) -> None:
    with ModelServer() as server:
        error = failing(endpoint(server, name), fill(instruction="use a loop"))
    assert "no place for an instruction" in str(error)
    assert error.kind == "unpromptable"
    assert server.requests == []


@pytest.mark.parametrize(("name", "key"), [("openai", "prompt"), ("ollama", "prompt")])
def test_an_empty_suffix_is_a_text_to_go_on_with(name: str, key: str) -> None:
    with ModelServer() as server:
        ask(endpoint(server, name), fill(suffix=""))
    body = server.requests[0].body
    assert body[key] == "def f("
    assert "suffix" not in body
    assert body.get("raw", name != "ollama")  # no template of a conversation around it


@pytest.mark.parametrize("name", ["openai", "ollama", "llama-cpp"])
def test_a_plain_text_is_sent_as_it_is(name: str) -> None:
    with ModelServer() as server:
        output = ask(endpoint(server, name), [ChatMessageUser(content="<fim_prefix>a<fim_middle>")])
    assert server.requests[0].body["prompt"] == "<fim_prefix>a<fim_middle>"
    assert output.completion == "return 2 * x"


def test_what_is_no_prompt_of_an_endpoint_is_refused() -> None:
    with ModelServer() as server:
        text = failing(endpoint(server, "mistral"), [ChatMessageUser(content="text")])
        turns: list[ChatMessage] = [ChatMessageSystem(content="s"), ChatMessageUser(content="u")]
        talk = failing(endpoint(server, "openai"), turns)
    assert "the prompt `fill`" in str(text)
    assert "not a conversation" in str(talk)
    assert server.requests == []


def test_max_tokens_are_never_left_to_the_server() -> None:
    with ModelServer() as server:
        ask(endpoint(server, "openai"), max_tokens=None)
    assert server.requests[0].body["max_tokens"] == 800


def test_ollama_is_told_the_context() -> None:
    with ModelServer() as server:
        ask(endpoint(server, "ollama", context_tokens=9000))
    assert server.requests[0].body["options"]["num_ctx"] == 9000


# --- addresses and keys -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "base", "address"),
    [
        ("mistral", "http://h/v1/", "http://h"),
        ("ollama", "http://h:11434/v1", "http://h:11434"),
        ("deepseek", "https://api.deepseek.com/beta", "https://api.deepseek.com"),
        ("openai", "https://h/inference/v1", "https://h/inference/v1"),
    ],
)
def test_base_urls_as_other_software_writes_them(name: str, base: str, address: str) -> None:
    assert FimEndpointAPI(f"{name}/m", base_url=base).address == address


def test_the_address_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_BASE_URL", "http://elsewhere:1/v1")
    assert FimEndpointAPI("ollama/m").address == "http://elsewhere:1"


@pytest.mark.parametrize("base", ["localhost:8080", "ftp://h", "http://", "http://[::bad"])
def test_what_is_no_address(base: str) -> None:
    with pytest.raises(ValueError, match="no address of"):
        FimEndpointAPI("openai/m", base_url=base)


@pytest.mark.parametrize(
    ("name", "variable"),
    [("mistral", "MISTRAL_API_KEY"), ("deepseek", "DEEPSEEK_API_KEY"), ("openai", "OPENAI_API_KEY")],
)
def test_a_missing_key_is_named(name: str, variable: str) -> None:
    with pytest.raises(MachineError, match=f"set {variable}"):
        FimEndpointAPI(f"{name}/m")


def test_no_model_and_unknown_options() -> None:
    with pytest.raises(ValueError, match="fim/ollama/MODEL"):
        FimEndpointAPI("ollama")
    with pytest.raises(ValueError, match="no option sream"):
        FimEndpointAPI("ollama/m", sream=True)


@pytest.mark.parametrize("name", SHAPES)
def test_a_wrong_key_is_told_without_the_key(name: str) -> None:
    with ModelServer(key="another-key-98765") as server:
        api = endpoint(server, name)
        error = failing(api)
    assert error.status_code == 401
    assert api.is_auth_failure(error)
    assert not api.should_retry(error)
    assert "[redacted]" in str(error)


# --- what is read -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("name", SHAPES)
def test_an_answer(name: str, stream: bool) -> None:
    text = "zwölf\u2028\x85 = 1 + 2 + 3\n"  # marks at which text readers would cut a line
    with ModelServer(answer=text) as server:
        output = ask(endpoint(server, name, stream=stream))
    assert output.completion == text
    assert output.stop_reason == "stop"
    assert (FIRST_S in (output.metadata or {})) == stream
    if name != "mistral" or not stream:  # its streams tell usage by themselves; this server does not
        assert output.usage is not None
        assert (output.usage.input_tokens, output.usage.output_tokens) == (2, len(text.split()))


@pytest.mark.parametrize("name", SHAPES)
def test_the_time_to_the_first_character(name: str) -> None:
    with ModelServer([model_server.drip(0.1)]) as server:
        begin = time.monotonic()
        output = ask(endpoint(server, name))
        whole = time.monotonic() - begin
    assert 0.1 <= (output.metadata or {})[FIRST_S] < whole - 0.3  # five more parts came after it


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("name", SHAPES)
def test_rambling_ends_by_length(name: str, stream: bool) -> None:
    with ModelServer([model_server.ramble()]) as server:
        output = ask(endpoint(server, name, stream=stream))
    assert output.stop_reason == "max_tokens"
    assert len(output.completion) == 50_000


@pytest.mark.parametrize("stream", [True, False])
def test_several_answers_by_one_request(stream: bool) -> None:
    with ModelServer(answer=lambda _, number: f"answer {number}") as server:
        output = ask(endpoint(server, "openai", stream=stream), num_choices=3)
    assert [choice.message.text for choice in output.choices] == ["answer 0", "answer 1", "answer 2"]
    assert server.requests[0].body["n"] == 3


def test_a_shape_without_n_says_so() -> None:
    with ModelServer() as server:
        error = failing(endpoint(server, "ollama"), num_choices=3)
    assert "one answer" in str(error)


@pytest.mark.parametrize("name", SHAPES)
def test_an_empty_answer_is_an_answer(name: str) -> None:
    with ModelServer(answer="") as server:
        assert ask(endpoint(server, name)).completion == ""


def test_a_server_that_does_not_stream_though_asked_to() -> None:
    whole = {"choices": [{"index": 0, "text": "a + b", "finish_reason": "stop"}]}
    with ModelServer([Behaviour(body=json.dumps(whole).encode())]) as server:
        output = ask(endpoint(server, "openai"))
    assert output.completion == "a + b"
    assert FIRST_S not in (output.metadata or {})


def test_an_unknown_finish_reason_stays_readable() -> None:
    with ModelServer([Behaviour(text="x", finish="tired")]) as server:
        output = ask(endpoint(server, "openai"))
    assert output.stop_reason == "unknown"
    assert (output.metadata or {})["caretbench_finish_reasons"] == ["tired"]


@pytest.mark.parametrize(("name", "word"), [("deepseek", "insufficient_system_resource"), ("mistral", "error")])
def test_an_answer_that_the_server_broke_off(name: str, word: str) -> None:
    with ModelServer([Behaviour(text="x", finish=word)]) as server:
        assert isinstance(failing(endpoint(server, name)), BrokenAnswerError)


# --- misbehaviour -------------------------------------------------------------------------------------------------


def decision(api: FimEndpointAPI, error: ProviderError) -> RetryDecision:
    decided = api.should_retry(error)
    assert isinstance(decided, RetryDecision)
    return decided


@pytest.mark.parametrize("name", SHAPES)
def test_too_many_requests(name: str) -> None:
    with ModelServer([model_server.rate_limited("17")]) as server:
        api = endpoint(server, name)
        decided = decision(api, failing(api))
    assert (decided.retry, decided.kind, decided.retry_after) == (True, "rate_limit", 17)


@pytest.mark.parametrize("date", ["nonsense", "nan", "inf", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_a_strange_retry_after(date: str) -> None:
    with ModelServer([model_server.rate_limited(date)]) as server:
        error = failing(endpoint(server, "openai"))
    assert error.retry_after in (None, 0.0)


@pytest.mark.parametrize(("status", "retryable"), [(500, True), (503, True), (408, True), (400, False), (404, False)])
def test_statuses(status: int, retryable: bool) -> None:
    with ModelServer([model_server.error(status, "bad\x1b[31m day")]) as server:
        api = endpoint(server, "openai")
        error = failing(api)
    assert decision(api, error).retry == retryable
    assert f"HTTP {status}" in str(error)
    assert "\x1b" not in str(error)


BROKEN = {
    "half a body": (model_server.half_body(), False),
    "garbage": (model_server.garbage(), None),
    "wrong JSON": (model_server.wrong_json(), None),
    "a list": (model_server.wrong_json([1, 2]), None),
    "an empty object": (model_server.wrong_json({}), None),
    "nulls": (model_server.wrong_json({"choices": [None], "response": 7, "content": []}), None),
    "a broken stream": (model_server.disconnect(2), True),
    "a stream that ends too soon": (model_server.disconnect(2, how="clean"), True),
    "an empty stream": (model_server.disconnect(0, how="clean"), True),
    "a connection that breaks at once": (model_server.disconnect(0), True),
}


@pytest.mark.parametrize("how", BROKEN)
@pytest.mark.parametrize("name", SHAPES)
def test_a_broken_answer_is_an_error_and_tried_again(name: str, how: str) -> None:
    behaviour, only_stream = BROKEN[how]
    for stream in (True, False) if only_stream is None else (only_stream,):
        with ModelServer([behaviour]) as server:
            api = endpoint(server, name, stream=stream)
            assert decision(api, failing(api)).retry


@pytest.mark.parametrize("name", ["mistral", "deepseek", "openai"])
def test_an_answer_without_choices(name: str) -> None:
    for stream in (True, False):
        with ModelServer([model_server.empty_choices()]) as server:
            error = failing(endpoint(server, name, stream=stream))
        assert "without any choice" in str(error)


@pytest.mark.parametrize(
    ("body", "retryable"),
    [
        (b'data: {"choices":[{"index":0,"text":"a"}]}\n\ndata: {"error":{"message":"out of memory"}}\n\n', True),
        (b'data: {"error":{"message":"too long","code":400}}\n\n', False),
        (b'error: {"code":500,"message":"slot is gone"}\n\n', True),
    ],
)
def test_an_error_within_a_stream(body: bytes, retryable: bool) -> None:
    with ModelServer([Behaviour(body=body, headers={"Content-Type": "text/event-stream"})]) as server:
        assert failing(endpoint(server, "openai")).retryable == retryable


def test_silence_ends_when_the_caller_wants() -> None:
    with ModelServer([model_server.silence()]) as server, pytest.raises(TimeoutError):
        ask(endpoint(server, "openai"), timeout=0.3)


def test_nobody_is_there() -> None:
    with ModelServer() as server:
        api = endpoint(server, "openai")
    assert decision(api, failing(api)).retry


def test_a_redirection_is_not_followed_with_the_key() -> None:
    with ModelServer() as thief:
        moved = Behaviour(status=307, headers={"Location": thief.url}, body=b"")
        with ModelServer([moved]) as server:
            error = failing(endpoint(server, "openai"))
    assert error.status_code == 307
    assert thief.requests == []


def test_an_endless_answer_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("caretbench.inspect.providers.answer_stream.MAX_ANSWER_BYTES", 1 << 20)
    with ModelServer([Behaviour(text="x" * (2 << 20))] * 2) as server:
        for stream in (True, False):
            error = failing(endpoint(server, "openai", stream=stream))
            assert "than 1 MiB" in str(error)


@pytest.mark.parametrize(
    ("name", "status", "said", "told"),
    [
        ("ollama", 400, "registry/model does not support insert", "no place for a suffix"),
        ("ollama", 404, "model 'codestral' not found", "pull the model first"),
        ("llama-cpp", 501, "Infill is not supported by this model: prefix token is missing", "has no FIM tokens"),
        ("openai", 400, "suffix is not currently supported", "fim/FAMILY"),
    ],
)
def test_a_model_that_cannot_fill_in(name: str, status: int, said: str, told: str) -> None:
    body = json.dumps({"error": said} if name == "ollama" else {"error": {"message": said}}).encode()
    with ModelServer([Behaviour(status=status, body=body)]) as server:
        error = failing(endpoint(server, name))
    assert said in str(error)
    assert told in str(error)
    assert not error.retryable


def test_a_provider_serves_one_event_loop_after_another() -> None:
    async def one(api: FimEndpointAPI) -> str:
        output, _ = await api.generate(fill(), [], "none", GenerateConfig(max_tokens=4))
        assert api._server_client._client is not None
        await (
            api._server_client._client.aclose()
        )  # only so that no socket is left over: the provider still holds the client
        return output.completion

    with ModelServer() as server:
        api = endpoint(server, "openai")
        assert asyncio.run(one(api)) == asyncio.run(one(api)) == "return 2 * x"


def test_pieces_do_not_depend_on_how_the_network_cuts_them() -> None:
    data = b': ping\r\n\r\nevent: x\r\ndata: {"a":\r\ndata: 1}\r\n\r\ndata: [DONE]\r\n\r\n'
    for size in range(1, len(data)):
        splitter = StreamSplitter("sse")
        found = [piece for at in range(0, len(data), size) for piece in splitter.feed(data[at : at + size])]
        assert [*found, *splitter.close()] == [b'{"a":\n1}', b"[DONE]"]


def test_halves_of_a_character_meet_again() -> None:
    body = (
        b'data: {"choices":[{"index":0,"text":"# \\ud83d"}]}\n\n'
        b'data: {"choices":[{"index":0,"text":"\\ude00 \\ud83d","finish_reason":"stop"}]}\n\n'
    )
    with ModelServer([Behaviour(body=body, headers={"Content-Type": "text/event-stream"})]) as server:
        assert ask(endpoint(server, "openai")).completion == "# \U0001f600 \ufffd"


@pytest.mark.parametrize("name", SHAPES)
def test_a_stream_cut_anywhere_is_whole_or_an_error(name: str) -> None:
    streams = {end: one.stream for end, one in model_server.ENDPOINTS.items()}
    make = next(stream for end, stream in streams.items() if PATHS[name].endswith(end))
    text = "width, height"
    data = b"".join(make({"model": "m", "stream_options": {"include_usage": True}}, [text], "stop", True))
    whole = 0
    for end in range(len(data) + 1):
        assembly = AnswerAssembly(endpoint_shape(name), 1)
        reader = StreamReader(endpoint_shape(name), assembly)
        try:
            reader.feed(data[:end])
            reader.close()
            assert [choice.text for choice in assembly.complete_choices(streamed=True)] == [text]
            whole += 1
        except BrokenAnswerError:
            continue
    assert 0 < whole < len(data) / 2


@given(st.binary(max_size=300))
def test_any_bytes_are_an_answer_or_an_error_of_ours(data: bytes) -> None:
    for name in SHAPES:
        for framed in (data, b"data: " + data, b'data: {"choices":[' + data + b"]}\n\n"):
            assembly = AnswerAssembly(endpoint_shape(name), 1)
            reader = StreamReader(endpoint_shape(name), assembly)
            with contextlib.suppress(ProviderError):
                reader.feed(framed)
                reader.close()
                assert assembly.complete_choices(streamed=True)


def test_the_page_agrees_with_the_table() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "endpoints.md").read_text(encoding="utf-8")
    for one in endpoint_shapes().values():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{one.name}` |"))
        for word in (one.fill.path, one.base_url, *one.base_url_variables, *one.key_variables):
            assert f"`{word}`" in row
