"""Network proxy for set-up commands, which lets them reach package indexes only.

The sandbox keeps its empty network namespace. Its launcher listens on the loopback interface inside, and sends that
listening socket to the host before the command starts. The host accepts and checks the connections. So no part of the
host is bound into the sandbox, and no other process of the host can reach the proxy.

A request is ``CONNECT`` for TLS, whose first message must name the same host, or a plain ``GET`` (``HEAD``). Names
are looked up here; the address that was judged is the one that is connected to. A refusal names the host, the reason,
and the option that allows it where one does; a repeated one is reported once.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import re
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from caretbench.build.package_index.index_policy import (
    IndexHost,
    IndexPolicy,
    address_refusal,
    index_address,
    is_ip_address,
    proxy_environment,
)
from caretbench.redaction import redact

# Kind, version and length of a TLS record: 1, 2 and 2 bytes (RFC 8446, 5.1).
HEADER_BYTES = 5
# The maximum of a TLS record (RFC 8446, 5.1).
MAX_RECORD_BYTES = 1 << 14
# The kinds of the first record and of its message. Whoever begins with other bytes speaks no TLS, and a name that is
# not in clear cannot be compared with the indexes.
_HANDSHAKE, _CLIENT_HELLO = 22, 1
_SERVER_NAME, _HOST_NAME = 0, 0
# Encrypted Client Hello: the name that is seen is not the host that is asked for.
_ENCRYPTED_HELLO = 0xFE0D


class NotClientHello(Exception):  # noqa: N818 - what was found
    """Error: the bytes are no ClientHello."""


class _Bytes:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        if self._at + count > len(self._data):
            raise NotClientHello("it ends too early")
        self._at += count
        return self._data[self._at - count : self._at]

    def number(self, count: int) -> int:
        return int.from_bytes(self.take(count), "big")

    def block(self, count: int) -> _Bytes:
        """Return a reader of the block announced by a length of ``count`` bytes."""
        return _Bytes(self.take(self.number(count)))

    @property
    def left(self) -> bool:
        return self._at < len(self._data)


def record_length(header: bytes) -> int:
    """Return the length of a TLS record from its five-byte header, or raise NotClientHello if it is not one."""
    length = int.from_bytes(header[3:5], "big")
    if len(header) < HEADER_BYTES or header[0] != _HANDSHAKE or header[1] != 3 or not 0 < length <= MAX_RECORD_BYTES:
        raise NotClientHello("not a TLS handshake")
    return length


def server_name(record: bytes) -> str | None:
    """Return the host that a ClientHello names, in lower case; None where it names none.

    Raises:
        NotClientHello: it is not one, it is incomplete, or the name is encrypted.
    """
    message = _Bytes(record)
    if message.number(1) != _CLIENT_HELLO:
        raise NotClientHello("not a TLS ClientHello")
    hello = message.block(3)
    hello.take(2 + 32)  # version, random
    hello.block(1)  # session
    hello.block(2)  # cipher suites
    hello.block(1)  # compressions
    if not hello.left:
        return None
    extensions = hello.block(2)
    names: list[str] = []
    while extensions.left:
        kind = extensions.number(2)
        content = extensions.block(2)
        if kind == _ENCRYPTED_HELLO:
            raise NotClientHello("the host name is encrypted")
        if kind == _SERVER_NAME:
            entries = content.block(2)
            while entries.left:
                sort, name = entries.number(1), entries.block(2)
                if sort == _HOST_NAME:
                    names.append(name.take(len(name._data)).decode("ascii", "replace").lower())
    # Servers differ in which of them they take, so the checked one may not be the used one.
    if len(names) > 1:
        raise NotClientHello("it names several hosts")
    return names[0] if names else None


Resolve = Callable[[str, int], Awaitable[list[str]]]
"""From a host and a port to its addresses."""

_log = logging.getLogger(__name__)
# A project may loop over refused connections; the list goes into the build's files.
_MAX_REFUSALS = 100
_BLOCK = 65_536
_REASONS = {403: "Forbidden", 431: "Request Header Fields Too Large", 502: "Bad Gateway", 503: "Busy"}
_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# Fields of one connection only, and `Host`, which is written anew from the checked target.
_NOT_PASSED_ON = frozenset(
    (b"host", b"connection", b"keep-alive", b"te", b"trailer", b"upgrade", b"content-length", b"expect")
)


class _Refused(Exception):  # noqa: N818 - an answer
    def __init__(self, reason: str, status: int = 403) -> None:
        super().__init__(reason)
        self.status = status


class _Target(NamedTuple):
    host: IndexHost
    port: int
    address: str
    """Address of the host, as ``--index`` takes it."""


class _Upstream(NamedTuple):
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


async def _look_up(name: str, port: int) -> list[str]:
    addresses = await asyncio.get_running_loop().getaddrinfo(name, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in addresses))


def _passed_on(method: str, fields: list[bytes]) -> Iterator[bytes]:
    """Yield the fields of a request's head that are passed on; a body is refused."""
    for field in fields:
        name, colon, value = field.partition(b":")
        if not colon or not _TOKEN.fullmatch(name):
            raise _Refused("a field of the request's head is malformed")
        low = name.lower()
        # A body would carry data of this machine out, and two lengths of one body can hide a second request.
        if low == b"transfer-encoding" or (low == b"content-length" and value.strip() != b"0"):
            raise _Refused(f"{method} with a body")
        if low not in _NOT_PASSED_ON and not low.startswith(b"proxy-"):
            yield field


