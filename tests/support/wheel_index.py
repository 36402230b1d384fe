"""A package index on this machine with small wheels of one module each."""

from __future__ import annotations

import http.server
import io
import subprocess
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from caretbench.build.package_index.index_policy import IndexHost, IndexPolicy
from caretbench.execution.bundles.bundle_store import sandbox_python


def require_pip() -> None:
    """Skip the test if the sandbox's Python has no pip."""
    done = subprocess.run([sandbox_python(), "-I", "-m", "pip", "--version"], capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip("the sandbox's Python has no pip")


def wheel(name: str, text: str) -> bytes:
    """A wheel of version 1.0 whose only module has the package's name."""
    data = io.BytesIO()
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(f"{name}.py", text)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return data.getvalue()


@contextmanager
def wheel_index(packages: Mapping[str, str]) -> Iterator[IndexPolicy]:
    """The policy of an index that has these packages: texts of modules by name. Everything else is not found."""
    files = {f"{name}-1.0-py3-none-any.whl": wheel(name, text) for name, text in packages.items()}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            last = self.path.rstrip("/").rpartition("/")[2]
            links = [f'<a href="/files/{file}">{file}</a>' for file in files if file.startswith(f"{last}-")]
            body = files.get(last) if last in files else "".join(links).encode()
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "application/octet-stream" if last in files else "text/html")
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield IndexPolicy(
            hosts=(IndexHost(name="localhost", ports=(server.server_port,), trusted=True),),
            settings={"PIP_INDEX_URL": f"http://localhost:{server.server_port}/simple"},
        )
        server.shutdown()
        thread.join()
