"""Examination of answers: from a text of a generator to an instance, or to the reason why it is none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from caretbench.build.validation.public_copies import TwinIndex
from caretbench.metrics.text_overlap import bag_overlap
from caretbench.problem import InlineSplice, PredicateCheck, Problem
from caretbench.suites.devbench.build.construction.build_folder import (
    AttemptOutcome,
    InstanceFile,
    InstanceRequest,
    StoredAnswer,
    predicate_file,
)
from caretbench.suites.devbench.build.construction.gate_runs import GateRuns
from caretbench.suites.devbench.build.construction.generated_answer import (
    GeneratedInstance,
    UnusableAnswer,
    moved_instances,
    read_answer,
)
from caretbench.suites.devbench.build.instance_rules.instance_checks import (
    PASSED,
    instance_band,
    instance_kind,
    made_documentation_check,
    mentions_library,
    rule_faults,
    text_checks,
)
from caretbench.suites.devbench.build.instance_rules.program_view import ProgramView, nesting_depth
from caretbench.suites.devbench.build.instance_rules.rule_measures import RULE_MEASURES, tree_shape
from caretbench.suites.devbench.built_instances import UNSEEN, Scenario
from caretbench.suites.devbench.cells.cell_tables import cell_categories
from caretbench.suites.devbench.starter import DocumentationCheck, problem_of_text
from caretbench.syntax.caret_boundary import caret_boundary
from caretbench.syntax.parser import unparsed

_DIAGNOSTIC_CHARACTERS = 600
_MAX_DEPTH = 200
"""Largest depth of a syntax tree that is analysed; 34 is the largest of the released programs."""


class InstanceCandidate(NamedTuple):
    """An instance under examination; the problem's id ends with the request's key."""

    request: InstanceRequest
    instance: GeneratedInstance
    problem: Problem
    predicate: DocumentationCheck | None

    @property
    def cell(self) -> str:
        """The cell of the scenario."""
        return self.request.scenario.cell

    @property
    def content(self) -> InstanceFile:
        """Text of its file, and of the file with its predicate."""
        return InstanceFile(self.instance.file_text, predicate_file(self.predicate))


class ExaminedAnswer(NamedTuple):
    """Result of an answer: outcome, diagnosis, result of each check; ``candidate`` where there is an instance."""

    request: InstanceRequest
    outcome: AttemptOutcome
    detail: str = ""
    checks: Mapping[str, str] = {}
    candidate: InstanceCandidate | None = None
    killed_by: str = ""


@dataclass
class InstanceExamination:
    """Examination of answers: texts, twins, then the gate in the sandbox.

    ``twins`` is the index of all known programs; candidates that pass are added to it under their problems' ids.
    ``related`` returns the ids that share a scenario, which may have the same words; ``known`` the accepted problem of
    an id.
    """

    runs: GateRuns
    twins: TwinIndex
    related: Callable[[Scenario], Sequence[str]]
    known: Callable[[str], Problem | None]

    def examine(self, answers: Sequence[tuple[InstanceRequest, StoredAnswer]]) -> Iterator[ExaminedAnswer]:
        """Yield the result of each answer, those without a usable text first."""
        waiting: list[tuple[InstanceCandidate, Mapping[str, str]]] = []
        for request, answer in answers:
            found = read_answer(answer.text or "", answer.finish_reason)
            if isinstance(found, UnusableAnswer):
                yield ExaminedAnswer(request, found.fault, found.diagnosis)
                continue
            # Before anything else looks at the tree: JSON that was nested 500 deep once ended a build.
            if fault := parse_fault(found.file_text, request.scenario.language):
                yield ExaminedAnswer(request, "text", fault, {"parse": fault})
                continue
            candidate, checks = examined_candidate(request, found)
            checks = {**checks, **self._sibling_check(candidate.problem, request.scenario)}
            faults = [fault for fault in checks.values() if fault != PASSED]
            if faults:
                yield ExaminedAnswer(request, "text", "; ".join(faults), checks)
                continue
            own = request.scenario.original_id
            others = [one.problem.id for one, _ in waiting if one.request.scenario.original_id == own]
            if twin := self._twin_fault(candidate.problem, request.scenario, others):
                yield ExaminedAnswer(request, "twin", twin, {**checks, "twin": twin})
                continue
            # At once, so that two answers of the same round cannot be twins of each other.
            self.twins.add(candidate.problem.id, *_indexed(candidate.problem, request.scenario))
            waiting.append((candidate, {**checks, "twin": PASSED}))
        yield from self._gated(waiting)

    def _sibling_check(self, problem: Problem, scenario: Scenario) -> dict[str, str]:
        """Return the check of a sibling against its original; empty for other problems."""
        original = self.known(scenario.sibling_of or "")
        return {} if original is None else {"sibling": sibling_fault(original, problem) or PASSED}

    def _twin_fault(self, problem: Problem, scenario: Scenario, others: Sequence[str] = ()) -> str:
        """Return the fault of a problem that has a twin; ``others`` share its scenario besides the known ones."""
        # Two generators with one scenario got the same names and numbers, so their words may agree; copied runs still
        # count.
        related = [*self.related(scenario), *others]
        twin = self.twins.twin_of(problem.id, *_indexed(problem, scenario), related=related)
        return f"it is a twin of {twin}; choose another idea, other statements and other words" if twin else ""

    def edited_checks(self, problem: Problem, scenario: Scenario, library: str) -> dict[str, str]:
        """Return all checks but the gate of an instance whose file was edited by hand."""
        text = problem.splice.program(problem.reference) if isinstance(problem.splice, InlineSplice) else ""
        if fault := parse_fault(text, scenario.language):
            return {"parse": fault}
        checks = {**scenario_checks(problem, scenario, library), **self._sibling_check(problem, scenario)}
        return checks | {"twin": self._twin_fault(problem, scenario) or PASSED}

    def _gated(self, waiting: Sequence[tuple[InstanceCandidate, Mapping[str, str]]]) -> Iterator[ExaminedAnswer]:
        results = self.runs.results([candidate.problem for candidate, _ in waiting])
        for candidate, checks in waiting:
            result = results[candidate.problem.id]
            checks = {**checks, "accesses": UNSEEN if result.unseen else PASSED, "gate": result.fault or PASSED}
            if result.outcome == "instance":
                yield ExaminedAnswer(candidate.request, "instance", "", checks, candidate, result.killed_by)
                continue
            # A program that failed the gate must not forbid its own repair.
            self.twins.remove(candidate.problem.id)
            yield ExaminedAnswer(candidate.request, result.outcome, result.detail, checks)


def _indexed(problem: Problem, scenario: Scenario) -> tuple[str, str, str]:
    return scenario.language, scenario.cell, ProgramView.of(problem).shown


def parse_fault(program: str, language: str) -> str:
    """Return why a program must not be analysed: it takes too much to parse, or is nested too deep; or nothing."""
    if reason := unparsed((program,), language):
        return f"the program is unparsed: {reason}"
    depth = nesting_depth(program, language)
    return f"the program is nested {depth} deep, and {_MAX_DEPTH} is the most" if depth > _MAX_DEPTH else ""


def instance_candidate(request: InstanceRequest, found: GeneratedInstance) -> InstanceCandidate:
    """Return the instance of an answer as a problem, with the predicate of documentation."""
    identity = f"{request.scenario.cell}/{found.stem}#{request.key}"
    problem = problem_of_text(found.file_text, identity, "candidate")
    predicate = None
    if request.scenario.category == "code2nl_nl2code":
        predicate = made_documentation_check(ProgramView.of(problem))
    if predicate is not None:
        checks = (PredicateCheck(name="documentation", arguments=predicate.model_dump(mode="json")),)
        problem = problem_of_text(found.file_text, identity, "candidate", checks)
    return InstanceCandidate(request, found, problem, predicate)


def examined_candidate(
    request: InstanceRequest, found: GeneratedInstance
) -> tuple[InstanceCandidate, Mapping[str, str]]:
    """Return the instance of an answer, and its checks by :func:`scenario_checks`.

    Its caret is moved to the requested boundary if the moved instance passes; else it stays where the answer has it.
    """
    candidate = instance_candidate(request, found)
    checks = scenario_checks(candidate.problem, request.scenario, found.library)
    # The fault is in the text itself, and moving the caret would only hide which one.
    if any(fault != PASSED for fault in checks.values()):
        return candidate, checks
    for moved in moved_instances(found, request.scenario.boundary):
        other = instance_candidate(request, moved)
        moved_checks = scenario_checks(other.problem, request.scenario, found.library)
        if all(fault == PASSED for fault in moved_checks.values()):
            return other, moved_checks
    return candidate, checks


def scenario_checks(problem: Problem, scenario: Scenario, library: str) -> dict[str, str]:
    """Return the checks of the text, and whether mode, kind and difficulty are those of the scenario.

    An instance may be harder than asked for, but not easier: too easy ones are what people reject most (paper, 2.3).
    """
    checks = text_checks(problem)
    # Measures of a tree with errors are guesses, and their faults would send the generator after the wrong cause.
    if checks["parse"] != PASSED:
        return checks
    category = cell_categories()[scenario.category]
    suffix = problem.caret.suffix.strip()
    if bool(suffix) != (scenario.mode == "suffix"):
        checks["mode"] = "the suffix must be empty" if suffix else "the suffix must not be empty"
    else:
        checks["mode"] = PASSED
    checks["library"] = _library(problem, scenario, library)
    view = ProgramView.of(problem)
    checks["kind"] = "; ".join(rule_faults(view, category.kinds[scenario.kind].rules).values()) or PASSED
    checks["difficulty"] = _difficulty(view, category.bands, scenario.band)
    return checks


def measured_properties(problem: Problem, scenario: Scenario) -> dict[str, str]:
    """Return the kind, band, boundary and mode that an instance has; the requested ones where several fit."""
    view, category = ProgramView.of(problem), cell_categories()[scenario.category]
    return {
        "kind": instance_kind(view, category, scenario.kind),
        "band": instance_band(view, category, scenario.band),
        "boundary": caret_boundary(problem.caret.prefix, problem.reference, problem.caret.suffix),
        "mode": problem.label("mode"),
    }


def _library(problem: Problem, scenario: Scenario, library: str) -> str:
    """Return a fault if an instance about a library names none, or one that its code does not mention."""
    if "library_calls" not in cell_categories()[scenario.category].rules:
        return PASSED
    if not re.search(r"\w", library):
        return "the field `library` must name the library that the reference uses"
    is_named = mentions_library(ProgramView.of(problem), library)
    return PASSED if is_named else f"the code does not mention the library {library!r}"


def _difficulty(view: ProgramView, bands: Mapping[str, tuple[int, int]], asked: str) -> str:
    tokens = RULE_MEASURES["reference_tokens"](view)
    low = bands[asked][0]
    return PASSED if tokens >= low else f"too easy: the reference has {tokens} tokens, and {low} are the least"


# Without a bound the paired test of memory would compare two programs that have nothing to do with each other.
MIN_SHAPE_OVERLAP: Final = 0.85
"""Least overlap (F1) of the tree shapes of a sibling and its original; others of a cell have at most 0.78."""
MAX_WORD_SHARE: Final = 0.6
"""Largest share of words in common (Jaccard); others of a cell have at most 0.37, a copy has 1."""


def sibling_fault(original: Problem, sibling: Problem) -> str:
    """Return why a problem is no sibling of another: another shape, or the same words; empty if it is one."""
    first, second = ProgramView.of(original), ProgramView.of(sibling)
    shapes = (tree_shape(view.tree.root_node) for view in (first, second))
    shape = bag_overlap(*(one.elements() for one in shapes)).f1
    if shape < MIN_SHAPE_OVERLAP:
        return (
            f"it has not the shape of the original: {shape:.2f} of the syntax tree in common, at least "
            f"{MIN_SHAPE_OVERLAP} required; keep statements and calls, change names, values and texts"
        )
    words, others = (set(re.findall(r"\w\w+", view.shown.lower())) for view in (first, second))
    share = len(words & others) / max(1, len(words | others))
    if share > MAX_WORD_SHARE:
        return f"it has {share:.0%} of its words in common with the original, at most {MAX_WORD_SHARE:.0%} allowed"
    return ""
