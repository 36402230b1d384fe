"""Texts that are shown to who proposes a recipe: logs, shortened and without secrets; README; names of files."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import PurePosixPath
from typing import Final

from caretbench.build.projects.failure_reasons import failure_reason
from caretbench.build.projects.setup.project_tables import read_text
from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.execution.workspaces.workspace_request import WorkspaceResult
from caretbench.redaction import redact

_ESCAPE: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b\x0c\x0e-\x1f]")
_HEAD: Final = 1_500
_TAIL: Final = 5_000
_MOST_LINE: Final = 400
_README: Final = re.compile(r"readme(?:\.(?:md|rst|txt|adoc|markdown|org))?", re.IGNORECASE)
_MORE_HELP: Final = re.compile(r"(?:contributing|hacking|development|install|testing)(?:\.\w+)?", re.IGNORECASE)
_MOST_README: Final = 10_000
_MOST_NAMES: Final = 250


def shortened_log(text: str) -> str:
    """Return the beginning and the end of a log, without colours, progress bars, repeated lines and secrets."""
    lines: list[str] = []
    repeats = 0
    for whole in redact(text).replace("\r\n", "\n").split("\n"):
        line = _ESCAPE.sub("", whole.rpartition("\r")[2] or whole).rstrip()[:_MOST_LINE]
        if lines and line == lines[-1]:
            repeats += 1
            continue
        if repeats:
            lines[-1] += f" [{repeats} more times]" if lines[-1] else ""
        repeats = 0
        lines.append(line)
    if repeats and lines[-1]:
        lines[-1] += f" [{repeats} more times]"
    short = "\n".join(lines).strip()
    if len(short) <= _HEAD + _TAIL:
        return short
    return f"{short[:_HEAD]}\n[… {len(short) - _HEAD - _TAIL:,} characters …]\n{short[-_TAIL:]}"


def result_log(result: WorkspaceResult) -> str:
    """Return the shortened log of a test command: reason, messages of failed tests, output."""
    failed = [test for test in result.tests if test.outcome in ("failed", "error")]
    messages = (f"{test.name}: {test.message}" for test in failed[:5])
    parts = (failure_reason(result), *messages, result.stdout.text, result.stderr.text)
    return shortened_log("\n".join(part for part in parts if part.strip()))


def readme(snapshot: Snapshot) -> tuple[str, str]:
    """Return name and text of the project's README, shortened, or of another file in its root that tells of tests."""
    roots = sorted(path for path, entry in snapshot.entries.items() if "/" not in path and entry.kind == "file")
    named = [path for path in roots if _README.fullmatch(path)] or [
        path for path in roots if _MORE_HELP.fullmatch(path)
    ]
    if not named:
        return "", ""
    text = redact(read_text(snapshot, named[0]) or "")
    cut = len(text) - _MOST_README
    return named[0], text if cut <= 0 else f"{text[:_MOST_README]}\n[… {cut:,} characters more]"


def file_names(snapshot: Snapshot) -> list[str]:
    """Return the names of the project's files, the outer ones first; of the rest, numbers by folder."""
    paths = sorted(
        (path for path, entry in snapshot.entries.items() if entry.kind != "folder"),
        key=lambda path: (path.count("/"), path),
    )
    rest = Counter(PurePosixPath(path).parts[0] for path in paths[_MOST_NAMES:])
    return paths[:_MOST_NAMES] + [f"{folder}/… ({count} more files)" for folder, count in sorted(rest.items())]
