"""Real sockets: what a command inside gets through the proxy, and what it does not."""

from __future__ import annotations

import contextlib
import http.server
import logging
import socket
import ssl
import tempfile
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from caretbench.build.package_index.index_policy import INDEX_SETTINGS, IndexHost, IndexPolicy, index_policy
from caretbench.build.package_index.index_proxy import IndexProxy
from caretbench.errors import DataError
from caretbench.execution.execution_types import Limits, Status, WarmSettings
from caretbench.execution.sandbox import bubblewrap as walls
from caretbench.execution.sandbox.program_sandbox import Invocation, Sandbox, SandboxUnavailable
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceRunner

PYTHON = walls.launcher_interpreter()[0]
PAGE = b"<a href='tiny-1.0.whl'>tiny</a>" * 10


class _Index(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.seen.append(f"{self.path} {self.headers}")  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def index() -> Iterator[http.server.HTTPServer]:
    """A package index on this machine, which remembers what it was asked."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Index) as server:
        server.seen = []  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def echo() -> Iterator[int]:
    """The port of a server that sends back what it gets, and a word when that ends."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection, contextlib.suppress(OSError):
                    while data := connection.recv(65_536):
                        connection.sendall(data)
                    connection.sendall(b"the end")

        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def policy(*ports: int, **bounds: Any) -> IndexPolicy:
    """``index.test`` on these ports is the user's, ``public.test`` is as from the data file."""
    hosts = (
        IndexHost(name="index.test", ports=ports or (1,), trusted=True),
        IndexHost(name="public.test", ports=ports or (1,)),
    )
    return IndexPolicy(hosts=hosts, **bounds)


class Open:
    """A proxy with its listening socket on this machine, as the launcher hands it out."""

    def __init__(self, rules: IndexPolicy, answers: Sequence[Sequence[str]] = (("127.0.0.1",),)) -> None:
        self.asked: list[str] = []
        self._answers = list(answers)
        self.proxy = IndexProxy(rules, resolve=self._resolve)

    async def _resolve(self, name: str, _: int) -> list[str]:
        self.asked.append(name)
        answer = list(self._answers.pop(0) if len(self._answers) > 1 else self._answers[0])
        if not answer:
            raise socket.gaierror("Name or service not known")
        return answer

    def __enter__(self) -> Open:
        self.proxy.__enter__()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.address = listener.getsockname()
            socket.send_fds(self.proxy.listener_channel, [b"d"], [listener.fileno()])
        return self

    def __exit__(self, *_: object) -> None:
        self.proxy.__exit__()

    def connect(self) -> socket.socket:
        return socket.create_connection(self.address, timeout=30)

    def ask(self, *lines: str) -> str:
        """The whole answer to a request."""
        with self.connect() as connection:
            connection.sendall("\r\n".join((*lines, "", "")).encode("latin-1"))
            return rest_of(connection).decode("latin-1")


def rest_of(connection: socket.socket) -> bytes:
    data = b""
    with contextlib.suppress(ConnectionResetError):
        while more := connection.recv(65_536):
            data += more
    return data


def tunnel(opened: Open, place: str) -> tuple[socket.socket, bytes]:
    connection = opened.connect()
    connection.sendall(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode())
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        more = connection.recv(1)
        if not more:
            break
        answer += more
    return connection, answer


def hello(name: str | None) -> bytes:
    context = ssl._create_unverified_context()  # noqa: S323  only its first message is wanted
    outgoing = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name)
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def test_a_plain_request_reaches_the_index_without_what_is_the_proxys(index: http.server.HTTPServer) -> None:
    port = index.server_port
    with Open(policy(port)) as opened:
        answer = opened.ask(
            f"GET http://index.test:{port}/simple/?a=b HTTP/1.1",
            "Host: elsewhere.test",
            "Proxy-Authorization: Basic c2VjcmV0",
            "X-Own: kept",
        )
    assert answer.startswith("HTTP/1.0 200")
    assert answer.encode().endswith(PAGE)
    (seen,) = index.seen  # type: ignore[attr-defined]
    assert seen.startswith("/simple/?a=b ")
    assert f"Host: index.test:{port}" in seen
    assert "X-Own: kept" in seen
    assert "elsewhere" not in seen
    assert "Proxy" not in seen
    assert opened.proxy.received_bytes > len(PAGE)


