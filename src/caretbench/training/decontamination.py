"""Decontamination: which rows of a training corpus hold a problem of a benchmark, and which problems a corpus holds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

import numpy
from numpy.typing import NDArray

from caretbench.files import sha256_text
from caretbench.problem import Caret, Problem, Row
from caretbench.training.pairs import TOKEN, CorpusRow

Rule = Literal["default", "strict"]
Hashes = NDArray[numpy.uint64]

GRAM: Final = 10
"""Tokens of a gram, as in C3-Bench's paper, section 3."""

MIN_RUN: Final = 30
"""Tokens in a row that a row and a problem have in common: shorter runs are met by chance."""

_MIN_SHARE: Final = 0.5
"""Share of a short problem's grams: it has fewer tokens than :data:`MIN_RUN`, so that no run can find it."""

_MIN_COVERED: Final = 0.8
"""Share of all grams of a problem, with boilerplate."""

_COMMON: Final = 2
"""A gram in problems of more clusters than this is boilerplate: with it 95 of 250 DevBench problems hold another's."""

# A line of `=====` is one token: it made a problem of 55 tokens of two tests that have such a line.
_RULE: Final = re.compile(r"([^\w\s])\1{3,}")
# Licence texts at the head of a file are everywhere, and no benchmark asks for them.
_HEADER: Final = re.compile(r"\A(?:[ \t]*(?:#|//|--|;|%)[^\n]*\n|[ \t]*\n|[ \t]*/\*.*?\*/)*", re.DOTALL)
_FACTORS: Final = (numpy.uint64(0x9E3779B97F4A7C15) ** numpy.arange(GRAM, dtype=numpy.uint64))[::-1]
_EXCERPT: Final = 100


class Contamination(Row):
    """A row of the corpus, by its number from 0, and what it met of which problem.

    ``run`` is the number of tokens in a row that both have; ``share`` that of the row's grams that some problem has;
    ``text`` begins with the common tokens.
    """

    row: int
    id: str
    benchmark: str
    problem_id: str
    run: int
    share: float
    text: str


class _Text(NamedTuple):
    """Tokens of a text, and the hashes of its grams: one for each token but the last nine, at least one."""

    tokens: list[str]
    grams: Hashes


