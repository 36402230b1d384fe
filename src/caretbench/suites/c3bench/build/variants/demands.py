"""Rule that reads an instruction back: the constructs and identifiers that it demands or forbids."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from pydantic import TypeAdapter

from caretbench.files import read_packaged_toml
from caretbench.problem import Row
from caretbench.suites.c3bench.implementations.features import FeatureRule, FoundFeatures

_PACKAGE = "caretbench.suites.c3bench.build.variants"
_NEGATION = re.compile(
    r"\b(?:not|no|neither|nor|without|avoid(?:s|ing)?|never|instead of|rather than|in (?:the )?place of|do(?:es)?n't"
    r"|replac(?:e|es|ing)|convert(?:s|ing)?|turn(?:s|ing)?)\b"
    r"(?:\s+(?:use|using|by|with|write|writing|call|calling|be|a|an|any|the|every|all)\b)*"
)
_ASSERTION = re.compile(
    r"\b(?:use|using|by|with|but|into|to|write|prefer|via|through|call|calling|let"
    r"|for(?![- ](?:each|loops?|statements?|and|or)\b))\b"
)
_BOUNDARY = re.compile(r"[.;:]\s|\n")
_NAME = re.compile(
    r"`(?P<quoted>[A-Za-z_][\w.]*)(?:\([^`)]*\))?(?:=[^`]*)?`|(?P<called>\b[A-Za-z_][\w.]*)\(\)"
    r"|(?P<snake>\b[a-zA-Z]\w*_\w+\b)|(?P<dotted>\b(?:functools|itertools|collections|heapq|bisect|operator|math)\.\w+)"
    r"|(?P<keyword>\b[a-z]\w*)=\w"
)
_KINDS = ("call", "name", "keyword", "handler", "import", "decorator", "base")


class Construct(Row):
    """Construct that an instruction can name: a pattern of words, and features of which any shows it."""

    words: re.Pattern[str]
    features: tuple[str, ...]


@cache
def constructs() -> Mapping[str, Construct]:
    """Return all constructs by name."""
    return TypeAdapter(dict[str, Construct]).validate_python(read_packaged_toml(_PACKAGE, "demands.toml"))


class Demands(NamedTuple):
    """Constructs and identifiers that an instruction demands and forbids."""

    required: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    forbidden_names: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        """Return whether the instruction demands something."""
        return any(self)


def demands_of(instruction: str) -> Demands:
    """Return what an instruction demands.

    A construct that is named with "the" is what the code has already ("the variable of the loop"), and no demand.
    """
    text = instruction.lower()
    mentioned = list(_NAME.finditer(instruction))
    required, forbidden = set(), set()
    for name, construct in constructs().items():
        for match in construct.words.finditer(text):
            # An identifier, `sorted()` for example, is a demand by name; as a word it would also demand the construct
            # of sorting.
            if any(span.start() < match.end() and match.start() < span.end() for span in mentioned):
                continue  # `sorted()` is an identifier
            if _is_negated(text, match.start()):
                forbidden.add(name)
            elif not text[: match.start()].endswith("the "):
                required.add(name)
    names: set[str] = set()
    forbidden_names: set[str] = set()
    for match in mentioned:
        name = next(group for group in match.groups() if group).rpartition(".")[2]
        if name:
            (forbidden_names if _is_negated(text, match.start()) else names).add(name)
    return Demands(
        frozenset(required - forbidden),
        frozenset(forbidden),
        frozenset(names - forbidden_names),
        frozenset(forbidden_names),
    )


def _is_negated(text: str, position: int) -> bool:
    """Return whether a negation stands before a position in its clause, without an assertion in between."""
    # "Do not use a loop; use recursion" negates up to the semicolon.
    start = max((match.end() for match in _BOUNDARY.finditer(text, 0, position)), default=0)
    negations = list(_NEGATION.finditer(text, start, position))
    return bool(negations) and _ASSERTION.search(text, negations[-1].end(), position) is None


def demand_faults(demands: Demands, text: str, surroundings: str, features: FoundFeatures | None) -> list[str]:
    """Return a line for each demand that an implementation does not meet.

    Constructs are decided by ``features`` (Python); identifiers by the text, and without a fault where a demanded one
    occurs in ``surroundings``, the text around it.
    """
    unmet: list[str] = []
    if features is not None:
        required, forbidden = sorted(demands.required), sorted(demands.forbidden)
        # Effective features: a loop that does nothing does not meet the demand of a loop.
        unmet += [f"no {name}" for name in required if features.isdisjoint(constructs()[name].features)]
        unmet += [f"has a {name}" for name in forbidden if not features.isdisjoint(constructs()[name].features)]
    unmet += [f"no `{name}`" for name in sorted(demands.names) if not (_has(name, text) or _has(name, surroundings))]
    return unmet + [f"has `{name}`" for name in sorted(demands.forbidden_names) if _is_used(name, text, features)]


def _has(name: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _is_used(name: str, text: str, features: FoundFeatures | None) -> bool:
    return _has(name, text) if features is None else any(f"{kind}:{name}" in features for kind in _KINDS)


def demanded_rule(demands: Demands, features: FoundFeatures) -> FeatureRule | None:
    """Return the predicate that demands state about an implementation with these features; None if they state none.

    A construct that several features can show is left to a judge.
    """
    requires: set[str] = set()
    forbids: set[str] = set()
    for name in demands.required:
        shown = constructs()[name].features
        # With several features any of them would do, and a rule of required features asks for all.
        if len(shown) == 1:
            requires.update(shown)
    for name in demands.forbidden:
        forbids.update(constructs()[name].features)
    for name in demands.names:
        requires.update(_named(name, features))
    for name in demands.forbidden_names:
        forbids.update((f"call:{name}", f"name:{name}"))
    return FeatureRule(tuple(sorted(requires)), tuple(sorted(forbids))) if requires or forbids else None


def _named(name: str, features: FoundFeatures) -> Iterator[str]:
    return (f"{kind}:{name}" for kind in _KINDS if f"{kind}:{name}" in features)
