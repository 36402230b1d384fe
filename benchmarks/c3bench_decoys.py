"""Decoys of C3-Bench's starter set: right answers to another instruction, with the lines that this one asks for.

    python benchmarks/c3bench_decoys.py

The statements of the reference, plainly or in a loop of one round, stand before the answer to the other instruction,
which computes all again. Prints how many pass their tests, how many the predicate alone accepts, and what is left of
these when they are reduced.
"""

from __future__ import annotations

import ast
import textwrap
from collections import Counter
from collections.abc import Iterator

from caretbench.execution.dispatcher import open_executor
from caretbench.execution.execution_types import ExecutionRequest, Status
from caretbench.problem import Problem
from caretbench.runs.reductions import ReducedAnswer, reduce_answers
from caretbench.suites import load_suite
from caretbench.suites.c3bench.measures import failed_predicates, reduction


def decoys(problem: Problem) -> Iterator[str]:
    """Yield the decoys of a problem; none where the reference is no list of statements."""
    other = problem.released.get("other_variant")
    reference = textwrap.dedent(problem.reference)
    try:
        statements = [one for one in ast.parse(reference).body if not isinstance(one, ast.Return)]
    except SyntaxError:
        return
    if not other or not statements:
        return
    margin = problem.reference[: len(problem.reference) - len(problem.reference.lstrip())]
    plain = "\n".join(map(ast.unparse, statements))
    for lines in (plain, "for _once in range(len('x')):\n" + textwrap.indent(plain, "    ")):
        yield textwrap.indent(lines, margin) + "\n" + other


def main() -> None:
    """Print the counts."""
    suite = load_suite("c3bench")
    problems = [one for one in suite.load("starter").problems if one.label("task") == "icc"]
    answers = {f"{one.id}#{n}": (one, text) for one in problems for n, text in enumerate(decoys(one))}

    def request(key: str, text: str) -> ExecutionRequest:
        made = suite.request(answers[key][0], text, "default", {})
        assert isinstance(made, ExecutionRequest)  # noqa: S101  the suite runs programs
        return made.model_copy(update={"id": key, "reference_cpu_s": 0.0})

    executor = open_executor(2).programs
    results = executor.submit([request(key, text) for key, (_, text) in answers.items()])
    passing = [one.id for one in results if one.status is Status.PASSED]
    accepted = [key for key in passing if not failed_predicates(*answers[key])]
    print(f"{len(answers)} decoys: {len(passing)} pass, the predicate alone accepts {len(accepted)}")  # noqa: T201
    steps = {key: reduction(*answers[key], "default") for key in accepted}
    active = {key: ReducedAnswer(one) for key, one in steps.items() if one is not None}
    left = Counter(str(dict(one.values)) for _, one in reduce_answers(active, request, executor.submit))
    runs = [one.runs for one in active.values()]
    print(f"reduced: {dict(left)}, {min(runs)} to {max(runs)} runs each")  # noqa: T201


if __name__ == "__main__":
    main()
