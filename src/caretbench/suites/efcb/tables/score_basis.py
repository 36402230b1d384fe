"""Rows and values that the EFCB score counts: rows by model, outcomes, coverage, judges, and what is missing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from caretbench.grouping import grouped
from caretbench.problem import Problem, Profile
from caretbench.profiles import PROFILES
from caretbench.prompts.instructions import BLIND
from caretbench.suites.efcb.baselines import BASELINES
from caretbench.suites.efcb.efcb_score import MAX_JUDGED_SCORE, ProblemOutcome
from caretbench.suites.efcb.problem_metadata import TASK_TITLES, TASKS, EfcbTask, efcb_profile
from caretbench.suites.efcb.released_problems import RELEASE_LABEL

if TYPE_CHECKING:
    import polars as pl

NO_VALUE: Final = "-"
"""Text of a missing number."""

ResultRow = Mapping[str, Any]


class ModelRows(NamedTuple):
    """One model's result rows of one profile, each with the labels of its problem.

    ``blind_rows`` are those of the same model without the text of the question.
    """

    name: str
    rows: tuple[ResultRow, ...]
    blind_rows: tuple[ResultRow, ...] = ()

    def select(self, task: str, **labels: str) -> list[ResultRow]:
        """Return the rows of a task with these labels."""
        return [
            line
            for line in self.rows
            if line["task"] == task and all(line.get(name) == value for name, value in labels.items())
        ]


def group_by_model(results: pl.DataFrame, problems: Mapping[str, Problem], profile: str) -> Iterator[ModelRows]:
    """Yield the models of a profile in the order of their rows, baselines last.

    A model with two sets of parameters occurs twice. Rows of ``--blind`` belong to the model that was asked alike in
    all else.
    """
    by_model: dict[tuple[str, str], list[ResultRow]] = defaultdict(list)
    blind: dict[str, list[ResultRow]] = defaultdict(list)
    titles: dict[tuple[str, str], str] = {}
    for row in results.iter_rows(named=True):
        if row["profile"] == profile:
            problem = problems[row["problem_id"]]
            # A measured value wins over a label of the same name, and a missing one leaves the label.
            labels = {name: value for name, value in problem.labels.items() if name not in row or row[name] is None}
            title = str(row.get("model_title") or row["model"])
            if row.get("instruction") == BLIND:
                blind[title].append({**row, **labels})
            else:
                titles[row["model"], row["parameters"]] = title
                by_model[row["model"], row["parameters"]].append({**row, **labels})
    # The same model at two temperatures would otherwise be two rows of one name.
    several = {name for name, _ in by_model if sum(name == other for other, _ in by_model) > 1}
    names = ["", *BASELINES]
    order = sorted(by_model, key=lambda key: names.index(key[0]) if key[0] in names else 0)
    for name, parameters in order:
        title = f"{name} ({parameters[:8]})" if name in several else name
        yield ModelRows(title, tuple(by_model[name, parameters]), tuple(blind[titles[name, parameters]]))


def format_mean(values: Iterable[float], digits: int, *, with_count: bool = False, mark: str = "") -> str:
    """Return the mean with its ``mark`` and, ``with_count``, the number of values; ``-`` without values."""
    known = list(values)
    if not known:
        return NO_VALUE
    note = f"\nn = {len(known)}" if with_count else ""
    return f"{sum(known) / len(known):.{digits}f}{f' {mark}' if mark else ''}{note}"


JUDGED_TASKS: Final = (EfcbTask.MASKED, EfcbTask.REVERSE, EfcbTask.HALLUCINATION)
"""Tasks whose values are judgements."""


class ScoreBasis(NamedTuple):
    """Basis of a profile's tables: the problems that the score counts, and whether they are released ones.

    Released problems are counted as published under every profile: they have no other tiers.
    """

    profile: Profile
    counted: Mapping[str, Mapping[str, str]]
    released: bool

    @classmethod
    def of(cls, profile: Profile, problems: Mapping[str, Problem]) -> ScoreBasis:
        """Return the basis of a run's problems under a profile."""
        released = any(RELEASE_LABEL in problem.labels for problem in problems.values())
        # The release has no `matched` or `added`: by the tiers of `default` it would have no score.
        return cls(profile, efcb_profile(PROFILES[0] if released else profile).scored_problems, released)

    def labels(self, task: str) -> Mapping[str, str]:
        """Return the labels of the problems of a task that count."""
        return self.counted.get(task, {})


