"""Masks of a block: its deletion, or else the least text that parses (``pass`` in Python), and a throw at its start.

Tests of the block must fail under each. A mask that does not parse where the file does is none.
"""

from __future__ import annotations

from typing import NamedTuple

from caretbench.build.validation.mutants import throw_at_start
from caretbench.build.validation.parse_check import parses_as_reference
from caretbench.problem import FileSplice, InlineSplice, Problem
from caretbench.suites.baselines import stub


class Mask(NamedTuple):
    """The name of a mask, and its text in the place of the block."""

    name: str
    text: str


def masks(problem: Problem, content: bytes, span: tuple[int, int], *, throw: bool) -> tuple[Mask, ...]:
    """Return the masks of the bytes ``span`` of a problem's file with this ``content``.

    Args:
        problem: The problem; its own span does not count.
        content: The unchanged file.
        span: The masked bytes.
        throw: Also a throw before the first statement, which keeps the text after it.
    """
    before, text, after = (
        part.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
        for part in (content[: span[0]], content[span[0] : span[1]], content[span[1] :])
    )
    caret = problem.caret.model_copy(update={"prefix": before, "suffix": after})
    splice = InlineSplice(before=before, after=after)
    masked = problem.model_copy(update={"shown": caret, "splice": splice, "reference": text})
    is_sound = parses_as_reference(splice, text, caret.language)
    least = stub(masked)
    found = [Mask("deletion", ""), *([Mask("pass", least)] if least else [])]
    sound = [mask for mask in found if mask.text.strip() != text.strip() and is_sound(mask.text)][:1]
    thrown = throw_at_start(masked) if throw else None
    if thrown is not None:
        sound.append(Mask("throw", thrown.text))
    return tuple(sound)


def with_span(problem: Problem, span: tuple[int, int]) -> Problem:
    """Return the problem with another span of its file, for requests that test a mask."""
    assert isinstance(problem.splice, FileSplice)  # noqa: S101  a problem of a project
    splice = problem.splice.model_copy(update={"start": span[0], "end": span[1]})
    return problem.model_copy(update={"splice": splice})
