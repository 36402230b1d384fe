"""Changes as problems show them: rendered patch, query text, labels, provenance.

Of the query variants ``title_and_description`` is shown according to the paper, ``description_only`` in its release;
``scrubbed`` is without paths, file names and references.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import PurePosixPath
from typing import Final

from caretbench.build.sources.changes.descriptions import NO_TEMPLATE, clean_description, clean_title, template_lines
from caretbench.build.sources.changes.generated_files import is_generated
from caretbench.build.sources.pull_request import PullRequest
from caretbench.languages import languages
from caretbench.problem import Label, Profile, Provenance, Row
from caretbench.suites.efcb.build.options import Query
from caretbench.suites.efcb.options import DEFAULT_VARIANT, QueryVariant, efcb_profile
from caretbench.suites.efcb.patches import RenderedFile, RenderedPatch
from caretbench.suites.efcb.problem_metadata import patch_labels


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


def common_labels(pull: PullRequest, rendered: RenderedPatch, task: str, tier: str) -> dict[str, Label]:
    """Return the labels of every task: ``task``, ``tier`` (if any), ``repository``, ``language``, sizes."""
    return patch_labels(pull.repo, rendered, task, tier)


def change_provenance(pull: PullRequest) -> Provenance:
    """Return repository, merge commit, licence and time of the merge."""
    return Provenance(source=pull.repo, revision=pull.merge_sha, licence=pull.license, date=pull.merged_at)


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


# Prefixes that name the changed place: `ipn/store, util/{a,b}: fix`, `fix(core): …`, `[docs] …`.
_WHERE = re.compile(r"^\s*(?:\[[^\]\n]{1,60}\]\s*)*(?:[^\s:,]+(?:,\s*[^\s:,]+){0,7}\s*:(?=\s))?\s*")
# The last form is a commit's hash. It needs a digit, since `defaced` and `effaced` are words of seven letters from a to
# f.
_REFERENCE = re.compile(
    r"(?:\b[\w.-]+/[\w.-]+)?#\d+\b|\bGH-\d+\b|\b[A-Z][A-Z0-9]+-\d+\b|\b(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b"
)
_URL = re.compile(r"\bhttps?://\S+")
_WORD = re.compile(r"[^\s`'\"()<>\[\]{},;]+")
_GAPS = re.compile(r"[ \t]{2,}")
_EMPTY_MARKS = re.compile(r"``|''|\"\"|\(\s*\)|\[\s*\]")


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
    return Query(variant, _VARIANTS[variant](pull, title, description))


def repository_templates(pulls: Iterable[PullRequest]) -> Mapping[str, frozenset[str]]:
    """Return the template lines of each repository's descriptions."""
    descriptions: dict[str, list[str]] = defaultdict(list)
    for pull in pulls:
        descriptions[pull.repo].append(pull.description)
    return {repo: template_lines(texts) for repo, texts in descriptions.items()}


def _both(_: PullRequest, title: str, description: str) -> str:
    return f"{title}\n\n{description}".strip()


def _scrubbed(pull: PullRequest, title: str, description: str) -> str:
    # The place in front of a title names the changed folder: words of the title among the paths find .96 of random
    # choices (150 changes of tailscale).
    title = _WHERE.sub("", title, count=1)
    text = _REFERENCE.sub("", _URL.sub("", f"{title.strip()}\n\n{description}"))
    named = _FileNames(pull)
    text = _WORD.sub(lambda found: "" if named.contains(found.group()) else found.group(), text)
    text = _GAPS.sub(" ", _EMPTY_MARKS.sub("", text))
    return "\n".join(line.rstrip() for line in text.split("\n")).strip()


class _FileNames:
    """Words that name a file: with a suffix of source files or of a changed file, or a changed path."""

    def __init__(self, pull: PullRequest) -> None:
        paths = [PurePosixPath(path) for file in pull.files for path in (file.path, file.old_path) if path]
        self._suffixes = {path.suffix.lower() for path in paths if path.suffix}
        self._suffixes |= {language.suffix for language in languages().values()}
        self._names = {path.name for path in paths}
        self._parts = {str(part) for path in paths for part in (path, *path.parents)}

    def contains(self, word: str) -> bool:
        """Return whether a word names a file, or a folder with a slash in it."""
        # Markdown and punctuation around a path are no part of its name.
        bare = word.strip(":*_!?").removeprefix("./").rstrip(":./!?")
        path = PurePosixPath(bare)
        return (
            bare in self._names
            or path.suffix.lower() in self._suffixes
            or ("/" in bare and any(known == bare or known.endswith(f"/{bare}") for known in self._parts))
        )


_VARIANTS: Final[Mapping[QueryVariant, Callable[[PullRequest, str, str], str]]] = {
    "title_and_description": _both,
    "title_only": lambda _pull, title, _: title,
    "description_only": lambda _pull, _, description: description,
    "scrubbed": _scrubbed,
}
