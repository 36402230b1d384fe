"""Rows of conventional benchmarks as problems: the released data where they are here, and malformed rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from caretbench.conventional import conventional_names
from caretbench.conventional.descriptions import description, pull_files, released_file, released_folder
from caretbench.conventional.rows import read_problems, read_rows
from caretbench.errors import UsageError
from caretbench.extraction import get_policy
from caretbench.files import DataError, sha256_file
from caretbench.problem import CasesCheck, InlineSplice, Problem
from caretbench.suites import load_suite
from tests.support.conventional_layouts import SAFIM


@contextmanager
def serve_folder(folder: Path) -> Iterator[str]:
    """Serve the files of a folder; yields the address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(folder))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def problems_of(name: str, folder: Path, *rows: dict[str, Any]) -> list[Problem]:
    path = folder / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return read_problems(name, read_rows(path, values={"split": "block"}))


def test_a_row_of_safim_is_a_statement_two_halves_and_cases(tmp_path: Path) -> None:
    (problem,) = problems_of("safim", tmp_path, SAFIM)
    caret = problem.caret
    assert problem.id == "block/block_completion_000001"
    assert (caret.prefix, caret.suffix, problem.reference) == ("int main() {\n", "\n}", "return 0;\n")
    assert caret.statement is not None
    assert caret.statement.endswith("Code:\n\n")
    assert isinstance(problem.splice, InlineSplice)
    assert problem.splice.program(problem.reference) == "int main() {\nreturn 0;\n\n}"
    (check,) = problem.checks
    assert isinstance(check, CasesCheck)
    assert (check.cases[0].stdin, check.cases[0].outputs) == ("1\n...", ("2",))
    assert problem.labels["fault"] == ["several_outputs", "shortened_test"]
    (later,) = problems_of("safim", tmp_path, SAFIM | {"unit_tests": json.dumps(SAFIM["unit_tests"])})
    assert later.checks == problem.checks


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"ground_truth": None}, "'ground_truth' is missing"),
        ({"lang": "fortran"}, "unknown language 'fortran'"),
        ({"lang": ["cpp"]}, "'lang' is list"),
        ({"eval_prompt": "int main() {}"}, "0 holes"),
        ({"eval_prompt": "{{completion}} {{completion}}"}, "2 holes"),
        ({"prompt": "another program /* TODO: Your code here */"}, "does not end with the program"),
        ({"unit_tests": []}, "is empty"),
        ({"unit_tests": "{}"}, "no list"),
        ({"unit_tests": "[{]"}, "no JSON"),
        ({"unit_tests": [{"input": "1"}]}, "case 0"),
        ({"unit_tests": [{"input": "1", "output": []}]}, "case 0"),
    ],
)
def test_a_wrong_row_is_named_by_file_and_line(change: dict[str, Any], fault: str, tmp_path: Path) -> None:
    second = SAFIM | {"task_id": "2"} | change
    with pytest.raises(DataError, match=r"rows\.jsonl:2: ") as raised:
        problems_of("safim", tmp_path, SAFIM, second)
    assert fault in str(raised.value)


def test_an_id_that_occurs_twice_is_refused_with_both_places(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"rows\.jsonl:2: .*rows\.jsonl:1"):
        problems_of("safim", tmp_path, SAFIM, SAFIM)


@pytest.mark.parametrize(
    ("name", "folder", "counts", "clusters"),
    [
        (
            "humaneval-infilling",
            "humaneval_infilling",
            {"single-line": 1033, "multi-line": 5815, "random-span": 1640},
            164,
        ),
        ("santacoder-fim", "santacoder_fim", {"java": 1780, "javascript": 1969, "python": 1043}, 157),
    ],
)
def test_the_released_files_have_the_documented_numbers(
    name: str, folder: str, counts: dict[str, int], clusters: int, test_data: Path
) -> None:
    problems = load_suite(name).load(str(test_data / folder)).problems
    label = "split" if "split" in problems[0].labels else "language"
    assert Counter(problem.label(label) for problem in problems) == counts
    assert len({problem.cluster for problem in problems}) == clusters


