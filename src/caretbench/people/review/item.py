"""Review items: the texts that people see of one problem or answer, and the facts that they do not see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from caretbench.files import sha256_text
from caretbench.people.review.protocol import Answer
from caretbench.problem import ContextFile, Row


class ShownItem(Row):
    """Texts of an item that people see, as far as the protocol shows them.

    ``before``, ``span`` and ``after`` are the program with the reviewed text as ``span``; of a question, ``question``
    has its text, ``choices`` and ``files`` what belongs to it, and ``span`` the answer.
    """

    instruction: str = ""
    question: str = ""
    choices: tuple[str, ...] = ()
    files: tuple[ContextFile, ...] = ()
    before: str = ""
    span: str = ""
    after: str = ""
    reference: str | None = None
    """The reference, beside an answer."""
    tests: str = ""
    """Hidden tests: what the program has after the shown text, or the command that runs tests."""
    verdict: str = ""
    """Outcome of the run with a message."""


class HiddenItem(Row):
    """Facts that no reviewer sees: authors, scores of judges by grader, and the known answers of a control."""

    models: tuple[str, ...] = ()
    judges: Mapping[str, float] = Field(default_factory=dict)
    control: str | None = None
    expect: Mapping[str, tuple[Answer, ...]] = Field(default_factory=dict)
    explanation: str = ""


class ReviewItem(Row):
    """One item of a review: a row of its database.

    ``answer`` is the hash of the span, as in judgements. ``successor_of`` is the item that this one replaces.
    ``warm_up`` and ``control`` items are decided by everybody and are no part of the result.
    """

    schema_version: Literal[1] = 1
    problem_id: str
    suite: str
    language: str = ""
    kind: Literal["item", "control", "warm_up"] = "item"
    answer: str
    labels: Mapping[str, str] = Field(default_factory=dict)
    shown: ShownItem
    hidden: HiddenItem = HiddenItem()
    successor_of: str | None = None
    problem_hash: str = ""
    """Hash of the problem's texts, by which builders know that a result is about them."""

    @property
    def id(self) -> str:
        """Hash of the problem, its kind and what is shown: 16 hexadecimal digits, the same wherever the item is made.

        It says nothing about the author or the kind.
        """
        return sha256_text(self.problem_id, self.kind, self.shown.model_dump_json())[:16]
