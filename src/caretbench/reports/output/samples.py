"""Data of the sample browser of a page; equal completions and messages are stored once."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final

import polars as pl

from caretbench.problem import AnyCompletion, Caret, Problem
from caretbench.reports.frame import GROUP, LABELS
from caretbench.suites.baselines import BASELINE_NAMES

PREFIX_LINES, SUFFIX_LINES = 14, 8
PREFIX_LENGTH, SUFFIX_LENGTH = 1200, 700
TEXT_LENGTH, MESSAGE_LENGTH = 4000, 600

DEFAULT_LIMIT = 10_000
"""Default number of entries in the browser, which keeps a page below about ten megabytes."""


def pack_samples(
    frame: pl.DataFrame,
    problems: Sequence[Problem],
    completions: Sequence[AnyCompletion],
    limit: int = DEFAULT_LIMIT,
    baselines: Sequence[str] = BASELINE_NAMES,
) -> dict[str, Any]:
    """Return the data of the sample browser.

    Samples of one model with the same text and outcome for one problem become one entry with their numbers. Models come
    before baselines and first samples of all problems before later ones, so that a limit thins out evenly.

    Returns:
        ``problems``, ``columns``, ``strings`` and ``entries``, which refer to the others by index; ``total`` is the
        number of entries before the limit.
    """
    texts_by_key = {completion.key: completion.text for completion in completions}
    grouped: dict[tuple[Any, ...], tuple[int, list[int]]] = {}
    order = frame.with_columns(baseline=pl.col("model").is_in(baselines)).sort("baseline", "sample", "problem_id")
    keys = order.select("problem_id", *GROUP, "status", "counted", "passed", "sample")
    for place, (*seen, sample) in enumerate(keys.iter_rows()):
        text = texts_by_key.get((seen[0], seen[1], seen[2], sample))
        grouped.setdefault((*seen, text), (place, []))[1].append(sample)
    firsts = dict(islice(grouped.items(), limit))
    rows = order[[place for place, _ in firsts.values()]].to_dicts()
    chosen = [
        row | {"samples": samples, "text": text}
        for row, ((*_, text), (_, samples)) in zip(rows, firsts.items(), strict=True)
    ]
    pool = _Pool()
    named = {row["problem_id"] for row in chosen}
    listed = [problem for problem in problems if problem.id in named]
    places = {problem.id: place for place, problem in enumerate(listed)}
    columns = list(dict.fromkeys(tuple(row[name] for name in GROUP) for row in chosen))
    entries = sorted((_entry(row, places, columns, pool) for row in chosen), key=lambda entry: entry[:2])
    return {
        "problems": [_problem(problem) for problem in listed],
        "columns": [dict(zip(GROUP, column, strict=True)) for column in columns],
        "strings": pool.strings,
        "entries": entries,
        "total": len(grouped),
    }


def to_script_json(value: Any) -> str:
    """Return JSON that is safe in an HTML script element: no text in it can end the element or start a comment."""
    packed = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        packed = packed.replace(character, f"\\u{ord(character):04x}")
    # Marks of direction would show code in another order than it has.
    packed = _DIRECTION.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", packed)
    return packed.encode("utf-8", "backslashreplace").decode()


_DIRECTION: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class _Pool:
    """Pool of texts by index, each once."""

    def __init__(self) -> None:
        self.strings: list[str] = []
        self._places: dict[str, int] = defaultdict(self._next)

    def _next(self) -> int:
        return len(self.strings)

    def index(self, text: str | None) -> int | None:
        if text is None:
            return None
        place = self._places[text]
        if place == len(self.strings):
            self.strings.append(text)
        return place


def _entry(row: Mapping[str, Any], places: Mapping[str, int], columns: list[tuple[Any, ...]], pool: _Pool) -> list[Any]:
    """Return an entry: problem, column, samples, text, status, counted, passed, stage, message, cosine, flags."""
    cosine = row.get("cosine")
    return [
        places[row["problem_id"]],
        columns.index(tuple(row[name] for name in GROUP)),
        row["samples"],
        pool.index(_cut(row["text"], TEXT_LENGTH)),
        pool.index(row["status"]),
        row["counted"],
        row["passed"],
        pool.index(row["stage"]),
        pool.index(_cut(row["message"], MESSAGE_LENGTH, tail=True)),
        None if cosine is None else round(cosine, 3),
        [pool.index(flag) for flag in row["flags"] or ()],
    ]


def _problem(problem: Problem) -> dict[str, Any]:
    caret = problem.shown if isinstance(problem.shown, Caret) else None
    labels = {name: problem.label(name) if name in problem.labels else None for name in LABELS}
    labels["language"] = labels["language"] or (caret.language if caret else None)
    prefix = caret.prefix if caret else getattr(problem.shown, "text", "")
    suffix = caret.suffix if caret else ""
    tail = "\n".join(prefix.split("\n")[-PREFIX_LINES:])[-PREFIX_LENGTH:]
    head = "\n".join(suffix.split("\n")[:SUFFIX_LINES])[:SUFFIX_LENGTH]
    return {
        "id": problem.id,
        **labels,
        "prefix": tail,
        "prefixCut": len(tail) < len(prefix),
        "reference": _cut(problem.reference, TEXT_LENGTH),
        "suffix": head,
        "suffixCut": len(head) < len(suffix),
    }


def _cut(text: str | None, length: int, *, tail: bool = False) -> str | None:
    """Return the text, shortened to ``length`` characters with a note."""
    if text is None or len(text) <= length:
        return text
    note = f"[… {len(text) - length} more characters …]"
    return f"{note}\n{text[-length:]}" if tail else f"{text[:length]}\n{note}"
