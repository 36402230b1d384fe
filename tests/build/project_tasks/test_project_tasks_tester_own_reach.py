"""Written tests that keep the project's own tests from running, under pytest in the sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from caretbench.build.project_tasks.tester.answer_tests import WrittenTest, answer_tests
from caretbench.build.project_tasks.tester.test_workspace import OwnReach, TogetherRuns, WrittenRuns, written_folder
from caretbench.build.projects.reach.measurement import measure_reach
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.problem import TestsCheck as Check
from caretbench.projects.answer_requests import check_request
from caretbench.syntax.analysis import analyse
from caretbench.syntax.source import SourceFile
from tests.support.pytest_copy import copy_pytest
from tests.support.shop_project import written
from tests.support.written_tests import GOOD, SHOP

pytestmark = pytest.mark.long

OWN = "import shop\n\n\ndef test_size():\n    assert shop.size([1, 2]) == 2\n"
DISARMING = """\
import _pytest.python as runner

own = runner.Function.runtest
runner.Function.runtest = lambda item: own(item) if "caretbench" + "_written" in item.nodeid else None
"""
REACHING = "shop.size([1, 2])\n"
PATHS = {"PYTHONPATH": "/tmp/work:/tmp/work/.deps"}
CHECK = Check(command=("python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"), environment=PATHS)


def one_test(text: str) -> WrittenTest:
    [found] = answer_tests(f"import shop\n{text}", "shop.py", "pytest")
    return found


@pytest.mark.parametrize("more", ["", f"\n\ndef teardown_module():\n    {REACHING}"], ids=["plain", "reaches as much"])
def test_a_test_that_keeps_others_from_running_is_dropped(
    engine: WorkspaceExecutor, store: SnapshotStore, tmp_path: Path, more: str
) -> None:
    root = written(tmp_path / "shop", {"shop.py": SHOP, "tests/test_shop.py": OWN})
    copy_pytest(root / ".deps")
    snapshot = store.add(root)
    request = check_request(CHECK, snapshot.id)
    analysis = analyse([SourceFile("shop.py", SHOP.encode())])
    own = OwnReach(measure_reach(engine, request, ["shop.py"], store=store), request, engine, store, analysis)
    assert own.before.all_tests == ("tests/test_shop.py::test_size",)
    runs = WrittenRuns(CHECK, snapshot, written_folder(snapshot), "pytest")
    good = [one_test(GOOD["test_total"]), one_test(GOOD["test_label"])]
    disarming = one_test(f"{DISARMING}{GOOD['test_discount']}{more}")
    together = TogetherRuns(engine, runs, CHECK, True, own)
    assert together.undisturbing([good[0], disarming, good[1]]) == good
    assert together.dropped == {disarming.key: "disturbs_other_tests: the project's own tests reach less with it"}
