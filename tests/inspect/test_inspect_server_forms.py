"""Forms of answers and errors that servers of OpenAI's interface send: each is an answer, or the provider's fault."""

from __future__ import annotations

import json
import ssl
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from caretbench.errors import MachineError
from caretbench.inspect import InspectClient, open_client
from caretbench.inspect.client.provider_errors import stated_error
from caretbench.models import (
    ChatPrompt,
    ClientOptions,
    Message,
    ModelAnswer,
    ModelFailure,
    ModelRequest,
    Prompt,
    TextPrompt,
)
from caretbench.prompts.registry import family_warning, get_strategy
from tests.support import own_servers
from tests.support.inspect_clients import CHAT, KEY, TEXT
from tests.support.model_server import Behaviour, ModelServer, Recorded, answer, error

ONE_TRY = {"retry_wait_s": 0.01, "retry_wait_limit_s": 0.05, "timeout_s": 30, "max_retries": 0}
WAYS = ("server/toy@{}", CHAT, TEXT)


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_API_KEY", KEY)


def asked(
    monkeypatch: pytest.MonkeyPatch, way: str, script: Callable[[Recorded], Behaviour | None],
    stop: tuple[str, ...] = (), text: str = "go on",
) -> tuple[ModelAnswer | ModelFailure, InspectClient, ModelServer]:  # fmt: skip
    """What comes of one request by a way; the probe of ``server/`` asks for one token, and gets an ordinary answer."""

    def after_probe(asked: Recorded) -> Behaviour | None:
        return None if (asked.body or {}).get("max_tokens") == 1 else script(asked)

    about = {"/v1/models": lambda _: own_servers.listing("toy")}
    with ModelServer(after_probe, paths=own_servers.OPENAI_PATHS, about=about) as server:
        monkeypatch.setenv("TEST_BASE_URL", f"{server.url}/v1")
        with open_client(way.format(server.url), ClientOptions(**ONE_TRY)) as client:
            kind: Prompt = TextPrompt(text=text, stop=stop)
            if way == CHAT:
                kind = ChatPrompt(messages=(Message(role="user", text=text),), stop=stop)
            [found] = client.submit([ModelRequest(id="one", prompt=kind)])
            return found, client, server


def events(request: Recorded, *pieces: Any, half: str = "return 2") -> Behaviour:
    """A stream of half a text and these events; where none is asked for, the last of them in one piece."""
    if not (request.body or {}).get("stream"):
        return Behaviour(body=json.dumps(pieces[0]).encode())
    delta = {"delta": {"content": half}} if request.path.endswith("/chat/completions") else {"text": half}
    first = {"model": "toy", "choices": [{"index": 0, "finish_reason": None} | delta]}
    lines = [b"data: " + json.dumps(piece).encode() for piece in (first, *pieces)]
    return Behaviour(body=b"\n\n".join([*lines, b"data: [DONE]", b""]), headers={"Content-Type": "text/event-stream"})


_ERRORS = (
    {"object": "error", "message": "engine died", "type": "InternalServerError", "code": 500},
    {"error": {"message": "engine died"}},
    {"error": "engine died", "error_type": "generation"},
    {"type": "error", "error": {"type": "overloaded", "message": "engine died"}},
    {"detail": "engine died"},
    {"message": "engine died", "code": 40303},
    {"errors": [{"msg": "engine died"}], "success": False},
)


@pytest.mark.parametrize("way", WAYS)
def test_an_error_in_a_stream_or_with_status_200_is_the_providers_and_is_quoted(monkeypatch, way: str) -> None:
    for piece in _ERRORS if way == CHAT else _ERRORS[:3]:
        found, _, _ = asked(monkeypatch, way, lambda request, piece=piece: events(request, piece))
        assert isinstance(found, ModelFailure), piece
        assert found.kind == "provider"
        assert "engine died" in found.message, piece


def test_an_event_called_error_is_an_error(monkeypatch) -> None:
    body = b'data: {"choices": [{"index": 0, "text": "half"}]}\n\nevent: error\ndata: engine died\n\n'
    script = lambda _: Behaviour(body=body, headers={"Content-Type": "text/event-stream"})  # noqa: E731
    found, _, _ = asked(monkeypatch, WAYS[0], script)
    assert isinstance(found, ModelFailure)
    assert "engine died" in found.message


@pytest.mark.parametrize("way", WAYS)
def test_an_engine_that_gives_up_gives_no_answer(monkeypatch, way: str) -> None:
    for reason in ("abort", "cancelled", "error"):
        found, _, _ = asked(monkeypatch, way, lambda _, reason=reason: answer("return 2", finish=reason))
        assert isinstance(found, ModelFailure), reason
        assert found.kind == "provider"


