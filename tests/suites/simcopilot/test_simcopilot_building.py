"""Building, with real sandboxes: what becomes of small projects, good ones and bad ones."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import caretbench
from caretbench.build.project_tasks.task_builder import TaskBuilder
from caretbench.build.project_tasks.task_folder import BuiltTasks, TaskFolder, build_result
from caretbench.build.projects.reference_runs import run_checks
from caretbench.build.projects.setup.command_detection import project_checks
from caretbench.errors import DataError
from caretbench.execution.execution_types import Status
from caretbench.execution.workspaces.project_tools import is_installed
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.files import write_rows
from caretbench.projects.answer_requests import check_request
from caretbench.projects.settings import CheckSettings, read_settings
from caretbench.suites.simcopilot.build.builder import SimCopilotOptions
from caretbench.suites.simcopilot.build.tasks import TaskSampling
from caretbench.suites.validity import GATE_VERSION
from tests.support.shop_project import FILES, JS, JS_TEST, SHOP, written

FEW = SimCopilotOptions(sampling=TaskSampling(limit=4))


def built(
    engine: WorkspaceExecutor, root: Path, out: Path, options: SimCopilotOptions = FEW, *, decide: bool = True
) -> BuiltTasks:
    return TaskBuilder(engine, validate=decide).build(root, TaskFolder(out), options)


def fingerprint(root: Path) -> dict[str, str]:
    """Every file and link of a folder, with its content, mode and time."""
    found = {}
    for path in sorted(root.rglob("*")):
        state = path.lstat()
        data = bytes(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        digest = hashlib.sha256(data).hexdigest()
        found[str(path.relative_to(root))] = f"{digest} {state.st_mode} {state.st_mtime_ns}"
    return found


def test_a_project_becomes_tasks_and_does_not_change(engine: WorkspaceExecutor, tmp_path: Path) -> None:
    root = written(tmp_path / "shop", FILES)
    before = fingerprint(root)
    result = built(engine, root, tmp_path / "tasks")
    assert result.task_count >= 2
    assert result.task_count == result.verdict_count("valid")
    assert fingerprint(root) == before
    assert {problem.cluster for problem in result.candidates} == {"shop"}
    check = result.candidates[0].checks[0].model_dump()
    assert (check["minimum_tests"], check["reference_s"]) == (2, 2.0)
    valid = [row.details for row in result.verdicts.values() if row.verdict == "valid"]
    assert all(int(details["runs"]) > 0 and "cpu_s" not in details for details in valid), "times are not repeatable"
    assert (result.decided_count, result.gate_cpu_s > 0) == (len(result.candidates), True)
    again = built(engine, root, tmp_path / "tasks")  # nothing is left to do
    assert (again.task_count, again.decided_count, again.gate_cpu_s) == (result.task_count, 0, 0)
    printed = [build_result(one, root, 8.0, candidates_only=False).lines[-2] for one in (result, again)]
    each = f"{result.gate_cpu_s / result.decided_count:.2f} s for each of its {result.decided_count} candidates"
    assert (printed[0].endswith(each), printed[1].endswith("this run took 8 s")) == (True, True)
    with pytest.raises(DataError, match="seed"):
        built(engine, root, tmp_path / "tasks", SimCopilotOptions(sampling=TaskSampling(limit=4, seed=1)))


def test_a_set_up_that_fails_is_tried_again_and_recorded(engine: WorkspaceExecutor, tmp_path: Path) -> None:
    root = written(tmp_path / "shop", {**FILES, "requirements-test.txt": "-e ./missing\n"})
    options = SimCopilotOptions(sampling=TaskSampling(limit=1), setup="auto")
    found = built(engine, root, tmp_path / "tasks", options, decide=False).manifest
    assert list(found.setup_steps) == ["the packages that its files name", "no set-up"]
    assert found.setup_steps["the packages that its files name"].startswith("setup 'python3 -m pip install ")
    assert (found.setup, found.setup_steps["no set-up"]) == (None, "used")


def test_a_build_into_the_project_itself_is_resumed(
    engine: WorkspaceExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = written(tmp_path / "shop", FILES)
    monkeypatch.chdir(root)
    first = built(engine, Path(), Path("my tasks"), decide=False)
    again = built(engine, Path(), Path("my tasks"), decide=False)
    assert first.candidates
    assert again.manifest == first.manifest
    beside = built(engine, root, tmp_path / "tasks", decide=False)
    assert beside.manifest.snapshot == first.manifest.snapshot
    none = build_result(first, Path("my tasks"), 1.0, candidates_only=False).lines[-1]
    assert "--max-candidates N draws" in none
    some = build_result(first._replace(task_count=2), Path("my tasks"), 1.0, candidates_only=False).lines[-1]
    assert "2 tasks; caretbench run simcopilot --data 'my tasks' -m" in some


def test_a_test_to_exclude_that_is_not_there_is_named(engine: WorkspaceExecutor, tmp_path: Path) -> None:
    root = written(tmp_path / "shop", FILES)
    options = SimCopilotOptions(sampling=TaskSampling(limit=4), exclude_tests=("test_shop.ShopTest.test_totl",))
    with pytest.raises(DataError, match=r"--exclude-test 'test_shop\.ShopTest\.test_totl'"):
        built(engine, root, tmp_path / "tasks", options, decide=False)


def test_the_order_in_which_files_lie_on_the_disk_is_nothing(engine: WorkspaceExecutor, tmp_path: Path) -> None:
    files = {**FILES, "a_shop.py": SHOP.replace("total", "sum_of"), "z.py": "from shop import total\n"}
    one = written(tmp_path / "1" / "p", files)
    other = written(tmp_path / "2" / "p", dict(reversed(files.items())))
    texts = []
    for number, root in enumerate((one, other)):
        out = tmp_path / f"tasks{number}"
        built(engine, root, out, decide=False)
        texts.append((out / "candidates.jsonl").read_bytes())
    assert texts[0]
    assert texts[0] == texts[1]


def test_an_answer_that_leaves_before_the_tests_fails(engine: WorkspaceExecutor) -> None:
    root = Path(caretbench.__file__).parent / "samples" / "wayfarer"
    settings = read_settings(root)
    snapshot = engine.workspace_runner.store.add(root, ignore=("__pycache__", "caretbench.toml"))
    base = run_checks(engine, snapshot.id, project_checks(snapshot, ["python"], settings=settings.checks))
    assert [entry.name for entry in base.checks] == ["the day", "unittest"]
    assert base.checks[1].check.minimum_tests > 20
    path = "wayfarer/heap.py"
    leaves = b"import os; os._exit(0)\n" + snapshot.read(path)
    for entry in base.checks:
        request = check_request(entry.check, snapshot.id)
        [result] = engine.submit([request.model_copy(update={"patch": {path: leaves}})])
        assert result.status in {Status.FAILED, Status.INCOMPLETE}, entry.name


# --- projects that can check nothing -----------------------------------------------------------------------------

_TEST = "import unittest\nfrom shop import total\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("        self.assertEqual(total([1], 9), 2)\n", "tests_fail"),
        ("        import urllib.request\n        urllib.request.urlopen('http://example.org')\n", "need_network"),
        ("        import nowhere_to_be_found\n", "missing_dependency: nowhere_to_be_found"),
        ("        pass\n\n    test_it = None\n", "no_tests"),
    ],
)
def test_bad_tests_are_named(engine: WorkspaceExecutor, tmp_path: Path, body: str, said: str) -> None:
    root = written(tmp_path / "shop", {"shop.py": SHOP, "test_shop.py": _TEST + body})
    options = SimCopilotOptions(check=CheckSettings(command="python3 -m unittest"))
    with pytest.raises(DataError, match=said) as caught:
        built(engine, root, tmp_path / "tasks", options)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "tasks" / "manifest.json").exists()


def test_tests_that_hang_are_named(engine: WorkspaceExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hurried(*arguments: object, **named: object) -> object:
        request = check_request(*arguments, **named)  # type: ignore[arg-type]
        return request.model_copy(update={"limits": request.limits.model_copy(update={"wall_s": 2.0})})

    monkeypatch.setattr("caretbench.build.projects.reference_runs.check_request", hurried)
    hanging = _TEST + "        import time\n        time.sleep(600)\n"
    root = written(tmp_path / "shop", {"shop.py": SHOP, "test_shop.py": hanging})
    with pytest.raises(DataError, match="tests_hang"):
        built(engine, root, tmp_path / "tasks")


def test_files_that_tests_leave_behind_change_nothing(engine: WorkspaceExecutor, tmp_path: Path) -> None:
    body = (
        "        import pathlib\n        place = pathlib.Path('left.txt')\n"
        "        self.assertFalse(place.exists())\n        place.write_text('x')\n"
        "        pathlib.Path('shop.py').write_text('')\n        self.assertEqual(total([200], 100), 180)\n"
    )
    root = written(tmp_path / "shop", {"shop.py": SHOP, "test_shop.py": _TEST + body})
    before = fingerprint(root)
    result = built(engine, root, tmp_path / "tasks", SimCopilotOptions(sampling=TaskSampling(limit=2)))
    assert result.task_count
    assert fingerprint(root) == before
    [snapshot] = (tmp_path / "tasks" / "snapshots").iterdir()
    assert sorted(path.name for path in snapshot.iterdir()) == ["shop.py", "test_shop.py"]


def test_without_tests_the_build_says_how_to_name_them(engine: WorkspaceExecutor, tmp_path: Path) -> None:
    root = written(tmp_path / "shop", {"shop.py": SHOP})
    with pytest.raises(DataError, match=r"no tests .*--test-command"):
        built(engine, root, tmp_path / "tasks")
    with pytest.raises(DataError, match="/none: no such"):
        built(engine, tmp_path / "none", tmp_path / "tasks")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("dear")
    with pytest.raises(DataError, match="/full: not empty"):
        built(engine, written(tmp_path / "shop", FILES), tmp_path / "full")


# --- builds that are killed --------------------------------------------------------------------------------------


def _until(out: Path, moment: str) -> bool:
    """Whether a build has come to a moment."""
    validity = out / "validity.jsonl"
    moments = {
        "begun": out.is_dir(),
        "candidates": (out / "candidates.jsonl").exists(),
        "verdict": validity.exists() and validity.stat().st_size > 0,
    }
    return moments[moment]


def test_a_build_that_is_killed_goes_on(engine: WorkspaceExecutor, place: Path, tmp_path: Path) -> None:
    root = written(tmp_path / "shop", FILES)
    built(engine, root, tmp_path / "whole")
    environment = {**os.environ, "CARETBENCH_CACHE": str(place / "cache")}
    for moment in ("begun", "candidates", "verdict"):
        out = tmp_path / moment
        arguments = ["build", "simcopilot", str(root), "-o", str(out), "--max-candidates=4"]
        process = subprocess.Popen(
            [sys.executable, "-m", "caretbench", *arguments], env=environment, stderr=subprocess.PIPE
        )
        while not _until(out, moment) and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        resumed = built(engine, root, out)
        assert len(resumed.verdicts) == len(resumed.candidates)
        for name in ("problems.jsonl", "candidates.jsonl", "manifest.json"):
            assert (out / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), (moment, name)
        assert fingerprint(out / "snapshots").keys() == fingerprint(tmp_path / "whole" / "snapshots").keys(), moment


def test_a_build_decides_again_what_an_older_gate_decided(engine: WorkspaceExecutor, tmp_path: Path) -> None:
    root, out = written(tmp_path / "shop", FILES), tmp_path / "tasks"
    options = SimCopilotOptions(sampling=TaskSampling(limit=2))
    verdicts = built(engine, root, out, options).verdicts
    assert {row.gate for row in verdicts.values()} == {GATE_VERSION}
    older = [row.model_copy(update={"gate": 1, "verdict": "invalid"}) for row in verdicts.values()]
    write_rows(out / "validity.jsonl", older)
    assert built(engine, root, out, options).verdicts == verdicts


# --- other languages and runners, as their files tell them -------------------------------------------------------

_CPP = """\
#include "shop.hpp"
int total(const std::vector<int>& orders, int limit) {
    int found = 0;
    for (int order : orders) {
        if (order > limit) {
            found += order * 9 / 10;
        } else {
            found += order;
        }
    }
    return found;
}
"""
_RUST = """\
/// The sum of all orders, of which the large ones are a tenth cheaper.
pub fn total(orders: &[u32], limit: u32) -> u32 {
    let mut found = 0;
    for &order in orders {
        if order > limit {
            found += cheaper(order);
        } else {
            found += order;
        }
    }
    found
}

