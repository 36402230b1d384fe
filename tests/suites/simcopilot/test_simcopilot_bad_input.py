"""Projects as they should not be, built in real sandboxes: each fault is named, and the rest goes on."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from caretbench.build.project_tasks.task_builder import TaskBuilder
from caretbench.build.project_tasks.task_folder import BuiltTasks, TaskFolder
from caretbench.errors import DataError
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.problem import FileSplice
from caretbench.projects.settings import CheckSettings
from caretbench.suites.simcopilot.build.builder import SimCopilotOptions
from caretbench.suites.simcopilot.build.tasks import TaskSampling

CODE = """\
def total(orders, limit):
    found = 0
    for order in orders:
        if order > limit:
            found += round(order * 9 / 10)
        else:
            found += order
    return found
"""
WORDS = """\
def words(text):
    counts = {}
    for word in text.lower().split():
        counts[word] = counts.get(word, 0) + 1
    return sorted(counts, key=lambda word: (-counts[word], word))
"""
FACTORS = """\
def factors(number):
    divisor, parts = 2, []
    while number > 1:
        if number % divisor == 0:
            parts.append(divisor)
            number //= divisor
        else:
            divisor += 1
    return parts
"""
WIDE = """\
def größe(zeichen):
    schlüssel = "日本🙂"
    if zeichen in schlüssel:
        return len(zeichen.encode()) * schlüssel.index(zeichen)
    return -1
"""
STEPS = """\
def steps(start):
    seen = []
    while start != 1 and len(seen) < 99:
        seen.append(start)
        start = 3 * start + 1 if start & 1 else start >> 1
    return len(seen)
