"""Examination of single tests, and of tests together, in the sandbox under unittest."""

from __future__ import annotations

from pathlib import Path

import pytest

from caretbench.build.project_tasks.tester.answer_tests import WrittenTest, answer_tests
from caretbench.build.project_tasks.tester.examination import TestExaminer as Examiner
from caretbench.build.project_tasks.tester.test_workspace import TogetherRuns, WrittenRuns, written_folder
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.problem import TestsCheck as Check
from caretbench.syntax import Span
from caretbench.syntax.analysis import analyse
from caretbench.syntax.source import SourceFile
from tests.support.shop_project import written

TABLES = """\
def build():
    found = {}
    for name in "abc":
        found[name] = len(found)
    return found


TABLE = build()


def look(name):
    return TABLE[name] * 2


def far(name):
    if name not in TABLE:
        return -1
    return 1
"""
OWN = """\
import unittest

import tables


class OwnTest(unittest.TestCase):
    def test_it(self):
        tables.build()
"""


def test_of(body: str) -> WrittenTest:
    text = "import tables\n\n\ndef test_it():\n" + "".join(f"    {line}\n" for line in body.split("\n"))
    [found] = answer_tests(text, "tables.py", "unittest")
    return found


test_of.__test__ = False  # type: ignore[attr-defined]


@pytest.fixture
def runs(store: SnapshotStore, tmp_path: Path) -> WrittenRuns:
    root = written(tmp_path / "tables", {"tables.py": TABLES, "test_own.py": OWN})
    snapshot = store.add(root)
    return WrittenRuns(Check(command=("python3", "-m", "unittest")), snapshot, written_folder(snapshot), "unittest")


def blocks() -> list[Span]:
    starts = [TABLES.index(text) for text in ("found = {}", "return TABLE", "return -1")]
    return [Span(start, TABLES.index("\n", start)) for start in starts]


def examined(engine: WorkspaceExecutor, runs: WrittenRuns, body: str) -> tuple[str, list[str]]:
    analysis = analyse([SourceFile("tables.py", TABLES.encode())])
    examiner = Examiner(engine, engine.workspace_runner.store, runs, analysis)
    found = examiner.examine(test_of(body), blocks())
    return found.reason.partition(":")[0], [TABLES[span.start : span.end] for span in found.blocks]


@pytest.mark.long
def test_blocks_that_every_import_reaches_are_not_new(engine: WorkspaceExecutor, runs: WrittenRuns) -> None:
    assert examined(engine, runs, "assert tables.look('c') == 4") == ("", ["return TABLE[name] * 2"])
    assert examined(engine, runs, "assert tables.build() == {'a': 0, 'b': 1, 'c': 2}") == ("reaches_nothing_new", [])


@pytest.mark.long
def test_a_test_stays_for_the_blocks_alone_whose_result_it_checks(engine: WorkspaceExecutor, runs: WrittenRuns) -> None:
    body = "tables.look('c')\nassert tables.far('z') == -1"
    assert examined(engine, runs, body) == ("", ["return -1"])


@pytest.mark.long
def test_a_test_that_others_fail_after_is_dropped_and_they_stay(engine: WorkspaceExecutor, runs: WrittenRuns) -> None:
    good = [test_of(f"assert tables.look('{name}') == {value}") for name, value in (("a", 0), ("b", 2), ("c", 4))]
    harmful = test_of("assert tables.far('a') == 1\ndel tables.build")
    together = TogetherRuns(engine, runs, runs.check, any_order=True)
    assert together.undisturbing([*good[:2], harmful, good[2]]) == good
    assert list(together.dropped) == [harmful.key]
    assert together.dropped[harmful.key].startswith("disturbs_other_tests: ")


@pytest.mark.long
def test_a_test_that_fails_with_others_is_dropped_first(engine: WorkspaceExecutor, runs: WrittenRuns) -> None:
    good, late = test_of("assert tables.look('a') == 0"), test_of("import sys\nassert 'test_own' not in sys.modules")
    together = TogetherRuns(engine, runs, runs.check, any_order=True)
    assert together.undisturbing([late, good]) == [good]
    assert together.dropped[late.key].startswith("fails_together: ")


def test_tests_are_laid_next_to_most_of_the_projects_own(store: SnapshotStore, tmp_path: Path) -> None:
    files = {"shop.py": "", "tests/unit/test_a.py": "", "tests/unit/test_b.py": "", "tests/test_c.py": ""}
    snapshot = store.add(written(tmp_path / "shop", files))
    assert written_folder(snapshot) == "tests/unit/caretbench_written"
    assert written_folder(store.add(written(tmp_path / "bare", {"shop.py": ""}))) == "caretbench_written"