def counted_outcomes(model: ModelRows, basis: ScoreBasis, copied: Mapping[str, float]) -> Iterator[ProblemOutcome]:
    """Yield the values that the score counts; answers without a judgement are missing."""
    blind = blind_values(model)
    for task in TASKS:
        for line in model.select(task, **basis.labels(task)):
            where = (task, str(line["repository"]), str(line["cluster"]))
            if task in (EfcbTask.EASY, EfcbTask.HARD):
                if line["passed"] is not None:
                    yield ProblemOutcome(*where, float(line["passed"]), blind=blind.get(line["problem_id"]))
            elif (value := line.get("judged")) is not None:
                # The judge's rating of the baseline `copy` is on the judge's scale; without it, the similarity of
                # copying stands in for it.
                copying = copied.get(line["problem_id"], MAX_JUDGED_SCORE * float(line.get("floor") or 0.0))
                floor = copying if task == EfcbTask.MASKED else 0.0
                yield ProblemOutcome(*where, float(value), floor, blind.get(line["problem_id"]))


def blind_values(model: ModelRows, name: str = "judged") -> dict[str, float]:
    """Return the mean value of a model's blind answers by problem: right choices, or the value ``name``."""
    values = (
        (line["problem_id"], line["passed"] if line["task"] in (EfcbTask.EASY, EfcbTask.HARD) else line.get(name))
        for line in model.blind_rows
    )
    by_problem = grouped((str(problem_id), float(value)) for problem_id, value in values if value is not None)
    return {problem_id: sum(values) / len(values) for problem_id, values in by_problem.items()}


def lowest_coverage(model: ModelRows, basis: ScoreBasis, problems: Mapping[str, Problem]) -> float:
    """Return the share of counted problems that have a value, the lowest of all tasks."""
    shares = []
    for task in TASKS:
        counted = basis.labels(task)
        wanted = sum(
            problem.labels.get("task") == task
            and all(problem.labels.get(name) == value for name, value in counted.items())
            for problem in problems.values()
        )
        value = "passed" if task in (EfcbTask.EASY, EfcbTask.HARD) else "judged"
        there = {line["problem_id"] for line in model.select(task, **counted) if line.get(value) is not None}
        # The lowest of the tasks: 98 % over all of them could hide a task of which half is missing.
        shares += [len(there) / wanted] if wanted else []
    return min(shares, default=0.0)


def failed_judges(model: ModelRows, basis: ScoreBasis) -> dict[str, str]:
    """Return, by counted judged task, the reason why its judge may not enter the score."""
    reasons_by_task: dict[str, dict[str, None]] = defaultdict(dict)
    for task in JUDGED_TASKS:
        for line in model.select(task, **basis.labels(task)):
            if line.get("judged") is not None and line.get("withheld"):
                reasons_by_task[task][line["withheld"]] = None
    return {task: "; ".join(reasons) for task, reasons in reasons_by_task.items()}


def missing_score(results: pl.DataFrame, problems: Mapping[str, Problem]) -> Iterator[str]:
    """Yield the reasons why no answer of a run has an EFCB score: tasks without problems, tasks without judgements."""
    present = {str(problem.labels.get("task")) for problem in problems.values()}
    absent = [TASK_TITLES[task] for task in TASKS if task not in present]
    if absent:
        yield f"No EFCB score: it is a mean over {len(TASKS)} tasks, and the run has no problem of {', '.join(absent)}."
        return
    judged = {
        task
        for profile in PROFILES
        for basis in (ScoreBasis.of(profile, problems),)
        for model in group_by_model(results, problems, profile)
        for task in JUDGED_TASKS
        if any(line.get("judged") is not None for line in model.select(task, **basis.labels(task)))
    }
    waiting = [TASK_TITLES[task] for task in JUDGED_TASKS if task not in judged]
    if waiting:
        yield (
            f"No EFCB score: no answer to {', '.join(waiting)} is judged. `caretbench judge RUN -m "
            "PROVIDER/MODEL` judges them."
        )