def _shown(text: str) -> str:
    """Return text of a program inside, escaped and redacted for a log."""
    return redact(ascii(text[:120])[1:-1])


def _allowed_by(address: str) -> str:
    return f"--index {address} allows it"


def _mirror_of(host: IndexHost) -> str:
    """Return the option that names a mirror of a public index that is out of reach."""
    return f"; --index {host.mirror_setting}=https://ADDRESS names a mirror" if host.mirror_setting else ""


class IndexProxy:
    """Proxy of one command; a context manager. Its end closes every connection.

    By default the public indexes can be reached, and the host's resolver looks names up.
    """

    def __init__(self, policy: IndexPolicy | None = None, *, resolve: Resolve = _look_up) -> None:
        self.policy = policy or IndexPolicy()
        self.refusals: list[str] = []
        """Reasons of refused connections, each once, the first hundred."""
        self.received_bytes = 0
        self.sent_bytes = 0
        self._resolve = resolve
        self._active = 0
        self._served = 0
        # The listening socket is made inside the sandbox's own network and handed out, so no port of this machine is
        # open.
        self._outer, self.listener_channel = socket.socketpair()
        self._loop = asyncio.new_event_loop()
        self._main: asyncio.Task[None] | None = None
        self._server: asyncio.Server | None = None
        # A thread of its own, as the build waits for the command in this one.
        self._thread = threading.Thread(target=self._live, name="index-proxy", daemon=True)

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables that the command needs."""
        return proxy_environment(self.policy)

    @property
    def files(self) -> Mapping[str, str]:
        """Configuration of the command's tools, by path inside."""
        return self.policy.files

    def __enter__(self) -> IndexProxy:
        self._main = self._loop.create_task(self._serve())
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._main is not None  # noqa: S101  begun above
        self._loop.call_soon_threadsafe(self._main.cancel)
        self._thread.join()
        self._outer.close()
        self.listener_channel.close()

    # --- its life -----------------------------------------------------------------------------------------------------

    def _live(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            with contextlib.suppress(asyncio.CancelledError):
                assert self._main is not None  # noqa: S101
                self._loop.run_until_complete(self._main)
            rest = asyncio.all_tasks(self._loop)
            # Open connections end with the command; a task that is left would be reported as never retrieved.
            for task in rest:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*rest, return_exceptions=True))
            self._loop.run_until_complete(asyncio.sleep(0))  # transports close in the next round
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        self._outer.setblocking(False)
        arrived = asyncio.Event()
        self._loop.add_reader(self._outer, arrived.set)
        try:
            await arrived.wait()
        finally:
            self._loop.remove_reader(self._outer)
        _, handed, _, _ = socket.recv_fds(self._outer, 16, 1)
        if not handed:
            return
        listener = socket.socket(fileno=handed[0])
        listener.setblocking(False)
        self._server = await asyncio.start_server(self._accept, sock=listener, limit=self.policy.max_head_bytes)
        try:
            await asyncio.Event().wait()
        finally:
            self._server.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._active += 1
        self._served += 1
        try:
            async with asyncio.timeout(self.policy.max_connection_s):
                await self._answer(reader, writer)
        except _Refused as refused:
            self._note(str(refused))
            await self._send_refusal(writer, refused.status, str(refused))
        except TimeoutError:
            self._note("a connection lasted or was silent for too long")
        except (OSError, EOFError, asyncio.LimitOverrunError):
            pass  # one side went away
        finally:
            self._active -= 1
            writer.transport.abort() if writer.transport.is_closing() else writer.close()

    def _note(self, reason: str) -> None:
        if len(self.refusals) == _MAX_REFUSALS:
            reason = "further refusals are not listed"
        if len(self.refusals) <= _MAX_REFUSALS and reason not in self.refusals:
            self.refusals.append(reason)
            _log.info("package indexes only: %s", reason)

    async def _send_refusal(self, writer: asyncio.StreamWriter, status: int, reason: str) -> None:
        body = f"caretbench: {reason}\n".encode()
        head = (
            f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
            f"X-CaretBench: {reason}\r\nConnection: close\r\n\r\n"
        )
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(self.policy.head_timeout_s):
                writer.write(head.encode() + body)
                await writer.drain()

    # --- one request --------------------------------------------------------------------------------------------------

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._served > self.policy.max_connections:
            assert self._server is not None  # noqa: S101  this is one of its connections
            self._server.close()  # further ones are refused by the kernel, at no cost to us
            raise _Refused("too many connections in all", 503)
        if self._active > self.policy.concurrent_connections:
            raise _Refused("too many connections at a time", 503)
        try:
            async with asyncio.timeout(self.policy.head_timeout_s):
                # 60 s: on a busy machine npm sent its first request more than 15 s after the connection (yup).
                head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            raise _Refused(f"a request's head has more than {self.policy.max_head_bytes} bytes", 431) from None
        except TimeoutError:
            raise _Refused(f"a request's head did not come within {self.policy.head_timeout_s:g} s") from None
        line, *fields = head[:-4].split(b"\r\n")
        words = line.split(b" ")
        # A bare line break in a field could start a second request at the server behind.
        if len(words) != 3 or not words[2].startswith(b"HTTP/1.") or re.search(rb"[\r\n\0]", b"".join(fields) + line):
            raise _Refused("it is no HTTP request")
        method, address = words[0].decode("latin-1"), words[1].decode("latin-1")
        if method == "CONNECT":
            await self._tunnel(self._target(address, ""), reader, writer)
        elif method in ("GET", "HEAD"):
            await self._fetch(method, address, fields, writer)
        else:
            raise _Refused(f"{_shown(method)}: only GET, HEAD and CONNECT are let through")

    def _target(self, netloc: str, scheme: str) -> _Target:
        """Return the target's host and port, if they may be reached."""
        name, colon, digits = netloc.rpartition(":")
        if not colon or digits.endswith("]"):
            name, digits = netloc, "80" if scheme else "443"
        if not name or not re.fullmatch(r"[0-9]{1,5}", digits):
            raise _Refused(f"{_shown(netloc)} is no host and port")
        port = int(digits)
        host = self.policy.find_host(name.strip("[]"))
        address = index_address(_shown(name), port, scheme)
        if host is None:
            what = "an address, not the name of" if is_ip_address(name) else "not"
            raise _Refused(f"{_shown(name)} is {what} a package index that may be reached; {_allowed_by(address)}")
        if port not in host.ports:
            ports = ", ".join(map(str, host.ports))
            raise _Refused(f"{host.name} may be reached on port {ports}, not {port}; {_allowed_by(address)}")
        return _Target(host, port, address)

    async def _connect(self, target: _Target) -> _Upstream:
        """Return a connection to an accepted address of the host; its name is not resolved again."""
        host, port, where = target
        try:
            async with asyncio.timeout(self.policy.connect_timeout_s):
                # Looked up once: a name that is checked and resolved again may lead elsewhere the second time.
                addresses = await self._resolve(host.name, port)
                for address in addresses:
                    why = address_refusal(address, trusted=host.trusted)
                    if why:
                        remedy = "" if address_refusal(address, trusted=True) else f"; {_allowed_by(where)}"
                        raise _Refused(f"{host.name} has an address that is {why}: {address}{remedy}")
                for address in addresses:
                    with contextlib.suppress(OSError):
                        return _Upstream(*await asyncio.open_connection(address, port))
        except TimeoutError:
            raise _Refused(f"{host.name}:{port} did not answer{_mirror_of(host)}", 502) from None
        except (OSError, UnicodeError):
            raise _Refused(f"this machine does not know the host {host.name}{_mirror_of(host)}", 502) from None
        raise _Refused(f"{host.name}:{port} cannot be reached{_mirror_of(host)}", 502)

    async def _tunnel(self, target: _Target, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream = await self._connect(target)
        try:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await writer.drain()
            hello = await self._hello(target.host.name, reader)
            self._count(sent=len(hello))
            upstream.writer.write(hello)
            await self._both_ways(reader, writer, upstream)
        finally:
            upstream.writer.close()

    async def _hello(self, host: str, reader: asyncio.StreamReader) -> bytes:
        """Return the first TLS message, if it asks for the host that was connected to: some servers answer for many."""
        try:
            async with asyncio.timeout(self.policy.head_timeout_s):
                header = await reader.readexactly(HEADER_BYTES)
                record = await reader.readexactly(record_length(header))
            name = server_name(record)
        except TimeoutError:
            raise _Refused(f"the tunnel to {host} stayed silent") from None
        except NotClientHello as why:
            raise _Refused(f"the tunnel to {host} does not begin with TLS: {why}") from None
        with contextlib.suppress(ValueError):
            ipaddress.ip_address(host)
            name = name or host  # an address is not named
        if name != host:
            raise _Refused(f"the tunnel to {host} asks for {_shown(name or 'no host')}")
        return header + record

    async def _fetch(self, method: str, address: str, fields: list[bytes], writer: asyncio.StreamWriter) -> None:
        """Forward one plain HTTP request; data after its head is dropped."""
        try:
            parts = urlsplit(address)
        except ValueError:
            raise _Refused("it is no address of a page") from None
        # `http://index@other/` shows one host to a reader and another to a parser.
        if parts.scheme != "http" or "@" in parts.netloc or not re.fullmatch(r"[!-~]+", address):
            raise _Refused("plain requests need an address http://HOST/…, without user and password")
        target = self._target(parts.netloc, parts.scheme)
        kept = [f"{method} {parts.path or '/'}{'?' + parts.query if parts.query else ''} HTTP/1.1".encode()]
        kept += [f"Host: {parts.netloc}".encode(), b"Connection: close", *_passed_on(method, fields)]
        upstream = await self._connect(target)
        try:
            request = b"\r\n".join(kept) + b"\r\n\r\n"
            self._count(sent=len(request))
            upstream.writer.write(request)
            with self._under_way():
                await self._pump(upstream.reader, writer, [self._loop.time()], received=True)
        finally:
            upstream.writer.close()

    # --- bytes --------------------------------------------------------------------------------------------------------

    def _count(self, *, sent: int = 0, received: int = 0) -> None:
        self.sent_bytes += sent
        self.received_bytes += received
        # Requests for packages are short: more is an upload of what the project could read.
        if self.sent_bytes > self.policy.max_sent_bytes:
            raise _Refused(f"more than {self.policy.max_sent_bytes} bytes were sent")
        if self.received_bytes > self.policy.max_received_bytes:
            raise _Refused(f"more than {self.policy.max_received_bytes} bytes were received")

    @contextlib.contextmanager
    def _under_way(self) -> Iterator[None]:
        """Mark that bytes of the other side have arrived: from then on a refusal is not answered."""
        try:
            yield
        except _Refused as refused:
            self._note(str(refused))

    async def _both_ways(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, upstream: _Upstream) -> None:
        last = [self._loop.time()]
        ways = [
            self._loop.create_task(self._pump(reader, upstream.writer, last, received=False)),
            self._loop.create_task(self._pump(upstream.reader, writer, last, received=True)),
        ]
        try:
            with self._under_way():
                await asyncio.gather(*ways)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    async def _pump(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, last: list[float], *, received: bool
    ) -> None:
        """Forward bytes until the source ends; ``last`` is the last time that either direction was in use."""
        while True:
            try:
                async with asyncio.timeout(self.policy.idle_timeout_s):
                    data = await source.read(_BLOCK)
            except TimeoutError:
                # A large download is silent in one direction for minutes.
                if self._loop.time() - last[0] < self.policy.idle_timeout_s:
                    continue
                raise
            last[0] = self._loop.time()
            if not data:
                # One side may end first: a server still answers after the request is complete.
                if sink.can_write_eof():
                    sink.write_eof()
                return
            self._count(**{"received" if received else "sent": len(data)})
            sink.write(data)
            async with asyncio.timeout(self.policy.idle_timeout_s):
                await sink.drain()
