"""Predicates over documentation comments: required parameters, return values, exceptions and words.

A comment cannot be executed, so with the released tests every comment passes. Here it is parsed out of the program
with the answer in it.
"""

from __future__ import annotations

import re

from pydantic import BaseModel, ConfigDict

from caretbench.syntax.docs.documentation import documentation_of


class DocumentationCheck(BaseModel):
    """Required contents of the documentation comment of ``documents``, a function or class.

    ``parameters`` and ``throws`` are names that it describes; ``returns``: it describes the returned value;
    ``mentions``: it contains at least one word of each group (compared by beginning, ignoring case).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    documents: str
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


def documentation_faults(program: str, language: str, check: DocumentationCheck) -> list[str]:
    """Return a line for each requirement that the comment in ``program`` does not meet."""
    comment = documentation_of(program, language, check.documents)
    if comment is None:
        return [f"{check.documents} has no documentation comment"]
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
