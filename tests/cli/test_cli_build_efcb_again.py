"""``build efcb`` into a folder that holds a build already, and what a failed build leaves."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from caretbench.files import write_rows
from caretbench.suites.efcb.build.build_folder import EfcbFolder
from tests.support.command_run import CommandRun
from tests.support.efcb_changes import Written, changes, write_history
from tests.support.git_repository import DAY, EPOCH, History

REVERSE = ("--task", "reverse-qa")


@pytest.fixture
def records(tmp_path: Path) -> Path:
    write_rows(tmp_path / "records.jsonl", changes(8))
    return tmp_path / "records.jsonl"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        ((*REVERSE, "--max-changes", "2"), "--max-changes none there, 2 here"),
        ((*REVERSE, "--seed", "7", "--since", "2026-01-02"), "--seed 0 there, 7 here; --since none there, 2026"),
        (("--task", "reverse-qa-hallu"), "--task reverse-qa there, reverse-qa-hallu here"),
        ((*REVERSE, "--profile", "paper"), "--profile default there, paper here"),
    ],
)
def test_other_options_do_not_replace_a_build(
    other: tuple[str, ...], difference: str, records: Path, tmp_path: Path
) -> None:
    tasks = tmp_path / "tasks"
    assert CommandRun(records, *REVERSE, "-o", tasks).code == 0
    before = contents(tasks)
    done = CommandRun(records, *other, "-o", tasks)
    assert done.told
    assert f"another build ({difference}" in done.err
    assert f"{tasks}: contains 8 " in done.err
    assert len(done.err.splitlines()) == 1
    assert contents(tasks) == before


def test_the_same_command_is_silent_about_what_it_made(tmp_path: Path) -> None:
    history = write_history(tmp_path / "widgets", 6)
    history.write()
    command = (history.folder, *REVERSE, "-o", tmp_path / "tasks")
    assert CommandRun(*command).code == 0
    before = contents(tmp_path / "tasks")
    again = CommandRun(*command)
    assert again.code == 0
    assert contents(tmp_path / "tasks") == before
    assert "replaced" not in again.err


def test_a_note_tells_that_other_changes_or_versions_replace_problems(
    records: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = tmp_path / "tasks"
    assert CommandRun(records, *REVERSE, "-o", tasks).code == 0
    write_rows(records, [*changes(9), *changes(2, "other/one", seed=1)])
    done = CommandRun(records, *REVERSE, "-o", tasks)
    assert done.code == 0
    assert f"{tasks}: 8 problems" in done.err
    monkeypatch.setattr("caretbench.suites.efcb.build.builder.versions", lambda: {"caretbench": "99", "python": "3"})
    newer = CommandRun(records, *REVERSE, "-o", tasks)
    assert f"{tasks}: 11 problems" in newer.err


def test_a_build_without_problems_is_replaced_by_any(records: Path, tmp_path: Path) -> None:
    tasks = tmp_path / "tasks"
    assert CommandRun(records, *REVERSE, "-o", tasks).code == 0
    EfcbFolder(tasks).problems_path.unlink()  # as a kill or a leak leaves it
    done = CommandRun(records, *REVERSE, "--max-changes", "2", "-o", tasks)
    assert done.code == 0
    assert "replaced" not in done.err


def test_problems_of_another_suite_stay(records: Path, tmp_path: Path) -> None:
    tasks = tmp_path / "tasks"
    tasks.mkdir()
    (tasks / "problems.jsonl").write_text("{}\n")
    for manifest in ("", '{"suite": "simcopilot", "profile": "default", "seed": 0}', '{"command": ["make"]}'):
        if manifest:
            (tasks / "manifest.json").write_text(manifest)
        done = CommandRun(records, *REVERSE, "-o", tasks)
        assert done.told
        assert f"{tasks}: contains problems" in done.err
        assert "give another" in done.err
        assert (tasks / "problems.jsonl").read_text() == "{}\n"


def test_a_failed_build_leaves_other_files(tmp_path: Path) -> None:
    history = write_history(tmp_path / "widgets", 3)
    history.write()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    done = CommandRun(history.folder, "--since", "2030-01-01", "-o", tmp_path / "mine")
    assert "no merged" in done.err
    assert (tmp_path / "mine" / "notes.txt").read_text() == "mine"
    assert CommandRun(tmp_path / "absent", "-o", tmp_path / "new").told
    assert not (tmp_path / "new").exists()


def test_a_failure_keeps_what_was_mined(tmp_path: Path, records: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history = write_history(tmp_path / "widgets", 3)
    history.write()

    def failing(*_arguments: object, **_named: object) -> None:
        raise ValueError("the disk is full, say")

    monkeypatch.setattr("caretbench.suites.efcb.build.builder.build_problems", failing)
    assert CommandRun(history.folder, "-o", tmp_path / "tasks").told
    assert len(EfcbFolder(tmp_path / "tasks").pull_requests_path.read_text().splitlines()) == 3


def test_the_name_of_the_repository_is_part_of_what_is_drawn(tmp_path: Path) -> None:
    """The same history gives the same bytes below another path, and other problems below another name."""
    found = []
    for number, address in enumerate(("", "https://github.com/owner/name", "git@github.com:owner/name.git")):
        history = write_history(tmp_path / str(number) / "widgets", 6)
        history.write()
        if address:
            with (history.folder / "config").open("a") as stream:
                stream.write(f'[remote "origin"]\n\turl = {address}\n')
        tasks = tmp_path / f"tasks-{number}"
        assert CommandRun(history.folder, "--task", "gmcq-easy", "-o", tasks).code == 0
        found.append([problem.model_dump_json() for problem in EfcbFolder(tasks).read_problems()])
    assert found[1] == found[2]
    assert [json.loads(one)["reference"] for one in found[0]] != [json.loads(one)["reference"] for one in found[1]]


# --- causes of missing questions --------------------------------------------------------------------------------


def test_a_repository_without_a_grammar_says_why_it_has_no_questions(tmp_path: Path) -> None:
    pulls = [
        pull.model_copy(update={
            "repo": "owner/kotlin",
            "files": tuple(file.model_copy(update={"path": f"src/{index}.kt"}) for file in pull.files),
        })
        for index, pull in enumerate(changes(6, "owner/kotlin", seed=1))
    ]  # fmt: skip
    write_rows(tmp_path / "records.jsonl", [*pulls, *changes(6)])
    tasks = ("--task", "mpr-gen", "--task", "reverse-qa")
    done = CommandRun(tmp_path / "records.jsonl", *tasks, "-o", tmp_path / "tasks")
    assert done.code == 0, done.err
    counts = dict(re.findall(r"(?m)^(mpr-gen \w+: \w+) +(\d+)$", done.out))
    assert counts == {
        "mpr-gen added: no_grammar": "6",
        "mpr-gen changed: no_grammar": "6",
        "mpr-gen changed: no_run": "6",
    }


@pytest.mark.parametrize(
    ("remote", "numbered", "remedy"),
    [
        ("https://github.com/owner/name", True, "the source owner/name reads them"),
        ("", True, "the source OWNER/NAME reads them"),
        ("https://gitlab.com/owner/name", True, ""),
        ("https://github.com/owner/name", False, ""),
    ],
)
def test_missing_descriptions_that_cost_many_changes_have_a_remedy(
    remote: str, numbered: bool, remedy: str, tmp_path: Path
) -> None:
    history = write_history(tmp_path / "widgets", 8)
    silent(history, 2, numbered=numbered)
    history.write()
    if remote:
        with (history.folder / "config").open("a") as stream:
            stream.write(f'[remote "origin"]\n\turl = {remote}\n')
    done = CommandRun(history.folder, *REVERSE, "-o", tmp_path / "tasks")
    name = "owner/name" if remote else "widgets"
    [line] = [line for line in done.err.splitlines() if "missing description" in line]
    assert line.startswith(f"{name}: 2 of 10 changes are rejected only for a missing description")
    assert line.endswith(remedy or "for a missing description")
    assert "filter: no_description  2" in done.out


def test_few_missing_descriptions_are_not_worth_a_line(tmp_path: Path) -> None:
    history = write_history(tmp_path / "widgets", 9)
    silent(history, 1, numbered=True)
    history.write()
    done = CommandRun(history.folder, *REVERSE, "-o", tmp_path / "tasks")
    assert "missing description" not in done.err


def silent(history: History, count: int, *, numbered: bool) -> None:
    """Add changes whose messages are a title alone."""
    for number in range(50, 50 + count):
        one = Written(number)
        title = f"{one.title} (#{number})" if numbered else one.title
        history.commit(title, {one.path: one.code}, time=EPOCH + DAY * (number + 1))
