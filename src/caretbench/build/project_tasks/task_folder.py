"""Folder of mined tasks (problems, snapshot, verdicts of the gate, manifest), and the result of its build."""

from __future__ import annotations

import contextlib
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import Field, JsonValue

from caretbench.build.build_models import ANSWER_ERRORS_FILE, ANSWERS_FILE
from caretbench.build.project_tasks.tester.written_store import WRITTEN_TESTS_FILE, TesterRecord
from caretbench.build.projects.agent.recipe import RECIPES_FILE
from caretbench.build.projects.project_storage import STEPS_FILE
from caretbench.build.projects.setup.project_setup import missing_packages_hint
from caretbench.build.projects.setup.python_packages import missing_modules
from caretbench.errors import check_folder_is_writable
from caretbench.file_locks import locked_folder
from caretbench.files import DataError, read_appended, read_document, remove_partial_files, write_rows
from caretbench.problem import Problem, Provenance, StoredRow
from caretbench.projects.answer_requests import file_splice
from caretbench.suites.stored_tasks import read_tasks, snapshot_path
from caretbench.suites.suite_types import BuildResult
from caretbench.suites.validity import Validity, strength_counts
from caretbench.text_tables import align_columns, counted


class BuildManifest(StoredRow):
    """Origin of the tasks: project, test command, options, and counts of the build."""

    suite: str = "simcopilot"
    project: str
    """Name of the project; the cluster of its problems."""
    snapshot: str
    provenance: Provenance
    languages: tuple[str, ...]
    command: tuple[str, ...]
    options: Mapping[str, JsonValue] = Field(default_factory=dict)
    """Options of the build, such as limits and excluded paths."""
    seed: int = 0
    ids: int = 1
    """Version of the ids of problems."""
    versions: Mapping[str, str] = Field(default_factory=dict)
    lines: Mapping[str, int] = Field(default_factory=dict)
    """Lines of the project by language."""
    reached_lines: Mapping[str, int] = Field(default_factory=dict)
    """Lines that its tests execute; the yield is the number of valid tasks per 1,000 of them."""
    unknown_reach: Mapping[str, str] = Field(default_factory=dict)
    """Mined files whose executed statements are unknown, with the reason. Their lines do not count as reached, and
    their tasks do not count in the yield."""
    passed_over: Mapping[str, str] = Field(default_factory=dict)
    """Files that were not mined, with the reason."""
    rejected: Mapping[str, int] = Field(default_factory=dict)
    """Number of blocks that each mining rule rejected, and of candidates that were not sampled (``not_drawn``)."""
    dropped_checks: Mapping[str, str] = Field(default_factory=dict)
    """Checks whose tests did not pass three times on the unchanged project, or execute no mined line, with reasons."""
    setup: str | None = None
    """Setup command that ran."""
    setup_steps: Mapping[str, str] = Field(default_factory=dict)
    """Ways of ``--setup auto`` that were tried, in order: the fault of each, or ``used``."""
    packages: tuple[str, ...] = ()
    """Packages that it installed into the snapshot, with versions: ``pytest==9.0.1``; npm's with their hashes."""
    flaky_tests: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """Flaky tests by check; they are excluded."""
    failing_tests: Mapping[str, Mapping[str, str]] = Field(default_factory=dict)
    """Tests that fail on the unchanged project by check, with their errors; they are excluded."""
    omitted_files: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """Test files by check that do not run, because all together exceed the limit of a command."""
    order_dependent: Mapping[str, str] = Field(default_factory=dict)
    """Checks whose tests fail in another order, with the failing tests. All their tests run for every task, in the
    project's order."""
    tester: TesterRecord | None = None
    """Tests that a model wrote, if one was asked."""


