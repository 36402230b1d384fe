"""Result tables in the form of the paper's Table 2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from caretbench.files import published_rows
from caretbench.metrics.skill import skill, skill_interval
from caretbench.problem import PredicateCheck, Problem
from caretbench.profiles import profile_named
from caretbench.suites.c3bench.measures import (
    CODE_TOKENS,
    COMMENTARY_TOKENS,
    FOLLOWED,
    FOLLOWED_LENIENT,
    FOLLOWED_REDUCED,
    NOT_REDUCED,
    C3BenchProfile,
    blind_answer,
    failed_predicates,
)
from caretbench.suites.instruction_effects import effect_table, instruction_effects
from caretbench.suites.problem_means import NO_VALUE, RateEstimate, ScoreRow, Value, column, percent, problem_means
from caretbench.suites.suite_types import FAILED_CONTROLS_MARK, Headline, Table
from caretbench.text_tables import counted

if TYPE_CHECKING:
    import polars as pl

# The paper prints "ES" without a definition; Indel is the variant that counts an exchanged character twice, as a
# deletion and an insertion.
SIMILARITY: Final = "indel_similarity"
"""Similarity that the tables show; the paper does not name its variant."""


passed: Final = column("passed")
"""Returns 1 if all tests passed; None without a verdict."""
joint: Final = column("joint")
"""Returns 1 if an answer about the implementation passes and follows; None where one of both is not known."""


def followed_if_passed(row: ScoreRow) -> float | None:
    """Return 1 if an answer that passes follows its instruction; None if it does not pass."""
    # Among answers that pass, since judges are asked about no others.
    return joint(row) if passed(row) == 1.0 else None


class ModelAnswers(NamedTuple):
    """Rows of one model under one policy and profile."""

    title: str
    policy: str
    profile: str
    prompt: str
    rows: tuple[ScoreRow, ...]
    problems: Mapping[str, Problem]
    seed: int

    @property
    def fim(self) -> str:
        """Mark of a model that was asked by a format of fill-in-the-middle."""
        return NO_VALUE if not self.prompt else "yes" if self.prompt.startswith("fim/") else "no"

    def task(self, task: str) -> ModelAnswers:
        """Return the results for one task."""
        rows = (row for row in self.rows if self.problems[row["problem_id"]].label("task") == task)
        return self._replace(rows=tuple(rows))

    def by_problem(self, value: Value) -> dict[str, float]:
        """Return the mean over samples of a value, by problem in the order of names; those without any are missing."""
        means = problem_means(self.rows, self.problems, value, self.seed)
        return {problem.id: number for problem, number in zip(means.problems, means.values, strict=True)}

    def mean(self, value: Value) -> RateEstimate | None:
        """Return the mean over problems of a value, each the mean over its samples; None without any."""
        return problem_means(self.rows, self.problems, value, self.seed).mean()


def model_results(results: pl.DataFrame, problems: Mapping[str, Problem], seed: int) -> Sequence[ModelAnswers]:
    """Return the results of all models, policies and profiles."""
    groups: dict[tuple[str, str, str, str], list[ScoreRow]] = {}
    for row in with_joint(results).iter_rows(named=True):
        mode = row.get("instruction") or "shown"
        title = row["model_title"] + ("" if mode == "shown" else f", instruction {mode}")
        key = (title, row["policy"], row["profile"], row.get("prompt") or "")
        groups.setdefault(key, []).append(row)
    return [ModelAnswers(*key, tuple(rows), problems, seed) for key, rows in groups.items()]


SCALE_TESTED: Final = "scale_tested"
"""Column with 1 for an answer about scale that has its extent and passes its tests; null without a verdict."""
PREDICATE: Final = "predicate"
"""Column with 1 for an answer about the implementation that satisfies its predicate, whether or not its tests ran."""
PREDICATE_TITLE: Final = "ICC predicate alone"
"""Title of that column, which is shown where no answer ran (``--no-execute``): it is no IF."""
JOINT_JUDGED: Final = "joint_judged"
"""Column with the judge's share of yes about an answer that passes, and 0 for one that does not."""

_JUDGED_NOTE: Final = (
    "Judges are asked about answers that pass. IF: the answer passes and follows its instruction; of passed: the share "
    "among those that pass. A judge's number is there only if all answers that pass were judged."
)


def judged(row: ScoreRow) -> float | None:
    """Return the share of yes about an answer that passes; None if it does not pass, or was not judged."""
    return float(row["judged"]) if passed(row) == 1.0 and row.get("judged") is not None else None


