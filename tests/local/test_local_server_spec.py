"""Names of models on servers of one's own."""

from __future__ import annotations

import pytest

from caretbench.local.server_spec import is_local_server, is_loopback, parse_server_spec
from caretbench.runs.plans.prices import FREE, Prices
from caretbench.runs.plans.roles import refuse_remote


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("server/toy@http://127.0.0.1:8000", ("toy", "http://127.0.0.1:8000")),
        ("server/toy@http://127.0.0.1:8000/v1/", ("toy", "http://127.0.0.1:8000")),
        ("server/org/toy@https://gpu.example/models/v1", ("org/toy", "https://gpu.example/models")),
        ("server/toy@q4_k_m@http://localhost:1234", ("toy@q4_k_m", "http://localhost:1234")),
        ("server/toy@localhost:1234", ("toy", "http://localhost:1234")),
        ("server/@http://[::1]:8000", ("", "http://[::1]:8000")),
        ("toy@gpu.example", ("toy", "http://gpu.example")),
    ],
)
def test_model_and_address(spec: str, expected: tuple[str, str]) -> None:
    assert parse_server_spec(spec) == expected


def test_the_address_may_be_given_apart() -> None:
    assert parse_server_spec("server/toy@q4", "http://localhost:1/v1") == ("toy@q4", "http://localhost:1")
    assert parse_server_spec("server/toy@http://localhost:1", "http://localhost:1/v1").model == "toy"
    with pytest.raises(ValueError, match=r"^server/toy@.*--base-url"):
        parse_server_spec("server/toy@http://localhost:1", "http://localhost:2")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("server/toy", "the address of the server is missing; write server/MODEL@URL"),
        ("server/toy@q4", "is missing"),
        ("server/toy@http://", "is no address of a server"),
        ("server/toy@http://host:port", "is no address of a server"),
        ("server/toy@http://me:secret@host", "has no password, query or fragment; a key is set in SERVER_API_KEY"),
    ],
)
def test_what_is_no_such_name(spec: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        parse_server_spec(spec)
    assert "secret" not in str(caught.value)


def test_a_server_on_this_machine_is_local_and_free(monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = "server/toy@http://127.0.0.1:8000", "server/toy@https://gpu.example"
    assert is_local_server(here)
    assert not is_local_server(there)
    assert not is_local_server("openai/toy@http://127.0.0.1:8000")
    assert not is_local_server("server/toy")
    refuse_remote([here, "vllm/some/path", "hf/some/path"])
    monkeypatch.setenv("VLLM_BASE_URL", "https://gpu.example/v1")
    with pytest.raises(ValueError, match="vllm/some/path is"):
        refuse_remote(["vllm/some/path"])
    with pytest.raises(ValueError, match=r"^--local-only: server/toy@https://gpu\.example"):
        refuse_remote([there])
    assert Prices().find(here) == FREE
    assert Prices().find(there) is None


def test_loopback_addresses() -> None:
    assert is_loopback("http://127.0.0.2:1")
    assert is_loopback("http://[::1]")
    assert not is_loopback("http://[")
    assert not is_loopback("https://example.org")
