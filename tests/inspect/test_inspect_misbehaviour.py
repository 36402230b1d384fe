"""Every way in which a server can misbehave, over real sockets: it ends in an answer or in one clear line, without
the key."""

from __future__ import annotations

import dataclasses
import io
import json
import logging
import traceback

import pytest

from caretbench.errors import MachineError
from caretbench.inspect.client.provider_errors import classify_error, redact_line
from caretbench.models import ModelAnswer, ModelFailure
from tests.support.inspect_clients import CHAT, KEY, TEXT, answered, client_on, failed, request, until_error
from tests.support.model_server import (
    Behaviour,
    ModelServer,
    Recorded,
    answer,
    disconnect,
    drip,
    empty_choices,
    error,
    garbage,
    half_body,
    null_content,
    ramble,
    rate_limited,
    silence,
    wrong_json,
)

SILENCE_S = 3  # long enough that a busy machine has sent the request by then

MISBEHAVIOURS = {
    "rate limited": (rate_limited("0"), "provider", "HTTP 429: slow down"),
    "rate limited, without a hint": (rate_limited(None), "provider", "HTTP 429: slow down"),
    "rate limited until a date": (rate_limited("Wed, 21 Oct 2099 07:28:00 GMT"), "provider", "HTTP 429"),
    "error 500": (error(500), "provider", "HTTP 500: the server has a bad day"),
    "error 503": (error(503, "overloaded"), "provider", "HTTP 503: overloaded"),
    "half a body": (half_body(), "provider", "peer closed connection without sending complete message body"),
    "garbage": (garbage(), "provider", "what came is no answer in the provider's form"),
    "silence": (silence(), "timeout", f"no answer within {SILENCE_S} s"),
    "no choices": (empty_choices(), "provider", "without a choice"),
    "a web page": (Behaviour(body=b"<html>hello</html>", headers={"Content-Type": "text/html"}), "provider", ""),
    "an empty body": (Behaviour(body=b""), "provider", ""),
    "null": (wrong_json("null"), "provider", ""),
    "wrong types": (wrong_json(), "provider", ""),
    "a list": (wrong_json([1, 2]), "provider", ""),
    "choices of wrong types": (
        wrong_json({"id": "x", "model": "m", "object": "o", "created": 1, "choices": [{"message": 7}]}),
        "provider", "",
    ),
}  # fmt: skip

WAYS = [(CHAT, True), (CHAT, False), (TEXT, False)]


def kind_of(model: str) -> str:
    return "text" if model == TEXT else "chat"


@pytest.mark.parametrize(("model", "stream"), WAYS)
@pytest.mark.parametrize("name", MISBEHAVIOURS)
def test_it_is_tried_again_and_answered(monkeypatch, name, model, stream):
    behaviour, _, _ = MISBEHAVIOURS[name]
    timeout = SILENCE_S if name == "silence" else 30
    with (
        ModelServer([behaviour]) as server,
        client_on(monkeypatch, server, model, stream=stream, timeout_s=timeout, max_retries=4) as client,
    ):
        (one,) = answered(client, request(kind=kind_of(model)))
    assert one.text == "return 2 * x"
    assert one.latency is not None
    assert one.latency.attempts == len(server.requests) >= 2


@pytest.mark.parametrize(("model", "stream"), WAYS)
@pytest.mark.parametrize("name", MISBEHAVIOURS)
def test_in_the_end_it_fails_with_one_line(monkeypatch, name, model, stream):
    behaviour, kind, said = MISBEHAVIOURS[name]
    timeout = SILENCE_S if name == "silence" else 30
    with (
        ModelServer(lambda _: behaviour) as server,
        client_on(monkeypatch, server, model, stream=stream, timeout_s=timeout, max_retries=1) as client,
    ):
        one = failed(client, request(kind=kind_of(model)))
    assert one.attempts == len(server.requests) == 2
    assert said in one.message
    assert one.kind == kind
    assert_clear(one.message)


def assert_clear(message: str) -> None:
    assert message
    assert "\n" not in message
    assert "Traceback" not in message
    assert KEY not in message
    assert len(message) <= 500


