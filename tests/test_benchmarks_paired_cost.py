"""The comparison of two checkouts names what the later one made dearer, and says so by its exit status."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

COMMAND = """#!{python}
import sys, time
while time.process_time() < (0.1 if "score" in sys.argv or {cheap} else 0.4):
    pass
"""


def _checkout(path: Path, *, cheap: bool) -> Path:
    """Return a checkout whose `caretbench` takes CPU: 0.1 s for `score`, and 0.4 s for `report` unless ``cheap``."""
    program = path / ".venv/bin/caretbench"
    program.parent.mkdir(parents=True)
    program.write_text(COMMAND.format(python=sys.executable, cheap=cheap))
    program.chmod(0o755)
    return path


def _compared(before: Path, after: Path, *options: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, str(ROOT / "benchmarks/paired_cost.py"), str(before), str(after), "--data", str(before)]
    return subprocess.run([*argv, *options], capture_output=True, text=True)


def test_what_became_dearer_is_named(tmp_path: Path) -> None:
    before, after = _checkout(tmp_path / "before", cheap=True), _checkout(tmp_path / "after", cheap=False)
    done = _compared(before, after, "--work", "report")
    *_, row, last = done.stdout.splitlines()
    assert done.returncode == 1, done.stderr
    name, early, late, ratio = (cell.strip() for cell in row.strip("|").split("|")[:4])
    assert name == "report"
    assert float(ratio) > 2 < float(late) / float(early)
    assert last.startswith("above 1.10: report: CPU s")


def test_what_became_cheaper_is_no_complaint(tmp_path: Path) -> None:
    before, after = _checkout(tmp_path / "before", cheap=False), _checkout(tmp_path / "after", cheap=True)
    done = _compared(before, after, "--work", "report")
    assert "report: CPU" not in done.stdout.splitlines()[-1]


def test_every_language_profile_and_starter_set_is_compared(tmp_path: Path) -> None:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import paired_cost
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))
    for full in (False, True):
        works = list(paired_cost.works(tmp_path, paired_cost.LANGUAGES, full=full))
        names = [work.name for work in works]
        assert len(names) == len(set(names))
        assert {f"{language}/{kind}" for language in ("python", "cpp") for kind in ("default", "paper", "cached")} <= {
            *names
        }
        assert {"starter/efcb/default", "starter/codevbench/default", "similarity", "report"} <= {*names}
        assert ("starter/c3bench/paper" in names) is full
        limited = [work for work in works if "--limit" in work.arguments]
        assert bool(limited) is not full