@pytest.mark.parametrize(
    ("request_line", "said"),
    [
        ("GET http://evil.test/ HTTP/1.1", "evil.test is not a package index"),
        ("CONNECT evil.test:443 HTTP/1.1", "evil.test is not a package index"),
        ("CONNECT 127.0.0.1:443 HTTP/1.1", "127.0.0.1 is an address, not the name"),
        ("CONNECT [::1]:443 HTTP/1.1", "[::1] is an address, not the name"),
        ("CONNECT 2130706433:443 HTTP/1.1", "is an address"),
        ("GET http://169.254.169.254/latest/meta-data/ HTTP/1.1", "169.254.169.254 is an address"),
        ("CONNECT index.test:22 HTTP/1.1", "may be reached on port 1, not 22"),
        ("CONNECT index.test HTTP/1.1", "not 443"),
        ("CONNECT index.test:1:2 HTTP/1.1", "is not a package index"),
        ("CONNECT :443 HTTP/1.1", "no host and port"),
        ("CONNECT index.test:99999999 HTTP/1.1", "no host and port"),
        ("POST http://index.test:1/ HTTP/1.1", "only GET, HEAD and CONNECT"),
        ("GET https://index.test:1/ HTTP/1.1", "plain requests need"),
        ("GET http://bob:hunter2secret@index.test:1/ HTTP/1.1", "without user and password"),
        ("GET / HTTP/1.1", "plain requests need"),
        ("GET http://index.test:1/\xff HTTP/1.1", "plain requests need"),
        ("nonsense", "no HTTP request"),
    ],
)
def test_what_is_refused_says_why_once(request_line: str, said: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "caretbench"), Open(policy()) as opened:
        answer = opened.ask(request_line)
    assert answer.startswith("HTTP/1.1 403 ")
    assert said in answer
    assert opened.asked == []  # names that may not be reached are not even looked up
    (record,) = caplog.records
    assert said in record.getMessage()
    assert "hunter2secret" not in answer + caplog.text


@pytest.mark.parametrize("field", ["Content-Length: 5", "Transfer-Encoding: chunked", " folded", "no colon"])
def test_bodies_and_malformed_fields_are_refused(field: str) -> None:
    with Open(policy()) as opened:
        assert opened.ask("GET http://index.test:1/ HTTP/1.1", field).startswith("HTTP/1.1 403 ")


@pytest.mark.parametrize(
    "answers", [["127.0.0.1"], ["151.101.0.223", "10.0.0.1"], ["169.254.169.254"], ["::ffff:127.0.0.1"]]
)
def test_a_public_index_is_not_connected_to_at_an_address_in_here(
    answers: list[str], index: http.server.HTTPServer
) -> None:
    port = index.server_port
    with Open(policy(port), [answers]) as opened:
        answer = opened.ask(f"GET http://public.test:{port}/ HTTP/1.1")
    assert answer.startswith("HTTP/1.1 403 ")
    assert "public.test has" in answer
    assert index.seen == []  # type: ignore[attr-defined]


def test_a_name_is_looked_up_once_and_that_address_is_used(index: http.server.HTTPServer) -> None:
    port = index.server_port
    with Open(policy(port), [["127.0.0.1"], ["127.0.0.2"]]) as opened:
        assert "200" in opened.ask(f"GET http://index.test:{port}/ HTTP/1.1")
        assert opened.asked == ["index.test"]


def test_an_index_that_is_away_is_a_bad_gateway() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with Open(policy(port)) as opened:
        assert opened.ask(f"CONNECT index.test:{port} HTTP/1.1").startswith("HTTP/1.1 502 ")


def test_a_tunnel_carries_bytes_both_ways_and_its_half_end(echo: int) -> None:
    first = hello("index.test")
    sent = first + bytes(range(256)) * 4_000
    with Open(policy(echo)) as opened:
        connection, answer = tunnel(opened, f"index.test:{echo}")
        with connection:
            assert b" 200 " in answer
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            assert rest_of(connection) == sent + b"the end"
    assert opened.proxy.refusals == []
    assert opened.proxy.sent_bytes == len(sent)


