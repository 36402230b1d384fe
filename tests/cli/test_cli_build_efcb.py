"""``build efcb`` as a user meets it: clones, records, mistakes, a kill; and what the folder holds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from caretbench.build.sources.pull_request import read_pull_requests
from caretbench.files import write_rows
from caretbench.suites.efcb.build import problem_building
from caretbench.suites.efcb.build.build_folder import EfcbFolder
from caretbench.suites.efcb.build.problem_building import leak_report
from tests.support.command_run import CommandRun
from tests.support.efcb_changes import changes, write_history
from tests.support.git_repository import DAY, EPOCH, History, git

REVERSE = ("--task", "reverse-qa")
LATIN = "".join(f"pre\xe7o{number} = total{number} + limit\n" for number in range(20)).encode("latin-1")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve ordinary changes, one of 20 MB, and one that is no UTF-8."""
    history = write_history(tmp_path_factory.mktemp("clones") / "widgets", 12)
    said = "\n\nThis is described in a whole sentence that says what it does and why it is done."
    big = "".join(f"value {number} of a table that somebody thought belongs here\n" for number in range(380_000))
    assert len(big) > 20_000_000
    history.commit(f"Add a table (#90){said}", {"data/table.py": big}, time=EPOCH + 90 * DAY)
    history.commit(f"Add prices (#91){said}", {"prices.py": LATIN}, time=EPOCH + 91 * DAY)
    history.write()
    return history.folder


@pytest.fixture(scope="module")
def built(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[CommandRun, EfcbFolder]:
    folder = tmp_path_factory.mktemp("tasks") / "tasks"
    return CommandRun(clone, "-o", folder), EfcbFolder(folder)


@pytest.fixture
def records(tmp_path: Path) -> Path:
    write_rows(tmp_path / "records.jsonl", changes(8))
    return tmp_path / "records.jsonl"


def test_a_clone_becomes_all_five_tasks(built: tuple[CommandRun, EfcbFolder]) -> None:
    done, folder = built
    assert done.code == 0, done.err
    attacks = [line for line in done.out.splitlines() if line.startswith("GMCQ-")]
    assert 0 < max(map(len, attacks), default=0) <= 120, "the table fits a terminal"
    manifest = folder.read_manifest()
    assert manifest.changes == {"widgets": 14}
    assert manifest.skipped == {"root": 1}
    assert "the organisation of widgets is unknown. To set it: git -C" in done.err
    assert {problem.label("task") for problem in folder.read_problems()} == {
        "gmcq-easy", "gmcq-hard", "mpr-gen", "reverse-qa", "reverse-qa-hallu",
    }  # fmt: skip
    assert f"{len(folder.read_problems())} problems" in done.out
    shown = [line for line in done.out.splitlines() if "gmcq" not in line and str(folder.path) not in line]
    assert all(len(line) < 150 for line in shown)


def test_a_patch_of_20_mb_is_cut_and_left_out_and_the_rest_goes_on(built: tuple[CommandRun, EfcbFolder]) -> None:
    _, folder = built
    (big,) = [pull for pull in read_pull_requests([folder.pull_requests_path]) if pull.number == 90]
    assert big.files[0].truncated
    assert big.files[0].additions == 380_000
    assert folder.pull_requests_path.stat().st_size < 1_000_000
    reasons = [json.loads(line) for line in folder.rejected_path.read_text().splitlines()]
    assert "too_long" in {row["reason"] for row in reasons if row["merge_sha"] == big.merge_sha}


def test_bytes_that_are_no_utf_8_are_asked_about(built: tuple[CommandRun, EfcbFolder]) -> None:
    _, folder = built
    (pull,) = [pull for pull in read_pull_requests([folder.pull_requests_path]) if pull.number == 91]
    shown = [problem.shown for problem in folder.read_problems() if problem.cluster.endswith(pull.merge_sha)]
    assert shown
    assert any("pre\ufffdo7" in one.model_dump_json() for one in shown)


@pytest.mark.long
def test_the_same_command_gives_the_same_bytes(built: tuple[CommandRun, EfcbFolder], clone: Path) -> None:
    _, folder = built
    paths = (folder.pull_requests_path, folder.problems_path, folder.rejected_path, folder.leaks_path)
    before = [path.read_bytes() for path in paths]
    again = CommandRun(clone, "-o", folder.path, "--json")
    assert again.code == 0, again.err
    assert [path.read_bytes() for path in paths] == before
    numbers: dict[str, Any] = json.loads(again.out)
    assert numbers["fit"] is True
    assert sum(numbers["problems"].values()) == len(folder.read_problems())


def test_the_papers_tables_about_the_data(built: tuple[CommandRun, EfcbFolder]) -> None:
    done = CommandRun("--tables", "--data", built[1].path, verb=("list", "efcb"))
    assert done.code == 0, done.err
    first, second, *leaks = done.out.strip().split("\n\n")
    head, columns, row = first.splitlines()
    assert "Table 2" in head
    assert columns.split("  ")[0] == "Organization"
    assert " widgets " in row
    assert "Go 8, Ruby 4, Python 1" in row
    assert second.splitlines()[-1].startswith("Total")
    assert leaks


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "no source: give a clone"),
        (("--task", "gmcq"), "--task 'gmcq': expected gmcq-easy, gmcq-hard"),
        (("--profile", "papre"), "--profile 'papre': expected paper or default"),
        (("--since", "yesterday"), "'yesterday' is no date (2026-01-31)"),
        (("--since", "2026-02-01", "--until", "2026-01-01"), "the end is not after the beginning"),
        (("--since", "2030-01-01"), "no merged change was found"),
        (("absent.jsonl",), "absent.jsonl: no such file"),
    ],
)
def test_mistakes_are_told(arguments: tuple[str, ...], message: str, records: Path, tmp_path: Path) -> None:
    done = CommandRun(*([records] if arguments else []), *arguments, "-o", tmp_path / "tasks")
    assert done.told
    assert message in done.err
    assert not (tmp_path / "tasks" / "problems.jsonl").exists()


