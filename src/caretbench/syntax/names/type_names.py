"""The simple names of types, as they are written in any of the languages."""

from __future__ import annotations

import re
from typing import Final

_TYPE_NAME: Final = re.compile(
    r"^[\s:\"']*(?:(?:const|static|final)\s+)*(?:[\w$.]+(?:\.|::))?([\w$]+)(?:<.*>)?[\s&*?!\"']*$", re.DOTALL
)
_OPTIONAL: Final = re.compile(r"^(?:typing\.)?Optional\[([^][]+)\]$|^([^|]+)\|\s*(?:None|null|undefined)$")


def type_name(text: str) -> str | None:
    """The simple name of a type (``a.b.Shape<T>`` is ``Shape``); None where it is more than one name."""
    text = text.strip().lstrip(":").strip()
    if (optional := _OPTIONAL.match(text)) is not None:
        text = optional[1] or optional[2]
    found = _TYPE_NAME.match(text)
    return found[1] if found else None
