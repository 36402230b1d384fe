"""Creation of a client from a model's name. Importing Inspect takes seconds, so it happens here, not earlier."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from caretbench.download import without_password
from caretbench.errors import DataError, MachineError, UsageError, did_you_mean
from caretbench.inspect.client.batches import BatchClient
from caretbench.inspect.client.checkpoint_files import TokenizerFile
from caretbench.inspect.client.client import InspectClient
from caretbench.inspect.client.provider_errors import (
    BrokenAnswerError,
    parse_json,
    plain_message,
    plain_text,
    redact_line,
    server_error,
    stated_error,
)
from caretbench.inspect.client.provider_facts import check_installed, provider_facts, providers
from caretbench.inspect.providers.answer_stream import END, StreamSplitter
from caretbench.local.server_spec import SERVER, is_loopback, openai_address, own_server_advice
from caretbench.models import ClientOptions, DryRunOptions
from caretbench.redaction import is_secret_name, redact

if TYPE_CHECKING:
    from inspect_ai.model import Model, ModelOutput

_RESPONSES_S = 10.0
# A provider is not made without a key, and sends none before its first request.
_NO_KEY = "dry-run"
_KEYLESS = ("gguf", "command", "mockllm")
_CHECKPOINTS = ("hf/", "vllm/")


def open_client(spec: str, options: ClientOptions | None = None) -> InspectClient | BatchClient:
    """Return a client of the model ``spec``, PROVIDER/MODEL; no prompt is sent yet.

    Only ``server/…`` is asked what it has. :class:`caretbench.models.DryRunOptions` need no key.

    Raises:
        UsageError: the name or an option is wrong.
        MachineError: a package or an environment variable is missing, or a local server does not start.
    """
    check_installed(f"{spec}: asking a model")
    options = options or ClientOptions()
    if options.batch is not None:
        return BatchClient(spec, options)
    name, slash, rest = spec.partition("/")
    if not (name and slash and rest):
        raise UsageError(f"{spec!r} names no model: write PROVIDER/MODEL, for example openai/gpt-4o-mini")
    facts = provider_facts(name)
    # A model on this machine computes an answer again after a timeout, so its limit is longer; a limit of the user's
    # wins.
    if facts.timeout_s is not None and "timeout_s" not in options.model_fields_set:
        options = options.model_copy(update={"timeout_s": facts.timeout_s})
    tokenizer = TokenizerFile(options.tokenizer) if options.tokenizer is not None else None
    given = options.model_dump(mode="json", include=set(facts.options), exclude_none=True)
    arguments: dict[str, Any] = given | options.model_args
    if isinstance(options, DryRunOptions):
        arguments |= _dry_run_arguments(name)
    with _own_exception_hook(), _loading():
        model = _model(spec, options.base_url, arguments)
        if not isinstance(options, DryRunOptions):
            _refuse_missing_responses(spec, model, options)
        warm = _model("mockllm/warm", None, {})  # answers at once
    return InspectClient(
        spec,
        model,
        options,
        facts,
        tokenizer=tokenizer,
        identity=_identity(name, model, options),
        secrets=(*_secrets(model), *(value for value in options.headers.values() if len(value) >= 8)),
        warm=warm,
    )


def _dry_run_arguments(provider: str) -> dict[str, Any]:
    """Return the arguments with which a provider is made without its key, or without its server."""
    if provider in (SERVER, "hf", "vllm"):
        return {"sends": False}
    return {} if provider in _KEYLESS else {"api_key": _NO_KEY}


def _model(spec: str, base_url: str | None, arguments: dict[str, Any]) -> Model:
    from inspect_ai.model import get_model
    from tenacity import wait_none

    import caretbench.inspect.registry  # noqa: F401 - registers our providers

    if spec.startswith("mockllm/"):
        arguments = {"custom_outputs": _mock_answer} | arguments
    # Checkpoints have a provider of ours, which sends raw text too.
    name = f"checkpoint/{spec}" if spec.startswith(_CHECKPOINTS) else spec
    with _one_clear_line(spec):
        model = get_model(name, base_url=base_url, memoize=False, **arguments)
    # The limit of connections belongs to this client: Inspect would share the first one's among all of equal key.
    connections = f"caretbench {id(model):x}"
    model.api.connection_key = lambda: connections  # type: ignore[method-assign]
    model.api.retry_wait = wait_none  # type: ignore[method-assign] # we try again ourselves; the default one warns
    client: Any = getattr(model.api, "client", None)
    if isinstance(getattr(client, "max_retries", None), int):
        # The library's own tries would neither be counted nor kept to our pauses.
        client.max_retries = 0
    hooks = getattr(getattr(client, "_client", None), "event_hooks", None)
    if isinstance(hooks, dict) and "response" in hooks:
        asked = getattr(model.api, "service_model_name", None)
        served = asked() if callable(asked) else model.name
        client._client.event_hooks = hooks | {"response": [*hooks["response"], partial(_read_leniently, served)]}
    return model


async def _read_leniently(model: str, response: Any) -> None:
    """Raise for an error that a server of OpenAI's form sends as an answer; make other forms of answers readable.

    What OpenAI's library makes of them: an error in a stream is a text that ends early, JSON sent as ``text/plain`` is
    no answer, content in parts and an answer that names no model are exceptions of Inspect.
    """
    if response.status_code != 200 or not response.request.url.path.endswith("/completions"):
        return
    if response.headers.get("content-type", "").startswith("text/event-stream"):
        response.aiter_bytes = partial(_lenient_events, model, response.aiter_bytes)
        return
    data = await response.aread()
    if data.lstrip()[:1] != b"{":
        return
    response.headers["content-type"] = "application/json"
    body = parse_json(data)
    if not isinstance(body, dict):
        return
    whole = _lenient_piece(body, model)
    if not isinstance(whole.get("choices"), list):
        raise BrokenAnswerError(f"the server answered without any choice: {data[:200].decode('utf-8', 'replace')}")
    response._content = json.dumps(whole).encode()


async def _lenient_events(model: str, chunks: Callable[..., AsyncIterator[bytes]], *_: Any) -> AsyncIterator[bytes]:
    splitter = StreamSplitter("sse")
    async for chunk in chunks():
        for data in splitter.feed(chunk):
            yield _lenient_event(data, model)
    for data in splitter.close():
        yield _lenient_event(data, model)


def _lenient_event(data: bytes, model: str) -> bytes:
    if data.strip() == END:
        return b"data: [DONE]\n\n"
    piece = parse_json(data)
    if not isinstance(piece, dict):
        raise BrokenAnswerError(f"the server's event is no object: {data[:80]!r}")
    return b"data: " + json.dumps({"choices": []} | _lenient_piece(piece, model)).encode() + b"\n\n"


def _lenient_piece(piece: dict[str, JsonValue], model: str) -> dict[str, JsonValue]:
    if (error := stated_error(piece)) is not None:
        raise server_error(error)
    choices = piece.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        for name in ("message", "delta"):
            said = choice.get(name) if isinstance(choice, dict) else None
            if isinstance(said, dict) and isinstance(said.get("content"), list):
                said["content"] = plain_text(said["content"])
    return piece | {"model": piece.get("model") or model}


def _refuse_missing_responses(spec: str, model: Model, options: ClientOptions) -> None:
    """Raise if OpenAI's Responses API would be asked at a server other than OpenAI's that has none.

    Raises:
        UsageError: it would, and every request would fail with status 404.
    """
    address = openai_address(options.base_url) if spec.startswith("openai/") else None
    advice = own_server_advice(spec, address)
    if address is None or not advice or not getattr(model.api, "responses_api", None):
        return
    import httpx

    try:
        status = httpx.post(
            f"{address.rstrip('/')}/responses",
            json={},
            timeout=_RESPONSES_S,
            headers=options.headers,
            trust_env=not is_loopback(address),
        ).status_code
    except httpx.HTTPError:
        # The requests themselves will say what is wrong.
        return
    # A server that has this API refuses an empty request with another status.
    if status in (404, 405, 501):
        raise UsageError(f"{spec}: {address} has no Responses API, by which this provider would ask{advice}")


def _mock_answer(*_: object) -> ModelOutput:
    """Return the answer of ``mockllm/…``; without usage Inspect counts tokens, by a file that it waits for."""
    from inspect_ai.model import ModelOutput, ModelUsage

    output = ModelOutput.from_content("mockllm", "Default output from mockllm/model")
    output.usage = ModelUsage()
    return output


@contextmanager
def _own_exception_hook() -> Iterator[None]:
    """Keep our hook for uncaught exceptions, which Inspect replaces."""
    before = sys.excepthook
    try:
        yield
    finally:
        sys.excepthook = before


@contextmanager
def _loading() -> Iterator[None]:
    """Pause garbage collection while Inspect is loaded: all of its objects stay, and visiting them costs a second."""
    first = "inspect_ai" not in sys.modules and gc.isenabled()
    if first:
        gc.disable()
    try:
        yield
    finally:
        if first:
            # Imported modules stay to the end: each later collection would visit their objects in vain.
            gc.freeze()
            gc.enable()


@contextmanager
def _one_clear_line(spec: str) -> Iterator[None]:
    """Turn an exception of a provider's constructor into an error that a user can fix."""
    try:
        yield
    # Ours say already what to do.
    except (DataError, MachineError):
        raise
    except (ValueError, TypeError) as error:
        text = redact_line(str(error))
        if "not recognized" in text and "Model API" in text:
            name = spec.partition("/")[0]
            guess = did_you_mean(name, providers())
            text = f"there is no provider {name!r}{guess}; `caretbench models list` shows how models are named"
        raise UsageError(f"{spec}: {text}") from None
    except Exception as error:
        # By name: the class is Inspect's, which need not be imported to name an error.
        if type(error).__name__ == "PrerequisiteError":
            raise MachineError(f"{spec}: {plain_message(getattr(error, 'message', error))}") from None
        raise MachineError(f"{spec}: {type(error).__name__}: {redact_line(str(error))}") from None


def _identity(name: str, model: Model, options: ClientOptions) -> dict[str, JsonValue]:
    identity: dict[str, JsonValue] = {"provider": name}
    address = getattr(model.api, "base_url", None)
    if isinstance(address, str) and address:
        identity["address"] = without_password(address)
    if options.model_args:
        identity["arguments"] = {
            key: redact(value) if isinstance(value, str) else value
            for key, value in sorted(options.model_args.items())
            if not is_secret_name(key)
        }
    return identity


def _secrets(model: Model) -> tuple[str, ...]:
    """Return keys that are given as arguments, and are in no environment variable."""
    key = getattr(model.api, "api_key", None)
    # A shorter one (`none`, `EMPTY` for vLLM) is no secret, and would be cut out of every message.
    return (key,) if isinstance(key, str) and len(key) >= 8 else ()
