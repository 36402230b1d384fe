"""Problems in files of projects that repeat others: the same code at another place."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from caretbench.errors import DataError
from caretbench.problem import FileSplice, Problem
from caretbench.validation.duplicates import THRESHOLD, shingles

_WINDOW_LINES = 5


def repeats(problems: Iterable[Problem]) -> dict[str, str]:
    """Problems that repeat an earlier one elsewhere: id -> id of the earlier one.

    Compared are the reference and five lines on either side. The same place in another mode, and places that overlap,
    are no repetition: the former is meant, the latter share an overlap group.
    """
    found: dict[str, str] = {}
    earlier: list[tuple[Problem, frozenset[int]]] = []
    holders: dict[int, list[int]] = defaultdict(list)
    for problem in problems:
        caret = problem.caret
        before = "\n".join(caret.prefix.split("\n")[-_WINDOW_LINES:])
        after = "\n".join(caret.suffix.split("\n")[:_WINDOW_LINES])
        grams = shingles(f"{before}{problem.reference}{after}")
        shared = Counter(index for gram in grams for index in holders[gram])
        for index, count in shared.items():
            other, theirs = earlier[index]
            if count >= THRESHOLD * (len(grams) + len(theirs) - count) and _elsewhere(problem, other):
                found[problem.id] = found.get(other.id, other.id)
                break
        for gram in grams:
            holders[gram].append(len(earlier))
        earlier.append((problem, grams))
    return found


def _elsewhere(one: Problem, other: Problem) -> bool:
    left, right = splice_in_file(one), splice_in_file(other)
    same_file = (left.snapshot, left.path) == (right.snapshot, right.path)
    apart = left.end <= right.start or right.end <= left.start
    return one.labels.get("mode") == other.labels.get("mode") and (not same_file or apart)


def splice_in_file(problem: Problem) -> FileSplice:
    """Where the answer goes.

    Raises:
        DataError: into no file of a project.
    """
    if not isinstance(problem.splice, FileSplice):
        raise DataError(f"{problem.id}: its answer goes into no file of a project")
    return problem.splice
