"""Rewrites of a program that change nothing it does: assertions that fail for one check more than the answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from caretbench.execution.execution_types import ExecutionRequest, Executor, Status
from caretbench.languages import language
from caretbench.problem import InlineSplice, Problem
from caretbench.syntax.documentation import comments

_REMARK = "the same"


def rewrites(problem: Problem) -> Iterator[tuple[str, Problem]]:
    """Yield the problem with an empty line before its program, and with a comment in its reference.

    Each comes with the change in words. The comment stands at the first end of a line where it is one.
    """
    splice, caret = problem.splice, problem.caret
    if not isinstance(splice, InlineSplice):
        return
    moved = splice.model_copy(update={"before": f"\n{splice.before}"})
    yield "with an empty line before the program", problem.model_copy(update={"splice": moved})
    remark = f"{language(caret.language).line_comment} {_REMARK}"
    for end in _line_ends(problem.reference, splice.after):
        noted = f"{problem.reference[:end]}  {remark}{problem.reference[end:]}"
        if any(one.text == remark for one in comments(splice.program(noted), caret.language)):
            yield "with a comment in it", problem.model_copy(update={"reference": noted})
            return


def _line_ends(reference: str, after: str) -> Iterator[int]:
    """Yield the ends of the lines of a reference that can take a comment."""
    for found in re.finditer(r"\n", reference + after[:1]):
        line = reference[: found.start()].rpartition("\n")[2]
        if line.strip() and not line.endswith("\\"):
            yield found.start()


def rewrite_faults(
    problems: Sequence[Problem], program: Callable[[Problem, str], ExecutionRequest | None], executor: Executor
) -> dict[str, str]:
    """Return the problems whose assertions fail for the reference in a rewritten program: id → the fault."""
    asked: dict[str, tuple[Problem, str]] = {}

    def requests() -> Iterator[ExecutionRequest]:
        for problem in problems:
            for about, changed in rewrites(problem):
                request = program(changed, changed.reference)
                if request is not None:
                    identity = f"{problem.id} {about}"
                    asked[identity] = (problem, about)
                    yield request.model_copy(update={"id": identity})

    found: dict[str, str] = {}
    for result in executor.submit(requests()):
        problem, about = asked[result.id]
        if result.status is not Status.PASSED and not result.status.for_reference.is_machine_fault:
            fault = f"the assertions fail for the reference {about}: they check the text of the code"
            found.setdefault(problem.id, fault)
    return found
