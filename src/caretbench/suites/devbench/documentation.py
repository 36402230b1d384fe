"""Predicates over a documentation comment: does it document what is there?

A comment cannot be run, so the released data let any comment pass. Here the comment is parsed out of the spliced
program, and predicates say what it must tell: which parameters, whether it returns or throws something, and which
notions it must name.
"""

from __future__ import annotations

import re

from pydantic import BaseModel, ConfigDict

from caretbench.syntax.docs.documentation import documentation_of


class DocumentationCheck(BaseModel):
    """What a comment must tell. ``mentions``: of each group of words at least one occurs (by its beginning)."""

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
    """`System.ArgumentException` and `ArgumentException` name one class, and so do names with `std::` or without."""
    return re.split(r"\.|::", name)[-1]


def missing(program: str, language: str, check: DocumentationCheck) -> list[str]:
    """What the comment in ``program`` lacks, one line each; empty when the check holds."""
    comment = documentation_of(program, language, check.documents)
    if comment is None:
        return [f"{check.documents} has no documentation comment"]
    faults = []
    if comment.word_count < check.minimum_words:
        faults.append(f"{comment.word_count} words, at least {check.minimum_words} wanted")
    faults += [
        f"parameter {name} is not described" for name in check.parameters if name not in comment.parameters
    ]
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
