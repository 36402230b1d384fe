"""``caretbench build efcb``: questions out of the merged changes of repositories."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from caretbench.cli.common import AsJson, Steps, note, say_json
from caretbench.errors import DataError

if TYPE_CHECKING:
    from pydantic import JsonValue

    from caretbench.problem import Profile
    from caretbench.sources.pull_request import PullRequest
    from caretbench.sources.repository import RepositoryFacts
    from caretbench.suites.efcb.output.folder import EfcbFolder


def efcb(
    git: Annotated[
        list[Path] | None,
        typer.Option("--git", metavar="PATH", help="A clone, which is only read; may be repeated."),
    ] = None,
    github: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OWNER/NAME",
            help="A repository at GitHub, by its API; may be repeated. GITHUB_TOKEN raises the limits.",
        ),
    ] = None,
    records: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Changes that were mined before: JSONL, .gz too; may be repeated."),
    ] = None,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="The folder of problems; one with a build of other options is refused."
        ),
    ] = Path("tasks"),
    profile: Annotated[
        str, typer.Option(help="default: without what gives answers away; paper: as published.")
    ] = "default",
    since: Annotated[
        str | None, typer.Option(metavar="DATE", help="Changes that were merged on this day or later.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="DATE", help="Changes that were merged before.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="At most so many changes of each repository, the newest.")
    ] = None,
    task: Annotated[
        list[str] | None, typer.Option(help="Only this task; may be repeated. All five by default.")
    ] = None,
    rotations: Annotated[
        int, typer.Option(min=1, max=4, help="Ask choices in so many orders; the score is their mean.")
    ] = 1,
    seed: Annotated[int, typer.Option(help="Of everything that is drawn.")] = 0,
    max_requests: Annotated[
        int | None, typer.Option(min=1, help="At most so many requests to GitHub in this run.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Mine merged changes and make questions of them.

    Nothing is run, and no network is used but with --github. What would give answers away is measured; where position,
    length or likeness does, the build fails. The same command goes on after a stop.
    """
    from caretbench.cli.builds.efcb_output import numbers, print_build
    from caretbench.sources.source_tree import SourceTrees
    from caretbench.suites.efcb.building import build
    from caretbench.suites.efcb.options import BuildOptions
    from caretbench.suites.efcb.output.earlier_build import EarlierBuild
    from caretbench.suites.efcb.output.folder import EfcbFolder
    from caretbench.suites.efcb.output.shortfalls import undescribed

    tasks = _tasks(task)
    if not (git or github or records):
        raise ValueError("nothing to read: give --git PATH, --github OWNER/NAME, or --records FILE")
    options = BuildOptions(seed=seed, profile=_profile(profile), rotations=rotations)
    _check(records or (), since, until)  # before an earlier build's problems are taken away
    chosen: dict[str, JsonValue] = {
        "tasks": list(tasks), "rotations": rotations, "since": since, "until": until, "limit": limit,
    }  # fmt: skip
    folder = EfcbFolder(output)
    earlier = EarlierBuild.of(folder)
    if earlier is not None:
        earlier.refuse_other_options(options.profile, seed, chosen)
    started = time.monotonic()
    with Steps(quiet=as_json) as steps, folder.begun():
        clones: dict[str, Path] = {}
        mined, skipped = _mine(
            folder, git or (), github or (), since, until, limit, max_requests, steps, clones
        )
        pulls = _read(folder, records or (), since, until, limit)
        if not pulls:
            raise ValueError(f"{output}: no merged change was found; look at --since, --until and the branch")
        if earlier is not None and (replaced := earlier.replaced(Counter(pull.repo for pull in pulls))):
            note(replaced)
        with SourceTrees(clones) as trees:
            built = build(pulls, options, tasks, steps, sources=trees.of)
        manifest = built.manifest(pulls, mined, chosen, skipped)
        folder.write(manifest, built.problems, built.rejected, built.leaks, fit=built.fit)
    for line in undescribed(built, pulls, mined):
        note(line)
    if as_json:
        say_json(numbers(manifest, built, time.monotonic() - started))
    else:
        print_build(manifest, built, output)
    if not built.fit:
        raise typer.Exit(1)


