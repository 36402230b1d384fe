"""Building of problems from merged changes: filters, the five tasks, the leak report."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from caretbench.build.sources.changes import automated_changes, descriptions, name_redaction
from caretbench.build.sources.changes.descriptions import NO_TEMPLATE
from caretbench.build.sources.pull_request import PullRequest
from caretbench.build.sources.repository import RepositoryFacts
from caretbench.problem import ContextFile, Problem, Question
from caretbench.suites.efcb.build.build_folder import EfcbManifest
from caretbench.suites.efcb.build.changes import (
    EfcbOptions,
    FilterResult,
    RejectedChange,
    change_problem,
    change_query,
    filter_changes,
    render_patch,
    repository_templates,
)
from caretbench.suites.efcb.build.choices import gmcq_easy, gmcq_hard
from caretbench.suites.efcb.build.choices.choice_problems import choice_problems
from caretbench.suites.efcb.build.choices.gmcq_hard import TextSource
from caretbench.suites.efcb.build.edits.patch_parts import FileReaders
from caretbench.suites.efcb.build.masked_problems import NO_TEMPLATES, masked_problems
from caretbench.suites.efcb.choices import LETTERS
from caretbench.suites.efcb.descriptions import DESCRIPTION_INSTRUCTION, DESCRIPTION_TASKS, JUDGE_CRITERIA, Task
from caretbench.suites.efcb.lexical_similarity import (
    SHAPE_SCORES,
    Attack,
    AttackQuestion,
    choice_credit,
    text_attacks,
    to_attack_question,
)
from caretbench.suites.efcb.masked_answers import PATCH_FILE
from caretbench.suites.efcb.problem_metadata import TASKS, EfcbTask
from caretbench.suites.efcb.released_problems import Leak
from caretbench.versions import versions


def _always(place: int) -> Attack:
    return lambda problem: [float(place == number) for number in range(len(problem.choices))]


SHAPE_ATTACKS: Final[Mapping[str, Attack]] = {
    **{f"always {letter}": _always(place) for place, letter in enumerate(LETTERS)},
    **SHAPE_SCORES,
}


class _Tier(NamedTuple):
    """The questions of one tier and query variant, each with the index of the correct choice."""

    part: tuple[str, str, str]
    questions: Sequence[tuple[AttackQuestion, int]]

    def leaks(self, attacks: Mapping[str, Attack]) -> Iterator[Leak]:
        """Yield the results of attacks; those by shape are limits."""
        count = len(self.questions)
        chance = sum(1 / len(question.choices) for question, _ in self.questions) / count
        task, tier, query = self.part
        # Edits make a patch longer or shorter; sets in which each version is asked for once have no such clue.
        free = {"longest", "shortest"} if (task, tier) == (EfcbTask.HARD, "") else set()
        for name, attack in attacks.items():
            hits = sum(choice_credit(attack(question), correct) for question, correct in self.questions)
            yield Leak(
                task=task, tier=tier, query=query, attack=name,
                kind="limit" if name in SHAPE_ATTACKS and name not in free else "floor",
                problems=count, accuracy=hits / count, chance=chance,
                standard_error=math.sqrt(chance * (1 - chance) / count),
            )  # fmt: skip


def _tiers(problems: Iterable[Problem]) -> list[_Tier]:
    tiers: dict[tuple[str, str, str], list[tuple[AttackQuestion, int]]] = defaultdict(list)
    for problem in sorted(problems, key=lambda problem: problem.id):
        question = to_attack_question(problem)
        if question is not None and not problem.labels.get("rotation"):
            task, tier, query = (str(problem.labels.get(name, "")) for name in ("task", "tier", "query"))
            tiers[task, tier, query].append(question)
    return [_Tier(part, questions) for part, questions in sorted(tiers.items())]


def shape_leaks(problems: Iterable[Problem]) -> list[Leak]:
    """Return the results of the attacks by position, length and consensus, in the first order of choices."""
    return [leak for tier in _tiers(problems) for leak in tier.leaks(SHAPE_ATTACKS)]


def leak_report(problems: Iterable[Problem]) -> list[Leak]:
    """Return the result of every attack on every tier and query variant, in the first order of choices."""
    return [
        leak
        for tier in _tiers(problems)
        for leak in tier.leaks({**SHAPE_ATTACKS, **text_attacks(question for question, _ in tier.questions)})
    ]


def reverse_problems(
    pulls: Iterable[PullRequest],
    task: Task,
    options: EfcbOptions,
    templates: Mapping[str, Collection[str]] = NO_TEMPLATES,
) -> tuple[list[Problem], list[RejectedChange]]:
    """Return one problem of a task for each change, by repository, newest first; and rejected changes.

    The reference is the author's text: cleaned, or raw under the ``paper`` profile. ``released`` has the original.
    """
    problems: list[Problem] = []
    rejected: list[RejectedChange] = []
    newest = sorted(pulls, key=lambda pull: pull.merge_order, reverse=True)
    for pull in sorted(newest, key=lambda pull: pull.repo):
        rendered = render_patch(pull, include_generated=options.rules.shows_generated_files)
        body = change_query(pull, "description_only", options.profile, templates.get(pull.repo, NO_TEMPLATE)).text
        title = " ".join(pull.title.split())
        missing = {"no_patch": rendered.files, "no_title": title, "no_description": body}
        reason = next((reason for reason, there in missing.items() if not there), None)
        if reason is not None:
            rejected.append(RejectedChange.from_pull_request(pull, task, reason))
            continue
        shown = ContextFile(path=PATCH_FILE, text=rendered.text)
        problem = change_problem(
            pull, rendered, (task, ""), options,
            shown=Question(text=DESCRIPTION_INSTRUCTION, context=(shown,)),
            reference=f"Title: {title}\n\nBody: {body}",
            checks=(JUDGE_CRITERIA[task],),
            released={"title": pull.title, "description": pull.description},
        )  # fmt: skip
        problems.append(problem)
    return problems, rejected


_RULES: Final = {
    "descriptions": descriptions.VERSION,
    "people": name_redaction.VERSION,
    "releases": automated_changes.VERSION,
}
"""Versions of the rules that clean texts and detect releases."""


class BuiltProblems(NamedTuple):
    """The result of a build; exceeded limits make it unfit, except under ``paper``, for comparison."""

    options: EfcbOptions
    filter_result: FilterResult
    problems: tuple[Problem, ...]
    rejected: tuple[RejectedChange, ...]
    leaks: tuple[Leak, ...]

    @property
    def exceeded_limits(self) -> tuple[Leak, ...]:
        """Exceeded limits of the leak report."""
        return tuple(leak for leak in self.leaks if leak.exceeds_limit)

    @property
    def usable(self) -> bool:
        """Return whether the problems may be run."""
        return bool(self.problems) and (not self.options.rules.refuses_leaks or not self.exceeded_limits)

    def make_manifest(
        self,
        pulls: Sequence[PullRequest],
        repositories: Sequence[RepositoryFacts],
        user_options: Mapping[str, object],
        skipped: Mapping[str, int] = MappingProxyType({}),
    ) -> EfcbManifest:
        """Return the manifest, with the user's options and numbers of skipped commits by reason."""
        return EfcbManifest.model_validate(
            {
                "profile": self.options.profile,
                "seed": self.options.seed,
                "options": user_options,
                "repositories": tuple(repositories),
                "changes": _count_names(pull.repo for pull in pulls),
                "accepted": _count_names(pull.repo for pull in self.filter_result.pulls),
                "problems": _count_names(map(task_and_tier, self.problems)),
                "rejected": _count_names(
                    f"{rejection.task} {rejection.tier}".strip() + f": {rejection.reason}"
                    for rejection in self.rejected
                ),
                "skipped": dict(skipped),
                "versions": versions() | _RULES,
            }
        )


