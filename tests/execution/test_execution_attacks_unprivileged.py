"""The same attacks, started by an ordinary user: a child process of a user who owns nothing but a folder.

Those that only deceive our criterion from inside their own process are left out: who started them is nothing to them.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from caretbench.execution.execution_types import Status
from caretbench.execution.sandbox import bubblewrap as walls
from tests.support.attack_table import GOOD, NO_VERDICT, tables
from tests.support.language_rows import language_rows
from tests.support.other_user import PYTHON, USER, attack_home

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user"),
    pytest.mark.skipif(walls.find_bubblewrap() is None, reason="bubblewrap is not installed"),
]

CHILD = """
import json, sys
from attack_table import run, tables
places = json.loads(sys.argv[2])
table = tables()[sys.argv[1]]
chosen = [attack for attack in table.attacks if attack.leaves_its_process]
results = run(table, places, workers=4, attacks=chosen)
said = {
    name: (result.status, result.stdout.text[:4000],
           result.reason + result.stderr.text[-500:] + result.diagnostics[:500],
           result.isolation and result.isolation.user)
    for name, result in results.items()
}
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with attack_home() as folder:
        yield folder


@pytest.mark.parametrize("language", language_rows(tables()))
def test_attacks_of_an_ordinary_user(language: str, home: Path, tmp_path: Path) -> None:
    secret = home / "cache" / "secret"
    secret.write_text("planted")
    places = {
        "@PLANTED@": "planted-word", "@SECRET_FILE@": str(secret), "@HOST_HOME@": str(home),
        "@CACHE@": str(home / "cache"), "@PORT@": "9", "@ABSTRACT@": "absent", "@PID@": "999999",
        "@MARKER@": "left", "@UNIQUE@": "left",
        "@NESTED@": "(" * 20_000 + ")" * 20_000, "@NESTED_LESS@": "((()))",
        "@GIANT@": "x", "@WIDE@": "x",  # an argument is bounded: this row is of no use here
    }  # fmt: skip
    done = subprocess.run(
        [PYTHON, "-I", "-c", f"import sys; sys.path.insert(0, {str(home)!r})\n{CHILD}", language, json.dumps(places)],
        env={
            "PATH": os.environ["PATH"], "HOME": str(home / "cache"), "CARETBENCH_CACHE": str(home / "cache"),
            "TMPDIR": tempfile.gettempdir(), "PLANTED_API_KEY": "planted-word",
        },
        cwd="/", user=USER, group=USER, extra_groups=[], capture_output=True, text=True, check=False, timeout=500,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    results = json.loads(done.stdout)
    if {row[0] for row in results.values()} == {Status.SKIPPED}:
        pytest.skip(results[f"{GOOD}-0"][2])
    wrong = {}
    for attack in tables()[language].attacks:
        if "giant_source" in attack.name or not attack.leaves_its_process:
            continue
        status, printed, said, _ = results[attack.name]
        if status not in attack.statuses or status in NO_VERDICT or "REACHED" in printed:
            wrong[attack.name] = (status, printed[:200], said)
    assert not wrong
    assert {results[f"{GOOD}-{number}"][0] for number in range(2)} == {Status.PASSED}
    assert {row[3] for row in results.values() if row[3]} == {"caller"}
