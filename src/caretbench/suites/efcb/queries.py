"""The text that asks for a change: its title and description, or less of them.

``title_and_description`` is what the paper says is shown, ``description_only`` what its release shows, and ``scrubbed``
what is left when paths, names of files and references are taken out of both.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import PurePosixPath
from typing import Final

from caretbench.languages import languages
from caretbench.problem import Profile
from caretbench.sources.changes.descriptions import (
    NO_TEMPLATE,
    clean_description,
    clean_title,
    template_lines,
)
from caretbench.sources.pull_request import PullRequest
from caretbench.suites.efcb.options import DEFAULT_VARIANT, Query, QueryVariant, efcb_rules

# `ipn/store, util/{a,b}: fix`, `fix(core): …`, `[docs] …`: what stands before the subject names where the change is.
_WHERE = re.compile(r"^\s*(?:\[[^\]\n]{1,60}\]\s*)*(?:[^\s:,]+(?:,\s*[^\s:,]+){0,7}\s*:(?=\s))?\s*")
_REFERENCE = re.compile(
    r"(?:\b[\w.-]+/[\w.-]+)?#\d+\b|\bGH-\d+\b|\b[A-Z][A-Z0-9]+-\d+\b|\b(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b"
)
_URL = re.compile(r"\bhttps?://\S+")
_WORD = re.compile(r"[^\s`'\"()<>\[\]{},;]+")
_GAPS = re.compile(r"[ \t]{2,}")
_EMPTY_MARKS = re.compile(r"``|''|\"\"|\(\s*\)|\[\s*\]")


def query(
    pull: PullRequest,
    variant: QueryVariant = DEFAULT_VARIANT,
    profile: Profile = "default",
    form: Collection[str] = NO_TEMPLATE,
) -> Query:
    """Return the text that asks for the change, in the given variant; empty where the change is not described.

    ``paper`` takes the description as it was written; ``default`` cleans it of forms, trailers, lines that only refer
    or are about the review, and of what repeats the title; the title loses marks of its review.
    """
    rules = efcb_rules(profile)
    description = (
        clean_description(pull.description, form, pull.title)
        if rules.cleaned_texts
        else pull.description.strip()
    )
    title = clean_title(pull.title) if rules.cleaned_texts else pull.title.strip()
    return Query(variant, _VARIANTS[variant](pull, title, description))


def forms(pulls: Iterable[PullRequest]) -> Mapping[str, frozenset[str]]:
    """For each repository the lines that so many of its descriptions hold that they are its form."""
    descriptions: dict[str, list[str]] = defaultdict(list)
    for pull in pulls:
        descriptions[pull.repo].append(pull.description)
    return {repo: template_lines(texts) for repo, texts in descriptions.items()}


def _both(_: PullRequest, title: str, description: str) -> str:
    return f"{title}\n\n{description}".strip()


def _scrubbed(pull: PullRequest, title: str, description: str) -> str:
    title = _WHERE.sub("", title, count=1)
    text = _REFERENCE.sub("", _URL.sub("", f"{title.strip()}\n\n{description}"))
    named = _FileNames(pull)
    text = _WORD.sub(lambda found: "" if named.holds(found.group()) else found.group(), text)
    text = _GAPS.sub(" ", _EMPTY_MARKS.sub("", text))
    return "\n".join(line.rstrip() for line in text.split("\n")).strip()


class _FileNames:
    """Words that name a file: any with the suffix of a program, or of one of the changed files, and their paths."""

    def __init__(self, pull: PullRequest) -> None:
        paths = [PurePosixPath(path) for file in pull.files for path in (file.path, file.old_path) if path]
        self._suffixes = {path.suffix.lower() for path in paths if path.suffix}
        self._suffixes |= {language.suffix for language in languages().values()}
        self._names = {path.name for path in paths}
        self._parts = {str(part) for path in paths for part in (path, *path.parents)}

    def holds(self, word: str) -> bool:
        """Return whether a word names a file or a folder with a slash in it."""
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
