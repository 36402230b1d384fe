"""Builds of variants by models against a scripted server, from the command line."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from caretbench.execution.sandbox import bubblewrap
from caretbench.people.review.records import ReviewItem
from caretbench.problem import Problem
from tests.support.c3bench_variants import HEAD, MIDDLE, RECURSION, REFUSED, SUM, TAIL, TEST, WHILE
from tests.support.command_run import in_this_process as caretbench
from tests.support.model_server import Behaviour, ModelServer, Recorded, error, half_body, rate_limited
from tests.support.simulated_people import all_items, decide_all

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bubblewrap.find_bubblewrap() is None, reason="bubblewrap is not installed"),
]

GOOD = (SUM, WHILE, RECURSION)
ALL = (*GOOD, *REFUSED.values())
BY_HAND = (MIDDLE, "Use one for loop with `value`.")
CATEGORIES = {MIDDLE: "control_flow"}
KILLS = 10
BOTH = ("first", "second")


def versions(*pairs: tuple[str, str]) -> str:
    rows = [{"code": code, "instruction": instruction, "category": "algorithmic"} for code, instruction in pairs]
    return json.dumps({"versions": rows})


def scripted(request: Recorded, _choice: int) -> str:
    """A generator with good and bad versions, one that refuses, and a checker that reads rightly."""
    system, asked = (message["content"] for message in request.body["messages"][:2])
    if "alternative implementations" in system:
        if request.body["model"] == "gpt-4o":
            return "I cannot help with that."
        return versions(*(ALL[:12] if "# first" in asked else [*ALL[12:], SUM, WHILE]))
    instruction = asked.split("given this instruction for it:\n\n")[1].split("\n")[0]
    wanted = next(code for code, said in (*ALL, BY_HAND) if said == instruction)
    shown = re.findall(r"Implementation (\w+):\n(.*?)(?=\n\nImplementation |\Z)", asked, re.DOTALL)
    letter = next((letter for letter, code in shown if code.strip() == wanted.strip()), "none")
    reading: dict[str, Any] = {
        "implementation": letter,
        "category": CATEGORIES.get(wanted, "algorithmic"),
        "demands": [],
        "forbids": [],
    }
    return json.dumps(reading | ({"category": "parameter"} if wanted == WHILE[0] and "# first" in asked else {}))


def written(folder: Path, *names: str) -> Path:
    """A file with a context for each name; its only implementation by hand is the known middle."""
    contexts = []
    for name in names:
        remark = "".join(f"# {name}, remark {number}: {'x' * number}\n" for number in range(8))
        by_hand = {"code": BY_HAND[0], "instruction": BY_HAND[1], "category": "control_flow"}
        contexts.append(
            {
                "id": name, "language": "python", "prefix": remark + HEAD, "suffix": TAIL, "tests": TEST,
                "entry_point": "sum_of_even", "implementations": [by_hand],
            }
        )  # fmt: skip
    path = folder / "contexts.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(context) + "\n" for context in contexts))
    return path


def command(folder: Path, server: ModelServer, names: Sequence[str], *options: str) -> tuple[list[str], dict[str, str]]:
    argv = [
        sys.executable,
        "-m",
        "caretbench",
        "build",
        "c3bench",
        "--variants",
        str(written(folder.parent, *names)),
        *options,
    ]
    argv += [
        "-m",
        "generator=loud=openai/gpt-4o-mini",
        "-m",
        "generator=polite=openai/gpt-4o",
        "-m",
        "checker=openai/gpt-4-turbo",
    ]
    argv += ["--base-url", f"{server.url}/v1", "--retries", "4", "-o", str(folder), "--connections", "1"]
    cache = folder.parent / "cache"
    cache.mkdir(mode=0o755, parents=True, exist_ok=True)
    environment = os.environ | {"OPENAI_API_KEY": "k", "CARETBENCH_CACHE": str(cache)}
    return argv, environment


def built(folder: Path, server: ModelServer, names: Sequence[str], *options: str, status: int = 0) -> str:
    argv, environment = command(folder, server, names, *options)
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status, (done.stdout, done.stderr)
    return done.stdout + done.stderr


def rows(folder: Path, name: str = "variants.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def test_only_good_versions_stay_and_every_other_one_is_counted(tmp_path: Path) -> None:
    """Two contexts, two generators, a server that fails first; refusals are counted, not asked for ever."""
    faults = [rate_limited(), error(500), half_body(), error(503)]
    with ModelServer(faults, answer=scripted) as server:
        built(tmp_path / "c3", server, BOTH)
        counts = Counter((row["author"], row["verdict"]) for row in rows(tmp_path / "c3"))
        assert counts["polite", "malformed"] == 2
        assert sum(count for (author, _), count in counts.items() if author == "loud") == len(ALL) + 2
        kept = [Problem.model_validate(row) for row in rows(tmp_path / "c3", "problems.jsonl")]
        # In the first context, the checker reads the while loop otherwise; it reads what no rule can read.
        vague = REFUSED["instruction: says nothing"][0]
        assert [(one.id.split("/")[1], one.reference) for one in kept if one.label("instruction_by") == "model"] == [
            ("first", SUM[0]),
            ("first", RECURSION[0]),
            ("second", vague),
            ("second", SUM[0]),
            ("second", WHILE[0]),
        ]
        assert [one.reference for one in kept if one.label("instruction_by") == "people"] == [MIDDLE] * 2
        unchecked = [one.reference for one in kept if not any(check.kind == "predicate" for check in one.checks)]
        assert unchecked == [vague]
        details = {row["detail"] for row in rows(tmp_path / "c3") if row["verdict"] == "instruction"}
        assert "the checker reads the category parameter, not algorithmic" in details
        asked = len(server.requests)
        before = (tmp_path / "c3" / "asked.jsonl").read_bytes()
        built(tmp_path / "c3", server, BOTH)
        assert len(server.requests) == asked  # all answers are stored, those of the refusing model too
        assert (tmp_path / "c3" / "asked.jsonl").read_bytes() == before


def test_a_request_that_is_refused_ends_the_build_and_is_asked_again(tmp_path: Path) -> None:
    refusing = True

    def script(request: Recorded) -> Any:
        return error(400, "not allowed") if refusing and "# second" in json.dumps(request.body) else None

    with ModelServer(script, answer=scripted) as server:
        said = built(tmp_path / "c3", server, BOTH, status=1)
        assert "generator, loud: 1 of 2 answers are missing (refused 1)" in said
        assert "polite: 1 of 2" in said
        assert not (tmp_path / "c3" / "problems.jsonl").exists()
        refusing = False
        asked = len(server.requests)
        built(tmp_path / "c3", server, BOTH)
        loud = [one for one in server.requests[asked:] if one.body["model"] == "gpt-4o-mini"]
        assert ["# second" in json.dumps(one.body) for one in loud] == [True]


def test_a_dry_run_shows_what_is_sent_where(tmp_path: Path) -> None:
    with ModelServer(answer=scripted) as server:
        shown = json.loads(built(tmp_path / "c3", server, BOTH, "--dry-run", "--json"))
        assert [(text["row"], text["key"].split("/")[0]) for text in shown["texts"]] == [
            ("generator=loud", "first"),
            ("generator=loud", "second"),
            ("generator=polite", "first"),
            ("generator=polite", "second"),
        ]
        assert "# first, remark 7: xxxxxxx\ndef sum_of_even" in shown["texts"][0]["text"]
        assert "assert candidate" not in json.dumps(shown)
        assert {row["place"] for row in shown["roles"].values()} == {"remote"}
        built(tmp_path / "c3", server, BOTH, "--local-only", status=2)
        assert server.requests == []
        assert not (tmp_path / "c3").exists()
        prices = tmp_path / "prices.toml"
        prices.write_text('[models."openai/*"]\ninput_per_million = 0\noutput_per_million = 100\n')
        said = built(tmp_path / "c3", server, BOTH[:1], "--prices", str(prices), "--max-cost", "0.42", status=1)
        assert "--max-cost does not" in said
        assert len(server.requests) == 1  # an answer of 4,096 tokens may cost 0.41 dollars
        built(tmp_path / "c3", server, BOTH[:1], "--prices", str(prices), "--max-cost", "2")


def test_ten_kills_change_no_byte_and_ask_nothing_twice(tmp_path: Path) -> None:
    """A build is killed while it asks, while it runs programs, and while it writes."""
    with ModelServer(answer=scripted) as server:
        built(tmp_path / "whole" / "c3", server, BOTH)
    folder = tmp_path / "killed" / "c3"
    with ModelServer(lambda _request: Behaviour(pause_s=0.15), answer=scripted) as server:
        killed = 0
        argv, environment = command(folder, server, BOTH)
        for number in range(KILLS):
            process = subprocess.Popen(argv, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            seen = len(server.requests)
            end = time.monotonic() + 60
            while process.poll() is None and len(server.requests) == seen and time.monotonic() < end:
                time.sleep(0.02)
            time.sleep(number * 0.12)  # from the first request to the runs of programs
            killed += process.poll() is None
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert killed >= KILLS // 2
        stored = {json.dumps(one) for one in asked_keys(folder)}
        before = len(server.requests)
        built(folder, server, BOTH)
        keys = asked_keys(folder)
        assert len(keys) == len({json.dumps(one) for one in keys})
        assert len(server.requests) - before == len(keys) - len(stored)  # only what was missing
        assert before - len(stored) <= killed  # of each kill, at most the request in flight is lost
        built(folder, server, BOTH)
        assert len(server.requests) - before == len(keys) - len(stored)
    for name in ("problems.jsonl", "variants.jsonl"):
        whole = (tmp_path / "whole" / "c3" / name).read_bytes()
        assert (folder / name).read_bytes() == whole.replace(b"/whole/contexts", b"/killed/contexts")


def asked_keys(folder: Path) -> list[tuple[str, ...]]:
    """Keys of the stored answers; a torn last line does not count."""
    lines = (folder / "asked.jsonl").read_text().split("\n")[:-1]
    names = ("role", "request", "prompt", "model", "parameters")
    return [tuple(json.loads(line)[name] for name in names) for line in lines]


def test_problems_that_people_reject_are_dropped(tmp_path: Path) -> None:
    review = tmp_path / "review"
    with ModelServer(answer=scripted) as server:
        built(tmp_path / "c3", server, BOTH)
        made = caretbench("review", "new", str(review), "--protocol", "c3-instruction", "--data", str(tmp_path / "c3"))
        assert made.returncode == 0, made.stderr
        first = min(item.id for item in all_items(review))

        def rule(item: ReviewItem, person: str) -> dict[str, int | str]:
            if item.id == first and person in "abc":
                return {"decision": "reject", "reason": "unclear"}
            return {"decision": "accept"}

        decide_all(review, "abcde", rule)
        assert caretbench("review", "export", str(review)).returncode == 0
        said = built(tmp_path / "c3", server, BOTH, "--reviewed", str(review))
    assert "7 of 7 problems; 1 " in said
    assert len(rows(tmp_path / "c3", "problems.jsonl")) == 6
