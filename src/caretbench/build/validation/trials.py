"""Trial of one problem by the gate for projects: the answers to try, and the verdict from their results."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from caretbench.build.projects.project_check import ProjectCheck
from caretbench.build.validation.mutants import (
    ADDED_THROW,
    REACH_ONLY_MUTANTS,
    STRENGTHS,
    added_code,
    in_file,
    mutants,
    parses_as_reference,
    strength,
    throw_at_start,
    value_mutants,
)
from caretbench.build.validation.mutation_target import mutation_table
from caretbench.execution.execution_types import Status
from caretbench.execution.workspaces.workspace_runner import WorkspaceResult
from caretbench.extraction.policies import Policy
from caretbench.languages import language as language_named
from caretbench.problem import Caret, InlineSplice, Problem
from caretbench.suites.baselines import stub
from caretbench.suites.validity import Validity, Verdict
from caretbench.syntax.parser import captures, encode, parse

THROW: Final = "throw"
"""Name of mutants that throw."""
EMPTY_ANSWERS: Final = frozenset({"empty", "stub", "closers", "no value"})
"""Names of answers without content."""
LINE_AGAIN: Final = "line again"
"""Name of the answer that writes the caret's line again before it goes on."""

_CLOSERS = re.compile(r"[\s})\];]*\Z")
_MAX_CLOSERS = 8


_AT_START: Final = "throw at start"
"""Name of the answer that throws before its first statement."""


class TrialAnswer(NamedTuple):
    """An answer to try: empty, or a mutant. ``throw_name`` is ``throw`` or ``crash`` for a throw at the start."""

    name: str
    text: str
    throw_name: str = ""
    layout_is_wrong: bool = False
    """The layout changes a text of several lines, so that no policy can forgive it."""


@dataclass
class Trial:
    """State of one problem's trial."""

    problem: Problem
    project: ProjectCheck
    answers: Iterator[TrialAnswer]
    mutants_tried: int = 0
    runs: int = 0
    killed_at_start: str = ""
    """Name of the throw at the start, if the tests failed on it."""
    throw_passes: bool = False
    reach_only_kill: str = ""
    failed_layouts: list[str] = field(default_factory=list)
    """Names of right answers in another layout that fail after the policy."""


def trial_answers(
    problem: Problem, content: bytes, policy: Policy, *, mutates_values: bool = False
) -> Iterator[TrialAnswer]:
    """Yield the answers to try: empty ones, right ones in another layout, then mutants, the strongest first.

    Where the right answer is empty, these are answers with code that is not due.

    ``content`` is the unchanged file with the problem's span. With ``mutates_values``, a reference without
    other mutants has those of its values.
    """
    in_program = in_file(problem, content)
    if not problem.reference.strip():
        yield from (TrialAnswer(mutant.name, mutant.text) for mutant in added_code(in_program))
        return
    yield from _trivial_answers(in_program)
    yield from written_otherwise(in_program, problem.caret, policy)
    # Early, though it shows little: if it is killed, all other throws can be skipped.
    if (throw := throw_at_start(in_program)) is not None:
        yield TrialAnswer(_AT_START, throw.text, throw.name)
    changed = mutants(in_program)
    if mutates_values and all(mutant.name in {THROW, *REACH_ONLY_MUTANTS} for mutant in changed):
        changed = [*value_mutants(in_program), *changed]
    found = [TrialAnswer(mutant.name, mutant.text) for mutant in changed]
    yield from sorted(found, key=lambda one: STRENGTHS.index(strength(one.name)))


