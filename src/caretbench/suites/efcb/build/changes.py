"""Changes as problems show them (rendered patch, query text, labels, provenance), and their filters by profile.

Of the query variants ``title_and_description`` is shown according to the paper, ``description_only`` in its release.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, get_args

from pydantic import Field

from caretbench.build.sources.changes.automated_changes import is_title_of, is_version_change
from caretbench.build.sources.changes.descriptions import (
    NO_TEMPLATE,
    clean_description,
    clean_title,
    count_prose_characters,
    template_lines,
)
from caretbench.build.sources.changes.generated_files import is_generated
from caretbench.build.sources.pull_request import PullRequest
from caretbench.build.validation.duplicates import near_duplicate_texts
from caretbench.files import DataError, sha256_json, sha256_text
from caretbench.grouping import grouped
from caretbench.problem import Label, NoSplice, Problem, Profile, Provenance, Row
from caretbench.suites.efcb.problem_metadata import (
    DEFAULT_VARIANT,
    FOUR_TEXTS_TIER,
    SUITE_NAME,
    TASKS,
    EfcbProfile,
    EfcbTask,
    QueryVariant,
    RenderedFile,
    RenderedPatch,
    efcb_profile,
    patch_labels,
)


class Query(NamedTuple):
    """The text that describes a change in a question, and its variant."""

    variant: QueryVariant
    text: str


WINDOW: Final = 300
WIDE_WINDOW: Final = 1250
"""Maximum distance of two choices of GMCQ-Easy in the order of merges; wide in the tiers with rare partners."""
MASKED_LINES: Final = 5
"""Number of hidden lines of MPR-Gen; all 868 released masks have five."""
MaskTier = Literal["added", "changed"]

# Numbers of the construction that are hashed into ids, in the form of the first build.
_CONSTRUCTION: Final[Mapping[str, Mapping[str, object]]] = {
    EfcbTask.EASY: {
        "queries": (), "tiers": (), "window": WINDOW, "wide_window": WIDE_WINDOW, "smallest": 0.5, "largest": 2.0,
    },
    EfcbTask.HARD: {"queries": ()},
    EfcbTask.MASKED: {"lines": MASKED_LINES, "tiers": get_args(MaskTier)},
}  # fmt: skip


class EfcbOptions(Row):
    """Options of a build.

    ``rotations`` is the number of cyclic orders of the choices. The first order is the same for every number, so it is
    not part of the configuration.
    """

    seed: int = 0
    profile: Profile = "default"
    rotations: int = Field(default=1, ge=1, le=4)

    @property
    def rules(self) -> EfcbProfile:
        """Rules of the profile."""
        return efcb_profile(self.profile)

    def configuration(self, task: str) -> str:
        """Return the hash of all that changes the problems of a task."""
        return sha256_json({"seed": self.seed, "profile": self.profile, **_CONSTRUCTION.get(task, {})})


# The version is hashed into every id, so that results of other questions never meet under one id.
VERSIONS: Final[Mapping[str, int]] = dict.fromkeys(TASKS, 2) | {EfcbTask.HARD: 4, FOUR_TEXTS_TIER: 3}
"""Versions of the construction by task or tier; changes of shown or drawn contents need a new one, and give new ids."""


# 40 bits: of 10,000 ids two are alike with a probability of 5e-5.
_DIGITS: Final = 10


def problem_id(
    task: str, tier: str, repo: str, merge_sha: str, configuration: str, *, variant: str = "", rotation: int = 0
) -> str:
    """Return the id of a problem: ``tailscale/gmcq-easy-matched/1a2b3c4d5e``.

    The last part is ten digits of a hash over version, task, tier, query variant, repository, merge commit and
    configuration. A rotation of the same choices has the suffix ``-r1``, and the same digits. Tier and variant may be
    empty.
    """
    version = str(VERSIONS.get(tier, VERSIONS[task]))
    digits = sha256_text(version, task, tier, variant, repo, merge_sha, configuration)[:_DIGITS]
    kind = "-".join(_slug(part) for part in (task, tier, variant) if part)
    turned = f"-r{rotation}" if rotation else ""
    return f"{_slug(repo.rsplit('/', 1)[-1])}/{kind}/{digits}{turned}"


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-") or "x"


class RejectedChange(Row):
    """A change without a problem in a task (and tier), with the reason."""

    task: str
    tier: str = ""
    repo: str
    merge_sha: str
    reason: str

    @classmethod
    def from_pull_request(cls, pull: PullRequest, task: str, reason: str, tier: str = "") -> RejectedChange:
        """Return the rejection of a change."""
        return cls(task=task, tier=tier, repo=pull.repo, merge_sha=pull.merge_sha, reason=reason)


def cluster_id(pull: PullRequest) -> str:
    """Return ``repo@merge_sha``, the cluster of all problems that are made from one change."""
    return f"{pull.repo}@{pull.merge_sha}"


def change_problem(
    pull: PullRequest,
    rendered: RenderedPatch,
    place: tuple[str, str],
    options: EfcbOptions,
    *,
    variant: str = "",
    rotation: int = 0,
    labels: Mapping[str, Label] = MappingProxyType({}),
    **fields: Any,
) -> Problem:
    """Return a problem about a change in a task and tier; ``labels`` are added to the common ones."""
    name = (*place, pull.repo, pull.merge_sha, options.configuration(place[0]))
    return Problem(
        id=problem_id(*name, variant=variant, rotation=rotation),
        suite=SUITE_NAME,
        splice=NoSplice(),
        labels={**patch_labels(pull.repo, rendered, *place), **labels},
        cluster=cluster_id(pull),
        provenance=Provenance(source=pull.repo, revision=pull.merge_sha, licence=pull.license, date=pull.merged_at),
        **fields,
    )


def render_patch(pull: PullRequest, *, include_generated: bool = False) -> RenderedPatch:
    """Return the rendered patch of a change; ``include_generated`` files as in the released questions."""
    files = tuple(
        RenderedFile(
            path=file.path,
            title=f"{file.old_path} => {file.path}" if file.old_path and file.old_path != file.path else file.path,
            # Carriage returns at line ends would be a difference between choices that no reader sees.
            hunks=file.patch.replace("\r\n", "\n").removesuffix("\n"),
            additions=file.additions,
            deletions=file.deletions,
        )
        for file in pull.files
        # A binary file or a pure rename has a path and no line to ask about.
        if file.patch.strip()
        and not file.binary
        # Records from elsewhere may not mark generated files.
        and (include_generated or not (file.generated or is_generated(file.path)))
    )
    return RenderedPatch(files=files)


def change_query(
    pull: PullRequest,
    variant: QueryVariant = DEFAULT_VARIANT,
    profile: Profile = "default",
    template: Collection[str] = NO_TEMPLATE,
) -> Query:
    """Return the text that describes a change, in one variant; empty if the change has no description.

    ``paper`` uses the original description; ``default`` uses the cleaned description and title.
    """
    rules = efcb_profile(profile)
    description = (
        clean_description(pull.description, template, pull.title)
        if rules.cleans_descriptions
        else pull.description.strip()
    )
    title = clean_title(pull.title) if rules.cleans_descriptions else pull.title.strip()
    return Query(variant, description if variant == "description_only" else f"{title}\n\n{description}".strip())


def repository_templates(pulls: Iterable[PullRequest]) -> Mapping[str, frozenset[str]]:
    """Return the template lines of each repository's descriptions."""
    descriptions = grouped((pull.repo, pull.description) for pull in pulls)
    return {repo: template_lines(texts) for repo, texts in descriptions.items()}


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