def judged_tables(models: Sequence[ModelAnswers], profile: str, policy: str) -> Iterator[Table]:
    """Yield the table of models whose passing answers were all judged; none without such models."""
    rows, refused = [], dict[str, None]()
    for model in models:
        icc = model.task("icc")
        passing = [row for row in icc.rows if passed(row) == 1.0]
        # A judge that left answers out may have left out the doubtful ones; a mean of the rest would look better than
        # the model.
        if not passing or any(judged(row) is None for row in passing):
            continue
        reasons = dict.fromkeys(str(row["withheld"]) for row in icc.rows if row.get("withheld"))
        mark = f" {FAILED_CONTROLS_MARK}" if reasons else ""
        refused |= reasons
        rows.append(
            (
                model.title, percent(icc.mean(passed)), percent(icc.mean(joint)),
                _marked(percent(icc.mean(column(JOINT_JUDGED))), mark), percent(icc.mean(followed_if_passed)),
                _marked(percent(icc.mean(judged)), mark), str(len(passing)),
            )
        )  # fmt: skip
    if rows:
        yield Table(
            f"c3bench-judged-{profile}-{policy}",
            f"Instruction following by judge (Implementation-Control Completion), {profile} profile, policy {policy}",
            (
                "Model", "Pass@1", "IF, predicate", "IF, judge", "IF of passed, predicate", "IF of passed, judge",
                "Judged answers",
            ),
            tuple(rows),
            (_JUDGED_NOTE, *(f"{FAILED_CONTROLS_MARK}: {reason}." for reason in refused)),
        )  # fmt: skip


def _marked(text: str, mark: str) -> str:
    number, line, note = text.partition("\n")
    return text if number == NO_VALUE else f"{number}{mark}{line}{note}"


def with_joint_judged(results: pl.DataFrame) -> pl.DataFrame:
    """Return the results with a column :data:`JOINT_JUDGED`, null for models with an answer that was not judged."""
    import polars as pl

    if "judged" not in results.columns or results["judged"].is_null().all():
        return results
    icc = pl.col("problem_id").str.starts_with("icc/")
    lacking = icc & pl.col("passed") & pl.col("judged").is_null()
    # By model and not by row: otherwise a model would gain by answers that no judge could read.
    whole = ~lacking.any().over("model", "parameters", "policy", "profile")
    value = pl.when(pl.col("passed")).then(pl.col("judged")).otherwise(0.0)
    return results.with_columns(pl.when(icc & whole & pl.col("passed").is_not_null()).then(value).alias(JOINT_JUDGED))


MOST_BLIND: Final = 0.9
"""Share of answers without sense that follow, from which no skill is printed: too few problems are left above it."""
_SENSE_NOTE: Final = (
    "SCC extent and tests: has the extent and passes the tests, where there are tests. SCC skill: (IF - blind) / "
    "(1 - blind) where there are none; blind is the IF of blind-scale, which writes the extent and nothing that means "
    f"anything. No skill is printed where blind is {MOST_BLIND:.0%} or more."
)
_NOTES: Final = (
    "Percentages with 95% intervals, resampled by source. ES is the normalised Indel similarity; the paper does not "
    "name its variant. ICC IF: passes the tests and satisfies the predicate of its instruction, as printed; IF of "
    "passed: the share among the answers that pass. SCC IF: the extent alone, strict, and lenient (one fence, line "
    "ends and indentation forgiven). Average IF: the mean of ICC IF and SCC IF. Tokens: "
    "means of raw answers (the paper's Figure 11).",
)
_HEADLINES: Final[Mapping[str, Headline]] = {
    "joint": Headline(
        "ICC IF", "Implementation-Control Completion: the answer passes the tests and follows its instruction"
    ),
    PREDICATE: Headline(
        PREDICATE_TITLE, "Implementation-Control Completion: the answer satisfies its predicate; its tests did not run"
    ),
    SCALE_TESTED: Headline(
        "SCC extent and tests", "Scale-Control Completion: the answer has the requested extent and passes the tests"
    ),
    "scale": Headline("SCC IF", "Scale-Control Completion: the answer has the extent that its instruction asks for"),
}


def result_tables(results: pl.DataFrame, problems: Mapping[str, Problem], seed: int) -> tuple[Table, ...]:
    """Return the tables of a run; see :class:`caretbench.suites.base.Suite.result_tables`."""
    tables: list[Table] = []
    models = sorted(model_results(results, problems, seed), key=lambda model: (model.profile, model.policy))
    for (profile, policy), group in groupby(models, key=lambda model: (model.profile, model.policy)):
        chosen = list(group)
        tables += [_main_table(chosen, profile, policy), *judged_tables(chosen, profile, policy)]
    refused = "withheld" in results.columns and not results["withheld"].is_null().all()
    # A refused judge's measure has a mark.
    marks = {JOINT_JUDGED: f" {FAILED_CONTROLS_MARK}"} if refused else {}
    measures = {name: f"{title}{marks.get(name, '')}" for name, title in _EFFECT_MEASURES.items()}
    effects = instruction_effects(with_joint(results), measures, seed)
    if effects:
        tables.append(effect_table(effects, "c3bench-instruction", "Effect of the instruction (Figure 6, in form)"))
    return tuple(tables)


