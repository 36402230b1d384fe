"""What is judged: the text that a completion inserts at the caret, and the name of that text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from caretbench.extraction.policies import Policy
from caretbench.files import sha256_text
from caretbench.problem import Caret, Completion, Problem, Profile

GOLDEN = "golden"
"""The model's name under which the references stand among the completions; they are never cut."""


class Inserted(NamedTuple):
    """A completion, the text that it inserts, and that text's hash."""

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
