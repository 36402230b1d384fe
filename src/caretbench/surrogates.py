"""Lone surrogates: halves of a character that a text of JSON may hold and a text in UTF-8 may not.

A model that is cut off in the middle of a character leaves one. Stored texts keep them, escaped; what leaves for a
program or a model has U+FFFD in their place.
"""

from __future__ import annotations

from typing import Any, TypeVar

ValueT = TypeVar("ValueT")


def replace_surrogates(value: ValueT) -> ValueT:
    """Return the same text or JSON value with U+FFFD in the place of lone surrogates."""
    converted: ValueT = _converted(value, "replace")
    return converted


def join_surrogates(value: ValueT) -> ValueT:
    """Return the same text or JSON value with pairs of surrogates joined to one character; lone ones stay."""
    converted: ValueT = _converted(value, "surrogatepass")
    return converted


def _converted(value: Any, errors: str) -> Any:
    if isinstance(value, str):
        return value if _is_encodable(value) else value.encode("utf-16", "surrogatepass").decode("utf-16", errors)
    if isinstance(value, list):
        return [_converted(item, errors) for item in value]
    if isinstance(value, dict):
        return {_converted(key, errors): _converted(item, errors) for key, item in value.items()}
    return value


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
