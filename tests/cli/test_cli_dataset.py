import json
from pathlib import Path

import pytest

from tests.support.built_sets import write_programs, write_set
from tests.support.command_run import in_this_process as caretbench


def test_release_prints_its_folders_and_what_is_unknown(tmp_path: Path) -> None:
    built, out = write_programs(tmp_path / "mine"), tmp_path / "1.0.0"
    done = caretbench("dataset", "release", str(built), "-o", str(out), "--holdout", "0.5", "--licence", "MIT")
    assert done.returncode == 0, done.stderr
    first, *others = done.stdout.splitlines()
    assert first.startswith("--licence MIT holds for 16 problems (go/api_usage/program-0, go/api_usage/program-1, ")
    assert others == [
        f"{out}: 8 problems in 4 cells, MIT",
        f"{out}-holdout: 8 problems (50.0%); keep this folder to yourself",
    ]
    assert "unknown: attempts" in done.stderr


def test_json_is_the_datasheet(tmp_path: Path) -> None:
    built, out = write_set(tmp_path / "mine"), tmp_path / "1.0.0"
    done = caretbench("dataset", "release", str(built), "-o", str(out), "--json")
    assert json.loads(done.stdout) == json.loads((out / "datasheet.json").read_text("utf-8"))
    assert not (tmp_path / "1.0.0-holdout").exists()


def test_diff_prints_what_changed(tmp_path: Path) -> None:
    built = write_programs(tmp_path / "mine")
    for version in ("1.0.0", "1.1.0"):
        options = ("--set-version", version, "--licence", "MIT")
        assert not caretbench("dataset", "release", str(built), "-o", str(tmp_path / version), *options).returncode
        file = built / "go/api_usage/program-0.go"
        file.write_text(file.read_text("utf-8").replace("package main", "package main\n"), "utf-8")
        file.with_name("program-1.go").unlink(missing_ok=True)
    done = caretbench("dataset", "diff", str(tmp_path / "1.0.0"), str(tmp_path / "1.1.0"))
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["version:", "1.0.0", "→", "1.1.0"] in lines
    assert ["removed", "go/api_usage/program-1"] in lines
    assert ["changed", "go/api_usage/program-0", "prefix"] in lines
    assert lines[-1][0] == "14"
    found = json.loads(caretbench("dataset", "diff", str(tmp_path / "1.0.0"), str(tmp_path / "1.1.0"), "--json").stdout)
    assert "go/api_usage/program-1" in found["removed"]


def test_a_hold_out_is_published_in_plain_words_alone(tmp_path: Path) -> None:
    built, out = write_set(tmp_path / "mine"), tmp_path / "1.0.0"
    caretbench("dataset", "release", str(built), "-o", str(out), "--holdout", "0.5")
    again = ("dataset", "release", f"{out}-holdout", "-o", str(tmp_path / "open"))
    done = caretbench(*again)
    assert done.returncode == 2
    assert "--publish-holdout" in done.stderr
    assert done.stderr.count("\n") == 1
    assert caretbench(*again, "--publish-holdout").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("release", "nowhere", "-o", "out"), "nowhere: no such folder; expected a built set"),
        (("diff", "nowhere", "nowhere"), "nowhere: no such folder"),
        (("holdout", "nowhere", "run"), "nowhere: no such folder"),
    ],
)
def test_errors_are_one_line(arguments: tuple[str, ...], message: str) -> None:
    done = caretbench("dataset", *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith(f"caretbench: {message}")
    assert done.stderr.count("\n") == 1
