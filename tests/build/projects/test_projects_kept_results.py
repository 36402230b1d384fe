"""Results of tests that are kept from one commit to the next."""

from __future__ import annotations

from pathlib import Path

import pytest

from caretbench.build.project_tasks.task_builder import TaskBuilder
from caretbench.build.project_tasks.task_folder import BuiltTasks, TaskFolder
from caretbench.build.projects.build_steps import BuildSteps
from caretbench.build.projects.kept_results import is_for_people, kept_setup
from caretbench.build.projects.project_storage import store_project
from caretbench.execution.bundles.bundle_store import installed_bundle
from caretbench.execution.workspaces.snapshot_store import Snapshot, SnapshotStore
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.suites.simcopilot.build.builder import SimCopilotOptions
from caretbench.suites.simcopilot.build.tasks import TaskSampling
from tests.support.shop_project import written

SHOP = """\
def total(prices):
    found = 0
    for price in prices:
        if price > 0:
            found += round(price * 2)
    return found
"""
TEST = "from {0} import total\n\n\ndef test_{0}():\n    assert total([1, -1, 3]) == 8\n"
FILES = {
    "one.py": SHOP, "two.py": SHOP.replace("* 2", "+ price"), "test_one.py": TEST.format("one"),
    "test_two.py": TEST.format("two"), "README.md": "first\n",
    ".travis.yml": "first\n", "LICENSE": "MIT\n",
}  # fmt: skip
OPTIONS = SimCopilotOptions(sampling=TaskSampling(modes=("infill",), limit=None))


def built(engine: WorkspaceExecutor, root: Path, out: Path, kept: Path) -> BuiltTasks:
    return TaskBuilder(engine, kept=BuildSteps(kept)).build(root, TaskFolder(out), OPTIONS)


def test_only_what_depends_on_a_changed_file_runs_again(engine: WorkspaceExecutor, tmp_path: Path) -> None:
    # Tests are taken file by file with pytest alone, and on a fresh machine no bundle is built before the first tests.
    if installed_bundle("tools/pytest") is None:
        pytest.skip("tools/pytest is not built: caretbench deps build tools/pytest")
    first = built(engine, written(tmp_path / "1" / "shop", FILES), tmp_path / "a", tmp_path / "kept")
    assert first.task_count >= 4
    edited = FILES | {"one.py": f"LIMIT = 3\n\n\n{SHOP}", "README.md": "second\n", ".travis.yml": "x\n"}
    again = built(engine, written(tmp_path / "2" / "shop", edited), tmp_path / "b", tmp_path / "kept")
    assert {one.id: one.block_hash for one in again.candidates} == {one.id: one.block_hash for one in first.candidates}
    assert {name: row.verdict for name, row in again.verdicts.items()} == {
        name: row.verdict for name, row in first.verdicts.items()
    }
    ran, kept = again.kept_steps["command"], again.kept_steps["command kept"]
    assert ran + kept == first.kept_steps["command"] + first.kept_steps["command kept"]
    assert ran <= first.kept_steps["command"] // 2 + 1, "the two files are alike, and the tests of one are not run"


def test_suites_and_commits_share_the_packages_of_a_set_up(tmp_path: Path) -> None:
    store, installed = SnapshotStore(tmp_path / "store"), []

    def set_up(suite: str, files: dict[str, str]) -> Snapshot:
        root = written(tmp_path / suite / "shop", files)

        def run() -> Snapshot:
            installed.append(suite)
            (root / "node_modules" / "left").mkdir(parents=True)
            (root / "node_modules" / "left" / "index.js").write_text("// a package\n", "utf-8")
            return store.add(root)

        return kept_setup(
            BuildSteps(tmp_path / f"{suite}.jsonl"), store, store_project(root, store).snapshot, "npm install", run
        )

    set_up("simcopilot", {"a.js": "a();\n", "package.json": "{}"})
    later = set_up("codevbench", {"a.js": "b();\n", "package.json": "{}"})
    assert (installed, {"a.js", "node_modules/left/index.js"} <= {*later.entries}) == (["simcopilot"], True)
    set_up("third", {"a.js": "b();\n", "package.json": '{"name": "x"}'})
    assert installed == ["simcopilot", "third"]


def test_texts_for_people_and_settings_of_services_are_known_by_their_paths() -> None:
    for_people = ("README.rst", "docs/a.md", ".gitignore", ".github/workflows/ci.yml", ".travis.yml", "sub/LICENSE",
                  ".circleci/config.yml", "appveyor.yml", "CHANGES.txt")  # fmt: skip
    assert [path for path in for_people if not is_for_people(path)] == []
    read = (".mocharc.yml", ".babelrc", ".pytest.ini", "tests/data/x.yml", "changes.py", "LICENSE.py", "package.json",
            "codecov/fixtures/report.json", "LICENSES/mit.json")  # fmt: skip
    assert [path for path in read if is_for_people(path)] == []
