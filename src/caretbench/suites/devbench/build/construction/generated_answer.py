"""Answers of generators: the texts of an instance, or the reason why there are none, and moves of its caret."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal

from pydantic import Field, ValidationError

from caretbench.build.validation.private_texts import private_texts
from caretbench.files import describe_validation_error, replace_surrogates
from caretbench.judging.parsing import json_object
from caretbench.problem import Row
from caretbench.suites.devbench.starter import CLOSING, OPENING, TESTS
from caretbench.syntax.caret_boundary import CaretBoundary, caret_boundary

AnswerFault = Literal["empty", "cut_off", "refused", "malformed"]

_REFUSAL: Final = re.compile(
    r"\b(?:I(?:'m| am)? (?:sorry|unable|not able|cannot|can't|won't)|I (?:must|have to) (?:decline|refuse)|"
    r"(?:cannot|can't|unable to) (?:help|assist|comply|provide|fulfil))\b",
    re.IGNORECASE,
)
# Refusals are short. A long answer with "I am unable to" in it is a program that says so.
_LONGEST_REFUSAL: Final = 1200
_EMOJI: Final = "\u2190-\u2bff\ufe0f\U0001f000-\U0001faff"
# What a reader does not see is not in the program either: a mark of direction shows code in another order than it runs,
# and a carriage return let the gate examine another program.
_UNPRINTABLE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060\u2066-\u2069\ufeff"
    f"\U000e0000-\U000e007f]|(?<![{_EMOJI}])\u200d|\u200d(?![{_EMOJI}])"
)
"""Control characters, marks of direction, invisible spaces and tags; a joiner is allowed within an emoji."""
# An answer of 57 kB of nested brackets kept a build busy for minutes.
_LONGEST_ANSWER: Final = 40_000
_MAX_LINES: Final = 600
"""Maximum number of lines of a program; the longest of the released ones has 365, and 10,787 characters."""
_NAME: Final = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME: Final = 48


class GeneratedInstance(Row):
    """Texts of an instance as a generator wrote them."""

    name: str = Field(min_length=1)
    prefix: str = Field(min_length=1)
    reference: str = Field(min_length=1)
    suffix: str
    tests: str = ""
    library: str = Field(default="", max_length=120)
    justification: str = Field(min_length=1, max_length=1000)

    @property
    def stem(self) -> str:
        """The name in lower case with hyphens, for a file."""
        return _NAME.sub("-", self.name.lower()).strip("-")[:_LONGEST_NAME].strip("-") or "instance"

    @property
    def file_text(self) -> str:
        """The instance as a file of the folder: the program with marks around the reference and before the tests."""
        shown = f"{self.prefix}{OPENING}{self.reference}{CLOSING}{self.suffix}"
        return shown + (("" if shown.endswith("\n") else "\n") + TESTS.lstrip("\n") + self.tests if self.tests else "")


class UnusableAnswer(Row):
    """An answer without an instance: the kind of fault, and a diagnosis that the generator can act on."""

    fault: AnswerFault
    diagnosis: str


def read_answer(text: str, finish_reason: str | None) -> GeneratedInstance | UnusableAnswer:
    """Return the instance in an answer, or why there is none."""
    if not text.strip():
        return UnusableAnswer(fault="empty", diagnosis="the answer is empty")
    if finish_reason in {"length", "max_tokens"}:
        diagnosis = "the answer was cut at the maximum of tokens; write a shorter program"
        return UnusableAnswer(fault="cut_off", diagnosis=diagnosis)
    if len(text) > _LONGEST_ANSWER:
        diagnosis = (
            f"the answer has {len(text)} characters; at most {_LONGEST_ANSWER} are allowed; write a shorter program"
        )
        return UnusableAnswer(fault="malformed", diagnosis=diagnosis)
    try:
        fields = {
            name: value.replace("\r\n", "\n") if isinstance(value, str) else value
            for name, value in replace_surrogates(json_object(text)).items()
        }
        found = GeneratedInstance.model_validate(fields)
    except ValidationError as error:
        return UnusableAnswer(fault="malformed", diagnosis=describe_validation_error(error))
    except ValueError as error:
        if len(text) <= _LONGEST_REFUSAL and _REFUSAL.search(text):
            diagnosis = "the answer is a refusal; the request is for a small, harmless program with a gap"
            return UnusableAnswer(fault="refused", diagnosis=diagnosis)
        return UnusableAnswer(fault="malformed", diagnosis=str(error))
    diagnosis = _text_fault(found)
    return UnusableAnswer(fault="malformed", diagnosis=diagnosis) if diagnosis else found


def _text_fault(found: GeneratedInstance) -> str:
    """Return why the texts cannot be stored or shown; empty if they can."""
    if any(mark in part for mark in (OPENING, CLOSING) for part in (found.prefix, found.reference, found.suffix)):
        return f"the texts hold {OPENING} or {CLOSING}, which mark the gap"
    marks = found.file_text.count(TESTS.strip())
    if marks > bool(found.tests):
        return f"the texts hold {TESTS.strip()}, a mark of the file format"
    lines = found.file_text.count("\n")
    if lines > _MAX_LINES:
        return f"the program has {lines} lines; at most {_MAX_LINES} are allowed; write a shorter program"
    if strange := next((name for name, value in found.model_dump().items() if _UNPRINTABLE.search(value)), None):
        return f"the field {strange} holds control characters, carriage returns, marks of direction or hidden marks"
    if next(private_texts(f"{found.name}\n{found.library}\n{found.justification}"), None) is not None:
        return "name, library or justification hold a secret, the name of a person or an address"
    return ""


_MAX_MOVES: Final = 6
"""Maximum number of moved instances, since each of them is checked."""


def moved_instances(found: GeneratedInstance, boundary: CaretBoundary) -> Iterator[GeneratedInstance]:
    """Yield the instance with its caret moved to a boundary, nearest places first; nothing if it is there already.

    Places are tried on the line of the caret: on the first line of the reference, and at the beginning of the line. At
    most a third of the reference is given away. The program stays the same.
    """
    if _boundary(found) == boundary:
        return
    line = found.prefix.rpartition("\n")[2]
    indentation = len(line) - len(line.lstrip())
    # To the beginning of the line first, which gives away nothing.
    moves = [indentation - len(line)] if line.strip() else []
    first_line = found.reference.rstrip().partition("\n")[0]
    # Further down the prefix would give away what is asked for.
    moves += range(1, min(len(first_line), len(found.reference) // 3 + 1))
    places = (one for one in (_moved(found, move) for move in moves) if _boundary(one) == boundary)
    yield from (one for one, _ in zip(places, range(_MAX_MOVES), strict=False))


def _moved(found: GeneratedInstance, move: int) -> GeneratedInstance:
    """Return the instance with its caret moved by some characters, which the prefix gains or, if negative, loses."""
    whole, caret = found.prefix + found.reference, len(found.prefix) + move
    return found.model_copy(update={"prefix": whole[:caret], "reference": whole[caret:]})


def _boundary(found: GeneratedInstance) -> CaretBoundary:
    return caret_boundary(found.prefix, found.reference, found.suffix)
