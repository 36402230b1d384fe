"""Section of generator bias, for runs whose problems were written by models of several families."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from caretbench.people.strengths.bias_computation import generator_bias
from caretbench.people.strengths.sentence_parts import p_words, points_interval, points_range
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.strengths import BiasRow, GeneratorBias
from caretbench.reports.section import Line, PageBlock, PagePart, PageSource, Section, SectionPositions
from caretbench.reports.summary import Summary
from caretbench.reports.tables import FieldValues, ReportTable, number_field, table_of, text_field
from caretbench.text_tables import p_text

LISTED = 20
"""Maximum number of listed problems that only their own family solves."""


class GeneratorBiasSection(Section):
    """Section of generator bias: appears where problems have labels of two families of generators."""

    positions = SectionPositions(text=60, page=75, lines=90)
    part = PagePart("generator-bias", "Generator bias", "Do models gain on problems of their own family?")

    def compute(self, source: ReportSource) -> Mapping[str, Any]:
        """Return the generator bias."""
        return {"generator_bias": generator_bias(source)}

    def notes(self, summary: Summary) -> Iterable[str]:
        """Return the finding in one sentence."""
        return [bias_sentence(summary.generator_bias)] if summary.generator_bias else []

    def tables(self, summary: Summary) -> Iterable[ReportTable]:
        """Return the table of biases, and the problems that only their own family solves."""
        bias = summary.generator_bias
        if bias is None:
            return []
        return [_bias_table(bias), *([_own_table(bias)] if bias.only_own else [])]

    def lines(self, summary: Summary) -> Iterable[Line]:
        """Return the biases."""
        bias = summary.generator_bias
        for row in (bias.overall, *bias.families, *bias.by_model) if bias else ():
            yield {
                "scope": "generator bias", "model": row.name, "metric": "own gain minus others' gain",
                "value": row.bias, "low": row.low, "high": row.high, "problems": row.scenarios, "method": "scenarios",
                "note": row.verdict,
            }  # fmt: skip

    def blocks(self, shown: PageSource) -> Sequence[PageBlock]:
        """Return the sentence and the tables."""
        bias = shown.summary.generator_bias
        if bias is None:
            return []
        return [PageBlock(notes=[bias_sentence(bias)], tables=list(self.tables(shown.summary)))]


def bias_sentence(bias: GeneratorBias) -> str:
    """Return the finding over all families, with the smallest bias that the scenarios can find."""
    row = bias.overall
    smallest = (
        "" if row.smallest is None else f" {_scenarios(row)} find a bias of {_points(row.smallest)} in 80% of cases."
    )
    if row.claimed:
        more = "more" if row.bias > 0 else "less"
        return (
            f"Models gain {_points(abs(row.bias))} {more} on problems that their own family wrote than other models do"
            f"{points_interval(row.low, row.high)} ({_scenarios(row)}, {p_words(row.p_value)}).{smallest}"
        )
    return (
        f"Bias of generators towards their own family's models: {row.verdict} "
        f"({100 * row.bias:+.1f} points{points_interval(row.low, row.high)}, {_scenarios(row)}).{smallest}"
    )


def _scenarios(row: BiasRow) -> str:
    return f"{row.scenarios} {'scenario' if row.scenarios == 1 else 'scenarios'}"


def _points(value: float) -> str:
    return f"{100 * value:.1f} points"


def _bias_table(bias: GeneratorBias) -> ReportTable:
    heads = (
        "Models",
        "Scenarios",
        "Bias (points)",
        "p",
        "Bias (log odds)",
        "p (log odds)",
        "Smallest found",
        "Verdict",
    )
    rows = [_fields(row) for row in (bias.overall, *bias.families, *bias.by_model)]
    written = ", ".join(f"{family} {count}" for family, count in bias.problems.items())
    unknown = f" Without a known family: {', '.join(bias.unknown_models)}." if bias.unknown_models else ""
    return table_of(
        "Gain on problems of the own family, minus the gain of other models",
        heads,
        rows,
        f"Problems by family of the generator: {written}. A gain is the rate on a family's problems minus the rate on "
        "the others of the same scenario. A bias is claimed if it is distinguishable in points and in log odds. "
        "P values of families and of models are adjusted for their number (Holm). The smallest bias is the one that so "
        f"many scenarios find in 80% of cases.{unknown}",
    )


def _fields(row: BiasRow) -> FieldValues:
    return (
        row.name,
        row.scenarios,
        number_field(row.bias, f"{100 * row.bias:+.1f}", points_range(row.low, row.high)),
        number_field(row.p_value, p_text(row.p_value)),
        number_field(row.log_odds, f"{row.log_odds:+.2f}", f"{row.log_odds_low:+.2f} to {row.log_odds_high:+.2f}"),
        number_field(row.log_odds_p_value, p_text(row.log_odds_p_value)),
        number_field(row.smallest, None if row.smallest is None else f"{100 * row.smallest:.1f}"),
        text_field(row.verdict, "warning" if row.claimed else ""),
    )


def _own_table(bias: GeneratorBias) -> ReportTable:
    shown = bias.only_own[:LISTED]
    rows = [(one.problem_id, one.family, ", ".join(one.models)) for one in shown]
    return table_of(
        "Problems that only their generator's family solves",
        ("Problem", "Family", "Solved by"),
        rows,
        f"{len(bias.only_own)} problems, of which {len(shown)} are listed. Only models of other families solve "
        f"{bias.only_others}. Solved: a model passes at least half of its samples, and no sample of the others passes.",
    )
