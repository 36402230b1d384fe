"""Parsing of judges' answers to scores, strictly or as in DevBench's released code."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

from caretbench.extraction.code_fences import closed_fences
from caretbench.judging.criteria import CLAIMS, VERDICT, AnswerForm, Criterion


class ParsedJudgement(NamedTuple):
    """Scores by name; empty if the answer could not be read, with the reason in ``fault``."""

    values: Mapping[str, float]
    fault: str | None = None


def parse(criterion: Criterion, text: str | None) -> ParsedJudgement:
    """Return the scores in an answer, parsed by the criterion's form."""
    if criterion.form == "final-sum":
        return _released(criterion, text or "")
    try:
        return ParsedJudgement(_STRICT[criterion.form](criterion, text or ""))
    except _Fault as fault:
        return ParsedJudgement({}, str(fault))


# --- strictly ---------------------------------------------------------------------------------------------------

# At the beginning only: a judge may quote such a tag of the text that it judges.
_REASONING = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_OPENING = re.compile(r"```[A-Za-z]*[ \t]*")


class _Fault(ValueError):  # noqa: N818  # only its base class is known outside of this module
    """Error: an answer cannot be read."""


def remove_reasoning(text: str) -> str:
    """Return an answer without leading reasoning in ``<think>`` tags."""
    return _REASONING.sub("", text, count=1)


def _answer_text(text: str) -> str:
    answer = remove_reasoning(text).strip()
    if not answer:
        raise _Fault("the answer is empty")
    return answer


def json_object(text: str) -> dict[str, Any]:
    """Return the JSON object that is the whole answer of a model, or the content of its only fenced block.

    Raises:
        ValueError: the answer is something else.
    """
    answer = _answer_text(text)
    fenced = [content for content in closed_fences(answer, _OPENING) if content]
    # A judge that shows a draft first and another object later has not said which one counts.
    if not answer.startswith("{") and len(fenced) > 1:
        raise _Fault("the answer contains several fenced blocks")
    if not answer.startswith("{") and fenced:
        answer = fenced[0]
    try:
        value = json.loads(answer, object_pairs_hook=_reject_duplicates, parse_constant=_reject_constant)
    except _Fault:
        raise
    except (ValueError, RecursionError):  # no JSON, too long a number, too deep
        raise _Fault("the answer is not a JSON object") from None
    if not isinstance(value, dict):
        raise _Fault("the answer is JSON, but not an object")
    return value


def _reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    # JSON lets a name occur twice and Python takes the last one: the judge has given two scores.
    if len(value) < len(pairs):
        raise _Fault("a name occurs twice in the answer")
    return value


def _reject_constant(constant: str) -> NoReturn:
    raise _Fault(f"{constant} is not a score")


def _scores(criterion: Criterion, value: Mapping[str, Any]) -> dict[str, float]:
    names = [scale.name for scale in criterion.scores]
    missing = [name for name in names if name not in value]
    if missing:
        raise _Fault(f"no score for {', '.join(missing)}")
    if set(value) - {*names, "reasoning"}:
        raise _Fault("the answer contains names that were not requested")
    return {scale.name: _score(scale.name, value[scale.name], scale.maximum) for scale in criterion.scores}


def _score(name: str, value: object, maximum: float) -> float:
    # True is an int in Python.
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Fault(f"{name} is not a number")
    if not 0 <= value <= maximum:
        raise _Fault(f"{name} is not between 0 and {maximum:g}")
    return float(value)


def _only(value: Mapping[str, Any], name: str) -> Any:
    """Return the value of the only requested name; a judge may add reasoning."""
    if name not in value:
        raise _Fault(f"the answer has no {name}")
    if set(value) - {name, "reasoning"}:
        raise _Fault("the answer contains names that were not requested")
    return value[name]


# --- the strict forms -------------------------------------------------------------------------------------------

# Three digits before the point: longer numbers are no score of any scale, and float() takes any number of them.
_ONE_NUMBER = re.compile(r"(?:0|[1-9][0-9]{0,2})(?:\.[0-9]+)?")


def _number(criterion: Criterion, text: str) -> Mapping[str, float]:
    """Return the number in an answer that is only a number in range: not ``8/10``, ``Score: 8`` or a sign."""
    answer, scale = _answer_text(text), criterion.scores[0]
    if not _ONE_NUMBER.fullmatch(answer):
        raise _Fault("the answer is not one number")
    return {scale.name: _score(scale.name, float(answer), scale.maximum)}


