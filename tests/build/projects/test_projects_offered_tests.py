"""Options offered for projects whose root has no known test command."""

from pathlib import Path

from caretbench.build.projects.setup.project_setup import offered_folders, offered_tests, with_setup_hint
from caretbench.execution.workspaces.snapshot_store import Snapshot, SnapshotStore


def snapshot(root: Path, files: dict[str, str]) -> Snapshot:
    for path, text in files.items():
        place = root / "project" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return SnapshotStore(root / "store").add(root / "project")


def test_folders_with_tests_of_their_own_are_offered(tmp_path: Path) -> None:
    project = snapshot(
        tmp_path,
        {
            "README": "", "main.py": "x = 1\n", "bindings/python/setup.py": "", "bindings/python/test_a.py": "",
            "bindings/python/inner/pyproject.toml": "", "bindings/python/inner/test_b.py": "",
            "vendor/lib/setup.py": "", "vendor/lib/test_c.py": "", "bare/setup.py": "",
        },
    )  # fmt: skip
    assert [folder for folder, _ in offered_folders(project, ["python"])] == ["bindings/python"]
    assert offered_tests(project, ["python"]).startswith("a folder of it has tests: bindings/python (")


def test_scripts_that_test_are_offered_as_a_command(tmp_path: Path) -> None:
    names = ("tests/unittest.sh", "run-tests.sh", "attest.sh", "third_party/x/test.sh", "tests/cases/latest.sh")
    with_arguments = {"tests/runtest.sh": '"$2" | diff "${1}" -\n'}
    with_defaults = {"tests/test.sh": 'exec make "${1:-check}" "\\$2"\n'}
    files = {**dict.fromkeys((*names, "a.cpp"), ""), **with_arguments, **with_defaults}
    found = offered_tests(snapshot(tmp_path, files), ["cpp"])
    listed, _, command = found.partition(": --test-command ")
    assert listed == "scripts that may test it: run-tests.sh, tests/test.sh, tests/unittest.sh"
    assert command == "'bash run-tests.sh'"


def test_the_offered_script_runs_in_its_folder(tmp_path: Path) -> None:
    project = snapshot(tmp_path, {"a.cpp": "", "my tests/test.sh": ""})
    told = with_setup_hint({"": "no tests found (no file in its root …): give a command"}, project, ["cpp"], (), None)
    assert told.endswith("--test-command 'bash test.sh' --directory 'my tests'")


def test_no_script_is_offered_where_a_tool_is_missing(tmp_path: Path) -> None:
    project = snapshot(tmp_path, {"a.sln": "", "A.cs": "", "test.sh": "dotnet test\n"})
    message = "no tests found (dotnet test would be the command, but MSBuild is not installed: …): give a command"
    assert with_setup_hint({"": message}, project, ["csharp"], (), None) == message


def test_nothing_is_offered_where_no_file_concerns_tests(tmp_path: Path) -> None:
    assert offered_tests(snapshot(tmp_path, {"a.py": "", "b/c.py": ""}), ["python"]) == ""
