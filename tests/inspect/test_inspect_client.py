"""The client on Inspect's own providers, over real sockets: what is sent, what is given, and how it ends."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from caretbench.errors import DataError, MachineError
from caretbench.inspect import InspectClient, open_client
from caretbench.inspect.client.provider_facts import provider_facts, providers
from caretbench.models import (
    ChatPrompt,
    ClientOptions,
    FillPrompt,
    Message,
    ModelAnswer,
    ModelFailure,
    ModelRequest,
    Sampling,
    TextPrompt,
)
from caretbench.problem import ContextFile
from tests.support.inspect_clients import CHAT, KEY, TEXT, answered, client_on, failed, outcomes, request
from tests.support.model_server import ModelServer, answer, drip, rate_limited

# --- what is sent ---------------------------------------------------------------------------------------------------


def test_a_conversation_is_sent_with_everything_said(monkeypatch):
    asked = ModelRequest(
        id="one",
        prompt=ChatPrompt(
            messages=(Message(role="system", text="be brief"), Message(role="user", text="def f(")),
            stop=("\n\n", "END"),
        ),
        sampling=Sampling(max_tokens=77, temperature=0.3, top_p=0.9, seed=5),
    )
    with ModelServer(key=KEY) as server, client_on(monkeypatch, server) as client:
        (one,) = answered(client, asked)
    assert one.text == "return 2 * x"
    (sent,) = server.requests
    assert sent.body["messages"] == [{"role": "system", "content": "be brief"}, {"role": "user", "content": "def f("}]
    expected = {"max_tokens": 77, "temperature": 0.3, "top_p": 0.9, "seed": 5, "stop": ["\n\n", "END"]}
    assert {name: sent.body[name] for name in expected} == expected
    assert "n" not in sent.body


def test_what_is_none_is_not_sent(monkeypatch):
    with ModelServer() as server, client_on(monkeypatch, server) as client:
        answered(client, request(temperature=None, top_p=None))
    assert not {"temperature", "top_p", "seed", "stop", "n"} & set(server.requests[0].body)
    assert server.requests[0].body["max_tokens"] == 800


def test_a_text_is_sent_as_it_is(monkeypatch):
    asked = ModelRequest(id="one", prompt=TextPrompt(text="<PRE>a <SUF>b <MID>", stop=("<EOT>",)))
    with ModelServer() as server, client_on(monkeypatch, server, TEXT) as client:
        assert client.accepts == {"text"}
        answered(client, asked)
    body = server.requests[0].body
    assert server.requests[0].path == "/v1/completions"
    assert body["prompt"] == "<PRE>a <SUF>b <MID>"
    assert body["stop"] == ["<EOT>"]
    assert body["max_tokens"] == 800  # Inspect's own value for this endpoint is 1


def test_a_schema_is_asked_for_strictly(monkeypatch):
    schema = {
        "type": "object",
        "properties": {"score": {"type": "integer"}},
        "required": ["score"],
        "additionalProperties": False,
    }
    asked = ModelRequest(
        id="one",
        prompt=ChatPrompt(messages=(Message(role="user", text="rate"),), schema_name="rating", json_schema=schema),
    )
    with ModelServer(answer='{"score": 3}') as server, client_on(monkeypatch, server) as client:
        answered(client, asked)
    form = server.requests[0].body["response_format"]
    assert form["type"] == "json_schema"
    assert form["json_schema"]["name"] == "rating"
    assert form["json_schema"]["strict"] is True
    assert form["json_schema"]["schema"] == schema


def test_a_caret_travels_in_the_metadata():
    from caretbench.inspect.client.messages import messages_of

    (message,) = messages_of(
        FillPrompt(
            prefix="a = ", suffix="\n", language="python", path="m.py", stop=("\n",),
            files=(ContextFile(path="b.py", text="b = 1"),),
        )
    )  # fmt: skip
    assert message.content == "a = "
    assert message.metadata == {
        "prefix": "a = ", "suffix": "\n", "language": "python", "path": "m.py", "instruction": None,
        "files": [{"path": "b.py", "text": "b = 1"}], "stop": ["\n"],
    }  # fmt: skip


def test_a_prompt_that_the_provider_does_not_take_is_not_sent(monkeypatch):
    with ModelServer() as server, client_on(monkeypatch, server) as client:
        one = failed(client, request(kind="text"))
    assert one.kind == "unpromptable"
    assert one.message == f"{CHAT} takes prompts of the kind chat, not text"
    assert not server.requests


# --- several samples ------------------------------------------------------------------------------------------------


def numbered(_request: object, index: int) -> str:
    return f"answer {index}"


@pytest.mark.parametrize("model", [CHAT, TEXT])
@pytest.mark.parametrize("stream", [True, False])
def test_n_samples_come_by_one_request_and_share_its_usage(monkeypatch, model, stream):
    with ModelServer(answer=numbered) as server, client_on(monkeypatch, server, model, stream=stream) as client:
        found = answered(client, request(kind=next(iter(client.accepts)), samples=5))
    assert [one.text for one in found] == [f"answer {index}" for index in range(5)]
    assert [sent.body["n"] for sent in server.requests] == [5]
    for one in found:
        assert one.usage is not None
        assert one.usage.answers == 5
        assert one.usage.output_tokens == 10  # two words each
        assert one.latency == found[0].latency


def test_where_the_provider_has_no_n_they_come_singly(monkeypatch):
    with ModelServer() as server, client_on(monkeypatch, server, per_request=False) as client:
        found = answered(client, request(samples=3))
    assert [one.sample for one in found] == [0, 1, 2]
    assert [one.usage.answers for one in found if one.usage] == [1, 1, 1]
    assert ["n" in sent.body for sent in server.requests] == [False] * 3


def test_fewer_choices_than_asked_for_are_made_up_singly(monkeypatch):
    with ModelServer([answer("first", choices=2)]) as server, client_on(monkeypatch, server, connections=1) as client:
        found = answered(client, request(samples=4), request("two", samples=2))
    assert [(one.request_id, one.sample) for one in found] == [
        ("one", 0), ("one", 1), ("one", 2), ("one", 3), ("two", 0), ("two", 1),
    ]  # fmt: skip
    assert [one.usage.answers for one in found if one.usage] == [2, 2, 1, 1, 1, 1]
    # After that, the provider is not trusted with n any more.
    assert [sent.body.get("n") for sent in server.requests] == [4, None, None, None, None]


def test_a_provider_that_refuses_n_is_asked_singly(monkeypatch):
    from tests.support.model_server import error

    with ModelServer([error(400, "n must be at most 1")]) as server, client_on(monkeypatch, server) as client:
        found = answered(client, request(samples=3))
    assert len(found) == 3
    assert [sent.body.get("n") for sent in server.requests] == [3, None, None, None]


def test_a_seed_goes_with_each_sample(monkeypatch):
    with ModelServer() as server, client_on(monkeypatch, server) as client:
        answered(client, request(samples=3, seed=100))
    assert sorted(sent.body["seed"] for sent in server.requests) == [100, 101, 102]


@pytest.mark.parametrize("stream", [True, False])
def test_openai_itself_goes_by_chat_completions(monkeypatch, stream):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ModelServer(answer=numbered, key=KEY) as server:
        options = ClientOptions(base_url=server.url + "/v1", stream=stream)
        with open_client("openai/gpt-4o-mini", options=options) as client:
            found = answered(client, request(samples=2))
    assert [one.text for one in found] == ["answer 0", "answer 1"]
    (sent,) = server.requests
    assert (sent.path, sent.body["n"], sent.body["model"]) == ("/v1/chat/completions", 2, "gpt-4o-mini")


def test_the_responses_api_has_no_n(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with open_client("openai/gpt-4o-mini") as chat, open_client("openai/gpt-5-mini") as responses:
        assert chat._exchange.together
        assert not responses._exchange.together


# --- what is given --------------------------------------------------------------------------------------------------


def test_usage_latency_and_name(monkeypatch):
    with ModelServer() as server, client_on(monkeypatch, server) as client:
        (one,) = answered(client)
    assert one.finish_reason == "stop"
    assert one.served_by == "model-2026"
    assert one.usage is not None
    assert (one.usage.input_tokens, one.usage.output_tokens) == (5, 4)
    assert one.latency is not None
    assert one.latency.first_s is not None
    assert 0 < one.latency.first_s <= one.latency.last_s < 10
    assert one.latency.attempts == 1


def test_first_and_last_token_are_told_apart_where_it_streams(monkeypatch):
    with ModelServer([drip(0.1)]) as server, client_on(monkeypatch, server) as client:
        (one,) = answered(client)
    assert one.latency is not None
    assert one.latency.first_s is not None
    assert one.latency.last_s - one.latency.first_s > 0.3


@pytest.mark.parametrize(("model", "options"), [(CHAT, {"stream": False}), (TEXT, {})])
def test_an_answer_in_one_piece_has_no_first_token(monkeypatch, model, options):
    with ModelServer() as server, client_on(monkeypatch, server, model, **options) as client:
        (one,) = answered(client)
    assert one.latency is not None
    assert one.latency.first_s is None


def test_no_usage_is_none(monkeypatch):
    with ModelServer([answer("x", usage=False)]) as server, client_on(monkeypatch, server) as client:
        (one,) = answered(client)
    assert one.usage is None


def test_a_server_that_does_not_stream_is_asked_without(monkeypatch):
    from tests.support.model_server import error

    script = [error(400, "'stream' is not supported by this model")]
    with ModelServer(script) as server, client_on(monkeypatch, server) as client:
        answered(client, request("one"))
        answered(client, request("two"))
    assert [sent.body.get("stream") for sent in server.requests] == [True, None, None]


def test_latency_is_of_the_last_try(monkeypatch):
    script = [rate_limited("0.4")]
    with ModelServer(script) as server, client_on(monkeypatch, server, retry_wait_limit_s=1) as client:
        (one,) = answered(client)
    assert one.latency is not None
    assert one.latency.attempts == 2
    gap = server.requests[1].at - server.requests[0].at
    assert gap >= 0.4  # as the server asked
    assert one.latency.last_s < gap


# --- how much at once, and how it ends ------------------------------------------------------------------------------


def test_requests_are_taken_as_they_can_be_sent(monkeypatch):
    taken = 0
    given = 0
    most = 0

    def requests() -> Iterator[ModelRequest]:
        nonlocal taken
        for number in range(30):
            taken += 1
            yield request(str(number))

    slow = [answer("x", pause_s=0.02) for _ in range(30)]
    with ModelServer(slow) as server, client_on(monkeypatch, server, connections=3) as client:
        for _ in client.submit(requests()):
            given += 1
            most = max(most, taken - given)
    assert given == 30
    assert most <= 3
    assert 2 <= server.most_at_once <= 3


def test_answers_come_as_soon_as_they_are_there(monkeypatch):
    script = [answer("slow", pause_s=3600)]
    with ModelServer(script) as server, client_on(monkeypatch, server, connections=2) as client:
        found = client.submit(request(str(number)) for number in range(6))
        assert [next(found).request_id != "" for _ in range(5)] == [True] * 5
        found.close()


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("caretbench ")]


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, RuntimeError])
def test_an_exception_in_the_caller_cancels_quickly(monkeypatch, interruption):
    script = [answer("quick"), *(answer("slow", pause_s=3600) for _ in range(20))]
    with ModelServer(script) as server:
        with client_on(monkeypatch, server, connections=4) as client:
            with pytest.raises(interruption):  # noqa: PT012 - the loop is what is interrupted
                for _ in client.submit(request(str(number)) for number in range(20)):
                    began = time.monotonic()
                    raise interruption
            assert time.monotonic() - began < 3
        assert threads() == []


def test_closing_the_generator_cancels_and_the_client_goes_on(monkeypatch):
    script = [answer("quick"), answer("slow", pause_s=3600), answer("slow", pause_s=3600)]
    with ModelServer(script) as server, client_on(monkeypatch, server, connections=3) as client:
        found = client.submit(request(str(number)) for number in range(3))
        next(found)
        began = time.monotonic()
        found.close()
        assert time.monotonic() - began < 3
        assert len(answered(client, request("again"))) == 1


def test_an_error_of_the_requests_reaches_the_caller(monkeypatch):
    def requests() -> Iterator[ModelRequest]:
        yield request("one")
        raise LookupError("no more prompts")

    with ModelServer() as server, client_on(monkeypatch, server) as client:  # noqa: SIM117 - as above
        with pytest.raises(LookupError, match="no more prompts"):
            list(client.submit(requests()))


def test_a_closed_client_says_so(monkeypatch):
    with ModelServer() as server:
        with client_on(monkeypatch, server) as client:
            pass
        client.close()
        with pytest.raises(MachineError, match="closed"):
            list(client.submit([request()]))
        assert threads() == []


def test_nothing_to_ask_sends_nothing(monkeypatch):
    with ModelServer() as server, client_on(monkeypatch, server) as client:
        assert list(client.submit(())) == []
        assert client.identity == {"provider": "openai-api", "address": server.url + "/v1"}
    assert not server.requests


def test_two_clients_do_not_share_a_limit(monkeypatch):
    with (
        ModelServer([answer("x", pause_s=0.2) for _ in range(8)]) as server,
        client_on(monkeypatch, server, connections=1) as narrow,
        client_on(monkeypatch, server, connections=4) as wide,
    ):
        answered(narrow, request())
        answered(wide, *(request(str(number)) for number in range(4)))
        assert server.most_at_once > 1


# --- opening --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "kind", "said"),
    [
        ("gpt-4o", ValueError, "PROVIDER/MODEL"),
        ("nope/model", ValueError, "there is no provider 'nope'; `caretbench models list`"),
        ("opnai/gpt-4o", ValueError, "there is no provider 'opnai' (did you mean openai?)"),
        ("openai-api/model", ValueError, "service prefix"),
        ("openai-api/absent/model", MachineError, "ABSENT_API_KEY"),
        ("anthropic/claude", MachineError, "pip install anthropic"),
        ("openai/gpt-4o", MachineError, "OPENAI_API_KEY"),
    ],
)
def test_what_is_missing_is_named_when_opening(monkeypatch, spec, kind, said):
    for name in ("OPENAI_API_KEY", "AZUREAI_OPENAI_API_KEY", "AZURE_OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    hook = sys.excepthook
    with pytest.raises(kind) as caught:
        open_client(spec)
    message = str(caught.value)
    assert said in message
    assert "\n" not in message
    assert "[/" not in message  # no markup
    assert sys.excepthook is hook


def test_a_wrong_argument_is_named(monkeypatch):
    monkeypatch.setenv("TEST_API_KEY", KEY)
    with pytest.raises(ValueError, match="no_such_argument"):
        open_client(CHAT, options=ClientOptions(base_url="http://127.0.0.1:9/v1", model_args={"no_such_argument": 1}))


def test_identity_holds_the_address_and_no_password(monkeypatch):
    monkeypatch.setenv("TEST_API_KEY", KEY)
    options = ClientOptions(base_url="http://me:swordfish@127.0.0.1:9/v1?key=abcdefgh", model_args={"stream": True})
    with open_client(CHAT, options=options) as client:
        assert client.identity == {
            "provider": "openai-api", "address": "http://127.0.0.1:9/v1", "arguments": {"stream": True},
        }  # fmt: skip
        assert client.name == CHAT


def test_options_name_what_they_do_not_know():
    with pytest.raises(ValueError, match="conections"):
        ClientOptions.model_validate({"conections": 3})


def test_the_table_of_providers_is_read():
    assert provider_facts("openai-api-completions").accepts == {"text"}
    assert provider_facts("some-new-one").accepts == {"chat"}
    assert not provider_facts("some-new-one").together
    assert all(set(known.options) <= set(ClientOptions.model_fields) for known in providers().values())


def test_inspect_is_not_imported_before_a_client_is_opened():
    code = (
        "import sys, caretbench.models, caretbench.inspect.client.client;"
        "import caretbench.inspect.client.client_factory;"
        "from caretbench.inspect import open_client; sys.exit('inspect_ai' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- tokens ---------------------------------------------------------------------------------------------------------


def tokenizer_file(folder: Path) -> Path:
    pytest.importorskip("tokenizers")
    path = folder / "tokenizer.json"
    words = {"[UNK]": 0, "def": 1, "f": 2, "<fim_prefix>": 3}
    table = {
        "version": "1.0",
        "added_tokens": [
            {"id": 3, "content": "<fim_prefix>", "single_word": False, "lstrip": False, "rstrip": False,
             "normalized": False, "special": False},
        ],
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "vocab": words, "unk_token": "[UNK]"},
    }  # fmt: skip
    path.write_text(json.dumps(table))
    return path


def test_tokens_are_counted_by_the_models_tokenizer(monkeypatch, tmp_path):
    with ModelServer() as server, client_on(monkeypatch, server, tokenizer=tokenizer_file(tmp_path)) as client:
        assert client.count_tokens("def f def") == 3
        assert client.count_tokens("<fim_prefix>f") == 2
        assert client.special_tokens() == {"<fim_prefix>"}
        assert client.control_tokens() == frozenset()


@pytest.mark.parametrize("split", [False, True])
def test_sentinels_of_the_plain_vocabulary_count_where_they_are_read_whole(monkeypatch, tmp_path, split):
    path = tokenizer_file(tmp_path)
    table = json.loads(path.read_text())
    sentinels = ["<PRE>", "<SUF>", "<MID>", "<EOT>"]  # CodeLlama has them among its words
    table["model"]["vocab"] |= {word: number for number, word in enumerate(sentinels, 4)}
    table["pre_tokenizer"] = {"type": "Whitespace" if split else "WhitespaceSplit"}
    table["added_tokens"].append(table["added_tokens"][0] | {"id": 8, "content": "<s>", "special": True})
    path.write_text(json.dumps(table))
    with ModelServer() as server, client_on(monkeypatch, server, tokenizer=path) as client:
        assert client.special_tokens() == {"<fim_prefix>", "<s>", *(() if split else sentinels)}
        assert client.control_tokens() == {"<s>"}


def test_stop_texts_beyond_what_the_provider_takes_end_the_answer_here(monkeypatch):
    stop = tuple(f"<{number}>" for number in range(6))
    prompt = ChatPrompt(messages=(Message(role="user", text="?"),), stop=stop)
    asked = ModelRequest(id="one", prompt=prompt)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for model, sent, text in (("openai/gpt-4o", 4, "a b"), (CHAT, 6, "a b")):
        with ModelServer(answer="a b<5> c<4> d") as server:
            reached = {"base_url": f"{server.url}/v1"} if model != CHAT else {}
            with client_on(monkeypatch, server, model, **reached) as client:
                (one,) = answered(client, asked)
        assert (one.text, one.finish_reason) == (text, "stop")
        assert server.requests[0].body["stop"] == list(stop[:sent])


def test_without_a_tokenizer_nothing_is_claimed(monkeypatch):
    with ModelServer() as server, client_on(monkeypatch, server) as client:
        assert client.count_tokens("def f") is None
        assert client.special_tokens() is None
        assert client.context_tokens is None
    with ModelServer() as server, client_on(monkeypatch, server, context_tokens=4096) as client:
        assert client.context_tokens == 4096


def test_what_is_no_tokenizer_is_refused(monkeypatch, tmp_path):
    pytest.importorskip("tokenizers")
    path = tmp_path / "tokenizer.json"
    path.write_text("{}")
    with pytest.raises(DataError, match=r"no tokenizer\.json"):
        open_client(CHAT, options=ClientOptions(tokenizer=path))
    with pytest.raises(DataError, match=r"/absent\.json.*No such"):
        open_client(CHAT, options=ClientOptions(tokenizer=tmp_path / "absent.json"))


# --- what it costs --------------------------------------------------------------------------------------------------


def instant(connections: int = 8) -> InspectClient:
    """A client on a model that answers at once."""
    client = open_client("mockllm/instant", options=ClientOptions(connections=connections))
    from inspect_ai.model import ModelOutput, ModelUsage

    def reply(*_: object) -> ModelOutput:
        output = ModelOutput.from_content("instant", "return 2 * x")
        output.usage = ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)
        return output

    client._api.outputs = reply
    return client


def resident_mib() -> float:
    """Memory of this process now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def measure_calls() -> None:
    """Print the CPU milliseconds of a call and the MiB that 5,000 calls add after 2,000."""
    prompt = ChatPrompt(messages=(Message(role="user", text="x = 1\n" * 300),))

    def requests(count: int) -> Iterator[ModelRequest]:
        for number in range(count):
            yield ModelRequest(id=str(number), prompt=prompt)

    with instant() as client:
        assert sum(isinstance(one, ModelAnswer) for one in client.submit(requests(2000))) == 2000
        before = resident_mib()
        began = time.process_time()
        assert sum(isinstance(one, ModelAnswer) for one in client.submit(requests(5000))) == 5000
        print((time.process_time() - began) / 5, resident_mib() - before)  # noqa: T201


