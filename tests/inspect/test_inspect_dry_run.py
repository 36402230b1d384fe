"""Clients of a dry run: no key, no server, and the identity of the run that follows."""

from __future__ import annotations

import pytest

from caretbench.errors import MachineError
from caretbench.inspect import open_client
from caretbench.inspect.client.provider_facts import providers
from caretbench.models import ClientOptions, DryRunOptions, without_sending
from tests.support import own_servers

KEYS = {key.replace("{SERVICE}", "TEST") for facts in providers().values() for key in facts.keys}
SPECS = (
    "openai/gpt-4o-mini", "openai/o3-mini", "openai-api/test/m", "openai-api-completions/test/m", "together/m",
    "openrouter/m", "deepseek/m", "fireworks/m", "perplexity/m", "sambanova/m", "moonshot/m", "meta/m",
    "hf-inference-providers/m", "fim/mistral/m", "fim/deepseek/m", "fim/openai/m",
)  # fmt: skip


@pytest.mark.parametrize("spec", SPECS)
def test_no_key_is_needed_and_the_identity_is_the_runs(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in (*KEYS, "CODESTRAL_API_KEY"):
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setenv("TEST_BASE_URL", "http://127.0.0.1:9/v1")
    with pytest.raises((MachineError, ValueError)):
        open_client(spec).close()
    with without_sending(open_client)(spec, ClientOptions()) as client:
        identity = client.identity
    for key in KEYS:
        monkeypatch.setenv(key, "sk-real-0123456789abcdef")
    with open_client(spec) as client:
        assert client.identity == identity


def test_a_server_is_probed_if_it_is_there() -> None:
    with own_servers.sglang() as server:
        spec = f"server/toy@{server.url}"
        with open_client(spec, DryRunOptions()) as client:
            assert client.accepts == {"chat", "text", "fill"}
    with open_client(spec, DryRunOptions(max_retries=0, retry_wait_s=0)) as client:
        assert client.accepts == {"chat", "text"}
        assert "not probed" in (client.findings or "")
    with own_servers.sglang(key="sk-own-0123456789") as server:
        spec = f"server/toy@{server.url}"
        with open_client(spec, DryRunOptions()) as client:
            assert "SERVER_API_KEY" in (client.findings or "")


def test_options_of_a_dry_run_are_those_of_the_run() -> None:
    given = ClientOptions(connections=3, model_args={"a": 1})
    made: list[ClientOptions] = []

    def opener(_spec: str, options: ClientOptions) -> None:
        made.append(options)

    without_sending(opener)("x/y", given)  # type: ignore[arg-type]
    assert isinstance(made[0], DryRunOptions)
    assert made[0].model_fields_set == given.model_fields_set
    assert made[0].model_dump() == given.model_dump()