def _trivial_answers(problem: Problem) -> Iterator[TrialAnswer]:
    """Yield the answers without content; only those that parse, if the reference does."""
    splice = problem.splice
    assert isinstance(splice, InlineSplice)  # noqa: S101  a problem in its file
    is_sound = parses_as_reference(splice, problem.reference, problem.caret.language)
    seen = {problem.reference.strip()}
    value = mutation_table(language_named(problem.caret.language).name).default_value
    # A call whose argument may as well be missing says nothing about it: in asgiref `None` passed for a lock.
    values = [("no value", value)] if problem.labels.get("block") == "argument_list" else []
    for name, text in (("empty", ""), ("stub", stub(problem)), *values, *_closers(problem.reference)):
        if text.strip() not in seen and is_sound(text):
            seen.add(text.strip())
            yield TrialAnswer(name, text)
            # Only the longest text that parses: shorter ones are parts of it.
            if name == "closers":
                return


def written_otherwise(problem: Problem, caret: Caret, policy: Policy) -> Iterator[TrialAnswer]:
    """Yield the caret's line again and the reference in other layouts, after the policy; equal texts once.

    ``problem`` is spliced into its program; ``caret`` is what a model is shown.
    """
    seen = {problem.reference.strip()}
    for answer in (*_line_again(problem), *right_answers(problem)):
        text = policy.apply(answer.text, caret).text
        if text.strip() not in seen:  # most are the reference after the policy
            seen.add(text.strip())
            yield answer._replace(text=text)


def _line_again(problem: Problem) -> Iterator[TrialAnswer]:
    """Yield the answer that writes the caret's line again: ``total = `` and then ``total = a * b``, if it parses."""
    splice = problem.splice
    assert isinstance(splice, InlineSplice)  # noqa: S101  a problem in its file
    line = splice.before.rpartition("\n")[2].lstrip()
    if line and parses_as_reference(splice, problem.reference, problem.caret.language)(line + problem.reference):
        yield TrialAnswer(LINE_AGAIN, line + problem.reference)


LAYOUTS: Final = ("fence", "tabs", "comment in column 0", "other quotes")
"""Names of right answers in another layout."""
_BLANKS = re.compile(r"^(?: {4})+", re.MULTILINE)


