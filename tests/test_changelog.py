"""Files of `changelog.d/`: each is a short entry of a known kind, and a release collects them in CHANGELOG.md."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "changelog.d"
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["towncrier"]
KINDS = {kind["directory"]: kind["name"] for kind in SETTINGS["type"]}
FRAGMENTS = [path for path in sorted(FOLDER.iterdir()) if path.name not in SETTINGS["ignore"]]
MAXIMUM_WORDS = 90


def faults(name: str, text: str) -> list[str]:
    """Return what is wrong with a fragment."""
    parts = re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*\.([a-z]+)\.md", name)
    found = [] if parts and parts[1] in KINDS else [f"the name is not SLUG.KIND.md with a kind of {', '.join(KINDS)}"]
    if len(text.split()) > MAXIMUM_WORDS:
        found.append(f"over {MAXIMUM_WORDS} words")
    if not text.strip().endswith((".", ")")) or re.search(r"^\s*(?:#|[-*] |```|\|)|\n\s*\n", text, re.MULTILINE):
        found.append("no plain sentences")
    return found


def test_every_fragment_is_a_short_entry_of_a_known_kind() -> None:
    found = {path.name: faults(path.name, path.read_text("utf-8")) for path in FRAGMENTS}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("a-new-option.feature.md", "One sentence.", "the name"),
        ("A_New.added.md", "One sentence.", "the name"),
        ("a.added.md", "word " * 90 + "end.", "over 90 words"),
        ("a.added.md", "- One sentence.", "no plain"),
        ("a.added.md", "One.\n\nTwo.", "no plain"),
        ("a.added.md", "", "no plain"),
    ],
)
def test_faults_of_a_fragment(name: str, text: str, fault: str) -> None:
    assert [one for one in faults(name, text) if one.startswith(fault)]


def test_a_release_moves_the_fragments_above_what_is_there(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "CHANGELOG.md", "src/caretbench/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(FOLDER, tmp_path / "changelog.d")
    (tmp_path / "changelog.d" / "trial.fixed.md").write_text("A trial is\nmended.\n")
    command = [sys.executable, "-m", "towncrier", "build", "--yes", "--version", "7.8.9", "--date", "2030-01-02"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    head, _, former = (ROOT / "CHANGELOG.md").read_text("utf-8").partition("## [Unreleased]\n")
    text = (tmp_path / "CHANGELOG.md").read_text("utf-8")
    assert text.startswith(f"{head}## [Unreleased]\n\n## [7.8.9] - 2030-01-02\n\n### ")
    assert text.endswith(former)
    new = text.removeprefix(head).removesuffix(former)
    assert "### Fixed\n\n" in new
    assert "- A trial is\n  mended.\n" in new
    assert len(re.findall("^- ", new, re.MULTILINE)) == len(FRAGMENTS) + 1
    assert [path.name for path in (tmp_path / "changelog.d").iterdir()] == SETTINGS["ignore"]
