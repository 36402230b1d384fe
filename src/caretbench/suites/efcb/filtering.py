"""Filters of the changes that questions are made of, for each profile, with the number that each one removes.

``paper`` asks for a length and a description. ``default`` also wants a person's own change that says what it does, and
each change once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from caretbench.files import DataError
from caretbench.problem import Profile, Row
from caretbench.sources.changes.bots import is_backport, is_bot_title, is_release, is_revert
from caretbench.sources.changes.descriptions import NO_TEMPLATE, count_prose_characters
from caretbench.sources.changes.releases import is_version_change
from caretbench.sources.near_duplicates import find_near_duplicates, line_shingles
from caretbench.sources.pull_request import PullRequest
from caretbench.suites.efcb.describing import Rejected
from caretbench.suites.efcb.options import efcb_rules
from caretbench.suites.efcb.queries import forms
from caretbench.suites.efcb.rendering import Rendered, render

MINIMUM_LINES: Final = 15
MAXIMUM_CHARACTERS: Final = 7500
"""Both of the patch as it is shown, paths and separators included."""
MINIMUM_ADDED: Final = 5
MINIMUM_PROSE: Final = 30

TASK: Final = "filter"
"""What rejects are booked under."""


class _Facts(NamedTuple):
    pull: PullRequest
    shown: Rendered
    form: Collection[str]

    @property
    def truncated(self) -> bool:
        paths = {file.path for file in self.shown.files}
        return any(file.truncated and file.path in paths for file in self.pull.files)


_Filters = Mapping[str, Callable[[_Facts], bool]]

_LENGTH: Final[_Filters] = {
    "too_short": lambda facts: facts.shown.lines < MINIMUM_LINES,
    "too_long": lambda facts: facts.shown.characters > MAXIMUM_CHARACTERS,
}
_DESCRIBED: Final[_Filters] = {"no_description": lambda facts: not facts.pull.description.strip()}
_OWN: Final[_Filters] = {
    "bot": lambda facts: facts.pull.is_bot or is_bot_title(facts.pull.title),
    "revert": lambda facts: is_revert(facts.pull.title),
    "release": lambda facts: (
        is_release(facts.pull.title) or is_version_change(facts.pull.title, facts.pull.files)
    ),
    "backport": lambda facts: is_backport(facts.pull.title),
    "truncated_patch": lambda facts: facts.truncated,
    "few_added_lines": lambda facts: sum(file.additions for file in facts.shown.files) < MINIMUM_ADDED,
    "little_prose": lambda facts: (
        bool(facts.pull.description.strip())
        and count_prose_characters(facts.pull.description, facts.form, facts.pull.title) < MINIMUM_PROSE
    ),
}
FILTERS: Final[_Filters] = {**_LENGTH, **_DESCRIBED, **_OWN}
"""By name whether a change fails, in the order in which yields are counted."""

NEAR_DUPLICATE: Final = "near_duplicate"


class Yield(Row):
    """What one filter does to the changes of one repository.

    ``failing`` fail it, ``only`` fail no other, and ``left`` pass it and all filters before it.
    """

    repository: str
    filter: str
    failing: int
    only: int
    left: int


class Filtered(Row):
    """The changes that are left, the newest first in each repository; the rest with its reasons; the yields."""

    pulls: tuple[PullRequest, ...]
    rejected: tuple[Rejected, ...]
    yields: tuple[Yield, ...]


def reject_reasons(
    pull: PullRequest, profile: Profile, form: Collection[str] = NO_TEMPLATE
) -> tuple[str, ...]:
    """Return the names of the filters that a change fails by itself, in their order; none: it is accepted.

    ``paper`` counts generated files as shown, as the released questions do. The lines of ``form`` say nothing.
    """
    facts = _Facts(pull, render(pull, generated=efcb_rules(profile).generated_shown), form)
    return tuple(name for name in filter_names(profile) if FILTERS[name](facts))


def filter_names(profile: Profile) -> tuple[str, ...]:
    """Return the names of a profile's filters, in the order in which yields are counted."""
    return (*FILTERS,) if efcb_rules(profile).own_filters else (*_LENGTH, *_DESCRIBED)


def accepted(pulls: Iterable[PullRequest], profile: Profile) -> Filtered:
    """The changes that pass, the same whatever their order; under ``default`` without those that repeat an earlier one.

    Raises:
        DataError: One change stands there twice, and differs.
    """
    known = _once(pulls)
    form = forms(known)
    reasons = {pull.key: reject_reasons(pull, profile, form[pull.repo]) for pull in known}
    names = filter_names(profile)
    if efcb_rules(profile).own_filters:
        names = (*names, NEAR_DUPLICATE)
        passing = [pull for pull in known if not reasons[pull.key]]
        reasons.update(dict.fromkeys(_repeated(passing), (NEAR_DUPLICATE,)))
    return Filtered(
        pulls=tuple(pull for pull in known if not reasons[pull.key]),
        rejected=tuple(Rejected.of(pull, TASK, reason) for pull in known for reason in reasons[pull.key]),
        yields=tuple(_yields(known, reasons, names)),
    )


def _repeated(pulls: Iterable[PullRequest]) -> list[tuple[str, str]]:
    """The keys of changes whose shown hunks are nearly those of one that was merged earlier, in any repository."""
    oldest = sorted(pulls, key=lambda pull: (pull.merge_order, pull.repo))
    hunks = ("\n".join(file.hunks for file in render(pull).files) for pull in oldest)
    found = find_near_duplicates((str(number), line_shingles(text)) for number, text in enumerate(hunks))
    return [oldest[int(number)].key for number in found]


def _once(pulls: Iterable[PullRequest]) -> list[PullRequest]:
    """Return each change once, by repository, the newest first."""
    known: dict[tuple[str, str], PullRequest] = {}
    for pull in pulls:
        if known.setdefault(pull.key, pull) != pull:
            raise DataError(f"{pull.repo} {pull.merge_sha}: the change stands there twice, and differs")
    newest = sorted(known.values(), key=lambda pull: pull.merge_order, reverse=True)
    return sorted(newest, key=lambda pull: pull.repo)


def _yields(
    pulls: Sequence[PullRequest], reasons: Mapping[tuple[str, str], tuple[str, ...]], names: Sequence[str]
) -> Iterable[Yield]:
    by_repository: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for pull in pulls:
        by_repository[pull.repo].append(reasons[pull.key])
    for repository, failed in sorted(by_repository.items()):
        failing = Counter(name for entry in failed for name in entry)
        only = Counter(entry[0] for entry in failed if len(entry) == 1)
        first = Counter(entry[0] for entry in failed if entry)
        left = len(failed)
        for name in names:
            left -= first[name]
            yield Yield(repository=repository, filter=name, failing=failing[name], only=only[name], left=left)
