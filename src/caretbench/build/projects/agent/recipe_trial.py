"""Trial of a recipe: its commands run in a clean copy of a project, in a sandbox that reaches only package indexes."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from pathlib import PurePosixPath
from typing import Final

from caretbench.build.projects.agent.recipe import Recipe
from caretbench.build.projects.failure_reasons import failure_reason
from caretbench.build.projects.setup.project_setup import SETUP_LIMITS, SetupError, run_packed
from caretbench.build.projects.setup.project_tables import read_text
from caretbench.build.projects.setup.pytest_settings import installation_folders
from caretbench.errors import DataError
from caretbench.execution.execution_types import Limits, Status
from caretbench.execution.workspaces.snapshot_archive import MAX_PARTS, PART_MB, add_command_outputs
from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.execution.workspaces.workspace_request import WorkspaceResult
from caretbench.redaction import redact

_ESCAPE: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b\x0c\x0e-\x1f]")
_HEAD: Final = 1_500
_TAIL: Final = 5_000
_MAX_LINE: Final = 400
_README: Final = re.compile(r"readme(?:\.(?:md|rst|txt|adoc|markdown|org))?", re.IGNORECASE)
_MORE_HELP: Final = re.compile(r"(?:contributing|hacking|development|install|testing)(?:\.\w+)?", re.IGNORECASE)
_MAX_README: Final = 10_000
_MAX_NAMES: Final = 250


def shortened_log(text: str) -> str:
    """Return the beginning and the end of a log, without colours, progress bars, repeated lines and secrets."""
    whole = redact(text).replace("\r\n", "\n").split("\n")
    # A progress bar writes over its line: only what stands at the end was seen.
    seen = (_ESCAPE.sub("", line.rpartition("\r")[2] or line).rstrip()[:_MAX_LINE] for line in whole)
    lines: list[str] = []
    for line, same in groupby(seen):
        repeats = len(list(same)) - 1
        lines.append(f"{line} [{repeats} more times]" if line and repeats else line)
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
    # READMEs contain keys by mistake, and this text goes to a model.
    text = redact(read_text(snapshot, named[0]) or "")
    cut = len(text) - _MAX_README
    return named[0], text if cut <= 0 else f"{text[:_MAX_README]}\n[… {cut:,} characters more]"


def file_names(snapshot: Snapshot) -> list[str]:
    """Return the names of the project's files, the outer ones first; of the rest, numbers by folder."""
    paths = sorted(
        (path for path, entry in snapshot.entries.items() if entry.kind != "folder"),
        key=lambda path: (path.count("/"), path),
    )
    rest = Counter(PurePosixPath(path).parts[0] for path in paths[_MAX_NAMES:])
    return paths[:_MAX_NAMES] + [f"{folder}/… ({count} more files)" for folder, count in sorted(rest.items())]


_HOOK: Final = re.compile(r"conftest\.py|test_.*\.py|.*_test\.py|.*\.(?:test|spec)\.[cm]?[jt]sx?|.*Tests?\.java")
"""Names of test code: what a recipe adds must not decide how the project's own tests end."""
_START: Final = re.compile(r"(?:sitecustomize|usercustomize)\.py")
RECIPE_LIMITS: Final = SETUP_LIMITS.model_copy(update={"wall_s": 900.0, "cpu_s": 600.0})
"""Limits of all commands of one recipe."""
_NAMED: Final = 5
_DELETED: Final = 97
_OUT_OF_CPU: Final = 128 + 24
"""Exit status of a shell whose command used up the CPU time (Linux: SIGXCPU is 24)."""
_DELETED_MARK: Final = "caretbench: deleted "
_NO_ROOM: Final = re.compile(r"No space left on device|ENOSPC|Disk quota exceeded", re.IGNORECASE)
_SCRIPT: Final = f"""exec 2>&1
{{commands}}
while IFS= read -r path; do
  [ -e "$path" ] || [ -L "$path" ] || {{{{ printf '{_DELETED_MARK}%s\\n' "$path"; deleted=1; }}}}
done
[ -z "$deleted" ] || exit {_DELETED}"""