@pytest.mark.long
def test_memory_is_flat_and_calls_are_cheap():
    # A process of its own: pytest keeps each record of a log, 10,000 of them where another test turned Inspect's on.
    done = subprocess.run(
        [sys.executable, "-c", "from tests.inspect.test_inspect_client import measure_calls; measure_calls()"],
        check=False, capture_output=True, text=True, timeout=600, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    each_ms, grown = map(float, done.stdout.split())
    assert grown < 9
    assert each_ms < 10


def test_an_instant_model_answers_all_kinds():
    prompts = (
        ChatPrompt(messages=(Message(role="user", text="x"),)),
        TextPrompt(text="x"),
        FillPrompt(prefix="x", suffix="y", language="python"),
    )
    with instant() as client:
        requests = [ModelRequest(id=prompt.kind, prompt=prompt, samples=(0, 3)) for prompt in prompts]
        found = outcomes(client, *requests)
    assert not [one for one in found if isinstance(one, ModelFailure)]
    assert len(found) == 6


INTERRUPTED = """
import os, signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background would leave it ignored
from tests.support.inspect_clients import CHAT, open_client, request
from tests.support.model_server import ModelServer, answer, silence

with ModelServer([answer("x")] + [silence()] * 9) as server:
    os.environ |= {"TEST_API_KEY": "test-key-5f2c9e71d0", "TEST_BASE_URL": server.url + "/v1"}
    try:
        with open_client(CHAT) as client:
            for _ in client.submit(request(str(number)) for number in range(20)):
                threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    except KeyboardInterrupt:
        left = [thread.name for thread in threading.enumerate() if thread.name.startswith("caretbench ")]
        print("interrupted", left)
"""


@pytest.mark.long
def test_an_interruption_ends_a_waiting_client_without_noise():
    done = subprocess.run(
        [sys.executable, "-W", "default::ResourceWarning", "-c", INTERRUPTED],
        check=False, capture_output=True, text=True, timeout=300, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.stdout == "interrupted []\n"
    assert done.stderr == ""


def test_a_model_on_this_machine_has_more_time_for_an_answer_unless_told_otherwise(monkeypatch):
    monkeypatch.setitem(providers(), "mockllm", provider_facts("mockllm").model_copy(update={"timeout_s": 7}))
    assert provider_facts("gguf").timeout_s == 1800
    for options, expected in ((ClientOptions(), 7), (ClientOptions(timeout_s=120), 120)):
        with open_client("mockllm/slow", options=options) as client:
            assert client.options.timeout_s == expected


def test_garbage_is_collected_again_after_opening(monkeypatch):
    monkeypatch.setenv("TEST_API_KEY", KEY)
    program = (
        "import gc, sys; from caretbench.inspect import open_client; from caretbench.models import ClientOptions\n"
        f"open_client({CHAT!r}, options=ClientOptions(base_url='http://127.0.0.1:9/v1'))\n"
        "assert gc.isenabled() and 'inspect_ai' in sys.modules and gc.get_freeze_count() > 100_000"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_mock_model_answers_without_a_file_from_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inspect counts the tokens of a mock answer by a file that it downloads."""
    import tiktoken

    def downloads(_name: str) -> None:
        raise AssertionError("the tokens are counted")

    monkeypatch.setattr(tiktoken, "get_encoding", downloads)
    with open_client("mockllm/model", options=ClientOptions(max_retries=0)) as client:
        [answer] = client.submit(
            [ModelRequest(id="one", prompt=ChatPrompt(messages=(Message(role="user", text="a"),)))]
        )
    assert isinstance(answer, ModelAnswer), answer
    assert answer.text == "Default output from mockllm/model"
