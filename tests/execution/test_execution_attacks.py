"""Attacks in every language: contained, classified, flagged; and the run goes on."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

import pytest

from caretbench.execution.execution_types import ExecutionResult, Status
from caretbench.execution.sandbox import bubblewrap as walls
from caretbench.execution.scan.tamper import tamper_flags
from caretbench.files import cache_folder
from tests.support.attack_table import GOOD, NO_VERDICT, Attack, run, tables
from tests.support.compiled_programs import need_toolchain

pytestmark = pytest.mark.skipif(walls.find_bubblewrap() is None, reason="bubblewrap is not installed")

TABLES = tables()


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Provide the targets of the attacks: a listening server, a file that all may read, a variable."""
    secret = tmp_path_factory.mktemp("secret") / "secret"
    secret.write_text("planted")
    abstract = f"caretbench-{secrets.token_hex(8)}"
    planted = f"planted-{secrets.token_hex(8)}"
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as nameless,
        pytest.MonkeyPatch.context() as patch,
    ):
        nameless.bind(f"\0{abstract}")
        nameless.listen()
        patch.setenv("PLANTED_API_KEY", planted)
        yield {
            "@PLANTED@": planted,
            "@SECRET_FILE@": str(secret),
            "@HOST_HOME@": str(Path.home()),
            "@CACHE@": str(cache_folder()),
            "@PORT@": str(server.getsockname()[1]),
            "@ABSTRACT@": abstract,
            "@PID@": str(os.getpid()),
            "@MARKER@": f"daemon-{secrets.token_hex(8)}",
            "@UNIQUE@": secrets.token_hex(8),
            "@NESTED@": "(" * 50_000 + ")" * 50_000,
            "@NESTED_LESS@": "(" * 2_000 + ")" * 2_000,
            "@GIANT@": "x" * 4_100_000,
            "@WIDE@": "\U0001f600" * 1_100_000,
        }
        server.setblocking(False)
        with pytest.raises(BlockingIOError):  # nobody came
            server.accept()


_known: dict[tuple[str, str], Mapping[str, ExecutionResult]] = {}


def _results(
    language: str, places: Mapping[str, str], profile: Literal["default", "paper"] = "default"
) -> Mapping[str, ExecutionResult]:
    need_toolchain(language)
    if (language, profile) not in _known:
        _known[language, profile] = run(TABLES[language], places, profile)
    return _known[language, profile]


def _fault(attack: Attack, statuses: tuple[Status, ...], result: ExecutionResult) -> str:
    """Return what is wrong with the result of an attack; empty if it is contained and has one of the statuses."""
    said = f"{result.status}: {result.diagnostics} {result.reason} {result.stderr.text[-500:]}"
    if result.status in NO_VERDICT:
        return f"no verdict: {said}"
    if "REACHED" in result.stdout.text:
        return f"reached: {said}"
    if attack.searches and Status.PASSED in attack.statuses and "held" not in result.stdout.text:
        return f"did not search: {said}"
    return "" if result.status in statuses else f"not one of {statuses}: {said}"


def _faults(attacks: Iterable[tuple[Attack, tuple[Status, ...]]], results: Mapping[str, ExecutionResult]) -> list[str]:
    found = {attack.name: _fault(attack, statuses, results[attack.name]) for attack, statuses in attacks}
    return [f"{name}: {fault}" for name, fault in found.items() if fault]


@pytest.mark.parametrize("language", TABLES)
def test_attacks_are_contained_and_classified(language: str, places: dict[str, str]) -> None:
    """Costs 12 CPU seconds a language: each has ways out of a process that no other language's attacks try."""
    attacks = [(attack, attack.statuses) for attack in TABLES[language].attacks]
    assert _faults(attacks, _results(language, places)) == []


@pytest.mark.parametrize("language", TABLES)
def test_attacks_under_paper(language: str, places: dict[str, str]) -> None:
    attacks = [(attack, attack.paper) for attack in TABLES[language].attacks if attack.paper]
    assert _faults(attacks, _results(language, places, "paper")) == []


@pytest.mark.smoke
@pytest.mark.parametrize("language", TABLES)
def test_what_may_pass_is_flagged(language: str) -> None:
    for attack in TABLES[language].attacks:
        found = set(tamper_flags(attack.answer, "", language))
        assert {f"tamper:{flag}" for flag in attack.flags} <= found, attack.name
        if Status.PASSED in (*attack.statuses, *attack.paper) and not attack.searches:
            assert found, f"a forged pass without a flag: {attack.name}"


@pytest.mark.parametrize("language", TABLES)
def test_good_programs_beside_attacks_pass(language: str, places: dict[str, str]) -> None:
    results = _results(language, places)
    assert [results[f"{GOOD}-{number}"].status for number in range(2)] == [Status.PASSED] * 2


@pytest.mark.parametrize("language", TABLES)
def test_nothing_that_was_started_is_left(language: str, places: dict[str, str]) -> None:
    _results(language, places)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        listing = subprocess.run(["/bin/ps", "-eo", "args"], capture_output=True, text=True, check=True)
        if places["@MARKER@"] not in listing.stdout:
            return
        time.sleep(0.2)
    pytest.fail("a daemon outlived its program")
