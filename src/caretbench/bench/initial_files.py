"""Survey of a repository for ``caretbench init``: suites that fit, the files of a bench, and what it asks."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from importlib import resources
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from caretbench.bench.settings import STATE, SUITES, bench_settings, git_answer
from caretbench.build.projects.language_tables import project_languages
from caretbench.build.projects.project_storage import store_project
from caretbench.build.projects.setup.command_detection import detect_command
from caretbench.build.sources.licences import is_licence_file, repository_licence
from caretbench.errors import DataError
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.files import write_atomically
from caretbench.projects.project import place_fault
from caretbench.projects.settings import SETTINGS_FILE, read_settings
from caretbench.runs.generate import BYTES_PER_TOKEN
from caretbench.syntax import is_test_path, language_of

_WORKFLOWS: Final = {"github.yml": ".github/workflows/caretbench.yml", "gitlab.yml": ".gitlab/caretbench.yml"}


class Fit(NamedTuple):
    """A suite, whether a bench can build it of a repository, and why."""

    suite: str
    fits: bool
    why: str


class Survey(NamedTuple):
    """Properties of a repository; a prompt shows a file of ``prompt_tokens``, the median."""

    command: str
    licence: str
    fits: tuple[Fit, ...]
    prompt_tokens: int

    @property
    def suites(self) -> tuple[str, ...]:
        """Suites that fit."""
        return tuple(fit.suite for fit in self.fits if fit.fits)


def survey(root: Path) -> Survey:
    """Return the survey of a repository.

    Raises:
        DataError: the folder is missing or empty, or its settings are malformed.
    """
    settings = read_settings(root)
    project = store_project(root, SnapshotStore(), settings.ignore)
    languages = project_languages(project)
    detected, lacking = detect_command(project.snapshot, languages) if languages else (None, "")
    command = next((check.command for check in settings.checks), detected.command if detected else "")
    files = [path for path in root.iterdir() if path.is_file() and is_licence_file(path.name)]
    licence = repository_licence({path.name: path.read_text("utf-8", "replace") for path in files}) or ""
    sizes = [project.snapshot.entries[path].size for path in project.files if _is_mined(path, languages)]
    fits = tuple(_fits(languages, command, lacking, git_answer(root, "rev-list", "--count", "HEAD")))
    return Survey(command, licence, fits, -(-int(median(sizes or [0])) // BYTES_PER_TOKEN))


def _is_mined(path: str, languages: Collection[str]) -> bool:
    language = language_of(path)
    return language in languages and not is_test_path(path, str(language)) and place_fault(path) is None


def _fits(languages: Collection[str], command: str, lacking: str, commits: str) -> Iterator[Fit]:
    reason = lacking or f"no tests are found; name their command in {SETTINGS_FILE}: [[checks]] command = …"
    if not languages:
        reason = "it has no file of a language that problems are made of"
    elif command:
        reason = f"{', '.join(languages)}; tests by `{command}`"
    # What a test script lacks may come with the set-up.
    yield from (Fit(suite, bool(languages and (command or lacking)), reason) for suite in SUITES)
    history = f"{commits} commits" if commits else "no history of git"
    yield Fit("efcb", False, f"{history}; its questions are about pull requests: caretbench build efcb --help")
    for suite in ("devbench", "c3bench"):
        yield Fit(suite, False, f"a model must write its problems: caretbench build {suite} --help")


def write_files(root: Path, facts: Survey) -> tuple[list[str], list[str]]:
    """Write the files of a bench that are not there; return the paths of those, and of those that were.

    Raises:
        DataError: no suite fits.
    """
    if not facts.suites:
        raise DataError(f"{root}: no suite fits; {facts.fits[0].suite}: {facts.fits[0].why}")
    settings, folder = _template(SETTINGS_FILE), root.resolve()
    values = {"name": folder.name, "licence": facts.licence or "MIT", "command": facts.command or "make test"}
    values |= {"suites": str([*facts.suites]).replace("'", '"'), "root": str(folder)}
    for name, value in values.items():
        settings = settings.replace("{" + name + "}", value.replace("\n", " "))
    texts = {SETTINGS_FILE: settings, **{path: _template(name) for name, path in _WORKFLOWS.items()}}
    there = [path for path in texts if (root / path).exists()]
    written = [path for path in texts if path not in there]
    for path in written:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(root / path, texts[path])
    return written, there


def _template(name: str) -> str:
    return (resources.files("caretbench.bench") / "templates" / name).read_text("utf-8")


def cost_line(root: Path, facts: Survey) -> str:
    """Return what one bench asks of each model, about."""
    settings = bench_settings(root)
    number = settings.problems * len({*facts.suites} & {*settings.suites})
    return (
        f"a bench asks each model about {number} problems: some {number * facts.prompt_tokens:,} tokens in (the median "
        f"file has {facts.prompt_tokens:,}), at most {number * settings.max_tokens:,} out; {STATE}/ holds its files"
    )