_EFFECT_MEASURES: Final = {
    "passed": "Pass@1", "joint": "ICC IF", JOINT_JUDGED: "ICC IF, judge", SCALE_TESTED: "SCC extent and tests",
    "scale": "SCC IF",
}  # fmt: skip


def with_joint(results: pl.DataFrame) -> pl.DataFrame:
    """Return the results with columns for instruction following: ``joint``, ``predicate``, ``scale``, ``scale_tested``.

    The first two are ICC's, the others SCC's. With a judge also ``joint_judged`` (ICC).
    """
    import polars as pl

    if "followed" not in results.columns:
        return results
    met, is_scale = pl.col("followed"), pl.col("problem_id").str.starts_with("scc/")
    if FOLLOWED_REDUCED in results.columns:
        met = pl.coalesce(pl.col(FOLLOWED_REDUCED), met)
    if NOT_REDUCED in results.columns:
        met = pl.when(pl.col(NOT_REDUCED).is_null()).then(met)
    both = pl.when(pl.col("passed").is_not_null()).then(met * pl.col("passed").cast(pl.Float64))
    return with_joint_judged(results).with_columns(
        joint=pl.when(~is_scale).then(both),
        predicate=pl.when(~is_scale).then(pl.col("followed")),
        scale=pl.when(is_scale).then(met),
        scale_tested=pl.when(is_scale).then(both),
    )


def headline_results(results: pl.DataFrame) -> tuple[pl.DataFrame, Mapping[str, Headline]]:
    """Return the results with instruction following of both tasks, and its titles; nothing where it is not measured.

    Extent and predicate alone lead only where no answer ran: an answer without sense has the extent.
    """
    joint = with_joint(results)
    names = [name for name in _HEADLINES if name in joint.columns]
    for ran, alone in (("joint", PREDICATE), (SCALE_TESTED, "scale")):
        if ran in names:
            names.remove(alone if joint[ran].is_not_null().any() else ran)
    return joint, {name: _HEADLINES[name] for name in names}


def _main_table(models: Sequence[ModelAnswers], profile: str, policy: str) -> Table:
    rows = [_main_row(model, profile) for model in models]
    heads = tuple(dict.fromkeys(head for row in rows for head in row))
    left = [f"{model.title}: {counted(count, 'answer')} not reduced, and in no IF." for model in models
            if (count := sum(bool(row.get(NOT_REDUCED)) for row in model.rows))]  # fmt: skip
    lacking = [
        problem
        for problem in (models[0].problems.values() if models else ())
        if problem.label("task") == "icc" and not any(isinstance(check, PredicateCheck) for check in problem.checks)
    ]
    if lacking:
        count = sum(problem.label("task") == "icc" for problem in models[0].problems.values())
        left.append(f"ICC IF is about {count - len(lacking)} of {count} problems: the others have no predicate.")
    return Table(
        f"c3bench-results-{profile}-{policy}",
        f"C3-Bench, {profile} profile, policy {policy} (the paper's Table 2, in form)",
        heads,
        tuple(tuple(row.get(head, NO_VALUE) for head in heads) for row in rows),
        (*_NOTES, *([_SENSE_NOTE] if _shows_sense(profile) else []), *left),
    )


def _shows_sense(profile: str) -> bool:
    return C3BenchProfile(profile_named(profile)).scale_sense


def _main_row(model: ModelAnswers, profile: str) -> dict[str, str]:
    """Return the cells of a model by head; ``paper`` has no column of ours about the sense of an answer."""
    icc, scc = model.task("icc"), model.task("scc")
    both = [icc.mean(joint), scc.mean(column("scale"))]
    known = [mean.value for mean in both if mean is not None]
    cells = {
        "Model": model.title, "FIM": model.fim, "ICC ES": percent(icc.mean(column(SIMILARITY))),
        "ICC Pass@1": percent(icc.mean(passed)), "ICC IF": percent(both[0]),
        "ICC IF of passed": percent(icc.mean(followed_if_passed)), "SCC ES": percent(scc.mean(column(SIMILARITY))),
        "SCC extent and tests": percent(scc.mean(column(SCALE_TESTED))), "SCC skill": _scale_skill(scc),
        "SCC IF": percent(both[1]), "SCC IF lenient": percent(scc.mean(column(FOLLOWED_LENIENT))),
        # With one task alone the mean would be printed under the same heading as the paper's.
        "Average IF": f"{100 * sum(known) / 2:.1f}" if len(known) == 2 else NO_VALUE,
        "Tokens of code": _count(model, CODE_TOKENS), "of commentary": _count(model, COMMENTARY_TOKENS),
    }  # fmt: skip
    if _shows_sense(profile) and not icc.by_problem(passed) and (alone := icc.mean(column(FOLLOWED))) is not None:
        cells[PREDICATE_TITLE] = percent(alone)
    if not _shows_sense(profile):
        del cells["SCC extent and tests"], cells["SCC skill"]
    return cells


