"""Examination of one written test in the sandbox: it passes, repeats, reaches new blocks, and fails under their masks.

A test stays if it passes three times alone and twice in one process, changes no file, passes where the text of the
module differs but not what it does, and fails for at least one block that no other test reaches: under every mask of
the block, where its whole function does nothing, and under a mutant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from caretbench.build.project_tasks.tester.answer_tests import WrittenTest, answer_tests, name_fault, refusal
from caretbench.build.project_tasks.tester.test_workspace import CHANGED, WrittenRuns
from caretbench.build.project_tasks.tester.untested_functions import import_path
from caretbench.build.projects.failure_reasons import failure_reason
from caretbench.build.projects.reach.instrumentation import instrument
from caretbench.build.projects.reach.measurement import measure_reach
from caretbench.build.projects.reach.statement_reach import StatementReach
from caretbench.build.projects.setup.python_packages import import_folders
from caretbench.build.projects.test_outcomes import outcomes_by_test, with_reversed_order
from caretbench.build.validation.mutants import REACH_ONLY_MUTANTS, masks, mutants
from caretbench.build.validation.workspace_gate import THROW
from caretbench.errors import DataError
from caretbench.execution.execution_types import Status
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_executor import WorkspaceEngine
from caretbench.execution.workspaces.workspace_request import WorkspaceRequest, WorkspaceResult
from caretbench.problem import Caret, InlineSplice, Problem, Provenance
from caretbench.projects.file_spans import span_splice
from caretbench.redaction import redact
from caretbench.syntax import Span
from caretbench.syntax.analysis import FileAnalysis, ProjectAnalysis

# As often as a project's own tests run: what fails one time in three would give flaky verdicts.
RUNS: Final = 3
NOT_RUN: Final = "not_run"
"""Kind of a fault for which the machine may be the reason; it is not stored."""
MAX_BLOCKS: Final = 8
"""Maximum number of new blocks of one test whose masks run, the longest first."""
_MAX_MUTANTS: Final = 12
# One killed mutant is enough: the next ones run only where the first four all pass.
_MUTANTS_AT_ONCE: Final = 4
_MAX_REASON: Final = 200


class Examined(NamedTuple):
    """Outcome of a test: the reason to drop it (empty: none), and the blocks for which it stays."""

    reason: str
    blocks: tuple[Span, ...] = ()


@dataclass(frozen=True)
class TestExaminer:
    """Examiner of written tests.

    Args:
        engine: Runs commands.
        store: Snapshots.
        runs: Requests of written tests.
        analysis: The project.
        imports: Reach of the import of a module, by path; filled as it is measured.
    """

    __test__ = False  # not a test itself

    engine: WorkspaceEngine
    store: SnapshotStore
    runs: WrittenRuns
    analysis: ProjectAnalysis
    imports: dict[str, StatementReach | None] = field(default_factory=dict)

    def examine(self, test: WrittenTest, blocks: Sequence[Span]) -> Examined:
        """Return the outcome of a test; ``blocks`` are those of its file that no other test reaches.

        Raises:
            DataError: this machine could not run it.
        """
        fault = refusal(test) or self._fault_alone(test)
        if fault:
            return Examined(_short(fault))
        new = self._new_blocks(test, blocks)
        if not new:
            return Examined("reaches_nothing_new: other tests or the import of the module reach all its blocks")
        # Instrumentation changes the text and keeps what the module does, so a failing test has read the text.
        if self._reads_source(test):
            return Examined("reads_the_source: it fails where the text of the module differs, but not what it does")
        killed = self._killed(test, new)
        if not killed:
            return Examined(f"vacuous: it passes under masks or mutants of each of its {len(new)} new blocks")
        return Examined("", killed)

    def _fault_alone(self, test: WrittenTest) -> str:
        """Return the fault of a test on the unchanged project; empty if it passes three times, and twice in a row."""
        request = self.runs.request([test], "alone 0")
        [first] = self._submit([self.runs.guarded(request)])
        if first.exit_code == CHANGED:
            return "changes_files: it changes or deletes files of the project"
        fault = run_fault(first, [test]) or _fault_of_names(first, test)
        if fault:  # further runs would cost as much, and it does not stay
            return fault
        # Two copies in one process: a test that leaves state behind fails on the second.
        copy = test._replace(source=f"{test.source}# again\n")
        twice = self.runs.request([test, copy], "twice")
        repeated = [request.model_copy(update={"repeat": n, "id": f"alone {n}"}) for n in range(1, RUNS)]
        results = {result.id: result for result in self._submit([*repeated, with_reversed_order(twice) or twice])}
        faults = [fault for request in repeated if (fault := run_fault(results[request.id], [test]))]
        if faults:
            return f"flaky: {RUNS - len(faults)} of {RUNS} runs pass; else {faults[0]}"
        again = run_fault(results["twice"], [test, copy])
        return f"not_repeatable: it fails when it runs twice in one process: {again}" if again else ""

    def _new_blocks(self, test: WrittenTest, blocks: Sequence[Span]) -> list[Span]:
        """Return the blocks that a test reaches, and the import of its file does not."""
        at_import = self._at_import(test.target)
        candidates = [span for span in blocks if not (at_import and at_import.reaches(test.target, *span))]
        reach = self._reach(test) if candidates else None
        reached = [span for span in candidates if reach is not None and reach.reaches(test.target, *span)]
        # The longest blocks first: the masks of short ones inside them tell less.
        return sorted(reached, key=lambda span: (span.start - span.end, span))[:MAX_BLOCKS]

    def _reach(self, test: WrittenTest) -> StatementReach | None:
        """Return the reach of a test in its file; None if it is unknown."""
        reach = measure_reach(self.engine, self.runs.plain_request([test]), [test.target], store=self.store)
        return None if test.target in reach.unknown_files else reach

    def _at_import(self, path: str) -> StatementReach | None:
        """Return what the import of a module reaches: every test does, so that no mask of it tells one from another."""
        if path not in self.imports:
            module = import_path(path, import_folders(self.runs.snapshot))
            text = f"import importlib\n\n\ndef test_import():\n    importlib.import_module({module!r})\n"
            [test] = answer_tests(text, path, self.runs.framework)
            self.imports[path] = self._reach(test)
        return self.imports[path]

    def _reads_source(self, test: WrittenTest) -> bool:
        """Return whether a test fails where the module has other text and does the same."""
        source = self.analysis[test.target].source
        try:
            marked = instrument(source, 0)
        except DataError:
            return False
        [result] = self._submit([self.runs.request([test], "other text", {test.target: marked.content})])
        return run_fault(result, [test]) != ""

    def _killed(self, test: WrittenTest, spans: Sequence[Span]) -> tuple[Span, ...]:
        """Return the blocks under whose masks a test fails, and under one of their mutants if they have any."""
        masked = {span: self._masked(test.target, span) for span in spans}
        killed = self._kills(test, [text for texts in masked.values() for text in texts])
        noticed = [span for span, texts in sorted(masked.items()) if texts and killed.issuperset(texts)]
        mutated = {span: self._mutated(test.target, span) for span in noticed}
        kept = {span for span, texts in mutated.items() if not texts}
        for start in range(0, _MAX_MUTANTS, _MUTANTS_AT_ONCE):
            waiting = {
                span: texts[start : start + _MUTANTS_AT_ONCE] for span, texts in mutated.items() if span not in kept
            }
            killed = self._kills(test, [text for texts in waiting.values() for text in texts])
            kept |= {span for span, texts in waiting.items() if killed.intersection(texts)}
        return tuple(span for span in noticed if span in kept)

    def _kills(self, test: WrittenTest, texts: Iterable[bytes]) -> set[bytes]:
        """Return those of the texts of the test's file under which it fails."""
        distinct = dict(enumerate(dict.fromkeys(texts)))
        requests = [self.runs.request([test], f"text {n}", {test.target: text}) for n, text in distinct.items()]
        results = {result.id: result.status for result in self._submit(requests)}
        return {text for n, text in distinct.items() if results[f"text {n}"].kills_mutant}

    def _masked(self, path: str, span: Span) -> list[bytes]:
        """Return the file under each mask of a block, and of the function around it."""
        file = self.analysis[path]
        data = file.source.data
        contents = []
        # The whole function is masked, too: where a needed statement is gone, even a call without an assertion fails.
        for block in dict.fromkeys((span, _body(file, span))):
            splice = span_splice(path, block, self.runs.snapshot.id, data)
            probe = _probe(file, block, self.runs)
            contents += [splice.content(data, mask.text) for mask in masks(probe, data, block, throw=False)]
        return contents

    def _mutated(self, path: str, span: Span) -> list[bytes]:
        """Return the file with each of a block's mutants that do more than throw."""
        file = self.analysis[path]
        splice = span_splice(path, span, self.runs.snapshot.id, file.source.data)
        return [
            splice.content(file.source.data, mutant.text)
            for mutant in mutants(_probe(file, span, self.runs), _MAX_MUTANTS)
            # A throw fails every test that reaches it, also one without assertions.
            if mutant.name not in {THROW, *REACH_ONLY_MUTANTS}
        ]

    def _submit(self, requests: Sequence[WorkspaceRequest]) -> Iterator[WorkspaceResult]:
        for result in self.engine.submit(requests):
            if result.status is Status.SKIPPED:  # a test may cause all others
                raise DataError(f"written tests cannot run: {result.reason or result.status.value}")
            yield result


