"""Detection of near-duplicates among problems: similar programs, or repeated code in projects."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from caretbench.problem import Caret, Problem
from caretbench.projects.answer_requests import file_splice

_TOKEN = re.compile(r"\w+|[^\w\s]")
_SHINGLE = 5
JACCARD_THRESHOLD = 0.85
# A shingle in this many problems is boilerplate: it is not used to find candidates, but counts in the similarity.
_COMMON = 60


def shingles(text: str) -> frozenset[int]:
    """Return the hashes of all token 5-grams of a text."""
    tokens = _TOKEN.findall(text)
    if len(tokens) < _SHINGLE:
        return frozenset((hash(tuple(tokens)),))
    return frozenset(hash(tuple(tokens[index : index + _SHINGLE])) for index in range(len(tokens) - _SHINGLE + 1))


def near_duplicates(problems: Sequence[Problem]) -> dict[str, str]:
    """Return the near-duplicates of earlier problems in the same language: id → id of the earlier problem.

    Two problems are near-duplicates when the Jaccard index of their token 5-grams (prefix, reference and suffix
    together) is at least :data:`JACCARD_THRESHOLD`.
    """
    found: dict[str, str] = {}
    for group in _by_language(problems).values():
        found.update(near_duplicate_texts(group))
    return found


def repeated_problems(problems: Sequence[Problem], earlier: Sequence[Problem]) -> dict[str, str]:
    """Return the problems that are near-duplicates of a problem of another set: id → id of that problem."""
    found: dict[str, str] = {}
    others = _by_language(earlier)
    for name, group in _by_language(problems).items():
        index = _ShingleIndex(JACCARD_THRESHOLD)
        for identity, text in others.get(name, ()):
            index.add(identity, shingles(text))
        matches = ((identity, index.match(shingles(text))) for identity, text in group)
        found |= {identity: match for identity, match in matches if match is not None}
    return found


def _by_language(problems: Sequence[Problem]) -> dict[str, list[tuple[str, str]]]:
    """Return ids and texts of problems with a caret, by language."""
    groups: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for problem in problems:
        if isinstance(problem.shown, Caret):
            caret = problem.shown
            groups[caret.language].append((problem.id, f"{caret.prefix}{problem.reference}{caret.suffix}"))
    return groups


def near_duplicate_texts(texts: Iterable[tuple[str, str]], threshold: float = JACCARD_THRESHOLD) -> dict[str, str]:
    """Return the near-duplicates of earlier texts, by the rule of :func:`near_duplicates`; texts come with names."""
    found: dict[str, str] = {}
    index = _ShingleIndex(threshold)
    for name, text in texts:
        grams = shingles(text)
        if (match := index.match(grams)) is not None:
            found[name] = found.get(match, match)
        index.add(name, grams)
    return found


class _ShingleIndex:
    """Texts by their shingles."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._texts: list[tuple[str, frozenset[int]]] = []
        self._holders: dict[int, list[int]] = defaultdict(list)

    def add(self, name: str, grams: frozenset[int]) -> None:
        for gram in grams:
            self._holders[gram].append(len(self._texts))
        self._texts.append((name, grams))

    def match(self, grams: frozenset[int]) -> str | None:
        """Return the name of a text that is a near-duplicate; None if there is none."""
        held = (self._holders.get(gram, ()) for gram in grams)
        shared = Counter(index for holders in held if len(holders) < _COMMON for index in holders)
        # A near-duplicate shares nearly all shingles, so it is among those that share most.
        for index, _ in shared.most_common(5):
            name, other = self._texts[index]
            if len(grams & other) >= self._threshold * len(grams | other):
                return name
        return None


_WINDOW_LINES = 5


def near_duplicate_spans(problems: Iterable[Problem]) -> dict[str, str]:
    """Return the problems that repeat an earlier one in another place: id → id of the earlier problem.

    The reference and five lines on either side are compared. Not counted: the same span in another mode, and spans that
    overlap with these lines.
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
            if count >= JACCARD_THRESHOLD * (len(grams) + len(theirs) - count) and _elsewhere(place, other):
                found[problem.id] = found.get(other.id, other.id)
                break
        for gram in grams:
            holders[gram].append(len(earlier))
        earlier.append((place, grams))
    return found


class _Place(NamedTuple):
    """A problem's span including the lines around it: file, mode, start and end in bytes."""

    id: str
    file: tuple[str, str]
    mode: object
    start: int
    end: int


def _place(problem: Problem, before: str, after: str) -> _Place:
    splice = file_splice(problem)
    start, end = splice.start - len(before.encode()), splice.end + len(after.encode())
    return _Place(problem.id, (splice.snapshot, splice.path), problem.labels.get("mode"), start, end)


def _elsewhere(one: _Place, other: _Place) -> bool:
    apart = other.end <= one.start or one.end <= other.start
    return one.mode == other.mode and (one.file != other.file or apart)
