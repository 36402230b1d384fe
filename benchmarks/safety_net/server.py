"""A model server whose answers depend on the shown texts alone: a changed prompt changes an answer."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def answer(body: Mapping[str, Any]) -> str:
    """Return the text for a request of OpenAI's chat form: JSON where it asks for some, else code and a letter."""
    shown = json.dumps(body["messages"], sort_keys=True).encode()
    digest = hashlib.sha256(shown).hexdigest()
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
    if schema:
        return json.dumps(_filled(schema, int(digest[:12], 16)))
    return f"return {digest[:16]!r}\nThe answer is {'ABCD'[int(digest[-1], 16) % 4]}."


def _filled(schema: Mapping[str, Any], number: int) -> Any:
    """Return a value of a JSON schema, drawn by a number."""
    if "enum" in schema:
        return schema["enum"][number % len(schema["enum"])]
    kind = schema.get("type")
    if kind == "object":
        return {
            name: _filled(one, number // (place + 1))
            for place, (name, one) in enumerate(schema.get("properties", {}).items())
        }
    if kind == "array":
        return [_filled(schema["items"], number // place) for place in range(1, 3)]
    if kind in ("integer", "number"):
        low, high = int(schema.get("minimum", 0)), int(schema.get("maximum", 5))
        return low + number % (high - low + 1)
    return bool(number % 2) if kind == "boolean" else f"claim {number % 1000}"


class _Server(ThreadingHTTPServer):
    """Lets many requests wait."""

    request_queue_size = 64


class _Handler(BaseHTTPRequestHandler):
    """Answers each request at once and in one piece."""

    def do_POST(self) -> None:
        """Answer a chat request."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = {"role": "assistant", "content": answer(body)}
        choice = {"index": 0, "finish_reason": "stop", "logprobs": None, "message": message}
        whole = {
            "id": "1", "object": "chat.completion", "created": 1, "model": body.get("model"),
            "choices": [{**choice, "index": index} for index in range(body.get("n") or 1)],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }  # fmt: skip
        data = json.dumps(whole).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - the base class names it
        """Write nothing."""


@contextmanager
def served() -> Iterator[str]:
    """Yield the base URL of a server that runs in a thread."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()
