"""A small GitHub on a real socket: repositories of pull requests, pages, ETags, and scripted faults.

with GithubServer(repository("o/r", pulls)) as server:
    server.faults["/repos/o/r/pulls/7/files"] = [limited(reset_s=30), truncated()]
    ...
assert server.asked[0].path == "/repos/o/r"
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Json = dict[str, Any]
NOW = 1_800_000_000.0


@dataclass(frozen=True)
class Fault:
    """Fault that one request gets in place of its answer."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b"{}"
    half: bool = False
    broken: bool = False


def used_up(reset_s: float) -> Fault:
    """The primary limit, reset in so many seconds."""
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(NOW + reset_s))}
    return Fault(403, headers, b'{"message": "API rate limit exceeded"}')


def secondary(after_s: int | None = None) -> Fault:
    """A secondary limit, with or without a hint."""
    headers = {} if after_s is None else {"Retry-After": str(after_s)}
    return Fault(403, headers, b'{"message": "You have exceeded a secondary rate limit"}')


def status(code: int, message: str = "no") -> Fault:
    """Any other status."""
    return Fault(code, {}, json.dumps({"message": message}).encode())


def truncated() -> Fault:
    """A body that ends in the middle, as if it were whole."""
    return Fault(half=True)


def broken() -> Fault:
    """A connection that breaks in the middle of a body."""
    return Fault(half=True, broken=True)


@dataclass(frozen=True)
class Asked:
    """One request as it came."""

    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]


def change(number: int, files: Sequence[Json] | None = None, **changed: Any) -> Json:
    """A merged pull request as the list gives it, its files under ``files``."""
    day = f"2026-{1 + number // 28 % 12:02d}-{1 + number % 28:02d}T12:00:00Z"
    return {
        "number": number, "title": f"Change {number}",
        "body": f"It does {number}.\r\n\r\nSigned-off-by: A B <a@b.example>",
        "user": {"login": "somebody", "type": "User"}, "labels": [{"name": "bug"}], "state": "closed",
        "merged_at": day, "created_at": day, "updated_at": day, "merge_commit_sha": f"{number:040x}",
        "base": {"ref": "main", "sha": "b" * 40}, "head": {"sha": "c" * 40},
        "html_url": f"https://github.example/o/r/pull/{number}",
        "files": [changed_file(f"lib/part{number}.py")] if files is None else list(files),
    } | changed  # fmt: skip


def changed_file(path: str, **changed: Any) -> Json:
    """A file of a pull request."""
    patch = "@@ -1,2 +1,3 @@\n first\n+added\n last"
    row = {"filename": path, "status": "modified", "additions": 1, "deletions": 0, "patch": patch} | changed
    return {name: value for name, value in row.items() if value is not None}


class GithubServer:
    """See the module. ``page`` is the size of a page, whatever is asked for."""

    def __init__(self, name: str, pulls: Sequence[Json], *, page: int = 3) -> None:
        self.name, self.pulls, self.page = name, list(pulls), page
        self.faults: dict[str, list[Fault]] = defaultdict(list)
        self.diffs: dict[int, str] = {}
        self.moved: dict[str, str] = {}
        """New beginnings of paths, by the old ones, to which requests are redirected."""
        self.asked: list[Asked] = []
        self.lock = threading.Lock()

    def __enter__(self) -> GithubServer:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"house": self}))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *details: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def paths(self, part: str = "") -> list[str]:
        """The paths that were asked for and hold ``part``, in order."""
        return [asked.path for asked in self.asked if part in asked.path]

    def answer(self, path: str, query: Mapping[str, str], accept: str) -> tuple[Any, bool] | None:
        """Return the content at a path, and whether another page follows."""
        root = f"/repos/{self.name}"
        if path == root:
            return {"full_name": self.name, "default_branch": "main", "license": {"spdx_id": "MIT"}}, False
        if path == f"{root}/languages":
            return {"Python": 750, "Go": 250}, False
        page = int(query.get("page", "1"))
        if path == f"{root}/pulls":
            rows = sorted(self.pulls, key=lambda pull: str(pull["created_at"]), reverse=True)
            shown = [{name: value for name, value in row.items() if name != "files"} for row in rows]
            return self._paged(shown, page)
        parts = path.removeprefix(f"{root}/pulls/").split("/")
        found = next((pull for pull in self.pulls if str(pull["number"]) == parts[0]), None)
        if found is None or not path.startswith(f"{root}/pulls/"):
            return None
        if parts[1:] == ["files"]:
            return self._paged(found["files"], page)
        return (self.diffs.get(found["number"]), False) if "diff" in accept else (found, False)

    def _paged(self, rows: Sequence[Any], page: int) -> tuple[Any, bool]:
        start = (page - 1) * self.page
        return list(rows[start : start + self.page]), start + self.page < len(rows)


class _Handler(BaseHTTPRequestHandler):
    house: GithubServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(address.query).items()}
        headers = {name.lower(): value for name, value in self.headers.items()}
        with self.house.lock:
            self.house.asked.append(Asked(address.path, query, headers))
            waiting = self.house.faults[address.path]
            fault = waiting.pop(0) if waiting else None
        if fault is not None and not fault.half:
            self._send(fault.status, fault.body, fault.headers)
            return
        old = next((old for old in self.house.moved if f"{address.path}/".startswith(f"{old}/")), None)
        if old is not None:
            self._send(301, b"{}", {"Location": self.house.moved[old] + self.path.removeprefix(old)})
            return
        found = self.house.answer(address.path, query, headers.get("accept", ""))
        if found is None or found[0] is None:
            self._send(404, b'{"message": "Not Found"}', {})
            return
        value, more = found
        body = value.encode() if isinstance(value, str) else json.dumps(value).encode()
        if fault is not None:
            self._send(200, body[: len(body) // 2], {}, announced=len(body) if fault.broken else None)
            return
        tag = f'"{hashlib.sha256(body + str(more).encode()).hexdigest()}"'
        if headers.get("if-none-match") == tag:
            self._send(304, b"", {"ETag": tag})
            return
        further = {"ETag": tag}
        if more:
            follow = "&".join(f"{name}={value}" for name, value in query.items() if name != "page")
            number = int(query.get("page", "1")) + 1
            further["Link"] = f'<{self.house.url}{address.path}?{follow}&page={number}>; rel="next"'
        self._send(200, body, further)

    def _send(self, code: int, body: bytes, headers: Mapping[str, str], announced: int | None = None) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if announced is None else announced))
        self.end_headers()
        self.wfile.write(body)
        if announced is not None:
            self.close_connection = True

    def log_message(self, *details: object) -> None:
        """Say nothing."""