_Filters = Mapping[str, Callable[[_FilterInput], bool]]

_LENGTH: Final[_Filters] = {
    "too_short": lambda facts: facts.rendered.lines < MIN_PATCH_LINES,
    "too_long": lambda facts: facts.rendered.characters > MAX_PATCH_CHARACTERS,
}
_DESCRIBED: Final[_Filters] = {"no_description": lambda facts: not facts.pull.description.strip()}
_OWN: Final[_Filters] = {
    # 99 of 239 released changes of mastodon are bumps of dependencies and translations by programs.
    "bot": lambda facts: facts.pull.is_bot or is_title_of("bot", facts.pull.title),
    "revert": lambda facts: is_title_of("revert", facts.pull.title),
    "release": lambda facts: (
        is_title_of("release", facts.pull.title) or is_version_change(facts.pull.title, facts.pull.files)
    ),
    "backport": lambda facts: is_title_of("backport", facts.pull.title),
    # Only the start of a long patch is stored: the description may speak of the part that is missing.
    "truncated_patch": lambda facts: (
        not {file.path for file in facts.pull.files if file.truncated}.isdisjoint(
            file.path for file in facts.rendered.files
        )
    ),
    "few_added_lines": lambda facts: sum(file.additions for file in facts.rendered.files) < MIN_ADDED_LINES,
    "little_prose": lambda facts: (
        bool(facts.pull.description.strip())
        and count_prose_characters(facts.pull.description, facts.template, facts.pull.title) < MIN_PROSE_CHARACTERS
    ),
}
FILTERS: Final[_Filters] = {**_LENGTH, **_DESCRIBED, **_OWN}
"""Filters by name; each returns whether a change fails it."""

NEAR_DUPLICATE_FILTER: Final = "near_duplicate"


class FilterResult(Row):
    """Accepted changes, newest first in each repository; rejected ones with reasons."""

    pulls: tuple[PullRequest, ...]
    rejected: tuple[RejectedChange, ...]


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
    filters = FILTERS if efcb_profile(profile).additional_filters else {**_LENGTH, **_DESCRIBED}
    return tuple(name for name, fails in filters.items() if fails(facts))


def filter_changes(pulls: Iterable[PullRequest], profile: Profile) -> FilterResult:
    """Return accepted and rejected changes, in any input order; ``default`` rejects near-duplicates, too."""
    known = _unique_changes(pulls)
    form = repository_templates(known)
    reasons = {pull.key: reject_reasons(pull, profile, form[pull.repo]) for pull in known}
    if efcb_profile(profile).additional_filters:
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
    )


def _near_duplicate_keys(pulls: Iterable[PullRequest]) -> list[tuple[str, str]]:
    """Return the keys of changes whose hunks nearly repeat those of an earlier change of any repository."""
    # Of two changes that repeat each other the later one goes, in any order of the input and over all repositories:
    # forks share their history.
    oldest = sorted(pulls, key=lambda pull: (pull.merge_order, pull.repo))
    # A header has the place of a hunk, which another branch has elsewhere.
    hunks = (re.sub(r"(?m)^@@ .*", "", "\n".join(file.hunks for file in render_patch(pull).files)) for pull in oldest)
    repeated = near_duplicate_texts((str(number), text) for number, text in enumerate(hunks))
    return [oldest[int(number)].key for number in repeated]


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
