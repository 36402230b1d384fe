r"""Parsing of the chosen letter from an answer; invalid answers have a reason. Nothing is guessed.

An answer names a choice where a line is the letter alone (``B``, ``(B)``, ``B.``, ``Choice B``), where it says
``answer is B`` or ``answer: B``, in ``\boxed{B}``, or in JSON as ``{"answer": "B"}``. Several of these may stand in one
answer as long as they name the same letter.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from caretbench.problem import Profile
from caretbench.suites.efcb.options import efcb_rules
from caretbench.suites.efcb.positions import LETTERS

Invalid = Literal["empty", "unfinished_reasoning", "no_letter", "several_letters"]
"""Nothing said; reasoning that never ends; no choice named; two or more named."""


class Answer(NamedTuple):
    """The choice that is named, counted from 0; or None, and why."""

    choice: int | None
    invalid: Invalid | None = None

    @property
    def letter(self) -> str | None:
        """The letter of the choice."""
        return None if self.choice is None else LETTERS[self.choice]


_TAGS = r"(?:think|thinking|thought|reasoning|analysis|reflection|scratchpad)"
# Where reasoning starts and ends. ``<|end|>`` ends whole messages too: it counts after a start alone.
_MARK = re.compile(
    rf"(?P<start><{_TAGS}\b[^<>]*>|\[THINK\]|<\|channel\|>analysis)"
    rf"|(?P<end></{_TAGS}[ \t]*>|\[/THINK\]|<\|channel\|>final[ \t]*<\|message\|>)"
    r"|<\|end\|>",
    re.IGNORECASE,
)
_SPECIAL = re.compile(r"<\|[a-z_]+\|>|</?(?:answer|final|s)>", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[ \t]*[\w+-]*[ \t]*$", re.MULTILINE)
_EMPHASIS = re.compile(r"[*`]+|__")

_LETTER = rf"\(?[ \t]*(?P<letter>[{LETTERS}])[ \t]*\)?"
# Not an article ("the answer is A patch that"), not one of several ("the answer is A or B").
_ENDS = (
    r"(?=[ \t]*(?:$|[.;:!)\]}\"'\u2013\u2014]|,(?!\s*(?:or\b|and\b)?\s*\(?[A-D]\b)"
    r"|-\s|\((?![A-D]\))|because\b|since\b|as\b))"
)
_FORMS: Final = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        rf"^[ \t]*(?i:(?:choice|option)[ \t]+)?{_LETTER}[.:)]?[ \t]*$",
        rf"\b(?i:answer|choice|option)[ \t]*(?i:is|:|=)[ \t]*:?\s{{0,3}}(?i:(?:choice|option)[ \t]+)?{_LETTER}{_ENDS}",
        rf"\\boxed\s*\{{\s*(?:\\(?:text|textbf|mathrm|mathbf)\s*\{{\s*)?{_LETTER}\s*\}}",
        rf"[\"'](?i:answer|choice)[\"']\s*:\s*[\"']{_LETTER}[.:]?[\"']",
    )
)


def strict(text: str | None) -> Answer:
    """Return the choice that all forms in the answer name, reasoning and fences taken off.

    The letter is a capital one: an article or a word in prose is never taken for an answer. A model that names two
    different letters has not answered.
    """
    if not (text or "").strip():
        return Answer(None, "empty")
    said = without_reasoning(text or "")
    if said is None:
        return Answer(None, "unfinished_reasoning")
    said = _EMPHASIS.sub("", _FENCE.sub("", _SPECIAL.sub("", said))).strip()
    if not said:
        return Answer(None, "empty")
    letters = {found["letter"] for form in _FORMS for found in form.finditer(said)}
    if len(letters) == 1:
        return Answer(LETTERS.index(letters.pop()))
    return Answer(None, "several_letters" if letters else "no_letter")


def without_reasoning(text: str) -> str | None:
    """What is said outside of reasoning; None where that never ends.

    What stands before a lone closing mark is reasoning too: some templates put the opening one into the prompt.
    """
    said: list[str] = []
    position, thinking = 0, False
    for mark in _MARK.finditer(text):
        if mark["start"]:
            if not thinking:
                said.append(text[position : mark.start()])
            thinking = True
        elif thinking or mark["end"]:
            if not thinking:
                said.clear()
            position, thinking = mark.end(), False
    return None if thinking else "\n".join((*said, text[position:]))


def released(text: str | None) -> Answer:
    """The letter with which the answer begins, as the released evaluation matches it: "A patch that" answers A."""
    if not text:
        return Answer(None, "empty")
    place = LETTERS.find(text[0])
    return Answer(place) if place >= 0 else Answer(None, "no_letter")


def parsed(text: str | None, profile: Profile) -> Answer:
    """Return the letter of an answer, read as the profile does."""
    return strict(text) if efcb_rules(profile).strict_letters else released(text)