@pytest.mark.long
def test_all_rows_of_safim_are_read(test_data: Path) -> None:
    """Costs 25 s of CPU: 17,720 rows, whose shown and executed programs are compared, and their references cut."""
    problems = load_suite("safim").load(str(test_data / "safim")).problems
    assert Counter(problem.label("split") for problem in problems) == {"block": 8781, "control": 8629, "api": 310}
    clusters = Counter(split for split, _ in {(problem.label("split"), problem.cluster) for problem in problems})
    assert clusters == {"block": 487, "control": 489, "api": 42}
    faults = [problem.label("fault") for problem in problems if "fault" in problem.labels]
    assert sum("shortened_test" in fault for fault in faults) == 335
    cut = get_policy("legacy/safim")
    damaged = {
        problem.id
        for problem in problems
        if problem.label("split") != "api"
        and cut.apply(problem.reference, problem.caret).text.split() != problem.reference.split()
    }
    assert len(damaged) == 29
    assert damaged == {one.id for one in problems if "damaged_by_truncation" in one.labels.get("fault", ())}


def java_row(prompt: str, line: str, suffix: str) -> dict[str, Any]:
    tests = "    }\n    public static void main(String[] args) {\n    assert(one() == 1);\n    }\n\n}\n"
    return {
        "name": f"humaneval-HumanEval_1_one.json-L{len(prompt)}", "language": "java", "prompt": prompt,
        "suffix": suffix, "canonical_solution": line, "tests": tests,
    }  # fmt: skip


def test_the_last_braces_of_java_are_there_once(tmp_path: Path) -> None:
    head = "import org.javatuples.*;\nclass Problem {\n    public static long one() {"
    rows = [
        java_row(head, "        return 1;", "    }\n}"),
        java_row(f"{head}\n        return 1;", "    }", "}"),
        java_row(f"{head}\n        return 1;\n    }}", "}", ""),
    ]
    problems = problems_of("santacoder-fim", tmp_path, *rows)
    programs = []
    for problem in problems:
        assert isinstance(problem.splice, InlineSplice)
        programs.append("".join(problem.splice.program(problem.reference).split()))
    whole = "classProblem{publicstaticlongone(){return1;}publicstaticvoidmain(String[]args){assert(one()==1);}}"
    assert programs == [whole] * 3
    assert [problem.labels.get("fault") for problem in problems] == [None] + [["closing_brace_in_tests"]] * 2


@pytest.mark.parametrize("name", conventional_names())
def test_each_description_says_where_its_data_come_from(name: str) -> None:
    about = description(name)
    assert about.title
    assert about.licence
    assert about.source
    assert bool(about.url) == bool(about.files) != bool(about.archive)
    assert all(len(file.sha256) == 64 for file in about.files)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_files_are_pulled_by_hash_from_a_server_once(
    cache: Path, test_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del cache
    site = tmp_path / "site" / "data"
    site.mkdir(parents=True)
    for path in (test_data / "humaneval_infilling").iterdir():
        target = site / path.name if path.suffix == ".gz" else site.parent / path.name
        target.write_bytes(path.read_bytes())
    added: list[int] = []
    with serve_folder(site.parent) as url:
        folder = pull_files("humaneval-infilling", None, lambda count, _total: added.append(count), url)
    assert sum(added) == 4
    about = description("humaneval-infilling")
    assert {sha256_file(folder / file.pinned.path) for file in about.files} == {file.sha256 for file in about.files}
    again: list[int] = []
    pull_files("humaneval-infilling", None, lambda count, _total: again.append(count), "http://127.0.0.1:1")
    assert sum(again) == 4
    assert len(load_suite("humaneval-infilling").load("released").problems) == 8488


def test_a_file_with_another_hash_is_refused(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "HumanEval-SingleLineInfilling.jsonl.gz").write_bytes(b"no data")
    with pytest.raises(DataError, match="SHA-256"):
        pull_files("humaneval-infilling", tmp_path, lambda _count, _total: None)
    assert not (cache / "data").exists() or not any(released_folder("humaneval-infilling").glob("*.gz"))


def test_missing_data_say_what_to_type(cache: Path) -> None:
    del cache
    with pytest.raises(DataError, match="pull safim"):
        released_file("safim", description("safim").files[0])


@pytest.mark.parametrize("name", ["crosscodeeval", "repoeval", "execrepobench"])
@pytest.mark.parametrize(
    "act", [lambda name: pull_files(name, None, print), lambda name: load_suite(name).load("released")]
)
def test_data_that_are_not_fetched_give_the_address(name: str, act: Callable[[str], object]) -> None:
    with pytest.raises(UsageError, match="--data PATH") as raised:
        act(name)
    assert description(name).archive in str(raised.value)
