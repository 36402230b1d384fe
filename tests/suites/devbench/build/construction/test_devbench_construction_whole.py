"""All cells from generation over repair, gate, review, rejection and regeneration to a release, without a network."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from playwright.sync_api import Browser

from caretbench.people.review.database import DATABASE_NAME, ReviewDatabase
from caretbench.suites.devbench.build.construction.build_folder import BuildFolder
from caretbench.suites.devbench.build.construction.scenario_grid import cells
from tests.support.attack_table import tables
from tests.support.replayed_answers import replayed_generator, written_answers
from tests.support.report_browser import chromium, needs_browser
from tests.support.review_pages import joined, open_item, press, settled
from tests.support.review_server import running_server

pytestmark = [pytest.mark.long, needs_browser]
SEED = 4
REJECTED = 6


def caretbench(*words: object) -> str:
    ran = subprocess.run(
        [sys.executable, "-m", "caretbench", *map(str, words)], capture_output=True, text=True, check=False
    )
    # A build ends with 1 where the program has no more answers for the scenarios of a cell.
    is_short = words[0] == "build" and "no scenario is left for" in ran.stdout
    assert ran.returncode == int(is_short), f"{words}: {ran.stderr[-3000:]}"
    return ran.stdout


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


def review_in_browser(browser: Browser, review: Path, rejected: set[str]) -> None:
    """Two people decide every item by keys; both reject the same problems, for two reasons."""
    links = caretbench("review", "invite", review, "ann", "bob", "--adjudicator", "eve")
    with ReviewDatabase(review / DATABASE_NAME) as database:
        problems = {name: item.problem_id for _, name, item in database.items()}
    with running_server(review) as server:
        for person in ("ann", "bob"):
            line = next(line for line in links.splitlines() if person in line)
            page = joined(browser, server, line.rpartition("/join/")[2].split()[0])
            while (entry := open_item(page)) is not None:
                problem = problems.get(entry.rpartition(":")[0], "")
                press(page, "2232r2" if problem in rejected else "4344a")
            settled(page)
            assert page.faults == []  # type: ignore[attr-defined]
            page.context.close()


def test_all_cells_from_generation_to_a_release(browser: Browser, tmp_path: Path) -> None:
    hostile = {name: table.attacks[0].answer for name, table in tables().items()}
    model = replayed_generator(tmp_path, written_answers(), SEED, hostile=hostile)
    mine = tmp_path / "mine"
    options = ("--patience", 60, "--compare", tmp_path / "public", "-o", mine)
    six = [word for name in ("python", "javascript", "typescript", "java", "cpp", "csharp")
           for word in ("--language", name)]  # fmt: skip
    caretbench("build", "devbench", "-m", model, *six, "-n", 2, "--scenario-seed", SEED, "--licence", "MIT", *options)
    caretbench(
        "build", "devbench", "-m", model, "--language", "go", "-n", 1, "--licence", "MIT", *options
    )  # the same folder grows
    folder = BuildFolder(mine)
    rows = folder.instances()
    assert {row.scenario.cell for row in rows.values()} == {"/".join(cell) for cell in cells()}
    assert all(set(row.checks.values()) == {"ok"} for row in rows.values())
    outcomes = Counter(attempt.outcome for attempt in folder.attempts())
    assert {"malformed", "cut_off", "refused", "twin", "text", "gate", "instance"} <= outcomes.keys()

    caretbench("review", "new", tmp_path / "review", "--protocol", "devbench-instance", "--data", mine)
    index = json.loads((tmp_path / "index.json").read_text("utf-8"))
    usable = {
        cell: sum(bool(one["answer"]["suffix"].strip()) for one in found) for cell, found in index["cells"].items()
    }
    spare = sorted(row.id for row in rows.values() if usable[row.scenario.cell] > 2)  # one is left for another try
    rejected = set(spare[:: len(spare) // REJECTED][:REJECTED])
    review_in_browser(browser, tmp_path / "review", rejected)
    caretbench("review", "export", tmp_path / "review")
    caretbench("build", "devbench", "-m", model, "--licence", "MIT", *options,
               "--again", tmp_path / "review" / "rejections.jsonl")  # fmt: skip
    after = folder.instances()
    assert not after.keys() & rejected
    assert Counter(row.scenario.cell for row in after.values()) == Counter(row.scenario.cell for row in rows.values())
    assert sum(attempt.outcome == "rejected" for attempt in folder.attempts()) == REJECTED

    caretbench("dataset", "release", mine, "-o", tmp_path / "1.0.0", "--holdout", "0.2",
               "--review", tmp_path / "review")  # fmt: skip
    public = [json.loads(line)["id"] for line in (tmp_path / "1.0.0" / "instances.jsonl").read_text().splitlines()]
    held_out = (tmp_path / "1.0.0-holdout" / "instances.jsonl").read_text().splitlines()
    assert len(public) + len(held_out) == len(after)
    print(dict(outcomes), len(public), len(held_out))  # noqa: T201 - with -s
