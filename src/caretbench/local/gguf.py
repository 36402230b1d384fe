"""Metadata of GGUF files, read from the head without any library and without the tensors.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. The file may come from anywhere: every count is
held against the size of the file before anything is read, and whatever does not fit is a DataError of one line.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from caretbench.files import DataError, cache_folder, sha256_file, sha256_text, write_atomically

Scalar = str | int | float | bool

# Types of the format: those without a fixed size, and that of the token types.
_STRING, _ARRAY, _INTEGER = 8, 9, 5
# Type number -> code of the struct module; all numbers of the format.
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}

# Bounds that no real model comes near; they keep a broken count from being believed for minutes.
_MAX_ENTRIES = 100_000
# The format's own limit.
_MAX_KEY_BYTES = 65_535
_MAX_STRING_BYTES = 16 << 20
# The largest vocabulary known is Gemma 3's with 262,144 tokens: a count of many millions is a damaged file.
_MAX_STRINGS = 8_000_000
_MAX_NUMBERS = 16_000_000
_MAX_DIMENSIONS = 8

# llama.cpp's file types, by number: which quantisation most tensors have.
_FILE_TYPES = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S",
    12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K",
    19: "IQ2_XXS", 20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL",
    26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S", 29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0",
    37: "TQ2_0", 38: "MXFP4_MOE",
}  # fmt: skip

# llama.cpp's token types. A marker of FIM is one of these two; an ordinary token with its text would be read as text.
_CONTROL, _USER_DEFINED = 3, 4
_TOKENS, _TOKEN_TYPES = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
# Keys that give the number of a special token: fim_pre_token_id, eos_token_id, in older files prefix_token_id.
_TOKEN_KEY_START, _TOKEN_KEY_END = "tokenizer.ggml.", "_token_id"


class ArrayPosition(NamedTuple):
    """Skipped array: position, type and number of its elements."""

    start: int
    element: int
    length: int


@dataclass(frozen=True)
class GgufHeader:
    """Head of one GGUF file. Arrays (the vocabulary) are read on demand."""

    path: Path
    values: Mapping[str, Scalar | ArrayPosition]
    """Value of every key, or the position of an array."""
    order: str  # of bytes, as the struct module names it
    size_bytes: int

    def text(self, key: str) -> str | None:
        """Return the value of ``key`` where it is a text, else None."""
        value = self.values.get(key)
        return value if isinstance(value, str) else None

    def number(self, key: str) -> int | None:
        """Return the value of ``key`` where it is a whole number, else None."""
        value = self.values.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    @property
    def architecture(self) -> str | None:
        """Kind of network: ``llama``, ``gemma3``."""
        return self.text("general.architecture")

    @property
    def name(self) -> str | None:
        """Model name given by its maker."""
        return self.text("general.name")

    @property
    def context_length(self) -> int | None:
        """Context length in tokens."""
        return self.number(f"{self.architecture}.context_length")

    @property
    def quantisation(self) -> str | None:
        """``Q4_K_M``, ``F16``, …: the type of most tensors."""
        number = self.number("general.file_type")
        return None if number is None else _FILE_TYPES.get(number, f"type {number}")

    @property
    def chat_template(self) -> str | None:
        """Template that turns conversations into text, if there is one."""
        return self.text("tokenizer.chat_template")

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """Vocabulary by token number; empty if the file has none."""
        return self._array(_TOKENS, _STRING)

    @cached_property
    def special_tokens(self) -> frozenset[str]:
        """Texts of all special tokens: control, user-defined, and those that a metadata key names.

        User-defined tokens of nothing but white space (runs of blanks and line feeds in Gemma) are no marks.
        """
        named = {
            value
            for key, value in self.values.items()
            if key.startswith(_TOKEN_KEY_START) and key.endswith(_TOKEN_KEY_END) and isinstance(value, int)
        }
        return self._texts(self._of_types(_CONTROL, _USER_DEFINED) | named)

    @cached_property
    def control_tokens(self) -> frozenset[str]:
        """Texts of all control tokens: marks of turns and of files, ends of text.

        User-defined tokens (Gemma's tags of HTML) are text, read whole.
        """
        return self._texts(self._of_types(_CONTROL))

    def _of_types(self, *types: int) -> set[int]:
        return {number for number, type_ in enumerate(self._array(_TOKEN_TYPES, _INTEGER)) if type_ in types}

    def _texts(self, numbers: set[int]) -> frozenset[str]:
        # The file may come from anywhere: a key may name a token that the vocabulary does not have.
        chosen = (self.tokens[number] for number in numbers if 0 <= number < len(self.tokens))
        return frozenset(text for text in chosen if text.strip())

    def _array(self, key: str, element: int) -> tuple[Any, ...]:
        """Return the elements of an array; empty where the file has none of this type."""
        array = self.values.get(key)
        if not isinstance(array, ArrayPosition) or array.element != element:
            return ()
        with _open_reader(self.path, self.order) as reader:
            reader.seek(array.start)
            if element == _STRING:
                return tuple(reader.string(_MAX_STRING_BYTES) for _ in range(array.length))
            return reader.numbers(_NUMBERS[element], array.length)


def read_gguf(path: Path) -> GgufHeader:
    """Return the head of the GGUF file ``path``.

    Raises:
        DataError: it cannot be read, is no GGUF file, or breaks off or contradicts itself within the head.
    """
    with _open_reader(path, "<") as reader:
        if reader.take(4) != b"GGUF":
            raise DataError(f"{path}: not a GGUF file (it does not start with GGUF)")
        version = reader.number("I")
        # Versions are small: a number without low bits was written on a machine of the other byte order.
        if version & 0xFFFF == 0:
            reader.order = ">"
            version = int.from_bytes(version.to_bytes(4, "little"), "big")
        # Version 1 counts with 32 bits, and has not been written since 2023.
        if version not in (2, 3):
            raise DataError(f"{path}: GGUF version {version}; versions 2 and 3 can be read")
        tensors = reader.number("Q")
        count = reader.number("Q")
        if count > _MAX_ENTRIES:
            raise reader.fault(f"claims {count} entries")
        values: dict[str, Scalar | ArrayPosition] = {}
        for _ in range(count):
            key = reader.string(_MAX_KEY_BYTES)
            values[key] = reader.value(reader.number("I"))
        # Vocabulary and template are in the head, so a download that broke off would look whole until the engine loads
        # it.
        _check_tensors(reader, tensors)
        return GgufHeader(path, values, reader.order, reader.length)


def _check_tensors(reader: _Reader, count: int) -> None:
    """Refuse a file that ends before its last tensor begins (a download that broke off)."""
    if count > _MAX_ENTRIES:
        raise reader.fault(f"claims {count} tensors")
    last = -1
    for _ in range(count):
        reader.string(_MAX_KEY_BYTES)
        dimensions = reader.number("I")
        if dimensions > _MAX_DIMENSIONS:
            raise reader.fault(f"a tensor of {dimensions} dimensions")
        reader.numbers("Q", dimensions)
        reader.number("I")  # its type
        last = max(last, reader.number("Q"))
    if reader.position + last >= reader.length:
        raise reader.fault("its tensors are not all there: it ends too early")


@dataclass
class _Reader:
    """Reader of the parts of the format, never past the end of the file."""

    path: Path
    stream: BinaryIO
    length: int
    order: str
    position: int = 0  # of the next byte
    strings: int = 0  # texts in arrays so far

    def fault(self, what: str) -> DataError:
        """Return an error with the position of the fault."""
        return DataError(
            f"{self.path}: broken GGUF file: {what} at byte {self.position} of {self.length}; get the file again"
        )

    def seek(self, position: int) -> None:
        """Move to ``position``."""
        self.position = self.stream.seek(position)

    def take(self, size: int) -> bytes:
        """Return the next ``size`` bytes."""
        # Before the read: a broken length of terabytes would be allocated otherwise.
        if size > self.length - self.position:
            raise self.fault("it ends too early")
        data = self.stream.read(size)
        if len(data) != size:
            raise self.fault("it ends too early")
        self.position += size
        return data

    def number(self, code: str) -> int:
        """Return the next whole number of the kind ``code`` (of the struct module)."""
        return int(self.numbers(code, 1)[0])

    def numbers(self, code: str, count: int) -> tuple[int, ...]:
        """Return the next ``count`` numbers."""
        pattern = struct.Struct(f"{self.order}{count}{code}")
        return pattern.unpack(self.take(pattern.size))

    def string(self, longest: int) -> str:
        """Return the next text; invalid UTF-8 becomes U+FFFD."""
        # Texts of a file from anywhere need not be UTF-8, and are to be shown all the same.
        return self.take(self._string_size(longest)).decode("utf-8", "replace")

    def _string_size(self, longest: int) -> int:
        size = self.number("Q")
        if size > longest:
            raise self.fault(f"a text of {size} bytes")
        return size

    def value(self, type_: int) -> Scalar | ArrayPosition:
        """Return the next value of the type; arrays are passed over."""
        if type_ == _STRING:
            return self.string(_MAX_STRING_BYTES)
        if type_ in _NUMBERS:
            value: Scalar = self.numbers(_NUMBERS[type_], 1)[0]
            return value
        if type_ != _ARRAY:
            raise self.fault(f"an unknown type {type_}")
        element, count = self.number("I"), self.number("Q")
        array = ArrayPosition(self.position, element, count)
        if element == _STRING:
            self.strings += count
            # Each text has 8 bytes of length at least: a count beyond the file's end is found before the loop of
            # millions begins.
            if self.strings > _MAX_STRINGS or 8 * count > self.length - self.position:
                raise self.fault(f"an array of {count} texts")
            for _ in range(count):
                self.take(self._string_size(_MAX_STRING_BYTES))
        elif element in _NUMBERS:
            size = struct.calcsize(f"={_NUMBERS[element]}") * count
            if count > _MAX_NUMBERS or size > self.length - self.position:
                raise self.fault(f"an array of {count} numbers")
            self.seek(self.position + size)
        # Arrays of arrays are allowed by the format and used by nobody.
        else:
            raise self.fault(f"an array of type {element}")
        return array


@contextmanager
def _open_reader(path: Path, order: str) -> Iterator[_Reader]:
    try:
        # Opening a pipe would wait for ever.
        if not path.is_file():
            raise DataError(f"{path}: {'not a file' if path.exists() else 'no such file'}")
        stream = path.open("rb")
    except (OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    with stream:
        yield _Reader(path, stream, os.fstat(stream.fileno()).st_size, order)


def weights_sha256(path: Path) -> str:
    """Return the SHA-256 of a weights file, cached by path, size and time of change: a second call is instant.

    Raises:
        DataError: the file cannot be read.
    """
    try:
        path = path.resolve()
        state = path.stat()
        # A changed file has another time or size. Nanoseconds: a file may be written twice within a second.
        seen = {"path": str(path), "size": state.st_size, "changed_ns": state.st_mtime_ns}
        memory = cache_folder() / "models" / "hashes" / f"{sha256_text(str(path))[:32]}.json"
        for entry in _read_hash_entries(memory):
            if {key: entry.get(key) for key in seen} == seen and isinstance(entry.get("sha256"), str):
                return str(entry["sha256"])
        digest = sha256_file(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    # A cache that cannot be written costs time, nothing else.
    with suppress(OSError):
        write_atomically(memory, json.dumps({**seen, "sha256": digest}))
    return digest


def _read_hash_entries(memory: Path) -> Iterator[dict[str, object]]:
    with suppress(OSError, ValueError):
        value = json.loads(memory.read_bytes())
        if isinstance(value, dict):
            yield value
