"""Section of judge scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from caretbench.reports.estimates import ReportedNumber
from caretbench.reports.judged.judged_scores import control_warnings, coverage_warnings
from caretbench.reports.judged.score_tables import SOURCES, judged_tables
from caretbench.reports.judged.scores import SIMULATED, DecisionAgreement, JudgedScores, JudgeTrust
from caretbench.reports.report_source import ReportSource
from caretbench.reports.section import Chart, Line, PageBlock, PagePart, PageSource, Section, SectionPositions
from caretbench.reports.sections import section_charts
from caretbench.reports.sections.rates import label_columns
from caretbench.reports.summary import Summary
from caretbench.reports.tables import ReportTable


class JudgeScoresSection(Section):
    """Section of scores by criterion, calibration and agreement of the judges."""

    positions = SectionPositions(text=50, page=30, lines=40)
    part = PagePart("judged", "Judged", "Judge scores")

    def compute(self, source: ReportSource) -> Mapping[str, Any]:
        """Return the scores of every criterion."""
        return {"judged": source.judged_scores}

    def warnings(self, summary: Summary) -> Iterator[str]:
        """Yield models with too few values, judges that did not pass their controls, and the state of validation."""
        yield from coverage_warnings(summary.judged)
        yield from control_warnings(summary.judged)
        yield from validation_warnings(summary.judged)

    def tables(self, summary: Summary) -> Iterator[ReportTable]:
        """Yield the tables criterion by criterion."""
        for judged in summary.judged:
            yield from judged_tables(judged)

    def lines(self, summary: Summary) -> Iterator[Line]:
        """Yield one line per score and control."""
        for judged in summary.judged:
            yield from _lines(judged)

    def blocks(self, shown: PageSource) -> Sequence[PageBlock]:
        """Return a block for each criterion."""
        return [_block(number, entry) for number, entry in enumerate(shown.summary.judged)]


def _block(number: int, entry: JudgedScores) -> PageBlock:
    return PageBlock(
        title=entry.criterion,
        notes=(f"These scores: {entry.validity}.",),
        warning=not entry.validated,
        charts=_charts(number, entry) if entry.subject == "caret" else (),
        tables=list(judged_tables(entry)),
        level=4,
    )


def _charts(number: int, judged: JudgedScores) -> list[Chart]:
    overall, by_part = section_charts.overall_scores(judged), section_charts.score_map(judged)
    return [
        Chart(f"{number}-0", f"Judge scores, all instances ({judged.validity})", overall),
        Chart(f"{number}-1", f"Judge scores by language and category ({judged.validity})", by_part),
    ]


def validation_warnings(judged: Sequence[JudgedScores]) -> Iterator[str]:
    """Yield the state of validation of the scores, and judges that rate the controls in a wrong order."""
    for section in judged:
        if any(entry.simulated for entry in section.people):
            yield f"The scores by {section.criterion} were compared with {SIMULATED}; they say nothing about people."
        elif not section.validated:
            yield f"The scores by {section.criterion}: {section.validity}. See docs/explanation/judging.md."
        for judge in section.judges if section.subject == "caret" else ():
            if judge.in_order is False:
                yield (
                    f"{judge.title} does not rate the controls in the order that is known to be right; its scores by "
                    f"{section.criterion} do not measure quality."
                )


def _lines(judged: JudgedScores) -> Iterator[Line]:
    """Yield judge scores in points, controls and agreement, each with the state of validation."""
    for column in (*judged.columns, *judged.by_judge):
        common = {
            "model": column.model, "parameters": column.parameters, "policy": judged.policy,
            "profile": judged.profile, "judge": column.judge,
            "note": "; ".join(filter(None, (judged.validity, column.refused))),
        }  # fmt: skip
        numbers = {**column.parts, "total": column.value}
        cells: list[tuple[str, dict[str, str], str, ReportedNumber]] = [
            ("all", {}, name, number) for name, number in numbers.items() if number is not None
        ]
        cells += [
            (stratum, label_columns(cell.labels), "total", cell.value)
            for stratum, parts in column.strata.items()
            for cell in parts
        ]
        for scope, labels, name, number in cells:
            yield common | {"scope": scope, "metric": f"{judged.criterion}:{name}"} | labels | number.numbers()
        yield common | {"scope": "all", "metric": f"{judged.criterion}:coverage", "value": column.coverage}
    for judge in judged.judges:
        common = {"judge": judge.title, "note": "; ".join(filter(None, (judged.validity, judge.reason)))}
        for scope, values in _judge_numbers(judge):
            for metric, value in values.items():
                if value is not None:
                    yield common | {"scope": scope, "metric": f"{judged.criterion}:{metric}", "value": value}


def _judge_numbers(judge: JudgeTrust) -> Iterator[tuple[str, Mapping[str, float | None]]]:
    """Yield the numbers of a judge on controls, and in comparison with other decisions."""
    yield "controls", {"precision": judge.precision, "recall": judge.recall}
    for name, control in judge.controls.items():
        yield f"control {name}", {metric: control[metric] for metric in ("mean", "right", "separation")}
    for field, title in SOURCES.items() if judge.decisions else ():
        agreement: DecisionAgreement = getattr(judge.decisions, field)
        yield f"compared with {title}", agreement.model_dump(include={"agreement", "precision", "recall"})
