"""Tables of EFCB's choices: accuracy by tier with its floors, and what a text adds to answers without it."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from caretbench.grouping import grouped
from caretbench.metrics.intervals import Interval, mean_interval
from caretbench.metrics.skill import skill, skill_interval
from caretbench.problem import Problem, Profile
from caretbench.profiles import PROFILES
from caretbench.prompts.instructions import BLIND
from caretbench.suites.efcb.baselines import BASELINES
from caretbench.suites.efcb.choices import CHOICE_SET_LABEL
from caretbench.suites.efcb.efcb_score import MAX_BLIND, MAX_JUDGED_SCORE, ProblemOutcome
from caretbench.suites.efcb.lexical_similarity import MIN_QUESTIONS, best_floor, floor_credits
from caretbench.suites.efcb.problem_metadata import TASK_TITLES, TASKS, EfcbTask, efcb_profile
from caretbench.suites.efcb.released_problems import RELEASE_LABEL
from caretbench.suites.suite_types import FAILED_CONTROLS_MARK, Table

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


QuestionGroup = tuple[str, str, str]
"""Task, tier and query variant."""

_BLIND: Final = "blind answers"

_CHOICE_HEADS: Final = (
    "Model", "Tier", "Above best floor", "Best floor", "Query", "Problems", "Coverage", "Accuracy", "No letter",
    "Above chance", "Consistent", "Leak test",
)  # fmt: skip


def choice_tables(
    models: Sequence[ModelRows], profile: Profile, problems: Iterable[Problem], seed: int = 0
) -> Iterator[Table]:
    """Yield the accuracy of choices by tier, unparsed answers, and skill above word attacks.

    Models that cannot be sent some of the run's problems have no row for them.
    """
    known = list(problems)
    there = Counter(_part_of(problem.labels) for problem in known)
    asked = Counter(_part_of(problem.labels) for problem in known if not problem.labels.get("rotation"))
    floors = floor_credits(known)
    rows = [
        _choice_row(model, part, _question_rows(model, part), (there[part], asked[part]), floors, seed)
        for model in models
        for part in sorted(part for part in there if part[0] in (EfcbTask.EASY, EfcbTask.HARD))
        # Baselines such as `copy` answer no choices, and a line of dashes for each would hide the models.
        if model.name not in BASELINES or _question_rows(model, part)
    ]
    if rows:
        yield Table(
            "efcb-choices",
            f"Choices by tier, and above what needs no understanding ({profile} profile)",
            _CHOICE_HEADS,
            tuple(rows),
            (
                "The headline of a tier is its skill above the best floor, (accuracy - floor) / (1 - floor), over the "
                "same problems: what understanding adds to the better of TF-IDF and "
                "n-grams of the question; of GMCQ-Hard the model's own answers without the text, where there are any. "
                "Below it and below the accuracy are 95 % intervals; they resample pull requests, and sets of four "
                "where questions share their choices.",
                "Problems: those with an answer. Coverage: their share of all; below 98 % believe no number next to "
                "it. Above chance: (accuracy - 0.25) / 0.75. Consistent: the share of questions that are answered "
                "rightly in all orders of the choices or in none, where a build has several. Leak test: whether the "
                f"tier has the {MIN_QUESTIONS} questions that show what attacks find without the text.",
            ),
        )


def _choice_row(
    model: ModelRows,
    part: QuestionGroup,
    lines: Sequence[ResultRow],
    sizes: tuple[int, int],
    floors: Mapping[str, Mapping[str, float]],
    seed: int,
) -> tuple[str, ...]:
    problems, questions = sizes
    answered = sorted({str(line["problem_id"]) for line in lines})
    best = best_floor(floors, answered)
    blind = blind_values(model) if part[:2] == (EfcbTask.HARD, "") else {}
    if blind and blind.keys() >= set(answered):
        # GMCQ-Hard is answered from its choices alone more often than from its words.
        floors, best = {**floors, _BLIND: blind}, _BLIND
    return (
        model.name,
        f"{TASK_TITLES[part[0]]} {part[1]}".strip(),
        _above(lines, floors[best], seed, blind=best == _BLIND) if best else NO_VALUE,
        f"{best}\n{sum(floors[best][problem] for problem in answered) / len(answered):.3f}" if best else NO_VALUE,
        part[2].replace("_", " "),
        str(len(answered)),
        f"{100 * len(answered) / problems:.1f}%",
        _accuracy_text(lines, seed) if lines else NO_VALUE,
        format_mean((float(line.get("invalid") or 0.0) for line in lines), 3),
        _skill(_accuracy(lines), 0.25) if lines else NO_VALUE,
        _consistency(lines),
        "tested" if questions >= MIN_QUESTIONS else f"too small to test ({questions})",
    )


def blind_tables(models: Sequence[ModelRows], profile: Profile, seed: int) -> Iterator[Table]:
    """Yield the skill of models above their own answers without the text, by task and tier."""
    rows = [row for model in models if model.blind_rows for row in _blind_rows(model, seed)]
    if rows:
        yield Table(
            "efcb-blind",
            f"Above the model's own answers without the text ({profile} profile)",
            ("Model", "Questions", "Problems", "With the text", "Blind", "Above blind"),
            tuple(rows),
            (
                "Above blind: (value - blind) / (1 - blind) over the problems that were asked in both ways, with its "
                "95 % interval: the headline of GMCQ-Hard and MPR-Gen. From a blind value of "
                f"{MAX_BLIND} no skill is stated: the questions are answered without their text.",
                f"{FAILED_CONTROLS_MARK}: a judge did not pass its controls.",
            ),
        )


def _blind_rows(model: ModelRows, seed: int) -> Iterator[tuple[str, ...]]:
    ways = {
        "": ("passed", 1.0),
        ", judged": ("judged", MAX_JUDGED_SCORE),
        ", edit similarity": ("edit_similarity", 1.0),
    }
    for words, (name, maximum) in ways.items():
        blind = blind_values(model, name)
        parts: dict[QuestionGroup, list[ResultRow]] = defaultdict(list)
        for line in model.rows:
            chosen = line["task"] in (EfcbTask.EASY, EfcbTask.HARD)
            wanted = chosen if name == "passed" else line["task"] == EfcbTask.MASKED
            if wanted and line.get(name) is not None and line["problem_id"] in blind:
                parts[_part_of(line)].append(line)
        for part, lines in sorted(parts.items()):
            scores = [float(line[name]) / maximum for line in lines]
            floors = [blind[line["problem_id"]] / maximum for line in lines]
            value, floor = sum(scores) / len(scores), sum(floors) / len(floors)
            mark = (
                f" {FAILED_CONTROLS_MARK}" if name == "judged" and any(line.get("withheld") for line in lines) else ""
            )
            interval = skill_interval(scores, floors, _clusters(lines), seed=seed)
            yield (
                model.name,
                f"{TASK_TITLES[part[0]]} {part[1]}".strip() + words,
                str(len({line["problem_id"] for line in lines})),
                f"{value:.3f}{mark}",
                f"{floor:.3f}{mark}",
                answered_blind(floor) if floor >= MAX_BLIND else _spread(f"{_skill(value, floor)}{mark}", interval),
            )


def answered_blind(blind: float) -> str:
    """Return the words for questions that are answered without their text, ``(blind .98)`` behind them."""
    return f"answered without its text (blind {f'{blind:.2f}'.removeprefix('0')})"


def _above(lines: Sequence[ResultRow], floors: Mapping[str, float], seed: int, *, blind: bool) -> str:
    """Return the skill above a floor, with its interval in the next line."""
    scores = [float(bool(line["passed"])) for line in lines]
    floor = [floors[str(line["problem_id"])] for line in lines]
    if blind and sum(floor) >= MAX_BLIND * len(floor):
        return answered_blind(sum(floor) / len(floor))
    value = _skill(sum(scores) / len(scores), sum(floor) / len(floor))
    return value if value == NO_VALUE else _spread(value, skill_interval(scores, floor, _clusters(lines), seed=seed))


def _spread(value: str, interval: Interval) -> str:
    """Return a number, with its interval in the next line if there is one."""
    return value if math.isnan(interval.low) else f"{value}\n{interval.low:.3f} to {interval.high:.3f}"


def _clusters(lines: Sequence[ResultRow]) -> list[str]:
    """Return the cluster of each row: the set of its choices, else its pull request."""
    # The four questions of a set share their choices, so their answers depend on each other.
    return [str(line.get(CHOICE_SET_LABEL) or line["cluster"]) for line in lines]


def _part_of(labels: Mapping[str, Any]) -> QuestionGroup:
    return (str(labels["task"]), str(labels.get("tier") or ""), str(labels.get("query") or ""))


def _question_rows(model: ModelRows, part: QuestionGroup) -> list[ResultRow]:
    return [line for line in model.select(part[0]) if _part_of(line) == part and line["passed"] is not None]


def _accuracy(lines: Sequence[ResultRow]) -> float:
    return sum(bool(line["passed"]) for line in lines) / len(lines) if lines else float("nan")


def _accuracy_text(lines: Sequence[ResultRow], seed: int) -> str:
    """Return the accuracy with its interval, clustered by pull request or set of choices."""
    values = [float(bool(line["passed"])) for line in lines]
    return _spread(f"{_accuracy(lines):.3f}", mean_interval(values, seed=seed, clusters=_clusters(lines)))


def _skill(accuracy: float, floor: float | None) -> str:
    value = None if floor is None else skill(accuracy, floor)
    # Above a floor of .95 a model that is always wrong has a skill of -19.
    return NO_VALUE if value is None else f"{value:.3f}" if value >= -1 else "< -1"


def _consistency(lines: Sequence[ResultRow]) -> str:
    """Return the share of questions in several orders whose answers are all right or all wrong."""
    by_question = grouped(((str(line["cluster"]), int(line["sample"])), bool(line["passed"])) for line in lines)
    # Questions that are asked in one order say nothing about consistency.
    several = [passed for passed in by_question.values() if len(passed) > 1]
    return format_mean((float(all(passed) or not any(passed)) for passed in several), 3)