def right_answers(problem: Problem) -> Iterator[TrialAnswer]:
    """Yield the reference in other layouts: dedented in a fence, with tabs, a comment in column 0, and other quotes."""
    splice = problem.splice
    assert isinstance(splice, InlineSplice)  # noqa: S101  a problem in its file
    reference, language = problem.reference, language_named(problem.caret.language).name
    start, program = len(encode(splice.before)), encode(splice.program(reference))
    end = start + len(encode(reference))
    found = captures(parse(program, language).root_node, language, "mutations").get("string", [])
    # The caret may be inside a text that begins above it.
    around = [
        program[node.start_byte : node.end_byte] for node in found if node.start_byte < end and start < node.end_byte
    ]
    in_text = any(b"\n" in text for text in around)
    strings = [
        (node.start_byte - start, program[node.start_byte : node.end_byte])
        for node in found
        if start <= node.start_byte and node.end_byte <= end
    ]
    line = splice.before.rpartition("\n")[2]
    dedented = textwrap.dedent((line if not line.strip() else "") + reference)
    yield TrialAnswer("fence", f"```{language}\n{dedented}\n```", layout_is_wrong=in_text)
    yield TrialAnswer("tabs", _BLANKS.sub(lambda hit: "\t" * (len(hit[0]) // 4), reference), layout_is_wrong=in_text)
    first, newline, rest = reference.partition("\n")
    mark = mutation_table(language).vague_line_comment
    commented = f"{first}{newline}{mark}\n{rest}"
    if rest.strip() and parses_as_reference(splice, reference, language)(commented):
        yield TrialAnswer("comment in column 0", commented, layout_is_wrong=in_text)
    if language in _TWO_QUOTES:
        data = bytearray(encode(reference))
        for place, text in strings:
            if text[:1] + text[-1:] in (b"''", b'""') and not re.search(rb"[\'\"\\\n]", text[1:-1]):
                data[place] = data[place + len(text) - 1] = 39 + 34 - text[0]
        yield TrialAnswer("other quotes", data.decode("utf-8", "surrogatepass"))


_TWO_QUOTES = frozenset({"python", "javascript", "typescript"})
"""Languages in which both kinds of quotes mean the same."""


def _closers(reference: str) -> Iterator[tuple[str, str]]:
    """Yield the closing brackets at the end of a reference, the longest text first."""
    found = _CLOSERS.search(reference)
    tail = found[0] if found else ""
    starts = [n for n, mark in enumerate(tail) if mark in "})]"]
    for start in starts[-_MAX_CLOSERS:]:
        yield "closers", tail[start:]


def next_answer(trial: Trial) -> TrialAnswer | None:
    """Return the next answer to try; throws are skipped if the one at the start was killed."""
    answer = next(trial.answers, None)
    while answer is not None and trial.killed_at_start and answer.name in {THROW, *REACH_ONLY_MUTANTS}:
        answer = next(trial.answers, None)
    return answer


def verdict_of_result(trial: Trial, answer: TrialAnswer, result: WorkspaceResult) -> Validity | None:
    """Return the verdict that follows from an answer's result; None if another answer must be tried."""
    if result.status.is_machine_fault:
        return _row(trial, "unverified", f"not_run: {result.reason or result.status.value}")
    passes = result.status is Status.PASSED
    if answer.name in EMPTY_ANSWERS:
        return _row(trial, "invalid", f"answerable_without_answer: {answer.name}") if passes else None
    if answer.name in LAYOUTS:
        if not passes and answer.layout_is_wrong:
            return _row(trial, "invalid", f"right_answer_fails: {answer.name} in a string")
        trial.failed_layouts += [] if passes else [answer.name]
        return None
    if answer.name == LINE_AGAIN:
        return _row(trial, "invalid", f"wrong_answer_passes: {LINE_AGAIN}") if passes else None
    return _verdict_of_mutant(trial, answer, result)


def _verdict_of_mutant(trial: Trial, answer: TrialAnswer, result: WorkspaceResult) -> Validity | None:
    passes = result.status is Status.PASSED
    trial.mutants_tried += 1
    if answer.name == _AT_START:
        if passes:
            return _row(trial, "invalid", f"answerable_without_answer: {THROW}")
        trial.killed_at_start = answer.throw_name if result.status.kills_mutant else ""
        return None
    if passes:
        trial.throw_passes |= answer.name == THROW
        return None
    if not result.status.kills_mutant:
        return None
    if answer.name in {*REACH_ONLY_MUTANTS, ADDED_THROW}:
        trial.reach_only_kill = answer.name
        return None
    return _row(trial, "valid", killed_by=answer.name, strength=strength(answer.name))


def verdict_without_kill(trial: Trial) -> Validity:
    """Return the verdict after all answers, if no mutant was killed except throws."""
    start = trial.killed_at_start
    if start and start not in REACH_ONLY_MUTANTS:
        return _row(trial, "valid", killed_by=start, strength=strength(start))
    if trial.reach_only_kill or trial.killed_at_start:
        return _row(trial, "unverified", f"only_reached: killed by {trial.reach_only_kill or trial.killed_at_start}")
    passes = "; even a throw passes" if trial.throw_passes else ""
    return _row(trial, "unverified", f"no_killing_mutant: {trial.mutants_tried} tried{passes}")


def _row(trial: Trial, verdict: Verdict, *reasons: str, **details: str) -> Validity:
    # No measured times: a build that is stopped and resumed writes the same bytes as an unbroken one.
    found = {"mutants_tried": str(trial.mutants_tried), "runs": str(trial.runs)}
    if trial.project.flaky_tests:
        found["flaky_tests_left_out"] = ", ".join(trial.project.flaky_tests)
    if trial.project.passed_alone:
        found["passed_alone_only"] = ", ".join(trial.project.passed_alone)
    if trial.failed_layouts:
        found["right_answers_failed"] = ", ".join(trial.failed_layouts)
    details = found | details
    return Validity(problem_id=trial.problem.id, verdict=verdict, reasons=reasons, details=details)
