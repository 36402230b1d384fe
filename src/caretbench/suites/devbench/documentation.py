"""Predicates over comments: required parameters, return values, exceptions and words.

A comment cannot be executed, so with the released tests every comment passes. Here it is parsed out of the program
with the answer in it.
"""

from __future__ import annotations

import re

from pydantic import BaseModel, ConfigDict

from caretbench.syntax.documentation import comments_between, documentation_of


class DocumentationCheck(BaseModel):
    """Required contents of the documentation comment of ``documents``, a function or class.

    Without ``documents`` they are required of the comments that the answer consists of, wherever it stands.
    ``parameters`` and ``throws`` are names that it describes; ``returns``: it describes the returned value;
    ``mentions``: it contains at least one word of each group (compared by beginning, ignoring case).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    documents: str = ""
    minimum_words: int = 5
    parameters: tuple[str, ...] = ()
    returns: bool = False
    throws: tuple[str, ...] = ()
    mentions: tuple[tuple[str, ...], ...] = ()


def _mentioned(text: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}", text, re.IGNORECASE) is not None


def _unqualified(name: str) -> str:
    """Return a name without namespace: ``ArgumentException`` for ``System.ArgumentException``."""
    return re.split(r"\.|::", name)[-1]


def documentation_faults(program: str, language: str, check: DocumentationCheck, start: int, end: int) -> list[str]:
    """Return a line for each requirement that the comment does not meet.

    Args:
        program: The program with the answer in it.
        language: Its language.
        check: The requirements.
        start: Byte of the program at which the answer begins.
        end: Byte behind the answer.
    """
    if check.documents:
        comment = documentation_of(program, language, check.documents)
        missing = f"{check.documents} has no documentation comment"
    else:
        comment = comments_between(program, language, start, end)
        missing = "the answer has no comment"
    if comment is None:
        return [missing]
    faults = []
    if comment.word_count < check.minimum_words:
        faults.append(f"{comment.word_count} words, at least {check.minimum_words} required")
    faults += [f"parameter {name} is not described" for name in check.parameters if name not in comment.parameters]
    if check.returns and not comment.returns:
        faults.append("the returned value is not described")
    thrown = {_unqualified(name) for name in comment.throws}
    faults += [f"{name} is not described" for name in check.throws if _unqualified(name) not in thrown]
    faults += [
        f"none of these words occurs: {', '.join(group)}"
        for group in check.mentions
        if not any(_mentioned(comment.text, word) for word in group)
    ]
    return faults