class TaskFolder:
    """Reader and writer of a folder of tasks."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest_path = path / "manifest.json"
        self.candidates_path = path / "candidates.jsonl"
        self.validity_path = path / "validity.jsonl"
        self.problems_path = path / "problems.jsonl"
        self.steps_path = path / STEPS_FILE
        """Results of an unfinished build's steps; hidden, and removed at its end."""
        self.model_paths = tuple(
            path / name for name in (RECIPES_FILE, WRITTEN_TESTS_FILE, ANSWERS_FILE, ANSWER_ERRORS_FILE)
        )
        """Recipes, outcomes of written tests, and answers of models that were asked for them."""

    def snapshot_path(self, identity: str) -> Path:
        """Return the folder of a snapshot; DataError if ``identity`` is not the name of one."""
        return snapshot_path(self.path, identity)

    def problems(self) -> list[Problem]:
        """Return the tasks to run; DataError as :func:`caretbench.suites.stored_tasks.read_tasks`."""
        return read_tasks(self.path)

    def manifest(self) -> BuildManifest:
        """Return the manifest.

        Raises:
            DataError: it is missing or damaged.
        """
        return read_document(self.manifest_path, BuildManifest)

    def candidates(self) -> list[Problem]:
        """Return the candidates; an incomplete last line is ignored."""
        return list(read_appended(self.candidates_path, Problem))

    def validity(self) -> dict[str, Validity]:
        """Return the gate's verdicts so far, by problem id."""
        return {row.problem_id: row for row in read_appended(self.validity_path, Validity)}

    def sort_validity(self, candidates: Sequence[Problem]) -> None:
        """Write the verdicts in the order of the candidates; they are appended in the order of decision."""
        rows = self.validity()
        write_rows(self.validity_path, (rows[problem.id] for problem in candidates if problem.id in rows))

    def accepted(self, *, unverified: bool = False) -> Iterator[Problem]:
        """Yield the valid candidates, and optionally unverified ones."""
        accepted = {"valid", "unverified"} if unverified else {"valid"}
        ids = {name for name, row in self.validity().items() if row.verdict in accepted}
        # One by one, to save memory: each contains the text of its file.
        yield from (problem for problem in read_appended(self.candidates_path, Problem) if problem.id in ids)


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Hold the exclusive lock of a build's folder, which is created if missing; a killed build's partial files go.

    Raises:
        DataError: another process holds the lock, or the path is a file.
    """
    check_folder_is_writable(folder)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(locked_folder(folder))
        except BlockingIOError:
            raise DataError(f"{folder}: another caretbench builds here; wait for it or stop it") from None
        remove_partial_files(folder)
        yield


class BuiltTasks(NamedTuple):
    """Result of a build: the manifest, all candidates with their verdicts, and the number of tasks.

    ``gate_cpu_s`` are the CPU seconds of the gate's commands in this run, and ``decided_count`` the number of
    candidates that it decided; earlier runs of the same build are not included. The printed table counts verdicts by
    ``verdict_label``.
    """

    manifest: BuildManifest
    candidates: tuple[Problem, ...]
    verdicts: Mapping[str, Validity]
    task_count: int
    gate_cpu_s: float = 0.0
    decided_count: int = 0
    verdict_label: str = "mode"
    review_lines: tuple[str, ...] = ()
    """Lines about the review by people that was applied."""
    kept_steps: Mapping[str, int] = {}
    """Number of steps that ran, and that were kept from an earlier build, by kind."""

    def verdict_count(self, verdict: str) -> int:
        """Return the number of candidates with this verdict."""
        return sum(row.verdict == verdict for row in self.verdicts.values())

    def reasons(self) -> Counter[str]:
        """Return the number of candidates for each reason of the gate, by ``verdict: reason``."""
        counts: Counter[str] = Counter()
        for row in self.verdicts.values():
            counts.update({f"{row.verdict}: {reason.partition(':')[0]}" for reason in row.reasons})
        return counts

    def verdict_counts_by_label(self, label: str) -> dict[str, Counter[str]]:
        """Return counts of verdicts by the values of a label."""
        table: dict[str, Counter[str]] = {}
        for problem in self.candidates:
            if problem.id in self.verdicts:
                table.setdefault(problem.label(label), Counter())[self.verdicts[problem.id].verdict] += 1
        return table

    @property
    def yield_task_count(self) -> int:
        """Number of valid tasks that count in the yield: those in files with known reach."""
        unknown = self.manifest.unknown_reach
        return sum(
            row.verdict == "valid"
            for problem in self.candidates
            if (row := self.verdicts.get(problem.id)) is not None and file_splice(problem).path not in unknown
        )


# A project may have thousands of skipped files; the terminal shows the first, the manifest has all.
_SHOWN_FILES: Final = 12
_VERDICTS: Final = ("valid", "unverified", "invalid")


def build_result(built: BuiltTasks, output: Path, wall_s: float, *, candidates_only: bool) -> BuildResult:
    """Return the printed result of a build that took ``wall_s`` seconds; not usable if it has no task."""
    if candidates_only:
        count = counted(len(built.candidates), "candidate")
        last = f"\n{output}: {count}; the same command without --candidates-only decides"
    elif not built.task_count:
        last = (
            f"\n{output}: 0 tasks: no candidate passed the gate; --max-candidates N draws more, and --test-command "
            "names tests that compare results (another build needs another -o)"
        )
    else:
        data = shlex.quote(str(output))
        last = (
            f"\n{output}: {counted(built.task_count, 'task')}; caretbench run {built.manifest.suite} --data {data} -m …"
        )
    return BuildResult(
        lines=(*_lines(built, wall_s), last),
        numbers=_numbers(built, wall_s),
        notes=(*_notes(built),),
        usable=candidates_only or bool(built.task_count),
    )


def _numbers(built: BuiltTasks, wall_s: float) -> dict[str, JsonValue]:
    manifest = built.manifest
    stored = manifest.model_dump(mode="json")
    causes = (
        "passed_over", "unknown_reach", "dropped_checks", "flaky_tests", "failing_tests", "omitted_files",
        "order_dependent",
    )  # fmt: skip
    written: dict[str, JsonValue] = {}
    if manifest.tester is not None:
        counts_by_author = built.verdict_counts_by_label("tests_by")
        written["tester"] = stored["tester"]
        written["verdicts_by_tests"] = {author: dict(counts) for author, counts in counts_by_author.items()}
    reached = sum(manifest.reached_lines.values())
    return {
        "project": manifest.project,
        "candidates": len(built.candidates),
        "verdicts": {name: built.verdict_count(name) for name in _VERDICTS},
        "reasons": dict(built.reasons()),
        "strengths": dict(strength_counts(built.verdicts.values())),
        "tasks": built.task_count,
        "lines": stored["lines"],
        "reached_lines": stored["reached_lines"],
        "valid_per_1000_reached_lines": round(1000 * built.yield_task_count / reached, 1) if reached else None,
        "not_candidates": stored["rejected"],
        **{name: stored[name] for name in causes},
        **written,
        **({"steps": dict(built.kept_steps)} if built.kept_steps else {}),
        "wall_s": round(wall_s, 1),
        "cpu_s": round(built.gate_cpu_s, 1),
        "decided": built.decided_count,
    }


def _notes(built: BuiltTasks) -> Iterator[str]:
    yield from built.review_lines
    if kept := built.kept_steps.get("command kept", 0):
        runs = kept + built.kept_steps.get("command", 0)
        yield f"{kept} of {runs} test runs of wrong answers are kept from an earlier build"
    manifest = built.manifest
    for name, reason in manifest.dropped_checks.items():
        yield f"{name}: excluded: {reason}"
    for name, tests in manifest.flaky_tests.items():
        yield f"{name}: excluded, because they are flaky: {', '.join(tests)}"
    for name, files in manifest.omitted_files.items():
        first = ", ".join(files[:_SHOWN_FILES])
        yield f"{name}: {len(files)} test files do not run, because all exceed the limit of a command: {first}"
    for name, failing in manifest.failing_tests.items():
        yield f"{name}: excluded, because they fail on the unchanged project (--all-tests insists on them):"
        shown = list(failing.items())[:_SHOWN_FILES]
        yield from (f"  {test}: {error}" if error else f"  {test}" for test, error in shown)
        if len(failing) > _SHOWN_FILES:
            yield f"  … and {len(failing) - _SHOWN_FILES} more; the manifest lists all"
        modules = missing_modules("\n".join(failing.values())) if "python" in manifest.languages else ()
        if modules:
            yield f"{name}: {missing_packages_hint(manifest.setup, modules)}"
    if manifest.tester is not None:
        for name, reason in (*manifest.tester.malformed.items(), *manifest.tester.dropped.items()):
            yield f"written test {name}: {reason}"
    for name, failure in manifest.order_dependent.items():
        yield f"{name}: {failure}; so all tests run for every task, in the project's own order"
    yield from _of_files(manifest.passed_over, "not mined")
    unknown = "the statements that its tests reach are unknown, so it does not count in the yield"
    yield from _of_files(manifest.unknown_reach, unknown)


def _of_files(reasons: Mapping[str, str], outcome: str) -> Iterator[str]:
    for path, reason in list(reasons.items())[:_SHOWN_FILES]:
        yield f"{path}: {outcome}: {reason}"
    if len(reasons) > _SHOWN_FILES:
        yield f"… and {len(reasons) - _SHOWN_FILES} more files ({outcome}); the manifest lists all"


def _lines(built: BuiltTasks, wall_s: float) -> Iterator[str]:
    manifest = built.manifest
    reached = sum(manifest.reached_lines.values())
    yield f"{manifest.project}: {sum(manifest.lines.values())} lines, {reached} of them reached by its tests"
    blocks = sorted(manifest.rejected.items(), key=lambda entry: -entry[1])
    yield "no candidates: " + (", ".join(f"{count} {reason}" for reason, count in blocks) or "none")
    table = _verdict_table(built, built.verdict_label, built.verdict_label)
    if table:
        yield ""
        yield from table
        yield from (f"  {reason} ({count})" for reason, count in built.reasons().most_common())
        strengths = strength_counts(built.verdicts.values()).most_common()
        counts = ", ".join(f"{count} {name}" for name, count in strengths)
        yield from [f"  valid by what the killed mutant changes: {counts}"] if counts else []
    if manifest.tester is not None:
        yield f"written tests: {manifest.tester.summary}"
        yield from _verdict_table(built, "tests_by", "tests by")
    if built.task_count:
        per = ""
        if reached:
            more = manifest.rejected.get("not_drawn", 0)
            bound = f" ({more} more candidates were not drawn: --max-candidates)" if more else ""
            rate = 1000 * built.yield_task_count / reached
            per = f"{rate:.0f}" if rate >= 1 or not rate else f"{rate:.1g}"
            per = f"{per} valid per 1,000 reached lines{bound}; "
        gate = ""
        if built.decided_count:
            each = built.gate_cpu_s / built.decided_count
            gate = (
                f"; the gate took {built.gate_cpu_s:.0f} s of CPU, {each:.2f} s for each of its "
                f"{counted(built.decided_count, 'candidate')}"
            )
        yield f"\n{per}this run took {wall_s:.0f} s{gate}"


def _verdict_table(built: BuiltTasks, label: str, title: str) -> list[str]:
    """Return the table of verdicts by the values of a label; empty if no candidate has it."""
    rows = [
        [value, *(str(counts[verdict]) for verdict in _VERDICTS), str(counts.total())]
        for value, counts in sorted(built.verdict_counts_by_label(label).items())
    ]
    return align_columns(rows, (title, *_VERDICTS, "candidates")) if rows else []
