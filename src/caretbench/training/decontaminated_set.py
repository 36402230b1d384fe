"""Folder of a decontaminated corpus: the rows that stay, what each other row met, and the report."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from caretbench.errors import UsageError
from caretbench.files import read_rows, row_to_json, sha256_file, write_atomically
from caretbench.problem import Problem
from caretbench.progress import Progress
from caretbench.suites import load_problems, load_suite, suite_names
from caretbench.training.decontamination import BenchmarkIndex, BenchmarkProblems, Decontamination, Rule, decontaminate
from caretbench.training.pairs import MANIFEST_FILE, PAIRS_FILE, CorpusRow, read_corpus

REMOVED_FILE: Final = "removed.jsonl"
REPORT_FILE: Final = "decontamination.json"
_EVERY: Final = 500
"""Rows between two reports of progress."""


def decontaminate_corpus(
    corpus: Path, against: Sequence[str], output: Path | None, *, rule: Rule, min_run: int, progress: Progress
) -> Decontamination:
    """Decontaminate a corpus, and write the rows that stay to ``output``, if there is one.

    Raises:
        UsageError: ``output`` has a result already, or a benchmark is not known.
        DataError: corpus or benchmark cannot be read.
    """
    benchmarks = [read_benchmark(one) for one in dict.fromkeys(against)]
    index = BenchmarkIndex(benchmarks, rule, min_run)
    progress("benchmarks", len(benchmarks), len(benchmarks))
    rows = _reported(read_corpus(corpus), progress)
    if output is None:
        return decontaminate(rows, index, lambda _row: None, lambda _met: None)
    if (output / REPORT_FILE).exists():
        raise UsageError(f"{output}: holds a decontaminated corpus already; name another folder")
    output.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        kept, removed = (_Parts(stack, output / name) for name in (PAIRS_FILE, REMOVED_FILE))
        found = decontaminate(
            rows, index, lambda row: kept.add(row.line), lambda met: removed.add(row_to_json(met) + b"\n")
        )
        kept.finish()
        removed.finish()
    if (manifest := corpus / MANIFEST_FILE).is_file():
        write_atomically(output / MANIFEST_FILE, manifest.read_bytes())
    report = {
        "corpus": str(corpus),
        "rule": rule,
        "min_run": min_run,
        "against": list(against),
        **found._asdict(),
        "sha256": sha256_file(output / PAIRS_FILE),
    }
    # Last: with it the folder is whole.
    write_atomically(output / REPORT_FILE, json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    return found


class _Parts:
    """Lines of a file that has its name only when all are written."""

    def __init__(self, stack: ExitStack, path: Path) -> None:
        self._path, self._partial = path, path.with_name(f".{path.name}.partial")
        self._stream = stack.enter_context(self._partial.open("wb"))

    def add(self, line: bytes | None) -> None:
        if line is not None:
            self._stream.write(line)

    def finish(self) -> None:
        self._stream.flush()
        self._partial.replace(self._path)


def _reported(rows: Iterator[CorpusRow], progress: Progress) -> Iterator[CorpusRow]:
    for number, row in enumerate(rows, start=1):
        yield row
        if number % _EVERY == 0:
            progress("rows", _EVERY, None)


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
