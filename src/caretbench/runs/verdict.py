"""Rules that turn the checks of an answer into its verdict, shared by all ways of scoring."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from caretbench.execution.execution_types import ExecutionResult, Status
from caretbench.execution.scan.dead_checks import program_flags
from caretbench.execution.scan.tamper import SCAN_VERSION, tamper_flags
from caretbench.execution.toolchain_tables import toolchain_table
from caretbench.extraction.policies import MAX_RAW_CHARACTERS, TOO_SLOW, Policy, length_refusal
from caretbench.grouping import grouped
from caretbench.problem import (
    Caret,
    CompletionKey,
    CriterionCheck,
    InlineSplice,
    PredicateCheck,
    Problem,
    Profile,
    Score,
)
from caretbench.profiles import ProfileRules, rules_of

# Rows are read by people, and a compiler can print megabytes for each of 9,000 answers.
_SHOWN_CHARACTERS = 2000

REFERENCE_PASSED = "reference_passed"
"""Value in the row of a reference that the policy changes: 1 if the unchanged reference passes.

``passed`` is that of the changed text."""

_EARLY_EXIT = "tamper:early_exit"
EXECUTION_SCORER = "execution@"
"""The beginning of the names of scorers that ran the program."""


def execution_scorer(rules: ProfileRules) -> str:
    """Return the name of the scorer that runs programs, with the version of the rules that make them."""
    return f"{EXECUTION_SCORER}{rules.programs}"


NOT_RUNNABLE: Mapping[str, tuple[str, str, str]] = {
    Status.SKIPPED: ("skipped", "reason", "toolchain or declared need is missing here"),
    Status.MISSING_DEPENDENCY: ("missing dependency", "module", "unknown"),
}
"""Outcomes where this machine lacks something: the cause, the detail that names it, and the words without it."""


class CheckOutcome(NamedTuple):
    """Outcome of one check. ``counted``: it is a verdict; ``value``: 1 if it holds; ``outcome``: status of the run."""

    counted: bool
    value: float
    outcome: str | None = None


class Decision(NamedTuple):
    """Outcome of all checks of an answer: position of the decisive check, its outcome, passed or not.

    ``passed`` is None where a check has no verdict.
    """

    decisive: int
    outcome: str
    passed: bool | None


def combine_checks(checks: Sequence[CheckOutcome]) -> Decision:
    """Return the outcome of all checks of an answer, at least one.

    A check without a verdict outweighs a failure; of several failures, one with the status of a run decides.
    """
    # What this machine could not check comes first: a failure next to it would count an answer that may be right
    # elsewhere.
    position, decisive = min(
        enumerate(checks), key=lambda entry: (entry[1].counted, entry[1].value, entry[1].outcome is None)
    )
    passed = all(check.value >= 1.0 for check in checks)
    outcome = decisive.outcome or ("passed" if passed else "failed")
    return Decision(position, outcome, passed if decisive.counted else None)


def deciding_scores(scores: Iterable[Score], *, executed: bool) -> list[Score]:
    """Return those score rows of one completion that decide whether it passed.

    An empty list if the problem has something to run and no row has its outcome (a run without execution, or one that
    was stopped): the other checks alone are no verdict.
    """
    checks = [score for score in scores if "passed" in score.values or not score.counted]
    # Predicates alone would pass an answer whose program was never run.
    ended = any(score.scorer.startswith(EXECUTION_SCORER) for score in checks)
    return [] if executed and not ended else checks


def decided_outcome(checks: Iterable[Score]) -> Decision:
    """Return the outcome of the rows that decide, at least one."""
    return combine_checks(
        [CheckOutcome(score.counted, score.values.get("passed", 0.0), score.outcome) for score in checks]
    )


def passed_by_completion(
    scores: Iterable[Score], problems: Mapping[str, Problem], policy: str, profile: Profile
) -> dict[CompletionKey, bool | None]:
    """Return whether each scored completion passed under a policy and a profile; None where it has no verdict."""
    rows = grouped(
        (score.completion_key, score)
        for score in scores
        if score.problem_id in problems and (score.policy, score.profile) == (policy, profile)
    )
    checks = {key: deciding_scores(group, executed=needs_execution(problems[key[0]])) for key, group in rows.items()}
    return {key: decided_outcome(group).passed for key, group in checks.items() if group}


class CountedResult(NamedTuple):
    """Execution result, and whether it is a verdict."""

    result: ExecutionResult
    counted: bool


def needs_execution(problem: Problem) -> bool:
    """Return whether a program must run to check an answer to the problem (predicates need none)."""
    return any(check.kind in ("program", "cases", "tests") for check in problem.checks)


def has_verdicts(problem: Problem) -> bool:
    """Return whether answers get a verdict; a problem that is only judged or measured does not count in coverage."""
    return any(
        check.counts if isinstance(check, PredicateCheck) else not isinstance(check, CriterionCheck)
        for check in problem.checks
    )


def inserted_text(text: str | None, problem: Problem, policy: Policy) -> str | None:
    """Return the part of a model's raw text that is inserted at the caret; None if it is refused."""
    if text is None or refusal(text, problem, policy) is not None:
        return None
    return policy.apply(text, problem.shown).text if isinstance(problem.shown, Caret) else text


