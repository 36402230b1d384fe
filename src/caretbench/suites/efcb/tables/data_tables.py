"""Tables about the data in the paper's layout: repositories, and questions of each task."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from caretbench.languages.path_languages import path_languages
from caretbench.problem import Problem
from caretbench.suites.efcb.problem_metadata import TASK_TITLES, TASKS
from caretbench.suites.suite_types import Table

_REPOSITORY_HEADS: Final = (
    "Organization", "Repository", "Number of Questions", "Primary Language", "Changes by Language", "Licence",
    "Merged",
)  # fmt: skip


def data_tables(problems: Iterable[Problem]) -> Iterator[Table]:
    """Yield tables about the data in the form of the paper's Tables 2 and 3.

    A question counts once for all orders of its choices and query variants.
    """
    known = list(problems)
    if known:
        yield _repositories(known)
        yield _questions(known)


def _repositories(problems: Sequence[Problem]) -> Table:
    changes: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    languages: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    licences: dict[str, Counter[str]] = defaultdict(Counter)
    dates: dict[str, list[str]] = defaultdict(list)
    for problem in problems:
        repository = problem.label("repository")
        changes[repository][problem.label("task")].add(problem.cluster)
        languages[repository][problem.label("language")].add(problem.cluster)
        licences[repository][problem.provenance.licence or ""] += 1
        dates[repository].append((problem.provenance.date or "")[:10])
    rows = []
    for repository, tasks in sorted(changes.items()):
        spoken = {name: len(clusters) for name, clusters in languages[repository].items()}
        # Texts and data without a language are `other`, which names no repository, even where they are most of its
        # changes.
        most = min(spoken, key=lambda name: (name == "other", -spoken[name], name))
        main = path_languages().get(most)
        counts = sorted({len(clusters) for clusters in tasks.values()})
        owner, _, name = repository.rpartition("/")
        shares = sorted(spoken.items(), key=lambda entry: (-entry[1], entry[0]))
        rows.append(
            (
                owner or "unknown",
                name,
                " to ".join(map(str, dict.fromkeys((counts[0], counts[-1])))),
                main.title if main else "",
                ", ".join(f"{_title(name)} {count}" for name, count in shares),
                licences[repository].most_common(1)[0][0],
                " to ".join(dict.fromkeys((min(dates[repository]), max(dates[repository])))),
            )
        )
    return Table(
        "efcb-repositories",
        "Repositories (the paper's Table 2, in form)",
        _REPOSITORY_HEADS,
        tuple(rows),
        (
            "Number of questions: the fewest and the most of the tasks. The primary language is that of most changes "
            "that are asked about. The paper's column with the type is missing: no history tells it.",
        ),
    )


def _title(language: str) -> str:
    entry = path_languages().get(language)
    return entry.title if entry else language


def _questions(problems: Sequence[Problem]) -> Table:
    asked: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    whole: Counter[tuple[str, str]] = Counter()
    for problem in problems:
        kind = (problem.label("task"), problem.label("tier") if "tier" in problem.labels else "")
        asked[kind][problem.label("repository")].add(problem.cluster)
        whole[kind] += 1
    repositories = sorted({repository for clusters in asked.values() for repository in clusters})
    order = sorted(asked, key=lambda kind: (TASKS.index(kind[0]) if kind[0] in TASKS else len(TASKS), kind))
    lines = [(kind, [len(asked[kind][repository]) for repository in repositories]) for kind in order]
    rows = [
        (f"{TASK_TITLES.get(task, task)} {tier}".strip(), *map(str, counts), str(sum(counts)), str(whole[task, tier]))
        for (task, tier), counts in lines
    ]
    by_repository = (str(sum(column)) for column in zip(*(counts for _, counts in lines), strict=True))
    total = sum(sum(counts) for _, counts in lines)
    rows.append(("Total", *by_repository, str(total), str(whole.total())))
    return Table(
        "efcb-questions",
        "Questions of each task (the paper's Table 3, in form)",
        ("Task", *repositories, "Total", "Problems"),
        tuple(rows),
        ("Problems: a question in each order of its choices and with each text that asks it.",),
    )
