"""Downloads over real sockets, from a server with scripted faults."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from caretbench.download import PinnedFile, copy_file, download_file, is_complete
from caretbench.errors import DataError

BODY = bytes(range(256)) * 400
PINNED = PinnedFile("folder/file.bin", len(BODY), hashlib.sha256(BODY).hexdigest())


class Server:
    """A server whose answers follow a script: ``cut``, ``wrong``, ``endless``, ``busy``, ``whole``, ``norange``."""

    def __init__(self, script: list[str]) -> None:
        self.ranges: list[str | None] = []
        self.blocks = 0
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                wanted = self.headers.get("Range")
                owner.ranges.append(wanted)
                act = script.pop(0) if script else "whole"
                if act == "busy":
                    self.send_response(503)
                    self.end_headers()
                    return
                if act == "endless":
                    self.send_response(200)
                    self.end_headers()
                    with contextlib.suppress(OSError):
                        while owner.blocks < 1_000:
                            self.wfile.write(BODY)
                            owner.blocks += 1
                    return
                start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and act != "norange" else 0
                body = bytes(len(BODY)) if act == "wrong" else BODY[start:]
                self.send_response(206 if start else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[: len(body) // 2] if act == "cut" else body)

            def log_message(self, *_arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def scripted(request: pytest.FixtureRequest) -> Iterator[Server]:
    server = Server(list(request.param))
    yield server
    server.close()


def get(server: Server, folder: Path) -> None:
    download_file(PINNED, server.url, folder, pause=lambda _seconds: None)


@pytest.mark.parametrize("scripted", [["whole"], ["busy", "whole"], ["wrong", "whole"]], indirect=True)
def test_a_file_arrives_whole(scripted: Server, tmp_path: Path) -> None:
    get(scripted, tmp_path)
    assert is_complete(PINNED, tmp_path)
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["file.bin"]


@pytest.mark.parametrize("scripted", [["cut", "whole"]], indirect=True)
def test_a_download_that_broke_off_goes_on(scripted: Server, tmp_path: Path) -> None:
    get(scripted, tmp_path)
    assert is_complete(PINNED, tmp_path)
    assert scripted.ranges == [None, f"bytes={len(BODY) // 2}-"]


@pytest.mark.parametrize("scripted", [["cut", "norange"]], indirect=True)
def test_a_server_that_ignores_the_range_is_no_trouble(scripted: Server, tmp_path: Path) -> None:
    get(scripted, tmp_path)
    assert is_complete(PINNED, tmp_path)


@pytest.mark.parametrize("scripted", [["wrong"] * 4], indirect=True)
def test_a_wrong_file_is_never_kept(scripted: Server, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not that of the pinned revision"):
        get(scripted, tmp_path)
    assert not is_complete(PINNED, tmp_path)
    assert list((tmp_path / "folder").iterdir()) == []


@pytest.mark.parametrize("scripted", [["endless"]], indirect=True)
def test_a_download_ends_at_the_pinned_size(scripted: Server, tmp_path: Path) -> None:
    get(scripted, tmp_path)
    assert scripted.blocks < 200, "100 MB were on offer"
    assert (tmp_path / PINNED.path).read_bytes() == BODY


def test_a_local_copy_is_checked(tmp_path: Path) -> None:
    source = tmp_path / "source" / "folder"
    source.mkdir(parents=True)
    with pytest.raises(DataError, match="not there"):
        copy_file(PINNED, tmp_path / "source", tmp_path / "cache")
    (source / "file.bin").write_bytes(BODY[:-1])
    with pytest.raises(DataError, match="SHA-256"):
        copy_file(PINNED, tmp_path / "source", tmp_path / "cache")
    (source / "file.bin").write_bytes(BODY)
    copy_file(PINNED, tmp_path / "source", tmp_path / "cache")
    assert is_complete(PINNED, tmp_path / "cache")
