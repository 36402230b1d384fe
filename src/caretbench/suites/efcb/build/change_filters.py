"""Filters of changes by profile, with counts of the changes that each one removes.

``paper`` requires a length and a description. ``default`` also requires a person's own change with a meaningful
description, and excludes near-duplicates.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from caretbench.build.sources.changes.automated_changes import (
    is_backport,
    is_bot_title,
    is_release,
    is_revert,
    is_version_change,
)
from caretbench.build.sources.changes.descriptions import NO_TEMPLATE, count_prose_characters
from caretbench.build.sources.near_duplicates import find_near_duplicates, line_shingles
from caretbench.build.sources.pull_request import PullRequest
from caretbench.files import DataError
from caretbench.problem import Profile, Row
from caretbench.suites.efcb.build.changes import RejectedChange, render_patch, repository_templates
from caretbench.suites.efcb.options import efcb_profile
from caretbench.suites.efcb.patches import RenderedPatch

# The paper's bounds, counted on the rendered patch. The release counts something else: 220 of its 1,161 patches have
# fewer lines, and one has 8,072 characters.
MIN_PATCH_LINES: Final = 15
MAX_PATCH_CHARACTERS: Final = 7500
"""Maximum number of characters of a rendered patch, with paths and separators."""
MIN_ADDED_LINES: Final = 5
# 109 of 1,161 released descriptions have only references or trailers, such as "Updates #cleanup".
MIN_PROSE_CHARACTERS: Final = 30

FILTER_TASK: Final = "filter"
"""Value of ``task`` in the rows of changes that filters reject."""


class _FilterInput(NamedTuple):
    pull: PullRequest
    rendered: RenderedPatch
    template: Collection[str]

    @property
    def truncated(self) -> bool:
        paths = {file.path for file in self.rendered.files}
        return any(file.truncated and file.path in paths for file in self.pull.files)


_Filters = Mapping[str, Callable[[_FilterInput], bool]]

_LENGTH: Final[_Filters] = {
    "too_short": lambda facts: facts.rendered.lines < MIN_PATCH_LINES,
    "too_long": lambda facts: facts.rendered.characters > MAX_PATCH_CHARACTERS,
}
_DESCRIBED: Final[_Filters] = {"no_description": lambda facts: not facts.pull.description.strip()}
_OWN: Final[_Filters] = {
    # 99 of 239 released changes of mastodon are bumps of dependencies and translations by programs.
    "bot": lambda facts: facts.pull.is_bot or is_bot_title(facts.pull.title),
    "revert": lambda facts: is_revert(facts.pull.title),
    "release": lambda facts: is_release(facts.pull.title) or is_version_change(facts.pull.title, facts.pull.files),
    "backport": lambda facts: is_backport(facts.pull.title),
    # Only the start of a long patch is stored: the description may speak of the part that is missing.
    "truncated_patch": lambda facts: facts.truncated,
    "few_added_lines": lambda facts: sum(file.additions for file in facts.rendered.files) < MIN_ADDED_LINES,
    "little_prose": lambda facts: (
        bool(facts.pull.description.strip())
        and count_prose_characters(facts.pull.description, facts.template, facts.pull.title) < MIN_PROSE_CHARACTERS
    ),
}
FILTERS: Final[_Filters] = {**_LENGTH, **_DESCRIBED, **_OWN}
"""Filters by name, in the order of their counts; each returns whether a change fails it."""

NEAR_DUPLICATE_FILTER: Final = "near_duplicate"


class FilterCounts(Row):
    """Numbers of one repository's changes that one filter rejects or passes.

    ``failing`` fail it, ``only`` fail no other filter, and ``left`` pass it and all filters before it.
    """

    repository: str
    filter: str
    failing: int
    only: int
    left: int


class FilterResult(Row):
    """Accepted changes, newest first in each repository; rejected ones with reasons; counts by filter."""

    pulls: tuple[PullRequest, ...]
    rejected: tuple[RejectedChange, ...]
    yields: tuple[FilterCounts, ...]


def reject_reasons(pull: PullRequest, profile: Profile, template: Collection[str] = NO_TEMPLATE) -> tuple[str, ...]:
    """Return the names of the filters that a change fails, in their order; empty if it is accepted.

    ``paper`` counts generated files as shown, as the released questions do. ``template`` lines are ignored.
    """
    facts = _FilterInput(
        # Counted as the profile shows it: with a lock file in it, a change of two lines is long enough.
        pull,
        render_patch(pull, include_generated=efcb_profile(profile).shows_generated_files),
        template,
    )
    return tuple(name for name in filter_names(profile) if FILTERS[name](facts))


def filter_names(profile: Profile) -> tuple[str, ...]:
    """Return the names of a profile's filters, in the order of their counts."""
    return (*FILTERS,) if efcb_profile(profile).additional_filters else (*_LENGTH, *_DESCRIBED)


def filter_changes(pulls: Iterable[PullRequest], profile: Profile) -> FilterResult:
    """Return accepted and rejected changes, in any input order; ``default`` rejects near-duplicates, too.

    Raises:
        DataError: a change occurs twice, with differences.
    """
    known = _unique_changes(pulls)
    form = repository_templates(known)
    reasons = {pull.key: reject_reasons(pull, profile, form[pull.repo]) for pull in known}
    names = filter_names(profile)
    if efcb_profile(profile).additional_filters:
        names = (*names, NEAR_DUPLICATE_FILTER)
        # Among accepted changes alone: a bot's bump that comes first must not cost the change of a person that looks
        # alike.
        passing = [pull for pull in known if not reasons[pull.key]]
        reasons.update(dict.fromkeys(_near_duplicate_keys(passing), (NEAR_DUPLICATE_FILTER,)))
    return FilterResult(
        pulls=tuple(pull for pull in known if not reasons[pull.key]),
        rejected=tuple(
            RejectedChange.from_pull_request(pull, FILTER_TASK, reason)
            for pull in known
            for reason in reasons[pull.key]
        ),
        yields=tuple(_filter_counts(known, reasons, names)),
    )


def _near_duplicate_keys(pulls: Iterable[PullRequest]) -> list[tuple[str, str]]:
    """Return the keys of changes whose hunks nearly repeat those of an earlier change of any repository."""
    # Of two changes that repeat each other the later one goes, in any order of the input and over all repositories:
    # forks share their history.
    oldest = sorted(pulls, key=lambda pull: (pull.merge_order, pull.repo))
    hunks = ("\n".join(file.hunks for file in render_patch(pull).files) for pull in oldest)
    found = find_near_duplicates((str(number), line_shingles(text)) for number, text in enumerate(hunks))
    return [oldest[int(number)].key for number in found]


def _unique_changes(pulls: Iterable[PullRequest]) -> list[PullRequest]:
    """Return each change once, by repository, newest first."""
    known: dict[tuple[str, str], PullRequest] = {}
    for pull in pulls:
        # Mined twice with different settings, a change has two texts; to pick one of them would depend on the order of
        # the files.
        if known.setdefault(pull.key, pull) != pull:
            raise DataError(f"{pull.repo} {pull.merge_sha}: the change occurs twice, with differences")
    newest = sorted(known.values(), key=lambda pull: pull.merge_order, reverse=True)
    return sorted(newest, key=lambda pull: pull.repo)


def _filter_counts(
    pulls: Sequence[PullRequest], reasons: Mapping[tuple[str, str], tuple[str, ...]], names: Sequence[str]
) -> Iterable[FilterCounts]:
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
            yield FilterCounts(repository=repository, filter=name, failing=failing[name], only=only[name], left=left)
