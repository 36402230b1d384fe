"""``caretbench build efcb``: questions out of the merged changes of repositories."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from caretbench.cli.common import AsJson, Steps, aligned, note, say, say_json
from caretbench.errors import DataError

if TYPE_CHECKING:
    from caretbench.problem import Profile
    from caretbench.sources.pull_request import PullRequest
    from caretbench.sources.repository import RepositoryFacts
    from caretbench.suites.efcb.building import Built
    from caretbench.suites.efcb.folder import EfcbFolder, EfcbManifest
    from caretbench.suites.efcb.leaks import Leak


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
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder of problems.")] = Path("tasks"),
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
    from caretbench.sources.source_tree import SourceTrees
    from caretbench.suites.efcb.building import build
    from caretbench.suites.efcb.folder import EfcbFolder
    from caretbench.suites.efcb.options import BuildOptions

    tasks = _tasks(task)
    if not (git or github or records):
        raise ValueError("nothing to read: give --git PATH, --github OWNER/NAME, or --records FILE")
    options = BuildOptions(seed=seed, profile=_profile(profile), rotations=rotations)
    _check(records or (), since, until)  # before an earlier build's problems are taken away
    folder = EfcbFolder(output)
    started = time.monotonic()
    with Steps(quiet=as_json) as steps:
        folder.begin()
        clones: dict[str, Path] = {}
        mined, skipped = _mine(
            folder, git or (), github or (), since, until, limit, max_requests, steps, clones
        )
        pulls = _read(folder, records or (), since, until, limit)
        if not pulls:
            raise ValueError(f"{output}: no merged change was found; look at --since, --until and the branch")
        with SourceTrees(clones) as trees:
            built = build(pulls, options, tasks, steps, sources=trees.of)
        chosen = {
            "tasks": list(tasks),
            "rotations": rotations,
            "since": since,
            "until": until,
            "limit": limit,
        }
        manifest = built.manifest(pulls, mined, chosen, skipped)
        folder.write(manifest, built.problems, built.rejected, built.leaks, fit=built.fit)
    if as_json:
        say_json(_numbers(manifest, built, time.monotonic() - started))
    else:
        _print(manifest, built, output)
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
    from caretbench.sources.git_history import bounds

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


def _numbers(manifest: EfcbManifest, built: Built, wall_s: float) -> dict[str, object]:
    return {
        "changes": dict(manifest.changes),
        "accepted": dict(manifest.accepted),
        "yields": [row.model_dump(mode="json") for row in manifest.yields],
        "problems": dict(manifest.problems),
        "leaks": [
            leak.model_dump(mode="json", exclude={"schema_version"}) | {"exceeded": leak.exceeded}
            for leak in built.leaks
        ],
        "fit": built.fit,
        "wall_s": round(wall_s, 1),
    }


def _print(manifest: EfcbManifest, built: Built, output: Path) -> None:
    """What was read, what the filters took, what there is, and what gives answers away."""
    rows = [
        (repository, str(count), str(manifest.accepted.get(repository, 0)))
        for repository, count in manifest.changes.items()
    ]
    for line in aligned(rows, ("repository", "changes", "accepted")):
        say(line)
    say("\nWhat the filters took:")
    filters = [
        (y.repository, y.filter.replace("_", " "), str(y.failing), str(y.only), str(y.left))
        for y in manifest.yields
        if y.failing
    ]
    for line in aligned(filters, ("repository", "filter", "fail", "fail no other", "left")):
        say(line)
    say()
    for line in aligned(
        [(kind, str(count)) for kind, count in manifest.problems.items()], ("task", "problems")
    ):
        say(line)
    _print_leaks(built)
    if built.exceeded:
        names = ", ".join(f"{leak.attack} in {leak.task} {leak.tier}".strip() for leak in built.exceeded)
        note(f"beyond chance and 3 standard errors: {names}")
        if built.options.profile == "paper":
            note("the paper profile keeps such questions, to be compared with what was published")
    if built.fit:
        say(f"\n{output}: {len(built.problems)} problems; caretbench run efcb --data {output} -m …")
    elif not built.filtered.pulls:
        say(f"\n{output}: no problems: no change passes every filter")
    elif not built.problems:
        say(f"\n{output}: no problems: no task could be made of what passes; rejected.jsonl says why")
    else:
        say(f"\n{output}: no problems.jsonl; candidates.jsonl and leaks.jsonl show why")


def _print_leaks(built: Built) -> None:
    """A line for each attack, a column for each tier; an exclamation mark where a hard limit is passed.

    Of the many features, those are printed that are highest somewhere; all of them are in the report's file.
    """
    parts = list(dict.fromkeys((leak.task, leak.tier, leak.query) for leak in built.leaks))
    if not parts:
        return
    several = {part[:2] for part in parts if sum(part[:2] == other[:2] for other in parts) > 1}
    heads = [" ".join(part if part[:2] in several else part[:2]).replace("_", " ").split() for part in parts]
    # A word a line, so that columns are narrow.
    height = max(map(len, heads))
    stacked = zip(*([""] * (height - len(words)) + words for words in heads), strict=True)
    sizes = {(leak.task, leak.tier, leak.query): leak for leak in built.leaks}
    found: dict[tuple[str, str], dict[tuple[str, str, str], str]] = {}
    high = _highest_features(built.leaks)
    for leak in built.leaks:
        if (
            leak.family == "feature"
            and leak.kind == "limit"
            and leak.attack not in high
            and not leak.exceeded
        ):
            continue
        mark = "!" if leak.exceeded else ""
        row = found.setdefault((leak.kind, leak.attack), {})
        row[leak.task, leak.tier, leak.query] = f"{leak.accuracy:.3f}{mark}"
    rows = [
        ("", "problems", *(str(sizes[part].problems) for part in parts)),
        ("", "standard error", *(f"{sizes[part].standard_error:.3f}" for part in parts)),
        *((kind, attack, *(row.get(part, "") for part in parts)) for (kind, attack), row in found.items()),
    ]
    say("\nWhat finds the right choice without understanding (chance 0.250):")
    *above, last = stacked
    first, *others = [*(("", "", *words) for words in above), ("", "attack", *last)]
    for line in aligned([*others, *rows], first):
        say(line)
    small = {(leak.task, leak.tier): leak.problems for leak in built.leaks if leak.too_small}
    for part, count in small.items():
        say(f"{' '.join(part).strip()}: too small to test ({count}); its questions are unverified")


def _highest_features(leaks: Sequence[Leak]) -> set[str]:
    """The feature that finds most in each tier."""
    best: dict[tuple[str, str, str], Leak] = {}
    for leak in leaks:
        if leak.family == "feature" and leak.kind == "limit":
            part = leak.task, leak.tier, leak.query
            if part not in best or leak.accuracy > best[part].accuracy:
                best[part] = leak
    return {leak.attack for leak in best.values()}
