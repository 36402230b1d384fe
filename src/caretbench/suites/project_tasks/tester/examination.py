"""Examination of one written test in the sandbox: it passes, repeats, reaches new blocks, and fails under their masks.

A test stays if it passes three times alone and twice in one process, changes no file, passes where the text of the
module differs but not what it does, and fails for at least one block that no other test reaches: under every mask of
the block, where its whole function does nothing, and under a mutant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple

from caretbench.errors import DataError
from caretbench.execution.execution_types import Status
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.execution.workspaces.workspace_executor import WorkspaceEngine
from caretbench.execution.workspaces.workspace_request import WorkspaceRequest, WorkspaceResult
from caretbench.problem import Caret, InlineSplice, Problem, Provenance
from caretbench.projects.excluded_tests import outcomes_by_test
from caretbench.projects.failure_reasons import failure_reason
from caretbench.projects.file_spans import span_splice
from caretbench.projects.reach.instrumentation import instrument
from caretbench.projects.reach.measurement import measure_reach
from caretbench.projects.runner_options import with_reversed_order
from caretbench.redaction import redact
from caretbench.suites.project_tasks.block_miner import MinedBlock
from caretbench.suites.project_tasks.tester.answer_tests import WrittenTest, refusal
from caretbench.suites.project_tasks.tester.written_runs import CHANGED, WrittenRuns
from caretbench.syntax import FileAnalysis, ProjectAnalysis, Span
from caretbench.validation.masks import masks
from caretbench.validation.mutants import REACH_ONLY_MUTANTS, mutants
from caretbench.validation.trials import THROW

RUNS: Final = 3
NOT_RUN: Final = "not_run"
"""Kind of a fault for which the machine may be the reason; it is not stored."""
MAX_BLOCKS: Final = 8
"""Maximum number of new blocks of one test whose masks run, the longest first."""
_MAX_MUTANTS: Final = 4
_MAX_REASON: Final = 200


class Examined(NamedTuple):
    """Outcome of a test: the reason to drop it (empty: none), and the blocks for which it stays."""

    reason: str
    blocks: tuple[Span, ...] = ()


class _Changes(NamedTuple):
    """Wrong versions of a file: those under which a test must fail, and those of which it must fail under one."""

    all_of: tuple[bytes, ...]
    one_of: tuple[bytes, ...]


@dataclass(frozen=True)
class TestExaminer:
    """Examiner of written tests.

    Args:
        engine: Runs commands.
        store: Snapshots.
        runs: Requests of written tests.
        analysis: The project.
    """

    __test__ = False  # not a test itself

    engine: WorkspaceEngine
    store: SnapshotStore
    runs: WrittenRuns
    analysis: ProjectAnalysis

    def examine(self, test: WrittenTest, is_new: Callable[[Span], bool], blocks: Sequence[MinedBlock]) -> Examined:
        """Return the outcome of a test; ``blocks`` are those of its file, and ``is_new`` tells which no test reaches.

        Raises:
            DataError: this machine could not run it.
        """
        fault = refusal(test) or self._fault_alone(test)
        if fault:
            return Examined(_short(fault))
        new = self._new_blocks(test, is_new, blocks)
        if not new:
            return Examined("reaches_nothing_new: other tests reach all blocks that it reaches")
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
        fault = run_fault(first, [test])
        if fault:  # further runs would cost as much, and it does not stay
            return fault
        copy = test._replace(source=f"{test.source}# again\n")
        twice = self.runs.request([test, copy], "twice")
        repeated = [request.model_copy(update={"repeat": n, "id": f"alone {n}"}) for n in range(1, RUNS)]
        results = {result.id: result for result in self._submit([*repeated, with_reversed_order(twice) or twice])}
        faults = [fault for one in repeated if (fault := run_fault(results[one.id], [test]))]
        if faults:
            return f"flaky: {RUNS - len(faults)} of {RUNS} runs pass; else {faults[0]}"
        again = run_fault(results["twice"], [test, copy])
        return f"not_repeatable: it fails when it runs twice in one process: {again}" if again else ""

    def _new_blocks(
        self, test: WrittenTest, is_new: Callable[[Span], bool], blocks: Sequence[MinedBlock]
    ) -> list[Span]:
        candidates = [block.span for block in blocks if is_new(block.span)]
        if not candidates:
            return []
        reach = measure_reach(self.engine, self.runs.plain_request([test]), [test.target], store=self.store)
        if test.target in reach.unknown_files:
            return []
        found = [span for span in candidates if reach.reaches(test.target, *span)]
        return sorted(found, key=lambda span: (span.start - span.end, span))[:MAX_BLOCKS]

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
        """Return the blocks under whose masks a test fails."""
        changes = {span: self._changes(test.target, span) for span in spans}
        texts = dict.fromkeys(text for one in changes.values() for text in (*one.all_of, *one.one_of))
        requests = [
            self.runs.request([test], f"mask {number}", {test.target: text}) for number, text in enumerate(texts)
        ]
        results = {result.id: result for result in self._submit(requests)}
        kills = {text: results[f"mask {number}"].status.kills_mutant for number, text in enumerate(texts)}
        return tuple(
            span
            for span, one in sorted(changes.items())
            if one.all_of
            and all(kills[text] for text in one.all_of)
            and (not one.one_of or any(kills[text] for text in one.one_of))
        )

    def _changes(self, path: str, span: Span) -> _Changes:
        """Return the masks of a block and of its function, and mutants of the block that do not only throw."""
        file = self.analysis[path]
        data = file.source.data
        found = []
        for place in dict.fromkeys((span, _body(file, span))):
            splice = span_splice(path, place, self.runs.snapshot.id, data)
            probe = _probe(file, place, self.runs)
            found += [splice.content(data, mask.text) for mask in masks(probe, data, place, throw=False)]
        splice = span_splice(path, span, self.runs.snapshot.id, data)
        changed = (
            splice.content(data, mutant.text)
            for mutant in mutants(_probe(file, span, self.runs))
            if mutant.name not in {THROW, *REACH_ONLY_MUTANTS}
        )
        return _Changes(tuple(found), tuple(islice(changed, _MAX_MUTANTS)))

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
        own = [one for name, one in outcomes.items() if test.stem in name]
        if result.status is Status.PASSED and (not own or any(one.outcome != "passed" for one in own)):
            return "no_outcome: it ends the run, is skipped, or is not collected"
    return "" if result.status is Status.PASSED else f"fails: {failure_reason(result)}"


def _body(file: FileAnalysis, span: Span) -> Span:
    """Return the statements of the innermost function around a block; the block itself if there is none."""
    bodies = [one.content for one in file.enclosing_blocks(span, {"function_body"}) if one.content.contains(span)]
    return bodies[-1] if bodies else span


def _probe(file: FileAnalysis, span: Span, runs: WrittenRuns) -> Problem:
    """Return a problem that hides a span, for its masks and mutants."""
    before, text, after = (
        part.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
        for part in (
            file.source.data[: span.start],
            file.source.data[span.start : span.end],
            file.source.data[span.end :],
        )
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
