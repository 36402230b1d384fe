"""Decoders of the frames that a greenhouse node sends over radio. All numbers are big-endian.

kind   payload                                          valid range
0x01   temperature  int16, hundredths of a degree C     -40 .. 85
0x02   humidity     uint16, tenths of a per cent        0 .. 100
0x03   pressure     uint32, hundredths of a hectopascal 300 .. 1100
"""

import struct
from dataclasses import dataclass

DECODERS = {}


class BadFrame(ValueError):
    pass


@dataclass(frozen=True)
class Reading:
    quantity: str
    value: float
    unit: str


def decoder(kind):
    def register(function):
        DECODERS[kind] = function
        return function

    return register


def within(quantity, value, low, high):
    if not low <= value <= high:
        raise BadFrame(f"{quantity} of {value} is outside {low}..{high}")
    return value


def decode(frame):
    if not frame:
        raise BadFrame("empty frame")
    if frame[0] not in DECODERS:
        raise BadFrame(f"unknown kind 0x{frame[0]:02x}")
    return DECODERS[frame[0]](frame[1:])


@decoder(0x01)
def decode_temperature(payload):
    if len(payload) != 2:
        raise BadFrame(f"temperature needs 2 bytes, not {len(payload)}")
    (raw,) = struct.unpack(">h", payload)
    return Reading("temperature", within("temperature", raw / 100, -40, 85), "C")


@decoder(0x02)
def decode_humidity(payload):
    if len(payload) != 2:
        raise BadFrame(f"humidity needs 2 bytes, not {len(payload)}")
    (raw,) = struct.unpack(">H", payload)
    return Reading("humidity", within("humidity", raw / 10, 0, 100), "%")


@decoder(0x03)
def decode_pressure(payload):
⟦    if len(payload) != 4:
        raise BadFrame(f"pressure needs 4 bytes, not {len(payload)}")
    (raw,) = struct.unpack(">I", payload)
    return Reading("pressure", within("pressure", raw / 100, 300, 1100), "hPa")
⟧

def decode_all(frames):
    """The readings of all good frames, and the number of bad ones."""
    readings, bad = [], 0
    for frame in frames:
        try:
            readings.append(decode(frame))
        except BadFrame:
            bad += 1
    return readings, bad
⟦tests⟧
reading = decode(b"\x03" + (101325).to_bytes(4, "big"))
assert reading == Reading("pressure", 1013.25, "hPa")
assert decode(b"\x03" + (30000).to_bytes(4, "big")).value == 300
assert decode(b"\x03" + (110000).to_bytes(4, "big")).value == 1100

for raw in (29999, 110001, 0, 2**32 - 1):
    try:
        decode(b"\x03" + raw.to_bytes(4, "big"))
    except BadFrame as error:
        assert str(error) == f"pressure of {raw / 100} is outside 300..1100", error
    else:
        raise AssertionError(f"a pressure of {raw / 100} was accepted")

for payload in (b"", b"\x8b\xcd", b"\x00\x01\x8b\xcd\x00"):
    try:
        decode(b"\x03" + payload)
    except BadFrame as error:
        assert str(error) == f"pressure needs 4 bytes, not {len(payload)}"
    else:
        raise AssertionError("a frame of the wrong length was accepted")

readings, bad = decode_all(
    [b"\x01\x09\xc4", b"\x02\x01\xf4", b"\x03\x00\x01\x8b\xcd", b"\x03\x00", b"\x09\x00", b""]
)
assert [(r.quantity, r.value) for r in readings] == [("temperature", 25), ("humidity", 50), ("pressure", 1013.25)]
assert bad == 3