def run_fault(result: WorkspaceResult, tests: Sequence[WrittenTest]) -> str:
    """Return the reason why written tests do not all pass in a run with a log, as ``kind: explanation``; else empty."""
    if result.status is Status.SANDBOX_ERROR:
        return f"{NOT_RUN}: {result.reason}"
    if result.status.hits_limit:
        return f"exceeds_limits: {result.reason or result.status.value}"
    outcomes = outcomes_by_test(result)
    for test in tests:
        # By the file's name, which runners put into the test's name in different ways; it holds a hash, so no other
        # test has it.
        kinds = {outcome.outcome for name, outcome in outcomes.items() if test.stem in name}
        if result.status is Status.PASSED and kinds != {"passed"}:
            return "no_outcome: it ends the run, is skipped, or is not collected"
    return "" if result.status is Status.PASSED else f"fails: {failure_reason(result)}"


def _fault_of_names(result: WorkspaceResult, test: WrittenTest) -> str:
    """Return the fault of the names under which a test is reported, with the values of parameters; else empty."""
    reported = (name.partition(test.stem)[2] for name in outcomes_by_test(result))
    return next(filter(None, map(name_fault, reported)), "")


def _body(file: FileAnalysis, span: Span) -> Span:
    """Return the statements of the innermost function around a block; the block itself if there is none."""
    blocks = file.enclosing_blocks(span, {"function_body"})
    bodies = [block.content for block in blocks if block.content.contains(span)]
    return bodies[-1] if bodies else span


def _probe(file: FileAnalysis, span: Span, runs: WrittenRuns) -> Problem:
    """Return a problem that hides a span, for its masks and mutants."""
    data = file.source.data
    before, text, after = (
        part.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
        for part in (data[: span.start], data[span.start : span.end], data[span.end :])
    )
    return Problem(
        id="probe",
        suite="probe",
        shown=Caret(language=file.source.language, prefix=before, suffix=after, path=file.source.path),
        splice=InlineSplice(before=before, after=after),
        reference=text,
        checks=(runs.check,),
        cluster="probe",
        provenance=Provenance(source="probe"),
    )


def _short(reason: str) -> str:
    """Return a reason that may quote a test's output, for files and terminals: one line, without secrets."""
    plain = "".join(mark if mark.isprintable() else " " for mark in redact(reason))
    return " ".join(plain.split())[:_MAX_REASON]
