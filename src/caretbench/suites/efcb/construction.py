"""From merged changes to problems: filtered, made into five tasks, and searched for what gives answers away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from caretbench.problem import Problem
from caretbench.sources.changes import descriptions, name_redaction, releases
from caretbench.sources.pull_request import PullRequest
from caretbench.sources.repository import RepositoryFacts
from caretbench.suites.efcb.attacks.leaks import Leak, leak_report
from caretbench.suites.efcb.attacks.plausibility import Backgrounds
from caretbench.suites.efcb.choices import easy as choices_easy
from caretbench.suites.efcb.choices import hard as choices_hard
from caretbench.suites.efcb.describing import Rejected
from caretbench.suites.efcb.edits.parts import SourcesOf, no_sources
from caretbench.suites.efcb.efcb_score import EASY, HARD, MASKED, TASKS
from caretbench.suites.efcb.filtering import Filtered, accepted
from caretbench.suites.efcb.options import ChoiceOptions, EasyOptions, EfcbOptions
from caretbench.suites.efcb.output.folder import EfcbManifest
from caretbench.suites.efcb.queries import forms
from caretbench.suites.efcb.written import masking, reverse
from caretbench.versions import versions

Report = Callable[[str, int, int | None], None]
"""Called with the name of a step, how much was done, and how much there is."""


_RULES: Final = {
    "descriptions": descriptions.VERSION, "people": name_redaction.VERSION, "releases": releases.VERSION,
}  # fmt: skip
"""Versions of what is taken from texts and from the changes, by room."""


class BuiltQuestions(NamedTuple):
    """A build. ``leaks`` that are exceeded make it unfit, but under ``paper``, which is there to be compared with."""

    options: EfcbOptions
    filtered: Filtered
    problems: tuple[Problem, ...]
    rejected: tuple[Rejected, ...]
    leaks: tuple[Leak, ...]

    @property
    def exceeded(self) -> tuple[Leak, ...]:
        """The hard limits that are passed."""
        return tuple(leak for leak in self.leaks if leak.exceeded)

    @property
    def fit(self) -> bool:
        """Return whether the problems may be run."""
        return bool(self.problems) and (not self.options.rules.leaks_refuse or not self.exceeded)

    def manifest(
        self,
        pulls: Sequence[PullRequest],
        repositories: Sequence[RepositoryFacts],
        chosen: Mapping[str, object],
        skipped: Mapping[str, int] = MappingProxyType({}),
    ) -> EfcbManifest:
        """The manifest of the build, with what the user chose, and how many commits gave no change, by reason."""
        return EfcbManifest.model_validate(
            {
                "profile": self.options.profile,
                "seed": self.options.seed,
                "options": chosen,
                "repositories": tuple(repositories),
                "changes": _counted(pull.repo for pull in pulls),
                "accepted": _counted(pull.repo for pull in self.filtered.pulls),
                "yields": self.filtered.yields,
                "problems": _counted(map(kind_of, self.problems)),
                "skipped": dict(skipped),
                "versions": versions() | _RULES,
            }
        )


def kind_of(problem: Problem) -> str:
    """Task and tier of a problem: ``gmcq-easy matched``."""
    return f"{problem.labels['task']} {problem.labels.get('tier', '')}".strip()


def build(
    pulls: Sequence[PullRequest],
    options: EfcbOptions,
    tasks: Sequence[str] = TASKS,
    report: Report = lambda _step, _done, _total: None,
    *,
    attacked: bool = True,
    sources: SourcesOf = no_sources,
) -> BuiltQuestions:
    """Everything that the changes give; the same for the same seed, whatever their order.

    ``attacked=False`` leaves the leak report out, a third of the time: of changes whose report is known. ``sources``
    has the files of each change's source tree, where they are at hand.

    Raises:
        DataError: one change stands there twice, and differs.
    """
    report("changes filtered", 0, len(pulls))
    filtered = accepted(pulls, options.profile)
    report("changes filtered", len(pulls), None)
    problems: list[Problem] = []
    rejected = list(filtered.rejected)
    for task in tasks:
        report("tasks built", 0, len(tasks))
        made, refused = _task(task, filtered.pulls, pulls, options, sources)
        problems += made
        rejected += refused
        report("tasks built", 1, None)
    problems.sort(key=lambda problem: problem.id)
    rejected.sort(key=lambda one: (one.task, one.tier, one.repo, one.merge_sha, one.reason))
    leaks = leak_report(problems, pulls) if attacked else []
    return BuiltQuestions(options, filtered, (*problems,), (*rejected,), (*leaks,))


def _task(
    task: str,
    pulls: Sequence[PullRequest],
    records: Sequence[PullRequest],
    options: EfcbOptions,
    sources: SourcesOf,
) -> tuple[list[Problem], list[Rejected]]:
    common = options.model_dump()
    form = forms(records)
    if task == EASY:
        easy = EasyOptions.model_validate(common)
        questions, refused = choices_easy.easy_items(pulls, easy, form)
        return [problem for item in questions for problem in choices_easy.problems(item, easy)], refused
    if task == HARD:
        hard = ChoiceOptions.model_validate(common)
        swapped, refused = choices_hard.hard_items(
            pulls, hard, form, backgrounds=Backgrounds(records), sources=sources
        )
        return [problem for item in swapped for problem in choices_hard.problems(item, hard)], refused
    if task == MASKED:
        masked, refused = masking.masked_items(pulls, masking.MaskOptions.model_validate(common), form)
        return [masking.problem(item) for item in masked], refused
    described, refused = reverse.reverse_items(pulls, options, form)
    wanted = next(entry for entry in reverse.TASKS if entry == task)
    return [reverse.problem(item, wanted) for item in described], [one for one in refused if one.task == task]


def _counted(names: Iterator[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))
