"""What ``score`` and ``run`` share: the problems, the run's folder while one command works in it, and how it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, Self

import typer

from caretbench.cli.common import Steps, note, say, select

if TYPE_CHECKING:
    from caretbench.execution.dispatch import AnyExecutor, Dispatcher
    from caretbench.extraction.policies import Policy
    from caretbench.problem import Problem
    from caretbench.reports.summary import Summary
    from caretbench.runs.folder import Manifest, ModelInfo, RunFolder, ToolchainInfo
    from caretbench.suites.base import ProblemSet, Suite

ALL_BASELINES = "all"
Baselines = Annotated[
    str,
    typer.Option(
        "--baseline",
        metavar="NAMES",
        help="Baselines beside the models, golden,empty for example; all of the suite's, or none.",
    ),
]
ProfileName = Annotated[
    str,
    typer.Option(
        "--profile", help="default: as it should be scored; paper: as the released code scores."
    ),
]  # fmt: skip
PolicyNames = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        metavar="NAME",
        help="Truncation policy, by default the suite's own; may be repeated: the further ones are shown beside the "
        "first.",
    ),
]
Variants = Annotated[
    list[str] | None,
    typer.Option(
        "--variant",
        metavar="LANGUAGE=NAME",
        help="A named build of a language: cpp=common_headers; may be repeated.",
    ),
]
Execute = Annotated[
    bool, typer.Option("--execute/--no-execute", help="Run the programs; without, only similarity is measured.")
]  # fmt: skip
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="The run's folder (runs/SUITE-DATA-PROFILE).")
]
UseCache = Annotated[bool, typer.Option("--cache/--no-cache", help="Take known verdicts from the cache.")]
FailUnder = Annotated[
    float | None,
    typer.Option(
        "--fail-under", min=0, max=1,
        help="Exit with 1 if a model's pass@1 (0 to 1) is lower; baselines do not count.",
    ),
]  # fmt: skip
Html = Annotated[bool, typer.Option("--html/--no-html", help="Write report.html too.")]


class Subject(NamedTuple):
    """What is scored, and how: everything that a run's folder is about, but for the models."""

    suite: Suite
    data: ProblemSet
    problems: list[Problem]
    policy: Policy
    profile: Literal["paper", "default"]
    execute: bool
    variants: dict[str, str]
    folder: RunFolder
    further: tuple[Policy, ...] = ()
    """Policies under which the same answers are scored beside ``policy``."""

    @classmethod
    def of(
        cls,
        suite_name: str,
        *,
        data: str = "starter",
        chosen: str | None = None,
        limit: int | None = None,
        policy: str | Sequence[str] | None = None,
        profile: str = "default",
        variants: Sequence[str] = (),
        execute: bool = True,
        output: Path | None = None,
        root: Path = Path("runs"),
    ) -> Subject:
        """The subject that options name; without ``output`` its folder is ``root/SUITE-DATA-PROFILE``.

        Raises:
            ValueError: an option is wrong.
            KeyError: an unknown suite, policy or language.
            DataError: the data are wrong.
        """
        from caretbench.extraction.policies import BY_PROFILE
        from caretbench.extraction.policies import policy as find_policy
        from caretbench.runs.folder import RunFolder
        from caretbench.suites import suite
        from caretbench.suites.base import policy_of

        if profile not in BY_PROFILE:
            raise ValueError(f"--profile {profile!r}: expected paper or default")
        named: Literal["paper", "default"] = "paper" if profile == "paper" else "default"
        house = suite(suite_name)
        loaded = house.load(data)
        problems = select(house, loaded.problems, chosen, limit)
        wanted = [policy] if isinstance(policy, str) else [*(policy or ())]
        found = dict.fromkeys(map(find_policy, wanted or [policy_of(house, named)]))
        truncation, *further = found
        folder = RunFolder(output or root / f"{suite_name}-{loaded.name}-{named}")
        execute = execute and any(map(_is_run, problems))
        return cls(
            house, loaded, problems, truncation, named, execute, _variants(variants), folder, (*further,)
        )  # fmt: skip

    def manifest(self) -> Manifest:
        """The manifest of a run about this, without models."""
        from caretbench.runs.folder import DataInfo, Manifest, versions

        return Manifest(
            suite=self.suite.name,
            data=DataInfo(
                name=self.data.name,
                hash=self.data.hash,
                problems=len(self.data.problems),
                selected=len(self.problems),
            ),
            policy=self.policy.key,
            further_policies=[entry.key for entry in self.further],
            profile=self.profile,
            executed=self.execute,
            variants=self.variants,
            versions=versions(),
        )


