"""Judges of answers to questions that judge by a rule: from what they are sent to what they say."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable

_MARKS = {
    "claims": "Keep names of code",
    "support": "Choose one verdict",
    "description": "key_facts:",
    "masked": "HIDDEN LINES",
    "similarity": "exactly similar",
    "flag": "Output 1 if",
}
_PAIRS = {
    "description": ("AUTHOR'S TEXT", "WRITTEN TEXT"),
    "masked": ("HIDDEN LINES", "WRITTEN LINES"),
    "similarity": ("GROUND TRUTH", "PREDICTION"),
    "flag": ("GROUND TRUTH", "PREDICTION"),
}


def kind_of(text: str) -> str:
    """Return the kind of criterion of a prompt."""
    return next(name for name, mark in _MARKS.items() if mark in text)


def between(text: str, head: str) -> str:
    """Return the text between the lines of a mark."""
    found = re.search(rf"^{head} ([0-9a-f]{{16}})\n(.*?)\nEND OF {head} \1$", text, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[2]


def agreeing(text: str) -> str:
    """The reference alone gets the best score; a statement is true when a source holds its last word."""
    return _judged(text, contrary=False)


def contrary(text: str) -> str:
    """The opposite of all that :func:`agreeing` says."""
    return _judged(text, contrary=True)


def _judged(text: str, *, contrary: bool) -> str:
    about = kind_of(text)
    if about == "claims":
        parts = between(text, "TEXT").replace("\n", " ").split(".")
        return json.dumps({"claims": [part.strip() for part in parts if part.strip()]})
    if about == "support":
        word = between(text, "STATEMENT").split()[-1].lower()
        sources = {
            "supported_by_text": between(text, "AUTHOR'S TEXT"),
            "supported_by_patch": between(text, "TASK WITH THE PATCH"),
        }
        verdict = next((name for name, source in sources.items() if word in source.lower()), "unsupported")
        if contrary:
            verdict = "supported_by_patch" if verdict == "unsupported" else "contradicted"
        return json.dumps({"reasoning": "the last word", "verdict": verdict})
    reference, answer = (between(text, head) for head in _PAIRS[about])
    same = (reference == answer) != contrary
    if about == "similarity":
        return "10" if same else "3"
    if about == "flag":
        return str(int(not same))
    names = ("equivalence",) if about == "masked" else ("intent", "scope", "key_facts", "title")
    low = dict(zip(names, (1,) if about == "masked" else (2, 4, 0, 5), strict=True))
    return json.dumps({"reasoning": "letter by letter"} | (dict.fromkeys(names, 10) if same else low))


def rating(rule: Callable[[str, str, bool], float], verdict: Callable[[str, str], str]) -> Callable[[str], str]:
    """A judge of every criterion from two rules.

    Args:
        rule: From reference, answer, and whether the answer is shown first, to a score from 0 to 10.
        verdict: From a statement and the sources to the verdict on it.
    """

    def judge(text: str) -> str:
        about = kind_of(text)
        if about == "claims":
            return _judged(text, contrary=False)
        if about == "support":
            sources = between(text, "AUTHOR'S TEXT") + between(text, "TASK WITH THE PATCH")
            return json.dumps({"reasoning": "so", "verdict": verdict(between(text, "STATEMENT"), sources)})
        heads = _PAIRS[about]
        reference, answer = (between(text, head) for head in heads)
        value = rule(reference, answer, text.index(f"\n{heads[1]} ") < text.index(f"\n{heads[0]} "))
        if about == "similarity":
            return f"{value:g}"
        if about == "flag":
            return str(int(value < 5))
        names = ("equivalence",) if about == "masked" else ("intent", "scope", "key_facts", "title")
        return json.dumps({"reasoning": "so"} | dict.fromkeys(names, value))

    return judge


def constant(value: float, word: str = "supported_by_text") -> Callable[[str], str]:
    """Always the same score, and the same verdict."""
    return rating(lambda *_: value, lambda *_: word)


def truth(reference: str, answer: str) -> float:
    """10 for the reference itself, 1 for what is another text."""
    return 10.0 if _words(reference) == _words(answer) else 1.0


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def drawn(text: str, among: int) -> int:
    """A number below ``among`` that looks random, and is the same for the same text."""
    return int(hashlib.sha256(text.encode()).hexdigest(), 16) % among


def noisy(reference: str, answer: str, answer_first: bool) -> float:
    """The truth, up to two points off, and in one case of twenty anything."""
    key = f"{reference}|{answer}|{answer_first}"
    if drawn(f"odd {key}", 20) == 0:
        return float(drawn(key, 11))
    return min(10.0, max(0.0, round(truth(reference, answer)) + drawn(key, 5) - 2.0))


def noisy_verdict(statement: str, sources: str) -> str:
    """Return whether a statement is in the sources word by word; in one case of fifty the opposite."""
    there = _words(statement) in _words(sources)
    return "supported_by_text" if there != (drawn(statement + sources, 50) == 0) else "unsupported"
