"""Measures of answers to conventional benchmarks: exact matches, and the released metrics as columns.

Released rules that need the reference (its number of lines, say) are columns here and no policies: a policy never sees
the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from caretbench.extraction.policies import get_policy
from caretbench.problem import Problem
from caretbench.suites.fim import legacy_metrics as legacy
from caretbench.suites.suite_types import Measurement

_CROSSCODEEVAL_CUT: Final = "legacy/cceval"
_FUNCTION: Final = "function"
"""The split whose answers are bodies of functions."""


def _stripped_lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def equal_lines(problem: Problem, answer: str) -> bool:
    """Return whether an answer has the lines of the reference, without blanks at their ends and without blank lines."""
    return _stripped_lines(answer) == _stripped_lines(problem.reference)


def _exact(problem: Problem, answer: str) -> Mapping[str, float]:
    return {"exact_match": float(equal_lines(problem, answer))}


def _crosscodeeval(problem: Problem, answer: str) -> Mapping[str, float]:
    # Cut first, whatever the run's policy: a text that is cut already stays as it is.
    cut = get_policy(_CROSSCODEEVAL_CUT).apply(answer, problem.caret).text
    return _named("crosscodeeval", legacy.crosscodeeval(cut, problem.reference, problem.caret.language))


def _repoformer(problem: Problem, answer: str) -> Mapping[str, float]:
    if problem.labels.get("split") == _FUNCTION:
        score = legacy.repoformer_function(answer, problem.reference, problem.caret.prefix)
    else:
        score = legacy.repoformer_lines(answer, problem.reference)
    return _named("repoformer", score)


def _safim(problem: Problem, answer: str) -> Mapping[str, float]:
    if problem.runs_as_program:
        return {}
    return {"safim_match": float(_same_call(problem, answer, callee=False))}


def _same_call(problem: Problem, answer: str, *, callee: bool) -> bool:
    return legacy.safim_syntax_match(answer, problem.reference, problem.caret.language, callee=callee)


METRICS: Mapping[str, Callable[[Problem, str], Mapping[str, float]]] = {
    "exact": _exact,
    "crosscodeeval": _crosscodeeval,
    "repoformer": _repoformer,
    "safim": _safim,
    "repocoder": lambda problem, answer: _named("repocoder", legacy.repocoder(answer, problem.reference)),
    "execrepobench": lambda problem, answer: _named("execrepobench", legacy.execrepobench(answer, problem.reference)),
    "qwen_hm_fim": lambda problem, answer: _named("qwen", legacy.qwen_humaneval_fim(answer, problem.reference)),
    "repobench": lambda problem, answer: _named("repobench", legacy.repobench(answer, problem.reference)),
}
"""Released metrics by the names of descriptions: the values of an answer."""

_WITH_EQUALITY: Final = frozenset({"crosscodeeval", "repoformer", "repocoder", "repobench"})
"""Metrics whose value ``NAME_em`` says whether an answer equals the reference."""


def matches(rule: str, problem: Problem, answer: str, *, released: bool) -> bool:
    """Return whether an answer equals the reference by the rule of a description; ``released``: as its evaluator does.

    Otherwise calls are equal by callee and arguments (180 of SAFIM's 181 references in Python pass under a wrong name
    as released), and other texts by their lines.
    """
    if rule == "safim":
        return _same_call(problem, answer, callee=not released)
    if released and rule in _WITH_EQUALITY:
        return METRICS[rule](problem, answer)[f"{rule}_em"] == 1
    return equal_lines(problem, answer)


def released_measures(names: Sequence[str], problem: Problem, answer: str) -> list[Measurement]:
    """Return the released metrics of these names, a scorer each."""
    values = {name: METRICS[name](problem, answer) for name in names}
    return [Measurement(f"legacy/{name}@1", metrics) for name, metrics in values.items() if metrics]


def _named(prefix: str, score: NamedTuple) -> Mapping[str, float]:
    values = score._asdict()
    return {f"{prefix}_{name}": float(value) for name, value in values.items() if not isinstance(value, str)}
