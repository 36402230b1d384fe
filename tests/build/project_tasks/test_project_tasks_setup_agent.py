"""Builds whose set-up a model repairs, against a scripted server, from the command line."""

from __future__ import annotations

import json
import os
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

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bubblewrap.find_bubblewrap() is None, reason="bubblewrap is not installed"),
]

FILES = {
    "README.md": "# Shop\n\nBefore tests run `python3 tools/make_prices.py`, set SHOP_MODE=test. token=verysecret\n",
    "tools/make_prices.py": "import json\njson.dump({'apple': 2, 'pear': 3}, open('prices.json', 'w'))\n",
    "shop.py": (
        "import json\nimport os\n\nMODE = os.environ['SHOP_MODE']\n\n\ndef prices():\n"
        "    with open('prices.json') as file:\n        return json.load(file)\n\n\n"
        "def total(names):\n    found = prices()\n    value = 0\n    for name in names:\n"
        "        if name in found:\n            value += found[name]\n        else:\n            value += 1\n"
        "    return value\n"
    ),
    "tests/test_shop.py": (
        "import unittest\nimport shop\n\n\nclass ShopTest(unittest.TestCase):\n    def test_total(self):\n"
        "        self.assertEqual(shop.total(['apple', 'pear', 'pear']), 8)\n"
        "        self.assertEqual(shop.total(['apple', 'nut']), 3)\n        self.assertEqual(shop.total([]), 0)\n"
    ),
}
KILLS = 7
HALF = {"commands": ["python3 tools/make_prices.py"], "test_command": None, "environment": {}}
RIGHT = {**HALF, "environment": {"SHOP_MODE": "test"}}


def fenced(recipe: object) -> str:
    return f"```json\n{json.dumps(recipe)}\n```"


def answers(*texts: str) -> Callable[[Recorded, int], str]:
    """The n-th question of a conversation gets the n-th text, the last one for ever."""

    def answer(request: Recorded, _choice: int) -> str:
        number = sum(message["role"] == "assistant" for message in request.body["messages"])
        return texts[min(number, len(texts) - 1)]

    return answer


@pytest.fixture
def place() -> Iterator[Path]:
    with open_folder() as folder:
        for path, text in FILES.items():
            (folder / "shop" / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / "shop" / path).write_text(text)
        (folder / "cache").mkdir(mode=0o755)
        yield folder


def command(place: Path, server: ModelServer | None, *options: str, output: str = "out") -> list[str]:
    argv = [sys.executable, "-m", "caretbench", "build", "simcopilot", str(place / "shop"), "-o", str(place / output)]
    argv += ["--jobs", "1", "--max-candidates", "4", *options]
    if server is not None:
        argv += ["-m", "agent=openai/gpt-4o-mini", "--base-url", f"{server.url}/v1", "--retries", "0"]
    return argv


def environment(place: Path) -> dict[str, str]:
    return os.environ | {"OPENAI_API_KEY": "k", "CARETBENCH_CACHE": str(place / "cache")}


def built(place: Path, server: ModelServer | None, *options: str, status: int = 0, output: str = "out") -> str:
    argv = command(place, server, *options, output=output)
    done = subprocess.run(argv, env=environment(place), capture_output=True, text=True, check=False)
    assert done.returncode == status, (done.stdout, done.stderr)
    return " ".join((done.stdout + done.stderr).split())


def rows(place: Path, name: str = "recipes.jsonl", output: str = "out") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (place / output / name).read_text().splitlines()]


def last_message(request: Recorded) -> str:
    return str(request.body["messages"][-1]["content"])


def test_what_only_the_readme_tells_is_repaired_at_the_second_try(place: Path) -> None:
    before = {path: (place / "shop" / path).read_bytes() for path in FILES}
    with ModelServer(answer=answers(fenced(HALF), fenced(RIGHT))) as server:
        said = built(place, server)
        asked = list(server.requests)
    assert len(asked) == 2
    assert "shop: README.md (" in said
    assert "files (4 lines)" in said
    first, second = (last_message(request) for request in asked)
    assert "`python3 tools/make_prices.py`" in first
    assert "verysecret" not in json.dumps([request.body for request in asked])
    assert "tools/make_prices.py" in first
    assert "KeyError: 'SHOP_MODE'" in first
    assert "KeyError: 'SHOP_MODE'" in second, "the log of the first recipe"
    manifest = json.loads((place / "out" / "manifest.json").read_text())
    assert manifest["setup"] == "export SHOP_MODE=test && python3 tools/make_prices.py"
    problems = rows(place, "problems.jsonl")
    assert problems
    assert problems[0]["checks"][0]["environment"]["SHOP_MODE"] == "test"
    assert {path: (place / "shop" / path).read_bytes() for path in FILES} == before
    assert not (place / "shop" / "prices.json").exists()

    (place / "again").mkdir()
    (place / "again" / "recipes.jsonl").write_bytes((place / "out" / "recipes.jsonl").read_bytes())
    built(place, None, output="again")
    assert rows(place, "problems.jsonl", "again") == problems, "a stored recipe needs no model"