fn cheaper(order: u32) -> u32 {
    order * 9 / 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large() {
        assert_eq!(total(&[10, 200, 30], 100), 220);
    }
}
"""
_GO = """\
package shop

import "strings"

// Total is the sum of all orders, of which the large ones are a tenth cheaper.
func Total(orders []int, limit int) int {
	found := 0
	for _, order := range orders {
		if order > limit {
			found += order * 9 / 10
		} else {
			found += order
		}
	}
	return found + len(strings.TrimSpace(" "))
}
"""
_GO_TEST = """\
package shop

import "testing"

func TestTotal(t *testing.T) {
	if Total([]int{10, 200, 30}, 100) != 220 {
		t.Fatal("a wrong sum")
	}
}
"""
_RUBY = """\
# frozen_string_literal: true

class Shop
  def total(orders, limit)
    found = 0
    orders.each do |order|
      if order > limit
        found += order * 9 / 10
      else
        found += order
      end
    end
    found
  end
end
"""
_RUBY_TEST = """\
require "minitest/autorun"
require "shop"

class ShopTest < Minitest::Test
  def test_total
    assert_equal 220, Shop.new.total([10, 200, 30], 100)
  end
end
"""
_CSHARP = """\
public static class Shop {
    public static int Total(int[] orders, int limit) {
        int found = 0;
        foreach (var order in orders) {
            if (order > limit) {
                found += order * 9 / 10;
            } else {
                found += order;
            }
        }
        return found;
    }
}
"""
_CSC = """\
[[checks]]
command = '''dotnet exec "$DOTNET_ROOT"/sdk/*/Roslyn/bincore/csc.dll -nologo -out:shop.dll \
$(printf -- '-r:%s ' "$DOTNET_ROOT"/packs/Microsoft.NETCore.App.Ref/*/ref/*/*.dll) Shop.cs test/Program.cs \
&& dotnet exec --runtimeconfig shop.json shop.dll'''
"""
_RUNTIME = """\
{"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App", "version": "3.1.0"}, "rollForward": "Major"}}
"""
_RUN = {
    "a C# program": (
        {
            "Shop.cs": _CSHARP,
            "shop.json": _RUNTIME,
            "caretbench.toml": _CSC,
            "test/Program.cs": "class Program { static int Main() => "
            "Shop.Total(new[] { 10, 200, 30 }, 100) == 220 ? 0 : 1; }\n",
        },
        ("dotnet",),
        0,
    ),
    "cargo test": (
        {"Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n', "src/lib.rs": _RUST},
        ("cargo", "rustc"),
        1,
    ),
    "go test": (
        {"go.mod": "module example.org/shop\n\ngo 1.18\n", "shop.go": _GO, "shop_test.go": _GO_TEST},
        ("go",),
        1,
    ),
    "minitest": ({"lib/shop.rb": _RUBY, "test/shop_test.rb": _RUBY_TEST}, ("ruby",), 1),
    "node --test": ({"shop.js": JS, "shop.test.js": JS_TEST}, ("node",), 1),
    "make test": (
        {
            "Makefile": "test:\n\tg++ -o t shop.cpp shop_test.cpp && ./t\n",
            "shop.hpp": "#pragma once\n#include <vector>\nint total(const std::vector<int>& orders, int limit);\n",
            "shop.cpp": _CPP,
            "shop_test.cpp": '#include "shop.hpp"\nint main() { return total({10, 200, 30}, 100) == 220 ? 0 : 1; }\n',
        },
        ("make", "g++"),
        0,
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("kind", _RUN)
def test_projects_of_other_kinds_become_tasks(engine: WorkspaceExecutor, tmp_path: Path, kind: str) -> None:
    files, tools, tests = _RUN[kind]
    lacking = [tool for tool in tools if not is_installed(tool)]
    if lacking:
        pytest.skip(f"no {lacking[0]} here")
    root = written(tmp_path / "shop", files)
    before = fingerprint(root)
    result = built(engine, root, tmp_path / "tasks", SimCopilotOptions(sampling=TaskSampling(limit=3)))
    assert result.task_count
    assert result.candidates[0].checks[0].model_dump()["minimum_tests"] == tests
    assert fingerprint(root) == before
