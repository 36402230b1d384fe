from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from caretbench.errors import DataError, UsageError
from caretbench.files import write_rows
from caretbench.problem import Problem
from caretbench.progress import Progress
from caretbench.suites import load_suite
from caretbench.training.decontamination import (
    BenchmarkIndex,
    BenchmarkProblems,
    decontaminate,
    problem_text,
    read_benchmark,
    read_corpus,
)

SETS = ("devbench", "simcopilot", "efcb", "c3bench")
HEADER = "# Copyright 2024 by somebody\n# Licensed under the Apache License, Version 2.0 (the 'License');\n" * 12
OWN = "\n".join(f"def step_{n}(first, second):\n    return first * {n} + second - {n + 7}" for n in range(40))


@pytest.fixture(scope="module")
def benchmarks() -> list[BenchmarkProblems]:
    return [BenchmarkProblems(name, load_suite(name).load("starter").problems) for name in SETS]


def changed(text: str, draw: random.Random) -> list[str]:
    """Return a leak as it may stand in a corpus: verbatim, with other blanks or line ends, in a longer file."""
    middle = OWN.find("\n", len(OWN) // 2) + 1
    return [
        text,
        re.sub(r"[ \t]+", lambda _blank: " " * draw.randint(1, 9), text),
        text.replace("\n", "\r\n"),
        f"{OWN[:middle]}{text}\n{OWN[middle:]}",
    ]


@pytest.mark.parametrize("rule", ["default", "strict"])
def test_leaks_are_found_in_both_modes(benchmarks: list[BenchmarkProblems], rule: str) -> None:
    """Two hundred leaks of four suites; files of which many problems ask have no gram of one problem alone."""
    index = BenchmarkIndex(benchmarks, "strict" if rule == "strict" else "default")
    draw = random.Random(1)  # noqa: S311 - reproducible
    problems = draw.sample([(one.name, problem) for one in benchmarks for problem in one.problems], 50)
    for name, problem in problems:
        for text in changed(problem_text(problem), draw):
            met = index.match(0, "row", text)
            assert met is not None, problem.id
            assert met.benchmark in SETS, name
            assert met.run >= 10


def test_a_row_names_the_problem_that_it_met(benchmarks: list[BenchmarkProblems]) -> None:
    index = BenchmarkIndex(benchmarks)
    problem = load_suite("devbench").load("starter").problems[7]
    met = index.match(3, "mine", problem_text(problem))
    assert met is not None
    assert (met.row, met.id, met.benchmark, met.problem_id) == (3, "mine", "devbench", problem.id)
    assert met.share == 1.0


def program(identity: str, text: str) -> Problem:
    start = load_suite("devbench").load("starter").problems[0]
    caret = start.caret.model_copy(update={"prefix": text, "suffix": ""})
    return start.model_copy(update={"id": identity, "cluster": identity, "shown": caret, "reference": ""})


@pytest.mark.parametrize(
    ("known", "row", "by_default", "by_strict"),
    [
        # 12 common tokens of longer texts: chance, and a gram of the strict rule.
        (f"{OWN}\na = b + c * d - e / f % g", "x = 1\na = b + c * d - e / f\n" + "y = 2\n" * 90, False, True),
        # A licence at the head of a file is no question of a benchmark.
        (HEADER + OWN, f"{HEADER}print('something else')", False, False),
        # A line that is drawn.
        (f"{OWN}\n# {'=' * 80}\n", f"x = 1\n# {'=' * 60}\ny = 2\n", False, False),
        # Half of a short problem, with other code behind it.
        (
            "total = sum(one.price * one.count for one in basket)",
            "total = sum(one.price * one.count for one in x)",
            True,
            True,
        ),
        ("", "a = 1", False, False),
        (OWN, "", False, False),
    ],
)
def test_what_is_a_leak(known: str, row: str, by_default: bool, by_strict: bool) -> None:
    problems = [BenchmarkProblems("own", [program("one", known)])]
    assert (BenchmarkIndex(problems).match(0, "row", row) is not None) is by_default
    assert (BenchmarkIndex(problems, "strict").match(0, "row", row) is not None) is by_strict


def test_what_three_problems_share_is_boilerplate() -> None:
    shared = "import logging\nlogger = logging.getLogger(__name__)\nlogger.setLevel(logging.INFO)\n" * 2
    owns = [OWN[:700], OWN[900:1700], OWN[1800:2600]]
    problems = [program(f"p{number}", shared + own) for number, own in enumerate(owns)]
    row = shared + "print('hello')\n"
    assert BenchmarkIndex([BenchmarkProblems("own", problems)]).match(0, "row", row) is None
    assert BenchmarkIndex([BenchmarkProblems("own", problems[:2])]).match(0, "row", row) is not None
    # One function of HumanEval is in three benchmarks, and no boilerplate for that.
    thrice = [BenchmarkProblems(name, problems[:1]) for name in ("a", "b", "c")]
    assert BenchmarkIndex(thrice).match(0, "row", row) is not None


def written(folder: Path, rows: list[dict[str, str]]) -> Path:
    path = folder / "corpus.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_rows_that_stay_are_written_with_a_report(tmp_path: Path) -> None:
    problem = load_suite("devbench").load("starter").problems[0]
    caret = problem.caret
    rows = [
        {"id": "clean", "prefix": "def mine():\n", "middle": "    return 1\n", "suffix": ""},
        {"id": "leak", "prefix": caret.prefix, "middle": problem.reference, "suffix": caret.suffix},
        {"id": "told", "messages": problem_text(problem)},
    ]
    corpus = written(tmp_path, rows)
    write_rows(tmp_path / "own" / "problems.jsonl", [problem])
    found = decontaminate(
        corpus, [str(tmp_path / "own")], tmp_path / "out", rule="default", min_run=30, progress=Progress()
    )
    assert (found.rows, found.removed, found.met) == (3, 2, {str(tmp_path / "own"): {problem.id: 2}})
    kept = [json.loads(line) for line in (tmp_path / "out/pairs.jsonl").read_text().splitlines()]
    assert kept == rows[:1]
    removed = [json.loads(line) for line in (tmp_path / "out/removed.jsonl").read_text().splitlines()]
    assert [(one["row"], one["id"]) for one in removed] == [(1, "leak"), (2, "told")]
    assert json.loads((tmp_path / "out/decontamination.json").read_text())["removed"] == 2
    with pytest.raises(UsageError, match="already"):
        decontaminate(corpus, ["devbench"], tmp_path / "out", rule="default", min_run=30, progress=Progress())


def no_file(folder: Path) -> Path:
    return folder / "missing"


def no_json(folder: Path) -> Path:
    (folder / "bad.jsonl").write_text('{"text": "a"}\n{"text": \n')
    return folder / "bad.jsonl"


def no_rows(folder: Path) -> Path:
    (folder / "notes.txt").write_text("text")
    return folder


@pytest.mark.parametrize(("make", "place"), [(no_file, "missing"), (no_json, "bad.jsonl:2"), (no_rows, "no rows")])
def test_a_corpus_that_cannot_be_read_is_named(make: Callable[[Path], Path], place: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=re.escape(place)):
        list(read_corpus(make(tmp_path)))


def test_source_files_are_a_corpus(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner/one.py").write_text("x = 1\n")
    (tmp_path / "two.go").write_text("package two\n")
    assert [(row.id, row.line) for row in read_corpus(tmp_path)] == [("inner/one.py", None), ("two.go", None)]


def test_an_unknown_benchmark_lists_the_suites() -> None:
    with pytest.raises(UsageError, match="devbench, "):
        read_benchmark("devbnech")