@pytest.mark.parametrize(
    ("first", "said"),
    [
        (hello("other.test"), "asks for other.test"),
        (hello(None), "asks for no host"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "does not begin with TLS"),
        (b"GET / HTTP/1.1\r\nHost: other.test\r\n\r\n", "does not begin with TLS"),
    ],
)
def test_a_tunnel_is_for_tls_with_the_host_it_was_asked_for(first: bytes, said: str, echo: int) -> None:
    with Open(policy(echo)) as opened:
        connection, _ = tunnel(opened, f"index.test:{echo}")
        with connection:
            connection.sendall(first)
            answer = rest_of(connection)
    assert first not in answer
    assert said in opened.proxy.refusals[0]


def test_heads_that_are_long_or_slow_or_never_come_end() -> None:
    with Open(policy(max_head_bytes=1000, head_timeout_s=0.3)) as opened:
        assert opened.ask("GET http://index.test:1/ HTTP/1.1", "X: " + "a" * 5000).startswith("HTTP/1.1 431 ")
        with opened.connect() as slow:
            slow.sendall(b"GET http://index.test:1/ HT")
            assert b"did not come within" in rest_of(slow)
        with opened.connect() as silent:
            assert b"did not come within" in rest_of(silent)


def test_a_silent_tunnel_ends(echo: int) -> None:
    with Open(policy(echo, idle_timeout_s=0.3)) as opened:
        connection, _ = tunnel(opened, f"index.test:{echo}")
        with connection:
            first = hello("index.test")
            connection.sendall(first)
            assert rest_of(connection) == first
    assert any("silent for too long" in line for line in opened.proxy.refusals)


def test_bytes_are_bounded_both_ways(echo: int, index: http.server.HTTPServer) -> None:
    with Open(policy(echo, max_sent_bytes=5_000)) as opened:
        connection, _ = tunnel(opened, f"index.test:{echo}")
        with connection, contextlib.suppress(OSError):
            connection.sendall(hello("index.test") + b"x" * 100_000)
            rest_of(connection)
    assert opened.proxy.refusals == ["more than 5000 bytes were sent"]
    with Open(policy(index.server_port, max_received_bytes=100)) as opened:
        opened.ask(f"GET http://index.test:{index.server_port}/ HTTP/1.1")
    assert opened.proxy.refusals == ["more than 100 bytes were received"]


def test_a_refusal_names_the_option_that_allows_it() -> None:
    with Open(policy(), [("10.0.0.1",), ("10.0.0.1",), ("169.254.169.254",)]) as opened:
        for _ in range(3):
            opened.ask("GET http://public.test:1/ HTTP/1.1")
        opened.ask("CONNECT evil.test:443 HTTP/1.1")
        opened.ask("CONNECT public.test:8443 HTTP/1.1")
    assert opened.proxy.refusals == [
        "public.test has an address that is not public: 10.0.0.1; --index http://public.test:1 allows it",
        "public.test has an address that is link-local: 169.254.169.254",
        "evil.test is not a package index that may be reached; --index https://evil.test allows it",
        "public.test may be reached on port 1, not 8443; --index https://public.test:8443 allows it",
    ]
    named = index_policy({}, ["http://public.test:1"]).hosts
    allowed = IndexPolicy(hosts=(*named, *policy(443).hosts))
    host = allowed.find_host("public.test")
    assert host is not None
    assert (host.ports, host.trusted) == ((1, 443), True)


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("repo.maven.apache.org", "MAVEN_MIRROR_URL"), ("pypi.org", "PIP_INDEX_URL"),
        ("registry.npmjs.org", "npm_config_registry"), ("plugins.gradle.org", ""),
    ],
)  # fmt: skip
def test_an_index_that_is_out_of_reach_is_named_with_the_option_for_a_mirror(name: str, setting: str) -> None:
    remedy = f"; --index {setting}=https://ADDRESS names a mirror" if setting else ""
    with Open(IndexPolicy(), [()]) as opened:
        opened.ask(f"CONNECT {name}:443 HTTP/1.1")
    assert opened.proxy.refusals == [f"this machine does not know the host {name}{remedy}"]
    assert not setting or setting in INDEX_SETTINGS


