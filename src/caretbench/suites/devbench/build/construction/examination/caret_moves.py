"""Moves of a caret to the boundary that a scenario asks for: later in the gap, or to the beginning of its line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from caretbench.suites.devbench.build.construction.examination.generated_answer import GeneratedInstance
from caretbench.syntax.caret_boundary import CaretBoundary, caret_boundary

_TRIED: Final = 6
"""Maximum number of moved instances, since each of them is checked."""


def moved_instances(found: GeneratedInstance, boundary: CaretBoundary) -> Iterator[GeneratedInstance]:
    """Yield the instance with its caret moved to a boundary, nearest places first; nothing if it is there already.

    Places are tried on the line of the caret: on the first line of the reference, and at the beginning of the line. At
    most a third of the reference is given away. The program stays the same.
    """
    if _boundary(found) == boundary:
        return
    line = found.prefix.rpartition("\n")[2]
    indentation = len(line) - len(line.lstrip())
    moves = [indentation - len(line)] if line.strip() else []
    first_line = found.reference.rstrip().partition("\n")[0]
    moves += range(1, min(len(first_line), len(found.reference) // 3 + 1))
    places = (one for one in (_moved(found, move) for move in moves) if _boundary(one) == boundary)
    yield from (one for one, _ in zip(places, range(_TRIED), strict=False))


def _moved(found: GeneratedInstance, move: int) -> GeneratedInstance:
    """Return the instance with its caret moved by some characters, which the prefix gains or, if negative, loses."""
    whole, caret = found.prefix + found.reference, len(found.prefix) + move
    return found.model_copy(update={"prefix": whole[:caret], "reference": whole[caret:]})


def _boundary(found: GeneratedInstance) -> CaretBoundary:
    return caret_boundary(found.prefix, found.reference, found.suffix)
