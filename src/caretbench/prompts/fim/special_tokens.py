"""The special tokens of a tokenizer that is stored as Hugging Face does it (``tokenizer.json`` and its config)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue

from caretbench.errors import DataError
from caretbench.prompts.fim.detection import known_sentinels

FILES = ("tokenizer.json", "tokenizer_config.json")

_NAMED_TOKENS = ("bos_token", "eos_token", "unk_token", "pad_token", "additional_special_tokens")


def read_special_tokens(path: Path) -> frozenset[str]:
    """All texts that the tokenizer at ``path`` reads as one token of its own.

    These are the added tokens, whether they are flagged special or not (both are read whole; Qwen does not flag its
    sentinels), and entries of the plain vocabulary that are a known sentinel (CodeLlama's).

    Args:
        path: A folder with one of ``FILES`` or both, or one of these files.

    Raises:
        DataError: There is no such file, or it does not hold a tokenizer.
    """
    files = [path / name for name in FILES if (path / name).is_file()] if path.is_dir() else [path]
    if not files:
        raise DataError(f"{path}: no {' and no '.join(FILES)} in this folder")
    return frozenset(token for file in files for token in _tokens(file))


def _tokens(file: Path) -> Iterator[str]:
    try:
        content = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{file}: cannot be read as a tokenizer: {error}") from error
    if not isinstance(content, dict):
        raise DataError(f"{file}: does not hold a tokenizer: its top level is not an object")
    decoder = content.get("added_tokens_decoder")
    yield from _texts(content.get("added_tokens"))
    yield from _texts(list(decoder.values()) if isinstance(decoder, dict) else None)
    for name in _NAMED_TOKENS:
        value = content.get(name)
        yield from _texts(value if isinstance(value, list) else [value])
    model = content.get("model")
    yield from _plain_sentinels(model.get("vocab") if isinstance(model, dict) else None)


def _texts(entries: JsonValue) -> Iterator[str]:
    """The texts of a list of tokens, each a text or an object with ``content``."""
    for entry in entries if isinstance(entries, list) else ():
        text = entry.get("content") if isinstance(entry, dict) else entry
        if isinstance(text, str) and text:
            yield text


def _plain_sentinels(vocabulary: JsonValue) -> Iterator[str]:
    """Known sentinels of a vocabulary: an object of text to number, or a list of pairs of text and score."""
    texts: list[JsonValue] = []
    if isinstance(vocabulary, dict):
        texts = list(vocabulary)
    elif isinstance(vocabulary, list):
        texts = [entry[0] for entry in vocabulary if isinstance(entry, list) and entry]
    known = known_sentinels()
    yield from (text for text in texts if isinstance(text, str) and text.removeprefix("\u2581") in known)
