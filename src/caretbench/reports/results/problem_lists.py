"""Problems and answers to look at: excluded ones, flagged passes, and answers whose similarity and execution disagree.

A flag is no verdict (``scan/tamper.py``). The rate without flagged passes is a lower bound: it counts them as failures,
not as excluded, so that both rates are over the same problems.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import polars as pl

from caretbench.grouping import grouped
from caretbench.problem import Problem
from caretbench.profiles import profile_named, rules_of
from caretbench.reports.estimates import ReportedNumber, ReportValue, pass_at_1
from caretbench.reports.frame import GROUP, LoadedRun
from caretbench.runs.verdict import NOT_RUNNABLE, REFERENCE_PASSED, exclusion_cause
from caretbench.suites.baselines import TRIVIAL_BASELINES

REFERENCE_FAILS = "reference does not pass here"
SIMILAR = 0.9
DISSIMILAR = 0.3

Kind = Literal["fails_but_similar", "passes_but_dissimilar"]

KIND_TITLES: Mapping[Kind, str] = {
    "fails_but_similar": f"Fails, although similar (cosine at least {SIMILAR})",
    "passes_but_dissimilar": f"Passes, although dissimilar (cosine at most {DISSIMILAR})",
}


class ExcludedProblems(ReportValue):
    """Problems excluded from the rates of one profile, with the cause."""

    profile: str
    cause: str
    problems: tuple[str, ...]


def excluded_ids(excluded_problems: Sequence[ExcludedProblems], profile: str) -> set[str]:
    """Return the ids of the problems that are excluded from all rates of a profile."""
    return {problem for entry in excluded_problems if entry.profile == profile for problem in entry.problems}


def find_excluded_problems(
    frame: pl.DataFrame, problems: Sequence[Problem], manifest: Mapping[str, Any]
) -> tuple[ExcludedProblems, ...]:
    """Return the problems excluded by the manifest (``excluded``: problem ids by cause) and by the rows.

    A problem is excluded if its reference did not pass, or if every row of it is ``skipped`` or lacks a dependency. The
    manifest's cause wins; a problem is listed once per profile.
    """
    of_run = {problem.id for problem in problems}
    declared = {
        str(problem): str(cause)
        for cause, ids in (manifest.get("excluded") or {}).items()
        for problem in ids
        if str(problem) in of_run
    }
    entries = []
    for profile in frame["profile"].unique().sort():
        rows = frame.filter(pl.col("profile") == profile)
        causes = _from_rows(rows) | declared
        by_cause = grouped((cause, problem) for problem, cause in causes.items())
        entries += [
            ExcludedProblems(profile=profile, cause=cause, problems=tuple(sorted(ids)))
            for cause, ids in sorted(by_cause.items(), key=lambda item: (-len(item[1]), item[0]))
        ]
    return tuple(entries)


def _from_rows(rows: pl.DataFrame) -> dict[str, str]:
    passes = pl.col(REFERENCE_PASSED).fill_null(pl.col("passed").cast(pl.Float64)) == 1.0
    reference = rows.filter((pl.col("model") == "reference") & pl.col("counted") & ~passes)
    causes = dict.fromkeys(reference["problem_id"].sort(), REFERENCE_FAILS)
    judged = rows.filter(pl.col("counted").is_not_null())
    never = (
        judged.group_by("problem_id")
        .agg(pl.col("counted").any(), pl.col("status").unique().sort())
        .filter(~pl.col("counted") & pl.col("status").list.eval(pl.element().is_in(list(NOT_RUNNABLE))).list.all())
    )
    return causes | {
        str(problem): exclusion_cause(statuses[0], {})
        for problem, statuses in never.select("problem_id", "status").iter_rows()
    }


Lead = Literal["all", "valid", "net_of_baselines"]
"""Rule by which problems lead: all, those that the gate has found valid, those that no trivial baseline passes."""

LEAD_TITLES: Mapping[Lead, str] = {"all": "", "valid": "valid problems", "net_of_baselines": "net of baselines"}
"""Words for the rule in the head of a column."""

LEAD_MEANINGS: Mapping[Lead, str] = {
    "all": "",
    "valid": "Valid problems: those that the gate has found fit; without a verdict, those that no baseline passes.",
    "net_of_baselines": "Net of baselines: without the problems that an empty answer, a stub or copied lines pass, "
    "unless nothing is the right answer.",
}
"""Meaning of the words, in one sentence."""


def lead_note(rule: Lead) -> str:
    """Return the note of numbers that are over the problems that lead; empty if all do."""
    return "" if rule == "all" else f"Over the problems that need an answer. {LEAD_MEANINGS[rule]}"


class LeadingProblems(NamedTuple):
    """Ids of the problems over which models are ranked and compared, and the rule that chose them.

    None of them is excluded.
    """

    problems: frozenset[str]
    rule: Lead


def needed_problems(
    frame: pl.DataFrame, problems: Sequence[Problem], profile: str, excluded: Collection[str] = ()
) -> LeadingProblems:
    """Return the problems that need an answer, by the verdicts of a profile.

    An empty answer passes 52 % of DevBench's problems in JavaScript: the first of nine models there was the one that
    left 10.6 % of its answers empty. A problem needs one if the gate has found it valid, or, where the gate has no
    verdict, if no trivial baseline passes it. An empty reference is an answer, which the empty baseline may give.

    Args:
        frame: Table of the run, or of a suite's own share, whose column ``passed`` is then that share's.
        problems: Problems of the run.
        profile: Profile of the rates.
        excluded: Ids of problems that count in no rate. If no other problem needs an answer, all others are returned.
    """
    ids = frozenset(problem.id for problem in problems).difference(excluded)
    decided = dict(frame.filter(pl.col("valid").is_not_null()).select("problem_id", "valid").unique().iter_rows())
    passed = frame.filter(pl.col("model").is_in(TRIVIAL_BASELINES), pl.col("profile") == profile, pl.col("passed"))
    needless = set(passed["problem_id"]) - {problem.id for problem in problems if not problem.reference.strip()}
    needed = frozenset(name for name in ids if decided.get(name, name not in needless))
    if not needed or needed == ids:
        return LeadingProblems(ids, "all")
    # A gate that has seen ten of 300 problems does not name the rule by which the others were chosen.
    return LeadingProblems(needed, "valid" if 2 * len(needed & decided.keys()) >= len(needed) else "net_of_baselines")


def leading_problems(
    frame: pl.DataFrame, problems: Sequence[Problem], profile: str, excluded: Collection[str] = ()
) -> LeadingProblems:
    """Return the problems over which rates lead under a profile: those that need an answer; all under ``paper``."""
    # An empty answer passes 52 % of DevBench's problems in JavaScript, and of the model that ranked first 10.6 % of
    # the answers were empty.
    if rules_of(profile_named(profile)).needs_answer:
        return needed_problems(frame, problems, profile, excluded)
    return LeadingProblems(frozenset(problem.id for problem in problems).difference(excluded), "all")


def excluded_in(run: LoadedRun, profile: str) -> set[str]:
    """Return the ids of the problems of a run that are excluded from all rates of a profile."""
    return excluded_ids(find_excluded_problems(run.frame, run.problems, run.manifest), profile)


def leading_in(run: LoadedRun, profile: str) -> LeadingProblems:
    """Return the problems of a run over which its rates lead under a profile."""
    return leading_problems(run.frame, run.problems, profile, excluded_in(run, profile))


class DiscordantCase(ReportValue):
    """Completion whose similarity and execution disagree."""

    kind: Kind
    profile: str
    policy: str
    model: str
    parameters: str
    problem_id: str
    sample: int
    language: str | None
    category: str | None
    similarity: float
    status: str | None


class DiscordantCases(ReportValue):
    """Listed cases, and the total numbers by kind."""

    listed: tuple[DiscordantCase, ...]
    totals: Mapping[str, int]


def discordant_cases(frame: pl.DataFrame, limit: int) -> DiscordantCases:
    """Return the completions that fail at a cosine of at least 0.9, or pass at one of at most 0.3.

    Each problem is listed once per model and kind (its first sample), the most extreme first; totals count all samples.
    """
    if "cosine" not in frame.columns:
        return DiscordantCases(listed=(), totals={})
    fails = frame.filter(~pl.col("passed") & (pl.col("cosine") >= SIMILAR))
    passes = frame.filter(pl.col("passed") & (pl.col("cosine") <= DISSIMILAR))
    kinds: tuple[tuple[Kind, pl.DataFrame, bool], ...] = (
        ("fails_but_similar", fails, True),
        ("passes_but_dissimilar", passes, False),
    )
    listed: list[DiscordantCase] = []
    for kind, rows, descending in kinds:
        firsts = rows.unique(
            ("profile", "policy", "model", "parameters", "problem_id"), keep="first", maintain_order=True
        )
        ranked = firsts.sort("cosine", "problem_id", "model", descending=[descending, False, False]).head(limit)
        listed += [
            DiscordantCase(
                kind=kind,
                similarity=row["cosine"],
                **{name: row[name] for name in DiscordantCase.model_fields if name in row},
            )
            for row in ranked.iter_rows(named=True)
        ]
    return DiscordantCases(listed=tuple(listed), totals={kind: rows.height for kind, rows, _ in kinds})


class FlagCount(ReportValue):
    """Number of answers with one kind of flag, and how many of them passed."""

    answers: int
    passes: int


class FlaggedAnswers(ReportValue):
    """Flagged answers of one model, under one policy and one profile, over the problems that count in its rates."""

    model: str
    parameters: str
    policy: str
    profile: str
    title: str
    answers: int
    """Flagged answers that have a verdict."""
    passes: int
    """All passes."""
    flagged_passes: int
    pass_at_1: ReportedNumber
    pass_at_1_without: ReportedNumber
    """The rate if every flagged pass were a failure."""
    kinds: Mapping[str, FlagCount]
    """Counts by flag; an answer with two flags counts in both."""


def flagged_answers(
    frame: pl.DataFrame, excluded_problems: Sequence[ExcludedProblems], titles: Mapping[tuple[str, ...], str], seed: int
) -> Iterator[FlaggedAnswers]:
    """Yield the flagged answers of every column in ``titles``; nothing if a run has no flags."""
    marked = frame.filter(pl.col("flags").list.len() > 0)
    scanned = set(marked.select("policy", "profile").unique().iter_rows())
    for group, title in titles.items():
        named = dict(zip(GROUP, group, strict=True))
        if (named["policy"], named["profile"]) in scanned:
            rows = frame.filter(pl.all_horizontal(pl.col(name) == value for name, value in named.items()))
            excluded = excluded_ids(excluded_problems, named["profile"])
            judged = rows.filter(~pl.col("problem_id").is_in(list(excluded)) & pl.col("passed").is_not_null())
            if not judged.is_empty():
                yield _flagged(judged, named, title, seed)


def _flagged(judged: pl.DataFrame, named: Mapping[str, str], title: str, seed: int) -> FlaggedAnswers:
    marked = judged.filter(pl.col("flags").list.len() > 0)
    answers = Counter(marked["flags"].explode())
    passes = Counter(marked.filter(pl.col("passed"))["flags"].explode())
    honest = judged.with_columns(passed=pl.col("passed") & (pl.col("flags").list.len() == 0).fill_null(value=True))
    return FlaggedAnswers(
        **named,
        title=title,
        answers=marked.height,
        passes=int(judged["passed"].sum()),
        flagged_passes=int(marked["passed"].sum()),
        pass_at_1=pass_at_1(judged, named["profile"], seed),
        pass_at_1_without=pass_at_1(honest, named["profile"], seed),
        kinds={flag: FlagCount(answers=count, passes=passes[flag]) for flag, count in sorted(answers.items())},
    )
