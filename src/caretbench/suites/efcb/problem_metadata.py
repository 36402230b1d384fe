"""Tasks, labels and ids of problems, and seeded random generators.

No generator is shared: the result for one item depends neither on other items nor on the order of records,
dictionaries or folders.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping
from typing import Final

from caretbench.files import sha256_text
from caretbench.languages.path_languages import path_language as any_language_of
from caretbench.problem import Label
from caretbench.suites.efcb.patches import RenderedPatch
from caretbench.syntax.source import language_of as house_language_of

EASY_TASK: Final = "gmcq-easy"
HARD_TASK: Final = "gmcq-hard"
MASKED_TASK: Final = "mpr-gen"
REVERSE_TASK: Final = "reverse-qa"
HALLUCINATION_TASK: Final = "reverse-qa-hallu"
TASKS: Final = (EASY_TASK, HARD_TASK, MASKED_TASK, REVERSE_TASK, HALLUCINATION_TASK)
BLIND_TASKS: Final = frozenset({EASY_TASK, HARD_TASK, MASKED_TASK})
"""Tasks that are also asked without title and description; the others show neither."""
TASK_TITLES: Final[Mapping[str, str]] = {
    EASY_TASK: "GMCQ-Easy", HARD_TASK: "GMCQ-Hard", MASKED_TASK: "MPR-Gen", REVERSE_TASK: "Reverse-QA",
    HALLUCINATION_TASK: "Reverse-QA-Hallu",
}  # fmt: skip

FOUR_TEXTS_TIER: Final = "four_texts"
"""Tier of GMCQ-Hard in which each of four versions of a patch has a text of its own."""

SUITE_NAME: Final = "efcb"
OTHER_LANGUAGE: Final = "other"
PART_WORDS: Final[Mapping[str, str]] = {
    EASY_TASK: "GMCQ-Easy:",
    HARD_TASK: "GMCQ-Hard: edits of one patch",
    "random": "random patches",
    "matched": "similar patches (matched)",
    "same_file": "changes to one file (same file)",
    "adversarial": "misleading words (adversarial)",
    "resistant": "useless words (resistant)",
    "title_and_description": "by title and description",
    "description_only": "by description only",
    "four_texts": "four texts for four versions",
    "written": "by a text for each version",
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
    # Changed texts and data would otherwise decide the language of a change of code that comes with a long table.
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


# The version is hashed into every id, so that results of other questions never meet under one id.
VERSIONS: Final[Mapping[str, int]] = dict.fromkeys(TASKS, 2) | {HARD_TASK: 3}
"""Versions of the construction by task; changes of shown or drawn contents need a new one, and give new ids."""

# 40 bits: of 10,000 ids two are alike with a probability of 5e-5.
_DIGITS: Final = 10


def seeded_random(seed: int, purpose: str, item: str) -> random.Random:
    """Return the generator of one purpose and item."""
    # One generator that is handed on would give an item other draws as soon as a change before it is filtered out.
    return random.Random(int(sha256_text(str(seed), purpose, item), 16))  # noqa: S311 - draws, keeps no secret


def problem_id(
    task: str, tier: str, repo: str, merge_sha: str, configuration: str, *, variant: str = "", rotation: int = 0
) -> str:
    """Return the id of a problem: ``tailscale/gmcq-easy-matched/1a2b3c4d5e``.

    The last part is ten digits of a hash over version, task, tier, query variant, repository, merge commit and
    configuration. A rotation of the same choices has the suffix ``-r1``, and the same digits. Tier and variant may be
    empty.
    """
    digits = sha256_text(str(VERSIONS[task]), task, tier, variant, repo, merge_sha, configuration)[:_DIGITS]
    kind = "-".join(_slug(part) for part in (task, tier, variant) if part)
    turned = f"-r{rotation}" if rotation else ""
    return f"{_slug(repo.rsplit('/', 1)[-1])}/{kind}/{digits}{turned}"


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-") or "x"
