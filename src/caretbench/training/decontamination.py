"""Decontamination: which rows of a training corpus hold a problem of a benchmark, and which problems a corpus holds."""

from __future__ import annotations

import json
import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy
from numpy.typing import NDArray

from caretbench.errors import DataError, UsageError
from caretbench.files import read_lines, read_rows, sha256_file, sha256_text, write_atomically, write_parts, write_rows
from caretbench.problem import Caret, Problem, Row
from caretbench.progress import Progress
from caretbench.suites import load_problems, load_suite, suite_names
from caretbench.syntax.source import language_of
from caretbench.training.pairs import MANIFEST_FILE, PAIRS_FILE, TOKEN

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
_EVERY: Final = 500
"""Rows between two reports of progress."""

REPORT_FILE: Final = "decontamination.json"


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


class BenchmarkProblems(NamedTuple):
    """Problems of one benchmark, by its name."""

    name: str
    problems: Sequence[Problem]


class BenchmarkIndex:
    """Hashes of the grams of all problems of some benchmarks, the same in every process.

    Args:
        benchmarks: The benchmarks.
        rule: ``strict``: a row goes with any common gram, as in the paper. ``default``: with a run of ``min_run``
            tokens, nearly all grams of a problem, or half of a shorter one's; boilerplate does not count for runs.
        min_run: Tokens of a run.
    """

    def __init__(self, benchmarks: Sequence[BenchmarkProblems], rule: Rule = "default", min_run: int = MIN_RUN) -> None:
        self._rule, self._min_run = rule, max(min_run, GRAM)
        self._numbers: dict[str, int] = {}
        self._benchmarks = dict.fromkeys((benchmark.name for benchmark in benchmarks), 0)
        # A benchmark asks for many middles of one program: HumanEval-Infilling 8,488 of 164.
        texts: dict[str, tuple[str, Problem]] = {}
        for benchmark in benchmarks:
            for problem in benchmark.problems:
                texts.setdefault(problem_text(problem), (benchmark.name, problem))
        self._names = [(name, problem.id) for name, problem in texts.values()]
        lengths, sizes, parts = [], [], [numpy.empty(0, numpy.uint64)]
        for tokens, grams in map(self._read, texts):
            parts.append(numpy.unique(grams))
            lengths.append(len(tokens))
            sizes.append(len(parts[-1]))
        self._lengths, self._sizes = numpy.asarray(lengths), numpy.maximum(numpy.asarray(sizes, int), 1)
        grams = numpy.concatenate(parts)
        order = numpy.argsort(grams, kind="stable")
        self._owners = numpy.repeat(numpy.arange(len(sizes)), sizes)[order]
        self._grams, self._first, counts = numpy.unique(grams[order], return_index=True, return_counts=True)
        self._last = self._first + counts
        # Within one benchmark: that several benchmarks hold one function of HumanEval makes it no boilerplate.
        clusters = [(name, problem.cluster) for name, problem in texts.values()]
        numbers = {cluster: number for number, cluster in enumerate(dict.fromkeys(clusters))}
        places = {name: index for index, name in enumerate(self._benchmarks)}
        benchmark_of = numpy.asarray([places[name] for name, _ in numbers], int)
        cluster_of = numpy.asarray([numbers[cluster] for cluster in clusters], int)[self._owners]
        held = numpy.repeat(numpy.arange(len(self._grams)), counts)
        in_clusters = numpy.unique(numpy.stack((held, cluster_of)), axis=1)
        in_benchmarks = numpy.stack((in_clusters[0], benchmark_of[in_clusters[1]]))
        pairs, spread = numpy.unique(in_benchmarks, axis=1, return_counts=True)
        self._boilerplate = numpy.zeros(len(self._grams), bool)
        self._boilerplate[pairs[0][spread > _COMMON]] = True

    def _read(self, text: str) -> tuple[list[str], Hashes]:
        """Return tokens and the hashes of grams: one for each token but the last nine, at least one for any token."""
        tokens = TOKEN.findall(_RULE.sub(r"\1", text))
        if not tokens:
            return [], numpy.empty(0, numpy.uint64)
        for token in set(tokens).difference(self._numbers):
            self._numbers[token] = int(sha256_text(token)[:16], 16)
        numbers = numpy.fromiter(map(self._numbers.__getitem__, tokens), numpy.uint64, len(tokens))
        windows = numpy.lib.stride_tricks.sliding_window_view(numbers, min(GRAM, len(numbers)))
        # The sum overflows on purpose: it is taken modulo 2^64.
        return tokens, (windows * _FACTORS[-windows.shape[1] :]).sum(axis=1, dtype=numpy.uint64)

    @property
    def problems(self) -> Mapping[str, int]:
        """Number of different texts of problems by benchmark."""
        return self._benchmarks | Counter(name for name, _ in self._names)

    def match(self, number: int, identity: str, text: str) -> Contamination | None:
        """Return what a row of a corpus has in common with a problem, if the rule removes it."""
        tokens, grams = self._read(text)
        if not len(grams) or not len(self._grams):
            return None
        places = numpy.minimum(numpy.searchsorted(self._grams, grams), len(self._grams) - 1)
        common = self._grams[places] == grams
        counted = common if self._rule == "strict" else common & ~self._boilerplate[places]
        begin, run = _longest_run(counted, len(tokens))
        if run >= (self._min_run if self._rule == "default" else 1):
            owner = int(self._owners[self._first[places[begin]]])
        else:
            covered = self._covered_problem(places, counted, common, len(tokens)) if self._rule == "default" else None
            if covered is None:
                return None
            owner, begin, run = covered
        name, problem_id = self._names[owner]
        share, text = round(float(common.mean()), 4), " ".join(tokens[begin : begin + max(run, GRAM)])[:_EXCERPT]
        overlap = {"benchmark": name, "problem_id": problem_id, "run": run, "share": share, "text": text}
        return Contamination.model_validate({"row": number, "id": identity, **overlap})

    def _covered_problem(
        self, places: NDArray[numpy.int64], counted: NDArray[numpy.bool_], common: NDArray[numpy.bool_], length: int
    ) -> tuple[int, int, int] | None:
        """Return a problem that a row holds though it has no long run of its own, with begin and tokens of the run.

        Half of the grams of a short problem, or nearly all grams of any problem, boilerplate too: a file of which many
        problems ask has no gram that only one of them has.
        """
        begin, run = _longest_run(common, length)
        # Counting is expensive, and rows with one or two common grams are many.
        for hits, least, needed in ((common, 2 * GRAM, _MIN_COVERED), (counted, GRAM, _MIN_SHARE)):
            if run < least or not hits.any():
                continue
            unique = numpy.unique(places[hits])
            held = [self._owners[self._first[gram] : self._last[gram]] for gram in unique]
            counts = numpy.bincount(numpy.concatenate(held), minlength=len(self._names))
            ratios = counts / self._sizes
            if hits is counted:
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
    corpus: Path, against: Sequence[str], output: Path | None, *, rule: Rule, min_run: int, progress: Progress
) -> Decontamination:
    """Decontaminate a corpus, and write the rows that stay to ``output``, if there is one.

    Raises:
        UsageError: ``output`` has a result already, or a benchmark is not known.
        DataError: corpus or benchmark cannot be read.
    """
    if output is not None and (output / REPORT_FILE).exists():
        raise UsageError(f"{output}: holds a decontaminated corpus already; name another folder")
    benchmarks = [read_benchmark(text) for text in dict.fromkeys(against)]
    index = BenchmarkIndex(benchmarks, rule, min_run)
    progress("benchmarks", len(benchmarks), len(benchmarks))
    rows = 0
    removed: list[Contamination] = []

    def kept() -> Iterator[bytes]:
        nonlocal rows
        for row in read_corpus(corpus):
            met = index.match(rows, row.id, row.text)
            rows += 1
            if rows % _EVERY == 0:
                progress("rows", _EVERY, None)
            if met is not None:
                removed.append(met)
            elif row.line is not None:
                yield row.line

    if output is None:
        deque(kept(), maxlen=0)
    else:
        write_parts(output / PAIRS_FILE, kept())
    met = {name: Counter(row.problem_id for row in removed if row.benchmark == name) for name in index.problems}
    counts = {name: dict(problems.most_common()) for name, problems in met.items()}
    result = Decontamination(rows, len(removed), index.problems, counts)
    if output is not None:
        write_rows(output / "removed.jsonl", removed)
        if (manifest := corpus / MANIFEST_FILE).is_file():
            write_atomically(output / MANIFEST_FILE, manifest.read_bytes())
        asked = {"corpus": str(corpus), "rule": rule, "min_run": min_run, "against": list(against)}
        report = asked | result._asdict() | {"sha256": sha256_file(output / PAIRS_FILE)}
        # Last: with it the folder is whole.
        write_atomically(output / REPORT_FILE, json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    return result


def read_benchmark(text: str) -> BenchmarkProblems:
    """Return the problems of ``SUITE``, ``SUITE=DATA`` or a folder with ``problems.jsonl``.

    Raises:
        UsageError: it is neither; the message has the suites.
        DataError: its data are not here or malformed.
    """
    name, _, data = text.partition("=")
    if name in suite_names():
        return BenchmarkProblems(text, load_problems(load_suite(name), data or "starter").problems)
    path = Path(text)
    file = path / "problems.jsonl" if path.is_dir() else path
    if not file.is_file():
        raise UsageError(f"--against {text}: no suite ({', '.join(suite_names())}) and no folder with problems.jsonl")
    return BenchmarkProblems(text, list(read_rows(file, Problem)))


class CorpusRow(NamedTuple):
    """A row of a corpus: its id, its text, and its line as it stands (None for a file of source)."""

    id: str
    text: str
    line: bytes | None = None


def read_corpus(path: Path) -> Iterator[CorpusRow]:
    """Yield the rows of a corpus: of JSONL files (``.gz`` too), or else of the source files of a folder.

    The text of a row is ``prefix``, ``middle`` and ``suffix`` joined, and its other texts on lines of their own.

    Raises:
        DataError: a line is no JSON object, or there is nothing to read; the message has file and line.
    """
    if not path.exists():
        raise DataError(f"{path}: no such file or folder")
    if path.is_file():
        yield from _rows(path)
        return
    # What a decontamination wrote beside the rows is no part of the corpus.
    files = [path / PAIRS_FILE] if (path / PAIRS_FILE).is_file() else []
    files = files or sorted(file for file in path.rglob("*") if file.name.endswith((".jsonl", ".jsonl.gz")))
    if files:
        for file in files:
            yield from _rows(file)
        return
    sources = [file for file in sorted(path.rglob("*")) if language_of(file.name) is not None and file.is_file()]
    if not sources:
        raise DataError(f"{path}: no rows (.jsonl, .jsonl.gz) and no source files")
    for file in sources:
        yield CorpusRow(file.relative_to(path).as_posix(), file.read_bytes().decode("utf-8", "replace"))


def _rows(path: Path) -> Iterator[CorpusRow]:
    for number, row in read_lines(path):
        yield CorpusRow(str(row.get("id", number)), _text(row), json.dumps(row, ensure_ascii=False).encode() + b"\n")


def _text(row: dict[str, Any]) -> str:
    parts = ("prefix", "middle", "suffix")
    joined = "".join(value for name in parts if isinstance(value := row.get(name), str))
    return "\n".join((joined, *(text for name, value in row.items() if name not in parts for text in _texts(value))))


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts of a JSON value, also of messages and of lists of them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)
