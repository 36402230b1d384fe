"""Cut of answers as in Codev-Bench's published evaluation.

Reimplemented from a description of the released code. It took the last fenced block of a chat model's answer, nothing
where there was none, and cut the answers of models that fill in the middle at their end token alone. (Line feeds passed
through ``<br>`` and back there, so that a ``<br>`` of the code became a line feed; that fault is not repeated.)
"""

from __future__ import annotations

from typing import Final

from caretbench.extraction.caret_surroundings import Surroundings

END_TOKENS: Final = ("<|endoftext|>", "<|file_separator|>")
"""Tokens at which the released code cut answers of models that fill in the middle."""

_FENCE: Final = "```"


def last_fenced_block(text: str, surroundings: Surroundings) -> str:  # noqa: ARG001
    """Return the content of the last fenced block that is closed, without the line of its opening fence; else nothing.

    A block is closed by a fence at the beginning of a line.
    """
    return _last_block(text) or ""


def answer_as_published(text: str, surroundings: Surroundings) -> str:  # noqa: ARG001
    """Return the last fenced block of an answer with fences, else the answer up to the first end token.

    The released code knew which model had answered; here an answer without any fence is taken for one of a model that
    fills in the middle. The policy ``codevbench/chat`` leaves nothing of it.
    """
    if _FENCE in text:
        return _last_block(text) or ""
    ends = [place for token in END_TOKENS if (place := text.find(token)) >= 0]
    return text[: min(ends)] if ends else text


def _last_block(text: str) -> str | None:
    """Return the content of the last closed block, None without one; in linear time, unlike a search by expression."""
    found = None
    place = text.find(_FENCE)
    while place >= 0:
        begin = text.find("\n", place + len(_FENCE)) + 1
        end = text.find(f"\n{_FENCE}", begin) if begin else -1
        if end < 0:
            break
        found = text[begin:end]
        place = text.find(_FENCE, end + 1 + len(_FENCE))
    return found
