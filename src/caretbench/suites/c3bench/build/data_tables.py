"""Tables about the data: tokens as in the paper's Table 1, and kinds of problems."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from caretbench.problem import Problem
from caretbench.suites.c3bench.measures import TOKENIZER, token_count
from caretbench.suites.c3bench.problem_building import FEATURES_PREDICATE
from caretbench.suites.suite_types import Table

TASK_TITLES: Final = {"icc": "ICC", "scc": "SCC"}
"""Titles of tasks."""

_COMPONENTS: Final[dict[str, Callable[[Problem], str]]] = {
    "Instruction": lambda problem: problem.caret.instruction or "",
    "Prefix": lambda problem: problem.caret.prefix,
    "Middle": lambda problem: problem.reference,
    "Suffix": lambda problem: problem.caret.suffix,
}


def data_tables(problems: Iterable[Problem]) -> tuple[Table, ...]:
    """Return the tokens of each component, and the problems by task, category and language."""
    known = list(problems)
    return (_tokens(known), _kinds(known), _contexts(known))


def _by_task(problems: Sequence[Problem]) -> Iterator[tuple[str, list[Problem]]]:
    for task, title in TASK_TITLES.items():
        found = [problem for problem in problems if problem.label("task") == task]
        if found:
            yield title, found


def _tokens(problems: Sequence[Problem]) -> Table:
    rows = []
    for title, found in _by_task(problems):
        for name, text in _COMPONENTS.items():
            counts = [token_count(text(problem)) for problem in found]
            mean = sum(counts) / len(counts)
            rows.append((title, name, str(len(found)), str(min(counts)), str(max(counts)), f"{mean:.0f}"))
    return Table(
        "c3bench-tokens",
        f"Tokens, by the expression {TOKENIZER} (the paper's Table 1, in form)",
        ("Task", "Component", "Problems", "Least", "Most", "Mean"),
        tuple(rows),
        ("Tokens are words, and marks one by one. The paper names no tokenizer.",),
    )


def _kinds(problems: Sequence[Problem]) -> Table:
    counts: Counter[tuple[str, str, str]] = Counter()
    for problem in problems:
        counts[TASK_TITLES[problem.label("task")], problem.label("category"), problem.label("language")] += 1
    languages = sorted({language for _, _, language in counts})
    kinds = sorted({(task, category) for task, category, _ in counts})
    rows = [
        (
            task, category, *(str(counts[task, category, language]) for language in languages),
            str(sum(counts[task, category, language] for language in languages)),
        )
        for task, category in kinds
    ]  # fmt: skip
    return Table("c3bench-kinds", "Problems", ("Task", "Category", *languages, "Total"), tuple(rows))


def _contexts(problems: Sequence[Problem]) -> Table:
    """Return the contexts of ICC: the source's own implementation and that of each problem count."""
    contexts: dict[str, list[Problem]] = defaultdict(list)
    for problem in problems:
        if problem.label("task") == "icc":
            contexts[problem.overlap_group or problem.id].append(problem)
    with_three = sum(len(found) >= 2 for found in contexts.values())
    checked = sum(
        any(check.kind == "predicate" and check.name == FEATURES_PREDICATE for check in problem.checks)
        for found in contexts.values()
        for problem in found
    )
    rows = (
        ("contexts", str(len(contexts))),
        ("source functions", str(len({found[0].cluster for found in contexts.values()}))),
        ("contexts with at least three implementations", str(with_three)),
        ("problems with a predicate", str(checked)),
    )
    return Table(
        "c3bench-contexts", "Contexts of ICC", ("What", "Number"), rows,
        ("The implementation of the source counts among those of a context; it is no problem itself.",),
    )  # fmt: skip
