"""CSV lines of what the judges said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from caretbench.reports.judged.scores import AnswersJudged, CaretsJudged

Line = Mapping[str, object]


def caret_lines(judged: CaretsJudged) -> Iterator[Line]:
    """Yield judge scores in points, each with how far they are validated."""
    for column in (*judged.columns, *judged.by_grader):
        common = {
            "model": column.model, "parameters": column.parameters, "policy": judged.policy,
            "profile": judged.profile, "grader": column.grader, "note": judged.validity,
        }  # fmt: skip
        cells = [("all", column.overall)]
        cells += [(stratum, cell) for stratum, found in column.strata.items() for cell in found]
        for scope, cell in cells:
            for name, estimate in cell.scores.items():
                where = {"scope": scope, "metric": f"{judged.criterion}:{name}"}
                yield common | where | dict(cell.labels) | estimate.numbers()
    for grader in judged.graders:
        for name, control in grader.controls.items():
            for metric, value in (("mean", control.mean), ("separation", control.separation)):
                if value is not None:
                    yield {
                        "scope": f"control {name}", "metric": f"{judged.criterion}:{metric}", "value": value,
                        "problems": grader.control_problems, "grader": grader.title, "note": judged.validity,
                    }  # fmt: skip


def answer_lines(answers: AnswersJudged) -> Iterator[Line]:
    """Yield scores of answers to questions, each with how far they are validated."""
    for column in (*answers.columns, *answers.by_grader):
        common = {
            "model": column.model, "parameters": column.parameters, "profile": answers.profile,
            "grader": column.grader, "note": "; ".join(filter(None, (answers.validity, column.refused))),
        }  # fmt: skip
        cells = [
            (stratum, label, found)
            for stratum, cells in column.strata.items()
            for label, found in cells.items()
        ]
        for scope, label, estimate in [("all", "", column.value), *cells]:
            if estimate is not None:
                where = {"scope": f"{scope} {label}".rstrip(), "metric": answers.criterion}
                yield common | where | estimate.numbers()
        yield common | {"scope": "all", "metric": f"{answers.criterion}:coverage", "value": column.coverage}
    for grader in answers.graders:
        common = {"grader": grader.title, "note": "; ".join(filter(None, (answers.validity, grader.reason)))}
        for metric in ("precision", "recall"):
            if (value := getattr(grader, metric)) is not None:
                where = {"scope": "controls", "metric": f"{answers.criterion}:{metric}"}
                yield common | where | {"value": value}
        for name, control in grader.controls.items():
            for metric in ("mean", "right", "separation"):
                if control[metric] is not None:
                    metric_of = {"scope": f"control {name}", "metric": f"{answers.criterion}:{metric}"}
                    yield common | metric_of | {"value": control[metric], "problems": control["problems"]}
