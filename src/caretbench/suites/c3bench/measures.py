"""Scores of answers that need no execution: predicates of instructions, similarity, tokens.

Predicates are rules about an implementation, and specifications of scale. No value is named ``passed``: an answer that
follows its instruction and one that passes the tests are counted apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from pydantic import TypeAdapter

from caretbench.errors import UsageError
from caretbench.extraction.caret_surroundings import Surroundings, possible_margins
from caretbench.languages import language_of_grammar
from caretbench.problem import Caret, CriterionCheck, InlineSplice, PredicateCheck, Problem, Profile
from caretbench.profiles import ProfileRule, ProfileRules, default_only
from caretbench.suites.c3bench.implementations.features import FeatureRule, found_features
from caretbench.suites.c3bench.implementations.reduction import PredicateWords, reduced_text
from caretbench.suites.c3bench.scale.scale_types import Level, ScaleSpecification
from caretbench.suites.c3bench.scale.statements import column_at, statement_table
from caretbench.suites.c3bench.scale.verifier import lenient_texts, verify, verify_published
from caretbench.suites.suite_types import Measurement, Reduction
from caretbench.suites.validity import GATE_VERSION


def blind_scale(prefix: str, suffix: str, specification: ScaleSpecification) -> str:
    """Return an answer such as ``pass`` or ``for x in (): pass``, made by the specification alone.

    It is the first of the language's texts, at each possible indentation, that satisfies the specification; the first
    of all if none does.
    """
    first, *others = _texts(prefix, suffix, specification)
    # A text without sense of the asked extent follows all 125 instructions of the starter set, as the reference does.
    # The verifier chooses: a floor should be as high as an answer without sense can get.
    return next((answer for answer in (first, *others) if verify(prefix, answer, suffix, specification).ok), first)


def _texts(prefix: str, suffix: str, specification: ScaleSpecification) -> Iterator[str]:
    blind = statement_table(specification.language).blind
    if specification.kind in {"span_node", "span_rest_of_line"}:
        yield from blind[specification.kind]
        return
    surroundings = Surroundings(prefix, suffix, language_of_grammar(specification.language).name)
    margins = possible_margins(surroundings)
    if specification.column is not None:
        margins.insert(0, " " * specification.column)
    of_kind = specification.kind == "block" and not specification.header_in_prefix
    caret = column_at(prefix, len(prefix))
    end = "" if suffix.startswith(("\n", "\r")) else "\n"
    for text in blind[str(specification.node) if of_kind else "statement"]:
        lines = text.split("\n") if of_kind else [text] * (specification.n or 1)
        for margin in dict.fromkeys(margins):
            # The caret's line has its indentation, or a part of it, already.
            yield f"{margin[caret:]}{lines[0]}" + "".join(f"\n{margin}{line}" for line in lines[1:]) + end


SUITE = "c3bench"
FEATURES_PREDICATE = "features"
SCALE_PREDICATE = "scale"
JUDGED = CriterionCheck(name="c3-instruction", maximum=1.0)
"""Judged criterion of problems about the implementation, next to their predicates or in their place."""
REDUCTION_SCORER: Final = "reduction@3"
"""Scorer of reduced answers."""
C3_GATE_VERSION: Final = GATE_VERSION + 2
"""Version of the gate for this suite. +2: references are reduced by the words of their predicates, and answers with the
extent alone are tried."""
BLIND_SCALE: Final = "blind-scale"
"""Name of the baseline that has the extent of an instruction about scale, and no sense."""
OTHER_VARIANT = "other_variant"
"""Hidden field of a problem: the right answer to another instruction of its context."""


FOLLOWED: Final = "followed"
"""1 if the answer satisfies the predicate of its instruction, at the level ``strict``."""
FOLLOWED_LENIENT: Final = "followed_lenient"
"""The same at the level ``lenient``: an answer is forgiven a fence, line ends and its indentation."""
FOLLOWED_REDUCED: Final = "followed_reduced"
"""1 if what is left of an answer, reduced while its tests pass, satisfies the predicate."""
NOT_REDUCED: Final = "not_reduced"
"""1 if an answer could not be reduced within the limits."""
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
    whole_specification = default_only(
        "Which part of an instruction about scale is checked?",
        paper="the kind of node, and the number of lines",
        default="the whole specification, on the completed file: also what follows, nesting, and whether it parses",
    )
    reduces = default_only("Is an answer reduced before its predicate is asked?")
    scale_sense = default_only("Do tests decide about scale, too, and is the skill above blind-scale shown?")


def token_count(text: str) -> int:
    """Return the number of tokens of a text by :data:`TOKENIZER`."""
    return sum(1 for _ in _TOKEN.finditer(text))


def followed(problem: Problem, text: str, profile: Profile) -> Iterator[Measurement]:
    """Yield whether an answer follows its instruction; nothing for a problem without a predicate."""
    if not any(isinstance(check, PredicateCheck) for check in problem.checks):
        return
    specification = scale_specification(problem)
    name = "implementation@8" if specification is None else "scale@4"
    if specification is None or C3BenchProfile(profile).whole_specification:
        faults = failed_predicates(problem, text)
        # Not named `passed`: a predicate that decided about passing would change pass@1, which is that of the tests.
        values = {FOLLOWED: float(not faults)}
        if C3BenchProfile(profile).whole_specification:
            # What is strictly right is right at the lenient level, too; each look parses the whole file.
            lenient = failed_predicates(problem, text, "lenient") if faults else []
            values[FOLLOWED_LENIENT] = float(not lenient)
        yield Measurement(name, values, _details(faults))
    else:
        caret = problem.caret
        fault = verify_published(caret.prefix, text, caret.suffix, specification).reason
        yield Measurement(name, {FOLLOWED: float(not fault)}, _details([fault] if fault else []))


def _details(faults: list[str]) -> dict[str, str]:
    return {"missing": "; ".join(faults)} if faults else {}


_NAMES: TypeAdapter[tuple[str, ...]] = TypeAdapter(tuple[str, ...])


def failed_predicates(problem: Problem, text: str, level: Level = "strict") -> list[str]:
    """Return a line for each predicate of a problem that an answer does not satisfy."""
    checks = [check for check in problem.checks if isinstance(check, PredicateCheck)]
    return [fault for check in checks if (fault := _fault(problem, check, text, level))]


def scale_specification(problem: Problem) -> ScaleSpecification | None:
    """Return the specification of a problem about scale; None for others."""
    for check in problem.checks:
        if isinstance(check, PredicateCheck) and check.name == SCALE_PREDICATE:
            return ScaleSpecification.model_validate(check.arguments["specification"])
    return None


def blind_answer(problem: Problem) -> str | None:
    """Return the answer of the baseline ``blind-scale``; None for problems about an implementation."""
    specification = scale_specification(problem)
    if specification is None:
        return None
    return blind_scale(problem.caret.prefix, problem.caret.suffix, specification)


def reduction(problem: Problem, text: str, profile: Profile) -> Reduction | None:
    """Return the reduction of an answer that passes; None if no predicate asks for one, or it does not hold anyway."""
    checks = [check for check in problem.checks if isinstance(check, PredicateCheck) and check.reduce]
    if not checks or not C3BenchProfile(profile).reduces or failed_predicates(problem, text):
        return None
    return _reduction(problem, _rule(checks[0]), text)


def _reduction(problem: Problem, rule: FeatureRule, text: str) -> Reduction:
    caret = problem.caret
    whole = found_features(caret.prefix, text, caret.suffix, caret.language)

    def faults(left: str) -> list[str]:
        features = found_features(caret.prefix, left, caret.suffix, caret.language)
        if whole is None or features is None:
            return ["the completed file does not parse"]
        return rule.faults(whole, features)

    def holds(left: str) -> bool:
        return not faults(left)

    words = PredicateWords(rule.requires, caret.prefix, text)
    left = yield from reduced_text(caret.prefix, text, caret.suffix, caret.language, words, holds)
    if left is None:
        return Measurement(REDUCTION_SCORER, {NOT_REDUCED: 1.0})
    unmet = faults(left)
    return Measurement(REDUCTION_SCORER, {FOLLOWED_REDUCED: float(not unmet)}, _details(unmet))


def _rule(check: PredicateCheck) -> FeatureRule:
    return FeatureRule(*(_NAMES.validate_python(check.arguments[name]) for name in ("requires", "forbids")))


def _fault(problem: Problem, check: PredicateCheck, text: str, level: Level) -> str:
    caret = problem.caret
    if check.name == SCALE_PREDICATE:
        specification = ScaleSpecification.model_validate(check.arguments["specification"])
        return verify(caret.prefix, text, caret.suffix, specification.model_copy(update={"level": level})).reason
    # A set of a newer version: an unknown predicate that counted as satisfied would raise the score.
    if check.name != FEATURES_PREDICATE or not isinstance(problem.splice, InlineSplice):
        raise UsageError(f"{problem.id}: no predicate {check.name!r}")
    rule = _rule(check)
    fault = _feature_fault(rule, caret, text)
    if fault and level == "lenient":
        for changed in lenient_texts(caret.prefix, text, caret.suffix, caret.language):
            fault = fault and _feature_fault(rule, caret, changed)
    return fault


def _feature_fault(rule: FeatureRule, caret: Caret, text: str) -> str:
    features = found_features(caret.prefix, text, caret.suffix, caret.language)
    return "the completed file does not parse" if features is None else ", ".join(rule.faults(features))
