"""Builds for which a model writes tests, against a scripted server, from the command line."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from caretbench.execution.sandbox import bubblewrap
from tests.support.model_server import Behaviour, ModelServer, Recorded
from tests.support.project_files import open_folder
from tests.support.pytest_copy import copy_pytest
from tests.support.written_tests import BAD, GOOD, SHOP, answered

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bubblewrap.find_bubblewrap() is None, reason="bubblewrap is not installed"),
]

OWN_TEST = "import shop\n\n\ndef test_size():\n    assert shop.size([1, 2]) == 2\n"
OWN_UNITTEST = (
    "import unittest\nimport shop\n\n\nclass SizeTest(unittest.TestCase):\n    def test_size(self):\n"
    "        self.assertEqual(shop.size([1, 2]), 2)\n"
)
BY_UNITTEST = ("--test-command", "python3 -m unittest -f")
KILLS = 8


@pytest.fixture
def place() -> Iterator[Path]:
    with open_folder() as folder:
        (folder / "shop").mkdir()
        (folder / "shop" / "shop.py").write_text(SHOP)
        (folder / "cache").mkdir(mode=0o755)
        yield folder


def with_pytest(place: Path, test: str = OWN_TEST) -> None:
    copy_pytest(place / "shop" / ".deps")
    if test:
        (place / "shop" / "tests").mkdir()
        (place / "shop" / "tests" / "test_shop.py").write_text(test)


def scripted(text: str) -> Callable[[Recorded, int], str]:
    return lambda _request, _choice: text


def command(place: Path, server: ModelServer | None, *options: str, output: str = "out") -> list[str]:
    argv = [sys.executable, "-m", "caretbench", "build", "codevbench", str(place / "shop"), "-o", str(place / output)]
    argv += ["--jobs", "2", "--max-candidates", "14", "--exclude", ".deps/*", *options]
    if server is not None:
        argv += ["-m", "tester=openai/gpt-4o-mini", "--base-url", f"{server.url}/v1", "--retries", "0"]
    return argv


def environment(place: Path) -> dict[str, str]:
    return os.environ | {"OPENAI_API_KEY": "k", "CARETBENCH_CACHE": str(place / "cache")}


def built(place: Path, server: ModelServer | None, *options: str, status: int = 0, output: str = "out") -> str:
    argv = command(place, server, *options, output=output)
    done = subprocess.run(argv, env=environment(place), capture_output=True, text=True, check=False)
    assert done.returncode == status, (done.stdout, done.stderr)
    return " ".join((done.stdout + done.stderr).split())


def manifest(place: Path, output: str = "out") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((place / output / "manifest.json").read_text())
    return found


def problems(place: Path, output: str = "out") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (place / output / "problems.jsonl").read_text().splitlines()]


def test_only_good_tests_stay_and_each_other_one_is_named(place: Path) -> None:
    with_pytest(place)
    before = {path: path.read_bytes() for path in (place / "shop").rglob("*") if path.is_file()}
    with ModelServer(answer=scripted(answered(*GOOD.values(), *(text for _, text in BAD.values())))) as server:
        said = built(place, server)
        [asked] = server.requests
    record = manifest(place)["tester"]
    named = {name.rpartition(": ")[2]: reason for name, reason in record["dropped"].items()}
    kinds = {name: reason.partition(":")[0] for name, reason in named.items()}
    assert kinds.pop("test_flaky") in {"flaky", "fails", "not_repeatable"}  # by chance
    assert kinds == {name: reason for name, (reason, _) in BAD.items() if name != "test_flaky"}
    assert len(record["kept"]) == len(GOOD)
    for name in BAD:
        assert f"written test 1: {name}: " in said
    assert "HOSTILE" not in said
    assert record["models"] == ["openai/gpt-4o-mini"]
    sent = str(asked.body["messages"][-1]["content"])
    assert "- total (line " in sent
    assert "- size" not in sent, "its tests reach it"
    assert "is sent for shop: code of shop.py, without keys and passwords" in said
    assert {path: path.read_bytes() for path in (place / "shop").rglob("*") if path.is_file()} == before

    found = problems(place)
    by = {author: [one for one in found if one["labels"]["tests_by"] == author] for author in ("model", "project")}
    assert by["model"]
    assert by["project"]
    for one in by["model"]:
        assert all("caretbench_written/test_shop_" in name for name in one["checks"][0]["tests"])
    for one in by["project"]:
        assert one["checks"][0]["tests"] == ["tests/test_shop.py::test_size"]
    assert re.search(r"tests by .* model \d+ ", said)


def test_a_project_without_tests_is_tested_by_written_ones_alone(place: Path) -> None:
    with ModelServer(answer=scripted(answered(*GOOD.values()))) as server:
        said = built(place, server, "--language", "python")
    assert manifest(place)["command"][:3] == ["python3", "-m", "unittest"]
    assert {one["labels"]["tests_by"] for one in problems(place)} == {"model"}
    assert f"{len(GOOD)} stay for" in said


def test_a_project_without_tests_uses_pytest_where_it_is_there(place: Path) -> None:
    with_pytest(place, "")
    with ModelServer(answer=scripted(answered(GOOD["test_total"]))) as server:
        built(place, server, "--max-candidates", "5")
    found = problems(place)
    assert "pytest" in manifest(place)["command"]
    assert {one["labels"]["tests_by"] for one in found} == {"model"}
    # The one test that was kept is the project's only one, so the command names none: all decide.
    assert {(*one["checks"][0]["tests"], one["checks"][0]["minimum_tests"]) for one in found} == {(1,)}


def test_a_project_without_tests_ends_with_the_reasons_if_none_stays(place: Path) -> None:
    with ModelServer(answer=scripted("I would rather not.")) as server:
        said = built(place, server, status=2)
    assert "no written test stays (openai/gpt-4o-mini: 1 requests, 1 malformed answers, 0 tests" in said
    assert "malformed_answer: it has no code fence" in said


def test_tests_after_the_time_are_not_examined_and_a_further_build_goes_on(place: Path) -> None:
    with ModelServer(answer=scripted(answered(GOOD["test_total"]))) as server:
        said = built(place, server, "--language", "python", "--tester-minutes", "0", status=2)
        assert "1: test_total: not_examined: 0 min were over (--tester-minutes)" in said
        built(place, server, "--language", "python", "--max-candidates", "3")
        assert len(server.requests) == 1
    assert len(manifest(place)["tester"]["kept"]) == 1


def test_unittest_counts_all_tests_and_labels_by_reach(place: Path) -> None:
    (place / "shop" / "test_shop.py").write_text(OWN_UNITTEST)
    with ModelServer(answer=scripted(answered(*GOOD.values()))) as server:
        built(place, server, *BY_UNITTEST)
    labels = {(one["reference"].strip(), one["labels"]["tests_by"]) for one in problems(place)}
    assert {author for _, author in labels} == {"model", "project"}
    assert not [text for text, author in labels if author == "project" and "found" in text]


def test_kills_leave_the_bytes_of_an_unbroken_build_and_ask_nothing_twice(place: Path) -> None:
    (place / "shop" / "test_shop.py").write_text(OWN_UNITTEST)
    text = answered(*GOOD.values(), *(BAD[name][1] for name in ("test_vacuous", "test_failing")))
    with ModelServer(answer=scripted(text)) as server:
        built(place, server, *BY_UNITTEST, output="whole")
    (place / "cache").rename(place / "old-cache")
    (place / "cache").mkdir(mode=0o755)
    with ModelServer(lambda _request: Behaviour(pause_s=0.3), answer=scripted(text)) as server:
        ends = []
        for number in range(KILLS):
            process = subprocess.Popen(
                command(place, server, *BY_UNITTEST), env=environment(place), start_new_session=True,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            time.sleep(1.5 + number)
            with contextlib.suppress(ProcessLookupError):  # the last ones have little to do
                os.killpg(process.pid, signal.SIGKILL)
            ends.append(process.wait())
        assert ends[:4] == [-signal.SIGKILL] * 4
        built(place, server, *BY_UNITTEST)
        total = len(server.requests)
        built(place, server, *BY_UNITTEST)
        assert len(server.requests) == total
    stored = [json.loads(line)["request"] for line in (place / "out" / "asked.jsonl").read_text().splitlines()]
    assert len(stored) == 1
    for name in ("problems.jsonl", "candidates.jsonl", "validity.jsonl", "manifest.json", "written_tests.jsonl"):
        assert (place / "out" / name).read_bytes() == (place / "whole" / name).read_bytes(), name


def test_a_dry_run_shows_the_requests_and_sends_nothing(place: Path) -> None:
    with ModelServer() as server:
        said = built(place, server, "--dry-run")
        assert server.requests == []
    assert "shop.py in shop" in said
    assert "Nothing was sent" in said
    assert not (place / "out" / "asked.jsonl").exists()


def test_a_remote_model_is_refused_where_only_local_ones_may_be_asked(place: Path) -> None:
    argv = [*command(place, None), "-m", "tester=openai/gpt-4o-mini", "--local-only"]
    done = subprocess.run(argv, env=environment(place), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--local-only: openai/gpt-4o-mini" in " ".join(done.stderr.split())


def test_a_spent_budget_ends_the_build_and_a_higher_one_goes_on(place: Path) -> None:
    prices = place / "prices.toml"
    prices.write_text('[models."openai/*"]\ninput_per_million = 0.0\noutput_per_million = 100.0\n')
    with ModelServer(answer=scripted(answered(*GOOD.values()))) as server:
        said = built(place, server, "--prices", str(prices), "--max-cost", "0.01", status=1)
        assert server.requests == []
        built(place, server, "--prices", str(prices), "--max-cost", "1")
    assert "--max-cost does not" in said
