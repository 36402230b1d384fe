"""Survey of a repository for ``caretbench init``: suites that fit, the files of a bench, and what it asks."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from caretbench.bench.settings import STATE, SUITES, bench_settings
from caretbench.build.projects.setup.command_detection import detect_command
from caretbench.build.sources.licences import is_licence_file, repository_licence
from caretbench.errors import DataError
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.files import write_atomically
from caretbench.projects.project import StoredProject, place_fault, project_languages, store_project
from caretbench.projects.settings import SETTINGS_FILE, read_settings
from caretbench.runs.generate import BYTES_PER_TOKEN
from caretbench.syntax import is_test_path, language_of

_GIT_S: Final = 30.0
_WORKFLOWS: Final = {"github.yml": ".github/workflows/caretbench.yml", "gitlab.yml": ".gitlab/caretbench.yml"}
_OF_MODELS: Final = "a model must write its problems: caretbench build {0} --help"


class Fit(NamedTuple):
    """A suite, whether a bench can build it of a repository, and why."""

    suite: str
    fits: bool
    why: str


class Survey(NamedTuple):
    """Properties of a repository for a bench."""

    languages: tuple[str, ...]
    command: str
    commits: int
    licence: str
    fits: tuple[Fit, ...]
    prompt_tokens: int
    """Median size of a file that problems are made of, in tokens; a prompt shows one file."""


def survey(root: Path) -> Survey:
    """Return the survey of a repository.

    Raises:
        DataError: the folder is missing or empty, or its settings are malformed.
    """
    settings = read_settings(root)
    project = store_project(root, SnapshotStore(), settings.ignore)
    languages = project_languages(project)
    found, lacking = detect_command(project.snapshot, languages) if languages else (None, "")
    command = next((check.command for check in settings.checks), found.command if found else "")
    texts = {
        path.name: path.read_text("utf-8", "replace")
        for path in root.iterdir()
        if path.is_file() and is_licence_file(path.name)
    }
    commits = _commits(root)
    sizes = [project.snapshot.entries[path].size for path in _mined(project, languages)]
    return Survey(
        languages, command, commits, repository_licence(texts) or "",
        tuple(_fits(languages, command, lacking, commits)), -(-int(median(sizes or [0])) // BYTES_PER_TOKEN),
    )  # fmt: skip


def _mined(project: StoredProject, languages: tuple[str, ...]) -> Iterator[str]:
    for path in sorted(project.files):
        language = language_of(path)
        if language in languages and not is_test_path(path, str(language)) and place_fault(path) is None:
            yield path


def _fits(languages: tuple[str, ...], command: str, lacking: str, commits: int) -> Iterator[Fit]:
    if not languages:
        reason = "it has no file of a language that problems are made of"
    elif command:
        reason = f"{', '.join(languages)}; tests by `{command}`"
    else:
        reason = lacking or f"no tests are found; name their command in {SETTINGS_FILE}: [[checks]] command = …"
    # What a test script needs may come with the set-up.
    may = bool(languages) and bool(command or lacking)
    yield from (Fit(suite, may, reason) for suite in SUITES)
    history = f"{commits} commits" if commits else "no history of git"
    yield Fit("efcb", False, f"{history}; its questions are about pull requests: caretbench build efcb --help")
    yield from (Fit(suite, False, _OF_MODELS.format(suite)) for suite in ("devbench", "c3bench"))


def _commits(root: Path) -> int:
    command = ["git", "-C", str(root), "rev-list", "--count", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_GIT_S, check=False)
    except (OSError, subprocess.SubprocessError):
        return 0
    return int(done.stdout) if done.returncode == 0 and done.stdout.strip().isdigit() else 0


def write_files(root: Path, found: Survey) -> tuple[list[str], list[str]]:
    """Write the files of a bench that are not there; return the paths of those, and of those that were.

    Raises:
        DataError: no suite fits.
    """
    suites = [one.suite for one in found.fits if one.fits]
    if not suites:
        raise DataError(f"{root}: no suite fits; {found.fits[0].suite}: {found.fits[0].why}")
    values = {
        "name": root.resolve().name, "licence": found.licence or "MIT", "command": found.command or "make test",
        "suites": "[" + ", ".join(f'"{one}"' for one in suites) + "]", "root": str(root.resolve()),
    }  # fmt: skip
    settings = _template("caretbench.toml")
    for name, value in values.items():
        settings = settings.replace("{" + name + "}", value.replace("\\", "\\\\").replace("\n", " "))
    texts = {SETTINGS_FILE: settings, **{path: _template(name) for name, path in _WORKFLOWS.items()}}
    written: list[str] = []
    there: list[str] = []
    for path, text in texts.items():
        place = root / path
        (there if place.exists() else written).append(path)
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(place, text)
    return written, there


def _template(name: str) -> str:
    return (resources.files("caretbench.bench") / "templates" / name).read_text("utf-8")


def cost_line(root: Path, found: Survey) -> str:
    """Return what one bench asks of each model, at most."""
    settings = bench_settings(root)
    number = settings.problems * len([one for one in found.fits if one.fits and one.suite in settings.suites])
    return (
        f"a bench asks each model about {number} problems: about {number * found.prompt_tokens:,} tokens in (the "
        f"median file has {found.prompt_tokens:,}) and {number * settings.max_tokens:,} out; {STATE}/ holds its files"
    )
