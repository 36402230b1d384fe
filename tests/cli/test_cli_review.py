"""``caretbench review``: from problems to a review, its people, its status and its files; mistakes in one line."""

from __future__ import annotations

from pathlib import Path

from tests.support.command_run import in_this_process as caretbench


def test_a_review_of_the_starter_problems(tmp_path: Path) -> None:
    folder = str(tmp_path / "mine")
    made = caretbench("review", "new", folder, "--per-cell", "1", "--select", "language=python")
    assert made.returncode == 0, made.stderr
    assert "devbench-instance@1" in made.stdout
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
