"""``command/COMMANDLINE``: a program that completes, one JSON object in and one out, as an Inspect provider.

The program is the user's own: it runs as the user, with the user's environment, outside any sandbox.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process
from inspect_ai.model import ChatMessage, GenerateConfig, ModelCall, ModelOutput, ModelUsage
from pydantic import BaseModel, Field, JsonValue, ValidationError

from caretbench.errors import MachineError, UsageError
from caretbench.files import describe_validation_error
from caretbench.inspect.client.provider_errors import ProviderError
from caretbench.inspect.providers.base import FILL_FIELDS, FINISH_REASONS, SingleTryAPI, chat_choice, parse_prompt
from caretbench.inspect.providers.endpoint_shapes import StopReason

# A child may hold the pipes open after the program has ended.
_PIPES_OPEN_S = 1.0
_MAX_STDERR_BYTES = 2000


class ProcessResult(NamedTuple):
    """Result of a process. ``stderr_tail``: end of standard error; ``status``: exit status, negative for a signal."""

    output: bytes
    stderr_tail: bytes
    status: int
    truncated: bool

    @property
    def status_text(self) -> str:
        """Exit status or signal as text: ``ended with status 1``, ``was killed by SIGKILL``."""
        if self.status >= 0:
            return f"ended with status {self.status}"
        return f"was killed by {_signal_name(-self.status)}"


async def run_process(argv: Sequence[str], data: bytes, max_output: int) -> ProcessResult:
    """Run ``argv`` with ``data`` on standard input; at most ``max_output`` bytes of output are kept.

    A program that writes more is killed; so are, when it ends or the caller is cancelled, its children.

    Raises:
        OSError: it does not start.
    """
    process = await anyio.open_process(
        # A session of its own gives the program a process group, with which its children are killed.
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    output, stderr_tail = _LimitedBytes(max_output), _LimitedBytes(_MAX_STDERR_BYTES, tail=True)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_write, process.stdin, data)
            group.start_soon(_read, process.stdout, output, process)
            group.start_soon(_read, process.stderr, stderr_tail, process)
            await process.wait()
            group.cancel_scope.deadline = anyio.current_time() + _PIPES_OPEN_S
    finally:
        # A cancelled request must not leave the program running.
        with anyio.CancelScope(shield=True):
            _kill(process)
            await process.aclose()
    return ProcessResult(bytes(output.data), bytes(stderr_tail.data), process.returncode or 0, output.full)


class _LimitedBytes:
    """Bytes up to a limit: the first ones, or the last ones (``tail``)."""

    def __init__(self, limit: int, *, tail: bool = False) -> None:
        self._limit = limit
        self._tail = tail
        self.data = bytearray()
        self.full = False

    def add(self, chunk: bytes) -> None:
        self.data += chunk
        if len(self.data) > self._limit:
            self.full = not self._tail
            del self.data[slice(None, -self._limit) if self._tail else slice(self._limit, None)]


async def _write(stream: ByteSendStream | None, data: bytes) -> None:
    if stream is None:
        return
    try:
        await stream.send(data)
        await stream.aclose()
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        # A program may answer without reading everything.
        pass


async def _read(stream: ByteReceiveStream | None, kept: _LimitedBytes, process: Process) -> None:
    if stream is None:
        return
    try:
        async for chunk in stream:
            kept.add(chunk)
            if kept.full:
                _kill(process)
                return
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        # The pipe broke with the program: its exit status tells more.
        pass


def _kill(process: Process) -> None:
    """Kill the program and all of its group, which has the program's number."""
    try:
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        # Nothing is left of it. (macOS says so by EPERM where only a zombie is.)
        pass


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


REQUEST_VERSION = 1
"""``schema_version`` of what the program reads."""

MAX_OUTPUT_BYTES = 8 << 20
"""Bytes of standard output; a program that writes more is stopped."""

TRY_AGAIN = 75
"""Exit status that asks for another try: EX_TEMPFAIL of sysexits.h."""

_STOP_REASONS: Mapping[str, StopReason] = {
    "stop": "stop", "length": "max_tokens", "max_tokens": "max_tokens", "content_filter": "content_filter",
}  # fmt: skip


class _Usage(BaseModel):
    input_tokens: int = Field(ge=0)
    output_tokens: int = Field(ge=0)


class _Answer(BaseModel):
    """Output of the program: ``text``, or ``texts`` if several were requested. Other fields are ignored."""

    text: str | None = None
    texts: list[str] | None = None
    finish_reason: str | None = None
    usage: _Usage | None = None
    model: str | None = None
    error: str | None = None


