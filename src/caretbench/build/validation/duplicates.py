"""Near-duplicates among problems (similar programs, repeated code in projects), and twins of a program among others."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from caretbench.grouping import grouped
from caretbench.problem import Caret, Problem
from caretbench.projects.answer_requests import file_splice

_TOKEN = re.compile(r"\w+|[^\w\s]")
_SHINGLE = 5
JACCARD_THRESHOLD = 0.85
# A shingle in this many problems is boilerplate: it is not used to find candidates, but counts in the similarity.
_COMMON = 60


def shingles(text: str) -> frozenset[int]:
    """Return the hashes of all token 5-grams of a text."""
    return _grams(_TOKEN.findall(text))


def _grams(tokens: Sequence[object]) -> frozenset[int]:
    """Return the hashes of all 5-grams; of fewer tokens, that of all."""
    starts = range(max(1, len(tokens) - _SHINGLE + 1))
    return frozenset(hash(tuple(tokens[start : start + _SHINGLE])) for start in starts)


def near_duplicates(problems: Sequence[Problem]) -> dict[str, str]:
    """Return the near-duplicates of earlier problems in the same language: id → id of the earlier problem.

    Two problems are near-duplicates when the Jaccard index of their token 5-grams (prefix, reference and suffix
    together) is at least :data:`JACCARD_THRESHOLD`.
    """
    duplicates: dict[str, str] = {}
    for group in _by_language(problems).values():
        duplicates.update(near_duplicate_texts(group))
    return duplicates


def repeated_problems(problems: Sequence[Problem], earlier: Sequence[Problem]) -> dict[str, str]:
    """Return the problems that are near-duplicates of a problem of another set: id → id of that problem."""
    repeated: dict[str, str] = {}
    others = _by_language(earlier)
    for name, group in _by_language(problems).items():
        index = _ShingleIndex()
        for identity, text in others.get(name, ()):
            index.add(identity, shingles(text))
        matches = ((identity, index.match(shingles(text))) for identity, text in group)
        repeated |= {identity: match for identity, match in matches if match is not None}
    return repeated


def _by_language(problems: Sequence[Problem]) -> dict[str, list[tuple[str, str]]]:
    """Return ids and texts of problems with a caret, by language."""
    return grouped(
        (caret.language, (problem.id, f"{caret.prefix}{problem.reference}{caret.suffix}"))
        for problem in problems
        if isinstance(caret := problem.shown, Caret)
    )


def near_duplicate_texts(texts: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the near-duplicates of earlier texts, by the rule of :func:`near_duplicates`; texts come with names."""
    duplicates: dict[str, str] = {}
    index = _ShingleIndex()
    for name, text in texts:
        grams = shingles(text)
        if (match := index.match(grams)) is not None:
            duplicates[name] = duplicates.get(match, match)
        index.add(name, grams)
    return duplicates


class _ShingleIndex:
    """Texts by their shingles."""

    def __init__(self) -> None:
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
            if len(grams & other) >= JACCARD_THRESHOLD * len(grams | other):
                return name
        return None


_WINDOW_LINES = 5


def near_duplicate_spans(problems: Iterable[Problem]) -> dict[str, str]:
    """Return the problems that repeat an earlier one in another place: id → id of the earlier problem.

    The reference and five lines on either side are compared. Not counted: the same span in another mode, and spans that
    overlap with these lines.
    """
    repeated: dict[str, str] = {}
    earlier: list[tuple[_Place, frozenset[int]]] = []
    holders: dict[int, list[int]] = defaultdict(list)
    for problem in problems:
        caret = problem.caret
        before = "\n".join(caret.prefix.split("\n")[-_WINDOW_LINES:])
        after = "\n".join(caret.suffix.split("\n")[:_WINDOW_LINES])
        span = _place(problem, before, after)
        grams = shingles(f"{before}{problem.reference}{after}")
        shared = Counter(index for gram in grams for index in holders[gram])
        for index, count in shared.items():
            other, theirs = earlier[index]
            if count >= JACCARD_THRESHOLD * (len(grams) + len(theirs) - count) and _elsewhere(span, other):
                repeated[problem.id] = repeated.get(other.id, other.id)
                break
        for gram in grams:
            holders[gram].append(len(earlier))
        earlier.append((span, grams))
    return repeated


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


def _elsewhere(place: _Place, other: _Place) -> bool:
    apart = other.end <= place.start or place.end <= other.start
    return place.mode == other.mode and (place.file != other.file or apart)


# With frequencies over the language: over the cell only 306 of 1,800 released instances are found, over the language
# 530.
WORD_COSINE: Final = 0.5
"""TF-IDF cosine of words above which two programs of one group are twins."""
RUN_TOKENS: Final = 60
"""Length of a run of tokens that two programs of one language may not share."""

FORM_JACCARD: Final = 0.4
"""Jaccard index of 5-grams without names from which two programs are twins; two of our 120 have at most 0.103."""
# Short programs of one kind (a loop that sums) have the same form by necessity.
_FEWEST_FORMS: Final = 30
# Beyond this number of tokens all distances are one: an inserted block would change every later one otherwise.
_FURTHEST: Final = 99

