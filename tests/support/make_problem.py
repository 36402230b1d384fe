"""Small problems at a caret."""

from __future__ import annotations

from collections.abc import Callable

from caretbench.problem import Caret, InlineSplice, Problem, ProgramCheck, Provenance

MakeProblem = Callable[..., Problem]


def make_problem(
    identity: str = "python/low_context/one",
    *,
    prefix: str = "def double(x):\n",
    reference: str = "    return 2 * x\n",
    suffix: str = "",
    hidden: str = "\nassert double(2) == 4\n",
    language: str = "python",
) -> Problem:
    """Return a small problem at a caret, checked by a program."""
    return Problem(
        id=identity,
        suite="devbench",
        shown=Caret(language=language, prefix=prefix, suffix=suffix),
        splice=InlineSplice(before=prefix, after=suffix + hidden),
        reference=reference,
        checks=(ProgramCheck(),),
        labels={"language": language, "category": "low_context", "mode": "no_suffix"},
        cluster=identity,
        provenance=Provenance(source="a test"),
    )