class Hasher:
    """Hashes of grams, the same in every process; it keeps the number of each token."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def read(self, text: str) -> _Text:
        """Return tokens and grams of a text; one of fewer than ten tokens is one gram, an empty one has none."""
        tokens = TOKEN.findall(_RULE.sub(r"\1", text))
        if not tokens:
            return _Text([], numpy.empty(0, numpy.uint64))
        known = self._numbers
        for token in set(tokens).difference(known):
            known[token] = int(sha256_text(token)[:16], 16)
        numbers = numpy.fromiter(map(known.__getitem__, tokens), numpy.uint64, len(tokens))
        windows = numpy.lib.stride_tricks.sliding_window_view(numbers, min(GRAM, len(numbers)))
        # The sum overflows on purpose: it is taken modulo 2^64.
        return _Text(tokens, (windows * _FACTORS[-windows.shape[1] :]).sum(axis=1, dtype=numpy.uint64))


class BenchmarkProblems(NamedTuple):
    """Problems of one benchmark, by its name."""

    name: str
    problems: Sequence[Problem]


class BenchmarkIndex:
    """Grams of all problems of some benchmarks.

    Args:
        benchmarks: The benchmarks.
        rule: ``strict``: a row goes with any common gram, as in the paper. ``default``: with a run of ``min_run``
            tokens, nearly all grams of a problem, or half of a shorter one's; boilerplate does not count for runs.
        min_run: Tokens of a run.
    """

    def __init__(self, benchmarks: Iterable[BenchmarkProblems], rule: Rule = "default", min_run: int = MIN_RUN) -> None:
        self._rule, self._min_run = rule, max(min_run, GRAM)
        self._hasher = Hasher()
        self._names: list[tuple[str, str]] = []
        seen: dict[str, int] = {}
        parts: list[Hashes] = []
        owners: list[int] = []
        clusters: list[int] = []
        token_counts: list[int] = []
        cluster_numbers: dict[tuple[str, str], int] = {}
        benchmark_of: list[int] = []
        self._benchmarks: dict[str, int] = {}
        for place, benchmark in enumerate(benchmarks):
            self._benchmarks[benchmark.name] = 0
            for problem in benchmark.problems:
                text = problem_text(problem)
                # A benchmark asks for many middles of one program: HumanEval-Infilling 8,488 of 164.
                if text in seen:
                    continue
                owner = seen[text] = len(self._names)
                self._names.append((benchmark.name, problem.id))
                tokens, grams = self._hasher.read(text)
                grams = numpy.unique(grams)
                token_counts.append(len(tokens))
                parts.append(grams)
                owners.append(owner)
                number = cluster_numbers.setdefault((benchmark.name, problem.cluster), len(cluster_numbers))
                if number == len(benchmark_of):
                    benchmark_of.append(place)
                clusters.append(number)
        lengths = [len(part) for part in parts]
        self._lengths = numpy.asarray(token_counts)
        self._sizes = numpy.maximum(numpy.asarray(lengths), 1)
        grams = numpy.concatenate(parts) if parts else numpy.empty(0, numpy.uint64)
        order = numpy.argsort(grams, kind="stable")
        self._owners = numpy.repeat(numpy.asarray(owners, numpy.int64), lengths)[order]
        self._grams, self._first, counts = numpy.unique(grams[order], return_index=True, return_counts=True)
        self._last = self._first + counts
        # Within one benchmark: that several benchmarks hold one function of HumanEval makes it no boilerplate.
        held = numpy.repeat(numpy.arange(len(self._grams)), counts)
        in_clusters = numpy.unique(
            numpy.stack((held, numpy.repeat(numpy.asarray(clusters, numpy.int64), lengths)[order])), axis=1
        )
        in_benchmarks = numpy.stack((in_clusters[0], numpy.asarray(benchmark_of, numpy.int64)[in_clusters[1]]))
        places, spread = numpy.unique(in_benchmarks, axis=1, return_counts=True)
        self._boilerplate = numpy.zeros(len(self._grams), bool)
        self._boilerplate[places[0][spread > _COMMON]] = True

    @property
    def problems(self) -> Mapping[str, int]:
        """Number of different texts of problems by benchmark."""
        return self._benchmarks | Counter(name for name, _ in self._names)

    def match(self, number: int, identity: str, text: str) -> Contamination | None:
        """Return what a row of a corpus has in common with a problem, if the rule removes it."""
        tokens, grams = self._hasher.read(text)
        if not len(grams) or not len(self._grams):
            return None
        places = numpy.minimum(numpy.searchsorted(self._grams, grams), len(self._grams) - 1)
        common = self._grams[places] == grams
        own = common if self._rule == "strict" else common & ~self._boilerplate[places]
        begin, run = _longest_run(own, len(tokens))
        if run >= (self._min_run if self._rule == "default" else 1):
            owner = int(self._owners[self._first[places[begin]]])
        else:
            covered = self._covered_problem(places, own, common, len(tokens)) if self._rule == "default" else None
            if covered is None:
                return None
            owner, begin, run = covered
        name, problem_id = self._names[owner]
        return Contamination(
            row=number,
            id=identity,
            benchmark=name,
            problem_id=problem_id,
            run=run,
            share=round(float(common.mean()), 4),
            text=" ".join(tokens[begin : begin + max(run, GRAM)])[:_EXCERPT],
        )

    def _covered_problem(
        self, places: NDArray[numpy.int64], own: NDArray[numpy.bool_], common: NDArray[numpy.bool_], length: int
    ) -> tuple[int, int, int] | None:
        """Return a problem that a row holds though it has no long run of its own, with begin and tokens of the run.

        Half of the grams of a short problem, or nearly all grams of any problem, boilerplate too: a file of which many
        problems ask has no gram that only one of them has.
        """
        begin, run = _longest_run(common, length)
        # Counting is dear, and rows with one or two common grams are many.
        for hits, least, needed in ((common, 2 * GRAM, _MIN_COVERED), (own, GRAM, _MIN_SHARE)):
            if run < least or not hits.any():
                continue
            unique = numpy.unique(places[hits])
            held = [self._owners[self._first[place] : self._last[place]] for place in unique]
            counts = numpy.bincount(numpy.concatenate(held), minlength=len(self._names))
            ratios = counts / self._sizes
            if hits is own:
                ratios[self._lengths >= self._min_run] = 0
            owner = int(numpy.argmax(ratios))
            if ratios[owner] >= needed:
                return owner, begin, run
        return None


def problem_text(problem: Problem) -> str:
    """Return the text of a problem that a corpus should not hold: the program with its reference, or the question."""
    shown = problem.shown
    if isinstance(shown, Caret):
        whole = f"{shown.prefix}{problem.reference}{shown.suffix}"
        return whole[_HEADER.match(whole).end() :]  # type: ignore[union-attr] # the pattern matches the empty text
    return "\n".join((shown.text, *(shown.choices or ())))


def _longest_run(hits: NDArray[numpy.bool_], length: int) -> tuple[int, int]:
    """Return the begin of the longest run of hits and its number of tokens, of ``length`` tokens; 0 without a hit."""
    edges = numpy.flatnonzero(numpy.diff(numpy.concatenate(([0], hits.view(numpy.int8), [0]))))
    if not len(edges):
        return 0, 0
    begins, ends = edges[::2], edges[1::2]
    longest = int(numpy.argmax(ends - begins))
    return int(begins[longest]), min(int(ends[longest] - begins[longest]) + GRAM - 1, length)


class Decontamination(NamedTuple):
    """Result of a decontamination: rows read and removed, and for each benchmark its problems that rows hold.

    ``problems`` are the different texts of each benchmark's problems; ``met`` counts rows by problem.
    """

    rows: int
    removed: int
    problems: Mapping[str, int]
    met: Mapping[str, Mapping[str, int]]


def decontaminate(
    rows: Iterable[CorpusRow],
    index: BenchmarkIndex,
    keep: Callable[[CorpusRow], None],
    remove: Callable[[Contamination], None],
) -> Decontamination:
    """Hand each row of a corpus to ``keep``, or what it met to ``remove``; return the counts."""
    met: dict[str, Counter[str]] = {name: Counter() for name in index.problems}
    number = -1
    for number, row in enumerate(rows):
        found = index.match(number, row.id, row.text)
        if found is None:
            keep(row)
        else:
            met[found.benchmark][found.problem_id] += 1
            remove(found)
    removed = sum(map(Counter.total, met.values()))
    return Decontamination(
        number + 1, removed, index.problems, {name: dict(one.most_common()) for name, one in met.items()}
    )
