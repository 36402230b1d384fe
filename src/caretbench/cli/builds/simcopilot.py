"""``caretbench build simcopilot``: a benchmark out of a project and its tests."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from caretbench.cli.common import AsJson, Steps, aligned, note, say, say_json

if TYPE_CHECKING:
    from caretbench.execution.sandbox.index.policy import IndexPolicy
    from caretbench.projects.setup.settings import CheckSettings
    from caretbench.suites.simcopilot.build_types import BuildOptions, Built
    from caretbench.suites.simcopilot.building import Builder

_SHOWN_FILES = 12
_PER_1000 = 30
"""Candidates for each 1,000 lines that the tests reach: large projects give no less than small ones."""
_VERDICTS = ("valid", "unverified", "invalid")


def simcopilot(
    project: Annotated[Path, typer.Argument(help="The project's folder; it is only read.", metavar="PATH")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder of tasks.")] = Path("tasks"),
    language: Annotated[
        list[str] | None,
        typer.Option("--language", "-l", help="Mine this language; may be repeated. All by default."),
    ] = None,
    test_command: Annotated[
        str | None,
        typer.Option(help="How the project is tested; by default its caretbench.toml or its files tell."),
    ] = None,
    junit: Annotated[
        list[str] | None,
        typer.Option(metavar="GLOB", help="Reports of tests that the command writes; may be repeated."),
    ] = None,
    expect_output: Annotated[
        str | None,
        typer.Option(
            metavar="FILE[:HOW]",
            help="The command must print this file of the project; exact, whitespace, last_line or numeric.",
        ),
    ] = None,
    directory: Annotated[str, typer.Option(help="Where in the project the command starts.")] = ".",
    environment: Annotated[
        list[str] | None,
        typer.Option("--env", metavar="NAME=VALUE", help="Of the test command; may be repeated."),
    ] = None,
    bundle: Annotated[
        str | None, typer.Option(help="A bundle of packages that the tests need (`caretbench deps`).")
    ] = None,
    setup: Annotated[
        str | None,
        typer.Option(
            help="Run once with package indexes in reach; what it leaves belongs to the project. "
            "auto: what its files tell (Python, JavaScript, TypeScript)."
        ),
    ] = None,
    index: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]ADDRESS",
            help="For --setup: an index of yours (PIP_INDEX_URL, npm_config_registry, …) or a host; may be repeated.",
        ),
    ] = None,
    modes: Annotated[str, typer.Option(help="infill, suffix_hidden, or both.")] = "infill,suffix_hidden",
    limit: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="At most so many candidates of each test command; 0: all. By default 240, or 30 for each 1,000 lines "
            "that its tests reach where these are more.",
        ),
    ] = None,
    per_file: Annotated[
        int | None, typer.Option(min=1, help="At most so many candidates of one file.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="PATTERN", help="Paths that are not mined; may be repeated.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the choice among candidates.")] = 0,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Commands in flight; the processors by default.")
    ] = None,
    unverified: Annotated[
        bool,
        typer.Option("--unverified", help="Keep tasks for which no wrong answer was found that fails."),
    ] = False,
    candidates_only: Annotated[
        bool, typer.Option("--candidates-only", help="End before the gate: candidates.jsonl, no tasks.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Mine a project for tasks, and keep those that measure something.

    Blocks are cut out of the project's files; its own tests, which must pass three times as they are, decide. Every
    task's right answer passes and a wrong one that parses fails. The same command goes on after a stop.
    """
    from caretbench.suites.simcopilot.folder import TaskFolder

    check = _check(test_command, junit, expect_output, directory, environment, bundle)
    options = _options(language, modes, limit, per_file, seed, check, setup, exclude, unverified=unverified)
    indexes = _indexes(index) if setup or index else None
    started = time.monotonic()
    with Steps(quiet=as_json) as steps:
        builder = _builder(jobs, indexes, gate=not candidates_only)
        builder.progress = steps
        try:
            built = builder.build(project, TaskFolder(output), options)
        finally:
            builder.engine.close()
    wall_s = time.monotonic() - started
    if as_json:
        say_json(_numbers(built, wall_s))
        return
    _print(built, wall_s)
    if candidates_only:
        say(
            f"\n{output}: {len(built.candidates)} candidates; the same command without --candidates-only decides"
        )
    else:
        say(f"\n{output}: {built.tasks} tasks; caretbench run simcopilot --data {output} -m …")
    if not candidates_only and not built.tasks:
        raise typer.Exit(1)


def _check(
    command: str | None,
    junit: list[str] | None,
    expect_output: str | None,
    directory: str,
    environment: list[str] | None,
    bundle: str | None,
) -> CheckSettings | None:
    from caretbench.projects.setup.settings import CheckSettings, OutputSettings

    said = junit or expect_output or directory != "." or environment or bundle
    if command is None:
        if said:
            raise ValueError("--junit, --expect-output, --directory, --env and --bundle need --test-command")
        return None
    output = None
    if expect_output is not None:
        file, colon, how = expect_output.rpartition(":")
        output = OutputSettings.model_validate(
            {"file": file, "comparison": how} if colon else {"file": expect_output}
        )
    values = _pairs("--env NAME=VALUE", environment)
    return CheckSettings(
        command=command,
        junit=tuple(junit or ()),
        minimum_tests=1 if junit else 0,
        output=output,
        directory=directory,
        environment=values,
        bundle=bundle,
    )


def _pairs(option: str, given: list[str] | None) -> dict[str, str]:
    name, _, form = option.partition(" ")
    wrong = next((pair for pair in given or () if "=" not in pair), None)
    if wrong is not None:
        raise ValueError(f"{name} {wrong!r}: expected {form}")
    return dict(pair.partition("=")[::2] for pair in given or ())