def test_connections_are_bounded_and_their_complaints_too() -> None:
    with Open(policy(concurrent_connections=2)) as opened:
        held = [opened.connect() for _ in range(2)]
        for connection in held:
            connection.sendall(b"GET ")
        answers = {opened.ask("GET http://index.test:1/ HTTP/1.1").partition("\r\n")[0] for _ in range(5)}
        assert "HTTP/1.1 503 Busy" in answers
        for connection in held:
            connection.close()
    with Open(policy(max_connections=3)) as opened:
        said = [opened.ask("GET http://evil.test/ HTTP/1.1").partition("\r\n")[0] for _ in range(4)]
        assert said == ["HTTP/1.1 403 Forbidden"] * 3 + ["HTTP/1.1 503 Busy"]
        with pytest.raises(ConnectionRefusedError):
            opened.connect()
    with Open(policy()) as opened:
        for n in range(120):
            opened.ask(f"GET http://evil{n}.test/ HTTP/1.1")
            opened.ask("GET http://evil0.test/ HTTP/1.1")
    assert len(opened.proxy.refusals) == 101
    assert opened.proxy.refusals[-1] == "further refusals are not listed"


def test_a_proxy_that_nobody_uses_ends() -> None:
    with IndexProxy(policy()):
        pass


# --- inside ---------------------------------------------------------------------------------------------------------

LIMITS = Limits(wall_s=60, cpu_s=20, memory_mb=400)


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    sandbox = Sandbox()
    try:
        sandbox.probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    yield sandbox
    sandbox.close()


HOSTILE = """
import os, socket, urllib.request
def tries(name, act):
    try: print(name, act())
    except Exception as error: print(name, "no", type(error).__name__, error)
def fetch(url):
    return urllib.request.urlopen(url, timeout=20).read()[:40]
def through(text):
    with socket.create_connection(("127.0.0.1", 3128), timeout=20) as s:
        s.sendall(text.encode()); return s.recv(4096).split(b"\\r\\n")[0]
tries("index", lambda: fetch("http://index.test:%(port)d/simple/"))
tries("evil", lambda: fetch("http://evil.test/"))
tries("metadata", lambda: fetch("http://169.254.169.254/latest/"))
tries("host", lambda: fetch("http://localhost:%(port)d/"))
tries("direct", lambda: socket.create_connection(("127.0.0.1", %(port)d), timeout=5))
tries("outside", lambda: socket.create_connection(("1.1.1.1", 53), timeout=5))
tries("tunnel", lambda: through("CONNECT 127.0.0.1:22 HTTP/1.1\\r\\n\\r\\n"))
tries("rebound", lambda: through("CONNECT public.test:%(port)d HTTP/1.1\\r\\n\\r\\n"))
tries("descriptors", lambda: sorted(os.readlink("/proc/self/fd/" + n)[:7] for n in "012"))
tries("more", lambda: [n for n in os.listdir("/proc/self/fd") if int(n) > 3])
tries("parent", lambda: os.listdir("/proc/1/fd"))
"""


@pytest.mark.parametrize("warm", [None, WarmSettings()])
def test_a_hostile_program_reaches_the_index_and_nothing_else(
    box: Sandbox, index: http.server.HTTPServer, warm: WarmSettings | None
) -> None:
    async def resolve(_name: str, _port: int) -> list[str]:
        return ["127.0.0.1"]

    with IndexProxy(policy(index.server_port), resolve=resolve) as proxy:
        program = HOSTILE % {"port": index.server_port}
        ran = box.run(Invocation([PYTHON, "-I", "-c", program], limits=LIMITS, index=proxy, warm=warm))
    assert ran.ok, ran
    assert ran.isolation is not None
    assert ran.isolation.network == "index"
    said = dict(line.split(" ", 1) for line in ran.stdout.text.splitlines())
    assert said["index"] == repr(PAGE[:40])
    for name in ("evil", "metadata", "host"):
        assert said[name].startswith("no HTTPError HTTP Error 403"), said[name]
    assert said["direct"].startswith("no ConnectionRefusedError")
    assert said["outside"].startswith("no OSError")
    assert said["tunnel"] == said["rebound"] == "b'HTTP/1.1 403 Forbidden'"
    assert said["more"] == "[]"
    assert said["parent"].startswith("no FileNotFoundError")  # our first process is covered
    assert len(index.seen) == 1  # type: ignore[attr-defined]
    assert len(proxy.refusals) == 5


