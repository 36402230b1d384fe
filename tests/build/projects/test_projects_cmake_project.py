"""CMake projects without CTest: what their files say about tests is offered."""

import re
from pathlib import Path

import pytest

from caretbench.build.projects.project_check import check_project
from caretbench.build.projects.setup import cmake_project
from caretbench.build.projects.setup.cmake_project import (
    cmake_tests,
    empty_submodules,
    offered_tests,
    submodules_command,
)
from caretbench.build.projects.setup.command_detection import project_checks
from caretbench.build.projects.setup.project_setup import with_setup_hint
from caretbench.errors import DataError
from caretbench.execution.execution_types import Status
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceRunner
from caretbench.projects.answer_requests import check_request
from tests.support.project_files import open_folder, snapshot

FILES = {
    "CMakeLists.txt": (
        "cmake_minimum_required(VERSION 3.10)\nproject(shop CXX)\n"
        'option(SHOP_SELFTEST "Compile the program that checks it" OFF) # option(SHOP_OLD_TESTS)\n'
        'option(SHOP_SHARED "A shared library" OFF)\nif(SHOP_SELFTEST)\n  add_subdirectory(check)\nendif()\n'
    ),
    "check/CMakeLists.txt": "add_executable(shopTest main.cpp)\nadd_executable(latest main.cpp)\n",
    "check/main.cpp": '#include <cstdio>\nint main() { std::puts("All 3 tests passed"); }\n',
    "third_party/gtest/CMakeLists.txt": 'option(gtest_build_tests "" OFF)\nadd_executable(gtest_test a.cc)\n',
}


def test_options_and_programs_that_concern_tests_are_found(tmp_path: Path) -> None:
    found = cmake_tests(snapshot(tmp_path, FILES))
    assert found == (("SHOP_SELFTEST",), ("shopTest",), ())


def test_they_are_offered_where_no_test_is_found(tmp_path: Path) -> None:
    project = snapshot(tmp_path, FILES)
    with pytest.raises(DataError) as error:
        project_checks(project, ["cpp"])
    for fault in (str(error.value), "no_tests: the command runs no test"):
        told = with_setup_hint({"": fault}, project, ["cpp"], (), None)
        assert "CMake knows the options SHOP_SELFTEST and the programs shopTest: --test-command 'cmake " in told
    assert "CMake" not in with_setup_hint({"": "tests_fail: 1"}, project, ["cpp"], (), None)


@pytest.mark.long
def test_the_offered_command_runs_the_tests() -> None:
    with open_folder() as folder:
        project = snapshot(folder, FILES)
        command = re.search(r"--test-command '(.*)'$", offered_tests(project))
        assert command is not None
        runner = WorkspaceRunner(store=SnapshotStore(folder / "store"))
        try:
            request = WorkspaceRequest(id="a", snapshot=project.id, command=("/bin/sh", "-c", command[1]))
            result = runner.run(request.model_copy(update={"minimum_tests": 3}))
        finally:
            runner.close()
        assert result.status is Status.PASSED, result.stderr.text


@pytest.mark.long
def test_a_test_of_ctest_that_hangs_is_named() -> None:
    files = {
        "CMakeLists.txt": (
            "cmake_minimum_required(VERSION 3.10)\nproject(shop NONE)\nenable_testing()\n"
            "add_test(good true)\nadd_test(waiting sleep 600)\n"
        )
    }
    with open_folder() as folder:
        project = snapshot(folder, files)
        [check] = project_checks(project, ["cpp"])
        runner = WorkspaceRunner(store=SnapshotStore(folder / "store"))
        try:
            request = check_request(check.check, project.id)
            limits = request.limits.model_copy(update={"wall_s": 15.0})
            request = request.model_copy(update={"limits": limits})
            found = check_project(WorkspaceExecutor(1, workspace_runner=runner), request)
        finally:
            runner.close()
        assert found.fault.startswith("tests_hang: ")
        assert found.fault.endswith("; waiting did not end: exclude it with --exclude-test waiting")


def test_empty_submodules_are_named_and_filled_with_sources_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = (
        '[submodule "a"]\n\tpath = third_party/googletest\n\turl = https://example.org/google/googletest.git\n'
        '[submodule "b"]\n\tpath = third_party/full\n\turl = https://example.org/full\n'
        '[submodule "c"]\n\turl = https://example.org/odd\n\tpath = data set\n'
    )
    project = snapshot(tmp_path, {".gitmodules": modules, "third_party/full/a.h": "", "CMakeLists.txt": ""})
    assert dict(empty_submodules(project)) == {"third_party/googletest": "googletest", "data set": "odd"}
    monkeypatch.setattr(cmake_project, "installed_sources", {"googletest": "/usr/src/googletest"}.get)
    assert submodules_command(project) == (
        "mkdir -p third_party/googletest && cp -r /usr/src/googletest/. third_party/googletest"
    )
