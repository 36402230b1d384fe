"""Debian packages of C and C++ libraries that a build lacks."""

import shutil
from pathlib import Path

import pytest

from caretbench.build.projects.failure_reasons import failure_reason
from caretbench.build.projects.project_check import check_project
from caretbench.build.projects.setup import cmake_project, debian_packages
from caretbench.build.projects.setup.command_detection import project_checks
from caretbench.build.projects.setup.debian_packages import DebianArchive
from caretbench.build.projects.setup.project_setup import SetupStep, next_setup, setup_command, with_setup_hint
from caretbench.execution.execution_types import CapturedOutput, Status
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.execution.workspaces.workspace_runner import WorkspaceResult, WorkspaceRunner
from caretbench.projects.answer_requests import check_request
from tests.support.fakes import ISOLATION
from tests.support.project_files import open_folder, snapshot

KNOWN = frozenset(
    {"libgtest-dev", "googletest", "catch2", "libfmt-dev", "doctest-dev", "libboost-all-dev", "libgmock-dev"}
)
STACK = "Call Stack (most recent call first):\n  a.cmake:600 (_FAILURE)\n  CMakeLists.txt:3 (find_package)\n"
NOT_FOUND = (
    f"CMake Error at /usr/share/F.cmake:230 (message):\n  Could NOT find GTest (missing: GTEST_LIBRARY)\n{STACK}"
)
NO_FOLDER = (
    "CMake Error at test/CMakeLists.txt:7 (add_subdirectory):\n  add_subdirectory given source\n"
    '  "/tmp/work/test/gtest-1.10.0" which is not an\n  existing directory.\n\n\n'
)
CLONED = (
    "fatal: unable to access 'https://github.com/google/googletest.git/': Could not resolve host: github.com\n"
    "CMake Error at a-populate-gitclone.cmake:31 (message):\n"
    "  Failed to clone repository: 'https://github.com/google/googletest.git'\n\n\nCMake Error: and more\n"
)


