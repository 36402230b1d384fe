"""Answers of generators: from a text to an instance, or to the reason why it is none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal, NamedTuple

from pydantic import Field, ValidationError

from caretbench.build.validation.duplicates import TwinIndex
from caretbench.build.validation.private_texts import private_texts
from caretbench.files import describe_validation_error, replace_surrogates
from caretbench.judging.parsing import json_object
from caretbench.metrics.text_overlap import bag_overlap
from caretbench.problem import InlineSplice, PredicateCheck, Problem, Row
from caretbench.suites.devbench.build.construction.build_folder import AttemptOutcome, InstanceRequest, StoredAnswer
from caretbench.suites.devbench.build.construction.gate_runs import GateRuns
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
from caretbench.suites.devbench.built_instances import Scenario
from caretbench.suites.devbench.cells.cell_tables import cell_categories
from caretbench.suites.devbench.starter import CLOSING, OPENING, TESTS, DocumentationCheck, problem_of_text
from caretbench.suites.validity import UNSEEN
from caretbench.syntax.analysis_types import CaretBoundary
from caretbench.syntax.caret_boundary import caret_boundary
from caretbench.syntax.parser import unparsed

AnswerFault = Literal["empty", "cut_off", "refused", "malformed"]

_REFUSAL: Final = re.compile(
    r"\b(?:I(?:'m| am)? (?:sorry|unable|not able|cannot|can't|won't)|I (?:must|have to) (?:decline|refuse)|"
    r"(?:cannot|can't|unable to) (?:help|assist|comply|provide|fulfil))\b",
    re.IGNORECASE,
)
# Refusals are short. A long answer with "I am unable to" in it is a program that says so.
_MAX_REFUSAL: Final = 1200
_EMOJI: Final = "\u2190-\u2bff\ufe0f\U0001f000-\U0001faff"
# What a reader does not see is not in the program either: a mark of direction shows code in another order than it runs,
# and a carriage return let the gate examine another program.
_UNPRINTABLE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060\u2066-\u2069\ufeff"
    f"\U000e0000-\U000e007f]|(?<![{_EMOJI}])\u200d|\u200d(?![{_EMOJI}])"
)
"""Control characters, marks of direction, invisible spaces and tags; a joiner is allowed within an emoji."""
# An answer of 57 kB of nested brackets kept a build busy for minutes.
_MAX_ANSWER: Final = 40_000
_MAX_LINES: Final = 600
"""Maximum number of lines of a program; the longest of the released ones has 365, and 10,787 characters."""
_NAME: Final = re.compile(r"[^a-z0-9]+")
_MAX_NAME: Final = 48


class GeneratedInstance(Row):
    """Texts of an instance as a generator wrote them."""

    name: str = Field(min_length=1)
    prefix: str = Field(min_length=1)
    reference: str = Field(min_length=1)
    suffix: str
    tests: str = ""
    library: str = Field(default="", max_length=120)
    justification: str = Field(min_length=1, max_length=1000)

    @property
    def stem(self) -> str:
        """The name in lower case with hyphens, for a file."""
        return _NAME.sub("-", self.name.lower()).strip("-")[:_MAX_NAME].strip("-") or "instance"

    @property
    def file_text(self) -> str:
        """The instance as a file of the folder: the program with marks around the reference and before the tests."""
        shown = f"{self.prefix}{OPENING}{self.reference}{CLOSING}{self.suffix}"
        return shown + (("" if shown.endswith("\n") else "\n") + TESTS.lstrip("\n") + self.tests if self.tests else "")


class UnusableAnswer(NamedTuple):
    """An answer without an instance: the kind of fault, and a diagnosis that the generator can act on."""

    fault: AnswerFault
    diagnosis: str


def read_answer(text: str, finish_reason: str | None) -> GeneratedInstance | UnusableAnswer:
    """Return the instance in an answer, or why there is none."""
    if not text.strip():
        return UnusableAnswer("empty", "the answer is empty")
    if finish_reason in {"length", "max_tokens"}:
        return UnusableAnswer("cut_off", "the answer was cut at the maximum of tokens; write a shorter program")
    if len(text) > _MAX_ANSWER:
        diagnosis = f"the answer has {len(text)} characters; at most {_MAX_ANSWER} are allowed; write a shorter program"
        return UnusableAnswer("malformed", diagnosis)
    try:
        fields = {
            name: value.replace("\r\n", "\n") if isinstance(value, str) else value
            for name, value in replace_surrogates(json_object(text)).items()
        }
        instance = GeneratedInstance.model_validate(fields)
    except ValidationError as error:
        return UnusableAnswer("malformed", describe_validation_error(error))
    except ValueError as error:
        if len(text) <= _MAX_REFUSAL and _REFUSAL.search(text):
            refused = "the answer is a refusal; the request is for a small, harmless program with a gap"
            return UnusableAnswer("refused", refused)
        return UnusableAnswer("malformed", str(error))
    diagnosis = _text_fault(instance)
    return UnusableAnswer("malformed", diagnosis) if diagnosis else instance


def _text_fault(answer: GeneratedInstance) -> str:
    """Return why the texts cannot be stored or shown; empty if they can."""
    if any(mark in text for mark in (OPENING, CLOSING) for text in (answer.prefix, answer.reference, answer.suffix)):
        return f"the texts hold {OPENING} or {CLOSING}, which mark the gap"
    marks = answer.file_text.count(TESTS.strip())
    if marks > bool(answer.tests):
        return f"the texts hold {TESTS.strip()}, a mark of the file format"
    lines = answer.file_text.count("\n")
    if lines > _MAX_LINES:
        return f"the program has {lines} lines; at most {_MAX_LINES} are allowed; write a shorter program"
    if strange := next((name for name, value in answer.model_dump().items() if _UNPRINTABLE.search(value)), None):
        return f"the field {strange} holds control characters, carriage returns, marks of direction or hidden marks"
    if next(private_texts(f"{answer.name}\n{answer.library}\n{answer.justification}"), None) is not None:
        return "name, library or justification hold a secret, the name of a person or an address"
    return ""


_MAX_MOVES: Final = 6
"""Maximum number of moved instances, since each of them is checked."""


def moved_instances(instance: GeneratedInstance, boundary: CaretBoundary) -> Iterator[GeneratedInstance]:
    """Yield the instance with its caret moved to a boundary, nearest places first; nothing if it is there already.

    Places are tried on the line of the caret: on the first line of the reference, and at the beginning of the line. At
    most a third of the reference is given away. The program stays the same.
    """
    if _boundary(instance) == boundary:
        return
    line = instance.prefix.rpartition("\n")[2]
    indentation = len(line) - len(line.lstrip())
    # To the beginning of the line first, which gives away nothing.
    moves = [indentation - len(line)] if line.strip() else []
    first_line = instance.reference.rstrip().partition("\n")[0]
    # Further down the prefix would give away what is asked for.
    moves += range(1, min(len(first_line), len(instance.reference) // 3 + 1))
    moved = (_moved(instance, move) for move in moves)
    yield from islice((candidate for candidate in moved if _boundary(candidate) == boundary), _MAX_MOVES)


def _moved(instance: GeneratedInstance, move: int) -> GeneratedInstance:
    """Return the instance with its caret moved by some characters, which the prefix gains or, if negative, loses."""
    whole, caret = instance.prefix + instance.reference, len(instance.prefix) + move
    return instance.model_copy(update={"prefix": whole[:caret], "reference": whole[caret:]})


def _boundary(instance: GeneratedInstance) -> CaretBoundary:
    return caret_boundary(instance.prefix, instance.reference, instance.suffix)


_MAX_DEPTH = 200
"""Largest depth of a syntax tree that is analysed; 34 is the largest of the released programs."""


class InstanceCandidate(NamedTuple):
    """An instance under examination; the problem's id ends with the request's key."""

    request: InstanceRequest
    instance: GeneratedInstance
    problem: Problem
    predicate: DocumentationCheck | None


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
            instance = read_answer(answer.text or "", answer.finish_reason)
            if isinstance(instance, UnusableAnswer):
                yield ExaminedAnswer(request, instance.fault, instance.diagnosis)
                continue
            # Before anything else looks at the tree: JSON that was nested 500 deep once ended a build.
            if fault := parse_fault(instance.file_text, request.scenario.language):
                yield ExaminedAnswer(request, "text", fault, {"parse": fault})
                continue
            candidate, checks = examined_candidate(request, instance)
            checks = {**checks, **self._sibling_check(candidate.problem, request.scenario)}
            if faults := [fault for fault in checks.values() if fault != PASSED]:
                yield ExaminedAnswer(request, "text", "; ".join(faults), checks)
                continue
            original = request.scenario.original_id
            others = [other.problem.id for other, _ in waiting if other.request.scenario.original_id == original]
            if twin := self._twin_fault(candidate.problem, request.scenario, others):
                yield ExaminedAnswer(request, "twin", twin, {**checks, "twin": twin})
                continue
            # At once, so that two answers of the same round cannot be twins of each other.
            self.twins.add(candidate.problem.id, *twin_entry(candidate.problem))
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
        twin = self.twins.twin_of(problem.id, *twin_entry(problem), related=related)
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


def twin_entry(problem: Problem) -> tuple[str, str, str]:
    """Return the language, the cell and the shown text of a problem, for the index of twins."""
    language = problem.caret.language
    return language, f"{language}/{problem.label('category')}", ProgramView.of(problem).shown


def parse_fault(program: str, language: str) -> str:
    """Return why a program must not be analysed: it takes too much to parse, or is nested too deep; or nothing."""
    if reason := unparsed((program,), language):
        return f"the program is unparsed: {reason}"
    depth = nesting_depth(program, language)
    return f"the program is nested {depth} deep, and {_MAX_DEPTH} is the most" if depth > _MAX_DEPTH else ""


def instance_candidate(request: InstanceRequest, instance: GeneratedInstance) -> InstanceCandidate:
    """Return the instance of an answer as a problem, with the predicate of documentation."""
    identity = f"{request.scenario.cell}/{instance.stem}#{request.key}"
    problem = problem_of_text(instance.file_text, identity, "candidate")
    is_documented = request.scenario.category == "code2nl_nl2code"
    predicate = made_documentation_check(ProgramView.of(problem)) if is_documented else None
    if predicate is not None:
        checks = (PredicateCheck(name="documentation", arguments=predicate.model_dump(mode="json")),)
        problem = problem_of_text(instance.file_text, identity, "candidate", checks)
    return InstanceCandidate(request, instance, problem, predicate)


def examined_candidate(
    request: InstanceRequest, instance: GeneratedInstance
) -> tuple[InstanceCandidate, Mapping[str, str]]:
    """Return the instance of an answer, and its checks by :func:`scenario_checks`.

    Its caret is moved to the requested boundary if the moved instance passes; else it stays where the answer has it.
    """
    candidate = instance_candidate(request, instance)
    checks = scenario_checks(candidate.problem, request.scenario, instance.library)
    # The fault is in the text itself, and moving the caret would only hide which one.
    if any(fault != PASSED for fault in checks.values()):
        return candidate, checks
    for moved in moved_instances(instance, request.scenario.boundary):
        other = instance_candidate(request, moved)
        moved_checks = scenario_checks(other.problem, request.scenario, instance.library)
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
    is_of_mode = bool(suffix) == (scenario.mode == "suffix")
    checks["mode"] = PASSED if is_of_mode else f"the suffix must {'' if suffix else 'not '}be empty"
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
    shape = bag_overlap(*(tree_shape(view.tree.root_node).elements() for view in (first, second))).f1
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