class CommandAPI(SingleTryAPI):
    """Provider that starts a program for every request.

    Args:
        model_name: The command line, divided as a shell divides it; no shell runs.
        base_url: Not used.
        api_key: Not used.
        config: As for every provider.
    """

    no_tools_message = "command/ has no tools"

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 (as in the base class; never changed)
        **ignored: Any,
    ) -> None:
        super().__init__(model_name, base_url=base_url, api_key=api_key, config=config)
        if ignored:
            raise UsageError(f"command/ knows no option {', '.join(sorted(ignored))}")
        self.argv = _split_command(model_name)

    async def complete_once(self, messages: list[ChatMessage], config: GenerateConfig) -> tuple[ModelOutput, ModelCall]:
        """Run the program once."""
        request = self._request(messages, config)
        call = ModelCall.create(request=request, response=None)
        started = time.monotonic()
        written = await self._run(json.dumps(request).encode())
        call.time = time.monotonic() - started
        answer, texts = self._answer(written, config.num_choices or 1)
        call.response = {
            "model": answer.model,
            "choices": [{"text": text, "finish_reason": answer.finish_reason} for text in texts],
        }
        return self._output(answer, texts), call

    def connection_key(self) -> str:
        """Return the key of one pool per command line."""
        return self.model_name

    def _request(self, messages: list[ChatMessage], config: GenerateConfig) -> dict[str, JsonValue]:
        is_caret = len(messages) == 1 and "prefix" in (messages[0].metadata or {})
        prompt = parse_prompt(messages, "command/") if is_caret else {"prefix": ""}
        fields: dict[str, JsonValue] = {name: prompt.get(name) for name in FILL_FIELDS}
        if not is_caret:
            fields["messages"] = [{"role": message.role, "text": message.text} for message in messages]
        stop = prompt.get("stop")
        return fields | {
            "schema_version": REQUEST_VERSION,
            "suffix": prompt.get("suffix") or "",
            "files": prompt.get("files") or [],
            "stop": [*dict.fromkeys([*(config.stop_seqs or []), *(stop if isinstance(stop, list) else [])])],
            "max_tokens": config.max_tokens or self.max_tokens(),
            "temperature": config.temperature,
            "top_p": config.top_p,
            "seed": config.seed,
            "samples": config.num_choices or 1,
        }

    async def _run(self, request: bytes) -> bytes:
        name = self.argv[0]
        try:
            ran = await run_process(self.argv, request, MAX_OUTPUT_BYTES)
        except OSError as error:
            raise ProviderError(f"{name} does not start: {error.strerror or error}") from None
        # 8 MiB are far above any completion: the program loops.
        if ran.truncated:
            raise ProviderError(f"{name} wrote more than {MAX_OUTPUT_BYTES >> 20} MiB")
        if ran.status:
            said = ran.stderr_tail.decode("utf-8", "replace").strip()[-600:]
            raise ProviderError(
                f"{name} {ran.status_text}" + (f": {said}" if said else ""), retryable=ran.status == TRY_AGAIN
            )
        return ran.output

    def _answer(self, written: bytes, count: int) -> tuple[_Answer, list[str]]:
        name = self.argv[0]
        try:
            # Not by pydantic's reader: a model that is cut off in mid-character leaves half a surrogate pair.
            answer = _Answer.model_validate(json.loads(written))
        except (ValueError, RecursionError) as error:
            said = describe_validation_error(error) if isinstance(error, ValidationError) else error
            raise ProviderError(
                f"{name} did not write one JSON object with `text` or `texts`: {said}; it wrote {written[:80]!r}"
            ) from None
        if answer.error is not None:
            raise ProviderError(f"{name} reports an error: {answer.error}")
        texts = answer.texts if answer.texts is not None else [answer.text] if answer.text is not None else []
        if not texts:
            raise ProviderError(f"{name} wrote JSON without `text` or `texts`")
        if len(texts) > count:
            raise ProviderError(f"{name} wrote {len(texts)} texts where {count} were asked for")
        return answer, texts

    def _output(self, answer: _Answer, texts: list[str]) -> ModelOutput:
        model = answer.model or self.model_name
        usage = answer.usage
        reason = _STOP_REASONS.get(answer.finish_reason or "", "unknown")
        return ModelOutput(
            model=model,
            choices=[chat_choice(text, model, reason) for text in texts],
            usage=usage
            and ModelUsage(
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                total_tokens=usage.input_tokens + usage.output_tokens,
            ),
            metadata={FINISH_REASONS: [answer.finish_reason] * len(texts)},
        )


def _split_command(line: str) -> list[str]:
    try:
        argv = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"command/{line}: not a command line: {error}") from None
    if not argv:
        raise UsageError("command/ needs a command line: command/'my-completer --stdin'")
    # Once, before the first request, and not once for each sample.
    if shutil.which(argv[0]) is None:
        raise MachineError(f"command/{line}: there is no program {argv[0]} that can be run")
    return argv