@pytest.fixture(autouse=True)
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An apt that knows a few packages; the sources of GoogleTest are not installed."""
    monkeypatch.setattr(debian_packages, "available_packages", lambda: KNOWN)
    gone = debian_packages.CppLibrary(
        names="googletest|gtest.*",
        package="libgtest-dev",
        sources_package="googletest",
        sources=str(tmp_path / "gtest"),
    )
    rows = debian_packages._libraries()
    monkeypatch.setattr(debian_packages, "_libraries", lambda: (gone, *rows[1:]))


def fault(said: str, status: Status = Status.FAILED) -> str:
    return failure_reason(
        WorkspaceResult(id="", status=status, exit_code=1, stderr=CapturedOutput(text=said), isolation=ISOLATION)
    )


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        (NOT_FOUND, "Debian has GTest: `apt-get install libgtest-dev`, then the same command"),
        (
            'CMake Error at CMakeLists.txt:9 (find_package):\n  By not providing "FindCatch2.cmake" in '
            'CMAKE_MODULE_PATH\n\n  Could not find a package configuration file provided by "Catch2" with any\n',
            "`apt-get install catch2`, then the same command",
        ),
        (
            NO_FOLDER,
            "the folder test/gtest-1.10.0 is not in this copy of the project: `apt-get install googletest`, then "
            "--setup 'mkdir -p test/gtest-1.10.0 && cp -r ",
        ),
        (
            CLONED,
            "its build fetches googletest over the network: after `apt-get install googletest` the same command uses "
            "Debian's",
        ),
        ("CMake Error: error: downloading 'https://x.org/a/rare/archive/v1.zip' failed\n", "build fetches rare over"),
    ],
)
def test_what_cmake_lacks_is_named_with_debians_package(said: str, remedy: str, tmp_path: Path) -> None:
    reason = fault(said)
    assert reason.startswith("does_not_compile: CMake Error")
    assert "Call Stack" not in reason
    assert remedy in with_setup_hint({"": reason}, snapshot(tmp_path, {"a.cpp": ""}), ["cpp"], (), None)


def test_headers_that_are_missing_are_named_with_debians_packages(tmp_path: Path) -> None:
    said = "".join(
        f"a.cpp:{n}:10: fatal error: {name}: No such file or directory\n"
        for n, name in enumerate(["gtest/gtest.h", "boost/test/unit_test.hpp", "fmt/core.h", "our/own.h"], 1)
    )
    result = WorkspaceResult(
        id="", status=Status.UNRESOLVED_IMPORT, exit_code=1, stderr=CapturedOutput(text=said), isolation=ISOLATION
    )
    told = with_setup_hint({"": failure_reason(result)}, snapshot(tmp_path, {"a.cpp": ""}), ["cpp"], (), None)
    assert "`apt-get install libboost-all-dev libfmt-dev libgtest-dev`, then the same command" in told


def test_a_message_of_a_test_is_no_message_of_cmake() -> None:
    assert fault("test: CMake Error at a.txt\n").startswith("tests_fail: ")


@pytest.mark.long
def test_a_library_that_a_build_fetches_is_taken_from_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_folder() as folder:
        sources = folder / "gtest"
        sources.mkdir()
        files = {
            "CMakeLists.txt": (
                "cmake_minimum_required(VERSION 3.14)\nproject(shop NONE)\ninclude(FetchContent)\n"
                "FetchContent_Declare(\n  googletest GIT_REPOSITORY https://github.com/google/googletest.git)\n"
                "FetchContent_MakeAvailable(googletest)\nenable_testing()\nadd_test(good ${GOOD})\n"
            ),
            "gtest/CMakeLists.txt": "set(GOOD true CACHE STRING good)\n",
        }
        project = snapshot(folder, files)
        monkeypatch.setattr(cmake_project, "installed_sources", lambda _name: "/tmp/work/gtest")
        [check] = project_checks(project, ["cpp"])
        runner = WorkspaceRunner(store=SnapshotStore(folder / "store"))
        try:
            engine = WorkspaceExecutor(1, workspace_runner=runner)
            found = check_project(engine, check_request(check.check, project.id))
            monkeypatch.setattr(cmake_project, "installed_sources", lambda _name: None)
            [without] = project_checks(project, ["cpp"])
            refused = check_project(engine, check_request(without.check, project.id), runs=1)
        finally:
            runner.close()
        assert (found.fault, found.test_count) == ("", 1)
        plain = snapshot(folder / "b", {"CMakeLists.txt": "enable_testing()\n"})
        assert "FETCHCONTENT" not in " ".join(project_checks(plain, ["cpp"])[0].check.command)
        told = with_setup_hint({"": refused.fault}, project, ["cpp"], (), None)
        assert "fetches googletest" in told


def test_packages_of_missing_libraries_are_unpacked_into_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = []

    def archives(names: tuple[str, ...]) -> tuple[DebianArchive, ...]:
        wanted.append(names)
        return (DebianArchive("http://a/g_1.deb", "0" * 64),) if names else ()

    monkeypatch.setattr(debian_packages, "library_archives", archives)
    project = snapshot(tmp_path / "a", {"CMakeLists.txt": "enable_testing()\nFetchContent_Declare(googletest\n"})
    said = " ".join(f"{NO_FOLDER}{CLONED}{NOT_FOUND}".split())
    step = next_setup([SetupStep("", None, f"tests_fail: {said}")], project, ["cpp"])
    assert step is not None
    assert wanted == [("googletest", "libgtest-dev")]
    assert str(step.command).endswith("/. test/gtest-1.10.0")
    files = {"CMakeLists.txt": "enable_testing()\n", ".deps/debian/usr/include/g.h": ""}
    [check] = project_checks(snapshot(tmp_path / "b", files), ["cpp"])
    assert check.check.environment["CMAKE_PREFIX_PATH"] == "/tmp/work/.deps/debian/usr"


def test_archives_that_apt_keeps_are_fetched_like_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def printed(program: str, *words: str) -> str:
        kept = "Dir::Cache::archives=/nonexistent" not in words and "install" in words
        digest = f"SHA256:{'0' * 64}" if "download" in words else "MD5Sum:0"
        return "" if kept else f"'http://deb.example.org/libtill-dev_1.deb' libtill-dev_1_all.deb 9 {digest}\n"

    monkeypatch.setattr(debian_packages, "_printed", printed)
    archives = debian_packages.library_archives(("libtill-dev",))
    assert [one.url for one in archives] == ["http://deb.example.org/libtill-dev_1.deb"]


@pytest.mark.skipif(shutil.which("ruby") is None, reason="ruby is not installed")
def test_gems_that_ruby_lacks_come_from_debian(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []
    archive = DebianArchive("http://deb.example.org/ruby-tills_1_all.deb", "0" * 64)
    monkeypatch.setattr(debian_packages, "available_packages", lambda: {"ruby-json", "ruby-small-tills", "ruby-tills"})
    monkeypatch.setattr(debian_packages, "library_archives", lambda names: asked.append(names) or (archive,))
    required = "require 'json'\nrequire 'small_tills'\nrequire \"tills/core\"\nrequire 'shop/cart'\nrequire 'gone'\n"
    files = {"lib/shop.rb": required, "lib/shop/cart.rb": "", "spec/shop_spec.rb": ""}
    command = setup_command(snapshot(tmp_path, files), ["ruby"])
    assert asked == [("ruby-small-tills", "ruby-tills")]
    assert command is not None
    assert command.startswith("{ ( mkdir -p .deps/debian && ( cd .deps/debian && python3 -c ")
    assert command.endswith("; rm -rf .deps/debian; }"), "tests run without them where nothing can be fetched"
