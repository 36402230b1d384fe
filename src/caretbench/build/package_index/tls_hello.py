"""Parser of the host name in a TLS client's first message (ClientHello).

RFC 8446 section 4.1.2 (ClientHello) and RFC 6066 section 3 (server_name).
"""

from __future__ import annotations

HEADER_BYTES = 5
MOST_RECORD_BYTES = 1 << 14
_HANDSHAKE, _CLIENT_HELLO = 22, 1
_SERVER_NAME, _HOST_NAME = 0, 0
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
    if len(header) < HEADER_BYTES or header[0] != _HANDSHAKE or header[1] != 3 or not 0 < length <= MOST_RECORD_BYTES:
        raise NotClientHello("it is no TLS handshake")
    return length


def server_name(record: bytes) -> str | None:
    """Return the host that a ClientHello names, in lower case; None where it names none.

    Raises:
        NoHello: it is none, it comes in pieces, or what it asks for is hidden (encrypted hello).
    """
    message = _Bytes(record)
    if message.number(1) != _CLIENT_HELLO:
        raise NotClientHello("it is no client's first message")
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
            raise NotClientHello("what it asks for is encrypted")
        if kind == _SERVER_NAME:
            entries = content.block(2)
            while entries.left:
                sort, name = entries.number(1), entries.block(2)
                if sort == _HOST_NAME:
                    names.append(name.take(len(name._data)).decode("ascii", "replace").lower())
    if len(names) > 1:
        raise NotClientHello("it names several hosts")
    return names[0] if names else None
