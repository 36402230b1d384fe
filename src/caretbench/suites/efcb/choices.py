r"""Choices of a question, and the letter that an answer chooses.

A letter counts as an answer if it is a whole line
(``B``, ``(B)``, ``B.``, ``Choice B``), in ``answer is B`` or ``answer: B``, in ``\boxed{B}``, or in JSON as
``{"answer": "B"}``. An answer may contain several of these with the same letter. An invalid answer has a reason,
nothing is guessed.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from caretbench.problem import Problem, Question

LETTERS: Final = "ABCD"
CHOICE_COUNT: Final = len(LETTERS)


INSTRUCTION: Final = "Which of these patches makes the change that the following text describes?\n\n"


CHOICE_SET_LABEL: Final = "choice_set"
"""Label of questions with the same four choices, which are one cluster in a tier's intervals."""


def query_text(problem: Problem) -> str:
    """Return the query of a choice problem, without the instruction.

    Raises:
        TypeError: the problem is no question.
    """
    if not isinstance(problem.shown, Question):
        raise TypeError(f"{problem.id} is no question")
    return problem.shown.text.removeprefix(INSTRUCTION)


InvalidReason = Literal["empty", "unfinished_reasoning", "no_letter", "several_letters"]
"""No text; unfinished reasoning; no letter; two or more letters."""


class ChoiceAnswer(NamedTuple):
    """The chosen choice, counted from 0; None with a reason if the answer is invalid."""

    choice: int | None
    reason: InvalidReason | None = None

    @property
    def letter(self) -> str | None:
        """Letter of the choice."""
        return None if self.choice is None else LETTERS[self.choice]


_TAGS = r"(?:think|thinking|thought|reasoning|analysis|reflection|scratchpad)"
# Start and end of reasoning. ``<|end|>`` ends whole messages, too: it counts only after a start.
_MARK = re.compile(
    rf"(?P<start><{_TAGS}\b[^<>]*>|\[THINK\]|<\|channel\|>analysis)"
    rf"|(?P<end></{_TAGS}[ \t]*>|\[/THINK\]|<\|channel\|>final[ \t]*<\|message\|>)"
    r"|<\|end\|>",
    re.IGNORECASE,
)
# Base models and some servers leave the marks of the chat template around the letter, which would then be no line of
# its own.
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


def parse_strictly(text: str | None) -> ChoiceAnswer:
    """Return the choice that all letters in an answer name, without reasoning and fences.

    The letter must be a capital, and not an article or a word in prose. An answer with two different letters is
    invalid.
    """
    if not (text or "").strip():
        return ChoiceAnswer(None, "empty")
    said = remove_reasoning(text or "")
    if said is None:
        return ChoiceAnswer(None, "unfinished_reasoning")
    # "**B**" alone in a line is the most common form of chat models: without its marks it is a letter alone.
    said = _EMPHASIS.sub("", _FENCE.sub("", _SPECIAL.sub("", said))).strip()
    if not said:
        return ChoiceAnswer(None, "empty")
    letters = {match["letter"] for form in _FORMS for match in form.finditer(said)}
    # "A or B" names two. To take the first or the last would score a guess that the model did not make.
    if len(letters) == 1:
        return ChoiceAnswer(LETTERS.index(letters.pop()))
    return ChoiceAnswer(None, "several_letters" if letters else "no_letter")


def remove_reasoning(text: str) -> str | None:
    """Return the text outside of reasoning; None if reasoning never ends.

    Text before a lone end mark is reasoning, too: some templates put the start mark into the prompt.
    """
    said: list[str] = []
    position, thinking = 0, False
    for mark in _MARK.finditer(text):
        if mark["start"]:
            if not thinking:
                said.append(text[position : mark.start()])
            thinking = True
        # Templates that put the start mark into the prompt leave an answer with an end mark alone: all text before it
        # is reasoning.
        elif thinking or mark["end"]:
            if not thinking:
                said.clear()
            position, thinking = mark.end(), False
    return None if thinking else "\n".join((*said, text[position:]))


def parse_as_released(text: str | None) -> ChoiceAnswer:
    """Return the letter at the start of an answer, as the released code does: "A patch that" gives A."""
    if not text:
        return ChoiceAnswer(None, "empty")
    # The release is scored by the basic match of OpenAI's evals: the answer starts with the letter.
    place = LETTERS.find(text[0])
    return ChoiceAnswer(place) if place >= 0 else ChoiceAnswer(None, "no_letter")