def task_and_tier(problem: Problem) -> str:
    """Return one text with the task and the tier of a problem: ``gmcq-easy matched``."""
    return f"{problem.labels['task']} {problem.labels.get('tier', '')}".strip()


def build_problems(
    pulls: Sequence[PullRequest],
    options: EfcbOptions,
    tasks: Sequence[str] = TASKS,
    progress: Callable[[str, int, int | None], None] = lambda _step, _done, _total: None,
    *,
    with_leak_report: bool = True,
    readers: FileReaders = lambda _pull: None,
    texts: TextSource | None = None,
) -> BuiltProblems:
    """Return all problems of the changes; the order of the changes does not matter.

    Without ``with_leak_report`` a build takes a third less time. ``readers`` returns a reader of a change's source
    files, if they are available; ``texts`` are those of versions of a patch. ``progress`` is called with the name of a
    step, the amount done since the last call, and the total if known.
    """
    progress("changes filtered", 0, len(pulls))
    filtered = filter_changes(pulls, options.profile)
    progress("changes filtered", len(pulls), None)
    problems: list[Problem] = []
    rejected = list(filtered.rejected)
    count = len(filtered.pulls)
    for task in tasks:
        progress(f"changes for {task}", 0, count)
        done = 0

        def examined(task: str = task) -> None:
            nonlocal done
            done += 1
            progress(f"changes for {task}", 1, None)

        made, refused = _build_task(task, (filtered.pulls, pulls), options, (readers, texts), examined)
        problems += made
        rejected += refused
        progress(f"changes for {task}", count - done, None)
    # The same bytes for every order of sources, so that two builds can be compared by their hash.
    problems.sort(key=lambda problem: problem.id)
    rejected.sort(
        key=lambda rejection: (rejection.task, rejection.tier, rejection.repo, rejection.merge_sha, rejection.reason)
    )
    # The report takes a third of a build. The starter set is built at first use, while its user waits, and goes
    # without.
    leaks = leak_report(problems) if with_leak_report else []
    return BuiltProblems(options, filtered, (*problems,), (*rejected,), (*leaks,))


def _build_task(
    task: str,
    changes: tuple[Sequence[PullRequest], Sequence[PullRequest]],
    options: EfcbOptions,
    sources: tuple[FileReaders, TextSource | None],
    examined: Callable[[], None],
) -> tuple[list[Problem], list[RejectedChange]]:
    """Return the problems of a task, from accepted and from all mined changes, and rejected changes."""
    (pulls, records), (readers, texts) = changes, sources
    # Of all mined changes, not of the accepted ones: a form shows by its repetition, and filters remove most of the
    # repetitions.
    form = repository_templates(records)
    if task == EfcbTask.EASY:
        questions, refused = gmcq_easy.easy_questions(pulls, options, form)
        return [problem for item in questions for problem in choice_problems(item, options)], refused
    if task == EfcbTask.HARD:
        swapped, refused = gmcq_hard.hard_questions(
            pulls, options, form, readers=readers, texts=texts, examined=examined
        )
        return [problem for item in swapped for problem in choice_problems(item, options)], refused
    if task == EfcbTask.MASKED:
        return masked_problems(pulls, options, form)
    return reverse_problems(pulls, next(entry for entry in DESCRIPTION_TASKS if entry == task), options, form)


def _count_names(names: Iterator[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))