@pytest.mark.parametrize("way", WAYS)
def test_stop_texts_that_a_server_refuses_are_applied_here(monkeypatch, way: str) -> None:
    stop = tuple(f"<|{number}a|>".replace("|", "") for number in range(6))
    for limit in (4, 1, 0):

        def script(request: Recorded, limit: int = limit) -> Behaviour:
            given = request.body.get("stop") or []
            refused = error(422, f"`stop` supports up to {limit} stop sequences. Given: {given}")
            return refused if len(given) > limit else answer("a b<5a> c")

        found, _, server = asked(monkeypatch, way, script, stop)
        assert isinstance(found, ModelAnswer), (limit, found)
        assert (found.text, found.finish_reason) == ("a b", "stop")
        assert len(server.requests[-1].body.get("stop") or []) == limit


def test_an_end_token_that_a_server_leaves_stays_for_the_report_and_what_follows_goes(monkeypatch) -> None:
    for way in WAYS:
        found, _, _ = asked(monkeypatch, way, lambda _: answer("return 2<|fim_pad|>import os"), ("<|fim_pad|>",))
        assert isinstance(found, ModelAnswer)
        assert (found.text, found.finish_reason) == ("return 2<|fim_pad|>", "stop")


def test_content_in_parts_is_the_text_of_those_that_are_no_thinking(monkeypatch) -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "return 2"}]
    whole = {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": parts}}]}
    piece = {"choices": [{"index": 0, "finish_reason": "stop", "delta": {"content": parts}}]}

    def script(request: Recorded) -> Behaviour | None:
        if not request.path.endswith("/chat/completions"):
            return error(404, "no such address")
        streamed = (request.body or {}).get("stream")
        return events(request, piece, half="") if streamed else Behaviour(body=json.dumps(whole).encode())

    found, _, _ = asked(monkeypatch, CHAT, script)
    assert isinstance(found, ModelAnswer), found
    assert found.text == "return 2"


@pytest.mark.parametrize("way", WAYS)
def test_json_is_read_by_its_first_byte(monkeypatch, way: str) -> None:
    def script(request: Recorded) -> Behaviour:
        chat = request.path.endswith("/chat/completions")
        said = {"message": {"role": "assistant", "content": "return 2"}} if chat else {"text": "return 2"}
        body = b" \n" + json.dumps({"choices": [{"index": 0, "finish_reason": "stop"} | said]}).encode()
        return Behaviour(body=body, headers={"Content-Type": "text/plain; charset=utf-8"})

    found, _, _ = asked(monkeypatch, way, script)
    assert isinstance(found, ModelAnswer), found
    assert found.text == "return 2"


def test_a_server_that_cuts_the_prompt_is_told_with_the_counts(monkeypatch) -> None:
    long = "def area(width, height):\n    return width * height\n" * 100

    def script(tokens: int, *, truncated: bool) -> Callable[[Recorded], Behaviour]:
        usage = {"prompt_tokens": tokens, "completion_tokens": 3, "total_tokens": tokens + 3}
        whole = {
            "choices": [{"index": 0, "finish_reason": "stop", "text": "x"}],
            "usage": usage,
            "truncated": truncated,
        }
        return lambda _: Behaviour(body=json.dumps(whole).encode())

    for way in (WAYS[0], TEXT):
        _, client, _ = asked(monkeypatch, way, script(150, truncated=False), text=long)
        assert any("150 tokens for 700" in line for line in client.notices)
        _, client, _ = asked(monkeypatch, way, script(1500, truncated=True), text=long)
        assert any("counts 1,500 tokens" in line for line in client.notices)
        _, client, _ = asked(monkeypatch, way, script(1500, truncated=False), text=long)
        assert not client.notices


def test_a_fim_prompt_of_another_family_than_the_tokenizers_is_warned_of() -> None:
    qwen = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>")
    with (
        own_servers.llama_cpp(sentinels=qwen) as server,
        open_client(f"server/@{server.url}", ClientOptions(**ONE_TRY)) as client,
    ):
        told = family_warning(get_strategy("fim/starcoder2"), client) or ""
        assert "no <fim_prefix>" in told
        assert "fim/qwen2.5-coder" in told
        assert family_warning(get_strategy("fim/qwen2.5-coder"), client) is None
        assert family_warning(get_strategy("chat"), client) is None


def test_a_certificate_of_ones_own_is_taken_by_its_variable(monkeypatch, tmp_path) -> None:
    pem, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["/usr/bin/openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", pem],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, key)
    made = own_servers.only("/v1/completions")
    made.encrypt(context)
    with made as server:
        address = server.url.replace("http://", "https://")
        with pytest.raises(MachineError, match="SSL_CERT_FILE"):
            open_client(f"server/toy@{address}", ClientOptions(**ONE_TRY))
        with pytest.raises(MachineError, match="try https://"):
            open_client(f"server/toy@{server.url}", ClientOptions(**ONE_TRY))
        monkeypatch.setenv("SSL_CERT_FILE", str(pem))
        with open_client(f"server/toy@{address}", ClientOptions(**ONE_TRY)) as client:
            assert client.accepts == {"text"}


def test_what_answers_hold_is_no_error() -> None:
    for piece in (
        {"choices": [], "usage": None},
        {"content": "x", "stop": True},
        {"response": "", "done": True},
        {"id": 1},
    ):
        assert stated_error(piece) is None
