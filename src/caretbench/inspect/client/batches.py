"""Client of the batch interfaces of OpenAI and Anthropic: half the price, answers within a day.

A batch's requests are written to a file before it is sent, and its id before it is waited for, so that the same command
takes it up again after a stop. Inspect keeps its batches in memory only.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple
from uuid import uuid4

import httpx
from pydantic import JsonValue

from caretbench.errors import MachineError, UsageError
from caretbench.files import RowAppender, read_appended, sha256_text
from caretbench.inspect.providers.completion_server import check_address
from caretbench.local.server_spec import is_loopback
from caretbench.models import ChatPrompt, ClientOptions, ModelAnswer, ModelFailure, ModelRequest, PromptKind
from caretbench.problem import Row, Usage
from caretbench.redaction import check_key, redact

_ADDRESS: Final = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
_MAX_REQUESTS: Final = 10_000
_NO_TEMPERATURE: Final = re.compile(r"openai/(?:o\d|gpt-5)")
_ENDS: Final = frozenset({"completed", "failed", "expired", "cancelled", "ended"})
_FINISH: Final = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length"}
_REFUSALS: Final = frozenset({"content_filter", "refusal"})


class StoredBatch(Row):
    """State of a batch: ``keys`` of its requests, ``id`` once the provider has answered. A token's last row counts."""

    token: str
    spec: str
    keys: tuple[str, ...]
    created: float
    id: str = ""
    state: Literal["sending", "sent", "ended"] = "sending"


class _Sample(NamedTuple):
    request: ModelRequest
    sample: int
    body: dict[str, Any]

    def failure(self, kind: Any, message: str) -> ModelFailure:
        return ModelFailure(request_id=self.request.id, samples=(self.sample,), kind=kind, message=redact(message))

    def answer(self, text: str | None, finish: Any, model: Any, usage: Usage) -> ModelAnswer | ModelFailure:
        if finish in _REFUSALS:  # as single requests count it: no completion
            return self.failure("refused", f"the provider's content filter: {text or ''}".rstrip(": "))
        fields = {"request_id": self.request.id, "sample": self.sample, "finish_reason": _FINISH.get(finish, finish)}
        return ModelAnswer.model_validate({**fields, "text": text, "served_by": model, "usage": usage})


