"""Client on a scripted server, and requests to it, for tests of the client."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from caretbench.errors import MachineError
from caretbench.inspect import InspectClient, open_client
from caretbench.models import (
    ChatPrompt,
    ClientOptions,
    Message,
    ModelAnswer,
    ModelFailure,
    ModelRequest,
    Prompt,
    Sampling,
    TextPrompt,
)
from tests.support.model_server import ModelServer

KEY = "test-key-5f2c9e71d0"

CHAT = "openai-api/test/model"
TEXT = "openai-api-completions/test/model"


@contextmanager
def client_on(
    monkeypatch: pytest.MonkeyPatch, server: ModelServer, model: str = CHAT, **options: Any
) -> Iterator[InspectClient]:
    """A client on ``server`` that tries again without pauses."""
    monkeypatch.setenv("TEST_API_KEY", KEY)
    monkeypatch.setenv("TEST_BASE_URL", server.url + "/v1")
    chosen = {"retry_wait_s": 0.01, "retry_wait_limit_s": 0.05, "timeout_s": 30, "max_retries": 2} | options
    with open_client(model, options=ClientOptions(**chosen)) as client:
        yield client


def prompt(kind: str = "chat", text: str = "go on") -> Prompt:
    """A prompt of this kind."""
    return TextPrompt(text=text) if kind == "text" else ChatPrompt(messages=(Message(role="user", text=text),))


def request(identity: str = "one", kind: str = "chat", samples: int = 1, **sampling: Any) -> ModelRequest:
    """A request for so many samples."""
    return ModelRequest(id=identity, prompt=prompt(kind), samples=tuple(range(samples)), sampling=Sampling(**sampling))


def outcomes(client: InspectClient, *requests: ModelRequest) -> list[ModelAnswer | ModelFailure]:
    """All that came, in the order of the samples."""
    kind = "text" if "text" in client.accepts and "chat" not in client.accepts else "chat"
    found = list(client.submit(requests or (request(kind=kind),)))
    return sorted(
        found, key=lambda one: (one.request_id, one.sample if isinstance(one, ModelAnswer) else one.samples[0])
    )


def answered(client: InspectClient, *requests: ModelRequest) -> list[ModelAnswer]:
    """The answers, where nothing failed."""
    found = outcomes(client, *requests)
    assert not [one for one in found if isinstance(one, ModelFailure)]
    return [one for one in found if isinstance(one, ModelAnswer)]


def failed(client: InspectClient, *requests: ModelRequest) -> ModelFailure:
    """The only thing that came, a failure."""
    (found,) = outcomes(client, *requests)
    assert isinstance(found, ModelFailure)
    return found


def until_error(
    client: InspectClient, requests: Iterable[ModelRequest]
) -> tuple[list[ModelAnswer | ModelFailure], str]:
    """Return the answers before the client gave up, and its error."""
    found = []
    try:
        for one in client.submit(requests):
            found.append(one)  # noqa: PERF402 - what came before the error counts
    except MachineError as error:
        return found, str(error)
    raise AssertionError("the client did not give up")