_WORD: Final = re.compile(r"\w\w+")
_IMPORT: Final = re.compile(r"^\s*(?:import|from|#include|using|package|const \w+ = require)\b.*$", re.MULTILINE)


class Twin(NamedTuple):
    """The nearest twin of a program: its name, the way in which it was found, and the similarity."""

    name: str
    kind: str
    similarity: float

    def __str__(self) -> str:
        return f"{self.name} ({self.kind} {self.similarity:.2f})"


class _Program(NamedTuple):
    name: str
    group: str
    words: Counter[str]
    grams: frozenset[int]
    forms: frozenset[int]
    runs: frozenset[int]


class TwinIndex:
    """Index of programs by language, in which twins are searched.

    Two programs are twins if their words have a TF-IDF cosine above :data:`WORD_COSINE` and both are in the same group,
    if the Jaccard index of their token 5-grams is at least that of near-duplicates, if that of their 5-grams without
    names is at least :data:`FORM_JACCARD`, or if they share a run of :data:`RUN_TOKENS` tokens outside imports. A word
    counts 1 + ln of its number, times ln((1 + programs) / programs with it), over the programs of the language in the
    index.
    """

    def __init__(self) -> None:
        self._programs: dict[str, dict[str, _Program]] = defaultdict(dict)
        self._documents: dict[str, Counter[str]] = defaultdict(Counter)

    def add(self, name: str, language: str, group: str, text: str) -> None:
        """Add a program, or replace the one of this name."""
        self.remove(name)
        program = _program(name, group, text)
        self._programs[language][name] = program
        self._documents[language].update(program.words.keys())

    def remove(self, name: str) -> None:
        """Remove a program, if it is in the index."""
        for language, programs in self._programs.items():
            program = programs.pop(name, None)
            if program is not None:
                self._documents[language].subtract(program.words.keys())

    def clear(self) -> None:
        """Remove all programs."""
        self._programs.clear()
        self._documents.clear()

    def twin_of(self, name: str, language: str, group: str, text: str, *, related: Sequence[str] = ()) -> Twin | None:
        """Return the nearest twin of a program among the others; None if it has none.

        ``related`` ones share its scenario: the same words or the same form make them no twins.
        """
        program = _program(name, group, text)
        twins = self._twins(program, language, frozenset(related))
        return max(twins, key=lambda twin: (twin.similarity, twin.name), default=None)

    def _twins(self, program: _Program, language: str, related: frozenset[str]) -> Iterator[Twin]:
        weights = self._weights(program, language)
        for other in self._programs[language].values():
            if other.name == program.name:
                continue
            grams = len(program.grams & other.grams) / len(program.grams | other.grams)
            if grams >= JACCARD_THRESHOLD:
                yield Twin(other.name, "5-grams", grams)
            if program.runs & other.runs:
                yield Twin(other.name, f"a run of {RUN_TOKENS} tokens, 5-grams", grams)
            if other.name in related:
                continue
            form = len(program.forms & other.forms) / len(program.forms | other.forms)
            if form >= FORM_JACCARD and min(len(program.forms), len(other.forms)) >= _FEWEST_FORMS:
                yield Twin(other.name, "5-grams without names", form)
            if program.group == other.group:
                cosine = _cosine(weights, self._weights(other, language))
                if cosine > WORD_COSINE:
                    yield Twin(other.name, "words", cosine)

    def _weights(self, program: _Program, language: str) -> Mapping[str, float]:
        programs, documents = self._programs[language], self._documents[language]
        size = 1 + len(programs) + (program.name not in programs)
        idf = {word: math.log(size / max(1, documents[word])) for word in program.words}
        return {word: (1 + math.log(count)) * idf[word] for word, count in program.words.items()}


def _program(name: str, group: str, text: str) -> _Program:
    # Two programs that use the same libraries share long runs of imports.
    tokens = _TOKEN.findall(_IMPORT.sub("", text))
    runs = frozenset(hash(tuple(tokens[start : start + RUN_TOKENS])) for start in range(len(tokens) - RUN_TOKENS + 1))
    return _Program(name, group, Counter(_WORD.findall(text.lower())), shingles(text), _forms(tokens), runs)


def _forms(tokens: Sequence[str]) -> frozenset[int]:
    """Return the hashes of all 5-grams of tokens in which each word is the distance to its last occurrence.

    A program and a copy with other names have the same (parameterized matching; Baker 1997).
    """
    last: dict[str, int] = {}
    encoded: list[str | int] = []
    for index, token in enumerate(tokens):
        if token.isidentifier() or token.isalnum():
            encoded.append(min(index - last.get(token, index), _FURTHEST))
            last[token] = index
        else:
            encoded.append(token)
    return _grams(encoded)


def _cosine(weights: Mapping[str, float], other: Mapping[str, float]) -> float:
    product = math.fsum(weights[word] * other[word] for word in weights.keys() & other.keys())
    norms = math.sqrt(math.fsum(w * w for w in weights.values()) * math.fsum(w * w for w in other.values()))
    return product / norms if norms else 0.0
