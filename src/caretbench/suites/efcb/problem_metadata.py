"""Tasks and labels of problems, seeded random generators, and the rules of EFCB's profiles.

No generator is shared: the result for one item depends neither on other items nor on the order of records,
dictionaries or folders.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from functools import cache, cached_property
from typing import Final, Literal

from caretbench.files import sha256_text
from caretbench.languages.path_languages import path_language as any_language_of
from caretbench.problem import Label, Profile, Row
from caretbench.profiles import ProfileRule, ProfileRules, default_only, paper_only
from caretbench.syntax.source import language_of as house_language_of

FILE_SEPARATOR: Final = "\n---\n"


class RenderedFile(Row):
    """One rendered file: ``title`` is its path, ``old => new`` if it moved.

    Lines of ``hunks`` end with a line feed, except the last one. A lone carriage return ends no line.
    """

    path: str
    title: str
    hunks: str
    additions: int = 0
    deletions: int = 0

    @property
    def text(self) -> str:
        """Title, hunks and separator."""
        return f"{self.title}\n{self.hunks}{FILE_SEPARATOR}"


class RenderedPatch(Row):
    """A rendered patch, by file."""

    files: tuple[RenderedFile, ...]

    @cached_property
    def text(self) -> str:
        """Text of the whole patch."""
        return "".join(file.text for file in self.files)

    @cached_property
    def lines(self) -> int:
        """Number of lines, with paths and separators."""
        return self.text.count("\n")

    @property
    def characters(self) -> int:
        """Number of Unicode code points."""
        return len(self.text)

    def replace_hunks(self, index: int, hunks: str) -> RenderedPatch:
        """Return the same patch with other hunks in the file at ``index``."""
        changed = self.files[index].model_copy(update={"hunks": hunks})
        return RenderedPatch(files=(*self.files[:index], changed, *self.files[index + 1 :]))


class EfcbTask:
    """Names of the tasks."""

    EASY: Final = "gmcq-easy"
    HARD: Final = "gmcq-hard"
    MASKED: Final = "mpr-gen"
    REVERSE: Final = "reverse-qa"
    HALLUCINATION: Final = "reverse-qa-hallu"


TASKS: Final = (EfcbTask.EASY, EfcbTask.HARD, EfcbTask.MASKED, EfcbTask.REVERSE, EfcbTask.HALLUCINATION)
BLIND_TASKS: Final = frozenset({EfcbTask.EASY, EfcbTask.HARD, EfcbTask.MASKED})
"""Tasks that are also asked without title and description; the others show neither."""
TASK_TITLES: Final[Mapping[str, str]] = {
    EfcbTask.EASY: "GMCQ-Easy", EfcbTask.HARD: "GMCQ-Hard", EfcbTask.MASKED: "MPR-Gen", EfcbTask.REVERSE: "Reverse-QA",
    EfcbTask.HALLUCINATION: "Reverse-QA-Hallu",
}  # fmt: skip

FOUR_TEXTS_TIER: Final = "four_texts"
"""Tier of GMCQ-Hard in which each of four versions of a patch has a text of its own."""

SUITE_NAME: Final = "efcb"
OTHER_LANGUAGE: Final = "other"
PART_WORDS: Final[Mapping[str, str]] = {
    EfcbTask.EASY: "GMCQ-Easy:",
    EfcbTask.HARD: "GMCQ-Hard: edits of one patch",
    "random": "random patches",
    "matched": "similar patches (matched)",
    "same_file": "changes to one file (same file)",
    "adversarial": "misleading words (adversarial)",
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


def seeded_random(seed: int, purpose: str, item: str) -> random.Random:
    """Return the generator of one purpose and item."""
    # One generator that is handed on would give an item other draws as soon as a change before it is filtered out.
    return random.Random(int(sha256_text(str(seed), purpose, item), 16))  # noqa: S311 - draws, keeps no secret


QueryVariant = Literal["title_and_description", "description_only", "written"]
"""Text that describes the change in a question; ``written``: for one version of its patch."""

DEFAULT_VARIANT: Final[QueryVariant] = "title_and_description"


EasyTier = Literal["random", "matched", "same_file", "adversarial"]
"""Difficulty of GMCQ-Easy, by the selection of the wrong choices."""


class EfcbProfile(ProfileRules):
    """Rules of EFCB's profiles: construction of questions, and parsing of answers."""

    # A policy that truncates code would cut descriptions, patches and single letters; the suite parses its answers
    # itself.
    policy = ProfileRule("Default truncation policy", paper="raw", default="raw")
    # Of 1,161 released descriptions 109 have only references or trailers, and 36 have fewer than 20 characters.
    cleans_descriptions = default_only(
        "Description of a change",
        paper="by title and description as written",
        default="without templates, trailers, references and marks of the review",
    )
    shows_generated_files = paper_only("Generated files shown")
    additional_filters = default_only(
        "Accepted changes",
        paper="those of readable length with a description",
        default="the same, without bots, reverts, releases, backports, near-duplicates and changes with little prose",
    )
    easy_tiers = ProfileRule[tuple[EasyTier, ...]](
        "Tiers of GMCQ-Easy", paper=("random",), default=("random", "matched", "same_file", "adversarial")
    )
    # The paper's release shows only the description; according to the paper the title is shown, too.
    choice_queries = ProfileRule[tuple[QueryVariant, ...]](
        "Query variants of choices", paper=("description_only", "title_and_description"), default=(DEFAULT_VARIANT,)
    )
    # In the release the choice that is most similar to the others is right in 98.7 % of GMCQ-Hard, without a look at
    # the question.
    balanced_choices = default_only(
        "Selection of choices",
        paper="at random, as released",
        default="balanced against attacks that do not understand",
    )
    # A whole patch is mostly copied: without the marks of its masks it is .927 alike to the released reference.
    asks_whole_patch = paper_only("Requested answer in MPR-Gen", paper="the whole patch", default="the hidden lines")
    refuses_leaks = default_only("Builds with exceeded leak limits refused")
    # A sentence that begins with the article "A" is an answer to the released scorer.
    strict_parsing = default_only(
        "Letter of an answer to a choice",
        paper='its first character: "A patch that" answers A',
        default="the one that it names as its answer",
    )
    scored_problems = ProfileRule[Mapping[str, Mapping[str, str]]](
        "Problems in the score",
        paper={
            EfcbTask.EASY: {"tier": "random", "query": "description_only"},
            EfcbTask.HARD: {"query": "description_only"},
        },
        # Of random sets TF-IDF finds .96 by title and description, of matched ones .89 (150 changes of tailscale).
        # Lines beside their removed form are nearly given away: copying those reaches .494.
        default={EfcbTask.EASY: {"tier": "matched"}, EfcbTask.MASKED: {"tier": "added"}},
        descriptions=(
            "GMCQ-Easy at random and GMCQ-Hard, both by the description alone; all others",
            "GMCQ-Easy matched, MPR-Gen of added lines; all others",
        ),
    )


@cache
def efcb_profile(profile: Profile) -> EfcbProfile:
    """Return the rules of a profile."""
    return EfcbProfile(profile)