class Sitting:
    """A run's folder while one command works in it: no other one may. Use it as a context manager.

    Raises:
        DataError: another process is at work in it.
        ValueError: it holds a run of something else.
    """

    def __init__(self, subject: Subject, executor: AnyExecutor | None, steps: Steps) -> None:
        self.subject = subject
        self.folder = subject.folder
        self._executor = executor
        self._steps = steps

    def __enter__(self) -> Self:
        from caretbench.extraction.policies import policy as find_policy
        from caretbench.runs.score import Scoring, check_resumable

        with ExitStack() as stack:
            stack.enter_context(self.folder.locked())
            self._earlier = self.folder.manifest() if self.folder.manifest_path.exists() else None
            self.manifest = check_resumable(self.folder, self.subject.manifest())
            self.scoring, *self._further = (
                Scoring(
                    self.subject.suite, self.subject.problems, self.folder, policy, self.subject.profile,
                    self._executor, dict(self.manifest.variants), report=self._reporting(policy),
                )
                for policy in (self.subject.policy, *map(find_policy, self.manifest.further_policies))
            )  # fmt: skip
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *details: object) -> None:
        self._stack.close()

    def _reporting(self, policy: Policy) -> Callable[[str, int, int | None], None]:
        """Progress under the run's own policy, or under a further one, which is named."""
        if policy == self.subject.policy:
            return self._steps
        return lambda step, added, total: self._steps(f"{step}, {policy.key}", added, total)

    def begin(self, models: Iterable[ModelInfo], graders: Iterable[ModelInfo] = ()) -> None:
        """Write the manifest, with these models and graders beside those that are there, and the problems.

        Baselines that the suite does not have are left out.
        """
        from caretbench.suites.baselines import writers_of

        own = writers_of(self.subject.suite)
        models = [info for info in models if info.source != "baseline" or info.model in own]
        manifest, folder = self.manifest, self.folder
        for listed, added in ((manifest.models, models), (manifest.graders, graders)):
            known = {(info.model, info.parameters) for info in listed}
            listed += [info for info in added if (info.model, info.parameters) not in known]
        stored = folder.problems() if folder.problems_path.exists() else []
        together = {problem.id: problem for problem in (*stored, *self.subject.problems)}
        manifest.data.selected = len(together)
        if self._earlier is not None:  # this command may be about some of the run's problems only
            manifest.toolchains, manifest.isolation = self._earlier.toolchains, self._earlier.isolation
            manifest.left_out = self._earlier.left_out
        if self._executor is not None:
            manifest.isolation = self._executor.isolation().model_dump()
            manifest.toolchains |= toolchains(self.subject.problems, self._executor)
        folder.write_manifest(manifest)
        folder.write_problems(together.values())

    def score(self) -> None:
        """Score what is missing, under all policies of the folder."""
        self.manifest.left_out = self.scoring.run()
        for scoring in self._further:
            scoring.run()
        self.folder.write_manifest(self.manifest)
        _copy_verdicts(self.folder, self.manifest)


def baseline_names(option: str, suites: Iterable[Suite]) -> list[str]:
    """The names that ``--baseline`` lists; ``all``: every one that one of the suites has.

    Raises:
        KeyError: a suite has no such baseline.
    """
    from caretbench.suites.baselines import writers_of

    own = {suite.name: writers_of(suite) for suite in suites}
    if option == ALL_BASELINES:
        return [*dict.fromkeys(name for writers in own.values() for name in writers)]
    names = [] if option == "none" else [name.strip() for name in option.split(",") if name.strip()]
    for name in names:
        for suite, writers in own.items():
            if name not in writers:
                raise KeyError(f"unknown baseline {name!r}; {suite} has {', '.join(writers)}")
    return names


def executor(workers: int | None, *, use_cache: bool, engine: str = "local") -> Dispatcher:
    """What runs programs and commands in projects, on this machine or on a Ray cluster.

    Args:
        workers: Programs, or commands, in flight; on a cluster, programs for each processor.
        use_cache: Whether known verdicts are taken.
        engine: ``local``, ``ray``, or ``ray://HOST:PORT``.

    Raises:
        ValueError: no such engine.
        MachineError: Ray is not installed, or the cluster does not answer.
    """
    from caretbench.execution.dispatch import Dispatcher
    from caretbench.execution.workspaces.engine import WorkspaceExecutor

    def projects() -> WorkspaceExecutor:
        return WorkspaceExecutor(workers, use_cache=use_cache)

    if engine == "local":
        from caretbench.execution.engine import LocalExecutor

        return Dispatcher(LocalExecutor(workers=workers, use_cache=use_cache), projects)
    if engine == "ray" or engine.startswith("ray://"):
        from caretbench.execution.cluster.project_spreading import SpreadingWorkspaceExecutor
        from caretbench.execution.cluster.ray_engine import RayExecutor

        address = None if engine == "ray" else engine
        spread = RayExecutor(address, programs=workers, use_cache=use_cache)
        return Dispatcher(spread, lambda: SpreadingWorkspaceExecutor(spread, use_cache=use_cache))
    raise ValueError(f"--engine {engine!r}: expected local, ray or ray://HOST:PORT")


