"""Feature contrasts between the choices of a question, the input of learned attackers.

A contrast is the difference of the features of two groups of choices. For GMCQ-Hard these are the two variants of an
edit site; for other tasks each two choices are compared, by features of the whole patch.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np

from caretbench.suites.efcb.build.attacks.code_likelihood import CodeModel
from caretbench.suites.efcb.build.attacks.edit_sites import find_sites, question_differences
from caretbench.suites.efcb.build.attacks.line_context import FloatArray
from caretbench.suites.efcb.build.attacks.line_features import FEATURE_NAMES
from caretbench.suites.efcb.floors import AttackQuestion
from caretbench.suites.efcb.lexical_similarity import file_titles

_TEST: Final = re.compile(r"(?:^|[/_.-])(?:tests?|specs?|__tests__)(?:[/_.-]|$)|Tests?\.\w+$", re.IGNORECASE)
_COMMENT: Final = re.compile(r"^[+ -]\s*(?://|#|\*|/\*|\"\"\")", re.MULTILINE)
PATCH_FEATURES: Final = (
    "lines", "characters", "files", "hunks", "added share", "added lines", "removed lines", "characters per line",
    "digits", "upper case", "comments", "test files", "different folders", "depth of paths", "new files",
    "different words", "longest line",
)  # fmt: skip
"""Names of the features of a whole patch."""


class FeatureContrast(NamedTuple):
    """The two groups of choices of one difference of features: the first minus the second."""

    first_choices: frozenset[int]
    second_choices: frozenset[int]


class QuestionContrasts(NamedTuple):
    """The contrasts of a question, with a row of differences for each."""

    feature_names: tuple[str, ...]
    contrasts: tuple[FeatureContrast, ...]
    differences: FloatArray

    def scores_by_choice(self, scores: FloatArray) -> FloatArray:
        """Return scores of choices from scores of contrasts, one row for each choice."""
        found = np.zeros(
            (1 + max(max(one.first_choices | one.second_choices) for one in self.contrasts), *scores.shape[1:])
        )
        for one, row in zip(self.contrasts, scores, strict=True):
            for choice in sorted(one.first_choices):
                found[choice] += row
            for choice in sorted(one.second_choices):
                found[choice] -= row
        return found

    def differences_for(self, correct: int) -> FloatArray:
        """Return the differences that involve the correct choice, with its group first."""
        signs = np.array([(correct in one.first_choices) - (correct in one.second_choices) for one in self.contrasts])
        found: FloatArray = (self.differences * signs[:, None])[signs != 0]
        return found


def question_contrasts(question: AttackQuestion, code_model: CodeModel | None) -> QuestionContrasts:
    """Return the contrasts of a question: of edit sites if it has such sites and a code model is given."""
    found = find_sites(question.choices) if code_model is not None else None
    if found is not None and code_model is not None:
        everyone = frozenset(range(len(question.choices)))
        return QuestionContrasts(
            FEATURE_NAMES,
            tuple(FeatureContrast(site.first_choices, everyone - site.first_choices) for site in found),
            question_differences(question.choices[0].split("\n"), found, code_model),
        )
    numbers = np.array([_patch_features(choice) for choice in question.choices])
    both = list(combinations(range(len(question.choices)), 2))
    return QuestionContrasts(
        PATCH_FEATURES,
        tuple(FeatureContrast(frozenset((one,)), frozenset((other,))) for one, other in both),
        np.round(np.array([numbers[one] - numbers[other] for one, other in both]), 6),
    )


@lru_cache(maxsize=20_000)
def _patch_features(text: str) -> Sequence[float]:
    lines = text.split("\n")
    paths = file_titles(text)
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") and line != "---" for line in lines)
    folders = {path.rpartition("/")[0] for path in paths}
    return (
        float(len(lines)), float(len(text)), float(len(paths)), float(sum(line.startswith("@@") for line in lines)),
        added / max(added + removed, 1), float(added), float(removed), len(text) / len(lines),
        float(sum(map(str.isdigit, text))), float(sum(map(str.isupper, text))), float(len(_COMMENT.findall(text))),
        float(sum(bool(_TEST.search(path)) for path in paths)), float(len(folders)),
        sum(path.count("/") for path in paths) / max(len(paths), 1), float(text.count("@@ -0,0 ")),
        float(len(set(text.split()))), float(max(map(len, lines))),
    )  # fmt: skip
