"""Models that know some of a reference's tokens, for typing sessions: functions of a text and the typed characters."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache

from caretbench.files import sha256_text
from caretbench.metrics.typing_sessions import TypedText, copied_suggestion
from caretbench.models import FillPrompt
from caretbench.problem import Problem
from caretbench.suites import load_problems, load_suite

ScriptedModel = Callable[[TypedText, int], str]
"""Answer behind typed characters of a text."""

_TOKEN = re.compile(r"\w+|[^\w\s]")


def _share(*words: object) -> float:
    """Return a number from 0 to 1 that depends on the words alone."""
    return int(sha256_text(*map(str, words))[:8], 16) / 2**32


def _without(text: TypedText, at: int, wrong: Callable[[int], bool]) -> str:
    parts, last = [], at
    for number, token in enumerate(_TOKEN.finditer(text.reference)):
        if token.end() > at and wrong(number):
            parts += [text.reference[last : max(at, token.start())], "zqz"]
            last = token.end()
    return "".join(parts) + text.reference[last:]


def unknown_tokens(share: float) -> ScriptedModel:
    """Return a model that writes something else for a share of the tokens."""
    return lambda text, at: _without(text, at, lambda number: _share(text.reference, number) < share)


def one_wrong_token(text: TypedText, at: int) -> str:
    """Answer with one wrong token of the whole reference."""
    place = int(_share(text.reference) * len(_TOKEN.findall(text.reference)))
    return _without(text, at, lambda number: number == place)


def right_in_four_of_ten(text: TypedText, at: int) -> str:
    """Answer right in four of ten problems, else with rubbish."""
    return text.reference[at:] if _share("four", text.reference) < 0.4 else "zqz qq zqz"


def copying(text: TypedText, at: int) -> str:
    """Answer as the floor of copying."""
    return copied_suggestion(text.prefix + text.reference[:at])


def last_identifier(text: TypedText, at: int) -> str:
    """Answer with the last identifier before the caret."""
    return re.findall(r"[A-Za-z_]\w*", text.prefix + text.reference[:at])[-1]


@cache
def human_problems(number: int) -> Sequence[Problem]:
    """Return problems of Codev-Bench and SimCopilot with at least 60 characters to type, each reference once."""
    both = [load_problems(load_suite(name), "starter").problems for name in ("codevbench", "simcopilot")]
    long = [{one.reference: one for one in problems if len(one.reference.strip()) >= 60} for problems in both]
    first, second = (sorted(found.values(), key=lambda one: _share(one.id)) for found in long)
    half = first[: number // 2]
    return [*half, *second[: number - len(half)]]


def answer_at(problems: Sequence[Problem], prompt: FillPrompt, answer: ScriptedModel) -> str:
    """Return a scripted answer to the prompt of one of the problems, behind what is typed of its reference.

    Raises:
        LookupError: it is the prompt of none.
    """
    for problem in problems:
        typed = prompt.prefix.removeprefix(problem.caret.prefix)
        shown = (problem.caret.prefix + typed, problem.caret.suffix)
        if (prompt.prefix, prompt.suffix) == shown and problem.reference.startswith(typed):
            return answer(TypedText(problem.caret.prefix, problem.reference), len(typed))
    raise LookupError(prompt.prefix)
