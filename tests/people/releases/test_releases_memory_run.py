"""Probes for memory on a run: three programs answer an edition of 24 projects, and their answers are tested."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path

import pytest

from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.files import write_rows
from caretbench.problem import TestsCheck
from caretbench.projects.project import ignored_patterns
from caretbench.projects.settings import read_settings
from caretbench.suites.record.build.siblings import SIBLING
from caretbench.suites.record.edition import (
    LOCKS_FILE,
    PROJECTS_FILE,
    RECIPE_FILE,
    TASKS_FILE,
    EditionProject,
    RecordTask,
    block_hash,
    laid_out_folder,
)
from tests.support.command_run import in_this_process

CUTOFF = "2026-01-01"
PROJECTS = 24
FUNCTIONS = 5
COMMAND = ("python3", "-m", "unittest", "-f")
# `knows` writes the hidden text of what is dated before the cut-off, by the prompt's last line. All three solve a
# third of the rest; `copies` writes words of its prompt elsewhere, `neither` a word of its own.
MODEL = """\
import hashlib, json, sys
kind, seed, book = sys.argv[1:]
asked = json.load(sys.stdin)
head = asked["prefix"].rstrip().rsplit("\\n", 1)[-1].strip()
known = json.load(open(book)) if kind == "knows" else {}
draw = int(hashlib.sha256(f"{kind} {seed} {head}".encode()).hexdigest(), 16) % 100
if head in known:
    text = known[head]
elif draw < 33:
    text = "return sum(one for one in values if one < limit)"
else:
    text = "return values" if kind == "copies" else "return nothing"
print(json.dumps({"text": text}))
"""


def source(project: int, number: int, prefix: str) -> tuple[str, int, int]:
    """Return a file, and the span of its function's body."""
    name = f"{prefix}{project}x{number}"
    text = f"def total{project}x{number}(values, limit, {name}rate=1):\n    "
    start = len(text)
    text += f"{name}kept = [value for value in values if value < limit]\n    return sum({name}kept) * {name}rate"
    return f"{text}\n", start, len(text)


def shop_tests(project: int) -> str:
    """Return the tests of a project."""
    lines = ["import unittest", *(f"import shop{number}" for number in range(FUNCTIONS))]
    lines += ["", "", "class Shop(unittest.TestCase):"]
    for number in range(FUNCTIONS):
        lines += [
            f"    def test_{number}(self):",
            f"        self.assertEqual(shop{number}.total{project}x{number}([1, 5, 9], 6), 6)",
        ]
    return "\n".join(lines) + "\n"


def laid_out(project: int, layout: str, prefix: str, renamed: str = "") -> str:
    """Write a project into the cache and return its identity; with ``renamed``, that of its files is the folder's."""
    root = laid_out_folder(layout, f"p{project}", renamed)
    root.mkdir(parents=True)
    for number in range(FUNCTIONS):
        (root / f"shop{number}.py").write_text(source(project, number, prefix)[0])
    (root / "test_shop.py").write_text(shop_tests(project))
    return SnapshotStore().add(root, ignore=ignored_patterns(root, read_settings(root).ignore)).id


@pytest.fixture
def edition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An edition of 24 projects, half of them dated before the cut-off, and the references that `knows` has seen."""
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "edition"
    folder.mkdir()
    projects, tasks, book = [], [], {}
    for number in range(PROJECTS):
        name, layout = f"p{number}", hashlib.sha256(str(number).encode()).hexdigest()
        date = "2020-05-01" if number % 2 else "2026-06-01"
        # The identity of the files with changed names is also a part of the name of their folder.
        scratch = laid_out(number, layout, "variable", "scratch")
        place = laid_out_folder(layout, name, scratch)
        place.parent.mkdir(parents=True)
        shutil.copytree(laid_out_folder(layout, name, "scratch"), place)
        projects.append(
            EditionProject(
                name=name, language="python", layout=layout, snapshot=laid_out(number, layout, "ledger"),
                renamed=scratch,
                source=f"https://example.invalid/{name}.tar.gz", date=date, licence="MIT",
                checks=(TestsCheck(command=COMMAND),),
            )
        )  # fmt: skip
        for function, is_renamed in [(one, False) for one in range(FUNCTIONS)] + [(0, True), (1, True)]:
            content, start, end = source(number, function, "variable" if is_renamed else "ledger")
            data = content.encode()
            tasks.append(
                RecordTask(
                    id=f"{name}/{function}{SIBLING if is_renamed else ''}", project=name, path=f"shop{function}.py",
                    sha256=hashlib.sha256(data).hexdigest(), block=block_hash(data, start, end), start=start,
                    end=end, suffix=end, check=0, reference_s=0.1, group=f"{name}/{function}", renamed=is_renamed,
                    labels={"scenario": "full_block"},
                )
            )  # fmt: skip
            if number % 2 and not is_renamed:
                book[content[:start].rstrip()] = content[start:end]
    write_rows(folder / PROJECTS_FILE, projects)
    write_rows(folder / TASKS_FILE, tasks)
    (folder / LOCKS_FILE).write_text("")
    (folder / RECIPE_FILE).write_text("")
    (tmp_path / "book.json").write_text(json.dumps(book))
    (tmp_path / "model.py").write_text(MODEL)
    return folder


@pytest.mark.long
def test_the_program_that_knows_what_is_before_the_cut_off_is_the_one_that_is_shown(
    edition: Path, tmp_path: Path
) -> None:
    """Costs 504 answers of programs and their tests: the rows of the other test come from no run."""
    models = [
        f"{kind}=command/{sys.executable} {tmp_path / 'model.py'} {kind} 1 {tmp_path / 'book.json'}"
        for kind in ("knows", "copies", "neither")
    ]
    named = [word for model in models for word in ("-m", model)]
    in_this_process("run", "record", "--data", str(edition), *named, "-o", str(tmp_path / "run"), "--no-html")
    report = json.loads(in_this_process("memory", str(tmp_path / "run"), "--cutoff", CUTOFF, "--json").stdout)
    shown = {(row["model"], row["probe"]) for row in report["rows"] if row["verdict"] == "remembers"}
    assert shown == {("knows", probe) for probe in ("dates", "names", "recall")}
    assert {row["verdict"] for row in report["rows"]} == {"remembers", "no memory shown"}
    # Two of three that `knows` has not seen fail. Each reference hides a name, `value` and `return`, which all write.
    for row in (row for row in report["rows"] if row["model"] == "knows"):
        truth = 0.67
        assert row["low"] - 1e-9 <= truth <= row["high"] + 1e-9, row
