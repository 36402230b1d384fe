"""A scripted server of OpenAI's and Anthropic's batch interfaces on a real socket."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class BatchServer:
    """Batches that end after ``polls`` questions about them; ``answer`` returns a text, or None: that one expired.

    With ``drop`` the first batch is created, and the connection then ends without an answer.
    """

    def __init__(self, answer: Callable[[str], str | None], *, polls: int = 2, drop: bool = False) -> None:
        self.answer, self.polls, self.drop = answer, polls, drop
        self.batches: dict[str, dict[str, Any]] = {}
        self.files: dict[str, bytes] = {}
        self.filtered = ""
        """Text that the provider's filter cut off."""
        self.refused = 1
        """Number of questions that get status 503."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> BatchServer:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def create(self, requests: list[dict[str, Any]], metadata: Any = None) -> dict[str, Any]:
        name = f"batch_{len(self.batches)}"
        now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        self.batches[name] = {"id": name, "requests": requests, "metadata": metadata, "polls": 0, "created_at": now,
                              "request_counts": {"processing": len(requests)}}  # fmt: skip
        return self.batches[name]

    def results(self, batch: dict[str, Any], *, openai: bool) -> str:
        lines = []
        for one in batch["requests"]:
            body = one["body"] if openai else one["params"]
            text = self.answer(body["messages"][-1]["content"])
            if openai and text is not None:
                usage = {"prompt_tokens": 7, "completion_tokens": 3}
                reason = "content_filter" if text == self.filtered else "stop"
                choices = [{"message": {"content": text}, "finish_reason": reason}]
                found = {"response": {"status_code": 200, "body": {"choices": choices, "usage": usage, "model": "m-1"}}}
            elif openai:
                found = {"response": None, "error": {"code": "batch_expired", "message": "it expired"}}
            elif text is not None:
                content = [{"type": "text", "text": text}]
                reason = "refusal" if text == self.filtered else "max_tokens"
                usage = {"input_tokens": 5, "cache_read_input_tokens": 2, "output_tokens": 3}
                message = {"content": content, "stop_reason": reason, "usage": usage, "model": "m-1"}
                found = {"result": {"type": "succeeded", "message": message}}
            else:
                found = {"result": {"type": "expired"}}
            lines.append(json.dumps({"custom_id": one["custom_id"], **found}, ensure_ascii=False))
        return "\n".join(reversed(lines)) + "\n"


def _handler(server: BatchServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def _send(self, body: Any, status: int = 200) -> None:
            data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/files":
                name = f"file_{len(server.files)}"
                server.files[name] = b"\n".join(re.findall(rb'^\{"custom_id".*$', data, re.MULTILINE))
                self._send({"id": name})
                return
            body = json.loads(data)
            file = body.get("input_file_id")
            requests = [json.loads(one) for one in server.files[file].splitlines()] if file else body["requests"]
            created = server.create(requests, body.get("metadata"))
            if server.drop:
                server.drop = False
                self.close_connection = True
                self.connection.close()
            else:
                self._send({"id": created["id"]})

        def do_GET(self) -> None:
            place = self.path.partition("?")[0]
            name = re.findall(r"batch_\d+", place)
            if server.refused:
                server.refused -= 1
                self._send({"error": "busy"}, 503)
            elif not name:
                self._send({"data": list(server.batches.values())})
            elif "results" in place or "content" in place:
                self._send(server.results(server.batches[name[0]], openai="content" in place))
            else:
                batch = server.batches[name[0]]
                batch["polls"] += 1
                ended = batch["polls"] > server.polls
                self._send({
                    "id": name[0], "status": "completed" if ended else "in_progress",
                    "output_file_id": name[0] if ended else None,
                } if "messages" not in place else {
                    "id": name[0], "processing_status": "ended" if ended else "in_progress",
                    "results_url": f"{server.url}/results/{name[0]}" if ended else None,
                })  # fmt: skip

    return Handler
