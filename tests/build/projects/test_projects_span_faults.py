"""Faults of spans that are found without running anything."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from caretbench.build.validation.workspace_gate import span_faults
from caretbench.errors import DataError
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.problem import FileSplice, TestsCheck

PYTHON = """\
import unittest


def area(width):
    return width * width


class Shapes(unittest.TestCase):
    def setUp(self):
        self.width = prepare(2)
"""
JAVA = """\
class Machine {
    int twice(int value) {
        return value + value;
    }
}

class Other {
    int once(int value) {
        return value + 0;
    }
}
"""


def splice(path: str, source: str, text: str, snapshot: str = "s") -> FileSplice:
    start = source.index(text)
    return FileSplice(snapshot=snapshot, path=path, start=start, end=start + len(text))


@pytest.mark.parametrize(
    ("path", "source", "text", "faults"),
    [
        ("shapes.py", PYTHON, "return width * width", []),
        ("shapes.py", PYTHON, "self.width = prepare(2)", ["in_test_code: Shapes"]),
        ("test_shapes.py", PYTHON, "return width * width", ["in_test_code: test_shapes.py"]),
        ("Machine.java", JAVA, "return value + value;", []),
        ("notes.unknown", "text", "text", []),
    ],
)
def test_test_code_is_found_by_file_and_by_class(path: str, source: str, text: str, faults: list[str]) -> None:
    check = TestsCheck(command=("true",))
    assert list(span_faults(splice(path, source, text), source.encode(), check)) == faults


def test_a_class_in_a_jar_before_the_project_is_shadowed(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    with zipfile.ZipFile(project / "older.jar", "w") as jar:
        jar.writestr("Other.class", b"")
    (project / "broken.jar").write_bytes(b"no archive")
    store = SnapshotStore(tmp_path / "store")
    snapshot = store.add(project).id

    def faults(text: str, jars: str, first: str = "yes") -> list[str]:
        check = TestsCheck(command=("true",), environment={"CLASSPATH": jars, "CLASSPATH_FIRST": first})
        return list(span_faults(splice("Machine.java", JAVA, text, snapshot), JAVA.encode(), check, store))

    assert faults("return value + 0;", "older.jar") == [
        "shadowed: older.jar contains Other, and is before the project on the class path"
    ]
    assert faults("return value + value;", "older.jar") == []
    assert faults("return value + 0;", "older.jar", first="") == []
    with pytest.raises(DataError, match=r"broken\.jar: no "):
        faults("return value + 0;", "broken.jar")