def _flag(criterion: Criterion, text: str) -> Mapping[str, float]:
    """Return 1 or 0 from an answer that is only that."""
    answer = _answer_text(text)
    if answer not in {"0", "1"}:
        raise _Fault("the answer is neither 0 nor 1")
    return {criterion.scores[0].name: float(answer)}


_DECISION = re.compile(r"\[JUDGMENT\]\s*(yes|no)\s*\[/?JUDGMENT\]", re.IGNORECASE)
"""Tagged decision. The figure that shows the paper's prompt prints the closing tag without its slash."""
_DECISION_TAG = re.compile(r"\[/?JUDGMENT\]", re.IGNORECASE)


def _decision(criterion: Criterion, text: str) -> Mapping[str, float]:
    """Return 1 for a tagged yes and 0 for a tagged no, which must be there exactly once; other text may be around."""
    answer = _answer_text(text)
    decisions = _DECISION.findall(answer)
    # A tag around anything else (`maybe`, the whole choice `yes/no`) is an answer that was not given.
    if _DECISION_TAG.search(_DECISION.sub("", answer)):
        raise _Fault("a tag of the decision is not around a yes or no")
    if len(decisions) != 1:
        raise _Fault(f"the answer has {'several tagged decisions' if decisions else 'no tagged yes or no'}")
    return {criterion.scores[0].name: float(decisions[0].lower() == "yes")}


def _claims(criterion: Criterion, text: str) -> Mapping[str, float]:
    """Return the number of claims; :func:`claims_in` returns their texts."""
    scale, count = criterion.scores[0], len(_statements(text))
    if count > scale.maximum:
        raise _Fault(f"there are more than {scale.maximum:g} claims")
    return {scale.name: float(count)}


def _label(criterion: Criterion, text: str) -> Mapping[str, float]:
    """Return 1 for the score that the answer names, 0 for the others."""
    names = [scale.name for scale in criterion.scores]
    label = _only(json_object(text), VERDICT)
    if label not in names:
        raise _Fault(f"the {VERDICT} is none of {', '.join(names)}")
    return {name: float(name == label) for name in names}


def _statements(text: str) -> tuple[str, ...]:
    statements = _only(json_object(text), CLAIMS)
    if not isinstance(statements, list) or not all(isinstance(claim, str) for claim in statements):
        raise _Fault("the claims are not a list of texts")
    # Equal statements with other line ends are judged once.
    claims = [" ".join(claim.split()) for claim in statements]
    if not all(claims):
        raise _Fault("a claim is empty")
    return tuple(dict.fromkeys(claims))


def claims_in(text: str | None) -> tuple[str, ...]:
    """Return the distinct claims in an answer of the form ``claims``, with normalised blanks; empty if unreadable."""
    try:
        return _statements(text or "")
    except _Fault:
        return ()


# --- as released ------------------------------------------------------------------------------------------------

_NUMBER = r":?\s*(?:\*\*)?([0-9.]+)"
_HEADINGS = tuple(
    re.compile(heading + _NUMBER, re.IGNORECASE)
    for heading in (r"Final\s+Sum\s+Score\s+for\s+Completion", r"Final\s+Score", r"Score", r"Score\s+for\s+Completion")
)
"""Headings that may precede the total, in the search order of the released code."""


def _released(criterion: Criterion, text: str) -> ParsedJudgement:
    """Return the first number after the first heading found, without a check of its range.

    So ``8.`` is 8, ``4/5`` is 4, ``7.5.`` is not a number, a sub-score may be taken for the total, and a number after
    bold marks and a blank (``**Score:** 8``) is not found.
    """
    for heading in _HEADINGS:
        score = heading.search(text)
        if score is None:
            continue
        try:
            value = float(score[1])
        except ValueError:
            return ParsedJudgement({}, f"{score[1]!r} is no number")
        if math.isinf(value):  # hundreds of digits, which JSON cannot represent
            return ParsedJudgement({}, "the score is not finite")
        return ParsedJudgement({criterion.scores[0].name: value})
    return ParsedJudgement({}, "no score is found")


_STRICT: Mapping[AnswerForm, Callable[[Criterion, str], Mapping[str, float]]] = {
    "scores": lambda criterion, text: _scores(criterion, json_object(text)),
    "number": _number,
    "flag": _flag,
    "claims": _claims,
    "label": _label,
    "decision": _decision,
}
