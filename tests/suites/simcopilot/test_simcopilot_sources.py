"""Builds of several projects with real sandboxes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from caretbench import api
from caretbench.errors import DataError
from caretbench.execution.sandbox import bubblewrap
from caretbench.suites import load_suite
from tests.support.git_repository import History
from tests.support.shop_project import FILES, written

pytestmark = pytest.mark.skipif(bubblewrap.find_bubblewrap() is None, reason="bubblewrap is not installed")
FAILING = {**FILES, "test_shop.py": FILES["test_shop.py"].replace("220", "221").replace(", 0)", ", 1)")}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.long
def test_several_projects_become_one_benchmark_with_a_reason_for_each_other_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub, commits, lines = tmp_path / "hub", {}, ["shop  # a folder"]
    for name, files in {"one": FILES, "two": FILES, "bad": FAILING}.items():
        history = History(hub / f"o/{name}.git")
        history.commit("First", files)
        (commits[name],) = history.write()
        lines.append(f"o/{name}@{commits[name]}")
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GITHUB_SERVER_URL", f"file://{hub}")
    listed = tmp_path / "sources.txt"
    listed.write_text("\n".join([*lines, "o/gone"]))
    written(tmp_path / "shop", FILES)
    options = {"source_file": listed, "max_candidates": 2, "jobs": 1}
    result = api.build_problems("simcopilot", [], tmp_path / "dev", **options)
    first = contents(tmp_path / "dev")
    again = api.build_problems("simcopilot", [], tmp_path / "dev", **options)
    assert contents(tmp_path / "dev") == first
    rows = {row["folder"]: row for row in result.numbers["sources"]}  # type: ignore[union-attr, call-overload, index]
    assert list(rows) == ["shop", "o+one", "o+two", "o+bad", "o+gone"]
    assert all(rows[name]["problems"] >= 1 for name in ("shop", "o+one", "o+two"))
    assert "not pass three times" in rows["o+bad"]["reason"]
    assert "git" in rows["o+gone"]["reason"]
    assert again.numbers["tasks"] == result.numbers["tasks"]
    suite = load_suite("simcopilot")
    loaded = suite.load(str(tmp_path / "dev"))
    assert {problem.cluster for problem in loaded.problems} == {"shop", "o+one", "o+two"}
    assert len(loaded.problems) == result.numbers["tasks"]
    provenance = next(p for p in loaded.problems if p.cluster == "o+one").provenance
    assert provenance is not None
    assert (provenance.source, provenance.revision) == (f"file://{hub}/o/one.git", commits["one"])
    with pytest.raises(DataError, match="not empty, and no folder of"):
        api.build_problems("simcopilot", [str(tmp_path / "shop")], tmp_path / "dev", jobs=1)


def test_a_source_that_takes_too_long_is_a_row_and_a_longer_time_goes_on(tmp_path: Path) -> None:
    projects = [str(written(tmp_path / name, FILES)) for name in ("one", "two")]
    options = {"max_candidates": 1, "jobs": 1}
    short = api.build_problems("simcopilot", projects, tmp_path / "dev", source_minutes=0.0, **options)
    assert not short.usable
    assert [row["reason"] for row in short.numbers["sources"]] == [  # type: ignore[union-attr, call-overload, index]
        "takes longer than 0 min (--source-minutes)"
    ] * 2
    assert load_suite("simcopilot").load(str(tmp_path / "dev")).problems == ()
    longer = api.build_problems("simcopilot", projects, tmp_path / "dev", **options)
    assert longer.usable
    assert {problem.cluster for problem in load_suite("simcopilot").load(str(tmp_path / "dev")).problems} == {
        "one", "two",
    }  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("moment", ["one/candidates.jsonl", "one/problems.jsonl", "two/validity.jsonl"])
def test_a_build_of_several_that_is_killed_goes_on(tmp_path: Path, moment: str) -> None:
    command = [sys.executable, "-m", "caretbench", "build", "simcopilot", "one", "two", "--max-candidates=2", "-j1"]
    for name in ("one", "two"):
        written(tmp_path / name, FILES)
    environment = {**os.environ, "CARETBENCH_CACHE": str(tmp_path / "cache")}
    subprocess.run([*command, "-o", "whole"], cwd=tmp_path, env=environment, check=True, capture_output=True)
    with subprocess.Popen(
        [*command, "-o", "killed"], cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        while not (tmp_path / "killed" / moment).exists() and process.poll() is None:
            time.sleep(0.01)
        process.kill()
    assert (tmp_path / "killed" / moment).exists()
    subprocess.run([*command, "-o", "killed"], cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


def test_a_folder_of_one_project_does_not_become_one_of_several(tmp_path: Path) -> None:
    projects = [str(written(tmp_path / name, FILES)) for name in ("one", "two")]
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/manifest.json").write_text("{}")
    with pytest.raises(DataError, match=r"/dev: .*one project"):
        api.build_problems("simcopilot", projects, tmp_path / "dev", jobs=1)
