"""Programs that compare two implementations: on the tests, and on inputs mutated from the tests' own calls."""

from __future__ import annotations

from functools import cache
from importlib import resources
from string import Template
from typing import NamedTuple

from caretbench.execution.execution_types import ExecutionResult


class AgreementLimits(NamedTuple):
    """Bounds of a comparison.

    ``inputs`` is the number of inputs on which both must agree, ``tries`` the maximum number of mutations. A reference
    that executes more than ``max_lines`` lines for an input is not compared there; an implementation may execute
    ``line_factor`` times as many lines as the reference, and 500 more.
    """

    inputs: int = 100
    tries: int = 3000
    max_lines: int = 20_000
    line_factor: int = 8


class AgreementFault(NamedTuple):
    """Reason why implementations do not agree, with the program's own message."""

    reason: str
    detail: str


_REASONS = {"more than": "slow", "differs for": "differs", "only ": "few_inputs"}
"""Reasons by the beginnings of the messages of ``agreement_harness.txt``."""

DEFAULT_LIMITS = AgreementLimits()


@cache
def _template() -> Template:
    folder = resources.files("caretbench.suites.c3bench.implementations")
    return Template(folder.joinpath("agreement_harness.txt").read_text("utf-8"))


def agreement_program(
    reference: str, variant: str, test: str, entry_point: str, limits: AgreementLimits = DEFAULT_LIMITS
) -> str:
    """Return a program that ends normally if two implementations agree; all its parts are untrusted.

    Args:
        reference: Program with the reference implementation of the function.
        variant: Program with the other implementation.
        test: Program that defines ``check(candidate)``, as in HumanEval.
        entry_point: Name of the function.
        limits: Bounds of the comparison.
    """
    texts = {"reference": reference, "variant": variant, "test": test, "entry_point": entry_point}
    return _template().substitute({name: repr(text) for name, text in texts.items()} | limits._asdict())


def agreement_fault(result: ExecutionResult) -> AgreementFault:
    """Return the reason why a program of :func:`agreement_program` failed: ``error`` where a test or the code fails."""
    lines = [line for line in result.stderr.text.strip().split("\n") if line.strip()]
    detail = (lines[-1] if lines else "").removeprefix("AssertionError: ")[:160]
    reason = next((reason for start, reason in _REASONS.items() if detail.startswith(start)), "error")
    return AgreementFault(reason, detail)
