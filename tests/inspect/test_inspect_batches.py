"""Batch interfaces of OpenAI and Anthropic, by a scripted server: delays, partial results, expiry, stops."""

from __future__ import annotations

from pathlib import Path

import pytest

from caretbench.build.sources.github.client import GithubClient
from caretbench.errors import MachineError, UsageError
from caretbench.inspect.client.batches import BatchClient
from caretbench.models import ChatPrompt, ClientOptions, Message, ModelAnswer, ModelFailure, ModelRequest
from tests.support.batch_server import BatchServer

SPECS = ("openai/gpt-4o-mini", "anthropic/claude-haiku")


def request(name: str, text: str) -> ModelRequest:
    turns = (Message(role="system", text="s"), Message(role="user", text=text))
    return ModelRequest(id=name, prompt=ChatPrompt(messages=turns))


REQUESTS = [request(f"p{n}", str(n)) for n in range(4)]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "sk-test-of-batches")


def client(spec: str, server: BatchServer, folder: Path) -> BatchClient:
    return BatchClient(spec, ClientOptions(base_url=server.url, batch=folder / "batches.jsonl", retry_wait_s=0.01))


def texts(outcomes: list[ModelAnswer | ModelFailure]) -> dict[str, str | None]:
    return {one.request_id: one.text if isinstance(one, ModelAnswer) else one.kind for one in outcomes}


@pytest.mark.parametrize("spec", SPECS)
def test_answers_come_by_one_batch_and_what_expires_fails(spec: str, tmp_path: Path) -> None:
    with (
        BatchServer(lambda text: None if text == "2" else f"<{text}\u2028>") as server,
        client(spec, server, tmp_path) as own,
    ):
        server.filtered = "<1\u2028>"
        found = list(own.submit(iter(REQUESTS)))
        assert texts(found) == {"p0": "<0\u2028>", "p1": "refused", "p2": "timeout", "p3": "<3\u2028>"}
        first = next(one for one in found if isinstance(one, ModelAnswer))
        assert first.usage is not None
        assert (first.usage.input_tokens, first.usage.output_tokens, first.served_by) == (7, 3, "m-1")
        assert first.finish_reason in ("stop", "length")
        again = list(own.submit([REQUESTS[2]]))
        assert (texts(again), len(server.batches)) == ({"p2": "timeout"}, 2)


@pytest.mark.parametrize("spec", SPECS)
def test_a_batch_is_taken_up_again_after_a_stop(spec: str, tmp_path: Path) -> None:
    with BatchServer(lambda text: f"<{text}>") as server:
        with client(spec, server, tmp_path) as own:
            stopped = own.submit(iter(REQUESTS))
            next(stopped)
            stopped.close()  # as by a kill: the first answer is stored, the others are not
        with client(spec, server, tmp_path) as own:
            assert len(texts(list(own.submit(REQUESTS[1:])))) == 3
        assert len(server.batches) == 1


@pytest.mark.parametrize("spec", SPECS)
def test_a_batch_whose_id_was_lost_is_found_again(spec: str, tmp_path: Path) -> None:
    with BatchServer(lambda text: f"<{text}>", drop=True) as server:
        with client(spec, server, tmp_path) as own, pytest.raises(MachineError, match="its batches cannot be asked"):
            list(own.submit(iter(REQUESTS)))
        with client(spec, server, tmp_path) as own:
            assert texts(list(own.submit(iter(REQUESTS)))) == {f"p{n}": f"<{n}>" for n in range(4)}
        assert len(server.batches) == 1


def test_a_batch_that_cannot_be_told_from_others_is_possibly_paid(tmp_path: Path) -> None:
    with BatchServer(lambda text: f"<{text}>", drop=True) as server:
        with client(SPECS[1], server, tmp_path) as own, pytest.raises(MachineError):
            list(own.submit(iter(REQUESTS)))
        server.create([{}] * 4)
        with client(SPECS[1], server, tmp_path) as own:
            found = list(own.submit(iter(REQUESTS)))
            assert all(isinstance(one, ModelFailure) and "be paid" in one.message for one in found)
            assert set(texts(list(own.submit(iter(REQUESTS)))).values()) == {"<0>", "<1>", "<2>", "<3>"}
        assert len(server.batches) == 3


def test_other_providers_have_no_batches(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--batch: mistral/m"):
        BatchClient("mistral/m", ClientOptions(batch=tmp_path / "b"))


def test_what_is_no_key_or_address_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"host:port.* address"):
        BatchClient(SPECS[0], ClientOptions(batch=tmp_path / "b", base_url="https://host:port"))
    for key in ("sk-of-a-file\r", "sk-ö"):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        with pytest.raises(UsageError, match="OPENAI_API_KEY holds characters that no key has"):
            BatchClient(SPECS[0], ClientOptions(batch=tmp_path / "b"))
        with pytest.raises(UsageError, match="GITHUB_TOKEN holds"):
            GithubClient(token=key)