@pytest.mark.parametrize(
    ("how", "after"), [("abort", 0), *((how, after) for how in ("abort", "clean") for after in range(1, 7))]
)
def test_no_part_of_a_broken_stream_is_an_answer(monkeypatch, how, after):
    """A chat answer of six pieces: role, six texts, finish, usage, end. Only from the finish on is it whole."""
    text = "one two three four five six"
    with ModelServer([disconnect(after, text, how)]) as server, client_on(monkeypatch, server, max_retries=0) as client:
        one = failed(client)
    assert one.kind == "provider"
    assert_clear(one.message)


def test_a_server_that_ignores_the_wish_for_a_stream_is_asked_without(monkeypatch):
    with (
        ModelServer(lambda _request: Behaviour(whole=True)) as server,
        client_on(monkeypatch, server, connections=1, max_retries=0) as client,
    ):
        found = answered(client, *(request(f"question {number}") for number in range(6)))
        asked = [bool(one.body.get("stream")) for one in server.requests]
    assert {one.text for one in found} == {"return 2 * x"}
    assert asked == [*(3 * [True, False]), *(3 * [False])], "after three no stream is asked for"
    assert [one.latency.attempts for one in found] == [2, 2, 2, 1, 1, 1]
    assert all(one.latency.first_s is None for one in found)


def test_requests_in_flight_when_a_stream_is_refused_are_asked_without_too(monkeypatch):
    def refusing(request: Recorded) -> Behaviour | None:
        if not request.body.get("stream"):
            return None
        refusal = error(400, "'stream' is not supported by this model")
        return dataclasses.replace(refusal, pause_s=0.5)  # so that all are asked before one is refused

    with ModelServer(refusing) as server, client_on(monkeypatch, server, connections=4, max_retries=0) as client:
        assert len(answered(client, *(request(f"question {number}") for number in range(4)))) == 4


def test_empty_streams_of_a_server_that_streams_are_accidents(monkeypatch):
    script = [Behaviour(), *(4 * [Behaviour(body=b""), Behaviour()])]
    with ModelServer(script) as server, client_on(monkeypatch, server, connections=1, max_retries=0) as client:
        found = answered(client, *(request(f"question {number}") for number in range(6)))
        assert server.requests[-1].body["stream"] is True
    assert found[-1].latency.first_s is not None


def test_an_error_in_the_middle_of_a_stream_is_no_answer(monkeypatch):
    chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    said = chunk | {"choices": [{"index": 0, "delta": {"content": "half an ans"}, "finish_reason": None}]}
    broken = {"error": {"message": f"the worker died with {KEY}", "type": "server_error", "code": None}}
    body = b"".join(b"data: " + json.dumps(part).encode() + b"\n\n" for part in (said, broken))
    script = [Behaviour(body=body, headers={"Content-Type": "text/event-stream"})] * 2
    with ModelServer(script) as server, client_on(monkeypatch, server, max_retries=1) as client:
        one = failed(client, request("one"))
        assert [found.text for found in answered(client, request("two"))] == ["return 2 * x"]
    assert "died with [redacted]" in one.message
    assert one.attempts == 2


def test_n_samples_of_a_broken_stream_are_none(monkeypatch):
    with ModelServer([disconnect(4)]) as server, client_on(monkeypatch, server, max_retries=0) as client:
        one = failed(client, request(samples=3))
    assert one.samples == (0, 1, 2)


def test_rambling_is_an_answer_that_ended_by_its_length(monkeypatch):
    with ModelServer([ramble(10_000)]) as server, client_on(monkeypatch, server, stream=False) as client:
        (one,) = answered(client)
    assert one.finish_reason == "length"
    assert one.text is not None
    assert len(one.text.split()) == 10_000


def test_a_slow_answer_ends_with_the_try(monkeypatch):
    with ModelServer([drip(0.3)]) as server, client_on(monkeypatch, server, timeout_s=1, max_retries=0) as client:
        one = failed(client)
    assert (one.kind, one.message) == ("timeout", "no answer within 1 s")