def _indexes(given: list[str] | None) -> IndexPolicy:
    from caretbench.execution.sandbox.index.policy import index_policy

    hosts = [one for one in given or () if one.startswith(("https://", "http://"))]
    named = [one for one in given or () if one not in hosts]
    return index_policy(_pairs("--index [NAME=]ADDRESS", named), hosts)


def _options(
    language: list[str] | None,
    modes: str,
    limit: int | None,
    per_file: int | None,
    seed: int,
    check: CheckSettings | None,
    setup: str | None,
    exclude: list[str] | None,
    *,
    unverified: bool,
) -> BuildOptions:
    from caretbench.suites.simcopilot.build_types import BuildOptions
    from caretbench.suites.simcopilot.mining.tasks import MODES, Wanted

    named = [mode.strip() for mode in modes.split(",")]
    unknown = next((mode for mode in named if mode not in MODES), None)
    if unknown is not None:
        raise ValueError(f"--modes {unknown!r}: expected {', '.join(MODES)}")
    chosen = tuple(mode for mode in MODES if mode in named)
    most = Wanted.limit if limit is None else limit or None
    more = _PER_1000 if limit is None else 0
    return BuildOptions(
        languages=tuple(language or ()),
        wanted=Wanted(chosen, most, per_file, seed, more),
        check=check,
        setup=setup,
        exclude=tuple(exclude or ()),
        unverified=unverified,
    )


def _builder(jobs: int | None, indexes: IndexPolicy | None, *, gate: bool) -> Builder:
    from caretbench.execution.workspaces.engine import WorkspaceExecutor
    from caretbench.execution.workspaces.workspace import Workspaces
    from caretbench.suites.simcopilot.building import Builder

    return Builder(WorkspaceExecutor(jobs, spaces=Workspaces(index=indexes)), decide=gate)


# --- what it says -----------------------------------------------------------------------------------------------


def _cpu_s(built: Built) -> float:
    """CPU seconds of the commands that decided the candidates, in this run and in earlier ones."""
    return sum(float(row.details.get("cpu_s", 0)) for row in built.verdicts.values())


def _numbers(built: Built, wall_s: float) -> dict[str, object]:
    manifest = built.manifest
    reached = sum(manifest.reached_lines.values())
    counted = built.counted
    return {
        "project": manifest.project,
        "candidates": len(built.candidates),
        "verdicts": {name: built.number_of(name) for name in _VERDICTS},
        "reasons": dict(built.reasons()),
        "tasks": built.tasks,
        "lines": dict(manifest.lines),
        "reached_lines": dict(manifest.reached_lines),
        "valid_per_1000_reached_lines": round(1000 * counted / reached, 1) if reached else None,
        "not_candidates": dict(manifest.rejected),
        "passed_over": dict(manifest.passed_over),
        "unknown_reach": dict(manifest.unknown_reach),
        "dropped_checks": dict(manifest.dropped_checks),
        "flaky_tests": {name: list(tests) for name, tests in manifest.flaky_tests.items()},
        "order_dependent": dict(manifest.order_dependent),
        "wall_s": round(wall_s, 1),
        "cpu_s": round(_cpu_s(built), 1),
    }


def _note_files(reasons: Mapping[str, str], what: str) -> None:
    for path, reason in list(reasons.items())[:_SHOWN_FILES]:
        note(f"{path}: {what}: {reason}")
    if len(reasons) > _SHOWN_FILES:
        note(f"… and {len(reasons) - _SHOWN_FILES} more files ({what}); the manifest names all")


def _print(built: Built, wall_s: float) -> None:
    manifest = built.manifest
    for name, reason in manifest.dropped_checks.items():
        note(f"{name}: left out: {reason}")
    for name, tests in manifest.flaky_tests.items():
        note(f"{name}: left out, since they pass at times only: {', '.join(tests)}")
    for name, said in manifest.order_dependent.items():
        note(f"{name}: {said}; so all tests run for every task, in the project's own order")
    _note_files(manifest.passed_over, "not mined")
    _note_files(
        manifest.unknown_reach, "what its tests reach is not known, so it does not count in the yield"
    )
    reached = sum(manifest.reached_lines.values())
    say(f"{manifest.project}: {sum(manifest.lines.values())} lines, {reached} of them reached by its tests")
    blocks = sorted(manifest.rejected.items(), key=lambda entry: -entry[1])
    say("no candidates: " + (", ".join(f"{count} {reason}" for reason, count in blocks) or "none"))
    table = built.verdicts_by("mode")
    if table:
        say()
        rows = [
            [mode, *(str(counts[verdict]) for verdict in _VERDICTS), str(counts.total())]
            for mode, counts in sorted(table.items())
        ]
        for line in aligned(rows, ("mode", *_VERDICTS, "candidates")):
            say(line)
        for reason, count in built.reasons().most_common():
            say(f"  {reason} ({count})")
    if built.tasks:
        decided = max(1, len(built.verdicts))
        more = manifest.rejected.get("not_drawn", 0)
        bound = f" ({more} more candidates were not drawn: --limit)" if more else ""
        per = (
            f"{1000 * built.counted / reached:.0f} valid per 1,000 reached lines{bound}; " if reached else ""
        )
        cpu_s = _cpu_s(built)
        say(
            f"\n{per}this run took {wall_s:.0f} s; the gate's commands took {cpu_s:.0f} s of CPU, "
            f"{cpu_s / decided:.2f} s for each candidate"
        )
