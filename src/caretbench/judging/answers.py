"""Texts that judges see: the text that a completion inserts or answers, and its hash."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from caretbench.extraction.policies import Policy
from caretbench.files import sha256_text
from caretbench.judging.parsing import remove_reasoning
from caretbench.problem import AnyCompletion, Caret, CriterionCheck, Problem, Profile, Question
from caretbench.profiles import rules_of

REFERENCE = "reference"
"""Model name of the references among the completions; they are never cut."""


_BLANK_LINES = re.compile(r"\A(?:[^\S\n]*\n)+")


def plain_answer(_problem: Problem, text: str, profile: Profile) -> str:
    """Return an answer as a judge sees it, for suites without their own rule.

    Under ``paper`` it is the raw text, else the text without reasoning, blank lines around it and blanks at its end.
    """
    return text if rules_of(profile).judged_as_it_came else _BLANK_LINES.sub("", remove_reasoning(text)).rstrip()


TextOf = Callable[[Problem, str, Profile], str]
"""Function from problem, raw answer and profile to the text that a judge sees."""


class JudgedText(NamedTuple):
    """Completion with the text that it inserts or answers, and that text's hash."""

    completion: AnyCompletion
    text: str
    answer: str


def answer_key(text: str) -> str:
    """Return the hash of a text, which identifies it in judgements."""
    return sha256_text(text)


def inserted_texts(
    completions: Iterable[AnyCompletion], problems: Mapping[str, Problem], policy: Policy, profile: Profile
) -> Iterator[JudgedText]:
    """Yield the text that every completion inserts, under one policy; problems without a caret are skipped.

    A null completion is judged as the empty text. A released row with an error message is skipped, except under the
    paper profile, which judged the message.
    """
    for completion, problem in _judged(completions, problems, profile):
        if isinstance(problem.shown, Caret):
            text = completion.text or ""
            if completion.model != REFERENCE:
                text = policy.apply(text, problem.shown).text
            yield JudgedText(completion, text, answer_key(text))


def answer_texts(
    completions: Iterable[AnyCompletion],
    problems: Mapping[str, Problem],
    profile: Profile,
    text_of: TextOf = plain_answer,
) -> Iterator[JudgedText]:
    """Yield the answer of every completion to a judged question; other problems are skipped.

    ``text_of`` is the suite's :meth:`caretbench.suites.base.Suite.judged_text`. References are never changed.
    """
    for completion, problem in _judged(completions, problems, profile):
        judged = any(isinstance(check, CriterionCheck) for check in problem.checks)
        if judged and isinstance(problem.shown, Question):
            text = completion.text or ""
            if completion.model != REFERENCE:
                text = text_of(problem, text, profile)
            yield JudgedText(completion, text, answer_key(text))


def _judged(
    completions: Iterable[AnyCompletion], problems: Mapping[str, Problem], profile: Profile
) -> Iterator[tuple[AnyCompletion, Problem]]:
    """Yield the completions of known problems, without errors that do not count as answers under the profile."""
    for completion in completions:
        problem = problems.get(completion.problem_id)
        if problem is not None and (not completion.error or rules_of(profile).errors_are_answers):
            yield completion, problem