def _count(model: ModelAnswers, name: str) -> str:
    mean = model.mean(column(name))
    return NO_VALUE if mean is None else f"{mean.value:.0f}"


def _scale_skill(model: ModelAnswers) -> str:
    """Return the skill of answers about scale above ``blind-scale``, or the floor where it leaves no room."""
    by_problem = model.by_problem(column("scale"))
    problems = [model.problems[name] for name in by_problem if not model.problems[name].runs_as_program]
    if not problems:
        return NO_VALUE
    scores = [by_problem[problem.id] for problem in problems]
    floors = [float(not failed_predicates(problem, blind_answer(problem) or "")) for problem in problems]
    blind = sum(floors) / len(floors)
    value = skill(sum(scores) / len(scores), blind)
    if value is None or blind >= MOST_BLIND:
        return f"{NO_VALUE}\nblind {100 * blind:.1f}"
    interval = skill_interval(scores, floors, [problem.cluster for problem in problems], seed=model.seed)
    return RateEstimate(value, interval, len(scores)).percent


_FOLLOWING: Final = "instruction_following_rate"
_TENTH: Final = Decimal("0.1")
_CELLS: Final[Mapping[str, tuple[str, str]]] = {
    "ICC ES": ("task=icc", "edit_similarity"), "ICC Pass@1": ("task=icc", "pass_at_1"),
    "ICC IF": ("task=icc", _FOLLOWING), "SCC ES": ("task=scc", "edit_similarity"), "SCC IF": ("task=scc", _FOLLOWING),
    "Average IF": ("task=all", _FOLLOWING),
}  # fmt: skip
"""Part and metric of each column."""


@cache
def printed_rows() -> Mapping[str, Mapping[str, str]]:
    """Return the rows of Table 2 by model, in printed order: percentages by column, and FIM with yes or no."""
    heads = {place: head for head, place in _CELLS.items()}
    rows: dict[str, dict[str, str]] = {}
    for row in published_rows("c3bench"):
        if row["table"] == "table_2" and row["suite"] == "c3_bench":
            cells = rows.setdefault(row["model"], {"FIM": row["notes"].removeprefix("fim=").partition(";")[0]})
            cells[heads[row["subset"], row["metric"]]] = row["value"]
    return rows


def wrong_averages() -> Mapping[str, Decimal]:
    """Return the mean of the printed rates by model, where the printed average is no rounding of it."""
    wrong = {}
    for name, row in printed_rows().items():
        mean = (Decimal(row["ICC IF"]) + Decimal(row["SCC IF"])) / 2
        # Decimals, since the mean of two printed tenths may end in .05, which floats round either way. Five of 39
        # averages follow from no rounding.
        if abs(mean - Decimal(row["Average IF"])) > _TENTH / 2:
            wrong[name] = mean
    return wrong


def printed_table(results: Sequence[Table]) -> Table:
    """Return Table 2 as printed, below the rows of the run's own table in its form."""
    heads = ("Model", "FIM", *_CELLS)
    rows = []
    for table in results:
        # Columns are found by their heads: the run's table has more of them than the paper's.
        if table.name.startswith("c3bench-results-"):
            places = [table.columns.index(head) for head in heads]
            rows += [(f"{row[0]} (this run)", *(row[place] for place in places[1:])) for row in table.rows]
    wrong = wrong_averages()
    for name, cells in printed_rows().items():
        mean = f"\nthe mean of its cells is {wrong[name].quantize(_TENTH, ROUND_HALF_UP)}" if name in wrong else ""
        *others, average = (cells[head] for head in heads[1:])
        rows.append((name, *others, average + mean))
    return Table(
        "c3bench-printed",
        "Table 2 as printed, next to this run",
        heads,
        tuple(rows),
        (
            "Printed: the paper's 2,195 problems, made of HumanEval and SAFIM and never released; its judge decides "
            "about ICC. This run has other problems, so that rows are no comparison of models. "
            f"{NO_VALUE}: not known. {len(printed_rows()) - len(wrong)} of {len(printed_rows())} averages follow "
            f"from their cells; not those of {', '.join(wrong)}.",
        ),
    )
