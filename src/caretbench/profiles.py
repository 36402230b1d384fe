"""Profiles: rules in which published scoring (``paper``) and CaretBench's own (``default``) differ.

Each difference is one :class:`ProfileRule`, most of them on under one profile (:func:`paper_only`). Those of all suites
are here; a suite adds its own, and replaces those marked ``by_suite``, in a class derived from :class:`ProfileRules`.
Nothing else compares the names of profiles; docs/reference/profiles.md is made of the rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, Generic, TypeVar, get_args, overload

from caretbench.errors import UsageError
from caretbench.problem import Profile

T = TypeVar("T")

PROFILES: Final[tuple[Profile, ...]] = get_args(Profile)
"""The names of all profiles."""


def _describe_value(value: object) -> str:
    if isinstance(value, tuple | list):
        return ", ".join(map(_describe_value, value))
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)


class ProfileRule(Generic[T]):
    """Descriptor of a rule in which the profiles differ: as an attribute of a profile it is that profile's value.

    Args:
        about: The question that the rule answers.
        paper: The value under ``paper``.
        default: The value under ``default``.
        descriptions: Both values in words, for the page; by default as they are.
        by_suite: A suite may replace the rule; the others are read without knowing the suite.
    """

    def __init__(
        self, about: str, *, paper: T, default: T, descriptions: tuple[str, str] | None = None, by_suite: bool = False
    ) -> None:
        self.about = about
        self.by_suite = by_suite
        self.values: Mapping[Profile, T] = {"paper": paper, "default": default}
        self.descriptions = descriptions or (_describe_value(paper), _describe_value(default))

    @overload
    def __get__(self, profile: None, owner: type[ProfileRules]) -> ProfileRule[T]: ...
    @overload
    def __get__(self, profile: ProfileRules, owner: type[ProfileRules]) -> T: ...
    def __get__(self, profile: ProfileRules | None, owner: type[ProfileRules]) -> ProfileRule[T] | T:
        """Return the value for a profile; the rule itself for the class."""
        return self if profile is None else self.values[profile.name]


def paper_only(about: str, *, paper: str = "yes", default: str = "no") -> ProfileRule[bool]:
    """Return a rule that is on under ``paper`` alone, with what each profile does in words."""
    return ProfileRule(about, paper=True, default=False, descriptions=(paper, default))


def default_only(about: str, *, paper: str = "no", default: str = "yes") -> ProfileRule[bool]:
    """Return a rule that is on under ``default`` alone, with what each profile does in words."""
    return ProfileRule(about, paper=False, default=True, descriptions=(paper, default))


class ProfileRules:
    """Rules of one profile for all suites."""

    def __init__(self, name: Profile) -> None:
        self.name: Profile = name

    def __init_subclass__(cls) -> None:
        """Raise TypeError where a class has rules of all suites that a suite cannot replace."""
        common = ProfileRules.rules()
        # The report and the executor read these without a suite: a suite's own value would be ignored there, silently.
        wrong = [name for name in vars(cls) if name in common and not common[name].by_suite]
        if wrong:
            raise TypeError(f"{cls.__qualname__}: the rules {', '.join(wrong)} are the same for all suites")

    sentinel = default_only(
        "When does a program pass?",
        paper="it exits with 0",
        default="it exits with 0, and the harness saw its end reached, or an exit behind the answer; where cases "
        "expect an output, the output decides",
    )
    bounded_by_reference = default_only(
        "How much CPU time may an answer use?",
        paper="as much as the limit of a program",
        default="ten times that of its reference here, rounded up to 1, 2, 4 … s, at most the limit of a program; what "
        "ends by it runs once more alone (`reference_cpu@1`)",
    )
    released_build = paper_only(
        "How are programs built?",
        paper="as by the released runner: C# without assertions where a variant says so; TypeScript stops at type "
        "errors, and runs where modules are missing",
        default="with assertions; a TypeScript program with type errors runs too, and both verdicts are kept",
    )
    null_is_empty = default_only(
        "What is a null answer?",
        paper="a failure without a run; in DevBench the text `None` where the language is not compiled",
        default="the empty text",
    )
    errors_are_answers = paper_only(
        "Is an error message that was stored in place of an answer scored and judged?",
        paper="yes, as an answer",
        default="no: it is no completion, and lowers the coverage",
    )
    scans_answers = default_only(
        "Are answers scanned for tampering?", paper="no", default="yes: `tamper` flags, reported with and without"
    )
    any_of_fewer = paper_only(
        "What is pass@k of a problem with fewer than k samples?", paper="1 if any passed", default="it is excluded"
    )
    first_lines = ProfileRule(
        "Which texts does similarity compare?", paper=False, default=False,
        descriptions=("full texts; means over samples", "full texts; means over samples"), by_suite=True,
    )  # fmt: skip
    programs = ProfileRule("Version of the rules that make programs of answers", paper=1, default=1, by_suite=True)
    needs_answer = default_only(
        "By which problems are models ranked?",
        paper="all; valid ones stand beside",
        default="valid ones, or, where the gate has not run, those that no trivial baseline passes; all stand beside",
    )
    paper_bounds = paper_only(
        "Where are numbers cut into parts?",
        paper="at the paper's bounds",
        default="at terciles of the data, within each language",
    )
    policy = ProfileRule("Default truncation policy", paper="released", default="syntax", by_suite=True)
    criterion = ProfileRule(
        "Criterion for judges of answers at carets", paper="devbench-paper", default="devbench-quality"
    )
    judged_as_it_came = paper_only(
        "What of an answer to a question does a judge see?",
        paper="the answer as it came",
        default="the answer without the reasoning before it; in EFCB what was asked for alone",
    )
    released_criterion = paper_only(
        "By which criterion is an answer to a question judged?",
        paper="the one that stands for the published one",
        default="the one that the problem names",
    )

    @classmethod
    def rules(cls) -> dict[str, ProfileRule[object]]:
        """Return all rules by name, those of all suites first."""
        rules: dict[str, ProfileRule[object]] = {}
        # Base classes first, so that a suite's own rule replaces the common one of its name.
        for base in reversed(cls.__mro__):
            rules |= {name: value for name, value in vars(base).items() if isinstance(value, ProfileRule)}
        return rules


@cache
def rules_of(name: Profile) -> ProfileRules:
    """Return the rules of a profile that hold for all suites."""
    return ProfileRules(name)


def profile_named(name: str, option: str = "--profile") -> Profile:
    """Return the profile of this name, or raise UsageError where there is none."""
    if name not in PROFILES:
        raise UsageError(f"{option} {name!r}: expected {' or '.join(PROFILES)}")
    return name