def test_a_source_that_fails_leaves_an_earlier_build_alone(records: Path, tmp_path: Path) -> None:
    folder = EfcbFolder(tmp_path / "tasks")
    assert CommandRun(records, *REVERSE, "-o", folder.path).code == 0
    before = folder.problems_path.read_bytes()
    assert CommandRun(records, tmp_path / "absent", *REVERSE, "-o", folder.path).code != 0
    assert folder.problems_path.read_bytes() == before
    other = CommandRun(records, *REVERSE, "--seed", "5", "-o", folder.path)
    assert other.told, "the finished set still refuses other options"


def test_a_wrong_date_leaves_an_earlier_build_alone(records: Path, tmp_path: Path) -> None:
    folder = EfcbFolder(tmp_path / "tasks")
    assert CommandRun(records, *REVERSE, "-o", folder.path).code == 0
    before = folder.problems_path.read_bytes()
    assert CommandRun(records, *REVERSE, "--until", "soon", "-o", folder.path).code != 0
    assert folder.problems_path.read_bytes() == before


@pytest.mark.smoke
def test_no_repository_and_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    History(tmp_path / "empty")
    for name in ("nothing", "empty", "absent"):
        done = CommandRun(tmp_path / name, "-o", tmp_path / "tasks")
        assert done.told
        assert str(tmp_path / name) in done.err


def test_a_shallow_clone_is_said(clone: Path, tmp_path: Path) -> None:
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "--quiet", "--bare", "--depth", "4", f"file://{clone}", str(shallow))
    done = CommandRun(shallow, *REVERSE, "--until", "2024-01-31", "-o", tmp_path / "tasks")
    assert "is shallow" in done.err
    whole = CommandRun(shallow, *REVERSE, "-o", tmp_path / "whole")
    assert "shallow boundary" in whole.err
    assert whole.code == 0, whole.err


def test_a_damaged_record_is_named_by_its_line(records: Path, tmp_path: Path) -> None:
    lines = records.read_text().splitlines()
    records.write_text("\n".join([*lines[:3], lines[3][:100], *lines[4:]]) + "\n")
    done = CommandRun(records, "-o", tmp_path / "tasks")
    assert done.told
    assert f"{records}:4" in done.err


def test_a_limit_that_is_passed_fails_the_build(records: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def leaking(*arguments: Any) -> list[Any]:
        return [
            leak.model_copy(update={"accuracy": 1.0}) if leak.attack == "longest" else leak
            for leak in leak_report(*arguments)
        ]

    monkeypatch.setattr(problem_building, "leak_report", leaking)
    easy = (records, "--task", "gmcq-easy", "-o", tmp_path / "tasks")
    done = CommandRun(*easy)
    folder = EfcbFolder(tmp_path / "tasks")
    assert done.code == 1
    assert "1.000!" in done.out
    assert "above chance by more than 3 standard errors: longest in gmcq-easy" in done.err
    assert not folder.problems_path.exists()
    assert folder.candidates_path.exists()
    listed = CommandRun("--data", folder.path, verb=("list", "efcb"))
    assert listed.told
    assert "leak report" in listed.err
    assert CommandRun(*easy, "--profile", "paper").code == 0
    assert folder.problems_path.exists()


@pytest.mark.long
def test_kill_during_mining_and_building_leaves_no_duplicate(tmp_path: Path) -> None:
    history = write_history(tmp_path / "widgets", 300)
    history.write()
    command = (
        sys.executable, "-m", "caretbench", "build", "efcb", str(history.folder), *REVERSE,
        "-o", str(tmp_path / "tasks"),
    )  # fmt: skip
    folder = EfcbFolder(tmp_path / "tasks")
    for after in ("pull_requests.jsonl", "rejected.jsonl"):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and not ((folder.path / after).exists() and (folder.path / after).stat().st_size):
            time.sleep(0.01)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert CommandRun(history.folder, *REVERSE, "-o", folder.path).code == 0
    lines = folder.pull_requests_path.read_text().splitlines()
    keys = [json.loads(line)["merge_sha"] for line in lines]
    assert len(keys) == len(set(keys)) == 300
    fresh = EfcbFolder(tmp_path / "fresh")
    assert CommandRun(history.folder, *REVERSE, "-o", fresh.path).code == 0
    assert fresh.problems_path.read_bytes() == folder.problems_path.read_bytes()
