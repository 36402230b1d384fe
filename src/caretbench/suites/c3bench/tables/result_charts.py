"""Charts in the form of the paper's Figures 6 and 11."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from caretbench.problem import Problem
from caretbench.suites.c3bench.measures import CODE_TOKENS, COMMENTARY_TOKENS
from caretbench.suites.c3bench.tables.result_tables import ModelAnswers, effect_measures, model_results, with_joint
from caretbench.suites.instruction_effects import effect_chart, instruction_effects
from caretbench.suites.problem_means import column
from caretbench.suites.suite_types import SuiteChart

if TYPE_CHECKING:
    import polars as pl


def result_charts(results: pl.DataFrame, problems: Mapping[str, Problem], seed: int) -> tuple[SuiteChart, ...]:
    """Return the charts of a run; see :class:`caretbench.suites.base.Suite.result_charts`."""
    models = model_results(results, problems, seed)
    charts = []
    effects = instruction_effects(with_joint(results), effect_measures(results), seed)
    if effects:
        charts.append(effect_chart(effects, "Effect of the instruction (Figure 6, in form)"))
    tokens = list(_token_values(models))
    if tokens:
        charts.append(SuiteChart("Tokens of raw answers (Figure 11, in form)", _token_spec(tokens)))
    return tuple(charts)


def _name(model: ModelAnswers, models: Sequence[ModelAnswers]) -> str:
    """Return a model's title, with policy and profile where there are several."""
    more = [
        getattr(model, field) for field in ("policy", "profile") if len({getattr(one, field) for one in models}) > 1
    ]
    return model.title + (f" ({', '.join(more)})" if more else "")


def _token_values(models: Sequence[ModelAnswers]) -> Iterator[dict[str, Any]]:
    for name, title in ((CODE_TOKENS, "code"), (COMMENTARY_TOKENS, "commentary")):
        for model in models:
            mean = model.mean(column(name))
            if mean is not None:
                yield {"model": _name(model, models), "part": title, "tokens": round(mean.value, 2)}


def _token_spec(values: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "data": {"values": values},
        "mark": "bar",
        "encoding": {
            "y": {"field": "model", "type": "nominal", "title": None, "sort": None},
            "x": {"field": "tokens", "type": "quantitative", "title": "Mean tokens of an answer", "stack": "zero"},
            "color": {"field": "part", "type": "nominal", "title": None},
            "tooltip": [{"field": name} for name in ("model", "part", "tokens")],
        },
    }