class BatchClient(AbstractContextManager["BatchClient"]):
    """Client of one model that sends all requests as batches; UsageError for another provider than the two."""

    accepts: frozenset[PromptKind] = frozenset({"chat"})
    returns_log_probabilities = False

    def __init__(self, spec: str, options: ClientOptions) -> None:
        self.name, self.options = spec, options
        self.provider, _, self._model = spec.partition("/")
        if self.provider not in _ADDRESS or options.batch is None:
            raise UsageError(f"--batch: {spec} has no batch interface; {' and '.join(_ADDRESS)} have one")
        self._rows_path, self._is_openai = options.batch, self.provider == "openai"
        key, address = (os.environ.get(f"{self.provider.upper()}_{name}", "") for name in ("API_KEY", "BASE_URL"))
        address = options.base_url or address or _ADDRESS[self.provider]
        check_address(address)
        check_key(key, f"{self.provider.upper()}_API_KEY")
        anthropic = {"x-api-key": key, "anthropic-version": "2023-06-01"}
        headers = ({"Authorization": f"Bearer {key}"} if self._is_openai else anthropic) | options.headers
        direct = not is_loopback(address)
        self._http = httpx.Client(base_url=address, headers=headers, timeout=options.timeout_s, trust_env=direct)
        shown = str(httpx.URL(address).copy_with(userinfo=b""))
        self.identity: Mapping[str, JsonValue] = {"provider": self.provider, "batch": True, "address": shown}
        self.context_tokens = options.context_tokens
        self.notices: list[str] = []
        self._place = "/batches" if self._is_openai else "/v1/messages/batches"

    def _body(self, request: ModelRequest, sample: int) -> dict[str, Any]:
        """Return the body of a request in the provider's form."""
        prompt, sampling = request.prompt, request.sampling
        assert isinstance(prompt, ChatPrompt)  # noqa: S101  other kinds are refused before
        turns = [{"role": message.role, "content": message.text} for message in prompt.messages]
        top_p = sampling.top_p if self._is_openai or sampling.top_p != 1 else None
        warm = {} if _NO_TEMPERATURE.match(self.name) else {"temperature": sampling.temperature, "top_p": top_p}
        seed = None if sampling.seed is None else sampling.seed + sample
        limits: dict[str, Any] = {"max_completion_tokens": sampling.max_tokens, "seed": seed, "stop": prompt.stop}
        if not self._is_openai:
            system = "\n\n".join(message.text for message in prompt.messages if message.role == "system")
            turns = [turn for turn in turns if turn["role"] != "system"]
            limits = {"max_tokens": sampling.max_tokens, "system": system, "stop_sequences": prompt.stop}
        limits["messages"] = turns
        body = {"model": self._model} | warm | limits
        return {name: value for name, value in body.items() if value not in (None, "", ())}

    # Long: one case for each state of a batch.
    def submit(self, requests: Iterable[ModelRequest]) -> Iterator[ModelAnswer | ModelFailure]:
        """Send what no stored batch has, wait for all, and yield an answer or a failure for every sample."""
        waiting: dict[str, _Sample] = {}
        for request in requests:
            for sample in request.samples:
                body = self._body(request, sample)
                key = sha256_text(self.name, request.id, json.dumps(body, sort_keys=True), str(sample))[:32]
                waiting[key] = _Sample(request, sample, body)
        if not waiting:
            return
        stored = {row.token: row for row in read_appended(self._rows_path, StoredBatch) if row.spec == self.name}
        with RowAppender(self._rows_path) as rows:
            batches: list[StoredBatch] = []
            for row in stored.values():
                if row.state == "ended" or waiting.keys().isdisjoint(row.keys):
                    continue
                batch = row if row.state == "sent" else self._find(row, {other.id for other in stored.values()})
                batches += [batch] if batch is not None else []
                if batch is None and not self._is_openai:  # what OpenAI does not list under our token, it does not have
                    when = datetime.fromtimestamp(row.created).isoformat(" ", "seconds")  # noqa: DTZ006  as clocks here
                    lost = f"a batch of {len(row.keys)} requests of {when} may exist and be paid: a stop lost its id"
                    yield from _failures(row, waiting, "provider", lost)
                rows.append(batch or row.model_copy(update={"state": "ended"}))
            open_keys = {key for row in batches for key in row.keys}
            rest = [key for key in waiting if key not in open_keys]
            for start in range(0, len(rest), _MAX_REQUESTS):
                batches += [self._send(rest[start : start + _MAX_REQUESTS], waiting, rows)]
            wait = self.options.retry_wait_s
            while batches:
                for row in [*batches]:
                    state = self._call("GET", f"{self._place}/{row.id}").json()
                    if (state.get("status") or state.get("processing_status")) in _ENDS:
                        yield from self._outcomes(row, state, waiting)
                        rows.append(row.model_copy(update={"state": "ended"}))
                        batches.remove(row)
                time.sleep(wait if batches else 0)
                wait = min(wait * 2, self.options.retry_wait_limit_s)

    def _send(self, keys: list[str], waiting: Mapping[str, _Sample], rows: RowAppender) -> StoredBatch:
        """Send a batch, whose requests are written before, and its id at once."""
        row = StoredBatch(token=uuid4().hex, spec=self.name, keys=tuple(keys), created=time.time())
        rows.append(row)
        body: dict[str, Any] = {"requests": [{"custom_id": key, "params": waiting[key].body} for key in keys]}
        if self._is_openai:
            endpoint = "/v1/chat/completions"
            lines = ({"custom_id": key, "method": "POST", "url": endpoint, "body": waiting[key].body} for key in keys)
            data = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
            files = {"file": ("caretbench.jsonl", data, "application/jsonl")}
            file = self._call("POST", "/files", files=files, data={"purpose": "batch"}).json()["id"]
            body = {"input_file_id": file, "endpoint": endpoint, "completion_window": "24h"}
            body["metadata"] = {"caretbench": row.token}
        try:
            identity = str(self._call("POST", self._place, json=body).json()["id"])
        except MachineError as error:
            if "status 4" in str(error):  # refused: there is none that may be paid
                rows.append(row.model_copy(update={"state": "ended"}))
            raise
        sent = row.model_copy(update={"id": identity, "state": "sent"})
        rows.append(sent)
        self.notices.append(f"batch {identity} of {len(keys)} requests")
        return sent

    def _find(self, row: StoredBatch, known_ids: set[str]) -> StoredBatch | None:
        """Return a batch whose id a stop has lost; None if the provider lists none, or several that fit."""
        ids = []
        for listed in self._call("GET", self._place, params={"limit": 100}).json().get("data", []):
            if self._is_openai:
                is_ours = (listed.get("metadata") or {}).get("caretbench") == row.token
            else:
                created = datetime.fromisoformat(listed["created_at"].replace("Z", "+00:00")).timestamp()
                is_ours = created >= row.created - 60 and sum(listed["request_counts"].values()) == len(row.keys)
            ids += [str(listed["id"])] if is_ours and listed["id"] not in known_ids else []
        return row.model_copy(update={"id": ids[0], "state": "sent"}) if len(ids) == 1 else None

    def _outcomes(
        self, row: StoredBatch, state: Mapping[str, Any], waiting: dict[str, _Sample]
    ) -> Iterator[ModelAnswer | ModelFailure]:
        """Yield the results of a batch that has ended, and failures of requests without one."""
        files = (state.get(name) for name in ("output_file_id", "error_file_id"))
        paths = [f"/files/{file}/content" for file in files if file] or [*filter(None, [state.get("results_url")])]
        for path in paths:
            # Not `splitlines`: JSON may have U+2028 and U+0085 in a text, and they are no ends of a line.
            for line in self._call("GET", str(path)).content.split(b"\n"):
                entry = json.loads(line) if line.strip() else {}
                if sample := waiting.pop(str(entry.get("custom_id")), None):
                    yield _openai(sample, entry) if self._is_openai else _anthropic(sample, entry["result"])
        error = ((state.get("errors") or {}).get("data") or [{}])[0].get("message")
        status = str(state.get("status") or state.get("processing_status"))
        why = f"batch {row.id} {status}: {error or 'it has no result of this request'}"
        yield from _failures(row, waiting, "timeout" if status == "expired" else "provider", why)

    def _call(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Return the provider's answer, else raise MachineError; a batch is created by one try, others are repeated."""
        fault = ""
        for number in range(1 if method == "POST" else self.options.max_retries + 1):
            if number:
                time.sleep(min(self.options.retry_wait_s * 2 ** (number - 1), self.options.retry_wait_limit_s))
            try:
                response = self._http.request(method, path, **options)
            except httpx.HTTPError as error:
                fault = f"{type(error).__name__}: {error}"
                continue
            if response.is_success:
                return response
            fault = f"status {response.status_code}: {' '.join(response.text.split())[:300]}"
            if response.status_code not in (408, 409, 429) and response.status_code < 500:
                break
        raise MachineError(redact(f"{self.name}: its batches cannot be asked for ({method} {path}): {fault}"))

    count_tokens = staticmethod(lambda _text: None)
    special_tokens = staticmethod(lambda: None)
    control_tokens = staticmethod(frozenset[str])

    def close(self) -> None:
        """Close connections; batches go on at the provider."""
        self._http.close()

    def __exit__(self, *_details: object) -> None:
        self.close()


def _failures(row: StoredBatch, waiting: dict[str, _Sample], kind: Any, message: str) -> Iterator[ModelFailure]:
    yield from (waiting.pop(key).failure(kind, message) for key in row.keys if key in waiting)


def _openai(sample: _Sample, entry: Mapping[str, Any]) -> ModelAnswer | ModelFailure:
    response = entry.get("response") or {}
    body, usage = response.get("body") or {}, (response.get("body") or {}).get("usage") or {}
    if response.get("status_code") != 200:
        error = entry.get("error") or body.get("error") or {}
        late = "timeout" if error.get("code") == "batch_expired" else "provider"
        return sample.failure("refused" if response.get("status_code") == 400 else late, str(error.get("message")))
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens")
    reasoning = (usage.get("completion_tokens_details") or {}).get("reasoning_tokens")
    counts = Usage(input_tokens=usage.get("prompt_tokens"), output_tokens=usage.get("completion_tokens"))
    counts = counts.model_copy(update={"cached_tokens": cached, "reasoning_tokens": reasoning})
    choice = body["choices"][0]
    return sample.answer(choice["message"].get("content"), choice.get("finish_reason"), body.get("model"), counts)


def _anthropic(sample: _Sample, result: Mapping[str, Any]) -> ModelAnswer | ModelFailure:
    if result["type"] != "succeeded":
        error = (result.get("error") or {}).get("error") or {}
        kinds = {"expired": "timeout", "invalid_request_error": "refused"}
        kind = kinds.get(result["type"]) or kinds.get(error.get("type", ""), "provider")
        return sample.failure(kind, f"{result['type']}: {error.get('message') or 'the batch ended before'}")
    message, usage = result["message"], result["message"].get("usage") or {}
    cached = usage.get("cache_read_input_tokens") or 0
    fresh = (usage.get("input_tokens") or 0) + (usage.get("cache_creation_input_tokens") or 0)
    counts = Usage(input_tokens=fresh + cached, output_tokens=usage.get("output_tokens"), cached_tokens=cached)
    text = "".join(part["text"] for part in message["content"] if part["type"] == "text")
    return sample.answer(text, message.get("stop_reason"), message.get("model"), counts)
