"""What is shown of logs, README and names of files."""

from pathlib import Path

import pytest

from caretbench.build.projects.agent.recipe_trial import file_names, readme, shortened_log
from tests.support.project_files import snapshot


def test_a_log_is_shown_without_colours_bars_and_repeats() -> None:
    text = "\x1b[31mred\x1b[0m\n 10%\r 50%\rdone\nsame\nsame\nsame\nlast\n\n\n"
    assert shortened_log(text) == "red\ndone\nsame [2 more times]\nlast"


def test_a_long_log_keeps_beginning_and_end() -> None:
    short = shortened_log("\n".join(f"line {number}" for number in range(5000)))
    assert short.startswith("line 0\nline 1\n")
    assert short.endswith("line 4999")
    assert "characters …]" in short
    assert len(short) < 7_000
    assert len(shortened_log("x" * 1_000_000)) <= 400


def test_secrets_are_not_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "hunter2hunter2")
    text = "key hunter2hunter2 and sk-abcdefghijklmnop"
    assert shortened_log(text) == "key [redacted] and [redacted]"
    assert readme(snapshot(tmp_path, {"README.md": text}))[1] == "key [redacted] and [redacted]"


def test_the_readme_is_found_and_cut(tmp_path: Path) -> None:
    files = {"docs/README.md": "no", "readme.rst": "y" * 10_100, "INSTALL": "less"}
    name, text = readme(snapshot(tmp_path / "a", files))
    assert name == "readme.rst"
    assert text == "y" * 10_000 + "\n[… 100 characters more]"
    assert readme(snapshot(tmp_path / "b", {"CONTRIBUTING.md": "make", "a.py": ""})) == ("CONTRIBUTING.md", "make")
    assert readme(snapshot(tmp_path / "c", {"a.py": ""})) == ("", "")


def test_names_of_many_files_are_counted_by_folder(tmp_path: Path) -> None:
    files = {f"data/{number:03}.txt": "" for number in range(300)} | {"a.py": "", "pack/sub/b.py": ""}
    names = file_names(snapshot(tmp_path, files))
    assert names[:2] == ["a.py", "data/000.txt"]
    assert names[250:] == ["data/… (51 more files)", "pack/… (1 more files)"]