def _profile(name: str) -> Profile:
    names: tuple[Literal["paper", "default"], ...] = ("paper", "default")
    found = next((known for known in names if known == name), None)
    if found is None:
        raise ValueError(f"--profile {name!r}: expected paper or default")
    return found


def _tasks(wanted: list[str] | None) -> tuple[str, ...]:
    from caretbench.suites.efcb.efcb_score import TASKS

    unknown = next((name for name in wanted or () if name not in TASKS), None)
    if unknown is not None:
        raise ValueError(f"--task {unknown!r}: expected {', '.join(TASKS)}")
    return tuple(name for name in TASKS if not wanted or name in wanted)


def _check(records: Sequence[Path], since: str | None, until: str | None) -> None:
    """Refuse what would be refused later.

    Raises:
        DataError: a date is none, nothing lies between two, or a file of records is not there.
    """
    from caretbench.sources.git.history import bounds

    bounds(since, until)
    for path in records:
        if not path.is_file():
            raise DataError(
                f"{path}: no such file; --records takes changes that were mined before (JSONL, .gz)"
            )


def _mine(
    folder: EfcbFolder,
    clones: Sequence[Path],
    remote: Sequence[str],
    since: str | None,
    until: str | None,
    limit: int | None,
    max_requests: int | None,
    steps: Steps,
    clones_by_name: dict[str, Path],
) -> tuple[list[RepositoryFacts], Counter[str]]:
    """Append what is missing of the repositories; gives what is known of each, and how many commits gave nothing.

    One of several that cannot be read is passed over, and said. ``clones_by_name`` gets the folder of each clone.
    """
    found: list[RepositoryFacts] = []
    skipped: Counter[str] = Counter()

    def clone(path: Path) -> None:
        from caretbench.sources.mining import MiningProgress, mine_git
        from caretbench.sources.repository_names import UNKNOWN

        last = 0

        def progress(state: MiningProgress) -> None:
            nonlocal last
            wanted = state.total if limit is None else min(state.total, max(limit, state.done))
            steps(f"commits of {path.name}", state.done - last, wanted)
            last = state.done

        mined = mine_git(
            path, folder.pull_requests_path, since=since, until=until, limit=limit, progress=progress
        )
        for reason, count in mined.skipped_by_reason.items():
            note(f"{mined.repository.repo}: {count} commits give no change: {reason.replace('_', ' ')}")
        if mined.repository.organization == UNKNOWN:
            note(
                f"{path}: no remote, and the folder's name tells no owner: the organisation of "
                f"{mined.repository.repo} is unknown. To name it: git -C {path} remote add origin URL, or a folder "
                "called owner+name"
            )
        if mined.repository.shallow:
            note(f"{mined.repository.repo}: the clone is shallow: what is older is not there")
        skipped.update(mined.skipped_by_reason)
        found.append(mined.repository)
        clones_by_name[mined.repository.repo] = path

    def hosted(name: str) -> None:
        from caretbench.sources.github import mine_github

        found.append(
            mine_github(
                name, folder.pull_requests_path, since=since, until=until, limit=limit, max_requests=max_requests,
                report=steps, note=note,
            )
        )  # fmt: skip

    sources = [*(partial(clone, path) for path in clones), *(partial(hosted, name) for name in remote)]
    for source in sources:
        try:
            source()
        except DataError as error:
            if len(sources) == 1:
                raise
            note(f"passed over: {error}")
    return found, skipped


def _read(
    folder: EfcbFolder, records: Sequence[Path], since: str | None, until: str | None, limit: int | None
) -> list[PullRequest]:
    """What was mined into the folder, and the given records within the wanted time, the newest first."""
    from caretbench.sources.pull_request import read_pull_requests
    from caretbench.sources.selecting import newest

    paths = [path for path in (folder.pull_requests_path,) if path.exists()]
    return newest(read_pull_requests([*paths, *records]), since, until, limit)
