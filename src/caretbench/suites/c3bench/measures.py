"""Scores of answers that need no execution: instruction following, similarity, tokens.

No value is named ``passed``: an answer that follows its instruction and one that passes the tests are counted apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from caretbench.extraction.policies import policy
from caretbench.metrics.similarity import similarities
from caretbench.problem import PredicateCheck, Problem, Profile
from caretbench.profiles import ProfileRule, ProfileRules
from caretbench.suites.c3bench.predicates import failed_predicates, published_fault
from caretbench.suites.suite_types import Measurement

FOLLOWED: Final = "followed"
"""1 if the answer satisfies the predicate of its instruction; for SCC at the level ``strict``."""
FOLLOWED_LENIENT: Final = "followed_lenient"
"""For SCC: the same at the level ``lenient``."""
CODE_TOKENS: Final = "code_tokens"
"""Tokens of the code in a raw answer."""
COMMENTARY_TOKENS: Final = "commentary_tokens"
"""Tokens of the rest of a raw answer."""

TOKENIZER: Final = r"\w+|[^\w\s]"
"""Tokens: words, and marks one by one."""

_TOKEN = re.compile(TOKENIZER)


class C3BenchProfile(ProfileRules):
    """Scoring rules of C3-Bench's profiles ``paper`` and ``default``."""

    policy = ProfileRule("Default truncation policy", paper="clean", default="clean")
    whole_specification = ProfileRule(
        "Which part of an instruction about scale is checked?",
        paper=False,
        default=True,
        said=(
            "the kind of node, and the number of lines",
            "the whole specification, on the completed file: also what follows, nesting, and whether it parses",
        ),
    )


def token_count(text: str) -> int:
    """Return the number of tokens of a text by :data:`TOKENIZER`."""
    return sum(1 for _ in _TOKEN.finditer(text))


def measured(problem: Problem, text: str | None, profile: Profile) -> list[Measurement]:
    """Return the scores of an inserted text."""
    [likeness] = similarities([(text, problem.reference)])
    return [Measurement("similarity@1", likeness._asdict()), *_followed(problem, text or "", profile)]


def _followed(problem: Problem, text: str, profile: Profile) -> Iterator[Measurement]:
    if not any(isinstance(check, PredicateCheck) for check in problem.checks):
        return
    if problem.runs_as_program:
        faults = failed_predicates(problem, text)
        yield Measurement("implementation@2", {FOLLOWED: float(not faults)}, _details(faults))
    elif C3BenchProfile(profile).whole_specification:
        faults = failed_predicates(problem, text)
        lenient = failed_predicates(problem, text, "lenient") if faults else []
        values = {FOLLOWED: float(not faults), FOLLOWED_LENIENT: float(not lenient)}
        yield Measurement("scale@1", values, _details(faults))
    else:
        fault = published_fault(problem, text)
        yield Measurement("scale@1", {FOLLOWED: float(not fault)}, _details([fault] if fault else []))


def _details(faults: list[str]) -> dict[str, str]:
    return {"missing": "; ".join(faults)} if faults else {}


def measured_raw(problem: Problem, raw: str) -> list[Measurement]:
    """Return the tokens of a raw answer: of its code, by the policy ``clean``, and of everything else."""
    code = token_count(policy("clean").apply(raw, problem.caret).text)
    rest = max(token_count(raw) - code, 0)
    return [Measurement("raw-tokens@1", {CODE_TOKENS: float(code), COMMENTARY_TOKENS: float(rest)})]