def refusal(text: str | None, problem: Problem, policy: Policy) -> str | None:
    """Return the reason for which a raw text is refused (its length, its parse); None if it is not."""
    if text is None:
        return None
    if isinstance(problem.shown, Caret):
        return policy.apply(text, problem.shown).refusal
    return length_refusal(text, MAX_RAW_CHARACTERS)


def result_without_program(problem: Problem, reason: str | None = None) -> ExecutionResult:
    """Return the failed result of an answer that yields no program."""
    return ExecutionResult(
        id=problem.id,
        # To parse is our work: where this machine was too slow for it, the answer has no verdict.
        status=Status.SANDBOX_ERROR if reason == TOO_SLOW else Status.RUNTIME_ERROR,
        reason=reason or "a null completion fails without a run",
    )


def reference_result(result: ExecutionResult) -> CountedResult:
    """Return the result of a reference, and whether it is a verdict."""
    # A reference cannot tamper with its own tests: some statuses mean something else for it.
    result = result.model_copy(update={"status": result.status.for_reference(result.missing_module)})
    result = _accept_unfinishable_check(result)
    # A reference that took too long may have met a busy machine: the next run tries it again.
    return CountedResult(result, result.status.is_verdict and result.status is not Status.TIMEOUT)


def answer_result(result: ExecutionResult, reference_never_finishes: bool = False) -> CountedResult:
    """Return the result of a model's answer, and whether it is a verdict.

    Args:
        result: The run.
        reference_never_finishes: The reference, too, ends before a check that never returns: no fault of the answer.
    """
    if reference_never_finishes:
        result = _accept_unfinishable_check(result)
    return CountedResult(result, result.status.is_verdict)


def _accept_unfinishable_check(result: ExecutionResult) -> ExecutionResult:
    """Return the result as passed if only a check that never ends is missing."""
    passed = result.status is Status.INCOMPLETE and waits_forever(result)
    return result.model_copy(update={"status": Status.PASSED}) if passed else result


def waits_forever(result: ExecutionResult | None) -> bool:
    """Return whether a run ended before a check that never ends (accepted if the reference does so too)."""
    return result is not None and result.waits


def answer_flags(
    text: str | None, problem: Problem, profile: Profile, result: ExecutionResult | None = None
) -> tuple[str, ...]:
    """Return the flags of code in an answer, and of its run, that could forge a pass; none if the profile has none."""
    if text is None or not rules_of(profile).scans_answers or not isinstance(problem.shown, Caret):
        return ()
    caret, splice = problem.shown, problem.splice
    before, after = caret.prefix, caret.suffix
    # Tests are hidden from the model and not from its program, so the scan looks at what they call as well.
    if isinstance(splice, InlineSplice):
        before, after = splice.before, splice.after  # with what is hidden
    # Alone and in its place: a part of an attack may stand in the prefix, and an answer may open a string that hides
    # the rest.
    alone = tamper_flags(text, problem.reference, caret.language)
    in_place = program_flags(before, text, after, problem.reference, caret.language)
    table = toolchain_table(caret.language)
    unseen = table.unseen_errors if table else None
    at_run = ("tamper:unseen_error",) if unseen and result and unseen.search(result.stderr.text) else ()
    flags = dict.fromkeys((*alone, *in_place, *at_run))
    # A program with cases passes by its output: `System.exit(0)` is how many of them end.
    if any(check.kind == "cases" for check in problem.checks):
        flags.pop(_EARLY_EXIT, None)
    return tuple(flags)


def execution_details(result: ExecutionResult, flags: tuple[str, ...] = ()) -> dict[str, JsonValue]:
    """Return the details shown next to a verdict; ``flags`` are those of the answer."""
    details: dict[str, JsonValue] = {
        "compile_s": round(result.compile_s, 4),
        "run_s": round(result.run_s, 4),
        "cpu_s": round(result.cpu_s, 4),
        "cached": result.cached,
    }
    passed = result.status is Status.PASSED
    if not passed:
        details |= {"stage": result.stage, "exit_code": result.exit_code, "signal": result.signal}
    stderr = "stderr" if result.run_status is None else "run_stderr"  # the type checker's words come first
    optional: dict[str, JsonValue] = {
        "type_check": result.type_check,
        "run_status": result.run_status.value if result.run_status else None,
        "module": result.missing_module,
        "reason": result.reason,
        "limit": result.limit,
        "limit_cpu_s": result.limit_cpu_s,
        "waits": waits_forever(result),
        "runs_alone": result.runs_alone,
        "diagnostics": result.diagnostics[:_SHOWN_CHARACTERS],
        stderr: "" if passed else result.stderr.text[-_SHOWN_CHARACTERS:],
        "isolation": result.isolation.level if result.isolation else None,
        "tests": result.tests.model_dump(mode="json") if result.tests else None,
        "flags": list(flags),
        "scan": SCAN_VERSION if flags else None,
    }
    return details | {name: value for name, value in optional.items() if value}


def exclusion_cause(outcome: str | None, details: Mapping[str, JsonValue]) -> str:
    """Return the cause for which a problem is excluded, from the outcome and details of its reference."""
    # By what is missing, so that a report counts "toolchain go" once and not each of its problems.
    if cause_and_detail := NOT_RUNNABLE.get(outcome or ""):
        cause, detail, unknown = cause_and_detail
        return f"{cause}: {details.get(detail) or unknown}"
    return f"reference: {outcome}"
