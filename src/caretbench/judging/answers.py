"""What is judged: the text that a completion inserts at the caret or gives as its answer, and the name of that text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from caretbench.extraction.policies import Policy
from caretbench.files import sha256_text
from caretbench.judging.parsing import without_thoughts
from caretbench.problem import Caret, Completion, CriterionCheck, Problem, Profile, Question

GOLDEN = "golden"
"""The model's name under which the references stand among the completions; they are never cut."""


_BLANK_LINES = re.compile(r"\A(?:[^\S\n]*\n)+")

TextOf = Callable[[Problem, str], str]
"""From a problem and the raw answer to what a judge sees of it."""


class Inserted(NamedTuple):
    """A completion, the text that it inserts or answers, and that text's hash."""

    completion: Completion
    text: str
    answer: str


def answer_key(text: str) -> str:
    """The name of a text in a judgement: its hash."""
    return sha256_text(text)


def inserted(
    completions: Iterable[Completion], problems: Mapping[str, Problem], policy: Policy, profile: Profile
) -> Iterator[Inserted]:
    """What every completion inserts, under one policy; problems without a caret are passed over.

    A null completion inserts nothing: it is judged as the empty text. A released row that holds an error message is no
    completion, but under the paper profile, which judged the message.
    """
    for completion in completions:
        problem = problems.get(completion.problem_id)
        if problem is None or not isinstance(problem.shown, Caret):
            continue
        if completion.error and profile == "default":
            continue
        text = completion.text or ""
        if completion.model != GOLDEN:
            text = policy.apply(text, problem.shown).text
        yield Inserted(completion, text, answer_key(text))


def answered(
    completions: Iterable[Completion],
    problems: Mapping[str, Problem],
    profile: Profile,
    text_of: TextOf | None = None,
) -> Iterator[Inserted]:
    """What every completion answers to a question that a judge is asked about; all others are passed over.

    Where ``text_of`` is not given, that is the whole answer: under the paper profile as it came, else without the
    reasoning before it, blank lines around it and blanks at its end. References are never cut.
    """
    for completion in completions:
        problem = problems.get(completion.problem_id)
        if problem is None or not isinstance(problem.shown, Question):
            continue
        if not any(isinstance(check, CriterionCheck) for check in problem.checks):
            continue
        if completion.error and profile == "default":
            continue
        text = completion.text or ""
        if completion.model != GOLDEN:
            if text_of is not None:
                text = text_of(problem, text)
            elif profile == "default":
                text = _BLANK_LINES.sub("", without_thoughts(text)).rstrip()
        yield Inserted(completion, text, answer_key(text))