def run_recipe(
    engine: WorkspaceExecutor,
    project: Snapshot,
    recipe: Recipe,
    bundle: str | None = None,
    limits: Limits = RECIPE_LIMITS,
) -> Snapshot:
    """Run the commands of a recipe in a copy of a project, and return the project with the files that they created.

    Raises:
        SetupError: a command fails, or does not end; the project's files are changed or deleted, tests are added, or
            the new files are too large.
        DataError: this machine cannot run it.
    """
    if not recipe.commands:
        return project
    script = _SCRIPT.format(commands="\n".join(map(_step, recipe.commands)))
    paths = [path for path, entry in sorted(project.entries.items()) if entry.kind == "file" and "\n" not in path]
    listed = "".join(f"{path}\n" for path in paths).encode()
    result = run_packed(
        engine, project, script, bundle, limits, environment=recipe.environment, stdin=listed, identity="recipe"
    )
    refused = "".join(f"refused: {refusal}\n" for refusal in result.refusals[:_NAMED])
    log = shortened_log(f"{refused}{result.stdout.text}\n{result.stderr.text}")
    if result.status is not Status.PASSED:
        raise _failed(result, limits, log)
    if any(file.problem for file in result.files) or len(result.files) > MAX_PARTS:
        raise SetupError(
            f"files_too_large: the files that the commands create take more than {PART_MB * MAX_PARTS} MB packed", log
        )
    if not result.files:
        return project
    try:
        after = add_command_outputs(engine.workspace_runner.store, project, result.files)
    except DataError as error:
        raise SetupError(f"setup_fails: {error}", log) from None
    _check_files(project, after, log)
    return after


def _step(line: str) -> str:
    """Return the part of the script that shows and runs one command; the script ends where it fails."""
    # A shell for each command: `cd` or `exit` in one must not change the next, or end the check for deleted files.
    return f"printf '%s\\n' {shlex.quote(f'$ {line}')}; /bin/sh -c {shlex.quote(line)} < /dev/null || exit $?"


def _failed(result: WorkspaceResult, limits: Limits, log: str) -> DataError:
    """Return the error for commands that did not succeed, with the kind of the cause."""
    if result.status.is_machine_fault:
        return DataError(f"the set-up cannot run: {result.status.value}: {result.reason}")
    output = f"{result.stdout.text}\n{result.stderr.text}"
    if result.exit_code == _DELETED:
        names = [line.removeprefix(_DELETED_MARK) for line in output.splitlines() if line.startswith(_DELETED_MARK)]
        return SetupError(f"deletes_files: the commands delete files of the project: {_listed(names)}", log)
    if result.status is Status.TIMEOUT or result.exit_code == _OUT_OF_CPU:
        reason = result.reason or f"more than {limits.cpu_s:g} s of CPU"
        return SetupError(f"does_not_end: {reason}, the limit for all commands of a recipe", log)
    if _NO_ROOM.search(output):
        return SetupError("disk_full: the commands fill the disk of their sandbox", log)
    if result.refusals:
        return SetupError(f"network_refused: {'; '.join(result.refusals[:_NAMED])}", log)
    why = result.reason or f"exit status {result.exit_code}"
    return SetupError(f"setup_fails: {result.status.value}: {why}", log)


def _check_files(before: Snapshot, after: Snapshot, log: str) -> None:
    """Raise SetupError if files of the project differ, or if new files are test code or start with every Python."""
    changed = [
        path
        for path, entry in before.entries.items()
        if entry.kind != "folder" and (after.entries.get(path) is None or after.entries[path].content != entry.content)
    ]
    if changed:
        raise SetupError(f"changes_files: the commands change files of the project: {_listed(changed)}", log)
    installed = installation_folders(after)
    new = [path for path in after.entries if path not in before.entries and after.entries[path].kind != "folder"]
    planted = [path for path in new if _is_planted(PurePosixPath(path), installed)]
    if planted:
        raise SetupError(f"adds_tests: the commands create test code or start-up code: {_listed(planted)}", log)


def _is_planted(path: PurePosixPath, installed: Iterable[str]) -> bool:
    if _START.fullmatch(path.name):
        return True
    # Installed packages bring test files of their own, which no runner of the project collects.
    inside = "node_modules" in path.parts or any(path.is_relative_to(folder) for folder in installed)
    return not inside and _HOOK.fullmatch(path.name) is not None


def _listed(names: list[str]) -> str:
    rest = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")
