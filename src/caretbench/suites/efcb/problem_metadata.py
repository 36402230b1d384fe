"""Cluster, labels and provenance of problems; rejected changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from caretbench.languages.path_languages import path_language as any_language_of
from caretbench.problem import Label
from caretbench.suites.efcb.efcb_score import EASY_TASK, HARD_TASK
from caretbench.suites.efcb.patch_rendering import RenderedPatch
from caretbench.syntax.source import language_of as house_language_of

SUITE_NAME: Final = "efcb"
OTHER_LANGUAGE: Final = "other"
PART_WORDS: Final[Mapping[str, str]] = {
    EASY_TASK: "GMCQ-Easy:",
    HARD_TASK: "GMCQ-Hard: edits of one patch",
    "random": "random patches",
    "matched": "similar patches (matched)",
    "adversarial": "misleading words (adversarial)",
    "resistant": "useless words (resistant)",
    "title_and_description": "by title and description",
    "description_only": "by description only",
}
"""Words for the labels of the parts that are never averaged; joined, they are the title of a part."""


def file_language(path: str) -> str:
    """Return the language of a file, by suffix; ``other`` if it is unknown."""
    return house_language_of(path) or any_language_of(path) or OTHER_LANGUAGE


def main_language(rendered: RenderedPatch) -> str:
    """Return the language with the most changed lines in the shown files; ``other`` if none is known."""
    changed: Counter[str] = Counter()
    for file in rendered.files:
        changed[file_language(file.path)] += file.additions + file.deletions
    known = {name: lines for name, lines in changed.items() if name != OTHER_LANGUAGE}
    return min(known, key=lambda name: (-known[name], name), default=OTHER_LANGUAGE)


def patch_labels(repository: str, rendered: RenderedPatch, task: str, tier: str) -> dict[str, Label]:
    """Return the labels of a problem about a rendered patch of a repository."""
    labels: dict[str, Label] = {
        "task": task,
        "repository": repository,
        "language": main_language(rendered),
        "patch_lines": float(rendered.lines),
        "patch_characters": float(rendered.characters),
        "files": float(len(rendered.files)),
    }
    return labels | ({"tier": tier} if tier else {})
