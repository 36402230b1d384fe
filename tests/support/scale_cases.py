"""Cases of the verifier of scale from text files: answers in their files, specifications, and right verdicts.

A case begins with a line ``## ok SPECIFICATION -- NAME`` or ``## no …``; the following lines are the completed file,
with the answer between ``«`` and ``»``. ``␉`` is a tab, ``␍`` a carriage return, ``␌`` a form feed, ``␄`` removes the
line end after it, ``␀`` is a NUL. A specification is its kind, and then its node or its number and unit, or ``body``,
followed by fields (``column=4``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

_SYMBOLS = {"␉": "\t", "␍": "\r", "␌": "\x0c", "␄\n": "", "␀": "\0"}
_HEAD = re.compile(r"^## (ok|no) (.*?) -- (.*)$", re.MULTILINE)


class ScaleCase(NamedTuple):
    """One answer, its specification, and whether it satisfies it."""

    name: str
    ok: bool
    prefix: str
    middle: str
    suffix: str
    specification: dict[str, Any]


def read_cases(path: Path) -> Iterator[ScaleCase]:
    """Yield the cases of a file; the part of its name before ``_`` is the language."""
    text = path.read_text("utf-8")
    heads = list(_HEAD.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    for head, end in zip(heads, ends, strict=True):
        body = text[head.end() + 1 : end]
        for symbol, meaning in _SYMBOLS.items():
            body = body.replace(symbol, meaning)
        prefix, middle, suffix = re.split("[«»]", body)
        specification = {"language": path.stem.partition("_")[0], **_specification(head[2])}
        yield ScaleCase(f"{path.stem}: {head[2]}: {head[3]}", head[1] == "ok", prefix, middle, suffix, specification)


def _specification(words: str) -> dict[str, Any]:
    kind, *rest = words.split()
    plain = [word for word in rest if "=" not in word]
    fields: dict[str, Any] = {"kind": kind}
    if kind in {"block", "span_node"}:
        fields["node"] = plain[0]
        if plain[1:] == ["body"]:
            fields["header_in_prefix"] = True
    elif kind == "lines":
        fields |= {"n": int(plain[0]), "unit": plain[1]}
    for word in rest:
        if "=" in word:
            name, _, value = word.partition("=")
            fields[name] = json.loads(value) if value[:1] in "0123456789tf" else value
    return fields
