"""Questions as contrasts of their choices: what attackers learn from, whatever kind of choice it is.

A contrast is the difference of the features of two sides, and the choices that have each side. Of GMCQ-Hard the sides
are the readings of a site; of other choices each two of them are compared, by numbers of the whole patch.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np

from caretbench.suites.efcb.attacks.floors import Attacked
from caretbench.suites.efcb.attacks.lexical import shown_paths
from caretbench.suites.efcb.attacks.line_context import Numbers
from caretbench.suites.efcb.attacks.line_features import FEATURES
from caretbench.suites.efcb.attacks.plausibility import Without
from caretbench.suites.efcb.attacks.sites import question_differences, sites

_TEST: Final = re.compile(r"(?:^|[/_.-])(?:tests?|specs?|__tests__)(?:[/_.-]|$)|Tests?\.\w+$", re.IGNORECASE)
_COMMENT: Final = re.compile(r"^[+ -]\s*(?://|#|\*|/\*|\"\"\")", re.MULTILINE)
WHOLE: Final = (
    "lines", "characters", "files", "hunks", "added share", "added lines", "removed lines", "characters per line",
    "digits", "upper case", "comments", "test files", "different folders", "depth of paths", "new files",
    "different words", "longest line",
)  # fmt: skip
"""Features of a whole patch."""


class Contrast(NamedTuple):
    """One difference of features: of the choices ``first`` less the choices ``second``."""

    first: frozenset[int]
    second: frozenset[int]


class Contrasted(NamedTuple):
    """A question: a row of differences for each contrast."""

    names: tuple[str, ...]
    contrasts: tuple[Contrast, ...]
    differences: Numbers

    def spread(self, scores: Numbers) -> Numbers:
        """Numbers of the contrasts as numbers of the four choices, a row each."""
        found = np.zeros((1 + max(max(one.first | one.second) for one in self.contrasts), *scores.shape[1:]))
        for one, row in zip(self.contrasts, scores, strict=True):
            for choice in sorted(one.first):
                found[choice] += row
            for choice in sorted(one.second):
                found[choice] -= row
        return found

    def told(self, correct: int) -> Numbers:
        """Return the differences in which the right choice has a side: that side less the other."""
        signs = np.array([(correct in one.first) - (correct in one.second) for one in self.contrasts])
        found: Numbers = (self.differences * signs[:, None])[signs != 0]
        return found


def contrasted(question: Attacked, background: Without | None) -> Contrasted:
    """Return the contrasts of a question: of sites where its choices come from two edits and a background is given."""
    found = sites(question.choices) if background is not None else None
    if found is not None and background is not None:
        everyone = frozenset(range(len(question.choices)))
        return Contrasted(
            FEATURES,
            tuple(Contrast(site.first, everyone - site.first) for site in found),
            question_differences(question.choices[0].split("\n"), found, background),
        )
    numbers = np.array([_whole(choice) for choice in question.choices])
    both = list(combinations(range(len(question.choices)), 2))
    return Contrasted(
        WHOLE,
        tuple(Contrast(frozenset((one,)), frozenset((other,))) for one, other in both),
        np.round(np.array([numbers[one] - numbers[other] for one, other in both]), 6),
    )


@lru_cache(maxsize=20_000)
def _whole(text: str) -> Sequence[float]:
    lines = text.split("\n")
    paths = shown_paths(text)
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
