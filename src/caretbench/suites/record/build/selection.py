"""Choice of an edition's problems from the valid ones of a build, and their rows without texts."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from caretbench.build.project_tasks.deciding_tests import KILLS_KEPT
from caretbench.build.projects.language_tables import project_tables
from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.files import sha256_text
from caretbench.problem import Problem, TestsCheck
from caretbench.projects.answer_requests import file_splice, get_tests_check
from caretbench.projects.file_spans import visible_text
from caretbench.suites.record.build.recipe import EditionRecipe
from caretbench.suites.record.edition import RecordTask, block_hash, numbers_text

SCENARIOS: Final = ("full_block", "inner_block", "incomplete_suffix")
"""Scenarios of the record; the fourth of Codev-Bench shows texts that a rebuild would have to search again."""
_LABELS: Final = (
    "scenario", "cut", "block", "line", "age", "call_depth", "block_lines", "reference_lines", KILLS_KEPT,
    "construct_removed",
)  # fmt: skip
_TOKEN: Final = re.compile(r"\w+|[^\w\s()\[\]{};:,.'\"`]")
_MIN_TOKENS: Final = 3
"""Words and operators: readers found ``return s; }``, ``(dot);`` and ``return 'NULL';`` trivial."""


def is_sensible(problem: Problem, kills_kept: float) -> bool:
    """Return whether a valid problem may be in an edition: a known scenario, a real answer, tests that notice."""
    if problem.label("scenario") not in SCENARIOS or problem.label("answer") != "code":
        return False
    table = project_tables().get(problem.caret.language)
    # `return 'NULL';`, `@string = string`: readers of two draws found bodies that only return or store trivial.
    if table is not None and table.mining.stub_body.fullmatch(problem.reference.strip()):
        return False
    kept = problem.labels.get(KILLS_KEPT)
    noticed = not isinstance(kept, float) or kept >= kills_kept
    return noticed and is_answer(problem.reference)


def is_answer(text: str) -> bool:
    """Return whether a text has as many words and operators as make an answer, a word among them."""
    tokens = _TOKEN.findall(text)
    return len(tokens) >= _MIN_TOKENS and any(token[0].isalpha() for token in tokens)


def chosen_problems(problems: Iterable[Problem], recipe: EditionRecipe) -> list[Problem]:
    """Return the problems of one project: at most so many in all and of a group, scenarios alike, by the seed."""
    waiting: dict[str, list[Problem]] = {name: [] for name in SCENARIOS}
    for problem in sorted(problems, key=lambda problem: sha256_text(str(recipe.seed), problem.id)):
        if is_sensible(problem, recipe.kills_kept):
            waiting[problem.label("scenario")].append(problem)
    chosen: list[Problem] = []
    groups: Counter[str] = Counter()
    places: set[tuple[str, int]] = set()
    # One of each group first: independent problems say more than two of a group.
    for most in range(1, recipe.group_problems + 1):
        turns = {name: iter(listed) for name, listed in waiting.items()}
        while turns and len(chosen) < recipe.problems:
            counts = Counter(problem.label("scenario") for problem in chosen)
            name = min(turns, key=lambda scenario: (counts[scenario], SCENARIOS.index(scenario)))
            fitting = next((problem for problem in turns[name] if _fits(problem, groups, places, most)), None)
            if fitting is None:
                del turns[name]
                continue
            chosen.append(fitting)
            groups[fitting.overlap_group or fitting.id] += 1
            places.add(_place(fitting))
    return sorted(chosen, key=lambda problem: (*_place(problem), problem.id))


def _place(problem: Problem) -> tuple[str, int]:
    return file_splice(problem).path, file_splice(problem).start


def _fits(problem: Problem, groups: Mapping[str, int], places: set[tuple[str, int]], most: int) -> bool:
    return groups[problem.overlap_group or problem.id] < most and _place(problem) not in places


class TaskRows(NamedTuple):
    """Rows of one project's problems, with the checks and the names of tests to which they refer by number."""

    tasks: tuple[RecordTask, ...]
    checks: tuple[TestsCheck, ...]
    tests: tuple[str, ...]


def task_rows(project: str, problems: Sequence[Problem], snapshot: Snapshot) -> TaskRows:
    """Return the rows of problems; without one whose shown text no row can describe."""
    tests = tuple(sorted({name for problem in problems for name in get_tests_check(problem).tests}))
    bare = [_bare(get_tests_check(problem)) for problem in problems]
    checks = tuple({check.model_dump_json(): check for check in bare}.values())
    rows = TaskRows((), checks, tests)
    return rows._replace(tasks=tuple(_tasks(project, problems, snapshot, rows)))


def _bare(check: TestsCheck) -> TestsCheck:
    """Return a check without what differs between the problems of a project."""
    return check.model_copy(update={"tests": (), "minimum_tests": 0, "reference_s": None})


def _tasks(project: str, problems: Sequence[Problem], snapshot: Snapshot, rows: TaskRows) -> Iterator[RecordTask]:
    numbers = {name: number for number, name in enumerate(rows.tests)}
    for problem in problems:
        splice, check = file_splice(problem), get_tests_check(problem)
        data = snapshot.read(splice.path)
        suffix = _suffix_start(data, splice.end, problem.caret.suffix)
        if suffix is not None and suffix < 0:
            continue
        yield RecordTask(
            id=problem.id,
            project=project,
            path=splice.path,
            sha256=hashlib.sha256(data).hexdigest(),
            block=block_hash(data, splice.start, splice.end),
            start=splice.start,
            end=splice.end,
            suffix=suffix,
            newline=splice.newline,
            check=rows.checks.index(_bare(check)),
            tests=numbers_text([numbers[name] for name in check.tests]),
            minimum_tests=check.minimum_tests,
            reference_s=check.reference_s or 0.0,
            group=problem.overlap_group or problem.id,
            labels={"names": "original", **{name: problem.labels[name] for name in _LABELS if name in problem.labels}},
        )


def _suffix_start(data: bytes, end: int, suffix: str) -> int | None:
    """Return the byte from which the rest of a file is shown; None if it is not, -1 if the text is no rest of it."""
    if not suffix:
        return None if visible_text(data[end:]) else end
    if visible_text(data[end:]) == suffix:
        return end
    lines = "\r\n" if b"\r\n" in data else "\n"
    start = len(data) - len(suffix.replace("\n", lines).encode())
    return start if start >= end and visible_text(data[start:]) == suffix else -1
