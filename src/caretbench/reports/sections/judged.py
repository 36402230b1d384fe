"""Section of judge scores, for texts at carets and for answers to questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from caretbench.reports.judged.answers import answer_scores_of, control_warnings, coverage_warnings
from caretbench.reports.judged.decisions import decision_warnings
from caretbench.reports.judged.score_tables import SOURCES, answer_score_tables, caret_score_tables
from caretbench.reports.judged.scores import SIMULATED, AnswerScores, CaretScores, DecisionAgreement
from caretbench.reports.report_source import ReportSource
from caretbench.reports.section import Chart, Line, PageBlock, PagePart, PageSource, Section, SectionPositions
from caretbench.reports.summary import Summary
from caretbench.reports.tables import ReportTable


class JudgeScoresSection(Section):
    """Section of scores by criterion, calibration and agreement of the judges."""

    positions = SectionPositions(text=50, page=30, lines=40)
    part = PagePart("judged", "Judged", "Judge scores")

    def compute(self, source: ReportSource) -> Mapping[str, Any]:
        """Return the scores of every criterion, for carets and for questions."""
        run = source.run
        answers = answer_scores_of(source.answers, missing=run.judgements_missing, people=run.ratings)
        return {"judged": source.caret_scores, "answers": answers}

    def warnings(self, summary: Summary) -> Iterator[str]:
        """Yield models with too few values, judges that did not pass their controls, and the state of validation."""
        yield from coverage_warnings(summary.answers)
        yield from control_warnings(summary.answers)
        yield from decision_warnings(summary.judged)
        yield from validation_warnings((*summary.judged, *summary.answers))

    def tables(self, summary: Summary) -> Iterator[ReportTable]:
        """Yield the tables criterion by criterion."""
        for judged in summary.judged:
            yield from caret_score_tables(judged)
        for answers in summary.answers:
            yield from answer_score_tables(answers)

    def lines(self, summary: Summary) -> Iterator[Line]:
        """Yield one line per score and control."""
        for judged in summary.judged:
            yield from _caret_lines(judged)
        for answers in summary.answers:
            yield from _answer_lines(answers)

    def blocks(self, shown: PageSource) -> Sequence[PageBlock]:
        """Return a block for each criterion."""
        blocks = [
            _block(entry, _charts(number, entry), list(caret_score_tables(entry)))
            for number, entry in enumerate(shown.summary.judged)
        ]
        return blocks + [_block(entry, (), list(answer_score_tables(entry))) for entry in shown.summary.answers]


def _block(entry: CaretScores | AnswerScores, charts: Sequence[Chart], tables: Sequence[ReportTable]) -> PageBlock:
    return PageBlock(
        title=entry.criterion,
        notes=(f"These scores: {entry.validity}.",),
        warning=not entry.validated,
        charts=charts,
        tables=tables,
        level=4,
    )


def _charts(number: int, judged: CaretScores) -> list[Chart]:
    from caretbench.reports.sections.section_charts import overall_scores, score_map  # only pages have charts

    drawn = {
        "Judge scores, all instances": overall_scores(judged),
        "Judge scores by language and category": score_map(judged),
    }
    charts = [(title, spec) for title, spec in drawn.items() if spec is not None]
    return [
        Chart(f"{number}-{place}", f"{title} ({judged.validity})", spec) for place, (title, spec) in enumerate(charts)
    ]


def validation_warnings(judged: Sequence[CaretScores | AnswerScores]) -> Iterator[str]:
    """Yield the state of validation of the scores, and judges that rate the controls in a wrong order."""
    for section in judged:
        if any(entry.simulated for entry in section.people):
            yield f"The scores by {section.criterion} were compared with {SIMULATED}; they say nothing about people."
        elif not section.validated:
            yield f"The scores by {section.criterion}: {section.validity}. See docs/explanation/judging.md."
        for judge in section.judges if isinstance(section, CaretScores) else ():
            if judge.in_order is False:
                yield (
                    f"{judge.title} does not rate the controls in the order that is known to be right; its scores by "
                    f"{section.criterion} do not measure quality."
                )


def _caret_lines(judged: CaretScores) -> Iterator[Line]:
    """Yield judge scores in points, each with its state of validation."""
    for column in (*judged.columns, *judged.by_judge):
        common = {
            "model": column.model, "parameters": column.parameters, "policy": judged.policy,
            "profile": judged.profile, "judge": column.judge,
            "note": "; ".join(filter(None, (judged.validity, column.refused))),
        }  # fmt: skip
        cells = [("all", column.overall)]
        cells += [(stratum, cell) for stratum, stratum_cells in column.strata.items() for cell in stratum_cells]
        for scope, cell in cells:
            for name, estimate in cell.scores.items():
                where = {"scope": scope, "metric": f"{judged.criterion}:{name}"}
                yield common | where | dict(cell.labels) | estimate.numbers()
    for judge in judged.judges:
        for name, control in judge.controls.items():
            for metric, value in (("mean", control.mean), ("separation", control.separation)):
                if value is not None:
                    yield {
                        "scope": f"control {name}", "metric": f"{judged.criterion}:{metric}", "value": value,
                        "problems": judge.control_problems, "judge": judge.title, "note": judged.validity,
                    }  # fmt: skip
    yield from _decision_lines(judged)


def _decision_lines(judged: CaretScores) -> Iterator[Line]:
    """Yield the agreement of decisions with what is known."""
    for judge in judged.decisions:
        common = {"judge": judge.title, "note": "; ".join(filter(None, (judged.validity, judge.reason)))}
        for name, control in judge.controls.items():
            where = {"scope": f"control {name}", "metric": f"{judged.criterion}:right"}
            yield common | where | {"value": control.right, "problems": control.problems}
        for field, title in SOURCES.items():
            agreement: DecisionAgreement = getattr(judge, field)
            for metric in ("agreement", "precision", "recall"):
                if (value := getattr(agreement, metric)) is not None:
                    where = {"scope": f"compared with {title}", "metric": f"{judged.criterion}:{metric}"}
                    yield common | where | {"value": value}


def _answer_lines(answers: AnswerScores) -> Iterator[Line]:
    """Yield scores of answers to questions, each with its state of validation."""
    for column in (*answers.columns, *answers.by_judge):
        common = {
            "model": column.model, "parameters": column.parameters, "profile": answers.profile,
            "judge": column.judge, "note": "; ".join(filter(None, (answers.validity, column.refused))),
        }  # fmt: skip
        cells = [(stratum, label, score) for stratum, cells in column.strata.items() for label, score in cells.items()]
        for scope, label, estimate in [("all", "", column.value), *cells]:
            if estimate is not None:
                where = {"scope": f"{scope} {label}".rstrip(), "metric": answers.criterion}
                yield common | where | estimate.numbers()
        yield common | {"scope": "all", "metric": f"{answers.criterion}:coverage", "value": column.coverage}
    for judge in answers.judges:
        common = {"judge": judge.title, "note": "; ".join(filter(None, (answers.validity, judge.reason)))}
        for metric in ("precision", "recall"):
            if (value := getattr(judge, metric)) is not None:
                where = {"scope": "controls", "metric": f"{answers.criterion}:{metric}"}
                yield common | where | {"value": value}
        for name, control in judge.controls.items():
            for metric in ("mean", "right", "separation"):
                if control[metric] is not None:
                    metric_of = {"scope": f"control {name}", "metric": f"{answers.criterion}:{metric}"}
                    yield common | metric_of | {"value": control[metric], "problems": control["problems"]}
