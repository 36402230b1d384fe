"""Graders of answers to questions that judge by a rule: from what they are sent to what they say."""

from __future__ import annotations

import json
import re

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
    """Which criterion a prompt is of."""
    return next(name for name, mark in _MARKS.items() if mark in text)


def between(text: str, head: str) -> str:
    """What stands between the lines of a mark."""
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
