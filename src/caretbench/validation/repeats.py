"""Problems in files of projects that repeat others: the same code at another place."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from caretbench.errors import DataError
from caretbench.problem import FileSplice, Problem
from caretbench.validation.duplicates import THRESHOLD, shingles

_WINDOW_LINES = 5


def repeats(problems: Iterable[Problem]) -> dict[str, str]:
    """Problems that repeat an earlier one elsewhere: id -> id of the earlier one.

    Compared are the reference and five lines on either side. The same place in another mode, and places that overlap
    with those lines, are no repetition: the former is meant, the latter have the same text around them.
    """
    found: dict[str, str] = {}
    earlier: list[tuple[_Place, frozenset[int]]] = []
    holders: dict[int, list[int]] = defaultdict(list)
    for problem in problems:
        caret = problem.caret
        before = "\n".join(caret.prefix.split("\n")[-_WINDOW_LINES:])
        after = "\n".join(caret.suffix.split("\n")[:_WINDOW_LINES])
        place = _place(problem, before, after)
        grams = shingles(f"{before}{problem.reference}{after}")
        shared = Counter(index for gram in grams for index in holders[gram])
        for index, count in shared.items():
            other, theirs = earlier[index]
            if count >= THRESHOLD * (len(grams) + len(theirs) - count) and _elsewhere(place, other):
                found[problem.id] = found.get(other.id, other.id)
                break
        for gram in grams:
            holders[gram].append(len(earlier))
        earlier.append((place, grams))
    return found


class _Place(NamedTuple):
    """A span with the lines around it: which file, in which mode, from which byte to which."""

    id: str
    file: tuple[str, str]
    mode: object
    start: int
    end: int


def _place(problem: Problem, before: str, after: str) -> _Place:
    splice = splice_in_file(problem)
    start, end = splice.start - len(before.encode()), splice.end + len(after.encode())
    return _Place(problem.id, (splice.snapshot, splice.path), problem.labels.get("mode"), start, end)


def _elsewhere(one: _Place, other: _Place) -> bool:
    apart = other.end <= one.start or one.end <= other.start
    return one.mode == other.mode and (one.file != other.file or apart)


def splice_in_file(problem: Problem) -> FileSplice:
    """Where the answer goes.

    Raises:
        DataError: into no file of a project.
    """
    if not isinstance(problem.splice, FileSplice):
        raise DataError(f"{problem.id}: its answer goes into no file of a project")
    return problem.splice
