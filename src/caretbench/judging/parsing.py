"""From a judge's answer to scores: strictly, or as DevBench's released code reads them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

from caretbench.judging.criteria import Criterion, Form


class Parsed(NamedTuple):
    """The scores by name; empty where the answer could not be read, and then ``fault`` says why."""

    values: Mapping[str, float]
    fault: str | None = None


def parse(criterion: Criterion, text: str | None) -> Parsed:
    """Read an answer as the criterion's form wants it."""
    return _FORMS[criterion.form](criterion, text or "")


# --- strictly ---------------------------------------------------------------------------------------------------

_THOUGHTS = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_FENCE = re.compile(r"^```[A-Za-z]*[ \t]*\n(.*?)\n```[ \t]*$", re.DOTALL | re.MULTILINE)


class _Fault(Exception):  # noqa: N818  # never leaves this module
    """Why an answer cannot be read."""


def _strict(criterion: Criterion, text: str) -> Parsed:
    try:
        return Parsed(_scores(criterion, _object(text)))
    except _Fault as fault:
        return Parsed({}, str(fault))


def _object(text: str) -> dict[str, Any]:
    """The JSON object that is the whole answer, or the whole content of its only fence."""
    answer = _THOUGHTS.sub("", text, count=1).strip()
    if not answer:
        raise _Fault("the answer is empty")
    fenced = _FENCE.findall(answer)
    if not answer.startswith("{") and len(fenced) > 1:
        raise _Fault("the answer holds several fences")
    if not answer.startswith("{") and fenced:
        answer = fenced[0]
    try:
        value = json.loads(answer, object_pairs_hook=_once_each, parse_constant=_no_number)
    except (ValueError, RecursionError):  # no JSON, too long a number, too deep
        raise _Fault("the answer is not a JSON object") from None
    if not isinstance(value, dict):
        raise _Fault("the answer is JSON, but not an object")
    return value


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise _Fault("a name stands twice in the answer")
    return value


def _no_number(constant: str) -> NoReturn:
    raise _Fault(f"{constant} is no score")


def _scores(criterion: Criterion, value: Mapping[str, Any]) -> dict[str, float]:
    names = [scale.name for scale in criterion.scores]
    missing = [name for name in names if name not in value]
    if missing:
        raise _Fault(f"no score for {', '.join(missing)}")
    if set(value) - {*names, "reasoning"}:
        raise _Fault("the answer holds names that were not asked for")
    return {scale.name: _score(scale.name, value[scale.name], scale.maximum) for scale in criterion.scores}


def _score(name: str, value: object, maximum: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Fault(f"{name} is no number")
    if not 0 <= value <= maximum:
        raise _Fault(f"{name} is not between 0 and {maximum:g}")
    return float(value)


# --- as released ------------------------------------------------------------------------------------------------

_NUMBER = r":?\s*(?:\*\*)?([0-9.]+)"
_HEADINGS = tuple(
    re.compile(heading + _NUMBER, re.IGNORECASE)
    for heading in (
        r"Final\s+Sum\s+Score\s+for\s+Completion",
        r"Final\s+Score",
        r"Score",
        r"Score\s+for\s+Completion",
    )
)
"""What may stand before the total, in the order in which the released code looks for it."""


def _released(criterion: Criterion, text: str) -> Parsed:
    """The first number behind the first heading that is found, whatever its range.

    So ``8.`` is 8, ``4/5`` is 4, ``7.5.`` is none, a sub-score may be taken for the total, and a number behind bold
    marks and a blank (``**Score:** 8``) is not found.
    """
    for heading in _HEADINGS:
        found = heading.search(text)
        if found is None:
            continue
        try:
            value = float(found[1])
        except ValueError:
            return Parsed({}, f"{found[1]!r} is no number")
        if math.isinf(value):  # hundreds of digits: no file of JSON can hold it
            return Parsed({}, "the score is not finite")
        return Parsed({criterion.scores[0].name: value})
    return Parsed({}, "no score is found")


_FORMS: Mapping[Form, Callable[[Criterion, str], Parsed]] = {"scores": _strict, "final-sum": _released}
