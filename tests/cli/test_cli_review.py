"""``caretbench review``: from problems to a review, its people, its status and its files; mistakes in one line."""

from __future__ import annotations

import http.cookiejar
import json
import os
import shutil
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.support.command_run import in_this_process as caretbench
from tests.support.simulated_people import decide_all

SCALES = ("usefulness", "realism", "category_alignment", "complexity_authenticity")


def test_a_review_of_the_starter_problems(tmp_path: Path) -> None:
    folder = str(tmp_path / "mine")
    made = caretbench("review", "new", folder, "--per-cell", "1", "--select", "language=python")
    assert made.returncode == 0, made.stderr
    assert "devbench-instance@2" in made.stdout
    invited = caretbench("review", "invite", folder, "ann", "bob", "--adjudicator", "eve", "--port", "1234")
    assert [line.split(": ")[0] for line in invited.stdout.splitlines()] == ["ann", "bob", "eve"]
    assert len({line.split("/join/")[1] for line in invited.stdout.splitlines()}) == 3
    status = caretbench("review", "status", folder).stdout
    assert "ann" in status
    assert "open" in status
    exported = caretbench("review", "export", folder, "-o", str(tmp_path / "out"))
    assert "settled.jsonl: 6 rows" in exported.stdout


def test_mistakes_end_with_one_line(tmp_path: Path) -> None:
    folder = str(tmp_path / "mine")
    own = tmp_path / "own.toml"
    own.write_text(
        'name = "own"\nversion = 1\ntitle = "t"\nsubject = "problem"\npeople = 1\n'
        'settlement = { rule = "majority", question = "keep" }\n'
        '[[questions]]\nname = "keep"\nkind = "choice"\ntext = "Keep?"\n'
        'options = [{ value = "yes", text = "Yes", key = "y" }, { value = "no", text = "No", key = "y" }]\n'
    )
    caretbench("review", "new", folder, "--per-cell", "1", "--select", "language=python")
    for words, expected in [
        (("new", folder), "there is a review already"),
        (("new", folder + "2", "--protocol", "none"), "unknown protocol 'none'; known: c3-instruction"),
        (("new", folder + "2", "--protocol", str(own)), "own.toml: questions.0: keep: two options have the key 'y'"),
        (("invite", folder), "nobody to invite"),
        (("invite", folder, "a b"), "'a b' is no name for a reviewer"),
        (("status", folder + "3"), "no review; make one with `caretbench review new"),
    ]:
        found = caretbench("review", *words)
        assert found.returncode == 2
        assert len(found.stderr.splitlines()) == 1, found.stderr
        assert expected in found.stderr


def test_protocols_are_listed_and_shown() -> None:
    listed = caretbench("review", "protocols").stdout.splitlines()
    assert len(listed) == 9
    shown = caretbench("review", "protocols", "completion-quality").stdout
    assert shown.startswith("# How good is this completion?")
    assert "helpfulness: How much work does it save the programmer?" in shown
    assert json.loads(caretbench("review", "protocols", "--json").stdout)[0]["name"] == "c3-instruction"


def test_decisions_go_to_another_copy_and_items_to_other_people(tmp_path: Path) -> None:
    mine, laptop = tmp_path / "mine", tmp_path / "laptop"
    caretbench("review", "new", str(mine), "--per-cell", "1", "--select", "language=python")
    caretbench("review", "invite", str(mine), "ann", "bob")
    shutil.copytree(mine, laptop)
    answers: dict[str, int | str] = dict.fromkeys(SCALES, 3) | {"decision": "accept"}
    made = decide_all(laptop, ["ann"], lambda _item, _name: answers)
    found = caretbench("review", "import", str(mine), str(laptop / "review.sqlite"))
    assert found.stdout == f"{mine}: {len(made)} new rows, 0 known\n"
    item = made[0].item
    assert "again: 1 item" in caretbench("review", "reopen", str(mine), item[:8]).stdout
    assert "bob no longer" in caretbench("review", "assign", str(mine), "bob", item[:8], "--release").stdout
    tables = json.loads(caretbench("review", "status", str(mine), "--json").stdout)
    assert [table["title"] for table in tables][:2] == ["People", "Items"]
    added = caretbench("review", "add", str(mine), "--per-cell", "1", "--select", "language=python|java")
    assert "6 new items, 0 of them in place of others; 6 are known" in added.stdout


def test_further_mistakes_end_with_one_line(tmp_path: Path) -> None:
    folder = str(tmp_path / "mine")
    caretbench("review", "new", folder, "--per-cell", "1", "--select", "language=python")
    broken = tmp_path / "decisions.jsonl"
    broken.write_text('{"item": 1}\n')
    for words, expected in [
        (("import", folder, str(broken)), f"{broken}:1: "),
        (("import", folder, str(tmp_path / "none.jsonl")), "none.jsonl"),
        (("reopen", folder), "no item to open again"),
        (("reopen", folder, "zz"), "zz: 0 items begin so"),
        (("assign", folder, "ann", "zz"), "zz: 0 items begin so"),
        (("new", folder + "2", "--criterion", "x"), "--criterion and --disputed are about the answers of a run"),
        (
            ("new", folder + "2", "--protocol", "simcopilot-block", "--suite", "efcb"),
            "is for simcopilot; found problems",
        ),
        (("new", folder + "2", "--protocol", "completion-quality", "--run", folder), "not a run's folder"),
        (("protocols", "none"), "unknown protocol 'none'"),
    ]:
        found = caretbench("review", *words)
        assert found.returncode == 2, words
        assert len(found.stderr.splitlines()) == 1, found.stderr
        assert expected in found.stderr


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn")
    folder = str(tmp_path / "mine")
    caretbench("review", "new", folder, "--per-cell", "1", "--select", "language=python")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = caretbench("review", "serve", folder, "--port", str(port))
    assert found.returncode == 2
    assert found.stderr.splitlines() == [
        f"caretbench: 127.0.0.1:{port}: Address already in use; choose another --port or --host"
    ]


def test_the_demo_shows_an_item(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn")
    words = [sys.executable, "-m", "caretbench", "review", "demo"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    ) as demo:
        assert demo.stdout is not None
        link = demo.stdout.readline().split()[1]
        address = link.partition("/join/")[0]
        visitor = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
        joining = urllib.request.Request(link, data=b"", headers={"Origin": address}, method="POST")  # noqa: S310  # http
        page = visitor.open(joining).read().decode()
        assert 'id="progress">0 of 1' in page  # twelve, and some twice
        assert 'form class="answers"' in page
        demo.terminate()
