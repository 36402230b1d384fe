"""Toolchains that a project's commands name."""

import os
from pathlib import Path

import pytest

from caretbench.execution.execution_types import Status
from caretbench.execution.toolchains import csharp
from caretbench.execution.workspaces import project_tools
from caretbench.execution.workspaces.project_tools import is_installed, tool_environment, tools_of_command
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceRunner
from tests.support.project_files import open_folder


def sdk_in(folder: Path) -> Path:
    """A .NET SDK by its files; its program prints the variable that names its folder."""
    root = folder / "dotnet"
    for place in ("sdk/3.1.1/Roslyn/bincore", "shared/Microsoft.NETCore.App/3.1.2"):
        (root / place).mkdir(parents=True)
    (root / "sdk/3.1.1/Roslyn/bincore/csc.dll").touch()
    (root / "dotnet").write_text('#!/bin/sh\necho "of $DOTNET_ROOT: $@"\n')
    (root / "dotnet").chmod(0o755)
    return root


def test_an_sdk_that_is_not_on_the_path_is_found_as_the_runtime_finds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_folder() as folder:
        monkeypatch.setattr(csharp.shutil, "which", lambda _program: None)
        monkeypatch.setattr(csharp, "cache_folder", lambda: folder)
        monkeypatch.delenv("DOTNET_ROOT", raising=False)
        assert not is_installed("dotnet")
        root = sdk_in(folder)
        assert is_installed("dotnet")
        assert not is_installed("MSBuild"), "an SDK that only compiles programs does not build projects"
        (root / "sdk/3.1.1/MSBuild.dll").touch()
        assert is_installed("MSBuild")
        assert not is_installed("gradle")
        for command in (("dotnet", "test"), ("/bin/sh", "-c", "cd a && dotnet run")):
            assert [tool.root for tool in tools_of_command(command)] == [root.resolve()]
        assert tools_of_command(("make", "dotnet-test")) == ()


@pytest.mark.long
def test_a_command_that_names_it_finds_it_in_the_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_folder() as folder:
        root = sdk_in(folder)
        monkeypatch.setenv("DOTNET_ROOT", str(root))
        project = folder / "project"
        project.mkdir()
        (project / "a.cs").write_text("class A {}\n")
        store = SnapshotStore(folder / "store")
        runner = WorkspaceRunner(store=store)
        try:
            command = ("/bin/sh", "-c", "dotnet test; cat /etc/hostname; command -v cat")
            identity = store.add(project).id
            result = runner.run(WorkspaceRequest(id="a", snapshot=identity, command=command))
            unnamed = ("ls", str(root / "sdk"))
            other = runner.run(WorkspaceRequest(id="b", snapshot=identity, command=unnamed))
        finally:
            runner.close()
        assert result.status is Status.PASSED, result.stderr.text
        assert f"of {root.resolve()}: test" in result.stdout.text
        assert other.status is not Status.PASSED, "a command that does not name it does not see it"


def test_a_jdk_below_usr_needs_no_bind(monkeypatch: pytest.MonkeyPatch) -> None:
    jdk = Path("/usr/lib/jvm/jdk"), "17"
    monkeypatch.setattr(project_tools, "usable_jdk", lambda: jdk)
    assert is_installed("javac")
    assert tools_of_command(("mvn", "test")) == ()
    monkeypatch.setattr(project_tools, "usable_jdk", lambda: (Path("/opt/jdk"), "17"))
    assert [tool.environment["JAVA_HOME"] for tool in tools_of_command(("mvn", "test"))] == ["/opt/jdk"]


@pytest.mark.parametrize(
    ("program", "mode", "home", "namespaces", "used"),
    [
        ("rustc", 0o755, 0o755, False, True), ("go", 0o755, 0o755, False, True), ("go", 0o700, 0o755, True, False),
        ("go", 0o755, 0o700, True, True), ("go", 0o755, 0o700, False, False),
    ],
)  # fmt: skip
def test_a_toolchain_of_a_user_is_bound_if_programs_can_read_it(
    program: str, mode: int, home: int, namespaces: bool, used: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    project_tools._of_user.cache_clear()
    monkeypatch.setattr(project_tools, "_runs_in_namespaces", lambda: namespaces)
    with open_folder() as folder:
        folder.chmod(home)
        (folder / "own" / "bin").mkdir(parents=True)
        script = folder / "own" / "bin" / program
        script.write_text(f"#!/bin/sh\necho {folder}/own\n")
        script.chmod(0o755)
        (folder / "own").chmod(mode)
        monkeypatch.setenv("PATH", f"{folder}/own/bin:{os.environ['PATH']}")
        tools = tools_of_command(("/bin/sh", "-c", f"{'cargo' if program == 'rustc' else program} test ./..."))
        assert [tool.root for tool in tools] == ([folder / "own"] if used else [])
        assert tool_environment(tools, "/usr/bin").get("PATH", "").startswith(f"{folder}/own/bin:") is used
    project_tools._of_user.cache_clear()