def test_the_empty_text_is_an_answer_and_null_is_none(monkeypatch):
    with ModelServer([answer(""), null_content()]) as server, client_on(monkeypatch, server, stream=False) as client:
        empty, nothing = answered(client, request("a")), answered(client, request("b"))
    assert [one.text for one in empty + nothing] == ["", None]
    assert nothing[0].finish_reason == "stop"


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("text", ["\ud800 half a character", "\x00\x1b[31m", "\r\n\u2028é🙂", "data: [DONE]\n\n"])
def test_strange_texts_come_as_they_are(monkeypatch, text, stream):
    with ModelServer([answer(text)]) as server, client_on(monkeypatch, server, stream=stream) as client:
        assert [one.text for one in answered(client)] == [text]


REFUSALS = {
    "malformed": error(400, "messages must not be empty"),
    "too long": error(400, "maximum context length is 4096 tokens", code="context_length_exceeded"),
    "too large": error(413, "request entity too large"),
    "unprocessable": error(422, "temperature must be less than 2"),
    "policy": error(400, "flagged by the content policy", code="content_policy_violation"),
    "filtered": null_content("content_filter"),
}


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("name", REFUSALS)
def test_what_is_refused_is_not_tried_again(monkeypatch, name, stream):
    with ModelServer([REFUSALS[name]]) as server, client_on(monkeypatch, server, stream=stream) as client:
        one = failed(client)
        assert len(server.requests) == 1
        assert len(answered(client, request("next"))) == 1  # the others go on
    assert one.kind == "refused"
    assert_clear(one.message)


# --- a key that is wrong, a model that is not there, nobody at home -------------------------------------------------


@pytest.mark.parametrize("model", [CHAT, TEXT])
def test_a_wrong_key_ends_it_early(monkeypatch, model):
    requests = (request(str(number), kind=kind_of(model)) for number in range(500))
    with ModelServer(key="another-key") as server, client_on(monkeypatch, server, model, connections=4) as client:
        found, message = until_error(client, requests)
    assert "HTTP 401" in message
    assert "check TEST_API_KEY" in message
    assert_clear(message)
    assert 1 <= len(found) <= 5
    assert all(isinstance(one, ModelFailure) and one.kind == "refused" for one in found)
    assert len(server.requests) <= 5


def at_most(script: list[Behaviour], then: Behaviour):
    """A script whose last behaviour goes on for ever."""
    waiting = iter(script)

    def play(_: Recorded) -> Behaviour:
        return next(waiting, then)

    return play


@pytest.mark.parametrize("status", [403, 404])
@pytest.mark.parametrize("model", [CHAT, TEXT])
def test_a_model_that_is_not_there_ends_it_early(monkeypatch, status, model):
    play = at_most([], error(status, "no such model for you"))
    requests = (request(str(number), kind=kind_of(model)) for number in range(50))
    with ModelServer(play) as server, client_on(monkeypatch, server, model, connections=2) as client:
        found, message = until_error(client, requests)
    assert f"HTTP {status}: no" in message
    assert len(found) <= 3
    assert len(server.requests) <= 3


def test_one_forbidden_request_among_answered_ones_is_its_own_matter(monkeypatch):
    script = [answer("fine"), error(403, "flagged by moderation"), answer("fine")]
    with ModelServer(script) as server, client_on(monkeypatch, server, connections=1) as client:
        found = list(client.submit(request(str(number)) for number in range(5)))
    assert [isinstance(one, ModelAnswer) for one in found] == [True, False, True, True, True]
    assert isinstance(found[1], ModelFailure)
    assert (found[1].kind, found[1].attempts) == ("refused", 1)


def test_no_money_ends_it_early(monkeypatch):
    broke = error(429, "You exceeded your current quota", code="insufficient_quota")
    with ModelServer(at_most([], broke)) as server, client_on(monkeypatch, server, connections=1) as client:
        with pytest.raises(MachineError, match="current quota"):
            list(client.submit(request(str(number)) for number in range(50)))
        assert len(server.requests) == 1


def test_nobody_at_the_address_ends_it_early(monkeypatch):
    with ModelServer() as gone:
        pass
    with client_on(monkeypatch, gone, connections=2, max_retries=1) as client:
        found, message = until_error(client, (request(str(number)) for number in range(50)))
    assert "connection" in message.lower()
    assert 1 <= len(found) <= 3


