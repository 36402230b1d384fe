"""Writes the head of a GGUF file, as a test wants it."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

_CODES = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9

Entry = tuple[str, int, Any]
"""Key, type, value; an array's value is (type of its elements, elements)."""


def _text(value: str, order: str) -> bytes:
    data = value.encode()
    return struct.pack(f"{order}Q", len(data)) + data


def _value(kind: int, value: Any, order: str) -> bytes:
    if kind == STRING:
        return _text(value, order)
    if kind == ARRAY:
        element, items = value
        head = struct.pack(f"{order}IQ", element, len(items))
        return head + b"".join(_value(element, item, order) for item in items)
    return struct.pack(f"{order}{_CODES[kind]}", value)


def gguf(entries: Sequence[Entry], *, version: int = 3, order: str = "<", count: int | None = None) -> bytes:
    """The bytes of a file without tensors; ``count`` claims another number of entries."""
    head = b"GGUF" + struct.pack(f"{order}IQQ", version, 0, len(entries) if count is None else count)
    return head + b"".join(
        _text(key, order) + struct.pack(f"{order}I", kind) + _value(kind, value, order) for key, kind, value in entries
    )


QWEN_LIKE: Sequence[Entry] = (
    ("general.architecture", STRING, "qwen2"),
    ("general.name", STRING, "Small Coder"),
    ("general.file_type", 4, 15),
    ("qwen2.context_length", 4, 32768),
    ("tokenizer.ggml.model", STRING, "gpt2"),
    ("tokenizer.ggml.tokens", ARRAY, (STRING, [
        "a", "b", "<|endoftext|>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "\n\n", "<table>",
    ])),
    ("tokenizer.ggml.token_type", ARRAY, (5, [1, 1, 3, 1, 3, 3, 4, 4])),
    ("tokenizer.ggml.scores", ARRAY, (6, [0.5] * 8)),
    ("tokenizer.ggml.fim_pre_token_id", 4, 3),
    ("tokenizer.ggml.eos_token_id", 4, 2),
    ("tokenizer.ggml.unknown_token_id", 4, 4_000_000),
    ("tokenizer.chat_template", STRING, "{{ messages }}"),
    ("general.flag", 7, True),
)  # fmt: skip
"""A head such as coder models have: one FIM token is marked only by its key, one key names no token."""