def _variants(options: Sequence[str]) -> dict[str, str]:
    from caretbench.execution.toolchains import load_runtime
    from caretbench.languages import language

    chosen = {}
    for option in options:
        name, found, value = option.partition("=")
        if not found:
            raise ValueError(f"--variant {option!r}: expected language=name, cpp=common_headers for example")
        spoken = language(name).name
        known = load_runtime(spoken).variants
        if value not in known:
            raise ValueError(f"--variant {option!r}: {spoken} has {', '.join(known) or 'no variants'}")
        chosen[spoken] = value
    return chosen


def toolchains(problems: Sequence[Problem], runs: AnyExecutor) -> dict[str, ToolchainInfo]:
    """The toolchains of the problems' languages where programs run; what is not there is said."""
    from caretbench.execution.cluster.spreading import SpreadingExecutor
    from caretbench.execution.dispatch import Dispatcher
    from caretbench.execution.toolchains import RUNTIMES, load_runtime
    from caretbench.runs.folder import ToolchainInfo

    found: dict[str, ToolchainInfo] = {}
    programs = runs.programs if isinstance(runs, Dispatcher) else runs
    for name in dict.fromkeys(problem.caret.language for problem in problems if _is_program(problem)):
        if name not in RUNTIMES:
            note(f"{name} is skipped: programs in this language are not run")
            continue
        toolchain = (
            programs.toolchain(name)
            if isinstance(programs, SpreadingExecutor)
            else load_runtime(name).toolchain()
        )
        if toolchain.available:
            found[name] = ToolchainInfo(version=toolchain.version, fingerprint=toolchain.fingerprint)
        else:
            note(f"{name} is skipped: {toolchain.remedy}")
    return found


def _is_run(problem: Problem) -> bool:
    """Whether something runs that decides."""
    return any(check.kind in ("program", "tests", "predicate") for check in problem.checks)


def _is_program(problem: Problem) -> bool:
    """Whether answers become programs of their own: a project's command brings its own tools."""
    return not any(check.kind == "tests" for check in problem.checks)


def _copy_verdicts(folder: RunFolder, manifest: Manifest) -> None:
    """The gate's stored verdicts on this data, so that the report can show the valid problems apart."""
    from caretbench.cli.validate import verdicts_path
    from caretbench.files import write_atomically

    stored = verdicts_path(manifest.suite, manifest.data.hash)
    if stored.exists():
        write_atomically(folder.validity_path, stored.read_bytes())


# --- how it ends ------------------------------------------------------------------------------------------------


def show(folder: RunFolder, *, html: bool, as_json: bool, quiet: bool = False) -> Summary:
    """Print the run's numbers, unless ``quiet``, and write its page; gives the numbers."""
    from caretbench.cli.report import load, print_summary, summarised, write_html

    run = load(folder.path)
    summary = summarised(run)
    if not quiet:
        print_summary(summary, form="json" if as_json else "terminal")
    if html:
        path = write_html(folder.path, run, summary)
        if not as_json:
            say(f"\nreport: {path}")
    return summary


def failures(summary: Summary, fail_under: float | None) -> Iterator[str]:
    """Why the run counts as failed: too few verdicts, a score that is withheld, or a model below the wanted rate."""
    from caretbench.reports.judged.answers import control_failures, coverage_warnings
    from caretbench.reports.summary import COVERAGE_WANTED

    yield from coverage_warnings(summary.answers)
    yield from control_failures(summary.answers)
    yield from dict.fromkeys(
        f"{reason}; this run has failed" for table in summary.own for reason in table.withheld
    )
    for column in summary.columns:
        if column.coverage is not None and column.coverage < COVERAGE_WANTED:
            absent = column.samples * summary.problems - column.completions
            why = f" ({absent} answers are not there; --select chooses problems)" if absent > 0 else ""
            yield (
                f"{column.title}: coverage {column.coverage:.1%} is below {COVERAGE_WANTED:.0%}{why}; "
                "this run has failed"
            )
        rate = column.overall.pass_at.get(1)
        if fail_under is None or column.baseline:
            continue
        if rate is None:
            yield f"{column.title}: no verdict at all, so its pass@1 is not known to reach {fail_under}"
        elif rate.value < fail_under:
            yield f"{column.title}: pass@1 {rate.value:.3f} is below {fail_under}"
    if summary.manifest.get("executed") and all(column.coverage is None for column in summary.columns):
        yield "no problem can be judged on this machine; the causes stand above"


def end(complaints: Sequence[str]) -> None:
    """Say why the command counts as failed, and end it so; nothing to complain of is a good end.

    Raises:
        Exit: there is a complaint.
    """
    for line in complaints:
        note(line)
    if complaints:
        raise typer.Exit(1)