"""
TEST = "import {0}\nassert {0}.{1}\n"
GOOD = {
    "plain.py": (CODE.encode(), "total([10, 200, 30], 100) == 220"),
    "crlf.py": (WORDS.replace("\n", "\r\n").encode(), "words('b a B') == ['b', 'a']"),
    "tabs.py": (FACTORS.replace("    ", "\t").encode(), "factors(12) == [2, 2, 3]"),
    "wide.py": (WIDE.encode(), "größe('本') == 3 and wide.größe('x') == -1"),
    "mark.py": (b"\xef\xbb\xbf" + STEPS.encode(), "steps(6) == 8"),
}
BAD = {
    "broken.py": b"def f(:\n    return ((\n",
    "binary.py": b"\x7fELF\x00\x01\xff" * 99,
    "latin.py": "# -*- coding: latin-1 -*-\nx = 'ä'\n".encode("latin-1"),
    "huge.py": b"x = 1\n" * 50_000,
    "api_pb2.py": CODE.encode(),
}


def project(root: Path, files: dict[str, bytes]) -> Path:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    return root


def digests(root: Path) -> dict[str, tuple[str, int, int]]:
    """Every file with its content, mode and time."""
    return {
        str(path): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mode, path.stat().st_mtime_ns)
        for path in root.rglob("*")
        if path.is_file()
    }


def build(engine: WorkspaceExecutor, root: Path, out: Path, command: str, **fields: object) -> BuiltTasks:
    options = SimCopilotOptions(
        sampling=TaskSampling(modes=("infill",), limit=None, per_file=1),
        check=CheckSettings.model_validate({"command": command, **fields}),
    )
    return TaskBuilder(engine).build(root, TaskFolder(out), options)


@pytest.mark.long
def test_files_of_all_kinds_beside_each_other(engine: WorkspaceExecutor, tmp_path: Path) -> None:
    tests = "".join(TEST.format(path.removesuffix(".py"), said) for path, (_, said) in GOOD.items()).encode()
    good = {path: content for path, (content, _) in GOOD.items()}
    root = project(tmp_path / "p", {**good, **BAD, "data/picture.bin": bytes(range(256)), "check.py": tests})
    before = digests(root)
    built = build(engine, root, tmp_path / "tasks", "python3 check.py", files=[*GOOD, *BAD])
    assert {problem.caret.path for problem in built.candidates} == set(GOOD)
    assert built.verdict_count("valid") == len(GOOD)
    said = built.manifest.passed_over
    assert said.keys() == set(BAD)
    assert said["broken.py"] == "does not parse: line 1"
    assert said["huge.py"].startswith("50,000 lines; files of more than 20,000 are not mined (`most_lines = 50000`")
    assert "UTF-8" in said["latin.py"]
    for problem in built.candidates:
        assert isinstance(problem.splice, FileSplice)
        content = good[problem.splice.path]
        assert problem.splice.content(content, problem.reference) == content
    assert digests(root) == before


def test_a_file_whose_reach_is_unknown_is_named_and_does_not_count(engine: WorkspaceExecutor, tmp_path: Path) -> None:
    tests = TEST.format("plain", GOOD["plain.py"][1]) + TEST.format("odd", GOOD["crlf.py"][1])
    tests += f"assert len(open('odd.py').read()) < {len(WORDS) + 99}\n"  # instrumented, it is longer
    tests += "import sys\nassert sys.gettrace() is None\n"
    files = {"plain.py": CODE.encode(), "odd.py": WORDS.encode(), "check.py": tests.encode()}
    root = project(tmp_path / "p", files)
    built = build(engine, root, tmp_path / "tasks", "python3 check.py", files=["plain.py", "odd.py"])
    [(path, reason)] = built.manifest.unknown_reach.items()
    assert (path, reason) == ("odd.py", "the tests do not pass with instrumentation: failed")
    assert built.manifest.reached_lines == {"python": 8}
    assert (built.verdict_count("valid"), built.yield_task_count) == (2, 1)


@pytest.mark.parametrize(
    ("files", "command", "said"),
    [
        ({"Makefile": b"test:\n\tpython3 check.py\n", "test/notes.txt": b""}, "make test", "no_tests: .*up to date"),
        ({"check.py": b""}, "python3 check.py", "reaches_nothing: the command succeeds, but no line"),
        (
            {"check.py": b"print('Ran 3 tests in 0.1s')\n"},
            "python3 check.py",
            "reaches_nothing: 3 tests pass, but no line .*--test-command",
        ),
    ],
)
def test_commands_that_test_nothing_are_refused(
    engine: WorkspaceExecutor, tmp_path: Path, files: dict[str, bytes], command: str, said: str
) -> None:
    if command.startswith("make") and shutil.which("make") is None:
        pytest.skip("no make here")
    root = project(tmp_path / "p", {"plain.py": CODE.encode(), **files})
    with pytest.raises(DataError, match=said) as caught:
        build(engine, root, tmp_path / "tasks", command, files=["plain.py"])
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "tasks" / "manifest.json").exists()


def test_a_block_whose_error_is_caught_can_be_answered_by_throwing(engine: WorkspaceExecutor, tmp_path: Path) -> None:
    code = b"def size(items):\n    try:\n        return len(items) + 0\n    except Exception:\n        return 3\n"
    test = b"import plain\nassert plain.size([1, 2, 3]) == 3\n"
    root = project(tmp_path / "p", {"plain.py": code, "check.py": test})
    built = build(engine, root, tmp_path / "tasks", "python3 check.py", files=["plain.py"])
    whole = next(problem for problem in built.candidates if problem.reference.startswith("try"))
    assert built.verdicts[whole.id].verdict == "valid"
    options = SimCopilotOptions(
        sampling=TaskSampling(modes=("infill",), limit=None),
        check=CheckSettings(command="python3 check.py", files=("plain.py",)),
    )
    every = TaskBuilder(engine).build(root, TaskFolder(tmp_path / "every"), options)
    inner = next(problem for problem in every.candidates if problem.reference.startswith("return len"))
    assert every.verdicts[inner.id].reasons == ("answerable_without_answer: throw",)
    assert every.verdicts[inner.id].verdict == "invalid"
