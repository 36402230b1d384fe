"""Charts in the form of the paper's Figures 1, 5 and 6."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from caretbench.problem import Problem
from caretbench.profiles import profile_named
from caretbench.suites.codevbench.scenario_names import OTHER, SCENARIOS
from caretbench.suites.codevbench.tables.rate_tables import (
    ScoredRun,
    answer_lines,
    reference_lines,
    scenario_points,
    scored_runs,
    usage_group,
    usage_shares,
)
from caretbench.suites.suite_types import SuiteChart

if TYPE_CHECKING:
    import polars as pl


_MANY_CHARACTERS: Final = 10


class Share(NamedTuple):
    """Share of one value in percent; the paper's is None where it is not printed."""

    subject: str
    value: str
    problems: float
    usage: float | None


def _kind(problem: Problem) -> str:
    return usage_group(problem) or OTHER


def _lines(problem: Problem) -> str:
    """Return the extent of the right answer: nothing, a part of a line, a whole line, or several lines."""
    reference = problem.reference.removesuffix("\n")
    if not reference.strip():
        return "nothing"
    if "\n" in reference:
        return "several_lines"
    return "partial_line" if _typed_text(problem) or _rest_of_line(problem).strip() else "whole_line"


def _typed_text(problem: Problem) -> str:
    """Return the text before the caret in its line, without indentation."""
    return problem.caret.prefix.rpartition("\n")[2].lstrip()


def _rest_of_line(problem: Problem) -> str:
    return "" if problem.reference.endswith("\n") else problem.caret.suffix.partition("\n")[0]


def _typed(problem: Problem) -> str:
    length = len(_typed_text(problem))
    return "none" if not length else "over_10_characters" if length > _MANY_CHARACTERS else "1_to_10_characters"


_SUBJECTS: Final[Mapping[str, tuple[str, Callable[[Problem], str], tuple[str, ...]]]] = {
    "block": ("Kind of block", _kind, ("statement", "comment", "control_logic", "function", OTHER)),
    "lines": ("Answer", _lines, ("whole_line", "partial_line", "several_lines", "nothing")),
    "typed": ("Typed before the caret in its line", _typed, ("over_10_characters", "1_to_10_characters", "none")),
}


def distributions(problems: Collection[Problem]) -> Iterator[Share]:
    """Yield the shares of the problems, next to the printed ones; nothing without problems."""
    for name, (title, value_of, values) in _SUBJECTS.items():
        counts = Counter(map(value_of, problems))
        for value in values if problems else ():
            printed = usage_shares(name).get(value)
            yield Share(title, value.replace("_", " "), 100 * counts[value] / len(problems), printed)


_NOMINAL = {"type": "nominal", "title": None, "sort": None}


def result_charts(results: pl.DataFrame, problems: Mapping[str, Problem], seed: int) -> tuple[SuiteChart, ...]:
    """Return the charts of a run; see :class:`caretbench.suites.base.Suite.result_charts`."""
    runs = list(scored_runs(results, problems, seed))
    charts = (
        ("Problems and the usage data of the paper (Figure 1, in form)", _usage_spec, _usage_values(problems.values())),
        ("Average lines of answers (Figure 5, in form)", _line_spec, _line_values(runs)),
        ("Pass@1 and edit similarity (Figure 6, in form)", _point_spec, _point_values(runs)),
    )
    filled = ((title, spec, list(values)) for title, spec, values in charts)
    return tuple(SuiteChart(title, spec(values)) for title, spec, values in filled if values)


def _name(title: str, run: ScoredRun, runs: Sequence[ScoredRun]) -> str:
    """Return a model's title, with policy and profile where there are several."""
    several = [field for field in ("policy", "profile") if len({getattr(other, field) for other in runs}) > 1]
    more = ", ".join(getattr(run, field) for field in several)
    return f"{title} ({more})" if more else title


def _usage_values(problems: Collection[Problem]) -> Iterator[dict[str, Any]]:
    for share in distributions(problems):
        common = {"subject": share.subject, "value": share.value}
        yield {**common, "of": "problems", "share": round(share.problems, 2)}
        if share.usage is not None:
            yield {**common, "of": "usage, as printed", "share": share.usage}


def _line_values(runs: Sequence[ScoredRun]) -> Iterator[dict[str, Any]]:
    for run in runs:
        references: dict[str, dict[str, int]] = {title: {} for title in SCENARIOS.values()}
        for model in run.models:
            for scenario, title in SCENARIOS.items():
                scores = model.select(scenario=scenario)
                mean = scores.mean(answer_lines)
                if mean is not None:
                    yield {"model": _name(model.title, run, runs), "scenario": title, "lines": round(mean.value, 2)}
                references[title] |= reference_lines(scores, profile_named(run.profile))
        for title, lines in references.items():
            if lines:
                mean_lines = round(sum(lines.values()) / len(lines), 2)
                yield {"model": _name("right answers", run, runs), "scenario": title, "lines": mean_lines}


def _point_values(runs: Sequence[ScoredRun]) -> Iterator[dict[str, Any]]:
    for run in runs:
        for scenario, title in SCENARIOS.items():
            for point in scenario_points(run, scenario, baselines=True):
                yield {
                    "model": _name(point.model, run, runs),
                    "scenario": title,
                    "passed": round(100 * point.passed, 2),
                    "similarity": round(100 * point.similarity, 2),
                }


def _tooltip(*names: str) -> list[dict[str, str]]:
    return [{"field": name} for name in names]


def _usage_spec(values: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "data": {"values": values},
        "facet": {"row": {"field": "subject", **_NOMINAL}},
        "spec": {
            "mark": "bar",
            "encoding": {
                "y": {"field": "value", **_NOMINAL},
                "yOffset": {"field": "of"},
                "x": {"field": "share", "type": "quantitative", "title": "Share (%)"},
                "color": {"field": "of", **_NOMINAL},
                "tooltip": _tooltip("value", "of", "share"),
            },
        },
        "resolve": {"scale": {"y": "independent"}},
    }


def _line_spec(values: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "data": {"values": values},
        "mark": "bar",
        "encoding": {
            "y": {"field": "model", **_NOMINAL},
            "yOffset": {"field": "scenario", "sort": None},
            "x": {"field": "lines", "type": "quantitative", "title": "Mean lines of an answer"},
            "color": {"field": "scenario", **_NOMINAL},
            "tooltip": _tooltip("model", "scenario", "lines"),
        },
    }


def _point_spec(values: list[dict[str, Any]]) -> dict[str, Any]:
    axis = {"type": "quantitative", "scale": {"domain": [0, 100]}}
    return {
        "data": {"values": values},
        "facet": {"field": "scenario", **_NOMINAL},
        "columns": 2,
        "spec": {
            "mark": {"type": "point", "filled": True, "size": 60},
            "encoding": {
                "x": {"field": "passed", "title": "Pass@1 (%)", **axis},
                "y": {"field": "similarity", "title": "Edit similarity (%)", **axis},
                "color": {"field": "model", **_NOMINAL},
                "tooltip": _tooltip("model", "passed", "similarity"),
            },
        },
    }
