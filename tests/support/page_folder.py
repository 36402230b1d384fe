"""Files that the pages' commands take for granted, in one folder."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

from tests.support.synthetic_events import write_events

ROOT = Path(__file__).parents[2]

_COMPLETER = 'import json, sys; json.load(sys.stdin); print(json.dumps({"text": "pass"}))\n'
_ENVIRONMENT = "os.environ.update(overrides)\n    yield\n    os.environ.update(before)\n"
_REFRESH = (
    "try:\n                return call(*args, **kwargs)\n            except StaleToken:\n                refresh()\n"
    "                return call(*args, **kwargs)\n"
)
_LOGGED = '''def logged(lines):
    """The number of lines, which are also printed."""
    for line in lines:
        ⟦print(line)⟧
    return len(lines)
⟦tests⟧
assert logged(["a", "b"]) == 2
'''


def make_page_folder(page: Path, folder: Path) -> None:
    """Write into ``folder`` what the commands of a page name: programs, recorded answers, projects, problems."""
    (folder / "completer.py").write_text(_COMPLETER)
    own = folder / "bin" / "my-completer"
    own.parent.mkdir()
    own.write_text(f"#!{sys.executable}\n{_COMPLETER}")
    own.chmod(0o755)
    (own.parent / "python3").symlink_to(sys.executable)
    _write_rows(folder / "tiny-model.jsonl", {"environment-overrides": _ENVIRONMENT, "refresh-stale-token": _REFRESH})
    _write_rows(folder / "other-model.jsonl", {"environment-overrides": "pass\n", "refresh-stale-token": _REFRESH})
    _write_rows(folder / "answers.jsonl", {"clamp": "pass\n"})
    for name in ("depot", "wayfarer"):
        shutil.copytree(ROOT / "src/caretbench/samples" / name, folder / name)
    _write_own_problems(page, folder / "mine/python/low_context")
    _write_words(folder / "words")
    write_events(folder / "events.jsonl", 400, 30)
    metric = (ROOT / "docs/how-to/adding-a-metric.md").read_text("utf-8")
    (folder / "closeness.py").write_text(metric.partition("```python\n")[2].partition("```")[0])


def _write_rows(path: Path, answers: dict[str, str]) -> None:
    rows = [{"problem_id": f"python/low_context/{name}", "text": text} for name, text in answers.items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def _write_own_problems(page: Path, folder: Path) -> None:
    """Write the program that DevBench's page shows; for the other page also one that a stub answers."""
    text = (ROOT / "docs/how-to/devbench.md").read_text("utf-8")
    shown = re.search(r"^```text\n(def clamp.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert shown is not None
    folder.mkdir(parents=True)
    (folder / "clamp.py").write_text(shown[1])
    if page.name == "verbs.md":
        (folder / "logged.py").write_text(_LOGGED)


def _write_words(folder: Path) -> None:
    """Write the two columns of C3-Bench's page as files."""
    text = (ROOT / "docs/how-to/c3bench.md").read_text("utf-8")
    shown = re.search(r"^# words.py +(?=# check_words.py)", text, re.MULTILINE)
    assert shown is not None
    width, lines = len(shown[0]), text[shown.start() :].split("\n```")[0].splitlines()[1:]
    folder.mkdir()
    for name, part in (("words.py", slice(None, width)), ("check_words.py", slice(width, None))):
        (folder / name).write_text("".join(f"{line[part].rstrip()}\n" for line in lines).rstrip() + "\n")