@pytest.mark.parametrize("warm", [None, WarmSettings()])
def test_without_a_proxy_there_is_nothing_to_connect_to(box: Sandbox, warm: WarmSettings | None) -> None:
    program = "import socket; print(socket.socket().connect_ex(('127.0.0.1', 3128)))"
    ran = box.run(Invocation([PYTHON, "-I", "-c", program], limits=LIMITS, warm=warm))
    assert ran.stdout.text == "111\n"
    assert ran.isolation is not None
    assert ran.isolation.network == "none"


def test_a_proxy_that_goes_away_refuses_connections(box: Sandbox) -> None:
    program = """
import socket, time
s = socket.create_connection(("127.0.0.1", 3128)); s.sendall(b"GET ")
print("connected", flush=True)
print("ended", s.recv(100))
for _ in range(200):
    answer = socket.socket().connect_ex(("127.0.0.1", 3128))
    if answer: break
    time.sleep(0.05)
print("then", answer)
"""
    proxy = IndexProxy(policy())
    proxy.__enter__()
    done = threading.Event()

    def leave() -> None:
        while not proxy._served and not done.wait(0.05):
            pass
        proxy.__exit__()

    thread = threading.Thread(target=leave)
    thread.start()
    ran = box.run(Invocation([PYTHON, "-I", "-c", program], limits=LIMITS, index=proxy))
    done.set()
    thread.join()
    assert ran.ok, ran
    assert ran.stdout.text.splitlines() == ["connected", "ended b''", "then 111"]


@pytest.mark.parametrize("overlay", [True, False])
def test_a_command_in_a_project_reaches_the_index(box: Sandbox, index: http.server.HTTPServer, overlay: bool) -> None:
    rules = IndexPolicy(
        hosts=(IndexHost(name="localhost", ports=(index.server_port,), trusted=True),),
        settings={"PIP_INDEX_URL": f"http://localhost:{index.server_port}/simple"},
    )
    with tempfile.TemporaryDirectory(prefix="caretbench-test-", dir="/var/tmp") as folder:
        place = Path(folder)
        place.chmod(0o755)
        (place / "project").mkdir()
        (place / "project" / "setup.py").write_text(
            "import os, urllib.request as r\n"
            "open('page', 'wb').write(r.urlopen(os.environ['PIP_INDEX_URL']).read())\n"
            "try: r.urlopen('http://evil.test/')\nexcept OSError as error: print(error)\n"
        )
        spaces = WorkspaceRunner(box, SnapshotStore(place / "store"), overlay=overlay, index=partial(IndexProxy, rules))
        request = WorkspaceRequest(
            id="a",
            snapshot=spaces.store.add(place / "project").id,
            command=(PYTHON, "setup.py"),
            results=("page",),
            network="index",
        )
        ran = spaces.run(request)
        with pytest.raises(DataError, match="may not count"):
            spaces.run(request.model_copy(update={"junit": ("report.xml",)}))
    assert ran.status is Status.PASSED, ran
    assert ran.file("page") == PAGE
    assert ran.stdout.text == "HTTP Error 403: Forbidden\n"
    assert ran.refusals == ("evil.test is not a package index that may be reached; --index http://evil.test allows it",)
    assert ran.isolation is not None
    assert ran.isolation.network == "index"


@pytest.mark.long
def test_pip_downloads_a_package_from_the_real_index(box: Sandbox) -> None:
    names = ("pypi.org", "files.pythonhosted.org")
    try:
        for name in names:
            socket.create_connection((name, 443), timeout=10).close()
    except OSError:
        pytest.skip("the public index cannot be reached from here")
    # Explicit: a mirror may stand in for it, at an address that is not public.
    rules = IndexPolicy(hosts=tuple(IndexHost(name=name, trusted=True) for name in names))
    command = f"{PYTHON} -m pip --version >&2 || exit 3; {PYTHON} -m pip download -q --no-deps six==1.17.0 && ls"
    with IndexProxy(rules) as proxy:
        ran = box.run(Invocation(["/bin/sh", "-c", command], limits=LIMITS, index=proxy))
    if ran.exit_code == 3:
        pytest.skip("the sandbox's interpreter has no pip")
    assert ran.stdout.text.split() == ["six-1.17.0-py2.py3-none-any.whl"], ran
    assert proxy.refusals == []
    assert proxy.received_bytes > 10_000
