"""Builds of several sources, each in its own folder and within its own time; each ends as problems or with a reason.

``sources.jsonl`` is written last, with one row for each source; a folder without it is an unfinished build.
"""

from __future__ import annotations

import logging
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from caretbench.build.build_models import AnswersMissingError
from caretbench.build.sources.fetching.project_folders import ProjectFolder, ProjectFolders
from caretbench.build.sources.fetching.source_spec import SourceSpec
from caretbench.errors import DataError, MachineError
from caretbench.files import write_rows
from caretbench.progress import Progress
from caretbench.suites.stored_tasks import SOURCES_FILE, SourceOutcome
from caretbench.suites.suite_types import BuildResult
from caretbench.text_tables import align_columns


@dataclass
class BuildClock(Progress):
    """Time of one source, and its progress: a step after the end raises DataError.

    Args:
        progress: Receiver of steps and notes.
        max_s: Maximum time in seconds.
        source: Name of the source, in front of each step; empty if there is only one.
        cpu_s: CPU seconds of the source's commands, set by the builder.
    """

    progress: Progress
    max_s: float
    source: str = ""
    cpu_s: float = 0.0
    now: Callable[[], float] = time.monotonic
    _start: float = field(init=False)

    def __post_init__(self) -> None:
        self._start = self.now()

    def check(self) -> None:
        """Raise DataError if the time is over."""
        if self.now() - self._start > self.max_s:
            raise DataError(f"takes longer than {self.max_s / 60:g} min (--source-minutes)")

    def __call__(self, step: str, added: int, total: int | None, detail: str = "") -> None:
        """Count ``added`` more of a step."""
        self.check()
        self.progress(f"{self.source}: {step}" if self.source else step, added, total, detail)

    def note(self, line: str) -> None:
        """Report one line that is not the result."""
        self.progress.note(line)


class SourceBuilds(NamedTuple):
    """The end of each source, and its wall and CPU seconds in this run."""

    outcomes: tuple[SourceOutcome, ...]
    wall_s: tuple[float, ...]
    cpu_s: tuple[float, ...]


BuildOne = Callable[[ProjectFolder, Path, BuildClock], int]
"""Builds the problems of a project into a folder, and returns their number; DataError has the reason for none."""


def build_sources(
    specs: Mapping[str, SourceSpec],
    output: Path,
    folders: ProjectFolders,
    build_one: BuildOne,
    progress: Progress,
    *,
    max_s: float,
) -> SourceBuilds:
    """Build each source into its folder below ``output``, and write ``sources.jsonl``.

    Args:
        specs: Sources by the names of their folders.
        output: The folder of all.
        folders: Fetches projects.
        build_one: Builds one project.
        progress: Receiver of steps and notes.
        max_s: Maximum time of each source in seconds.

    Raises:
        MachineError: this machine lacks something, which no other source changes.
    """
    progress("sources", 0, len(specs))
    outcomes, seconds, cpu_seconds = [], [], []
    for name, spec in specs.items():
        clock = BuildClock(progress, max_s, spec.shown)
        started = time.monotonic()
        outcomes.append(_build(name, spec, output / name, folders, build_one, clock))
        seconds.append(time.monotonic() - started)
        cpu_seconds.append(clock.cpu_s)
        progress("sources", 1, None)
        if outcomes[-1].reason:
            progress.note(f"{outcomes[-1].source}: {outcomes[-1].reason}")
    write_rows(output / SOURCES_FILE, outcomes)
    return SourceBuilds(tuple(outcomes), tuple(seconds), tuple(cpu_seconds))


def _build(
    name: str, spec: SourceSpec, folder: Path, folders: ProjectFolders, build_one: BuildOne, clock: BuildClock
) -> SourceOutcome:
    outcome = SourceOutcome(source=spec.shown, folder=name)
    try:
        project = folders.open(spec)
        outcome = outcome.model_copy(update=project.model_dump(include={"origin", "revision", "sha256", "licence"}))
        clock.check()
        problems = build_one(project, folder, clock)
    except MachineError:
        raise
    except (AnswersMissingError, DataError, OSError) as error:
        return outcome.model_copy(update={"reason": str(error).removeprefix(f"{spec.shown}: ")})
    except Exception as error:  # an unknown project may show a mistake of this program; the others go on
        logging.getLogger("caretbench").debug("%s", spec.shown, exc_info=True)
        return outcome.model_copy(update={"reason": f"{type(error).__name__}: {error}"})
    return outcome.model_copy(update={"problems": problems, "reason": "" if problems else "no valid task"})


def sources_result(suite: str, built: SourceBuilds, output: Path, refused: Mapping[str, int]) -> BuildResult:
    """Return the printed result of a build of several sources; not usable if there is no problem."""
    total = sum(one.problems for one in built.outcomes)
    good = sum(bool(one.problems) for one in built.outcomes)
    return BuildResult(
        lines=(
            *_table(built),
            *crawl_lines(refused),
            f"\n{output}: {total} tasks of {good} of {len(built.outcomes)} sources; "
            f"caretbench run {suite} --data {shlex.quote(str(output))} -m …",
        ),
        numbers={
            "tasks": total,
            "sources": [
                one.model_dump(mode="json", exclude={"schema_version"})
                | {"wall_s": round(wall_s, 1), "cpu_s": round(cpu_s, 1)}
                for one, wall_s, cpu_s in zip(*built, strict=True)
            ],
            "refused_repositories": dict(refused),
        },
        usable=bool(total),
    )


def _table(built: SourceBuilds) -> Iterator[str]:
    rows = [
        [one.source, str(one.problems), f"{wall_s / 60:.1f}", f"{cpu_s / 60:.1f}", one.reason]
        for one, wall_s, cpu_s in zip(*built, strict=True)
    ]
    yield from align_columns(rows, ("source", "tasks", "minutes", "CPU minutes", "reason"))


def crawl_lines(refused: Mapping[str, int]) -> Sequence[str]:
    """Return one line about the repositories that a crawl refused; none if there are none."""
    if not refused:
        return ()
    return ("\nrefused repositories: " + ", ".join(f"{count} {reason}" for reason, count in refused.items()),)


def crawl_result(specs: Mapping[str, SourceSpec], output: Path, refused: Mapping[str, int]) -> BuildResult:
    """Return the printed result of a build that stops after the crawl."""
    sources: list[JsonValue] = [spec.shown for spec in specs.values()]
    last = f"\n{output}: {len(specs)} sources; the same command without --crawl-only builds them"
    return BuildResult(
        lines=(*(spec.shown for spec in specs.values()), *crawl_lines(refused), last),
        numbers={"sources": sources, "refused_repositories": dict(refused)},
        usable=bool(specs),
    )
