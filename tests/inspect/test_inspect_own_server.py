"""``server/MODEL@URL`` over sockets: what the probe finds, and which endpoint a question goes to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from caretbench.errors import MachineError
from caretbench.inspect import InspectClient, open_client
from caretbench.inspect.client.provider_facts import check_access
from caretbench.local.server_spec import KEY_VARIABLE
from caretbench.models import ClientOptions, ModelAnswer, ModelRequest, Sampling
from caretbench.problem import Caret
from caretbench.prompts import choose
from caretbench.prompts.strategy import PromptBudget
from tests.support import model_server, own_servers
from tests.support.model_server import Behaviour, ModelServer, Recorded

FAST = ClientOptions(retry_wait_s=0.01, retry_wait_limit_s=0.05, timeout_s=30, max_retries=2)
LISTS_TOY = {"/v1/models": lambda _body: own_servers.listing("toy")}
KEY = "sk-own-0123456789abcdef"
QWEN = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>")


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (KEY_VARIABLE, "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)


def opened(server: ModelServer, model: str = "toy", ending: str = "/v1", **options: Any) -> InspectClient:
    return open_client(f"server/{model}@{server.url}{ending}", FAST.model_copy(update=options))


def asked(client: InspectClient, prompt: str | None = None, suffix: str = "\n\nprint(area(2, 3))\n") -> ModelAnswer:
    """The answer to one caret, asked as a run would ask it."""
    strategy = choose(client, prompt)
    caret = Caret(language="python", prefix="def area(w, h):\n    return ", suffix=suffix)
    question = strategy.render(caret, PromptBudget(None, len))
    [answer] = client.submit([ModelRequest(id="one", prompt=question, sampling=Sampling(max_tokens=8))])
    assert isinstance(answer, ModelAnswer), answer
    return answer


Server = Callable[[], ModelServer]
CASES: dict[str, tuple[Server, str, str, str]] = {
    "vllm": (own_servers.vllm, "toy has chat and completions, not FIM; context 32,768 tokens",
             "left-to-right", "/v1/completions"),
    "vllm-family": (lambda: own_servers.vllm("qwen2.5-coder-1.5b"), "has chat and completions, not FIM",
                    "fim/qwen2.5-coder", "/v1/completions"),
    "sglang": (own_servers.sglang, "toy has chat, completions and FIM by /v1/completions", "fill", "/v1/completions"),
    "lm-studio": (own_servers.lm_studio, "toy@q4_k_m has chat and completions, not FIM", "left-to-right",
                  "/v1/completions"),
    "llama-cpp": (own_servers.llama_cpp, "toy.gguf has chat, completions and FIM by /infill; context 4,096 tokens",
                  "fill", "/infill"),
    "llama-cpp-tokens": (lambda: own_servers.llama_cpp(sentinels=QWEN), "FIM by /infill",
                         "fim/qwen2.5-coder", "/v1/completions"),
    "ollama": (own_servers.ollama, "toy:latest has chat, completions and FIM by /api/generate",
               "fill", "/api/generate"),
    "ollama-chat": (lambda: own_servers.ollama(inserts=False), "toy:latest has chat and completions, not FIM",
                    "left-to-right", "/api/generate"),
    "tgi": (own_servers.tgi, "org/toy has chat and completions, not FIM; context 4,096 tokens; top_p not sent",
            "left-to-right", "/v1/completions"),
    "chat": (lambda: own_servers.only("/v1/chat/completions"), "toy has chat, not completions or FIM",
             "chat", "/v1/chat/completions"),
    "completions": (lambda: own_servers.only("/v1/completions"), "toy has completions, not chat or FIM",
                    "left-to-right", "/v1/completions"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_way_follows_from_the_probe(name: str) -> None:
    make, findings, prompt, path = CASES[name]
    with make() as server, opened(server, model="") as client:
        assert findings in (client.findings or "")
        assert choose(client, None).name == prompt
        probes = len(server.requests)
        assert asked(client).text == "return 2 * x"
        assert [request.path for request in server.requests[probes:]] == [path]
        assert all(request.path != "/v1/responses" for request in server.requests)
        assert all("authorization" not in request.headers for request in server.requests)


def test_a_server_that_counts_no_tokens_is_told_how_its_suffix_is_sent() -> None:
    def script(request: Recorded) -> Behaviour | None:
        choice = {"index": 0, "text": "return 2 * x", "finish_reason": "stop"}
        return model_server.wrong_json({"model": "toy", "choices": [choice]}) if "completions" in request.path else None

    with ModelServer(script, paths=("/v1/completions",), about=LISTS_TOY) as server:
        with opened(server) as client:
            assert "-m fim/openai/toy --base-url" in (client.findings or "")
        with own_servers.lm_studio() as counting, opened(counting, model="") as client:
            assert "fim/openai" not in (client.findings or "")


@pytest.mark.parametrize("name", [name for name in CASES if name != "completions"])
def test_the_user_may_choose_a_conversation(name: str) -> None:
    with CASES[name][0]() as server, opened(server, model="") as client:
        assert asked(client, "chat").text == "return 2 * x"
        last = server.requests[-1]
    assert last.path == "/v1/chat/completions"
    assert [message["role"] for message in last.body["messages"]][-1] == "user"
    assert last.body["stream"] is True


def test_a_server_with_nothing_says_what_was_tried() -> None:
    with own_servers.only() as server, pytest.raises(MachineError, match=r"no request for toy \(completions: "):
        opened(server)


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/"])
def test_the_address_may_end_with_v1_or_not(ending: str) -> None:
    with own_servers.vllm() as server, opened(server, ending=ending) as client:
        assert client.identity == {"provider": "server", "address": server.url, "served": "toy"}
        assert asked(client).served_by == "toy-2026"


def test_an_unknown_model_names_those_that_are_listed() -> None:
    with own_servers.only("/v1/completions", models=("one", "two")) as server:
        with pytest.raises(MachineError, match=r"'toy' .*one, two"):
            opened(server)
        with pytest.raises(MachineError, match=r"server/MODEL@http.*one, two"):
            opened(server, model="")


def test_a_server_that_lists_nothing_needs_a_name() -> None:
    with own_servers.only("/v1/completions", models=()) as server:
        with opened(server) as client:
            assert client.identity["served"] == "toy"
        with pytest.raises(MachineError, match="at /v1/models"):
            opened(server, model="")


def test_names_as_servers_spell_them() -> None:
    with own_servers.ollama("qwen:latest") as server, opened(server, model="qwen") as client:
        assert client.identity["served"] == "qwen:latest"
    with own_servers.llama_cpp("/models/small.gguf") as server, opened(server, model="small") as client:
        assert client.identity["served"] == "/models/small.gguf"
    with own_servers.lm_studio("m@q4") as server, opened(server, model="m@q4") as client:
        assert client.identity["served"] == "m@q4"


def test_a_key_is_sent_where_one_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    with own_servers.vllm(key=KEY) as server:
        with pytest.raises(MachineError, match=rf"HTTP 401\): set {KEY_VARIABLE}"):
            opened(server)
        monkeypatch.setenv(KEY_VARIABLE, KEY)
        with opened(server) as client:
            assert asked(client).text == "return 2 * x"
            assert KEY not in str(client.identity)


def test_another_providers_key_is_never_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with own_servers.sglang() as server, opened(server) as client:
        asked(client)
        assert not [one for one in (*server.requests, *server.about) if "authorization" in one.headers]


def posts(server: ModelServer) -> int:
    """The number of requests for an answer."""
    return sum(request.method == "POST" for request in server.requests)


def test_a_server_that_fails_is_given_up_soon_and_named() -> None:
    broken = model_server.error(500, f"out of memory, the key was {KEY}")
    with ModelServer(lambda _: broken, about=LISTS_TOY) as server:
        with pytest.raises(MachineError, match=r"HTTP 500: .* memory") as caught:
            opened(server, max_retries=5)
        assert posts(server) == 5  # the first address is tried three times, the others once
    assert "and fails" in str(caught.value)
    assert KEY not in str(caught.value)


def test_a_server_that_hangs_is_asked_once_each() -> None:
    with ModelServer(lambda _: Behaviour(pause_s=3), about=LISTS_TOY) as server:
        with pytest.raises(MachineError, match=r"0\.3 s.*does not .*--timeout"):
            opened(server, timeout_s=0.3, max_retries=5)
        assert posts(server) == 3


def test_ollamas_conversations_have_no_context_and_say_so() -> None:
    with own_servers.ollama() as server, opened(server, context_tokens=4096) as client:
        assert "OLLAMA_CONTEXT_LENGTH" in client.findings
    with own_servers.ollama() as server, opened(server) as client:
        assert "OLLAMA" not in client.findings


def test_the_probe_stands_a_servers_accidents() -> None:
    accidents = iter([
        model_server.rate_limited(), model_server.error(503), model_server.garbage(), model_server.disconnect(),
        model_server.error(500), model_server.half_body(),
    ])  # fmt: skip
    count = 0

    def every_other(_request: Recorded) -> Behaviour | None:
        nonlocal count
        count += 1
        return next(accidents, None) if count % 2 else None

    with ModelServer(every_other, paths=own_servers.OPENAI_PATHS, about={}) as server, opened(server) as client:
        assert client.accepts == {"chat", "text"}


def test_a_server_that_refuses_streams_is_asked_without() -> None:
    def script(request: Recorded) -> Behaviour | None:
        streamed = (request.body or {}).get("stream")
        return model_server.error(400, "stream is not supported") if streamed else None

    with ModelServer(script, paths=own_servers.OPENAI_PATHS, about={}) as server, opened(server) as client:
        assert "one piece" in (client.findings or "")
        asked(client)
        assert "stream" not in server.requests[-1].body


def test_several_samples_by_one_request() -> None:
    with own_servers.vllm() as server, opened(server) as client:
        strategy = choose(client, None)
        question = strategy.render(Caret(language="python", prefix="a = ", suffix=""), PromptBudget(None, len))
        request = ModelRequest(id="one", prompt=question, samples=(0, 1, 2), sampling=Sampling(max_tokens=8))
        assert len(list(client.submit([request]))) == 3
        assert server.requests[-1].body["n"] == 3


def test_samples_are_asked_one_by_one_where_the_fim_endpoint_has_no_place_for_them() -> None:
    with own_servers.llama_cpp() as server, opened(server, model="") as client:
        strategy = choose(client, None)
        assert strategy.name == "fill"
        question = strategy.render(Caret(language="python", prefix="a = ", suffix="\nb"), PromptBudget(None, len))
        request = ModelRequest(id="one", prompt=question, samples=(0, 1), sampling=Sampling(max_tokens=8))
        assert len(list(client.submit([request]))) == 2
        assert [one.path for one in server.requests[-2:]] == ["/infill", "/infill"]
        assert client.notices == []


def test_nobody_listens() -> None:
    with own_servers.vllm() as server:
        spec = f"server/toy@{server.url}"
    for check in (check_access, open_client):
        with pytest.raises(MachineError, match="model's server"):
            check(spec, FAST)


def test_an_answer_without_text_is_null() -> None:
    def script(request: Recorded) -> Behaviour | None:
        return Behaviour(null=True, whole=True) if (request.body or {}).get("max_tokens") == 8 else None

    with ModelServer(script, paths=own_servers.OPENAI_PATHS, about={}) as server, opened(server) as client:
        assert asked(client, "chat").text is None


# --- OpenAI's provider at an address of one's own -----------------------------------------------------------------


def test_openai_at_a_server_without_the_responses_api_names_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    with own_servers.vllm() as server:
        options = FAST.model_copy(update={"base_url": f"{server.url}/v1"})
        with pytest.raises(MachineError, match=f"-m server/toy@{server.url}/v1"):
            check_access("openai/toy", options)  # there is no key
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        with pytest.raises(ValueError, match=f"Responses .*-m server/toy@{server.url}/v1"):
            open_client("openai/toy", options)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        with pytest.raises(ValueError, match=f"-m server/toy@{server.url}/v1"):
            open_client("openai/toy", FAST)
        with open_client("openai/gpt-4o-mini", FAST) as client:  # is asked by conversations, which the server has
            assert isinstance(client, InspectClient)