def test_a_server_that_leaves_later_fails_only_what_it_left(monkeypatch):
    with ModelServer() as server, client_on(monkeypatch, server, connections=1, max_retries=1) as client:
        answered(client)
        server.stop()
        found = list(client.submit(request(str(number)) for number in range(4)))
    assert [one.kind for one in found if isinstance(one, ModelFailure)] == ["provider"] * 4


# --- no key anywhere ------------------------------------------------------------------------------------------------


def telling(request: Recorded) -> Behaviour:
    """An error that repeats the key in every form."""
    header = request.headers.get("authorization")
    return error(400, f"bad header {header!r} (api_key={KEY}) at https://x/?key={KEY}\n{KEY}" * 20)


@pytest.mark.parametrize(
    "behaviour", [telling, lambda _: garbage(), lambda _: error(500, f"key {KEY}"), lambda _: half_body()]
)
@pytest.mark.parametrize(("model", "stream"), WAYS)
def test_the_key_is_in_no_message_no_row_and_no_log(monkeypatch, caplog, capfd, behaviour, model, stream):
    caplog.set_level(logging.DEBUG)
    with ModelServer(behaviour) as server, client_on(monkeypatch, server, model, stream=stream) as client:
        one = failed(client, request(kind=kind_of(model)))
        everything = [one.model_dump_json(), repr(client.identity), *client.notices, caplog.text]
    printed = capfd.readouterr()
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert [text for text in [*everything, printed.out, printed.err] if KEY in text] == []
    assert printed.out == printed.err == ""


def test_the_key_is_in_no_traceback(monkeypatch):
    with (
        ModelServer(lambda _: error(401, f"wrong key {KEY}")) as server,
        client_on(monkeypatch, server, model=CHAT) as client,
        pytest.raises(MachineError) as caught,
    ):
        list(client.submit([request()]))
    text = io.StringIO()
    traceback.print_exception(caught.value, file=text)
    assert KEY not in text.getvalue()
    assert "RateLimit" not in text.getvalue()
    assert "Authentication" not in text.getvalue()  # the provider's exceptions are not chained


def test_a_key_that_is_an_argument_is_left_out_too(monkeypatch):
    key = "given-by-hand-77aa"
    monkeypatch.delenv("TEST_API_KEY", raising=False)
    from caretbench.inspect import open_client
    from caretbench.models import ClientOptions

    with ModelServer(lambda _: error(400, f"what is {key}?")) as server:
        options = ClientOptions(base_url=server.url + "/v1", model_args={"api_key": key}, max_retries=0)
        with open_client(CHAT, options=options) as client:
            one = failed(client)
            assert key not in repr(client.identity)
    assert server.requests[0].headers["authorization"] == f"Bearer {key}"
    assert one.message == "HTTP 400: what is [redacted]?"


# --- exceptions of all kinds ----------------------------------------------------------------------------------------


def raised(error: Exception, cause: Exception | None = None) -> Exception:
    """``error`` as it is once raised from ``cause``."""
    try:
        raise error from cause
    except type(error) as caught:
        return caught


@pytest.mark.parametrize(
    ("error", "retryable", "kind"),
    [
        (ConnectionResetError("reset by peer"), True, "provider"),
        (TypeError("'NoneType' object is not subscriptable"), True, "provider"),
        (TimeoutError(), True, "timeout"),
        (ValueError("input message has no text content"), False, "provider"),
        (ImportError("no module named torch"), False, "provider"),
        (RuntimeError("CUDA out of memory"), True, "provider"),
    ],
)
def test_exceptions_without_a_status(error, retryable, kind):
    fault = classify_error(raised(error))
    assert (fault.retryable, fault.kind) == (retryable, kind)
    assert_clear(fault.message)


def test_a_cause_says_more_than_its_wrapper():
    error = raised(RuntimeError("Connection error."), raised(OSError("peer closed connection")))
    assert classify_error(error).message == "OSError: peer closed connection"


def test_messages_are_cut_and_cleaned():
    assert redact_line("a\x1b[31m\nb\tc\r\n" + "x" * 5000).startswith("a [31m b c x")
    assert len(redact_line("x" * 5000)) == 500