def test_a_stopped_build_repeats_no_question_and_gives_the_same_tasks(place: Path) -> None:
    texts = ("no recipe", fenced(HALF), fenced(RIGHT))
    with ModelServer(answer=answers(*texts)) as server:
        built(place, server, output="whole")
    with ModelServer(lambda _request: Behaviour(pause_s=0.2), answer=answers(*texts)) as server:
        for number in range(KILLS):
            seen = len(server.requests)
            process = subprocess.Popen(
                command(place, server), env=environment(place), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            end = time.monotonic() + 20
            while process.poll() is None and len(server.requests) == seen and time.monotonic() < end:
                time.sleep(0.02)
            time.sleep(number * 0.6)
            process.send_signal(signal.SIGKILL)
            process.wait()
        built(place, server)
        total = len(server.requests)
        built(place, server)
        assert len(server.requests) == total
    stored = [(row["request"], row["prompt"]) for row in rows(place, "asked.jsonl")]
    assert len(stored) == len(set(stored)) == 3
    for name in ("problems.jsonl", "candidates.jsonl", "validity.jsonl", "manifest.json"):
        assert (place / "out" / name).read_bytes() == (place / "whole" / name).read_bytes(), name


def test_the_number_of_tries_ends_it_and_every_fault_is_named(place: Path) -> None:
    texts = (
        "I would run make.",
        fenced(HALF),
        fenced(HALF),
        fenced({**RIGHT, "commands": ["rm -rf tests"]}),
        fenced({**RIGHT, "commands": ["python3 -c \"import urllib.request as r; r.urlopen('http://evil.test/x')\""]}),
        fenced({**RIGHT, "test_command": "true"}),
    )
    with ModelServer(answer=answers(*texts)) as server:
        said = built(place, server, "--agent-tries", "6", status=2)
        assert len(server.requests) == 6
        again = built(place, server, "--agent-tries", "6", status=2)
        assert len(server.requests) == 6, "nothing is asked twice"
    assert "of 6 works (--agent-tries)" in said
    for number, fault in enumerate(
        ("malformed_answer", "", "repeated_recipe", "deletes_files", "network_refused: evil.test", "reaches_nothing"), 1
    ):
        assert f"{number}: {fault}" in said
        assert f"{number}: {fault}" in again
    assert not (place / "out" / "problems.jsonl").exists()


def test_a_dry_run_shows_the_request_and_sends_nothing(place: Path) -> None:
    with ModelServer() as server:
        said = built(place, server, "--dry-run")
        assert "set-up of shop" in said
        assert "README.md" in said
        assert "Nothing was sent" in said
        assert server.requests == []
    assert not (place / "out" / "asked.jsonl").exists()


def test_a_remote_model_is_refused_where_only_local_ones_may_be_asked(place: Path) -> None:
    argv = [*command(place, None), "-m", "agent=openai/gpt-4o-mini", "--local-only"]
    done = subprocess.run(argv, env=environment(place), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--local-only: openai/gpt-4o-mini" in " ".join(done.stderr.split())


def test_a_spent_budget_ends_the_build_and_a_higher_one_goes_on(place: Path) -> None:
    prices = place / "prices.toml"
    prices.write_text('[models."openai/*"]\ninput_per_million = 0.0\noutput_per_million = 100.0\n')
    with ModelServer(answer=answers(fenced(HALF), fenced(RIGHT))) as server:
        said = built(place, server, "--prices", str(prices), "--max-cost", "0.01", status=1)
        assert server.requests == []
        built(place, server, "--prices", str(prices), "--max-cost", "1")
    assert "--max-cost does not" in said
