"""Every command that a page shows after ``$`` is run, and prints what the page shows."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from caretbench.files import cache_folder
from tests.support.page_commands import PageCommand, missing_line, page_commands
from tests.support.page_folder import ROOT, make_page_folder

_TABLE = tomllib.loads((ROOT / "tests/page_commands.toml").read_text("utf-8"))
_MEASURED = ("docs/evidence/", "docs/design/", "docs/_build/")
"""Pages whose output is of a day."""
_PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if not str(page.relative_to(ROOT)).startswith(_MEASURED) and [*page_commands(page, ROOT)]
]


def _reason(command: PageCommand) -> str | None:
    """Return why a command is not run; None if it is."""
    rows = (one for one in _TABLE["not_run"] if one["page"] == command.page)
    return next((one["reason"] for one in rows if command.text.startswith(one["command"])), None)


@pytest.mark.parametrize(
    ("expected", "output", "missing"),
    [
        (("a", "b"), "a\n\nb\nc\n", None),
        (("a", "b"), "a\nc\nb\n", "b"),
        (("a", "[…]", "b"), "a\nc\nd\nb\n", None),
        (("[…]", "b […] d", "[…]"), "a\nb c d\n", None),
        (("a  1",), "a      1\n", None),
        (("a",), "", "a"),
        (("[…]", "a", "c"), "a\nb\nc\n", "c"),
        (("a", "rows: 2 of 2"), "rows: 1 of 2, for 7 s now\na\n", None),
        (("rows: 2 of 2 problems",), "rows: 1 of 2 problems\n", "rows: 2 of 2 problems"),
    ],
)
def test_missing_lines(expected: tuple[str, ...], output: str, missing: str | None) -> None:
    assert missing_line(expected, output) == missing


def test_commands_go_on_after_a_backslash(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("text\n\n```\n$ one \\\n  two\nout\n$ three\n```\n\n```toml\nno = 1\n```\n")
    assert [(one.line, one.text, one.expected) for one in page_commands(page, tmp_path)] == [
        (4, "one two", ("out",)), (7, "three", ()),
    ]  # fmt: skip


def test_every_exception_is_of_a_command_that_exists() -> None:
    shown = [command for page in _PAGES for command in page_commands(page, ROOT)]
    for row in _TABLE["not_run"]:
        assert any(one.page == row["page"] and one.text.startswith(row["command"]) for one in shown), row
    assert {*_TABLE["prepare"]} <= {one.page for one in shown}


@pytest.fixture(scope="module")
def cache(place: Path) -> Path:
    """This machine's cache without the gate's verdicts: a report shows what was validated here before."""
    folder = place / "cache"
    folder.mkdir()
    for entry in cache_folder().iterdir():
        if entry.name != "validity":
            (folder / entry.name).symlink_to(entry)
    return folder


@pytest.mark.long
@pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_print_what_the_page_shows(page: Path, tmp_path: Path, cache: Path) -> None:
    make_page_folder(page, tmp_path)
    folders = (str(tmp_path / "bin"), str(Path(sys.executable).parent), os.environ["PATH"])
    environment = {**os.environ, "PATH": os.pathsep.join(folders), "NO_COLOR": "1", "COLUMNS": "200"}
    environment["CARETBENCH_CACHE"] = str(cache)
    for line in _TABLE["prepare"].get(str(page.relative_to(ROOT)), ()):
        subprocess.run(["/bin/bash", "-c", line], cwd=tmp_path, env=environment, capture_output=True, check=False)
    code = 0
    for command in page_commands(page, ROOT):
        if _reason(command) is not None:
            continue
        # the page may show the exit status of the command before
        script = f"(exit {code}); {command.text}"
        done = subprocess.run(
            ["/bin/bash", "-c", script], cwd=tmp_path, env=environment, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        code = done.returncode
        missing = missing_line(command.expected, done.stdout)
        assert missing is None, (
            f"{command.page}:{command.line}: $ {command.text}\nlacks: {missing}\n--- its output ---\n{done.stdout}"
        )
        assert command.expected or code == 0, f"{command.page}:{command.line}: $ {command.text}\n{done.stdout}"
